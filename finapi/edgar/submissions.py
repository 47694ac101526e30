"""The parser of a company's list of filings: ``CIK##########.json`` of data.sec.gov/submissions, and its older pages.

The list is columnar, with one array for each field and all arrays of the same length::

    {"cik": "320193", "name": "Apple Inc.", "tickers": ["AAPL"], "filings": {
        "recent": {"accessionNumber": ["0000320193-25-000057", ...], "form": ["10-Q", ...], ...},
        "files": [{"name": "CIK0000320193-submissions-001.json", "filingCount": 1180, ...}]}}

About the newest 1,000 filings are in the file itself. The older pages that ``files`` names have the rest as bare
arrays.

``acceptanceDateTime`` ends in Z and is UTC for most companies. For others (Apple, Siemens) it is US Eastern time in
spite of the Z: filing 0000320193-22-000061 has 18:30:57 both in the list and in its SGML header, which is in Eastern
time. Nothing in the file says which of the two clocks it uses. The parser infers it from the hours in which EDGAR
accepts filings: a row that would be impossible on one clock is a vote for the other (:func:`_detect_clock`). All times
are returned in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar

from finapi.core import days
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import eastern_time, identifiers, tickers
from finapi.edgar.company_attributes import CompanyAttributes

# The clock of a file's times. "unproven" if no filing shows which one it is: the times are then read as UTC.
AcceptanceClock = Literal["utc", "eastern", "unproven"]
_T = TypeVar("_T")

_REQUIRED_COLUMNS = (
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
_OPTIONAL_COLUMNS = ("primaryDocDescription", "act", "fileNumber", "filmNumber")

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3})?Z")
# The shapes of accession numbers and times: valid texts look like this after each digit has been replaced by 0.
_ACCESSION_SHAPE = "0000000000-00-000000"
_TIME_SHAPE = "0000-00-00T00:00:00.000Z"
_DIGITS_TO_ZERO = str.maketrans("123456789", "000000000")
_PLAIN_TYPES = {str, int, type(None)}
_PAGE_NAME = re.compile(r"CIK([0-9]{10})-submissions-[0-9]{3}\.json")
_MONTH_DAY = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")
_SIC = re.compile(r"[0-9]{1,4}")
_MAX_SIZE = 1 << 50

# EDGAR accepts filings from 06:00 to 22:00 Eastern. Anything after 17:30 gets the date of the next working day, except
# for ownership forms. Source: Regulation S-T, rules 12 and 13.
_OPENING_TIME = (6, 0)
_CLOSING_TIME = (22, 0)
_DAY_END = (17, 31)
_FORMS_DATED_SAME_DAY = {"3", "4", "5", "3/A", "4/A", "5/A", "144", "144/A"}
_FIRST_YEAR = 1993  # The first filings on EDGAR.
# Prefixes of accession numbers that the SEC itself creates (orders, letters, scanned paper), at any hour.
_SEC_ACCESSIONS = ("99999999", "00000000")


class ListedFiling(NamedTuple):
    """A row of the list. None stands for anything that is empty.

    ``accession`` has dashes. ``filed`` and ``report_date`` are ISO dates. ``accepted`` is in UTC,
    ``YYYY-MM-DDTHH:MM:SS.mmmZ``; before about 2002 only the day is known, and it is midnight Eastern. ``items`` are the
    item numbers of an 8-K. ``size`` is the bytes of the full submission. ``primary_document`` is relative to the
    filing's folder and may be a rendering: ``xslF345X05/form4.xml`` is the HTML of ``form4.xml``.
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
    """A normalised ticker and the exchange that lists it, None if the SEC names none."""

    ticker: str
    exchange: str | None


@dataclass(frozen=True, slots=True)
class FormerCompanyName:
    """A former name with the ISO dates of the first and the last filing under it."""

    name: str
    first_filed: str | None
    last_filed: str | None


@dataclass(frozen=True, slots=True)
class OlderPage:
    """A page with older filings: its file name, at the same address, and the number and days of its filings."""

    name: str
    filing_count: int | None
    first_filed: str | None
    last_filed: str | None


@dataclass(frozen=True, slots=True)
class CompanySubmissions:
    """A company or person and its filings, newest first as in the file.

    ``cik`` has ten digits. ``acceptance_clock`` is the clock of the times in the file.
    """

    cik: str
    name: str
    attributes: CompanyAttributes
    listings: tuple[Listing, ...]
    former_names: tuple[FormerCompanyName, ...]
    filings: tuple[ListedFiling, ...]
    older_pages: tuple[OlderPage, ...]
    acceptance_clock: AcceptanceClock


def parse_company(content: bytes, file: str) -> CompanySubmissions:
    """Return a company and its newest filings from ``CIK##########.json``.

    Raise ParseError, with the JSON path, if a member is missing or invalid, or if columns differ in length.
    """
    document = _require_object(identifiers.parse_json(content, file), "$", file)
    filings = _require_object(document.get("filings"), "$.filings", file)
    recent = _require_object(filings.get("recent"), "$.filings.recent", file)
    rows, clock = _build_rows(recent, "$.filings.recent", file, "unproven")
    cik = document.get("cik")
    try:
        padded_cik = identifiers.parse_cik(cik if isinstance(cik, str | int) else "")
    except ValueError as error:
        raise ParseError(file, "$.cik", str(error)) from None
    name = _get_text(document, "name", "$", file)
    if name is None:
        raise ParseError(file, "$.name", "missing")
    return CompanySubmissions(
        cik=padded_cik,
        name=name,
        attributes=_build_attributes(document, file),
        listings=_build_listings(document, file),
        former_names=_build_former_names(document, file),
        filings=tuple(rows),
        older_pages=_build_older_pages(filings, file),
        acceptance_clock=clock,
    )


def _build_attributes(document: dict[str, Any], file: str) -> CompanyAttributes:
    """Return the attributes of a company. An end of the fiscal year that is not a day of a year is None."""
    sic = _get_text(document, "sic", "$", file)
    if sic is not None and not _SIC.fullmatch(sic):
        raise ParseError(file, "$.sic", f"{sic!r} is not a SIC code")
    year_end = _get_text(document, "fiscalYearEnd", "$", file)
    return CompanyAttributes(
        sic=None if sic is None else int(sic),
        sic_description=_get_text(document, "sicDescription", "$", file),
        fiscal_year_end=year_end if year_end and _MONTH_DAY.fullmatch(year_end) else None,
        state=_get_text(document, "stateOfIncorporation", "$", file),
        entity_type=_get_text(document, "entityType", "$", file),
    )


def parse_older_page(content: bytes, file: str, clock: AcceptanceClock = "unproven") -> list[ListedFiling]:
    """Return the filings of an older page, ``CIK##########-submissions-###.json``.

    ``clock`` is the ``acceptance_clock`` of the company's main file. If it is "unproven", the clock is detected from
    the rows of the page. Raise ParseError as :func:`parse_company` does.
    """
    page = _require_object(identifiers.parse_json(content, file), "$", file)
    rows, _ = _build_rows(page, "$", file, clock)
    return rows


def find_cik_of_older_page(name: str) -> int | None:
    """Return the CIK in the file name of an older page, which the page itself does not contain, or None."""
    match = _PAGE_NAME.search(name)
    return int(match[1]) if match and int(match[1]) else None


# ---- the columns


def _build_rows(
    table: dict[str, Any], path: str, file: str, clock: AcceptanceClock
) -> tuple[list[ListedFiling], AcceptanceClock]:
    """Return the filings of a columnar table, and the clock by which its times were read."""
    _check_columns(table, path, file)
    row_count = len(table["accessionNumber"])

    def convert_column(name: str, convert: Callable[[Any], _T]) -> list[_T]:
        return _convert_distinct(table.get(name, [None] * row_count), convert, f"{path}.{name}", file)

    accessions = table["accessionNumber"]
    if not _have_shape(accessions, _ACCESSION_SHAPE):
        accessions = convert_column("accessionNumber", _require_accession)
    forms = convert_column("form", _require_text)
    filed_days = convert_column("filingDate", _require_day)
    times = _parse_times(table["acceptanceDateTime"], f"{path}.acceptanceDateTime", file)
    if clock == "unproven":
        clock = _detect_clock(accessions, forms, filed_days, times)
    format_time = _format_eastern_time if clock == "eastern" else _format_utc_time
    # In the order of ListedFiling. Most values occur many times in their column and are converted once.
    columns = zip(
        accessions,
        forms,
        filed_days,
        convert_column("reportDate", _optional_day),
        _convert_each(times, format_time, f"{path}.acceptanceDateTime", file),
        convert_column("primaryDocument", _optional_text),
        convert_column("primaryDocDescription", _optional_text),
        convert_column("items", _parse_items),
        convert_column("size", _require_size),
        convert_column("isXBRL", _require_flag),
        convert_column("isInlineXBRL", _require_flag),
        convert_column("act", _optional_text),
        convert_column("fileNumber", _optional_text),
        convert_column("filmNumber", _optional_text),
        strict=True,
    )
    return list(map(ListedFiling._make, columns)), clock


def _check_columns(table: dict[str, Any], path: str, file: str) -> None:
    for name in _REQUIRED_COLUMNS:
        if not isinstance(table.get(name), list):
            raise ParseError(file, f"{path}.{name}", "missing or not a list")
    row_count = len(table["accessionNumber"])
    for name, column in table.items():
        if isinstance(column, list) and len(column) != row_count:
            reason = f"{format_count(len(column), 'value')} for {format_count(row_count, 'accession number')}"
            raise ParseError(file, f"{path}.{name}", reason)
        if name in _OPTIONAL_COLUMNS and not isinstance(column, list):
            raise ParseError(file, f"{path}.{name}", "not a list")


def _convert_distinct(column: Sequence[Any], convert: Callable[[Any], _T], path: str, file: str) -> list[_T]:
    """Return the converted values of a column. Columns repeat their values, so convert each distinct one once.

    Values of other types could be equal without being the same, such as true and 1.
    """
    if _PLAIN_TYPES.issuperset(map(type, column)):
        try:
            converted = {value: convert(value) for value in set(column)}
        except (ValueError, OverflowError):
            pass  # Convert again, in order: the error names the first invalid value.
        else:
            return [converted[value] for value in column]
    return _convert_each(column, convert, path, file)


def _convert_each(column: Sequence[Any], convert: Callable[[Any], _T], path: str, file: str) -> list[_T]:
    converted: list[_T] = []
    try:
        converted.extend(map(convert, column))
    except (ValueError, OverflowError) as error:
        # extend() has appended the values before the invalid one.
        raise ParseError(file, f"{path}[{len(converted)}]", str(error)) from None
    return converted


def _have_shape(column: Sequence[Any], shape: str) -> bool:
    """Return True if every value is ``shape`` with any digits for its zeros. All are checked in one pass."""
    try:
        return "\n".join(column).translate(_DIGITS_TO_ZERO) == "\n".join([shape] * len(column))
    except TypeError:
        return False  # Not all are texts.


def _parse_times(column: Sequence[Any], path: str, file: str) -> list[datetime | None]:
    if _have_shape(column, _TIME_SHAPE):
        try:
            return [datetime.fromisoformat(text[:-1]) for text in column]
        except ValueError:
            pass  # Convert again, in order: the error names the first invalid value.
    return _convert_each(column, _optional_time, path, file)


# ---- the clock of the acceptance times


def _detect_clock(
    accessions: Sequence[str], forms: Sequence[str], filed_days: Sequence[str], times: Sequence[datetime | None]
) -> AcceptanceClock:
    """Return the clock of the rows. A row that is impossible on one of the two clocks is a vote for the other."""
    eastern_votes = 0
    for accession, form, filed, time in zip(accessions, forms, filed_days, times, strict=True):
        if time is None or time.year < _FIRST_YEAR or accession.startswith(_SEC_ACCESSIONS):
            continue
        # A time from 11:00 to 16:59 is possible on both clocks. One from 11:00 to 20:59 is possible as UTC, because it
        # is 06:00 to 16:59 in New York.
        if 11 <= time.hour < 17:
            continue
        fits_eastern = _is_plausible(time, form, filed)
        fits_utc = 11 <= time.hour < 21 or _is_plausible(eastern_time.from_utc(time), form, filed)
        eastern_votes += fits_eastern - fits_utc
    if eastern_votes == 0:
        return "unproven"
    return "eastern" if eastern_votes > 0 else "utc"


def _is_plausible(local: datetime, form: str, filed: str) -> bool:
    """Return True if EDGAR can have accepted a filing at this Eastern time and given it this filing date."""
    time_of_day = (local.hour, local.minute)
    is_filed_that_day = local.date().isoformat() == filed
    if time_of_day >= _DAY_END and form not in _FORMS_DATED_SAME_DAY and is_filed_that_day:
        return False
    # At midnight only the day is known.
    is_midnight = (*time_of_day, local.second) == (0, 0, 0)
    return is_midnight or _OPENING_TIME <= time_of_day < _CLOSING_TIME


def _format_eastern_time(time: datetime | None) -> str | None:
    return _format_utc_time(time + eastern_time.get_offset(time)) if time else None


def _format_utc_time(time: datetime | None) -> str | None:
    return f"{time.isoformat(timespec='milliseconds')}Z" if time else None


# ---- single values; each function raises ValueError if the value is not valid


def _require_accession(value: Any) -> str:
    accession = identifiers.parse_accession(value) if isinstance(value, str) else None
    if accession is None:
        raise ValueError(f"{str(value)[:40]!r} is not an accession number")
    return accession


def _require_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{str(value)[:40]!r} is not a text or is empty")
    return value


def _optional_text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("not a text")
    return value or None


def _require_day(value: Any) -> str:
    return days.validate(_require_text(value))


def _optional_day(value: Any) -> str | None:
    text = _optional_text(value)
    return days.validate(text) if text else None


def _optional_time(value: Any) -> datetime | None:
    text = _optional_text(value)
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a time YYYY-MM-DDTHH:MM:SS.mmmZ")
    return datetime.fromisoformat(text[:-1])


def _parse_items(value: Any) -> tuple[str, ...]:
    """Return the items of ``2.02,9.01``."""
    text = _optional_text(value) or ""
    items = (item.strip() for item in text.split(","))
    return tuple(item for item in items if item)


def _require_size(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_SIZE:
        raise ValueError("not a number of bytes")
    return value


def _require_flag(value: Any) -> bool:
    if not isinstance(value, int) or value not in (0, 1):
        raise ValueError("neither 0 nor 1")
    return bool(value)


# ---- the rest of the document


def _require_object(value: Any, path: str, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ParseError(file, path, "missing or not an object")
    return value


def _get_list(container: dict[str, Any], key: str, path: str, file: str) -> list[Any]:
    value = container.get(key)
    if not isinstance(value, list | None):
        raise ParseError(file, f"{path}.{key}", "not a list")
    return value or []


def _get_text(container: dict[str, Any], key: str, path: str, file: str) -> str | None:
    return _get(container, key, _optional_text, path, file)


def _get(container: dict[str, Any], key: str, convert: Callable[[Any], _T], path: str, file: str) -> _T:
    """Return a converted member of an object. Errors name it as the first value of a column, ``$.name[0]``."""
    return _convert_each([container.get(key)], convert, f"{path}.{key}", file)[0]


def _build_listings(document: dict[str, Any], file: str) -> tuple[Listing, ...]:
    symbols = _convert_distinct(_get_list(document, "tickers", "$", file), _require_text, "$.tickers", file)
    exchanges = _convert_distinct(_get_list(document, "exchanges", "$", file), _optional_text, "$.exchanges", file)
    if exchanges and len(exchanges) != len(symbols):
        reason = f"{format_count(len(exchanges), 'exchange')} for {format_count(len(symbols), 'ticker')}"
        raise ParseError(file, "$.exchanges", reason)
    normalised = _convert_distinct(symbols, tickers.normalise, "$.tickers", file)
    return tuple(map(Listing, normalised, exchanges or [None] * len(normalised)))


def _build_former_names(document: dict[str, Any], file: str) -> tuple[FormerCompanyName, ...]:
    former_names = []
    for index, entry in enumerate(_get_list(document, "formerNames", "$", file)):
        path = f"$.formerNames[{index}]"
        member = _require_object(entry, path, file)
        name = _get_text(member, "name", path, file)
        first_time = _get_text(member, "from", path, file)
        last_time = _get_text(member, "to", path, file)
        if name is None:
            raise ParseError(file, f"{path}.name", "missing")
        # The times are midnight, in UTC or in New York. The day is the same.
        first_day = first_time and first_time[:10]
        last_day = last_time and last_time[:10]
        first_filed, last_filed = _convert_each([first_day, last_day], _optional_day, path, file)
        former_names.append(FormerCompanyName(name=name, first_filed=first_filed, last_filed=last_filed))
    return tuple(former_names)


def _build_older_pages(filings: dict[str, Any], file: str) -> tuple[OlderPage, ...]:
    pages = []
    for index, entry in enumerate(_get_list(filings, "files", "$.filings", file)):
        path = f"$.filings.files[{index}]"
        member = _require_object(entry, path, file)
        name = _get_text(member, "name", path, file)
        # The name becomes part of a URL, so accept nothing but this pattern.
        if name is None or not _PAGE_NAME.fullmatch(name):
            raise ParseError(file, f"{path}.name", "not the name of an older page")
        has_count = member.get("filingCount") is not None
        pages.append(
            OlderPage(
                name=name,
                filing_count=_get(member, "filingCount", _require_size, path, file) if has_count else None,
                first_filed=_get(member, "filingFrom", _optional_day, path, file),
                last_filed=_get(member, "filingTo", _optional_day, path, file),
            )
        )
    return tuple(pages)
