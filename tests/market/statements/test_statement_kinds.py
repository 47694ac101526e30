"""The kinds of sections, found from titles, URIs and concepts."""

from __future__ import annotations

import pytest

from finapi.market.statements import statement_kinds
from tests.support.case_tables import run_each_case


@run_each_case(
    "title, kind",
    [
        ("CONSOLIDATED STATEMENTS OF OPERATIONS", "income"),
        ("Consolidated Statements of Income (Unaudited)", "income"),
        ("CONSOLIDATED STATEMENTS OF EARNINGS", "income"),
        ("Consolidated Statements of Operations (Parenthetical)", "income-parenthetical"),
        ("CONDENSED CONSOLIDATED BALANCE SHEETS (Unaudited) (Parenthetical)", "balance-parenthetical"),
        ("Consolidated Statements of Financial Condition", "balance"),
        ("CONSOLIDATED STATEMENTS OF COMPREHENSIVE INCOME", "comprehensive-income"),
        ("CONSOLIDATED STATEMENTS OF CASH FLOWS", "cash-flow"),
        ("Consolidated Statements of Shareholders' Equity", "equity"),
        ("CONSOLIDATED STATEMENTS OF CONVERTIBLE PREFERRED STOCK AND STOCKHOLDERS' DEFICIT", "equity"),
        ("Statements of Operations and Comprehensive Loss", "income"),
        ("Statements of Operations and Comprehensive Loss (Parenthetical)", "income-parenthetical"),
        ("Statements of Operations and Changes in Net Assets", "income"),
        ("Consolidated Statements of Profit or Loss and Other Comprehensive Income", "income"),
        ("Balance Sheets - Liabilities and Stockholders' Equity", "balance"),
        ("Statements of Assets, Liabilities and Members' Equity", "balance"),
        ("Statements of Net Assets Available for Benefits", "balance"),
        ("Statements of Condition", "balance"),
        ("Statements of Changes in Net Assets (Unaudited)", "equity"),
        ("Statements of Changes in Trust Corpus", "equity"),
        ("Statements of Retained Earnings", "equity"),
        ("Statements of Partners' Capital", "equity"),
        ("Consolidated Schedule of Something Else", "other"),
    ],
)
def test_the_title_in_the_definition_decides_the_kind(title: str, kind: str) -> None:
    assert statement_kinds.find_kind("http://x.com/role/R2", f"0000003 - Statement - {title}", "Abstract") == kind


@pytest.mark.parametrize(
    "definition", ["0002 -Statement- Balance Sheets", "0002 \u2013 statement \u2013 BALANCE SHEETS"]
)
def test_spaces_dashes_and_case_of_a_definition_are_ignored(definition: str) -> None:
    assert statement_kinds.find_kind("http://x.com/role/R2", definition, "Abstract") == "balance"


def test_a_single_statement_is_the_income_statement() -> None:
    all_income = {"ifrs-full:Revenue", "ifrs-full:ComprehensiveIncome"}
    comprehensive = {"us-gaap:ComprehensiveIncomeNetOfTax", "us-gaap:NetIncomeLoss"}
    assert statement_kinds.resolve_kinds([("comprehensive-income", all_income), (None, ())]) == ["income", None]
    assert statement_kinds.resolve_kinds([("comprehensive-income", comprehensive)]) == ["comprehensive-income"]
    assert statement_kinds.resolve_kinds([("income", all_income), ("comprehensive-income", all_income)]) == [
        "income",
        "comprehensive-income",
    ]


@pytest.mark.parametrize("definition", ["0000014 - Disclosure - Balance Sheet Details", "0001 - Document - Cover"])
def test_notes_and_covers_are_not_statements(definition: str) -> None:
    assert statement_kinds.find_kind("http://x.com/role/BalanceSheets", definition, "Abstract") is None


@run_each_case(
    "uri, root, kind",
    [
        ("www.apple.com/role/CONSOLIDATEDSTATEMENTSOFCASHFLOWS", "StatementOfCashFlowsAbstract", "cash-flow"),
        ("www.apple.com/role/CONSOLIDATEDBALANCESHEETSParenthetical", "", "balance-parenthetical"),
        ("upxi.com/role/ConsoldiatedBalanceSheetsParenthetical", "", "balance-parenthetical"),
        ("upxi.com/role/ConsolidatedStatementsOfStockholdersEquity", "", "equity"),
        ("x.com/role/R4", "IncomeStatementAbstract", "income"),
        ("x.com/role/CONDENSEDSTATEMENTSOFOPERATIONSANDCOMPREHENSIVELOSS", "Abstract", "income"),
        ("x.com/role/INCOMESTATEMENTS", "xAbstract", "income"),
        ("x.com/role/BALANCE_SHEETS", "xAbstract", "balance"),
        ("www.apple.com/role/ConsolidatedFinancialStatementDetails", "Abstract", None),
        ("www.apple.com/role/DebtSummaryofCashFlowsAssociatedwithCommercialPaperDetails", "Abstract", None),
        ("upxi.com/role/EquityTransactions", "EquityAbstract", None),
        ("x.com/role/BalanceSheetComponents", "Abstract", None),
        ("x.com/role/SupplementalBalanceSheetInformation", "Abstract", None),
        ("x.com/role/AccumulatedOtherComprehensiveLoss", "Abstract", None),
    ],
)
def test_without_a_schema_the_uri_and_the_root_decide(uri: str, root: str, kind: str | None) -> None:
    assert statement_kinds.find_kind(f"http://{uri}", "", root) == kind


def test_slots_are_named_after_the_statement() -> None:
    assert statement_kinds.get_slot("income") == "StatementsOfIncome"
    assert statement_kinds.get_slot("balance-parenthetical") == "StatementsOfFinancialPositionParenthetical"
