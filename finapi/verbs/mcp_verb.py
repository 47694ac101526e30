"""The verb mcp: Model Context Protocol on standard input and output, for a server or for a data directory."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import BinaryIO

from finapi.client import exchange
from finapi.client.operations import get_operations
from finapi.client.synchronous import Send
from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.json import text
from finapi.store.datadir import Say
from finapi.verbs.api_verbs import KEY, connect, get_api_key
from finapi.verbs.verb import Perform, Verb


def _run_mcp(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.mcp.protocol import MAX_BYTES, ContextServer

    with connect(config) as (url, send):
        headers = exchange.build_headers(get_api_key(args, config), None, None)
        get_costs = _build_cost_lookup(url, send, say)
        server = ContextServer(
            send, base_url=url, headers=headers, get_cost=lambda route: get_costs()[route], caches_answers=True
        )
        for line in _iter_lines(sys.stdin.buffer, MAX_BYTES):
            document = server.answer(line).document
            if document is not None:
                # Characters other than ASCII are escaped, so that the encoding of the stream does not matter.
                say("out", re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text(document)))
    return 0


def _iter_lines(stream: BinaryIO, max_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a stream that are not blank. A line longer than ``max_bytes`` is cut after one more byte."""
    while line := stream.readline(max_bytes + 1):
        part = line
        while not part.endswith(b"\n") and (part := stream.readline(max_bytes)):
            pass
        if line.strip():
            yield line


def _build_cost_lookup(url: str, send: Send, say: Say) -> Callable[[], dict[str, int]]:
    """Return a function that returns the cost in tokens of each route, such as ``GET /api/v1/facts``."""

    @cache
    def get_costs() -> dict[str, int]:
        # Costs that the operator has changed are in the server's OpenAPI document.
        costs = {operation.route: operation.cost for operation in get_operations().values()}
        response = send(exchange.build_request(url, "GET", "/openapi.json"))
        if response is not None and response.status == 200:
            try:
                for path, item in json.loads(response.body)["paths"].items():
                    for method, operation in item.items():
                        costs[f"{method.upper()} {path}"] = int(operation["x-token-cost"])
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                say("err", f"finapi: {url}/openapi.json is not that of finapi; is another server running there?")
        return costs

    return get_costs


MCP = Verb(
    "Model Context Protocol on standard input and output, for hosts of language models",
    (KEY,),
    _run_mcp,
    settings=("url",),
)
