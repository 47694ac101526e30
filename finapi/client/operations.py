"""The calls of the API by name, from a table that ``python -m tests.from_routes`` makes of the route table."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiRequest


@dataclass(frozen=True, slots=True)
class NamedCall:
    """A call: its route, what it takes by name (a JSON Schema each), where the rows of its answer stand, if it answers
    rows, and what it costs unless an operator has set another price."""

    name: str
    method: str
    path: str
    takes: Mapping[str, Mapping[str, Any]]
    body: Mapping[str, Mapping[str, Any]]
    rows_in: str | None
    idempotent: bool
    cost: int

    @property
    def route(self) -> str:
        """``GET /api/v1/policy``."""
        return f"{self.method} {self.path}"

    @property
    def query(self) -> tuple[str, ...]:
        """The names of its query."""
        return tuple(name for name in self.takes if f"{{{name}}}" not in self.path)

    def request(self, base_url: str, headers: Mapping[str, str], given: Mapping[str, Any]) -> ApiRequest:
        """What is sent for values by name (``from_`` for ``from``); TypeError for a name that the call has not.

        A call that is made once under an ``Idempotency-Key`` has one: it can then be sent again.
        """
        values = {name.removesuffix("_"): value for name, value in given.items()}
        key = values.pop("idempotency_key", None)
        path = exchange.filled(self.path, values)
        taken = (*self.query, *PAGING) if self.rows_in is not None else self.query
        unknown = [name for name in values if name not in (*taken, *self.body)]
        if unknown:
            raise TypeError(f"{self.name} has no {unknown[0]}; it takes {', '.join((*self.query, *self.body))}")
        told = {name: values[name] for name in self.body if values.get(name) is not None}
        body = told if self.method in ("POST", "PUT") and self.body else None
        query = {name: value for name, value in values.items() if name not in self.body}
        if self.idempotent:
            import uuid  # most calls have no key, and it asks about the machine

            headers = {**headers, "Idempotency-Key": key or str(uuid.uuid4())}
        return exchange.request(base_url, self.method, path, query=query, body=body, headers=headers)


PAGING = ("limit", "offset", "cursor", "page")


@cache
def operations() -> Mapping[str, NamedCall]:
    """Every call by its name."""
    table = json.loads(pkgutil.get_data("finapi.client", "operations.json") or b"{}")
    return {name: NamedCall(name, *row) for name, row in table.items()}


def operation(name: str) -> NamedCall:
    """The call of a name; AttributeError where there is none."""
    if name not in operations():
        raise AttributeError(f"the API has no operation {name}")
    return operations()[name]


def listing(name: str) -> NamedCall:
    """The call of a name that answers rows; TypeError for another."""
    found = operations().get(name)
    if found is None or found.rows_in is None:
        raise TypeError(f"{name} does not return a list")
    return found
