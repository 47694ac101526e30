"""The verb mcp: Model Context Protocol on standard input and output, for a server or for a data directory."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, BinaryIO

from finapi import __version__
from finapi.client import exchange
from finapi.client.errors import ApiFailure
from finapi.client.operations import get_operations
from finapi.client.synchronous import Client, Send
from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.json import text
from finapi.store.datadir import Say
from finapi.verbs.api_verbs import EXIT_STATUS_NOTE, KEY, connect, get_api_key, report_failure
from finapi.verbs.verb import Perform, Verb, arg, escape_unprintable, print_document


def _run_mcp(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.mcp.protocol import MAX_BYTES, ContextServer

    if args.check:
        return _run_check(args, config, say)
    with connect(config) as (url, send):
        headers = exchange.build_headers(get_api_key(args, config), None, None)
        get_costs = _build_cost_lookup(url, send, say)
        server = ContextServer(
            send,
            base_url=url,
            headers=headers,
            get_cost=lambda route: get_costs()[route],
            caches_answers=True,
            sends_text=args.text,
        )
        for line in _iter_lines(sys.stdin.buffer, MAX_BYTES):
            document = server.answer(line).document
            if document is not None:
                # Characters other than ASCII are escaped, so that the encoding of the stream does not matter.
                say("out", re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text(document)))
    return 0


def _run_check(args: argparse.Namespace, config: Config, say: Say) -> int:
    """Check that a host can use this command: the server answers, accepts the key, and lists its tools.

    The calls cost nothing. Return the exit status.
    """
    from finapi.mcp.protocol import ContextServer

    results = {}
    try:
        with connect(config) as (url, send):
            client = Client(url, get_api_key(args, config), send=send, tries=1)
            address = url or str(config.data_dir)
            version = client.get_policy()["data"]["versioning"]["current"]
            results["server"] = f"{address} runs finapi {version}"
            if version != __version__:
                results["server"] += f"; this is {__version__}: install {address}/sdk/finapi_client-{version}-...whl"
            balance = client.get_account_balance()
            results["key"] = f"accepted; plan {balance['plan']}, {balance['current_balance']:,} tokens left"
            server = ContextServer(send, base_url=url, headers=client.headers)
            tools = server.answer(_build_message("tools/list")).document["result"]["tools"]
            call = _build_message("tools/call", name="account_balance", arguments={})
            tool_result = server.answer(call).document["result"]
            outcome = "failed" if tool_result["isError"] else "answered"
            results["tools"] = f"{len(tools)} tools; account_balance {outcome}"
            is_ready = not tool_result["isError"]
    except ApiFailure as failure:
        _print_check(args, say, results)
        return report_failure(say, failure, config.url, _SETUP_ADVICE.get(failure.status, ""))
    _print_check(args, say, results)
    return 0 if is_ready else 1


_SETUP_ADVICE = {401: " Set FINAPI_API_KEY in the host's configuration, or give --key."}


def _build_message(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def _print_check(args: argparse.Namespace, say: Say, results: Mapping[str, str]) -> None:
    if args.json:
        print_document(say, results)
        return
    for subject, result in results.items():
        say("out", escape_unprintable(f"{subject:8}{result}"))


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
    (
        KEY,
        arg("--check", action="store_true", help="check server, key and tools without a host, for free, and end"),
        arg("--text", action="store_true", help="send data as text, for hosts that ignore structured content"),
    ),
    _run_mcp,
    settings=("url",),
    note=EXIT_STATUS_NOTE,
)
