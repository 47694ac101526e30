"""The Python client: its table, its conversations without I/O, and its calls of a fixture."""

from __future__ import annotations

import ast
import asyncio
import copy
import inspect
import itertools
import json
import pickle
import pydoc
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest
import trustme

from finapi import __version__
from finapi.client import (
    ApiFailure,
    AsyncClient,
    Client,
    ConnectionFailed,
    InsufficientTokens,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    WebhookSignatureError,
    asynchronous,
    by_httpx,
    errors,
    exchange,
    synchronous,
    verify_webhook,
)
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.client.operations import get_operations
from finapi.client.signatures import sign_webhook
from finapi.client.synchronous import by_urllib
from finapi.delivery import webhooks
from finapi.testing import FinapiServer
from finapi.testing.server import FixtureWorld
from finapi.web.routes import ROUTES
from tests import from_routes
from tests.receiver import receiver
from tests.support.case_tables import run_each_case
from tests.support.slow_cases import slow_after
from tests.test_architecture import FILES, MODULES, imports, name_of


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=11, listens=False) as running:
        yield running


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    client_world = server.world("client")
    yield client_world
    client_world.control.drop()


def script_client(*answers: ApiAnswer | None, waits: list[float], sent: list[ApiRequest]) -> Client:
    """Return a client whose calls get these answers in turn."""
    remaining_answers = list(answers)

    def send(request: ApiRequest) -> ApiAnswer | None:
        sent.append(request)
        return remaining_answers.pop(0)

    return Client("http://x", "k" * 32, send=send, wait=waits.append)


def respond(status: int, document: Any = None, **headers: str) -> ApiAnswer:
    named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiAnswer(status, {"content-type": "application/json", **named_headers}, json.dumps(document or {}).encode())


# ---- its table, and what it imports


def test_it_imports_nothing_of_the_server() -> None:
    client_files = [file for file in FILES if name_of(file).startswith("finapi.client")]
    imported_modules = {module for file in client_files for module, _ in imports(file) if module in MODULES}
    assert {module for module in imported_modules if not module.startswith("finapi.client")} <= {
        "finapi"
    }  # The version.
    code = "import sys, finapi.client.synchronous; print(sorted(m for m in sys.modules if m.startswith('finapi')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {module_name.split(".")[1] for module_name in ast.literal_eval(out) if "." in module_name} == {"client"}


def test_the_table_and_the_types_have_every_route() -> None:
    for file, text in from_routes.build_files().items():
        assert file.read_text("utf-8") == text, "python -m tests.from_routes"
    served = {(route.method, route.path) for route in ROUTES if not route.page}
    assert {(operation.method, operation.path) for operation in get_operations().values()} == served


def test_an_unknown_name_is_refused_before_a_request() -> None:
    sent: list[ApiRequest] = []
    client = script_client(waits=[], sent=sent)
    with pytest.raises(AttributeError, match="get_nothing"):
        client.get_nothing()
    with pytest.raises(TypeError, match="get_xbrl_timeseries has no tikcer"):
        client.get_xbrl_timeseries(tikcer="AAPL")
    with pytest.raises(TypeError, match="ticker is required"):
        client.get_xbrl_companies_ticker_statements()
    with pytest.raises(TypeError, match="does not return a list"):
        list(client.rows("get_policy"))
    assert sent == []


def test_values_are_written_as_the_api_reads_them() -> None:
    sent: list[ApiRequest] = []
    client = script_client(respond(200), respond(200), respond(200), waits=[], sent=sent)
    client.get_xbrl_timeseries(ticker="BRK B", metrics=["a", "b"], template=True, as_of=date(2025, 1, 2), basis=None)
    client.get_sec_filings_accession_number(accession_number="a/b")
    assert sent[0].url == ("http://x/api/v1/xbrl/timeseries?ticker=BRK+B&metrics=a%2Cb&template=true&as_of=2025-01-02")
    assert sent[1].url == "http://x/api/v1/sec/filings/a%2Fb"
    assert sent[0].headers["X-API-Key"] == "k" * 32
    client.get_prices_ticker(ticker="AAPL", from_=date(2025, 1, 2))
    assert sent[2].url == "http://x/api/v1/prices/AAPL?from=2025-01-02"


# ---- tries


def test_a_refusal_is_waited_out_as_long_as_it_says() -> None:
    waits: list[float] = []
    sent: list[ApiRequest] = []
    client = script_client(
        respond(429, retry_after="7"),
        respond(503, retry_after="2"),
        respond(200, {"a": 1}),
        waits=waits,
        sent=sent,
    )
    assert client.get_account_balance() == {"a": 1}
    assert (waits, len(sent)) == ([7.0, 2.0], 3)


def test_a_time_to_come_back_is_read_against_the_answers_own() -> None:
    headers = {"retry-after": "Sat, 31 Jan 2026 12:00:30 GMT", "date": "Sat, 31 Jan 2026 12:00:00 GMT"}
    assert errors.parse_retry_after(headers) == 30.0
    assert errors.parse_retry_after({"retry-after": "soon"}) is None
    assert (
        errors.parse_retry_after({**headers, "retry-after": "Sat Jan 31 12:00:09 2026"}) == 9.0
    )  # the form of asctime()


def test_retry_after_without_date_is_compared_with_the_clock() -> None:
    then = datetime.now(UTC) + timedelta(hours=1)
    waits = errors.parse_retry_after({"retry-after": format_datetime(then, usegmt=True)})
    assert waits is not None
    assert 3_590 < waits <= 3_600
    assert errors.parse_retry_after({"retry-after": "Sat, 31 Jan 2026 12:00:30 GMT"}) == 0.0


# ---- answers of other servers


PAGE = ApiAnswer(200, {"content-type": "Text/HTML; charset=utf-8"}, b"<p>Log in to this network")


@run_each_case("status", [301, 302, 307, 308])
def test_a_redirect_is_no_answer(status: int) -> None:
    moved = ApiAnswer(status, {"location": "https://x/api/v1/account/balance"}, b"")
    client = script_client(moved, waits=[], sent=[])
    with pytest.raises(ApiFailure, match=f"{status} UNEXPECTED: The service redirects to https://x/api"):
        client.get_account_balance()
    reset = script_client(ApiAnswer(302, {"location": "https://x/reset-password?token=t"}, b""), waits=[], sent=[])
    assert reset.call("GET", "/api/v1/auth/verifyPasswordLink", {"token": "t"}) == ""
    assert reset.last is not None
    assert reset.last.headers["location"] == "https://x/reset-password?token=t"


def test_a_page_is_no_answer() -> None:
    client = script_client(PAGE, PAGE, PAGE, PAGE, waits=[], sent=[])
    with pytest.raises(ApiFailure, match="200 UNEXPECTED: The answer is an HTML page"):
        client.get_account_balance()
    with pytest.raises(ApiFailure, match="200 UNEXPECTED: The answer is an HTML page"):
        list(client.rows("get_sec_filings"))
    # Where pages are asked for they are answers.
    assert client.get_sec_filings_accession_number_html(accession_number="1").startswith("<p>")
    assert client.call("GET", "/").startswith("<p>")


@run_each_case("document", [{}, {"data": None}, {"data": {"a": 1}}, [], "text", {"data": [], "meta": [1]}])
def test_a_list_of_another_form_is_a_failure(document: Any) -> None:
    answer = ApiAnswer(200, {"content-type": "application/json"}, json.dumps(document).encode())
    with pytest.raises(ApiFailure, match="200 UNEXPECTED: The answer is not a page of a list"):
        list(script_client(answer, waits=[], sent=[]).rows("get_sec_filings"))


@run_each_case("body", [b"", b'{"a": [1, 2', b"[" * 200_000, b'{"a": "\xe9"}'])
def test_an_answer_that_is_cut_off_or_no_text_is_a_failure(body: bytes) -> None:
    answer = ApiAnswer(200, {"content-type": "Application/JSON"}, body)
    with pytest.raises(ApiFailure, match="200 CUT_OFF"):
        script_client(answer, waits=[], sent=[]).get_account_balance()


def test_a_list_that_names_the_same_page_again_ends() -> None:
    page = respond(200, {"data": [{"id": 1}], "meta": {"next_cursor": "same"}})
    client = script_client(*[page] * 9, waits=[], sent=[])
    rows = []
    with pytest.raises(ApiFailure, match="200 UNEXPECTED: The service returns the same page again"):
        rows.extend(row["id"] for row in client.rows("get_sec_filings"))
    assert rows == [1]


def test_a_list_that_ignores_its_offset_ends() -> None:
    page = respond(200, {"data": [{"id": 1}], "meta": {"has_more": True}})
    sent: list[ApiRequest] = []
    client = script_client(*[page] * 99, waits=[], sent=sent)
    with pytest.raises(ApiFailure, match="200 UNEXPECTED: The service returns the same page again"):
        list(client.rows("get_sec_filings"))
    assert len(sent) == exchange.MAX_EQUAL_PAGES + 1


def test_a_page_without_rows_is_the_last_though_it_has_a_cursor() -> None:
    client = script_client(respond(200, {"data": [], "meta": {"next_cursor": "more"}}), waits=[], sent=[])
    assert list(client.rows("get_sec_filings")) == []


@pytest.mark.parametrize(
    ("name", "arguments", "most"),
    [
        ("get_account_transactions", {}, 3),
        ("get_sniper_targets", {}, 3),
        ("get_webhooks_deliveries", {}, 3),
        ("get_xbrl_coverage", {}, 6),
        ("get_xbrl_screen", {"gross_margin_gt": 0.1}, 4),
        ("get_facts_by_concept", {"concept": "Revenues"}, 8),
    ],
)
def test_every_list_operation_has_rows(world: FixtureWorld, name: str, arguments: dict[str, Any], most: int) -> None:
    client = world.client()
    for number in (1, 2, 3):
        if name == "get_account_transactions" and number < most:
            client.get_sec_filings(limit=number)
        if name == "get_sniper_targets":
            client.post_sniper_targets(ticker="AAPL")
        if name == "get_webhooks_deliveries":
            world.control.webhook("finapi.test", url=world.control.inbox_url())
    world.control.until_idle()  # a delivery that is under way is another row later
    rows = list(client.rows(name, **arguments, limit=1))
    assert len(rows) == len({json.dumps(row, default=str) for row in rows}) == most
    assert rows == list(client.rows(name, **arguments))


@contextmanager
def serve_bytes(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the address of a server that sends these bytes to its first client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with listening.accept()[0] as connection, suppress(OSError):
                connection.recv(65_536)
                for piece in pieces:
                    connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


HEAD_OF = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("status", slow_after(1, [b"200 OK", b"404 Not Found"]))
@pytest.mark.parametrize("how", ["urllib", "httpx", "async"])
def test_an_answer_that_never_ends_is_given_up(status: bytes, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (synchronous, asynchronous):
        monkeypatch.setattr(module, "TOTAL_TIMEOUT_SECONDS", 0.2)
    endless = itertools.chain([HEAD_OF % status + b"Content-Length: 1000000000000\r\n\r\n"], itertools.repeat(b" "))

    async def call_url(url: str) -> Any:
        async with AsyncClient(url, tries=1) as client:
            return await client.get_account_balance()

    def answer(url: str) -> Any:
        if how == "async":
            return asyncio.run(call_url(url))
        if how == "urllib":
            return Client(url, tries=1).get_account_balance()
        with pytest.importorskip("httpx").Client() as http:
            return Client(url, tries=1, send=by_httpx(http)).get_account_balance()

    with serve_bytes(endless) as url, pytest.raises(ApiFailure, match="There was no answer"):
        answer(url)


@run_each_case(
    "wire_bytes",
    [
        b"Content-Length: 9\r\n\r\n{}",
        b"Content-Length: 9\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\n{}",
    ],
)
@run_each_case("status", [b"200 OK", b"404 Not Found"])
def test_an_incomplete_answer_is_a_failure(status: bytes, wire_bytes: bytes) -> None:
    with (
        serve_bytes([HEAD_OF % status + wire_bytes]) as url,
        pytest.raises(ApiFailure, match="There was no answer: IncompleteRead"),
    ):
        Client(url, tries=1).get_account_balance()


@pytest.mark.parametrize(
    "wire_bytes",
    [
        b'Content-Length: 8\r\n\r\n{"a": 1}',
        b'\r\n{"a": 1}',
        b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n4\r\n: 1}\r\n0\r\n\r\n',
    ],
)
def test_complete_answers_are_read_with_any_framing(wire_bytes: bytes) -> None:
    with serve_bytes([HEAD_OF % b"200 OK" + wire_bytes]) as url:
        assert Client(url, tries=1).get_account_balance() == {"a": 1}


def test_a_head_has_a_length_and_no_body() -> None:
    with serve_bytes([HEAD_OF % b"200 OK" + b"Content-Length: 8\r\n\r\n"]) as url:
        answer = by_urllib()(ApiRequest("HEAD", f"{url}/x"))
    assert answer is not None
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "8", b"")


def test_a_decimal_in_a_body_has_every_digit_and_sets_are_lists() -> None:
    sent: list[ApiRequest] = []
    bodies = [
        {"amount_dollars": Decimal("12.50"), "days": {date(2026, 1, 31)}},
        {"amount_dollars": Decimal("1E+2")},
        [{'a"é': (Decimal("9007199254740993.000000000000000001"), Decimal("-0.10"), 1.5, None, True, "x")}, {}, []],
        {1: {"b": Decimal("1E-7")}, None: 1},
        [Decimal("1E+999999999"), Decimal("-1.50E-999999999"), Decimal("0E-999999999"), Decimal("1E+999")],
        "x",
    ]
    client = script_client(*[respond(200)] * len(bodies), waits=[], sent=sent)
    for body in bodies:
        client.call("POST", "/x", body=body)
    assert [request.body.decode() for request in sent] == [
        '{"amount_dollars": 12.50, "days": ["2026-01-31"]}',
        '{"amount_dollars": 100}',
        '[{"a\\"\\u00e9": [9007199254740993.000000000000000001, -0.10, 1.5, null, true, "x"]}, {}, []]',
        '{"1": {"b": 0.0000001}, "null": 1}',
        "[1E+999999999, -1.50E-999999999, 0E-999999999, 1" + "0" * 999 + "]",
        '"x"',
    ]


def test_an_idempotency_key_is_known_in_small_letters() -> None:
    assert ApiRequest("POST", "http://x", {"idempotency-key": "1"}).is_repeatable
    assert not ApiRequest("POST", "http://x", {}).is_repeatable


def test_a_lock_of_an_hour_is_not_waited_out() -> None:
    waits: list[float] = []
    client = script_client(
        respond(429, {"code": "LOGIN_LOCKED", "message": "m"}, retry_after="3600"), waits=waits, sent=[]
    )
    with pytest.raises(ApiFailure) as caught:
        client.post_auth_login(email="a", password="b")
    assert (caught.value.code, caught.value.retry_after, waits) == ("LOGIN_LOCKED", 3600.0, [])


def test_a_post_is_repeated_under_its_key_only() -> None:
    sent: list[ApiRequest] = []
    client = script_client(None, respond(500), respond(200), waits=[], sent=sent)
    client.post_sniper_targets(ticker="AAPL")
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1
    assert len(sent) == 3
    sent.clear()
    client = script_client(None, waits=[], sent=sent)
    with pytest.raises(ApiFailure) as caught:
        client.post_auth_forgetpassword(email="a")
    assert (caught.value.status, len(sent)) == (0, 1)
    # A server that stops answers 503 to what is under way, which may have been done.
    sent.clear()
    with pytest.raises(ApiFailure, match="503"):
        script_client(respond(503), respond(200), waits=[], sent=sent).post_auth_forgetpassword(email="a")
    assert len(sent) == 1
    # Nothing was done before a 429, nor by a server that was full.
    for refusal in (respond(429), respond(503, retry_after="1")):
        script_client(refusal, respond(200), waits=[], sent=sent).post_auth_forgetpassword(email="a")


def test_invalid_keys_and_urls_are_refused_before_a_request() -> None:
    for secret in ("\u043a\u043b\u044e\u0447", "a\nb"):
        with pytest.raises(ValueError, match="printable ASCII"):
            Client("http://x", secret)
    with pytest.raises(ValueError, match="must begin with a slash"):
        Client("http://x").call("GET", "api/v1/policy")
    sent: list[ApiRequest] = []
    script_client(respond(200), waits=[], sent=sent).call("GET", "/api/v1/tickers/\u00fc/overview?a=%2F")
    assert sent[0].url == "http://x/api/v1/tickers/%C3%BC/overview?a=%2F"


def test_httpx_does_not_follow_redirects_with_a_key() -> None:
    httpx = pytest.importorskip("httpx")
    hosts: list[str] = []

    def answer(request: Any) -> Any:
        hosts.append(request.url.host)
        return httpx.Response(302, headers={"Location": "https://other.example/"})

    with httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True) as http:
        client = Client("https://finapi.example", "key", send=by_httpx(http))
        with pytest.raises(ApiFailure, match="redirects to https://other"):
            client.get_policy()
    assert hosts == ["finapi.example"]


def test_why_there_was_no_answer_is_said() -> None:
    with (
        Client("http://127.0.0.1:9", tries=1) as client,
        pytest.raises(ApiFailure, match="Connection refused") as caught,
    ):
        client.get_policy()
    assert (caught.value.status, caught.value.code) == (0, "UNREACHABLE")
    httpx = pytest.importorskip("httpx")
    with httpx.Client() as http, pytest.raises(ApiFailure, match=r"no answer: .*refused"):
        Client("http://127.0.0.1:9", tries=1, send=by_httpx(http)).get_policy()

    async def call_url() -> None:
        client = AsyncClient("http://127.0.0.1:9", tries=1)
        try:
            await client.get_policy()
        finally:
            await client.aclose()

    with pytest.raises(ApiFailure, match="no answer: "):
        asyncio.run(call_url())


# ---- exceptions, timeouts, the log, and help at run time


def test_failures_have_a_class_for_their_status() -> None:
    classes = {
        0: ConnectionFailed,
        400: ApiFailure,
        401: Unauthorized,
        402: InsufficientTokens,
        403: ApiFailure,
        404: NotFound,
        429: RateLimited,
        500: ServerError,
        503: ServerError,
    }
    assert {status: type(exchange.build_failure(respond(status))) for status in classes} == classes
    assert type(exchange.build_failure(None)) is ConnectionFailed
    # A page of a proxy with status 200 is an error, and none of these.
    page = ApiAnswer(200, {"content-type": "text/html"}, b"<html>")
    with pytest.raises(ApiFailure) as caught:
        exchange.check_answer("/api/v1/policy", page)
    assert (type(caught.value), caught.value.code) == (ApiFailure, "UNEXPECTED")


def test_failures_print_their_details_and_can_be_pickled() -> None:
    document = {
        "code": "UNKNOWN_TICKER",
        "message": "There is no ticker APPL.",
        "details": {"nearest": "AAPL", "allowed": ["x" * 400]},
        "request_id": "r1",
    }
    failure = exchange.build_failure(respond(404, document, retry_after="7"))
    cut_list = '["' + "x" * 298 + "..."
    text = f"404 UNKNOWN_TICKER: There is no ticker APPL. (nearest: AAPL; allowed: {cut_list}; request_id: r1)"
    assert str(failure) == text
    assert failure.summary == "404 UNKNOWN_TICKER: There is no ticker APPL."
    for copied in (pickle.loads(pickle.dumps(failure)), copy.copy(failure)):
        assert (type(copied), str(copied), copied.details) == (NotFound, text, document["details"])
        assert (copied.request_id, copied.retry_after, copied.document) == ("r1", 7.0, document)
    tokens = {"code": "INSUFFICIENT_TOKENS", "message": "m", "required_cost": 5, "current_balance": 2, "details": None}
    assert str(exchange.build_failure(respond(402, tokens))) == (
        "402 INSUFFICIENT_TOKENS: m (required_cost: 5; current_balance: 2)"
    )
    unreachable = pickle.loads(pickle.dumps(exchange.build_failure(None)))
    assert (type(unreachable), str(unreachable), unreachable.details) == (ConnectionFailed, "There was no answer.", {})


def test_a_timeout_is_of_a_client_or_of_a_call() -> None:
    sent: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiAnswer:
        sent.append(request)
        return respond(200, {"data": []})

    client = Client("http://x", "k", send=send, timeout=9)
    client.get_policy()
    client.get_policy(timeout=0.5)
    client.call("GET", "/api/v1/policy", timeout=3)
    list(client.rows("get_prices_ticker", ticker="AAPL", timeout=4))
    Client("http://x", "k", send=send).get_policy()
    assert [request.timeout_seconds for request in sent] == [9, 0.5, 3, 4, None]
    assert "timeout" not in sent[1].url
    for timeout in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
            Client("http://x", timeout=timeout)
        with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
            client.get_policy(timeout=timeout)


def test_a_server_that_is_silent_times_out() -> None:
    httpx = pytest.importorskip("httpx")
    with socket.create_server(("127.0.0.1", 0)) as silent, httpx.Client() as http:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for client in (Client(url, tries=1, timeout=0.05), Client(url, tries=1, timeout=0.05, send=by_httpx(http))):
            with pytest.raises(ConnectionFailed, match="timed out"):
                client.get_policy()
        with pytest.raises(ConnectionFailed, match="timed out"):
            Client(url, tries=1).get_policy(timeout=0.05)

        async def call_silent_server() -> None:
            async with AsyncClient(url, tries=1, timeout=60) as client:
                await client.get_policy(timeout=0.05)

        with pytest.raises(ConnectionFailed, match="There was no answer"):
            asyncio.run(call_silent_server())


def test_the_log_has_requests_and_repeats_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "finapi.client")
    waits: list[float] = []
    refusal = respond(503, {"code": "BUSY", "message": "m"}, retry_after="2")
    client = script_client(refusal, respond(200), None, waits=waits, sent=[])
    client.call("GET", "/api/v1/policy", {"api_key": "s3cret", "token": "s3cret", "ticker": "A,B"})
    with pytest.raises(ConnectionFailed):
        client.call("POST", "/api/v1/policy", body={"password": "s3cret"})
    url = "http://x/api/v1/policy?api_key=***&token=***&ticker=A,B"
    messages = [re.sub(r"in \d+ ms", "in N ms", record.getMessage()) for record in caplog.records]
    assert messages == [
        f"GET {url}: 503 in N ms",
        f"GET {url} is tried again in 2.0 s (try 2 of 4): 503 BUSY: m",
        f"GET {url}: 200 in N ms",
        "POST http://x/api/v1/policy: no answer in N ms",
    ]
    assert {record.name for record in caplog.records} == {"finapi.client"}


def test_a_base_url_may_end_in_the_prefix_of_paths() -> None:
    sent: list[ApiRequest] = []
    for base_url in ("http://x", "http://x/", "http://x/api/v1", "http://x/api/v1/", "http://x/finapi/api/v1"):
        client = Client(base_url, "k", send=lambda request: sent.append(request) or respond(200))
        client.get_policy()
    assert [request.url for request in sent] == [
        *["http://x/api/v1/policy"] * 4,
        "http://x/finapi/api/v1/policy",
    ]
    assert {request.headers["User-Agent"] for request in sent} == {f"finapi-client/{__version__}"}
    assert AsyncClient("http://x/api/v1/").base_url == "http://x"


def test_methods_have_signatures_and_docstrings_at_run_time() -> None:
    client = Client("http://x")
    method = client.get_tickers_ticker_overview
    operation = get_operations()["get_tickers_ticker_overview"]
    assert method.__name__ == "get_tickers_ticker_overview"
    assert method.__doc__.startswith(f"{operation.summary}.\n\nGET /api/v1/tickers/{{ticker}}/overview costs ")
    assert "    ticker: Required. " in method.__doc__
    parameters = inspect.signature(method).parameters
    assert (parameters["ticker"].default, parameters["ticker"].annotation) == (inspect.Parameter.empty, str)
    assert (parameters["timeout"].default, parameters["timeout"].annotation) == (None, float | None)
    history = inspect.signature(client.get_status_history).parameters
    assert history["resolution"].default == "daily"
    assert str(history["resolution"].annotation) == "typing.Optional[typing.Literal['hourly', 'daily']]"
    assert "idempotency_key" in inspect.signature(client.post_sniper_targets).parameters
    assert "get_tickers_ticker_overview" in dir(client)
    assert "to_pandas" in dir(client)
    asynchronous_client = AsyncClient("http://x")
    assert inspect.iscoroutinefunction(asynchronous_client.get_status_history)
    assert inspect.signature(asynchronous_client.get_status_history) == inspect.signature(client.get_status_history)
    # Each operation has both, and help prints them.
    for name, operation in get_operations().items():
        page = pydoc.plain(pydoc.render_doc(getattr(client, name)))
        assert operation.summary in page
        required = {
            parameter.name.removesuffix("_")
            for parameter in inspect.signature(getattr(client, name)).parameters.values()
            if parameter.default is inspect.Parameter.empty
        }
        assert required == set(operation.required_names)
    with pytest.raises(AttributeError, match="the API has no operation get_nothing"):
        _ = client.get_nothing  # type: ignore[attr-defined]


def test_threads_share_a_client(world: FixtureWorld) -> None:
    client = world.client()
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda n: client.get_prices_ticker(ticker="AAPL", limit=1 + n % 3)["data"], range(24)))
    assert [len(rows) for rows in pages] == [1 + n % 3 for n in range(24)]


def test_permanent_errors_raise_immediately_others_at_the_end() -> None:
    for status, calls in ((400, 1), (402, 1), (404, 1), (500, 4)):
        sent: list[ApiRequest] = []
        document = {"code": "C", "message": "m", "details": {"param": "p"}, "request_id": "r"}
        client = script_client(*[respond(status, document)] * calls, waits=[], sent=sent)
        with pytest.raises(ApiFailure) as caught:
            client.get_account_balance()
        failure = caught.value
        assert (failure.status, failure.code, failure.details, failure.request_id) == (status, "C", {"param": "p"}, "r")
        assert len(sent) == calls
    client = script_client(ApiAnswer(400, {"content-type": "text/html"}, b"<html>"), waits=[], sent=[])
    with pytest.raises(ApiFailure, match="400 HTTP"):
        client.get_account_balance()
    with pytest.raises(ApiFailure, match="incomplete"):
        script_client(ApiAnswer(200, {"content-type": "application/json"}, b'{"a'), waits=[], sent=[]).get_policy()


# ---- against a finapi


def test_numbers_are_decimal_and_days_are_dates(world: FixtureWorld) -> None:
    row = world.client(dates=True).get_prices_ticker(ticker="AAPL", limit=1)["data"][0]
    assert isinstance(row["close"], Decimal)
    assert isinstance(row["date"], date)
    row = world.client().get_prices_ticker(ticker="AAPL", limit=1)["data"][0]
    assert isinstance(row["date"], str)
    (year,) = world.client(dates=True).get_xbrl_timeseries(ticker="AAPL", limit=1)["data"]["rows"]
    assert year["period_end"] == date(2025, 9, 27)
    as_of = world.client(dates=True).get_account_balance()["as_of"]
    assert as_of == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_every_list_ends_and_has_each_row_once(world: FixtureWorld) -> None:
    client = world.client()
    page = client.get_sec_filings(limit=100)
    total = len(list(client.rows("get_sec_filings", limit=100)))
    assert total >= len(page["data"])
    accessions = [row["accession_number"] for row in client.rows("get_sec_filings", limit=7)]
    assert len(accessions) == len(set(accessions)) == total
    for name, arguments in (
        ("get_prices_ticker", {"ticker": "AAPL", "limit": 1000}),
        ("get_xbrl_timeseries", {"ticker": "AAPL", "limit": 3}),
        ("get_insiders_transactions_by_ticker_ticker", {"ticker": "AAPL", "limit": 5}),
        ("get_form_13f_funds", {"limit": 2}),
    ):
        rows = list(client.rows(name, **arguments))
        assert len(rows) > arguments["limit"], name  # type: ignore[operator]
        assert len({json.dumps(row, default=str) for row in rows}) == len(rows), name
        world.control.clear_limits()


def test_pages_are_not_mixed_up_with_the_calls_between() -> None:
    sent: list[ApiRequest] = []
    page = respond(200, [{"n": 1}], x_has_more="true", x_next_cursor="c")
    client = script_client(page, respond(200), respond(200, [{"n": 2}]), waits=[], sent=sent)
    rows = client.rows("get_insiders_insider_search", query="a")
    first = next(rows)
    client.get_account_balance()  # as another thread may, of whom client.last is then
    assert [first, *rows] == [{"n": 1}, {"n": 2}]
    assert sent[2].url.endswith("?query=a&cursor=c")


def test_events_go_on_where_they_were(world: FixtureWorld) -> None:
    def wait(seconds: float) -> None:
        world.control.event("insider-api", "insider_transaction", {"n": seconds})

    seqs = []
    for event in world.client(wait=wait).events("insider-api"):
        seqs.append(event["seq"])
        if event["data"].get("n"):
            break
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    assert len(seqs) > 1


def test_events_continue_in_the_epoch_of_the_last_one() -> None:
    def page(*events: tuple[int, int]) -> ApiAnswer:
        return respond(200, {"data": [{"seq": seq, "epoch": epoch} for seq, epoch in events]})

    sent: list[ApiRequest] = []
    # A backup is restored between the second and the third answer.
    answers = (page((7, 1), (8, 1)), page(), page((5, 2)), page((6, 2)))
    events_of_feed = script_client(*answers, waits=[], sent=sent).events("main-api", since=6)
    assert [next(events_of_feed)["seq"] for _ in range(4)] == [7, 8, 5, 6]
    queries = [request.url.partition("feed=main-api")[2] for request in sent]
    assert queries == ["&since_seq=6", "&since_seq=8&epoch=1", "&since_seq=8&epoch=1", "&since_seq=5&epoch=2"]


def test_the_client_that_does_not_wait_does_the_same(world: FixtureWorld) -> None:
    httpx = pytest.importorskip("httpx")

    class ByWorld(httpx.AsyncBaseTransport):  # type: ignore[misc,name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            answer = world.send(ApiRequest(request.method, str(request.url), dict(request.headers), request.content))
            if answer is None:
                raise httpx.ReadError("cut")
            return httpx.Response(answer.status, headers=answer.headers, content=answer.body)

    async def talk() -> tuple[Any, list[Any], list[float]]:
        waits: list[float] = []

        async def wait(seconds: float) -> None:
            waits.append(seconds)

        async with AsyncClient(world.url, world.api_key, transport=ByWorld(), wait=wait) as client:
            balance = await client.get_account_balance()
            rows = [row async for row in client.rows("get_sec_filings", limit=50)]
            return balance, rows, waits

    world.control.fault("*/account/balance", status=429, times=1)
    world.control.fault("*/account/balance", reset=True, ordinal=2)
    balance, rows, waits = asyncio.run(talk())
    assert balance["plan"] == "pro"
    assert rows == list(world.client().rows("get_sec_filings", limit=50))
    assert waits[0] == 1.0
    assert len(waits) == 2


def test_webhook_signatures_match_the_published_vectors() -> None:
    vectors = webhooks.build_vectors()
    for vector in vectors["vectors"]:
        now = float(vector["headers"]["webhook-timestamp"])
        expectation = nullcontext() if vector["valid"] else pytest.raises(WebhookSignatureError)
        with expectation:
            verify_webhook(vector["secret"], vector["headers"], vector["body"].encode(), now)
    good = vectors["vectors"][0]
    headers, body = dict(good["headers"]), good["body"].encode()
    now = float(headers["webhook-timestamp"])
    # Text and bytes are the same message, as frameworks pass either on.
    byte_headers = {name.encode(): value.encode() for name, value in headers.items()}
    verify_webhook(good["secret"].encode(), byte_headers, body.decode(), now)
    odd = {**headers, "webhook-signature": "v1,\udce9", "webhook-id": "\udce9"}
    refused: list[tuple[Any, Any, float, str]] = [
        (headers, body, now + 301, "too old or too new"),
        (headers, body.decode() + " ", now, "wrong signature"),
        (odd, body, now, "wrong signature"),
        ({"webhook-id": "a"}, body, now, "no signature"),
    ]
    for message_headers, message_body, unix_second, reason in refused:
        with pytest.raises(WebhookSignatureError, match=f"^{reason}$"):
            verify_webhook([good["secret"]], message_headers, message_body, unix_second)
    # Without a time the clock of the machine counts.
    with pytest.raises(WebhookSignatureError, match="too old or too new"):
        verify_webhook(good["secret"], sign_webhook(good["secret"], "id", 1_000, body), body)
    with pytest.raises(ValueError, match="base64"):
        verify_webhook("whsec_***", headers, body, now)


def test_certificates_are_loaded_with_the_first_https_request(monkeypatch: pytest.MonkeyPatch) -> None:
    authority, server = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server)
    loaded: list[ssl.SSLContext] = []

    def load(context: ssl.SSLContext, purpose: object = None) -> None:
        loaded.append(context)
        authority.configure_trust(context)

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", load)
    send = by_urllib(10.0, with_reason=True)

    def status(url: str) -> int:
        answer = send(ApiRequest("GET", url, {}, b""))
        assert answer is not None
        return answer.status

    with receiver() as plain, receiver(context=server) as encrypted:
        assert (status(f"http://127.0.0.1:{plain.port}/"), loaded) == (200, [])
        assert [status(f"https://localhost:{encrypted.port}/") for _ in range(2)] == [200, 200]
        assert len(loaded) >= 1
        # The name is looked at: this certificate is not of the address.
        assert status(f"https://127.0.0.1:{encrypted.port}/") == 0
