"""The line of a statement that prints a fact: in proofs, in tables, and on the pages that links open."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from html import unescape
from typing import Any, NamedTuple

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.market.statements import filed_statements, printed_lines
from finapi.market.statements.fact_links import FactKey
from finapi.market.statements.filed_statements import FiledStatement
from finapi.market.statements.printed_lines import FactPrint, StatedFact
from tests.client import Client
from tests.conftest import SHARED, needs_shared
from tests.support.brook_lamps_report import (
    ACCESSION,
    BALANCE,
    CASH_FLOW,
    CIK,
    COVER_PAGE,
    INCOME,
    build_report,
    item,
    store_report,
)
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.html_pages import get_page
from tests.support.raw_sql import run_sql

PAGE = f"/filing/{ACCESSION}"
# A fact of a companyfacts document, whose filing has no stored statements.
REVENUE = {
    "accn": "0000000077-24-000001",
    "fy": 2023,
    "fp": "FY",
    "form": "10-K",
    "filed": "2024-02-20",
    "start": "2023-01-01",
    "end": "2023-12-31",
    "val": 3023,
}
HOSTILE_LABEL = "<script>alert(1)</script>\u202e" + "x" * 10_000


@pytest.fixture
def open_app(make_app: Callable[..., App]) -> App:
    """Return an app with one annual report and public pages."""
    app = make_app(pages="public")
    store_report(app, build_report())
    return app


def find_print(app: App, concept: str, start: str | None, end: str, value: str, unit: str = "USD") -> FactPrint:
    key = FactKey(ACCESSION, f"us-gaap:{concept}", unit, start, end)
    with app.db.read() as tx:
        (fact_print,) = printed_lines.find_prints(tx, [StatedFact(key, Decimal(value))])
    return fact_print


def build_client(app: App) -> Client:
    """Return a client with the key of a new account."""
    return Client(app, users.create(app, "ann@example.com", "pro", app.clock.now()).api_key)


def get_operands(client: Client, metric: str) -> Any:
    query = {"cik": str(CIK), "metric": metric, "fiscal_year": "2024", "fiscal_period": "FY"}
    answer = client.get("/api/v1/xbrl/proof", query=query)
    assert answer.status == 200, answer.body
    return answer.json["data"]["cell"]["operands"]


PLACES = [
    ("Revenues", "2024-01-01", "2024-12-31", "1000000", ("Net sales", None, False, "income", 2, 1)),
    ("Revenues", "2023-01-01", "2023-12-31", "900000", ("Net sales", None, False, "income", 2, 2)),
    ("CostOfRevenue", "2024-01-01", "2024-12-31", "600000", ("Cost of sales", "negatedLabel", True, "income", 3, 1)),
    ("NetIncomeLoss", "2024-01-01", "2024-12-31", "400000", ("Net income", "totalLabel", False, "income", 7, 1)),
    ("Cash", None, "2023-12-31", "100000", ("Cash", None, False, "balance", 2, 2)),
    # The opening balance of the earlier year is on the statement of cash flows only.
    ("Cash", None, "2022-12-31", "80000", ("Cash, beginning", "periodStartLabel", False, "cash-flow", 1, 2)),
]


@run_each_case("concept, start, end, value, place", PLACES)
def test_a_fact_has_the_line_and_the_column_that_print_it(
    app: App, concept: str, start: str | None, end: str, value: str, place: tuple[Any, ...]
) -> None:
    store_report(app, build_report())
    line, reason = find_print(app, concept, start, end, value)
    assert (line is not None, reason) == (True, None)
    assert line is not None
    members = ("label", "label_role", "negated", "statement", "line", "column")
    assert tuple(line[name] for name in members) == place  # type: ignore[literal-required]


def test_a_printed_line_names_its_statement_and_opens_its_cell(app: App) -> None:
    store_report(app, build_report())
    assert find_print(app, "Cash", None, "2024-12-31", "125000.00") == (
        {
            "label": "Cash",
            "label_role": None,
            "negated": False,
            "statement": "balance",
            "statement_name": "CONSOLIDATED BALANCE SHEETS",
            "line": 2,
            "column": 1,
            "column_heading": "2024-12-31",
            "page_url": f"{PAGE}?section=3#line-2-column-1",
        },
        None,
    )
    line = find_print(app, "Revenues", "2024-01-01", "2024-12-31", "1000000").line
    assert line is not None
    assert line["column_heading"] == "12 months to 2024-12-31"


@run_each_case(
    "concept, end, value",
    [
        ("Cash", "2024-12-31", "125001"),
        ("Cash", "2024-12-30", "125000"),
        ("Goodwill", "2024-12-31", "125000"),
        # Each figure of this concept has a dimension.
        ("StockIssued", "2024-12-31", "5000"),
    ],
)
def test_a_fact_that_no_line_prints_has_a_reason(app: App, concept: str, end: str, value: str) -> None:
    store_report(app, build_report())
    assert find_print(app, concept, None, end, value) == (None, "not_on_a_statement")
    assert find_print(app, "Cash", None, "2024-12-31", "125000", unit="EUR") == (None, "not_on_a_statement")


def test_a_filing_without_stored_statements_has_a_reason(app: App) -> None:
    assert find_print(app, "Cash", None, "2024-12-31", "125000") == (None, "no_stored_statement")
    store_report(app, replace(build_report(), sections=(COVER_PAGE,)))
    assert find_print(app, "Cash", None, "2024-12-31", "125000") == (None, "no_stored_statement")


def test_a_line_whose_value_is_not_a_number_prints_no_fact(app: App) -> None:
    report = build_report()
    facts = [fact._replace(value="see note") if fact.concept == "us-gaap:Cash" else fact for fact in report.facts]
    store_report(app, replace(report, facts=facts))
    assert find_print(app, "Cash", None, "2024-12-31", "125000") == (None, "not_on_a_statement")


def test_a_statement_in_parentheses_comes_last(app: App) -> None:
    parentheses = BALANCE._replace(kind="balance-parenthetical")
    store_report(app, replace(build_report(), sections=(parentheses, BALANCE)))
    line = find_print(app, "Cash", None, "2024-12-31", "125000").line
    assert line is not None
    assert (line["statement"], line["page_url"]) == ("balance", f"{PAGE}?section=2#line-2-column-1")


def test_a_statement_without_a_stored_title_is_named_by_its_kind(make_app: Callable[..., App]) -> None:
    app = make_app(pages="public")
    store_report(app, replace(build_report(), sections=(INCOME._replace(definition=""), BALANCE, CASH_FLOW)))
    line = find_print(app, "Revenues", "2024-01-01", "2024-12-31", "1000000").line
    assert line is not None
    assert (line["statement"], line["statement_name"]) == ("income", None)
    page = get_page(Client(app), f"/company/{CIK}/proof/revenue/A2024FY")
    assert '<bdi>Net sales</bdi><small class="under"><bdi>Income statement</bdi>, <a href=' in page


# ---- proofs


def test_a_proof_has_the_printed_line_of_each_fact(open_app: App) -> None:
    client = build_client(open_app)
    (operand,) = get_operands(client, "revenue")
    assert (operand["value"], operand["printed_reason"]) == (1000000, None)
    assert operand["printed"]["label"] == "Net sales"
    assert operand["printed"]["page_url"] == f"{PAGE}?section=2#line-2-column-1"
    gross_profit = get_operands(client, "gross_profit")
    assert [(fact["sign"], fact["printed"]["label"], fact["printed"]["negated"]) for fact in gross_profit] == [
        (1, "Net sales", False),
        (-1, "Cost of sales", True),
    ]


def test_a_proof_from_company_facts_has_a_reason(make_app: Callable[..., App]) -> None:
    app = make_app(pages="public")
    store_companyfacts(app, build_companyfacts(77, "Seventy-Seven Corp", [("us-gaap:Revenues", "USD", REVENUE)]))
    query = {"cik": "77", "metric": "revenue", "fiscal_year": "2023"}
    data = build_client(app).get("/api/v1/xbrl/proof", query=query).json["data"]
    facts = [*data["cell"]["operands"], *data["vintages"]]
    assert [(fact["printed"], fact["printed_reason"]) for fact in facts] == [(None, "no_stored_statement")] * 2
    page = get_page(Client(app), "/company/77/proof/revenue/A2023FY")
    assert unescape(page).count("The filing's statements are not stored.") == 2


def test_the_page_of_a_proof_shows_printed_labels(open_app: App) -> None:
    page = get_page(Client(open_app), f"/company/{CIK}/proof/gross_profit/A2024FY")
    assert '<dt>Printed as</dt><dd><ul class="plain"><li><bdi>Net sales</bdi></li><li><bdi>Cost of sales</bdi>' in page
    cell_url = f"{PAGE}?section=2#line-3-column-1"
    assert (
        '<td class="printed"><bdi>Cost of sales</bdi><small class="under"><bdi>CONSOLIDATED STATEMENTS OF OPERATIONS'
        f'</bdi>, <a href="{cell_url}">line 3, 12 months to 2024-12-31</a></small>'
        '<small class="under">printed with the opposite sign</small></td>'
    ) in page
    # Without an element on an inline page, the value leads to the cell.
    assert f'<td class="num"><a href="{cell_url}">600,000</a></td>' in page
    assert "<div data-panel>" in page
    assert 'src="/static/panel.js' in page


def test_a_hostile_label_is_escaped_and_shortened(make_app: Callable[..., App]) -> None:
    app = make_app(pages="public")
    lines = [item("us-gaap:Revenues", 1, HOSTILE_LABEL, "credit"), *INCOME.lines]
    income = INCOME._replace(lines=tuple(lines), definition=f"1 - Statement - {HOSTILE_LABEL}")
    store_report(app, replace(build_report(), sections=(income, BALANCE, CASH_FLOW)))
    (operand,) = get_operands(build_client(app), "revenue")
    assert operand["printed"]["label"] == HOSTILE_LABEL
    page = get_page(Client(app), f"/company/{CIK}/proof/revenue/A2024FY")
    shown_label = HOSTILE_LABEL[:199].replace("<", "&lt;").replace(">", "&gt;") + "…"
    assert page.count(f"<bdi>{shown_label}</bdi>") == 5
    assert "<script>" not in page
    assert "x" * 200 not in page


# ---- the cells that links open


def test_a_link_to_a_cell_opens_its_statement(open_app: App) -> None:
    page = get_page(Client(open_app), f"{PAGE}?section=4")
    assert re.search(r'<td id="line-1-column-2"><a href="[^"]+">80</a></td>', page)
    # The fact of an opening balance is that of the day before.
    assert '<td id="line-1-column-1"><a href="/company/0001234567/fact/us-gaap:Cash?end=2023-12-31">100</a>' in page
    assert re.search(r'<td id="line-3-column-1"><a href="[^"]+">125</a></td>', page)
    balance = get_page(Client(open_app), f"{PAGE}?section=3")
    assert re.search(r'<td id="line-3-column-2"><a href="[^"]+">100</a></td>', balance)
    assert 'id="line-1-' not in balance
    # The report has no such section: the first statement is shown, as without the parameter.
    assert ">1,000</a>" in get_page(Client(open_app), f"{PAGE}?section=99")
    assert get_page(Client(open_app), f"{PAGE}?section=x", 400)


def test_a_table_of_statements_has_the_page_of_each_cell(open_app: App) -> None:
    path = f"/api/v1/xbrl/filing/{ACCESSION}/statements"
    client = build_client(open_app)
    table = client.get(path, query={"statement": "income"}, headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(table.body.decode())))
    assert [(row["concept"], row["value"], row["page_url"]) for row in rows[2:6]] == [
        ("us-gaap:CostOfRevenue", "600000", f"{PAGE}?section=2#line-3-column-1"),
        ("us-gaap:CostOfRevenue", "550000", f"{PAGE}?section=2#line-3-column-2"),
        ("us-gaap:InterestExpense", "", ""),
        ("us-gaap:InterestExpense", "-12.50", f"{PAGE}?section=2#line-5-column-2"),
    ]
    query = {"statement": "income", "consolidated_only": "false"}
    full_table = client.get(path, query=query, headers={"Accept": "text/csv"})
    assert {row["page_url"] for row in csv.DictReader(io.StringIO(full_table.body.decode()))} == {""}


# ---- real filings


@needs_shared
@pytest.mark.slow
def test_every_value_of_real_statements_has_its_line_and_its_cell(make_app: Callable[..., App]) -> None:
    app = make_app(pages="public", pages_per_minute=100_000)
    ingest.run(app, [SHARED / "edgar" / "xbrl"], IngestOptions(), lambda outcome: None)
    rows = run_sql(app.db, "SELECT accession FROM filings JOIN reports ON filings.id = reports.filing_id")
    line_count = 0
    anchor_count = 0
    for (accession,) in rows.fetchall():
        with app.db.read() as tx:
            report = filed_statements.find_report_by_accession(tx, accession)
            assert report is not None
            statements = filed_statements.read_statements(tx, report)[0]
            cells = [cell for statement in statements.values() for cell in iter_cells(accession, statement)]
            fact_prints = printed_lines.find_prints(tx, [cell.fact for cell in cells])
        for cell, fact_print in zip(cells, fact_prints, strict=True):
            line = fact_print.line
            assert line is not None, cell
            row = statements[line["statement"]]["rows"][line["line"] - 1]
            assert row["concept"] == cell.fact.key.concept
            assert Decimal(row["values"][line["column"] - 1] or "") == cell.fact.value
            line_count += 1
        page_urls = {cell.page_url for cell in cells if cell.page_url is not None}
        pages = {url: get_page(Client(app), url) for url in page_urls}
        for cell in cells:
            if cell.page_url is not None:
                assert f'id="{cell.anchor}"' in pages[cell.page_url], cell
                anchor_count += 1
    assert line_count > anchor_count > 1_000


class StatedCell(NamedTuple):
    """A value of a statement, as a fact, with the page of the statement and the id of the cell."""

    fact: StatedFact
    page_url: str | None
    anchor: str


def iter_cells(accession: str, statement: FiledStatement) -> Iterator[StatedCell]:
    """Yield the numbers of a statement. Balances of a statement of durations are left out: their days vary."""
    for line_number, row in enumerate(statement["rows"], 1):
        if (row["preferred_label"] or "").endswith(("periodStartLabel", "periodEndLabel")):
            continue
        for column_number, (column, text) in enumerate(zip(statement["columns"], row["values"], strict=False), 1):
            if text is not None and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
                key = FactKey(accession, row["concept"], row["unit"] or "", column["start_date"], column["end_date"])
                anchor = filed_statements.build_cell_anchor(line_number, column_number)
                yield StatedCell(StatedFact(key, Decimal(text)), statement["page_url"], anchor)
