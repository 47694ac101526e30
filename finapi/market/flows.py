"""All funds together: who holds a security, what moved in a quarter, by security, sector and industry.

Changes count only funds whose quarter and the one before are both held whole; with none of them a change is
null. Money that flowed is the change in shares at the price that each fund's own value implies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from finapi.db import Row, Transaction
from finapi.edgar import cusip, tickers
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, issuers, positions, sectors, securities
from finapi.market.funds import percent, price

SORTS = {
    "fund_flow": "flow",
    "total_value": "value",
    "fund_count": "funds",
    "fund_change": "fund_change",
    "share_change": "share_change",
    "ticker": "ticker",
    "name": "name",
}

# What the API names of a security and 13F reports do not say: always null, and told as holes.
NOT_IN_13F = ("close_price", "market_cap", "shares_outstanding", "first_traded", "fund_flow_mcap_pct")

# Money that flowed in or out, in per cent of what is held: above it the direction has a name.
STRONG = 5
# What a direction is called, the strongest way out first.
MOMENTA = ("strong_outflow", "outflow", "neutral", "inflow", "strong_inflow")
# Fewer funds than these say little of a market.
FEW_FUNDS = 3


@dataclass(frozen=True, slots=True)
class Filters:
    """Which securities of a quarter are wanted. Bounds are inclusive; None is no bound."""

    search: str | None = None
    group: str | None = None
    is_etf: bool | None = None
    sector: str | None = None
    industry: str | None = None
    bounds: dict[str, int | None] = field(default_factory=dict)


BOUNDS = ("total_value", "fund_flow", "fund_count", "fund_change", "share_change")


def by_security(
    tx: Transaction,
    period: str,
    wanted: Filters,
    *,
    sort: str,
    descending: bool,
    limit: int,
    offset: int,
) -> tuple[list[dict[str, Any]], int]:
    """A page of the securities of a quarter, and how many there are in all."""
    search, bounds = wanted.search, wanted.bounds
    words = issuers.words(search or "")
    if search is not None and not words:
        return [], 0
    rows = tx.all(
        "securities_of_quarter",
        period=period,
        words=json.dumps(words) if words else None,
        ticker=tickers.spelled(search or ""),
        security_group=wanted.group,
        is_etf=wanted.is_etf,
        groups=_groups(wanted.sector, wanted.industry),
        sort=SORTS[sort],
        direction=-1 if descending else 1,
        limit=limit,
        offset=offset,
        min_total_value=bounds.get("min_total_value"),
        max_total_value=bounds.get("max_total_value"),
        min_fund_flow=bounds.get("min_fund_flow"),
        max_fund_flow=bounds.get("max_fund_flow"),
        min_fund_count=bounds.get("min_fund_count"),
        max_fund_count=bounds.get("max_fund_count"),
        min_fund_change=bounds.get("min_fund_change"),
        max_fund_change=bounds.get("max_fund_change"),
        min_share_change=bounds.get("min_share_change"),
        max_share_change=bounds.get("max_share_change"),
    )
    total = rows[0]["total"] if rows else 0
    if not rows and offset:
        _, total = by_security(tx, period, wanted, sort=sort, descending=descending, limit=1, offset=0)
    return [_security(row) for row in rows], total


def _groups(sector: str | None, industry: str | None) -> str | None:
    """The major groups of SIC codes that are wanted, as JSON; None for any."""
    if sector is None and industry is None:
        return None
    letter = None if sector is None else sectors.division(sector)
    number = None if industry is None else sectors.group(industry)
    wanted = [
        one
        for one in range(100)
        if (letter is None or securities.industry(one)[0] == sectors.sector_of(letter))
        and (number is None or one == number)
        and securities.industry(one)[0] is not None
    ]
    return json.dumps(wanted)


def _security(row: Row) -> dict[str, Any]:
    sector, industry = securities.industry(row["sic_group"])
    known = row["compared"] > 0
    held_before = row["increased"] + row["decreased"] + row["unchanged"] + row["closed"]
    change = row["new"] - row["closed"]
    moved = row["compared_shares"] - row["previous_shares"]
    return {
        "cusip": row["cusip"],
        "ticker": row["ticker"],
        "name": row["issuer"],
        "sector": sector,
        "industry": industry,
        "security_group": row["security_group"],
        "is_etf": row["security_group"] == issuers.ETFS,
        "implied_price": price(row["value"], row["shares"]),
        **dict.fromkeys(NOT_IN_13F),
        "fund_flow": row["flow"] if known else None,
        "total_value": row["value"],
        "total_shares": row["shares"],
        "fund_count": row["funds"],
        "fund_count_compared": row["compared"],
        "fund_count_prev": held_before if known else None,
        "fund_change": change if known else None,
        "fund_change_pct": percent(change, held_before) if known else None,
        "share_change": moved if known else None,
        "share_change_pct": percent(moved, row["previous_shares"]) if known else None,
        **{
            f"{name}_count": row[status] if known else None
            for name, status in (
                ("new_buys", "new"),
                ("increased", "increased"),
                ("decreased", "decreased"),
                ("unchanged", "unchanged"),
                ("closed", "closed"),
            )
        },
    }


def extent(tx: Transaction, period: str) -> dict[str, dict[str, int | None]]:
    """What a quarter's securities range over, by filter, and under "volume" what funds bought and sold, in dollars."""
    row = tx.one("ranges_of_quarter", period=period)
    assert row is not None
    found: dict[str, dict[str, int | None]] = {
        name: {"min": row[f"min_{name}"], "max": row[f"max_{name}"]}
        for name in ("total_value", "fund_count", "fund_flow")
    }
    found["market_cap"] = {"min": None, "max": None}
    return {**found, "volume": {"buy": row["bought"], "sell": row["sold"]}}


# ---- one security


@dataclass(frozen=True, slots=True)
class Wanted:
    """The securities that a ticker or CUSIP means, the one last seen first."""

    ids: tuple[int, ...]
    cusips: tuple[str, ...]
    ticker: str | None
    name: str
    evidence: str | None


def securities_of(tx: Transaction, ticker: str) -> Wanted:
    """The securities of a folded ticker; :func:`no_cusip` when there are none."""
    rows = tx.all("securities_of_ticker", ticker=ticker)
    if not rows:
        raise no_cusip(tx, ticker)
    return _wanted(rows)


def no_cusip(tx: Transaction, ticker: str) -> ApiError:
    """The NOT_COVERED of a ticker that a company bears; raises UNKNOWN_TICKER for one that nobody bears."""
    company = companies.find(tx, ticker)
    return ApiError(
        "NOT_COVERED",
        f"No CUSIP of {company.name} is known.",
        details={"ticker": ticker, "cik": company.padded_cik},
    )


def security_of(tx: Transaction, number: str) -> Wanted:
    """The security of a CUSIP; NOT_FOUND when no 13F and no mapping names it."""
    row = tx.one("security", cusip=number)
    if row is None:
        raise ApiError("NOT_FOUND", "No 13F table and no mapping that is held names this CUSIP.")
    return _wanted([row])


def _wanted(rows: Sequence[Row]) -> Wanted:
    return Wanted(
        tuple(row["id"] for row in rows),
        tuple(row["cusip"] for row in rows),
        rows[0]["ticker"],
        rows[0]["issuer"],
        rows[0]["evidence"],
    )


def meant(tx: Transaction, text: str) -> Wanted:
    """The securities of a ticker or a CUSIP; a 404 of its own for each of the reasons that there are none."""
    try:
        number = cusip.fold(text)
    except ValueError:
        number = ""
    if cusip.is_valid(number):
        return security_of(tx, number)
    try:
        return securities_of(tx, tickers.fold(text))
    except ValueError:
        raise invalid_param("q", "That is neither a ticker nor a CUSIP.", expected="AAPL") from None


def chain_of(tx: Transaction, wanted: Wanted) -> list[str]:
    """The CUSIPs that followed each other by a loaded mapping, the oldest first."""
    return [link.cusip for link in securities.chain(tx, wanted.cusips[0])]


def latest_quarter_of(tx: Transaction, wanted: Wanted) -> str:
    """The last quarter in which any fund is known to hold one of the securities; NOT_COVERED for none."""
    period: str | None = tx.value("latest_quarter_of_securities", ids=json.dumps(wanted.ids))
    if period is None:
        raise ApiError("NOT_COVERED", f"No 13F report that is held shows {wanted.name}.")
    return period


def holders(
    tx: Transaction, wanted: Wanted, period: str, *, status: str, limit: int, offset: int
) -> tuple[list[dict[str, Any]], int]:
    """A page of the funds that hold a security, the largest first, and how many there are.

    ``status`` is one of ``funds.STATUSES``; "all" is everyone that holds it, "closed" who no longer does.
    """
    ids = json.dumps(wanted.ids)
    code = None if status == "all" else positions.STATUSES.index(status)
    rows = tx.all("holders", ids=ids, period=period, status=code, limit=limit, offset=offset)
    total: int = tx.value("count_holders", ids=ids, period=period, status=code)
    return [_holder(row) for row in rows], total


def _holder(row: Row) -> dict[str, Any]:
    previous = row["previous_shares"]
    change = None if previous is None else row["shares"] - previous
    return {
        "cik": f"{row['cik']:010}",
        "name": row["name"],
        "cusip": row["cusip"],
        "shares": row["shares"],
        "value": row["value"],
        "pct_of_portfolio": percent(row["value"], row["whole"]),
        "previous_shares": previous,
        "chg_shares": change,
        "chg_pct": percent(change, previous),
        "status": None if row["status"] == positions.UNKNOWN else positions.STATUSES[row["status"]],
        "accession_number": row["accession"],
        "filed_at": row["filed_at"] or None,
        "value_unit_rule": row["value_unit_rule"],
    }


def trends(tx: Transaction, wanted: Wanted, limit: int) -> list[dict[str, Any]]:
    """A security quarter by quarter over all funds, the newest first."""
    rows = tx.all("trend_of_securities", ids=json.dumps(wanted.ids), limit=limit)
    listed = []
    for row in rows:
        known = row["compared"] > 0
        moved = row["compared_shares"] - row["previous_shares"]
        listed.append(
            {
                "date": row["period"],
                "total_shares": row["shares"],
                "total_value": row["value"],
                "fund_count": row["funds"],
                "fund_count_compared": row["compared"],
                "share_change": moved if known else None,
                "share_change_pct": percent(moved, row["previous_shares"]) if known else None,
                "fund_flow": row["flow"] if known else None,
                "fund_count_change": row["new"] - row["closed"] if known else None,
            }
        )
    return listed


def totals(tx: Transaction, wanted: Wanted, period: str) -> Row | None:
    """The sums of a security's quarter over all funds, None when nobody held it."""
    return next(
        iter(tx.all("security_totals", ids=json.dumps(wanted.ids), period=period)),
        None,
    )


# ---- sectors and industries


@dataclass(slots=True)
class Sum:
    """What securities of one sector or industry sum to in a quarter."""

    sector: str
    industry: str | None
    flow: int = 0
    value: int = 0
    etf_value: int = 0
    securities: int = 0
    positions: int = 0
    compared: int = 0
    funds: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(positions.STATUSES[1:], 0))

    @property
    def known_flow(self) -> int | None:
        """The flow, None when no fund's change is known."""
        return self.flow if self.compared else None

    def add(self, row: Row) -> None:
        """Count a row of securities of one SIC code and group."""
        self.flow += row["flow"]
        self.value += row["value"]
        self.securities += row["securities"]
        self.positions += row["positions"]
        self.compared += row["compared"]
        self.etf_value += row["value"] if row["security_group"] == issuers.ETFS else 0
        for status in self.counts:
            self.counts[status] += row[status]


@dataclass(frozen=True, slots=True)
class Sums:
    """A quarter by sector and by industry; ``whole`` is the value of everything, with a company known or not."""

    sectors: list[Sum]
    industries: list[Sum]
    whole: int


def sums(tx: Transaction, period: str) -> Sums:
    """What the securities of a quarter sum to."""
    found: dict[tuple[str, str | None], Sum] = {}
    whole = 0
    for row in tx.all("fund_sums_by_industry", period=period):
        whole += row["value"]
        sector, industry = securities.industry(row["sic_group"])
        if sector is not None:
            for at in ((sector, industry), (sector, None)):
                found.setdefault(at, Sum(*at)).add(row)
    for by_industry in (True, False):
        labels = {str(group): label for group in range(100) if (label := _label(group, by_industry))}
        for row in tx.all("funds_by_label", period=period, labels=json.dumps(labels)):
            sector, industry = json.loads(row["label"])
            found[sector, industry].funds = row["funds"]
    industries = [one for one in found.values() if one.industry is not None]
    return Sums([one for one in found.values() if one.industry is None], industries, whole)


def _label(group: int, by_industry: bool) -> str | None:
    sector, industry = securities.industry(group)
    return None if sector is None else json.dumps([sector, industry if by_industry else None])


def significance(one: Sum) -> Any:
    """The flow in per cent of what is held; None when it is not known."""
    return percent(one.known_flow, one.value)


def momentum(one: Sum) -> str | None:
    """One of the ``MOMENTA``, by the flow in per cent; None when not known."""
    part = significance(one)
    if part is None:
        return None
    if part == 0:
        return "neutral"
    word = "inflow" if part > 0 else "outflow"
    return f"strong_{word}" if abs(part) >= STRONG else word


def confidence(one: Sum) -> str:
    """high, or low when fewer than three funds hold anything of it or none can be compared."""
    return "low" if one.funds < FEW_FUNDS or not one.compared else "high"


def movers(
    tx: Transaction, period: str, limit: int
) -> dict[tuple[str, str | None, int], list[dict[str, Any]]]:
    """By sector, industry and direction (1 in, -1 out) the securities that moved most."""
    found: dict[tuple[str, str | None, int], list[dict[str, Any]]] = {}
    for row in tx.all("movers_of_quarter", period=period, limit=limit):
        one = _security(row)
        found.setdefault((one["sector"], one["industry"], 1 if row["flow"] > 0 else -1), []).append(one)
    return found


def sector_named(text: str) -> str | None:
    """The name of the sector that a text means; INVALID_PARAM for none."""
    name: str | None = sectors.sector_of(sectors.division(text))
    return name


def ordered(found: Iterable[Sum], sort: str, *, descending: bool = True) -> list[Sum]:
    """Sums by ``fund_flow``, ``total_value`` or ``fund_count``; what is not known comes last."""
    sign = -1 if descending else 1

    def place(one: Sum) -> tuple[bool, int, str, str]:
        number = {"fund_flow": one.known_flow, "total_value": one.value, "fund_count": one.funds}[sort]
        return number is None, sign * (number or 0), one.sector, one.industry or ""

    return sorted(found, key=place)
