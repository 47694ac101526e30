"""Ownership forms in responses: lists of filings, and single forms with all of their elements.

A form is returned in one of two views, which both follow the structure of the SEC's XML:

- *As filed* (``GET /insiders/filings/{accession}``): each value is a cell with its footnotes, and a figure that is null
  has a mark with the reason. Example: ``"securityTitle": {"value": "Common Stock", "footnotes": ["F1"]}``.
- *Plain* (``POST /insiders/query``): each value by itself. Example: ``"securityTitle": "Common Stock"``.

The elements are declared once in tables such as :data:`_ROWS_OF_FILED_VIEW`, in which a text is the name of a field of
``OwnershipRow``. :func:`_fill` replaces each field name by the field's value, or by its type to build the JSON Schema.
So the schema and the answer cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, InlineObject, OneOf, Time, Url, build_record
from finapi.edgar.ownership_forms import FORM_TYPES, Owner, OwnershipForm, OwnershipRow
from finapi.market.insiders import form_bodies, insider_store
from finapi.market.insiders.trades import (
    FigureMark,
    IdPage,
    InsiderCursor,
    build_absent_mark,
    find_narrowest,
    read_id_page,
)
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

ARCHIVES = "https://www.sec.gov/Archives/edgar/data"
MAX_UNDATED = 10_000  # Counting filings without a filing day stops at this number.


class FormFilters(NamedTuple):
    """The filters and the page of a list of filings. A filter that is None does not apply."""

    limit: int
    offset: int = 0
    cursor: InsiderCursor = InsiderCursor()
    insider: int | None = None
    issuer: int | None = None
    industry: int | None = None
    sector: str | None = None
    sic_ranges: str | None = None
    type: str | None = None
    since: int | None = None  # The first and last filing day, as day numbers.
    until: int | None = None
    amendment: bool | None = None


def choose_query(filters: FormFilters) -> str:
    """Return the name of the query that uses the index of the most selective filter."""
    return f"insider_filings_of_{find_narrowest(filters, 'insider', 'issuer', 'industry', 'sector', 'type')}"


def build_query_values(filters: FormFilters) -> dict[str, Any]:
    """Return the parameters of :func:`choose_query`'s query."""
    return {**filters._asdict(), **filters.cursor._asdict()}


def count_undated(tx: Transaction, filters: FormFilters) -> int:
    """Return the number of filings left out of a window for lack of a filing day, at most :data:`MAX_UNDATED`."""
    if filters.since is None and filters.until is None:
        return 0
    # Forms without a filing day are stored with the day number 0.
    undated = filters._replace(limit=MAX_UNDATED, offset=0, cursor=InsiderCursor(), since=0, until=0)
    return len(tx.list_rows(choose_query(undated), build_query_values(undated)))


def list_latest(tx: Transaction, filters: FormFilters) -> IdPage:
    """Return the newest filings by filing day.

    Filings of a sector or industry, and of amendments, are not counted.
    """
    narrowest = find_narrowest(filters, "issuer", "sector", "sic_ranges", "industry", "amendment", "type")
    is_counted = narrowest in ("issuer", "type", "all")
    count_query = f"count_insider_filings_of_{narrowest}" if is_counted else None
    return read_id_page(tx, choose_query(filters), build_query_values(filters), count_query)


class _FiledIssuer(TypedDict):
    cik: str
    name: str
    trading_symbol: str | None
    sector: str | None
    industry: str | None


class InsiderFiling(TypedDict):
    """A filing in a list."""

    filing_id: str
    accession_number: str
    form_type: Annotated[str, OneOf(FORM_TYPES)]
    filed_at: Date | None
    accepted_at: Time | None
    period_of_report: Date
    is_amendment: bool
    is_superseded: bool
    is_late: bool | None
    business_days_to_file: int | None
    issuer: _FiledIssuer
    owner_count: int
    non_derivative_transaction_count: int
    derivative_transaction_count: int
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    xml_url: Url | None
    index_url: Url | None


def build_filings(tx: Transaction, ids: Sequence[int]) -> list[InsiderFiling]:
    """Return the filings with these ids, in this order."""
    return [_build_filing(row) for row in tx.list_rows("insider_filings_by_id", ids=json.dumps(list(ids)))]


def _build_filing(row: Row) -> InsiderFiling:
    sector, industry = sectors.get_names_of_sic(row["sic"])
    links = _build_links(row)
    issuer: _FiledIssuer = {
        "cik": f"{row['issuer_cik']:010}",
        "name": row["company_name"],
        "trading_symbol": row["ticker"],
        "sector": sector,
        "industry": industry,
    }
    return build_record(InsiderFiling, row, issuer=issuer, xml_url=links.xml_url, index_url=links.index_url)


class _Links(NamedTuple):
    """The addresses of a filing's index page and of its XML document on the SEC's site; None if unknown."""

    index_url: str | None
    xml_url: str | None


def _build_links(row: Row) -> _Links:
    if row["form_id"] < 0:  # The accession number is not known.
        return _Links(None, None)
    folder = f"{ARCHIVES}/{row['issuer_cik']}/{row['accession'].replace('-', '')}"
    document = row["document"]
    xml = f"{folder}/{document}" if document and document.endswith(".xml") else None
    return _Links(index_url=f"{folder}/{row['accession']}-index.htm", xml_url=xml)


# ---- The elements of a form

# The elements of a view by name. A text is the field of ``OwnershipRow`` with the value, a mapping has nested elements.
Elements = Mapping[str, "str | Elements"]

_OWNER: Elements = {
    "name": "name",
    "cik": "cik",
    "address": {"street1": "street1", "street2": "street2", "city": "city", "state": "state", "zipCode": "zip_code"},
    "relationship": {
        "isOfficer": "is_officer",
        "officerTitle": "officer_title",
        "isDirector": "is_director",
        "isTenPercentOwner": "is_ten_percent_owner",
        "isOther": "is_other",
        "otherText": "other_text",
    },
}


class RowElements(NamedTuple):
    """The elements of the rows (transactions and holdings) of a form in one of the two views."""

    common: Elements  # The elements of every row.
    transaction: Elements  # Additional elements of transactions.
    derivative: Elements  # Additional elements of derivatives.

    def select(self, *, derivative: bool, transaction: bool) -> Elements:
        """Return the elements of a row of this kind."""
        elements = dict(self.common)
        if transaction:
            elements.update(self.transaction)
        if derivative:
            elements.update(self.derivative)
        return elements


_COMMON: Elements = {
    "securityTitle": "title",
    "postTransactionAmounts": {
        "sharesOwnedFollowingTransaction": "following_shares",
        "valueOwnedFollowingTransaction": "following_value",
    },
    "ownershipNature": {"directOrIndirectOwnership": "direct_or_indirect", "natureOfOwnership": "nature"},
}
_DERIVATIVE: Elements = {
    "conversionOrExercisePrice": "exercise_price",
    "exerciseDate": "exercise_date",
    "expirationDate": "expiration_date",
}
_ROWS_OF_FILED_VIEW = RowElements(
    {**_COMMON, "isSuperseded": "is_superseded"},
    {
        "transactionDate": "date",
        "deemedExecutionDate": "deemed_date",
        "transactionCoding": {
            "transactionFormType": "form",
            "transactionCode": "code",
            "equitySwapInvolved": "equity_swap",
            "footnotes": "coding_notes",
        },
        "transactionTimeliness": "timeliness",
        "transactionAmounts": {
            "transactionShares": "shares",
            "transactionTotalValue": "total_value",
            "transactionPricePerShare": "price",
            "transactionAcquiredDisposedCode": "acquired_disposed",
        },
    },
    {
        **_DERIVATIVE,
        "underlyingSecurity": {
            "underlyingSecurityTitle": "underlying_title",
            "underlyingSecurityShares": "underlying_shares",
            "underlyingSecurityValue": "underlying_value",
        },
    },
)
_ROWS_OF_PLAIN_VIEW = RowElements(
    {**_COMMON, "footnotes": "notes"},
    {
        "transactionDate": "date",
        "coding": {
            "formType": "form",
            "code": "code",
            "equitySwapInvolved": "equity_swap",
            "footnoteId": "coding_notes",
        },
        "amounts": {"shares": "shares", "pricePerShare": "price", "acquiredDisposedCode": "acquired_disposed"},
    },
    {
        **_DERIVATIVE,
        "underlyingSecurity": {"title": "underlying_title", "shares": "underlying_shares", "value": "underlying_value"},
    },
)
_FIGURES = {
    "shares",
    "total_value",
    "price",
    "following_shares",
    "following_value",
    "exercise_price",
    "underlying_shares",
    "underlying_value",
}


def _fill(elements: Elements, fill: Callable[[str], Any]) -> dict[str, Any]:
    """Return the elements with each field name replaced by ``fill(name)``."""
    filled: dict[str, Any] = {}
    for name, element in elements.items():
        filled[name] = fill(element) if isinstance(element, str) else _fill(element, fill)
    return filled


class _TextCell(TypedDict):
    value: str | None
    footnotes: list[str]


class _FigureCell(TypedDict):
    value: Decimal | None
    footnotes: list[str]
    mark: FigureMark | None


# The fields that are bare values in both views, and their types.
_TYPES_WITHOUT_CELL: dict[str, Any] = {
    "form": str | None,
    "code": str | None,
    "equity_swap": bool | None,
    "coding_notes": list[str],
    "notes": dict[str, list[str]],
    "is_superseded": bool,
}


def _get_filed_type(field: str) -> Any:
    """Return the type of a field's member in the view of a form as it was filed."""
    return _TYPES_WITHOUT_CELL.get(field, _FigureCell if field in _FIGURES else _TextCell)


def _get_plain_type(field: str) -> Any:
    """Return the type of a field's member in the plain view."""
    if field in _TYPES_WITHOUT_CELL:
        return _TYPES_WITHOUT_CELL[field]
    if field in _FIGURES:
        return Decimal | None
    return (Date if field.endswith("date") else str) | None


def _get_table_type(rows: RowElements, get_type: Callable[[str], Any], *, derivative: bool) -> InlineObject:
    """Return the type of a table of a form, whose rows have these elements."""
    transaction = InlineObject(_fill(rows.select(derivative=derivative, transaction=True), get_type))
    holding = InlineObject(_fill(rows.select(derivative=derivative, transaction=False), get_type))
    return InlineObject(
        {"transactions": GenericAlias(list, (transaction,)), "holdings": GenericAlias(list, (holding,))}
    )


def _get_owner_type(field: str) -> Any:
    if field == "cik":
        return str
    return bool if field.startswith("is_") else str | None


def _get_owner_member(owner: Owner, field: str) -> Any:
    member = getattr(owner, field)
    return bool(member) if field.startswith("is_") else member


FiledOwner = Annotated[dict[str, Any], InlineObject(_fill(_OWNER, _get_owner_type))]


class _FormFootnote(TypedDict):
    id: str
    text: str


class _FormHead(TypedDict):
    id: str
    accessionNo: str
    documentType: Annotated[str, OneOf(FORM_TYPES)]
    filedAt: Date | None
    periodOfReport: Date
    schemaVersion: str | None
    notSubjectToSection16: bool | None


class _FormIssuer(TypedDict):
    cik: str
    name: str
    tradingSymbol: str | None


class _FormIssuerNow(_FormIssuer):
    tradingSymbolAtFiling: str | None


class _FormProcessing(TypedDict):
    createdAt: Time
    updatedAt: Time
    processingState: str
    source: Literal["document", "data_set"]


class FormAsFiled(_FormHead):
    """A form with both tables, all footnotes, and flags of the rows that an amendment restates."""

    acceptedAt: Time | None
    noSecuritiesOwned: bool | None
    isAmendment: bool
    isSuperseded: bool
    isLate: bool | None
    businessDaysToFile: int | None
    dateOfOriginalSubmission: Date | None
    aff10b5One: bool | None
    indexUrl: Url | None
    xmlUrl: Url | None
    issuer: _FormIssuerNow
    reportingOwners: list[FiledOwner]
    nonDerivativeTable: Annotated[
        dict[str, Any], _get_table_type(_ROWS_OF_FILED_VIEW, _get_filed_type, derivative=False)
    ]
    derivativeTable: Annotated[dict[str, Any], _get_table_type(_ROWS_OF_FILED_VIEW, _get_filed_type, derivative=True)]
    footnotes: list[_FormFootnote]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureDate: Date | None
    processingMetadata: _FormProcessing


class PlainForm(_FormHead):
    """A form in the answer of ``POST /insiders/query``, without the footnotes of single values."""

    issuer: _FormIssuer
    reportingOwner: FiledOwner
    reportingOwners: list[FiledOwner]
    nonDerivativeTable: Annotated[
        dict[str, Any], _get_table_type(_ROWS_OF_PLAIN_VIEW, _get_plain_type, derivative=False)
    ]
    derivativeTable: Annotated[dict[str, Any], _get_table_type(_ROWS_OF_PLAIN_VIEW, _get_plain_type, derivative=True)]
    footnotes: list[_FormFootnote]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureNameDate: Date | None


def find_form(tx: Transaction, accession: str) -> FormAsFiled | None:
    """Return a form as it was filed, or None if it is not stored."""
    form_id = tx.find_value("insider_form_id", accession=accession)
    if form_id is None:
        return None
    (row,) = tx.list_rows("insider_forms_by_id", ids=json.dumps([form_id]))
    form = form_bodies.decode_form(row["body"])
    restated_seqs = {restated["seq"] for restated in tx.list_rows("superseded_rows", form_id=form_id)}
    links = _build_links(row)
    return build_record(
        FormAsFiled,
        row,
        **_build_form_members(form, _ROWS_OF_FILED_VIEW, partial(_build_cell, restated_seqs)),
        noSecuritiesOwned=form.no_securities_owned,
        dateOfOriginalSubmission=form.original_date,
        aff10b5One=form.rule_10b5_1,
        indexUrl=links.index_url,
        xmlUrl=links.xml_url,
        issuer={**_build_issuer(form), "tradingSymbol": row["ticker"], "tradingSymbolAtFiling": form.symbol},
        ownerSignatureDate=form.signature_date,
        processingMetadata={
            "createdAt": row["stored_at"],
            "updatedAt": row["stored_at"],
            "processingState": "processed",
            "source": "data_set" if row["source"] == insider_store.FROM_SET else "document",
        },
    )


def list_plain_forms(tx: Transaction, ids: Sequence[int]) -> list[PlainForm]:
    """Return the plain view of the forms with these ids, in this order."""
    rows = tx.list_rows("insider_forms_by_id", ids=json.dumps(list(ids)))
    return [_build_plain_form(row, form_bodies.decode_form(row["body"])) for row in rows]


def _build_plain_form(row: Row, form: OwnershipForm) -> PlainForm:
    members = _build_form_members(form, _ROWS_OF_PLAIN_VIEW, _get_plain_member)
    return build_record(
        PlainForm,
        row,
        **members,
        issuer=_build_issuer(form),
        reportingOwner=members["reportingOwners"][0],
        ownerSignatureNameDate=form.signature_date,
    )


def _build_form_members(
    form: OwnershipForm, elements: RowElements, build_member: Callable[[OwnershipRow, int, str], Any]
) -> dict[str, Any]:
    """Return the members that both views of a form have.

    ``build_member`` returns the member of a field: it is called with the row, its number from 1 and the field's name.
    """

    def build_rows(*, derivative: bool, transaction: bool) -> list[dict[str, Any]]:
        row_elements = elements.select(derivative=derivative, transaction=transaction)
        rows = []
        for seq, row in enumerate(form.rows, 1):
            if row.is_derivative == derivative and row.is_transaction == transaction:
                rows.append(_fill(row_elements, partial(build_member, row, seq)))
        return rows

    return {
        "schemaVersion": form.schema,
        "notSubjectToSection16": form.not_subject_to_section_16,
        "reportingOwners": [_fill(_OWNER, partial(_get_owner_member, owner)) for owner in form.owners],
        "nonDerivativeTable": {
            "transactions": build_rows(derivative=False, transaction=True),
            "holdings": build_rows(derivative=False, transaction=False),
        },
        "derivativeTable": {
            "transactions": build_rows(derivative=True, transaction=True),
            "holdings": build_rows(derivative=True, transaction=False),
        },
        "footnotes": [{"id": footnote_id, "text": text} for footnote_id, text in form.footnotes],
        "remarks": form.remarks,
        "ownerSignatureName": form.signature_name,
    }


def _build_issuer(form: OwnershipForm) -> _FormIssuer:
    return {"cik": form.issuer_cik, "name": form.issuer_name, "tradingSymbol": form.symbol}


def _build_cell(restated_seqs: set[int], row: OwnershipRow, seq: int, field: str) -> Any:
    """Return the value of a field with its footnotes, and for a figure that is null its mark."""
    if field == "is_superseded":
        return seq in restated_seqs
    member = _get_plain_member(row, seq, field)
    if field in _TYPES_WITHOUT_CELL:
        return member
    footnote_ids = list(row.list_footnote_ids(field))
    cell = {"value": member, "footnotes": footnote_ids}
    if field in _FIGURES:
        cell["mark"] = build_absent_mark(footnote_ids) if member is None else None
    return cell


def _get_plain_member(row: OwnershipRow, seq: int, field: str) -> Any:
    if field == "coding_notes":
        return list(row.list_footnote_ids("coding"))
    if field == "notes":
        return {noted_field: list(ids) for noted_field, ids in row.footnote_ids}
    member = getattr(row, field)
    return Decimal(member) if field in _FIGURES and member is not None else member
