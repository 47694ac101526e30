"""Filings of ownership forms: lists of them, and one form as it was filed, element by element."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from types import GenericAlias
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, InlineObject, OneOf, Time, Url, build_record
from finapi.edgar.ownership_forms import FORM_TYPES, Owner, OwnershipForm, OwnershipRow
from finapi.market.insiders import insider_store
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
MAX_UNDATED = 10_000  # filings without a day that are counted


class FormFilters(NamedTuple):
    """What narrows a list of filings; None does not. ``since`` and ``until`` are filing days by number."""

    limit: int
    offset: int = 0
    cursor: InsiderCursor = InsiderCursor()
    insider: int | None = None
    issuer: int | None = None
    industry: int | None = None
    sector: str | None = None
    type: str | None = None
    since: int | None = None
    until: int | None = None
    amendment: bool | None = None


def choose_query(filters: FormFilters) -> str:
    """The name of the query that reads a list from the index of the filter that narrows it most."""
    by = find_narrowest(filters, "insider", "issuer", "industry", "sector", "type")
    return f"insider_filings_of_{by}"


def build_query_values(filters: FormFilters) -> dict[str, Any]:
    """The values of that query."""
    return {**filters._asdict(), **filters.cursor._asdict()}


def count_undated(tx: Transaction, filters: FormFilters) -> int:
    """How many filings a window leaves out because their day is not known, up to :data:`MAX_UNDATED`."""
    if filters.since is None and filters.until is None:
        return 0
    # Day 0 is that of forms whose filing day is not known.
    without = filters._replace(limit=MAX_UNDATED, offset=0, cursor=InsiderCursor(), since=0, until=0)
    return len(tx.list_rows(choose_query(without), build_query_values(without)))


def list_latest(tx: Transaction, filters: FormFilters) -> IdPage:
    """The newest filings by filing day; those of a sector or industry, and amendments, are not counted."""
    by = find_narrowest(filters, "issuer", "sector", "industry", "amendment", "type")
    count = f"count_insider_filings_of_{by}" if by in ("issuer", "type", "all") else None
    return read_id_page(tx, choose_query(filters), build_query_values(filters), count)


class _FiledIssuer(TypedDict):
    cik: str
    name: str
    trading_symbol: str | None
    sector: str | None
    industry: str | None


class InsiderFiling(TypedDict):
    """A filing as lists show it."""

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
    """Filings as lists show them, in the order of ``ids``."""
    return [_filing(row) for row in tx.list_rows("insider_filings_by_id", ids=json.dumps(list(ids)))]


def _filing(row: Row) -> InsiderFiling:
    sector, industry = sectors.for_sic(row["sic"])
    index, xml = _links(row)
    issuer: _FiledIssuer = {
        "cik": f"{row['issuer_cik']:010}",
        "name": row["company_name"],
        "trading_symbol": row["ticker"],
        "sector": sector,
        "industry": industry,
    }
    return build_record(InsiderFiling, row, issuer=issuer, xml_url=xml, index_url=index)


def _links(row: Row) -> tuple[str | None, str | None]:
    """A filing's index page and XML document on the SEC's site; None for what is not known."""
    if row["form_id"] < 0:
        return None, None
    folder = f"{ARCHIVES}/{row['issuer_cik']}/{row['accession'].replace('-', '')}"
    document = row["document"]
    xml = f"{folder}/{document}" if document and document.endswith(".xml") else None
    return f"{folder}/{row['accession']}-index.htm", xml


# ---- one form, as it was filed or in plain values

# The elements of a form as it is answered: each by the field that holds its value, or with the elements inside of it.
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
    """The elements of every row, and those that only transactions and only derivatives have."""

    any: Elements
    transaction: Elements
    derivative: Elements

    def of(self, *, derivative: bool, transaction: bool) -> Elements:
        """The elements of a row of this kind."""
        return {**self.any, **(self.transaction if transaction else {}), **(self.derivative if derivative else {})}


_ANY: Elements = {
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
_FILED = RowElements(
    {**_ANY, "isSuperseded": "is_superseded"},
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
_PLAIN = RowElements(
    {**_ANY, "footnotes": "notes"},
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


def _shown(elements: Elements, leaf: Callable[[str], Any]) -> dict[str, Any]:
    """The elements, each field replaced by what ``leaf`` makes of it."""
    return {name: leaf(one) if isinstance(one, str) else _shown(one, leaf) for name, one in elements.items()}


class _TextCell(TypedDict):
    value: str | None
    footnotes: list[str]


class _FigureCell(TypedDict):
    value: Decimal | None
    footnotes: list[str]
    mark: FigureMark | None


# Fields that both ways to show a form show alike, and the types of their members.
_ALIKE: dict[str, Any] = {
    "form": str | None,
    "code": str | None,
    "equity_swap": bool | None,
    "coding_notes": list[str],
    "notes": dict[str, list[str]],
    "is_superseded": bool,
}


def _filed_kind(field: str) -> Any:
    return _ALIKE.get(field, _FigureCell if field in _FIGURES else _TextCell)


def _plain_kind(field: str) -> Any:
    text = Date if field.endswith("date") else str
    return _ALIKE.get(field, (Decimal if field in _FIGURES else text) | None)


def _table(rows: RowElements, kind: Callable[[str], Any], *, derivative: bool) -> InlineObject:
    """The members of a table whose rows have these elements."""
    held, traded = (
        InlineObject(_shown(rows.of(derivative=derivative, transaction=transaction), kind))
        for transaction in (False, True)
    )
    return InlineObject({"transactions": GenericAlias(list, (traded,)), "holdings": GenericAlias(list, (held,))})


def _owner_kind(field: str) -> Any:
    return str if field == "cik" else bool if field.startswith("is_") else str | None


def _owner_value(owner: Owner, field: str) -> Any:
    value = getattr(owner, field)
    return bool(value) if field.startswith("is_") else value


FiledOwner = Annotated[dict[str, Any], InlineObject(_shown(_OWNER, _owner_kind))]


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
    """One form with both tables, every footnote, and which rows an amendment restates."""

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
    nonDerivativeTable: Annotated[dict[str, Any], _table(_FILED, _filed_kind, derivative=False)]
    derivativeTable: Annotated[dict[str, Any], _table(_FILED, _filed_kind, derivative=True)]
    footnotes: list[_FormFootnote]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureDate: Date | None
    processingMetadata: _FormProcessing


class PlainForm(_FormHead):
    """A form as ``POST /insiders/query`` shows it, without the footnotes of single values."""

    issuer: _FormIssuer
    reportingOwner: FiledOwner
    reportingOwners: list[FiledOwner]
    nonDerivativeTable: Annotated[dict[str, Any], _table(_PLAIN, _plain_kind, derivative=False)]
    derivativeTable: Annotated[dict[str, Any], _table(_PLAIN, _plain_kind, derivative=True)]
    footnotes: list[_FormFootnote]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureNameDate: Date | None


def find_form(tx: Transaction, accession: str) -> FormAsFiled | None:
    """One form as it was filed; None when it is not held."""
    found = tx.find_value("insider_form_of", accession=accession)
    if found is None:
        return None
    (row,) = tx.list_rows("insider_forms_by_id", ids=json.dumps([found]))
    held = insider_store.decode_form(row["body"])
    restated = {one["seq"] for one in tx.list_rows("superseded_rows", form_id=found)}
    index, xml = _links(row)
    return build_record(
        FormAsFiled,
        row,
        **_said(held, _FILED, partial(_cell, restated)),
        noSecuritiesOwned=held.no_securities_owned,
        dateOfOriginalSubmission=held.original_date,
        aff10b5One=held.rule_10b5_1,
        indexUrl=index,
        xmlUrl=xml,
        issuer={**_issuer(held), "tradingSymbol": row["ticker"], "tradingSymbolAtFiling": held.symbol},
        ownerSignatureDate=held.signature_date,
        processingMetadata={
            "createdAt": row["stored_at"],
            "updatedAt": row["stored_at"],
            "processingState": "processed",
            "source": "document" if row["source"] else "data_set",
        },
    )


def list_plain_forms(tx: Transaction, ids: Sequence[int]) -> list[PlainForm]:
    """Forms in plain values, in the order of ``ids``."""
    return [
        _plain(row, insider_store.decode_form(row["body"]))
        for row in tx.list_rows("insider_forms_by_id", ids=json.dumps(list(ids)))
    ]


def _plain(row: Row, held: OwnershipForm) -> PlainForm:
    said = _said(held, _PLAIN, _plain_value)
    owner, signed = said["reportingOwners"][0], held.signature_date
    return build_record(
        PlainForm, row, **said, issuer=_issuer(held), reportingOwner=owner, ownerSignatureNameDate=signed
    )


def _said(held: OwnershipForm, elements: RowElements, leaf: Callable[[OwnershipRow, int, str], Any]) -> dict[str, Any]:
    """What both ways to show a form have in common; ``leaf`` shows a field of a row by the row's place, from 1."""

    def rows(*, derivative: bool, transaction: bool) -> list[dict[str, Any]]:
        of_kind = elements.of(derivative=derivative, transaction=transaction)
        numbered = [(seq, row) for seq, row in enumerate(held.rows, 1) if row[:2] == (derivative, transaction)]
        return [_shown(of_kind, partial(leaf, row, seq)) for seq, row in numbered]

    tables = {
        name: {
            "transactions": rows(derivative=derivative, transaction=True),
            "holdings": rows(derivative=derivative, transaction=False),
        }
        for name, derivative in (("nonDerivativeTable", False), ("derivativeTable", True))
    }
    return {
        "schemaVersion": held.schema,
        "notSubjectToSection16": held.not_subject_to_section_16,
        "reportingOwners": [_shown(_OWNER, partial(_owner_value, owner)) for owner in held.owners],
        **tables,
        "footnotes": [{"id": one, "text": text} for one, text in held.footnotes],
        "remarks": held.remarks,
        "ownerSignatureName": held.signature_name,
    }


def _issuer(held: OwnershipForm) -> _FormIssuer:
    return {"cik": held.issuer_cik, "name": held.issuer_name, "tradingSymbol": held.symbol}


def _cell(restated: set[int], row: OwnershipRow, seq: int, field: str) -> Any:
    """A value with its footnotes; a figure that is null with its mark."""
    if field == "is_superseded":
        return seq in restated
    value = _plain_value(row, seq, field)
    if field in _ALIKE:
        return value
    notes = list(row.list_footnote_ids(field))
    if field not in _FIGURES:
        return {"value": value, "footnotes": notes}
    return {"value": value, "footnotes": notes, "mark": build_absent_mark(notes) if value is None else None}


def _plain_value(row: OwnershipRow, seq: int, field: str) -> Any:
    if field == "coding_notes":
        return list(row.list_footnote_ids("coding"))
    if field == "notes":
        return {noted: list(ids) for noted, ids in row.footnote_ids}
    value = getattr(row, field)
    return Decimal(value) if field in _FIGURES and value is not None else value
