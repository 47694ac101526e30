"""Grades a server of this API by what its clients rely on: each check asks it a few calls and judges the answers."""

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
from typing import Any
from urllib.parse import quote, urlsplit

from finapi.client.exchange import ApiAnswer, ApiRequest, retry_after
from finapi.client.signatures import verify_webhook
from finapi.client.synchronous import Send, by_urllib

MAX_ROWS = 2_000  # of the list that is paged through
PAGES = 7
MAX_CALLS = 200  # that are made to meet a limit
LONGEST = 60.0  # seconds of a Retry-After that are waited for
DELIVERY_SECONDS = 15.0
FEED_SECONDS = 10.0
EVENTS = 3  # that a feed is asked for again
WEBHOOK_BYTES = 1 << 20

# Zone, route, what the policy calls its capacity, what passes beside that, and whether its 429 tells of the limit.
ZONES = (
    ("financials", "/financials/status", "financials_endpoints_burst", 1, False),
    ("xbrl", "/xbrl/coverage?limit=1", "xbrl_endpoints_burst", 1, False),
    ("app", "/account/balance", "global_default_per_minute", 0, True),
)
NOBODY = "/xbrl/companies/NOSUCH/statements"
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
COUNTS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Differs(Exception):
    """What a server does otherwise than the contract says."""


class Ungraded(Exception):
    """Why a check cannot be made of this server."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a check: ``outcome`` is ok, failed or skipped, ``told`` says what was seen."""

    check: str
    outcome: str
    told: str


@dataclass(frozen=True, slots=True)
class Served:
    """The server that is graded; paths begin behind ``/api/v1``."""

    url: str
    key: str
    send: Send = field(default_factory=lambda: by_urllib(says_why=True))
    wait: Callable[[float], None] = time.sleep

    def ask(self, path: str, *, method: str = "GET", key: bool = True, body: Any = None, **headers: str) -> ApiAnswer:
        """The answer to a call; Differs when there is none."""
        told = {name.replace("_", "-"): text for name, text in headers.items()}
        told |= {"X-API-Key": self.key} if key else {}
        told |= {"Content-Type": "application/json"} if body is not None else {}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.send(ApiRequest(method, f"{self.url.rstrip('/')}/api/v1{path}", told, data))
        if answer is None or not answer.status:
            why = answer.body.decode("utf-8", "replace") if answer is not None else ""
            raise Differs(f"{method} {path} is not answered" + (f": {why}" if why else ""))
        return answer

    def document(self, path: str, status: int = 200, **options: Any) -> dict[str, Any]:
        """The object that is answered with a status; its numbers are the texts that were sent."""
        answer = self.ask(path, **options)
        expect(f"the status of {path}", answer.status, status)
        return read(path, answer)


def expect(what: str, found: Any, wanted: Any) -> None:
    """Differs unless it is what is wanted."""
    if found != wanted:
        raise Differs(f"{what} is {found!r}, not {wanted!r}")


def read(path: str, answer: ApiAnswer, number: Callable[[str], Any] = str) -> dict[str, Any]:
    """The object that an answer holds, every number as the text that was sent."""
    try:
        value = json.loads(answer.body, parse_float=number, parse_int=number)
    except (ValueError, RecursionError):
        raise Differs(f"{path} does not return JSON") from None
    if not isinstance(value, dict):
        raise Differs(f"{path} does not return an object")
    return value


# ---- one call


def errors(served: Served) -> str:
    """Every error has one shape."""
    asked: tuple[tuple[int, str, str, dict[str, Any]], ...] = (
        (404, "NOT_FOUND", "/no-such-route", {}),
        (401, "UNAUTHORIZED", "/sec/filings", {"key": False}),
        (405, "METHOD_NOT_ALLOWED", "/sec/filings", {"method": "DELETE"}),
        (404, "UNKNOWN_TICKER", NOBODY, {}),
        (400, "INVALID_PARAM", "/xbrl/timeseries?ticker=AAPL&period=Z", {}),
    )
    for status, code, path, options in asked:
        answer = served.ask(path, **options)
        expect(f"the status of {path}", answer.status, status)
        document = read(path, answer)
        told = (document.get("status"), document.get("error"), document.get("code"))
        expect(f"status, error and code of {path}", told, ("error", code, code))
        for name in ("message", "request_id", "timestamp"):
            expect(f"the type of {name} of {path}", type(document.get(name)), str)
        if status == 405 and "GET" not in answer.headers.get("allow", ""):
            raise Differs("a 405 has no Allow that names GET")
    return f"{len(asked)} errors"


def headers(served: Served) -> str:
    """What a client reads in the headers is there, on HEAD as on GET."""
    path, own = "/account/balance", "conformance-1"
    answer = served.ask(path, X_Request_ID=own)
    expect("the status of " + path, answer.status, 200)
    expect("X-Request-ID", answer.headers.get("x-request-id"), own)
    expect("X-Content-Type-Options", answer.headers.get("x-content-type-options"), "nosniff")
    for name in ("x-api-version", "cache-control", *COUNTS):
        if not answer.headers.get(name):
            raise Differs(f"{path} has no {name}")
    limit, left, reset = (int(answer.headers[name]) for name in COUNTS)
    if not 0 <= left < limit or reset < 1_000_000_000:
        raise Differs(f"{left} of {limit} calls are left until {reset}")
    head = served.ask(path, method="HEAD")
    expect("the body of a HEAD", head.body, b"")
    expect("the status of a HEAD", head.status, 200)
    return f"{limit} calls allowed, {left} left"


def tags(served: Served) -> str:
    """A known answer is 304 and free."""
    path = "/sec/filings?limit=1"
    first, before = served.ask(path), served.document("/account/balance")["current_balance"]
    tag = first.headers.get("etag", "")
    if not re.fullmatch('"[^"]+"', tag):
        raise Differs(f"{path} has no strong ETag")
    again = served.ask(path, If_None_Match=tag)
    told = (again.status, again.body, again.headers.get("x-tokens-charged"))
    expect("status, body and X-Tokens-Charged of a known answer", told, (304, b"", "0"))
    expect("the balance after it", served.document("/account/balance")["current_balance"], before)
    return "304 for 0 tokens"


def metering(served: Served) -> str:
    """The balance falls by what the headers say, and not by a failure."""

    def balance() -> int:
        return int(served.document("/account/balance")["current_balance"])

    before, answer = balance(), served.ask("/sec/filings?limit=1")
    charged = int(answer.headers.get("x-tokens-charged", "-1"))
    middle, refused = balance(), served.ask(NOBODY)
    expect("X-Tokens-Charged of a failure", refused.headers.get("x-tokens-charged"), "0")
    expect("what the balance fell by", (before - middle, middle - balance()), (charged, 0))
    return f"{charged} tokens for a list, 0 for a failure"


def decimals(served: Served) -> str:
    """Figures keep every digit, in JSON as in CSV, and a missing one is null with its mark."""
    ticker = quote(_ticker(served))
    path = f"/xbrl/timeseries?ticker={ticker}&metrics=revenue,eps_diluted,total_assets&limit=4"
    rows = served.document(path)["data"]["rows"]
    table = csv.DictReader(io.StringIO(served.ask(path, Accept="text/csv").body.decode()))
    count = 0
    for row, line in zip(rows, table, strict=True):
        for name, text in row["metrics"].items():
            expect(f"{name} of {row['period_end']} in CSV", line[name], "" if text is None else text)
            count += text is not None
            if text is not None and not DECIMAL.fullmatch(text):
                raise Differs(f"{name} of {row['period_end']} is {text}, not a decimal")
    return f"{count} figures and {_filed(served, ticker)} of statements as filed"


def _filed(served: Served, ticker: str) -> int:
    """How many figures a company's statements have: decimal texts, or null with a mark."""
    path, count = f"/xbrl/companies/{ticker}/statements", 0
    filed = read(path, served.ask(path), Decimal)["data"]["statements"]
    for row in (row for kind in filed.values() for row in kind["rows"]):
        for one, mark in zip(row["values"], row["marks"], strict=True):
            if (one is None) != (mark is not None):
                raise Differs(f"{row['concept']} has the value {one} with the mark {mark}")
            if one is not None and not (isinstance(one, str) and DECIMAL.fullmatch(one)):
                raise Differs(f"{one!r} of {row['concept']} is not a decimal text")
            count += one is not None
    return count


def _ticker(served: Served) -> str:
    """A company that has figures."""
    found = served.document("/xbrl/coverage?limit=1")["data"]["companies"]
    if not found:
        raise Ungraded("no company has figures here")
    return str(found[0]["ticker"] or found[0]["cik"])


# ---- pages


def paging(served: Served) -> str:
    """A list is whole and each row comes once, by cursor and by offset."""
    path = f"/sec/filings?ticker={quote(_ticker(served))}"
    total = int(served.document(f"{path}&limit=1")["meta"]["pagination"]["total"])
    if not 2 <= total <= MAX_ROWS:
        raise Ungraded(f"a list of {total} filings")
    step = min(100, max(1, -(-total // PAGES)))
    for way in ("cursor", "offset"):
        found = list(_walk(served, f"{path}&limit={step}", way, total))
        expect(f"the rows by {way}", len(found), total)
        expect(f"the different rows by {way}", len(set(found)), total)
    return f"{total} filings in {-(-total // step)} pages, by cursor and by offset"


def _walk(served: Served, path: str, way: str, total: int) -> Iterator[str]:
    more, seen = "", 0
    while seen <= total:
        document = served.document(path + more)
        found = [row["accession_number"] for row in document["data"]]
        yield from found
        seen += len(found)
        cursor, goes_on = document["meta"]["next_cursor"], document["meta"]["has_more"]
        expect("whether next_cursor goes with has_more", cursor is not None, goes_on)
        if not goes_on:
            return
        if not found:
            raise Differs("a page in the middle is empty")
        more = f"&cursor={quote(cursor)}" if way == "cursor" else f"&offset={seen}"


# ---- limits


def limits(served: Served) -> str:
    """As many calls pass as the policy and the headers say, and the one after is refused as the contract says."""
    policy = served.document("/policy")["data"]["rate_limits"]
    told = []
    for zone, path, name, beside, has_headers in ZONES:
        most = int(policy[name]) + beside
        if most > MAX_CALLS:
            told.append(f"{zone} {most} not tried")
            continue
        passed, left, refusal = _until_refused(served, path)
        if not min(left + 1, most) <= passed <= MAX_CALLS:
            raise Differs(f"{zone}: {passed} calls passed where {left + 1} were left")
        expect(f"the code of a 429 of {zone}", read(path, refusal).get("code"), "RATE_LIMIT_EXCEEDED")
        names = [name for name in ("retry-after", *COUNTS) if name in refusal.headers]
        expect(f"the headers of a 429 of {zone}", names, ["retry-after", *COUNTS] if has_headers else [])
        if has_headers:
            _expect_soon(policy, refusal)
        told.append(f"{zone} {most}")
    return ", ".join(told)


def _expect_soon(policy: Mapping[str, Any], refusal: ApiAnswer) -> None:
    """Differs where Retry-After is longer than until a call of the app-wide limit comes back: evenly, one at a time."""
    seconds, limit = retry_after(refusal.headers) or 0.0, refusal.headers["x-ratelimit-limit"]
    periods = ((policy["global_default_per_minute"], 60), (policy["global_default_per_hour"], 3600))
    longest = max((ceil(period / int(calls)) for calls, period in periods if calls == limit), default=seconds)
    if seconds > longest:
        raise Differs(f"Retry-After is {seconds:g} s, where {limit} calls allow another after {longest:g} s")


def _until_refused(served: Served, path: str) -> tuple[int, int, ApiAnswer]:
    """How many calls pass until one is refused, how many the first was told are left, and the refusal."""
    left, tag = 0, ""
    for passed in range(MAX_CALLS):
        answer = served.ask(path, If_None_Match=tag)
        if answer.status == 429:
            return passed, left, answer
        if answer.status not in (200, 304):
            raise Differs(f"{path} is answered {answer.status}")
        tag = answer.headers.get("etag", "")  # so that it costs nothing
        if not passed:
            left = int(answer.headers.get("x-ratelimit-remaining", 0))
            if left > MAX_CALLS:
                raise Ungraded(f"{left} calls are left")
    raise Differs(f"{path} refused none of {MAX_CALLS} calls")


def retry(served: Served) -> str:
    """A call that is made again when Retry-After says so passes."""
    _, _, refusal = _until_refused(served, "/account/balance")
    seconds = retry_after(refusal.headers)
    if seconds is None:
        raise Differs("a 429 has no Retry-After")
    if seconds > LONGEST:
        raise Ungraded(f"the wait would be {seconds:g} s")
    began = datetime.fromisoformat(read("/account/balance", refusal)["timestamp"])
    served.wait(seconds)
    answer = served.ask("/account/balance")
    if answer.status == 429 and datetime.fromisoformat(read("", answer)["timestamp"]) == began:
        raise Ungraded("the server's clock stands still")
    expect(f"the status after {seconds:g} s", answer.status, 200)
    return f"passes after {seconds:g} s"


# ---- what is sent by itself


@contextmanager
def _receiver() -> Iterator[tuple[str, queue.Queue[tuple[dict[str, str], bytes]]]]:
    """An address on this machine, and what is posted to it."""
    taken: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue(10)

    class Taking(BaseHTTPRequestHandler):
        timeout = DELIVERY_SECONDS

        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), WEBHOOK_BYTES))
            taken.put((dict(self.headers.items()), body), timeout=1)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing: what came is judged."""

    with HTTPServer(("127.0.0.1", 0), Taking) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/conformance", taken
        finally:
            server.shutdown()
            thread.join()


def webhooks(served: Served) -> str:
    """A webhook comes with its id, a time of now and a signature by the account's secret."""
    if urlsplit(served.url).hostname not in ("127.0.0.1", "::1", "localhost"):
        raise Ungraded("a remote server cannot reach this machine")
    secret = served.document("/webhooks/secret")["secret"]
    with _receiver() as (url, taken):
        sent = served.document("/webhooks/test", method="POST", body={"url": url})
        try:
            told, body = taken.get(timeout=DELIVERY_SECONDS)
        except queue.Empty:
            raise Differs(f"no webhook came in {DELIVERY_SECONDS:g} s") from None
    lower = {name.lower(): text for name, text in told.items()}
    expect("webhook-id", lower.get("webhook-id"), sent["delivery_id"])
    at = datetime.fromisoformat(sent["created_at"]).timestamp()
    expect("what is wrong with the signature", verify_webhook(secret, told, body, at), None)
    wrong = verify_webhook(secret, told, body + b" ", at)
    expect("what is wrong with another body", wrong, "wrong signature")
    return f"{len(body)} bytes, signed"


def events(served: Served) -> str:
    """A feed that is read again from a number tells what came after it, in order, over HTTP and over a WebSocket."""
    newest = served.document("/events?feed=main-api")["data"]
    if len(newest) <= EVENTS:
        raise Ungraded("the feed has hardly any events")
    wanted = [int(event["seq"]) for event in newest[-EVENTS:]]
    since = wanted[0] - 1
    expect("what follows in the feed", wanted, list(range(since + 1, since + 1 + EVENTS)))
    again = served.document(f"/events?feed=main-api&since_seq={since}")["data"]
    expect("what is told again", [int(event["seq"]) for event in again][:EVENTS], wanted)
    expect("what a WebSocket tells again", list(_replayed(served, since)), wanted)
    return f"{EVENTS} events told again after {since}"


def _replayed(served: Served, since: int) -> Iterator[int]:
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    url = f"{served.url.rstrip('/').replace('http', 'ws', 1)}/ws/main-api?since_seq={since}"
    key = {"X-API-Key": served.key}
    try:
        with connect(url, additional_headers=key, open_timeout=FEED_SECONDS, close_timeout=1, proxy=None) as feed:
            for _ in range(EVENTS):
                yield int(json.loads(feed.recv(FEED_SECONDS)).get("seq", -1))
    except (OSError, ValueError, TimeoutError, WebSocketException) as error:
        raise Differs(f"a WebSocket is closed: {error}") from None


# Limits come last: the checks before them would be refused.
CHECKS: Mapping[str, Callable[[Served], str]] = {
    one.__name__: one for one in (errors, headers, tags, metering, decimals, paging, webhooks, events, limits, retry)
}


def grade(served: Served, names: Iterable[str]) -> Iterator[Verdict]:
    """The verdict of each check, as soon as it is made."""
    for name in names:
        try:
            yield Verdict(name, "ok", CHECKS[name](served))
        except Ungraded as why:
            yield Verdict(name, "skipped", str(why))
        except Differs as why:
            yield Verdict(name, "failed", str(why))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            yield Verdict(name, "failed", f"an answer has another form: {type(error).__name__} {error}")
