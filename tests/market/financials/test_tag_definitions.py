"""The meaning of a series: common stock with and without paid-in capital, and cash of banks."""

from __future__ import annotations

from finapi.market.financials import templates
from finapi.market.financials.series_rows import FigureSeries
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, find_period, get_cell_text

K18, K19, K20 = (
    build_filing(f"0000000001-{year}-000001", "10-K", f"20{year}-02-20", fiscal_year=1999 + year, fiscal_period="FY")
    for year in (19, 20, 21)
)
REPORTS = {2018: K18, 2019: K19, 2020: K20}
BANK = 6022
RESTRICTED = "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"


def build_income() -> list[Fact]:
    """Return the income of the years, so that they have rows."""
    return [
        ("NetIncomeLoss", f"{year}-01-01", f"{year}-12-31", "7", report.accession) for year, report in REPORTS.items()
    ]


def build_balances(tag: str, **values: str) -> list[Fact]:
    """Return balances at the ends of years, each from the report of its year: ``y2018="5"``."""
    return [(tag, None, f"{name[1:]}-12-31", value, REPORTS[int(name[1:])].accession) for name, value in values.items()]


def test_par_value_and_capital_paid_in_are_not_one_series() -> None:
    facts = [
        *build_income(),
        *build_balances("CommonStockValue", y2018="3", y2019="3"),
        *build_balances("AdditionalPaidInCapital", y2018="90", y2019="95"),
        *build_balances("CommonStocksIncludingAdditionalPaidInCapital", y2020="101"),
    ]
    company = build_company_book([K18, K19, K20], facts)
    by_year = {
        key: [get_cell_text(company, key, f"{year} FY") for year in REPORTS]
        for key in ("common_stock_par", "additional_paid_in_capital", "common_stock_with_capital")
    }
    assert by_year == {
        "common_stock_par": ["3", "3", "not_reported"],
        "additional_paid_in_capital": ["90", "95", "not_reported"],
        "common_stock_with_capital": ["not_reported", "not_reported", "101"],
    }


def test_a_total_next_to_its_parts_is_not_reported() -> None:
    facts = [
        *build_income(),
        *build_balances("CommonStockValue", y2020="3"),
        *build_balances("AdditionalPaidInCapital", y2020="98"),
        *build_balances("CommonStocksIncludingAdditionalPaidInCapital", y2020="101"),
    ]
    company = build_company_book([K18, K19, K20], facts)
    assert get_cell_text(company, "common_stock_with_capital", "2020 FY") == "not_reported"
    assert get_cell_text(company, "common_stock_par", "2020 FY") == "3"


@run_each_case("sic", [3571, BANK, 6311, 6798])
def test_the_template_counts_stock_with_capital_once(sic: int) -> None:
    facts = [
        *build_income(),
        *build_balances("CommonStocksIncludingAdditionalPaidInCapital", y2020="101"),
        *build_balances("RetainedEarningsAccumulatedDeficit", y2020="50"),
        *build_balances("StockholdersEquity", y2020="155"),
    ]
    rows = FigureSeries(build_company_book([K18, K19, K20], facts, sic=sic), "A", "latest")
    row = rows.get_row(find_period(rows.periods, "2020 FY"))
    balance = templates.fill_template(rows.company_book.industry, row.get_cell)["balance"]
    told_lines = {line["key"]: line["value"] for line in balance["lines"]}
    assert (told_lines["common_stock_with_capital"], told_lines["other_equity"]) == (101, 4)


def test_bank_cash_has_the_definition_of_its_newest_balance() -> None:
    facts = [
        *build_income(),
        *build_balances("CashAndDueFromBanks", y2018="20", y2019="21"),
        *build_balances(RESTRICTED, y2020="400"),
    ]
    company = build_company_book([K18, K19, K20], facts, sic=BANK)
    cash = [get_cell_text(company, "cash_and_equivalents", f"{year} FY") for year in REPORTS]
    assert cash == ["other_definition", "other_definition", "400"]
    # As known before the change, the definition of then serves.
    earlier = build_company_book([K18, K19, K20], facts, sic=BANK, as_of="2020-12-31")
    assert [get_cell_text(earlier, "cash_and_equivalents", f"{year} FY") for year in (2018, 2019)] == ["20", "21"]
    # In other industries no tag replaces another one.
    assert (
        get_cell_text(build_company_book([K18, K19, K20], facts, sic=3571), "cash_and_equivalents", "2018 FY") == "20"
    )


def test_two_tags_of_one_definition_are_one_series() -> None:
    facts = [
        *build_income(),
        *build_balances("CashAndCashEquivalentsAtCarryingValue", y2018="20", y2019="21"),
        *build_balances("CashAndDueFromBanks", y2019="21", y2020="22"),
    ]
    company = build_company_book([K18, K19, K20], facts, sic=BANK)
    assert [get_cell_text(company, "cash_and_equivalents", f"{year} FY") for year in REPORTS] == ["20", "21", "22"]
    other = [*facts[:-3], *build_balances("CashAndDueFromBanks", y2019="19", y2020="22")]
    assert (
        get_cell_text(build_company_book([K18, K19, K20], other, sic=BANK), "cash_and_equivalents", "2018 FY")
        == "other_definition"
    )
