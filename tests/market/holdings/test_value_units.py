"""The unit of a table's values, and the rule that states the evidence."""

from __future__ import annotations

from typing import Any

import pytest

from finapi.market.holdings import value_units
from finapi.market.holdings.value_units import Unit
from tests.support.case_tables import run_each_case


def unit(**changes: Any) -> Unit:
    """Return the unit of a table with one row of 250,000 for 1,000 shares, filed in 2025, with these changes."""
    values: dict[str, Any] = {
        "filed_at": "2025-11-14",
        "signed": None,
        "period": "2025-09-30",
        "value_total": None,
        "rows": [(250_000, 1_000)],
        **changes,
    }
    return value_units.decide_unit(**values, row_value=sum(value for value, _ in values["rows"]))


def test_reports_filed_since_2023_01_03_are_in_dollars() -> None:
    assert unit() == Unit(1, 1, "dollars:filing_date", False)
    assert unit(filed_at="2023-01-03", period="2021-12-31").rule == "dollars:filing_date"
    assert unit(filed_at="2023-01-02", rows=[(250, 1_000)]) == Unit(1000, 1000, "thousands:filing_date", False)


def test_the_2020_report_of_actiam_is_in_thousands() -> None:
    rows = [(230_054, 1_733_777), (66_793, 38_127), (58_769, 33_532), (224_483, 1_009_277), (152_059, 46_688)]
    assert unit(filed_at="2021-02-12", period="2020-12-31", value_total=732_158, rows=rows) == Unit(
        1000, 1000, "thousands:filing_date", False
    )


def test_prices_of_cents_in_2025_are_thousands() -> None:
    rows = [(230, 1_000), (120, 900), (45, 500)]
    assert unit(rows=rows, value_total=395) == Unit(1000, 1000, "thousands:implied_price", True)


def test_prices_of_100_000_dollars_in_2021_are_dollars() -> None:
    rows = [(230_000, 1_000), (90_000, 900), (45_000, 500)]
    assert unit(filed_at="2021-02-12", period="2020-12-31", rows=rows) == Unit(1, 1, "dollars:implied_price", True)


def test_a_few_cheap_shares_do_not_overrule_the_day() -> None:
    rows = [(50, 1_000), (60, 1_000), (250_000, 1_000)]  # two of three rows, but none of the value
    assert unit(rows=rows).rule == "dollars:filing_date"
    rows = [(999, 1_000), (2_000, 1_000)]
    assert unit(rows=rows).rule == "dollars:filing_date"


def test_six_tenths_of_rows_and_value_overrule_the_day() -> None:
    cheap, fair = (1_000, 10_000), (1_000, 10)
    assert unit(rows=[cheap] * 6 + [fair] * 4).rule == "thousands:implied_price"
    assert unit(rows=[cheap] * 5 + [(100, 1)] * 4).rule == "dollars:filing_date"
    assert unit(rows=[cheap] * 7 + [(1_600, 16)] * 3).rule == "dollars:filing_date"  # 59 % of the value


def test_signature_and_quarter_replace_a_missing_filing_date() -> None:
    assert unit(filed_at=None, signed="2023-05-31", period="2020-12-31").rule == "dollars:signature_date"
    assert (
        unit(filed_at=None, signed="2021-02-12", period="2020-12-31", rows=[(1, 10)]).rule == "thousands:signature_date"
    )
    assert unit(filed_at=None, signed="2023-01-03", period="2020-12-31").rule == "dollars:signature_date"
    # A report cannot be signed before its quarter ended, nor on its last day.
    assert unit(filed_at=None, signed="2022-12-31", period="2022-12-31").rule == "dollars:period"
    assert unit(filed_at=None, signed="2020-02-12", period="2022-12-31").rule == "dollars:period"
    assert unit(filed_at=None, signed=None, period="2022-09-30", rows=[(1, 10)]).rule == "thousands:period"


def test_other_managers_prices_overrule_in_both_directions() -> None:
    # A share of $700,000 in thousands passes for one of $700, and one of $2 for one of $2,000 in thousands.
    rows = [(700, 1), (50_000, 1)]
    assert unit(rows=rows).rule == "dollars:filing_date"
    other_prices = [(700.0, [690_000.0, 710_000.0]), (50_000.0, [49e6, 51e6, 50_000.0])]
    assert unit(rows=rows, implied_prices=other_prices) == Unit(1000, 1000, "thousands:other_managers", True)
    old = unit(filed_at="2021-02-12", rows=[(2, 1)], implied_prices=[(2.0, [1.9, 2.1])])
    assert old == Unit(1, 1, "dollars:other_managers", True)


def test_too_few_or_divided_managers_do_not_overrule() -> None:
    for other_prices in ([(700.0, [700_000.0])], [(700.0, [7e5, 700.0])], [(700.0, [7e6, 7e6])], [(700.0, [])]):
        assert unit(rows=[(700, 1)], implied_prices=other_prices).rule == "dollars:filing_date"
    # One of two rows is not most of them.
    assert unit(rows=[(700, 1)], implied_prices=[(700.0, [7e5, 7e5]), (4.0, [4.0, 4.0])]).rule == "dollars:filing_date"


@pytest.mark.parametrize(("contradiction_count", "source"), [(5, "filing_date"), (6, "other_managers")])
def test_six_tenths_of_the_prices_of_other_managers_decide(contradiction_count: int, source: str) -> None:
    contradictions = [(700.0, [7e5, 7e5])] * contradiction_count
    agreements = [(4.0, [4.0, 4.0])] * 4
    assert unit(rows=[(700, 1)], implied_prices=contradictions + agreements).rule.endswith(f":{source}")


def test_a_price_of_5_000_dollars_is_too_high_for_thousands() -> None:
    assert unit(filed_at="2021-02-12", rows=[(5_000, 1_000)]).rule == "dollars:implied_price"
    assert unit(filed_at="2021-02-12", rows=[(4_999, 1_000)]).rule == "thousands:filing_date"


def test_a_majority_within_a_factor_of_three_agrees() -> None:
    assert value_units.find_agreed_price([10.0]) is None
    assert value_units.find_agreed_price([10.0, 30.0]) == 10.0
    assert value_units.find_agreed_price([10.0, 30.1]) is None
    assert value_units.find_agreed_price([10.0, 10.0, 1_000.0]) == 10.0
    assert value_units.find_agreed_price([10.0, 10.0, 1_000.0, 1_000.0]) is None


@run_each_case(
    "times, sign",
    [
        *((1 / 3_000, 0), (1 / 2_999, -1), (1 / 1_000, -1), (1 / 334, -1), (1 / 333, 0)),
        *((1.0, 0), (333.0, 0), (334.0, 1), (1_000.0, 1), (2_999.0, 1), (3_000.0, 0)),
    ],
)
def test_thousandfold_prices_may_differ_by_a_factor_of_three(times: float, sign: int) -> None:
    assert value_units.get_thousandfold_sign(times * 8, 8.0) == sign


@pytest.mark.parametrize("rows", [[], [(0, 1_000)], [(1_000, 0)]])
def test_without_prices_the_filing_day_decides(rows: list[tuple[int, int]]) -> None:
    assert unit(rows=rows).rule == "dollars:filing_date"


def test_the_cover_total_may_be_in_another_unit() -> None:
    rows = [(250, 1_000), (125, 1_000)]
    assert unit(filed_at="2021-02-12", rows=rows, value_total=375_321) == Unit(1000, 1, "thousands:filing_date", False)
    assert unit(value_total=250) == Unit(1, 1000, "dollars:filing_date", False)
    assert unit(filed_at="2021-02-12", rows=rows, value_total=376_000).total_unit == 1
    assert unit(filed_at="2021-02-12", rows=rows, value_total=376_001).total_unit == 1000
    assert unit(value_total=252) == Unit(1, 1, "dollars:filing_date", False)
    # One row was rounded by at most 500 dollars.
    assert [unit(rows=[(250_000 + more, 1_000)], value_total=250).total_unit for more in (500, 501)] == [1000, 1]
