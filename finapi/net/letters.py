"""Letters, the mailboxes that they go to, and why one did not leave. What makes messages of them is ``compose``."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple
from unicodedata import category

# RFC 5322 3.2.3, with the non-ASCII of RFC 6531 3.3. Quoted local parts and address literals are left out:
# nobody registers with one, and they are what injections are made of.
# What is no space, control character or one of the specials of RFC 5322.
_ATOM = r'[^\x00-\x20"(),.:;<>@\[\\\]\x7f]+'


class MailError(Exception):
    """A mail that was not sent, and why; ``permanent`` when trying again cannot help.

    ``reason`` holds no address, no link and no password: it may be logged and stored.
    """

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.permanent = permanent


class MailStopped(MailError):
    """The transport was closed before the mail had left; nothing is wrong with either."""

    def __init__(self) -> None:
        super().__init__("finapi is stopping")


class Letter(NamedTuple):
    """What is said to whom: an address, and the same in plain text and in HTML.

    Its repr shows the subject alone, because texts hold links.
    """

    to: str
    subject: str
    text: str
    html: str

    def __repr__(self) -> str:
        return f"Letter(subject={self.subject!r})"


class MailAddress(NamedTuple):
    """A name that is shown, or none, and the two parts of an address."""

    name: str
    local: str
    domain: str

    @property
    def addr_spec(self) -> str:
        """``local@domain``."""
        return f"{self.local}@{self.domain}"


def address(text: str) -> MailAddress:
    """The address that ``text`` is, exactly one ``local@domain`` with nothing around it, or a permanent MailError.

    A domain outside ASCII becomes its A-label (RFC 5890), which every server takes, unless the two versions of IDNA
    differ (``straße``): it would be another owner's domain.
    """
    local, _, domain = text.rpartition("@")
    whole = (
        text.isprintable()
        and len(text.encode("utf-8")) <= 254  # RFC 5321 4.5.3.1, the path of 256 less its brackets
        and len(local.encode("utf-8")) <= 64
        and "=?" not in local  # an encoded word to lenient readers, which may hide anything
        and all(re.fullmatch(_ATOM, atom) for atom in local.split("."))
        and all(_is_label(label) for label in domain.split("."))
    )
    if not whole:
        raise MailError("mail cannot be sent to this address", permanent=True)
    if not domain.isascii():
        with suppress(UnicodeError):
            encoded = domain.encode("idna")
            if encoded.decode("idna") == domain.lower():
                domain = encoded.decode("ascii")
    return MailAddress("", local, domain)


def _is_label(text: str) -> bool:
    """Letters, marks, digits and inner dashes (RFC 5890, 5892): no dot, slash or @ in another width."""
    return (
        1 <= len(text) <= 63
        and "-" not in (text[0], text[-1])
        and all(character == "-" or category(character)[0] in "LMN" for character in text)
    )


def mailbox(text: str) -> MailAddress:
    """The mailbox that ``text`` is: ``name@domain`` or ``Shown Name <name@domain>``, or a permanent MailError."""
    found = re.fullmatch(r'(?:"?([^"<>\\]*?)"?\s*)<([^<>]+)>', text)
    if found is None:
        return address(text)
    name, inner = found[1].strip(), found[2]
    if not name.isprintable() or len(name) > 100:
        raise MailError("the display name contains characters that a header may not", permanent=True)
    return address(inner)._replace(name=name)
