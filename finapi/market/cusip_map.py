"""A mapping of CUSIPs to tickers, companies and successors, as an operator loads it from a CSV file.

CUSIPs are licensed, so that no list of them comes with finapi: whoever has one loads it. Header names are
folded (case, spaces, underscores), columns stand in any order, and only ``cusip`` is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from finapi.db import Transaction
from finapi.edgar import cusip, identity, tickers
from finapi.errors import ParseError
from finapi.market import csv_rows, issuers, securities

MAX_ROWS = 500_000
MAX_CELL = 500  # characters

# Folded header name to field; of several names for one the first in the file counts.
_NAMES = {
    "cusip": "cusip",
    "cusip9": "cusip",
    "ticker": "ticker",
    "symbol": "ticker",
    "cik": "cik",
    "name": "issuer",
    "issuer": "issuer",
    "issuername": "issuer",
    "company": "issuer",
    "securitygroup": "security_group",
    "group": "security_group",
    "figi": "figi",
    "successor": "successor",
    "newcusip": "successor",
    "replacedby": "successor",
    "effectivedate": "effective_date",
    "reason": "reason",
    "asof": "as_of",
    "date": "as_of",
}


class Mapping(NamedTuple):
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
class LeftOut:
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


def parse(data: bytes, file: str) -> tuple[list[Mapping], LeftOut]:
    """The rows, and those that cannot be read; ParseError for no such file."""
    rows: list[Mapping] = []
    left_out = LeftOut()
    lines = csv_rows.records(data, file, strict=True)
    columns = _columns(next(lines, (1, []))[1], file)
    for number, cells in lines:
        if len(rows) >= MAX_ROWS:
            raise ParseError(file, f"line {number}", f"more than {MAX_ROWS} rows")
        try:
            rows.append(_row({name: cells[at].strip() for name, at in columns.items() if at < len(cells)}))
        except ValueError as error:
            left_out.add(number, error)
    return rows, left_out


def put(tx: Transaction, rows: Iterable[Mapping]) -> int:
    """Store the rows where they are newer than what is held, and conclude anew; how many were."""
    changed: dict[str, tuple[str, str | None]] = {}
    successors = []
    for row in rows:
        if _put(tx, row):
            changed[row.cusip] = (row.issuer or "", row.security_group)
            if row.successor is not None:
                successors.append(row.successor)
    securities.name(tx, changed, successors)
    return len(changed)


def _put(tx: Transaction, row: Mapping) -> int:
    return tx.run(
        "put_cusip_mapping",
        cusip=row.cusip,
        ticker=row.ticker,
        cik=row.cik,
        issuer=row.issuer,
        security_group=row.security_group,
        figi=row.figi,
        successor=row.successor,
        effective_date=row.effective_date,
        reason=row.reason,
        as_of=row.as_of,
    )


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _columns(header: list[str], file: str) -> dict[str, int]:
    columns: dict[str, int] = {}
    for place, name in enumerate(header):
        field = _NAMES.get(_folded(name))
        if field is not None:
            columns.setdefault(field, place)
    if "cusip" not in columns:
        raise ParseError(file, "line 1", "no column is called cusip")
    return columns


def _row(cells: dict[str, str]) -> Mapping:
    if any(len(cell) > MAX_CELL or "\0" in cell for cell in cells.values()):
        raise ValueError(f"a cell of more than {MAX_CELL} characters, or with a NUL")
    group = cells.get("security_group") or None
    if group is not None and group not in issuers.GROUPS:
        raise ValueError(f"{group[:20]!r} is not one of {', '.join(issuers.GROUPS)}")
    return Mapping(
        cusip=_valid(cells.get("cusip", "")),
        ticker=tickers.fold(cells["ticker"]) if cells.get("ticker") else None,
        cik=int(identity.cik(cells["cik"])) if cells.get("cik") else None,
        issuer=cells.get("issuer") or None,
        security_group=group,
        figi=cells.get("figi") or None,
        successor=_valid(cells["successor"]) if cells.get("successor") else None,
        effective_date=_day(cells.get("effective_date")),
        reason=cells.get("reason") or None,
        as_of=_day(cells.get("as_of")) or "",
    )


def _valid(text: str) -> str:
    number = cusip.fold(text)
    if not cusip.is_valid(number):
        raise ValueError(f"the check digit of {number!r} is wrong")
    return number


def _day(text: str | None) -> str | None:
    return identity.iso_date(text) if text else None
