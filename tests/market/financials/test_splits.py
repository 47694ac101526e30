"""Splits found from filings and prices, and series in today's shares."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.market.financials import metric_series, series_query, splits
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import get_mapping
from tests.conftest import SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing

FILINGS = [
    build_filing(f"0000000001-{year}-000001", "10-K", f"20{year}-10-30", fiscal_year=2000 + year, fiscal_period="FY")
    for year in (18, 19, 20)
]
YEARS = [(f"{year - 1}-10-01", f"{year}-09-30") for year in (2018, 2019, 2020)]
SHARES, EACH = "WeightedAverageNumberOfDilutedSharesOutstanding", "EarningsPerShareDiluted"


def build_company(
    *figures: tuple[int, int, str, str], as_of: str | None = None, more_facts: tuple[Fact, ...] = ()
) -> CompanyBook:
    """Return a company with these figures: index of the year and the filing, shares and earnings per share."""
    facts: list[Fact] = [*more_facts]
    for year, filing_index, shares, each in figures:
        accession = FILINGS[filing_index].accession
        facts += [(tag, *YEARS[year], "100", accession) for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")]
        facts += [(SHARES, *YEARS[year], shares, accession), (EACH, *YEARS[year], each, accession)]
    return build_company_book(FILINGS, facts, as_of=as_of)


SPLIT = [
    (0, 0, "1000", "2.50"),
    (0, 1, "1000", "2.50"),
    (0, 2, "4000", "0.63"),
    (1, 1, "990", "4.00"),
    (2, 2, "4100", "2.00"),
]


KEYS = ("eps_diluted", "weighted_average_shares_diluted", "net_income")


def build_rows(company_book: CompanyBook, basis: str = "latest", provenance: str = "none") -> list[dict[str, object]]:
    question = series_query.SeriesQuery(metrics=KEYS, basis=basis, provenance=provenance, adjusted=True)
    data, _ = metric_series.build_series(company_book, question)
    return [row["metrics"] for row in data["rows"]]


def list_marks(company_book: CompanyBook, *keys: str, **options: Any) -> list[dict[str, Any]]:
    """Return the members of unadjusted rows that mark splits."""
    data, _ = metric_series.build_series(company_book, series_query.SeriesQuery(metrics=keys or KEYS, **options))
    names = ("split_factors", "mixed_shares", "split_break")
    return [{name: row[name] for name in names if name in row} for row in data["rows"]]


def test_a_restatement_by_one_factor_shows_a_split() -> None:
    (split,) = splits.list_splits(build_company(*SPLIT).book, get_mapping())
    assert splits.build_record(split) == {
        "factor": 4,
        "date": None,
        "not_before": "2019-10-30",
        "restated_by": FILINGS[2].accession,
        "restated_at": "2020-10-30",
        "evidence": ["restated"],
    }


def test_adjusted_figures_are_in_todays_shares() -> None:
    assert [row["eps_diluted"] for row in build_rows(build_company(*SPLIT))] == [2, 1, Decimal("0.63")]
    assert [row["weighted_average_shares_diluted"] for row in build_rows(build_company(*SPLIT))] == [4100, 3960, 4000]
    assert [row["net_income"] for row in build_rows(build_company(*SPLIT))] == [100, 100, 100]
    first = [row["eps_diluted"] for row in build_rows(build_company(*SPLIT), "original")]
    assert first == [2, 1, Decimal("0.625")]


def test_an_adjusted_cell_keeps_operands_as_filed() -> None:
    newest, middle, _ = build_rows(build_company(*SPLIT), provenance="full")
    assert "split_factor" not in newest["eps_diluted"]  # type: ignore[operator]
    cell = middle["weighted_average_shares_diluted"]
    assert (cell["value"], cell["split_factor"]) == (3960, 4)  # type: ignore[index]


def test_nothing_is_adjusted_before_the_split_is_filed() -> None:
    earlier = build_company(*SPLIT, as_of="2020-01-01")
    assert splits.list_splits(earlier.book, get_mapping()) == []
    assert [row["eps_diluted"] for row in build_rows(earlier)] == [4, 2.5]


@run_each_case(
    "again",
    [("4000", "2.50"), ("1000", "0.63"), ("1330", "1.88"), ("1000000", "2.50"), ("1010", "2.48")],
)
def test_restatements_by_other_factors_are_not_splits(again: tuple[str, str]) -> None:
    figures = [(0, 0, "1000", "2.50"), (0, 2, *again), (2, 2, "1000", "2.00")]
    assert splits.list_splits(build_company(*figures).book, get_mapping()) == []


def test_a_reverse_split_has_a_factor_below_one() -> None:
    figures = [(0, 0, "1000", "0.25"), (0, 2, "100", "2.50"), (1, 1, "1000", "0.20"), (2, 2, "100", "3.00")]
    (split,) = splits.list_splits(build_company(*figures).book, get_mapping())
    assert split.factor * 10 == 1
    assert [row["eps_diluted"] for row in build_rows(build_company(*figures))] == [3, 2, 2.5]


def build_ratio_fact(value: str, start: str | None, end: str, filing_index: int) -> Fact:
    return ("StockholdersEquityNoteStockSplitConversionRatio1", start, end, value, FILINGS[filing_index].accession)


UNRESTATED = [(0, 0, "1000", "2.50"), (1, 1, "990", "4.00"), (2, 2, "4100", "2.00")]


def test_a_tagged_split_needs_no_restatement() -> None:
    company_book = build_company(*UNRESTATED, more_facts=(build_ratio_fact("4", None, "2020-08-28", 2),))
    (split,) = splits.list_splits(company_book.book, get_mapping())
    assert (split.factor, split.date, split.evidence) == (4, "2020-08-28", ("tag",))
    assert [row["eps_diluted"] for row in build_rows(company_book)] == [2, 1, Decimal("0.625")]


def test_a_split_tagged_for_a_year_has_no_day() -> None:
    (split,) = splits.list_splits(
        build_company(*UNRESTATED, more_facts=(build_ratio_fact("4", *YEARS[2], 2),)).book, get_mapping()
    )
    assert (split.factor, split.date, split.since) == (4, None, "2020-10-30")


def test_a_tag_dates_a_split_of_restated_figures() -> None:
    ratios = (build_ratio_fact("4", None, "2020-08-28", 2), build_ratio_fact("4", *YEARS[2], 2))
    (split,) = splits.list_splits(build_company(*SPLIT, more_facts=ratios).book, get_mapping())
    assert (split.factor, split.date, split.evidence) == (4, "2020-08-28", ("restated", "tag"))


def test_share_counts_show_that_a_tagged_split_is_reverse() -> None:
    figures = [(0, 0, "1000", "0.25"), (1, 1, "990", "0.40"), (2, 2, "100", "2.00")]
    (split,) = splits.list_splits(
        build_company(*figures, more_facts=(build_ratio_fact("10", None, "2020-08-28", 2),)).book, get_mapping()
    )
    assert split.factor * 10 == 1


@pytest.mark.parametrize(
    ("figures", "value"),
    [([(1, 1, "990", "4.00"), (2, 2, "1010", "3.90")], "4"), (UNRESTATED, "0")],
    ids=["run on", "0"],
)
def test_a_tag_contradicted_by_share_counts_is_not_a_split(figures: list[Any], value: str) -> None:
    assert (
        splits.list_splits(
            build_company(*figures, more_facts=(build_ratio_fact(value, None, "2020-08-28", 2),)).book, get_mapping()
        )
        == []
    )


def test_a_split_before_the_first_filing_is_ignored() -> None:
    assert (
        splits.list_splits(
            build_company(*UNRESTATED, more_facts=(build_ratio_fact("2", None, "2018-03-01", 0),)).book, get_mapping()
        )
        == []
    )


def test_prices_alone_show_a_split_and_its_day() -> None:
    company_book = build_company(*UNRESTATED)
    (split,) = splits.list_splits(company_book.book, get_mapping(), [("2020-08-31", Decimal(4))])
    assert (split.factor, split.date, split.evidence, splits.build_record(split)["restated_by"]) == (
        *(4, "2020-08-31", ("prices",)),
        None,
    )
    both = splits.list_splits(build_company(*SPLIT).book, get_mapping(), [("2020-08-31", Decimal(4))])
    assert [(merged.date, merged.evidence) for merged in both] == [("2020-08-31", ("restated", "prices"))]
    # Another factor at the same time is another split.
    assert len(splits.list_splits(build_company(*SPLIT).book, get_mapping(), [("2020-08-31", Decimal(2))])) == 2


def test_unadjusted_rows_mark_a_split() -> None:
    marks = [{}, {"split_break": 4}, {"split_break": Decimal("0.25")}]
    assert list_marks(build_company(*SPLIT)) == marks
    # The break is marked on the last row of a page too, and where the page begins behind it.
    assert list_marks(build_company(*SPLIT), offset=1, limit=1) == [{"split_break": 4}]
    assert list_marks(build_company(*SPLIT), basis="original") == [{}, {"split_break": 4}, {}]
    assert list_marks(build_company(*SPLIT), "net_income") == [{}, {}, {}]


def test_only_adjusted_rows_have_split_factors() -> None:
    old = {"eps_diluted": 4, "weighted_average_shares_diluted": 4}
    assert list_marks(build_company(*SPLIT), adjusted=True) == [{}, {"split_factors": old}, {}]
    assert list_marks(build_company(*SPLIT), adjusted=True, basis="original") == [
        {},
        {"split_factors": old},
        {"split_factors": old},
    ]
    assert list_marks(build_company(*SPLIT), "net_income", adjusted=True) == [{}, {}, {}]


def test_a_row_with_figures_across_a_split_is_mixed() -> None:
    figures = [figure for figure in SPLIT if figure[0]]
    more_facts = (
        (SHARES, *YEARS[0], "1000", FILINGS[0].accession),
        (EACH, *YEARS[0], "0.63", FILINGS[2].accession),
        ("NetIncomeLoss", *YEARS[0], "9", FILINGS[0].accession),
        build_ratio_fact("4", None, "2020-08-28", 2),
    )
    company_book = build_company(*figures, more_facts=more_facts)
    assert list_marks(company_book)[2] == {"mixed_shares": True, "split_break": Decimal("0.25")}
    assert list_marks(company_book, adjusted=True)[2] == {"split_factors": {"weighted_average_shares_diluted": 4}}


# ---- one event under several dates


@run_each_case(
    "days, date",
    [
        (("2020-08-28", "2020-07-13"), "2020-08-28"),
        (("2020-07-12", "2020-08-28"), "2020-08-28"),
        (("2020-01-15", "2020-08-28"), "2020-08-28"),
        # The day of a report on the split is no day of the split.
        (("2020-08-28", "2020-11-25"), "2020-08-28"),
    ],
)
def test_a_split_tagged_with_two_dates_is_one_split(days: tuple[str, ...], date: str) -> None:
    tags = tuple(build_ratio_fact("4", None, day, 2) for day in days)
    (split,) = splits.list_splits(build_company(*SPLIT, more_facts=tags).book, get_mapping())
    assert (split.factor, split.date, split.evidence) == (4, date, ("restated", "tag"))
    # Nothing is restated: the share counts change once.
    (split,) = splits.list_splits(build_company(*UNRESTATED, more_facts=tags).book, get_mapping())
    assert (split.factor, split.evidence) == (4, ("tag",))


def test_holdings_get_a_split_with_two_dates_once() -> None:
    tags = (build_ratio_fact("4", None, "2020-01-15", 2), build_ratio_fact("4", None, "2020-08-28", 2))
    company = build_company(*SPLIT, more_facts=tags)
    (split,) = splits.list_filed_splits(company.book, get_mapping())
    assert split == ("4", "2020-08-28", "2019-10-30", "2020-10-30", FILINGS[2].accession)


def test_two_dates_of_a_reverse_split_are_one_split() -> None:
    figures = [(0, 0, "1000", "0.25"), (0, 2, "100", "2.50"), (1, 1, "1000", "0.20"), (2, 2, "100", "3.00")]
    tags = (build_ratio_fact("0.1", None, "2019-11-20", 2), build_ratio_fact("10", None, "2020-05-04", 2))
    (split,) = splits.list_splits(build_company(*figures, more_facts=tags).book, get_mapping())
    assert split.factor * 10 == 1
    assert split.date == "2020-05-04"


def test_a_rounded_ratio_is_the_factor_that_it_rounds() -> None:
    figures = [(0, 0, "15000", "0.20"), (0, 2, "1000", "3.00"), (1, 1, "15000", "0.25"), (2, 2, "1000", "3.30")]
    more_facts = (build_ratio_fact("0.0667", None, "2020-05-04", 2),)
    (split,) = splits.list_splits(build_company(*figures, more_facts=more_facts).book, get_mapping())
    assert split.factor * 15 == 1


def test_a_tag_long_before_the_day_of_a_price_split_is_that_split() -> None:
    more_facts = (build_ratio_fact("4", None, "2020-03-02", 2),)
    company = build_company(*UNRESTATED, more_facts=more_facts)
    (split,) = splits.list_splits(company.book, get_mapping(), [("2020-08-31", Decimal(4))])
    assert (split.date, split.evidence) == ("2020-08-31", ("prices", "tag"))


def test_two_splits_of_one_factor_remain_two_if_counts_change_twice() -> None:
    figures = [(0, 0, "1000", "8.00"), (1, 1, "2010", "4.00"), (2, 2, "4020", "2.00")]
    tags = (build_ratio_fact("2", None, "2019-03-01", 1), build_ratio_fact("2", None, "2020-03-02", 2))
    both = splits.list_splits(build_company(*figures, more_facts=tags).book, get_mapping())
    assert [(split.factor, split.date) for split in both] == [(2, "2019-03-01"), (2, "2020-03-02")]
    assert [row["weighted_average_shares_diluted"] for row in build_rows(build_company(*figures, more_facts=tags))] == [
        4020,
        4020,
        4000,
    ]


def test_a_per_share_ratio_is_adjusted_like_its_share_count() -> None:
    more_facts = tuple(("Revenues", *YEARS[year], "9900", FILINGS[year].accession) for year in (1, 2))
    question = series_query.SeriesQuery(metrics=("revenue_per_share",), adjusted=True, provenance="summary", years="2")
    data, _ = metric_series.build_series(build_company(*SPLIT, more_facts=more_facts), question)
    cells = [row["metrics"]["revenue_per_share"] for row in data["rows"]]
    assert [(round(cell["value"], 4), cell.get("split_factor")) for cell in cells] == [
        (Decimal("2.4146"), None),
        (Decimal("2.5"), 4),
    ]


@needs_shared
def test_the_splits_of_apple_in_2014_and_2020_are_found() -> None:
    from finapi import app as apps
    from finapi.core.clock import SystemClock
    from finapi.core.config import Config
    from finapi.market.documents.identification import IngestOptions
    from finapi.market.financials import company_books
    from finapi.market.intake import ingest

    app = apps.create_in_memory(Config(), SystemClock())
    try:
        ingest.run(
            app, [SHARED / "edgar" / "companyfacts" / "CIK0000320193.json"], IngestOptions(), lambda outcome: None
        )
        with app.db.read() as tx:
            book = company_books.load(tx, 320193).book
    finally:
        app.db.close()
    records = [splits.build_record(found_split) for found_split in splits.list_splits(book, get_mapping())]
    assert [(record["factor"], record["date"], record["not_before"], record["restated_at"]) for record in records] == [
        (7, "2014-06-06", "2014-04-24", "2014-07-23"),
        (4, "2020-08-28", "2020-07-31", "2020-10-30"),
    ]
