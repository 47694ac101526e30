"""What stands on the face of a statement is the figure: before notes, other statements and the ranking of tags."""

from __future__ import annotations

import pytest

from finapi.market.financials import metric_mapping, metric_series, provenance, series_query, templates
from finapi.market.financials.cells import Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.faces import FaceRow, Faces
from finapi.market.financials.fact_book import SourceFiling
from finapi.market.financials.series_rows import FigureSeries
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
    row = rows.get_row(named(rows.periods, "2019 FY"))
    noted, printed = (
        provenance.build_provenance(row, key, row.get_cell(key), {}) for key in ("interest_expense", "net_income")
    )
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


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("cash_at_end_of_period", "Cash and Cash Equivalents, End of Period"),
        ("accumulated_oci", "Accumulated other comprehensive loss"),
    ],
)
def test_a_balance_that_its_filer_tags_with_the_year_is_told_at_the_end_of_it(metric: str, label: str) -> None:
    page = BALANCE if metric == "accumulated_oci" else FLOWS
    assert (
        told(held([K], [*BASE, year("ext:Own", "25")], pages={page: [("ext:Own", label)]}), metric, "2019 FY") == "25"
    )


def test_what_a_year_opens_with_and_is_tagged_with_it_stands_before_it() -> None:
    pages = {FLOWS: [("ext:Own", "Cash and cash equivalents, beginning of period")]}
    company = held([K], [*BASE, year("ext:Own", "25")], pages=pages)
    assert told(company, "cash_at_beginning_of_period", "2019 FY") == "25"


def test_a_line_beside_the_mapped_tag_is_named_where_the_tag_tells_nothing() -> None:
    opening = ("ext:Opening", None, "2018-09-30", "25", K.accession)
    closing = day("CashAndCashEquivalentsAtCarryingValue", "31")
    lines = [
        ("ext:Opening", "Cash and equivalents at beginning of year"),
        ("CashAndCashEquivalentsAtCarryingValue", "Cash and equivalents of continuing operations at September 30"),
    ]
    company = held([K], [*BASE, opening, closing], pages={FLOWS: lines})
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(named(rows.periods, "2019 FY")).get_cell("cash_at_beginning_of_period")
    assert cell == Missing("not_mapped", "Cash and equivalents at beginning of year")
    assert told(company, "cash_at_end_of_period", "2019 FY") == "31"


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
    row = rows.get_row(named(rows.periods, "2019 FY"))
    shown = provenance.build_full_provenance(
        row, "depreciation_amortization", row.get_cell("depreciation_amortization"), {}
    )
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
    assert told(held([K], facts, pages={BALANCE: later}), "short_term_debt", "2019 FY") == "not_mapped"


def test_a_line_that_may_mean_a_figure_is_named_and_not_called_not_reported() -> None:
    lines = [*RESULT, ("ext:Net", "Interest expense, net")]
    company = held([K], [*BASE, year("ext:Net", "4")], pages={INCOME: lines})
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(named(rows.periods, "2019 FY"))
    shown = provenance.build_provenance(row, "interest_expense", row.get_cell("interest_expense"), {})
    assert (shown["value"], shown["reason_code"], shown["line"]) == (None, "not_mapped", "Interest expense, net")
    made, _ = metric_series.build_series(company, series_query.SeriesQuery(metrics=("interest_expense", "capex")))
    assert made["rows"][0]["holes"] == {
        "interest_expense": {"status": "hole", "reason_code": "not_mapped", "line": "Interest expense, net"},
        "capex": {"status": "hole", "reason_code": "not_reported"},
    }


@pytest.mark.parametrize(("balance", "value"), [("debit", "25"), ("credit", "-25")])
def test_a_line_of_the_other_balance_is_turned(balance: str, value: str) -> None:
    pages = {BALANCE: [("ext:Own", "Treasury stock, at cost", balance)]}
    assert told(held([K], [*BASE, day("ext:Own", "25")], pages=pages), "treasury_stock", "2019 FY") == value


# ---- siblings, parts and what stands beside


def shown(company: CompanyBook, key: str) -> provenance.Provenance:
    """The cell of the year with its provenance."""
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(named(rows.periods, "2019 FY"))
    return provenance.build_provenance(row, key, row.get_cell(key), {})


@pytest.mark.parametrize(
    ("lines", "capex"),
    [
        # A service company's own plant beside its oil and gas (Range Resources, 2009).
        (
            {
                "PaymentsToAcquireOilAndGasPropertyAndEquipment": ("Additions to oil and gas properties", "275999"),
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Additions to field service assets", "14849"),
            },
            "290848",
        ),
        # A filer's own lines, told negative throughout (FPL Group, 2009).
        (
            {
                "ext:Utility": ("Capital expenditures of FPL", "-1088"),
                "ext:Other": ("Other capital expenditures", "-20"),
            },
            "1108",
        ),
        # Construction is the capital expenditure; assets bought stand beside it (American Electric Power, 2009).
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
        # Money that came back in one of the lines: a sum would say nothing.
        (
            {
                "PaymentsToAcquireOilAndGasProperty": ("Additions to oil and gas property", "2117"),
                "PaymentsToAcquirePropertyPlantAndEquipment": ("Acquisition of Marathon properties", "-181"),
            },
            "-181",
        ),
    ],
)
def test_lines_of_spending_that_stand_side_by_side_are_one_figure(
    lines: dict[str, tuple[str, str]], capex: str
) -> None:
    facts = [*BASE, *(year(tag, value) for tag, (_, value) in lines.items())]
    pages = {FLOWS: [(tag, label) for tag, (label, _) in lines.items()]}
    assert told(held([K], facts, pages=pages), "capex", "2019 FY") == capex


def test_a_figure_that_is_a_part_names_what_stands_beside_it() -> None:
    facts = [*BASE, year("PaymentsToAcquirePropertyPlantAndEquipment", "846"), year("PaymentsForNuclearFuel", "35")]
    facts += [year("ext:Idle", "0")]
    lines = [
        ("PaymentsToAcquirePropertyPlantAndEquipment", "Capital expenditures"),
        ("PaymentsForNuclearFuel", "Nuclear fuel expenditures"),
        ("ext:Idle", "Acquisition of timberlands"),
    ]
    one = shown(held([K], facts, pages={FLOWS: lines}), "capex")
    assert (one["value"], one["beside"], one["confidence"]) == (846, ["Nuclear fuel expenditures"], 80)
    alone = shown(held([K], facts, pages={FLOWS: lines[:1]}), "capex")
    assert ("beside" in alone, alone["confidence"]) == (False, 100)


def costs(*lines: tuple[str, str, str]) -> CompanyBook:
    """A company with revenue of 1000 and these lines of cost on its income statement."""
    facts = [*BASE, year("Revenues", "1000"), *(year(tag, value) for tag, _, value in lines)]
    page = [("Revenues", "Total revenues"), *((tag, label) for tag, label, _ in lines), *RESULT]
    return held([K], facts, pages={INCOME: page})


def test_no_gross_profit_is_made_on_one_of_several_lines_of_cost() -> None:
    # C.H. Robinson, 2009.
    company = costs(
        ("ext:Carriers", "Purchased transportation and related services", "600"),
        ("CostOfGoodsSold", "Purchased products sourced for resale", "200"),
        ("LaborAndRelatedExpense", "Personnel expenses", "70"),
    )
    cost = shown(company, "cost_of_revenue")
    said = (cost["value"], cost["reason_code"], cost["line"])
    assert said == (None, "not_mapped", "Purchased transportation and related services")
    assert told(company, "gross_profit", "2019 FY") == "not_reported"


@pytest.mark.parametrize(("gross", "cost"), [("700", "300"), ("690", "not_mapped")])
def test_lines_of_cost_that_make_up_what_gross_profit_lacks_are_its_cost(gross: str, cost: str) -> None:
    company = costs(
        ("ext:Goods", "Cost of product revenues", "190"),
        ("ext:Services", "Cost of service revenues", "110"),
        ("GrossProfit", "Gross profit", gross),
    )
    assert told(company, "cost_of_revenue", "2019 FY") == cost


@pytest.mark.parametrize(
    ("lines", "value"),
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
def test_fuel_and_purchased_power_are_the_lines_of_the_income_statement(
    lines: dict[str, tuple[str, str]], value: str
) -> None:
    # FirstEnergy, Southwest Airlines, PG&E and Kinder Morgan, 2009.
    company = costs(*((tag, label, amount) for tag, (label, amount) in lines.items()))
    assert told(company, "fuel_and_purchased_power", "2019 FY") == value


@pytest.mark.parametrize(
    ("label", "amount", "value"),
    [
        ("Amortization of purchased intangibles", "63", "124"),
        ("Amortization of drilling contract intangibles", "-17", "61"),
        ("Amortization and write-off of capitalized software development costs", "15", "61"),
    ],
)
def test_depreciation_and_amortization_on_two_lines_are_one_figure(label: str, amount: str, value: str) -> None:
    # CME, Transocean and Activision, 2009.
    lines = [("DepreciationAndAmortization", "Depreciation and amortization"), ("ext:More", label)]
    facts = [*BASE, year("DepreciationAndAmortization", "61"), year("ext:More", amount)]
    company = held([K], facts, pages={FLOWS: lines})
    assert told(company, "depreciation_amortization", "2019 FY") == value


def test_a_line_on_a_later_page_of_a_statement_is_named_where_the_first_has_none() -> None:
    # Ford, 2009, whose second balance sheet is of its automotive sector.
    first, later = [("Assets", "Total assets")], [("ext:Automotive", "Total current assets")]
    pages = {BALANCE: first, (f"{K.accession}", "balance"): [*first]}
    rows = [*BASE, day("ext:Automotive", "37")]
    assert told(held([K], rows, pages=pages), "total_current_assets", "2019 FY") == "not_reported"
    mapping = metric_mapping.get_mapping()
    face = [FaceRow(0, 0, "balance", "us-gaap:Assets", "Total assets", None)]
    more = [FaceRow(0, 1, "balance", concept, label, None) for concept, label in later]
    chosen = Faces([*face, *more], mapping).iter_labelled({(0, "ext:Automotive"): "currency"}, {})
    named_lines = [
        (metric.key, [line.printed_label for line in one]) for _, metric, one in chosen if isinstance(one, list)
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
def test_lines_that_a_total_below_them_adds_up_are_in_it(total: str, value: str, gross: str) -> None:
    company = costs(
        ("CostOfGoodsSold", "Cost of products", "190"),
        ("CostOfServices", "Cost of services", "110"),
        ("CostOfRevenue", total, value),
    )
    assert told(company, "gross_profit", "2019 FY") == gross


def test_a_cost_that_says_it_is_without_depreciation_has_it_beside_it() -> None:
    # AT&T, 2009.
    label = "Cost of sales (exclusive of depreciation and amortization shown separately below)"
    wear = ("DepreciationDepletionAndAmortization", "Depreciation and amortization", "90")
    without = costs(("CostOfRevenue", label, "400"), wear)
    assert shown(without, "cost_of_revenue")["beside"] == ["Depreciation and amortization"]
    assert told(without, "gross_profit", "2019 FY") == "not_reported"
    assert told(costs(("CostOfRevenue", "Cost of sales", "400"), wear), "gross_profit", "2019 FY") == "600"


def owed(**lines: tuple[str, str]) -> CompanyBook:
    """A company with these lines among its liabilities, those up to ``current`` being current ones."""
    named = {tag.replace("ext_", "ext:"): one for tag, one in lines.items()}
    facts = [*BASE, *(day(tag, value) for tag, (_, value) in named.items())]
    page = [("AssetsCurrent", "Current assets"), ("Assets", "Total assets")]
    return held([K], facts, pages={BALANCE: [*page, *((tag, label) for tag, (label, _) in named.items())]})


def test_recourse_and_non_recourse_debt_are_the_long_term_debt_together() -> None:
    # AES, 2009.
    company = owed(
        ext_A=("Non-recourse debt-current", "1384"),
        LiabilitiesCurrent=("Total current liabilities", "5000"),
        ext_B=("Non-recourse debt-noncurrent", "12321"),
        ext_C=("Recourse debt-noncurrent", "5515"),
    )
    assert told(company, "long_term_debt", "2019 FY") == "17836"
    assert shown(company, "short_term_debt")["line"] == "Non-recourse debt-current"


@pytest.mark.parametrize("label", ["Loans and notes payable", "Notes and loans payable", "Short-term bank loans"])
def test_loans_and_notes_payable_among_current_liabilities_are_short_term_debt(label: str) -> None:
    # Coca-Cola, 2009.
    company = owed(ext_A=(label, "6382"), LiabilitiesCurrent=("Total current liabilities", "9000"))
    assert told(company, "short_term_debt", "2019 FY") == "6382"


def test_no_total_debt_is_made_on_long_term_debt_with_a_sibling_beside_it() -> None:
    # Hologic, 2009.
    lines = {
        "LongTermDebtCurrent": ("Current portion of long-term debt", "25"),
        "LiabilitiesCurrent": ("Total current liabilities", "90"),
        "ConvertibleDebtNoncurrent": ("Convertible debt", "1725"),
        "LongTermDebtNoncurrent": ("Long-term debt, less current portion", "256"),
    }
    company = owed(**lines)
    assert shown(company, "long_term_debt")["beside"] == ["Convertible debt"]
    assert told(company, "total_debt", "2019 FY") == "not_reported"
    lines.pop("ConvertibleDebtNoncurrent")
    assert told(owed(**lines), "total_debt", "2019 FY") == "281"


# ---- sums that a filing declares, else those of its lines in their order


def added(total: str, *items: str, weight: str = "1") -> list[tuple[str, str, str, str]]:
    """A sum of a calculation linkbase."""
    return [(K.accession, total, item, weight) for item in items]


def test_a_total_of_long_term_debt_goes_before_its_line_under_the_better_tag() -> None:
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
    company = owed(**lines)
    one = shown(company, "long_term_debt")
    assert (one["value"], one["concept"], one["confidence"]) == (
        7943,
        "us-gaap:LongTermDebtAndCapitalLeaseObligations",
        95,
    )
    assert told(company, "total_debt", "2019 FY") == "8311"
    lines["LongTermDebtAndCapitalLeaseObligations"] = ("Capital leases and their interest", "7942")
    assert told(owed(**lines), "long_term_debt", "2019 FY") == "6739"


def test_the_total_of_equity_is_the_line_that_holds_the_parents() -> None:
    # Foster Wheeler, 2009, whose tags of the two are swapped.
    lines = {
        "ext_TotalEquity": ("TOTAL FOSTER WHEELER AG SHAREHOLDERS' EQUITY", "624315"),
        "MinorityInterest": ("Noncontrolling interests", "35723"),
        "StockholdersEquity": ("TOTAL EQUITY", "660038"),
    }
    assert told(owed(**lines), "total_equity", "2019 FY") == "660038"


SPENT = [("PaymentsToAcquireProductiveAssets", "In all"), ("PaymentsToAcquirePropertyPlantAndEquipment", "Plant")]


@pytest.mark.parametrize(
    ("sums", "capex"),
    [
        (added(SPENT[0][0], SPENT[1][0]), "75"),
        # By way of a subtotal.
        (added(SPENT[0][0], "ext:Fixed") + added("ext:Fixed", SPENT[1][0]), "75"),
        # Both in another total, or one taken off the other: neither holds the other.
        (added("NetCashProvidedByUsedInInvestingActivities", SPENT[0][0], SPENT[1][0], weight="-1"), "30"),
        (added(SPENT[0][0], SPENT[1][0], weight="-1"), "30"),
        ([], "30"),
    ],
)
def test_which_of_two_tags_holds_the_other_is_what_the_filing_declares(
    sums: list[tuple[str, str, str, str]], capex: str
) -> None:
    facts = [*BASE, year(SPENT[0][0], "75"), year(SPENT[1][0], "30")]
    company = held([K], facts, pages={FLOWS: SPENT}, sums=sums)
    assert told(company, "capex", "2019 FY") == capex


@pytest.mark.parametrize(("is_declared", "wear"), [(True, "40"), (False, "49")])
def test_a_part_is_not_added_to_the_line_that_holds_it(is_declared: bool, wear: str) -> None:
    lines = [("Depreciation", "Depreciation"), ("ext:Amortization", "Amortization of intangible assets")]
    facts = [*BASE, year("Depreciation", "40"), year("ext:Amortization", "9")]
    sums = added("Depreciation", "ext:Amortization") if is_declared else []
    assert told(held([K], facts, pages={FLOWS: lines}, sums=sums), "depreciation_amortization", "2019 FY") == wear


@pytest.mark.parametrize(("is_declared", "gross"), [(True, "700"), (False, "not_reported")])
def test_a_line_of_cost_below_the_total_that_holds_it_does_not_stand_beside_it(is_declared: bool, gross: str) -> None:
    lines = [
        ("Revenues", "Sales"),
        ("CostOfRevenue", "All of it"),
        ("ext:Freight", "Freight costs"),
        RESULT[1],
        RESULT[0],
    ]
    facts = [*BASE, year("Revenues", "1000"), year("CostOfRevenue", "300"), year("ext:Freight", "60")]
    sums = added("CostOfRevenue", "ext:Freight") if is_declared else []
    assert told(held([K], facts, pages={INCOME: lines}, sums=sums), "gross_profit", "2019 FY") == gross


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


def sheet(*values: str, lines: list[tuple[str, str]] | None = None) -> CompanyBook:
    """A company with these figures in the lines of its balance sheet."""
    facts = [day(tag, value) for (tag, _), value in zip(SHEET, values, strict=True) if value]
    return held([K], [*BASE[:2], *facts], pages={BALANCE: lines or SHEET})


def test_lines_that_close_the_gap_between_liabilities_and_equity_are_the_mezzanine() -> None:
    company = sheet("1001", "201", "601", "71", "31", "51", "298")
    assert told(company, "temporary_equity", "2019 FY") == "102"
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(named(rows.periods, "2019 FY"))
    assert provenance.get_concept(row.get_cell("temporary_equity")) == "+ext:Units +ext:Stock"
    assert templates.check_totals(company.industry, row.get_cell)["total_assets"] == "consistent"


def test_one_line_of_any_name_is_the_mezzanine_where_it_alone_closes_the_gap() -> None:
    assert told(sheet("1001", "201", "601", "71", "31", "51", "329"), "temporary_equity", "2019 FY") == "71"


def test_where_nothing_is_left_between_liabilities_and_equity_there_is_no_mezzanine() -> None:
    assert told(sheet("1001", "201", "601", "71", "31", "51", "400"), "temporary_equity", "2019 FY") == "not_reported"


def test_lines_that_do_not_close_the_gap_are_no_mezzanine() -> None:
    company = sheet("1001", "201", "601", "71", "31", "51", "381")
    assert told(company, "temporary_equity", "2019 FY") == "not_reported"
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(named(rows.periods, "2019 FY"))
    assert templates.check_totals(company.industry, row.get_cell)["total_assets"] == "inconsistent"


def test_minority_interests_below_the_liabilities_are_a_figure_of_their_own() -> None:
    lines = [("MinorityInterest", "Minority interests") if tag == "ext:Units" else (tag, text) for tag, text in SHEET]
    facts = [
        day(tag, value) for (tag, _), value in zip(lines, ["1001", "201", "601", "71", "31", "51", "298"], strict=True)
    ]
    company = held([K], [*BASE[:2], *facts], pages={BALANCE: lines})
    assert (told(company, "minority_interest", "2019 FY"), told(company, "temporary_equity", "2019 FY")) == ("71", "31")


def test_a_tag_that_has_the_sum_of_the_mezzanine_goes_before_its_lines() -> None:
    lines = [
        ("TemporaryEquityCarryingAmount", "In all") if tag == "PreferredStockValue" else (tag, text)
        for tag, text in SHEET
    ]
    facts = [
        day(tag, value) for (tag, _), value in zip(lines, ["1001", "201", "601", "71", "31", "102", "298"], strict=True)
    ]
    company = held([K], [*BASE[:2], *facts], pages={BALANCE: lines})
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(named(rows.periods, "2019 FY")).get_cell("temporary_equity")
    assert provenance.get_concept(cell) == "us-gaap:TemporaryEquityCarryingAmount"


@pytest.mark.parametrize(
    ("label", "liabilities"), [("Total long-term liabilities", "602"), ("Total liabilities", "401")]
)
def test_a_total_of_long_term_liabilities_under_the_tag_of_all_is_a_part(label: str, liabilities: str) -> None:
    lines = [(tag, label if tag == "Liabilities" else text) for tag, text in SHEET]
    assert (
        told(sheet("1001", "201", "401", "", "", "51", "399", lines=lines), "total_liabilities", "2019 FY")
        == liabilities
    )


# ---- lines that filers print their own way


@pytest.mark.parametrize(
    ("kind", "lines", "sic", "told_as"),
    [
        # SandRidge Energy, 2009: both earnings of a share in one line, given in dollars.
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
        # Nothing says that it is of a share: given in dollars, and not so called.
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
def test_a_line_is_known_however_its_filer_prints_it(
    kind: str, lines: list[tuple[str, str, str]], sic: int | None, told_as: dict[str, str]
) -> None:
    of = day if kind == "balance" else year
    facts = [one for one in BASE if one[0] != "Assets"] + [of(tag, value) for tag, _, value in lines]
    company = held([K], facts, pages={(K.accession, kind): [(tag, label) for tag, label, _ in lines]}, sic=sic)
    assert {key: told(company, key, "2019 FY") for key in told_as} == told_as


def test_cash_under_a_filers_own_tag_on_the_balance_sheet_goes_before_the_total_of_the_cash_flow_statement() -> None:
    facts = [*BASE, day("ext:Cash", "30"), day("CashAndCashEquivalentsAtCarryingValue", "34")]
    pages = {
        BALANCE: [("ext:Cash", "Cash and cash equivalents"), ("AssetsCurrent", "Total"), ("Assets", "Total assets")],
        FLOWS: [("CashAndCashEquivalentsAtCarryingValue", "Cash and restricted cash, end of year")],
    }
    company = held([K], facts, pages=pages)
    assert told(company, "cash_and_equivalents", "2019 FY") == "30"
    assert told(company, "cash_at_end_of_period", "2019 FY") == "34"


def test_what_the_balance_sheet_tells_in_brackets_is_a_part_of_its_line() -> None:
    # Target, 2009, in millions: marketable securities within its cash.
    cash, within = "CashCashEquivalentsAndShortTermInvestments", "MarketableSecuritiesCurrent"
    facts = [
        *BASE,
        day(cash, "957"),
        day(within, "385"),
        day("DebtCurrent", "1362"),
        day("LongTermDebtNoncurrent", "11138"),
    ]
    line, brackets = (cash, "Cash, including marketable securities of $385"), (within, "Marketable securities")
    company = held([K], facts, pages={BALANCE: [line], (K.accession, "balance-parenthetical"): [brackets]})
    assert told(company, "short_term_investments", "2019 FY") == "not_reported"
    assert told(company, "short_term_investments", "2019 FY", basis="original") == "not_reported"
    assert told(company, "net_debt", "2019 FY") == "11543"
    beside = held([K], facts, pages={BALANCE: [line, brackets]})
    assert told(beside, "short_term_investments", "2019 FY") == "385"


# ---- filings whose pages are not held

LATER = filing("0000000001-20-000002", "10-K", "2020-10-30")
YEARS_LATER = filing("0000000001-25-000003", "10-K", "2025-10-31")


PLANT = {BALANCE: [("PublicUtilitiesPropertyPlantAndEquipmentNet", "Plant, net"), ("Assets", "Total assets")]}
BOTH = {"PropertyPlantAndEquipmentNet": "1", "PublicUtilitiesPropertyPlantAndEquipmentNet": "95"}


def unpaged(of: SourceFiling, flows: dict[str, str], balances: dict[str, str]) -> list[Fact]:
    """What a filing of companyfacts tells of the year before it was filed."""
    ended = int((of.filed or "")[:4])
    span, facts = (f"{ended - 1}-10-01", f"{ended}-09-30"), {"NetIncomeLoss": "8", "InterestExpense": "2", **flows}
    told_of: list[Fact] = [(tag, *span, value, of.accession) for tag, value in facts.items()]
    return told_of + [(tag, None, span[1], value, of.accession) for tag, value in ({"Assets": "9"} | balances).items()]


@pytest.mark.parametrize("basis", ["latest", "original"])
def test_tags_of_a_companys_own_statements_decide_where_a_filing_has_no_pages(basis: str) -> None:
    facts = [*BASE, day("PublicUtilitiesPropertyPlantAndEquipmentNet", "90"), *unpaged(LATER, {}, BOTH)]
    assert told(held([K, LATER], facts, pages=PLANT), "ppe_net", "2020 FY", basis=basis) == "95"
    assert told(held([K, LATER], facts), "ppe_net", "2020 FY", basis=basis) == "1"


def test_where_a_filing_does_not_use_the_tags_of_the_statement_the_ranking_decides() -> None:
    facts = [*BASE, *unpaged(LATER, {}, {"PropertyPlantAndEquipmentNet": "1"})]
    company = held([K, LATER], facts, pages=PLANT)
    rows = FigureSeries(company, "A", "latest")
    row = rows.get_row(named(rows.periods, "2020 FY"))
    shown = provenance.build_provenance(row, "ppe_net", row.get_cell("ppe_net"), {})
    assert (shown["value"], shown["source"], shown["confidence"]) == (1, "companyfacts", 100)


def test_a_statement_of_years_ago_does_not_decide() -> None:
    company = held([K, YEARS_LATER], [*BASE, *unpaged(YEARS_LATER, {}, BOTH)], pages=PLANT)
    assert told(company, "ppe_net", "2025 FY") == "1"


def test_a_line_that_a_label_places_means_the_same_in_the_next_filing_without_pages() -> None:
    line = ("OtherTaxExpenseBenefit", "Provision for income taxes")
    base = [one for one in BASE if one[0] != "IncomeTaxExpenseBenefit"]
    facts = [*base, year(line[0], "24"), *unpaged(LATER, {line[0]: "25"}, {})]
    paged = held([K, LATER], facts, pages={INCOME: [line, RESULT[0]]})
    assert told(paged, "income_tax", "2020 FY") == "25"
    assert told(held([K, LATER], facts), "income_tax", "2020 FY") == "not_reported"


def test_parts_that_the_statement_prints_go_before_a_total_of_the_notes_in_a_filing_without_pages() -> None:
    parts = {"SellingAndMarketingExpense": "30", "GeneralAndAdministrativeExpense": "12"}
    lines = [(tag, f"Line {number}") for number, tag in enumerate(parts)]
    more = unpaged(LATER, {**parts, "SellingGeneralAndAdministrativeExpense": "50"}, {})
    facts = [*BASE, *(year(tag, "20") for tag in parts), *more]
    company = held([K, LATER], facts, pages={INCOME: [*lines, *RESULT]})
    assert told(company, "selling_general_admin", "2020 FY") == "42"
    assert told(held([K, LATER], facts), "selling_general_admin", "2020 FY") == "50"


def test_liabilities_of_a_partnership_are_both_sides_less_its_capital() -> None:
    sides, capital = ("LiabilitiesAndPartnersCapital", "Total liabilities and partners' capital"), "PartnersCapital"
    facts = [*BASE, day(sides[0], "1000"), day(capital, "600"), day("MinorityInterest", "50")]
    lines = [("Assets", "Total assets"), (capital, "Total partners' capital"), sides, ("MinorityInterest", "Minority")]
    assert told(held([K], facts, pages={BALANCE: lines}), "total_liabilities", "2019 FY") == "350"
    whole = "PartnersCapitalIncludingPortionAttributableToNoncontrollingInterest"
    assert told(held([K], [*facts, day(whole, "650")], pages={}), "total_liabilities", "2019 FY") == "350"
    alone = held([K], [*BASE, day(sides[0], "1000")], pages={BALANCE: [lines[0], sides]})
    assert told(alone, "total_liabilities", "2019 FY") == "not_reported"


def test_income_before_tax_in_two_parts_is_their_sum() -> None:
    parts = [f"IncomeLossFromContinuingOperationsBeforeIncomeTaxes{where}" for where in ("Domestic", "Foreign")]
    facts = [*BASE, year(parts[0], "7"), year(parts[1], "-3")]
    pages = {INCOME: [(parts[0], "United States"), (parts[1], "Other countries"), *RESULT]}
    assert told(held([K], facts, pages=pages), "pretax_income", "2019 FY") == "4"
    assert told(held([K], facts[:-1], pages={INCOME: [pages[INCOME][0], *RESULT]}), "pretax_income", "2019 FY") != "7"


def test_the_amount_of_an_instrument_is_not_the_debt() -> None:
    facts = [*BASE, day("DebtInstrumentCarryingAmount", "5")]
    assert told(held([K], facts), "total_debt", "2019 FY") == "not_reported"


def test_revenue_of_an_industry_under_the_filers_own_tag_is_named() -> None:
    pages = {INCOME: [("ext:Barges", "Marine revenues"), ("ext:Fuel", "Cost of fuel sales"), *RESULT]}
    company = held([K], [*BASE, year("ext:Barges", "7"), year("ext:Fuel", "3")], pages=pages)
    rows = FigureSeries(company, "A", "latest")
    cell = rows.get_row(named(rows.periods, "2019 FY")).get_cell("revenue")
    assert isinstance(cell, Missing)
    assert (cell.reason, cell.line_label) == ("not_mapped", "Marine revenues")
