"""The page of a fund's portfolio: its positions, its doubts, the months of a report, and the fund's other reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest

from finapi.app import App
from finapi.edgar import fund_reports
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.funds import fund_report_store
from tests.client import Client
from tests.conftest import NOW
from tests.support import fund_report_xml
from tests.support.html_pages import HTML, find_row, get_page, parse_rows

DECEMBER, SEPTEMBER, LONE = "0009200001-25-000001", "0009200001-24-000009", "0009200009-26-000004"


@pytest.fixture(scope="module")
def stored_app(make_stored: Callable[..., App]) -> Iterator[App]:
    """Return an app with the example reports, and a report of a trust without series whose figures are doubtful."""
    app = make_stored(pages="public", pages_per_minute=100_000)
    lone_report = fund_report_xml.report(
        fund_report_xml.position(name=None, cusip="N/A", isin=None, value="5000", percent="0.5", payoff="Short"),
        series=None,
        class_ids=(),
        trust=("0009200009", "Lone Trust"),
        net_assets="5000",
        total_assets="9000",
        flows="",
    )
    with app.db.write() as tx:
        fund_report_xml.store_examples(tx, NOW)
        bare_class = ("C000900099", "S000900099", "Bare Fund", 9200001, "Class A", "BARE", "2025-01-17")
        tx.insert_rows("upsert_fund_classes", [bare_class])
        metadata = FilingMetadata(LONE, DOCUMENT_EVIDENCE, filed_at="2026-01-26")
        fund_report_store.upsert(tx, fund_reports.parse(lone_report, "f"), metadata, NOW)
    return app


@pytest.fixture(scope="module")
def browser(stored_app: App) -> Client:
    return Client(stored_app)


def test_a_portfolio_has_positions_months_and_reports(browser: Client) -> None:
    body = get_page(browser, "/portfolio/LNTN")
    assert "<h1>Lantern Index ETF</h1>" in body
    assert '<dt>Registrant</dt><dd><a href="/company/0009200001">Lantern Funds Trust</a></dd>' in body
    assert "<dt>Tickers</dt><dd>LNTN</dd>" in body
    assert "<dt>Net assets</dt><dd>50 k dollars</dd>" in body
    assert "3 positions at 2024-12-31, in dollars, the largest first.</caption>" in body
    assert find_row(body, "Apple Inc.") == [
        "Apple Inc. common stock",
        fund_report_xml.APPLE,
        "EC",
        "100",
        "NS",
        "25,000.5",
        "50.00 %",
        "US",
    ]
    assert find_row(body, "Lamp 500 future")[2:6] == ["EC, FUT", "100", "NS", "(120.25)"]
    assert find_row(body, "Shares redeemed, dollars") == ["100", "–", "310.25"]
    assert find_row(body, "Return of class C000900001") == ["1.1 %", "(2.2) %", "3.3 %"]
    reports = {row[0]: row[1:5] for row in parse_rows(body) if row and row[0].startswith("2024-")}
    assert reports == {
        "2024-12-31": ["2025-01-17", "NPORT-P", "50,000", "3"],
        "2024-09-30": ["2024-11-27", "NPORT-P", "40,000", "2"],
    }
    assert "Net assets by report, dollars" in body
    assert "Doubtful." not in body


@pytest.mark.parametrize(
    ("path", "accession"),
    [
        ("/portfolio/S000900001", DECEMBER),
        ("/portfolio/lntn?period=2024-09", SEPTEMBER),
        (f"/portfolio/{SEPTEMBER}", SEPTEMBER),
        ("/portfolio/9200009", LONE),
    ],
)
def test_a_portfolio_is_found_by_any_id(browser: Client, path: str, accession: str) -> None:
    body = get_page(browser, path)
    assert f'<dt>Filing</dt><dd><a href="/filing/{accession}">{accession}</a></dd>' in body


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("lntn", "/portfolio/S000900001"),
        ("9200009", "/portfolio/0009200009"),
        # This registrant has series, so its own page is that of a company.
        ("9200001", "/company/0009200001"),
        # No report of this fund is stored.
        ("BARE", None),
        ("LNTN 10-K", None),
    ],
)
def test_the_search_leads_to_the_portfolio_of_a_fund(browser: Client, text: str, location: str | None) -> None:
    answer = browser.get(f"/search?q={quote(text)}", headers=HTML)
    assert answer.headers.get("location") == location
    assert answer.status == (303 if location else 200)
    if location is not None:
        get_page(browser, location)


def test_a_portfolio_is_suggested_for_the_ticker_of_its_fund(browser: Client) -> None:
    suggestions = browser.get("/search.json?q=+lntn").json["companies"]
    portfolio = {"cik": "0009200001", "ticker": None, "company": "Lantern Index ETF, portfolio"}
    assert suggestions == [{**portfolio, "url": "/portfolio/S000900001"}]
    suggested_urls = [suggestion["url"] for suggestion in browser.get("/search.json?q=9200009").json["companies"]]
    assert suggested_urls == ["/portfolio/0009200009", "/company/0009200009"]
    for text in ("BARE", "", "LN"):
        assert browser.get(f"/search.json?q={text}").json == {"companies": []}


def test_doubts_of_a_report_are_explained(browser: Client) -> None:
    body = get_page(browser, "/portfolio/9200009")
    assert "<h1>Lone Trust</h1>" in body
    note = "Total assets less liabilities are not the net assets. The percentages are not the values as parts of "
    assert f"<b>Doubtful. </b>{note}the net assets.</p>" in body
    cells = find_row(body, "Apple Inc. common stock")
    assert cells[1:3] == ["", "EC, short"]
    assert cells[6] == "0.50 % doubtful"
    assert "Month by month" not in body


def test_a_portfolio_links_from_its_filing_and_has_a_csv(browser: Client) -> None:
    body = get_page(browser, f"/filing/{DECEMBER}")
    assert f'<dt>Portfolio</dt><dd><a href="/portfolio/{DECEMBER}">positions</a></dd>' in body
    answer = browser.get("/portfolio/LNTN?format=csv", headers=HTML)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(answer.body.splitlines()) == 4


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/portfolio/NOPE", 404, "NOPE"),
        ("/portfolio/LNTN?period=2023-12", 404, "finapi has no N-PORT report of this fund for 2023-12."),
        ("/portfolio/S000999999", 404, "finapi has no N-PORT report of this fund."),
        ("/portfolio/0000000001-25-000001", 404, "finapi has no N-PORT report with this accession number."),
        ("/portfolio/LNTN?period=2023-13", 400, "period"),
        ("/portfolio/%3Cb%3E", 400, "ticker"),
    ],
)
def test_a_missing_portfolio_says_why(browser: Client, path: str, status: int, message: str) -> None:
    body = get_page(browser, path, status)
    assert 'role="alert"' in body
    assert message in body
    assert "<b>E" not in body
