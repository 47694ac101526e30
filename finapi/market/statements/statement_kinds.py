"""Which sections of a filing are statements, and of which kind (DECISIONS 6).

The kind follows from the title in the role's definition ("0000003 - Statement - CONSOLIDATED BALANCE
SHEETS"); where no schema gives one, from the last part of the role's URI and from the root concept. Titles
are compared without blanks and punctuation, because a URI has none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

# The word that stands first in a title names its kind: "Statements of Operations and Comprehensive Loss" is
# the income statement carried on, "Balance Sheets - Liabilities and Stockholders' Equity" a balance sheet.
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cash-flow", re.compile(r"cashflow")),
    (
        "balance",
        re.compile(
            r"balancesheet|financial(position|condition)|statements?ofcondition|assets(and)?liabilities"
            r"|(?<!changesin)netassets"
        ),
    ),
    (
        "equity",
        re.compile(
            r"changesin|(share|stock|unit)holders|(partners|members|owners)(equity|capital|deficit|interest)"
            r"|equity|deficit|deficiency|retainedearnings"
        ),
    ),
    ("comprehensive-income", re.compile(r"comprehensive")),
    ("income", re.compile(r"operations|income|earnings|profit|loss|revenues?andexpenses")),
)

_DEFINITION = re.compile(r"\s*[^\s-]*\s*[-–—]\s*statement\s*[-–—]\s*(.*)", re.IGNORECASE | re.DOTALL)

# A statement without a schema has no definition, so that its URI must look like the title of one.
_STATEMENT_URI = re.compile(
    r"balancesheet|financial(position|condition)|statements?(of|in)|(income|cashflows?)statements?"
    r"|(?<!accumulatedother)comprehensive(income|loss)$"
)
_NOTE_URI = re.compile(
    r"(details?|detailsnarrative|tables?|polic(y|ies)|narrative|textblock|disclosures?|components?|information)"
    r"[a-z]?[0-9]*$"
)

_ROOTS = {
    **dict.fromkeys(("IncomeStatementAbstract", "ProfitLossAbstract"), "income"),
    "StatementOfFinancialPositionAbstract": "balance",
    "StatementOfCashFlowsAbstract": "cash-flow",
    "StatementOfStockholdersEquityAbstract": "equity",
    **dict.fromkeys(("StatementOfPartnersCapitalAbstract", "StatementOfChangesInEquityAbstract"), "equity"),
    "StatementOfOtherComprehensiveIncomeAbstract": "comprehensive-income",
    "StatementOfComprehensiveIncomeAbstract": "comprehensive-income",
    "StatementOfIncomeAndComprehensiveIncomeAbstract": "comprehensive-income",
}

# Lines that only an income statement has, by the beginning of their local names.
_INCOME_LINES = re.compile(
    r"(Revenue|SalesRevenue|OperatingIncomeLoss|OperatingExpenses|IncomeTaxExpense|EarningsPerShare"
    r"|EarningsLossPerShare|BasicEarningsLossPerShare|IncomeLossPerShare)"
)

SLOTS = {
    "income": "StatementsOfIncome",
    "balance": "StatementsOfFinancialPosition",
    "cash-flow": "StatementsOfCashFlows",
    "comprehensive-income": "StatementsOfComprehensiveIncome",
    "equity": "StatementsOfStockholdersEquity",
    "other": "OtherStatements",
}

PARENTHETICAL_SUFFIX = "-parenthetical"

KINDS = tuple(SLOTS) + tuple(kind + PARENTHETICAL_SUFFIX for kind in SLOTS)

_CALLED = {
    "income": "StatementsOfOperations StatementsOfEarnings IncomeStatement",
    "balance": "BalanceSheets BalanceSheet StatementsOfFinancialCondition balance_sheet",
    "cash-flow": "CashFlowStatement CashFlows cash_flow",
    "comprehensive-income": "ComprehensiveIncome comprehensive_income",
    "equity": "StatementsOfShareholdersEquity StatementsOfEquity StatementsOfChangesInEquity",
}
# What else the kinds are called: their slots, and the names that filers give their statements.
KIND_ALIASES = tuple(
    (name + suffix, kind + (PARENTHETICAL_SUFFIX if suffix else ""))
    for suffix in ("", "Parenthetical")
    for kind, slot in SLOTS.items()
    for name in (slot, *_CALLED.get(kind, "").split())
)


def find_kind(role_uri: str, definition: str, root: str) -> str | None:
    """The kind of statement that a section is, or None for a cover page or a note.

    ``definition`` is empty without a schema; ``root`` is the local name of the section's first concept.
    """
    if definition:
        found = _DEFINITION.fullmatch(definition)
        if found is None:
            return None
        title = _squeezed(found[1])
    else:
        title = _squeezed(role_uri.rstrip("/").rpartition("/")[2])
        if _NOTE_URI.search(title) or not (_STATEMENT_URI.search(title) or root in _ROOTS):
            return None
    base = title.removesuffix("parenthetical").removesuffix("parentheticals")
    matches = [(found.start(), kind) for kind, words in _WORDS if (found := words.search(base))]
    kind = min(matches)[1] if matches else _ROOTS.get(root, "other")
    return kind + (PARENTHETICAL_SUFFIX if "parenthetical" in title else "")


def resolve_kinds(sections: Sequence[tuple[str | None, Collection[str]]]) -> list[str | None]:
    """The kinds of a filing's sections, given with their concepts, once all of them are known.

    A filer with one statement for everything may call it "of comprehensive income": when no section is the
    income statement, the one that reports revenue, tax or earnings per share is.
    """
    kinds = [kind for kind, _ in sections]
    if "income" in kinds:
        return kinds
    return [
        "income" if kind == "comprehensive-income" and _reports_income(concepts) else kind
        for kind, concepts in sections
    ]


def get_slot(kind: str) -> str:
    """The slot name of a kind: ``StatementsOfIncome``, ``StatementsOfIncomeParenthetical``."""
    base = kind.removesuffix(PARENTHETICAL_SUFFIX)
    return SLOTS[base] + ("Parenthetical" if base != kind else "")


def _squeezed(title: str) -> str:
    return re.sub(r"[^a-z0-9]", "", title.lower())


def _reports_income(concepts: Collection[str]) -> bool:
    return any(_INCOME_LINES.match(concept.rpartition(":")[2]) for concept in concepts)
