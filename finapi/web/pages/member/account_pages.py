"""The account's pages: tokens, usage, key, sessions and limits; webhooks with their attempts, and sniper targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import wraps
from typing import Any

from finapi.accounts import sessions, users
from finapi.core.errors import ApiError
from finapi.web.html import charts, html_tables, page_layout
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import parse_body, path_param
from finapi.web.http.route import API
from finapi.web.pages import session_cookie
from finapi.web.pages.api_backed_pages import build_api_call, build_url, render_section
from finapi.web.pages.member import sign_in_pages

ACTION_PARAMS = (path_param("action"),)
TABS = {"/account": "Account", "/account/webhooks": "Webhooks and targets"}
Handler = Callable[[Call], Response]

# What a form does: the call of the API, the page that it stands on, and what is said when it is done.
ACTIONS = {
    "rotate-key": ("POST /user/api-key/rotate", "/account", "The key has been replaced. The old one no longer works."),
    "settings": ("PUT /user/", "/account/webhooks", "Settings saved."),
    "rotate-secret": (
        "POST /webhooks/secret/rotate",
        "/account/webhooks",
        "The secret has been replaced. For a day messages carry both signatures.",
    ),
    "test": ("POST /webhooks/test", "/account/webhooks", "A test event is on its way."),
    "redeliver": (
        "POST /webhooks/deliveries/{delivery_id}/redeliver",
        "/account/webhooks",
        "The delivery is being sent again.",
    ),
    "add-target": ("POST /sniper/targets", "/account/webhooks", "The target is active."),
    "stop-target": ("POST /sniper/targets/{target_id}/stop", "/account/webhooks", "The target is stopped."),
    "export": ("GET /user/export", "/account", ""),
    "delete": ("DELETE /user/", "/", ""),
}


def _own(handler: Handler) -> Handler:
    """The page of somebody who is signed in; the form to sign in for others."""

    @wraps(handler)
    def shown(call: Call) -> Response:
        return handler(call) if call.caller else sign_in_pages.render_login_page(call, call.request.target, status=401)

    return shown


@_own
def run_action(call: Call) -> Response:
    """What a form asks for, done by the API's own handler, and back to its page, which says what was wrong with it."""
    fields, name = session_cookie.read_form(call), call.params["action"]
    if name not in ACTIONS:
        raise ApiError("NOT_FOUND", "Form not found.")
    told, place, _ = ACTIONS[name]
    route = next(one for one in call.routes if one.name == told.replace(" ", f" {API}", 1))
    params = {one.name: one.parse(fields.get(one.name, "")) for one in route.params}
    try:
        body = parse_body(route.body or (), _body(name, fields))
        answer = route.handler(call._replace(route=route, params=params, body=body))
    except ApiError as error:
        if error.status >= 500:
            raise
        return (_webhooks if place == "/account/webhooks" else _account)(call, error)
    if name == "export":
        answer.headers |= {"Content-Disposition": 'attachment; filename="account.json"', "Cache-Control": "no-store"}
        return answer
    if name == "delete":
        return session_cookie.redirect(place, session_cookie.build_cookie_header(call.app, "", 0))
    return session_cookie.redirect(build_url(place, done=name))


def _body(name: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a form as the API's call takes them."""
    body: dict[str, Any] = {key: value for key, value in fields.items() if value}
    if name == "settings":
        topics = [topic for topic in users.TOPICS if fields.get(f"topic-{topic}")]
        body = {
            "webhook_url": fields.get("webhook_url") or None,
            "webhook_topics": topics,
            "notify_email": "notify_email" in fields,
        }
    if "duration_minutes" in body:
        body["duration_minutes"] = int(body["duration_minutes"]) if body["duration_minutes"].isdigit() else 0
    if "form_types" in body:
        body["form_types"] = [word.strip() for word in body["form_types"].split(",") if word.strip()]
    return body


@_own
def end_other_sessions(call: Call) -> Response:
    """The end of every other session."""
    session_cookie.read_form(call)
    assert call.caller is not None
    sessions.end_other_sessions(call.app, call.user_id, call.caller.session or b"")
    return session_cookie.redirect("/account")


@_own
def show_account(call: Call) -> Response:
    """The page at ``/account``."""
    return _account(call)


def _account(call: Call, wrong: ApiError | None = None) -> Response:
    user, balance, usage = _of(call, "/user/")["user"], _of(call, "/account/balance"), _of(call, "/account/usage")
    ledger = _of(call, "/account/transactions", limit=50, cursor=call.request.query.get("cursor", [""])[0])
    left = html_tables.render_description_list(
        [
            ("Tokens left", html_tables.format_number(balance["current_balance"])),
            ("Plan", f"{balance['plan_display_name']}, {balance['monthly_quota']:,} tokens"),
            ("Refilled on", (balance["billing_cycle_end"] or "")[:10]),
        ],
        "held",
    )
    body = (left, _key(call, user), _usage(usage), _ledger(ledger), _limits(call), _sessions(call, user), _data(call))
    return _page(call, "/account", user, *body, wrong=wrong)


def _of(call: Call, path: str, **given: Any) -> Any:
    return build_api_call(path, **given).answer(call)


def _page(call: Call, place: str, user: Any, *body: Html | None, wrong: ApiError | None = None) -> Response:
    done = ACTIONS.get(call.request.query.get("done", [""])[0])
    admins = {"/admin": "Operators"} if call.caller and call.caller.is_admin else {}
    places = {**TABS, **admins}.items()
    links = [h.a(said, href=to, aria_current="page" if to == place else None) for to, said in places]
    head = h.header(h.h1(TABS[place]), h.p(user["email"], class_="quiet"), class_="subject")
    said = done and h.p(done[2], role="status", class_="note")
    made = page_layout.render_page(
        call,
        TABS[place],
        head,
        h.nav(links, class_="tabs", aria_label="Account"),
        said or sign_in_pages.render_error(wrong),
        *body,
        wide=True,
        scripts=("copy.js",),
        status=wrong.status if wrong else 200,
    )
    made.headers |= {**(wrong.headers or {} if wrong else {}), "Cache-Control": "no-store"}
    return made


def _key(call: Call, user: Any) -> Html:
    return render_section(
        "API key",
        h.details(h.summary("Show"), h.pre(h.code(user["api_key"] or "none until the email is verified"), tabindex=0)),
        h.p("A new key replaces the old one at once; programs that use the old key stop working.", class_="quiet"),
        session_cookie.render_form(call, "/account/do/rotate-key", "Replace the key"),
    )


def _usage(usage: Any) -> Html:
    days = [one["day"][5:] for one in usage["daily"]]
    spent = charts.ChartSeries(
        "Tokens", [Decimal(one["tokens_consumed"]) for one in usage["daily"]], html_tables.format_short
    )
    chart = any(spent.values) and h.div(charts.render_bar_chart("Tokens by day", days, [spent]), class_="charts")
    said, rows = f"The last {usage['window_days']} days", usage["top_endpoints"]
    grid = rows and html_tables.render_grid(said, ("Endpoint=#endpoint", ">Calls=calls", ">Tokens=tokens"), rows)
    if chart and grid:
        return render_section("Usage", h.div(chart, grid, class_="columns"))
    return render_section("Usage", chart, grid or h.p("No tokens spent yet.", class_="quiet"))


def _ledger(ledger: Any) -> Html:
    rows, following = ledger["transactions"], ledger["next_cursor"]
    columns = ("When=@created_at", ">Tokens=delta", "Why=reason", "Call=#endpoint")
    more = following and h.p(h.a("Older changes", href=build_url("/account", cursor=following)))
    return render_section(
        "Ledger", html_tables.render_grid("Every change of the balance, newest first", columns, rows), more
    )


def _limits(call: Call) -> Html:
    columns = ("Zone=*zone", ">Calls=requests", ">in seconds=window_seconds", ">Left now=remaining")
    return render_section(
        "Limits",
        html_tables.render_grid("Viewing this uses none of it", columns, _of(call, "/account/limits")["limits"]),
    )


def _sessions(call: Call, user: Any) -> Html:
    assert call.caller is not None
    with call.app.accounts.read() as tx:
        rows = sessions.list_sessions(tx, call.user_id, call.now)
    mine = call.caller.session
    this = ("Current", lambda one: "this one" if one["fingerprint"] == mine else "")
    columns: list[html_tables.GridColumn] = ["Began=@created_at", "Ends=@expires_at", this]
    said = f"{len(rows)} of at most {user['UserDeviceLimit']['device_limit']}"
    ways = (
        session_cookie.render_form(call, "/logout", "Sign out"),
        session_cookie.render_form(call, "/account/end-others", "End all others"),
    )
    return render_section("Sessions", html_tables.render_grid(said, columns, rows), h.div(ways, class_="filters"))


def _data(call: Call) -> Html:
    gone = "This deletes the email, password, keys, sessions, receivers and targets at once and for good."
    password = html_tables.render_input(
        "Password", "password", "", "password", required=True, autocomplete="current-password"
    )
    return render_section(
        "Your data",
        h.p("Everything stored about this account, as JSON.", class_="quiet"),
        session_cookie.render_form(call, "/account/do/export", "Download it"),
        h.details(
            h.summary("Delete the account"),
            h.p(gone, " The ledger of tokens and money is kept under a number.", class_="quiet"),
            session_cookie.render_form(call, "/account/do/delete", "Delete for good", password),
        ),
    )


@_own
def show_webhooks(call: Call) -> Response:
    """The page at ``/account/webhooks``."""
    return _webhooks(call)


def _webhooks(call: Call, wrong: ApiError | None = None) -> Response:
    user, targets = _of(call, "/user/")["user"], _of(call, "/sniper/targets", limit=50)["targets"]
    secret, sent = _of(call, "/webhooks/secret"), _of(call, "/webhooks/deliveries", limit=20)["deliveries"]
    topics = [
        h.label(h.input(type="checkbox", name=f"topic-{one}", checked=one in user["webhook_topics"]), " ", one)
        for one in users.TOPICS
    ]
    settings = session_cookie.render_form(
        call,
        "/account/do/settings",
        "Save",
        html_tables.render_input("URL of your receiver", "webhook_url", user["webhook_url"], "url", maxlength=2000),
        topics,
        h.label(h.input(type="checkbox", name="notify_email", checked=user["notify_email"]), " Mail me too"),
    )
    keys = h.details(h.summary("Show"), h.pre(h.code(secret["secret"]), tabindex=0))
    rotate = session_cookie.render_form(call, "/account/do/rotate-secret", "Replace the secret")
    add = session_cookie.render_form(
        call,
        "/account/do/add-target",
        "Watch",
        html_tables.render_input("Ticker or CIK", "ticker", required=True),
        html_tables.render_input("Minutes", "duration_minutes", 60, "number"),
        html_tables.render_input("Forms", "form_types", placeholder="8-K"),
        class_="filters",
    )
    return _page(
        call,
        "/account/webhooks",
        user,
        render_section("Receiver", settings),
        render_section("Signing secret", keys, rotate),
        render_section(
            "Deliveries",
            session_cookie.render_form(call, "/account/do/test", "Send a test event"),
            _deliveries(call, sent),
        ),
        render_section("Sniper targets", add, _targets(call, targets)),
        wrong=wrong,
    )


def _deliveries(call: Call, sent: list[Any]) -> Html:
    columns: tuple[html_tables.GridColumn, ...] = (
        *("Event=*event_type", "When=@created_at", ("State", _state), "To=url"),
        ("Attempts", _attempts),
        ("Action", lambda one: _button(call, "redeliver", "Send again", "delivery_id", one)),
    )
    return html_tables.render_grid("The last 20", columns, sent) if sent else h.p("Nothing sent yet.", class_="quiet")


def _state(one: Any) -> str:
    return str(one["status"]).lower().replace("_", " ")


def _attempts(one: Any) -> Html:
    columns = ("Began=@started_at", ">ms=duration_ms", ">Status=status_code", "Error=error", "Answer=#response_body")
    return h.details(
        h.summary(str(one["attempt_count"])), html_tables.render_grid("Attempts", columns, one["attempts"])
    )


def _targets(call: Call, targets: list[Any]) -> Html:
    def stop(one: Any) -> Child:
        return _button(call, "stop-target", "Stop", "target_id", one) if one["status"] == "ACTIVE" else ""

    forms = ("Forms", lambda one: ", ".join(one["form_types"]) or "every form")
    columns: tuple[html_tables.GridColumn, ...] = (
        "Company=*ticker",
        ("State", _state),
        "Until=@end_time",
        forms,
        ("Action", stop),
    )
    return (
        html_tables.render_grid("Newest first", columns, targets)
        if targets
        else h.p("No active targets.", class_="quiet")
    )


def _button(call: Call, action: str, said: str, field: str, one: Any) -> Html:
    return session_cookie.render_form(
        call, f"/account/do/{action}", said, h.input(type="hidden", name=field, value=one[field])
    )
