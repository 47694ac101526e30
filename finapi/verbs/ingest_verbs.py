"""The verbs ingest and pack: store documents of the SEC, and write stored reports into one compact file and back."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from finapi.core import days, stopping
from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.core.temporary import TemporaryFolder, sweep
from finapi.edgar.form_families import FAMILIES, XBRL
from finapi.store.datadir import Say
from finapi.verbs.verb import (
    ProgressBar,
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


def _run_ingest(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents.outcomes import Outcome
    from finapi.market.intake import ingest, latest_years_work

    instructions = _parse_instructions(app, args, directory)
    outcomes: list[Outcome] = []
    bar = ProgressBar(say)

    def report_outcome(outcome: Outcome) -> None:
        outcomes.append(outcome)
        say("progress", escape_unprintable(f"{format_count(len(outcomes), 'file')}, {outcome.path}"))
        if not args.json:
            say("progress", "")
            accession = f" {outcome.accession}" if outcome.accession else ""
            line = f"{outcome.outcome:9} {outcome.path} ({outcome.kind}){accession}"
            if outcome.reason:
                line += f": {outcome.reason}"
            # Escaped, as the name of a file may contain characters that control the terminal.
            say("err" if outcome.outcome == "refused" else "out", escape_unprintable(line))

    def print_report(**extra_fields: bool) -> dict[str, int]:
        """Print and return the number of documents by outcome. ``cut_off=True`` marks an interrupted ingest."""
        counts = ingest.count_outcomes(outcome.outcome for outcome in outcomes)
        bar.clear()
        if args.json:
            members = ("path", "kind", "outcome", "reason", "accession")
            files = [{name: getattr(outcome, name) for name in members} for outcome in outcomes]
            print_document(say, {"files": files, "counts": counts, **extra_fields})
        else:
            summary = ", ".join(f"{number} {name}" for name, number in counts.items())
            say("out", f"cut off: {summary}; all of it is stored, the rest is not" if extra_fields else summary)
        return counts

    try:
        paths = [resolve_path(directory, path) for path in args.paths]
        ingest.run(app, paths, instructions, report_outcome, bar.update)
        latest_years_work.compute_all_latest_years(app)
    except (KeyboardInterrupt, stopping.WorkStopped):
        print_report(cut_off=True)
        raise
    counts = print_report()
    return 1 if counts["refused"] or not outcomes else 0


def _parse_instructions(app: App, args: argparse.Namespace, directory: str) -> Any:
    """Return the accession number, filing day, ticker and companies given by the options. Raise UsageError."""
    from finapi.edgar import identifiers, tickers
    from finapi.market.documents.identification import IngestOptions
    from finapi.market.intake import fetch_queue, loading

    accession = None
    if args.accession is not None:
        accession = identifiers.parse_accession(args.accession)
        if accession is None:
            raise UsageError(f"--accession: {args.accession!r} is not an accession number (0000320193-25-000057)")
    if args.filed is not None and not days.is_day(args.filed):
        raise UsageError(f"--filed: {args.filed!r} is not a date (YYYY-MM-DD)")
    try:
        ticker = None if args.ticker is None else tickers.normalise(args.ticker)
    except ValueError as error:
        raise UsageError(f"--ticker: {error}") from None
    if args.only is None:
        return IngestOptions(accession, args.filed, ticker=ticker)
    if args.only == "followed":
        with app.db.read() as tx:
            ciks_by_name = {row["cik"]: int(row["cik"]) for row in fetch_queue.list_followed(tx)}
        unknown: list[str] = []
    else:
        ciks_by_name, unknown = loading.resolve_companies(app, read_company_names(directory, args.only))
    if unknown:
        raise UsageError(f"--only: unknown: {', '.join(unknown[:10])}")
    if not ciks_by_name:
        raise UsageError("--only: no company is followed")
    return IngestOptions(accession, args.filed, frozenset(ciks_by_name.values()), ticker)


def _run_pack(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents import packs

    file = resolve_path(directory, args.file)
    try:
        if args.action == "export":
            family, *other_families = args.families or [XBRL]
            if other_families:
                raise UsageError("all reports in one file must be of one kind")
            with app.db.read() as tx:
                data = packs.dump(tx, family)
            sweep(file.parent)
            with TemporaryFolder("export", file.parent) as folder:
                (folder / "file").write_bytes(data)
                (folder / "file").replace(file)
            return print_result(say, args, f"{file}: {len(data):,} bytes", file=str(file), bytes=len(data))
        stored = packs.load(app, file.read_bytes(), str(file))
        return print_result(say, args, f"{format_count(stored, 'report')} stored", file=str(file), reports=stored)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


_FILE = arg("file")
_FAMILY_OPTIONS = tuple(
    arg(
        f"--{family.name}",
        dest="families",
        action="append_const",
        const=family,
        help=f"{family.name} instead of XBRL reports",
    )
    for family in FAMILIES
    if family is not XBRL
)
INGEST = Verb(
    "store documents of the SEC: files, folders, zips",
    (
        arg("paths", nargs="+", metavar="PATH", help="file, folder or zip; recognised by content"),
        arg("--accession", help="accession number, if PATH is one filing"),
        arg("--filed", help="its filing date, YYYY-MM-DD"),
        arg("--ticker", help="ticker for files of prices that do not contain it"),
        arg("--only", metavar="FILE", help="only companies listed in FILE, for bulk files and quarters; or: followed"),
    ),
    work=_run_ingest,
    creates_directory=True,
)
PACK = Verb(
    "embedded data: every stored report in one compact file",
    work=_run_pack,
    interrupt_note="of load, the reports stored so far are kept, and the same command goes on",
    actions={
        "export": ("write every stored report into one compact file", (_FILE, *_FAMILY_OPTIONS)),
        "load": ("store the reports of such a file", (_FILE,)),
    },
)
