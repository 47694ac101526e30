"""Transactions of insiders, found and shown: pages of ids by one index each, then the rows of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.db import Row, Transaction
from finapi.errors import invalid_param
from finapi.market import insider_titles, sectors
from finapi.market.insider_amendments import fold
from finapi.market.insider_rules import DESCRIPTIONS
from finapi.market.insider_titles import C_SUITE, DIRECTOR, OFFICER, OTHER, TEN_PERCENT

BUY, SELL = 1, -1

# The end of a list that has not begun: every row comes before it.
_LARGEST = 2**62

_COMMON = re.compile(r"\b(?:common|ordinary)\b|^class \w+ (?:stock|shares?)|^(?:stock|shares?)$")
_NOT_COMMON = re.compile(r"\b(?:preferred|options?|warrants?|units?|notes?|rights?|phantom)\b")


class Place(NamedTuple):
    """Where a page begins: behind this row. ``value`` counts in lists that are sorted by it."""

    value: int = _LARGEST
    day: int = _LARGEST
    form: int = _LARGEST
    seq: int = _LARGEST

    def __str__(self) -> str:
        return "_".join(str(part) for part in self)


@dataclass(frozen=True, slots=True)
class Page:
    """Ids of the rows of a page, whether more follow, and the cursor that the next page begins with."""

    ids: list[int]
    has_more: bool
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What narrows a list; None does not. ``industry`` is a major group, ``sector`` a division's letter."""

    limit: int
    cursor: Place = Place()
    type: str | None = None
    sector: str | None = None
    industry: int | None = None
    since: int = 0
    date_from: str | None = None
    date_to: str | None = None
    dedup: bool = False


def place(cursor: str | None) -> Place:
    """The place that a cursor names; the beginning without one; INVALID_PARAM for what is no cursor."""
    if cursor is None:
        return Place()
    if not re.fullmatch(r"(?:-?[0-9]{1,19}_){3}-?[0-9]{1,19}", cursor):
        raise invalid_param("cursor", "That is not a cursor of this list.", expected="next_cursor of a page")
    parts = [int(part) for part in cursor.split("_")]
    if any(abs(part) > _LARGEST * 2 - 1 for part in parts):
        raise invalid_param("cursor", "That is not a cursor of this list.", expected="next_cursor of a page")
    return Place(*parts)


def latest(tx: Transaction, wanted: Wanted) -> Page:
    """The newest transactions by filing day, of one type, sector or industry."""
    at, most = wanted.cursor, wanted.limit + 1
    if wanted.industry is not None:
        rows = tx.all(
            "trades_of_industry",
            industry=wanted.industry,
            sector=wanted.sector,
            type=wanted.type,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    elif wanted.sector is not None:
        rows = tx.all(
            "trades_of_sector",
            sector=wanted.sector,
            type=wanted.type,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    elif wanted.type is not None:
        rows = tx.all(
            "trades_of_type",
            type=wanted.type,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    else:
        rows = tx.all("trades_latest", day=at.day, form=at.form, seq=at.seq, dedup=wanted.dedup, limit=most)
    return _page(rows, wanted)


def count_latest(tx: Transaction, wanted: Wanted) -> int | None:
    """How many there are in all; None where they are not counted, with repeats taken out."""
    if wanted.dedup:
        return None
    if wanted.industry is not None:
        found = tx.value(
            "count_trades_of_industry", industry=wanted.industry, sector=wanted.sector, type=wanted.type
        )
    elif wanted.sector is not None:
        found = tx.value("count_trades_of_sector", sector=wanted.sector, type=wanted.type)
    elif wanted.type is not None:
        found = tx.value("count_trades_of_type", type=wanted.type)
    else:
        found = tx.value("count_trades")
    return int(found)


def of_issuer(tx: Transaction, issuer: int, wanted: Wanted) -> tuple[Page, int | None]:
    """The newest transactions in a company's securities, and how many there are in all."""
    at, most, since, date_from = wanted.cursor, wanted.limit + 1, wanted.since, wanted.date_from
    rows = tx.all(
        "trades_of_issuer",
        issuer=issuer,
        since=since,
        date_from=date_from,
        type=wanted.type,
        day=at.day,
        form=at.form,
        seq=at.seq,
        dedup=wanted.dedup,
        limit=most,
    )
    if wanted.dedup:
        return _page(rows, wanted), None
    total = tx.value(
        "count_trades_of_issuer", issuer=issuer, since=since, date_from=date_from, type=wanted.type
    )
    return _page(rows, wanted), total


def of_insider(tx: Transaction, insider: int, wanted: Wanted) -> tuple[Page, int | None]:
    """The newest transactions that an insider reported, alone or with others, and how many in all."""
    at, most, first, last = wanted.cursor, wanted.limit + 1, wanted.date_from, wanted.date_to
    rows = tx.all(
        "trades_of_insider",
        insider=insider,
        date_from=first,
        date_to=last,
        day=at.day,
        form=at.form,
        seq=at.seq,
        dedup=wanted.dedup,
        limit=most,
    )
    if wanted.dedup:
        return _page(rows, wanted), None
    total = tx.value("count_trades_of_insider", insider=insider, date_from=first, date_to=last)
    return _page(rows, wanted), total


def top(tx: Transaction, direction: int, wanted: Wanted) -> Page:
    """The purchases or sales of the greatest value, the greatest first."""
    at, most = wanted.cursor, wanted.limit + 1
    if wanted.industry is not None:
        rows = tx.all(
            "trades_top_of_industry",
            industry=wanted.industry,
            sector=wanted.sector,
            direction=direction,
            value=at.value,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    elif wanted.sector is not None:
        rows = tx.all(
            "trades_top_of_sector",
            sector=wanted.sector,
            direction=direction,
            value=at.value,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    else:
        rows = tx.all(
            "trades_top",
            direction=direction,
            value=at.value,
            day=at.day,
            form=at.form,
            seq=at.seq,
            dedup=wanted.dedup,
            limit=most,
        )
    return _page(rows, wanted)


def count_top(tx: Transaction, direction: int, wanted: Wanted) -> int | None:
    """How many purchases or sales with a value there are; None with repeats taken out."""
    if wanted.dedup:
        return None
    if wanted.industry is not None:
        found = tx.value(
            "count_trades_top_of_industry",
            direction=direction,
            industry=wanted.industry,
            sector=wanted.sector,
        )
    elif wanted.sector is not None:
        found = tx.value("count_trades_top_of_sector", direction=direction, sector=wanted.sector)
    else:
        found = tx.value("count_trades_top", direction=direction)
    return int(found)


def found(
    tx: Transaction,
    insiders: Sequence[int],
    issuers: Sequence[int],
    narrow: Mapping[str, Any],
    wanted: Wanted,
) -> Page:
    """The newest transactions of any of these insiders or in the securities of any of these issuers.

    ``narrow`` holds the values of the query ``trades_found`` that are only its own.
    """
    rows = tx.all(
        "trades_found",
        insiders=json.dumps(list(insiders)),
        issuers=json.dumps(list(issuers)),
        since=wanted.since,
        date_from=wanted.date_from,
        type=wanted.type,
        sector=wanted.sector,
        industry=wanted.industry,
        code=narrow["code"],
        min_value=narrow["min_value"],
        max_value=narrow["max_value"],
        with_roles=narrow["with_roles"],
        without_roles=narrow["without_roles"],
        no_plan=narrow["no_plan"],
        no_cashless=narrow["no_cashless"],
        no_cover=narrow["no_cover"],
        day=wanted.cursor.day,
        form=wanted.cursor.form,
        seq=wanted.cursor.seq,
        dedup=wanted.dedup,
        limit=wanted.limit + 1,
    )
    return _page(rows, wanted)


def _page(rows: list[Row], wanted: Wanted) -> Page:
    shown, more = rows[: wanted.limit], len(rows) > wanted.limit
    cursor = None
    if more:
        last = shown[-1]
        value = last["value"] if "value" in last.keys() else 0  # noqa: SIM118 (a Row is not a dict)
        cursor = str(Place(value, last["filed_day"], last["form_id"], last["seq"]))
    return Page([row["id"] for row in shown], more, cursor)


# ---- rows


def objects(
    tx: Transaction, ids: Sequence[int], *, insider: int | None = None, collapse: bool = False
) -> list[dict[str, Any]]:
    """The transactions of these ids in this order, as ``/insiders/transactions/latest`` shows them.

    ``insider_*`` and the flags beside them are those of the first owner, of ``insider`` when given, or with
    ``collapse`` of all owners together; ``owners`` always lists all of them. A figure that is null stands in
    ``marks`` with its reason.
    """
    rows = tx.all("trades_by_id", ids=json.dumps(list(ids)))
    forms = json.dumps(sorted({row["form_id"] for row in rows}))
    owners: dict[int, list[dict[str, Any]]] = {}
    for row in tx.all("owners_of_forms", forms=forms):
        owners.setdefault(row["form_id"], []).append(owner_object(row))
    held = amounts(tx, {row["form_id"] for row in rows})
    return [_object(row, owners[row["form_id"]], held, insider, collapse=collapse) for row in rows]


def owner_object(row: Row) -> dict[str, Any]:
    """An owner of a form as answers show it."""
    bits, title = row["roles"], insider_titles.title(row["title"])
    return {
        "cik": f"{row['owner_cik']:010}",
        "name": row["name"],
        "is_entity": bool(row["is_entity"]),
        "is_director": bool(bits & DIRECTOR),
        "is_officer": bool(bits & OFFICER),
        "is_ten_percent_owner": bool(bits & TEN_PERCENT),
        "is_other": bool(bits & OTHER),
        "is_c_suite": bool(bits & C_SUITE),
        "title": row["title"] or row["other"],
        "officer_title_standardized": title.name if title else None,
    }


def amounts(tx: Transaction, forms: Iterable[int]) -> dict[tuple[int, str], Decimal | None]:
    """Shares held of a class after each of these forms, over all vehicles; None where one gives no amount."""
    held: dict[tuple[int, str], Decimal | None] = {}
    for row in tx.all("amounts_under_forms", forms=json.dumps(sorted(forms))):
        key = (row["under"], row["class"])
        so_far = held.get(key, Decimal())
        held[key] = None if so_far is None or row["amount"] is None else so_far + Decimal(row["amount"])
    return held


def number(text: str | None) -> Decimal | None:
    """A stored decimal text as the number that it is."""
    return None if text is None else Decimal(text)


def identifier(accession: str, seq: int) -> str:
    """How a row of a form is called in answers: the same in every store."""
    return f"{accession}:{seq}"


def _object(
    row: Row,
    owners: list[dict[str, Any]],
    held: Mapping[tuple[int, str], Decimal | None],
    insider: int | None,
    *,
    collapse: bool,
) -> dict[str, Any]:
    return {
        "transaction_id": identifier(row["accession"], row["seq"]),
        **_what(row, held),
        **_who(owners, insider, collapse=collapse),
        **_where(row),
        "owner_count": len(owners),
        "owners": owners,
        "marks": _marks(row),
    }


def _what(row: Row, held: Mapping[tuple[int, str], Decimal | None]) -> dict[str, Any]:
    title = fold(row["title"])
    common = not row["derivative"] and bool(_COMMON.search(title)) and not _NOT_COMMON.search(title)
    return {
        "transaction_date": row["date"],
        "transaction_code": row["code"],
        "transaction_description": DESCRIPTIONS.get(row["code"]),
        "standard_type": row["standard_type"],
        "acquired_disposed_code": row["acquired_disposed"],
        "shares": number(row["shares"]),
        "price_per_share": number(row["price"]),
        "transaction_value": row["value"],
        "shares_owned_following": number(row["following_shares"]),
        "value_owned_following": number(row["following_value"]),
        "total_beneficial_ownership": held.get((row["form_id"], title)),
        "ownership_nature": row["ownership"],
        "indirect_owner_name": row["nature"] if row["ownership"] == "I" else None,
        "is_derivative": bool(row["derivative"]),
        "security_type": row["title"],
        "is_common_stock": common,
        "is_rule_10b5_1": bool(row["rule_10b5_1"]),
        "rule_10b5_1_source": row["plan_source"],
        "is_cashless_exercise": bool(row["is_cashless"]),
        "is_sell_to_cover": bool(row["is_sell_to_cover"]),
    }


def _who(owners: list[dict[str, Any]], insider: int | None, *, collapse: bool) -> dict[str, Any]:
    shown = next((one for one in owners if insider is not None and int(one["cik"]) == insider), owners[0])
    chosen = owners if collapse else [shown]
    title = insider_titles.title(shown["title"] if shown["is_officer"] else None)

    def any_is(flag: str) -> bool:
        return any(one[flag] for one in chosen)

    return {
        "insider_name": "; ".join(one["name"] for one in chosen),
        "insider_cik": shown["cik"],
        "is_entity": shown["is_entity"],
        "is_director": any_is("is_director"),
        "is_officer": any_is("is_officer"),
        "is_ten_percent_owner": any_is("is_ten_percent_owner"),
        "is_other": any_is("is_other"),
        "insider_title": shown["title"],
        "officer_title_standardized": shown["officer_title_standardized"],
        "is_c_suite": any_is("is_c_suite"),
        "seniority_rank": title.rank if title else None,
        "title_category": title.category if title else None,
        "is_section_16_officer": any_is("is_officer"),
        "is_named_executive_officer": title.named if title else None,
    }


def _where(row: Row) -> dict[str, Any]:
    sector, industry = sectors.of(row["sic"])
    late = row["is_late"]
    return {
        "ticker": row["ticker"],
        "company_name": row["company_name"],
        "sector": sector,
        "industry": industry,
        "issuer_cik": f"{row['issuer_cik']:010}",
        "accession_number": row["accession"],
        "form_type": row["form"],
        "filing_date": row["filed_at"],
        "filed_at": row["filed_at"],
        "accepted_at": row["accepted_at"],
        "period_of_report": row["period"],
        "is_late": None if late is None else bool(late),
        "business_days_to_file": row["business_days"],
        "is_amendment": bool(row["is_amendment"]),
        "non_derivative_holding_count": row["nonderiv_holdings"],
        "derivative_holding_count": row["deriv_holdings"],
        "footnote_count": row["footnote_count"],
    }


# The figures of a row: what an answer calls them, and what the store does.
_FIGURES = {
    "shares": "shares",
    "price_per_share": "price",
    "shares_owned_following": "following_shares",
    "value_owned_following": "following_value",
}


def _marks(row: Row) -> dict[str, Any]:
    notes: dict[str, list[str]] = json.loads(row["figure_notes"]) if row["figure_notes"] else {}
    marks: dict[str, Any] = {
        shown: absent("only_in_footnote" if column in notes else "not_reported", notes.get(column, ()))
        for shown, column in _FIGURES.items()
        if row[column] is None
    }
    if row["value"] is None:
        lacking = next((shown for shown in ("shares", "price_per_share") if shown in marks), None)
        marks["transaction_value"] = absent(f"{lacking}_missing" if lacking else "out_of_range")
    return marks


def absent(reason: str, footnotes: Iterable[str] = ()) -> dict[str, Any]:
    """The mark of a figure that is not there: why, and which footnotes tell of it."""
    return {"status": "absent", "reason": reason, "footnotes": list(footnotes)}
