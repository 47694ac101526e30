"""Limits that connections share (places and bytes), and the time that a transfer may take.

Places and bytes are counted by owner. An owner is an address or an account, and a connection may have both. So neither
many accounts behind one address nor one account at many addresses gets more than one share.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class Places(Generic[Holder]):
    """At most ``limit`` places in total and ``share`` for each owner. Thread-safe.

    If all places are taken, a new holder displaces the oldest holder of the owner with the most places. So a few greedy
    owners never keep others out. Without ``displace`` no holder is displaced.
    """

    def __init__(self, limit: int, share: int, displace: Callable[[Holder], object] | None) -> None:
        self._limit, self._share, self._displace = limit, share, displace
        self._owners: dict[Holder, tuple[Hashable, ...]] = {}
        self._holders: dict[Hashable, dict[Holder, None]] = {}  # By owner, the oldest first.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._owners)

    def enter(self, holder: Holder, *owners: Hashable) -> bool:
        """Take a place. Return False if an owner has its share, or if all are taken and no holder may be displaced."""
        with self._lock:
            if any(self._has_share(owner) for owner in owners):
                return False
            if len(self._owners) >= self._limit and self._displace is None:
                return False
            displaced = self._add(holder, owners)
        self._report(displaced)
        return True

    def enter_displacing(self, holder: Holder, *owners: Hashable) -> None:
        """Take a place in any case: an owner that has its share gives up the oldest of its places."""
        displaced = []
        with self._lock:
            for owner in owners:
                if self._has_share(owner):
                    displaced.append(self._remove_oldest(owner))
            displaced += self._add(holder, owners)
        self._report(displaced)

    def leave(self, holder: Holder) -> None:
        """Give up a place. A holder without one stays without."""
        with self._lock:
            self._forget(holder)

    def _has_share(self, owner: Hashable) -> bool:
        return len(self._holders.get(owner, ())) >= self._share

    def _add(self, holder: Holder, owners: tuple[Hashable, ...]) -> list[Holder]:
        """Give the holder a place. Return the holders that lost theirs to it."""
        displaced = []
        if len(self._owners) >= self._limit:
            largest_owner = max(self._holders, key=lambda owner: len(self._holders[owner]))
            displaced.append(self._remove_oldest(largest_owner))
        self._owners[holder] = owners
        for owner in owners:
            self._holders.setdefault(owner, {})[holder] = None
        return displaced

    def _remove_oldest(self, owner: Hashable) -> Holder:
        oldest = next(iter(self._holders[owner]))
        self._forget(oldest)
        return oldest

    def _forget(self, holder: Holder) -> None:
        for owner in self._owners.pop(holder, ()):
            del self._holders[owner][holder]
            if not self._holders[owner]:
                del self._holders[owner]

    def _report(self, displaced: list[Holder]) -> None:
        for holder in displaced:
            if self._displace is not None:
                self._displace(holder)


class ByteBudget:
    """The bytes that connections may hold at the same time, counted by owner. Thread-safe.

    When the budget is used up, the owner that holds the most loses its oldest reservation. The bytes are available to
    others immediately, and the reservation's ``make_room`` releases the memory or the file soon after.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used_bytes = 0
        self._reservations: dict[Reservation, None] = {}  # The reservations that hold bytes, oldest first.
        self._bytes_of_owner: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    @property
    def free_bytes(self) -> int:
        """Return the number of bytes that may still be reserved."""
        return self._limit - self._used_bytes

    def add(self, reservation: Reservation, count: int, *, displaces: bool, displaces_own: bool) -> bool:
        """Give more bytes to a reservation. Return False, and change nothing, if there is no room for them."""
        with self._lock:
            displaced = self._choose_displaced(reservation, count, displaces_own=displaces_own) if displaces else []
            freed_bytes = sum(victim.held_bytes for victim in displaced)
            if self._used_bytes - freed_bytes + count > self._limit:
                return False
            for victim in displaced:
                self._remove(victim)
            self._reservations.setdefault(reservation)
            self._count(reservation, count)
        for victim in displaced:
            victim.make_room()
        return True

    def remove(self, reservation: Reservation) -> None:
        """Take all bytes from a reservation."""
        with self._lock:
            self._remove(reservation)

    def _choose_displaced(self, newcomer: Reservation, count: int, *, displaces_own: bool) -> list[Reservation]:
        """Return the reservations that have to go, so that ``newcomer`` can have ``count`` bytes more.

        They belong to the owner that would hold the most if the newcomer had these bytes. They may free too few bytes.
        """
        usage = self._bytes_of_owner.copy()
        for owner in newcomer.owners:
            usage[owner] += count
        needed_bytes = self._used_bytes + count - self._limit
        candidates = [reservation for reservation in self._reservations if reservation is not newcomer]
        displaced: list[Reservation] = []
        while needed_bytes > 0:
            largest_owner = max(usage, key=usage.__getitem__, default=None)
            if largest_owner in newcomer.owners and not displaces_own:
                break
            victim = next((candidate for candidate in candidates if largest_owner in candidate.owners), None)
            if victim is None:
                break
            candidates.remove(victim)
            displaced.append(victim)
            needed_bytes -= victim.held_bytes
            for owner in victim.owners:
                usage[owner] -= victim.held_bytes
        return displaced

    def _remove(self, reservation: Reservation) -> None:
        self._reservations.pop(reservation, None)
        self._count(reservation, -reservation.held_bytes)

    def _count(self, reservation: Reservation, count: int) -> None:
        reservation.held_bytes += count
        self._used_bytes += count
        for owner in reservation.owners:
            self._bytes_of_owner[owner] += count
            if not self._bytes_of_owner[owner]:
                del self._bytes_of_owner[owner]


class Reservation:
    """Bytes of a budget that one answer or one request body holds for its owners.

    ``make_room`` is called, in any thread, when another reservation has got the bytes. It must return quickly.
    """

    def __init__(self, budget: ByteBudget, owners: tuple[Hashable, ...], make_room: Callable[[], object]) -> None:
        self.owners = owners
        self.make_room = make_room
        self.held_bytes = 0  # Only the budget changes it.
        self._budget = budget

    def add(self, count: int) -> bool:
        """Reserve more bytes. Return False if too few bytes are free."""
        return self._budget.add(self, count, displaces=False, displaces_own=False)

    def add_displacing(self, count: int, *, displaces_own: bool = True) -> bool:
        """Reserve more bytes, and if necessary displace reservations of the owner that holds the most.

        Return False if only this reservation could be displaced. Without ``displaces_own``, return False too if the
        owner that holds the most is an owner of this reservation.
        """
        return self._budget.add(self, count, displaces=True, displaces_own=displaces_own)

    def release(self) -> None:
        """Release all bytes."""
        self._budget.remove(self)


class Allowance:
    """The time that a transfer may take.

    It begins with ``seconds``, and each byte adds ``1 / rate``, up to ``seconds``.
    """

    def __init__(self, now: float, seconds: float, rate: float) -> None:
        self.until = now + seconds
        self._seconds, self._rate = seconds, rate

    def extend(self, seconds: float) -> float:
        """Extend the time by seconds that do not count. Return its end."""
        self.until += seconds
        return self.until

    def add_bytes(self, now: float, count: float) -> float:
        """Add the time for bytes that have been transferred. Return the end of the time."""
        self.until = min(self.until + count / self._rate, now + self._seconds)
        return self.until
