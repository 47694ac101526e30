"""Mail over SMTP against a real server (aiosmtpd): plain, TLS, logins, refusals; and against servers that hang."""

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

SENDER = "finapi <no-reply@finapi.example>"
LETTER = Letter(
    "ann@example.com",
    "Gr\u00fc\u00dfe \u2014 verify your address",
    "Open https://finapi.example/?token="
    + "0123456789abcdef" * 20
    + "\n.\n..\n.dots\n\nFrom here, \u65e5\u672c\u8a9e\n",
    "<p>" + "x" * 3000 + "</p>\n.\n",
)
SECONDS = 10.0  # when nothing hangs
SHORT = 0.2  # when something does
SLACK = 1.5  # by which a busy machine may be late


@dataclass(frozen=True)
class Certificates:
    """What a server shows and what a client must trust to believe it; ``other`` is for another name."""

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


def refusal(port: int, **options: Any) -> MailError:
    with pytest.raises(MailError) as caught:
        send(port, **options)
    for said in ("ann@", "example.com", "token", "hunter2", "p@ss"):
        assert said not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


# ------------------------------------------------------------------------------------------- mails that arrive


def test_a_mail_arrives_whole_and_parses() -> None:
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
def test_a_mail_of_megabytes_arrives_whole() -> None:
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


class Door:
    """Lets in the user ``ann@x`` with the password ``p@ss/w:rd%``."""

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
def test_a_login_over_starttls(certificates: Certificates, excluded: list[str]) -> None:
    received, door = Mailbox(), Door()
    options: dict[str, Any] = {"authenticator": door, "auth_required": True, "auth_exclude_mechanism": excluded}
    with mail_server(received, tls_context=certificates.server, **options) as port:
        send(port, login=LOGIN, context=certificates.client)
    assert door.tried == [(b"ann@x", b"p@ss/w:rd%")]
    assert len(received.envelopes) == 1


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")
def test_a_login_without_tls_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    received, door = Mailbox(), Door()
    with mail_server(received, authenticator=door, auth_required=True, auth_require_tls=False) as port:
        send(port, login=LOGIN)
        assert len(door.tried) == 1
        monkeypatch.setattr("finapi.net.smtp._is_loopback", lambda conversation: False)
        error = refusal(port, login=LOGIN, query="?starttls=offered")
        assert (str(error), error.permanent, len(door.tried)) == (
            "the server offers no TLS, and a login is never sent without it",
            False,
            1,
        )
        send(port, login=LOGIN, query="?starttls=never")
    assert len(door.tried) == 2


def test_a_wrong_password_is_not_the_mails_fault(certificates: Certificates) -> None:
    received = Mailbox()
    with mail_server(received, tls_context=certificates.server, authenticator=Door(), auth_required=True) as port:
        error = refusal(port, login="ann%40x:hunter2@", context=certificates.client)
    assert (str(error), error.permanent) == ("the server refused the login: 535 5.7.8", False)


def test_a_server_that_wants_a_login_which_is_not_set_is_not_the_mails_fault(certificates: Certificates) -> None:
    with mail_server(Mailbox(), tls_context=certificates.server, authenticator=Door(), auth_required=True) as port:
        error = refusal(port, context=certificates.client)
    assert (str(error), error.permanent) == ("the server refused the sender: 530 5.7.0", False)


def test_a_server_without_logins() -> None:
    with mail_server(Mailbox(), auth_exclude_mechanism=["PLAIN", "LOGIN"]) as port:
        error = refusal(port, login=LOGIN)
    assert (str(error), error.permanent) == ("the server offers no login that finapi can use", False)


# ---------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("command", "answer", "reason", "permanent"),
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
def test_a_refusal_is_told_by_its_codes(command: str, answer: str, reason: str, permanent: bool) -> None:
    received = Mailbox(refuse={command: answer})
    with mail_server(received) as port:
        error = refusal(port)
    assert (error.reason, error.permanent) == (reason, permanent)
    assert received.envelopes == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_for_another_name_is_refused(certificates: Certificates, scheme: str) -> None:
    received = Mailbox()
    where = "tls_context" if scheme == "smtp" else "implicit_tls"
    with mail_server(received, **{where: certificates.other}) as port:
        error = refusal(port, scheme=scheme, context=certificates.client)
    assert str(error).startswith("TLS: the certificate is not trusted: IP address mismatch")
    assert not error.permanent
    assert received.envelopes == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_that_nobody_vouches_for_is_refused(certificates: Certificates, scheme: str) -> None:
    received = Mailbox()
    where = "tls_context" if scheme == "smtp" else "implicit_tls"
    with mail_server(received, **{where: certificates.server}) as port:
        error = refusal(port, scheme=scheme)
    assert str(error) == "TLS: the certificate is not trusted: unable to get local issuer certificate"
    assert received.envelopes == []


def test_starttls_that_is_required_but_not_offered() -> None:
    received = Mailbox()
    with mail_server(received) as port:
        error = refusal(port, query="?starttls=required")
    assert (str(error), error.permanent, received.envelopes) == ("the server offers no STARTTLS", False, [])


def test_mail_to_another_machine_needs_tls_unless_it_is_turned_off_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.net.smtp._is_loopback", lambda conversation: False)
    received = Mailbox()
    with mail_server(received) as port:
        assert (str(refusal(port)), received.envelopes) == ("the server offers no STARTTLS", [])
        for named in ("offered", "never"):
            send(port, query=f"?starttls={named}")
    assert len(received.envelopes) == 2


def test_tls_spoken_to_a_server_without() -> None:
    with mail_server(Mailbox()) as port:
        error = refusal(port, scheme="smtps")
    assert str(error).startswith("TLS: WRONG_VERSION_NUMBER")


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = refusal(free.getsockname()[1])
    assert (str(error), error.permanent) == ("the server cannot be reached: Connection refused", False)


# --------------------------------------------------------------------------------------- servers that misbehave

Script = Callable[[socket.socket], None]


@contextmanager
def misbehaving(script: Script, *, receive_buffer: int = 0) -> Iterator[int]:
    """A server that plays its script on each connection, and holds it open until the block ends; its port."""
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


def answering(*answers: bytes) -> Script:
    """Gives the answers in turn, the first at once and each other for a line that came in; then is silent."""

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


def silent(connection: socket.socket) -> None:
    """Says nothing."""


def dripping(*answers: bytes) -> Script:
    """Gives the answers, and then one byte of a reply at a time, for ever, each long before any timeout."""

    def script(connection: socket.socket) -> None:
        if answers:
            answering(*answers)(connection)
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
    "greeting": (silent, {}),
    "greeting half": (answering(b"220 mail"), {}),
    "ehlo": (answering(GREETING), {}),
    "ehlo half": (answering(GREETING, b"250-mail.test\r\n"), {}),
    "starttls": (answering(GREETING, EHLO_TLS), {}),
    "handshake": (answering(GREETING, EHLO_TLS, b"220 go\r\n"), {}),
    "implicit handshake": (silent, {"scheme": "smtps"}),
    "login": (answering(GREETING, EHLO), {"login": LOGIN}),
    "login challenge": (answering(GREETING, EHLO, b"334 \r\n"), {"login": LOGIN}),
    "mail": (answering(GREETING, EHLO), {}),
    "rcpt": (answering(GREETING, EHLO, OK), {}),
    "data": (answering(GREETING, EHLO, OK, OK), {}),
    "after data": (answering(GREETING, EHLO, OK, OK, GO_ON), {}),
    "dripping greeting": (dripping(), {}),
    "dripping ehlo": (dripping(GREETING), {}),
    "dripping starttls": (dripping(GREETING, EHLO_TLS), {}),
    "dripping rcpt": (dripping(GREETING, EHLO, OK), {}),
    "dripping after data": (dripping(GREETING, EHLO, OK, OK, GO_ON), {}),
}


@pytest.mark.parametrize("stage", HANGING)
def test_a_server_that_hangs_is_waited_for_no_longer_than_the_bound(stage: str) -> None:
    script, options = HANGING[stage]
    with misbehaving(script) as port:
        started = time.monotonic()
        error = refusal(port, seconds=SHORT, **options)
        took = time.monotonic() - started
    assert (str(error), error.permanent) == ("no reply within 0.2 s", False)
    assert SHORT <= took < SHORT + SLACK


def test_a_server_that_takes_no_connection() -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # fills the queue of connections that were not accepted
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        started = time.monotonic()
        error = refusal(listener.getsockname()[1], seconds=SHORT)
    assert str(error) == "no reply within 0.2 s"
    assert SHORT <= time.monotonic() - started < SHORT + SLACK


@pytest.mark.slow
@pytest.mark.alone
def test_a_server_that_reads_nothing_more() -> None:
    # More than the buffers of both ends hold, one of which is kept small.
    long = Letter("ann@example.com", "Long", ("x" * 70 + "\n") * 100_000, "<p>\n")
    message = build_message(long, SENDER, NOW, "7")
    stages: list[bytes] = []

    def deaf(connection: socket.socket) -> None:
        with connection.makefile("rb", buffering=0) as lines:
            connection.sendall(GREETING)
            for answer in (EHLO, OK, OK, GO_ON):
                stages.append(lines.readline())
                connection.sendall(answer)

    with misbehaving(deaf, receive_buffer=4096) as port:
        started = time.monotonic()
        with pytest.raises(MailError, match="no reply within 1 s"):
            SmtpTransport(f"smtp://127.0.0.1:{port}").send(message, 1.0)
        assert time.monotonic() - started < 1.0 + SLACK
    assert stages[-1] == b"data\r\n"


@pytest.mark.parametrize("farewell", [silent, dripping()], ids=["silent", "dripping"])
def test_a_mail_that_was_accepted_is_sent_however_the_server_takes_leave(
    farewell: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finapi.net.smtp.QUIT_SECONDS", 0.2)

    def script(connection: socket.socket) -> None:
        answering(GREETING, EHLO, OK, OK, GO_ON, b"250 queued\r\n")(connection)
        farewell(connection)

    with misbehaving(script) as port:
        started = time.monotonic()
        send(port)
        assert time.monotonic() - started < 0.2 + SLACK


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((b"554 5.3.2 no service\r\n",), "the server answered 554 5.3.2"),
        ((b"SSH-2.0-OpenSSH_9.2\r\n",), "the server answered -1"),
        ((b"220 " + b"x" * 9000 + b"\r\n",), "the server answered 500"),
        ((GREETING, b"502 no\r\n", b"502 no\r\n"), "the server answered 502"),
        ((GREETING, EHLO_TLS, b"454 4.7.0 no\r\n"), "the server answered 454 4.7.0"),
        ((GREETING, EHLO_TLS, b"220 go\r\n", b"250 what?\r\n"), "TLS: WRONG_VERSION_NUMBER"),
    ],
)
def test_answers_out_of_place_are_failures_that_may_pass(answers: Sequence[bytes], reason: str) -> None:
    with misbehaving(answering(*answers)) as port:
        error = refusal(port, seconds=5.0)
    assert (str(error), error.permanent) == (reason, False)


def test_answers_smuggled_in_before_tls_are_forgotten(certificates: Certificates) -> None:
    def script(connection: socket.socket) -> None:
        smuggled = b"220 go\r\n250-mail.test\r\n250 SMTPUTF8\r\n"
        answering(GREETING, EHLO_TLS, smuggled)(connection)
        with certificates.server.wrap_socket(connection, server_side=True) as encrypted:
            answering(b"", b"250 mail.test\r\n")(encrypted)

    letter = Letter("j\u00f6rg@example.com", "Hello", "t\n", "<p>\n")
    with misbehaving(script) as port:
        error = refusal(port, context=certificates.client, letter=letter)
    assert str(error) == "the server does not accept non-ASCII addresses (SMTPUTF8)"


def test_a_server_that_never_stops_answering_fills_no_memory() -> None:
    def script(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"220-x\r\n" * 1000)

    with misbehaving(script) as port:
        error = refusal(port)
    assert (str(error), error.permanent) == ("the server closed the connection", False)


def test_a_server_that_hangs_up() -> None:
    def script(connection: socket.socket) -> None:
        answering(GREETING, EHLO)(connection)
        connection.shutdown(socket.SHUT_RDWR)

    with misbehaving(script) as port:
        error = refusal(port)
    assert (str(error), error.permanent) == ("the server closed the connection", False)


def test_a_server_of_before_smtputf8_is_not_given_an_international_address() -> None:
    letter = Letter("j\u00f6rg@example.com", "Hello", "t\n", "<p>\n")
    for answers in ((GREETING, EHLO), (GREETING, b"502 no\r\n", OK)):
        with misbehaving(answering(*answers)) as port:
            error = refusal(port, letter=letter)
        assert str(error) == "the server does not accept non-ASCII addresses (SMTPUTF8)"
        assert error.permanent


def test_an_old_server_that_knows_only_helo_is_given_the_mail() -> None:
    with misbehaving(answering(GREETING, b"502 no\r\n", OK, OK, OK, GO_ON, b"250 queued\r\n", OK)) as port:
        send(port)


# ------------------------------------------------------------------------------------------- stopping, the queue


@pytest.mark.parametrize("stage", ["greeting", "handshake", "implicit handshake", "after data"])
def test_closing_breaks_off_what_hangs(stage: str) -> None:
    script, options = HANGING[stage]
    reached = threading.Event()

    def announced(connection: socket.socket) -> None:
        script(connection)
        reached.set()

    with misbehaving(announced) as port:
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


def test_the_queue_over_a_server_that_hangs_then_greylists_then_takes_it(
    clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    db = Database(None)
    given_up: list[tuple[str, int]] = []

    def lost(tx: Transaction, template: str, subject_id: int) -> None:
        given_up.append((template, subject_id))

    def step(port: int) -> float | None:
        post = MailSettings(SmtpTransport(f"smtp://127.0.0.1:{port}"), SENDER, SHORT)
        return mail.send_due(db, post, clock.now(), render=lambda *_: LETTER, on_give_up=lost)

    with db.write() as tx:
        mail.enqueue(tx, "reset", 1, clock.now())
        mail.enqueue(tx, "reset", 2, clock.now())
    with caplog.at_level(logging.DEBUG, "finapi"):
        with misbehaving(silent) as port:
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
