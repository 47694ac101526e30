"""The watchdog of a world: its rounds are made when somebody looks, those that time passed over all at once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from finapi.core.clock import iso
from finapi.core.watch import Check, Checks, Probe, Trouble
from finapi.store.db import Transaction
from finapi.web.wsgi import WsgiApp


class ChecksInTurn(Checks):
    """Checks without threads of their own: what they look at is in this process, and nothing keeps them waiting."""

    def of(self, probes: Mapping[str, Probe]) -> dict[str, Check]:
        """The check of every probe, one after the other."""
        return {name: self._check(probe) for name, probe in probes.items()}


class Rounds:
    """A round belongs to each tick from the beginning of the world on, whether somebody looked in it or not."""

    def __init__(self, wsgi: WsgiApp) -> None:
        self._wsgi = wsgi
        self._lock = threading.Lock()
        self._began = wsgi.app.clock.now()
        self._told: int | None = None  # the newest tick that was told of

    def catch_up(self) -> None:
        """Make the round of this tick, unless it was made; those that passed since the one before count as it does.

        Nothing is counted while the clock is behind a round that was: it was put back.
        """
        from finapi.ops import watchdog  # and the probes: no start needs them

        with self._lock:
            app, now = self._wsgi.app, self._wsgi.app.clock.now()
            tick, interval = self._tick(now), app.config.watchdog_interval
            now = min(now, max(datetime.fromtimestamp(tick, UTC), self._began))
            if tick == app.watch.tick:
                return
            self._add_probes()
            app.watch.ticked = None  # none was missed in the time that passed at once
            with app.accounts.read() as tx:
                newest = tx.value("newest_round")
            since = self._tick(self._began) if newest is None else newest + interval

            def count_passed(tx: Transaction) -> None:
                for bucket, most in (("hour", watchdog.KEEP_HOURS), ("day", watchdog.KEEP_DAYS)):
                    seconds = watchdog.HOUR if bucket == "hour" else watchdog.DAY
                    start = max(since, tick - tick % seconds - most * seconds)
                    tx.run(f"count_{bucket}s_passed", since=start, tick=tick, interval=interval)

            watchdog.check(app, now, beside=count_passed, counted=newest is None or tick > newest)

    def forget_told(self) -> None:
        """Tell of every round again."""
        self._told = None

    def between(self, began: datetime, now: datetime, others: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rounds from a moment up to now that were not told of, a row for those between two other happenings."""
        interval, rows = self._wsgi.app.config.watchdog_interval, []
        first = self._tick(began)
        first += interval if first < began.timestamp() else 0
        if self._told is not None:
            first = max(first, self._told + interval)
        for at in sorted({row["at"] for row in others} | {iso(now)}):
            last = self._tick(datetime.fromisoformat(at))
            if last >= first:
                count = (last - first) // interval + 1
                detail = "1 round" if count == 1 else f"{count} rounds"
                moment = iso(datetime.fromtimestamp(last, UTC))
                rows.append({"at": moment, "what": "watchdog.round", "subject": None, "detail": detail})
                self._told, first = last, last + interval
        return rows

    def _tick(self, moment: datetime) -> int:
        seconds = int(moment.timestamp())
        return seconds - seconds % self._wsgi.app.config.watchdog_interval

    def _add_probes(self) -> None:
        from finapi.ops import probes

        app = self._wsgi.app
        if not app.watch.probes:
            own = {"main_api": lambda: self._answers("/livez"), "frontend": lambda: self._answers("/")}
            app.watch.probes.update({**own, "insider_api": lambda: probes.insiders(app), **probes.of_process(app)})

    def _answers(self, path: str) -> None:
        said: list[str] = []
        environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": path, "REMOTE_ADDR": "192.0.2.1", "QUERY_STRING": ""}
        for _ in self._wsgi(environ, lambda status, headers: said.append(status)):
            pass
        if not said[0].startswith("200"):
            raise Trouble("wrong", f"answered {said[0]}")
