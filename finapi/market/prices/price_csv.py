"""Prices from CSV, as brokers and data vendors write it: header names folded, columns in any order.

A row that cannot be a day's prices is left out and told with its line; a file of which nothing is left is
refused. Values are exact decimal texts. What is empty, "null" or "nan" is absent.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import tickers
from finapi.market.reference import csv_rows

# What a column is called, its letters only, in the files of the usual sources.
_COLUMNS = {
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
_NAME_OF = {written: name for name, all_written in _COLUMNS.items() for written in all_written}

_ABSENT = {"", "null", "nan", "none", "n/a", "-"}
_NUMBER = re.compile(r"\$?([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(\.[0-9]{0,12})?")
_SPLIT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?::|/|-?for-?| for )\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)")
_ISO = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})(?:[T ][0-9:.]{4,16}(?:Z|[+-][0-9:]{4,6})?)?")
_AMERICAN = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})")
_TOLD = 20  # bad rows that a report lists; it counts the rest


class PriceRow(NamedTuple):
    """A day of a ticker; texts are exact decimals, None what is absent. ``split`` is new shares for one old."""

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
    """The rows of a file in its order, what is wrong with the others by line, and whether they are made up.

    ``parts`` are what the file's name may call their ticker, which is "" in every row, each with its own parts.
    ``acted`` says that the file would tell of a dividend or split.
    """

    rows: list[PriceRow]
    rejected_lines: list[str]
    rejected_count: int
    is_synthetic: bool
    ticker_candidates: tuple[tuple[str, ...], ...] = ()
    has_action_columns: bool = True


def parse(data: bytes, file: str, name: str) -> PriceFile:
    """Return the prices of a CSV (``name`` is its file name, which may tell the ticker).

    Raises ParseError for what is no CSV of prices: no date or no figure among the columns, a column twice, days that
    are written the other way round, or no row that is one.
    """
    lines = csv_rows.iter_rows(data, file)
    header = next(lines, (1, []))[1]
    columns = _header(header, file)
    # The line in which the file was cut off, if it was: any line but the last has its end.
    cut = 0 if data.endswith(b"\n") else data.count(b"\n") + 1
    rows: dict[str, dict[str, PriceRow]] = {}
    wrong: list[str] = []
    count = 0
    synthetic = False
    for number, cells in lines:
        try:
            if number == cut and len(cells) < len(header):
                raise ValueError("the file ends in the middle of this line")
            row = _row(cells, columns)
            if rows.setdefault(row.ticker, {}).setdefault(row.date, row) != row:
                raise ValueError(f"{row.date} occurs twice with different figures")
            synthetic |= _cell(cells, columns, "source").lower() == "synthetic"
        except _OtherOrder as error:
            raise ParseError(file, f"line {number}", str(error)) from None
        except ValueError as error:
            count += 1
            if len(wrong) < _TOLD:
                wrong.append(f"line {number}: {error}")
    if not rows:
        raise ParseError(file, "", "; ".join(["holds no prices", *wrong[:3]]))
    found = [row for days in rows.values() for row in days.values()]
    parts = () if "ticker" in columns else _parts(name)
    return PriceFile(found, wrong, count, synthetic, parts, not columns.keys().isdisjoint(("dividend", "split")))


class _OtherOrder(ValueError):
    """A day whose month is above 12: every other day of the file would be read wrong."""


def _header(cells: list[str], file: str) -> dict[str, int]:
    columns: dict[str, int] = {}
    for place, cell in enumerate(cells):
        name = _NAME_OF.get(re.sub("[^a-z]", "", cell.lower()))
        if name is None:
            continue
        if name in columns:
            raise ParseError(file, "line 1", f"two columns are the {name}")
        columns[name] = place
    if "date" not in columns or not columns.keys() & {"close", "dividend", "split"}:
        raise ParseError(file, "line 1", "needs a column of dates and one of closes, dividends or splits")
    return columns


def _parts(name: str) -> tuple[tuple[str, ...], ...]:
    """The parts of a file's name that a ticker may be, folded, each before its own parts: BRK-B before BRK and B."""
    words = re.split(r"[^A-Za-z0-9.-]+", re.sub(r"(?i)\.(csv|tsv|txt)$", "", name))
    spelled = (dict.fromkeys([word, *re.split("[.-]", word)]) for word in words)
    return tuple(tuple(filter(None, map(_folded, one))) for one in spelled)


def _folded(part: str) -> str:
    try:
        return "" if part.isdigit() else tickers.normalise(part)
    except ValueError:
        return ""


def _cell(cells: list[str], columns: dict[str, int], name: str) -> str:
    place = columns.get(name, -1)
    return cells[place].strip() if 0 <= place < len(cells) else ""


def _row(cells: list[str], columns: dict[str, int]) -> PriceRow:
    def number(name: str, *, zero: bool = False) -> str | None:
        return _number(_cell(cells, columns, name), name, zero=zero)

    symbol = _cell(cells, columns, "ticker")
    row = PriceRow(
        ticker=tickers.normalise(symbol) if "ticker" in columns else "",
        date=_date(_cell(cells, columns, "date")),
        open=number("open"),
        high=number("high"),
        low=number("low"),
        close=number("close"),
        volume=_volume(_cell(cells, columns, "volume")),
        adj_close=number("adj_close"),
        dividend=number("dividend", zero=True),
        split=_split(_cell(cells, columns, "split")),
    )
    if row.close is None and row.dividend is None and row.split is None:
        raise ValueError("no close" if "close" in columns else "neither a dividend nor a split")
    if row.high is not None and row.low is not None and Decimal(row.high) < Decimal(row.low):
        raise ValueError(f"the high {row.high} is below the low {row.low}")
    return row


def _number(text: str, name: str, *, zero: bool = False) -> str | None:
    """An exact decimal above zero; ``zero`` says that zero means none of it."""
    if text.lower() in _ABSENT:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{name} {text[:40]!r} is not a price")
    value = Decimal(found[1].replace(",", "") + (found[2] or ""))
    if value == 0:
        if zero:
            return None
        raise ValueError(f"{name} is zero")
    # Interned: the open of a quiet day is its high, low and close too.
    return sys.intern(format(value.normalize(), "f"))


def _volume(text: str) -> int | None:
    if text.lower() in _ABSENT:
        return None
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"volume {text[:40]!r} is not a number of shares")
    # What vendors adjust by splits, and fractions of shares that were traded, are rounded to whole shares.
    return round(Decimal(found[1].replace(",", "") + (found[2] or "")))


def _split(text: str) -> str | None:
    if text.lower() in _ABSENT:
        return None
    pair = _SPLIT.fullmatch(text.lower())
    try:
        ratio = Decimal(pair[1]) / Decimal(pair[2]) if pair else Decimal(_number(text, "split", zero=True) or 1)
    except ArithmeticError:
        raise ValueError(f"split {text[:40]!r} is not a ratio") from None
    if not 0 < ratio < 10**6:
        raise ValueError(f"split {text[:40]!r} is not a ratio")
    return None if ratio == 1 else format(ratio.normalize(), "f")


def _date(text: str) -> str:
    if iso := _ISO.fullmatch(text):
        parts = (int(iso[1]), int(iso[2]), int(iso[3]))
    elif american := _AMERICAN.fullmatch(text):
        if int(american[1]) > 12:
            raise _OtherOrder(f"the day {text[:40]!r} is not written month/day/year, nor can the others be trusted")
        parts = (int(american[3]), int(american[1]), int(american[2]))
    else:
        raise ValueError(f"{text[:40]!r} is not a day")
    try:
        return date(*parts).isoformat()
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a day") from None
