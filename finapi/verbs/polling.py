"""poll, follow: EDGAR as it happens, and whose documents are fetched."""

from __future__ import annotations

import argparse
import json
import threading
from typing import Any

from finapi.app import App
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Verb, one_line, typed_path

# The longest time without a word to whoever waits: a handed-over command learns by it that nobody does.
_WORD_SECONDS = 1.0


def _poll_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("--every", type=float, metavar="SECONDS", help="go on, with a look every so often")
    parser.add_argument("--replay", metavar="DIR", help="play recorded pages of the feed instead")
    parser.add_argument("--speed", type=float, default=60.0, help="how much faster than it happened (60)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _poll(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import replay
    from finapi.market.gateway import Gateway
    from finapi.market.poller import Poller

    if args.replay is not None:
        if not 0 < args.speed <= 1_000_000:
            raise UsageError("--speed: must be more than 0")
        folder = typed_path(directory, args.replay)
        counts = replay.play(app, folder, args.speed, lambda seconds: _pause(seconds, say))
        return _said(counts, args, say)
    if args.every is not None:
        if not 1 <= args.every <= 86_400:
            raise UsageError("--every: must be 1 to 86400 seconds")
        if args.handed_over:
            raise UsageError("a running server polls by itself: start it with --poll-every SECONDS")
    gateway = Gateway(app)
    poller = Poller(app, gateway, every=args.every or 86_400.0)
    try:
        while True:
            wait = poller.step()
            say("progress", _line(poller.counts))
            if args.every is None and (wait > 0 or poller.counts.problems):
                break
            _pause(wait, say)
    finally:
        gateway.close()
    return _said(poller.counts, args, say)


def _pause(seconds: float, say: Say) -> None:
    waiting = threading.Event()
    while seconds > 0:
        waiting.wait(min(seconds, _WORD_SECONDS))
        seconds -= _WORD_SECONDS
        say("progress", "")


def _line(counts: Any) -> str:
    return f"{counts.filings} new filings, {counts.documents} documents stored, {counts.refused} refused"


def _said(counts: Any, args: argparse.Namespace, say: Say) -> int:
    say("progress", "")
    if args.json:
        say("out", json.dumps(vars(counts)))
    else:
        for problem in counts.problems:
            say("err", one_line(f"finapi: {problem}"))
        say("out", _line(counts))
    return 1 if counts.problems else 0


def _follow_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    helps = {"add": "fetch the documents of these companies too", "drop": "fetch them no more"}
    for name, help in helps.items():
        one = actions.add_parser(name, help=help, parents=[common])
        one.add_argument("tickers", nargs="+", metavar="TICKER", help="a ticker that is known, or a CIK")
    listing = actions.add_parser("list", help="list the companies that are followed", parents=[common])
    listing.add_argument("--json", action="store_true", help="print one JSON document")


def _follow(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import following, poller

    if args.action == "list":
        with app.db.read() as tx:
            rows = following.listed(tx)
        if args.json:
            say("out", json.dumps({"companies": rows}))
        for row in rows if not args.json else ():
            say("out", one_line(f"{row['cik']}  {row['ticker'] or '-':8}  {row['name'] or '-'}"))
        return 0
    change, done, already = {
        "add": (following.add, "is followed", "is followed already"),
        "drop": (following.drop, "is followed no more", "was not followed"),
    }[args.action]
    # All of them are known, or nothing changes.
    ciks = [poller.company(app, text) for text in args.tickers]
    with app.db.write() as tx:
        changed = [change(tx, cik, app.clock.now()) for cik in ciks]
    for text, cik, fresh in zip(args.tickers, ciks, changed, strict=True):
        say("out", one_line(f"{text} (CIK {cik:010}) {done if fresh else already}"))
    return 0


POLL = Verb("read EDGAR's feed of new filings, once or every so often", _poll_arguments, work=_poll)
FOLLOW = Verb("the companies whose documents the poller fetches", _follow_arguments, work=_follow)
