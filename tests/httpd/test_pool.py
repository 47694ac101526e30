"""The threads that serve requests: the thread that is woken for a job, and the order of jobs that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from finapi.httpd.pool import ThreadPool
from tests.httpd.running_listener import eventually

Pool = ThreadPool[str]


class RecordingServer:
    """Records the jobs and the threads that served them. A job ``wait...`` takes until ``go`` is released."""

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
def server() -> RecordingServer:
    return RecordingServer()


@pytest.fixture
def start(server: RecordingServer) -> Iterator[Callable[[int], Pool]]:
    pools: list[Pool] = []

    def start_pool(size: int) -> Pool:
        pools.append(ThreadPool(size, server, lambda job: None))
        return pools[-1]

    yield start_pool
    server.go.release(100)
    assert [pool.stop(timeout_seconds=10) for pool in pools] == [0] * len(pools)


def fill(pool: Pool, server: RecordingServer) -> None:
    """Start all threads, and wait until they are idle."""
    for number in range(pool.size):
        pool.put(f"wait{number}")
    eventually(lambda: len(server.jobs) == pool.size)
    server.go.release(pool.size)
    eventually(lambda: pool.idle_count == pool.size)


def test_threads_are_started_for_waiting_jobs_up_to_the_size(
    start: Callable[[int], Pool], server: RecordingServer
) -> None:
    pool = start(2)
    assert pool.thread_count == 0
    for number, threads in enumerate((1, 2, 2)):
        pool.put(f"wait{number}")
        assert pool.thread_count == threads
    eventually(lambda: len(server.jobs) == 2)
    server.go.release(3)
    eventually(lambda: pool.idle_count == 2)
    assert server.jobs == ["wait0", "wait1", "wait2"]


def test_a_job_waits_for_a_thread_that_the_machine_allows(
    start: Callable[[int], Pool],
    server: RecordingServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse_start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = start(2)
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", refuse_start)
        pool.put("a")
        pool.put("b")
    assert (len(pool), pool.thread_count, server.jobs) == (2, 0, [])
    assert [record.getMessage() for record in caplog.records] == [
        "a thread for calls cannot be started: can't start new thread"
    ] * 2
    pool.put("c")
    eventually(lambda: server.jobs == ["a", "b", "c"])
    assert pool.thread_count == 1


def test_one_thread_serves_jobs_that_come_one_after_the_other(
    start: Callable[[int], Pool], server: RecordingServer
) -> None:
    pool = start(4)
    for number in range(20):
        pool.put(str(number))
        eventually(lambda: pool.idle_count == 1)
    assert server.jobs == [str(number) for number in range(20)]
    assert len(set(server.threads)) == 1


def test_no_thread_is_woken_but_the_one_that_serves(
    start: Callable[[int], Pool], server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    next_job = ThreadPool._next_job

    def record_thread(pool: Pool, this: object) -> str | None:
        threads.append(threading.current_thread())
        return next_job(pool, this)  # type: ignore[arg-type]

    monkeypatch.setattr(ThreadPool, "_next_job", record_thread)
    pool = start(4)
    fill(pool, server)
    for number in range(20):
        pool.put(str(number))
        eventually(lambda: pool.idle_count == 4)
    # Each of four threads asks at its start and after what it waited for, and one after each job.
    assert len(threads) == 4 + 4 + 20


def test_jobs_that_find_no_thread_idle_are_served_in_their_order(
    start: Callable[[int], Pool], server: RecordingServer
) -> None:
    pool = start(2)
    for job in ("wait1", "wait2", "a", "b", "c"):
        pool.put(job)
    eventually(lambda: len(server.jobs) == 2)
    assert len(pool) == 3
    server.go.release()
    eventually(lambda: len(server.jobs) == 5)
    assert server.jobs[2:] == ["a", "b", "c"]
    assert len(pool) == 0


def test_waiting_jobs_are_served_before_a_stop(start: Callable[[int], Pool], server: RecordingServer) -> None:
    pool = start(1)
    for job in ("wait", "a", "b"):
        pool.put(job)
    eventually(lambda: server.jobs == ["wait"])
    assert pool.stop(timeout_seconds=0) == 1
    server.go.release()
    eventually(lambda: server.jobs == ["wait", "a", "b"])


def test_a_replaced_thread_ends_when_it_returns(start: Callable[[int], Pool], server: RecordingServer) -> None:
    pool = start(1)
    pool.put("wait")
    eventually(lambda: server.jobs == ["wait"])
    pool.give_up("wait")
    pool.put("a")
    eventually(lambda: server.jobs == ["wait", "a"])
    server.go.release()
    server.threads[0].join(10)
    assert [thread.is_alive() for thread in server.threads] == [False, True]


def test_a_job_without_a_thread_cannot_be_given_up(start: Callable[[int], Pool], server: RecordingServer) -> None:
    pool = start(1)
    fill(pool, server)
    pool.give_up("nobody's")
    assert pool.thread_count == 1
