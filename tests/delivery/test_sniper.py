"""Tests of sniper targets: windows by the clock, slots, filters, and hits in the transaction that stores the filing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock, iso
from finapi.core.errors import ApiError
from finapi.delivery import events, sniper, webhooks
from finapi.delivery.sniper import STATES, TRANSITIONS, WatchedCompany
from finapi.market.documents import filing_store
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    HEADER_EVIDENCE,
    INDEX_EVIDENCE,
    PARTY_RANKS,
    FilingMetadata,
    Party,
)
from finapi.market.reference import companies
from tests.conftest import NOW
from tests.support.case_tables import run_each_case

APPLE, TIM = 320193, 1214156
WATCHED = WatchedCompany(APPLE, "AAPL")
ACCESSION = "0000320193-26-000001"
HAPPENINGS = ("window_opened", "filing_hit", "window_expired", "manual_stop")


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    created_app = make_app(sniper_slots=3)
    numbers = itertools.count(1)
    # A fresh target id each time, and the same ones in every run.
    object.__setattr__(created_app, "random_bytes", lambda size: next(numbers).to_bytes(size))
    with created_app.db.write() as tx:
        companies.upsert_name(tx, APPLE, "Apple Inc.", companies.FROM_SUBMISSIONS, "2026-01-01")
        companies.upsert_tickers(tx, APPLE, [("AAPL", "Nasdaq")], companies.FROM_SUBMISSIONS)
    return created_app


def keep(tx: object, answer: Any) -> Any:
    return answer


def create(app: App, user: users.NewUser, **body: Any) -> dict[str, Any]:
    body.setdefault("webhook_url", "https://example.com/hook")
    return sniper.create_target(app, user.id, WATCHED, body, app.clock.now(), keep)


def targets(app: App, user: users.NewUser, **filters: Any) -> Any:
    with app.db.read() as tx:
        return sniper.list_targets(app, tx, user.id, app.clock.now(), **{"limit": 50, **filters})


def state(app: App, user: users.NewUser) -> tuple[str, str | None]:
    (target,) = targets(app, user)["targets"]
    return target["status"], target["resolution_reason"]


def store(app: App, form: str = "10-Q", accession: str = ACCESSION, **metadata: Any) -> None:
    """Store a filing as its own document tells of it."""
    metadata.setdefault("parties", [Party(APPLE, PARTY_RANKS["filer"], "Apple Inc.")])
    metadata.setdefault("accepted_at", "2026-01-31T11:58:00.000Z")
    evidence = metadata.pop("evidence", HEADER_EVIDENCE)
    with app.db.write() as tx:
        filing_store.upsert(
            tx, FilingMetadata(accession, evidence, form=form, filed_at="2026-01-31", **metadata), app.clock.now()
        )


def outbox(app: App, user: users.NewUser) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        delivery_list: list[dict[str, Any]] = webhooks.list_deliveries(tx, user.id, 50)["deliveries"]
    return delivery_list


# ---- the table


def test_every_state_but_the_last_leads_on_and_the_last_never() -> None:
    for before, happening in itertools.product(STATES, HAPPENINGS):
        move = TRANSITIONS.get((before, happening))
        if before == "STOPPED":
            assert move is None
        elif move is not None:
            after, reason = move
            assert (reason is not None) == (after == "STOPPED")
            assert reason in (None, happening)


# ---- windows


def test_a_window_lasts_an_hour_by_default(app: App, user: users.NewUser) -> None:
    target = create(app, user)
    assert target == {
        "target_id": "tgt_100000000000",
        "ticker": "AAPL",
        "status": "ACTIVE",
        "start_time": iso(NOW),
        "end_time": iso(NOW + timedelta(hours=1)),
        "form_types": [],
        "webhook_url": "https://example.com/hook",
        "created_at": iso(NOW),
    }
    assert create(app, user, duration_minutes=1440)["end_time"] == iso(NOW + timedelta(days=1))
    later = create(app, user, start_time="2026-01-31T14:00:00+01:00", end_time="2026-01-31T13:30:00.5Z")
    assert (later["start_time"], later["end_time"]) == ("2026-01-31T13:00:00.000Z", "2026-01-31T13:30:00.500Z")
    assert later["status"] == "CREATED"


@run_each_case(
    "body, param",
    [
        ({"end_time": "2026-01-31T12:00:30Z"}, "end_time"),
        ({"end_time": "2026-02-01T12:01:00Z"}, "end_time"),
        ({"end_time": "2026-01-31T11:59:00Z"}, "end_time"),
        ({"end_time": "2026-01-31T12:30:00Z", "duration_minutes": 30}, "end_time"),
        ({"start_time": "2026-01-31T10:00:00Z"}, "start_time"),
        ({"start_time": "2028-01-31T10:00:00Z"}, "start_time"),
        ({"start_time": "2026-01-31T14:00:00"}, "start_time"),
        ({"start_time": "tomorrow"}, "start_time"),
        ({"start_time": "0001-01-01T00:00:00+14:00"}, "start_time"),
        ({"start_time": "2026-01-31T14:00:00Z", "end_time": "2026-01-31T13:00:00Z"}, "end_time"),
        ({"form_types": ["10-Q", "no form"] * 2 + ["<script>"]}, "form_types"),
        ({"form_types": [f"F-{number}" for number in range(51)]}, "form_types"),
        ({"webhook_url": "https://169.254.169.254/"}, "webhook_url"),
        ({"webhook_url": "http://example.com/"}, "webhook_url"),
    ],
)
def test_a_target_that_cannot_be_is_refused_by_name(
    app: App, user: users.NewUser, body: dict[str, Any], param: str
) -> None:
    with pytest.raises(ApiError) as caught:
        create(app, user, **body)
    assert (caught.value.code, (caught.value.details or {})["param"]) == ("INVALID_PARAM", param)
    assert targets(app, user)["targets"] == []


def test_the_clock_opens_and_closes_a_window(app: App, user: users.NewUser, clock: FixedClock) -> None:
    create(app, user, start_time=iso(NOW + timedelta(minutes=5)), duration_minutes=10)
    assert state(app, user) == ("CREATED", None)
    for written in (False, True):  # an answer is right before the worker has looked, and after
        if written:
            sniper.run_window_step(app, clock.now())
        assert state(app, user) == ("CREATED", None)
    clock.advance(300)
    assert state(app, user) == ("ACTIVE", None)
    assert sniper.run_window_step(app, clock.now()) == 0.0
    assert sniper.run_window_step(app, clock.now()) == sniper.ADVANCE_SECONDS
    assert state(app, user) == ("ACTIVE", None)
    clock.advance(600)
    assert state(app, user) == ("STOPPED", "window_expired")
    sniper.run_window_step(app, clock.now())
    assert state(app, user) == ("STOPPED", "window_expired")
    assert targets(app, user)["targets"][0]["stopped_at"] == iso(NOW + timedelta(minutes=15))


def test_a_window_that_nobody_watched_begin_still_ends(app: App, user: users.NewUser, clock: FixedClock) -> None:
    create(app, user, start_time=iso(NOW + timedelta(minutes=5)))
    clock.advance(86_400)
    sniper.run_window_step(app, clock.now())
    assert state(app, user) == ("STOPPED", "window_expired")


def test_an_expiry_is_told_to_those_who_want_it(app: App, user: users.NewUser, clock: FixedClock) -> None:
    create(app, user, form_types=["8-k"])
    other = users.create(app, "bob@example.com", "pro", NOW)
    users.update(app, other.id, {"webhook_topics": ["sniper.window_expired"]}, NOW)
    target = create(app, other, form_types=["8-k"], duration_minutes=1)
    clock.advance(3600)
    sniper.run_window_step(app, clock.now())
    sniper.run_window_step(app, clock.now())
    assert outbox(app, user) == []
    (delivery,) = outbox(app, other)
    assert (delivery["event_type"], delivery["target_id"]) == ("sniper.window_expired", target["target_id"])
    assert delivery["occurred_at"] == target["end_time"]
    assert delivery["payload"] == {
        "ticker": "AAPL",
        "issuer_cik": "0000320193",
        "start_time": target["start_time"],
        "end_time": target["end_time"],
        "form_types": ["8-K"],
    }


# ---- slots


def test_slots_are_taken_until_a_target_ends(app: App, user: users.NewUser, clock: FixedClock) -> None:
    for minutes in (10, 20, 30):
        create(app, user, duration_minutes=minutes)
    with pytest.raises(ApiError, match="All 3 slots are taken") as caught:
        create(app, user)
    assert caught.value.code == "CONFLICT"
    assert targets(app, user)["meta"] == {
        "total": 3,
        "limit": 50,
        "offset": 0,
        "has_more": False,
        "active_count": 3,
        "slots_available": 0,
    }
    # Another account has slots of its own; an expiry frees one before anybody has written it down.
    create(app, users.create(app, "bob@example.com", "pro", NOW))
    clock.advance(600)
    assert targets(app, user)["meta"]["slots_available"] == 1
    create(app, user)


def test_a_stop_says_how_many_places_others_leave(app: App, user: users.NewUser, clock: FixedClock) -> None:
    target = create(app, user, form_types=[f"F-{number}" for number in range(50)])
    create(app, user)
    assert sniper.stop_target(app, user.id, target["target_id"], clock.now(), keep)["slots_available"] == 2


def test_a_target_is_stopped_by_hand_once(app: App, user: users.NewUser, clock: FixedClock) -> None:
    target = create(app, user)
    clock.advance(60)
    stopped = sniper.stop_target(app, user.id, target["target_id"], clock.now(), keep)
    assert stopped == {
        "target_id": target["target_id"],
        "ticker": "AAPL",
        "status": "STOPPED",
        "resolution_reason": "manual_stop",
        "stopped_at": iso(NOW + timedelta(seconds=60)),
        "slots_available": 3,
    }
    clock.advance(7200)
    assert sniper.stop_target(app, user.id, target["target_id"], clock.now(), keep) == stopped
    store(app)
    assert outbox(app, user) == []


def test_stopping_what_has_expired_says_so_and_still_tells(app: App, user: users.NewUser, clock: FixedClock) -> None:
    users.update(app, user.id, {"webhook_topics": ["sniper.window_expired"]}, NOW)
    target = create(app, user)
    clock.advance(7200)
    stopped = sniper.stop_target(app, user.id, target["target_id"], clock.now(), keep)
    assert (stopped["resolution_reason"], stopped["stopped_at"]) == ("window_expired", target["end_time"])
    assert [delivery["event_type"] for delivery in outbox(app, user)] == ["sniper.window_expired"]


def test_targets_of_other_users_are_not_found(app: App, user: users.NewUser) -> None:
    target = create(app, user)
    other = users.create(app, "bob@example.com", "pro", NOW)
    with pytest.raises(ApiError) as caught:
        sniper.stop_target(app, other.id, target["target_id"], NOW, keep)
    assert caught.value.code == "NOT_FOUND"
    assert targets(app, other)["targets"] == []
    assert state(app, user) == ("ACTIVE", None)


# ---- hits


def test_a_filing_stops_its_target_in_one_transaction(app: App, user: users.NewUser) -> None:
    target = create(app, user, form_types=["10-q", "10-K"])
    store(app)
    assert state(app, user) == ("STOPPED", "filing_hit")
    (stopped,) = targets(app, user)["targets"]
    folder = "https://www.sec.gov/Archives/edgar/data/320193/000032019326000001"
    url = f"{folder}/{ACCESSION}-index.htm"
    assert stopped["last_event"] == {
        "accession_number": ACCESSION,
        "form_type": "10-Q",
        "filed_at": "2026-01-31T11:58:00.000Z",
    }
    assert stopped["candidate_urls"] == [{"accession": ACCESSION, "url": url}]
    assert stopped["processing_state"] == "resolved"
    (delivery,) = outbox(app, user)
    assert (delivery["event_type"], delivery["target_id"]) == ("sniper.filing_hit", target["target_id"])
    assert delivery["url"] == "https://example.com/hook"
    assert delivery["occurred_at"] == "2026-01-31T11:58:00.000Z"
    assert delivery["payload"] == {
        "ticker": "AAPL",
        "issuer_cik": "0000320193",
        "accession_number": ACCESSION,
        "form_type": "10-Q",
        "filed_at": "2026-01-31T11:58:00.000Z",
        "filing_url": url,
    }


def test_a_filing_that_is_rolled_back_hits_nothing(app: App, user: users.NewUser) -> None:
    create(app, user)
    metadata = FilingMetadata(
        ACCESSION, HEADER_EVIDENCE, [Party(APPLE, 2, "Apple Inc.")], form="10-Q", filed_at="2026-01-31"
    )
    with suppress(KeyError), app.db.write() as tx:
        filing_store.upsert(tx, metadata, NOW)
        assert len(tx.list_rows("outbox_rows", limit=9, after=0, again=False)) == 2  # the event and the hit
        raise KeyError
    assert state(app, user) == ("ACTIVE", None)
    assert outbox(app, user) == []


@pytest.mark.parametrize(
    ("forms", "form", "hit"),
    [
        ([], "S-1", True),
        (["10-Q"], "10-Q", True),
        (["10-Q"], "10-Q/A", False),
        (["4"], "424B2", False),
        (["SC 13D", "8-K"], "8-K", True),
    ],
)
def test_forms_are_compared_whole(app: App, user: users.NewUser, forms: list[str], form: str, hit: bool) -> None:
    create(app, user, form_types=forms)
    store(app, form)
    assert state(app, user) == (("STOPPED", "filing_hit") if hit else ("ACTIVE", None))
    assert len(outbox(app, user)) == int(hit)


def test_every_party_of_a_filing_is_watched_for(app: App, user: users.NewUser) -> None:
    create(app, user)
    store(app, "SC 13D", parties=[Party(TIM, PARTY_RANKS["subject"], "T"), Party(APPLE, PARTY_RANKS["filed_by"], "A")])
    (delivery,) = outbox(app, user)
    assert delivery["payload"]["issuer_cik"] == "0000320193"


def test_nothing_is_hit_before_or_after_its_window(app: App, user: users.NewUser, clock: FixedClock) -> None:
    create(app, user, start_time=iso(NOW + timedelta(minutes=1)), duration_minutes=1)
    store(app, accession="0000320193-26-000001")
    clock.advance(60)
    # Open by the clock although nobody has written it down.
    create(app, user, start_time=iso(NOW + timedelta(hours=1)))
    store(app, accession="0000320193-26-000002")
    clock.advance(60)
    store(app, accession="0000320193-26-000003")
    assert [delivery["payload"]["accession_number"] for delivery in outbox(app, user)] == ["0000320193-26-000002"]


UNDATED = FilingMetadata(ACCESSION, DOCUMENT_EVIDENCE, [Party(APPLE, PARTY_RANKS["issuer"], "Apple Inc.")], form="4")


@pytest.mark.parametrize(
    ("evidence", "times", "filed_at"),
    [
        (
            HEADER_EVIDENCE,
            {"filed_at": "2026-01-30", "accepted_at": "2026-01-30T22:00:00.000Z"},
            "2026-01-30T22:00:00.000Z",
        ),
        (DOCUMENT_EVIDENCE, {"accepted_at": "2026-01-30T22:00:00.000Z"}, "2026-01-30T22:00:00.000Z"),
        (INDEX_EVIDENCE, {"filed_at": "2019-01-30"}, "2019-01-30T00:00:00.000Z"),
    ],
)
def test_a_filing_without_a_date_hits_once_its_date_is_known(
    app: App, user: users.NewUser, clock: FixedClock, evidence: int, times: dict[str, str], filed_at: str
) -> None:
    create(app, user)
    for metadata in (UNDATED, replace(UNDATED, period_of_report="2026-01-28")):
        with app.db.write() as tx:
            filing_store.upsert(tx, metadata, app.clock.now())
        assert (state(app, user), outbox(app, user)) == (("ACTIVE", None), [])
    with app.db.read() as tx:
        assert len(events.list_events_after(tx, events.MAIN_FEED, 0, 9)) == 1  # it is announced all the same
    clock.advance(300)
    for changes in ({}, {"primary_document": "a.xml"}):
        with app.db.write() as tx:
            filing_store.upsert(tx, replace(UNDATED, evidence=evidence, **times, **changes), app.clock.now())
    (told_of,) = outbox(app, user)
    assert (told_of["occurred_at"], told_of["payload"]["filed_at"]) == (filed_at, filed_at)
    assert state(app, user) == ("STOPPED", "filing_hit")
    with app.db.read() as tx:
        assert len(events.list_events_after(tx, events.MAIN_FEED, 0, 9)) == 1


def test_of_a_list_only_news_is_hit(app: App, user: users.NewUser) -> None:
    create(app, user)
    old = {"accepted_at": "2019-01-31T11:58:00.000Z"}
    store(app, accession="0000320193-19-000001", evidence=INDEX_EVIDENCE, **old)
    assert state(app, user) == ("ACTIVE", None)
    store(app, accession="0000320193-26-000002", evidence=INDEX_EVIDENCE)
    assert state(app, user) == ("STOPPED", "filing_hit")


def test_a_filing_hits_every_target_that_waits_for_it_once(app: App, user: users.NewUser) -> None:
    other = users.create(app, "bob@example.com", "pro", NOW)
    for account in (user, user, other):
        create(app, account)
    store(app)
    store(app, period_of_report="2025-12-31")
    assert (len(outbox(app, user)), len(outbox(app, other))) == (2, 1)
    create(app, user)
    store(app, primary_document="a.htm")
    assert targets(app, user, status="ACTIVE")["meta"]["total"] == 1


def test_without_a_receiver_of_its_own_a_hit_goes_to_the_account(app: App, user: users.NewUser) -> None:
    create(app, user, webhook_url=None)
    assert targets(app, user)["targets"][0]["webhook_url"] is None
    users.update(app, user.id, {"webhook_url": "https://example.com/account"}, NOW)
    assert targets(app, user)["targets"][0]["webhook_url"] == "https://example.com/account"
    store(app)
    assert [delivery["url"] for delivery in outbox(app, user)] == ["https://example.com/account"]


def test_a_hit_that_nobody_can_be_told_of_is_still_one(app: App, user: users.NewUser) -> None:
    create(app, user, webhook_url=None)
    store(app)
    assert state(app, user) == ("STOPPED", "filing_hit")
    assert outbox(app, user) == []


def test_targets_are_listed_by_state_and_ticker(app: App, user: users.NewUser, clock: FixedClock) -> None:
    create(app, user, duration_minutes=1)
    create(app, user, start_time=iso(NOW + timedelta(hours=2)))
    clock.advance(60)
    create(app, user)
    counts = {status: targets(app, user, status=status)["meta"]["total"] for status in STATES}
    assert counts == {"CREATED": 1, "ACTIVE": 1, "STOPPED": 1}
    assert targets(app, user, ticker="MSFT")["targets"] == []
    page = targets(app, user, ticker="AAPL", limit=2, offset=1)
    assert [target["status"] for target in page["targets"]] == ["CREATED", "STOPPED"]
    assert json.dumps(page["meta"]) == json.dumps(
        {"total": 3, "limit": 2, "offset": 1, "has_more": False, "active_count": 2, "slots_available": 1}
    )
