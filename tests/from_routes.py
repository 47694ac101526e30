"""Files generated from the route table: the Python client's calls and types, and the table of ``docs/API.md``.

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
COLUMNS = TABLE.with_name("columns.json")
REFERENCE = Path(__file__).parents[1] / "docs" / "API.md"
HEAD = "| call | tokens | `as_of` | answers |\n|---|---|---|---|\n"
AS_OF_WORDS = {"honoured": "yes", "refused": "refused", "no_dates": "no dates"}


def build_files() -> dict[Path, str]:
    """Return the contents of each generated file."""
    document = openapi.build_document("", ROUTES)
    operations_table = render_operations(document)
    types, times = client_types.render_types(
        document, {name: row[4] for name, row in json.loads(operations_table).items()}
    )
    return {
        TABLE: operations_table,
        COLUMNS: render_columns(json.loads(operations_table)),
        client_types.TYPES: types,
        client_types.TIMES: times,
        REFERENCE: render_reference(),
    }


# Members with the rows of paged answers that are not tables.
PAGED = {
    "/account/transactions": "transactions",
    "/sniper/targets": "targets",
    "/webhooks/deliveries": "deliveries",
    "/xbrl/coverage": "data.companies",
    "/xbrl/screen": "data",
    "/facts/by-concept": "facts",
}


def render_operations(document: dict[str, Any]) -> str:
    """Return the table of calls, one per line."""
    routes = {(route.method, route.path): route for route in ROUTES}
    lines = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            route = routes.get((method.upper(), path))  # not under a second prefix
            if route is None:
                continue
            parameters = [parameter for parameter in operation.get("parameters", ()) if "in" in parameter]
            path_takes, query = (
                {
                    parameter["name"]: {**parameter["schema"], "description": parameter["description"]}
                    for parameter in parameters
                    if parameter["in"] == location
                }
                for location in ("path", "query")
            )
            schema = operation.get("requestBody", {"content": {"application/json": {"schema": {}}}})
            body_schema = schema["content"]["application/json"]["schema"]
            body = body_schema.get("properties", {})
            required = [parameter["name"] for parameter in parameters if parameter["required"]]
            required += body_schema.get("required", ())
            rows_in = PAGED.get(path.removeprefix("/api/v1")) if route.method == "GET" else None
            if route.lists:
                rows_in = "" if route.schema["type"] == "array" else route.rows_in
            row = [route.method, path, {**path_takes, **query}, body, rows_in, route.idempotent, route.cost]
            row += [operation["summary"], required]
            lines.append(f"{json.dumps(operation['operationId'])}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def render_columns(operations: dict[str, Any]) -> str:
    """Return the columns of each list with their kinds, one list per line. Columns that rows may lack end in ``?``."""
    routes = {(route.method, route.path): route for route in ROUTES}
    lines = []
    for name, row in operations.items():
        rows_path = row[4]
        if rows_path is None:
            continue
        schema = routes[row[0], row[1]].schema
        for member in filter(None, rows_path.split(".")):
            schema = schema["properties"][member]
        item = schema["items"]
        columns = {}
        for column, member in item.get("properties", {}).items():
            columns[column if column in item.get("required", ()) else f"{column}?"] = find_kind(member)
        lines.append(f"{json.dumps(name)}: {json.dumps(columns)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def find_kind(schema: dict[str, Any]) -> str:
    """Return the kind of a column: number, day, moment, or an empty text for any other one."""
    alternatives = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    kinds = set()
    for alternative in alternatives:
        types = alternative.get("type", [])
        types = {types} if isinstance(types, str) else set(types)
        if types - {"null"} and types <= {"integer", "number", "null"}:
            kinds.add("number")
        else:
            kinds.add({"date": "day", "date-time": "moment"}.get(alternative.get("format", ""), ""))
    return kinds.pop() if len(kinds) == 1 else ""


def render_reference() -> str:
    """Return ``docs/API.md`` with its table of calls, in the order of the route table."""
    before, _, after = REFERENCE.read_text("utf-8").partition(HEAD)
    _, separator, text_after_table = after.partition("\n\n")
    rows = [
        f"| `{route.name}` | {route.cost} | {AS_OF_WORDS[route.as_of_rule.kind]} | {route.summary} |"
        for route in ROUTES
        if not route.page
    ]
    return before + HEAD + "\n".join(rows) + (separator + text_after_table or "\n")


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.from_routes", description=__doc__).parse_args()
    for file, text in build_files().items():
        file.write_text(text, "utf-8")
