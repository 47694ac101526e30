"""Whose keys are these: looked up in a thread beside the feeds' loop, which must not wait for a disk."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NamedTuple

from finapi.accounts import users
from finapi.accounts.users import Caller
from finapi.app import App
from finapi.httpd.loop import Loop

log = logging.getLogger("finapi.feeds")


class _Question(NamedTuple):
    keys: Collection[str]
    answered: Callable[[Mapping[str, Caller]], object]
    failed: Callable[[], object]


class KeyDesk:
    """Questions of the loop, each answered in the loop. A connection asks one at a time, which bounds them."""

    def __init__(self, app: App, loop: Loop) -> None:
        self.wake: Callable[[], object] = lambda: None  # has whoever runs step() do so
        self._app = app
        self._loop = loop
        self._questions: deque[_Question] = deque()
        self._state = object()

    def ask(
        self, keys: Collection[str], answered: Callable[[Mapping[str, Caller]], object], failed: Callable[[], object]
    ) -> None:
        """Have ``answered`` called with the callers of those keys that are some; ``failed`` when that goes wrong."""
        self._questions.append(_Question(keys, answered, failed))
        self.wake()

    def changed(self) -> None:
        """What is being looked up may be wrong by now; from any thread."""
        self._state = object()

    def step(self) -> None:
        """Answer all questions; the step of a worker."""
        while self._questions:
            question, state = self._questions.popleft(), self._state
            found: dict[str, Caller] | None = {}
            try:
                with self._app.accounts.read() as tx:
                    callers = ((key, users.by_api_key(tx, key)) for key in question.keys)
                    found = {key: caller for key, caller in callers if caller is not None}
            except Exception:
                log.exception("keys could not be looked up")
                found = None
            self._loop.call_soon(partial(self._tell, question, state, found))

    def _tell(self, question: _Question, state: object, found: Mapping[str, Caller] | None) -> None:
        if found is None:
            question.failed()
        elif state is not self._state:
            self.ask(*question)
        else:
            try:
                question.answered(found)
            except Exception:
                log.exception("a reader could not be let in")
                question.failed()
