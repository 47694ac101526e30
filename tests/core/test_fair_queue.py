"""Tests of the fair queue: how many callers work and wait, and which one is next."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.core.fair_queue import (
    FREQUENT_ARRIVALS,
    HALF_LIFE_ARRIVALS,
    MAX_REMEMBERED_KEYS,
    FairQueue,
    QueueRefusalError,
)
from tests.process import eventually

BUSY = ("UNAVAILABLE", 503, "Busy. Try again in a moment.")


class House:
    """Callers in threads of their own, which come and leave one by one."""

    def __init__(self, turns: FairQueue) -> None:
        self.turns = turns
        self.inside: list[str] = []
        self.order: list[str] = []
        self.refused: list[str] = []
        self._leave: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def come(self, name: str, *keys: str, first: bool = False) -> None:
        """Let a caller come. When this returns, it is inside, waits or is refused, as is a caller that it replaced."""
        self._leave[name] = threading.Event()
        thread = threading.Thread(target=self._stay, args=(name, keys or (name,), first), daemon=True)
        self._threads.append(thread)
        thread.start()
        eventually(lambda: len(self.inside) + self.turns.waiting_count + len(self.refused) == len(self._left()))

    def leave(self, name: str) -> None:
        """End a caller's work. When this returns, the next caller is inside."""
        self._leave[name].set()
        eventually(lambda: name not in self.inside and self.turns._find_next() is None)
        eventually(lambda: len(self.inside) + self.turns.waiting_count + len(self.refused) == len(self._left()))

    def empty(self) -> None:
        """Let all callers leave."""
        while self.inside:
            self.leave(self.inside[0])
        for thread in self._threads:
            thread.join(10)
            assert not thread.is_alive()

    def _left(self) -> list[str]:
        return [name for name, event in self._leave.items() if not event.is_set() or name in self.inside]

    def _stay(self, name: str, keys: tuple[str, ...], first: bool) -> None:
        try:
            with self.turns.enter(*keys, first=first):
                self.order.append(name)
                self.inside.append(name)
                assert self._leave[name].wait(10)
                self.inside.remove(name)
        except ApiError as error:
            self.refused.append(name if (error.code, error.status, error.message) == BUSY else str(error))


def test_so_many_work_at_once_and_so_many_wait() -> None:
    house = House(FairQueue("Busy.", 2, 2, 60))
    for name in ("a", "b", "c", "d", "e"):
        house.come(name)
    assert (house.inside, house.turns.waiting_count, house.refused) == (["a", "b"], 2, ["e"])
    house.empty()
    assert house.order == ["a", "b", "c", "d"]


def test_who_waits_too_long_is_refused_and_leaves_no_trace() -> None:
    turns = FairQueue("Busy.", 1, 1, 0.01)
    turns.acquire("a")
    for _ in range(3):  # a place that was not given back would be missing the second time
        with pytest.raises(ApiError) as refused:
            turns.acquire("b")
        assert (refused.value.code, dict(refused.value.headers)) == ("UNAVAILABLE", {"Retry-After": "1"})
    turns.release("a")
    with turns.enter("b"):
        assert turns.waiting_count == 0


def test_an_error_ends_the_turn() -> None:
    turns = FairQueue("Busy.", 1, 0, 60)
    for _ in range(3):
        with pytest.raises(KeyError), turns.enter("a"):
            raise KeyError
    with turns.enter("a"):
        pass


def test_whoever_has_least_there_is_next() -> None:
    house = House(FairQueue("Busy.", 1, 6, 60))
    for name, key in (("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b"), ("c1", "c")):
        house.come(name, key)
    house.empty()
    # b and c have nothing under way, and c came least.
    assert house.order == ["a1", "c1", "b1", "b2", "a2", "a3"]


def test_the_less_frequent_of_two_callers_is_next() -> None:
    house = House(FairQueue("Busy.", 1, 2, 60))
    house.come("x")
    for number in range(2):
        house.come(f"waits {number}", f"w{number}")
    for number in range(3):
        house.come(f"refused {number}", "a")
    assert house.refused == ["refused 0", "refused 1", "refused 2"]
    house.leave("x")
    house.come("a again", "a")
    house.come("new")
    assert (house.inside, house.refused[3:]) == (["waits 0"], ["a again"])
    house.empty()
    assert house.order == ["x", "waits 0", "waits 1", "new"]


def test_chance_decides_which_of_several_new_callers_is_refused() -> None:
    counts: list[int] = []
    picks = iter([1, 2])

    def pick(count: int) -> int:
        counts.append(count)
        return next(picks)

    house = House(FairQueue("Busy.", 1, 2, 60, pick=pick))
    for name in ("inside", "a", "b"):
        house.come(name)
    house.come("c")
    assert (house.inside, house.refused) == (["inside"], ["b"])
    house.come("d")
    assert (house.inside, house.refused) == (["inside"], ["b", "d"])
    assert counts == [3, 3]
    house.empty()
    assert house.order == ["inside", "a", "c"]


def test_chance_treats_a_repeated_call_like_a_new_one() -> None:
    counts: list[int] = []
    picks = iter([2, 0])

    def pick(count: int) -> int:
        counts.append(count)
        return next(picks)

    house = House(FairQueue("Busy.", 1, 2, 60, pick=pick))
    for name in ("inside", "a", "b"):
        house.come(name)
    house.come("c", "newcomer")
    house.come("c again", "newcomer")
    assert (counts, house.refused) == ([3, 3], ["c", "a"])
    house.empty()
    assert house.order == ["inside", "b", "c again"]


def test_chance_refuses_a_frequent_caller_first() -> None:
    # Chance refuses the newest of three equals four times, and then the oldest.
    picks = iter([2, 2, 2, 2, 0])
    house = House(FairQueue("Busy.", 1, 2, 60, pick=lambda count: next(picks)))
    for name in ("inside", "a", "b"):
        house.come(name)
    for number in range(5):
        house.come(f"flood {number}", "flood")
    assert house.refused == [f"flood {number}" for number in range(5)]
    house.empty()
    assert house.order == ["inside", "a", "b"]


def test_chance_does_not_refuse_a_caller_of_better_rank() -> None:
    house = House(FairQueue("Busy.", 1, 2, 60, pick=lambda count: count - 1))
    for name, key in (("inside", "x"), ("a1", "a"), ("a2", "a")):
        house.come(name, key)
    house.come("new")
    assert house.refused == ["a2"]
    house.empty()


def test_a_refusal_says_how_long_it_is_held_back() -> None:
    turns = FairQueue("Busy.", 1, 0, 60, refusal_delay_seconds=1.5)
    with turns.enter("a"), pytest.raises(ApiError) as refused:
        turns.acquire("b")
    assert refused.value.delay_seconds == 1.5


def test_a_refusal_counts_the_other_calls_of_each_key() -> None:
    turns = FairQueue("Busy.", 1, 0, 60)
    with turns.enter("network", "a"), pytest.raises(QueueRefusalError) as refused:
        turns.acquire("network", "b")
    assert refused.value.count_by_key == {"network": 1, "a": 1}
    assert refused.value.count_by_key["b"] == 0


def test_a_replaced_call_is_counted_among_those_that_wait() -> None:
    turns = FairQueue("Busy.", 1, 2, 60)
    counts: list[dict[object, int]] = []

    def work(key: str) -> None:
        try:
            with turns.enter(key):
                pass
        except QueueRefusalError as error:
            counts.append(error.count_by_key)

    threads = [threading.Thread(target=work, args=(key,)) for key in ("a", "a", "b")]
    with turns.enter("a"):
        for waiting_count, thread in zip((1, 2, 2), threads, strict=True):
            thread.start()
            eventually(lambda waiting_count=waiting_count: turns.waiting_count == waiting_count)
        threads[1].join(10)
    for thread in (threads[0], threads[2]):
        thread.join(10)
    assert counts == [{"a": 2, "b": 1}]


def test_a_callers_frequency_fades_as_others_arrive() -> None:
    turns = FairQueue("Busy.", 1, 2, 60)
    for _ in range(3):
        with turns.enter("a"):
            pass
    often = turns._get_recent_arrivals("a")
    for number in range(HALF_LIFE_ARRIVALS):
        with turns.enter(number):
            pass
    assert turns._get_recent_arrivals("a") == pytest.approx(often / 2)
    assert turns._get_recent_arrivals("never came") == 0


def test_every_key_counts() -> None:
    house = House(FairQueue("Busy.", 1, 4, 60))
    house.come("one", "address 1", "network")
    for name in ("two", "three"):
        # Addresses that are new each time, of one network.
        house.come(name, f"address {name}", "network")
    house.come("else", "address 9", "another network")
    house.empty()
    assert house.order == ["one", "else", "two", "three"]


def test_a_newcomer_with_a_better_claim_replaces_the_worst() -> None:
    house = House(FairQueue("Busy.", 1, 2, 60))
    for name in ("a1", "a2", "a3", "a4"):
        house.come(name, "a")
    assert (house.inside, house.refused) == (["a1"], ["a4"])
    house.come("b", "b")
    assert house.refused == ["a4", "a3"]
    house.come("c", "c")
    assert house.refused == ["a4", "a3", "a2"]
    house.come("d", "d")
    assert house.refused == ["a4", "a3", "a2", "d"]
    house.empty()
    assert house.order == ["a1", "b", "c"]


def test_who_may_go_first_does_unless_something_of_it_is_there() -> None:
    house = House(FairQueue("Busy.", 1, 4, 60))
    house.come("x")
    house.come("a")
    house.come("known", "k", first=True)
    house.come("known again", "k", first=True)
    house.come("b")
    house.leave("x")
    # Two of one are not both first.
    house.come("known elsewhere", "l", first=True)
    house.leave("known")
    assert house.order == ["x", "known", "known elsewhere"]
    house.empty()
    assert house.order == ["x", "known", "known elsewhere", "known again", "a", "b"]


def test_who_comes_often_does_not_go_first_any_more() -> None:
    house = House(FairQueue("Busy.", 1, 4, 60))
    for _ in range(round(FREQUENT_ARRIVALS)):
        with house.turns.enter("k", first=True):
            pass
    house.come("x")
    house.come("a")
    house.come("known", "k", first=True)
    house.empty()
    assert house.order == ["x", "a", "known"]


def test_no_more_than_each_of_one_key_at_once() -> None:
    house = House(FairQueue("Busy.", 2, 2, 60, max_per_key=1))
    for name, key in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        house.come(name, key)
    assert (house.inside, house.turns.waiting_count) == (["a1", "b1"], 1)
    house.leave("b1")
    assert (house.inside, house.turns.waiting_count) == (["a1"], 1)
    house.empty()
    assert house.order == ["a1", "b1", "a2"]


def test_seats_are_shared_and_given_back() -> None:
    seats = threading.Semaphore(2)
    first_seat, other = (
        House(FairQueue("Busy.", 1, 5, 60, wait_slots=seats)),
        House(FairQueue("Busy.", 1, 5, 60, wait_slots=seats)),
    )
    for house in (first_seat, other):
        house.come("inside", "i")
        house.come("waits", "w")
    other.come("too many", "w")
    assert (first_seat.refused, other.refused) == ([], ["too many"])
    # In the seat of the one with the worst claim of the same turns; the others are none of its business.
    first_seat.come("w2", "w")
    assert first_seat.refused == ["w2"]
    first_seat.empty()
    other.come("has a seat again", "i")
    assert other.turns.waiting_count == 2
    other.empty()
    assert [seats.acquire(blocking=False) for _ in range(3)] == [True, True, False]


def test_who_came_is_forgotten_in_the_end() -> None:
    turns = FairQueue("Busy.", 1, 0, 60)
    for number in range(MAX_REMEMBERED_KEYS + 5):
        with turns.enter(number):
            pass
    assert (len(turns._arrivals_by_key), 4 in turns._arrivals_by_key, 5 in turns._arrivals_by_key) == (
        MAX_REMEMBERED_KEYS,
        False,
        True,
    )
    assert not turns._running_by_key


def test_mail_and_turn_waiters_hold_half_of_the_threads(
    make_app: Callable[..., App],
) -> None:
    app = make_app(threads=4, hashes_at_once=1)
    turns = app.hasher.queue
    turns.acquire("ann")
    assert [app.wait_slots.acquire(blocking=False) for _ in range(3)] == [True, True, False]
    with pytest.raises(ApiError):
        turns.acquire("bob")  # at once: there is no seat left to wait in
    turns.release("ann")
    for _ in range(2):
        app.wait_slots.release()
