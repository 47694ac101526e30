"""Conclusions from one form: kinds, plans, exercises, lateness, titles, sectors, business days and positions."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from finapi.core.errors import ApiError
from finapi.edgar import ownership_forms
from finapi.edgar.ownership_forms import OwnershipForm
from finapi.market.insiders import business_days, form_positions, rules, titles
from finapi.market.insiders.rules import TradeTraits
from finapi.market.reference import sectors
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case


def parse_form(*rows: str, **options: object) -> OwnershipForm:
    return ownership_forms.parse(forms.form(*rows, **options), "form.xml")  # type: ignore[arg-type]


def derive_traits(*rows: str, **options: object) -> list[TradeTraits]:
    return rules.derive_traits(parse_form(*rows, **options))


@run_each_case(
    "code, kind",
    [
        ("P", "purchase"),
        ("S", "sale"),
        ("A", "grant"),
        ("M", "exercise"),
        ("X", "exercise"),
        ("C", "exercise"),
        ("G", "gift"),
        ("F", "other"),
        ("W", "other"),
        (None, "other"),
    ],
)
def test_a_code_has_a_standard_type(code: str | None, kind: str) -> None:
    assert rules.get_standard_type(code) == kind


def test_only_purchases_and_sales_of_shares_have_a_direction() -> None:
    traits = derive_traits(
        forms.transaction("P"),
        forms.transaction("S"),
        forms.transaction("A"),
        forms.transaction("P", derivative="5"),
        # A purchase that disposes of shares is an error of the filer.
        forms.transaction("P", sign="D"),
    )
    assert [trade.direction for trade in traits] == [1, -1, 0, 0, 0]


@run_each_case(
    "shares, price, value",
    [
        ("1500", "66.903", 100354),
        ("3", "0.5", 2),
        ("5", "0.5", 2),
        ("100", "0", 0),
        ("100", None, None),
        (None, "10", None),
        ("9" * 19, "9" * 10, None),
    ],
)
def test_a_value_is_rounded_to_dollars_halves_to_even(shares: str | None, price: str | None, value: int | None) -> None:
    row = forms.transaction("P", shares, price)
    assert derive_traits(row)[0].value == value


# ---- Plans


def list_plans(
    box: str | None, *mentions_plan: bool, text: str = "Under a Rule 10b5-1 plan of 2024."
) -> list[tuple[bool, str]]:
    """Return whether rows are under a plan, and the source. Some rows refer to a footnote with ``text``."""
    rows = [forms.transaction("S", notes="F1" if mentions else "F2") for mentions in mentions_plan]
    traits = derive_traits(*rows, box=box, footnotes={"F1": text, "F2": "Sold."})
    return [(trade.rule_10b5_1, trade.plan_source) for trade in traits]


def test_a_ticked_box_covers_all_rows_without_plan_footnotes() -> None:
    assert list_plans("1", False, False) == [(True, "checkbox"), (True, "checkbox")]
    assert list_plans("1", True, False) == [(True, "footnote"), (False, "checkbox")]


def test_a_footnote_states_a_plan_although_the_box_is_empty() -> None:
    assert list_plans("0", True, False) == [(True, "footnote"), (False, "checkbox")]


@run_each_case(
    "plan_name", ["10b5-1", "10b5\u20111", "10b5 - 1", "10b-5-1", "10b\u20115\u20111", "10B5\u00ad-1", "10b51"]
)
def test_a_plan_is_found_in_every_spelling(plan_name: str) -> None:
    assert list_plans(None, True, text=f"Sold under a Rule {plan_name} plan.") == [(True, "footnote")]
    assert list_plans(None, True, text=f"Sold under Rule {plan_name}2.") == [(False, "not_stated")]


def test_without_a_box_only_footnotes_state_a_plan() -> None:
    assert list_plans(None, True, False) == [(True, "footnote"), (False, "not_stated")]


@run_each_case(
    "text",
    [
        "The sale was not made under a Rule 10b5-1 plan.",
        "A sale outside of any 10b5-1 plan.",
        "Nothing.",
        "The reporting person terminated his Rule 10b5-1 plan.",
        "No Rule 10b5-1 plan was in effect.",
        "The Rule 10b5\u20111 plan was terminated before the sale.",
        "Sold without a 10b5-1 plan.",
    ],
)
def test_a_footnote_that_denies_a_plan_is_no_plan(text: str) -> None:
    assert list_plans(None, True, text=text) == [(False, "not_stated")]


def test_remarks_state_a_plan_for_all_rows() -> None:
    traits = derive_traits(forms.transaction("S"), box=None, remarks="Effected pursuant to a 10b5-1 plan.")
    assert [(trade.rule_10b5_1, trade.plan_source) for trade in traits] == [(True, "remarks")]


# ---- Exercises and taxes


UNREFERENCED_NOTES = [
    ("The sales reported were effected pursuant to a Rule 10b5-1 trading plan.", None, True, "footnote"),
    ("These shares were sold under a 10b5-1 plan adopted in 2022.", "0", True, "footnote"),
    ("Transactions made in accordance with a Rule 10b5\u20111 plan.", "1", True, "checkbox"),
    ("The reporting person adopted a plan in accordance with Rule 10b5-1.", "0", False, "checkbox"),
    ("The sale was not made under a Rule 10b5-1 plan.", None, False, "not_stated"),
    ("A weighted average price.", None, False, "not_stated"),
]


@run_each_case("text, box, is_under_plan, source", UNREFERENCED_NOTES)
def test_a_footnote_without_a_reference_is_about_all_rows(
    text: str, box: str | None, is_under_plan: bool, source: str
) -> None:
    rows = (forms.transaction("S", notes="F2"), forms.transaction("S"), forms.holding())
    traits = derive_traits(*rows, box=box, footnotes={"F1": text, "F2": "A price."})
    assert [(trade.rule_10b5_1, trade.plan_source) for trade in traits] == [(is_under_plan, source)] * 2


def test_a_plan_footnote_of_some_rows_is_not_about_all() -> None:
    text = "Sold under a 10b5-1 plan."
    rows = (forms.transaction("S", notes="F2"), forms.transaction("S"))
    traits = derive_traits(*rows, box=None, footnotes={"F1": text, "F2": text})
    assert [trade.rule_10b5_1 for trade in traits] == [True, False]


def test_a_plan_footnote_of_a_holding_is_not_about_trades() -> None:
    rows = (forms.transaction("S"), forms.holding(notes="F1"))
    traits = derive_traits(*rows, box=None, footnotes={"F1": "Sold under a 10b5-1 plan."})
    assert [trade.rule_10b5_1 for trade in traits] == [False]


def test_an_exercise_with_covered_sales_that_day_is_cashless() -> None:
    traits = derive_traits(
        forms.transaction("M", "100", "2.50"),
        forms.transaction("S", "60", "10"),
        forms.transaction("S", "40", "11"),
        forms.transaction("M", "100", "0", derivative="2.50"),
    )
    assert [trade.is_cashless for trade in traits] == [True, True, True, False]


@run_each_case(
    "rows, why",
    [
        ((forms.transaction("M", "100", None), forms.transaction("S", "60", "10")), "units vest for nothing"),
        ((forms.transaction("M", "100", "2"), forms.transaction("S", "101", "10")), "more than were exercised"),
        ((forms.transaction("M", "100", "2"), forms.transaction("S", "9", date="2025-03-04")), "another day"),
        ((forms.transaction("M", "100", "2"), forms.transaction("F", "60", "10")), "withheld and not sold"),
    ],
)
def test_other_exercises_are_not_cashless(rows: tuple[str, ...], why: str) -> None:
    assert [trade.is_cashless for trade in derive_traits(*rows)] == [False, False], why


def test_a_footnote_states_a_cashless_exercise() -> None:
    traits = derive_traits(
        forms.transaction("S", notes="F1"), footnotes={"F1": "Sold in a cashless exercise of options."}
    )
    assert traits[0].is_cashless is True


@run_each_case(
    "code, text, expected",
    [
        ("S", "Shares sold in a sell-to-cover transaction.", True),
        ("S", "Sold to satisfy tax withholding obligations on vesting.", True),
        ("S", "Sold to diversify.", False),
        ("F", "Withheld to satisfy tax withholding obligations.", False),
    ],
)
def test_a_footnote_states_a_sale_to_cover_taxes(code: str, text: str, expected: bool) -> None:
    assert derive_traits(forms.transaction(code, notes="F1"), footnotes={"F1": text})[0].is_sell_to_cover is expected


# ---- Lateness


@run_each_case(
    "kind, day, filed, late, days",
    [
        # A Friday. Monday is the first business day after it.
        ("4", "2026-05-01", "2026-05-05", False, 2),
        ("4", "2026-05-01", "2026-05-06", True, 3),
        # With Independence Day in between, a Friday in 2025.
        ("4", "2025-07-02", "2025-07-07", False, 2),
        ("4", "2025-07-02", "2025-07-08", True, 3),
        ("4", "2025-03-03", "2025-03-03", False, 0),
        # The ten days end on a Saturday, so Monday is in time.
        ("3", "2025-03-05", "2025-03-17", False, 8),
        ("3", "2025-03-05", "2025-03-18", True, 9),
        ("5", "2024-12-31", "2025-02-14", False, 31),
        ("5", "2024-12-31", "2025-02-18", True, 32),
        ("4", "2002-08-01", "2002-09-10", None, 27),
        ("4/A", "2025-03-03", "2025-06-03", None, None),
    ],
)
def test_lateness_of_a_form(kind: str, day: str, filed: str, late: bool | None, days: int | None) -> None:
    parsed = parse_form(forms.transaction(date=day), kind=kind, period=day)
    assert rules.compute_lateness(parsed, filed) == (late, days)


def test_rows_without_a_two_day_duty_make_no_form_late() -> None:
    early = forms.transaction("A", date="2025-01-10", timeliness="E")
    parsed = parse_form(early, forms.transaction(date="2025-03-03"), period="2025-01-10")
    assert rules.compute_lateness(parsed, "2025-03-05") == (False, 2)
    gift = parse_form(
        forms.transaction("G", date="2022-01-10"), forms.transaction(date="2022-03-03"), period="2022-01-10"
    )
    assert rules.compute_lateness(gift, "2022-03-07") == (False, 2)


def test_lateness_is_unknown_without_a_filing_date() -> None:
    assert rules.compute_lateness(parse_form(forms.transaction()), None) == (None, None)


def test_a_date_before_section_16_is_not_usable() -> None:
    assert rules.find_usable_date("0015-11-23") is None
    assert rules.find_usable_date("2015-11-23") == "2015-11-23"


# ---- Business days


def test_holidays_are_observed_on_weekdays() -> None:
    assert [day.isoformat() for day in sorted(business_days.get_holidays(2021))] == [
        "2021-01-01",
        "2021-01-18",
        "2021-02-15",
        "2021-05-31",
        "2021-06-18",
        "2021-07-05",
        "2021-09-06",
        "2021-10-11",
        "2021-11-11",
        "2021-11-25",
        "2021-12-24",
        "2021-12-31",
    ]
    assert date(2020, 6, 19) not in business_days.get_holidays(2020)


def test_business_days_between_two_days_equal_a_count() -> None:
    start = date(2019, 12, 20)
    for length in range(0, 800, 7):
        end = start + timedelta(length)
        counted = sum(business_days.is_business_day(start + timedelta(n)) for n in range(1, length + 1))
        assert business_days.count_between(start, end) == counted
    assert business_days.count_between(start, start - timedelta(1)) == 0


# ---- Titles and entities


@run_each_case(
    "text, name, c_suite, rank",
    [
        ("President and CEO", "Chief Executive Officer", True, 1),
        ("EVP & CFO", "Chief Financial Officer", True, 3),
        ("Chief Human Resources Officer", "Chief Human Resources Officer", True, 4),
        ("SVP, GC and Secretary", "General Counsel", False, 5),
        ("Sr. Vice President", "Senior Vice President", False, 6),
        ("President, Europe", "President of a Division", False, 6),
        ("Vice President", "Vice President", False, 7),
        ("President", "President", True, 2),
        ("See Remarks", "Other Officer", False, 9),
        # The abbreviation may mean accounting or administrative.
        ("CAO", "Chief Administrative or Accounting Officer", True, 4),
    ],
)
def test_a_title_has_a_standard_form(text: str, name: str, c_suite: bool, rank: int) -> None:
    title = titles.parse_title(text)
    assert title is not None
    assert (title.name, title.is_c_suite, title.rank) == (name, c_suite, rank)


def test_ceo_and_cfo_are_named_executive_officers() -> None:
    parsed = [titles.parse_title(text) for text in ("CEO", "CFO", "COO")]
    assert [title.is_named_executive for title in parsed if title] == [True, True, None]
    assert titles.parse_title(None) is None


def test_an_owner_who_is_repeated_is_at_the_last_position() -> None:
    form = parse_form()
    first = replace(form.owners[0], cik="0000000001", name="First entry")
    other = replace(first, cik="0000000002")
    repeated = replace(first, name="Second entry")
    assert titles.list_owners(replace(form, owners=(first, other, repeated))) == [other, first]


@run_each_case(
    "name, entity",
    [("BERKSHIRE HATHAWAY INC", True), ("Wick Capital LP", True), ("BUFFETT WARREN E", False), ("Costa Ann", False)],
)
def test_an_entity_is_recognised_by_its_name(name: str, entity: bool) -> None:
    parsed = parse_form(owners=(forms.owner(("0000000109", name), flags="ten"),))
    assert titles.is_entity(parsed.owners[0]) is entity


# ---- Sectors


def test_sectors_are_the_divisions_of_the_sic() -> None:
    assert sectors.get_names_of_sic(3571) == ("Manufacturing", "Machinery and Computer Equipment")
    assert sectors.get_names_of_sic(6022) == ("Finance, Insurance and Real Estate", "Depository Institutions")
    assert sectors.get_names_of_sic(None) == sectors.get_names_of_sic(1100) == (None, None)
    assert (sectors.parse_filter("manufacturing").division, sectors.parse_group("35")) == ("D", 35)


@run_each_case(
    "name, letter",
    [
        ("Finance, Insurance, And Real Estate", "H"),
        ("Transportation, Communications, Electric, Gas, And Sanitary Services", "E"),
        ("Transportation & Public Utilities", "E"),
        ("RETAIL TRADE", "G"),
        ("Wholesale", "F"),
        ("Agriculture, Forestry, And Fishing", "A"),
    ],
)
def test_a_sector_is_found_by_its_common_names(name: str, letter: str) -> None:
    assert sectors.parse_filter(name).division == letter


def test_an_unknown_sector_is_refused_with_all_names() -> None:
    with pytest.raises(ApiError) as caught:
        sectors.parse_sector("Lamps")
    assert caught.value.status == 400
    assert "Manufacturing" in caught.value.details["allowed"]  # type: ignore[index]


# ---- Positions


def test_the_last_transaction_of_a_vehicle_is_its_position() -> None:
    parsed = parse_form(
        forms.transaction("S", date="2025-03-04", after="800"),
        forms.transaction("S", date="2025-03-03", after="900"),
        forms.transaction("G", "50", "0", sign="A", after="550", hands="I", nature="By trust", nature_notes="F1"),
        forms.holding("70", notes="F2"),
    )
    positions = form_positions.list_positions(parsed.rows)
    assert [(position.seq, position.ownership, position.amount) for position in positions] == [
        (1, "D", "800"),
        (3, "I", "550"),
        (4, "I", "70"),
    ]


def test_direct_and_indirect_shares_are_two_positions() -> None:
    parsed = parse_form(forms.transaction("S", after="800"), forms.transaction("S", after="550", hands="I"))
    positions = form_positions.list_positions(parsed.rows)
    assert [(position.ownership, position.amount) for position in positions] == [("D", "800"), ("I", "550")]


def test_a_position_without_an_amount_is_null() -> None:
    (position,) = form_positions.list_positions(parse_form(forms.transaction(after=None)).rows)
    assert position.amount is None


def test_a_missing_amount_has_its_footnotes() -> None:
    row = parse_form(forms.transaction(after="90")).rows[0]
    row_with_footnote = row._replace(footnote_ids=(*row.footnote_ids, ("following_shares", ("F1",))))
    assert [position.footnote_ids for position in form_positions.list_positions([row_with_footnote])] == [()]
    assert [
        position.footnote_ids
        for position in form_positions.list_positions([row_with_footnote._replace(following_shares=None)])
    ] == [("F1",)]


def test_two_grants_of_one_title_are_two_positions() -> None:
    parsed = parse_form(
        forms.transaction("M", "10", None, derivative="2.5", after="90"),
        forms.transaction("M", "10", None, derivative="3.5", after="40"),
    )
    assert [position.amount for position in form_positions.list_positions(parsed.rows)] == ["90", "40"]


def test_a_derivative_holding_counts_underlying_shares() -> None:
    (row,) = parse_form(forms.transaction("M", "10", None, derivative="2.5", after=None)).rows
    row = row._replace(underlying_shares="300")
    assert [position.amount for position in form_positions.list_positions([row])] == [None]
    assert [position.amount for position in form_positions.list_positions([row._replace(is_transaction=False)])] == [
        "300"
    ]


@run_each_case(
    "day, number", [(None, 0), ("1969-12-31", 0), ("1970-01-01", 0), ("1970-01-02", 1), ("2026-01-31", 20484)]
)
def test_a_filing_day_number_counts_from_1970(day: str | None, number: int) -> None:
    assert form_positions.compute_filing_day_number(day) == number
