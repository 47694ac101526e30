"""The SEC's lists of tickers: ``company_tickers.json`` and ``company_tickers_exchange.json``."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import identifiers

_FOLDED = re.compile(r"(?=-*[A-Z0-9])[A-Z0-9-]{1,12}")
_TO_HYPHEN = str.maketrans("./ ", "---")


class TickerRow(NamedTuple):
    """One row: ``cik`` 10 digits, ``ticker`` folded, ``exchange`` None where the list gives none.

    Several tickers may share a CIK.
    """

    cik: str
    ticker: str
    name: str
    exchange: str | None


def normalise_prefix(text: str) -> str:
    """What a text is as the beginning of a ticker, as finapi writes them; nothing is refused."""
    return text.strip().upper().translate(_TO_HYPHEN)


def normalise(ticker: str) -> str:
    """Return a ticker as finapi writes it: upper case, ``.`` ``/`` and space as ``-`` (``BRK-B``).

    Raises ValueError for what is not 1 to 12 characters of A-Z, 0-9 and ``-`` then, or only ``-``.
    """
    # isascii first: upper() would make plain letters of a long s or a dotless i.
    folded = ticker.upper().translate(_TO_HYPHEN) if ticker.isascii() else ""
    if not _FOLDED.fullmatch(folded):
        raise ValueError(f"{ticker[:40]!r} is not a ticker")
    return folded


def parse_company_tickers(data: bytes, file: str) -> list[TickerRow]:
    """Return the rows of either list, in its order.

    Raises ParseError, naming the row, for JSON of another shape, a missing name, what is no CIK or no ticker.
    """
    document = identifiers.parse_json(data, file)
    if not isinstance(document, dict):
        raise ParseError(file, "$", "not an object")
    if "fields" in document:
        return _from_table(document, file)
    return [_row(entry, "cik_str", "title", f"$[{key!r}]", file) for key, entry in document.items()]


def _from_table(document: dict[str, Any], file: str) -> list[TickerRow]:
    fields, rows = document["fields"], document.get("data")
    if not isinstance(fields, list) or not all(isinstance(name, str) for name in fields):
        raise ParseError(file, "$.fields", "not a list of names")
    if not isinstance(rows, list):
        raise ParseError(file, "$.data", "not a list")
    tickers = []
    for number, values in enumerate(rows):
        place = f"$.data[{number}]"
        if not isinstance(values, list) or len(values) != len(fields):
            raise ParseError(file, place, f"not a list of {len(fields)} values")
        tickers.append(_row(dict(zip(fields, values, strict=True)), "cik", "name", place, file))
    return tickers


def _row(entry: Any, cik_key: str, name_key: str, place: str, file: str) -> TickerRow:
    if not isinstance(entry, dict):
        raise ParseError(file, place, "not an object")
    number, ticker, name = entry.get(cik_key), entry.get("ticker"), entry.get(name_key)
    exchange = entry.get("exchange")
    if not isinstance(ticker, str) or not isinstance(name, str):
        raise ParseError(file, place, f"ticker or {name_key} is not a text")
    if not isinstance(exchange, str | None) or not isinstance(number, str | int):
        raise ParseError(file, place, f"exchange or {cik_key} is of the wrong type")
    try:
        return TickerRow(identifiers.parse_cik(number), normalise(ticker), name, exchange or None)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None
