"""What the mails say. Links and keys come in as arguments; nothing here knows where they are from."""

from __future__ import annotations

from html import escape

from finapi.mail import Letter


def verification(to: str, link: str, lifetime: int) -> Letter:
    """The mail with the activation link, which lives ``lifetime`` seconds."""
    return _letter(
        to,
        "Verify your email address",
        f"An account was made with this email address. Follow the link within {_span(lifetime)} to verify it:",
        link,
        "If it was not you, do nothing: without the link the account cannot be used.",
    )


def reset(to: str, link: str, lifetime: int) -> Letter:
    """The mail with the password link, which lives ``lifetime`` seconds."""
    return _letter(
        to,
        "Set a new password",
        f"A new password was asked for. Follow the link within {_span(lifetime)} to set one:",
        link,
        "If it was not you, do nothing: the password stays as it is.",
    )


def welcome(to: str, key: str | None, url: str) -> Letter:
    """The mail with the API key."""
    return _letter(
        to,
        "Your API key",
        f"Welcome to finapi at {url}. Your API key, to be sent in the header X-API-Key:",
        key or "(log in to see it)",
        "Whoever has the key can spend your tokens. It can be replaced at any time.",
    )


def _span(seconds: int) -> str:
    """A lifetime in the largest unit that says it in whole numbers."""
    units = (("hour", 3600), ("minute", 60), ("second", 1))
    unit, size = next((unit, size) for unit, size in units if seconds % size == 0)
    count = seconds // size
    return f"{count} {unit}" + ("" if count == 1 else "s")


def _letter(to: str, subject: str, before: str, line: str, after: str) -> Letter:
    shown = escape(line)
    link = f'<a href="{shown}">{shown}</a>' if line.startswith("http") else f"<code>{shown}</code>"
    return Letter(
        to=to,
        subject=subject,
        text=f"{before}\n\n{line}\n\n{after}\n",
        html=f"<p>{escape(before)}</p>\n<p>{link}</p>\n<p>{escape(after)}</p>\n",
    )
