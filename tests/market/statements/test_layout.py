"""The columns of a statement: each rule of the SEC's renderer by itself."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from finapi.market.statements import layout
from finapi.market.statements.layout import (
    AS_DATED,
    CLOSING,
    HEADING,
    ITEM,
    OPENING,
    STRUCTURE,
    Context,
    Dimensions,
    Line,
    Section,
)

AXIS = "us-gaap:SegmentsAxis"

Period = tuple[str | None, str]
Q3: Period = ("2010-07-01", "2010-09-30")
Q3_BEFORE: Period = ("2009-07-01", "2009-09-30")
NINE_MONTHS: Period = ("2010-01-01", "2010-09-30")


def line(concept: str, nature: int = ITEM, placement: int = AS_DATED) -> Line:
    return Line(concept, 0, nature, None, None, placement, False, None)


def statement(kind: str | None, *lines: Line) -> Section:
    return Section("role", "definition", kind, lines, (), ())


def columns(
    *sections: Section, facts: dict[str, list[tuple[Period, Dimensions]]], defaults: dict[str, str] | None = None
) -> list[list[tuple[Period, Dimensions]]]:
    """The columns of each section as (period, dimensions), for facts given as concept -> contexts."""
    contexts: list[Context] = []
    index: dict[tuple[Period, Dimensions], int] = {}
    for period, dims in (place for places in facts.values() for place in places):
        if (period, dims) not in index:
            index[period, dims] = len(contexts)
            contexts.append(Context(len(contexts) + 1, *period, dims))
    placed = {concept: [index[place] for place in places] for concept, places in facts.items()}
    chosen = layout.choose_columns(sections, contexts, placed, defaults or {})
    return [[((column.start, column.end), column.dims) for column in found] for found in chosen]


def periods(*given: Period) -> list[tuple[Period, Dimensions]]:
    return [(period, ()) for period in given]


def test_shorter_periods_stand_first_and_the_current_before_the_comparative() -> None:
    income = statement("income", line("Revenues"))
    found = columns(income, facts={"Revenues": periods(NINE_MONTHS, Q3_BEFORE, Q3)})
    assert found == [periods(Q3, Q3_BEFORE, NINE_MONTHS)]


def test_sections_that_are_no_statements_have_no_columns() -> None:
    assert columns(statement(None, line("Cash")), facts={"Cash": periods(Q3)}) == [[]]


def test_an_instant_stands_in_the_durations_that_it_opens_and_closes() -> None:
    cash = statement("cash-flow", line("Change"), line("Cash", placement=OPENING), line("Cash", placement=CLOSING))
    facts = {"Change": periods(Q3), "Cash": periods((None, "2010-06-30"), (None, "2010-09-30"), (None, "2008-01-01"))}
    assert columns(cash, facts=facts) == [periods(Q3)]


def test_an_unlabelled_instant_stands_in_the_duration_that_ends_on_its_day() -> None:
    income = statement("income", line("Revenues"), line("SharesOutstanding"))
    facts = {"Revenues": periods(Q3), "SharesOutstanding": periods((None, "2010-09-30"))}
    assert columns(income, facts=facts) == [periods(Q3)]


def test_balances_that_only_flowed_through_from_the_statement_of_equity_are_no_columns() -> None:
    balance = statement("balance", line("Assets"), line("Equity"))
    equity = statement("equity", line("Equity", placement=OPENING), line("Equity", placement=CLOSING), line("Change"))
    facts = {
        "Assets": periods((None, "2010-09-30")),
        "Equity": periods((None, "2010-09-30"), (None, "2010-06-30")),
        "Change": periods(Q3),
    }
    assert columns(balance, equity, facts=facts) == [periods((None, "2010-09-30")), periods(Q3)]


def test_a_statement_keeps_its_columns_when_all_of_it_stands_elsewhere_too() -> None:
    one, other = statement("income", line("Revenues")), statement("income", line("Revenues"))
    assert columns(one, other, facts={"Revenues": periods(Q3)}) == [periods(Q3), periods(Q3)]


def test_a_duration_in_a_balance_sheet_stands_at_its_end() -> None:
    balance = statement("balance", line("Assets"), line("Commitments"))
    facts = {"Assets": periods((None, "2010-09-30")), "Commitments": periods(NINE_MONTHS)}
    assert columns(balance, facts=facts) == [periods((None, "2010-09-30"))]


def test_a_short_period_with_few_lines_is_a_stray_in_cash_flows() -> None:
    names = [f"Line{number}" for number in range(8)]
    cash = statement("cash-flow", *(line(name) for name in names))
    facts = {name: periods(NINE_MONTHS) for name in names}
    facts["Line0"] = periods(NINE_MONTHS, Q3)
    assert columns(cash, facts=facts) == [periods(NINE_MONTHS)]


def test_a_period_without_both_balances_is_a_stray_in_changes_in_equity() -> None:
    equity = statement("equity", line("Equity", placement=OPENING), line("Equity", placement=CLOSING), line("Issued"))
    since_2008: Period = ("2008-02-01", "2010-09-30")
    facts = {
        "Equity": periods((None, "2009-12-31"), (None, "2010-09-30")),
        "Issued": periods(NINE_MONTHS, since_2008, ("2010-02-01", "2010-02-03")),
    }
    assert columns(equity, facts=facts) == [periods(NINE_MONTHS)]


def test_parentheses_to_equity_keep_every_period() -> None:
    equity = statement("equity-parenthetical", line("Dividends"), line("Other"))
    facts = {"Dividends": periods(NINE_MONTHS, Q3_BEFORE), "Other": periods((None, "2010-09-30"))}
    assert columns(equity, facts=facts) == [periods(Q3_BEFORE, NINE_MONTHS)]


def test_an_instant_that_closes_no_duration_stands_after_them() -> None:
    cash = statement("cash-flow", line("Change"), line("Cash"))
    facts = {"Change": periods(NINE_MONTHS), "Cash": periods((None, "2009-12-31"))}
    assert columns(cash, facts=facts) == [periods(NINE_MONTHS, (None, "2009-12-31"))]


def table(*members: str) -> list[Line]:
    return [line(AXIS, STRUCTURE), *(line(member, STRUCTURE) for member in members), line("x:LineItems", HEADING)]


def test_dimensioned_columns_follow_in_the_order_of_their_members() -> None:
    income = statement("income", *table("Domain", "B", "A"), line("Revenues"))
    a, b = ((AXIS, "A"),), ((AXIS, "B"),)
    facts = {"Revenues": [(Q3, a), (Q3, ()), (Q3, b), (NINE_MONTHS, ())]}
    assert columns(income, facts=facts) == [[(Q3, ()), (NINE_MONTHS, ()), (Q3, b), (Q3, a)]]


def test_a_member_or_axis_that_is_not_presented_is_not_shown() -> None:
    income = statement("income", *table("A"), line("Revenues"))
    facts = {"Revenues": [(Q3, ()), (Q3, ((AXIS, "C"),)), (Q3, (("other:Axis", "A"),))]}
    assert columns(income, facts=facts) == [periods(Q3)]


def test_a_parent_only_schedule_does_not_show_the_group() -> None:
    parent_only = statement("income", *table("ParentMember"), line("Revenues"))
    parent: Dimensions = ((AXIS, "ParentMember"),)
    facts = {"Revenues": [(Q3, ()), (Q3, parent)]}
    assert columns(parent_only, facts=facts, defaults={AXIS: "GroupDomain"}) == [[(Q3, parent)]]


def test_the_column_names_the_context_of_its_own_period() -> None:
    cash = statement("cash-flow", line("Cash", placement=CLOSING), line("Change"))
    contexts = [Context(7, None, "2010-09-30", ()), Context(9, *Q3, ())]
    chosen = layout.choose_columns([cash], contexts, {"Cash": [0], "Change": [1]}, {})
    assert [column.context_seq for column in chosen[0]] == [9]


def test_a_statement_of_more_periods_than_any_has_is_refused() -> None:
    days = [(date(2010, 1, 1) + timedelta(days=number)).isoformat() for number in range(layout.MAX_PERIODS + 1)]
    income = statement("income", line("Revenues"), line("Shares"))
    with pytest.raises(layout.StatementTooWideError, match="role"):
        columns(income, facts={"Revenues": periods(*((day, "2011-12-31") for day in days))})
    with pytest.raises(layout.StatementTooWideError, match="role"):
        columns(income, facts={"Shares": periods(*((None, day) for day in days))})


def test_months_are_counted_to_the_nearest() -> None:
    assert layout.count_months((None, "2010-09-30")) == 0
    assert layout.count_months(("2024-12-29", "2025-03-29")) == 3
    assert layout.count_months(("2022-09-25", "2023-09-30")) == 12
    assert layout.count_months(("2023-07-01", "2023-07-21")) == 1
