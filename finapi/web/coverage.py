"""What is held, over HTTP: the sections of a filing, the coverage of a company, and companies by name."""

from __future__ import annotations

from typing import Any

from finapi import heartbeats
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, lookups, statements
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, TEXT, TIME, array, enum, envelope, nullable, obj

INDEX_PARAMS = (
    Param(
        "accession",
        place="path",
        required=True,
        help="With or without dashes.",
        example="0000320193-25-000057",
    ),
)
INDEX_SHAPE = envelope(
    obj(
        accession_no=TEXT,
        cik=TEXT,
        form_type=TEXT,
        period_of_report=DATE,
        filed_at=nullable(DATE),
        is_current=BOOLEAN,
        packaging=enum("xbrl", "fsds"),
        is_inline_xbrl=nullable(BOOLEAN),
        reports=array(
            obj(
                role_seq=INTEGER,
                role_uri=nullable(TEXT),
                definition=nullable(TEXT),
                group_type=nullable(TEXT),
                menu_category=nullable(TEXT),
                statement_slot=nullable(TEXT),
                r_file=nullable(TEXT),
            )
        ),
        assembled_statements=array(
            obj(slot=TEXT, role_uri=nullable(TEXT), definition=nullable(TEXT), statement=TEXT)
        ),
    ),
    obj(report_count=INTEGER, assembled_count=INTEGER),
)

COVERAGE_PARAMS = (
    Param("ticker", help="Ticker (any spelling) or CIK; without it, of all companies.", example="AAPL"),
)
COVERAGE_SHAPE = envelope(
    obj(
        ticker=nullable(TEXT),
        company_name=nullable(TEXT),
        covered=BOOLEAN,
        phase=enum("figures", "listed"),
        cik=nullable(TEXT),
        stratum=nullable(enum("xbrl", "companyfacts", "fsds")),
        filings_indexed=INTEGER,
        filings_total=INTEGER,
        first_period=nullable(DATE),
        last_period=nullable(DATE),
    ),
    obj(companies=INTEGER),
)

SEARCH_PARAMS = (
    Param("q", required=True, help="A ticker, a CIK, or a part of a name.", example="apple"),
    Param(
        "limit", "integer", default=10, least=1, most=100, clamp=True, help="Companies at most.", example="10"
    ),
)
SEARCH_SHAPE = envelope(
    array(obj(cik=TEXT, ticker=nullable(TEXT), company=TEXT)), obj(count=INTEGER, query=TEXT)
)


HELD_SHAPE = envelope(
    obj(
        counts=obj(
            companies=INTEGER,
            filings=INTEGER,
            facts=INTEGER,
            insider_transactions=INTEGER,
            holdings=INTEGER,
            prices=INTEGER,
        ),
        last_filing_at=nullable(TIME),
        last_xbrl_run_at=nullable(TIME),
        data_version=INTEGER,
    ),
    obj(),
)


def held(call: Call) -> Response:
    """How much is held by kind, and when the last of it came in."""
    with call.app.db.read() as tx:
        times = heartbeats.freshness(tx)
        counts = dict(call.app.held.get(tx.value("data_version"), lambda: lookups.held(tx)))
    return call.success(
        {
            "data_version": counts.pop("data_version"),
            "counts": counts,
            "last_filing_at": times["filing"],
            "last_xbrl_run_at": times["xbrl_run"],
        },
        {},
    )


def of_filing(call: Call) -> Response:
    """The sections of a filing's XBRL, and which of them are statements that can be asked for."""
    accession = statements.accession(call.params["accession"])
    if accession is None:
        raise invalid_param("accession", "That is not an accession number.", expected="0000320193-25-000057")
    with call.app.db.read() as tx:
        report = statements.report_of_filing(tx, accession)
        if report is None:
            raise ApiError("NOT_FOUND", f"No XBRL documents of filing {accession} are held.")
        index = lookups.index(tx, report)
    data: dict[str, Any] = {
        "accession_no": report.accession,
        "cik": f"{report.cik:010}",
        "form_type": report.form,
        "period_of_report": report.period_of_report,
        "filed_at": report.filed_at,
        **index,
    }
    meta = {"report_count": len(index["reports"]), "assembled_count": len(index["assembled_statements"])}
    return call.success(data, meta)


def of_company(call: Call) -> Response:
    """How much of a company is held: filings with figures, and from when to when."""
    named: dict[str, Any] = {"ticker": None, "cik": None, "company_name": None}
    with call.app.db.read() as tx:
        if call.params["ticker"] is None:
            held, count = lookups.coverage_of_all(tx)
        else:
            company = companies.find(tx, call.params["ticker"])
            held, count = lookups.coverage(tx, company.cik), 1
            named = {"ticker": company.ticker, "cik": company.padded_cik, "company_name": company.name}
    return call.success({**named, **held}, {"companies": count})


def search(call: Call) -> Response:
    """Companies by ticker, name or CIK, the likeliest first."""
    text = call.params["q"]
    with call.app.db.read() as tx:
        found = lookups.search(tx, text, call.params["limit"])
    return call.rows(found, {"count": len(found), "query": text})
