"""MIME messages of letters, in bytes that every mail server accepts (RFC 5322, 2046, 2047, 6532)."""

from __future__ import annotations

import re
from datetime import datetime
from email.header import Header
from email.headerregistry import Address, HeaderRegistry
from email.message import EmailMessage
from email.policy import EmailPolicy
from functools import cache
from typing import Any

from finapi.net import letters
from finapi.net.letters import Letter, MailAddress, MailError

_PLAIN_LINE = re.compile(r"[\t -~]{0,998}")  # A line that every server must accept (RFC 5322, 2.1.1).

_PLAIN_SUBJECT = re.compile(r"(?! )[ -~]{1,67}(?<! )")  # Including "Subject: ", the line has at most 78 characters.
_UNIQUE = re.compile(r"[A-Za-z0-9.-]{1,60}")  # With the prefix "=_" short enough for a boundary (RFC 2046).


class _HeaderFactory(HeaderRegistry):
    """A registry that creates one class for each header name.

    That of the standard library creates a class for each header of each message, which takes a collection of cyclic
    garbage to be freed.
    """

    @cache  # noqa: B019  # There is one registry.
    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name)


class _Policy(EmailPolicy):
    """Header folding as RFC 5322 and 2047 require it.

    The standard library (3.11) loses spaces of a subject between encoded words, and it may encode a long address or
    Message-ID, which no server can read.
    """

    def fold(self, name: str, value: Any) -> str:
        """Return the lines of a header with their line ends."""
        text = str(value)
        if name == "Subject" and (not _PLAIN_SUBJECT.fullmatch(text) or "=?" in text):
            text = _encode_words(name, text)
        elif name == "From" and not value.addresses[0].display_name.isascii():
            sender = value.addresses[0]
            text = f"{_encode_words(name, sender.display_name)}{self.linesep} <{sender.addr_spec}>"
        elif name.startswith("Content-"):
            folded: str = super().fold(name, value)
            return folded
        return f"{name}: {text}{self.linesep}"

    def fold_binary(self, name: str, value: Any) -> bytes:
        """Return the lines of a header as bytes."""
        return self.fold(name, value).encode("utf-8" if self.utf8 else "ascii")


_POLICY = _Policy(linesep="\r\n", cte_type="7bit", header_factory=_HeaderFactory())


def build_message(letter: Letter, sender: str, now: datetime, unique: str) -> EmailMessage:
    """Return the message of a letter: multipart/alternative, plain text before HTML (RFC 2046, 5.1.4), 7-bit.

    ``unique`` (1 to 60 letters, digits, dots and dashes) is the Message-ID in front of the sender's domain. The same
    ``unique`` gives the same bytes. Headers with a non-ASCII address are UTF-8 (RFC 6532). Raise a permanent MailError
    if an address, name or subject contains characters that could begin another header.
    """
    if not _UNIQUE.fullmatch(unique):
        raise ValueError("unique must be 1 to 60 letters, digits, dots and dashes")
    if not letter.subject.isprintable():
        raise MailError("the subject contains characters that a header may not", permanent=True)
    recipient = _build_address(letters.parse_address(letter.to))
    author = _build_address(letters.parse_mailbox(sender))
    utf8 = not (recipient.addr_spec + author.addr_spec).isascii()
    message = EmailMessage(policy=_POLICY.clone(utf8=utf8))
    message["From"] = author
    message["To"] = recipient
    message["Subject"] = letter.subject
    message["Date"] = now
    message["Message-ID"] = f"<{unique}@{author.domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: out-of-office programs do not reply to it.
    message.set_content(letter.text, charset="utf-8", cte=_choose_transfer_encoding(letter.text))
    message.add_alternative(letter.html, subtype="html", charset="utf-8", cte=_choose_transfer_encoding(letter.html))
    message.set_boundary(f"=_{unique}")
    return message


def _build_address(mailbox: MailAddress) -> Address:
    return Address(mailbox.name, mailbox.local, mailbox.domain)


def _encode_words(name: str, text: str) -> str:
    return Header(text, "utf-8", maxlinelen=76, header_name=name).encode(linesep="\r\n")


def _choose_transfer_encoding(text: str) -> str:
    """Return 7bit if possible, so that a link in a long line can be read and found in the file."""
    is_plain = all(_PLAIN_LINE.fullmatch(line) for line in re.split(r"\r\n|\r|\n", text))
    return "7bit" if is_plain else "quoted-printable"
