"""Ownership forms 3, 4 and 5 (and their amendments) as values: the XML that EDGAR takes since June 2003.

Almost any element may hold a value, footnotes, both or neither: a price that is told only in a footnote is not
zero. Several reporting owners on one form report the same rows together. Source: EDGAR Ownership XML Technical
Specification, and the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import identifiers
from finapi.edgar.xml_reader import Attributes, OpenHandler, XmlReader

FORM_TYPES = ("3", "3/A", "4", "4/A", "5", "5/A")

# EDGAR's forms take 30 rows a table, 10 owners and 99 footnotes; what goes far beyond was not made there.
MAX_ROWS = 500
MAX_OWNERS = 100
MAX_FOOTNOTES = 1_000
MAX_NOTES = 100  # references of one row
MAX_CELL = 2_000  # characters of any other text; titles and names stay below 200
MAX_TEXT = 50_000  # characters of a footnote or of the remarks; 1,000 are usual

# What makes a value of an element's text, or says in a ValueError why it is none.
TextParser = Callable[[str], object]

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Owner:
    """A reporting owner: CIK in ten digits; what the form does not say of the relationship is None."""

    cik: str
    name: str | None
    is_director: bool | None
    is_officer: bool | None
    is_ten_percent_owner: bool | None
    is_other: bool | None
    officer_title: str | None
    other_text: str | None
    street1: str | None
    street2: str | None
    city: str | None
    state: str | None
    zip_code: str | None


class OwnershipRow(NamedTuple):
    """A transaction or a holding of either table, in the order of the form.

    Numbers are plain decimal texts, dates ISO; None is an element that is missing or empty. ``notes`` names the
    footnotes of each element: ``(("price", ("F1", "F2")), ...)``, by the names of these fields ("coding" for
    the transaction's coding as a whole).
    """

    is_derivative: bool
    is_transaction: bool
    title: str | None = None
    date: str | None = None
    deemed_date: str | None = None
    form: str | None = None
    code: str | None = None
    equity_swap: bool | None = None
    timeliness: str | None = None
    shares: str | None = None
    total_value: str | None = None
    price: str | None = None
    acquired_disposed: str | None = None
    following_shares: str | None = None
    following_value: str | None = None
    direct_or_indirect: str | None = None
    nature: str | None = None
    exercise_price: str | None = None
    exercise_date: str | None = None
    expiration_date: str | None = None
    underlying_title: str | None = None
    underlying_shares: str | None = None
    underlying_value: str | None = None
    footnote_ids: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def list_footnote_ids(self, *fields: str) -> tuple[str, ...]:
        """The footnotes of these fields, or of the whole row when none is named."""
        found = (ids for field, ids in self.footnote_ids if not fields or field in fields)
        return tuple(dict.fromkeys(one for ids in found for one in ids))


@dataclass(frozen=True, slots=True)
class OwnershipForm:
    """One ownership form. ``rule_10b5_1`` is the checkbox of 2023, None on forms that have none.

    ``footnotes`` are (id, text) in their order; ``issuer_cik`` has ten digits; ``symbol`` is as written.
    """

    form: str
    schema: str | None
    period: str
    original_date: str | None
    not_subject_to_section_16: bool | None
    no_securities_owned: bool | None
    rule_10b5_1: bool | None
    issuer_cik: str
    issuer_name: str
    symbol: str | None
    owners: tuple[Owner, ...]
    rows: tuple[OwnershipRow, ...]
    footnotes: tuple[tuple[str, str], ...]
    remarks: str | None
    signature_name: str | None
    signature_date: str | None


def parse(data: bytes, file: str) -> OwnershipForm:
    """Return the form that a document is.

    Raises ParseError for anything else: not XML, cut off, another root, no issuer, period or owner, a row
    without its security, an element that occurs twice, a number, date, code or truth value that is none.
    """
    reader = _OwnershipReader(file)
    reader.read(data)
    return reader.form()


def parse_number(text: str) -> str:
    """A decimal text in its plainest form (``200000.0`` is ``200000``); ValueError when it is none."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    plain = format(Decimal(text), "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "+0", "") else plain


def parse_date(text: str) -> str:
    """An XML date without its time zone; ValueError when it is none."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a date YYYY-MM-DD")
    return date.fromisoformat(found[1]).isoformat()


def parse_boolean(text: str) -> bool:
    """``1``, ``true``, ``0`` or ``false``; ValueError for anything else."""
    if text.lower() not in _BOOLEANS:
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return _BOOLEANS[text.lower()]


def choice_parser(*allowed: str) -> TextParser:
    """What reads one of these texts and refuses every other with a ValueError."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(allowed)}")
        return text

    return read


def parse_code(text: str) -> str:
    """A transaction code, one capital letter; ValueError for anything else."""
    if not re.fullmatch("[A-Z]", text):
        raise ValueError(f"{text[:40]!r} is not a transaction code")
    return text


def _plain(text: str) -> str:
    return text


# Elements of a row that hold <value> and footnotes: the field, and what reads its value.
_CELLS: dict[str, tuple[str, TextParser]] = {
    "securityTitle": ("title", _plain),
    "transactionDate": ("date", parse_date),
    "deemedExecutionDate": ("deemed_date", parse_date),
    "transactionCoding": ("coding", _plain),
    "transactionTimeliness": ("timeliness", choice_parser("E", "L")),
    "transactionShares": ("shares", parse_number),
    "transactionTotalValue": ("total_value", parse_number),
    "transactionPricePerShare": ("price", parse_number),
    "transactionAcquiredDisposedCode": ("acquired_disposed", choice_parser("A", "D")),
    "sharesOwnedFollowingTransaction": ("following_shares", parse_number),
    "valueOwnedFollowingTransaction": ("following_value", parse_number),
    "directOrIndirectOwnership": ("direct_or_indirect", choice_parser("D", "I")),
    "natureOfOwnership": ("nature", _plain),
    "conversionOrExercisePrice": ("exercise_price", parse_number),
    "exerciseDate": ("exercise_date", parse_date),
    "expirationDate": ("expiration_date", parse_date),
    "underlyingSecurityTitle": ("underlying_title", _plain),
    "underlyingSecurityShares": ("underlying_shares", parse_number),
    "underlyingSecurityValue": ("underlying_value", parse_number),
}
# Elements of a row that hold their text themselves.
_CODING: dict[str, tuple[str, TextParser]] = {
    "transactionFormType": ("form", choice_parser("3", "4", "5")),
    "transactionCode": ("code", parse_code),
    "equitySwapInvolved": ("equity_swap", parse_boolean),
}
_ROWS = {
    "nonDerivativeTransaction": (False, True),
    "nonDerivativeHolding": (False, False),
    "derivativeTransaction": (True, True),
    "derivativeHolding": (True, False),
}
_OWNER: dict[str, tuple[str, TextParser]] = {
    "rptOwnerCik": ("cik", identifiers.parse_cik),
    "rptOwnerName": ("name", _plain),
    "rptOwnerStreet1": ("street1", _plain),
    "rptOwnerStreet2": ("street2", _plain),
    "rptOwnerCity": ("city", _plain),
    "rptOwnerState": ("state", _plain),
    "rptOwnerZipCode": ("zip_code", _plain),
    "isDirector": ("is_director", parse_boolean),
    "isOfficer": ("is_officer", parse_boolean),
    "isTenPercentOwner": ("is_ten_percent_owner", parse_boolean),
    "isOther": ("is_other", parse_boolean),
    "officerTitle": ("officer_title", _plain),
    "otherText": ("other_text", _plain),
}
_TOP: dict[str, tuple[str, TextParser]] = {
    "schemaVersion": ("schema", _plain),
    "documentType": ("form", choice_parser(*FORM_TYPES)),
    "periodOfReport": ("period", parse_date),
    "dateOfOriginalSubmission": ("original_date", parse_date),
    "notSubjectToSection16": ("not_subject_to_section_16", parse_boolean),
    "noSecuritiesOwned": ("no_securities_owned", parse_boolean),
    "aff10b5One": ("rule_10b5_1", parse_boolean),
    "issuerCik": ("issuer_cik", identifiers.parse_cik),
    "issuerName": ("issuer_name", _plain),
    "issuerTradingSymbol": ("symbol", _plain),
    "remarks": ("remarks", _plain),
    "signatureName": ("signature_name", _plain),
    "signatureDate": ("signature_date", parse_date),
}
_OWNER_FIELDS = tuple(field for field, _ in _OWNER.values())
_TOP_FIELDS = tuple(field for field, _ in _TOP.values())


class _OwnershipReader(XmlReader):
    """Collects what the elements say into dicts, and judges them when their element closes."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.opens = {"ownershipDocument": _OwnershipReader._document}
        self._top: dict[str, Any] = {}
        self._owners: list[Owner] = []
        self._rows: list[OwnershipRow] = []
        self._footnotes: list[tuple[str, str]] = []
        self._signed = False
        # What is being collected, and which cell of it is open.
        self._into: dict[str, Any] = self._top
        self._cell: tuple[str, TextParser] | None = None
        self._notes: dict[str, tuple[str, ...]] = {}

    def form(self) -> OwnershipForm:
        """The form that was read; ParseError for what it lacks as a whole."""
        top = self._top
        for field, name in _REQUIRED.items():
            if top.get(field) is None:
                raise ParseError(self.file, "", f"has no {name}")
        if not self._owners:
            raise ParseError(self.file, "", "has no reportingOwner")
        known = {one for one, _ in self._footnotes}
        if len(known) != len(self._footnotes):
            raise ParseError(self.file, "footnotes", "two footnotes have one id")
        values: dict[str, Any] = {field: top.get(field) for field in _TOP_FIELDS}
        return OwnershipForm(
            owners=tuple(self._owners), rows=tuple(self._rows), footnotes=tuple(self._footnotes), **values
        )

    # The elements.

    def _document(self, name: str, attributes: Attributes) -> None:
        self.opens = _DOCUMENT

    def _plain_element(self, name: str, attributes: Attributes) -> None:
        if name == "signatureName":
            self._signed = "signature_name" in self._top
        if name.startswith("signature") and self._signed:
            # Joint owners may each sign: the first stands for all.
            self.skip()
            return
        field, read = _LEAVES[name]
        if field in self._into:
            raise self.build_error(f"{name} occurs twice")
        self._into[field] = None
        self.collect(lambda text: self._put(field, read, text), limit=MAX_TEXT if name == "remarks" else MAX_CELL)

    def _owner(self, name: str, attributes: Attributes) -> None:
        if len(self._owners) >= MAX_OWNERS:
            raise self.build_error(f"more than {MAX_OWNERS} owners")
        self._into, self.opens = {}, _OF_OWNER
        self.on_close(self._close_owner)

    def _close_owner(self) -> None:
        values = self._into
        if values.get("cik") is None:
            raise self.build_error("an owner without rptOwnerCik")
        said: dict[str, Any] = {field: values.get(field) for field in _OWNER_FIELDS}
        self._owners.append(Owner(**said))
        self._into, self.opens = self._top, _DOCUMENT

    def _row(self, name: str, attributes: Attributes) -> None:
        if len(self._rows) >= MAX_ROWS:
            raise self.build_error(f"more than {MAX_ROWS} rows")
        derivative, transaction = _ROWS[name]
        self._into = {"is_derivative": derivative, "is_transaction": transaction}
        self._notes, self.opens = {}, _OF_ROW
        self.on_close(self._close_row)

    def _close_row(self) -> None:
        values = self._into
        values.pop("coding", None)
        if values.get("title") is None and "title" not in self._notes:
            raise self.build_error("a row without its securityTitle")
        notes = tuple(sorted(self._notes.items()))
        self._rows.append(OwnershipRow(**values, footnote_ids=notes))
        self._into, self.opens = self._top, _DOCUMENT

    def _open_cell(self, name: str, attributes: Attributes) -> None:
        if self._cell is not None:
            raise self.build_error(f"{name} inside another cell")
        self._cell = _CELLS[name]
        self.on_close(self._close_cell)

    def _close_cell(self) -> None:
        self._cell = None

    def _value(self, name: str, attributes: Attributes) -> None:
        if self._cell is None:
            raise self.build_error("a value outside a cell")
        field, read = self._cell
        if field in self._into:
            raise self.build_error(f"{field} has two values")
        self._into[field] = None
        self.collect(lambda text: self._put(field, read, text), limit=MAX_CELL)

    def _footnote_id(self, name: str, attributes: Attributes) -> None:
        noted = self.get_required(attributes, "id").strip()
        field = self._cell[0] if self._cell is not None else "row"
        held = self._notes.get(field, ())
        if sum(map(len, self._notes.values())) >= MAX_NOTES:
            raise self.build_error(f"more than {MAX_NOTES} footnotes on a row")
        if noted and noted not in held:
            self._notes[field] = (*held, noted)

    def _footnote(self, name: str, attributes: Attributes) -> None:
        if len(self._footnotes) >= MAX_FOOTNOTES:
            raise self.build_error(f"more than {MAX_FOOTNOTES} footnotes")
        noted = self.get_required(attributes, "id").strip()
        self.collect(lambda text: self._footnotes.append((noted, " ".join(text.split()))), limit=MAX_TEXT, mixed=True)

    def _put(self, field: str, read: TextParser, text: str) -> None:
        plain = " ".join(text.split())
        if not plain:
            return
        try:
            self._into[field] = read(plain)
        except ValueError as error:
            raise self.build_error(f"{field}: {error}") from None


_REQUIRED = {"form": "documentType", "period": "periodOfReport", "issuer_cik": "issuerCik", "issuer_name": "issuerName"}
_LEAVES = {**_TOP, **_OWNER, **_CODING}
_DOCUMENT: dict[str, OpenHandler] = {
    **dict.fromkeys(_TOP, _OwnershipReader._plain_element),
    **dict.fromkeys(_ROWS, _OwnershipReader._row),
    "reportingOwner": _OwnershipReader._owner,
    "footnote": _OwnershipReader._footnote,
}
_OF_OWNER: dict[str, OpenHandler] = dict.fromkeys(_OWNER, _OwnershipReader._plain_element)
_OF_ROW: dict[str, OpenHandler] = {
    **dict.fromkeys(_CELLS, _OwnershipReader._open_cell),
    **dict.fromkeys(_CODING, _OwnershipReader._plain_element),
    "value": _OwnershipReader._value,
    "footnoteId": _OwnershipReader._footnote_id,
}
