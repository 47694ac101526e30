"""The verb mapping: compare the figures that two versions of the metric mapping compute.

``save`` writes the cells (metric values) of every company to a file, one line of JSON for each company. ``diff``
compares two versions, each of which is a mapping (``metrics.toml``) or such a file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finapi.core.counts import format_count
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

# A function that returns the cells of a company (by CIK) according to one version of the mapping.
BuildCells = Callable[["Transaction", int], dict[str, Any]]


def _run_mapping(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    run_action = _save_cells if args.action == "save" else _print_differences
    return run_action(app, args, directory, say)


def _save_cells(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.financials import metric_mapping

    file = resolve_path(directory, args.file)
    build_cells = _use_mapping(None)
    company_count = 0
    if os.path.lexists(file):
        raise UsageError(f"{file}: File exists")
    sweep(file.parent)
    try:
        with TemporaryFolder("mapping", file.parent) as folder:
            with (folder / "file").open("x", encoding="utf-8") as stream:
                for cik, name in _iter_companies(app, None, directory, say):
                    with app.db.read() as tx:
                        cells = build_cells(tx, cik)
                    stream.write(json.dumps({"cik": cik, "company": name, "cells": cells}) + "\n")
                    company_count += 1
            os.link(folder / "file", file)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    version = metric_mapping.get_mapping().version
    line = f"{file}: {format_count(company_count, 'company', 'companies')} by mapping {version}"
    return print_result(say, args, line, companies=company_count, version=version)


def _print_differences(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.financials import mapping_diff

    if args.most < 0:
        raise UsageError("--most: must not be negative")
    before = _open_version(directory, args.before)
    after = _open_version(directory, args.after)
    count = mapping_diff.ChangeCount()
    printed_changes: list[mapping_diff.CellChange] = []
    for cik, name in _iter_companies(app, args.companies, directory, say):
        with app.db.read() as tx:
            changes = mapping_diff.iter_changes(name, before(tx, cik), after(tx, cik), count)
            changes_to_print = list(islice(changes, args.most - len(printed_changes)))
        # Consume the remaining changes without printing them, so that the iterator counts them.
        for _ in changes:
            pass
        printed_changes += changes_to_print
        if not args.json:
            for change in changes_to_print:
                for line in mapping_diff.render_change(change):
                    say("out", escape_unprintable(line))
    if args.json:
        changed_counts = {f"{key} {kind}": number for (key, kind), number in sorted(count.changed.items())}
        return print_document(
            say,
            {
                "cells": count.cells,
                "moved": count.moved,
                "changed": changed_counts,
                "changes": printed_changes,
            },
        )
    for line in mapping_diff.render_summary(count):
        say("out", line)
    return 0


def _iter_companies(app: App, list_path: str | None, directory: str, say: Say) -> Iterator[tuple[int, str]]:
    """Yield (CIK, ticker or name) of the companies that a file lists, or of all companies with facts."""
    from finapi.market.financials import company_books
    from finapi.market.reference import companies

    with app.db.read() as tx:
        if list_path is not None:
            selected = [companies.resolve(tx, text) for text in read_company_names(directory, list_path)]
        else:
            selected = [companies.get_by_cik(tx, cik) for cik in company_books.list_ciks(tx)]
    for number, company in enumerate(selected, 1):
        say("progress", f"{number} of {format_count(len(selected), 'company', 'companies')}")
        yield company.cik, company.ticker or company.name
    say("progress", "")


def _open_version(directory: str, path: str | None) -> BuildCells:
    """Return the function that builds cells for one version.

    ``path`` is a mapping (a .toml file), a file of saved cells, or None for the current mapping.
    """
    from finapi.market.financials import metric_mapping

    if path is None:
        return _use_mapping(None)
    file = resolve_path(directory, path)
    try:
        if file.suffix != ".toml":
            return _use_saved_cells(file)
        return _use_mapping(metric_mapping.parse_untrusted(file.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, re.error) as error:
        raise UsageError(f"{file}: is neither a mapping nor saved cells: {error}") from None


def _use_mapping(mapping: Any) -> BuildCells:
    from finapi.market.financials import company_books, mapping_diff

    return lambda tx, cik: mapping_diff.build_cells(company_books.load(tx, cik, mapping=mapping))


def _use_saved_cells(file: Path) -> BuildCells:
    """Return a function that reads the cells of a company from ``file``. Only line offsets are kept in memory."""
    offsets: dict[int, int] = {}
    with file.open("rb") as stream:
        offset = 0
        for line in stream:
            offsets[int(json.loads(line)["cik"])] = offset
            offset += len(line)

    def read_cells(tx: Transaction, cik: int) -> dict[str, Any]:
        if cik not in offsets:
            return {}
        with file.open("rb") as stream:
            stream.seek(offsets[cik])
            return json.loads(stream.readline())["cells"]  # type: ignore[no-any-return]

    return read_cells


_MAPPING = "a mapping (metrics.toml of a release), or cells saved by one"
MAPPING = Verb(
    "show which figures differ between two versions of the mapping, and why",
    work=_run_mapping,
    interrupt_note="nothing is written, and nothing has changed",
    actions={
        "save": (
            "write every cell with its tags and rule, to compare a later version with",
            (arg("file", metavar="FILE", help="a new file"),),
        ),
        "diff": (
            "print the cells that differ, with the tags and the rule of both versions",
            (
                arg("before", metavar="BEFORE", help=_MAPPING),
                arg("after", metavar="AFTER", nargs="?", help=f"{_MAPPING}; without it the mapping in force"),
                arg("--companies", metavar="FILE", help="only the companies that FILE lists"),
                arg(
                    "--most", type=int, default=1000, metavar="N", help="cells that are printed (1000); all are counted"
                ),
            ),
        ),
    },
)
