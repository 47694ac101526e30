"""The control of a fixture under attack: absurd values, floods, worlds that end while they are used, many threads."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, cast

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from finapi.client import ApiFailure
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.testing import FinapiServer, FixtureWorld, gate
from finapi.testing.base import RandomStream
from finapi.testing.bounded import BoundedLog
from finapi.testing.gate import MAX_MESSAGE_BYTES, Gate
from finapi.testing.world import WorldGoneError
from tests import process

PATH = "/api/v1/account/balance"


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=11) as running:
        yield running


names = (f"w{number}" for number in itertools.count())


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    one = server.world(next(names))
    yield one
    one.control.drop()


def ask(world: Any, method: str, path: str, body: bytes = b"", **headers: str) -> ApiAnswer:
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    answer = world.send(ApiRequest(method, world.url + path, told, body))
    assert answer is not None
    return cast(ApiAnswer, answer)


def inside(server: FinapiServer, world: FixtureWorld) -> Any:
    return cast(Gate, server.wsgi).worlds[world.url.rpartition("/")[2]]


def refusal(call: Any) -> tuple[int, str, Any]:
    with pytest.raises(ApiFailure) as caught:
        call()
    failed = caught.value
    return failed.status, failed.code, (failed.details or {}).get("param")


# ---- values that cannot be


@pytest.mark.parametrize(
    ("name", "body", "param"),
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
def test_a_value_that_cannot_be_changes_nothing(world: FixtureWorld, name: str, body: bytes, param: str) -> None:
    before = (world.control.now(), world.control.faults(), world.control.call("GET", "accounts"))
    assert refusal(lambda: world.control.call("POST", name, body)) == (400, "INVALID_PARAM", param)
    assert (world.control.now(), world.control.faults(), world.control.call("GET", "accounts")) == before


@pytest.mark.parametrize(
    "body", [b'{"advance": NaN}', b'{"advance": 1e400}', b'{"advance": 1', b'{"seed": 1, "seed": 2}', b"\xff"]
)
def test_what_is_no_json_is_refused(world: FixtureWorld, body: bytes) -> None:
    assert refusal(lambda: world.control.call("POST", "clock", body))[:2] == (400, "BAD_REQUEST")


def test_an_account_is_made_once(world: FixtureWorld) -> None:
    made = world.control.account("free", email="Ann@example.com")
    assert made["email"] == "ann@example.com"
    assert refusal(lambda: world.control.account("pro", email="ann@example.com"))[:2] == (409, "CONFLICT")


def test_the_clock_ends_in_2099(server: FinapiServer, world: FixtureWorld) -> None:
    inside(server, world).clock.freeze(datetime(2099, 12, 31, tzinfo=UTC))
    assert refusal(lambda: world.control.advance(86_401)) == (400, "INVALID_PARAM", "advance")
    assert world.control.now() == datetime(2099, 12, 31, tzinfo=UTC)
    assert ask(world, "GET", PATH, X_API_Key=world.api_key).status == 200


def test_control_is_shut_without_its_token_and_makes_no_world(server: FinapiServer) -> None:
    worlds = set(cast(Gate, server.wsgi).worlds)
    for token in ("", "x", "\xff", server.ready["control_token"][:-1]):
        answer = ask(server, "GET", "/_control/clock", X_Control_Token=token, X_Finapi_World="made-by-nobody")
        assert (answer.status, json.loads(answer.body)["code"]) == (401, "UNAUTHORIZED")
    assert set(cast(Gate, server.wsgi).worlds) == worlds
    # Nor may a page of another site, whose browser asks first.
    answer = ask(server, "OPTIONS", "/_control/reset", Origin="http://elsewhere.example.com")
    assert answer.status == 401


def test_a_world_that_is_not_there_is_not_made_to_be_deleted(server: FinapiServer) -> None:
    token = {"X_Control_Token": server.ready["control_token"]}
    assert ask(server, "DELETE", "/_world/never-was/_control/world", **token).status == 200
    assert "never-was" not in cast(Gate, server.wsgi).worlds


@pytest.mark.parametrize("headers", [{}, {"X-Finapi-World": "a b"}])
def test_a_feed_of_a_world_that_cannot_be_is_refused_and_the_server_goes_on(
    server: FinapiServer, headers: dict[str, str]
) -> None:
    path = "/ws/main-api" if headers else "/_world/-/ws/main-api"
    for _ in range(3):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{server.ready['port']}{path}", additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == 400
    assert ask(server, "GET", "/livez").status == 200


# ---- what grows


def test_a_log_is_bounded_in_number_and_in_bytes() -> None:
    log: BoundedLog[int] = BoundedLog(3, 10)
    for number in range(5):
        log.append(number, 1)
    assert list(log) == [2, 3, 4]
    log.append(5, 9)
    assert list(log) == [4, 5]
    log.append(6, 100)  # the last is kept, whatever it is
    assert list(log) == [6]
    log.set_state([(1, 4), (2, 5)])
    log.append(3, 2)
    assert list(log) == [2, 3]


def test_an_inbox_takes_no_message_that_is_too_long_and_keeps_16_mb(server: FinapiServer, world: FixtureWorld) -> None:
    inbox = "/_control/inbox/flood"
    assert ask(world, "POST", inbox, b"x" * (MAX_MESSAGE_BYTES + 1)).status == 413
    for number in range(20):
        assert ask(world, "POST", f"{inbox}{number}", b"x" * MAX_MESSAGE_BYTES).status == 200
    kept = inside(server, world).inbox_log.get_state()
    assert [name for (name, _), _ in kept] == [f"flood{number}" for number in range(5, 20)]
    assert sum(size for _, size in kept) <= 16 << 20


def test_the_journal_keeps_16_mb(server: FinapiServer, world: FixtureWorld) -> None:
    body = json.dumps({"email": "a@example.com", "password": "x" * 60_000}).encode()
    for _ in range(300):
        ask(world, "POST", "/api/v1/auth/login", body, Content_Type="application/json")
    kept = inside(server, world).call_log.get_state()
    assert 200 < len(kept) < 300
    assert sum(size for _, size in kept) <= 16 << 20
    # A query that is read takes twenty times its text.
    for _ in range(200):
        ask(world, "GET", "/livez?" + "&".join(f"a{number}=b{number}" for number in range(600)))
    assert 50 < len(inside(server, world).call_log.get_state()) < 150
    # And so does a head of short lines.
    head = {f"a{number}": "" for number in range(5_000)}
    for _ in range(40):
        assert ask(world, "GET", "/livez", **head).status == 200
    assert 10 < len(inside(server, world).call_log.get_state()) < 30


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
def test_an_inbox_answers_what_it_is_told_to(world: FixtureWorld, method: str, query: str, status: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(world.url.split(":")[2].partition("/")[0]), timeout=10)
    path = "/_world/" + world.url.rpartition("/")[2] + "/_control/inbox/a" + query
    for _ in range(2):  # on one connection: no body is left over
        connection.request(method, path, b"{}")
        answer = connection.getresponse()
        assert answer.status == status
        answer.read()
    connection.close()
    assert len(world.control.inbox("a")) == (0 if status in (400, 405) else 2)


def test_a_dropped_world_is_held_by_nobody() -> None:
    """Not by whoever steps it when something is due, which may be in a year."""
    with FinapiServer(listens=False) as running:
        one = running.world("gone")
        one.client().post_sniper_targets(ticker="AAPL", duration_minutes=1440)
        held = cast(Gate, running.wsgi).worlds["gone"]
        stepper = held.wake.__self__  # type: ignore[attr-defined]
        held.wake(held)
        process.eventually(lambda: held in stepper._due_times)
        one.control.drop()
        assert held not in stepper._due_times


# ---- worlds that end, and many at once


def test_a_call_under_way_is_over_before_its_world_is_anothers(server: FinapiServer, world: FixtureWorld) -> None:
    one = inside(server, world)
    order: list[str] = []
    began, may_end = threading.Event(), threading.Event()

    def call() -> None:
        with one.enter_call():
            began.set()
            may_end.wait(process.SECONDS)
            order.append("call")

    caller = threading.Thread(target=call)
    caller.start()
    began.wait(process.SECONDS)
    dropper = threading.Thread(target=lambda: (world.control.drop(), order.append("dropped")))
    dropper.start()
    process.eventually(lambda: one._calls_lock._exclusive_requests)
    assert one.closed is False
    may_end.set()
    for thread in (caller, dropper):
        thread.join()
    assert order == ["call", "dropped"]
    with pytest.raises(WorldGoneError), one.enter_call():
        pass


def test_two_who_delete_a_world_do_not_give_its_database_to_two(server: FinapiServer) -> None:
    maker = cast(Gate, server.wsgi)._manager  # type: ignore[attr-defined]
    for number in range(20):
        one = server.world(f"twice{number}")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda control: control.drop(), [one.control] * 4))
        assert len(set(map(id, maker._open_databases))) == len(maker._open_databases)
    assert not [name for name in maker.gate.worlds if name.startswith("twice")]


def test_a_receiver_may_call_while_time_passes(world: FixtureWorld) -> None:
    """A POST of the receiver's own is answered within the delivery, though the advance waits for that."""
    told: list[int] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b'{"ticker": "AAPL"}'
            headers = {"X_API_Key": world.api_key, "Content_Type": "application/json"}
            told.append(ask(world, "POST", "/api/v1/sniper/targets", body, **headers).status)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.02,))
        thread.start()
        world.control.webhook("finapi.test", {}, url=f"http://127.0.0.1:{receiver.server_port}/")
        rows = world.control.advance(1)
        receiver.shutdown()
        thread.join()
    assert told == [200]
    assert [row["what"] for row in rows if row["what"].startswith("webhook")] == [
        "webhook.attempt",
        "webhook.delivered",
    ]


def test_sixteen_threads_leave_a_world_as_it_was_made(server: FinapiServer, world: FixtureWorld) -> None:
    """Resets, steps of time, calls and snapshots at once: nothing fails but by its name, and a reset puts all back."""
    one = inside(server, world)
    first = ask(world, "GET", PATH, X_API_Key=world.api_key)
    world.control.reset()
    failures: list[str] = []
    unknown: list[int] = []

    def act(number: int) -> None:
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
                            unknown.append(ask(world, "GET", path, X_API_Key=world.api_key).status)
            except ApiFailure as failed:
                failures.append(failed.code)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A snapshot that another thread's reset removed.
    assert set(failures) <= {"INVALID_PARAM"}
    assert set(unknown) <= {200, 404, 429}
    world.control.reset()
    again = ask(world, "GET", PATH, X_API_Key=world.api_key)
    assert (again.status, again.body) == (200, first.body)
    with one.app.accounts.read() as tx:
        (wrong,) = tx._connection.execute(
            "SELECT count(*) FROM (SELECT users.id, coalesce(sum(delta), 0) AS told, max(userplans.total_limit_api"
            " - userplans.reach_limit_api) AS held FROM users JOIN userplans ON userplans.user_id = users.id"
            " LEFT JOIN ledger ON ledger.user_id = users.id GROUP BY users.id) WHERE told <> held"
        ).fetchone()
    assert wrong == 0


def test_threads_that_draw_together_draw_different_bytes() -> None:
    stream = RandomStream(7, "world w")

    def draw_many(_: int) -> list[bytes]:
        return [stream.draw_bytes(16) for _ in range(2_000)]

    with ThreadPoolExecutor(8) as pool:
        draws = [draw for batch in pool.map(draw_many, range(8)) for draw in batch]
    assert len(set(draws)) == len(draws) == stream.draw_count


# ---- the same again


def test_a_reset_and_a_restore_bring_back_the_seed_and_the_plan_of_faults(world: FixtureWorld) -> None:
    def met() -> list[int]:
        world.control.fault(PATH, status=503, share=0.5)
        return [ask(world, "GET", PATH, X_API_Key=world.api_key).status for _ in range(20)]

    first = met()
    assert 200 in first
    assert 503 in first
    target = world.client().post_sniper_targets(ticker="AAPL")["target_id"]
    kept = world.control.snapshot()
    world.control.seed(99)
    assert world.client().post_sniper_targets(ticker="AAPL")["target_id"] != target
    world.control.restore(kept)
    assert [one["id"] for one in world.control.faults()] == ["flt_1"]
    world.control.reset()
    assert met() == first
    assert [one["id"] for one in world.control.faults()] == ["flt_1"]
    assert world.client().post_sniper_targets(ticker="AAPL")["target_id"] == target
    world.control.reset()
    world.control.seed(99)
    assert met() != first


def test_snapshots_are_named_by_their_own_world_alone(server: FinapiServer, world: FixtureWorld) -> None:
    other = server.world("beside")
    assert [other.control.snapshot() for _ in range(3)] == ["snap_1", "snap_2", "snap_3"]
    assert [world.control.snapshot(), world.control.snapshot()] == ["snap_1", "snap_2"]
    other.control.drop()
    again = server.world("beside")
    assert again.control.snapshot() == "snap_4"
    again.control.drop()


def test_what_happened_is_told_once(world: FixtureWorld) -> None:
    world.control.webhook("finapi.test", url=world.control.inbox_url("x"))
    first = world.control.advance(0)
    assert [row["what"] for row in first] == ["watchdog.round", "webhook.attempt", "webhook.delivered"]
    assert world.control.advance(0) == []
    world.control.webhook("finapi.test", url=world.control.inbox_url("x"))
    assert [row["what"] for row in world.control.advance(0)] == ["webhook.attempt", "webhook.delivered"]
    world.control.advance(60)
    assert world.control.advance(0) == []


def test_the_status_of_a_world_is_of_its_own_time(world: FixtureWorld) -> None:
    def checked() -> set[str]:
        world.control.call("POST", "limits/clear")
        found = json.loads(ask(world, "GET", "/api/v1/status").body)["services"]
        return {one["last_check_at"] for one in found}

    assert checked() == {"2026-01-31T12:00:00.000Z"}
    world.control.advance(86_400)
    assert checked() == {"2026-02-01T12:00:00.000Z"}
    world.control.reset()
    assert checked() == {"2026-01-31T12:00:00.000Z"}


def buckets(world: FixtureWorld, query: str) -> list[tuple[str, int, int]]:
    world.control.call("POST", "limits/clear")
    told = json.loads(ask(world, "GET", f"/api/v1/status/history?service=frontend&{query}").body)
    rows = told["history"]["frontend"]
    return [(row["timestamp"], row["total_checks"], row["healthy"]) for row in rows]


def test_the_watchdog_makes_a_round_in_every_minute_that_an_advance_passes_over(world: FixtureWorld) -> None:
    world.control.advance(1.5 * 86_400)
    assert buckets(world, "days=3") == [
        ("2026-01-31T00:00:00.000Z", 720, 720),
        ("2026-02-01T00:00:00.000Z", 1440, 1440),
        ("2026-02-02T00:00:00.000Z", 1, 1),
    ]
    hours = buckets(world, "days=2&resolution=hourly")
    assert (len(hours), {row[1] for row in hours[:-1]}, hours[-1][1]) == (37, {60}, 1)


@pytest.mark.parametrize("looks", [(), (0,), (0, 90, 90, 3600)])
def test_rounds_are_the_same_however_often_somebody_looked(world: FixtureWorld, looks: tuple[int, ...]) -> None:
    for seconds in looks:
        world.control.advance(seconds)
        buckets(world, "days=1")
    world.control.advance(2 * 3600 - sum(looks))
    assert buckets(world, "days=1") == [("2026-01-31T00:00:00.000Z", 121, 121)]


def test_a_clock_that_is_put_back_counts_no_round_twice(world: FixtureWorld) -> None:
    world.control.advance(3600)
    assert buckets(world, "days=1")[0][1] == 61
    world.control.freeze("2026-01-31T12:30:00Z")
    assert buckets(world, "days=1")[0][1] == 61
    world.control.advance(2700)
    assert buckets(world, "days=1")[0][1] == 76


def test_rounds_are_undone_with_what_else_happened(world: FixtureWorld) -> None:
    snapshot = world.control.snapshot()
    world.control.advance(3600)
    assert buckets(world, "days=1")[0][1] == 61
    world.control.restore(snapshot)
    assert buckets(world, "days=1")[0][1] == 1


def test_rounds_are_told_in_order_with_what_happened_between_them(world: FixtureWorld) -> None:
    world.control.webhook("finapi.test", url=world.control.inbox_url("x", status=500))
    told = [(row["at"][11:19], row["what"], row["detail"]) for row in world.control.advance(600)]
    attempt, failed = "webhook.attempt", "finapi.test attempt %d: answered 500"
    assert told == [
        ("12:00:00", "watchdog.round", "1 round"),
        ("12:00:00", attempt, failed % 1),
        ("12:00:10", attempt, failed % 2),
        ("12:01:00", "watchdog.round", "1 round"),
        ("12:01:10", attempt, failed % 3),
        ("12:06:00", "watchdog.round", "5 rounds"),
        ("12:06:10", attempt, failed % 4),
        ("12:06:10", "webhook.dropped", "finapi.test"),
        ("12:10:00", "watchdog.round", "4 rounds"),
    ]


def test_answers_are_dated_by_the_clock_of_the_world(world: FixtureWorld) -> None:
    world.control.freeze("2026-03-01T00:00:00Z")
    for path in (PATH, "/api/v1/policy", "/no-such-route"):
        headers = ask(world, "GET", path, X_API_Key=world.api_key).headers
        assert headers["date"] == "Sun, 01 Mar 2026 00:00:00 GMT"


@pytest.mark.slow
def test_two_processes_with_a_seed_give_the_same_bytes() -> None:
    """Whatever hash seed Python has, and whatever other worlds do: answers, mails, webhooks, feeds."""
    first, again = bytes_of("1", noise=False), bytes_of("2", noise=True)
    assert [(one, two) for one, two in zip(first, again, strict=True) if one != two] == []
    assert len(first) > 70


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


PORT = free_port()


def bytes_of(hash_seed: str, *, noise: bool) -> list[Any]:
    words = [*process.COMMAND, "fixture", "--port", str(PORT), "--ready", "json", "--seed", "7", "--exit-with-parent"]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    with subprocess.Popen(
        words, cwd=process.ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        with FinapiServer(ready=json.loads(child.stdout.readline())) as running:
            told = told_by(running, noise=noise)
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(process.SECONDS) == 0
    return told


def told_by(running: FinapiServer, *, noise: bool) -> list[Any]:
    told: list[Any] = []
    if noise:
        beside = running.world("noise")
        beside.control.snapshot()
        beside.control.webhook("finapi.test", url=beside.control.inbox_url("n"))
    for one in (running.world("a"), running.world("b")):

        def call(method: str, path: str, body: Any = None, one: Any = one, **headers: str) -> Any:
            sent = b"" if body is None else json.dumps(body).encode()
            headers = {"Content_Type": "application/json", "X_API_Key": one.api_key, **headers}
            answer = ask(one, method, path, sent, **headers)
            told.append((path, answer.status, sorted(answer.headers.items()), answer.body))
            return json.loads(answer.body)

        control = {"X_Control_Token": running.ready["control_token"]}
        inbox = one.control.inbox_url("x")
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
        address = one.url.replace("http:", "ws:") + f"/ws/main-api?token={one.api_key}"
        with connect(address, proxy=None) as feed:
            told.append([feed.recv(10) for _ in range(20)])
            one.control.event("main-api", "new_filing", {"ticker": "AAPL"})
            told.append(feed.recv(10))
    return told


# ---- pages of others


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "attacker.com"}, 403),  # whose DNS says 127.0.0.1
        ({"Host": "attacker.com.:80"}, 403),
        ({"Host": "127.0.0.1.attacker.com"}, 403),
        ({"Origin": "https://attacker.com", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "null", "Sec_Fetch_Site": "cross-site"}, 403),
        ({"Origin": "http://localhost:3000", "Sec_Fetch_Site": "cross-site"}, 200),
        ({"Origin": "https://app.shop.com"}, 200),  # a program's test of CORS
        ({"Sec_Fetch_Site": "cross-site"}, 200),  # a link that was followed
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
        assert ask(server, method, path, **headers).status == status


def test_a_server_that_others_reach_has_any_name() -> None:
    with FinapiServer(host="0.0.0.0") as running:
        assert ask(running, "GET", "/api/v1/policy", Host="fixture.shop.com").status == 200
    with FinapiServer(public_url="http://fixture.shop.com") as running:
        url = f"http://127.0.0.1:{running.ready['port']}"
        for host, status in (("fixture.shop.com", 200), ("attacker.com", 403)):
            answer = running.send(ApiRequest("GET", f"{url}/api/v1/policy", {"Host": host}))
            assert answer is not None
            assert answer.status == status


# ---- faults of answers that are made while they are sent


def over_the_wire(world: FixtureWorld, method: str, path: str, **headers: str) -> tuple[dict[str, str], bytes, str]:
    """Headers, the bytes behind them as they came, and what the client's library makes of the body."""
    host = world.url.partition("//")[2].partition("/")[0]
    connection = http.client.HTTPConnection(host, timeout=10)
    told = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request(method, "/_world/" + world.url.rpartition("/")[2] + path, headers=told)
    answer = connection.getresponse()
    try:
        body, verdict = answer.read(), "whole"
    except http.client.IncompleteRead as cut:
        body, verdict = cut.partial, "incomplete"
    connection.close()
    return {name.lower(): text for name, text in answer.getheaders()}, body, verdict


@pytest.mark.parametrize("accept_encoding", ["identity", "gzip"])
def test_a_stream_that_is_cut_does_not_look_whole(
    world: FixtureWorld, accept_encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.web.exports.PAGE_ROWS", 3)
    path = "/api/v1/sec/filings?format=csv&limit=20"
    asked = {"X_API_Key": world.api_key, "Accept_Encoding": accept_encoding}
    headers, whole, verdict = over_the_wire(world, "GET", path, **asked)
    assert (headers.get("transfer-encoding"), verdict) == ("chunked", "whole")
    for does, kept in (({"truncate": 10}, 10), ({"wrong_length": True}, len(whole))):
        world.control.fault("GET /api/v1/sec/filings", times=1, **does)
        headers, body, verdict = over_the_wire(world, "GET", path, **asked)
        assert (len(body), verdict) == (kept, "incomplete")
    world.control.fault("GET /api/v1/sec/filings", times=1, drip=1_000_000)
    assert over_the_wire(world, "GET", path, **asked)[1:] == (whole, "whole")


def test_a_head_promises_more_than_its_get(world: FixtureWorld) -> None:
    asked = {"X_API_Key": world.api_key}
    length = int(over_the_wire(world, "HEAD", PATH, **asked)[0]["content-length"])
    world.control.fault(PATH, times=1, wrong_length=True)
    headers, body, verdict = over_the_wire(world, "HEAD", PATH, **asked)
    assert (int(headers["content-length"]), body, verdict) == (length + 7, b"", "whole")


def test_the_method_of_a_route_has_no_case(world: FixtureWorld) -> None:
    world.control.fault(f"get {PATH}", status=503, times=1)
    assert ask(world, "GET", PATH, X_API_Key=world.api_key).status == 503
    assert refusal(lambda: world.control.fault("/" * 1_001, status=503)) == (400, "INVALID_PARAM", "route")


TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "find_company", "arguments": {}}}


def test_a_key_of_a_world_leads_mcp_to_it_as_a_bearers_too(server: FinapiServer, world: FixtureWorld) -> None:
    body = json.dumps({**TOOL, "params": {"name": "find_company", "arguments": {"query": "apple"}}}).encode()
    sent = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream"}
    answer = ask(server, "POST", "/api/mcp", body, Authorization=f"Bearer {world.api_key}", **sent)
    assert answer.status == 200
    assert [one["path"] for one in world.control.requests()] == ["/api/mcp"]
    answer = ask(server, "POST", "/api/mcp", body, Authorization="Bearer " + "0" * 29 + "503", **sent)
    assert answer.status == 503


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/sniper/targets", {"ticker": "STATUS-503"}),
        ("GET", "/api/v1/xbrl/screen?tickers=AAPL,status-503", None),
        ("POST", "/api/mcp", {**TOOL, "params": {"name": "statements", "arguments": {"ticker": "STATUS-503"}}}),
        ("POST", "/api/v1/auth/forgetpassword", {"email": "Status-503@example.com"}),
    ],
)
def test_a_magic_name_works_wherever_it_stands(world: FixtureWorld, method: str, path: str, body: Any) -> None:
    sent = b"" if body is None else json.dumps(body).encode()
    assert ask(world, method, path, sent, Content_Type="application/json", X_API_Key=world.api_key).status == 503


@pytest.mark.parametrize("body", [b"PK\3\4" + bytes(26), b"PK\5\6" + bytes(18)])
def test_a_zip_is_refused_with_the_way_to_file_what_it_holds(world: FixtureWorld, body: bytes) -> None:
    way = "The body is a zip; send its documents one by one, a filing as its full submission text file."
    with pytest.raises(ApiFailure, match=re.escape(way)) as told:
        world.control.filing("filings.zip", body)
    assert (told.value.status, told.value.code) == (400, "BAD_REQUEST")


def test_what_only_begins_as_the_name_of_a_zip_does_is_read_as_a_document(world: FixtureWorld) -> None:
    (found,) = world.control.filing("filings.zip", b"PK is not enough")
    assert (found["outcome"], found["reason"]) == ("refused", "is not a document that finapi reads")


def test_worlds_that_nobody_called_for_ten_minutes_make_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_WORLDS", 3)
    with FinapiServer(seed=7, listens=False) as server:
        first, second = server.world("first"), server.world("second")
        with pytest.raises(ApiFailure, match="At most 3 worlds"):
            server.world("third")
        for one in cast(Gate, server.wsgi).worlds.values():
            one.used_at -= 601
        ask(second, "GET", PATH, X_API_Key=second.api_key)
        third = server.world("third")
        # The one that was called a moment ago is still there, the other is not.
        assert ask(second, "GET", PATH, X_API_Key=second.api_key).status == 200
        assert ask(third, "GET", PATH, X_API_Key=first.api_key).status == 401
        with pytest.raises(ApiFailure, match="At most 3 worlds"):
            server.world("fourth")
