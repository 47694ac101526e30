"""Returns of funds: the gain of the shares that a fund held when a quarter began, by stored prices.

Each share is weighted by its value at the beginning. For example, $300 in a share that returned 10 % and $100 in one
that returned 2 % gain $32 on $400, which is a return of 8 %. A position without prices at both ends of the quarter is
ignored. The response states the percentage of the value that has prices; below ``MIN_COVERAGE_PCT`` no return is
served.

No call computes a return. The returns of shares (``quarter_returns``) and of funds (``fund_returns``) are stored, and
recomputed in portions after new reports or prices. A quarter here is the one in which the return is earned. Its
positions are those at the end of the previous quarter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.holdings import quarters, value_doubts
from finapi.market.holdings.funds import compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtSum
from finapi.market.prices import price_series, returns
from finapi.market.prices.price_series import PriceSeries
from finapi.market.reference import issuer_names
from finapi.store.db import Row, Transaction

# No return is served if prices are known for less than this percentage of the value.
MIN_COVERAGE_PCT = 80
# Number of shares whose returns are recomputed in one write transaction.
SERIES_PER_PORTION = 50
# Number of funds read for one portion of returns.
FUNDS_PER_READ = 200
# Maximum number of listed positions among those that gained most, and among those that lost most.
MAX_CONTRIBUTORS = 5

SORTS = ("portfolio_return_pct", "portfolio_value", "holdings_count", "price_coverage_pct")

# Reasons for a missing return.
NOT_PRICED = "no_prices_held"
LITTLE_PRICED = "price_coverage_low"


# ---- the stored returns


def recompute_series_returns(tx: Transaction) -> int:
    """Recompute the returns of some shares whose prices changed. Return the number of these shares.

    When a first fund has holdings at the end of a quarter, all shares become due for the following quarter.
    """
    starts = [row["period"] for row in tx.list_rows("quarters_with_funds")]
    start_by_period = {quarters.get_next_end(start): start for start in starts}
    stored_periods = {row["period"] for row in tx.list_rows("returned_quarters")}
    new_periods = sorted(start_by_period.keys() - stored_periods)
    for period in new_periods:
        tx.run("insert_returned_quarter", period=period)
    if new_periods:
        tx.run("update_all_series_as_uncounted")
    spans = [(start, period) for period, start in start_by_period.items()]
    rows = tx.list_rows("uncounted_series", limit=SERIES_PER_PORTION)
    for row in rows:
        _recompute_series(tx, price_series.build_series(row), spans)
    return len(rows)


def _recompute_series(tx: Transaction, series: PriceSeries, spans: list[tuple[str, str]]) -> None:
    """Update the stored returns of a share over the quarters of ``spans``."""
    new_returns: dict[str, tuple[str, int]] = {}
    # Synthetic prices are not used for the returns of funds.
    if series.source != "synthetic":
        for period, quarter_return in returns.compute_over_spans(tx, series, spans).items():
            new_returns[period] = (str(quarter_return.fraction), int(quarter_return.is_adjusted))
    stored_rows = tx.list_rows("returns_of_series", id=series.id)
    stored_returns = {row["period"]: (row["earned"], row["adjusted"]) for row in stored_rows}
    periods = new_returns.keys() | stored_returns.keys()
    changed_periods = [period for period in periods if new_returns.get(period) != stored_returns.get(period)]
    tx.insert_rows("delete_quarter_return", [(series.id, period) for period in changed_periods])
    new_rows = [(series.id, period, *new_returns[period]) for period in changed_periods if period in new_returns]
    tx.insert_rows("insert_quarter_return", new_rows)
    tx.run("update_series_as_counted", id=series.id)


def recompute_due_quarters(tx: Transaction, limit: int) -> int:
    """Recompute the returns of funds over the quarters in which a share's return changed.

    About ``limit`` positions are recomputed at most. Return the number of quarters, funds and positions.
    """
    count = 0
    while count < limit:
        due_row = tx.find_row("due_quarter")
        if due_row is None:
            break
        count += 1 + _recompute_quarter(tx, due_row["period"], due_row["first"], limit - count)
    return count


def _recompute_quarter(tx: Transaction, period: str, first_cik: int, limit: int) -> int:
    """Recompute the returns of funds over a quarter from ``first_cik`` on, and record the fund with which to continue.

    Return the number of funds and of their positions. The positions exceed ``limit`` by less than those of one fund.
    """
    start = quarters.get_previous_end(period)
    count = 0
    next_cik = 0  # No fund is left.
    rows = []
    for fund in tx.list_rows("complete_funds_of_quarter", period=start, first=first_cik, limit=FUNDS_PER_READ):
        if count >= limit:
            break
        rows.append(build_return_row(tx, fund["cik"], period))
        count += 1 + fund["positions"]
        next_cik = fund["cik"] + 1
    tx.insert_rows("upsert_fund_return", rows)
    tx.run("update_due_quarter", period=period, first=next_cik)
    return count


def recompute_fund_return(tx: Transaction, cik: int, period: str, *, is_complete: bool) -> None:
    """Recompute a fund's return over the quarter that ends on ``period``.

    ``is_complete`` is True if the fund's table at the beginning is complete; otherwise there is no return. Nothing is
    done if all funds of the quarter are due anyway and this one will be reached later.
    """
    if not is_complete:
        tx.run("delete_fund_return", cik=cik, period=period)
    elif not tx.find_value("fund_return_due", cik=cik, period=period):
        tx.insert_rows("upsert_fund_return", [build_return_row(tx, cik, period)])


def build_return_row(tx: Transaction, cik: int, period: str) -> tuple[Any, ...]:
    """Return the row of ``fund_returns`` for a fund's return over the quarter that ends on ``period``."""
    start = quarters.get_previous_end(period)
    totals = tx.find_row("share_position_totals", cik=cik, period=start)
    assert totals is not None
    # Several securities may have the same ticker. Their gains are added up.
    earned_by_ticker: dict[str, Decimal] = {}
    gain_by_ticker: dict[str, Decimal] = {}
    priced_value = 0
    unadjusted_value = 0
    for row in tx.list_rows("returns_of_positions", cik=cik, before=start, period=period):
        ticker = row["ticker"]
        earned = Decimal(row["earned"])
        priced_value += row["value"]
        if not row["adjusted"]:
            unadjusted_value += row["value"]
        earned_by_ticker[ticker] = earned
        gain_by_ticker[ticker] = gain_by_ticker.get(ticker, Decimal(0)) + earned * row["value"]
    tickers = sorted(gain_by_ticker, key=lambda ticker: (-gain_by_ticker[ticker], ticker))
    winners = [ticker for ticker in tickers[:MAX_CONTRIBUTORS] if gain_by_ticker[ticker] > 0]
    losers = [ticker for ticker in tickers[::-1][:MAX_CONTRIBUTORS] if gain_by_ticker[ticker] < 0]

    def render_contributors(contributors: list[str]) -> str:
        return json.dumps(
            [(ticker, str(earned_by_ticker[ticker]), _round_dollars(gain_by_ticker[ticker])) for ticker in contributors]
        )

    return (
        period,
        cik,
        totals["holdings"],
        totals["value"],
        priced_value,
        unadjusted_value,
        _round_dollars(sum((gain_by_ticker[ticker] for ticker in tickers), Decimal(0))),
        render_contributors(winners),
        render_contributors(losers),
    )


def _round_dollars(amount: Decimal) -> int:
    return int(amount.to_integral_value())


# ---- the leaderboard


class Contributor(TypedDict):
    """A position with a large effect on a fund's return."""

    ticker: str
    return_pct: Decimal
    contribution_pct: Annotated[Decimal | None, "Contribution to portfolio_return_pct, in percentage points."]


class FundPerformance(TypedDict):
    """A fund's return over a quarter, from the shares that it held at the beginning."""

    rank: Annotated[int | None, "Rank by return among the eligible funds; null without a return."]
    cik: str
    company_name: str
    portfolio_return_pct: Annotated[
        Decimal | None, f"Of the positions with prices; null below {MIN_COVERAGE_PCT} % of the value."
    ]
    reason: Annotated[str | None, f"The reason for a missing return: {NOT_PRICED} or {LITTLE_PRICED}."]
    portfolio_value: Annotated[int, "Dollars in shares at the beginning of the quarter, without options and principal."]
    holdings_count: int
    doubted_count: DoubtedCount
    doubted_value: Annotated[int, "The part of portfolio_value in those positions; it affects the return."]
    price_coverage_pct: Annotated[
        Decimal | None, "The part of portfolio_value with prices at both ends of the quarter."
    ]
    unadjusted_pct: Annotated[
        Decimal | None, "The part of portfolio_value whose prices are not adjusted for splits and dividends."
    ]
    top_contributors: list[Contributor]
    top_detractors: list[Contributor]


class Leaderboard(NamedTuple):
    """A page of the funds of a quarter."""

    rows: list[FundPerformance]
    matching_funds: int  # Funds that match the filters.
    total_funds: int  # All funds of the quarter.
    eligible_funds: int  # Funds with enough holdings and a large enough portfolio to be ranked.


def find_latest_quarter(tx: Transaction) -> str | None:
    """Return the last quarter with a known return of any fund.

    If there is none, return the last quarter that could have returns, or None without reports.
    """
    period: str | None = tx.find_value("latest_priced_quarter") or tx.find_value("latest_quarter_of_returns")
    return period


def has_returns_of_quarter(tx: Transaction, period: str) -> bool:
    """Return True if holdings of a fund are stored for the beginning of a quarter."""
    return tx.find_row("fund_return_of_quarter", period=period) is not None


def build_leaderboard(tx: Transaction, period: str, params: Mapping[str, Any]) -> Leaderboard:
    """Return a page of a quarter's funds. ``params`` are the endpoint's parameters for filters, sort and page."""
    ranks_all = params["include_all"]
    query_values = {
        **params,
        "period": period,
        "words": None if params["q"] is None else json.dumps(issuer_names.list_words(params["q"])),
        "min_holdings": 0 if ranks_all else params["min_holdings"],
        "min_aum": 0 if ranks_all else params["min_aum"],
        "direction": -1 if params["sort_order"] == "desc" else 1,
    }
    counts = tx.find_row("fund_return_counts", query_values)
    assert counts is not None
    rows, matching_count = tx.list_page("funds_by_return", query_values)
    start = quarters.get_previous_end(period)
    records = []
    for row in rows:
        doubts = value_doubts.get_doubts_of_fund(tx, int(row["cik"]), start)
        records.append(_build_performance(row, value_doubts.sum_doubts(doubts.values())))
    return Leaderboard(
        rows=records,
        matching_funds=matching_count,
        total_funds=counts["funds"],
        eligible_funds=counts["eligible"],
    )


def _build_performance(row: Row, doubt_sum: DoubtSum) -> FundPerformance:
    has_return = row["rank"] is not None
    reason = None
    if not has_return:
        reason = LITTLE_PRICED if row["priced"] else NOT_PRICED
    return build_record(
        FundPerformance,
        row,
        portfolio_return_pct=compute_percent(row["gain"], row["priced"]) if has_return else None,
        reason=reason,
        doubted_count=doubt_sum.count,
        doubted_value=doubt_sum.value,
        price_coverage_pct=compute_percent(row["priced"], row["portfolio_value"]),
        unadjusted_pct=compute_percent(row["unadjusted"], row["portfolio_value"]),
        top_contributors=_parse_contributors(row["best"], row["priced"]),
        top_detractors=_parse_contributors(row["worst"], row["priced"]),
    )


def _parse_contributors(text: str, priced_value: int) -> list[Contributor]:
    """Return the contributors that :func:`build_return_row` rendered."""
    return [
        {
            "ticker": ticker,
            "return_pct": 100 * Decimal(earned),
            "contribution_pct": compute_percent(gain, priced_value),
        }
        for ticker, earned, gain in json.loads(text)
    ]
