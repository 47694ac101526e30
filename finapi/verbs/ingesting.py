"""ingest: the SEC's documents into the store."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from datetime import date
from typing import Any

from finapi.app import App
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Verb, one_line, typed_path


def _ingest_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder or zip; recognised by content")
    parser.add_argument("--accession", help="accession number of the one filing given")
    parser.add_argument("--filed", help="its filing date, YYYY-MM-DD")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def _ingest(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import ingest

    given = _given(args)
    outcomes: list[ingest.Outcome] = []

    def tell(outcome: ingest.Outcome) -> None:
        outcomes.append(outcome)
        say("progress", one_line(f"{len(outcomes)} files, {outcome.path}"))
        if not args.json:
            line = _outcome_line(outcome)
            say("progress", "")
            say("err" if outcome.outcome == "refused" else "out", line)

    counts = ingest.run(app, [typed_path(directory, path) for path in args.paths], given, tell)
    say("progress", "")
    if args.json:
        files = [asdict(outcome) for outcome in outcomes]
        say("out", json.dumps({"files": files, "counts": counts}))
    else:
        say("out", ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if counts["refused"] or not outcomes else 0


def _given(args: argparse.Namespace) -> Any:
    from finapi.edgar import identity
    from finapi.market import ingest

    accession = None
    if args.accession is not None:
        accession = identity.accession(args.accession)
        if accession is None:
            raise UsageError(
                f"--accession: {args.accession!r} is not an accession number (0000320193-25-000057)"
            )
    if args.filed is not None:
        try:
            if date.fromisoformat(args.filed).isoformat() != args.filed:
                raise ValueError
        except ValueError:
            raise UsageError(f"--filed: {args.filed!r} is not a date (YYYY-MM-DD)") from None
    return ingest.Given(accession, args.filed)


def _outcome_line(outcome: Any) -> str:
    parts = [f"{outcome.outcome:9}", outcome.path, f"({outcome.kind})"]
    if outcome.accession:
        parts.append(outcome.accession)
    # Names come from files: they must not write to the terminal.
    return one_line(" ".join(parts) + (f": {outcome.reason}" if outcome.reason else ""))


INGEST = Verb("store documents of the SEC: files, folders, zips", _ingest_arguments, work=_ingest)
