"""The pages that links in mails lead to: plain HTML that works without scripts (DECISIONS 3).

A reset link's token stands in the page's address and in a hidden field of its form: no script, no referrer,
nothing loaded from elsewhere, nothing kept by a cache.
"""

from __future__ import annotations

from finapi.accounts import recovery, sessions
from finapi.core.errors import ApiError
from finapi.web.html.frame import page, problem
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response

TITLE = "Set a new password"


def reset_password(call: Call) -> Response:
    """The form for a new password, or what to do when the link has been used or has expired."""
    token = call.request.query.get("token", [""])[0]
    try:
        with call.app.accounts.read() as tx:
            reset = recovery.live_reset(call.app, tx, token, call.now)
    except ApiError as error:
        return problem(call, TITLE, f"{error.message} Request a new one.", error.status)
    return page(call, TITLE, _form(token, reset["email"]), secret=True)


def set_password(call: Call) -> Response:
    """What came of the form: done, or the form again with what is wrong."""
    form = call.request.read_form()
    token, password = form.get("token", ""), form.get("newpassword", "")
    try:
        sessions.change_password(call.app, token, password, call.request.address, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code != "INVALID_PARAM":
            return problem(call, TITLE, f"{error.message} Request a new one.", error.status)
        again = _form(token, form.get("username", ""), wrong=True)
        return problem(call, TITLE, error.message, error.status, again)
    done = h.p("Your password has been changed and every session has ended. Log in again.")
    return page(call, "Password changed", done, secret=True)


def email_verified(call: Call) -> Response:
    """Where the activation link leads a browser; whoever comes without its token is told no more than that."""
    token = call.request.query.get("token", [""])[0]
    if not token:
        done = h.p("The link in the verification mail leads here. Follow it, then log in.")
        return page(call, "Verify your email address", done, secret=True)
    try:
        with call.app.accounts.read() as tx:
            verified = recovery.is_verified(call.app, tx, token, call.now)
    except ApiError as error:
        return problem(call, "Email not verified", f"{error.message} Log in to get a new one.", error.status)
    if not verified:
        return problem(call, "Email not verified", "Follow the link in the mail first.", 400)
    return page(call, "Email verified", h.p("Your email address is verified. You can log in now."), secret=True)


def _form(token: str, email: str = "", *, wrong: bool = False) -> Html:
    return h.form(
        h.input(type="hidden", name="token", value=token),
        # The hidden name lets a password manager save the right account.
        email and h.input(type="hidden", name="username", autocomplete="username", value=email),
        h.label("New password for finapi, 8 characters or more", for_="newpassword"),
        h.input(
            id="newpassword",
            name="newpassword",
            type="password",
            autocomplete="new-password",
            minlength=8,
            maxlength=1024,
            required=True,
            autofocus=True,
            aria_invalid="true" if wrong else None,
            aria_describedby="problem" if wrong else None,
        ),
        h.button("Set password"),
        method="post",
        action="/reset-password",
    )
