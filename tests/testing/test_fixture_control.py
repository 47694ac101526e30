"""Tests of the test server's control calls under stress: impossible values, floods, deleted worlds, many threads."""

from __future__ import annotations

import gc
import http.client
import itertools
import json
import os
import re
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from finapi.client import ApiFailure
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.core.errors import UsageError
from finapi.testing import FinapiServer, FixtureWorld, gate, world_pool
from finapi.testing.base import RandomStream
from finapi.testing.bounded import BoundedLog
from finapi.testing.gate import MAX_MESSAGE_BYTES, Gate
from finapi.testing.world import World, WorldGoneError
from tests import process
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

PATH = "/api/v1/account/balance"


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=11) as fixture_server:
        yield fixture_server


names = (f"w{number}" for number in itertools.count())


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    new_world = server.world(next(names))
    yield new_world
    new_world.control.drop()


def send_request(world: Any, method: str, path: str, body: bytes = b"", **headers: str) -> ApiAnswer:
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = world.send(ApiRequest(method, world.url + path, request_headers, body))
    assert answer is not None
    return cast(ApiAnswer, answer)


def get_state(server: FinapiServer, world: FixtureWorld) -> Any:
    return cast(Gate, server.wsgi).worlds[world.url.rpartition("/")[2]]


def catch_refusal(call: Any) -> tuple[int, str, Any]:
    with pytest.raises(ApiFailure) as caught:
        call()
    error = caught.value
    return error.status, error.code, (error.details or {}).get("param")


# ---- impossible values


@run_each_case(
    "name, body, param",
    [
        ("clock", b'{"advance": 1%s}' % (b"0" * 400), "advance"),
        ("clock", b'{"advance": -0.001}', "advance"),
        ("clock", b'{"freeze": "2026-02-01T00:00:00Z", "advance": 5}', "advance"),
        ("clock", b'{"freeze": "9999-12-31T23:59:59Z"}', "freeze"),
        ("clock", b'{"freeze": "2050-01-01T00:00:00Z"}', "freeze"),
        ("clock", b'{"freeze": 7}', "freeze"),
        ("clock", b'{"until_idle": false}', "until_idle"),
        ("seed", b'{"seed": "7"}', "seed"),
        ("seed", b'{"seed": 7.0}', "seed"),
        ("seed", b'{"seed": true}', "seed"),
        ("faults", b'{"stale": "0001-01-01T00:00:00Z"}', "stale"),
        ("faults", b'{"delay": 1e9}', "delay"),
        ("faults", b'{"drip": 1e10}', "drip"),
        ("faults", b'{"truncate": -1}', "truncate"),
        ("faults", b'{"status": 1%s}' % (b"0" * 400), "status"),
        ("faults", b'{"duplicate": false}', "duplicate"),
        ("faults", b'{"close": 1013, "ordinal": 2}', "ordinal"),
        ("accounts", b'{"stat": "locked"}', "stat"),
        ("accounts", b'{"email": "a@b@c"}', "email"),
        ("accounts", b'{"email": "%s@example.com"}' % (b"a" * 10_000), "email"),
        ("reset", b'{"world": "x"}', "world"),
    ],
)
def test_a_refused_value_changes_nothing(world: FixtureWorld, name: str, body: bytes, param: str) -> None:
    state = (world.control.now(), world.control.faults(), world.control.call("GET", "accounts"))
    assert catch_refusal(lambda: world.control.call("POST", name, body)) == (400, "INVALID_PARAM", param)
    assert (world.control.now(), world.control.faults(), world.control.call("GET", "accounts")) == state


@run_each_case(
    "body", [b'{"advance": NaN}', b'{"advance": 1e400}', b'{"advance": 1', b'{"seed": 1, "seed": 2}', b"\xff"]
)
def test_a_body_that_is_not_json_is_refused(world: FixtureWorld, body: bytes) -> None:
    assert catch_refusal(lambda: world.control.call("POST", "clock", body))[:2] == (400, "BAD_REQUEST")


def test_an_email_has_one_account(world: FixtureWorld) -> None:
    account = world.control.account("free", email="Ann@example.com")
    assert account["email"] == "ann@example.com"
    assert catch_refusal(lambda: world.control.account("pro", email="ann@example.com"))[:2] == (409, "CONFLICT")


def test_the_clock_ends_in_2099(server: FinapiServer, world: FixtureWorld) -> None:
    get_state(server, world).clock.freeze(datetime(2099, 12, 31, tzinfo=UTC))
    assert catch_refusal(lambda: world.control.advance(86_401)) == (400, "INVALID_PARAM", "advance")
    assert world.control.now() == datetime(2099, 12, 31, tzinfo=UTC)
    assert send_request(world, "GET", PATH, X_API_Key=world.api_key).status == 200


def test_a_wrong_token_creates_no_world(server: FinapiServer) -> None:
    worlds = set(cast(Gate, server.wsgi).worlds)
    for token in ("", "x", "\xff", server.ready["control_token"][:-1]):
        answer = send_request(server, "GET", "/_control/clock", X_Control_Token=token, X_Finapi_World="never-created")
        assert (answer.status, json.loads(answer.body)["code"]) == (401, "UNAUTHORIZED")
    assert set(cast(Gate, server.wsgi).worlds) == worlds
    # A browser sends this before a call of another site's page.
    answer = send_request(server, "OPTIONS", "/_control/reset", Origin="http://elsewhere.example.com")
    assert answer.status == 401


def test_deleting_an_unknown_world_creates_none(server: FinapiServer) -> None:
    token = {"X_Control_Token": server.ready["control_token"]}
    assert send_request(server, "DELETE", "/_world/never-was/_control/world", **token).status == 200
    assert "never-was" not in cast(Gate, server.wsgi).worlds


@pytest.mark.parametrize("headers", [{}, {"X-Finapi-World": "a b"}])
def test_a_feed_of_a_wrong_world_name_is_refused(server: FinapiServer, headers: dict[str, str]) -> None:
    path = "/ws/main-api" if headers else "/_world/-/ws/main-api"
    for _ in range(3):
        with pytest.raises(InvalidStatus) as caught:
            connect(f"ws://127.0.0.1:{server.ready['port']}{path}", additional_headers=headers, proxy=None)
        assert caught.value.response.status_code == 400
    assert send_request(server, "GET", "/livez").status == 200


# ---- limits on memory


def test_a_log_has_limits_on_entries_and_bytes() -> None:
    log: BoundedLog[int] = BoundedLog(3, 10)
    for number in range(5):
        log.append(number, 1)
    assert list(log) == [2, 3, 4]
    log.append(5, 9)
    assert list(log) == [4, 5]
    log.append(6, 100)  # The newest entry stays, however large it is.
    assert list(log) == [6]
    log.set_state([(1, 4), (2, 5)])
    log.append(3, 2)
    assert list(log) == [2, 3]


def test_an_inbox_stores_16_mb_and_no_long_message(server: FinapiServer, world: FixtureWorld) -> None:
    inbox = "/_control/inbox/flood"
    assert send_request(world, "POST", inbox, b"x" * (MAX_MESSAGE_BYTES + 1)).status == 413
    for number in range(20):
        assert send_request(world, "POST", f"{inbox}{number}", b"x" * MAX_MESSAGE_BYTES).status == 200
    messages = get_state(server, world).inbox_log.get_state()
    assert [name for (name, _), _ in messages] == [f"flood{number}" for number in range(5, 20)]
    assert sum(size_bytes for _, size_bytes in messages) <= 16 << 20


@pytest.mark.slow
def test_the_call_log_stores_16_mb(server: FinapiServer, world: FixtureWorld) -> None:
    body = json.dumps({"email": "a@example.com", "password": "x" * 60_000}).encode()
    for _ in range(300):
        send_request(world, "POST", "/api/v1/auth/login", body, Content_Type="application/json")
    calls = get_state(server, world).call_log.get_state()
    assert 200 < len(calls) < 300
    assert sum(size_bytes for _, size_bytes in calls) <= 16 << 20
    # A parsed query takes twenty times the memory of its text.
    for _ in range(200):
        send_request(world, "GET", "/livez?" + "&".join(f"a{number}=b{number}" for number in range(600)))
    assert 50 < len(get_state(server, world).call_log.get_state()) < 150
    # Many short headers take much memory too.
    head = {f"a{number}": "" for number in range(5_000)}
    for _ in range(40):
        assert send_request(world, "GET", "/livez", **head).status == 200
    assert 10 < len(get_state(server, world).call_log.get_state()) < 30


@pytest.mark.parametrize(
    ("method", "query", "status"),
    [
        ("GET", "", 405),
        ("DELETE", "", 405),
        ("POST", "?status=199", 400),
        ("POST", "?status=600", 400),
        ("POST", "?status=2", 400),
        ("POST", "?status=204", 204),
        ("POST", "?status=304", 304),
        ("POST", "?status=503", 503),
    ],
)
def test_an_inbox_answers_with_the_wanted_status(world: FixtureWorld, method: str, query: str, status: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(world.url.split(":")[2].partition("/")[0]), timeout=10)
    path = "/_world/" + world.url.rpartition("/")[2] + "/_control/inbox/a" + query
    for _ in range(2):  # On one connection, so that an unread body would break the second call.
        connection.request(method, path, b"{}")
        answer = connection.getresponse()
        assert answer.status == status
        answer.read()
    connection.close()
    assert len(world.control.inbox("a")) == (0 if status in (400, 405) else 2)


def test_a_deleted_world_is_removed_from_the_stepper() -> None:
    """The work of a world may be due in a year. The stepper must not keep it in memory so long."""
    with FinapiServer(listens=False) as server:
        deleted_world = server.world("gone")
        deleted_world.client().post_sniper_targets(ticker="AAPL", duration_minutes=1440)
        state = cast(Gate, server.wsgi).worlds["gone"]
        stepper = state.wake.__self__  # type: ignore[attr-defined]
        state.wake(state)
        process.eventually(lambda: state in stepper._due_times)
        deleted_world.control.drop()
        assert state not in stepper._due_times


def test_a_deleted_world_is_freed_without_garbage_collection() -> None:
    with FinapiServer(seed=13, listens=False) as server:
        deleted_world = server.world("freed")
        client = deleted_world.client()
        client.get_account_balance()
        client.post_auth_forgetpassword(email="pro@example.com")
        deleted_world.control.webhook("finapi.test", url=deleted_world.control.inbox_url("a"))
        deleted_world.control.advance(60)
        reference = weakref.ref(cast(Gate, server.wsgi).worlds["freed"])
        gc.collect()
        gc.disable()
        try:
            deleted_world.control.drop()
            process.eventually(lambda: reference() is None)  # The background thread may be stepping it.
        finally:
            gc.enable()


def test_deletions_within_a_second_release_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[None] = []
    monkeypatch.setattr(world_pool, "release_free_memory", lambda: released.append(None))
    monkeypatch.setattr(world_pool, "TRIM_DELAY_SECONDS", 3_600.0)
    with FinapiServer(seed=13, listens=False) as server:
        stepper = cast(World, cast(Gate, server.wsgi).worlds[""]).wake.__self__  # type: ignore[attr-defined]
        for name in ("a", "b", "c"):
            server.world(name).control.drop()

        def list_trims() -> list[Callable[[], object]]:
            # The thread may still have to open databases for the next worlds.
            return [job for _, job in stepper._jobs if job.__name__ == "_trim"]

        (job,) = list_trims()
        assert released == []
        stepper._jobs.clear()
        stepper.add_job(job)
        process.eventually(lambda: len(released) == 1)
        server.world("d").control.drop()
        assert len(list_trims()) == 1


# ---- deleted worlds, and many threads


def test_a_deletion_waits_for_the_calls_under_way(server: FinapiServer, world: FixtureWorld) -> None:
    state = get_state(server, world)
    order: list[str] = []
    has_started, may_end = threading.Event(), threading.Event()

    def call() -> None:
        with state.enter_call():
            has_started.set()
            may_end.wait(process.SECONDS)
            order.append("call")

    caller = threading.Thread(target=call)
    caller.start()
    has_started.wait(process.SECONDS)
    deleter = threading.Thread(target=lambda: (world.control.drop(), order.append("dropped")))
    deleter.start()
    process.eventually(lambda: state._calls_lock._exclusive_requests)
    assert state.closed is False
    may_end.set()
    for thread in (caller, deleter):
        thread.join()
    assert order == ["call", "dropped"]
    with pytest.raises(WorldGoneError), state.enter_call():
        pass


def test_a_world_deleted_twice_frees_one_database(server: FinapiServer) -> None:
    pool = cast(Gate, server.wsgi)._manager  # type: ignore[attr-defined]
    for number in range(20):
        deleted_world = server.world(f"twice{number}")
        with ThreadPoolExecutor(4) as executor:
            list(executor.map(lambda control: control.drop(), [deleted_world.control] * 4))
        assert len(set(map(id, pool._open_databases))) == len(pool._open_databases)
    assert not [name for name in pool.gate.worlds if name.startswith("twice")]


def test_a_webhook_receiver_may_make_calls(world: FixtureWorld) -> None:
    """A receiver's own POST is answered while the advance waits for the webhook to be delivered."""
    statuses: list[int] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b'{"ticker": "AAPL"}'
            headers = {"X_API_Key": world.api_key, "Content_Type": "application/json"}
            statuses.append(send_request(world, "POST", "/api/v1/sniper/targets", body, **headers).status)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Write nothing to stderr."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.02,))
        thread.start()
        world.control.webhook("finapi.test", {}, url=f"http://127.0.0.1:{receiver.server_port}/")
        rows = world.control.advance(1)
        receiver.shutdown()
        thread.join()
    assert statuses == [200]
    assert [row["what"] for row in rows if row["what"].startswith("webhook")] == [
        "webhook.attempt",
        "webhook.delivered",
    ]


def test_a_reset_undoes_the_work_of_16_threads(server: FinapiServer, world: FixtureWorld) -> None:
    """The threads reset the world, move its clock, make calls and take snapshots. Only unknown snapshots fail."""
    state = get_state(server, world)
    first_answer = send_request(world, "GET", PATH, X_API_Key=world.api_key)
    world.control.reset()
    error_codes: list[str] = []
    statuses: list[int] = []

    def make_calls(number: int) -> None:
        for turn in range(12):
            try:
                match (number + turn) % 6:
                    case 0:
                        world.control.reset()
                    case 1:
                        world.control.advance(3600)
                    case 2:
                        world.control.restore(world.control.snapshot())
                    case 3:
                        world.control.webhook("finapi.test", url=world.control.inbox_url("x"))
                    case _:
                        for path in ("/api/v1/sec/filings?limit=1", "/api/v1/xbrl/companies/NOSUCH/statements"):
                            statuses.append(send_request(world, "GET", path, X_API_Key=world.api_key).status)
            except ApiFailure as error:
                error_codes.append(error.code)

    threads = [threading.Thread(target=make_calls, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Another thread's reset removed the snapshot.
    assert set(error_codes) <= {"INVALID_PARAM"}
    assert set(statuses) <= {200, 404, 429}
    world.control.reset()
    last_answer = send_request(world, "GET", PATH, X_API_Key=world.api_key)
    assert (last_answer.status, last_answer.body) == (200, first_answer.body)
    with state.app.accounts.read() as tx:
        (mismatch_count,) = run_sql(
            tx,
            "SELECT count(*) FROM (SELECT users.id, coalesce(sum(delta), 0) AS ledger_sum,"
            " max(userplans.total_limit_api"
            " - userplans.reach_limit_api) AS balance FROM users JOIN userplans ON userplans.user_id = users.id"
            " LEFT JOIN ledger ON ledger.user_id = users.id GROUP BY users.id) WHERE ledger_sum <> balance",
        ).fetchone()
    assert mismatch_count == 0


def test_threads_that_draw_together_draw_different_bytes() -> None:
    stream = RandomStream(7, "world w")

    def draw_many(_: int) -> list[bytes]:
        return [stream.draw_bytes(16) for _ in range(2_000)]

    with ThreadPoolExecutor(8) as pool:
        draws = [draw for batch in pool.map(draw_many, range(8)) for draw in batch]
    assert len(set(draws)) == len(draws) == stream.draw_count


# ---- repeatable runs


def test_a_reset_and_a_restore_bring_back_the_seed(world: FixtureWorld) -> None:
    def list_statuses() -> list[int]:
        world.control.fault(PATH, status=503, share=0.5)
        return [send_request(world, "GET", PATH, X_API_Key=world.api_key).status for _ in range(20)]

    first_statuses = list_statuses()
    assert 200 in first_statuses
    assert 503 in first_statuses
    target_id = world.client().post_sniper_targets(ticker="AAPL")["target_id"]
    snapshot = world.control.snapshot()
    world.control.seed(99)
    assert world.client().post_sniper_targets(ticker="AAPL")["target_id"] != target_id
    world.control.restore(snapshot)
    assert [fault["id"] for fault in world.control.faults()] == ["flt_1"]
    world.control.reset()
    assert list_statuses() == first_statuses
    assert [fault["id"] for fault in world.control.faults()] == ["flt_1"]
    assert world.client().post_sniper_targets(ticker="AAPL")["target_id"] == target_id
    world.control.reset()
    world.control.seed(99)
    assert list_statuses() != first_statuses


def test_each_world_numbers_its_own_snapshots(server: FinapiServer, world: FixtureWorld) -> None:
    other = server.world("neighbour")
    assert [other.control.snapshot() for _ in range(3)] == ["snap_1", "snap_2", "snap_3"]
    assert [world.control.snapshot(), world.control.snapshot()] == ["snap_1", "snap_2"]
    other.control.drop()
    recreated_world = server.world("neighbour")
    assert recreated_world.control.snapshot() == "snap_4"
    recreated_world.control.drop()


def test_happenings_are_listed_once(world: FixtureWorld) -> None:
    world.control.webhook("finapi.test", url=world.control.inbox_url("x"))
    rows = world.control.advance(0)
    assert [row["what"] for row in rows] == ["watchdog.round", "webhook.attempt", "webhook.delivered"]
    assert world.control.advance(0) == []
    world.control.webhook("finapi.test", url=world.control.inbox_url("x"))
    assert [row["what"] for row in world.control.advance(0)] == ["webhook.attempt", "webhook.delivered"]
    world.control.advance(60)
    assert world.control.advance(0) == []


def test_the_status_of_a_world_has_its_own_time(world: FixtureWorld) -> None:
    def list_check_times() -> set[str]:
        world.control.call("POST", "limits/clear")
        services = json.loads(send_request(world, "GET", "/api/v1/status").body)["services"]
        return {service["last_check_at"] for service in services}

    assert list_check_times() == {"2026-01-31T12:00:00.000Z"}
    world.control.advance(86_400)
    assert list_check_times() == {"2026-02-01T12:00:00.000Z"}
    world.control.reset()
    assert list_check_times() == {"2026-01-31T12:00:00.000Z"}


def read_buckets(world: FixtureWorld, query: str) -> list[tuple[str, int, int]]:
    world.control.call("POST", "limits/clear")
    document = json.loads(send_request(world, "GET", f"/api/v1/status/history?service=frontend&{query}").body)
    rows = document["history"]["frontend"]
    return [(row["timestamp"], row["total_checks"], row["healthy"]) for row in rows]


def test_an_advance_makes_a_watchdog_round_each_minute(world: FixtureWorld) -> None:
    world.control.advance(1.5 * 86_400)
    assert read_buckets(world, "days=3") == [
        ("2026-01-31T00:00:00.000Z", 720, 720),
        ("2026-02-01T00:00:00.000Z", 1440, 1440),
        ("2026-02-02T00:00:00.000Z", 1, 1),
    ]
    hours = read_buckets(world, "days=2&resolution=hourly")
    assert (len(hours), {row[1] for row in hours[:-1]}, hours[-1][1]) == (37, {60}, 1)


@pytest.mark.parametrize("reads", [(), (0,), (0, 90, 90, 3600)])
def test_reading_the_status_adds_no_rounds(world: FixtureWorld, reads: tuple[int, ...]) -> None:
    for seconds in reads:
        world.control.advance(seconds)
        read_buckets(world, "days=1")
    world.control.advance(2 * 3600 - sum(reads))
    assert read_buckets(world, "days=1") == [("2026-01-31T00:00:00.000Z", 121, 121)]


def test_a_clock_set_back_counts_no_round_twice(world: FixtureWorld) -> None:
    world.control.advance(3600)
    assert read_buckets(world, "days=1")[0][1] == 61
    world.control.freeze("2026-01-31T12:30:00Z")
    assert read_buckets(world, "days=1")[0][1] == 61
    world.control.advance(2700)
    assert read_buckets(world, "days=1")[0][1] == 76


def test_a_restore_undoes_watchdog_rounds(world: FixtureWorld) -> None:
    snapshot = world.control.snapshot()
    world.control.advance(3600)
    assert read_buckets(world, "days=1")[0][1] == 61
    world.control.restore(snapshot)
    assert read_buckets(world, "days=1")[0][1] == 1


def test_rounds_are_listed_among_other_happenings(world: FixtureWorld) -> None:
    world.control.webhook("finapi.test", url=world.control.inbox_url("x", status=500))
    rows = [(row["at"][11:19], row["what"], row["detail"]) for row in world.control.advance(600)]
    attempt, detail = "webhook.attempt", "finapi.test attempt %d: answered 500"
    assert rows == [
        ("12:00:00", "watchdog.round", "1 round"),
        ("12:00:00", attempt, detail % 1),
        ("12:00:10", attempt, detail % 2),
        ("12:01:00", "watchdog.round", "1 round"),
        ("12:01:10", attempt, detail % 3),
        ("12:06:00", "watchdog.round", "5 rounds"),
        ("12:06:10", attempt, detail % 4),
        ("12:06:10", "webhook.dropped", "finapi.test"),
        ("12:10:00", "watchdog.round", "4 rounds"),
    ]


def test_answers_have_the_date_of_the_world(world: FixtureWorld) -> None:
    world.control.freeze("2026-03-01T00:00:00Z")
    for path in (PATH, "/api/v1/policy", "/no-such-route"):
        headers = send_request(world, "GET", path, X_API_Key=world.api_key).headers
        assert headers["date"] == "Sun, 01 Mar 2026 00:00:00 GMT"


@pytest.mark.slow
def test_two_processes_with_a_seed_give_the_same_bytes() -> None:
    """The runs differ in Python's hash seed, and one of them has another world."""
    port = process.find_free_port()
    first_run = run_process(port, "1", has_other_world=False)
    second_run = run_process(port, "2", has_other_world=True)
    assert [
        (first_answer, second_answer)
        for first_answer, second_answer in zip(first_run, second_run, strict=True)
        if first_answer != second_answer
    ] == []
    assert len(first_run) > 70


def run_process(port: int, hash_seed: str, *, has_other_world: bool) -> list[Any]:
    command = [*process.COMMAND, "fixture", "--port", str(port), "--ready", "json", "--seed", "7", "--exit-with-parent"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    with subprocess.Popen(
        command,
        cwd=process.ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdout is not None
        with FinapiServer(ready=json.loads(child.stdout.readline())) as server:
            answers = record_answers(server, has_other_world=has_other_world)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
    return answers


def record_answers(server: FinapiServer, *, has_other_world: bool) -> list[Any]:
    answers: list[Any] = []
    if has_other_world:
        other_world = server.world("noise")
        other_world.control.snapshot()
        other_world.control.webhook("finapi.test", url=other_world.control.inbox_url("n"))
    for world in (server.world("a"), server.world("b")):

        def call(method: str, path: str, body: Any = None, world: Any = world, **headers: str) -> Any:
            encoded_body = b"" if body is None else json.dumps(body).encode()
            headers = {"Content_Type": "application/json", "X_API_Key": world.api_key, **headers}
            answer = send_request(world, method, path, encoded_body, **headers)
            answers.append((path, answer.status, sorted(answer.headers.items()), answer.body))
            return json.loads(answer.body)

        control = {"X_Control_Token": server.ready["control_token"]}
        inbox = world.control.inbox_url("x")
        for path in ("/account/balance", "/sec/filings?limit=2", "/status", "/policy", "/events?feed=main-api"):
            call("GET", f"/api/v1{path}")
        for number in range(9):
            call("POST", "/api/v1/webhooks/test", {"url": inbox + ("?status=500" if number % 3 == 0 else "")})
        for number in range(5):
            url = inbox.replace("/x", f"/y{number % 2}")
            call("POST", "/_control/webhooks", {"event_type": "13f.holdings.updated", "url": url}, **control)
        call("POST", "/api/v1/sniper/targets", {"ticker": "AAPL", "duration_minutes": 10})
        call("POST", "/api/v1/auth/forgetpassword", {"email": "free@example.com"})
        call("POST", "/_control/clock", {"advance": 3600}, **control)
        call("POST", "/_control/clock", {"until_idle": True}, **control)
        call("GET", "/api/v1/webhooks/deliveries?limit=50")
        call("POST", "/_control/faults", {"route": "*/balance", "status": 503, "share": 0.5}, **control)
        for _ in range(8):
            call("GET", PATH)
        for name in ("webhooks/inbox", "mailbox", "requests", "faults", "accounts"):
            call("GET", f"/_control/{name}", **control)
        call("POST", "/_control/snapshot", **control)
        call("POST", "/_control/accounts", {"plan": "weekly"}, **control)
        address = world.url.replace("http:", "ws:") + f"/ws/main-api?token={world.api_key}"
        with connect(address, proxy=None) as feed:
            answers.append([feed.recv(10) for _ in range(20)])
            world.control.event("main-api", "new_filing", {"ticker": "AAPL"})
            answers.append(feed.recv(10))
    return answers


# ---- pages of other sites


@run_each_case(
    "headers, status",
    [
        ({"Host": "attacker.com"}, 403),  # Its DNS answers 127.0.0.1.
        ({"Host": "attacker.com.:80"}, 403),
        ({"Host": "127.0.0.1.attacker.com"}, 403),
        ({"Origin": "https://attacker.com", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "null", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "http://localhost:3000", "Sec_Fetch_Site": "cross-site"}, 200),
        ({"Origin": "https://app.shop.com"}, 200),  # A program that tests CORS.
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "image"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"}, 200),  # A link that was followed.
        ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "image"}, 200),
        ({"Host": "localhost:1234"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "finapi"}, 200),
        ({"Host": "host.docker.internal:8000"}, 200),
        ({"Host": "shop.test"}, 200),
    ],
)
def test_a_page_of_another_site_reaches_nothing(server: FinapiServer, headers: dict[str, str], status: int) -> None:
    for method, path in (("GET", "/api/v1/policy"), ("POST", "/_control/inbox/page")):
        server.control.clear_limits()
        assert send_request(server, method, path, **headers).status == status


def test_a_page_of_another_site_creates_no_worlds(server: FinapiServer) -> None:
    worlds = len(server.wsgi.worlds)
    for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Host": "attacker.com"}):
        assert send_request(server, "GET", "/_world/made-by-a-page/api/v1/policy", **headers).status == 403
    assert len(server.wsgi.worlds) == worlds


def test_a_fixture_that_others_can_reach_needs_public() -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "fixture.shop.com"):
        message = f"other machines can reach {host}: add --public"
        with pytest.raises(UsageError, match=message), FinapiServer(host=host):
            pass
    # Without a socket there is nothing to reach.
    with FinapiServer(host="0.0.0.0", listens=False) as server:
        assert server.client().get_policy()


def test_a_public_fixture_answers_to_its_host_name() -> None:
    with FinapiServer(host="0.0.0.0", public="yes") as server:
        assert send_request(server, "GET", "/api/v1/policy", Host="fixture.shop.com").status == 200
    with FinapiServer(public_url="http://fixture.shop.com") as server:
        url = f"http://127.0.0.1:{server.ready['port']}"
        for host, status in (("fixture.shop.com", 200), ("attacker.com", 403)):
            answer = server.send(ApiRequest("GET", f"{url}/api/v1/policy", {"Host": host}))
            assert answer is not None
            assert answer.status == status


# ---- faults of streamed answers


def read_wire_answer(world: FixtureWorld, method: str, path: str, **headers: str) -> tuple[dict[str, str], bytes, str]:
    """Return the headers, the body as it was received, and whether the HTTP library calls it whole or incomplete."""
    host = world.url.partition("//")[2].partition("/")[0]
    connection = http.client.HTTPConnection(host, timeout=10)
    request_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, "/_world/" + world.url.rpartition("/")[2] + path, headers=request_headers)
    answer = connection.getresponse()
    try:
        body, verdict = answer.read(), "whole"
    except http.client.IncompleteRead as error:
        body, verdict = error.partial, "incomplete"
    connection.close()
    return {name.lower(): text for name, text in answer.getheaders()}, body, verdict


@pytest.mark.parametrize("accept_encoding", ["identity", "gzip"])
def test_a_truncated_stream_looks_incomplete(
    world: FixtureWorld, accept_encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.web.exports.PAGE_ROWS", 3)
    path = "/api/v1/sec/filings?format=csv&limit=20"
    request_headers = {"X_API_Key": world.api_key, "Accept_Encoding": accept_encoding}
    headers, full_body, verdict = read_wire_answer(world, "GET", path, **request_headers)
    assert (headers.get("transfer-encoding"), verdict) == ("chunked", "whole")
    for effect, byte_count in (({"truncate": 10}, 10), ({"wrong_length": True}, len(full_body))):
        world.control.fault("GET /api/v1/sec/filings", times=1, **effect)
        headers, body, verdict = read_wire_answer(world, "GET", path, **request_headers)
        assert (len(body), verdict) == (byte_count, "incomplete")
    world.control.fault("GET /api/v1/sec/filings", times=1, drip=1_000_000)
    assert read_wire_answer(world, "GET", path, **request_headers)[1:] == (full_body, "whole")


def test_a_wrong_length_applies_to_a_head(world: FixtureWorld) -> None:
    request_headers = {"X_API_Key": world.api_key}
    length = int(read_wire_answer(world, "HEAD", PATH, **request_headers)[0]["content-length"])
    world.control.fault(PATH, times=1, wrong_length=True)
    headers, body, verdict = read_wire_answer(world, "HEAD", PATH, **request_headers)
    assert (int(headers["content-length"]), body, verdict) == (length + 7, b"", "whole")


def test_the_method_of_a_route_ignores_case(world: FixtureWorld) -> None:
    world.control.fault(f"get {PATH}", status=503, times=1)
    assert send_request(world, "GET", PATH, X_API_Key=world.api_key).status == 503
    assert catch_refusal(lambda: world.control.fault("/" * 1_001, status=503)) == (400, "INVALID_PARAM", "route")


TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_company", "arguments": {}}}


def test_an_mcp_bearer_key_finds_its_world(server: FinapiServer, world: FixtureWorld) -> None:
    body = json.dumps({**TOOL, "params": {"name": "find_company", "arguments": {"query": "apple"}}}).encode()
    headers = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = send_request(server, "POST", "/api/mcp", body, Authorization=f"Bearer {world.api_key}", **headers)
    assert answer.status == 200
    assert [call["path"] for call in world.control.requests()] == ["/api/mcp"]
    answer = send_request(server, "POST", "/api/mcp", body, Authorization="Bearer " + "0" * 29 + "503", **headers)
    assert answer.status == 503


@run_each_case(
    "method, path, body",
    [
        ("POST", "/api/v1/sniper/targets", {"ticker": "STATUS-503"}),
        ("GET", "/api/v1/xbrl/screen?tickers=AAPL,status-503", None),
        ("POST", "/api/mcp", {**TOOL, "params": {"name": "statements", "arguments": {"ticker": "STATUS-503"}}}),
        ("POST", "/api/v1/auth/forgetpassword", {"email": "Status-503@example.com"}),
    ],
)
def test_a_magic_name_works_in_every_part_of_a_call(world: FixtureWorld, method: str, path: str, body: Any) -> None:
    encoded_body = b"" if body is None else json.dumps(body).encode()
    assert (
        send_request(world, method, path, encoded_body, Content_Type="application/json", X_API_Key=world.api_key).status
        == 503
    )


@pytest.mark.parametrize("body", [b"PK\3\4" + bytes(26), b"PK\5\6" + bytes(18)])
def test_a_zip_is_refused_with_advice(world: FixtureWorld, body: bytes) -> None:
    message = "The body is a zip; send its documents one by one, a filing as its full submission text file."
    with pytest.raises(ApiFailure, match=re.escape(message)) as caught:
        world.control.filing("filings.zip", body)
    assert (caught.value.status, caught.value.code) == (400, "BAD_REQUEST")


def test_a_text_that_begins_with_pk_is_a_document(world: FixtureWorld) -> None:
    (outcome,) = world.control.filing("filings.zip", b"PK is not enough")
    assert (outcome["outcome"], outcome["reason"]) == ("refused", "is not a document that finapi reads")


def test_idle_worlds_make_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_WORLDS", 3)
    with FinapiServer(seed=7, listens=False) as server:
        idle_world, called_world = server.world("first"), server.world("second")
        with pytest.raises(ApiFailure, match="At most 3 worlds"):
            server.world("third")
        for state in cast(Gate, server.wsgi).worlds.values():
            state.used_at -= 601
        send_request(called_world, "GET", PATH, X_API_Key=called_world.api_key)
        new_world = server.world("third")
        # The idle world was deleted, the other was not.
        assert send_request(called_world, "GET", PATH, X_API_Key=called_world.api_key).status == 200
        assert send_request(new_world, "GET", PATH, X_API_Key=idle_world.api_key).status == 401
        with pytest.raises(ApiFailure, match="At most 3 worlds"):
            server.world("fourth")
