"""The pages of a company over the demo's data: figures, proofs, CSV, missing data, hostile names."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.statements.filed_report import FactConflict
from finapi.web.html import number_formats
from finapi.web.pages.company import charts_page, owners_pages, segments_page, series_page
from finapi.web.pages.company.statements_page import LineValue, join_statements
from tests.client import Client
from tests.support import brook_lamps_report
from tests.support.case_tables import run_each_case
from tests.support.demo_copies import load_demo
from tests.support.html_pages import HTML, NOW, find_row, get_page, parse_rows
from tests.support.raw_sql import run_sql

TABS = ("", "/statements", "/financials", "/charts", "/filings", "/insiders", "/holders", "/segments")


# ---- at a glance


@run_each_case("spelling", ["AAPL", "aapl", "320193", "0000320193"])
def test_a_company_is_found_in_any_spelling(browser: Client, spelling: str) -> None:
    body = get_page(browser, f"/company/{spelling}")
    assert "<h1>Apple Inc.</h1>" in body
    assert "Twelve months to 2025-12-27. Millions of USD, except per-share figures." in body


@run_each_case(
    "label, value",
    [("Revenue", "435,617"), ("Net income", "117,777"), ("Free cash flow", "123,324"), ("Gross margin", "47.3 %")],
)
def test_a_key_figure_links_to_its_proof_and_its_filing(browser: Client, label: str, value: str) -> None:
    body = get_page(browser, "/company/AAPL")
    cells = find_row(body, label)
    assert [cells[0], *cells[2:]] == [value, "", "0000320193-26-000006"]
    line = body[body.index(f'<th scope="row">{label}<') :]
    match = re.search(r'<a href="(/company/AAPL/proof/[^"]+)"', line)
    assert match is not None
    assert "0000320193-26-000006" in get_page(browser, match[1])


def test_a_figure_missing_for_twelve_months_is_shown_by_year(browser: Client) -> None:
    assert find_row(get_page(browser, "/company/AAPL"), "Diluted earnings per share")[:2] == ["–a", "7.46"]


def test_reports_without_statements_have_a_load_hint(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/statements")
    match = re.search(r"The statements of these reports are not stored: (.*?)</section>", body)
    assert match is not None
    assert '<a href="/filing/0000320193-25-000079">10-K of 2025-10-31</a>' in match[1]
    assert "0000320193-24-000123" not in match[1]
    assert match[1].startswith("<a ")
    assert "The operator of this host loads them with <code>finapi load AAPL</code>." in match[1]


def test_a_partial_amendment_replaces_only_its_statement(clock: FixedClock) -> None:
    app = apps.create_in_memory(Config(pages="public", public_url="http://x", pages_per_minute=100_000), clock)
    brook_lamps_report.store_report(app, brook_lamps_report.build_report())
    amendment = brook_lamps_report.build_report(form="10-K/A")
    sections = (brook_lamps_report.COVER_PAGE, brook_lamps_report.BALANCE)
    brook_lamps_report.store_report(app, replace(amendment, sections=sections), "0001234567-25-000009", "2025-06-01")
    browser = Client(app)
    accessions = {
        statement: re.findall(
            r'<a href="/filing/([0-9-]+)" title', get_page(browser, f"/company/BRK-B/statements?statement={statement}")
        )
        for statement in ("income", "balance")
    }
    app.db.close()
    assert set(accessions["income"]) == {brook_lamps_report.ACCESSION}
    assert set(accessions["balance"]) == {"0001234567-25-000009"}


def test_conflicting_values_are_shown_next_to_the_value(clock: FixedClock) -> None:
    app = apps.create_in_memory(Config(pages="public", public_url="http://x", pages_per_minute=100_000), clock)
    # The first fact is the revenue of 2024, the fifth the cost of revenue, which is printed with the opposite sign.
    conflicts = [FactConflict(0, "1100000"), FactConflict(0, "900000.5"), FactConflict(4, "650000")]
    report = replace(brook_lamps_report.build_report(), conflicts=conflicts)
    brook_lamps_report.store_report(app, report)
    browser = Client(app)
    statement = get_page(browser, "/company/BRK-B/statements?statement=income")
    proof = get_page(browser, "/company/BRK-B/proof/revenue/A2024FY")
    app.db.close()
    assert re.findall("also filed as ([^<]+)<", statement) == ["1,100,000, 900,000.5", "(650,000)"]
    # The fact is listed as an operand and as a filed value.
    assert re.findall("also filed as ([^<]+)<", proof) == ["1,100,000, 900,000.5"] * 2


def test_overlapping_segment_members_are_not_stacked(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/segments")
    assert "The 6 largest" in body
    assert "<rect" not in body


def test_a_missing_figure_has_a_reason(browser: Client) -> None:
    body = get_page(browser, "/company/UPXI")
    assert re.search(
        r'<td class="none"><a href="[^"]+/proof/[^"]+" aria-label="([^"]+)">–</a><sup title="\1">a</sup></td>', body
    )
    assert re.search(r'<dl class="reasons"><dt>a</dt><dd><b>[^<]+</b>\. [^<]+</dd>', body)


@pytest.mark.parametrize(
    ("tab", "name", "cells"),
    [
        ("", "Revenue", ["9,370"]),
        ("/statements", "Revenues", ["9,370", "8,162", "553", "423"]),
        ("/financials", "Revenue", ["9,370", "8,162", "553", "423"]),
    ],
)
def test_pages_without_annual_reports_show_quarters(browser: Client, tab: str, name: str, cells: list[str]) -> None:
    note = "No annual report is stored, so this page shows quarters."
    body = get_page(browser, f"/company/NFLX{tab}")
    assert body.count(note) == 1
    assert find_row(body, name)[: len(cells)] == cells
    if tab:
        # A visitor who chose the annual view gets the reason, and the quarters stay one link away.
        assert note not in get_page(browser, f"/company/NFLX{tab}?period=A", 404 if tab == "/statements" else 200)
        assert note not in get_page(browser, f"/company/NFLX{tab}?period=Q")
    assert note not in get_page(browser, f"/company/AAPL{tab}")


def test_pages_without_any_rows_state_the_reason(browser: Client) -> None:
    body = get_page(browser, "/company/NFLX/financials?period=A")
    assert "No annual report is stored. Rows of other periods: period=Q has 4." in body
    assert "<title>Revenue, Q1 2024: 9.4 bn</title>" in get_page(browser, "/company/NFLX/charts")
    assert "No annual report that is stored has revenue by segment." in get_page(browser, "/company/SNOW/segments")
    assert "so this page shows quarters." in get_page(browser, "/company/NFLX/segments")
    assert "No transaction of Netflix, Inc. is stored." in get_page(browser, "/company/NFLX/insiders")
    purchases = get_page(browser, "/company/AAPL/insiders?standard_type=purchase")
    assert "None of the 11 stored transactions of Apple Inc. matches the query." in purchases
    assert '<a href="/company/AAPL/insiders?standard_type=sale">sale</a> (7)' in purchases


def test_an_unloaded_company_has_a_load_hint(browser: Client) -> None:
    body = get_page(browser, "/company/msft", 404)
    assert "<code>finapi load MSFT</code>" in body
    assert 'action="/search"' in body


def test_synthetic_prices_are_marked(browser: Client) -> None:
    assert "Prices are made up" in get_page(browser, "/company/AAPL")
    assert "Close by week (made up)" in get_page(browser, "/company/AAPL/insiders")


# ---- statements as filed


def test_a_balance_sheet_is_shown_as_build_answer(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/statements?statement=balance&period=Q")
    assert "Balance sheet as filed. Millions of USD, unless a line gives another unit." in body
    assert find_row(body, "Cash and cash equivalents") == ["28,162", "29,943"]
    assert find_row(body, "Accumulated deficit") == ["(15,552)", "(19,154)"]
    assert find_row(body, "Commitments and contingencies") == ["–a", "–a"]
    assert "<b>Reported as nil</b>" in body
    assert '<tr class="total"><th scope="row" class="l2" title="us-gaap:Assets">Total assets</th>' in body
    assert '<tr class="heading"><th scope="row" colspan="3" class="l1">ASSETS:</th></tr>' in body


def test_lines_in_another_unit_name_it(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/statements?period=Q")
    assert find_row(body, "Diluted (in dollars per share) USD/shares")[0] == "1.65"


def test_negated_lines_have_the_sign_of_the_filing(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/statements?statement=cash-flow&period=Q")
    assert find_row(body, "Payments for dividends and dividend equivalents") == ["(7,614)", "(7,535)"]


def test_a_filed_figure_links_to_all_filings_with_the_fact(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/statements?statement=balance&period=Q")
    assert '<a href="fact/us-gaap:Assets?end=2025-03-29">331,233</a>' in body
    fact = get_page(browser, "/company/AAPL/fact/us-gaap:Assets?end=2025-03-29")
    assert parse_rows(fact)[1][1:6] == ["331,233,000,000", "USD", "2025-03-29", "10-Q", "2025-05-02"]
    assert 'href="https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/aapl-20250329.htm"' in fact
    assert get_page(browser, "/company/AAPL/fact/us-gaap:Nothing", 404)


def _build_answer(
    accession: str, columns: list[tuple[str, str]], rows: list[tuple[str, list[str | None]]]
) -> dict[str, Any]:
    lines = [
        {
            "concept": concept,
            "label": concept,
            "unit": "USD",
            "preferred_label": None,
            "negated": False,
            "abstract": False,
            "depth": 0,
            "values": values,
            "marks": [None if value else {"reason": "reported_nil"} for value in values],
        }
        for concept, values in rows
    ]
    periods = [{"start_date": start, "end_date": end} for start, end in columns]
    return {
        "meta": {"accession": accession, "form_type": "10-K"},
        "data": {"statements": {"income": {"columns": periods, "rows": lines}}},
    }


def test_statements_of_several_reports_are_joined() -> None:
    year = [("2024-01-01", "2024-12-31"), ("2023-01-01", "2023-12-31"), ("2022-01-01", "2022-12-31")]
    older = _build_answer("old", year[1:], [("A", ["5", "6"]), ("B", ["7", "8"]), ("C", ["4", "4"])])
    newer = _build_answer("new", year[:2], [("A", ["1", "2"]), ("C", ["3", None])])
    columns, lines = join_statements([newer, older], "latest")
    assert [(column.last_day[:4], column.accession_number) for column in columns] == [
        ("2024", "new"),
        ("2023", "new"),
        ("2022", "old"),
    ]
    # A line that only the older report has is inserted after the line that it follows there.
    assert [line.row["concept"] for line in lines] == ["A", "B", "C"]
    figures = [[line.values.get((column.report_index, column.column_index)) for column in columns] for line in lines]
    assert figures == [
        [LineValue("1", None), LineValue("2", None), LineValue("6", None)],
        [None, None, LineValue("8", None)],
        [LineValue("3", None), LineValue(None, "reported_nil"), LineValue("4", None)],
    ]
    columns, _ = join_statements([newer, older], "original")
    assert [(column.last_day[:4], column.accession_number) for column in columns] == [
        ("2024", "new"),
        ("2023", "old"),
        ("2022", "old"),
    ]


def test_the_shortest_of_columns_with_the_same_end_is_shown() -> None:
    periods = [("2024-10-01", "2024-12-31"), ("2024-07-01", "2024-12-31"), ("2023-10-01", "2023-12-31")]
    columns, _ = join_statements([_build_answer("new", periods, [("A", ["1", "2", "3"])])], "latest")
    assert [column[:2] for column in columns] == [periods[0], periods[2]]


# ---- standardised series


def test_a_template_has_the_figures_of_each_year(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/financials")
    assert find_row(body, "Revenue") == ["416,161", "391,035", "383,285", "394,328", "365,817", "274,515", "260,174"]
    assert find_row(body, "Other nonoperating items") == ["(321)", "269", "(382)", "(228)", "60", "(87)", "422"]
    assert find_row(body, "Diluted earnings per share") == ["7.46", "6.08", "6.13", "6.11", "5.61", "3.28", "2.97"]
    assert '<tr class="total"><th scope="row">Gross profit</th>' in body
    assert "The totals add up." in body
    # A line without a figure in any year is left out.
    assert "Preferred dividends" not in body


def test_ratios_are_percentages_or_multiples(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/financials?statement=ratios")
    assert find_row(body, "Revenue growth, year over year")[:3] == ["6.4 %", "2.0 %", "(2.8 %)"]
    assert find_row(body, "Gross margin")[0] == "46.9 %"
    assert find_row(body, "Current ratio")[0] == "0.89"


def test_links_keep_as_of_and_basis(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/financials?as_of=2024-01-01&basis=original")
    assert find_row(body, "Revenue") == ["383,285", "394,328", "365,817", "274,515", "260,174"]
    assert 'href="proof/revenue/A2023FY?as_of=2024-01-01&amp;basis=original"' in body
    assert 'href="/company/AAPL/statements?as_of=2024-01-01&amp;basis=original"' in body
    assert 'value="2024-01-01"' in body
    # An empty field of the form counts as not given.
    assert "391,035" in get_page(browser, "/company/AAPL/financials?as_of=&basis=latest")


@run_each_case("query", ["as_of=yesterday", "basis=any", "period=X", "statement=none", "format=xml"])
def test_an_invalid_view_returns_400(browser: Client, query: str) -> None:
    assert re.search("must be|use one of", get_page(browser, f"/company/AAPL/financials?{query}", 400))


# ---- proofs


def test_a_proof_lists_formula_facts_signs_and_filings(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/proof/gross_margin/A2024FY")
    assert '<strong>46.2 %</strong> <span class="quiet">0.462063498152 ratio</span>' in body
    assert "<code>gross_profit / revenue</code>" in body
    assert find_row(body, "Gross profit") == ["FY 2024", "180,683,000,000", "USD"]
    unprinted = "The filing's statements are not stored."
    fact = ["+", "us-gaap:GrossProfit", "180,683,000,000", "USD", unprinted, "2023-10-01 to 2024-09-28", "10-K"]
    assert fact in [row[:7] for row in parse_rows(body)]
    assert 'href="https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/' in body
    assert "Rules in order of preference" in get_page(browser, "/company/AAPL/proof/revenue/A2024FY")


def test_a_proof_of_twelve_months_names_their_last_day(browser: Client) -> None:
    assert ">Revenue, twelve months to 2025-03-29</h2>" in get_page(browser, "/company/AAPL/proof/revenue/TTM2025Q2")
    assert ">Revenue, FY 2024</h2>" in get_page(browser, "/company/AAPL/proof/revenue/A2024FY")


def test_a_day_before_the_first_filing_has_no_load_hint(browser: Client) -> None:
    answer = browser.get("/company/AAPL?as_of=1999-01-01")
    assert (answer.status, b"was filed by 1999-01-01." in answer.body) == (404, True)
    assert b"finapi load" not in answer.body


def test_a_company_that_is_a_fund_links_to_its_fund_page(browser: Client) -> None:
    assert '<a href="/fund/0001067983">what it holds</a>' in get_page(browser, "/company/1067983")
    assert "what it holds" not in get_page(browser, "/company/AAPL")


def test_the_proof_of_a_missing_figure_shows_its_reason(browser: Client) -> None:
    assert "<b>Not reported.</b>" in get_page(browser, "/company/AAPL/proof/goodwill/A2024FY")


@run_each_case("cell", ["goodwill/A2024", "nothing/A2024FY", "revenue/A2024FY%22%3E", "revenue/A1999FY"])
def test_an_invalid_proof_cell_returns_404(browser: Client, cell: str) -> None:
    assert get_page(browser, f"/company/AAPL/proof/{cell}", 404)


# ---- lists


def test_filings_are_filtered_by_form_item_and_date(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/filings?form_type=8-K&items=5.02&from_date=2025-12-01&to_date=")
    assert [row[:3] for row in parse_rows(body)[1:]] == [["2026-01-02", "8-K", "5.02"], ["2025-12-05", "8-K", "5.02"]]
    assert "2 filings" in body
    body = get_page(browser, "/company/AAPL/filings?form_type=S-1")
    assert "None of the 43 stored filings of Apple Inc. matches the query." in body
    assert '<p>Stored: <a href="/company/AAPL/filings?form_type=8-K">8-K</a> (18), ' in body


def test_insider_sales_are_listed_and_marked_on_the_price(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/insiders?standard_type=sale")
    sale = [
        "2022-05-04",
        "Adams Katherine L.",
        "SVP, GC and Secretary",
        "sale",
        "2,292",
        "165.95",
        "380,357",
        "452,334",
    ]
    assert sale in [row[:8] for row in parse_rows(body)]
    assert "<dt>7 sales</dt><dd>4 m USD</dd>" in body
    assert "<dt>Purchases</dt><dd>none</dd>" in body
    assert "<dt>Last purchase or sale</dt><dd>2022-05-04</dd>" in body
    assert "Adams Katherine L., 2022-05-04: sale" in body
    assert '<a href="/insider/0001462356">' in body


def list_trades(browser: Client, path: str, column: int) -> list[str]:
    """Return the texts of a column of the transactions of a page, "" for an empty list."""
    rows = parse_rows(get_page(browser, path))
    start = next((index for index, row in enumerate(rows) if row[:1] == ["Traded"]), len(rows))
    return [row[column] for row in rows[start + 1 :] if len(row) == 9]


def test_insider_transactions_are_filtered_on_pages(browser: Client) -> None:
    company = "/company/AAPL/insiders"
    all_roles = list_trades(browser, company, 2)
    assert len(all_roles) == 11
    officers = list_trades(browser, f"{company}?role=officer&min_value=&acquired_disposed_code=", 2)
    directors = list_trades(browser, f"{company}?role=director", 2)
    assert sorted([*officers, *directors]) == sorted(all_roles)
    assert set(directors) == {"director"}
    assert list_trades(browser, f"{company}?role=ten_percent_owner", 2) == []
    acquired, disposed = (len(list_trades(browser, f"{company}?acquired_disposed_code={code}", 0)) for code in "AD")
    assert acquired + disposed == len(all_roles)
    sizes = [int(text.replace(",", "")) for text in list_trades(browser, f"{company}?min_value=380357", 6)]
    assert min(sizes) == 380_357
    assert 380_357 not in [
        int(text.replace(",", "")) for text in list_trades(browser, f"{company}?min_value=380357.5", 6)
    ]
    form = get_page(browser, f"{company}?role=director&acquired_disposed_code=A&min_value=5")
    for field in ('value="director" selected', 'value="A" selected', 'name="min_value" type="number" value="5"'):
        assert field in form
    for query in ("role=chair", "acquired_disposed_code=X", "min_value=many"):
        assert get_page(browser, f"{company}?{query}", 400)


def test_the_transactions_of_an_insider_are_filtered(browser: Client) -> None:
    page = "/insider/1462356"
    all_days = list_trades(browser, page, 0)
    acquired, disposed = (list_trades(browser, f"{page}?acquired_disposed_code={code}", 0) for code in "AD")
    assert sorted([*acquired, *disposed]) == sorted(all_days)
    sales = list_trades(browser, f"{page}?standard_type=sale&min_value=380357", 6)
    assert min(int(text.replace(",", "")) for text in sales) == 380_357
    assert list_trades(browser, f"{page}?min_value=1e12", 6) == []
    assert 'name="role"' not in get_page(browser, page)


def test_the_footer_links_to_the_form_of_claims(browser: Client) -> None:
    link = '<a href="/claims">Compare a stated figure with the filings</a>'
    assert link in get_page(browser, "/company/AAPL")


def test_transactions_state_their_direction_and_derivatives(browser: Client) -> None:
    rows = parse_rows(get_page(browser, "/company/AAPL/insiders"))[1:5]
    assert [(row[3], row[4]) for row in rows] == [
        ("exercise (disposed of)Restricted Stock Unit", "30,104"),
        ("shares withheld or delivered for the exercise price or taxes (disposed of)", "16,238"),
        ("exercise (acquired)", "30,104"),
        ("acquisition or disposition by will or inheritance (acquired)", "42"),
    ]


def test_holders_are_funds_with_their_positions(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/holders")
    cells = ["692,000", "175,622,680", "0.07 %", "–", "no report for the previous quarter", "0001193125-26-226661"]
    assert find_row(body, "Berkshire Hathaway Inc") == cells
    assert '<a href="/fund/0001067983">' in body


def test_a_balance_is_drawn_only_if_all_parts_are_known() -> None:
    names = ("total_current_liabilities", "total_liabilities", "total_equity")
    years = ((2021, (None, None, 9)), (2022, (1, 3, 5)))
    rows: list[Any] = [
        {"fiscal_year": year, "fiscal_period": "FY", "metrics": dict(zip(names, map(_decimal, figures), strict=True))}
        for year, figures in years
    ]
    (balance_chart,) = [chart for chart in charts_page.render_charts(rows, "USD") if chart]
    titles = re.findall("<title>([^<]+)</title>", balance_chart)
    assert titles == ["Current liabilities, 2022: 1", "Other liabilities, 2022: 2", "Equity, 2022: 5"]


def _decimal(value: int | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def test_trades_are_sorted_by_their_date_over_all_pages(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners_pages, "PAGE_TRADES", 2)
    # A form 5 of 2024 was filed after the sales of 2022.
    sorted_days = ["2026-06-15"] * 3 + ["2024-04-18"] + ["2022-05-04"] * 7
    assert list_days(browser, "/company/AAPL/insiders") == sorted_days
    assert list_days(browser, "/insider/1462356") == ["2022-05-04"] * 7


def list_days(browser: Client, path: str) -> list[str]:
    """Return the days of the transactions on a page and on the pages with older ones."""
    days: list[str] = []
    next_path: str | None = path
    while next_path:
        body = get_page(browser, next_path)
        rows = parse_rows(body.partition("<caption>Newest trade first")[2].partition("</table>")[0])
        days += [row[0] for row in rows[1:]]
        link = re.search('<a href="([^"]+)"[^>]*>Older transactions', body)
        next_path = html.unescape(link[1]) if link else None
    return days


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("IPhone", "iPhone"),
        ("WearablesHomeandAccessories", "Wearables home and accessories"),
        ("ResearchandDevelopment", "Research and development"),
        ("DemandDeposits", "Demand deposits"),
        ("BrandName", "Brand name"),
        ("", ""),
    ],
)
def test_names_of_members_are_split_into_words(name: str, words: str) -> None:
    assert series_page.split_camel_case(name) == words


def test_ratios_in_days_have_one_decimal(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/financials?statement=ratios")
    assert "Growth, margins and ratios. Market capitalisation and other amounts: Millions of USD." in body
    cells = [cell for cell in find_row(body, "Days of sales outstanding") if not cell.startswith("–")]
    assert cells
    assert all(re.fullmatch(r"\d+\.\d", cell) for cell in cells)
    assert series_page.format_metric("dso", Decimal("-3.26"), number_formats.ONES) == "(3.3)"


def test_segments_are_sorted_by_size(browser: Client) -> None:
    body = get_page(browser, "/company/AAPL/segments")
    values = [int(row[1].replace(",", "")) for row in parse_rows(body)[1:]]
    assert values == sorted(values, reverse=True)
    assert find_row(body, "iPhone")[0] == "201,183"


def test_members_have_the_labels_of_their_filings(browser: Client) -> None:
    def list_names(axis: str) -> list[str]:
        return [row[0] for row in parse_rows(get_page(browser, f"/company/AAPL/segments?axis={axis}"))[1:]]

    products = ["Products", "iPhone", "Services", "Wearables, Home and Accessories", "Mac", "iPad"]
    assert list_names("srt:ProductOrServiceAxis") == products
    regions = ["Americas", "Europe", "Greater China", "Rest of Asia Pacific", "Japan"]
    assert list_names("us-gaap:StatementBusinessSegmentsAxis") == regions
    assert get_page(browser, "/company/AAPL/segments").count("<title>Wearables, Home and Accessories") > 0
    assert segments_page.describe_name("us-gaap:StatementBusinessSegmentsAxis") == "Business segments"
    # The Financial Statement Data Sets have names without a taxonomy, and no labels.
    assert segments_page.describe_name("BusinessSegments") == "Business segments"


# ---- all of them


@run_each_case("tab", TABS)
def test_every_tab_has_content_and_names_its_cost(browser: Client, tab: str) -> None:
    body = get_page(browser, f"/company/AAPL{tab}")
    assert len(body) < 100_000
    assert body.count('aria-current="page"') == 1
    assert re.search(r"<summary>\d calls? of the API, \d+ tokens</summary>", body)
    assert "<svg" in body or "<table" in body
    assert " style=" not in body
    assert "<script>" not in body


@run_each_case("tab", TABS)
def test_every_tab_can_be_downloaded_as_csv(browser: Client, tab: str) -> None:
    body = get_page(browser, f"/company/AAPL{tab}")
    match = re.search(r'<a href="([^"]+)" rel="nofollow" class="csv">CSV</a>', body)
    assert match is not None
    answer = browser.get(match[1].replace("&amp;", "&"), headers=HTML)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9-]+\.csv"', answer.headers["content-disposition"])
    names, *rows = csv.reader(io.StringIO(answer.body.decode()))
    assert len(names) > 3
    assert rows
    assert {len(row) for row in rows} == {len(names)}


def test_the_csv_of_a_list_equals_the_apis(browser: Client) -> None:
    csv_body = browser.get("/company/AAPL/filings?format=csv&form_type=8-K").body
    user = users.create(browser.app, "csv@example.com", "pro", NOW)
    headers = {"X-API-Key": user.api_key, "Accept": "text/csv"}
    assert csv_body == browser.get("/api/v1/sec/filings?ticker=AAPL&form_type=8-K&limit=50", headers=headers).body


def test_hostile_names_are_escaped_on_every_tab() -> None:
    app = apps.create_in_memory(Config(pages="public", pages_per_minute=100_000), FixedClock(NOW))
    load_demo(app)
    with app.db.write() as tx:
        for column in ("companies SET name", "lines SET label", "insiders SET name"):
            run_sql(tx, f"UPDATE {column} = ?", ("<script>x</script>\"'&",))
        tx.run("bump_data_version")
    for tab in TABS:
        body = get_page(Client(app), f"/company/320193{tab}")
        assert "<script>x" not in body
        assert "&lt;script&gt;x" in body
    app.db.close()


# ---- who pays


@pytest.fixture
def members() -> Iterator[App]:
    app = apps.create_in_memory(Config(pages="members", pages_per_minute=100_000), FixedClock(NOW))
    load_demo(app)
    yield app
    app.db.close()


def test_tabs_for_members_return_401_to_visitors(members: App) -> None:
    assert [Client(members).get(f"/company/AAPL{tab}", headers=HTML).status for tab in TABS] == [401] * len(TABS)


def test_tabs_return_404_if_pages_are_off() -> None:
    app = apps.create_in_memory(Config(pages="off", pages_per_minute=100_000), FixedClock(NOW))
    assert [Client(app).get(f"/company/AAPL{tab}", headers=HTML).status for tab in TABS] == [404] * len(TABS)
    assert b'href="/claims"' not in Client(app).get("/status", headers=HTML).body
    app.db.close()


def test_an_unchanged_tab_returns_304(browser: Client) -> None:
    first = browser.get("/company/AAPL/financials", headers=HTML)
    again = browser.get("/company/AAPL/financials", headers={**HTML, "If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert first.headers["cache-control"] == "private, no-cache"
