"""Documents of EDGAR's online forms (root ``edgarSubmission``) as texts by place: what several formats read alike.

Prefixes and default namespaces vary from one filing agent to the next, so that elements are known by their local names
and the element they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TypeVar

from finapi.core.errors import ParseError
from finapi.edgar import identifiers, xml_reader

ROOT = "edgarSubmission"

# A place: the local names of an element and of the one it stands in.
ElementPath = tuple[str, str]
TextsByName = dict[str, list[str]]

# Elements of one kind that may repeat: persons, lines of a table. The specifications allow 100.
MAX_GROUPS = 1_000
# Texts of one place; the specifications allow 14.
MAX_TEXTS = 200
# Digits before the point. The shares of no company have more than thirteen.
_NUMBER = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?")
_US_DATE = re.compile(r"([0-9]{1,2})[/-]([0-9]{1,2})[/-]([0-9]{4})")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")

Value = TypeVar("Value")


class OnlineFormReader(xml_reader.XmlReader):
    """Collects the texts of known places, and apart those inside each element of a kind that repeats.

    ``names`` says what a text is called by its place, ``groups`` under which name an element that repeats is listed.
    Blank texts are left out. A text in a group belongs to it however deep it stands.
    """

    def __init__(
        self, file: str, spaces: Sequence[str], names: Mapping[ElementPath, str], groups: Mapping[str, str]
    ) -> None:
        super().__init__(file)
        self.opens = {f"{space} {ROOT}".strip(): OnlineFormReader.open_other for space in (*spaces, "")}
        self.leaves: TextsByName = {}
        self.groups: dict[str, list[TextsByName]] = {name: [] for name in groups.values()}
        self._names, self._kinds = names, groups
        self._open: list[str] = []
        self._into = self.leaves

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        """An element that is opened: a text of a known place, the beginning of a group, or what is looked into."""
        here, parent = xml_reader.local_name(name), self._open[-1] if self._open else ""
        known = self._names.get((parent, here))
        if known is not None:
            self.collect(partial(self._take, self._into, known), mixed=True)
            return
        kind = self._kinds.get(here)
        if kind is not None and self._into is self.leaves:
            if len(self.groups[kind]) >= MAX_GROUPS:
                raise self.build_error(f"more than {MAX_GROUPS} elements {here}")
            self._into = {}
            self.groups[kind].append(self._into)
            self.on_close(self._end_of_group)
        else:
            self.on_close(self._closed)
        self._open.append(here)

    def _closed(self) -> None:
        self._open.pop()

    def _end_of_group(self) -> None:
        self._open.pop()
        self._into = self.leaves

    def _take(self, into: TextsByName, known: str, text: str) -> None:
        words = " ".join(text.split())
        if words:
            found = into.setdefault(known, [])
            if len(found) >= MAX_TEXTS:
                raise self.build_error(f"more than {MAX_TEXTS} texts of {known}")
            found.append(words)


class FormTexts:
    """The texts of a document or of a group in it, as values; ParseError names the text that is none."""

    def __init__(self, file: str, leaves: TextsByName, within: str = "") -> None:
        self.file, self.leaves, self.within = file, leaves, within

    def all(self, name: str) -> tuple[str, ...]:
        """Every text of that name, in the document's order, each once."""
        return tuple(dict.fromkeys(self.leaves.get(name, ())))

    def text(self, name: str) -> str | None:
        """The one text of that name; None when it is not there. Two that differ are refused."""
        found = self.all(name)
        if len(found) > 1:
            raise self.wrong(name, "occurs twice with different values")
        return found[0] if found else None

    def number(self, name: str) -> str | None:
        """A decimal number that is not negative, without zeros behind its point."""
        return self._read(name, _decimal)

    def whole(self, name: str) -> int | None:
        """A whole number."""
        return self._read(name, _whole)

    def date(self, name: str) -> str | None:
        """A date, written ``MM/DD/YYYY``, as ISO."""
        return self._read(name, parse_date)

    def dates(self, name: str) -> tuple[str, ...]:
        """Every date of that name, as ISO."""
        return tuple(self._as(name, text, parse_date) for text in self.all(name))

    def truth(self, name: str) -> bool | None:
        """Y or N, true or false, 1 or 0."""
        return self._read(name, _truth)

    def cik(self, name: str) -> str | None:
        """A CIK as ten digits."""
        return self._read(name, identifiers.parse_cik)

    def filer(self) -> str | None:
        """The first CIK whose credentials filed it; None when there is none that could be one."""
        return next((one.zfill(10) for one in self.all("filer") if re.fullmatch("[0-9]{1,10}", one) and int(one)), None)

    def needed(self, name: str, value: Value | None) -> Value:
        """``value``, which must be there."""
        if value is None:
            raise self.wrong(name, "is missing")
        return value

    def wrong(self, name: str, reason: str) -> ParseError:
        """The error of a text of that name."""
        return ParseError(self.file, f"{self.within} {name}".strip(), reason)

    def _read(self, name: str, reader: Callable[[str], Value]) -> Value | None:
        text = self.text(name)
        return None if text is None else self._as(name, text, reader)

    def _as(self, name: str, text: str, reader: Callable[[str], Value]) -> Value:
        try:
            return reader(text)
        except ValueError as error:
            raise self.wrong(name, str(error)) from None


def parse_date(text: str) -> str:
    """``08/31/2026`` as an ISO date; ValueError for what is no day."""
    found, order = _US_DATE.fullmatch(text), (3, 1, 2)
    if found is None:
        found, order = _ISO_DATE.fullmatch(text), (1, 2, 3)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a date MM/DD/YYYY")
    year, month, monthday = (int(found[place]) for place in order)
    return date(year, month, monthday).isoformat()


def _decimal(text: str) -> str:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a number of at most 15 digits")
    return f"{Decimal(text).normalize():f}"


def _whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def _truth(text: str) -> bool:
    said = {"y": True, "true": True, "1": True, "n": False, "false": False, "0": False}.get(text.lower())
    if said is None:
        raise ValueError(f"{text[:40]!r} is neither Y nor N")
    return said
