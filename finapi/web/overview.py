"""A company at a glance, over HTTP."""

from __future__ import annotations

from finapi.errors import ApiError
from finapi.market import companies, overview, prices, sectors
from finapi.market.book import iso
from finapi.market.cells import Figure, Hole
from finapi.market.series import number
from finapi.web import series
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import DATE, INTEGER, NUMBER, TEXT, enum, envelope, made_of, mapping, nullable, obj

PARAMS = (Param("ticker", place="path", required=True, help="Ticker (any spelling) or CIK.", example="AAPL"),)
_FIGURES = (*overview.KEYS, "total_cash", *overview.NOT_FILED)
_DATA = made_of(
    {
        "ticker": nullable(TEXT),
        "cik": TEXT,
        "name": TEXT,
        "sector": nullable(TEXT),
        "industry": nullable(TEXT),
        **{member: nullable(DATE if member.endswith("_date") else NUMBER) for member in _FIGURES},
        "currency": TEXT,
        "holes": mapping(obj(status=enum("hole", "nm"), reason_code=TEXT)),
        "sources": mapping(TEXT),
    }
)
SHAPE = envelope(
    _DATA,
    obj(
        period=enum("A", "TTM"),
        fiscal_year=INTEGER,
        fiscal_period=TEXT,
        period_end=DATE,
        price_date=nullable(DATE),
        price_source=nullable(enum("csv", "synthetic")),
    ),
)


def of_ticker(call: Call) -> Response:
    """The figures of a company's newest twelve months, each with its filing, or null with the reason."""
    with call.app.db.read() as tx:
        company = companies.find(tx, call.params["ticker"])
        held = series.book_of(call, tx, company)
        row = overview.newest(held, series.price_of(tx, company))
        if row is None:
            raise ApiError("NOT_COVERED", f"No year of {company.name} is held whole.")
        cells = overview.cells(row)
        close = prices.close_on(tx, company.ticker, iso(row.period.end)) if company.ticker else None
        sector, industry = sectors.of(tx.value("company_sic", cik=company.cik))
    data = {
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "name": company.name,
        "sector": sector,
        "industry": industry,
        **{key: number(one.value) if isinstance(one, Figure) else None for key, one in cells.items()},
        "currency": held.book.currency,
        "holes": {
            key: {"status": one.status, "reason_code": one.reason}
            for key, one in cells.items()
            if isinstance(one, Hole)
        },
        "sources": {
            key: held.book.filings[one.place].accession
            for key, one in cells.items()
            if isinstance(one, Figure)
        },
    }
    meta = {
        "period": row.series.kind,
        "fiscal_year": row.period.fiscal_year,
        "fiscal_period": row.period.fiscal_period,
        "period_end": iso(row.period.end),
        "price_date": close and close.date,
        "price_source": close and close.source,
    }
    return call.success(data, meta)
