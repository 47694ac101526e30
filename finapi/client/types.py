"""The parameters and answers of all calls, for type checkers: they read types.pyi. At run time an answer is a dict."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

Day = TypeVar("Day")
Moment = TypeVar("Moment")


class Calls(Generic[Day, Moment]):
    """The base class of Client. types.pyi declares its methods, one for each operation of the API."""


class AsyncCalls(Generic[Day, Moment]):
    """The base class of AsyncClient. types.pyi declares its methods, one for each operation of the API."""


def __getattr__(name: str) -> Any:
    """Return ``dict`` for the name of a type that only types.pyi declares."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return dict[str, Any]
