"""The dictionary of keys, and the proof of a cell, over HTTP."""

from __future__ import annotations

from typing import Any

from finapi.errors import ApiError, invalid_param
from finapi.market import dictionary, metrics, proof, ratios
from finapi.market.rows import Series
from finapi.web import series, series_shapes
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import (
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    array,
    enum,
    envelope,
    nullable,
    obj,
)

PARAMS = (
    Param("kind", allowed=dictionary.KINDS, help="Only keys of this kind.", example="ratio"),
    Param(
        "statement", allowed=dictionary.STATEMENTS, help="Only of this statement.", example="income_statement"
    ),
    Param("metric", help="Only this key.", example="revenue"),
)
SHAPE = envelope(
    array(
        obj(
            key=TEXT,
            label=TEXT,
            kind=enum(*dictionary.KINDS),
            statement=enum(*dictionary.STATEMENTS),
            units=TEXT,
            aggregation=TEXT,
            definition=TEXT,
            formula=TEXT,
            category=TEXT,
            parameters=array(TEXT),
            coverage=TEXT,
        )
    ),
    obj(count=INTEGER, total=INTEGER, kinds=array(TEXT), statements=array(TEXT), generated_from=TEXT),
)
PROOF_PARAMS = (
    *series.COMPANY,
    Param("metric", required=True, help="Key of a metric, derived figure or ratio.", example="revenue"),
    series.PERIOD,
    Param("fiscal_year", "integer", least=1900, most=2200, help="The row's fiscal year.", example="2024"),
    Param("fiscal_period", help="The row's fiscal period: FY, Q1 to Q4; needed for quarters.", example="FY"),
    Param("period_end", "date", help="The row's last day, instead.", example="2024-09-28"),
    series.BASIS,
    series.AS_OF,
    series.CURRENCY,
)
_FACT = dict(series_shapes.OPERAND["properties"])
_FACT.pop("sign")
_PERIOD: dict[str, Any] = {
    "period": TEXT,
    "fiscal_year": INTEGER,
    "fiscal_period": TEXT,
    "period_start": nullable(DATE),
    "period_end": DATE,
}
PROOF_SHAPE = envelope(
    obj(
        ticker=nullable(TEXT),
        cik=TEXT,
        company_name=TEXT,
        industry=TEXT,
        **_PERIOD,
        basis=TEXT,
        as_of=nullable(DATE),
        metric=TEXT,
        label=TEXT,
        definition=TEXT,
        formula=TEXT,
        mapping_version=INTEGER,
        cell=series_shapes.CELL,
        inputs=array(obj(metric=TEXT, **_PERIOD, **series_shapes.CELL["properties"])),
        considered=array(obj(tier=INTEGER, way=TEXT)),
        vintages=array(obj(**{**_FACT, "value": NUMBER})),
    ),
    obj(mapping_version=INTEGER),
)


def keys(call: Call) -> Response:
    """The entries of the dictionary that fit."""
    params = call.params
    found = dictionary.entries(params["kind"], params["statement"], params["metric"])
    meta = {
        "count": len(found),
        "total": len(dictionary.every()),
        "kinds": list(dictionary.KINDS),
        "statements": list(dictionary.STATEMENTS),
        "generated_from": dictionary.source(),
    }
    # A table says how many rows it has, not how many the dictionary has.
    return call.table(found, {"total": len(found)}) or call.success(found, meta)


def proof_of_cell(call: Call) -> Response:
    """What is behind one cell of a series."""
    params = call.params
    key = params["metric"]
    mapping = metrics.mapping()
    if key not in mapping.metrics and key not in mapping.derived and key not in ratios.catalogue().ratios:
        raise invalid_param(
            "metric", f"{key} is not a metric or ratio.", expected="a key of /xbrl/dictionary"
        )
    with call.app.db.read() as tx:
        company = series.selected(tx, params)
        held = series.book_of(call, tx, company, params["as_of"], series.currency_of(params))
        rows = Series(held, params["period"], params["basis"], series.price_of(tx, company))
        named: dict[str, Any] = {
            "ticker": company.ticker,
            "cik": company.padded_cik,
            "company_name": company.name,
            "industry": held.industry,
        }
        period = rows.find(params["fiscal_year"], params["fiscal_period"], params["period_end"])
        if period is None:
            raise ApiError("NOT_FOUND", f"No such period of {company.name} is known.")
        named |= rows.named(period) | {"basis": params["basis"], "as_of": params["as_of"]}
        proved = proof.of_cell(rows.row(period), key)
    return call.success(named | proved, {"mapping_version": mapping.version})
