"""Several funds taken together, over HTTP."""

from __future__ import annotations

from finapi.clock import iso
from finapi.errors import invalid_param
from finapi.market import baskets, funds, quarters
from finapi.web import holdings_shapes as shapes
from finapi.web.call import Call
from finapi.web.fund_lists import quarter_end
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, INTEGER, TEXT, TIME, array, beside, enum, nullable, obj

MAX_CIKS = 50

PARAMS = (
    Param("ciks", "words", required=True, help=f"Up to {MAX_CIKS} CIKs.", example="1067983,1061768"),
    Param("period", "date", required=True, help="End of a quarter.", example="2026-03-31"),
    Param(
        "compare_period", "date", help="End of another; by default the quarter before.", example="2025-06-30"
    ),
    Param("sort_by", default="value", allowed=baskets.SORTS, help="What to sort by.", example="funds"),
    Param("sort_order", default="desc", allowed=("asc", "desc"), help="Which way.", example="desc"),
    Param(
        "size",
        default="all",
        help=f"Positions at most, or all, up to {baskets.MAX_POSITIONS}.",
        example="100",
    ),
)
_FUND = obj(cik=TEXT, company_name=nullable(TEXT))
SHAPE = beside(
    period=DATE,
    compare_period=DATE,
    generated_at=TIME,
    basket=obj(
        total_funds=INTEGER,
        funds_filed=INTEGER,
        funds_pending=INTEGER,
        filed=array(_FUND),
        pending=array(_FUND),
    ),
    totals=obj(total_value_usd=INTEGER, total_positions=INTEGER),
    positions=array(
        obj(
            cusip=TEXT,
            ticker=shapes.MAYBE_TEXT,
            name_of_issuer=TEXT,
            class_title=TEXT,
            funds_holding=INTEGER,
            funds=array(_FUND),
            value_usd=INTEGER,
            shares=INTEGER,
            pct_of_basket=shapes.MAYBE_NUMBER,
            change_type=nullable(enum(*funds.STATUSES[1:])),
            prev_value_usd=shapes.MAYBE_INTEGER,
            value_change_pct=shapes.MAYBE_NUMBER,
            share_change=shapes.MAYBE_INTEGER,
        )
    ),
    meta=obj(has_more=BOOLEAN),
)


def holdings(call: Call) -> Response:
    """What several funds held together."""
    params = call.params
    ciks = list(dict.fromkeys(funds.cik_of(one, "ciks") for one in params["ciks"]))
    if len(ciks) > MAX_CIKS:
        raise invalid_param("ciks", f"ciks must be at most {MAX_CIKS} CIKs.", expected="list of CIKs")
    period = quarter_end(params["period"], "period")
    other = params["compare_period"]
    earlier = quarters.before(period) if other is None else quarter_end(other, "compare_period")
    size = _size(params["size"])
    with call.app.db.read() as tx:
        found = baskets.basket(tx, ciks, period, earlier)
    rows = baskets.ordered(found.positions, params["sort_by"], descending=params["sort_order"] == "desc")
    members = {
        "period": period,
        "compare_period": earlier,
        "generated_at": iso(call.now),
        "basket": {
            "total_funds": len(ciks),
            "funds_filed": len(found.filed),
            "funds_pending": len(found.pending),
            "filed": [{"cik": f"{cik:010}", "company_name": name} for cik, name in found.filed.items()],
            "pending": [{"cik": f"{cik:010}", "company_name": name} for cik, name in found.pending.items()],
        },
        "totals": {
            "total_value_usd": found.value,
            "total_positions": sum(row["funds_holding"] > 0 for row in rows),
        },
        "positions": rows[:size],
        "meta": {"has_more": len(rows) > size},
    }
    return call.listed(members, {"has_more": len(rows) > size, "total": len(rows)})


def _size(text: str) -> int:
    if text == "all":
        return baskets.MAX_POSITIONS
    if not (text.isascii() and text.isdigit() and 0 < len(text) <= 9 and int(text)):
        raise invalid_param("size", "size must be all or a whole number from 1.", expected="all")
    return min(int(text), baskets.MAX_POSITIONS)
