"""What connections share: places, so many for each address; bytes that are held for them; time for a transfer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class Places(Generic[Holder]):
    """So many places in all, and so many for each address; safe among threads.

    Who comes when all are taken displaces the oldest holder of the address that has most: so none is left of a few
    addresses that take all they can, and slow ones never keep everybody else out. Without ``displace`` nobody goes.
    """

    def __init__(self, limit: int, share: int, displace: Callable[[Holder], object] | None) -> None:
        self._limit, self._share, self._displace = limit, share, displace
        self._addresses: dict[Holder, str] = {}
        self._holders: dict[str, dict[Holder, None]] = {}  # by address, the oldest first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._addresses)

    def enter(self, one: Holder, address: str) -> bool:
        """Whether it has a place now; not when its address has its share, or all are taken and nobody has to go."""
        displaced = None
        with self._lock:
            full = len(self._addresses) >= self._limit
            if len(self._holders.get(address, ())) >= self._share or (full and self._displace is None):
                return False
            if full:
                most = max(self._holders, key=lambda address: len(self._holders[address]))
                displaced = next(iter(self._holders[most]))
                self._forget(displaced)
            self._addresses[one] = address
            self._holders.setdefault(address, {})[one] = None
        if displaced is not None and self._displace is not None:
            self._displace(displaced)
        return True

    def leave(self, one: Holder) -> None:
        """It needs its place no longer; twice is once."""
        with self._lock:
            self._forget(one)

    def _forget(self, one: Holder) -> None:
        address = self._addresses.pop(one, None)
        if address is not None:
            del self._holders[address][one]
            if not self._holders[address]:
                del self._holders[address]


class ByteBudget:
    """Bytes that may be held at once, for everybody together; safe among threads."""

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._lock = threading.Lock()

    def take(self, count: int) -> bool:
        """Whether there was room for so many more."""
        with self._lock:
            fits = count <= self._left
            self._left -= count if fits else 0
        return fits

    def give(self, count: int) -> None:
        """So many are held no longer."""
        with self._lock:
            self._left += count


class Allowance:
    """How long a transfer may last: ``seconds`` without a byte, and every byte buys time, up to that measure."""

    def __init__(self, now: float, seconds: float, rate: float) -> None:
        self.until = now + seconds
        self._seconds, self._rate = seconds, rate

    def longer(self, seconds: float) -> float:
        """Until when it may last now that so many seconds do not count."""
        self.until += seconds
        return self.until

    def moved(self, now: float, count: float) -> float:
        """Until when it may last now that so many bytes more have moved."""
        self.until = min(self.until + count / self._rate, now + self._seconds)
        return self.until
