"""A small query language like Lucene's, for all endpoints with a parameter ``query``.

It has fields, ranges, AND, OR, NOT, parentheses and quotes, for example
``form:4 AND filed:[2024-01-01 TO 2024-12-31] AND NOT (code:G OR code:F)``. Terms without an operator between them must
both hold, and AND binds more tightly than OR. Anything else of Lucene's language is refused with a message that names
it.

A query is parsed into a tree of terms. The tree is then expanded into alternatives, which are lists of terms that must
all hold: ``a AND (b OR c)`` becomes ``a b`` or ``a c``. The terms become conditions, whose values are passed to the
database as parameters: no text of a query becomes SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, product
from typing import Any, NamedTuple

from finapi.core.errors import ApiError, invalid_param

MAX_QUERY_LENGTH = 2_000
MAX_TERMS = 32
MAX_DEPTH = 8
# The maximum number of terms in all alternatives, which bounds the comparisons for each row.
MAX_ALTERNATIVE_TERMS = 64

GRAMMAR = 'field:value AND (field:"a text" OR NOT field:[2024-01-01 TO 2024-12-31])'

_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|(?P<and>AND\b|&&)|(?P<or>OR\b|\|\|)|(?P<not>NOT\b|!|-)|(?P<plus>\+)
    |(?P<field>[A-Za-z_][\w.]{0,79}):|(?P<value>"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|(?:[^\s()\[\]{}":\\]|\\.)+))""",
    re.VERBOSE | re.ASCII,
)
# After a field, a value may begin with a sign and contain colons, as times do.
_FIELD_VALUE = re.compile(r'\s*(?P<value>"(?:[^"\\]|\\.)*"|\[[^\[\]{}]*\]|(?:[^\s()\[\]{}"\\]|\\.)+)', re.ASCII)
_RANGE = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+)\s*\]")
# Characters with a special meaning in Lucene, outside of quotes and without a backslash.
_UNSUPPORTED = re.compile(r"(?<!\\)(?:[*?~^]|^[<>/])")


class QueryTerm(NamedTuple):
    """A value or a range of a field. If ``is_negated``, the field must not have it.

    ``low`` and ``high`` are equal for a value. None stands for the open end of a range.
    """

    field: str
    low: str | None
    high: str | None
    is_negated: bool = False


class QueryField(NamedTuple):
    """A field of a query: its names, and how to parse its values.

    Messages contain the first of the names. For a field with ranges (``is_range``), ``parse`` returns the value of one
    bound. For any other field it returns the members of the condition, a dict. It raises ValueError for a value that is
    not what ``expected`` describes.
    """

    names: tuple[str, ...]
    parse: Callable[[str], Any]
    expected: str
    is_range: bool = False


# The members ``field``, ``not``, and those that the value was parsed into.
Condition = dict[str, Any]
# A query holds if all terms of one alternative hold.
Alternatives = list[tuple[QueryTerm, ...]]


def parse_conditions(text: str, fields: Mapping[str, QueryField]) -> list[list[Condition]]:
    """Return the alternatives of a query, each as conditions that must all hold.

    The field "" parses words without a field. Raise INVALID_PARAM for a query that cannot be read, has an unknown
    field, or would take too much work.
    """
    keys_by_name = {name.lower(): key for key, field in fields.items() for name in (*field.names, key)}
    conditions: dict[QueryTerm, Condition] = {}
    alternatives = parse_alternatives(text)
    for term in chain.from_iterable(alternatives):
        if term in conditions:
            continue
        key = keys_by_name.get(term.field.lower())
        if key is None:
            allowed = sorted(field.names[0] for key, field in fields.items() if key)
            raise invalid_param("query", f"{term.field} is not a field of this query.", allowed=allowed)
        conditions[term] = {"field": key, "not": term.is_negated, **_parse_value(term, fields[key])}
    return [[conditions[term] for term in terms] for terms in alternatives]


def _parse_value(term: QueryTerm, field: QueryField) -> Condition:
    name = term.field or "A word"
    try:
        if field.is_range:
            return {
                "low": None if term.low is None else field.parse(term.low),
                "high": None if term.high is None else field.parse(term.high),
            }
        if term.low is None or term.low != term.high:
            raise invalid_param("query", f"{name} takes no range.", expected=field.expected)
        members: Condition = field.parse(term.low)
        return members
    except ValueError:
        raise invalid_param("query", f"{name} must be {field.expected}.", expected=field.expected) from None


def parse_alternatives(text: str) -> Alternatives:
    """Return the alternatives of a query. Raise INVALID_PARAM, with the position, for a query that cannot be read."""
    if len(text) > MAX_QUERY_LENGTH:
        raise _too_long(f"{MAX_QUERY_LENGTH:,} characters")
    tree = _QueryParser(text).parse()
    return [tuple(dict.fromkeys(terms)) for terms in _expand(tree, is_negated=False)]


def _too_long(bound: str) -> ApiError:
    return invalid_param(
        "query", f"The query has more than {bound}; shorten it or split it.", expected=f"at most {bound}"
    )


# ---- the tree


class _Not(NamedTuple):
    """A part of a query that must not hold."""

    node: _Node


class _Group(NamedTuple):
    """Parts of a query. All of them must hold if ``is_and``, otherwise at least one."""

    nodes: list[_Node]
    is_and: bool


_Node = QueryTerm | _Not | _Group


def _expand(node: _Node, *, is_negated: bool) -> Alternatives:
    """Return the alternatives of a part of a query, or of its negation.

    The negation of a group is the other kind of group, of negated parts (De Morgan).
    """
    if isinstance(node, QueryTerm):
        return [(node._replace(is_negated=is_negated),)]
    if isinstance(node, _Not):
        return _expand(node.node, is_negated=not is_negated)
    parts = [_expand(part, is_negated=is_negated) for part in node.nodes]
    if len(parts) == 1:
        return parts[0]
    choices: Iterable[Iterable[tuple[QueryTerm, ...]]]
    if node.is_and is not is_negated:
        choices = product(*parts)
    else:
        choices = ((terms,) for part in parts for terms in part)
    alternatives: Alternatives = []
    term_count = 0
    for choice in choices:
        terms = tuple(chain.from_iterable(choice))
        alternatives.append(terms)
        term_count += len(terms)
        if term_count > MAX_ALTERNATIVE_TERMS:
            raise _too_long(f"{MAX_ALTERNATIVE_TERMS} terms when it is written as alternatives")
    return alternatives


class _QueryParser:
    """A parser of one query, from left to right (recursive descent)."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._term_count = 0
        self._depth = 0

    def parse(self) -> _Node:
        """Return the tree of the query."""
        node = self._parse_or("")
        if self._text[self._position :].strip():
            raise self._syntax_error()
        return node

    def _parse_or(self, field: str) -> _Node:
        nodes = [self._parse_and(field)]
        while self._take("or"):
            nodes.append(self._parse_and(field))
        return _Group(nodes, is_and=False)

    def _parse_and(self, field: str) -> _Node:
        nodes = [self._parse_part(field)]
        while self._take("and") or self._is_at_part():
            nodes.append(self._parse_part(field))
        return _Group(nodes, is_and=True)

    def _is_at_part(self) -> bool:
        """Return True if a part follows without an operator, which means AND."""
        token = _TOKEN.match(self._text, self._position)
        return token is not None and token.lastgroup not in ("or", "close")

    def _parse_part(self, field: str) -> _Node:
        """Parse a term, or a part that begins with a parenthesis, NOT (also "!" or "-"), "+", or a field."""
        token = _TOKEN.match(self._text, self._position)
        kind = token.lastgroup if token else None
        if token is None or kind in ("and", "or", "close"):
            raise self._syntax_error()
        if kind == "value":
            return self._parse_term(field, token)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _too_long(f"{MAX_DEPTH} levels of nested parentheses, NOT, -, + and fields")
        self._position = token.end()
        node: _Node
        if kind == "not":
            node = _Not(self._parse_part(field))
        elif kind == "plus":
            node = self._parse_part(field)
        elif kind == "open":
            node = self._parse_parentheses(field)
        else:
            node = self._parse_field_value(token["field"])
        self._depth -= 1
        return node

    def _parse_parentheses(self, field: str) -> _Node:
        """Parse the content of parentheses. The opening one has already been read."""
        node = self._parse_or(field)
        if not self._take("close"):
            raise self._syntax_error(": a parenthesis is not closed")
        return node

    def _parse_field_value(self, field: str) -> _Node:
        if self._take("open"):
            return self._parse_parentheses(field)
        token = _FIELD_VALUE.match(self._text, self._position)
        if token is None:
            raise self._syntax_error()
        return self._parse_term(field, token)

    def _parse_term(self, field: str, token: re.Match[str]) -> QueryTerm:
        self._term_count += 1
        if self._term_count > MAX_TERMS:
            raise _too_long(f"{MAX_TERMS} terms")
        text = token["value"]
        low: str | None
        high: str | None
        if text.startswith("["):
            bounds = _RANGE.fullmatch(text)
            if bounds is None:
                raise self._syntax_error(": a range must be [from TO to]")
            low, high = (None if bound == "*" else bound.strip('"') for bound in bounds.groups())
        elif text.startswith('"'):
            low = high = re.sub(r"\\(.)", r"\1", text[1:-1]).strip()
        elif _UNSUPPORTED.search(text):
            raise self._syntax_error(": wildcards, ~, ^, < and > are not supported; ranges [from TO to] and quotes are")
        else:
            low = high = re.sub(r"\\(.)", r"\1", text)
        if low == "":
            raise self._syntax_error(": a text is empty")
        self._position = token.end()
        return QueryTerm(field, low, high)

    def _take(self, kind: str) -> bool:
        """Skip the next token if its kind is ``kind``. Return True if it was skipped."""
        token = _TOKEN.match(self._text, self._position)
        if token is None or token.lastgroup != kind:
            return False
        self._position = token.end()
        return True

    def _syntax_error(self, reason: str = "") -> ApiError:
        rest_of_query = self._text[self._position :].lstrip()
        character = len(self._text) - len(rest_of_query) + 1
        message = f"The query cannot be read at character {character}{reason}."
        return invalid_param("query", message, expected=GRAMMAR)
