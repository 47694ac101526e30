"""One 13F filing as finapi stores it: its cover page and the rows of its information table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from finapi.core.counts import format_count
from finapi.core.errors import ParseError
from finapi.edgar import thirteenf
from finapi.market.holdings import quarters

# The kinds of a position. Options are separate positions: a put on a share is not a share.
SHARES = 0
PRINCIPAL = 1
CALLS = 2
PUTS = 3
_KIND_BY_AMOUNT_TYPE = {"SH": SHARES, "PRN": PRINCIPAL}
_KIND_BY_OPTION_TYPE = {"Call": CALLS, "Put": PUTS}


@dataclass(frozen=True, slots=True)
class HoldingsReport:
    """A 13F report. Its values are in the unit of the filing: dollars or thousands of dollars."""

    cover: thirteenf.CoverPage
    rows: tuple[thirteenf.Holding, ...]
    sha256: bytes  # Hash of the documents' hashes, independent of their order.
    documents: int  # The number of documents that the report was parsed from.
    # The rows of the table that are left out because they have a placeholder for a CUSIP, and the sum of their values.
    rejected_count: int = 0
    rejected_value: int = 0

    @property
    def cik(self) -> int:
        """Return the CIK of the manager."""
        return int(self.cover.cik)

    @property
    def row_value(self) -> int:
        """Return the sum of the table's values, rejected rows included, in its unit (dollars or thousands)."""
        return sum(row.value for row in self.rows) + self.rejected_value

    @property
    def row_count(self) -> int:
        """Return the number of rows of the table, rejected rows included."""
        return len(self.rows) + self.rejected_count

    @property
    def is_complete(self) -> bool:
        """Return True if the table has as many rows as the cover states, or if the cover states no number."""
        return self.cover.entry_total is None or self.cover.entry_total == self.row_count


def build_report(
    cover: thirteenf.CoverPage, rows: list[thirteenf.Holding] | None, sha256: bytes, documents: int, file: str
) -> HoldingsReport:
    """Return the report of a cover page and its table. Raise ParseError if they cannot belong to one report.

    A notice (13F-NT) has no table, and a 13F-CTR may have none. Every other report has one: a cover alone would be a
    fund without holdings, which no manager reported. Rows with a placeholder for a CUSIP are rejected: the securities
    of many managers would be taken for one.
    """
    period = date.fromisoformat(cover.period)
    if not quarters.is_quarter_end(period):
        raise ParseError(file, "periodOfReport", f"{cover.period} is not the end of a calendar quarter")
    if rows and cover.is_notice:
        raise ParseError(file, "", f"a {cover.form} must not have a table, because other managers report")
    needs_table = not (cover.is_notice or cover.is_confidential_request or cover.entry_total == 0)
    if rows is None and needs_table:
        entries = "" if cover.entry_total is None else f" of {format_count(cover.entry_total, 'entry', 'entries')}"
        raise ParseError(file, "", f"{cover.form} cover whose table{entries} is missing")
    rejected_rows = [row for row in rows or () if not row.cusip]
    return HoldingsReport(
        cover=cover,
        rows=tuple(row for row in rows or () if row.cusip),
        sha256=sha256,
        documents=documents,
        rejected_count=len(rejected_rows),
        rejected_value=sum(row.value for row in rejected_rows),
    )


def get_position_kind(row: thirteenf.Holding) -> int:
    """Return the kind of position that a row of a table describes: SHARES, PRINCIPAL, CALLS or PUTS."""
    if row.put_call:
        return _KIND_BY_OPTION_TYPE[row.put_call]
    return _KIND_BY_AMOUNT_TYPE[row.amount_type]
