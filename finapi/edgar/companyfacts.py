"""The parser of companyfacts documents: all facts that a company's filings tagged without dimensions.

The document has the facts by taxonomy, tag and unit::

    {"cik": 320193, "entityName": "Apple Inc.", "facts": {"us-gaap": {"Assets": {
        "label": "Assets", "description": "...", "units": {"USD": [
            {"end": "2009-09-26", "val": 47501000000, "accn": "0001193125-10-012091",
             "fy": 2010, "fp": "Q1", "form": "10-Q", "filed": "2010-01-25", "frame": "CY2009Q3I"}, ...]}}}}}

``fy`` and ``fp`` describe the filing that repeats a figure, not the figure, and ``frame`` marks only the row that was
filed last (DECISIONS 14). The parser reads ``fy`` as the fiscal year of the filing and ignores the two others.

The document of a large company has 10 MB, and all of its rows as Python objects would take 100 MB. So the parser
decodes one concept at a time, in one of two ways. A concept that is written exactly as the SEC writes it is split with
regular expressions, which takes half the time of a JSON decoder. Any other concept is decoded as JSON.
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
from finapi.edgar.concept_names import NUMBER

# Parsing a document of this size takes 190 MB for its bytes, text and rows. The largest real documents have about 10
# MB.
MAX_BYTES = 32 * 1024 * 1024
MAX_NAME = 300  # Characters of a concept, a unit or a company's name.
MAX_NUMBER = 60  # Characters of a value.

_BLANK = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
_KEY = re.compile(rf'"({_NAME.pattern})":', re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")

# The parts of a concept as the SEC writes it: its beginning up to the units, a unit up to its rows, and a row. Each key
# occurs once, in this order. Texts have no escapes, except for label and description; these have at most a thousand,
# because the matcher needs 90 bytes for each. A number is written as the JSON decoder would return it. Dates and
# accession numbers are matched by their length only and validated later.
_PLAIN = r'[^"\\\x00-\x1f]'
_ESCAPED = rf'(?:null|"{_PLAIN}*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN}*){{0,1000}}")'
_CONCEPT_START = re.compile(rf'\{{"label":{_ESCAPED},"description":{_ESCAPED},"units":\{{')
_UNIT_START = re.compile(rf'"({_PLAIN}*)":\[')
_UNIT_SEPARATOR = re.compile(r'\],(?=")')
_VALUE = r"-?[1-9][0-9]{0,29}(?:\.[0-9]{1,28})?|-?0\.[0-9]{1,28}|0"
_FILING_MEMBERS = rf'"fy":(?:[0-9]{{4}}|null),"fp":(?:null|"{_PLAIN}*"),"form":"{_PLAIN}*","filed":".{{10}}"'
_ROW = re.compile(
    rf'(\{{(?:"start":"(.{{10}})",)?"end":"(.{{10}})","val":({_VALUE}),"accn":"(.{{20}})",({_FILING_MEMBERS})'
    rf'(?:,"frame":"{_PLAIN}*")?\}})(?:,|\Z)'
)

_ROW_MEMBERS = itemgetter("accn", "end", "val", "form", "filed")

# The members of a row about its filing, either as written (_FILING_MEMBERS) or as year, form and filing date.
_FilingMembers = str | tuple[Any, Any, Any]
# The groups of _ROW: the row as it is written, start ("" for an instant), end, value, accession number, and the members
# about the filing. A row from the JSON decoder has "" as its first text.
_RowTexts = tuple[str, str, str, str, str, _FilingMembers]
# An accession number, the day number of the last day, the number of days (0 for an instant), and the value. Rows are
# plain tuples because a large company has tens of thousands of them.
FactRow = tuple[str, int, int, str]


class FactFiling(NamedTuple):
    """The filing of a row: its form, and the ISO date on which it was filed."""

    form: str
    filed: str


class ConceptFacts(NamedTuple):
    """The rows of a concept (``us-gaap:Assets``) in one unit, in document order."""

    concept: str
    unit: str
    rows: list[FactRow]


@dataclass(frozen=True, slots=True)
class CompanyFacts:
    """The facts of a document, and the filings that report them, by accession number with dashes.

    ``fiscal_years`` has the fiscal year of each filing whose rows state one. ``backward_row_count`` is the number of
    rows that were left out because they end before they start, which are errors of the filers.
    """

    cik: int
    name: str
    filings: dict[str, FactFiling]
    concepts: list[ConceptFacts]
    backward_row_count: int
    fiscal_years: dict[str, int]


def parse(content: bytes, file: str) -> CompanyFacts:
    """Return the filings and facts of a companyfacts document. ``file`` is named in errors.

    Raise ParseError if the JSON is broken, ambiguous (a key occurs twice) or nested too deep, if a row lacks its end,
    accession number, form, filing date or value, or if a value, name or date is not valid.
    """
    if len(content) > MAX_BYTES:
        raise ParseError(file, "", f"is larger than any companyfacts document ({MAX_BYTES >> 20} MiB)")
    try:
        return _CompanyFactsReader(content.decode("utf-8-sig"), file).read()
    except RecursionError:
        raise ParseError(file, "", "JSON nested too deep") from None
    except JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ParseError(file, place, f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ParseError(file, f"byte {error.start}", "not UTF-8") from None


class _CompanyFactsReader:
    """A reader that goes through the members of the document down to the concepts, and reads one concept at a time."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._position = 0
        # The JSON path of the current concept, for error messages.
        self._place = "$"
        self._decoder = build_strict_decoder(parse_float=str)
        self._fast_decoder = build_strict_decoder(parse_float=str, unique=False)
        self._filings: dict[str, FactFiling] = {}
        self._fiscal_years: dict[str, int] = {}
        self._concepts: list[ConceptFacts] = []
        self._backward_row_count = 0
        # Caches of what is repeated in thousands of rows: the day number of each valid date, and the members about each
        # filing as last read.
        self._day_numbers: dict[str, int] = {}
        self._known_members: dict[str, _FilingMembers] = {}

    def read(self) -> CompanyFacts:
        """Return the facts of the file. Its members may be in any order, and unknown ones are ignored."""
        cik: int | None = None
        name: str | None = None
        for key in self._iter_members():
            if key == "cik":
                cik = self._parse_cik(self._decode_value())
            elif key == "entityName":
                name = self._parse_name(self._decode_value())
            elif key == "facts":
                self._read_facts()
            else:
                self._decode_value()
        self._skip_blanks()
        if self._position != len(self._text):
            raise JSONDecodeError("Extra data", self._text, self._position)
        self._place = "$"
        if cik is None or name is None:
            raise self._build_error("cik or entityName is missing")
        return CompanyFacts(
            cik=cik,
            name=name,
            filings=self._filings,
            concepts=self._concepts,
            backward_row_count=self._backward_row_count,
            fiscal_years=self._fiscal_years,
        )

    def _read_facts(self) -> None:
        for taxonomy in self._iter_members():
            self._place = f"$.facts[{taxonomy[:80]!r}]"
            if not _NAME.fullmatch(taxonomy) or len(taxonomy) > MAX_NAME:
                raise self._build_error("is not a taxonomy prefix")
            for tag in self._iter_members():
                self._place = f"$.facts.{taxonomy}[{tag[:80]!r}]"
                if not _NAME.fullmatch(tag) or len(tag) > MAX_NAME:
                    raise self._build_error("is not a concept name")
                self._read_concept(f"{taxonomy}:{tag}")

    def _read_concept(self, concept: str) -> None:
        rows_by_unit = self._match_concept()
        if rows_by_unit is not None:
            for unit, rows in rows_by_unit.items():
                self._add_unit(concept, unit, rows)
            return
        value = self._decode_concept()
        units = value.get("units") if isinstance(value, dict) else None
        if not isinstance(units, dict):
            raise self._build_error("has no units")
        for unit, records in units.items():
            if not isinstance(records, list):
                raise self._build_error(f"unit {unit[:40]!r} is not a list")
            self._add_unit(concept, unit, map(self._build_row_texts, records))

    def _match_concept(self) -> dict[str, list[_RowTexts]] | None:
        """Return the rows of the next concept by unit.

        Return None, and read nothing, if the concept is not written as the SEC writes it.
        """
        self._skip_blanks()
        text = self._text
        rows_by_unit: dict[str, list[_RowTexts]] = {}
        match = _CONCEPT_START.match(text, self._position)
        while match is not None:
            unit = _UNIT_START.match(text, match.end())
            if unit is None or unit[1] in rows_by_unit:
                return None
            start = unit.end()
            end = text.find("]", start)
            rows = _ROW.findall(text, start, end)
            # findall skips anything that is not a row: rows and the commas between them must be all of the text.
            matched_length = sum([len(row[0]) for row in rows]) + len(rows) - 1
            if not rows or matched_length != end - start:
                return None
            rows_by_unit[unit[1]] = rows
            if text.startswith("]}}", end):
                self._position = end + 3
                return rows_by_unit
            match = _UNIT_SEPARATOR.match(text, end)
        return None

    def _build_row_texts(self, record: Any) -> _RowTexts:
        """Return the texts of a row that the JSON decoder decoded."""
        try:
            accession, end, value, form, filed = _ROW_MEMBERS(record)
            start = record.get("start")
            year = record.get("fy")
        except (TypeError, KeyError, AttributeError) as error:
            raise self._build_error(f"a row is not in the SEC's format: {error}") from None
        if start is not None and (not isinstance(start, str) or not start):
            raise self._build_error(f"{str(start)[:40]!r} is not a date")
        if type(value) is int:
            value = str(value)
            if len(value) > MAX_NUMBER:
                raise self._build_error(f"a value is not a number: {value[:40]}...")
        elif not isinstance(value, str) or len(value) > MAX_NUMBER or not NUMBER.fullmatch(value):
            raise self._build_error(f"a value is not a decimal number: {str(value)[:40]!r}")
        return "", "" if start is None else start, end, value, accession, (year, form, filed)

    def _add_unit(self, concept: str, unit: str, rows: Iterable[_RowTexts]) -> None:
        if not unit or len(unit) > MAX_NAME or _CONTROL.search(unit):
            raise self._build_error("has a unit that is not a name")
        self._concepts.append(ConceptFacts(concept=concept, unit=unit, rows=self._build_rows(rows)))

    def _build_rows(self, row_texts: Iterable[_RowTexts]) -> list[FactRow]:
        known_members = self._known_members
        day_numbers = self._day_numbers
        rows = []
        for _, start, end, value, accession, filing_members in row_texts:
            try:
                if known_members.get(accession) != filing_members:
                    self._add_filing(accession, filing_members)
                    known_members[accession] = filing_members
                if end not in day_numbers:
                    self._add_day(end)
                if start and start not in day_numbers:
                    self._add_day(start)
            except TypeError as error:
                raise self._build_error(f"a row is not in the SEC's format: {error}") from None
            last_day = day_numbers[end]
            day_count = last_day - day_numbers[start] + 1 if start else 0
            if start and day_count < 1:
                self._backward_row_count += 1
            else:
                rows.append((accession, last_day, day_count, value))
        return rows

    def _add_filing(self, accession: Any, members: _FilingMembers) -> None:
        """Validate and store the filing of a row. Rows may disagree about their filing, and their order varies."""
        if isinstance(members, str):
            decoded = self._fast_decoder.decode(f"{{{members}}}")
            year, form, filed = decoded["fy"], decoded["form"], decoded["filed"]
        else:
            year, form, filed = members
        if type(year) is int and 1900 <= year <= 2200:
            self._fiscal_years[accession] = max(year, self._fiscal_years.get(accession, year))
        if not isinstance(accession, str) or identifiers.parse_accession(accession) != accession:
            raise self._build_error(f"accn {str(accession)[:40]!r} is not an accession number")
        if not isinstance(form, str) or not form or len(form) > 40 or _CONTROL.search(form):
            raise self._build_error(f"form {str(form)[:40]!r} is not a form type")
        self._add_day(filed)
        filing = FactFiling(form=form, filed=filed)
        earlier_filing = self._filings.get(accession, filing)
        self._filings[accession] = min(filing, earlier_filing, key=lambda candidate: (candidate.filed, candidate.form))

    def _add_day(self, text: Any) -> None:
        if not isinstance(text, str) or not days.is_day(text):
            raise self._build_error(f"{str(text)[:40]!r} is not a date")
        self._day_numbers[text] = days.number(text)

    def _parse_cik(self, value: Any) -> int:
        try:
            return int(identifiers.parse_cik(value))
        except ValueError as error:
            raise self._build_error(str(error)) from None

    def _parse_name(self, value: Any) -> str:
        name = " ".join(value.split()) if isinstance(value, str) else ""
        if not name or len(name) > MAX_NAME or _CONTROL.search(name):
            raise self._build_error("entityName is not a name")
        return name

    # ---- JSON

    def _iter_members(self) -> Iterator[str]:
        """Yield the keys of an object. The caller reads the value of each key before it continues."""
        self._expect("{")
        keys: set[str] = set()
        if self._peek() == "}":
            self._position += 1
            return
        while True:
            key = self._read_key()
            if key in keys:
                raise self._build_error(f"the key {key[:40]!r} occurs twice in one object")
            keys.add(key)
            yield key
            if self._peek() == "}":
                self._position += 1
                return
            self._expect(",")

    def _read_key(self) -> str:
        """Return the next key, and read up to the end of its colon."""
        plain_key = _KEY.match(self._text, self._position)
        if plain_key is not None:
            self._position = plain_key.end()
            return plain_key[1]
        if self._peek() != '"':
            raise JSONDecodeError("Expecting property name enclosed in double quotes", self._text, self._position)
        key: str = self._decode_value()
        self._expect(":")
        return key

    def _decode_concept(self) -> Any:
        """Return the value of a concept. Raise ParseError if a key occurs twice.

        The fast decoder does not notice repeated keys. There are none if the value has as many members as the text has
        colons. Otherwise, with a repeated key or with colons in texts, decode the value again with the strict decoder.
        """
        self._skip_blanks()
        start = self._position
        value = self._decode_value(self._fast_decoder)
        if self._text.count(":", start, self._position) != _count_members(value):
            self._position = start
            value = self._decode_value()
        return value

    def _decode_value(self, decoder: JSONDecoder | None = None) -> Any:
        self._skip_blanks()
        try:
            value, self._position = (decoder or self._decoder).raw_decode(self._text, self._position)
        except JSONDecodeError:
            raise
        except ValueError as error:
            raise self._build_error(f"not JSON in the SEC's format: {error}") from None
        return value

    def _peek(self) -> str:
        """Return the next character that is not blank, or "" at the end."""
        self._skip_blanks()
        return self._text[self._position : self._position + 1]

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise JSONDecodeError(f"Expecting {character!r}", self._text, self._position)
        self._position += 1

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self._position)
        assert blank is not None
        self._position = blank.end()

    def _build_error(self, reason: str) -> ParseError:
        return ParseError(self._file, self._place, reason)


def _count_members(concept: Any) -> int:
    """Return the number of members of a concept, its units and their rows, or -1 if it is not a concept."""
    try:
        units = concept["units"]
        row_members = sum([len(row) for rows in units.values() for row in rows])
        return len(concept) + len(units) + row_members
    except (TypeError, KeyError, AttributeError):
        return -1
