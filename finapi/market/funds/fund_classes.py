"""Share classes of funds and their tickers, from the headers of submissions and from company_tickers_mf.json.

The header of every submission about a fund lists its series and their share classes, most of them with a ticker. The
newest submission that lists a class decides about its row.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import build_record
from finapi.edgar import tickers
from finapi.edgar.sgml import SubmissionHeader
from finapi.market.reference import companies
from finapi.store.db import Transaction


class FundClass(TypedDict):
    """A share class of a series."""

    class_id: str
    series_id: str
    series_name: str | None
    cik: int
    name: str | None
    ticker: str | None


FundSource = Literal["submission_header", "company_ticker"]


class FundMatch(NamedTuple):
    """A fund that a ticker stands for: a share class of a series, or a registrant without series.

    ``fund_id`` is the series id, or the CIK with ten digits.
    """

    fund_id: str
    class_id: str | None
    series_id: str | None
    cik: int
    source: FundSource


class ReportingFund(NamedTuple):
    """A fund with stored reports. ``cik`` and ``name`` are those in its latest report."""

    fund_id: str
    cik: int
    name: str


def upsert_header_series(tx: Transaction, header: SubmissionHeader, now: datetime) -> bool:
    """Store the share classes that a header lists. Return True if anything changed."""
    rows = [
        (
            fund_class.class_id,
            series.series_id,
            series.name,
            int(series.owner_cik),
            fund_class.name,
            _normalise_ticker(fund_class.ticker),
            header.filed,
        )
        for series in header.series
        for fund_class in series.classes
    ]
    return tx.insert_rows("upsert_fund_classes", rows) > 0


def upsert_listed_classes(tx: Transaction, rows: Iterable[tickers.TickerRow]) -> bool:
    """Store the share classes of the SEC's list of fund tickers. Return True if anything changed.

    The list has neither names nor a day, so the header of any submission replaces its rows.
    """
    classes = [
        (row.class_id, row.series_id, None, int(row.cik), None, row.ticker, "")
        for row in rows
        if row.class_id is not None and row.series_id is not None
    ]
    return tx.insert_rows("upsert_fund_classes", classes) > 0


def list_classes(tx: Transaction, series_id: str) -> list[FundClass]:
    """Return the known share classes of a series, ordered by their ids."""
    return [build_record(FundClass, row) for row in tx.list_rows("fund_classes_of_series", series_id=series_id)]


def resolve_ticker(tx: Transaction, text: str) -> list[FundMatch]:
    """Return the funds that a ticker stands for. A CIK stands for a registrant without series.

    Raise ApiError UNKNOWN_TICKER if nothing stored has this ticker.
    """
    ticker = _normalise_ticker(text)
    rows = tx.list_rows("fund_classes_of_ticker", ticker=ticker) if ticker is not None else []
    if rows:
        return [
            FundMatch(row["series_id"], row["class_id"], row["series_id"], row["cik"], "submission_header")
            for row in rows
        ]
    company = companies.resolve(tx, text)
    if tx.find_value("has_fund_reports", fund_id=company.padded_cik):
        return [FundMatch(company.padded_cik, None, None, company.cik, "company_ticker")]
    return []


def find_reporting_fund(tx: Transaction, text: str) -> ReportingFund | None:
    """Return the first fund that a ticker or CIK stands for and whose reports are stored, or None."""
    try:
        matches = resolve_ticker(tx, text)
    except ApiError as error:
        if error.code not in ("UNKNOWN_TICKER", "INVALID_PARAM"):
            raise
        return None
    for match in matches:
        row = tx.find_row("reporting_fund", fund_id=match.fund_id)
        if row is not None:
            return ReportingFund(fund_id=row["fund_id"], cik=row["cik"], name=row["name"])
    return None


def _normalise_ticker(text: str | None) -> str | None:
    """Return a ticker in normal form, or None for a text that is not a ticker, such as "N/A"."""
    try:
        ticker = tickers.normalise(text or "")
    except ValueError:
        return None
    return None if ticker in ("N-A", "NA", "NONE") else ticker
