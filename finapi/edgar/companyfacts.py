"""companyfacts documents: every figure that a company's filings tagged without dimensions.

``fy`` and ``fp`` of a row are of the filing that repeats the figure and not of the figure, and ``frame`` marks
only what was filed last: none of the three is read. The document is read a concept at a time, because the
rows of a large company make a hundred megabytes of objects at once: by patterns where the concept is written
exactly as the SEC writes it, which takes half as long, and any other by a JSON decoder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from operator import itemgetter
from typing import Any, NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.core.json import build_strict_decoder
from finapi.edgar import identifiers
from finapi.edgar.xbrl.qnames import NUMBER

# Bytes; the largest companies have about 10 MB. Bytes, text and rows of one this large take 190 MB together.
MAX_BYTES = 32 * 1024 * 1024
MAX_NAME = 300  # characters of a concept, a unit or a company's name
MAX_NUMBER = 60  # characters of a value

_BLANK = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_OF_ROW = itemgetter("accn", "end", "val", "form", "filed")
_KEY = re.compile(rf'"({_NAME.pattern})":', re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

# A concept as the SEC writes it: up to its units, a unit up to its rows, and a row. Each key stands once and in its
# place; a text has no escapes, except for label and description, which have a thousand at most, as the matcher keeps 90
# bytes for each of them; a number is the text that a decoder would make of it.
# A date or an accession number is whatever is as long: what is none is refused.
_PLAIN = r'[^"\\\x00-\x1f]'
_ESCAPED = rf'(?:null|"{_PLAIN}*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN}*){{0,1000}}")'
_HEAD = re.compile(rf'\{{"label":{_ESCAPED},"description":{_ESCAPED},"units":\{{')
_UNIT = re.compile(rf'"({_PLAIN}*)":\[')
_BETWEEN_UNITS = re.compile(r'\],(?=")')
_VALUE = r"-?[1-9][0-9]{0,29}(?:\.[0-9]{1,28})?|-?0\.[0-9]{1,28}|0"
_SAID = rf'"fy":(?:[0-9]{{4}}|null),"fp":(?:null|"{_PLAIN}*"),"form":"{_PLAIN}*","filed":".{{10}}"'
_ROW = re.compile(
    rf'(\{{(?:"start":"(.{{10}})",)?"end":"(.{{10}})","val":({_VALUE}),"accn":"(.{{20}})",({_SAID})'
    rf'(?:,"frame":"{_PLAIN}*")?\}})(?:,|\Z)'
)

# What a row says: itself as written, start ("" for an instant), end, value, accession number, and what it says of its
# filing: as written, or the year that it calls its own, form and filing date.
_Said = str | tuple[Any, Any, Any]
_Told = tuple[str, str, str, str, str, _Said]


class FactFiling(NamedTuple):
    """The filing of a row: its form, and the ISO date on which it was filed."""

    form: str
    filed: str


class ConceptFacts(NamedTuple):
    """The rows of a concept (``us-gaap:Assets``) in one unit, as they stand in the document.

    A row is an accession number, the number of its last day, how many days it is of (0 for an instant) and a value.
    """

    concept: str
    unit: str
    rows: list[tuple[str, int, int, str]]


@dataclass(frozen=True, slots=True)
class CompanyFacts:
    """What a document holds. ``filings`` are by accession number, with dashes.

    ``fiscal_years`` is the year that a filing calls its own, by accession number, where its rows tell one.
    ``backward`` counts the rows left out because they end before they start: filers' own errors.
    """

    cik: int
    name: str
    filings: dict[str, FactFiling]
    concepts: list[ConceptFacts]
    backward_row_count: int
    fiscal_years: dict[str, int]


def parse(data: bytes, file: str) -> CompanyFacts:
    """The filings and figures of a companyfacts document; ``file`` is named in errors.

    ParseError: JSON that is broken, ambiguous (a key that occurs twice) or too deep; a row without its end,
    accession, form, filing date or value; a value that is not a decimal number; a name that is none.
    """
    if len(data) > MAX_BYTES:
        raise ParseError(file, "", f"is larger than any companyfacts document ({MAX_BYTES >> 20} MiB)")
    try:
        return _CompanyFactsReader(data.decode("utf-8-sig"), file).read()
    except RecursionError:
        raise ParseError(file, "", "JSON nested too deep") from None
    except JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ParseError(file, place, f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ParseError(file, f"byte {error.start}", "not UTF-8") from None


class _CompanyFactsReader:
    """Walks down to the concepts and decodes each whole."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0
        self._decoder = build_strict_decoder(parse_float=str)
        self._quick = build_strict_decoder(parse_float=str, unique=False)
        self._place = "$"
        self._filings: dict[str, FactFiling] = {}
        self._series: list[ConceptFacts] = []
        self._days: dict[str, int] = {}
        self._years: dict[str, int] = {}
        # What the last row of each filing said of it.
        self._told: dict[str, _Said] = {}
        self._backward = 0

    def read(self) -> CompanyFacts:
        cik: int | None = None
        name: str | None = None
        for key in self._members():
            if key == "cik":
                cik = self._cik(self._value())
            elif key == "entityName":
                name = self._name(self._value())
            elif key == "facts":
                self._facts()
            else:
                self._value()
        self._blank()
        if self._at != len(self._text):
            raise JSONDecodeError("Extra data", self._text, self._at)
        self._place = "$"
        if cik is None or name is None:
            raise self._refusal("cik or entityName is missing")
        return CompanyFacts(cik, name, self._filings, self._series, self._backward, self._years)

    def _facts(self) -> None:
        for taxonomy in self._members():
            self._place = f"$.facts[{taxonomy[:80]!r}]"
            if not _NAME.fullmatch(taxonomy) or len(taxonomy) > MAX_NAME:
                raise self._refusal("is not a taxonomy prefix")
            for tag in self._members():
                self._place = f"$.facts.{taxonomy}[{tag[:80]!r}]"
                if not _NAME.fullmatch(tag) or len(tag) > MAX_NAME:
                    raise self._refusal("is not a concept name")
                self._concept(f"{taxonomy}:{tag}")

    def _concept(self, name: str) -> None:
        plain = self._units_as_written()
        if plain is not None:
            for unit, told in plain.items():
                self._unit(name, unit, told)
            return
        value = self._concept_value()
        units = value.get("units") if isinstance(value, dict) else None
        if not isinstance(units, dict):
            raise self._refusal("has no units")
        for unit, rows in units.items():
            if not isinstance(rows, list):
                raise self._refusal(f"unit {unit[:40]!r} is not a list")
            self._unit(name, unit, map(self._decoded, rows))

    def _units_as_written(self) -> dict[str, list[_Told]] | None:
        """The rows of the next concept by unit; None, and nothing is read, where it is not as the SEC writes it."""
        self._blank()
        text, units = self._text, dict[str, list[_Told]]()
        found = _HEAD.match(text, self._at)
        while found is not None:
            found = _UNIT.match(text, found.end())
            if found is None or found[1] in units:
                return None
            first, end = found.end(), text.find("]", found.end())
            rows = units[found[1]] = _ROW.findall(text, first, end)
            # Rows and the commas between them are all that there is.
            if not rows or sum([len(row[0]) for row in rows]) + len(rows) - 1 != end - first:
                return None
            if text.startswith("]}}", end):
                self._at = end + 3
                return units
            found = _BETWEEN_UNITS.match(text, end)
        return None

    def _unit(self, concept: str, unit: str, rows: Iterable[_Told]) -> None:
        if not unit or len(unit) > MAX_NAME or _CONTROL.search(unit):
            raise self._refusal("has a unit that is not a name")
        self._series.append(ConceptFacts(concept, unit, self._rows(rows)))

    def _decoded(self, row: Any) -> _Told:
        """What a row says that has been decoded."""
        try:
            accession, end, value, form, filed = _OF_ROW(row)
            start, year = row.get("start"), row.get("fy")
        except (TypeError, KeyError, AttributeError) as error:
            raise self._refusal(f"a row is not in the SEC's format: {error}") from None
        if start is not None and (not isinstance(start, str) or not start):
            raise self._refusal(f"{str(start)[:40]!r} is not a date")
        if type(value) is int:
            value = str(value)
            if len(value) > MAX_NUMBER:
                raise self._refusal(f"a value is not a number: {value[:40]}...")
        elif not isinstance(value, str) or len(value) > MAX_NUMBER or not NUMBER.fullmatch(value):
            raise self._refusal(f"a value is not a decimal number: {str(value)[:40]!r}")
        return "", "" if start is None else start, end, value, accession, (year, form, filed)

    def _rows(self, rows: Iterable[_Told]) -> list[tuple[str, int, int, str]]:
        told, seen, made = self._told, self._days, []
        for _, start, end, value, accession, said in rows:
            try:
                if told.get(accession) != said:
                    self._of_filing(accession, said)
                    told[accession] = said
                if end not in seen:
                    self._day(end)
                if start and start not in seen:
                    self._day(start)
            except TypeError as error:
                raise self._refusal(f"a row is not in the SEC's format: {error}") from None
            last = seen[end]
            length = last - seen[start] + 1 if start else 0
            if start and length < 1:
                self._backward += 1
            else:
                made.append((accession, last, length, value))
        return made

    def _of_filing(self, accession: str, said: _Said) -> None:
        if isinstance(said, str):
            members = self._quick.decode(f"{{{said}}}")
            said = members["fy"], members["form"], members["filed"]
        year, form, filed = said
        self._label(accession, year)
        self._file_row(accession, form, filed)

    def _label(self, accession: str, year: Any) -> None:
        # Rows that disagree about their filing's year: the later one, whatever their order.
        if type(year) is int and 1900 <= year <= 2200:
            self._years[accession] = max(year, self._years.get(accession, year))

    def _file_row(self, accession: Any, form: Any, filed: Any) -> None:
        if not isinstance(accession, str) or identifiers.parse_accession(accession) != accession:
            raise self._refusal(f"accn {str(accession)[:40]!r} is not an accession number")
        if not isinstance(form, str) or not form or len(form) > 40 or _CONTROL.search(form):
            raise self._refusal(f"form {str(form)[:40]!r} is not a form type")
        self._day(filed)
        # Rows that disagree about their filing: the earlier day, whatever their order.
        told = FactFiling(form, filed)
        known = self._filings.get(accession, told)
        self._filings[accession] = min(told, known, key=lambda one: (one.filed, one.form))

    def _day(self, text: Any) -> None:
        if not isinstance(text, str) or not days.is_day(text):
            raise self._refusal(f"{str(text)[:40]!r} is not a date")
        self._days[text] = days.number(text)

    def _cik(self, value: Any) -> int:
        try:
            return int(identifiers.parse_cik(value))
        except ValueError as error:
            raise self._refusal(str(error)) from None

    def _name(self, value: Any) -> str:
        name = " ".join(value.split()) if isinstance(value, str) else ""
        if not name or len(name) > MAX_NAME or _CONTROL.search(name):
            raise self._refusal("entityName is not a name")
        return name

    # JSON.

    def _members(self) -> Iterator[str]:
        """The names of an object's members; the caller reads the value of each before it asks for the next."""
        self._expect("{")
        seen: set[str] = set()
        if self._next() == "}":
            self._at += 1
            return
        while True:
            key = self._key()
            if key in seen:
                raise self._refusal(f"the key {key[:40]!r} occurs twice in one object")
            seen.add(key)
            yield key
            if self._next() == "}":
                self._at += 1
                return
            self._expect(",")

    def _key(self) -> str:
        """The name of the next member, up to its colon."""
        plain = _KEY.match(self._text, self._at)
        if plain is not None:
            self._at = plain.end()
            return plain[1]
        if self._next() != '"':
            raise JSONDecodeError("Expecting property name enclosed in double quotes", self._text, self._at)
        key: str = self._value()
        self._expect(":")
        return key

    def _concept_value(self) -> Any:
        # Each key is followed by a colon: with as many members as colons, none in texts, no key occurs twice.
        self._blank()
        at = self._at
        value = self._value(self._quick)
        if self._text.count(":", at, self._at) != _members(value):
            self._at = at
            value = self._value()
        return value

    def _value(self, decoder: JSONDecoder | None = None) -> Any:
        self._blank()
        try:
            value, self._at = (decoder or self._decoder).raw_decode(self._text, self._at)
        except JSONDecodeError:
            raise
        except ValueError as error:
            raise self._refusal(f"not JSON in the SEC's format: {error}") from None
        return value

    def _next(self) -> str:
        self._blank()
        return self._text[self._at : self._at + 1]

    def _expect(self, mark: str) -> None:
        if self._next() != mark:
            raise JSONDecodeError(f"Expecting {mark!r}", self._text, self._at)
        self._at += 1

    def _blank(self) -> None:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()

    def _refusal(self, reason: str) -> ParseError:
        return ParseError(self._file, self._place, reason)


def _members(concept: Any) -> int:
    """How many members a concept, its units and their rows have; -1 of anything else."""
    try:
        units = concept["units"]
        return len(concept) + len(units) + sum([len(row) for rows in units.values() for row in rows])
    except (TypeError, KeyError, AttributeError):
        return -1
