"""``python -m tests.examples``: write the answers that the OpenAPI document shows as examples.

Each operation is called as the document says, on the demo's data; ``finapi/web/examples.json`` keeps the answers by
operation, their lists cut short and their secrets masked. Clock, ids and random bytes are fixed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.json import text
from finapi.web import openapi
from finapi.web.http.route import Route
from finapi.web.http.schema import Schema
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.described import LIFTED, World, example_call
from tests.golden.world import FixedSource

# The day after the newest transactions of insiders in the demo: their last days are not empty.
NOW = datetime(2025, 1, 22, 12, tzinfo=UTC)
FILE = Path(openapi.__file__).with_name("examples.json")
# What no example may show, and what it shows instead.
MASKS = {
    "api_key": "0123456789abcdef0123456789abcdef",
    "token": "eyJhbGciOiJIUzI1NiJ9.e30.x",
    "invite_token": "eyJhbGciOiJIUzI1NiJ9.e30.x",
}
# The secrets of the test vectors are public.
SECRETS = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLasw"}
ENTRIES = 2
URL = "https://finapi.example.com"
# What is asked beside or instead of the document's own examples where those find nothing in the demo.
_YEARS = {"filed_at_days": 3650}
ASKED: dict[str, dict[str, Any]] = {
    "get_insiders_aggregation_by_sector": _YEARS,
    "get_insiders_clusters": {"days": 365, "min_insiders": 1, "min_value": 0},
    "get_insiders_screen": _YEARS,
    "get_insiders_stats_global": {"days": 30},
    "get_insiders_transactions_by_ticker_ticker": _YEARS,
    "get_insiders_transactions_search": {"query": "Ahmed", **_YEARS},
    "get_insiders_transactions_top": {"direction": "SELL"},
}


def made() -> dict[str, Any]:
    """The example of each operation that answers JSON."""
    source = FixedSource()
    app = apps.create_in_memory(Config(public_url=URL, **LIFTED), FixedClock(NOW), new_uuid=source.uuid)
    app = replace(app, random_bytes=source.draw)
    try:
        world, client = World(app), Client(app)
        found = {}
        paths = openapi.build_document("", ROUTES)["paths"]
        # What is made comes before it is listed, and what all of it cost comes last.
        for route in sorted(
            ROUTES, key=lambda one: (one.method == "DELETE", one.method == "GET", "/account/" in one.path)
        ):
            if route.page or route.media or 200 not in route.answers:
                continue
            operation = paths[route.path][route.method.lower()]
            name = operation["operationId"]
            source.seed(name)
            target, body = example_call(operation, route.path, {**world.own(name), **ASKED.get(name, {})})
            options = {} if body is None else {"json": body}
            headers = world.headers()
            if "/account/" in route.path:
                # The account that has spent something is that of the key.
                del headers["Authorization"]
            answer = client.call(route.method, target, headers=headers, **options)
            assert answer.status == 200, (name, answer.body)
            if name == "get_openapi_json":
                found[name] = {**answer.json, "tags": [], "paths": {}, "webhooks": {}, "components": {}}
                continue
            found[name] = _cut(json.loads(answer.body, parse_float=float), route.schema, _masks(route))
        return found
    finally:
        app.db.close()


def listing() -> list[tuple[str, Route]]:
    """The routes that list rows, by operation."""
    paths = openapi.build_document("", ROUTES)["paths"]
    return [(paths[one.path][one.method.lower()]["operationId"], one) for one in ROUTES if one.lists]


def written(examples: dict[str, Any]) -> str:
    """The text of the file: an operation a line."""
    return "{\n" + ",\n".join(f'"{name}": {text(one)}' for name, one in sorted(examples.items())) + "\n}\n"


def _masks(route: Route) -> dict[str, str]:
    return MASKS if route.path.endswith("/vectors") else MASKS | SECRETS


def _cut(value: Any, schema: Schema, masks: dict[str, str]) -> Any:
    kind = {dict: "object", list: "array"}.get(type(value))
    fitting = [one for one in schema.get("anyOf", [schema]) if kind in (one.get("type"), *one.get("type", ()))]
    schema = fitting[0] if fitting else {}
    if isinstance(value, list):
        # The first row of a statement is a heading: the fullest row shows most.
        rows = any(isinstance(one, dict | list) for one in value)
        entries = [max(value[:20], key=lambda one: len(text(one)))] if rows else value[:ENTRIES]
        return [_cut(one, schema.get("items", {}), masks) for one in entries]
    if not isinstance(value, dict):
        return value
    members = schema.get("properties", {})
    names = list(value) if members or not schema.get("additionalProperties") else list(value)[:ENTRIES]
    others = schema.get("additionalProperties") or {}
    return {
        name: masks[name] if name in masks and value[name] else _cut(value[name], members.get(name, others), masks)
        for name in names
    }


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(prog="python -m tests.examples", description=__doc__).parse_args()
    examples = made()
    FILE.write_text(written(examples), "utf-8")
    print(f"{FILE.name}: {len(examples)} operations, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
