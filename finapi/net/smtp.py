"""SMTP: one message to one server, under one deadline for all of it (RFC 5321, 3207, 4954, 6531, 8314).

What goes wrong is told in words of our own and the server's codes, never in the server's text, which may
repeat an address.
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
from finapi.net.dial import CHUNK, Deadline, Dialler, Incoming, failure
from finapi.net.letters import MailError, MailStopped

QUIT_SECONDS = 1.0  # for the answer to QUIT, when the mail has long been accepted
REPLY_BYTES = 64 * 1024  # of all answers in a conversation; a server that says more is broken

_ENHANCED_CODE = re.compile(rb"[245]\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9.])")  # RFC 3463


class _Conversation(smtplib.SMTP):
    """smtplib's, under one deadline instead of a timeout for each operation.

    A server that sends a byte a second would never meet the latter.
    """

    def __init__(self, sock: socket.socket, name: str, deadline: Deadline) -> None:
        super().__init__(local_hostname=name)  # without a host it does not connect
        self.sock = sock
        self.deadline = deadline

    def send(self, s: Any) -> None:
        """Write it in pieces, each within what is left of the deadline."""
        data = s.encode(self.command_encoding) if isinstance(s, str) else s
        for start in range(0, len(data), CHUNK):
            if self.sock is not None:
                self.sock.settimeout(self.deadline.left())
            super().send(data[start : start + CHUNK])

    def getreply(self) -> tuple[int, bytes]:
        """The next answer: its code and text."""
        if self.file is None and self.sock is not None:
            self.file = io.BufferedReader(Incoming(self.sock, self.deadline, REPLY_BYTES))
        return super().getreply()

    def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        """Go on under TLS. What was read before it is forgotten (RFC 3207 4.2), buffered bytes included."""
        assert self.sock is not None
        self.sock.settimeout(self.deadline.left())
        self.sock = context.wrap_socket(self.sock, server_hostname=host)
        self.file = None
        self.helo_resp = self.ehlo_resp = None
        self.esmtp_features = {}
        self.does_esmtp = False


class Smtp:
    """Sends to the server of ``smtp://[user:password@]host[:port][?starttls=...]`` or ``smtps://...``.

    ``smtps`` is TLS from the first byte, port 465 (RFC 8314). ``smtp`` is STARTTLS, port 587 with a login and 25
    without: ``required`` (the default, but on loopback),
    ``offered`` or ``never``. A login goes over TLS or to a
    loopback address, unless ``never`` is set. A mistake in the URL is a UsageError.
    """

    def __init__(self, url: str, *, context: ssl.SSLContext | None = None) -> None:
        try:
            parts = urlsplit(url)
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            port = parts.port
            (parts.hostname or "").encode("idna")  # as a look-up will
        except ValueError:
            raise UsageError("the mail URL cannot be read (special characters need %XX)") from None
        self.host = parts.hostname or ""
        self._user = unquote(parts.username or "")
        self._password = unquote(parts.password or "")
        self._implicit = parts.scheme == "smtps"
        self._starttls = options.pop("starttls", "")
        self.port = port or (465 if self._implicit else 587 if self._user else 25)
        self._dialler = Dialler(context=context)
        login = self._user + self._password
        if parts.scheme not in ("smtp", "smtps") or not self.host or parts.path not in ("", "/") or options:
            raise UsageError("the mail URL must be smtp[s]://[user:password@]host[:port][?starttls=...]")
        if self._starttls not in ("", "offered", "required", "never"):
            raise UsageError("starttls in the mail URL must be offered, required or never")
        if not (login.isascii() and login.isprintable()) or bool(self._user) != bool(self._password):
            raise UsageError("the mail URL needs both user and password, in printable ASCII, or neither")

    def send(self, message: EmailMessage | None, seconds: float) -> None:
        """Hand the message, if there is one, to the server: a connection of its own, all of it within ``seconds``.

        A 5xx that concerns the mail (to MAIL, RCPT or DATA) is a permanent MailError, anything else one that may pass:
        a wrong password or certificate is mended by the operator, not by giving up what waits.
        """
        deadline = Deadline(seconds)
        try:
            with ExitStack() as stack:
                addresses = self._dialler.addresses(self.host, deadline)
                sock = self._dialler.connect(addresses, self.port, deadline, stack)
                conversation = _Conversation(sock, _own_name(sock), deadline)
                stack.callback(conversation.close)
                self._greet(conversation)
                if message is not None:
                    _deliver(conversation, message)
        except (OSError, ValueError) as error:
            if self._dialler.closed:
                raise MailStopped from None
            # from None: the library's own errors repeat what was sent and answered.
            raise _failure(error, deadline) from None

    def close(self) -> None:
        """Break off what is being sent and refuse what comes later."""
        self._dialler.close()

    def prune(self, before: datetime) -> int:
        """Nothing to remove: what was sent is not kept."""
        return 0

    def _greet(self, conversation: _Conversation) -> None:
        """From the open connection to the point where mail is taken: greeting, TLS, login."""
        encrypted = False
        if self._implicit:
            conversation.encrypt(self._dialler.trust, self.host)
            encrypted = True
        code, answer = conversation.getreply()
        if code != 220:
            raise smtplib.SMTPConnectError(code, answer)
        conversation.ehlo_or_helo_if_needed()
        if not encrypted and self._starttls != "never" and conversation.has_extn("starttls"):
            code, answer = conversation.docmd("STARTTLS")
            if code != 220:
                raise smtplib.SMTPResponseException(code, answer)
            conversation.encrypt(self._dialler.trust, self.host)
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
    sender, to = (message[name].addresses[0].addr_spec for name in ("From", "To"))
    options: list[str] = []
    if not (sender + to).isascii():
        if not conversation.has_extn("smtputf8"):
            raise MailError("the server does not accept non-ASCII addresses (SMTPUTF8)", permanent=True)
        options = ["SMTPUTF8", "BODY=8BITMIME"]
    conversation.sendmail(sender, [to], message.as_bytes(), options)
    # The mail is the server's now; whatever happens to the farewell cannot undo that.
    with suppress(OSError):
        conversation.deadline.shorten(QUIT_SECONDS)
        conversation.docmd("QUIT")


def _failure(error: OSError | ValueError, deadline: Deadline) -> MailError:
    """What went wrong, in words that repeat nothing of what was sent or answered but codes and our own."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
        return MailError(f"the server refused the recipient: {_codes(code, answer)}", permanent=_final(code))
    if isinstance(error, smtplib.SMTPResponseException):
        said = next((text for kind, text in _REFUSALS if isinstance(error, kind)), "the server answered")
        concerns_mail = isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError)
        codes = _codes(error.smtp_code, error.smtp_error)
        return MailError(f"{said} {codes}", permanent=concerns_mail and _final(error.smtp_code))
    told = failure(error, deadline) or next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    return MailError(told or f"the server cannot be reached: {getattr(error, 'strerror', None) or error}")


# The first class that an error is of decides.
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


def _final(code: int) -> bool:
    # RFC 4954 6: 530, 534 and 538 ask for a login or for TLS, which concerns the settings, not this mail.
    return 500 <= code <= 599 and code not in (530, 534, 538)


def _codes(code: int, answer: bytes | str) -> str:
    enhanced = _ENHANCED_CODE.match(answer if isinstance(answer, bytes) else b"")
    return f"{code} {enhanced[0].decode()}" if enhanced else str(code)


def _own_name(sock: socket.socket) -> str:
    """What EHLO says: the host's name if it has a domain, else the address (RFC 5321 4.1.3).

    Not ``getfqdn``, which asks a name server for as long as it likes.
    """
    name = socket.gethostname()
    if re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", name):
        return name
    own = sock.getsockname()[0].partition("%")[0]
    return f"[IPv6:{own}]" if ":" in own else f"[{own}]"


def _is_loopback(conversation: _Conversation) -> bool:
    assert conversation.sock is not None
    return ipaddress.ip_address(conversation.sock.getpeername()[0].partition("%")[0]).is_loopback
