"""Pages for signing in and out, registering with an invite, and requesting a new password."""

from __future__ import annotations

from collections.abc import Mapping

from finapi.accounts import invites, recovery, sessions
from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.web.accounts.auth import GENERIC_RESET, LOGIN_BODY, REGISTER_BODY
from finapi.web.html import page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body
from finapi.web.pages import session_cookie

MAX_FIELD_CHARACTERS = 1024
NOT_VERIFIED_TEXT = (
    "Verify your email address first: follow the link in the mail that was sent to you, then sign in again."
)
# The texts of pages for errors whose sentence in the API is that of its specification.
_ERROR_TEXTS = {
    "EMAIL_NOT_VERIFIED": NOT_VERIFIED_TEXT,
    "INVALID_INVITE": "The invite code is wrong or has expired.",
    "INVITE_USED": "The invite code has already been used.",
    "EMAIL_EXISTS": "An account with this email address exists already. Sign in, or request a new password.",
}


# ---- sign in and out


def show_login(call: Call) -> Response:
    """Return the page at ``/login``, or a redirect to the account if the caller is signed in."""
    if call.caller:
        return session_cookie.redirect("/account")
    return render_login_page(call, call.request.query.get("next", [""])[0])


def render_login_page(
    call: Call, next_url: str, error: ApiError | None = None, email: str = "", status: int = 200
) -> Response:
    """Return the page with the form to sign in, and the error of the last attempt.

    ``next_url`` is the page to which the form leads.
    """
    session_limit = call.app.config.device_limit
    return _render_page(
        call,
        "Sign in",
        error,
        session_cookie.render_form(
            call,
            "/login",
            "Sign in",
            h.input(type="hidden", name="next", value=next_url),
            _render_field("Email", "email", "email", "username", email),
            _render_field("Password", "password", "password", "current-password"),
        ),
        h.p(h.a("Forgotten password", href="/forgot"), " · ", h.a("Register with an invite code", href="/register")),
        h.p(f"An account has at most {session_limit} sessions at once; a new one ends the oldest.", class_="quiet"),
        status=error.status if error else status,
    )


def login(call: Call) -> Response:
    """Open a session, store it in a cookie and redirect to the page that the visitor wanted to see.

    The session of the cookie that the new one replaces ends.
    """
    fields = session_cookie.read_form(call)
    email, next_url = fields.get("email", ""), fields.get("next", "")
    try:
        body = parse_body(LOGIN_BODY, fields)
        session = sessions.login(call.app, body["email"], body["password"], call.request.address, call.now)
    except ApiError as error:
        # 503 says that too many logins are being checked at the moment.
        if error.status >= 500 and error.status != 503:
            raise
        return render_login_page(call, next_url, error, email)
    if call.caller is not None and call.caller.session is not None:
        sessions.logout(call.app, call.caller.session)
    cookie_header = session_cookie.build_cookie_header(call.app, session.token, call.app.config.session_lifetime)
    response = session_cookie.redirect(next_url if _is_local(next_url) else "/account", cookie_header)
    response.logged_in_uuid = session.user["uuid"]
    return response


def _is_local(url: str) -> bool:
    """Return True for a path of this host. A path that begins with two slashes names another host.

    A header contains only ASCII, and a browser encodes all other characters of a path.
    """
    return url.startswith("/") and not url.startswith(("//", "/\\")) and url.isascii() and url.isprintable()


def logout(call: Call) -> Response:
    """End the session, delete its cookie and redirect to the front page."""
    session_cookie.read_form(call)
    if call.caller and call.caller.session:
        sessions.logout(call.app, call.caller.session)
    return session_cookie.redirect("/", session_cookie.build_cookie_header(call.app, "", 0))


# ---- register


def show_register(call: Call, error: ApiError | None = None, fields: Mapping[str, str] | None = None) -> Response:
    """Return the page at ``/register``, filled with the fields of a failed attempt and its error."""
    contents = fields or {}
    form = session_cookie.render_form(
        call,
        "/register",
        "Register",
        _render_field("Invite code", "invite_code", "text", "off", contents.get("invite_code", "")),
        _render_field("Email", "email", "email", "username", contents.get("email", "")),
        _render_field("Password, 8 characters or more", "password", "password", "new-password"),
    )
    hint = h.p("You need an invite code from the operator of this host.", class_="quiet")
    return _render_page(call, "Register", error, form, hint)


def register(call: Call) -> Response:
    """Create an account that is not verified yet, and send the mail with the activation link."""
    fields = session_cookie.read_form(call)
    try:
        # The form has a code; the API's body has the token that the code is exchanged for.
        body = parse_body(REGISTER_BODY, {**fields, "invite_token": "x"})
        with call.app.accounts.read() as tx:
            invite_token = invites.redeem(call.app, tx, fields.get("invite_code", ""), call.now)
        sessions.register(call.app, body["email"], body["password"], invite_token, call.request.address, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        return show_register(call, error, fields)
    sign_in_link = h.a("sign in", href="/login")
    message = h.p("A link was sent to ", h.b(body["email"]), ". Follow it, then ", sign_in_link, ".")
    return page_layout.render_page(call, "Almost done", message)


# ---- forgotten password


def show_forgot(call: Call) -> Response:
    """Return the page at ``/forgot``."""
    email_field = _render_field("Email", "email", "email", "username")
    form = session_cookie.render_form(call, "/forgot", "Send a link", email_field)
    return _render_page(call, "Forgotten password", None, form)


def request_reset(call: Call) -> Response:
    """Send a link for a new password. Return the same page whether or not the email has an account."""
    email = session_cookie.read_form(call).get("email", "")
    recovery.request_password_reset(call.app, email, call.now)
    return page_layout.render_page(call, "Check your mail", h.p(GENERIC_RESET))


# ---- parts of a page


def render_error(error: ApiError | None) -> Html | None:
    """Return the message above a form that says what was wrong with it, or None without an error."""
    if error is None:
        return None
    retry_seconds = error.headers.get("Retry-After") if error.headers else None
    message = _ERROR_TEXTS.get(error.code, error.message)
    if not message.endswith("."):
        message += "."
    wait = retry_seconds and f" Wait {format_count(int(retry_seconds), 'second')}."
    return h.p(message, wait, role="alert", id="problem")


def _render_page(call: Call, title: str, error: ApiError | None, *body: Child, status: int = 200) -> Response:
    if error is None:
        return page_layout.render_page(call, title, *body, status=status)
    response = page_layout.render_page(call, title, render_error(error), *body, status=error.status)
    response.headers.update(error.headers or {})
    return response


def _render_field(label: str, name: str, type: str, autocomplete: str, content: str = "") -> Html:
    field = h.input(
        id=name,
        name=name,
        type=type,
        value=content or None,
        maxlength=MAX_FIELD_CHARACTERS,
        required=True,
        autocomplete=autocomplete,
    )
    return h.div(h.label(label, for_=name), field, class_="field")
