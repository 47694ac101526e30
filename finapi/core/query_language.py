"""A small query language after Lucene's, for all who ask by ``query``: fields, ranges, AND, OR, NOT, brackets, quotes.

Terms without a word between them must both hold; AND binds closer than OR. What the language does not have is refused
by name. A query becomes alternatives of conditions that a database tests as values: nothing of it becomes SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

from finapi.core.errors import ApiError, invalid_param

MAX_QUERY_LENGTH = 2_000
MAX_TERMS = 32
MAX_DEPTH = 8
# Terms of all alternatives together: what is tested of a row at worst.
MAX_ALTERNATIVE_TERMS = 64

GRAMMAR = 'field:value AND (field:"a text" OR NOT field:[2024-01-01 TO 2024-12-31])'

_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<and>AND\b|&&)|(?P<or>OR\b|\|\|)|(?P<not>NOT\b|!|-)|(?P<plus>\+)
    |(?P<field>[A-Za-z_][\w.]{0,79}):|(?P<value>"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|(?:[^\s()\[\]{}":\\]|\\.)+))""",
    re.VERBOSE | re.ASCII,
)
# Behind a field a value may begin with a sign and have colons, as times do.
_VALUE = re.compile(r'\s*(?P<value>"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|(?:[^\s()\[\]{}"\\]|\\.)+)', re.ASCII)
_RANGE = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+)\s*\]")
# Marks that mean more than themselves elsewhere, where no quotes or backslash stand before them.
_UNSERVED = re.compile(r"(?<!\\)(?:[*?~^]|^[<>/])")

Condition = dict[str, Any]
Alternatives = list[tuple["QueryTerm", ...]]
Node = Callable[[bool], Alternatives]


class QueryTerm(NamedTuple):
    """A text, or a range with None at an open end, that a field must have or, ``negated``, must not."""

    field: str
    low: str | None
    high: str | None
    is_negated: bool = False


class QueryField(NamedTuple):
    """A field: its names, the first of which is told, and how a value is read (ValueError: ``expected`` is told).

    A ``ranged`` one reads the bounds; any other returns members of its condition.
    """

    names: tuple[str, ...]
    parse: Callable[[str], Any]
    expected: str
    is_range: bool = False


def parse_conditions(text: str, fields: Mapping[str, QueryField]) -> list[list[Condition]]:
    """Alternatives of conditions, one of which must hold whole: ``field``, ``not``, and what its value was read as.

    The field "" reads bare words. INVALID_PARAM for what cannot be read, is not served, or would be too much work.
    """
    by_name = {name.lower(): key for key, field in fields.items() for name in (*field.names, key)}
    read: dict[QueryTerm, Condition] = {}

    def condition(term: QueryTerm) -> Condition:
        if term not in read:
            key = by_name.get(term.field.lower())
            if key is None:
                allowed = sorted(field.names[0] for key, field in fields.items() if key)
                raise invalid_param("query", f"The field {term.field} is not served.", allowed=allowed)
            read[term] = {"field": key, "not": term.is_negated, **_value(term, fields[key])}
        return read[term]

    return [[condition(term) for term in every] for every in parse_alternatives(text)]


def _value(term: QueryTerm, field: QueryField) -> Condition:
    name = term.field or "A word"
    try:
        if field.is_range:
            low, high = (None if bound is None else field.parse(bound) for bound in (term.low, term.high))
            return {"low": low, "high": high}
        if term.low is None or term.low != term.high:
            raise invalid_param("query", f"{name} takes no range.", expected=field.expected)
        found: Condition = field.parse(term.low)
        return found
    except ValueError:
        raise invalid_param("query", f"{name} must be {field.expected}.", expected=field.expected) from None


def parse_alternatives(text: str) -> Alternatives:
    """A query as alternatives of terms, one of which must hold whole; INVALID_PARAM names the place that is wrong."""
    if len(text) > MAX_QUERY_LENGTH:
        raise _too_much(f"{MAX_QUERY_LENGTH:,} characters")
    return [tuple(dict.fromkeys(every)) for every in _Reader(text).whole()(False)]


def _too_much(bound: str) -> ApiError:
    return invalid_param("query", f"The query is more than {bound}; ask for less at once.", expected=f"at most {bound}")


def _leaf(term: QueryTerm) -> Node:
    return lambda negated: [(term._replace(is_negated=negated),)]


def _joined(nodes: list[Node], *, every: bool) -> Node:
    """All of the nodes, or any of them; of what is not so, the other way round."""

    def node(negated: bool) -> Alternatives:
        parts = [one(negated) for one in nodes]
        found: Alternatives = []
        choices = product(*parts) if every is not negated else ((one,) for part in parts for one in part)
        tests = 0
        for chosen in choices:
            found.append(tuple(term for terms in chosen for term in terms))
            tests += len(found[-1])
            if tests > MAX_ALTERNATIVE_TERMS:
                raise _too_much(f"{MAX_ALTERNATIVE_TERMS} terms once it is written as alternatives")
        return found

    return nodes[0] if len(nodes) == 1 else node


class _Reader:
    """One query, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.terms = self.depth = 0

    def whole(self) -> Node:
        node = self._any("")
        if self.text[self.at :].strip():
            raise self._wrong()
        return node

    def _wrong(self, why: str = "") -> ApiError:
        at = len(self.text) - len(self.text[self.at :].lstrip()) + 1
        said = f"The query cannot be read at character {at}{why}."
        return invalid_param("query", said, expected=GRAMMAR)

    def _next(self, *kinds: str) -> str | None:
        """The kind of the next token if it is one of these, which is then behind us."""
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup not in kinds:
            return None
        self.at = found.end()
        return found.lastgroup

    def _any(self, field: str) -> Node:
        nodes = [self._every(field)]
        while self._next("or"):
            nodes.append(self._every(field))
        return _joined(nodes, every=False)

    def _every(self, field: str) -> Node:
        nodes = [self._one(field)]
        while self._next("and") or (
            (found := _TOKEN.match(self.text, self.at)) and found.lastgroup not in ("or", "close")
        ):
            nodes.append(self._one(field))
        return _joined(nodes, every=True)

    def _one(self, field: str) -> Node:
        found = _TOKEN.match(self.text, self.at)
        kind = found.lastgroup if found else None
        if found is None or kind in ("and", "or", "close"):
            raise self._wrong()
        self.depth += kind != "value"
        if self.depth > MAX_DEPTH:
            raise _too_much(f"{MAX_DEPTH} brackets and signs inside each other")
        if kind == "value":
            return _leaf(self._term(field, found))
        self.at = found.end()
        if kind == "not":
            inner = self._one(field)
            node: Node = lambda negated: inner(not negated)  # noqa: E731 - a name for what it is
        elif kind == "plus":
            node = self._one(field)
        elif kind == "open":
            node = self._any(field)
            if self._next("close") is None:
                raise self._wrong(": a bracket is not closed")
        else:
            node = self._of_field(found["field"])
        self.depth -= 1
        return node

    def _of_field(self, field: str) -> Node:
        if self._next("open"):
            node = self._any(field)
            if self._next("close") is None:
                raise self._wrong(": a bracket is not closed")
            return node
        found = _VALUE.match(self.text, self.at)
        if found is None:
            raise self._wrong()
        return _leaf(self._term(field, found))

    def _term(self, field: str, found: re.Match[str]) -> QueryTerm:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise _too_much(f"{MAX_TERMS} terms")
        value = found["value"]
        if value.startswith("["):
            ends = _RANGE.fullmatch(value)
            if ends is None:
                raise self._wrong(": a range must be [from TO to]")
            low, high = (None if end == "*" else end.strip('"') for end in ends.groups())
        elif value.startswith('"'):
            low = high = re.sub(r"\\(.)", r"\1", value[1:-1]).strip()
        elif _UNSERVED.search(value):
            raise self._wrong(": wildcards, ~, ^, < and > are not supported; ranges [from TO to] and quotes are")
        else:
            low = high = re.sub(r"\\(.)", r"\1", value)
        if low == "":
            raise self._wrong(": a text is empty")
        self.at = found.end()
        return QueryTerm(field, low, high)
