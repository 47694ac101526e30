"""The form family of XBRL filings: from the documents of a folder to stored reports.

A folder may contain the documents of several filings. :func:`group_by_filing` separates them, :func:`parse_report`
parses the documents of a filing and builds its report, and ``report_store.py`` stores it. :data:`FAMILY` registers
these functions for ``market.intake``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from finapi.core.errors import ParseError
from finapi.edgar import xbrl
from finapi.market.documents.families import Family
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import SUBMISSIONS_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.documents.sources import Document
from finapi.market.statements import filed_report, layout, report_store, statement_set_intake
from finapi.market.statements.filed_report import Cover, Fact, Report
from finapi.market.statements.layout import CalculationTerm, Context, Line, Section
from finapi.store.db import Row, Transaction

INSTANCE_KIND = "xbrl-instance"
_SCHEMA_KIND = "xbrl-schema"
_LINKBASE_KIND = "xbrl-linkbase"


# ---- Documents


def group_by_filing(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """Yield the documents of each filing.

    A folder with one instance is one filing. With several instances, the documents whose names begin with an
    instance's name belong to it, and those that belong to none are yielded together.
    """
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    if len(instances) < 2:
        yield documents
        return
    other_documents = [document for document in documents if document.kind != INSTANCE_KIND]
    # The longest name first: the documents of aapl-20240928x10ka also begin with aapl-20240928.
    for instance in sorted(instances, key=lambda document: -len(_get_stem(document.name))):
        stem = _get_stem(instance.name)
        filing_documents = [document for document in other_documents if document.name.startswith(stem)]
        other_documents = [document for document in other_documents if document not in filing_documents]
        yield [instance, *filing_documents]
    if other_documents:
        yield other_documents


def _get_stem(name: str) -> str:
    """Return the part of an instance's file name with which the names of its other documents begin."""
    return name.partition(".")[0].removesuffix("_htm")


def parse_report(documents: Sequence[Document]) -> Report:
    """Parse the documents of a filing, each once, and return their report.

    Raise ParseError if a document is invalid or the instance is missing.
    """
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    if not instances:
        raise ParseError(documents[0].path, "", "an XBRL filing without its instance document")
    parsers: dict[str, Callable[[bytes, str], dict[str, list[Any]]]] = {
        "presentation": xbrl.parse_presentation,
        "calculation": xbrl.parse_calculation,
        "definition": xbrl.parse_definition,
    }
    # The arcs of each linkbase, by its name and by role.
    arcs_by_linkbase: dict[str, dict[str, list[Any]]] = {name: {} for name in parsers}
    labels: dict[str, dict[str, str]] = {}
    schema = None
    instance = None
    digests = []
    for document in documents:
        data = document.read()
        path = document.path
        digests.append(hashlib.sha256(data).digest())
        if document.kind == INSTANCE_KIND:
            instance = xbrl.parse_instance(data, path)
        elif document.kind == _SCHEMA_KIND:
            schema = xbrl.parse_schema(data, path)
        # A schema may contain linkbases, and a linkbase document may contain several kinds of links.
        for linkbase, parse_arcs in parsers.items():
            if _contains_linkbase(document.kind, data, linkbase):
                for role, arcs in parse_arcs(data, path).items():
                    arcs_by_linkbase[linkbase].setdefault(role, []).extend(arcs)
        if _contains_linkbase(document.kind, data, "label"):
            for element, texts in xbrl.parse_labels(data, path).items():
                labels.setdefault(element, {}).update(texts)
    assert instance is not None
    parsed_documents = filed_report.Documents(
        file=instances[0].path,
        instance=instance,
        schema=schema,
        presentation=_select_effective_arcs(arcs_by_linkbase["presentation"]),
        calculation=_select_effective_arcs(arcs_by_linkbase["calculation"]),
        definition=_select_effective_arcs(arcs_by_linkbase["definition"]),
        labels=labels,
    )
    digest = hashlib.sha256(b"".join(sorted(digests))).digest()
    return filed_report.build_report(parsed_documents, sha256=digest, count=len(documents))


def _contains_linkbase(document_kind: str, data: bytes, linkbase: str) -> bool:
    if document_kind == f"xbrl-{linkbase}":
        return True
    return document_kind in (_SCHEMA_KIND, _LINKBASE_KIND) and f"{linkbase}Link ".encode() in data


def _select_effective_arcs(arcs_by_role: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the arcs without those that a later document prohibits (XBRL 2.1, 3.5.3.9.7.5)."""
    return {role: xbrl.select_effective_arcs(arcs) for role, arcs in arcs_by_role.items()}


# ---- Reports read back from the database, for the embedded demo data


def _iter_pack_rows(tx: Transaction) -> Iterator[tuple[Report, FilingMetadata, None]]:
    """Yield every stored report with its filing, in the order of accession numbers and contents."""
    for row in tx.list_rows("pack_reports"):
        filed = FilingMetadata(
            row["accession"],
            SUBMISSIONS_EVIDENCE,
            form=row["filing_form"],
            filed_at=row["filed_at"],
            accepted_at=row["accepted_at"],
            period_of_report=row["filing_period"],
        )
        yield _read_report(tx, row), filed, None


def _read_report(tx: Transaction, row: Row) -> Report:
    # The index of each context, by start, end and stored dimensions.
    context_indexes: dict[tuple[str | None, str, str], int] = {}
    facts = []
    for fact_row in tx.list_rows("pack_facts", report_id=row["id"]):
        context_key = (fact_row["start_date"], fact_row["end_date"], fact_row["members"])
        context_index = context_indexes.setdefault(context_key, len(context_indexes))
        facts.append(
            Fact(fact_row["concept"], context_index, fact_row["unit"], fact_row["value"], fact_row["decimals"])
        )
    contexts = [
        Context(seq, start, end, _parse_dimensions(members))
        for seq, (start, end, members) in enumerate(context_indexes, 1)
    ]
    cover = Cover(
        cik=row["cik"],
        name=row["name"],
        form=row["form"],
        period_of_report=row["period_of_report"],
        fiscal_year=row["fiscal_year"],
        fiscal_period=row["fiscal_period"],
        tickers=tuple(ticker["ticker"] for ticker in tx.list_rows("pack_tickers", cik=row["cik"])),
    )
    return Report(
        cover=cover,
        source=row["source"],
        sha256=row["sha256"],
        documents=row["documents"],
        contexts=contexts,
        facts=facts,
        sections=[_read_section(tx, section) for section in tx.list_rows("pack_sections", report_id=row["id"])],
    )


def _read_section(tx: Transaction, row: Row) -> Section:
    lines = [_read_line(line) for line in tx.list_rows("pack_lines", section_id=row["id"])]
    columns = [
        layout.Column(
            column["context_seq"], column["start_date"], column["end_date"], _parse_dimensions(column["members"])
        )
        for column in tx.list_rows("statement_columns", section_id=row["id"], dimensioned=True, whole=0)
    ]
    sums = [CalculationTerm(**dict(sum_row)) for sum_row in tx.list_rows("section_sums", section_id=row["id"])]
    return Section(row["role_uri"], row["definition"], row["kind"], lines, columns, sums)


def _read_line(row: Row) -> Line:
    return Line(
        concept=row["concept"],
        depth=row["depth"],
        nature=row["nature"],
        label=row["label"],
        label_role=row["label_role"],
        placement=row["placement"],
        negated=bool(row["negated"]),
        balance=row["balance"],
    )


def _parse_dimensions(members: str) -> layout.Dimensions:
    return tuple(json.loads(members).items())


# ---- The form family


def _build_claim(report: Report) -> FilingClaim:
    cover = report.cover
    return FilingClaim((cover.cik,), cover.form, cover.period_of_report, report.sha256)


def _describe_stored(report: Report, filed: FilingMetadata) -> str | None:
    return None if filed.filed_at else UNDATED_NOTE


FAMILY = Family(
    content=Report,
    group_documents=group_by_filing,
    read_content=parse_report,
    build_claim=_build_claim,
    store=report_store.upsert_report,
    describe_stored=_describe_stored,
    move_filing=report_store.move_reports,
    ingest_data_set=statement_set_intake.ingest_quarter,
    iter_pack_rows=_iter_pack_rows,
    arrival_kinds=("filing", "xbrl_run"),
)
