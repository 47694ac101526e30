"""Series from facts: reported figures, derived figures, and holes with their reasons."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, metric_series, ratios, series_query
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.series_rows import FigureSeries
from finapi.market.intake import ingest
from tests.conftest import SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, find_period, get_cell_text

K18 = build_filing("0000000001-18-000001", "10-K", "2018-11-05", fiscal_year=2018, fiscal_period="FY")
K19 = build_filing("0000000001-19-000001", "10-K", "2019-10-31", fiscal_year=2019, fiscal_period="FY")
K20 = build_filing("0000000001-20-000001", "10-K", "2020-10-30", fiscal_year=2020, fiscal_period="FY")
YEAR18 = ("2017-10-01", "2018-09-29")
YEAR19 = ("2018-09-30", "2019-09-28")
YEAR20 = ("2019-09-29", "2020-09-26")


def build_annual_facts(*years: tuple[tuple[str, str], str]) -> list[Fact]:
    """Return the net income of years, so that the years are proved."""
    return [
        (tag, start, end, "100", accession)
        for (start, end), accession in years
        for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")
    ]


# ---- vintages


def test_eps_before_a_split_depends_on_the_basis() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K18.accession),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K19.accession),
        ("EarningsPerShareDiluted", *YEAR18, "2.98", K20.accession),
    ]
    company = build_company_book([K18, K19, K20], facts)
    assert get_cell_text(company, "eps_diluted", "2018 FY", basis="original") == "11.91"
    assert get_cell_text(company, "eps_diluted", "2018 FY") == "2.98"


def test_a_restated_balance_depends_on_the_basis() -> None:
    first = build_filing("0001193125-09-214859", "10-K", "2009-10-27")
    amended = build_filing("0001193125-10-012091", "10-K/A", "2010-01-25")
    year = ("2008-09-28", "2009-09-26")
    facts = [
        *build_annual_facts((year, first.accession), (year, amended.accession)),
        ("Assets", None, year[1], "53851000000", first.accession),
        ("Assets", None, year[1], "47501000000", amended.accession),
    ]
    company = build_company_book([first, amended], facts)
    assert get_cell_text(company, "total_assets", "2009 FY", basis="original") == "53851000000"
    assert get_cell_text(company, "total_assets", "2009 FY") == "47501000000"
    before = build_company_book([first, amended], facts, as_of="2010-01-24")
    assert get_cell_text(before, "total_assets", "2009 FY") == "53851000000"


def test_filings_after_as_of_are_ignored() -> None:
    facts = build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession))
    company = build_company_book([K18, K19], facts, as_of="2019-10-30")
    assert [period.fiscal_year for period in FigureSeries(company, "A", "latest").periods] == [2018]


def test_an_annual_report_beats_a_proxy_statement() -> None:
    proxy = build_filing("0000000001-19-000009", "DEF 14A", "2019-01-08")
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("NetIncomeLoss", *YEAR18, "59531000000", K18.accession),
        ("NetIncomeLoss", *YEAR18, "60000000000", proxy.accession),
    ]
    company = build_company_book([K18, proxy], facts[2:] + facts[1:2])
    assert get_cell_text(company, "net_income", "2018 FY") == "59531000000"


def test_a_filing_with_a_date_beats_one_without() -> None:
    unfiled = build_filing("unfiled-1", "10-K", None)
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("Assets", None, YEAR18[1], "7", unfiled.accession),
        ("Assets", None, YEAR18[1], "5", K18.accession),
    ]
    assert get_cell_text(build_company_book([unfiled, K18], facts), "total_assets", "2018 FY") == "5"


def test_of_two_undated_filings_the_amendment_is_the_latest() -> None:
    original, amended = build_filing("unfiled-9", "10-K", None), build_filing("unfiled-1", "10-K/A", None)
    facts = [
        *build_annual_facts((YEAR18, original.accession)),
        ("Assets", None, YEAR18[1], "7", original.accession),
        ("Assets", None, YEAR18[1], "5", amended.accession),
    ]
    for filings in ([original, amended], [amended, original]):
        assert get_cell_text(build_company_book(filings, facts), "total_assets", "2018 FY") == "5"
        assert get_cell_text(build_company_book(filings, facts), "total_assets", "2018 FY", basis="original") == "7"


# ---- tags


def test_a_series_continues_after_a_tag_is_abandoned() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("SalesRevenueNet", *YEAR18, "265595", K18.accession),
        ("RevenueFromContractWithCustomerExcludingAssessedTax", *YEAR19, "260174", K19.accession),
    ]
    company = build_company_book([K18, K19], facts)
    assert get_cell_text(company, "revenue", "2019 FY") == "260174"
    assert get_cell_text(company, "revenue", "2018 FY") == "265595"


YEAR17 = ("2016-10-02", "2017-09-30")


@pytest.mark.parametrize(
    ("revenues", "is_told"),
    # Of a year before, under the later tag and under the earlier one.
    [(None, True), ("2", True), ("1", False)],
)
def test_a_series_under_another_tag_has_a_tag_break(revenues: str | None, is_told: bool) -> None:
    facts: list[Fact] = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("SalesRevenueNet", *YEAR18, "265595", K18.accession),
        ("SalesRevenueNet", *YEAR17, "1", K18.accession),
        ("Revenues", *YEAR19, "260174", K19.accession),
    ]
    if revenues is not None:
        facts.append(("Revenues", *YEAR17, revenues, K18.accession))
    company = build_company_book([K18, K19], facts)
    expected = {"tags": ["us-gaap:SalesRevenueNet"], "later_tags": ["us-gaap:Revenues"]}
    for offset in range(2):
        data, _ = metric_series.build_series(
            company, series_query.SeriesQuery(metrics=("revenue", "net_income"), offset=offset)
        )
        told_of = {row["fiscal_year"]: row.get("tag_breaks") for row in data["rows"]}
        assert told_of.get(2019) is None
        assert told_of[2018] == ({"revenue": expected} if is_told else None)


@needs_shared
def test_microsoft_changed_revenue_tags_after_2015(app: App) -> None:
    path = SHARED / "edgar" / "companyfacts_trimmed" / "CIK0000789019.json"
    ingest.run(app, [path], IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        company = company_books.load(tx, 789019)
    data, _ = metric_series.build_series(
        company, series_query.SeriesQuery(metrics=("revenue", "cost_of_revenue", "net_income"))
    )
    assert {row["fiscal_year"]: row["tag_breaks"] for row in data["rows"] if "tag_breaks" in row} == {
        2015: {
            "revenue": {
                "tags": ["us-gaap:SalesRevenueNet"],
                "later_tags": ["us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"],
            },
            "cost_of_revenue": {
                "tags": ["us-gaap:CostOfRevenue"],
                "later_tags": ["us-gaap:CostOfGoodsAndServicesSold"],
            },
        }
    }


def test_goodwill_that_is_no_longer_reported_is_a_hole() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("Goodwill", None, YEAR18[1], "5717", K18.accession),
    ]
    assert get_cell_text(build_company_book([K18, K19], facts), "goodwill", "2019 FY") == "not_reported"


def test_a_fallback_tag_in_a_later_filing_does_not_win() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("ProfitLoss", *YEAR18, "110", K19.accession),
        *build_annual_facts((YEAR19, K19.accession)),
    ]
    assert get_cell_text(build_company_book([K18, K19], facts), "net_income", "2018 FY") == "100"


def test_a_custom_tag_spelt_like_a_standard_tag_counts_as_it() -> None:
    tag = "own:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"
    facts = [*build_annual_facts((YEAR18, K18.accession)), (tag, None, YEAR18[1], "5069909", K18.accession)]
    assert get_cell_text(build_company_book([K18], facts), "total_equity", "2018 FY") == "5069909"


@run_each_case(
    "tag, metric",
    [
        ("IncomeBeforeIncomeTaxesAndNoncontrollingInterests", "pretax_income"),
        ("NetIncomeAttributableToOwnStockholders", "net_income"),
        ("TotalShareholdersEquity", "total_equity"),
        ("TotalEquity", "total_equity"),
        ("InventoryNetOfCustomerAdvancesAndProgressBillings", "inventory"),
        ("TradeReceivablesNetCurrent", "accounts_receivable"),
        ("OtherIntangiblesNet", "intangibles_ex_goodwill"),
        ("CostOfSalesIncludingBuyingAndOccupancyCosts", "cost_of_revenue"),
    ],
)
def test_custom_tags_of_totals_are_found_by_their_names(tag: str, metric: str) -> None:
    start = None if get_mapping().metrics[metric].aggregation == "instant" else YEAR18[0]
    facts: list[Fact] = [
        ("IncomeTaxExpenseBenefit", *YEAR18, "1", K18.accession),
        ("Revenues", *YEAR18, "1", K18.accession),
        (f"own:{tag}", start, YEAR18[1], "42", K18.accession),
    ]
    assert get_cell_text(build_company_book([K18], facts), metric, "2018 FY") == "42"
    parts = [(f"own:{tag}PerShare", *fact[1:]) if fact[3] == "42" else fact for fact in facts]
    assert get_cell_text(build_company_book([K18], parts), metric, "2018 FY") == "not_reported"


def test_income_tax_is_the_sum_of_current_and_deferred_tax() -> None:
    facts: list[Fact] = [
        ("NetIncomeLoss", *YEAR18, "100", K18.accession),
        ("Revenues", *YEAR18, "1", K18.accession),
        ("CurrentIncomeTaxExpenseBenefit", *YEAR18, "30", K18.accession),
        ("DeferredIncomeTaxExpenseBenefit", *YEAR18, "-8", K18.accession),
    ]
    assert get_cell_text(build_company_book([K18], facts), "income_tax", "2018 FY") == "22"


def test_restricted_cash_does_not_fill_gaps_of_cash() -> None:
    wider = "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        *(("CashAndDueFromBanks", None, day, "23", K20.accession) for day in (YEAR19[1], YEAR20[1])),
        *((wider, None, day, "469", K20.accession) for day in (YEAR18[1], YEAR19[1], YEAR20[1])),
    ]
    assert (
        get_cell_text(build_company_book([K18, K19, K20], facts), "cash_and_equivalents", "2018 FY") == "not_reported"
    )
    alike = [(*fact[:3], "23", fact[4]) if fact[3] == "469" else fact for fact in facts]
    assert get_cell_text(build_company_book([K18, K19, K20], alike), "cash_and_equivalents", "2018 FY") == "23"


def test_a_formula_takes_its_terms_from_one_filing() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("LiabilitiesAndStockholdersEquity", None, YEAR18[1], "100", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "40", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "45", K19.accession),
    ]
    assert get_cell_text(build_company_book([K18, K19], facts), "total_liabilities", "2018 FY") == "60"


def test_a_debt_under_two_tags_counts_once() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("ShortTermBorrowings", None, YEAR18[1], "500", K18.accession),
        ("LongTermDebtCurrent", None, YEAR18[1], "500", K18.accession),
        ("LongTermDebtNoncurrent", None, YEAR18[1], "3970", K18.accession),
    ]
    assert get_cell_text(build_company_book([K18], facts), "total_debt", "2018 FY") == "4470"


def build_balances(**values: str) -> list[Fact]:
    """Return balances at the end of fiscal 2018, in millions, and the facts that prove the year."""
    return [
        *build_annual_facts((YEAR18, K18.accession)),
        *((tag.replace("__", ":"), None, YEAR18[1], value, K18.accession) for tag, value in values.items()),
    ]


# Each read off the balance sheet of a filing of the SEC's 2009q3 data set, in millions.
@run_each_case(
    "facts, debt",
    [
        # McDonald's 2009-06-30: notes payable, current maturities, long-term debt.
        (
            {"NotesAndLoansPayableCurrent": "50", "LongTermDebtCurrent": "457.6", "LongTermDebtNoncurrent": "10492.9"},
            "11000.5",
        ),
        # Oracle 2009-08-31: both parts are notes payable and other borrowings.
        ({"NotesAndLoansPayableCurrent": "1001", "LongTermNotesPayable": "13723"}, "14724"),
        # Omnicom 2009-06-30: convertible debt is a line of its own, next to long-term debt.
        (
            {
                "ShortTermBorrowings": "42",
                "LongTermDebtCurrent": "2.1",
                "UnsecuredLongTermDebt": "1213.2",
                "ConvertibleDebtNoncurrent": "1200.3",
            },
            "2457.6",
        ),
        # Moody's 2009-06-30: commercial paper and a revolving credit facility.
        ({"CommercialPaper": "370.4", "LinesOfCreditCurrent": "210", "LongTermDebtNoncurrent": "750"}, "1330.4"),
        # Teva 2009-06-30: senior notes and convertible debentures, both long-term.
        ({"DebtCurrent": "2028", "SeniorLongTermNotes": "3857", "ConvertibleDebtNoncurrent": "861"}, "6746"),
        # Open Text 2009-06-30: a bank's loan and its current portion.
        ({"LoansPayableToBankCurrent": "3.449", "LongTermLoansFromBank": "299.234"}, "302.683"),
        # Coca-Cola 2009-07-03: the loans and notes payable stand under the filer's own concept.
        (
            {"own__LoansAndNotesPayable": "6382", "LongTermDebtCurrent": "49", "LongTermDebtNoncurrent": "5017"},
            "not_reported",
        ),
        # Intel 2009-06-27: a tax that is payable long after is no debt.
        ({"own__LongTermIncomeTaxesPayable": "556", "DebtCurrent": "24", "LongTermDebtNoncurrent": "1174"}, "1198"),
    ],
)
def test_total_debt_adds_every_line_or_is_missing(facts: dict[str, str], debt: str) -> None:
    assert get_cell_text(build_company_book([K18], build_balances(**facts)), "total_debt", "2018 FY") == debt


@pytest.mark.parametrize(
    ("facts", "debt"),
    [
        # Kimco 2009-06-30: notes, mortgages and construction loans.
        ({"NotesPayable": "2832.538", "LoansPayableToBank": "1069.387", "OtherLoansPayable": "236.743"}, "4138.668"),
        # Host 2009-06-19 prints a total, of which these lines are a part.
        ({"SeniorNotes": "4272", "LineOfCredit": "210", "DebtAndCapitalLeaseObligations": "6093"}, "6093"),
        # Vornado 2009-06-30: its exchangeable debentures stand under a concept of its own.
        (
            {
                "NotesAndLoansPayable": "8833.435",
                "UnsecuredDebt": "363.358",
                "own__ExchangeableSeniorDebentures": "481.314",
            },
            "not_reported",
        ),
    ],
)
def test_total_debt_of_a_reit_adds_notes_and_mortgages(facts: dict[str, str], debt: str) -> None:
    assert get_cell_text(build_company_book([K18], build_balances(**facts), sic=6798), "total_debt", "2018 FY") == debt


def test_long_term_debt_excludes_convertible_debt_beside_it() -> None:
    facts = build_balances(UnsecuredLongTermDebt="1213.2", ConvertibleDebtNoncurrent="1200.3")
    assert get_cell_text(build_company_book([K18], facts), "long_term_debt", "2018 FY") == "1213.2"


# The same: 2009-06-30 but for Walmart (2009-07-31).
@pytest.mark.parametrize(
    ("facts", "liabilities"),
    [
        # AT&T: "total noncurrent liabilities" leaves the long-term debt out.
        (
            {
                "LiabilitiesAndStockholdersEquity": "267918",
                "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest": "99012",
                "LiabilitiesCurrent": "36219",
                "LiabilitiesNoncurrent": "66122",
            },
            "168906",
        ),
        # Walmart: a redeemable noncontrolling interest is between liabilities and equity.
        (
            {
                "LiabilitiesAndStockholdersEquity": "168942",
                "OtherMinorityInterests": "326",
                "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest": "68822",
            },
            "99794",
        ),
        # DIRECTV: so it does under a concept of its own.
        (
            {
                "LiabilitiesAndStockholdersEquity": "16411",
                "own__RedeemableNoncontrollingInterest": "325",
                "StockholdersEquity": "4569",
            },
            "not_reported",
        ),
    ],
)
def test_liabilities_are_the_total_less_equity(facts: dict[str, str], liabilities: str) -> None:
    assert (
        get_cell_text(build_company_book([K18], build_balances(**facts)), "total_liabilities", "2018 FY") == liabilities
    )


def build_durations(**values: str) -> list[Fact]:
    """Return figures of fiscal 2018, in millions, and the facts that prove the year."""
    return [
        *build_annual_facts((YEAR18, K18.accession)),
        *((tag.replace("__", ":"), *YEAR18, value, K18.accession) for tag, value in values.items()),
    ]


def test_cost_of_revenue_adds_products_and_services() -> None:
    # Hewlett-Packard, the quarter to 2009-07-31.
    facts = build_durations(Revenues="27451", CostOfGoodsSold="13538", CostOfServices="7317")
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "cost_of_revenue", "2018 FY") == "20855"
    assert get_cell_text(company, "gross_profit", "2018 FY") == "6596"


def test_a_finance_business_has_no_derived_gross_profit() -> None:
    # Ford, the quarter to 2009-06-30: sales and revenues of both businesses, cost of the automotive one.
    facts = build_durations(Revenues="27189", FinancialServicesRevenue="3200", CostOfGoodsAndServicesSold="23446")
    assert get_cell_text(build_company_book([K18], facts), "gross_profit", "2018 FY") == "not_reported"


def test_a_negative_cost_makes_no_gross_profit() -> None:
    # Caterpillar, the quarter to 2009-06-30, tagged its cost of goods sold as -5,752.
    facts = build_durations(SalesRevenueNet="7254", CostOfGoodsSold="-5752")
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "cost_of_revenue", "2018 FY") == "-5752"
    assert get_cell_text(company, "gross_profit", "2018 FY") == "unexpected_sign"


@run_each_case(
    "facts, metric, value",
    [
        # Walmart: interest on debt and on capital leases, 2009-05 to 2009-07.
        (
            {"InterestExpenseDebt": "447", "InterestExpenseLesseeAssetsUnderCapitalLease": "68"},
            "interest_expense",
            "515",
        ),
        # Petrohawk: oil and gas, and other property, the half year to 2009-06-30.
        (
            {
                "PaymentsToAcquireOilAndGasPropertyAndEquipment": "748.102",
                "PaymentsToAcquireOtherPropertyPlantAndEquipment": "145.351",
            },
            "capex",
            "893.453",
        ),
        # Plains Exploration: additions to oil and gas properties, and to other property.
        (
            {
                "PaymentsToExploreAndDevelopOilAndGasProperties": "826.961",
                "PaymentsToAcquireOtherPropertyPlantAndEquipment": "9.36",
            },
            "capex",
            "836.321",
        ),
        # Wells Fargo: dividends on common and on preferred shares, the half year to 2009-06-30.
        (
            {"PaymentsOfDividendsCommonStock": "1657", "PaymentsOfDividendsPreferredStockAndPreferenceStock": "1053"},
            "dividends_paid",
            "2710",
        ),
        # Denbury: the pipelines stand under a concept of its own.
        (
            {
                "PaymentsToExploreAndDevelopOilAndGasProperties": "215.978",
                "own__CO2CapitalExpendituresIncludingPipelines": "399.406",
            },
            "capex",
            "not_reported",
        ),
        # Entergy: the total of electric, gas and competitive businesses, not the electric one.
        ({"ElectricUtilityRevenue": "1918.446", "UtilityRevenue": "2520.789"}, "revenue", "2520.789"),
        # Spectra: "operating, maintenance and other" is one of the operating expenses.
        ({"OperatingExpenses": "256", "CostsAndExpenses": "620"}, "operating_expenses", "620"),
        # Boeing: a gain on disposal is all that is left of discontinued operations.
        (
            {"DiscontinuedOperationGainLossOnDisposalOfDiscontinuedOperationNetOfTax": "1"},
            "discontinued_operations",
            "1",
        ),
        # Caterpillar: a loss that belongs to partners of joint ventures.
        ({"MinorityInterestInNetIncomeLossJointVenturePartners": "-11"}, "minority_interest_income", "-11"),
        # Boston Properties: the filer's own line says that the standard ones are not all.
        (
            {
                "MinorityInterestInNetIncomeLossOperatingPartnerships": "10.629",
                "own__NoncontrollingInterestInGainsLossesOnSalesOfRealEstate": "0.629",
            },
            "minority_interest_income",
            "not_reported",
        ),
    ],
)
def test_a_metric_reported_in_parts_is_their_sum(facts: dict[str, str], metric: str, value: str) -> None:
    assert get_cell_text(build_company_book([K18], build_durations(**facts)), metric, "2018 FY") == value


def test_a_bank_has_no_gross_profit() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("GrossProfit", *YEAR18, "5", K18.accession),
        ("NetCashProvidedByUsedInOperatingActivities", *YEAR18, "-42012000000", K18.accession),
    ]
    company = build_company_book([K18], facts, sic=6021)
    assert get_cell_text(company, "gross_profit", "2018 FY") == "not_applicable"
    assert get_cell_text(company, "operating_cashflow", "2018 FY") == "-42012000000"


def test_unusual_lines_of_an_industry_are_served() -> None:
    # American Express, the half year to 2009-06-30: purchase of premises and equipment.
    bank = build_company_book([K18], build_durations(PaymentsToAcquirePropertyPlantAndEquipment="334"), sic=6199)
    assert get_cell_text(bank, "capex", "2018 FY") == "334"
    # Aetna, 2009-06-30: a health insurer with a classified balance sheet.
    insurer = build_company_book([K18], build_balances(AssetsCurrent="6917.7", LiabilitiesCurrent="7934.2"), sic=6324)
    assert get_cell_text(insurer, "working_capital", "2018 FY") == "-1016.5"
    assert (
        get_cell_text(
            build_company_book([K18], build_balances(Assets="1"), sic=6311), "total_current_assets", "2018 FY"
        )
        == "not_reported"
    )


@run_each_case(
    "facts, metric, value",
    [
        # ConocoPhillips, the half year to 2009-06-30: a payment of its own, tagged negative.
        ({"own__CapitalExpendituresAndInvestments": "-5578"}, "capex", "5578"),
        # SPX, the same half year: positive.
        ({"own__CapitalExpenditures": "44.9"}, "capex", "44.9"),
        # ITT, Dow Chemical.
        ({"own__DividendsPaid": "-70.4"}, "dividends_paid", "70.4"),
        ({"own__DividendsPaidToStockholders": "-527"}, "dividends_paid", "527"),
        # TJX, the quarter to 2009-08-01.
        ({"own__CostOfSalesIncludingBuyingAndOccupancyCosts": "-3534.302"}, "cost_of_revenue", "3534.302"),
        # 3M, BorgWarner, Dow Chemical, the quarter to 2009-06-30.
        ({"own__ResearchDevelopmentAndRelatedExpenses": "309"}, "research_and_development", "309"),
        ({"own__SellingGeneralAndAdministrativeExpenses": "115.4"}, "selling_general_admin", "115.4"),
        ({"own__InterestExpenseAndAmortizationOfDebtDiscount": "525"}, "interest_expense", "525"),
        # Colgate: the line of the cash flow statement; PPL: one of the statement of equity.
        ({"own__StockBasedCompensationExpense": "55.7"}, "stock_based_compensation", "55.7"),
        ({"own__StockBasedCompensation": "3"}, "stock_based_compensation", "not_reported"),
        # IBM: net of proceeds.
        (
            {"own__PaymentsToAcquirePropertyPlantAndEquipmentNetOfProceedsFromDispositions": "1304"},
            "capex",
            "not_reported",
        ),
    ],
)
def test_a_payment_under_a_custom_tag_is_positive(facts: dict[str, str], metric: str, value: str) -> None:
    assert get_cell_text(build_company_book([K18], build_durations(**facts)), metric, "2018 FY") == value


def test_a_payment_with_the_opposite_sign_keeps_it_as_operand() -> None:
    # ITT, 2009-06-30: the sign of its own concept is no figure's sign.
    company = build_company_book([K18], build_durations(own__CapitalExpenditures="-87.2"))
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("A", ("capex",), provenance="full"))
    cell = data["rows"][0]["metrics"]["capex"]
    assert (cell["value"], cell["concept"], cell["method"]) == (Decimal("87.2"), "own:CapitalExpenditures", "mapped")
    assert [(operand["sign"], operand["value"]) for operand in cell["operands"]] == [(-1, Decimal("-87.2"))]
    spans = [("2024-06-30", "-30", Q2), ("2024-09-30", "-50", Q3), ("2024-12-31", "-90", K24)]
    paid = [("own:CapitalExpenditures", "2024-01-01", end, value, report.accession) for end, value, report in spans]
    assert (
        get_cell_text(build_company_book(QUARTERS, build_year_of_quarters() + paid), "capex", "2024 Q3", kind="Q")
        == "20"
    )
    assert (
        get_cell_text(build_company_book(QUARTERS, build_year_of_quarters() + paid), "capex", "2024 Q4", kind="Q")
        == "40"
    )


@run_each_case(
    "facts, sic, value",
    [
        # Bank of America, the half year to 2009-06-30.
        ({"DepreciationPremisesAndEquipment": "1169", "AmortizationOfIntangibleAssets": "1036"}, 6021, "2205"),
        # People's United: leased equipment is another line.
        (
            {
                "DepreciationPremisesAndEquipment": "15.4",
                "OtherDepreciationAndAmortization": "5.7",
                "AmortizationOfIntangibleAssets": "10.5",
            },
            6036,
            "31.6",
        ),
        # Northern Trust: amortization of software is tagged negative.
        (
            {
                "DepreciationPremisesAndEquipment": "45.7",
                "CapitalizedComputerSoftwareAmortization": "-60.7",
                "AmortizationOfIntangibleAssets": "7.9",
            },
            6022,
            "unexpected_sign",
        ),
        # Mattel, Diamond Offshore.
        ({"DepreciationExpense": "75.904", "AdjustmentForAmortization": "9.874"}, 3944, "85.778"),
        ({"CostOfServicesDepreciation": "170.493"}, 1381, "170.493"),
        # Marvell, fiscal 2024: the line of the statement, which amortization of acquired intangibles is not in.
        (
            {
                "OtherDepreciationAndAmortization": "299.8",
                "Depreciation": "148.2",
                "AmortizationOfIntangibleAssets": "1097.9",
            },
            3674,
            "299.8",
        ),
    ],
)
def test_depreciation_is_the_cash_flow_line_or_its_parts(facts: dict[str, str], sic: int, value: str) -> None:
    assert (
        get_cell_text(
            build_company_book([K18], build_durations(**facts), sic=sic), "depreciation_amortization", "2018 FY"
        )
        == value
    )


def test_closing_cash_uses_the_tag_of_the_balance_sheet() -> None:
    # United Technologies, 2009-06-30: both statements tell cash under one tag, of an odd name.
    company = build_company_book([K18], build_balances(CashCashEquivalentsAndShortTermInvestments="4016"))
    assert get_cell_text(company, "cash_and_equivalents", "2018 FY") == "4016"
    assert get_cell_text(company, "cash_at_end_of_period", "2018 FY") == "4016"


def test_distributions_of_a_reit_are_its_dividends() -> None:
    # Public Storage, the half year to 2009-06-30; a partnership's may go to other holders.
    facts = build_durations(PaymentsOfCapitalDistribution="312.328")
    assert get_cell_text(build_company_book([K18], facts, sic=6798), "dividends_paid", "2018 FY") == "312.328"
    assert get_cell_text(build_company_book([K18], facts), "dividends_paid", "2018 FY") == "not_reported"


def test_loans_are_net_of_their_allowance() -> None:
    # Northern Trust, 2009-06-30: the statement has no line for what is left.
    lent = build_balances(
        LoansAndLeasesReceivableNetOfDeferredIncome="29027.1", LoansAndLeasesReceivableAllowance="297.3"
    )
    assert get_cell_text(build_company_book([K18], lent, sic=6022), "loans_net", "2018 FY") == "28729.8"
    before = build_balances(LoansAndLeasesReceivableNetOfDeferredIncome="29027.1")
    assert get_cell_text(build_company_book([K18], before, sic=6022), "loans_net", "2018 FY") == "not_reported"


@run_each_case(
    "facts, value",
    [
        # DuPont, Hershey, Plains All American, 2009-06-30: the total has a custom tag.
        ({"StockholdersEquity": "7474", "MinorityInterest": "433", "own__TotalEquity": "7907"}, "7907"),
        (
            {
                "StockholdersEquity": "417.756",
                "own__StockholdersEquityIncludingPortionAttributableToNoncontrollingInterestHSY": "457.18",
            },
            "457.18",
        ),
        (
            {
                "PartnersCapital": "3643",
                "own__PartnersCapitalIncludingPortionAttributableToNoncontrollingInterests": "3706",
            },
            "3706",
        ),
        # Biogen Idec: a part of it.
        (
            {"StockholdersEquity": "6245.705", "own__TotalShareholdersEquityBeforeNoncontrollingInterest": "6212.538"},
            "6245.705",
        ),
    ],
)
def test_total_equity_is_the_printed_total(facts: dict[str, str], value: str) -> None:
    assert get_cell_text(build_company_book([K18], build_balances(**facts)), "total_equity", "2018 FY") == value


def test_finished_goods_alone_are_the_inventory() -> None:
    # Home Depot, 2009-08-02; Murphy Oil, 2009-06-30.
    assert (
        get_cell_text(build_company_book([K18], build_balances(InventoryFinishedGoods="10797")), "inventory", "2018 FY")
        == "10797"
    )
    parts = build_balances(InventoryFinishedGoods="415.13", OtherInventorySupplies="207.067")
    assert get_cell_text(build_company_book([K18], parts), "inventory", "2018 FY") == "not_reported"


def test_convertible_notes_are_debt_issued() -> None:
    # Snowflake, fiscal 2025.
    facts = build_durations(ProceedsFromConvertibleDebt="2300000000")
    assert get_cell_text(build_company_book([K18], facts), "debt_issued", "2018 FY") == "2300000000"


@run_each_case(
    "sic, industry",
    [(6021, "bank"), (6211, "bank"), (6282, "commercial"), (6331, "insurer"), (6798, "reit"), (3571, "commercial")],
)
def test_an_industry_follows_from_the_sic_code(sic: int, industry: str) -> None:
    assert build_company_book([K18], build_annual_facts((YEAR18, K18.accession)), sic=sic).industry == industry


def test_an_asset_manager_under_the_broker_code_is_commercial() -> None:
    facts = [*build_annual_facts((YEAR18, K18.accession)), ("OperatingIncomeLoss", *YEAR18, "5", K18.accession)]
    assert build_company_book([K18], facts, sic=6211).industry == "commercial"
    broker = [*facts, ("InterestIncomeExpenseNet", *YEAR18, "5", K18.accession)]
    assert build_company_book([K18], broker, sic=6211).industry == "bank"


def test_without_a_sic_code_the_tags_decide_the_industry() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("Deposits", None, YEAR18[1], "5", K18.accession),
        ("InterestIncomeExpenseNet", *YEAR18, "5", K18.accession),
    ]
    assert build_company_book([K18], facts).industry == "bank"


def test_a_reported_zero_is_a_value_and_a_missing_line_a_hole() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("PaymentsForRepurchaseOfCommonStock", *YEAR18, "0", K18.accession),
    ]
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "share_repurchases", "2018 FY") == "0"
    assert get_cell_text(company, "dividends_paid", "2018 FY") == "not_reported"


# ---- quarters

Q1 = build_filing("0000000001-24-000011", "10-Q", "2024-05-02")
Q2 = build_filing("0000000001-24-000012", "10-Q", "2024-08-01")
Q3 = build_filing("0000000001-24-000013", "10-Q", "2024-11-01")
K24 = build_filing("0000000001-25-000014", "10-K", "2025-02-10", fiscal_year=2024, fiscal_period="FY")
QUARTERS = [Q1, Q2, Q3, K24]
CASH = "NetCashProvidedByUsedInOperatingActivities"


def build_year_of_quarters() -> list[Fact]:
    """Return a calendar year as companies report it: quarters of income, years to date of cash flow."""
    facts: list[Fact] = []
    ends = ("2024-03-31", "2024-06-30", "2024-09-30", "2024-12-31")
    starts = ("2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01")
    for number, report in enumerate(QUARTERS):
        facts.append((CASH, "2024-01-01", ends[number], str(10 * (number + 1) ** 2), report.accession))
        facts.append(("Assets", None, ends[number], str(1000 + number), report.accession))
        if report is not K24:
            for tag, value in (("NetIncomeLoss", 7 + number), ("IncomeTaxExpenseBenefit", 1)):
                facts.append((tag, starts[number], ends[number], str(value), report.accession))
        if number:
            for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit"):
                facts.append((tag, "2024-01-01", ends[number], str(20 * (number + 1)), report.accession))
    facts.append(("EarningsPerShareDiluted", "2024-01-01", "2024-12-31", "4", K24.accession))
    return facts


def test_cash_flow_quarters_are_differences_of_years_to_date() -> None:
    company = build_company_book(QUARTERS, build_year_of_quarters())
    periods = FigureSeries(company, "Q", "latest").periods
    assert [f"{period.fiscal_year} {period.fiscal_period}" for period in periods] == [
        "2024 Q4",
        "2024 Q3",
        "2024 Q2",
        "2024 Q1",
    ]
    cash = [get_cell_text(company, "operating_cashflow", f"2024 Q{number}", kind="Q") for number in (1, 2, 3, 4)]
    assert cash == ["10", "30", "50", "70"]
    assert get_cell_text(company, "total_assets", "2024 Q4", kind="Q") == "1003"


def test_a_reported_quarter_beats_a_derived_one() -> None:
    company = build_company_book(QUARTERS, build_year_of_quarters())
    # Half year 40 less the first quarter's 7 would be 33.
    assert get_cell_text(company, "net_income", "2024 Q2", kind="Q") == "8"
    assert get_cell_text(company, "net_income", "2024 Q4", kind="Q") == "20"


def test_a_derived_quarter_lists_its_operands_and_filings() -> None:
    data, _ = metric_series.build_series(
        build_company_book(QUARTERS, build_year_of_quarters()),
        series_query.SeriesQuery("Q", ("net_income",), provenance="full"),
    )
    cell = data["rows"][0]["metrics"]["net_income"]
    assert (cell["value"], cell["method"], cell["accession"]) == (20, "derived", K24.accession)
    assert [
        (operand["sign"], operand["value"], operand["start_date"], operand["accession"]) for operand in cell["operands"]
    ] == [
        (1, 80, "2024-01-01", K24.accession),
        (-1, 60, "2024-01-01", Q3.accession),
    ]


def test_a_derived_figure_has_the_last_of_its_filing_dates() -> None:
    late = build_filing("0000000001-25-000099", "8-K", "2025-06-02")
    facts = [
        (*fact[:4], late.accession) if fact[1:3] == ("2024-01-01", "2024-12-31") and fact[0] == CASH else fact
        for fact in build_year_of_quarters()
    ]
    question = series_query.SeriesQuery("Q", ("operating_cashflow",), provenance="full")
    data, _ = metric_series.build_series(build_company_book([*QUARTERS, late], facts), question)
    cell = data["rows"][0]["metrics"]["operating_cashflow"]
    assert (cell["value"], cell["accession"], cell["filed_at"]) == (70, late.accession, "2025-06-02")


def test_a_quarter_of_another_line_does_not_replace_cash_flow() -> None:
    facts: list[Fact] = [
        *build_year_of_quarters(),
        ("DepreciationDepletionAndAmortization", "2024-01-01", "2024-06-30", "100", Q2.accession),
        ("Depreciation", "2024-04-01", "2024-06-30", "9", Q2.accession),
        ("Depreciation", "2024-01-01", "2024-06-30", "17", Q2.accession),
    ]
    assert (
        get_cell_text(build_company_book(QUARTERS, facts), "depreciation_amortization", "2024 Q2", kind="Q")
        == "operand_missing"
    )
    first: Fact = ("DepreciationDepletionAndAmortization", "2024-01-01", "2024-03-31", "45", Q1.accession)
    assert (
        get_cell_text(build_company_book(QUARTERS, [*facts, first]), "depreciation_amortization", "2024 Q2", kind="Q")
        == "55"
    )
    alike = [(*fact[:3], "100", fact[4]) if fact[3] == "17" else fact for fact in facts]
    assert get_cell_text(build_company_book(QUARTERS, alike), "depreciation_amortization", "2024 Q2", kind="Q") == "9"


def test_per_share_figures_are_never_subtracted() -> None:
    assert (
        get_cell_text(build_company_book(QUARTERS, build_year_of_quarters()), "eps_diluted", "2024 Q4", kind="Q")
        == "not_additive"
    )


def test_a_quarter_is_not_derived_across_a_change_of_tag() -> None:
    facts = [fact for fact in build_year_of_quarters() if not (fact[0] == CASH and fact[4] != K24.accession)]
    facts += [(CASH + "ContinuingOperations", "2024-01-01", "2024-09-30", "90", Q3.accession)]
    assert (
        get_cell_text(build_company_book(QUARTERS, facts), "operating_cashflow", "2024 Q4", kind="Q") == "tag_changed"
    )


def test_a_year_under_two_equal_tags_serves_either_line() -> None:
    other = CASH + "ContinuingOperations"
    later = build_filing("0000000001-26-000015", "10-K", "2026-02-10", fiscal_year=2025)
    facts = [fact for fact in build_year_of_quarters() if fact[0] != CASH or fact[4] == K24.accession]
    facts += [(other, "2024-01-01", "2024-09-30", "90", Q3.accession)]
    equal_fact: Fact = (other, "2024-01-01", "2024-12-31", "160", later.accession)
    company = build_company_book([*QUARTERS, later], [*facts, equal_fact])
    assert get_cell_text(company, "operating_cashflow", "2024 Q4", kind="Q") == "70"
    differing: Fact = (*equal_fact[:3], "161", later.accession)
    restated = build_company_book([*QUARTERS, later], [*facts, (CASH, *equal_fact[1:]), differing])
    assert get_cell_text(restated, "operating_cashflow", "2024 Q4", kind="Q", basis="original") == "tag_changed"


def test_a_restated_year_less_old_quarters_is_not_derived() -> None:
    restating = build_filing("0000000001-26-000015", "10-K", "2026-02-10", fiscal_year=2025)
    facts = [*build_year_of_quarters(), (CASH, "2024-01-01", "2024-12-31", "999", restating.accession)]
    company = build_company_book([*QUARTERS, restating], facts)
    assert get_cell_text(company, "operating_cashflow", "2024 Q4", kind="Q") == "vintage_changed"
    assert get_cell_text(company, "operating_cashflow", "2024 Q4", kind="Q", basis="original") == "70"
    again = build_filing("0000000001-25-000016", "10-Q", "2025-11-01")
    facts = [*facts, (CASH, "2024-01-01", "2024-09-30", "900", again.accession)]
    company = build_company_book([*QUARTERS, again, restating], facts)
    assert get_cell_text(company, "operating_cashflow", "2024 Q4", kind="Q") == "99"


def test_a_fourth_quarter_is_the_year_less_three_quarters() -> None:
    facts = [fact for fact in build_year_of_quarters() if fact[2] != "2024-09-30" or fact[1] != "2024-01-01"]
    facts = [fact for fact in facts if fact[2] != "2024-06-30" or fact[1] != "2024-01-01"]
    assert get_cell_text(build_company_book(QUARTERS, facts), "net_income", "2024 Q4", kind="Q") == str(80 - 7 - 8 - 9)


def test_trailing_months_at_a_year_end_are_the_year() -> None:
    company = build_company_book(QUARTERS, build_year_of_quarters())
    assert get_cell_text(company, "operating_cashflow", "2024 Q4", kind="TTM") == "160"
    assert get_cell_text(company, "operating_cashflow", "2024 Q3", kind="TTM") == "periods_missing"
    # The year is known, and does not tell it.
    assert get_cell_text(company, "capex", "2024 Q4", kind="TTM") == "not_reported"
    assert get_cell_text(company, "eps_basic", "2024 Q4", kind="TTM") == "not_reported"


def test_years_to_date_are_a_series() -> None:
    company = build_company_book(QUARTERS, build_year_of_quarters())
    assert get_cell_text(company, "operating_cashflow", "2024 Q3", kind="YTD") == "90"


# ---- fiscal years


def test_most_annual_reports_decide_the_names_of_years() -> None:
    ends = {2009: "2009-01-25", 2010: "2010-01-31", 2011: "2011-01-30", 2012: "2012-01-29"}
    starts = {2009: "2008-01-28", 2010: "2009-01-26", 2011: "2010-02-01", 2012: "2011-01-31"}
    # One report calls January 2011 "2010", as it did January 2010.
    labels = {2009: 2009, 2010: 2010, 2011: 2010, 2012: 2012}
    filings = [
        build_filing(f"0000000002-{year % 100:02}-000001", "10-K", f"{year}-03-20", fiscal_year=labels[year])
        for year in ends
    ]
    facts = build_annual_facts(
        *(((starts[year], ends[year]), report.accession) for year, report in zip(ends, filings, strict=True))
    )
    fiscal_years = [
        period.fiscal_year for period in FigureSeries(build_company_book(filings, facts), "A", "latest").periods
    ]
    assert fiscal_years == [2012, 2011, 2010, 2009]


def test_the_last_annual_reports_name_years_in_any_order() -> None:
    years = range(2010, 2019)
    # Until 2015 years to January were called after the year before.
    filings = [
        build_filing(f"0000000002-{year % 100:02}-000001", "10-K", f"{year}-03-20", fiscal_year=year - (year <= 2015))
        for year in years
    ]
    pairs = zip(years, filings, strict=True)
    facts = build_annual_facts(*(((f"{year - 1}-02-01", f"{year}-01-31"), report.accession) for year, report in pairs))
    for ordered_filings in (filings, filings[::-1]):
        rows = FigureSeries(build_company_book(ordered_filings, facts), "A", "latest").periods
        assert [period.fiscal_year for period in rows] == [*reversed(years)]


def test_a_january_year_may_be_named_after_the_year_before() -> None:
    report = build_filing("0000000002-24-000001", "10-K", "2024-03-20", fiscal_year=2023)
    facts = build_annual_facts((("2023-01-29", "2024-02-03"), report.accession))
    assert FigureSeries(build_company_book([report], facts), "A", "latest").periods[0].fiscal_year == 2023


@run_each_case("sic, label, year", [(5211, None, 2009), (3674, None, 2010), (None, None, 2010), (5331, 2009, 2010)])
def test_a_retailers_january_year_is_named_after_its_start(sic: int | None, label: int | None, year: int) -> None:
    # Home Depot, second quarter of fiscal 2009; Nvidia, second quarter of fiscal 2010; Wal-Mart calls the year to
    # 2009-01-31 2009.
    quarter = build_filing("0000000002-09-000002", "10-Q", "2009-09-02")
    before = build_filing("0000000002-09-000001", "10-K", "2009-04-01", fiscal_year=label)
    facts = [("Revenues", "2009-02-02", "2009-08-02", "50", quarter.accession)]
    if label:
        facts += build_annual_facts((("2008-02-01", "2009-01-31"), before.accession))
    company = build_company_book([before, quarter], facts, sic=sic)
    assert FigureSeries(company, "YTD", "latest").periods[0].fiscal_year == year


def test_a_year_ending_in_early_january_is_the_year_before() -> None:
    report = build_filing("0000000002-10-000001", "10-K", "2010-03-01", fiscal_year=2009)
    facts = build_annual_facts((("2009-01-04", "2010-01-02"), report.accession))
    assert FigureSeries(build_company_book([report], facts), "A", "latest").periods[0].fiscal_year == 2009


def test_a_change_of_year_end_makes_a_transition_period() -> None:
    june = build_filing("0000000003-15-000001", "10-K", "2015-08-20", fiscal_year=2015)
    transition = build_filing("0000000003-16-000001", "10-KT", "2016-02-20", fiscal_year=2015)
    december = build_filing("0000000003-17-000001", "10-K", "2017-02-20", fiscal_year=2016)
    facts = build_annual_facts(
        (("2014-07-01", "2015-06-30"), june.accession),
        (("2015-07-01", "2015-12-31"), transition.accession),
        (("2016-01-01", "2016-12-31"), december.accession),
    )
    facts.append(("Revenues", "2015-07-01", "2015-12-31", "50", transition.accession))
    facts.append(("Revenues", "2016-01-01", "2016-12-31", "120", december.accession))
    company = build_company_book([june, transition, december], facts)
    periods = FigureSeries(company, "A", "latest").periods
    assert [(period.fiscal_period, days.iso(period.end)) for period in periods] == [
        ("FY", "2016-12-31"),
        ("TP", "2015-12-31"),
        ("FY", "2015-06-30"),
    ]
    for key in ("revenue_growth_yoy", "revenue_growth_sequential"):
        assert get_cell_text(company, key, "2016 FY") == "no_prior_period"
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("A", ("revenue",), calendar=True))
    assert [row["calendar_period"] for row in data["rows"]] == ["FY", "TP", "FY"]


def test_eleven_months_after_a_year_are_a_transition_period() -> None:
    january = build_filing("0000000003-13-000001", "10-K", "2013-03-20", fiscal_year=2013)
    transition = build_filing("0000000003-14-000001", "10-KT", "2014-02-20", fiscal_year=2013)
    years = ((("2012-02-01", "2013-01-31"), january.accession), (("2013-02-01", "2013-12-31"), transition.accession))
    periods = FigureSeries(build_company_book([january, transition], build_annual_facts(*years)), "A", "latest").periods
    names = [(period.fiscal_year, period.fiscal_period, days.iso(period.end)) for period in periods]
    assert names == [(2013, "TP", "2013-12-31"), (2013, "FY", "2013-01-31")]
    # A company's first report may be of less than a year.
    first = FigureSeries(build_company_book([transition], build_annual_facts(years[1])), "A", "latest").periods
    assert [period.fiscal_period for period in first] == ["FY"]


def test_a_four_month_transition_keeps_its_quarter() -> None:
    december = build_filing("0000000003-13-000001", "10-K", "2013-02-20", fiscal_year=2012)
    interim = build_filing("0000000003-13-000002", "10-Q", "2013-05-02", fiscal_year=2013)
    transition = build_filing("0000000003-13-000003", "10-KT", "2013-07-20", fiscal_year=2013)
    april = build_filing("0000000003-14-000001", "10-K", "2014-06-20", fiscal_year=2014)
    facts = build_annual_facts(
        (("2012-01-01", "2012-12-31"), december.accession),
        (("2013-01-01", "2013-03-31"), interim.accession),
        (("2013-01-01", "2013-04-30"), transition.accession),
        (("2013-05-01", "2014-04-30"), april.accession),
    )
    periods = FigureSeries(build_company_book([december, interim, transition, april], facts), "Q", "latest").periods
    assert ("TQ1", "2013-03-31") in [(period.fiscal_period, days.iso(period.end)) for period in periods]


def test_stubs_before_and_after_a_merger_are_not_added() -> None:
    report = build_filing("unfiled-2", "10-Q", None, fiscal_year=2023, fiscal_period="Q3")
    facts: list[Fact] = []
    for tag in ("NetIncomeLoss", CASH):
        facts += [
            (tag, "2023-07-22", "2023-09-30", "43875", report.accession),
            (tag, "2023-01-01", "2023-07-21", "-38017", report.accession),
            (tag, "2022-01-01", "2022-09-30", "-5", report.accession),
        ]
    company = build_company_book([report], facts)
    periods = FigureSeries(company, "Q", "latest").periods
    assert [(period.fiscal_year, period.fiscal_period, days.iso(period.end)) for period in periods] == [
        (2023, "Q3", "2023-09-30")
    ]
    assert get_cell_text(company, "net_income", "2023 Q3", kind="Q") == "43875"
    to_date = FigureSeries(company, "YTD", "latest").periods
    assert (to_date[0].fiscal_period, days.iso(to_date[0].end)) == ("Q3", "2023-07-21")


def test_a_fourteen_week_quarter_can_be_the_first() -> None:
    report = build_filing("0000000001-17-000001", "10-K", "2017-11-03", fiscal_year=2017)
    first = build_filing("0000000001-17-000002", "10-Q", "2017-02-01")
    facts = build_annual_facts((("2016-09-25", "2017-09-30"), report.accession))
    facts += build_annual_facts((("2016-09-25", "2016-12-31"), first.accession))
    assert get_cell_text(build_company_book([first, report], facts), "net_income", "2017 Q1", kind="Q") == "100"


def test_rounded_data_set_dates_match_exact_ones() -> None:
    rounded = build_filing("0000000001-09-000002", "10-Q", "2009-07-22", source="fsds")
    year = ("2008-09-28", "2009-09-26")
    report = build_filing("0000000001-09-000009", "10-K", "2009-10-27", fiscal_year=2009)
    facts = [
        *build_annual_facts((year, report.accession), (("2009-03-29", "2009-06-27"), report.accession)),
        ("Revenues", "2009-04-01", "2009-06-30", "8337", rounded.accession),
        ("Assets", None, "2009-06-27", "48140", report.accession),
        ("Liabilities", None, "2009-06-30", "20000", rounded.accession),
    ]
    company = build_company_book([rounded, report], facts)
    assert get_cell_text(company, "revenue", "2009 Q3", kind="Q") == "8337"
    assert get_cell_text(company, "total_liabilities", "2009 Q3", kind="Q") == "20000"


def test_the_middle_of_a_quarter_decides_its_calendar_quarter() -> None:
    report = build_filing("0000000004-23-000001", "10-Q", "2023-07-27")
    facts = build_annual_facts((("2023-04-03", "2023-07-02"), report.accession))
    company = build_company_book([report], facts, year_end="1231")
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("Q", ("net_income",), calendar=True))
    row = data["rows"][0]
    assert (row["calendar_year"], row["calendar_period"], row["fiscal_period"]) == (2023, "Q2", "Q2")


def test_a_year_to_date_has_its_last_calendar_quarter() -> None:
    question = series_query.SeriesQuery("YTD", ("net_income",), calendar=True)
    data, _ = metric_series.build_series(build_company_book(QUARTERS, build_year_of_quarters()), question)
    assert [row["calendar_period"] for row in data["rows"]] == ["Q4", "Q3", "Q2", "Q1"]


# ---- the answer


def test_the_order_of_facts_and_filings_does_not_matter() -> None:
    facts = [*build_year_of_quarters(), *build_annual_facts((("2023-01-01", "2023-12-31"), K24.accession))]
    question = series_query.SeriesQuery("Q", ratios=True, template=True, provenance="full")
    expected = metric_series.build_series(build_company_book(QUARTERS, facts), question)
    for seed in range(5):
        shuffled, filings = list(facts), list(QUARTERS)
        random.Random(seed).shuffle(shuffled)
        random.Random(seed).shuffle(filings)
        assert metric_series.build_series(build_company_book(filings, shuffled), question) == expected


def test_growth_across_a_split_uses_figures_of_one_filing() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K18.accession),
        ("EarningsPerShareDiluted", *YEAR19, "11.89", K19.accession),
        ("EarningsPerShareDiluted", *YEAR19, "2.97", K20.accession),
        ("EarningsPerShareDiluted", *YEAR20, "3.28", K20.accession),
        ("WeightedAverageNumberOfDilutedSharesOutstanding", *YEAR18, "5000", K18.accession),
        ("WeightedAverageNumberOfDilutedSharesOutstanding", *YEAR19, "18595", K20.accession),
    ]
    company = build_company_book([K18, K19, K20], facts)
    assert get_cell_text(company, "eps_growth_yoy", "2020 FY")[:6] == "0.1043"
    # 2.97 against 11.91 from before the split: no filing reports both, and the share counts show the split.
    assert get_cell_text(company, "eps_growth_yoy", "2019 FY") == "vintage_changed"
    row = FigureSeries(company, "A", "latest").get_row(
        find_period(FigureSeries(company, "A", "latest").periods, "2020 FY")
    )
    inputs = [
        (formula_input.row.period.fiscal_year, getattr(formula_input.cell, "value", None))
        for formula_input in row.list_inputs("eps_growth_yoy")
    ]
    assert inputs == [(2020, Decimal("3.28")), (2019, Decimal("2.97"))]


def test_growth_from_a_loss_is_a_negative_base() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "-1.50", K18.accession),
        ("EarningsPerShareDiluted", *YEAR19, "0.40", K19.accession),
    ]
    assert get_cell_text(build_company_book([K18, K19], facts), "eps_growth_yoy", "2019 FY") == "negative_base"
    facts[-2] = ("EarningsPerShareDiluted", *YEAR18, "1.50", K18.accession)
    assert get_cell_text(build_company_book([K18, K19], facts), "eps_growth_yoy", "2019 FY") == "vintage_changed"


def test_a_ratio_lists_the_operands_of_its_inputs() -> None:
    before = [
        ("Assets", None, "2023-12-31", "997", Q1.accession),
        *((tag, "2023-10-01", "2023-12-31", "5", Q1.accession) for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")),
    ]
    company = build_company_book(QUARTERS, [*build_year_of_quarters(), *before])
    for metrics in (("roa",), ("net_income", "roa")):
        data, _ = metric_series.build_series(company, series_query.SeriesQuery("Q", metrics, provenance="full"))
        cell = data["rows"][0]["metrics"]["roa"]
        # 80 of the year by 1000, the mean of 1003 and 997; not the quarter's 20.
        assert cell["value"] == Decimal("0.08")
        assert [(operand["value"], operand["start_date"], operand["end_date"]) for operand in cell["operands"]] == [
            (80, "2024-01-01", "2024-12-31"),
            (1003, None, "2024-12-31"),
            (997, None, "2023-12-31"),
        ]


@pytest.mark.parametrize(
    ("total", "value", "book_value"),
    [
        ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "60007", "58.929"),
        # ConocoPhillips 2009-06-30, in millions: the tagged total is that of its own holders; others have 1,078.
        ("StockholdersEquity", "58929", "58.929"),
    ],
)
def test_book_value_per_share_excludes_minority_interests(total: str, value: str, book_value: str) -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        (total, None, YEAR18[1], value, K18.accession),
        ("MinorityInterest", None, YEAR18[1], "1078", K18.accession),
        ("CommonStockSharesOutstanding", None, YEAR18[1], "1000", K18.accession),
    ]
    assert get_cell_text(build_company_book([K18], facts), "book_value_per_share", "2018 FY") == book_value


def test_a_ratio_of_billions_keeps_its_cents() -> None:
    assert ratios.round_ratio(Decimal("3439152048961.123")) == Decimal("3439152048961.12")
    assert ratios.round_ratio(Decimal(1) / 3) == Decimal("0.333333333333")


def test_missing_and_meaningless_ratios_have_reasons() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("Revenues", *YEAR18, "0", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "-5", K18.accession),
        ("Liabilities", None, YEAR18[1], "10", K18.accession),
    ]
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "net_margin", "2018 FY") == "zero_denominator"
    assert get_cell_text(company, "liabilities_to_equity", "2018 FY") == "negative_denominator"
    assert get_cell_text(company, "gross_margin", "2018 FY") == "not_reported"
    assert get_cell_text(company, "roe", "2018 FY") == "no_prior_period"
    assert get_cell_text(company, "pe_ratio", "2018 FY") == "no_price"


def test_nothing_is_computed_from_a_negative_payment() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("Revenues", *YEAR18, "1000", K18.accession),
        ("NetCashProvidedByUsedInOperatingActivities", *YEAR18, "300", K18.accession),
        ("PaymentsToAcquirePropertyPlantAndEquipment", *YEAR18, "-80", K18.accession),
    ]
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "capex", "2018 FY") == "-80"
    for key in ("free_cashflow", "capex_to_revenue", "fcf_margin"):
        assert get_cell_text(company, key, "2018 FY") == "unexpected_sign"
    right = [(*fact[:3], "80", fact[4]) if fact[3] == "-80" else fact for fact in facts]
    assert get_cell_text(build_company_book([K18], right), "free_cashflow", "2018 FY") == "220"


def test_totals_add_up_within_rounding() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("Assets", None, YEAR18[1], "100000000", K18.accession),
        ("Liabilities", None, YEAR18[1], "61000000", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "40000000", K18.accession),
    ]
    data, _ = metric_series.build_series(build_company_book([K18], facts), series_query.SeriesQuery("A", template=True))
    balance = data["rows"][0]["template"]["balance"]
    assert balance["footing_status"] == "consistent"
    assert balance["subtotals"][0] == {
        "target": "total_assets",
        "reported": 100000000,
        "recomputed": 101000000,
        "residual": -1000000,
        "status": "consistent",
        "tolerance": 1500000,
        "operands": [{"key": "total_liabilities", "sign": 1}, {"key": "total_equity", "sign": 1}],
    }
    facts[2] = ("Assets", None, YEAR18[1], "103000000", K18.accession)
    data, _ = metric_series.build_series(build_company_book([K18], facts), series_query.SeriesQuery("A", template=True))
    assert data["rows"][0]["template"]["balance"]["footing_status"] == "inconsistent"


def test_a_bucket_has_the_rest_of_a_total() -> None:
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        ("AssetsCurrent", None, YEAR18[1], "100", K18.accession),
        ("CashAndCashEquivalentsAtCarryingValue", None, YEAR18[1], "60", K18.accession),
        ("InventoryNet", None, YEAR18[1], "15", K18.accession),
    ]
    data, _ = metric_series.build_series(build_company_book([K18], facts), series_query.SeriesQuery("A", template=True))
    other = data["rows"][0]["template"]["balance"]["other"]
    assert other[0] == {
        "bucket": "other_current_assets",
        "section_total_key": "total_current_assets",
        "foots_to_filed_total": True,
        "value": 25,
        "status": "value",
    }
    assert other[1]["status"] == "hole"


def test_a_bucket_is_missing_if_a_line_is_unknown() -> None:
    facts = [
        *build_year_of_quarters(),
        ("PaymentsToAcquirePropertyPlantAndEquipment", "2024-01-01", "2024-12-31", "9", K24.accession),
        *(
            ("NetCashProvidedByUsedInInvestingActivities", "2024-01-01", end, value, report.accession)
            for end, value, report in (("2024-09-30", "-20", Q3), ("2024-12-31", "-30", K24))
        ),
    ]
    data, _ = metric_series.build_series(
        build_company_book(QUARTERS, facts), series_query.SeriesQuery("Q", template=True)
    )
    cashflow = data["rows"][0]["template"]["cashflow"]
    lines = {line["key"]: line["value"] for line in cashflow["lines"]}
    assert (lines["investing_cashflow"], lines["capex"]) == (-10, None)
    assert lines["other_investing_cashflow"] is None


def test_a_bucket_is_missing_if_an_expense_is_negative() -> None:
    values = {
        "GrossProfit": "500",
        "OperatingIncomeLoss": "100",
        "ResearchAndDevelopmentExpense": "-300",
        "SellingGeneralAndAdministrativeExpense": "80",
    }
    facts = [
        *build_annual_facts((YEAR18, K18.accession)),
        *((tag, *YEAR18, value, K18.accession) for tag, value in values.items()),
    ]
    buckets = []
    for sign in ("-", ""):
        facts = [(*fact[:3], f"{sign}300", fact[4]) if "300" in fact[3] else fact for fact in facts]
        data, _ = metric_series.build_series(
            build_company_book([K18], facts), series_query.SeriesQuery("A", template=True)
        )
        buckets.append(data["rows"][0]["template"]["income"]["other"][0]["value"])
    assert buckets == [None, -20]


@pytest.mark.parametrize(
    ("income", "parent", "bucket_value", "footing"),
    [
        ("771", "pretax_income", 19, "consistent"),
        ("802", "net_income", 50, "consistent"),
        ("1", "net_income", 50, None),
    ],
    ids=["before taxes", "after taxes", "not known"],
)
def test_income_of_affiliates_counts_once(income: str, parent: str, bucket_value: int, footing: str | None) -> None:
    values = {
        "GrossProfit": "1501",
        "OperatingIncomeLoss": "952",
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest": "1002",
        "IncomeTaxExpenseBenefit": "231",
        "IncomeLossFromEquityMethodInvestments": "31",
        "NetIncomeLoss": income,
    }
    facts = [(tag, *YEAR18, value, K18.accession) for tag, value in values.items()]
    data, _ = metric_series.build_series(build_company_book([K18], facts), series_query.SeriesQuery("A", template=True))
    statement = data["rows"][0]["template"]["income"]
    (line,) = (line for line in statement["lines"] if line["key"] == "equity_method_earnings")
    assert (line["value"], line["parent"]) == (31, parent)
    assert [bucket["value"] for bucket in statement["other"] if bucket["bucket"] == "other_nonoperating_items"] == [
        bucket_value
    ]
    assert footing in (None, statement["footing_status"])


@run_each_case(
    "years, expected_years",
    [
        ("1", [2020]),
        ("2", [2020, 2019]),
        ("2018-2019", [2019, 2018]),
        ("2018,2020", [2020, 2018]),
        ("all", [2020, 2019, 2018]),
    ],
)
def test_years_select_rows(years: str, expected_years: list[int]) -> None:
    facts = build_annual_facts((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession))
    data, meta = metric_series.build_series(
        build_company_book([K18, K19, K20], facts), series_query.SeriesQuery(years=years)
    )
    assert [row["fiscal_year"] for row in data["rows"]] == expected_years
    assert meta["pagination"]["series_row_count"] == len(expected_years)


# ---- damaged facts


@run_each_case("value", ["abc", "1E999999", "NaN", "Infinity", "", "1" * 60, "1" * 29, "--5", "1_000", "٣"])
def test_a_fact_that_is_not_a_number_is_ignored(value: str) -> None:
    facts = [*build_annual_facts((YEAR18, K18.accession)), ("Assets", None, YEAR18[1], value, K18.accession)]
    company = build_company_book([K18], facts)
    assert get_cell_text(company, "total_assets", "2018 FY") == "not_reported"


@run_each_case(
    "value, plain",
    [(".5", "0.5"), ("-.41", "-0.41"), ("1e-05", "0.00001"), ("+7", "7"), ("2.5E3", "2500"), ("1" * 28, "1" * 28)],
)
def test_numbers_are_read_in_every_notation(value: str, plain: str) -> None:
    facts = [*build_annual_facts((YEAR18, K18.accession)), ("EarningsPerShareDiluted", *YEAR18, value, K18.accession)]
    assert get_cell_text(build_company_book([K18], facts), "eps_diluted", "2018 FY") == plain


@pytest.mark.slow
def test_twenty_thousand_durations_do_not_take_quadratic_time() -> None:
    facts = build_annual_facts((YEAR18, K18.accession))
    for number in range(20_000):
        start = days.iso(number // 40)
        facts.append(("NetIncomeLoss", start, days.iso(number // 40 + 80 + number % 40), "1", K18.accession))
    company = build_company_book([K18], facts)
    assert FigureSeries(company, "A", "latest").periods[0].fiscal_year == 2018


@run_each_case("year_end", ["1231", "9999", "", "abc", "0000", "0630"])
def test_an_invalid_year_end_is_ignored(year_end: str) -> None:
    report = build_filing("0000000004-23-000001", "10-Q", "2023-07-27")
    facts = build_annual_facts((("2023-04-01", "2023-06-30"), report.accession))
    periods = FigureSeries(build_company_book([report], facts, year_end=year_end), "Q", "latest").periods
    assert periods[0].fiscal_period == ("Q4" if year_end == "0630" else "Q2")
