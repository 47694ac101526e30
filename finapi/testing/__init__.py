"""The test server: worlds over shared demo data, a clock that is moved, faults, mailboxes; and its use from Python.

``FinapiServer`` runs one in this process. Importing this package starts nothing.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Control", "FinapiServer", "FixtureWorld"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from finapi.testing import control_client, server

    return getattr(control_client if name == "Control" else server, name)
