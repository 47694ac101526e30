"""Windows of filing days to which lists are limited, as day numbers (days since 1970-01-01)."""

from __future__ import annotations

from typing import NamedTuple

from finapi.core import days

# The day stored for filings with an unknown filing day. No window contains it, because windows start at FIRST_DAY or
# later. Lists without a window include such filings.
UNKNOWN_DAY = 0
FIRST_DAY = 1
LAST_DAY = 10**9


class FilingWindow(NamedTuple):
    """The first and the last filing day of a list, both included. The default is no limit."""

    since: int = UNKNOWN_DAY
    until: int = LAST_DAY

    @property
    def leaves_out_undated(self) -> bool:
        """Return True if filings whose day is not known are left out."""
        return self.since > UNKNOWN_DAY


UNDATED = FilingWindow(UNKNOWN_DAY, UNKNOWN_DAY)


def build_window(first: str | None, last: str | None) -> FilingWindow:
    """Return the window between two ISO dates; None stands for no limit on that side."""
    if first is None and last is None:
        return FilingWindow()
    since = FIRST_DAY if first is None else max(FIRST_DAY, days.number(first))
    until = LAST_DAY if last is None else days.number(last)
    return FilingWindow(since, until)
