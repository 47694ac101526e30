"""Sources that connect CUSIPs with tickers and companies.

CUSIPs are licensed, so finapi contains no list of them. There are three sources:

- a CSV file that an operator loads. Header names are compared without case, spaces and underscores, columns may be in
  any order, and only ``cusip`` is required. The file may also name the CUSIP that replaced another (its successor);
- the SEC's fails-to-deliver data, which give CUSIP, symbol and name of securities that were not delivered on time;
- the SEC's list of 13F securities, which gives CUSIP, issuer and class.

Every function here stores such rows and then calls ``securities.py`` to recompute ticker and company of their CUSIPs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from finapi.core import days
from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers, tickers
from finapi.edgar.cusip_lists import ListedSecurity, UndeliveredSecurity
from finapi.market.reference import csv_rows, issuer_names, securities
from finapi.market.reference.securities import MappedName, SecurityName
from finapi.store.db import Transaction

MAX_ROWS = 500_000
MAX_CELL_CHARS = 500

MAX_LISTED_ERRORS = 10

# The accepted header names of each field, in lower case and without punctuation. If two columns have names of one
# field, the first column is used.
_HEADER_NAMES = {
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
    """A row of an operator's file; ``as_of`` is "" if the row has no date."""

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
    """The rows that could not be read: their number, and a message with line and reason for each of the first ten."""

    count: int = 0
    first_messages: list[str] = field(default_factory=list)

    def add(self, line_number: int, error: ValueError) -> None:
        """Count a row and record the reason if it is among the first ten."""
        self.count += 1
        if len(self.first_messages) < MAX_LISTED_ERRORS:
            self.first_messages.append(f"line {line_number}: {error}")

    def __str__(self) -> str:
        if not self.count:
            return ""
        return f"{format_count(self.count, 'row is left out', 'rows are left out')}: {'; '.join(self.first_messages)}"


def parse_mappings(data: bytes, file: str) -> tuple[list[CusipMapping], SkippedRows]:
    """Return the rows of a CSV file and the rows that were skipped. Raise ParseError if the file is not a mapping."""
    mappings: list[CusipMapping] = []
    skipped_rows = SkippedRows()
    lines = csv_rows.iter_rows(data, file, strict=True)
    _, header = next(lines, (1, []))
    columns = _find_columns(header, file)
    for line_number, cells in lines:
        if len(mappings) >= MAX_ROWS:
            raise ParseError(file, f"line {line_number}", f"more than {MAX_ROWS} rows")
        fields = {name: cells[index].strip() for name, index in columns.items() if index < len(cells)}
        try:
            mappings.append(_parse_mapping(fields))
        except ValueError as error:
            skipped_rows.add(line_number, error)
    return mappings, skipped_rows


def upsert_mappings(tx: Transaction, mappings: Iterable[CusipMapping]) -> int:
    """Store the mappings that are newer than the stored ones and update their securities. Return their number."""
    changed: dict[str, MappedName] = {}
    successors = []
    for mapping in mappings:
        if tx.run("upsert_cusip_mapping", mapping._asdict()):
            changed[mapping.cusip] = MappedName(mapping.issuer or "", mapping.security_group)
            if mapping.successor is not None:
                successors.append(mapping.successor)
    securities.update_mapped_names(tx, changed, successors)
    return len(changed)


def upsert_failed_securities(tx: Transaction, failed_securities: Sequence[UndeliveredSecurity]) -> int:
    """Store the symbols of securities with failed deliveries and find their companies.

    Return how many rows are new or later than the stored ones. The SEC writes the symbol BRK-B as BRKB: if exactly one
    known ticker is BRKB without its hyphen, that ticker is stored.
    """
    tickers_by_symbol = {row["squeezed"]: row["ticker"] for row in tx.list_rows("unique_hyphenated_tickers")}
    changed: dict[str, MappedName] = {}
    changed_tickers = set()
    for security in failed_securities:
        ticker = tickers_by_symbol.get(security.symbol, security.symbol)
        if tx.run(
            "upsert_failed_security", cusip=security.cusip, ticker=ticker, name=security.name, as_of=security.as_of
        ):
            changed[security.cusip] = MappedName(security.name, None)
            changed_tickers.add(ticker)
    # A security that had one of these tickers before may have lost it.
    rows = tx.list_rows("failed_securities_of_tickers", tickers=json.dumps(sorted(changed_tickers)))
    securities.update_mapped_names(tx, changed, [row["cusip"] for row in rows])
    return len(changed)


def upsert_listed_securities(tx: Transaction, listed_securities: Sequence[ListedSecurity]) -> int:
    """Store the list of 13F securities. Return how many rows are new or have another status.

    Issuer and class are taken from the list only if no 13F report names them.
    """
    changed = [
        security
        for security in listed_securities
        if tx.run("upsert_listed_security", cusip=security.cusip, status=security.status)
    ]
    names = {security.cusip: SecurityName(security.issuer, security.title) for security in changed}
    securities.get_or_insert_ids(tx, names)
    securities.update_listed_names(tx, names)
    return len(changed)


def _find_columns(header: list[str], file: str) -> dict[str, int]:
    """Return the index of each field's column. Raise ParseError if there is no column for the CUSIP."""
    columns: dict[str, int] = {}
    for index, title in enumerate(header):
        normalised_title = re.sub(r"[^a-z0-9]", "", title.lower())
        for field_name, titles in _HEADER_NAMES.items():
            if normalised_title in titles:
                columns.setdefault(field_name, index)
    if "cusip" not in columns:
        raise ParseError(file, "line 1", "has no column named cusip")
    return columns


def _parse_mapping(fields: dict[str, str]) -> CusipMapping:
    if any(len(text) > MAX_CELL_CHARS or "\0" in text for text in fields.values()):
        raise ValueError(f"a cell of more than {MAX_CELL_CHARS} characters, or with a NUL")
    group = fields.get("security_group") or None
    if group is not None and group not in issuer_names.GROUPS:
        raise ValueError(f"{group[:20]!r} is not one of {', '.join(issuer_names.GROUPS)}")
    return CusipMapping(
        cusip=cusip.validate(fields.get("cusip", "")),
        ticker=tickers.normalise(fields["ticker"]) if fields.get("ticker") else None,
        cik=int(identifiers.parse_cik(fields["cik"])) if fields.get("cik") else None,
        issuer=fields.get("issuer") or None,
        security_group=group,
        figi=fields.get("figi") or None,
        successor=cusip.validate(fields["successor"]) if fields.get("successor") else None,
        effective_date=_parse_day(fields.get("effective_date")),
        reason=fields.get("reason") or None,
        as_of=_parse_day(fields.get("as_of")) or "",
    )


def _parse_day(text: str | None) -> str | None:
    return days.validate(text) if text else None
