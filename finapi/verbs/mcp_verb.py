"""Model Context Protocol on standard input and output: for a server by its URL, or for a data directory."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import BinaryIO

from finapi.client import exchange
from finapi.client.operations import operations
from finapi.client.synchronous import Send
from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.json import text
from finapi.store.datadir import Say
from finapi.verbs.api_verbs import KEY, connect, get_api_key
from finapi.verbs.verb import Perform, Verb


def _run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.mcp.protocol import MAX_BYTES, ContextServer

    with connect(config) as (url, send):
        headers = exchange.credentials(get_api_key(args, config), None, None)
        prices = _prices(url, send, say)
        server = ContextServer(send, base_url=url, headers=headers, cost=lambda route: prices()[route], keeps=True)
        for line in _lines(sys.stdin.buffer, MAX_BYTES):
            document = server.answer(line).document
            if document is not None:
                # Plain ASCII: whatever the encoding of the stream is.
                say("out", re.sub(r"[^\x00-\x7f]", lambda one: json.dumps(one[0])[1:-1], text(document)))
    return 0


def _lines(stream: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines of a stream until its end; of one that is too long no more than shows that it is."""
    while line := stream.readline(most + 1):
        whole = line
        while not whole.endswith(b"\n") and (whole := stream.readline(most)):
            pass
        if line.strip():
            yield line


def _prices(url: str, send: Send, say: Say) -> Callable[[], dict[str, int]]:
    @cache
    def prices() -> dict[str, int]:
        """What calls cost: by the server's own document, else without the prices that an operator has set."""
        known = {one.route: one.cost for one in operations().values()}
        answer = send(exchange.request(url, "GET", "/openapi.json"))
        if answer is not None and answer.status == 200:
            try:
                for path, item in json.loads(answer.body)["paths"].items():
                    known |= {f"{method.upper()} {path}": int(told["x-token-cost"]) for method, told in item.items()}
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                say("err", f"finapi: {url}/openapi.json is no document of this API; is another server there?")
        return known

    return prices


MCP = Verb(
    "Model Context Protocol on standard input and output, for hosts of language models", (KEY,), _run, settings=("url",)
)
