"""Tests of users: how they are created, and how they are found by their credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from finapi.accounts import audit, billing, credentials, users
from finapi.accounts.users import Caller, NewUser
from finapi.app import App
from finapi.core.errors import ApiError, UsageError
from finapi.store.db import ConstraintError
from tests.charging import charged
from tests.client import ledger_sum
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import get_writer, run_sql

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def rows(app: App, sql: str) -> list[tuple[object, ...]]:
    with app.db.write() as tx:
        return [tuple(row) for row in run_sql(tx, sql)]


def caller_of(app: App, key: str) -> Caller | None:
    with app.db.read() as tx:
        return users.find_caller_by_api_key(tx, key)


def test_a_new_user_has_its_email_in_lower_case_and_a_key(app: App) -> None:
    user = users.create(app, " Ann@Example.COM ", "pro", NOW)
    uuid = "00000000-0000-4000-8000-000000000001"
    key = credentials.derive_api_key(app.secrets, uuid, "00000000-0000-4000-8000-000000000002")
    assert user == NewUser(1, uuid, "ann@example.com", key)
    assert rows(app, "SELECT id, uuid, email, usertype, created_at, updated_at FROM users") == [
        (1, uuid, "ann@example.com", "user", "2026-01-31T12:00:00.000Z", "2026-01-31T12:00:00.000Z")
    ]


@pytest.mark.parametrize(
    ("plan", "tokens", "period_end"),
    [
        ("free", 2_000, "2026-02-28T12:00:00.000Z"),
        ("weekly", 50_000, "2026-02-07T12:00:00.000Z"),
        ("monthly", 200_000, "2026-02-28T12:00:00.000Z"),
        ("pro", 500_000, "2026-02-28T12:00:00.000Z"),
        ("yearly", 2_400_000, "2027-01-31T12:00:00.000Z"),
    ],
)
def test_a_new_user_has_the_first_period_of_its_plan(app: App, plan: str, tokens: int, period_end: str) -> None:
    user = users.create(app, "ann@example.com", plan, NOW)
    stamp = "2026-01-31T12:00:00.000Z"
    assert rows(app, "SELECT * FROM userplans") == [
        (1, user.id, plan, "active", tokens, 0, period_end, stamp, stamp, 0, stamp)
    ]


def test_a_new_users_ledger_sums_to_its_balance(app: App, user: NewUser) -> None:
    with app.db.read() as tx:
        assert ledger_sum(tx, user.id) == 500_000
    assert rows(app, "SELECT user_id, delta, reason, endpoint, request_id, status, open FROM ledger") == [
        (user.id, 500_000, "refill", None, None, None, 0)
    ]


def test_tokens_of_a_plan_are_a_setting(make_app: Callable[..., App]) -> None:
    app = make_app(free_tokens=7)
    user = users.create(app, "ann@example.com", "free", NOW)
    with app.db.read() as tx:
        assert ledger_sum(tx, user.id) == 7


@pytest.mark.parametrize("email", ["ann@example.com", "ANN@EXAMPLE.COM", " ann@example.com"])
def test_a_taken_email_is_a_conflict_and_leaves_nothing(app: App, user: NewUser, email: str) -> None:
    with pytest.raises(ApiError, match=r"A user with the email ann@example\.com exists already\.") as refusal:
        users.create(app, email, "pro", NOW)
    assert (refusal.value.code, refusal.value.status) == ("CONFLICT", 409)
    for table in ("users", "api_keys", "userplans", "ledger"):
        assert rows(app, f"SELECT count(*) FROM {table}") == [(1,)]


def test_a_repeated_uuid_is_not_called_a_taken_email(app: App, user: NewUser) -> None:
    with pytest.raises(ConstraintError, match=r"UNIQUE constraint failed: users\.uuid"):
        users.create(replace(app, new_uuid=lambda: user.uuid), "bob@example.com", "pro", NOW)
    assert rows(app, "SELECT email FROM users") == [("ann@example.com",)]


def test_a_refused_audit_row_is_not_called_a_repeated_form(app: App) -> None:
    with pytest.raises(ConstraintError, match="FOREIGN KEY constraint failed"), app.accounts.write() as tx:
        audit.record_action(tx, audit.Actor(None, "/"), "lock", NOW, subject=1)


def test_an_unknown_plan_leaves_no_user_behind(app: App) -> None:
    with pytest.raises(UsageError, match="gold"):
        users.create(app, "ann@example.com", "gold", NOW)
    assert rows(app, "SELECT count(*) FROM users") == [(0,)]


def test_the_database_holds_no_key(app: App, user: NewUser) -> None:
    with app.db.write() as tx:
        dump = "\n".join(tx._connection.iterdump())
    assert user.uuid in dump
    assert user.api_key not in dump
    assert credentials.fingerprint(user.api_key).hex().upper() in dump.upper()


def test_a_user_is_known_by_its_key(app: App, user: NewUser) -> None:
    bob = users.create(app, "bob@example.com", "free", NOW)
    assert caller_of(app, user.api_key) == Caller(
        user.id, user.uuid, "ann@example.com", "pro", "2026-02-28T12:00:00.000Z"
    )
    assert caller_of(app, bob.api_key) == Caller(
        bob.id, bob.uuid, "bob@example.com", "free", "2026-02-28T12:00:00.000Z"
    )


@run_each_case("key", ["", "0" * 32, "not a key", "' OR 1=1 --", "\0" * 32])
def test_nobody_is_known_by_another_text(app: App, user: NewUser, key: str) -> None:
    assert caller_of(app, key) is None


@contextmanager
def questions(app: App) -> Iterator[list[str]]:
    """Yield a list of the statements that the database runs in the block."""
    statements: list[str] = []
    get_writer(app.db).set_trace_callback(statements.append)
    yield statements
    get_writer(app.db).set_trace_callback(None)


def test_a_key_is_looked_up_once_while_only_tokens_are_spent(app: App, user: NewUser) -> None:
    caller = users.find_cached_caller(app, user.api_key)
    with charged(app, user.id, "GET /x", 25, "r1"):
        pass
    billing.run_settlement_step(app)
    with questions(app) as statements:
        assert users.find_cached_caller(app, user.api_key) == caller
    assert statements == []


@pytest.mark.parametrize(
    "change", ["DELETE FROM api_keys", "UPDATE userplans SET plan = 'free'", "UPDATE users SET email = 'b@example.com'"]
)
def test_what_changes_a_caller_counts_from_its_commit_on(app: App, user: NewUser, change: str) -> None:
    before = users.find_cached_caller(app, user.api_key)
    rows(app, change)
    after = users.find_cached_caller(app, user.api_key)
    assert after == caller_of(app, user.api_key) != before


def test_keys_of_nobody_are_not_kept(app: App, user: NewUser) -> None:
    users.find_cached_caller(app, user.api_key)
    for number in range(3):
        assert users.find_cached_caller(app, f"{number:032x}") is None
    with questions(app) as statements:
        users.find_cached_caller(app, user.api_key)
    assert statements == []
    assert len(app.caller_cache) == 1


def test_a_key_in_capitals_is_another_text(app: App, user: NewUser) -> None:
    assert caller_of(app, user.api_key.upper()) is None


def test_a_user_without_a_plan_is_known_without_one(app: App, user: NewUser) -> None:
    rows(app, "DELETE FROM userplans")
    assert caller_of(app, user.api_key) == Caller(user.id, user.uuid, "ann@example.com", None)


def test_an_older_key_is_known_after_the_secrets_were_rotated(app: App, user: NewUser) -> None:
    app.secrets.replace([b"\xff" * 32, *app.secrets])
    bob = users.create(app, "bob@example.com", "free", NOW)
    callers = [caller_of(app, key) for key in (user.api_key, bob.api_key)]
    assert [caller.id for caller in callers if caller] == [user.id, bob.id]
