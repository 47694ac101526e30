"""Sniper targets: a company watched for a filing for a time (CONTRACT 9, ``wire.json``).

What happens to a target is in one table, :data:`MOVES`. A hit is found in the transaction that stores the
filing; windows open and close by the clock, when ``advance`` is called and, for whoever asks, at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from finapi import webhooks
from finapi.app import App
from finapi.clock import iso
from finapi.db import Row, Transaction
from finapi.errors import ApiError, invalid_param
from finapi.webhooks import Finish, T

CREATED, ACTIVE, STOPPED = STATES = ("CREATED", "ACTIVE", "STOPPED")

# (state, what happens) -> (next state, resolution_reason). What is not here changes nothing.
MOVES: dict[tuple[str, str], tuple[str, str | None]] = {
    (CREATED, "window_opened"): (ACTIVE, None),
    (CREATED, "window_expired"): (STOPPED, "window_expired"),  # nobody looked between its two ends
    (CREATED, "manual_stop"): (STOPPED, "manual_stop"),
    (ACTIVE, "filing_hit"): (STOPPED, "filing_hit"),
    (ACTIVE, "window_expired"): (STOPPED, "window_expired"),
    (ACTIVE, "manual_stop"): (STOPPED, "manual_stop"),
}

# wire.json's processing_state, by state.
PROCESSING = {CREATED: "scheduled", ACTIVE: "watching", STOPPED: "resolved"}

WINDOW_MINUTES = 60  # when nothing is said of it; 1 to 1440 otherwise
LEAST_MINUTES, MOST_MINUTES = 1, 1440
FURTHEST = timedelta(days=366)  # that a window may begin ahead
MAX_FORMS = 50
ADVANCE_SECONDS = 1.0  # between two looks at the clock
BATCH = 100  # targets that one look moves in a transaction

_FORM = re.compile(r"[A-Z0-9][A-Z0-9 /.&-]{0,19}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Watched:
    """A company as a target names it."""

    cik: int
    ticker: str


@dataclass(frozen=True, slots=True)
class Filing:
    """A filing as a hit tells of it: ``ciks`` of all its parties, the acceptance, its index page at the SEC."""

    accession: str
    ciks: tuple[int, ...]
    form: str
    filed_at: str
    url: str


def create(
    app: App, user_id: int, watched: Watched, body: Mapping[str, Any], now: datetime, finish: Finish[T]
) -> T:
    """Watch a company; ``finish`` of the target as ``POST /sniper/targets`` answers it.

    INVALID_PARAM for a window or form that cannot be, CONFLICT when every slot is taken.
    """
    start, end = _window(body, now)
    forms = _forms(body.get("form_types") or [])
    if body.get("webhook_url") is not None:
        webhooks.check_url(app, "webhook_url", body["webhook_url"])
    target_id = f"tgt_{_base62(app.random_bytes)}"
    with app.db.write() as tx:
        _take_slot(app, tx, user_id, now)
        tx.run(
            "insert_target",
            target_id=target_id,
            user_id=user_id,
            cik=watched.cik,
            ticker=watched.ticker,
            state=ACTIVE if start <= now else CREATED,
            form_types=json.dumps(forms),
            webhook_url=body.get("webhook_url"),
            start_time=iso(start),
            end_time=iso(end),
            now=iso(now),
        )
        return finish(tx, _shown(_mine(tx, user_id, target_id), now))


def stop(app: App, user_id: int, target_id: str, now: datetime, finish: Finish[T]) -> T:
    """Stop a target by hand; one that has stopped stays as it is. ``finish`` of what became of it.

    NOT_FOUND when the user has none of this id.
    """
    with app.db.write() as tx:
        row = _mine(tx, user_id, target_id)
        if row["end_time"] <= iso(now):
            _expire(tx, row, now)
        else:
            _move(tx, row, "manual_stop", now)
        row = _mine(tx, user_id, target_id)
        answer = {
            "target_id": row["target_id"],
            "ticker": row["ticker"],
            "status": row["state"],
            "resolution_reason": row["resolution_reason"],
            "stopped_at": row["stopped_at"],
            "slots_available": app.config.sniper_slots - _used(tx, user_id, now),
        }
        return finish(tx, answer)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which targets to list: newest first."""

    limit: int
    offset: int
    status: str | None = None
    ticker: str | None = None


def listed(app: App, tx: Transaction, user_id: int, wanted: Wanted, now: datetime) -> dict[str, Any]:
    """The user's targets as ``GET /sniper/targets`` answers."""
    rows = tx.all(
        "targets_of_user",
        user_id=user_id,
        status=wanted.status,
        ticker=wanted.ticker,
        now=iso(now),
        limit=wanted.limit,
        offset=wanted.offset,
    )
    total = tx.value(
        "count_targets", user_id=user_id, status=wanted.status, ticker=wanted.ticker, now=iso(now)
    )
    used = _used(tx, user_id, now)
    return {
        "targets": [_shown_in_list(row, now) for row in rows],
        "meta": {
            "total": total,
            "limit": wanted.limit,
            "offset": wanted.offset,
            "active_count": used,
            "slots_available": max(app.config.sniper_slots - used, 0),
        },
    }


def hit(tx: Transaction, now: datetime, filing: Filing) -> int:
    """Stop every target that waits for this filing and tell its owner, in the transaction that stores it.

    How many targets those were.
    """
    hits = 0
    for row in tx.all("targets_watching", ciks=json.dumps(filing.ciks), now=iso(now)):
        forms = json.loads(row["form_types"])
        if forms and filing.form.upper() not in forms:
            continue
        # The window may have opened since the last look at the clock.
        _move(tx, row, "window_opened", now)
        if _move(tx, _by_id(tx, row["id"]), "filing_hit", now, filing):
            _tell_hit(tx, row, filing, now)
            hits += 1
    return hits


def advance(app: App, now: datetime) -> float:
    """Open and close the windows that the clock has passed; seconds until the next look. A worker's step."""
    with app.db.read() as tx:
        due = tx.all("targets_ending", now=iso(now), limit=1)
        due += tx.all("targets_beginning", now=iso(now), limit=1)
    if not due:
        return ADVANCE_SECONDS
    with app.db.write() as tx:
        for row in tx.all("targets_ending", now=iso(now), limit=BATCH):
            _expire(tx, row, now)
        for row in tx.all("targets_beginning", now=iso(now), limit=BATCH):
            _move(tx, row, "window_opened", now)
    return 0.0


def _move(tx: Transaction, row: Row, happening: str, now: datetime, filing: Filing | None = None) -> bool:
    """Let something happen to a target; whether that changed its state."""
    move = MOVES.get((row["state"], happening))
    if move is None:
        return False
    state, reason = move
    stopped_at = iso(now) if state == STOPPED else None
    return bool(
        tx.run(
            "move_target",
            id=row["id"],
            old=row["state"],
            state=state,
            reason=reason,
            # A window ends when it ends, whenever that is noticed.
            stopped_at=row["end_time"] if reason == "window_expired" else stopped_at,
            hit_accession=filing.accession if filing else None,
            hit_form=filing.form if filing else None,
            hit_filed_at=filing.filed_at if filing else None,
            hit_url=filing.url if filing else None,
        )
    )


def _tell_hit(tx: Transaction, row: Row, filing: Filing, now: datetime) -> None:
    receiver = webhooks.account(tx, row["user_id"], row["webhook_url"])
    if receiver is None:
        return
    payload = {
        "ticker": row["ticker"],
        "issuer_cik": f"{row['cik']:010}",
        "accession_number": filing.accession,
        "form_type": filing.form,
        "filed_at": filing.filed_at,
        "filing_url": filing.url,
    }
    event = webhooks.Event(
        "sniper.filing_hit", filing.filed_at, filing.accession, payload, target_id=row["target_id"]
    )
    webhooks.enqueue(tx, now, receiver, event)


def _expire(tx: Transaction, row: Row, now: datetime) -> None:
    """End a target whose window has passed, and tell its owner if that is wanted."""
    topic = "sniper.window_expired"
    if not _move(tx, row, "window_expired", now):
        return
    receiver = webhooks.account(tx, row["user_id"], row["webhook_url"], topic)
    if receiver is None:
        return
    payload = {
        "ticker": row["ticker"],
        "issuer_cik": f"{row['cik']:010}",
        "start_time": row["start_time"],
        "end_time": row["end_time"],
        "form_types": json.loads(row["form_types"]),
    }
    event = webhooks.Event(topic, row["end_time"], "expired", payload, target_id=row["target_id"])
    webhooks.enqueue(tx, now, receiver, event)


# ---- what is asked for


def _window(body: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    start = _time(body, "start_time") or now
    end = _time(body, "end_time")
    minutes = body.get("duration_minutes")
    if end is not None and minutes is not None:
        raise invalid_param(
            "end_time", "end_time and duration_minutes exclude each other.", expected="one of the two"
        )
    if start > now + FURTHEST:
        raise invalid_param("start_time", "start_time is more than a year ahead.", expected="time")
    if end is None:
        end = start + timedelta(minutes=minutes or WINDOW_MINUTES)
    length = (end - start).total_seconds() / 60
    name = "start_time" if body.get("start_time") and not body.get("end_time") else "end_time"
    if end <= now:
        raise invalid_param(name, "The window has ended already.", expected="a window that ends later")
    if not LEAST_MINUTES <= length <= MOST_MINUTES:
        bounds = f"{LEAST_MINUTES} to {MOST_MINUTES} minutes"
        raise invalid_param(name, f"The window must last {bounds}.", expected=bounds)
    return start, end


def _time(body: Mapping[str, Any], name: str) -> datetime | None:
    text = body.get(name)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        iso(moment)
    except (ValueError, OverflowError):
        expected = "ISO 8601 with its zone, 2026-01-31T12:00:00Z"
        raise invalid_param(name, f"{name} must be a time with its zone.", expected=expected) from None
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _forms(given: Sequence[str]) -> list[str]:
    forms = list(dict.fromkeys(form.strip().upper() for form in given))
    if len(forms) > MAX_FORMS or not all(_FORM.fullmatch(form) for form in forms):
        raise invalid_param(
            "form_types",
            f"form_types must be at most {MAX_FORMS} SEC form types.",
            expected='["8-K", "10-Q"]',
        )
    return forms


def _base62(random_bytes: Any) -> str:
    number = int.from_bytes(random_bytes(16))
    digits = []
    for _ in range(12):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(digits)


# ---- rows as they are shown


def _mine(tx: Transaction, user_id: int, target_id: str) -> Row:
    row = tx.one("target", user_id=user_id, target_id=target_id)
    if row is None:
        raise ApiError("NOT_FOUND", "There is no such target.")
    return row


def _by_id(tx: Transaction, id: int) -> Row:
    row = tx.one("target_by_id", id=id)
    assert row is not None
    return row


def _take_slot(app: App, tx: Transaction, user_id: int, now: datetime) -> None:
    slots, used = app.config.sniper_slots, _used(tx, user_id, now)
    if used >= slots:
        raise ApiError(
            "CONFLICT",
            f"All {slots} slots are taken; stop a target to free one.",
            details={"slots": slots, "active_count": used},
        )


def _used(tx: Transaction, user_id: int, now: datetime) -> int:
    used: int = tx.value("slots_used", user_id=user_id, now=iso(now))
    return used


def _state(row: Row, now: datetime) -> tuple[str, str | None, str | None]:
    """State, reason and end of a target as the clock has it, whether or not that has been written yet."""
    if row["state"] == STOPPED:
        return STOPPED, row["resolution_reason"], row["stopped_at"]
    if row["end_time"] <= iso(now):
        return STOPPED, "window_expired", row["end_time"]
    return (ACTIVE if row["start_time"] <= iso(now) else CREATED), None, None


def _shown(row: Row, now: datetime) -> dict[str, Any]:
    return {
        "target_id": row["target_id"],
        "ticker": row["ticker"],
        "status": _state(row, now)[0],
        "start_time": row["start_time"],
        "end_time": row["end_time"],
        "form_types": json.loads(row["form_types"]),
        # Where a hit would be sent: the target's own receiver, or else the account's.
        "webhook_url": row["webhook_url"] or row["account_url"],
        "created_at": row["created_at"],
    }


def _shown_in_list(row: Row, now: datetime) -> dict[str, Any]:
    state, reason, stopped_at = _state(row, now)
    was_hit = reason == "filing_hit"
    return {
        **_shown(row, now),
        "processing_state": PROCESSING[state],
        "candidate_urls": [{"accession": row["hit_accession"], "url": row["hit_url"]}] if was_hit else [],
        "resolution_reason": reason,
        "stopped_at": stopped_at,
        "last_event": {
            "accession_number": row["hit_accession"],
            "form_type": row["hit_form"],
            "filed_at": row["hit_filed_at"],
        }
        if was_hit
        else None,
        # Of the 13F pipeline that these are named after, finapi has no stages to tell of.
        "filing_uuid": None,
        "holdings_count": None,
        "parsed_at": stopped_at if was_hit else None,
        "enriched_at": None,
    }
