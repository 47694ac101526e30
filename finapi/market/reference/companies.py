"""Companies and people that file with the SEC: their names, tickers and attributes.

Names, tickers and attributes come from several sources: the cover page of a filing, the SEC's submissions files, its
list of tickers, and lists and headers of filings. A row stores the rank of its source and the day that the source is
from. A better source replaces a worse one, and a later day replaces an earlier one of the same source, in whatever
order the sources are loaded.

A ticker may have several companies over time. Its *current* companies are those whose latest source still gives it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from finapi.core import suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date, build_record
from finapi.edgar import tickers
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.reference import issuer_names, securities
from finapi.store.db import Row, Transaction

# The rank of a source of names and tickers; the highest wins.
FROM_COVER = 0
FROM_SUBMISSIONS = 1
FROM_LIST = 2
# The SEC's list of tickers has names in capitals and without full stops, and lists of filings have EDGAR's conformed
# names. Both are better than no name and worse than a cover page.
FROM_LIST_TITLE = FROM_FILING_LIST = -1
_UNNAMED = -2

MAX_CIK_DIGITS = 10


class Company(NamedTuple):
    """A company as the API names it; ``ticker`` is its first ticker, or None."""

    cik: int
    name: str
    ticker: str | None

    @property
    def padded_cik(self) -> str:
        """The CIK in its ten digits."""
        return f"{self.cik:010}"


# ---- Finding a company


def resolve(tx: Transaction, text: str, param_name: str = "ticker") -> Company:
    """Return the company of a ticker, in any spelling, or of a CIK.

    Raise ApiError UNKNOWN_TICKER (404) if there is none, and INVALID_PARAM (400) with the candidates if several
    companies have the ticker today. ``param_name`` is the request parameter that the text is from.
    """
    if text.isascii() and text.isdigit() and len(text) <= MAX_CIK_DIGITS:
        rows = tx.list_rows("company_by_cik", cik=int(text))
    else:
        rows = _list_ticker_rows(tx, text, param_name)
        _check_one_holder(rows, param_name)
    if not rows:
        raise _build_unknown_ticker_error(tx, text)
    return Company(int(rows[0]["cik"]), rows[0]["company_name"], rows[0]["ticker"])


def is_known(tx: Transaction, text: str) -> bool:
    """Return False if no company, security or fund has a CIK or a ticker in normal form, and it has no prices.

    :func:`resolve` may still refuse a text for which this is True.
    """
    if text.isdigit():
        return bool(tx.find_value("is_known_cik", cik=int(text)))
    return bool(tx.find_value("is_known_ticker", ticker=text))


def _check_one_holder(rows: Sequence[Row], param_name: str) -> None:
    """Raise ApiError INVALID_PARAM if the best source gives a ticker to several companies today.

    Cover pages never conflict: each is valid only for its day, so the company of the latest one has the ticker. Lists
    are valid today.
    """
    holders = [build_record(TickerHolder, row) for row in rows if row["current"] and row["source"] == rows[0]["source"]]
    if len(holders) > 1 and rows[0]["source"] > FROM_COVER:
        details = {"param": param_name, "allowed": [holder["cik"] for holder in holders], "candidates": holders}
        raise ApiError("INVALID_PARAM", "Several companies have this ticker; use the CIK.", details=details)


def _build_unknown_ticker_error(tx: Transaction, text: str) -> ApiError:
    """Return the 404 for an unknown ticker or CIK, with the tickers that may have been meant."""
    word = tickers.normalise_prefix(text)[: suggestions.MAX_WORD_LENGTH]
    similar_tickers: list[str] = []
    if not word.isdigit():
        key = issuer_names.build_stem(text)
        typos = json.dumps(suggestions.list_typos(word))
        rows = tx.list_rows("similar_tickers", key=key, end=key + "\uffff", typos=typos)
        similar_tickers = [row["ticker"] for row in rows]
    message = f"No company with the ticker or CIK {word} is known{suggestions.did_you_mean(similar_tickers)}"
    return ApiError("UNKNOWN_TICKER", message, details={"given": word, "nearest": similar_tickers})


class TickerHolder(TypedDict):
    """A company that has a ticker, or had it (not ``current``), as of the day of the source."""

    cik: str
    company_name: str
    ticker: str
    as_of: Date | None
    current: bool


class FormerName(TypedDict):
    """A former name of a company, with the days of its first and last filing under it."""

    name: str
    from_date: Date | None
    to_date: Date | None


def list_ticker_holders(tx: Transaction, text: str) -> list[TickerHolder]:
    """Return the companies of a ticker in any spelling: those that have it, then those that had it."""
    return [build_record(TickerHolder, row) for row in _list_ticker_rows(tx, text, "ticker")]


def _list_ticker_rows(tx: Transaction, text: str, param_name: str) -> list[Row]:
    """Return the rows of ``ticker_holders``. Raise ApiError INVALID_PARAM if the text cannot be a ticker."""
    try:
        ticker = tickers.normalise(text)
    except ValueError:
        raise invalid_param(param_name, f"{param_name} must be a ticker or a CIK.", expected="AAPL") from None
    rows = tx.list_rows("ticker_holders", ticker=ticker)
    if not rows and "-" not in ticker:
        # BRKB stands for BRK-B, unless two tickers would be meant.
        hyphenated = tx.list_rows("tickers_without_hyphens", ticker=ticker)
        if len(hyphenated) == 1:
            rows = tx.list_rows("ticker_holders", ticker=hyphenated[0]["ticker"])
    return rows


def get_by_cik(tx: Transaction, cik: int) -> Company:
    """Return the company of a CIK. Raise ValueError if it is not stored."""
    (row,) = tx.list_rows("company_by_cik", cik=cik)
    return Company(row["cik"], row["company_name"], row["ticker"])


def list_former_names(tx: Transaction, cik: int) -> list[FormerName]:
    """Return the former names of a company, the latest first."""
    return [build_record(FormerName, row) for row in tx.list_rows("former_names", cik=cik)]


# ---- Names and tickers


def upsert_name(tx: Transaction, cik: int, name: str, rank: int, as_of: str) -> bool:
    """Store a company's name unless a better or later source gave another. Return True if the name changed.

    ``as_of`` is the day of the source, "" if unknown.
    """
    changed = tx.run("upsert_company_name", cik=cik, name=name, rank=rank, as_of=as_of) > 0
    _upsert_key(tx, cik, name, former=False)
    return changed


def insert_unnamed(tx: Transaction, cik: int) -> None:
    """Store a company under its CIK until a document names it."""
    tx.run("upsert_company_name", cik=cik, name=f"CIK {cik:010}", rank=_UNNAMED, as_of="")


def insert_former_name(tx: Transaction, cik: int, name: str, first: str | None, last: str | None) -> bool:
    """Store a former name with the days of its first and last filing. Return True if it is new."""
    _upsert_key(tx, cik, name, former=True)
    return tx.run("insert_former_name", cik=cik, name=name, from_date=first, to_date=last) > 0


def _upsert_key(tx: Transaction, cik: int, name: str, *, former: bool) -> None:
    """Store the key of a name, by which 13F tables find the company, and recompute the securities it may have."""
    key = issuer_names.build_key(name)
    # The key of a name without Latin letters is empty and would match every such issuer.
    if key and tx.run("upsert_company_key", cik=cik, key=key, former=former):
        securities.recompute_company_securities(tx, cik, key)


def upsert_tickers(
    tx: Transaction, cik: int, tickers_with_exchanges: list[tuple[str, str | None]], source: int, as_of: str = ""
) -> bool:
    """Store tickers (with their exchanges) of a company in their order. Return True if any row changed.

    A worse source does not change the rows of a better one. Of two sources of the same rank the later one decides
    about the order.
    """
    changed_count = 0
    for position, (ticker, exchange) in enumerate(tickers_with_exchanges):
        changed_count += tx.run(
            "upsert_ticker", ticker=ticker, cik=cik, exchange=exchange, source=source, position=position, as_of=as_of
        )
    if changed_count:
        securities.recompute_company_securities(tx, cik)
    return changed_count > 0


# ---- Attributes


def get_attributes(tx: Transaction, cik: int) -> CompanyAttributes:
    """Return the attributes of a company by its best source; all are None for an unknown company."""
    stored = json.loads(tx.find_value("company_attributes", cik=cik) or "{}")
    return CompanyAttributes(**{name: stored.get(name) for name in CompanyAttributes._fields})


def update_attributes(tx: Transaction, cik: int, attributes: CompanyAttributes, rank: int, as_of: str) -> bool:
    """Store attributes unless a better or later source gave others. Return True if they changed."""
    members = attributes._asdict()
    text = json.dumps({name: value for name, value in members.items() if value is not None}, ensure_ascii=False)
    return tx.run("update_company_attributes", members, cik=cik, attributes=text, rank=rank, as_of=as_of) > 0


def find_exchange(tx: Transaction, cik: int) -> str | None:
    """Return the exchange on which a company's first ticker is listed, or None if it is unknown."""
    exchange: str | None = tx.find_value("company_exchange", cik=cik)
    return exchange
