"""load: companies of the SEC from nothing."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from finapi.core.errors import ApiError, UsageError
from finapi.store.datadir import Say
from finapi.verbs.polling import pause
from finapi.verbs.verb import Bar, Verb, arg, document, lasting, listed_names, one_line, typed_path

if TYPE_CHECKING:
    from finapi.app import App

MAX_YEARS = 40
DRY_WAIT = 15  # seconds
SHOWN = 3  # of the files that are not there


def _load(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.documents.identify import Given
    from finapi.market.documents.outcomes import Outcome
    from finapi.market.intake import ingest
    from finapi.market.intake.gateway import Gateway
    from finapi.market.intake.loading import Loader
    from finapi.web.financials import screen

    texts, top = _companies(args, directory)
    counts = Counter({"ingested": 0, "unchanged": 0, "skipped": 0, "refused": 0})
    bar = Bar(say)

    def tell(outcome: Outcome) -> None:
        counts[outcome.outcome] += 1
        if outcome.outcome in ("refused", "skipped"):
            bar.end()
            say("err", one_line(f"finapi: {outcome.path}: {outcome.reason}"))

    gateway = Gateway(app)
    try:
        loader = Loader(app, gateway, wait=_waiting(args, bar, say), tell=tell, moved=bar.moved)
        ciks, unknown = loader.chosen(texts, top)
        for text in unknown:
            say("err", one_line(f"finapi: {text}: no company with this ticker or CIK is known"))
        plan = loader.plan(ciks, args.years)
        told = {
            "companies": plan.companies,
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
                ingest.run(app, [typed_path(directory, args.prices)], Given(), tell, bar.moved)
            screen.keep_latest(app)
    finally:
        gateway.close()
    bar.end()
    if args.json:
        document(say, told if args.dry_run else {**told, "counts": counts})
    elif not args.dry_run:
        say("out", ", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return 1 if unknown or counts["refused"] else 0


def _waiting(args: argparse.Namespace, bar: Bar, say: Say) -> Callable[[float, str], None]:
    """Lets the time pass for which EDGAR is not to be asked, and says so; a dry run does not wait for long."""

    def wait(seconds: float, why: str) -> None:
        again = lasting(seconds)
        if args.dry_run and seconds > DRY_WAIT:
            raise ApiError("UNAVAILABLE", f"EDGAR does not answer: {why}; it may be asked again in {again}")
        bar.end()
        say("err", one_line(f"finapi: EDGAR does not answer: {why}; it is asked again in {again}"))
        pause(seconds, say)

    return wait


def _companies(args: argparse.Namespace, directory: str) -> tuple[list[str], int]:
    """The names of companies that were given, and how many of the SEC's list."""
    if not 1 <= args.years <= MAX_YEARS:
        raise UsageError(f"--years: must be from 1 to {MAX_YEARS}")
    top = re.fullmatch(r"top:([1-9][0-9]{0,4})", args.companies or "")
    texts = list(args.tickers)
    if args.companies is not None and top is None:
        texts += listed_names(directory, args.companies)
    if wrong := next((text for text in texts if text.startswith("top:")), None):
        raise UsageError(f"{wrong}: write --companies {wrong}")
    if not texts and top is None:
        raise UsageError("name companies, or --companies FILE, or --companies top:500")
    return texts, int(top[1]) if top else 0


def _tell_missing(paths: Sequence[str], say: Say) -> None:
    """Name the first of the files that are not there, and how many more there are."""
    more = f" and {len(paths) - SHOWN:,} more files" if len(paths) > SHOWN else ""
    if paths:
        say("err", one_line(f"finapi: EDGAR does not have {', '.join(paths[:SHOWN])}{more}"))


def _line(told: dict[str, Any]) -> str:
    if not told["companies"]:
        return "0 companies: there is nothing to load"
    if not told["requests"]:
        rest = "everything else" if told["not_there"] else "everything"
        return f"{told['companies']:,} companies: {rest} is loaded"
    what = f"{told['files']} files" if told["files"] else "their documents"
    size = f"{told['bytes'] / 1e6:,.0f} MB in about {told['requests']:,} requests"
    return f"{told['companies']:,} companies, {what}: {size}, {told['reports']:,} reports, {lasting(told['seconds'])}"


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
    makes=True,
    interrupted="what is fetched and stored is kept, and the same command goes on from there",
)
