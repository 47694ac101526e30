"""Signing in and out, registering by invite, and a forgotten password."""

from __future__ import annotations

from collections.abc import Mapping

from finapi.accounts import invites, recovery, sessions
from finapi.core.errors import ApiError
from finapi.web.accounts.auth import GENERIC_RESET, LOGIN_BODY, REGISTER_BODY
from finapi.web.html import page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body
from finapi.web.pages import session_cookie


def show_login(call: Call) -> Response:
    """The page at ``/login``."""
    return (
        session_cookie.redirect("/account")
        if call.caller
        else render_login_page(call, call.request.query.get("next", [""])[0])
    )


def render_login_page(
    call: Call, to: str, wrong: ApiError | None = None, email: str = "", status: int = 200
) -> Response:
    """The form, and what was wrong with it; ``to`` is where it leads on."""
    limit = call.app.config.device_limit
    return _page(
        call,
        "Sign in",
        wrong,
        session_cookie.render_form(
            call,
            "/login",
            "Sign in",
            h.input(type="hidden", name="next", value=to),
            _field("Email", "email", "email", "username", email),
            _field("Password", "password", "password", "current-password"),
        ),
        h.p(h.a("Forgotten password", href="/forgot"), " · ", h.a("Register with an invite code", href="/register")),
        h.p(f"An account has at most {limit} sessions at once; a new one ends the oldest.", class_="quiet"),
        status=wrong.status if wrong else status,
    )


def login(call: Call) -> Response:
    """A session in a cookie, and on to where the form was asked for."""
    fields = session_cookie.read_form(call)
    email, to = fields.get("email", ""), fields.get("next", "")
    try:
        body = parse_body(LOGIN_BODY, fields)
        opened = sessions.login(call.app, body["email"], body["password"], call.request.address, call.now)
    except ApiError as error:
        if error.status >= 500 and error.status != 503:
            raise
        return render_login_page(call, to, error, email)
    # Only to a page of this host: a path that begins with two slashes names another.
    inside = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable()
    return session_cookie.redirect(
        to if inside else "/account",
        session_cookie.build_cookie_header(call.app, opened.token, call.app.config.session_lifetime),
    )


def logout(call: Call) -> Response:
    """The end of this session."""
    session_cookie.read_form(call)
    if call.caller and call.caller.session:
        sessions.logout(call.app, call.caller.session)
    return session_cookie.redirect("/", session_cookie.build_cookie_header(call.app, "", 0))


def show_register(call: Call, wrong: ApiError | None = None, fields: Mapping[str, str] | None = None) -> Response:
    """The page at ``/register``."""
    told = fields or {}
    made = session_cookie.render_form(
        call,
        "/register",
        "Register",
        _field("Invite code", "invite_code", "text", "off", told.get("invite_code", "")),
        _field("Email", "email", "email", "username", told.get("email", "")),
        _field("Password, 8 characters or more", "password", "password", "new-password"),
    )
    by = h.p("You need an invite code from the operator of this host.", class_="quiet")
    return _page(call, "Register", wrong, made, by)


def register(call: Call) -> Response:
    """An account, not yet verified."""
    fields = session_cookie.read_form(call)
    try:
        body = parse_body(REGISTER_BODY, {**fields, "invite_token": "x"})
        with call.app.accounts.read() as tx:
            token = invites.redeem(call.app, tx, fields.get("invite_code", ""), call.now)
        sessions.register(call.app, body["email"], body["password"], token, call.request.address, call.now)
    except ApiError as error:
        if error.status >= 500:
            raise
        return show_register(call, error, fields)
    return page_layout.render_page(
        call, "Almost done", h.p("A link was sent to ", h.b(body["email"]), ". Follow it, then ", _sign_in())
    )


def show_forgot(call: Call) -> Response:
    """The page at ``/forgot``."""
    return _page(
        call,
        "Forgotten password",
        None,
        session_cookie.render_form(call, "/forgot", "Send a link", _field("Email", "email", "email", "username")),
    )


def request_reset(call: Call) -> Response:
    """The same answer whatever the email is."""
    recovery.request_password_reset(call.app, session_cookie.read_form(call).get("email", ""), call.now)
    return page_layout.render_page(call, "Check your mail", h.p(GENERIC_RESET))


def _page(call: Call, title: str, wrong: ApiError | None, *body: Child, status: int = 0) -> Response:
    made = page_layout.render_page(
        call, title, render_error(wrong), *body, status=status or (wrong.status if wrong else 200)
    )
    made.headers.update(dict(wrong.headers or {}) if wrong else {})
    return made


def render_error(wrong: ApiError | None) -> Html | None:
    """What was wrong with a form, above it; None for nothing."""
    retry = wrong.headers.get("Retry-After") if wrong and wrong.headers else None
    return h.p(wrong.message, retry and f" Wait {retry} seconds.", role="alert", id="problem") if wrong else None


def _field(label: str, name: str, type: str, autocomplete: str, value: str = "") -> Html:
    more = {"maxlength": 1024, "required": True, "autocomplete": autocomplete}
    return h.div(
        h.label(label, for_=name), h.input(id=name, name=name, type=type, value=value or None, **more), class_="field"
    )


def _sign_in() -> Html:
    return h.a("sign in", href="/login")
