"""A company and the list of its filings: ``CIK##########.json`` of data.sec.gov/submissions, and older pages.

The list is columnar: one array for each field, all of one length. About the newest 1,000 filings stand in the
file itself; the pages in ``filings.files`` hold the rest as bare arrays.

``acceptanceDateTime`` ends in Z and is UTC for most companies. For others (Apple, Siemens) it is the clock
of New York with a Z behind it: ``0000320193-22-000061`` reads 18:30:57 both here and in its SGML header,
which is Eastern. Which of the two a file uses is told from the hours in which EDGAR accepts filings; times
are returned in UTC either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeVar

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import identifiers, tickers
from finapi.edgar.sgml import eastern_offset

AcceptanceClock = Literal["utc", "eastern", "unproven"]
_T = TypeVar("_T")

_COLUMNS = (
    "accessionNumber",
    "filingDate",
    "reportDate",
    "acceptanceDateTime",
    "form",
    "primaryDocument",
    "items",
    "size",
    "isXBRL",
    "isInlineXBRL",
)
_DESCRIPTIVE_COLUMNS = ("primaryDocDescription", "act", "fileNumber", "filmNumber")
_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3})?Z")
_ACCESSION_SHAPE, _STAMP_SHAPE = "0000000000-00-000000", "0000-00-00T00:00:00.000Z"
_ANY_DIGIT = str.maketrans("123456789", "000000000")
_PLAIN = {str, int, type(None)}
_PAGE_NAME = re.compile(r"CIK([0-9]{10})-submissions-[0-9]{3}\.json")
_MONTH_DAY = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")

# EDGAR accepts filings from 06:00 to 22:00 Eastern; what comes after 17:30 is dated the next working day,
# save the ownership forms. Source: Regulation S-T, rules 12 and 13.
_OPENS, _CLOSES, _DAY_ENDS = (6, 0), (22, 0), (17, 31)
_DATED_SAME_DAY = {"3", "4", "5", "3/A", "4/A", "5/A", "144", "144/A"}
_FIRST_YEAR = 1993  # of EDGAR
_MADE_BY_THE_SEC = ("99999999", "00000000")  # orders, letters and scanned paper keep no hours


class ListedFiling(NamedTuple):
    """One row of the list.

    ``accession`` with dashes; ``filed`` and ``report_date`` ISO dates; ``accepted`` in UTC,
    ``YYYY-MM-DDTHH:MM:SS.mmmZ`` (midnight Eastern before about 2002, when only the day is known);
    ``items`` of an 8-K by number; ``size`` in bytes of the full submission. ``primary_document`` is
    relative to the filing's folder and may name a rendering: ``xslF345X05/form4.xml`` is the HTML of
    ``form4.xml``. What is empty is None.
    """

    accession: str
    form: str
    filed: str
    report_date: str | None
    accepted: str | None
    primary_document: str | None
    primary_description: str | None
    items: tuple[str, ...]
    size: int
    is_xbrl: bool
    is_inline_xbrl: bool
    act: str | None
    file_number: str | None
    film_number: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A ticker, folded, and the exchange that lists it (None where the SEC names none)."""

    ticker: str
    exchange: str | None


@dataclass(frozen=True, slots=True)
class FormerCompanyName:
    """A name borne before: ISO dates of the first and the last filing under it, None when absent."""

    name: str
    first_filed: str | None
    last_filed: str | None


@dataclass(frozen=True, slots=True)
class OlderPage:
    """A page with the rest of the list: a file name below the same address, how many filings, of which days."""

    name: str
    filing_count: int | None
    first_filed: str | None
    last_filed: str | None


@dataclass(frozen=True, slots=True)
class CompanySubmissions:
    """A company or person and its filings, newest first as given.

    ``cik`` has 10 digits; ``fiscal_year_end`` is MMDD, None when absent or no day of a year;
    ``acceptance_clock`` is how the source's times were read: "unproven" is UTC for want of a filing that could
    tell.
    """

    cik: str
    name: str
    entity_type: str | None
    sic: str | None
    sic_description: str | None
    fiscal_year_end: str | None
    state: str | None
    listings: tuple[Listing, ...]
    former_names: tuple[FormerCompanyName, ...]
    filings: tuple[ListedFiling, ...]
    older_pages: tuple[OlderPage, ...]
    acceptance_clock: AcceptanceClock


def parse_company(data: bytes, file: str) -> CompanySubmissions:
    """Return a company and its newest filings from ``CIK##########.json``.

    Raises ParseError, naming the JSON path, for a missing or misshapen member and for columns that differ in
    length.
    """
    document = _object(identifiers.parse_json(data, file), "$", file)
    filings = _object(document.get("filings"), "$.filings", file)
    recent = _object(filings.get("recent"), "$.filings.recent", file)
    rows, clock = _rows(recent, "$.filings.recent", file, "unproven")
    number = document.get("cik")
    try:
        cik = identifiers.parse_cik(number if isinstance(number, str | int) else "")
    except ValueError as error:
        raise ParseError(file, "$.cik", str(error)) from None
    name = _text(document, "name", "$", file)
    if name is None:
        raise ParseError(file, "$.name", "missing")
    year_end = _text(document, "fiscalYearEnd", "$", file)
    return CompanySubmissions(
        cik=cik,
        name=name,
        entity_type=_text(document, "entityType", "$", file),
        sic=_text(document, "sic", "$", file),
        sic_description=_text(document, "sicDescription", "$", file),
        fiscal_year_end=year_end if year_end and _MONTH_DAY.fullmatch(year_end) else None,
        state=_text(document, "stateOfIncorporation", "$", file),
        listings=_listings(document, file),
        former_names=_former_names(document, file),
        filings=tuple(rows),
        older_pages=_older_pages(filings, file),
        acceptance_clock=clock,
    )


def parse_older_page(data: bytes, file: str, clock: AcceptanceClock = "unproven") -> list[ListedFiling]:
    """Return the filings of an older page, ``CIK##########-submissions-###.json``.

    ``clock`` is the ``acceptance_clock`` of the company's own file; without it, or when that was unproven,
    the page's own rows decide. Raises ParseError as :func:`company` does.
    """
    return _rows(_object(identifiers.parse_json(data, file), "$", file), "$", file, clock)[0]


def _rows(
    table: dict[str, Any], path: str, file: str, clock: AcceptanceClock
) -> tuple[list[ListedFiling], AcceptanceClock]:
    _check_columns(table, path, file)
    count = len(table["accessionNumber"])

    def column(name: str, convert: Callable[[Any], _T]) -> list[_T]:
        return _column(table.get(name, [None] * count), convert, f"{path}.{name}", file)

    accessions = table["accessionNumber"]
    if not _shaped(accessions, _ACCESSION_SHAPE):
        accessions = column("accessionNumber", _accession)
    forms = column("form", _required_text)
    filed = column("filingDate", _required_date)
    stamps = _stamps(table["acceptanceDateTime"], f"{path}.acceptanceDateTime", file)
    if clock == "unproven":
        clock = _clock(accessions, forms, filed, stamps)
    in_utc = _utc_of_eastern if clock == "eastern" else _utc_of_utc
    columns = zip(
        accessions,
        forms,
        filed,
        column("reportDate", _optional_date),
        _each(stamps, in_utc, f"{path}.acceptanceDateTime", file),
        column("primaryDocument", _optional_text),
        column("primaryDocDescription", _optional_text),
        column("items", _items),
        column("size", _size),
        column("isXBRL", _flag),
        column("isInlineXBRL", _flag),
        column("act", _optional_text),
        column("fileNumber", _optional_text),
        column("filmNumber", _optional_text),
        strict=True,
    )
    return list(map(ListedFiling._make, columns)), clock


def _check_columns(table: dict[str, Any], path: str, file: str) -> None:
    for name in _COLUMNS:
        if not isinstance(table.get(name), list):
            raise ParseError(file, f"{path}.{name}", "missing or not a list")
    count = len(table["accessionNumber"])
    for name, values in table.items():
        if isinstance(values, list) and len(values) != count:
            raise ParseError(file, f"{path}.{name}", f"{len(values)} values beside {count} accession numbers")
        if name in _DESCRIPTIVE_COLUMNS and not isinstance(values, list):
            raise ParseError(file, f"{path}.{name}", "not a list")


def _column(values: Sequence[Any], convert: Callable[[Any], _T], path: str, file: str) -> list[_T]:
    """The converted values. Columns repeat theirs: each distinct one is converted once."""
    # Others may be equal and yet not the same: true and 1.
    if _PLAIN.issuperset(map(type, values)):
        try:
            converted = {value: convert(value) for value in set(values)}
        except (ValueError, OverflowError):
            pass  # read once more, in order: the refusal names the first
        else:
            return [converted[value] for value in values]
    return _each(values, convert, path, file)


def _each(values: Sequence[Any], convert: Callable[[Any], _T], path: str, file: str) -> list[_T]:
    converted: list[_T] = []
    try:
        converted.extend(map(convert, values))
    except (ValueError, OverflowError) as error:
        raise ParseError(file, f"{path}[{len(converted)}]", str(error)) from None
    return converted


def _shaped(values: Sequence[Any], shape: str) -> bool:
    """Whether every value is ``shape`` with any digits for its zeros: all are looked at in one pass."""
    try:
        return "\n".join(values).translate(_ANY_DIGIT) == "\n".join([shape] * len(values))
    except TypeError:
        return False  # not all are texts


def _stamps(values: Sequence[Any], path: str, file: str) -> list[datetime | None]:
    if _shaped(values, _STAMP_SHAPE):
        try:
            return [datetime.fromisoformat(text[:-1]) for text in values]
        except ValueError:
            pass  # as in _column
    return _each(values, _stamp, path, file)


def _clock(
    accessions: Sequence[str], forms: Sequence[str], filed: Sequence[str], stamps: Sequence[datetime | None]
) -> AcceptanceClock:
    """The clock that the rows were written by: each row impossible in one of the two votes for the other."""
    votes = 0
    for number, form, day, stamp in zip(accessions, forms, filed, stamps, strict=True):
        if stamp is None or stamp.year < _FIRST_YEAR or number.startswith(_MADE_BY_THE_SEC):
            continue
        # EDGAR accepts on any day by either clock from 11:00 to 16:59, and to 20:59 if that is UTC (16:59 in New York).
        if not 11 <= stamp.hour < 17:
            votes += _plausible(stamp, form, day) - (11 <= stamp.hour < 21 or _plausible(_eastern(stamp), form, day))
    return "unproven" if votes == 0 else "eastern" if votes > 0 else "utc"


def _plausible(local: datetime, form: str, filed: str) -> bool:
    """Whether EDGAR, seen in its own time zone, could have accepted this and given it that date."""
    time = (local.hour, local.minute)
    if time >= _DAY_ENDS and form not in _DATED_SAME_DAY and local.date().isoformat() == filed:
        return False  # after the end of that day
    # At midnight only the day is known.
    return _OPENS <= time < _CLOSES or (*time, local.second) == (0, 0, 0)


def _eastern(moment: datetime) -> datetime:
    """The Eastern wall clock at a UTC time, both naive."""
    local = moment - timedelta(hours=4)
    return local if eastern_offset(local) == timedelta(hours=4) else local - timedelta(hours=1)


def _utc_of_eastern(stamp: datetime | None) -> str | None:
    return _utc_of_utc(stamp + eastern_offset(stamp)) if stamp else None


def _utc_of_utc(stamp: datetime | None) -> str | None:
    return f"{stamp.isoformat(timespec='milliseconds')}Z" if stamp else None


def _accession(value: Any) -> str:
    number = identifiers.parse_accession(value) if isinstance(value, str) else None
    if number is None:
        raise ValueError(f"{str(value)[:40]!r} is not an accession number")
    return number


def _optional_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("not a text")
    return value or None


def _required_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("not a text, or empty")
    return value


def _required_date(value: Any) -> str:
    return days.validate(_required_text(value))


def _optional_date(value: Any) -> str | None:
    text = _optional_text(value)
    return days.validate(text) if text else None


def _stamp(value: Any) -> datetime | None:
    text = _optional_text(value)
    if text is None:
        return None
    if not _STAMP.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a time YYYY-MM-DDTHH:MM:SS.mmmZ")
    return datetime.fromisoformat(text[:-1])


def _items(value: Any) -> tuple[str, ...]:
    text = _optional_text(value)
    return tuple(filter(None, map(str.strip, text.split(",")))) if text else ()


def _size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 50:
        raise ValueError("not a number of bytes")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, int) or value not in (0, 1):
        raise ValueError("neither 0 nor 1")
    return bool(value)


def _object(value: Any, path: str, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParseError(file, path, "missing or not an object")
    return value


def _list(container: dict[str, Any], key: str, path: str, file: str) -> list[Any]:
    value = container.get(key)
    if not isinstance(value, list | None):
        raise ParseError(file, f"{path}.{key}", "not a list")
    return value or []


def _text(container: dict[str, Any], key: str, path: str, file: str) -> str | None:
    return _column([container.get(key)], _optional_text, f"{path}.{key}", file)[0]


def _listings(document: dict[str, Any], file: str) -> tuple[Listing, ...]:
    symbols = _column(_list(document, "tickers", "$", file), _required_text, "$.tickers", file)
    exchanges = _column(_list(document, "exchanges", "$", file), _optional_text, "$.exchanges", file)
    if exchanges and len(exchanges) != len(symbols):
        raise ParseError(file, "$.exchanges", f"{len(exchanges)} exchanges beside {len(symbols)} tickers")
    folded = _column(symbols, tickers.normalise, "$.tickers", file)
    return tuple(map(Listing, folded, exchanges or [None] * len(folded)))


def _former_names(document: dict[str, Any], file: str) -> tuple[FormerCompanyName, ...]:
    names = []
    for number, entry in enumerate(_list(document, "formerNames", "$", file)):
        path = f"$.formerNames[{number}]"
        member = _object(entry, path, file)
        name, first, last = (_text(member, key, path, file) for key in ("name", "from", "to"))
        if name is None:
            raise ParseError(file, f"{path}.name", "missing")
        # The times are midnight, of Greenwich or of New York: the day is the same.
        days = (first and first[:10], last and last[:10])
        names.append(FormerCompanyName(name, *_column(days, _optional_date, path, file)))
    return tuple(names)


def _older_pages(filings: dict[str, Any], file: str) -> tuple[OlderPage, ...]:
    pages = []
    for number, entry in enumerate(_list(filings, "files", "$.filings", file)):
        path = f"$.filings.files[{number}]"
        member = _object(entry, path, file)
        name = _text(member, "name", path, file)
        # The name becomes part of an address: nothing but this pattern may.
        if name is None or not _PAGE_NAME.fullmatch(name):
            raise ParseError(file, f"{path}.name", "not the name of an older page")
        count = member.get("filingCount")
        holds = _column([count], _size, f"{path}.filingCount", file)[0] if count is not None else None
        first, last = (
            _column([member.get(key)], _optional_date, f"{path}.{key}", file)[0] for key in ("filingFrom", "filingTo")
        )
        pages.append(OlderPage(name, holds, first, last))
    return tuple(pages)


def find_cik_of_older_page(name: str) -> int | None:
    """The CIK whose older page a file of this name is: the page itself does not say it. None for other names."""
    found = _PAGE_NAME.search(name)
    return int(found[1]) if found and int(found[1]) else None
