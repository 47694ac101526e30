"""The documentation: the index, guides, the reference of every call, examples that work, llms.txt."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.demo import DEMO_KEY
from finapi.web.pages.docs import api_reference, docs_pages
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.support.case_tables import run_each_case
from tests.support.html_pages import HTML, NOW, get_page, parse_rows
from tests.support.slow_cases import slow_except_every

# Calls whose example finds nothing in the demo's data, with the status of the response.
EXPECTED_FAILURES = {
    "/api/v1/auth/verifyEmail": 400,  # The example's token was not mailed.
    "/api/v1/sec/filings/{accession_number}/documents/{document}": 404,
    "/api/v1/status": 503,  # No watchdog runs in tests.
    # The demo has no N-PORT reports, and no schedules 13D or 13G.
    "/api/v1/nport/funds/{ticker}/holdings": 404,
    "/api/v1/nport/{accession}": 404,
    "/api/v1/nport/{accession}/changes": 404,
    "/api/v1/nport/{accession}/holdings": 404,
    "/api/v1/ownership/beneficial-ownership/filers/{cik}/portfolio": 404,
    "/api/v1/ownership/beneficial-ownership/filings/{accession}": 404,
    "/api/v1/ownership/beneficial-ownership/issuers/{cik}/summary": 404,
}


@pytest.fixture(scope="module")
def document(demo: App) -> Any:
    return Client(demo).get("/openapi.json").json


@pytest.fixture(scope="module")
def calls(demo: App, document: Any) -> list[api_reference.Operation]:
    class CallWithRoutes:
        routes = ROUTES

    return [*api_reference.index_operations(CallWithRoutes(), document).values()]  # type: ignore[arg-type]


def test_the_index_lists_every_call(browser: Client, calls: list[api_reference.Operation]) -> None:
    body = get_page(browser, "/docs")
    assert {operation.path for operation in calls} == {route.path for route in ROUTES if not route.page}
    for operation in calls:
        assert f'<a href="/docs/api/{operation.id}">{operation.definition["summary"]}'.replace("'", "&#x27;")[
            :40
        ] in body.replace("'", "&#x27;")
    assert len(body) < 37_000
    # A heading is the first sentence of the tag's description.
    assert "<h2>Insiders: transactions, holdings, forms<small> <code>insiders</code></small></h2>" in body


def test_the_reference_lists_parameters_cost_and_errors(browser: Client) -> None:
    body = get_page(browser, "/docs/api/get_xbrl_proof")
    rows = {row[0]: row[1:] for row in parse_rows(body) if row}
    assert "Cost: 10 tokens" in body
    assert rows["metric (required)"] == ["query", "string", "Key of a metric, derived figure or ratio."]
    assert rows["basis"][2].endswith("One of latest, original. Default latest.")
    assert rows["data.cell.value"][0] == "number or null"
    assert rows["402"] == ["too few tokens"]
    assert "<code>GET /api/v1/xbrl/proof</code>" in body
    assert '<form id="try" hidden data-method="GET">' in body
    # A reader sees the call before its parameters, and an example of the answer before its members.
    headings = ["Call it", "Parameters", "Answer", "Errors"]
    assert [title for title in re.findall("<h2[^>]*>([^<]+)</h2>", body) if title in headings] == headings
    answer = body.partition(">Answer</h2>")[2]
    assert answer.index("<pre") < answer.index("<table")


def test_the_examples_of_all_calls_work_on_the_demo(browser: Client, calls: list[api_reference.Operation]) -> None:
    user = users.create(browser.app, "docs@example.com", "pro", NOW)
    failures = {}
    for operation in calls:
        needs_key = any("key" in choice for choice in operation.definition["security"])
        if operation.method == "GET" and (needs_key or not operation.definition["security"]):
            target, _ = api_reference.build_example_call(operation)
            browser.app.limiters["app"].restore({})  # There are more calls than the limit of a minute.
            status = browser.get(target, headers={"X-API-Key": user.api_key}).status
            if status not in (200, 302):
                failures[operation.path] = status
    assert failures == EXPECTED_FAILURES


def test_snippets_are_valid_shell_python_and_javascript(browser: Client) -> None:
    text = get_page(browser, "/docs/api/post_cusip_batch.md")
    assert "-d '{\"cusips\": [\"037833100\"]}' \\\n  'http://x/api/v1/cusip/batch'" in text
    python = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert python is not None
    compile(python[1], "snippet", "exec")
    assert 'body": JSON.stringify({"cusips": ["037833100"]})' in text


def test_docs_of_a_demo_show_its_own_key(browser: Client) -> None:
    browser.app.static_bodies[DEMO_KEY] = b"0123"
    try:
        with browser.app.db.write() as tx:
            tx.run("bump_data_version")
        assert "X-API-Key: 0123" in get_page(browser, "/docs/first-call")
        assert "X-API-Key: 0123" in get_page(browser, "/docs/api/get_xbrl_timeseries.md")
    finally:
        del browser.app.static_bodies[DEMO_KEY]
        with browser.app.db.write() as tx:
            tx.run("bump_data_version")


# Guides whose first call shows an error, with its status.
REFUSED_FIRST_CALLS = {"errors": 400, "testing": 404}


def test_every_guide_begins_with_a_call_that_works(browser: Client) -> None:
    key = users.create(browser.app, "guides@example.com", "pro", NOW).api_key
    for name in docs_pages.GUIDES:
        text = get_page(browser, f"/docs/{name}.md")
        match = re.match(r"# [^\n]+\n\n```sh\ncurl -s -H 'X-API-Key: YOUR_KEY' \\?\s*'http://x(/[^']+)'\n```", text)
        assert match is not None, name
        assert "127.0.0.1" not in text, name
        answer = browser.get(match[1], headers={"X-API-Key": key})
        assert answer.status == REFUSED_FIRST_CALLS.get(name, 200), (name, answer)
        if name == "errors":
            # The answer in the guide is the answer of this call.
            example = json.loads(re.search(r"```json\n(.*?)```", text, re.DOTALL)[1])  # type: ignore[index]
            assert (answer.json["message"], answer.json["details"]) == (example["message"], example["details"])


@pytest.mark.parametrize("name", slow_except_every(4, docs_pages.GUIDES))
def test_every_guide_is_a_page_and_markdown(browser: Client, name: str) -> None:
    body, answer = get_page(browser, f"/docs/{name}"), browser.get(f"/docs/{name}.md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    title, text = answer.body.decode().removeprefix("# ").split("\n", 1)
    assert f"<h1>{title}</h1>" in body
    assert "http://127.0.0.1:8000" not in body
    assert "```" not in body
    # The links of a guide work.
    for path in re.findall(r"\]\((/[^)#]*)", text):
        assert browser.get(path, headers=HTML).status == 200, path
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        json.loads(block)


@run_each_case("path", ["/docs/nothing", "/docs/..%2FCHANGELOG.md", "/docs/api/nothing", "/docs/api/.md"])
def test_an_unknown_guide_returns_404(browser: Client, path: str) -> None:
    assert get_page(browser, path, 404)


def test_the_docs_search_requires_all_words(browser: Client) -> None:
    body = get_page(browser, "/docs?q=signature+retried")
    assert '<a href="/docs/webhooks">' in body
    assert "/docs/metering" not in body
    assert "No guide and no call contains all of these words." in get_page(browser, "/docs?q=zzzz")
    assert "<script>" not in get_page(browser, "/docs?q=%3Cscript%3E")


def test_llms_txt_links_every_guide_and_call(browser: Client, calls: list[api_reference.Operation]) -> None:
    answer = browser.get("/llms.txt")
    text = answer.body.decode()
    assert text.startswith("# finapi\n\n> ")
    links = re.findall(r"\]\(http://x(/[^)]+)\)", text)
    assert len(links) == len(docs_pages.GUIDES) + 1 + len(calls)
    assert browser.get("/docs/api/get_xbrl_timeseries.md").status == 200
    assert "/docs/api/get_xbrl_timeseries.md" in links


def test_the_documentation_does_not_depend_on_the_pages_setting(make_app: Any) -> None:
    for pages in ("members", "off"):
        client = Client(make_app(pages=pages))
        assert [client.get(path).status for path in ("/docs", "/docs/errors", "/llms.txt")] == [200] * 3
