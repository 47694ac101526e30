"""The watchdog of a world: its rounds are made when somebody looks, those that time passed over all at once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from finapi.core.clock import iso
from finapi.core.watch import Trouble
from finapi.web.wsgi import WsgiApp


class Rounds:
    """A round belongs to each tick from the beginning of the world on, whether somebody looked in it or not."""

    def __init__(self, wsgi: WsgiApp) -> None:
        self._wsgi = wsgi
        self._lock = threading.Lock()
        self._began = self._tick(wsgi.app.clock.now())
        self.told = 0  # the newest tick that was told of

    def catch_up(self) -> None:
        """Make the round of this tick, unless it was made; those that passed since the one before count as it does.

        None is made while the clock, put back, is behind one that was.
        """
        from finapi.ops import watchdog  # and the probes: no start needs them

        with self._lock:
            app, now = self._wsgi.app, self._wsgi.app.clock.now()
            tick, interval = self._tick(now), app.config.watchdog_interval
            if tick == app.watch.tick:
                return
            with app.accounts.read() as tx:
                newest = tx.find_value("newest_round")
            if newest is None or newest < tick:
                self._add_probes()
                app.watch.ticked = None  # none was missed in the time that passed at once
                watchdog.check(app, now)
                since = self._began if newest is None else newest + interval
                # From the beginning of a day, whose hours are all there then.
                since = max(since, tick - tick % watchdog.DAY - watchdog.KEEP_HOURS * watchdog.HOUR)
                with app.accounts.write() as tx:
                    tx.run("count_hours_passed", since=since, tick=tick, interval=interval)
                    tx.run("sum_days_passed", since=since)
            watchdog.follow(app, [*app.watch.probes, watchdog.NAME])

    def between(self, began: datetime, now: datetime, others: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rounds from a moment up to now that were not told of, a row for those between two other happenings."""
        interval, rows = self._wsgi.app.config.watchdog_interval, []
        first = self._tick(began)
        first += interval if first < began.timestamp() else 0
        first = max(first, self.told + interval)
        for at in sorted({row["at"] for row in others} | {iso(now)}):
            last = self._tick(datetime.fromisoformat(at))
            if last >= first:
                count = (last - first) // interval + 1
                at, detail = iso(datetime.fromtimestamp(last, UTC)), "1 round" if count == 1 else f"{count} rounds"
                rows.append({"at": at, "what": "watchdog.round", "subject": None, "detail": detail})
                self.told, first = last, last + interval
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
        b"".join(self._wsgi(environ, lambda status, headers: said.append(status)))
        if not said[0].startswith("200"):
            raise Trouble("wrong", f"answered {said[0]}")
