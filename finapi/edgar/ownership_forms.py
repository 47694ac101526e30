"""The parser of ownership forms 3, 4 and 5 and their amendments (XML since June 2003).

A form has one issuer, one or more reporting owners, and up to four tables: transactions and holdings of shares
("non-derivative") and of options and the like ("derivative"). All owners report the same rows together. A cell of a
row may have a value, footnotes, both or neither::

    <nonDerivativeTransaction>
      <securityTitle><value>Common Stock</value></securityTitle>
      <transactionAmounts>
        <transactionShares><value>100</value></transactionShares>
        <transactionPricePerShare><footnoteId id="F1"/></transactionPricePerShare>
      </transactionAmounts>
    </nonDerivativeTransaction>

The price of this row is None, not zero: footnote F1 explains it. The reader collects the values of the form, of an
owner or of a row in a dictionary, and builds the record when the element is closed. Source: EDGAR Ownership XML
Technical Specification, and real filings.
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

# EDGAR accepts 30 rows a table, 10 owners and 99 footnotes. A document far beyond that did not come from EDGAR.
MAX_ROWS = 500
MAX_OWNERS = 100
MAX_FOOTNOTES = 1_000
MAX_NOTES = 100  # Footnote references of one row.
MAX_CELL = 2_000  # Characters of other texts. Titles and names stay below 200.
MAX_TEXT = 50_000  # Characters of a footnote or of the remarks. Up to 1,000 are usual.

# A function that converts the text of an element. It raises ValueError, with the reason, if the text is not valid.
TextParser = Callable[[str], object]

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,25}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Owner:
    """A reporting owner. The CIK has ten digits, None stands for anything that the form leaves out."""

    # Stored forms have these names as keys.
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
    """A transaction or a holding, of the derivative or the non-derivative table.

    Numbers are plain decimal texts, dates are ISO dates, and None stands for an element that is missing or empty.
    ``footnote_ids`` has the references of each field, ``(("price", ("F1", "F2")), ...)``. In it "coding" stands for the
    transaction's coding (form, code, equity swap) and "row" for references outside of any cell.
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
        """Return the footnotes of these fields, or of all fields if none is given, without repetitions."""
        ids: dict[str, None] = {}
        for field, ids_of_field in self.footnote_ids:
            if not fields or field in fields:
                ids.update(dict.fromkeys(ids_of_field))
        return tuple(ids)


@dataclass(frozen=True, slots=True)
class OwnershipForm:
    """An ownership form. The rows are in document order.

    ``rule_10b5_1`` is the checkbox of 2023, None on forms without it. ``footnotes`` are pairs of id and text.
    ``issuer_cik`` has ten digits. ``symbol`` is the ticker as the filer wrote it.
    """

    # Stored forms have these names as keys.
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


def parse(content: bytes, file: str) -> OwnershipForm:
    """Return the form in a document.

    Raise ParseError if the document is not XML, is cut off or has another root element, if it lacks an issuer, a
    period or an owner, if a row has no security, if an element occurs twice, or if a number, date, code or boolean is
    not valid.
    """
    reader = _OwnershipReader(file)
    reader.read(content)
    return reader.build_form()


# ---- texts to values


def parse_number(text: str) -> str:
    """Return a decimal text in its plainest form (``200000.0`` is ``200000``). Raise ValueError for any other text."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    plain = format(Decimal(text), "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if plain in ("-0", "+0", "") else plain


def parse_date(text: str) -> str:
    """Return an XML date without its time zone. Raise ValueError for any other text."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a date YYYY-MM-DD")
    return date.fromisoformat(match[1]).isoformat()


def parse_boolean(text: str) -> bool:
    """Return the value of ``1``, ``true``, ``0`` or ``false``. Raise ValueError for any other text."""
    if text.lower() not in _BOOLEANS:
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return _BOOLEANS[text.lower()]


def parse_code(text: str) -> str:
    """Return a transaction code, a capital letter. Raise ValueError for any other text."""
    if not re.fullmatch("[A-Z]", text):
        raise ValueError(f"{text[:40]!r} is not a transaction code")
    return text


def build_choice_parser(*allowed: str) -> TextParser:
    """Return a parser that accepts these texts and raises ValueError for any other."""

    def parse_choice(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(allowed)}")
        return text

    return parse_choice


# ---- elements: the field that each one fills, and the parser of its text

# Elements of a row that contain <value> and footnotes.
_CELLS: dict[str, tuple[str, TextParser]] = {
    "securityTitle": ("title", str),
    "transactionDate": ("date", parse_date),
    "deemedExecutionDate": ("deemed_date", parse_date),
    "transactionCoding": ("coding", str),
    "transactionTimeliness": ("timeliness", build_choice_parser("E", "L")),
    "transactionShares": ("shares", parse_number),
    "transactionTotalValue": ("total_value", parse_number),
    "transactionPricePerShare": ("price", parse_number),
    "transactionAcquiredDisposedCode": ("acquired_disposed", build_choice_parser("A", "D")),
    "sharesOwnedFollowingTransaction": ("following_shares", parse_number),
    "valueOwnedFollowingTransaction": ("following_value", parse_number),
    "directOrIndirectOwnership": ("direct_or_indirect", build_choice_parser("D", "I")),
    "natureOfOwnership": ("nature", str),
    "conversionOrExercisePrice": ("exercise_price", parse_number),
    "exerciseDate": ("exercise_date", parse_date),
    "expirationDate": ("expiration_date", parse_date),
    "underlyingSecurityTitle": ("underlying_title", str),
    "underlyingSecurityShares": ("underlying_shares", parse_number),
    "underlyingSecurityValue": ("underlying_value", parse_number),
}
# Elements of a row that contain their text directly.
_CODING: dict[str, tuple[str, TextParser]] = {
    "transactionFormType": ("form", build_choice_parser("3", "4", "5")),
    "transactionCode": ("code", parse_code),
    "equitySwapInvolved": ("equity_swap", parse_boolean),
}
# The elements of rows, with the values of is_derivative and is_transaction.
_ROWS = {
    "nonDerivativeTransaction": (False, True),
    "nonDerivativeHolding": (False, False),
    "derivativeTransaction": (True, True),
    "derivativeHolding": (True, False),
}
_OWNER: dict[str, tuple[str, TextParser]] = {
    "rptOwnerCik": ("cik", identifiers.parse_cik),
    "rptOwnerName": ("name", str),
    "rptOwnerStreet1": ("street1", str),
    "rptOwnerStreet2": ("street2", str),
    "rptOwnerCity": ("city", str),
    "rptOwnerState": ("state", str),
    "rptOwnerZipCode": ("zip_code", str),
    "isDirector": ("is_director", parse_boolean),
    "isOfficer": ("is_officer", parse_boolean),
    "isTenPercentOwner": ("is_ten_percent_owner", parse_boolean),
    "isOther": ("is_other", parse_boolean),
    "officerTitle": ("officer_title", str),
    "otherText": ("other_text", str),
}
_DOCUMENT: dict[str, tuple[str, TextParser]] = {
    "schemaVersion": ("schema", str),
    "documentType": ("form", build_choice_parser(*FORM_TYPES)),
    "periodOfReport": ("period", parse_date),
    "dateOfOriginalSubmission": ("original_date", parse_date),
    "notSubjectToSection16": ("not_subject_to_section_16", parse_boolean),
    "noSecuritiesOwned": ("no_securities_owned", parse_boolean),
    "aff10b5One": ("rule_10b5_1", parse_boolean),
    "issuerCik": ("issuer_cik", identifiers.parse_cik),
    "issuerName": ("issuer_name", str),
    "issuerTradingSymbol": ("symbol", str),
    "remarks": ("remarks", str),
    "signatureName": ("signature_name", str),
    "signatureDate": ("signature_date", parse_date),
}
_TEXT_ELEMENTS = _DOCUMENT | _OWNER | _CODING
_OWNER_FIELDS = tuple(field for field, _ in _OWNER.values())
_DOCUMENT_FIELDS = tuple(field for field, _ in _DOCUMENT.values())
_REQUIRED_ELEMENTS = {
    "form": "documentType",
    "period": "periodOfReport",
    "issuer_cik": "issuerCik",
    "issuer_name": "issuerName",
}


class _OwnershipReader(XmlReader):
    """A reader that collects values of elements in dictionaries, and builds a record when an owner or row is closed."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.open_handlers = {"ownershipDocument": _OwnershipReader._open_document}
        self._document_values: dict[str, Any] = {}
        self._owners: list[Owner] = []
        self._rows: list[OwnershipRow] = []
        self._footnotes: list[tuple[str, str]] = []
        self._has_signature = False
        # The values of the document, owner or row that is open, and the cell of the row that is open.
        self._values = self._document_values
        self._cell: tuple[str, TextParser] | None = None
        self._footnote_ids: dict[str, tuple[str, ...]] = {}

    def build_form(self) -> OwnershipForm:
        """Return the form. Raise ParseError if a required part is missing or two footnotes have the same id."""
        document = self._document_values
        for field, element in _REQUIRED_ELEMENTS.items():
            if document.get(field) is None:
                raise ParseError(self.file, "", f"has no {element}")
        if not self._owners:
            raise ParseError(self.file, "", "has no reportingOwner")
        if len(dict(self._footnotes)) != len(self._footnotes):
            raise ParseError(self.file, "footnotes", "two footnotes have the same id")
        values: dict[str, Any] = {field: document.get(field) for field in _DOCUMENT_FIELDS}
        return OwnershipForm(
            owners=tuple(self._owners), rows=tuple(self._rows), footnotes=tuple(self._footnotes), **values
        )

    # ---- elements

    def _open_document(self, name: str, attributes: Attributes) -> None:
        self.open_handlers = _DOCUMENT_HANDLERS

    def _open_text(self, name: str, attributes: Attributes) -> None:
        if name == "signatureName":
            self._has_signature = "signature_name" in self._document_values
        if name.startswith("signature") and self._has_signature:
            # Each of several owners may sign. The first signature is used.
            self.skip_element()
            return
        field, parse_text = _TEXT_ELEMENTS[name]
        if field in self._values:
            raise self.build_error(f"{name} occurs twice")
        max_characters = MAX_TEXT if name == "remarks" else MAX_CELL
        self._collect_value(field, parse_text, max_characters)

    def _open_owner(self, name: str, attributes: Attributes) -> None:
        if len(self._owners) >= MAX_OWNERS:
            raise self.build_error(f"more than {MAX_OWNERS} owners")
        self._values = {}
        self.open_handlers = _OWNER_HANDLERS
        self.call_on_close(self._close_owner)

    def _close_owner(self) -> None:
        if self._values.get("cik") is None:
            raise self.build_error("an owner without rptOwnerCik")
        values: dict[str, Any] = {field: self._values.get(field) for field in _OWNER_FIELDS}
        self._owners.append(Owner(**values))
        self._values = self._document_values
        self.open_handlers = _DOCUMENT_HANDLERS

    def _open_row(self, name: str, attributes: Attributes) -> None:
        if len(self._rows) >= MAX_ROWS:
            raise self.build_error(f"more than {MAX_ROWS} rows")
        is_derivative, is_transaction = _ROWS[name]
        self._values = {"is_derivative": is_derivative, "is_transaction": is_transaction}
        self._footnote_ids = {}
        self.open_handlers = _ROW_HANDLERS
        self.call_on_close(self._close_row)

    def _close_row(self) -> None:
        values = self._values
        values.pop("coding", None)
        if values.get("title") is None and "title" not in self._footnote_ids:
            raise self.build_error("a row without its securityTitle")
        self._rows.append(OwnershipRow(**values, footnote_ids=tuple(sorted(self._footnote_ids.items()))))
        self._values = self._document_values
        self.open_handlers = _DOCUMENT_HANDLERS

    def _open_cell(self, name: str, attributes: Attributes) -> None:
        if self._cell is not None:
            raise self.build_error(f"{name} inside another cell")
        self._cell = _CELLS[name]
        self.call_on_close(self._close_cell)

    def _close_cell(self) -> None:
        self._cell = None

    def _open_value(self, name: str, attributes: Attributes) -> None:
        if self._cell is None:
            raise self.build_error("a value outside a cell")
        field, parse_text = self._cell
        if field in self._values:
            raise self.build_error(f"{field} has two values")
        self._collect_value(field, parse_text, MAX_CELL)

    def _open_footnote_reference(self, name: str, attributes: Attributes) -> None:
        footnote_id = self.get_required(attributes, "id").strip()
        field = self._cell[0] if self._cell is not None else "row"
        ids_of_field = self._footnote_ids.get(field, ())
        if sum(map(len, self._footnote_ids.values())) >= MAX_NOTES:
            raise self.build_error(f"more than {MAX_NOTES} footnotes on a row")
        if footnote_id and footnote_id not in ids_of_field:
            self._footnote_ids[field] = (*ids_of_field, footnote_id)

    def _open_footnote(self, name: str, attributes: Attributes) -> None:
        if len(self._footnotes) >= MAX_FOOTNOTES:
            raise self.build_error(f"more than {MAX_FOOTNOTES} footnotes")
        footnote_id = self.get_required(attributes, "id").strip()

        def add_footnote(text: str) -> None:
            self._footnotes.append((footnote_id, " ".join(text.split())))

        self.collect_text(add_footnote, max_characters=MAX_TEXT, allow_elements=True)

    def _collect_value(self, field: str, parse_text: TextParser, max_characters: int) -> None:
        # Even an empty element counts as an occurrence of the field.
        self._values[field] = None

        def set_value(text: str) -> None:
            plain = " ".join(text.split())
            if not plain:
                return
            try:
                self._values[field] = parse_text(plain)
            except ValueError as error:
                raise self.build_error(f"{field}: {error}") from None

        self.collect_text(set_value, max_characters=max_characters)


_DOCUMENT_HANDLERS: dict[str, OpenHandler] = {
    **dict.fromkeys(_DOCUMENT, _OwnershipReader._open_text),
    **dict.fromkeys(_ROWS, _OwnershipReader._open_row),
    "reportingOwner": _OwnershipReader._open_owner,
    "footnote": _OwnershipReader._open_footnote,
}
_OWNER_HANDLERS: dict[str, OpenHandler] = dict.fromkeys(_OWNER, _OwnershipReader._open_text)
_ROW_HANDLERS: dict[str, OpenHandler] = {
    **dict.fromkeys(_CELLS, _OwnershipReader._open_cell),
    **dict.fromkeys(_CODING, _OwnershipReader._open_text),
    "value": _OwnershipReader._open_value,
    "footnoteId": _OwnershipReader._open_footnote_reference,
}
