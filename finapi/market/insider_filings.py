"""Filings of ownership forms: lists of them, and one form as it was filed, element by element."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finapi.db import Row as DbRow
from finapi.db import Transaction
from finapi.edgar.ownership import Form, Owner, Row
from finapi.market import insider_store, sectors
from finapi.market.insider_trades import Page, Place, absent, number

ARCHIVES = "https://www.sec.gov/Archives/edgar/data"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What narrows a list of filings; None does not. ``since`` and ``until`` are filing days by number."""

    limit: int
    offset: int = 0
    cursor: Place = Place()
    type: str | None = None
    issuer: int | None = None
    insider: int | None = None
    since: int | None = None
    until: int | None = None
    amendment: bool | None = None
    sector: str | None = None
    industry: int | None = None


def latest(tx: Transaction, wanted: Wanted) -> Page:
    """The newest filings by filing day, narrowed by the one thing that narrows most."""
    at, most = wanted.cursor, wanted.limit + 1
    if wanted.issuer is not None:
        rows = tx.all(
            "insider_filings_of_issuer",
            issuer=wanted.issuer,
            insider=wanted.insider,
            type=wanted.type,
            sector=wanted.sector,
            industry=wanted.industry,
            day=at.day,
            form=at.form,
            since=wanted.since,
            until=wanted.until,
            amendment=wanted.amendment,
            limit=most,
            offset=wanted.offset,
        )
    elif wanted.industry is not None or wanted.sector is not None:
        rows = _of_group(tx, wanted)
    elif wanted.type is not None:
        rows = tx.all(
            "insider_filings_of_type",
            type=wanted.type,
            day=at.day,
            form=at.form,
            since=wanted.since,
            until=wanted.until,
            amendment=wanted.amendment,
            limit=most,
            offset=wanted.offset,
        )
    else:
        rows = tx.all(
            "insider_filings_latest",
            day=at.day,
            form=at.form,
            since=wanted.since,
            until=wanted.until,
            amendment=wanted.amendment,
            limit=most,
            offset=wanted.offset,
        )
    return _page(rows, wanted.limit)


def _of_group(tx: Transaction, wanted: Wanted) -> list[DbRow]:
    at, most = wanted.cursor, wanted.limit + 1
    if wanted.industry is not None:
        return tx.all(
            "insider_filings_of_industry",
            type=wanted.type,
            sector=wanted.sector,
            industry=wanted.industry,
            day=at.day,
            form=at.form,
            since=wanted.since,
            until=wanted.until,
            amendment=wanted.amendment,
            limit=most,
            offset=wanted.offset,
        )
    return tx.all(
        "insider_filings_of_sector",
        type=wanted.type,
        sector=wanted.sector,
        day=at.day,
        form=at.form,
        since=wanted.since,
        until=wanted.until,
        amendment=wanted.amendment,
        limit=most,
        offset=wanted.offset,
    )


def count(tx: Transaction, wanted: Wanted) -> int | None:
    """How many filings there are in all; None for combinations that are not counted."""
    if wanted.issuer is not None:
        found = tx.value(
            "count_insider_filings_of_issuer",
            issuer=wanted.issuer,
            insider=wanted.insider,
            amendment=wanted.amendment,
            type=wanted.type,
            sector=wanted.sector,
            industry=wanted.industry,
            since=wanted.since,
            until=wanted.until,
        )
    elif wanted.sector is not None or wanted.industry is not None or wanted.amendment is not None:
        return None
    elif wanted.type is not None:
        found = tx.value(
            "count_insider_filings_of_type", type=wanted.type, since=wanted.since, until=wanted.until
        )
    else:
        found = tx.value("count_insider_filings", since=wanted.since, until=wanted.until)
    return int(found)


def _page(rows: list[DbRow], limit: int) -> Page:
    shown, more = rows[:limit], len(rows) > limit
    cursor = str(Place(0, shown[-1]["filed_day"], shown[-1]["id"], 0)) if more else None
    return Page([row["id"] for row in shown], more, cursor)


def objects(tx: Transaction, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Filings as lists show them, in the order of ``ids``."""
    return [_object(row) for row in _rows(tx, ids)]


def _rows(tx: Transaction, ids: Sequence[int]) -> list[DbRow]:
    return tx.all("insider_forms_by_id", ids=json.dumps(list(ids)))


def _object(row: DbRow) -> dict[str, Any]:
    sector, industry = sectors.of(row["sic"])
    index, xml = links(row)
    return {
        "filing_id": row["accession"],
        "accession_number": row["accession"],
        "form_type": row["form"],
        "filed_at": row["filed_at"],
        "accepted_at": row["accepted_at"],
        "period_of_report": row["period"],
        "is_amendment": bool(row["is_amendment"]),
        "is_superseded": bool(row["is_superseded"]),
        "is_late": None if row["is_late"] is None else bool(row["is_late"]),
        "business_days_to_file": row["business_days"],
        "issuer": {
            "cik": f"{row['issuer_cik']:010}",
            "name": row["company_name"],
            "trading_symbol": row["ticker"],
            "sector": sector,
            "industry": industry,
        },
        "owner_count": row["owner_count"],
        "non_derivative_transaction_count": row["nonderiv_trans"],
        "derivative_transaction_count": row["deriv_trans"],
        "non_derivative_holding_count": row["nonderiv_holdings"],
        "derivative_holding_count": row["deriv_holdings"],
        "footnote_count": row["footnote_count"],
        "xml_url": xml,
        "index_url": index,
    }


def links(row: DbRow) -> tuple[str | None, str | None]:
    """A filing's index page and XML document on the SEC's site; None for what is not known."""
    if row["id"] < 0:
        return None, None
    folder = f"{ARCHIVES}/{row['issuer_cik']}/{row['accession'].replace('-', '')}"
    document = row["document"] or row["primary_document"]
    xml = f"{folder}/{document}" if document and document.endswith(".xml") else None
    return f"{folder}/{row['accession']}-index.htm", xml


# ---- one form


def form(tx: Transaction, accession: str) -> dict[str, Any] | None:
    """One form with both tables, every footnote, and which rows an amendment restates; None when not held."""
    found = tx.value("insider_form_of", accession=accession)
    if found is None:
        return None
    row = _rows(tx, [found])[0]
    held = insider_store.unpacked(row["body"])
    restated = {one["seq"]: one["superseded_by"] for one in tx.all("superseded_rows", form_id=found)}
    index, xml = links(row)
    return {
        **_head(row, held),
        "acceptedAt": row["accepted_at"],
        "noSecuritiesOwned": held.no_securities_owned,
        "isAmendment": bool(row["is_amendment"]),
        "isSuperseded": bool(row["is_superseded"]),
        "isLate": None if row["is_late"] is None else bool(row["is_late"]),
        "businessDaysToFile": row["business_days"],
        "dateOfOriginalSubmission": held.original_date,
        "aff10b5One": held.rule_10b5_1,
        "indexUrl": index,
        "xmlUrl": xml,
        "issuer": {
            "cik": held.issuer_cik,
            "name": held.issuer_name,
            "tradingSymbol": row["ticker"],
            "tradingSymbolAtFiling": held.symbol,
        },
        "reportingOwners": [_owner(owner) for owner in held.owners],
        "nonDerivativeTable": _table(held, restated, derivative=False),
        "derivativeTable": _table(held, restated, derivative=True),
        "footnotes": [{"id": one, "text": text} for one, text in held.footnotes],
        "remarks": held.remarks,
        "ownerSignatureName": held.signature_name,
        "ownerSignatureDate": held.signature_date,
        "processingMetadata": {
            "createdAt": row["stored_at"],
            "updatedAt": row["stored_at"],
            "processingState": "processed",
            "source": "document" if row["source"] else "data_set",
        },
    }


def _head(row: DbRow, held: Form) -> dict[str, Any]:
    return {
        "id": row["accession"],
        "accessionNo": row["accession"],
        "documentType": held.form,
        "filedAt": row["filed_at"],
        "periodOfReport": held.period,
        "schemaVersion": held.schema,
        "notSubjectToSection16": held.not_subject_to_section_16,
    }


def _owner(owner: Owner) -> dict[str, Any]:
    return {
        "name": owner.name,
        "cik": owner.cik,
        "address": {
            "street1": owner.street1,
            "street2": owner.street2,
            "city": owner.city,
            "state": owner.state,
            "zipCode": owner.zip_code,
        },
        "relationship": {
            "isOfficer": owner.is_officer,
            "officerTitle": owner.officer_title,
            "isDirector": owner.is_director,
            "isTenPercentOwner": owner.is_ten_percent_owner,
            "isOther": owner.is_other,
            "otherText": owner.other_text,
        },
    }


def _table(held: Form, restated: Mapping[int, int], *, derivative: bool) -> dict[str, Any]:
    table: dict[str, list[dict[str, Any]]] = {"transactions": [], "holdings": []}
    for seq, row in enumerate(held.rows, 1):
        if row.derivative == derivative:
            kind = "transactions" if row.transaction else "holdings"
            table[kind].append({**_row(row), "isSuperseded": seq in restated})
    return table


def _row(row: Row) -> dict[str, Any]:
    """A row in the elements of the form; each value with its footnotes, a figure that is null with its mark."""
    post = {
        "sharesOwnedFollowingTransaction": _figure(row, "following_shares"),
        "valueOwnedFollowingTransaction": _figure(row, "following_value"),
    }
    nature = {
        "directOrIndirectOwnership": _text(row, "direct_or_indirect"),
        "natureOfOwnership": _text(row, "nature"),
    }
    shown: dict[str, Any] = {"securityTitle": _text(row, "title")}
    if row.transaction:
        shown |= {
            "transactionDate": _text(row, "date"),
            "deemedExecutionDate": _text(row, "deemed_date"),
            "transactionCoding": {
                "transactionFormType": row.form,
                "transactionCode": row.code,
                "equitySwapInvolved": row.equity_swap,
                "footnotes": list(row.notes_of("coding")),
            },
            "transactionTimeliness": _text(row, "timeliness"),
            "transactionAmounts": {
                "transactionShares": _figure(row, "shares"),
                "transactionTotalValue": _figure(row, "total_value"),
                "transactionPricePerShare": _figure(row, "price"),
                "transactionAcquiredDisposedCode": _text(row, "acquired_disposed"),
            },
        }
    if row.derivative:
        shown |= {
            "conversionOrExercisePrice": _figure(row, "exercise_price"),
            "exerciseDate": _text(row, "exercise_date"),
            "expirationDate": _text(row, "expiration_date"),
            "underlyingSecurity": {
                "underlyingSecurityTitle": _text(row, "underlying_title"),
                "underlyingSecurityShares": _figure(row, "underlying_shares"),
                "underlyingSecurityValue": _figure(row, "underlying_value"),
            },
        }
    return {**shown, "postTransactionAmounts": post, "ownershipNature": nature}


def _text(row: Row, field: str) -> dict[str, Any]:
    return {"value": getattr(row, field), "footnotes": list(row.notes_of(field))}


def _figure(row: Row, field: str) -> dict[str, Any]:
    notes = row.notes_of(field)
    told = number(getattr(row, field))
    if told is not None:
        return {"value": told, "footnotes": list(notes), "mark": None}
    return {
        "value": None,
        "footnotes": list(notes),
        "mark": absent("only_in_footnote" if notes else "not_reported", notes),
    }


# ---- forms as the query endpoint shows them


def flat(tx: Transaction, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Forms with plain values, as ``POST /insiders/query`` shows them, in the order of ``ids``."""
    return [_flat(row, insider_store.unpacked(row["body"])) for row in _rows(tx, ids)]


def _flat(row: DbRow, held: Form) -> dict[str, Any]:
    owners = [_owner(owner) for owner in held.owners]
    tables = {
        name: {
            "transactions": [_flat_row(one) for one in held.rows if one[:2] == (derivative, True)],
            "holdings": [_flat_row(one) for one in held.rows if one[:2] == (derivative, False)],
        }
        for name, derivative in (("nonDerivativeTable", False), ("derivativeTable", True))
    }
    return {
        **_head(row, held),
        "issuer": {
            "cik": held.issuer_cik,
            "name": held.issuer_name,
            "tradingSymbol": held.symbol,
        },
        "reportingOwner": owners[0],
        "reportingOwners": owners,
        **tables,
        "footnotes": [{"id": one, "text": text} for one, text in held.footnotes],
        "remarks": held.remarks,
        "ownerSignatureName": held.signature_name,
        "ownerSignatureNameDate": held.signature_date,
    }


def _flat_row(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "securityTitle": row.title,
        "postTransactionAmounts": {
            "sharesOwnedFollowingTransaction": number(row.following_shares),
            "valueOwnedFollowingTransaction": number(row.following_value),
        },
        "ownershipNature": {
            "directOrIndirectOwnership": row.direct_or_indirect,
            "natureOfOwnership": row.nature,
        },
        "footnotes": {field: list(ids) for field, ids in row.notes},
    }
    if row.transaction:
        shown |= {
            "transactionDate": row.date,
            "coding": {
                "formType": row.form,
                "code": row.code,
                "equitySwapInvolved": row.equity_swap,
                "footnoteId": list(row.notes_of("coding")),
            },
            "amounts": {
                "shares": number(row.shares),
                "pricePerShare": number(row.price),
                "acquiredDisposedCode": row.acquired_disposed,
            },
        }
    if row.derivative:
        shown |= {
            "conversionOrExercisePrice": number(row.exercise_price),
            "exerciseDate": row.exercise_date,
            "expirationDate": row.expiration_date,
            "underlyingSecurity": {
                "title": row.underlying_title,
                "shares": number(row.underlying_shares),
                "value": number(row.underlying_value),
            },
        }
    return shown
