"""Series of many cells: what one answer may hold, how many are made at once, and what a refusal costs."""

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
from tests.api.test_timeseries_api import URL, rows_of
from tests.client import Client, ledger_sum
from tests.conftest import NOW
from tests.figures import document, store

BATCH = URL + "/batch"
CIKS = ["77", "78", "79"]
MANY: dict[str, Any] = {"ciks": CIKS, "provenance": "full", "ratios": True, "template": True}


def caller_of(app: App) -> Client:
    for cik in CIKS:
        rows = [
            (concept, unit, {**one, "accn": one["accn"].replace("0000000077", f"00000000{cik}")})
            for concept, unit, one in rows_of(range(2014, 2024))
        ]
        store(app, document(int(cik), f"Company {cik}", rows))
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def caller(make_app: Callable[..., App]) -> Client:
    return caller_of(make_app(large_waiting=0))


def balance(app: App) -> int:
    with app.db.read() as tx:
        return ledger_sum(tx, 1)


# ---- JSON in pieces


def test_pieces_are_what_dumps_writes_with_lists_for_iterators() -> None:
    rows = [{"a": 1, "b": None}, {}, {"c": "x"}]
    lazy = {"first": iter(rows), "inner": {"rows": (row for row in [iter([1, 2]), iter([])])}, "last": "é"}
    assert json.loads(b"".join(iter_chunks(lazy))) == {"first": rows, "inner": {"rows": [[1, 2], []]}, "last": "é"}
    for plain in ({"first": rows}, [], 1, "x", None):
        assert b"".join(iter_chunks(plain)) == dumps(plain)


def test_an_item_is_made_when_those_before_it_are_written() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(3):
            made.append(number)
            yield number

    written = iter_chunks({"items": items()})
    assert (next(written), made) == (b'{"items":', [])
    assert (next(written), next(written), made) == (b"[", b"0", [0])


# ---- bounds


@pytest.mark.slow
def test_more_bytes_than_an_answer_may_have_are_refused_and_refunded(caller: Client) -> None:
    before = balance(caller.app)
    answer = caller.post(BATCH, MANY)
    assert answer.status == 200
    assert len(answer.body) > 1 << 20
    small = caller_of_bound(caller, len(answer.body) - 3_000)
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
    assert balance(caller.app) == before - 10
    assert small.post(BATCH, {**MANY, "ciks": CIKS[:1]}).status == 200


def caller_of_bound(caller: Client, most: int) -> Client:
    """The same caller of a server whose answers may have so many bytes, in the tests' small data."""
    object.__setattr__(caller.app.config, "answer_limit", most)
    return caller


def test_one_series_has_the_same_bound_and_is_paged_within_it(caller: Client) -> None:
    query = {"cik": "77", "provenance": "full", "ratios": "true", "template": "true"}
    whole = caller.get(URL, query=query)
    small = caller_of_bound(caller, len(whole.body) // 2)
    with small.app.db.write() as tx:
        tx.run("bump_data_version")
    refused = small.get(URL, query=query)
    assert refused.json["details"]["param"] == "limit"
    assert "limit, with next_cursor for the rest" in refused.json["message"]
    rows: list[Any] = []
    more: dict[str, Any] = {}
    while more is not None:
        page = small.get(URL, query={**query, "limit": "3", **more})
        rows += page.json["data"]["rows"]
        cursor = page.json["meta"]["pagination"]["next_cursor"]
        more = {"cursor": cursor} if cursor else None  # type: ignore[assignment]
    assert rows == whole.json["data"]["rows"]


@pytest.mark.parametrize("cells", [0, 1])
def test_cells_are_counted_before_any_is_made(
    make_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    # Ten years of one metric of two companies.
    caller = caller_of(make_app(series_cells=19 + cells))
    made: list[str] = []
    plain = handlers.metric_series._build_row

    def counted(*args: Any) -> Any:
        made.append("row")
        return plain(*args)

    monkeypatch.setattr(handlers.metric_series, "_build_row", counted)
    answer = caller.post(BATCH, {"ciks": CIKS[:2], "metrics": ["revenue"]})
    if cells:
        assert (answer.status, len(made)) == (200, 20)
    else:
        assert answer.verdict[:2] == (400, "INVALID_PARAM")
        assert (answer.json["details"]["expected"], len(made)) == ("an answer of at most 19 cells", 10)
    one = caller.get(URL, query={"cik": "77", "metrics": "revenue,net_income"})
    assert one.status == (200 if cells else 400)


LONG = {"provenance": "full", "ratios": "true", "template": "true"}


@pytest.fixture
def long_caller(make_app: Callable[..., App]) -> Client:
    """A caller of a store with companies of 44 fiscal years."""
    app = make_app()
    for cik in CIKS[:2]:
        rows = [
            (concept, unit, {**one, "accn": one["accn"].replace("0000000077", f"00000000{cik}")})
            for concept, unit, one in rows_of(range(1980, 2024))
        ]
        store(app, document(int(cik), f"Company {cik}", rows))
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def rows_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The fiscal year of each row that is made."""
    years: list[int] = []
    plain = handlers.metric_series._build_row

    def make(row: Any, *args: Any) -> Any:
        years.append(row.period.fiscal_year)
        return plain(row, *args)

    monkeypatch.setattr(handlers.metric_series, "_build_row", make)
    return years


def test_a_series_that_is_too_long_is_refused_by_a_sample(long_caller: Client, rows_made: list[int]) -> None:
    full = long_caller.get(URL, query={"cik": "77", **LONG})
    assert (full.status, len(full.json["data"]["rows"])) == (200, 44)
    before = balance(long_caller.app)
    rows_made.clear()
    small = caller_of_bound(long_caller, len(full.body) * 9 // 10)
    refused = small.get(URL, query={"cik": "77", **LONG, "calendar": "true"})
    bound = f"{small.app.config.answer_limit:,} bytes"
    assert refused.verdict == (
        400,
        "INVALID_PARAM",
        f"The answer would have more than {bound}. Ask for fewer rows (limit, with next_cursor for the rest), fewer "
        "metrics or less provenance.",
    )
    assert refused.json["details"] == {"param": "limit", "expected": f"an answer of at most {bound}"}
    assert (refused.headers["x-tokens-charged"], balance(small.app)) == ("0", before)
    assert rows_made == list(range(2023, 1980, -5))


def test_what_an_estimate_leaves_open_is_decided_by_the_bytes(long_caller: Client, rows_made: list[int]) -> None:
    full = long_caller.get(URL, query={"cik": "77", **LONG})
    for bound, status in ((len(full.body) - 1_000, 400), (len(full.body), 200)):
        small = caller_of_bound(long_caller, bound)
        with small.app.db.write() as tx:
            tx.run("bump_data_version")
        rows_made.clear()
        answer = small.get(URL, query={"cik": "77", **LONG})
        assert answer.status == status
        # More than a sample: up to the byte that was too many.
        assert len(rows_made) > 40


def test_a_batch_that_is_too_long_is_refused_before_any_row(long_caller: Client, rows_made: list[int]) -> None:
    body: dict[str, Any] = {"provenance": "full", "ratios": True, "template": True}
    full = long_caller.post(BATCH, {**body, "ciks": CIKS[:2]})
    assert full.status == 200
    rows_made.clear()
    small = caller_of_bound(long_caller, len(full.body) * 9 // 10)
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
def test_what_is_wrong_for_every_company_loads_none(
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
def test_a_batch_of_more_companies_takes_no_more_memory_beside_its_answer(caller: Client) -> None:
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
def test_what_is_made_at_once_is_bounded_and_the_rest_is_refused_and_refunded(caller: Client) -> None:
    app = caller.app
    for other in ("x", "y"):
        app.large_answer_queue.acquire(("user", other))
    before = balance(app)
    answer = caller.post(BATCH, MANY)
    assert answer.verdict[:2] == (503, "UNAVAILABLE")
    assert (answer.headers["retry-after"], answer.headers["x-tokens-charged"]) == ("1", "0")
    assert balance(app) == before
    # A small answer of one company needs no place.
    assert caller.get(URL, query={"cik": "77", "metrics": "revenue"}).status == 200
    app.large_answer_queue.release(("user", "x"))
    assert caller.post(BATCH, MANY).status == 200


def test_a_place_is_given_back_when_the_answer_has_been_handed_over(caller: Client) -> None:
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


def test_an_answer_above_a_megabyte_needs_a_place_also_when_it_is_kept(
    caller: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "MIN_LARGE_ANSWER_BYTES", 10_000)
    monkeypatch.setattr("finapi.web.response_cache.MIN_LARGE_ANSWER_BYTES", 10_000)
    query = {"cik": "77", "provenance": "full"}
    assert caller.get(URL, query=query).status == 200
    for other in ("x", "y"):
        caller.app.large_answer_queue.acquire(("user", other))
    assert caller.get(URL, query=query).status == 503
    assert caller.get(URL, query={**query, "limit": "2"}).status == 503
    assert caller.get(URL, query={**query, "metrics": "revenue"}).status == 200


def test_a_failure_in_the_middle_is_a_500_and_refunded(caller: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = handlers._build_result
    before = balance(caller.app)

    def fails(call: calls.Call, tx: Transaction, selector: str, question: Any) -> Any:
        if selector == CIKS[-1]:
            raise RuntimeError("broken")
        return plain(call, tx, selector, question)

    monkeypatch.setattr(handlers, "_build_result", fails)
    answer = caller.post(BATCH, MANY)
    assert answer.verdict[:2] == (500, "INTERNAL")
    assert balance(caller.app) == before
    assert caller.app.large_answer_queue.count_for_key(("user", 1)) == 0
