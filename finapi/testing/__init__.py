"""The test server: a finapi with demo data, a clock that tests move, faults and mailboxes, and its use from Python.

``FinapiServer`` runs one in this process. Importing this package starts nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finapi.testing.control_client import Control
    from finapi.testing.server import FinapiServer, FixtureWorld

__all__ = ["Control", "FinapiServer", "FixtureWorld"]


def __getattr__(name: str) -> Any:
    """Import a class of ``__all__`` when it is first used: ``finapi fixture`` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from finapi.testing import control_client, server

    return getattr(control_client if name == "Control" else server, name)
