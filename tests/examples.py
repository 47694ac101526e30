"""``python -m tests.examples``: write the example answers of the OpenAPI document.

Each operation is called as the document describes, on the demo's data. ``finapi/web/examples.json`` stores the answers
by operation, with shortened lists and texts and masked secrets. Clock, ids and random bytes are fixed.
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
# Values that replace secrets in examples.
MASKS = {
    "api_key": "0123456789abcdef0123456789abcdef",
    "token": "eyJhbGciOiJIUzI1NiJ9.e30.x",
    "invite_token": "eyJhbGciOiJIUzI1NiJ9.e30.x",
}
# The secrets of the test vectors are public.
SECRETS = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLasw"}
TEXT_CHARACTERS = 2_000  # Of a longer text, such as a document.
ENTRIES = 2
URL = "https://finapi.example.com"
# Parameters used where the document's own examples match nothing in the demo.
_YEARS = {"filed_at_days": 3650}
ASKED: dict[str, dict[str, Any]] = {
    "get_insiders_aggregation_by_sector": _YEARS,
    "get_insiders_clusters": {"days": 365, "min_insiders": 1, "min_value": 0},
    "get_insiders_screen": _YEARS,
    "get_insiders_stats_global": {"days": 30},
    "get_insiders_transactions_by_ticker_ticker": _YEARS,
    "get_insiders_transactions_search": {"query": "Ahmed", **_YEARS},
    "get_insiders_transactions_top": {"direction": "SELL"},
    # The documents of these were filed after the day in the example of as_of.
    "post_form_13d": {"as_of": "2025-01-21"},
    "post_nport_screen": {"as_of": "2025-01-21"},
}


def build_examples() -> dict[str, Any]:
    """Return the example of each operation that answers JSON."""
    source = FixedSource()
    app = apps.create_in_memory(Config(public_url=URL, **LIFTED), FixedClock(NOW), new_uuid=source.uuid)
    app = replace(app, random_bytes=source.draw)
    try:
        world, client = World(app), Client(app)
        examples = {}
        paths = openapi.build_document("", ROUTES)["paths"]
        # Calls that create come before lists, and the costs of all calls come last.
        for route in sorted(
            ROUTES, key=lambda route: (route.method == "DELETE", route.method == "GET", "/account/" in route.path)
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
                # Only the account of the key has spent tokens.
                del headers["Authorization"]
            answer = client.call(route.method, target, headers=headers, **options)
            assert answer.status == 200, (name, answer.body)
            if name == "get_openapi_json":
                examples[name] = {**answer.json, "tags": [], "paths": {}, "webhooks": {}, "components": {}}
                continue
            examples[name] = _cut(json.loads(answer.body, parse_float=float), route.schema, _masks(route))
        return examples
    finally:
        app.db.close()


def list_list_operations() -> list[tuple[str, Route]]:
    """Return the operation and the route of each list."""
    paths = openapi.build_document("", ROUTES)["paths"]
    return [(paths[route.path][route.method.lower()]["operationId"], route) for route in ROUTES if route.lists]


def render_examples(examples: dict[str, Any]) -> str:
    """Return the text of the file, one operation per line."""
    return "{\n" + ",\n".join(f'"{name}": {text(example)}' for name, example in sorted(examples.items())) + "\n}\n"


def _masks(route: Route) -> dict[str, str]:
    return MASKS if route.path.endswith("/vectors") else MASKS | SECRETS


def _cut(value: Any, schema: Schema, masks: dict[str, str]) -> Any:
    kind = {dict: "object", list: "array"}.get(type(value))
    fitting = [
        choice for choice in schema.get("anyOf", [schema]) if kind in (choice.get("type"), *choice.get("type", ()))
    ]
    schema = fitting[0] if fitting else {}
    if isinstance(value, list):
        # The first row of a statement is a heading: the fullest row shows most.
        rows = any(isinstance(entry, dict | list) for entry in value)
        entries = [max(value[:20], key=lambda entry: len(text(entry)))] if rows else value[:ENTRIES]
        return [_cut(entry, schema.get("items", {}), masks) for entry in entries]
    if isinstance(value, str) and len(value) > TEXT_CHARACTERS:
        return f"{value[:TEXT_CHARACTERS]} ..."
    if not isinstance(value, dict):
        return value
    members = schema.get("properties", {})
    names = list(value) if members or not schema.get("additionalProperties") else list(value)[:ENTRIES]
    additional = schema.get("additionalProperties") or {}
    return {
        name: masks[name] if name in masks and value[name] else _cut(value[name], members.get(name, additional), masks)
        for name in names
    }


def main() -> None:
    """Write the file."""
    argparse.ArgumentParser(prog="python -m tests.examples", description=__doc__).parse_args()
    examples = build_examples()
    FILE.write_text(render_examples(examples), "utf-8")
    print(f"{FILE.name}: {len(examples)} operations, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
