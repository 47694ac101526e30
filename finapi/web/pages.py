"""The pages that links in mails lead to: plain HTML that works without scripts (CONTRACT 3).

A reset link's token stands in the page's address and in a hidden field of its form: no script, no referrer,
nothing loaded from elsewhere, nothing kept by a cache.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib import resources

from finapi import recovery, sessions
from finapi.errors import ApiError
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.layout import page


def reset_password(call: Call) -> Response:
    """The form for a new password, or what to do when the link has been used or has expired."""
    token = call.request.query.get("token", [""])[0]
    try:
        with call.app.db.read() as tx:
            reset = recovery.live_reset(call.app, tx, token, call.now)
    except ApiError as error:
        return page("Set a new password", _problem(f"{error.message} Ask for a new one."), error.status)
    return page("Set a new password", _form(token, reset.email))


def set_password(call: Call) -> Response:
    """What came of the form: done, or the form again with what is wrong."""
    form = call.request.read_form()
    token, password = form.get("token", ""), form.get("newpassword", "")
    try:
        sessions.change_password(call.app, token, password, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code != "INVALID_PARAM":
            return page("Set a new password", _problem(f"{error.message} Ask for a new one."), error.status)
        again = _form(token, form.get("username", ""), wrong=True)
        return page("Set a new password", _problem(error.message) + again, error.status)
    return page("Password changed", "<p>The new password is set. Every session has ended: log in again.</p>")


def email_verified(call: Call) -> Response:
    """Where the activation link leads a browser."""
    return page("Email verified", "<p>Your email address is verified. You can log in now.</p>")


def style(call: Call) -> Response:
    """The one stylesheet."""
    return Response(200, _css(), "text/css; charset=utf-8", {"Cache-Control": "public, max-age=3600"})


@cache
def _css() -> bytes:
    return (resources.files("finapi.web") / "style.css").read_bytes()


def not_verified(error: ApiError) -> Response:
    """What a browser is shown for an activation link that does not work."""
    return page("Email not verified", _problem(f"{error.message} Log in to be sent a new one."), error.status)


def _form(token: str, email: str = "", *, wrong: bool = False) -> str:
    # The hidden name lets a password manager save the right account.
    name = f'<input type="hidden" name="username" autocomplete="username" value="{escape(email)}">'
    invalid = ' aria-invalid="true" aria-describedby="problem"' if wrong else ""
    return (
        '<form method="post" action="/reset-password">'
        f'<input type="hidden" name="token" value="{escape(token)}">{name if email else ""}'
        '<label for="newpassword">New password for finapi, 8 characters or more</label>'
        '<input id="newpassword" name="newpassword" type="password" autocomplete="new-password"'
        f' minlength="8" maxlength="1024" required autofocus{invalid}>'
        "<button>Set password</button></form>"
    )


def _problem(text: str) -> str:
    return f'<p role="alert" id="problem">{escape(text)}</p>'
