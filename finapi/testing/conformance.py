"""Conformance checks of a server of this API (``finapi conformance``): behaviour that clients rely on.

Each check makes a few calls and judges the answers. It returns a summary, raises MismatchError if the
server breaks a promise, or NotGradedError if this server cannot be checked for it. ``grade_server`` turns these into
verdicts.
"""

from __future__ import annotations

import csv
import io
import json
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from math import ceil
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from finapi.client.errors import parse_retry_after
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.client.signatures import find_signature_problem
from finapi.client.synchronous import Send, by_urllib
from finapi.core.counts import format_count

MAX_ROWS = 2_000  # Maximum length of the list that is read in pages.
PAGE_COUNT = 7  # Pages in which that list is read, unless a page would have more than MAX_PAGE_ROWS.
MAX_PAGE_ROWS = 100
MAX_CALLS = 200  # Maximum number of calls that are made to reach one limit.
MAX_RETRY_AFTER_SECONDS = 60.0
DELIVERY_TIMEOUT_SECONDS = 15.0
FEED_TIMEOUT_SECONDS = 10.0
EVENT_COUNT = 3  # Number of past events that are read from a feed.
MAX_WEBHOOK_BYTES = 1 << 20

UNKNOWN_COMPANY_PATH = "/xbrl/companies/NOSUCH/statements"
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
LIMIT_HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Zone(NamedTuple):
    """A group of routes with a common limit."""

    name: str
    path: str
    policy_name: str  # The name of the zone's capacity in the answer of /policy.
    extra_calls: int  # The number of calls that pass in addition to this capacity.
    has_limit_headers: bool  # True if a 429 of this zone has the X-RateLimit headers.


ZONES = (
    Zone("financials", "/financials/status", "financials_endpoints_burst", 1, False),
    Zone("xbrl", "/xbrl/coverage?limit=1", "xbrl_endpoints_burst", 1, False),
    Zone("app", "/account/balance", "global_default_per_minute", 0, True),
)


class MismatchError(Exception):
    """A difference between the server and the contract."""


class NotGradedError(Exception):
    """The reason why a check cannot be applied to this server."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check or a vector. ``outcome`` is ok, failed or skipped; ``message`` explains it."""

    check: str
    outcome: str
    message: str


@dataclass(frozen=True, slots=True)
class GradedServer:
    """A server under test. Paths are relative to ``/api/v1``."""

    url: str
    api_key: str
    send: Send = field(default_factory=lambda: by_urllib(with_reason=True))
    wait: Callable[[float], None] = time.sleep

    def request(
        self, path: str, *, method: str = "GET", has_key: bool = True, body: Any = None, **headers: str
    ) -> ApiAnswer:
        """Make a call and return the answer. Raise MismatchError if the server does not answer."""
        request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
        if has_key:
            request_headers["X-API-Key"] = self.api_key
        encoded_body = b""
        if body is not None:
            request_headers["Content-Type"] = "application/json"
            encoded_body = json.dumps(body).encode()
        url = f"{self.url.rstrip('/')}/api/v1{path}"
        answer = self.send(ApiRequest(method, url, request_headers, encoded_body))
        if answer is None or not answer.status:
            reason = answer.body.decode("utf-8", "replace") if answer is not None else ""
            raise MismatchError(f"{method} {path} is not answered" + (f": {reason}" if reason else ""))
        return answer

    def request_object(self, path: str, **options: Any) -> dict[str, Any]:
        """Make a call, require status 200 and return the JSON object of the answer.

        Numbers are returned as text, exactly as the server wrote them.
        """
        answer = self.request(path, **options)
        require_equal(f"the status of {path}", answer.status, 200)
        return parse_object(path, answer)

    def request_balance(self) -> int:
        """Return the balance of the account."""
        return int(self.request_object("/account/balance")["current_balance"])


def require_equal(subject: str, actual: Any, expected: Any) -> None:
    """Raise MismatchError unless both are equal."""
    if actual != expected:
        raise MismatchError(f"{subject} is {actual!r}, not {expected!r}")


def parse_object(path: str, answer: ApiAnswer, parse_number: Callable[[str], Any] = str) -> dict[str, Any]:
    """Return the JSON object in an answer. Raise MismatchError if it is not one."""
    try:
        document = json.loads(answer.body, parse_float=parse_number, parse_int=parse_number)
    except (ValueError, RecursionError):
        raise MismatchError(f"{path} does not return JSON") from None
    if not isinstance(document, dict):
        raise MismatchError(f"{path} does not return an object")
    return document


# ---- single calls


def check_errors(server: GradedServer) -> str:
    """Check that every error has the same form."""
    cases: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
        (404, "NOT_FOUND", "/no-such-route", {}),
        (401, "UNAUTHORIZED", "/sec/filings", {"has_key": False}),
        (405, "METHOD_NOT_ALLOWED", "/sec/filings", {"method": "DELETE"}),
        (404, "UNKNOWN_TICKER", UNKNOWN_COMPANY_PATH, {}),
        (400, "INVALID_PARAM", "/xbrl/timeseries?ticker=AAPL&period=Z", {}),
    )
    for status, code, path, options in cases:
        answer = server.request(path, **options)
        require_equal(f"the status of {path}", answer.status, status)
        document = parse_object(path, answer)
        codes = (document.get("status"), document.get("error"), document.get("code"))
        require_equal(f"status, error and code of {path}", codes, ("error", code, code))
        for name in ("message", "request_id", "timestamp"):
            require_equal(f"the type of {name} of {path}", type(document.get(name)), str)
        if status == 405 and "GET" not in answer.headers.get("allow", ""):
            raise MismatchError("the Allow header of a 405 does not contain GET")
    return format_count(len(cases), "error")


def check_headers(server: GradedServer) -> str:
    """Check the headers that clients read, on GET and on HEAD."""
    path, request_id = "/account/balance", "conformance-1"
    answer = server.request(path, X_Request_ID=request_id)
    require_equal("the status of " + path, answer.status, 200)
    require_equal("X-Request-ID", answer.headers.get("x-request-id"), request_id)
    require_equal("X-Content-Type-Options", answer.headers.get("x-content-type-options"), "nosniff")
    for name in ("x-api-version", "cache-control", *LIMIT_HEADERS):
        if not answer.headers.get(name):
            raise MismatchError(f"{path} has no {name}")
    limit, remaining, reset_time = (int(answer.headers[name]) for name in LIMIT_HEADERS)
    if not 0 <= remaining < limit or reset_time < 1_000_000_000:
        raise MismatchError(f"X-RateLimit headers: {remaining} of {limit} calls remain until {reset_time}")
    head_answer = server.request(path, method="HEAD")
    require_equal("the body of a HEAD", head_answer.body, b"")
    require_equal("the status of a HEAD", head_answer.status, 200)
    return f"{limit} calls allowed, {remaining} left"


def check_etags(server: GradedServer) -> str:
    """Check that a call with a known ETag is answered 304 and is free."""
    path = "/sec/filings?limit=1"
    first_answer, balance = server.request(path), server.request_balance()
    tag = first_answer.headers.get("etag", "")
    if not re.fullmatch('"[^"]+"', tag):
        raise MismatchError(f"{path} has no strong ETag")
    answer = server.request(path, If_None_Match=tag)
    seen = (answer.status, answer.body, answer.headers.get("x-tokens-charged"))
    require_equal("status, body and X-Tokens-Charged of a known answer", seen, (304, b"", "0"))
    require_equal("the balance after a 304", server.request_balance(), balance)
    return "304 for 0 tokens"


def check_metering(server: GradedServer) -> str:
    """Check that the balance falls by the tokens in the headers, and does not fall with an error."""
    balance_before, answer = server.request_balance(), server.request("/sec/filings?limit=1")
    charged_tokens = int(answer.headers.get("x-tokens-charged", "-1"))
    balance_between, error = server.request_balance(), server.request(UNKNOWN_COMPANY_PATH)
    require_equal("X-Tokens-Charged of a failure", error.headers.get("x-tokens-charged"), "0")
    falls = (balance_before - balance_between, balance_between - server.request_balance())
    require_equal("the cost of a list and of a failure by the balance", falls, (charged_tokens, 0))
    return f"{format_count(charged_tokens, 'token')} for a list, 0 for a failure"


def check_decimals(server: GradedServer) -> str:
    """Check that figures have every digit in JSON and in CSV, and that a missing one is null with a mark."""
    ticker = quote(_find_company(server))
    path = f"/xbrl/timeseries?ticker={ticker}&metrics=revenue,eps_diluted,total_assets&limit=4"
    json_rows = server.request_object(path)["data"]["rows"]
    csv_rows = csv.DictReader(io.StringIO(server.request(path, Accept="text/csv").body.decode()))
    count = 0
    for json_row, csv_row in zip(json_rows, csv_rows, strict=True):
        for name, text in json_row["metrics"].items():
            cell = f"{name} of {json_row['period_end']}"
            require_equal(f"{cell} in CSV", csv_row[name], "" if text is None else text)
            count += text is not None
            if text is not None and not DECIMAL.fullmatch(text):
                raise MismatchError(f"{cell} is {text}, not a decimal")
    return f"{format_count(count, 'figure')} and {_count_statement_figures(server, ticker)} of statements as filed"


def _count_statement_figures(server: GradedServer, ticker: str) -> int:
    """Count the figures of a company's statements. Each must be a decimal text, or null with a mark."""
    path, count = f"/xbrl/companies/{ticker}/statements", 0
    statements = parse_object(path, server.request(path), Decimal)["data"]["statements"]
    for statement in statements.values():
        for row in statement["rows"]:
            for figure, mark in zip(row["values"], row["marks"], strict=True):
                if (figure is None) != (mark is not None):
                    raise MismatchError(f"{row['concept']} has the value {figure} with the mark {mark}")
                if figure is not None and not (isinstance(figure, str) and DECIMAL.fullmatch(figure)):
                    raise MismatchError(f"{figure!r} of {row['concept']} is not a decimal text")
                count += figure is not None
    return count


def _find_company(server: GradedServer) -> str:
    """Return the ticker or CIK of a company that has figures. Raise NotGradedError if there is none."""
    companies = server.request_object("/xbrl/coverage?limit=1")["data"]["companies"]
    if not companies:
        raise NotGradedError("the server has no company with figures")
    return str(companies[0]["ticker"] or companies[0]["cik"])


# ---- pages


def check_paging(server: GradedServer) -> str:
    """Check that the pages of a list contain every row once, by cursor and by offset."""
    path = f"/sec/filings?ticker={quote(_find_company(server))}"
    total = int(server.request_object(f"{path}&limit=1")["meta"]["pagination"]["total"])
    if not 2 <= total <= MAX_ROWS:
        raise NotGradedError(f"the company has {format_count(total, 'filing')}, not 2 to {MAX_ROWS:,}")
    page_rows = min(MAX_PAGE_ROWS, max(1, ceil(total / PAGE_COUNT)))
    for mode in ("cursor", "offset"):
        accessions = list(_iter_accessions(server, f"{path}&limit={page_rows}", mode, total))
        require_equal(f"the number of rows by {mode}", len(accessions), total)
        require_equal(f"the number of different rows by {mode}", len(set(accessions)), total)
    page_count = ceil(total / page_rows)
    return f"{format_count(total, 'filing')} on {format_count(page_count, 'page')}, by cursor and by offset"


def _iter_accessions(server: GradedServer, path: str, mode: str, total: int) -> Iterator[str]:
    """Yield the accession numbers of all pages of a list. Stop when there are more than ``total``."""
    page_query, row_count = "", 0
    while row_count <= total:
        document = server.request_object(path + page_query)
        accessions = [row["accession_number"] for row in document["data"]]
        yield from accessions
        row_count += len(accessions)
        cursor, has_more = document["meta"]["next_cursor"], document["meta"]["has_more"]
        require_equal("has_more", has_more, cursor is not None)
        if not has_more:
            return
        if not accessions:
            raise MismatchError("a page in the middle is empty")
        page_query = f"&cursor={quote(cursor)}" if mode == "cursor" else f"&offset={row_count}"


# ---- limits


def check_limits(server: GradedServer) -> str:
    """Check that as many calls pass as the policy and the headers promise, and that the next one is refused."""
    policy = server.request_object("/policy")["data"]["rate_limits"]
    summaries = []
    for zone in ZONES:
        capacity = int(policy[zone.policy_name]) + zone.extra_calls
        if capacity > MAX_CALLS:
            summaries.append(f"{zone.name} {capacity} (too many to check)")
            continue
        passed, remaining, refusal = _call_until_refused(server, zone.path)
        if not min(remaining + 1, capacity) <= passed <= MAX_CALLS:
            raise MismatchError(f"{zone.name}: {passed} calls passed, but the headers promised {remaining + 1}")
        code = parse_object(zone.path, refusal).get("code")
        require_equal(f"the code of a 429 of {zone.name}", code, "RATE_LIMIT_EXCEEDED")
        names = [name for name in ("retry-after", *LIMIT_HEADERS) if name in refusal.headers]
        expected_names = ["retry-after", *LIMIT_HEADERS] if zone.has_limit_headers else []
        require_equal(f"the headers of a 429 of {zone.name}", names, expected_names)
        if zone.has_limit_headers:
            _require_short_wait(policy, refusal)
        summaries.append(f"{zone.name} {capacity}")
    return ", ".join(summaries)


def _require_short_wait(policy: Mapping[str, Any], refusal: ApiAnswer) -> None:
    """Raise MismatchError if Retry-After is longer than it takes until the app-wide limit allows another call.

    For example, a limit of 60 calls per minute allows another call after one second.
    """
    seconds, limit = parse_retry_after(refusal.headers) or 0.0, refusal.headers["x-ratelimit-limit"]
    limits = ((policy["global_default_per_minute"], 60), (policy["global_default_per_hour"], 3600))
    needed_seconds = [ceil(period / int(calls)) for calls, period in limits if calls == limit]
    max_seconds = max(needed_seconds, default=seconds)
    if seconds > max_seconds:
        raise MismatchError(f"Retry-After is {seconds:g} s, but another call is allowed after {max_seconds:g} s")


def _call_until_refused(server: GradedServer, path: str) -> tuple[int, int, ApiAnswer]:
    """Make calls until one is refused.

    Return how many passed, the remaining calls according to the first answer, and the refusal.
    """
    remaining, etag = 0, ""
    for passed in range(MAX_CALLS):
        answer = server.request(path, If_None_Match=etag)
        if answer.status == 429:
            return passed, remaining, answer
        if answer.status not in (200, 304):
            raise MismatchError(f"{path} was answered with status {answer.status}")
        etag = answer.headers.get("etag", "")  # With the ETag the next calls are answered 304 and are free.
        if not passed:
            remaining = int(answer.headers.get("x-ratelimit-remaining", 0))
            if remaining > MAX_CALLS:
                raise NotGradedError(f"{remaining} calls would be needed to reach the limit")
    raise MismatchError(f"{path} refused none of {MAX_CALLS} calls")


def check_retry(server: GradedServer) -> str:
    """Check that a refused call passes after the seconds in Retry-After."""
    path = "/account/balance"
    _, _, refusal = _call_until_refused(server, path)
    seconds = parse_retry_after(refusal.headers)
    if seconds is None:
        raise MismatchError("a 429 has no Retry-After")
    if seconds > MAX_RETRY_AFTER_SECONDS:
        raise NotGradedError(f"Retry-After is {seconds:g} s, which is too long to wait")
    refused_at = _parse_timestamp(path, refusal)
    server.wait(seconds)
    answer = server.request(path)
    if answer.status == 429 and _parse_timestamp(path, answer) == refused_at:
        raise NotGradedError("the server's clock stands still")
    require_equal(f"the status after {seconds:g} s", answer.status, 200)
    return f"passes after {seconds:g} s"


def _parse_timestamp(path: str, answer: ApiAnswer) -> datetime:
    return datetime.fromisoformat(parse_object(path, answer)["timestamp"])


# ---- webhooks and feeds

Message = tuple[dict[str, str], bytes]  # The headers and the body of a received webhook.


@contextmanager
def _run_receiver() -> Iterator[tuple[str, queue.Queue[Message]]]:
    """Run an HTTP server on this machine. Yield its URL and a queue of the messages that are posted to it."""
    messages: queue.Queue[Message] = queue.Queue(10)

    class WebhookHandler(BaseHTTPRequestHandler):
        timeout = DELIVERY_TIMEOUT_SECONDS

        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MAX_WEBHOOK_BYTES))
            messages.put((dict(self.headers.items()), body), timeout=1)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write nothing to stderr."""

    with HTTPServer(("127.0.0.1", 0), WebhookHandler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http_server.server_address[1]}/conformance", messages
        finally:
            http_server.shutdown()
            thread.join()


def check_webhooks(server: GradedServer) -> str:
    """Check that a webhook arrives with its id, the current time and a signature by the account's secret."""
    if urlsplit(server.url).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise NotGradedError("a remote server cannot reach this machine")
    secret = server.request_object("/webhooks/secret")["secret"]
    with _run_receiver() as (url, messages):
        delivery = server.request_object("/webhooks/test", method="POST", body={"url": url})
        try:
            headers, body = messages.get(timeout=DELIVERY_TIMEOUT_SECONDS)
        except queue.Empty:
            raise MismatchError(f"no webhook arrived within {DELIVERY_TIMEOUT_SECONDS:g} s") from None
    lower_headers = {name.lower(): text for name, text in headers.items()}
    require_equal("webhook-id", lower_headers.get("webhook-id"), delivery["delivery_id"])
    now = datetime.fromisoformat(delivery["created_at"]).timestamp()
    require_equal("the error of the signature", find_signature_problem(secret, headers, body, now), None)
    problem = find_signature_problem(secret, headers, body + b" ", now)
    require_equal("the error of the signature with a changed body", problem, "wrong signature")
    return f"{len(body)} bytes, signed"


def check_events(server: GradedServer) -> str:
    """Check that a feed sends the events after a given number in order, over HTTP and over a WebSocket."""
    newest_events = server.request_object("/events?feed=main-api")["data"]
    if len(newest_events) <= EVENT_COUNT:
        raise NotGradedError(f"the feed has only {format_count(len(newest_events), 'event')}")
    numbers = [int(event["seq"]) for event in newest_events[-EVENT_COUNT:]]
    since = numbers[0] - 1
    require_equal("the numbers of the newest events", numbers, list(range(since + 1, since + 1 + EVENT_COUNT)))
    later_events = server.request_object(f"/events?feed=main-api&since_seq={since}")["data"]
    later_numbers = [int(event["seq"]) for event in later_events][:EVENT_COUNT]
    require_equal(f"the numbers of the events after {since}", later_numbers, numbers)
    socket_numbers = list(_iter_feed_numbers(server, since))
    require_equal(f"the numbers of the events after {since} over a WebSocket", socket_numbers, numbers)
    return f"{EVENT_COUNT} events sent again after {since}"


def _iter_feed_numbers(server: GradedServer, since: int) -> Iterator[int]:
    """Yield the numbers of the first events that a WebSocket sends after ``since``."""
    try:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
    except ModuleNotFoundError:
        raise NotGradedError("the package websockets is not installed: pip install websockets") from None

    url = f"{server.url.rstrip('/').replace('http', 'ws', 1)}/ws/main-api?since_seq={since}"
    headers = {"X-API-Key": server.api_key}
    try:
        with connect(
            url, additional_headers=headers, open_timeout=FEED_TIMEOUT_SECONDS, close_timeout=1, proxy=None
        ) as feed:
            for _ in range(EVENT_COUNT):
                yield int(json.loads(feed.recv(FEED_TIMEOUT_SECONDS)).get("seq", -1))
    except (OSError, ValueError, TimeoutError, WebSocketException) as error:
        raise MismatchError(f"the WebSocket was closed: {error}") from None


# ---- grading

# The checks of limits come last, because they use up all calls that the limits allow.
CHECKS: Mapping[str, Callable[[GradedServer], str]] = {
    "errors": check_errors,
    "headers": check_headers,
    "tags": check_etags,
    "metering": check_metering,
    "decimals": check_decimals,
    "paging": check_paging,
    "webhooks": check_webhooks,
    "events": check_events,
    "limits": check_limits,
    "retry": check_retry,
}


def grade_server(server: GradedServer, names: Iterable[str]) -> Iterator[Verdict]:
    """Run the checks with these names and yield the verdict of each as soon as it is known."""
    for name in names:
        try:
            yield Verdict(name, "ok", CHECKS[name](server))
        except NotGradedError as reason:
            yield Verdict(name, "skipped", str(reason))
        except MismatchError as mismatch:
            yield Verdict(name, "failed", str(mismatch))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            yield Verdict(name, "failed", f"an answer has another form: {type(error).__name__} {error}")
