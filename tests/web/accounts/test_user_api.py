"""The API of the caller's profile: reading, changing settings, and rotating the key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from tests.client import Client, login, session_of, sign_up
from tests.conftest import ACCOUNTS, NOW
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

USER = "/api/v1/user/"
DATA = "/api/v1/xbrl/companies/X/statements"

USER_KINDS: dict[str, type | tuple[type, ...]] = {
    "id": int,
    "uuid": str,
    "email": str,
    "usertype": str,
    "api_key": str,
    "verify_email": bool,
    "is_online": bool,
    "has_uat_access": bool,
    "billing_admin": bool,
    "credit_balance": (int, float),
    "notify_email": bool,
    "notify_browser": bool,
    "webhook_url": (str, type(None)),
    "created_at": str,
    "updated_at": str,
    "Userplan": (dict, type(None)),
}
PLAN_KINDS: dict[str, type | tuple[type, ...]] = {
    "id": int,
    "userId": str,
    "total_limit_api": int,
    "reach_limit_api": int,
    "plan": str,
    "status": str,
    "current_period_end": (str, type(None)),
    "created_at": str,
    "updated_at": str,
}


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


@pytest.fixture
def session(client: Client) -> str:
    """A session of ann@example.com."""
    sign_up(client)
    return session_of(client)


# ---- GET


def test_the_user_has_every_field_of_the_spec_in_its_type(client: Client, session: str) -> None:
    user = client.get(USER, session=session).json["user"]
    assert {name for name, kind in USER_KINDS.items() if not isinstance(user[name], kind)} == set()
    plan = user["Userplan"]
    assert {name for name, kind in PLAN_KINDS.items() if not isinstance(plan[name], kind)} == set()
    assert set(plan) == set(PLAN_KINDS)
    assert set(user) == {*USER_KINDS, "webhook_topics", "UserDeviceLimit", "UserDocumentLimit"}
    limit = user["UserDocumentLimit"]
    assert (limit["userId"], limit["total_limit_GB"], limit["reach_limit_GB"]) == (user["uuid"], 0, "0")


def test_a_new_user_has_the_default_profile(client: Client, session: str) -> None:
    user = client.get(USER, session=session).json["user"]
    assert re.fullmatch("[0-9a-f]{32}", user["api_key"])
    assert user["Userplan"]["userId"] == user["UserDeviceLimit"]["userId"] == user["uuid"]
    assert user["UserDeviceLimit"]["device_limit"] == 2
    assert user["Userplan"]["current_period_end"] == "2026-02-28T12:00:00.000Z"
    assert user["created_at"] == user["updated_at"] == "2026-01-31T12:00:00.000Z"
    profile = {name: user[name] for name in ("email", "usertype", "verify_email", "is_online", "credit_balance")}
    assert profile == {
        "email": "ann@example.com",
        "usertype": "user",
        "verify_email": True,
        "is_online": True,
        "credit_balance": 0,
    }
    assert (user["webhook_url"], user["webhook_topics"]) == (None, [])


def test_the_path_without_its_slash_works(client: Client, session: str) -> None:
    assert client.get("/api/v1/user", session=session).json == client.get(USER, session=session).json


def test_the_userplan_is_null_when_its_row_is_missing(client: Client, app: App, session: str) -> None:
    run_sql(app.db, "DELETE FROM userplans")
    answer = client.get(USER, session=session)
    assert (answer.status, answer.json["user"]["Userplan"]) == (200, None)
    assert login(client).json["user"]["Userplan"] is None


def test_the_wallet_is_shown_in_dollars(client: Client, app: App, session: str) -> None:
    users.change_credit(app, "ann@example.com", 1234, NOW)
    assert client.get(USER, session=session).json["user"]["credit_balance"] == 12.34


def test_the_shown_key_opens_the_data(client: Client, session: str) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    assert client.get(DATA, headers={"X-API-Key": key}).status == 404
    assert client.get(DATA, query={"apiKey": key}).status == 404


def test_a_users_own_device_limit_overrides_the_setting(client: Client, app: App, session: str) -> None:
    run_sql(app.db, "UPDATE users SET device_limit = 3")
    sessions = [session, *(session_of(client) for _ in range(3))]
    assert [client.get(USER, session=token).status for token in sessions] == [401, 200, 200, 200]
    device_limit = client.get(USER, session=sessions[-1]).json["user"]["UserDeviceLimit"]
    assert device_limit["device_limit"] == 3
    hashes = device_limit["user_login_device"].split(",")
    assert len(set(hashes)) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", device_hash) for device_hash in hashes)


# ---- PUT


def test_put_changes_only_the_named_fields(client: Client, session: str, clock: FixedClock) -> None:
    before = client.get(USER, session=session).json["user"]
    clock.advance(1)
    changed = client.put(USER, {"notify_email": False}, session=session)
    assert changed.status == 200
    assert changed.json["message"] == "User updated successfully."
    for name in ("UserDeviceLimit", "UserDocumentLimit"):
        before.pop(name)
    assert changed.json["user"] == {**before, "notify_email": False, "updated_at": "2026-01-31T12:00:01.000Z"}


def test_put_sets_and_clears_the_webhook(client: Client, session: str) -> None:
    url = "https://example.com/hook?x=1"
    for value in (url, None):
        answer = client.put(USER, {"webhook_url": value}, session=session)
        assert (answer.status, answer.json["user"]["webhook_url"]) == (200, value)


def test_put_switches_topics(client: Client, session: str) -> None:
    topics = ["sniper.window_expired", "13f.holdings.updated", "sniper.window_expired"]
    answer = client.put(USER, {"webhook_topics": topics}, session=session)
    assert answer.json["user"]["webhook_topics"] == ["13f.holdings.updated", "sniper.window_expired"]
    answer = client.put(USER, {"webhook_topics": []}, session=session)
    assert answer.json["user"]["webhook_topics"] == []


def test_put_ignores_protected_fields(client: Client, session: str) -> None:
    before = client.get(USER, session=session).json["user"]
    stolen = {
        "id": 99,
        "uuid": "x",
        "email": "eve@example.com",
        "usertype": "admin",
        "api_key": "0" * 32,
        "verify_email": False,
        "has_uat_access": True,
        "billing_admin": False,
        "credit_balance": 1e9,
        "device_limit": 99,
        "UserDeviceLimit": {"device_limit": 99},
        "Userplan": {"plan": "pro"},
        "password": "x",
        "locked_at": None,
        "total_limit_api": 10**9,
        "plan": "pro",
    }
    assert client.put(USER, stolen, session=session).status == 200
    assert client.get(USER, session=session).json["user"] == before


def test_put_changes_only_the_callers_account(client: Client, session: str) -> None:
    sign_up(client, "bob@example.com")
    bobs = session_of(client, "bob@example.com")
    client.put(USER, {"id": 2, "notify_email": False}, session=session)
    assert client.get(USER, session=bobs).json["user"]["notify_email"] is True


@run_each_case("field", ["notify_email", "notify_browser"])
@run_each_case("value", [None, 0, 1, "true", "", [], {}])
def test_put_accepts_only_booleans_for_a_switch(client: Client, session: str, field: str, value: object) -> None:
    answer = client.put(USER, {field: value}, session=session)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == field


@run_each_case(
    "value",
    [
        "",
        1,
        True,
        [],
        {},
        "example.com",
        "ftp://example.com",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "http:///path",
        "https://?x",
        "https://#x",
        "https://:80",
        "https://user:word@example.com/",
        "https://example.com/a b",
        "https://example.com/\r\nX: y",
        "https://exämple.com",
        "\ud800",
        "https://example.com/\0",
        " https://example.com",
        "https://example.com/" + "x" * 2_000,
        "https://[::1",
        "https://example.com:99999/",
        "https://example.com:x/",
    ],
)
def test_put_accepts_only_an_http_url_for_the_webhook(client: Client, session: str, value: object) -> None:
    answer = client.put(USER, {"webhook_url": value}, session=session)
    assert answer.status == 400
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "webhook_url"


@run_each_case("value", [None, "sniper.window_expired", ["sniper.filing_hit"], ["x"], [None], [[]], [{}], {"a": 1}, 1])
def test_put_accepts_only_a_list_of_topics(client: Client, session: str, value: object) -> None:
    answer = client.put(USER, {"webhook_topics": value}, session=session)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "webhook_topics"


def test_a_put_that_is_refused_changes_nothing(client: Client, session: str) -> None:
    before = client.get(USER, session=session).json
    client.put(USER, {"webhook_url": "https://example.com", "notify_email": "no"}, session=session)
    assert client.get(USER, session=session).json == before


@run_each_case("data", [b"", b"[]", b"{", b'{"notify_email":true,"notify_email":false}', b'{"x":NaN}'])
def test_a_put_that_is_not_a_json_object_is_400(client: Client, session: str, data: bytes) -> None:
    assert client.call("PUT", USER, data=data, session=session).verdict[:2] == (400, "BAD_REQUEST")


def test_put_without_a_session_is_401_before_its_body_is_read(client: Client) -> None:
    assert client.call("PUT", USER, data=b"{").verdict[:2] == (401, "UNAUTHORIZED")


# ---- the key


def test_rotation_ends_the_old_key_immediately(client: Client, session: str) -> None:
    old = client.get(USER, session=session).json["user"]["api_key"]
    answer = client.call("POST", USER + "api-key/rotate", session=session)
    assert (answer.status, set(answer.json)) == (200, {"api_key"})
    new = answer.json["api_key"]
    assert re.fullmatch("[0-9a-f]{32}", new)
    assert new != old
    assert client.get(DATA, headers={"X-API-Key": old}).status == 401
    assert client.get(DATA, headers={"X-API-Key": new}).status == 404
    assert client.get(USER, session=session).json["user"]["api_key"] == new


def test_rotation_needs_a_session(client: Client, session: str) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    assert client.call("POST", USER + "api-key/rotate", headers={"X-API-Key": key}).status == 401
    assert client.get(DATA, headers={"X-API-Key": key}).status == 404


@run_each_case("key", ["", "0" * 32, "x" * 32, "'" * 32, "A" * 32, "ÿ" * 32, "0" * 100_000])
def test_an_invalid_key_is_401(client: Client, key: str) -> None:
    assert client.get(DATA, headers={"X-API-Key": key}).verdict[:2] == (401, "UNAUTHORIZED")


def test_the_key_in_capitals_is_invalid(client: Client, session: str) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    assert client.get(DATA, headers={"X-API-Key": key.upper()}).status == (404 if key.isdigit() else 401)


def test_the_key_is_the_only_secret_in_the_profile(client: Client, app: App, session: str) -> None:
    text = json.dumps(client.get(USER, session=session).json)
    assert "fingerprint" not in text
    assert "password" not in text
    assert app.secrets[0].hex() not in text
