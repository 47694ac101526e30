"""Splits out of filings alone, and series in today's shares."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finapi.market.financials import metric_series, series_query, splits
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metric_mapping import get_mapping
from tests.conftest import SHARED, needs_shared
from tests.figures import Fact, filing, held

FILINGS = [
    filing(f"0000000001-{year}-000001", "10-K", f"20{year}-10-30", fiscal_year=2000 + year, fiscal_period="FY")
    for year in (18, 19, 20)
]
YEARS = [(f"{year - 1}-10-01", f"{year}-09-30") for year in (2018, 2019, 2020)]
SHARES, EACH = "WeightedAverageNumberOfDilutedSharesOutstanding", "EarningsPerShareDiluted"


def company(*told: tuple[int, int, str, str], as_of: str | None = None, more: tuple[Fact, ...] = ()) -> CompanyBook:
    """A company by year, filing, shares and earnings of one."""
    facts: list[Fact] = [*more]
    for year, place, shares, each in told:
        accession = FILINGS[place].accession
        facts += [(tag, *YEARS[year], "100", accession) for tag in ("NetIncomeLoss", "IncomeTaxExpenseBenefit")]
        facts += [(SHARES, *YEARS[year], shares, accession), (EACH, *YEARS[year], each, accession)]
    return held(FILINGS, facts, as_of=as_of)


SPLIT = [
    (0, 0, "1000", "2.50"),
    (0, 1, "1000", "2.50"),
    (0, 2, "4000", "0.63"),
    (1, 1, "990", "4.00"),
    (2, 2, "4100", "2.00"),
]


KEYS = ("eps_diluted", "weighted_average_shares_diluted", "net_income")


def rows(one: CompanyBook, basis: str = "latest", provenance: str = "none") -> list[dict[str, object]]:
    question = series_query.SeriesQuery(metrics=KEYS, basis=basis, provenance=provenance, adjusted=True)
    data, _ = metric_series.build_series(one, question)
    return [row["metrics"] for row in data["rows"]]


def marked(one: CompanyBook, *keys: str, **more: Any) -> list[dict[str, Any]]:
    """What rows that are not adjusted say of splits."""
    data, _ = metric_series.build_series(one, series_query.SeriesQuery(metrics=keys or KEYS, **more))
    names = ("split_factors", "mixed_shares", "split_break")
    return [{name: row[name] for name in names if name in row} for row in data["rows"]]


def test_a_split_is_found_where_a_later_filing_restates_by_one_factor() -> None:
    (found,) = splits.list_splits(company(*SPLIT).book, get_mapping())
    assert splits.build_record(found) == {
        "factor": 4,
        "date": None,
        "not_before": "2019-10-30",
        "restated_by": FILINGS[2].accession,
        "restated_at": "2020-10-30",
        "evidence": ["restated"],
    }


def test_figures_told_before_a_split_are_told_in_todays_shares() -> None:
    assert [row["eps_diluted"] for row in rows(company(*SPLIT))] == [2, 1, Decimal("0.63")]
    assert [row["weighted_average_shares_diluted"] for row in rows(company(*SPLIT))] == [4100, 3960, 4000]
    assert [row["net_income"] for row in rows(company(*SPLIT))] == [100, 100, 100]
    first = [row["eps_diluted"] for row in rows(company(*SPLIT), "original")]
    assert first == [2, 1, Decimal("0.625")]


def test_an_adjusted_cell_says_its_factor_and_its_operands_stay_as_filed() -> None:
    newest, middle, _ = rows(company(*SPLIT), provenance="full")
    assert "split_factor" not in newest["eps_diluted"]  # type: ignore[operator]
    cell = middle["weighted_average_shares_diluted"]
    assert (cell["value"], cell["split_factor"]) == (3960, 4)  # type: ignore[index]


def test_before_the_split_was_told_nothing_is_adjusted() -> None:
    known = company(*SPLIT, as_of="2020-01-01")
    assert splits.list_splits(known.book, get_mapping()) == []
    assert [row["eps_diluted"] for row in rows(known)] == [4, 2.5]


@pytest.mark.parametrize(
    "again",
    [("4000", "2.50"), ("1000", "0.63"), ("1330", "1.88"), ("1000000", "2.50"), ("1010", "2.48")],
    ids=["the count alone", "the figure of a share alone", "an odd factor", "a scale", "a correction"],
)
def test_what_is_no_split_is_none(again: tuple[str, str]) -> None:
    told = [(0, 0, "1000", "2.50"), (0, 2, *again), (2, 2, "1000", "2.00")]
    assert splits.list_splits(company(*told).book, get_mapping()) == []


def test_a_reverse_split_has_a_factor_below_one() -> None:
    told = [(0, 0, "1000", "0.25"), (0, 2, "100", "2.50"), (1, 1, "1000", "0.20"), (2, 2, "100", "3.00")]
    (found,) = splits.list_splits(company(*told).book, get_mapping())
    assert found.factor * 10 == 1
    assert [row["eps_diluted"] for row in rows(company(*told))] == [3, 2, 2.5]


def ratio(value: str, start: str | None, end: str, place: int) -> Fact:
    return ("StockholdersEquityNoteStockSplitConversionRatio1", start, end, value, FILINGS[place].accession)


UNRESTATED = [(0, 0, "1000", "2.50"), (1, 1, "990", "4.00"), (2, 2, "4100", "2.00")]


def test_a_tagged_split_is_known_though_nothing_is_restated() -> None:
    one = company(*UNRESTATED, more=(ratio("4", None, "2020-08-28", 2),))
    (found,) = splits.list_splits(one.book, get_mapping())
    assert (found.factor, found.date, found.evidence) == (4, "2020-08-28", ("tag",))
    assert [row["eps_diluted"] for row in rows(one)] == [2, 1, Decimal("0.625")]


def test_a_tag_of_a_longer_period_dates_a_split_by_its_filing() -> None:
    (found,) = splits.list_splits(company(*UNRESTATED, more=(ratio("4", *YEARS[2], 2),)).book, get_mapping())
    assert (found.factor, found.date, found.since) == (4, None, "2020-10-30")


def test_a_tag_and_restated_figures_are_one_split_which_then_has_a_day() -> None:
    told = (ratio("4", None, "2020-08-28", 2), ratio("4", *YEARS[2], 2))
    (found,) = splits.list_splits(company(*SPLIT, more=told).book, get_mapping())
    assert (found.factor, found.date, found.evidence) == (4, "2020-08-28", ("restated", "tag"))


def test_a_reverse_split_tagged_the_other_way_round_is_counted_as_shares_are() -> None:
    told = [(0, 0, "1000", "0.25"), (1, 1, "990", "0.40"), (2, 2, "100", "2.00")]
    (found,) = splits.list_splits(company(*told, more=(ratio("10", None, "2020-08-28", 2),)).book, get_mapping())
    assert found.factor * 10 == 1


@pytest.mark.parametrize(
    ("told", "value"), [([(1, 1, "990", "4.00"), (2, 2, "1010", "3.90")], "4"), (UNRESTATED, "0")], ids=["run on", "0"]
)
def test_a_tag_that_counts_of_shares_contradict_is_no_split(told: list[Any], value: str) -> None:
    assert splits.list_splits(company(*told, more=(ratio(value, None, "2020-08-28", 2),)).book, get_mapping()) == []


def test_a_split_before_the_first_filing_is_in_every_figure() -> None:
    assert splits.list_splits(company(*UNRESTATED, more=(ratio("2", None, "2018-03-01", 0),)).book, get_mapping()) == []


def test_a_split_is_known_from_prices_alone_and_on_its_day() -> None:
    one = company(*UNRESTATED)
    (found,) = splits.list_splits(one.book, get_mapping(), [("2020-08-31", Decimal(4))])
    assert (found.factor, found.date, found.evidence, splits.build_record(found)["restated_by"]) == (
        *(4, "2020-08-31", ("prices",)),
        None,
    )
    both = splits.list_splits(company(*SPLIT).book, get_mapping(), [("2020-08-31", Decimal(4))])
    assert [(one.date, one.evidence) for one in both] == [("2020-08-31", ("restated", "prices"))]
    # Another factor at the same time is another split.
    assert len(splits.list_splits(company(*SPLIT).book, get_mapping(), [("2020-08-31", Decimal(2))])) == 2


def test_rows_that_are_not_adjusted_mark_where_a_split_stands() -> None:
    old = {"eps_diluted": 4, "weighted_average_shares_diluted": 4}
    assert marked(company(*SPLIT)) == [{}, {"split_factors": old, "split_break": 4}, {"split_break": Decimal("0.25")}]
    # The break is marked on the last row of a page too, and where the page begins behind it.
    assert marked(company(*SPLIT), offset=1, limit=1) == [{"split_factors": old, "split_break": 4}]
    assert marked(company(*SPLIT), basis="original") == [
        {},
        {"split_factors": old, "split_break": 4},
        {"split_factors": old},
    ]
    assert marked(company(*SPLIT), "net_income") == [{}, {}, {}]


def test_a_row_made_of_figures_before_and_after_a_split_says_so() -> None:
    told = [one for one in SPLIT if one[0]]
    more = (
        (SHARES, *YEARS[0], "1000", FILINGS[0].accession),
        (EACH, *YEARS[0], "0.63", FILINGS[2].accession),
        ("NetIncomeLoss", *YEARS[0], "9", FILINGS[0].accession),
        ratio("4", None, "2020-08-28", 2),
    )
    assert marked(company(*told, more=more))[2] == {
        "split_factors": {"weighted_average_shares_diluted": 4},
        "mixed_shares": True,
        "split_break": Decimal("0.25"),
    }


def test_a_ratio_of_one_share_is_adjusted_as_its_count_of_shares_is() -> None:
    more = tuple(("Revenues", *YEARS[year], "9900", FILINGS[year].accession) for year in (1, 2))
    question = series_query.SeriesQuery(metrics=("revenue_per_share",), adjusted=True, provenance="summary", years="2")
    data, _ = metric_series.build_series(company(*SPLIT, more=more), question)
    cells = [row["metrics"]["revenue_per_share"] for row in data["rows"]]
    assert [(round(one["value"], 4), one.get("split_factor")) for one in cells] == [
        (Decimal("2.4146"), None),
        (Decimal("2.5"), 4),
    ]


@needs_shared
def test_apple_split_seven_to_one_in_2014_and_four_to_one_in_2020() -> None:
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
    found = [splits.build_record(one) for one in splits.list_splits(book, get_mapping())]
    assert [(one["factor"], one["date"], one["not_before"], one["restated_at"]) for one in found] == [
        (7, "2014-06-06", "2014-04-24", "2014-07-23"),
        (4, "2020-08-28", "2020-07-31", "2020-10-30"),
    ]
