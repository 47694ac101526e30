"""Tests of mail: letters as messages, transports that need no server, and the queue."""

from __future__ import annotations

import logging
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, message_from_string
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import default as default_policy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.net import letters, mail
from finapi.net.letters import Letter, MailError, MailStoppedError
from finapi.net.mail import MailSettings, MemoryTransport
from finapi.net.messages import build_message
from finapi.net.smtp import SmtpTransport
from finapi.store.db import ConstraintError, Database, Row, Transaction
from finapi.verbs.serving_verbs import uses_default_sender
from tests.conftest import NOW
from tests.leftovers import leave_folder
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

SENDER = "finapi <no-reply@finapi.example>"
LINK = "https://finapi.example/auth/verifyEmail?token=" + "0123456789abcdef" * 16
LETTER = Letter("ann@example.com", "Verify your address", f"Open\n{LINK}\n", f'<p><a href="{LINK}">Open</a></p>\n')


def parse_message(data: bytes) -> EmailMessage:
    message = message_from_bytes(data, policy=default_policy)
    assert isinstance(message, EmailMessage)
    return message


def sent_again(message: EmailMessage) -> EmailMessage:
    """Return the message as a receiver parses it, without any defect."""
    received = parse_message(message.as_bytes())
    for part in received.walk():
        assert part.defects == []
        assert [value.defects for value in part.values()] == [()] * len(part)
    return received


def texts(message: EmailMessage) -> list[str]:
    """Return the bodies, with the line ends of a text instead of those of a mail."""
    return [part.get_content().replace("\r\n", "\n") for part in message.iter_parts()]


def letter(
    recipient: str = "ann@example.com", subject: str = "Hello", text: str = "t\n", html: str = "<p>\n"
) -> Letter:
    return Letter(recipient, subject, text, html)


# ------------------------------------------------------------------------------------------------ messages


@run_each_case(
    "settings, forgotten",
    [
        ({"smtp_url": "smtp://mail.example.com"}, True),
        ({"smtp_url": "smtp://mail.example.com", "mail_from": "finapi <a@example.com>"}, False),
        ({"smtp_url": "smtp://mail.example.com", "mail_dir": "mails"}, False),
        ({}, False),
    ],
)
def test_a_mail_server_without_a_sender_setting_is_warned_of(settings: dict[str, str], *, forgotten: bool) -> None:
    assert uses_default_sender(Config(**settings)) is forgotten  # type: ignore[arg-type]


def test_a_letter_becomes_a_message_with_these_headers() -> None:
    message = sent_again(build_message(LETTER, SENDER, NOW, "7.20260131"))
    assert {name: str(value) for name, value in message.items()} == {
        "From": "finapi <no-reply@finapi.example>",
        "To": "ann@example.com",
        "Subject": "Verify your address",
        "Date": "Sat, 31 Jan 2026 12:00:00 +0000",
        "Message-ID": "<7.20260131@finapi.example>",
        "Auto-Submitted": "auto-generated",
        "MIME-Version": "1.0",
        "Content-Type": 'multipart/alternative; boundary="=_7.20260131"',
    }
    assert [part.get_content_type() for part in message.iter_parts()] == ["text/plain", "text/html"]
    assert texts(message) == [LETTER.text, LETTER.html]


def test_a_message_built_again_has_the_same_bytes() -> None:
    first, second = (build_message(LETTER, SENDER, NOW, "7") for _ in range(2))
    assert first.as_bytes() == second.as_bytes()
    # The classes of headers are created once.
    assert [type(header) for header in first.values()] == [type(header) for header in second.values()]


def test_a_long_link_stands_in_one_line_of_the_message() -> None:
    data = build_message(LETTER, SENDER, NOW, "7").as_bytes()
    assert f"\r\n{LINK}\r\n".encode() in data
    assert f'<a href="{LINK}">'.encode() in data


def test_a_message_is_seven_bit_with_crlf_and_short_lines() -> None:
    text = "é" * 5000 + "\n" + "x" * 5000 + "\n.\n\x00\x07 日本語\n"
    message = build_message(letter(subject="日本語 " * 60, text=text, html=text), SENDER, NOW, "7")
    lines = message.as_bytes().split(b"\r\n")
    assert all(line.isascii() and len(line) <= 78 for line in lines)
    assert not any(byte in line for line in lines for byte in b"\r\n\x00\x07")
    assert texts(sent_again(message)) == [text, text]


PRINTABLE = st.characters(exclude_categories=["C", "Z"], include_characters=" ")


@pytest.mark.slow
@given(st.text(PRINTABLE, max_size=300))
@settings(deadline=None)
def test_a_subject_arrives_as_it_was_written_in_lines_of_78(subject: str) -> None:
    data = build_message(letter(subject=subject), SENDER, NOW, "7").as_bytes()
    head = data.partition(b"\r\n\r\n")[0]
    assert max(len(line) for line in head.split(b"\r\n")) <= 78
    assert str(parse_message(data)["Subject"]) == subject


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=300))
@settings(deadline=None)
def test_a_text_arrives_as_it_was_written(text: str) -> None:
    text += "\n"
    data = build_message(letter(text=text, html=text), SENDER, NOW, "7").as_bytes()
    assert data.isascii()
    assert texts(parse_message(data)) == [text, text]


@run_each_case(
    "subject", ["a\r\nBcc: eve@example.com", "a\nb", "a\rb", "a\n", "a\x00", "a\x0bb", "a\x85b", "a\u2028b", "a\tb"]
)
def test_a_subject_that_could_begin_another_header_is_refused(subject: str) -> None:
    with pytest.raises(MailError) as caught:
        build_message(letter(subject=subject), SENDER, NOW, "7")
    assert caught.value.permanent


INJECTIONS = [
    "",
    "ann",
    "@",
    "ann@",
    "@example.com",
    "ann@example.com\r\nBcc: eve@example.com",
    "ann@example.com\nBcc: eve@example.com",
    "ann@example.com\r",
    "ann@example.com\n",
    "\nann@example.com",
    "ann\r\nRCPT TO:<eve@example.com>@example.com",
    "ann@example.com\x00",
    "ann\x00@example.com",
    "ann@example.com\x0bx",
    "ann@example.com\x85",
    "ann@example\u2028.com",
    "ann\u202e@example.com",
    "ann\u00a0x@example.com",
    "ann\udce9@example.com",
    "ann @example.com",
    "ann@ example.com",
    " ann@example.com",
    "ann@example.com ",
    "ann\t@example.com",
    "ann@example.com,eve@example.com",
    "ann@example.com;eve@example.com",
    "ann@example.com eve@example.com",
    "Ann <ann@example.com>",
    "<ann@example.com>",
    "ann@example.com>",
    "ann@example.com> SIZE=1",
    "ann@example.com (comment)",
    "group:ann@example.com;",
    "ann@eve@example.com",
    '"ann eve"@example.com',
    '"ann"@example.com',
    "ann\\@example.com",
    "ann..eve@example.com",
    ".ann@example.com",
    "ann.@example.com",
    "ann@example..com",
    "ann@.example.com",
    "ann@example.com.",
    "ann@-example.com",
    "ann@example-.com",
    "ann@exa_mple.com",
    "ann@[127.0.0.1]",
    "ann@example\u3002com",
    "ann@example.com\uff20eve.example",
    "ann@eve\uff0fexample.com",
    "ann@\u00a8.example",
    "ann@example.com:25",
    "=?utf-8?q?ann=0d=0aBcc:_eve?=@example.com",
    "=?utf-8?q?ann?=@example.com",
    "a" * 65 + "@example.com",
    "é" * 33 + "@example.com",
    "ann@" + "a" * 64 + ".com",
    "ann@" + "a." * 124 + "com",
]


@run_each_case("text", INJECTIONS)
def test_an_invalid_address_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(MailError) as caught:
        build_message(letter(recipient=text), SENDER, NOW, "7")
    assert caught.value.permanent
    assert caught.value.reason == str(caught.value) == "mail cannot be sent to this address"


@run_each_case(
    "text",
    [
        "ann@example.com",
        "Ann.O'Neil+tag@Mail.Example.COM",
        "a!#$%&'*+/?=^_`{|}~-b@example.com",
        "root@localhost",
        "1@2.example",
        "a" * 64 + "@example.com",
        "a" * 60 + "@" + ("b" * 60 + ".") * 3 + "example",
    ],
)
def test_an_address_is_written_as_it_is_and_never_folded(text: str) -> None:
    message = build_message(letter(recipient=text), SENDER, NOW, "7")
    assert f"\r\nTo: {text}\r\n".encode() in message.as_bytes()
    assert sent_again(message)["To"].addresses[0].addr_spec == text
    assert message.as_bytes().isascii()


@pytest.mark.parametrize("text", ["j\u00f6rg@example.com", "\u7528\u6237@example.com", "ann@stra\u00dfe.example"])
def test_only_an_address_outside_ascii_is_written_in_utf8(text: str) -> None:
    lines = build_message(letter(recipient=text, subject="Gr\u00fc\u00dfe"), SENDER, NOW, "7").as_bytes().split(b"\r\n")
    assert [line for line in lines if not line.isascii()] == [f"To: {text}".encode()]


@run_each_case(
    "text, written",
    [
        ("ann@b\u00fccher.example", "ann@xn--bcher-kva.example"),
        ("ann@B\u00dcCHER.example", "ann@xn--bcher-kva.example"),
        ("ann@\u4f8b\u3048.\u30c6\u30b9\u30c8", "ann@xn--r8jz45g.xn--zckzah"),
        # What IDNA 2003 would make of these is another domain, or none.
        ("ann@stra\u00dfe.example", "ann@stra\u00dfe.example"),
        ("ann@ex\uff41mple.com", "ann@ex\uff41mple.com"),
        ("ann@\u0e44\u0e17\u0e22.example", "ann@xn--o3cw4h.example"),
        ("ann@\u092d\u093e\u0930\u0924.example", "ann@xn--h2brj9c.example"),
    ],
)
def test_a_domain_becomes_ascii_only_if_it_stays_the_same(text: str, written: str) -> None:
    assert letters.parse_address(text).addr_spec == written


@given(st.text(max_size=40) | st.text('ann@.\u00e9\u4f8b\u093e,;:<>()"\\[]=?_- \t\r\n\x00', max_size=40))
@settings(deadline=None)
def test_an_address_is_refused_or_the_only_one_in_the_message(text: str) -> None:
    try:
        message = build_message(letter(recipient=text), SENDER, NOW, "7")
    except MailError:
        return
    received = message_from_string(message.as_bytes().decode("utf-8"), policy=default_policy)
    assert received.keys() == build_message(LETTER, SENDER, NOW, "7").keys()
    assert [address.addr_spec for address in received["To"].addresses] == [letters.parse_address(text).addr_spec]


@run_each_case(
    "sender, name, address",
    [
        ("no-reply@finapi.example", "", "no-reply@finapi.example"),
        ("<no-reply@finapi.example>", "", "no-reply@finapi.example"),
        ("finapi <no-reply@finapi.example>", "finapi", "no-reply@finapi.example"),
        ('"M\u00fcller, GmbH" <no-reply@finapi.example>', "M\u00fcller, GmbH", "no-reply@finapi.example"),
        ("Figures, Inc. (test) <no-reply@finapi.example>", "Figures, Inc. (test)", "no-reply@finapi.example"),
    ],
)
def test_the_sender_may_have_a_name(sender: str, name: str, address: str) -> None:
    message = build_message(LETTER, sender, NOW, "7")
    (mailbox,) = sent_again(message)["From"].addresses
    assert (mailbox.display_name, mailbox.addr_spec) == (name, address)


def test_a_long_name_is_folded_between_encoded_words() -> None:
    name = "\u65e5\u672c" * 50
    data = build_message(LETTER, f"{name} <no-reply@finapi.example>", NOW, "7").as_bytes()
    assert max(len(line) for line in data.partition(b"\r\n\r\n")[0].split(b"\r\n")) <= 78
    # Not the parser of addresses, which puts spaces between encoded words (Python 3.11).
    sender = make_header(decode_header(message_from_bytes(data)["From"]))
    assert str(sender) == f"{name} <no-reply@finapi.example>"


@run_each_case(
    "sender", ["", "finapi", "finapi <>", "a\nb <no-reply@finapi.example>", "a <b> <c@d>", "x" * 101 + " <c@d>"]
)
def test_a_sender_that_is_not_a_mailbox_is_a_settings_error(sender: str) -> None:
    with pytest.raises(UsageError, match="sender of mail"):
        MailSettings(MemoryTransport(), sender)


@run_each_case("unique", ["", "a b", "a>", "a\n", "a@b", "a" * 61])
def test_a_message_id_takes_only_letters_digits_dots_and_dashes(unique: str) -> None:
    with pytest.raises(ValueError, match="unique"):
        build_message(LETTER, SENDER, NOW, unique)


def test_what_a_letter_says_is_not_in_its_repr() -> None:
    assert repr(LETTER) == "Letter(subject='Verify your address')"


# ---------------------------------------------------------------------------------------------- transports


def test_memory_keeps_the_newest_messages() -> None:
    memory = MemoryTransport(limit=2)
    for unique in ("1", "2", "3"):
        memory.send(build_message(LETTER, SENDER, NOW, unique), 1.0)
    assert [message["Message-ID"] for message in memory.messages()] == ["<2@finapi.example>", "<3@finapi.example>"]
    memory.clear()
    assert memory.messages() == []


def test_a_mail_directory_has_one_private_file_per_mail(tmp_path: Path, clock: FixedClock) -> None:
    path = tmp_path / "new" / "mail"
    directory = mail.create_transport(f"dir:{path}", clock)
    messages = [build_message(LETTER, SENDER, NOW, str(number)) for number in range(12)]
    for number, message in enumerate(messages):
        clock.advance(number // 4)
        directory.send(message, 1.0)
    directory.close()
    files = sorted(path.iterdir())
    assert [file.read_bytes() for file in files] == [message.as_bytes() for message in messages]
    assert files[0].name == "20260131T120000000Z-000001.eml"
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_two_writers_of_one_directory_overwrite_nothing(tmp_path: Path, clock: FixedClock) -> None:
    writers = [mail.DirectoryTransport(tmp_path, clock) for _ in range(4)]
    message = build_message(LETTER, SENDER, NOW, "7")

    def write(directory: mail.DirectoryTransport) -> None:
        for _ in range(10):
            directory.send(message, 1.0)

    threads = [threading.Thread(target=write, args=(directory,)) for directory in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.glob("*.eml"))) == len(list(tmp_path.iterdir())) == 40


def test_leftovers_of_a_crash_are_not_taken_for_mails(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / ".20260131T120000000Z-000001.eml-x1").write_bytes(b"half a ma")
    (tmp_path / "20260131T120000000Z-000001.eml").write_bytes(b"before")
    mail.DirectoryTransport(tmp_path, clock).send(build_message(LETTER, SENDER, NOW, "7"), 1.0)
    assert [file.name for file in sorted(tmp_path.glob("*.eml"))] == [
        "20260131T120000000Z-000001.eml",
        "20260131T120000000Z-000002.eml",
    ]
    assert (tmp_path / "20260131T120000000Z-000001.eml").read_bytes() == b"before"


def test_only_mail_files_are_removed_after_their_time(tmp_path: Path, clock: FixedClock) -> None:
    directory = mail.DirectoryTransport(tmp_path, clock)
    message = build_message(LETTER, SENDER, NOW, "7")
    directory.send(message, 1.0)
    (tmp_path / "20200101T000000000Z-notes.eml").write_text("the operator's own")
    (tmp_path / "old.eml").write_text("the operator's own")
    leave_folder(tmp_path, "mail")
    (tmp_path / ".cache-manifest").write_text("the operator's own")
    clock.advance(7 * 86_400)
    directory.send(message, 1.0)
    assert directory.prune(clock.now() - timedelta(days=7)) == 0
    clock.advance(3599)
    assert directory.prune(clock.now() - timedelta(days=7)) == 0, "looked for again within the hour"
    clock.advance(1)
    assert directory.prune(clock.now() - timedelta(days=7)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".cache-manifest",
        "20200101T000000000Z-notes.eml",
        "20260207T120000000Z-000002.eml",
        "old.eml",
    ]


def test_there_is_nothing_to_remove_where_no_mail_was_written(tmp_path: Path, clock: FixedClock) -> None:
    assert mail.DirectoryTransport(tmp_path / "mail", clock).prune(NOW) == 0
    assert not (tmp_path / "mail").exists()
    assert MemoryTransport().prune(NOW) == SmtpTransport("smtp://localhost").prune(NOW) == 0


def test_a_directory_that_is_open_to_others_is_closed(tmp_path: Path, clock: FixedClock) -> None:
    tmp_path.chmod(0o755)
    mail.DirectoryTransport(tmp_path, clock)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_directory_that_everybody_shares_is_refused(tmp_path: Path, clock: FixedClock) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(UsageError, match="is readable by others; mails contain keys, so name a private directory"):
        mail.DirectoryTransport(tmp_path, clock)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777


def test_an_unwritable_mail_directory_is_a_temporary_failure(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MailError, match="cannot write to the mail directory: Not a directory") as caught:
        mail.DirectoryTransport(tmp_path / "file" / "mail", clock).send(build_message(LETTER, SENDER, NOW, "7"), 1.0)
    assert not caught.value.permanent


@run_each_case(
    "text, host, port",
    [
        ("smtp://mail.example", "mail.example", 25),
        ("smtp://mail.example/", "mail.example", 25),
        ("smtp://u:p@mail.example", "mail.example", 587),
        ("smtp://mail.example:2525?starttls=required", "mail.example", 2525),
        ("smtps://mail.example", "mail.example", 465),
        ("smtps://u%40example.com:p%2F%3A%40@mail.example:1465", "mail.example", 1465),
        ("smtp://[::1]:25", "::1", 25),
    ],
)
def test_a_mail_url_names_host_and_port(text: str, host: str, port: int, clock: FixedClock) -> None:
    smtp = mail.create_transport(text, clock)
    assert isinstance(smtp, SmtpTransport)
    assert (smtp.host, smtp.port) == (host, port)
    assert "%" not in repr(smtp)


def test_memory_and_directory_are_named_by_a_setting(clock: FixedClock, tmp_path: Path) -> None:
    assert isinstance(mail.create_transport("memory:", clock), MemoryTransport)
    assert isinstance(mail.create_transport(f"dir:{tmp_path}", clock), mail.DirectoryTransport)


@run_each_case(
    "text",
    [
        "",
        "hunter2",
        "memory:hunter2",
        "dir:",
        "http://hunter2@mail.example",
        "smtp:hunter2",
        "smtp://",
        "smtp://u:hunter2@",
        "smtp://u:hunter2@mail.example:70000",
        "smtp://u:hunter2/x@mail.example",
        "smtp://u:hunter2#x@mail.example",
        "smtp://u:[hunter2@mail.example",
        "smtp://u:hunter2@mail.example/path",
        "smtp://u:hunter2@mail.example?hunter2",
        "smtp://u:hunter2@mail.example?starttls=hunter2",
        "smtp://u:hunter2@mail.example?tls=required",
        "smtp://hunter2@mail.example",
        "smtp://:hunter2@mail.example",
        "smtp://u:hunter2%C3%A9@mail.example",
        "smtp://u:hunter2%0A@mail.example",
        "smtp://u:hunter2@mail\u2100.example",
        "smtp://u:hunter2@mail..example",
    ],
)
def test_a_wrong_setting_is_reported_without_its_value(text: str, clock: FixedClock) -> None:
    with pytest.raises(UsageError) as caught:
        mail.create_transport(text, clock)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.fixture
def hanging_look_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Replace the resolver by one that hangs until the test ends. Yield an event that is set when it was called."""
    started, over = threading.Event(), threading.Event()

    def look_up(*_: object, flags: int = 0, **__: object) -> list[object]:
        if not flags:
            started.set()
            over.wait(30)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("finapi.net.dial.socket.getaddrinfo", look_up)
    yield started
    over.set()
    for thread in threading.enumerate():
        if thread.name == "finapi-mail-lookup":
            thread.join()


@pytest.mark.usefixtures("hanging_look_up")
def test_a_hanging_lookup_is_within_the_time_limit() -> None:
    started = time.monotonic()
    with pytest.raises(MailError, match=r"no reply within 0\.2 s"):
        SmtpTransport("smtp://mail.example").send(build_message(LETTER, SENDER, NOW, "7"), 0.2)
    assert 0.2 <= time.monotonic() - started < 2.0


def test_a_look_up_that_hangs_ends_with_the_transport(hanging_look_up: threading.Event) -> None:
    smtp = SmtpTransport("smtp://mail.example")

    def close() -> None:
        hanging_look_up.wait(30)
        smtp.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(MailStoppedError, match="finapi is stopping"):
        smtp.send(build_message(LETTER, SENDER, NOW, "7"), 30.0)
    closer.join()


def test_a_name_that_does_not_exist_may_exist_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr("finapi.net.dial.socket.getaddrinfo", look_up)
    with pytest.raises(MailError, match="the server cannot be reached: Name or service not known") as caught:
        SmtpTransport("smtp://mail.example").send(build_message(LETTER, SENDER, NOW, "7"), 5.0)
    assert not caught.value.permanent


def test_a_mail_is_given_ten_seconds() -> None:
    assert MailSettings(MemoryTransport(), SENDER).timeout_seconds == 10.0


# --------------------------------------------------------------------------------------------------- queue

Result = BaseException | None


class Scripted:
    """A transport with scripted outcomes; after the last one it accepts every message."""

    def __init__(self, *results: Result) -> None:
        self.results = list(results)
        self.messages: list[EmailMessage] = []
        self.tried = 0
        self.seconds: list[float] = []
        self.check: Callable[[], None] = lambda: None

    def send(self, message: EmailMessage, seconds: float) -> None:
        self.check()
        self.tried += 1
        self.seconds.append(seconds)
        result = self.results.pop(0) if self.results else None
        if result is not None:
            raise result
        self.messages.append(message)

    def close(self) -> None:
        pass


class Office:
    """A queue with its worker's step, a clock and a table of letters. ``lost`` has the letters that were given up."""

    def __init__(self, clock: FixedClock, transport: Scripted, db: Database | None = None) -> None:
        self.clock = clock
        self.transport = transport
        self.db = db or Database(None)
        self.lost: list[tuple[str, int]] = []
        self.rendered: list[tuple[str, int]] = []
        self.letters: Callable[[str, int], Letter | None] = lambda template, subject_id: LETTER
        transport.check = self.no_transaction

    def no_transaction(self) -> None:
        """Check that no write lock is held during slow work: a transaction inside another is refused."""
        with self.db.write():
            pass

    def enqueue(self, template: str = "verify", subject_id: int = 42) -> int:
        with self.db.write() as tx:
            return mail.enqueue(tx, template, subject_id, self.clock.now())

    def step(self) -> float | None:
        post = MailSettings(self.transport, SENDER)
        now = self.clock.now()
        return mail.send_due(self.db, post, now, render=self._render, on_give_up=self._given_up)

    def _render(self, template: str, subject_id: int) -> Letter | None:
        self.rendered.append((template, subject_id))
        self.no_transaction()
        return self.letters(template, subject_id)

    def _given_up(self, tx: Transaction, template: str, subject_id: int) -> None:
        assert tx.run("forget_mails", before="", limit=1) == 0  # the transaction is open
        self.lost.append((template, subject_id))

    def rows(self) -> list[Row]:
        # Not a query of sql/queries: nothing but a test wants every column of every row.
        return run_sql(self.db, "SELECT * FROM mails ORDER BY id").fetchall()

    def row(self) -> Row:
        (row,) = self.rows()
        return row


@pytest.fixture
def office(clock: FixedClock) -> Iterator[Callable[..., Office]]:
    offices: list[Office] = []

    def make(*results: Result) -> Office:
        offices.append(Office(clock, Scripted(*results)))
        return offices[-1]

    yield make
    for each in offices:
        each.db.close()


def build_greylist_error() -> MailError:
    return MailError("the server refused the recipient: 450 4.2.0")


def test_an_empty_queue_wants_to_be_woken(office: Callable[..., Office]) -> None:
    assert office().step() is None


def test_a_queued_mail_is_sent_once_within_ten_seconds(office: Callable[..., Office], clock: FixedClock) -> None:
    queue = office()
    queue.enqueue("verify", 42)
    assert queue.step() is None
    clock.advance(86400)
    assert queue.step() is None
    (message,) = queue.transport.messages
    assert (queue.transport.tried, queue.transport.seconds) == (1, [10.0])
    assert queue.rendered == [("verify", 42)]
    assert message["To"] == "ann@example.com"
    assert texts(message) == [LETTER.text, LETTER.html]
    row = queue.row()
    assert (row["state"], row["attempts"], row["done_at"], row["last_error"]) == ("sent", 1, iso(NOW), None)


def test_mails_are_sent_in_the_order_of_their_queueing(office: Callable[..., Office]) -> None:
    queue = office()
    for number in (5, 3, 9):
        queue.enqueue("verify", number)
    queue.step()
    assert queue.rendered == [("verify", 5), ("verify", 3), ("verify", 9)]


def test_a_mail_is_given_up_after_retries_at_1_5_30_120_minutes(
    office: Callable[..., Office], clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    queue = office(*[build_greylist_error() for _ in range(9)])
    queue.enqueue("reset", 42)
    for attempt, wait in enumerate([60, 300, 1800, 7200], 1):
        assert queue.step() == wait
        assert queue.transport.tried == attempt
        clock.advance(wait - 0.001)
        assert queue.step() == pytest.approx(0.001)
        assert queue.transport.tried == attempt
        clock.advance(0.001)
    assert queue.lost == []
    with caplog.at_level(logging.WARNING, "finapi.mail"):
        caplog.clear()
        assert queue.step() is None
    assert queue.transport.tried == 5
    assert queue.lost == [("reset", 42)]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", "mail 1 (reset) given up at attempt 5: the server refused the recipient: 450 4.2.0")
    ]
    clock.advance(86400)
    assert queue.step() is None
    assert (queue.transport.tried, queue.lost) == (5, [("reset", 42)])
    row = queue.row()
    assert (row["state"], row["last_error"]) == ("given_up", "the server refused the recipient: 450 4.2.0")


def test_a_retried_mail_arrives_as_the_same_message(
    office: Callable[..., Office], clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    queue = office(build_greylist_error())
    queue.enqueue()
    first = build_message(LETTER, SENDER, NOW, "1.20260131120000000")
    assert queue.step() == 60
    assert [record.getMessage() for record in caplog.records] == [
        "mail 1 (verify) failed at attempt 1: the server refused the recipient: 450 4.2.0; next in 60 s"
    ]
    clock.advance(60)
    assert queue.step() is None
    assert [message.as_bytes() for message in queue.transport.messages] == [first.as_bytes()]
    assert queue.lost == []


def test_a_permanent_refusal_gives_up_and_calls_back_once(office: Callable[..., Office], clock: FixedClock) -> None:
    queue = office(MailError("the server refused the recipient: 550 5.1.1", permanent=True))
    queue.enqueue("reset", 42)
    queue.enqueue("reset", 43)
    assert queue.step() is None
    assert queue.lost == [("reset", 42)]
    assert [row["state"] for row in queue.rows()] == ["given_up", "sent"]


def test_an_address_that_cannot_be_is_given_up_at_once(office: Callable[..., Office]) -> None:
    queue = office()
    queue.letters = lambda template, subject_id: letter(recipient="ann@example.com\nBcc: eve@example.com")
    queue.enqueue()
    assert queue.step() is None
    assert (queue.transport.tried, queue.lost) == (0, [("verify", 42)])


def test_a_mail_that_is_no_longer_wanted_is_dropped(office: Callable[..., Office]) -> None:
    queue = office()
    queue.letters = lambda template, subject_id: None
    queue.enqueue()
    assert queue.step() is None
    assert (queue.transport.tried, queue.lost, queue.row()["state"]) == (0, [], "dropped")


def test_a_template_that_fails_holds_up_no_other_mail(
    office: Callable[..., Office], caplog: pytest.LogCaptureFixture
) -> None:
    queue = office()
    table: dict[str, Letter] = {"verify": LETTER}
    queue.letters = lambda template, subject_id: table[template]
    queue.enqueue("broken")
    queue.enqueue("verify")
    assert queue.step() == 0.0
    assert queue.step() == 60
    assert [(row["state"], row["last_error"]) for row in queue.rows()] == [
        ("queued", "cannot be built: KeyError"),
        ("sent", None),
    ]
    assert "mail 1 (broken) cannot be built" in caplog.text


def test_a_failure_ends_the_pass_and_the_next_sends_the_others(office: Callable[..., Office]) -> None:
    queue = office(build_greylist_error())
    queue.enqueue("verify", 1)
    queue.enqueue("verify", 2)
    assert queue.step() == 0.0
    assert [row["attempts"] for row in queue.rows()] == [1, 0]
    assert queue.step() == 60
    assert [row["state"] for row in queue.rows()] == ["queued", "sent"]


def test_a_pass_sends_twenty_mails_at_most(office: Callable[..., Office]) -> None:
    queue = office()
    for number in range(45):
        queue.enqueue("verify", number)
    assert [queue.step(), len(queue.transport.messages)] == [0.0, 20]
    assert [queue.step(), len(queue.transport.messages)] == [0.0, 40]
    assert [queue.step(), len(queue.transport.messages)] == [None, 45]


def test_an_attempt_cut_off_by_a_crash_is_retried_in_a_minute(office: Callable[..., Office], clock: FixedClock) -> None:
    class Killed(BaseException):
        pass

    queue = office(*[Killed() for _ in range(7)])
    queue.enqueue()
    for attempt in range(1, 8):
        with pytest.raises(Killed):
            queue.step()
        assert (queue.row()["state"], queue.row()["attempts"]) == ("queued", attempt)
        assert queue.step() == 60
        clock.advance(60)
    # However often: no crash loses a mail.
    assert queue.step() is None
    assert len(queue.transport.messages) == 1
    assert queue.lost == []


def test_a_stop_is_no_failure(office: Callable[..., Office], clock: FixedClock) -> None:
    queue = office(*[build_greylist_error() for _ in range(4)], MailStoppedError())
    queue.enqueue()
    for wait in (60, 300, 1800, 7200):
        assert queue.step() == wait
        clock.advance(wait)
    assert queue.step() == 60
    assert (queue.lost, queue.row()["state"]) == ([], "queued")
    clock.advance(60)
    assert queue.step() is None
    assert queue.row()["state"] == "sent"


def test_a_row_claimed_by_another_pass_is_left_alone(office: Callable[..., Office]) -> None:
    queue = office()
    queue.enqueue("verify", 1)
    queue.enqueue("verify", 2)
    inner: list[float | None] = []

    def render(template: str, subject_id: int) -> Letter:
        queue.letters = lambda template, subject_id: LETTER
        return LETTER

    queue.letters = render
    original = queue._render

    def nested(template: str, subject_id: int) -> Letter | None:
        queue._render = original  # type: ignore[method-assign]
        inner.append(queue.step())
        return original(template, subject_id)

    queue._render = nested  # type: ignore[method-assign]
    queue.step()
    # The pass inside sent the second mail; the first was claimed, and the outer pass sent it alone.
    assert inner == [60]
    assert queue.rendered == [("verify", 2), ("verify", 1)]
    assert [(row["state"], row["attempts"]) for row in queue.rows()] == [("sent", 1), ("sent", 1)]


def test_a_give_up_that_fails_is_rolled_back_and_called_again(office: Callable[..., Office], clock: FixedClock) -> None:
    queue = office(*[MailError("no", permanent=True) for _ in range(2)])
    queue.enqueue()

    def fail(tx: Transaction, template: str, subject_id: int) -> None:
        raise RuntimeError("no such table")

    original, queue._given_up = queue._given_up, fail  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        queue.step()
    assert queue.row()["state"] == "queued"
    queue._given_up = original  # type: ignore[method-assign]
    clock.advance(60)
    assert queue.step() is None
    assert queue.lost == [("verify", 42)]


def test_the_record_of_a_mail_is_kept_for_thirty_days(office: Callable[..., Office], clock: FixedClock) -> None:
    queue = office(None, MailError("no", permanent=True))
    queue.enqueue("old", 1)
    queue.enqueue("old", 2)
    queue.step()
    clock.advance(timedelta(days=30).total_seconds())
    queue.enqueue("new", 3)
    queue.step()
    assert [row["template"] for row in queue.rows()] == ["old", "old", "new"]
    clock.advance(1)
    queue.enqueue("new", 4)
    queue.step()
    assert [row["template"] for row in queue.rows()] == ["new", "new"]


def test_the_queue_survives_a_restart_without_personal_data(tmp_path: Path, clock: FixedClock) -> None:
    path = tmp_path / "finapi.db"
    before = Office(clock, Scripted(build_greylist_error()), Database(path))
    before.enqueue("verify", 42)
    before.step()
    before.db.close()
    data = path.read_bytes()
    assert b"verify" in data
    for secret in (b"example", b"http", b"0123456789abcdef", b"Open"):
        assert secret not in data
    clock.advance(60)
    after = Office(clock, Scripted(), Database(path))
    assert after.step() is None
    assert [message["Message-ID"] for message in after.transport.messages] == ["<1.20260131120000000@finapi.example>"]
    after.db.close()


def test_logs_and_records_hold_no_address_and_no_link(
    office: Callable[..., Office], clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    queue = office(*[build_greylist_error() for _ in range(5)])
    queue.enqueue()
    with caplog.at_level(logging.DEBUG):
        for wait in (60, 300, 1800, 7200, 0):
            queue.step()
            clock.advance(wait)
    assert len(caplog.records) == 5
    assert "example" not in caplog.text
    assert "example" not in str([tuple(row) for row in queue.rows()])


def test_a_letter_sent_directly_raises_its_failure() -> None:
    transport = Scripted(None, build_greylist_error())
    post = MailSettings(transport, SENDER, timeout_seconds=3.0)
    mail.send_now(post, LETTER, datetime(2026, 1, 31, 12, tzinfo=UTC), "abc")
    assert [message["Message-ID"] for message in transport.messages] == ["<abc@finapi.example>"]
    with pytest.raises(MailError, match="450"):
        mail.send_now(post, LETTER, NOW, "abd")
    assert transport.seconds == [3.0, 3.0]


@run_each_case(
    "change",
    [
        "state = 'lost'",
        "state = 'sent'",
        "done_at = '2026-01-31T12:00:00.000Z'",
        "attempts = -1",
        "template = ''",
        "template = NULL",
        "subject_id = 'ann@example.com'",
        "due_at = NULL",
    ],
)
def test_the_database_refuses_a_row_that_means_nothing(office: Callable[..., Office], change: str) -> None:
    queue = office()
    queue.enqueue()
    with pytest.raises(ConstraintError):
        run_sql(queue.db, f"UPDATE mails SET {change}")


@pytest.mark.parametrize(
    ("query", "index"), [("due_mails", "mails_due"), ("next_mail_due", "mails_due"), ("forget_mails", "mails_done")]
)
def test_the_queries_of_the_queue_use_its_indexes(office: Callable[..., Office], query: str, index: str) -> None:
    db = office().db
    values = {"now": iso(NOW), "latest": iso(NOW), "limit": 20, "before": iso(NOW)}
    plan = run_sql(db, f"EXPLAIN QUERY PLAN {db._queries[query]}", values).fetchall()
    assert any(index in step["detail"] for step in plan)
