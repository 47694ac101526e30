"""Managers that file Form 13F: what one held in a quarter and how that changed, and lists of managers and filings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Literal, TypedDict

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

# Which positions are asked for: shares and principal, options too, options only.
NO_OPTIONS, WITH_OPTIONS, OPTIONS_ONLY = "none", "all", "only"

# Of each kind of change, the positions that moved most.
MAX_CHANGES = 100

# Sorts after every word of a name and every date.
_AFTER = "\uffff"

# A quarter counts as complete once this many tenths of the previous quarter's filers have filed.
COMPLETE_TENTHS = 9


def compute_percent(part: int | None, whole: int | None) -> Decimal | None:
    """``part`` in per cent of ``whole`` to four places; None without a part or a whole."""
    if part is None or not whole:
        return None
    return (Decimal(100 * part) / Decimal(whole)).quantize(Decimal("0.0001"), ROUND_HALF_EVEN)


def compute_price(value: int, shares: int) -> Decimal | None:
    """The price of a share that a value in dollars implies, to four places; None for no shares."""
    return (Decimal(value) / Decimal(shares)).quantize(Decimal("0.0001"), ROUND_HALF_EVEN) if shares else None


def check_total_holdings(counts: Sequence[int], most: int) -> None:
    """Refuse several funds, the ``ciks`` of a call, that hold more than ``most`` together; one may hold any number."""
    if len(counts) > 1 and sum(counts) > most:
        raise invalid_param(
            "ciks",
            f"The funds of ciks have {sum(counts):,} holdings together.",
            expected=f"funds with {most:,} holdings together, or one fund",
        )


# ---- one fund's quarter


class Fund(TypedDict):
    """A manager as its own page names it."""

    cik: str
    name: str
    signing_officer: str | None
    latest_filed_at: Date | None


class QuarterFiling(TypedDict):
    """The filing that stands for a fund's quarter; the sums of its cover and its table are in dollars."""

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


class ChangeCounts(TypedDict):
    """How many positions of a quarter changed in which way; null where that is not known."""

    new: int | None
    increased: int | None
    decreased: int | None
    unchanged: int | None
    closed: int | None


@dataclass(frozen=True, slots=True)
class FundQuarter:
    """A fund's quarter. ``compared`` says that its changes are known, ``reason`` otherwise why they are not."""

    cik: int
    name: str
    period: str
    value: int  # dollars
    positions: int
    compared: bool
    reason: str | None
    fund: Fund
    filing: QuarterFiling
    counts: ChangeCounts

    @property
    def previous(self) -> str:
        """The end of the quarter before."""
        return quarters.get_previous_end(self.period)


def find_name(tx: Transaction, cik: int) -> str | None:
    """The name of a fund, or None when finapi has no 13F report by it."""
    name: str | None = tx.find_value("fund_name", cik=cik)
    return name


def get_name(tx: Transaction, cik: int) -> str:
    """The name of a fund; NOT_FOUND when finapi has no 13F report by it."""
    name = find_name(tx, cik)
    if name is None:
        raise ApiError("NOT_FOUND", "finapi has no 13F report by this manager.", details={"cik": f"{cik:010}"})
    return name


def list_periods(tx: Transaction, cik: int) -> list[str]:
    """The quarters for which finapi has a fund's holdings, the newest first."""
    return [row["period"] for row in tx.list_rows("fund_periods", cik=cik)]


def find_common_period(tx: Transaction, one: int, other: int) -> str | None:
    """The latest quarter of which reports of both funds are held, None without any."""
    return max({*list_periods(tx, one)} & {*list_periods(tx, other)}, default=None)


def get_quarter(tx: Transaction, cik: int, period: str | None) -> FundQuarter:
    """A fund's quarter, by default its latest; NOT_FOUND for an unknown fund, NOT_COVERED for a missing quarter."""
    found = find_quarter(tx, cik, period)
    if found is None:
        name = get_name(tx, cik)
        when = f" for the quarter ended {period}" if period else ""
        details = {"cik": f"{cik:010}", "covered_periods": list_periods(tx, cik)}
        raise ApiError("NOT_COVERED", f"No holdings of {name}{when} are available.", details=details)
    return found


def find_quarter(tx: Transaction, cik: int, period: str | None) -> FundQuarter | None:
    """The same, or None."""
    row = tx.find_row("fund_quarter_record", cik=cik, period=period)
    if row is None:
        return None
    return FundQuarter(
        cik,
        row["name"],
        row["period"],
        row["value"],
        row["positions"],
        bool(row["compared"]),
        row["reason"],
        build_record(Fund, row),
        build_record(QuarterFiling, row),
        build_record(ChangeCounts, row),
    )


class VotingAuthority(TypedDict):
    """Shares by who votes them."""

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
    other_manager_names: Annotated[list[str | None], "By the numbers of other_managers; null for one not listed."]
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
    held: FundQuarter,
    *,
    options: str = NO_OPTIONS,
    status: str = "all",
    search: str | None = None,
    choices: str | None = None,
    doubted: Mapping[int, DoubtedPosition] | None = None,
    sort: str = "value",
    descending: bool = True,
    limit: int,
    offset: int = 0,
) -> tuple[list[FundHolding], int]:
    """A page of a quarter's positions, and how many there are in all.

    ``status`` "all" is every position still held; "closed" those that no longer are. ``choices`` are conditions on a
    position as a query has them, ``doubted`` are the quarter's doubts where they are known.
    """
    values = {
        "cik": held.cik,
        "period": held.period,
        "options": options,
        "status": fund_positions.find_change_status(status),
        "search": search.upper() if search else None,
        "choices": choices,
        "ticker": tickers.normalise_prefix(search) if search else None,
        "sort": sort,
        "direction": -1 if descending else 1,
        "limit": limit,
        "offset": offset,
    }
    values["least"] = values["most"] = total = None
    if sort == "value" and descending and search is None and choices is None:
        # What is sorted by value alone needs the names of this page only, and of what is worth the same.
        told = sorted(json.loads(tx.find_value("values_of_positions", values)), reverse=True)
        total, page = len(told), told[offset : offset + limit]
        if not page:
            return [], total
        values |= {"least": page[-1], "most": page[0], "offset": offset - told.index(page[0])}
    rows, found = tx.list_page("fund_positions", values)
    total = found if total is None else total
    reports = json.dumps(sorted({row["report_id"] for row in rows if row["other_managers"]}))
    names = {
        (row["report_id"], row["number"]): row["name"] for row in tx.list_rows("names_of_managers", reports=reports)
    }
    doubted = value_doubts.get_doubts_of_fund(tx, held.cik, held.period) if doubted is None else doubted
    return [_holding(row, held.value, names, doubted) for row in rows], total


def _holding(
    row: Row, whole: int, names: Mapping[tuple[int, int], str], doubted: Mapping[int, DoubtedPosition]
) -> FundHolding:
    numbers = [part.strip() for part in (row["other_managers"] or "").split(",") if part.strip()]
    return build_record(
        FundHolding,
        row,
        other_manager_names=[
            names.get((row["report_id"], int(one))) if one.isdecimal() and len(one) < 10 else None for one in numbers
        ],
        cusip_valid=cusip.is_valid(row["cusip"]),
        **value_doubts.build_doubt_members(doubted.get(row["security_id"]) if row["in_shares"] else None),
        pct_of_portfolio=compute_percent(row["value_usd"], whole),
        voting_authority=build_record(VotingAuthority, row),
        status=fund_positions.find_change_name(row["status"]),
        change_pct=compute_percent(row["change_shares"], row["previous_shares"]),
    )


class PositionChange(TypedDict):
    """What became of one position in a quarter."""

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
    """The positions that changed in a quarter, those with the most money moved first."""

    new_buys: list[PositionChange]
    closed: list[PositionChange]
    increased: list[PositionChange]
    decreased: list[PositionChange]
    unchanged: list[PositionChange]


def count_changes(tx: Transaction, held: FundQuarter, options: str) -> ChangeCounts:
    """How many positions changed in which way, of those that are asked for."""
    if not held.compared or options == WITH_OPTIONS:
        return held.counts
    rows = tx.list_rows("fund_change_counts", cik=held.cik, period=held.period, options=options)
    counts = {fund_positions.find_change_name(row["status"]): row["positions"] for row in rows}
    return build_record(ChangeCounts, {name: counts.get(name, 0) for name in fund_positions.CHANGES})


def list_changes(
    tx: Transaction, held: FundQuarter, options: str, doubted: Mapping[int, DoubtedPosition]
) -> QuarterChanges | None:
    """The changes of a quarter, of each kind at most :data:`MAX_CHANGES`; None when they are not known."""
    if not held.compared:
        return None

    def most(status: str) -> list[PositionChange]:
        rows, _ = list_holdings(
            tx, held, options=options, status=status, doubted=doubted, sort="flow", limit=MAX_CHANGES
        )
        return [build_record(PositionChange, row) for row in rows]

    return {
        "new_buys": most("new"),
        "closed": most("closed"),
        "increased": most("increased"),
        "decreased": most("decreased"),
        "unchanged": most("unchanged"),
    }


class SectorAllocation(TypedDict):
    """What a fund holds of one sector; null is what no company is known for."""

    sector: str | None
    total_value_usd: int
    position_count: int
    pct_of_portfolio: Decimal | None
    doubted_count: DoubtedCount
    doubted_value_usd: DoubtedValue


def list_sector_allocations(
    tx: Transaction, held: FundQuarter, doubted: Mapping[int, DoubtedPosition]
) -> list[SectorAllocation]:
    """The value held by sector, the largest first; ``doubted`` are the quarter's positions."""
    doubtful = value_doubts.sum_doubts_by([*doubted.values()], lambda one: sectors.for_group(one.sic_group)[0])
    by_sector: dict[str | None, list[int]] = {}
    for row in tx.list_rows("fund_value_by_group", cik=held.cik, period=held.period):
        sums = by_sector.setdefault(sectors.for_group(row["sic_group"])[0], [0, 0])
        sums[0] += row["value"]
        sums[1] += row["positions"]
    whole = sum(value for value, _ in by_sector.values())
    ordered = sorted(by_sector.items(), key=lambda one: (-one[1][0], one[0] or ""))
    return [
        {
            "sector": sector,
            "total_value_usd": value,
            "position_count": count,
            "pct_of_portfolio": compute_percent(value, whole),
            "doubted_count": doubtful.get(sector, DoubtSum()).count,
            "doubted_value_usd": doubtful.get(sector, DoubtSum()).value,
        }
        for sector, (value, count) in ordered
    ]


class Split(TypedDict):
    """A split of a security's shares; its day is null where only the quarter is known."""

    date: Date | None
    ratio: float
    source: SplitSource


class HistoryQuarter(TypedDict):
    """What a fund held of a security at the end of one quarter: ``shares`` as after every later split, ``shares_raw``
    as reported, ``shares_delta`` in the shares of the quarter.
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
    """A security, its splits since the first quarter, and what a fund held of it quarter by quarter, the newest first.

    NOT_FOUND if it never did.

    Listed are the quarters in which the fund held it, and those right after in which it no longer did.
    """
    security = tx.find_row("security", cusip=number)
    rows = [] if security is None else tx.list_rows("position_history", cik=cik, security_id=security["id"])
    if security is None or not rows:
        raise ApiError("NOT_FOUND", "No 13F report by this manager in finapi lists this CUSIP.")
    splits = [(one, _first_after(one, rows)) for one in share_splits.list_for_security(tx, security["id"])]
    splits = [(one, first) for one, first in splits if first > rows[-1]["quarter_date"]]
    shown: list[HistoryQuarter] = []
    for row in rows:
        later = [Decimal(one["factor"]) for one, first in splits if first > row["quarter_date"]]
        shares = int((row["shares_raw"] * math.prod(later, start=Decimal(1))).to_integral_value())
        status = fund_positions.find_change_name(row["status"])
        at = compute_price(row["value"], row["shares_raw"])
        doubted = value_doubts.build_doubt_members(
            value_doubts.get_doubts_of_fund(tx, cik, row["quarter_date"]).get(security["id"])
        )
        shown.append(
            build_record(HistoryQuarter, row, shares=shares, implied_price=at, transaction_type=status, **doubted)
        )
    return security, [build_record(Split, one, ratio=float(one["factor"])) for one, _ in splits], shown


def _first_after(split: Row, rows: Sequence[Row]) -> str:
    """The first day known to be after a split: its own, that of the quarter in which a position shows it, or the last
    that it may have been on."""
    counted = (row["quarter_date"] for row in rows if split["source"] in (row["split_source"] or "").split())
    day: str = split["date"] or split["until"]
    return day if split["source"] == share_splits.FROM_PRICES else next(counted, day)


# ---- lists of funds and of filings


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
    """Funds in whose name every word of ``q`` begins a word, the largest first, and how many there are.

    A text of digits is a CIK; without a text, all funds.
    """
    place = {"limit": limit, "offset": offset}
    if q is None:
        rows, total = tx.list_page("funds_by_value", place)
    elif re.fullmatch("[0-9]{1,10}", q.strip()):
        found = [fund for fund in list_funds_by_cik(tx, 1, int(q) - 1) if int(fund["cik"]) == int(q)]
        return found[offset:], len(found)
    else:
        words = sorted(issuer_names.list_words(q), key=len, reverse=True)
        if not words:
            return [], 0
        # The others as a pattern for GLOB over the name in capitals; they hold no wildcard.
        rest = "".join(f"* {word}" for word in sorted(words[1:])) + "*"
        values = {"word": words[0], "end": words[0] + _AFTER, "rest": rest, **place}
        rows, total = tx.list_page("funds_by_word", values)
    return [build_record(FundSummary, row) for row in rows], total


def list_funds_by_cik(tx: Transaction, limit: int, after: int, offset: int = 0) -> list[FundSummary]:
    """Funds in the order of their CIKs, from past ``after`` on."""
    return [
        build_record(FundSummary, row) for row in tx.list_rows("funds_by_cik", limit=limit, after=after, offset=offset)
    ]


class QuarterFilingStatistics(TypedDict):
    """The changes of a quarter once more, by the names of an older API."""

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
    """13F filings, the newest first, with what they changed, and how many there are."""
    of = "" if cik is None else "_of_fund"
    values = {"cik": cik, "since": since or "", "limit": limit, "offset": offset}
    rows = tx.list_rows(f"latest_holdings_reports{of}", values)
    return [build_filing_record(row) for row in rows], tx.find_value(f"holdings_report_count{of}", values)


def count_undated_filings(tx: Transaction, cik: int | None, since: str | None) -> int:
    """How many 13F filings ``since`` leaves out because their day is not known."""
    return int(tx.find_value("undated_holdings_report_count", cik=cik)) if since is not None else 0


def build_filing_record(row: Row) -> FundFiling:
    """The record of a row of the view ``fund_filings``."""
    statistics = build_record(
        QuarterFilingStatistics,
        row,
        new_positions=row["new"],
        increased_positions=row["increased"],
        decreased_positions=row["decreased"],
    )
    return build_record(FundFiling, row, analysis=build_record(ChangeCounts, row), statistics=statistics)


class OtherManager(TypedDict):
    """Another manager that a cover page names; ``included`` when its holdings are in this report."""

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
    """The cover page of a row of the reports, with the managers that it names."""
    managers = [build_record(OtherManager, one) for one in tx.list_rows("managers_of_report", report_id=row["id"])]
    return build_record(FundCoverPage, row, other_managers=managers)


# ---- how a quarter's reports come in


class FilingProgress(TypedDict):
    """How many managers have reported a quarter, compared with the quarter before."""

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
    """How far the reports of a quarter have come in, compared with the quarter before and its deadline."""
    previous = quarters.get_previous_end(period)
    (row,) = tx.list_rows("report_counts_of_quarter", period=period)
    earlier = tx.find_value("filer_count_of_quarter", period=previous)
    due, next_period = quarters.get_filing_deadline(period), quarters.get_next_end(period)
    next_due = quarters.get_filing_deadline(next_period)
    return build_record(
        FilingProgress,
        row,
        period=period,
        pct_reported=compute_percent(row["filers"], earlier),
        baseline_filers=earlier,
        baseline_period=previous,
        deadline=due.isoformat(),
        deadline_status="open" if today <= due else "passed",
        is_complete=_is_complete(row["filers"], earlier, due, today),
        days_until_deadline=(due - today).days,
        previous_deadline=quarters.get_filing_deadline(previous).isoformat(),
        next_deadline=next_due.isoformat(),
        days_until_next_deadline=(next_due - today).days,
        next_reporting_period_start=next_period,
    )


def _is_complete(filers: int, earlier: int, due: date, today: date) -> bool:
    """Whether the deadline has passed, and most of the previous quarter's filers have filed again."""
    return today > due and filers > 0 and 10 * filers >= COMPLETE_TENTHS * earlier


class QuarterMetadata(TypedDict):
    """When the reports of a quarter are due, and whether most have come in."""

    quarter: Date
    filing_deadline: Date
    is_complete: bool
    days_until_deadline: int


def build_quarter_metadata(tx: Transaction, period: str, today: date) -> QuarterMetadata:
    """The deadline of a quarter, and whether most of its reports have come in."""
    due = quarters.get_filing_deadline(period)
    filers, earlier = (
        tx.find_value("filer_count_of_quarter", period=one) for one in (period, quarters.get_previous_end(period))
    )
    return {
        "quarter": period,
        "filing_deadline": due.isoformat(),
        "is_complete": _is_complete(filers, earlier, due, today),
        "days_until_deadline": (due - today).days,
    }


def get_latest_quarter(tx: Transaction) -> str:
    """The last quarter for which finapi has holdings; NOT_COVERED when there is none."""
    period: str | None = tx.find_value("latest_quarter_before", period=_AFTER)
    if period is None:
        raise ApiError("NOT_COVERED", "finapi has no 13F holdings.")
    return period


def list_quarters(tx: Transaction) -> list[str]:
    """The quarters for which finapi has holdings, the newest first."""
    found: list[str] = []
    # From one to the next by the index: a list of them all would read every row.
    while period := tx.find_value("latest_quarter_before", period=found[-1] if found else _AFTER):
        found.append(period)
    return found
