"""Times of login and forgetpassword by case, which must not reveal the registered emails.

    python -m tests.bench.login [N]

N answers (500) for each case, the cases in turn; medians, percentiles and the differences relative to the
first case (the aim: under 3 %).
"""

from __future__ import annotations

import logging
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from finapi import app as apps
from finapi.accounts import recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.net.letters import MailError
from tests.client import AUTH, PASSWORD, Client, login

PERCENTILES = (5, 25, 50, 75, 95)
WARM_UP = 20

# A case is a call to be timed and what makes the next one alike, which is not.
Case = tuple[Callable[[], object], Callable[[], object]]


class Refusing:
    """A transport whose server refuses every mail."""

    def send(self, message: object, seconds: float) -> None:
        raise MailError("refused", permanent=True)

    def close(self) -> None:
        pass


def timed(cases: dict[str, Case], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each call by case, in a new random order each round."""
    durations: dict[str, list[float]] = {name: [] for name in cases}
    order = list(cases)
    for number in range(rounds + WARM_UP):
        random.shuffle(order)
        for name in order:
            call, after = cases[name]
            started = time.perf_counter()
            call()
            seconds = time.perf_counter() - started
            after()
            if number >= WARM_UP:
                durations[name].append(seconds)
    return durations


def report(title: str, durations: dict[str, list[float]]) -> None:
    first = statistics.median(next(iter(durations.values())))
    heading = "".join(f"{f'p{percentile}':>9}" for percentile in PERCENTILES)
    print(f"\n{title}, ms\n{'':24}{heading}{'mean':>9}{'median':>9}")
    for name, seconds in durations.items():
        cuts = statistics.quantiles(seconds, n=100)
        row = "".join(f"{cuts[percentile - 1] * 1000:9.3f}" for percentile in PERCENTILES)
        difference = statistics.median(seconds) / first - 1
        print(f"{name:24}{row}{statistics.mean(seconds) * 1000:9.3f}{difference:+9.2%}")
    spread = max(map(statistics.median, durations.values())) / min(map(statistics.median, durations.values())) - 1
    print(f"largest difference of two medians {spread:.2%} (aim 3 %)")


def add_user(app: App, email: str) -> None:
    users.create(app, email, "free", app.clock.now(), password=PASSWORD)


def logins(app: App, client: Client) -> dict[str, Case]:
    """Time wrong passwords of a known and an unknown email, both twice to show the noise."""

    def unlocked(email: str) -> Case:
        def call() -> None:
            answer = login(client, email, "wrong password")
            assert answer.status == 401, answer.body

        # Counted like everybody's, and forgotten before it locks.
        return call, lambda: app.clock.advance(24 * 3600)  # type: ignore[attr-defined]

    return {
        "known": unlocked("known@example.com"),
        "unknown": unlocked("nobody@example.com"),
        "known again": unlocked("known@example.com"),
        "unknown again": unlocked("nobody@example.com"),
    }


def forgets(app: App, client: Client) -> dict[str, Case]:
    """Time the four cases of SPEC: registered, already sent, not registered, mail failed."""

    def asked(email: str) -> Callable[[], None]:
        def call() -> None:
            answer = client.post(AUTH + "forgetpassword", {"email": email})
            assert answer.status == 200, answer.body

        return call

    app.db._queries["reset_id_of"] = (
        "SELECT resets.id FROM resets JOIN users ON users.id = resets.user_id WHERE users.email = :email"
    )
    working = app.mail_settings
    failing = working.__class__(Refusing(), working.sender)

    def then(post: object, *, deleted: str = "") -> Callable[[], None]:
        """Run the worker's step, so that every call finds an empty queue, and delete the token."""

        def after() -> None:
            object.__setattr__(app, "post", post)
            while recovery.run_mail_step(app) == 0:
                pass
            with app.db.write() as tx:
                tx.run("delete_reset", id=tx.find_value("reset_id_of", email=deleted) or 0)

        return after

    asked("sent@example.com")()
    return {
        "registered": (asked("known@example.com"), then(working, deleted="known@example.com")),
        "already sent": (asked("sent@example.com"), then(working)),
        "not registered": (asked("nobody@example.com"), then(working)),
        # Its token is deleted when the mail is given up; the next call makes a new one.
        "mail failed": (asked("failed@example.com"), then(failing)),
    }


def main(rounds: int) -> None:
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as directory:
        config = Config(
            data_dir=Path(directory),
            smtp_url="memory:",
            public_url="http://localhost",
            app_per_minute=10**9,
            app_per_hour=10**9,
        )
        app = apps.open_on_disk(config, FixedClock())
        client = Client(app)
        for name in ("known", "sent", "failed"):
            add_user(app, f"{name}@example.com")
        report("login with a wrong password", timed(logins(app, client), rounds))
        report("forgetpassword", timed(forgets(app, client), rounds))
        app.db.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
