"""One 13F filing as finapi keeps it: cover, rows, and how far the two agree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from finapi.core.errors import ParseError
from finapi.edgar import thirteenf
from finapi.market.holdings import quarters

# Kinds of a position. Options are positions of their own: a put on a share is no share.
SHARES, PRINCIPAL, CALLS, PUTS = 0, 1, 2, 3
_KINDS = {(None, "SH"): SHARES, (None, "PRN"): PRINCIPAL}
_OPTIONS = {"Call": CALLS, "Put": PUTS}


@dataclass(frozen=True, slots=True)
class HoldingsReport:
    """A 13F: ``sha256`` is over its documents, ``documents`` how many they were. Values are in the filing's unit."""

    cover: thirteenf.CoverPage
    rows: tuple[thirteenf.Holding, ...]
    sha256: bytes
    documents: int

    @property
    def cik(self) -> int:
        """The manager."""
        return int(self.cover.cik)

    @property
    def row_value(self) -> int:
        """The sum of the rows, in their own unit."""
        return sum(row.value for row in self.rows)

    @property
    def whole(self) -> bool:
        """Whether there are as many rows as the cover says."""
        return self.cover.entry_total is None or self.cover.entry_total == len(self.rows)


def build_report(
    cover: thirteenf.CoverPage, rows: list[thirteenf.Holding] | None, sha256: bytes, documents: int, file: str
) -> HoldingsReport:
    """The report that a cover and its table make; ParseError when they cannot be one report.

    A notice (13F-NT) has no table and a holdings report has one: a cover alone would be a fund that holds
    nothing, which nobody reported.
    """
    period = date.fromisoformat(cover.period)
    if not quarters.is_quarter_end(period):
        raise ParseError(file, "periodOfReport", f"{cover.period} is not the end of a calendar quarter")
    if rows and cover.is_notice:
        raise ParseError(file, "", f"a {cover.form} says that other managers report, but has a table of its own")
    if rows is None and not cover.is_notice and cover.entry_total != 0:
        entries = "" if cover.entry_total is None else f" of {cover.entry_total} entries"
        raise ParseError(file, "", f"is a {cover.form} cover without its table{entries}")
    return HoldingsReport(cover, tuple(rows or ()), sha256, documents)


def get_position_kind(row: thirteenf.Holding) -> int:
    """The kind of position that a row is."""
    return _OPTIONS[row.put_call] if row.put_call else _KINDS[None, row.amount_type]
