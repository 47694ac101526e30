"""The actions of an operator: forms that lock accounts, change plans, create invites, and so on.

A form of a delicate action needs the operator's password, unless the session has confirmed an action with it in the
last 15 minutes. Without a confirmation the form leads to a page that prompts for the password and repeats the form's
fields. Each form has an id, so that it is executed once even if it is sent twice, and every action is recorded in the
audit log. The page of a refused form is in admin_pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import wraps
from typing import Any, NamedTuple

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
from finapi.web.pages.form_attempts import FormAttempt
from finapi.web.pages.member import sign_in_pages

ACTION_PARAMS = (path_param("action"),)
ACCOUNTS_PATH = "/admin/accounts"
MAX_TOKENS = 10**12
MAX_DAYS = 3650
MAX_NOTE_CHARACTERS = 200
MAX_NUMBER_DIGITS = 13
MAX_FORM_ID_CHARACTERS = 36  # The length of a UUID.
PASSWORD_FIELD = "password"

Fields = Mapping[str, str]
Handler = Callable[[Call], Response]


class AdminAction(NamedTuple):
    """An action of a form: its name in a sentence, the path of its page and the message when it is done."""

    run: Callable[[Call, Fields, Actor], None]
    name: str
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
    """Return the form of an action."""
    hidden_fields = [h.input(type="hidden", name="once", value=call.app.new_uuid())]
    if account_uuid:
        hidden_fields.append(h.input(type="hidden", name="account", value=account_uuid))
    return session_cookie.render_form(call, f"/admin/do/{action}", button, hidden_fields, *fields, class_="filters")


def render_field(attempt: FormAttempt, action: str, label: str, name: str, **attributes: Any) -> Html:
    """Return an input of an action's form, with its label. After a refusal it has the sent content."""
    attributes |= attempt.build_error_attributes(action, name)
    content = attempt.get_content(action, name) or None
    # A page has several of these forms: the label contains its input, because an id would not be unique.
    return h.label(label, " ", h.input(name=name, value=content, **attributes))


def render_done_note(call: Call) -> Child:
    """Return the message of the action that redirected to this page, or None."""
    action = ACTIONS.get(call.request.query.get("done", [""])[0])
    return action and h.p(action.done_message, role="status", class_="note")


def get_action(name: str) -> AdminAction:
    """Return the action of a form. Raise NOT_FOUND for an unknown name."""
    if name not in ACTIONS:
        raise ApiError("NOT_FOUND", "Form not found.")
    return ACTIONS[name]


def perform_action(call: Call, name: str, fields: Fields) -> Response:
    """Run the action of a form and redirect to its page, or return the page that prompts for the password.

    Raise the ApiError of a form that is refused.
    """
    action = get_action(name)
    actor = _get_actor(call, fields)
    try:
        if action.needs_password and not _confirm(call, fields):
            return _render_password_page(call, name, action, fields)
    except ApiError as error:
        if error.code not in ("INVALID_CREDENTIALS", "LOGIN_LOCKED"):
            raise
        return _render_password_page(call, name, action, fields, error)
    action.run(call, fields, actor)
    return session_cookie.redirect(build_url(_get_page_path(action, fields), done=name))


def _get_actor(call: Call, fields: Fields) -> Actor:
    """Return the operator who sent the form. Raise INVALID_PARAM if the form has no id."""
    form_id = fields.get("once", "")
    if not form_id or len(form_id) > MAX_FORM_ID_CHARACTERS:
        raise invalid_param("once", "The form is incomplete. Reload the page.")
    return Actor(call.user_id, call.request.address, form_id)


def _confirm(call: Call, fields: Fields) -> bool:
    """Return True if the session was confirmed in the last 15 minutes, or is confirmed now by the form's password.

    Return False without a password. Raise INVALID_CREDENTIALS for a wrong one, and LOGIN_LOCKED after too many.
    """
    caller = call.caller
    assert caller is not None
    assert caller.session is not None
    if sessions.is_confirmed(call.app, caller.session, call.now):
        return True
    if PASSWORD_FIELD not in fields:
        return False
    body = parse_body(LOGIN_BODY, {"email": caller.email, "password": fields[PASSWORD_FIELD] or "none"})
    sessions.confirm_session(call.app, caller, body["password"], call.request.address, call.now)
    return True


def _render_password_page(
    call: Call, name: str, action: AdminAction, fields: Fields, error: ApiError | None = None
) -> Response:
    """Return the page that prompts for the password, with the fields of the form that it confirms.

    ``error`` is that of a wrong password.
    """
    assert call.caller is not None
    hidden_fields = [
        h.input(type="hidden", name=field, value=content)
        for field, content in fields.items()
        if field not in (PASSWORD_FIELD, session_cookie.FORM_TOKEN_FIELD)
    ]
    subject = f" of {_get_email(call, fields)}" if action.page_path == ACCOUNTS_PATH else ""
    password_input = h.input(
        id=PASSWORD_FIELD,
        name=PASSWORD_FIELD,
        type="password",
        required=True,
        maxlength=sign_in_pages.MAX_FIELD_CHARACTERS,
        autocomplete="current-password",
        autofocus=True,
        aria_invalid="true" if error else None,
        aria_describedby="problem" if error else None,
    )
    is_wrong_password = error is not None and error.code == "INVALID_CREDENTIALS"
    if is_wrong_password:
        # 401 would mean that the operator is not logged in.
        error = ApiError("FORBIDDEN", "This is not your account's password.")
    response = page_layout.render_page(
        call,
        "Confirm with your password",
        sign_in_pages.render_error(error),
        h.p(f"{action.name}{subject}. The password is not needed again for 15 minutes."),
        session_cookie.render_form(
            call,
            f"/admin/do/{name}",
            "Confirm",
            hidden_fields,
            # The hidden name lets a password manager find the right account.
            h.input(type="hidden", name="username", autocomplete="username", value=call.caller.email),
            h.div(h.label("Your password", for_=PASSWORD_FIELD), password_input, class_="field"),
        ),
        h.p(h.a("Cancel", href=_get_page_path(action, fields))),
        status=error.status if error else 200,
    )
    response.headers.update(error.headers if error else {})
    return response


def _get_page_path(action: AdminAction, fields: Fields) -> str:
    """Return the path of the page with an action's form, which is that of the account for an action on one."""
    if action.page_path == ACCOUNTS_PATH:
        return f"{ACCOUNTS_PATH}/{fields.get('account', '')}"
    return action.page_path


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
        raise invalid_param(name, f"The number of {name} must be a whole number from 1 to {maximum:,}.")
    return int(text)


# ---- actions


def _lock_account(call: Call, fields: Fields, actor: Actor) -> None:
    users.set_locked(call.app, _get_email(call, fields), True, call.now, actor)


def _unlock_account(call: Call, fields: Fields, actor: Actor) -> None:
    users.set_locked(call.app, _get_email(call, fields), False, call.now, actor)


def _revoke_credentials(call: Call, fields: Fields, actor: Actor) -> None:
    credential_replacement.revoke_credentials(call.app, _get_email(call, fields), call.now, actor)


def _change_plan(call: Call, fields: Fields, actor: Actor) -> None:
    try:
        plans.check_name(call.app.config, fields.get("plan", ""))
    except UsageError as error:
        raise invalid_param("plan", f"{error}.") from None
    plans.change_plan(call.app, _get_user_id(call, fields), fields["plan"], call.now, actor)


def _change_credit(call: Call, fields: Fields, actor: Actor) -> None:
    email = _get_email(call, fields)
    amount = fields.get("amount", "").strip()
    try:
        cents = plans.parse_cents(amount)
    except UsageError:
        message = f"{amount!r} is not an amount of dollars. Write it like 12.50, or -12.50 for a correction."
        raise invalid_param("amount", message) from None
    users.change_credit(call.app, email, cents, call.now, actor, fields.get("reason", "").strip())


def _grant_tokens(call: Call, fields: Fields, actor: Actor) -> None:
    tokens = _parse_number(fields, "tokens", MAX_TOKENS)
    plans.grant(call.app, _get_user_id(call, fields), tokens, call.now, actor)


def _create_invite(call: Call, fields: Fields, actor: Actor) -> None:
    note = fields.get("note", "").strip()
    lifetime = timedelta(days=_parse_number(fields, "days", MAX_DAYS)) if fields.get("days") else None
    if not note.isprintable() or len(note) > MAX_NOTE_CHARACTERS:
        raise invalid_param("note", f"The note must be printable and of at most {MAX_NOTE_CHARACTERS} characters.")
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
    "lock": AdminAction(
        _lock_account, "Lock the account", ACCOUNTS_PATH, "The account is locked and its sessions have ended."
    ),
    "unlock": AdminAction(_unlock_account, "Unlock the account", ACCOUNTS_PATH, "The account is unlocked."),
    "revoke": AdminAction(
        _revoke_credentials,
        "End the sessions and replace the key",
        ACCOUNTS_PATH,
        "Its sessions have ended, and a new key is on its way by mail.",
    ),
    "plan": AdminAction(_change_plan, "Change the plan", ACCOUNTS_PATH, "The plan has changed."),
    "credit": AdminAction(_change_credit, "Change the wallet", ACCOUNTS_PATH, "The wallet has been changed."),
    "grant": AdminAction(_grant_tokens, "Grant tokens to the account", ACCOUNTS_PATH, "The tokens have been added."),
    "invite": AdminAction(_create_invite, "Create an invite code", "/admin/invites", "The code has been created."),
    "revoke-invite": AdminAction(
        _revoke_invite, "Revoke an invite code", "/admin/invites", "The code has been revoked."
    ),
    "retry": AdminAction(
        _retry_documents, "Fetch documents again", "/admin/intake", "They will be fetched again now.", False
    ),
    "redeliver": AdminAction(
        _redeliver, "Send a delivery again", "/admin/deliveries", "The delivery is being sent again.", False
    ),
}
