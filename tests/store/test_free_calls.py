"""Tests of calls that cost nothing: the number of SQLite's instructions does not grow with the tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.delivery import sniper
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.ops import proof, status
from finapi.store import heartbeats
from tests.client import Client
from tests.conftest import NOW
from tests.support.raw_sql import get_writer, run_sql
from tests.support.slow_cases import slow_except_every

SERIES = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) "

DELIVERIES = """
INSERT INTO deliveries (delivery_id, user_id, event_type, body, url, lane, state, due_at, created_at, done_at)
SELECT 'dlv_' || :size || '-' || i, 1, iif(i % 1000, 'insider.transaction.created', 'finapi.test'),
    '{{"occurred_at": "2026-01-31T12:00:00.000Z", "payload": {{}}}}', 'https://a', 'a:443 1 x',
    iif(i % 997, 'delivered', 'dropped'), NULL, '2026-01-31T12:00:00.000Z', '2026-01-31T12:00:00.000Z'
FROM n
"""
LEDGER = """
INSERT INTO ledger (user_id, delta, reason, endpoint, request_id, status, open, created_at)
SELECT 1, -1, 'debit', 'GET /x', 'r', 200, 0, '2026-01-31T12:00:00.000Z' FROM n
"""
PRICES = "INSERT INTO prices (series_id, date, close, vintage) SELECT :size, printf('%07d', i), '1', 'v' FROM n"
MAILS = "INSERT INTO mails (template, subject_id, created_at, due_at) SELECT 'welcome', 1, '2', '2' FROM n"
WAITING = DELIVERIES.replace("iif(i % 997, 'delivered', 'dropped'), NULL,", "'pending', '2026',").replace(
    "'2026-01-31T12:00:00.000Z'\nFROM n", "NULL\nFROM n"
)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(financials_per_minute=1000, financials_burst=1000)


def add(app: App, statement: str, size: int) -> None:
    with app.db.write() as tx:
        if "prices" in statement:
            run_sql(tx, "INSERT INTO price_series (id, ticker, synthetic) VALUES (:size, :size, 0)", {"size": size})
        sql = statement.replace("{{", "{").replace("}}", "}")
        head = SERIES.format(rows=size)
        insert, _, select = sql.strip().partition("SELECT")
        run_sql(tx, f"{insert} {head} SELECT{select}", {"size": size})


def steps(app: App, work: Callable[[], object]) -> float:
    """Return the number of SQLite instructions that a call takes, in hundreds: the mean of five calls.

    SQLite reports every hundredth instruction of a statement, and it counts from where the last statement stopped.
    """
    counted = [0]

    def count() -> None:
        counted[0] += 1

    work()  # what is asked for the first time is compiled, and may be kept
    get_writer(app.db).set_progress_handler(count, 100)
    try:
        for _ in range(5):
            work()
    finally:
        get_writer(app.db).set_progress_handler(None, 0)
    return counted[0] / 5


CALLS = {
    "all deliveries": (DELIVERIES, "/api/v1/webhooks/deliveries"),
    "deliveries in a state": (DELIVERIES, "/api/v1/webhooks/deliveries?status=dropped&limit=2"),
    "deliveries in no state": (DELIVERIES, "/api/v1/webhooks/deliveries?status=sending"),
    "deliveries of a type": (DELIVERIES, "/api/v1/webhooks/deliveries?event_type=finapi.test&limit=2"),
    "deliveries of another": (DELIVERIES, "/api/v1/webhooks/deliveries?event_type=sniper.filing_hit"),
    "deliveries in a state of a type": (
        DELIVERIES,
        "/api/v1/webhooks/deliveries?status=dropped&event_type=sniper.filing_hit",
    ),
    "transactions": (LEDGER, "/api/v1/account/transactions"),
    "counts": (PRICES, "/api/v1/financials/status"),
    "statistics": (PRICES, "/api/v1/stats"),
}


@pytest.mark.parametrize("name", slow_except_every(3, CALLS))
def test_a_free_call_takes_no_more_the_more_there_is(app: App, user: users.NewUser, name: str) -> None:
    statement, path = CALLS[name]
    client = Client(app, user.api_key)

    def call() -> None:
        app.answer_cache._version = None
        assert client.get(path).status == 200

    add(app, statement, 3_000)
    few = steps(app, call)
    add(app, statement, 20_000)
    assert steps(app, call) <= few + 3


COMPANIES = "INSERT INTO companies (cik, name, name_rank, name_as_of) SELECT :size + i, 'Lamp ' || i, 0, '' FROM n"
COMPANY_FILINGS = "INSERT INTO filing_terms (term, filed_at, number) SELECT 'c' || (:size + i), '2025-01-02', i FROM n"


def test_a_refused_search_costs_no_more_with_more_companies(app: App, user: users.NewUser) -> None:
    client = Client(app, user.api_key)

    def call() -> None:
        app.answer_cache._version = None
        refused = client.get("/api/v1/sec/filings?q=lamp")
        assert (refused.status, refused.headers["x-tokens-charged"]) == (400, "0")

    for statement in (COMPANIES, COMPANY_FILINGS):
        add(app, statement, 3_000)
    few = steps(app, call)
    for statement in (COMPANIES, COMPANY_FILINGS):
        add(app, statement, 20_000)
    assert steps(app, call) <= few + 3


@pytest.mark.parametrize(("statement", "queue"), [(MAILS, "mail"), (WAITING, "webhooks")])
def test_what_waits_is_counted_up_to_a_bound(app: App, user: users.NewUser, statement: str, queue: str) -> None:
    add(app, statement, 100_001)
    assert status.count_queued_work(app, NOW)[queue] == 100_000
    add(app, statement, 2_000)
    assert status.count_queued_work(app, NOW)[queue] == 100_000


@pytest.mark.parametrize("path", ["account/transactions", "sniper/targets", "webhooks/deliveries"])
def test_a_free_list_skips_a_hundred_thousand_rows_at_most(app: App, user: users.NewUser, path: str) -> None:
    client = Client(app, user.api_key)
    assert client.get(f"/api/v1/{path}?offset=100000").status == 200
    refused = client.get(f"/api/v1/{path}?offset=100001")
    assert (refused.status, refused.json["details"]["param"]) == (400, "offset")


def test_stored_targets_are_bounded_and_running_ones_stay(make_app: Callable[..., App]) -> None:
    app = make_app(targets_kept=3, sniper_slots=2)
    user = users.create(app, "ann@example.com", "pro", NOW)
    with app.db.write() as tx:
        run_sql(tx, "INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (320193, 'Apple', 0, '')")
    watched = sniper.WatchedCompany(320193, "AAPL")
    running = sniper.create_target(app, user.id, watched, {}, NOW, lambda tx, target: target)
    target_ids = [running["target_id"]]
    for _ in range(6):
        shown_target = sniper.create_target(app, user.id, watched, {}, NOW, lambda tx, target: target)
        sniper.stop_target(app, user.id, shown_target["target_id"], NOW, lambda tx, target: target)
        target_ids.append(shown_target["target_id"])
    with app.db.read() as tx:
        page = sniper.list_targets(app, tx, user.id, NOW, limit=50)
    assert [shown_target["target_id"] for shown_target in page["targets"]] == [
        *target_ids[:-4:-1],
        running["target_id"],
    ]
    assert page["meta"]["total"] == 4


def test_counts_kept_are_counts_of_rows(tmp_path: Path, clock: FixedClock) -> None:
    app = apps.create_in_memory(Config(), clock)
    folder = Path(__file__).parents[1] / "filings"
    ingest.run(app, [folder], IngestOptions(), lambda outcome: None)
    (tmp_path / "AAPL.csv").write_text("Date,Close\n2025-01-02,1\n2025-01-03,2\n")
    ingest.run(app, [tmp_path], IngestOptions(ticker="AAPL"), lambda outcome: None)
    (tmp_path / "AAPL.csv").write_text("Date,Close\n2025-01-02,1\n2025-01-03,2.5\n2025-01-06,3\n")
    ingest.run(app, [tmp_path], IngestOptions(ticker="AAPL"), lambda outcome: None)
    with app.db.read() as tx:
        stored_counts = heartbeats.get_stored_counts(tx)
        facts = run_sql(tx, "SELECT count(*) FROM facts WHERE dimension_id = 0 AND hidden = 0").fetchone()[0]
        assert tx.list_rows("uncounted") == []
        assert tx.list_rows("unequal_facts", id=0, limit=5) == []
    assert (stored_counts["facts"], stored_counts["prices"]) == (facts, 3)
    assert facts > 0
    app.db.close()


def test_check_reports_a_lost_fact_and_a_changed_text(tmp_path: Path, clock: FixedClock) -> None:
    app = apps.create_in_memory(Config(), clock)
    ingest.run(app, [Path(__file__).parents[1] / "filings"], IngestOptions(), lambda outcome: None)
    with app.db.write() as tx:
        run = tx._connection.execute
        (set_id,) = run("SELECT id FROM fact_sets WHERE facts > 1 LIMIT 1").fetchone()
        (count,) = run("SELECT facts FROM fact_sets WHERE id = ?", (set_id,)).fetchone()
        run(
            "DELETE FROM facts WHERE (fact_set_id, concept_id, end_day, days, unit_id, dimension_id) = "
            "(SELECT fact_set_id, concept_id, end_day, days, unit_id, dimension_id FROM facts "
            "WHERE fact_set_id = ? LIMIT 1)",
            (set_id,),
        )
        (accession,) = run(
            "SELECT accession FROM filings JOIN fact_sets ON filing_id = filings.id WHERE fact_sets.id = ?", (set_id,)
        ).fetchone()
        run("DELETE FROM filing_bodies")
        # "abc", beside the hash of another text.
        run(
            "INSERT INTO filing_bodies (filing_id, media, packed, sha256) "
            "SELECT id, 'text', x'789c4b4c4a0600024d0127', ? FROM filings WHERE accession = ?",
            ("00" * 32, accession),
        )
        run("UPDATE held_counts SET number = number + 1 WHERE name = 'prices'")
    assert proof.check_database(app.db, app.config)["problems"] == [
        f"facts of {accession}: {count - 1} are there, {count} were stored",
        "prices: 0 are there, 1 were stored",
        f'document of "{accession}": is not the text that was stored',
    ]
    app.db.close()
