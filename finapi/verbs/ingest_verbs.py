"""ingest and pack: documents of the SEC into the store, and reports out of it and into it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from finapi.core import days, stopping
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


def _ingest(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents.outcomes import Outcome
    from finapi.market.intake import ingest
    from finapi.web.financials import screen

    given = _given(app, args, directory)
    outcomes: list[Outcome] = []
    bar = ProgressBar(say)

    def tell(outcome: Outcome) -> None:
        outcomes.append(outcome)
        say("progress", escape_unprintable(f"{len(outcomes)} files, {outcome.path}"))
        if not args.json:
            say("progress", "")
            accession = f" {outcome.accession}" if outcome.accession else ""
            line = f"{outcome.outcome:9} {outcome.path} ({outcome.kind}){accession}"
            # Names come from files: they must not write to the terminal.
            line = escape_unprintable(line + (f": {outcome.reason}" if outcome.reason else ""))
            say("err" if outcome.outcome == "refused" else "out", line)

    def report(**beside: bool) -> dict[str, int]:
        counts = ingest.count_outcomes(one.outcome for one in outcomes)
        bar.clear()
        if args.json:
            members = ("path", "kind", "outcome", "reason", "accession")
            files = [{name: getattr(one, name) for name in members} for one in outcomes]
            print_document(say, {"files": files, "counts": counts, **beside})
        else:
            told = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
            say("out", f"cut off: {told}; all of it is stored, the rest is not" if beside else told)
        return counts

    try:
        ingest.run(app, [resolve_path(directory, path) for path in args.paths], given, tell, bar.update)
        screen.keep_latest(app)
    except (KeyboardInterrupt, stopping.WorkStopped):
        report(cut_off=True)
        raise
    counts = report()
    return 1 if counts["refused"] or not outcomes else 0


def _given(app: App, args: argparse.Namespace, directory: str) -> Any:
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
            known, unknown = {row["cik"]: int(row["cik"]) for row in fetch_queue.list_followed(tx)}, list[str]()
    else:
        known, unknown = loading.resolve_companies(app, read_company_names(directory, args.only))
    if unknown or not known:
        raise UsageError("--only: " + (f"unknown: {', '.join(unknown[:10])}" if unknown else "no company is followed"))
    return IngestOptions(accession, args.filed, frozenset(known.values()), ticker)


def _pack(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents import packs

    file = resolve_path(directory, args.file)
    try:
        if args.action == "export":
            form, *more = args.forms or [XBRL]
            if more:
                raise UsageError("all reports in one file must be of one kind")
            with app.db.read() as tx:
                data = packs.dump(tx, form)
            sweep(file.parent)
            with TemporaryFolder("export", file.parent) as folder:
                (folder / "file").write_bytes(data)
                (folder / "file").replace(file)
            return print_result(say, args, f"{file}: {len(data)} bytes", file=str(file), bytes=len(data))
        stored = packs.load(app, file.read_bytes(), str(file))
        return print_result(say, args, f"{stored} reports stored", file=str(file), reports=stored)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


_FILE = arg("file")
_INSTEAD = tuple(
    arg(f"--{form.name}", dest="forms", action="append_const", const=form, help=f"{form.name} instead of XBRL reports")
    for form in FAMILIES
    if form is not XBRL
)
INGEST = Verb(
    "store documents of the SEC: files, folders, zips",
    (
        arg("paths", nargs="+", metavar="PATH", help="file, folder or zip; recognised by content"),
        arg("--accession", help="accession number of the one filing given"),
        arg("--filed", help="its filing date, YYYY-MM-DD"),
        arg("--ticker", help="of files of prices that do not tell it"),
        arg("--only", metavar="FILE", help="of bulk files and quarters, only companies listed in FILE; or: followed"),
    ),
    work=_ingest,
    creates_directory=True,
)
PACK = Verb(
    "embedded data: every stored report in one compact file",
    work=_pack,
    interrupt_note="of load, the reports stored so far are kept, and the same command goes on",
    actions={
        "export": ("write every stored report into one compact file", (_FILE, *_INSTEAD)),
        "load": ("store what is in such a file", (_FILE,)),
    },
)
