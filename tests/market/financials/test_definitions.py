"""One definition in a series: quarters like years, changes of definition, changes of cash, placeholders."""

from __future__ import annotations

from typing import Any

import pytest

from finapi.market.financials import metric_series
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.series_query import SeriesQuery
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, get_cell_text

QUARTERS = [("01-01", "03-31"), ("04-01", "06-30"), ("07-01", "09-30"), ("10-01", "12-31")]
REPORTS = [
    build_filing("0000000001-23-000001", "10-Q", "2023-05-03"),
    build_filing("0000000001-23-000002", "10-Q", "2023-08-03"),
    build_filing("0000000001-23-000003", "10-Q", "2023-11-03"),
    build_filing("0000000001-24-000004", "10-K", "2024-02-20", fiscal_year=2023, fiscal_period="FY"),
]
Q1, Q2, Q3, K = (report.accession for report in REPORTS)


def build_rows(company: CompanyBook, *keys: str, **options: Any) -> list[dict[str, Any]]:
    data, _ = metric_series.build_series(company, SeriesQuery(metrics=keys, **options))
    rows: list[dict[str, Any]] = list(data["rows"])
    return rows


def build_year(*facts: Fact) -> CompanyBook:
    """Return a company with a year in three quarterly reports and an annual report."""
    base: list[Fact] = []
    for (start, end), accession in zip(QUARTERS, (Q1, Q2, Q3), strict=False):
        base += [(tag, f"2023-{start}", f"2023-{end}", "90", accession) for tag in ("NetIncomeLoss", "ProfitLoss")]
    base += [(tag, "2023-01-01", "2023-12-31", "400", K) for tag in ("NetIncomeLoss", "ProfitLoss")]
    return build_company_book(REPORTS, [*base, *facts])


def list_quarter_facts(tag: str, *values: str, accession: str | None = None) -> list[Fact]:
    return [
        (tag, f"2023-{start}", f"2023-{end}", value, accession or filing.accession)
        for (start, end), value, filing in zip(QUARTERS, values, REPORTS, strict=False)
    ]


# ---- quarters and their year

STATEMENTS = [
    *list_quarter_facts("Revenues", "10000", "10000", "10000"),
    *list_quarter_facts("CostOfRevenue", "7000", "7000", "7000"),
    ("Revenues", "2023-01-01", "2023-12-31", "41000", K),
    ("CostOfRevenue", "2023-01-01", "2023-12-31", "29000", K),
]


def test_quarters_have_the_definition_of_their_year() -> None:
    note = list_quarter_facts("GrossProfit", "2648", "2197", "2309", "2786", accession=K)
    company = build_year(*STATEMENTS, *note)
    assert get_cell_text(company, "gross_profit", "2023 FY") == "12000"
    quarters = [get_cell_text(company, "gross_profit", f"2023 Q{number}", kind="Q") for number in range(1, 5)]
    assert quarters == ["3000", "3000", "3000", "3000"]


def test_a_note_that_agrees_with_the_year_is_used() -> None:
    note = list_quarter_facts("GrossProfit", "3000", "3000", "3001", accession=K)
    assert get_cell_text(build_year(*STATEMENTS, *note), "gross_profit", "2023 Q3", kind="Q") == "3001"


def test_a_quarter_without_the_definition_of_its_year_is_marked() -> None:
    # The costs of the second quarter are not reported, so its gross profit cannot be computed like that of the year.
    statements = [fact for fact in STATEMENTS if fact[:2] != ("CostOfRevenue", "2023-04-01")]
    note = list_quarter_facts("GrossProfit", "2648", "2197", "2309", accession=K)
    rows = build_rows(build_year(*statements, *note), "gross_profit", period="Q", provenance="summary")
    second = next(row for row in rows if row["fiscal_period"] == "Q2")
    assert second["definition_changed"] == ["gross_profit"]
    cell = second["metrics"]["gross_profit"]
    assert (cell["value"], cell["marks"]) == (2197, ["definition_changed"])
    assert cell["confidence"] <= 75


# ---- years

YEARS = [("2021", "2352", "2050"), ("2022", "2219", "1937"), ("2023", "2144", "1929"), ("2024", None, "1983")]


def build_depreciation(*, is_equal: bool = False) -> CompanyBook:
    """Return a company that reports depreciation in every year, and with amortization in all but the last one."""
    filings = []
    facts: list[Fact] = []
    for year, total, depreciation in YEARS:
        filing = build_filing(f"0000000001-{year[2:]}-000009", "10-K", f"{int(year) + 1}-02-16")
        filings.append(filing)
        figures = {"NetIncomeLoss": "5000", "ProfitLoss": "5000", "Depreciation": depreciation}
        if total is not None:
            figures["DepreciationDepletionAndAmortization"] = depreciation if is_equal else total
        facts += [(tag, f"{year}-01-01", f"{year}-12-31", value, filing.accession) for tag, value in figures.items()]
    return build_company_book(filings, facts)


def test_a_narrower_tag_in_the_newest_year_is_marked() -> None:
    rows = build_rows(build_depreciation(), "depreciation_amortization", provenance="summary")
    assert [row["metrics"]["depreciation_amortization"]["value"] for row in rows] == [1983, 2144, 2219, 2352]
    assert [row.get("definition_changed") for row in rows] == [["depreciation_amortization"], None, None, None]
    assert rows[0]["metrics"]["depreciation_amortization"]["confidence"] <= 75
    later_tags = {"tags": ["us-gaap:DepreciationDepletionAndAmortization"], "later_tags": ["us-gaap:Depreciation"]}
    assert [row.get("tag_breaks") for row in rows] == [None, {"depreciation_amortization": later_tags}, None, None]


def test_the_marks_do_not_depend_on_the_page() -> None:
    rows = build_rows(build_depreciation(), "depreciation_amortization")
    for offset, row in enumerate(rows):
        assert build_rows(build_depreciation(), "depreciation_amortization", offset=offset, limit=1) == [row]


def test_a_tag_with_the_same_values_is_the_same_definition() -> None:
    rows = build_rows(build_depreciation(is_equal=True), "depreciation_amortization")
    assert not any({"definition_changed", "tag_breaks"} & row.keys() for row in rows)


# ---- changes of cash

CHANGE = "CashAndCashEquivalentsPeriodIncreaseDecrease"
BALANCE = "CashAndCashEquivalentsAtCarryingValue"
BALANCES: list[Fact] = [
    (BALANCE, None, "2022-12-31", "733000", Q1),
    (BALANCE, None, "2023-03-31", "561423", Q1),
    (BALANCE, None, "2023-06-30", "591321", Q2),
]


def find_change(tagged: str, *balances: Fact) -> dict[str, Any]:
    """Return the cell of the second quarter's change of cash, which is tagged, and is -141679 less -171577."""
    facts: list[Fact] = [
        (CHANGE, "2023-01-01", "2023-03-31", "-171577", Q1),
        (CHANGE, "2023-01-01", "2023-06-30", "-141679", Q2),
        (CHANGE, "2023-04-01", "2023-06-30", tagged, Q2),
    ]
    rows = build_rows(build_year(*facts, *balances), "net_change_in_cash", period="Q", provenance="summary")
    cell: dict[str, Any] = next(row for row in rows if row["fiscal_period"] == "Q2")["metrics"]["net_change_in_cash"]
    return cell


def test_the_balances_decide_between_a_quarter_and_years_to_date() -> None:
    cell = find_change("781800", *BALANCES)
    assert (cell["value"], cell["method"], cell["calc_status"]) == (29898, "derived", "unchecked")
    # The balances agree with the tagged quarter.
    balances = [*BALANCES[:2], (BALANCE, None, "2023-06-30", "1343223", Q2)]
    cell = find_change("781800", *balances)
    assert (cell["value"], cell["method"]) == (781800, "mapped")
    assert "marks" not in cell


@pytest.mark.parametrize("balances", [(), BALANCES[:2], [*BALANCES[:2], (BALANCE, None, "2023-06-30", "7", Q2)]])
def test_without_a_proof_a_contradicted_quarter_is_inconsistent(balances: list[Fact]) -> None:
    cell = find_change("781800", *balances)
    assert (cell["value"], cell["calc_status"], cell["confidence"]) == (781800, "inconsistent", 20)


def test_a_quarter_that_agrees_is_served_as_tagged() -> None:
    cell = find_change("29898", *BALANCES)
    assert (cell["value"], cell["method"], cell.get("marks")) == (29898, "mapped", None)


BEFORE_RATES = "CashAndCashEquivalentsPeriodIncreaseDecreaseExcludingExchangeRateEffect"


@pytest.mark.parametrize(("closing", "value"), [("95310", "-5011"), ("96317", "-4004"), ("50001", "-4004")])
def test_balances_show_if_a_change_of_cash_includes_exchange_rates(closing: str, value: str) -> None:
    facts: list[Fact] = [
        (BEFORE_RATES, "2023-01-01", "2023-12-31", "-4004", K),
        ("EffectOfExchangeRateOnCashAndCashEquivalents", "2023-01-01", "2023-12-31", "-1007", K),
        (BALANCE, None, "2022-12-31", "100321", K),
        (BALANCE, None, "2023-12-31", closing, K),
    ]
    assert get_cell_text(build_year(*facts), "net_change_in_cash", "2023 FY") == value


# ---- placeholders for share counts


@run_each_case(
    "tagged, average, served",
    [
        ("1000", "50000000", "50123456"),
        ("0", "50000000", "50123456"),
        ("1000", None, "50123456"),
        ("100", "49000000", "50123456"),
        # The averages show that the cover is wrong.
        ("50123", "50000", "50123"),
        # Whether this is a placeholder is not known.
        ("50123", None, "50123"),
        # No placeholder: the shares of a tenth and more may have been issued since.
        ("6000000", "5500000", "6000000"),
    ],
)
def test_the_cover_replaces_a_placeholder(tagged: str, average: str | None, served: str) -> None:
    facts: list[Fact] = [
        ("CommonStockSharesOutstanding", None, "2023-12-31", tagged, K),
        ("dei:EntityCommonStockSharesOutstanding", None, "2024-02-10", "50123456", K),
    ]
    if average is not None:
        facts.append(("WeightedAverageNumberOfSharesOutstandingBasic", "2023-01-01", "2023-12-31", average, K))
    assert get_cell_text(build_year(*facts), "shares_outstanding", "2023 FY") == served
    assert get_cell_text(build_year(facts[0]), "shares_outstanding", "2023 FY") == tagged


# ---- quarters that contradict their years to date

OPERATIONS = "NetCashProvidedByUsedInOperatingActivities"


@run_each_case(
    "tagged, is_doubted",
    [("250517", True), ("-150412", True), ("150412", False), ("171998", False), ("150413", False)],
)
def test_a_quarter_far_from_its_years_to_date_is_doubted(tagged: str, is_doubted: bool) -> None:
    facts: list[Fact] = [
        (OPERATIONS, "2023-01-01", "2023-03-31", "100105", Q1),
        (OPERATIONS, "2023-01-01", "2023-06-30", "250517", Q2),
        (OPERATIONS, "2023-04-01", "2023-06-30", tagged, Q2),
    ]
    rows = build_rows(build_year(*facts), "operating_cashflow", period="Q", provenance="summary")
    cell = next(row for row in rows if row["fiscal_period"] == "Q2")["metrics"]["operating_cashflow"]
    assert cell["value"] == int(tagged)
    assert (cell["calc_status"] == "inconsistent") is is_doubted
    if is_doubted:
        assert (cell["check"], cell["confidence"]) == ({"rule": "quarter", "keys": [], "implied": 150412}, 20)


def test_a_quarter_of_a_later_filing_is_not_compared() -> None:
    facts: list[Fact] = [
        (OPERATIONS, "2023-01-01", "2023-03-31", "100105", Q1),
        (OPERATIONS, "2023-01-01", "2023-06-30", "250517", Q2),
        # Restated in the annual report.
        (OPERATIONS, "2023-04-01", "2023-06-30", "50412", K),
    ]
    rows = build_rows(build_year(*facts), "operating_cashflow", period="Q", provenance="summary")
    cell = next(row for row in rows if row["fiscal_period"] == "Q2")["metrics"]["operating_cashflow"]
    assert (cell["value"], cell["calc_status"]) == (50412, "unchecked")
