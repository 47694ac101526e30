"""Ticker symbols, and the SEC's lists of them.

- ``company_tickers.json`` is an object of objects,
  ``{"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}, ...}``.
- ``company_tickers_exchange.json`` is a table,
  ``{"fields": ["cik", "name", "ticker", "exchange"], "data": [[320193, ...], ...]}``.
- ``company_tickers_mf.json`` is the same of funds, with ``["cik", "seriesId", "classId", "symbol"]``.
- ``ticker.txt`` has lines of a ticker in lower case, a tab and a CIK.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import identifiers

_TICKER = re.compile(r"(?=-*[A-Z0-9])[A-Z0-9-]{1,12}")
_FRAME = " ()[]\"'.,;*\t\r\n"  # Characters around a symbol that are not part of it.
_SEPARATORS = str.maketrans("./ ", "---")
_LINE = re.compile(rb"([a-zA-Z0-9./-]{1,12})\t([0-9]{1,10})\r?")

# Texts that filers write in place of a symbol if there is none, as normalised tickers.
_NO_SYMBOLS = frozenset(
    ("NONE", "N-A", "NA", "NULL", "NIL", "NOT-APPLICABLE", "UNKNOWN", "TBD", "PRIVATE", "NOT-LISTED", "NOT-TRADED")
)
_SYMBOL_SEPARATORS = re.compile(r"\s*[,;|]\s*|\s+(?:and|&|/)\s+", re.IGNORECASE)
# A symbol of a list, with a share class: BRK.A, BRK/A or BRK A.
_LISTED_SYMBOL = re.compile(r"[A-Z0-9]{1,6}(?:[./ -][A-Z]{1,2})?")
# Symbols that only spaces separate: GOOG GOOGL. A shorter second word is a share class.
_SPACED_SYMBOLS = re.compile(r"[A-Z]{2,5}(?: [A-Z]{3,5})+")
# The country or exchange after a symbol: BRKB US, BRKB UN Equity, AAPL.US, AAPL (NASDAQ).
_SYMBOL_SUFFIX = re.compile(
    r"(?i)(?:\.US| (?:US|UN|UW|UQ|UP|UR|UA)(?: EQUITY)?|\s*\((?:NYSE|NASDAQ|AMEX|OTC)[^()]{0,20}\)?)$"
)


class TickerRow(NamedTuple):
    """A row of a list. The CIK has ten digits. Several tickers may have the same CIK.

    ``ticker`` is normalised. ``name`` and ``exchange`` are None if the list does not have them. ``series_id`` and
    ``class_id`` are those of a fund.
    """

    cik: str
    ticker: str
    name: str | None
    exchange: str | None
    series_id: str | None = None
    class_id: str | None = None


def normalise(ticker: str) -> str:
    """Return a ticker in normal form: in upper case, with ``-`` for ``.``, ``/`` and space (``BRK-B``).

    Raise ValueError unless the result is 1 to 12 characters of A-Z, 0-9 and ``-``, and not only ``-``.
    """
    # Check isascii() first: upper() turns a long s and a dotless i into ASCII letters.
    normalised = ticker.upper().translate(_SEPARATORS) if ticker.isascii() else ""
    if not _TICKER.fullmatch(normalised):
        raise ValueError(f"{ticker[:40]!r} is not a ticker")
    return normalised


def normalise_prefix(text: str) -> str:
    """Return the beginning of a ticker, such as a search term, in normal form. Accept any text."""
    return text.strip().upper().translate(_SEPARATORS)


def parse_symbols(text: str) -> tuple[str, ...]:
    """Return the tickers in a filer's text, normalised, or () if it contains none or more than tickers.

    "NYSE: BRK/B" and "BRK-B US" give ("BRK-B",), "BRK.A, BRK.B" gives ("BRK-A", "BRK-B"), "0" and "N/A" give ().
    """
    text = text.strip(_FRAME)
    parts = text.split(" ") if _SPACED_SYMBOLS.fullmatch(text) else _SYMBOL_SEPARATORS.split(text)
    symbols = [_strip_exchange(part) for part in parts]
    symbols = [symbol for symbol in symbols if symbol]
    if len(symbols) > 1 and not all(map(_LISTED_SYMBOL.fullmatch, symbols)):
        return ()
    distinct_tickers: dict[str, None] = {}
    for symbol in symbols:
        try:
            ticker = normalise(symbol)
        except ValueError:
            return ()
        if ticker not in _NO_SYMBOLS and ticker.strip("0-"):
            distinct_tickers[ticker] = None
    return tuple(distinct_tickers)


def _strip_exchange(symbol: str) -> str:
    """Return a symbol without the exchange before or after it."""
    return _SYMBOL_SUFFIX.sub("", symbol.rpartition(":")[2].strip(_FRAME)).strip(_FRAME)


def is_ticker_line(line: bytes) -> bool:
    """Return True for a line of ticker.txt."""
    return _LINE.fullmatch(line) is not None


def parse_company_tickers(content: bytes, file: str) -> list[TickerRow]:
    """Return the rows of any of the lists in its order.

    Raise ParseError, with the place of the row, for another shape, a missing name, or an invalid CIK, ticker or id.
    """
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        return _parse_lines(content, file)
    document = identifiers.parse_json(content, file)
    if not isinstance(document, dict):
        raise ParseError(file, "$", "not an object")
    if "fields" in document:
        return _parse_table(document, file)
    return [_build_row(entry, "cik_str", "title", f"$[{key!r}]", file) for key, entry in document.items()]


def _parse_lines(content: bytes, file: str) -> list[TickerRow]:
    rows = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ParseError(file, f"line {number}", "is not a ticker, a tab and a CIK")
        record = {"cik": match[2].decode(), "ticker": match[1].decode()}
        rows.append(_build_row(record, "cik", None, f"line {number}", file))
    if not content.endswith(b"\n") and rows:
        # A CIK that is cut off is another company's.
        rows.pop()
    if not rows:
        raise ParseError(file, "", "contains no tickers")
    return rows


def _parse_table(document: dict[str, Any], file: str) -> list[TickerRow]:
    fields = document["fields"]
    records = document.get("data")
    if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
        raise ParseError(file, "$.fields", "not a list of names")
    if not isinstance(records, list):
        raise ParseError(file, "$.data", "not a list")
    rows = []
    for index, record in enumerate(records):
        place = f"$.data[{index}]"
        if not isinstance(record, list) or len(record) != len(fields):
            raise ParseError(file, place, f"not a list of {len(fields)} values")
        values = dict(zip(fields, record, strict=True))
        if "classId" not in values:
            rows.append(_build_row(values, "cik", "name", place, file))
        elif values.get("symbol"):  # A share class without a ticker may have an empty one.
            rows.append(_build_row({**values, "ticker": values["symbol"]}, "cik", None, place, file))
    return rows


def _build_row(record: Any, cik_key: str, name_key: str | None, place: str, file: str) -> TickerRow:
    if not isinstance(record, dict):
        raise ParseError(file, place, "not an object")
    cik = record.get(cik_key)
    ticker = record.get("ticker")
    name = None if name_key is None else record.get(name_key)
    exchange = record.get("exchange")
    if not isinstance(ticker, str) or (name_key is not None and not isinstance(name, str)):
        raise ParseError(file, place, f"ticker or {name_key or 'symbol'} is not a text")
    if not isinstance(exchange, str | None) or not isinstance(cik, str | int):
        raise ParseError(file, place, f"exchange or {cik_key} is of the wrong type")
    series_id = _get_id(record, "seriesId", identifiers.SERIES_ID, place, file)
    class_id = _get_id(record, "classId", identifiers.CLASS_ID, place, file)
    try:
        return TickerRow(
            cik=identifiers.parse_cik(cik),
            ticker=normalise(ticker),
            name=name,
            exchange=exchange or None,
            series_id=series_id,
            class_id=class_id,
        )
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None


def _get_id(record: dict[str, Any], key: str, pattern: re.Pattern[str], place: str, file: str) -> str | None:
    """Return the id of a series or a class, or None if the list has no such ids."""
    if key not in record:
        return None
    text = record[key]
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ParseError(file, place, f"{key} {str(text)[:40]!r} is not {pattern.pattern[0]} and nine digits")
    return text
