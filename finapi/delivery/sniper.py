"""Sniper targets: a user watches a company for a filing during a window of time (DECISIONS 9).

The table :data:`TRANSITIONS` contains every change of a target's state. :func:`record_hit` stops the targets that wait
for a filing. :func:`run_window_step` opens and closes windows when their time has come. Reads compute the state at the
current time, even if the step has not written it yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.app import App
from finapi.core import json
from finapi.core.clock import iso
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import OneOf, Time, Url, build_record
from finapi.delivery import webhooks
from finapi.delivery.webhooks import BuildResponse, T, WebhookEvent
from finapi.store.db import Row, Transaction

CREATED, ACTIVE, STOPPED = STATES = ("CREATED", "ACTIVE", "STOPPED")

# (state, event) -> (next state, resolution_reason). Any other event leaves the target unchanged.
Reason = Literal["filing_hit", "window_expired", "manual_stop"]
TRANSITIONS: dict[tuple[str, str], tuple[str, Reason | None]] = {
    (CREATED, "window_opened"): (ACTIVE, None),
    (CREATED, "window_expired"): (STOPPED, "window_expired"),  # No step ran during the window.
    (CREATED, "manual_stop"): (STOPPED, "manual_stop"),
    (ACTIVE, "filing_hit"): (STOPPED, "filing_hit"),
    (ACTIVE, "window_expired"): (STOPPED, "window_expired"),
    (ACTIVE, "manual_stop"): (STOPPED, "manual_stop"),
}

# The webhooks to a target's owner.
HIT_EVENT = "sniper.filing_hit"
EXPIRED_EVENT = "sniper.window_expired"

# The API's ``processing_state`` for each state.
PROCESSING_STATES = {CREATED: "scheduled", ACTIVE: "watching", STOPPED: "resolved"}

DEFAULT_WINDOW_MINUTES = 60
MIN_WINDOW_MINUTES = 1
MAX_WINDOW_MINUTES = 1440
MAX_START_DELAY = timedelta(days=366)  # Maximum time from now to the start of a window.
MAX_FORMS = 50
ADVANCE_SECONDS = 1.0  # Interval between two steps that open and close windows.
MAX_TARGETS_PER_STEP = 100

_FORM = re.compile(r"[A-Z0-9][A-Z0-9 /.&-]{0,19}")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class WatchedCompany(NamedTuple):
    """The company of a target."""

    cik: int
    ticker: str


class FilingHit(NamedTuple):
    """A filing that may be a hit: the CIKs of all its parties, the time of acceptance, its index page at the SEC."""

    accession: str
    ciks: tuple[int, ...]
    form: str
    filed_at: str
    url: str


class SniperTarget(TypedDict):
    """A target, as returned by ``POST /sniper/targets``. ``webhook_url`` is the target's own or else the account's."""

    target_id: str
    ticker: str
    status: Annotated[str, OneOf(STATES)]
    start_time: Time
    end_time: Time
    form_types: list[str]
    webhook_url: Url | None
    created_at: Time


class CandidateUrl(TypedDict):
    """The URL of a hit's filing."""

    accession: str
    url: Url


class TargetEvent(TypedDict):
    """The filing of a hit."""

    accession_number: str
    form_type: str
    filed_at: Time


class ListedTarget(SniperTarget):
    """A target in a list. Some members exist only because clients read them: finapi has no 13F pipeline stages."""

    processing_state: Annotated[str, OneOf(tuple(PROCESSING_STATES.values()))]
    candidate_urls: list[CandidateUrl]
    resolution_reason: Reason | None
    stopped_at: Time | None
    last_event: TargetEvent | None
    filing_uuid: str | None
    holdings_count: int | None
    parsed_at: Time | None
    enriched_at: Time | None


class TargetPaging(TypedDict):
    """The paging of a list of targets, and the numbers of slots."""

    total: int
    limit: int
    offset: int
    has_more: bool
    active_count: int
    slots_available: int


class TargetPage(TypedDict):
    """A page of targets, newest first."""

    targets: list[ListedTarget]
    meta: TargetPaging


class StoppedTarget(TypedDict):
    """A target that is stopped."""

    target_id: str
    ticker: str
    status: Annotated[str, OneOf(STATES)]
    resolution_reason: Reason
    stopped_at: Time
    slots_available: int


def create_target(
    app: App, user_id: int, company: WatchedCompany, body: Mapping[str, Any], now: datetime, respond: BuildResponse[T]
) -> T:
    """Watch a company. Return the answer that ``respond`` builds from the new target.

    Raise INVALID_PARAM for an invalid window or form type, and CONFLICT if every slot is taken.
    """
    start, end = _parse_window(body, now)
    forms = _parse_forms(body.get("form_types") or [])
    if body.get("webhook_url") is not None:
        webhooks.check_url(app, "webhook_url", body["webhook_url"])
    values = {
        "target_id": f"tgt_{_build_base62_id(app.random_bytes)}",
        "user_id": user_id,
        "cik": company.cik,
        "ticker": company.ticker,
        "state": ACTIVE if start <= now else CREATED,
        "form_types": json.text(forms),
        "webhook_url": body.get("webhook_url"),
        "start_time": iso(start),
        "end_time": iso(end),
    }
    with app.accounts.write() as tx:
        slots, used_slots = app.config.sniper_slots, _count_used_slots(tx, user_id, now)
        if used_slots >= slots:
            message = f"All {slots} slots are taken; stop a target to free one."
            raise ApiError("CONFLICT", message, details={"slots": slots, "active_count": used_slots})
        tx.run("insert_target", values, now=iso(now))
        tx.run("delete_old_targets", user_id=user_id, kept=app.config.targets_kept)
        return respond(tx, _build_target(_get_row(tx, values), now))


def stop_target(app: App, user_id: int, target_id: str, now: datetime, respond: BuildResponse[T]) -> T:
    """Stop a target at its owner's request. Return the answer that ``respond`` builds from it.

    A target that has stopped is not changed. Raise NOT_FOUND if the user has no target with this id.
    """
    key = {"user_id": user_id, "target_id": target_id}
    with app.accounts.write() as tx:
        row = _get_row(tx, key)
        if row["end_time"] <= iso(now):
            _expire(tx, row, now)
        else:
            _apply_event(tx, row, "manual_stop", now)
        row, slots = _get_row(tx, key), app.config.sniper_slots - _count_used_slots(tx, user_id, now)
        return respond(tx, build_record(StoppedTarget, row, status=row["state"], slots_available=slots))


def count_open_targets(tx: Transaction, user_id: int) -> int:
    """Return how many of a user's targets have not stopped."""
    return len(tx.list_rows("open_targets_of_user", user_id=user_id))


def stop_all_targets(tx: Transaction, user_id: int, now: datetime) -> None:
    """Stop every target of a user. No webhook is sent, not even for windows that have just ended."""
    for row in tx.list_rows("open_targets_of_user", user_id=user_id):
        _apply_event(tx, row, "window_expired" if row["end_time"] <= iso(now) else "manual_stop", now)


def list_targets(
    app: App,
    tx: Transaction,
    user_id: int,
    now: datetime,
    *,
    limit: int,
    offset: int = 0,
    status: str | None = None,
    ticker: str | None = None,
) -> TargetPage:
    """Return a page of the user's targets, newest first."""
    filters = {"user_id": user_id, "status": status, "ticker": ticker, "now": iso(now)}
    used_slots, total = _count_used_slots(tx, user_id, now), tx.find_value("count_targets", filters)
    targets = [
        _build_listed_target(row, now) for row in tx.list_rows("targets_of_user", filters, limit=limit, offset=offset)
    ]
    return {
        "targets": targets,
        "meta": {
            "total": total,
            "limit": limit,
            "offset": offset,
            "has_more": offset + len(targets) < total,
            "active_count": used_slots,
            "slots_available": max(app.config.sniper_slots - used_slots, 0),
        },
    }


def record_hit(tx: Transaction, now: datetime, filing: FilingHit) -> None:
    """Stop every target that waits for this filing, and enqueue a webhook to its owner."""
    for row in tx.list_rows("targets_watching", ciks=json.text(filing.ciks), now=iso(now)):
        forms = json.loads(row["form_types"])
        if forms and filing.form.upper() not in forms:
            continue
        # The window may have opened since the last step.
        opened = _apply_event(tx, row, "window_opened", now)
        if _apply_event(tx, row, "filing_hit", now, state=ACTIVE if opened else row["state"], filing=filing):
            filed = {"accession_number": filing.accession, "form_type": filing.form, "filed_at": filing.filed_at}
            payload = {**_build_company(row), **filed, "filing_url": filing.url}
            _enqueue_webhook(
                tx, row, now, WebhookEvent(HIT_EVENT, filing.filed_at, filing.accession, payload, row["target_id"])
            )


def run_window_step(app: App, now: datetime) -> float:
    """Open and close windows whose time has come. Return the seconds until it should run again."""
    with app.accounts.read() as tx:
        due = tx.list_rows("targets_ending", now=iso(now), limit=1)
        due += tx.list_rows("targets_beginning", now=iso(now), limit=1)
    if not due:
        return ADVANCE_SECONDS
    with app.accounts.write() as tx:
        for row in tx.list_rows("targets_ending", now=iso(now), limit=MAX_TARGETS_PER_STEP):
            _expire(tx, row, now)
        for row in tx.list_rows("targets_beginning", now=iso(now), limit=MAX_TARGETS_PER_STEP):
            _apply_event(tx, row, "window_opened", now)
    return 0.0


def _apply_event(
    tx: Transaction,
    row: Row,
    event: str,
    now: datetime,
    *,
    state: str | None = None,
    filing: FilingHit | None = None,
) -> bool:
    """Apply an event to a target in ``state`` (default: that of the row). Return True if the state changed."""
    old_state = state or row["state"]
    transition = TRANSITIONS.get((old_state, event))
    if transition is None:
        return False
    new_state, reason = transition
    stopped_at = iso(now) if new_state == STOPPED else None
    if reason == "window_expired":
        stopped_at = row["end_time"]  # The end of the window, not the later time at which a step noticed it.
    values = {"id": row["id"], "old": old_state, "state": new_state, "reason": reason, "stopped_at": stopped_at}
    hit = {
        "hit_accession": filing.accession if filing else None,
        "hit_form": filing.form if filing else None,
        "hit_filed_at": filing.filed_at if filing else None,
        "hit_url": filing.url if filing else None,
    }
    return bool(tx.run("update_target", values, **hit))


def _expire(tx: Transaction, row: Row, now: datetime) -> None:
    """Stop a target whose window has passed, and enqueue a webhook if its owner switched that topic on."""
    if _apply_event(tx, row, "window_expired", now):
        window = {"start_time": row["start_time"], "end_time": row["end_time"]}
        payload = {**_build_company(row), **window, "form_types": json.loads(row["form_types"])}
        _enqueue_webhook(
            tx,
            row,
            now,
            WebhookEvent(EXPIRED_EVENT, row["end_time"], "expired", payload, row["target_id"]),
            topic=EXPIRED_EVENT,
        )


def _build_company(row: Row) -> dict[str, Any]:
    return {"ticker": row["ticker"], "issuer_cik": f"{row['cik']:010}"}


def _enqueue_webhook(tx: Transaction, row: Row, now: datetime, event: WebhookEvent, topic: str | None = None) -> None:
    """Enqueue a webhook to a target's owner who has a receiver and, with ``topic``, has switched that topic on."""
    receiver = webhooks.find_receiver(tx, row["user_id"], row["webhook_url"], topic)
    if receiver is not None:
        webhooks.enqueue(tx, now, receiver, event)


# ---- the body of a request


def _parse_window(body: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    start = _parse_time(body, "start_time") or now
    end = _parse_time(body, "end_time")
    minutes = body.get("duration_minutes")
    if end is not None and minutes is not None:
        raise invalid_param(
            "end_time", "Give either end_time or duration_minutes, not both.", expected="one of the two"
        )
    if start > now + MAX_START_DELAY:
        raise invalid_param("start_time", "start_time is more than a year ahead.", expected="time")
    if end is None:
        end = start + timedelta(minutes=minutes or DEFAULT_WINDOW_MINUTES)
    length_minutes = (end - start).total_seconds() / 60
    name = "start_time" if body.get("start_time") and not body.get("end_time") else "end_time"
    if end <= now:
        raise invalid_param(name, "The window is already over.", expected="a window that ends later")
    if not MIN_WINDOW_MINUTES <= length_minutes <= MAX_WINDOW_MINUTES:
        bounds = f"{MIN_WINDOW_MINUTES} to {MAX_WINDOW_MINUTES} minutes"
        raise invalid_param(name, f"The window must last {bounds}.", expected=bounds)
    return start, end


def _parse_time(body: Mapping[str, Any], name: str) -> datetime | None:
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


def _parse_forms(texts: Sequence[str]) -> list[str]:
    forms = list(dict.fromkeys(form.strip().upper() for form in texts))
    if len(forms) > MAX_FORMS or not all(_FORM.fullmatch(form) for form in forms):
        raise invalid_param(
            "form_types", f"form_types must be at most {MAX_FORMS} SEC form types.", expected='["8-K", "10-Q"]'
        )
    return forms


def _build_base62_id(random_bytes: Any) -> str:
    number = int.from_bytes(random_bytes(16))
    digits = []
    for _ in range(12):
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return "".join(digits)


# ---- rows and records


def _get_row(tx: Transaction, target: Mapping[str, Any]) -> Row:
    """Return the row of a target by its user_id and target_id. Raise NOT_FOUND if there is none."""
    row = tx.find_row("target", target)
    if row is None:
        raise ApiError("NOT_FOUND", "Target not found.")
    return row


def _count_used_slots(tx: Transaction, user_id: int, now: datetime) -> int:
    used: int = tx.find_value("slots_used", user_id=user_id, now=iso(now))
    return used


def _compute_state(row: Row, now: datetime) -> tuple[str, Reason | None, str | None]:
    """Return the state, reason and end of a target at this time, even if no step has written them yet."""
    if row["state"] == STOPPED:
        return STOPPED, row["resolution_reason"], row["stopped_at"]
    if row["end_time"] <= iso(now):
        return STOPPED, "window_expired", row["end_time"]
    return (ACTIVE if row["start_time"] <= iso(now) else CREATED), None, None


def _build_target(row: Row, now: datetime) -> SniperTarget:
    return build_record(
        SniperTarget,
        row,
        status=_compute_state(row, now)[0],
        form_types=json.loads(row["form_types"]),
        webhook_url=row["receiver"],
    )


def _build_listed_target(row: Row, now: datetime) -> ListedTarget:
    state, reason, stopped_at = _compute_state(row, now)
    is_hit = reason == "filing_hit"
    event: TargetEvent = {
        "accession_number": row["hit_accession"],
        "form_type": row["hit_form"],
        "filed_at": row["hit_filed_at"],
    }
    return {
        **_build_target(row, now),
        "processing_state": PROCESSING_STATES[state],
        "candidate_urls": [{"accession": row["hit_accession"], "url": row["hit_url"]}] if is_hit else [],
        "resolution_reason": reason,
        "stopped_at": stopped_at,
        "last_event": event if is_hit else None,
        "filing_uuid": None,
        "holdings_count": None,
        "parsed_at": stopped_at if is_hit else None,
        "enriched_at": None,
    }
