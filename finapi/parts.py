"""The probes of the parts of CONTRACT 11: each tries the part that plays its name here, and none is a constant.

Whoever starts a part adds its probe to ``app.watch.probes``; a part that nobody started has none.
"""

from __future__ import annotations

from finapi import heartbeats
from finapi.app import App
from finapi.clock import iso
from finapi.errors import UsageError
from finapi.outbound import Outbound, OutboundError, Refused, Request, TimedOut
from finapi.status import SERVICES
from finapi.watch import Probe, Trouble

USER_AGENT = "finapi-watchdog"


def of_server(app: App, url: str, outbound: Outbound) -> dict[str, Probe]:
    """The probes of what every server at ``url`` runs, and of the targets in its settings."""
    for name, target in app.config.targets.items():
        try:
            outbound.reach.check(target)
        except Refused as error:
            raise UsageError(f"setting watchdog_targets: {name}: {error.reason}") from None
    taken = sorted({*app.config.targets} & {*SERVICES, "overall"})
    if taken:
        raise UsageError(f"setting watchdog_targets: {taken[0]} is a name of finapi's own")
    return {
        "main_api": lambda: page(outbound, f"{url}/livez", "application/json", app.config.watchdog_deadline),
        "frontend": lambda: page(outbound, f"{url}/", "text/html", app.config.watchdog_deadline),
        **of_process(app),
        **{
            name: _target(outbound, target, app.config.watchdog_deadline)
            for name, target in app.config.targets.items()
        },
    }


def of_process(app: App) -> dict[str, Probe]:
    """The probes of what is there without a socket: the store and the counters."""
    return {"postgres_db": lambda: store(app), "redis": lambda: counters(app)}


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
    clock that jumps make one old. The part has its first ``within`` seconds to make its first step.
    """

    def __init__(self, app: App, name: heartbeats.Part, within: float) -> None:
        self._app = app
        self._name = name
        self._within = within
        self._before = self._seen = self._last()
        self._since = app.clock.monotonic()

    def __call__(self) -> int | None:
        """How long the part's last step took, where it says so; a Trouble when it failed, or is overdue."""
        beat, now = self._last(), self._app.clock.monotonic()
        if beat != self._seen:
            self._seen, self._since = beat, now
        if now - self._since > self._within:
            raise Trouble("timeout", f"no sign of life for {now - self._since:.0f} s")
        if beat is None or beat == self._before:
            return None
        if beat.failure is not None:
            raise Trouble("failing", beat.failure)
        return beat.took_ms

    def _last(self) -> heartbeats.Beat | None:
        with self._app.db.read() as tx:
            return heartbeats.beats(tx).get(self._name)


def _target(outbound: Outbound, url: str, seconds: float) -> Probe:
    return lambda: page(outbound, url, "", seconds)
