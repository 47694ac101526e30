"""Records: the JSON objects of responses, each declared as a TypedDict next to the function that builds it.

The JSON Schema in ``/openapi.json`` (``web/http/schema.py``), the columns of a CSV, and mypy's check of the function
are derived from the declaration. A record has all its members: a missing figure is null. Only a member that is
``NotRequired`` may be left out::

    class Trade(TypedDict):
        ticker: str | None
        filing_date: Date | None
        shares: Decimal | None
        standard_type: Annotated[str, OneOf(STANDARD_TYPES)]
        transaction_value: Annotated[int | None, "Shares times price in whole dollars."]

A text in ``Annotated`` is the description of the member. If a query names its columns as the members,
:func:`build_record` turns its rows into records.

Every answer is a TypedDict, and so are its ``data`` and ``meta``. ``web/http/schema.py`` describes how to declare an
envelope, an answer with members of its own, and a meta with windows.
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
    """The ``format`` of a text, as JSON Schema calls it."""

    name: str


class OneOf(NamedTuple):
    """The values that a text member may have."""

    values: tuple[str, ...]


class JsonSchema:
    """The JSON Schema of a member that cannot be expressed as a type."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema


class InlineObject:
    """An object without a class: its members by name, each with its type or with a mapping of members."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self.types = types


Date = Annotated[str, Format("date")]  # YYYY-MM-DD
Time = Annotated[str, Format("date-time")]  # ISO 8601, UTC
Url = Annotated[str, Format("uri")]
# An object whose members depend on the data.
Object = Annotated[dict[str, Any], JsonSchema({"type": "object"})]


class QueryRow(Protocol):
    """A row of a query: a ``sqlite3.Row``, or a dict."""

    def keys(self) -> Iterable[str]:
        """Return the names of the columns."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the values of the columns (a dict yields its keys)."""

    def __getitem__(self, name: str, /) -> Any:
        """Return the value of a column."""


def build_record(record: Callable[..., Record], row: QueryRow, /, **members: Any) -> Record:
    """Return a record with the values of a row's columns, and with ``members``, which take precedence.

    A column of a ``bool`` member contains 0 or 1, a column of a ``Decimal`` member the decimal as text. Null becomes
    None. Columns that are not members are ignored. Raise TypeError if a member is neither a column nor in ``members``.
    """
    columns = tuple(row.keys())
    plan = _plan_record(record, columns, tuple(members))
    # sqlite3.Row searches its columns for each name, so a dict of all of them is faster.
    record_values: Any = {**row} if isinstance(row, dict) else dict(zip(columns, row, strict=True))
    for name, convert in plan.converters:
        if record_values[name] is not None:
            record_values[name] = convert(record_values[name])
    record_values.update(members)
    if not plan.is_complete:
        record_values = {name: record_values[name] for name in plan.names}
    return record_values  # type: ignore[no-any-return]


def parse_decimal(text: str | None) -> Decimal | None:
    """Return the number of a decimal text, or None."""
    return None if text is None else Decimal(text)


def format_cik(cik: int | None) -> str | None:
    """Return a CIK in ten digits, or None."""
    return None if cik is None else f"{cik:010}"


def get_members(record: Any) -> dict[str, Any]:
    """Return the members of a TypedDict by name, each with its annotation (``Annotated`` and ``NotRequired`` included).

    For a generic TypedDict with arguments, type variables are replaced by the arguments.
    """
    generic = get_origin(record) or record
    arguments = dict(zip(getattr(generic, "__parameters__", ()), get_args(record), strict=False))
    hints = get_type_hints(generic, include_extras=True)
    return {name: arguments.get(annotation, annotation) for name, annotation in hints.items()}


class _Plan(NamedTuple):
    """The plan by which records are built from rows with certain columns."""

    names: tuple[str, ...]  # The names of the members, in the order of the declaration.
    converters: tuple[tuple[str, Callable[[Any], Any]], ...]  # The columns that have to be converted, and how.
    is_complete: bool  # True if the columns and given members are exactly the members, in this order.


@cache
def _plan_record(record: Any, columns: tuple[str, ...], given_names: tuple[str, ...]) -> _Plan:
    members = get_members(record)
    names = tuple(name for name in members if name in columns or name in given_names)
    for name, annotation in members.items():
        if name not in names and get_origin(annotation) is not NotRequired:
            raise TypeError(f"{record.__name__}.{name}: the query has no such column and it is not given")
    converters = []
    for name in names:
        convert = None if name in given_names else _find_converter(members[name])
        if convert is not None:
            converters.append((name, convert))
    is_complete = names == tuple(dict.fromkeys((*columns, *given_names)))
    return _Plan(names, tuple(converters), is_complete)


def _find_converter(annotation: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts a column to the type of a member, or None if no conversion is needed."""
    while get_origin(annotation) in (Annotated, NotRequired):
        annotation = get_args(annotation)[0]
    types = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    types = tuple(kind for kind in types if kind is not NoneType)
    if len(types) == 1 and get_origin(types[0]) is Annotated:
        return _find_converter(types[0])
    if types == (bool,):
        return bool
    if types == (Decimal,):
        return Decimal
    return None
