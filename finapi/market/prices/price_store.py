"""Storing the daily prices, splits and dividends of CSV files.

Several files may contain the same day. If two files differ on a day, the one with the later last day is used, because
it was downloaded later. If both end on the same day, the hash of the file decides, so that the stored rows do not
depend on the order in which files are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from finapi.core.errors import ParseError
from finapi.market.prices import price_doubts
from finapi.market.prices.price_csv import PriceFile, PriceRow
from finapi.market.prices.price_series import PriceSeries, find_series_of_ticker
from finapi.store.db import Transaction

_MAX_NAMED_TICKERS = 5  # Tickers that a message lists.


def choose_ticker(tx: Transaction, price_file: PriceFile, operator_ticker: str | None, path: str) -> str:
    """Return the ticker of prices whose file has no column of tickers.

    It is the ticker that the operator gave, or else the only part of the file's name that is a known ticker. Raise
    ParseError if the name contains no known ticker, or several.
    """
    if operator_ticker is not None:
        return operator_ticker
    candidates = [word for words in price_file.ticker_candidates for word in words]
    known_tickers = {row["ticker"] for row in tx.list_rows("known_tickers", words=json.dumps(candidates))}
    matches: set[str] = set()
    for words in price_file.ticker_candidates:
        if not words:
            continue
        complete_word, *parts = words
        # "BRK-B" is tried as one ticker first. "BRK" and "B" are tried only if it is not known.
        matches |= {complete_word} if complete_word in known_tickers else known_tickers.intersection(parts)
    if len(matches) == 1:
        return matches.pop()
    if matches:
        reason = f"names several: {', '.join(sorted(matches)[:_MAX_NAMED_TICKERS])}"
    else:
        reason = "has no part that is a known ticker"
    raise ParseError(path, "", f"has no column of tickers, and its name {reason}; use --ticker to name the ticker")


def upsert(
    tx: Transaction, price_file: PriceFile, csv_bytes: bytes, ticker: str = "", *, today: str | None = None
) -> tuple[int, str | None]:
    """Store the prices of a file.

    ``csv_bytes`` is the complete file, ``ticker`` the ticker of its rows that have none. Days after ``today`` are
    marked as doubtful. Return the number of days, splits and dividends that are new or changed, and a message with the
    number of doubtful days and the refused tickers, or None. Synthetic prices are refused for a ticker that has real
    ones; real prices replace synthetic ones. The data version is incremented if anything changed.
    """
    file_hash = hashlib.sha256(csv_bytes).hexdigest()[:16]
    rows_by_ticker: dict[str, list[PriceRow]] = {}
    for row in price_file.rows:
        rows_by_ticker.setdefault(row.ticker or ticker, []).append(row)
    total_changed = 0
    doubtful_count = 0
    refused_tickers = []
    for series_ticker, rows in sorted(rows_by_ticker.items()):
        series = _prepare_series(tx, series_ticker, price_file.is_synthetic)
        if series is None:
            refused_tickers.append(series_ticker)
            continue
        vintage = f"{max(row.date for row in rows)}:{file_hash}"
        newer_days = _upsert_days(tx, series.id, rows, vintage, keep_adj_close=not price_file.has_action_columns)
        newer_actions = _upsert_actions(tx, series.id, rows, vintage)
        doubtful_count += price_doubts.recompute(tx, series, newer_days.days | newer_actions.days, today)
        changed = newer_days.changed_count + newer_actions.changed_count
        if price_file.has_action_columns:
            changed += tx.run("mark_series_has_actions", id=series.id)
        if changed:
            tx.run("increment_change_count", id=series.id)
        total_changed += changed
    if total_changed:
        tx.run("bump_data_version")
    notes = []
    if doubtful_count:
        notes.append(f"doubtful days: {doubtful_count} (price_doubt)")
    if refused_tickers:
        names = ", ".join(refused_tickers[:_MAX_NAMED_TICKERS])
        notes.append(f"real prices of {names} are stored, so the made-up prices of this file were skipped")
    return total_changed, "; ".join(notes) or None


def _prepare_series(tx: Transaction, ticker: str, is_synthetic: bool) -> PriceSeries | None:
    """Return the series to write to, or None if synthetic prices would be mixed with real ones.

    Create the series if the ticker has none. Delete synthetic prices before real ones are stored.
    """
    series = find_series_of_ticker(tx, ticker)
    if series is not None and series.source == "csv":
        return None if is_synthetic else series
    if series is not None and is_synthetic:
        return series
    if series is not None:
        tx.run("delete_price_series", id=series.id)
    tx.run("insert_price_series", ticker=ticker, synthetic=int(is_synthetic))
    return find_series_of_ticker(tx, ticker)


Key = TypeVar("Key")
# The values of a day's prices, or of a split or dividend, without its key, in the order of the columns of its table.
RowValues = tuple[object, ...]


class _NewerRows(NamedTuple):
    """The rows that a file added or replaced: their days, and the number of rows whose figures changed."""

    days: set[str]
    changed_count: int


class _StoredRow(NamedTuple):
    """The values of a stored row, except its key."""

    row_values: RowValues
    vintage: str  # "last day:hash" of the file that the row is from. The greater vintage wins.


def _upsert_days(
    tx: Transaction, series_id: int, rows: Sequence[PriceRow], vintage: str, *, keep_adj_close: bool
) -> _NewerRows:
    """Store the days that have a close. Return the new or changed ones.

    A file's adjusted close is dropped if the file states the splits and dividends itself.
    """
    values_by_day: dict[str, RowValues] = {}
    for row in rows:
        if row.close is not None:
            adj_close = row.adj_close if keep_adj_close else None
            values_by_day[row.date] = (row.open, row.high, row.low, row.close, row.volume, adj_close)
    first = min(values_by_day, default="")
    last = max(values_by_day, default="")
    stored: dict[str, _StoredRow] = {}
    for stored_row in tx.list_rows("stored_prices", series_id=series_id, first=first, last=last):
        day, *row_values, stored_vintage = stored_row
        stored[day] = _StoredRow(tuple(row_values), stored_vintage)
    newer_values = _select_newer(values_by_day, stored, vintage)
    tx.insert_rows(
        "upsert_prices", [(series_id, day, *row_values, vintage) for day, row_values in newer_values.items()]
    )
    return _NewerRows(set(newer_values), _count_changed(newer_values, stored))


def _upsert_actions(tx: Transaction, series_id: int, rows: Sequence[PriceRow], vintage: str) -> _NewerRows:
    """Store the splits and dividends. Return the days of the new or changed ones."""
    values_by_key: dict[tuple[str, str], RowValues] = {}
    for row in rows:
        if row.split is not None:
            values_by_key[row.date, "split"] = (row.split,)
        if row.dividend is not None:
            values_by_key[row.date, "dividend"] = (row.dividend,)
    stored: dict[tuple[str, str], _StoredRow] = {}
    for stored_row in tx.list_rows("stored_actions", series_id=series_id):
        stored[stored_row["date"], stored_row["kind"]] = _StoredRow((stored_row["value"],), stored_row["vintage"])
    newer_values = _select_newer(values_by_key, stored, vintage)
    tx.insert_rows(
        "upsert_price_actions", [(series_id, *key, *row_values, vintage) for key, row_values in newer_values.items()]
    )
    return _NewerRows({day for day, _ in newer_values}, _count_changed(newer_values, stored))


def _select_newer(
    values_by_key: Mapping[Key, RowValues], stored: Mapping[Key, _StoredRow], vintage: str
) -> dict[Key, RowValues]:
    """Return the rows that are not stored yet, or stored from a file of an earlier vintage."""
    return {
        key: row_values
        for key, row_values in values_by_key.items()
        if key not in stored or stored[key].vintage < vintage
    }


def _count_changed(newer: Mapping[Key, RowValues], stored: Mapping[Key, _StoredRow]) -> int:
    return sum(key not in stored or stored[key].row_values != row_values for key, row_values in newer.items())
