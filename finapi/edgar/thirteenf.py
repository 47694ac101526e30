"""Form 13F as XML: the cover (``edgarSubmission``) and the information table, as values.

Prefixes and default namespaces vary from one filing agent to the next, so that elements are known by their
local names and where they stand. Source: EDGAR Form 13F XML Technical Specification, and the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from sys import intern
from typing import Any, NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers, xml_reader

# Rows of one table. The largest on EDGAR have some 25,000.
MAX_ROWS = 250_000
# Managers on one cover. The largest real lists have a few hundred.
MAX_MANAGERS = 10_000
# Dollars, shares or votes of a whole table. All the stocks of the world are worth some 10^14 dollars; a sum of
# thousands of such tables still fits the 64 bits of the store.
MAX_TOTAL = 10**15

COVER_NAMESPACE = "http://www.sec.gov/edgar/thirteenffiler"
TABLE_NAMESPACE = "http://www.sec.gov/edgar/document/thirteenf/informationtable"

RESTATEMENT, NEW_HOLDINGS = "RESTATEMENT", "NEW HOLDINGS"
FORM_TYPES = ("13F-HR", "13F-HR/A", "13F-NT", "13F-NT/A")

_DIGITS = len(str(MAX_TOTAL))
_NUMBER = re.compile(r"([0-9]{1,16})(?:\.0*)?")
_US_DATE = re.compile(r"([0-9]{2})-([0-9]{2})-([0-9]{4})")
_MAX_SHORT = 1_000  # characters of a name, a number or a date


@dataclass(frozen=True, slots=True)
class Manager:
    """Another manager on a cover; ``number`` is the one that rows of the table refer to, None in a notice."""

    number: int | None
    name: str
    cik: str | None
    file_number: str | None


@dataclass(frozen=True, slots=True)
class CoverPage:
    """What a 13F says of itself. Dates are ISO, ``cik`` has 10 digits; what is not said is None.

    ``value_total`` is in the filing's own unit, dollars or thousands: the document does not say which.
    ``reported_by`` are the managers that report for this one, ``included`` those whose holdings are in here.
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
        """Whether it says only that others report: a 13F-NT has no table."""
        return self.form.startswith("13F-NT")

    @property
    def is_amendment(self) -> bool:
        """Whether it amends an earlier report of the same quarter."""
        return self.form.endswith("/A")


class Holding(NamedTuple):
    """One row of the table, in the filing's own unit of value.

    ``amount_type`` is SH (shares) or PRN (principal, in dollars); ``put_call`` is Put, Call or None;
    ``managers`` are the numbers of the cover's list, as written.
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


def parse_cover(data: bytes, file: str) -> CoverPage:
    """The cover of a 13F-HR or 13F-NT, or of an amendment; ParseError for anything else and for a test filing."""
    reader = _CoverReader(file)
    reader.read(data.strip())
    return _as_cover(reader)


def parse_table(data: bytes, file: str) -> list[Holding]:
    """The rows of an information table in its order; ParseError names the row that cannot be read."""
    data = data.strip()
    rows = _plain_rows(data)
    if rows is None:
        reader = _InformationTableReader(file)
        reader.read(data)
        rows = reader.rows
    return rows


# ---- the cover

_LEAVES_OF = {
    "headerData": "submissionType",
    "filerInfo": "liveTestFlag periodOfReport",
    "credentials": "cik",
    "coverPage": "reportCalendarOrQuarter isAmendment amendmentNo reportType form13FFileNumber",
    "amendmentInfo": "amendmentType",
    "filingManager": "name",
    "address": "street1 street2 city stateOrCountry zipCode",
    "signatureBlock": "name title signatureDate",
    "summaryPage": "tableEntryTotal tableValueTotal isConfidentialOmitted",
}
_SHORT_LEAVES = {(parent, leaf) for parent, leaves in _LEAVES_OF.items() for leaf in leaves.split()}
_MANAGER_LEAVES = {"cik", "form13FFileNumber", "name"}
_ADDRESS = ("street1", "street2", "city", "stateOrCountry", "zipCode")


class _CoverReader(xml_reader.XmlReader):
    """Collects the leaves that are known, by the element they stand in."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = {
            f"{COVER_NAMESPACE} edgarSubmission": _CoverReader.open_other,
            "edgarSubmission": _CoverReader.open_other,
        }
        self.leaves: dict[tuple[str, str], str] = {}
        self.reported_by: list[dict[str, str]] = []
        self.included: list[dict[str, str]] = []
        self._open: list[str] = []

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        here = xml_reader.local_name(name)
        parent = self._open[-1] if self._open else ""
        if (parent, here) in _SHORT_LEAVES:
            self.collect(partial(self._leaf_of, parent, here), limit=_MAX_SHORT)
            return
        if parent == "otherManager" and here in _MANAGER_LEAVES:
            self.collect(partial(self._of_manager, here), limit=_MAX_SHORT)
            return
        if (parent, here) == ("otherManager2", "sequenceNumber"):
            self.collect(partial(self._of_manager, "number"), limit=_MAX_SHORT)
            return
        if here == "otherManager2" or (here == "otherManager" and parent != "otherManager2"):
            self._begin_manager(here)
        self._open.append(here)
        self.on_close(self._closed)

    def _closed(self) -> None:
        self._open.pop()

    def _begin_manager(self, element: str) -> None:
        if len(self.included) + len(self.reported_by) >= MAX_MANAGERS:
            raise self.build_error(f"more than {MAX_MANAGERS} managers")
        (self.included if element == "otherManager2" else self.reported_by).append({})

    def _of_manager(self, key: str, text: str) -> None:
        listed = self.included if "otherManager2" in self._open else self.reported_by
        listed[-1][key] = " ".join(text.split())

    def _leaf_of(self, parent: str, here: str, text: str) -> None:
        if self.leaves.setdefault((parent, here), (value := " ".join(text.split()))) != value:
            raise self.build_error(f"{here} occurs twice with different values")


def _as_cover(reader: _CoverReader) -> CoverPage:
    file, leaf = reader.file, reader.leaves.get
    form = leaf(("headerData", "submissionType"), "").upper()
    if form not in FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORM_TYPES)}")
    if leaf(("filerInfo", "liveTestFlag"), "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    kind = leaf(("amendmentInfo", "amendmentType"), "").upper() or None
    if kind not in (None, RESTATEMENT, NEW_HOLDINGS):
        raise ParseError(file, "amendmentType", f"{kind[:40]!r} is neither {RESTATEMENT} nor {NEW_HOLDINGS}")
    period = leaf(("filerInfo", "periodOfReport")) or leaf(("coverPage", "reportCalendarOrQuarter"))
    address = [leaf(("address", part)) for part in _ADDRESS]
    return CoverPage(
        form=form,
        cik=_checked(file, "cik", identifiers.parse_cik, leaf(("credentials", "cik"), "")),
        period=_checked(file, "periodOfReport", _iso, period or ""),
        report_type=leaf(("coverPage", "reportType")) or None,
        amendment_type=kind if form.endswith("/A") else None,
        amendment_number=_whole(file, "amendmentNo", leaf(("coverPage", "amendmentNo"))) or 0,
        name=_named(file, leaf(("filingManager", "name"))),
        address=", ".join(filter(None, address)) or None,
        file_number=leaf(("coverPage", "form13FFileNumber")) or None,
        signer=leaf(("signatureBlock", "name")) or None,
        signer_title=leaf(("signatureBlock", "title")) or None,
        signed=_date_or_none(leaf(("signatureBlock", "signatureDate"))),
        entry_total=_whole(file, "tableEntryTotal", leaf(("summaryPage", "tableEntryTotal"))),
        value_total=_whole(file, "tableValueTotal", leaf(("summaryPage", "tableValueTotal"))),
        confidential_omitted=leaf(("summaryPage", "isConfidentialOmitted"), "").lower() in ("true", "1", "y", "yes"),
        reporting_managers=tuple(_manager(file, one) for one in reader.reported_by if one),
        included_managers=tuple(_manager(file, one) for one in reader.included if one),
    )


def _checked(file: str, place: str, reader: Callable[[str], str], text: str) -> str:
    try:
        return reader(text)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None


def _iso(text: str) -> str:
    """``12-31-2021`` as an ISO date; ValueError for anything else."""
    found = _US_DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a date MM-DD-YYYY")
    return date(int(found[3]), int(found[1]), int(found[2])).isoformat()


def _date_or_none(text: str | None) -> str | None:
    # Typed by the signer and held against nothing: a date that is none is no evidence, and no reason to refuse.
    try:
        return _iso(text or "")
    except ValueError:
        return None


def _whole(file: str, place: str, text: str | None) -> int | None:
    if not text:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None or int(found[1]) > MAX_TOTAL:
        raise ParseError(file, place, f"{text[:40]!r} is not a whole number up to {MAX_TOTAL}")
    return int(found[1])


def _named(file: str, name: str | None) -> str:
    if not name:
        raise ParseError(file, "filingManager", "the manager has no name")
    return name


def _manager(file: str, said: dict[str, str]) -> Manager:
    number = said.get("cik")
    return Manager(
        number=_whole(file, "sequenceNumber", said.get("number")),
        name=said.get("name", ""),
        cik=number.zfill(10) if number and re.fullmatch("[0-9]{1,10}", number) and int(number) else None,
        file_number=said.get("form13FFileNumber") or None,
    )


# ---- the table

_ROW_LEAVES = {
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
_TYPES = ("SH", "PRN")
_PLAIN_TYPES = {one: one for one in _TYPES}
# Tables name the same securities, of some 25,000 that there are.
_cusip = lru_cache(maxsize=1 << 14)(cusip.normalise)
_OPTIONS = {"put": "Put", "call": "Call", "": None}


# Elements of a row as they are mostly called, with the key of their text; "" has none of its own.
_KEYS = {
    name: key
    for element, key in {**_ROW_LEAVES, "shrsOrPrnAmt": "", "votingAuthority": ""}.items()
    for name in (f"{TABLE_NAMESPACE} {element}", element)
}


# A table whose rows have no attributes, comments or references but &amp; and are in ASCII, with their elements in the
# order of the schema, as almost all are: its rows are read by a pattern in a quarter of the time. Anything else in a
# row, whether it is allowed or not, is left to the XML reader.
_PLAIN = bytes([*b"\t\n\r", *range(32, 127)])
_PLAIN_SHORT = 200  # characters of a text, as the SEC's schema has them: longer ones would fill the caches
_PORTION = 1_000_000  # characters of rows that are read at once: as tuples of texts they take four times as much
# The prefix stands in the pattern of a row many times.
_FIRST_ROW = re.compile(r"<(\w{1,20}:)?infoTable>")
_BLANKS = re.compile(r"\s*")


@lru_cache(maxsize=32)
def _plain_row(prefix: str) -> re.Pattern[str]:
    """The pattern of a row: all of it, then its texts in the order of :class:`Holding`."""

    # No text that may be blank stands beside blanks: there would be too many ways to part them.
    def leaf(name: str, text: str = f"([^<]{{0,{_PLAIN_SHORT}}})") -> str:
        return rf"<{prefix}{name}>{text}</{prefix}{name}>\s*"

    def inside(name: str, *leaves: str) -> str:
        return rf"<{prefix}{name}>\s*{''.join(leaves)}</{prefix}{name}>\s*"

    def optional(name: str) -> str:
        return rf"(?:{leaf(name)}|<{prefix}{name}/>\s*)?"

    number = r"\s*([0-9]{1,15})\s*"  # below MAX_TOTAL
    votes = [leaf(name, number) for name in ("Sole", "Shared", "None")]
    parts = [leaf("nameOfIssuer"), leaf("titleOfClass"), leaf("cusip"), optional("figi"), leaf("value", number)]
    parts += [inside("shrsOrPrnAmt", leaf("sshPrnamt", number), leaf("sshPrnamtType")), optional("putCall")]
    parts += [leaf("investmentDiscretion"), optional("otherManager"), inside("votingAuthority", *votes)]
    return re.compile(f"({inside('infoTable', *parts)})")


@lru_cache(maxsize=1 << 14)
def _plain_text(text: str) -> str:
    """A text without the blanks around and between its words; ValueError where it has references to resolve."""
    words = " ".join(text.split()).replace("&amp;", "\0")
    if "&" in words:
        raise ValueError("a reference")
    return words.replace("\0", "&")


def _plain_rows(data: bytes) -> list[Holding] | None:
    """The rows of a table that is written so plainly that a pattern reads them; None of any other."""
    if len(data) > xml_reader.MAX_BYTES or data.translate(None, _PLAIN) or b"]]>" in data:
        return None
    text = data.decode("ascii")
    first = _FIRST_ROW.search(text)
    if first is None:
        return None
    start, end = first.start(), text.rfind("</")
    # The table is one with only the first row: rows in a comment or with a prefix that nothing declares are none.
    frame = _InformationTableReader("")
    try:
        rows, second = _rows_between(text, start, end, _plain_row(first[1] or ""))
        frame.read(data[:second] + data[end:])
    except (ValueError, KeyError, ParseError):
        return None
    totals = sum([row.value for row in rows]), sum([row.amount for row in rows])
    fits = 0 < len(rows) <= MAX_ROWS and max(totals) <= MAX_TOTAL
    return rows if fits and frame.rows == rows[:1] else None


def _rows_between(text: str, start: int, end: int, row: re.Pattern[str]) -> tuple[list[Holding], int]:
    """The rows that are all that there is between two places, and where the second begins; ValueError or KeyError
    where there is more, or a text that is none of its column's."""
    rows: list[Holding] = []
    place = second = start
    while place < end and len(rows) <= MAX_ROWS:
        found = row.findall(text, place, min(place + _PORTION, end))
        read = "".join([one[0] for one in found])
        if not found or not text.startswith(read, place):
            raise ValueError("no row")
        if not rows:
            second = start + len(found[0][0])
        rows += _holdings(found)
        blanks = _BLANKS.match(text, place + len(read), end)
        place = blanks.end() if blanks else end
    return rows, second


def _holdings(found: Sequence[tuple[str, ...]]) -> list[Holding]:
    """Rows, made column by column; ValueError or KeyError of a text that is none of its column's."""
    _, issuers, titles, cusips, figis, values, amounts, kinds, options, how, managers, *votes = zip(*found, strict=True)
    columns: list[list[Any]] = [[*map(_plain_text, texts)] for texts in (issuers, titles)]
    columns += [[*map(_cusip, cusips)], [_plain_text(one) or None for one in figis]]
    columns += [[*map(int, values)], [*map(int, amounts)]]
    columns += [
        [_PLAIN_TYPES[one.strip().upper()] for one in kinds],
        [_OPTIONS[one.strip().lower()] for one in options],
    ]
    columns += [[_plain_text(one).upper() or None for one in how], [_plain_text(one) or None for one in managers]]
    columns += [[*map(int, texts)] for texts in votes]
    if not all(columns[0]):
        raise ValueError("no name")
    return [*map(Holding._make, zip(*columns, strict=True))]


class _InformationTableReader(xml_reader.XmlReader):
    """Makes a Holding of each row when it ends. A table has ten texts a row and nothing else: inside of a row they are
    taken from the parser directly.
    """

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = {
            f"{TABLE_NAMESPACE} informationTable": _InformationTableReader.open_other,
            "informationTable": _InformationTableReader.open_other,
        }
        self.rows: list[Holding] = []
        self._row: dict[str, str] = {}
        self._key = self._piece = ""  # what is being read
        self._row_depth = self._values = self._amounts = 0

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        if xml_reader.local_name(name) != "infoTable":
            return
        if len(self.rows) >= MAX_ROWS:
            raise self.build_error(f"more than {MAX_ROWS} rows")
        self._row, self._row_depth = {}, self.depth
        self.parser.StartElementHandler = self._open_in_row
        self.parser.EndElementHandler = self._close_in_row
        self.parser.CharacterDataHandler = self._text_in_row

    def _open_in_row(self, name: str, attributes: xml_reader.Attributes) -> None:
        if self._key:
            self._no_inner(name, attributes)
        self.depth += 1
        if self.depth > xml_reader.MAX_DEPTH:
            raise self.build_depth_error()
        key = _KEYS.get(name)
        if key is None:
            here = xml_reader.local_name(name)
            if here == "infoTable":
                raise self._in_row("a row inside a row")
            key = _ROW_LEAVES.get(here, "")
        self._key, self._piece = key, ""

    def _text_in_row(self, piece: str) -> None:
        if self._key:
            self._piece += piece
            if len(self._piece) > _MAX_SHORT:
                self.refuse_long_text()

    def _close_in_row(self, name: str) -> None:
        key, text = self._key, self._piece
        if key:
            if key in self._row:
                text = self._again(key, name, text)
            self._row[key] = text if text.isalnum() else " ".join(text.split())
            self._key = ""
        elif self.depth == self._row_depth:
            self._end_of_row()
            self.restore_handlers()
        self.depth -= 1

    def _again(self, key: str, name: str, text: str) -> str:
        if key != "managers":
            raise self._in_row(f"{xml_reader.local_name(name)} occurs twice")
        text = f"{self._row[key]},{text}"
        if len(text) > _MAX_SHORT:
            raise self._in_row("more managers than a row can have")
        return text

    def _end_of_row(self) -> None:
        holding = self._holding(self._row)
        self._values += holding.value
        self._amounts += holding.amount
        if self._values > MAX_TOTAL or self._amounts > MAX_TOTAL:
            raise self._in_row(f"the table's total exceeds {MAX_TOTAL}")
        self.rows.append(holding)

    def _holding(self, row: dict[str, str]) -> Holding:
        told = row.get
        issuer, kind, option = told("issuer"), told("amount_type", "").upper(), told("put_call", "").lower()
        if not issuer:
            raise self._in_row("nameOfIssuer is missing")
        if kind not in _TYPES:
            raise self._in_row(f"sshPrnamtType {kind[:20]!r} is neither SH nor PRN")
        if option not in _OPTIONS:
            raise self._in_row(f"putCall {option[:20]!r} is neither Put nor Call")
        try:
            number = _cusip(told("cusip", ""))
        except ValueError as error:
            raise self._in_row(str(error)) from None
        discretion, managers = told("discretion"), told("managers")
        sole, shared, none = told("sole"), told("shared"), told("none")
        # Names and words repeat from row to row, and from table to table.
        return Holding(
            intern(issuer),
            intern(told("title", "")),
            number,
            told("figi") or None,
            self._number("value", told("value", "")),
            self._number("amount", told("amount", "")),
            intern(kind),
            _OPTIONS[option],
            intern(discretion.upper()) if discretion else None,
            intern(managers) if managers else None,
            self._number("sole", sole) if sole else None,
            self._number("shared", shared) if shared else None,
            self._number("none", none) if none else None,
        )

    def _number(self, key: str, text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < _DIGITS:
            return int(text)
        found = _NUMBER.fullmatch(text)
        if found is None or int(found[1]) > MAX_TOTAL:
            raise self._in_row(f"{key} {text[:40]!r} is not a whole number up to {MAX_TOTAL}")
        return int(found[1])

    def _in_row(self, reason: str) -> ParseError:
        return self.build_error(f"row {len(self.rows) + 1}: {reason}")
