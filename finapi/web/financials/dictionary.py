"""The dictionary of keys, and the proof of a cell, over HTTP."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.financials import metric_dictionary
from finapi.market.financials.latest_years import KEYS, PRIMITIVES
from finapi.market.financials.metric_dictionary import DictionaryEntry
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.metric_series import CellProof, ProofPeriod, build_proof
from finapi.market.financials.series_rows import FigureSeries
from finapi.web.financials import series
from finapi.web.financials.company import AS_OF, BASIS, CompanyNames, names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.schema import Envelope

PARAMS = (
    Param("kind", allowed=metric_dictionary.KINDS, help="Only keys of this kind.", example="ratio"),
    Param(
        "statement", allowed=metric_dictionary.STATEMENTS, help="Only of this statement.", example="income_statement"
    ),
    Param("metric", help="Only this key.", example="revenue"),
)
PROOF_PARAMS = (
    *series.COMPANY,
    Param(
        "metric",
        required=True,
        allowed=(*PRIMITIVES, *KEYS),
        example="revenue",
        help="Key of a metric, derived figure or ratio.",
    ),
    series.PERIOD,
    Param("fiscal_year", "integer", minimum=1900, maximum=2200, help="The row's fiscal year.", example="2024"),
    Param("fiscal_period", help="The row's fiscal period: FY, Q1 to Q4; needed for quarters.", example="FY"),
    Param("period_end", "date", help="The row's last day, instead.", example="2024-09-28"),
    BASIS,
    AS_OF,
    series.CURRENCY,
    series.Q4,
)


class DictionaryMeta(TypedDict):
    """How many keys fit of how many, and what can be asked for."""

    count: int
    total: int
    kinds: list[str]
    statements: list[str]
    generated_from: str


class ProofCompany(CompanyNames):
    """Whose cell it is."""

    industry: str


class ProofRow(ProofPeriod):
    """Which row the cell stands in, and as known when."""

    basis: str
    as_of: Date | None


class ProofData(ProofCompany, ProofRow, CellProof):
    """What is behind one cell."""


class ProofMeta(TypedDict):
    """The version of the mapping of metrics."""

    mapping_version: int


SHAPE = Envelope[list[DictionaryEntry], DictionaryMeta]
PROOF_SHAPE = Envelope[ProofData, ProofMeta]


def keys(call: Call) -> Response:
    """The entries of the dictionary that fit."""
    params = call.params
    found = metric_dictionary.list_entries(params["kind"], params["statement"], params["metric"])
    meta = {
        "count": len(found),
        "total": len(metric_dictionary.list_all_entries()),
        "kinds": list(metric_dictionary.KINDS),
        "statements": list(metric_dictionary.STATEMENTS),
        "generated_from": metric_dictionary.describe_source(),
    }
    # A table says how many rows it has, not how many the dictionary has.
    return call.render_requested_table(found, {"total": len(found)}) or call.success(found, meta)


def proof_of_cell(call: Call) -> Response:
    """What is behind one cell of a series."""
    params = call.params
    key = params["metric"]
    with call.app.db.read() as tx:
        company = series.selected(tx, params)
        held = series.book_of(call, tx, company, params["as_of"], series.currency_of(params))
        price, estimated = series.price_of(tx, company), params["q4"] == "estimated"
        rows = FigureSeries(held, params["period"], params["basis"], price, estimated=estimated)
        period = rows.find_period(params["fiscal_year"], params["fiscal_period"], params["period_end"])
        if period is None:
            raise ApiError("NOT_FOUND", f"{company.name} has no such period in finapi.")
        row = rows.get_row(period)
        data: ProofData = {
            **names(company),
            "industry": held.industry,
            "period": rows.kind,
            **row.build_period(),
            "basis": params["basis"],
            "as_of": params["as_of"],
            **build_proof(row, key),
        }
    return call.success(data, {"mapping_version": get_mapping().version})
