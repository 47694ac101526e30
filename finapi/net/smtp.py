"""SMTP: one message to one server, with one deadline for everything (RFC 5321, 3207, 4954, 6531, 8314).

Errors contain our own words and the server's codes, never the server's text, which may repeat an address.
"""

from __future__ import annotations

import io
import ipaddress
import re
import smtplib
import socket
import ssl
from contextlib import ExitStack, suppress
from datetime import datetime
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from finapi.core.errors import UsageError
from finapi.net.dial import CHUNK_BYTES, BoundedReader, Deadline, Dialer, describe_failure
from finapi.net.letters import MailError, MailStoppedError

QUIT_SECONDS = 1.0  # The wait for the answer to QUIT. The mail is accepted already.
MAX_REPLY_BYTES = 64 * 1024  # The total size of the server's answers in a conversation.

_ENHANCED_CODE = re.compile(rb"[245]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9.])")  # RFC 3463


class _Conversation(smtplib.SMTP):
    """An smtplib conversation with one deadline instead of a timeout per operation.

    A server that sends one byte a second would never exceed a timeout per operation.
    """

    def __init__(self, sock: socket.socket, name: str, deadline: Deadline) -> None:
        super().__init__(local_hostname=name)  # smtplib connects only if it gets a host.
        self.sock = sock
        self.deadline = deadline

    def send(self, s: Any) -> None:
        """Send data in chunks, each with the time that is left until the deadline."""
        data = s.encode(self.command_encoding) if isinstance(s, str) else s
        for start in range(0, len(data), CHUNK_BYTES):
            if self.sock is not None:
                self.sock.settimeout(self.deadline.get_seconds_left())
            super().send(data[start : start + CHUNK_BYTES])

    def getreply(self) -> tuple[int, bytes]:
        """Return the code and the text of the next answer."""
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(BoundedReader(self.sock, self.deadline, MAX_REPLY_BYTES))
        return super().getreply()

    def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        """Continue with TLS. Everything read before it is dropped (RFC 3207, 4.2), buffered bytes included."""
        assert self.sock is not None
        self.sock.settimeout(self.deadline.get_seconds_left())
        self.sock = context.wrap_socket(self.sock, server_hostname=host)
        self.file = None
        self.helo_resp = self.ehlo_resp = None
        self.esmtp_features = {}
        self.does_esmtp = False


class SmtpTransport:
    """The transport for ``smtp://[user:password@]host[:port][?starttls=...]`` and ``smtps://...``.

    ``smtps`` uses TLS from the first byte, on port 465 (RFC 8314). ``smtp`` uses STARTTLS, on port 587 with a login and
    25 without one; ``starttls`` is ``required`` (the default, except on loopback), ``offered`` or ``never``. A login is
    only sent over TLS or to a loopback address, unless ``never`` is set. A mistake in the URL raises UsageError.
    """

    def __init__(self, url: str, *, context: ssl.SSLContext | None = None) -> None:
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            port = parts.port
            (parts.hostname or "").encode("idna")  # A look-up encodes it too, so a wrong name is found now.
        except ValueError:
            raise UsageError("the mail URL cannot be read (special characters need %XX)") from None
        self.host = parts.hostname or ""
        self._user = unquote(parts.username or "")
        self._password = unquote(parts.password or "")
        self._implicit = parts.scheme == "smtps"
        self._starttls = options.pop("starttls", "")
        self.port = port or (465 if self._implicit else 587 if self._user else 25)
        self._dialer = Dialer(context=context)
        login = self._user + self._password
        if parts.scheme not in ("smtp", "smtps") or not self.host or parts.path not in ("", "/") or options:
            raise UsageError("the mail URL must be smtp[s]://[user:password@]host[:port][?starttls=...]")
        if self._starttls not in ("", "offered", "required", "never"):
            raise UsageError("starttls in the mail URL must be offered, required or never")
        if not (login.isascii() and login.isprintable()) or bool(self._user) != bool(self._password):
            raise UsageError("the mail URL needs both user and password, in printable ASCII, or neither")

    def send(self, message: EmailMessage | None, seconds: float) -> None:
        """Connect, log in and send the message, if there is one, within ``seconds``.

        Raise a permanent MailError for a 5xx to MAIL, RCPT or DATA, and a temporary one for anything else: the operator
        can correct a wrong password or certificate, and then the mails in the queue are sent.
        """
        deadline = Deadline(seconds)
        try:
            with ExitStack() as stack:
                addresses = self._dialer.resolve(self.host, deadline)
                sock = self._dialer.connect(addresses, self.port, deadline, stack)
                conversation = _Conversation(sock, _build_ehlo_name(sock), deadline)
                stack.callback(conversation.close)
                self._greet(conversation)
                if message is not None:
                    _deliver(conversation, message)
        except (OSError, ValueError) as error:
            if self._dialer.closed:
                raise MailStoppedError from None
            # from None: the library's errors contain the texts of the conversation.
            raise _build_mail_error(error, deadline) from None

    def close(self) -> None:
        """Interrupt a mail being sent and refuse later ones."""
        self._dialer.close()

    def prune(self, before: datetime) -> int:
        """Return 0: sent mails are not stored."""
        return 0

    def _greet(self, conversation: _Conversation) -> None:
        """Exchange greetings, start TLS and log in. Raise MailError if a required step is not possible."""
        encrypted = False
        if self._implicit:
            conversation.encrypt(self._dialer.tls_context, self.host)
            encrypted = True
        code, answer = conversation.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, answer)
        conversation.ehlo_or_helo_if_needed()
        if not encrypted and self._starttls != "never" and conversation.has_extn("starttls"):
            code, answer = conversation.docmd("STARTTLS")
            if code != 220:
                raise smtplib.SMTPResponseException(code, answer)
            conversation.encrypt(self._dialer.tls_context, self.host)
            conversation.ehlo_or_helo_if_needed()
            encrypted = True
        required = self._starttls == "required" or (not self._starttls and not _is_loopback(conversation))
        if not encrypted and required:
            raise MailError("the server offers no STARTTLS")
        if self._user:
            if not encrypted and self._starttls != "never" and not _is_loopback(conversation):
                raise MailError("the server offers no TLS, and a login is never sent without it")
            conversation.login(self._user, self._password)


def _deliver(conversation: _Conversation, message: EmailMessage) -> None:
    sender = message["From"].addresses[0].addr_spec
    recipient = message["To"].addresses[0].addr_spec
    options: list[str] = []
    if not (sender + recipient).isascii():
        if not conversation.has_extn("smtputf8"):
            raise MailError("the server does not accept non-ASCII addresses (SMTPUTF8)", permanent=True)
        options = ["SMTPUTF8", "BODY=8BITMIME"]
    conversation.sendmail(sender, [recipient], message.as_bytes(), options)
    # The server has accepted the mail. A failed QUIT does not change that.
    with suppress(OSError):
        conversation.deadline.shorten(QUIT_SECONDS)
        conversation.docmd("QUIT")


def _build_mail_error(error: OSError | ValueError, deadline: Deadline) -> MailError:
    """Return the MailError of an error, with the server's codes but nothing else that was sent or received."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
        return MailError(
            f"the server refused the recipient: {_format_codes(code, answer)}", permanent=_is_permanent(code)
        )
    if isinstance(error, smtplib.SMTPResponseException):
        refusal = next((text for kind, text in _REFUSALS if isinstance(error, kind)), "the server answered")
        concerns_mail = isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError)
        codes = _format_codes(error.smtp_code, error.smtp_error)
        return MailError(f"{refusal} {codes}", permanent=concerns_mail and _is_permanent(error.smtp_code))
    reason = describe_failure(error, deadline)
    if reason is None:
        reason = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    return MailError(reason or f"the server cannot be reached: {getattr(error, 'strerror', None) or error}")


# The first class that matches an error decides.
_REFUSALS: tuple[tuple[type[Exception], str], ...] = (
    (smtplib.SMTPSenderRefused, "the server refused the sender:"),
    (smtplib.SMTPDataError, "the server refused the mail:"),
    (smtplib.SMTPAuthenticationError, "the server refused the login:"),
)
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (smtplib.SMTPServerDisconnected, "the server closed the connection"),
    (smtplib.SMTPException, "the server offers no login that finapi can use"),
    (ValueError, "the server's answers make no sense"),
)


def _is_permanent(code: int) -> bool:
    # RFC 4954, 6: 530, 534 and 538 require a login or TLS, which concerns the settings, not this mail.
    return 500 <= code <= 599 and code not in (530, 534, 538)


def _format_codes(code: int, answer: bytes | str) -> str:
    enhanced = _ENHANCED_CODE.match(answer if isinstance(answer, bytes) else b"")
    return f"{code} {enhanced[0].decode()}" if enhanced else str(code)


def _build_ehlo_name(sock: socket.socket) -> str:
    """Return the name for EHLO: the host's name if it has a domain, else its address (RFC 5321, 4.1.3).

    ``getfqdn`` is not used, because it waits for a name server without a limit.
    """
    name = socket.gethostname()
    if re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", name):
        return name
    address = sock.getsockname()[0].partition("%")[0]
    return f"[IPv6:{address}]" if ":" in address else f"[{address}]"


def _is_loopback(conversation: _Conversation) -> bool:
    assert conversation.sock is not None
    return ipaddress.ip_address(conversation.sock.getpeername()[0].partition("%")[0]).is_loopback
