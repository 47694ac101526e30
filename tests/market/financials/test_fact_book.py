"""Fact books: the vintages that remain, and the exact periods for rounded ones of the data sets."""

from __future__ import annotations

from finapi.core import days
from finapi.market.financials import fact_book, metric_mapping
from finapi.market.financials.faces import SeparateLine
from finapi.market.financials.fact_book import FactBook, FactRow, NamedLine, SourceFiling
from tests.support.case_tables import run_each_case

TAG = "us-gaap:NetIncomeLoss"
CASH = "us-gaap:Assets"
END = days.number("2020-12-31")
EXACT = SourceFiling("0000000001-21-000001", "10-K", "2021-03-01", "companyfacts")
ROUNDED = SourceFiling("0000000001-21-000002", "10-K/A", "2021-03-02", "fsds")


def build_book(rows: list[FactRow], *filings: SourceFiling) -> FactBook:
    return fact_book.build_book(filings or (EXACT, ROUNDED), rows, metric_mapping.get_mapping())


def build_fact(end: int, length: int, filing_index: int, value: str = "1", concept: str = TAG) -> FactRow:
    return FactRow(concept, "USD", end, length, value, None, filing_index)


def count_vintages(*rows: FactRow, concept: str = TAG) -> dict[tuple[int, int], int]:
    """Return the number of vintages by period, whose end is relative to the end of 2020."""
    by_period = build_book(list(rows)).vintages[concept]
    return {(end - END, length): len(vintages) for (end, length), vintages in by_period.items()}


@run_each_case("off, is_same", [(0, True), (16, True), (-16, True), (17, False), (-17, False)])
def test_a_rounded_period_moves_to_an_exact_end_nearby(off: int, is_same: bool) -> None:
    periods = count_vintages(build_fact(END, 366, 0), build_fact(END + off, 366, 1))
    assert periods == ({(0, 366): 2} if is_same else {(0, 366): 1, (off, 366): 1})


@run_each_case("longer, is_same", [(16, True), (-16, True), (17, False), (-17, False)])
def test_a_rounded_period_moves_to_an_exact_start_nearby(longer: int, is_same: bool) -> None:
    periods = count_vintages(build_fact(END, 366, 0), build_fact(END, 366 + longer, 1))
    assert periods == ({(0, 366): 2} if is_same else {(0, 366): 1, (0, 366 + longer): 1})


def test_a_rounded_instant_moves_to_the_nearest_instant() -> None:
    exact = [build_fact(END, 0, 0, concept=CASH), build_fact(END + 9, 0, 0, concept=CASH), build_fact(END + 5, 4, 0)]
    assert count_vintages(*exact, build_fact(END + 4, 0, 1, concept=CASH), concept=CASH) == {(0, 0): 2, (9, 0): 1}
    assert count_vintages(*exact, build_fact(END + 5, 0, 1, concept=CASH), concept=CASH) == {(0, 0): 1, (9, 0): 2}


def test_rounded_periods_stay_without_exact_ones() -> None:
    rows = [build_fact(END, 366, 0), build_fact(END + 3, 366, 1)]
    assert len(build_book(rows, ROUNDED, ROUNDED).vintages[TAG]) == 2
    assert len(build_book(rows, EXACT, EXACT).vintages[TAG]) == 2
    assert count_vintages(*rows, build_fact(END + 4, 366, 1)) == {(0, 366): 2}


def test_a_book_counts_vintages_and_lists_balance_days() -> None:
    small_book = build_book(
        [
            build_fact(END, 366, 0),
            build_fact(END, 366, 1),
            build_fact(END, 0, 0, concept=CASH),
            build_fact(END - 9, 0, 0, concept=CASH),
        ]
    )
    assert (small_book.vintage_count, small_book.instants) == (4, [END - 9, END])
    assert (build_book([]).vintage_count, build_book([]).instants) == (0, [])


@run_each_case(
    "concept, part, text, meant",
    [
        (TAG, "", None, True),
        # The filer's own, one of two parts, and one of several that may be meant.
        ("aapl:NetIncome", "", None, False),
        (TAG, "/1", None, False),
        (TAG, "", "Net income", False),
    ],
)
def test_a_label_also_applies_to_filings_without_pages(concept: str, part: str, text: str | None, meant: bool) -> None:
    small_book = build_book([build_fact(END, 366, 0)])
    metric = metric_mapping.get_mapping().metrics["net_income"]
    small_book.face_concepts = {0: {metric.statement: {concept}}}
    small_book.label_signs = {(0, metric.key): 1}
    labelled_lines = {(0, concept): [NamedLine(metric, metric_mapping.FACE_PREFIX + metric.key + part, text)]}
    fact_book._add_named_lines_elsewhere(small_book, labelled_lines)
    assert ((1, concept) in labelled_lines, small_book.label_signs.get((1, metric.key))) == (
        (True, 1) if meant else (False, None)
    )


def build_line(text: str, concept: str, inside: str = "", but: str = "") -> SeparateLine:
    return SeparateLine(concept, text, frozenset(inside.split()), frozenset(but.split()), frozenset({(END, 366)}))


@run_each_case(
    "line_beside, is_listed",
    [
        (build_line("Other", "c"), True),
        (build_line("Itself", "a"), False),
        (build_line("In a total of it", "c", inside="a"), False),
        (build_line("In another total", "c", inside="b"), True),
        (build_line("Without it", "c", but="a"), True),
        (build_line("Without another", "c", but="b"), False),
    ],
)
def test_separate_lines_a_figure_do_not_contain_it(line_beside: SeparateLine, is_listed: bool) -> None:
    small_book = build_book([build_fact(END, 366, 0)])
    small_book.separate_lines = {(0, "net_income"): [line_beside]}
    assert small_book.list_separate_lines(0, "net_income", [((END, 366), "a")]) == (
        [line_beside.label] if is_listed else []
    )
    assert small_book.list_separate_lines(0, "net_income", [((END - 1, 366), "a")]) == []
    assert small_book.list_separate_lines(1, "net_income", [((END, 366), "a")]) == []


def test_cover_shares_ignore_other_filings_before_1970() -> None:
    shares = FactRow(fact_book.COVER_SHARES, "shares", END + 30, 0, "7", None, 0)
    small_book = build_book(
        [shares, build_fact(END, 366, 0), build_fact(-1, 365, 1)],
        EXACT,
        EXACT._replace(accession="0000000001-21-000003"),
    )
    assert {
        key: [vintage.value for vintage in vintages]
        for key, vintages in small_book.vintages[fact_book.COVER_SHARES].items()
    } == {(END, 0): ["7"]}
