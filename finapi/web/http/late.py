"""Tables of what many modules hold that load none of them: each name is looked up when it is first used.

    with by_name():
        from finapi.web.financials import series

    series.timeseries  # LateName("finapi.web.financials.series", "timeseries")

Type checkers, editors and the architecture test see the import that it is.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

# Whoever replaces ``__import__`` puts back what was there.
_ONE = threading.Lock()


class LateName(NamedTuple):
    """What a module calls so."""

    module: str
    name: str

    def found(self) -> Any:
        """What it is; the module is loaded, if it is not yet."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.found()(*given, **named)


class LateModule:
    """A module that is not loaded: what is read of it is a ``LateName``."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> LateName:
        return LateName(self._module, name)


@contextmanager
def by_name() -> Iterator[None]:
    """``from package import module`` in the block, and in this thread, gives ``LateModule``."""
    here = threading.get_ident()

    def names(module: str, scope: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
        if threading.get_ident() != here:
            return plain(module, scope, local, wanted, level)
        return SimpleNamespace(**{one: LateModule(f"{module}.{one}") for one in wanted})

    with _ONE:
        plain = builtins.__import__
        builtins.__import__ = cast(Any, names)
        try:
            yield
        finally:
            builtins.__import__ = plain
