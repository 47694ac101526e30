"""The stored latest year of each company: always equal to a computed one, and computed once."""

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
from finapi.market.intake import ingest, latest_years_work
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.ops.app_opening import open_app
from finapi.store import backup
from finapi.store.db import DatabaseError, Transaction
from finapi.web.financials import screen
from tests.client import Client
from tests.conftest import NOW
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.web.financials.test_figures import year

FILINGS = Path(__file__).parents[2] / "filings"
SEVEN, EIGHT = 77, 88


def read_stored_years(app: App) -> dict[int, str | None]:
    """Return the stored text of each company's year, None if it is due."""
    with app.db.read() as tx:
        return {stored.cik: stored.text for stored in years.iter_known(tx)}


def compute_years(app: App) -> dict[int, str]:
    with app.db.read() as tx:
        return {stored.cik: latest_years_work.compute_year(tx, stored.cik).text for stored in years.iter_known(tx)}


def list_due_after(app: App, change: Callable[[], Any]) -> set[int]:
    """Return the companies whose years are due after a change.

    All years are stored before. The others must be unchanged, and all are stored again afterwards.
    """
    latest_years_work.compute_all_latest_years(app)
    change()
    due = {cik for cik, written in read_stored_years(app).items() if written is None}
    # The years that are not due are still correct.
    now = compute_years(app)
    assert {cik: now[cik] for cik in now.keys() - due} == {
        cik: text for cik, text in read_stored_years(app).items() if text is not None
    }
    latest_years_work.compute_all_latest_years(app)
    assert read_stored_years(app) == now
    with app.db.read() as tx:
        assert tx.list_rows("uncounted") == []
    return due


def store_prices(app: App, close: int, last: str = "2024-01-02") -> None:
    data = f"date,close\n2023-12-29,{close}\n{last},9\n".encode()
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(data, "prices.csv", "SEV.csv"), data, "SEV")


def execute(app: App, statement: str) -> None:
    with app.db.write() as tx:
        tx._connection.execute(statement)


@pytest.fixture
def two_companies(app: App) -> App:
    """Two companies with figures, the first with a ticker."""
    for cik, name, revenue in ((SEVEN, "Seventy-Seven Corp", 1000), (EIGHT, "Eighty-Eight Inc", 3000)):
        store_companyfacts(
            app,
            build_companyfacts(
                cik,
                name,
                [fact for fiscal_year in range(2020, 2024) for fact in year(cik, fiscal_year, revenue + fiscal_year)],
            ),
        )
    with app.db.write() as tx:
        companies.upsert_tickers(tx, SEVEN, [("SEV", None)], companies.FROM_LIST)
    return app


def test_changed_data_make_only_that_companys_year_due(two_companies: App) -> None:
    assert list_due_after(two_companies, lambda: None) == set()
    later = build_companyfacts(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2024, 4000))
    assert list_due_after(two_companies, lambda: store_companyfacts(two_companies, later)) == {SEVEN}
    assert list_due_after(two_companies, lambda: store_companyfacts(two_companies, later)) == set()
    # The same filing in a later copy, less rounded.
    finer = [(name, unit, {**row, "val": row["val"] + 0.5}) for name, unit, row in year(SEVEN, 2024, 4000)]
    assert list_due_after(
        two_companies, lambda: store_companyfacts(two_companies, build_companyfacts(SEVEN, "Seventy-Seven Corp", finer))
    ) == {SEVEN}
    assert list_due_after(two_companies, lambda: store_prices(two_companies, 2)) == {SEVEN}
    assert list_due_after(two_companies, lambda: store_prices(two_companies, 3, "2024-01-03")) == {SEVEN}
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
        assert list_due_after(two_companies, lambda change=change: execute(two_companies, change)) == due, change


def test_a_company_without_figures_is_computed_once(two_companies: App) -> None:
    execute(two_companies, "DELETE FROM fact_sets WHERE cik = 88")
    latest_years_work.compute_all_latest_years(two_companies)
    assert read_stored_years(two_companies)[EIGHT] == "null"
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    assert [row["cik"] for row in caller.get("/api/v1/xbrl/screen").json["data"]] == ["0000000077"]


def test_a_screen_of_stored_years_equals_one_of_computed_years(two_companies: App) -> None:
    store_prices(two_companies, 2)
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    query = {"asset_turnover_gt": "0.1", "metrics": "market_cap,roe"}
    computed = caller.get("/api/v1/xbrl/screen", query=query).json
    assert len(two_companies.screening_cache) == 2
    two_companies.answer_cache._entries.clear()
    two_companies.screening_cache._entries.clear()
    latest_years_work.compute_all_latest_years(two_companies)
    stored = caller.get("/api/v1/xbrl/screen", query=query).json
    assert (stored["data"], stored["meta"]) == (computed["data"], computed["meta"])
    assert stored["data"][0]["metrics"]["market_cap"] == 1000
    assert len(two_companies.screening_cache) == 0


def test_a_screen_reads_one_company_more_than_its_page(two_companies: App) -> None:
    store_companyfacts(two_companies, build_companyfacts(99, "Ninety-Nine plc", year(99, 2023, 10)))
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    first = caller.get("/api/v1/xbrl/screen?limit=1").json
    assert [row["cik"] for row in first["data"]] == ["0000000077"]
    assert first["meta"]["pagination"] == {"limit": 1, "offset": 0, "has_more": True}
    assert len(two_companies.screening_cache) == 2
    last = caller.get("/api/v1/xbrl/screen?limit=1&offset=2").json
    assert [row["cik"] for row in last["data"]] == ["0000000099"]
    assert last["meta"]["pagination"] == {"limit": 1, "offset": 2, "has_more": False}
    assert caller.get("/api/v1/xbrl/screen?offset=3").json["data"] == []


def test_growth_is_known_when_the_figure_of_the_year_before_is(two_companies: App) -> None:
    query = {"where": "revenue_growth>0", "cik": "77"}
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    (company,) = caller.get("/api/v1/xbrl/screen", query=query).json["data"]
    assert (company["metrics"], company["known_on"]) == ({"revenue_growth": 0.000330906684315}, "2024-02-20")
    (concept, unit, row), *_ = year(SEVEN, 2022, 2000)
    restated = {**row, "accn": "0000000077-24-000009", "form": "10-K/A", "filed": "2024-05-01"}
    store_companyfacts(two_companies, build_companyfacts(SEVEN, "Seventy-Seven Corp", [(concept, unit, restated)]))
    (company,) = caller.get("/api/v1/xbrl/screen", query=query).json["data"]
    assert (company["metrics"], company["known_on"]) == ({"revenue_growth": 0.5115}, "2024-05-01")


def test_a_screen_compares_others_while_many_years_are_due(two_companies: App, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    latest_years_work.compute_all_latest_years(two_companies)
    for cik in (99, 101):
        store_companyfacts(two_companies, build_companyfacts(cik, f"Company {cik}", year(cik, 2023, 1000)))
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 1)
    partial = caller.get("/api/v1/xbrl/screen")
    assert (partial.status, partial.headers["x-tokens-charged"]) == (200, "10")
    assert [row["cik"] for row in partial.json["data"]] == [f"{SEVEN:010}", f"{EIGHT:010}"]
    assert partial.json["meta"]["screen"]["pending"] == 2
    # Nothing was computed, and the answer can be neither cached nor revalidated.
    assert len(two_companies.screening_cache) == 0
    assert ("etag" in partial.headers, partial.headers["cache-control"]) == (False, "no-store")
    for path in ("/api/v1/xbrl/screen?format=csv", "/api/v1/xbrl/screen?format=ndjson"):
        refused = caller.get(path)
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        assert (refused.json["code"], refused.json["details"]) == ("UNAVAILABLE", {"pending": 2})
        assert refused.headers["x-tokens-charged"] == "0"
    # A screen of few selected companies computes their years.
    selected = caller.get("/api/v1/xbrl/screen?cik=99")
    assert [row["cik"] for row in selected.json["data"]] == ["0000000099"]
    assert (selected.json["meta"]["screen"]["pending"], "etag" in selected.headers) == (0, True)
    latest_years_work.compute_all_latest_years(two_companies)
    complete = caller.get("/api/v1/xbrl/screen")
    assert (len(complete.json["data"]), complete.json["meta"]["screen"]["pending"]) == (4, 0)
    assert "etag" in complete.headers


def test_a_failing_company_is_left_out_of_screens(
    two_companies: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compute = years.compute
    computed_ciks = []

    def failing(tx: Transaction, company: Company, price: PriceOnDay | None) -> years.ComputedYear:
        computed_ciks.append(company.cik)
        if company.cik == SEVEN:
            raise KeyError("no\nperiod")
        return compute(tx, company, price)

    monkeypatch.setattr(years, "compute", failing)
    caller = Client(two_companies, users.create(two_companies, "ann@example.com", "pro", NOW).api_key)
    answer = caller.get("/api/v1/xbrl/screen").json
    assert ([row["cik"] for row in answer["data"]], answer["meta"]["screen"]["left_out"]) == (["0000000088"], 1)
    caplog.clear()
    latest_years_work.compute_all_latest_years(two_companies)
    latest_years_work.compute_all_latest_years(two_companies)
    assert computed_ciks == [SEVEN, EIGHT] * 2
    assert [record.args for record in caplog.records] == [(SEVEN,)]
    assert read_stored_years(two_companies)[SEVEN] == "failed: KeyError('no\\nperiod')"
    two_companies.answer_cache._entries.clear()
    for question, left_out in {"limit=1": 1, "cik=77": 1, "cik=88": 0, "roe_gt=0&roe_lt=0": 1}.items():
        assert caller.get(f"/api/v1/xbrl/screen?{question}").json["meta"]["screen"]["left_out"] == left_out
    # As its data change it is tried again.
    monkeypatch.setattr(years, "compute", compute)
    execute(two_companies, "UPDATE companies SET sic = 6021 WHERE cik = 77")
    latest_years_work.compute_all_latest_years(two_companies)
    assert read_stored_years(two_companies) == compute_years(two_companies)
    two_companies.answer_cache._entries.clear()
    answer = caller.get("/api/v1/xbrl/screen").json
    assert (len(answer["data"]), answer["meta"]["screen"]["left_out"]) == (2, 0)


def test_database_and_memory_errors_mark_no_company_as_failed(
    two_companies: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (
        StoreUnavailableError(),
        DatabaseError("interrupted"),
        MemoryError(),
        ApiError("UNAVAILABLE", "Locked."),
    ):
        monkeypatch.setattr(years, "compute", Mock(side_effect=error))
        with pytest.raises(type(error)):
            latest_years_work.compute_all_latest_years(two_companies)
        assert read_stored_years(two_companies) == {SEVEN: None, EIGHT: None}


def test_the_mcp_verb_computes_due_years_before_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_app(Config(data_dir=tmp_path)) as app:
        for cik in (SEVEN, EIGHT):
            store_companyfacts(app, build_companyfacts(cik, f"Company {cik}", year(cik, 2023, 1000)))
        key = users.create(app, "ann@example.com", "pro", app.clock.now()).api_key
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 0)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    call = {"name": "screen_companies", "arguments": {"where": ["net_margin > 0"]}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(request.encode() + b"\n")))
    assert cli.main(["mcp", "--data-dir", str(tmp_path), "--key", key]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert not result["isError"]
    ciks = {row["cik"] for row in result["structuredContent"]["data"]}
    assert {f"{SEVEN:010}", f"{EIGHT:010}"} <= ciks


def test_years_computed_by_other_rules_are_recomputed(two_companies: App) -> None:
    latest_years_work.compute_all_latest_years(two_companies)
    execute(two_companies, "UPDATE latest_years SET made_by = 'before', figures = '1999-12-31'")
    assert read_stored_years(two_companies) == {SEVEN: None, EIGHT: None}
    latest_years_work.compute_all_latest_years(two_companies)
    assert read_stored_years(two_companies) == compute_years(two_companies)


def test_a_year_of_facts_that_changed_meanwhile_is_not_stored(two_companies: App) -> None:
    with two_companies.db.read() as tx:
        due = [(stored, years.ComputedYear("null", b"", [])) for stored in years.list_due(tx, 10)]
    store_companyfacts(two_companies, build_companyfacts(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2024, 4000)))
    with two_companies.db.write() as tx:
        years.store(tx, due)
        assert [row["cik"] for row in tx._connection.execute("SELECT cik FROM kept_books")] == [EIGHT]
    assert read_stored_years(two_companies) == {SEVEN: None, EIGHT: "null"}


def test_the_order_of_documents_does_not_change_stored_years(clock: FixedClock) -> None:
    netflix = 1065280
    copies = [
        build_companyfacts(netflix, "Netflix", year(netflix, document, revenue))
        for document, revenue in ((2022, 9), (2023, 8))
    ]
    stored_years = set()
    for order in itertools.permutations(("filing", *copies)):
        app = apps.create_in_memory(Config(), clock)
        for document in order:
            if isinstance(document, bytes):
                assert list_due_after(app, lambda app=app, document=document: store_companyfacts(app, document)) == {
                    netflix
                }
            else:
                list_due_after(app, lambda app=app: ingest.run(app, [FILINGS], IngestOptions(), lambda outcome: None))
        stored_years.add(tuple(read_stored_years(app).items()))
        app.db.close()
    ((year_by_cik,),) = stored_years
    assert year_by_cik[1].startswith("2023-12-31\n")


def test_a_restored_database_keeps_its_latest_years(tmp_path: Path, clock: FixedClock) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    app = apps.open_on_disk(Config(data_dir=first), clock)
    store_companyfacts(app, build_companyfacts(SEVEN, "Seventy-Seven Corp", year(SEVEN, 2023, 4000)))
    latest_years_work.compute_all_latest_years(app)
    with backup.temporary_copy(first / "finapi.db", tmp_path, "copy") as copied:
        before = read_stored_years(app)
        app.db.close()
        copied.rename(second / "finapi.db")
    app = apps.open_on_disk(Config(data_dir=second), clock, new_secrets=True)
    assert read_stored_years(app) == compute_years(app) == before
    app.db.close()
