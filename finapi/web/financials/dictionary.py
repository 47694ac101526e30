"""Handlers for the dictionary of keys and for the proof of a cell."""

from __future__ import annotations

from typing import TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Date
from finapi.market.financials import cell_proof, metric_dictionary, price_lookup
from finapi.market.financials.cell_proof import CellProof, ProofPeriod, build_proof
from finapi.market.financials.latest_years import KEYS, PRIMITIVES
from finapi.market.financials.metric_dictionary import DictionaryEntry
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.series_rows import FigureSeries, PriceSource
from finapi.web.financials import timeseries
from finapi.web.financials.company_params import AS_OF, BASIS, CompanyNames, build_company_names
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
    *timeseries.COMPANY_PARAMS,
    Param(
        "metric",
        required=True,
        allowed=(*PRIMITIVES, *KEYS),
        example="revenue",
        help="Key of a metric, derived figure or ratio.",
    ),
    timeseries.PERIOD,
    Param("fiscal_year", "integer", minimum=1900, maximum=2200, help="The row's fiscal year.", example="2024"),
    Param("fiscal_period", help="The row's fiscal period: FY, Q1 to Q4; needed for quarters.", example="FY"),
    Param(
        "period_end", "date", help="The row's last day, instead of the fiscal year and period.", example="2024-09-28"
    ),
    BASIS,
    AS_OF,
    timeseries.CURRENCY,
    timeseries.Q4,
)


class DictionaryMeta(TypedDict):
    """The number of matching keys and of all keys, and the values that the parameters accept."""

    count: int
    total: int
    kinds: list[str]
    statements: list[str]
    generated_from: str


class ProofCompany(CompanyNames):
    """The company of a cell."""

    industry: str


class ProofRow(ProofPeriod):
    """The row of a cell, its basis, and the date up to which filings were used."""

    basis: str
    as_of: Date | None


class ProofData(ProofCompany, ProofRow, CellProof):
    """The proof of one cell, with its company and row."""


class ProofMeta(TypedDict):
    """The version of the mapping of metrics, and the origin of the company's prices."""

    mapping_version: int
    price_source: PriceSource | None


SHAPE = Envelope[list[DictionaryEntry], DictionaryMeta]
PROOF_SHAPE = Envelope[ProofData, ProofMeta]


def list_keys(call: Call) -> Response:
    """Return the entries of the dictionary that match the parameters."""
    params = call.params
    entries = metric_dictionary.list_entries(params["kind"], params["statement"], params["metric"])
    # A table's metadata contains the number of its rows, not that of the complete dictionary.
    table = call.render_requested_table(entries, {"total": len(entries)})
    if table is not None:
        return table
    meta = {
        "count": len(entries),
        "total": len(metric_dictionary.list_all_entries()),
        "kinds": list(metric_dictionary.KINDS),
        "statements": list(metric_dictionary.STATEMENTS),
        "generated_from": metric_dictionary.describe_source(),
    }
    return call.success(entries, meta)


def get_proof(call: Call) -> Response:
    """Return the proof of one cell of a series."""
    params = call.params
    with call.app.db.read() as tx:
        company = timeseries.get_selected_company(tx, params)
        company_book = timeseries.get_book(call, tx, company, params["as_of"], timeseries.get_currency(params))
        series = FigureSeries(
            company_book,
            params["period"],
            params["basis"],
            price_lookup.build_price_lookup(tx, company),
            estimated=params["q4"] == "estimated",
        )
        period = series.find_period(params["fiscal_year"], params["fiscal_period"], params["period_end"])
        if period is None:
            raise ApiError("NOT_FOUND", f"{company.name} has no such period in finapi.")
        row = series.get_row(period)
        proof = build_proof(row, params["metric"])
        facts = cell_proof.list_facts(proof)
        cell_proof.add_fact_links(tx, company.cik, facts)
        cell_proof.add_printed_lines(tx, facts)
        data: ProofData = {
            **build_company_names(company),
            "industry": company_book.industry,
            "period": series.kind,
            **row.build_period(),
            "basis": params["basis"],
            "as_of": params["as_of"],
            **proof,
        }
        meta: ProofMeta = {
            "mapping_version": get_mapping().version,
            "price_source": timeseries.find_price_source(tx, company),
        }
    return call.success(data, meta)
