"""The Python client of the API. It imports nothing of the server, and only feeds need more than the standard library.

``Client(base_url, api_key)`` sends requests with urllib. ``AsyncClient`` uses httpx where it is installed
(``finapi[client]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finapi.client.asynchronous import AsyncClient
    from finapi.client.exchange import ApiFailure
    from finapi.client.signatures import verify_webhook
    from finapi.client.synchronous import Client, by_httpx

__all__ = ["ApiFailure", "AsyncClient", "Client", "by_httpx", "verify_webhook"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: AsyncClient imports asyncio, which Client does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from finapi.client import asynchronous, exchange, signatures, synchronous

    modules = {
        "Client": synchronous,
        "by_httpx": synchronous,
        "AsyncClient": asynchronous,
        "ApiFailure": exchange,
        "verify_webhook": signatures,
    }
    return getattr(modules[name], name)
