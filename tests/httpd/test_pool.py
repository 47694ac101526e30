"""The threads that execute requests: who of them is woken for a job, and in which order jobs that wait are served."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from finapi.httpd.pool import ThreadPool
from tests.httpd.running_listener import eventually

Pool = ThreadPool[str]


class Served:
    """What the pool has served, and by which threads; ``wait...`` is served until it is let go."""

    def __init__(self) -> None:
        self.jobs: list[str] = []
        self.threads: list[threading.Thread] = []
        self.go = threading.Semaphore(0)

    def __call__(self, job: str) -> None:
        self.jobs.append(job)
        self.threads.append(threading.current_thread())
        if job.startswith("wait"):
            assert self.go.acquire(timeout=10)


@pytest.fixture
def served() -> Served:
    return Served()


@pytest.fixture
def start(served: Served) -> Iterator[Callable[[int], Pool]]:
    pools: list[Pool] = []

    def started(size: int) -> Pool:
        pools.append(ThreadPool(size, served, lambda job: None))
        return pools[-1]

    yield started
    served.go.release(100)
    assert [pool.stop(timeout_seconds=10) for pool in pools] == [0] * len(pools)


def fill(pool: Pool, served: Served) -> None:
    """Have all threads started, and idle."""
    for number in range(pool.size):
        pool.put(f"wait{number}")
    eventually(lambda: len(served.jobs) == pool.size)
    served.go.release(pool.size)
    eventually(lambda: pool.idle_count == pool.size)


def test_no_more_threads_are_started_than_jobs_are_under_way_at_once_or_may_be(
    start: Callable[[int], Pool], served: Served
) -> None:
    pool = start(2)
    assert pool.thread_count == 0
    for number, threads in enumerate((1, 2, 2)):
        pool.put(f"wait{number}")
        assert pool.thread_count == threads
    eventually(lambda: len(served.jobs) == 2)
    served.go.release(3)
    eventually(lambda: pool.idle_count == 2)
    assert served.jobs == ["wait0", "wait1", "wait2"]


def test_a_job_waits_for_a_thread_that_the_machine_allows(
    start: Callable[[int], Pool], served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = start(2)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refused)
        pool.put("a")
        pool.put("b")
    assert (len(pool), pool.thread_count, served.jobs) == (2, 0, [])
    assert [one.getMessage() for one in caplog.records] == [
        "a thread for calls cannot be started: can't start new thread"
    ] * 2
    pool.put("c")
    eventually(lambda: served.jobs == ["a", "b", "c"])
    assert pool.thread_count == 1


def test_one_thread_serves_jobs_that_come_one_after_the_other(start: Callable[[int], Pool], served: Served) -> None:
    pool = start(4)
    for number in range(20):
        pool.put(str(number))
        eventually(lambda: pool.idle_count == 1)
    assert served.jobs == [str(number) for number in range(20)]
    assert len(set(served.threads)) == 1


def test_no_thread_is_woken_but_the_one_that_serves(
    start: Callable[[int], Pool], served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[threading.Thread] = []
    whats_next = ThreadPool._next_job

    def counted(pool: Pool, this: object) -> str | None:
        asked.append(threading.current_thread())
        return whats_next(pool, this)  # type: ignore[arg-type]

    monkeypatch.setattr(ThreadPool, "_next_job", counted)
    pool = start(4)
    fill(pool, served)
    for number in range(20):
        pool.put(str(number))
        eventually(lambda: pool.idle_count == 4)
    # Each of four threads asks at its start and after what it waited for, and one after each job.
    assert len(asked) == 4 + 4 + 20


def test_jobs_that_find_no_thread_idle_are_served_in_their_order(start: Callable[[int], Pool], served: Served) -> None:
    pool = start(2)
    for job in ("wait1", "wait2", "a", "b", "c"):
        pool.put(job)
    eventually(lambda: len(served.jobs) == 2)
    assert len(pool) == 3
    served.go.release()
    eventually(lambda: len(served.jobs) == 5)
    assert served.jobs[2:] == ["a", "b", "c"]
    assert len(pool) == 0


def test_what_waits_at_a_stop_is_served_before_the_threads_end(start: Callable[[int], Pool], served: Served) -> None:
    pool = start(1)
    for job in ("wait", "a", "b"):
        pool.put(job)
    eventually(lambda: served.jobs == ["wait"])
    assert pool.stop(timeout_seconds=0) == 1
    served.go.release()
    eventually(lambda: served.jobs == ["wait", "a", "b"])


def test_a_thread_that_comes_back_late_ends_when_another_has_taken_its_place(
    start: Callable[[int], Pool], served: Served
) -> None:
    pool = start(1)
    pool.put("wait")
    eventually(lambda: served.jobs == ["wait"])
    pool.give_up("wait")
    pool.put("a")
    eventually(lambda: served.jobs == ["wait", "a"])
    served.go.release()
    served.threads[0].join(10)
    assert [thread.is_alive() for thread in served.threads] == [False, True]


def test_a_job_that_nobody_serves_cannot_be_given_up(start: Callable[[int], Pool], served: Served) -> None:
    pool = start(1)
    fill(pool, served)
    pool.give_up("nobody's")
    assert pool.thread_count == 1
