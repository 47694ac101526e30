"""A public URL with a path: every link, form, file, redirect and cookie of an answer leads below this path."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from finapi.app import App
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.web.http.public_path import check_public_path, prefix_headers, prefix_markdown, prefix_page
from finapi.web.routes import ROUTES
from tests.client import Client, sign_up
from tests.conftest import ACCOUNTS
from tests.support.html_pages import Visitor

URL = "https://example.com/finapi"
PAGES = (
    "/",
    "/company/MRVL",
    "/company/AAPL/statements",
    "/company/MRVL/filings",
    "/filings",
    "/search?q=marvell",
    "/screen",
    "/claims",
    "/status",
    "/plans",
    "/docs",
    "/docs/webhooks",
    "/docs/api/get_xbrl_timeseries",
    "/integrations/mcp",
    "/changelog",
    "/login",
    "/register",
    "/forgot",
)
PATH = re.compile(rb'(?: href| src| action| formaction| data-from)="(/[^"]*)"')


@pytest.fixture
def visitor(demo: App) -> Client:
    """A client of the demo at the address of a folder."""
    return Client(replace(demo, config=replace(demo.config, public_url=URL), static_bodies={}))


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_below_the_public_path(visitor: Client, browser: Client, path: str) -> None:
    answer = visitor.get(path)
    assert answer.status == (503 if path == "/status" else 200)
    paths = PATH.findall(answer.body)
    assert paths == [b"/finapi" + link for link in PATH.findall(browser.get(path).body)]
    assert len(paths) > 10


def test_pages_of_errors_lead_below_the_public_path(visitor: Client) -> None:
    answer = visitor.get("/company/NONE", headers={"Accept": "text/html"})
    assert answer.status == 404
    assert {link[:8] for link in PATH.findall(answer.body)} == {b"/finapi/"}


def test_programs_and_scripts_receive_the_public_path(visitor: Client) -> None:
    assert visitor.get("/openapi.json").json["servers"] == [{"url": URL}]
    assert visitor.get("/search.json?q=marvell").json["companies"][0]["url"] == "/finapi/company/MRVL"
    newest = visitor.get("/newest.json").json["filings"][0]
    assert newest["page"].startswith("/finapi/filing/0")
    assert newest["filer_page"].startswith("/finapi/company/0")
    assert f"<id>{URL}/filings.atom</id>" in visitor.get("/filings.atom").body.decode()
    assert f"{URL}/" in visitor.get("/status.rss").body.decode()
    assert f"]({URL}/docs/webhooks.md)" in visitor.get("/llms.txt").body.decode()
    assert b"Disallow: /finapi/api/\n" in visitor.get("/robots.txt").body
    policy = visitor.get("/api/v1/policy").json["data"]
    assert policy["versioning"]["spec_url"] == policy["tooling"]["openapi_spec_url"] == "/finapi/openapi.json"
    assert policy["websocket"]["transport"] == URL
    guide = visitor.get("/docs/webhooks.md").body.decode()
    assert "(/finapi/docs/api/post_sniper_targets)" in guide
    assert "](/docs/" not in guide
    page = visitor.get("/docs/api/get_xbrl_timeseries").body.decode()
    assert re.search('<input id="try-target" value="/finapi/api/v1/xbrl/timeseries[?]', page)
    assert visitor.get("/nowhere").json["details"]["docs"] == f"{URL}/openapi.json"
    assert "new URL(`../search.json?q=" in visitor.get("/static/search.js").body.decode()


@pytest.mark.parametrize(
    ("public_url", "cookie"),
    [
        (
            "https://example.com/finapi",
            "__Secure-finapi={}; Path=/finapi; Max-Age=3600; HttpOnly; SameSite=Strict; Secure",
        ),
        ("http://example.com/a/b", "finapi={}; Path=/a/b; Max-Age=3600; HttpOnly; SameSite=Strict"),
    ],
)
def test_the_session_cookie_and_redirects_have_the_public_path(
    make_app: Callable[..., App], public_url: str, cookie: str
) -> None:
    app = make_app(**{**ACCOUNTS, "public_url": public_url, "frontend_url": ""}, pages_per_minute=100_000)
    sign_up(Client(app))
    visitor = Visitor(app)
    answer = visitor.sign_in()
    public_path = app.config.public_path
    assert (answer.status, answer.headers["location"]) == (303, f"{public_path}/account")
    assert re.fullmatch(re.escape(cookie).replace(r"\{\}", "[A-Za-z0-9_.-]+"), answer.headers["set-cookie"])
    assert visitor.get("/account").status == 200
    assert visitor.get("/login").headers["location"] == f"{public_path}/account"
    assert f'action="{public_path}/logout"' in visitor.get("/account").body.decode()
    answer = visitor.get("/api/v1/auth/verifyPasswordLink?token=x")
    assert answer.headers["location"] == f"{public_url}/reset-password?token=x"


def test_texts_and_addresses_of_other_hosts_are_unchanged() -> None:
    page = (
        b'<p title=\'x\'>href="/a" &lt;a href="/b"&gt;</p><a class="c" href="//other/d">e</a><a href="f">g</a>'
        b'<input value="/h"><a href="#i">j</a><a href="https://k/l">m</a>'
    )
    assert prefix_page(page, "/finapi") == page
    assert prefix_page(b'<a class="c" href="/">a</a>', "/finapi") == b'<a class="c" href="/finapi/">a</a>'
    assert prefix_page(b'<a href="/">a</a>', "") == b'<a href="/">a</a>'
    assert prefix_markdown("[a](/b) [c](https://d/e) [f](//g)", "/h") == "[a](/h/b) [c](https://d/e) [f](//g)"
    headers = {"Location": "https://a/b", "Link": '<https://c/d>; rel="x", </e>; rel="y"'}
    prefix_headers(headers, "/finapi")
    assert headers == {
        "Location": "https://a/b",
        "Link": '<https://c/d>; rel="x", </finapi/e>; rel="y"',
    }


@pytest.mark.parametrize("public_path", ["/api", "/docs/finapi", "/static", "/ws"])
def test_a_public_path_like_a_path_of_finapi_is_refused(public_path: str) -> None:
    with pytest.raises(UsageError, match="must not begin like a path of finapi itself: " + public_path):
        check_public_path(public_path, [*(route.path for route in ROUTES), "/ws/main-api"])
    check_public_path("/finapi", [route.path for route in ROUTES])
    check_public_path("", [route.path for route in ROUTES])


@pytest.mark.parametrize(
    "url",
    ["http://a/b c", "http://a/b;c", "http://a//b", "http://a/b?c=d", "http://a/b#c", "http://a?b", "http://a/%2e"],
)
def test_other_paths_of_the_public_url_are_refused(url: str) -> None:
    with pytest.raises(UsageError, match="setting public_url: "):
        Config(public_url=url)
    assert Config(public_url="http://a/b-c/~d").public_path == "/b-c/~d"
    assert Config(public_url="http://a").public_path == Config().public_path == ""
