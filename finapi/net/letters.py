"""Letters (recipient, subject, text), mail addresses, and mail errors. ``messages.py`` builds MIME messages of them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple
from unicodedata import category

# An atom of RFC 5322, 3.2.3, with the non-ASCII characters of RFC 6531, 3.3: no spaces, control characters or specials.
# Quoted local parts and address literals are refused: no one registers with one, and injections use them.
_ATOM = r'[^\x00-\x20"(),.:;<>@\[\\\]\x7f]+'


class MailError(Exception):
    """A mail that was not sent. ``permanent`` means that another attempt cannot succeed.

    ``reason`` contains no address, link or password, so that it can be logged and stored.
    """

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent


class MailStoppedError(MailError):
    """A mail that was not sent because finapi is stopping."""

    def __init__(self) -> None:
        super().__init__("finapi is stopping")


class Letter(NamedTuple):
    """A mail before it becomes a message: recipient, subject, and the same text as plain text and as HTML.

    Its repr shows the subject only, because the texts contain links.
    """

    to: str
    subject: str
    text: str
    html: str

    def __repr__(self) -> str:
        return f"Letter(subject={self.subject!r})"


class MailAddress(NamedTuple):
    """A display name, which may be empty, and the two parts of an address."""

    name: str
    local: str
    domain: str

    @property
    def addr_spec(self) -> str:
        """Return ``local@domain``."""
        return f"{self.local}@{self.domain}"


def parse_address(text: str) -> MailAddress:
    """Return the address of a text ``local@domain``. Raise a permanent MailError for any other text.

    A non-ASCII domain becomes its A-label (RFC 5890), which every server accepts. It remains unchanged if the two
    versions of IDNA differ (``straße``), because the A-label would belong to another owner.
    """
    local, _, domain = text.rpartition("@")
    is_valid = (
        text.isprintable()
        and len(text.encode("utf-8")) <= 254  # RFC 5321, 4.5.3.1: a path of 256 octets includes the brackets
        and len(local.encode("utf-8")) <= 64
        and "=?" not in local  # lenient readers decode it as an encoded word
        and all(re.fullmatch(_ATOM, atom) for atom in local.split("."))
        and all(_is_label(label) for label in domain.split("."))
    )
    if not is_valid:
        raise MailError("mail cannot be sent to this address", permanent=True)
    if not domain.isascii():
        with suppress(UnicodeError):
            encoded = domain.encode("idna")
            if encoded.decode("idna") == domain.lower():
                domain = encoded.decode("ascii")
    return MailAddress("", local, domain)


def _is_label(text: str) -> bool:
    """Return True for letters, marks, digits and inner dashes (RFC 5890, 5892), not for full-width dots or slashes."""
    return (
        1 <= len(text) <= 63
        and "-" not in (text[0], text[-1])
        and all(character == "-" or category(character)[0] in "LMN" for character in text)
    )


def parse_mailbox(text: str) -> MailAddress:
    """Return the mailbox of ``name@domain`` or ``Display Name <name@domain>``, or raise a permanent MailError."""
    match = re.fullmatch(r'(?:"?([^"<>\\]*?)"?\s*)<([^<>]+)>', text)
    if match is None:
        return parse_address(text)
    name = match[1].strip()
    if not name.isprintable() or len(name) > 100:
        raise MailError("the display name contains characters that a header may not", permanent=True)
    return parse_address(match[2])._replace(name=name)
