"""The pages of a fund, an insider, a filing, of all filings with their feed, and the screen."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.financials import latest_years
from finapi.web.financials import screen
from tests.client import Client
from tests.support import fund_filings
from tests.support.case_tables import run_each_case
from tests.support.demo_copies import load_demo
from tests.support.html_pages import HTML, NOW, find_row, get_page, parse_rows
from tests.support.raw_sql import run_sql

ATOM = "{http://www.w3.org/2005/Atom}"
APPLE = "0000320193-25-000057"
PAGES = ("/fund/1067983", "/insider/1462356", f"/filing/{APPLE}", "/screen?ratio0=roe&above0=0", "/filings")


def test_a_fund_shows_its_positions(browser: Client) -> None:
    body = get_page(browser, "/fund/1067983")
    assert "<h1>Berkshire Hathaway Inc</h1>" in body
    cells = ["COM", "037833100", "", "692,000", "175,622,680", "0001193125-26-226661"]
    assert find_row(body, "APPLE INC") == cells
    assert '<th scope="row"><a href="/company/AAPL">APPLE INC</a></th>' in body
    assert "<dt>Value</dt><dd>263.1 bn dollars in 90 entries, of which 5 are stored</dd>" in body
    # The total of the cover page includes 85 entries that are not stored.
    assert "Of portfolio" not in body
    assert "Shares of the portfolio are not shown, because not all of its entries are stored." in body
    assert '<option value="2026-03-31" selected>' in body
    assert "<dt>Changes</dt><dd>not known, because not all entries of this quarter are stored</dd>" in body
    assert 'name="status"' not in body  # There are no changes to choose from.


@pytest.fixture
def lamp(make_app: Callable[..., App], tmp_path: Path) -> Client:
    """A client of a store with two quarters of a fund."""
    app = make_app(pages="public")
    fund_filings.take(app, tmp_path, fund_filings.june(), fund_filings.september())
    return Client(app)


def test_a_fund_shows_changes_and_reports_by_quarter(lamp: Client) -> None:
    body = get_page(lamp, f"/fund/{fund_filings.FUND}")
    assert "<dt>Change since the previous quarter</dt><dd>(1.6 k) dollars</dd>" in body
    assert "<dt>Changes</dt><dd>1 increased, 1 decreased, 1 closed</dd>" in body
    assert "2 positions at 2025-09-30, in dollars. Change since 2025-06-30.</caption>" in body
    assert "Of portfolio" in body
    quarters = {row[0]: row[1:8] for row in parse_rows(body) if row and row[0].startswith("2025-")}
    assert quarters == {
        "2025-09-30": ["2025-11-14", "13F-HR", "6,250", "2", "0", "1", "1"],
        "2025-06-30": ["2025-08-14", "13F-HR", "7,900", "3", "–", "–", "–"],
    }
    assert "Value by quarter, dollars" in body
    assert fund_filings.accession(2) in body


def test_positions_of_a_fund_are_filtered_by_change(lamp: Client) -> None:
    body = get_page(lamp, f"/fund/{fund_filings.FUND}?status=closed")
    assert "1 position at 2025-09-30" in body
    body = get_page(lamp, f"/fund/{fund_filings.FUND}?status=new")
    assert "None of the 2 positions at 2025-09-30 matches the query." in body
    assert f'<a href="/fund/{fund_filings.FUND}?status=closed">closed</a> (1)' in body
    assert 'role="alert"' in get_page(lamp, f"/fund/{fund_filings.FUND}?status=new&period=2025-06-30", 400)


def test_an_insider_has_roles_holdings_and_trades(browser: Client) -> None:
    body = get_page(browser, "/insider/1462356")
    assert "<h1>Adams Katherine L.</h1>" in body
    assert ["Apple Inc.", "General Counsel", "452,334", "2022-05-04"] in parse_rows(body)
    assert ["Apple Inc.", "Common Stock", "452,334", "", "2022-05-04", "0000320193-22-000061"] in parse_rows(body)
    assert ["2022-05-04", "Apple Inc.", "SVP, GC and Secretary", "sale", "2,292"] in [
        row[:5] for row in parse_rows(body)
    ]


def test_a_filing_has_parties_statements_and_an_sec_link(browser: Client) -> None:
    body = get_page(browser, f"/filing/{APPLE}?statement=balance")
    assert "<h1>10-Q of Apple Inc.</h1>" in body
    assert '<a href="/company/0000320193">Apple Inc.</a>' in body
    assert 'href="https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/aapl-20250329.htm"' in body
    assert find_row(body, "Total assets") == ["331,233", "364,980"]
    # Its proof stands with the company.
    assert '<a href="/company/0000320193/fact/us-gaap:Assets?end=2025-03-29">331,233</a>' in body
    # Every column of the filing, the half year too.
    income = get_page(browser, f"/filing/{APPLE}")
    assert (
        find_row(income, "Net sales") == ["95,359", "219,659", "90,753", "210,328"]
        or len(find_row(income, "Net sales")) == 4
    )


def test_a_report_without_statements_says_how_to_load_them(browser: Client) -> None:
    body = get_page(browser, "/filing/0000320193-25-000079")
    assert "The statements of this report are not stored." in body
    assert "<code>finapi load AAPL</code>" in body
    assert '<a href="/company/0000320193/financials">' in body
    # An 8-K has no statements, and nothing is missing.
    assert "are not stored" not in get_page(browser, "/filing/0001140361-26-006577")


def test_a_filing_without_statements_costs_one_call(browser: Client) -> None:
    body = get_page(browser, "/filing/0001140361-26-006577")
    assert "<h1>8-K of Apple Inc.</h1>" in body
    assert "1 call of the API, 5 tokens" in body
    assert "<dt>Items</dt><dd>5.07, 9.01</dd>" in body


@run_each_case(
    "path", ["/filing/0000000000-00-000000", "/fund/99", "/insider/99", "/filing/0000320193-24-000123/document"]
)
def test_pages_of_missing_data_return_404_with_a_load_hint(browser: Client, path: str) -> None:
    body = get_page(browser, path, 404)
    assert 'role="alert"' in body
    assert "<code>finapi ingest</code>" in body
    assert body.count('action="/search"') == 1


def test_statements_of_a_filing_can_be_downloaded_as_csv(browser: Client) -> None:
    assert f'<a href="/filing/{APPLE}?format=csv" rel="nofollow" class="csv">' in get_page(browser, f"/filing/{APPLE}")
    answer = browser.get(f"/filing/{APPLE}?format=csv", headers=HTML)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = csv.DictReader(io.StringIO(answer.body.decode()))
    assert next(row["value"] for row in rows if row["concept"] == "us-gaap:Assets") == "331233000000"


def test_a_filing_links_only_the_statements_it_has(browser: Client) -> None:
    body = get_page(browser, "/filing/0001477932-24-008123?statement=comprehensive-income")
    assert '?statement=comprehensive-income"' not in body
    assert 'href="/filing/0001477932-24-008123?statement=income" aria-current="true"' in body


def test_parties_of_a_filing_link_to_pages_of_their_role(browser: Client) -> None:
    body = get_page(browser, "/filing/0000320193-22-000061")
    assert '<a href="/company/0000320193">Apple Inc.</a>, <a href="/insider/0001462356">' in body
    assert '<a href="/fund/0001067983">' in get_page(browser, "/filing/0001193125-26-226661")


@run_each_case("path", ["/filing/x", "/fund/x", "/insider/%3Cb%3E", "/filings?from_date=x", "/screen?ratio0=x"])
def test_invalid_identifiers_and_filters_return_400(browser: Client, path: str) -> None:
    assert 'role="alert"' in get_page(browser, path, 400)


def test_the_list_of_filings_names_filers_and_is_live(browser: Client) -> None:
    body = get_page(browser, "/filings?form_type=8-K&ticker=AAPL")
    assert parse_rows(body)[1][:4] == ["2026-02-24", "8-K", "Apple Inc.", "5.07, 9.01"]
    assert "<div data-live>" in body
    assert 'src="/static/live.js' in body
    assert '<link rel="alternate" type="application/atom+xml"' in body


def test_the_atom_feed_has_the_filters_of_the_page(browser: Client) -> None:
    answer = browser.get("/filings.atom?form_type=8-K&ticker=AAPL")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(answer.body)
    titles = [entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")]
    assert titles[0] == "8-K: Apple Inc."
    entry = next(feed.iter(f"{ATOM}entry"))
    assert entry.findtext(f"{ATOM}id") == "http://x/filing/0001140361-26-006577"
    assert feed.findtext(f"{ATOM}updated") == "2026-02-24T21:55:58.000Z"
    nothing = ElementTree.fromstring(browser.get("/filings.atom?form_type=S-1").body)
    assert [*nothing.iter(f"{ATOM}entry")] == []


def test_the_screen_states_companies_whose_figures_are_due(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 0)
    iter_known = latest_years.iter_known
    monkeypatch.setattr(latest_years, "count_due", lambda tx, ciks: 3)
    monkeypatch.setattr(
        latest_years, "iter_known", lambda *args: (year._replace(text=None) for year in iter_known(*args))
    )
    body = get_page(browser, "/screen?ratio0=roe&above0=0")
    assert "No company meets these conditions. Figures of 3 companies are still being computed." in body
    refused = browser.get("/screen?ratio0=roe&above0=0&format=csv")
    assert (refused.status, refused.headers["retry-after"]) == (503, "10")


def test_companies_are_screened_by_ratios(browser: Client) -> None:
    body = get_page(browser, "/screen?ratio0=roe&above0=0&ratio1=gross_margin&below1=0.9")
    assert find_row(body, "AAPL") == ["Apple Inc.", "2025-09-27", "171.4 %", "46.9 %"]
    # A ratio links to its proof by the last day of the fiscal year.
    assert '<a href="/company/0000320193/proof/roe/A2025-09-27">171.4 %</a>' in body
    assert "<strong>171.4 %</strong>" in get_page(browser, "/company/0000320193/proof/roe/A2025-09-27")
    assert get_page(browser, "/company/0000320193/proof/roe/A2025-09-31", 400)
    assert "No company meets these conditions." in get_page(browser, "/screen?ratio0=roe&above0=1000")
    assert '<option value="roe">Return on equity</option>' in body
    assert ' name="ratio0" type="text" value="roe"' in body


def test_companies_are_screened_by_figures_growth_and_period(browser: Client) -> None:
    conditions = "ratio0=Revenue&above0=400bn&ratio1=revenue_growth&above1=0.05&ratio2=net+income"
    body = get_page(browser, f"/screen?{conditions}")
    headings = ["Ticker", "Company", "Period to", "Revenue", "Revenue growth", "Net income"]
    assert parse_rows(body)[:2] == [headings, ["AAPL", "Apple Inc.", "2025-09-27", "416,161", "6.4 %", "112,010"]]
    assert '<a href="/company/0000320193/proof/revenue/A2025-09-27">6.4 %</a>' in body
    assert "1 company. Latest fiscal year. Amounts in millions." in body
    quarters = parse_rows(get_page(browser, "/screen?ratio0=revenue&above0=100,000,000k&period=Q"))
    assert quarters[1] == ["AAPL", "Apple Inc.", "2025-12-27", "143,756"]
    months = parse_rows(get_page(browser, "/screen?ratio0=revenue&above0=400bn&period=TTM"))
    assert months[1] == ["AAPL", "Apple Inc.", "2025-12-27", "435,617"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("ratio0=revenu&above0=1bn", "revenu is not a metric; did you mean "),
        ("ratio0=revenue&above0=1zz", "revenue&gt;1zz is not a condition such as revenue&gt;1bn or roe&lt;0.2."),
        ("ratio0=revenue&above0=>1", "revenue&gt;&gt;1 is not a condition such as"),
        ("above1=5bn", "Choose the figure that 5bn limits."),
        ("ratio0=roe&above0=1&period=W", ""),
    ],
)
def test_a_wrong_condition_is_refused_and_stays_in_the_form(browser: Client, query: str, message: str) -> None:
    body = get_page(browser, f"/screen?{query}", 400)
    assert re.search('role="alert"[^>]*>' + re.escape(message), body)
    if message:
        assert f'value="{query.partition("=")[2].partition("&")[0]}"' in body
        assert browser.get(f"/screen?{query}&format=csv").status == 400


@run_each_case("path", ["/fund/1067983?", "/insider/1462356?", "/screen?ratio0=roe&", "/filings?"])
def test_lists_can_be_downloaded_as_csv(browser: Client, path: str) -> None:
    answer = browser.get(f"{path}format=csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    names, *rows = csv.reader(io.StringIO(answer.body.decode()))
    assert {len(row) for row in rows} == {len(names)}


def test_hostile_names_are_escaped_on_every_page() -> None:
    app = apps.create_in_memory(Config(pages="public", pages_per_minute=100_000), FixedClock(NOW))
    load_demo(app)
    with app.db.write() as tx:
        for column in ("companies SET name", "insiders SET name", "funds SET name"):
            run_sql(tx, f"UPDATE {column} = ?", ("<script>x</script>\"'&",))
        tx.run("bump_data_version")
    for path in (*PAGES[:3], PAGES[4]):
        body = get_page(Client(app), path)
        assert "<script>x" not in body
        assert "&lt;script&gt;x" in body
    feed = Client(app).get("/filings.atom").body
    assert "<script>" not in {element.tag for element in ElementTree.fromstring(feed).iter()}
    app.db.close()


_MARKUP = "%22%3E%3Cscript%3Ex%3C/script%3E"


@run_each_case(
    "path",
    [
        f"/filings?ticker={_MARKUP}",
        f"/filings?form_type={_MARKUP}",
        f"/filings?cursor={_MARKUP}",
        f"/filings?{_MARKUP}=1",
        f"/fund/{_MARKUP}",
        f"/fund/1067983?period={_MARKUP}",
        f"/insider/1462356?cursor={_MARKUP}",
        f"/filing/{APPLE}?statement={_MARKUP}",
        f"/filing/{_MARKUP}",
        f"/screen?ratio0=roe&above0={_MARKUP}",
        f"/screen?ratio0={_MARKUP}",
        f"/claims?ticker=AAPL&figure={_MARKUP}&period=FY2022&value={_MARKUP}",
        f"/search?q={_MARKUP}",
        f"/company/{_MARKUP}",
        f"/company/AAPL?as_of={_MARKUP}",
        f"/company/AAPL/fact/{_MARKUP}",
        f"/company/AAPL/segments?axis={_MARKUP}",
        f"/company/AAPL/filings?items={_MARKUP}",
        f"/filings/text?q={_MARKUP}",
        f"/filings/text?q=x&ticker={_MARKUP}",
        f"/docs?q={_MARKUP}",
        f"/nothing/{_MARKUP}",
        f"/status/badge/{_MARKUP}",
    ],
)
def test_markup_in_paths_and_parameters_is_escaped(browser: Client, path: str) -> None:
    answer = browser.get(path, headers=HTML)
    assert b"<script>x" not in answer.body
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@run_each_case("path", PAGES)
def test_market_pages_are_small_and_can_be_for_members(browser: Client, path: str) -> None:
    assert len(get_page(browser, path)) < 100_000
    app = apps.create_in_memory(Config(pages_per_minute=100_000), FixedClock(NOW))
    assert Client(app).get(path, headers=HTML).status == 401
    app.db.close()
