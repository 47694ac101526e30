"""The verbs watch, listen and trigger.

``watch`` prints the events of a feed, ``listen`` forwards an account's webhooks to a local address, and ``trigger``
causes an event in a test server.
"""

from __future__ import annotations

import argparse
import json
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from finapi.client import signatures
from finapi.client.errors import ApiFailure
from finapi.client.exchange import ApiRequest
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
TRIGGER_EVENTS = (
    "sniper.filing_hit",
    "sniper.window_expired",
    *form_families.TOPICS,
    "finapi.test",
    *FEEDS,
)
# The members of a delivery (in the API's answer) that form the body of a webhook.
WEBHOOK_MEMBERS = ("event_type", "occurred_at", "delivery_id", "target_id", "payload")
FORWARD_TIMEOUT_SECONDS = 10.0
_EVERY = arg("--every", type=parse_seconds, default=2.0, metavar="SECONDS", help="seconds between two requests (2)")
_COUNT = arg("-n", "--count", type=whole_number(1), help="end after N events")


def _run_watch(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    def iter_events(client: Client) -> Iterator[dict[str, Any]]:
        if config.url:
            yield from client.feed(args.feed, since=args.since, tickers=[args.ticker] if args.ticker else ())
        for event in client.events(args.feed, since=args.since, wait=args.every):
            if args.ticker is None or str(event["data"].get("ticker")).upper() == args.ticker.upper():
                yield event

    def show(event: dict[str, Any]) -> None:
        if args.json:
            print_document(say, event)
            return
        data = event["data"]
        details = [str(data[name]) for name in ("ticker", "form_type", "accession_number", "reason") if data.get(name)]
        line = "  ".join((f"{event['seq']:>8}", event["occurred_at"] or "-", event["type"], *details))
        say("out", escape_unprintable(line))

    return _show_events(args, config, say, iter_events, show)


def _run_listen(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    if not args.forward_to.startswith(("http://", "https://")):
        raise UsageError(f"--forward-to must be an http or https URL, not {args.forward_to}")
    send = by_urllib(FORWARD_TIMEOUT_SECONDS)

    def iter_deliveries(client: Client) -> Iterator[dict[str, Any]]:
        secret = client.call("GET", "/api/v1/webhooks/secret")["secret"]
        say("err", escape_unprintable(f"forwarding to {args.forward_to}, signed with the account's secret"))
        known_ids: set[str] | None = None
        while True:
            newest_deliveries = _list_deliveries(client, known_ids)
            # Deliveries in the first answer happened before the start, so they are forwarded only with --all.
            if known_ids is not None or args.all:
                for delivery in reversed(newest_deliveries):
                    if delivery["delivery_id"] not in (known_ids or ()):
                        yield {**delivery, "answered": _forward(send, args.forward_to, secret, delivery)}
            known_ids = {delivery["delivery_id"] for delivery in newest_deliveries}
            threading.Event().wait(args.every)

    def show(delivery: dict[str, Any]) -> None:
        status = delivery["answered"] or "no answer"
        print_result(say, args, f"{delivery['event_type']}  {delivery['delivery_id']}  {status}", **delivery)

    return _show_events(args, config, say, iter_deliveries, show)


def _list_deliveries(client: Client, known_ids: set[str] | None) -> list[dict[str, Any]]:
    """Return the newest deliveries. Read pages until one is in ``known_ids``, or only one page if that is None."""
    deliveries: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = client.call("GET", "/api/v1/webhooks/deliveries", query)
        deliveries += page["deliveries"]
        query["cursor"] = page["meta"]["next_cursor"]
        if (
            known_ids is None
            or query["cursor"] is None
            or not known_ids.isdisjoint(delivery["delivery_id"] for delivery in deliveries)
        ):
            return deliveries


def _forward(send: Send, url: str, secret: str, delivery: dict[str, Any]) -> int | None:
    """Send a delivery to a local address with a new signature. Return its status, or None without a response."""
    body = dumps({name: delivery[name] for name in WEBHOOK_MEMBERS})
    headers = signatures.sign_webhook(secret, delivery["delivery_id"], int(SystemClock().now().timestamp()), body)
    response = send(ApiRequest("POST", url, {"Content-Type": "application/json", **headers}, body))
    return None if response is None else response.status


def _show_events(
    args: argparse.Namespace,
    config: Config,
    say: Say,
    iter_events: Callable[[Client], Iterator[dict[str, Any]]],
    show: Callable[[dict[str, Any]], None],
) -> int:
    """Show the events of ``iter_events``, at most ``args.count``. Return the exit status."""

    def wait(seconds: float) -> None:
        # A feed in this process waits for new events. A feed of a server waits only if the server does not answer.
        if config.url:
            line = f"finapi: no answer from {config.url}, or refused for now; next try in {seconds:.0f} s"
            say("err", escape_unprintable(line))
        threading.Event().wait(seconds)

    try:
        with connect(config) as (url, send):
            client = Client(url, get_api_key(args, config), send=send, wait=wait)
            for event in islice(iter_events(client), args.count):
                show(event)
    except ApiFailure as failure:
        return report_failure(say, failure, config.url)
    return 0


def _parse_data(text: str | None) -> dict[str, Any] | None:
    """Return the JSON object of ``--data``, or None without it. Raise UsageError for anything else."""
    try:
        data = None if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--data: is not JSON: {error}") from None
    if data is not None and not isinstance(data, dict):
        raise UsageError("--data: must be a JSON object")
    return data


def _run_trigger(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.testing.control_client import Control

    try:
        ready = json.loads(resolve_path(".", args.ready_line).read_text("utf-8"))
        control = Control(str(ready["control_url"]), str(ready["control_token"]), by_urllib())
        accounts = {name: account["email"] for name, account in ready["accounts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"--ready-line: must be the output of finapi fixture --ready json: {error}") from None
    data = _parse_data(args.data)
    if args.account not in accounts:
        raise UsageError(f"--account: must be one of {', '.join(accounts)}")
    receiver = {"url": args.to} if args.to else {"email": accounts[args.account]}
    try:
        if args.event in FEEDS:
            seq = control.event(args.event, args.type, data or {})
            return print_result(say, args, f"{args.event}: event {seq}", feed=args.event, seq=seq)
        try:
            delivery = control.webhook(args.event, data, **receiver)
        except ApiFailure as failure:
            if args.to or failure.details.get("param") != "url":
                raise
            # The account has no receiver: send the webhook to an inbox of the fixture. finapi listen forwards it.
            delivery = control.webhook(args.event, data, **receiver, url=control.inbox_url("trigger"))
    except ApiFailure as failure:
        return report_failure(say, failure, str(ready["control_url"]))
    return print_result(say, args, f"{args.event}: {delivery}", event_type=args.event, delivery_id=delivery)


VERBS = {
    "watch": Verb(
        "print the events of a feed as they happen, one line each",
        (
            arg("feed", choices=FEEDS, metavar="FEED", help=", ".join(FEEDS)),
            arg("--since", type=whole_number(0), metavar="SEQ", help="begin behind the event with this number"),
            arg("--ticker", help="only events of this company"),
            _COUNT,
            _EVERY,
            KEY,
        ),
        _run_watch,
        settings=("url",),
        storeless=True,
        note=EXIT_STATUS_NOTE,
        interrupt_note="to continue, give --since with the number of the last event",
    ),
    "listen": Verb(
        "forward the account's webhooks to a local address",
        (
            arg("--forward-to", required=True, metavar="URL", help="http://127.0.0.1:3000/webhook"),
            arg("--all", action="store_true", help="also the last hundred deliveries, not only new ones"),
            _COUNT,
            _EVERY,
            KEY,
        ),
        _run_listen,
        settings=("url",),
        storeless=True,
        note=EXIT_STATUS_NOTE,
        interrupt_note="the printed deliveries are forwarded; with --all the same command begins with the last hundred",
    ),
    "trigger": Verb(
        "cause an event in a fixture: a webhook, or an event of a feed",
        (
            arg("event", choices=TRIGGER_EVENTS, metavar="EVENT", help=", ".join(TRIGGER_EVENTS)),
            arg("--ready-line", required=True, metavar="FILE", help="the output of finapi fixture --ready json"),
            arg("--to", metavar="URL", help="receiver of the webhook (that of --account, or an inbox)"),
            arg("--account", default="pro", help="an account of the ready line: pro, free, ... (pro)"),
            arg("--data", metavar="JSON", help="the data of the event, a JSON object"),
            arg("--type", default="new_filing", help="type of a feed's event (new_filing)"),
        ),
        _run_trigger,
        storeless=True,
        note=EXIT_STATUS_NOTE,
    ),
}
