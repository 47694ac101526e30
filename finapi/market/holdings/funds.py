"""Managers that file Form 13F ("funds"): their holdings in a quarter, changes, and lists of funds and filings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Any, Literal, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, Time, build_record
from finapi.edgar import cusip, tickers
from finapi.market.holdings import fund_positions, quarters, value_doubts
from finapi.market.holdings.fund_positions import Change, SplitSource
from finapi.market.holdings.value_doubts import (
    DoubtedCount,
    DoubtedPosition,
    DoubtedValue,
    DoubtSum,
    MarkedDoubt,
    OthersPrice,
)
from finapi.market.reference import issuer_names, sectors, share_splits
from finapi.store.db import Row, Transaction

SORTS = ("value", "shares", "name", "ticker", "change", "flow")
STATUSES = ("all", *fund_positions.CHANGES)

# The positions to list: shares and principal, options in addition, or options only.
NO_OPTIONS = "none"
WITH_OPTIONS = "all"
OPTIONS_ONLY = "only"

# Maximum number of listed positions for each kind of change, those with the largest flows.
MAX_CHANGES = 100

# Sorts after every word of a name and every date.
_AFTER_EVERY_TEXT = "\uffff"

# A quarter counts as complete once this many tenths of the previous quarter's filers have filed.
COMPLETE_TENTHS = 9

_FOUR_PLACES = Decimal("0.0001")


def compute_percent(part: int | None, total: int | None) -> Decimal | None:
    """Return ``part`` in per cent of ``total`` to four places. Return None if one is unknown or the total is zero."""
    if part is None or not total:
        return None
    return (Decimal(100 * part) / Decimal(total)).quantize(_FOUR_PLACES, ROUND_HALF_EVEN)


def compute_price(value: int, shares: int) -> Decimal | None:
    """Return the price of a share that a value in dollars implies, to four places, or None without shares."""
    if not shares:
        return None
    return (Decimal(value) / Decimal(shares)).quantize(_FOUR_PLACES, ROUND_HALF_EVEN)


def check_total_holdings(counts: Sequence[int], limit: int) -> None:
    """Raise INVALID_PARAM if several funds have a total of more than ``limit`` holdings."""
    if len(counts) > 1 and sum(counts) > limit:
        raise invalid_param(
            "ciks",
            f"The funds in ciks have a total of {sum(counts):,} holdings.",
            expected=f"funds with a total of at most {limit:,} holdings, or one fund",
        )


# ---- the quarter of a fund


class Fund(TypedDict):
    """A manager, as the endpoint of one fund describes it."""

    cik: str
    name: str
    signing_officer: str | None
    latest_filed_at: Date | None


class QuarterFiling(TypedDict):
    """The latest effective filing of a fund's quarter. The totals of its cover and of its table are in dollars."""

    accession_no: str
    form_type: str
    is_amendment: bool
    amendment_type: str | None
    filed_at: Date | None
    table_value_total: int | None
    table_entry_total: int | None
    table_rows: int
    table_rows_value: int
    table_ties: bool
    value_corrected: bool
    value_unit_rule: str
    confidential_omitted: bool
    reports_united: int
    table_rows_rejected: Annotated[int, "Rows of the table that have a placeholder for a CUSIP and are left out."]
    period_after_filing: Annotated[
        bool, "True if the quarter had not ended when it was reported. Such a quarter is not the default."
    ]
    restatement_doubt: Annotated[
        Literal["drops_unchanged_positions"] | None,
        "Why a restatement is doubtful. The positions that it drops stay as reported before.",
    ]
    positions_retained: Annotated[int, "Number of positions that a doubtful restatement drops."]


class ChangeCounts(TypedDict):
    """The number of positions with each kind of change in a quarter; null if it is unknown."""

    new: int | None
    increased: int | None
    decreased: int | None
    unchanged: int | None
    closed: int | None


@dataclass(frozen=True, slots=True)
class FundQuarter:
    """The quarter of a fund."""

    cik: int
    name: str
    period: str
    value: int  # Dollars.
    positions: int  # The number of positions.
    has_known_changes: bool
    reason: str | None  # Why the changes are unknown.
    fund: Fund
    filing: QuarterFiling
    counts: ChangeCounts

    @property
    def previous_period(self) -> str:
        """Return the end of the quarter before."""
        return quarters.get_previous_end(self.period)


def find_name(tx: Transaction, cik: int) -> str | None:
    """Return the name of a fund, or None if finapi has no 13F report by it."""
    name: str | None = tx.find_value("fund_name", cik=cik)
    return name


def get_name(tx: Transaction, cik: int) -> str:
    """Return the name of a fund. Raise NOT_FOUND if finapi has no 13F report by it."""
    name = find_name(tx, cik)
    if name is None:
        raise ApiError("NOT_FOUND", "finapi has no 13F report by this manager.", details={"cik": f"{cik:010}"})
    return name


def check_past_state(tx: Transaction, cik: int, as_of: str | None, period: str | None = None) -> None:
    """Raise INVALID_PARAM if the stored positions of a fund are not those of a past day.

    Positions are stored as the newest reports of a quarter say. The state between a report and its amendment, or
    between a report and a late one of the quarter before, is not stored. ``period`` is the quarter of interest, or None
    for all.
    """
    if as_of is None:
        return
    later = tx.find_row("report_filed_later", cik=cik, day=as_of, period=period)
    if later is not None:
        day_text = f"on {later['filed_at']}" if later["filed_at"] else "on an unknown day"
        message = (
            f"CIK {cik:010} filed a report for {later['period']} {day_text}, which changed its positions. Positions "
            "before that are not stored: choose a day before the first report or after this one."
        )
        raise invalid_param("as_of", message, expected="a day on which the stored positions were known")


def list_periods(tx: Transaction, cik: int) -> list[str]:
    """Return the quarters for which finapi has a fund's holdings, the newest first.

    Quarters that had not ended when they were reported come last.
    """
    return [row["period"] for row in tx.list_rows("fund_periods", cik=cik)]


def find_common_period(tx: Transaction, cik: int, other_cik: int) -> str | None:
    """Return the latest quarter for which finapi has reports of both funds, or None."""
    other_periods = set(list_periods(tx, other_cik))
    return next((period for period in list_periods(tx, cik) if period in other_periods), None)


def get_quarter(tx: Transaction, cik: int, period: str | None) -> FundQuarter:
    """Return a fund's quarter, by default its latest.

    Raise NOT_FOUND for an unknown fund and NOT_COVERED for a missing quarter.
    """
    quarter = find_quarter(tx, cik, period)
    if quarter is None:
        name = get_name(tx, cik)
        when = f" for the quarter ended {period}" if period else ""
        details = {"cik": f"{cik:010}", "covered_periods": list_periods(tx, cik)}
        raise ApiError("NOT_COVERED", f"No holdings of {name}{when} are available.", details=details)
    return quarter


def find_quarter(tx: Transaction, cik: int, period: str | None) -> FundQuarter | None:
    """Return a fund's quarter, by default its latest, or None if finapi has none."""
    row = tx.find_row("fund_quarter_record", cik=cik, period=period)
    if row is None:
        return None
    return FundQuarter(
        cik=cik,
        name=row["name"],
        period=row["period"],
        value=row["value"],
        positions=row["positions"],
        has_known_changes=bool(row["compared"]),
        reason=row["reason"],
        fund=build_record(Fund, row),
        filing=build_record(QuarterFiling, row),
        counts=build_record(ChangeCounts, row),
    )


# ---- the positions of a quarter


class VotingAuthority(TypedDict):
    """Shares by the authority to vote them."""

    sole: int | None
    shared: int | None
    none: int | None


class FundHolding(TypedDict):
    """A position of a fund's quarter; closed ones have no shares."""

    cusip: str
    cusip_valid: bool
    ticker: str | None
    ticker_evidence: str | None
    name_of_issuer: str
    title_of_class: str
    share_type: Literal["SH", "PRN"]
    is_option: bool
    put_call: Literal["Put", "Call"] | None
    shares: int
    value_usd: int
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    pct_of_portfolio: Decimal | None
    investment_discretion: str | None
    other_managers: str | None
    other_manager_names: Annotated[
        list[str | None], "Names for the numbers in other_managers; null if the report does not list the number."
    ]
    voting_authority: VotingAuthority
    figi: str | None
    status: Change | None
    previous_shares: int | None
    previous_value_usd: int | None
    split_factor: Decimal | None
    split_source: SplitSource
    change_shares: int | None
    change_pct: Decimal | None
    value_unit_rule: str
    accession_no: str
    table_rows: int


def list_holdings(
    tx: Transaction,
    quarter: FundQuarter,
    *,
    options: str = NO_OPTIONS,
    status: str = "all",
    search: str | None = None,
    choices: str | None = None,
    doubts: Mapping[int, DoubtedPosition] | None = None,
    sort: str = "value",
    descending: bool = True,
    limit: int,
    offset: int = 0,
) -> tuple[list[FundHolding], int]:
    """Return a page of a quarter's positions, and the number of all that match.

    ``status`` "all" selects the positions that are still held, and "closed" those that were closed in the quarter.
    ``choices`` are the conditions of a query (:func:`holdings_query.get_matching_quarter`). ``doubts`` are the doubtful
    positions of the quarter, if the caller has loaded them.
    """
    query_values: dict[str, Any] = {
        "cik": quarter.cik,
        "period": quarter.period,
        "options": options,
        "status": fund_positions.find_change_status(status),
        "search": search.upper() if search else None,
        "choices": choices,
        "ticker": tickers.normalise_prefix(search) if search else None,
        "sort": sort,
        "direction": -1 if descending else 1,
        "limit": limit,
        "offset": offset,
        "least": None,
        "most": None,
    }
    if sort == "value" and descending and search is None and choices is None:
        # Sorting only the values shows which values are on the page. The query then joins the names of positions with
        # these values only.
        values = sorted(json.loads(tx.find_value("values_of_positions", query_values)), reverse=True)
        page_values = values[offset : offset + limit]
        if not page_values:
            return [], len(values)
        query_values["most"] = page_values[0]
        query_values["least"] = page_values[-1]
        query_values["offset"] = offset - values.index(page_values[0])
        rows, _ = tx.list_page("fund_positions", query_values)
        total = len(values)
    else:
        rows, total = tx.list_page("fund_positions", query_values)
    report_ids = json.dumps(sorted({row["report_id"] for row in rows if row["other_managers"]}))
    manager_names = {
        (row["report_id"], row["number"]): row["name"] for row in tx.list_rows("names_of_managers", reports=report_ids)
    }
    if doubts is None:
        doubts = value_doubts.get_doubts_of_fund(tx, quarter.cik, quarter.period)
    records = []
    for row in rows:
        doubt = doubts.get(row["security_id"]) if row["in_shares"] else None
        records.append(_build_holding(row, quarter.value, manager_names, doubt))
    return records, total


def _build_holding(
    row: Row,
    portfolio_value: int,
    manager_names: Mapping[tuple[int, int], str],
    doubt: DoubtedPosition | None,
) -> FundHolding:
    return build_record(
        FundHolding,
        row,
        other_manager_names=_list_manager_names(row, manager_names),
        cusip_valid=cusip.is_valid(row["cusip"]),
        **value_doubts.build_doubt_members(doubt),
        pct_of_portfolio=compute_percent(row["value_usd"], portfolio_value),
        voting_authority=build_record(VotingAuthority, row),
        status=fund_positions.find_change_name(row["status"]),
        change_pct=compute_percent(row["change_shares"], row["previous_shares"]),
    )


def _list_manager_names(row: Row, manager_names: Mapping[tuple[int, int], str]) -> list[str | None]:
    """Return the names of a row's other managers, with None for a number that the report does not list."""
    names: list[str | None] = []
    for number in (row["other_managers"] or "").split(","):
        number = number.strip()
        if not number:
            continue
        is_integer = number.isdecimal() and len(number) < 10
        names.append(manager_names.get((row["report_id"], int(number))) if is_integer else None)
    return names


# ---- the changes of a quarter


class PositionChange(TypedDict):
    """The change of one position in a quarter."""

    cusip: str
    ticker: str | None
    name_of_issuer: str
    shares: int
    previous_shares: int | None
    split_factor: Decimal | None
    split_source: SplitSource
    change_shares: int | None
    change_pct: Decimal | None
    value_usd: int
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    put_call: Literal["Put", "Call"] | None


class QuarterChanges(TypedDict):
    """The positions that changed in a quarter, the largest flows first."""

    new_buys: list[PositionChange]
    closed: list[PositionChange]
    increased: list[PositionChange]
    decreased: list[PositionChange]
    unchanged: list[PositionChange]


def count_changes(tx: Transaction, quarter: FundQuarter, options: str) -> ChangeCounts:
    """Return the number of positions with each kind of change, of the kinds of positions that ``options`` selects."""
    if not quarter.has_known_changes or options == WITH_OPTIONS:
        return quarter.counts
    rows = tx.list_rows("fund_change_counts", cik=quarter.cik, period=quarter.period, options=options)
    counts = {fund_positions.find_change_name(row["status"]): row["positions"] for row in rows}
    return build_record(ChangeCounts, {name: counts.get(name, 0) for name in fund_positions.CHANGES})


def list_changes(
    tx: Transaction, quarter: FundQuarter, options: str, doubts: Mapping[int, DoubtedPosition]
) -> QuarterChanges | None:
    """Return up to :data:`MAX_CHANGES` changes of each kind, or None if they are unknown."""
    if not quarter.has_known_changes:
        return None

    def list_largest(status: str) -> list[PositionChange]:
        rows, _ = list_holdings(
            tx, quarter, options=options, status=status, doubts=doubts, sort="flow", limit=MAX_CHANGES
        )
        return [build_record(PositionChange, row) for row in rows]

    return {
        "new_buys": list_largest("new"),
        "closed": list_largest("closed"),
        "increased": list_largest("increased"),
        "decreased": list_largest("decreased"),
        "unchanged": list_largest("unchanged"),
    }


class SectorAllocation(TypedDict):
    """A fund's holdings of one sector; the sector is null for securities whose company is unknown."""

    sector: str | None
    total_value_usd: int
    position_count: int
    pct_of_portfolio: Decimal | None
    doubted_count: DoubtedCount
    doubted_value_usd: DoubtedValue


def list_sector_allocations(
    tx: Transaction, quarter: FundQuarter, doubts: Mapping[int, DoubtedPosition]
) -> list[SectorAllocation]:
    """Return the value of a fund's holdings by sector, the largest first. ``doubts`` are those of the quarter."""
    doubt_sums = value_doubts.sum_doubts_by(
        [*doubts.values()], lambda position: sectors.get_names_of_group(position.sic_group)[0]
    )
    value_by_sector: dict[str | None, int] = {}
    count_by_sector: dict[str | None, int] = {}
    for row in tx.list_rows("fund_value_by_group", cik=quarter.cik, period=quarter.period):
        sector = sectors.get_names_of_group(row["sic_group"])[0]
        value_by_sector[sector] = value_by_sector.get(sector, 0) + row["value"]
        count_by_sector[sector] = count_by_sector.get(sector, 0) + row["positions"]
    total_value = sum(value_by_sector.values())
    allocations: list[SectorAllocation] = []
    for sector in sorted(value_by_sector, key=lambda sector: (-value_by_sector[sector], sector or "")):
        doubt_sum = doubt_sums.get(sector, DoubtSum())
        allocations.append(
            {
                "sector": sector,
                "total_value_usd": value_by_sector[sector],
                "position_count": count_by_sector[sector],
                "pct_of_portfolio": compute_percent(value_by_sector[sector], total_value),
                "doubted_count": doubt_sum.count,
                "doubted_value_usd": doubt_sum.value,
            }
        )
    return allocations


# ---- the history of a position


class Split(TypedDict):
    """A split of a security's shares. Its date is null if only the quarter is known."""

    date: Date | None
    ratio: float
    source: SplitSource


class HistoryQuarter(TypedDict):
    """A fund's position in a security at the end of a quarter.

    ``shares`` is adjusted for all later splits, and ``shares_raw`` is as reported. ``shares_delta`` is in shares at the
    quarter's end.
    """

    quarter_date: Date
    shares: int
    shares_raw: int
    split_factor: Decimal | None
    split_source: SplitSource
    value: int
    implied_price: Decimal | None
    value_doubt: MarkedDoubt
    others_price: OthersPrice
    shares_delta: int | None
    transaction_type: Change | None
    value_unit_rule: str
    accession_no: str


def get_position_history(tx: Transaction, cik: int, number: str) -> tuple[Row, list[Split], list[HistoryQuarter]]:
    """Return a security, its splits since the first quarter, and a fund's positions in it, the newest first.

    The list has the quarters in which the fund held the security, and the quarters in which it closed the position.
    Raise NOT_FOUND if the fund never held it. ``number`` is the CUSIP.
    """
    security = tx.find_row("security", cusip=number)
    rows: list[Row] = []
    if security is not None:
        rows = tx.list_rows("position_history", cik=cik, security_id=security["id"])
    if security is None or not rows:
        raise ApiError("NOT_FOUND", "No 13F report by this manager in finapi lists this CUSIP.")
    first_period = rows[-1]["quarter_date"]
    splits = []
    for split in share_splits.list_for_security(tx, security["id"]):
        first_day = _find_first_day_after(split, rows)
        if first_day > first_period:
            splits.append((split, first_day))
    records = []
    for row in rows:
        period = row["quarter_date"]
        later_factors = [Decimal(split["factor"]) for split, first_day in splits if first_day > period]
        adjusted_shares = row["shares_raw"] * math.prod(later_factors, start=Decimal(1))
        doubt = value_doubts.get_doubts_of_fund(tx, cik, period).get(security["id"])
        record = build_record(
            HistoryQuarter,
            row,
            shares=int(adjusted_shares.to_integral_value()),
            implied_price=compute_price(row["value"], row["shares_raw"]),
            transaction_type=fund_positions.find_change_name(row["status"]),
            **value_doubts.build_doubt_members(doubt),
        )
        records.append(record)
    split_records = [build_record(Split, split, ratio=float(split["factor"])) for split, _ in splits]
    return security, split_records, records


def _find_first_day_after(split: Row, rows: Sequence[Row]) -> str:
    """Return the first day that is certainly after a split.

    For a split in prices, it is the day of the split. For a split in a filing, it is the end of the quarter whose
    change was adjusted for it, else the day of the split, else the last day on which it may have happened.
    """
    day: str = split["date"] or split["until"]
    if split["source"] == share_splits.FROM_PRICES:
        return day
    for row in rows:
        if split["source"] in (row["split_source"] or "").split():
            period: str = row["quarter_date"]
            return period
    return day


# ---- lists of funds


class FundSummary(TypedDict):
    """A manager in a list."""

    cik: str
    name: str
    symbol: str | None
    filing_count: int
    latest_period: Date | None
    latest_filed_at: Date | None
    latest_aum_usd: int | None


def search_funds(tx: Transaction, q: str | None, limit: int, offset: int) -> tuple[list[FundSummary], int]:
    """Return a page of the funds whose names match ``q``, the largest first, and the number of all that match.

    A name matches if each word of ``q`` is the beginning of one of its words. A text of digits is a CIK. Without a text
    all funds match.
    """
    page = {"limit": limit, "offset": offset}
    if q is None:
        rows, total = tx.list_page("funds_by_value", page)
    elif re.fullmatch("[0-9]{1,10}", q.strip()):
        funds = [fund for fund in list_funds_by_cik(tx, 1, int(q) - 1) if int(fund["cik"]) == int(q)]
        return funds[offset:], len(funds)
    else:
        words = sorted(issuer_names.list_words(q), key=len, reverse=True)
        if not words:
            return [], 0
        longest_word = words[0]
        # A GLOB pattern of the other words, for the sorted words of a name. The words contain no wildcards.
        other_words = "".join(f"* {word}" for word in sorted(words[1:])) + "*"
        query_values = {"word": longest_word, "end": longest_word + _AFTER_EVERY_TEXT, "rest": other_words, **page}
        rows, total = tx.list_page("funds_by_word", query_values)
    return [build_record(FundSummary, row) for row in rows], total


def list_funds_by_cik(tx: Transaction, limit: int, after: int, offset: int = 0) -> list[FundSummary]:
    """Return funds in the order of their CIKs, from the first CIK above ``after`` on."""
    rows = tx.list_rows("funds_by_cik", limit=limit, after=after, offset=offset)
    return [build_record(FundSummary, row) for row in rows]


# ---- lists of filings


class QuarterFilingStatistics(TypedDict):
    """The changes of a quarter, with the field names of an older API."""

    new_positions: int | None
    increased: int | None
    increased_positions: int | None
    decreased: int | None
    decreased_positions: int | None
    closed: int | None
    unchanged: int | None
    prior_quarter_available: bool


class FundFiling(TypedDict):
    """A 13F filing in lists, feeds and webhooks."""

    accession_no: str
    fund_name: str
    cik: str
    period_of_report: Date
    filed_at: Date | None
    table_value_total: int | None
    holdings_count: int
    form_type: str
    is_amendment: bool
    analysis: ChangeCounts
    statistics: QuarterFilingStatistics
    parsed_at: Time | None


def list_latest_filings(
    tx: Transaction, cik: int | None, since: str | None, limit: int, offset: int
) -> tuple[list[FundFiling], int]:
    """Return a page of 13F filings, the newest first, with their changes, and the number of all that match."""
    query_values = {"cik": cik, "since": since or "", "limit": limit, "offset": offset}
    if cik is None:
        rows = tx.list_rows("latest_holdings_reports", query_values)
        total = tx.find_value("holdings_report_count", query_values)
    else:
        rows = tx.list_rows("latest_holdings_reports_of_fund", query_values)
        total = tx.find_value("holdings_report_count_of_fund", query_values)
    return [build_filing_record(row) for row in rows], total


def count_undated_filings(tx: Transaction, cik: int | None, since: str | None) -> int:
    """Return the number of 13F filings left out by ``since`` because their filing day is unknown."""
    if since is None:
        return 0
    return int(tx.find_value("undated_holdings_report_count", cik=cik))


def build_filing_record(row: Row) -> FundFiling:
    """Return the record of a row of the view ``fund_filings``."""
    statistics = build_record(
        QuarterFilingStatistics,
        row,
        new_positions=row["new"],
        increased_positions=row["increased"],
        decreased_positions=row["decreased"],
    )
    return build_record(FundFiling, row, analysis=build_record(ChangeCounts, row), statistics=statistics)


class OtherManager(TypedDict):
    """Another manager that a cover page names; ``included`` if its holdings are in this report."""

    number: int | None
    name: str
    cik: str | None
    file_number: str | None
    included: bool


class FundCoverPage(TypedDict):
    """The cover page of a 13F filing."""

    cik: str
    accession_number: str
    form_type: str
    amendment_type: str | None
    period_of_report: Date
    filed_date: Date | None
    filer_name: str
    address: str | None
    report_type: str | None
    file_number: str | None
    signing_officer: str | None
    signing_officer_title: str | None
    total_value_usd: int | None
    holdings_count: int | None
    table_rows: int
    value_unit_rule: str
    other_managers: list[OtherManager]


def build_cover_page(tx: Transaction, row: Row) -> FundCoverPage:
    """Return the cover page of a row of the reports, with the managers that it names."""
    manager_rows = tx.list_rows("managers_of_report", report_id=row["id"])
    managers = [build_record(OtherManager, manager_row) for manager_row in manager_rows]
    return build_record(FundCoverPage, row, other_managers=managers)


# ---- the progress of a quarter


class FilingProgress(TypedDict):
    """The number of managers that have reported a quarter, compared with the quarter before."""

    period: Date
    filers: int
    pct_reported: Decimal | None
    baseline_filers: int
    baseline_period: Date
    total_filings: int
    total_aum: int | None
    late_notice_filers: int
    deadline: Date
    deadline_status: Literal["open", "passed"]
    is_complete: bool
    days_until_deadline: int
    previous_deadline: Date
    next_deadline: Date
    days_until_next_deadline: int
    next_reporting_period_start: Date


def compute_filing_progress(tx: Transaction, period: str, today: date) -> FilingProgress:
    """Return the number of reports filed for a quarter, compared with the quarter before, and the deadline."""
    previous_period = quarters.get_previous_end(period)
    next_period = quarters.get_next_end(period)
    counts = tx.find_row("report_counts_of_quarter", period=period)
    assert counts is not None
    previous_filer_count = tx.find_value("filer_count_of_quarter", period=previous_period)
    deadline = quarters.get_filing_deadline(period)
    next_deadline = quarters.get_filing_deadline(next_period)
    return build_record(
        FilingProgress,
        counts,
        period=period,
        pct_reported=compute_percent(counts["filers"], previous_filer_count),
        baseline_filers=previous_filer_count,
        baseline_period=previous_period,
        deadline=deadline.isoformat(),
        deadline_status="open" if today <= deadline else "passed",
        is_complete=_is_complete(counts["filers"], previous_filer_count, deadline, today),
        days_until_deadline=(deadline - today).days,
        previous_deadline=quarters.get_filing_deadline(previous_period).isoformat(),
        next_deadline=next_deadline.isoformat(),
        days_until_next_deadline=(next_deadline - today).days,
        next_reporting_period_start=next_period,
    )


def _is_complete(filers: int, previous_filers: int, deadline: date, today: date) -> bool:
    """Return True if the deadline has passed and most of the previous quarter's filers have filed again."""
    return today > deadline and filers > 0 and 10 * filers >= COMPLETE_TENTHS * previous_filers


class QuarterMetadata(TypedDict):
    """The deadline of a quarter's reports, and a flag that most have been filed."""

    quarter: Date
    filing_deadline: Date
    is_complete: bool
    days_until_deadline: int


def build_quarter_metadata(tx: Transaction, period: str, today: date) -> QuarterMetadata:
    """Return the deadline of a quarter, and a flag that most of its reports have been filed."""
    deadline = quarters.get_filing_deadline(period)
    filer_count = tx.find_value("filer_count_of_quarter", period=period)
    previous_filer_count = tx.find_value("filer_count_of_quarter", period=quarters.get_previous_end(period))
    return {
        "quarter": period,
        "filing_deadline": deadline.isoformat(),
        "is_complete": _is_complete(filer_count, previous_filer_count, deadline, today),
        "days_until_deadline": (deadline - today).days,
    }


def get_latest_quarter(tx: Transaction) -> str:
    """Return the last quarter for which finapi has holdings. Raise NOT_COVERED if there is none."""
    period: str | None = tx.find_value("latest_quarter_before", period=_AFTER_EVERY_TEXT)
    if period is None:
        raise ApiError("NOT_COVERED", "finapi has no 13F holdings.")
    return period


def list_quarters(tx: Transaction) -> list[str]:
    """Return the quarters for which finapi has holdings, the newest first."""
    periods: list[str] = []
    # Each quarter takes a single index look-up. A DISTINCT query would read every row.
    period = tx.find_value("latest_quarter_before", period=_AFTER_EVERY_TEXT)
    while period is not None:
        periods.append(period)
        period = tx.find_value("latest_quarter_before", period=period)
    return periods
