"""What operators see: how the parts stand, accounts, invites, what came in and what did not, deliveries, the log."""

from __future__ import annotations

from typing import Any

from finapi.accounts import audit, billing, invites, plans, users
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.market.intake import fetch_queue
from finapi.ops import status
from finapi.store import heartbeats
from finapi.web.html import html_tables, page_layout
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param
from finapi.web.pages.admin.admin_actions import render_action_form, render_done_note, render_field, require_admin
from finapi.web.pages.api_backed_pages import build_url, render_section

TABS = {
    "/admin": "Health",
    "/admin/accounts": "Accounts",
    "/admin/invites": "Invites",
    "/admin/intake": "Intake",
    "/admin/deliveries": "Deliveries",
    "/admin/audit": "Audit log",
}
SEARCH_PARAMS = (Param("q", default="", empty_is_default=True),)
ACCOUNT_PARAMS = (path_param("account"),)
AUDIT_PARAMS = (Param("before", "integer", minimum=1),)
MAX_ROWS = 100
USAGE_DAYS = 30


def _page(call: Call, place: str, *body: Child, title: str = "") -> Response:
    links = [h.a(said, href=to, aria_current="page" if to == place else None) for to, said in TABS.items()]
    tabs = h.nav(links, class_="tabs", aria_label="Operators")
    heading = h.header(h.h1(title or TABS[place]), class_="subject")
    return page_layout.render_page(call, title or TABS[place], heading, tabs, render_done_note(call), *body, wide=True)


def _list(said: str, columns: tuple[GridColumn, ...], rows: list[Any], none: str) -> Html:
    return html_tables.render_grid(said, columns, rows) if rows else h.p(none, class_="quiet")


@require_admin
def show_health(call: Call) -> Response:
    """The page at ``/admin``: the parts, what waits, and the size of the store."""
    app = call.app
    try:
        parts = [{"name": name, **_part(one)} for name, one in status.get_components(app).items()]
    except ApiError:
        parts = []
    waiting = status.count_queued_work(app, call.now)
    with app.db.read() as tx:
        given_up = fetch_queue.count_given_up(tx)
    with app.accounts.read() as tx:
        rows = audit.list_actions(tx, 10)
    waits = [(name.capitalize(), f"{number:,}") for name, number in {**waiting, "given up": given_up}.items()]
    sizes = {name: f"{size / 1e6:,.1f} MB" for name, size in app.db.sizes().items()}
    size = html_tables.render_description_list(
        [("Database", sizes["pages"]), ("Unused", sizes["free"]), ("Log", sizes["wal"])], "held"
    )
    columns = ("Part=*name", "State=status", "Why=reason", "Checked=@checked_at")
    return _page(
        call,
        "/admin",
        render_section("Parts", _list("At the last check", columns, parts, "No check has run yet.")),
        render_section("Waiting", html_tables.render_description_list(waits, "held")),
        render_section("Store", size),
        render_section("Latest actions", _log(rows)),
    )


def _part(one: Any) -> dict[str, Any]:
    return {"status": one.status, "reason": one.reason, "checked_at": one.checked_at}


def _account(email: str, uuid: str) -> Html:
    return html_tables.render_link_header(email, f"/admin/accounts/{uuid}")


@require_admin
def show_accounts(call: Call) -> Response:
    """The page at ``/admin/accounts``: the newest, or those that a part of an email finds."""
    text = call.params["q"]
    with call.app.accounts.read() as tx:
        rows = users.list_users(tx, text, MAX_ROWS)
    search = h.form(
        html_tables.render_input("Email or uuid", "q", text, "search", maxlength=200),
        h.button("Search"),
        method="get",
        action="/admin/accounts",
        class_="filters",
    )
    columns: tuple[GridColumn, ...] = (
        ("Email", lambda one: _account(one["email"], one["uuid"])),
        "Plan=plan",
        ">Tokens left=balance",
        "State=state",
        "Type=usertype",
        "Since=@created_at",
    )
    said = f"{len(rows)} accounts" if len(rows) < MAX_ROWS else f"The newest {MAX_ROWS}"
    return _page(call, "/admin/accounts", search, _list(said, columns, rows, "No account matches this email."))


@require_admin
def show_account(call: Call) -> Response:
    """The page of an account: what it has and spends, and what can be done with it."""
    uuid = call.params["account"]
    with call.app.accounts.read() as tx:
        email = users.get_email(tx, uuid)
        row = users.list_users(tx, uuid, 1)[0]
    user_id = users.get_id(call.app, email)
    with call.app.accounts.read() as tx:
        spent: list[Any] = list(billing.compute_spending(tx, user_id, USAGE_DAYS, call.now)["top_endpoints"])
    has = [
        *(
            ("Plan", row["plan"]),
            ("Tokens left", html_tables.format_number(row["balance"] or 0)),
            ("State", row["state"]),
        ),
        *(("Wallet", f"{row['credit_balance']:,.2f} dollars"), ("Type", row["usertype"])),
        ("Since", row["created_at"][:10]),
    ]
    columns = ("Endpoint=#endpoint", ">Calls=calls", ">Tokens=tokens")
    used = _list(f"The last {USAGE_DAYS} days", columns, spent, "No tokens spent.")
    body = (html_tables.render_description_list(has, "held"), _forms(call, uuid, row), render_section("Usage", used))
    return _page(call, "/admin/accounts", *body, title=email)


def _forms(call: Call, uuid: str, row: Any) -> Html:
    choices = {plan: plan for plan in plans.build_catalogue(call.app.config)}
    amount = render_field("Dollars", "amount", inputmode="decimal", pattern=r"[0-9]{1,9}(\.[0-9]{1,2})?", size=10)
    ways: tuple[tuple[str, str, Child], ...] = (
        ("unlock", "Open it again", "") if row["state"] == "locked" else ("lock", "Lock", ""),
        ("revoke", "End its sessions, replace its key", ""),
        ("plan", "Change the plan", html_tables.render_select("Plan", "plan", row["plan"], choices)),
        ("credit", "Add to the wallet", amount),
        ("grant", "Grant tokens", render_field("Tokens", "tokens", type="number", min=1)),
    )
    forms = [render_action_form(call, name, said, fields, account=uuid) for name, said, fields in ways]
    return render_section("Change", h.div(forms, class_="acts"))


@require_admin
def show_invites(call: Call) -> Response:
    """The page at ``/admin/invites``."""
    with call.app.accounts.read() as tx:
        rows = invites.list_invites(call.app, tx, call.now)[: -MAX_ROWS - 1 : -1]
    make = render_action_form(
        call,
        "invite",
        "Make a code",
        h.label("Note ", h.input(name="note", maxlength=200)),
        h.label("Days until it expires (empty: never) ", h.input(name="days", type="number", min=1, max=3650)),
    )
    revoke = render_action_form(call, "revoke-invite", "Revoke", render_field("Code", "code", autocomplete="off"))
    columns = (
        "Code=#code",
        "State=state",
        "Note=note",
        "Made=@created_at",
        "Ends=@expires_at",
        "Used=@used_at",
        "By=used_by",
    )
    listed = _list(f"The newest {len(rows)}", columns, rows, "No codes yet.")
    return _page(
        call,
        "/admin/invites",
        render_section("New", make),
        render_section("Revoke", revoke),
        render_section("Codes", listed),
    )


@require_admin
def show_intake(call: Call) -> Response:
    """The page at ``/admin/intake``: the poller and what it stored last, and the documents that did not come."""
    every = call.app.config.poll_every
    with call.app.db.read() as tx:
        steps, times = heartbeats.get_heartbeats(tx), heartbeats.get_freshness(tx)
        states, followed = fetch_queue.list_watermarks(tx), len(fetch_queue.list_followed(tx))
        given_up, rows = fetch_queue.count_given_up(tx), fetch_queue.list_failed_documents(tx)[:MAX_ROWS]
    polls = f"The feed is read every {every:g} seconds." if every else "Polling is off (--poll-every SECONDS)."
    came = [(f"Last {kind.replace('_', ' ')}", (at or "never")[:16].replace("T", " ")) for kind, at in times.items()]
    beats = [{"name": one.name, "at": one.at, "ms": one.took_ms, "failure": one.failure} for one in steps.values()]
    last = _list(
        "Last run of each step", ("Step=*name", "Ended=@at", ">ms=ms", "Failed=failure"), beats, "No step has run yet."
    )
    columns: tuple[GridColumn, ...] = (
        *("Filing=*accession", "Form=form", "CIK=cik", "State=state", ">Tries=tries"),
        *("Why=reason", "Given up=@given_up_at", "Next try=@next_try_at"),
        ("Action", lambda one: render_action_form(call, "retry", "Retry", _hidden("accession", one["accession"]))),
    )
    said = f"{given_up:,} given up; the last {len(rows)} of those in trouble"
    marks = _list("Progress", ("Mark=*name", "At=value"), states, "Not started.")
    return _page(
        call,
        "/admin/intake",
        render_section("Came in", html_tables.render_description_list(came, "held"), last),
        render_section("Poller", h.p(f"{polls} {followed:,} companies are followed."), marks),
        render_section(
            "Refused and put off",
            rows and render_action_form(call, "retry", "Retry all"),
            _list(said, columns, rows, "No refused documents."),
        ),
        _refused_files(call),
    )


def _refused_files(call: Call) -> Html:
    with call.app.db.read() as tx:
        rows = fetch_queue.list_refused_files(tx, MAX_ROWS)
    said, columns = (
        f"The last {len(rows)}, until they are ingested",
        ("File=path", "Kind=kind", "Why=reason", "When=@at"),
    )
    return render_section("Files that finapi ingest refused", _list(said, columns, rows, "No refused files."))


def _hidden(name: str, value: str) -> Html:
    return h.input(type="hidden", name=name, value=value)


@require_admin
def show_deliveries(call: Call) -> Response:
    """The page at ``/admin/deliveries``: those that failed, of all accounts."""
    waiting = status.count_queued_work(call.app, call.now)["webhooks"]
    with call.app.accounts.read() as tx:
        rows = webhooks.list_failed_deliveries(tx, MAX_ROWS)

    def again(one: Any) -> Child:
        if one["state"] != "dropped":
            return ""
        return render_action_form(
            call, "redeliver", "Send again", _hidden("delivery_id", one["delivery_id"]), account=one["account"]
        )

    columns: tuple[GridColumn, ...] = (
        ("Account", lambda one: _account(one["email"], one["account"])),
        *("Event=event_type", "Made=@created_at", "State=state", "To=host", ">Attempts=attempts", "Why=last_error"),
        ("Action", again),
    )
    said = f"The last {len(rows)} that failed; {waiting:,} wait"
    return _page(call, "/admin/deliveries", _list(said, columns, rows, f"No failed deliveries; {waiting:,} wait."))


@require_admin
def show_audit_log(call: Call) -> Response:
    """The page at ``/admin/audit``."""
    with call.app.accounts.read() as tx:
        rows = audit.list_actions(tx, MAX_ROWS, call.params["before"])
    more = len(rows) == MAX_ROWS and h.p(h.a("Older", href=build_url("/admin/audit", before=rows[-1]["id"])))
    return _page(call, "/admin/audit", _log(rows), more)


def _log(rows: list[Any]) -> Html:
    columns: tuple[GridColumn, ...] = (
        *("When=@at", "Who=who", "What=action"),
        ("Account", lambda one: one["account"] and h.a(one["account"], href=f"/admin/accounts/{one['account_uuid']}")),
        *("Detail=detail", "From=place"),
    )
    return _list("Newest first", columns, rows, "No actions yet.")
