"""The pages of the documentation: the index with its search, guides, the reference of a call, and llms.txt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from finapi.core.errors import ApiError
from finapi.core.files import get_package_folder
from finapi.web.html import page_layout
from finapi.web.html.markdown import render_inline, render_markdown
from finapi.web.html.tags import Html, h, join_html
from finapi.web.http import wheel_url
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param
from finapi.web.http.public_path import prefix_markdown
from finapi.web.pages import front_page, page_access
from finapi.web.pages.api_backed_pages import format_tokens
from finapi.web.pages.docs import api_reference
from finapi.web.pages.docs.api_reference import Operation

GUIDES = ("first-call", "metering", "paging", "as-of", "missing-figures", "feeds", "webhooks", "errors", "testing")
INDEX_PARAMS = (Param("q", default="", empty_is_default=True),)
NAME_PARAMS = (path_param("name"),)
MARKDOWN = "text/markdown; charset=utf-8"

# The address in the examples of the guides, which pages replace by their own.
_EXAMPLE_URL = "http://127.0.0.1:8000"


def show_index(call: Call) -> Response:
    """Return the page at ``/docs``: guides and calls, or those that contain all words of a search."""
    return page_access.serve_open_page(call, lambda: _render_index(call))


def show_guide(call: Call) -> Response:
    """Return a guide, as a page or (``.md``) as Markdown. Raise NOT_FOUND for an unknown guide."""
    name = call.params["name"]
    guide = name.removesuffix(".md")
    if guide not in GUIDES:
        raise ApiError("NOT_FOUND", f"There is no guide {guide}; the guides are {', '.join(GUIDES)}.")
    return page_access.serve_open_page(call, lambda: _render_text(call, _load_guide(guide), name))


def show_operation(call: Call) -> Response:
    """Return the reference of a call, as a page or (``.md``) as Markdown. Raise NOT_FOUND for an unknown call."""
    return page_access.serve_open_page(call, lambda: _render_operation(call))


def show_llms_txt(call: Call) -> Response:
    """Return ``/llms.txt``: an index of the guides and calls for language models."""
    return page_access.serve_open_page(call, lambda: _render_llms_txt(call))


# ---- a guide or a call


def _render_operation(call: Call) -> Response:
    name = call.params["name"]
    document = _get_openapi_document(call)
    operation = api_reference.index_operations(call, document).get(name.removesuffix(".md"))
    if operation is None:
        message = f"There is no call {name.removesuffix('.md')}; {call.app.config.public_url}/docs lists all calls."
        raise ApiError("NOT_FOUND", message)
    text = api_reference.render_operation(operation, document, call.app.config.public_url)
    return _render_text(call, text, name, operation)


def _render_text(call: Call, text: str, name: str, operation: Operation | None = None) -> Response:
    """Return a Markdown text as it is if the name ends in ``.md``, else as a page."""
    # The examples work when pasted: they have this host's address, its client, and a demo's own key.
    public_url = call.app.config.public_url
    text = text.replace(_EXAMPLE_URL, public_url)
    # The scheme of WebSockets is ws or wss, as that of the address is http or https.
    text = text.replace(_EXAMPLE_URL.replace("http", "ws", 1), public_url.replace("http", "ws", 1))
    text = text.replace("CLIENT_WHEEL", wheel_url.FILENAME)
    text = text.replace("YOUR_KEY", front_page.get_example_key(call.app))
    if name.endswith(".md"):
        text = prefix_markdown(text, call.app.config.public_path)
        return Response(200, text.encode(), MARKDOWN)
    title, body = text.removeprefix("# ").split("\n", 1)
    links = h.p(
        h.a("Documentation", href="/docs"), " · ", h.a("as Markdown", href=f"{call.request.path}.md"), class_="quiet"
    )
    return page_layout.render_page(
        call,
        title,
        links,
        h.h1(render_inline(title)),
        operation and _render_try_form(call, operation),
        render_markdown(body),
        scripts=("try.js", "copy.js") if operation else ("copy.js",),
    )


def _render_try_form(call: Call, operation: Operation) -> Html:
    """Return the form with which a script sends the call. It stays hidden if scripts are off."""
    target, body = api_reference.build_example_call(operation)
    security = str(operation.definition["security"])
    needs_session = "session" in security and "key" not in security
    key = None if needs_session else front_page.get_example_key(call.app)
    shown_key = key if key != front_page.KEY_PLACEHOLDER else None
    body_fields: tuple[Html, ...] = ()
    if body is not None:
        body_fields = (
            h.label("Body", for_="try-body"),
            h.textarea(json.dumps(body, indent=2), id="try-body", rows=8),
        )
    return h.form(
        h.h2("Try it"),
        h.label("API key or session token", for_="try-key"),
        h.input(id="try-key", value=shown_key, autocomplete="off", spellcheck="false"),
        h.label("Path and query", for_="try-target"),
        h.input(id="try-target", value=call.app.config.public_path + target, spellcheck="false"),
        body_fields,
        h.button("Send"),
        h.p(id="try-status", role="status"),
        h.pre(h.code(id="try-answer"), tabindex=0, hidden=True),
        h.details(h.summary("Headers of the answer"), h.pre(h.code(id="try-headers"), tabindex=0), hidden=True),
        id="try",
        hidden=True,
        data_method=operation.method,
        data_session=needs_session,
    )


# ---- the index


def _render_index(call: Call) -> Response:
    words = call.params["q"].lower().split()
    document = _get_openapi_document(call)
    operations = list(api_reference.index_operations(call, document).values())
    guides = [name for name in GUIDES if _contains_all(words, _load_guide(name))]
    matches = [operation for operation in operations if _matches(words, operation)]
    tag_names = {tag["name"]: tag["description"] for tag in document["tags"]}
    data_tags = {operation.tag for operation in operations if operation.cost}
    # The tags of data come before those of accounts and operation.
    ordered_tags = sorted(tag_names, key=lambda tag: tag not in data_tags)
    sections = [
        _render_tag(tag, tag_names[tag], [operation for operation in matches if operation.tag == tag])
        for tag in ordered_tags
    ]
    no_results = not (matches or guides) and h.p(
        "No guide and no call contains all of these words. Try fewer words, or the name of a path, such as timeseries.",
        class_="note",
        role="status",
    )
    machine_links = h.p(
        h.a("OpenAPI document", href="/openapi.json"), " · ", h.a("/llms.txt", href="/llms.txt"), class_="quiet"
    )
    return page_layout.render_page(
        call, "Documentation", _render_search_form(call), no_results, _render_guides(guides), sections, machine_links
    )


def _render_search_form(call: Call) -> Html:
    return h.form(
        h.label("Search the documentation", for_="docs-q", class_="unseen"),
        h.input(
            id="docs-q",
            name="q",
            type="search",
            value=call.params["q"] or None,
            placeholder="Search the documentation",
            maxlength=100,
        ),
        h.button("Find"),
        action="/docs",
        role="search",
        aria_label="Documentation",
        class_="search",
    )


def _render_guides(guides: Sequence[str]) -> Html | None:
    if not guides:
        return None
    entries = [h.li(h.a(_get_guide_title(name), href=f"/docs/{name}")) for name in guides]
    return join_html(h.h2("Guides"), h.ul(entries))


def _render_tag(tag: str, description: str, operations: Sequence[Operation]) -> Html | None:
    """Return the section of the operations with a tag, or None if there are none."""
    if not operations:
        return None
    entries = [
        h.li(
            h.a(operation.definition["summary"], href=f"/docs/api/{operation.id}"),
            h.small(format_tokens(operation.cost)),
            h.code(f"{operation.method} {operation.path}"),
        )
        for operation in operations
    ]
    first_sentence = description.partition(". ")[0].rstrip(".")
    heading = h.h2(first_sentence, h.small(" ", h.code(tag)))
    return h.section(heading, h.ul(entries, class_="calls"))


def _matches(words: Sequence[str], operation: Operation) -> bool:
    definition = operation.definition
    return _contains_all(words, operation.path, definition["summary"], definition.get("description", ""))


def _contains_all(words: Sequence[str], *texts: str) -> bool:
    text = " ".join(texts).lower()
    return all(word in text for word in words)


# ---- llms.txt


def _render_llms_txt(call: Call) -> Response:
    base_url = call.app.config.public_url
    guides = [f"- [{_get_guide_title(name)}]({base_url}/docs/{name}.md)" for name in GUIDES]
    calls = [f"- [OpenAPI document]({base_url}/openapi.json): every call with its parameters, answers and errors"]
    for operation in api_reference.index_operations(call, _get_openapi_document(call)).values():
        link = f"[{operation.method} {operation.path}]({base_url}/docs/api/{operation.id}.md)"
        calls.append(f"- {link}: {operation.definition['summary']}, {format_tokens(operation.cost)}")
    summary = "> Market data derived from SEC filings, over HTTP: statements, series, filings, insiders, funds, prices."
    parts = ["# finapi", summary, "## Guides", "\n".join(guides), "## Calls", "\n".join(calls)]
    return Response(200, ("\n\n".join(parts) + "\n").encode(), "text/plain; charset=utf-8")


# ---- sources


def _get_openapi_document(call: Call) -> Any:
    route = next(route for route in call.routes if route.path == "/openapi.json")
    return json.loads(route.handler(call).body)


@cache
def _load_guide(name: str) -> str:
    return (get_package_folder("finapi.web.pages.docs") / "guides" / f"{name}.md").read_text("utf-8")


def _get_guide_title(name: str) -> str:
    return _load_guide(name).partition("\n")[0].removeprefix("# ")
