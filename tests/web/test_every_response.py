"""Properties of responses of every status: headers, the members of errors, HEAD, gzip and ETags."""

from __future__ import annotations

import gzip
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finapi import __version__
from finapi import app as apps
from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import STATUS_BY_CODE, ApiError
from finapi.core.records import Object
from finapi.web import response_cache, responses
from finapi.web.application import WsgiApp
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import Route
from finapi.web.http.schema import Envelope
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.support.brook_lamps_report import COMPANY, FILING, build_report, store_report
from tests.support.case_tables import run_each_case
from tests.support.metered_calls import create_client, get_balance, list_ledger_rows
from tests.support.random_examples import examples

OUR_REQUEST_ID = re.compile(r"00000000-0000-4000-8000-[0-9]{12}")
STAMP = "2026-01-31T12:00:00.000Z"
SECRET_TEXT = "the password is swordfish"


class NumberedRow(TypedDict):
    a: int


def explode(call: Call) -> Response:
    raise RuntimeError(SECRET_TEXT)


EXPLODING = Route("GET", "/api/v1/explode", explode, auth="key", cost=10, zone="xbrl", summary="It fails")


@pytest.fixture
def client(app: App, user: users.NewUser) -> Client:
    """Store a report; return a client with an API key."""
    store_report(app, build_report())
    return Client(app, user.api_key)


def get_with_status(status: int, make_app: Callable[..., App], method: str = "GET", **headers: str) -> Answer:
    """Return a response of this status, from a key route where possible. The request has ``headers``."""
    app = make_app(free_tokens=0 if status == 402 else 100, xbrl_burst=0 if status == 429 else 30)
    store_report(app, build_report())
    key = users.create(app, "bob@example.com", "free", NOW).api_key
    client = create_client(app, key, EXPLODING) if status == 500 else Client(app, key)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    path, environ = COMPANY, {}
    if status == 204:
        method = "OPTIONS"
    elif status == 304:
        sent["If-None-Match"] = client.get(COMPANY).headers["etag"]
    elif status == 400:
        path += "?period=X"
    elif status == 401:
        sent["X-API-Key"] = "nonsense"
    elif status == 404:
        path = "/api/v1/nothing"
    elif status == 405:
        method = "POST"
    elif status == 429:
        client.get(COMPANY)
    elif status == 500:
        path = EXPLODING.path
    elif status == 504:
        environ = {"finapi.deadline": -1.0}
    answer = client.call(method, path, headers=sent, environ=environ)
    assert answer.status == status
    return answer


def test_a_401_names_the_accepted_credentials(client: Client) -> None:
    challenges = {
        ("GET", COMPANY): 'ApiKey realm="finapi"',
        ("GET", "/api/v1/user/"): 'Bearer realm="finapi"',
        ("GET", "/api/v1/account/balance"): 'Bearer realm="finapi", ApiKey realm="finapi"',
    }
    client.key = None
    for (method, path), challenge in challenges.items():
        answer = client.call(method, path)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, challenge)
    login = client.post("/api/v1/auth/login", {"email": "nobody@example.com", "password": "wrong"})
    assert (login.status, login.headers["www-authenticate"]) == (401, 'Bearer realm="finapi"')
    assert "www-authenticate" not in client.get("/api/v1/nothing").headers


STATUSES = [200, 204, 304, 400, 401, 402, 404, 405, 429, 500, 504]
ERRORS = [status for status in STATUSES if status >= 400]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


# ---- headers


@run_each_case("status", STATUSES)
def test_every_response_has_the_common_headers(make_app: Callable[..., App], status: int) -> None:
    headers = get_with_status(status, make_app).headers
    assert headers["x-api-version"] == __version__ == "1.0.0"
    assert OUR_REQUEST_ID.fullmatch(headers["x-request-id"])
    assert headers["x-content-type-options"] == "nosniff"
    # A 304 does not replace the policy of the cached answer.
    policy = None if status == 304 else "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    assert headers.get("content-security-policy") == policy
    assert headers["cache-control"] == ("private, no-cache" if status in (200, 304) else "no-store")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json"])
def test_a_route_without_a_key_has_the_common_headers(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert (headers["x-api-version"], headers["cache-control"]) == ("1.0.0", "no-store")
    assert (headers["x-content-type-options"], headers["content-type"]) == (
        "nosniff",
        "application/json; charset=utf-8",
    )


@run_each_case("status", STATUSES)
def test_a_valid_request_id_is_repeated_in_the_header_only(make_app: Callable[..., App], status: int) -> None:
    answer = get_with_status(status, make_app, X_Request_ID="their-id~1")
    assert answer.headers["x-request-id"] == "their-id~1"
    if status not in (204, 304):
        assert OUR_REQUEST_ID.fullmatch(answer.json["request_id"])


@run_each_case("request_id", ["", " ", "a b", "a" * 192, "\x7f", "é"])
def test_an_invalid_request_id_is_replaced(client: Client, request_id: str) -> None:
    answer = client.get(COMPANY, headers={"X-Request-ID": request_id})
    assert answer.headers["x-request-id"] == answer.json["request_id"]
    assert OUR_REQUEST_ID.fullmatch(answer.json["request_id"])


def test_every_call_has_its_own_request_id(client: Client) -> None:
    ids = {client.get(COMPANY, headers={"X-Request-ID": "same"}).json["request_id"] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize("target", ["/livez?a=%FF", "/%FF", "/livez?" + "&" * 200])
def test_an_unreadable_request_has_the_common_headers(client: Client, target: str) -> None:
    answer = client.get(target)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
    assert (answer.headers["x-api-version"], answer.headers["cache-control"]) == ("1.0.0", "no-store")
    assert answer.headers["x-request-id"] == answer.json["request_id"]


def test_an_unreadable_request_has_its_request_id_repeated(client: Client) -> None:
    assert client.get("/livez?a=%FF", headers={"X-Request-ID": "theirs"}).headers["x-request-id"] == "theirs"


def test_an_unreadable_head_request_has_no_body(client: Client) -> None:
    assert client.call("HEAD", "/livez?a=%FF").body == b""


# ---- errors


@run_each_case("status", ERRORS)
def test_every_error_has_one_shape(make_app: Callable[..., App], status: int) -> None:
    body = get_with_status(status, make_app).json
    assert (body["status"], body["timestamp"]) == ("error", STAMP)
    assert body["error"] == body["code"]
    assert STATUS_BY_CODE[body["code"]] == status
    assert body["message"].endswith(".")
    balance_members = {"current_balance", "required_cost", "next_refill_at", "plan", "upgrade_url"}
    expected = {"status", "error", "code", "message", "request_id", "timestamp"}
    expected |= {"details"} if status in (400, 401, 404, 405) else balance_members if status == 402 else set()
    assert set(body) == expected


@run_each_case("status", [status for status in ERRORS if status != 404])
def test_every_failure_of_a_metered_route_charges_nothing(make_app: Callable[..., App], status: int) -> None:
    assert get_with_status(status, make_app).headers["x-tokens-charged"] == "0"


def test_an_unexpected_failure_reveals_no_details(app: App, user: users.NewUser) -> None:
    answer = create_client(app, user.api_key, EXPLODING).get(EXPLODING.path)
    assert answer.status == 500
    assert answer.json == {
        "status": "error",
        "error": "INTERNAL",
        "code": "INTERNAL",
        "message": answer.json["message"],
        "request_id": answer.json["request_id"],
        "timestamp": STAMP,
    }
    response_text = answer.body.decode() + str(answer.headers)
    for leak in (SECRET_TEXT, "Traceback", "RuntimeError", ".py", "explode("):
        assert leak not in response_text


def test_an_unexpected_failure_is_logged_and_refunded(
    app: App, user: users.NewUser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "finapi.access"):
        answer = create_client(app, user.api_key, EXPLODING).get(EXPLODING.path)
    assert [record.getMessage() for record in caplog.records] == [f"request {answer.json['request_id']} failed"]
    assert caplog.records[0].exc_info is not None
    assert str(caplog.records[0].exc_info[1]) == SECRET_TEXT
    assert get_balance(app, user.id) == 500_000


def test_the_servers_own_errors_have_the_same_shape_and_headers(app: App) -> None:
    for status, code in [(400, "BAD_REQUEST"), (413, "PAYLOAD_TOO_LARGE"), (431, "HEADERS_TOO_LARGE")]:
        fields, body = WsgiApp(app).error_response(status, "Too much.")
        document, headers = json.loads(body), dict(fields)
        assert (document["status"], document["error"], document["code"]) == ("error", code, code)
        assert (document["message"], document["timestamp"]) == ("Too much.", STAMP)
        assert headers["X-Request-ID"] == document["request_id"]
        assert (headers["X-API-Version"], headers["Cache-Control"]) == ("1.0.0", "no-store")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert headers["Content-Type"] == "application/json; charset=utf-8"


@run_each_case(
    "status, code", [(408, "REQUEST_TIMEOUT"), (414, "URI_TOO_LONG"), (503, "UNAVAILABLE"), (418, "BAD_REQUEST")]
)
def test_the_servers_own_errors_have_codes_of_the_table(app: App, status: int, code: str) -> None:
    assert json.loads(WsgiApp(app).error_response(status, "No.")[1])["code"] == code


def call_slow_route(
    app: App, key: str, cost: int, error: ApiError | None = None, status: int = 504
) -> tuple[Any, Answer]:
    """Call a route that exceeds its time.

    Return the list of answers that the server sent meanwhile, and the answer that the application finished later.
    """
    server_answers: list[Any] = []
    environ: dict[str, Any] = {}

    def slow(call: Call) -> Response:
        server_answers.append(environ["finapi.give_up"](status))
        if error is not None:
            raise error
        return call.success({}, {})

    route = Route("GET", "/api/v1/slow", slow, auth="key", cost=cost, zone="xbrl", summary="It takes long")

    class CapturingApplication(WsgiApp):
        def __call__(self, environ_of_call: dict[str, Any], start_response: Any) -> Any:
            environ.update({"finapi.give_up": lambda status: environ_of_call["finapi.give_up"](status)})
            return super().__call__(environ_of_call, start_response)

    client = Client(app, key)
    client.call_application(CapturingApplication(app, [route]))
    answer = client.get(route.path, headers={"X-Request-ID": "mine-7"})
    return server_answers, answer


@pytest.mark.parametrize("error", [None, ApiError("NOT_FOUND", "It is not there."), RuntimeError("by mistake")])
def test_the_504_of_an_overrun_call_has_its_request_id(app: App, user: users.NewUser, error: Any) -> None:
    server_answers, answer = call_slow_route(app, user.api_key, 10, error)
    fields, body = server_answers[0]
    headers, document = {name.lower(): value for name, value in fields}, json.loads(body)
    assert (document["code"], headers["x-tokens-charged"]) == ("TIMEOUT", "0")
    assert (headers["x-request-id"], headers["access-control-allow-origin"]) == ("mine-7", "*")
    # The thread ends with the same answer, and the ledger has the status that the client received.
    assert (answer.status, answer.json["request_id"]) == (504, document["request_id"])
    assert list_ledger_rows(app) == [
        (-10, "debit", "GET /api/v1/slow", 504),
        (10, "5xx_refund", "GET /api/v1/slow", 504),
    ]
    rows = Client(app, user.api_key).get("/api/v1/account/transactions").json["transactions"]
    assert {row["metadata"]["request_id"] for row in rows[:2]} == {document["request_id"]}


def test_the_503_of_a_stopped_call_has_its_request_id(app: App, user: users.NewUser) -> None:
    server_answers, _ = call_slow_route(app, user.api_key, 10, status=503)
    fields, body = server_answers[0]
    headers, document = {name.lower(): value for name, value in fields}, json.loads(body)
    assert (document["code"], headers["x-tokens-charged"], headers["x-request-id"]) == ("UNAVAILABLE", "0", "mine-7")
    assert list_ledger_rows(app)[1][:2] == (10, "5xx_refund")


def test_a_finished_answer_is_not_given_up(app: App, user: users.NewUser) -> None:
    server_answers: list[Any] = []

    class LateApplication(WsgiApp):
        def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
            answer = super().__call__(environ, start_response)
            server_answers.append(environ["finapi.give_up"](504))
            return answer

    store_report(app, build_report())
    client = Client(app, user.api_key)
    client.call_application(LateApplication(app))
    assert client.get(COMPANY).status == 200
    assert client.get("/api/v1/nothing").status == 404
    assert server_answers == [None, None]
    assert get_balance(app, user.id) == 500_000 - 25


def test_a_call_that_overran_is_logged_once(app: App, user: users.NewUser, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "finapi.access"):
        call_slow_route(app, user.api_key, 0)
    (record,) = [log_record for log_record in caplog.records if hasattr(log_record, "fields")]
    assert (record.fields["status"], record.fields["path"]) == (504, "/api/v1/slow")  # type: ignore[attr-defined]


# ---- methods


@run_each_case("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE"])
@run_each_case("path", [COMPANY, FILING, "/livez"])
def test_another_method_is_405_with_the_allowed_methods(client: Client, method: str, path: str) -> None:
    answer = client.call(method, path)
    assert (answer.status, answer.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@run_each_case("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_an_unknown_path_is_404_for_every_method(client: Client, method: str) -> None:
    assert client.call(method, "/api/v1/nothing").status == 404


@pytest.mark.parametrize("path", [COMPANY, "/livez"])
def test_options_lists_the_allowed_methods_without_a_body(app: App, path: str) -> None:
    answer = Client(app).call("OPTIONS", path)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    assert "content-type" not in answer.headers
    assert "x-tokens-charged" not in answer.headers


def test_options_of_a_path_with_several_methods_lists_them(app: App) -> None:
    def answer(call: Call) -> Response:
        return Response(200, b"{}")

    table = [
        Route(method, "/x", answer, auth="none", cost=0, zone=None, summary="x") for method in ("PUT", "GET", "DELETE")
    ]
    assert create_client(app, None, *table).call("OPTIONS", "/x").headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"


def test_a_route_without_get_has_no_head(app: App) -> None:
    route = Route("POST", "/x", lambda call: Response(200, b"{}"), auth="none", cost=0, zone=None, summary="x")
    client = create_client(app, None, route)
    assert client.call("HEAD", "/x").status == 405
    assert client.call("OPTIONS", "/x").headers["allow"] == "OPTIONS, POST"


@run_each_case("path", [COMPANY, FILING, COMPANY + "?period=X", "/livez", "/openapi.json", "/api/v1/nothing"])
def test_head_has_the_headers_of_get_and_no_body(client: Client, path: str) -> None:
    got, head = client.get(path), client.call("HEAD", path)
    differs = {"x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset"}
    assert head.body == b""
    assert head.status == got.status
    assert {name: value for name, value in head.headers.items() if name not in differs} == {
        name: value for name, value in got.headers.items() if name not in differs
    }
    assert head.headers["content-length"] == str(len(got.body))


# ---- CORS


@run_each_case("status", [status for status in STATUSES if status != 404])
def test_cors_allows_any_origin_on_key_routes(make_app: Callable[..., App], status: int) -> None:
    headers = get_with_status(status, make_app).headers
    assert headers["access-control-allow-origin"] == "*"
    assert "X-Tokens-Charged" in headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in headers


def test_cors_exposes_every_described_header(client: Client) -> None:
    described = set(client.get("/openapi.json").json["components"]["headers"])
    exposed = client.get(COMPANY).headers["access-control-expose-headers"].split(", ")
    # Headers of refusals and redirects are not exposed to pages. CpuRetryAfter and NextLink are names of components,
    # not of headers.
    described -= {"Allow", "CpuRetryAfter", "Location", "NextLink", "WWW-Authenticate"}
    # No route is deprecated now, so the headers of deprecated routes are exposed but not described.
    assert described | {"Deprecation", "Sunset", "Link"} == set(exposed)


@run_each_case("method", ["GET", "HEAD", "OPTIONS", "POST"])
@run_each_case("path", ["/livez", "/openapi.json", "/api/v1/policy", "/api/v1/plans/", "/api/v1/nothing"])
def test_cors_allows_any_origin_on_public_routes(client: Client, method: str, path: str) -> None:
    headers = client.call(method, path, headers={"Origin": "https://app.example"}).headers
    assert headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in headers
    if method == "OPTIONS" and path != "/api/v1/nothing":
        assert headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"


@run_each_case("method", ["GET", "OPTIONS", "POST"])
@run_each_case("path", ["/", "/metrics", "/reset-password", "/api/v1/user/", "/api/v1/auth/login"])
def test_cors_allows_no_origin_on_other_routes(client: Client, method: str, path: str) -> None:
    answer = client.call(method, path, headers={"Origin": "https://evil.example"})
    assert [name for name in answer.headers if name.startswith("access-control")] == []


def test_a_preflight_allows_the_headers_that_a_call_needs(app: App) -> None:
    preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
    headers = Client(app).call("OPTIONS", COMPANY, headers=preflight).headers
    assert headers["access-control-allow-methods"] == "GET, HEAD, OPTIONS"
    allowed = "X-API-Key, X-Request-ID, If-None-Match, If-Range, Range, Content-Type, Idempotency-Key"
    assert headers["access-control-allow-headers"] == allowed
    assert headers["access-control-max-age"] == "86400"


# ---- gzip

ZIP = {"Accept-Encoding": "gzip"}


def test_a_long_body_is_gzipped_on_request(client: Client) -> None:
    plain, zipped = client.get(COMPANY), client.get(COMPANY, headers=ZIP)
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.headers["content-length"] == str(len(zipped.body))
    assert len(zipped.body) < len(plain.body) / 2
    assert json.loads(gzip.decompress(zipped.body))["data"] == plain.json["data"]
    assert plain.headers["vary"] == zipped.headers["vary"] == "Accept, Accept-Encoding"


def test_each_coding_has_its_own_strong_etag(client: Client) -> None:
    plain, zipped = client.get(COMPANY), client.get(COMPANY, headers=ZIP)
    assert re.fullmatch(r'"[0-9a-f]{32}"', plain.headers["etag"])
    assert zipped.headers["etag"] == plain.headers["etag"][:-1] + '-gzip"'


@run_each_case("size, zipped", [(0, False), (1023, False), (1024, False), (1025, True)])
def test_a_body_over_one_kibibyte_is_gzipped(app: App, size: int, zipped: bool) -> None:
    route = Route("GET", "/x", lambda call: Response(200, b"x" * size), auth="none", cost=0, zone=None, summary="x")
    answer = create_client(app, None, route).get("/x", headers=ZIP)
    assert ("content-encoding" in answer.headers, "vary" in answer.headers) == (zipped, zipped)
    assert (gzip.decompress(answer.body) if zipped else answer.body) == b"x" * size


def test_an_error_is_gzipped_by_the_same_rule(client: Client) -> None:
    answer = client.get(COMPANY + "?period=X", headers=ZIP)
    assert (answer.status, "content-encoding" in answer.headers) == (400, False)


# ---- ETag


def test_a_free_data_call_states_a_cost_of_zero(client: Client) -> None:
    for method, path, status in [
        ("GET", "/api/v1/form-13f/funds", 200),
        ("HEAD", "/api/v1/form-13f/funds", 200),
        ("GET", "/api/v1/form-13f/fund/1", 404),
        ("POST", "/api/v1/form-13f/funds", 405),
        ("GET", "/api/v1/events?feed=no", 400),
    ]:
        answer = client.call(method, path)
        assert (answer.status, answer.headers["x-tokens-charged"]) == (status, "0")
    client.key = None
    assert client.get("/api/v1/form-13f/funds").headers["x-tokens-charged"] == "0"
    for path in ("/api/v1/policy", "/api/v1/status", "/livez"):
        assert "x-tokens-charged" not in client.get(path).headers


def get_tag(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status == 200
    return answer.headers["etag"]


def test_a_known_answer_is_a_free_304(app: App, client: Client) -> None:
    tag = get_tag(client, COMPANY)
    before = list_ledger_rows(app), get_balance(app, 1)
    answer = client.get(COMPANY, headers={"If-None-Match": tag})
    assert (answer.status, answer.body) == (304, b"")
    assert answer.headers["etag"] == tag
    assert answer.headers["x-tokens-charged"] == "0"
    assert "content-type" not in answer.headers
    assert "content-length" not in answer.headers
    assert (list_ledger_rows(app), get_balance(app, 1)) == before


@run_each_case("form", ["{}", "W/{}", '"other", {}', '{}, "other"'])
def test_if_none_match_may_be_weak_or_a_list(client: Client, form: str) -> None:
    tag = get_tag(client, COMPANY)
    assert client.get(COMPANY, headers={"If-None-Match": form.format(tag)}).status == 304


def test_the_tag_of_one_coding_is_accepted_for_the_other(client: Client) -> None:
    plain, zipped = get_tag(client, COMPANY), client.get(COMPANY, headers=ZIP).headers["etag"]
    assert client.get(COMPANY, headers={"If-None-Match": zipped}).status == 304
    assert client.get(COMPANY, headers={"If-None-Match": plain, **ZIP}).status == 304


def test_a_304_repeats_the_tag_of_the_known_answer(client: Client) -> None:
    zipped = client.get(COMPANY, headers=ZIP).headers["etag"]
    answer = client.get(COMPANY, headers={"If-None-Match": zipped, **ZIP})
    assert (answer.status, answer.headers["etag"]) == (304, zipped)


def test_a_304_varies_as_the_answer_does(client: Client) -> None:
    answer = client.get(COMPANY, headers={"If-None-Match": get_tag(client, COMPANY)})
    assert answer.headers["vary"] == "Accept, Accept-Encoding"


def test_a_known_answer_is_304_even_with_an_empty_balance(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=25)
    store_report(app, build_report())
    client = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)
    tag = get_tag(client, COMPANY)
    assert client.get(COMPANY).status == 402
    assert client.get(COMPANY, headers={"If-None-Match": tag}).status == 304
    assert client.get(COMPANY, headers={"If-None-Match": '"other"'}).status == 402


def test_a_known_answer_still_needs_a_key_and_passes_the_limit(make_app: Callable[..., App]) -> None:
    app = make_app(xbrl_burst=1)
    store_report(app, build_report())
    client = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)
    condition = {"If-None-Match": get_tag(client, COMPANY)}
    assert Client(app).get(COMPANY, headers=condition).status == 401
    assert [client.get(COMPANY, headers=condition).status for _ in range(2)] == [304, 429]


def test_a_304_has_no_limit_headers(client: Client) -> None:
    answer = client.get(COMPANY, headers={"If-None-Match": get_tag(client, COMPANY)})
    assert [name for name in answer.headers if name.startswith("x-ratelimit")] == []


def test_a_head_of_a_known_answer_is_304(client: Client) -> None:
    answer = client.call("HEAD", COMPANY, headers={"If-None-Match": get_tag(client, COMPANY)})
    assert (answer.status, answer.headers["x-tokens-charged"]) == (304, "0")


def test_the_tag_stays_while_nothing_changes(app: App, client: Client, clock: FixedClock) -> None:
    tag = get_tag(client, COMPANY)
    clock.advance(86_400)
    other = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)
    assert [get_tag(client, COMPANY), get_tag(other, COMPANY)] == [tag, tag]


def test_the_tag_changes_when_data_arrives(app: App, client: Client) -> None:
    tag = get_tag(client, COMPANY)
    with app.db.write() as tx:
        tx.run("bump_data_version")
    answer = client.get(COMPANY, headers={"If-None-Match": tag})
    assert answer.status == 200
    assert answer.headers["etag"] != tag


def test_the_tag_depends_on_every_parameter_and_on_the_route(client: Client) -> None:
    paths = [
        COMPANY,
        COMPANY.replace("BRK-B", "BRK-A"),
        COMPANY + "?year=2024",
        COMPANY + "?form_type=10-K",
        COMPANY + "?as_of=2025-06-01",
        COMPANY + "?as_of=2025-06-02",
        COMPANY + "?basis=original",
        COMPANY + "?consolidated_only=false",
        COMPANY + "?statement=income",
        COMPANY + "?statement=income&statement=balance",
        FILING,
        FILING + "?statement=income",
    ]
    assert len({get_tag(client, path) for path in paths}) == len(paths)


def test_routes_with_the_same_parameters_have_different_tags(app: App, user: users.NewUser) -> None:
    def answer(call: Call) -> Response:
        return Response(200, b"{}")

    table = [
        Route("GET", path, answer, auth="key", cost=1, zone="xbrl", summary="x", cacheable=True)
        for path in ("/x", "/y")
    ]
    client = create_client(app, user.api_key, *table)
    assert get_tag(client, "/x") != get_tag(client, "/y")


@run_each_case(
    "query",
    [
        "year=2024&basis=latest",
        "basis=latest&year=2024",
        "year=2024",
        "year=2024&period=A&consolidated_only=true",
        "year=2024&utm_source=mail",
        "_=1&&year=2024&",
        "%79ear=2024",
    ],
)
def test_the_tag_is_the_same_for_equivalent_queries(client: Client, query: str) -> None:
    assert get_tag(client, f"{COMPANY}?{query}") == get_tag(client, COMPANY + "?year=2024")


def test_the_tag_is_the_same_for_a_key_in_header_or_query(app: App, user: users.NewUser, client: Client) -> None:
    assert get_tag(Client(app), f"{COMPANY}?apiKey={user.api_key}") == get_tag(client, COMPANY)


@run_each_case("status", [status for status in STATUSES if status not in (200, 304)])
def test_only_successful_answers_have_a_tag(make_app: Callable[..., App], status: int) -> None:
    assert "etag" not in get_with_status(status, make_app).headers


def test_an_invalid_parameter_is_400_even_with_a_tag(client: Client) -> None:
    assert client.get(COMPANY + "?period=X", headers={"If-None-Match": "*"}).status == 400


@run_each_case("method", ["GET", "HEAD"])
@run_each_case("coding_headers, coding", [({}, "identity"), (ZIP, "gzip")])
def test_if_none_match_star_gets_a_free_304(
    app: App, client: Client, method: str, coding_headers: dict[str, str], coding: str
) -> None:
    before = get_balance(app, 1)
    for _ in range(2):  # The second call finds the answer in the cache.
        answer = client.call(method, COMPANY, headers={"If-None-Match": "*", **coding_headers})
        assert (answer.status, answer.body, answer.headers["x-tokens-charged"]) == (304, b"", "0")
    billing.run_settlement_step(app)
    assert get_balance(app, 1) == before
    full = client.get(COMPANY, headers=coding_headers)
    assert {name: answer.headers[name] for name in ("etag", "vary", "cache-control")} == {
        name: full.headers[name] for name in ("etag", "vary", "cache-control")
    }
    table = client.call(method, COMPANY + "?format=csv", headers={"If-None-Match": "*", **coding_headers})
    assert (table.status, table.body) == (304, b"")


def test_a_304_of_a_barely_compressed_answer_has_its_gzip_tag(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    length = len(client.get(COMPANY).body)
    for module in (responses, response_cache):
        monkeypatch.setattr(module, "MIN_GZIP_BYTES", length - 1)
    answers = [client.get(COMPANY, headers={**ZIP, **condition}) for condition in ({}, {"If-None-Match": "*"})]
    assert [answer.status for answer in answers] == [200, 304]
    assert answers[0].headers["etag"].endswith('-gzip"')
    assert answers[1].headers["etag"] == answers[0].headers["etag"]


@pytest.mark.parametrize("path", ["/docs", "/static/style.css"])
def test_the_304_of_a_page_has_the_cache_headers_of_its_200(client: Client, path: str) -> None:
    full = client.get(path)
    for tag in (full.headers["etag"], "*"):
        not_modified = client.get(path, headers={"If-None-Match": tag})
        assert not_modified.status == 304
        for name in ("etag", "cache-control", "vary"):
            assert not_modified.headers[name] == full.headers[name]


def test_if_none_match_star_comes_after_key_limit_and_balance(make_app: Callable[..., App]) -> None:
    app = make_app(xbrl_burst=2, free_tokens=10)
    store_report(app, build_report())
    client, anything = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key), {"If-None-Match": "*"}
    assert Client(app).get(COMPANY, headers=anything).status == 401
    assert client.get("/api/v1/xbrl/companies/NONE/statements", headers=anything).status == 402
    assert [client.get(COMPANY, headers=anything).status for _ in range(3)] == [402, 402, 429]


@run_each_case("form", ["json", "csv"])
@run_each_case("method", ["GET", "HEAD"])
def test_if_none_match_star_reads_one_row_of_a_list(app: App, client: Client, form: str, method: str) -> None:
    limits: list[int] = []

    def list_rows(call: Call) -> Response:
        limits.append(call.params["limit"])
        return call.success_rows([{"a": 1}] * call.params["limit"], {})

    params = (Param("limit", "integer", default=100, minimum=1, maximum=1000), Param("offset", "integer", default=0))
    route = Route(
        "GET",
        "/api/v1/x",
        list_rows,
        auth="key",
        cost=5,
        zone="app",
        summary="Rows",
        params=params,
        cacheable=True,
        lists=True,
        shape=Envelope[list[NumberedRow], Object],
    )
    client.call_application(WsgiApp(app, [route]))
    answer = client.call(method, f"/api/v1/x?limit=900&format={form}", headers={"If-None-Match": "*"})
    assert (answer.status, answer.headers["x-tokens-charged"], limits) == (304, "0", [1])
    assert get_balance(app, 1) == 500_000


def test_if_none_match_star_of_a_stored_answer_takes_no_debit(app: App, client: Client) -> None:
    full = client.get(COMPANY)
    answer = client.get(COMPANY, headers={"If-None-Match": "*"})
    assert (answer.status, answer.headers["etag"]) == (304, full.headers["etag"])
    assert [row[:2] for row in list_ledger_rows(app)] == [(-25, "debit")]


def test_if_none_match_star_of_a_missing_company_is_404(client: Client) -> None:
    assert client.get("/api/v1/xbrl/companies/NONE/statements", headers={"If-None-Match": "*"}).status == 404


# ---- random requests


@pytest.fixture(scope="module")
def unlimited_client() -> Iterator[Client]:
    """Return a client of a server with a limit that many calls do not reach."""
    app = apps.create_in_memory(Config(xbrl_burst=10_000_000), FixedClock(NOW))
    store_report(app, build_report())
    yield Client(app, users.create(app, "bob@example.com", "yearly", NOW).api_key)
    app.db.close()


VISIBLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#"), max_size=40)
PREFIXES = st.sampled_from(
    ["/", "/api/v1/xbrl/companies/", "/api/v1/xbrl/filing/", COMPANY + "?", FILING + "?", "/livez?"]
)
NAMES = st.sampled_from(["period=", "year=", "as_of=", "basis=", "statement=", "consolidated_only=", "form_type=", ""])
HEADERS = st.dictionaries(
    st.sampled_from(["If-None-Match", "Accept-Encoding", "X-Request-ID", "X-Forwarded-For", "X-API-Key"]),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=60),
    max_size=3,
)


@given(
    prefix=PREFIXES,
    middle=VISIBLE,
    name=NAMES,
    value=VISIBLE,
    headers=HEADERS,
    method=st.sampled_from(["GET", "HEAD", "OPTIONS", "POST"]),
)
@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_request_is_an_unexpected_failure(
    unlimited_client: Client, prefix: str, middle: str, name: str, value: str, headers: dict[str, str], method: str
) -> None:
    answer = unlimited_client.call(method, f"{prefix}{middle}&{name}{value}", headers=headers)
    assert answer.status in (200, 204, 304, 400, 401, 404, 405)
    assert answer.headers["x-api-version"] == "1.0.0"
    assert answer.headers["x-request-id"]
    if answer.body:
        body: Any = answer.json
        assert isinstance(body, dict)
        if answer.status >= 400:
            assert (body["status"], STATUS_BY_CODE[body["code"]]) == ("error", answer.status)


def test_a_body_with_a_content_encoding_is_415(client: Client) -> None:
    for coding in ("gzip", "br", "identity, gzip"):
        answer = client.post("/api/v1/auth/login", {}, headers={"Content-Encoding": coding})
        assert (answer.status, answer.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert client.post("/api/v1/auth/login", {}, headers={"Content-Encoding": "identity"}).status == 400
