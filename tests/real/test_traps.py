"""Every trap of the SEC's documents, as a series over the interface passes it: real figures of real companies."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.json import dumps
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import NOW, needs_shared
from tests.real import AAPL_2024, EDGAR

pytestmark = [needs_shared, pytest.mark.slow]

APPLE = EDGAR / "companyfacts" / "CIK0000320193.json"
JPM = EDGAR / "companyfacts_trimmed" / "CIK0000019617.json"
LPA = EDGAR / "companyfacts" / "CIK0001997711.json"
SLICE = EDGAR / "fsds_slices" / "0000320193-24-000123"
TICKERS = EDGAR / "company_tickers.json"


def holding(*paths: Path) -> tuple[App, Client]:
    numbers = itertools.count(1)
    app = apps.create_in_memory(
        Config(xbrl_per_minute=100_000, xbrl_burst=100_000),
        FixedClock(NOW),
        new_uuid=lambda: f"00000000-0000-4000-8000-{next(numbers):012}",
    )
    for path in paths:
        ingest.run(app, [path], IngestOptions(), lambda outcome: None)
    return app, Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture(scope="module")
def caller() -> Iterator[Client]:
    app, client = holding(TICKERS, APPLE, JPM, LPA)
    yield client
    app.db.close()


def rows(caller: Client, ticker: str, **query: str) -> list[dict[str, Any]]:
    answer = caller.get("/api/v1/xbrl/timeseries", query={"ticker": ticker, **query})
    assert answer.status == 200, answer.body
    return answer.json["data"]["rows"]  # type: ignore[no-any-return]


def cell(caller: Client, ticker: str, metric: str, period: str, **query: str) -> Any:
    """A cell with full provenance: of a year ("2018 FY") or a quarter ("2024 Q2")."""
    kind = "A" if period.endswith("FY") else "Q"
    year = period[:4]
    asked = {"metrics": metric, "period": kind, "years": f"{year}-{year}", "provenance": "full", **query}
    found = [one for one in rows(caller, ticker, **asked) if one["fiscal_period"] == period[5:]]
    assert len(found) == 1
    return found[0]["metrics"][metric]


def test_a_restated_balance_is_told_as_first_and_as_last_filed_and_as_known_on_a_day(caller: Client) -> None:
    asked = ("AAPL", "total_assets", "2009 FY")
    first, last = cell(caller, *asked, basis="original"), cell(caller, *asked)
    assert (first["value"], first["filed_at"]) == (53_851_000_000, "2009-10-27")
    assert last["value"] == 47_501_000_000
    assert cell(caller, *asked, as_of="2010-01-24")["value"] == 53_851_000_000
    assert cell(caller, *asked, as_of="2010-01-25")["value"] == 47_501_000_000


def test_earnings_per_share_before_a_split_are_those_of_their_vintage(caller: Client) -> None:
    asked = ("AAPL", "eps_diluted", "2018 FY")
    assert cell(caller, *asked, basis="original")["value"] == 11.91
    assert cell(caller, *asked)["value"] == 2.98
    assert cell(caller, *asked, as_of="2020-10-29")["value"] == 11.91


def test_a_year_that_three_filings_repeat_under_three_fiscal_years_is_one_row(caller: Client) -> None:
    years = [one["fiscal_year"] for one in rows(caller, "AAPL", metrics="net_income")]
    assert years == list(range(2025, 2006, -1))
    assert cell(caller, "AAPL", "net_income", "2018 FY")["value"] == 59_531_000_000


def test_a_stale_tag_does_not_freeze_the_series(caller: Client) -> None:
    told = {year: cell(caller, "AAPL", "revenue", f"{year} FY") for year in (2017, 2018, 2019)}
    assert [one["value"] for one in told.values()] == [229_234_000_000, 265_595_000_000, 260_174_000_000]
    assert told[2019]["concept"] == "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
    assert cell(caller, "AAPL", "goodwill", "2019 FY")["reason_code"] == "not_reported"


def test_the_rounded_figures_of_proxy_statements_are_not_taken(caller: Client) -> None:
    told = [cell(caller, "AAPL", "net_income", f"{year} FY") for year in range(2020, 2026)]
    accessions = {one["accession"] for one in told}
    for accession in accessions:
        facts = caller.get("/api/v1/facts", query={"accession_number": accession}).json["data"]
        assert {one["form_type"] for one in facts} == {"10-K"}


def test_a_bank_has_a_negative_operating_cash_flow_and_no_gross_profit(caller: Client) -> None:
    assert cell(caller, "JPM", "operating_cashflow", "2024 FY")["value"] == -42_012_000_000
    gross = cell(caller, "JPM", "gross_profit", "2024 FY")
    assert (gross["value"], gross["status"], gross["reason_code"]) == (None, "hole", "not_applicable")


def test_a_quarter_of_cash_flow_is_the_half_year_less_the_first_quarter(caller: Client) -> None:
    told = cell(caller, "AAPL", "operating_cashflow", "2024 Q2")
    assert (told["value"], told["method"]) == (22_690_000_000, "derived")
    assert [(one["sign"], one["value"], one["end_date"]) for one in told["operands"]] == [
        (1, 62_585_000_000, "2024-03-30"),
        (-1, 39_895_000_000, "2023-12-30"),
    ]


def test_figures_per_share_and_averages_are_never_subtracted(caller: Client) -> None:
    for metric in ("eps_diluted", "weighted_average_shares_diluted"):
        assert cell(caller, "AAPL", metric, "2024 Q4")["reason_code"] == "not_additive"


def test_fifty_three_weeks_make_four_quarters_that_follow_one_another(caller: Client) -> None:
    found = rows(caller, "AAPL", metrics="revenue", period="Q", calendar="true")
    whole = Counter(one["fiscal_year"] for one in found)
    assert {whole[year] for year in range(2009, 2026)} == {4}
    ends = [one["period_end"] for one in found]
    assert ends == sorted(set(ends), reverse=True)
    placed = {one["period_end"]: f"{one['calendar_year']} {one['calendar_period']}" for one in found}
    assert (placed["2023-07-01"], placed["2022-12-31"]) == ("2023 Q2", "2022 Q4")


def test_another_taxonomy_is_read_as_well(caller: Client) -> None:
    told = cell(caller, "1997711", "revenue", "2024 FY")
    assert told["concept"].startswith("ifrs-full:")
    assert told["unit"] == "USD"


def test_rounded_dates_of_the_data_sets_make_no_second_row() -> None:
    app, caller = holding(TICKERS, APPLE, SLICE)
    ends = [one["period_end"] for one in rows(caller, "AAPL", metrics="revenue", years="2022-2024")]
    app.db.close()
    assert ends == ["2024-09-28", "2023-09-30", "2022-09-24"]


QUESTIONS = (
    "timeseries?ticker=AAPL&period=Q&ratios=true&template=true&provenance=full&years=4",
    "timeseries?ticker=AAPL&period=TTM&basis=original&provenance=summary&years=4",
    "proof?ticker=AAPL&metric=operating_cashflow&period=Q&fiscal_year=2024&fiscal_period=Q2",
    "segments?ticker=AAPL&metric=revenue",
    "share-classes?ticker=AAPL",
    "screen?net_margin_gt=0.1",
    "coverage?ticker=AAPL",
)


def test_answers_are_the_same_byte_for_byte_whatever_order_documents_came_in() -> None:
    documents = (APPLE, EDGAR / "xbrl" / AAPL_2024, SLICE, TICKERS)
    answers = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        app, caller = holding(*(documents[place] for place in order))
        told = []
        for question in QUESTIONS:
            answer = caller.get("/api/v1/xbrl/" + question)
            assert answer.status == 200, (question, answer.body)
            told.append(dumps([answer.json["data"], answer.json["meta"]]))
        app.db.close()
        answers.append(told)
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]
