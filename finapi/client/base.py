"""The part that both clients share: their settings for requests, and the requests that they build from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiRequest
from finapi.client.operations import ApiOperation, get_operations


class ClientBase:
    """The base class of both clients. A client sets the attributes when it is created."""

    base_url: str
    headers: dict[str, str]
    _timeout: float | None

    def __dir__(self) -> list[str]:
        """Return the names of attributes and of all operations, for completion in a shell."""
        return sorted({*super().__dir__(), *get_operations()})

    def _build_path_request(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, timeout: float | None
    ) -> ApiRequest:
        """Return the request for any path."""
        return exchange.build_request(
            self.base_url,
            method,
            path,
            query=query,
            body=body,
            headers=self.headers,
            timeout_seconds=self._choose_timeout(timeout),
        )

    def _build_request(
        self, operation: ApiOperation, arguments: Mapping[str, Any], timeout: float | None
    ) -> ApiRequest:
        """Return the request for an operation."""
        return operation.build_request(self.base_url, self.headers, arguments, self._choose_timeout(timeout))

    def _choose_timeout(self, timeout: float | None) -> float | None:
        """Return the timeout of a call, or else that of the client. Raise ValueError if it is not positive."""
        return exchange.check_timeout(timeout) or self._timeout
