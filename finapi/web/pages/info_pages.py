"""Pages of information: plans, changelog, how to connect language models; robots.txt and security.txt."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import parseaddr
from functools import cache
from typing import Any, NamedTuple

from finapi.accounts import plans
from finapi.core.clock import iso
from finapi.core.files import get_package_folder
from finapi.mcp import VERSIONS
from finapi.web.html import html_tables
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.markdown import render_inline, render_markdown
from finapi.web.html.page_layout import render_page
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import Route, operation_id
from finapi.web.pages.limit_names import describe_limit, get_limit_name

# security.txt expires after this many days; RFC 9116 recommends less than a year.
CONTACT_DAYS = 90

_TEXT = "text/plain; charset=utf-8"

_LIMIT_COLUMNS = (
    GridColumn("Calls", "name", style="row_header"),
    GridColumn("Allowed", lambda limit: describe_limit(limit["calls"], limit["seconds"])),
)


class McpHost(NamedTuple):
    """An MCP host: the place of its configuration, and the text to write there."""

    name: str
    location: str
    text: str


# ---- plans


def show_plans(call: Call) -> Response:
    """Return the page of the plans with their prices if the operator has set any, the limits and the cost of calls."""
    has_prices = plans.has_prices(call.app.config)
    plan_rows = [_render_plan(plan, has_prices) for plan in plans.iter_plans(call.app.config)]
    priced_routes = [route for route in call.routes if route.cost]
    priced_routes.sort(key=lambda route: (route.cost, route.path))
    cost_columns = (
        GridColumn("Tokens", lambda route: html_tables.render_number_cell(route.cost), numeric=True),
        GridColumn("Call", _render_route),
    )
    return render_page(
        call,
        "Plans",
        h.p(
            "Every call of a data endpoint costs tokens; a call that fails is refunded. Bought tokens carry over "
            "and are spent after the plan's own. The operator of this host assigns the plans."
        ),
        has_prices
        and h.p(
            "A dollar buys 100 additional tokens. The operator adds money to the wallet of your ",
            h.a("account", href="/account"),
            ", where you buy them.",
        ),
        html_tables.render_table(
            "", ("Plan", "Price", "Includes") if has_prices else ("Plan", "Includes"), plan_rows, label="Plans"
        ),
        h.h2("Limits", id="limits"),
        html_tables.render_grid("For each account, or else for each address", _LIMIT_COLUMNS, _list_limits(call)),
        h.h2("Cost of calls"),
        h.p("Calls not listed here are free."),
        html_tables.render_grid("Cheapest first", cost_columns, priced_routes),
    )


def _render_plan(plan: plans.Plan, has_prices: bool) -> Html:
    price_cell = None
    if has_prices:
        price_cell = h.td(_format_price(plan))
    # The first feature of a plan with a price states the price.
    features = plan["features"][1:] if plan["price"] else plan["features"]
    return h.tr(h.th(plan["name"], scope="row"), price_cell, h.td(_render_lines(features)))


def _format_price(plan: plans.Plan) -> str:
    if plan["price"] is None:
        return "not stated"
    return f"{plan['price']:,} dollars a {plan['interval']}" if plan["price"] else "free"


def _render_lines(texts: list[str]) -> list[Html]:
    return [join_html(h.br() if index else "", text) for index, text in enumerate(texts)]


def _render_route(route: Route) -> Html:
    link = h.a(route.summary, href=f"/docs/api/{operation_id(route)}")
    # A zero-width space behind each slash lets a browser break the line there.
    name = h.code(route.name.replace("/", "/\u200b"))
    return h.th(link, h.small(name, class_="under"), scope="row")


def _list_limits(call: Call) -> list[dict[str, Any]]:
    limits = []
    now = call.app.clock.monotonic()
    for zone, limiter in call.app.limiters.items():
        for limit, *_ in limiter.list_remaining(("address", ""), now):
            limits.append({"name": get_limit_name(zone), "calls": limit.requests, "seconds": int(limit.period_seconds)})
    return limits


# ---- changelog


def show_changelog(call: Call) -> Response:
    """Return the page of changes by version."""
    return render_page(call, "Changelog", _render_changelog())


@cache
def _render_changelog() -> Html:
    text = (get_package_folder("finapi.web.pages") / "CHANGELOG.md").read_text(encoding="utf-8")
    without_title = text.partition("\n")[2]
    return render_markdown(without_title)


# ---- Model Context Protocol


def show_mcp(call: Call) -> Response:
    """Return the page on connecting MCP hosts (programs with a language model), with the tools that they get."""
    from finapi.mcp.tools import get_tools

    address = f"{call.app.config.public_url}/api/mcp"
    costs = {route.name: route.cost for route in call.routes}
    tool_rows = []
    for tool in get_tools().values():
        cost = str(costs[tool.operation.route])
        tool_rows.append(h.tr(h.th(h.code(tool.name), scope="row"), h.td(cost), h.td(render_inline(tool.description))))
    tool_head = h.thead(h.tr(h.th("Tool"), h.th("Tokens"), h.th("Returns")))
    return render_page(
        call,
        "Model Context Protocol",
        h.p(*_MCP_INTRODUCTION, h.code(address), f". Revisions: {', '.join(VERSIONS)}."),
        [h.section(h.h2(host.name), h.p(host.location), h.pre(h.code(host.text))) for host in _list_mcp_hosts(address)],
        h.h2("Tools"),
        h.div(h.table(tool_head, h.tbody(tool_rows)), class_="scroll", tabindex="0", role="region", aria_label="Tools"),
        h.p(
            "A result has its data as structured content, with one line of text. For a host that passes only the text "
            "to its model, use ",
            h.code("finapi mcp --text"),
            " or ",
            h.code(f"{address}?answers=text"),
            ".",
        ),
        h.p(
            "Tools that read OpenAPI instead can be given ",
            h.a("/openapi.json", href="/openapi.json"),
            ": every parameter is described and named so that function-calling interfaces take it.",
        ),
        wide=True,
    )


_MCP_INTRODUCTION = (
    "A model uses this service through tools. Each use of a tool is a call of the API with your key: it has the same "
    "limits and the same cost, and is free if it fails. Hosts that start programs run ",
    h.code("finapi mcp"),
    " (",
    h.code("finapi mcp --check"),
    " tests server, key and tools). Hosts that use HTTP send the key as ",
    h.code("X-API-Key"),
    " or as ",
    h.code("Authorization: Bearer"),
    " to ",
)


def _list_mcp_hosts(address: str) -> list[McpHost]:
    """Return the configurations of common MCP hosts."""
    key = "YOUR_KEY"
    http_server: dict[str, Any] = {"url": address, "headers": {"X-API-Key": key}}
    program = {
        "command": "finapi",
        "args": ["mcp"],
        "env": {"FINAPI_URL": address.removesuffix("/api/mcp"), "FINAPI_API_KEY": key},
    }
    return [
        McpHost(
            "Claude Desktop",
            "Settings, Developer, Edit Config: claude_desktop_config.json. finapi is installed on that machine.",
            json.dumps({"mcpServers": {"finapi": program}}, indent=2),
        ),
        McpHost(
            "Claude Code",
            "On a command line.",
            f'claude mcp add --transport http finapi {address} --header "X-API-Key: {key}"',
        ),
        McpHost("Cursor", ".cursor/mcp.json", json.dumps({"mcpServers": {"finapi": http_server}}, indent=2)),
        McpHost(
            "VS Code",
            ".vscode/mcp.json",
            json.dumps({"servers": {"finapi": {"type": "http", **http_server}}}, indent=2),
        ),
    ]


# ---- files for programs


def show_robots_txt(call: Call) -> Response:
    """Return robots.txt: crawlers may read the pages unless they are for members, but not the API."""
    disallowed = "/api/" if call.app.config.pages == "public" else "/"
    return Response(200, f"User-agent: *\nDisallow: {call.app.config.public_path}{disallowed}\n".encode(), _TEXT)


def show_security_txt(call: Call) -> Response:
    """Return security.txt: the contact for reports of vulnerabilities (RFC 9116)."""
    config = call.app.config
    contact = config.security_contact or f"mailto:{parseaddr(config.mail_from)[1]}"
    expires = iso(call.now + timedelta(days=CONTACT_DAYS))
    canonical_url = f"{config.public_url}/.well-known/security.txt"
    text = f"Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\nCanonical: {canonical_url}\n"
    return Response(200, text.encode(), _TEXT)
