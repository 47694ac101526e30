"""Tests of logins under a flood: turns, limits of an IPv6 network, and failures after a restart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import logins, users
from finapi.app import App
from finapi.core import lockout, passwords
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.lockout import FailureCount
from finapi.ops.app_opening import open_app
from tests.client import PASSWORD, Answer, Client, login
from tests.conftest import ACCOUNTS, NOW
from tests.process import eventually
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

EMAIL = "ann@example.com"
HOME, CAFE = "192.0.2.1", "198.51.100.7"
LOCKED = (429, "LOGIN_LOCKED", "Too many failed login attempts. Try again later.")


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    """Hashes are computed one at a time, and two may wait."""
    app = make_app(**ACCOUNTS, hashes_at_once=1, hashes_waiting=2, hash_wait=60.0, threads=100)
    users.create(app, EMAIL, "free", NOW, password=PASSWORD)
    users.create(app, "bob@example.com", "free", NOW, password=PASSWORD)
    return app


class Door:
    """Logins that wait before the hash until it is opened, and their outcomes in the order of the hashes."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.client = Client(app)
        self.open = threading.Event()
        self.hashed: list[str] = []
        self.answers: dict[str, Answer] = {}
        self._threads: list[threading.Thread] = []
        plain = app.hasher.verify

        def held(stored: str | None, password: str) -> bool:
            self.hashed.append(threading.current_thread().name)
            assert self.open.wait(10)
            return plain(stored, password)

        app.hasher.verify = held  # type: ignore[method-assign]

    def knock(self, name: str, email: str, address: str) -> None:
        """Log in. When this returns, the login has its turn, waits or is answered."""

        def call() -> None:
            self.answers[name] = login(self.client, email, address=address)

        thread = threading.Thread(target=call, name=name, daemon=True)
        before = self._settled()
        self._threads.append(thread)
        thread.start()
        eventually(lambda: self._settled() > before)

    def all(self) -> dict[str, int]:
        """Return the statuses, once the door is open."""
        self.open.set()
        for thread in self._threads:
            thread.join(10)
        return {name: answer.status for name, answer in self.answers.items()}

    def _settled(self) -> int:
        login_count = self.app.hasher.queue.waiting_count + len(self.hashed)
        return login_count + sum(name not in self.hashed for name in self.answers)


def test_an_address_that_the_account_logged_in_from_goes_first(app: App) -> None:
    assert login(Client(app), EMAIL, address=HOME).status == 200
    for number in range(3):  # so that its turn is not one of the last
        assert login(Client(app), f"nobody{number}@example.com", address=f"203.0.113.{number}").status == 401
    door = Door(app)
    for number in range(3):
        door.knock(f"stranger {number}", f"stranger{number}@example.com", f"203.0.113.{10 + number}")
    door.knock("ann", EMAIL, HOME)
    # The refusal is sent before the door opens, by the thread of the login that lost its place.
    eventually(lambda: "stranger 2" in door.answers)
    assert door.answers["stranger 2"].verdict[:2] == (503, "UNAVAILABLE")
    assert door.all() == {"stranger 0": 401, "ann": 200, "stranger 1": 401, "stranger 2": 503}
    assert door.hashed == ["stranger 0", "ann", "stranger 1"]


def test_from_elsewhere_it_waits_like_everybody(app: App) -> None:
    assert login(Client(app), EMAIL, address=HOME).status == 200
    door = Door(app)
    for number in range(3):
        door.knock(f"stranger {number}", f"stranger{number}@example.com", f"203.0.{number}.1")
    door.knock("ann", EMAIL, CAFE)
    # All four are new, so chance decides who of those that wait is refused.
    statuses = door.all()
    (refused,) = (name for name, status in statuses.items() if status == 503)
    assert statuses["stranger 0"] == 401
    assert door.answers[refused].headers["retry-after"] == "1"


def test_an_address_with_many_logins_does_not_shut_out_another(app: App) -> None:
    door = Door(app)
    for number in range(3):
        door.knock(f"stranger {number}", f"stranger{number}@example.com", CAFE)
    door.knock("ann", EMAIL, HOME)
    assert door.all() == {"stranger 0": 401, "ann": 200, "stranger 1": 401, "stranger 2": 503}


def test_new_addresses_of_one_network_share_a_place(app: App) -> None:
    door = Door(app)
    for number in range(3):
        door.knock(f"stranger {number}", f"stranger{number}@example.com", f"2001:db8:1:{number}::9")
    door.knock("ann", EMAIL, "2001:db8:2::9")
    assert door.all() == {"stranger 0": 401, "ann": 200, "stranger 1": 401, "stranger 2": 503}


def test_a_guesser_of_one_email_does_not_shut_out_another(app: App) -> None:
    door = Door(app)
    for number in range(3):
        door.knock(f"guess {number}", EMAIL, f"203.0.113.{number}")
    door.knock("bob", "bob@example.com", HOME)
    assert door.all() == {"guess 0": 200, "bob": 200, "guess 1": 200, "guess 2": 503}


def test_addresses_are_known_for_thirty_days_and_twenty_of_them(app: App, clock: FixedClock) -> None:
    client = Client(app)

    def known(address: str) -> bool:
        with app.db.read() as tx:
            user = tx.find_row("user_by_email", email=EMAIL)
            return logins.build_claim(app, tx, user, b"", address, clock.now()).is_first

    assert not known(HOME)
    assert login(client, address=HOME).status == 200
    clock.advance(30 * 86_400 - 1)
    assert (known(HOME), known(CAFE)) == (True, False)
    for number in range(logins.MAX_ADDRESSES):
        clock.advance(0.04)
        assert known(HOME)
        assert login(client, address=f"203.0.113.{number}").status == 200
    assert [known(address) for address in (HOME, "203.0.113.0", "203.0.113.19")] == [False, True, True]
    clock.advance(30 * 86_400)
    assert not known("203.0.113.19")
    assert login(client, "bob@example.com", address=HOME).status == 200
    with app.db.write():
        rows = run_sql(app.db, "SELECT user_id, address FROM login_addresses").fetchall()
    assert [row["user_id"] for row in rows] == [2]
    assert HOME.encode() not in rows[0]["address"]


def test_a_wrong_password_makes_no_address_known(app: App) -> None:
    assert login(Client(app), password="wrong password").status == 401
    with app.db.read() as tx:
        assert not logins.build_claim(app, tx, tx.find_row("user_by_email", email=EMAIL), b"", HOME, NOW).is_first


# ---- IPv6


@run_each_case(
    "address, network",
    [
        ("2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("2001:db8:1:ffff::/64", "2001:db8:1::/48"),
        ("192.0.2.1", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_the_network_of_an_address(address: str, network: str | None) -> None:
    assert logins.parent_network(address) == network


@run_each_case(
    "address, neighbourhood",
    [
        ("2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("192.0.2.1", "192.0.2.0/24"),
        ("192.0.2.255", "192.0.2.0/24"),
        ("", None),
        ("nonsense", None),
    ],
)
def test_logins_of_a_neighbourhood_are_counted_together(address: str, neighbourhood: str | None) -> None:
    assert logins.find_neighbourhood(address) == neighbourhood


def test_a_newcomer_goes_before_new_addresses_of_a_busy_network(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS)
    queue = app.hasher.queue
    with app.accounts.read() as tx:
        claims = [
            logins.build_claim(app, tx, None, f"x{number}".encode(), f"198.51.100.{number}", NOW)
            for number in range(1, 9)
        ]
        newcomer = logins.build_claim(app, tx, None, b"new", "203.0.113.1", NOW)
    order: list[str] = []

    def log_in(name: str, keys: tuple[Hashable, ...]) -> None:
        with suppress(ApiError), queue.enter(*keys):
            order.append(name)

    threads = []
    for claim in claims[:2]:
        queue.acquire(*claim.keys)
    for number, claim in enumerate([*claims[2:], newcomer]):
        name = "newcomer" if claim is newcomer else f"flood {number}"
        threads.append(threading.Thread(target=log_in, args=(name, claim.keys)))
        threads[-1].start()
        eventually(lambda: queue.waiting_count == min(len(threads), app.config.hashes_waiting))
    for claim in claims[:2]:
        queue.release(*claim.keys)
    for thread in threads:
        thread.join(10)
    assert order[0] == "newcomer"
    assert len(order) == app.config.hashes_waiting


def test_a_refused_login_is_answered_after_a_second(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS, hashes_at_once=1, hashes_waiting=0)
    delays: list[float] = []
    environ = {"finapi.pace": delays.append}
    with app.hasher.queue.enter("somebody else"):
        assert login(Client(app), environ=environ).status == 503
    assert delays == [passwords.REFUSAL_DELAY_SECONDS]
    assert login(Client(app), environ=environ).status == 401
    assert len(delays) == 1


def test_an_ipv6_network_has_a_limit_over_all_its_addresses(make_app: Callable[..., App]) -> None:
    client = Client(make_app(**ACCOUNTS, login_per_minute_per_network=3))
    answers = [login(client, address=f"2001:db8:0:{number:x}::1") for number in range(5)]
    assert [answer.status for answer in answers] == [401] * 3 + [429] * 2
    assert (answers[3].json["code"], answers[3].headers["retry-after"]) == ("RATE_LIMIT_EXCEEDED", "20")
    assert login(client, address="2001:db8:1::1").status == 401
    assert login(client, "bob@example.com", address=HOME).status == 401
    # Of logins only.
    assert client.get("/api/v1/plans/", address="2001:db8::1").status == 200


# ---- a restart


@pytest.fixture
def start_app(tmp_path: Path, clock: FixedClock) -> Iterator[Callable[..., Any]]:
    """Yield a function that starts finapi on a data directory that stays, and stops the previous one."""
    settings: dict[str, Any] = {**ACCOUNTS, "data_dir": tmp_path, "smtp_url": "memory:", "synchronous": "NORMAL"}
    running: list[Any] = []

    def start(**overrides: Any) -> App:
        stop()
        running.append(open_app(Config(**settings | overrides), clock))
        app: App = running[-1].__enter__()
        return app

    def stop() -> None:
        while running:
            running.pop().__exit__(None, None, None)

    yield start
    stop()


def test_a_lockout_survives_a_restart(start_app: Callable[..., App], clock: FixedClock) -> None:
    app = start_app()
    users.create(app, EMAIL, "free", NOW, password=PASSWORD)
    assert [login(Client(app), password="wrong").status for _ in range(5)] == [401] * 4 + [429]
    first_lock = lockout.LOCK_SECONDS_BY_FAILURES[5]
    clock.advance(20)
    app = start_app()
    answer = login(Client(app))
    assert (answer.verdict, answer.headers["retry-after"]) == (LOCKED, str(first_lock - 20))
    clock.advance(first_lock - 20)
    assert [login(Client(app), password="wrong").status for _ in range(4)] == [401] * 4
    app = start_app()
    answer = login(Client(app), password="wrong")
    assert (answer.verdict, answer.headers["retry-after"]) == (LOCKED, str(lockout.LOCK_SECONDS_BY_FAILURES[10]))


def test_failures_below_the_first_step_survive_a_restart(start_app: Callable[..., App]) -> None:
    for _ in range(4):
        assert login(Client(start_app()), "nobody@example.com", "wrong").status == 401
    assert login(Client(start_app()), "nobody@example.com", "wrong").status == 429


def test_a_right_password_and_a_new_one_are_remembered_too(start_app: Callable[..., App]) -> None:
    app = start_app()
    users.create(app, EMAIL, "free", NOW, password=PASSWORD)
    assert [login(Client(app), password="wrong").status for _ in range(4)] == [401] * 4
    assert login(Client(app)).status == 200
    app = start_app()
    assert [login(Client(app), password="wrong").status for _ in range(4)] == [401] * 4


def test_after_a_day_a_failure_is_forgotten_and_its_row_gone(start_app: Callable[..., App], clock: FixedClock) -> None:
    app = start_app()
    assert [login(Client(app), password="wrong").status for _ in range(5)] == [401] * 4 + [429]
    clock.advance(24 * 3600)
    app = start_app()
    assert len(app.lockouts) == 0
    assert login(Client(app), "bob@example.com", "wrong").status == 401
    with app.db.read() as tx:
        rows = tx.list_rows("login_failures", since="")
    assert [(row["email"], row["failures"]) for row in rows] == [(lockout.hash_email("bob@example.com"), 1)]


def test_what_makes_room_in_memory_leaves_the_table_too(start_app: Callable[..., App], clock: FixedClock) -> None:
    app = start_app(lockout_emails=16)
    for number in range(40):
        clock.advance(1)
        assert login(Client(app), f"a{number}@example.com", "wrong").status == 401
    with app.db.read() as tx:
        emails = {row["email"] for row in tx.list_rows("login_failures", since="")}
    assert emails == {lockout.hash_email(f"a{number}@example.com") for number in range(24, 40)}


def test_a_clock_set_back_leaves_no_failure_in_the_future(start_app: Callable[..., App], tmp_path: Path) -> None:
    app = start_app()
    assert [login(Client(app), password="wrong").status for _ in range(5)] == [401] * 4 + [429]
    earlier = replace(app, clock=FixedClock(NOW.replace(year=2025)), lockouts=lockout.Lockouts(16))
    assert logins.restore_failures(earlier) == 1
    assert earlier.lockouts.find_failures(lockout.hash_email(EMAIL)) == FailureCount(5, 0.0)
    assert earlier.lockouts.get_lock_seconds(lockout.hash_email(EMAIL), 0.0) == lockout.LOCK_SECONDS_BY_FAILURES[5]


def test_failed_logins_do_not_make_keys_be_looked_up_again(start_app: Callable[..., App]) -> None:
    app = start_app()
    written = app.db.write_count
    assert login(Client(app), password="wrong").status == 401
    assert app.db.write_count == written
