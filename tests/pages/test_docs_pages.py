"""The documentation pages: every call has its reference, what they show works when pasted, guides, search, models."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.web.html.markdown import render_markdown
from finapi.web.pages import front_page
from finapi.web.pages.docs import api_reference
from finapi.web.pages.docs import docs_pages as docs
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.pages.conftest import HTML, NOW, rows_of, text_of

# Calls whose example finds nothing in the demo's data, and what they answer.
NOTHING = {
    "/api/v1/auth/verifyEmail": 400,  # no such link was mailed
    "/api/v1/sec/filings/{accession_number}/html": 404,
    "/api/v1/status": 503,  # nothing watches here
    # None of the documents at hand is a schedule.
    "/api/v1/ownership/beneficial-ownership/filers/{cik}/portfolio": 404,
    "/api/v1/ownership/beneficial-ownership/filings/{accession}": 404,
    "/api/v1/ownership/beneficial-ownership/issuers/{cik}/summary": 404,
}


@pytest.fixture(scope="module")
def document(demo: App) -> Any:
    return Client(demo).get("/openapi.json").json


@pytest.fixture(scope="module")
def calls(demo: App, document: Any) -> list[api_reference.Operation]:
    class Asked:
        routes = ROUTES

    return [*api_reference.index_operations(Asked(), document).values()]  # type: ignore[arg-type]


def test_every_call_is_on_the_index_with_what_it_costs(page: Client, calls: list[api_reference.Operation]) -> None:
    body = text_of(page, "/docs")
    assert {one.path for one in calls} == {route.path for route in ROUTES if not route.page}
    for one in calls:
        assert f'<a href="/docs/api/{one.id}">{one.definition["summary"]}'.replace("'", "&#x27;")[:40] in body.replace(
            "'", "&#x27;"
        )
    assert len(body) < 33_000


def test_the_reference_says_parameters_costs_members_and_errors(page: Client) -> None:
    body = text_of(page, "/docs/api/get_xbrl_proof")
    rows = {row[0]: row[1:] for row in rows_of(body) if row}
    assert "Cost: 10 tokens" in body
    assert rows["metric (required)"] == ["query", "string", "Key of a metric, derived figure or ratio."]
    assert rows["basis"][2].endswith("One of latest, original. Default latest.")
    assert rows["data.cell.value"][0] == "number or null"
    assert rows["402"] == ["too few tokens"]
    assert "<code>GET /api/v1/xbrl/proof</code>" in body
    assert '<form id="try" hidden data-method="GET">' in body


def test_what_is_shown_works_when_pasted(page: Client, calls: list[api_reference.Operation]) -> None:
    user = users.create(page.app, "docs@example.com", "pro", NOW)
    wrong = {}
    for one in calls:
        keyed = any("key" in choice for choice in one.definition["security"])
        if one.method == "GET" and (keyed or not one.definition["security"]):
            target, _ = api_reference.build_example_call(one)
            page.app.limiters["app"].restore({})  # a minute has room for fewer calls than there are
            status = page.get(target, headers={"X-API-Key": user.api_key}).status
            if status not in (200, 302):
                wrong[one.path] = status
    assert wrong == NOTHING


def test_snippets_hold_what_a_shell_and_two_languages_read(page: Client) -> None:
    text = text_of(page, "/docs/api/post_cusip_batch.md")
    assert "-d '{\"cusips\": [\"037833100\"]}' \\\n  'http://x/api/v1/cusip/batch'" in text
    python = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert python is not None
    compile(python[1], "snippet", "exec")
    assert 'body": JSON.stringify({"cusips": ["037833100"]})' in text


def test_a_demo_shows_its_own_key(page: Client) -> None:
    page.app.static_bodies[front_page.DEMO_KEY] = b"0123"
    try:
        with page.app.db.write() as tx:
            tx.run("bump_data_version")
        assert "X-API-Key: 0123" in text_of(page, "/docs/first-call")
        assert "X-API-Key: 0123" in text_of(page, "/docs/api/get_xbrl_timeseries.md")
    finally:
        del page.app.static_bodies[front_page.DEMO_KEY]
        with page.app.db.write() as tx:
            tx.run("bump_data_version")


@pytest.mark.parametrize("name", docs.GUIDES)
def test_every_guide_is_a_page_and_markdown(page: Client, name: str) -> None:
    body, answer = text_of(page, f"/docs/{name}"), page.get(f"/docs/{name}.md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    title, text = answer.body.decode().removeprefix("# ").split("\n", 1)
    assert f"<h1>{title}</h1>" in body
    assert "http://127.0.0.1:8000" not in body
    assert "```" not in body
    # What a guide leads to is there.
    for to in re.findall(r"\]\((/[^)#]*)", text):
        assert page.get(to, headers=HTML).status == 200, to
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        json.loads(block)


@pytest.mark.parametrize("path", ["/docs/nothing", "/docs/..%2FCHANGELOG.md", "/docs/api/nothing", "/docs/api/.md"])
def test_what_is_no_guide_is_not_found(page: Client, path: str) -> None:
    assert text_of(page, path, 404)


def test_the_search_finds_guides_and_calls_by_all_words(page: Client) -> None:
    body = text_of(page, "/docs?q=signature+retried")
    assert '<a href="/docs/webhooks">' in body
    assert "/docs/metering" not in body
    assert "No results for all of these words." in text_of(page, "/docs?q=zzzz")
    assert "<script>" not in text_of(page, "/docs?q=%3Cscript%3E")


def test_models_find_every_guide_and_call(page: Client, calls: list[api_reference.Operation]) -> None:
    answer = page.get("/llms.txt")
    text = answer.body.decode()
    assert text.startswith("# finapi\n\n> ")
    links = re.findall(r"\]\(http://x(/[^)]+)\)", text)
    assert len(links) == len(docs.GUIDES) + 1 + len(calls)
    assert page.get("/docs/api/get_xbrl_timeseries.md").status == 200
    assert "/docs/api/get_xbrl_timeseries.md" in links


def test_the_documentation_is_there_wherever_pages_are_for(make_app: Any) -> None:
    for pages in ("members", "off"):
        client = Client(make_app(pages=pages))
        assert [client.get(path).status for path in ("/docs", "/docs/errors", "/llms.txt")] == [200] * 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A `b`", "<h1>A <code>b</code></h1>"),
        ("## Two words", '<h2 id="two-words">Two words</h2>'),
        ("a **b** [c](/d) [e](javascript:x) [f](//g)", '<p>a <strong>b</strong> <a href="/d">c</a> e f</p>'),
        ("- a\n  b\n- c", "<ul><li>a b</li><li>c</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("```js\n<b>\n```", '<pre tabindex="0" data-language="js"><code>&lt;b&gt;</code></pre>'),
        ("<img src=x onerror=y>", "<p>&lt;img src=x onerror=y&gt;</p>"),
    ],
)
def test_markdown_is_html_of_a_few_forms(text: str, shown: str) -> None:
    assert render_markdown(text) == shown


def test_a_table_of_markdown_keeps_its_bars() -> None:
    made = render_markdown("| a | b |\n|---|---|\n| `x\\|y` | 2 |")
    assert [[unescape(one) for one in row] for row in rows_of(made)] == [["a", "b"], ["x|y", "2"]]


def test_the_plans_say_what_a_call_costs_and_how_many_there_may_be(page: Client) -> None:
    rows = rows_of(text_of(page, "/plans"))
    assert ["xbrl", "120", "60"] in rows
    assert ["app", "60", "60"] in rows
    assert ["app", "1,000", "3,600"] in rows
    assert 'id="limits"' in text_of(page, "/plans")
