"""The parameters and answers of all calls, for type checkers: they read types.pyi. At run time an answer is a dict."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Day = TypeVar("Day")
Moment = TypeVar("Moment")


class Calls(Generic[Day, Moment]):
    """The calls of a synchronous client."""


class AsyncCalls(Generic[Day, Moment]):
    """The calls of an asynchronous client."""


def __getattr__(name: str) -> Any:
    """Return ``dict`` for the name of a type that only types.pyi declares."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict[str, Any]
