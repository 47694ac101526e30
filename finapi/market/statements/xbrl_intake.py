"""The form family of XBRL filings: from the documents of a folder to stored reports.

A folder may contain the documents of several filings. :func:`group_by_filing` separates them, :func:`parse_report`
parses the documents of a filing and builds its report, and ``report_store.py`` stores it. :data:`FAMILY` registers
these functions for ``market.intake``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import xbrl
from finapi.market.documents import outcomes
from finapi.market.documents.families import Family
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import SUBMISSIONS_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import UNDATED_NOTE
from finapi.market.documents.sources import Document
from finapi.market.statements import filed_report, layout, report_store, statement_set_intake
from finapi.market.statements.filed_report import Cover, Fact, FactConflict, Report
from finapi.market.statements.layout import CalculationTerm, Context, Line, Section
from finapi.store.db import Row, Transaction

INSTANCE_KIND = "xbrl-instance"
PAGE_KIND = "inline-html"
_SCHEMA_KIND = "xbrl-schema"
_LINKBASE_KIND = "xbrl-linkbase"


# ---- Documents


def group_by_filing(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """Yield the documents of each filing.

    A filing has an instance or an inline page with a cover, from which the SEC extracts the instance. A folder with one
    of them is one filing. With several, the documents whose names begin with the name of the instance or page belong to
    it. The others belong to the instance if there is only one, or are yielded together. Inline pages that belong to no
    filing are left out: they are for readers.
    """
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    instance_stems = {_get_stem(instance.name) for instance in instances}
    pages = [document for document in documents if document.kind == PAGE_KIND]
    main_documents = list(instances)
    for page in pages:
        if _get_stem(page.name) not in instance_stems and _has_cover(page):
            main_documents.append(page)
    if len(main_documents) == 1:
        stem = _get_stem(main_documents[0].name)
        # The main page first. Without it, the pages are not those that the instance was extracted from.
        filing_pages = sorted(pages, key=lambda page: (_get_stem(page.name) != stem, page.name))
        if not filing_pages or _get_stem(filing_pages[0].name) != stem:
            filing_pages = []
        yield [*(document for document in documents if document.kind != PAGE_KIND), *filing_pages]
        return
    other_documents = [document for document in documents if document not in main_documents]
    filings: list[list[Document]] = []
    # The longest name first: the documents of aapl-20240928x10ka also begin with aapl-20240928.
    for main_document in sorted(main_documents, key=lambda document: -len(_get_stem(document.name))):
        stem = _get_stem(main_document.name)
        filing_documents = [document for document in other_documents if document.name.startswith(stem)]
        other_documents = [document for document in other_documents if document not in filing_documents]
        filings.append([main_document, *filing_documents])
    remaining_documents = [document for document in other_documents if document.kind != PAGE_KIND]
    if len(instances) == 1:
        # The pages of other filings are next to a filing whose documents are not all named after its instance.
        next(filing for filing in filings if filing[0] is instances[0]).extend(remaining_documents)
    elif remaining_documents:
        filings.append(remaining_documents)
    yield from filings


def _get_stem(name: str) -> str:
    """Return the part of the file name of an instance or page with which the names of its other documents begin."""
    return name.partition(".")[0].removesuffix("_htm")


def _has_cover(page: Document) -> bool:
    """Return True if an inline page tags the period of a report, which is on the first page of a filing.

    A page that cannot be read counts as one with a cover, so that it is refused with its reason when it is parsed.
    """
    try:
        return b":DocumentPeriodEndDate" in page.read()
    except ParseError:
        return True


def parse_report(documents: Sequence[Document]) -> Report:
    """Parse the documents of a filing, each once, and return their report.

    If there is an instance, the facts come from it, and the inline pages are only compared with it. Raise ParseError if
    a document is invalid, or if neither an instance nor an inline page is among them.
    """
    instances = [document for document in documents if document.kind == INSTANCE_KIND]
    pages = [document for document in documents if document.kind == PAGE_KIND]
    if not instances and not pages:
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
    inline_pages = []
    digests = []
    for document in documents:
        data = document.read()
        path = document.path
        if document.kind == PAGE_KIND:
            inline_pages.append(xbrl.InlinePage(data, path))
        if document.kind != PAGE_KIND or not instances:
            # The same instance is the same report, with and without the page that it is extracted from.
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
    if instance is None:
        instance = xbrl.parse_inline(inline_pages)
        notes = _describe_unknown_texts(instance)
        page_names = [page.name for page in pages]
    else:
        notes = _compare_pages(instance, inline_pages) if inline_pages else []
        page_names = _list_extracted_pages(instances[0].name)
    parsed_documents = filed_report.Documents(
        file=(instances or pages)[0].path,
        instance=instance,
        pages=page_names,
        schema=schema,
        presentation=_select_effective_arcs(arcs_by_linkbase["presentation"]),
        calculation=_select_effective_arcs(arcs_by_linkbase["calculation"]),
        definition=_select_effective_arcs(arcs_by_linkbase["definition"]),
        labels=labels,
    )
    digest = hashlib.sha256(b"".join(sorted(digests))).digest()
    report = filed_report.build_report(parsed_documents, sha256=digest, count=len(digests))
    return replace(report, notes=notes)


def _list_extracted_pages(instance_name: str) -> list[str]:
    """Return the name of the page that an instance was extracted from, or no name.

    EDGAR names the instance of aapl-20240928.htm aapl-20240928_htm.xml and copies the ids of the elements.
    """
    stem, _, extension = instance_name.rpartition(".")
    return [f"{stem.removesuffix('_htm')}.htm"] if extension == "xml" and stem.endswith("_htm") else []


def _describe_unknown_texts(instance: xbrl.Instance) -> list[str]:
    if not instance.unknown_texts:
        return []
    left_out = format_count(len(instance.unknown_texts), "text is left out", "texts are left out")
    return [f"{left_out}, the first: {instance.unknown_texts[0]}"]


def _compare_pages(instance: xbrl.Instance, inline_pages: Sequence[xbrl.InlinePage]) -> list[str]:
    """Return a note if the inline pages of a filing do not have the same figures as its extracted instance."""
    try:
        page_instance = xbrl.parse_inline(inline_pages)
    except ParseError as error:
        return [f"the inline page is not compared with the instance: {outcomes.format_reason(error)}"]
    differences = xbrl.list_differences(page_instance, instance)
    if not differences:
        return []
    figures = format_count(len(differences), "figure of the inline page differs", "figures of the inline page differ")
    return [f"{figures} from the instance, the first: {differences[0]}"]


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
            Fact(
                concept=fact_row["concept"],
                context=context_index,
                unit=fact_row["unit"],
                value=fact_row["value"],
                decimals=fact_row["decimals"],
                element_id=fact_row["element_id"],
                page=fact_row["page"] or 0,
            )
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
        pages=json.loads(row["pages"]),
        conflicts=[
            FactConflict(conflict["position"], conflict["value"])
            for conflict in tx.list_rows("pack_fact_conflicts", report_id=row["id"])
        ],
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
    notes = [*report.notes] if filed.filed_at else [UNDATED_NOTE, *report.notes]
    return "; ".join(notes) or None


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
