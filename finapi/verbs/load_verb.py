"""load: companies of the SEC from nothing."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

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
DRY_WAIT = 15  # seconds
SHOWN = 3  # of the files that are not there


def _load(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents.identification import IngestOptions
    from finapi.market.documents.outcomes import Outcome
    from finapi.market.intake import ingest
    from finapi.market.intake.gateway import Gateway
    from finapi.market.intake.loading import Loader
    from finapi.web.financials import screen

    texts, top = _companies(args, directory)
    counts = Counter({"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0})
    bar = ProgressBar(say)

    def tell(outcome: Outcome) -> None:
        counts[outcome.outcome] += 1
        if outcome.outcome in ("refused", "skipped"):
            bar.clear()
            say("err", escape_unprintable(f"finapi: {outcome.path}: {outcome.reason}"))

    gateway = Gateway(app)
    try:
        loader = Loader(app, gateway, wait=_build_wait(args, bar, say), tell=tell, moved=bar.update)
        ciks, unknown = loader.choose_companies(texts, top)
        for text in unknown:
            say("err", escape_unprintable(f"finapi: {text}: no company with this ticker or CIK is known"))
        plan = loader.build_plan(ciks, args.years)
        told = {
            "companies": plan.company_count,
            "unknown": unknown,
            "not_there": plan.missing,
            "files": len(plan.files),
            "requests": plan.requests,
            "bytes": plan.size,
            "reports": plan.reports,
            "seconds": round(plan.seconds),
        }
        _tell_missing(plan.missing, say)
        if not args.json:
            say("out", _line(told))
        if not args.dry_run:
            loader.run(plan)
            if args.prices is not None:
                ingest.run(app, [resolve_path(directory, args.prices)], IngestOptions(), tell, bar.update)
            screen.keep_latest(app)
    finally:
        gateway.close()
    bar.clear()
    if args.json:
        print_document(say, told if args.dry_run else {**told, "counts": counts})
    elif not args.dry_run:
        say("out", ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if unknown or counts["refused"] else 0


def _build_wait(args: argparse.Namespace, bar: ProgressBar, say: Say) -> Callable[[float, str], None]:
    """Lets the time pass for which EDGAR is not to be asked, and says so; a dry run does not wait for long."""

    def wait(seconds: float, why: str) -> None:
        again = format_duration(seconds)
        if args.dry_run and seconds > DRY_WAIT:
            raise ApiError("UNAVAILABLE", f"EDGAR does not answer: {why}; it may be asked again in {again}")
        bar.clear()
        say("err", escape_unprintable(f"finapi: EDGAR does not answer: {why}; it is asked again in {again}"))
        wait_with_progress(seconds, say)

    return wait


def _companies(args: argparse.Namespace, directory: str) -> tuple[list[str], int]:
    """The names of companies that were given, and how many of the SEC's list."""
    if not 1 <= args.years <= MAX_YEARS:
        raise UsageError(f"--years: must be from 1 to {MAX_YEARS}")
    top = re.fullmatch(r"top:([1-9][0-9]{0,4})", args.companies or "")
    texts = list(args.tickers)
    if args.companies is not None and top is None:
        texts += read_company_names(directory, args.companies)
    if wrong := next((text for text in texts if text.startswith("top:")), None):
        raise UsageError(f"{wrong}: write --companies {wrong}")
    if not texts and top is None:
        raise UsageError("name companies, or --companies FILE, or --companies top:500")
    return texts, int(top[1]) if top else 0


def _tell_missing(paths: Sequence[str], say: Say) -> None:
    """Name the first of the files that are not there, and how many more there are."""
    more = f" and {len(paths) - SHOWN:,} more files" if len(paths) > SHOWN else ""
    if paths:
        say("err", escape_unprintable(f"finapi: EDGAR does not have {', '.join(paths[:SHOWN])}{more}"))


def _line(told: dict[str, Any]) -> str:
    if not told["companies"]:
        return "0 companies: there is nothing to load"
    if not told["requests"]:
        rest = "everything else" if told["not_there"] else "everything"
        return f"{told['companies']:,} companies: {rest} is loaded"
    what = f"{told['files']} files" if told["files"] else "their documents"
    size = f"{told['bytes'] / 1e6:,.0f} MB in about {told['requests']:,} requests"
    duration = format_duration(told["seconds"])
    return f"{told['companies']:,} companies, {what}: {size}, {told['reports']:,} reports, {duration}"


LOAD = Verb(
    "fetch and store companies of the SEC: lists, figures and statements; goes on where it was cut off",
    (
        arg("tickers", nargs="*", metavar="TICKER", help="a ticker, or a CIK"),
        arg("--companies", metavar="FILE", help="a file that lists more of them; or top:500, the SEC's largest"),
        arg("--years", type=int, default=10, help="years of statements (10); figures go back to 2009"),
        arg("--prices", metavar="PATH", help="files of prices to store too"),
        arg("--dry-run", action="store_true", help="say how much it is, and how long it takes"),
    ),
    work=_load,
    settings=("user_agent", "base_url"),
    creates_directory=True,
    interrupt_note="what is fetched and stored is kept, and the same command goes on from there",
)
