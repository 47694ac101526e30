"""A quarter of the Financial Statement Data Sets into the store, some filings a transaction.

Rows of a filing stand anywhere in a table of up to a gigabyte. They are first dealt out to files, each of which
holds all rows of some filings and is small enough to be read at once: memory is bounded whatever the order.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from datetime import datetime
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from finapi.app import App
from finapi.core import days, stopping
from finapi.core.errors import ParseError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.edgar import statement_sets
from finapi.edgar.statement_sets import DataSetTable, FigureContext, Figures, PreRow, SubRow, TagRow
from finapi.market.documents import outcomes
from finapi.market.documents.metadata import INDEX_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import MIB, Document, Entry
from finapi.market.reference import companies
from finapi.market.statements import fact_sets, filed_report, layout, report_store, statement_kinds
from finapi.market.statements.fact_sets import FSDS, SOURCE_NAMES
from finapi.store import heartbeats
from finapi.store.db import Transaction

SUB, NUM, PRE, TAG = "fsds-sub", "fsds-num", "fsds-pre", "fsds-tag"

SHARE = 8 * MIB  # bytes of a table dealt to one file
MAX_SHARE = 48 * MIB  # a filing with more rows than this is none
MAX_FILES = 128  # open at once
AT_ONCE = 20  # filings that are stored in one transaction: others wait for it some 40 ms

_KIND_OF = {
    "BS": "balance",
    "IS": "income",
    "CF": "cash-flow",
    "EQ": "equity",
    "CI": "comprehensive-income",
    "UN": "other",
}
# What a page that the sets call unclassified is, when the filing has no other of the kind.
_BALANCE = {"Assets", "LiabilitiesAndStockholdersEquity"}
_CASH_FLOW = "NetCashProvidedByUsedIn"

MAX_ENTITIES = 12  # dimensions that make columns of a page without figures of the whole

# The sets do not say which of two lines of one element is the opening balance and which the closing one.
MONTH = 31  # days that a start may be reckoned wrong by
_OPENING = re.compile(r"begin|start|opening", re.IGNORECASE)
_CLOSING = re.compile(r"\bend|clos", re.IGNORECASE)

_IN_ORDER = attrgetter("report", "is_parenthetical", "line", "label", "concept")

MAX_NAMED = 20  # refused filings that are named one by one


class IngestResult(NamedTuple):
    """What became of a filing: ``stored`` is None when it was refused, with the reason."""

    accession: str
    stored: bool | None
    reason: str | None = None


def ingest_quarter(app: App, documents: Sequence[Document], only: Set[int] | None = None) -> Iterator[Outcome]:
    """Store a quarter given as its tables, or some companies' filings in it; what became of each table, and of filings
    that were refused one by one.
    """
    by_kind = {document.kind: document.entry for document in documents}
    problem = None
    if len(by_kind) < len(documents):
        problem = "two tables of one kind lie in one folder"
    elif SUB not in by_kind or NUM not in by_kind:
        problem = "the tables sub and num of a data set belong together, and one is missing"
    counts = {True: 0, False: 0, None: 0}
    try:
        for result in ingest_filings(app, by_kind, only) if problem is None else ():
            counts[result.stored] += 1
            if result.stored is None and counts[None] <= MAX_NAMED:
                yield Outcome(by_kind[NUM].path, NUM, "refused", result.reason, result.accession)
    except ParseError as error:
        problem = str(error)
    summary = f"{sum(counts.values())} filings: {counts[True]} ingested, {counts[False]} held already"
    if counts[None]:
        summary += f", {counts[None]} refused"
    for document in documents:
        if problem:
            yield outcomes.refuse(document, problem.removeprefix(f"{document.path}: "))
        else:
            yield outcomes.for_document(document, counts[True] > 0, summary)


def ingest_filings(app: App, tables: Mapping[str, Entry], only: Set[int] | None = None) -> Iterator[IngestResult]:
    """Store the filings of a quarter, or those of some companies; ParseError when its tables cannot be read at all.

    ``tables`` are by kind; ``tag`` and ``pre`` may be missing: without the first no line has a balance, without
    the second there are figures but no statements.
    """
    listed = statement_sets.iter_submissions(_table(tables, SUB, statement_sets.SUB_COLUMNS))
    filings = {one.accession.encode(): one for one in listed if only is None or one.cik in only}
    if not filings:
        return
    known = dict(statement_sets.iter_elements(_table(tables, TAG, statement_sets.TAG_COLUMNS))) if TAG in tables else {}
    readers = _Readers(
        _table(tables, NUM, statement_sets.NUM_COLUMNS),
        _table(tables, PRE, statement_sets.PRE_COLUMNS) if PRE in tables else None,
        known,
    )
    files = min(MAX_FILES, 1 + max(tables[kind].size for kind in (NUM, PRE) if kind in tables) // SHARE)
    done = 0
    # Beside the database, where there is room for it and a start finds what a kill left.
    beside = app.db.path and app.db.path.parent
    sweep(beside)
    with TemporaryFolder("ingest", beside) as folder:
        dealt = [
            (table, _dealt(table, folder / str(number), files, filings)) for number, table in enumerate(readers.tables)
        ]
        for number in range(files):
            of_filings = [_by_filing(table, places[number]) for table, places in dealt]
            accessions = iter(sorted(set().union(*of_filings)))
            while some := list(islice(accessions, AT_ONCE)):
                stopping.check()
                parts = [(filings[one], [found.get(one, b"") for found in of_filings]) for one in some]
                yield from _stored(app, [(filing, readers.report(filing, rows)) for filing, rows in parts])
                tables[SUB].report_progress("filings", done := done + len(some), len(filings))


def _table(tables: Mapping[str, Entry], kind: str, columns: Sequence[str]) -> DataSetTable:
    return DataSetTable(tables[kind].iter_lines(), tables[kind].path, columns)


def _dealt(table: DataSetTable, stem: Path, files: int, filings: Mapping[bytes, SubRow]) -> list[Path]:
    """The lines of filings that ``sub`` has, in files, all of a filing in one, behind its number and their bytes."""
    places = [stem.with_suffix(f".{number}") for number in range(files)]
    with ExitStack() as stack:
        streams = [stack.enter_context(place.open("wb")) for place in places]
        for held in table.iter_batches(filings, SHARE):
            for accession, lines in held.items():
                if lines:
                    rows = b"\n".join(lines) + b"\n"
                    streams[zlib.crc32(accession) % files].write(b"%b %d\n%b" % (accession, len(rows), rows))
    return places


def _by_filing(table: DataSetTable, place: Path) -> dict[bytes, bytes]:
    if place.stat().st_size > MAX_SHARE:
        raise ParseError(table.file, "", "has more rows for one filing than any filing could")
    found: dict[bytes, list[bytes]] = {}
    with place.open("rb") as stream:
        while head := stream.readline():
            accession, size = head.split()
            found.setdefault(accession, []).append(stream.read(int(size)))
    place.unlink()
    return {accession: b"".join(parts) for accession, parts in found.items()}


class _Readers:
    """What makes reports of rows: those of ``num``, and of ``pre`` where it is there."""

    def __init__(self, num: DataSetTable, pre: DataSetTable | None, known: Mapping[tuple[str, str], TagRow]) -> None:
        self.tables = [num] if pre is None else [num, pre]
        self._figures = statement_sets.NumReader(num, known)
        self._lines = None if pre is None else statement_sets.PreReader(pre, known)

    def report(self, filing: SubRow, rows: Sequence[bytes]) -> filed_report.Report | ParseError:
        """The report that a filing's rows of each table make, or why they make none."""
        try:
            texts = [
                table.decode_lines(of_table) if of_table else []
                for table, of_table in zip(self.tables, rows, strict=True)
            ]
            figures = self._figures.read_figures(texts[0])
            lines = self._lines.read_lines(texts[1]) if self._lines else []
            return build_report(filing, figures, lines, self.tables[0].file, _digest(filing, texts))
        except ParseError as error:
            return error


def _stored(app: App, some: Sequence[tuple[SubRow, filed_report.Report | ParseError]]) -> Iterator[IngestResult]:
    """Store filings in one transaction: a commit for each would be a third of the work."""
    now = app.clock.now()
    with app.db.write() as tx:
        known: fact_sets.KnownIds = {}
        found = [_put(tx, filing, made, now, known) for filing, made in some]
    yield from found


def _put(
    tx: Transaction, filing: SubRow, made: filed_report.Report | ParseError, now: datetime, known: fact_sets.KnownIds
) -> IngestResult:
    if isinstance(made, ParseError):
        return IngestResult(filing.accession, None, outcomes.format_reason(made))
    filed = FilingMetadata(
        filing.accession, INDEX_EVIDENCE, form=filing.form, filed_at=filing.filed, accepted_at=filing.accepted
    )
    stored = report_store.upsert_report(tx, made, filed, now, known)
    told = companies.FiledAttributes(filing.sic, filing.fiscal_year_end, filing.state)
    companies.update_attributes(tx, filing.cik, told, 0, filing.filed)
    if stored:
        heartbeats.record_arrival(tx, "xbrl_run", now)
    return IngestResult(filing.accession, stored)


def _digest(filing: SubRow, rows: Sequence[list[str]]) -> bytes:
    """Over the rows of a filing, in whatever order they stood."""
    ordered = sorted(row for of_table in rows for row in of_table)
    return hashlib.sha256((repr(filing) + "\n".join([*ordered, ""])).encode()).digest()


def build_report(
    filing: SubRow, figures: Figures, lines: Sequence[PreRow], file: str, digest: bytes
) -> filed_report.Report:
    """The report that a filing's rows make; ParseError when it is larger than any filing."""
    figures = _opened(figures, lines)
    # Sorted, so that the place of a row in its table means nothing.
    places = sorted(figures, key=lambda place: (place[1], place[0] or "", place[2]))
    contexts = [layout.Context(seq, *place) for seq, place in enumerate(places, 1)]
    values = [
        filed_report.Fact(concept, seq, unit, value, None)
        for seq, place in enumerate(places)
        for (concept, unit), value in figures[place].items()
    ]
    reported = _Reported(figures)
    instants = reported.at({place for place in places if place[0] is None})
    instants -= reported.at({place for place in places if place[0] is not None})
    sections = filed_report.add_columns(file, _sections(lines, instants, reported), contexts, values, {})
    return filed_report.Report(
        cover=filed_report.Cover(
            filing.cik, filing.name, filing.form, filing.period, filing.fiscal_year, filing.fiscal_period, ()
        ),
        source=SOURCE_NAMES[FSDS],
        sha256=digest,
        documents=0,
        contexts=contexts,
        facts=values,
        sections=_with_parts(file, sections, contexts, values, reported),
    )


def _opened(figures: Figures, lines: Sequence[PreRow]) -> Figures:
    """Figures whose periods begin after the balance that opens them: that day is held, and the start is reckoned back
    from the end by whole quarters, which the years and quarters of so many weeks are not."""
    cash = {line.concept for line in lines if line.stmt == "CF" and _said(line.label) == layout.OPENING}
    held = [(end, of_place) for (start, end, dims), of_place in figures.items() if start is None and not dims]
    balances = sorted(days.number(end) for end, of_place in held if any(concept in cash for concept, _ in of_place))
    starts: dict[tuple[str | None, str], str] = {}
    for start, end in {place[:2] for place in figures if place[0] is not None} if balances else ():
        last = days.number(start or "") - 1
        near = balances[bisect_left(balances, last - MONTH) : bisect_right(balances, last + MONTH)]
        if len(near) == 1 and near[0] < days.number(end):
            starts[start, end] = days.iso(near[0] + 1)
    # Periods with one end differ by quarters: none is moved to where another stands.
    return {(starts.get((start, end), start), end, dims): of_place for (start, end, dims), of_place in figures.items()}


def _with_parts(
    file: str,
    sections: Sequence[layout.Section],
    contexts: Sequence[layout.Context],
    facts: Sequence[filed_report.Fact],
    reported: _Reported,
) -> list[layout.Section]:
    """The sections with the dimensioned columns of lines that are only told with dimensions, in their own periods."""
    axes = [_parts(section, reported) for section in sections]
    if not any(axes):
        return list(sections)
    pairs = list(zip(axes, sections, strict=True))
    # Only of what is wider the columns are asked for: the other pages have theirs.
    wider = [
        section._replace(lines=[*found, *section.lines]) if found else section._replace(kind=None)
        for found, section in pairs
    ]
    made = []
    for (found, section), wide in zip(pairs, filed_report.add_columns(file, wider, contexts, facts, {}), strict=True):
        periods = {(column.start, column.end) for column in section.columns}
        parts = [column for column in wide.columns if column.dims and (column.start, column.end) in periods]
        whole = section._replace(lines=wide.lines, columns=[*section.columns, *parts])
        made.append(whole if found and parts else section)
    return made


def _parts(section: layout.Section, reported: _Reported) -> list[layout.Line]:
    """Axes and members of lines that are only told with dimensions, on a page of which others are told without."""
    concepts = {line.concept for line in section.lines if line.nature == layout.ITEM}
    only = concepts - reported.whole
    return _axes(only, reported, every=True) if section.kind and only != concepts else []


class _Reported:
    """Which elements are reported without dimensions, and which with which."""

    def __init__(self, figures: Figures) -> None:
        self._concepts = {place: {concept for concept, _ in of_place} for place, of_place in figures.items()}
        self.whole = self.at({place for place in figures if not place[2]})
        self.parts: dict[layout.Dimensions, set[str]] = {}
        for place, concepts in self._concepts.items():
            if place[2]:
                self.parts.setdefault(place[2], set()).update(concepts)

    def at(self, places: Iterable[FigureContext]) -> set[str]:
        """The elements of some periods."""
        return set().union(*(self._concepts[place] for place in places))


def _sections(lines: Sequence[PreRow], instants: set[str], reported: _Reported) -> list[layout.Section]:
    """The pages of a filing in their order; what stands in brackets under a title is a page of its own."""
    ordered = sorted(lines, key=_IN_ORDER)
    taken = {_KIND_OF.get(one.stmt) for one in lines if not one.is_parenthetical}
    sections = []
    for (_, parenthetical), page in groupby(ordered, key=lambda one: (one.report, one.is_parenthetical)):
        of_page = list(page)
        concepts = {line.concept for line in of_page}
        kind = _KIND_OF.get(of_page[0].stmt)
        if kind == "other" and not parenthetical:
            kind = _unclassified(concepts)
            kind = kind if kind not in taken else "other"
        if kind is not None and parenthetical:
            kind += statement_kinds.PARENTHETICAL_SUFFIX
        made = [*_entities(concepts, reported), *_lines(of_page, instants)]
        sections.append(layout.Section("", "", kind, made, (), ()))
    named = statement_kinds.resolve_kinds([(one.kind, {line.concept for line in one.lines}) for one in sections])
    return [section._replace(kind=kind) for section, kind in zip(sections, named, strict=True)]


def _unclassified(concepts: set[str]) -> str:
    names = {concept.rpartition(":")[2] for concept in concepts}
    if names >= _BALANCE:
        return "balance"
    return "cash-flow" if any(name.startswith(_CASH_FLOW) for name in names) else "other"


def _entities(concepts: set[str], reported: _Reported) -> list[layout.Line]:
    """Axes and members of a page on which nothing is reported of the whole: parent company, predecessor, segments.

    The sets do not say which dimensions a page presents: those that have at least half as many of its lines as
    the one that has most.
    """
    return [] if concepts & reported.whole else _axes(concepts, reported)


def _axes(concepts: set[str], reported: _Reported, *, every: bool = False) -> list[layout.Line]:
    shown = {dims: len(found & concepts) for dims, found in reported.parts.items()}
    most = max(shown.values(), default=0)
    ordered = sorted((dims for dims, count in shown.items() if count), key=lambda dims: (-shown[dims], dims))
    kept = [dims for dims in ordered if 2 * shown[dims] >= most][:MAX_ENTITIES]
    told = set().union(*(reported.parts[dims] for dims in kept))
    # A line that none of them tells has the dimensions that tell most beside it.
    for dims in ordered if every else ():
        if len(kept) < MAX_ENTITIES and not reported.parts[dims] & concepts <= told:
            kept.append(dims)
            told |= reported.parts[dims]
    axes: dict[str, dict[str, None]] = {}
    for dims in kept:
        for axis, member in dims:
            axes.setdefault(axis, {})[member] = None
    names = [name for axis, members in axes.items() for name in (axis, *members)]
    return [layout.Line(name, 0, layout.STRUCTURE, None, None, layout.AS_DATED, False, None) for name in names]


def _lines(page: Sequence[PreRow], instants: set[str]) -> list[layout.Line]:
    of_concept: dict[str, list[PreRow]] = {}
    for line in page:
        if line.concept in instants:
            of_concept.setdefault(line.concept, []).append(line)
    made = []
    for line in page:
        placement = _placement(line, of_concept[line.concept]) if line.concept in of_concept else layout.AS_DATED
        label, balance = line.label or None, line.balance
        made.append(layout.Line(line.concept, 0, layout.ITEM, label, None, placement, line.is_negated, balance))
    return made


def _placement(line: PreRow, alike: Sequence[PreRow]) -> int:
    """Whether a balance opens or closes the period: by what its label says, else by which comes first."""
    said = _said(line.label)
    if said != layout.AS_DATED or len(alike) == 1:
        return said
    return layout.OPENING if line is alike[0] else layout.CLOSING


@lru_cache(maxsize=20_000)
def _said(label: str) -> int:
    if _OPENING.search(label):
        return layout.OPENING
    return layout.CLOSING if _CLOSING.search(label) else layout.AS_DATED
