"""Whose keys are these: looked up in a thread beside the feeds' loop, which must not wait for a disk."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple, TypeVar

from finapi.accounts import users
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.httpd.loop import Loop

log = logging.getLogger("finapi.feeds")

Found = TypeVar("Found")


class _Question(NamedTuple):
    look: Callable[[], Any]
    answered: Callable[[Any], object]
    failed: Callable[[], None]


class KeyDesk:
    """Questions of the loop, each answered in the loop. A connection asks one at a time, which bounds them."""

    def __init__(self, app: App, loop: Loop) -> None:
        self.wake: Callable[[], object] = lambda: None  # has whoever runs step() do so
        self._app = app
        self._loop = loop
        self._questions: deque[_Question] = deque()
        self._state = object()

    def ask(self, look: Callable[[], Found], answered: Callable[[Found], object], failed: Callable[[], None]) -> None:
        """Have ``look`` called beside the loop and ``answered`` with what it found; ``failed`` when that goes wrong."""
        self._questions.append(_Question(look, answered, failed))
        self.wake()

    def callers(self, keys: Collection[str]) -> dict[str, Caller]:
        """The callers of those keys that are some; read from the disk."""
        with self._app.accounts.read() as tx:
            found = ((key, users.by_api_key(tx, key)) for key in keys)
            return {key: caller for key, caller in found if caller is not None}

    def changed(self) -> None:
        """What is being looked up may be wrong by now; from any thread."""
        self._state = object()

    def step(self) -> None:
        """Answer all questions; the step of a worker."""
        while self._questions:
            question, state = self._questions.popleft(), self._state
            try:
                found = question.look()
            except Exception:
                log.exception("keys could not be looked up")
                self._loop.call_soon(question.failed)
            else:
                self._loop.call_soon(partial(self._tell, question, state, found))

    def _tell(self, question: _Question, state: object, found: object) -> None:
        if state is not self._state:
            self.ask(*question)
        else:
            try:
                question.answered(found)
            except Exception:
                log.exception("a reader could not be let in")
                question.failed()
