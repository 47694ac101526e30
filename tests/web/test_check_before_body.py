"""Refusals of a call before its body is read, and the largest body that it may have."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.web.application import WsgiApp
from tests.client import Client

BATCH, LOGIN, LOGOUT = "/api/v1/xbrl/timeseries/batch", "/api/v1/auth/login", "/api/v1/auth/logout"
MEBIBYTE = 1024 * 1024


class NoBody:
    """A body that must not be read."""

    def read(self, *args: int) -> bytes:
        raise AssertionError("the body was read")


def check_before_body(app: App, method: str, path: str, length: int | None, key: str = "", **environ: str) -> Any:
    call_environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "REMOTE_ADDR": "192.0.2.1", **environ}
    setup_testing_defaults(call_environ)
    call_environ["wsgi.input"] = NoBody()
    if length is not None:
        call_environ["CONTENT_LENGTH"] = str(length)
    if key:
        call_environ["HTTP_X_API_KEY"] = key
    return WsgiApp(app).check_before_body(call_environ)


def status_and_code(answer: Any) -> tuple[int, str]:
    status, headers, body = answer
    assert dict(headers)["Content-Length"] == str(len(body))
    return int(status[:3]), json.loads(body)["code"]


def test_a_caller_with_a_credential_may_send_a_mebibyte(app: App, user: users.NewUser) -> None:
    assert check_before_body(app, "POST", BATCH, MEBIBYTE, user.api_key) == MEBIBYTE
    assert status_and_code(check_before_body(app, "POST", BATCH, MEBIBYTE + 1, user.api_key)) == (
        413,
        "PAYLOAD_TOO_LARGE",
    )


def test_a_caller_without_credential_may_send_64_kibibytes(app: App) -> None:
    assert check_before_body(app, "POST", LOGIN, 65_536) == 65_536
    assert status_and_code(check_before_body(app, "POST", LOGIN, 65_537)) == (413, "PAYLOAD_TOO_LARGE")


def test_the_413_names_the_limit_and_may_be_read_by_any_page(app: App, user: users.NewUser) -> None:
    _, headers, body = check_before_body(app, "POST", BATCH, 2_000_000, user.api_key)
    assert "1048576 bytes" in json.loads(body)["message"]
    headers_by_name = dict(headers)
    assert {"X-API-Version", "X-Request-ID", "Cache-Control"} <= set(headers_by_name)
    assert (headers_by_name["Access-Control-Allow-Origin"], headers_by_name["X-Tokens-Charged"]) == ("*", "0")


def test_a_body_of_unknown_length_is_read_up_to_the_limit(app: App, user: users.NewUser) -> None:
    assert check_before_body(app, "POST", BATCH, None, user.api_key) == MEBIBYTE


def test_the_body_limit_of_the_settings_is_an_upper_bound(make_app: Callable[..., App]) -> None:
    app = make_app(body_limit=1000)
    assert check_before_body(app, "POST", LOGIN, 1000) == 1000
    assert status_and_code(check_before_body(app, "POST", LOGIN, 1001))[0] == 413


@pytest.mark.parametrize("key", ["", "0" * 32, "no key at all"])
def test_an_invalid_credential_is_401_and_uses_its_address_limit(app: App, key: str) -> None:
    assert status_and_code(check_before_body(app, "POST", BATCH, 100, key)) == (401, "UNAUTHORIZED")
    (_, remaining, _), *_ = app.limiters["xbrl"].list_remaining(("address", "192.0.2.1"), app.clock.monotonic())
    assert remaining == app.config.xbrl_burst  # The burst and one further call are allowed; one of them is used.


def test_wrong_credentials_end_in_429(make_app: Callable[..., App]) -> None:
    app = make_app(xbrl_per_minute=1, xbrl_burst=1)
    codes = [status_and_code(check_before_body(app, "POST", BATCH, 100, "0" * 32))[0] for _ in range(3)]
    assert codes == [401, 401, 429]


def test_a_valid_credential_is_not_counted_before_the_body(app: App, user: users.NewUser) -> None:
    for _ in range(300):
        assert check_before_body(app, "POST", BATCH, 100, user.api_key) == MEBIBYTE


def test_a_session_is_a_credential_too(app: App, user: users.NewUser) -> None:
    assert status_and_code(check_before_body(app, "POST", LOGOUT, 100, HTTP_AUTHORIZATION="Bearer nothing")) == (
        401,
        "UNAUTHORIZED",
    )


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/nowhere", 404), ("PUT", BATCH, 405)])
def test_an_unknown_route_is_refused(app: App, method: str, path: str, status: int) -> None:
    assert status_and_code(check_before_body(app, method, path, 100))[0] == status


def test_an_unreadable_path_is_400(app: App) -> None:
    assert status_and_code(check_before_body(app, "POST", BATCH, 100, REQUEST_URI="/%ff"))[0] == 400


def test_an_api_key_in_the_body_is_not_read_before_the_body(app: App, user: users.NewUser) -> None:
    sql = "/api/v1/sql-proxy"
    assert check_before_body(app, "POST", sql, 65_536) == 65_536
    assert check_before_body(app, "POST", sql, None) == 65_536
    assert status_and_code(check_before_body(app, "POST", sql, 65_537))[0] == 413
    assert check_before_body(app, "POST", sql, MEBIBYTE, user.api_key) == MEBIBYTE


def test_the_document_states_the_body_limit_of_each_call(client: Client) -> None:
    paths = client.get("/openapi.json").json["paths"]
    assert paths[LOGIN]["post"]["requestBody"]["description"] == "A JSON object of at most 65,536 bytes."
    assert paths[BATCH]["post"]["requestBody"]["description"] == "A JSON object of at most 1,048,576 bytes."


def test_only_a_trusted_proxy_can_forward_an_address(make_app: Callable[..., App]) -> None:
    application = WsgiApp(make_app(trusted_proxies=("10.0.0.0/8",)))
    peers = [("192.0.2.1", None), ("192.0.2.1", "198.51.100.7"), ("10.1.2.3", None), ("10.1.2.3", "198.51.100.7")]
    addresses = [application.find_client_address(peer, forwarded) for peer, forwarded in peers]
    assert addresses == ["192.0.2.1", "192.0.2.1", None, "198.51.100.7"]
    assert application.find_client_address("2001:db8::1", None) == application.find_client_address("2001:db8::2", None)
    assert application.find_client_address("::ffff:10.1.2.3", None) is None
