"""Totals over the Schedules 13D and 13G of a window of filing days, by company, by sector or by industry.

Each filing is represented by its lead, the person who reports the most shares (``schedule_store``). Schedules 13D and
13G are totalled separately. A filing whose lead previously used the other schedule is a conversion. It is counted as a
filing, but not as an increase or decrease.

For a 13D that follows a 13D, the change in shares is valued at the close of the event date, or of one of the six days
before. The sums are the dollars that flowed in and out. Only real prices are used, not the synthetic ones of the demo.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.ownership.filing_windows import UNDATED, FilingWindow
from finapi.market.ownership.schedule_filings import SplitReader
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

# Maximum length of a window, because every filing in it is read.
MAX_DAYS = 366
DEFAULT_DAYS = 30
DIRECTIONS = ("increase", "decrease", "unchanged")


class ScheduleChanges(TypedDict):
    """Totals over schedules of one kind. Conversions to this kind are counted as filings only."""

    filings: int
    new_positions: Annotated[int, "First filings of their filers about the issuer."]
    amendments: int
    increases: Annotated[int, "Filings in which the lead's percentage of the class rose; splits do not change it."]
    decreases: int
    unchanged: int
    no_delta: Annotated[int, "Amendments without both percentages."]


class ActivistFlows(ScheduleChanges):
    """Totals over Schedules 13D, with the dollars of changes in shares at the close of the event date."""

    inflow_usd: Annotated[int | None, "Value of the shares added since the previous filing; null: none has a price."]
    outflow_usd: int | None
    net_flow_usd: int | None
    priced_filings: Annotated[int, "Schedules 13D that follow a 13D, change the shares and have a price."]
    unpriced_filings: int


class ScheduleConversions(TypedDict):
    """The number of filings whose filers previously used the other schedule."""

    to_13d: int
    to_13g: int
    total: int


class ScheduleGroup(TypedDict):
    """Totals over the schedules about the companies of a group."""

    group: str
    issuer_name: Annotated[str | None, "null unless the groups are tickers."]
    issuer_cik: str | None
    filings: int
    companies: int
    holders: Annotated[int, "Different leads. The lead of a filing is the person in it who reports the most shares."]
    form_13d: ActivistFlows
    form_13g: ScheduleChanges
    conversions: ScheduleConversions


class ScheduleCoverage(TypedDict):
    """The number of filings in the groups, and of those that belong to none."""

    filings_in_window: int
    filings_grouped: int
    filings_ungrouped: Annotated[
        int, "Filings about companies without a ticker (groups by ticker) or SIC code (other groups)."
    ]
    filings_13d: int
    filings_13g: int
    conversions_excluded_from_flow: int
    amendments_without_delta: int
    filings_13d_priced: int
    filings_13d_unpriced: int


class FlowFilters(NamedTuple):
    """The filters of the filings that are totalled."""

    window: FilingWindow
    forms: Sequence[str] | None = None
    min_percent: float | None = None
    max_percent: float | None = None
    direction: str | None = None  # One of DIRECTIONS.
    min_change: float | None = None  # Minimum absolute change, in percentage points.


class _ShareChange(NamedTuple):
    """The change in shares of a 13D since the previous one, adjusted for splits."""

    shares: Decimal
    close: str | None  # An exact decimal; None if no price is known.


class _Flows(NamedTuple):
    """Dollars that flowed in and out; None if no change has a price."""

    inflow: int | None
    outflow: int | None
    net: int | None
    priced_filings: int
    unpriced_filings: int


class _FlowTotals(NamedTuple):
    """Totals over the filings of one company, or of several."""

    counts: list[Row]  # One row for each (company, schedule, is a conversion).
    share_changes: list[_ShareChange]

    @property
    def filing_count(self) -> int:
        return sum(row["filings"] for row in self.counts)

    def count_conversions(self, kind: str) -> int:
        """Return the number of conversions to a kind of schedule."""
        return sum(row["filings"] for row in self.counts if row["kind"] == kind and row["is_conversion"])

    def build_changes(self, kind: str) -> ScheduleChanges:
        """Return the totals over the filings of a kind."""
        all_rows = [row for row in self.counts if row["kind"] == kind]
        rows = [row for row in all_rows if not row["is_conversion"]]
        return {
            "filings": sum(row["filings"] for row in all_rows),
            "new_positions": sum(row["new_positions"] for row in rows),
            "amendments": sum(row["amendments"] for row in rows),
            "increases": sum(row["increases"] for row in rows),
            "decreases": sum(row["decreases"] for row in rows),
            "unchanged": sum(row["unchanged"] for row in rows),
            "no_delta": sum(row["no_delta"] for row in rows),
        }

    def compute_flows(self) -> _Flows:
        inflow = Decimal()
        outflow = Decimal()
        priced_filings = 0
        for change in self.share_changes:
            if change.close is None:
                continue
            priced_filings += 1
            dollars = change.shares * Decimal(change.close)
            if dollars > 0:
                inflow += dollars
            else:
                outflow -= dollars
        unpriced_filings = len(self.share_changes) - priced_filings
        if self.share_changes and not priced_filings:
            return _Flows(None, None, None, priced_filings, unpriced_filings)
        rounded_inflow = _round_dollars(inflow)
        rounded_outflow = _round_dollars(outflow)
        net = rounded_inflow - rounded_outflow
        return _Flows(rounded_inflow, rounded_outflow, net, priced_filings, unpriced_filings)


def _round_dollars(dollars: Decimal) -> int:
    return int(dollars.quantize(Decimal(1), ROUND_HALF_UP))


def list_groups(
    tx: Transaction, filters: FlowFilters, grouped_by: str, limit: int, offset: int
) -> tuple[list[ScheduleGroup], int, ScheduleCoverage]:
    """Return a page of groups (most filings first), the total number of groups, and their coverage.

    ``grouped_by`` is "ticker", "sector" or "industry".
    """
    totals_by_issuer = _load_totals(tx, filters)
    companies_by_group: dict[str, list[Row]] = {}
    for company in tx.list_rows("issuers_to_group", ciks=json.dumps(sorted(totals_by_issuer)), grouped_by=grouped_by):
        group = _find_group(company, grouped_by)
        if group is not None:
            companies_by_group.setdefault(group, []).append(company)
    totals_by_group = {
        group: _merge(totals_by_issuer[company["cik"]] for company in companies)
        for group, companies in companies_by_group.items()
    }
    ordered = sorted(totals_by_group, key=lambda group: (-totals_by_group[group].filing_count, group))
    page = [
        _build_group(group, companies_by_group[group], totals_by_group[group], grouped_by)
        for group in ordered[offset : offset + limit]
    ]
    filings_in_groups = sum(totals.filing_count for totals in totals_by_group.values())
    coverage = _build_coverage(_merge(totals_by_issuer.values()), filings_in_groups)
    return page, len(totals_by_group), coverage


def count_undated(tx: Transaction, filters: FlowFilters) -> int:
    """Return the number of filings left out of the window because their filing day is unknown."""
    return int(tx.find_value("count_windowed_schedules", _build_parameters(filters._replace(window=UNDATED))))


def _build_parameters(filters: FlowFilters) -> dict[str, object]:
    """Return the parameters of the queries."""
    return {
        "since": filters.window.since,
        "until": filters.window.until,
        "forms": None if filters.forms is None else json.dumps(list(filters.forms)),
        "min_percent": filters.min_percent,
        "max_percent": filters.max_percent,
        "direction": filters.direction,
        "min_change": filters.min_change,
    }


def _load_totals(tx: Transaction, filters: FlowFilters) -> dict[int, _FlowTotals]:
    """Return the totals by the CIK of the issuer."""
    totals: dict[int, _FlowTotals] = {}
    for row in tx.list_rows("schedule_counts_by_issuer", _build_parameters(filters)):
        totals.setdefault(row["issuer_cik"], _FlowTotals(counts=[], share_changes=[])).counts.append(row)
    for issuer_cik, change in _iter_share_changes(tx, filters):
        totals[issuer_cik].share_changes.append(change)
    return totals


def _iter_share_changes(tx: Transaction, filters: FlowFilters) -> Iterator[tuple[int, _ShareChange]]:
    """Yield the issuer and the change of each 13D that follows a 13D with another number of shares."""
    splits = SplitReader(tx)
    for row in tx.list_rows("changed_13d_filings", _build_parameters(filters)):
        prior_shares = Decimal(row["prior_shares"])
        if row["has_actions"]:
            prior_shares *= splits.find_factor(row["ticker"], row["prior_day"], row["day"]) or 1
        shares = Decimal(row["shares"])
        if shares != prior_shares:
            yield row["issuer_cik"], _ShareChange(shares - prior_shares, row["close"])


def _find_group(company: Row, grouped_by: str) -> str | None:
    """Return the group of a company, or None if its ticker or its SIC code is not known."""
    if grouped_by == "ticker":
        ticker: str | None = company["ticker"]
        return ticker
    sector, industry = sectors.get_names_of_sic(company["sic"])
    return sector if grouped_by == "sector" else industry


def _merge(parts: Iterable[_FlowTotals]) -> _FlowTotals:
    merged = _FlowTotals(counts=[], share_changes=[])
    for totals in parts:
        merged.counts.extend(totals.counts)
        merged.share_changes.extend(totals.share_changes)
    return merged


def _build_group(group: str, companies: Sequence[Row], totals: _FlowTotals, grouped_by: str) -> ScheduleGroup:
    company = companies[0] if grouped_by == "ticker" else None
    to_13d = totals.count_conversions("13D")
    to_13g = totals.count_conversions("13G")
    leads: set[str] = set()
    for row in totals.counts:
        leads.update(json.loads(row["leads"]))
    flows = totals.compute_flows()
    return {
        "group": group,
        "issuer_name": company["name"] if company else None,
        "issuer_cik": f"{company['cik']:010}" if company else None,
        "filings": totals.filing_count,
        "companies": len(companies),
        "holders": len(leads),
        "form_13d": build_record(
            ActivistFlows,
            {**totals.build_changes("13D")},
            inflow_usd=flows.inflow,
            outflow_usd=flows.outflow,
            net_flow_usd=flows.net,
            priced_filings=flows.priced_filings,
            unpriced_filings=flows.unpriced_filings,
        ),
        "form_13g": totals.build_changes("13G"),
        "conversions": {"to_13d": to_13d, "to_13g": to_13g, "total": to_13d + to_13g},
    }


def _build_coverage(totals: _FlowTotals, filings_in_groups: int) -> ScheduleCoverage:
    changes_13d = totals.build_changes("13D")
    changes_13g = totals.build_changes("13G")
    flows = totals.compute_flows()
    return {
        "filings_in_window": totals.filing_count,
        "filings_grouped": filings_in_groups,
        "filings_ungrouped": totals.filing_count - filings_in_groups,
        "filings_13d": changes_13d["filings"],
        "filings_13g": changes_13g["filings"],
        "conversions_excluded_from_flow": totals.count_conversions("13D") + totals.count_conversions("13G"),
        "amendments_without_delta": changes_13d["no_delta"] + changes_13g["no_delta"],
        "filings_13d_priced": flows.priced_filings,
        "filings_13d_unpriced": flows.unpriced_filings,
    }
