"""Statements as filed, over HTTP (CONTRACT 6)."""

from __future__ import annotations

from typing import Any

from finapi.clock import iso
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, statements
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    DECIMALS,
    INTEGER,
    TEXT,
    TIME,
    array,
    const,
    enum,
    envelope,
    made_of,
    mapping,
    nullable,
    obj,
)

_STATEMENT = Param(
    "statement",
    allowed=statements.KINDS,
    repeatable=True,
    help="Only these statements; may be given several times.",
    example="income",
)
_CONSOLIDATED = Param(
    "consolidated_only",
    "boolean",
    default=True,
    help="true: columns and rows without dimensions. false: the dimensioned columns follow.",
    example="true",
)
COMPANY_PARAMS = (
    Param("ticker", place="path", required=True, help="Ticker (any spelling) or CIK.", example="AAPL"),
    Param(
        "period",
        default="A",
        allowed=("A", "Q"),
        help="A: the 10-K, 20-F and 40-F family. Q: the 10-Q family.",
        example="Q",
    ),
    Param("form_type", help="Only this form.", example="10-Q"),
    Param(
        "year", "integer", least=1900, most=2200, help="Fiscal year as the company names it.", example="2025"
    ),
    Param("as_of", "date", help="Only what was filed up to this day.", example="2025-12-31"),
    Param(
        "basis",
        default="latest",
        allowed=("latest", "original"),
        help="Of several filings for one period: the last filed or the first.",
        example="latest",
    ),
    _STATEMENT,
    _CONSOLIDATED,
)
FILING_PARAMS = (
    Param(
        "accession",
        place="path",
        required=True,
        help="With or without dashes.",
        example="0000320193-25-000057",
    ),
    _STATEMENT,
    _CONSOLIDATED,
)

_COLUMN = obj(
    context_seq=INTEGER,
    period_type=enum("D", "I"),
    start_date=nullable(DATE),
    end_date=DATE,
    dims=nullable(mapping(TEXT)),
)
_ROW = obj(
    concept=TEXT,
    label=nullable(TEXT),
    depth=INTEGER,
    balance=nullable(enum("debit", "credit")),
    preferred_label=nullable(TEXT),
    negated=BOOLEAN,
    abstract=BOOLEAN,
    unit=nullable(TEXT),
    decimals=DECIMALS,
    values=array(nullable(TEXT)),
    marks=array(nullable(obj(status=enum("absent", "nil"), reason=TEXT))),
)
_STATEMENT_SHAPE = obj(
    slot=TEXT,
    role_uri=nullable(TEXT),
    definition=nullable(TEXT),
    columns=array(_COLUMN),
    rows=array(_ROW),
)
_META = {
    "resolved_accession": TEXT,
    "accession": TEXT,
    "period_of_report": DATE,
    "form_type": TEXT,
    "filed_at": nullable(DATE),
    "fiscal_year": nullable(INTEGER),
    "fiscal_period": nullable(TEXT),
    "cik": TEXT,
    "ticker": nullable(TEXT),
    "company_name": TEXT,
    "covered": BOOLEAN,
    "source": TEXT,
    "view": enum("consolidated", "all"),
    "engine_version": INTEGER,
    "generated_at": TIME,
    "statement_count": INTEGER,
    "absent": array(obj(statement=TEXT, status=const("absent"), reason=TEXT)),
}
SHAPE = envelope(
    obj(
        kind=const("as_filed"),
        ticker=nullable(TEXT),
        cik=TEXT,
        company_name=TEXT,
        statements=mapping(_STATEMENT_SHAPE),
    ),
    made_of(_META),
)


def of_company(call: Call) -> Response:
    """The statements of the report that the parameters select."""
    params = call.params
    with call.app.db.read() as tx:
        company = companies.find(tx, params["ticker"])
        report = statements.find_report(
            tx,
            company.cik,
            period=params["period"],
            form=params["form_type"],
            year=params["year"],
            as_of=params["as_of"],
            basis=params["basis"],
        )
        if report is None:
            raise ApiError(
                "NOT_COVERED",
                f"No {_wanted(params)} of {company.name} is held.",
                details={
                    "cik": company.padded_cik,
                    "covered_periods": statements.periods_held(tx, company.cik),
                },
            )
        return _answer(call, company, report, tx)


def of_filing(call: Call) -> Response:
    """The statements of one filing by its accession number."""
    accession = statements.accession(call.params["accession"])
    if accession is None:
        raise invalid_param("accession", "That is not an accession number.", expected="0000320193-25-000057")
    with call.app.db.read() as tx:
        report = statements.report_of_filing(tx, accession)
        if report is None:
            raise ApiError("NOT_FOUND", f"No XBRL documents of filing {accession} are held.")
        return _answer(call, companies.by_cik(tx, report.cik), report, tx)


def _answer(call: Call, company: companies.Company, report: statements.Report, tx: Any) -> Response:
    wanted = call.params["statement"]
    held, absent = statements.of_report(
        tx, report, wanted, consolidated_only=call.params["consolidated_only"]
    )
    data = {
        "kind": "as_filed",
        "ticker": company.ticker,
        "cik": company.padded_cik,
        "company_name": company.name,
        "statements": held,
    }
    meta = {
        "resolved_accession": report.accession,
        "accession": report.accession,
        "period_of_report": report.period_of_report,
        "form_type": report.form,
        "filed_at": report.filed_at,
        "fiscal_year": report.fiscal_year,
        "fiscal_period": report.fiscal_period,
        "cik": company.padded_cik,
        "ticker": company.ticker,
        "company_name": company.name,
        "covered": True,
        "source": report.source,
        "view": "consolidated" if call.params["consolidated_only"] else "all",
        "engine_version": statements.ENGINE_VERSION,
        "generated_at": iso(call.now),
        "statement_count": len(held),
        "absent": absent,
    }
    return call.success(data, meta)


def _wanted(params: Any) -> str:
    name = {"A": "annual report", "Q": "quarterly report"}[params["period"]]
    if params["form_type"]:
        name += f" on form {params['form_type']}"
    if params["year"] is not None:
        name += f" for fiscal year {params['year']}"
    if params["as_of"]:
        name += f" filed by {params['as_of']}"
    return name
