"""Transactions of insiders: pages of ids that one index each gives in its order, then the rows of a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import Date, OneOf, Time, build_record
from finapi.edgar.ownership_forms import FORM_TYPES
from finapi.market.insiders import titles
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.rules import CODE_DESCRIPTIONS, STANDARD_TYPES
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

BUY, SELL = 1, -1

# Where a list begins: every row comes behind it. The last filing day that there may be.
_LARGEST = 2**62
LAST_DAY = 10**9

# So many transactions are sorted sooner than they are looked for in the order of a list.
MAX_SORTED_TRADES = 20_000

_COMMON = re.compile(r"\b(?:common|ordinary)\b|^class \w+ (?:stock|shares?)|^(?:stock|shares?)$")
_NOT_COMMON = re.compile(r"\b(?:preferred|options?|warrants?|units?|notes?|rights?|phantom)\b")


class InsiderCursor(NamedTuple):
    """The last row of a page, behind which the next one begins. ``value`` counts in lists that are sorted by it."""

    value: int = _LARGEST
    day: int = _LARGEST
    form: int = _LARGEST
    seq: int = _LARGEST

    def __str__(self) -> str:
        return "_".join(map(str, self))


class IdPage(NamedTuple):
    """Ids of the rows of a page, the cursor of the next page (None at the end) and how many rows there are in all.

    ``total`` is None where they are not counted.
    """

    ids: list[int]
    next_cursor: str | None
    total: int | None


class TradeFilters(NamedTuple):
    """What narrows transactions; None does not. ``industry`` is a major group, ``sector`` a division's letter.

    ``since`` and ``until`` are filing days by their number, the other dates are those of transactions; ``codes`` are
    one letter each. A percentage is that of the holding before; ``earnings_within`` so many days came an item 2.02.
    """

    limit: int = 0
    offset: int = 0
    cursor: InsiderCursor = InsiderCursor()
    type: str | None = None
    sector: str | None = None
    industry: int | None = None
    since: int = 0
    until: int = LAST_DAY
    date_from: str | None = None
    date_to: str | None = None
    codes: str | None = None
    acquired_disposed: str | None = None
    min_value: int | None = None
    max_value: int | None = None
    min_shares: float | None = None
    max_shares: float | None = None
    min_percent: float | None = None
    max_percent: float | None = None
    earnings_within: int | None = None
    with_roles: int = 0
    without_roles: int = 0
    no_plan: bool = False
    no_cashless: bool = False
    no_cover: bool = False
    dedup: bool = False


def parse_cursor(text: str | None) -> InsiderCursor:
    """The row that a cursor names; the beginning of a list for None; ValueError for any other text."""
    if text is None:
        return InsiderCursor()
    parts = [int(part) for part in text.split("_")] if re.fullmatch(r"(?:-?[0-9]{1,19}_){3}-?[0-9]{1,19}", text) else []
    if not parts or any(abs(part) > _LARGEST * 2 - 1 for part in parts):
        raise ValueError(f"{text[:100]!r} is not a cursor")
    return InsiderCursor(*parts)


def list_latest(tx: Transaction, filters: TradeFilters, *, counted: bool = True) -> IdPage:
    """The newest transactions by filing day."""
    by = find_narrowest(filters, "industry", "sector", "type", "codes")
    if by == "codes" and len(filters.codes or "") != 1:
        by = "all"
    few = _few(tx, filters, "date", "value")
    query = few or f"trades_of_{by}"
    return _page(tx, query, filters, count=_counts(filters, query, by), counted=counted, direction=None)


def list_by_issuer(tx: Transaction, issuer: int, filters: TradeFilters) -> IdPage:
    """The newest transactions in a company's securities."""
    # Without repeats, to count would cost as much as to show them all.
    count = None if filters.dedup else "count_trades_of_issuer"
    return _page(tx, "trades_of_issuer", filters, count=count, issuer=issuer)


def list_by_insider(tx: Transaction, insider: int, filters: TradeFilters) -> IdPage:
    """The newest transactions that an insider reported, alone or with others."""
    count = None if filters.dedup else "count_trades_of_insider"
    return _page(tx, "trades_of_insider", filters, count=count, insider=insider)


def list_largest(tx: Transaction, direction: int, filters: TradeFilters, *, counted: bool = True) -> IdPage:
    """The purchases or sales of the greatest value, the greatest first."""
    by = find_narrowest(filters, "industry", "sector")
    query = _few(tx, filters, "date", "filing_day") or f"top_trades_of_{by}"
    return _page(tx, query, filters, count=_counts(filters, query, by), counted=counted, direction=direction)


def list_by_parties(tx: Transaction, insiders: Sequence[int], issuers: Sequence[int], filters: TradeFilters) -> IdPage:
    """The newest transactions of any of these insiders or in the securities of any of these issuers."""
    return _page(tx, "trades_of_any", filters, **_ciks(insiders, issuers))


def _few(tx: Transaction, filters: TradeFilters, *indexes: str) -> str | None:
    """The query that sorts the few transactions which one of these indexes finds, the fewest; None for many."""
    given = {
        "date": (filters.date_from or filters.date_to) is not None,
        "filing_day": filters.since > 0 or filters.until < LAST_DAY,
        "value": filters.min_value is not None,
    }
    asked = [name for name in indexes if given[name]]
    found = {
        name: tx.find_value(f"how_few_trades_by_{name}", filters._asdict(), few=MAX_SORTED_TRADES) for name in asked
    }
    best = min(found, key=found.__getitem__, default="")
    return f"few_trades_by_{best}" if best and found[best] < MAX_SORTED_TRADES else None


# What a query that counts a list tells apart, beside where a page begins.
_COUNTED = {
    "all": set[str](),
    "type": {"type"},
    "codes": {"codes"},
    "sector": {"sector", "type"},
    "industry": {"industry", "sector", "type"},
}


def _counts(filters: TradeFilters, query: str, by: str) -> str | None:
    """The query that counts a list; None where only its own rows would tell."""
    given = {name for name, value in filters._asdict().items() if value != TradeFilters._field_defaults[name]}
    told = _COUNTED[by] - {"type"} if query.startswith("top") else _COUNTED[by]
    return f"count_{query}" if query.endswith(f"_of_{by}") and given <= told | {"limit", "offset", "cursor"} else None


def count_undated(tx: Transaction, filters: TradeFilters, *, issuer: int | None = None, directed: bool = False) -> int:
    """How many transactions of a company, or of all, windows leave out for lack of a date; ``directed``: of P and S."""
    return int(tx.find_value("undated_trades", filters._asdict(), issuer=issuer, directed=directed))


def count_undated_by_insider(tx: Transaction, insider: int, filters: TradeFilters) -> int:
    """The same of an insider's."""
    return int(tx.find_value("undated_trades_of_insider", filters._asdict(), insider=insider))


def count_undated_by_parties(
    tx: Transaction, insiders: Sequence[int], issuers: Sequence[int], filters: TradeFilters
) -> int:
    """The same of what :func:`of_any` finds."""
    return int(tx.find_value("undated_trades_of_any", filters._asdict(), **_ciks(insiders, issuers)))


def _ciks(insiders: Sequence[int], issuers: Sequence[int]) -> dict[str, Any]:
    return {"insiders": json.dumps(list(insiders)), "issuers": json.dumps(list(issuers))}


def _page(
    tx: Transaction, query: str, filters: TradeFilters, *, count: str | None = None, counted: bool = True, **more: Any
) -> IdPage:
    place = filters.cursor
    if not more.get("direction") and filters.until < place.day:
        place = InsiderCursor(place.value, filters.until)
    found = read_id_page(tx, query, {**filters._asdict(), **place._asdict(), **more}, count if counted else None)
    ends = found.next_cursor is None and filters.cursor == InsiderCursor() and (found.ids or not filters.offset)
    return found._replace(total=filters.offset + len(found.ids)) if counted and count is None and ends else found


def read_id_page(tx: Transaction, query: str, values: Mapping[str, Any], count: str | None) -> IdPage:
    """The first ``limit`` rows that a query finds behind a cursor, counted by the query ``count``."""
    rows = tx.list_rows(query, values, limit=values["limit"] + 1)
    shown, after = rows[: values["limit"]], None
    if len(rows) > len(shown):
        after = str(InsiderCursor(*(shown[-1][name] for name in ("value", "filed_day", "form_id", "seq"))))
    return IdPage([row["id"] for row in shown], after, tx.find_value(count, values) if count else None)


def find_narrowest(filters: NamedTuple, *names: str) -> str:
    """The first of these filters that is given, whose index a list is read from; "all" when none is."""
    return next((name for name in names if getattr(filters, name) is not None), "all")


# ---- rows


class FigureMark(TypedDict):
    """Why a figure of a form is null, and which footnotes say more."""

    status: Annotated[str, OneOf(("absent",))]
    reason: str
    footnotes: list[str]


FigureMarks = Annotated[dict[str, FigureMark], "Why a figure is null, by its name."]


class FormOwner(TypedDict):
    """An owner of a form as lists show it."""

    cik: str
    name: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    is_other: bool
    is_c_suite: bool
    title: str | None
    officer_title_standardized: str | None


class InsiderTransaction(TypedDict):
    """A transaction of a form. ``insider_*`` and the flags beside them are of one owner, or of all together."""

    transaction_id: str
    transaction_date: Date | None
    transaction_code: str | None
    transaction_description: str | None
    standard_type: Annotated[str, OneOf(STANDARD_TYPES)]
    acquired_disposed_code: str | None
    shares: Decimal | None
    price_per_share: Decimal | None
    transaction_value: Annotated[int | None, "Shares times price in whole dollars."]
    shares_owned_following: Decimal | None
    value_owned_following: Decimal | None
    total_beneficial_ownership: Annotated[Decimal | None, "Shares of the class after the form, over all vehicles."]
    ownership_nature: str | None
    indirect_owner_name: str | None
    is_derivative: bool
    security_type: str | None
    is_common_stock: bool
    is_rule_10b5_1: bool
    rule_10b5_1_source: Annotated[str, OneOf(("checkbox", "footnote", "remarks", "not_stated"))]
    is_cashless_exercise: bool
    is_sell_to_cover: bool
    insider_name: str
    insider_cik: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    is_other: bool
    insider_title: str | None
    officer_title_standardized: str | None
    is_c_suite: bool
    seniority_rank: int | None
    title_category: str | None
    is_section_16_officer: bool
    is_named_executive_officer: Annotated[bool | None, "null where a form does not say."]
    ticker: str | None
    company_name: str
    sector: str | None
    industry: str | None
    issuer_cik: str
    accession_number: str
    form_type: Annotated[str, OneOf(FORM_TYPES)]
    filing_date: Date | None
    filed_at: Date | None
    accepted_at: Time | None
    period_of_report: Date
    is_late: Annotated[bool | None, "null for an amendment, and where a date is unknown."]
    business_days_to_file: int | None
    is_amendment: bool
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    owner_count: int
    owners: list[FormOwner]
    percent_of_holding: Annotated[Decimal | None, "Shares in per cent of what was held before."]
    marks: FigureMarks


def build_transactions(
    tx: Transaction, ids: Sequence[int], *, insider: int | None = None, collapse: bool = False
) -> list[InsiderTransaction]:
    """The transactions of these ids in this order.

    ``insider_*`` and the flags beside them are those of the first owner, of ``insider`` when given, or with
    ``collapse`` of all owners together; ``owners`` always lists all of them. A figure that is null stands in
    ``marks`` with its reason.
    """
    rows = tx.list_rows("trades_by_id", ids=json.dumps(list(ids)))
    forms = {row["form_id"] for row in rows}
    owners, held = list_owners_by_form(tx, forms), sum_amounts(tx, forms)
    return [_transaction(row, owners[row["form_id"]], held, insider, collapse=collapse) for row in rows]


def list_owners_by_form(tx: Transaction, forms: Iterable[int]) -> dict[int, list[FormOwner]]:
    """The owners of each of these forms, in the form's order."""
    found: dict[int, list[FormOwner]] = {}
    for row in tx.list_rows("owners_of_forms", forms=json.dumps(sorted(forms))):
        title = titles.parse_title(row["officer_title"])
        owner = build_record(FormOwner, row, officer_title_standardized=title.name if title else None)
        found.setdefault(row["form_id"], []).append(owner)
    return found


def choose_owner(owners: Sequence[FormOwner], insider: int | None) -> FormOwner:
    """The owner that a row is about: ``insider`` where it is one of them, else the first."""
    return next((one for one in owners if insider is not None and int(one["cik"]) == insider), owners[0])


def find_next_earnings(tx: Transaction, asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The first day after a day, within a year, on which a company filed an item 2.02, by its CIK and that day."""
    rows = tx.list_rows("next_earnings", asked=json.dumps(sorted(set(asked))))
    return {(row["issuer"], row["day"]): row["filed_at"] for row in rows if row["filed_at"] is not None}


def sum_amounts(tx: Transaction, forms: Iterable[int]) -> dict[tuple[int, str], Decimal | None]:
    """Shares held of a class after each of these forms, over all vehicles; None where one gives no amount."""
    held: dict[tuple[int, str], Decimal | None] = {}
    for row in tx.list_rows("amounts_under_forms", forms=json.dumps(sorted(forms))):
        key = (row["under"], row["class"])
        so_far = held.get(key, Decimal())
        held[key] = None if so_far is None or row["amount"] is None else so_far + Decimal(row["amount"])
    return held


def _transaction(
    row: Row,
    owners: list[FormOwner],
    held: Mapping[tuple[int, str], Decimal | None],
    insider: int | None,
    *,
    collapse: bool,
) -> InsiderTransaction:
    cls = fold_title(row["security_type"])
    sector, industry = sectors.for_sic(row["sic"])
    return build_record(
        InsiderTransaction,
        row,
        transaction_description=CODE_DESCRIPTIONS.get(row["transaction_code"]),
        total_beneficial_ownership=held.get((row["form_id"], cls)),
        is_common_stock=not row["is_derivative"] and bool(_COMMON.search(cls)) and not _NOT_COMMON.search(cls),
        **_insider(owners, insider, collapse=collapse),
        sector=sector,
        industry=industry,
        owners=owners,
        percent_of_holding=None if row["percent_of_holding"] is None else Decimal(str(row["percent_of_holding"])),
        marks=_marks(row),
    )


def _insider(owners: list[FormOwner], insider: int | None, *, collapse: bool) -> dict[str, Any]:
    shown = choose_owner(owners, insider)
    named = owners if collapse else [shown]
    title = titles.parse_title(shown["title"] if shown["is_officer"] else None)
    is_officer = any(one["is_officer"] for one in named)
    return {
        **shown,
        "insider_name": "; ".join(one["name"] for one in named),
        "insider_cik": shown["cik"],
        "is_director": any(one["is_director"] for one in named),
        "is_officer": is_officer,
        "is_ten_percent_owner": any(one["is_ten_percent_owner"] for one in named),
        "is_other": any(one["is_other"] for one in named),
        "insider_title": shown["title"],
        "is_c_suite": any(one["is_c_suite"] for one in named),
        "seniority_rank": title.rank if title else None,
        "title_category": title.category if title else None,
        "is_section_16_officer": is_officer,
        "is_named_executive_officer": title.is_named_executive if title else None,
    }


# The figures of a row, and under which name its footnotes are stored.
_FIGURES = {
    "shares": "shares",
    "price_per_share": "price",
    "shares_owned_following": "following_shares",
    "value_owned_following": "following_value",
    "transaction_date": "date",
}


def _marks(row: Row) -> dict[str, FigureMark]:
    # Of each figure its footnotes, or why what the form says of it is not believed.
    notes: dict[str, list[str] | str] = json.loads(row["figure_notes"]) if row["figure_notes"] else {}
    said = {figure: notes.get(stored, []) for figure, stored in _FIGURES.items() if row[figure] is None}
    marks = {
        figure: build_absent_mark(reason=one) if isinstance(one, str) else build_absent_mark(one)
        for figure, one in said.items()
    }
    if row["transaction_value"] is None:
        lacking = next((figure for figure in ("shares", "price_per_share") if figure in marks), None)
        marks["transaction_value"] = build_absent_mark(reason=f"{lacking}_missing" if lacking else "out_of_range")
    if row["percent_of_holding"] is None:
        missing = [figure for figure in ("shares", "shares_owned_following") if figure in marks]
        marks["percent_of_holding"] = build_absent_mark(
            reason=f"{missing[0]}_missing" if missing else "nothing_held_before"
        )
    return marks


def build_absent_mark(footnotes: Iterable[str] = (), *, reason: str | None = None) -> FigureMark:
    """The mark of a figure that is null: why (by default what its footnotes imply), and its footnotes."""
    notes = list(footnotes)
    reason = reason or ("only_in_footnote" if notes else "not_reported")
    return {"status": "absent", "reason": reason, "footnotes": notes}
