"""The front page, the search and the page of a company, over the demo's data."""

from __future__ import annotations

import re

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.tickers import TickerRow
from finapi.market.filings import lists
from finapi.market.reference import companies
from finapi.web.pages import front_page
from tests.client import Client
from tests.pages.conftest import NOW, rows_of, text_of

# ---- the front page


def test_the_front_page_says_what_is_held(page: Client) -> None:
    held = re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", text_of(page, "/"))
    counts = page.get("/api/v1/financials/status").json["data"]["counts"]
    assert [int(number.replace(",", "")) for _, number in held] == list(counts.values())
    assert [said for said, _ in held][:3] == ["companies", "filings", "figures"]
    assert "Last filing ingested on 2026-01-31 12:00 UTC." in text_of(page, "/")


def test_the_newest_filings_stand_on_the_page_and_in_its_document(page: Client) -> None:
    filings = page.get("/newest.json").json["filings"]
    assert len(filings) == front_page.MAX_NEWEST
    assert [one["filed"] for one in filings] == sorted((one["filed"] for one in filings), reverse=True)
    shown = re.findall(
        r'<tr><td><time datetime="([^"]+)">.*?</time></td><td><a href="([^"]+)">([^<]*)</a>', text_of(page, "/")
    )
    assert shown == [(one["filed"], one["page"], one["form"]) for one in filings]


def test_the_document_is_asked_for_again_for_nothing_until_something_comes_in(page: Client) -> None:
    tag = page.get("/newest.json").headers["etag"]
    assert page.get("/newest.json", headers={"If-None-Match": tag}).status == 304
    with page.app.db.write() as tx:
        tx.run("bump_data_version")
    assert page.get("/newest.json", headers={"If-None-Match": tag}).status == 200


def test_calls_carry_the_key_of_the_demo_and_nobody_elses(page: Client) -> None:
    assert text_of(page, "/").count("YOUR_KEY") == 3
    page.app.static_bodies[front_page.DEMO_KEY] = b"0123"
    try:
        assert text_of(page, "/").count("X-API-Key: 0123") == 3
    finally:
        del page.app.static_bodies[front_page.DEMO_KEY]


def test_a_host_for_members_shows_neither_filings_nor_a_key_to_strangers(demo: App) -> None:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    app.static_bodies[front_page.DEMO_KEY] = b"0123"
    body = text_of(Client(app), "/")
    assert "0123" not in body
    assert "Newest filings" not in body
    assert Client(app).get("/newest.json").status == 401
    app.db.close()


# ---- the search


def test_of_companies_alike_the_largest_comes_first(page: Client) -> None:
    listed = [
        TickerRow("0000320193", "AAPL", "Apple Inc.", None),
        TickerRow("0001418121", "APLE", "Apple Hospitality", None),
    ]
    try:
        with page.app.db.write() as tx:
            lists.upsert_company_tickers(tx, listed)
            companies.upsert_name(tx, 7, "Apple Farms", companies.FROM_COVER, "")
            companies.insert_former_name(tx, 1065280, "Apple Discs", None, None)
            tx.run("bump_data_version")
            # The same list again changes nothing.
            assert lists.upsert_company_tickers(tx, listed) is False
        found = [one["company"] for one in page.get("/search.json?q=apple").json["companies"]]
        # By its former name last of all.
        assert found == ["Apple Inc.", "Apple Hospitality", "Apple Farms", "Netflix, Inc."]
        found = [one["ticker"] for one in page.get("/search.json?q=aple").json["companies"]]
        assert found == ["APLE"]
    finally:
        with page.app.db.write() as tx:
            tx._connection.execute("UPDATE companies SET list_place = NULL")
            tx._connection.execute("DELETE FROM former_names WHERE cik = 1065280")
            tx.run("bump_data_version")


def test_the_search_works_without_a_script(page: Client) -> None:
    assert '<a href="/company/AAPL">Apple Inc.</a>' in text_of(page, "/search?q=320193")
    assert "No company, fund or insider has or had this" in text_of(page, "/search?q=zzzz")
    assert "<h1>Search</h1>" in text_of(page, "/search?q=")


def test_the_search_finds_funds_and_insiders_and_no_person_as_a_company(page: Client) -> None:
    body = text_of(page, "/search?q=berkshire")
    assert rows_of(body) == [
        ["Company", "Ticker", "CIK"],
        ["Berkshire Hathaway Inc", "", "0001067983"],
        ["Fund", "CIK"],
        ["Berkshire Hathaway Inc", "0001067983"],
        ["Insider", "Company", "CIK"],
        ["BERKSHIRE HATHAWAY INC", "SNOWFLAKE INC.", "0001067983"],
    ]
    assert {'href="/fund/0001067983"', 'href="/insider/0001067983"'} <= set(re.findall(r'href="[^"]+"', body))
    assert rows_of(text_of(page, "/search?q=adams")) == [
        ["Insider", "Company", "CIK"],
        ["Adams Katherine L.", "Apple Inc.", "0001462356"],
    ]


# ---- a company


@pytest.mark.parametrize(("path", "status"), [("/company/ZZZZ", 404), ("/company/%3Cb%3E", 400), ("/company/99", 404)])
def test_what_is_no_company_is_a_page_with_a_search(page: Client, path: str, status: int) -> None:
    answer = page.get(path, headers={"Accept": "text/html"})
    assert (answer.status, b'action="/search"' in answer.body) == (status, True)


def test_pages_weigh_little(page: Client) -> None:
    assert len(text_of(page, "/")) < 30_000
    assert len(text_of(page, "/company/AAPL")) < 100_000
