"""API handlers of invites, registration, verification, login and passwords (DECISIONS 3)."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import quote

from finapi.accounts import invites, recovery, sessions
from finapi.accounts.users import User
from finapi.core.errors import ApiError
from finapi.delivery import credential_replacement
from finapi.web.html.page_layout import render_problem_page
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field, Param

GENERIC_RESET = "If the email is registered, a link to set a new password has been sent."
GENERIC_RESEND = "If the email waits for its verification, a new link has been sent."
CREDENTIALS_REPLACED = "The API key and the webhook secret have been replaced."
RECEIVERS_REMOVED = "The webhook receivers have been removed and the sniper targets stopped."

EMAIL = Field("email", "email", required=True, example="ann@example.com")
# For calls that answer a malformed email like an unknown one.
ANY_EMAIL = Field("email", "text", required=True, example="ann@example.com")
REDEEM_INVITE_BODY = (
    Field("invite_code", "text", example="K7QF-2M5D-XW4T-6HNB"),
    Field("code", "text", alternative="invite_code", help="Alias of invite_code."),
)
REGISTER_BODY = (
    EMAIL,
    Field("password", "new_password", required=True, example="correct horse battery"),
    Field("invite_token", "text", required=True, example="eyJ..."),
)
LOGIN_BODY = (ANY_EMAIL, Field("password", "text", required=True, example="correct horse battery"))
EMAIL_BODY = (ANY_EMAIL,)
NEW_PASSWORD_BODY = (
    Field("token", "text", required=True, example="r1.x"),
    Field("newpassword", "new_password", required=True, example="correct horse battery"),
    Field(
        "replace_credentials",
        "boolean",
        help="Also replace the API key and the webhook secret. The old ones end immediately.",
        example="true",
    ),
    Field(
        "remove_receivers",
        "boolean",
        help="Also remove webhook_url, stop every sniper target and drop the deliveries that have not arrived.",
        example="true",
    ),
)
TOKEN_PARAMS = (Param("token", required=True, help="The token of the link.", example="v1.x"),)


class InviteToken(TypedDict):
    """The invite token that an invite code is exchanged for."""

    message: str
    invite_token: str
    expires_in: int


class RegistrationAnswer(TypedDict):
    """The response to a registration."""

    message: str
    linkMsg: str


class LoginAnswer(TypedDict):
    """The response to a login: the user and the token of the session."""

    message: str
    user: User
    token: str


def redeem_invite(call: Call) -> Response:
    """Exchange an invite code for an invite token. Raise INVALID_PARAM without a code."""
    code = call.body.get("invite_code") or call.body.get("code")
    if code is None:
        raise REDEEM_INVITE_BODY[0].error("is required", expected="text")
    with call.app.accounts.read() as tx:
        invite_token = invites.redeem(call.app, tx, code, call.now)
    lifetime = call.app.config.invite_token_lifetime
    return call.bare_object({"message": "Invite code accepted.", "invite_token": invite_token, "expires_in": lifetime})


def register(call: Call) -> Response:
    """Create an account that is not verified yet and return a confirmation."""
    body = call.body
    sessions.register(call.app, body["email"], body["password"], body["invite_token"], call.request.address, call.now)
    return call.bare_object(
        {"message": "Register user successful", "linkMsg": "A verification link has been sent to your email address."}
    )


def verify_email(call: Call) -> Response:
    """Verify the email of the activation link. Return a redirect to a page for a browser, JSON for a program."""
    is_browser = "text/html" in call.request.headers.get("accept", "")
    try:
        # Mail scanners send HEAD requests, which must not use up the link.
        recovery.verify_email(call.app, call.params["token"], call.now, follow=call.request.method != "HEAD")
    except ApiError as error:
        if is_browser and error.status < 500:
            return render_problem_page(
                call, "Email not verified", f"{error.message} Log in to get a new one.", error.status
            )
        raise
    if is_browser:
        return call.redirect(f"/email-verified?token={quote(call.params['token'])}")
    return call.bare_object({"message": "Email verified successfully."})


def resend_verification(call: Call) -> Response:
    """Send the verification mail again. Return the same answer for every email."""
    recovery.resend_verification(call.app, call.body["email"], call.now)
    return call.bare_object({"message": GENERIC_RESEND})


def login(call: Call) -> Response:
    """Log in and return the token of the session and the user."""
    session = sessions.login(call.app, call.body["email"], call.body["password"], call.request.address, call.now)
    response = call.bare_object({"message": "User login successfully.", "user": session.user, "token": session.token})
    response.logged_in_uuid = session.user["uuid"]
    return response


def logout(call: Call) -> Response:
    """End the session of the call and return a confirmation."""
    assert call.caller is not None
    assert call.caller.session is not None
    sessions.logout(call.app, call.caller.session)
    return call.bare_object({"message": "User logout successfully."})


def request_reset(call: Call) -> Response:
    """Send a reset link. Return the same answer for every email, so that it does not reveal accounts."""
    recovery.request_password_reset(call.app, call.body["email"], call.now)
    return call.bare_object({"message": GENERIC_RESET})


def redirect_reset_link(call: Call) -> Response:
    """Return a redirect to the page with the form for the new password. The token is not checked here."""
    return call.redirect("/reset-password", token=call.request.query.get("token", [""])[0])


def set_new_password(call: Call) -> Response:
    """Set a new password with the token of a reset link and return a confirmation."""
    body = call.body
    replace_credentials = body.get("replace_credentials", False)
    remove_receivers = body.get("remove_receivers", False)
    credential_replacement.reset_password(
        call.app,
        body["token"],
        body["newpassword"],
        call.request.address,
        call.now,
        replace_credentials=replace_credentials,
        remove_receivers=remove_receivers,
    )
    sentences = ["Password updated successfully."]
    if replace_credentials:
        sentences.append(CREDENTIALS_REPLACED)
    if remove_receivers:
        sentences.append(RECEIVERS_REMOVED)
    return call.bare_object({"message": " ".join(sentences)})
