"""A quarter of the Financial Statement Data Sets into the store, a filing a transaction.

Rows of a filing stand anywhere in a table of up to a gigabyte. They are first dealt out to files, each of which
holds all rows of some filings and is small enough to be read at once: memory is bounded whatever the order.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from finapi import heartbeats
from finapi.app import App
from finapi.edgar import datasets
from finapi.edgar.datasets import Element, Figure, Line, Submission, Table
from finapi.errors import ParseError
from finapi.market import companies, kinds, report, store
from finapi.market.factsets import FSDS, SOURCES
from finapi.market.sources import MIB, Entry

SUB, NUM, PRE, TAG = "fsds-sub", "fsds-num", "fsds-pre", "fsds-tag"
KINDS = (SUB, NUM, PRE, TAG)

SHARE = 8 * MIB  # bytes of a table dealt to one file
MAX_SHARE = 48 * MIB  # a filing with more rows than this is none
MAX_FILES = 128  # open at once

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
_OPENING = re.compile(r"begin|start|opening", re.IGNORECASE)
_CLOSING = re.compile(r"\bend|clos", re.IGNORECASE)


MAX_NAMED = 20  # refused filings that are named one by one

Fate = Literal["ingested", "unchanged", "refused"]


class Told(NamedTuple):
    """What became of a table, or of a filing that was refused."""

    path: str
    kind: str
    outcome: Fate
    reason: str | None
    accession: str | None = None


class Result(NamedTuple):
    """What became of a filing: ``stored`` is None when it was refused, with the reason."""

    accession: str
    stored: bool | None
    reason: str | None = None


def told(app: App, tables: Sequence[tuple[str, Entry]]) -> Iterator[Told]:
    """Store a quarter given as its tables by kind, and tell what became of each."""
    by_kind = dict(tables)
    problem = None
    if len(by_kind) < len(tables):
        problem = "two tables of one kind lie in one folder"
    elif SUB not in by_kind or NUM not in by_kind:
        problem = "the tables sub and num of a data set belong together, and one is missing"
    counts = {True: 0, False: 0, None: 0}
    try:
        for result in ingest(app, by_kind) if problem is None else ():
            counts[result.stored] += 1
            if result.stored is None and counts[None] <= MAX_NAMED:
                yield Told(by_kind[NUM].path, NUM, "refused", result.reason, result.accession)
    except ParseError as error:
        problem = str(error)
    summary = f"{sum(counts.values())} filings: {counts[True]} ingested, {counts[False]} held already"
    if counts[None]:
        summary += f", {counts[None]} refused"
    fate: Fate = "refused" if problem else "ingested" if counts[True] else "unchanged"
    for kind, entry in tables:
        yield Told(entry.path, kind, fate, problem or summary)


def ingest(app: App, tables: Mapping[str, Entry]) -> Iterator[Result]:
    """Store every filing of a quarter; ParseError when its tables cannot be read at all.

    ``tables`` are by kind; ``tag`` and ``pre`` may be missing: without the first no line has a balance, without
    the second there are figures but no statements.
    """
    filings = {one.accession.encode(): one for one in datasets.submissions(_table(tables, SUB, datasets.SUB))}
    known = dict(datasets.elements(_table(tables, TAG, datasets.TAG))) if TAG in tables else {}
    figures = _table(tables, NUM, datasets.NUM)
    lines = _table(tables, PRE, datasets.PRE) if PRE in tables else None
    files = min(MAX_FILES, 1 + max(tables[kind].size for kind in (NUM, PRE) if kind in tables) // SHARE)
    with tempfile.TemporaryDirectory(prefix="finapi-") as folder:
        dealt = [
            (table, _dealt(table, Path(folder) / str(number), files, filings))
            for number, table in enumerate((figures, lines))
            if table is not None
        ]
        for number in range(files):
            of_filings = [_by_filing(table, places[number]) for table, places in dealt]
            for accession in sorted(set().union(*of_filings)):
                rows = [found.get(accession, []) for found in of_filings]
                yield _filing(app, filings[accession], (figures, lines), rows, known)


def _table(tables: Mapping[str, Entry], kind: str, columns: Sequence[str]) -> Table:
    return Table(tables[kind].lines(), tables[kind].path, columns)


def _dealt(table: Table, stem: Path, files: int, filings: Mapping[bytes, Submission]) -> list[Path]:
    """The table's lines in files, all of a filing in one; those of filings that ``sub`` lacks are left out."""
    places = [stem.with_suffix(f".{number}") for number in range(files)]
    with ExitStack() as stack:
        streams = [stack.enter_context(place.open("wb")) for place in places]
        for line in table.lines():
            accession = table.accession_of(line)
            if accession in filings:
                streams[zlib.crc32(accession) % files].write(line.rstrip(b"\r\n") + b"\n")
    return places


def _by_filing(table: Table, place: Path) -> dict[bytes, list[bytes]]:
    if place.stat().st_size > MAX_SHARE:
        raise ParseError(table.file, "", "has more rows of one filing than any filing")
    found: dict[bytes, list[bytes]] = {}
    with place.open("rb") as stream:
        for line in stream:
            found.setdefault(table.accession_of(line), []).append(line)
    place.unlink()
    return found


def _filing(
    app: App,
    filing: Submission,
    tables: tuple[Table, Table | None],
    rows: Sequence[list[bytes]],
    known: dict[tuple[str, str], Element],
) -> Result:
    figure_table, line_table = tables
    try:
        figures = [datasets.figure(figure_table, row, known) for row in rows[0]]
        lines = [datasets.line_of(line_table, row, known) for row in rows[1]] if line_table else []
        made = assembled(filing, figures, lines, figure_table.file, _digest(filing, rows))
    except ParseError as error:
        return Result(
            filing.accession, None, f"{error.place}: {error.reason}" if error.place else error.reason
        )
    now = app.clock.now()
    with app.db.write() as tx:
        filed = store.Filed(filing.accession, filing.filed, filing.accepted, filing.form)
        stored = store.put(tx, made, filed, now)
        told = companies.Attributes(filing.sic, filing.fiscal_year_end, filing.state)
        companies.put_attributes(tx, filing.cik, told, 0, filing.filed)
        if stored:
            heartbeats.arrived(tx, "xbrl_run", now)
    return Result(filing.accession, stored)


def _digest(filing: Submission, rows: Sequence[list[bytes]]) -> bytes:
    """Over the rows of a filing, in whatever order they stood."""
    digest = hashlib.sha256(repr(filing).encode())
    for row in sorted(row for of_table in rows for row in of_table):
        digest.update(row)
    return digest.digest()


def assembled(
    filing: Submission, figures: Sequence[Figure], lines: Sequence[Line], file: str, digest: bytes
) -> report.Report:
    """The report that a filing's rows make; ParseError when it is larger than any filing."""
    places: dict[tuple[str | None, str, report.Dimensions], int] = {}
    facts: dict[tuple[str, int, str], report.Fact] = {}
    # Sorted, so that the place of a row in its table means nothing.
    for figure in sorted(
        figures, key=lambda one: (one.end, one.start or "", one.dims, one.concept, one.unit)
    ):
        place = places.setdefault((figure.start, figure.end, figure.dims), len(places))
        key = (figure.concept, place, figure.unit)
        fact = report.Fact(*key, figure.value, None)
        facts[key] = max(facts.get(key, fact), fact, key=lambda one: (len(one.value or ""), one.value or ""))
    contexts = [report.Context(seq, *place) for seq, place in enumerate(places, 1)]
    instants = {one.concept for one in figures} - {one.concept for one in figures if one.start is not None}
    sections = _sections(lines, instants, _Reported(figures))
    return report.Report(
        cover=report.Cover(
            filing.cik, filing.name, filing.form, filing.period, filing.fiscal_year, filing.fiscal_period, ()
        ),
        source=SOURCES[FSDS],
        sha256=digest,
        documents=0,
        contexts=contexts,
        facts=list(facts.values()),
        sections=report.with_columns(file, sections, contexts, list(facts.values()), {}),
    )


class _Reported:
    """Which elements are reported without dimensions, and which with which."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.whole = {figure.concept for figure in figures if not figure.dims}
        self.parts: dict[report.Dimensions, set[str]] = {}
        for figure in figures:
            if figure.dims:
                self.parts.setdefault(figure.dims, set()).add(figure.concept)


def _sections(lines: Sequence[Line], instants: set[str], reported: _Reported) -> list[report.Section]:
    """The pages of a filing in their order; what stands in brackets under a title is a page of its own."""
    ordered = sorted(lines, key=lambda one: (one.report, one.parenthetical, one.line, one.label, one.concept))
    taken = {_KIND_OF.get(one.stmt) for one in lines if not one.parenthetical}
    sections = []
    for (_, parenthetical), page in groupby(ordered, key=lambda one: (one.report, one.parenthetical)):
        of_page = list(page)
        concepts = {line.concept for line in of_page}
        kind = _KIND_OF.get(of_page[0].stmt)
        if kind == "other" and not parenthetical:
            kind = _unclassified(concepts)
            kind = kind if kind not in taken else "other"
        if kind is not None and parenthetical:
            kind += kinds.PARENTHETICAL
        made = [*_entities(concepts, reported), *_lines(of_page, instants)]
        sections.append(report.Section("", "", kind, made, (), ()))
    named = kinds.settled([(one.kind, {line.concept for line in one.lines}) for one in sections])
    return [section._replace(kind=kind) for section, kind in zip(sections, named, strict=True)]


def _unclassified(concepts: set[str]) -> str:
    names = {concept.rpartition(":")[2] for concept in concepts}
    if names >= _BALANCE:
        return "balance"
    return "cash-flow" if any(name.startswith(_CASH_FLOW) for name in names) else "other"


def _entities(concepts: set[str], reported: _Reported) -> list[report.Line]:
    """Axes and members of a page on which nothing is reported of the whole: parent company, predecessor, segments.

    The sets do not say which dimensions a page presents: those that have at least half as many of its lines as
    the one that has most.
    """
    if concepts & reported.whole:
        return []
    shown = {dims: len(found & concepts) for dims, found in reported.parts.items()}
    most = max(shown.values(), default=0)
    kept = sorted((-count, dims) for dims, count in shown.items() if count and 2 * count >= most)[
        :MAX_ENTITIES
    ]
    axes: dict[str, dict[str, None]] = {}
    for _, dims in kept:
        for axis, member in dims:
            axes.setdefault(axis, {})[member] = None
    names = [name for axis, members in axes.items() for name in (axis, *members)]
    return [
        report.Line(name, 0, report.STRUCTURE, None, None, report.AS_IT_IS, False, None) for name in names
    ]


def _lines(page: Sequence[Line], instants: set[str]) -> list[report.Line]:
    of_concept: dict[str, list[Line]] = {}
    for line in page:
        of_concept.setdefault(line.concept, []).append(line)
    return [
        report.Line(
            concept=line.concept,
            depth=0,
            nature=report.ITEM,
            label=line.label or None,
            label_role=None,
            placement=_placement(line, of_concept[line.concept])
            if line.concept in instants
            else report.AS_IT_IS,
            negated=line.negating,
            balance=line.balance,
        )
        for line in page
    ]


def _placement(line: Line, alike: Sequence[Line]) -> int:
    """Whether a balance opens or closes the period: by what its label says, else by which comes first."""
    if _OPENING.search(line.label):
        return report.OPENS
    if _CLOSING.search(line.label):
        return report.CLOSES
    if len(alike) == 1:
        return report.AS_IT_IS
    return report.OPENS if line is alike[0] else report.CLOSES
