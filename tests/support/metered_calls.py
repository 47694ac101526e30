"""Clients of chosen routes, and the ledger rows and balances that their calls leave behind."""

from __future__ import annotations

from typing import Any

from finapi.app import App
from finapi.web.application import WsgiApp
from finapi.web.http.route import Route
from tests.client import Client, ledger_sum
from tests.support.raw_sql import run_sql


def create_client(app: App, key: str | None, *routes: Route) -> Client:
    """Return a client of a server with these routes instead of finapi's."""
    client = Client(app, key)
    client.call_application(WsgiApp(app, routes))
    return client


def list_ledger_rows(app: App) -> list[tuple[Any, ...]]:
    """Return the delta, reason, endpoint and status of each ledger row except the first allowances."""
    with app.db.write() as tx:
        sql = "SELECT delta, reason, endpoint, status FROM ledger WHERE reason <> 'refill' ORDER BY id"
        return [tuple(row) for row in run_sql(tx, sql)]


def get_balance(app: App, user_id: int = 1) -> int:
    """Return the tokens that a user can still spend; assert that they are the sum of the ledger."""
    with app.db.read() as tx:
        plan = tx.find_row("userplan", user_id=user_id)
        assert plan is not None
        remaining = int(plan["total_limit_api"] - plan["reach_limit_api"])
        assert ledger_sum(tx, user_id) == remaining
    return remaining
