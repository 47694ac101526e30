"""Companies: found by ticker or CIK, in any spelling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from finapi.db import Transaction
from finapi.edgar import submissions, tickers
from finapi.errors import ApiError, invalid_param
from finapi.market import announce

# How far a name or a ticker is to be trusted, by where it is from.
FROM_COVER, FROM_SUBMISSIONS, FROM_LIST = 0, 1, 2
# The list writes names in capitals and without their dots: better than none, worse than a cover page.
FROM_LIST_TITLE = -1


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


def find(tx: Transaction, text: str) -> Company:
    """The company of a ticker or a CIK; UNKNOWN_TICKER (404) when there is none."""
    if text.isascii() and text.isdigit() and len(text) <= 10:
        row = tx.one("company_by_cik", cik=int(text))
    else:
        try:
            ticker = tickers.fold(text)
        except ValueError:
            raise invalid_param("ticker", "That is neither a ticker nor a CIK.", expected="AAPL") from None
        row = tx.one("company_by_ticker", ticker=ticker)
    if row is None:
        raise ApiError("UNKNOWN_TICKER", "No company with this ticker or CIK is known.")
    return Company(row["cik"], row["name"], row["ticker"])


def by_cik(tx: Transaction, cik: int) -> Company:
    """The company of a CIK that is known to be there."""
    row = tx.one("company_by_cik", cik=cik)
    assert row is not None
    return Company(row["cik"], row["name"], row["ticker"])


def put_name(tx: Transaction, cik: int, name: str, rank: int, as_of: str) -> None:
    """Make the company if need be; its name is that of the best source, of that the latest."""
    tx.run("put_company_name", cik=cik, name=name, rank=rank, as_of=as_of)


def put_tickers(tx: Transaction, cik: int, listed: list[tuple[str, str | None]], source: int) -> None:
    """Add tickers (with exchanges) of a company in their order; a worse source changes none of a better."""
    for position, (ticker, exchange) in enumerate(listed):
        tx.run("put_ticker", ticker=ticker, cik=cik, exchange=exchange, source=source, position=position)


def put_submissions(tx: Transaction, company: submissions.CompanySubmissions, now: datetime) -> None:
    """Store a submissions document: the company's attributes, names, tickers and list of filings."""
    cik = int(company.cik)
    as_of = max((filing.filed for filing in company.filings), default="")
    put_name(tx, cik, company.name, FROM_SUBMISSIONS, as_of)
    tx.run(
        "put_company_attributes",
        cik=cik,
        sic=int(company.sic) if company.sic else None,
        fiscal_year_end=company.fiscal_year_end,
        state=company.state,
        entity_type=company.entity_type,
    )
    put_tickers(tx, cik, [(item.ticker, item.exchange) for item in company.listings], FROM_SUBMISSIONS)
    for former in company.former_names:
        tx.run("put_former_name", cik=cik, name=former.name, from_date=former.first, to_date=former.last)
    put_filings(tx, cik, company.filings, now)


def put_filings(tx: Transaction, cik: int, filings: Iterable[submissions.Filing], now: datetime) -> None:
    """Store a company's list of filings; the recent ones that are new are announced, the oldest first."""
    for filing in sorted(filings, key=lambda one: (one.filed, one.accession)):
        tx.run(
            "put_filing",
            accession=filing.accession,
            cik=cik,
            form=filing.form,
            filed_at=filing.filed,
            accepted_at=filing.accepted,
            period=filing.report_date,
            primary_document=filing.primary_document,
            items=",".join(filing.items) or None,
            size=filing.size,
            is_xbrl=filing.is_xbrl,
            is_inline_xbrl=filing.is_inline_xbrl,
        )
        announce.filing(tx, now, accession=filing.accession, listed=True)
