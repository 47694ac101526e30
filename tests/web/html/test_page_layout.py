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


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/no/such/page", "finapi has nothing at /no/such/page; see "),
        ("/static/no.css", "There is no file no.css in /static."),
        ("/docs/no-guide", "There is no guide no-guide; the guides are first-call, metering,"),
        ("/docs/api/get_no", "There is no call get_no; "),
        ("/company/AAPL/proof/revenue/X", "There is no figure revenue for X. A figure is a metric with a period"),
    ],
)
def test_an_unknown_page_says_what_is_missing_and_where_to_go(public: Client, path: str, message: str) -> None:
    body = public.get(path, headers=HTML).body.decode()
    assert f'<p role="alert">{message}' in body
    assert '<a href="/docs">documentation</a>' in body


def test_the_message_repeats_only_the_start_of_a_long_path(public: Client) -> None:
    body = public.get("/<b>" + "x" * 300, headers=HTML).body.decode()
    start = body.partition("finapi has nothing at ")[2].partition("; see")[0]
    assert (len(start.replace("&lt;", "<").replace("&gt;", ">")), "<" in start) == (100, False)


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
