"""The Python client of the API. It imports nothing of the server, and only feeds need more than the standard library.

``Client(base_url, api_key)`` sends requests with urllib. ``AsyncClient`` uses httpx where it is installed
(``finapi-client[client]``).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from finapi.client.asynchronous import AsyncClient
    from finapi.client.errors import (
        ApiFailure,
        ConnectionFailed,
        InsufficientTokens,
        NotFound,
        RateLimited,
        ServerError,
        Unauthorized,
        WebhookSignatureError,
    )
    from finapi.client.signatures import verify_webhook
    from finapi.client.synchronous import Client, by_httpx

__all__ = [
    "ApiFailure",
    "AsyncClient",
    "Client",
    "ConnectionFailed",
    "InsufficientTokens",
    "NotFound",
    "RateLimited",
    "ServerError",
    "Unauthorized",
    "WebhookSignatureError",
    "by_httpx",
    "verify_webhook",
]

# Any other public name is an exception.
MODULES = {
    "AsyncClient": "finapi.client.asynchronous",
    "Client": "finapi.client.synchronous",
    "by_httpx": "finapi.client.synchronous",
    "verify_webhook": "finapi.client.signatures",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: AsyncClient imports asyncio, which Client does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(MODULES.get(name, "finapi.client.errors")), name)
