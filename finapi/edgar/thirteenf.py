"""Form 13F as XML: the cover (``edgarSubmission``) and the information table, as values.

Prefixes and default namespaces vary from one filing agent to the next, so that elements are known by their
local names and where they stand. Source: EDGAR Form 13F XML Technical Specification, and the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from sys import intern
from typing import Any

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identity, xml

# Rows of one table. The largest on EDGAR have some 25,000.
MAX_ROWS = 250_000
# Managers on one cover. The largest real lists have a few hundred.
MAX_MANAGERS = 10_000
# Dollars, shares or votes of a whole table. All the stocks of the world are worth some 10^14 dollars; a sum of
# thousands of such tables still fits the 64 bits of the store.
MAX_TOTAL = 10**15

FILER = "http://www.sec.gov/edgar/thirteenffiler"
TABLE = "http://www.sec.gov/edgar/document/thirteenf/informationtable"

RESTATEMENT, NEW_HOLDINGS = "RESTATEMENT", "NEW HOLDINGS"
FORMS = ("13F-HR", "13F-HR/A", "13F-NT", "13F-NT/A")

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
    reported_by: tuple[Manager, ...]
    included: tuple[Manager, ...]

    @property
    def is_notice(self) -> bool:
        """Whether it says only that others report: a 13F-NT has no table."""
        return self.form.startswith("13F-NT")

    @property
    def is_amendment(self) -> bool:
        """Whether it amends an earlier report of the same quarter."""
        return self.form.endswith("/A")


@dataclass(frozen=True, slots=True)
class Holding:
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
    managers: str | None
    sole: int | None
    shared: int | None
    none: int | None


def cover(data: bytes, file: str) -> CoverPage:
    """The cover of a 13F-HR or 13F-NT, or of an amendment; ParseError for anything else and for a test filing."""
    reader = _CoverReader(file)
    reader.read(data.strip())
    return _as_cover(reader)


def table(data: bytes, file: str) -> list[Holding]:
    """The rows of an information table in its order; ParseError names the row that cannot be read."""
    reader = _InformationTableReader(file)
    reader.read(data.strip())
    return reader.rows


# ---- the cover

_SHORT_LEAVES = {
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
_MANAGER_LEAVES = {"cik", "form13FFileNumber", "name"}
_ADDRESS = ("street1", "street2", "city", "stateOrCountry", "zipCode")


class _CoverReader(xml.XmlReader):
    """Collects the leaves that are known, by the element they stand in."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = {f"{FILER} edgarSubmission": _CoverReader.other, "edgarSubmission": _CoverReader.other}
        self.leaves: dict[tuple[str, str], str] = {}
        self.reported_by: list[dict[str, str]] = []
        self.included: list[dict[str, str]] = []
        self._open: list[str] = []

    def other(self, name: str, attributes: xml.Attributes) -> None:
        here = xml.local(name)
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
            raise self.refusal(f"more than {MAX_MANAGERS} managers")
        (self.included if element == "otherManager2" else self.reported_by).append({})

    def _of_manager(self, key: str, text: str) -> None:
        listed = self.included if "otherManager2" in self._open else self.reported_by
        listed[-1][key] = " ".join(text.split())

    def _leaf_of(self, parent: str, here: str, text: str) -> None:
        if self.leaves.setdefault((parent, here), (value := " ".join(text.split()))) != value:
            raise self.refusal(f"{here} occurs twice with different values")


def _as_cover(reader: _CoverReader) -> CoverPage:
    file, leaf = reader.file, reader.leaves.get
    form = leaf(("headerData", "submissionType"), "").upper()
    if form not in FORMS:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORMS)}")
    if leaf(("filerInfo", "liveTestFlag"), "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    kind = leaf(("amendmentInfo", "amendmentType"), "").upper() or None
    if kind not in (None, RESTATEMENT, NEW_HOLDINGS):
        raise ParseError(file, "amendmentType", f"{kind[:40]!r} is neither {RESTATEMENT} nor {NEW_HOLDINGS}")
    period = leaf(("filerInfo", "periodOfReport")) or leaf(("coverPage", "reportCalendarOrQuarter"))
    address = [leaf(("address", part)) for part in _ADDRESS]
    return CoverPage(
        form=form,
        cik=_checked(file, "cik", identity.cik, leaf(("credentials", "cik"), "")),
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
        reported_by=tuple(_manager(file, one) for one in reader.reported_by if one),
        included=tuple(_manager(file, one) for one in reader.included if one),
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
_OPTIONS = {"put": "Put", "call": "Call", "": None}


class _InformationTableReader(xml.XmlReader):
    """Collects the leaves of a row and makes a Holding of them when the row ends."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = {
            f"{TABLE} informationTable": _InformationTableReader.other,
            "informationTable": _InformationTableReader.other,
        }
        self.rows: list[Holding] = []
        self._row: dict[str, str] | None = None
        self._values = self._amounts = 0

    def other(self, name: str, attributes: xml.Attributes) -> None:
        here = xml.local(name)
        if here == "infoTable":
            if self._row is not None:
                raise self._in_row("a row inside a row")
            if len(self.rows) >= MAX_ROWS:
                raise self.refusal(f"more than {MAX_ROWS} rows")
            self._row = {}
            self.on_close(self._end_of_row)
        elif self._row is not None and here in _ROW_LEAVES:
            self.collect(partial(self._leaf_of, _ROW_LEAVES[here], here), limit=_MAX_SHORT)

    def _leaf_of(self, key: str, here: str, text: str) -> None:
        row = self._row
        assert row is not None
        if key in row:
            if key != "managers":
                raise self._in_row(f"{here} occurs twice")
            text = f"{row[key]},{text}"
            if len(text) > _MAX_SHORT:
                raise self._in_row("more managers than a row can have")
        row[key] = " ".join(text.split())

    def _end_of_row(self) -> None:
        row = self._row
        assert row is not None
        holding = self._holding(row)
        self._values += holding.value
        self._amounts += holding.amount
        if max(self._values, self._amounts) > MAX_TOTAL:
            raise self._in_row(f"the table's total exceeds {MAX_TOTAL}")
        self.rows.append(holding)
        self._row = None

    def _holding(self, row: dict[str, str]) -> Holding:
        issuer, kind = row.get("issuer", ""), row.get("amount_type", "").upper()
        option = row.get("put_call", "").lower()
        if not issuer:
            raise self._in_row("nameOfIssuer is missing")
        if kind not in _TYPES:
            raise self._in_row(f"sshPrnamtType {kind[:20]!r} is neither SH nor PRN")
        if option not in _OPTIONS:
            raise self._in_row(f"putCall {option[:20]!r} is neither Put nor Call")
        try:
            number = cusip.fold(row.get("cusip", ""))
        except ValueError as error:
            raise self._in_row(str(error)) from None
        # Names and words repeat from row to row, and from table to table.
        return Holding(
            issuer=intern(issuer),
            title=intern(row.get("title", "")),
            cusip=number,
            figi=row.get("figi") or None,
            value=self._number(row, "value"),
            amount=self._number(row, "amount"),
            amount_type=_TYPES[_TYPES.index(kind)],
            put_call=_OPTIONS[option],
            discretion=intern(row["discretion"].upper()) if row.get("discretion") else None,
            managers=intern(row["managers"]) if row.get("managers") else None,
            sole=self._number(row, "sole", optional=True),
            shared=self._number(row, "shared", optional=True),
            none=self._number(row, "none", optional=True),
        )

    def _number(self, row: dict[str, str], key: str, *, optional: bool = False) -> Any:
        text = row.get(key)
        if not text and optional:
            return None
        found = _NUMBER.fullmatch(text or "")
        if found is None or int(found[1]) > MAX_TOTAL:
            raise self._in_row(f"{key} {(text or '')[:40]!r} is not a whole number up to {MAX_TOTAL}")
        return int(found[1])

    def _in_row(self, reason: str) -> ParseError:
        return self.refusal(f"row {len(self.rows) + 1}: {reason}")
