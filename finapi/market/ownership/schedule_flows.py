"""What the Schedules 13D and 13G of a window tell together: by company, by sector, by industry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import build_record
from finapi.market.ownership.schedule_filings import split_factor
from finapi.market.reference import sectors, share_splits
from finapi.store.db import Row, Transaction

# Days that a window spans at most: what is counted is read.
MAX_DAYS = 366
DEFAULT_DAYS = 30
DIRECTIONS = ("increase", "decrease", "unchanged")


class ScheduleChanges(TypedDict):
    """What schedules of one kind tell; those that went over to the other kind are counted as filings alone."""

    filings: int
    new_positions: Annotated[int, "First filings of their filers about the issuer."]
    amendments: int
    increases: Annotated[int, "By the lead's percentage of the class, which no split changes."]
    decreases: int
    unchanged: int
    no_delta: Annotated[int, "Amendments without both percentages."]


class ActivistFlows(ScheduleChanges):
    """The same with the dollars that changed hands, at the close of the day of the event or the week before."""

    inflow_usd: Annotated[int | None, "Of shares added since the filing before; null: no such filing has a price."]
    outflow_usd: int | None
    net_flow_usd: int | None
    priced_filings: Annotated[int, "13D after 13D that change the shares and have a price."]
    unpriced_filings: int


class ScheduleConversions(TypedDict):
    """Filings by which filers went over to the other schedule."""

    to_13d: int
    to_13g: int
    total: int


class ScheduleGroup(TypedDict):
    """What the schedules about the companies of a group tell."""

    group: str
    issuer_name: Annotated[str | None, "By ticker alone."]
    issuer_cik: str | None
    filings: int
    companies: int
    holders: Annotated[int, "Of each filing the one who reports most."]
    form_13d: ActivistFlows
    form_13g: ScheduleChanges
    conversions: ScheduleConversions


class ScheduleCoverage(TypedDict):
    """Which filings the groups are made of."""

    filings_in_window: int
    filings_grouped: int
    filings_ungrouped: Annotated[int, "About companies without a ticker, or a SIC code."]
    filings_13d: int
    filings_13g: int
    conversions_excluded_from_flow: int
    amendments_without_delta: int
    filings_13d_priced: int
    filings_13d_unpriced: int


class FlowFilters(NamedTuple):
    """What is counted: filing days by their number, forms as JSON, percentages of a class, their change in points."""

    since: int
    until: int
    forms: str | None = None
    least: float | None = None
    most: float | None = None
    direction: str | None = None
    change: float | None = None


_COUNTS = tuple(ScheduleChanges.__annotations__)


class _ToldOfCompany(NamedTuple):
    """What the filings about one company tell: counts by kind of schedule, and changes of shares with their price."""

    counts: list[Row]
    flows: list[tuple[Decimal, str | None]]

    @property
    def filings(self) -> int:
        return sum(row["filings"] for row in self.counts)

    def changes(self, kind: str) -> dict[str, int]:
        """Sums over filings of a kind; of those that went over to it the number alone."""
        rows = [row for row in self.counts if row["kind"] == kind]
        plain = {name: sum(row[name] for row in rows if not row["is_conversion"]) for name in _COUNTS}
        return {**plain, "filings": sum(row["filings"] for row in rows)}

    def converted(self, kind: str) -> int:
        """Filings that went over to a kind."""
        return sum(row["filings"] for row in self.counts if row["kind"] == kind and row["is_conversion"])

    def dollars(self) -> dict[str, Any]:
        """Dollars in and out; None where nothing that changed has a price."""
        worth = [change * Decimal(close) for change, close in self.flows if close is not None]
        signed = ([one for one in worth if one > 0], [one for one in worth if one < 0])
        into, out = (int(abs(sum(side, Decimal())).quantize(Decimal(1), ROUND_HALF_UP)) for side in signed)
        sums = {"inflow_usd": into, "outflow_usd": out, "net_flow_usd": into - out}
        known = sums if worth or not self.flows else dict.fromkeys(sums)
        return {**known, "priced_filings": len(worth), "unpriced_filings": len(self.flows) - len(worth)}


def grouped(
    tx: Transaction, narrow: FlowFilters, grouped_by: str, limit: int, offset: int
) -> tuple[list[ScheduleGroup], int, ScheduleCoverage]:
    """A page of groups by ticker, sector or industry, those with most filings first; how many, and their coverage."""
    told: dict[int, _ToldOfCompany] = {}
    for row in tx.list_rows("scheduled_by_issuer", narrow._asdict()):
        told.setdefault(row["issuer_cik"], _ToldOfCompany([], [])).counts.append(row)
    for issuer, change, close in _flows(tx, narrow):
        told[issuer].flows.append((change, close))
    groups: dict[str, list[Row]] = {}
    for company in tx.list_rows("issuers_grouped", ciks=json.dumps(sorted(told)), grouped_by=grouped_by):
        sector, industry = sectors.for_sic(company["sic"])
        name = {"ticker": company["ticker"], "sector": sector, "industry": industry}[grouped_by]
        if name is not None:
            groups.setdefault(name, []).append(company)
    filings = {name: sum(told[one["cik"]].filings for one in companies) for name, companies in groups.items()}
    page = sorted(groups, key=lambda name: (-filings[name], name))[offset : offset + limit]
    rows = [_group(name, groups[name], _united(told[one["cik"]] for one in groups[name]), grouped_by) for name in page]
    return rows, len(groups), _coverage(_united(told.values()), sum(filings.values()))


def count(tx: Transaction, narrow: FlowFilters) -> int:
    """How many filings there are."""
    return int(tx.find_value("scheduled_count", narrow._asdict()))


def _united(parts: Iterable[_ToldOfCompany]) -> _ToldOfCompany:
    every = list(parts)
    return _ToldOfCompany([row for one in every for row in one.counts], [flow for one in every for flow in one.flows])


def _group(name: str, companies: Sequence[Row], told: _ToldOfCompany, grouped_by: str) -> ScheduleGroup:
    only = companies[0] if grouped_by == "ticker" else None
    to_13d, to_13g = told.converted("13D"), told.converted("13G")
    return {
        "group": name,
        "issuer_name": only["name"] if only else None,
        "issuer_cik": f"{only['cik']:010}" if only else None,
        "filings": told.filings,
        "companies": len(companies),
        "holders": len({holder for row in told.counts for holder in json.loads(row["holders"])}),
        "form_13d": build_record(ActivistFlows, told.changes("13D"), **told.dollars()),
        "form_13g": build_record(ScheduleChanges, told.changes("13G")),
        "conversions": {"to_13d": to_13d, "to_13g": to_13g, "total": to_13d + to_13g},
    }


def _flows(tx: Transaction, narrow: FlowFilters) -> Iterator[tuple[int, Decimal, str | None]]:
    """Of each 13D after another its issuer, the shares added since, and their price where one is held."""
    splits: dict[str, list[Row]] = {}
    for row in tx.list_rows("scheduled_flows", narrow._asdict()):
        had = Decimal(row["had"])
        if row["acted"]:
            known = splits.setdefault(row["ticker"], share_splits.list_for_ticker(tx, row["ticker"]))
            had *= split_factor(known, row["prior_day"], row["day"]) or 1
        if Decimal(row["shares"]) != had:
            yield row["issuer_cik"], Decimal(row["shares"]) - had, row["close"]


def _coverage(every: _ToldOfCompany, in_groups: int) -> ScheduleCoverage:
    activists, passive, dollars = every.changes("13D"), every.changes("13G"), every.dollars()
    return {
        "filings_in_window": every.filings,
        "filings_grouped": in_groups,
        "filings_ungrouped": every.filings - in_groups,
        "filings_13d": activists["filings"],
        "filings_13g": passive["filings"],
        "conversions_excluded_from_flow": every.converted("13D") + every.converted("13G"),
        "amendments_without_delta": activists["no_delta"] + passive["no_delta"],
        "filings_13d_priced": dollars["priced_filings"],
        "filings_13d_unpriced": dollars["unpriced_filings"],
    }
