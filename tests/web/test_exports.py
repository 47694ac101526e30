"""Tables of lists: complete or refused, paged by a limit, streamed while they are built, and refunded if they fail."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from http.client import HTTPConnection, IncompleteRead
from typing import Any, TypedDict

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.errors import ApiError
from finapi.httpd.listener import Listener
from finapi.httpd.settings import ListenSettings
from finapi.web import exports
from finapi.web.application import WsgiApp
from finapi.web.http import schema
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import OFFSET, limit_param
from finapi.web.http.route import Route
from tests.client import Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.support.case_tables import run_each_case
from tests.support.insider_market import store_market
from tests.support.metered_calls import list_ledger_rows

LATEST = "/api/v1/insiders/transactions/latest"
COUNT = 25
FAILS_AT: list[int] = []
STALLS: list[threading.Event] = []


class NumberRow(TypedDict):
    n: int


class NumberMeta(TypedDict):
    has_more: bool


class Numbers(TypedDict):
    data: list[NumberRow]
    meta: NumberMeta


SHAPE = schema.Answer[Numbers]


def numbers(call: Call) -> Response:
    """Return the numbers from 0 to 24; raise an error at the numbers in FAILS_AT."""
    first, size = call.params["offset"], call.params["limit"]
    with call.app.db.read() as tx:
        tx.find_value("data_version")
    for reached in STALLS:
        assert not 12 <= first < COUNT or reached.wait(5)
    if first in FAILS_AT:
        raise RuntimeError("as the test wants it")
    rows = [{"n": number} for number in range(first, min(COUNT, first + size))]
    return call.success_rows(rows, {"has_more": first + size < COUNT})


def numbers_route(
    path: str = "/api/v1/x",
    handler: Callable[[Call], Response] = numbers,
    *,
    cost: int = 5,
    max_limit: int = 5,
    cacheable: bool = False,
) -> Route:
    """Return a route whose rows are numbers, at most ``max_limit`` on a page."""
    return Route(
        "GET",
        path,
        handler,
        auth="key",
        cost=cost,
        zone=None,
        summary="Numbers",
        params=(limit_param(3, max_limit), OFFSET),
        lists=True,
        shape=SHAPE,
        cacheable=cacheable,
    )


ROUTE = numbers_route()
FREE = numbers_route("/api/v1/free", cost=0, max_limit=24)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limit the pages of an export to four rows."""
    monkeypatch.setattr(exports, "PAGE_ROWS", 4)
    FAILS_AT.clear()
    yield
    FAILS_AT.clear()
    STALLS.clear()


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


@pytest.fixture
def wsgi(app: App) -> WsgiApp:
    return WsgiApp(app, [ROUTE, FREE])


@pytest.fixture
def api(app: App, wsgi: WsgiApp) -> Client:
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    client.call_application(wsgi)
    return client


def open_stream(wsgi: WsgiApp, api: Client, **environ_changes: Any) -> Any:
    """Return the body of a call as the server receives it from the application."""
    query = {"QUERY_STRING": "format=csv"}
    environ = {
        "REQUEST_METHOD": "GET",
        "REQUEST_URI": ROUTE.path,
        "HTTP_X_API_KEY": api.key,
        **query,
        **environ_changes,
    }
    return wsgi(environ, lambda status, headers: None)


def rows(answer: Answer) -> list[int]:
    assert answer.status == 200, answer.body
    return [int(row["n"]) for row in csv.DictReader(io.StringIO(answer.body.decode()))]


def test_a_table_without_a_limit_is_complete(app: App, api: Client) -> None:
    answer = api.get(ROUTE.path + "?format=csv")
    assert rows(answer) == list(range(COUNT))
    assert (answer.headers["x-has-more"], answer.headers["x-tokens-charged"]) == ("false", "5")
    assert "content-length" not in answer.headers
    assert list_ledger_rows(app) == [(-5, "debit", ROUTE.name, None)]


@run_each_case("size", [1, 4, 6, 24, 25, 26])
def test_a_table_with_a_limit_links_to_its_next_page(api: Client, size: int) -> None:
    numbers_read: list[int] = []
    path: str | None = f"{ROUTE.path}?format=csv&limit={size}&apiKey={api.key}"
    while path:
        answer = api.get(path)
        numbers_read += rows(answer)
        assert len(rows(answer)) <= size
        link = re.fullmatch('<(.*)>; rel="next"', answer.headers.get("link", ""))
        assert answer.headers["x-has-more"] == str(link is not None).lower()
        path = link and link[1]
        assert path is None or "apiKey" not in path
    assert numbers_read == list(range(COUNT))


def test_the_link_of_a_table_has_the_path_of_the_public_url(app: App, api: Client, wsgi: WsgiApp) -> None:
    wsgi.app = replace(app, config=replace(app.config, public_url="https://example.com/finapi"))
    link = api.get(f"{ROUTE.path}?format=csv&limit=6").headers["link"]
    assert link == f'</finapi{ROUTE.path}?format=csv&limit=6&offset=6>; rel="next"'


@pytest.mark.parametrize("limit", ["0", "-1", "-2387"])
def test_a_limit_below_one_is_one_in_tables_too(api: Client, limit: str) -> None:
    assert rows(api.get(f"{ROUTE.path}?format=csv&limit={limit}")) == [0]
    assert rows(api.get(f"{ROUTE.path}?format=csv&limit={limit}&offset={COUNT}")) == []


def test_a_table_with_too_many_rows_is_refused(app: App, api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MAX_ROWS", 24)
    answer = api.get(ROUTE.path + "?format=csv")
    assert (answer.status, answer.json["details"]) == (400, {"param": "limit", "expected": "at most 24"})
    assert answer.headers["x-tokens-charged"] == "0"
    assert rows(api.get(ROUTE.path + "?format=csv&limit=24")) == list(range(24))
    assert api.get(ROUTE.path + "?format=csv&limit=25").status == 400
    monkeypatch.setattr(exports, "MAX_ROWS", 25)
    assert len(rows(api.get(ROUTE.path + "?format=csv"))) == 25


@pytest.mark.parametrize("page", [4, 24, 1000])
def test_a_table_of_a_free_call_has_no_more_rows_than_its_json(
    api: Client, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", page)
    for refused in ("", "&limit=25"):
        answer = api.get(FREE.path + "?format=csv" + refused)
        assert (answer.status, answer.json["details"]) == (400, {"param": "limit", "expected": "at most 24"})
    assert rows(api.get(FREE.path + "?format=csv&offset=1")) == list(range(1, COUNT))
    first = api.get(FREE.path + "?format=csv&limit=24")
    assert (rows(first), first.headers["x-has-more"]) == (list(range(24)), "true")


def test_ndjson_and_gzip(api: Client) -> None:
    lines = api.get(ROUTE.path, headers={"Accept": "application/x-ndjson", "Accept-Encoding": "gzip"})
    assert lines.headers["content-encoding"] == "gzip"
    assert [json.loads(line)["n"] for line in gzip.decompress(lines.body).splitlines()] == list(range(COUNT))


def test_json_has_its_usual_limit(api: Client) -> None:
    assert len(api.get(ROUTE.path + "?format=json&limit=24").json["data"]) == 5


@pytest.mark.parametrize("format_text", ["xml", "", "csv,json"])
def test_an_unknown_format_is_refused(api: Client, format_text: str) -> None:
    answer = api.get(ROUTE.path, query={"format": format_text})
    assert answer.json["details"] == {"param": "format", "allowed": ["json", "csv", "ndjson"]}


def test_a_head_has_no_body_and_reads_one_page(app: App, api: Client) -> None:
    FAILS_AT.append(24)
    answer = api.call("HEAD", ROUTE.path + "?format=csv&limit=6")
    assert (answer.status, answer.body, answer.headers["x-has-more"]) == (200, b"", "true")
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit")]


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_head_has_the_headers_of_the_streamed_table(app: App, api: Client, coding: str) -> None:
    api.call_application(WsgiApp(app, [numbers_route(cacheable=True)]))
    call_arguments: dict[str, Any] = {
        "path": ROUTE.path + "?format=csv&limit=6",
        "headers": {"Accept-Encoding": coding},
    }
    full, head = (api.call(method, **call_arguments).headers for method in ("GET", "HEAD"))
    assert "link" in full
    assert {**head, "x-request-id": ""} == {**full, "x-request-id": ""}
    call_arguments["headers"] |= {"If-None-Match": "*"}
    for method in ("GET", "HEAD"):
        answer = api.call(method, **call_arguments)
        assert (answer.status, answer.headers["etag"]) == (304, full["etag"])


def test_a_connection_is_reusable_after_the_head_of_a_table(api: Client, wsgi: WsgiApp) -> None:
    listener = Listener(wsgi, ListenSettings(port=0), wsgi.error_response)
    thread = threading.Thread(target=listener.run)
    thread.start()
    try:
        with closing(HTTPConnection("127.0.0.1", listener.port, timeout=10)) as client:
            statuses = []
            for method in ("HEAD", "GET", "HEAD", "GET"):
                client.request(method, f"{ROUTE.path}?format=csv", headers={"X-API-Key": str(api.key)})
                answer = client.getresponse()
                statuses.append((answer.status, len(answer.read().splitlines())))
            assert statuses == [(200, 0), (200, COUNT + 1)] * 2
    finally:
        listener.stop(0.1)
        thread.join()


def test_a_table_that_fails_half_way_is_refunded(app: App, api: Client, wsgi: WsgiApp) -> None:
    FAILS_AT.append(8)
    with pytest.raises(RuntimeError):
        list(open_stream(wsgi, api))
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit"), (5, "5xx_refund")]
    FAILS_AT[0] = 0
    assert api.get(ROUTE.path + "?format=csv").status == 500
    assert len(list_ledger_rows(app)) == 4


def test_a_client_that_disconnects_pays_and_frees_its_slot(app: App, api: Client, wsgi: WsgiApp) -> None:
    for _ in range(app.config.large_at_once + 2):
        body = iter(stream := open_stream(wsgi, api))
        assert next(body) == b"n\r\n0\r\n1\r\n2\r\n3\r\n"
        stream.close()
    assert {row[:2] for row in list_ledger_rows(app)} == {(-5, "debit")}
    assert rows(api.get(ROUTE.path + "?format=csv")) == list(range(COUNT))


def test_a_table_that_the_server_cuts_off_is_refunded_and_logged(
    app: App, api: Client, wsgi: WsgiApp, caplog: pytest.LogCaptureFixture
) -> None:
    body = iter(stream := open_stream(wsgi, api, **{"finapi.abort_reason": lambda: "The server is stopping."}))
    next(body)
    stream.close()
    stream.close()
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit"), (5, "5xx_refund")]
    assert caplog.messages == ["Export aborted and refunded: The server is stopping."]
    assert len(list(open_stream(wsgi, api, **{"finapi.abort_reason": lambda: "It is whole by then."}))) > 1
    assert len(list_ledger_rows(app)) == 3


def test_an_uncharged_export_is_not_logged_as_refunded(caplog: pytest.LogCaptureFixture) -> None:
    stream = exports.StreamedExport(iter([b"n\r\n", b"0\r\n"]), ExitStack())
    body = iter(stream.start({"finapi.abort_reason": lambda: "The server is stopping."}))
    assert next(body) == b"n\r\n"
    stream.close()
    assert caplog.messages == ["Export without a charge aborted: The server is stopping."]


def test_a_table_that_a_server_stop_cuts_off_is_refunded(app: App, api: Client, wsgi: WsgiApp) -> None:
    listener = Listener(wsgi, ListenSettings(port=0), wsgi.error_response)
    thread = threading.Thread(target=listener.run)
    thread.start()
    try:
        request = urllib.request.Request(f"{listener.url}{ROUTE.path}?format=csv", headers={"X-API-Key": str(api.key)})
        STALLS.append(closed := threading.Event())
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.readline() == b"n\r\n"
            listener.stop(0.0)
            with pytest.raises(IncompleteRead):
                answer.read()
    finally:
        listener.stop(0.0)
        closed.set()
        thread.join()
        assert listener.context.pool.stop(timeout_seconds=10) == 0
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit"), (5, "5xx_refund")]


def test_the_number_of_concurrent_tables_is_limited(app: App, api: Client) -> None:
    with app.large_answer_queue.enter("a"), app.large_answer_queue.enter("b"):
        app.large_answer_queue._wait_seconds = 0.0
        answer = api.get(ROUTE.path + "?format=csv")
    assert (answer.status, answer.json["code"]) == (503, "UNAVAILABLE")
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit"), (5, "5xx_refund")]


def test_a_failed_table_is_sent_without_the_final_chunk(api: Client, wsgi: WsgiApp) -> None:
    listener = Listener(wsgi, ListenSettings(port=0), wsgi.error_response)
    thread = threading.Thread(target=listener.run)
    thread.start()
    try:
        request = urllib.request.Request(f"{listener.url}{ROUTE.path}?format=csv", headers={"X-API-Key": str(api.key)})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.headers["Transfer-Encoding"] == "chunked"
            assert len(answer.read().splitlines()) == COUNT + 1
        FAILS_AT.append(12)
        with urllib.request.urlopen(request, timeout=10) as answer, pytest.raises(IncompleteRead) as caught:
            answer.read()
        assert b"11\r\n" in caught.value.partial
        assert b"12\r\n" not in caught.value.partial
    finally:
        listener.stop(0.1)
        thread.join()


def test_real_lists_are_the_same_as_in_json(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    store_market(app)
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    client = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    for path in (LATEST, "/api/v1/insiders/filings/latest", "/api/v1/insiders/holdings/by-ticker/BRK-B"):
        json_rows = client.get(path).json["data"]
        lines = client.get(path + "?format=ndjson").body.splitlines()
        assert [json.loads(line) for line in lines] == json_rows
        assert len(json_rows) >= 3


def test_a_call_without_tables_refuses_table_formats(app: App) -> None:
    client = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    answer = client.get("/api/v1/stats?format=csv")
    assert (answer.status, answer.json["details"]) == (400, {"param": "format", "allowed": ["json"]})


def test_an_api_error_in_the_middle_ends_the_table(
    app: App, api: Client, wsgi: WsgiApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = exports.ListReader.read_page

    def page(self: Any, most: int) -> Any:
        if self._position.get("offset", 0) >= 8 and most > 1:
            raise ApiError("UNAVAILABLE", "As the test wants it.")
        return real(self, most)

    monkeypatch.setattr(exports.ListReader, "read_page", page)
    with pytest.raises(ApiError):
        list(open_stream(wsgi, api))
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit"), (5, "5xx_refund")]
