"""The client that does not wait: ``async with AsyncClient(base_url, api_key) as client``, by httpx."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.operations import operation
from finapi.client.synchronous import SECONDS, TRIES

AsyncSend = Callable[[ApiRequest], Awaitable[ApiAnswer | None]]


class AsyncClient:
    """What :class:`~finapi.client.Client` is, awaited; ``transport`` is httpx's."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        token: str | None = None,
        tries: int = TRIES,
        dates: bool = False,
        headers: Mapping[str, str] | None = None,
        transport: Any = None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        import httpx

        self.base_url = base_url.rstrip("/")
        self.headers = exchange.credentials(api_key, token, headers)
        self.last: ApiAnswer | None = None  # the answer before it was read: headers, status
        self._tries = tries
        self._dates = dates
        self._wait = wait
        self._failed = httpx.HTTPError
        self._http = httpx.AsyncClient(transport=transport, timeout=SECONDS)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or operation(name) is None:
            raise AttributeError(f"the API has no call {name}")
        return lambda **values: self._called(name, values)

    async def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The document that a call of any path answers."""
        asked = exchange.request(self.base_url, method, path, query=query, body=body, headers=self.headers)
        return exchange.decoded(await self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    async def rows(self, name: str, **values: Any) -> AsyncIterator[Any]:
        """Every row of a list, page after page."""
        known = operation(name)
        if known is None or known.rows_in is None:
            raise TypeError(f"{name} answers no list")
        more: dict[str, Any] | None = values
        while more is not None:
            document = await self._called(name, more)
            found = exchange.rows_of(document, known.rows_in)
            for row in found:
                yield row
            assert self.last is not None
            more = exchange.following(more, document, self.last.headers, len(found))

    async def _called(self, name: str, values: Mapping[str, Any]) -> Any:
        known = operation(name)
        assert known is not None
        method, path, query, body, headers = known.read(dict(values))
        sent = {**self.headers, **headers}
        asked = exchange.request(self.base_url, method, path, query=query, body=body, headers=sent)
        return exchange.decoded(await self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    async def _held(self, talk: Conversation) -> ApiAnswer:
        answer: ApiAnswer | None = None
        try:
            wanted = next(talk)
            while True:
                if isinstance(wanted, ApiRequest):
                    self.last = answer = await self._send(wanted)
                else:
                    await self._wait(wanted)
                    answer = None
                wanted = talk.send(answer)
        except StopIteration as end:
            found: ApiAnswer = end.value
            return found

    async def _send(self, asked: ApiRequest) -> ApiAnswer | None:
        try:
            got = await self._http.request(asked.method, asked.url, headers=dict(asked.headers), content=asked.body)
        except self._failed:
            return None
        return ApiAnswer(got.status_code, {name.lower(): text for name, text in got.headers.items()}, got.content)
