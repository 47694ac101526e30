"""Series of many cells: the bounds of an answer, the number built concurrently, and the price of a refusal."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.json import dumps, iter_chunks
from finapi.market.financials import company_books
from finapi.store.db import Transaction
from finapi.web.application import WsgiApp
from finapi.web.financials import timeseries as handlers
from finapi.web.http import call as calls
from tests.client import Client
from tests.conftest import NOW
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.metered_calls import get_balance
from tests.web.financials.test_timeseries import URL, build_rows

BATCH = URL + "/batch"
CIKS = ["77", "78", "79"]
MANY: dict[str, Any] = {"ciks": CIKS, "provenance": "full", "ratios": True, "template": True}


def build_caller(app: App) -> Client:
    for cik in CIKS:
        rows = [
            (concept, unit, {**fact, "accn": fact["accn"].replace("0000000077", f"00000000{cik}")})
            for concept, unit, fact in build_rows(range(2014, 2024))
        ]
        store_companyfacts(app, build_companyfacts(int(cik), f"Company {cik}", rows))
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def caller(make_app: Callable[..., App]) -> Client:
    return build_caller(make_app(large_waiting=0))


# ---- JSON in pieces


def test_chunks_join_to_the_same_json_as_dumps() -> None:
    rows = [{"a": 1, "b": None}, {}, {"c": "x"}]
    lazy = {"first": iter(rows), "inner": {"rows": (row for row in [iter([1, 2]), iter([])])}, "last": "é"}
    assert json.loads(b"".join(iter_chunks(lazy))) == {"first": rows, "inner": {"rows": [[1, 2], []]}, "last": "é"}
    for plain in ({"first": rows}, [], 1, "x", None):
        assert b"".join(iter_chunks(plain)) == dumps(plain)


def test_an_item_is_built_after_those_before_it_are_written() -> None:
    built_numbers: list[int] = []

    def items() -> Iterator[int]:
        for number in range(3):
            built_numbers.append(number)
            yield number

    written = iter_chunks({"items": items()})
    assert (next(written), built_numbers) == (b'{"items":', [])
    assert (next(written), next(written), built_numbers) == (b"[", b"0", [0])


# ---- bounds


@pytest.mark.slow
def test_an_answer_of_too_many_bytes_is_refused_and_refunded(caller: Client) -> None:
    before = get_balance(caller.app)
    answer = caller.post(BATCH, MANY)
    assert answer.status == 200
    assert len(answer.body) > 1 << 20
    small = build_caller_with_limit(caller, len(answer.body) - 3_000)
    refused = small.post(BATCH, MANY)
    bound = f"{small.app.config.answer_limit:,} bytes"
    assert refused.verdict == (
        400,
        "INVALID_PARAM",
        f"The answer would have more than {bound}. Ask for fewer companies, fewer rows (years, limit), fewer metrics "
        "or less provenance.",
    )
    assert refused.json["details"] == {"param": "tickers", "expected": f"an answer of at most {bound}"}
    assert refused.headers["x-tokens-charged"] == "0"
    assert get_balance(caller.app) == before - 10
    assert small.post(BATCH, {**MANY, "ciks": CIKS[:1]}).status == 200


def build_caller_with_limit(caller: Client, limit: int) -> Client:
    """Return the same caller of a server whose answers have at most ``limit`` bytes."""
    object.__setattr__(caller.app.config, "answer_limit", limit)
    return caller


def test_a_series_above_the_bound_can_be_paged(caller: Client) -> None:
    query = {"cik": "77", "provenance": "full", "ratios": "true", "template": "true"}
    full_answer = caller.get(URL, query=query)
    small = build_caller_with_limit(caller, len(full_answer.body) // 2)
    with small.app.db.write() as tx:
        tx.run("bump_data_version")
    refused = small.get(URL, query=query)
    assert refused.json["details"]["param"] == "limit"
    assert "limit, with next_cursor for the rest" in refused.json["message"]
    rows: list[Any] = []
    page_query: dict[str, Any] = {}
    while page_query is not None:
        page = small.get(URL, query={**query, "limit": "3", **page_query})
        rows += page.json["data"]["rows"]
        cursor = page.json["meta"]["pagination"]["next_cursor"]
        page_query = {"cursor": cursor} if cursor else None  # type: ignore[assignment]
    assert rows == full_answer.json["data"]["rows"]


@pytest.mark.parametrize("cells", [0, 1])
def test_cells_are_counted_before_rows_are_built(
    make_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    # Ten years of one metric of two companies.
    caller = build_caller(make_app(series_cells=19 + cells))
    built_rows: list[str] = []
    plain = handlers.metric_series._build_row

    def counted(*args: Any) -> Any:
        built_rows.append("row")
        return plain(*args)

    monkeypatch.setattr(handlers.metric_series, "_build_row", counted)
    answer = caller.post(BATCH, {"ciks": CIKS[:2], "metrics": ["revenue"]})
    if cells:
        assert (answer.status, len(built_rows)) == (200, 20)
    else:
        assert answer.verdict[:2] == (400, "INVALID_PARAM")
        assert (answer.json["details"]["expected"], len(built_rows)) == ("an answer of at most 19 cells", 10)
    series_answer = caller.get(URL, query={"cik": "77", "metrics": "revenue,net_income"})
    assert series_answer.status == (200 if cells else 400)


LONG = {"provenance": "full", "ratios": "true", "template": "true"}


@pytest.fixture
def long_caller(make_app: Callable[..., App]) -> Client:
    """Return a caller of a database with companies of 44 fiscal years."""
    app = make_app()
    for cik in CIKS[:2]:
        rows = [
            (concept, unit, {**fact, "accn": fact["accn"].replace("0000000077", f"00000000{cik}")})
            for concept, unit, fact in build_rows(range(1980, 2024))
        ]
        store_companyfacts(app, build_companyfacts(int(cik), f"Company {cik}", rows))
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def rows_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that receives the fiscal year of each row that is built."""
    years: list[int] = []
    plain = handlers.metric_series._build_row

    def make(row: Any, *args: Any) -> Any:
        years.append(row.period.fiscal_year)
        return plain(row, *args)

    monkeypatch.setattr(handlers.metric_series, "_build_row", make)
    return years


def test_a_too_long_series_is_refused_from_a_sample_of_rows(long_caller: Client, rows_made: list[int]) -> None:
    full = long_caller.get(URL, query={"cik": "77", **LONG})
    assert (full.status, len(full.json["data"]["rows"])) == (200, 44)
    before = get_balance(long_caller.app)
    rows_made.clear()
    small = build_caller_with_limit(long_caller, len(full.body) * 9 // 10)
    refused = small.get(URL, query={"cik": "77", **LONG, "calendar": "true"})
    bound = f"{small.app.config.answer_limit:,} bytes"
    assert refused.verdict == (
        400,
        "INVALID_PARAM",
        f"The answer would have more than {bound}. Ask for fewer rows (limit, with next_cursor for the rest), fewer "
        "metrics or less provenance.",
    )
    assert refused.json["details"] == {"param": "limit", "expected": f"an answer of at most {bound}"}
    assert (refused.headers["x-tokens-charged"], get_balance(small.app)) == ("0", before)
    assert rows_made == list(range(2023, 1980, -5))


def test_a_close_estimate_is_decided_by_the_exact_bytes(long_caller: Client, rows_made: list[int]) -> None:
    full = long_caller.get(URL, query={"cik": "77", **LONG})
    for bound, status in ((len(full.body) - 1_000, 400), (len(full.body), 200)):
        small = build_caller_with_limit(long_caller, bound)
        with small.app.db.write() as tx:
            tx.run("bump_data_version")
        rows_made.clear()
        answer = small.get(URL, query={"cik": "77", **LONG})
        assert answer.status == status
        # More than a sample: up to the byte that was too many.
        assert len(rows_made) > 40


def test_a_too_long_batch_is_refused_before_any_row(long_caller: Client, rows_made: list[int]) -> None:
    body: dict[str, Any] = {"provenance": "full", "ratios": True, "template": True}
    full = long_caller.post(BATCH, {**body, "ciks": CIKS[:2]})
    assert full.status == 200
    rows_made.clear()
    small = build_caller_with_limit(long_caller, len(full.body) * 9 // 10)
    refused = small.post(BATCH, {**body, "ciks": [*CIKS[:2], "999"]})
    assert (refused.status, refused.json["details"]["param"]) == (400, "tickers")
    assert rows_made == 2 * list(range(2023, 1980, -5))


def test_a_short_answer_is_not_estimated(long_caller: Client, rows_made: list[int]) -> None:
    assert long_caller.get(URL, query={"cik": "77", "ratios": "true"}).status == 200
    assert rows_made == list(range(2023, 1979, -1))


@pytest.mark.parametrize(
    ("path", "query", "param"),
    [
        (URL, {"metrics": "nonsense"}, "metrics"),
        (URL, {"years": "nonsense"}, "years"),
        (URL, {"cursor": "AAAA"}, "cursor"),
        ("/api/v1/xbrl/segments", {"metric": "nonsense"}, "metric"),
        ("/api/v1/xbrl/segments", {"years": "nonsense"}, "years"),
        ("/api/v1/xbrl/companies/77/valuation", {"years": "nonsense"}, "years"),
    ],
)
def test_an_invalid_query_loads_no_company(
    caller: Client, monkeypatch: pytest.MonkeyPatch, path: str, query: dict[str, str], param: str
) -> None:
    def load(*args: Any) -> Any:
        raise AssertionError("A company was loaded.")

    monkeypatch.setattr(company_books, "load_cached", load)
    company = {} if "valuation" in path else {"cik": "77"}
    refused = caller.get(path, query={**query, **company})
    assert (refused.status, refused.json["details"]["param"]) == (400, param)
    if path == URL:
        body = {name: [value] if name == "metrics" else value for name, value in query.items()}
        refused = caller.post(BATCH, {"ciks": ["77"], **body})
        assert (refused.status, refused.json["details"]["param"]) == (400, param)


@pytest.mark.slow
def test_a_larger_batch_needs_only_memory_for_its_answer(caller: Client) -> None:
    def most(ciks: list[str]) -> int:
        caller.post(BATCH, {**MANY, "ciks": ciks})  # books are kept
        tracemalloc.start()
        answer = caller.post(BATCH, {**MANY, "ciks": ciks})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert answer.status == 200
        return peak - 5 * len(answer.body)

    assert most(CIKS) < most(CIKS[:1]) + 300_000


# ---- how many at once


@pytest.mark.slow
def test_concurrent_large_answers_are_bounded_and_refunded(caller: Client) -> None:
    app = caller.app
    for other in ("x", "y"):
        app.large_answer_queue.acquire(("user", other))
    before = get_balance(app)
    answer = caller.post(BATCH, MANY)
    assert answer.verdict[:2] == (503, "UNAVAILABLE")
    assert (answer.headers["retry-after"], answer.headers["x-tokens-charged"]) == ("1", "0")
    assert get_balance(app) == before
    # A small answer of one company needs no place.
    assert caller.get(URL, query={"cik": "77", "metrics": "revenue"}).status == 200
    app.large_answer_queue.release(("user", "x"))
    assert caller.post(BATCH, MANY).status == 200


def test_a_slot_is_released_when_the_answer_is_handed_over(caller: Client) -> None:
    app = caller.app
    handed: list[int] = []
    plain = WsgiApp.__call__

    def watched(self: WsgiApp, *args: Any) -> Any:
        body = plain(self, *args)
        handed.append(app.large_answer_queue.count_for_key(("user", 1)))
        return body

    WsgiApp.__call__ = watched  # type: ignore[method-assign]
    try:
        assert caller.post(BATCH, MANY).status == 200
        assert caller.post(BATCH, {"ciks": ["nonsense"], "metrics": ["revenue"]}).status == 200
        # A question that is wrong for every company needs no place.
        assert caller.post(BATCH, {"ciks": ["nonsense"], "metrics": ["nonsense"]}).status == 400
    finally:
        WsgiApp.__call__ = plain  # type: ignore[method-assign]
    assert handed == [1, 1, 0]
    assert app.large_answer_queue.count_for_key(("user", 1)) == 0


def test_a_cached_answer_above_a_megabyte_needs_a_slot(caller: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MIN_LARGE_ANSWER_BYTES", 10_000)
    monkeypatch.setattr("finapi.web.response_cache.MIN_LARGE_ANSWER_BYTES", 10_000)
    query = {"cik": "77", "provenance": "full"}
    assert caller.get(URL, query=query).status == 200
    for other in ("x", "y"):
        caller.app.large_answer_queue.acquire(("user", other))
    assert caller.get(URL, query=query).status == 503
    assert caller.get(URL, query={**query, "limit": "2"}).status == 503
    assert caller.get(URL, query={**query, "metrics": "revenue"}).status == 200


def test_a_failure_during_a_batch_is_a_500_and_refunded(caller: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = handlers._build_result
    before = get_balance(caller.app)

    def fails(call: calls.Call, tx: Transaction, selector: str, question: Any) -> Any:
        if selector == CIKS[-1]:
            raise RuntimeError("broken")
        return plain(call, tx, selector, question)

    monkeypatch.setattr(handlers, "_build_result", fails)
    answer = caller.post(BATCH, MANY)
    assert answer.verdict[:2] == (500, "INTERNAL")
    assert get_balance(caller.app) == before
    assert caller.app.large_answer_queue.count_for_key(("user", 1)) == 0
