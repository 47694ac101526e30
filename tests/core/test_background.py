"""Tests of worker threads: when a step is called again, and that stopping ends every thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from finapi.core import background
from finapi.core.background import Worker, run_workers

LONG = 3600.0  # seconds; nothing here waits for it to pass
PATIENCE = 30.0  # seconds after which a step that was not called has failed the test


class Steps:
    """A step that counts its calls. It returns or raises ``answers`` in turn, and the last one for ever."""

    def __init__(self, *answers: float | Exception | None) -> None:
        self._answers = list(answers)
        self._called = threading.Condition()
        self.calls = 0

    def __call__(self) -> float | None:
        with self._called:
            self.calls += 1
            self._called.notify_all()
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait_for(self, calls: int) -> None:
        with self._called:
            assert self._called.wait_for(lambda: self.calls >= calls, PATIENCE)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    # Threads of earlier tests of this process may end meanwhile.
    assert set(threading.enumerate()) <= before


def test_a_worker_calls_its_step_at_once() -> None:
    steps = Steps(LONG)
    with run_workers([Worker("w", steps)]):
        steps.wait_for(1)
    assert steps.calls == 1


def test_a_worker_calls_its_step_again_when_it_asked_for_that() -> None:
    steps = Steps(0.0, 0.001, LONG)
    with run_workers([Worker("w", steps)]):
        steps.wait_for(3)
    assert steps.calls == 3


@pytest.mark.parametrize("wait", [LONG, None])
def test_a_woken_worker_calls_its_step_before_its_time(wait: float | None) -> None:
    steps = Steps(wait)
    worker = Worker("w", steps)
    with run_workers([worker]):
        for calls in range(1, 6):
            steps.wait_for(calls)
            worker.wake()
        steps.wait_for(6)
    assert steps.calls == 6


def test_waking_during_a_step_calls_it_once_more() -> None:
    entered, go_on = threading.Event(), threading.Event()
    steps = Steps(LONG)

    def slow() -> float | None:
        wait = steps()
        entered.set()
        assert go_on.wait(PATIENCE)
        return wait

    worker = Worker("w", slow)
    with run_workers([worker]):
        assert entered.wait(PATIENCE)
        worker.wake()
        worker.wake()
        go_on.set()
        steps.wait_for(2)
    assert steps.calls == 2


def test_a_step_that_fails_is_logged_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "RETRY_SECONDS", 0.0)
    steps = Steps(ValueError("no luck"), LONG)
    with caplog.at_level(logging.ERROR, "finapi.background"), run_workers([Worker("unlucky", steps)]):
        steps.wait_for(2)
    assert [record.getMessage() for record in caplog.records] == ["unlucky failed, next try in 0 s"]
    assert caplog.records[0].exc_info is not None
    assert str(caplog.records[0].exc_info[1]) == "no luck"


def test_a_step_that_failed_waits_before_the_next_try() -> None:
    assert background.RETRY_SECONDS == 5.0
    steps = Steps(ValueError())
    with run_workers([Worker("w", steps)]):
        steps.wait_for(1)
    assert steps.calls == 1


def test_stopping_lets_a_running_step_finish() -> None:
    entered, go_on = threading.Event(), threading.Event()
    finished: list[bool] = []

    def slow() -> None:
        entered.set()
        assert go_on.wait(PATIENCE)
        finished.append(True)

    worker = Worker("w", slow)
    worker.start()
    assert entered.wait(PATIENCE)
    stopper = threading.Thread(target=worker.stop)
    stopper.start()
    assert finished == []
    go_on.set()
    stopper.join()
    assert finished == [True]


def test_a_worker_rests_after_each_step_also_one_that_failed() -> None:
    happened: list[str] = []
    steps = Steps(0.0, LONG)

    def step() -> float | None:
        happened.append("step")
        return steps()

    def rest() -> None:
        happened.append("rest")

    with run_workers([Worker("w", step)], before_wait=rest):
        steps.wait_for(2)
    failing = Steps(ValueError())
    with run_workers([Worker("w", failing)], before_wait=lambda: happened.append("after a failure")):
        failing.wait_for(1)
    assert happened == ["step", "rest", "step", "rest", "after a failure"]


def test_first_steps_that_wait_are_made_one_after_the_other() -> None:
    began: list[tuple[str, float]] = []

    class Noting(Worker):
        def start(self, after: float = 0.0, rest_step: Callable[[], object] = lambda: None) -> None:
            began.append((self.name, after))
            super().start(after, rest_step)

    with run_workers([Noting("a", Steps(LONG)), Noting("b", Steps(LONG)), Noting("c", Steps(LONG))], LONG):
        stagger = background.STAGGER_SECONDS
        assert began == [("a", LONG), ("b", LONG + stagger), ("c", LONG + 2 * stagger)]
    began.clear()
    with run_workers([Noting("a", Steps(LONG)), Noting("b", Steps(LONG))]):
        assert began == [("a", 0.0), ("b", 0.0)]


def test_threads_carry_their_workers_names() -> None:
    steps = Steps(LONG)
    with run_workers([Worker("mail", steps)]):
        steps.wait_for(1)
        assert "finapi-mail" in {thread.name for thread in threading.enumerate()}


def test_workers_stop_in_reverse_order() -> None:
    stopped: list[str] = []

    class Noting(Worker):
        def stop(self) -> None:
            super().stop()
            stopped.append(self.name)

    with run_workers([Noting("a", Steps(LONG)), Noting("b", Steps(None)), Noting("c", Steps(LONG))]):
        assert stopped == []
    assert stopped == ["c", "b", "a"]


def test_workers_stop_when_the_block_raises() -> None:
    with pytest.raises(KeyError), run_workers([Worker("a", Steps(LONG)), Worker("b", Steps(LONG))]):
        raise KeyError


def test_started_workers_stop_when_a_later_one_cannot_start() -> None:
    spent = Worker("spent", Steps(LONG))
    spent.start()
    spent.stop()
    with pytest.raises(RuntimeError), run_workers([Worker("a", Steps(LONG)), spent]):
        raise AssertionError("the block must not run")


def test_a_worker_that_was_stopped_calls_no_step_again() -> None:
    steps = Steps(0.0)
    worker = Worker("w", steps)
    worker.start()
    steps.wait_for(10)
    worker.stop()
    calls = steps.calls
    worker.wake()
    assert steps.calls == calls
