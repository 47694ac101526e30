"""Series out of facts: which figure is told, which is derived, and which is a hole with its reason."""

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
from tests.figures import Fact, filing, held, named, told

K18 = filing("0000000001-18-000001", "10-K", "2018-11-05", fiscal_year=2018, fiscal_period="FY")
K19 = filing("0000000001-19-000001", "10-K", "2019-10-31", fiscal_year=2019, fiscal_period="FY")
K20 = filing("0000000001-20-000001", "10-K", "2020-10-30", fiscal_year=2020, fiscal_period="FY")
YEAR18 = ("2017-10-01", "2018-09-29")
YEAR19 = ("2018-09-30", "2019-09-28")
YEAR20 = ("2019-09-29", "2020-09-26")


def annual(*years: tuple[tuple[str, str], str]) -> list[Fact]:
    """Net income of years, so that the years are proved."""
    return [
        (tag, start, end, "100", accession)
        for (start, end), accession in years
        for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")
    ]


# ---- vintages


def test_earnings_per_share_before_a_split_are_11_91_as_first_told_and_2_98_as_last_told() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K18.accession),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K19.accession),
        ("EarningsPerShareDiluted", *YEAR18, "2.98", K20.accession),
    ]
    company = held([K18, K19, K20], facts)
    assert told(company, "eps_diluted", "2018 FY", basis="original") == "11.91"
    assert told(company, "eps_diluted", "2018 FY") == "2.98"


def test_a_restated_balance_is_53851_as_first_told_and_47501_as_last_told() -> None:
    first = filing("0001193125-09-214859", "10-K", "2009-10-27")
    amended = filing("0001193125-10-012091", "10-K/A", "2010-01-25")
    year = ("2008-09-28", "2009-09-26")
    facts = [
        *annual((year, first.accession), (year, amended.accession)),
        ("Assets", None, year[1], "53851000000", first.accession),
        ("Assets", None, year[1], "47501000000", amended.accession),
    ]
    company = held([first, amended], facts)
    assert told(company, "total_assets", "2009 FY", basis="original") == "53851000000"
    assert told(company, "total_assets", "2009 FY") == "47501000000"
    before = held([first, amended], facts, as_of="2010-01-24")
    assert told(before, "total_assets", "2009 FY") == "53851000000"


def test_what_was_filed_after_the_day_asked_for_is_not_known() -> None:
    facts = annual((YEAR18, K18.accession), (YEAR19, K19.accession))
    known = held([K18, K19], facts, as_of="2019-10-30")
    assert [one.fiscal_year for one in FigureSeries(known, "A", "latest").periods] == [2018]


def test_figures_of_a_proxy_statement_stand_behind_those_of_the_annual_report() -> None:
    proxy = filing("0000000001-19-000009", "DEF 14A", "2019-01-08")
    facts = [
        *annual((YEAR18, K18.accession)),
        ("NetIncomeLoss", *YEAR18, "59531000000", K18.accession),
        ("NetIncomeLoss", *YEAR18, "60000000000", proxy.accession),
    ]
    company = held([K18, proxy], facts[2:] + facts[1:2])
    assert told(company, "net_income", "2018 FY") == "59531000000"


def test_a_filing_of_unknown_day_stands_behind_those_that_have_one() -> None:
    unfiled = filing("unfiled-1", "10-K", None)
    facts = [
        *annual((YEAR18, K18.accession)),
        ("Assets", None, YEAR18[1], "7", unfiled.accession),
        ("Assets", None, YEAR18[1], "5", K18.accession),
    ]
    assert told(held([unfiled, K18], facts), "total_assets", "2018 FY") == "5"


def test_of_two_filings_of_unknown_day_the_amendment_comes_last() -> None:
    original, amended = filing("unfiled-9", "10-K", None), filing("unfiled-1", "10-K/A", None)
    facts = [
        *annual((YEAR18, original.accession)),
        ("Assets", None, YEAR18[1], "7", original.accession),
        ("Assets", None, YEAR18[1], "5", amended.accession),
    ]
    for filings in ([original, amended], [amended, original]):
        assert told(held(filings, facts), "total_assets", "2018 FY") == "5"
        assert told(held(filings, facts), "total_assets", "2018 FY", basis="original") == "7"


# ---- tags


def test_a_tag_that_went_stale_does_not_freeze_the_series() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("SalesRevenueNet", *YEAR18, "265595", K18.accession),
        ("RevenueFromContractWithCustomerExcludingAssessedTax", *YEAR19, "260174", K19.accession),
    ]
    company = held([K18, K19], facts)
    assert told(company, "revenue", "2019 FY") == "260174"
    assert told(company, "revenue", "2018 FY") == "265595"


YEAR17 = ("2016-10-02", "2017-09-30")


@pytest.mark.parametrize(
    ("revenues", "is_told"),
    # Of a year before, under the later tag and under the earlier one.
    [(None, True), ("2", True), ("1", False)],
)
def test_a_series_that_goes_on_under_another_tag_says_so(revenues: str | None, is_told: bool) -> None:
    facts: list[Fact] = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("SalesRevenueNet", *YEAR18, "265595", K18.accession),
        ("SalesRevenueNet", *YEAR17, "1", K18.accession),
        ("Revenues", *YEAR19, "260174", K19.accession),
    ]
    if revenues is not None:
        facts.append(("Revenues", *YEAR17, revenues, K18.accession))
    company = held([K18, K19], facts)
    expected = {"tags": ["us-gaap:SalesRevenueNet"], "later_tags": ["us-gaap:Revenues"]}
    for offset in range(2):
        data, _ = metric_series.build_series(
            company, series_query.SeriesQuery(metrics=("revenue", "net_income"), offset=offset)
        )
        told_of = {row["fiscal_year"]: row.get("tag_breaks") for row in data["rows"]}
        assert told_of.get(2019) is None
        assert told_of[2018] == ({"revenue": expected} if is_told else None)


@needs_shared
def test_microsofts_revenue_and_its_cost_go_on_under_other_tags_after_2015(app: App) -> None:
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


def test_goodwill_that_is_no_longer_given_is_a_hole_and_not_the_old_figure() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("Goodwill", None, YEAR18[1], "5717", K18.accession),
    ]
    assert told(held([K18, K19], facts), "goodwill", "2019 FY") == "not_reported"


def test_a_lesser_tag_of_a_later_filing_does_not_displace_the_line() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("ProfitLoss", *YEAR18, "110", K19.accession),
        *annual((YEAR19, K19.accession)),
    ]
    assert told(held([K18, K19], facts), "net_income", "2018 FY") == "100"


def test_a_filers_own_concept_spelt_like_a_standard_one_counts_as_it() -> None:
    tag = "own:StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"
    facts = [*annual((YEAR18, K18.accession)), (tag, None, YEAR18[1], "5069909", K18.accession)]
    assert told(held([K18], facts), "total_equity", "2018 FY") == "5069909"


@pytest.mark.parametrize(
    ("tag", "metric"),
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
def test_a_total_under_a_filers_own_concept_is_found_by_its_name(tag: str, metric: str) -> None:
    start = None if get_mapping().metrics[metric].aggregation == "instant" else YEAR18[0]
    facts: list[Fact] = [
        ("IncomeTaxExpenseBenefit", *YEAR18, "1", K18.accession),
        ("Revenues", *YEAR18, "1", K18.accession),
        (f"own:{tag}", start, YEAR18[1], "42", K18.accession),
    ]
    assert told(held([K18], facts), metric, "2018 FY") == "42"
    parts = [(f"own:{tag}PerShare", *fact[1:]) if fact[3] == "42" else fact for fact in facts]
    assert told(held([K18], parts), metric, "2018 FY") == "not_reported"


def test_income_tax_without_a_total_is_its_current_and_deferred_part() -> None:
    facts: list[Fact] = [
        ("NetIncomeLoss", *YEAR18, "100", K18.accession),
        ("Revenues", *YEAR18, "1", K18.accession),
        ("CurrentIncomeTaxExpenseBenefit", *YEAR18, "30", K18.accession),
        ("DeferredIncomeTaxExpenseBenefit", *YEAR18, "-8", K18.accession),
    ]
    assert told(held([K18], facts), "income_tax", "2018 FY") == "22"


def test_a_total_with_restricted_cash_does_not_fill_the_gaps_of_cash() -> None:
    wider = "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        *(("CashAndDueFromBanks", None, day, "23", K20.accession) for day in (YEAR19[1], YEAR20[1])),
        *((wider, None, day, "469", K20.accession) for day in (YEAR18[1], YEAR19[1], YEAR20[1])),
    ]
    assert told(held([K18, K19, K20], facts), "cash_and_equivalents", "2018 FY") == "not_reported"
    alike = [(*fact[:3], "23", fact[4]) if fact[3] == "469" else fact for fact in facts]
    assert told(held([K18, K19, K20], alike), "cash_and_equivalents", "2018 FY") == "23"


def test_a_formula_takes_its_terms_from_one_filing() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("LiabilitiesAndStockholdersEquity", None, YEAR18[1], "100", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "40", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "45", K19.accession),
    ]
    assert told(held([K18, K19], facts), "total_liabilities", "2018 FY") == "60"


def test_one_debt_told_under_two_tags_counts_once() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("ShortTermBorrowings", None, YEAR18[1], "500", K18.accession),
        ("LongTermDebtCurrent", None, YEAR18[1], "500", K18.accession),
        ("LongTermDebtNoncurrent", None, YEAR18[1], "3970", K18.accession),
    ]
    assert told(held([K18], facts), "total_debt", "2018 FY") == "4470"


def instants(**values: str) -> list[Fact]:
    """Balances at the end of fiscal 2018, in millions, beside the facts that prove the year."""
    return [
        *annual((YEAR18, K18.accession)),
        *((tag.replace("__", ":"), None, YEAR18[1], value, K18.accession) for tag, value in values.items()),
    ]


# Each read off the balance sheet of a filing of the SEC's 2009q3 data set, in millions.
@pytest.mark.parametrize(
    ("facts", "debt"),
    [
        # McDonald's 2009-06-30: notes payable, current maturities, long-term debt.
        (
            {"NotesAndLoansPayableCurrent": "50", "LongTermDebtCurrent": "457.6", "LongTermDebtNoncurrent": "10492.9"},
            "11000.5",
        ),
        # Oracle 2009-08-31: both parts are notes payable and other borrowings.
        ({"NotesAndLoansPayableCurrent": "1001", "LongTermNotesPayable": "13723"}, "14724"),
        # Omnicom 2009-06-30: convertible debt is a line of its own beside long-term debt.
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
def test_total_debt_is_every_line_of_debt_or_none(facts: dict[str, str], debt: str) -> None:
    assert told(held([K18], instants(**facts)), "total_debt", "2018 FY") == debt


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
def test_a_property_company_owes_all_its_notes_and_mortgages(facts: dict[str, str], debt: str) -> None:
    assert told(held([K18], instants(**facts), sic=6798), "total_debt", "2018 FY") == debt


def test_long_term_debt_is_the_line_of_that_name_and_not_the_convertible_one_beside_it() -> None:
    facts = instants(UnsecuredLongTermDebt="1213.2", ConvertibleDebtNoncurrent="1200.3")
    assert told(held([K18], facts), "long_term_debt", "2018 FY") == "1213.2"


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
        # Walmart: a redeemable noncontrolling interest stands between liabilities and equity.
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
def test_liabilities_are_what_is_left_of_both_sides(facts: dict[str, str], liabilities: str) -> None:
    assert told(held([K18], instants(**facts)), "total_liabilities", "2018 FY") == liabilities


def lasting(**values: str) -> list[Fact]:
    """Figures of fiscal 2018, in millions, beside the facts that prove the year."""
    return [
        *annual((YEAR18, K18.accession)),
        *((tag.replace("__", ":"), *YEAR18, value, K18.accession) for tag, value in values.items()),
    ]


def test_products_and_services_together_are_the_cost_of_revenue() -> None:
    # Hewlett-Packard, the quarter to 2009-07-31.
    facts = lasting(Revenues="27451", CostOfGoodsSold="13538", CostOfServices="7317")
    company = held([K18], facts)
    assert told(company, "cost_of_revenue", "2018 FY") == "20855"
    assert told(company, "gross_profit", "2018 FY") == "6596"


def test_beside_a_finance_business_revenue_less_cost_of_sales_is_no_gross_profit() -> None:
    # Ford, the quarter to 2009-06-30: sales and revenues of both businesses, cost of the automotive one.
    facts = lasting(Revenues="27189", FinancialServicesRevenue="3200", CostOfGoodsAndServicesSold="23446")
    assert told(held([K18], facts), "gross_profit", "2018 FY") == "not_reported"


def test_nothing_is_subtracted_that_is_tagged_the_wrong_way_round() -> None:
    # Caterpillar, the quarter to 2009-06-30, tagged its cost of goods sold as -5,752.
    facts = lasting(SalesRevenueNet="7254", CostOfGoodsSold="-5752")
    company = held([K18], facts)
    assert told(company, "cost_of_revenue", "2018 FY") == "-5752"
    assert told(company, "gross_profit", "2018 FY") == "unexpected_sign"


@pytest.mark.parametrize(
    ("facts", "metric", "value"),
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
def test_a_line_that_is_told_in_parts_is_their_sum(facts: dict[str, str], metric: str, value: str) -> None:
    assert told(held([K18], lasting(**facts)), metric, "2018 FY") == value


def test_a_bank_has_no_gross_profit_whatever_it_tags() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("GrossProfit", *YEAR18, "5", K18.accession),
        ("NetCashProvidedByUsedInOperatingActivities", *YEAR18, "-42012000000", K18.accession),
    ]
    company = held([K18], facts, sic=6021)
    assert told(company, "gross_profit", "2018 FY") == "not_applicable"
    assert told(company, "operating_cashflow", "2018 FY") == "-42012000000"


def test_a_line_that_only_some_of_an_industry_have_is_theirs() -> None:
    # American Express, the half year to 2009-06-30: purchase of premises and equipment.
    bank = held([K18], lasting(PaymentsToAcquirePropertyPlantAndEquipment="334"), sic=6199)
    assert told(bank, "capex", "2018 FY") == "334"
    # Aetna, 2009-06-30: a health insurer with a classified balance sheet.
    insurer = held([K18], instants(AssetsCurrent="6917.7", LiabilitiesCurrent="7934.2"), sic=6324)
    assert told(insurer, "working_capital", "2018 FY") == "-1016.5"
    assert told(held([K18], instants(Assets="1"), sic=6311), "total_current_assets", "2018 FY") == "not_reported"


@pytest.mark.parametrize(
    ("facts", "metric", "value"),
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
def test_a_payment_under_a_filers_own_name_is_its_amount(facts: dict[str, str], metric: str, value: str) -> None:
    assert told(held([K18], lasting(**facts)), metric, "2018 FY") == value


def test_that_a_payment_was_tagged_the_other_way_round_is_told_and_carried_into_quarters() -> None:
    # ITT, 2009-06-30: the sign of its own concept is no figure's sign.
    company = held([K18], lasting(own__CapitalExpenditures="-87.2"))
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("A", ("capex",), provenance="full"))
    cell = data["rows"][0]["metrics"]["capex"]
    assert (cell["value"], cell["concept"], cell["method"]) == (Decimal("87.2"), "own:CapitalExpenditures", "mapped")
    assert [(one["sign"], one["value"]) for one in cell["operands"]] == [(-1, Decimal("-87.2"))]
    spans = [("2024-06-30", "-30", Q2), ("2024-09-30", "-50", Q3), ("2024-12-31", "-90", K24)]
    paid = [("own:CapitalExpenditures", "2024-01-01", end, value, one.accession) for end, value, one in spans]
    assert told(held(QUARTERS, a_year() + paid), "capex", "2024 Q3", kind="Q") == "20"
    assert told(held(QUARTERS, a_year() + paid), "capex", "2024 Q4", kind="Q") == "40"


@pytest.mark.parametrize(
    ("facts", "sic", "value"),
    [
        # Bank of America, the half year to 2009-06-30.
        ({"DepreciationPremisesAndEquipment": "1169", "AmortizationOfIntangibleAssets": "1036"}, 6021, "2205"),
        # People's United: leased equipment is a line beside.
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
def test_depreciation_is_the_line_of_the_cash_flow_statement_or_its_parts(
    facts: dict[str, str], sic: int, value: str
) -> None:
    assert told(held([K18], lasting(**facts), sic=sic), "depreciation_amortization", "2018 FY") == value


def test_the_cash_of_the_statement_is_what_the_balance_sheet_calls_cash() -> None:
    # United Technologies, 2009-06-30: both statements tell cash under one tag, of an odd name.
    company = held([K18], instants(CashCashEquivalentsAndShortTermInvestments="4016"))
    assert told(company, "cash_and_equivalents", "2018 FY") == "4016"
    assert told(company, "cash_at_end_of_period", "2018 FY") == "4016"


def test_distributions_of_a_property_company_are_its_dividends() -> None:
    # Public Storage, the half year to 2009-06-30; a partnership's may go to other holders.
    facts = lasting(PaymentsOfCapitalDistribution="312.328")
    assert told(held([K18], facts, sic=6798), "dividends_paid", "2018 FY") == "312.328"
    assert told(held([K18], facts), "dividends_paid", "2018 FY") == "not_reported"


def test_loans_are_net_of_their_allowance() -> None:
    # Northern Trust, 2009-06-30: the statement has no line for what is left.
    lent = instants(LoansAndLeasesReceivableNetOfDeferredIncome="29027.1", LoansAndLeasesReceivableAllowance="297.3")
    assert told(held([K18], lent, sic=6022), "loans_net", "2018 FY") == "28729.8"
    before = instants(LoansAndLeasesReceivableNetOfDeferredIncome="29027.1")
    assert told(held([K18], before, sic=6022), "loans_net", "2018 FY") == "not_reported"


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        # DuPont, Hershey, Plains All American, 2009-06-30: the total stands under a name of the filer's.
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
def test_total_equity_is_the_total_that_the_statement_prints(facts: dict[str, str], value: str) -> None:
    assert told(held([K18], instants(**facts)), "total_equity", "2018 FY") == value


def test_merchandise_is_the_inventory_where_nothing_else_is() -> None:
    # Home Depot, 2009-08-02; Murphy Oil, 2009-06-30.
    assert told(held([K18], instants(InventoryFinishedGoods="10797")), "inventory", "2018 FY") == "10797"
    parts = instants(InventoryFinishedGoods="415.13", OtherInventorySupplies="207.067")
    assert told(held([K18], parts), "inventory", "2018 FY") == "not_reported"


def test_convertible_notes_are_debt_issued() -> None:
    # Snowflake, fiscal 2025.
    facts = lasting(ProceedsFromConvertibleDebt="2300000000")
    assert told(held([K18], facts), "debt_issued", "2018 FY") == "2300000000"


@pytest.mark.parametrize(
    ("sic", "industry"),
    [(6021, "bank"), (6211, "bank"), (6282, "commercial"), (6331, "insurer"), (6798, "reit"), (3571, "commercial")],
)
def test_an_industry_follows_from_the_sic_code(sic: int, industry: str) -> None:
    assert held([K18], annual((YEAR18, K18.accession)), sic=sic).industry == industry


def test_a_manager_of_assets_under_the_code_of_brokers_has_commercial_statements() -> None:
    facts = [*annual((YEAR18, K18.accession)), ("OperatingIncomeLoss", *YEAR18, "5", K18.accession)]
    assert held([K18], facts, sic=6211).industry == "commercial"
    broker = [*facts, ("InterestIncomeExpenseNet", *YEAR18, "5", K18.accession)]
    assert held([K18], broker, sic=6211).industry == "bank"


def test_without_a_code_the_industry_follows_from_what_is_reported() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("Deposits", None, YEAR18[1], "5", K18.accession),
        ("InterestIncomeExpenseNet", *YEAR18, "5", K18.accession),
    ]
    assert held([K18], facts).industry == "bank"


def test_a_reported_zero_is_a_zero_and_an_absent_line_a_hole() -> None:
    facts = [*annual((YEAR18, K18.accession)), ("PaymentsForRepurchaseOfCommonStock", *YEAR18, "0", K18.accession)]
    company = held([K18], facts)
    assert told(company, "share_repurchases", "2018 FY") == "0"
    assert told(company, "dividends_paid", "2018 FY") == "not_reported"


# ---- quarters

Q1 = filing("0000000001-24-000011", "10-Q", "2024-05-02")
Q2 = filing("0000000001-24-000012", "10-Q", "2024-08-01")
Q3 = filing("0000000001-24-000013", "10-Q", "2024-11-01")
K24 = filing("0000000001-25-000014", "10-K", "2025-02-10", fiscal_year=2024, fiscal_period="FY")
QUARTERS = [Q1, Q2, Q3, K24]
CASH = "NetCashProvidedByUsedInOperatingActivities"


def a_year() -> list[Fact]:
    """A calendar year as it is told: quarters of income, years to date of cash flow."""
    facts: list[Fact] = []
    ends = ("2024-03-31", "2024-06-30", "2024-09-30", "2024-12-31")
    starts = ("2024-01-01", "2024-04-01", "2024-07-01", "2024-10-01")
    for number, one in enumerate(QUARTERS):
        facts.append((CASH, "2024-01-01", ends[number], str(10 * (number + 1) ** 2), one.accession))
        facts.append(("Assets", None, ends[number], str(1000 + number), one.accession))
        if one is not K24:
            for tag, value in (("NetIncomeLoss", 7 + number), ("IncomeTaxExpenseBenefit", 1)):
                facts.append((tag, starts[number], ends[number], str(value), one.accession))
        if number:
            for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit"):
                facts.append((tag, "2024-01-01", ends[number], str(20 * (number + 1)), one.accession))
    facts.append(("EarningsPerShareDiluted", "2024-01-01", "2024-12-31", "4", K24.accession))
    return facts


def test_quarters_of_cash_flow_are_the_year_to_date_less_what_came_before() -> None:
    company = held(QUARTERS, a_year())
    periods = FigureSeries(company, "Q", "latest").periods
    assert [f"{one.fiscal_year} {one.fiscal_period}" for one in periods] == ["2024 Q4", "2024 Q3", "2024 Q2", "2024 Q1"]
    cash = [told(company, "operating_cashflow", f"2024 Q{number}", kind="Q") for number in (1, 2, 3, 4)]
    assert cash == ["10", "30", "50", "70"]
    assert told(company, "total_assets", "2024 Q4", kind="Q") == "1003"


def test_a_reported_quarter_beats_a_derived_one_and_the_fourth_is_derived() -> None:
    company = held(QUARTERS, a_year())
    # Half year 40 less the first quarter's 7 would be 33.
    assert told(company, "net_income", "2024 Q2", kind="Q") == "8"
    assert told(company, "net_income", "2024 Q4", kind="Q") == "20"


def test_a_derived_quarter_names_its_operands_and_their_filings() -> None:
    data, _ = metric_series.build_series(
        held(QUARTERS, a_year()), series_query.SeriesQuery("Q", ("net_income",), provenance="full")
    )
    cell = data["rows"][0]["metrics"]["net_income"]
    assert (cell["value"], cell["method"], cell["accession"]) == (20, "derived", K24.accession)
    assert [(one["sign"], one["value"], one["start_date"], one["accession"]) for one in cell["operands"]] == [
        (1, 80, "2024-01-01", K24.accession),
        (-1, 60, "2024-01-01", Q3.accession),
    ]


def test_a_derived_figure_is_known_since_the_last_of_its_filings() -> None:
    late = filing("0000000001-25-000099", "8-K", "2025-06-02")
    facts = [
        (*fact[:4], late.accession) if fact[1:3] == ("2024-01-01", "2024-12-31") and fact[0] == CASH else fact
        for fact in a_year()
    ]
    question = series_query.SeriesQuery("Q", ("operating_cashflow",), provenance="full")
    data, _ = metric_series.build_series(held([*QUARTERS, late], facts), question)
    cell = data["rows"][0]["metrics"]["operating_cashflow"]
    assert (cell["value"], cell["accession"], cell["filed_at"]) == (70, late.accession, "2025-06-02")


def test_a_quarter_of_another_statements_line_does_not_displace_the_cash_flow_line() -> None:
    facts: list[Fact] = [
        *a_year(),
        ("DepreciationDepletionAndAmortization", "2024-01-01", "2024-06-30", "100", Q2.accession),
        ("Depreciation", "2024-04-01", "2024-06-30", "9", Q2.accession),
        ("Depreciation", "2024-01-01", "2024-06-30", "17", Q2.accession),
    ]
    assert told(held(QUARTERS, facts), "depreciation_amortization", "2024 Q2", kind="Q") == "operand_missing"
    first: Fact = ("DepreciationDepletionAndAmortization", "2024-01-01", "2024-03-31", "45", Q1.accession)
    assert told(held(QUARTERS, [*facts, first]), "depreciation_amortization", "2024 Q2", kind="Q") == "55"
    alike = [(*fact[:3], "100", fact[4]) if fact[3] == "17" else fact for fact in facts]
    assert told(held(QUARTERS, alike), "depreciation_amortization", "2024 Q2", kind="Q") == "9"


def test_per_share_figures_are_never_subtracted() -> None:
    assert told(held(QUARTERS, a_year()), "eps_diluted", "2024 Q4", kind="Q") == "not_additive"


def test_a_quarter_is_not_derived_across_a_change_of_tag() -> None:
    facts = [fact for fact in a_year() if not (fact[0] == CASH and fact[4] != K24.accession)]
    facts += [(CASH + "ContinuingOperations", "2024-01-01", "2024-09-30", "90", Q3.accession)]
    assert told(held(QUARTERS, facts), "operating_cashflow", "2024 Q4", kind="Q") == "tag_changed"


def test_a_year_told_under_two_tags_alike_is_a_year_of_either() -> None:
    other = CASH + "ContinuingOperations"
    later = filing("0000000001-26-000015", "10-K", "2026-02-10", fiscal_year=2025)
    facts = [fact for fact in a_year() if fact[0] != CASH or fact[4] == K24.accession]
    facts += [(other, "2024-01-01", "2024-09-30", "90", Q3.accession)]
    same: Fact = (other, "2024-01-01", "2024-12-31", "160", later.accession)
    company = held([*QUARTERS, later], [*facts, same])
    assert told(company, "operating_cashflow", "2024 Q4", kind="Q") == "70"
    differing: Fact = (*same[:3], "161", later.accession)
    restated = held([*QUARTERS, later], [*facts, (CASH, *same[1:]), differing])
    assert told(restated, "operating_cashflow", "2024 Q4", kind="Q", basis="original") == "tag_changed"


def test_a_quarter_is_not_derived_out_of_a_restated_year_and_an_unrestated_rest() -> None:
    restating = filing("0000000001-26-000015", "10-K", "2026-02-10", fiscal_year=2025)
    facts = [*a_year(), (CASH, "2024-01-01", "2024-12-31", "999", restating.accession)]
    company = held([*QUARTERS, restating], facts)
    assert told(company, "operating_cashflow", "2024 Q4", kind="Q") == "vintage_changed"
    assert told(company, "operating_cashflow", "2024 Q4", kind="Q", basis="original") == "70"
    again = filing("0000000001-25-000016", "10-Q", "2025-11-01")
    facts = [*facts, (CASH, "2024-01-01", "2024-09-30", "900", again.accession)]
    company = held([*QUARTERS, again, restating], facts)
    assert told(company, "operating_cashflow", "2024 Q4", kind="Q") == "99"


def test_the_fourth_quarter_without_nine_months_is_the_year_less_three_quarters() -> None:
    facts = [fact for fact in a_year() if fact[2] != "2024-09-30" or fact[1] != "2024-01-01"]
    facts = [fact for fact in facts if fact[2] != "2024-06-30" or fact[1] != "2024-01-01"]
    assert told(held(QUARTERS, facts), "net_income", "2024 Q4", kind="Q") == str(80 - 7 - 8 - 9)


def test_trailing_twelve_months_are_the_year_at_its_end_and_need_four_quarters_elsewhere() -> None:
    company = held(QUARTERS, a_year())
    assert told(company, "operating_cashflow", "2024 Q4", kind="TTM") == "160"
    assert told(company, "operating_cashflow", "2024 Q3", kind="TTM") == "periods_missing"
    # The year is known, and does not tell it.
    assert told(company, "capex", "2024 Q4", kind="TTM") == "not_reported"
    assert told(company, "eps_basic", "2024 Q4", kind="TTM") == "not_reported"


def test_years_to_date_are_rows_of_their_own() -> None:
    company = held(QUARTERS, a_year())
    assert told(company, "operating_cashflow", "2024 Q3", kind="YTD") == "90"


# ---- fiscal years


def test_a_year_is_named_as_most_annual_reports_name_theirs() -> None:
    ends = {2009: "2009-01-25", 2010: "2010-01-31", 2011: "2011-01-30", 2012: "2012-01-29"}
    starts = {2009: "2008-01-28", 2010: "2009-01-26", 2011: "2010-02-01", 2012: "2011-01-31"}
    # One report calls January 2011 "2010", as it did January 2010.
    labels = {2009: 2009, 2010: 2010, 2011: 2010, 2012: 2012}
    filings = [
        filing(f"0000000002-{year % 100:02}-000001", "10-K", f"{year}-03-20", fiscal_year=labels[year]) for year in ends
    ]
    facts = annual(*(((starts[year], ends[year]), one.accession) for year, one in zip(ends, filings, strict=True)))
    named = [one.fiscal_year for one in FigureSeries(held(filings, facts), "A", "latest").periods]
    assert named == [2012, 2011, 2010, 2009]


def test_the_last_annual_reports_decide_how_years_are_named_in_whatever_order_they_came() -> None:
    years = range(2010, 2019)
    # Until 2015 years to January were called after the year before.
    filings = [
        filing(f"0000000002-{year % 100:02}-000001", "10-K", f"{year}-03-20", fiscal_year=year - (year <= 2015))
        for year in years
    ]
    pairs = zip(years, filings, strict=True)
    facts = annual(*(((f"{year - 1}-02-01", f"{year}-01-31"), one.accession) for year, one in pairs))
    for listed in (filings, filings[::-1]):
        rows = FigureSeries(held(listed, facts), "A", "latest").periods
        assert [one.fiscal_year for one in rows] == [*reversed(years)]


def test_january_years_of_a_company_that_names_them_after_the_year_before() -> None:
    one = filing("0000000002-24-000001", "10-K", "2024-03-20", fiscal_year=2023)
    facts = annual((("2023-01-29", "2024-02-03"), one.accession))
    assert FigureSeries(held([one], facts), "A", "latest").periods[0].fiscal_year == 2023


@pytest.mark.parametrize(
    ("sic", "label", "year"), [(5211, None, 2009), (3674, None, 2010), (None, None, 2010), (5331, 2009, 2010)]
)
def test_a_retailers_january_year_that_no_annual_report_names_is_called_after_its_beginning(
    sic: int | None, label: int | None, year: int
) -> None:
    # Home Depot, second quarter of fiscal 2009; Nvidia, second quarter of fiscal 2010; Wal-Mart calls the year to
    # 2009-01-31 2009.
    quarter = filing("0000000002-09-000002", "10-Q", "2009-09-02")
    before = filing("0000000002-09-000001", "10-K", "2009-04-01", fiscal_year=label)
    facts = [("Revenues", "2009-02-02", "2009-08-02", "50", quarter.accession)]
    if label:
        facts += annual((("2008-02-01", "2009-01-31"), before.accession))
    company = held([before, quarter], facts, sic=sic)
    assert FigureSeries(company, "YTD", "latest").periods[0].fiscal_year == year


def test_a_year_that_ends_in_the_first_days_of_january_is_the_year_before() -> None:
    one = filing("0000000002-10-000001", "10-K", "2010-03-01", fiscal_year=2009)
    facts = annual((("2009-01-04", "2010-01-02"), one.accession))
    assert FigureSeries(held([one], facts), "A", "latest").periods[0].fiscal_year == 2009


def test_a_change_of_year_end_leaves_a_transition_period_of_its_own() -> None:
    june = filing("0000000003-15-000001", "10-K", "2015-08-20", fiscal_year=2015)
    transition = filing("0000000003-16-000001", "10-KT", "2016-02-20", fiscal_year=2015)
    december = filing("0000000003-17-000001", "10-K", "2017-02-20", fiscal_year=2016)
    facts = annual(
        (("2014-07-01", "2015-06-30"), june.accession),
        (("2015-07-01", "2015-12-31"), transition.accession),
        (("2016-01-01", "2016-12-31"), december.accession),
    )
    facts.append(("Revenues", "2015-07-01", "2015-12-31", "50", transition.accession))
    facts.append(("Revenues", "2016-01-01", "2016-12-31", "120", december.accession))
    company = held([june, transition, december], facts)
    periods = FigureSeries(company, "A", "latest").periods
    assert [(one.fiscal_period, days.iso(one.end)) for one in periods] == [
        ("FY", "2016-12-31"),
        ("TP", "2015-12-31"),
        ("FY", "2015-06-30"),
    ]
    for key in ("revenue_growth_yoy", "revenue_growth_sequential"):
        assert told(company, key, "2016 FY") == "no_prior_period"
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("A", ("revenue",), calendar=True))
    assert [row["calendar_period"] for row in data["rows"]] == ["FY", "TP", "FY"]


def test_eleven_months_after_a_year_are_a_transition_period_and_not_its_namesake() -> None:
    january = filing("0000000003-13-000001", "10-K", "2013-03-20", fiscal_year=2013)
    transition = filing("0000000003-14-000001", "10-KT", "2014-02-20", fiscal_year=2013)
    years = ((("2012-02-01", "2013-01-31"), january.accession), (("2013-02-01", "2013-12-31"), transition.accession))
    periods = FigureSeries(held([january, transition], annual(*years)), "A", "latest").periods
    names = [(one.fiscal_year, one.fiscal_period, days.iso(one.end)) for one in periods]
    assert names == [(2013, "TP", "2013-12-31"), (2013, "FY", "2013-01-31")]
    # A company's first report may be of less than a year.
    first = FigureSeries(held([transition], annual(years[1])), "A", "latest").periods
    assert [one.fiscal_period for one in first] == ["FY"]


def test_four_months_of_transition_do_not_hide_the_quarter_in_them() -> None:
    december = filing("0000000003-13-000001", "10-K", "2013-02-20", fiscal_year=2012)
    interim = filing("0000000003-13-000002", "10-Q", "2013-05-02", fiscal_year=2013)
    transition = filing("0000000003-13-000003", "10-KT", "2013-07-20", fiscal_year=2013)
    april = filing("0000000003-14-000001", "10-K", "2014-06-20", fiscal_year=2014)
    facts = annual(
        (("2012-01-01", "2012-12-31"), december.accession),
        (("2013-01-01", "2013-03-31"), interim.accession),
        (("2013-01-01", "2013-04-30"), transition.accession),
        (("2013-05-01", "2014-04-30"), april.accession),
    )
    periods = FigureSeries(held([december, interim, transition, april], facts), "Q", "latest").periods
    assert ("TQ1", "2013-03-31") in [(one.fiscal_period, days.iso(one.end)) for one in periods]


def test_a_stub_after_a_merger_is_a_quarter_and_the_stub_before_it_is_not_added_to_it() -> None:
    report = filing("unfiled-2", "10-Q", None, fiscal_year=2023, fiscal_period="Q3")
    facts: list[Fact] = []
    for tag in ("NetIncomeLoss", CASH):
        facts += [
            (tag, "2023-07-22", "2023-09-30", "43875", report.accession),
            (tag, "2023-01-01", "2023-07-21", "-38017", report.accession),
            (tag, "2022-01-01", "2022-09-30", "-5", report.accession),
        ]
    company = held([report], facts)
    periods = FigureSeries(company, "Q", "latest").periods
    assert [(one.fiscal_year, one.fiscal_period, days.iso(one.end)) for one in periods] == [(2023, "Q3", "2023-09-30")]
    assert told(company, "net_income", "2023 Q3", kind="Q") == "43875"
    to_date = FigureSeries(company, "YTD", "latest").periods
    assert (to_date[0].fiscal_period, days.iso(to_date[0].end)) == ("Q3", "2023-07-21")


def test_a_fourteen_week_quarter_that_ends_with_december_is_still_the_first() -> None:
    one = filing("0000000001-17-000001", "10-K", "2017-11-03", fiscal_year=2017)
    first = filing("0000000001-17-000002", "10-Q", "2017-02-01")
    facts = annual((("2016-09-25", "2017-09-30"), one.accession))
    facts += annual((("2016-09-25", "2016-12-31"), first.accession))
    assert told(held([first, one], facts), "net_income", "2017 Q1", kind="Q") == "100"


def test_rounded_dates_of_a_data_set_fall_into_place_beside_real_ones() -> None:
    rounded = filing("0000000001-09-000002", "10-Q", "2009-07-22", source="fsds")
    year = ("2008-09-28", "2009-09-26")
    report = filing("0000000001-09-000009", "10-K", "2009-10-27", fiscal_year=2009)
    facts = [
        *annual((year, report.accession), (("2009-03-29", "2009-06-27"), report.accession)),
        ("Revenues", "2009-04-01", "2009-06-30", "8337", rounded.accession),
        ("Assets", None, "2009-06-27", "48140", report.accession),
        ("Liabilities", None, "2009-06-30", "20000", rounded.accession),
    ]
    company = held([rounded, report], facts)
    assert told(company, "revenue", "2009 Q3", kind="Q") == "8337"
    assert told(company, "total_liabilities", "2009 Q3", kind="Q") == "20000"


def test_a_quarter_is_placed_on_the_calendar_by_its_middle() -> None:
    report = filing("0000000004-23-000001", "10-Q", "2023-07-27")
    facts = annual((("2023-04-03", "2023-07-02"), report.accession))
    company = held([report], facts, year_end="1231")
    data, _ = metric_series.build_series(company, series_query.SeriesQuery("Q", ("net_income",), calendar=True))
    row = data["rows"][0]
    assert (row["calendar_year"], row["calendar_period"], row["fiscal_period"]) == (2023, "Q2", "Q2")


def test_a_year_to_date_lies_on_the_calendar_where_its_last_quarter_does() -> None:
    question = series_query.SeriesQuery("YTD", ("net_income",), calendar=True)
    data, _ = metric_series.build_series(held(QUARTERS, a_year()), question)
    assert [row["calendar_period"] for row in data["rows"]] == ["Q4", "Q3", "Q2", "Q1"]


# ---- the answer


def test_the_answer_does_not_depend_on_the_order_of_facts_and_filings() -> None:
    facts = [*a_year(), *annual((("2023-01-01", "2023-12-31"), K24.accession))]
    question = series_query.SeriesQuery("Q", ratios=True, template=True, provenance="full")
    expected = metric_series.build_series(held(QUARTERS, facts), question)
    for seed in range(5):
        shuffled, filings = list(facts), list(QUARTERS)
        random.Random(seed).shuffle(shuffled)
        random.Random(seed).shuffle(filings)
        assert metric_series.build_series(held(filings, shuffled), question) == expected


def test_growth_compares_two_figures_of_one_filing_across_a_split() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "11.91", K18.accession),
        ("EarningsPerShareDiluted", *YEAR19, "11.89", K19.accession),
        ("EarningsPerShareDiluted", *YEAR19, "2.97", K20.accession),
        ("EarningsPerShareDiluted", *YEAR20, "3.28", K20.accession),
        ("WeightedAverageNumberOfDilutedSharesOutstanding", *YEAR18, "5000", K18.accession),
        ("WeightedAverageNumberOfDilutedSharesOutstanding", *YEAR19, "18595", K20.accession),
    ]
    company = held([K18, K19, K20], facts)
    assert told(company, "eps_growth_yoy", "2020 FY")[:6] == "0.1043"
    # 2.97 against 11.91 of before the split: no filing tells both, and the share counts show why.
    assert told(company, "eps_growth_yoy", "2019 FY") == "vintage_changed"
    row = FigureSeries(company, "A", "latest").get_row(named(FigureSeries(company, "A", "latest").periods, "2020 FY"))
    inputs = [
        (one.row.period.fiscal_year, getattr(one.cell, "value", None)) for one in row.list_inputs("eps_growth_yoy")
    ]
    assert inputs == [(2020, Decimal("3.28")), (2019, Decimal("2.97"))]


def test_growth_from_a_loss_means_nothing_whatever_the_share_counts() -> None:
    facts = [
        *annual((YEAR18, K18.accession), (YEAR19, K19.accession)),
        ("EarningsPerShareDiluted", *YEAR18, "-1.50", K18.accession),
        ("EarningsPerShareDiluted", *YEAR19, "0.40", K19.accession),
    ]
    assert told(held([K18, K19], facts), "eps_growth_yoy", "2019 FY") == "negative_base"
    facts[-2] = ("EarningsPerShareDiluted", *YEAR18, "1.50", K18.accession)
    assert told(held([K18, K19], facts), "eps_growth_yoy", "2019 FY") == "vintage_changed"


def test_a_ratio_names_the_figures_that_it_is_made_of_whatever_else_is_asked_for() -> None:
    before = [
        ("Assets", None, "2023-12-31", "997", Q1.accession),
        *((tag, "2023-10-01", "2023-12-31", "5", Q1.accession) for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")),
    ]
    company = held(QUARTERS, [*a_year(), *before])
    for metrics in (("roa",), ("net_income", "roa")):
        data, _ = metric_series.build_series(company, series_query.SeriesQuery("Q", metrics, provenance="full"))
        cell = data["rows"][0]["metrics"]["roa"]
        # 80 of the year by 1000, the mean of 1003 and 997; not the quarter's 20.
        assert cell["value"] == Decimal("0.08")
        assert [(one["value"], one["start_date"], one["end_date"]) for one in cell["operands"]] == [
            (80, "2024-01-01", "2024-12-31"),
            (1003, None, "2024-12-31"),
            (997, None, "2023-12-31"),
        ]


@pytest.mark.parametrize(
    ("total", "value", "book_value"),
    [
        ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "60007", "58.929"),
        # ConocoPhillips 2009-06-30, in millions: the total that it tags is its own holders', beside 1,078 of others.
        ("StockholdersEquity", "58929", "58.929"),
    ],
)
def test_the_book_value_of_a_share_is_of_its_own_holders(total: str, value: str, book_value: str) -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        (total, None, YEAR18[1], value, K18.accession),
        ("MinorityInterest", None, YEAR18[1], "1078", K18.accession),
        ("CommonStockSharesOutstanding", None, YEAR18[1], "1000", K18.accession),
    ]
    assert told(held([K18], facts), "book_value_per_share", "2018 FY") == book_value


def test_an_amount_of_billions_keeps_its_cents() -> None:
    assert ratios.round_ratio(Decimal("3439152048961.123")) == Decimal("3439152048961.12")
    assert ratios.round_ratio(Decimal(1) / 3) == Decimal("0.333333333333")


def test_a_ratio_without_its_input_says_so_and_one_that_means_nothing_too() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("Revenues", *YEAR18, "0", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "-5", K18.accession),
        ("Liabilities", None, YEAR18[1], "10", K18.accession),
    ]
    company = held([K18], facts)
    assert told(company, "net_margin", "2018 FY") == "zero_denominator"
    assert told(company, "liabilities_to_equity", "2018 FY") == "negative_denominator"
    assert told(company, "gross_margin", "2018 FY") == "not_reported"
    assert told(company, "roe", "2018 FY") == "no_prior_period"
    assert told(company, "pe_ratio", "2018 FY") == "no_price"


def test_nothing_is_worked_out_from_a_payment_that_is_tagged_negative() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("Revenues", *YEAR18, "1000", K18.accession),
        ("NetCashProvidedByUsedInOperatingActivities", *YEAR18, "300", K18.accession),
        ("PaymentsToAcquirePropertyPlantAndEquipment", *YEAR18, "-80", K18.accession),
    ]
    company = held([K18], facts)
    assert told(company, "capex", "2018 FY") == "-80"
    for key in ("free_cashflow", "capex_to_revenue", "fcf_margin"):
        assert told(company, key, "2018 FY") == "unexpected_sign"
    right = [(*fact[:3], "80", fact[4]) if fact[3] == "-80" else fact for fact in facts]
    assert told(held([K18], right), "free_cashflow", "2018 FY") == "220"


def test_a_statement_proves_its_totals_within_the_rounding_of_its_figures() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("Assets", None, YEAR18[1], "100000000", K18.accession),
        ("Liabilities", None, YEAR18[1], "61000000", K18.accession),
        ("StockholdersEquity", None, YEAR18[1], "40000000", K18.accession),
    ]
    data, _ = metric_series.build_series(held([K18], facts), series_query.SeriesQuery("A", template=True))
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
    data, _ = metric_series.build_series(held([K18], facts), series_query.SeriesQuery("A", template=True))
    assert data["rows"][0]["template"]["balance"]["footing_status"] == "inconsistent"


def test_what_a_total_leaves_over_stands_in_a_bucket() -> None:
    facts = [
        *annual((YEAR18, K18.accession)),
        ("AssetsCurrent", None, YEAR18[1], "100", K18.accession),
        ("CashAndCashEquivalentsAtCarryingValue", None, YEAR18[1], "60", K18.accession),
        ("InventoryNet", None, YEAR18[1], "15", K18.accession),
    ]
    data, _ = metric_series.build_series(held([K18], facts), series_query.SeriesQuery("A", template=True))
    other = data["rows"][0]["template"]["balance"]["other"]
    assert other[0] == {
        "bucket": "other_current_assets",
        "section_total_key": "total_current_assets",
        "foots_to_filed_total": True,
        "value": 25,
        "status": "value",
    }
    assert other[1]["status"] == "hole"


def test_a_bucket_does_not_swallow_a_line_that_cannot_be_told() -> None:
    facts = [
        *a_year(),
        ("PaymentsToAcquirePropertyPlantAndEquipment", "2024-01-01", "2024-12-31", "9", K24.accession),
        *(
            ("NetCashProvidedByUsedInInvestingActivities", "2024-01-01", end, value, one.accession)
            for end, value, one in (("2024-09-30", "-20", Q3), ("2024-12-31", "-30", K24))
        ),
    ]
    data, _ = metric_series.build_series(held(QUARTERS, facts), series_query.SeriesQuery("Q", template=True))
    cashflow = data["rows"][0]["template"]["cashflow"]
    lines = {one["key"]: one["value"] for one in cashflow["lines"]}
    assert (lines["investing_cashflow"], lines["capex"]) == (-10, None)
    assert lines["other_investing_cashflow"] is None


def test_a_bucket_is_not_worked_out_from_an_expense_that_is_tagged_negative() -> None:
    told = {
        "GrossProfit": "500",
        "OperatingIncomeLoss": "100",
        "ResearchAndDevelopmentExpense": "-300",
        "SellingGeneralAndAdministrativeExpense": "80",
    }
    facts = [*annual((YEAR18, K18.accession)), *((tag, *YEAR18, value, K18.accession) for tag, value in told.items())]
    buckets = []
    for sign in ("-", ""):
        facts = [(*fact[:3], f"{sign}300", fact[4]) if "300" in fact[3] else fact for fact in facts]
        data, _ = metric_series.build_series(held([K18], facts), series_query.SeriesQuery("A", template=True))
        buckets.append(data["rows"][0]["template"]["income"]["other"][0]["value"])
    assert buckets == [None, -20]


@pytest.mark.parametrize(
    ("income", "parent", "left", "footing"),
    [
        ("771", "pretax_income", 19, "consistent"),
        ("802", "net_income", 50, "consistent"),
        ("1", "net_income", 50, None),
    ],
    ids=["before taxes", "after taxes", "not known"],
)
def test_income_of_affiliates_counts_once(income: str, parent: str, left: int, footing: str | None) -> None:
    told = {
        "GrossProfit": "1501",
        "OperatingIncomeLoss": "952",
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest": "1002",
        "IncomeTaxExpenseBenefit": "231",
        "IncomeLossFromEquityMethodInvestments": "31",
        "NetIncomeLoss": income,
    }
    facts = [(tag, *YEAR18, value, K18.accession) for tag, value in told.items()]
    data, _ = metric_series.build_series(held([K18], facts), series_query.SeriesQuery("A", template=True))
    statement = data["rows"][0]["template"]["income"]
    (line,) = (one for one in statement["lines"] if one["key"] == "equity_method_earnings")
    assert (line["value"], line["parent"]) == (31, parent)
    assert [one["value"] for one in statement["other"] if one["bucket"] == "other_nonoperating_items"] == [left]
    assert footing in (None, statement["footing_status"])


@pytest.mark.parametrize(
    ("years", "wanted"),
    [
        ("1", [2020]),
        ("2", [2020, 2019]),
        ("2018-2019", [2019, 2018]),
        ("2018,2020", [2020, 2018]),
        ("all", [2020, 2019, 2018]),
    ],
)
def test_years_choose_rows(years: str, wanted: list[int]) -> None:
    facts = annual((YEAR18, K18.accession), (YEAR19, K19.accession), (YEAR20, K20.accession))
    data, meta = metric_series.build_series(held([K18, K19, K20], facts), series_query.SeriesQuery(years=years))
    assert [row["fiscal_year"] for row in data["rows"]] == wanted
    assert meta["pagination"]["series_row_count"] == len(wanted)


# ---- what means harm


@pytest.mark.parametrize("value", ["abc", "1E999999", "NaN", "Infinity", "", "1" * 60, "1" * 29, "--5", "1_000", "٣"])
def test_a_text_that_is_no_figure_is_left_out(value: str) -> None:
    facts = [*annual((YEAR18, K18.accession)), ("Assets", None, YEAR18[1], value, K18.accession)]
    company = held([K18], facts)
    assert told(company, "total_assets", "2018 FY") == "not_reported"


@pytest.mark.parametrize(
    ("value", "plain"),
    [(".5", "0.5"), ("-.41", "-0.41"), ("1e-05", "0.00001"), ("+7", "7"), ("2.5E3", "2500"), ("1" * 28, "1" * 28)],
)
def test_a_figure_is_one_in_every_way_of_writing_numbers(value: str, plain: str) -> None:
    facts = [*annual((YEAR18, K18.accession)), ("EarningsPerShareDiluted", *YEAR18, value, K18.accession)]
    assert told(held([K18], facts), "eps_diluted", "2018 FY") == plain


def test_twenty_thousand_durations_do_not_take_quadratic_time() -> None:
    facts = annual((YEAR18, K18.accession))
    for number in range(20_000):
        start = days.iso(number // 40)
        facts.append(("NetIncomeLoss", start, days.iso(number // 40 + 80 + number % 40), "1", K18.accession))
    company = held([K18], facts)
    assert FigureSeries(company, "A", "latest").periods[0].fiscal_year == 2018


@pytest.mark.parametrize("year_end", ["1231", "9999", "", "abc", "0000", "0630"])
def test_a_year_end_that_is_none_costs_nothing(year_end: str) -> None:
    report = filing("0000000004-23-000001", "10-Q", "2023-07-27")
    facts = annual((("2023-04-01", "2023-06-30"), report.accession))
    periods = FigureSeries(held([report], facts, year_end=year_end), "Q", "latest").periods
    assert periods[0].fiscal_period == ("Q4" if year_end == "0630" else "Q2")
