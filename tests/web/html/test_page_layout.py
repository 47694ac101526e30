"""The layout of pages: error pages and security headers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from finapi.app import App
from tests.client import Client
from tests.support.case_tables import run_each_case
from tests.support.html_pages import HTML

MakeApp = Callable[..., App]


@pytest.fixture
def public(make_app: MakeApp) -> Client:
    return Client(make_app(pages="public"))


@run_each_case("path", ["/nope", "/api/v1/nope", "/company/", "/static/none.css", "/%ff"])
def test_a_browser_gets_an_error_page_with_a_search(public: Client, path: str) -> None:
    answer = public.get(path, headers=HTML)
    assert answer.status in (400, 404)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    text = answer.body.decode()
    assert text.count('<form action="/search"') == 1
    assert text.count('id="q"') == 1
    assert 'role="alert"' in text
    assert answer.headers["x-request-id"] in text


@run_each_case("accept", ["application/json", "*/*", "", "text/html;q=0.5, application/json"])
def test_a_program_gets_errors_as_json(public: Client, accept: str) -> None:
    answer = public.get("/nope", headers={"Accept": accept})
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_an_error_keeps_its_status_and_headers(public: Client) -> None:
    answer = public.get("/api/v1/xbrl/timeseries", headers=HTML)
    assert (answer.status, "www-authenticate" in answer.headers) == (401, True)
    answer = public.call("POST", "/status", headers=HTML)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_the_searched_text_is_escaped(public: Client) -> None:
    answer = public.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E", headers=HTML)
    assert "<script>alert" not in answer.body.decode()
    assert "No results for &lt;script&gt;" in answer.body.decode()


def test_a_304_does_not_replace_the_policy(public: Client) -> None:
    answer = public.get("/filings", headers=HTML)
    assert "style-src 'self'" in answer.headers["content-security-policy"]
    again = public.get("/filings", headers={**HTML, "If-None-Match": answer.headers["etag"]})
    # A browser takes the headers of a 304 in place of those that it kept.
    assert (again.status, again.headers.get("content-security-policy")) == (304, None)


def test_the_referrer_policy_keeps_the_origin_of_own_forms(public: Client) -> None:
    # Fetch, "append a request Origin header": with no-referrer the origin of a POST is "null", which no form may have.
    assert public.get("/login", headers=HTML).headers["referrer-policy"] == "same-origin"
