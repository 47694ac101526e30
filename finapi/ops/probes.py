"""The probes of DECISIONS 11: each tries the component that has its name here, and none is a constant.

Whoever starts a component adds its probe to ``app.health.probes``; one that nobody started has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from finapi.app import App
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import StoreUnavailableError, UsageError
from finapi.core.health import PROBE_HEADER, Probe, ProbeError
from finapi.net.outbound import (
    Outbound,
    OutboundError,
    OutboundRequest,
    OutboundTimeoutError,
    ReachPolicy,
    TargetRefusedError,
)
from finapi.ops.status import SERVICES
from finapi.store import heartbeats

USER_AGENT = "finapi-watchdog"

OPERATOR_TARGETS = ReachPolicy(
    allows_any_address=True
)  # the operator names what is checked, and our own address is nobody else's

# What follows EDGAR, in one thread.
POLLING_COMPONENTS: tuple[heartbeats.Component, ...] = ("sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway")

# How long a step may take after it is due without a sign of life, in seconds: each request and each document is one.
MAX_SILENCE_SECONDS = 30.0

# Says why something does not do its work, or None.
Diagnosis = Callable[[], str | None]


def build_server_probes(app: App, url: str, outbound: Outbound, beside: Mapping[str, Diagnosis]) -> dict[str, Probe]:
    """The probes of what every server at ``url`` runs, and of the targets in its settings.

    ``beside`` are the threads that serve beside the HTTP interface, under no name of their own.
    """
    check_targets(app.config)
    seconds = app.config.watchdog_deadline

    def api() -> None:
        probe_page(outbound, f"{url}/livez", "application/json", seconds, app.health.probe_token)
        for name, diagnosis in beside.items():
            trouble = diagnosis()
            if trouble is not None:
                raise ProbeError("failing", f"{name}: {trouble}")

    return {
        "main_api": api,
        "frontend": lambda: probe_page(outbound, f"{url}/", "text/html", seconds, app.health.probe_token),
        "insider_api": lambda: probe_insiders(app),
        **build_process_probes(app),
        **{
            name: partial(probe_page, outbound, target, "", seconds)
            for name, target in app.config.watchdog_urls.items()
        },
    }


def check_targets(config: Config) -> None:
    """UsageError for a target of the settings that cannot be checked, or has a name of ours."""
    for name, target in config.watchdog_urls.items():
        try:
            OPERATOR_TARGETS.check(target)
        except TargetRefusedError as error:
            raise UsageError(f"setting watchdog_targets: {name}: {error.reason}") from None
    taken = sorted({*config.watchdog_urls} & {*SERVICES, "overall"})
    if taken:
        raise UsageError(f"setting watchdog_targets: {taken[0]} is reserved by finapi")


def build_process_probes(app: App) -> dict[str, Probe]:
    """The probes of what is there without a socket: the store and the counters."""
    return {"postgres_db": lambda: probe_store(app), "redis": lambda: probe_counters(app)}


def build_polling_probes(app: App, thread: Diagnosis) -> dict[str, Probe]:
    """The probes of what follows EDGAR, all in one thread."""
    within = app.config.poll_every + min(app.config.watchdog_interval, MAX_SILENCE_SECONDS)
    return {name: HeartbeatProbe(app, name, within, thread) for name in POLLING_COMPONENTS}


def probe_page(outbound: Outbound, url: str, kind: str, seconds: float, mark: str = "") -> None:
    """A GET of ``url`` must be answered 200, with a body of the media type ``kind`` (any when empty).

    ``mark`` goes to this server alone, of whose answer the head is enough.
    """
    headers = {"User-Agent": USER_AGENT} | ({PROBE_HEADER: mark} if mark else {})
    try:
        reply = outbound.send(OutboundRequest(url, headers=headers, timeout_seconds=seconds, head_only=bool(mark)))
    except OutboundTimeoutError as error:
        raise ProbeError("timeout", error.reason) from None
    except OutboundError as error:
        raise ProbeError("refused", error.reason) from None
    if reply.status >= 500:
        raise ProbeError("failing", f"answered {reply.status}")
    if reply.status != 200:
        raise ProbeError("wrong", f"answered {reply.status}")
    if not reply.headers.get("content-type", "").startswith(kind):
        raise ProbeError("wrong", f"answered with something that is not {kind}")


def probe_insiders(app: App) -> None:
    """The newest transaction of an insider must be found and shown, if there is one."""
    with app.db.read() as tx:
        if tx.find_row("any_insider_transaction") is None:
            return
        from finapi.market.insiders import trades

        page = trades.list_latest(tx, trades.TradeFilters(limit=1))
        rows = trades.build_transactions(tx, page.ids)
    if len(rows) != len(page.ids):
        raise ProbeError("wrong", "the newest transaction is listed but cannot be read")


def probe_store(app: App) -> None:
    """What is written into the store must be there to read."""
    now = app.clock.now()
    try:
        with app.db.write() as tx:
            heartbeats.record_beat(tx, "postgres_db", now)
    except StoreUnavailableError as error:
        raise ProbeError("failing", f"nothing can be stored: {error}") from None
    with app.db.read() as tx:
        beat = heartbeats.get_heartbeats(tx)["postgres_db"]
    if beat.at < iso(now):
        raise ProbeError("wrong", "what was written cannot be read back")


def probe_counters(app: App) -> None:
    """Every limit must count a call and, given back what it took, forget it."""
    now = app.clock.monotonic()
    for zone, limiter in app.limiters.items():
        limiter.reset(USER_AGENT)
        first, second = limiter.take(USER_AGENT, now), limiter.take(USER_AGENT, now)
        limiter.reset(USER_AGENT)
        again = limiter.take(USER_AGENT, now)
        limiter.reset(USER_AGENT)
        counted = second.remaining == first.remaining - 1 or not second.allowed
        if not first.allowed or not counted or again != first:
            raise ProbeError("wrong", f"the counters of {zone} do not count")


class HeartbeatProbe:
    """The probe of a component that beats (``heartbeats.beat``): a new beat must come within ``within`` seconds.

    A beat is new when it is another than the one before: neither a beat of before the start counts, nor does a clock
    that jumps make one old. ``thread`` says whether the thread that it works in lives.
    """

    def __init__(self, app: App, name: heartbeats.Component, within: float, thread: Diagnosis = lambda: None) -> None:
        self._app = app
        self._thread = thread
        self._name = name
        self._within = within
        self._before = self._seen = self._last()
        self._since = app.clock.monotonic()

    def __call__(self) -> int | None:
        """How long the last step took, where it says so; a Trouble when it failed, or is overdue."""
        beat, now = self._last(), self._app.clock.monotonic()
        if beat != self._seen:
            self._seen, self._since = beat, now
        fresh = beat if beat != self._before else None
        # What its thread says is known before a beat is overdue.
        trouble = self._thread() or (fresh.failure if fresh is not None else None)
        if trouble is not None:
            raise ProbeError("failing", trouble)
        if now - self._since > self._within:
            raise ProbeError("timeout", f"no heartbeat for {now - self._since:.0f} s")
        return None if fresh is None else fresh.took_ms

    def _last(self) -> heartbeats.Heartbeat | None:
        with self._app.db.read() as tx:
            return heartbeats.get_heartbeats(tx).get(self._name)
