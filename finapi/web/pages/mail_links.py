"""The pages that links in mails lead to: plain HTML that works without scripts (DECISIONS 3).

A link's token is in the page's URL and in a hidden field of its form. So these pages run no scripts, send no
referrer, load nothing from other hosts, and are not cached.
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.accounts import email_changes, recovery
from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.delivery import credential_replacement
from finapi.delivery.credential_replacement import ReceiverSummary
from finapi.web.accounts.auth import CREDENTIALS_REPLACED, RECEIVERS_REMOVED
from finapi.web.html.page_layout import render_page, render_problem_page
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response

TITLE = "Set a new password"
EMAIL_TITLE = "Confirm your new email address"
EMAIL_LINK_PROBLEM = (
    "This link was used already, or is invalid or has expired. If your email is still the old one, request it again."
)
REVERT_TITLE = "Keep your email address"
REVERT_LINK_PROBLEM = (
    "This link was used already, or is invalid or has expired, or the account is locked. If you cannot sign in, write "
    "to the operator of the host."
)


@dataclass(frozen=True, slots=True)
class ResetForm:
    """The contents of the form for a new password: hidden fields, ticked boxes, and the receivers to be removed."""

    token: str
    email: str
    replace_credentials: bool
    remove_receivers: bool
    receivers: ReceiverSummary


def show_reset_form(call: Call) -> Response:
    """Show the form for a new password, or the reason why the link does not work.

    The boxes that replace credentials and remove receivers are ticked while somebody else may know the credentials: at
    the first reset after the registration, because the person who registered may not be the owner of the address, and
    after the owner has reverted a change of the email.
    """
    token = call.request.query.get("token", [""])[0]
    try:
        with call.app.accounts.read() as tx:
            reset = recovery.get_reset(call.app, tx, token, call.now)
            receivers = credential_replacement.summarise_receivers(tx, reset["user_id"])
    except ApiError as error:
        return render_problem_page(call, TITLE, f"{error.message} Request a new one.", error.status)
    is_suspect = bool(reset["is_suspect"])
    form = ResetForm(token, reset["email"], is_suspect, is_suspect, receivers)
    return render_page(call, TITLE, _render_form(form), secret=True)


def set_password(call: Call) -> Response:
    """Set the password that the form contains, or show the form again with what is wrong."""
    fields = call.request.read_form()
    token, password = fields.get("token", ""), fields.get("newpassword", "")
    replace_credentials, remove_receivers = "replace_credentials" in fields, "remove_receivers" in fields
    try:
        with call.app.accounts.read() as tx:
            reset = recovery.get_reset(call.app, tx, token, call.now)
            receivers = credential_replacement.summarise_receivers(tx, reset["user_id"])
        credential_replacement.reset_password(
            call.app,
            token,
            password,
            call.request.address,
            call.now,
            replace_credentials=replace_credentials,
            remove_receivers=remove_receivers,
        )
    except ApiError as error:
        if error.status >= 500:
            raise
        if error.code != "INVALID_PARAM":
            return render_problem_page(call, TITLE, f"{error.message} Request a new one.", error.status)
        form = ResetForm(token, reset["email"], replace_credentials, remove_receivers, receivers)
        return render_problem_page(call, TITLE, error.message, error.status, _render_form(form, is_wrong=True))
    return render_page(
        call,
        "Password changed",
        h.p("Your password has been changed and every session has ended. Log in again."),
        replace_credentials and h.p(CREDENTIALS_REPLACED, " Log in to see the new ones."),
        remove_receivers and h.p(RECEIVERS_REMOVED),
        secret=True,
    )


def email_verified(call: Call) -> Response:
    """Return the page that the activation link leads to: whether the address is verified, or how to verify it."""
    token = call.request.query.get("token", [""])[0]
    if not token:
        hint = h.p("The link in the verification mail leads here. Follow it, then log in.")
        return render_page(call, "Verify your email address", hint, secret=True)
    try:
        with call.app.accounts.read() as tx:
            verified = recovery.is_verified(call.app, tx, token, call.now)
    except ApiError as error:
        return render_problem_page(
            call, "Email not verified", f"{error.message} Log in to get a new one.", error.status
        )
    if not verified:
        return render_problem_page(call, "Email not verified", "Follow the link in the mail first.", 400)
    return render_page(call, "Email verified", h.p("Your email address is verified. You can log in now."), secret=True)


def show_email_confirmation(call: Call) -> Response:
    """Show the button that confirms a new email address, or the reason why the link does not work.

    Opening the page changes nothing, because mail scanners open links too.
    """
    token = call.request.query.get("token", [""])[0]
    try:
        new_email = email_changes.get_new_email(call.app, token, call.now)
    except ApiError as error:
        return _render_email_problem(call, EMAIL_TITLE, EMAIL_LINK_PROBLEM, error)
    form = h.form(
        h.p("The email address of your finapi account becomes ", h.b(new_email), ". You sign in with it from then on."),
        h.input(type="hidden", name="token", value=token),
        h.button("Confirm"),
        method="post",
        action="/confirm-email",
    )
    return render_page(call, EMAIL_TITLE, form, secret=True)


def confirm_email(call: Call) -> Response:
    """Make the address of the form's token the account's email and end its sessions, or show why not."""
    token = call.request.read_form().get("token", "")
    try:
        new_email = email_changes.confirm_change(call.app, token, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        return _render_email_problem(call, EMAIL_TITLE, EMAIL_LINK_PROBLEM, error)
    return render_page(
        call,
        "Email address changed",
        h.p("Your email address is now ", h.b(new_email), ". Every session has ended: sign in with the new address."),
        h.p(h.a("Sign in", href="/login")),
        secret=True,
    )


def show_email_revert(call: Call) -> Response:
    """Show the button that reverts a change of the email, or the reason why the link does not work.

    Opening the page changes nothing, because mail scanners open links too.
    """
    token = call.request.query.get("token", [""])[0]
    try:
        old_email = email_changes.get_old_email(call.app, token, call.now)
    except ApiError as error:
        return _render_email_problem(call, REVERT_TITLE, REVERT_LINK_PROBLEM, error)
    form = h.form(
        h.p("The email address of your finapi account becomes or stays ", h.b(old_email), "."),
        h.p(
            "All sessions end and the password no longer works, because somebody else may know it. You get a mail to "
            "set a new one. The API key keeps working until you replace it there."
        ),
        h.input(type="hidden", name="token", value=token),
        h.button("Keep this address"),
        method="post",
        action="/revert-email",
    )
    return render_page(call, REVERT_TITLE, form, secret=True)


def revert_email(call: Call) -> Response:
    """Make the old address of the form's token the account's email again, or show why not."""
    token = call.request.read_form().get("token", "")
    try:
        old_email = email_changes.revert_change(call.app, token, call.request.address, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        return _render_email_problem(call, REVERT_TITLE, REVERT_LINK_PROBLEM, error)
    return render_page(
        call,
        "Email address kept",
        h.p(
            "The email address of your account is ",
            h.b(old_email),
            ". All sessions have ended and the password no longer works. Set a new one with the link in the mail that "
            "was just sent to this address. Its page also replaces the API key and removes the webhook receivers, "
            "unless you untick that.",
        ),
        secret=True,
    )


def _render_email_problem(call: Call, title: str, link_problem: str, error: ApiError) -> Response:
    message = link_problem if error.code == "INVALID_TOKEN" else error.message
    return render_problem_page(call, title, message, error.status)


def _render_form(form: ResetForm, *, is_wrong: bool = False) -> Html:
    return h.form(
        h.input(type="hidden", name="token", value=form.token),
        # The hidden name lets a password manager save the right account.
        h.input(type="hidden", name="username", autocomplete="username", value=form.email),
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
            aria_invalid="true" if is_wrong else None,
            aria_describedby="problem" if is_wrong else None,
        ),
        _render_checkbox(
            "replace_credentials",
            "Also replace the API key and the webhook secret",
            form.replace_credentials,
            "Do this if someone else may know them, for example because they registered your email address before you "
            "did. Programs that use the API key stop working until you give them the new one, and their feeds are "
            "closed. The old webhook secret stops signing immediately: your receivers must learn the new one before "
            "they accept another message.",
        ),
        _has_receivers(form.receivers)
        and _render_checkbox(
            "remove_receivers",
            "Also remove the webhook receivers and stop the sniper targets",
            form.remove_receivers,
            f"This account has {_describe_receivers(form.receivers)}. If you did not set that up, whoever did receives "
            "its events. Nothing more is sent until you set a receiver again.",
        ),
        h.button("Set password"),
        method="post",
        action="/reset-password",
    )


def _render_checkbox(name: str, label: str, ticked: bool, explanation: str) -> Html:
    return join_html(
        h.label(h.input(type="checkbox", name=name, checked=ticked, aria_describedby=f"{name}-explained"), " ", label),
        h.p(explanation, id=f"{name}-explained", class_="quiet"),
    )


def _has_receivers(receivers: ReceiverSummary) -> bool:
    return bool(receivers.hosts or receivers.open_targets)


def _describe_receivers(receivers: ReceiverSummary) -> str:
    parts = []
    if receivers.hosts:
        parts.append(f"webhooks to {', '.join(receivers.hosts)}")
    if receivers.open_targets:
        parts.append(format_count(receivers.open_targets, "sniper target"))
    return " and ".join(parts)
