"""The handler for the difference between the statements of two filings of a company."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Annotated, TypedDict

from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date
from finapi.market.reference import companies
from finapi.market.statements import filed_statements, filing_difference
from finapi.market.statements.filed_statements import FiledReport
from finapi.market.statements.filing_difference import StatementDifference
from finapi.store.db import Transaction
from finapi.web.financials.as_filed import FILING_PARAMS
from finapi.web.financials.company_params import CompanyNames, build_company_names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import ACCESSION
from finapi.web.http.schema import Envelope

_ACCESSION, *_SELECTION_PARAMS = FILING_PARAMS
PARAMS = (
    replace(
        ACCESSION,
        name="a",
        location="query",
        help="The first filing, with or without dashes.",
        example="0000320193-23-000106",
    ),
    replace(ACCESSION, name="b", location="query", help="The second filing.", example="0000320193-24-000123"),
    *_SELECTION_PARAMS,
)


class ComparedFiling(TypedDict):
    """A filing of the comparison. ``filed_at`` is null if the filing day is not known."""

    accession: str
    form_type: str
    filed_at: Date | None
    period_of_report: Date


class DifferenceData(CompanyNames):
    """The difference between two filings of a company."""

    a: ComparedFiling
    b: ComparedFiling
    statements: list[StatementDifference]


class DifferenceMeta(TypedDict):
    """The number of cells of each status, and the version of the rules that arrange statements."""

    restated: int
    rounded: int
    added: Annotated[int, "Cells that only b reports."]
    dropped: Annotated[int, "Cells that only a reports."]
    engine_version: int


SHAPE = Envelope[DifferenceData, DifferenceMeta]


def compare_filings(call: Call) -> Response:
    """Return the lines of two filings' statements that differ, with both values."""
    params = call.params
    with call.app.db.read() as tx:
        reports = [_get_report(tx, params[name]) for name in ("a", "b")]
        if reports[0].cik != reports[1].cik:
            raise invalid_param("b", "a and b are filings of different companies.", expected="filings of one company")
        company = companies.get_by_cik(tx, reports[0].cik)
        a, b = [
            filing_difference.present_statements(
                filed_statements.read_statements(
                    tx, report, params["statement"], consolidated_only=params["consolidated_only"]
                )[0]
            )
            for report in reports
        ]
    differences = filing_difference.compare_statements(a, b)
    counts = Counter(
        cell["status"] for difference in differences for line in difference["lines"] for cell in line["cells"]
    )
    data: DifferenceData = {
        **build_company_names(company),
        "a": _build_filing(reports[0]),
        "b": _build_filing(reports[1]),
        "statements": differences,
    }
    meta: DifferenceMeta = {
        "restated": counts["restated"],
        "rounded": counts["rounded"],
        "added": counts["added"],
        "dropped": counts["dropped"],
        "engine_version": filed_statements.ENGINE_VERSION,
    }
    return call.success(data, meta)


def _get_report(tx: Transaction, accession: str) -> FiledReport:
    report = filed_statements.find_report_by_accession(tx, accession)
    if report is None:
        raise ApiError("NOT_FOUND", f"finapi has no XBRL documents of filing {accession}.")
    return report


def _build_filing(report: FiledReport) -> ComparedFiling:
    return {
        "accession": report.accession,
        "form_type": report.form_type,
        "filed_at": report.filed_at,
        "period_of_report": report.period_of_report,
    }
