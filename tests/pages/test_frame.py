"""The frame of the pages: static files, errors, who sees what, limits, and what programs look for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.web.html import static_files
from tests.client import Client

HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}

MakeApp = Callable[..., App]


@pytest.fixture
def public(make_app: MakeApp) -> Client:
    return Client(make_app(pages="public"))


# ---- errors


@pytest.mark.parametrize("path", ["/nope", "/api/v1/nope", "/company/", "/static/none.css", "/%ff"])
def test_a_browser_is_told_of_an_error_by_a_page_with_a_search(public: Client, path: str) -> None:
    answer = public.get(path, headers=HTML)
    assert answer.status in (400, 404)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    text = answer.body.decode()
    assert text.count('<form action="/search"') == 1
    assert text.count('id="q"') == 1
    assert 'role="alert"' in text
    assert answer.headers["x-request-id"] in text


@pytest.mark.parametrize("accept", ["application/json", "*/*", "", "text/html;q=0.5, application/json"])
def test_a_program_is_told_of_it_in_json(public: Client, accept: str) -> None:
    answer = public.get("/nope", headers={"Accept": accept})
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_an_error_keeps_its_status_and_headers(public: Client) -> None:
    answer = public.get("/api/v1/xbrl/timeseries", headers=HTML)
    assert (answer.status, "www-authenticate" in answer.headers) == (401, True)
    answer = public.call("POST", "/status", headers=HTML)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_a_page_of_an_error_shows_what_was_asked_for_as_text(public: Client) -> None:
    answer = public.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E", headers=HTML)
    assert "<script>alert" not in answer.body.decode()
    assert "Found for &lt;script&gt;" in answer.body.decode()


def test_a_page_that_is_asked_for_again_keeps_its_policy(public: Client) -> None:
    answer = public.get("/filings", headers=HTML)
    assert "style-src 'self'" in answer.headers["content-security-policy"]
    again = public.get("/filings", headers={**HTML, "If-None-Match": answer.headers["etag"]})
    # A browser takes the headers of a 304 in place of those that it kept.
    assert (again.status, again.headers.get("content-security-policy")) == (304, None)


# ---- static files


@pytest.mark.parametrize("name", ["style.css", "search.js", "favicon.svg"])
def test_a_static_file_is_kept_for_ever_under_the_address_of_its_content(public: Client, name: str) -> None:
    answer = public.get(static_files.get_static_url(name))
    assert (answer.status, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert answer.headers["content-type"] == static_files.CONTENT_TYPES[name.rpartition(".")[2]]
    assert public.get(f"/static/{name}").headers["cache-control"] == "public, max-age=3600"
    again = public.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


def test_the_icon_is_found_where_browsers_look_for_it(public: Client) -> None:
    answer = public.get("/favicon.ico")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.body == public.get(static_files.get_static_url("favicon.svg")).body


@pytest.mark.parametrize("name", ["..%2Ftags.py", "tags.py", "", ".", "style.css%00"])
def test_nothing_else_is_served_as_a_static_file(public: Client, name: str) -> None:
    assert public.get(f"/static/{name}").status in (400, 404)


def test_our_scripts_are_small() -> None:
    scripts = [one for name, one in static_files.load_static_files().items() if name.endswith(".js")]
    assert sum(len(one.body) for one in scripts) <= 20 * 1024


def test_a_page_names_its_static_files_by_their_content(public: Client) -> None:
    named = re.findall(r'(?:href|src)="(/static/[^"]+)"', public.get("/").body.decode())
    assert named == [
        static_files.get_static_url(name) for name in ("style.css", "favicon.svg", "search.js", "copy.js", "live.js")
    ]


# ---- who sees what


def test_strangers_see_data_where_pages_are_public(public: Client) -> None:
    assert public.get("/search?q=apple").status == 200


def test_strangers_are_told_how_to_become_members(make_app: MakeApp) -> None:
    answer = Client(make_app()).get("/search?q=apple")
    assert (answer.status, b"<h1>Sign in</h1>" in answer.body) == (401, True)
    assert b'<input type="hidden" name="next" value="/search?q=apple">' in answer.body


def test_nobody_sees_data_where_pages_are_off(make_app: MakeApp) -> None:
    client = Client(make_app(pages="off"))
    assert client.get("/search?q=apple").status == 404
    assert b'action="/search"' not in client.get("/").body
    assert client.get("/plans").status == 200


def test_a_page_is_asked_for_again_for_nothing(public: Client) -> None:
    answer = public.get("/search?q=apple")
    again = public.get("/search?q=apple", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    assert public.get("/search?q=pear").headers["etag"] != answer.headers["etag"]


def test_a_page_is_made_once_while_the_data_stand(public: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from finapi.web.pages import search_page

    made: list[Any] = []
    found = search_page.company_coverage.search_companies
    monkeypatch.setattr(
        search_page.company_coverage, "search_companies", lambda *args: made.append(args) or found(*args)
    )
    for _ in range(2):
        assert public.get("/search?q=apple").status == 200
    assert len(made) == 1
    with public.app.db.write() as tx:
        tx.run("bump_data_version")
    public.get("/search?q=apple")
    assert len(made) == 2


def test_pages_have_a_limit_of_their_own(make_app: MakeApp) -> None:
    client = Client(make_app(pages="public", pages_per_minute=2))
    answers = [client.get("/plans", headers=HTML) for _ in range(3)]
    assert [one.status for one in answers] == [200, 200, 429]
    assert b"<h1>Too many requests</h1>" in answers[2].body
    assert answers[2].headers["retry-after"] == "30"
    # Neither the calls of the API nor what pages load are counted with them.
    assert client.get("/api/v1/policy").status == 200
    assert client.get("/static/style.css").status == 200


# ---- what programs look for


def test_crawlers_read_pages_that_are_public_and_never_the_api(make_app: MakeApp) -> None:
    assert Client(make_app(pages="public")).get("/robots.txt").body == b"User-agent: *\nDisallow: /api/\n"
    assert Client(make_app()).get("/robots.txt").body == b"User-agent: *\nDisallow: /\n"


def test_security_txt_names_a_contact_and_when_to_ask_again(make_app: MakeApp) -> None:
    address = {"public_url": "https://api.example.com"}
    answer = Client(make_app(**address, mail_from="Ann <ann@example.com>")).get("/.well-known/security.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode().splitlines() == [
        "Contact: mailto:ann@example.com",
        "Expires: 2026-05-01T12:00:00.000Z",
        "Preferred-Languages: en",
        "Canonical: https://api.example.com/.well-known/security.txt",
    ]
    client = Client(make_app(security_contact="https://example.com/report"))
    assert b"Contact: https://example.com/report\n" in client.get("/.well-known/security.txt").body


def test_a_key_signs_nobody_in(make_app: MakeApp, user: NewUser) -> None:
    assert Client(make_app(), user.api_key).get("/search?q=apple").status == 401


def test_a_browser_sends_the_origin_of_its_own_forms_and_nothing_to_other_hosts(public: Client) -> None:
    # Fetch, "append a request Origin header": with no-referrer the origin of a POST is "null", which no form may have.
    assert public.get("/login", headers=HTML).headers["referrer-policy"] == "same-origin"
