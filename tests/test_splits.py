"""Splits out of filings alone, and series in today's shares."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finapi.market.financials import series, splits
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.metrics import mapping
from tests.conftest import SHARED, needs_shared
from tests.figures import Fact, filing, held

FILINGS = [
    filing(f"0000000001-{year}-000001", "10-K", f"20{year}-10-30", fiscal_year=2000 + year, fiscal_period="FY")
    for year in (18, 19, 20)
]
YEARS = [(f"{year - 1}-10-01", f"{year}-09-30") for year in (2018, 2019, 2020)]
SHARES, EACH = "WeightedAverageNumberOfDilutedSharesOutstanding", "EarningsPerShareDiluted"


def company(*told: tuple[int, int, str, str], as_of: str | None = None) -> CompanyBook:
    """A company by year, filing, shares and earnings of one."""
    facts: list[Fact] = []
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


def rows(one: CompanyBook, basis: str = "latest", provenance: str = "none") -> list[dict[str, object]]:
    question = series.SeriesQuestion(
        metrics=("eps_diluted", "weighted_average_shares_diluted", "net_income"),
        basis=basis,
        provenance=provenance,
        adjusted=True,
    )
    data, _ = series.answer(one, question)
    return [row["metrics"] for row in data["rows"]]


def test_a_split_is_found_where_a_later_filing_restates_by_one_factor() -> None:
    (found,) = splits.found(company(*SPLIT).book, mapping())
    assert splits.shown(found) == {
        "factor": 4,
        "not_before": "2019-10-30",
        "restated_by": FILINGS[2].accession,
        "restated_at": "2020-10-30",
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
    assert splits.found(known.book, mapping()) == []
    assert [row["eps_diluted"] for row in rows(known)] == [4, 2.5]


@pytest.mark.parametrize(
    "again",
    [("4000", "2.50"), ("1000", "0.63"), ("1330", "1.88"), ("1000000", "2.50"), ("1010", "2.48")],
    ids=["the count alone", "the figure of a share alone", "an odd factor", "a scale", "a correction"],
)
def test_what_is_no_split_is_none(again: tuple[str, str]) -> None:
    told = [(0, 0, "1000", "2.50"), (0, 2, *again), (2, 2, "1000", "2.00")]
    assert splits.found(company(*told).book, mapping()) == []


def test_a_reverse_split_has_a_factor_below_one() -> None:
    told = [(0, 0, "1000", "0.25"), (0, 2, "100", "2.50"), (1, 1, "1000", "0.20"), (2, 2, "100", "3.00")]
    (found,) = splits.found(company(*told).book, mapping())
    assert found.factor * 10 == 1
    assert [row["eps_diluted"] for row in rows(company(*told))] == [3, 2, 2.5]


@needs_shared
def test_apple_split_seven_to_one_in_2014_and_four_to_one_in_2020() -> None:
    from finapi import app as apps
    from finapi.core.clock import SystemClock
    from finapi.core.config import Config
    from finapi.market.documents.identify import Given
    from finapi.market.financials import company_books
    from finapi.market.intake import ingest

    app = apps.in_memory(Config(), SystemClock())
    try:
        ingest.run(app, [SHARED / "edgar" / "companyfacts" / "CIK0000320193.json"], Given(), lambda outcome: None)
        with app.db.read() as tx:
            book = company_books.read(tx, 320193).book
    finally:
        app.db.close()
    found = [splits.shown(one) for one in splits.found(book, mapping())]
    assert [(one["factor"], one["not_before"], one["restated_at"]) for one in found] == [
        (7, "2014-04-24", "2014-07-23"),
        (4, "2020-07-31", "2020-10-30"),
    ]
