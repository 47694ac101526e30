"""The operations of the API by name, from a table that ``python -m tests.from_routes`` writes from the route table."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiRequest

PAGING_PARAMETERS = ("limit", "offset", "cursor", "page")


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation of the API, such as ``get_sec_filings``."""

    name: str
    method: str
    path: str  # The path of the URL, with parameters in braces.
    parameters: Mapping[str, Mapping[str, Any]]  # The JSON Schemas of path and query parameters, by name.
    body_members: Mapping[str, Mapping[str, Any]]  # The JSON Schemas of the body's members, by name.
    rows_path: str | None  # The place of the rows in the answer, such as "data.items". None if it is not a list.
    is_idempotent: bool  # True if the operation takes an Idempotency-Key.
    cost: int  # The default cost in tokens, which an operator may change.
    summary: str  # A description of the answer in one line, without a full stop.
    required_names: tuple[str, ...]  # The parameters and the members of the body that a call must have.

    @property
    def route(self) -> str:
        """Return method and path: ``GET /api/v1/policy``."""
        return f"{self.method} {self.path}"

    @property
    def query_names(self) -> tuple[str, ...]:
        """Return the names of the query parameters."""
        return tuple(name for name in self.parameters if f"{{{name}}}" not in self.path)

    def build_request(
        self,
        base_url: str,
        headers: Mapping[str, str],
        arguments: Mapping[str, Any],
        timeout_seconds: float | None = None,
    ) -> ApiRequest:
        """Return the request for arguments by name (``from_`` for ``from``).

        An operation that takes an ``Idempotency-Key`` gets one, so that the request can be repeated. Raise TypeError
        for a name that the operation does not have, or a missing parameter of the path.
        """
        values = {name.removesuffix("_"): value for name, value in arguments.items()}
        key = values.pop("idempotency_key", None)
        path = exchange.fill_path(self.path, values)
        query_names = self.query_names
        known_names = {*query_names, *self.body_members}
        if self.rows_path is not None:
            known_names.update(PAGING_PARAMETERS)
        for name in values:
            if name not in known_names:
                takes = ", ".join((*query_names, *self.body_members))
                raise TypeError(f"{self.name} has no {name}; it takes {takes}")
        query = {name: value for name, value in values.items() if name not in self.body_members}
        body = None
        if self.method in ("POST", "PUT") and self.body_members:
            body = {name: values[name] for name in self.body_members if values.get(name) is not None}
        if self.is_idempotent:
            import uuid  # Imported here: most operations have no key, and the import reads network addresses.

            headers = {**headers, "Idempotency-Key": key or str(uuid.uuid4())}
        return exchange.build_request(
            base_url, self.method, path, query=query, body=body, headers=headers, timeout_seconds=timeout_seconds
        )


@cache
def get_operations() -> Mapping[str, ApiOperation]:
    """Return all operations by name."""
    table = json.loads(pkgutil.get_data("finapi.client", "operations.json") or b"{}")
    operations = {}
    for name, row in table.items():
        method, path, parameters, body_members, rows_path, is_idempotent, cost, summary, required_names = row
        operations[name] = ApiOperation(
            name=name,
            method=method,
            path=path,
            parameters=parameters,
            body_members=body_members,
            rows_path=rows_path,
            is_idempotent=is_idempotent,
            cost=cost,
            summary=summary,
            required_names=tuple(required_names),
        )
    return operations


def get_operation(name: str) -> ApiOperation:
    """Return the operation of this name. Raise AttributeError if there is none."""
    operation = get_operations().get(name)
    if operation is None:
        raise AttributeError(f"the API has no operation {name}")
    return operation


def get_list_operation(name: str) -> ApiOperation:
    """Return an operation that returns a list. Raise TypeError for any other operation."""
    operation = get_operations().get(name)
    if operation is None or operation.rows_path is None:
        raise TypeError(f"{name} does not return a list")
    return operation
