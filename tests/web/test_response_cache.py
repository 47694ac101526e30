"""Answers that are kept for the next who asks the same: of every route that keeps any, over the demo's data."""

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
from finapi.market.demo import demo_data
from finapi.web.http.route import Route
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.conftest import NOW

pytestmark = pytest.mark.slow

KEEPING = [route for route in ROUTES if route.cacheable]
APPLE = {"ticker": "AAPL"}
# What a route needs beside the parameters that it demands.
BESIDE: dict[str, dict[str, str]] = {
    "/api/v1/xbrl/timeseries": APPLE,
    "/api/v1/xbrl/facts": {"cik": "0000320193"},
    "/api/v1/facts": APPLE,
    "/api/v1/xbrl/proof": {**APPLE, "metric": "revenue"},
    "/api/v1/xbrl/segments": {**APPLE, "metric": "revenue"},
    "/api/v1/xbrl/share-classes": APPLE,
}
# What is each call's own, and when a statement was arranged.
_OWN = re.compile(rb'"(request_id|timestamp|generated_at)":"[^"]*"')


@pytest.fixture(scope="module")
def callers() -> Iterator[tuple[Client, Client]]:
    """Two callers of different plans, of one app with the demo's data and without limits in the way."""
    limits = ("app_per_minute", "app_per_hour", "xbrl_per_minute", "xbrl_burst", "financials_per_minute")
    more = ("insider_per_minute_free", "insider_per_minute_paid", "free_tokens", "pro_tokens")
    settings: dict[str, Any] = dict.fromkeys((*limits, *more), 10**6)
    app = apps.create_in_memory(Config(**settings), FixedClock(NOW))
    demo_data.load(app)
    keys = [users.create(app, f"{plan}@example.com", plan, NOW).api_key for plan in ("pro", "free")]
    yield Client(app, keys[0]), Client(app, keys[1])
    app.db.close()


def question(route: Route) -> str:
    path, query = route.path, dict(BESIDE.get(route.path, {}))
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


def shared(answer: Answer) -> bytes:
    """What of an answer may be anybody's."""
    return _OWN.sub(b"", answer.body)


@pytest.mark.parametrize("route", KEEPING, ids=lambda route: route.path)
def test_a_kept_answer_is_the_one_that_the_caller_would_have_been_made(
    callers: tuple[Client, Client], route: Route
) -> None:
    pro, free = callers
    path = question(route)
    forget(pro.app)
    first, kept = pro.get(path), free.get(path)
    if first.status == 404:  # the demo has none
        assert kept.status == 404
        assert len(pro.app.answer_cache) == 0
        return
    assert (first.status, kept.status) == (200, 200), first.body
    assert len(pro.app.answer_cache) == 1
    table = free.get(path, headers={"Accept": "text/csv"})
    csv = "text/csv; charset=utf-8"
    assert table.headers["content-type"] == (csv if route.tables else kept.headers["content-type"])
    after = free.get(path)
    head = free.call("HEAD", path)
    packed = free.get(path, headers={"Accept-Encoding": "gzip"})
    forget(free.app)
    made = free.get(path)
    for answer in (first, kept, after):
        assert shared(answer) == shared(made)
        assert answer.headers["content-type"] == made.headers["content-type"]
        assert answer.headers["etag"] == made.headers["etag"]
    assert (head.body, head.headers["etag"]) == (b"", made.headers["etag"])
    if "content-encoding" in packed.headers:
        assert packed.headers["etag"] != made.headers["etag"]
    if made.headers["content-type"].startswith("application/json") and b'"request_id"' in made.body:
        answers = (first, kept, after, made)
        assert len({answer.json["request_id"] for answer in answers}) == len(answers)


def test_no_answer_is_kept_of_a_call_that_fails(callers: tuple[Client, Client]) -> None:
    pro, _ = callers
    forget(pro.app)
    for path in ("/xbrl/companies/NOSUCH/statements", "/xbrl/timeseries?ticker=NOSUCH", "/xbrl/facts"):
        assert pro.get("/api/v1" + path).status in (400, 404)
    assert len(pro.app.answer_cache) == 0
