"""One fund: its quarters, what it held at the end of each, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from finapi.db import Row, Transaction
from finapi.edgar import cusip, identity, tickers
from finapi.errors import ApiError, invalid_param
from finapi.market import positions, quarters, securities
from finapi.market.holdings_report import CALLS, PRINCIPAL, PUTS

SORTS = ("value", "shares", "name", "ticker", "change", "flow")
STATUSES = ("all", *positions.STATUSES[1:])

# Which kinds of positions are asked for: shares and principal, options too, options only.
NO_OPTIONS, WITH_OPTIONS, OPTIONS_ONLY = "none", "all", "only"

# Of each kind of change, the ones that moved most.
MOST_CHANGES = 100

_PUT_CALL = {CALLS: "Call", PUTS: "Put"}


@dataclass(frozen=True, slots=True)
class Quarter:
    """A fund's quarter. Values in dollars; ``compared`` says that the changes since the quarter before are known.

    When they are not, ``reason`` says why; ``counts`` are positions by status then None.
    """

    cik: int
    name: str
    period: str
    value: int
    positions: int
    whole: bool
    compared: bool
    reason: str | None
    counts: dict[str, int | None]
    filing: dict[str, Any]
    signer: str | None
    latest_filed_at: str | None
    unit_rule: str

    @property
    def previous(self) -> str:
        """The end of the quarter before."""
        return quarters.before(self.period)


def cik_of(text: str, name: str = "cik") -> int:
    """A CIK as a number, from any spelling; INVALID_PARAM that names ``name`` for another text."""
    try:
        return int(identity.cik(text))
    except ValueError:
        raise invalid_param(name, "That is not a CIK.", expected="0001067983") from None


def cusip_of(text: str) -> str:
    """A CUSIP in capitals; INVALID_PARAM for what is none or has a wrong check digit."""
    try:
        folded = cusip.fold(text)
    except ValueError:
        folded = ""
    if not cusip.is_valid(folded):
        raise invalid_param(
            "cusip", "That is not a CUSIP: nine characters, the last a check digit.", expected="037833100"
        )
    return folded


def find_name(tx: Transaction, cik: int) -> str | None:
    """The name of a fund, or None when no 13F of it is held."""
    row = tx.one("fund", cik=cik)
    return None if row is None else row["name"]


def name_of(tx: Transaction, cik: int) -> str:
    """The name of a fund; NOT_FOUND when no 13F of it is held."""
    name = find_name(tx, cik)
    if name is None:
        raise ApiError("NOT_FOUND", "No 13F report of this manager is held.", details={"cik": f"{cik:010}"})
    return name


def periods(tx: Transaction, cik: int) -> list[str]:
    """The quarters of which holdings of a fund are held, the newest first."""
    return [row["period"] for row in tx.all("fund_periods", cik=cik)]


def quarter(tx: Transaction, cik: int, period: str | None) -> Quarter:
    """A fund's quarter, by default its latest; NOT_FOUND for an unknown fund, NOT_COVERED for a missing quarter."""
    name = name_of(tx, cik)
    row = tx.one("fund_quarter_shown", cik=cik, period=period)
    if row is None:
        details = {"cik": f"{cik:010}", "covered_periods": periods(tx, cik)}
        when = f" for the quarter that ended on {period}" if period else ""
        raise ApiError("NOT_COVERED", f"No holdings of {name}{when} are held.", details=details)
    return _quarter(row, name)


def find_quarter(tx: Transaction, cik: int, period: str | None) -> Quarter | None:
    """The same, or None."""
    row = tx.one("fund_quarter_shown", cik=cik, period=period)
    return None if row is None else _quarter(row, row["fund_name"])


def _quarter(row: Row, name: str) -> Quarter:
    counts = {status: row[status] for status in positions.STATUSES[1:]}
    reason = None
    if not row["compared"]:
        reason = "quarter_incomplete" if not row["complete"] else "previous_quarter_not_held"
        if row["complete"] and row["previous_complete"] == 0:
            reason = "previous_quarter_incomplete"
    total = None if row["value_total"] is None else row["value_total"] * row["total_unit"]
    rows_value = row["row_value"] * row["value_unit"]
    ties = row["entry_total"] == row["row_count"] and row["value_total"] is not None
    filing = {
        "accession_no": row["accession"],
        "form_type": row["form"],
        "is_amendment": row["form"].endswith("/A"),
        "amendment_type": row["amendment_type"],
        "filed_at": row["filed_at"] or None,
        "table_value_total": total,
        "table_entry_total": row["entry_total"],
        "table_rows": row["row_count"],
        "table_rows_value": rows_value,
        "table_ties": ties and _tie(row),
        "value_corrected": bool(row["corrected"]),
        "value_unit_rule": row["value_unit_rule"],
        "confidential_omitted": bool(row["confidential_omitted"]),
        "reports_united": row["reports"],
    }
    return Quarter(
        cik=row["cik"],
        name=name,
        period=row["period"],
        value=row["value"],
        positions=row["positions"],
        whole=bool(row["complete"]),
        compared=bool(row["compared"]),
        reason=reason,
        counts=counts,
        filing=filing,
        signer=row["signer"],
        latest_filed_at=row["latest_filed_at"] or None,
        unit_rule=row["value_unit_rule"],
    )


def _tie(row: Row) -> bool:
    """Whether rows and cover sum to the same, up to the rounding of the coarser of two units."""
    difference = abs(row["value_total"] * row["total_unit"] - row["row_value"] * row["value_unit"])
    slack = 0 if row["total_unit"] == row["value_unit"] else 500 * max(1, row["row_count"])
    return bool(difference <= slack)


def holdings(
    tx: Transaction,
    held: Quarter,
    *,
    options: str = NO_OPTIONS,
    status: str = "all",
    search: str | None = None,
    sort: str = "value",
    descending: bool = True,
    limit: int,
    offset: int = 0,
) -> tuple[list[dict[str, Any]], int]:
    """A page of a quarter's positions as the API shows them, and how many there are in all.

    ``status`` "all" is everything that is held; "closed" shows what is not any more.
    """
    rows = tx.all(
        "fund_positions",
        cik=held.cik,
        period=held.period,
        options=options,
        status=None if status == "all" else positions.STATUSES.index(status),
        search=search.upper() if search else None,
        ticker=tickers.spelled(search) if search else None,
        sort=sort,
        direction=-1 if descending else 1,
        limit=limit,
        offset=offset,
    )
    total = rows[0]["total"] if rows else 0
    if not rows and offset:
        _, total = holdings(
            tx, held, options=options, status=status, search=search, sort=sort, limit=1, descending=descending
        )
    return [shown(row, held.value) for row in rows], total


def shown(row: Row, whole: int) -> dict[str, Any]:
    """A position as the API shows it; ``whole`` is the value of all of them."""
    previous, shares = row["previous_shares"], row["shares"]
    change = None if previous is None else shares - previous
    return {
        "cusip": row["cusip"],
        "cusip_valid": cusip.is_valid(row["cusip"]),
        "ticker": row["ticker"],
        "ticker_evidence": row["evidence"] if row["ticker"] else None,
        "name_of_issuer": row["issuer"],
        "title_of_class": row["title"],
        "share_type": "PRN" if row["kind"] == PRINCIPAL else "SH",
        "is_option": row["kind"] in _PUT_CALL,
        "put_call": _PUT_CALL.get(row["kind"]),
        "shares": shares,
        "value_usd": row["value"],
        "pct_of_portfolio": percent(row["value"], whole),
        "investment_discretion": row["discretion"],
        "other_managers": row["managers"],
        "voting_authority": {"sole": row["sole"], "shared": row["shared"], "none": row["none"]},
        "figi": row["figi"],
        "status": None if row["status"] == positions.UNKNOWN else positions.STATUSES[row["status"]],
        "previous_shares": previous,
        "change_shares": change,
        "change_pct": percent(change, previous),
        "value_unit_rule": row["value_unit_rule"],
        "accession_no": row["accession"],
        "table_rows": row["row_count"],
    }


def percent(part: int | None, whole: int | None) -> Decimal | None:
    """``part`` in per cent of ``whole`` to four places; None when there is no part, or no whole to speak of."""
    if part is None or not whole:
        return None
    return (Decimal(100 * part) / Decimal(whole)).quantize(Decimal("0.0001"), ROUND_HALF_EVEN)


def price(value: int, shares: int) -> Decimal | None:
    """What a share was worth by a value in dollars, to four places; None for no shares."""
    return (Decimal(value) / Decimal(shares)).quantize(Decimal("0.0001"), ROUND_HALF_EVEN) if shares else None


def changes(tx: Transaction, held: Quarter, options: str) -> dict[str, Any] | None:
    """The changes of a quarter by kind, of each at most :data:`MOST_CHANGES`, the weightiest first.

    None when they are not known.
    """
    if not held.compared:
        return None
    names = {"new": "new_buys", "closed": "closed"}
    lists: dict[str, Any] = {}
    for status in positions.STATUSES[1:]:
        rows, _ = holdings(tx, held, options=options, status=status, sort="flow", limit=MOST_CHANGES)
        lists[names.get(status, status)] = [
            {key: row[key] for key in _CHANGE} | {"put_call": row["put_call"]} for row in rows
        ]
    return lists


_CHANGE = (
    "cusip",
    "ticker",
    "name_of_issuer",
    "shares",
    "previous_shares",
    "change_shares",
    "change_pct",
    "value_usd",
)


def sector_allocation(tx: Transaction, held: Quarter) -> list[dict[str, Any]]:
    """The value held by sector, the largest first; sector None is what no company is known for."""
    by_sector: dict[str | None, list[int]] = {}
    for row in tx.all("fund_value_by_group", cik=held.cik, period=held.period):
        sums = by_sector.setdefault(securities.industry(row["sic_group"])[0], [0, 0])
        sums[0] += row["value"]
        sums[1] += row["positions"]
    whole = sum(value for value, _ in by_sector.values())
    ordered = sorted(by_sector.items(), key=lambda one: (-one[1][0], one[0] or ""))
    return [
        {
            "sector": sector,
            "total_value_usd": value,
            "position_count": count,
            "pct_of_portfolio": percent(value, whole),
        }
        for sector, (value, count) in ordered
    ]


def history(tx: Transaction, cik: int, number: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A security's name, and quarter by quarter what a fund held of it, the newest first; NOT_FOUND for never.

    Quarters of the fund in which it stood are listed, and those right after in which it was gone.
    """
    security = tx.one("security", cusip=number)
    rows = [] if security is None else tx.all("position_history", cik=cik, security_id=security["id"])
    if security is None or not rows:
        raise ApiError("NOT_FOUND", "No 13F report of this manager that is held names this CUSIP.")
    listed = []
    for row in rows:
        previous = row["previous_shares"]
        listed.append(
            {
                "quarter_date": row["period"],
                "shares": row["shares"],
                "shares_raw": row["shares"],
                "value": row["value"],
                "implied_price": price(row["value"], row["shares"]),
                "shares_delta": None if previous is None else row["shares"] - previous,
                "transaction_type": None
                if row["status"] == positions.UNKNOWN
                else positions.STATUSES[row["status"]],
                "value_unit_rule": row["value_unit_rule"],
                "accession_no": row["accession"],
            }
        )
    return {"ticker": security["ticker"], "name": security["issuer"]}, listed
