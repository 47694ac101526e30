"""Mail over SMTP against a real server (aiosmtpd), and against servers that misbehave."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from finapi.core.clock import FixedClock
from finapi.net import mail
from finapi.net.letters import Letter, MailError, MailStoppedError
from finapi.net.mail import MailSettings
from finapi.net.messages import build_message
from finapi.net.smtp import SmtpTransport
from finapi.store.db import Database, Transaction
from tests.conftest import NOW
from tests.mail_server import Mailbox, mail_server
from tests.support.case_tables import run_each_case

SENDER = "finapi <no-reply@finapi.example>"
LETTER = Letter(
    "ann@example.com",
    "Gr\u00fc\u00dfe \u2014 verify your address",
    "Open https://finapi.example/?token="
    + "0123456789abcdef" * 20
    + "\n.\n..\n.dots\n\nFrom here, \u65e5\u672c\u8a9e\n",
    "<p>" + "x" * 3000 + "</p>\n.\n",
)
SECONDS = 10.0  # the timeout where nothing hangs
SHORT = 0.2  # the timeout where the server hangs
SLACK = 1.5  # tolerance for a busy machine


@dataclass(frozen=True)
class Certificates:
    """The TLS contexts of two servers and of a client that trusts them; ``other`` is for another name."""

    server: ssl.SSLContext
    other: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    authority = trustme.CA()

    def server(name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(context)
        return context

    client = ssl.create_default_context()
    authority.configure_trust(client)
    return Certificates(server("127.0.0.1"), server("elsewhere.example"), client)


def send(
    port: int,
    *,
    scheme: str = "smtp",
    login: str = "",
    query: str = "",
    context: ssl.SSLContext | None = None,
    letter: Letter = LETTER,
    seconds: float = SECONDS,
) -> None:
    smtp = SmtpTransport(f"{scheme}://{login}127.0.0.1:{port}{query}", context=context)
    mail.send_now(MailSettings(smtp, SENDER, seconds), letter, NOW, "7")


def catch_refusal(port: int, **options: Any) -> MailError:
    with pytest.raises(MailError) as caught:
        send(port, **options)
    for secret in ("ann@", "example.com", "token", "hunter2", "p@ss"):
        assert secret not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


# ------------------------------------------------------------------------------------------- mails that arrive


def test_a_mail_arrives_complete_and_parses() -> None:
    received = Mailbox()
    with mail_server(received) as port:
        send(port)
    (envelope,) = received.envelopes
    assert (envelope.mail_from, envelope.rcpt_tos) == ("no-reply@finapi.example", ["ann@example.com"])
    assert envelope.content == build_message(LETTER, SENDER, NOW, "7").as_bytes()
    message = received.message()
    assert (message["To"], message["Subject"]) == ("ann@example.com", LETTER.subject)
    assert message["Date"].datetime == NOW
    assert message["Auto-Submitted"] == "auto-generated"
    bodies = [part.get_content().replace("\r\n", "\n") for part in message.iter_parts()]
    assert bodies == [LETTER.text, LETTER.html]
    assert all(part.defects == [] for part in message.walk())


@pytest.mark.slow
def test_a_mail_of_megabytes_arrives_complete() -> None:
    received = Mailbox()
    text = "".join(f"line {number}\n" for number in range(200_000))
    with mail_server(received) as port:
        send(port, letter=Letter("ann@example.com", "Long", text, "<p>\n"))
    assert next(received.message().iter_parts()).get_content().replace("\r\n", "\n") == text


def test_an_international_address_goes_out_as_smtputf8() -> None:
    received = Mailbox()
    with mail_server(received) as port:
        send(port, letter=Letter("j\u00f6rg@stra\u00dfe.example", "Gr\u00fc\u00dfe", "t\n", "<p>\n"))
    (envelope,) = received.envelopes
    assert envelope.rcpt_tos == ["j\u00f6rg@stra\u00dfe.example"]
    assert envelope.smtp_utf8
    assert isinstance(envelope.content, bytes)
    assert "\r\nTo: j\u00f6rg@stra\u00dfe.example\r\n".encode() in envelope.content


def test_starttls_is_used_when_it_is_offered(certificates: Certificates) -> None:
    received = Mailbox()
    with mail_server(received, tls_context=certificates.server) as port:
        send(port, context=certificates.client)
        send(port, context=certificates.client, query="?starttls=required")
        send(port, query="?starttls=never")
    assert [session.ssl is not None for session in received.sessions] == [True, True, False]


def test_implicit_tls(certificates: Certificates) -> None:
    received = Mailbox()
    with mail_server(received, implicit_tls=certificates.server) as port:
        send(port, scheme="smtps", context=certificates.client)
    assert received.message()["Subject"] == LETTER.subject


def test_the_usual_trust_is_that_of_the_system(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    received = Mailbox()
    with mail_server(received, implicit_tls=server) as port:
        send(port, scheme="smtps")
    assert len(received.envelopes) == 1


# ---------------------------------------------------------------------------------------------------- logins


class LoginDoor:
    """An authenticator that accepts the user ``ann@x`` with the password ``p@ss/w:rd%``."""

    def __init__(self) -> None:
        self.tried: list[tuple[bytes, bytes]] = []

    def __call__(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
    ) -> AuthResult:
        self.tried.append((data.login, data.password))
        # handled=False: aiosmtpd itself answers 535.
        return AuthResult(success=self.tried[-1] == (b"ann@x", b"p@ss/w:rd%"), handled=False)


LOGIN = "ann%40x:p%40ss%2Fw%3Ard%25@"


@pytest.mark.parametrize("excluded", [[], ["PLAIN"], ["LOGIN"]])
def test_a_login_is_sent_over_starttls(certificates: Certificates, excluded: list[str]) -> None:
    received, door = Mailbox(), LoginDoor()
    options: dict[str, Any] = {"authenticator": door, "auth_required": True, "auth_exclude_mechanism": excluded}
    with mail_server(received, tls_context=certificates.server, **options) as port:
        send(port, login=LOGIN, context=certificates.client)
    assert door.tried == [(b"ann@x", b"p@ss/w:rd%")]
    assert len(received.envelopes) == 1


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")
def test_a_login_without_tls_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    received, door = Mailbox(), LoginDoor()
    with mail_server(received, authenticator=door, auth_required=True, auth_require_tls=False) as port:
        send(port, login=LOGIN)
        assert len(door.tried) == 1
        monkeypatch.setattr("finapi.net.smtp._is_loopback", lambda conversation: False)
        error = catch_refusal(port, login=LOGIN, query="?starttls=offered")
        assert (str(error), error.permanent, len(door.tried)) == (
            "the server offers no TLS, and a login is never sent without it",
            False,
            1,
        )
        send(port, login=LOGIN, query="?starttls=never")
    assert len(door.tried) == 2


def test_a_wrong_password_is_not_a_permanent_failure(certificates: Certificates) -> None:
    received = Mailbox()
    with mail_server(received, tls_context=certificates.server, authenticator=LoginDoor(), auth_required=True) as port:
        error = catch_refusal(port, login="ann%40x:hunter2@", context=certificates.client)
    assert (str(error), error.permanent) == ("the server refused the login: 535 5.7.8", False)


def test_a_missing_login_is_not_a_permanent_failure(certificates: Certificates) -> None:
    with mail_server(Mailbox(), tls_context=certificates.server, authenticator=LoginDoor(), auth_required=True) as port:
        error = catch_refusal(port, context=certificates.client)
    assert (str(error), error.permanent) == ("the server refused the sender: 530 5.7.0", False)


def test_a_server_without_a_usable_login_is_reported() -> None:
    with mail_server(Mailbox(), auth_exclude_mechanism=["PLAIN", "LOGIN"]) as port:
        error = catch_refusal(port, login=LOGIN)
    assert (str(error), error.permanent) == ("the server offers no login that finapi can use", False)


# ---------------------------------------------------------------------------------------------------- refusals


@run_each_case(
    "command, answer, reason, permanent",
    [
        ("MAIL", "550 5.7.1 go away", "the server refused the sender: 550 5.7.1", True),
        ("MAIL", "451 later", "the server refused the sender: 451", False),
        ("MAIL", "421 4.3.2 closing", "the server refused the sender: 421 4.3.2", False),
        ("RCPT", "550 5.1.1 <ADDRESS> unknown", "the server refused the recipient: 550 5.1.1", True),
        ("RCPT", "553 <ADDRESS> unknown", "the server refused the recipient: 553", True),
        ("RCPT", "450 4.2.0 <ADDRESS> greylisted", "the server refused the recipient: 450 4.2.0", False),
        ("RCPT", "421 4.3.2 closing", "the server refused the recipient: 421 4.3.2", False),
        ("DATA", "554 5.6.0 spam: token", "the server refused the mail: 554 5.6.0", True),
        ("DATA", "452 4.3.1 disk full", "the server refused the mail: 452 4.3.1", False),
    ],
)
def test_a_refusal_is_reported_with_its_codes(command: str, answer: str, reason: str, permanent: bool) -> None:
    received = Mailbox(refuse={command: answer})
    with mail_server(received) as port:
        error = catch_refusal(port)
    assert (error.reason, error.permanent) == (reason, permanent)
    assert received.envelopes == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_for_another_name_is_refused(certificates: Certificates, scheme: str) -> None:
    received = Mailbox()
    where = "tls_context" if scheme == "smtp" else "implicit_tls"
    with mail_server(received, **{where: certificates.other}) as port:
        error = catch_refusal(port, scheme=scheme, context=certificates.client)
    assert str(error).startswith("TLS: the certificate is not trusted: IP address mismatch")
    assert not error.permanent
    assert received.envelopes == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_without_a_trusted_issuer_is_refused(certificates: Certificates, scheme: str) -> None:
    received = Mailbox()
    where = "tls_context" if scheme == "smtp" else "implicit_tls"
    with mail_server(received, **{where: certificates.server}) as port:
        error = catch_refusal(port, scheme=scheme)
    assert str(error) == "TLS: the certificate is not trusted: unable to get local issuer certificate"
    assert received.envelopes == []


def test_starttls_that_is_required_but_not_offered() -> None:
    received = Mailbox()
    with mail_server(received) as port:
        error = catch_refusal(port, query="?starttls=required")
    assert (str(error), error.permanent, received.envelopes) == ("the server offers no STARTTLS", False, [])


def test_mail_to_another_machine_needs_tls_unless_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.net.smtp._is_loopback", lambda conversation: False)
    received = Mailbox()
    with mail_server(received) as port:
        assert (str(catch_refusal(port)), received.envelopes) == ("the server offers no STARTTLS", [])
        for tls_setting in ("offered", "never"):
            send(port, query=f"?starttls={tls_setting}")
    assert len(received.envelopes) == 2


def test_tls_to_a_server_without_tls_fails() -> None:
    with mail_server(Mailbox()) as port:
        error = catch_refusal(port, scheme="smtps")
    assert str(error).startswith("TLS: WRONG_VERSION_NUMBER")


def test_a_refused_connection_may_be_retried() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = catch_refusal(free.getsockname()[1])
    assert (str(error), error.permanent) == ("the server cannot be reached: Connection refused", False)


# --------------------------------------------------------------------------------------- servers that misbehave

Script = Callable[[socket.socket], None]


@contextmanager
def scripted_server(script: Script, *, receive_buffer: int = 0) -> Iterator[int]:
    """Yield the port of a server that runs a script on each connection and keeps it open."""
    listener = socket.create_server(("127.0.0.1", 0))
    if receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)  # connections inherit it
    connections: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def play(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            script(connection)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threads.append(threading.Thread(target=play, args=(connection,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()


def answer_in_turn(*answers: bytes) -> Script:
    """Return a script that sends the first answer at once and each other after a line, then is silent."""

    def script(connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            connection.sendall(answers[0])
            for answer in answers[1:]:
                line = lines.readline()
                if answer.startswith(b"250 ") and b"queued" in answer:
                    while line not in (b".\r\n", b""):
                        line = lines.readline()
                connection.sendall(answer)

    return script


def stay_silent(connection: socket.socket) -> None:
    """Send nothing."""


def drip_after(*answers: bytes) -> Script:
    """Return a script that sends the answers, then one byte at a time, each within the timeout."""

    def script(connection: socket.socket) -> None:
        if answers:
            answer_in_turn(*answers)(connection)
        connection.sendall(b"250-")
        while True:
            connection.sendall(b"x")
            time.sleep(0.02)

    return script


GREETING = b"220 mail.test\r\n"
EHLO = b"250-mail.test\r\n250 AUTH PLAIN LOGIN\r\n"
EHLO_TLS = b"250-mail.test\r\n250 STARTTLS\r\n"
OK = b"250 OK\r\n"
GO_ON = b"354 go on\r\n"

HANGING: dict[str, tuple[Script, dict[str, Any]]] = {
    "greeting": (stay_silent, {}),
    "greeting half": (answer_in_turn(b"220 mail"), {}),
    "ehlo": (answer_in_turn(GREETING), {}),
    "ehlo half": (answer_in_turn(GREETING, b"250-mail.test\r\n"), {}),
    "starttls": (answer_in_turn(GREETING, EHLO_TLS), {}),
    "handshake": (answer_in_turn(GREETING, EHLO_TLS, b"220 go\r\n"), {}),
    "implicit handshake": (stay_silent, {"scheme": "smtps"}),
    "login": (answer_in_turn(GREETING, EHLO), {"login": LOGIN}),
    "login challenge": (answer_in_turn(GREETING, EHLO, b"334 \r\n"), {"login": LOGIN}),
    "mail": (answer_in_turn(GREETING, EHLO), {}),
    "rcpt": (answer_in_turn(GREETING, EHLO, OK), {}),
    "data": (answer_in_turn(GREETING, EHLO, OK, OK), {}),
    "after data": (answer_in_turn(GREETING, EHLO, OK, OK, GO_ON), {}),
    "dripping greeting": (drip_after(), {}),
    "dripping ehlo": (drip_after(GREETING), {}),
    "dripping starttls": (drip_after(GREETING, EHLO_TLS), {}),
    "dripping rcpt": (drip_after(GREETING, EHLO, OK), {}),
    "dripping after data": (drip_after(GREETING, EHLO, OK, OK, GO_ON), {}),
}


@run_each_case("stage", HANGING)
def test_a_server_that_hangs_is_left_after_the_timeout(stage: str) -> None:
    script, options = HANGING[stage]
    with scripted_server(script) as port:
        started = time.monotonic()
        error = catch_refusal(port, seconds=SHORT, **options)
        duration_seconds = time.monotonic() - started
    assert (str(error), error.permanent) == ("no reply within 0.2 s", False)
    assert SHORT <= duration_seconds < SHORT + SLACK


def test_a_server_that_accepts_no_connection_times_out() -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # fills the queue of connections that were not accepted
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        started = time.monotonic()
        error = catch_refusal(listener.getsockname()[1], seconds=SHORT)
    assert str(error) == "no reply within 0.2 s"
    assert SHORT <= time.monotonic() - started < SHORT + SLACK


@pytest.mark.slow
@pytest.mark.alone
def test_a_server_that_stops_reading_times_out() -> None:
    # More than fits into the buffers of both ends, one of which is small.
    long = Letter("ann@example.com", "Long", ("x" * 70 + "\n") * 100_000, "<p>\n")
    message = build_message(long, SENDER, NOW, "7")
    stages: list[bytes] = []

    def stop_reading(connection: socket.socket) -> None:
        with connection.makefile("rb", buffering=0) as lines:
            connection.sendall(GREETING)
            for answer in (EHLO, OK, OK, GO_ON):
                stages.append(lines.readline())
                connection.sendall(answer)

    with scripted_server(stop_reading, receive_buffer=4096) as port:
        started = time.monotonic()
        with pytest.raises(MailError, match="no reply within 1 s"):
            SmtpTransport(f"smtp://127.0.0.1:{port}").send(message, 1.0)
        assert time.monotonic() - started < 1.0 + SLACK
    assert stages[-1] == b"data\r\n"


@pytest.mark.parametrize("farewell", [stay_silent, drip_after()], ids=["silent", "dripping"])
def test_an_accepted_mail_is_sent_however_the_session_ends(farewell: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.net.smtp.QUIT_SECONDS", 0.2)

    def script(connection: socket.socket) -> None:
        answer_in_turn(GREETING, EHLO, OK, OK, GO_ON, b"250 queued\r\n")(connection)
        farewell(connection)

    with scripted_server(script) as port:
        started = time.monotonic()
        send(port)
        assert time.monotonic() - started < 0.2 + SLACK


@run_each_case(
    "answers, reason",
    [
        ((b"554 5.3.2 no service\r\n",), "the server answered 554 5.3.2"),
        ((b"SSH-2.0-OpenSSH_9.2\r\n",), "the server answered -1"),
        ((b"220 " + b"x" * 9000 + b"\r\n",), "the server answered 500"),
        ((GREETING, b"502 no\r\n", b"502 no\r\n"), "the server answered 502"),
        ((GREETING, EHLO_TLS, b"454 4.7.0 no\r\n"), "the server answered 454 4.7.0"),
        ((GREETING, EHLO_TLS, b"220 go\r\n", b"250 what?\r\n"), "TLS: WRONG_VERSION_NUMBER"),
    ],
)
def test_unexpected_answers_are_temporary_failures(answers: Sequence[bytes], reason: str) -> None:
    with scripted_server(answer_in_turn(*answers)) as port:
        error = catch_refusal(port, seconds=5.0)
    assert (str(error), error.permanent) == (reason, False)


def test_answers_smuggled_in_before_tls_are_ignored(certificates: Certificates) -> None:
    def script(connection: socket.socket) -> None:
        smuggled = b"220 go\r\n250-mail.test\r\n250 SMTPUTF8\r\n"
        answer_in_turn(GREETING, EHLO_TLS, smuggled)(connection)
        with certificates.server.wrap_socket(connection, server_side=True) as encrypted:
            answer_in_turn(b"", b"250 mail.test\r\n")(encrypted)

    letter = Letter("j\u00f6rg@example.com", "Hello", "t\n", "<p>\n")
    with scripted_server(script) as port:
        error = catch_refusal(port, context=certificates.client, letter=letter)
    assert str(error) == "the server does not accept non-ASCII addresses (SMTPUTF8)"


def test_a_server_that_never_stops_answering_fills_no_memory() -> None:
    def script(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"220-x\r\n" * 1000)

    with scripted_server(script) as port:
        error = catch_refusal(port)
    assert (str(error), error.permanent) == ("the server closed the connection", False)


def test_a_closed_connection_is_a_temporary_failure() -> None:
    def script(connection: socket.socket) -> None:
        answer_in_turn(GREETING, EHLO)(connection)
        connection.shutdown(socket.SHUT_RDWR)

    with scripted_server(script) as port:
        error = catch_refusal(port)
    assert (str(error), error.permanent) == ("the server closed the connection", False)


def test_a_server_without_smtputf8_gets_no_non_ascii_address() -> None:
    letter = Letter("j\u00f6rg@example.com", "Hello", "t\n", "<p>\n")
    for answers in ((GREETING, EHLO), (GREETING, b"502 no\r\n", OK)):
        with scripted_server(answer_in_turn(*answers)) as port:
            error = catch_refusal(port, letter=letter)
        assert str(error) == "the server does not accept non-ASCII addresses (SMTPUTF8)"
        assert error.permanent


def test_a_server_that_knows_only_helo_gets_the_mail() -> None:
    with scripted_server(answer_in_turn(GREETING, b"502 no\r\n", OK, OK, OK, GO_ON, b"250 queued\r\n", OK)) as port:
        send(port)


# ------------------------------------------------------------------------------------------- stopping, the queue


@run_each_case("stage", ["greeting", "handshake", "implicit handshake", "after data"])
def test_closing_the_transport_interrupts_a_hanging_mail(stage: str) -> None:
    script, options = HANGING[stage]
    reached = threading.Event()

    def run_and_announce(connection: socket.socket) -> None:
        script(connection)
        reached.set()

    with scripted_server(run_and_announce) as port:
        smtp = SmtpTransport(f"{options.get('scheme', 'smtp')}://127.0.0.1:{port}")

        def close() -> None:
            reached.wait(SECONDS)
            smtp.close()

        closer = threading.Thread(target=close)
        closer.start()
        started = time.monotonic()
        with pytest.raises(MailStoppedError):
            mail.send_now(MailSettings(smtp, SENDER), LETTER, NOW, "7")
        assert time.monotonic() - started < SLACK
        closer.join()
        with pytest.raises(MailStoppedError):
            mail.send_now(MailSettings(smtp, SENDER), LETTER, NOW, "7")


def test_the_queue_retries_after_a_hang_and_a_greylisting(clock: FixedClock, caplog: pytest.LogCaptureFixture) -> None:
    db = Database(None)
    given_up: list[tuple[str, int]] = []

    def record_given_up(tx: Transaction, template: str, subject_id: int) -> None:
        given_up.append((template, subject_id))

    def step(port: int) -> float | None:
        post = MailSettings(SmtpTransport(f"smtp://127.0.0.1:{port}"), SENDER, SHORT)
        return mail.send_due(db, post, clock.now(), render=lambda *_: LETTER, on_give_up=record_given_up)

    with db.write() as tx:
        mail.enqueue(tx, "reset", 1, clock.now())
        mail.enqueue(tx, "reset", 2, clock.now())
    with caplog.at_level(logging.DEBUG, "finapi"):
        with scripted_server(stay_silent) as port:
            started = time.monotonic()
            assert step(port) == 0.0  # the second is not kept waiting behind the first
            assert time.monotonic() - started < SHORT + SLACK
        with mail_server(Mailbox(refuse={"RCPT": "550 5.1.1 <ADDRESS> unknown"})) as port:
            assert step(port) == 60
        assert given_up == [("reset", 2)]
        clock.advance(60)
        with mail_server(Mailbox(refuse={"RCPT": "450 4.2.0 <ADDRESS> greylisted"})) as port:
            assert step(port) == 300
        clock.advance(300)
        received = Mailbox()
        with mail_server(received) as port:
            assert step(port) is None
    assert received.message()["Message-ID"] == "<1.20260131120000000@finapi.example>"
    assert received.message()["Date"].datetime == NOW
    ours = [record.getMessage() for record in caplog.records if record.name == "finapi.mail"]
    assert ours == [
        "mail 1 (reset) failed at attempt 1: no reply within 0.2 s; next in 60 s",
        "mail 2 (reset) given up at attempt 1: the server refused the recipient: 550 5.1.1",
        "mail 1 (reset) failed at attempt 2: the server refused the recipient: 450 4.2.0; next in 300 s",
    ]
    assert given_up == [("reset", 2)]
    db.close()
