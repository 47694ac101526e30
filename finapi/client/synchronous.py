"""The client that waits: ``Client(base_url, api_key)``, by urllib or whatever else sends a request."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer, ApiRequest, Conversation
from finapi.client.operations import NamedCall, operation

TRIES = 4
SECONDS = 30.0  # for an answer

# Sends a request and gives what came, or None when no answer did.
Send = Callable[[ApiRequest], ApiAnswer | None]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer: nothing here leads elsewhere, and a key must not follow it there."""

    def redirect_request(self, *_: Any) -> None:
        """No other request."""


def by_urllib(seconds: float = SECONDS) -> Send:
    """A sender over urllib, with so much time for each answer."""
    opener = urllib.request.build_opener(_NoRedirect())

    def send(request: ApiRequest) -> ApiAnswer | None:
        if not request.url.startswith(("http://", "https://")):
            raise ValueError(f"not an http or https URL: {request.url}")
        made = urllib.request.Request(request.url, request.body or None, dict(request.headers), method=request.method)
        try:
            with opener.open(made, timeout=seconds) as response:
                return _answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            try:
                return _answer(error.code, error.headers, error.read())
            except (OSError, http.client.HTTPException):
                return None
        except (OSError, http.client.HTTPException):
            return None

    return send


def _answer(status: int, headers: Any, body: bytes) -> ApiAnswer:
    return ApiAnswer(status, {name.lower(): value for name, value in headers.items()}, body)


class Client:
    """Calls of a finapi by name: ``client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"])``.

    Numbers with a point are ``Decimal``, with ``dates=True`` days are ``date``. A call that was refused for now is
    made again after ``Retry-After``, at most ``tries`` times; an error is an :class:`ApiFailure`.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        token: str | None = None,
        tries: int = TRIES,
        dates: bool = False,
        headers: Mapping[str, str] | None = None,
        send: Send | None = None,
        wait: Callable[[float], None] | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.headers = exchange.credentials(api_key, token, headers)
        self.last: ApiAnswer | None = None  # the answer before it was read: headers, status
        self._tries = tries
        self._dates = dates
        self._send = send or by_urllib()
        self._wait = wait or time.sleep

    def __getattr__(self, name: str) -> Any:
        known = operation(name)
        if known is None:
            raise AttributeError(f"the API has no call {name}")
        return lambda **values: self._called(known, values)

    def call(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """The document that a call of any path answers."""
        asked = exchange.request(self.base_url, method, path, query=query, body=body, headers=self.headers)
        return exchange.decoded(self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    def rows(self, name: str, **values: Any) -> Iterator[Any]:
        """Every row of a list, page after page: ``client.rows("get_sec_filings", ticker="AAPL")``."""
        known = operation(name)
        if known is None or known.rows_in is None:
            raise TypeError(f"{name} answers no list")
        more: dict[str, Any] | None = values
        while more is not None:
            document = self._called(known, more)
            found = exchange.rows_of(document, known.rows_in)
            yield from found
            assert self.last is not None
            more = exchange.following(more, document, self.last.headers, len(found))

    def to_pandas(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``pandas.DataFrame`` (which is not installed with finapi)."""
        import pandas

        return pandas.DataFrame(list(self.rows(name, **values)))

    def to_polars(self, name: str, **values: Any) -> Any:
        """Every row of a list as a ``polars.DataFrame`` (which is not installed with finapi)."""
        import polars

        return polars.DataFrame(list(self.rows(name, **values)))

    def events(self, feed: str, *, since: int | None = None, wait: float = 5.0) -> Iterator[dict[str, Any]]:
        """The events of a feed for ever, resumed after each by its number; ``wait`` seconds between two empty looks."""
        while True:
            asked = {"feed": feed, "since_seq": since}
            document = self.call("GET", "/api/v1/events", asked)
            found = document["data"]
            for event in found:
                since = event["seq"]
                yield event
            if not found:
                self._wait(wait)

    def _called(self, known: NamedCall, values: dict[str, Any]) -> Any:
        method, path, query, body, headers = known.read(dict(values))
        asked = exchange.request(
            self.base_url, method, path, query=query, body=body, headers={**self.headers, **headers}
        )
        return exchange.decoded(self._held(exchange.conversation(asked, self._tries)), dates=self._dates)

    def _held(self, talk: Conversation) -> ApiAnswer:
        """Hold a conversation to its end."""
        answer: ApiAnswer | None = None
        try:
            wanted = next(talk)
            while True:
                if isinstance(wanted, ApiRequest):
                    self.last = answer = self._send(wanted)
                else:
                    self._wait(wanted)
                    answer = None
                wanted = talk.send(answer)
        except StopIteration as end:
            found: ApiAnswer = end.value
            return found
