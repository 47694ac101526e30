"""A mapping of CUSIPs to tickers, companies and successors, as an operator loads it from a CSV file.

CUSIPs are licensed, so that no list of them comes with finapi: whoever has one loads it. Header names are
folded (case, spaces, underscores), columns stand in any order, and only ``cusip`` is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers, tickers
from finapi.edgar.cusip_lists import FailedSecurity, ListedSecurity
from finapi.market.reference import csv_rows, issuer_names, securities
from finapi.store.db import Transaction

MAX_ROWS = 500_000
MAX_CELL = 500  # characters

# The header names of each field, folded; of several columns for one field the first counts.
_NAMES = {
    "cusip": ("cusip", "cusip9"),
    "ticker": ("ticker", "symbol"),
    "cik": ("cik",),
    "issuer": ("name", "issuer", "issuername", "company"),
    "security_group": ("securitygroup", "group"),
    "figi": ("figi",),
    "successor": ("successor", "newcusip", "replacedby"),
    "effective_date": ("effectivedate",),
    "reason": ("reason",),
    "as_of": ("asof", "date"),
}


class CusipMapping(NamedTuple):
    """What the file says of one CUSIP; ``as_of`` is "" where it gives no day."""

    cusip: str
    ticker: str | None
    cik: int | None
    issuer: str | None
    security_group: str | None
    figi: str | None
    successor: str | None
    effective_date: str | None
    reason: str | None
    as_of: str


@dataclass(slots=True)
class SkippedRows:
    """The rows that cannot be read: how many, and of the first ten the line and the reason."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, line: int, error: ValueError) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < 10:
            self.first.append(f"line {line}: {error}")

    def __str__(self) -> str:
        return f"{self.count} rows are left out: " + "; ".join(self.first) if self.count else ""


def parse_mappings(data: bytes, file: str) -> tuple[list[CusipMapping], SkippedRows]:
    """The rows, and those that cannot be read; ParseError for no such file."""
    rows: list[CusipMapping] = []
    left_out = SkippedRows()
    lines = csv_rows.iter_rows(data, file, strict=True)
    columns = _columns(next(lines, (1, []))[1], file)
    for number, cells in lines:
        if len(rows) >= MAX_ROWS:
            raise ParseError(file, f"line {number}", f"more than {MAX_ROWS} rows")
        try:
            rows.append(_row({name: cells[at].strip() for name, at in columns.items() if at < len(cells)}))
        except ValueError as error:
            left_out.add(number, error)
    return rows, left_out


def upsert_mappings(tx: Transaction, rows: Iterable[CusipMapping]) -> int:
    """Store the rows that are newer than what is known, and update their securities; how many were."""
    changed: dict[str, tuple[str, str | None]] = {}
    successors = []
    for row in rows:
        if tx.run("put_cusip_mapping", row._asdict()):
            changed[row.cusip] = (row.issuer or "", row.security_group)
            if row.successor is not None:
                successors.append(row.successor)
    securities.update_mapped_names(tx, changed, successors)
    return len(changed)


def upsert_failed_securities(tx: Transaction, rows: Sequence[FailedSecurity]) -> int:
    """Store the symbols of securities that failed to be delivered, and find their companies; how many are new or later.

    The SEC writes symbols without marks: the one ticker that is BRKB without its hyphen is meant, if one is.
    """
    squeezed = {row["squeezed"]: row["ticker"] for row in tx.list_rows("tickers_squeezed")}
    changed: dict[str, tuple[str, str | None]] = {}
    symbols = set()
    for row in rows:
        ticker = squeezed.get(row.symbol, row.symbol)
        if tx.run("put_failed_security", cusip=row.cusip, ticker=ticker, name=row.name, as_of=row.as_of):
            changed[row.cusip] = (row.name, None)
            symbols.add(ticker)
    # Who bore a symbol before may have lost it.
    others = [row["cusip"] for row in tx.list_rows("same_symbol", tickers=json.dumps(sorted(symbols)))]
    securities.update_mapped_names(tx, changed, others)
    return len(changed)


def upsert_listed_securities(tx: Transaction, rows: Sequence[ListedSecurity]) -> int:
    """Store what the list of 13F securities says: names and classes where no report has others; how many are new."""
    changed = [row for row in rows if tx.run("put_listed_security", cusip=row.cusip, status=row.status)]
    securities.get_or_insert_ids(tx, {row.cusip: (row.issuer, row.title) for row in changed})
    securities.update_listed_names(tx, [(row.cusip, row.issuer, row.title) for row in changed])
    return len(changed)


def _columns(header: list[str], file: str) -> dict[str, int]:
    columns: dict[str, int] = {}
    for place, title in enumerate(header):
        folded = re.sub(r"[^a-z0-9]", "", title.lower())
        for name, titles in _NAMES.items():
            if folded in titles:
                columns.setdefault(name, place)
    if "cusip" not in columns:
        raise ParseError(file, "line 1", "has no column named cusip")
    return columns


def _row(cells: dict[str, str]) -> CusipMapping:
    if any(len(cell) > MAX_CELL or "\0" in cell for cell in cells.values()):
        raise ValueError(f"a cell of more than {MAX_CELL} characters, or with a NUL")
    group = cells.get("security_group") or None
    if group is not None and group not in issuer_names.GROUPS:
        raise ValueError(f"{group[:20]!r} is not one of {', '.join(issuer_names.GROUPS)}")
    return CusipMapping(
        cusip=cusip.validate(cells.get("cusip", "")),
        ticker=tickers.normalise(cells["ticker"]) if cells.get("ticker") else None,
        cik=int(identifiers.parse_cik(cells["cik"])) if cells.get("cik") else None,
        issuer=cells.get("issuer") or None,
        security_group=group,
        figi=cells.get("figi") or None,
        successor=cusip.validate(cells["successor"]) if cells.get("successor") else None,
        effective_date=_day(cells.get("effective_date")),
        reason=cells.get("reason") or None,
        as_of=_day(cells.get("as_of")) or "",
    )


def _day(text: str | None) -> str | None:
    return days.validate(text) if text else None
