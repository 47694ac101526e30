"""The columns of a statement: each rule of the SEC's renderer on its own."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from finapi.market.statements import layout
from finapi.market.statements.layout import (
    AT_OWN_DATE,
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


def build_line(concept: str, nature: int = ITEM, placement: int = AT_OWN_DATE) -> Line:
    return Line(concept, 0, nature, None, None, placement, False, None)


def build_statement(kind: str | None, *lines: Line) -> Section:
    return Section("role", "definition", kind, lines, (), ())


def choose_columns(
    *sections: Section, facts: dict[str, list[tuple[Period, Dimensions]]], defaults: dict[str, str] | None = None
) -> list[list[tuple[Period, Dimensions]]]:
    """Return the columns of each section as (period, dimensions), for facts given as concept -> contexts."""
    contexts: list[Context] = []
    indexes: dict[tuple[Period, Dimensions], int] = {}
    for period, dims in (
        period_and_dims for contexts_of_concept in facts.values() for period_and_dims in contexts_of_concept
    ):
        if (period, dims) not in indexes:
            indexes[period, dims] = len(contexts)
            contexts.append(Context(len(contexts) + 1, *period, dims))
    context_indexes = {
        concept: [indexes[period_and_dims] for period_and_dims in contexts_of_concept]
        for concept, contexts_of_concept in facts.items()
    }
    columns_by_section = layout.choose_columns(sections, contexts, context_indexes, defaults or {})
    return [
        [((column.start, column.end), column.dims) for column in section_columns]
        for section_columns in columns_by_section
    ]


def build_periods(*plain_periods: Period) -> list[tuple[Period, Dimensions]]:
    return [(period, ()) for period in plain_periods]


def test_shorter_and_later_periods_come_first() -> None:
    income = build_statement("income", build_line("Revenues"))
    chosen = choose_columns(income, facts={"Revenues": build_periods(NINE_MONTHS, Q3_BEFORE, Q3)})
    assert chosen == [build_periods(Q3, Q3_BEFORE, NINE_MONTHS)]


def test_only_statements_have_columns() -> None:
    assert choose_columns(build_statement(None, build_line("Cash")), facts={"Cash": build_periods(Q3)}) == [[]]


def test_an_instant_belongs_to_durations_it_opens_and_closes() -> None:
    cash = build_statement(
        "cash-flow", build_line("Change"), build_line("Cash", placement=OPENING), build_line("Cash", placement=CLOSING)
    )
    facts = {
        "Change": build_periods(Q3),
        "Cash": build_periods((None, "2010-06-30"), (None, "2010-09-30"), (None, "2008-01-01")),
    }
    assert choose_columns(cash, facts=facts) == [build_periods(Q3)]


def test_an_unlabelled_instant_belongs_to_durations_ending_then() -> None:
    income = build_statement("income", build_line("Revenues"), build_line("SharesOutstanding"))
    facts = {"Revenues": build_periods(Q3), "SharesOutstanding": build_periods((None, "2010-09-30"))}
    assert choose_columns(income, facts=facts) == [build_periods(Q3)]


def test_balances_of_the_statement_of_equity_make_no_columns() -> None:
    balance = build_statement("balance", build_line("Assets"), build_line("Equity"))
    equity = build_statement(
        "equity", build_line("Equity", placement=OPENING), build_line("Equity", placement=CLOSING), build_line("Change")
    )
    facts = {
        "Assets": build_periods((None, "2010-09-30")),
        "Equity": build_periods((None, "2010-09-30"), (None, "2010-06-30")),
        "Change": build_periods(Q3),
    }
    assert choose_columns(balance, equity, facts=facts) == [build_periods((None, "2010-09-30")), build_periods(Q3)]


def test_two_equal_statements_both_have_columns() -> None:
    first, second = build_statement("income", build_line("Revenues")), build_statement("income", build_line("Revenues"))
    assert choose_columns(first, second, facts={"Revenues": build_periods(Q3)}) == [
        build_periods(Q3),
        build_periods(Q3),
    ]


def test_a_duration_in_a_balance_sheet_belongs_to_its_end() -> None:
    balance = build_statement("balance", build_line("Assets"), build_line("Commitments"))
    facts = {"Assets": build_periods((None, "2010-09-30")), "Commitments": build_periods(NINE_MONTHS)}
    assert choose_columns(balance, facts=facts) == [build_periods((None, "2010-09-30"))]


def test_cash_flows_hide_a_short_period_with_few_lines() -> None:
    names = [f"Line{number}" for number in range(8)]
    cash = build_statement("cash-flow", *(build_line(name) for name in names))
    facts = {name: build_periods(NINE_MONTHS) for name in names}
    facts["Line0"] = build_periods(NINE_MONTHS, Q3)
    assert choose_columns(cash, facts=facts) == [build_periods(NINE_MONTHS)]


def test_equity_hides_a_period_without_both_balances() -> None:
    equity = build_statement(
        "equity", build_line("Equity", placement=OPENING), build_line("Equity", placement=CLOSING), build_line("Issued")
    )
    since_2008: Period = ("2008-02-01", "2010-09-30")
    facts = {
        "Equity": build_periods((None, "2009-12-31"), (None, "2010-09-30")),
        "Issued": build_periods(NINE_MONTHS, since_2008, ("2010-02-01", "2010-02-03")),
    }
    assert choose_columns(equity, facts=facts) == [build_periods(NINE_MONTHS)]


def test_parenthetical_equity_shows_every_period() -> None:
    equity = build_statement("equity-parenthetical", build_line("Dividends"), build_line("Other"))
    facts = {"Dividends": build_periods(NINE_MONTHS, Q3_BEFORE), "Other": build_periods((None, "2010-09-30"))}
    assert choose_columns(equity, facts=facts) == [build_periods(Q3_BEFORE, NINE_MONTHS)]


def test_an_instant_that_closes_no_duration_comes_last() -> None:
    cash = build_statement("cash-flow", build_line("Change"), build_line("Cash"))
    facts = {"Change": build_periods(NINE_MONTHS), "Cash": build_periods((None, "2009-12-31"))}
    assert choose_columns(cash, facts=facts) == [build_periods(NINE_MONTHS, (None, "2009-12-31"))]


def build_table(*members: str) -> list[Line]:
    return [
        build_line(AXIS, STRUCTURE),
        *(build_line(member, STRUCTURE) for member in members),
        build_line("x:LineItems", HEADING),
    ]


def test_dimensioned_columns_are_in_the_order_of_members() -> None:
    income = build_statement("income", *build_table("Domain", "B", "A"), build_line("Revenues"))
    a, b = ((AXIS, "A"),), ((AXIS, "B"),)
    facts = {"Revenues": [(Q3, a), (Q3, ()), (Q3, b), (NINE_MONTHS, ())]}
    assert choose_columns(income, facts=facts) == [[(Q3, ()), (NINE_MONTHS, ()), (Q3, b), (Q3, a)]]


def test_unpresented_members_and_axes_are_not_shown() -> None:
    income = build_statement("income", *build_table("A"), build_line("Revenues"))
    facts = {"Revenues": [(Q3, ()), (Q3, ((AXIS, "C"),)), (Q3, (("other:Axis", "A"),))]}
    assert choose_columns(income, facts=facts) == [build_periods(Q3)]


def test_a_parent_only_schedule_does_not_show_the_group() -> None:
    parent_only = build_statement("income", *build_table("ParentMember"), build_line("Revenues"))
    parent: Dimensions = ((AXIS, "ParentMember"),)
    facts = {"Revenues": [(Q3, ()), (Q3, parent)]}
    assert choose_columns(parent_only, facts=facts, defaults={AXIS: "GroupDomain"}) == [[(Q3, parent)]]


def test_a_column_prefers_the_context_of_its_period() -> None:
    cash = build_statement("cash-flow", build_line("Cash", placement=CLOSING), build_line("Change"))
    contexts = [Context(7, None, "2010-09-30", ()), Context(9, *Q3, ())]
    chosen = layout.choose_columns([cash], contexts, {"Cash": [0], "Change": [1]}, {})
    assert [column.context_seq for column in chosen[0]] == [9]


def test_a_statement_with_too_many_periods_is_refused() -> None:
    days = [(date(2010, 1, 1) + timedelta(days=number)).isoformat() for number in range(layout.MAX_PERIODS + 1)]
    income = build_statement("income", build_line("Revenues"), build_line("Shares"))
    with pytest.raises(layout.StatementTooWideError, match="role"):
        choose_columns(income, facts={"Revenues": build_periods(*((day, "2011-12-31") for day in days))})
    with pytest.raises(layout.StatementTooWideError, match="role"):
        choose_columns(income, facts={"Shares": build_periods(*((None, day) for day in days))})


def test_months_are_rounded_to_the_nearest() -> None:
    assert layout.count_months((None, "2010-09-30")) == 0
    assert layout.count_months(("2024-12-29", "2025-03-29")) == 3
    assert layout.count_months(("2022-09-25", "2023-09-30")) == 12
    assert layout.count_months(("2023-07-01", "2023-07-21")) == 1
