"""The annual report of a small invented company, Brook Lamps Inc. (BRK-B, CIK 1234567), for tests of statements.

Its figures are small enough to be checked by eye.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from finapi.app import App
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.statements import report_store
from finapi.market.statements.filed_report import Cover, Fact, Report
from finapi.market.statements.layout import (
    AT_OWN_DATE,
    CLOSING,
    HEADING,
    ITEM,
    OPENING,
    STRUCTURE,
    Column,
    Context,
    Line,
    Section,
)

CIK = 1234567
ACCESSION = "0001234567-25-000001"

COMPANY = "/api/v1/xbrl/companies/BRK-B/statements"
FILING = f"/api/v1/xbrl/filing/{ACCESSION}/statements"

ROLE = "http://brooklamps.example/role/"
LABELS = "http://www.xbrl.org/2003/role/"
NEGATED = "http://www.xbrl.org/2009/role/negatedLabel"
AXIS = "srt:ProductOrServiceAxis"
LAMPS, SHADES = "brk:LampsMember", "brk:ShadesMember"
EQUITY_AXIS, COMMON = "us-gaap:StatementEquityComponentsAxis", "us-gaap:CommonStockMember"

CONTEXTS = (
    Context(1, "2024-01-01", "2024-12-31", ()),
    Context(2, "2023-01-01", "2023-12-31", ()),
    Context(3, "2024-01-01", "2024-12-31", ((AXIS, LAMPS),)),
    Context(4, "2024-01-01", "2024-12-31", ((AXIS, SHADES),)),
    Context(5, None, "2024-12-31", ()),
    Context(6, None, "2023-12-31", ()),
    Context(7, None, "2022-12-31", ()),
    Context(8, "2024-01-01", "2024-12-31", ((EQUITY_AXIS, COMMON),)),
)

FACTS = (
    Fact("us-gaap:Revenues", 0, "USD", "1000000", "-3"),
    Fact("us-gaap:Revenues", 1, "USD", "900000", "-3"),
    Fact("us-gaap:Revenues", 2, "USD", "700000", "-3"),
    Fact("us-gaap:Revenues", 3, "USD", "300000", "-3"),
    Fact("us-gaap:CostOfRevenue", 0, "USD", "600000", "-3"),
    Fact("us-gaap:CostOfRevenue", 1, "USD", "550000", "-3"),
    Fact("us-gaap:InterestExpense", 0, "USD", None, None),
    Fact("us-gaap:InterestExpense", 1, "USD", "-12.50", "2"),
    Fact("us-gaap:OtherNonoperatingIncomeExpense", 0, "USD", "0", "-3"),
    Fact("us-gaap:NetIncomeLoss", 0, "USD", "400000", "-3"),
    Fact("us-gaap:NetIncomeLoss", 1, "USD", "349987.50", "INF"),
    Fact("us-gaap:EarningsPerShareBasic", 0, "USD/shares", "0.40", "2"),
    Fact("us-gaap:EarningsPerShareBasic", 1, "USD/shares", "0.35", "2"),
    Fact("us-gaap:Cash", 4, "USD", "125000", "-3"),
    Fact("us-gaap:Cash", 5, "USD", "100000", "-3"),
    Fact("us-gaap:Cash", 6, "USD", "80000", "-3"),
    Fact("us-gaap:StockholdersEquity", 4, "USD", "125000", "-3"),
    Fact("us-gaap:StockholdersEquity", 5, "USD", "100000", "-3"),
    Fact("us-gaap:CashPeriodIncrease", 0, "USD", "25000", "-3"),
    Fact("us-gaap:CashPeriodIncrease", 1, "USD", "20000", "-3"),
    Fact("us-gaap:StockIssued", 7, "USD", "5000", "-3"),
)

YEAR_2024 = Column(1, "2024-01-01", "2024-12-31", ())
YEAR_2023 = Column(2, "2023-01-01", "2023-12-31", ())


def item(concept: str, depth: int, label: str, balance: str | None = None, **changes: Any) -> Line:
    """Return a line that can have figures, with its standard label."""
    return Line(concept, depth, ITEM, label, None, AT_OWN_DATE, False, balance)._replace(**changes)


def heading(concept: str, depth: int, label: str) -> Line:
    return Line(concept, depth, HEADING, label, None, AT_OWN_DATE, False, None)


def structure(concept: str, depth: int) -> Line:
    return Line(concept, depth, STRUCTURE, None, None, AT_OWN_DATE, False, None)


INCOME = Section(
    ROLE + "Income",
    "0000002 - Statement - CONSOLIDATED STATEMENTS OF OPERATIONS",
    "income",
    (
        heading("us-gaap:IncomeStatementAbstract", 0, "Income Statement [Abstract]"),
        structure("us-gaap:StatementTable", 1),
        structure(AXIS, 1),
        structure(LAMPS, 1),
        structure(SHADES, 1),
        structure("us-gaap:StatementLineItems", 1),
        item("us-gaap:Revenues", 1, "Net sales", "credit"),
        item("us-gaap:CostOfRevenue", 1, "Cost of sales", "debit", label_role=NEGATED, negated=True),
        heading("us-gaap:NonoperatingIncomeExpenseAbstract", 1, "Other:"),
        item("us-gaap:InterestExpense", 2, "Interest", "debit"),
        item("us-gaap:OtherNonoperatingIncomeExpense", 2, "Other", "credit"),
        heading("us-gaap:IncomeTaxAbstract", 1, "Taxes:"),
        item("us-gaap:IncomeTaxExpenseBenefit", 2, "Never reported", "debit"),
        item("us-gaap:NetIncomeLoss", 1, "Net income", "credit", label_role=LABELS + "totalLabel"),
        item("us-gaap:EarningsPerShareBasic", 1, "Per share"),
    ),
    (
        YEAR_2024,
        YEAR_2023,
        Column(3, "2024-01-01", "2024-12-31", ((AXIS, LAMPS),)),
        Column(4, "2024-01-01", "2024-12-31", ((AXIS, SHADES),)),
    ),
    (),
)

BALANCE = Section(
    ROLE + "Balance",
    "0000003 - Statement - CONSOLIDATED BALANCE SHEETS",
    "balance",
    (
        heading("us-gaap:AssetsAbstract", 0, "ASSETS"),
        item("us-gaap:Cash", 1, "Cash", "debit"),
        item("us-gaap:StockholdersEquity", 0, "Equity", "credit"),
    ),
    (Column(5, None, "2024-12-31", ()), Column(6, None, "2023-12-31", ())),
    (),
)

CASH_FLOW = Section(
    ROLE + "CashFlow",
    "0000004 - Statement - CONSOLIDATED STATEMENTS OF CASH FLOWS",
    "cash-flow",
    (
        item("us-gaap:Cash", 0, "Cash, beginning", "debit", placement=OPENING, label_role=LABELS + "periodStartLabel"),
        item("us-gaap:CashPeriodIncrease", 0, "Increase", "debit"),
        item("us-gaap:Cash", 0, "Cash, end", "debit", placement=CLOSING, label_role=LABELS + "periodEndLabel"),
    ),
    (YEAR_2024, YEAR_2023),
    (),
)

# Each figure of this statement has a dimension.
EQUITY = Section(
    ROLE + "Equity",
    "0000005 - Statement - CONSOLIDATED STATEMENTS OF EQUITY",
    "equity",
    (structure(EQUITY_AXIS, 0), structure(COMMON, 0), item("us-gaap:StockIssued", 0, "Stock issued", "credit")),
    (Column(8, "2024-01-01", "2024-12-31", ((EQUITY_AXIS, COMMON),)),),
    (),
)

COVER_PAGE = Section(
    ROLE + "Cover",
    "0000001 - Document - Cover",
    None,
    (heading("dei:CoverAbstract", 0, "Cover [Abstract]"), item("dei:EntityRegistrantName", 1, "Name")),
    (),
    (),
)

ANNUAL_COVER = Cover(CIK, "Brook Lamps Inc.", "10-K", "2024-12-31", 2024, "FY", ("BRK-B", "BRK-A"))


def build_report(*, documents: int = 6, revenue: str = "1000000", **cover: Any) -> Report:
    """Return the annual report for 2024 with the given number of documents, revenue and changes to its cover."""
    changed = replace(ANNUAL_COVER, **cover)
    facts = (FACTS[0]._replace(value=revenue), *FACTS[1:])
    digest = hashlib.sha256(repr((changed, revenue, documents)).encode()).digest()
    sections = (COVER_PAGE, INCOME, BALANCE, CASH_FLOW, EQUITY)
    return Report(changed, "xbrl", digest, documents, CONTEXTS, facts, sections)


def store_report(app: App, report: Report, accession: str = ACCESSION, filed_at: str | None = "2025-02-01") -> bool:
    """Store a report as an ingest does; return True if it is new or changed."""
    with app.db.write() as tx:
        return report_store.upsert_report(
            tx, report, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at), app.clock.now()
        )
