"""Tests of the account verbs: on a data directory of their own, and on one that a server uses."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from finapi.core.errors import UsageError
from finapi.core.lockout import LOCK_SECONDS_BY_FAILURES
from finapi.store import datadir
from finapi.store.datadir import Say
from tests.process import (
    CIK,
    COMMAND,
    ROOT,
    Answer,
    Finished,
    Running,
    environment,
    eventually,
    filing,
    finapi,
    serve,
    write,
)

pytestmark = pytest.mark.slow

API = "/api/v1"
STATEMENTS = f"{API}/xbrl/companies/{CIK}/statements"
CODE = re.compile(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}")
PASSWORD = "correct horse battery"
ANN = "ann@example.com"


# A verb that is handed over prints what it prints alone, which a test of its own holds; each one again is slow.
@pytest.fixture(params=["alone", pytest.param("beside a server", marks=pytest.mark.slow)])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Yield a data directory: an unused one, or one of a server, to which every verb is handed over."""
    new_dir = tmp_path / "data"
    if request.param == "alone":
        yield new_dir
        return
    with serve(new_dir):
        yield new_dir


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    """Yield a server whose data directory is ``data`` in the test's own."""
    with serve(tmp_path / "data") as running:
        yield running


def rows(data_dir: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the rows of a query in the directory's database."""
    with contextlib.closing(sqlite3.connect(data_dir / "finapi.db")) as db:
        return db.execute(query, values).fetchall()


def did(finished: Finished) -> str:
    """Return the stdout of a verb that succeeded, without its last line end."""
    assert (finished.status, finished.err) == (0, ""), finished
    return finished.out.removesuffix("\n")


def verb(data_dir: Path, *words: object, stdin: bytes = b"") -> Finished:
    return finapi(*words, "--data-dir", data_dir, stdin=stdin)


def add_user(data_dir: Path, *words: object, email: str = ANN, stdin: bytes = b"") -> dict[str, str]:
    """Return a new account, as ``user add --json`` prints it."""
    finished = verb(data_dir, "user", "add", email, "--json", *words, stdin=stdin)
    did(finished)
    user: dict[str, str] = finished.json
    return user


def show_user(data_dir: Path, email: str = ANN) -> dict[str, Any]:
    finished = verb(data_dir, "user", "show", email, "--json")
    did(finished)
    user: dict[str, Any] = finished.json
    return user


def invites(data_dir: Path) -> list[dict[str, Any]]:
    """Return the invites that were created by hand."""
    finished = verb(data_dir, "invite", "list", "--json")
    did(finished)
    assert list(finished.json) == ["invites"]
    return [row for row in finished.json["invites"] if row["note"] != "first start"]


def create_invites(data_dir: Path, *words: object) -> list[str]:
    finished = verb(data_dir, "invite", "create", "--json", *words)
    did(finished)
    return [row["code"] for row in finished.json["invites"]]


def account(data_dir: Path) -> tuple[Any, ...]:
    """Return plan, balance and cents of the one user, and the reasons and deltas of the ledger."""
    ((plan, balance, cents),) = rows(
        data_dir,
        "SELECT plan, total_limit_api - reach_limit_api, credit_cents FROM userplans JOIN users ON users.id = user_id",
    )
    ledger = rows(data_dir, "SELECT reason, delta FROM ledger ORDER BY id")
    assert sum(delta for _, delta in ledger) == balance
    return plan, balance, cents, ledger


def login(server: Running, password: str = PASSWORD, email: str = ANN) -> Answer:
    return server.call("POST", f"{API}/auth/login", {"email": email, "password": password})


def register(server: Running, code: str, email: str) -> tuple[int, str]:
    """Redeem a code and register with it. Return the status and code of the first failure, or of the last answer."""
    answer = server.call("POST", f"{API}/auth/redeem-invite", {"invite_code": code})
    if answer.status == 200:
        body = {"email": email, "password": PASSWORD, "invite_token": answer.json["invite_token"]}
        answer = server.call("POST", f"{API}/auth/register", body)
    return answer.status, answer.json.get("code", "")


# ---- invites


def test_invite_create_prints_as_many_codes_as_were_asked_for(data_dir: Path) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    finished = verb(data_dir, "invite", "create", "--count", 3, "--expires", "7d", "--note", "x", "--json")
    did(finished)
    assert list(finished.json) == ["invites"]
    created_invites = finished.json["invites"]
    assert [set(invite) for invite in created_invites] == [{"code", "expires_at", "note"}] * 3
    assert all(CODE.fullmatch(invite["code"]) for invite in created_invites)
    assert len({invite["code"] for invite in created_invites}) == 3
    assert [invite["note"] for invite in created_invites] == ["x"] * 3
    for invite in created_invites:
        end = datetime.fromisoformat(invite["expires_at"])
        assert before <= end - timedelta(days=7) <= datetime.now(UTC)
    assert [row["code"] for row in invites(data_dir)] == [invite["code"] for invite in created_invites]


def test_invite_create_makes_one_code_that_never_expires(data_dir: Path) -> None:
    code = did(verb(data_dir, "invite", "create"))
    assert CODE.fullmatch(code)
    (row,) = invites(data_dir)
    stamp = row.pop("created_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    assert row == {"code": code, "state": "open", "note": None, "expires_at": None, "used_at": None, "used_by": None}


def test_invite_create_prints_a_line_for_each_code(data_dir: Path) -> None:
    lines = did(verb(data_dir, "invite", "create", "--count", 2, "--note", "for a friend")).split("\n")
    assert [line.split("  ") for line in lines] == [[code["code"], "for a friend"] for code in invites(data_dir)]


def test_invite_list_prints_a_line_for_each_invite(data_dir: Path) -> None:
    (code,) = create_invites(data_dir, "--note", "n1")
    head, *_, line = did(verb(data_dir, "invite", "list")).split("\n")
    assert head.split("  ")[0] == "CODE"
    assert [word.strip() for word in head.split("  ") if word] == [
        "CODE",
        "STATE",
        "CREATED AT",
        "EXPIRES AT",
        "USED AT",
        "USED BY",
        "NOTE",
    ]
    assert line.startswith(f"{code}  open ")
    assert line.endswith(" n1")


def test_an_invite_that_has_expired_is_listed_so(data_dir: Path) -> None:
    create_invites(data_dir, "--expires", "1s")
    eventually(lambda: invites(data_dir)[0]["state"] == "expired")


def test_a_revoked_code_is_listed_so_and_cannot_be_revoked_again(data_dir: Path) -> None:
    first, second = create_invites(data_dir, "--count", 2)
    assert did(verb(data_dir, "invite", "revoke", first)) == f"{first} is revoked"
    assert [(row["code"], row["state"]) for row in invites(data_dir)] == [(first, "revoked"), (second, "open")]
    again = verb(data_dir, "invite", "revoke", first)
    assert (again.status, again.complaint) == (1, "The invite code has already been used or revoked.")


def test_a_code_may_be_typed_in_lower_case(data_dir: Path) -> None:
    (code,) = create_invites(data_dir)
    did(verb(data_dir, "invite", "revoke", code.lower()))
    assert invites(data_dir)[0]["state"] == "revoked"


def test_an_unknown_code_cannot_be_revoked(data_dir: Path) -> None:
    finished = verb(data_dir, "invite", "revoke", "AAAA-AAAA-AAAA-AAAA")
    assert (finished.status, finished.complaint) == (1, "Unknown invite code.")


def test_a_code_registers_one_account_and_is_listed_with_it(server: Running, tmp_path: Path) -> None:
    (code,) = create_invites(tmp_path / "data")
    assert register(server, code, "Bob@Example.com") == (200, "")
    assert register(server, code, "eve@example.com") == (410, "INVITE_USED")
    (row,) = invites(tmp_path / "data")
    assert (row["state"], row["used_by"]) == ("used", "bob@example.com")
    assert row["used_at"] >= row["created_at"]
    finished = verb(tmp_path / "data", "invite", "revoke", code)
    assert (finished.status, finished.complaint) == (1, "The invite code has already been used or revoked.")


def test_a_revoked_code_is_refused_by_the_next_call(server: Running, tmp_path: Path) -> None:
    (code,) = create_invites(tmp_path / "data")
    redeemed = server.call("POST", f"{API}/auth/redeem-invite", {"invite_code": code})
    did(verb(tmp_path / "data", "invite", "revoke", code))
    assert register(server, code, ANN) == (400, "INVALID_INVITE")
    body = {"email": ANN, "password": PASSWORD, "invite_token": redeemed.json["invite_token"]}
    answer = server.call("POST", f"{API}/auth/register", body)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_INVITE")


def test_the_database_holds_neither_codes_nor_keys(data_dir: Path) -> None:
    codes = create_invites(data_dir, "--count", 2)
    key = add_user(data_dir)["api_key"]
    data = b"".join(path.read_bytes() for path in data_dir.glob("finapi.db*"))
    assert [text for text in [*codes, key] if text.encode() in data] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--count", "0"), "--count: must be from 1 to 10000"),
        (("--count", "-1"), "--count: must be from 1 to 10000"),
        (("--count", "10001"), "--count: must be from 1 to 10000"),
        (("--count", "x"), "argument --count: invalid int value: 'x'; see finapi invite create --help"),
        (("--expires", "7w"), "--expires: '7w' is not a duration (90s, 15m, 12h, 7d)"),
        (("--expires", "0d"), "--expires: '0d' is not a duration (90s, 15m, 12h, 7d)"),
        (("--expires", "1.5h"), "--expires: '1.5h' is not a duration (90s, 15m, 12h, 7d)"),
        (("--expires", "7"), "--expires: '7' is not a duration (90s, 15m, 12h, 7d)"),
        (("--expires", ""), "--expires: '' is not a duration (90s, 15m, 12h, 7d)"),
    ],
)
def test_invite_create_refuses_a_bad_value_in_one_line(tmp_path: Path, words: tuple[str, ...], complaint: str) -> None:
    finished = verb(tmp_path, "invite", "create", *words)
    assert (finished.status, finished.complaint) == (2, complaint)
    assert invites(tmp_path) == []


@pytest.mark.parametrize("word", ["invite", "user"])
def test_a_verb_without_its_action_is_refused_in_one_line(tmp_path: Path, word: str) -> None:
    finished = verb(tmp_path, word)
    assert (finished.status, finished.complaint) == (
        2,
        f"the following arguments are required: ACTION; see finapi {word} --help",
    )


def test_a_note_that_is_not_unicode_is_refused_in_one_line(data_dir: Path) -> None:
    finished = finapi("invite", "create", "--note", b"\xff".decode(errors="surrogateescape"), "--data-dir", data_dir)
    assert finished.status == 2
    assert finished.complaint


# ---- accounts


def test_user_add_prints_the_new_account(data_dir: Path) -> None:
    user = add_user(data_dir, email="Ann@Example.com")
    assert set(user) == {"email", "uuid", "api_key"}
    assert user["email"] == "ann@example.com"
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", user["uuid"])
    assert re.fullmatch(r"[0-9a-f]{32}", user["api_key"])
    assert account(data_dir) == ("free", 2_000, 0, [("refill", 2_000)])


def test_user_add_prints_a_line_for_people(data_dir: Path) -> None:
    output = did(verb(data_dir, "user", "add", "Ann@Example.com"))
    assert re.fullmatch(r"ann@example\.com has the API key [0-9a-f]{32}", output)


def test_user_add_starts_the_plan_that_was_named(data_dir: Path) -> None:
    add_user(data_dir, "--plan", "yearly")
    assert account(data_dir) == ("yearly", 2_400_000, 0, [("refill", 2_400_000)])


def test_an_email_is_taken_in_any_spelling(data_dir: Path) -> None:
    add_user(data_dir)
    finished = verb(data_dir, "user", "add", "ANN@example.com", "--json")
    assert (finished.status, finished.complaint) == (1, "A user with the email ann@example.com exists already.")


def test_user_show_prints_the_whole_account(data_dir: Path) -> None:
    user = add_user(data_dir)
    show = show_user(data_dir, "ANN@example.com")
    plan = show.pop("Userplan")
    stamps = [source.pop(name) for source in (show, plan) for name in ("created_at", "updated_at")]
    assert len(set(stamps)) == 1
    assert datetime.fromisoformat(plan.pop("current_period_end")) > datetime.now(UTC) + timedelta(days=27)
    assert show == {
        "id": 1,
        "uuid": user["uuid"],
        "email": "ann@example.com",
        "usertype": "user",
        "api_key": user["api_key"],
        "verify_email": True,
        "is_online": False,
        "has_uat_access": False,
        "billing_admin": True,
        "credit_balance": 0.0,
        "notify_email": True,
        "notify_browser": True,
        "webhook_url": None,
        "webhook_topics": [],
    }
    assert plan == {
        "id": 1,
        "userId": user["uuid"],
        "total_limit_api": 2_000,
        "reach_limit_api": 0,
        "plan": "free",
        "status": "active",
    }


def test_user_show_is_what_a_login_answers(server: Running, tmp_path: Path) -> None:
    add_user(tmp_path / "data", "--password-stdin", stdin=PASSWORD.encode())
    assert login(server).json["user"] == show_user(tmp_path / "data")


def test_user_show_says_that_an_account_is_locked(data_dir: Path) -> None:
    add_user(data_dir)
    did(verb(data_dir, "user", "lock", ANN))
    assert datetime.fromisoformat(show_user(data_dir)["locked_at"]) <= datetime.now(UTC)
    did(verb(data_dir, "user", "unlock", ANN))
    assert "locked_at" not in show_user(data_dir)


def test_user_show_reports_the_seconds_of_a_lockout(server: Running, tmp_path: Path) -> None:
    new_dir = tmp_path / "data"
    add_user(new_dir, "--password-stdin", stdin=PASSWORD.encode())
    assert "login_locked_seconds" not in show_user(new_dir)
    answers = [login(server, password="wrong password").status for _ in range(5)]
    assert answers == [401, 401, 401, 401, 429]
    assert 0 < show_user(new_dir)["login_locked_seconds"] <= LOCK_SECONDS_BY_FAILURES[5]
    did(verb(new_dir, "user", "unlock", ANN))
    assert login(server).status == 200


def test_user_show_without_json_is_the_same_on_many_lines(data_dir: Path) -> None:
    add_user(data_dir)
    finished = verb(data_dir, "user", "show", ANN)
    lines = did(finished).split("\n")
    assert (lines[0], lines[-1]) == ("{", "}")
    assert ' "email": "ann@example.com",' in lines


@pytest.mark.parametrize("words", [("show",), ("lock",), ("unlock",), ("plan", "pro"), ("credit", "1"), ("grant", "1")])
def test_a_verb_on_an_unknown_user_says_so(data_dir: Path, words: tuple[str, ...]) -> None:
    action, *values = words
    finished = verb(data_dir, "user", action, "Nobody@example.com", *values)
    assert (finished.status, finished.complaint) == (1, "There is no user with the email nobody@example.com.")


@pytest.mark.parametrize("email", ["ann", "@", "ann@", "@example.com", "a@@b", "a b@example.com", "", "a\n@b.c"])
def test_user_add_refuses_what_is_no_email_address(tmp_path: Path, email: str) -> None:
    finished = verb(tmp_path, "user", "add", email)
    assert (finished.status, finished.complaint) == (2, f"{email!r} is not an email address")


# ---- passwords


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\nsecond line\n"])
def test_a_password_is_the_first_line_of_standard_input(server: Running, tmp_path: Path, end: bytes) -> None:
    add_user(tmp_path / "data", "--password-stdin", stdin=b" sp\xc3\xa4ces count " + end)
    assert login(server, " späces count ").status == 200
    assert login(server, "späces count").status == 401


def test_a_password_set_without_a_server_works_afterwards(tmp_path: Path) -> None:
    add_user(tmp_path, "--password-stdin", stdin=PASSWORD.encode())
    with serve(tmp_path) as server:
        assert login(server).status == 200


def test_without_a_password_nobody_can_log_in(server: Running, tmp_path: Path) -> None:
    add_user(tmp_path / "data", stdin=PASSWORD.encode())
    assert login(server).status == 401


@pytest.mark.parametrize(
    ("password", "complaint"),
    [
        (b"", "The password must have 8 to 1024 characters"),
        (b"1234567\n", "The password must have 8 to 1024 characters"),
        (b"x" * 1025, "The password must have 8 to 1024 characters"),
        (b"Password1\n", "The password is one of the most common ones. Choose one that nobody would guess."),
    ],
)
def test_user_add_refuses_a_password_that_may_not_be_chosen(data_dir: Path, password: bytes, complaint: str) -> None:
    finished = verb(data_dir, "user", "add", ANN, "--password-stdin", stdin=password)
    assert (finished.status, finished.complaint) == (2, complaint)
    assert rows(data_dir, "SELECT email FROM users") == []


def test_a_password_that_is_not_utf_8_is_refused_in_one_line(data_dir: Path) -> None:
    finished = verb(data_dir, "user", "add", ANN, "--password-stdin", stdin=b"\xff\xfe long enough\n")
    assert finished.status == 2
    assert finished.complaint
    assert rows(data_dir, "SELECT email FROM users") == []


# ---- locks, plans, money


def test_a_lock_ends_access_with_the_next_call_until_unlock(server: Running, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    key = add_user(data_dir, "--password-stdin", stdin=PASSWORD.encode())["api_key"]
    session = {"Authorization": f"Bearer {login(server).json['token']}"}
    assert server.get(STATEMENTS, key).status == 404
    assert server.call("GET", f"{API}/user/", headers=session).status == 200

    assert did(verb(data_dir, "user", "lock", "Ann@example.com")) == "Ann@example.com is locked"
    assert server.get(STATEMENTS, key).status == 401
    assert server.call("GET", f"{API}/user/", headers=session).status == 401
    refused = login(server)
    assert (refused.status, refused.json["message"]) == (401, "Invalid email or password")

    assert did(verb(data_dir, "user", "unlock", ANN)) == "ann@example.com is unlocked"
    assert server.get(STATEMENTS, key).status == 404
    assert server.call("GET", f"{API}/user/", headers=session).status == 401
    assert login(server).status == 200


def test_locking_twice_is_as_good_as_once(data_dir: Path) -> None:
    add_user(data_dir)
    for action in ("lock", "lock", "unlock", "unlock"):
        assert did(verb(data_dir, "user", action, ANN)) == f"{ANN} is {action}ed"
    assert rows(data_dir, "SELECT locked_at FROM users") == [(None,)]


def test_a_plan_starts_with_its_quota_and_the_ledger_adds_up(data_dir: Path) -> None:
    add_user(data_dir)
    assert did(verb(data_dir, "user", "plan", ANN, "pro")) == f"{ANN} is on the plan pro"
    assert account(data_dir) == ("pro", 500_000, 0, [("refill", 2_000), ("refill", 498_000)])
    did(verb(data_dir, "user", "plan", ANN, "weekly"))
    assert account(data_dir)[:2] == ("weekly", 50_000)
    (end,) = rows(data_dir, "SELECT current_period_end FROM userplans")[0]
    time_left = datetime.fromisoformat(end) - datetime.now(UTC)
    assert timedelta(days=6, hours=23) < time_left <= timedelta(days=7)


def test_granted_tokens_are_in_the_balance_and_in_the_ledger(data_dir: Path) -> None:
    add_user(data_dir)
    assert did(verb(data_dir, "user", "grant", ANN, 150)) == f"{ANN} was granted 150 tokens"
    did(verb(data_dir, "user", "grant", ANN, 1))
    assert account(data_dir) == ("free", 2_151, 0, [("refill", 2_000), ("grant", 150), ("grant", 1)])


def test_tokens_are_spent_and_granted_on_a_running_server(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    documents = write(tmp_path / "tiny", filing())
    did(verb(data_dir, "ingest", documents, "--accession", "0001999999-25-000001"))
    with serve(data_dir, "--free-tokens", 30) as server:
        key = add_user(data_dir)["api_key"]
        assert server.get(STATEMENTS, key).status == 200
        assert server.get(STATEMENTS, key).json["current_balance"] == 5
        did(verb(data_dir, "user", "grant", ANN, 20))
        assert server.get(STATEMENTS, key).status == 200
        refused = server.get(STATEMENTS, key)
        assert (refused.status, refused.json["current_balance"]) == (402, 0)
        did(verb(data_dir, "user", "plan", ANN, "weekly"))
        assert server.get(STATEMENTS, key).headers["x-tokens-charged"] == "25"
        assert server.stop() == 0
    assert account(data_dir) == (
        "weekly",
        49_975,
        0,
        [("refill", 30), ("debit", -25), ("grant", 20), ("debit", -25), ("refill", 50_000), ("debit", -25)],
    )


def test_credit_is_added_to_the_cent(data_dir: Path) -> None:
    add_user(data_dir)
    outputs = [did(verb(data_dir, "user", "credit", ANN, amount)) for amount in ("12.5", "0.07", "3", "0.10")]
    assert outputs == [f"{ANN} has {dollars} dollars" for dollars in ("12.50", "12.57", "15.57", "15.67")]
    assert account(data_dir) == ("free", 2_000, 1_567, [("refill", 2_000)])
    assert show_user(data_dir)["credit_balance"] == 15.67


def latest_action(data_dir: Path) -> dict[str, Any]:
    """Return the newest row of the audit log."""
    row: dict[str, Any] = json.loads(did(verb(data_dir, "audit", "--limit", "1", "--json")))["actions"][0]
    return row


def test_a_correction_of_credit_is_audited_with_its_reason(data_dir: Path) -> None:
    add_user(data_dir)
    did(verb(data_dir, "user", "credit", ANN, "12.50"))
    assert did(verb(data_dir, "user", "credit", ANN, "-2.25", "--reason", "booked twice")) == f"{ANN} has 10.25 dollars"
    refused = verb(data_dir, "user", "credit", ANN, "-1")
    assert (refused.status, refused.complaint) == (2, "a correction needs a reason: --reason 'booked twice'")
    refused = verb(data_dir, "user", "credit", ANN, "-10.26", "--reason", "too much")
    assert refused.complaint == "The wallet has less than 10.26 dollars, so they cannot be taken from it."
    latest = latest_action(data_dir)
    assert (latest["action"], latest["detail"]) == ("credit", "-2.25 dollars: booked twice")
    assert latest["place"] == f"{datadir.get_system_user()} in {os.getcwd()}"


def test_a_note_is_added_to_the_audit_log(data_dir: Path) -> None:
    add_user(data_dir)
    assert did(verb(data_dir, "audit", "--add", "moved to the new host")) == "recorded"
    latest = latest_action(data_dir)
    assert (latest["action"], latest["detail"]) == ("note", "moved to the new host")
    refused = verb(data_dir, "audit", "--add", "a\nb")
    assert (refused.status, refused.complaint) == (2, "--add: must be printable text")


def test_commands_on_master_secrets_are_audited(data_dir: Path) -> None:
    add_user(data_dir)
    old_name = json.loads(did(verb(data_dir, "secret", "list", "--json")))["secrets"][0]["name"]
    new_name = json.loads(did(verb(data_dir, "secret", "rotate", "--json")))["name"]
    assert verb(data_dir, "secret", "drop", old_name, "--yes").status == 0
    rows = json.loads(did(verb(data_dir, "audit", "--limit", "2", "--json")))["actions"]
    assert [(row["action"], row["detail"]) for row in rows] == [
        ("remove a master secret", old_name),
        ("add a master secret", new_name),
    ]


def test_a_backup_with_secrets_is_audited(data_dir: Path, tmp_path: Path) -> None:
    add_user(data_dir)
    file = tmp_path / "b-with-secrets.db"
    did(verb(data_dir, "backup", str(file), "--with-secrets"))
    latest = latest_action(data_dir)
    assert (latest["action"], latest["detail"]) == ("note", f"backup with secrets: {file}")


def test_a_large_credit_is_printed_to_the_cent(data_dir: Path) -> None:
    add_user(data_dir)
    assert did(verb(data_dir, "user", "credit", ANN, "999999999.99")) == f"{ANN} has 999999999.99 dollars"


@pytest.mark.parametrize(
    "amount",
    ["1.234", "-0", "1e3", "+1", "", " 1", "1,5", ".5", "1.", "NaN", "0x1", "\u0661", "1_0", "$1", "0", "0.00"],
)
def test_credit_refuses_what_is_no_amount_of_dollars(tmp_path: Path, amount: str) -> None:
    finished = verb(tmp_path, "user", "credit", ANN, amount)
    assert (finished.status, finished.complaint) == (2, f"amount: {amount!r} is not an amount of dollars (12.50)")


@pytest.mark.parametrize("tokens", ["0", "-5", "1000000000001"])
def test_grant_refuses_what_is_no_positive_whole_number(tmp_path: Path, tokens: str) -> None:
    finished = verb(tmp_path, "user", "grant", ANN, tokens)
    assert (finished.status, finished.complaint) == (2, "tokens: must be a positive whole number")


@pytest.mark.parametrize("tokens", ["1.5", "many", ""])
def test_grant_refuses_what_is_no_number(tmp_path: Path, tokens: str) -> None:
    finished = verb(tmp_path, "user", "grant", ANN, tokens)
    complaint = f"argument tokens: invalid int value: {tokens!r}; see finapi user grant --help"
    assert (finished.status, finished.complaint) == (2, complaint)


def test_an_unknown_plan_is_refused_in_one_line(data_dir: Path) -> None:
    finished = verb(data_dir, "user", "plan", ANN, "gold")
    assert finished.status == 2
    assert finished.complaint == "'gold' is not a plan; use one of: free, weekly, monthly, pro, yearly"


# ---- beside a server


def test_a_refused_verb_prints_the_same_with_and_without_server(server: Running, tmp_path: Path) -> None:
    for words in (
        ("user", "lock", ANN),
        ("user", "credit", ANN, "1.234"),
        ("user", "add", "nobody"),
        ("invite", "revoke", "AAAA"),
        ("invite", "create", "--expires", "1y"),
    ):
        assert verb(tmp_path / "data", *words) == verb(tmp_path / "alone", *words)


def test_many_verbs_at_once_are_all_done(server: Running, tmp_path: Path) -> None:
    add_user(tmp_path / "data")
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(verb, tmp_path / "data", "user", "credit", ANN, "0.01") for _ in range(8)]
    outputs = sorted(did(job.result()) for job in jobs)
    assert outputs == [f"{ANN} has 0.0{cents} dollars" for cents in range(1, 9)]


def test_a_verb_that_fails_leaves_the_server_running_others(tmp_path: Path) -> None:
    def perform(command: datadir.Command, say: Say) -> int:
        return 1 // len(command.words)

    statuses: list[int] = []

    def hand_over(*words: str) -> None:
        with contextlib.suppress(UsageError):
            statuses.append(datadir.hand_over(tmp_path, list(words), lambda stream, text: None))

    with datadir.CommandSocket(tmp_path, perform):
        for words in ((), ("one",)):
            typing = threading.Thread(target=hand_over, args=words)
            typing.start()
            typing.join(5.0)
            assert not typing.is_alive()
    assert statuses[-1:] == [1]


# ---- the first start


def test_only_the_first_start_prints_an_invite_code(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        (code,) = server.ready["invite_codes"]
        assert CODE.fullmatch(code)
        assert register(server, code, ANN) == (200, "")
        assert register(server, code, "eve@example.com") == (410, "INVITE_USED")
        assert server.stop() == 0
    with serve(tmp_path) as server:
        assert "invite_codes" not in server.ready


def test_an_unused_first_code_is_not_followed_by_another(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        (code,) = server.ready["invite_codes"]
        assert server.stop() == 0
    with serve(tmp_path) as server:
        assert "invite_codes" not in server.ready
        assert register(server, code, ANN) == (200, "")


def test_a_start_after_user_add_prints_no_code(tmp_path: Path) -> None:
    add_user(tmp_path)
    with serve(tmp_path) as server:
        assert "invite_codes" not in server.ready


def test_people_read_the_first_code_on_the_second_line(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--port", "0", "--data-dir", str(tmp_path), "--log-level", "error"]
    with subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline().decode() for _ in range(4)]
        finally:
            process.terminate()
    assert re.fullmatch(r"finapi \S+ listens at http://127\.0\.0\.1:\d+\n", lines[0])
    first, code = lines[1].rstrip("\n").rsplit(" ", 1)
    assert first == "An invite code for the first account:"
    assert CODE.fullmatch(code)
    url = lines[0].split()[-1]
    assert lines[2:] == [f"Register with it at {url}/register\n", f"Mails are files in {tmp_path / 'mail'}\n"]


def test_a_start_that_cannot_listen_leaves_the_code_to_the_next(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as blocker:
        port = blocker.getsockname()[1]
        assert finapi("serve", "--port", port, "--data-dir", tmp_path).status == 2
    with serve(tmp_path) as server:
        assert len(server.ready.get("invite_codes", [])) == 1


def test_a_server_stopped_as_soon_as_it_is_ready_stops(tmp_path: Path) -> None:
    # So often because the moment in which a signal can be lost is short.
    for number in range(20):
        with serve(tmp_path / str(number)) as server:
            assert server.stop() == 0
