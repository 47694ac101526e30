"""The pages of an account: tokens, wallet, key and limits; email, password and sessions; webhooks and sniper targets.

A form of these pages runs the handler of an API call, then redirects to its page. If the handler refuses it, the page
is shown with the message and the form's input, without passwords.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from typing import Any, NamedTuple

from finapi.accounts import plans, sessions, users
from finapi.core.errors import ApiError, UsageError, invalid_param
from finapi.web.accounts.account import EMAIL_CHANGE_REQUESTED
from finapi.web.html import charts, form_fields, html_tables, page_layout
from finapi.web.html.charts import ChartSeries
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_number, format_short
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.idempotent_calls import answer_once
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body, path_param
from finapi.web.http.route import API
from finapi.web.pages import session_cookie
from finapi.web.pages.api_backed_pages import build_api_call, build_url, render_section
from finapi.web.pages.form_attempts import NO_ATTEMPT, FormAttempt
from finapi.web.pages.limit_names import describe_limit, get_limit_name
from finapi.web.pages.member import sign_in_pages

ACTION_PARAMS = (path_param("action"),)
ACCOUNT_PATH = "/account"
SECURITY_PATH = "/account/security"
WEBHOOKS_PATH = "/account/webhooks"
DELETED_PATH = "/account/deleted"
TABS = {ACCOUNT_PATH: "Account", SECURITY_PATH: "Security and data", WEBHOOKS_PATH: "Webhooks and targets"}
MAX_LEDGER_ROWS = 50
MAX_WALLET_ROWS = 20
MAX_TARGETS = 50
MAX_DELIVERIES = 20
DEFAULT_TARGET_MINUTES = 60

LEDGER_REASONS = {
    "debit": "Call",
    "4xx_refund": "Refund of a refused call",
    "5xx_refund": "Refund of a failed call",
    "crash_refund": "Refund of an interrupted call",
    "refill": "New period of the plan",
    "purchase": "Bought from the wallet",
    "grant": "Granted by the operator",
    "carried_over": "All older changes",
}
# The events that a receiver can get for all companies.
TOPIC_LABELS = {
    "sniper.window_expired": "A sniper target ended without a filing",
    "insider.transaction.created": "Insider transactions (Forms 3, 4 and 5)",
    "13f.holdings.updated": "Holdings of a fund (13F)",
    "ownership.filing.created": "Owners of more than 5 % (Schedules 13D and 13G)",
    "insider.proposed_sale.created": "Proposed sales of insiders (Form 144)",
    "nport.report.created": "Positions of a mutual fund or ETF (N-PORT)",
}
# The names of fields in messages of the API, and in those of the pages.
FIELD_NAMES = {
    "amount_dollars": "The amount",
    "newpassword": "The new password",
    "password": "The password",
    "email": "The email",
    "webhook_url": "The URL of the receiver",
    "duration_minutes": "The number of minutes",
    "form_types": "The list of forms",
}

Handler = Callable[[Call], Response]


class AccountAction(NamedTuple):
    """The API call that a form makes, the path of the form's page, and the message when it is done.

    A form that ``runs_once`` has an id, so that the call is made once even if the form is sent twice.
    """

    method: str
    api_path: str
    page_path: str
    done_message: str
    runs_once: bool = False

    @property
    def route_name(self) -> str:
        """Return the name of the route that the form calls."""
        return f"{self.method} {API}{self.api_path}"


ACTIONS = {
    "rotate-key": AccountAction(
        "POST", "/user/api-key/rotate", ACCOUNT_PATH, "The key has been replaced. The old one no longer works."
    ),
    "buy-tokens": AccountAction(
        "POST",
        "/billing/quota",
        ACCOUNT_PATH,
        "The tokens have been bought with money from the wallet.",
        runs_once=True,
    ),
    "email": AccountAction("POST", "/user/email", SECURITY_PATH, EMAIL_CHANGE_REQUESTED),
    "password": AccountAction(
        "PUT", "/user/password", SECURITY_PATH, "The password has been changed. All other sessions have ended."
    ),
    "settings": AccountAction("PUT", "/user/", WEBHOOKS_PATH, "Settings saved."),
    "rotate-secret": AccountAction(
        "POST",
        "/webhooks/secret/rotate",
        WEBHOOKS_PATH,
        "The secret has been replaced. For a day messages carry both signatures.",
    ),
    "test": AccountAction("POST", "/webhooks/test", WEBHOOKS_PATH, "A test event is on its way."),
    "redeliver": AccountAction(
        "POST",
        "/webhooks/deliveries/{delivery_id}/redeliver",
        WEBHOOKS_PATH,
        "The delivery is being sent again.",
    ),
    "add-target": AccountAction("POST", "/sniper/targets", WEBHOOKS_PATH, "The target is active."),
    "stop-target": AccountAction("POST", "/sniper/targets/{target_id}/stop", WEBHOOKS_PATH, "The target is stopped."),
    "export": AccountAction("GET", "/user/export", SECURITY_PATH, ""),
    "delete": AccountAction("DELETE", "/user/", SECURITY_PATH, ""),
}


def _require_session(handler: Handler) -> Handler:
    """Decorate the handler of an account's page: a visitor who is not signed in gets the login page."""

    @wraps(handler)
    def checked_handler(call: Call) -> Response:
        if call.caller is None:
            return sign_in_pages.render_login_page(call, call.request.target, status=401)
        return handler(call)

    return checked_handler


# ---- actions


@_require_session
def run_action(call: Call) -> Response:
    """Run the API's handler for a form and redirect to the form's page.

    If the handler raises an error, return the page with its message.
    """
    fields = session_cookie.read_form(call)
    name = call.params["action"]
    if name not in ACTIONS:
        raise ApiError("NOT_FOUND", "Form not found.")
    action = ACTIONS[name]
    try:
        response = _call_api(call, name, action, fields)
    except ApiError as error:
        if error.status >= 500:
            raise
        return _RENDERERS[action.page_path](call, FormAttempt(name, fields, error))
    if name == "export":
        response.headers["Content-Disposition"] = 'attachment; filename="account.json"'
        response.headers["Cache-Control"] = "no-store"
        return response
    if name == "delete":
        return session_cookie.redirect(DELETED_PATH, session_cookie.build_cookie_header(call.app, "", 0))
    headers = None
    if name == "password":
        token = json.loads(response.body)["token"]
        headers = session_cookie.build_cookie_header(call.app, token, call.app.config.session_lifetime)
    return session_cookie.redirect(build_url(action.page_path, done=name), headers)


def _call_api(call: Call, name: str, action: AccountAction, fields: Mapping[str, str]) -> Response:
    """Run the handler of a form's API call and return its response. Raise its ApiError, or that of a wrong field."""
    route = next(route for route in call.routes if route.name == action.route_name)
    params = {param.name: param.parse(fields.get(param.name, "")) for param in route.params}
    body = parse_body(route.body or (), _build_body(name, fields))
    api_call = call._replace(route=route, params=params, body=body)
    if not action.runs_once:
        return route.handler(api_call)
    form_id = fields.get("once", "")
    if not form_id:
        raise invalid_param("once", "The form is incomplete. Reload the page.")
    try:
        return answer_once(api_call, f"form-{form_id}", before_work=lambda: None)
    except ApiError as error:
        if error.code != "CONFLICT":
            raise
        message = "This form was already sent with other contents. See what it did, then send the new contents again."
        raise ApiError("CONFLICT", message) from None


def _build_body(action: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a form as the JSON body of its API call."""
    if action == "settings":
        return {
            "webhook_url": fields.get("webhook_url") or None,
            "webhook_topics": [topic for topic in users.TOPICS if fields.get(f"topic-{topic}")],
        }
    body: dict[str, Any] = {name: text for name, text in fields.items() if text}
    if "duration_minutes" in body:
        # The API refuses 0 with a message about the allowed minutes.
        minutes = body["duration_minutes"]
        body["duration_minutes"] = int(minutes) if minutes.isdigit() else 0
    if "amount_dollars" in body:
        body["amount_dollars"] = _parse_dollars(body["amount_dollars"])
    if "form_types" in body:
        form_types = [form_type.strip() for form_type in body["form_types"].split(",")]
        body["form_types"] = [form_type for form_type in form_types if form_type]
    return body


def _parse_dollars(text: str) -> float:
    """Return an amount that is above 0. Raise INVALID_PARAM for any other text."""
    try:
        cents = plans.parse_cents(text.strip())
    except UsageError:
        cents = 0
    if cents <= 0:
        message = "amount_dollars must be an amount above 0 with at most two decimals, such as 12.50."
        raise invalid_param("amount_dollars", message)
    return cents / 100


@_require_session
def end_other_sessions(call: Call) -> Response:
    """End all other sessions of the account and redirect to its page."""
    session_cookie.read_form(call)
    assert call.caller is not None
    sessions.end_other_sessions(call.app, call.user_id, call.caller.session or b"")
    return session_cookie.redirect(SECURITY_PATH)


# ---- the account


@_require_session
def show_account(call: Call) -> Response:
    """Return the page at ``/account``."""
    return _render_account(call)


def _render_account(call: Call, attempt: FormAttempt = NO_ATTEMPT) -> Response:
    user = _get_answer(call, "/user/")["user"]
    balance = _get_answer(call, "/account/balance")
    usage = _get_answer(call, "/account/usage")
    cursor = call.request.query.get("cursor", [""])[0]
    ledger = _get_answer(call, "/account/transactions", limit=MAX_LEDGER_ROWS, cursor=cursor)
    return _render_page(
        call,
        ACCOUNT_PATH,
        user,
        _render_balance(call, balance, user),
        _render_key(call, user),
        _render_wallet(call, user, attempt),
        _render_usage(usage),
        _render_ledger(ledger),
        _render_limits(call),
        attempt=attempt,
    )


def _render_balance(call: Call, balance: Mapping[str, Any], user: Mapping[str, Any]) -> Html:
    terms = plans.get_terms(call.app.config, balance["plan"])
    interval = plans.INTERVALS[terms.months]
    figures = [
        ("Tokens left", format_number(balance["current_balance"])),
        ("Refilled on", (balance["billing_cycle_end"] or "")[:10]),
        ("Plan", h.a(balance["plan_display_name"], href=call.app.config.plans_page_url)),
        (f"Tokens a {interval}", f"{balance['monthly_quota']:,}"),
    ]
    if terms.price:
        figures.append((f"Dollars a {interval}", f"{terms.price:,}"))
    figures.append(("Dollars in the wallet", _format_dollars(user["credit_balance"])))
    return html_tables.render_description_list(figures, "key-figures")


def _format_dollars(amount: Any) -> str:
    return f"{amount:,.2f}"


def _render_key(call: Call, user: Mapping[str, Any]) -> Html:
    key = user["api_key"] or "none until the email is verified"
    command = f"curl -H 'X-API-Key: {key}' {call.app.config.public_url}{API}/account/balance"
    return render_section(
        "API key",
        h.details(
            h.summary("Show the key and a first call"),
            h.pre(h.code(key), tabindex=0),
            h.pre(h.code(command), tabindex=0),
        ),
        h.p("Data calls need the key: see ", h.a("The first call", href="/docs/first-call"), ".", class_="quiet"),
        h.p("A new key replaces the old one immediately: programs with the old key stop working.", class_="quiet"),
        session_cookie.render_form(call, "/account/do/rotate-key", "Replace the key"),
    )


def _render_wallet(call: Call, user: Mapping[str, Any], attempt: FormAttempt) -> Html:
    """Return the wallet: a form that buys tokens if it has money, and its changes."""
    changes = _get_answer(call, "/billing/history", limit=MAX_WALLET_ROWS)
    form = None
    if user["credit_balance"] > 0:
        note = "A dollar of the wallet buys 100 tokens. They carry over, and are spent after those of the plan."
        form = session_cookie.render_form(
            call,
            "/account/do/buy-tokens",
            "Buy tokens",
            h.input(type="hidden", name="once", value=call.app.new_uuid()),
            _render_input(
                attempt,
                "buy-tokens",
                "Dollars",
                "amount_dollars",
                type="number",
                min="0.01",
                max=f"{user['credit_balance']:.2f}",
                step="0.01",
                required=True,
            ),
            class_="filters",
        )
    else:
        note = "The wallet is empty. Money in it buys tokens; the operator of this host adds it."
    columns = (
        GridColumn("When", "created_at", style="time"),
        GridColumn("Dollars", _render_dollar_cell, numeric=True),
        GridColumn("Tokens", lambda row: html_tables.render_number_cell(row["tokens_credited"] or None), numeric=True),
        GridColumn("Reason", "description"),
    )
    table = None
    if changes["transactions"]:
        caption = f"The last {MAX_WALLET_ROWS} changes" if changes["has_more"] else "Every change, newest first"
        table = html_tables.render_grid(caption, columns, changes["transactions"])
    return render_section("Wallet", h.p(note, class_="quiet"), form, table)


def _render_dollar_cell(change: Mapping[str, Any]) -> Html:
    amount = Decimal(change["amount_usd"])
    is_spent = change["type"] == "purchase"
    return html_tables.render_number_cell(-amount if is_spent else amount, lambda number: f"{number:+,.2f}")


def _render_usage(usage: Mapping[str, Any]) -> Html:
    days = [day["day"][5:] for day in usage["daily"]]
    tokens = [Decimal(day["tokens_consumed"]) for day in usage["daily"]]
    chart = None
    if any(tokens):
        series = ChartSeries("Tokens", tokens, format_short)
        chart = h.div(charts.render_bar_chart("Tokens by day", days, [series]), class_="charts")
    endpoints = usage["top_endpoints"]
    if not endpoints:
        return render_section("Usage", chart, h.p("No tokens spent yet.", class_="quiet"))
    columns = (
        GridColumn("Endpoint", "endpoint", style="code"),
        GridColumn("Calls", "calls", numeric=True),
        GridColumn("Tokens", "tokens", numeric=True),
    )
    table = html_tables.render_grid(f"The last {usage['window_days']} days", columns, endpoints)
    if chart is None:
        return render_section("Usage", table)
    return render_section("Usage", h.div(chart, table, class_="columns"))


def _render_ledger(ledger: Mapping[str, Any]) -> Html:
    columns = (
        GridColumn("When", "created_at", style="time"),
        GridColumn("Tokens", "delta", numeric=True),
        GridColumn("Reason", lambda row: LEDGER_REASONS[row["reason"]]),
        GridColumn("Call", "endpoint", style="code"),
    )
    table = html_tables.render_grid("Every change of the balance, newest first", columns, ledger["transactions"])
    next_cursor = ledger["next_cursor"]
    next_link = next_cursor and h.p(h.a("Older changes", href=build_url(ACCOUNT_PATH, cursor=next_cursor)))
    return render_section("Ledger", table, next_link)


def _render_limits(call: Call) -> Html:
    limits = _get_answer(call, "/account/limits")["limits"]
    columns = (
        GridColumn("Calls", lambda row: h.th(get_limit_name(row["zone"]), scope="row")),
        GridColumn("Allowed", lambda row: describe_limit(row["requests"], row["window_seconds"])),
        GridColumn("Remaining", "remaining", numeric=True),
    )
    caption = "The remaining calls can be made immediately. They come back evenly. Viewing this page does not count."
    return render_section("Limits", html_tables.render_grid(caption, columns, limits))


# ---- security and data


@_require_session
def show_security(call: Call) -> Response:
    """Return the page at ``/account/security``."""
    return _render_security(call)


def _render_security(call: Call, attempt: FormAttempt = NO_ATTEMPT) -> Response:
    user = _get_answer(call, "/user/")["user"]
    return _render_page(
        call,
        SECURITY_PATH,
        user,
        _render_password_form(call, user, attempt),
        _render_email_form(call, attempt),
        _render_sessions(call, user),
        _render_own_data(call, attempt),
        attempt=attempt,
    )


def _render_password_form(call: Call, user: Mapping[str, Any], attempt: FormAttempt) -> Html:
    return render_section(
        "Password",
        h.p("A new password ends all other sessions. The API key stays the same.", class_="quiet"),
        session_cookie.render_form(
            call,
            "/account/do/password",
            "Change the password",
            # The hidden name lets a password manager save the right account.
            h.input(type="hidden", name="username", autocomplete="username", value=user["email"]),
            _render_password_input(attempt, "password", "Old password"),
            _render_password_input(
                attempt, "password", "New password, 8 characters or more", "newpassword", "new-password", minlength=8
            ),
        ),
    )


def _render_email_form(call: Call, attempt: FormAttempt) -> Html:
    return render_section(
        "Email",
        h.p(
            "The new address gets a link, and the old one a notice. The email changes when you follow the link and "
            "confirm. You then sign in again, with the new address.",
            class_="quiet",
        ),
        session_cookie.render_form(
            call,
            "/account/do/email",
            "Change the email",
            h.div(
                _render_input(
                    attempt,
                    "email",
                    "New email",
                    "email",
                    type="email",
                    required=True,
                    maxlength=254,
                    autocomplete="email",
                ),
                class_="field",
            ),
            _render_password_input(attempt, "email", "Password"),
        ),
    )


def _render_sessions(call: Call, user: Mapping[str, Any]) -> Html:
    assert call.caller is not None
    current_fingerprint = call.caller.session
    with call.app.accounts.read() as tx:
        rows = sessions.list_sessions(tx, call.user_id, call.now)
    columns = (
        GridColumn("Signed in", "created_at", style="time"),
        GridColumn("Expires", "expires_at", style="time"),
        GridColumn("Current", lambda row: "this one" if row["fingerprint"] == current_fingerprint else ""),
    )
    caption = f"{len(rows)} of at most {user['UserDeviceLimit']['device_limit']}"
    end_form = session_cookie.render_form(call, "/account/end-others", "End all others")
    return render_section("Sessions", html_tables.render_grid(caption, columns, rows), end_form)


def _render_own_data(call: Call, attempt: FormAttempt) -> Html:
    return render_section(
        "Your data",
        h.p("Everything stored about this account, as JSON.", class_="quiet"),
        session_cookie.render_form(call, "/account/do/export", "Download it"),
        h.details(
            h.summary("Delete the account"),
            h.p(
                "This deletes the email, password, keys, sessions, receivers and targets immediately and for good.",
                " The ledger of tokens and money is kept without your name, under an account number.",
                class_="quiet",
            ),
            session_cookie.render_form(
                call, "/account/do/delete", "Delete for good", _render_password_input(attempt, "delete", "Password")
            ),
            open=attempt.action == "delete",
        ),
    )


def show_deleted(call: Call) -> Response:
    """Return the page at ``/account/deleted``, or a redirect to the account if the caller is signed in."""
    if call.caller is not None:
        return session_cookie.redirect(ACCOUNT_PATH)
    return page_layout.render_page(
        call,
        "Account deleted",
        h.p(
            "Your email, password, API key, sessions, webhook receivers and sniper targets have been deleted. Programs "
            "that still use the key get the answer 401."
        ),
        h.p("The ledger of tokens and money is kept without your name, under an account number.", class_="quiet"),
        h.p(h.a("Front page", href="/"), " · ", h.a("Register again with an invite code", href="/register")),
    )


# ---- webhooks and sniper targets


@_require_session
def show_webhooks(call: Call) -> Response:
    """Return the page at ``/account/webhooks``."""
    return _render_webhooks(call)


def _render_webhooks(call: Call, attempt: FormAttempt = NO_ATTEMPT) -> Response:
    user = _get_answer(call, "/user/")["user"]
    targets = _get_answer(call, "/sniper/targets", limit=MAX_TARGETS)["targets"]
    secret = _get_answer(call, "/webhooks/secret")["secret"]
    deliveries = _get_answer(call, "/webhooks/deliveries", limit=MAX_DELIVERIES)["deliveries"]
    test_form = session_cookie.render_form(call, "/account/do/test", "Send a test event")
    return _render_page(
        call,
        WEBHOOKS_PATH,
        user,
        render_section("Receiver", h.p(*_RECEIVER_NOTE, class_="quiet"), _render_receiver_form(call, user, attempt)),
        render_section(
            "Signing secret",
            h.details(h.summary("Show"), h.pre(h.code(secret), tabindex=0)),
            session_cookie.render_form(call, "/account/do/rotate-secret", "Replace the secret"),
        ),
        render_section("Deliveries", test_form, _render_deliveries(call, deliveries)),
        render_section(
            "Sniper targets",
            h.p(
                "A target waits for the next filing of a company and sends it to the receiver. It ends with that "
                "filing, or after the minutes.",
                class_="quiet",
            ),
            _render_target_form(call, attempt),
            _render_targets(call, targets),
        ),
        attempt=attempt,
    )


_RECEIVER_NOTE = (
    "The events that you choose are sent to this URL as signed POST requests. ",
    h.a("Webhooks", href="/docs/webhooks"),
    " shows how to verify them.",
)


def _render_receiver_form(call: Call, user: Mapping[str, Any], attempt: FormAttempt) -> Html:
    topic_fields = []
    for topic in users.TOPICS:
        is_checked = bool(attempt.get_content("settings", f"topic-{topic}", topic in user["webhook_topics"]))
        checkbox = h.input(type="checkbox", name=f"topic-{topic}", checked=is_checked)
        topic_fields.append(h.label(checkbox, f" {TOPIC_LABELS[topic]} ", h.small(h.code(topic))))
    return session_cookie.render_form(
        call,
        "/account/do/settings",
        "Save",
        _render_input(
            attempt,
            "settings",
            "URL of your receiver",
            "webhook_url",
            user["webhook_url"],
            type="url",
            maxlength=2000,
        ),
        topic_fields,
    )


def _render_target_form(call: Call, attempt: FormAttempt) -> Html:
    return session_cookie.render_form(
        call,
        "/account/do/add-target",
        "Watch",
        _render_input(attempt, "add-target", "Ticker or CIK", "ticker", required=True),
        _render_input(attempt, "add-target", "Minutes", "duration_minutes", DEFAULT_TARGET_MINUTES, type="number"),
        _render_input(attempt, "add-target", "Forms", "form_types", placeholder="8-K"),
        class_="filters",
    )


def _render_deliveries(call: Call, deliveries: Sequence[Mapping[str, Any]]) -> Html:
    if not deliveries:
        return h.p("Nothing sent yet.", class_="quiet")

    def render_redeliver_form(delivery: Mapping[str, Any]) -> Html:
        return _render_button(call, "redeliver", "Send again", "delivery_id", delivery["delivery_id"])

    columns = (
        GridColumn("Event", "event_type", style="row_header"),
        GridColumn("When", "created_at", style="time"),
        GridColumn("State", _format_status),
        GridColumn("To", "url"),
        GridColumn("Attempts", _render_attempts),
        GridColumn("Action", render_redeliver_form),
    )
    return html_tables.render_grid(f"The last {MAX_DELIVERIES}", columns, deliveries)


def _render_attempts(delivery: Mapping[str, Any]) -> Html:
    columns = (
        GridColumn("Started", "started_at", style="time"),
        GridColumn("ms", "duration_ms", numeric=True),
        GridColumn("Status", "status_code", numeric=True),
        GridColumn("Error", "error"),
        GridColumn("Answer", "response_body", style="code"),
    )
    table = html_tables.render_grid("Attempts", columns, delivery["attempts"])
    return h.details(h.summary(str(delivery["attempt_count"])), table)


def _render_targets(call: Call, targets: Sequence[Mapping[str, Any]]) -> Html:
    if not targets:
        return h.p("No active targets.", class_="quiet")

    def render_stop_form(target: Mapping[str, Any]) -> Child:
        if target["status"] != "ACTIVE":
            return ""
        return _render_button(call, "stop-target", "Stop", "target_id", target["target_id"])

    columns = (
        GridColumn("Company", "ticker", style="row_header"),
        GridColumn("State", _format_status),
        GridColumn("Until", "end_time", style="time"),
        GridColumn("Forms", lambda target: ", ".join(target["form_types"]) or "every form"),
        GridColumn("Action", render_stop_form),
    )
    return html_tables.render_grid("Newest first", columns, targets)


def _format_status(row: Mapping[str, Any]) -> str:
    return str(row["status"]).lower().replace("_", " ")


def _render_button(call: Call, action: str, button: str, field: str, content: str) -> Html:
    """Return a form without visible fields: a button for one row of a table."""
    hidden_field = h.input(type="hidden", name=field, value=content)
    return session_cookie.render_form(call, f"/account/do/{action}", button, hidden_field)


# ---- parts of a page


_RENDERERS: dict[str, Callable[[Call, FormAttempt], Response]] = {
    ACCOUNT_PATH: _render_account,
    SECURITY_PATH: _render_security,
    WEBHOOKS_PATH: _render_webhooks,
}


def _get_answer(call: Call, path: str, **arguments: Any) -> Any:
    return build_api_call(path, **arguments).get_answer(call)


def _render_input(
    attempt: FormAttempt, action: str, label: str, name: str, stored: Any = "", **attributes: Any
) -> Html:
    """Return an input of an action's form. After a refusal it has the sent content, and says if it is wrong."""
    attributes |= attempt.build_error_attributes(action, name)
    return form_fields.render_input(label, name, attempt.get_content(action, name, stored), **attributes)


def _render_password_input(
    attempt: FormAttempt,
    action: str,
    label: str,
    name: str = "password",
    autocomplete: str = "current-password",
    **attributes: Any,
) -> Html:
    """Return an empty input for a password. Its id contains the action, because a page has several of them."""
    attributes |= attempt.build_error_attributes(action, name)
    field = h.input(
        id=f"{action}-{name}",
        name=name,
        type="password",
        required=True,
        maxlength=sign_in_pages.MAX_FIELD_CHARACTERS,
        autocomplete=autocomplete,
        **attributes,
    )
    return h.div(h.label(label, for_=f"{action}-{name}"), field, class_="field")


def _render_page(
    call: Call, path: str, user: Mapping[str, Any], *body: Html | None, attempt: FormAttempt = NO_ATTEMPT
) -> Response:
    tabs = {**TABS, "/admin": "Operators"} if call.caller and call.caller.is_admin else TABS
    links = [h.a(name, href=url, aria_current="page" if url == path else None) for url, name in tabs.items()]
    done_action = ACTIONS.get(call.request.query.get("done", [""])[0])
    done_note = done_action and h.p(done_action.done_message, role="status", class_="note")
    error = attempt.error
    response = page_layout.render_page(
        call,
        TABS[path],
        h.header(
            h.h1(TABS[path]),
            h.div(
                h.p(user["email"], class_="quiet"),
                session_cookie.render_form(call, "/logout", "Sign out"),
                class_="who",
            ),
            class_="subject",
        ),
        h.nav(links, class_="tabs", aria_label="Account"),
        sign_in_pages.render_error(error and _reword_error(error)) or done_note,
        *body,
        wide=True,
        scripts=("copy.js",),
        status=error.status if error else 200,
    )
    if error:
        response.headers.update(error.headers or {})
    response.headers["Cache-Control"] = "no-store"
    return response


def _reword_error(error: ApiError) -> ApiError:
    """Return an error of the API in the words of the page."""
    if error.code == "INVALID_CREDENTIALS":
        return ApiError(error.code, "This is not your account's password.", headers=error.headers)
    param = (error.details or {}).get("param", "")
    if param in FIELD_NAMES and error.message.startswith(f"{param} "):
        message = FIELD_NAMES[param] + error.message.removeprefix(param)
        return ApiError(error.code, message, details=error.details, headers=error.headers)
    return error
