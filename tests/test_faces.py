"""What stands on the face of a statement is the figure: before notes, other statements and the ranking of tags."""

from __future__ import annotations

import pytest

from finapi.market.financials import series
from finapi.market.financials.rows import FigureSeries
from tests.figures import Fact, filing, held, named, told

K = filing("0000000001-19-000001", "10-K", "2019-10-31", source="fsds", fiscal_year=2019, fiscal_period="FY")
YEAR = ("2018-10-01", "2019-09-30")
INCOME, BALANCE, FLOWS = ((K.accession, kind) for kind in ("income", "balance", "cash-flow"))


def year(tag: str, value: str) -> Fact:
    """A figure of the year."""
    return (tag, *YEAR, value, K.accession)


def day(tag: str, value: str) -> Fact:
    """A balance at its end."""
    return (tag, None, YEAR[1], value, K.accession)


BASE = [year("NetIncomeLoss", "7"), year("IncomeTaxExpenseBenefit", "3"), day("Assets", "1000")]
RESULT = [("NetIncomeLoss", "Net income"), ("IncomeTaxExpenseBenefit", "Income taxes")]


def test_a_line_of_the_statement_goes_before_a_better_tag_of_a_note() -> None:
    facts = [*BASE, day("PropertyPlantAndEquipmentNet", "1"), day("PublicUtilitiesPropertyPlantAndEquipmentNet", "90")]
    pages = {BALANCE: [("PublicUtilitiesPropertyPlantAndEquipmentNet", "Plant, net"), ("Assets", "Total assets")]}
    assert told(held([K], facts, pages=pages), "ppe_net", "2019 FY") == "90"
    assert told(held([K], facts), "ppe_net", "2019 FY") == "1"


def test_a_figure_of_a_note_serves_where_the_statement_has_no_line_and_says_so() -> None:
    company = held([K], [*BASE, year("InterestExpense", "5")], pages={INCOME: RESULT})
    rows = FigureSeries(company, "A", "latest")
    row = rows.row(named(rows.periods, "2019 FY"))
    noted, printed = (series.summary(row, key, row.cell(key), {}) for key in ("interest_expense", "net_income"))
    assert (noted["value"], noted["source"], noted["confidence"]) == (5, "note", 90)
    assert (printed["value"], printed["source"], printed["confidence"]) == (7, "fsds", 100)


@pytest.mark.parametrize(
    ("metric", "page", "line"),
    [
        ("depreciation_amortization", FLOWS, ("ext:Wear", "Depreciation and amortization (see Note 4)")),
        ("income_tax", INCOME, ("OtherTaxExpenseBenefit", "Provision for income taxes")),
        ("research_and_development", INCOME, ("ext:Laboratories", "Research, development and engineering expenses")),
        ("interest_expense", INCOME, ("InterestCostsIncurred", "Interest expense")),
        ("accumulated_oci", BALANCE, ("ext:Other", "Accumulated other comprehensive loss")),
        ("share_repurchases", FLOWS, ("ext:Bought", "Treasury stock purchased")),
        ("short_term_debt", BALANCE, ("ext:Borrowed", "Short-term borrowings")),
    ],
)
def test_a_line_is_known_by_its_label_where_no_tag_tells_it(
    metric: str, page: tuple[str, str], line: tuple[str, str]
) -> None:
    fact = day(line[0], "25") if page == BALANCE else year(line[0], "25")
    base = [one for one in BASE if one[0] != "IncomeTaxExpenseBenefit"]
    assert told(held([K], [*base, fact], pages={page: [line]}), metric, "2019 FY") == "25"
    assert told(held([K], [*base, fact]), metric, "2019 FY") == "not_reported"


def test_a_total_by_its_label_goes_before_a_part_under_the_better_tag() -> None:
    facts = [
        *BASE,
        year("PaymentsToAcquirePropertyPlantAndEquipment", "30"),
        year("PaymentsToAcquireProductiveAssets", "75"),
    ]
    lines = [
        ("PaymentsToAcquirePropertyPlantAndEquipment", "Plant"),
        ("PaymentsToAcquireProductiveAssets", "Total capital expenditures"),
    ]
    assert told(held([K], facts, pages={FLOWS: lines}), "capex", "2019 FY") == "75"


def test_swapped_tags_are_told_by_their_labels() -> None:
    facts = [*BASE, year("ResearchAndDevelopmentExpense", "90"), year("SellingGeneralAndAdministrativeExpense", "10")]
    lines = [
        ("ResearchAndDevelopmentExpense", "Selling, general and administrative"),
        ("SellingGeneralAndAdministrativeExpense", "Research and development"),
    ]
    company = held([K], facts, pages={INCOME: lines})
    assert told(company, "research_and_development", "2019 FY") == "10"
    assert told(company, "selling_general_admin", "2019 FY") == "90"


def test_lines_that_make_a_figure_together_are_summed() -> None:
    facts = [*BASE, year("Depreciation", "40"), year("ext:Amortization", "9"), year("ext:Wages", "500")]
    lines = [
        ("Depreciation", "Depreciation"),
        ("ext:Amortization", "Amortization of intangible assets"),
        ("ext:Wages", "x"),
    ]
    company = held([K], facts, pages={FLOWS: lines})
    assert told(company, "depreciation_amortization", "2019 FY") == "49"
    rows = FigureSeries(company, "A", "latest")
    row = rows.row(named(rows.periods, "2019 FY"))
    shown = series.full(row, "depreciation_amortization", row.cell("depreciation_amortization"), {})
    assert [(one["sign"], one["concept"], one["value"]) for one in shown["operands"]] == [
        (1, "us-gaap:Depreciation", 40),
        (1, "ext:Amortization", 9),
    ]
    assert shown["concept"] == "+us-gaap:Depreciation +ext:Amortization"


def test_what_stands_below_the_closing_cash_is_no_line_of_the_cash_flow_statement() -> None:
    lines = [("ext:Cash", "Cash and cash equivalents, end of year"), ("ext:Spent", "Total capital expenditures")]
    facts = [*BASE, year("ext:Spent", "75"), day("ext:Cash", "3")]
    assert told(held([K], facts, pages={FLOWS: lines}), "capex", "2019 FY") == "not_reported"


def test_notes_payable_are_short_term_only_among_current_liabilities() -> None:
    lines = [
        ("AssetsCurrent", "Total"),
        ("Assets", "All"),
        ("NotesPayable", "Notes payable"),
        ("LiabilitiesCurrent", "Sum"),
    ]
    facts = [*BASE, *(day(tag, "25") for tag, _ in lines if tag != "Assets")]
    assert told(held([K], facts, pages={BALANCE: lines}), "short_term_debt", "2019 FY") == "25"
    later = [*lines[:2], lines[3], lines[2]]
    assert told(held([K], facts, pages={BALANCE: later}), "short_term_debt", "2019 FY") == "not_reported"


def test_a_line_that_may_mean_a_figure_is_named_and_not_called_not_reported() -> None:
    lines = [*RESULT, ("ext:Net", "Interest expense, net")]
    company = held([K], [*BASE, year("ext:Net", "4")], pages={INCOME: lines})
    rows = FigureSeries(company, "A", "latest")
    row = rows.row(named(rows.periods, "2019 FY"))
    shown = series.summary(row, "interest_expense", row.cell("interest_expense"), {})
    assert (shown["value"], shown["reason_code"], shown["line"]) == (None, "not_mapped", "Interest expense, net")
    made, _ = series.answer(company, series.SeriesQuestion(metrics=("interest_expense", "capex")))
    assert made["rows"][0]["holes"] == {
        "interest_expense": {"status": "hole", "reason_code": "not_mapped", "line": "Interest expense, net"},
        "capex": {"status": "hole", "reason_code": "not_reported"},
    }


@pytest.mark.parametrize(("balance", "value"), [("debit", "25"), ("credit", "-25")])
def test_a_line_of_the_other_balance_is_turned(balance: str, value: str) -> None:
    pages = {BALANCE: [("ext:Own", "Treasury stock, at cost", balance)]}
    assert told(held([K], [*BASE, day("ext:Own", "25")], pages=pages), "treasury_stock", "2019 FY") == value
