"""The pages of an account: tokens, usage, key, sessions and limits; webhooks with their attempts; sniper targets.

A form of these pages runs the handler of an API call, then redirects to its page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from typing import Any, NamedTuple

from finapi.accounts import sessions, users
from finapi.core.errors import ApiError
from finapi.web.html import charts, form_fields, html_tables, page_layout
from finapi.web.html.charts import ChartSeries
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_number, format_short
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body, path_param
from finapi.web.http.route import API
from finapi.web.pages import session_cookie
from finapi.web.pages.api_backed_pages import build_api_call, build_url, render_section
from finapi.web.pages.member import sign_in_pages

ACTION_PARAMS = (path_param("action"),)
ACCOUNT_PATH = "/account"
WEBHOOKS_PATH = "/account/webhooks"
TABS = {ACCOUNT_PATH: "Account", WEBHOOKS_PATH: "Webhooks and targets"}
MAX_LEDGER_ROWS = 50
MAX_TARGETS = 50
MAX_DELIVERIES = 20
DEFAULT_TARGET_MINUTES = 60

Handler = Callable[[Call], Response]


class AccountAction(NamedTuple):
    """The API call that a form makes, the path of the form's page, and the message when it is done."""

    method: str
    api_path: str
    page_path: str
    done_message: str

    @property
    def route_name(self) -> str:
        """Return the name of the route that the form calls."""
        return f"{self.method} {API}{self.api_path}"


ACTIONS = {
    "rotate-key": AccountAction(
        "POST", "/user/api-key/rotate", ACCOUNT_PATH, "The key has been replaced. The old one no longer works."
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
    "export": AccountAction("GET", "/user/export", ACCOUNT_PATH, ""),
    "delete": AccountAction("DELETE", "/user/", "/", ""),
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
    route = next(route for route in call.routes if route.name == action.route_name)
    params = {param.name: param.parse(fields.get(param.name, "")) for param in route.params}
    try:
        body = parse_body(route.body or (), _build_body(name, fields))
        response = route.handler(call._replace(route=route, params=params, body=body))
    except ApiError as error:
        if error.status >= 500:
            raise
        return _render_webhooks(call, error) if action.page_path == WEBHOOKS_PATH else _render_account(call, error)
    if name == "export":
        response.headers["Content-Disposition"] = 'attachment; filename="account.json"'
        response.headers["Cache-Control"] = "no-store"
        return response
    if name == "delete":
        return session_cookie.redirect(action.page_path, session_cookie.build_cookie_header(call.app, "", 0))
    return session_cookie.redirect(build_url(action.page_path, done=name))


def _build_body(action: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a form as the JSON body of its API call."""
    if action == "settings":
        return {
            "webhook_url": fields.get("webhook_url") or None,
            "webhook_topics": [topic for topic in users.TOPICS if fields.get(f"topic-{topic}")],
            "notify_email": "notify_email" in fields,
        }
    body: dict[str, Any] = {name: text for name, text in fields.items() if text}
    if "duration_minutes" in body:
        # The API refuses 0 with a message about the allowed minutes.
        minutes = body["duration_minutes"]
        body["duration_minutes"] = int(minutes) if minutes.isdigit() else 0
    if "form_types" in body:
        form_types = [form_type.strip() for form_type in body["form_types"].split(",")]
        body["form_types"] = [form_type for form_type in form_types if form_type]
    return body


@_require_session
def end_other_sessions(call: Call) -> Response:
    """End all other sessions of the account and redirect to its page."""
    session_cookie.read_form(call)
    assert call.caller is not None
    sessions.end_other_sessions(call.app, call.user_id, call.caller.session or b"")
    return session_cookie.redirect(ACCOUNT_PATH)


# ---- the account


@_require_session
def show_account(call: Call) -> Response:
    """Return the page at ``/account``."""
    return _render_account(call)


def _render_account(call: Call, error: ApiError | None = None) -> Response:
    user = _get_answer(call, "/user/")["user"]
    balance = _get_answer(call, "/account/balance")
    usage = _get_answer(call, "/account/usage")
    cursor = call.request.query.get("cursor", [""])[0]
    ledger = _get_answer(call, "/account/transactions", limit=MAX_LEDGER_ROWS, cursor=cursor)
    return _render_page(
        call,
        ACCOUNT_PATH,
        user,
        _render_balance(balance),
        _render_key(call, user),
        _render_usage(usage),
        _render_ledger(ledger),
        _render_limits(call),
        _render_sessions(call, user),
        _render_own_data(call),
        error=error,
    )


def _render_balance(balance: Mapping[str, Any]) -> Html:
    return html_tables.render_description_list(
        [
            ("Tokens left", format_number(balance["current_balance"])),
            ("Plan", f"{balance['plan_display_name']}, {balance['monthly_quota']:,} tokens"),
            ("Refilled on", (balance["billing_cycle_end"] or "")[:10]),
        ],
        "key-figures",
    )


def _render_key(call: Call, user: Mapping[str, Any]) -> Html:
    key = user["api_key"] or "none until the email is verified"
    return render_section(
        "API key",
        h.details(h.summary("Show"), h.pre(h.code(key), tabindex=0)),
        h.p("A new key replaces the old one immediately: programs with the old key stop working.", class_="quiet"),
        session_cookie.render_form(call, "/account/do/rotate-key", "Replace the key"),
    )


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
        GridColumn("Reason", "reason"),
        GridColumn("Call", "endpoint", style="code"),
    )
    table = html_tables.render_grid("Every change of the balance, newest first", columns, ledger["transactions"])
    next_cursor = ledger["next_cursor"]
    next_link = next_cursor and h.p(h.a("Older changes", href=build_url(ACCOUNT_PATH, cursor=next_cursor)))
    return render_section("Ledger", table, next_link)


def _render_limits(call: Call) -> Html:
    limits = _get_answer(call, "/account/limits")["limits"]
    columns = (
        GridColumn("Zone", "zone", style="row_header"),
        GridColumn("Calls", "requests", numeric=True),
        GridColumn("in seconds", "window_seconds", numeric=True),
        GridColumn("Remaining", "remaining", numeric=True),
    )
    return render_section("Limits", html_tables.render_grid("Viewing this page does not count", columns, limits))


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
    forms = (
        session_cookie.render_form(call, "/logout", "Sign out"),
        session_cookie.render_form(call, "/account/end-others", "End all others"),
    )
    return render_section("Sessions", html_tables.render_grid(caption, columns, rows), h.div(forms, class_="filters"))


def _render_own_data(call: Call) -> Html:
    password_field = form_fields.render_input(
        "Password", "password", "", "password", required=True, autocomplete="current-password"
    )
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
            session_cookie.render_form(call, "/account/do/delete", "Delete for good", password_field),
        ),
    )


# ---- webhooks and sniper targets


@_require_session
def show_webhooks(call: Call) -> Response:
    """Return the page at ``/account/webhooks``."""
    return _render_webhooks(call)


def _render_webhooks(call: Call, error: ApiError | None = None) -> Response:
    user = _get_answer(call, "/user/")["user"]
    targets = _get_answer(call, "/sniper/targets", limit=MAX_TARGETS)["targets"]
    secret = _get_answer(call, "/webhooks/secret")["secret"]
    deliveries = _get_answer(call, "/webhooks/deliveries", limit=MAX_DELIVERIES)["deliveries"]
    test_form = session_cookie.render_form(call, "/account/do/test", "Send a test event")
    return _render_page(
        call,
        WEBHOOKS_PATH,
        user,
        render_section("Receiver", _render_receiver_form(call, user)),
        render_section(
            "Signing secret",
            h.details(h.summary("Show"), h.pre(h.code(secret), tabindex=0)),
            session_cookie.render_form(call, "/account/do/rotate-secret", "Replace the secret"),
        ),
        render_section("Deliveries", test_form, _render_deliveries(call, deliveries)),
        render_section("Sniper targets", _render_target_form(call), _render_targets(call, targets)),
        error=error,
    )


def _render_receiver_form(call: Call, user: Mapping[str, Any]) -> Html:
    topic_fields = []
    for topic in users.TOPICS:
        checkbox = h.input(type="checkbox", name=f"topic-{topic}", checked=topic in user["webhook_topics"])
        topic_fields.append(h.label(checkbox, " ", topic))
    return session_cookie.render_form(
        call,
        "/account/do/settings",
        "Save",
        form_fields.render_input("URL of your receiver", "webhook_url", user["webhook_url"], "url", maxlength=2000),
        topic_fields,
        h.label(h.input(type="checkbox", name="notify_email", checked=user["notify_email"]), " Mail me too"),
    )


def _render_target_form(call: Call) -> Html:
    return session_cookie.render_form(
        call,
        "/account/do/add-target",
        "Watch",
        form_fields.render_input("Ticker or CIK", "ticker", required=True),
        form_fields.render_input("Minutes", "duration_minutes", DEFAULT_TARGET_MINUTES, "number"),
        form_fields.render_input("Forms", "form_types", placeholder="8-K"),
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


def _get_answer(call: Call, path: str, **arguments: Any) -> Any:
    return build_api_call(path, **arguments).get_answer(call)


def _render_page(
    call: Call, path: str, user: Mapping[str, Any], *body: Html | None, error: ApiError | None = None
) -> Response:
    tabs = {**TABS, "/admin": "Operators"} if call.caller and call.caller.is_admin else TABS
    links = [h.a(name, href=url, aria_current="page" if url == path else None) for url, name in tabs.items()]
    done_action = ACTIONS.get(call.request.query.get("done", [""])[0])
    done_note = done_action and h.p(done_action.done_message, role="status", class_="note")
    response = page_layout.render_page(
        call,
        TABS[path],
        h.header(h.h1(TABS[path]), h.p(user["email"], class_="quiet"), class_="subject"),
        h.nav(links, class_="tabs", aria_label="Account"),
        done_note or sign_in_pages.render_error(error),
        *body,
        wide=True,
        scripts=("copy.js",),
        status=error.status if error else 200,
    )
    if error:
        response.headers.update(error.headers or {})
    response.headers["Cache-Control"] = "no-store"
    return response
