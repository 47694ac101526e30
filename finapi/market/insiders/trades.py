"""Lists of insiders' transactions.

A list is read in two steps. The first step reads the ids of one page from an index that has the order of the list;
there is a query for each index, such as ``trades_of_sector``. The second step, :func:`build_transactions`, reads the
rows of these ids and builds their records.

A list is ordered by filing day, form and row, newest first, or by value. Those of a company and of an insider can also
be ordered by the date of the trade. A page ends with a cursor, the sort key of its last row, and the next page begins
after it.

Some filters are served by no index in the order of a list, such as a range of transaction dates. If a filter selects at
most :data:`MAX_SORTED_TRADES` transactions, these are read from the filter's own index and sorted
(``few_trades_by_date``). Otherwise the list is read in its order until the page is full.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.empty_lists import AvailableRows
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.edgar.ownership_forms import FORM_TYPES
from finapi.market.insiders import rules, titles
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.rules import CODE_DESCRIPTIONS, STANDARD_TYPES, ValueDoubt
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

BUY, SELL = 1, -1  # The directions of trades in the market.

_MAX_SORT_KEY = 2**62  # Larger than every part of a sort key, so that every row comes after it.
_MAX_CURSOR_PART = 2**63 - 1  # SQLite's largest integer.
FILING_ORDER_VALUE = 0  # The first part of every sort key in a list that is sorted by filing day.
LAST_DAY = 10**9  # A filing day after all others, as a day number.

# If a filter selects at most this many transactions, they are read and sorted; see the module's docstring.
MAX_SORTED_TRADES = 20_000


class InsiderCursor(NamedTuple):
    """The sort key of the last row of a page. The next page begins after it."""

    value: int = _MAX_SORT_KEY  # The value or the day of the trade, or FILING_ORDER_VALUE.
    day: int = _MAX_SORT_KEY
    form: int = _MAX_SORT_KEY
    seq: int = _MAX_SORT_KEY

    def __str__(self) -> str:
        return "_".join(map(str, self))


class IdPage(NamedTuple):
    """The ids of a page."""

    ids: list[int]
    next_cursor: str | None  # None on the last page.
    total: int | None  # The number of rows on all pages; None if they are not counted.


class TradeFilters(NamedTuple):
    """The filters and the page of a list of transactions. A filter that is None does not apply."""

    limit: int = 0
    offset: int = 0
    cursor: InsiderCursor = InsiderCursor()
    type: str | None = None
    sector: str | None = None  # The letter of a SIC division.
    sic_ranges: str | None = None  # A JSON list of ranges of SIC codes, each with its first and last code.
    industry: int | None = None  # The number of a SIC major group.
    since: int = 0  # The first and last filing day, as day numbers.
    until: int = LAST_DAY
    date_from: str | None = None  # The first and last day of transactions.
    date_to: str | None = None
    codes: str | None = None  # One letter for each transaction code.
    acquired_disposed: str | None = None
    min_value: int | None = None
    max_value: int | None = None
    min_shares: float | None = None
    max_shares: float | None = None
    min_percent: float | None = None  # Percentage of the shares owned before the transaction.
    max_percent: float | None = None
    earnings_within: int | None = None  # Maximum days until the company filed an item 2.02 (results).
    with_roles: int = 0  # Bits of the roles that an owner must have (with_) or must not have (without_).
    without_roles: int = 0
    no_plan: bool = False
    no_cashless: bool = False
    no_cover: bool = False
    dedup: bool = False


def parse_cursor(text: str | None) -> InsiderCursor:
    """Return the sort key in a cursor; for None, the beginning of a list. Raise ValueError for any other text."""
    if text is None:
        return InsiderCursor()
    if not re.fullmatch(r"(?:-?[0-9]{1,19}_){3}-?[0-9]{1,19}", text):
        raise ValueError(f"{text[:100]!r} is not a cursor")
    parts = [int(part) for part in text.split("_")]
    if any(abs(part) > _MAX_CURSOR_PART for part in parts):
        raise ValueError(f"{text[:100]!r} is not a cursor")
    return InsiderCursor(*parts)


def list_latest(tx: Transaction, filters: TradeFilters, *, counted: bool = True) -> IdPage:
    """Return the newest transactions by filing day."""
    index = find_narrowest(filters, "industry", "sector", "type", "codes")
    if index == "codes" and len(filters.codes or "") != 1:
        index = "all"  # The index on transaction codes serves only a single code.
    query = _find_sorting_query(tx, filters, "date", "value") or f"trades_of_{index}"
    count_query = _find_count_query(filters, query, index)
    return _read_page(tx, query, filters, count_query=count_query, counted=counted, direction=None)


def list_by_issuer(tx: Transaction, issuer: int, filters: TradeFilters, *, by_trade_date: bool = False) -> IdPage:
    """Return the newest transactions in a company's securities, by filing day or by the date of the trade."""
    query = "trades_of_issuer_by_trade_date" if by_trade_date else "trades_of_issuer"
    return _read_page(tx, query, filters, count_query="count_trades_of_issuer", issuer=issuer)


def list_by_insider(tx: Transaction, insider: int, filters: TradeFilters, *, by_trade_date: bool = False) -> IdPage:
    """Return the newest transactions that an insider reported, alone or with others."""
    query = "trades_of_insider_by_trade_date" if by_trade_date else "trades_of_insider"
    return _read_page(tx, query, filters, count_query="count_trades_of_insider", insider=insider)


def list_largest(tx: Transaction, direction: int, filters: TradeFilters, *, counted: bool = True) -> IdPage:
    """Return the purchases (``direction`` BUY) or sales (SELL) with the largest values, largest first."""
    index = find_narrowest(filters, "industry", "sector")
    query = _find_sorting_query(tx, filters, "date", "filing_day") or f"top_trades_of_{index}"
    count_query = _find_count_query(filters, query, index)
    return _read_page(tx, query, filters, count_query=count_query, counted=counted, direction=direction)


def list_by_parties(tx: Transaction, insiders: Sequence[int], issuers: Sequence[int], filters: TradeFilters) -> IdPage:
    """Return the newest transactions of any of these insiders, or in the securities of any of these issuers."""
    return _read_page(tx, "trades_of_any", filters, **_encode_parties(insiders, issuers))


def _find_sorting_query(tx: Transaction, filters: TradeFilters, *indexes: str) -> str | None:
    """Return the query that reads one of these indexes and sorts the matches, or None if each has too many."""
    has_filter_by_index = {
        "date": (filters.date_from or filters.date_to) is not None,
        "filing_day": filters.since > 0 or filters.until < LAST_DAY,
        "value": filters.min_value is not None,
    }
    counts = {}
    for index in indexes:
        if has_filter_by_index[index]:
            counts[index] = tx.find_value(
                f"few_trades_count_by_{index}", filters._asdict(), max_count=MAX_SORTED_TRADES
            )
    if not counts:
        return None
    best = min(counts, key=lambda index: counts[index])
    return f"few_trades_by_{best}" if counts[best] < MAX_SORTED_TRADES else None


# The filters that the count query of each index supports.
_COUNTED_FILTERS: dict[str, set[str]] = {
    "all": set(),
    "type": {"type"},
    "codes": {"codes"},
    "sector": {"sector", "type"},
    "industry": {"industry", "sector", "type"},
}
_PAGE_FIELDS = {"limit", "offset", "cursor"}


def _find_count_query(filters: TradeFilters, query: str, index: str) -> str | None:
    """Return the query that counts a list, or None if there is none for these filters."""
    if not query.endswith(f"_of_{index}"):
        return None
    defaults = TradeFilters._field_defaults
    set_filters = {name for name, setting in filters._asdict().items() if setting != defaults[name]}
    counted_filters = _COUNTED_FILTERS[index] | _PAGE_FIELDS
    if query.startswith("top"):
        counted_filters = counted_filters - {"type"}
    return f"count_{query}" if set_filters <= counted_filters else None


def count_undated(tx: Transaction, filters: TradeFilters, *, issuer: int | None = None, directed: bool = False) -> int:
    """Return the number of transactions left out of the windows because a date is missing.

    Without an issuer, all companies are counted. With ``directed``, only purchases and sales in the market are
    counted, which have a direction.
    """
    return int(tx.find_value("undated_trades", filters._asdict(), issuer=issuer, directed=directed))


def list_type_counts_of_issuer(tx: Transaction, issuer: int) -> list[AvailableRows]:
    """Return the kinds of a company's transactions, the most frequent first, with their number and filing days."""
    return [_build_type_count(row) for row in tx.list_rows("type_counts_of_issuer", issuer=issuer)]


def list_type_counts_of_insider(tx: Transaction, insider: int) -> list[AvailableRows]:
    """Return the kinds of an insider's transactions, the most frequent first, with their number and filing days."""
    return [_build_type_count(row) for row in tx.list_rows("type_counts_of_insider", insider=insider)]


def _build_type_count(row: Row) -> AvailableRows:
    return {
        "param": "standard_type",
        "value": row["standard_type"],
        "row_count": row["row_count"],
        # A form without a filing day has the day number 0.
        "first_day": days.iso(row["first_day"]) if row["first_day"] else None,
        "last_day": days.iso(row["last_day"]) if row["last_day"] else None,
    }


def count_doubtful(
    tx: Transaction, filters: TradeFilters, *, issuer: int | None = None, direction: int | None = None
) -> int:
    """Return the number of purchases and sales left out of sums or a ranking because their values are doubtful."""
    return int(tx.find_value("count_doubtful_trades", filters._asdict(), issuer=issuer, direction=direction))


def count_undated_by_insider(tx: Transaction, insider: int, filters: TradeFilters) -> int:
    """Return the number of an insider's transactions left out of the windows because a date is missing."""
    return int(tx.find_value("undated_trades_of_insider", filters._asdict(), insider=insider))


def count_undated_by_parties(
    tx: Transaction, insiders: Sequence[int], issuers: Sequence[int], filters: TradeFilters
) -> int:
    """Return the number of transactions left out of :func:`list_by_parties` because a date is missing."""
    parameters = _encode_parties(insiders, issuers)
    return int(tx.find_value("undated_trades_of_any", filters._asdict(), **parameters))


def _encode_parties(insiders: Sequence[int], issuers: Sequence[int]) -> dict[str, Any]:
    return {"insiders": json.dumps(list(insiders)), "issuers": json.dumps(list(issuers))}


def _read_page(
    tx: Transaction,
    query: str,
    filters: TradeFilters,
    *,
    count_query: str | None = None,
    counted: bool = True,
    **parameters: Any,
) -> IdPage:
    """Return a page of transactions. ``parameters`` are those of the query in addition to the filters."""
    cursor = filters.cursor
    is_sorted_by_day = not parameters.get("direction")
    if is_sorted_by_day and filters.until < cursor.day:
        # Start at the last day of the window, so that the index does not read the days after it.
        cursor = InsiderCursor(cursor.value, filters.until)
    query_parameters = {**filters._asdict(), **cursor._asdict(), **parameters}
    page = read_id_page(tx, query, query_parameters, count_query if counted else None)
    is_complete_list = page.next_cursor is None and filters.cursor == InsiderCursor()
    if counted and count_query is None and is_complete_list and (page.ids or not filters.offset):
        return page._replace(total=filters.offset + len(page.ids))
    return page


def read_id_page(tx: Transaction, query: str, parameters: Mapping[str, Any], count_query: str | None) -> IdPage:
    """Return the first ``limit`` rows of a query. The total is None without a query that counts them."""
    limit = parameters["limit"]
    rows = tx.list_rows(query, parameters, limit=limit + 1)
    page_rows = rows[:limit]
    next_cursor = None
    if len(rows) > limit:
        last = page_rows[-1]
        next_cursor = str(InsiderCursor(last["value"], last["filed_day"], last["form_id"], last["seq"]))
    total = tx.find_value(count_query, parameters) if count_query else None
    return IdPage([row["id"] for row in page_rows], next_cursor, total)


def find_narrowest(filters: NamedTuple, *names: str) -> str:
    """Return the name of the first filter that is set, which is also that of its index, or "all" if none is set."""
    return next((name for name in names if getattr(filters, name) is not None), "all")


# ---- Records


class FigureMark(TypedDict):
    """The reason why a figure is null, and its footnotes."""

    status: Annotated[str, OneOf(("absent",))]
    reason: str
    footnotes: list[str]


FigureMarks = Annotated[dict[str, FigureMark], "The reason for each null figure, by its name."]


class FormOwner(TypedDict):
    """An owner of a form in a list."""

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
    """A transaction of a form. ``insider_*`` and the flags of roles are those of one owner or of all owners."""

    transaction_id: str
    transaction_date: Date | None
    transaction_code: str | None
    transaction_description: str | None
    standard_type: Annotated[str, OneOf(STANDARD_TYPES)]
    acquired_disposed_code: str | None
    shares: Decimal | None
    price_per_share: Decimal | None
    transaction_value: Annotated[int | None, "Shares times price in whole dollars."]
    value_doubt: Annotated[
        ValueDoubt | None,
        "Why the price is implausible. The value is as filed; sums, scores and rankings leave it out.",
    ]
    same_trade_as: Annotated[
        str | None,
        "The transaction_id of the row that stands for this trade, if several owners or forms report it: "
        "sums, rankings and clusters count it once.",
    ]
    shares_owned_following: Decimal | None
    value_owned_following: Decimal | None
    total_beneficial_ownership: Annotated[
        Decimal | None, "Shares of the class owned after the form's transactions, summed over all vehicles."
    ]
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
    is_named_executive_officer: Annotated[bool | None, "null if the form does not state it."]
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
    is_late: Annotated[bool | None, "null for an amendment, or if a date is unknown."]
    business_days_to_file: int | None
    is_amendment: bool
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    owner_count: int
    owners: list[FormOwner]
    percent_of_holding: Annotated[Decimal | None, "Shares in per cent of the shares owned before."]
    marks: FigureMarks


def build_transactions(
    tx: Transaction, ids: Sequence[int], *, insider: int | None = None, collapse: bool = False
) -> list[InsiderTransaction]:
    """Return the transactions with these ids, in this order.

    ``insider_*`` and the flags of roles are those of the first owner, of ``insider`` if it is one of the owners, or
    with ``collapse`` of all owners together. ``owners`` always lists all of them. ``marks`` has the reason for each
    figure that is null.
    """
    rows = tx.list_rows("trades_by_id", ids=json.dumps(list(ids)))
    form_ids = {row["form_id"] for row in rows}
    owners_by_form = list_owners_by_form(tx, form_ids)
    amounts = sum_amounts(tx, form_ids)
    return [
        _build_transaction(row, owners_by_form[row["form_id"]], amounts, insider, collapse=collapse) for row in rows
    ]


def list_owners_by_form(tx: Transaction, form_ids: Iterable[int]) -> dict[int, list[FormOwner]]:
    """Return the owners of each form by the id of the form, in the order of the form."""
    owners_by_form: dict[int, list[FormOwner]] = {}
    for row in tx.list_rows("owners_of_forms", forms=json.dumps(sorted(form_ids))):
        title = titles.parse_title(row["officer_title"])
        owner = build_record(FormOwner, row, officer_title_standardized=title.name if title else None)
        owners_by_form.setdefault(row["form_id"], []).append(owner)
    return owners_by_form


def choose_owner(owners: Sequence[FormOwner], insider: int | None) -> FormOwner:
    """Return the owner that a row is about: ``insider`` if it is one of the owners, else the first owner."""
    if insider is not None:
        for owner in owners:
            if int(owner["cik"]) == insider:
                return owner
    return owners[0]


def find_next_earnings(tx: Transaction, trades: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return when companies next filed an item 2.02 (results), by the CIK and the day of each trade in ``trades``.

    A trade without an item 2.02 in the year after it is left out.
    """
    rows = tx.list_rows("next_earnings", trades=json.dumps(sorted(set(trades))))
    return {(row["issuer"], row["day"]): row["filed_at"] for row in rows if row["filed_at"] is not None}


def sum_amounts(tx: Transaction, form_ids: Iterable[int]) -> dict[tuple[int, str], Decimal | None]:
    """Return the shares owned after each form, summed over all vehicles, by (form id, class).

    The sum is None if an amount is missing.
    """
    sums: dict[tuple[int, str], Decimal | None] = {}
    for row in tx.list_rows("amounts_under_forms", forms=json.dumps(sorted(form_ids))):
        key = (row["under"], row["class"])
        subtotal = sums.get(key, Decimal())
        if subtotal is None or row["amount"] is None:
            sums[key] = None
        else:
            sums[key] = subtotal + Decimal(row["amount"])
    return sums


def _build_transaction(
    row: Row,
    owners: list[FormOwner],
    amounts: Mapping[tuple[int, str], Decimal | None],
    insider: int | None,
    *,
    collapse: bool,
) -> InsiderTransaction:
    security_class = fold_title(row["security_type"])
    sector, industry = sectors.get_names_of_sic(row["sic"])
    percent = row["percent_of_holding"]
    return build_record(
        InsiderTransaction,
        row,
        transaction_description=CODE_DESCRIPTIONS.get(row["transaction_code"]),
        total_beneficial_ownership=amounts.get((row["form_id"], security_class)),
        is_common_stock=not row["is_derivative"] and rules.is_common_stock(security_class),
        **_build_insider_members(owners, insider, collapse=collapse),
        sector=sector,
        industry=industry,
        owners=owners,
        percent_of_holding=None if percent is None else Decimal(str(percent)),
        marks=_build_marks(row),
    )


def _build_insider_members(owners: list[FormOwner], insider: int | None, *, collapse: bool) -> dict[str, Any]:
    """Return the members of a transaction that describe its owner, or with ``collapse`` all of its owners."""
    owner = choose_owner(owners, insider)
    described = owners if collapse else [owner]
    title = titles.parse_title(owner["title"] if owner["is_officer"] else None)
    is_officer = any(owner["is_officer"] for owner in described)
    return {
        **owner,
        "insider_name": "; ".join(owner["name"] for owner in described),
        "insider_cik": owner["cik"],
        "is_director": any(owner["is_director"] for owner in described),
        "is_officer": is_officer,
        "is_ten_percent_owner": any(owner["is_ten_percent_owner"] for owner in described),
        "is_other": any(owner["is_other"] for owner in described),
        "insider_title": owner["title"],
        "is_c_suite": any(owner["is_c_suite"] for owner in described),
        "seniority_rank": title.rank if title else None,
        "title_category": title.category if title else None,
        "is_section_16_officer": is_officer,
        "is_named_executive_officer": title.is_named_executive if title else None,
    }


# The name under which the footnotes of each figure of a transaction are stored.
_NOTE_NAMES = {
    "shares": "shares",
    "price_per_share": "price",
    "shares_owned_following": "following_shares",
    "value_owned_following": "following_value",
    "transaction_date": "date",
}


def _build_marks(row: Row) -> dict[str, FigureMark]:
    # Each figure has a list of footnotes, or the reason why an impossible value was removed.
    notes: dict[str, list[str] | str] = json.loads(row["figure_notes"]) if row["figure_notes"] else {}
    marks: dict[str, FigureMark] = {}
    for figure, note_name in _NOTE_NAMES.items():
        if row[figure] is None:
            note = notes.get(note_name, [])
            marks[figure] = build_absent_mark(reason=note) if isinstance(note, str) else build_absent_mark(note)
    if row["transaction_value"] is None:
        missing = _find_first(marks, "shares", "price_per_share")
        marks["transaction_value"] = build_absent_mark(reason=f"{missing}_missing" if missing else "out_of_range")
    if row["percent_of_holding"] is None:
        missing = _find_first(marks, "shares", "shares_owned_following")
        reason = f"{missing}_missing" if missing else "nothing_held_before"
        marks["percent_of_holding"] = build_absent_mark(reason=reason)
    return marks


def _find_first(marks: Mapping[str, FigureMark], *figures: str) -> str | None:
    """Return the first of these figures that has a mark, or None."""
    return next((figure for figure in figures if figure in marks), None)


def build_absent_mark(footnotes: Iterable[str] = (), *, reason: str | None = None) -> FigureMark:
    """Return the mark of a figure that is null.

    The default reason is ``only_in_footnote`` if there are footnotes, else ``not_reported``.
    """
    footnote_ids = list(footnotes)
    if reason is None:
        reason = "only_in_footnote" if footnote_ids else "not_reported"
    return {"status": "absent", "reason": reason, "footnotes": footnote_ids}
