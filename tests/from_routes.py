"""Writes what is made of the route table: the Python client's calls and types, and the table of ``docs/API.md``.

python -m tests.from_routes
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from finapi.web import openapi
from finapi.web.routes import ROUTES
from tests import client_types

TABLE = Path(__file__).parents[1] / "finapi" / "client" / "operations.json"
REFERENCE = Path(__file__).parents[1] / "docs" / "API.md"
HEAD = "| call | tokens | answers |\n|---|---|---|\n"


def files() -> dict[Path, str]:
    """What each file is to hold."""
    document = openapi.build_document("", ROUTES)
    made = table(document)
    types, times = client_types.types(document, {name: row[4] for name, row in json.loads(made).items()})
    return {TABLE: made, client_types.TYPES: types, client_types.TIMES: times, REFERENCE: reference()}


# Where the rows of answers stand that have pages and are no tables.
PAGED = {
    "/account/transactions": "transactions",
    "/sniper/targets": "targets",
    "/webhooks/deliveries": "deliveries",
    "/xbrl/coverage": "data.companies",
    "/xbrl/screen": "data",
    "/facts/by-concept": "facts",
}


def table(document: dict[str, Any]) -> str:
    """The table, a call a line."""
    routes = {(route.method, route.path): route for route in ROUTES}
    lines = []
    for path, item in document["paths"].items():
        for method, told in item.items():
            route = routes.get((method.upper(), path))  # not under a second prefix
            if route is None:
                continue
            given = [one for one in told.get("parameters", ()) if "in" in one]
            path_takes, query = (
                {
                    one["name"]: {**one["schema"], "description": one["description"]}
                    for one in given
                    if one["in"] == place
                }
                for place in ("path", "query")
            )
            schema = told.get("requestBody", {"content": {"application/json": {"schema": {}}}})
            body = schema["content"]["application/json"]["schema"].get("properties", {})
            rows_in = PAGED.get(path.removeprefix("/api/v1")) if route.method == "GET" else None
            if route.lists:
                rows_in = "" if route.schema["type"] == "array" else route.rows_in
            row = [route.method, path, {**path_takes, **query}, body, rows_in, route.idempotent, route.cost]
            lines.append(f"{json.dumps(told['operationId'])}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def reference() -> str:
    """``docs/API.md`` with its table of calls, in the order of the route table."""
    before, _, after = REFERENCE.read_text("utf-8").partition(HEAD)
    _, separator, text_after_table = after.partition("\n\n")
    rows = [f"| `{route.method} {route.path}` | {route.cost} | {route.summary} |" for route in ROUTES if not route.page]
    return before + HEAD + "\n".join(rows) + (separator + text_after_table or "\n")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.from_routes", description=__doc__).parse_args()
    for file, text in files().items():
        file.write_text(text, "utf-8")
