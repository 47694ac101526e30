"""The probes of the parts of CONTRACT 11: each tries the part that plays its name here, and none is a constant.

Whoever starts a part adds its probe to ``app.watch.probes``; a part that nobody started has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from finapi import heartbeats
from finapi.app import App
from finapi.clock import iso
from finapi.errors import UsageError
from finapi.market import insider_trades
from finapi.outbound import Outbound, OutboundError, Refused, Request, TimedOut
from finapi.status import SERVICES
from finapi.watch import Probe, Trouble

USER_AGENT = "finapi-watchdog"

# What follows EDGAR, in one thread.
POLLING: tuple[heartbeats.Part, ...] = ("sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway")

# How long a step may take after it is due without a sign of life, in seconds: each request and each document is one.
SILENCE = 30.0

# Why something does not do its work, or None.
Told = Callable[[], str | None]


def of_server(app: App, url: str, outbound: Outbound, beside: Mapping[str, Told]) -> dict[str, Probe]:
    """The probes of what every server at ``url`` runs, and of the targets in its settings.

    ``beside`` are the threads that serve beside the HTTP interface, under no name of their own.
    """
    for name, target in app.config.targets.items():
        try:
            outbound.reach.check(target)
        except Refused as error:
            raise UsageError(f"setting watchdog_targets: {name}: {error.reason}") from None
    taken = sorted({*app.config.targets} & {*SERVICES, "overall"})
    if taken:
        raise UsageError(f"setting watchdog_targets: {taken[0]} is a name of finapi's own")
    return {
        "main_api": lambda: _api(outbound, url, app.config.watchdog_deadline, beside),
        "frontend": lambda: page(outbound, f"{url}/", "text/html", app.config.watchdog_deadline),
        "insider_api": lambda: insiders(app),
        **of_process(app),
        **{
            name: _target(outbound, target, app.config.watchdog_deadline)
            for name, target in app.config.targets.items()
        },
    }


def of_process(app: App) -> dict[str, Probe]:
    """The probes of what is there without a socket: the store and the counters."""
    return {"postgres_db": lambda: store(app), "redis": lambda: counters(app)}


def of_polling(app: App, told: Told) -> dict[str, Probe]:
    """The probes of what follows EDGAR; ``told`` is what is known of its thread."""
    within = app.config.poll_every + min(app.config.watchdog_interval, SILENCE)
    return {name: Heart(app, name, within, told) for name in POLLING}


def _api(outbound: Outbound, url: str, seconds: float, beside: Mapping[str, Told]) -> None:
    page(outbound, f"{url}/livez", "application/json", seconds)
    for name, told in beside.items():
        trouble = told()
        if trouble is not None:
            raise Trouble("failing", f"{name}: {trouble}")


def page(outbound: Outbound, url: str, kind: str, seconds: float) -> None:
    """A GET of ``url`` must be answered 200, with a body of the media type ``kind`` (any when empty)."""
    try:
        reply = outbound.send(Request(url, headers={"User-Agent": USER_AGENT}, seconds=seconds))
    except TimedOut as error:
        raise Trouble("timeout", error.reason) from None
    except OutboundError as error:
        raise Trouble("refused", error.reason) from None
    if reply.status >= 500:
        raise Trouble("failing", f"answered {reply.status}")
    if reply.status != 200:
        raise Trouble("wrong", f"answered {reply.status}")
    if not reply.headers.get("content-type", "").startswith(kind):
        raise Trouble("wrong", f"answered with something that is not {kind}")


def insiders(app: App) -> None:
    """The newest transaction of an insider must be found and shown, if there is one."""
    with app.db.read() as tx:
        page = insider_trades.latest(tx, insider_trades.Wanted(limit=1))
        rows = insider_trades.objects(tx, page.ids, collapse=False)
    if len(rows) != len(page.ids):
        raise Trouble("wrong", "the newest transaction is listed and not there")


def store(app: App) -> None:
    """What is written into the store must be there to read."""
    now = app.clock.now()
    with app.db.write() as tx:
        heartbeats.beat(tx, "postgres_db", now)
    with app.db.read() as tx:
        beat = heartbeats.beats(tx)["postgres_db"]
    if beat.at < iso(now):
        raise Trouble("wrong", "what was written is not there to read")


def counters(app: App) -> None:
    """Every limit must count a call and, given back what it took, forget it."""
    now = app.clock.monotonic()
    for zone, limiter in app.limiters.items():
        limiter.forget(USER_AGENT)
        first, second = limiter.take(USER_AGENT, now), limiter.take(USER_AGENT, now)
        limiter.forget(USER_AGENT)
        again = limiter.take(USER_AGENT, now)
        limiter.forget(USER_AGENT)
        counted = second.remaining == first.remaining - 1 or not second.allowed
        if not first.allowed or not counted or again != first:
            raise Trouble("wrong", f"the counters of {zone} do not count")


class Heart:
    """The probe of a part that beats (``heartbeats.beat``): a new beat must come within ``within`` seconds.

    A beat is new when it is another than the one before: neither a beat of before the start counts, nor does a
    clock that jumps make one old. The part has its first ``within`` seconds to make its first step. ``told``
    is what else is known of it: that its thread has ended, for instance.
    """

    def __init__(self, app: App, name: heartbeats.Part, within: float, told: Told = lambda: None) -> None:
        self._app = app
        self._told = told
        self._name = name
        self._within = within
        self._before = self._seen = self._last()
        self._since = app.clock.monotonic()

    def __call__(self) -> int | None:
        """How long the part's last step took, where it says so; a Trouble when it failed, or is overdue."""
        beat, now = self._last(), self._app.clock.monotonic()
        if beat != self._seen:
            self._seen, self._since = beat, now
        # What its thread says is known before a beat is overdue.
        trouble = self._told()
        if trouble is not None:
            raise Trouble("failing", trouble)
        fresh = beat if beat != self._before else None
        if fresh is not None and fresh.failure is not None:
            raise Trouble("failing", fresh.failure)
        if now - self._since > self._within:
            raise Trouble("timeout", f"no sign of life for {now - self._since:.0f} s")
        return None if fresh is None else fresh.took_ms

    def _last(self) -> heartbeats.Beat | None:
        with self._app.db.read() as tx:
            return heartbeats.beats(tx).get(self._name)


def _target(outbound: Outbound, url: str, seconds: float) -> Probe:
    return lambda: page(outbound, url, "", seconds)
