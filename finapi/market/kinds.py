"""Which sections of a filing are statements, and of which kind (CONTRACT 6).

The kind follows from the title in the role's definition ("0000003 - Statement - CONSOLIDATED BALANCE
SHEETS"); where no schema gives one, from the last part of the role's URI and from the root concept.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# The base kinds in the order in which they are tried; a title that names two is the first.
_TITLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("cash-flow", re.compile(r"cash ?flow")),
    (
        "equity",
        re.compile(
            r"(changes|statements?) (in|of) .*(equity|deficit|deficiency|capital\b)|(share|stock)holders?.? ?"
            r"(equity|deficit|deficiency)|(partners|members)[’']? ?(capital|equity|deficit)|net assets$"
        ),
    ),
    ("comprehensive-income", re.compile(r"comprehensive")),
    ("balance", re.compile(r"balance sheet|financial (position|condition)|assets and liabilities")),
    (
        "income",
        re.compile(r"operations|income|earnings|profit|loss|revenues? and expenses"),
    ),
)

# A statement without a schema has no definition, so that its URI must look like the title of one.
_STATEMENT_URI = re.compile(
    r"balance ?sheets?|financial (position|condition)|statements? (of|in)|comprehensive (income|loss)$"
)
_NOT_A_STATEMENT = re.compile(r"\b(details?|tables?|polic(y|ies)|narrative|text block|disclosure)\b")

# "Statements of Operations and Comprehensive Loss" is the income statement, carried on to the total.
_COMBINED = re.compile(r"(operations|income|earnings|loss|profit).* and .*comprehensive")

_ROOTS = {
    "IncomeStatementAbstract": "income",
    "StatementOfFinancialPositionAbstract": "balance",
    "StatementOfCashFlowsAbstract": "cash-flow",
    "StatementOfStockholdersEquityAbstract": "equity",
    "StatementOfPartnersCapitalAbstract": "equity",
    "StatementOfOtherComprehensiveIncomeAbstract": "comprehensive-income",
    "StatementOfIncomeAndComprehensiveIncomeAbstract": "comprehensive-income",
}

SLOTS = {
    "income": "StatementsOfIncome",
    "balance": "StatementsOfFinancialPosition",
    "cash-flow": "StatementsOfCashFlows",
    "comprehensive-income": "StatementsOfComprehensiveIncome",
    "equity": "StatementsOfStockholdersEquity",
    "other": "OtherStatements",
}

PARENTHETICAL = "-parenthetical"

KINDS = tuple(SLOTS) + tuple(kind + PARENTHETICAL for kind in SLOTS)


def title(role_uri: str, definition: str) -> str:
    """What a section is called, in lower case and with spaces: from its definition or its role URI."""
    named = definition or _words(role_uri.rstrip("/").rpartition("/")[2])
    return " ".join(named.rpartition(" - Statement - ")[2].lower().split())


def kind_of(role_uri: str, definition: str, root: str, concepts: Collection[str]) -> str | None:
    """The kind of statement that a section is, or None for a cover page or a note.

    ``definition`` is empty without a schema; ``root`` is the local name of the first concept and
    ``concepts`` the names of all of them.
    """
    name = title(role_uri, definition)
    if definition:
        if " - statement - " not in f" {definition.lower()} ":
            return None
    elif _NOT_A_STATEMENT.search(name) or not (_STATEMENT_URI.search(name) or root in _ROOTS):
        return None
    suffix = PARENTHETICAL if "parenthetical" in name else ""
    return _base_kind(name.replace("(parenthetical)", "").strip(), root, concepts) + suffix


def slot_of(kind: str) -> str:
    """The slot name of a kind: ``StatementsOfIncome``, ``StatementsOfIncomeParenthetical``."""
    base = kind.removesuffix(PARENTHETICAL)
    return SLOTS[base] + ("Parenthetical" if base != kind else "")


def _base_kind(name: str, root: str, concepts: Collection[str]) -> str:
    if _COMBINED.search(name) and root != "us-gaap:ComprehensiveIncomeNetOfTax":
        return "income" if _reports_income(concepts) else "comprehensive-income"
    for kind, pattern in _TITLES:
        if pattern.search(name):
            return kind
    return _ROOTS.get(root, "other")


def _reports_income(concepts: Collection[str]) -> bool:
    """Whether an income statement's own lines are there, and not the net income that opens the other one."""
    return any(
        concept.rpartition(":")[2].startswith(("Revenue", "OperatingIncomeLoss", "OperatingExpenses"))
        or "EarningsPerShare" in concept
        or "IncomeTaxExpense" in concept
        for concept in concepts
    )


def _words(name: str) -> str:
    """``CONSOLIDATEDBALANCESHEETSParenthetical`` and ``StatementOfIncome`` as words, as far as case tells."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    spaced = re.sub(r"[_\-]+", " ", spaced)
    # Capitals without spaces: split at the words that titles of statements are made of.
    return re.sub(
        r"(?i)(consolidated|condensed|statements?(?=of|in)|balance|sheets?|cash|flows?|shareholders|stockholders"
        r"|comprehensive|income(?=and)|operations(?=and)|(?<=statements)of|(?<=statement)of)(?=[a-z])",
        r"\1 ",
        spaced,
    )
