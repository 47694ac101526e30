"""Costs and refusals of calls: tokens, refunds, and the limit of the XBRL zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.market.reference import companies
from finapi.web import response_cache
from finapi.web.http import messages
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import Route
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.support.brook_lamps_report import COMPANY, FILING, build_report, store_report
from tests.support.case_tables import run_each_case
from tests.support.metered_calls import create_client, get_balance, list_ledger_rows
from tests.support.raw_sql import run_sql

ENDPOINT = "GET /api/v1/xbrl/companies/{ticker}/statements"
NO_SUCH = "/api/v1/xbrl/companies/NONE/statements"
RATE_LIMIT_HEADERS = {"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}

EPOCH = int(NOW.timestamp())


@pytest.fixture
def client(app: App, user: users.NewUser) -> Client:
    """Store a report; return a client with 500,000 tokens."""
    store_report(app, build_report())
    return Client(app, user.api_key)


@pytest.fixture
def poor_client(make_app: Callable[..., App]) -> Client:
    """Store a report; return a client with 60 tokens, enough for two calls."""
    app = make_app(free_tokens=60, public_url="https://api.example.com")
    store_report(app, build_report())
    return Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)


def get_charge(answer: Answer) -> str:
    return answer.headers["x-tokens-charged"]


# ---- tokens


@pytest.mark.parametrize("path", [COMPANY, FILING])
def test_a_call_that_succeeds_costs_25_tokens(app: App, client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status, get_charge(answer)) == (200, "25")
    assert get_balance(app, 1) == 499_975


def test_the_ledger_names_the_route_and_our_request_id(app: App, client: Client) -> None:
    answer = client.get(COMPANY, headers={"X-Request-ID": "theirs"})
    billing.run_settlement_step(app)
    assert list_ledger_rows(app) == [(-25, "debit", ENDPOINT, 200)]
    with app.db.write() as tx:
        ids = [row[0] for row in run_sql(tx, "SELECT request_id FROM ledger WHERE reason = 'debit'")]
    assert ids == [answer.json["request_id"]]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (COMPANY + "?period=Q", 404),
        (COMPANY + "?statement=equity", 404),
        ("/api/v1/xbrl/filing/0000000000-00-000000/statements", 404),
    ],
)
def test_a_call_that_fails_is_refunded(app: App, client: Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status, get_charge(answer)) == (status, "0")
    assert [row[:2] for row in list_ledger_rows(app)] == [(-25, "debit"), (25, "4xx_refund")]
    assert [row[3] for row in list_ledger_rows(app)] == [status, status]
    assert get_balance(app, 1) == 500_000


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (NO_SUCH, 404),
        ("/api/v1/xbrl/companies/9999999/statements?as_of=2025-01-01", 404),
        ("/api/v1/prices/NONE", 404),
        (COMPANY + "?period=X", 400),
        ("/api/v1/xbrl/companies/A_B/statements", 400),
        ("/api/v1/xbrl/filing/nonsense/statements", 400),
    ],
)
def test_an_error_known_before_the_work_is_not_charged(app: App, client: Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert (answer.status, get_charge(answer)) == (status, "0")
    assert (list_ledger_rows(app), get_balance(app, 1)) == ([], 500_000)


def test_a_caller_without_tokens_causes_no_work(poor_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [poor_client.get(COMPANY).status for _ in range(2)] == [200, 200]
    monkeypatch.setattr(companies, "resolve", Mock(side_effect=AssertionError("a company was looked up")))
    assert poor_client.get(NO_SUCH).status == 402


def test_tickers_of_securities_and_fund_classes_are_known(app: App) -> None:
    with app.db.write() as tx:
        run_sql(
            tx,
            "INSERT INTO securities (cusip, issuer, title, seen, issuer_key, security_group, ticker)"
            " VALUES ('037833100', 'LAMP', 'COM', '', 'LAMP', 'Stocks', 'LAMPX')",
        )
        run_sql(
            tx,
            "INSERT INTO fund_classes (class_id, series_id, cik, ticker, filed_at)"
            " VALUES ('C000000001', 'S000000001', 7, 'WICKX', '2026-01-30')",
        )
        assert [companies.is_known(tx, ticker) for ticker in ("LAMPX", "WICKX", "NONE")] == [True, True, False]


def test_every_spelling_of_a_known_company_is_charged(app: App, client: Client) -> None:
    companies = ("BRKB", "brk.b", "1234567", "0001234567")
    assert [client.get(f"/api/v1/xbrl/companies/{text}/statements").status for text in companies] == [200] * 4
    assert [row[:2] for row in list_ledger_rows(app)] == [(-25, "debit")] * 4


def test_prices_of_a_ticker_without_a_company_are_charged(app: App, client: Client) -> None:
    with app.db.write() as tx:
        run_sql(tx, "INSERT INTO price_series (ticker, synthetic) VALUES ('LONE', 0)")
    assert (client.get("/api/v1/prices/LONE").status, client.get("/api/v1/prices/LONE?from=x").status) == (200, 400)
    assert [row[:2] for row in list_ledger_rows(app)] == [(-5, "debit")]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_head_request_costs_the_same(app: App, client: Client, method: str) -> None:
    assert get_charge(client.call(method, COMPANY)) == "25"
    assert get_balance(app, 1) == 499_975


def test_a_key_in_the_query_pays_like_one_in_the_header(app: App, user: users.NewUser, client: Client) -> None:
    answer = Client(app).get(f"{COMPANY}?apiKey={user.api_key}")
    assert (answer.status, get_charge(answer)) == (200, "25")
    assert get_balance(app, 1) == 499_975


def test_the_header_comes_before_the_query(app: App, user: users.NewUser, client: Client) -> None:
    assert client.get(f"{COMPANY}?apiKey=nonsense").status == 200
    assert client.get(f"{COMPANY}?apiKey={user.api_key}", headers={"X-API-Key": "nonsense"}).status == 401


@pytest.mark.parametrize("method", ["OPTIONS", "POST", "DELETE"])
def test_a_call_that_runs_no_handler_costs_nothing(app: App, client: Client, method: str) -> None:
    client.call(method, COMPANY)
    assert list_ledger_rows(app) == []


@run_each_case(
    "method, path, headers, counted",
    [
        ("GET", COMPANY, {}, 1),
        ("HEAD", COMPANY, {}, 1),
        ("GET", NO_SUCH, {}, 1),  # 404 from the handler
        ("GET", COMPANY + "?period=X", {}, 1),  # 400
        ("GET", COMPANY, {"If-None-Match": "the tag"}, 1),  # 304
        ("OPTIONS", COMPANY, {}, 0),
        ("POST", COMPANY, {}, 0),  # 405
        ("GET", "/api/v1/nothing", {}, 0),  # 404 without a route
        ("GET", "/livez", {}, 0),
        ("GET", "/api/v1/status", {}, 0),
    ],
)
def test_limits_count_each_kind_of_call(
    app: App, client: Client, method: str, path: str, headers: dict[str, str], counted: int
) -> None:
    if headers:
        headers = {"If-None-Match": client.get(COMPANY).headers["etag"]}
    before = app.limiters["xbrl"].list_remaining(("user", 1), 0.0)[0][1]
    client.call(method, path, headers=headers)
    assert before - app.limiters["xbrl"].list_remaining(("user", 1), 0.0)[0][1] == counted
    assert app.limiters["app"].list_remaining(("user", 1), 0.0)[0][1] == 60


def test_a_redirect_counts_against_the_limit_of_its_address(app: App) -> None:
    answer = Client(app).get("/api/v1/auth/verifyPasswordLink?token=1.x", address="192.0.2.7")
    assert answer.status == 302
    assert app.limiters["app"].list_remaining(("address", "192.0.2.7"), 0.0)[0][1] == 59


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json"])
def test_a_free_route_has_no_token_or_limit_headers(app: App, client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 200
    assert {name for name in answer.headers if name.startswith(("x-tokens", "x-ratelimit"))} == set()
    assert list_ledger_rows(app) == []


def test_callers_pay_from_their_own_balance(app: App, client: Client) -> None:
    bob = users.create(app, "bob@example.com", "free", NOW)
    assert Client(app, bob.api_key).get(COMPANY).status == 200
    assert (get_balance(app, 1), get_balance(app, bob.id)) == (500_000, 1_975)


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ApiError("NOT_FOUND", "m"), 404, "4xx_refund"),
        (ApiError("UNAVAILABLE", "m", headers={"Retry-After": "5"}), 503, "5xx_refund"),
        (RuntimeError("m"), 500, "5xx_refund"),
    ],
)
def test_a_handler_that_fails_is_refunded_by_its_class(
    app: App, user: users.NewUser, error: Exception, status: int, reason: str
) -> None:
    def handler(call: Call) -> Response:
        raise error

    route = Route("GET", "/x", handler, auth="key", cost=10, zone="xbrl", summary="It fails")
    answer = create_client(app, user.api_key, route).get("/x")
    assert (answer.status, get_charge(answer)) == (status, "0")
    assert list_ledger_rows(app) == [(-10, "debit", "GET /x", status), (10, reason, "GET /x", status)]
    assert get_balance(app, 1) == 500_000


def test_an_answer_after_the_deadline_is_a_refunded_timeout(app: App, client: Client, clock: FixedClock) -> None:
    clock.advance(300.0)
    answer = client.get(COMPANY, environ={"finapi.deadline": 299.9})
    assert (answer.status, answer.json["code"], get_charge(answer)) == (504, "TIMEOUT", "0")
    assert [row[1] for row in list_ledger_rows(app)] == ["debit", "5xx_refund"]
    assert get_balance(app, 1) == 500_000


def test_an_answer_just_before_the_deadline_is_returned(app: App, client: Client, clock: FixedClock) -> None:
    clock.advance(300.0)
    assert client.get(COMPANY, environ={"finapi.deadline": 300.0}).status == 200
    assert get_balance(app, 1) == 499_975


# ---- a balance that is too low


def test_a_balance_below_the_cost_is_402_with_its_five_fields(poor_client: Client) -> None:
    assert [poor_client.get(COMPANY).status for _ in range(2)] == [200, 200]
    answer = poor_client.get(COMPANY)
    assert (answer.status, get_charge(answer)) == (402, "0")
    body = answer.json
    assert body == {
        "status": "error",
        "error": "insufficient_tokens",
        "code": "insufficient_tokens",
        "message": "The token balance is below the cost of this call.",
        "current_balance": 10,
        "required_cost": 25,
        "next_refill_at": "2026-02-28T12:00:00.000Z",
        "plan": "free",
        "upgrade_url": "https://api.example.com/plans",
        "request_id": body["request_id"],
        "timestamp": "2026-01-31T12:00:00.000Z",
    }


def test_a_402_changes_neither_balance_nor_ledger(poor_client: Client) -> None:
    for _ in range(2):
        poor_client.get(COMPANY)
    before = get_balance(poor_client.app, 1), len(list_ledger_rows(poor_client.app))
    for _ in range(5):
        assert poor_client.get(COMPANY).status == 402
    assert (get_balance(poor_client.app, 1), len(list_ledger_rows(poor_client.app))) == before == (10, 2)


@pytest.mark.parametrize("path", [COMPANY + "?period=X", NO_SUCH, "/api/v1/xbrl/companies/%00/statements"])
def test_a_balance_below_the_cost_is_402_whatever_else_is_wrong(make_app: Callable[..., App], path: str) -> None:
    app = make_app(free_tokens=0)
    client = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)
    assert client.get(path).status == 402


@pytest.mark.parametrize(
    ("body", "kind"), [(b"{}", "application/json"), (b"{", "application/json"), (b"{}", "text/plain")]
)
def test_a_call_with_an_invalid_body_is_not_charged(make_app: Callable[..., App], body: bytes, kind: str) -> None:
    app = make_app(free_tokens=5)
    client = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)

    def statuses() -> list[int]:
        paths = ("/api/v1/cusip/batch", "/api/v1/sql-proxy")
        sent = {"CONTENT_TYPE": kind}
        return [client.call("POST", path, data=body, environ=sent).status for path in paths]

    refused = 415 if kind == "text/plain" else 400
    assert statuses() == [refused, 402]
    assert list_ledger_rows(app) == []


def test_401_and_429_precede_402(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=0, xbrl_burst=0)
    client = Client(app, users.create(app, "bob@example.com", "free", NOW).api_key)
    assert client.get(COMPANY, headers={"X-API-Key": "nonsense"}).status == 401
    assert [client.get(COMPANY).status for _ in range(2)] == [402, 429]


# ---- the limit


def test_31_calls_pass_immediately_and_the_next_is_429(client: Client) -> None:
    assert [client.get(COMPANY).status for _ in range(33)] == [200] * 31 + [429] * 2


def test_after_the_burst_one_call_passes_each_half_second(client: Client, clock: FixedClock) -> None:
    for _ in range(31):
        client.get(COMPANY)
    for _ in range(3):
        clock.advance(0.5)
        assert [client.get(COMPANY).status for _ in range(2)] == [200, 429]


def test_a_429_of_the_gateway_carries_no_limit_headers(client: Client) -> None:
    for _ in range(31):
        client.get(COMPANY)
    answer = client.get(COMPANY)
    assert answer.status == 429
    assert RATE_LIMIT_HEADERS & set(answer.headers) == set()
    assert "retry-after" not in answer.headers
    assert get_charge(answer) == "0"
    assert (answer.json["error"], answer.json["status"]) == ("RATE_LIMIT_EXCEEDED", "error")


def test_a_429_changes_neither_balance_nor_bucket(app: App, client: Client, clock: FixedClock) -> None:
    for _ in range(31):
        client.get(COMPANY)
    for _ in range(50):
        assert client.get(COMPANY).status == 429
    assert get_balance(app, 1) == 500_000 - 31 * 25
    assert len(list_ledger_rows(app)) == 31
    clock.advance(0.5)
    assert client.get(COMPANY).status == 200


def test_a_success_states_the_remaining_limit(client: Client, clock: FixedClock) -> None:
    def limit_headers(answer: Answer) -> list[int]:
        names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
        return [int(answer.headers[name]) for name in names]

    assert limit_headers(client.get(COMPANY)) == [120, 30, EPOCH + 1]  # half a second, rounded up
    assert limit_headers(client.get(COMPANY)) == [120, 29, EPOCH + 1]
    assert limit_headers(client.get(COMPANY)) == [120, 28, EPOCH + 2]
    assert limit_headers(client.get(FILING)) == [120, 27, EPOCH + 2]
    clock.advance(60)
    assert limit_headers(client.get(COMPANY)) == [120, 30, EPOCH + 61]


@pytest.mark.parametrize("path", [NO_SUCH, COMPANY + "?period=X"])
def test_a_failure_counts_but_does_not_state_the_limit(client: Client, path: str) -> None:
    answer = client.get(path)
    assert RATE_LIMIT_HEADERS & set(answer.headers) == set()
    assert client.get(COMPANY).headers["x-ratelimit-remaining"] == "29"


def test_both_routes_of_the_zone_share_its_limit(client: Client) -> None:
    statuses = [client.get(path).status for _ in range(16) for path in (COMPANY, FILING)]
    assert statuses == [200] * 31 + [429]


@run_each_case("path", ["/livez", "/readyz", "/openapi.json", "/api/v1/nothing"])
def test_other_paths_have_no_limit(client: Client, path: str) -> None:
    assert len({client.get(path).status for _ in range(100)}) == 1


def test_the_limit_is_a_setting(make_app: Callable[..., App]) -> None:
    app = make_app(xbrl_per_minute=60, xbrl_burst=2)
    store_report(app, build_report())
    client = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    answers = [client.get(COMPANY) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["x-ratelimit-limit"] == "60"
    assert [answer.headers.get("x-ratelimit-remaining") for answer in answers] == ["2", "1", "0", None]


# ---- the callers that it charges


def test_each_verified_key_has_its_own_bucket(app: App, client: Client) -> None:
    bob = Client(app, users.create(app, "bob@example.com", "pro", NOW).api_key)
    for _ in range(31):
        client.get(COMPANY)
    assert (client.get(COMPANY).status, bob.get(COMPANY).status) == (429, 200)


def test_a_key_has_the_same_bucket_for_all_addresses(client: Client) -> None:
    statuses = [client.get(COMPANY, environ={"REMOTE_ADDR": f"192.0.2.{n}"}).status for n in range(32)]
    assert statuses == [200] * 31 + [429]


def test_invented_keys_share_the_bucket_of_their_address(app: App, client: Client) -> None:
    def status(key: str, address: str = "192.0.2.1") -> int:
        return Client(app, key).get(COMPANY, environ={"REMOTE_ADDR": address}).status

    assert [status(f"{number:032x}") for number in range(33)] == [401] * 31 + [429] * 2
    assert status("not even a key") == 429
    assert Client(app).get(COMPANY).status == 429
    assert status("0" * 32, "192.0.2.2") == 401
    assert client.get(COMPANY).status == 200


def test_a_verified_key_does_not_pay_for_failures_at_its_address(app: App, client: Client) -> None:
    for _ in range(40):
        Client(app, "0" * 32).get(COMPANY)
    assert client.get(COMPANY).headers["x-ratelimit-remaining"] == "30"


def test_addresses_of_one_ipv6_network_share_a_bucket(app: App) -> None:
    def status(address: str) -> int:
        return Client(app).get(COMPANY, environ={"REMOTE_ADDR": address}).status

    assert [status(f"2001:db8:1:2::{number:x}") for number in range(32)] == [401] * 31 + [429]
    assert status("2001:db8:1:3::1") == 401


def test_a_forwarded_address_counts_only_behind_a_trusted_proxy(make_app: Callable[..., App]) -> None:
    def statuses(app: App) -> list[int]:
        return [
            Client(app)
            .get(COMPANY, headers={"X-Forwarded-For": f"198.51.100.{n}"}, environ={"REMOTE_ADDR": "10.0.0.1"})
            .status
            for n in range(32)
        ]

    assert statuses(make_app()) == [401] * 31 + [429]
    assert statuses(make_app(trusted_proxies=("10.0.0.0/8",))) == [401] * 32


@run_each_case(
    "headers",
    [
        {},
        {"X-API-Key": ""},
        {"X-API-Key": "0" * 32},
        {"X-API-Key": "nonsense"},
        {"Authorization": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"},
        {"Authorization": "Basic YTpi"},
    ],
)
def test_a_call_without_a_valid_key_is_a_free_401(app: App, client: Client, headers: dict[str, str]) -> None:
    answer = Client(app).get(COMPANY, headers=headers)
    assert (answer.status, answer.json["code"], get_charge(answer)) == (401, "UNAUTHORIZED", "0")
    assert RATE_LIMIT_HEADERS & set(answer.headers) == set()
    assert list_ledger_rows(app) == []


def test_a_401_does_not_reveal_if_the_company_exists(app: App, client: Client) -> None:
    existing, missing = (Client(app).get(path).json for path in (COMPANY, NO_SUCH))
    assert {**existing, "request_id": ""} == {**missing, "request_id": ""}


def test_a_refill_is_in_the_ledger_at_the_anniversary(make_app: Callable[..., App]) -> None:
    app = make_app(yearly_tokens=0)
    born = datetime(2024, 2, 29, 8, 30, tzinfo=UTC)
    client = Client(app, users.create(app, "bob@example.com", "yearly", born).api_key)
    body = client.get(COMPANY).json
    # Two periods have passed. The call refilled the balance, and the current period ends on the last day of February.
    assert (body["next_refill_at"], body["plan"]) == ("2026-02-28T08:30:00.000Z", "yearly")


# ---- repeated calls


def test_a_cached_answer_counts_more_bytes_than_its_body(make_app: Callable[..., App]) -> None:
    app = make_app(answer_bytes=20_000)
    for number in range(100):
        app.answer_cache.get(1, number, lambda: Response(200, b"{}"))
    assert len(app.answer_cache) == 39


def test_a_repeated_call_has_the_same_answer_and_its_own_id(app: App, client: Client) -> None:
    first, again = client.get(COMPANY), client.get(COMPANY)
    assert first.json["data"] == again.json["data"]
    assert first.json["meta"] == again.json["meta"]
    assert first.json["request_id"] != again.json["request_id"]
    assert (get_charge(first), get_charge(again)) == ("25", "25")
    assert first.headers["etag"] == again.headers["etag"]


def test_another_parameter_has_its_own_cached_answer(app: App, client: Client) -> None:
    assert client.get(COMPANY).json["data"] != client.get(COMPANY + "?statement=income").json["data"]


def test_ingested_data_are_in_the_next_answer(app: App, client: Client) -> None:
    before = client.get(COMPANY).json
    store_report(app, build_report(revenue="2000000"), filed_at="2025-03-01", accession="0000000001-25-000002")
    after = client.get(COMPANY).json
    assert before["meta"]["resolved_accession"] != after["meta"]["resolved_accession"]


def test_a_cached_answer_is_gzipped_on_request(app: App, client: Client) -> None:
    plain = client.get(COMPANY).json
    packed = client.get(COMPANY, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.json["data"] == plain["data"]


def test_a_cached_answer_is_compressed_once(app: App, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    compress = Mock(wraps=messages.compress_prefix)
    monkeypatch.setattr(response_cache, "compress_prefix", compress)
    zipped = {"Accept-Encoding": "gzip"}
    first, again = client.get(COMPANY, headers=zipped), client.get(COMPANY, headers=zipped)
    assert compress.call_count == 1
    assert first.json["data"] == again.json["data"]
    assert [answer.json["request_id"] for answer in (first, again)] == [
        answer.headers["x-request-id"] for answer in (first, again)
    ]
    assert first.json["request_id"] != again.json["request_id"]
    store_report(app, build_report(revenue="2000000"), filed_at="2025-03-01", accession="0000000001-25-000002")
    later = client.get(COMPANY, headers=zipped)
    assert later.json["meta"]["resolved_accession"] == "0000000001-25-000002"
    assert compress.call_count == 2


def test_stores_with_the_same_version_number_have_different_tags(make_app: Callable[..., App]) -> None:
    tags = set()
    for revenue in ("1000000", "2000000"):
        app = make_app()
        store_report(app, build_report(revenue=revenue))
        client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
        tags.add(client.get(COMPANY).headers["etag"])
    assert len(tags) == 2


def test_a_full_disk_is_a_free_503_and_free_reads_continue(unshared_app: App, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(unshared_app, users.create(unshared_app, "ann@example.com", "pro", NOW).api_key)
    store_report(unshared_app, build_report())
    run_sql(unshared_app.db, "VACUUM")
    (page_count,) = run_sql(unshared_app.db, "PRAGMA page_count").fetchone()
    run_sql(unshared_app.db, f"PRAGMA max_page_count={page_count}")
    # Write until the free space in the pages of the database is used.
    for _ in range(400):
        answer = client.get("/api/v1/form-13f/filers")
        if answer.status == 503:
            break
    assert (answer.status, answer.json["code"]) == (503, "UNAVAILABLE")
    assert answer.headers["retry-after"] == "30"
    assert answer.headers["x-tokens-charged"] == "0"
    ready = client.get("/readyz")
    assert (ready.status, ready.headers["retry-after"]) == (503, "30")
    assert client.get("/api/v1/account/balance").status == 200
    assert not any(record.exc_info for record in caplog.records)
    run_sql(unshared_app.db, "PRAGMA max_page_count=1000000")
    assert client.get("/api/v1/form-13f/filers").status == 200
    assert client.get("/readyz").status == 200
