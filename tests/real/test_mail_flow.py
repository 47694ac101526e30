"""Registration with a real mail server (aiosmtpd): deliveries, retries and failures."""

from __future__ import annotations

import contextlib
import re
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from finapi import server
from finapi.accounts import invites
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.server import Server
from tests.conftest import NOW
from tests.mail_server import Mailbox, mail_server
from tests.process import Answer, call, eventually, find_free_port

# Other tests check the texts of mails (tests/web/accounts); these wait for their arrival.
pytestmark = [pytest.mark.slow, pytest.mark.alone]

API = "/api/v1"
PASSWORD = "correct horse battery"
ANN, BOB = "ann@example.com", "bob@example.com"
WELCOME, VERIFY, RESET = "Your API key", "Verify your email address", "Set a new password"
SECONDS = 10.0  # the limit for one mail
SLACK = 3.0  # tolerance for a busy machine
DOWN = {"MAIL": "451 4.3.2 later"}


class Service:
    """A running finapi, called over its socket."""

    def __init__(self, running: Server) -> None:
        self.app = running.app
        self._address = ("127.0.0.1", running.port)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return call(self._address, method, path, body, headers)

    def invite_token(self) -> str:
        code = invites.create(self.app, self.app.clock.now(), lifetime=None, note=None).code
        token: str = self.call("POST", f"{API}/auth/redeem-invite", {"invite_code": code}).json["invite_token"]
        return token

    def register(self, email: str, token: str | None = None) -> Answer:
        body = {"email": email, "password": PASSWORD, "invite_token": token or self.invite_token()}
        return self.call("POST", f"{API}/auth/register", body)

    def login(self, email: str, password: str = PASSWORD) -> Answer:
        return self.call("POST", f"{API}/auth/login", {"email": email, "password": password})

    def ask(self, action: str, email: str) -> None:
        answer = self.call("POST", f"{API}/auth/{action}", {"email": email})
        assert answer.status == 200, answer

    def follow(self, text: str) -> Answer:
        """Follow the only link of a mail as a program does."""
        (link,) = re.findall(r"http://127\.0\.0\.1:\d+(/\S+)", text)
        return self.call("GET", link)


@contextmanager
def service(tmp_path: Path, port: int, clock: FixedClock | None = None, **settings: Any) -> Iterator[Service]:
    """Yield a service on ``tmp_path`` that sends its mail to a port."""
    defaults = {"data_dir": tmp_path, "port": 0, "smtp_url": f"smtp://127.0.0.1:{port}", "password_profile": "cheap"}
    with server.run_server(Config(**{**defaults, **settings}), _refuse_verbs, clock=clock) as running:
        yield Service(running)


@contextmanager
def hanging_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Yield the port and the connections of a mail server that accepts connections and never replies."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connections.append(listening.accept()[0])

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield listening.getsockname()[1], connections
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in connections:
                connection.close()


def list_queue(tmp_path: Path) -> list[tuple[Any, ...]]:
    """Return the template and state of every queued mail, in order."""
    with contextlib.closing(sqlite3.connect(tmp_path / "finapi.db")) as db:
        return db.execute("SELECT template, state FROM mails ORDER BY id").fetchall()


def _refuse_verbs(*_: object) -> int:
    return 2


# ---- a server that works


def test_register_answers_after_the_verification_mail_is_sent(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        answer = finapi.register("Ann@Example.com")
        assert (ANN, VERIFY) in mailbox.subjects()
        assert (answer.status, answer.json) == (
            200,
            {
                "message": "Register user successful",
                "linkMsg": "A verification link has been sent to your email address.",
            },
        )
        (envelope,) = [
            sent_envelope
            for sent_envelope, mail in zip(mailbox.envelopes, mailbox.mails(), strict=False)
            if mail["Subject"] == VERIFY
        ]
        assert (envelope.mail_from, envelope.rcpt_tos) == ("finapi@localhost", [ANN])


def test_the_link_of_the_mail_opens_the_account(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        before = finapi.login(ANN)
        assert (before.status, before.json["code"]) == (400, "EMAIL_NOT_VERIFIED")
        followed = finapi.follow(mailbox.the(ANN, VERIFY))
        assert (followed.status, followed.json) == (200, {"message": "Email verified successfully."})
        assert finapi.login(ANN).json["user"]["verify_email"] is True


def test_the_welcome_mail_carries_the_key_of_the_account(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        (key,) = re.findall(r"^[0-9a-f]{32}$", mailbox.the(ANN, WELCOME), re.MULTILINE)
        path = f"{API}/xbrl/companies/NOBODY/statements"
        assert finapi.call("GET", path, **{"X-API-Key": key}).json["code"] == "UNKNOWN_TICKER"
        finapi.follow(mailbox.the(ANN, VERIFY))
        assert finapi.login(ANN).json["user"]["api_key"] == key


def test_a_reset_mail_is_sent_once_while_its_link_is_valid(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        for email in (ANN, ANN, "nobody@example.com"):
            finapi.ask("forgetpassword", email)
        link = finapi.follow(mailbox.the(ANN, RESET)).headers["location"]
        eventually(lambda: not any(state == "queued" for _, state in list_queue(tmp_path)))
        assert sorted(mailbox.subjects()) == [(ANN, RESET), (ANN, VERIFY), (ANN, WELCOME)]
        body = {"token": link.partition("?token=")[2], "newpassword": "another long one"}
        assert finapi.call("PUT", f"{API}/auth/newpassword", body).status == 200
        assert finapi.login(ANN, "another long one").status == 200


def test_a_non_ascii_address_gets_its_mail(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        assert finapi.register("änne@example.com").status == 200
        assert finapi.follow(mailbox.the("änne@example.com", VERIFY)).status == 200


def test_the_queue_holds_no_address_link_or_key(tmp_path: Path) -> None:
    mailbox = Mailbox(refuse=dict(DOWN))
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        finapi.ask("resend-verification", ANN)
        finapi.ask("forgetpassword", ANN)
        with contextlib.closing(sqlite3.connect(tmp_path / "finapi.db")) as db:
            cursor = db.execute("SELECT * FROM mails ORDER BY id")
            names = [column[0] for column in cursor.description]
            mails = [dict(zip(names, row, strict=True)) for row in cursor]
        kinds = {"id": int, "subject_id": int, "attempts": int}
        stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
        assert [(mail["template"], mail["subject_id"]) for mail in mails] == [
            ("welcome", 1),
            ("verify", 1),
            ("reset", 1),
        ]
        for mail in mails:
            assert all(isinstance(mail.pop(name), kind) for name, kind in kinds.items())
            assert mail.pop("template") in ("welcome", "verify", "reset")
            assert mail.pop("state") == "queued"
            assert mail.pop("last_error") in (None, "the server refused the sender: 451 4.3.2")
            assert all(value is None or stamp.fullmatch(value) for value in mail.values())
            assert set(mail) == {"created_at", "due_at", "done_at"}


def test_what_was_sent_cannot_be_read_off_the_database(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        finapi.ask("forgetpassword", ANN)
        texts = [mailbox.the(ANN, subject) for subject in (WELCOME, VERIFY, RESET)]
        secret = re.findall(r"(?:token=\w+\.|^)([0-9A-Za-z_-]{32,})$", "\n".join(texts), re.MULTILINE)
        assert len(secret) == 3
    data = b"".join(path.read_bytes() for path in tmp_path.glob("finapi.db*"))
    assert [text for text in secret if text.encode() in data] == []


# ---- a server that refuses, or is not there


@pytest.mark.parametrize(
    "refuse",
    [
        {"MAIL": "550 5.7.1 no"},
        {"RCPT": "550 5.1.1 no such user"},
        {"DATA": "554 5.6.0 no"},
        DOWN,
        {"DATA": "452 4.3.1 full"},
    ],
    ids=["5xx to MAIL", "5xx to RCPT", "5xx to DATA", "4xx to MAIL", "4xx to DATA"],
)
def test_resend_repairs_a_register_whose_mail_was_refused(tmp_path: Path, refuse: dict[str, str]) -> None:
    mailbox = Mailbox(refuse=dict(refuse))
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        token = finapi.invite_token()
        answer = finapi.register(ANN, token)
        assert (answer.status, answer.json["code"]) == (500, "MAIL_FAILED")
        # The account is there, and shut; its invite is used up.
        assert finapi.register(ANN).json["code"] == "EMAIL_EXISTS"
        assert finapi.register(BOB, token).json["code"] == "INVITE_USED"
        assert finapi.login(ANN).json["code"] == "EMAIL_NOT_VERIFIED"
        mailbox.refuse.clear()
        finapi.ask("resend-verification", ANN)
        assert finapi.follow(mailbox.the(ANN, VERIFY)).status == 200
        assert finapi.login(ANN).status == 200


def test_resend_repairs_a_register_without_a_mail_server(tmp_path: Path) -> None:
    mailbox = Mailbox()
    port = find_free_port()
    with service(tmp_path, port) as finapi:
        assert finapi.register(ANN).json["code"] == "MAIL_FAILED"
        with mail_server(mailbox, port):
            finapi.ask("resend-verification", ANN)
            assert finapi.follow(mailbox.the(ANN, VERIFY)).status == 200


def test_register_does_not_repeat_the_mail_servers_reply(tmp_path: Path) -> None:
    mailbox = Mailbox(refuse={"RCPT": "550 5.1.1 ann@example.com is unknown to mx7.internal"})
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        answer = finapi.register(ANN)
        assert b"mx7" not in answer.body
        assert b"ann@" not in answer.body


def test_a_deferred_welcome_mail_arrives_a_minute_later(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    mailbox = Mailbox(refuse=dict(DOWN))
    with mail_server(mailbox) as port, service(tmp_path, port, clock) as finapi:
        finapi.register(ANN)
        with contextlib.closing(sqlite3.connect(tmp_path / "finapi.db")) as db:
            eventually(lambda: db.execute("SELECT last_error FROM mails").fetchone()[0])
        mailbox.refuse.clear()
        assert mailbox.subjects() == []
        clock.advance(seconds=61)
        mailbox.the(ANN, WELCOME)
        eventually(lambda: list_queue(tmp_path) == [("welcome", "sent")])


def test_a_reset_mail_that_was_given_up_can_be_asked_for_anew(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port, service(tmp_path, port) as finapi:
        finapi.register(ANN)
        mailbox.the(ANN, WELCOME)
        mailbox.refuse["RCPT"] = "550 5.1.1 no"
        finapi.ask("forgetpassword", ANN)
        eventually(lambda: ("reset", "given_up") in list_queue(tmp_path))
        mailbox.refuse.clear()
        finapi.ask("forgetpassword", ANN)
        mailbox.the(ANN, RESET)


# ---- a stop in between


def test_queued_mail_is_delivered_after_a_restart(tmp_path: Path) -> None:
    mailbox = Mailbox()
    clock = FixedClock(NOW)
    port = find_free_port()
    with service(tmp_path, port, clock) as finapi:
        assert finapi.register(ANN).status == 500
        finapi.ask("resend-verification", ANN)
        finapi.ask("forgetpassword", ANN)
    assert list_queue(tmp_path) == [("welcome", "queued"), ("verify", "queued"), ("reset", "queued")]
    clock.advance(seconds=61)
    with mail_server(mailbox, port), service(tmp_path, port, clock) as finapi:
        assert finapi.follow(mailbox.the(ANN, VERIFY)).status == 200
        mailbox.the(ANN, WELCOME)
        mailbox.the(ANN, RESET)
        eventually(lambda: {state for _, state in list_queue(tmp_path)} == {"sent"})
        assert finapi.login(ANN).status == 200


def test_a_link_sent_before_a_restart_is_good_after_it(tmp_path: Path) -> None:
    mailbox = Mailbox()
    with mail_server(mailbox) as port:
        with service(tmp_path, port) as finapi:
            finapi.register(ANN)
        with service(tmp_path, port) as finapi:
            assert finapi.follow(mailbox.the(ANN, VERIFY)).status == 200
            assert finapi.login(ANN).status == 200


def test_a_link_that_waited_too_long_is_not_sent(tmp_path: Path) -> None:
    mailbox = Mailbox()
    clock = FixedClock(NOW)
    port = find_free_port()
    with service(tmp_path, port, clock) as finapi:
        finapi.register(ANN)
        finapi.ask("forgetpassword", ANN)
    clock.advance(seconds=timedelta(days=2).total_seconds())
    with mail_server(mailbox, port), service(tmp_path, port, clock):
        eventually(lambda: list_queue(tmp_path) == [("welcome", "sent"), ("reset", "dropped")])
    assert mailbox.subjects() == [(ANN, WELCOME)]


# ---- a server that hangs


def test_a_mail_server_that_hangs_delays_nothing_but_register(tmp_path: Path) -> None:
    with hanging_server() as (port, connections), service(tmp_path, port) as finapi:
        token = finapi.invite_token()
        registering = threading.Thread(target=finapi.register, args=(ANN, token))
        registering.start()
        eventually(lambda: len(connections) >= 1)
        started = time.monotonic()
        assert finapi.call("GET", "/livez").status == 200
        assert finapi.call("GET", "/readyz").status == 200
        finapi.ask("forgetpassword", ANN)
        finapi.ask("resend-verification", ANN)
        assert finapi.login(BOB).status == 401
        assert time.monotonic() - started < SLACK
        for connection in connections:
            connection.close()
        registering.join(SECONDS)
        assert not registering.is_alive()


def test_register_gives_a_mail_server_that_hangs_ten_seconds(tmp_path: Path) -> None:
    with hanging_server() as (port, _), service(tmp_path, port) as finapi:
        token = finapi.invite_token()
        started = time.monotonic()
        answer = finapi.register(ANN, token)
        duration_seconds = time.monotonic() - started
        assert (answer.status, answer.json["code"]) == (500, "MAIL_FAILED")
        assert SECONDS - 0.5 < duration_seconds < SECONDS + SLACK


def test_registrations_waiting_for_mail_leave_threads_free(tmp_path: Path) -> None:
    # As many as there are threads, from as many addresses: a proxy in front is believed. Half of them wait.
    with hanging_server() as (port, connections), service(tmp_path, port, trusted_proxies=("127.0.0.1",)) as finapi:
        tokens = [finapi.invite_token() for _ in range(finapi.app.config.threads)]

        def register(number: int) -> None:
            body = {"email": f"u{number}@example.com", "password": PASSWORD, "invite_token": tokens[number]}
            finapi.call("POST", f"{API}/auth/register", body, **{"X-Forwarded-For": f"192.0.2.{number}"})

        waiting = [threading.Thread(target=register, args=(number,)) for number in range(len(tokens))]
        for thread in waiting:
            thread.start()
        eventually(lambda: len(connections) >= len(tokens) // 2)
        started = time.monotonic()
        assert finapi.call("GET", "/livez").status == 200
        duration_seconds = time.monotonic() - started
        for thread in waiting:
            thread.join(SECONDS + SLACK)
        assert duration_seconds < SLACK


def test_a_stop_does_not_wait_for_a_mail_server_that_hangs(tmp_path: Path) -> None:
    with hanging_server() as (port, connections):
        with service(tmp_path, port, drain_timeout=0.2) as finapi:
            token = finapi.invite_token()

            def register() -> None:
                # Cut off by the stop.
                with contextlib.suppress(OSError, HTTPException):
                    finapi.register(ANN, token)

            registering = threading.Thread(target=register)
            registering.start()
            eventually(lambda: len(connections) == 2)  # the verification mail and the welcome mail
            started = time.monotonic()
        assert time.monotonic() - started < 0.2 + SLACK
        registering.join(SECONDS)
    assert list_queue(tmp_path) == [("welcome", "queued")]
