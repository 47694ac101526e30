"""The parser of Form 13F: the cover page (root ``edgarSubmission``) and the information table.

The table has one ``infoTable`` element for each position that the manager reports::

    <infoTable>
      <nameOfIssuer>APPLE INC</nameOfIssuer><titleOfClass>COM</titleOfClass><cusip>037833100</cusip>
      <value>2500</value>
      <shrsOrPrnAmt><sshPrnamt>10</sshPrnamt><sshPrnamtType>SH</sshPrnamtType></shrsOrPrnAmt>
      <investmentDiscretion>SOLE</investmentDiscretion>
      <votingAuthority><Sole>10</Sole><Shared>0</Shared><None>0</None></votingAuthority>
    </infoTable>

Prefixes and default namespaces vary from one filing agent to the next, so elements are identified by their local names
and by their parents.

There are two readers of tables. Almost every table is plain: no attributes, comments or references but ``&amp;`` in
its rows, ASCII, and the elements in the order of the schema. A regular expression reads such rows in a quarter of the
time of the XML reader. All other tables are parsed by the XML reader, which also reports their errors. To be
sure that a plain table is well-formed around its rows, the XML reader parses it with only the first of them.

Source: EDGAR Form 13F XML Technical Specification, and real filings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from sys import intern
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers, xml_reader

# Rows of one table. The largest on EDGAR have some 25,000.
MAX_ROWS = 250_000
# Managers on one cover. The longest real lists have a few hundred.
MAX_MANAGERS = 10_000
# Dollars, shares or votes of a table. All the stocks of the world are worth some 10^14 dollars, and a sum of thousands
# of such tables still fits into the 64 bits of the store.
MAX_TOTAL = 10**15

COVER_NAMESPACE = "http://www.sec.gov/edgar/thirteenffiler"
TABLE_NAMESPACE = "http://www.sec.gov/edgar/document/thirteenf/informationtable"

RESTATEMENT = "RESTATEMENT"
NEW_HOLDINGS = "NEW HOLDINGS"
FORM_TYPES = ("13F-HR", "13F-HR/A", "13F-NT", "13F-NT/A", "13F-CTR", "13F-CTR/A")

MAX_TEXT = 1_000  # Characters of a name, a number or a date.

_MAX_DIGITS = len(str(MAX_TOTAL))
_NUMBER = re.compile(r"([0-9]{1,16})(?:\.0*)?")
_US_DATE = re.compile(r"([0-9]{2})-([0-9]{2})-([0-9]{4})")


@dataclass(frozen=True, slots=True)
class Manager:
    """Another manager on a cover. ``number`` is the one that rows of the table refer to, None in a notice."""

    number: int | None
    name: str
    cik: str | None
    file_number: str | None


@dataclass(frozen=True, slots=True)
class CoverPage:
    """The cover of a 13F. Dates are ISO dates, ``cik`` has ten digits, None stands for anything that is left out.

    ``value_total`` is in the unit of the filing, dollars or thousands of dollars. The document does not say which.
    ``reporting_managers`` report the holdings of this manager, ``included_managers`` have their holdings in this table.
    """

    form: str
    cik: str
    period: str
    report_type: str | None
    amendment_type: str | None
    amendment_number: int
    name: str
    address: str | None
    file_number: str | None
    signer: str | None
    signer_title: str | None
    signed: str | None
    entry_total: int | None
    value_total: int | None
    confidential_omitted: bool
    reporting_managers: tuple[Manager, ...]
    included_managers: tuple[Manager, ...]

    @property
    def is_notice(self) -> bool:
        """Return True for a 13F-NT, which has no table: other managers report the holdings."""
        return self.form.startswith("13F-NT")

    @property
    def is_confidential_request(self) -> bool:
        """Return True for a 13F-CTR: holdings that the manager asked to keep out of its public report for a time."""
        return self.form.startswith("13F-CTR")

    @property
    def is_amendment(self) -> bool:
        """Return True if this amends an earlier report of the same quarter."""
        return self.form.endswith("/A")


class Holding(NamedTuple):
    """One row of the table. ``value`` is in the unit of the filing.

    ``cusip`` is empty if the filer wrote a placeholder. ``amount_type`` is SH (shares) or PRN (principal, in dollars),
    ``put_call`` is Put, Call or None. ``manager_numbers`` refer to the managers on the cover, as the filer wrote them
    ("1,4"). The voting fields are the numbers of shares with sole, shared and no voting authority.
    """

    issuer: str
    title: str
    cusip: str
    figi: str | None
    value: int
    amount: int
    amount_type: str
    put_call: str | None
    discretion: str | None
    manager_numbers: str | None
    sole_voting: int | None
    shared_voting: int | None
    no_voting: int | None


def parse_cover(content: bytes, file: str) -> CoverPage:
    """Return the cover of a 13F-HR, 13F-NT, 13F-CTR or an amendment.

    Raise ParseError for other documents and test filings.
    """
    reader = _CoverReader(file)
    reader.read(content.strip())
    return _build_cover(reader)


def parse_table(content: bytes, file: str) -> list[Holding]:
    """Return the rows of an information table in document order. Raise ParseError, with the row, if one is invalid."""
    rows = parse_plain_table(content)
    return parse_table_as_xml(content, file) if rows is None else rows


def parse_table_as_xml(content: bytes, file: str) -> list[Holding]:
    """Return the rows of any information table as :func:`parse_table` does, but without the regular expression."""
    reader = _TableReader(file)
    reader.read(content.strip())
    return reader.rows


# ---- the cover

_COVER_ELEMENTS = {
    ("headerData", "submissionType"),
    ("filerInfo", "liveTestFlag"),
    ("filerInfo", "periodOfReport"),
    ("credentials", "cik"),
    ("coverPage", "reportCalendarOrQuarter"),
    ("coverPage", "isAmendment"),
    ("coverPage", "amendmentNo"),
    ("coverPage", "reportType"),
    ("coverPage", "form13FFileNumber"),
    ("amendmentInfo", "amendmentType"),
    ("filingManager", "name"),
    ("address", "street1"),
    ("address", "street2"),
    ("address", "city"),
    ("address", "stateOrCountry"),
    ("address", "zipCode"),
    ("signatureBlock", "name"),
    ("signatureBlock", "title"),
    ("signatureBlock", "signatureDate"),
    ("summaryPage", "tableEntryTotal"),
    ("summaryPage", "tableValueTotal"),
    ("summaryPage", "isConfidentialOmitted"),
}
_MANAGER_ELEMENTS = {"cik", "form13FFileNumber", "name"}
_ADDRESS_ELEMENTS = ("street1", "street2", "city", "stateOrCountry", "zipCode")


class _CoverReader(xml_reader.XmlReader):
    """A reader that collects the texts of the cover by the local names of an element's parent and of the element.

    ``otherManager`` elements outside of ``otherManager2`` are managers that report for this one. An ``otherManager2``
    has a number and, in an ``otherManager``, a manager whose holdings are included.
    """

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.open_handlers = {
            f"{COVER_NAMESPACE} edgarSubmission": _CoverReader.open_other,
            "edgarSubmission": _CoverReader.open_other,
        }
        self.texts: dict[tuple[str, str], str] = {}
        self.reporting_managers: list[dict[str, str]] = []
        self.included_managers: list[dict[str, str]] = []
        self._open_elements: list[str] = []

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        """Collect the text of a known element, or begin a manager. Ignore any other element, but read its children."""
        element = xml_reader.local_name(name)
        parent = self._open_elements[-1] if self._open_elements else ""
        if (parent, element) in _COVER_ELEMENTS:
            self.collect_text(partial(self._set_text, parent, element), max_characters=MAX_TEXT)
            return
        if parent == "otherManager" and element in _MANAGER_ELEMENTS:
            self.collect_text(partial(self._set_manager_text, element), max_characters=MAX_TEXT)
            return
        if (parent, element) == ("otherManager2", "sequenceNumber"):
            self.collect_text(partial(self._set_manager_text, "number"), max_characters=MAX_TEXT)
            return
        if element == "otherManager2":
            self._begin_manager(self.included_managers)
        elif element == "otherManager" and parent != "otherManager2":
            self._begin_manager(self.reporting_managers)
        self._open_elements.append(element)
        self.call_on_close(self._close_other)

    def _close_other(self) -> None:
        self._open_elements.pop()

    def _begin_manager(self, managers: list[dict[str, str]]) -> None:
        if len(self.included_managers) + len(self.reporting_managers) >= MAX_MANAGERS:
            raise self.build_error(f"more than {MAX_MANAGERS} managers")
        managers.append({})

    def _set_manager_text(self, key: str, text: str) -> None:
        is_included = "otherManager2" in self._open_elements
        managers = self.included_managers if is_included else self.reporting_managers
        managers[-1][key] = " ".join(text.split())

    def _set_text(self, parent: str, element: str, text: str) -> None:
        words = " ".join(text.split())
        if self.texts.setdefault((parent, element), words) != words:
            raise self.build_error(f"{element} occurs twice with different values")


def _build_cover(reader: _CoverReader) -> CoverPage:
    file = reader.file
    get_text = reader.texts.get
    form = get_text(("headerData", "submissionType"), "").upper()
    if form not in FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORM_TYPES)}")
    if get_text(("filerInfo", "liveTestFlag"), "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    amendment_type = get_text(("amendmentInfo", "amendmentType"), "").upper() or None
    if amendment_type not in (None, RESTATEMENT, NEW_HOLDINGS):
        reason = f"{amendment_type[:40]!r} is neither {RESTATEMENT} nor {NEW_HOLDINGS}"
        raise ParseError(file, "amendmentType", reason)
    cik = get_text(("credentials", "cik"), "")
    period = get_text(("filerInfo", "periodOfReport")) or get_text(("coverPage", "reportCalendarOrQuarter")) or ""
    address = [get_text(("address", element)) for element in _ADDRESS_ELEMENTS]
    omitted = get_text(("summaryPage", "isConfidentialOmitted"), "").lower()
    return CoverPage(
        form=form,
        cik=_parse_text(file, "cik", identifiers.parse_cik, cik),
        period=_parse_text(file, "periodOfReport", _parse_date, period),
        report_type=get_text(("coverPage", "reportType")) or None,
        amendment_type=amendment_type if form.endswith("/A") else None,
        amendment_number=_parse_integer(file, "amendmentNo", get_text(("coverPage", "amendmentNo"))) or 0,
        name=_require_name(file, get_text(("filingManager", "name"))),
        address=", ".join(filter(None, address)) or None,
        file_number=get_text(("coverPage", "form13FFileNumber")) or None,
        signer=get_text(("signatureBlock", "name")) or None,
        signer_title=get_text(("signatureBlock", "title")) or None,
        signed=_parse_date_or_none(get_text(("signatureBlock", "signatureDate"))),
        entry_total=_parse_integer(file, "tableEntryTotal", get_text(("summaryPage", "tableEntryTotal"))),
        value_total=_parse_integer(file, "tableValueTotal", get_text(("summaryPage", "tableValueTotal"))),
        confidential_omitted=omitted in ("true", "1", "y", "yes"),
        reporting_managers=tuple(_build_manager(file, texts) for texts in reader.reporting_managers if texts),
        included_managers=tuple(_build_manager(file, texts) for texts in reader.included_managers if texts),
    )


def _build_manager(file: str, texts: dict[str, str]) -> Manager:
    cik = texts.get("cik", "")
    is_valid_cik = re.fullmatch("[0-9]{1,10}", cik) and int(cik)
    return Manager(
        number=_parse_integer(file, "sequenceNumber", texts.get("number")),
        name=texts.get("name", ""),
        cik=cik.zfill(10) if is_valid_cik else None,
        file_number=texts.get("form13FFileNumber") or None,
    )


def _parse_text(file: str, place: str, parse: Callable[[str], str], text: str) -> str:
    try:
        return parse(text)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None


def _parse_date(text: str) -> str:
    """Return ``12-31-2021`` as an ISO date. Raise ValueError for any other text."""
    match = _US_DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a date MM-DD-YYYY")
    month, day, year = match.groups()
    return date(int(year), int(month), int(day)).isoformat()


def _parse_date_or_none(text: str | None) -> str | None:
    """Return the date of a signature, or None if it is invalid: signers type it, and EDGAR does not check it."""
    try:
        return _parse_date(text or "")
    except ValueError:
        return None


def _parse_integer(file: str, place: str, text: str | None) -> int | None:
    if not text:
        return None
    match = _NUMBER.fullmatch(text)
    if match is None or int(match[1]) > MAX_TOTAL:
        raise ParseError(file, place, f"{text[:40]!r} is not a whole number up to {MAX_TOTAL}")
    return int(match[1])


def _require_name(file: str, name: str | None) -> str:
    if not name:
        raise ParseError(file, "filingManager", "the manager has no name")
    return name


# ---- the table, read by the XML reader

# The elements of a row that have a text, with the name of that text.
_ROW_ELEMENTS = {
    "nameOfIssuer": "issuer",
    "titleOfClass": "title",
    "cusip": "cusip",
    "figi": "figi",
    "value": "value",
    "sshPrnamt": "amount",
    "sshPrnamtType": "amount_type",
    "putCall": "put_call",
    "investmentDiscretion": "discretion",
    "otherManager": "managers",
    "Sole": "sole",
    "Shared": "shared",
    "None": "none",
}
_AMOUNT_TYPES = ("SH", "PRN")
_PUT_CALLS = {"put": "Put", "call": "Call", "": None}


def _build_text_names() -> dict[str, str]:
    """Return the text name of each element of a row, "" for those without text.

    The keys are expanded names, in the namespace of the specification and in none.
    """
    text_names = {}
    for element, text_name in {**_ROW_ELEMENTS, "shrsOrPrnAmt": "", "votingAuthority": ""}.items():
        text_names[f"{TABLE_NAMESPACE} {element}"] = text_name
        text_names[element] = text_name
    return text_names


_TEXT_NAMES = _build_text_names()


@lru_cache(maxsize=1 << 14)
def _parse_cusip(text: str) -> str:
    """Return a CUSIP in normal form, or "" for a placeholder. Raise ValueError for any other text.

    The results are cached, because there are some 25,000 securities, and all tables name the same ones.
    """
    return "" if text.strip() and cusip.is_placeholder(text) else cusip.normalise(text)


class _TableReader(xml_reader.XmlReader):
    """A reader that builds a Holding from each row.

    A table consists of rows with at least ten texts each. To save time, this class replaces the parser's handlers
    within a row with its own, which do less.
    """

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.open_handlers = {
            f"{TABLE_NAMESPACE} informationTable": _TableReader.open_other,
            "informationTable": _TableReader.open_other,
        }
        self.rows: list[Holding] = []
        self._value_sum = 0
        self._amount_sum = 0
        # The row that is open: its texts by name, and its depth.
        self._row: dict[str, str] = {}
        self._row_depth = 0
        # The name of the text that is open, or "", and its pieces.
        self._text_name = ""
        self._row_text = ""

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        """Begin a row. Ignore any other element, but read its children."""
        if xml_reader.local_name(name) != "infoTable":
            return
        if len(self.rows) >= MAX_ROWS:
            raise self.build_error(f"more than {MAX_ROWS} rows")
        self._row = {}
        self._row_depth = self.depth
        self.parser.StartElementHandler = self._open_in_row
        self.parser.EndElementHandler = self._close_in_row
        self.parser.CharacterDataHandler = self._append_row_text

    def _open_in_row(self, name: str, attributes: xml_reader.Attributes) -> None:
        if self._text_name:
            self.refuse_inner_element(name, attributes)
        self.depth += 1
        if self.depth > xml_reader.MAX_DEPTH:
            raise self.build_depth_error()
        text_name = _TEXT_NAMES.get(name)
        if text_name is None:
            element = xml_reader.local_name(name)
            if element == "infoTable":
                raise self._build_row_error("a row inside a row")
            text_name = _ROW_ELEMENTS.get(element, "")
        self._text_name = text_name
        self._row_text = ""

    def _append_row_text(self, piece: str) -> None:
        if self._text_name:
            self._row_text += piece
            if len(self._row_text) > MAX_TEXT:
                self.refuse_long_text()

    def _close_in_row(self, name: str) -> None:
        text_name = self._text_name
        if text_name:
            text = self._row_text
            if text_name in self._row:
                text = self._join_repeated_text(text_name, name, text)
            self._row[text_name] = text if text.isalnum() else " ".join(text.split())
            self._text_name = ""
        elif self.depth == self._row_depth:
            self._close_row()
            self.restore_handlers()
        self.depth -= 1

    def _join_repeated_text(self, text_name: str, element: str, text: str) -> str:
        """Return the text of an element that occurs again. Only the managers of a row may be in several elements."""
        if text_name != "managers":
            raise self._build_row_error(f"{xml_reader.local_name(element)} occurs twice")
        text = f"{self._row[text_name]},{text}"
        if len(text) > MAX_TEXT:
            raise self._build_row_error("more managers than a row can have")
        return text

    def _close_row(self) -> None:
        holding = self._build_holding(self._row)
        self._value_sum += holding.value
        self._amount_sum += holding.amount
        if self._value_sum > MAX_TOTAL or self._amount_sum > MAX_TOTAL:
            raise self._build_row_error(f"the table's total exceeds {MAX_TOTAL}")
        self.rows.append(holding)

    def _build_holding(self, row: dict[str, str]) -> Holding:
        get_text = row.get
        issuer = get_text("issuer")
        amount_type = get_text("amount_type", "").upper()
        put_call = get_text("put_call", "").lower()
        if not issuer:
            raise self._build_row_error("nameOfIssuer is missing")
        if amount_type not in _AMOUNT_TYPES:
            raise self._build_row_error(f"sshPrnamtType {amount_type[:20]!r} is neither SH nor PRN")
        if put_call not in _PUT_CALLS:
            raise self._build_row_error(f"putCall {put_call[:20]!r} is neither Put nor Call")
        try:
            cusip_number = _parse_cusip(get_text("cusip", ""))
        except ValueError as error:
            raise self._build_row_error(str(error)) from None
        discretion = get_text("discretion")
        managers = get_text("managers")
        # Names and words repeat from row to row and from table to table: intern them.
        return Holding(
            issuer=intern(issuer),
            title=intern(get_text("title", "")),
            cusip=cusip_number,
            figi=get_text("figi") or None,
            value=self._parse_number("value", get_text("value", "")),
            amount=self._parse_number("amount", get_text("amount", "")),
            amount_type=intern(amount_type),
            put_call=_PUT_CALLS[put_call],
            discretion=intern(discretion.upper()) if discretion else None,
            manager_numbers=intern(managers) if managers else None,
            sole_voting=self._parse_votes("sole", get_text("sole")),
            shared_voting=self._parse_votes("shared", get_text("shared")),
            no_voting=self._parse_votes("none", get_text("none")),
        )

    def _parse_votes(self, name: str, text: str | None) -> int | None:
        return self._parse_number(name, text) if text else None

    def _parse_number(self, name: str, text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS:
            return int(text)
        match = _NUMBER.fullmatch(text)
        if match is None or int(match[1]) > MAX_TOTAL:
            raise self._build_row_error(f"{name} {text[:40]!r} is not a whole number up to {MAX_TOTAL}")
        return int(match[1])

    def _build_row_error(self, reason: str) -> ParseError:
        return self.build_error(f"row {len(self.rows) + 1}: {reason}")


# ---- the table, read by a regular expression

_PLAIN_BYTES = bytes([*b"\t\n\r", *range(32, 127)])
# Characters of a text, the limit of the SEC's schema. Longer texts would fill the caches.
MAX_PLAIN_TEXT = 200
# Characters of rows that are matched at a time. As tuples of texts they take four times as much memory.
PORTION_CHARACTERS = 1_000_000
_FIRST_ROW = re.compile(r"<(\w{1,20}:)?infoTable>")
_BLANKS = re.compile(r"\s*")
_PLAIN_AMOUNT_TYPES = {amount_type: amount_type for amount_type in _AMOUNT_TYPES}


def parse_plain_table(content: bytes) -> list[Holding] | None:
    """Return the rows of a plain information table, or None for any other document, valid or not."""
    content = content.strip()
    has_other_bytes = bool(content.translate(None, _PLAIN_BYTES))
    if len(content) > xml_reader.MAX_BYTES or has_other_bytes or b"]]>" in content:
        return None
    text = content.decode("ascii")
    first_row = _FIRST_ROW.search(text)
    if first_row is None:
        return None
    start = first_row.start()
    end = text.rfind("</")
    # Read the document without all rows but the first. If these rows were in a comment, or if their prefix were not
    # declared, the reader would not find exactly this row, or refuse the document.
    reader = _TableReader("")
    try:
        rows, second_row = _parse_plain_rows(text, start, end, _build_row_pattern(first_row[1] or ""))
        reader.read(content[:second_row] + content[end:])
    except (ValueError, KeyError, ParseError):
        return None
    if not 0 < len(rows) <= MAX_ROWS or reader.rows != rows[:1]:
        return None
    value_sum = sum([row.value for row in rows])
    amount_sum = sum([row.amount for row in rows])
    return rows if max(value_sum, amount_sum) <= MAX_TOTAL else None


@lru_cache(maxsize=32)
def _build_row_pattern(prefix: str) -> re.Pattern[str]:
    """Return the pattern of a row. Group 1 is the complete row, the others are its texts in the order of Holding.

    ``prefix`` ("" or "ns1:") is part of the pattern, many times.
    """

    # A text that may be blank is never next to optional blanks: there would be too many ways to divide the blanks
    # between them.
    def leaf(name: str, text: str = f"([^<]{{0,{MAX_PLAIN_TEXT}}})") -> str:
        return rf"<{prefix}{name}>{text}</{prefix}{name}>\s*"

    def container(name: str, *leaves: str) -> str:
        return rf"<{prefix}{name}>\s*{''.join(leaves)}</{prefix}{name}>\s*"

    def optional(name: str) -> str:
        return rf"(?:{leaf(name)}|<{prefix}{name}/>\s*)?"

    number = r"\s*([0-9]{1,15})\s*"  # Below MAX_TOTAL.
    row = container(
        "infoTable",
        leaf("nameOfIssuer"),
        leaf("titleOfClass"),
        leaf("cusip"),
        optional("figi"),
        leaf("value", number),
        container("shrsOrPrnAmt", leaf("sshPrnamt", number), leaf("sshPrnamtType")),
        optional("putCall"),
        leaf("investmentDiscretion"),
        optional("otherManager"),
        container("votingAuthority", leaf("Sole", number), leaf("Shared", number), leaf("None", number)),
    )
    return re.compile(f"({row})")


def _parse_plain_rows(text: str, start: int, end: int, row_pattern: re.Pattern[str]) -> tuple[list[Holding], int]:
    """Return the rows in text[start:end] and the offset of the second one.

    Raise ValueError if there is anything other than rows, and ValueError or KeyError if a text is not valid.
    """
    rows: list[Holding] = []
    position = start
    second_row = start
    while position < end and len(rows) <= MAX_ROWS:
        row_texts = row_pattern.findall(text, position, min(position + PORTION_CHARACTERS, end))
        matched = "".join([texts[0] for texts in row_texts])
        # findall skips anything that is not a row.
        if not row_texts or not text.startswith(matched, position):
            raise ValueError("no row")
        if not rows:
            second_row = start + len(row_texts[0][0])
        rows += map(_build_plain_holding, row_texts)
        blanks = _BLANKS.match(text, position + len(matched), end)
        position = blanks.end() if blanks else end
    return rows, second_row


def _build_plain_holding(row_texts: tuple[str, ...]) -> Holding:
    """Return the row of these texts, its groups in the pattern. Raise ValueError or KeyError if one is not valid."""
    (
        _,
        issuer,
        title,
        cusip_text,
        figi,
        value,
        amount,
        amount_type,
        put_call,
        discretion,
        managers,
        sole_votes,
        shared_votes,
        no_votes,
    ) = row_texts
    issuer_name = _parse_plain_text(issuer)
    if not issuer_name:
        raise ValueError("no name")
    return Holding(
        issuer=issuer_name,
        title=_parse_plain_text(title),
        cusip=_parse_cusip(cusip_text),
        figi=_parse_plain_text(figi) or None,
        value=int(value),
        amount=int(amount),
        amount_type=_PLAIN_AMOUNT_TYPES[amount_type.strip().upper()],
        put_call=_PUT_CALLS[put_call.strip().lower()] if put_call else None,
        discretion=_parse_plain_text(discretion).upper() or None,
        manager_numbers=_parse_plain_text(managers) or None,
        sole_voting=int(sole_votes),
        shared_voting=int(shared_votes),
        no_voting=int(no_votes),
    )


@lru_cache(maxsize=1 << 14)
def _parse_plain_text(text: str) -> str:
    """Return a text with single spaces between words. Raise ValueError if it has references other than ``&amp;``."""
    words = " ".join(text.split()).replace("&amp;", "\0")
    if "&" in words:
        raise ValueError("a reference")
    return words.replace("\0", "&")
