"""Parameters of paths and queries and members of bodies, as routes declare them, and their strict reader (DECISIONS 2).

A declaration is the one place that says what a parameter is: the reader and ``/openapi.json`` both come from it.
Unknown names are ignored; a value that is not of its kind is 400 INVALID_PARAM.
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

# Characters of a query or path parameter, of a text in a body, and of a URL there.
MAX_LENGTH = 1_000
MAX_TEXT_LENGTH = 10_000
MAX_URL_LENGTH = 2_000
# Nothing that is counted or paid here has more digits.
MAX_NUMBER = 10**15
# A whole number in a query has at most nine digits, unless it is clamped.
MAX_INTEGER = 999_999_999
_NAMED = 40  # allowed values that a refusal's message names; its details name all
# More than any list of tickers, forms or metrics that one call can mean.
MAX_WORDS = 200

# "word" is a text that a body may also give as a whole number, as years are; "words" is a list of texts, in a query
# with commas between them or each given anew; "number" is read as a Decimal, "cik" as an int; "ticker" takes a ticker
# or a CIK, "any_accession" also the name of a document whose filing is not known, "sort" a column alone or as a list of
# one, with or without its order, "values" a list of texts, numbers and nulls.
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
    "ticker",
    "cursor",
    "email",
    "url",
    "new_password",
    "sort",
    "values",
    "object",
]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Param:
    """A path or query parameter. ``least`` and ``most`` bound a number, or how many words a list has.

    With ``open`` the ``allowed`` values are those known beforehand, and the handler judges any other. ``each`` is the
    kind of every entry of "words". With ``clamp`` an integer out of its bounds is brought within them instead of
    refused ("above": only at the top). A ``default`` that is a text may also be given, whatever the kind.
    """

    name: str
    kind: Kind = "text"
    location: Literal["path", "query", "body"] = "query"
    default: Any = None
    required: bool = False
    allowed: tuple[str, ...] = ()
    # Other names of allowed values, and what each means; with any of them, case does not matter.
    aliases: tuple[tuple[str, str], ...] = ()
    # A span of days that a list is narrowed to: given, it replaces the default of the route's others.
    is_window: bool = False
    # A text that has commas between its parts: given several times, it is one text of all of them.
    repeatable: bool = False
    minimum: int | None = None
    maximum: int | None = None
    clamp: bool | Literal["above"] = False
    allows_others: bool = False
    # An empty value means that none was given: it is the documented default.
    empty_is_default: bool = False
    word_kind: Kind = "text"
    # What a text that has no kind of its own looks like, or a "cursor" of this list.
    pattern: str = ""
    help: str = ""
    example: Any = ""

    def parse(self, text: str) -> Any:
        """``text`` as this parameter's kind, or INVALID_PARAM that names it and what was expected."""
        if (len(text) > MAX_LENGTH and len(text) > self.max_length) or "\0" in text:
            raise self.error("is too long or contains a NUL character", expected=self.kind)
        if self.kind in ("text", "cursor") and not self.allowed and not text.strip():
            raise self.error("is empty", expected="text")
        if text == self.default:
            return text
        convert = _FROM_TEXT.get(self.kind)
        return _checked(self, convert(self, text) if convert else text)

    def parse_all(self, texts: Sequence[str]) -> tuple[Any, ...]:
        """The words of several texts as one list; what is wrong with any of them is wrong with it."""
        return self.check_count(
            (word for text in texts if text.strip(" ,") for word in self.parse(text)), self.minimum or 1
        )

    def check_count(self, words: Iterable[Any], least: int = 1) -> tuple[Any, ...]:
        """Each of the words once, if they are neither too few nor too many."""
        found, most = tuple(dict.fromkeys(words)), self.maximum or MAX_WORDS
        if not least <= len(found) <= most:
            many = least if least == most else f"{least} to {most}"
            raise self.error(f"must be {many} values separated by commas", expected="comma-separated list")
        return found

    @property
    def max_length(self) -> int:
        """The characters of as many of the allowed words as a list may have, with their commas; 0 for other kinds."""
        return MAX_WORDS * (max(map(len, self.accepted_names)) + 1) if self.kind == "words" and self.allowed else 0

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """The allowed values by all of their names."""
        return (*self.allowed, *(name for name, _ in self.aliases))

    def find_allowed(self, text: str) -> str | None:
        """The allowed value that a text names, or None."""
        if text in self.allowed:
            return text
        folded = {name.lower(): value for name, value in (*zip(self.allowed, self.allowed, strict=True), *self.aliases)}
        return folded.get(text.lower()) if self.aliases else None

    @property
    def bounds_text(self) -> str:
        """What a refusal says of the bounds that a number must keep."""
        named = (("from", self.minimum), ("to", self.maximum))
        return "" if self.clamp is True else "".join(f" {word} {bound}" for word, bound in named if bound is not None)

    def error(self, what: str, **details: Any) -> ApiError:
        """INVALID_PARAM that says ``what`` about this parameter."""
        return invalid_param(self.name, f"{self.name} {what}.", **details)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field(Param):
    """A member of a JSON body. A "boolean" may be ``allowed`` one of its values only; "words" are read as a list."""

    location: Literal["path", "query", "body"] = "body"
    nullable: bool = False
    # Another field, one of the two being needed.
    alternative: str = ""
    # Those of an "object".
    members: tuple[Field, ...] = ()

    def parse(self, value: Any) -> Any:
        """``value`` as this field's kind, or INVALID_PARAM that names it and what was expected."""
        if value is None and self.nullable:
            return None
        if self.kind == "object":
            if not isinstance(value, Mapping):
                raise self.error("must be an object", expected="object")
            return parse_body(self.members, value)
        convert = _FROM_JSON.get(self.kind) or _json_text
        return _checked(self, convert(self, value))


def parse_params(params: Sequence[Param], path: Mapping[str, str], query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Every declared parameter by name, defaults filled in; INVALID_PARAM for the first that is wrong.

    Where some are windows, ``clamped`` are those that were given beyond their bounds, as they were given.
    """
    values: dict[str, Any] = {}
    names = {param.name for param in params}
    for param in params:
        given = [path[param.name]] if param.location == "path" else query.get(_given_as(param.name, query, names), [])
        if not given or (param.empty_is_default and given == [""]):
            if param.required:
                raise param.error("is required", expected=param.kind)
            values[param.name] = param.default
        elif param.kind == "words":
            values[param.name] = param.parse_all(given)
        elif len(given) > 1 and not param.repeatable:
            raise param.error("is given more than once", expected="one value")
        else:
            values[param.name] = param.parse(",".join(given))
    windows = [param.name for param in params if param.is_window]
    spans = {name: query[name][0] for name in windows if query.get(name, [""]) != [""]}
    if spans:
        values |= dict.fromkeys(name for name in windows if name not in spans)
    if windows:
        ints = {name: text for name, text in spans.items() if isinstance(values[name], int)}
        values["clamped"] = {name: text for name, text in ints.items() if int(text) != values[name]}
    return values


def parse_body(fields: Sequence[Field], body: Mapping[str, Any]) -> dict[str, Any]:
    """Every declared field that was given, by name; INVALID_PARAM for the first that is wrong or missing."""
    values: dict[str, Any] = {}
    names = {field.name for field in fields}
    for field in fields:
        name = _given_as(field.name, body, names)
        if name in body:
            values[field.name] = field.parse(body[name])
        elif field.required:
            raise field.error("is required", expected=field.kind)
    return values


# Two names of one thing: a route that has the one takes the other for it.
_ALIKE = {"q": "query", "query": "q"}


def _given_as(name: str, given: Mapping[str, Any], names: set[str]) -> str:
    """The name that a parameter is given by."""
    other = _ALIKE.get(name)
    return name if other is None or name in given or other in names else other


# ---- what several routes take


def limit_param(default: int, maximum: int, noun: str = "Rows") -> Param:
    """How many rows at most; a number beyond ``most`` is brought down to it."""
    help = f"{noun}, at most {maximum:,}."
    return Param(
        "limit", "integer", default=default, minimum=1, maximum=maximum, clamp=True, help=help, example=str(default)
    )


MAX_FREE_OFFSET = 100_000  # rows that a list skips at most where it costs nothing: what is skipped is read


def offset_param(maximum: int | None = None, noun: str = "Rows") -> Param:
    """How many rows to skip."""
    return Param("offset", "integer", default=0, minimum=0, maximum=maximum, help=f"{noun} to skip.", example="0")


def cursor_param(example: str, pattern: str) -> Param:
    """Where a page begins: a text of this pattern."""
    return Param("cursor", "cursor", pattern=pattern, help="next_cursor of the previous page.", example=example)


def path_param(name: str, kind: Kind = "text", help: str = "", example: str = "") -> Param:
    """A parameter that is a segment of the path."""
    return Param(name, kind, location="path", required=True, help=help, example=example)


OFFSET = offset_param()
TICKER = path_param("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL")
CIK = path_param("cik", "cik", help="CIK, with or without leading zeros.", example="0000320193")
MANAGER = path_param("cik", "cik", help="CIK of the manager, with or without leading zeros.", example="0001067983")
CUSIP = path_param("cusip", "cusip", help="CUSIP with its check digit.", example="037833100")
ACCESSION = path_param("accession", "any_accession", help="With or without dashes.", example="0000320193-25-000057")
ACCESSION_NUMBER = path_param("accession_number", "accession", help=ACCESSION.help, example=ACCESSION.example)


def round_bound(bound: Decimal | None, *, round_up: bool) -> int | None:
    """A bound on whole numbers: 1.5 at least is 2, 1.5 at most is 1."""
    return None if bound is None else math.ceil(bound) if round_up else math.floor(bound)


# ---- the reader: first as JSON has it, then by its kind


def _text_integer(param: Param, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", text):
        raise param.error("must be a whole number", expected="integer")
    return int(text)


def _text_number(param: Param, text: str) -> Decimal:
    # As JSON writes a number, but never so many digits that reading them is work.
    if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?", text):
        raise param.error("must be a decimal number", expected="number")
    return Decimal(text)


def _text_boolean(param: Param, text: str) -> bool:
    if text not in ("true", "false"):
        raise param.error("must be true or false", allowed=["true", "false"])
    return text == "true"


def _text_words(param: Param, text: str) -> tuple[str, ...]:
    return param.check_count(word.strip() for word in text.split(",") if word.strip())


def _json_text(param: Param, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise param.error("must be a non-empty string", expected="text")
    if len(value) > MAX_TEXT_LENGTH:
        raise param.error(
            f"may have at most {MAX_TEXT_LENGTH:,} characters", expected=f"at most {MAX_TEXT_LENGTH:,} characters"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise param.error("is not valid Unicode", expected="text") from None
    return value


def _json_word(param: Param, value: Any) -> str:
    return _json_text(param, str(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _json_integer(param: Param, value: Any) -> int:
    # JSON has one kind of number: 42.0 is the integer 42.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise param.error(f"must be a whole number{param.bounds_text}", expected=f"integer{param.bounds_text}")
    return value


def _json_number(param: Param, value: Any) -> Decimal:
    # str(): the shortest text that means this number, as the caller wrote it.
    number = Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if number is None or not number.is_finite():
        raise param.error(f"must be a number{param.bounds_text}", expected=f"number{param.bounds_text}")
    return number


def _json_boolean(param: Param, value: Any) -> bool:
    known = param.allowed or ("true", "false")
    if not isinstance(value, bool) or str(value).lower() not in known:
        raise param.error(f"must be {' or '.join(known)}", expected="boolean")
    return value


def _json_words(param: Param, value: Any) -> list[str]:
    least, most = param.minimum or 0, param.maximum or MAX_WORDS
    if not isinstance(value, list) or not least <= len(value) <= most:
        many = f"{least} to {most}" if least else f"at most {most}"
        raise param.error(f"must be a list of {many} texts", expected="list of texts")
    return [_json_text(param, word) for word in value]


def _json_sort(param: Param, value: Any) -> tuple[str, bool]:
    """The column and whether it descends: ``"value"``, ``["value"]`` or ``[{"value": {"order": "asc"}}]``."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    order: Any = "desc"
    if isinstance(value, dict) and len(value) == 1:
        ((value, order),) = value.items()
        order = order.get("order") if isinstance(order, dict) else order
    if not isinstance(value, str) or order not in ("asc", "desc"):
        raise param.error("must be one column, optionally with its order", expected='[{"column": {"order": "desc"}}]')
    return _read_text(param, "text", _json_text(param, value)), order == "desc"


def _json_values(param: Param, value: Any) -> list[str | float | None]:
    known = isinstance(value, list) and all(one is None or isinstance(one, str | int | float) for one in value)
    if not known or len(value) > (param.maximum or MAX_WORDS):
        raise param.error(
            f"must be a list of at most {param.maximum} texts, numbers or nulls", expected="list of values"
        )
    if any(isinstance(one, int) and abs(one) > 2**63 - 1 for one in value):
        raise param.error("has a number that is too large", expected="list of values")
    return [_json_text(param, one) if isinstance(one, str) and one else one for one in value]


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
}


def _email(text: str) -> str:
    text = text.strip().lower()
    try:
        # What no mail can be sent to is no email: the sender's own rule decides.
        letters.parse_address(text)
    except MailError as error:
        raise ValueError from error
    return text


def _url(text: str) -> str:
    parts = urlsplit(text)
    fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    fits = fits and (parts.port is None or parts.port > 0)
    if not fits or len(text) > MAX_URL_LENGTH or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise ValueError
    return text


def _accession(text: str) -> str:
    found = identifiers.parse_accession(text)
    if found is None:
        raise ValueError
    return found


def _any_accession(text: str) -> str:
    from finapi.market.documents.metadata import UNFILED

    return text if re.fullmatch(UNFILED + "[0-9a-f]{16}", text) else _accession(text)


_ACCESSION_WORDS = ("an accession number such as 0000320193-25-000057", "0000320193-25-000057")
# What a text of a kind is read by (ValueError for what is none), and what its refusal says and expects.
_TEXTS: dict[Kind, tuple[Callable[[str], Any], str, str]] = {
    "date": (days.validate, "a date, YYYY-MM-DD", "date YYYY-MM-DD"),
    "quarter": (quarters.checked, "the last day of a calendar quarter, YYYY-MM-DD", "2025-09-30"),
    "cik": (lambda text: int(identifiers.parse_cik(text)), "a CIK: a number of at most ten digits", "0000320193"),
    "accession": (_accession, *_ACCESSION_WORDS),
    "any_accession": (_any_accession, *_ACCESSION_WORDS),
    "cusip": (cusip.validate, "a CUSIP: nine characters, the last of them a check digit", "037833100"),
    "ticker": (tickers.normalise, "a ticker or a CIK", "AAPL"),
    "email": (_email, "an email address", "email"),
    "url": (_url, "an http or https URL", "url"),
}


def _checked(param: Param, value: Any) -> Any:
    if param.kind in ("integer", "number"):
        return _bounded(param, value)
    if param.kind in ("sort", "values"):
        return value
    if param.kind == "words":
        words = [_read_text(param, param.word_kind, word) for word in value]
        return words if param.location == "body" else tuple(words)
    if param.kind == "new_password":
        passwords.check_new(value, param.name, common="allowed")  # judged with the settings in hand
    return value if param.kind == "boolean" else _read_text(param, param.kind, value)


def _read_text(param: Param, kind: Kind, text: str) -> Any:
    if param.allowed and not param.allows_others:
        meant = param.find_allowed(text)
        if meant is None:
            allowed, near = list(param.allowed), suggestions.list_similar(text, param.accepted_names)
            said = f"{text[: suggestions.MAX_WORD_LENGTH]} is not served"
            said = f"must be one of {', '.join(allowed)}: {said}" if len(allowed) <= _NAMED else said
            details = {"allowed": allowed, **({"nearest": near} if near else {})}
            raise invalid_param(param.name, f"{param.name} {said}{suggestions.did_you_mean(near)}", **details)
        return meant
    if param.pattern and not re.fullmatch(param.pattern, text):
        like = str(param.example)
        raise invalid_cursor(param.name) if kind == "cursor" else param.error(f"must look like {like}", expected=like)
    if kind not in _TEXTS:
        return text
    read, noun, expected = _TEXTS[kind]
    try:
        return read(text)
    except ValueError:
        raise param.error(f"must be {noun}", expected=expected) from None


def invalid_cursor(name: str = "cursor") -> ApiError:
    """The 400 of a cursor that no page was answered with."""
    message = "Invalid cursor; use next_cursor of the previous page."
    return invalid_param(name, message, expected="next_cursor of a page")


def _bounded(param: Param, number: Any) -> Any:
    least, most = param.minimum, param.maximum
    if param.clamp and most is not None and number > most:
        return most
    if param.clamp is True and least is not None and number < least:
        return least
    if (least is not None and number < least) or (most is not None and number > most):
        raise param.error(f"must be{param.bounds_text}", expected=f"{param.kind}{param.bounds_text}")
    short = param.kind == "integer" and param.location != "body"
    greatest = max(MAX_INTEGER, most or 0) if short else MAX_NUMBER
    if abs(number) > greatest:
        raise param.error("is too large", expected=f"at most {greatest}")
    return number
