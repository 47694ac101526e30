"""The front page and the search, over the demo's data."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.tickers import TickerRow
from finapi.market.demo import DEMO_KEY
from finapi.market.filings import lists
from finapi.market.reference import companies
from finapi.market.statements import company_coverage
from finapi.web.pages import front_page, search_page
from tests.client import Client
from tests.support.html_pages import HTML, NOW, get_page, parse_rows
from tests.support.raw_sql import run_sql

# ---- the front page


def test_the_front_page_shows_stored_counts(browser: Client) -> None:
    counts_on_page = re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", get_page(browser, "/"))
    counts = browser.get("/api/v1/financials/status").json["data"]["counts"]
    assert [int(number.replace(",", "")) for _, number in counts_on_page] == list(counts.values())
    assert [label for label, _ in counts_on_page][:3] == ["companies", "filings", "figures"]
    assert "The last filing was stored on 2026-01-31 12:00 UTC." in get_page(browser, "/")


def test_newest_filings_are_the_same_on_the_page_and_as_json(browser: Client) -> None:
    filings = browser.get("/newest.json").json["filings"]
    assert len(filings) == front_page.MAX_NEWEST
    assert [filing["filed"] for filing in filings] == sorted((filing["filed"] for filing in filings), reverse=True)
    rows = re.findall(
        r'<tr><td><time datetime="([^"]+)">.*?</time></td><td class="short"><a href="([^"]+)">([^<]*)</a></td>'
        r'<td><a href="([^"]+)">([^<]*)</a>',
        get_page(browser, "/"),
    )
    assert rows == [
        (filing["filed"], filing["page"], filing["form"], filing["filer_page"], filing["name"]) for filing in filings
    ]
    # A filer with many filings does not hide the others.
    assert len({filing["name"] for filing in filings}) == len(filings)
    assert ("/company/0000320193", "Apple Inc.") in [row[3:] for row in rows]


def test_the_front_page_shows_a_figure_with_its_proof(browser: Client) -> None:
    body = get_page(browser, "/")
    proof_url = "/company/AAPL/proof/revenue/A2025FY"
    assert f'<strong><a href="{proof_url}">416.2 bn USD</a></strong>' in body
    assert ">416,161,000,000 USD, 2024-09-29 to 2025-09-27<" in body
    assert '<a href="/filing/0000320193-25-000079">10-K of 2025-10-31</a>' in body
    assert "0000320193-25-000079" in get_page(browser, proof_url)
    assert re.findall("<title>Revenue, ([^<]+)</title>", body)[-2:] == ["2024: 391 bn", "2025: 416.2 bn"]


def test_the_front_page_links_companies_and_funds(browser: Client) -> None:
    links = re.findall('<li><a href="([^"]+)">(?:<b>[^<]*</b>)?([^<]*)</a></li>', get_page(browser, "/"))
    assert links[:3] == [
        ("/company/AAPL", "Apple Inc."),
        ("/company/NFLX", "Netflix, Inc."),
        ("/company/SNOW", "SNOWFLAKE INC."),
    ]
    assert ("/fund/0001067983", "Berkshire Hathaway Inc") in links
    for url, _ in links:
        assert browser.get(url, headers=HTML).status == 200, url


def test_an_empty_front_page_says_how_to_load_a_company() -> None:
    app = apps.create_in_memory(Config(pages="public"), FixedClock(NOW))
    body = get_page(Client(app), "/")
    app.db.close()
    assert "No filing is stored yet." in body
    assert "Add some with <code>finapi load AAPL</code>." in body
    assert "A figure and its proof" not in body
    assert "Companies with figures" not in body


def test_newest_filings_return_304_until_the_data_change(browser: Client) -> None:
    tag = browser.get("/newest.json").headers["etag"]
    assert browser.get("/newest.json", headers={"If-None-Match": tag}).status == 304
    with browser.app.db.write() as tx:
        tx.run("bump_data_version")
    assert browser.get("/newest.json", headers={"If-None-Match": tag}).status == 200


def test_example_calls_have_the_key_of_the_demo(browser: Client) -> None:
    body = get_page(browser, "/")
    assert body.count("YOUR_KEY") == 3
    assert body.count("ticker=AAPL") == 2
    # The page has no ETag, and a cached page is not used for another key.
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


def test_companies_with_figures_are_listed_by_size(browser: Client) -> None:
    # The place in the SEC's list is the size. Companies that it does not contain follow by CIK.
    ticker_rows = [
        TickerRow("0001640147", "SNOW", "SNOWFLAKE INC.", None),
        TickerRow("0000927066", "DVA", "DAVITA INC.", None),
        TickerRow("0000320193", "AAPL", "Apple Inc.", None),
    ]
    try:
        with browser.app.db.write() as tx:
            lists.upsert_company_tickers(tx, ticker_rows)
            listed = company_coverage.list_largest_companies(tx, 4)
            # DaVita has no figures.
            assert [company["ticker"] for company in listed] == ["SNOW", "AAPL", "NFLX", "UPXI"]
            assert [company["ticker"] for company in company_coverage.list_largest_companies(tx, 1)] == ["SNOW"]
    finally:
        with browser.app.db.write() as tx:
            run_sql(tx, "UPDATE companies SET list_place = NULL")
            tx.run("bump_data_version")


def test_the_search_works_without_a_script(browser: Client) -> None:
    body = get_page(browser, "/search?q=apple")
    assert "<h1>Results for apple</h1>" in body
    assert '<a href="/company/AAPL">Apple Inc.</a>' in body
    assert "<h1>Search</h1>" in get_page(browser, "/search?q=")


def test_a_search_without_results_says_what_it_compares(browser: Client) -> None:
    body = get_page(browser, "/search?q=zzzz")
    assert "<h1>No results for zzzz</h1>" in body
    assert "No stored company, fund or insider has or had this ticker, CIK or name." in body
    assert '<a href="/filings/text?q=zzzz">' in body
    assert "<code>finapi load TICKER</code>" in body
    browser.app.static_bodies[DEMO_KEY] = b"0123"
    try:
        with browser.app.db.write() as tx:
            tx.run("bump_data_version")
        page = get_page(browser, "/search?q=zzzz")
    finally:
        del browser.app.static_bodies[DEMO_KEY]
    assert "This is a demo with figures of AAPL, NFLX" in page
    assert page.count("finapi load") == 1


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("aapl", "/company/AAPL"),
        (" AAPL ", "/company/AAPL"),
        ("320193", "/company/AAPL"),
        ("0000320193", "/company/AAPL"),
        ("1067983", "/fund/0001067983"),
        ("1462356", "/insider/0001462356"),
        ("apple inc 10-k", "/company/AAPL/filings?form_type=10-K"),
        ("Apple Inc 10k/a", "/company/AAPL/filings?form_type=10-K%2FA"),
        ("apple inc. def 14a", "/company/AAPL/filings?form_type=DEF+14A"),
        ("AAPL form 8-K", "/company/AAPL/filings?form_type=8-K"),
        ("apple inc form 4", "/company/AAPL/filings?form_type=4"),
    ],
)
def test_a_text_that_names_a_page_leads_to_it(browser: Client, text: str, target: str) -> None:
    answer = browser.get(f"/search?q={quote(text)}", headers=HTML)
    assert (answer.status, answer.headers["location"]) == (303, target)


def test_a_share_class_is_found_in_every_spelling() -> None:
    app = apps.create_in_memory(Config(pages="public"), FixedClock(NOW))
    with app.db.write() as tx:
        rows = [TickerRow("0001067983", "BRK-B", "BERKSHIRE HATHAWAY INC", None)]
        lists.upsert_company_tickers(tx, rows)
        tx.run("bump_data_version")
    visitor = Client(app)
    targets = [
        visitor.get(f"/search?q={spelling}", headers=HTML).headers.get("location")
        for spelling in ("BRK.B", "brk-b", "BRK/B", "brk%20b", "BRKB")
    ]
    suggestions = visitor.get("/search.json?q=BRK.B").json["companies"]
    app.db.close()
    assert targets == ["/company/BRK-B"] * 5
    assert [company["ticker"] for company in suggestions] == ["BRK-B"]


def test_a_form_type_after_an_ambiguous_name_is_linked(browser: Client) -> None:
    body = get_page(browser, "/search?q=inc+10-q")
    assert "<h1>Results for inc 10-q</h1>" in body
    assert '<a href="/company/AAPL/filings?form_type=10-Q">10-Q filings</a>' in body
    # A form type or number alone is a text, and "4" is a form only after the word.
    assert "<h1>No results for 10-k</h1>" in get_page(browser, "/search?q=10-k")
    assert "<h1>No results for apple 4</h1>" in get_page(browser, "/search?q=apple+4")
    assert search_page.parse_search_text("  form  4 ") == ("form 4", None)


@pytest.mark.parametrize(("pages", "status"), [("members", 401), ("off", 404)])
def test_exact_searches_follow_the_access_to_pages(pages: str, status: int) -> None:
    app = apps.create_in_memory(Config(pages=pages), FixedClock(NOW))
    with app.db.write() as tx:
        lists.upsert_company_tickers(tx, [TickerRow("0000320193", "AAPL", "Apple Inc.", None)])
    assert Client(app).get("/search?q=AAPL", headers=HTML).status == status
    app.db.close()


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
