"""Tests of changes of accounts in PostgreSQL: another process drops its cached accounts, even without feeds."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import credentials, invites, plans, rotation, sessions, users
from finapi.accounts.audit import Actor
from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core import master_secrets
from finapi.core.clock import FixedClock
from finapi.core.errors import StoreUnavailableError
from finapi.delivery import webhooks
from finapi.delivery.webhooks import WebhookEvent
from finapi.store import account_changes
from tests import postgres_cluster
from tests.client import PASSWORD, Client
from tests.conftest import NOW
from tests.postgres_cluster import Cluster
from tests.process import Running, environment, eventually, finapi, serve

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed"),
]
psycopg = pytest.importorskip("psycopg")

EMAIL = "ann@example.com"
ACTOR = Actor(None, "root in /")
FREE, BILLED, INSIDERS = "/api/v1/form-13f/funds", "/api/v1/sec/filings", "/api/v1/insiders/transactions/latest"
PUBLIC = "/api/v1/plans/"

Node = Callable[..., App]
Pair = tuple[App, App]


def listening(app: App) -> bool:
    """Return True if a process receives the changes that others commit."""
    return app.accounts._changes.is_listening()  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def pair(node: Node, tmp_path: Path) -> Pair:
    """Return a process that changes accounts, and one that listens as ``serve --role api`` does, without feeds."""
    node_a, other = node(data_dir=tmp_path), node()
    other.accounts.follow_changes()
    eventually(lambda: listening(other))
    return node_a, other


@pytest.fixture
def user(pair: Pair) -> NewUser:
    return users.create(pair[0], EMAIL, "pro", NOW, password=PASSWORD)


def statuses(app: App, key: str) -> list[int]:
    """Return the statuses of a free call and of one that costs tokens."""
    return [Client(app, key).get(path).status for path in (FREE, BILLED)]


def drop_secret(app: App, user: NewUser) -> None:
    """Take away the master secret that the user's key was derived from."""
    old = credentials.get_secret_name(app.secrets[0])
    rotation.add_secret(app, NOW, ACTOR)
    rotation.remove_secret(app, old, NOW, ACTOR, confirmed=True)


REVOCATIONS: dict[str, Callable[[App, NewUser], object]] = {
    "rotated key": lambda app, user: users.rotate_key(app, user.id, NOW),
    "locked account": lambda app, user: users.set_locked(app, EMAIL, True, NOW),
    "deleted account": lambda app, user: users.erase(app, user.id, NOW),
    "dropped master secret": drop_secret,
}


@pytest.mark.parametrize("revoke", REVOCATIONS.values(), ids=REVOCATIONS)
def test_a_cached_key_is_refused_after_its_revocation(
    pair: Pair, user: NewUser, revoke: Callable[[App, NewUser], object]
) -> None:
    node_a, other = pair
    assert statuses(other, user.api_key) == [200, 200]
    revoke(node_a, user)
    # The clock stands still: nothing expires by itself.
    eventually(lambda: statuses(other, user.api_key) == [401, 401], seconds=5)
    assert listening(other)


def test_a_cached_answer_is_not_given_to_a_revoked_key(pair: Pair, user: NewUser) -> None:
    node_a, other = pair
    client = Client(other, user.api_key)
    tag = client.get(FREE).headers["etag"]
    assert client.get(FREE, headers={"X-API-Key": user.api_key, "If-None-Match": tag}).status == 304
    users.rotate_key(node_a, user.id, NOW)
    eventually(
        lambda: client.get(FREE, headers={"X-API-Key": user.api_key, "If-None-Match": tag}).status == 401, seconds=5
    )
    assert client.get(FREE).status == 401


def test_a_refused_key_works_after_its_account_is_unlocked(pair: Pair, user: NewUser) -> None:
    node_a, other = pair
    users.set_locked(node_a, EMAIL, True, NOW)
    eventually(lambda: statuses(other, user.api_key) == [401, 401], seconds=5)
    users.set_locked(node_a, EMAIL, False, NOW)
    eventually(lambda: statuses(other, user.api_key) == [200, 200], seconds=5)


def test_a_changed_plan_changes_the_limits_of_a_cached_caller(pair: Pair, user: NewUser) -> None:
    node_a, other = pair
    client = Client(other, user.api_key)
    assert client.get(INSIDERS).headers["x-ratelimit-limit"] == "600"
    plans.change_plan(node_a, user.id, "free", NOW)
    eventually(lambda: client.get(INSIDERS).headers["x-ratelimit-limit"] == "100", seconds=5)
    caller = users.find_cached_caller(other, user.api_key)
    assert caller is not None
    assert caller.plan == "free"


ENDINGS: dict[str, Callable[[App, NewUser], object]] = {
    "locked account": lambda app, user: users.set_locked(app, EMAIL, True, NOW),
    "deleted account": lambda app, user: users.erase(app, user.id, NOW),
    "new password": lambda app, user: sessions.set_password(app, user.id, "another correct horse", NOW),
}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_a_session_ends_on_every_node_with_the_commit(
    pair: Pair, user: NewUser, end: Callable[[App, NewUser], object]
) -> None:
    node_a, other = pair
    login = {"email": EMAIL, "password": PASSWORD}
    token = Client(other).post("/api/v1/auth/login", login).json["token"]
    assert Client(other).get("/api/v1/user/", session=token).status == 200
    end(node_a, user)
    # Sessions are cached nowhere.
    assert Client(other).get("/api/v1/user/", session=token).status == 401


def test_webhook_topics_and_receivers_follow_the_last_commit(pair: Pair, user: NewUser) -> None:
    node_a, other = pair
    event = WebhookEvent("sniper.window_expired", "2026-01-31T12:00:00.000Z", "first", {})

    def publish(subject: str) -> int:
        with other.accounts.write() as tx:
            return webhooks.publish(tx, NOW, event._replace(subject=subject))

    topics = {"webhook_topics": ["sniper.window_expired"], "webhook_url": "https://hooks.example.com/a"}
    users.update(node_a, user.id, topics, NOW)
    assert publish("first") == 1
    users.update(node_a, user.id, {"webhook_topics": []}, NOW)
    assert publish("second") == 0
    users.update(node_a, user.id, {"webhook_topics": ["sniper.window_expired"]}, NOW)
    users.set_locked(node_a, EMAIL, True, NOW)
    assert publish("third") == 0


def test_an_invite_that_another_node_used_is_used(pair: Pair) -> None:
    node_a, other = pair
    code = invites.create(node_a, NOW, lifetime=None, note="").code
    body = {"invite_code": code}
    assert Client(other).post("/api/v1/auth/redeem-invite", body).status == 200
    invites.revoke(node_a, code, NOW)
    assert Client(other).post("/api/v1/auth/redeem-invite", body).status == 400


# ---- while nothing can be heard


@contextmanager
def deafen_node(app: App) -> Iterator[threading.Event]:
    """Break the connection by which a process hears, which can make no other until the event is set."""
    changes = app.accounts._changes  # type: ignore[attr-defined]
    connect, may_connect = changes._connect, threading.Event()

    def connect_when_allowed() -> Any:
        if not may_connect.is_set():
            raise psycopg.OperationalError("no route to it")
        return connect()

    changes._connect = connect_when_allowed
    listeners = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query IN ('LISTEN finapi', 'SELECT 1')"
    with app.accounts._borrow_connection() as connection:  # type: ignore[attr-defined]
        connection.execute(f"{listeners} AND datname = current_database() AND pid <> pg_backend_pid()")
    eventually(lambda: not listening(app))
    try:
        yield may_connect
    finally:
        may_connect.set()


@pytest.mark.parametrize("revoke", REVOCATIONS.values(), ids=REVOCATIONS)
def test_a_deaf_node_accepts_a_revoked_key_for_one_second(
    pair: Pair, user: NewUser, clock: FixedClock, revoke: Callable[[App, NewUser], object]
) -> None:
    node_a, other = pair
    with deafen_node(other):
        assert statuses(other, user.api_key) == [200, 200]
        revoke(node_a, user)
        clock.advance(seconds=account_changes.MAX_SILENCE_SECONDS)
        assert statuses(other, user.api_key) == [401, 401]
        assert not listening(other)


def test_a_deaf_node_uses_a_changed_plan_for_one_second(pair: Pair, user: NewUser, clock: FixedClock) -> None:
    node_a, other = pair
    with deafen_node(other):
        assert users.find_cached_caller(other, user.api_key).plan == "pro"  # type: ignore[union-attr]
        plans.change_plan(node_a, user.id, "free", NOW)
        clock.advance(seconds=1)
        assert users.find_cached_caller(other, user.api_key).plan == "free"  # type: ignore[union-attr]


def test_a_change_during_a_reconnect_is_not_missed(pair: Pair, user: NewUser, caplog: pytest.LogCaptureFixture) -> None:
    node_a, other = pair
    caplog.set_level(logging.INFO, "finapi.store")
    with deafen_node(other) as may_connect:
        assert statuses(other, user.api_key) == [200, 200]
        users.rotate_key(node_a, user.id, NOW)
        may_connect.set()
        eventually(lambda: listening(other))
        # The clock has not moved: it is the new connection that drops what is cached.
        assert statuses(other, user.api_key) == [401, 401]
    why, again = [record.message for record in caplog.records if "listen" in record.message]
    assert why.startswith("cannot listen for changes of accounts, next try in 0.5 s: ")
    assert again == "listening for changes of accounts again"


def test_a_connection_that_hangs_counts_as_deaf_after_a_second(
    pair: Pair, user: NewUser, clock: FixedClock, url: str
) -> None:
    node_a, other = pair
    with psycopg.connect(url, autocommit=True) as connection:
        words = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT 1'"
        (hanging,) = (pid for (pid,) in connection.execute(words).fetchall())
    assert statuses(other, user.api_key) == [200, 200]
    os.kill(hanging, signal.SIGSTOP)
    try:
        users.rotate_key(node_a, user.id, NOW)
        clock.advance(seconds=1)
        assert statuses(other, user.api_key) == [401, 401]
    finally:
        os.kill(hanging, signal.SIGCONT)


def test_the_death_of_the_listening_thread_is_made_good(
    pair: Pair, user: NewUser, clock: FixedClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    node_a, other = pair
    changes = other.accounts._changes  # type: ignore[attr-defined]
    monkeypatch.setattr(threading, "excepthook", lambda args: None)

    def die() -> None:
        raise SystemExit

    other.accounts.listen("death", die)
    first = changes._thread
    assert statuses(other, user.api_key) == [200, 200]
    with node_a.accounts.write() as tx:
        tx.announce("death")
        tx.run("set_locked", id=user.id, locked_at="2026-01-31", now="2026-01-31")
    eventually(lambda: not first.is_alive())
    other.accounts.unlisten("death", die)
    clock.advance(seconds=1)
    assert statuses(other, user.api_key) == [401, 401]
    eventually(lambda: listening(other))
    assert changes._thread is not first
    assert "the thread that listens for changes of accounts has died; another one is started" in caplog.messages


def test_an_error_of_a_listener_ends_nothing(pair: Pair, user: NewUser, caplog: pytest.LogCaptureFixture) -> None:
    node_a, other = pair
    heard: list[str] = []

    def fail() -> None:
        heard.append("one")
        if len(heard) == 1:
            raise ValueError("a listener failed")

    other.accounts.listen("topic", fail)
    with node_a.accounts.write() as tx:
        tx.announce("topic")
        tx.run("delete_resets")
    # Once for the notification, and once more as anything may have changed until it listened again.
    eventually(lambda: len(heard) == 2, 5)
    assert "listening for changes of accounts failed, next try in 0.5 s" in caplog.messages
    eventually(lambda: listening(other))


def test_a_restart_of_postgresql_leaves_no_key_cached(
    pair: Pair, user: NewUser, clock: FixedClock, cluster: Cluster
) -> None:
    node_a, other = pair
    assert statuses(other, user.api_key) == [200, 200]
    cluster.stop()
    try:
        clock.advance(seconds=1)
        # Whose key it is cannot be known, whatever a call costs. What needs no key goes on.
        assert statuses(other, user.api_key) == [503, 503]
        assert Client(other).get(PUBLIC).status == 200
        assert Client(other).get("/readyz").status == 200
    finally:
        cluster.start()
    with suppress(StoreUnavailableError), node_a.accounts.read_one() as tx:
        tx.find_value("any_user_or_invite")  # on its connection of before the restart
    users.set_locked(node_a, EMAIL, True, NOW)
    eventually(lambda: statuses(other, user.api_key) == [401, 401], seconds=10)
    eventually(lambda: listening(other), seconds=10)


def test_a_revocation_with_an_unknown_commit_counts_locally(
    pair: Pair, user: NewUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, other = pair
    heard: list[str] = []
    other.accounts.listen(users.KEYS_TOPIC, lambda: heard.append("keys"))
    assert statuses(other, user.api_key) == [200, 200]
    heard.clear()
    execute = psycopg.ClientCursor.execute

    def lose_answer(cursor: Any, statement: str, *values: Any) -> Any:
        done = execute(cursor, statement, *values)
        if statement.endswith("COMMIT"):
            cursor.connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return done

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.ClientCursor, "execute", lose_answer)
        with pytest.raises(StoreUnavailableError):
            users.rotate_key(other, user.id, NOW)
    assert statuses(other, user.api_key) == [401, 401]
    assert heard == ["keys"]


# ---- processes of their own


@pytest.fixture
def api_node(tmp_path: Path, url: str) -> Iterator[tuple[Path, dict[str, str], Running]]:
    """Yield the directory of a stopped worker, its environment, and ``serve --role api`` on a copy of its data."""
    worker, api_dir = tmp_path / "worker", tmp_path / "api"
    env = environment(FINAPI_ACCOUNTS_URL=url, FINAPI_PASSWORD_PROFILE="cheap")
    api_dir.mkdir(mode=0o700)
    assert finapi("invite", "create", "--data-dir", worker, env=env).status == 0
    database_path = tmp_path / "without-secrets.db"
    assert finapi("backup", database_path, "--data-dir", worker, env=env).status == 0
    database_path.rename(api_dir / "finapi.db")
    shutil.copy(worker / master_secrets.FILE_NAME, api_dir)
    with serve(api_dir, "--role", "api", env=env) as running:
        yield worker, env, running


@pytest.mark.parametrize(
    "words",
    [("rotate-key", EMAIL), ("lock", EMAIL), ("delete", EMAIL, "--yes")],
    ids=lambda words: str(words[0]),
)
def test_an_api_node_refuses_what_a_command_elsewhere_revoked(
    api_node: tuple[Path, dict[str, str], Running], words: tuple[str, ...]
) -> None:
    worker, env, running = api_node
    done = finapi("user", "add", EMAIL, "--plan", "pro", "--json", "--data-dir", worker, env=env)
    key = done.json["api_key"]
    assert [running.get(path, key).status for path in (FREE, BILLED)] == [200, 200]
    assert finapi("user", *words, "--data-dir", worker, env=env).status == 0
    eventually(lambda: [running.get(path, key).status for path in (FREE, BILLED)] == [401, 401], seconds=5)


def test_an_api_node_takes_a_changed_plan(api_node: tuple[Path, dict[str, str], Running]) -> None:
    worker, env, running = api_node
    key = finapi("user", "add", EMAIL, "--plan", "pro", "--json", "--data-dir", worker, env=env).json["api_key"]
    assert running.get(INSIDERS, key).headers["x-ratelimit-limit"] == "600"
    assert finapi("user", "plan", EMAIL, "free", "--data-dir", worker, env=env).status == 0
    eventually(lambda: running.get(INSIDERS, key).headers["x-ratelimit-limit"] == "100", seconds=5)
