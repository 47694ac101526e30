"""A screen of funds by the figures of their latest N-PORT reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core.records import Date, build_record
from finapi.market.funds.fund_report_doubts import Doubt
from finapi.store.db import Transaction

# The figures that a screen may bound, in the order in which it documents them.
FIGURES = (
    "net_assets",
    "tot_assets",
    "tot_liabs",
    "flow_sales_1m",
    "flow_reinvestment_1m",
    "flow_redemption_1m",
    "return_1m",
    "holdings_count",
)
GRAIN: Literal["latest_report_per_fund"] = "latest_report_per_fund"


class FigureBounds(NamedTuple):
    """The bounds of a figure, both exclusive. A bound that is None does not apply."""

    above: Decimal | None
    below: Decimal | None


class ScreenedFund(TypedDict):
    """A fund that matches a screen, by its latest report. Flows and return are those of the month of the report."""

    accession_number: str
    series_id: str | None
    series_name: str | None
    reg_cik: str
    reg_name: str
    as_of: Date
    net_assets: Decimal | None
    tot_assets: Decimal | None
    tot_liabs: Decimal | None
    flow_sales_1m: Decimal | None
    flow_reinvestment_1m: Decimal | None
    flow_redemption_1m: Decimal | None
    return_1m: Annotated[Decimal | None, "Per cent, of the first share class of the report."]
    holdings_count: int
    doubts: list[Doubt]


class FundScope(NamedTuple):
    """The funds that a screen compares; None for all."""

    ciks: Sequence[int] | None
    series_ids: Sequence[str] | None


def list_matches(
    tx: Transaction, bounds: Mapping[str, FigureBounds], scope: FundScope, limit: int, offset: int
) -> tuple[list[ScreenedFund], int]:
    """Return a page of the funds that match, the largest first, and the number of all.

    A fund that does not report a bounded figure does not match.
    """
    parameters: dict[str, Any] = {
        "ciks": None if scope.ciks is None else json.dumps(list(scope.ciks)),
        "series": None if scope.series_ids is None else json.dumps(list(scope.series_ids)),
    }
    for figure in FIGURES:
        above, below = bounds.get(figure, FigureBounds(None, None))
        parameters[f"{figure}_gt"] = None if above is None else float(above)
        parameters[f"{figure}_lt"] = None if below is None else float(below)
    rows = tx.list_rows("screened_funds", parameters, limit=limit, offset=offset)
    funds = [
        build_record(ScreenedFund, row, reg_cik=f"{row['cik']:010}", doubts=json.loads(row["doubts"])) for row in rows
    ]
    return funds, int(tx.find_value("count_of_screened_funds", parameters))
