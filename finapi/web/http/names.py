"""The names of parameters in a request: accepted spellings, harmless names, and unknown ones (DECISIONS 2).

A misspelt filter must not return the unfiltered list, so that unknown names are refused on routes of data. A name in
another case means the declared one, and ``metrics[]`` means ``metrics``, because frameworks write lists that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finapi.core import suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.web.http.params import SYNONYMS, Field

# Names that clients, proxies and browsers add and that change no answer. A name that ends in * is a prefix.
HARMLESS_NAMES = (
    "_",
    "_t",
    "_ts",
    "api_key",
    "cachebuster",
    "callback",
    "cb",
    "fbclid",
    "gclid",
    "jsonp",
    "msclkid",
    "nocache",
    "pretty",
    "utm_*",
)
# Names that every route of data accepts in addition to its own.
_COMMON_NAMES = ("apiKey", "format")
_HARMLESS_PREFIXES = tuple(name[:-1] for name in HARMLESS_NAMES if name.endswith("*"))
MAX_REPORTED_NAMES = 20  # Unknown names that an answer reports. A body may have thousands.


def is_harmless(name: str) -> bool:
    """Return True for a name in :data:`HARMLESS_NAMES`."""
    return name.lower() in HARMLESS_NAMES or name.lower().startswith(_HARMLESS_PREFIXES)


class ParameterNames:
    """The parameter names of a route's query, by which the names of requests are matched."""

    def __init__(self, declared_names: Iterable[str]) -> None:
        names = [*declared_names, *_COMMON_NAMES]
        names += [SYNONYMS[name] for name in names if name in SYNONYMS]
        self.names = frozenset(names)
        self._names_by_lower_case = {name.lower(): name for name in names}

    def match(self, query: Mapping[str, list[str]]) -> tuple[Mapping[str, list[str]], tuple[str, ...]]:
        """Return the query under the declared names, and the names that are unknown."""
        if query.keys() <= self.names:
            return query, ()
        matched_query: dict[str, list[str]] = {}
        unknown_names: list[str] = []
        for sent_name, texts in query.items():
            name = self._find_name(sent_name)
            if name is None and not is_harmless(sent_name):
                unknown_names.append(sent_name)
            name = name or sent_name
            matched_query[name] = matched_query.get(name, []) + texts
        return matched_query, tuple(unknown_names)

    def _find_name(self, sent_name: str) -> str | None:
        if sent_name in self.names:
            return sent_name
        return self._names_by_lower_case.get(sent_name.lower().removesuffix("[]"))


def list_unknown_members(fields: Sequence[Field], body: Mapping[str, Any], path: str = "") -> list[str]:
    """Return the members of a JSON body that no field declares. A member of an object has the name ``query.ticker``."""
    fields_by_name = {field.name: field for field in fields}
    for field in fields:
        synonym = SYNONYMS.get(field.name)
        if synonym is not None:
            fields_by_name.setdefault(synonym, field)
    unknown_names: list[str] = []
    for name, member in body.items():
        member_field = fields_by_name.get(name)
        if member_field is None:
            if not is_harmless(name):
                unknown_names.append(path + name)
        elif member_field.kind == "object" and isinstance(member, Mapping):
            unknown_names += list_unknown_members(member_field.members, member, f"{path}{name}.")
        elif member_field.kind == "objects" and isinstance(member, list):
            for index, element in enumerate(member[: member_field.maximum]):
                if isinstance(element, Mapping):
                    unknown_names += list_unknown_members(member_field.members, element, f"{path}{name}[{index}].")
    return unknown_names


def shorten_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first of some unknown names, each short enough and of characters that a header can contain."""
    return tuple(_shorten_name(name) for name in names[:MAX_REPORTED_NAMES])


def _shorten_name(name: str) -> str:
    # JSON can contain half of a surrogate pair, which cannot be encoded.
    return name[: suggestions.MAX_WORD_LENGTH].encode(errors="replace").decode()


def build_unknown_name_error(unknown_name: str, known_names: Iterable[str]) -> ApiError:
    """Return the INVALID_PARAM for an unknown name. It contains the known names that are most similar."""
    known_names = sorted(known_names)
    nearest = suggestions.list_similar_names(unknown_name.rpartition(".")[2], known_names)
    short_name = _shorten_name(unknown_name)
    message = f"{short_name} is not a parameter of this call{suggestions.did_you_mean(nearest)}"
    return invalid_param(short_name, message, nearest=nearest, allowed=known_names)
