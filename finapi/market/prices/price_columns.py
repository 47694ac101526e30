"""The columns of a price file, found by the headers that vendors and programs write.

Most files have one header line with a name for each column. Tables of several tickers that pandas writes have two or
three lines, of which one has the names of the columns and one the tickers::

    Price,Close,Close,Volume,Volume
    Ticker,AAPL,MSFT,AAPL,MSFT
    Date,,,,

A table of one line may combine the two, as in ``AAPL.Close`` or ``Close_AAPL``. The columns of each ticker form a
:class:`ColumnGroup`. A file whose rows name their tickers, or that is about one ticker, has one group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from finapi.core.errors import ParseError
from finapi.edgar import tickers
from finapi.market.prices import price_cells

# The headers of each column, in lower case and letters only. If a file has several headers of a column, the first in
# this list counts: Quandl's "close" and not its "last".
_HEADERS = {
    "date": (
        "date",
        "datetime",
        "tradedate",
        "tradingdate",
        "tradingday",
        "pricedate",
        "day",
        "timestamp",
        "dtyyyymmdd",
        "windowstart",
        "opentime",
        "unixtime",
        "data",
        "time",
        "t",
    ),
    "open": ("open", "openprice", "openingprice", "otwarcie", "o"),
    "high": ("high", "highprice", "najwyzszy", "h"),
    "low": ("low", "lowprice", "najnizszy", "l"),
    "close": (
        "close",
        "closelast",
        "closeprice",
        "closingprice",
        "closeclosepriceadjustedforsplits",
        "zamkniecie",
        "last",
        "lastprice",
        "price",
        "c",
    ),
    "volume": ("volume", "vol", "sharevolume", "totalvolume", "wolumen", "v"),
    "adj_close": (
        "adjclose",
        "adjustedclose",
        "closeadj",
        "adjcloseprice",
        "adjustedcloseprice",
        "adjcloseadjustedclosepriceadjustedforsplitsanddividendandorcapitalgaindistributions",
        "adjusted",
    ),
    "dividend": ("dividends", "dividend", "dividendamount", "divcash", "cashdividend", "exdividend"),
    "capital_gain": ("capitalgains", "capitalgain"),
    "split": ("stocksplits", "stocksplit", "splits", "split", "splitcoefficient", "splitfactor", "splitratio"),
    "ticker": ("ticker", "symbol", "code"),
    "source": ("source",),
    # The length of a row in Stooq's bulk files: D for a day, 5 or 60 for minutes.
    "period": ("per",),
    # The time of the day, where the day has a column of its own.
    "time": ("time",),
}
_HEADER_RANKS = {(header, column): rank for column, headers in _HEADERS.items() for rank, header in enumerate(headers)}
_COLUMNS_BY_HEADER: dict[str, list[str]] = {}
for _header, _column in _HEADER_RANKS:
    _COLUMNS_BY_HEADER.setdefault(_header, []).append(_column)

# Names of one letter that are also tickers (C, H, L, O, T, V). In capitals they are names only if all of these occur.
_BAR_LETTERS = frozenset("OHLC")

# The columns that a file has once, for all tickers together.
_SHARED_COLUMNS = ("date", "time", "period", "source", "ticker")
_FIGURE_COLUMNS = ("close", "dividend", "capital_gain", "split")  # A file needs one of them.
_ACTION_COLUMNS = ("dividend", "capital_gain", "split")

MAX_HEADER_LINES = 3
MAX_COLUMNS = 8_000
MAX_GROUPS = 1_000  # Tickers of one table.
MAX_LABEL_CHARACTERS = 100  # Of a header that combines a column with a ticker, which is split at each of its joints.
# The words that begin a header line of pandas.
_LEVEL_NAMES = {"", "price", "ticker", "tickers", "date", "datetime", "attributes", "symbols", "symbol", "field"}
_TICKER_LEVEL_NAMES = {"ticker", "tickers", "symbols", "symbol"}
# The words of an index column without a name. pandas writes nothing and reads it back as "Unnamed: 0".
_INDEX_NAMES = {"", "unnamed", "index"}
_INDEX_DAY_NAMES = {"date", "datetime"}
_PAIR = re.compile(r"\(\s*'([^']*)',\s*'([^']*)'\s*\)")  # ('Close', 'AAPL'), a tuple of Python.
_JOINTS = re.compile("[._ ]")


@dataclass(slots=True)
class ColumnGroup:
    """The columns of a ticker: their indexes by name. ``ticker`` is "" if the header does not name one.

    ``ranks`` are the ranks of their headers, ``repeated`` the columns that two headers of the best rank have.
    """

    ticker: str
    indexes: dict[str, int] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)
    repeated: tuple[str, ...] = ()

    def add(self, column: str, index: int, rank: int) -> None:
        """Add a column, unless it has a header of a better rank already."""
        known_rank = self.ranks.get(column)
        if known_rank is None or rank < known_rank:
            self.indexes[column] = index
            self.ranks[column] = rank
            self.repeated = tuple(name for name in self.repeated if name != column)
        elif rank == known_rank:
            self.repeated += (column,)

    def get_cell(self, cells: Sequence[str], column: str) -> str:
        """Return the text of a cell, or "" if the file or the row has no such column."""
        index = self.indexes.get(column)
        return cells[index].strip() if index is not None and index < len(cells) else ""

    def has_actions(self) -> bool:
        """Return True if the group has a column of dividends or of splits."""
        return any(column in self.indexes for column in _ACTION_COLUMNS)


def split_header(
    lines: Iterator[tuple[int, list[str]]],
) -> tuple[list[list[str]], list[tuple[int, list[str]]]]:
    """Return the header lines of a file, and the data lines that had to be read to find their end."""
    _, first_cells = next(lines, (1, []))
    header = [first_cells]
    for line_number, cells in lines:
        if len(header) == MAX_HEADER_LINES or not _is_header_line(cells):
            return header, [(line_number, cells)]
        header.append(cells)
    return header, []


def _is_header_line(cells: Sequence[str]) -> bool:
    """Return True for a further header line: it begins with a name of pandas and contains neither day nor number."""
    if _get_letters(cells[0]) not in _LEVEL_NAMES or any(character.isdigit() for character in cells[0]):
        return False
    return not any(_is_day(cell.strip()) or _is_number(cell.strip()) for cell in cells)


def _is_day(text: str) -> bool:
    try:
        price_cells.parse_moment(text)
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    try:
        return price_cells.parse_price(text, "") is not None
    except ValueError:
        return False


def find_groups(header: Sequence[Sequence[str]], path: str) -> list[ColumnGroup]:
    """Return the columns of each ticker. Raise ParseError if a column is missing or occurs twice."""
    if max(map(len, header)) > MAX_COLUMNS:
        raise ParseError(path, "line 1", f"more than {MAX_COLUMNS} columns")
    has_levels = len(header) > 1
    labels = _iter_level_labels(header) if has_levels else ((cell, "") for cell in header[0])
    groups = _group_columns(labels, header, path)
    if not _has_figures(groups) and not has_levels:
        # No header is the name of a price, so they may be combinations such as AAPL.Close.
        groups = _group_columns(map(_split_label, header[0]), header, path)
    groups = [group for group in groups if _has_figures([group])]
    if not groups or any("date" not in group.indexes for group in groups):
        raise ParseError(path, "line 1", "needs a column of dates and one of closes, dividends or splits")
    return groups


def _has_figures(groups: Sequence[ColumnGroup]) -> bool:
    return any(column in group.indexes for group in groups for column in _FIGURE_COLUMNS)


def _iter_level_labels(header: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the ticker of each column of a table whose header has a line for either.

    Tickers such as LOW and OPEN are known names too. So the line of the names is the one with the most known names, and
    not one that is called Ticker.
    """
    candidates = [line for line in header if _get_letters(line[0]) not in _TICKER_LEVEL_NAMES] or header
    name_line = max(candidates, key=lambda line: sum(bool(_list_columns(cell, line)) for cell in line))
    other_lines = [line for line in header if line is not name_line]
    for index, name in enumerate(name_line):
        yield name, _find_ticker([line[index] for line in other_lines if index < len(line)])


def _list_columns(name: str, line: Sequence[str]) -> Sequence[str]:
    """Return the columns that a header may be the name of. ``line`` is the header line that it is part of."""
    is_ticker = len(name) == 1 and name.isupper() and not _BAR_LETTERS.issubset(line)
    return () if is_ticker else _COLUMNS_BY_HEADER.get(_get_letters(name), ())


def _find_ticker(labels: Sequence[str]) -> str:
    """Return the first label that can be a ticker, or ""."""
    for label in labels:
        try:
            return normalise_ticker(label.strip())
        except ValueError:
            continue
    return ""


def _group_columns(labels: Iterable[tuple[str, str]], header: Sequence[Sequence[str]], path: str) -> list[ColumnGroup]:
    """Return the columns by ticker, in the order of the tickers in the header. ``labels`` are names and tickers."""
    shared = ColumnGroup("")
    groups: dict[str, ColumnGroup] = {}
    first_labels = {_get_letters(line[0]) for line in header if line}
    has_index = first_labels <= (_LEVEL_NAMES if len(header) > 1 else _INDEX_NAMES)
    if has_index and first_labels & _INDEX_DAY_NAMES:
        shared.add("date", 0, 0)
    for index, (name, ticker) in enumerate(labels):
        if index == 0 and has_index:
            continue
        for column in _list_columns(name.strip(), header[0]):
            group = shared
            if column not in _SHARED_COLUMNS:
                group = groups.setdefault(ticker, ColumnGroup(ticker))
            group.add(column, index, _HEADER_RANKS[_get_letters(name), column])
        if len(groups) > MAX_GROUPS:
            raise ParseError(path, "line 1", f"columns of more than {MAX_GROUPS} tickers")
    if has_index and "date" not in shared.indexes:
        shared.add("date", 0, 0)
    if shared.indexes.get("time") == shared.indexes.get("date"):
        shared.indexes.pop("time", None)  # A file whose only column of days is called "time".
    for group in (shared, *groups.values()):
        if group.repeated:
            raise ParseError(path, "line 1", f"two columns have the header of {min(group.repeated)}")
        group.indexes.update(shared.indexes)
    return list(groups.values())


def _split_label(label: str) -> tuple[str, str]:
    """Return the name and the ticker in a header such as AAPL.Close, Close_AAPL or ('Close', 'AAPL').

    The ticker must be in capitals, so that "open_time" or "Adj Open" are not taken for one. It is "" if there is none.
    """
    label = label.strip()
    if len(label) > MAX_LABEL_CHARACTERS:
        return label, ""
    pair = _PAIR.fullmatch(label)
    if pair is not None:
        names = [name for name in (pair[1], pair[2]) if _get_letters(name) in _COLUMNS_BY_HEADER]
        name = names[0] if names else ""
        return name, _find_ticker([part for part in (pair[1], pair[2]) if part != name])
    for joint in _JOINTS.finditer(label):
        parts = [label[: joint.start()], label[joint.end() :]]
        for name, ticker in (parts, parts[::-1]):
            if _get_letters(name) in _COLUMNS_BY_HEADER and ticker and ticker == ticker.upper():
                return name, _find_ticker([ticker])
    return label, ""


def normalise_ticker(text: str) -> str:
    """Return the ticker of a cell without the mark of an American exchange (AAPL.US, "AAPL US"). Raise ValueError."""
    ticker = tickers.normalise(text)
    return ticker.removesuffix("-US") or ticker


def _get_letters(text: str) -> str:
    return re.sub("[^a-z]", "", text.lower())
