"""The API of the caller's account: balance, usage, ledger, limits, purchases and plans."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from finapi import __version__
from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import Deprecation, Route
from tests.client import PASSWORD, Answer, Client, login, session_of, sign_up
from tests.conftest import ACCOUNTS
from tests.support.brook_lamps_report import COMPANY, build_report, store_report
from tests.support.case_tables import run_each_case
from tests.support.metered_calls import create_client, get_balance

ACCOUNT = "/api/v1/account/"
QUOTA = "/api/v1/billing/quota"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**{**ACCOUNTS, "app_per_minute": 60, "app_per_hour": 1000, "register_per_hour_per_ip": 9})


@pytest.fixture
def client(app: App) -> Client:
    return Client(app)


@pytest.fixture
def session(client: Client) -> str:
    """A session of ann, on the plan free, with 12.50 dollars in her wallet."""
    sign_up(client)
    users.change_credit(client.app, "ann@example.com", 1250, client.app.clock.now())
    return session_of(client)


def key_of(client: Client, session: str) -> str:
    key: str = client.get("/api/v1/user/", session=session).json["user"]["api_key"]
    return key


# ---- balance, usage, transactions


def test_the_balance_has_remaining_tokens_and_refill_day(client: Client, session: str) -> None:
    assert client.get(ACCOUNT + "balance", session=session).json == {
        "current_balance": 2000,
        "plan": "free",
        "plan_display_name": "Free",
        "monthly_quota": 2000,
        "billing_cycle_end": "2026-02-28T12:00:00.000Z",
        "days_until_refill": 28,
        "suspended": False,
        "as_of": "2026-01-31T12:00:00.000Z",
    }


def test_reading_an_account_is_free_by_session_or_key(client: Client, session: str) -> None:
    by_session = client.get(ACCOUNT + "balance", session=session)
    by_key = client.get(ACCOUNT + "balance", headers={"X-API-Key": key_of(client, session)})
    assert by_session.json == by_key.json
    assert by_key.json["current_balance"] == 2000
    assert "x-tokens-charged" not in by_key.headers


@run_each_case("name", ["balance", "usage", "transactions", "limits"])
def test_an_account_needs_its_own_credentials(client: Client, session: str, name: str) -> None:
    for headers in ({}, {"Authorization": "Bearer x"}, {"X-API-Key": "0" * 32}):
        assert client.get(ACCOUNT + name, headers=headers).verdict[:2] == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("path", [QUOTA, "/api/v1/billing/subscription", "/api/v1/billing/history"])
def test_billing_needs_a_session(client: Client, session: str, path: str) -> None:
    method = "POST" if path == QUOTA else "GET"
    answer = client.call(method, path, headers={"X-API-Key": key_of(client, session)})
    assert answer.status == 401


def test_usage_counts_settled_tokens_by_day_and_endpoint(client: Client, session: str, clock: FixedClock) -> None:
    store_report(client.app, build_report())
    key = {"X-API-Key": key_of(client, session)}
    assert client.get(COMPANY, headers=key).status == 200
    clock.advance(seconds=86_400)
    assert client.get(COMPANY, headers=key).status == 200
    assert client.get(COMPANY + "?period=Q", headers=key).status == 404
    answer = client.get(ACCOUNT + "usage", query={"days": 3}, headers=key)
    endpoint = "GET /api/v1/xbrl/companies/{ticker}/statements"
    assert answer.json == {
        "window_days": 3,
        "daily": [
            {"day": "2026-01-30", "tokens_consumed": 0, "calls": 0},
            {"day": "2026-01-31", "tokens_consumed": 25, "calls": 1},
            {"day": "2026-02-01", "tokens_consumed": 25, "calls": 2},
        ],
        "top_endpoints": [{"endpoint": endpoint, "tokens": 50, "calls": 3}],
        "webhook_failures": [],
        "as_of": "2026-02-01T12:00:00.000Z",
    }
    # The rows of the ledger are counted before and after the settlement step has added them to the totals.
    for _ in range(2):
        narrower = client.get(ACCOUNT + "usage", query={"days": 1}, headers=key).json
        assert narrower["daily"] == [{"day": "2026-02-01", "tokens_consumed": 25, "calls": 2}]
        assert narrower["top_endpoints"] == [{"endpoint": endpoint, "tokens": 25, "calls": 2}]
        billing.run_settlement_step(client.app)
    assert client.get("/api/v1/sec/filings", headers=key).status == 200
    later = client.get(ACCOUNT + "usage", query={"days": 3}, headers=key).json
    assert [(row["tokens_consumed"], row["calls"]) for row in later["daily"]] == [(0, 0), (25, 1), (30, 3)]
    filings_row = {"endpoint": "GET /api/v1/sec/filings", "tokens": 5, "calls": 1}
    assert later["top_endpoints"] == [{"endpoint": endpoint, "tokens": 50, "calls": 3}, filings_row]
    billing.run_settlement_step(client.app)
    assert client.get(ACCOUNT + "usage", query={"days": 3}, headers=key).json == later
    # Endpoints without calls in the window are not listed.
    clock.advance(seconds=86_400)
    unused = client.get(ACCOUNT + "usage", query={"days": 1}, headers=key).json
    assert (unused["daily"][0]["calls"], unused["top_endpoints"]) == (0, [])


@run_each_case("days, window", [("0", 1), ("-5", 1), ("366", 365), ("90", 90)])
def test_the_window_of_usage_is_clamped(client: Client, session: str, days: str, window: int) -> None:
    answer = client.get(ACCOUNT + "usage", query={"days": days}, session=session).json
    assert answer["window_days"] == window
    assert len(answer["daily"]) == window


@pytest.mark.parametrize("days", ["x", "1.5", ""])
def test_a_window_that_is_not_a_number_is_refused(client: Client, session: str, days: str) -> None:
    answer = client.get(ACCOUNT + "usage", query={"days": days}, session=session)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")


def test_transactions_list_the_ledger_newest_first_in_pages(client: Client, session: str) -> None:
    store_report(client.app, build_report())
    key = {"X-API-Key": key_of(client, session)}
    good = client.get(COMPANY, headers=key).json["request_id"]
    client.get(COMPANY + "?period=Q", headers=key)
    billing.run_settlement_step(client.app)
    first = client.get(ACCOUNT + "transactions", query={"limit": 3}, headers=key).json
    assert [(row["delta"], row["reason"], row["response_status"]) for row in first["transactions"]] == [
        (25, "4xx_refund", 404),
        (-25, "debit", 404),
        (-25, "debit", 200),
    ]
    assert first["transactions"][2]["metadata"] == {"request_id": good, "cost_tier": 25}
    assert (first["count"], first["has_more"]) == (3, True)
    query = {"limit": 3, "cursor": first["next_cursor"]}
    second = client.get(ACCOUNT + "transactions", query=query, headers=key).json
    assert [(row["delta"], row["reason"]) for row in second["transactions"]] == [(2000, "refill")]
    assert second["transactions"][0]["metadata"] == {"request_id": None, "cost_tier": None}
    assert (second["has_more"], second["next_cursor"]) == (False, None)
    first_page = client.get(ACCOUNT + "transactions", query={"limit": 4}, headers=key).json
    assert (first_page["count"], first_page["has_more"], first_page["next_cursor"]) == (4, False, None)


def test_a_login_after_the_period_shows_a_refilled_plan(client: Client, session: str, clock: FixedClock) -> None:
    store_report(client.app, build_report())
    client.get(COMPANY, headers={"X-API-Key": key_of(client, session)})
    clock.advance(seconds=28 * 86_400)
    answer = login(client)
    plan = answer.json["user"]["Userplan"]
    assert (plan["reach_limit_api"], plan["current_period_end"]) == (0, "2026-03-31T12:00:00.000Z")
    assert client.get("/api/v1/user/", session=answer.json["token"]).json["user"]["Userplan"] == plan


def test_a_call_after_the_period_refills_first(client: Client, session: str, clock: FixedClock) -> None:
    store_report(client.app, build_report())
    key = {"X-API-Key": key_of(client, session)}
    assert client.get(COMPANY, headers=key).status == 200
    clock.advance(seconds=28 * 86_400)
    assert client.get(ACCOUNT + "balance", headers=key).json["current_balance"] == 2000


# ---- limits


def test_reading_limits_uses_none_of_them(client: Client, session: str) -> None:
    key = {"X-API-Key": key_of(client, session)}
    looks = [client.get(ACCOUNT + "limits", headers=key).json["limits"] for _ in range(3)]
    assert looks[0] == looks[1] == looks[2]
    # The user endpoint above was one of the sixty.
    now, later = "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:01.000Z"
    assert looks[0][:3] == [
        {"zone": "app", "requests": 60, "window_seconds": 60, "burst": 59, "remaining": 59, "reset_at": later},
        {
            "zone": "app",
            "requests": 1000,
            "window_seconds": 3600,
            "burst": 999,
            "remaining": 999,
            "reset_at": "2026-01-31T12:00:03.600Z",
        },
        {"zone": "financials", "requests": 30, "window_seconds": 60, "burst": 10, "remaining": 11, "reset_at": now},
    ]
    assert [(row["zone"], row["requests"]) for row in looks[0][3:]] == [("xbrl", 120), ("insider", 100), ("sql", 30)]


def test_public_calls_with_credentials_count_for_the_account(client: Client, session: str) -> None:
    key = {"X-API-Key": key_of(client, session)}
    ways: list[dict[str, Any]] = [
        {"headers": key},
        {"session": session},
        {"query": {"apiKey": key["X-API-Key"]}},
        {"headers": key, "address": "192.0.2.9"},
    ]
    for way in ways:
        assert client.get("/api/v1/policy", **way).status == 200
    remaining = [row["remaining"] for row in client.get(ACCOUNT + "limits", headers=key).json["limits"][:3]]
    assert remaining == [60 - 1 - 4, 1000 - 1 - 4, 11]
    assert client.get("/api/v1/financials/status", headers=key).headers["x-ratelimit-remaining"] == "10"
    remaining = [row["remaining"] for row in client.get(ACCOUNT + "limits", headers=key).json["limits"][:3]]
    assert remaining == [55, 995, 10]


@pytest.mark.parametrize(
    "header", [{"X-API-Key": "0" * 32}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}]
)
def test_public_calls_with_bad_credentials_count_by_address(client: Client, header: dict[str, str]) -> None:
    answers = [client.get("/api/v1/policy", headers=header, address="192.0.2.7") for _ in range(61)]
    assert [answer.status for answer in answers] == [200] * 60 + [429]
    assert client.get("/api/v1/policy", address="192.0.2.7").status == 429
    assert client.get("/api/v1/policy", address="192.0.2.8").status == 200


def test_registrations_count_by_address_even_with_a_key(client: Client, session: str) -> None:
    key = {"X-API-Key": key_of(client, session)}
    body = {"email": "x", "password": PASSWORD, "invite_token": "x"}
    answers = [client.post("/api/v1/auth/register", body, headers=key, address="192.0.2.7") for _ in range(10)]
    assert [answer.status for answer in answers] == [400] * 9 + [429]


def test_account_reads_have_their_own_limit(app: App) -> None:
    user = users.create(app, "bob@example.com", "pro", app.clock.now())
    client = Client(app, user.api_key)
    looks = [client.get(ACCOUNT + "limits") for _ in range(61)]
    assert [look.status for look in looks] == [200] * 60 + [429]
    assert looks[60].headers["retry-after"] == "1"
    assert client.get(ACCOUNT + "balance").headers["x-ratelimit-remaining"] == "59"


def test_account_reads_with_bad_credentials_count_by_address(client: Client) -> None:
    answers = [client.get(ACCOUNT + "limits", headers={"X-API-Key": "0" * 32}) for _ in range(61)]
    assert [answer.status for answer in answers] == [401] * 60 + [429]


def test_a_paid_plan_has_the_wider_limit_of_the_insider_service(app: App) -> None:
    user = users.create(app, "bob@example.com", "pro", app.clock.now())
    rows = Client(app, user.api_key).get(ACCOUNT + "limits").json["limits"]
    assert [row["requests"] for row in rows if row["zone"] == "insider"] == [600]


# ---- money


def purchase(client: Client, session: str, amount: Any, **options: Any) -> Answer:
    return client.post(QUOTA, {"amount_dollars": amount}, session=session, **options)


def test_tokens_are_bought_from_the_wallet(client: Client, session: str) -> None:
    answer = purchase(client, session, 12.5)
    assert answer.json["data"] == {
        "message": "1250 tokens bought.",
        "tokens_credited": 1250,
        "new_token_balance": 3250,
        "new_balance": 0.0,
    }
    assert get_balance(client.app, 1) == 3250
    history = client.get("/api/v1/billing/history", session=session).json
    assert [(row["type"], row["amount_usd"], row["tokens_credited"]) for row in history["transactions"]] == [
        ("purchase", 12.5, 1250),
        ("credit", 12.5, 0),
    ]
    assert history["has_more"] is False


@run_each_case("amount", [0, -1, 0.001, 12.345, "12.5", None, True, [], 1_000_001, 1e300])
def test_an_invalid_amount_is_refused(client: Client, session: str, amount: Any) -> None:
    assert purchase(client, session, amount).verdict[:2] == (400, "INVALID_PARAM")
    assert get_balance(client.app, 1) == 2000


def test_an_amount_above_the_wallet_is_refused(client: Client, session: str) -> None:
    assert purchase(client, session, 12.51).verdict[:2] == (400, "INSUFFICIENT_BALANCE")


def test_the_subscription_is_the_plan_and_its_counters(client: Client, session: str) -> None:
    assert client.get("/api/v1/billing/subscription", session=session).json["data"] == {
        "reach_limit_api": 0,
        "total_limit_api": 2000,
        "plan_name": "free",
        "status": "active",
    }


def test_the_plans_are_public(client: Client) -> None:
    plans = client.get("/api/v1/plans/").json["data"]
    assert [(plan["name"], plan["interval"], plan["price"]) for plan in plans] == [
        ("free", "month", 0),
        ("weekly", "week", None),
        ("monthly", "month", None),
        ("pro", "month", None),
        ("yearly", "year", None),
    ]
    assert plans[0]["features"] == ["2,000 tokens a month", "1 feed connection at once", "100 insider calls a minute"]


def test_the_portal_equals_the_page_in_a_402(client: Client, session: str) -> None:
    answer = client.post(ACCOUNT + "billing-portal", {}, session=session)
    assert answer.json == {"url": "https://api.example.com/plans"}
    page = client.get("/plans")
    assert page.status == 200
    # It promises that calls cost tokens: it says which, and how many.
    assert (
        b'<td class="num">25</td><th scope="row"><a href="/docs/api/get_xbrl_companies_ticker_statements">' in page.body
    )


# ---- calls that are made once


def once(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def test_a_repeated_idempotency_key_buys_nothing_more(client: Client, session: str) -> None:
    first = purchase(client, session, 5, headers=once("k1"))
    again = purchase(client, session, 5, headers=once("k1"))
    assert first.json["data"] == again.json["data"]
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert first.json["request_id"] != again.json["request_id"]
    assert get_balance(client.app, 1) == 2500


def test_the_same_key_with_another_body_is_a_conflict(client: Client, session: str) -> None:
    purchase(client, session, 5, headers=once("k1"))
    assert purchase(client, session, 6, headers=once("k1")).verdict[:2] == (409, "CONFLICT")
    assert get_balance(client.app, 1) == 2500


def test_another_idempotency_key_is_another_call(client: Client, session: str) -> None:
    purchase(client, session, 5, headers=once("k1"))
    purchase(client, session, 5, headers=once("k2"))
    purchase(client, session, 1)
    assert get_balance(client.app, 1) == 3100


def test_an_idempotency_key_expires_after_a_day(client: Client, session: str, clock: FixedClock) -> None:
    purchase(client, session, 5, headers=once("k1"))
    clock.advance(seconds=86_400)
    again = purchase(client, session_of(client), 5, headers=once("k1"))
    assert "idempotent-replayed" not in again.headers
    assert get_balance(client.app, 1) == 3000


def test_an_error_is_not_stored_for_an_idempotency_key(client: Client, session: str, clock: FixedClock) -> None:
    assert purchase(client, session, 20, headers=once("k1")).status == 400
    users.change_credit(client.app, "ann@example.com", 1000, clock.now())
    assert purchase(client, session, 20, headers=once("k1")).status == 200


def test_idempotency_keys_of_accounts_are_separate(client: Client, session: str, clock: FixedClock) -> None:
    sign_up(client, "bob@example.com")
    users.change_credit(client.app, "bob@example.com", 500, clock.now())
    purchase(client, session, 5, headers=once("k1"))
    assert purchase(client, session_of(client, "bob@example.com"), 5, headers=once("k1")).status == 200
    assert get_balance(client.app, 2) == 2500


@run_each_case("key", ["", "a b", "x" * 256, "é"])
def test_an_invalid_idempotency_key_is_refused(client: Client, session: str, key: str) -> None:
    answer = purchase(client, session, 5, headers=once(key))
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "Idempotency-Key"
    assert get_balance(client.app, 1) == 2000


def test_concurrent_calls_with_one_idempotency_key_buy_once(client: Client, session: str) -> None:
    answers: list[Answer] = []
    threads = [
        threading.Thread(target=lambda: answers.append(purchase(client, session, 5, headers=once("k1"))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status for answer in answers] == [200] * 8
    assert get_balance(client.app, 1) == 2500


# ---- routes that go away


def gone_soon(call: Call) -> Response:
    return call.bare_object({})


def test_responses_of_a_deprecated_route_have_the_header(app: App) -> None:
    leaving = Deprecation(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC), "/api/v1/new")
    route = Route("GET", "/api/v1/old", gone_soon, auth="none", cost=0, zone=None, summary="Old", deprecated=leaving)
    client = create_client(app, None, route)
    for method, status in (("GET", 200), ("POST", 405)):
        headers = client.call(method, "/api/v1/old").headers
        assert headers["deprecation"] == "@1767225600"
        assert headers["sunset"] == "Wed, 01 Jul 2026 00:00:00 GMT"
        assert headers["link"] == (
            '</changelog>; rel="deprecation"; type="text/html", </api/v1/new>; rel="successor-version"'
        )
        assert client.call(method, "/api/v1/old").status == status


def test_no_released_route_is_deprecated(client: Client) -> None:
    answer = client.get("/api/v1/policy")
    assert answer.json["data"]["versioning"]["no_endpoints_currently_deprecated"] is True
    assert {"deprecation", "sunset"} & set(answer.headers) == set()


# ---- policy


def test_the_policy_reports_the_settings_in_force(make_app: Callable[..., App]) -> None:
    limits = {"xbrl_per_minute": 7, "xbrl_burst": 3, "financials_per_minute": 5, "app_per_minute": 9}
    app = make_app(**limits, insider_per_minute_paid=8, sql_per_minute=4, body_limit=1000, feeds_paid=2)
    data = Client(app).get("/api/v1/policy").json["data"]
    rate_limits = data["rate_limits"]
    assert rate_limits["xbrl_endpoints_per_minute"] == 7
    assert rate_limits["xbrl_endpoints_burst"] == 3
    assert rate_limits["financials_endpoints_per_minute"] == 5
    assert rate_limits["global_default_per_minute"] == 9
    assert rate_limits["insider_service_per_minute_paid"] == 8
    assert rate_limits["sql_proxy_per_minute"] == 4
    assert data["request_limits"] == {
        "max_request_body_bytes": 1000,
        "max_json_body_bytes": 1000,
        "max_json_body_bytes_without_credential": 1000,
        "server_timeout_seconds": 300,
    }
    assert data["websocket"]["concurrent_connections_paid"] == 2


def test_all_places_report_the_same_version(client: Client) -> None:
    answer = client.get("/api/v1/policy")
    assert answer.headers["x-api-version"] == __version__
    assert answer.json["data"]["api_version"] == __version__
    assert answer.json["data"]["versioning"]["current"] == __version__
    assert client.get("/openapi.json").json["info"]["version"] == __version__


@pytest.mark.parametrize("path", ["/plans", "/changelog", "/integrations/mcp"])
def test_pages_linked_by_the_documents_exist(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_changelog_page_has_headings_and_code(client: Client) -> None:
    page = client.get("/changelog").body.decode()
    assert ">1.0.0 (2026-11-28)</h2>" in page
    assert "<code>/xbrl/proof</code>" in page


def test_days_until_refill_round_up(client: Client, session: str, clock: FixedClock) -> None:
    clock.advance(seconds=27 * 86_400 + 3600)
    answer = client.get(ACCOUNT + "balance", session=session_of(client)).json
    assert answer["days_until_refill"] == 1
    assert timedelta(hours=23) == datetime.fromisoformat(answer["billing_cycle_end"]) - clock.now()
