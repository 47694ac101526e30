"""Messages made of letters, in bytes that every mail server takes (RFC 5322, 2046, 2047, 6532)."""

from __future__ import annotations

import re
from datetime import datetime
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from typing import Any

from finapi.net import letters
from finapi.net.letters import Letter, MailAddress, MailError

_PLAIN_LINE = re.compile(r"[\t -~]{0,998}")  # RFC 5322 2.1.1: what every server must take in a line

_PLAIN_SUBJECT = re.compile(r"(?! )[ -~]{1,67}(?<! )")  # with its name a line of 78 at most
_UNIQUE = re.compile(r"[A-Za-z0-9.-]{1,60}")  # with two characters before it still a boundary of RFC 2046


class _Policy(EmailPolicy):
    """Header lines as RFC 5322 and 2047 want them.

    The standard library's own folding (3.11) loses spaces of a subject between encoded words and may encode
    a long address or Message-ID, which no server can read then.
    """

    def fold(self, name: str, value: Any) -> str:
        """The header's line or lines with their ends."""
        text = str(value)
        if name == "Subject" and (not _PLAIN_SUBJECT.fullmatch(text) or "=?" in text):
            text = _encoded_words(name, text)
        elif name == "From" and not value.addresses[0].display_name.isascii():
            sender = value.addresses[0]
            text = f"{_encoded_words(name, sender.display_name)}{self.linesep} <{sender.addr_spec}>"
        elif name.startswith("Content-"):
            folded: str = super().fold(name, value)
            return folded
        return f"{name}: {text}{self.linesep}"

    def fold_binary(self, name: str, value: Any) -> bytes:
        """The header's lines in bytes."""
        return self.fold(name, value).encode("utf-8" if self.utf8 else "ascii")


_POLICY = _Policy(linesep="\r\n", cte_type="7bit")


def compose(letter: Letter, sender: str, now: datetime, unique: str) -> EmailMessage:
    """The message that a letter becomes: multipart/alternative, plain text before HTML (RFC 2046 5.1.4), 7-bit.

    ``unique`` (1-60 of letters, digits, dots and dashes) is its Message-ID before the sender's domain; with it the
    bytes are the same each time. Headers of an address outside ASCII are UTF-8 (RFC 6532). An address, name or
    subject with anything that could begin another header is a permanent MailError.
    """
    if not _UNIQUE.fullmatch(unique):
        raise ValueError("unique must be 1 to 60 letters, digits, dots and dashes")
    if not letter.subject.isprintable():
        raise MailError("the subject contains characters that a header may not", permanent=True)
    to, own = _header(letters.address(letter.to)), _header(letters.mailbox(sender))
    utf8 = not (to.addr_spec + own.addr_spec).isascii()
    message = EmailMessage(policy=_POLICY.clone(utf8=utf8))
    message["From"] = own
    message["To"] = to
    message["Subject"] = letter.subject
    message["Date"] = now
    message["Message-ID"] = f"<{unique}@{own.domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no vacation notice answers it
    message.set_content(letter.text, charset="utf-8", cte=_transfer_encoding(letter.text))
    message.add_alternative(letter.html, subtype="html", charset="utf-8", cte=_transfer_encoding(letter.html))
    message.set_boundary(f"=_{unique}")
    return message


def _header(mailbox: MailAddress) -> Address:
    return Address(mailbox.name, mailbox.local, mailbox.domain)


def _encoded_words(name: str, text: str) -> str:
    return Header(text, "utf-8", maxlinelen=76, header_name=name).encode(linesep="\r\n")


def _transfer_encoding(text: str) -> str:
    """7bit where it can be, so that a link in a long line can be read and searched for in the file."""
    plain = all(_PLAIN_LINE.fullmatch(line) for line in re.split(r"\r\n|\r|\n", text))
    return "7bit" if plain else "quoted-printable"
