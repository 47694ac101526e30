"""The pages of the documentation: the guides, the reference with a call to try, the search, and the same for models."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from finapi.core.errors import ApiError
from finapi.core.files import get_package_folder
from finapi.web.html import page_layout
from finapi.web.html.markdown import render_inline, render_markdown
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param
from finapi.web.pages import front_page, page_access
from finapi.web.pages.api_backed_pages import format_tokens
from finapi.web.pages.docs import api_reference
from finapi.web.pages.docs.api_reference import Operation

GUIDES = ("first-call", "metering", "paging", "as-of", "missing-figures", "feeds", "webhooks", "errors", "testing")
INDEX_PARAMS = (Param("q", default="", empty_is_default=True),)
NAME_PARAMS = (path_param("name"),)
TEXT = "text/markdown; charset=utf-8"


def show_index(call: Call) -> Response:
    """The page at ``/docs``: guides and calls, those of a search where there is one."""
    return page_access.serve_open_page(call, lambda: _index(call))


def show_guide(call: Call) -> Response:
    """A guide, as a page or (``.md``) as it is written."""
    name = call.params["name"]
    plain = name.removesuffix(".md")
    if plain not in GUIDES:
        raise ApiError("NOT_FOUND", "Guide not found.")
    return page_access.serve_open_page(call, lambda: _shown(call, _guide(plain), name))


def show_operation(call: Call) -> Response:
    """The reference of a call, as a page or (``.md``) as Markdown."""
    return page_access.serve_open_page(call, lambda: _operation(call))


def show_llms_txt(call: Call) -> Response:
    """``/llms.txt``: where a model finds what."""
    return page_access.serve_open_page(call, lambda: _models(call))


def _document(call: Call) -> Any:
    route = next(route for route in call.routes if route.path == "/openapi.json")
    return json.loads(route.handler(call).body)


def _operation(call: Call) -> Response:
    name, document = call.params["name"], _document(call)
    one = api_reference.index_operations(call, document).get(name.removesuffix(".md"))
    if one is None:
        raise ApiError("NOT_FOUND", "Operation not found.")
    return _shown(call, api_reference.render_operation(one, document, call.app.config.public_url), name, one)


def _shown(call: Call, text: str, name: str, one: Operation | None = None) -> Response:
    # The calls work when pasted: this host, and in a demo its own key.
    text = text.replace("http://127.0.0.1:8000", call.app.config.public_url).replace(
        "YOUR_KEY", front_page.get_example_key(call.app)
    )
    if name.endswith(".md"):
        return Response(200, text.encode(), TEXT)
    title, body = text.removeprefix("# ").split("\n", 1)
    back = h.p(
        h.a("Documentation", href="/docs"), " · ", h.a("as Markdown", href=f"{call.request.path}.md"), class_="quiet"
    )
    return page_layout.render_page(
        call,
        title,
        back,
        h.h1(render_inline(title)),
        one and _try_it(call, one),
        render_markdown(body),
        scripts=("try.js", "copy.js") if one else ("copy.js",),
    )


def _try_it(call: Call, one: Operation) -> Html | None:
    """What a script sends the call with; without one it stays hidden."""
    target, body = api_reference.build_example_call(one)
    by_session = "session" in str(one.told["security"]) and "key" not in str(one.told["security"])
    key = None if by_session else front_page.get_example_key(call.app)
    return h.form(
        h.h2("Try it"),
        h.label("API key or session token", for_="try-key"),
        h.input(
            id="try-key",
            value=key if key != front_page.KEY_PLACEHOLDER else None,
            autocomplete="off",
            spellcheck="false",
        ),
        h.label("Path and query", for_="try-target"),
        h.input(id="try-target", value=target, spellcheck="false"),
        body is not None
        and (h.label("Body", for_="try-body"), h.textarea(json.dumps(body, indent=2), id="try-body", rows=8)),
        h.button("Send"),
        h.p(id="try-status", role="status"),
        h.pre(h.code(id="try-answer"), tabindex=0, hidden=True),
        id="try",
        hidden=True,
        data_method=one.method,
        data_session=by_session,
    )


def _index(call: Call) -> Response:
    words = call.params["q"].lower().split()
    calls = list(api_reference.index_operations(call, document := _document(call)).values())
    found = [one for one in calls if _fits(words, one.path, one.told["summary"], one.told.get("description", ""))]
    guides = [name for name in GUIDES if _fits(words, _guide(name))]
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    # Data first, then accounts.
    order = sorted(tags, key=lambda tag: not any(one.cost for one in calls if one.tag == tag))
    families = [_family(tag, tags[tag], [one for one in found if one.tag == tag]) for tag in order]
    form = h.form(
        h.label("Search the documentation", for_="docs-q"),
        h.input(id="docs-q", name="q", type="search", value=call.params["q"] or None, maxlength=100),
        h.button("Find"),
        action="/docs",
        role="search",
        aria_label="Documentation",
    )
    nothing = not (found or guides) and h.p("No results for all of these words.", role="status")
    listed = guides and join_html(
        h.h2("Guides"), h.ul([h.li(h.a(_title(name), href=f"/docs/{name}")) for name in guides])
    )
    more = h.p(h.a("OpenAPI document", href="/openapi.json"), " · ", h.a("/llms.txt", href="/llms.txt"), class_="quiet")
    return page_layout.render_page(call, "Documentation", form, nothing, listed, families, more)


def _family(tag: str, said: str, calls: list[Operation]) -> Html | None:
    if not calls:
        return None
    items = [
        h.li(
            h.a(one.told["summary"], href=f"/docs/api/{one.id}"),
            h.small(format_tokens(one.cost)),
            h.code(f"{one.method} {one.path}"),
        )
        for one in calls
    ]
    return h.section(h.h2(said.rstrip("."), h.small(" ", h.code(tag))), h.ul(items, class_="calls"))


def _fits(words: list[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in words)


def _models(call: Call) -> Response:
    base = call.app.config.public_url
    guides = [f"- [{_title(name)}]({base}/docs/{name}.md)" for name in GUIDES]
    calls = [
        f"- [{one.method} {one.path}]({base}/docs/api/{one.id}.md): {one.told['summary']}, {format_tokens(one.cost)}"
        for one in api_reference.index_operations(call, _document(call)).values()
    ]
    said = "> Market data derived from SEC filings, over HTTP: statements, series, filings, insiders, funds, prices."
    whole = f"- [OpenAPI document]({base}/openapi.json): every call with its parameters, answers and errors"
    parts = ["# finapi", said, "## Guides", "\n".join(guides), "## Calls", "\n".join([whole, *calls])]
    return Response(200, ("\n\n".join(parts) + "\n").encode(), "text/plain; charset=utf-8")


@cache
def _guide(name: str) -> str:
    return (get_package_folder("finapi.web.pages.docs") / "guides" / f"{name}.md").read_text("utf-8")


def _title(name: str) -> str:
    return _guide(name).partition("\n")[0].removeprefix("# ")
