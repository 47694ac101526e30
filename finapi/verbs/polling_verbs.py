"""poll, follow, documents, outbox: EDGAR as it happens, whose documents are fetched, and what did not come or go."""

from __future__ import annotations

import argparse
import threading
from typing import TYPE_CHECKING, Any

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

# The longest time without a word to whoever waits: a handed-over command learns by it that nobody does.
_WORD_SECONDS = 1.0


def _poll(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.intake import replay
    from finapi.market.intake.gateway import Gateway
    from finapi.market.intake.poller import Poller

    if args.replay is not None:
        if not 0 < args.speed <= 1_000_000:
            raise UsageError("--speed: must be more than 0")
        folder = resolve_path(directory, args.replay)
        counts = replay.play(app, folder, args.speed, lambda seconds: wait_with_progress(seconds, say))
        return _said(counts, args, say)
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
            say("progress", _line(poller.counts))
            if args.every is None and (wait > 0 or poller.counts.problems):
                break
            wait_with_progress(wait, say)
    finally:
        gateway.close()
    return _said(poller.counts, args, say)


def wait_with_progress(seconds: float, say: Say) -> None:
    """Let so many seconds pass, with a word now and then to whoever waits."""
    waiting = threading.Event()
    while seconds > 0:
        waiting.wait(min(seconds, _WORD_SECONDS))
        seconds -= _WORD_SECONDS
        say("progress", "")


def _line(counts: Any) -> str:
    line = f"{counts.filings} new filings, {counts.documents} documents stored, {counts.refused} refused"
    return line + (f", {counts.put_off} put off" if counts.put_off else "")


def _said(counts: Any, args: argparse.Namespace, say: Say) -> int:
    say("progress", "")
    if args.json:
        print_document(say, vars(counts))
    else:
        for problem in counts.problems:
            say("err", escape_unprintable(f"finapi: {problem}"))
        say("out", _line(counts))
    return 1 if counts.problems else 0


def _follow(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market.intake import fetch_queue, loading

    if args.action == "list":
        with app.db.read() as tx:
            rows = fetch_queue.list_followed(tx)
        return print_table(say, args, "companies", rows, "cik ticker name")
    change, done, already = {
        "add": (fetch_queue.follow_company, "is followed", "is followed already"),
        "drop": (fetch_queue.unfollow_company, "is followed no more", "was not followed"),
    }[args.action]
    texts = args.tickers + (read_company_names(directory, args.file) if args.file is not None else [])
    if not texts:
        raise UsageError("name companies, or a --file of them")
    known, unknown = loading.resolve_companies(app, texts)
    with app.db.write() as tx:
        rows = [
            {"name": text, "cik": f"{cik:010}", "changed": change(tx, cik, app.clock.now())}
            for text, cik in known.items()
        ]
    if args.json:
        print_document(say, {"companies": rows, "unknown": unknown})
        return 1 if unknown else 0
    for row in rows:
        say("out", escape_unprintable(f"{row['name']} (CIK {row['cik']}) {done if row['changed'] else already}"))
    for text in unknown:
        say("err", escape_unprintable(f"finapi: {text}: no company with this ticker or CIK is known"))
    return 1 if unknown else 0


def _documents(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit
    from finapi.edgar import identifiers
    from finapi.market.intake import fetch_queue

    if args.action == "list":
        with app.db.read() as tx:
            rows = fetch_queue.list_failed_documents(tx)
        return print_table(say, args, "documents", rows, "accession form given_up_at next_try_at tries reason")
    if bool(args.accessions) == args.all:
        raise UsageError("name accession numbers, or give --all")
    wanted = [(text, identifiers.parse_accession(text)) for text in args.accessions] or [("", None)]
    wrong = next((text for text, accession in wanted if text and accession is None), None)
    if wrong is not None:
        raise UsageError(f"{wrong!r} is not an accession number (0000320193-25-000057)")
    by, now = audit.Actor(None, directory), app.clock.now()
    retried = fetch_queue.retry_documents(app, [accession for _, accession in wanted], now, by)
    for (text, _), number in zip(wanted, retried, strict=True):
        if text and not number:
            say("err", f"finapi: {text} is neither given up nor put off")
    print_result(say, args, f"{sum(retried)} documents are asked for again", retried=sum(retried))
    return 0 if args.all or all(retried) else 1


def _outbox(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.accounts import audit
    from finapi.delivery import outbox

    if args.action == "list":
        with app.db.read() as tx:
            rows = outbox.list_failed_rows(tx)
        return print_table(say, args, "outbox", rows, "id state type accession noted_at tries reason")
    if bool(args.ids) == args.all:
        raise UsageError("name numbers of finapi outbox list, or give --all")
    # Written down first, in the other store: it refuses whoever may not.
    with app.accounts.write() as tx:
        said = " ".join(map(str, args.ids)) or "all"
        audit.record_action(tx, audit.Actor(None, directory), "retry", app.clock.now(), detail=f"outbox {said}")
    found = outbox.retry_rows(app.db, args.ids or [None])
    for number, there in zip(args.ids, found, strict=False):
        if not there:
            say("err", f"finapi: {number} is not in finapi outbox list")
    with app.db.read() as tx:
        left = {row["id"] for row in outbox.list_failed_rows(tx)}
    failed = len(left.intersection(args.ids) if args.ids else left)
    line = f"{sum(found)} tried again" + (f", {failed} of them in vain; see finapi outbox list" if failed else "")
    print_result(say, args, line, retried=sum(found), failed=failed)
    return 1 if failed or not (args.all or all(found)) else 0


_COMPANIES = (
    arg("tickers", nargs="*", metavar="TICKER", help="a ticker that is known, or a CIK"),
    arg("--file", metavar="FILE", help="a file that lists more of them"),
)
POLL = Verb(
    "read EDGAR's feed of new filings, once or every so often",
    (
        arg("--every", type=float, metavar="SECONDS", help="go on, with a look every so often"),
        arg("--replay", metavar="DIR", help="play recorded pages of the feed instead"),
        arg("--speed", type=float, default=60.0, help="how much faster than it happened (60)"),
    ),
    work=_poll,
    interrupt_note="what is stored is kept, and the next poll goes on from there",
    settings=("user_agent", "base_url"),
)
FOLLOW = Verb(
    "the companies whose documents the poller fetches",
    work=_follow,
    actions={
        "add": ("fetch the documents of these companies too", _COMPANIES),
        "drop": ("fetch them no more", _COMPANIES),
        "list": ("list the companies that are followed", ()),
    },
)
DOCUMENTS = Verb(
    "documents that the poller gave up or put off",
    work=_documents,
    actions={
        "list": ("list what was given up, then what is put off, with the reason of each", ()),
        "retry": (
            "ask for them again at once, and as often as at first",
            (
                arg("accessions", nargs="*", metavar="ACCESSION", help="an accession number"),
                arg("--all", action="store_true", help="all that are listed"),
            ),
        ),
    },
)
OUTBOX = Verb(
    "events of filings that could not be delivered to feeds, webhooks and targets",
    work=_outbox,
    actions={
        "list": ("list what was put aside or will be tried again, with the reason of each", ()),
        "retry": (
            "try again at once, and as often as at first",
            (
                arg("ids", nargs="*", type=int, metavar="ID", help="a number of the list"),
                arg("--all", action="store_true", help="all that are listed"),
            ),
        ),
    },
)
