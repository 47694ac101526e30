"""Writes the table of calls of the Python client from the route table: ``python -m tests.client_table``."""

from __future__ import annotations

import json
from pathlib import Path

from finapi.web import openapi
from finapi.web.routes import ROUTES

TABLE = Path(__file__).parents[1] / "finapi" / "client" / "operations.json"


def table() -> str:
    """The table as it is to be, a call a line."""
    document = openapi.document("", ROUTES)
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
            rows_in = None
            if route.lists:
                rows_in = "" if route.schema["type"] == "array" else route.rows_in
            row = [route.method, path, {**path_takes, **query}, body, rows_in, route.idempotent, route.cost]
            lines.append(f"{json.dumps(told['operationId'])}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE.write_text(table(), "utf-8")
