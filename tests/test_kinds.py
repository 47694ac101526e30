"""Which sections are statements, and of which kind."""

from __future__ import annotations

import pytest

from finapi.market import kinds


@pytest.mark.parametrize(
    ("title", "kind"),
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
        ("Consolidated Schedule of Something Else", "other"),
    ],
)
def test_the_title_in_the_definition_names_the_kind(title: str, kind: str) -> None:
    assert kinds.kind_of("http://x.com/role/R2", f"0000003 - Statement - {title}", "Abstract", ()) == kind


def test_operations_with_comprehensive_loss_is_the_income_statement() -> None:
    concepts = {"us-gaap:OperatingExpenses", "us-gaap:ComprehensiveIncomeNetOfTax"}
    definition = "00200 - Statement - STATEMENTS OF OPERATIONS AND COMPREHENSIVE LOSS"
    assert kinds.kind_of("http://x.com/role/R4", definition, "Abstract", concepts) == "income"


@pytest.mark.parametrize(
    "definition", ["0000014 - Disclosure - Balance Sheet Details", "0001 - Document - Cover"]
)
def test_notes_and_covers_are_no_statements(definition: str) -> None:
    assert kinds.kind_of("http://x.com/role/BalanceSheets", definition, "Abstract", ()) is None


@pytest.mark.parametrize(
    ("uri", "root", "kind"),
    [
        (
            "http://www.apple.com/role/CONSOLIDATEDSTATEMENTSOFCASHFLOWS",
            "StatementOfCashFlowsAbstract",
            "cash-flow",
        ),
        ("http://www.apple.com/role/CONSOLIDATEDBALANCESHEETSParenthetical", "", "balance-parenthetical"),
        ("http://upxi.com/role/ConsoldiatedBalanceSheetsParenthetical", "", "balance-parenthetical"),
        ("http://upxi.com/role/ConsolidatedStatementsOfStockholdersEquity", "", "equity"),
        ("http://x.com/role/R4", "IncomeStatementAbstract", "income"),
        ("http://www.apple.com/role/ConsolidatedFinancialStatementDetails", "Abstract", None),
        (
            "http://www.apple.com/role/DebtSummaryofCashFlowsAssociatedwithCommercialPaperDetails",
            "Abstract",
            None,
        ),
        ("http://upxi.com/role/EquityTransactions", "EquityAbstract", None),
    ],
)
def test_without_a_schema_the_uri_and_the_root_tell(uri: str, root: str, kind: str | None) -> None:
    assert kinds.kind_of(uri, "", root, ()) == kind


def test_slots_are_named_after_the_statement() -> None:
    assert kinds.slot_of("income") == "StatementsOfIncome"
    assert kinds.slot_of("balance-parenthetical") == "StatementsOfFinancialPositionParenthetical"
