"""What the shares that a fund held when a quarter began returned over it, by the prices that are held.

A position without a price at both ends of the quarter adds nothing, and the part of the value that has prices is told.
Nothing is reckoned in a call: ``settle`` keeps the sums of each fund and quarter when reports or prices came in.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.holdings import quarters, value_doubts
from finapi.market.holdings.funds import compute_percent
from finapi.market.holdings.value_doubts import DoubtedCount, DoubtSum
from finapi.market.prices import price_series, returns
from finapi.market.reference import issuer_names
from finapi.store.db import Row, Transaction

# Of less than so many per cent of the value no return is concluded.
MIN_COVERAGE_PCT = 80
# Shares whose returns are counted in one write transaction, and the most funds that are looked at for it.
SERIES_PER_PORTION, FUNDS_PER_READ = 50, 200
# Positions told that gained, and that lost most.
MAX_CONTRIBUTORS = 5

SORTS = ("portfolio_return_pct", "portfolio_value", "holdings_count", "price_coverage_pct")

NOT_PRICED, LITTLE_PRICED = "no_prices_held", "price_coverage_low"


# ---- kept


def recompute_series_returns(tx: Transaction) -> int:
    """Count the returns of some shares whose prices changed, and of all when a fund's quarter is the first of its day;
    how many shares those were.
    """
    begun = {quarters.get_next_end(row["period"]): row["period"] for row in tx.list_rows("quarters_with_funds")}
    held = {row["period"] for row in tx.list_rows("returned_quarters")}
    for period in sorted(begun.keys() - held):
        tx.run("insert_returned_quarter", period=period)
    if begun.keys() - held:
        tx.run("update_all_series_as_uncounted")
    spans = [(first, last) for last, first in begun.items()]
    rows = tx.list_rows("uncounted_series", limit=SERIES_PER_PORTION)
    for row in rows:
        series = price_series.build_series(row)
        found = {} if series.source == "synthetic" else returns.compute_over_spans(tx, series, spans)
        now = {period: (str(one.fraction), int(one.is_adjusted)) for period, one in found.items()}
        kept = {
            one["period"]: (one["earned"], one["adjusted"]) for one in tx.list_rows("returns_of_series", id=series.id)
        }
        changed = [period for period in {*now, *kept} if now.get(period) != kept.get(period)]
        tx.insert_rows("delete_quarter_return", [(series.id, period) for period in changed])
        tx.insert_rows("insert_quarter_return", [(series.id, one, *now[one]) for one in changed if one in now])
        tx.run("update_series_as_counted", id=series.id)
    return len(rows)


def recompute_due_quarters(tx: Transaction, most: int) -> int:
    """Count the returns of funds over the quarters in which a share's return changed, up to about ``most`` positions;
    how many quarters and positions those were.
    """
    counted = 0
    while counted < most and (due := tx.find_row("due_quarter")) is not None:
        period, begun = due["period"], quarters.get_previous_end(due["period"])
        funds = tx.list_rows("complete_funds_of_quarter", period=begun, first=due["first"], limit=FUNDS_PER_READ)
        # What was counted before each: of the first that is less than ``most``.
        before = itertools.accumulate((1 + one["positions"] for one in funds), initial=counted)
        done = [row["cik"] for row, weight in zip(funds, before, strict=False) if weight < most]
        tx.insert_rows("upsert_fund_return", [_counted(tx, cik, period) for cik in done])
        tx.run("update_due_quarter", period=period, first=done[-1] + 1 if done else 0)
        counted += 1 + sum(1 + one["positions"] for one in funds[: len(done)])
    return counted


def recompute_fund_return(tx: Transaction, cik: int, period: str, *, whole: bool) -> None:
    """Count a fund's return over the quarter that ends on ``period``, unless it began without a ``whole`` report, or is
    counted with all the others later.
    """
    if not whole:
        tx.run("delete_fund_return", cik=cik, period=period)
    elif not tx.find_value("fund_return_due", cik=cik, period=period):
        tx.insert_rows("upsert_fund_return", [_counted(tx, cik, period)])


def _counted(tx: Transaction, cik: int, period: str) -> tuple[Any, ...]:
    """The row of a fund's return over the quarter that ends on ``period``."""
    before = quarters.get_previous_end(period)
    (sums,) = tx.list_rows("share_position_totals", cik=cik, period=before)
    by_ticker: dict[str, tuple[Decimal, Decimal]] = {}
    priced = unadjusted = 0
    for row in tx.list_rows("returns_of_positions", cik=cik, before=before, period=period):
        earned, value = Decimal(row["earned"]), row["value"]
        priced += value
        unadjusted += 0 if row["adjusted"] else value
        _, gained = by_ticker.get(row["ticker"], (earned, Decimal(0)))
        by_ticker[row["ticker"]] = earned, gained + earned * value
    ordered = sorted(((gain, ticker, earned) for ticker, (earned, gain) in by_ticker.items()), key=_most)
    best = [(ticker, str(earned), _dollars(gain)) for gain, ticker, earned in ordered[:MAX_CONTRIBUTORS] if gain > 0]
    worst = [
        (ticker, str(earned), _dollars(gain)) for gain, ticker, earned in ordered[::-1][:MAX_CONTRIBUTORS] if gain < 0
    ]
    gain = _dollars(sum((one[0] for one in ordered), Decimal(0)))
    told = json.dumps(best), json.dumps(worst)
    return (period, cik, sums["holdings"], sums["value"], priced, unadjusted, gain, *told)


def _most(one: tuple[Decimal, str, Decimal]) -> tuple[Decimal, str]:
    return -one[0], one[1]


def _dollars(amount: Decimal) -> int:
    return int(amount.to_integral_value())


# ---- told


class Contributor(TypedDict):
    """A position that moved a fund's return."""

    ticker: str
    return_pct: Decimal
    contribution_pct: Annotated[Decimal | None, "What it adds to portfolio_return_pct, in points."]


class FundPerformance(TypedDict):
    """A fund's return over a quarter, of the shares that it held when the quarter began."""

    rank: Annotated[int | None, "By return among the eligible funds; null without a return."]
    cik: str
    company_name: str
    portfolio_return_pct: Annotated[
        Decimal | None, f"Of the positions with prices; null below {MIN_COVERAGE_PCT} % of the value."
    ]
    reason: Annotated[str | None, f"Why there is no return: {NOT_PRICED} or {LITTLE_PRICED}."]
    portfolio_value: Annotated[int, "Dollars in shares when the quarter began; options and principal are left out."]
    holdings_count: int
    doubted_count: DoubtedCount
    doubted_value: Annotated[int, "The part of portfolio_value in those positions; it weighs in the return."]
    price_coverage_pct: Annotated[Decimal | None, "The part of portfolio_value with a price at both ends."]
    unadjusted_pct: Annotated[Decimal | None, "The part whose prices are not adjusted for splits and dividends."]
    top_contributors: list[Contributor]
    top_detractors: list[Contributor]


class Leaderboard(NamedTuple):
    """A page of a quarter's funds, how many match, how many there are and how many of those are eligible."""

    rows: list[FundPerformance]
    matching: int
    funds: int
    eligible: int


def find_latest_quarter(tx: Transaction) -> str | None:
    """The last quarter over which some fund's return is known, else the last that could be; None without reports."""
    period: str | None = tx.find_value("latest_priced_quarter") or tx.find_value("latest_quarter_of_returns")
    return period


def has_returns_of_quarter(tx: Transaction, period: str) -> bool:
    """Whether finapi has holdings of any fund at the beginning of a quarter."""
    return tx.find_row("fund_return_of_quarter", period=period) is not None


def build_leaderboard(tx: Transaction, period: str, wanted: Mapping[str, Any]) -> Leaderboard:
    """A page of a quarter's funds; ``wanted`` holds filters, sort and page by the endpoint's names."""
    words = issuer_names.list_words(wanted["q"] or "")
    values = {
        **wanted,
        "period": period,
        "words": None if wanted["q"] is None else json.dumps(words),
        "min_holdings": 0 if wanted["include_all"] else wanted["min_holdings"],
        "min_aum": 0 if wanted["include_all"] else wanted["min_aum"],
        "direction": -1 if wanted["sort_order"] == "desc" else 1,
    }
    (counts,) = tx.list_rows("fund_return_counts", values)
    rows, total = tx.list_page("funds_by_return", values)
    begun = quarters.get_previous_end(period)
    found = [
        _performance(row, value_doubts.sum_doubts(value_doubts.get_doubts_of_fund(tx, int(row["cik"]), begun).values()))
        for row in rows
    ]
    return Leaderboard(found, total, counts["funds"], counts["eligible"])


def _performance(row: Row, doubted: DoubtSum) -> FundPerformance:
    known = row["rank"] is not None
    reason = None if known else LITTLE_PRICED if row["priced"] else NOT_PRICED
    return build_record(
        FundPerformance,
        row,
        portfolio_return_pct=compute_percent(row["gain"], row["priced"]) if known else None,
        reason=reason,
        doubted_count=doubted.count,
        doubted_value=doubted.value,
        price_coverage_pct=compute_percent(row["priced"], row["portfolio_value"]),
        unadjusted_pct=compute_percent(row["unadjusted"], row["portfolio_value"]),
        top_contributors=_contributors(row["best"], row["priced"]),
        top_detractors=_contributors(row["worst"], row["priced"]),
    )


def _contributors(text: str, priced: int) -> list[Contributor]:
    return [
        {"ticker": ticker, "return_pct": 100 * Decimal(earned), "contribution_pct": compute_percent(gain, priced)}
        for ticker, earned, gain in json.loads(text)
    ]
