"""The reader of documents that EDGAR's online forms write (root element ``edgarSubmission``): 13D, 13G and 144.

The prefixes and namespaces of elements vary from one filing agent to the next. An element is therefore identified by
its local name and that of its parent. A parser lists the elements that it wants and a name for the text of each::

    {("issuerInfo", "issuerName"): "issuer_name", ("headerData", "submissionType"): "form"}

and it lists the elements that repeat, such as the reporting persons of a Schedule 13D. The texts inside of each of
those are stored in a dictionary of their own. :class:`FormTexts` converts texts to numbers and dates.
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

# The local names of an element's parent and of the element.
ElementPath = tuple[str, str]
# Texts by the name that the parser gave to their element.
TextsByName = dict[str, list[str]]

# The maximum number of repetitions of an element: persons, lines of a table. The specifications allow 100.
MAX_GROUPS = 1_000
# The maximum number of texts in elements of one name. The specifications allow 14.
MAX_TEXTS = 200

# The number of shares of any company has at most thirteen digits.
_NUMBER = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?")
_US_DATE = re.compile(r"([0-9]{1,2})[/-]([0-9]{1,2})[/-]([0-9]{4})")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_CIK = re.compile("[0-9]{1,10}")
_BOOLEANS = {"y": True, "true": True, "1": True, "n": False, "false": False, "0": False}

Value = TypeVar("Value")


class OnlineFormReader(xml_reader.XmlReader):
    """A reader that collects the texts of known elements.

    ``names`` maps the path of an element to the name of its text. ``groups`` maps the local name of an element that
    repeats to the name of the list of its occurrences. After :meth:`read`, ``texts`` has the texts outside of all
    groups, and ``groups`` has the texts of each occurrence. A text belongs to a group however deep it is nested in it.
    Blank texts are left out.
    """

    def __init__(
        self, file: str, namespaces: Sequence[str], names: Mapping[ElementPath, str], groups: Mapping[str, str]
    ) -> None:
        super().__init__(file)
        self.open_handlers = {
            f"{namespace} {ROOT}".strip(): OnlineFormReader.open_other for namespace in (*namespaces, "")
        }
        self.texts: TextsByName = {}
        self.groups: dict[str, list[TextsByName]] = {name: [] for name in groups.values()}
        self._names = names
        self._group_names = groups
        self._open_elements: list[str] = []
        self._current_texts = self.texts

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        """Collect the text of a known element, or begin a group. Ignore any other element, but read its children."""
        element = xml_reader.local_name(name)
        parent = self._open_elements[-1] if self._open_elements else ""
        text_name = self._names.get((parent, element))
        if text_name is not None:
            self.collect_text(partial(self._add_text, self._current_texts, text_name), allow_elements=True)
            return
        group_name = self._group_names.get(element)
        if group_name is not None and self._current_texts is self.texts:
            if len(self.groups[group_name]) >= MAX_GROUPS:
                raise self.build_error(f"more than {MAX_GROUPS} elements {element}")
            self._current_texts = {}
            self.groups[group_name].append(self._current_texts)
            self.call_on_close(self._close_group)
        else:
            self.call_on_close(self._close_other)
        self._open_elements.append(element)

    def _close_other(self) -> None:
        self._open_elements.pop()

    def _close_group(self) -> None:
        self._open_elements.pop()
        self._current_texts = self.texts

    def _add_text(self, texts: TextsByName, name: str, text: str) -> None:
        words = " ".join(text.split())
        if words:
            texts_of_name = texts.setdefault(name, [])
            if len(texts_of_name) >= MAX_TEXTS:
                raise self.build_error(f"more than {MAX_TEXTS} texts of {name}")
            texts_of_name.append(words)


class FormTexts:
    """The texts of a document, or of one group in it, with methods that convert them.

    The methods return None if there is no text of the name. They raise ParseError, with the name, if the text cannot
    be converted or if there are two different ones. ``group`` is the name of the group in error messages.
    """

    def __init__(self, file: str, texts: TextsByName, group: str = "") -> None:
        self.file = file
        self.texts = texts
        self.group = group

    def list_texts(self, name: str) -> tuple[str, ...]:
        """Return all texts of a name in document order, without repetitions."""
        return tuple(dict.fromkeys(self.texts.get(name, ())))

    def list_dates(self, name: str) -> tuple[str, ...]:
        """Return all dates of a name as ISO dates."""
        return tuple(self._convert_text(name, text, parse_date) for text in self.list_texts(name))

    def text(self, name: str) -> str | None:
        """Return the only text of a name."""
        texts = self.list_texts(name)
        if len(texts) > 1:
            raise self.build_error(name, "occurs twice with different values")
        return texts[0] if texts else None

    def number(self, name: str) -> str | None:
        """Return a decimal number that is not negative, without trailing zeros."""
        return self._convert(name, _parse_number)

    def integer(self, name: str) -> int | None:
        """Return an integer that is not negative."""
        return self._convert(name, _parse_integer)

    def date(self, name: str) -> str | None:
        """Return a date as an ISO date. The documents write it ``MM/DD/YYYY``."""
        return self._convert(name, parse_date)

    def boolean(self, name: str) -> bool | None:
        """Return the value of Y or N, true or false, 1 or 0."""
        return self._convert(name, _parse_boolean)

    def cik(self, name: str) -> str | None:
        """Return a CIK with ten digits."""
        return self._convert(name, identifiers.parse_cik)

    def filer_cik(self) -> str | None:
        """Return the first valid CIK of the credentials that the document was filed with, or None."""
        for text in self.list_texts("filer"):
            if _CIK.fullmatch(text) and int(text):
                return text.zfill(10)
        return None

    def require(self, name: str, value: Value | None) -> Value:
        """Return ``value``. Raise ParseError if it is None."""
        if value is None:
            raise self.build_error(name, "is missing")
        return value

    def build_error(self, name: str, reason: str) -> ParseError:
        """Return a ParseError about the text of a name."""
        return ParseError(self.file, f"{self.group} {name}".strip(), reason)

    def _convert(self, name: str, parse: Callable[[str], Value]) -> Value | None:
        text = self.text(name)
        return None if text is None else self._convert_text(name, text, parse)

    def _convert_text(self, name: str, text: str, parse: Callable[[str], Value]) -> Value:
        try:
            return parse(text)
        except ValueError as error:
            raise self.build_error(name, str(error)) from None


def parse_date(text: str) -> str:
    """Return ``08/31/2026`` (or ``08-31-2026``, ``2026-08-31``) as an ISO date. Raise ValueError for any other text."""
    if us_date := _US_DATE.fullmatch(text):
        month, day, year = us_date.groups()
    elif iso_date := _ISO_DATE.fullmatch(text):
        year, month, day = iso_date.groups()
    else:
        raise ValueError(f"{text[:40]!r} is not a date MM/DD/YYYY")
    return date(int(year), int(month), int(day)).isoformat()


def _parse_number(text: str) -> str:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a number of at most 15 digits")
    return f"{Decimal(text).normalize():f}"


def _parse_integer(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def _parse_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(f"{text[:40]!r} is neither Y nor N")
    return value
