"""The verb load: fetch companies from the SEC and store them. An interrupted load is continued."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from finapi.core.counts import format_count
from finapi.core.errors import ApiError, UsageError
from finapi.store.datadir import Say
from finapi.verbs.polling_verbs import wait_with_progress
from finapi.verbs.verb import (
    ProgressBar,
    Verb,
    arg,
    escape_unprintable,
    format_duration,
    print_document,
    read_company_names,
    resolve_path,
)

if TYPE_CHECKING:
    from finapi.app import App

MAX_YEARS = 40
DRY_RUN_WAIT_SECONDS = 15  # The longest time that a dry run waits for EDGAR.
MAX_NAMED_FILES = 3  # Maximum number of missing files that are printed. The others are only counted.


def _run_load(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents.identification import IngestOptions
    from finapi.market.documents.outcomes import Outcome
    from finapi.market.intake import ingest, latest_years_work
    from finapi.market.intake.gateway import Gateway
    from finapi.market.intake.loading import Loader

    texts, top_count = _parse_companies(args, directory)
    counts = Counter({"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0})
    bar = ProgressBar(say)

    def report_outcome(outcome: Outcome) -> None:
        counts[outcome.outcome] += 1
        if outcome.outcome in ("refused", "skipped"):
            bar.clear()
            say("err", escape_unprintable(f"finapi: {outcome.path}: {outcome.reason}"))

    gateway = Gateway(app)
    try:
        loader = Loader(
            app, gateway, wait=_build_wait(args, bar, say), report=report_outcome, report_progress=bar.update
        )
        ciks, unknown = loader.choose_companies(texts, top_count)
        for text in unknown:
            say("err", escape_unprintable(f"finapi: {text}: no company with this ticker or CIK is known"))
        plan = loader.build_plan(ciks, args.years)
        summary = {
            "companies": plan.company_count,
            "unknown": unknown,
            "not_there": plan.missing,
            "files": len(plan.files),
            "requests": plan.requests,
            "bytes": plan.size,
            "reports": plan.reports,
            "seconds": round(plan.seconds),
        }
        _report_missing_files(plan.missing, say)
        if not args.json:
            say("out", _describe_plan(summary))
        if not args.dry_run:
            loader.run(plan)
            if args.prices is not None:
                ingest.run(app, [resolve_path(directory, args.prices)], IngestOptions(), report_outcome, bar.update)
            latest_years_work.compute_all_latest_years(app)
    finally:
        gateway.close()
    bar.clear()
    if args.json:
        print_document(say, summary if args.dry_run else {**summary, "counts": counts})
    elif not args.dry_run:
        say("out", ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if unknown or counts["refused"] else 0


def _build_wait(args: argparse.Namespace, bar: ProgressBar, say: Say) -> Callable[[float, str], None]:
    """Return a function that waits until EDGAR may be called again, and prints the reason.

    In a dry run it raises ApiError for a long wait.
    """

    def wait(seconds: float, reason: str) -> None:
        pause = format_duration(seconds)
        if args.dry_run and seconds > DRY_RUN_WAIT_SECONDS:
            raise ApiError("UNAVAILABLE", f"EDGAR does not answer: {reason}; try again in {pause}")
        bar.clear()
        say("err", escape_unprintable(f"finapi: EDGAR does not answer: {reason}; the next try is in {pause}"))
        wait_with_progress(seconds, say)

    return wait


def _parse_companies(args: argparse.Namespace, directory: str) -> tuple[list[str], int]:
    """Return the given tickers and CIKs, and the N of ``top:N`` (0 without it). Raise UsageError."""
    if not 1 <= args.years <= MAX_YEARS:
        raise UsageError(f"--years: must be from 1 to {MAX_YEARS}")
    top = re.fullmatch(r"top:([1-9][0-9]{0,4})", args.companies or "")
    texts = list(args.tickers)
    if args.companies is not None and top is None:
        texts += read_company_names(directory, args.companies)
    for text in texts:
        if text.startswith("top:"):
            raise UsageError(f"{text} is not a company: did you mean --companies {text}?")
    if not texts and top is None:
        raise UsageError("give companies, or --companies FILE, or --companies top:500")
    return texts, int(top[1]) if top else 0


def _report_missing_files(paths: Sequence[str], say: Say) -> None:
    """Print the first of the files that EDGAR does not have, and the number of the others."""
    if not paths:
        return
    names = ", ".join(paths[:MAX_NAMED_FILES])
    if len(paths) > MAX_NAMED_FILES:
        names += f" and {format_count(len(paths) - MAX_NAMED_FILES, 'more file')}"
    say("err", escape_unprintable(f"finapi: EDGAR does not have {names}"))


def _describe_plan(summary: dict[str, Any]) -> str:
    if not summary["companies"]:
        return "0 companies: there is nothing to load"
    companies = format_count(summary["companies"], "company", "companies")
    if not summary["requests"]:
        scope = "everything else" if summary["not_there"] else "everything"
        return f"{companies}: {scope} is loaded"
    documents = format_count(summary["files"], "file") if summary["files"] else "documents fetched one by one"
    size = f"{summary['bytes'] / 1e6:,.0f} MB in about {format_count(summary['requests'], 'request')}"
    duration = format_duration(summary["seconds"])
    return f"{companies}, {documents}: {size}, {format_count(summary['reports'], 'report')}, {duration}"


LOAD = Verb(
    "fetch and store companies of the SEC: lists, figures and statements; continues an interrupted load",
    (
        arg("tickers", nargs="*", metavar="TICKER", help="a ticker, or a CIK"),
        arg("--companies", metavar="FILE", help="a file that lists companies; or top:500, the SEC's largest"),
        arg("--years", type=int, default=10, help="years of statements (10); figures go back to 2009"),
        arg("--prices", metavar="PATH", help="also store these files of prices"),
        arg("--dry-run", action="store_true", help="print the size and the duration, and load nothing"),
    ),
    work=_run_load,
    settings=("user_agent", "base_url"),
    creates_directory=True,
    interrupt_note="fetched and stored files are kept, and the same command goes on from there",
)
