"""The latest year of each company, kept as a row: always what would be worked out now, and worked out once."""

from __future__ import annotations

import io
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from finapi import app as apps
from finapi import cli
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError, StoreUnavailableError
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import latest_years as years
from finapi.market.financials.series_rows import PriceOnDay
from finapi.market.intake import ingest
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.ops.app_opening import open_app
from finapi.store import backup
from finapi.store.db import DatabaseError, Transaction
from finapi.web.financials import screen
from tests.api.test_figures_api import year
from tests.client import Client
from tests.conftest import NOW
from tests.figures import document, store

FILINGS = Path(__file__).parent / "filings"
SEVEN, EIGHT = 77, 88


def kept(app: App) -> dict[int, str | None]:
    """What is kept, by company; None where it is due."""
    with app.db.read() as tx:
        return {one.cik: one.text for one in years.iter_known(tx)}


def anew(app: App) -> dict[int, str]:
    with app.db.read() as tx:
        return {one.cik: screen._compute_year(tx, one.cik).text for one in years.iter_known(tx)}


def due_after(app: App, change: Callable[[], Any]) -> set[int]:
    """The companies whose years are due after a change, when all were kept before; then all are kept again, exactly."""
    screen.compute_all_latest_years(app)
    change()
    due = {cik for cik, written in kept(app).items() if written is None}
    # What is still kept is still true.
    now = anew(app)
    assert {cik: now[cik] for cik in now.keys() - due} == {
        cik: text for cik, text in kept(app).items() if text is not None
    }
    screen.compute_all_latest_years(app)
    assert kept(app) == now
    with app.db.read() as tx:
        assert tx.list_rows("uncounted") == []
    return due


def priced(app: App, close: int, last: str = "2024-01-02") -> None:
    data = f"date,close\n2023-12-29,{close}\n{last},9\n".encode()
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(data, "prices.csv", "SEV.csv"), data, "SEV")


def run(app: App, statement: str) -> None:
    with app.db.write() as tx:
        tx._connection.execute(statement)


@pytest.fixture
def two(app: App) -> App:
    """Two companies with figures, the first with a ticker."""
    for cik, name, revenue in ((SEVEN, "Seventy-Seven Corp", 1000), (EIGHT, "Eighty-Eight Inc", 3000)):
        store(app, document(cik, name, [fact for one in range(2020, 2024) for fact in year(cik, one, revenue + one)]))
    with app.db.write() as tx:
        companies.upsert_tickers(tx, SEVEN, [("SEV", None)], companies.FROM_LIST)
    return app


def test_what_changes_figures_makes_the_years_of_that_company_due_and_of_no_other(two: App) -> None:
    assert due_after(two, lambda: None) == set()
    later = document(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2024, 4000))
    assert due_after(two, lambda: store(two, later)) == {SEVEN}
    assert due_after(two, lambda: store(two, later)) == set()
    # The same filing in a later copy, less rounded.
    finer = [(name, unit, {**row, "val": row["val"] + 0.5}) for name, unit, row in year(SEVEN, 2024, 4000)]
    assert due_after(two, lambda: store(two, document(SEVEN, "Seventy-Seven Corp", finer))) == {SEVEN}
    assert due_after(two, lambda: priced(two, 2)) == {SEVEN}
    assert due_after(two, lambda: priced(two, 3, "2024-01-03")) == {SEVEN}
    for change, due in (
        ("UPDATE companies SET sic = 6021 WHERE cik = 88", {EIGHT}),
        ("UPDATE companies SET fiscal_year_end = '0630' WHERE cik = 88", {EIGHT}),
        ("UPDATE companies SET name = 'Other' WHERE cik = 88", set()),
        ("UPDATE filings SET filed_at = '2019-06-30' WHERE accession = '0000000088-24-000001'", {EIGHT}),
        ("UPDATE filings SET form = '8-K' WHERE accession = '0000000088-24-000001'", {EIGHT}),
        ("UPDATE filings SET description = 'x' WHERE accession = '0000000088-24-000001'", set()),
        ("INSERT INTO tickers VALUES ('AAA', 77, NULL, 2, 0, '2026-01-01')", {SEVEN}),
        ("DELETE FROM tickers WHERE ticker = 'AAA'", {SEVEN}),
        ("DELETE FROM price_series", {SEVEN}),
        ("INSERT INTO tickers VALUES ('EIG', 88, NULL, 2, 0, '2026-01-01')", set()),
        ("DELETE FROM fact_sets WHERE cik = 88", {EIGHT}),
    ):
        assert due_after(two, lambda change=change: run(two, change)) == due, change


def test_a_company_without_a_figure_is_on_no_screen_and_not_made_again(two: App) -> None:
    run(two, "DELETE FROM fact_sets WHERE cik = 88")
    screen.compute_all_latest_years(two)
    assert kept(two)[EIGHT] == "null"
    caller = Client(two, users.create(two, "ann@example.com", "pro", NOW).api_key)
    assert [row["cik"] for row in caller.get("/api/v1/xbrl/screen").json["data"]] == ["0000000077"]


def test_a_screen_of_kept_years_is_that_of_years_made_for_it(two: App) -> None:
    priced(two, 2)
    caller = Client(two, users.create(two, "ann@example.com", "pro", NOW).api_key)
    query = {"asset_turnover_gt": "0.1", "metrics": "market_cap,roe"}
    made = caller.get("/api/v1/xbrl/screen", query=query).json
    assert len(two.screening_cache) == 2
    two.answer_cache._entries.clear()
    two.screening_cache._entries.clear()
    screen.compute_all_latest_years(two)
    read = caller.get("/api/v1/xbrl/screen", query=query).json
    assert (read["data"], read["meta"]) == (made["data"], made["meta"])
    assert read["data"][0]["metrics"]["market_cap"] == 1000
    assert len(two.screening_cache) == 0


def test_a_screen_reads_no_more_companies_than_show_whether_another_page_follows(two: App) -> None:
    store(two, document(99, "Ninety-Nine plc", year(99, 2023, 10)))
    caller = Client(two, users.create(two, "ann@example.com", "pro", NOW).api_key)
    first = caller.get("/api/v1/xbrl/screen?limit=1").json
    assert [row["cik"] for row in first["data"]] == ["0000000077"]
    assert first["meta"]["pagination"] == {"limit": 1, "offset": 0, "has_more": True}
    assert len(two.screening_cache) == 2
    last = caller.get("/api/v1/xbrl/screen?limit=1&offset=2").json
    assert [row["cik"] for row in last["data"]] == ["0000000099"]
    assert last["meta"]["pagination"] == {"limit": 1, "offset": 2, "has_more": False}
    assert caller.get("/api/v1/xbrl/screen?offset=3").json["data"] == []


def test_a_screen_makes_no_more_years_than_its_bound_and_says_how_many_are_due(
    two: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 1)
    caller = Client(two, users.create(two, "ann@example.com", "pro", NOW).api_key)
    refused = caller.get("/api/v1/xbrl/screen")
    assert (refused.status, refused.headers["retry-after"]) == (503, "10")
    assert (refused.json["code"], refused.json["details"]) == ("UNAVAILABLE", {"due": 2})
    assert refused.headers["x-tokens-charged"] == "0"
    # It made none, and answers of companies that are named.
    assert len(two.screening_cache) == 0
    assert [row["cik"] for row in caller.get("/api/v1/xbrl/screen?cik=88").json["data"]] == ["0000000088"]
    screen.compute_all_latest_years(two)
    assert len(caller.get("/api/v1/xbrl/screen?limit=9").json["data"]) == 2


def test_a_company_whose_year_cannot_be_made_keeps_no_other_from_its_screen(
    two: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = years.compute
    asked = []

    def failing(tx: Transaction, company: Company, price: PriceOnDay | None) -> years.ComputedYear:
        asked.append(company.cik)
        if company.cik == SEVEN:
            raise KeyError("no\nperiod")
        return made(tx, company, price)

    monkeypatch.setattr(years, "compute", failing)
    caller = Client(two, users.create(two, "ann@example.com", "pro", NOW).api_key)
    told = caller.get("/api/v1/xbrl/screen").json
    assert ([row["cik"] for row in told["data"]], told["meta"]["screen"]["left_out"]) == (["0000000088"], 1)
    caplog.clear()
    screen.compute_all_latest_years(two)
    screen.compute_all_latest_years(two)
    assert asked == [SEVEN, EIGHT] * 2
    assert [record.args for record in caplog.records] == [(SEVEN,)]
    assert kept(two)[SEVEN] == "failed: KeyError('no\\nperiod')"
    two.answer_cache._entries.clear()
    for question, left_out in {"limit=1": 1, "cik=77": 1, "cik=88": 0, "roe_gt=0&roe_lt=0": 1}.items():
        assert caller.get(f"/api/v1/xbrl/screen?{question}").json["meta"]["screen"]["left_out"] == left_out
    # As its data change it is tried again.
    monkeypatch.setattr(years, "compute", made)
    run(two, "UPDATE companies SET sic = 6021 WHERE cik = 77")
    screen.compute_all_latest_years(two)
    assert kept(two) == anew(two)
    two.answer_cache._entries.clear()
    told = caller.get("/api/v1/xbrl/screen").json
    assert (len(told["data"]), told["meta"]["screen"]["left_out"]) == (2, 0)


def test_what_the_store_or_the_machine_fails_at_is_no_mark_of_a_company(
    two: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (
        StoreUnavailableError(),
        DatabaseError("interrupted"),
        MemoryError(),
        ApiError("UNAVAILABLE", "Locked."),
    ):
        monkeypatch.setattr(years, "compute", Mock(side_effect=error))
        with pytest.raises(type(error)):
            screen.compute_all_latest_years(two)
        assert kept(two) == {SEVEN: None, EIGHT: None}


def test_a_model_that_screens_a_data_directory_waits_for_the_years_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], loggers: None
) -> None:
    with open_app(Config(data_dir=tmp_path)) as app:
        for cik in (SEVEN, EIGHT):
            store(app, document(cik, f"Company {cik}", year(cik, 2023, 1000)))
        key = users.create(app, "ann@example.com", "pro", app.clock.now()).api_key
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 0)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    call = {"name": "screen_companies", "arguments": {"where": ["net_margin > 0"]}}
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(asked.encode() + b"\n")))
    assert cli.main(["mcp", "--data-dir", str(tmp_path), "--key", key]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert not result["isError"]
    assert [f"{cik:010}" in result["content"][0]["text"] for cik in (SEVEN, EIGHT)] == [True, True]


def test_years_made_by_other_rules_are_made_again(two: App) -> None:
    screen.compute_all_latest_years(two)
    run(two, "UPDATE latest_years SET made_by = 'before', figures = '1999-12-31'")
    assert kept(two) == {SEVEN: None, EIGHT: None}
    screen.compute_all_latest_years(two)
    assert kept(two) == anew(two)


def test_what_was_made_of_facts_that_changed_meanwhile_is_not_kept(two: App) -> None:
    with two.db.read() as tx:
        due = [(one, years.ComputedYear("null", b"", [])) for one in years.list_due(tx, 10)]
    store(two, document(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2024, 4000)))
    with two.db.write() as tx:
        years.store(tx, due)
        assert [row["cik"] for row in tx._connection.execute("SELECT cik FROM kept_books")] == [EIGHT]
    assert kept(two) == {SEVEN: None, EIGHT: "null"}


def test_the_order_in_which_documents_come_changes_nothing_that_is_kept(clock: FixedClock) -> None:
    netflix = 1065280
    copies = [document(netflix, "Netflix", year(netflix, one, revenue)) for one, revenue in ((2022, 9), (2023, 8))]
    found = set()
    for order in itertools.permutations(("filing", *copies)):
        app = apps.create_in_memory(Config(), clock)
        for one in order:
            if isinstance(one, bytes):
                assert due_after(app, lambda app=app, one=one: store(app, one)) == {netflix}
            else:
                due_after(app, lambda app=app: ingest.run(app, [FILINGS], IngestOptions(), lambda outcome: None))
        found.add(tuple(kept(app).items()))
        app.db.close()
    ((one,),) = found
    assert one[1].startswith("2023-12-31\n")


def test_a_restored_store_keeps_what_is_true(tmp_path: Path, clock: FixedClock) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    app = apps.open_on_disk(Config(data_dir=first), clock)
    store(app, document(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2023, 4000)))
    screen.compute_all_latest_years(app)
    with backup.temporary_copy(first / "finapi.db", tmp_path, "copy") as copied:
        before = kept(app)
        app.db.close()
        copied.rename(second / "finapi.db")
    app = apps.open_on_disk(Config(data_dir=second), clock, new_secrets=True)
    assert kept(app) == anew(app) == before
    app.db.close()
