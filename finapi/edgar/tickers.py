"""Ticker symbols, and the SEC's lists of them: ``company_tickers.json`` and ``company_tickers_exchange.json``.

The first list is an object of objects, ``{"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}, ...}``.
The second is a table, ``{"fields": ["cik", "name", "ticker", "exchange"], "data": [[320193, ...], ...]}``.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import identifiers

_TICKER = re.compile(r"(?=-*[A-Z0-9])[A-Z0-9-]{1,12}")
_SEPARATORS = str.maketrans("./ ", "---")


class TickerRow(NamedTuple):
    """A row of a list. The CIK has ten digits. Several tickers may have the same CIK.

    ``ticker`` is normalised. ``exchange`` is None if the list does not name one.
    """

    cik: str
    ticker: str
    name: str
    exchange: str | None


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


def parse_company_tickers(content: bytes, file: str) -> list[TickerRow]:
    """Return the rows of either list in its order.

    Raise ParseError, with the place of the row, for JSON of another shape, a missing name, or an invalid CIK or ticker.
    """
    document = identifiers.parse_json(content, file)
    if not isinstance(document, dict):
        raise ParseError(file, "$", "not an object")
    if "fields" in document:
        return _parse_table(document, file)
    return [_build_row(entry, "cik_str", "title", f"$[{key!r}]", file) for key, entry in document.items()]


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
        rows.append(_build_row(dict(zip(fields, record, strict=True)), "cik", "name", place, file))
    return rows


def _build_row(record: Any, cik_key: str, name_key: str, place: str, file: str) -> TickerRow:
    if not isinstance(record, dict):
        raise ParseError(file, place, "not an object")
    cik = record.get(cik_key)
    ticker = record.get("ticker")
    name = record.get(name_key)
    exchange = record.get("exchange")
    if not isinstance(ticker, str) or not isinstance(name, str):
        raise ParseError(file, place, f"ticker or {name_key} is not a text")
    if not isinstance(exchange, str | None) or not isinstance(cik, str | int):
        raise ParseError(file, place, f"exchange or {cik_key} is of the wrong type")
    try:
        return TickerRow(cik=identifiers.parse_cik(cik), ticker=normalise(ticker), name=name, exchange=exchange or None)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None
