"""Pages to read: the plans, the changelog, what other tools can connect; and what programs look for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from email.utils import parseaddr
from functools import cache
from typing import Any

from finapi.accounts import plans
from finapi.core.clock import iso
from finapi.core.files import get_package_folder
from finapi.mcp import VERSIONS
from finapi.web.html import html_tables
from finapi.web.html.markdown import render_inline, render_markdown
from finapi.web.html.page_layout import render_page
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.route import Route, operation_id

# Whoever reads security.txt asks again before this (RFC 9116 wants less than a year).
CONTACT_DAYS = 90

_LIMITS = ("Zone=*zone", ">Calls=calls", ">in seconds=seconds")


def show_plans(call: Call) -> Response:
    """What the plans bring, what is limited, and what calls cost."""
    rows = [
        h.tr(h.th(plan["name"], scope="row"), h.td(_lines(plan["features"])))
        for plan in plans.iter_plans(call.app.config)
    ]
    priced = sorted((route for route in call.routes if route.cost), key=lambda route: (route.cost, route.path))
    return render_page(
        call,
        "Plans",
        h.p(
            "Every call of a data endpoint costs tokens; a call that fails is refunded. Bought tokens carry over "
            "and are spent after the plan's own. The operator of this host puts accounts on plans."
        ),
        html_tables.render_table("", ("Plan", "What it brings"), rows, label="Plans"),
        h.h2("Limits", id="limits"),
        html_tables.render_grid("By account, or by address without one", _LIMITS, _limits(call)),
        h.h2("Cost of calls"),
        h.p("A dollar buys 100 tokens. Calls not listed here are free."),
        html_tables.render_grid("Cheapest first", (">Tokens=cost", ("Call", _priced)), map(_asdict, priced)),
    )


def _priced(told: Mapping[str, Any]) -> Html:
    link = h.a(told["summary"], href=f"/docs/api/{told['id']}")
    return h.th(link, h.small(h.code(told["name"].replace("/", "/\u200b")), class_="under"), scope="row")


def _asdict(route: Route) -> dict[str, Any]:
    return {"cost": route.cost, "summary": route.summary, "name": route.name, "id": operation_id(route)}


def _lines(texts: Sequence[str]) -> list[Html]:
    return [join_html(h.br() if n else "", text) for n, text in enumerate(texts)]


def _limits(call: Call) -> list[dict[str, Any]]:
    zones = (
        (zone, limiter.list_remaining(("address", ""), call.app.clock.monotonic()))
        for zone, limiter in call.app.limiters.items()
    )
    return [
        {"zone": zone, "calls": one.requests, "seconds": int(one.period_seconds)}
        for zone, look in zones
        for one, *_ in look
    ]


def show_changelog(call: Call) -> Response:
    """What changed in which version."""
    return render_page(call, "Changelog", _changelog())


def show_mcp(call: Call) -> Response:
    """How hosts of language models are connected, and the tools that they are given."""
    from finapi.mcp.tools import tools

    address = f"{call.app.config.public_url}/api/mcp"
    costs = {route.name: route.cost for route in call.routes}
    rows = [
        h.tr(
            h.th(h.code(tool.name), scope="row"), h.td(str(costs[tool.operation.route])), h.td(render_inline(tool.says))
        )
        for tool in tools().values()
    ]
    return render_page(
        call,
        "Model Context Protocol",
        h.p(*_CONNECTED, h.code(address), f". Revisions: {', '.join(VERSIONS)}."),
        [h.section(h.h2(host), h.p(where), h.pre(h.code(text))) for host, where, text in _hosts(address)],
        h.h2("Tools"),
        h.div(
            h.table(h.thead(h.tr(h.th("Tool"), h.th("Tokens"), h.th("What it answers"))), h.tbody(rows)),
            class_="scroll",
            tabindex="0",
            role="region",
            aria_label="Tools",
        ),
        h.p(
            "Tools that read OpenAPI instead can be given ",
            h.a("/openapi.json", href="/openapi.json"),
            ": every parameter is described and named so that function-calling interfaces take it.",
        ),
        wide=True,
    )


_CONNECTED = (
    "A model asks this host by tools, each of which is a call of the API: made with your key, within its limits, at "
    "its price, free when it fails. A host that starts programs runs ",
    h.code("finapi mcp"),
    "; one over HTTP sends the key as ",
    h.code("X-API-Key"),
    " or as ",
    h.code("Authorization: Bearer"),
    " to ",
)


def _hosts(address: str) -> Iterator[tuple[str, str, str]]:
    """How the common hosts are told of it: their names, where it is written, and what."""
    key = "YOUR_KEY"
    over_http: dict[str, Any] = {"url": address, "headers": {"X-API-Key": key}}
    started = {
        "command": "finapi",
        "args": ["mcp"],
        "env": {"FINAPI_URL": address.removesuffix("/api/mcp"), "FINAPI_API_KEY": key},
    }
    yield (
        "Claude Desktop",
        "Settings, Developer, Edit Config: claude_desktop_config.json. finapi is installed on that machine.",
        json.dumps({"mcpServers": {"finapi": started}}, indent=2),
    )
    yield (
        "Claude Code",
        "On a command line.",
        f'claude mcp add --transport http finapi {address} --header "X-API-Key: {key}"',
    )
    yield "Cursor", ".cursor/mcp.json", json.dumps({"mcpServers": {"finapi": over_http}}, indent=2)
    code = {"servers": {"finapi": {"type": "http", **over_http}}}
    yield "VS Code", ".vscode/mcp.json", json.dumps(code, indent=2)


def show_robots_txt(call: Call) -> Response:
    """What crawlers may read: the pages, unless they are for members; never the API."""
    closed = "/" if call.app.config.pages != "public" else "/api/"
    return Response(200, f"User-agent: *\nDisallow: {closed}\n".encode(), "text/plain; charset=utf-8")


def show_security_txt(call: Call) -> Response:
    """Whom to tell of a weakness (RFC 9116)."""
    config = call.app.config
    contact = config.security_contact or f"mailto:{parseaddr(config.mail_from)[1]}"
    expires = iso(call.now + timedelta(days=CONTACT_DAYS))
    where = f"{config.public_url}/.well-known/security.txt"
    text = f"Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\nCanonical: {where}\n"
    return Response(200, text.encode(), "text/plain; charset=utf-8")


@cache
def _changelog() -> Html:
    text = (get_package_folder("finapi.web.pages") / "CHANGELOG.md").read_text(encoding="utf-8")
    return render_markdown(text.partition("\n")[2])
