"""XBRL on its way into the store: which documents of a folder are one filing, and the report that they make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from finapi.core.errors import ParseError
from finapi.edgar import xbrl
from finapi.market.documents.families import Family
from finapi.market.documents.identification import Subject
from finapi.market.documents.metadata import SUBMISSIONS_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.documents.sources import Document
from finapi.market.statements import filed_report, layout, report_store, statement_set_intake
from finapi.market.statements.filed_report import Cover, Fact, Report
from finapi.market.statements.layout import Context, Line, Section, Sum
from finapi.store.db import Row, Transaction

INSTANCE_KIND = "xbrl-instance"
_COVER = [name for name in Cover.__dataclass_fields__ if name != "tickers"]


def group_by_filing(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """The documents filing by filing: all of a folder, or by the schema that each of several instances names."""
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    rest = [document for document in documents if document.kind != INSTANCE_KIND]
    if len(instances) < 2:
        yield documents
        return
    # The longest stem first: aapl-20240928x10ka is not aapl-20240928.
    for instance in sorted(instances, key=lambda one: -len(_stem(one.name))):
        stem = _stem(instance.name)
        theirs = [document for document in rest if document.name.startswith(stem)]
        rest = [document for document in rest if document not in theirs]
        yield [instance, *theirs]
    if rest:
        yield rest


def _stem(name: str) -> str:
    return name.partition(".")[0].removesuffix("_htm")


def parse_report(documents: Sequence[Document]) -> filed_report.Report:
    """The report that a filing's documents make; each is parsed once."""
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    if not instances:
        raise ParseError(documents[0].path, "", "an XBRL filing without its instance document")
    links: dict[str, dict[str, list[Any]]] = {"presentation": {}, "calculation": {}, "definition": {}}
    readers: dict[str, Callable[[bytes, str], dict[str, list[Any]]]] = {
        "presentation": xbrl.parse_presentation,
        "calculation": xbrl.parse_calculation,
        "definition": xbrl.parse_definition,
    }
    labels: dict[str, dict[str, str]] = {}
    schema = instance = None
    digests = []
    for document in documents:
        data, path, kind = document.read(), document.path, document.kind
        digests.append(hashlib.sha256(data).digest())
        if kind == INSTANCE_KIND:
            instance = xbrl.parse_instance(data, path)
        elif kind == "xbrl-schema":
            schema = xbrl.parse_schema(data, path)
        # A schema may hold its linkbases inside, and one linkbase document several kinds of links.
        for name, read in readers.items():
            if _holds(kind, data, name):
                for role, arcs in read(data, path).items():
                    links[name].setdefault(role, []).extend(arcs)
        if _holds(kind, data, "label"):
            for element, texts in xbrl.parse_labels(data, path).items():
                labels.setdefault(element, {}).update(texts)
    assert instance is not None
    # Arcs without those that a later document prohibits (XBRL 2.1, 3.5.3.9.7.5).
    effective = {
        name: {role: xbrl.select_effective_arcs(arcs) for role, arcs in by_role.items()}
        for name, by_role in links.items()
    }
    return filed_report.build_report(
        filed_report.Documents(instances[0].path, instance, schema, labels=labels, **effective),
        sha256=hashlib.sha256(b"".join(sorted(digests))).digest(),
        count=len(documents),
    )


def _holds(kind: str, data: bytes, links: str) -> bool:
    if kind == f"xbrl-{links}":
        return True
    return kind in ("xbrl-schema", "xbrl-linkbase") and f"{links}Link ".encode() in data


def _pack_rows(tx: Transaction) -> Iterator[tuple[Report, FilingMetadata, None]]:
    """Every stored report with its filing, in the order of accession numbers and contents."""
    for row in tx.list_rows("pack_reports"):
        filed = FilingMetadata(
            row["accession"],
            SUBMISSIONS_EVIDENCE,
            form=row["filing_form"],
            filed_at=row["filed_at"],
            accepted_at=row["accepted_at"],
            period_of_report=row["filing_period"],
        )
        yield _report(tx, row), filed, None


def _report(tx: Transaction, row: Row) -> Report:
    """A report read back from its rows."""
    place: dict[tuple[str | None, str, str], int] = {}
    facts = []
    for fact in tx.list_rows("pack_facts", report_id=row["id"]):
        period = (fact["start_date"], fact["end_date"], fact["members"])
        context = place.setdefault(period, len(place))
        facts.append(Fact(fact["concept"], context, fact["unit"], fact["value"], fact["decimals"]))
    contexts = [Context(seq, start, end, _dims(members)) for seq, (start, end, members) in enumerate(place, 1)]
    tickers = tuple(ticker["ticker"] for ticker in tx.list_rows("pack_tickers", cik=row["cik"]))
    return Report(
        cover=Cover(**{name: row[name] for name in _COVER}, tickers=tickers),
        source=row["source"],
        sha256=row["sha256"],
        documents=row["documents"],
        contexts=contexts,
        facts=facts,
        sections=[_section(tx, section) for section in tx.list_rows("pack_sections", report_id=row["id"])],
    )


def _section(tx: Transaction, row: Row) -> Section:
    lines = [
        Line(**{**dict(line), "negated": bool(line["negated"])})
        for line in tx.list_rows("pack_lines", section_id=row["id"])
    ]
    columns = [
        layout.Column(column["context_seq"], column["start_date"], column["end_date"], _dims(column["members"]))
        for column in tx.list_rows("statement_columns", section_id=row["id"], dimensioned=True, whole=0)
    ]
    sums = [Sum(*one) for one in tx.list_rows("section_sums", section_id=row["id"])]
    return Section(row["role_uri"], row["definition"], row["kind"], lines, columns, sums)


def _dims(members: str) -> layout.Dimensions:
    return tuple(json.loads(members).items())


def _subject(made: filed_report.Report) -> Subject:
    cover = made.cover
    return Subject((cover.cik,), cover.form, cover.period_of_report, made.sha256)


def _note(made: filed_report.Report, filed: FilingMetadata) -> str | None:
    return None if filed.filed_at else UNDATED_NOTE


FAMILY = Family(
    content=filed_report.Report,
    group_documents=group_by_filing,
    read_content=parse_report,
    get_subject=_subject,
    store=report_store.upsert_report,
    describe_stored=_note,
    move_filing=report_store.move_reports,
    ingest_data_set=statement_set_intake.ingest_quarter,
    iter_pack_rows=_pack_rows,
    arrival_kinds=("filing", "xbrl_run"),
)
