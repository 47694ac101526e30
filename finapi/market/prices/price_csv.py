"""Daily prices from CSV files of brokers and data vendors.

Columns may have any of the usual headers, in any order. A row that cannot be read is rejected and reported with its
line number; a file without any readable row is refused. Prices become exact decimals as text. Empty cells, "null" and
"nan" mean that a price is missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import tickers
from finapi.market.reference import csv_rows

# The headers of each column in files of the usual vendors, in lower case and letters only.
_HEADERS = {
    "date": ("date", "timestamp", "day", "tradedate", "datetime"),
    "open": ("open", "openprice"),
    "high": ("high", "highprice"),
    "low": ("low", "lowprice"),
    "close": ("close", "closelast", "closeprice", "last", "price"),
    "volume": ("volume", "vol"),
    "adj_close": ("adjclose", "adjustedclose", "closeadj"),
    "dividend": ("dividends", "dividend", "dividendamount"),
    "split": ("stocksplits", "stocksplit", "splits", "split", "splitcoefficient", "splitfactor", "splitratio"),
    "ticker": ("ticker", "symbol"),
    "source": ("source",),
}
_COLUMN_BY_HEADER = {header: column for column, headers in _HEADERS.items() for header in headers}

_MISSING = {"", "null", "nan", "none", "n/a", "-"}
_NUMBER = re.compile(r"\$?([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(\.[0-9]{0,12})?")
_SPLIT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?::|/|-?for-?| for )\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)")
_ISO_DAY = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[T ][0-9:.]{4,16}(?:Z|[+-][0-9:]{4,6})?)?")
_AMERICAN_DAY = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_MAX_QUOTED_CHARS = 40  # Characters of a cell that a message quotes.
_MAX_REPORTED_LINES = 20  # Rejected rows that are reported; the others are only counted.


class PriceRow(NamedTuple):
    """The prices of a ticker on a day.

    Prices are exact decimals as text, or None if missing. ``split`` is the number of new shares for one old share.
    """

    ticker: str
    date: str
    open: str | None
    high: str | None
    low: str | None
    close: str | None
    volume: int | None
    adj_close: str | None
    dividend: str | None
    split: str | None


@dataclass(frozen=True, slots=True)
class PriceFile:
    """The rows of a file, grouped by ticker, and its rejected lines."""

    rows: list[PriceRow]
    rejected_lines: list[str]  # The first ones, each as "line N: reason".
    rejected_count: int
    is_synthetic: bool  # The file says that its prices are made up.
    # The words of the file's name that may be its ticker, for a file without a column of tickers (whose rows have the
    # ticker ""). Each word is followed by its parts: ("BRK-B", "BRK", "B").
    ticker_candidates: tuple[tuple[str, ...], ...] = ()
    has_action_columns: bool = True  # The file has a column of dividends or of splits.


def parse(csv_bytes: bytes, path: str, file_name: str) -> PriceFile:
    """Return the prices of a CSV file.

    ``path`` is the name in messages. ``file_name`` may contain the ticker. Raise ParseError if the file has no column
    of dates or of prices, a column twice, days in the order day/month/year, or no readable row.
    """
    lines = csv_rows.iter_rows(csv_bytes, path)
    _, header = next(lines, (1, []))
    columns = _find_columns(header, path)
    # The last line of a truncated file has no line feed. It may have lost cells, so it is rejected if any is missing.
    truncated_line = 0 if csv_bytes.endswith(b"\n") else csv_bytes.count(b"\n") + 1
    rows: dict[str, dict[str, PriceRow]] = {}  # By ticker and day.
    rejected_lines: list[str] = []
    rejected_count = 0
    is_synthetic = False
    for line_number, cells in lines:
        try:
            if line_number == truncated_line and len(cells) < len(header):
                raise ValueError("the file ends in the middle of this line")
            row = _parse_row(cells, columns)
            if rows.setdefault(row.ticker, {}).setdefault(row.date, row) != row:
                raise ValueError(f"{row.date} occurs twice with different figures")
            if _get_cell(cells, columns, "source").lower() == "synthetic":
                is_synthetic = True
        except _DayOrderError as error:
            raise ParseError(path, f"line {line_number}", str(error)) from None
        except ValueError as error:
            rejected_count += 1
            if len(rejected_lines) < _MAX_REPORTED_LINES:
                rejected_lines.append(f"line {line_number}: {error}")
    if not rows:
        raise ParseError(path, "", "; ".join(["contains no prices", *rejected_lines[:3]]))
    return PriceFile(
        rows=[row for rows_by_day in rows.values() for row in rows_by_day.values()],
        rejected_lines=rejected_lines,
        rejected_count=rejected_count,
        is_synthetic=is_synthetic,
        ticker_candidates=() if "ticker" in columns else _list_ticker_candidates(file_name),
        has_action_columns="dividend" in columns or "split" in columns,
    )


class _DayOrderError(ValueError):
    """A date such as 31/12/2024. Dates such as 05/04/2024 in the same file would be misread without an error."""


def _find_columns(header: Sequence[str], path: str) -> dict[str, int]:
    """Return the index of each known column by its name. Raise ParseError if a column is missing or occurs twice."""
    columns: dict[str, int] = {}
    for index, cell in enumerate(header):
        column = _COLUMN_BY_HEADER.get(re.sub("[^a-z]", "", cell.lower()))
        if column is None:
            continue
        if column in columns:
            raise ParseError(path, "line 1", f"two columns have the header of {column}")
        columns[column] = index
    if "date" not in columns or not columns.keys() & {"close", "dividend", "split"}:
        raise ParseError(path, "line 1", "needs a column of dates and one of closes, dividends or splits")
    return columns


def _list_ticker_candidates(file_name: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a file's name that may be a ticker.

    Each word is followed by its parts: "brk-b_daily.csv" gives ("BRK-B", "BRK", "B") and ("DAILY",).
    """
    stem = re.sub(r"(?i)\.(csv|tsv|txt)$", "", file_name)
    candidates = []
    for word in re.split(r"[^A-Za-z0-9.-]+", stem):
        spellings = dict.fromkeys([word, *re.split("[.-]", word)])
        normalised = [_normalise_ticker(spelling) for spelling in spellings]
        candidates.append(tuple(ticker for ticker in normalised if ticker))
    return tuple(candidates)


def _normalise_ticker(word: str) -> str:
    """Return the ticker that a word may be, or "" if it cannot be one."""
    try:
        return "" if word.isdigit() else tickers.normalise(word)
    except ValueError:
        return ""


def _get_cell(cells: Sequence[str], columns: dict[str, int], column: str) -> str:
    """Return the text of a cell, or "" if the file or the row has no such column."""
    index = columns.get(column)
    return cells[index].strip() if index is not None and index < len(cells) else ""


def _parse_row(cells: Sequence[str], columns: dict[str, int]) -> PriceRow:
    """Return the prices of a row. Raise ValueError with the reason if it cannot be read."""

    def parse_price(column: str) -> str | None:
        return _parse_price(_get_cell(cells, columns, column), column)

    row = PriceRow(
        ticker=tickers.normalise(_get_cell(cells, columns, "ticker")) if "ticker" in columns else "",
        date=_parse_day(_get_cell(cells, columns, "date")),
        open=parse_price("open"),
        high=parse_price("high"),
        low=parse_price("low"),
        close=parse_price("close"),
        volume=_parse_volume(_get_cell(cells, columns, "volume")),
        adj_close=parse_price("adj_close"),
        dividend=_parse_price(_get_cell(cells, columns, "dividend"), "dividend", zero_means_missing=True),
        split=_parse_split(_get_cell(cells, columns, "split")),
    )
    if row.close is None and row.dividend is None and row.split is None:
        raise ValueError("no close" if "close" in columns else "neither a dividend nor a split")
    if row.high is not None and row.low is not None and Decimal(row.high) < Decimal(row.low):
        raise ValueError(f"the high {row.high} is below the low {row.low}")
    return row


def _parse_price(text: str, column: str, *, zero_means_missing: bool = False) -> str | None:
    """Return an exact decimal above zero as text, or None if it is missing. Raise ValueError for any other text."""
    if text.lower() in _MISSING:
        return None
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{column} {text[:_MAX_QUOTED_CHARS]!r} is not a price")
    price = _build_decimal(match)
    if price == 0:
        if zero_means_missing:
            return None
        raise ValueError(f"{column} is zero")
    # Interned, because the open of a quiet day is also its high, low and close.
    return sys.intern(format(price.normalize(), "f"))


def _build_decimal(match: re.Match[str]) -> Decimal:
    """Return the number that :data:`_NUMBER` matched."""
    digits, decimals = match[1], match[2]
    return Decimal(digits.replace(",", "") + (decimals or ""))


def _parse_volume(text: str) -> int | None:
    if text.lower() in _MISSING:
        return None
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"volume {text[:_MAX_QUOTED_CHARS]!r} is not a number of shares")
    # Volumes have decimals if the vendor has adjusted them for splits, or if fractions of shares were traded.
    return round(_build_decimal(match))


def _parse_split(text: str) -> str | None:
    """Return the number of new shares for one old share, from "4:1", "4-for-1" or "4"; None if there is no split."""
    if text.lower() in _MISSING:
        return None
    reason = f"split {text[:_MAX_QUOTED_CHARS]!r} is not a ratio"
    match = _SPLIT.fullmatch(text.lower())
    try:
        if match is not None:
            ratio = Decimal(match[1]) / Decimal(match[2])
        else:
            ratio = Decimal(_parse_price(text, "split", zero_means_missing=True) or 1)
    except ArithmeticError:
        raise ValueError(reason) from None
    if not 0 < ratio < 10**6:
        raise ValueError(reason)
    return None if ratio == 1 else format(ratio.normalize(), "f")


def _parse_day(text: str) -> str:
    """Return an ISO date from "2024-12-31", "20241231", "2024-12-31T16:00:00Z" or "12/31/2024".

    Raise ValueError for any other text, and _DayOrderError if the month comes second.
    """
    not_a_day = f"{text[:_MAX_QUOTED_CHARS]!r} is not a day"
    iso = _ISO_DAY.fullmatch(text)
    american = _AMERICAN_DAY.fullmatch(text)
    if iso is not None:
        year, month, day = iso[1], iso[2], iso[3]
    elif american is not None:
        month, day, year = american[1], american[2], american[3]
        if int(month) > 12:
            quoted = repr(text[:_MAX_QUOTED_CHARS])
            raise _DayOrderError(f"the date {quoted} is not month/day/year, so no date of the file can be trusted")
    else:
        raise ValueError(not_a_day)
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        raise ValueError(not_a_day) from None
