"""Packs: stored reports in one compact file of our own, for the data that finapi carries with it.

A line of magic, then a zlib stream of JSON lines, a report each: the values of ``report.py`` with every text
that repeats replaced by its place in a list. Loading goes through ``store.put``, as an ingest does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from finapi import heartbeats
from finapi.app import App
from finapi.db import Refused, Transaction
from finapi.errors import ParseError
from finapi.market import filings, layout, store
from finapi.market.packed import pack, unpack
from finapi.market.report import Context, Cover, Fact, Line, Report, Section, Sum

MAGIC = b"finapi-pack 1\n"


def held(tx: Transaction) -> Iterator[tuple[Report, store.Filed]]:
    """Every stored report with its filing, in the order of accession numbers and contents."""
    for row in tx.all("pack_reports"):
        yield (
            _report(tx, row),
            store.Filed(
                row["accession"],
                row["filed_at"],
                row["accepted_at"],
                row["filing_form"],
                row["filing_period"],
                filings.SUBMISSIONS,
            ),
        )


def dump(reports: Iterable[tuple[Report, store.Filed]]) -> bytes:
    """A pack of the reports; the same reports make the same bytes."""
    return pack(
        MAGIC,
        (
            json.dumps(_packed(report, filed), ensure_ascii=False, separators=(",", ":"))
            for report, filed in reports
        ),
    )


def parse(data: bytes, file: str) -> Iterator[tuple[Report, store.Filed]]:
    """The reports of a pack; ParseError when it is not one."""
    for number, line in enumerate(unpack(MAGIC, data, file, "pack"), 1):
        try:
            yield _unpacked(json.loads(line))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise ParseError(file, f"line {number}", f"is not a report: {type(error).__name__}") from None


def load(app: App, data: bytes, file: str) -> int:
    """Store the reports of a pack, each in a transaction of its own; how many were new."""
    stored = 0
    now = app.clock.now()
    for number, (report, filed) in enumerate(parse(data, file), 1):
        try:
            with app.db.write() as tx:
                if store.put(tx, report, filed, now):
                    stored += 1
                    heartbeats.arrived_report(tx, now)
        except (Refused, TypeError) as error:
            raise ParseError(file, f"line {number}", f"is not a report: {error}") from None
    return stored


def _packed(report: Report, filed: store.Filed) -> dict[str, Any]:
    texts: dict[str | None, int] = {}

    def place(text: str | None) -> int:
        return texts.setdefault(text, len(texts))

    sections = [
        [
            place(section.role_uri),
            place(section.definition),
            section.kind,
            [
                [
                    place(line.concept),
                    line.depth,
                    line.nature,
                    place(line.label),
                    place(line.label_role),
                    line.placement,
                    int(line.negated),
                    line.balance,
                ]
                for line in section.lines
            ],
            [[column.context_seq, column.start, column.end, column.dims] for column in section.columns],
            [[place(one.total), place(one.item), one.weight] for one in section.sums],
        ]
        for section in report.sections
    ]
    facts = [
        [place(fact.concept), fact.context, place(fact.unit), fact.value, fact.decimals]
        for fact in report.facts
    ]
    cover = report.cover
    return {
        "cover": [
            cover.cik,
            cover.name,
            cover.form,
            cover.period_of_report,
            cover.fiscal_year,
            cover.fiscal_period,
            cover.tickers,
        ],
        "filed": [filed.accession, filed.filed_at, filed.accepted_at, filed.form, filed.period],
        "report": [report.source, report.sha256.hex(), report.documents],
        "contexts": report.contexts,
        "facts": facts,
        "sections": sections,
        "texts": list(texts),
    }


def _unpacked(packed: Any) -> tuple[Report, store.Filed]:
    texts: list[Any] = packed["texts"]
    cik, name, form, period, fiscal_year, fiscal_period, tickers = packed["cover"]
    source, sha256, documents = packed["report"]
    sections = [
        Section(
            texts[role],
            texts[definition],
            kind,
            [
                Line(
                    texts[concept],
                    depth,
                    nature,
                    texts[label],
                    texts[label_role],
                    placement,
                    bool(negated),
                    balance,
                )
                for concept, depth, nature, label, label_role, placement, negated, balance in lines
            ],
            [layout.Column(seq, start, end, _dims(dims)) for seq, start, end, dims in columns],
            [Sum(texts[total], texts[item], weight) for total, item, weight in sums],
        )
        for role, definition, kind, lines, columns, sums in packed["sections"]
    ]
    report = Report(
        cover=Cover(cik, name, form, period, fiscal_year, fiscal_period, tuple(tickers)),
        source=source,
        sha256=bytes.fromhex(sha256),
        documents=documents,
        contexts=[Context(seq, start, end, _dims(dims)) for seq, start, end, dims in packed["contexts"]],
        facts=[
            Fact(texts[concept], context, texts[unit], value, decimals)
            for concept, context, unit, value, decimals in packed["facts"]
        ],
        sections=sections,
    )
    accession, filed_at, accepted_at, form, period = packed["filed"]
    # What a list of filings told whoever made the pack, as far as it is known.
    return report, store.Filed(accession, filed_at, accepted_at, form, period, filings.SUBMISSIONS)


def _dims(pairs: Any) -> tuple[tuple[str, str], ...]:
    return tuple((axis, member) for axis, member in pairs)


def _report(tx: Transaction, row: Any) -> Report:
    """A report read back from its rows."""
    place: dict[tuple[str | None, str, str], int] = {}
    facts = []
    for fact in tx.all("pack_facts", report_id=row["id"]):
        period = (fact["start_date"], fact["end_date"], fact["members"])
        context = place.setdefault(period, len(place))
        facts.append(Fact(fact["concept"], context, fact["unit"], fact["value"], fact["decimals"]))
    contexts = [
        Context(seq, start, end, tuple(json.loads(members).items()))
        for seq, (start, end, members) in enumerate(place, 1)
    ]
    tickers = tuple(ticker["ticker"] for ticker in tx.all("pack_tickers", cik=row["cik"]))
    return Report(
        cover=Cover(
            row["cik"],
            row["name"],
            row["form"],
            row["period_of_report"],
            row["fiscal_year"],
            row["fiscal_period"],
            tickers,
        ),
        source=row["source"],
        sha256=row["sha256"],
        documents=row["documents"],
        contexts=contexts,
        facts=facts,
        sections=[_section(tx, section) for section in tx.all("pack_sections", report_id=row["id"])],
    )


def _section(tx: Transaction, row: Any) -> Section:
    lines = [
        Line(
            line["concept"],
            line["depth"],
            line["nature"],
            line["label"],
            line["label_role"],
            line["placement"],
            bool(line["negated"]),
            line["balance"],
        )
        for line in tx.all("pack_lines", section_id=row["id"])
    ]
    columns = [
        layout.Column(
            column["context_seq"],
            column["start_date"],
            column["end_date"],
            tuple(json.loads(column["members"]).items()),
        )
        for column in tx.all("statement_columns", section_id=row["id"], dimensioned=True)
    ]
    sums = [
        Sum(one["total"], one["item"], one["weight"]) for one in tx.all("section_sums", section_id=row["id"])
    ]
    return Section(row["role_uri"], row["definition"], row["kind"], lines, columns, sums)
