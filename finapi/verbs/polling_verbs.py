"""The verbs poll, follow, documents and outbox.

``poll`` reads EDGAR's feed, ``follow`` chooses the companies whose documents are fetched. ``documents`` and ``outbox``
list documents that could not be fetched and events that could not be published, and try them again.
"""

from __future__ import annotations

import argparse
import threading
from typing import TYPE_CHECKING, Any

from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.store.datadir import Say
from finapi.verbs.verb import (
    Verb,
    arg,
    escape_unprintable,
    print_document,
    print_result,
    print_table,
    read_company_names,
    resolve_path,
)

if TYPE_CHECKING:
    from finapi.app import App

# Seconds between two lines of progress during a wait. When a server executes the command for a caller, a line that
# cannot be sent shows that the caller has disconnected.
_PROGRESS_SECONDS = 1.0


def _run_poll(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.intake import replay
    from finapi.market.intake.gateway import Gateway
    from finapi.market.intake.poller import Poller

    if args.replay is not None:
        if not 0 < args.speed <= 1_000_000:
            raise UsageError("--speed: must be more than 0")
        folder = resolve_path(directory, args.replay)
        counts = replay.play(app, folder, args.speed, lambda seconds: wait_with_progress(seconds, say))
        return _print_counts(counts, args, say)
    if args.every is not None:
        if not 1 <= args.every <= 86_400:
            raise UsageError("--every: must be 1 to 86400 seconds")
        if args.handed_over:
            raise UsageError("a running server does its own polling; start it with --poll-every SECONDS")
    gateway = Gateway(app)
    poller = Poller(app, gateway, interval_seconds=args.every or 86_400.0)
    try:
        while True:
            wait = poller.run_poll_step()
            say("progress", _describe_counts(poller.counts))
            if args.every is None and (wait > 0 or poller.counts.problems):
                break
            wait_with_progress(wait, say)
    finally:
        gateway.close()
    return _print_counts(poller.counts, args, say)


def wait_with_progress(seconds: float, say: Say) -> None:
    """Wait for ``seconds``, and print a line of progress every second."""
    waiting = threading.Event()
    while seconds > 0:
        waiting.wait(min(seconds, _PROGRESS_SECONDS))
        seconds -= _PROGRESS_SECONDS
        say("progress", "")


def _describe_counts(counts: Any) -> str:
    filings = format_count(counts.filings, "new filing")
    line = f"{filings}, {format_count(counts.documents, 'document')} stored, {counts.refused} refused"
    return line + (f", {counts.put_off} put off" if counts.put_off else "")


def _print_counts(counts: Any, args: argparse.Namespace, say: Say) -> int:
    """Print the counts of a poll. Return 1 if there were problems or documents were abandoned, else 0."""
    say("progress", "")
    if args.json:
        print_document(say, vars(counts))
    else:
        for problem in counts.problems:
            say("err", escape_unprintable(f"finapi: {problem}"))
        for document in counts.given_up:
            say("err", escape_unprintable(f"finapi: gave up on {document}"))
        say("out", _describe_counts(counts))
    return 1 if counts.problems or counts.given_up else 0


def _run_follow(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.intake import fetch_queue, loading

    if args.action == "list":
        with app.db.read() as tx:
            rows = fetch_queue.list_followed(tx)
        return print_table(say, args, "companies", rows, "cik ticker name")
    if args.action == "add":
        change, changed_text, unchanged_text = fetch_queue.follow_company, "is followed", "is followed already"
    else:
        change, changed_text, unchanged_text = fetch_queue.unfollow_company, "is followed no more", "was not followed"
    texts = list(args.tickers)
    if args.file is not None:
        texts += read_company_names(directory, args.file)
    if not texts:
        raise UsageError("give companies, or a --file with companies")
    ciks_by_name, unknown = loading.resolve_companies(app, texts)
    with app.db.write() as tx:
        rows = [
            {"name": text, "cik": f"{cik:010}", "changed": change(tx, cik, app.clock.now())}
            for text, cik in ciks_by_name.items()
        ]
    if args.json:
        print_document(say, {"companies": rows, "unknown": unknown})
        return 1 if unknown else 0
    for row in rows:
        outcome = changed_text if row["changed"] else unchanged_text
        say("out", escape_unprintable(f"{row['name']} (CIK {row['cik']}) {outcome}"))
    for text in unknown:
        advice = f"finapi load {text} loads it if the SEC lists it"
        say("err", escape_unprintable(f"finapi: {text}: no company with this ticker or CIK is known; {advice}"))
    return 1 if unknown else 0


def _run_documents(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit
    from finapi.edgar import identifiers
    from finapi.market.intake import fetch_queue

    if args.action == "list":
        with app.db.read() as tx:
            rows = fetch_queue.list_failed_documents(tx)
        return print_table(say, args, "documents", rows, "accession form given_up_at next_try_at tries reason")
    if bool(args.accessions) == args.all:
        raise UsageError("give accession numbers or --all")
    accessions: list[str | None] = [identifiers.parse_accession(text) for text in args.accessions]
    for text, accession in zip(args.accessions, accessions, strict=True):
        if accession is None:
            raise UsageError(f"{text!r} is not an accession number (0000320193-25-000057)")
    actor = audit.build_command_actor(args.system_user, directory)
    # An accession number of None stands for all documents.
    retried = fetch_queue.retry_documents(app, accessions or [None], app.clock.now(), actor)
    for text, count in zip(args.accessions, retried, strict=False):
        if not count:
            say("err", f"finapi: {text} is not in finapi documents list")
    line = f"{format_count(sum(retried), 'document is', 'documents are')} fetched again"
    print_result(say, args, line, retried=sum(retried))
    return 0 if args.all or all(retried) else 1


def _run_outbox(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit
    from finapi.delivery import outbox

    if args.action == "list":
        with app.db.read() as tx:
            rows = outbox.list_failed_rows(tx)
        return print_table(say, args, "outbox", rows, "id state type accession noted_at tries reason")
    if bool(args.ids) == args.all:
        raise UsageError("give numbers from finapi outbox list, or --all")
    actor = audit.build_command_actor(args.system_user, directory)
    detail = f"outbox {' '.join(map(str, args.ids)) or 'all'}"
    # The audit record is written before anything is retried. On a node that must not retry rows, this write fails.
    with app.accounts.write() as tx:
        audit.record_action(tx, actor, "retry", app.clock.now(), detail=detail)
    retried = outbox.retry_rows(app.db, args.ids or [None])
    for row_id, was_listed in zip(args.ids, retried, strict=False):
        if not was_listed:
            say("err", f"finapi: {row_id} is not in finapi outbox list")
    with app.db.read() as tx:
        remaining_ids = {row["id"] for row in outbox.list_failed_rows(tx)}
    failed = len(remaining_ids.intersection(args.ids) if args.ids else remaining_ids)
    line = f"{sum(retried)} tried again"
    if failed:
        line += f", {failed} of them failed again; see finapi outbox list"
    print_result(say, args, line, retried=sum(retried), failed=failed)
    return 1 if failed or not (args.all or all(retried)) else 0


_COMPANIES = (
    arg("tickers", nargs="*", metavar="TICKER", help="a ticker that is known, or a CIK"),
    arg("--file", metavar="FILE", help="a file that lists companies"),
)
POLL = Verb(
    "read EDGAR's feed of new filings, once or repeatedly",
    (
        arg("--every", type=float, metavar="SECONDS", help="read it repeatedly, with this interval"),
        arg("--replay", metavar="DIR", help="play recorded pages of the feed instead"),
        arg("--speed", type=float, default=60.0, help="speed of the replay (60 times as fast)"),
    ),
    work=_run_poll,
    interrupt_note="stored filings are kept, and the next poll goes on from there",
    settings=("user_agent", "base_url"),
)
FOLLOW = Verb(
    "the companies whose documents the poller fetches",
    work=_run_follow,
    actions={
        "add": ("follow companies", _COMPANIES),
        "drop": ("stop following companies", _COMPANIES),
        "list": ("list the companies that are followed", ()),
    },
)
DOCUMENTS = Verb(
    "documents that the poller gave up or put off",
    work=_run_documents,
    actions={
        "list": ("list documents that were given up, then those that are put off, with their reasons", ()),
        "retry": (
            "fetch them again now, with all their tries",
            (
                arg("accessions", nargs="*", metavar="ACCESSION", help="an accession number"),
                arg("--all", action="store_true", help="all that are listed"),
            ),
        ),
    },
)
OUTBOX = Verb(
    "events of filings that could not be delivered to feeds, webhooks and targets",
    work=_run_outbox,
    actions={
        "list": ("list events that were set aside or will be tried again, with their reasons", ()),
        "retry": (
            "try again now, with all their tries",
            (
                arg("ids", nargs="*", type=int, metavar="ID", help="a number of the list"),
                arg("--all", action="store_true", help="all that are listed"),
            ),
        ),
    },
)
