"""What each call takes and answers, for type checkers: types.pyi has it. At run time an answer is a dict."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Day = TypeVar("Day")
Moment = TypeVar("Moment")


class Calls(Generic[Day, Moment]):
    """The calls of a client that waits."""


class AsyncCalls(Generic[Day, Moment]):
    """The calls of a client that does not."""


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict[str, Any]
