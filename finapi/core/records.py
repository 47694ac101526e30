"""Records: what an answer holds, declared once as a TypedDict beside the function that builds it.

The JSON Schema of ``/openapi.json`` (``web/http/schema.py``), the columns of a CSV and mypy's check of the function
follow from the declaration. Every member is always there: a missing figure is a null in the open, never a gap; only a
member that is ``NotRequired`` may be left out::

    class Trade(TypedDict):
        ticker: str | None
        filing_date: Date | None
        shares: Decimal | None
        standard_type: Annotated[str, OneOf(STANDARD_TYPES)]
        transaction_value: Annotated[int | None, "Shares times price in whole dollars."]

A text in ``Annotated`` describes the member. Where SQL names its columns as they are answered, :func:`made` is the
whole way from a row to its record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    NotRequired,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

Record = TypeVar("Record")


class Format(NamedTuple):
    """The ``format`` of a text in JSON Schema."""

    name: str


class OneOf(NamedTuple):
    """The texts that a member may be."""

    values: tuple[str, ...]


class JsonSchema:
    """The JSON Schema of a member that no type can say."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema


class InlineObject:
    """An object that no class declares: its members by name, each with its type or with the members inside of it."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self.types = types


Date = Annotated[str, Format("date")]  # YYYY-MM-DD
Time = Annotated[str, Format("date-time")]  # ISO 8601, UTC
Url = Annotated[str, Format("uri")]
# Any object: what its members are depends on the data.
Object = Annotated[dict[str, Any], JsonSchema({"type": "object"})]


class QueryRow(Protocol):
    """A row of a query: ``sqlite3.Row``."""

    def keys(self) -> Iterable[str]:
        """The names of the columns."""

    def __iter__(self) -> Iterator[Any]:
        """The values of the columns (of a dict its keys)."""

    def __getitem__(self, name: str, /) -> Any:
        """The value of a column."""


def build_record(record: Callable[..., Record], row: QueryRow, /, **members: Any) -> Record:
    """The record of a row: its columns of the members' names, and ``members`` given beside them.

    A column of a ``bool`` member is 0 or 1, one of a ``Decimal`` member the decimal's text; null stays None. Columns
    that the record does not have are left out. A member that neither the row nor ``members`` has is a TypeError.
    """
    columns = tuple(row.keys())
    names, converters, whole = _plan(record, columns, tuple(members))
    # A look-up by name in sqlite3.Row goes through its columns: a dict of them is made at once.
    values: Any = {**row} if isinstance(row, dict) else dict(zip(columns, row, strict=True))
    for name, convert in converters:
        if values[name] is not None:
            values[name] = convert(values[name])
    values.update(members)
    if not whole:
        values = {name: values[name] for name in names}
    return values  # type: ignore[no-any-return]


def get_members(record: Any) -> dict[str, Any]:
    """The members of a TypedDict by name, each with its type as it is written (``Annotated``, ``NotRequired``)."""
    generic = get_origin(record) or record
    bound = dict(zip(getattr(generic, "__parameters__", ()), get_args(record), strict=False))
    return {name: bound.get(kind, kind) for name, kind in get_type_hints(generic, include_extras=True).items()}


@cache
def _plan(
    record: Any, columns: tuple[str, ...], given: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[tuple[str, Callable[[Any], Any]], ...], bool]:
    """The members to fill in their order, what converts a column's value, and whether there is nothing to leave out."""
    found = get_members(record)
    names = tuple(name for name in found if name in columns or name in given)
    missing = [name for name in found if name not in names and get_origin(found[name]) is not NotRequired]
    if missing:
        raise TypeError(f"{record.__name__}.{missing[0]}: the query has no such column and it is not given")
    converters = tuple((name, _converter(found[name])) for name in names if name not in given)
    needed = tuple((name, convert) for name, convert in converters if convert is not None)
    return names, needed, names == tuple(dict.fromkeys((*columns, *given)))


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    while get_origin(kind) in (Annotated, NotRequired):
        kind = get_args(kind)[0]
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = tuple(one for one in kinds if one is not NoneType)
    if len(kinds) == 1 and get_origin(kinds[0]) is Annotated:
        return _converter(kinds[0])
    return {(bool,): bool, (Decimal,): Decimal}.get(kinds)
