"""Access to pages of data: settings, caching and limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.market.statements import company_coverage
from tests.client import Client, sign_up
from tests.support.html_pages import HTML, Visitor

MakeApp = Callable[..., App]


@pytest.fixture
def public(make_app: MakeApp) -> Client:
    return Client(make_app(pages="public"))


def test_visitors_see_data_if_pages_are_public(public: Client) -> None:
    assert public.get("/search?q=apple").status == 200


def test_visitors_of_member_pages_get_the_login_page(make_app: MakeApp) -> None:
    answer = Client(make_app()).get("/search?q=apple")
    assert (answer.status, b"<h1>Sign in</h1>" in answer.body) == (401, True)
    assert b'<input type="hidden" name="next" value="/search?q=apple">' in answer.body


def test_data_pages_return_404_if_pages_are_off(make_app: MakeApp) -> None:
    client = Client(make_app(pages="off"))
    assert client.get("/search?q=apple").status == 404
    assert b'action="/search"' not in client.get("/").body
    assert client.get("/plans").status == 200


def test_an_unchanged_page_returns_304(public: Client) -> None:
    answer = public.get("/search?q=apple")
    again = public.get("/search?q=apple", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    assert public.get("/search?q=pear").headers["etag"] != answer.headers["etag"]


def test_browsers_store_public_pages_but_no_member_pages(make_app: MakeApp, public: Client) -> None:
    assert public.get("/search?q=apple").headers["cache-control"] == "private, no-cache"
    app = make_app()
    sign_up(Client(app))
    member = Visitor(app)
    member.sign_in()
    page = member.get("/search?q=apple")
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")


def test_a_public_page_is_cached_until_the_data_change(public: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[Any] = []
    search_companies = company_coverage.search_companies

    def count_search(*args: Any) -> Any:
        searches.append(args)
        return search_companies(*args)

    monkeypatch.setattr(company_coverage, "search_companies", count_search)
    for _ in range(2):
        assert public.get("/search?q=apple").status == 200
    assert len(searches) == 1
    with public.app.db.write() as tx:
        tx.run("bump_data_version")
    public.get("/search?q=apple")
    assert len(searches) == 2


def test_pages_have_their_own_rate_limit(make_app: MakeApp) -> None:
    client = Client(make_app(pages="public", pages_per_minute=2))
    answers = [client.get("/plans", headers=HTML) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert b"<h1>Too many requests</h1>" in answers[2].body
    assert answers[2].headers["retry-after"] == "30"
    # Neither the calls of the API nor what pages load are counted with them.
    assert client.get("/api/v1/policy").status == 200
    assert client.get("/static/style.css").status == 200


def test_an_api_key_does_not_sign_in(make_app: MakeApp, user: NewUser) -> None:
    assert Client(make_app(), user.api_key).get("/search?q=apple").status == 401
