"""Answers that fail after their call was charged, while their headers and bytes are built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts import billing, users
from finapi.app import App
from finapi.core.errors import ApiError
from finapi.web import exports, responses
from finapi.web.application import WsgiApp
from finapi.web.exchange import Exchange
from finapi.web.http.messages import Response
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support.metered_calls import get_balance, list_ledger_rows
from tests.web.test_exports import ROUTE, numbers, numbers_route

DEBIT, REFUND = (-5, "debit", ROUTE.name, 500), (5, "5xx_refund", ROUTE.name, 500)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


@pytest.fixture
def api(app: App) -> Client:
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    client.call_application(WsgiApp(app, [ROUTE]))
    return client


def fail_finishing_with(error: Exception, monkeypatch: pytest.MonkeyPatch, *, errors_too: bool = False) -> None:
    """Make the finishing of each response of status 200 raise an error; with ``errors_too``, of each response."""
    finish = responses.finish

    def failing_finish(app: App, exchange: Exchange, response: Response) -> Any:
        if response.status == 200 or errors_too:
            raise error
        return finish(app, exchange, response)

    monkeypatch.setattr(responses, "finish", failing_finish)


@pytest.mark.parametrize("error", [MemoryError(), ValueError("x"), ApiError("NOT_FOUND", "Not this.")])
def test_an_answer_that_fails_to_render_is_a_free_500(
    app: App, api: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    before = get_balance(app, 1)
    fail_finishing_with(error, monkeypatch)
    answer = api.get(ROUTE.path)
    assert (answer.status, answer.json["code"], answer.headers["x-tokens-charged"]) == (500, "INTERNAL", "0")
    billing.run_settlement_step(app)
    assert (get_balance(app, 1), list_ledger_rows(app)) == (before, [DEBIT, REFUND])


def test_a_500_that_fails_to_render_costs_nothing(app: App, api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_finishing_with(MemoryError(), monkeypatch, errors_too=True)
    with pytest.raises(MemoryError):
        api.get(ROUTE.path)
    billing.run_settlement_step(app)
    assert list_ledger_rows(app) == [DEBIT, REFUND]


def test_a_table_whose_headers_fail_is_closed_and_costs_nothing(
    app: App, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 4)
    fail_finishing_with(MemoryError(), monkeypatch)
    answer = api.get(ROUTE.path + "?format=csv")
    assert (answer.status, answer.json["code"], app.large_answer_queue.count_for_key(("user", 1))) == (
        500,
        "INTERNAL",
        0,
    )
    assert list_ledger_rows(app) == [DEBIT, REFUND]


def test_a_large_answer_that_fails_frees_its_slot(app: App, api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def holds(call: Any) -> Response:
        call.acquire_large_slot()
        return numbers(call)

    api.call_application(WsgiApp(app, [numbers_route(handler=holds)]))
    fail_finishing_with(MemoryError(), monkeypatch)
    assert (api.get(ROUTE.path).status, app.large_answer_queue.count_for_key(("user", 1))) == (500, 0)
    assert list_ledger_rows(app) == [DEBIT, REFUND]


def test_a_successful_answer_is_charged_once(app: App, api: Client) -> None:
    assert api.get(ROUTE.path).status == 200
    billing.run_settlement_step(app)
    assert list_ledger_rows(app) == [(-5, "debit", ROUTE.name, 200)]
