"""What an admin does by a form: the password is asked for again, each form is done once, and all is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from typing import NamedTuple

from finapi.accounts import audit, invites, plans, sessions, users
from finapi.accounts.audit import Actor
from finapi.core.errors import ApiError, UsageError, invalid_param
from finapi.delivery import credential_replacement, webhooks
from finapi.market.intake import fetch_queue
from finapi.web.accounts.auth import LOGIN_BODY
from finapi.web.html import page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body, path_param
from finapi.web.pages import session_cookie
from finapi.web.pages.api_backed_pages import build_url
from finapi.web.pages.member import sign_in_pages

ACTION_PARAMS = (path_param("action"),)
MAX_TOKENS, MAX_DAYS, MAX_NOTE = 10**12, 3650, 200

Fields = Mapping[str, str]
Handler = Callable[[Call], Response]


class AdminAction(NamedTuple):
    """What a form does, the page that it stands on, and what is said when it is done."""

    do: Callable[[Call, Fields, Actor], None]
    place: str
    said: str
    asks: bool = True  # for the password


def require_admin(handler: Handler) -> Handler:
    """A page of operators: a visitor is asked to sign in, FORBIDDEN for every other account; kept by no cache."""

    @wraps(handler)
    def shown(call: Call) -> Response:
        if call.caller is None:
            return sign_in_pages.render_login_page(call, call.request.target.rstrip("?"), status=401)
        if not call.caller.is_admin:
            raise ApiError("FORBIDDEN", "This page is for the operators of this host.")
        made = handler(call)
        made.headers["Cache-Control"] = "no-store"
        return made

    return shown


def render_action_form(call: Call, action: str, button: str, *fields: Child, account: str = "") -> Html:
    """The form of an action, with the password again where the action asks for it."""
    hidden = {"once": call.app.new_uuid(), "account": account}
    # Several of them stand on a page: a label is around its input, as an id would not be the only one.
    asks = ACTIONS[action].asks and h.label(
        "Your password ",
        h.input(name="password", type="password", required=True, autocomplete="current-password", maxlength=1024),
    )
    return session_cookie.render_form(
        call,
        f"/admin/do/{action}",
        button,
        [h.input(type="hidden", name=name, value=value) for name, value in hidden.items() if value],
        *fields,
        asks,
        class_="filters",
    )


def render_field(label: str, name: str, **more: object) -> Html:
    """An input of such a form."""
    return h.label(label, " ", h.input(name=name, required=True, **more))


@require_admin
def run_action(call: Call) -> Response:
    """What a form asks for, and back to its page; a page that says why not."""
    fields, name = session_cookie.read_form(call), call.params["action"]
    if name not in ACTIONS:
        raise ApiError("NOT_FOUND", "Form not found.")
    action, account = ACTIONS[name], fields.get("account", "")
    place = f"{action.place}/{account}" if action.place == ACCOUNTS_PATH else action.place
    try:
        by = _confirmed(call, fields, action.asks)
        action.do(call, fields, by)
    except UsageError as error:
        return _refused(call, place, invalid_param("form", f"{error}."))
    except ApiError as error:
        if error.status >= 500:
            raise
        return _refused(call, place, error)
    return session_cookie.redirect(build_url(place, done=name))


def _confirmed(call: Call, fields: Fields, asks: bool) -> Actor:
    """Who acts by this form; INVALID_CREDENTIALS without the password, LOGIN_LOCKED after too many wrong ones."""
    caller, once = call.caller, fields.get("once", "")
    assert caller is not None
    if not once or len(once) > 36:
        raise invalid_param("once", "The form is incomplete. Reload the page.")
    if asks:
        body = parse_body(LOGIN_BODY, {"email": caller.email, "password": fields.get("password") or "none"})
        address = call.request.address
        if sessions.check_password(call.app, caller.email, body["password"], address, call.now)["id"] != caller.id:
            raise ApiError("FORBIDDEN", "This is the password of another account.")
    return Actor(caller.id, call.request.address, once)


def _refused(call: Call, place: str, error: ApiError) -> Response:
    wrong = error.code == "INVALID_CREDENTIALS"
    message = "This is not your account's password." if wrong else error.message
    body = h.p(message, role="alert"), h.p(h.a("Back", href=place))
    made = page_layout.render_page(call, "Not done", *body, status=403 if wrong else error.status)
    made.headers.update(error.headers)
    return made


def _email(call: Call, fields: Fields) -> str:
    with call.app.accounts.read() as tx:
        return users.get_email(tx, fields.get("account", ""))


def _user_id(call: Call, fields: Fields) -> int:
    return users.get_id(call.app, _email(call, fields))


def _number(fields: Fields, name: str, most: int) -> int:
    text = fields.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) <= 13 and 1 <= int(text) <= most):
        raise invalid_param(name, f"{name} must be a whole number from 1 to {most:,}.")
    return int(text)


def _lock(call: Call, fields: Fields, by: Actor) -> None:
    users.set_locked(call.app, _email(call, fields), True, call.now, by)


def _unlock(call: Call, fields: Fields, by: Actor) -> None:
    users.set_locked(call.app, _email(call, fields), False, call.now, by)


def _revoke(call: Call, fields: Fields, by: Actor) -> None:
    credential_replacement.revoke_credentials(call.app, _email(call, fields), call.now, by)


def _plan(call: Call, fields: Fields, by: Actor) -> None:
    plans.check_name(call.app.config, fields.get("plan", ""))
    plans.change_plan(call.app, _user_id(call, fields), fields["plan"], call.now, by)


def _credit(call: Call, fields: Fields, by: Actor) -> None:
    users.add_credit(call.app, _email(call, fields), plans.parse_cents(fields.get("amount", "").strip()), call.now, by)


def _grant(call: Call, fields: Fields, by: Actor) -> None:
    tokens = _number(fields, "tokens", MAX_TOKENS)
    plans.grant(call.app, _user_id(call, fields), tokens, call.now, by)


def _invite(call: Call, fields: Fields, by: Actor) -> None:
    note, days = fields.get("note", "").strip(), fields.get("days") and _number(fields, "days", MAX_DAYS)
    if not note.isprintable() or len(note) > MAX_NOTE:
        raise invalid_param("note", f"note must be printable and of at most {MAX_NOTE} characters.")
    invites.create(call.app, call.now, lifetime=timedelta(days=days) if days else None, note=note or None, actor=by)


def _revoke_invite(call: Call, fields: Fields, by: Actor) -> None:
    invites.revoke(call.app, fields.get("code", ""), call.now, by)


def _retry(call: Call, fields: Fields, by: Actor) -> None:
    if not sum(fetch_queue.retry_documents(call.app, [fields.get("accession") or None], call.now, by)):
        raise ApiError("CONFLICT", "There is nothing to retry.")


def _redeliver(call: Call, fields: Fields, by: Actor) -> None:
    user_id, delivery = _user_id(call, fields), fields.get("delivery_id", "")
    webhooks.redeliver(
        call.app,
        user_id,
        delivery,
        call.now,
        lambda tx, _: audit.record_action(tx, by, "redeliver", call.now, user_id, delivery),
    )


ACCOUNTS_PATH = "/admin/accounts"
ACTIONS = {
    "lock": AdminAction(_lock, ACCOUNTS_PATH, "The account is locked and its sessions have ended."),
    "unlock": AdminAction(_unlock, ACCOUNTS_PATH, "The account is unlocked."),
    "revoke": AdminAction(_revoke, ACCOUNTS_PATH, "Its sessions have ended, and a new key is on its way by mail."),
    "plan": AdminAction(_plan, ACCOUNTS_PATH, "The plan has changed."),
    "credit": AdminAction(_credit, ACCOUNTS_PATH, "The wallet has been credited."),
    "grant": AdminAction(_grant, ACCOUNTS_PATH, "The tokens have been added."),
    "invite": AdminAction(_invite, "/admin/invites", "The code has been created."),
    "revoke-invite": AdminAction(_revoke_invite, "/admin/invites", "The code has been revoked."),
    "retry": AdminAction(_retry, "/admin/intake", "They will be fetched again now.", asks=False),
    "redeliver": AdminAction(_redeliver, "/admin/deliveries", "The delivery is being sent again.", asks=False),
}


def render_done_note(call: Call) -> Child:
    """What the form that led here has done."""
    action = ACTIONS.get(call.request.query.get("done", [""])[0])
    return action and h.p(action.said, role="status", class_="note")
