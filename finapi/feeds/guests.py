"""Those who have not said who they are: bounded in number, in all and for an address."""

from __future__ import annotations

from collections import Counter

from finapi.feeds.connections import Watcher


class Guests:
    """Counts of sessions without a key, by address."""

    def __init__(self, watcher: Watcher, most: int, most_of_an_address: int) -> None:
        self.watcher = watcher
        self._most = most
        self._most_of_an_address = most_of_an_address
        self._counts: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether one more may wait; it is counted then, until it leaves."""
        if self._counts.total() >= self._most or self._counts[address] >= self._most_of_an_address:
            return False
        self._counts[address] += 1
        return True

    def leave(self, address: str) -> None:
        """One that was counted has said who it is, or is gone."""
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]

    @property
    def count(self) -> int:
        """How many there are."""
        return self._counts.total()
