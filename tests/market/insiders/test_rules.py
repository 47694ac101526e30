"""What is concluded of one form: kinds, plans, exercises, lateness, titles, sectors and business days."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from finapi.core.errors import ApiError
from finapi.edgar import ownership_forms
from finapi.edgar.ownership_forms import OwnershipForm
from finapi.market.insiders import business_days, form_positions, rules, titles
from finapi.market.insiders.rules import TradeTraits
from finapi.market.reference import sectors
from tests.support import ownership_xml as forms


def form(*rows: str, **options: object) -> OwnershipForm:
    return ownership_forms.parse(forms.form(*rows, **options), "form.xml")  # type: ignore[arg-type]


def facts(*rows: str, **options: object) -> list[TradeTraits]:
    return rules.derive_traits(form(*rows, **options))


@pytest.mark.parametrize(
    ("code", "kind"),
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
def test_standard_types(code: str | None, kind: str) -> None:
    assert rules.get_standard_type(code) == kind


def test_only_purchases_and_sales_of_shares_are_trades_in_the_market() -> None:
    told = facts(
        forms.transaction("P"),
        forms.transaction("S"),
        forms.transaction("A"),
        forms.transaction("P", derivative="5"),
        # A purchase that disposes is a slip of the filer's.
        forms.transaction("P", sign="D"),
    )
    assert [one.direction for one in told] == [1, -1, 0, 0, 0]


@pytest.mark.parametrize(
    ("shares", "price", "value"),
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
def test_values_are_whole_dollars_halves_to_even(shares: str | None, price: str | None, value: int | None) -> None:
    row = forms.transaction("P", shares, price)
    assert facts(row)[0].value == value


# ---- plans


def plan(box: str | None, *noted: bool, text: str = "Under a Rule 10b5-1 plan of 2024.") -> list[tuple[bool, str]]:
    """What is said of rows of which some refer to a footnote about a plan."""
    rows = [forms.transaction("S", notes="F1" if one else "F2") for one in noted]
    told = facts(*rows, box=box, footnotes={"F1": text, "F2": "Sold."})
    return [(one.rule_10b5_1, one.plan_source) for one in told]


def test_a_ticked_box_covers_every_row_unless_footnotes_say_which() -> None:
    assert plan("1", False, False) == [(True, "checkbox"), (True, "checkbox")]
    assert plan("1", True, False) == [(True, "footnote"), (False, "checkbox")]


def test_a_footnote_tells_of_a_plan_that_the_box_of_2023_does_not_cover() -> None:
    assert plan("0", True, False) == [(True, "footnote"), (False, "checkbox")]


@pytest.mark.parametrize(
    "plan_name", ["10b5-1", "10b5\u20111", "10b5 - 1", "10b-5-1", "10b\u20115\u20111", "10B5\u00ad-1", "10b51"]
)
def test_a_plan_is_told_in_every_spelling(plan_name: str) -> None:
    assert plan(None, True, text=f"Sold under a Rule {plan_name} plan.") == [(True, "footnote")]
    assert plan(None, True, text=f"Sold under Rule {plan_name}2.") == [(False, "not_stated")]


def test_before_the_box_only_words_tell() -> None:
    assert plan(None, True, False) == [(True, "footnote"), (False, "not_stated")]


@pytest.mark.parametrize(
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
def test_words_that_deny_a_plan(text: str) -> None:
    assert plan(None, True, text=text) == [(False, "not_stated")]


def test_remarks_tell_of_all_rows() -> None:
    told = facts(forms.transaction("S"), box=None, remarks="Effected pursuant to a 10b5-1 plan.")
    assert [(one.rule_10b5_1, one.plan_source) for one in told] == [(True, "remarks")]


# ---- exercises and taxes


def test_an_exercise_with_sales_of_no_more_on_the_day_is_cashless() -> None:
    told = facts(
        forms.transaction("M", "100", "2.50"),
        forms.transaction("S", "60", "10"),
        forms.transaction("S", "40", "11"),
        forms.transaction("M", "100", "0", derivative="2.50"),
    )
    assert [one.is_cashless for one in told] == [True, True, True, False]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((forms.transaction("M", "100", None), forms.transaction("S", "60", "10")), "units vest for nothing"),
        ((forms.transaction("M", "100", "2"), forms.transaction("S", "101", "10")), "more than were exercised"),
        ((forms.transaction("M", "100", "2"), forms.transaction("S", "9", date="2025-03-04")), "another day"),
        ((forms.transaction("M", "100", "2"), forms.transaction("F", "60", "10")), "withheld and not sold"),
    ],
)
def test_what_is_no_cashless_exercise(rows: tuple[str, ...], why: str) -> None:
    assert [one.is_cashless for one in facts(*rows)] == [False, False], why


def test_words_tell_of_a_cashless_exercise() -> None:
    told = facts(forms.transaction("S", notes="F1"), footnotes={"F1": "Sold in a cashless exercise of options."})
    assert told[0].is_cashless is True


@pytest.mark.parametrize(
    ("code", "text", "is_so"),
    [
        ("S", "Shares sold in a sell-to-cover transaction.", True),
        ("S", "Sold to satisfy tax withholding obligations on vesting.", True),
        ("S", "Sold to diversify.", False),
        ("F", "Withheld to satisfy tax withholding obligations.", False),
    ],
)
def test_sales_to_cover_taxes(code: str, text: str, is_so: bool) -> None:
    assert facts(forms.transaction(code, notes="F1"), footnotes={"F1": text})[0].is_sell_to_cover is is_so


# ---- lateness


@pytest.mark.parametrize(
    ("kind", "day", "filed", "late", "days"),
    [
        # A Friday; Monday is the first business day.
        ("4", "2026-05-01", "2026-05-05", False, 2),
        ("4", "2026-05-01", "2026-05-06", True, 3),
        # Over Independence Day, a Friday in 2025.
        ("4", "2025-07-02", "2025-07-07", False, 2),
        ("4", "2025-07-02", "2025-07-08", True, 3),
        ("4", "2025-03-03", "2025-03-03", False, 0),
        # Ten days end on a Saturday: Monday is in time.
        ("3", "2025-03-05", "2025-03-17", False, 8),
        ("3", "2025-03-05", "2025-03-18", True, 9),
        ("5", "2024-12-31", "2025-02-14", False, 31),
        ("5", "2024-12-31", "2025-02-18", True, 32),
        ("4", "2002-08-01", "2002-09-10", None, 27),
        ("4/A", "2025-03-03", "2025-06-03", None, None),
    ],
)
def test_when_a_form_is_late(kind: str, day: str, filed: str, late: bool | None, days: int | None) -> None:
    told = form(forms.transaction(date=day), kind=kind, period=day)
    assert rules.compute_lateness(told, filed) == (late, days)


def test_what_need_not_be_reported_in_two_days_makes_no_form_late() -> None:
    early = forms.transaction("A", date="2025-01-10", timeliness="E")
    told = form(early, forms.transaction(date="2025-03-03"), period="2025-01-10")
    assert rules.compute_lateness(told, "2025-03-05") == (False, 2)
    gift = form(forms.transaction("G", date="2022-01-10"), forms.transaction(date="2022-03-03"), period="2022-01-10")
    assert rules.compute_lateness(gift, "2022-03-07") == (False, 2)


def test_without_a_filing_date_nothing_is_late() -> None:
    assert rules.compute_lateness(form(forms.transaction()), None) == (None, None)


def test_a_year_before_section_16_is_no_date() -> None:
    assert rules.usable_date("0015-11-23") is None
    assert rules.usable_date("2015-11-23") == "2015-11-23"


# ---- business days


def test_holidays_are_observed_on_weekdays() -> None:
    assert [day.isoformat() for day in sorted(business_days.holidays(2021))] == [
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
    assert date(2020, 6, 19) not in business_days.holidays(2020)


def test_business_days_between_are_those_that_counting_finds() -> None:
    start = date(2019, 12, 20)
    for length in range(0, 800, 7):
        end = start + timedelta(length)
        counted = sum(business_days.is_business_day(start + timedelta(n)) for n in range(1, length + 1))
        assert business_days.count_between(start, end) == counted
    assert business_days.count_between(start, start - timedelta(1)) == 0


# ---- who is who


@pytest.mark.parametrize(
    ("text", "name", "c_suite", "rank"),
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
        # Accounting or administrative: the letters do not tell.
        ("CAO", "Chief Administrative or Accounting Officer", True, 4),
    ],
)
def test_titles_have_a_standard_form(text: str, name: str, c_suite: bool, rank: int) -> None:
    found = titles.parse_title(text)
    assert found is not None
    assert (found.name, found.is_c_suite, found.rank) == (name, c_suite, rank)


def test_only_two_offices_make_a_named_executive_officer_for_certain() -> None:
    told = [titles.parse_title(text) for text in ("CEO", "CFO", "COO")]
    assert [one.is_named_executive for one in told if one] == [True, True, None]
    assert titles.parse_title(None) is None


@pytest.mark.parametrize(
    ("name", "entity"),
    [("BERKSHIRE HATHAWAY INC", True), ("Wick Capital LP", True), ("BUFFETT WARREN E", False), ("Costa Ann", False)],
)
def test_entities_are_told_by_their_names(name: str, entity: bool) -> None:
    told = form(owners=(forms.owner(("0000000109", name), flags="ten"),))
    assert titles.is_entity(told.owners[0]) is entity


# ---- sectors


def test_sectors_are_the_divisions_of_the_sic() -> None:
    assert sectors.for_sic(3571) == ("Manufacturing", "Machinery and Computer Equipment")
    assert sectors.for_sic(6022) == ("Finance, Insurance and Real Estate", "Depository Institutions")
    assert sectors.for_sic(None) == sectors.for_sic(1100) == (None, None)
    assert (sectors.parse_division("manufacturing"), sectors.parse_division("d"), sectors.parse_group("35")) == (
        "D",
        "D",
        35,
    )


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("Finance, Insurance, And Real Estate", "H"),
        ("Financial Services", "H"),
        ("Transportation, Communications, Electric, Gas, And Sanitary Services", "E"),
        ("Transportation & Public Utilities", "E"),
        ("RETAIL TRADE", "G"),
        ("Wholesale", "F"),
        ("Agriculture, Forestry, And Fishing", "A"),
    ],
)
def test_sectors_are_taken_by_what_divisions_are_commonly_called(name: str, letter: str) -> None:
    assert sectors.parse_division(name) == letter


def test_an_unknown_sector_is_refused_with_the_list() -> None:
    with pytest.raises(ApiError) as caught:
        sectors.parse_division("Lamps")
    assert caught.value.status == 400
    assert "Manufacturing" in caught.value.details["allowed"]  # type: ignore[index]


# ---- positions


def test_the_last_transaction_of_a_vehicle_tells_what_it_holds() -> None:
    told = form(
        forms.transaction("S", date="2025-03-04", after="800"),
        forms.transaction("S", date="2025-03-03", after="900"),
        forms.transaction("G", "50", "0", sign="A", after="550", hands="I", nature="By trust", nature_notes="F1"),
        forms.holding("70", notes="F2"),
    )
    held = form_positions.list_positions(told.rows)
    assert [(one.seq, one.ownership, one.amount) for one in held] == [(1, "D", "800"), (3, "I", "550"), (4, "I", "70")]


def test_a_position_without_an_amount_has_none() -> None:
    (held,) = form_positions.list_positions(form(forms.transaction(after=None)).rows)
    assert held.amount is None


def test_footnotes_of_an_amount_are_kept_where_there_is_none() -> None:
    row = form(forms.transaction(after="90")).rows[0]
    noted = row._replace(footnote_ids=(*row.footnote_ids, ("following_shares", ("F1",))))
    assert [one.footnote_ids for one in form_positions.list_positions([noted])] == [()]
    assert [one.footnote_ids for one in form_positions.list_positions([noted._replace(following_shares=None)])] == [
        ("F1",)
    ]


def test_two_grants_of_one_title_are_two_positions() -> None:
    told = form(
        forms.transaction("M", "10", None, derivative="2.5", after="90"),
        forms.transaction("M", "10", None, derivative="3.5", after="40"),
    )
    assert [one.amount for one in form_positions.list_positions(told.rows)] == ["90", "40"]


def test_shares_behind_a_derivative_that_is_held_stand_for_its_amount() -> None:
    (row,) = form(forms.transaction("M", "10", None, derivative="2.5", after=None)).rows
    row = row._replace(underlying_shares="300")
    assert [one.amount for one in form_positions.list_positions([row])] == [None]
    assert [one.amount for one in form_positions.list_positions([row._replace(is_transaction=False)])] == ["300"]


@pytest.mark.parametrize(
    ("day", "number"), [(None, 0), ("1969-12-31", 0), ("1970-01-01", 0), ("1970-01-02", 1), ("2026-01-31", 20484)]
)
def test_days_are_counted_from_1970(day: str | None, number: int) -> None:
    assert form_positions.filing_day_number(day) == number
