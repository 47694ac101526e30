"""Companies: found by ticker or CIK, in any spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from finapi.db import Transaction
from finapi.edgar import tickers
from finapi.errors import ApiError, invalid_param
from finapi.market import issuers, securities

# How far a name or a ticker is to be trusted, by where it is from.
FROM_COVER, FROM_SUBMISSIONS, FROM_LIST = 0, 1, 2
# The list writes names in capitals and without their dots, headers and indexes as EDGAR conforms them: better
# than none, worse than a cover page.
FROM_LIST_TITLE = FROM_FILING_LIST = -1
_UNNAMED = -2


@dataclass(frozen=True, slots=True)
class Company:
    """A company as the API names it; ``ticker`` is its first, None when none is known."""

    cik: int
    name: str
    ticker: str | None

    @property
    def padded_cik(self) -> str:
        """The CIK in its ten digits."""
        return f"{self.cik:010}"


def find(tx: Transaction, text: str, name: str = "ticker") -> Company:
    """The company of a ticker or a CIK; ``name`` is the parameter that says it.

    UNKNOWN_TICKER (404) when there is none; INVALID_PARAM (400) with the candidates when several companies
    bear the ticker today.
    """
    if text.isascii() and text.isdigit() and len(text) <= 10:
        row = tx.one("company_by_cik", cik=int(text))
        if row is None:
            raise ApiError("UNKNOWN_TICKER", "No company with this ticker or CIK is known.")
        return Company(row["cik"], row["name"], row["ticker"])
    holders = bearers(tx, text, name)
    if not holders:
        raise ApiError("UNKNOWN_TICKER", "No company with this ticker or CIK is known.")
    first = holders[0]
    rivals = [one for one in holders if one.current and one.source == first.source]
    # A cover page tells of its day only: of two, the later one. Lists tell of today.
    if len(rivals) > 1 and first.source > FROM_COVER:
        raise ApiError(
            "INVALID_PARAM",
            "Several companies bear this ticker: ask by CIK.",
            details={
                "param": name,
                "allowed": [f"{one.cik:010}" for one in rivals],
                "candidates": [one.shown() for one in rivals],
            },
        )
    return Company(first.cik, first.name, first.ticker)


@dataclass(frozen=True, slots=True)
class Bearer:
    """A company that bears a ticker, or (``current`` False) bore it; ``as_of`` is the day of the source, or ""."""

    cik: int
    name: str
    ticker: str
    source: int
    as_of: str
    current: bool

    def shown(self) -> dict[str, Any]:
        """As an answer names it."""
        return {
            "cik": f"{self.cik:010}",
            "company_name": self.name,
            "ticker": self.ticker,
            "as_of": self.as_of or None,
            "current": self.current,
        }


def bearers(tx: Transaction, text: str, name: str = "ticker") -> list[Bearer]:
    """The companies of a ticker in any spelling, the best first: those that bear it, then those that bore it."""
    try:
        ticker = tickers.fold(text)
    except ValueError:
        raise invalid_param(name, "That is neither a ticker nor a CIK.", expected="AAPL") from None
    rows = tx.all("holders_of_ticker", ticker=ticker)
    if not rows and "-" not in ticker:
        # BRKB: written without any mark. Two tickers that this could be are none.
        meant = tx.all("ticker_squeezed", ticker=ticker)
        if len(meant) == 1:
            rows = tx.all("holders_of_ticker", ticker=meant[0]["ticker"])
    return [
        Bearer(row["cik"], row["name"], row["ticker"], row["source"], row["last_seen"], bool(row["current"]))
        for row in rows
    ]


def former_names(tx: Transaction, cik: int) -> list[dict[str, Any]]:
    """The names that a company bore before, the last one first."""
    return [
        {"name": row["name"], "from_date": row["from_date"], "to_date": row["to_date"]}
        for row in tx.all("former_names", cik=cik)
    ]


def by_cik(tx: Transaction, cik: int) -> Company:
    """The company of a CIK that is known to be there."""
    row = tx.one("company_by_cik", cik=cik)
    assert row is not None
    return Company(row["cik"], row["name"], row["ticker"])


def put_name(tx: Transaction, cik: int, name: str, rank: int, as_of: str) -> bool:
    """Make the company if need be; its name is that of the best source, of that the latest. Whether it changed."""
    changed = tx.run("put_company_name", cik=cik, name=name, rank=rank, as_of=as_of) > 0
    key = issuers.key(name)
    # A name without a letter that is read here has no key, and would be every such issuer's.
    if key and tx.run("put_company_key", cik=cik, key=key):
        securities.settle_company(tx, cik)
    return changed


def put_unnamed(tx: Transaction, cik: int) -> None:
    """Make the company if need be, called by its number until a document names it."""
    tx.run("put_company_name", cik=cik, name=f"CIK {cik:010}", rank=_UNNAMED, as_of="")


def put_tickers(
    tx: Transaction, cik: int, listed: list[tuple[str, str | None]], source: int, as_of: str = ""
) -> bool:
    """Add tickers (with exchanges) of a company in their order, as they were on a day; whether any changed.

    A worse source changes none of a better; of equal sources the later one says where a ticker stands.
    """
    changed = 0
    for position, (ticker, exchange) in enumerate(listed):
        changed += tx.run(
            "put_ticker",
            ticker=ticker,
            cik=cik,
            exchange=exchange,
            source=source,
            position=position,
            as_of=as_of,
        )
    if changed:
        securities.settle_company(tx, cik)
    return changed > 0


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is known of a company beside its names; ``sic`` as a number, ``fiscal_year_end`` MMDD."""

    sic: int | None = None
    fiscal_year_end: str | None = None
    state: str | None = None
    entity_type: str | None = None


def put_attributes(tx: Transaction, cik: int, told: Attributes, rank: int, as_of: str) -> bool:
    """Store what the best and latest source says of a company; whether it changed."""
    return (
        tx.run(
            "put_company_attributes",
            cik=cik,
            sic=told.sic,
            fiscal_year_end=told.fiscal_year_end,
            state=told.state,
            entity_type=told.entity_type,
            rank=rank,
            as_of=as_of,
        )
        > 0
    )


def put_former_name(tx: Transaction, cik: int, name: str, first: str | None, last: str | None) -> bool:
    """Store a name that a company bore before, with the days of its first and last filing; whether it is new."""
    return tx.run("put_former_name", cik=cik, name=name, from_date=first, to_date=last) > 0
