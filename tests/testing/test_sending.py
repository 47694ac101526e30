"""The dispatcher of a world's webhooks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.delivery import webhooks
from finapi.delivery.dispatcher import ClaimedAttempt
from finapi.delivery.webhooks import Receiver, WebhookEvent
from finapi.testing.faults import FaultPlan
from finapi.testing.sending import WorldDispatcher


def test_one_by_one_claims_more_webhooks_than_threads(
    make_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the order of the webhooks would depend on how many attempts have ended at the next step."""
    app = make_app(webhook_threads=2)
    user = users.create(app, "ann@example.com", "pro", app.clock.now())
    urls = [f"https://receiver{number}.example/" for number in range(6)]
    with app.accounts.write() as tx:
        for url in urls:
            event = WebhookEvent("finapi.test", "2026-01-31T11:59:00.000Z", url, {})
            webhooks.enqueue(tx, app.clock.now(), Receiver(user.id, user.uuid, url), event)
    dispatcher = WorldDispatcher(app, lambda: None, FaultPlan(1), one_by_one=True)
    claims: list[ClaimedAttempt] = []
    monkeypatch.setattr(dispatcher, "_submit", claims.append)
    dispatcher.run_step()
    assert [claim.request.url for claim in claims] == urls
    dispatcher.stop(0.0)
