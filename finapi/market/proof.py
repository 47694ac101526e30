"""The proof of a cell: the facts, filings, signs and formula that make it, and every vintage that was told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from finapi.market import facts, metrics, ratios, series
from finapi.market.book import Key, iso
from finapi.market.cells import Figure
from finapi.market.metrics import Metric
from finapi.market.rows import Input, RowView


def of_cell(row: RowView, key: str) -> dict[str, Any]:
    """What is behind the cell of a key in a row, whatever kind of key it is."""
    cell = row.cell(key)
    mapping = metrics.mapping()
    explained = series.explained(row, key, cell, series.checks(row), full=True)
    explained["operands"] = series.operands_of(row, key, cell)
    named: dict[str, Any] = {"metric": key, "cell": explained, "mapping_version": mapping.version}
    if key in mapping.metrics:
        metric = mapping.metrics[key]
        named |= {"label": metric.label, "definition": metric.definition}
        rule = cell.rule if isinstance(cell, Figure) else ""
        named |= {"formula": rule, "inputs": [], "considered": considered(row, key)}
        named["vintages"] = vintages(row, key)
    else:
        one = mapping.derived.get(key) or ratios.catalogue().ratios[key]
        named |= {"label": one.label, "definition": one.definition, "formula": one.formula}
        named["inputs"] = [_input(one) for one in row.inputs(key)]
        named |= {"considered": [], "vintages": []}
    return named


def _input(one: Input) -> dict[str, Any]:
    period = one.row.series.named(one.row.period)
    explained = series.explained(one.row, one.key, one.cell, series.checks(one.row), full=True)
    return {"metric": one.key, **period, **explained}


def considered(row: RowView, key: str) -> list[dict[str, Any]]:
    """The ways to a metric that the mapping knows, in their order."""
    industry = row.series.held.industry
    return [{"tier": way.tier, "way": way.text} for way in metrics.mapping().metrics[key].ways[industry]]


def _periods(row: RowView, metric: Metric) -> tuple[Key, ...]:
    """The periods that filings tell a cell for: the ones it is told for, else those of its row."""
    cell = row.cell(metric.key)
    if isinstance(cell, Figure) and cell.method != "derived":
        return tuple(dict.fromkeys(key for _, key, _ in cell.operands))
    if metric.over == "instant":
        return ((row.period.end, 0),)
    # No filing tells twelve months that are no year, and an opening balance stands on no day of the row.
    return () if row.series.kind == "TTM" or metric.over == "opening" else row.period.keys


def vintages(row: RowView, key: str) -> list[dict[str, Any]]:
    """Every filing that tells a metric for the cell's period, by any tag of the mapping, first to last."""
    book = row.series.held.book
    metric = metrics.mapping().metrics[key]
    keys = _periods(row, metric)
    tags = dict.fromkeys(tag for way in metric.ways[row.series.held.industry] for tag in way.tags)
    found = []
    for tag in tags:
        for one in keys:
            for entry in book.entries.get(tag, {}).get(one, ()):
                filing = book.filings[entry.place]
                found.append(
                    {
                        "concept": entry.concept,
                        "value": series.number(Decimal(entry.value)),
                        "unit": entry.unit,
                        "decimals": facts.decimals_told(entry.decimals),
                        "start_date": iso(one[0] - one[1] + 1) if one[1] else None,
                        "end_date": iso(one[0]),
                        "accession": filing.accession,
                        "form_type": filing.form,
                        "filed_at": filing.filed,
                        "source": filing.source,
                    }
                )
    found.sort(
        key=lambda one: (one["filed_at"] is None, one["filed_at"] or "", one["accession"], one["concept"])
    )
    return found
