"""The kind of each section of a filing: balance sheet, income statement, note ... (DECISIONS 6).

A section is a role in XBRL. Its kind follows from the title in the role's definition ("0000003 - Statement -
CONSOLIDATED BALANCE SHEETS"). Without a schema there is no definition: then it follows from the last part of the
role's URI and from the section's first concept. Titles are compared without spaces and punctuation, because a URI has
none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

# The words that indicate a kind. The first one in the title decides: "Statements of Operations and Comprehensive Loss"
# is an income statement, "Balance Sheets - Liabilities and Stockholders' Equity" a balance sheet.
_TITLE_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
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

_STATEMENT_DEFINITION = re.compile(r"\s*[^\s-]*\s*[-–—]\s*statement\s*[-–—]\s*(.*)", re.IGNORECASE | re.DOTALL)

# Without a definition, the URI of a statement must look like the title of a statement, and not like that of a note.
_STATEMENT_URI = re.compile(
    r"balancesheet|financial(position|condition)|statements?(of|in)|(income|cashflows?)statements?"
    r"|(?<!accumulatedother)comprehensive(income|loss)$"
)
_NOTE_URI = re.compile(
    r"(details?|detailsnarrative|tables?|polic(y|ies)|narrative|textblock|disclosures?|components?|information)"
    r"[a-z]?[0-9]*$"
)

# The kind of a section by its first concept.
_KINDS_BY_ROOT = {
    **dict.fromkeys(("IncomeStatementAbstract", "ProfitLossAbstract"), "income"),
    "StatementOfFinancialPositionAbstract": "balance",
    "StatementOfCashFlowsAbstract": "cash-flow",
    "StatementOfStockholdersEquityAbstract": "equity",
    **dict.fromkeys(("StatementOfPartnersCapitalAbstract", "StatementOfChangesInEquityAbstract"), "equity"),
    "StatementOfOtherComprehensiveIncomeAbstract": "comprehensive-income",
    "StatementOfComprehensiveIncomeAbstract": "comprehensive-income",
    "StatementOfIncomeAndComprehensiveIncomeAbstract": "comprehensive-income",
}

# The beginnings of local names that only an income statement has.
_INCOME_CONCEPTS = re.compile(
    r"(Revenue|SalesRevenue|OperatingIncomeLoss|OperatingExpenses|IncomeTaxExpense|EarningsPerShare"
    r"|EarningsLossPerShare|BasicEarningsLossPerShare|IncomeLossPerShare)"
)

# The name of each kind in the API's field ``slot``.
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

_COMMON_NAMES = {
    "income": ("StatementsOfOperations", "StatementsOfEarnings", "IncomeStatement"),
    "balance": ("BalanceSheets", "BalanceSheet", "StatementsOfFinancialCondition", "balance_sheet"),
    "cash-flow": ("CashFlowStatement", "CashFlows", "cash_flow"),
    "comprehensive-income": ("ComprehensiveIncome", "comprehensive_income"),
    "equity": ("StatementsOfShareholdersEquity", "StatementsOfEquity", "StatementsOfChangesInEquity"),
}


def _list_aliases(name_suffix: str, kind_suffix: str) -> list[tuple[str, str]]:
    aliases = []
    for kind, slot in SLOTS.items():
        for name in (slot, *_COMMON_NAMES.get(kind, ())):
            aliases.append((name + name_suffix, kind + kind_suffix))
    return aliases


# Other accepted names of the kinds, each with its kind: their slots, and the names that filers give their statements.
KIND_ALIASES = (*_list_aliases("", ""), *_list_aliases("Parenthetical", PARENTHETICAL_SUFFIX))


def find_kind(role_uri: str, definition: str, root: str) -> str | None:
    """Return the kind of statement that a section is, or None for a cover page or a note.

    ``definition`` is "" if there is no schema. ``root`` is the local name of the section's first concept.
    """
    if definition:
        match = _STATEMENT_DEFINITION.fullmatch(definition)
        if match is None:
            return None
        title = _normalise_title(match[1])
    else:
        title = _normalise_title(role_uri.rstrip("/").rpartition("/")[2])
        is_like_statement = _STATEMENT_URI.search(title) is not None or root in _KINDS_BY_ROOT
        if _NOTE_URI.search(title) or not is_like_statement:
            return None
    base_title = title.removesuffix("parenthetical").removesuffix("parentheticals")
    kind = _find_kind_in_title(base_title) or _KINDS_BY_ROOT.get(root, "other")
    return kind + (PARENTHETICAL_SUFFIX if "parenthetical" in title else "")


def _find_kind_in_title(title: str) -> str | None:
    """Return the kind whose words come first in a normalised title, or None."""
    matches = []
    for kind, words in _TITLE_WORDS:
        match = words.search(title)
        if match is not None:
            matches.append((match.start(), kind))
    return min(matches)[1] if matches else None


def resolve_kinds(sections: Sequence[tuple[str | None, Collection[str]]]) -> list[str | None]:
    """Return the final kinds of a filing's sections, given the kind and the concepts of each.

    A company with a single statement may call it "of comprehensive income". If no section is an income statement, a
    section of comprehensive income that reports revenue, tax or earnings per share becomes the income statement.
    """
    kinds = [kind for kind, _ in sections]
    if "income" in kinds:
        return kinds
    resolved_kinds = []
    for kind, concepts in sections:
        is_income = kind == "comprehensive-income" and _reports_income(concepts)
        resolved_kinds.append("income" if is_income else kind)
    return resolved_kinds


def get_slot(kind: str) -> str:
    """Return the slot name of a kind: ``StatementsOfIncome``, ``StatementsOfIncomeParenthetical``."""
    base_kind = kind.removesuffix(PARENTHETICAL_SUFFIX)
    return SLOTS[base_kind] + ("Parenthetical" if base_kind != kind else "")


def get_title(definition: str) -> str:
    """Return the title in the definition of a statement's role: "0002 - Statement - BALANCE SHEETS" is BALANCE SHEETS.

    Another definition is returned unchanged.
    """
    match = _STATEMENT_DEFINITION.fullmatch(definition)
    return match[1].strip() if match else definition


def _normalise_title(title: str) -> str:
    return re.sub(r"[^a-z0-9]", "", title.lower())


def _reports_income(concepts: Collection[str]) -> bool:
    return any(_INCOME_CONCEPTS.match(concept.rpartition(":")[2]) for concept in concepts)
