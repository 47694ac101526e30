"""The pages of operators: component health, accounts, invites, intake, failed deliveries and the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from finapi.accounts import audit, billing, invites, plans, users
from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.market.intake import fetch_queue
from finapi.ops import activity, status
from finapi.store import heartbeats
from finapi.web.html import charts, form_fields, html_tables, page_layout
from finapi.web.html.charts import ChartSeries
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import format_number, format_short
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param
from finapi.web.pages import session_cookie, status_page
from finapi.web.pages.admin import admin_actions
from finapi.web.pages.admin.admin_actions import render_action_form, render_done_note, render_field, require_admin
from finapi.web.pages.api_backed_pages import build_url, render_section
from finapi.web.pages.form_attempts import NO_ATTEMPT, FormAttempt
from finapi.web.pages.member import sign_in_pages

TABS = {
    "/admin": "Health",
    "/admin/accounts": "Accounts",
    "/admin/invites": "Invites",
    "/admin/intake": "Intake",
    "/admin/deliveries": "Deliveries",
    "/admin/audit": "Audit log",
}
SPANS = {"hours": "Last 48 hours", "days": "Last 30 days"}
ACTIVITY_HOURS = 48
ACTIVITY_DAYS = 30
HEALTH_PARAMS = (Param("span", default="hours", allowed=tuple(SPANS), empty_is_default=True),)
SEARCH_PARAMS = (Param("q", default="", empty_is_default=True),)
ACCOUNT_PARAMS = (path_param("account"),)
AUDIT_PARAMS = (Param("before", "integer", minimum=1),)
MAX_ROWS = 100
MAX_LATEST_ACTIONS = 10
USAGE_DAYS = 30

RenderChart = Callable[[str, Sequence[str], Sequence[ChartSeries]], Html]


# ---- health


@require_admin
def show_health(call: Call) -> Response:
    """Return the page at ``/admin``: the components, the queues, charts of activity, and the size of the store."""
    app = call.app
    queued_work = status.count_queued_work(app, call.now)
    with app.db.read() as tx:
        given_up_count = fetch_queue.count_given_up(tx)
    with app.accounts.read() as tx:
        latest_actions = audit.list_actions(tx, MAX_LATEST_ACTIONS)
    queues = [(name.capitalize(), f"{count:,}") for name, count in queued_work.items()]
    queues.append(("Given up", f"{given_up_count:,}"))
    sizes = {name: f"{size / 1e6:,.1f} MB" for name, size in app.db.sizes().items()}
    store_sizes = [("Database", sizes["pages"]), ("Unused", sizes["free"]), ("Log", sizes["wal"])]
    columns = (
        GridColumn("Component", _describe_component, style="row_header"),
        GridColumn("Name in the API", "name", style="code"),
        GridColumn("State", "status"),
        GridColumn("Reason", "reason"),
        GridColumn("Checked", "checked_at", style="time"),
    )
    components = _render_list("At the last check", columns, _list_components(call), "No check has run yet.")
    return _render_page(
        call,
        "/admin",
        render_section("Components", components),
        render_section("Queues", html_tables.render_description_list(queues, "key-figures")),
        _render_activity(call),
        render_section("Store", html_tables.render_description_list(store_sizes, "key-figures")),
        render_section("Latest actions", _render_audit_log(latest_actions)),
    )


def _render_activity(call: Call) -> Html:
    """Return charts of calls, tokens, errors and queues by hour or by day."""
    span = call.params["span"]
    with call.app.accounts.read() as tx:
        if span == "days":
            periods, label_format = activity.read_days(tx, call.now, ACTIVITY_DAYS), "%m-%d"
        else:
            periods, label_format = activity.read_hours(tx, call.now, ACTIVITY_HOURS), "%d %H:%M"
    labels = [datetime.fromtimestamp(start, UTC).strftime(label_format) for start in periods.starts]

    def render_chart(title: str, render: RenderChart, **names: str) -> Html:
        if not any(any(periods.values[measure]) for measure in names):
            return h.p(f"{title}: none in this time.", class_="quiet")
        series = [
            ChartSeries(name, [Decimal(amount) for amount in periods.values[measure]], format_short)
            for measure, name in names.items()
        ]
        return render(title, labels, series)

    links = [
        h.a(name, href=build_url("/admin", span=key), aria_current="true" if key == span else None)
        for key, name in SPANS.items()
    ]
    return render_section(
        "Activity",
        h.div(h.nav(links, class_="choice", aria_label="Time"), class_="views"),
        h.div(
            render_chart("Calls of the API", charts.render_bar_chart, calls="Calls"),
            render_chart("Tokens charged", charts.render_bar_chart, tokens="Tokens"),
            render_chart(
                "Errors", charts.render_stacked_chart, refusals="Refused calls (4xx)", failures="Failed calls (5xx)"
            ),
            render_chart(
                "Longest queues", charts.render_line_chart, ingest="Documents", mail="Mails", webhooks="Webhooks"
            ),
            class_="charts",
        ),
    )


def _list_components(call: Call) -> list[dict[str, Any]]:
    """Return the components with their status. The list is empty before the first check."""
    try:
        components = status.get_components(call.app)
    except ApiError:
        return []
    return [
        {
            "name": name,
            "status": component.status,
            "reason": component.reason,
            "checked_at": component.checked_at,
        }
        for name, component in components.items()
    ]


# ---- accounts


@require_admin
def show_accounts(call: Call) -> Response:
    """Return the page at ``/admin/accounts``: the newest accounts, or those whose email contains a text."""
    text = call.params["q"]
    with call.app.accounts.read() as tx:
        rows = users.list_users(tx, text, MAX_ROWS)
    search_form = h.form(
        form_fields.render_input("Email or uuid", "q", text, "search", maxlength=200),
        h.button("Search"),
        method="get",
        action="/admin/accounts",
        class_="filters",
    )
    columns = (
        GridColumn("Email", lambda row: _render_account_link(row["email"], row["uuid"])),
        GridColumn("Plan", "plan"),
        GridColumn("Tokens left", "balance", numeric=True),
        GridColumn("State", "state"),
        GridColumn("Type", "usertype"),
        GridColumn("Since", "created_at", style="time"),
    )
    caption = format_count(len(rows), "account") if len(rows) < MAX_ROWS else f"The newest {MAX_ROWS}"
    table = _render_list(caption, columns, rows, "No account matches this email.")
    return _render_page(call, "/admin/accounts", search_form, table)


@require_admin
def show_account(call: Call) -> Response:
    """Return the page of an account: its plan and balance, its usage, and the forms that change it."""
    return _render_account(call, call.params["account"], NO_ATTEMPT)


def _render_account(call: Call, uuid: str, attempt: FormAttempt) -> Response:
    with call.app.accounts.read() as tx:
        email = users.get_email(tx, uuid)
        row = users.list_users(tx, uuid, 1)[0]
    user_id = users.get_id(call.app, email)
    with call.app.accounts.read() as tx:
        spending = billing.compute_spending(tx, user_id, USAGE_DAYS, call.now)
    description = [
        ("Plan", row["plan"]),
        ("Tokens left", format_number(row["balance"] or 0)),
        ("State", row["state"]),
        ("Wallet", f"{row['credit_balance']:,.2f} dollars"),
        ("Type", row["usertype"]),
        ("Since", row["created_at"][:10]),
    ]
    columns = (
        GridColumn("Endpoint", "endpoint", style="code"),
        GridColumn("Calls", "calls", numeric=True),
        GridColumn("Tokens", "tokens", numeric=True),
    )
    usage = _render_list(f"The last {USAGE_DAYS} days", columns, list(spending["top_endpoints"]), "No tokens spent.")
    return _render_page(
        call,
        "/admin/accounts",
        html_tables.render_description_list(description, "key-figures"),
        _render_account_forms(call, uuid, row, attempt),
        render_section("Usage", usage),
        title=email,
        attempt=attempt,
    )


def _render_account_link(email: str, uuid: str) -> Html:
    return html_tables.render_link_header(email, f"/admin/accounts/{uuid}")


def _render_account_forms(call: Call, uuid: str, row: Any, attempt: FormAttempt) -> Html:
    plan_choices = {plan: plan for plan in plans.build_catalogue(call.app.config)}
    chosen_plan = attempt.get_content("plan", "plan", row["plan"])
    plan_field = form_fields.render_select("Plan", "plan", chosen_plan, plan_choices)
    amount_pattern = r"-?[0-9]{1,9}(\.[0-9]{1,2})?"
    credit_fields = (
        render_field(
            attempt,
            "credit",
            "Dollars, or -5.00 as a correction",
            "amount",
            required=True,
            pattern=amount_pattern,
            size=10,
        ),
        render_field(attempt, "credit", "Reason of a correction", "reason", maxlength=users.MAX_REASON_CHARACTERS),
    )
    token_field = render_field(attempt, "grant", "Tokens", "tokens", required=True, type="number", min=1)
    lock_form = ("unlock", "Unlock", "") if row["state"] == "locked" else ("lock", "Lock", "")
    forms: tuple[tuple[str, str, Child], ...] = (
        lock_form,
        ("revoke", "End its sessions, replace its key", ""),
        ("plan", "Change the plan", plan_field),
        ("credit", "Change the wallet", credit_fields),
        ("grant", "Grant tokens", token_field),
    )
    rendered_forms = [
        render_action_form(call, action, button, field, account_uuid=uuid) for action, button, field in forms
    ]
    return render_section("Change", h.div(rendered_forms, class_="acts"))


# ---- invites


@require_admin
def show_invites(call: Call) -> Response:
    """Return the page at ``/admin/invites``: forms that create and revoke codes, and the newest codes."""
    return _render_invites(call, NO_ATTEMPT)


def _render_invites(call: Call, attempt: FormAttempt) -> Response:
    with call.app.accounts.read() as tx:
        oldest_first = invites.list_invites(call.app, tx, call.now)
    rows = oldest_first[::-1][:MAX_ROWS]
    create_form = render_action_form(
        call,
        "invite",
        "Create a code",
        render_field(attempt, "invite", "Note", "note", maxlength=admin_actions.MAX_NOTE_CHARACTERS),
        render_field(
            attempt,
            "invite",
            "Days until it expires (empty: never)",
            "days",
            type="number",
            min=1,
            max=admin_actions.MAX_DAYS,
        ),
    )
    code_field = render_field(attempt, "revoke-invite", "Code", "code", required=True, autocomplete="off")
    revoke_form = render_action_form(call, "revoke-invite", "Revoke", code_field)

    def render_revoke_form(row: Mapping[str, Any]) -> Child:
        if row["state"] != "open":
            return ""
        return render_action_form(call, "revoke-invite", "Revoke", _render_hidden_field("code", row["code"]))

    columns = (
        GridColumn("Code", "code", style="code"),
        GridColumn("State", "state"),
        GridColumn("Note", "note"),
        GridColumn("Created", "created_at", style="time"),
        GridColumn("Expires", "expires_at", style="time"),
        GridColumn("Used", "used_at", style="time"),
        GridColumn("Used by", "used_by"),
        GridColumn("Action", render_revoke_form),
    )
    codes = _render_list(f"The newest {len(rows)}", columns, rows, "No codes yet.")
    return _render_page(
        call,
        "/admin/invites",
        render_section("New", create_form),
        render_section("Revoke", revoke_form),
        render_section("Codes", codes),
        attempt=attempt,
    )


# ---- intake


@require_admin
def show_intake(call: Call) -> Response:
    """Return the page at ``/admin/intake``: the progress of the poller, and the documents that it could not store."""
    return _render_intake(call, NO_ATTEMPT)


def _render_intake(call: Call, attempt: FormAttempt) -> Response:
    with call.app.db.read() as tx:
        steps = heartbeats.get_heartbeats(tx)
        last_times = heartbeats.get_freshness(tx)
        progress_rows = fetch_queue.list_watermarks(tx)
        followed_count = len(fetch_queue.list_followed(tx))
        given_up_count = fetch_queue.count_given_up(tx)
        refused_rows = fetch_queue.list_failed_documents(tx)[:MAX_ROWS]
    poll_every = call.app.config.poll_every
    polling = (
        f"The feed is read every {poll_every:g} seconds." if poll_every else "Polling is off (--poll-every SECONDS)."
    )
    last_stored = [
        (f"Last {kind.replace('_', ' ')}", (moment or "never")[:16].replace("T", " "))
        for kind, moment in last_times.items()
    ]
    progress_columns = (GridColumn("Mark", "name", style="row_header"), GridColumn("At", "value"))
    refused_columns = (
        GridColumn("Filing", "accession", style="row_header"),
        GridColumn("Form", "form"),
        GridColumn("CIK", "cik"),
        GridColumn("State", "state"),
        GridColumn("Tries", "tries", numeric=True),
        GridColumn("Reason", "reason"),
        GridColumn("Given up", "given_up_at", style="time"),
        GridColumn("Next try", "next_try_at", style="time"),
        GridColumn("Action", lambda row: _render_retry_form(call, row["accession"])),
    )
    refused_caption = f"{given_up_count:,} given up; the last {len(refused_rows)} that failed"
    return _render_page(
        call,
        "/admin/intake",
        render_section(
            "Last stored", html_tables.render_description_list(last_stored, "key-figures"), _render_steps(steps)
        ),
        render_section(
            "Poller",
            h.p(f"{polling} {format_count(followed_count, 'company is', 'companies are')} followed."),
            _render_list("Progress", progress_columns, progress_rows, "Not started."),
        ),
        render_section(
            "Failed documents",
            refused_rows and render_action_form(call, "retry", "Retry all"),
            _render_list(refused_caption, refused_columns, refused_rows, "No refused documents."),
        ),
        _render_refused_files(call),
        attempt=attempt,
    )


def _render_steps(steps: Mapping[str, Any]) -> Html:
    rows = [{"name": step.name, "at": step.at, "ms": step.took_ms, "failure": step.failure} for step in steps.values()]
    columns = (
        GridColumn("Component", _describe_component, style="row_header"),
        GridColumn("Name in the API", "name", style="code"),
        GridColumn("Ended", "at", style="time"),
        GridColumn("ms", "ms", numeric=True),
        GridColumn("Failed", "failure"),
    )
    return _render_list("Last run of each step", columns, rows, "No step has run yet.")


def _render_retry_form(call: Call, accession_number: str) -> Html:
    return render_action_form(call, "retry", "Retry", _render_hidden_field("accession", accession_number))


def _render_refused_files(call: Call) -> Html:
    with call.app.db.read() as tx:
        rows = fetch_queue.list_refused_files(tx, MAX_ROWS)
    columns = (
        GridColumn("File", "path"),
        GridColumn("Kind", "kind"),
        GridColumn("Reason", "reason"),
        GridColumn("Time", "at", style="time"),
    )
    caption = f"The last {len(rows)}, until they are ingested"
    files = _render_list(caption, columns, rows, "No refused files.")
    return render_section("Files that finapi ingest refused", files)


def _render_hidden_field(name: str, content: str) -> Html:
    return h.input(type="hidden", name=name, value=content)


# ---- deliveries


@require_admin
def show_deliveries(call: Call) -> Response:
    """Return the page at ``/admin/deliveries``: the failed deliveries of all accounts."""
    return _render_deliveries(call, NO_ATTEMPT)


def _render_deliveries(call: Call, attempt: FormAttempt) -> Response:
    waiting_count = status.count_queued_work(call.app, call.now)["webhooks"]
    with call.app.accounts.read() as tx:
        rows = webhooks.list_failed_deliveries(tx, MAX_ROWS)

    def render_redeliver_form(row: Mapping[str, Any]) -> Child:
        if row["state"] != "dropped":
            return ""
        delivery_field = _render_hidden_field("delivery_id", row["delivery_id"])
        return render_action_form(call, "redeliver", "Send again", delivery_field, account_uuid=row["account"])

    columns = (
        GridColumn("Account", lambda row: _render_account_link(row["email"], row["account"])),
        GridColumn("Event", "event_type"),
        GridColumn("Created", "created_at", style="time"),
        GridColumn("State", "state"),
        GridColumn("To", "host"),
        GridColumn("Attempts", "attempts", numeric=True),
        GridColumn("Last error", "last_error"),
        GridColumn("Action", render_redeliver_form),
    )
    waiting_deliveries = format_count(waiting_count, "delivery is", "deliveries are")
    caption = f"The last {len(rows)} that failed. {waiting_deliveries} waiting."
    empty_text = f"No delivery has failed. {waiting_deliveries} waiting."
    table = _render_list(caption, columns, rows, empty_text)
    return _render_page(call, "/admin/deliveries", table, attempt=attempt)


# ---- audit log


@require_admin
def show_audit_log(call: Call) -> Response:
    """Return the page at ``/admin/audit``: the actions of operators, newest first."""
    with call.app.accounts.read() as tx:
        rows = audit.list_actions(tx, MAX_ROWS, call.params["before"])
    older_link = len(rows) == MAX_ROWS and h.p(h.a("Older", href=build_url("/admin/audit", before=rows[-1]["id"])))
    return _render_page(call, "/admin/audit", _render_audit_log(rows), older_link)


def _render_audit_log(rows: Sequence[Any]) -> Html:
    columns = (
        GridColumn("Time", "at", style="time"),
        GridColumn("Operator", "who"),
        GridColumn("Action", "action"),
        GridColumn("Account", _render_audited_account),
        GridColumn("Detail", "detail"),
        GridColumn("From", "place"),
    )
    return _render_list("Newest first", columns, rows, "No actions yet.")


def _render_audited_account(row: Mapping[str, Any]) -> Child:
    return row["account"] and h.a(row["account"], href=f"/admin/accounts/{row['account_uuid']}")


# ---- actions


_RENDERERS: dict[str, Callable[[Call, FormAttempt], Response]] = {
    "/admin/invites": _render_invites,
    "/admin/intake": _render_intake,
    "/admin/deliveries": _render_deliveries,
}


@require_admin
def run_action(call: Call) -> Response:
    """Run the action of a form and redirect to its page.

    If it is refused, return the page with the reason and the form's input.
    """
    fields = session_cookie.read_form(call)
    name = call.params["action"]
    page_path = admin_actions.get_action(name).page_path
    try:
        return admin_actions.perform_action(call, name, fields)
    except ApiError as error:
        if error.status >= 500:
            raise
        attempt = FormAttempt(name, fields, error)
    if page_path == admin_actions.ACCOUNTS_PATH:
        return _render_account(call, fields.get("account", ""), attempt)
    return _RENDERERS[page_path](call, attempt)


# ---- parts of a page


def _describe_component(row: Mapping[str, Any]) -> str:
    """Return the title of a component, or the name of a target that the operator has it watch."""
    name: str = row["name"]
    return status_page.COMPONENT_TITLES.get(name, name)


def _render_page(call: Call, path: str, *body: Child, title: str = "", attempt: FormAttempt = NO_ATTEMPT) -> Response:
    links = [h.a(name, href=url, aria_current="page" if url == path else None) for url, name in TABS.items()]
    tabs = h.nav(links, class_="tabs", aria_label="Operators")
    page_title = title or TABS[path]
    heading = h.header(h.h1(page_title), class_="subject")
    error = attempt.error
    response = page_layout.render_page(
        call,
        page_title,
        heading,
        tabs,
        sign_in_pages.render_error(error) or render_done_note(call),
        *body,
        wide=True,
        status=error.status if error else 200,
    )
    if error:
        response.headers.update(error.headers or {})
    return response


def _render_list(caption: str, columns: Sequence[GridColumn], rows: Sequence[Any], empty_text: str) -> Html:
    return html_tables.render_grid(caption, columns, rows) if rows else h.p(empty_text, class_="quiet")
