"""The actions of an operator: forms that lock accounts, change plans, create invites, and so on.

A form of a delicate action needs the operator's password again. Each form has an id, so that it is executed
once even if it is sent twice, and every action is recorded in the audit log.
"""

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
ACCOUNTS_PATH = "/admin/accounts"
MAX_TOKENS = 10**12
MAX_DAYS = 3650
MAX_NOTE_CHARACTERS = 200
MAX_NUMBER_DIGITS = 13
MAX_FORM_ID_CHARACTERS = 36  # The length of a UUID.

Fields = Mapping[str, str]
Handler = Callable[[Call], Response]


class AdminAction(NamedTuple):
    """An action of a form, with the path of its page and the message when it is done."""

    run: Callable[[Call, Fields, Actor], None]
    page_path: str
    done_message: str
    needs_password: bool = True


def require_admin(handler: Handler) -> Handler:
    """Decorate the handler of an operators' page.

    A visitor gets the login page. Raise FORBIDDEN for an account that is not an operator's. The page is not cached.
    """

    @wraps(handler)
    def checked_handler(call: Call) -> Response:
        if call.caller is None:
            return sign_in_pages.render_login_page(call, call.request.target.rstrip("?"), status=401)
        if not call.caller.is_admin:
            raise ApiError("FORBIDDEN", "This page is for the operators of this host.")
        response = handler(call)
        response.headers["Cache-Control"] = "no-store"
        return response

    return checked_handler


# ---- forms


def render_action_form(call: Call, action: str, button: str, *fields: Child, account_uuid: str = "") -> Html:
    """Return the form of an action, with a field for the password if the action needs it."""
    hidden_fields = [h.input(type="hidden", name="once", value=call.app.new_uuid())]
    if account_uuid:
        hidden_fields.append(h.input(type="hidden", name="account", value=account_uuid))
    # A page has several of these forms: the label contains its input, because an id would not be unique.
    password_field = ACTIONS[action].needs_password and h.label(
        "Your password ",
        h.input(name="password", type="password", required=True, autocomplete="current-password", maxlength=1024),
    )
    return session_cookie.render_form(
        call, f"/admin/do/{action}", button, hidden_fields, *fields, password_field, class_="filters"
    )


def render_field(label: str, name: str, **attributes: object) -> Html:
    """Return a required input of an action's form, with its label."""
    return h.label(label, " ", h.input(name=name, required=True, **attributes))


def render_done_note(call: Call) -> Child:
    """Return the message of the action that redirected to this page, or None."""
    action = ACTIONS.get(call.request.query.get("done", [""])[0])
    return action and h.p(action.done_message, role="status", class_="note")


@require_admin
def run_action(call: Call) -> Response:
    """Run the action of a form and redirect to its page, or return a page that says why it was not done."""
    fields = session_cookie.read_form(call)
    name = call.params["action"]
    if name not in ACTIONS:
        raise ApiError("NOT_FOUND", "Form not found.")
    action = ACTIONS[name]
    page_path = action.page_path
    if page_path == ACCOUNTS_PATH:
        page_path = f"{ACCOUNTS_PATH}/{fields.get('account', '')}"
    try:
        actor = _confirm_actor(call, fields, action.needs_password)
        action.run(call, fields, actor)
    except UsageError as error:
        return _render_refusal(call, page_path, invalid_param("form", f"{error}."))
    except ApiError as error:
        if error.status >= 500:
            raise
        return _render_refusal(call, page_path, error)
    return session_cookie.redirect(build_url(page_path, done=name))


def _confirm_actor(call: Call, fields: Fields, needs_password: bool) -> Actor:
    """Return the operator who sent the form.

    Raise INVALID_CREDENTIALS without the right password, LOGIN_LOCKED after too many wrong ones, and INVALID_PARAM if
    the form has no id.
    """
    caller = call.caller
    assert caller is not None
    address = call.request.address
    form_id = fields.get("once", "")
    if not form_id or len(form_id) > MAX_FORM_ID_CHARACTERS:
        raise invalid_param("once", "The form is incomplete. Reload the page.")
    if needs_password:
        body = parse_body(LOGIN_BODY, {"email": caller.email, "password": fields.get("password") or "none"})
        user = sessions.check_password(call.app, caller.email, body["password"], address, call.now)
        if user["id"] != caller.id:
            raise ApiError("FORBIDDEN", "This is the password of another account.")
    return Actor(caller.id, address, form_id)


def _render_refusal(call: Call, page_path: str, error: ApiError) -> Response:
    is_wrong_password = error.code == "INVALID_CREDENTIALS"
    message = "This is not your account's password." if is_wrong_password else error.message
    # 401 would mean that the operator is not logged in.
    status = 403 if is_wrong_password else error.status
    body = (h.p(message, role="alert"), h.p(h.a("Back", href=page_path)))
    response = page_layout.render_page(call, "Not done", *body, status=status)
    response.headers.update(error.headers)
    return response


# ---- reading fields


def _get_email(call: Call, fields: Fields) -> str:
    with call.app.accounts.read() as tx:
        return users.get_email(tx, fields.get("account", ""))


def _get_user_id(call: Call, fields: Fields) -> int:
    return users.get_id(call.app, _get_email(call, fields))


def _parse_number(fields: Fields, name: str, maximum: int) -> int:
    text = fields.get(name, "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS
    if not is_number or not 1 <= int(text) <= maximum:
        raise invalid_param(name, f"{name} must be a whole number from 1 to {maximum:,}.")
    return int(text)


# ---- actions


def _lock_account(call: Call, fields: Fields, actor: Actor) -> None:
    users.set_locked(call.app, _get_email(call, fields), True, call.now, actor)


def _unlock_account(call: Call, fields: Fields, actor: Actor) -> None:
    users.set_locked(call.app, _get_email(call, fields), False, call.now, actor)


def _revoke_credentials(call: Call, fields: Fields, actor: Actor) -> None:
    credential_replacement.revoke_credentials(call.app, _get_email(call, fields), call.now, actor)


def _change_plan(call: Call, fields: Fields, actor: Actor) -> None:
    plans.check_name(call.app.config, fields.get("plan", ""))
    plans.change_plan(call.app, _get_user_id(call, fields), fields["plan"], call.now, actor)


def _change_credit(call: Call, fields: Fields, actor: Actor) -> None:
    email = _get_email(call, fields)
    cents = plans.parse_cents(fields.get("amount", "").strip())
    users.change_credit(call.app, email, cents, call.now, actor, fields.get("reason", "").strip())


def _grant_tokens(call: Call, fields: Fields, actor: Actor) -> None:
    tokens = _parse_number(fields, "tokens", MAX_TOKENS)
    plans.grant(call.app, _get_user_id(call, fields), tokens, call.now, actor)


def _create_invite(call: Call, fields: Fields, actor: Actor) -> None:
    note = fields.get("note", "").strip()
    lifetime = timedelta(days=_parse_number(fields, "days", MAX_DAYS)) if fields.get("days") else None
    if not note.isprintable() or len(note) > MAX_NOTE_CHARACTERS:
        raise invalid_param("note", f"note must be printable and of at most {MAX_NOTE_CHARACTERS} characters.")
    invites.create(call.app, call.now, lifetime=lifetime, note=note or None, actor=actor)


def _revoke_invite(call: Call, fields: Fields, actor: Actor) -> None:
    invites.revoke(call.app, fields.get("code", ""), call.now, actor)


def _retry_documents(call: Call, fields: Fields, actor: Actor) -> None:
    # Without an accession number all refused documents are fetched again.
    retried_counts = fetch_queue.retry_documents(call.app, [fields.get("accession") or None], call.now, actor)
    if not sum(retried_counts):
        raise ApiError("CONFLICT", "There is nothing to retry.")


def _redeliver(call: Call, fields: Fields, actor: Actor) -> None:
    user_id = _get_user_id(call, fields)
    delivery_id = fields.get("delivery_id", "")
    webhooks.redeliver(
        call.app,
        user_id,
        delivery_id,
        call.now,
        lambda tx, _: audit.record_action(tx, actor, "redeliver", call.now, user_id, delivery_id),
    )


ACTIONS = {
    "lock": AdminAction(_lock_account, ACCOUNTS_PATH, "The account is locked and its sessions have ended."),
    "unlock": AdminAction(_unlock_account, ACCOUNTS_PATH, "The account is unlocked."),
    "revoke": AdminAction(
        _revoke_credentials, ACCOUNTS_PATH, "Its sessions have ended, and a new key is on its way by mail."
    ),
    "plan": AdminAction(_change_plan, ACCOUNTS_PATH, "The plan has changed."),
    "credit": AdminAction(_change_credit, ACCOUNTS_PATH, "The wallet has been changed."),
    "grant": AdminAction(_grant_tokens, ACCOUNTS_PATH, "The tokens have been added."),
    "invite": AdminAction(_create_invite, "/admin/invites", "The code has been created."),
    "revoke-invite": AdminAction(_revoke_invite, "/admin/invites", "The code has been revoked."),
    "retry": AdminAction(_retry_documents, "/admin/intake", "They will be fetched again now.", needs_password=False),
    "redeliver": AdminAction(
        _redeliver, "/admin/deliveries", "The delivery is being sent again.", needs_password=False
    ),
}
