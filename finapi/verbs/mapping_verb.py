"""mapping: what two versions of the mapping of metrics make of a data directory."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finapi.core.errors import UsageError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.store.datadir import Say
from finapi.verbs.verb import (
    Verb,
    arg,
    escape_unprintable,
    print_document,
    print_result,
    read_company_names,
    resolve_path,
)

if TYPE_CHECKING:
    from finapi.app import App
    from finapi.store.db import Transaction

# The cells of a company by one version.
CellsOf = Callable[["Transaction", int], dict[str, Any]]


def _mapping(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    return (_save if args.action == "save" else _diff)(app, args, directory, say)


def _save(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.financials import metric_mapping

    file, cells_of, number = resolve_path(directory, args.file), _by_mapping(None), 0
    if os.path.lexists(file):
        raise UsageError(f"{file}: File exists")
    sweep(file.parent)
    try:
        with TemporaryFolder("mapping", file.parent) as folder:
            with (folder / "file").open("x", encoding="utf-8") as stream:
                for cik, name in _companies(app, None, directory, say):
                    with app.db.read() as tx:
                        stream.write(json.dumps({"cik": cik, "company": name, "cells": cells_of(tx, cik)}) + "\n")
                    number += 1
            os.link(folder / "file", file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    version = metric_mapping.get_mapping().version
    return print_result(
        say, args, f"{file}: {number:,} companies by mapping {version}", companies=number, version=version
    )


def _diff(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.financials import mapping_diff

    if args.most < 0:
        raise UsageError("--most: must not be negative")
    before, after = (_version(directory, path) for path in (args.before, args.after))
    count = mapping_diff.ChangeCount()
    shown: list[mapping_diff.CellChange] = []
    for cik, name in _companies(app, args.companies, directory, say):
        with app.db.read() as tx:
            changes = mapping_diff.iter_changes(name, before(tx, cik), after(tx, cik), count)
            kept = list(islice(changes, args.most - len(shown)))
        # What is not shown is counted.
        for _ in changes:
            pass
        shown += kept
        for change in () if args.json else kept:
            for line in mapping_diff.render_change(change):
                say("out", escape_unprintable(line))
    if args.json:
        of = {f"{key} {what}": number for (key, what), number in sorted(count.changed.items())}
        return print_document(say, {"cells": count.cells, "moved": count.moved, "changed": of, "changes": shown})
    for line in mapping_diff.render_summary(count):
        say("out", line)
    return 0


def _companies(app: App, listed: str | None, directory: str, say: Say) -> Iterator[tuple[int, str]]:
    """The companies with facts, or those that a file lists: CIK and ticker, or name."""
    from finapi.market.financials import company_books
    from finapi.market.reference import companies

    with app.db.read() as tx:
        if listed is not None:
            found = [companies.resolve(tx, text) for text in read_company_names(directory, listed)]
        else:
            found = [companies.get_by_cik(tx, cik) for cik in company_books.list_ciks(tx)]
    for number, one in enumerate(found, 1):
        say("progress", f"{number} of {len(found)} companies")
        yield one.cik, one.ticker or one.name
    say("progress", "")


def _version(directory: str, path: str | None) -> CellsOf:
    """What tells cells by a version: a mapping (.toml, None: that in force), or what it made when it was saved."""
    from finapi.market.financials import metric_mapping

    if path is None:
        return _by_mapping(None)
    file = resolve_path(directory, path)
    try:
        if file.suffix != ".toml":
            return _saved(file)
        return _by_mapping(metric_mapping.parse_untrusted(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, re.error) as error:
        raise UsageError(f"{file}: is neither a mapping nor saved cells: {error}") from None


def _by_mapping(mapping: Any) -> CellsOf:
    from finapi.market.financials import company_books, mapping_diff

    return lambda tx, cik: mapping_diff.build_cells(company_books.load(tx, cik, mapping=mapping))


def _saved(file: Path) -> CellsOf:
    places: dict[int, int] = {}
    with file.open("rb") as stream:
        at = 0
        for line in stream:
            places[int(json.loads(line)["cik"])] = at
            at += len(line)

    def cells_of(tx: Transaction, cik: int) -> dict[str, Any]:
        if cik not in places:
            return {}
        with file.open("rb") as stream:
            stream.seek(places[cik])
            return json.loads(stream.readline())["cells"]  # type: ignore[no-any-return]

    return cells_of


_MAPPING = "a mapping (metrics.toml of a release), or cells saved by one"
MAPPING = Verb(
    "show which figures differ between two versions of the mapping, and why",
    work=_mapping,
    interrupt_note="nothing is written, and nothing has changed",
    actions={
        "save": (
            "write every cell with the tags and the rule behind it, to compare a later version with",
            (arg("file", metavar="FILE", help="a file that is not there yet"),),
        ),
        "diff": (
            "print the cells that change: before and after, by which tags and rule",
            (
                arg("before", metavar="BEFORE", help=_MAPPING),
                arg("after", metavar="AFTER", nargs="?", help=f"{_MAPPING}; without it the mapping in force"),
                arg("--companies", metavar="FILE", help="only those that a file lists"),
                arg(
                    "--most", type=int, default=1000, metavar="N", help="cells that are printed (1000); all are counted"
                ),
            ),
        ),
    },
)
