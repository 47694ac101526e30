"""Whose keys are these: looked up in a thread beside the feeds' loop, which must not wait for a disk."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from finapi.core import stopping
from finapi.httpd.loop import Loop

log = logging.getLogger("finapi.feeds")

Found = TypeVar("Found")


class _Question(NamedTuple):
    look: Callable[[], Any]
    answered: Callable[[Any], object]
    failed: Callable[[], None]


class KeyDesk:
    """Questions of the loop, each answered in the loop. A connection asks one at a time, which bounds them."""

    def __init__(self, loop: Loop) -> None:
        self.wake: Callable[[], object] = lambda: None  # has whoever runs step() do so
        self._loop = loop
        self._questions: deque[_Question] = deque()

    def ask(self, look: Callable[[], Found], answered: Callable[[Found], object], failed: Callable[[], None]) -> None:
        """Have ``look`` called beside the loop and ``answered`` with what it found; ``failed`` when that goes wrong."""
        self._questions.append(_Question(look, answered, failed))
        self.wake()

    def step(self) -> None:
        """Answer all questions, in their order; the step of a worker."""
        while self._questions and not stopping.is_requested():
            question = self._questions.popleft()
            try:
                found = question.look()
            except Exception:
                log.exception("keys could not be looked up")
                self._loop.call_soon(question.failed)
            else:
                self._loop.call_soon(partial(self._tell, question, found))

    def _tell(self, question: _Question, found: object) -> None:
        try:
            question.answered(found)
        except Exception:
            log.exception("a reader could not be let in")
            question.failed()
