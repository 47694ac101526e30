"""The traps in the SEC's documents, tested with real figures of real companies over the API."""

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


def build_app(*paths: Path) -> tuple[App, Client]:
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
    app, client = build_app(TICKERS, APPLE, JPM, LPA)
    yield client
    app.db.close()


def list_rows(caller: Client, ticker: str, **query: str) -> list[dict[str, Any]]:
    answer = caller.get("/api/v1/xbrl/timeseries", query={"ticker": ticker, **query})
    assert answer.status == 200, answer.body
    return answer.json["data"]["rows"]  # type: ignore[no-any-return]


def get_cell(caller: Client, ticker: str, metric: str, period: str, **query: str) -> Any:
    """Return a cell with full provenance, of a year ("2018 FY") or a quarter ("2024 Q2")."""
    kind = "A" if period.endswith("FY") else "Q"
    year = period[:4]
    parameters = {"metrics": metric, "period": kind, "years": f"{year}-{year}", "provenance": "full", **query}
    matching_rows = [row for row in list_rows(caller, ticker, **parameters) if row["fiscal_period"] == period[5:]]
    assert len(matching_rows) == 1
    return matching_rows[0]["metrics"][metric]


def test_a_restated_balance_depends_on_basis_and_as_of(caller: Client) -> None:
    assets_of_2009 = ("AAPL", "total_assets", "2009 FY")
    first, last = get_cell(caller, *assets_of_2009, basis="original"), get_cell(caller, *assets_of_2009)
    assert (first["value"], first["filed_at"]) == (53_851_000_000, "2009-10-27")
    assert last["value"] == 47_501_000_000
    assert get_cell(caller, *assets_of_2009, as_of="2010-01-24")["value"] == 53_851_000_000
    assert get_cell(caller, *assets_of_2009, as_of="2010-01-25")["value"] == 47_501_000_000


def test_earnings_per_share_before_a_split_follow_the_vintage(caller: Client) -> None:
    eps_of_2018 = ("AAPL", "eps_diluted", "2018 FY")
    assert get_cell(caller, *eps_of_2018, basis="original")["value"] == 11.91
    assert get_cell(caller, *eps_of_2018)["value"] == 2.98
    assert get_cell(caller, *eps_of_2018, as_of="2020-10-29")["value"] == 11.91


def test_a_year_repeated_under_three_fiscal_years_is_one_row(caller: Client) -> None:
    years = [row["fiscal_year"] for row in list_rows(caller, "AAPL", metrics="net_income")]
    assert years == list(range(2025, 2006, -1))
    assert get_cell(caller, "AAPL", "net_income", "2018 FY")["value"] == 59_531_000_000


def test_a_stale_tag_does_not_freeze_the_series(caller: Client) -> None:
    cells = {year: get_cell(caller, "AAPL", "revenue", f"{year} FY") for year in (2017, 2018, 2019)}
    assert [revenue["value"] for revenue in cells.values()] == [229_234_000_000, 265_595_000_000, 260_174_000_000]
    assert cells[2019]["concept"] == "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax"
    assert get_cell(caller, "AAPL", "goodwill", "2019 FY")["reason_code"] == "not_reported"


def test_rounded_figures_of_proxy_statements_are_not_used(caller: Client) -> None:
    cells = [get_cell(caller, "AAPL", "net_income", f"{year} FY") for year in range(2020, 2026)]
    accessions = {net_income["accession"] for net_income in cells}
    for accession in accessions:
        facts = caller.get("/api/v1/facts", query={"accession_number": accession}).json["data"]
        assert {fact["form_type"] for fact in facts} == {"10-K"}


def test_a_bank_has_no_gross_profit(caller: Client) -> None:
    assert get_cell(caller, "JPM", "operating_cashflow", "2024 FY")["value"] == -42_012_000_000
    gross = get_cell(caller, "JPM", "gross_profit", "2024 FY")
    assert (gross["value"], gross["status"], gross["reason_code"]) == (None, "hole", "not_applicable")


def test_a_second_quarters_cash_flow_is_derived_from_two_sums(caller: Client) -> None:
    cash_flow = get_cell(caller, "AAPL", "operating_cashflow", "2024 Q2")
    assert (cash_flow["value"], cash_flow["method"]) == (22_690_000_000, "derived")
    assert [(operand["sign"], operand["value"], operand["end_date"]) for operand in cash_flow["operands"]] == [
        (1, 62_585_000_000, "2024-03-30"),
        (-1, 39_895_000_000, "2023-12-30"),
    ]


def test_figures_per_share_and_averages_are_never_subtracted(caller: Client) -> None:
    for metric in ("eps_diluted", "weighted_average_shares_diluted"):
        assert get_cell(caller, "AAPL", metric, "2024 Q4")["reason_code"] == "not_additive"


def test_a_year_of_53_weeks_has_four_consecutive_quarters(caller: Client) -> None:
    quarters = list_rows(caller, "AAPL", metrics="revenue", period="Q", calendar="true")
    quarter_counts = Counter(quarter["fiscal_year"] for quarter in quarters)
    assert {quarter_counts[year] for year in range(2009, 2026)} == {4}
    ends = [quarter["period_end"] for quarter in quarters]
    assert ends == sorted(set(ends), reverse=True)
    calendar_quarters = {
        quarter["period_end"]: f"{quarter['calendar_year']} {quarter['calendar_period']}" for quarter in quarters
    }
    assert (calendar_quarters["2023-07-01"], calendar_quarters["2022-12-31"]) == ("2023 Q2", "2022 Q4")


def test_ifrs_figures_are_served(caller: Client) -> None:
    revenue = get_cell(caller, "1997711", "revenue", "2024 FY")
    assert revenue["concept"].startswith("ifrs-full:")
    assert revenue["unit"] == "USD"


def test_rounded_dates_of_the_data_sets_make_no_second_row() -> None:
    app, caller = build_app(TICKERS, APPLE, SLICE)
    ends = [row["period_end"] for row in list_rows(caller, "AAPL", metrics="revenue", years="2022-2024")]
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


def test_answers_do_not_depend_on_the_order_of_documents() -> None:
    documents = (APPLE, EDGAR / "xbrl" / AAPL_2024, SLICE, TICKERS)
    answers = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        app, caller = build_app(*(documents[document_number] for document_number in order))
        answer_bodies = []
        for question in QUESTIONS:
            answer = caller.get("/api/v1/xbrl/" + question)
            assert answer.status == 200, (question, answer.body)
            answer_bodies.append(dumps([answer.json["data"], answer.json["meta"]]))
        app.db.close()
        answers.append(answer_bodies)
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]
