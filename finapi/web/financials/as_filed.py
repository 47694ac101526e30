"""Handlers for statements as filed (DECISIONS 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict

from finapi.core.clock import iso
from finapi.core.errors import ApiError
from finapi.core.records import Date, Time, build_record
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.market.statements import filed_statements, statement_kinds
from finapi.market.statements.filed_statements import AbsentStatement, FiledReport, FiledStatement
from finapi.store.db import Transaction
from finapi.web.financials.company_params import AS_OF, BASIS, build_company_names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION, TICKER, Param
from finapi.web.http.schema import Envelope

_SELECTION_PARAMS = (
    Param(
        "statement",
        "words",
        default=(),
        allowed=statement_kinds.KINDS,
        aliases=statement_kinds.KIND_ALIASES,
        example="income",
        help="Only these statements, by kind or slot.",
    ),
    Param(
        "consolidated_only",
        "boolean",
        default=True,
        help="true: only columns and rows without dimensions. false: columns with dimensions follow.",
        example="true",
    ),
)
COMPANY_PARAMS = (
    TICKER,
    Param(
        "period",
        default="A",
        allowed=("A", "Q"),
        help="A: the 10-K, 20-F and 40-F family. Q: the 10-Q family.",
        example="Q",
    ),
    Param("form_type", help="Only this form.", example="10-Q"),
    Param("year", "integer", minimum=1900, maximum=2200, help="Fiscal year as the company names it.", example="2025"),
    AS_OF,
    replace(
        BASIS, help="If several filings have a statement for a period: latest is the last filing, original the first."
    ),
    *_SELECTION_PARAMS,
)
FILING_PARAMS = (ACCESSION, *_SELECTION_PARAMS)


MAX_NAMED_REPORTS = 3  # Stored reports that the message about a missing one names.


class StatementsData(TypedDict):
    """The statements of a report by kind."""

    kind: Literal["as_filed"]
    ticker: str | None
    cik: str
    company_name: str
    statements: dict[str, FiledStatement]


class StatementsMeta(TypedDict):
    """The report, and the statements that it does not have.

    If an amendment replaced some of the statements, this is the report that counts most (the last one, or the first one
    with ``basis=original``) among those with a statement in the answer; each statement names its own filing.
    ``covered`` is always true. ``entity`` is the axis and the member of the consolidated company, if a filing has no
    facts without dimensions, else null.
    """

    resolved_accession: str
    accession: str
    period_of_report: Date
    form_type: str
    filed_at: Date | None
    fiscal_year: int | None
    fiscal_period: str | None
    cik: str
    ticker: str | None
    company_name: str
    covered: bool
    source: str
    view: Literal["consolidated", "all"]
    engine_version: int
    generated_at: Time
    statement_count: int
    entity: dict[str, str] | None
    absent: list[AbsentStatement]


SHAPE = Envelope[StatementsData, StatementsMeta]


def get_company_statements(call: Call) -> Response:
    """Return the statements of the period that the parameters select."""
    params = call.params
    with call.app.db.read() as tx:
        company = companies.resolve(tx, params["ticker"])
        reports = filed_statements.find_reports(
            tx,
            company.cik,
            form=params["form_type"],
            period=params["period"],
            year=params["year"],
            as_of=params["as_of"],
            basis=params["basis"],
        )
        if not reports:
            stored_periods = filed_statements.list_stored_periods(tx, company.cik)
            details = {"cik": company.padded_cik, "covered_periods": stored_periods}
            message = f"No {_describe_report(params)} of {company.name} is stored. {_describe_stored(stored_periods)}"
            raise ApiError("NOT_COVERED", message, details=details)
        return _build_response(call, company, reports, tx)


def get_filing_statements(call: Call) -> Response:
    """Return the statements of one filing by its accession number."""
    accession = call.params["accession"]
    with call.app.db.read() as tx:
        report = filed_statements.find_report_by_accession(tx, accession)
        if report is None:
            raise ApiError("NOT_FOUND", f"finapi has no XBRL documents of filing {accession}.")
        return _build_response(call, companies.get_by_cik(tx, report.cik), [report], tx)


def _build_response(call: Call, company: Company, reports: Sequence[FiledReport], tx: Transaction) -> Response:
    consolidated_only = call.params["consolidated_only"]
    report, statements, absent = filed_statements.read_period_statements(
        tx, reports, call.params["statement"], consolidated_only=consolidated_only
    )
    if not statements:
        details = {"cik": company.padded_cik, "accession": report.accession, "absent": absent}
        raise ApiError("NOT_COVERED", f"{report.accession} has no such statement.", details=details)
    names = build_company_names(company)
    meta = build_record(
        StatementsMeta,
        report._asdict(),
        **names,
        resolved_accession=report.accession,
        covered=True,
        view="consolidated" if consolidated_only else "all",
        engine_version=filed_statements.ENGINE_VERSION,
        generated_at=iso(call.request_time),
        statement_count=len(statements),
        entity=filed_statements.find_consolidated_dimension(tx, report),
        absent=absent,
    )
    return call.success({"kind": "as_filed", **names, "statements": statements}, meta)


def _describe_stored(stored_periods: Sequence[Mapping[str, str]]) -> str:
    """Return a sentence with the newest reports that are stored, by form and last day."""
    if not stored_periods:
        return "No report of it is stored; /xbrl/timeseries may have its figures."
    names = [f"{stored['form_type']} of {stored['period_of_report']}" for stored in stored_periods[:MAX_NAMED_REPORTS]]
    more = ", ..." if len(stored_periods) > MAX_NAMED_REPORTS else ""
    return f"Stored: {', '.join(names)}{more}."


def _describe_report(params: Mapping[str, Any]) -> str:
    """Return the selected report in words, such as "annual report for fiscal year 2024"."""
    description = {"A": "annual report", "Q": "quarterly report"}[params["period"]]
    if params["form_type"]:
        description += f" on form {params['form_type']}"
    if params["year"] is not None:
        description += f" for fiscal year {params['year']}"
    if params["as_of"]:
        description += f" filed by {params['as_of']}"
    return description
