"""Pages to read: the plans, the changelog, what other tools can connect."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib import resources

from finapi import plans
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.layout import page


def plan_page(call: Call) -> Response:
    """What the plans bring."""
    rows = "".join(
        f"<tr><th scope=row>{escape(plan['name'])}</th>"
        f"<td>{'<br>'.join(escape(feature) for feature in plan['features'])}</td></tr>"
        for plan in plans.listed(call.app.config)
    )
    return page(
        "Plans",
        "<p>Every call of a data endpoint costs tokens; a call that fails is refunded. Bought tokens carry over "
        "and are spent after the plan's own. The operator of this host puts accounts on plans.</p>"
        f"<table><tbody>{rows}</tbody></table>",
    )


def changelog(call: Call) -> Response:
    """What changed in which version."""
    return page("Changelog", _changelog())


def mcp(call: Call) -> Response:
    """What there is for Model Context Protocol clients."""
    return page(
        "Model Context Protocol",
        "<p>This version serves no MCP endpoint. Tools that read OpenAPI can be given "
        '<a href="/openapi.json">/openapi.json</a>: every parameter is described and named so that '
        "function-calling interfaces take it.</p>",
    )


@cache
def _changelog() -> str:
    text = (resources.files("finapi.web") / "CHANGELOG.md").read_text(encoding="utf-8")
    return markdown(text.partition("\n")[2])


def markdown(text: str) -> str:
    """HTML of the Markdown that the changelog is written in: headings, paragraphs, lists, `code`."""
    html = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            html.append(f"<h{level}>{_inline(block[level:].strip())}</h{level}>")
        elif block.startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            html.append("<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>")
        else:
            html.append(f"<p>{_inline(block)}</p>")
    return "".join(html)


def _inline(text: str) -> str:
    joined = escape(" ".join(text.split()), quote=False)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", joined)
