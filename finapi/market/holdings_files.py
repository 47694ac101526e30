"""Which 13F documents of a folder are one filing: a cover and its table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from finapi.edgar import identity, thirteenf
from finapi.errors import ParseError
from finapi.market import holdings_report
from finapi.market.holdings_report import HoldingsReport

COVER, TABLE = "13f-cover", "13f-table"
KINDS = (COVER, TABLE)


@dataclass(frozen=True, slots=True)
class File:
    """A document of one of :data:`KINDS`; ``index`` is the caller's name for it."""

    index: int
    kind: str
    path: str
    name: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Filing:
    """The files of one filing, and the report that they make or the reason why they make none."""

    files: tuple[File, ...]
    report: HoldingsReport | None
    refusal: ParseError | None = None


def filings(files: Sequence[File]) -> Iterator[Filing]:
    """The filings among the 13F documents of a folder; every file is in exactly one.

    A lone cover and a lone table belong together: that is what a filing's folder on EDGAR holds. Of several,
    those do that carry one accession number in their names, and then those of which the table ties to the
    cover in count and value and to no other.
    """
    covers = [file for file in files if file.kind == COVER]
    tables = [file for file in files if file.kind == TABLE]
    if len(covers) <= 1 and len(tables) <= 1:
        yield _made(*covers, *tables)
        return
    for cover in list(covers):
        number = identity.accession_in_name(cover.name)
        same = [table for table in tables if number and identity.accession_in_name(table.name) == number]
        if len(same) == 1:
            covers.remove(cover)
            tables.remove(same[0])
            yield _made(cover, same[0])
    yield from _by_sums(covers, tables)


def _by_sums(covers: list[File], tables: list[File]) -> Iterator[Filing]:
    """The rest: by what the covers say that their tables sum to."""
    wanted: dict[tuple[int | None, int | None], list[File]] = {}
    for cover in covers:
        try:
            said = thirteenf.cover(cover.read(), cover.path)
        except ParseError as error:
            yield Filing((cover,), None, error)
            continue
        wanted.setdefault((said.entry_total, said.value_total), []).append(cover)
    for table in tables:
        try:
            rows = thirteenf.table(table.read(), table.path)
        except ParseError as error:
            yield Filing((table,), None, error)
            continue
        ties = wanted.get((len(rows), sum(row.value for row in rows)), [])
        yield _made(ties.pop(), table) if len(ties) == 1 else _made(table)
    for left in wanted.values():
        yield from (_made(cover) for cover in left)


def _made(*files: File) -> Filing:
    covers = [file for file in files if file.kind == COVER]
    if not covers:
        reason = "is the table of a 13F without its cover, which alone says whose it is and of which quarter"
        return Filing(files, None, ParseError(files[0].path, "", reason))
    rows = None
    digests = []
    try:
        for file in files:
            # Blank lines around a document are its envelope's: a bare file and the same one inside a full
            # submission are one content.
            data = file.read().strip()
            digests.append(hashlib.sha256(data).digest())
            if file.kind == COVER:
                cover = thirteenf.cover(data, file.path)
            else:
                rows = thirteenf.table(data, file.path)
        digest = hashlib.sha256(b"".join(sorted(digests))).digest()
        report = holdings_report.assemble(cover, rows, digest, len(files), covers[0].path)
        return Filing(files, report)
    except ParseError as error:
        return Filing(files, None, error)
