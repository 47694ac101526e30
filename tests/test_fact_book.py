"""A book of facts: which of several vintages stand, and where the rounded periods of the data sets belong."""

from __future__ import annotations

import pytest

from finapi.core import days
from finapi.market.financials import fact_book, metric_mapping
from finapi.market.financials.faces import LineBeside
from finapi.market.financials.fact_book import FactBook, FactRow, NamedLine, SourceFiling

TAG = "us-gaap:NetIncomeLoss"
CASH = "us-gaap:Assets"
END = days.number("2020-12-31")
EXACT = SourceFiling("0000000001-21-000001", "10-K", "2021-03-01", "companyfacts")
ROUNDED = SourceFiling("0000000001-21-000002", "10-K/A", "2021-03-02", "fsds")


def book(rows: list[FactRow], *filings: SourceFiling) -> FactBook:
    return fact_book.build_book(filings or (EXACT, ROUNDED), rows, metric_mapping.get_mapping())


def fact(end: int, length: int, place: int, value: str = "1", concept: str = TAG) -> FactRow:
    return FactRow(concept, "USD", end, length, value, None, place)


def keys(*rows: FactRow, concept: str = TAG) -> dict[tuple[int, int], int]:
    """Under which periods, off the end of 2020, so many vintages stand."""
    found = book(list(rows)).vintages[concept]
    return {(end - END, length): len(vintages) for (end, length), vintages in found.items()}


@pytest.mark.parametrize(("off", "same"), [(0, True), (16, True), (-16, True), (17, False), (-17, False)])
def test_a_rounded_period_is_the_exact_one_that_ends_within_sixteen_days(off: int, same: bool) -> None:
    made = keys(fact(END, 366, 0), fact(END + off, 366, 1))
    assert made == ({(0, 366): 2} if same else {(0, 366): 1, (off, 366): 1})


@pytest.mark.parametrize(("longer", "same"), [(16, True), (-16, True), (17, False), (-17, False)])
def test_a_rounded_period_is_the_exact_one_that_starts_within_sixteen_days(longer: int, same: bool) -> None:
    made = keys(fact(END, 366, 0), fact(END, 366 + longer, 1))
    assert made == ({(0, 366): 2} if same else {(0, 366): 1, (0, 366 + longer): 1})


def test_a_rounded_day_is_the_nearest_exact_one_and_no_period() -> None:
    exact = [fact(END, 0, 0, concept=CASH), fact(END + 9, 0, 0, concept=CASH), fact(END + 5, 4, 0)]
    assert keys(*exact, fact(END + 4, 0, 1, concept=CASH), concept=CASH) == {(0, 0): 2, (9, 0): 1}
    assert keys(*exact, fact(END + 5, 0, 1, concept=CASH), concept=CASH) == {(0, 0): 1, (9, 0): 2}


def test_rounded_periods_alone_stay_where_they_are() -> None:
    rows = [fact(END, 366, 0), fact(END + 3, 366, 1)]
    assert len(book(rows, ROUNDED, ROUNDED).vintages[TAG]) == 2
    assert len(book(rows, EXACT, EXACT).vintages[TAG]) == 2
    assert keys(*rows, fact(END + 4, 366, 1)) == {(0, 366): 2}


def test_a_book_counts_its_vintages_and_knows_the_days_of_balances() -> None:
    made = book(
        [fact(END, 366, 0), fact(END, 366, 1), fact(END, 0, 0, concept=CASH), fact(END - 9, 0, 0, concept=CASH)]
    )
    assert (made.vintage_count, made.instants) == (4, [END - 9, END])
    assert (book([]).vintage_count, book([]).instants) == (0, [])


@pytest.mark.parametrize(
    ("concept", "part", "text", "meant"),
    [
        (TAG, "", None, True),
        # The filer's own, one of two parts, and one of several that may be meant.
        ("aapl:NetIncome", "", None, False),
        (TAG, "/1", None, False),
        (TAG, "", "Net income", False),
    ],
)
def test_a_line_that_a_label_places_means_the_same_in_filings_whose_pages_are_not_held(
    concept: str, part: str, text: str | None, meant: bool
) -> None:
    made = book([fact(END, 366, 0)])
    metric = metric_mapping.get_mapping().metrics["net_income"]
    made.face_concepts = {0: {metric.statement: {concept}}}
    made.label_signs = {(0, metric.key): 1}
    named = {(0, concept): [NamedLine(metric, metric_mapping.FACE_PREFIX + metric.key + part, text)]}
    fact_book._add_named_lines_elsewhere(made, named)
    assert ((1, concept) in named, made.label_signs.get((1, metric.key))) == ((True, 1) if meant else (False, None))


def line(text: str, concept: str, inside: str = "", but: str = "") -> LineBeside:
    return LineBeside(concept, text, frozenset(inside.split()), frozenset(but.split()), frozenset({(END, 366)}))


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (line("Other", "c"), True),
        (line("Itself", "a"), False),
        (line("In a total of it", "c", inside="a"), False),
        (line("In another total", "c", inside="b"), True),
        (line("Without it", "c", but="a"), True),
        (line("Without another", "c", but="b"), False),
    ],
)
def test_lines_beside_a_metric_are_those_that_do_not_hold_it(one: LineBeside, shown: bool) -> None:
    made = book([fact(END, 366, 0)])
    made.lines_beside = {(0, "net_income"): [one]}
    assert made.list_lines_beside(0, "net_income", [((END, 366), "a")]) == ([one.label] if shown else [])
    assert made.list_lines_beside(0, "net_income", [((END - 1, 366), "a")]) == []
    assert made.list_lines_beside(1, "net_income", [((END, 366), "a")]) == []


def test_a_count_of_shares_without_a_period_leaves_other_filings_alone_whose_facts_are_of_before_1970() -> None:
    shares = FactRow(fact_book.COVER_SHARES, "shares", END + 30, 0, "7", None, 0)
    made = book([shares, fact(END, 366, 0), fact(-1, 365, 1)], EXACT, EXACT._replace(accession="0000000001-21-000003"))
    assert {key: [one.value for one in told] for key, told in made.vintages[fact_book.COVER_SHARES].items()} == {
        (END, 0): ["7"]
    }
