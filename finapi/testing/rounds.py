"""The watchdog of a world, which runs when its status is requested instead of every minute.

A running service makes a round of checks in each tick, a whole multiple of the watchdog's interval. A world makes the
round of the current tick when a call reads the status. The ticks since the previous round are then added to the history
with the results of this round, so that the history has no gaps.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from finapi.core.clock import iso
from finapi.core.counts import format_count
from finapi.core.health import ProbeError
from finapi.web.application import WsgiApp


class WatchdogRounds:
    """The rounds of a world's watchdog. Every tick since the world began has one, even if no call read the status."""

    def __init__(self, wsgi: WsgiApp) -> None:
        self._wsgi = wsgi
        self._lock = threading.Lock()
        self._first_tick = self._compute_tick(wsgi.app.clock.now())
        self.last_reported_tick = 0

    def catch_up(self) -> None:
        """Make the round of the current tick, unless it was made, and fill the ticks before it with its results.

        Do nothing if the clock was moved back to a time before the newest round.
        """
        from finapi.ops import watchdog  # Imported late: it imports the probes, which are not needed at a start.

        with self._lock:
            app, now = self._wsgi.app, self._wsgi.app.clock.now()
            tick, interval = self._compute_tick(now), app.config.watchdog_interval
            if tick == app.health.tick:
                return
            with app.accounts.read() as tx:
                newest_tick = tx.find_value("newest_round")
            if newest_tick is None or newest_tick < tick:
                self._add_probes()
                app.health.last_round_at = None  # No round counts as missed in the time that was skipped.
                watchdog.run_round(app, now)
                since = self._first_tick if newest_tick is None else newest_tick + interval
                # Older hours are not stored. Start with a full day, because the sums of days are computed from hours.
                since = max(since, tick - tick % watchdog.DAY - watchdog.KEEP_HOURS * watchdog.HOUR)
                with app.accounts.write() as tx:
                    tx.run("count_hours_passed", since=since, tick=tick, interval=interval)
                    tx.run("sum_days_passed", since=since)
            watchdog.load_latest_checks(app, [*app.health.probes, watchdog.NAME])

    def list_unreported(self, start: datetime, now: datetime, other_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rounds from ``start`` to ``now`` that were not reported before, one row for each gap.

        ``other_rows`` are the other events of that time. All rounds between two of these events become one row.
        """
        interval, rows = self._wsgi.app.config.watchdog_interval, []
        first_tick = self._compute_tick(start)
        if first_tick < start.timestamp():
            first_tick += interval
        first_tick = max(first_tick, self.last_reported_tick + interval)
        for gap_end in sorted({row["at"] for row in other_rows} | {iso(now)}):
            last_tick = self._compute_tick(datetime.fromisoformat(gap_end))
            if last_tick >= first_tick:
                count = (last_tick - first_tick) // interval + 1
                at = iso(datetime.fromtimestamp(last_tick, UTC))
                detail = format_count(count, "round")
                rows.append({"at": at, "what": "watchdog.round", "subject": None, "detail": detail})
                self.last_reported_tick = last_tick
                first_tick = last_tick + interval
        return rows

    def _compute_tick(self, moment: datetime) -> int:
        seconds = int(moment.timestamp())
        return seconds - seconds % self._wsgi.app.config.watchdog_interval

    def _add_probes(self) -> None:
        from finapi.ops import probes

        app = self._wsgi.app
        if app.health.probes:
            return
        app.health.probes.update(
            {
                "main_api": lambda: self._check_page("/livez"),
                "frontend": lambda: self._check_page(probes.PROBED_PAGE),
                "insider_api": lambda: probes.probe_insiders(app),
                **probes.build_process_probes(app),
            }
        )

    def _check_page(self, path: str) -> None:
        """Raise ProbeError if a page is not answered with 200."""
        statuses: list[str] = []
        environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": path, "REMOTE_ADDR": "192.0.2.1", "QUERY_STRING": ""}
        b"".join(self._wsgi(environ, lambda status, headers: statuses.append(status)))
        if not statuses[0].startswith("200"):
            raise ProbeError("wrong", f"answered {statuses[0]}")
