"""Statements, series, template and debt of a company that reports under IFRS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import SHARED, needs_shared
from tests.market.statements import ifrs_filing
from tests.market.statements.ifrs_filing import BALANCE, CIK, FLOWS, NEGATED, PROFIT
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, get_cell_text

NAME = f"/api/v1/xbrl/companies/{CIK}/statements"


def ingest_documents(app: App, folder: Path, documents: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in documents.items():
        (folder / name).write_bytes(data)
    outcomes: list[str] = []
    ingest.run(app, [folder], IngestOptions(), lambda outcome: outcomes.append(outcome.outcome))
    assert set(outcomes) == {"ingested"}


def get_data(app: App, user: users.NewUser, path: str, **query: str) -> Any:
    answer = Client(app, user.api_key).get(path, query=query)
    assert answer.status == 200, answer.body
    return answer.json["data"]


@pytest.mark.parametrize("schema", [True, False])
def test_statements_are_as_filed(app: App, user: users.NewUser, tmp_path: Path, schema: bool) -> None:
    ingest_documents(app, tmp_path / "filing", ifrs_filing.documents(schema=schema))
    statements = get_data(app, user, NAME)["statements"]
    assert list(statements) == ["income", "comprehensive-income", "balance", "cash-flow"]
    for kind, lines in (("income", PROFIT), ("balance", BALANCE)):
        rows = [row for row in statements[kind]["rows"] if not row["abstract"]]
        assert [(row["concept"].rpartition(":")[2], row["label"], row["negated"]) for row in rows] == [
            (line.element.rpartition(":")[2], line.label, line.role == NEGATED) for line in lines
        ]
        assert [row["values"][0] for row in rows] == [
            line.values[0] + ("" if "PerShare" in line.element else "000000") for line in lines
        ]
        assert {row["unit"] for row in rows} == {"EUR", *(["EUR/shares"] if kind == "income" else [])}
    flows = [row for row in statements["cash-flow"]["rows"] if not row["abstract"]]
    assert [row["label"] for row in flows] == [line.label for line in FLOWS]
    assert [row["values"] for row in flows[-2:]] == [["70000000", "55000000"], ["90000000", "70000000"]]


# The value of each metric for 2024, in millions.
SERIES = {
    "revenue": 900,
    "cost_of_revenue": 540,
    "gross_profit": 360,
    "selling_general_admin": 160,
    "operating_income": 200,
    "interest_expense": 24,
    "interest_income": 4,
    "equity_method_earnings": 10,
    "pretax_income": 190,
    "income_tax": 50,
    "net_income": 132,
    "minority_interest_income": 8,
    "other_comprehensive_income": -15,
    "comprehensive_income": 125,
    "cash_and_equivalents": 90,
    "accounts_receivable": 140,
    "inventory": 110,
    "total_current_assets": 340,
    "ppe_net": 600,
    "goodwill": 150,
    "intangibles_ex_goodwill": 90,
    "total_assets": 1200,
    "accounts_payable": 180,
    "short_term_debt": 25,
    "long_term_debt": 330,
    "total_debt": 410,
    "total_current_liabilities": 260,
    "total_liabilities": 650,
    "common_stock_par": 100,
    "additional_paid_in_capital": 80,
    "retained_earnings": 350,
    "treasury_stock": 30,
    "minority_interest": 50,
    "total_equity": 550,
    "operating_cashflow": 198,
    "depreciation_amortization": 75,
    "stock_based_compensation": 5,
    "capex": 110,
    "investing_cashflow": -110,
    "debt_repaid": 15,
    "dividends_paid": 50,
    "financing_cashflow": -65,
    "effect_of_fx_on_cash": -3,
    "net_change_in_cash": 20,
    "cash_at_beginning_of_period": 70,
    "cash_at_end_of_period": 90,
    "free_cashflow": 88,
    "ebitda": 275,
    "net_debt": 320,
    "working_capital": 80,
    "invested_capital": 870,
}


def test_series_and_template_use_ifrs_tags(app: App, user: users.NewUser, tmp_path: Path) -> None:
    ingest_documents(app, tmp_path / "filing", ifrs_filing.documents())
    data = get_data(app, user, "/api/v1/xbrl/timeseries", ticker=str(CIK), provenance="full", template="true")
    assert (data["reporting_currency"], [row["fiscal_year"] for row in data["rows"]]) == ("EUR", [2024, 2023])
    cells = data["rows"][0]["metrics"]
    assert {key: cells[key]["value"] // 1_000_000 for key in SERIES} == SERIES
    assert (cells["eps_basic"]["value"], cells["weighted_average_shares_diluted"]["value"]) == (1.32, 101_500_000)
    assert [(operand["sign"], operand["concept"], operand["value"]) for operand in cells["total_debt"]["operands"]] == [
        (1, "ifrs-full:ShorttermBorrowings", 25_000_000),
        (1, "ifrs-full:CurrentPortionOfLongtermBorrowings", 55_000_000),
        (1, "ifrs-full:LongtermBorrowings", 330_000_000),
    ]
    for row in data["rows"]:
        footing = {name: operand["footing_status"] for name, operand in row["template"].items()}
        assert set(footing.values()) == {"consistent"}, footing
    lines = {line["key"]: line for line in data["rows"][0]["template"]["income"]["lines"]}
    # The filer shows the income of associates before tax: it is part of pretax income and not added to it again.
    assert lines["equity_method_earnings"]["parent"] == "pretax_income"


def test_an_extension_is_mapped_by_its_label_and_section(app: App, user: users.NewUser, tmp_path: Path) -> None:
    documents = {
        name: data.replace(b"ifrs-full:TradeAndOtherCurrentReceivables", b"nord:Debtors")
        .replace(b"ifrs-full_TradeAndOtherCurrentReceivables", b"nord_Debtors")
        .replace(b">Trade and other receivables<", b">Trade receivables<")
        for name, data in ifrs_filing.documents().items()
    }
    ingest_documents(app, tmp_path / "filing", documents)
    query = {"ticker": str(CIK), "metrics": "accounts_receivable,total_debt", "provenance": "full"}
    cells = get_data(app, user, "/api/v1/xbrl/timeseries", **query)["rows"][0]["metrics"]
    # The non-current section has a line with the same label, which must not be used.
    assert (cells["accounts_receivable"]["value"], cells["accounts_receivable"]["concept"]) == (
        140_000_000,
        "nord:Debtors",
    )
    # "Debtors" must not be mapped to debt.
    assert cells["total_debt"]["value"] == 410_000_000


REPORT = build_filing("0000000001-25-000001", "20-F", "2025-04-01", fiscal_year=2024, fiscal_period="FY")


def day(tag: str, value: str) -> Fact:
    """Return a fact for an instant under an IFRS tag."""
    return (f"ifrs-full:{tag}", None, "2024-12-31", value, REPORT.accession)


BASE: list[Fact] = [("ifrs-full:ProfitLoss", "2024-01-01", "2024-12-31", "7", REPORT.accession)]


@run_each_case(
    "facts, debt",
    [
        ([("CurrentBorrowingsAndCurrentPortionOfNoncurrentBorrowings", "60"), ("LongtermBorrowings", "100")], "160"),
        (
            [
                ("ShorttermBorrowings", "20"),
                ("CurrentPortionOfLongtermBorrowings", "40"),
                ("LongtermBorrowings", "100"),
            ],
            "160",
        ),
        ([("CurrentPortionOfLongtermBorrowings", "40"), ("LongtermBorrowings", "100")], "140"),
        ([("Borrowings", "155"), ("LongtermBorrowings", "100"), ("ShorttermBorrowings", "20")], "155"),
    ],
)
def test_ifrs_debt_is_the_total_or_the_sum_of_its_parts(facts: list[tuple[str, str]], debt: str) -> None:
    book = build_company_book([REPORT], [*BASE, *(day(*fact) for fact in facts)])
    assert get_cell_text(book, "total_debt", "2024 FY") == debt


@needs_shared
def test_all_templates_of_a_20f_filer_are_consistent(app: App, user: users.NewUser) -> None:
    ingest.run(app, [SHARED / "edgar" / "companyfacts" / "CIK0001997711.json"], IngestOptions(), lambda outcome: None)
    data = get_data(app, user, "/api/v1/xbrl/timeseries", ticker="1997711", template="true", years="2022-2024")
    assert [row["fiscal_year"] for row in data["rows"]] == [2024, 2023, 2022]
    for row in data["rows"]:
        footing = {name: statement["footing_status"] for name, statement in row["template"].items()}
        assert set(footing.values()) == {"consistent"}, (row["fiscal_year"], footing)
