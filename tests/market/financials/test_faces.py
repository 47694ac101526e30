"""The printed statements of filings: their lines come before notes, other statements and the order of tags."""

from __future__ import annotations

import pytest

from finapi.market.financials import metric_mapping, metric_series, provenance, series_query, templates
from finapi.market.financials.cells import Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.face_pages import FaceRow
from finapi.market.financials.faces import Faces
from finapi.market.financials.fact_book import SourceFiling
from finapi.market.financials.series_rows import FigureSeries
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, find_period, get_cell_text

K = build_filing("0000000001-19-000001", "10-K", "2019-10-31", source="fsds", fiscal_year=2019, fiscal_period="FY")
YEAR = ("2018-10-01", "2019-09-30")
INCOME, BALANCE, FLOWS = ((K.accession, kind) for kind in ("income", "balance", "cash-flow"))


def year_fact(tag: str, value: str) -> Fact:
    """Return a fact of the year."""
    return (tag, *YEAR, value, K.accession)


def instant_fact(tag: str, value: str) -> Fact:
    """Return a balance at the end of the year."""
    return (tag, None, YEAR[1], value, K.accession)


BASE = [year_fact("NetIncomeLoss", "7"), year_fact("IncomeTaxExpenseBenefit", "3"), instant_fact("Assets", "1000")]
RESULT = [("NetIncomeLoss", "Net income"), ("IncomeTaxExpenseBenefit", "Income taxes")]


def test_a_statement_line_beats_a_better_tag_in_a_note() -> None:
    facts = [
        *BASE,
        instant_fact("PropertyPlantAndEquipmentNet", "1"),
        instant_fact("PublicUtilitiesPropertyPlantAndEquipmentNet", "90"),
    ]
    pages = {BALANCE: [("PublicUtilitiesPropertyPlantAndEquipmentNet", "Plant, net"), ("Assets", "Total assets")]}
    assert get_cell_text(build_company_book([K], facts, pages=pages), "ppe_net", "2019 FY") == "90"
    assert get_cell_text(build_company_book([K], facts), "ppe_net", "2019 FY") == "1"


def test_a_note_is_used_if_the_statement_lacks_the_line() -> None:
    company = build_company_book([K], [*BASE, year_fact("InterestExpense", "5")], pages={INCOME: RESULT})
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    noted, printed = (
        provenance.build_provenance(row, key, row.get_cell(key), {}) for key in ("interest_expense", "net_income")
    )
    assert (noted["value"], noted["source"], noted["confidence"]) == (5, "note", 90)
    assert (printed["value"], printed["source"], printed["confidence"]) == (7, "fsds", 100)


@run_each_case(
    "metric, page, line",
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
def test_a_label_identifies_a_line_without_a_mapped_tag(
    metric: str, page: tuple[str, str], line: tuple[str, str]
) -> None:
    fact = instant_fact(line[0], "25") if page == BALANCE else year_fact(line[0], "25")
    base = [base_fact for base_fact in BASE if base_fact[0] != "IncomeTaxExpenseBenefit"]
    assert get_cell_text(build_company_book([K], [*base, fact], pages={page: [line]}), metric, "2019 FY") == "25"
    assert get_cell_text(build_company_book([K], [*base, fact]), metric, "2019 FY") == "not_reported"


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("cash_at_end_of_period", "Cash and Cash Equivalents, End of Period"),
        ("accumulated_oci", "Accumulated other comprehensive loss"),
    ],
)
def test_a_balance_tagged_as_a_duration_counts_at_its_end(metric: str, label: str) -> None:
    page = BALANCE if metric == "accumulated_oci" else FLOWS
    assert (
        get_cell_text(
            build_company_book([K], [*BASE, year_fact("ext:Own", "25")], pages={page: [("ext:Own", label)]}),
            metric,
            "2019 FY",
        )
        == "25"
    )


def test_an_opening_balance_tagged_as_a_duration_counts_before() -> None:
    pages = {FLOWS: [("ext:Own", "Cash and cash equivalents, beginning of period")]}
    company = build_company_book([K], [*BASE, year_fact("ext:Own", "25")], pages=pages)
    assert get_cell_text(company, "cash_at_beginning_of_period", "2019 FY") == "25"


def test_a_hole_names_the_line_that_may_be_an_opening_balance() -> None:
    opening = ("ext:Opening", None, "2018-09-30", "25", K.accession)
    closing = instant_fact("CashAndCashEquivalentsAtCarryingValue", "31")
    lines = [
        ("ext:Opening", "Cash and equivalents at beginning of year"),
        ("CashAndCashEquivalentsAtCarryingValue", "Cash and equivalents of continuing operations at September 30"),
    ]
    company = build_company_book([K], [*BASE, opening, closing], pages={FLOWS: lines})
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(find_period(rows.periods, "2019 FY")).get_cell("cash_at_beginning_of_period")
    assert cell == Missing("not_mapped", "Cash and equivalents at beginning of year")
    assert get_cell_text(company, "cash_at_end_of_period", "2019 FY") == "31"


def test_a_labelled_total_beats_a_part_under_a_better_tag() -> None:
    facts = [
        *BASE,
        year_fact("PaymentsToAcquirePropertyPlantAndEquipment", "30"),
        year_fact("PaymentsToAcquireProductiveAssets", "75"),
    ]
    lines = [
        ("PaymentsToAcquirePropertyPlantAndEquipment", "Plant"),
        ("PaymentsToAcquireProductiveAssets", "Total capital expenditures"),
    ]
    assert get_cell_text(build_company_book([K], facts, pages={FLOWS: lines}), "capex", "2019 FY") == "75"


def test_labels_correct_swapped_tags() -> None:
    facts = [
        *BASE,
        year_fact("ResearchAndDevelopmentExpense", "90"),
        year_fact("SellingGeneralAndAdministrativeExpense", "10"),
    ]
    lines = [
        ("ResearchAndDevelopmentExpense", "Selling, general and administrative"),
        ("SellingGeneralAndAdministrativeExpense", "Research and development"),
    ]
    company = build_company_book([K], facts, pages={INCOME: lines})
    assert get_cell_text(company, "research_and_development", "2019 FY") == "10"
    assert get_cell_text(company, "selling_general_admin", "2019 FY") == "90"


def test_lines_that_are_parts_of_a_metric_are_summed() -> None:
    facts = [*BASE, year_fact("Depreciation", "40"), year_fact("ext:Amortization", "9"), year_fact("ext:Wages", "500")]
    lines = [
        ("Depreciation", "Depreciation"),
        ("ext:Amortization", "Amortization of intangible assets"),
        ("ext:Wages", "x"),
    ]
    company = build_company_book([K], facts, pages={FLOWS: lines})
    assert get_cell_text(company, "depreciation_amortization", "2019 FY") == "49"
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    record = provenance.build_full_provenance(
        row, "depreciation_amortization", row.get_cell("depreciation_amortization"), {}
    )
    assert [(operand["sign"], operand["concept"], operand["value"]) for operand in record["operands"]] == [
        (1, "us-gaap:Depreciation", 40),
        (1, "ext:Amortization", 9),
    ]
    assert record["concept"] == "+us-gaap:Depreciation +ext:Amortization"


def test_lines_below_closing_cash_are_not_cash_flows() -> None:
    lines = [("ext:Cash", "Cash and cash equivalents, end of year"), ("ext:Spent", "Total capital expenditures")]
    facts = [*BASE, year_fact("ext:Spent", "75"), instant_fact("ext:Cash", "3")]
    assert get_cell_text(build_company_book([K], facts, pages={FLOWS: lines}), "capex", "2019 FY") == "not_reported"


def test_notes_payable_are_short_term_in_current_liabilities() -> None:
    lines = [
        ("AssetsCurrent", "Total"),
        ("Assets", "All"),
        ("NotesPayable", "Notes payable"),
        ("LiabilitiesCurrent", "Sum"),
    ]
    facts = [*BASE, *(instant_fact(tag, "25") for tag, _ in lines if tag != "Assets")]
    assert get_cell_text(build_company_book([K], facts, pages={BALANCE: lines}), "short_term_debt", "2019 FY") == "25"
    later = [*lines[:2], lines[3], lines[2]]
    assert (
        get_cell_text(build_company_book([K], facts, pages={BALANCE: later}), "short_term_debt", "2019 FY")
        == "not_mapped"
    )


def test_an_uncertain_line_is_not_mapped_and_named() -> None:
    lines = [*RESULT, ("ext:Net", "Interest expense, net")]
    company = build_company_book([K], [*BASE, year_fact("ext:Net", "4")], pages={INCOME: lines})
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    record = provenance.build_provenance(row, "interest_expense", row.get_cell("interest_expense"), {})
    assert (record["value"], record["reason_code"], record["line"]) == (None, "not_mapped", "Interest expense, net")
    series, _ = metric_series.build_series(company, series_query.SeriesQuery(metrics=("interest_expense", "capex")))
    assert series["rows"][0]["holes"] == {
        "interest_expense": {"status": "hole", "reason_code": "not_mapped", "line": "Interest expense, net"},
        "capex": {"status": "hole", "reason_code": "not_reported"},
    }


@pytest.mark.parametrize(("balance", "value"), [("debit", "25"), ("credit", "-25")])
def test_a_line_with_the_opposite_balance_changes_its_sign(balance: str, value: str) -> None:
    pages = {BALANCE: [("ext:Own", "Treasury stock, at cost", balance)]}
    assert (
        get_cell_text(
            build_company_book([K], [*BASE, instant_fact("ext:Own", "25")], pages=pages), "treasury_stock", "2019 FY"
        )
        == value
    )


# ---- siblings, parts and lines beside


def build_record(company: CompanyBook, key: str) -> provenance.Provenance:
    """Return the cell of the year with its provenance."""
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    return provenance.build_provenance(row, key, row.get_cell(key), {})


@run_each_case(
    "lines, capex",
    [
        # A service company's own plant, next to its oil and gas (Range Resources, 2009).
        (
            {
                "PaymentsToAcquireOilAndGasPropertyAndEquipment": ("Additions to oil and gas properties", "275999"),
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Additions to field service assets", "14849"),
            },
            "290848",
        ),
        # Custom lines that are negative throughout (FPL Group, 2009).
        (
            {
                "ext:Utility": ("Capital expenditures of FPL", "-1088"),
                "ext:Other": ("Other capital expenditures", "-20"),
            },
            "1108",
        ),
        # Construction is the capital expenditure; assets bought are another line (American Electric Power, 2009).
        (
            {
                "ext:Building": ("Construction Expenditures", "1547"),
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Acquisitions of Assets", "11"),
            },
            "1547",
        ),
        # A total goes before its parts (Questar, 2009).
        (
            {
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Property, plant and equipment", "6994"),
                "PaymentsToAcquireProductiveAssets": ("Total capital expenditures", "7031"),
            },
            "7031",
        ),
        # Money that came back in one of the lines: neither a sum nor the line alone is the figure.
        (
            {
                "PaymentsToAcquireOilAndGasProperty": ("Additions to oil and gas property", "2117"),
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Acquisition of Marathon properties", "-181"),
            },
            "not_mapped",
        ),
    ],
)
def test_capital_expenditures_on_several_lines_are_added(lines: dict[str, tuple[str, str]], capex: str) -> None:
    facts = [*BASE, *(year_fact(tag, value) for tag, (_, value) in lines.items())]
    pages = {FLOWS: [(tag, label) for tag, (label, _) in lines.items()]}
    assert get_cell_text(build_company_book([K], facts, pages=pages), "capex", "2019 FY") == capex


def test_an_incomplete_figure_names_the_separate_lines_it() -> None:
    facts = [
        *BASE,
        year_fact("PaymentsToAcquirePropertyPlantAndEquipment", "846"),
        year_fact("PaymentsForNuclearFuel", "35"),
    ]
    facts += [year_fact("ext:Idle", "0")]
    lines = [
        ("PaymentsToAcquirePropertyPlantAndEquipment", "Capital expenditures"),
        ("PaymentsForNuclearFuel", "Nuclear fuel expenditures"),
        ("ext:Idle", "Acquisition of timberlands"),
    ]
    record = build_record(build_company_book([K], facts, pages={FLOWS: lines}), "capex")
    assert (record["value"], record["beside"], record["confidence"]) == (846, ["Nuclear fuel expenditures"], 80)
    alone = build_record(build_company_book([K], facts, pages={FLOWS: lines[:1]}), "capex")
    assert ("beside" in alone, alone["confidence"]) == (False, 100)


def build_costs(*lines: tuple[str, str, str]) -> CompanyBook:
    """Return a company with revenue of 1000 and these lines of cost on its income statement."""
    facts = [*BASE, year_fact("Revenues", "1000"), *(year_fact(tag, value) for tag, _, value in lines)]
    page = [("Revenues", "Total revenues"), *((tag, label) for tag, label, _ in lines), *RESULT]
    return build_company_book([K], facts, pages={INCOME: page})


def test_one_of_several_cost_lines_makes_no_gross_profit() -> None:
    # C.H. Robinson, 2009.
    company = build_costs(
        ("ext:Carriers", "Purchased transportation and related services", "600"),
        ("CostOfGoodsSold", "Purchased products sourced for resale", "200"),
        ("LaborAndRelatedExpense", "Personnel expenses", "70"),
    )
    cost = build_record(company, "cost_of_revenue")
    hole = (cost["value"], cost["reason_code"], cost["line"])
    assert hole == (None, "not_mapped", "Purchased transportation and related services")
    assert get_cell_text(company, "gross_profit", "2019 FY") == "not_reported"


@pytest.mark.parametrize(("gross", "cost"), [("700", "300"), ("690", "not_mapped")])
def test_cost_lines_are_added_if_gross_profit_confirms_them(gross: str, cost: str) -> None:
    company = build_costs(
        ("ext:Goods", "Cost of product revenues", "190"),
        ("ext:Services", "Cost of service revenues", "110"),
        ("GrossProfit", "Gross profit", gross),
    )
    assert get_cell_text(company, "cost_of_revenue", "2019 FY") == cost


@run_each_case(
    "lines, value",
    [
        ({"FuelCosts": ("Fuel", "276"), "CostOfPurchasedPower": ("Purchased power", "1024")}, "1300"),
        ({"FuelCosts": ("Fuel and oil", "726")}, "726"),
        (
            {"FuelCosts": ("Fuel", "60"), "ext:Power": ("Purchased power", "40"), "ext:All": ("Energy costs", "100")},
            "100",
        ),
        (
            {"CostOfPurchasedPower": ("Cost of electricity", "-883"), "ext:Gas": ("Cost of natural gas", "-188")},
            "not_mapped",
        ),
        ({"ext:Gas": ("Gas purchases and other costs of sales", "709")}, "not_reported"),
    ],
)
def test_fuel_and_purchased_power_are_income_statement_lines(lines: dict[str, tuple[str, str]], value: str) -> None:
    # FirstEnergy, Southwest Airlines, PG&E and Kinder Morgan, 2009.
    company = build_costs(*((tag, label, amount) for tag, (label, amount) in lines.items()))
    assert get_cell_text(company, "fuel_and_purchased_power", "2019 FY") == value


@pytest.mark.parametrize(
    ("label", "amount", "value"),
    [
        ("Amortization of purchased intangibles", "63", "124"),
        ("Amortization of drilling contract intangibles", "-17", "61"),
        ("Amortization and write-off of capitalized software development costs", "15", "61"),
    ],
)
def test_depreciation_and_amortization_lines_are_added(label: str, amount: str, value: str) -> None:
    # CME, Transocean and Activision, 2009.
    lines = [("DepreciationAndAmortization", "Depreciation and amortization"), ("ext:More", label)]
    facts = [*BASE, year_fact("DepreciationAndAmortization", "61"), year_fact("ext:More", amount)]
    company = build_company_book([K], facts, pages={FLOWS: lines})
    assert get_cell_text(company, "depreciation_amortization", "2019 FY") == value


def test_a_line_on_a_later_page_is_only_named() -> None:
    # Ford, 2009, whose second balance sheet is of its automotive sector.
    first, later = [("Assets", "Total assets")], [("ext:Automotive", "Total current assets")]
    pages = {BALANCE: first, (f"{K.accession}", "balance"): [*first]}
    rows = [*BASE, instant_fact("ext:Automotive", "37")]
    assert (
        get_cell_text(build_company_book([K], rows, pages=pages), "total_current_assets", "2019 FY") == "not_reported"
    )
    mapping = metric_mapping.get_mapping()
    face = [FaceRow(0, 0, "balance", "us-gaap:Assets", "Total assets", None)]
    later_page = [FaceRow(0, 1, "balance", concept, label, None) for concept, label in later]
    chosen = Faces([*face, *later_page], mapping).iter_labelled({(0, "ext:Automotive"): "currency"}, {})
    named_lines = [
        (metric.key, [line.printed_label for line in possible_lines])
        for _, metric, possible_lines in chosen
        if isinstance(possible_lines, list)
    ]
    assert named_lines == [("total_current_assets", ["Total current assets"])]


@pytest.mark.parametrize(
    ("total", "value", "gross"),
    [
        ("Total cost of revenue", "300", "700"),
        ("Cost of goods and services", "300", "700"),
        ("Cost of subscriptions", "60", "not_reported"),
    ],
)
def test_a_total_includes_the_lines_above_that_add_up_to_it(total: str, value: str, gross: str) -> None:
    company = build_costs(
        ("CostOfGoodsSold", "Cost of products", "190"),
        ("CostOfServices", "Cost of services", "110"),
        ("CostOfRevenue", total, value),
    )
    assert get_cell_text(company, "gross_profit", "2019 FY") == gross


def test_a_cost_excluding_depreciation_names_it_beside() -> None:
    # AT&T, 2009.
    label = "Cost of sales (exclusive of depreciation and amortization shown separately below)"
    wear = ("DepreciationDepletionAndAmortization", "Depreciation and amortization", "90")
    without = build_costs(("CostOfRevenue", label, "400"), wear)
    assert build_record(without, "cost_of_revenue")["beside"] == ["Depreciation and amortization"]
    assert get_cell_text(without, "gross_profit", "2019 FY") == "not_reported"
    assert (
        get_cell_text(build_costs(("CostOfRevenue", "Cost of sales", "400"), wear), "gross_profit", "2019 FY") == "600"
    )


def build_liabilities(**lines: tuple[str, str]) -> CompanyBook:
    """Return a company with these lines among its liabilities; those up to ``current`` are current ones."""
    prefixed_lines = {tag.replace("ext_", "ext:"): amount for tag, amount in lines.items()}
    facts = [*BASE, *(instant_fact(tag, value) for tag, (_, value) in prefixed_lines.items())]
    page = [("AssetsCurrent", "Current assets"), ("Assets", "Total assets")]
    return build_company_book(
        [K], facts, pages={BALANCE: [*page, *((tag, label) for tag, (label, _) in prefixed_lines.items())]}
    )


def test_recourse_and_non_recourse_debt_are_added() -> None:
    # AES, 2009.
    company = build_liabilities(
        ext_A=("Non-recourse debt-current", "1384"),
        LiabilitiesCurrent=("Total current liabilities", "5000"),
        ext_B=("Non-recourse debt-noncurrent", "12321"),
        ext_C=("Recourse debt-noncurrent", "5515"),
    )
    assert get_cell_text(company, "long_term_debt", "2019 FY") == "17836"
    assert build_record(company, "short_term_debt")["line"] == "Non-recourse debt-current"


@pytest.mark.parametrize("label", ["Loans and notes payable", "Notes and loans payable", "Short-term bank loans"])
def test_current_loans_and_notes_are_short_term_debt(label: str) -> None:
    # Coca-Cola, 2009.
    company = build_liabilities(ext_A=(label, "6382"), LiabilitiesCurrent=("Total current liabilities", "9000"))
    assert get_cell_text(company, "short_term_debt", "2019 FY") == "6382"


def test_total_debt_needs_complete_long_term_debt() -> None:
    # Hologic, 2009.
    lines = {
        "LongTermDebtCurrent": ("Current portion of long-term debt", "25"),
        "LiabilitiesCurrent": ("Total current liabilities", "90"),
        "ConvertibleDebtNoncurrent": ("Convertible debt", "1725"),
        "LongTermDebtNoncurrent": ("Long-term debt, less current portion", "256"),
    }
    company = build_liabilities(**lines)
    assert build_record(company, "long_term_debt")["beside"] == ["Convertible debt"]
    assert get_cell_text(company, "total_debt", "2019 FY") == "not_reported"
    lines.pop("ConvertibleDebtNoncurrent")
    assert get_cell_text(build_liabilities(**lines), "total_debt", "2019 FY") == "281"


# ---- sums that a filing declares, else those of its lines in their order


def build_sum(total: str, *items: str, weight: str = "1") -> list[tuple[str, str, str, str]]:
    """Return a sum of a calculation linkbase."""
    return [(K.accession, total, item, weight) for item in items]


def test_total_long_term_debt_beats_its_line_under_a_better_tag() -> None:
    # DTE Energy, 2009, in millions.
    lines = {
        "ShortTermBorrowings": ("Short-term borrowings", "201"),
        "LongTermDebtAndCapitalLeaseObligationsCurrent": ("Current portion long-term debt, including leases", "167"),
        "LiabilitiesCurrent": ("Total Current Liabilities", "2076"),
        "LongTermDebtNoncurrent": ("Mortgage bonds, notes and other", "6739"),
        "LongTermTransitionBond": ("Securitization bonds", "861"),
        "OtherLongTermDebtNoncurrent": ("Trust preferred-linked securities", "289"),
        "CapitalLeaseObligationsNoncurrent": ("Capital lease obligations", "54"),
        "LongTermDebtAndCapitalLeaseObligations": ("Total Long-Term Debt (net of current portion)", "7943"),
    }
    company = build_liabilities(**lines)
    record = build_record(company, "long_term_debt")
    assert (record["value"], record["concept"], record["confidence"]) == (
        7943,
        "us-gaap:LongTermDebtAndCapitalLeaseObligations",
        95,
    )
    assert get_cell_text(company, "total_debt", "2019 FY") == "8311"
    lines["LongTermDebtAndCapitalLeaseObligations"] = ("Capital leases and their interest", "7942")
    assert get_cell_text(build_liabilities(**lines), "long_term_debt", "2019 FY") == "6739"


def test_total_equity_is_the_line_that_contains_the_parents() -> None:
    # Foster Wheeler, 2009, whose tags of the two are swapped.
    lines = {
        "ext_TotalEquity": ("TOTAL FOSTER WHEELER AG SHAREHOLDERS' EQUITY", "624315"),
        "MinorityInterest": ("Noncontrolling interests", "35723"),
        "StockholdersEquity": ("TOTAL EQUITY", "660038"),
    }
    assert get_cell_text(build_liabilities(**lines), "total_equity", "2019 FY") == "660038"


SPENT = [("PaymentsToAcquireProductiveAssets", "In all"), ("PaymentsToAcquirePropertyPlantAndEquipment", "Plant")]


@run_each_case(
    "sums, capex",
    [
        (build_sum(SPENT[0][0], SPENT[1][0]), "75"),
        # By way of a subtotal.
        (build_sum(SPENT[0][0], "ext:Fixed") + build_sum("ext:Fixed", SPENT[1][0]), "75"),
        # Both in another total, or one taken off the other: neither holds the other.
        (build_sum("NetCashProvidedByUsedInInvestingActivities", SPENT[0][0], SPENT[1][0], weight="-1"), "30"),
        (build_sum(SPENT[0][0], SPENT[1][0], weight="-1"), "30"),
        ([], "30"),
    ],
)
def test_declared_sums_decide_which_tag_contains_the_other(sums: list[tuple[str, str, str, str]], capex: str) -> None:
    facts = [*BASE, year_fact(SPENT[0][0], "75"), year_fact(SPENT[1][0], "30")]
    company = build_company_book([K], facts, pages={FLOWS: SPENT}, sums=sums)
    assert get_cell_text(company, "capex", "2019 FY") == capex


@pytest.mark.parametrize(("is_declared", "wear"), [(True, "40"), (False, "49")])
def test_a_part_is_not_added_to_the_line_that_contains_it(is_declared: bool, wear: str) -> None:
    lines = [("Depreciation", "Depreciation"), ("ext:Amortization", "Amortization of intangible assets")]
    facts = [*BASE, year_fact("Depreciation", "40"), year_fact("ext:Amortization", "9")]
    sums = build_sum("Depreciation", "ext:Amortization") if is_declared else []
    assert (
        get_cell_text(
            build_company_book([K], facts, pages={FLOWS: lines}, sums=sums), "depreciation_amortization", "2019 FY"
        )
        == wear
    )


@pytest.mark.parametrize(("is_declared", "gross"), [(True, "700"), (False, "not_reported")])
def test_a_cost_line_within_the_total_is_not_beside_it(is_declared: bool, gross: str) -> None:
    lines = [
        ("Revenues", "Sales"),
        ("CostOfRevenue", "All of it"),
        ("ext:Freight", "Freight costs"),
        RESULT[1],
        RESULT[0],
    ]
    facts = [*BASE, year_fact("Revenues", "1000"), year_fact("CostOfRevenue", "300"), year_fact("ext:Freight", "60")]
    sums = build_sum("CostOfRevenue", "ext:Freight") if is_declared else []
    assert (
        get_cell_text(build_company_book([K], facts, pages={INCOME: lines}, sums=sums), "gross_profit", "2019 FY")
        == gross
    )


# ---- between liabilities and equity

SHEET = [
    ("Assets", "Total assets"),
    ("LiabilitiesCurrent", "Total current liabilities"),
    ("Liabilities", "Total liabilities"),
    ("ext:Units", "Preferred units of the operating partnership"),
    ("ext:Stock", "Series B convertible stock"),
    ("PreferredStockValue", "Redeemable preferred stock"),
    ("StockholdersEquity", "Total stockholders' equity"),
]


def build_balance_sheet(*values: str, lines: list[tuple[str, str]] | None = None) -> CompanyBook:
    """Return a company with these figures in the lines of its balance sheet."""
    facts = [instant_fact(tag, value) for (tag, _), value in zip(SHEET, values, strict=True) if value]
    return build_company_book([K], [*BASE[:2], *facts], pages={BALANCE: lines or SHEET})


def test_lines_between_liabilities_and_equity_are_the_mezzanine() -> None:
    company = build_balance_sheet("1001", "201", "601", "71", "31", "51", "298")
    assert get_cell_text(company, "temporary_equity", "2019 FY") == "102"
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    assert provenance.get_concept(row.get_cell("temporary_equity")) == "+ext:Units +ext:Stock"
    assert templates.check_totals(company.industry, row.get_cell)["total_assets"] == "consistent"


def test_one_line_with_any_label_can_be_the_mezzanine() -> None:
    assert (
        get_cell_text(build_balance_sheet("1001", "201", "601", "71", "31", "51", "329"), "temporary_equity", "2019 FY")
        == "71"
    )


def test_without_a_gap_there_is_no_mezzanine() -> None:
    assert (
        get_cell_text(build_balance_sheet("1001", "201", "601", "71", "31", "51", "400"), "temporary_equity", "2019 FY")
        == "not_reported"
    )


def test_lines_that_do_not_close_the_gap_are_not_mezzanine() -> None:
    company = build_balance_sheet("1001", "201", "601", "71", "31", "51", "381")
    assert get_cell_text(company, "temporary_equity", "2019 FY") == "not_reported"
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2019 FY"))
    assert templates.check_totals(company.industry, row.get_cell)["total_assets"] == "inconsistent"


def test_minority_interests_are_not_part_of_the_mezzanine() -> None:
    lines = [("MinorityInterest", "Minority interests") if tag == "ext:Units" else (tag, text) for tag, text in SHEET]
    facts = [
        instant_fact(tag, value)
        for (tag, _), value in zip(lines, ["1001", "201", "601", "71", "31", "51", "298"], strict=True)
    ]
    company = build_company_book([K], [*BASE[:2], *facts], pages={BALANCE: lines})
    assert (
        get_cell_text(company, "minority_interest", "2019 FY"),
        get_cell_text(company, "temporary_equity", "2019 FY"),
    ) == ("71", "31")


def test_a_tagged_mezzanine_total_beats_its_lines() -> None:
    lines = [
        ("TemporaryEquityCarryingAmount", "In all") if tag == "PreferredStockValue" else (tag, text)
        for tag, text in SHEET
    ]
    facts = [
        instant_fact(tag, value)
        for (tag, _), value in zip(lines, ["1001", "201", "601", "71", "31", "102", "298"], strict=True)
    ]
    company = build_company_book([K], [*BASE[:2], *facts], pages={BALANCE: lines})
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(find_period(rows.periods, "2019 FY")).get_cell("temporary_equity")
    assert provenance.get_concept(cell) == "us-gaap:TemporaryEquityCarryingAmount"


@pytest.mark.parametrize(
    ("label", "liabilities"), [("Total long-term liabilities", "602"), ("Total liabilities", "401")]
)
def test_long_term_liabilities_tagged_as_all_are_a_part(label: str, liabilities: str) -> None:
    lines = [(tag, label if tag == "Liabilities" else text) for tag, text in SHEET]
    assert (
        get_cell_text(
            build_balance_sheet("1001", "201", "401", "", "", "51", "399", lines=lines), "total_liabilities", "2019 FY"
        )
        == liabilities
    )


# ---- lines that filers print their own way


@run_each_case(
    "kind, lines, sic, told_as",
    [
        # SandRidge Energy, 2009: basic and diluted earnings per share in one line, in dollars.
        (
            "income",
            [
                (
                    "ext:Each",
                    "Basic and diluted loss per share applicable to SandRidge Energy, Inc. common stockholders",
                    "-0.52",
                )
            ],
            None,
            {"eps_basic": "-0.52", "eps_diluted": "-0.52"},
        ),
        # Public Storage, 2009: the tag of diluted earnings is on the line of discontinued operations.
        (
            "income",
            [
                ("EarningsPerShareBasic", "Net income per common share - basic, total", "0.80"),
                ("EarningsPerShareDiluted", "Discontinued operations", "-0.05"),
                ("ext:Each", "Net income per common share - diluted, total", "0.8"),
            ],
            None,
            {"eps_basic": "0.8", "eps_diluted": "0.8"},
        ),
        # Nothing says that it is per share: it is in dollars, and its label does not say so.
        (
            "income",
            [
                ("ext:Paid", "Distributed (in dollars per share)", "0.06"),
                ("ext:Each", "Total basic (in dollars per share)", "0.46"),
            ],
            None,
            {"eps_basic": "not_reported"},
        ),
        # American Express, 2009: tagged as operating income.
        (
            "income",
            [("OperatingIncomeLoss", "Pretax income from continuing operations", "418")],
            None,
            {"pretax_income": "418"},
        ),
        # Johnson Controls, 2009, and Exelon, which prints a second line after the income of affiliates.
        (
            "income",
            [
                (
                    "ext:Before",
                    "Income (loss) from continuing operations before income taxes and minority interest",
                    "275",
                )
            ],
            None,
            {"pretax_income": "275"},
        ),
        (
            "income",
            [
                ("ext:First", "Income before income taxes and equity in earnings of unconsolidated affiliates", "1095"),
                ("ext:Second", "Income from continuing operations before income taxes", "1088"),
            ],
            None,
            {"pretax_income": "1088"},
        ),
        # Fluor, 2009; Altria, whose line has the research in it.
        (
            "income",
            [("ext:General", "Corporate administrative and general expense", "42003")],
            None,
            {"selling_general_admin": "42003"},
        ),
        (
            "income",
            [("ext:All", "Marketing, administration and research costs", "738")],
            None,
            {"selling_general_admin": "not_mapped"},
        ),
        # Vornado, 2009: the tag of real estate revenue is on the total.
        (
            "income",
            [
                ("OperatingLeasesIncomeStatementLeaseRevenue", "Property rentals", "559010"),
                ("TenantReimbursements", "Tenant expense reimbursements", "83476"),
                ("ext:Fees", "Fee and other income", "35899"),
                ("RealEstateRevenueNet", "Total revenues", "678385"),
            ],
            6798,
            {"rental_revenue": "559010", "revenue": "678385"},
        ),
        # Simon Property Group, 2009: one of several lines of rent.
        (
            "income",
            [("ext:Rent", "Minimum rent", "567633"), ("Revenues", "Total revenue", "903612")],
            6798,
            {"rental_revenue": "not_mapped"},
        ),
        # Molson Coors, 2009: sales before and after excise taxes.
        (
            "income",
            [
                ("ext:Gross", "Sales", "1160.4"),
                ("ExciseAndSalesTaxes", "Excise taxes", "361.5"),
                ("SalesRevenueGoodsNet", "Net sales", "798.9"),
            ],
            None,
            {"revenue": "798.9"},
        ),
        # Xcel Energy and Wisconsin Energy, 2009: utilities without a total of equity.
        (
            "balance",
            [
                ("PreferredStockValue", "Preferred stockholders' equity - authorized 7,000,000 shares", "104980"),
                ("ext:Common", "Common stockholders' equity - authorized 1,000,000,000 shares", "7073723"),
            ],
            None,
            {"total_equity": "7178703"},
        ),
        (
            "balance",
            [("CommonStockValue", "Common equity", "3467.1"), ("ext:All", "Total Capitalization", "7317.6")],
            None,
            {"total_equity": "3467.1"},
        ),
        # Goldman Sachs, 2009: a balance sheet that is not classified.
        (
            "balance",
            [("ext:Cash", "Cash and cash equivalents", "22177"), ("Assets", "Total assets", "889544")],
            None,
            {"cash_and_equivalents": "22177"},
        ),
        # Kimco Realty, 2009: nothing says that they are current, and they may be.
        (
            "balance",
            [("MarketableSecurities", "Marketable securities", "246099"), ("Assets", "Total assets", "1000")],
            6798,
            {"short_term_investments": "not_mapped"},
        ),
    ],
)
def test_labels_of_real_filers_identify_their_lines(
    kind: str, lines: list[tuple[str, str, str]], sic: int | None, told_as: dict[str, str]
) -> None:
    build_fact = instant_fact if kind == "balance" else year_fact
    facts = [fact for fact in BASE if fact[0] != "Assets"] + [build_fact(tag, value) for tag, _, value in lines]
    company = build_company_book(
        [K], facts, pages={(K.accession, kind): [(tag, label) for tag, label, _ in lines]}, sic=sic
    )
    assert {key: get_cell_text(company, key, "2019 FY") for key in told_as} == told_as


def test_custom_cash_on_the_balance_sheet_beats_cash_flow_total() -> None:
    facts = [*BASE, instant_fact("ext:Cash", "30"), instant_fact("CashAndCashEquivalentsAtCarryingValue", "34")]
    pages = {
        BALANCE: [("ext:Cash", "Cash and cash equivalents"), ("AssetsCurrent", "Total"), ("Assets", "Total assets")],
        FLOWS: [("CashAndCashEquivalentsAtCarryingValue", "Cash and restricted cash, end of year")],
    }
    company = build_company_book([K], facts, pages=pages)
    assert get_cell_text(company, "cash_and_equivalents", "2019 FY") == "30"
    assert get_cell_text(company, "cash_at_end_of_period", "2019 FY") == "34"


def test_amounts_in_brackets_are_parts_of_their_line() -> None:
    # Target, 2009, in millions: marketable securities within its cash.
    cash, within = "CashCashEquivalentsAndShortTermInvestments", "MarketableSecuritiesCurrent"
    facts = [
        *BASE,
        instant_fact(cash, "957"),
        instant_fact(within, "385"),
        instant_fact("DebtCurrent", "1362"),
        instant_fact("LongTermDebtNoncurrent", "11138"),
    ]
    line, brackets = (cash, "Cash, including marketable securities of $385"), (within, "Marketable securities")
    company = build_company_book(
        [K], facts, pages={BALANCE: [line], (K.accession, "balance-parenthetical"): [brackets]}
    )
    assert get_cell_text(company, "short_term_investments", "2019 FY") == "not_reported"
    assert get_cell_text(company, "short_term_investments", "2019 FY", basis="original") == "not_reported"
    assert get_cell_text(company, "net_debt", "2019 FY") == "11543"
    with_both_lines = build_company_book([K], facts, pages={BALANCE: [line, brackets]})
    assert get_cell_text(with_both_lines, "short_term_investments", "2019 FY") == "385"


# ---- filings without pages

LATER = build_filing("0000000001-20-000002", "10-K", "2020-10-30")
YEARS_LATER = build_filing("0000000001-25-000003", "10-K", "2025-10-31")


PLANT = {BALANCE: [("PublicUtilitiesPropertyPlantAndEquipmentNet", "Plant, net"), ("Assets", "Total assets")]}
BOTH = {"PropertyPlantAndEquipmentNet": "1", "PublicUtilitiesPropertyPlantAndEquipmentNet": "95"}


def build_facts_without_pages(report: SourceFiling, flows: dict[str, str], balances: dict[str, str]) -> list[Fact]:
    """Return the facts of a companyfacts filing for the year before it was filed."""
    ended = int((report.filed or "")[:4])
    span, facts = (f"{ended - 1}-10-01", f"{ended}-09-30"), {"NetIncomeLoss": "8", "InterestExpense": "2", **flows}
    told_of: list[Fact] = [(tag, *span, value, report.accession) for tag, value in facts.items()]
    return told_of + [
        (tag, None, span[1], value, report.accession) for tag, value in ({"Assets": "9"} | balances).items()
    ]


@pytest.mark.parametrize("basis", ["latest", "original"])
def test_without_pages_the_companys_other_filings_decide(basis: str) -> None:
    facts = [
        *BASE,
        instant_fact("PublicUtilitiesPropertyPlantAndEquipmentNet", "90"),
        *build_facts_without_pages(LATER, {}, BOTH),
    ]
    assert get_cell_text(build_company_book([K, LATER], facts, pages=PLANT), "ppe_net", "2020 FY", basis=basis) == "95"
    assert get_cell_text(build_company_book([K, LATER], facts), "ppe_net", "2020 FY", basis=basis) == "1"


def test_without_the_usual_tags_the_order_of_rules_decides() -> None:
    facts = [*BASE, *build_facts_without_pages(LATER, {}, {"PropertyPlantAndEquipmentNet": "1"})]
    company = build_company_book([K, LATER], facts, pages=PLANT)
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2020 FY"))
    record = provenance.build_provenance(row, "ppe_net", row.get_cell("ppe_net"), {})
    assert (record["value"], record["source"], record["confidence"]) == (1, "companyfacts", 100)


def test_a_statement_of_years_ago_does_not_decide_tags() -> None:
    company = build_company_book(
        [K, YEARS_LATER], [*BASE, *build_facts_without_pages(YEARS_LATER, {}, BOTH)], pages=PLANT
    )
    assert get_cell_text(company, "ppe_net", "2025 FY") == "1"


def test_a_labelled_line_keeps_its_meaning_without_pages() -> None:
    line = ("OtherTaxExpenseBenefit", "Provision for income taxes")
    base = [base_fact for base_fact in BASE if base_fact[0] != "IncomeTaxExpenseBenefit"]
    facts = [*base, year_fact(line[0], "24"), *build_facts_without_pages(LATER, {line[0]: "25"}, {})]
    paged = build_company_book([K, LATER], facts, pages={INCOME: [line, RESULT[0]]})
    assert get_cell_text(paged, "income_tax", "2020 FY") == "25"
    assert get_cell_text(build_company_book([K, LATER], facts), "income_tax", "2020 FY") == "not_reported"


def test_without_pages_printed_parts_beat_a_total_in_notes() -> None:
    parts = {"SellingAndMarketingExpense": "30", "GeneralAndAdministrativeExpense": "12"}
    lines = [(tag, f"Line {number}") for number, tag in enumerate(parts)]
    later_facts = build_facts_without_pages(LATER, {**parts, "SellingGeneralAndAdministrativeExpense": "50"}, {})
    facts = [*BASE, *(year_fact(tag, "20") for tag in parts), *later_facts]
    company = build_company_book([K, LATER], facts, pages={INCOME: [*lines, *RESULT]})
    assert get_cell_text(company, "selling_general_admin", "2020 FY") == "42"
    assert get_cell_text(build_company_book([K, LATER], facts), "selling_general_admin", "2020 FY") == "50"


def test_partnership_liabilities_are_total_less_capital() -> None:
    sides, capital = ("LiabilitiesAndPartnersCapital", "Total liabilities and partners' capital"), "PartnersCapital"
    facts = [
        *BASE,
        instant_fact(sides[0], "1000"),
        instant_fact(capital, "600"),
        instant_fact("MinorityInterest", "50"),
    ]
    lines = [("Assets", "Total assets"), (capital, "Total partners' capital"), sides, ("MinorityInterest", "Minority")]
    assert (
        get_cell_text(build_company_book([K], facts, pages={BALANCE: lines}), "total_liabilities", "2019 FY") == "350"
    )
    total_capital = "PartnersCapitalIncludingPortionAttributableToNoncontrollingInterest"
    assert (
        get_cell_text(
            build_company_book([K], [*facts, instant_fact(total_capital, "650")], pages={}),
            "total_liabilities",
            "2019 FY",
        )
        == "350"
    )
    alone = build_company_book([K], [*BASE, instant_fact(sides[0], "1000")], pages={BALANCE: [lines[0], sides]})
    assert get_cell_text(alone, "total_liabilities", "2019 FY") == "not_reported"


def test_income_before_tax_in_two_parts_is_their_sum() -> None:
    parts = [f"IncomeLossFromContinuingOperationsBeforeIncomeTaxes{where}" for where in ("Domestic", "Foreign")]
    facts = [*BASE, year_fact(parts[0], "7"), year_fact(parts[1], "-3")]
    pages = {INCOME: [(parts[0], "United States"), (parts[1], "Other countries"), *RESULT]}
    assert get_cell_text(build_company_book([K], facts, pages=pages), "pretax_income", "2019 FY") == "4"
    assert (
        get_cell_text(
            build_company_book([K], facts[:-1], pages={INCOME: [pages[INCOME][0], *RESULT]}), "pretax_income", "2019 FY"
        )
        != "7"
    )


def test_the_face_amount_of_an_instrument_is_not_debt() -> None:
    facts = [*BASE, instant_fact("DebtInstrumentCarryingAmount", "5")]
    assert get_cell_text(build_company_book([K], facts), "total_debt", "2019 FY") == "not_reported"


def test_industry_revenue_under_a_custom_tag_is_named() -> None:
    pages = {INCOME: [("ext:Barges", "Marine revenues"), ("ext:Fuel", "Cost of fuel sales"), *RESULT]}
    company = build_company_book([K], [*BASE, year_fact("ext:Barges", "7"), year_fact("ext:Fuel", "3")], pages=pages)
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(find_period(rows.periods, "2019 FY")).get_cell("revenue")
    assert isinstance(cell, Missing)
    assert (cell.reason, cell.line_label) == ("not_mapped", "Marine revenues")
