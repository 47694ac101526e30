"""The demo's data: real filings, and the same bytes each time they are written."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from finapi.accounts import users
from finapi.app import App, create_in_memory
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.demo import DEMO_KEY, demo_data
from tests import demo_packs
from tests.client import Client
from tests.conftest import NOW, SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

FOLDER = Path(demo_data.__file__).parent
API = "/api/v1"


@pytest.fixture(scope="module")
def demo() -> Iterator[App]:
    app = create_in_memory(Config(password_profile="cheap", pages="public"), FixedClock(NOW))
    demo_data.load(app)
    yield app
    app.db.close()


@pytest.fixture(scope="module")
def client(demo: App) -> Client:
    return Client(demo, users.create(demo, "ann@example.com", "pro", NOW).api_key)


def unpack(content: bytes) -> bytes:
    """Return the head line of a pack, if it has one, and its text. Other versions of zlib give other bytes."""
    head_length = content.find(b"\n") + 1 if content.startswith(b"finapi-pack") else 0
    return content[:head_length] + zlib.decompress(content[head_length:])


@pytest.mark.slow
@needs_shared
def test_packs_are_what_the_documents_give() -> None:
    built = demo_packs.build_packs(SHARED / "edgar")
    assert sorted(built) == sorted(file.name for file in FOLDER.glob("*.pack"))
    stale = [name for name, content in built.items() if unpack(content) != unpack((FOLDER / name).read_bytes())]
    assert stale == [], "run python -m tests.demo_packs"


def test_data_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.glob("*.pack")) < 1_000_000


def test_every_filing_has_its_real_accession_number(demo: App) -> None:
    with demo.db.read() as tx:
        accessions = [accession for (accession,) in run_sql(tx, "SELECT accession FROM filings").fetchall()]
    assert len(accessions) == 127
    assert [accession for accession in accessions if not re.fullmatch(r"\d{10}-\d{2}-\d{6}", accession)] == []


def test_reports_have_their_filing_days(demo: App) -> None:
    query = "SELECT f.accession, f.form, f.filed_at FROM filings f JOIN reports r ON r.filing_id = f.id ORDER BY 1"
    with demo.db.read() as tx:
        rows = [tuple(row) for row in run_sql(tx, query)]
    assert rows == [
        ("0000320193-23-000106", "10-K", "2023-11-03"),
        ("0000320193-24-000123", "10-K", "2024-11-01"),
        ("0000320193-25-000057", "10-Q", "2025-05-02"),
        ("0001065280-24-000128", "10-Q", "2024-04-22"),
        ("0001193125-10-235785", "10-Q", "2010-10-26"),
        ("0001477932-24-008123", "10-K", None),
        ("0001558370-23-018706", "10-Q", "2023-11-13"),
    ]


@pytest.mark.parametrize(
    ("ticker", "annual", "quarterly"),
    [
        ("AAPL", (7, "2025-09-27", 416161000000), (21, "2025-12-27", 143756000000)),
        ("SNOW", (6, "2025-01-31", 3626396000), (19, "2025-04-30", 1042074000)),
        ("MRVL", (7, "2026-01-31", 8194600000), (25, "2026-05-02", 2417800000)),
    ],
)
def test_three_companies_have_series_over_years(
    client: Client, ticker: str, annual: tuple[int, str, int], quarterly: tuple[int, str, int]
) -> None:
    for period, expected in (("A", annual), ("Q", quarterly)):
        answer = client.get(f"{API}/xbrl/timeseries?ticker={ticker}&metrics=revenue&period={period}")
        rows = answer.json["data"]["rows"]
        assert (len(rows), rows[0]["period_end"], rows[0]["metrics"]["revenue"]) == expected


def test_a_13f_report_agrees_with_its_rows(client: Client) -> None:
    answer = client.get(f"{API}/form-13f/fund/1894188").json
    filing = answer["filing"]
    assert (filing["accession_no"], filing["filed_at"]) == ("0001894188-23-000007", "2023-11-14")
    assert (filing["table_rows"], filing["table_entry_total"]) == (14, 14)
    assert filing["table_rows_value"] == filing["table_value_total"] == 454926000
    assert sum(holding["value_usd"] for holding in answer["holdings"]) == 454926000


def test_insider_transactions_of_apple_have_their_days(client: Client) -> None:
    answer = client.get(f"{API}/insiders/transactions/by-ticker/AAPL?filed_at_days=3650").json
    rows = {(row["accession_number"], row["filed_at"]) for row in answer["data"]}
    assert rows == {
        ("0000320193-22-000061", "2022-05-06"),
        ("0000320193-24-000102", "2024-10-01"),
        ("0001140361-26-025622", "2026-06-17"),
    }


def test_texts_of_filings_are_found(client: Client) -> None:
    answer = client.get(f"{API}/sec/filings/search?q=unaudited").json
    assert {row["accession_number"] for row in answer["data"]} >= {"0000320193-25-000057", "0000912057-00-023442"}


@pytest.mark.parametrize(
    ("query", "reason", "available"),
    [
        (
            "ticker=NFLX",
            "No annual report is stored. Rows of other periods: period=Q has 4.",
            [("Q", 4, "2009-09-30", "2024-03-31")],
        ),
        (
            "ticker=UPXI&period=Q",
            "No quarterly report is stored. Rows of other periods: period=A has 2.",
            [("A", 2, "2023-06-30", "2024-06-30")],
        ),
        (
            "ticker=UPXI&years=1999",
            "The query selects none of the 2 stored rows, of the fiscal years 2023-2024.",
            [("A", 2, "2023-06-30", "2024-06-30")],
        ),
    ],
)
def test_an_empty_series_states_the_reason_and_what_exists(
    client: Client, query: str, reason: str, available: list[tuple[str, int, str, str]]
) -> None:
    answer = client.get(f"{API}/xbrl/timeseries?metrics=revenue&{query}").json
    assert answer["data"]["rows"] == []
    assert answer["meta"]["empty"]["reason"] == reason
    assert [tuple(series.values()) for series in answer["meta"]["empty"]["available"]] == available


def test_a_series_with_rows_has_no_reason(client: Client) -> None:
    assert "empty" not in client.get(f"{API}/xbrl/timeseries?ticker=AAPL&metrics=revenue").json["meta"]


def test_missing_statements_name_the_stored_reports(client: Client) -> None:
    answer = client.get(f"{API}/xbrl/companies/NFLX/statements?period=A")
    message = "No annual report of Netflix, Inc. is stored. Stored: 10-Q of 2024-03-31, 10-Q of 2010-09-30."
    assert answer.verdict == (404, "NOT_COVERED", message)
    answer = client.get(f"{API}/xbrl/companies/SNOW/statements?period=A")
    assert answer.json["message"].endswith("No report of it is stored; /xbrl/timeseries may have its figures.")


def test_an_unknown_ticker_names_the_companies_of_a_demo(demo: App, client: Client) -> None:
    plain = client.get(f"{API}/xbrl/companies/ZZZZ/statements")
    assert plain.verdict == (404, "UNKNOWN_TICKER", "No company with the ticker or CIK ZZZZ is known.")
    demo.static_bodies[DEMO_KEY] = b"key"
    try:
        answer = client.get(f"{API}/xbrl/companies/ZZZZ/statements")
        page = client.get("/company/ZZZZ", headers={"Accept": "text/html"}).body.decode()
    finally:
        del demo.static_bodies[DEMO_KEY]
    companies = ["AAPL", "NFLX", "SNOW", "UPXI", "MRVL", "AEON"]
    assert answer.status == 404
    assert answer.json["details"] == {"given": "ZZZZ", "nearest": [], "demo_companies": companies}
    sentence = (
        f"This is a demo with figures of {', '.join(companies)}. On a server of your own, finapi load loads others."
    )
    assert answer.json["message"] == f"No company with the ticker or CIK ZZZZ is known. {sentence}"
    assert sentence in page


# ---- screens


@run_each_case(
    "query, expected",
    [
        (
            {"where": "revenue>1bn,revenue_growth>0.1"},
            [
                ("SNOW", "2025-01-31", {"revenue": 3626396000, "revenue_growth": 0.292146878181}),
                ("MRVL", "2026-01-31", {"revenue": 8194600000, "revenue_growth": 0.420872852115}),
            ],
        ),
        ({"where": "revenue>100BN", "period": "Q"}, [("AAPL", "2025-12-27", {"revenue": 143756000000})]),
        (
            {"where": "revenue > 400bn", "period": "TTM", "metrics": "revenue_growth"},
            [("AAPL", "2025-12-27", {"revenue": 435617000000, "revenue_growth": 0.100710026279})],
        ),
        ({"where": "revenue>3.6bn,revenue<3700m"}, [("SNOW", "2025-01-31", {"revenue": 3626396000})]),
        ({"where": "revenue_growth>-1", "ticker": "NFLX"}, []),
        ({"where": "roe<1", "roe_gt": "0.2", "ticker": "AAPL"}, []),
    ],
)
def test_screens_compare_any_metric_of_the_latest_periods(
    client: Client, query: dict[str, str], expected: list[tuple[str, str, dict[str, float]]]
) -> None:
    answer = client.get(f"{API}/xbrl/screen", query=query)
    assert [(row["ticker"], row["period_end"], row["metrics"]) for row in answer.json["data"]] == expected


def test_growth_without_a_year_before_is_missing(client: Client) -> None:
    answer = client.get(f"{API}/xbrl/screen?metrics=revenue_growth&ticker=AEON&period=Q").json
    assert answer["data"][0]["metrics"] == {"revenue_growth": None}
    assert answer["data"][0]["holes"]["revenue_growth"]["reason_code"] == "not_reported"


@run_each_case(
    "query, message",
    [
        ({"where": "revenu>1"}, "revenu is not a metric; did you mean revenue?"),
        ({"where": "revenue>1xx"}, "revenue>1xx is not a condition such as revenue>1bn or roe<0.2."),
        ({"where": "revenue"}, "revenue is not a condition such as revenue>1bn or roe<0.2."),
        (
            {"metrics": "revenue_growt"},
            "revenue_growt is not a metric; did you mean revenue_growth or revenue_growth_yoy or revenue_growth_yoy_q?",
        ),
    ],
)
def test_an_invalid_condition_is_refused(client: Client, query: dict[str, str], message: str) -> None:
    assert client.get(f"{API}/xbrl/screen", query=query).verdict == (400, "INVALID_PARAM", message)
