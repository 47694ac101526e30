"""Daily prices from CSV files of brokers and data vendors.

Columns may have any of the usual headers, in any order (``price_columns``), and cells any of the usual forms
(``price_cells``). A row that cannot be read is rejected and reported with its line number; a file without any readable
row, or with several bars for one day, is refused. Prices become exact decimals as text. Empty cells, "null" and "nan"
mean that a price is missing; a row in which everything is missing is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import NamedTuple

from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import tickers
from finapi.market.prices import price_cells, price_columns
from finapi.market.prices.price_cells import DayOrderError, DecimalCommaError, Moment
from finapi.market.prices.price_columns import ColumnGroup
from finapi.market.reference import csv_rows

# Rows of a table with the columns of several tickers. Each takes 300 bytes of memory, but may take three in the file.
MAX_TABLE_ROWS = 1_000_000
MAX_REJECTED_PERCENT = 1  # Of a file's rows. An ingest that would lose more is refused.

_MAX_REPORTED_LINES = 20  # Rejected rows that are reported; the others are only counted.
_MAX_QUOTED_CHARS = 40  # Characters of a cell that a message quotes.
_DAILY_PERIODS = {"", "d", "daily", "1d"}
_NUMBER_COLUMNS = {"open", "high", "low", "close", "volume", "adj_close", "dividend", "capital_gain"}
_MIDNIGHT = re.compile(r"|0{1,2}:00(?::00(?:\.0*)?)?|0+")
# Yahoo's page of prices has a row for each dividend and split, with a text in place of the open: 0.24 Dividend.
_ACTION_ROW = re.compile(r"(?i)(\S+(?: for \S+)?)\s+(dividends?|capital gains?|stock splits?)")


class PriceRow(NamedTuple):
    """The prices of a ticker on a day.

    Prices and the volume are exact decimals as text, or None if missing. ``dividend`` includes capital gains that a
    fund distributes. ``split`` is the number of new shares for one old share.
    """

    ticker: str
    date: str
    open: str | None
    high: str | None
    low: str | None
    close: str | None
    volume: str | None
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
    # The words of the file's name that may be its ticker, for a file without tickers (whose rows have the ticker "").
    # Each word is followed by its parts: ("BRK-B", "BRK", "B").
    ticker_candidates: tuple[tuple[str, ...], ...] = ()
    has_action_columns: bool = True  # The file has a column of dividends or of splits.

    def check_rejected(self, path: str) -> None:
        """Raise ParseError if more than :data:`MAX_REJECTED_PERCENT` of the rows were rejected."""
        row_count = len(self.rows) + self.rejected_count
        if self.rejected_count * 100 > row_count * MAX_REJECTED_PERCENT:
            rejected_rows = f"{self.rejected_count} of {format_count(row_count, 'row')}"
            reason = f"{rejected_rows} cannot be read: {'; '.join(self.rejected_lines)}"
            raise ParseError(path, "", reason)


@dataclass
class _RowCollector:
    """The rows that were read so far."""

    path: str
    rows: dict[str, dict[str, PriceRow]] = field(default_factory=dict)  # By ticker and day.
    rejected_lines: list[str] = field(default_factory=list)
    rejected_count: int = 0
    # The number of rows at another time of a day that has a row already, and the day of the last one. Daily files have
    # at most one such row: Yahoo adds the price of the current day.
    extra_bar_count: int = 0
    last_extra_bar_day: str = ""
    times: dict[tuple[str, str], str] = field(default_factory=dict)  # By ticker and day, if not midnight.

    def add(self, row: PriceRow, moment: Moment) -> None:
        """Add a row, or merge it with the row of the same day. Raise ValueError if the two contradict each other."""
        rows_by_day = self.rows.setdefault(row.ticker, {})
        known_row = rows_by_day.get(row.date)
        if known_row is None:
            rows_by_day[row.date] = row
            if not _MIDNIGHT.fullmatch(moment.time):
                self.times[row.ticker, row.date] = moment.time
            return
        known_time = self.times.get((row.ticker, row.date), "")
        if moment.time != known_time and not (_MIDNIGHT.fullmatch(moment.time) and not known_time):
            self.extra_bar_count += 1
            self.last_extra_bar_day = row.date
        rows_by_day[row.date] = _merge_rows(known_row, row)

    def reject(self, line_number: int, error: ValueError) -> None:
        """Record a rejected row."""
        self.rejected_count += 1
        if len(self.rejected_lines) < _MAX_REPORTED_LINES:
            self.rejected_lines.append(f"line {line_number}: {error}")

    def check_daily(self) -> None:
        """Raise ParseError if the file has bars of less than a day."""
        is_current_price = self.extra_bar_count == 1 and not self.times
        if self.extra_bar_count and not is_current_price:
            reason = f"has several rows for {self.last_extra_bar_day}: bars of less than a day are not read"
            raise ParseError(self.path, "", reason)


def parse(csv_bytes: bytes, path: str, file_name: str) -> PriceFile:
    """Return the prices of a CSV file.

    ``path`` is the name in messages. ``file_name`` may contain the ticker. Raise ParseError if the file has no column
    of dates or of prices, a column twice, days in the order day/month/year or in an unknown one, numbers with a decimal
    comma or with a comma of unknown meaning, bars of less or more than a day, or no readable row.
    """
    lines = csv_rows.iter_rows(csv_bytes, path)
    header, first_lines = price_columns.split_header(lines)
    groups = price_columns.find_groups(header, path)
    first_days = [groups[0].get_cell(cells, "date") for _, cells in first_lines]
    if any(map(price_cells.has_short_year, first_days)) and not _has_american_day(csv_bytes, path, groups[0]):
        raise ParseError(path, "", "its dates, such as 01/02/24, do not show whether the month or the day comes first")
    is_european = b";" in csv_bytes.partition(b"\n")[0] or any(map(price_cells.is_dotted_day, first_days))
    unclear_number = _find_unclear_number(csv_bytes, path, groups) if is_european else None
    if unclear_number is not None:
        reason = f"its numbers, such as {unclear_number}, do not show whether the comma separates decimals or thousands"
        raise ParseError(path, "", reason)
    # The last line of a truncated file has no line feed. It may have lost cells, so it is rejected if any is missing.
    truncated_line = 0 if csv_bytes.endswith(b"\n") else csv_bytes.count(b"\n") + 1
    collector = _RowCollector(path)
    table_row_count = 0
    is_synthetic = False
    for line_number, cells in chain(first_lines, lines):
        table_row_count += len(groups) if len(groups) > 1 else 0
        if table_row_count > MAX_TABLE_ROWS:
            raise ParseError(path, f"line {line_number}", f"more than {MAX_TABLE_ROWS} rows of tickers; split the file")
        if cells == header[-1]:
            continue  # Files that were joined have the header again.
        try:
            if line_number == truncated_line and len(cells) < len(header[-1]):
                raise ValueError("the file ends in the middle of this line")
            for group in groups:
                moment = _parse_moment(cells, group, path, line_number)
                row = _parse_row(cells, group, moment)
                if row is not None:
                    collector.add(row, moment)
            if groups[0].get_cell(cells, "source").lower() == "synthetic":
                is_synthetic = True
        except (DayOrderError, DecimalCommaError) as error:
            raise ParseError(path, f"line {line_number}", str(error)) from None
        except ParseError:
            raise
        except ValueError as error:
            collector.reject(line_number, error)
    collector.check_daily()
    if not collector.rows:
        raise ParseError(path, "", "; ".join(["contains no prices", *collector.rejected_lines[:3]]))
    has_tickers = "ticker" in groups[0].indexes or all(group.ticker for group in groups)
    return PriceFile(
        rows=[row for rows_by_day in collector.rows.values() for row in rows_by_day.values()],
        rejected_lines=collector.rejected_lines,
        rejected_count=collector.rejected_count,
        is_synthetic=is_synthetic,
        ticker_candidates=() if has_tickers else _list_ticker_candidates(file_name),
        has_action_columns=any(group.has_actions() for group in groups)
        or any(row.dividend or row.split for rows in collector.rows.values() for row in rows.values()),
    )


def _has_american_day(csv_bytes: bytes, path: str, group: ColumnGroup) -> bool:
    """Return True if the file has a date such as 01/31/24, which shows that the month comes first."""
    lines = csv_rows.iter_rows(csv_bytes, path)
    return any(price_cells.is_american_day(group.get_cell(cells, "date")) for _, cells in lines)


def _find_unclear_number(csv_bytes: bytes, path: str, groups: Sequence[ColumnGroup]) -> str | None:
    """Return a number such as 12,345 of a file whose other numbers do not show what its comma separates, or None."""
    indexes = {index for group in groups for name, index in group.indexes.items() if name in _NUMBER_COLUMNS}
    unclear_number = None
    for _, cells in csv_rows.iter_rows(csv_bytes, path):
        for index in indexes:
            text = cells[index].strip() if index < len(cells) else ""
            if price_cells.has_clear_comma(text):
                return None
            if unclear_number is None and price_cells.has_unclear_comma(text):
                unclear_number = text
    return unclear_number


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


def _parse_moment(cells: Sequence[str], group: ColumnGroup, path: str, line_number: int) -> Moment:
    """Return the day of a row, and its time from the same column or from one of its own. Raise ValueError if invalid.

    Raise ParseError for a row that is not of a day, such as those of Stooq's files of five minutes.
    """
    period = group.get_cell(cells, "period")
    if period.lower() not in _DAILY_PERIODS:
        reason = f"a row of the period {period[:_MAX_QUOTED_CHARS]!r}: only days (D) are read"
        raise ParseError(path, f"line {line_number}", reason)
    moment = price_cells.parse_moment(group.get_cell(cells, "date"))
    return moment if moment.time else moment._replace(time=group.get_cell(cells, "time"))


def _parse_row(cells: Sequence[str], group: ColumnGroup, moment: Moment) -> PriceRow | None:
    """Return the prices of a row, or None if all are missing. Raise ValueError with the reason if it cannot be read."""

    def parse_price(column: str) -> str | None:
        return price_cells.parse_price(group.get_cell(cells, column), column)

    def parse_positive_price(column: str) -> str | None:
        price = parse_price(column)
        return None if price == "0" else price  # Vendors write a zero for a price that they do not have.

    ticker = group.ticker
    if "ticker" in group.indexes:
        ticker = price_columns.normalise_ticker(group.get_cell(cells, "ticker"))
    action_row = _parse_action_row(cells, group, ticker, moment)
    if action_row is not None:
        return action_row
    row = PriceRow(
        ticker=ticker,
        date=moment.day,
        open=parse_positive_price("open"),
        high=parse_positive_price("high"),
        low=parse_positive_price("low"),
        close=parse_price("close"),
        volume=price_cells.parse_volume(group.get_cell(cells, "volume")),
        adj_close=parse_positive_price("adj_close"),
        dividend=_add_prices(parse_positive_price("dividend"), parse_positive_price("capital_gain")),
        split=price_cells.parse_split(group.get_cell(cells, "split")),
    )
    if row.close == "0" and row.dividend is None and row.split is None:
        raise ValueError("close is zero")
    if row.close == "0":
        row = row._replace(close=None)
    if row.close is not None or row.dividend is not None or row.split is not None:
        return row
    if "close" not in group.indexes:
        return None
    has_close_cell = group.indexes["close"] < len(cells)
    if has_close_cell and row.open is None and row.high is None and row.low is None and row.volume in (None, "0"):
        return None  # A day of another ticker of the table, or a holiday.
    raise ValueError("no close")


def _parse_action_row(cells: Sequence[str], group: ColumnGroup, ticker: str, moment: Moment) -> PriceRow | None:
    """Return the dividend or split of a row that has it as a text in place of the open, or None for any other row."""
    match = _ACTION_ROW.fullmatch(group.get_cell(cells, "open"))
    if match is None:
        return None
    is_split = match[2].lower().startswith("stock")
    amount = None if is_split else price_cells.parse_price(match[1], "dividend")
    ratio = price_cells.parse_split(match[1]) if is_split else None
    return PriceRow(ticker, moment.day, None, None, None, None, None, None, dividend=amount, split=ratio)


def _merge_rows(row: PriceRow, other: PriceRow) -> PriceRow:
    """Return two rows of a day as one. Raise ValueError if both have a figure and it is not the same."""
    merged = dict(other._asdict())
    for name, figure in row._asdict().items():
        if figure is not None and merged[name] is not None and figure != merged[name]:
            raise ValueError(f"{row.date} occurs twice with different figures")
        if figure is not None:
            merged[name] = figure
    return PriceRow(**merged)


def _add_prices(first: str | None, second: str | None) -> str | None:
    """Return the exact sum of two prices, either of which may be missing."""
    if first is None or second is None:
        return first or second
    return price_cells.format_decimal(price_cells.EXACT.add(Decimal(first), Decimal(second)))
