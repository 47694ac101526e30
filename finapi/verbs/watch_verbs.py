"""What happens, as it happens: a feed line by line, webhooks forwarded to a local address, and events of a fixture."""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

from finapi.client import signatures
from finapi.client.exchange import ApiFailure, ApiRequest
from finapi.client.synchronous import Client, Send, by_urllib
from finapi.core import config as settings
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.json import dumps
from finapi.edgar import form_families
from finapi.store.datadir import Say
from finapi.verbs.api_verbs import EXIT_STATUS_NOTE, KEY, connect, get_api_key, report_failure
from finapi.verbs.verb import (
    Perform,
    Verb,
    arg,
    escape_unprintable,
    parse_seconds,
    print_document,
    print_result,
    resolve_path,
    whole_number,
)

FEEDS = ("main-api", "insider-api", "13f-live")
EVENTS = (
    "sniper.filing_hit",
    "sniper.window_expired",
    *form_families.TOPICS,
    "finapi.test",
    *FEEDS,
)
SENT = ("event_type", "occurred_at", "delivery_id", "target_id", "payload")  # the members of a webhook's body
FORWARD_SECONDS = 10.0  # that a local address may take
_EVERY = arg("--every", type=parse_seconds, default=2.0, metavar="SECONDS", help="between two looks (2)")
_COUNT = arg("-n", "--count", type=whole_number(1), help="end after so many")


def _watch(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    def events(client: Client) -> Iterator[dict[str, Any]]:
        if config.url:
            yield from client.feed(args.feed, since=args.since, tickers=[args.ticker] if args.ticker else ())
        for event in client.events(args.feed, since=args.since, wait=args.every):
            if args.ticker is None or str(event["data"].get("ticker")).upper() == args.ticker.upper():
                yield event

    def show(event: dict[str, Any]) -> None:
        data = event["data"]
        named = (str(data[name]) for name in ("ticker", "form_type", "accession_number", "reason") if data.get(name))
        say("out", escape_unprintable("  ".join((f"{event['seq']:>8}", event["occurred_at"], event["type"], *named))))

    return _each(args, config, say, events, lambda event: print_document(say, event) if args.json else show(event))


def _listen(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    if not args.forward_to.startswith(("http://", "https://")):
        raise UsageError(f"--forward-to is an http or https URL: {args.forward_to}")
    forward = by_urllib(FORWARD_SECONDS)

    def deliveries(client: Client) -> Iterator[dict[str, Any]]:
        secret = client.call("GET", "/api/v1/webhooks/secret")["secret"]
        say("err", escape_unprintable(f"forwarding to {args.forward_to}, signed with the account's secret"))
        known: set[str] | None = None
        while True:
            found = _deliveries(client, known)
            for one in reversed(found):
                if one["delivery_id"] not in (known or ()) and (known is not None or args.all):
                    yield {**one, "answered": _forwarded(forward, args.forward_to, secret, one)}
            known = {one["delivery_id"] for one in found}
            threading.Event().wait(args.every)

    def show(one: dict[str, Any]) -> None:
        answered = one["answered"] or "no answer"
        print_result(say, args, f"{one['event_type']}  {one['delivery_id']}  {answered}", **one)

    return _each(args, config, say, deliveries, show)


def _deliveries(client: Client, known: set[str] | None) -> list[dict[str, Any]]:
    """The newest deliveries down to a known one, by the hundred; all where none is known; one hundred at first."""
    found: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"limit": 100}
    while True:
        page = client.call("GET", "/api/v1/webhooks/deliveries", asked)
        found += page["deliveries"]
        asked["cursor"] = page["meta"]["next_cursor"]
        if known is None or asked["cursor"] is None or not known.isdisjoint(one["delivery_id"] for one in found):
            return found


def _forwarded(send: Send, url: str, secret: str, delivery: dict[str, Any]) -> int | None:
    """The status that the local address answers a delivery with, signed anew; None without an answer."""
    body = dumps({name: delivery[name] for name in SENT})
    headers = signatures.signed(secret, delivery["delivery_id"], int(SystemClock().now().timestamp()), body)
    answer = send(ApiRequest("POST", url, {"Content-Type": "application/json", **headers}, body))
    return None if answer is None else answer.status


def _each(args: argparse.Namespace, config: Config, say: Say, happens: Any, show: Any) -> int:
    """Show what happens until so many were shown; the exit status."""

    def wait(seconds: float) -> None:
        # In process it waits for what happens next; of a server that is away somebody has to know.
        if config.url:
            say(
                "err",
                escape_unprintable(
                    f"finapi: no answer from {config.url}, or refused for now; next try in {seconds:.0f} s"
                ),
            )
        threading.Event().wait(seconds)

    try:
        with connect(config) as (url, send):
            for one in islice(happens(Client(url, get_api_key(args, config), send=send, wait=wait)), args.count):
                show(one)
    except ApiFailure as failure:
        return report_failure(say, failure, config.url)
    return 0


def _data(text: str | None) -> dict[str, Any] | None:
    """The object that ``--data`` tells; UsageError for what is none."""
    try:
        told = None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data: is not JSON: {error}") from None
    if told is not None and not isinstance(told, dict):
        raise UsageError("--data: must be a JSON object")
    return told


def _trigger(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.testing.control_client import Control

    try:
        ready = json.loads(resolve_path(".", args.ready_line).read_text("utf-8"))
        control = Control(str(ready["control_url"]), str(ready["control_token"]), by_urllib())
        accounts = {name: one["email"] for name, one in ready["accounts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"--ready-line: needs what finapi fixture --ready json printed: {error}") from None
    data = _data(args.data)
    if args.account not in accounts:
        raise UsageError(f"--account: is one of {', '.join(accounts)}")
    where = {"url": args.to} if args.to else {"email": accounts[args.account]}
    try:
        if args.event in FEEDS:
            seq = control.event(args.event, args.type, data or {})
            return print_result(say, args, f"{args.event}: event {seq}", feed=args.event, seq=seq)
        try:
            delivery = control.webhook(args.event, data, **where)
        except ApiFailure as failure:
            if args.to or failure.details.get("param") != "url":
                raise
            # An account without a receiver: an inbox of the fixture takes it, so that finapi listen forwards it.
            delivery = control.webhook(args.event, data, **where, url=control.inbox_url("trigger"))
    except ApiFailure as failure:
        return report_failure(say, failure, str(ready["control_url"]))
    return print_result(say, args, f"{args.event}: {delivery}", event_type=args.event, delivery_id=delivery)


VERBS = {
    "watch": Verb(
        "the events of a feed, a line each, as they happen",
        (
            arg("feed", choices=FEEDS, metavar="FEED", help=", ".join(FEEDS)),
            arg("--since", type=whole_number(0), metavar="SEQ", help="from behind this number on"),
            arg("--ticker", help="only of this company"),
            _COUNT,
            _EVERY,
            KEY,
        ),
        _watch,
        settings=("url",),
        storeless=True,
        note=EXIT_STATUS_NOTE,
        interrupt_note="--since with the number of the last event that is shown goes on behind it",
    ),
    "listen": Verb(
        "forward the account's webhooks to a local address",
        (
            arg("--forward-to", required=True, metavar="URL", help="http://127.0.0.1:3000/webhook"),
            arg("--all", action="store_true", help="the last hundred too, not only new ones"),
            _COUNT,
            _EVERY,
            KEY,
        ),
        _listen,
        settings=("url",),
        storeless=True,
        note=EXIT_STATUS_NOTE,
        interrupt_note="what is shown is forwarded; with --all the same command begins with the last hundred",
    ),
    "trigger": Verb(
        "make an event of a fixture: a webhook, or one of a feed",
        (
            arg("event", choices=EVENTS, metavar="EVENT", help=", ".join(EVENTS)),
            arg("--ready-line", required=True, metavar="FILE", help="what finapi fixture --ready json printed"),
            arg("--to", metavar="URL", help="where the webhook goes; else to the receiver of --account, or an inbox"),
            arg("--account", default="pro", help="an account of the ready line: pro, free, ... (pro)"),
            arg("--data", metavar="JSON", help="what it tells"),
            arg("--type", default="new_filing", help="of an event of a feed (new_filing)"),
        ),
        _trigger,
        storeless=True,
        note=EXIT_STATUS_NOTE,
    ),
}
