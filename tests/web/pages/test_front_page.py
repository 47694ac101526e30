"""The front page and the search, over the demo's data."""

from __future__ import annotations

import re

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.tickers import TickerRow
from finapi.market.demo import DEMO_KEY
from finapi.market.filings import lists
from finapi.market.reference import companies
from finapi.web.pages import front_page
from tests.client import Client
from tests.support.html_pages import NOW, get_page, parse_rows
from tests.support.raw_sql import run_sql

# ---- the front page


def test_the_front_page_shows_stored_counts(browser: Client) -> None:
    counts_on_page = re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", get_page(browser, "/"))
    counts = browser.get("/api/v1/financials/status").json["data"]["counts"]
    assert [int(number.replace(",", "")) for _, number in counts_on_page] == list(counts.values())
    assert [label for label, _ in counts_on_page][:3] == ["companies", "filings", "figures"]
    assert "Last filing ingested on 2026-01-31 12:00 UTC." in get_page(browser, "/")


def test_newest_filings_are_the_same_on_the_page_and_as_json(browser: Client) -> None:
    filings = browser.get("/newest.json").json["filings"]
    assert len(filings) == front_page.MAX_NEWEST
    assert [filing["filed"] for filing in filings] == sorted((filing["filed"] for filing in filings), reverse=True)
    rows = re.findall(
        r'<tr><td><time datetime="([^"]+)">.*?</time></td><td><a href="([^"]+)">([^<]*)</a>', get_page(browser, "/")
    )
    assert rows == [(filing["filed"], filing["page"], filing["form"]) for filing in filings]


def test_newest_filings_return_304_until_the_data_change(browser: Client) -> None:
    tag = browser.get("/newest.json").headers["etag"]
    assert browser.get("/newest.json", headers={"If-None-Match": tag}).status == 304
    with browser.app.db.write() as tx:
        tx.run("bump_data_version")
    assert browser.get("/newest.json", headers={"If-None-Match": tag}).status == 200


def test_example_calls_have_the_key_of_the_demo(browser: Client) -> None:
    assert get_page(browser, "/").count("YOUR_KEY") == 3
    browser.app.static_bodies[DEMO_KEY] = b"0123"
    try:
        assert get_page(browser, "/").count("X-API-Key: 0123") == 3
    finally:
        del browser.app.static_bodies[DEMO_KEY]


def test_member_pages_hide_filings_and_key_from_visitors(demo: App) -> None:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    app.static_bodies[DEMO_KEY] = b"0123"
    body = get_page(Client(app), "/")
    assert "0123" not in body
    assert "Newest filings" not in body
    assert Client(app).get("/newest.json").status == 401
    app.db.close()


# ---- the search


def test_the_largest_of_similar_companies_comes_first(browser: Client) -> None:
    ticker_rows = [
        TickerRow("0000320193", "AAPL", "Apple Inc.", None),
        TickerRow("0001418121", "APLE", "Apple Hospitality", None),
    ]
    try:
        with browser.app.db.write() as tx:
            lists.upsert_company_tickers(tx, ticker_rows)
            companies.upsert_name(tx, 7, "Apple Farms", companies.FROM_COVER, "")
            companies.insert_former_name(tx, 1065280, "Apple Discs", None, None)
            tx.run("bump_data_version")
            # Storing the same list again changes nothing.
            assert lists.upsert_company_tickers(tx, ticker_rows) is False
        names = [company["company"] for company in browser.get("/search.json?q=apple").json["companies"]]
        # A match by a former name comes last.
        assert names == ["Apple Inc.", "Apple Hospitality", "Apple Farms", "Netflix, Inc."]
        tickers = [company["ticker"] for company in browser.get("/search.json?q=aple").json["companies"]]
        assert tickers == ["APLE"]
    finally:
        with browser.app.db.write() as tx:
            run_sql(tx, "UPDATE companies SET list_place = NULL")
            run_sql(tx, "DELETE FROM former_names WHERE cik = 1065280")
            tx.run("bump_data_version")


def test_the_search_works_without_a_script(browser: Client) -> None:
    assert '<a href="/company/AAPL">Apple Inc.</a>' in get_page(browser, "/search?q=320193")
    assert "No company, fund or insider has or had this" in get_page(browser, "/search?q=zzzz")
    assert "<h1>Search</h1>" in get_page(browser, "/search?q=")


def test_search_lists_people_only_as_insiders(browser: Client) -> None:
    body = get_page(browser, "/search?q=berkshire")
    assert parse_rows(body) == [
        ["Company", "Ticker", "CIK"],
        ["Berkshire Hathaway Inc", "", "0001067983"],
        ["Fund", "CIK"],
        ["Berkshire Hathaway Inc", "0001067983"],
        ["Insider", "Company", "CIK"],
        ["BERKSHIRE HATHAWAY INC", "DAVITA INC.", "0001067983"],
    ]
    assert {'href="/fund/0001067983"', 'href="/insider/0001067983"'} <= set(re.findall(r'href="[^"]+"', body))
    assert parse_rows(get_page(browser, "/search?q=adams")) == [
        ["Insider", "Company", "CIK"],
        ["Adams Katherine L.", "Apple Inc.", "0001462356"],
    ]


# ---- a company


@pytest.mark.parametrize(("path", "status"), [("/company/ZZZZ", 404), ("/company/%3Cb%3E", 400), ("/company/99", 404)])
def test_an_unknown_company_gets_a_page_with_a_search(browser: Client, path: str, status: int) -> None:
    answer = browser.get(path, headers={"Accept": "text/html"})
    assert (answer.status, b'action="/search"' in answer.body) == (status, True)


def test_front_and_company_pages_are_small(browser: Client) -> None:
    assert len(get_page(browser, "/")) < 30_000
    assert len(get_page(browser, "/company/AAPL")) < 100_000
