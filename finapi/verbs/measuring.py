"""accuracy: how right the figures made of a folder of documents are."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from finapi import config as settings
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Perform, Verb, one_line

# The share of rows that must be exactly right, in per cent.
ENOUGH = 98.0


def _arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="folder of documents to read into a store of its own")
    parser.add_argument(
        "--truth", help="table of expected figures (default: ../truth/figures.tsv beside PATH)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def _accuracy(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    report = measured(Path(args.path), Path(args.truth) if args.truth else None, say)
    if args.json:
        say("out", json.dumps(report))
    else:
        for line in _lines(report):
            say("out", one_line(line))
    return 0 if report["figures"]["total"]["accuracy_pct"] >= ENOUGH else 1


def measured(path: Path, truth: Path | None, say: Say) -> dict[str, Any]:
    """The report on a folder: read into a store in memory, compared with a table, its totals proved."""
    from finapi import app as apps
    from finapi.clock import SystemClock
    from finapi.market import accuracy, company_books, ingest

    truth = truth or path.parent / "truth" / "figures.tsv"
    if not path.exists() or not truth.is_file():
        raise UsageError(f"{truth if path.exists() else path}: is not there")
    rows = accuracy.expected(truth.read_text(encoding="utf-8"), str(truth))
    app = apps.in_memory(Config(), SystemClock())
    try:
        ingest.run(app, [path], ingest.Given(), lambda outcome: say("progress", one_line(outcome.path)))
        say("progress", "")
        with app.db.read() as tx:
            held = company_books.all_of(tx)
        figures = accuracy.compared(rows, lambda cik: held.get(cik, (None, None))[1])
        named = [(name, one) for name, one in held.values() if name is not None and one is not None]
        return {"figures": figures.shown(), "identities": accuracy.identities(named)}
    finally:
        app.db.close()


def _lines(report: dict[str, Any]) -> list[str]:
    figures = report["figures"]
    lines = ["figures against the table       rows  right  accuracy  expected  given  coverage"]
    for group in ("by_metric", "by_company"):
        lines += [_score(name, one) for name, one in figures[group].items()]
    lines += [_score("total", figures["total"]), ""]
    for miss in figures["misses"]:
        lines.append(
            f"miss: {miss['company']} {miss['metric']} {miss['period']} {miss['basis']}: expected "
            f"{miss['expected']}, given {miss['given']}: {miss['why']}. {miss['note']}"
        )
    lines += ["", "totals that add up              checked  consistent"]
    for industry, totals in report["identities"].items():
        for target, one in totals.items():
            lines.append(f"{industry + ' ' + target:38} {one['checked']:>6} {one['consistent']:>8}")
            lines += [
                f"  {left['company']} {left['period']}: {left['residual']} of {left['reported']}"
                for left in one["residuals"][:5]
            ]
    return lines


def _score(name: str, one: dict[str, Any]) -> str:
    return (
        f"{name:30} {one['rows']:>6} {one['right']:>6} {one['accuracy_pct']:>8}% "
        f"{one['expected']:>8} {one['given']:>6} {one['coverage_pct']:>8}%"
    )


ACCURACY = Verb("measure the figures made of a folder of documents", _arguments, _accuracy)
