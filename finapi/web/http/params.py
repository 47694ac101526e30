"""The parameters of paths, queries and bodies: their declarations in routes, and their strict parser (DECISIONS 2).

The parser and ``/openapi.json`` are both derived from the declaration. A value of the wrong kind is answered with
400 INVALID_PARAM. :mod:`finapi.web.http.names` matches the names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import urlsplit

from finapi.core import days, passwords, suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.edgar import cusip, identifiers, tickers
from finapi.market.holdings import quarters
from finapi.net import letters
from finapi.net.letters import MailError

# The maximum lengths of a query or path parameter, of a text in a body, and of a URL in a body.
MAX_LENGTH = 1_000
MAX_TEXT_LENGTH = 10_000
MAX_URL_LENGTH = 2_000
# No count and no amount that the API accepts is larger.
MAX_NUMBER = 10**15
# A whole number in a query has at most nine digits, unless it is clamped.
MAX_INTEGER = 999_999_999
# The number of allowed values up to which an error message lists them. Its details always list all of them.
_MAX_LISTED_VALUES = 40
# The maximum number of words in a list. No call needs as many tickers, forms or metrics.
MAX_WORDS = 200

# Kinds that do not explain themselves:
# - "word": a text that may be a whole number in a body, such as a year.
# - "words": a list of texts. In a query they are separated by commas, or the parameter is repeated.
# - "number": parsed as a Decimal. "cik": parsed as an int.
# - "ticker": a ticker or a CIK. "any_accession": also the name of a document whose filing is not known.
# - "sort": a column, with or without its order, also as a list with one element.
# - "values": a list of texts, numbers and nulls.
# - "amount": a text, or a number that is converted to the text of its digits.
# - "objects": a list of objects.
Kind = Literal[
    "text",
    "word",
    "words",
    "integer",
    "number",
    "boolean",
    "date",
    "quarter",
    "cik",
    "accession",
    "any_accession",
    "cusip",
    "cusip_or_isin",
    "ticker",
    "cursor",
    "email",
    "url",
    "new_password",
    "sort",
    "values",
    "object",
    "amount",
    "objects",
]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Param:
    """A path or query parameter. ``minimum`` and ``maximum`` bound a number, or the number of words in a list."""

    name: str
    kind: Kind = "text"
    location: Literal["path", "query", "body"] = "query"
    # The value of a missing parameter. If it is a text, a caller may also send it, even if it is not of the kind.
    default: Any = None
    required: bool = False
    # The values that are accepted; all texts if empty.
    allowed: tuple[str, ...] = ()
    # Pairs of another name and its allowed value. If there are any, case does not matter.
    aliases: tuple[tuple[str, str], ...] = ()
    # One end of the range of days of a list. If a request has one, the default windows of the route do not apply.
    is_window: bool = False
    # A text whose parts are separated by commas. Repeated parameters are joined with commas.
    repeatable: bool = False
    minimum: int | None = None
    maximum: int | None = None
    # Move an integer that is out of bounds to the nearest bound instead of refusing it. "above": only to the maximum.
    clamp: bool | Literal["above"] = False
    # The handler also accepts values other than ``allowed``, and checks them.
    allows_others: bool = False
    # An empty value is read as the default.
    empty_is_default: bool = False
    # The kind of the elements if the kind is "words".
    word_kind: Kind = "text"
    # The pattern that a value of the kind "text" or "cursor" must match.
    pattern: str = ""
    help: str = ""
    example: Any = ""

    def parse(self, text: str) -> Any:
        """Parse a text and return its value.

        Raise INVALID_PARAM, with the name and the expected kind, if it is wrong.
        """
        if (len(text) > MAX_LENGTH and len(text) > self.max_length) or "\0" in text:
            raise self.error("is too long or contains a NUL character", expected=self.kind)
        if self.kind in ("text", "cursor") and not self.allowed and not text.strip():
            raise self.error("is empty", expected="text")
        if text == self.default:
            return text
        convert = _FROM_TEXT.get(self.kind)
        return _check_value(self, convert(self, text) if convert else text)

    def parse_all(self, texts: Sequence[str]) -> tuple[Any, ...]:
        """Return the words of repeated parameters as one list. Raise INVALID_PARAM if any of them is not valid."""
        words: list[Any] = []
        for text in texts:
            if text.strip(" ,"):
                words += self.parse(text)
        return self.check_count(words, self.minimum or 1)

    def check_count(self, words: Iterable[Any], minimum: int = 1) -> tuple[Any, ...]:
        """Return the words without repetitions. Raise INVALID_PARAM if they are too few or too many."""
        unique_words = tuple(dict.fromkeys(words))
        maximum = self.maximum or MAX_WORDS
        if not minimum <= len(unique_words) <= maximum:
            bounds = minimum if minimum == maximum else f"{minimum} to {maximum}"
            raise self.error(f"must be {bounds} values separated by commas", expected="comma-separated list")
        return unique_words

    @property
    def max_length(self) -> int:
        """Return the length of the longest valid list of allowed words, with commas; 0 for other kinds."""
        return MAX_WORDS * (max(map(len, self.accepted_names)) + 1) if self.kind == "words" and self.allowed else 0

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """Return the allowed values and their aliases."""
        return (*self.allowed, *(name for name, _ in self.aliases))

    def find_allowed(self, text: str) -> str | None:
        """Return the allowed value that a text names, or None."""
        if text in self.allowed:
            return text
        if not self.aliases:
            return None
        values_by_name = {allowed_value.lower(): allowed_value for allowed_value in self.allowed}
        values_by_name.update((alias.lower(), allowed_value) for alias, allowed_value in self.aliases)
        return values_by_name.get(text.lower())

    @property
    def bounds_text(self) -> str:
        """Return the bounds for an error message, `` from 1 to 100``; empty if values are clamped to them."""
        if self.clamp is True:
            return ""
        from_text = "" if self.minimum is None else f" from {self.minimum}"
        to_text = "" if self.maximum is None else f" to {self.maximum}"
        return from_text + to_text

    def error(self, problem: str, **details: Any) -> ApiError:
        """Return INVALID_PARAM with a message such as ``ticker is required.``"""
        return invalid_param(self.name, f"{self.name} {problem}.", **details)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field(Param):
    """A member of a JSON body. A "boolean" may have only one of its values ``allowed``. "words" is a JSON list."""

    location: Literal["path", "query", "body"] = "body"
    nullable: bool = False
    # Another field. One of the two is required.
    alternative: str = ""
    # The members of an "object", or of each of the "objects".
    members: tuple[Field, ...] = ()

    def parse(self, member: Any) -> Any:
        """Check a JSON member and return its value. Raise INVALID_PARAM, with the expected kind, if it is wrong."""
        if member is None and self.nullable:
            return None
        if self.kind == "object":
            if not isinstance(member, Mapping):
                raise self.error("must be an object", expected="object")
            return parse_body(self.members, member)
        if self.kind == "objects":
            return self._parse_objects(member)
        convert = _FROM_JSON.get(self.kind) or _json_text
        return _check_value(self, convert(self, member))

    def _parse_objects(self, elements: Any) -> list[dict[str, Any]]:
        """Return the objects of a list. An error names the object and its member, such as ``claims[2].period``."""
        minimum = self.minimum or 0
        maximum = self.maximum or MAX_WORDS
        if not isinstance(elements, list) or not minimum <= len(elements) <= maximum:
            raise self.error(f"must be a list of {minimum} to {maximum} objects", expected="list of objects")
        parsed = []
        for index, element in enumerate(elements):
            name = f"{self.name}[{index}]"
            if not isinstance(element, Mapping):
                raise invalid_param(name, f"{name} must be an object.", expected="object")
            try:
                parsed.append(parse_body(self.members, element))
            except ApiError as error:
                details = error.details or {}
                error.details = {**details, "param": f"{name}.{details.get('param')}"}
                error.message = f"{name}: {error.message}"
                raise
        return parsed


def parse_params(params: Sequence[Param], path: Mapping[str, str], query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return every declared parameter by name, with defaults. Raise INVALID_PARAM for the first that is not valid.

    If the route has windows, ``clamped`` contains the requested values that were beyond their bounds.
    """
    arguments: dict[str, Any] = {}
    names = {param.name for param in params}
    for param in params:
        if param.location == "path":
            texts = [path[param.name]]
        else:
            texts = query.get(_find_sent_name(param.name, query, names), [])
        arguments[param.name] = _parse_texts(param, texts)
    window_names = [param.name for param in params if param.is_window]
    if window_names:
        sent_windows = {name: query[name][0] for name in window_names if query.get(name, [""]) != [""]}
        if sent_windows:
            # A window in the request replaces the default windows.
            for name in window_names:
                if name not in sent_windows:
                    arguments[name] = None
        arguments["clamped"] = {
            name: text
            for name, text in sent_windows.items()
            if isinstance(arguments[name], int) and int(text) != arguments[name]
        }
    return arguments


def _parse_texts(param: Param, texts: list[str]) -> Any:
    """Return the value of a parameter from the texts that were sent. The list is empty if it is missing."""
    if not texts or (param.empty_is_default and texts == [""]):
        if param.required:
            raise param.error("is required", expected=param.kind)
        return param.default
    if param.kind == "words":
        return param.parse_all(texts)
    if len(texts) > 1 and not param.repeatable:
        raise param.error("is given more than once", expected="one value")
    return param.parse(",".join(texts))


def parse_body(fields: Sequence[Field], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a body has, by name. Raise INVALID_PARAM for the first that is not valid or missing."""
    arguments: dict[str, Any] = {}
    names = {field.name for field in fields}
    for field in fields:
        name = _find_sent_name(field.name, body, names)
        if name in body:
            arguments[field.name] = field.parse(body[name])
        elif field.required:
            raise field.error("is required", expected=field.kind)
    return arguments


# Synonymous names: a route that declares one of them also accepts the other.
SYNONYMS = {"q": "query", "query": "q"}


def _find_sent_name(name: str, members: Mapping[str, Any], declared_names: set[str]) -> str:
    """Return the name under which the request sends a parameter: its own, or a synonym that the route lacks."""
    synonym = SYNONYMS.get(name)
    if synonym is None or name in members or synonym in declared_names:
        return name
    return synonym


# ---- parameters of several routes


def limit_param(default: int, maximum: int, noun: str = "Rows") -> Param:
    """Return the parameter for the maximum number of rows. Larger numbers are clamped to ``maximum``."""
    help = f"{noun}, at most {maximum:,}."
    return Param(
        "limit", "integer", default=default, minimum=1, maximum=maximum, clamp=True, help=help, example=str(default)
    )


# Rows that a free list skips at most, because the skipped rows are read from the database.
MAX_FREE_OFFSET = 100_000


def offset_param(maximum: int | None = None, noun: str = "Rows") -> Param:
    """Return the parameter for the number of rows to skip."""
    return Param("offset", "integer", default=0, minimum=0, maximum=maximum, help=f"{noun} to skip.", example="0")


def cursor_param(example: str, pattern: str) -> Param:
    """Return the parameter for the cursor of a page, which must match ``pattern``."""
    return Param("cursor", "cursor", pattern=pattern, help="next_cursor of the previous page.", example=example)


def path_param(name: str, kind: Kind = "text", help: str = "", example: str = "") -> Param:
    """Return a parameter that is a segment of the path."""
    return Param(name, kind, location="path", required=True, help=help, example=example)


OFFSET = offset_param()
TICKER = path_param("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL")
CIK = path_param("cik", "cik", help="CIK, with or without leading zeros.", example="0000320193")
MANAGER = path_param("cik", "cik", help="CIK of the manager, with or without leading zeros.", example="0001067983")
CUSIP = path_param("cusip", "cusip", help="CUSIP with its check digit.", example="037833100")
ACCESSION = path_param("accession", "any_accession", help="With or without dashes.", example="0000320193-25-000057")
ACCESSION_NUMBER = path_param("accession_number", "accession", help=ACCESSION.help, example=ACCESSION.example)


def round_bound(bound: Decimal | None, *, round_up: bool) -> int | None:
    """Return a bound of integers: a minimum of 1.5 is 2 (``round_up``), a maximum of 1.5 is 1."""
    return None if bound is None else math.ceil(bound) if round_up else math.floor(bound)


# ---- the parser: first the text or the JSON value, then its kind


def _text_integer(param: Param, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise param.error("must be a whole number", expected="integer")
    return int(text)


def _text_number(param: Param, text: str) -> Decimal:
    # The syntax of JSON, with few enough digits that parsing them is cheap.
    if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?", text):
        raise param.error("must be a decimal number", expected="number")
    return Decimal(text)


def _text_boolean(param: Param, text: str) -> bool:
    word = text.lower()  # Python's str(True) is "True".
    if word not in ("true", "false"):
        raise param.error("must be true or false", allowed=["true", "false"])
    return word == "true"


def _text_words(param: Param, text: str) -> tuple[str, ...]:
    return param.check_count(word.strip() for word in text.split(",") if word.strip())


def _json_text(param: Param, text: Any) -> str:
    if not isinstance(text, str) or not text:
        raise param.error("must be a non-empty string", expected="text")
    if len(text) > MAX_TEXT_LENGTH:
        raise param.error(
            f"may have at most {MAX_TEXT_LENGTH:,} characters", expected=f"at most {MAX_TEXT_LENGTH:,} characters"
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise param.error("is not valid Unicode", expected="text") from None
    return text


def _json_word(param: Param, member: Any) -> str:
    return _json_text(param, str(member) if isinstance(member, int) and not isinstance(member, bool) else member)


def _json_integer(param: Param, member: Any) -> int:
    # JSON has one type of number, so that 42.0 is the integer 42.
    if isinstance(member, float) and member.is_integer():
        member = int(member)
    if not isinstance(member, int) or isinstance(member, bool):
        raise param.error(f"must be a whole number{param.bounds_text}", expected=f"integer{param.bounds_text}")
    return member


def _json_number(param: Param, member: Any) -> Decimal:
    # str() returns the shortest text of a float, which is what the caller wrote.
    number = Decimal(str(member)) if isinstance(member, int | float) and not isinstance(member, bool) else None
    if number is None or not number.is_finite():
        raise param.error(f"must be a number{param.bounds_text}", expected=f"number{param.bounds_text}")
    return number


def _json_amount(param: Param, member: Any) -> str:
    if isinstance(member, str):
        return _json_text(param, member)
    if isinstance(member, int) and not isinstance(member, bool):
        return str(member)
    if not isinstance(member, float):
        raise param.error("must be a text or a number", expected="text or number")
    # JSON has one type of number, so that 42.0 is the integer 42.
    return str(int(member)) if member.is_integer() else f"{Decimal(str(member)):f}"


def _json_boolean(param: Param, member: Any) -> bool:
    allowed = param.allowed or ("true", "false")
    if not isinstance(member, bool) or str(member).lower() not in allowed:
        raise param.error(f"must be {' or '.join(allowed)}", expected="boolean")
    return member


def _json_words(param: Param, words: Any) -> list[str]:
    minimum = param.minimum or 0
    maximum = param.maximum or MAX_WORDS
    if not isinstance(words, list) or not minimum <= len(words) <= maximum:
        bounds = f"{minimum} to {maximum}" if minimum else f"at most {maximum}"
        raise param.error(f"must be a list of {bounds} texts", expected="list of texts")
    return [_json_text(param, word) for word in words]


def _json_sort(param: Param, column: Any) -> tuple[str, bool]:
    """Return (column, is descending) of ``"value"``, ``["value"]`` or ``[{"value": {"order": "asc"}}]``."""
    if isinstance(column, list) and len(column) == 1:
        column = column[0]
    order: Any = "desc"
    if isinstance(column, dict) and len(column) == 1:
        ((column, order),) = column.items()
        order = order.get("order") if isinstance(order, dict) else order
    if not isinstance(column, str) or order not in ("asc", "desc"):
        raise param.error("must be one column, optionally with its order", expected='[{"column": {"order": "desc"}}]')
    return _read_text(param, "text", _json_text(param, column)), order == "desc"


def _json_values(param: Param, value: Any) -> list[str | float | None]:
    is_valid = isinstance(value, list) and all(
        element is None or isinstance(element, str | int | float) for element in value
    )
    if not is_valid or len(value) > (param.maximum or MAX_WORDS):
        raise param.error(
            f"must be a list of at most {param.maximum} texts, numbers or nulls", expected="list of values"
        )
    if any(isinstance(element, int) and abs(element) > 2**63 - 1 for element in value):
        raise param.error("has a number that is too large", expected="list of values")
    return [_json_text(param, element) if isinstance(element, str) and element else element for element in value]


_FROM_TEXT: dict[Kind, Callable[[Param, str], Any]] = {
    "integer": _text_integer,
    "number": _text_number,
    "boolean": _text_boolean,
    "words": _text_words,
}
_FROM_JSON: dict[Kind, Callable[[Param, Any], Any]] = {
    "word": _json_word,
    "integer": _json_integer,
    "number": _json_number,
    "boolean": _json_boolean,
    "words": _json_words,
    "sort": _json_sort,
    "values": _json_values,
    "amount": _json_amount,
}


def _email(text: str) -> str:
    text = text.strip().lower()
    try:
        # An address is valid if the mail sender accepts it.
        letters.parse_address(text)
    except MailError as error:
        raise ValueError from error
    return text


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError
    if parts.port is not None and parts.port <= 0:
        raise ValueError
    if len(text) > MAX_URL_LENGTH or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ValueError
    return text


def _accession(text: str) -> str:
    accession = identifiers.parse_accession(text)
    if accession is None:
        raise ValueError
    return accession


def _cusip_or_isin(text: str) -> str:
    from finapi.edgar import fund_reports

    isin = text.strip().upper()
    return isin if fund_reports.is_isin(isin) else cusip.validate(text)


def _any_accession(text: str) -> str:
    from finapi.market.documents.metadata import UNFILED_PREFIX

    return text if re.fullmatch(UNFILED_PREFIX + "[0-9a-f]{16}", text) else _accession(text)


_ACCESSION_MESSAGE = ("an accession number such as 0000320193-25-000057", "0000320193-25-000057")
# For each kind of text: its parser (which raises ValueError), and the noun and the example of the error message.
_TEXT_KINDS: dict[Kind, tuple[Callable[[str], Any], str, str]] = {
    "date": (days.validate, "a date, YYYY-MM-DD", "date YYYY-MM-DD"),
    "quarter": (quarters.parse_quarter, "a calendar quarter: its last day, YYYY-MM-DD, or 2025Q3", "2025-09-30"),
    "cik": (lambda text: int(identifiers.parse_cik(text)), "a CIK: a number of at most ten digits", "0000320193"),
    "accession": (_accession, *_ACCESSION_MESSAGE),
    "any_accession": (_any_accession, *_ACCESSION_MESSAGE),
    "cusip": (cusip.validate, "a CUSIP: nine characters, the last of them a check digit", "037833100"),
    "cusip_or_isin": (
        _cusip_or_isin,
        "a CUSIP, nine characters with a check digit, or an ISIN of twelve",
        "037833100",
    ),
    "ticker": (tickers.normalise, "a ticker or a CIK", "AAPL"),
    "email": (_email, "an email address", "email"),
    "url": (_url, "an http or https URL", "url"),
}


def _check_value(param: Param, value: Any) -> Any:
    if param.kind in ("integer", "number"):
        return _check_bounds(param, value)
    if param.kind in ("sort", "values"):
        return value
    if param.kind == "words":
        words = [_read_text(param, param.word_kind, word) for word in value]
        return words if param.location == "body" else tuple(words)
    if param.kind == "new_password":
        # The handler checks for common passwords, because that depends on the settings.
        passwords.check_new(value, param.name, common="allowed")
    return value if param.kind == "boolean" else _read_text(param, param.kind, value)


def _read_text(param: Param, kind: Kind, text: str) -> Any:
    if param.allowed and not param.allows_others:
        allowed_value = param.find_allowed(text)
        if allowed_value is None:
            raise _build_not_allowed_error(param, text)
        return allowed_value
    if param.pattern and not re.fullmatch(param.pattern, text):
        if kind == "cursor":
            raise invalid_cursor(param.name)
        raise param.error(f"must look like {param.example}", expected=str(param.example))
    if kind not in _TEXT_KINDS:
        return text
    read, noun, expected = _TEXT_KINDS[kind]
    try:
        return read(text)
    except ValueError:
        raise param.error(f"must be {noun}", expected=expected) from None


def _build_not_allowed_error(param: Param, text: str) -> ApiError:
    allowed = list(param.allowed)
    list_similar = suggestions.list_similar_metrics if param.name == "metric" else suggestions.list_similar
    similar = list_similar(text, param.accepted_names)
    message = f"cannot be {text[: suggestions.MAX_WORD_LENGTH]}"
    if len(allowed) <= _MAX_LISTED_VALUES:
        message += f"; use one of {', '.join(allowed)}"
    details: dict[str, Any] = {"allowed": allowed}
    if similar:
        details["nearest"] = similar
    return invalid_param(param.name, f"{param.name} {message}{suggestions.did_you_mean(similar)}", **details)


def invalid_cursor(name: str = "cursor") -> ApiError:
    """Return the 400 for a cursor that is not the ``next_cursor`` of any page."""
    message = "Invalid cursor; use next_cursor of the previous page."
    return invalid_param(name, message, expected="next_cursor of a page")


def _check_bounds(param: Param, number: Any) -> Any:
    is_above = param.maximum is not None and number > param.maximum
    is_below = param.minimum is not None and number < param.minimum
    if is_above and param.clamp:
        return param.maximum
    if is_below and param.clamp is True:
        return param.minimum
    if is_above or is_below:
        raise param.error(f"must be{param.bounds_text}", expected=f"{param.kind}{param.bounds_text}")
    is_query_integer = param.kind == "integer" and param.location != "body"
    max_number = max(MAX_INTEGER, param.maximum or 0) if is_query_integer else MAX_NUMBER
    if abs(number) > max_number:
        raise param.error("is too large", expected=f"at most {max_number}")
    return number
