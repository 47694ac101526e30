"""Tests of registration, login and password change when something else happens at the same time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import invites, recovery, sessions, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.lockout import LOCK_SECONDS_BY_FAILURES, hash_email
from finapi.core.passwords import Hasher
from finapi.delivery import credential_replacement
from finapi.store.db import ConstraintError
from tests.client import AUTH, PASSWORD, Answer, Client, invite_token, login, sent, sign_up, token_in
from tests.conftest import ACCOUNTS, NOW
from tests.process import eventually
from tests.support.raw_sql import run_sql

USER = "/api/v1/user/"
EMAIL = "ann@example.com"
OTHER = "another horse battery"
ADDRESS = "192.0.2.1"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


@pytest.fixture
def on_disk(tmp_path: Path, clock: FixedClock) -> Iterator[Callable[..., App]]:
    """Yield a function that creates Apps over a database on disk."""
    opened_apps: list[App] = []

    def make(**settings: object) -> App:
        # Half of the threads may wait: so many that none of fifty calls at once is refused for that.
        config: dict[str, Any] = {**ACCOUNTS, "data_dir": tmp_path, "smtp_url": "memory:", "threads": 100, **settings}
        opened_apps.append(apps.open_on_disk(Config(**config), clock))
        return opened_apps[-1]

    yield make
    for app in opened_apps:
        app.db.close()


def at_once(calls: list[Callable[[], Answer]]) -> list[Answer]:
    """Return the answers of calls that start together, each in a thread."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Answer]) -> Answer:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def count(app: App, table: str) -> int:
    with app.db.write():
        row_count: int = run_sql(app.db, f"SELECT count(*) FROM {table}").fetchone()[0]
    return row_count


def while_hashing(app: App, method: str, event: Callable[[], object]) -> None:
    """Let ``event`` happen once, when the next password has been hashed or verified."""
    plain = getattr(app.hasher, method)

    def run_interrupted(*args: Any) -> Any:
        setattr(app.hasher, method, plain)
        result = plain(*args)
        event()
        return result

    setattr(app.hasher, method, run_interrupted)


def reset_token(client: Client) -> str:
    client.post(AUTH + "forgetpassword", {"email": EMAIL})
    recovery.run_mail_step(client.app)
    return token_in(sent(client.app, "Set a new password", EMAIL)[-1])


# ---- what happens while a password is hashed


def test_a_login_whose_password_was_changed_meanwhile_is_401(client: Client, app: App) -> None:
    sign_up(client)
    token = reset_token(client)
    while_hashing(app, "verify", lambda: credential_replacement.reset_password(app, token, OTHER, ADDRESS, NOW))
    assert login(client).status == 401
    assert count(app, "sessions") == 0


def test_a_login_into_an_account_locked_meanwhile_is_401(client: Client, app: App) -> None:
    sign_up(client)
    while_hashing(app, "verify", lambda: users.set_locked(app, EMAIL, True, NOW))
    assert login(client).status == 401
    assert count(app, "sessions") == 0


def test_two_logins_that_update_the_hash_together_both_succeed(client: Client, app: App) -> None:
    stored = Hasher("default").hash(PASSWORD)
    with app.db.write() as tx:
        users.insert(tx, app, EMAIL, "free", NOW, password=stored, verified=True)
    other: list[int] = []
    while_hashing(app, "hash", lambda: other.append(login(client).status))
    assert (login(client).status, other) == (200, [200])


def test_a_login_brings_the_hash_up_to_the_profile_in_force(client: Client, app: App) -> None:
    stored = Hasher("default").hash(PASSWORD)
    with app.db.write() as tx:
        user = users.insert(tx, app, EMAIL, "free", NOW, password=stored, verified=True)
    assert login(client).status == 200
    with app.db.read() as tx:
        row = tx.find_row("user_by_id", id=user.id)
    assert row is not None
    assert row["password"].startswith("$argon2id$v=19$m=8,t=1,p=1$")
    assert login(client).status == 200


def test_the_later_of_two_resets_with_one_token_is_refused(client: Client, app: App) -> None:
    sign_up(client)
    token = reset_token(client)
    while_hashing(app, "hash", lambda: credential_replacement.reset_password(app, token, OTHER, ADDRESS, NOW))
    with pytest.raises(ApiError) as raised:
        credential_replacement.reset_password(app, token, "a third horse battery", ADDRESS, NOW)
    assert raised.value.code == "INVALID_TOKEN"
    assert login(client, password=OTHER).status == 200


def test_an_invite_that_was_revoked_meanwhile_is_400(client: Client, app: App) -> None:
    code = invites.create(app, NOW, lifetime=None, note=None).code
    token = client.post(AUTH + "redeem-invite", {"code": code}).json["invite_token"]
    while_hashing(app, "hash", lambda: invites.revoke(app, code, NOW))
    body = {"email": EMAIL, "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).verdict[:2] == (400, "INVALID_INVITE")
    assert count(app, "users") == 0


def test_a_registration_that_fails_leaves_the_invite_open(client: Client, app: App) -> None:
    token = invite_token(client)
    while_hashing(app, "hash", lambda: users.create(app, EMAIL, "free", NOW))
    body = {"email": EMAIL, "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).verdict[:2] == (400, "EMAIL_EXISTS")
    with app.db.read() as tx:
        assert [row["state"] for row in invites.list_invites(app, tx, NOW)] == ["open"]
    assert (count(app, "users"), count(app, "mails")) == (1, 0)


def test_a_damaged_hash_counts_no_failure(client: Client, app: App, caplog: pytest.LogCaptureFixture) -> None:
    sign_up(client)
    run_sql(app.db, "UPDATE users SET password = 'damaged'")
    assert [login(client).status for _ in range(6)] == [500] * 6
    assert len(app.lockouts) == 0
    assert PASSWORD not in caplog.text


# ---- many threads over a database on disk


@pytest.mark.slow
def test_fifty_logins_at_once_leave_two_sessions(on_disk: Callable[..., App]) -> None:
    app = on_disk(hashes_waiting=50, hash_wait=60.0)
    client = Client(app)
    sign_up(client)
    answers = at_once([lambda: login(client)] * 50)
    assert statuses(answers) == {200: 50}
    assert count(app, "sessions") == 2
    tokens = [answer.json["token"] for answer in answers]
    assert len(set(tokens)) == 50
    status_counts = Counter(client.get(USER, session=token).status for token in tokens)
    assert status_counts == {200: 2, 401: 48}


@pytest.mark.slow
def test_logins_beyond_the_queue_are_503_and_count_no_failure(on_disk: Callable[..., App]) -> None:
    app = on_disk(hashes_at_once=1, hashes_waiting=0)
    client = Client(app)
    sign_up(client)
    answers = at_once([lambda: login(client)] * 50)
    assert set(statuses(answers)) <= {200, 503}
    busy = [answer for answer in answers if answer.status == 503]
    assert {answer.headers["retry-after"] for answer in busy} <= {"1"}
    assert count(app, "sessions") == min(2, 50 - len(busy))
    assert (len(app.lockouts), app.lockouts._open_attempts) == (0, {})


def test_a_registration_with_a_repeated_uuid_is_not_email_exists(client: Client, app: App) -> None:
    user, token = users.create(app, EMAIL, "free", NOW), invite_token(client)
    with pytest.raises(ConstraintError, match=r"UNIQUE constraint failed: users\.uuid"):
        sessions.register(
            replace(app, new_uuid=lambda: user.uuid), "bob@example.com", PASSWORD, token, "192.0.2.1", NOW
        )
    assert count(app, "users") == 1


@pytest.mark.slow
def test_fifty_registrations_with_one_invite_have_one_winner(on_disk: Callable[..., App]) -> None:
    app = on_disk(hashes_waiting=50, hash_wait=60.0)
    client = Client(app)
    token = invite_token(client)

    def register(number: int) -> Callable[[], Answer]:
        body = {"email": f"a{number}@example.com", "password": PASSWORD, "invite_token": token}
        return lambda: client.post(AUTH + "register", body)

    answers = at_once([register(number) for number in range(50)])
    assert statuses(answers) == {200: 1, 410: 49}
    assert [count(app, table) for table in ("users", "api_keys", "userplans", "verifications", "mails")] == [1] * 5
    assert len(sent(app, "Verify your email address")) == 1


@pytest.mark.slow
def test_fifty_registrations_of_one_email_have_one_winner(on_disk: Callable[..., App]) -> None:
    app = on_disk(hashes_waiting=50, hash_wait=60.0, register_per_hour_per_email=100)
    client = Client(app)

    def register() -> Callable[[], Answer]:
        body = {"email": EMAIL, "password": PASSWORD, "invite_token": invite_token(client)}
        return lambda: client.post(AUTH + "register", body)

    answers = at_once([register() for _ in range(50)])
    assert statuses(answers) == {200: 1, 400: 49}
    assert {answer.json["code"] for answer in answers if answer.status == 400} == {"EMAIL_EXISTS"}
    with app.db.read() as tx:
        states = Counter(row["state"] for row in invites.list_invites(app, tx, NOW))
    assert states == {"used": 1, "open": 49}


@pytest.mark.slow
def test_fifty_password_changes_with_one_token_have_one_winner(on_disk: Callable[..., App]) -> None:
    app = on_disk(hashes_waiting=50, hash_wait=60.0)
    client = Client(app)
    sign_up(client)
    token = reset_token(client)

    def change(number: int) -> Callable[[], Answer]:
        body = {"token": token, "newpassword": f"horse battery {number}"}
        return lambda: client.put(AUTH + "newpassword", body)

    answers = at_once([change(number) for number in range(50)])
    assert statuses(answers) == {200: 1, 400: 49}
    winner = next(number for number, answer in enumerate(answers) if answer.status == 200)
    assert login(client, password=f"horse battery {winner}").status == 200


@pytest.mark.slow
def test_fifty_forgotten_passwords_of_one_email_send_one_mail(on_disk: Callable[..., App]) -> None:
    app = on_disk()
    client = Client(app)
    sign_up(client)
    answers = at_once([lambda: client.post(AUTH + "forgetpassword", {"email": EMAIL})] * 50)
    assert statuses(answers) == {200: 50}
    while recovery.run_mail_step(app) is not None:
        pass
    assert len(sent(app, "Set a new password")) == 1


@pytest.mark.slow
def test_fifty_rotations_leave_one_key(on_disk: Callable[..., App]) -> None:
    app = on_disk()
    client = Client(app)
    sign_up(client)
    session = login(client).json["token"]
    answers = at_once([lambda: client.call("POST", USER + "api-key/rotate", session=session)] * 50)
    keys = {answer.json["api_key"] for answer in answers}
    assert len(keys) == 50
    with app.db.read() as tx:
        live = [key for key in keys if users.find_caller_by_api_key(tx, key) is not None]
    assert live == [client.get(USER, session=session).json["user"]["api_key"]]


@pytest.mark.slow
@pytest.mark.parametrize("email", [EMAIL, "nobody@example.com"])
def test_of_two_hundred_wrong_passwords_at_once_five_are_hashed(
    on_disk: Callable[..., App], clock: FixedClock, email: str
) -> None:
    app = on_disk()
    client = Client(app)
    sign_up(client)
    hashed, plain = Counter[str](), app.hasher.verify

    def count_verify(stored: str | None, password: str) -> bool:
        hashed["verify"] += 1
        return plain(stored, password)

    app.hasher.verify = count_verify  # type: ignore[method-assign]
    answers = at_once([lambda: login(client, email, "wrong password")] * 200)
    assert statuses(answers) == {401: 4, 429: 196}
    assert {answer.headers["retry-after"] for answer in answers if answer.status == 429} <= {
        str(LOCK_SECONDS_BY_FAILURES[5]),
        "1",
    }
    assert hashed["verify"] == 5
    assert (len(app.lockouts), app.lockouts._open_attempts) == (1, {})
    clock.advance(LOCK_SECONDS_BY_FAILURES[5])
    assert login(client).status == 200


@pytest.mark.slow
def test_200_wrong_passwords_in_the_second_step_hash_five_more(on_disk: Callable[..., App], clock: FixedClock) -> None:
    client = Client(on_disk())
    for seconds in (LOCK_SECONDS_BY_FAILURES[5], LOCK_SECONDS_BY_FAILURES[10]):
        answers = at_once([lambda: login(client, EMAIL, "wrong password")] * 200)
        assert statuses(answers) == {401: 4, 429: 196}
        # An attempt beyond the number that may be open has to come again; it is not locked.
        waits = {(answer.json["code"], answer.headers["retry-after"]) for answer in answers if answer.status == 429}
        assert ("LOGIN_LOCKED", str(seconds)) in waits
        assert waits <= {("LOGIN_LOCKED", str(seconds)), ("RATE_LIMIT_EXCEEDED", "1")}
        clock.advance(seconds)


def test_a_login_replaced_by_others_of_its_email_is_429(on_disk: Callable[..., App]) -> None:
    """Refused logins continue only when all others have left the queue: the server does not seem busy any more."""
    app = on_disk()
    queue, plain_acquire, plain_verify = app.hasher.queue, app.hasher.queue.acquire, app.hasher.verify
    place_count = app.config.hashes_at_once + app.config.hashes_waiting
    refused: list[str] = []

    def acquire_or_outlast_others(*keys: Hashable, first: bool = False) -> None:
        try:
            plain_acquire(*keys, first=first)
        except ApiError as error:
            refused.append(error.code)
            eventually(lambda: queue.count_for_key(("email", hash_email(EMAIL))) == 0)
            raise

    def verify_after_refusals(stored_hash: str | None, password: str) -> bool:
        eventually(lambda: len(refused) == 12)
        return plain_verify(stored_hash, password)

    queue.acquire = acquire_or_outlast_others  # type: ignore[method-assign]
    app.hasher.verify = verify_after_refusals  # type: ignore[method-assign]
    client = Client(app)
    answers = at_once([lambda: login(client, EMAIL, "wrong password")] * (place_count + 12))
    assert Counter((answer.status, answer.json["code"]) for answer in answers) == {
        (401, "INVALID_CREDENTIALS"): 4,
        (429, "LOGIN_LOCKED"): place_count - 4,
        (429, "RATE_LIMIT_EXCEEDED"): 12,
    }
    assert refused == ["UNAVAILABLE"] * 12


@pytest.mark.slow
def test_wrong_passwords_of_200_emails_keep_a_bounded_table(on_disk: Callable[..., App]) -> None:
    app = on_disk(lockout_emails=16)
    client = Client(app)

    def guess(number: int) -> Callable[[], Answer]:
        return lambda: login(client, f"a{number}@example.com", "wrong password")

    answers = at_once([guess(number) for number in range(200)])
    assert set(statuses(answers)) <= {401, 503}
    assert len(app.lockouts) <= 16
    assert app.lockouts._open_attempts == {}
