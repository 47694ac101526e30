"""The pages of a company over the demo's data: exact figures, their proofs, CSV, what is missing, hostile names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.demo import data
from finapi.web.html import charts, number_formats
from finapi.web.pages.company import charts_page
from finapi.web.pages.company.statements_page import join_statements
from tests.client import Client
from tests.pages.conftest import HTML, NOW, row_of, rows_of, text_of

TABS = ("", "/statements", "/financials", "/charts", "/filings", "/insiders", "/holders", "/segments")


# ---- at a glance


@pytest.mark.parametrize("spelling", ["AAPL", "aapl", "320193", "0000320193"])
def test_a_company_is_found_in_any_spelling(page: Client, spelling: str) -> None:
    body = text_of(page, f"/company/{spelling}")
    assert "<h1>Apple Inc.</h1>" in body
    assert "Twelve months to 2025-12-27. Millions of USD, except per-share figures." in body


@pytest.mark.parametrize(
    ("said", "value"),
    [("Revenue", "435,617"), ("Net income", "117,777"), ("Free cash flow", "123,324"), ("Gross margin", "47.3 %")],
)
def test_a_figure_leads_to_its_proof_and_names_its_filing(page: Client, said: str, value: str) -> None:
    body = text_of(page, "/company/AAPL")
    cells = row_of(body, said)
    assert [cells[0], *cells[2:]] == [value, "", "0000320193-26-000006"]
    line = body[body.index(f'<th scope="row">{said}<') :]
    found = re.search(r'<a href="(/company/AAPL/proof/[^"]+)"', line)
    assert found is not None
    assert "0000320193-26-000006" in text_of(page, found[1])


def test_what_twelve_months_do_not_tell_the_fiscal_year_does(page: Client) -> None:
    assert row_of(text_of(page, "/company/AAPL"), "Diluted earnings per share")[:2] == ["–a", "7.46"]


def test_reports_without_statements_are_named_with_how_they_are_loaded(page: Client) -> None:
    body = text_of(page, "/company/AAPL/statements")
    told = re.search(r"Not loaded: (.*?)</p>", body)
    assert told is not None
    assert '<a href="/filing/0000320193-25-000079">10-K of 2025-10-31</a>' in told[1]
    assert "0000320193-24-000123" not in told[1]
    assert "<code>finapi load AAPL</code>" in told[1]


def test_members_of_which_one_is_part_of_another_are_not_stacked(page: Client) -> None:
    body = text_of(page, "/company/AAPL/segments")
    assert "The 6 greatest" in body
    assert "<rect" not in body


def test_a_figure_that_is_missing_says_why(page: Client) -> None:
    body = text_of(page, "/company/UPXI")
    assert re.search(r'<td class="none">–<sup title="[^"]+">a</sup></td>', body)
    assert re.search(r'<dl class="reasons"><dt>a</dt><dd><b>[^<]+</b>\. [^<]+</dd>', body)


def test_a_company_without_figures_or_filings_says_so_and_how_they_come(page: Client) -> None:
    body = text_of(page, "/company/NFLX")
    assert "No fiscal year with revenue or net income." in body
    assert "No filings of this kind." in body
    assert "<code>finapi ingest</code>" in body


def test_what_is_not_held_says_how_to_load_it(page: Client) -> None:
    body = text_of(page, "/company/msft", 404)
    assert "<code>finapi load MSFT</code>" in body
    assert 'action="/search"' in body


def test_prices_that_are_made_up_say_so(page: Client) -> None:
    assert "Prices are made up" in text_of(page, "/company/AAPL")
    assert "Close by week (made up)" in text_of(page, "/company/AAPL/insiders")


# ---- statements as filed


def test_a_balance_sheet_stands_as_it_was_filed(page: Client) -> None:
    body = text_of(page, "/company/AAPL/statements?statement=balance&period=Q")
    assert "Balance sheet as filed. Millions of USD, unless a line gives another unit." in body
    assert row_of(body, "Cash and cash equivalents") == ["28,162", "29,943"]
    assert row_of(body, "Accumulated deficit") == ["(15,552)", "(19,154)"]
    assert row_of(body, "Commitments and contingencies") == ["–a", "–a"]
    assert "<b>Reported as nil</b>" in body
    assert '<tr class="total"><th scope="row" class="l2" title="us-gaap:Assets">Total assets</th>' in body
    assert '<tr class="heading"><th scope="row" colspan="3" class="l1">ASSETS:</th></tr>' in body


def test_lines_in_another_unit_say_so(page: Client) -> None:
    body = text_of(page, "/company/AAPL/statements?period=Q")
    assert row_of(body, "Diluted (in dollars per share) USD/shares")[0] == "1.65"


def test_negated_lines_show_the_sign_of_the_filing(page: Client) -> None:
    body = text_of(page, "/company/AAPL/statements?statement=cash-flow&period=Q")
    assert row_of(body, "Payments for dividends and dividend equivalents") == ["(7,614)", "(7,535)"]


def test_a_figure_as_filed_leads_to_every_filing_that_tells_it(page: Client) -> None:
    body = text_of(page, "/company/AAPL/statements?statement=balance&period=Q")
    assert '<a href="fact/us-gaap:Assets?end=2025-03-29">331,233</a>' in body
    fact = text_of(page, "/company/AAPL/fact/us-gaap:Assets?end=2025-03-29")
    assert rows_of(fact)[1][1:6] == ["331,233,000,000", "USD", "2025-03-29", "10-Q", "2025-05-02"]
    assert 'href="https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/aapl-20250329.htm"' in fact
    assert text_of(page, "/company/AAPL/fact/us-gaap:Nothing", 404)


def _filed(accession: str, columns: list[tuple[str, str]], rows: list[tuple[str, list[str | None]]]) -> dict[str, Any]:
    made = [
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
    shown = [{"start_date": start, "end_date": end} for start, end in columns]
    return {
        "meta": {"accession": accession, "form_type": "10-K"},
        "data": {"statements": {"income": {"columns": shown, "rows": made}}},
    }


def test_periods_of_several_reports_stand_side_by_side() -> None:
    year = [("2024-01-01", "2024-12-31"), ("2023-01-01", "2023-12-31"), ("2022-01-01", "2022-12-31")]
    older = _filed("old", year[1:], [("A", ["5", "6"]), ("B", ["7", "8"]), ("C", ["4", "4"])])
    newer = _filed("new", year[:2], [("A", ["1", "2"]), ("C", ["3", None])])
    columns, lines = join_statements([newer, older], "latest")
    assert [(one.last_day[:4], one.accession_number) for one in columns] == [
        ("2024", "new"),
        ("2023", "new"),
        ("2022", "old"),
    ]
    # A line that only the older report has stands where it stood there.
    assert [line.row["concept"] for line in lines] == ["A", "B", "C"]
    told = [[line.values.get((one.report_index, one.column_index)) for one in columns] for line in lines]
    assert told == [
        [("1", None), ("2", None), ("6", None)],
        [None, None, ("8", None)],
        [("3", None), (None, "reported_nil"), ("4", None)],
    ]
    columns, _ = join_statements([newer, older], "original")
    assert [(one.last_day[:4], one.accession_number) for one in columns] == [
        ("2024", "new"),
        ("2023", "old"),
        ("2022", "old"),
    ]


def test_of_columns_that_end_together_the_shortest_is_shown() -> None:
    both = [("2024-10-01", "2024-12-31"), ("2024-07-01", "2024-12-31"), ("2023-10-01", "2023-12-31")]
    columns, _ = join_statements([_filed("new", both, [("A", ["1", "2", "3"])])], "latest")
    assert [one[:2] for one in columns] == [both[0], both[2]]


# ---- standardised series


def test_a_template_is_filled_year_by_year(page: Client) -> None:
    body = text_of(page, "/company/AAPL/financials")
    assert row_of(body, "Revenue") == ["416,161", "391,035", "383,285", "394,328", "365,817", "274,515", "260,174"]
    assert row_of(body, "Other nonoperating items") == ["(321)", "269", "(382)", "(228)", "60", "(87)", "422"]
    assert row_of(body, "Diluted earnings per share") == ["7.46", "6.08", "6.13", "6.11", "5.61", "3.28", "2.97"]
    assert '<tr class="total"><th scope="row">Gross profit</th>' in body
    assert "The totals add up." in body
    # No year tells it: the line is left out.
    assert "Preferred dividends" not in body


def test_growth_and_margins_are_in_per_cent_and_multiples(page: Client) -> None:
    body = text_of(page, "/company/AAPL/financials?statement=ratios")
    assert row_of(body, "Revenue growth, year over year")[:3] == ["6.4 %", "2.0 %", "(2.8 %)"]
    assert row_of(body, "Gross margin")[0] == "46.9 %"
    assert row_of(body, "Current ratio")[0] == "0.89"


def test_the_day_and_the_vintage_go_with_every_link(page: Client) -> None:
    body = text_of(page, "/company/AAPL/financials?as_of=2024-01-01&basis=original")
    assert row_of(body, "Revenue") == ["383,285", "394,328", "365,817", "274,515", "260,174"]
    assert 'href="proof/revenue/A2023FY?as_of=2024-01-01&amp;basis=original"' in body
    assert 'href="/company/AAPL/statements?as_of=2024-01-01&amp;basis=original"' in body
    assert 'value="2024-01-01"' in body
    # An empty field of the form is none.
    assert "391,035" in text_of(page, "/company/AAPL/financials?as_of=&basis=latest")


@pytest.mark.parametrize("query", ["as_of=yesterday", "basis=any", "period=X", "statement=none", "format=xml"])
def test_what_is_no_view_is_refused(page: Client, query: str) -> None:
    assert "must be" in text_of(page, f"/company/AAPL/financials?{query}", 400)


# ---- proofs


def test_a_proof_shows_formula_facts_signs_and_filings(page: Client) -> None:
    body = text_of(page, "/company/AAPL/proof/gross_margin/A2024FY")
    assert '<strong>46.2 %</strong> <span class="quiet">0.462063498152 ratio</span>' in body
    assert "<code>gross_profit / revenue</code>" in body
    assert row_of(body, "Gross profit") == ["FY 2024", "180,683,000,000", "USD"]
    told = ["+", "us-gaap:GrossProfit", "180,683,000,000", "USD", "2023-10-01 to 2024-09-28", "10-K"]
    assert told in [row[:6] for row in rows_of(body)]
    assert 'href="https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/' in body
    assert "Rules in order of preference" in text_of(page, "/company/AAPL/proof/revenue/A2024FY")


def test_a_proof_names_its_twelve_months_by_their_end(page: Client) -> None:
    assert ">Revenue, twelve months to 2025-03-29</h2>" in text_of(page, "/company/AAPL/proof/revenue/TTM2025Q2")
    assert ">Revenue, FY 2024</h2>" in text_of(page, "/company/AAPL/proof/revenue/A2024FY")


def test_a_day_before_the_first_filing_is_not_a_matter_of_loading(page: Client) -> None:
    body = text_of(page, "/company/AAPL?as_of=1999-01-01")
    assert "filed by 1999-01-01." in body
    assert "finapi load" not in body


def test_a_company_that_reports_what_it_holds_leads_there(page: Client) -> None:
    assert '<a href="/fund/0001067983">what it holds</a>' in text_of(page, "/company/1067983")
    assert "what it holds" not in text_of(page, "/company/AAPL")


def test_the_proof_of_a_missing_figure_is_its_reason(page: Client) -> None:
    assert "<b>Not reported.</b>" in text_of(page, "/company/AAPL/proof/goodwill/A2024FY")


@pytest.mark.parametrize("cell", ["goodwill/A2024", "nothing/A2024FY", "revenue/A2024FY%22%3E", "revenue/A1999FY"])
def test_a_cell_that_is_none_is_not_found(page: Client, cell: str) -> None:
    assert text_of(page, f"/company/AAPL/proof/{cell}", 404)


# ---- lists


def test_filings_are_filtered_by_form_item_and_day(page: Client) -> None:
    body = text_of(page, "/company/AAPL/filings?form_type=8-K&items=5.02&from_date=2025-12-01&to_date=")
    assert [row[:3] for row in rows_of(body)[1:]] == [["2026-01-02", "8-K", "5.02"], ["2025-12-05", "8-K", "5.02"]]
    assert "2 filings" in body
    assert "No filings of this kind." in text_of(page, "/company/AAPL/filings?form_type=S-1")


def test_insiders_trade_beside_the_price(page: Client) -> None:
    body = text_of(page, "/company/AAPL/insiders?standard_type=sale")
    told = [
        "2022-05-04",
        "Adams Katherine L.",
        "SVP, GC and Secretary",
        "sale",
        "2,292",
        "165.95",
        "380,357",
        "452,334",
    ]
    assert told in [row[:8] for row in rows_of(body)]
    assert "<dt>Sales</dt><dd>7 for 4 m USD</dd>" in body
    assert "Adams Katherine L., 2022-05-04: sale" in body
    assert '<a href="/insider/0001462356">' in body


def test_holders_are_funds_with_their_change(page: Client) -> None:
    body = text_of(page, "/company/AAPL/holders")
    told = ["692,000", "175,622,680", "0.07 %", "–", "no report for the previous quarter", "0001193125-26-226661"]
    assert row_of(body, "Berkshire Hathaway Inc") == told
    assert '<a href="/fund/0001067983">' in body


def test_a_balance_is_drawn_only_where_all_of_its_parts_are_known() -> None:
    names = ("total_current_liabilities", "total_liabilities", "total_equity")
    years = ((2021, (None, None, 9)), (2022, (1, 3, 5)))
    rows: list[Any] = [
        {"fiscal_year": year, "fiscal_period": "FY", "metrics": dict(zip(names, map(_decimal, told), strict=True))}
        for year, told in years
    ]
    (drawn,) = [one for one in charts_page.render_charts(rows, "USD") if one]
    titles = re.findall("<title>([^<]+)</title>", drawn)
    assert titles == ["Current liabilities, 2022: 1", "Other liabilities, 2022: 2", "Equity, 2022: 5"]


def _decimal(value: int | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def test_segments_are_sorted_by_size(page: Client) -> None:
    body = text_of(page, "/company/AAPL/segments")
    values = [int(row[1].replace(",", "")) for row in rows_of(body)[1:]]
    assert values == sorted(values, reverse=True)
    assert row_of(body, "iPhone")[0] == "201,183"


# ---- all of them


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_has_content_and_says_what_it_costs(page: Client, tab: str) -> None:
    body = text_of(page, f"/company/AAPL{tab}")
    assert len(body) < 100_000
    assert body.count('aria-current="page"') == 1
    assert re.search(r"<summary>\d calls? of the API, \d+ tokens</summary>", body)
    assert "<svg" in body or "<table" in body
    assert " style=" not in body
    assert "<script>" not in body


@pytest.mark.parametrize("tab", TABS)
def test_every_table_has_its_csv(page: Client, tab: str) -> None:
    body = text_of(page, f"/company/AAPL{tab}")
    found = re.search(r'<a href="([^"]+)" rel="nofollow" class="csv">CSV</a>', body)
    assert found is not None
    answer = page.get(found[1].replace("&amp;", "&"), headers=HTML)
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="')
    names, *rows = csv.reader(io.StringIO(answer.body.decode()))
    assert len(names) > 3
    assert rows
    assert {len(row) for row in rows} == {len(names)}


def test_a_csv_of_a_list_is_what_the_api_answers(page: Client) -> None:
    shown = page.get("/company/AAPL/filings?format=csv&form_type=8-K").body
    user = users.create(page.app, "csv@example.com", "pro", NOW)
    headers = {"X-API-Key": user.api_key, "Accept": "text/csv"}
    assert shown == page.get("/api/v1/sec/filings?ticker=AAPL&form_type=8-K&limit=50", headers=headers).body


def test_hostile_names_are_text_on_every_tab() -> None:
    app = apps.create_in_memory(Config(pages="public", pages_per_minute=100_000), FixedClock(NOW))
    data.load(app)
    with app.db.write() as tx:
        for place in ("companies SET name", "lines SET label", "insiders SET name"):
            tx._connection.execute(f"UPDATE {place} = ?", ("<script>x</script>\"'&",))
        tx.run("bump_data_version")
    for tab in TABS:
        body = text_of(Client(app), f"/company/320193{tab}")
        assert "<script>x" not in body
        assert "&lt;script&gt;x" in body
    app.db.close()


# ---- who pays


@pytest.fixture
def members() -> Iterator[App]:
    app = apps.create_in_memory(Config(pages="members", pages_per_minute=100_000), FixedClock(NOW))
    data.load(app)
    yield app
    app.db.close()


def test_strangers_are_asked_to_sign_in_where_pages_are_for_members(members: App) -> None:
    assert [Client(members).get(f"/company/AAPL{tab}", headers=HTML).status for tab in TABS] == [401] * len(TABS)


def test_where_pages_are_off_nothing_is_shown() -> None:
    app = apps.create_in_memory(Config(pages="off", pages_per_minute=100_000), FixedClock(NOW))
    assert [Client(app).get(f"/company/AAPL{tab}", headers=HTML).status for tab in TABS] == [404] * len(TABS)
    app.db.close()


def test_a_page_that_is_asked_again_is_not_sent_again(page: Client) -> None:
    first = page.get("/company/AAPL/financials", headers=HTML)
    again = page.get("/company/AAPL/financials", headers={**HTML, "If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert first.headers["cache-control"] == "private, no-cache"


# ---- how figures are written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal(391_035_000_000), "391 bn"),
        (Decimal("-1.5"), "(1.5)"),
        (Decimal(0), "0"),
        (Decimal(2_500_000), "2.5 m"),
        (-50_000_000_000, "(50 bn)"),
        (Decimal(12_345), "12.3 k"),
    ],
)
def test_amounts_are_written_short(value: Decimal, written: str) -> None:
    assert number_formats.format_short(value) == written


@pytest.mark.parametrize(
    ("most", "places"), [(10**11, 6), (10**8, 6), (10**8 - 1, 3), (10**5, 3), (99_999, 0), (0, 0), (-(10**9), 6)]
)
def test_a_table_is_scaled_by_its_greatest_figure(most: int, places: int) -> None:
    assert number_formats.choose_scale([Decimal(most), None]).exponent == places


def test_what_would_be_rounded_to_nothing_keeps_a_digit() -> None:
    assert number_formats.format_money(Decimal(400_000), number_formats.MILLIONS) == "0.4"
    assert number_formats.format_money(Decimal(-1_400_000), number_formats.MILLIONS) == "(1)"


def test_bars_stand_on_nought_and_hang_below_it() -> None:
    drawn = charts.render_bar_chart(
        "T", ["1", "2"], [charts.ChartSeries("A", [Decimal(10), Decimal(-10)], number_formats.format_short)]
    )
    found = re.findall(r'<rect class="c1" x="[^"]+" y="([^"]+)" width="[^"]+" height="([^"]+)"><title>([^<]+)', drawn)
    assert [said for *_, said in found] == ["A, 1: 10", "A, 2: (10)"]
    (top, high, _), (under, _, _) = found
    assert float(top) + float(high) == float(under)


@pytest.mark.parametrize("values", [[], [None, None], [Decimal(1)]])
def test_a_chart_of_nothing_is_none(values: list[Decimal | None]) -> None:
    series = charts.ChartSeries("A", values, number_formats.format_short)
    assert charts.render_sparkline(values, "A") == ""
    assert charts.render_daily_chart("T", "a", "b", series) == ""
    if not any(value is not None for value in values):
        assert (
            charts.render_bar_chart("T", [""] * len(values), [series])
            == charts.render_stacked_chart("T", [""] * len(values), [series])
            == ""
        )
