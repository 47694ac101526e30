"""Companies: found by ticker or CIK, in any spelling."""

from __future__ import annotations

import json
from typing import NamedTuple, TypedDict

from finapi.core import suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, build_record
from finapi.edgar import tickers
from finapi.market.reference import issuer_names, securities
from finapi.store.db import Row, Transaction

# How far a name or a ticker is to be trusted, by where it is from.
FROM_COVER, FROM_SUBMISSIONS, FROM_LIST = 0, 1, 2
# The list writes names in capitals and without their dots, headers and indexes as EDGAR conforms them: better
# than none, worse than a cover page.
FROM_LIST_TITLE = FROM_FILING_LIST = -1
_UNNAMED = -2


class Company(NamedTuple):
    """A company as the API names it; ``ticker`` is its first one, None when none is known."""

    cik: int
    name: str
    ticker: str | None

    @property
    def padded_cik(self) -> str:
        """The CIK in its ten digits."""
        return f"{self.cik:010}"


def resolve(tx: Transaction, text: str, name: str = "ticker") -> Company:
    """The company of a ticker or a CIK; ``name`` is the parameter that gives it.

    UNKNOWN_TICKER (404) when there is none; INVALID_PARAM (400) with the candidates when several companies have the
    ticker today.
    """
    if text.isascii() and text.isdigit() and len(text) <= 10:
        rows = tx.list_rows("company_by_cik", cik=int(text))
    else:
        rows = _holders(tx, text, name)
        # A cover page tells of its day only: of two, the later one. Lists tell of today.
        rivals = [
            build_record(TickerHolder, row) for row in rows if row["current"] and row["source"] == rows[0]["source"]
        ]
        if len(rivals) > 1 and rows[0]["source"] > FROM_COVER:
            details = {"param": name, "allowed": [one["cik"] for one in rivals], "candidates": rivals}
            raise ApiError("INVALID_PARAM", "Several companies have this ticker; ask by CIK.", details=details)
    if not rows:
        raise _unknown(tx, text)
    return Company(int(rows[0]["cik"]), rows[0]["company_name"], rows[0]["ticker"])


def _unknown(tx: Transaction, text: str) -> ApiError:
    """The 404 of a ticker or CIK of no company, with the tickers that may have been meant."""
    word = tickers.normalise_prefix(text)[: suggestions.MAX_WORD_LENGTH]
    near: list[str] = []
    if not word.isdigit():
        key = issuer_names.build_stem(text)
        values = {"key": key, "end": key + "\uffff", "slips": json.dumps(suggestions.list_typos(word))}
        near = [row["ticker"] for row in tx.list_rows("tickers_near", values)]
    message = f"No company with the ticker or CIK {word} is known{suggestions.did_you_mean(near)}"
    return ApiError("UNKNOWN_TICKER", message, details={"given": word, "nearest": near})


class TickerHolder(TypedDict):
    """A company that has, or (not ``current``) had a ticker, as of a day."""

    cik: str
    company_name: str
    ticker: str
    as_of: Date | None
    current: bool


class FormerName(TypedDict):
    """A name that a company had before."""

    name: str
    from_date: Date | None
    to_date: Date | None


def list_ticker_holders(tx: Transaction, text: str) -> list[TickerHolder]:
    """The companies of a ticker in any spelling, the best first: those that have it, then those that had it."""
    return [build_record(TickerHolder, row) for row in _holders(tx, text, "ticker")]


def _holders(tx: Transaction, text: str, name: str) -> list[Row]:
    try:
        ticker = tickers.normalise(text)
    except ValueError:
        raise invalid_param(name, f"{name} must be a ticker or a CIK.", expected="AAPL") from None
    rows = tx.list_rows("holders_of_ticker", ticker=ticker)
    if not rows and "-" not in ticker:
        # BRKB: written without any mark. If it could be two tickers, it is neither.
        meant = tx.list_rows("ticker_squeezed", ticker=ticker)
        if len(meant) == 1:
            rows = tx.list_rows("holders_of_ticker", ticker=meant[0]["ticker"])
    return rows


def list_former_names(tx: Transaction, cik: int) -> list[FormerName]:
    """The former names of a company, the last one first."""
    return [build_record(FormerName, row) for row in tx.list_rows("former_names", cik=cik)]


def get_by_cik(tx: Transaction, cik: int) -> Company:
    """The company of a CIK that is known to be there."""
    (row,) = tx.list_rows("company_by_cik", cik=cik)
    return Company(row["cik"], row["company_name"], row["ticker"])


def upsert_name(tx: Transaction, cik: int, name: str, rank: int, as_of: str) -> bool:
    """Store a company's name, unless a better or later source gave another; whether it changed."""
    changed = tx.run("put_company_name", cik=cik, name=name, rank=rank, as_of=as_of) > 0
    _put_key(tx, cik, name, former=False)
    return changed


def _put_key(tx: Transaction, cik: int, name: str, *, former: bool) -> None:
    key = issuer_names.build_key(name)
    # A name without a letter that is read here has no key, and would be every such issuer's.
    if key and tx.run("put_company_key", cik=cik, key=key, former=former):
        securities.recompute_company_securities(tx, cik, key)


def insert_unnamed(tx: Transaction, cik: int) -> None:
    """Store a company under its number until a document names it."""
    tx.run("put_company_name", cik=cik, name=f"CIK {cik:010}", rank=_UNNAMED, as_of="")


def upsert_tickers(
    tx: Transaction, cik: int, listed: list[tuple[str, str | None]], source: int, as_of: str = ""
) -> bool:
    """Add tickers (with exchanges) of a company in their order, as they were on a day; whether any changed.

    A worse source changes none of a better; of equal sources the later one says where a ticker stands.
    """
    changed = 0
    for position, (ticker, exchange) in enumerate(listed):
        changed += tx.run(
            "put_ticker", ticker=ticker, cik=cik, exchange=exchange, source=source, position=position, as_of=as_of
        )
    if changed:
        securities.recompute_company_securities(tx, cik)
    return changed > 0


class FiledAttributes(NamedTuple):
    """What is known about a company besides its names; ``sic`` as a number, ``fiscal_year_end`` MMDD."""

    sic: int | None = None
    fiscal_year_end: str | None = None
    state: str | None = None
    entity_type: str | None = None


class CompanyAttributes(NamedTuple):
    """What is known about a company besides its names, and the exchange that its first ticker is listed on."""

    sic: int | None
    fiscal_year_end: str | None
    exchange: str | None


def get_attributes(tx: Transaction, cik: int) -> CompanyAttributes:
    """What the best source says about a company."""
    row = tx.find_row("company_attributes", cik=cik)
    return CompanyAttributes(None, None, None) if row is None else CompanyAttributes(*row)


def update_attributes(tx: Transaction, cik: int, told: FiledAttributes, rank: int, as_of: str) -> bool:
    """Store what the best and latest source says about a company; whether it changed."""
    return tx.run("put_company_attributes", told._asdict(), cik=cik, rank=rank, as_of=as_of) > 0


def insert_former_name(tx: Transaction, cik: int, name: str, first: str | None, last: str | None) -> bool:
    """Store a former name of a company, with the days of its first and last filing; whether it is new."""
    _put_key(tx, cik, name, former=True)
    return tx.run("put_former_name", cik=cik, name=name, from_date=first, to_date=last) > 0
