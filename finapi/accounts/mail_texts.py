"""The texts of mails. Links, keys and emails are arguments."""

from __future__ import annotations

from finapi.core.counts import format_count
from finapi.net.letters import Letter

_REVERT_NOTE = (
    "The link is valid for seven days after the change. It ends all sessions and the password, and you get a mail to "
    "set a new password. Leave the boxes there ticked that replace the key and remove the receivers. If it was you, "
    "ignore this mail."
)

# For each template: the subject, the text before the link or key, and the text after it.
_TEXTS = {
    "verify": (
        "Verify your email address",
        "Someone registered a finapi account with this email address. If it was you, follow this link within "
        "{lifetime} to confirm the address:",
        "Confirm only if you registered: otherwise someone else gets an account in your name. If it was not you, "
        "ignore this mail. Nobody can log in until the address is confirmed.",
    ),
    "reset": (
        "Set a new password",
        "Someone requested a new password for your finapi account. Follow this link within {lifetime} to set one:",
        "If it was not you, ignore this mail: your password stays as it is.",
    ),
    "email_change": (
        "Confirm your new email address",
        "Someone who is signed in to a finapi account requested to use this email address for it. If it was you, "
        "follow this link within {lifetime} and confirm the change:",
        "If it was not you, ignore this mail: nothing changes.",
    ),
    "email_change_notice": (
        "Your email address is about to change",
        "Someone who knows your password requested another email address for your account at {url}: {new_email}. The "
        "change takes effect when the link that was sent to that address is followed. If it was not you, follow this "
        "link to keep your address, now or after the change:",
        _REVERT_NOTE,
    ),
    "email_changed": (
        "Your email address has changed",
        "Your account at {url} no longer uses this email address. Its new address is {new_email}. If it was not you, "
        "follow this link to revert the change:",
        _REVERT_NOTE,
    ),
    "password_changed": (
        "Your password has changed",
        "The password of your account at {url} was changed by someone who knew the old one. All sessions have ended. "
        "The account is:",
        "If it was not you, set a new password with Forgotten password on the page to sign in, and tick the boxes that "
        "replace the key and remove the receivers.",
    ),
    "welcome": (
        "Your API key",
        "Welcome to finapi at {url}. Your API key, to be sent in the header X-API-Key:",
        "Anyone who has the key can spend your tokens. You can replace it at any time.",
    ),
    "new_key": (
        "Your API key was replaced",
        "The operator replaced your API key at {url}. The new one, to be sent in the header X-API-Key:",
        "The old key no longer works.",
    ),
    "key_refused": (
        "Your API key no longer works",
        "The secret from which your API key at {url} was derived was withdrawn. Log in and create a new key with:",
        "Calls with the old key are answered 401.",
    ),
    "new_webhook_secret": (
        "Your webhook secret was replaced",
        "The operator replaced the secret that signs your webhooks from {url}. Read the new one with:",
        "For 24 hours, messages are signed with both secrets. After that, only with the new one.",
    ),
    "webhook_refused": (
        "Your webhooks are on hold",
        "The secret that signs your webhooks from {url} was withdrawn. Webhooks are not sent unsigned. "
        "Create a new secret with:",
        "Then the webhooks on hold are sent. Those older than 30 days are dropped.",
    ),
    "failing_receiver": (
        "Your webhooks are not received",
        "Five deliveries in a row from {url} were dropped, each after all of its attempts. The receiver was:",
        "GET /api/v1/webhooks/deliveries?status=dropped says why; POST .../redeliver sends one again.",
    ),
}


def build_letter(
    template: str, address: str, line: str, *, lifetime: int = 1, url: str = "", new_email: str = ""
) -> Letter:
    """Return the mail of a template with its ``line``: a link, a key or an email.

    A link is valid for ``lifetime`` seconds. Notices of a changed email state the ``new_email``.
    """
    from html import escape

    subject, introduction, note = _TEXTS[template]
    introduction = introduction.format(lifetime=_format_duration(lifetime), url=url, new_email=new_email)
    escaped_line = escape(line)
    link = f'<a href="{escaped_line}">{escaped_line}</a>' if line.startswith("http") else f"<code>{escaped_line}</code>"
    return Letter(
        to=address,
        subject=subject,
        text=f"{introduction}\n\n{line}\n\n{note}\n",
        html=f"<p>{escape(introduction)}</p>\n<p>{link}</p>\n<p>{escape(note)}</p>\n",
    )


def _format_duration(seconds: int) -> str:
    """Return a duration in the largest unit that needs no fraction, such as ``90 minutes``."""
    units = (("hour", 3600), ("minute", 60), ("second", 1))
    unit, size = next((unit, size) for unit, size in units if seconds % size == 0)
    return format_count(seconds // size, unit)
