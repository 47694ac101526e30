"""Payments, expenses and share counts that are tagged negative."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

import pytest

from finapi.market.financials import cell_proof, metric_series, stored_books
from finapi.market.financials.company_books import CompanyBook, build
from finapi.market.financials.series_query import SeriesQuery
from finapi.market.financials.series_rows import FigureSeries
from tests.support.figures import Fact, build_company_book, build_filing

FILING = build_filing("0000000001-24-000001", "10-K", "2024-02-10", source="xbrl", fiscal_year=2023, fiscal_period="FY")
START, END = "2023-01-01", "2023-12-31"
CAPEX, DIVIDENDS = "PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsOfDividendsCommonStock"
INVESTING, FINANCING = "NetCashProvidedByUsedInInvestingActivities", "NetCashProvidedByUsedInFinancingActivities"
OPERATIONS = "NetCashProvidedByUsedInOperatingActivities"
Lines = dict[str, str]


def build_company(
    lines: Lines, *, is_printed: bool = True, negated: Collection[str] = (), sums: tuple[tuple[str, str, str], ...] = ()
) -> CompanyBook:
    """Return a company whose cash flow statement has these lines in order, by concept."""
    accession = FILING.accession
    facts: list[Fact] = [(tag, START, END, "900", accession) for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")]
    facts += [(concept, START, END, value, accession) for concept, value in lines.items()]
    pages = {(accession, "cash-flow"): [(_qualify(concept), concept) for concept in lines]} if is_printed else None
    declared = [(accession, *declared_sum) for declared_sum in sums]
    names = set(map(_qualify, negated))
    return build_company_book([FILING], facts, pages=pages, sums=declared, negated=names)


def _qualify(concept: str) -> str:
    return concept if ":" in concept else f"us-gaap:{concept}"


def build_row(company: CompanyBook, *keys: str, provenance: str = "none") -> dict[str, Any]:
    data, _ = metric_series.build_series(company, SeriesQuery(metrics=keys, provenance=provenance))
    row: dict[str, Any] = data["rows"][0]
    return row


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ({OPERATIONS: "5000", CAPEX: "-800", INVESTING: "-800"}, 800),
        ({CAPEX: "-800", "ProceedsFromSaleOfStuff": "130", "acme:Deals": "-400", INVESTING: "-1070"}, 800),
    ],
)
def test_a_printed_section_proves_a_payment_positive(lines: Lines, value: int) -> None:
    row = build_row(build_company(lines), "capex")
    assert row["metrics"] == {"capex": value}
    assert row["sign_corrected"] == ["capex"]
    assert "inconsistent" not in row


def test_the_sections_of_a_statement_are_proved_separately() -> None:
    lines = {
        OPERATIONS: "5000",
        CAPEX: "-800",
        INVESTING: "-800",
        DIVIDENDS: "-2177",
        "Other": "177",
        FINANCING: "-1500",
    }
    row = build_row(build_company(lines), "capex", "dividends_paid")
    # The lines of the financing section do not add up to its total.
    assert row["metrics"] == {"capex": 800, "dividends_paid": -2177}
    assert (row["sign_corrected"], row["inconsistent"]) == (["capex"], ["dividends_paid"])


def test_money_that_came_back_remains_negative() -> None:
    # The statement prints the line with the opposite sign, as an inflow, and adds up.
    company = build_company({CAPEX: "-800", "acme:Deals": "-400", INVESTING: "400"}, negated=[CAPEX])
    row = build_row(company, "capex", provenance="summary")
    assert row["metrics"]["capex"]["value"] == -800
    assert row["metrics"]["capex"]["calc_status"] == "unchecked"
    assert "sign_corrected" not in row
    assert "inconsistent" not in row


def test_operations_add_back_an_expense() -> None:
    lines = {"ProfitLoss": "900", "DepreciationDepletionAndAmortization": "-305", OPERATIONS: "1205"}
    key = "depreciation_amortization"
    corrected = build_row(build_company(lines, negated=["DepreciationDepletionAndAmortization"]), key)
    assert (corrected["metrics"][key], corrected["sign_corrected"]) == (305, [key])
    # As tagged, it is subtracted, and the statement adds up.
    lines[OPERATIONS] = "595"
    confirmed = build_row(build_company(lines), key)
    assert confirmed["metrics"][key] == -305
    assert "inconsistent" not in confirmed


@pytest.mark.parametrize(
    ("total", "value", "mark"),
    [("-800", 800, "sign_corrected"), ("800", -800, None), ("-650", -800, "inconsistent")],
)
def test_a_declared_sum_decides_on_a_sign(total: str, value: int, mark: str | None) -> None:
    # The section has a subtotal, so its printed lines do not add up.
    lines = {CAPEX: "-800", "acme:Subtotal": "-800", INVESTING: total}
    sums = ((INVESTING, CAPEX, "-1"),)
    if total == "-800":
        lines["acme:Other"] = "7000"
        lines[INVESTING], sums = "-7800", (*sums, (INVESTING, "acme:Other", "-1"))
    row = build_row(build_company(lines, sums=sums), "capex")
    assert row["metrics"]["capex"] == value
    assert [name for name in ("sign_corrected", "inconsistent") if name in row] == [mark] * (mark is not None)


def test_gross_profit_proves_the_sign_of_costs() -> None:
    lines = {"Revenues": "1000", "CostOfRevenue": "-600", "GrossProfit": "400"}
    row = build_row(build_company(lines, is_printed=False), "cost_of_revenue", "gross_profit")
    assert row["metrics"] == {"cost_of_revenue": 600, "gross_profit": 400}
    assert row["sign_corrected"] == ["cost_of_revenue"]
    lines["GrossProfit"] = "1600"
    row = build_row(build_company(lines, is_printed=False), "cost_of_revenue")
    assert row["metrics"] == {"cost_of_revenue": -600}
    assert "inconsistent" not in row


def build_income_statement(lines: Lines, negated: Collection[str] = ()) -> CompanyBook:
    """Return a company whose income statement has these lines in order, by concept."""
    accession = FILING.accession
    facts: list[Fact] = [(concept, START, END, value, accession) for concept, value in lines.items()]
    facts.append(("NetIncomeLoss", START, END, "120", accession))
    pages = {(accession, "income"): [(_qualify(concept), concept) for concept in lines]}
    return build_company_book([FILING], facts, pages=pages, negated=set(map(_qualify, negated)))


RESULT = "IncomeLossFromContinuingOperationsBeforeIncomeTaxesMinorityInterestAndIncomeLossFromEquityMethodInvestments"


def test_the_results_of_an_income_statement_prove_an_expense() -> None:
    lines = {
        "acme:SalesOfGoods": "700",
        "acme:Leases": "331",
        "Revenues": "1031",
        "CostOfRevenue": "-400",
        "SellingGeneralAndAdministrativeExpense": "-97",
        "CostsAndExpenses": "-497",
        "OperatingIncomeLoss": "534",
        "InterestExpense": "-33",
        "acme:Gains": "8",
        RESULT: "509",
    }
    keys = ("cost_of_revenue", "selling_general_admin", "interest_expense")
    row = build_row(build_income_statement(lines), *keys)
    assert row["metrics"] == {"cost_of_revenue": 400, "selling_general_admin": 97, "interest_expense": 33}
    assert row["sign_corrected"] == list(keys)
    # Another result: the interest is not proved, but the costs are.
    row = build_row(build_income_statement({**lines, RESULT: "600"}), *keys)
    assert row["metrics"] == {"cost_of_revenue": 400, "selling_general_admin": 97, "interest_expense": -33}
    assert row["inconsistent"] == ["interest_expense"]
    # Printed with the opposite sign, the interest is an income.
    row = build_row(build_income_statement({**lines, RESULT: "575"}, negated=["InterestExpense"]), "interest_expense")
    assert row["metrics"] == {"interest_expense": -33}
    assert "inconsistent" not in row


def test_without_a_proof_a_negative_outlay_is_inconsistent() -> None:
    lines = {"InterestExpense": "-200", CAPEX: "-800", INVESTING: "-1900"}
    company = build_company(lines, is_printed=False)
    row = build_row(company, "interest_expense", "capex", "free_cashflow", provenance="summary")
    for key, implied in (("interest_expense", 200), ("capex", 800)):
        cell = row["metrics"][key]
        assert (cell["value"], cell["calc_status"], cell["confidence"]) == (-implied, "inconsistent", 20)
        assert cell["check"] == {"rule": "sign", "keys": [], "implied": implied}
        assert cell["marks"] == ["inconsistent"]
    # Nothing is computed from it.
    assert row["metrics"]["free_cashflow"]["value"] is None


def test_the_proof_of_a_corrected_sign_has_both_values() -> None:
    company = build_company({OPERATIONS: "5000", CAPEX: "-800", INVESTING: "-800"})
    series = FigureSeries(company, "A", "latest")
    proof = cell_proof.build_proof(series.get_row(series.periods[0]), "capex")
    cell = proof["cell"]
    assert (cell["value"], cell["marks"]) == (800, ["sign_corrected"])
    assert [(operand["sign"], operand["value"]) for operand in cell["operands"]] == [(-1, -800)]
    assert [vintage["value"] for vintage in proof["vintages"]] == [-800]
    assert build_row(company, "free_cashflow")["metrics"] == {"free_cashflow": 4200}


def test_ifrs_costs_are_positive() -> None:
    lines = {
        "ifrs-full:Revenue": "1000",
        "ifrs-full:CostOfSales": "-600",
        "ifrs-full:FinanceCosts": "-20",
        "ifrs-full:IncomeTaxExpenseContinuingOperations": "-30",
    }
    keys = ("cost_of_revenue", "interest_expense", "income_tax")
    row = build_row(build_company(lines, is_printed=False), *keys)
    # A negative income tax is a benefit.
    assert row["metrics"]["cost_of_revenue"] == 600
    assert row["metrics"]["interest_expense"] == 20
    assert row["sign_corrected"] == ["cost_of_revenue", "interest_expense"]


@pytest.mark.parametrize("value", ["-0", "0", "600"])
def test_zero_and_positive_outlays_are_not_marked(value: str) -> None:
    row = build_row(build_company({"ifrs-full:CostOfSales": value, CAPEX: value}), "cost_of_revenue", "capex")
    assert row["metrics"] == {"cost_of_revenue": Decimal(value), "capex": Decimal(value)}
    assert not {"sign_corrected", "inconsistent"} & row.keys()


def test_a_negative_share_count_is_inconsistent() -> None:
    company = build_company({"WeightedAverageNumberOfSharesOutstandingBasic": "-5000"}, is_printed=False)
    cell = build_row(company, "weighted_average_shares_basic", provenance="summary")["metrics"]
    assert cell["weighted_average_shares_basic"]["check"] == {"rule": "sign", "keys": [], "implied": 5000}


def test_a_stored_book_remembers_the_proofs() -> None:
    company = build_company({OPERATIONS: "5000", CAPEX: "-800", INVESTING: "-800"})
    book, _, industry = stored_books.deserialise(
        stored_books.serialise(company.book, company.calendar, company.industry)
    )
    assert book.corrected_signs == company.book.corrected_signs
    assert build_row(build(book, None, None), "capex")["metrics"] == {"capex": 800}
    assert industry == company.industry
