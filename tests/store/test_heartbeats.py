"""Tests of heartbeats and arrivals: the last one counts, and a rolled back one leaves no trace."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.market.demo import demo_data
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.market.statements import xbrl_intake
from finapi.store import heartbeats
from finapi.store.db import ConstraintError
from finapi.store.heartbeats import Heartbeat
from tests.conftest import NOW
from tests.support import fund_filings, ownership_xml

FILING = Path(__file__).parents[1] / "filings" / "nflx-10q-20100930"
AT_NOON = "2026-01-31T12:00:00.000Z"
A_MINUTE_LATER = "2026-01-31T12:01:00.000Z"


def beats(app: App) -> dict[str, Heartbeat]:
    with app.db.read() as tx:
        return heartbeats.get_heartbeats(tx)


def freshness(app: App) -> dict[str, str | None]:
    with app.db.read() as tx:
        return {**heartbeats.get_freshness(tx)}


def ingest_filing(app: App) -> int:
    options = IngestOptions("0001193125-10-999999", "2010-10-27")
    return ingest.run(app, [FILING], options, lambda outcome: None)["ingested"]


def test_a_part_that_never_made_a_step_has_no_beat(app: App) -> None:
    assert beats(app) == {}


def test_the_last_step_is_stored_with_its_time_and_failure(app: App) -> None:
    with app.db.write() as tx:
        heartbeats.record_beat(tx, "sec_gateway", NOW, took_ms=87)
        heartbeats.record_beat(tx, "sec_worker", NOW)
    with app.db.write() as tx:
        heartbeats.record_beat(tx, "sec_gateway", NOW + timedelta(minutes=1), failure="EDGAR answered 503")
    assert beats(app) == {
        "sec_gateway": Heartbeat("sec_gateway", A_MINUTE_LATER, None, "EDGAR answered 503"),
        "sec_worker": Heartbeat("sec_worker", AT_NOON, None, None),
    }


def test_a_step_that_succeeds_clears_the_failure_before_it(app: App) -> None:
    with app.db.write() as tx:
        heartbeats.record_beat(tx, "sec_gateway", NOW, failure="EDGAR answered 503")
        heartbeats.record_beat(tx, "sec_gateway", NOW, took_ms=3)
    assert beats(app)["sec_gateway"] == Heartbeat("sec_gateway", AT_NOON, 3, None)


def test_a_step_that_is_rolled_back_has_not_beaten(app: App) -> None:
    def step() -> None:
        with app.db.write() as tx:
            heartbeats.record_beat(tx, "sec_worker", NOW)
            raise KeyError

    with pytest.raises(KeyError):
        step()
    assert beats(app) == {}


@pytest.mark.parametrize("wrong", [{"took_ms": -1}, {"failure": ""}])
def test_a_beat_without_sense_is_refused(app: App, wrong: dict[str, object]) -> None:
    with pytest.raises(ConstraintError), app.db.write() as tx:
        heartbeats.record_beat(tx, "sec_worker", NOW, **wrong)  # type: ignore[arg-type]


def test_what_never_came_in_has_no_time(app: App) -> None:
    assert freshness(app) == {"filing": None, "13f_batch": None, "xbrl_run": None, "news": None}


def test_a_kind_of_data_that_finapi_does_not_have_is_refused(app: App) -> None:
    with pytest.raises(ConstraintError), app.db.write() as tx:
        heartbeats.record_arrival(tx, "weather", NOW)  # type: ignore[arg-type]


def test_a_filing_is_an_arrival_only_the_first_time(app: App, clock: FixedClock) -> None:
    expected = {"filing": AT_NOON, "13f_batch": None, "xbrl_run": AT_NOON, "news": None}
    assert ingest_filing(app) > 0
    assert freshness(app) == expected
    clock.advance(60)
    assert ingest_filing(app) == 0
    assert freshness(app) == expected


# What a document of each kind brings, and what of it counts as fresh.
BROUGHT: dict[str, tuple[bytes, set[str]]] = {
    "form4.xml": (ownership_xml.form(ownership_xml.transaction()), {"filing"}),
    "report.txt": (fund_filings.june(), {"filing", "13f_batch"}),
    "AAPL.csv": (b"Date,Open,High,Low,Close,Volume\n2026-01-30,1,2,1,2,100\n", set()),
}


@pytest.mark.parametrize("name", BROUGHT)
def test_a_document_arrives_when_it_is_stored_and_never_again(
    app: App, clock: FixedClock, tmp_path: Path, name: str
) -> None:
    data, fresh = BROUGHT[name]
    (tmp_path / name).write_bytes(data)
    for counts in ({"ingested": 1}, {"unchanged": 1}):
        options = IngestOptions(ticker="AAPL" if name.endswith(".csv") else None)
        outcomes = ingest.run(app, [tmp_path / name], options, lambda outcome: None)
        assert {outcome: number for outcome, number in outcomes.items() if number} == counts
        assert {kind for kind, at in freshness(app).items() if at == AT_NOON} == fresh
        assert set(freshness(app).values()) <= {None, AT_NOON}
        clock.advance(60)


def test_an_arrival_is_of_the_transaction_that_stores(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = xbrl_intake.FAMILY.store

    def breaks(*arguments: object) -> bool:
        stored(*arguments)  # type: ignore[arg-type]
        heartbeats.record_arrival(arguments[0], "filing", NOW)  # type: ignore[arg-type]
        raise RuntimeError("after the last row")

    monkeypatch.setattr(xbrl_intake, "FAMILY", replace(xbrl_intake.FAMILY, store=breaks))
    assert ingest_filing(app) == 0
    assert set(freshness(app).values()) == {None}


def test_embedded_data_arrive_as_ingested_data_do(app: App) -> None:
    assert demo_data.load(app) > 0
    # An 8-K that a list brings is news too.
    assert freshness(app) == {"filing": AT_NOON, "13f_batch": AT_NOON, "xbrl_run": AT_NOON, "news": AT_NOON}
