"""Cached answers equal those built for another caller, on each cacheable route of the demo."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.web.http.route import Route
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.support.demo_copies import load_demo

pytestmark = pytest.mark.slow

CACHEABLE_ROUTES = [route for route in ROUTES if route.cacheable]
APPLE = {"ticker": "AAPL"}
# Arguments in addition to the required parameters of a route.
EXTRA_ARGUMENTS: dict[str, dict[str, str]] = {
    "/api/v1/xbrl/timeseries": APPLE,
    "/api/v1/xbrl/facts": {"cik": "0000320193"},
    "/api/v1/facts": APPLE,
    "/api/v1/xbrl/proof": {**APPLE, "metric": "revenue"},
    "/api/v1/xbrl/segments": {**APPLE, "metric": "revenue"},
    "/api/v1/xbrl/share-classes": APPLE,
}
# Members that differ for each call, and the time at which a statement was built.
_CALL_MEMBERS = re.compile(rb'"(request_id|timestamp|generated_at)":"[^"]*"')


@pytest.fixture(scope="module")
def callers() -> Iterator[tuple[Client, Client]]:
    """Yield two clients with different plans of one app with the demo's data and high limits."""
    limits = ("app_per_minute", "app_per_hour", "xbrl_per_minute", "xbrl_burst", "financials_per_minute")
    limit_names = ("insider_per_minute_free", "insider_per_minute_paid", "free_tokens", "pro_tokens")
    settings: dict[str, Any] = dict.fromkeys((*limits, *limit_names), 10**6)
    app = apps.create_in_memory(Config(**settings), FixedClock(NOW))
    load_demo(app)
    keys = [users.create(app, f"{plan}@example.com", plan, NOW).api_key for plan in ("pro", "free")]
    yield Client(app, keys[0]), Client(app, keys[1])
    app.db.close()


def question(route: Route) -> str:
    path, query = route.path, dict(EXTRA_ARGUMENTS.get(route.path, {}))
    for param in route.params:
        if param.location == "path":
            path = path.replace(f"{{{param.name}}}", quote(str(param.example), safe=""))
        elif param.required:
            query.setdefault(param.name, str(param.example))
    return f"{path}?{urlencode(query)}"


def forget(app: App) -> None:
    for cache in (app.answer_cache, app.fact_book_cache, app.screening_cache):
        cache._version, cache._weight = object(), 0
        cache._entries.clear()


def remove_call_members(answer: Answer) -> bytes:
    """Return an answer without the members that differ for each call."""
    return _CALL_MEMBERS.sub(b"", answer.body)


@pytest.mark.parametrize("route", CACHEABLE_ROUTES, ids=lambda route: route.path)
def test_a_cached_answer_equals_the_callers_own_answer(callers: tuple[Client, Client], route: Route) -> None:
    pro, free = callers
    path = question(route)
    forget(pro.app)
    first, cached = pro.get(path), free.get(path)
    if first.status == 404:  # The demo has none.
        assert cached.status == 404
        assert len(pro.app.answer_cache) == 0
        return
    assert (first.status, cached.status) == (200, 200), first.body
    assert len(pro.app.answer_cache) == 1
    table = free.get(path, headers={"Accept": "text/csv"})
    csv = "text/csv; charset=utf-8"
    assert table.headers["content-type"] == (csv if route.tables else cached.headers["content-type"])
    after = free.get(path)
    head = free.call("HEAD", path)
    packed = free.get(path, headers={"Accept-Encoding": "gzip"})
    forget(free.app)
    built = free.get(path)
    for answer in (first, cached, after):
        assert remove_call_members(answer) == remove_call_members(built)
        assert answer.headers["content-type"] == built.headers["content-type"]
        assert answer.headers["etag"] == built.headers["etag"]
    assert (head.body, head.headers["etag"]) == (b"", built.headers["etag"])
    if "content-encoding" in packed.headers:
        assert packed.headers["etag"] != built.headers["etag"]
    if built.headers["content-type"].startswith("application/json") and b'"request_id"' in built.body:
        answers = (first, cached, after, built)
        assert len({answer.json["request_id"] for answer in answers}) == len(answers)


def test_answers_of_failed_calls_are_not_cached(callers: tuple[Client, Client]) -> None:
    pro, _ = callers
    forget(pro.app)
    for path in ("/xbrl/companies/NOSUCH/statements", "/xbrl/timeseries?ticker=NOSUCH", "/xbrl/facts"):
        assert pro.get("/api/v1" + path).status in (400, 404)
    assert len(pro.app.answer_cache) == 0
