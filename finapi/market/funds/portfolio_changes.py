"""The changes of a fund's positions between two of its reports.

Positions of two reports are matched by CUSIP. An ISIN of the United States or Canada contains one, because many filers
give only one of the two. Otherwise they are matched by ISIN, or by their issuer and title. A derivative is matched by
its terms, apart from the figures that change from day to day. Several positions in one security (lots, or securities on
loan) are added up before they are compared.

A split of a share between the two days multiplies the previous balance, if a price file or a filing reports it and the
prices of the two reports agree (``market/reference/share_splits.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import parse_decimal
from finapi.edgar.fund_reports import format_number
from finapi.market.funds import fund_report_lists, fund_report_rows
from finapi.market.funds.portfolio import CUSIP_COUNTRIES
from finapi.market.reference import share_splits
from finapi.market.reference.share_splits import HoldingValue
from finapi.store.db import Row, Transaction

STATUSES = ("new", "increased", "decreased", "unchanged", "closed")
ChangeStatus = Literal["new", "increased", "decreased", "unchanged", "closed"]

# No security has more splits in the days between two reports.
MAX_SPLITS = 10
_SHARES = "NS"
_ZERO = Decimal(0)


class PortfolioChange(TypedDict):
    """The change of a fund's position in a security between two reports."""

    status: ChangeStatus
    name: str | None
    title: str | None
    cusip: str | None
    isin: str | None
    asset_cat: str | None
    derivative_cat: str | None
    units: str | None
    balance: Decimal | None
    previous_balance: Annotated[Decimal | None, "Adjusted for a split between the two days."]
    change_balance: Annotated[Decimal | None, "Null if a balance is missing or in other units."]
    split_factor: Annotated[Decimal | None, "New shares for an old one."]
    val_usd: Decimal | None
    previous_val_usd: Decimal | None
    change_val_usd: Decimal | None
    pct_val: Decimal | None
    previous_pct_val: Decimal | None


class ChangeTotals(TypedDict):
    """The numbers of positions by the kind of their change."""

    new: int
    increased: int
    decreased: int
    unchanged: int
    closed: int


class ComparedReports(NamedTuple):
    """Two reports, as ``fund_report_lists.get_row`` returns them. The earlier one is None if there is none."""

    report: Row
    previous: Row | None


class ChangePage(NamedTuple):
    """A page of changes, the number of all that match, and the numbers by kind."""

    rows: list[PortfolioChange]
    total: int
    counts: ChangeTotals


@dataclass(slots=True)
class _Holding:
    """The positions of a report in one security, added up. A sum is None if a part of it is missing."""

    row: Row
    balance: Decimal | None
    value: Decimal | None
    percent: Decimal | None


def find_reports(tx: Transaction, accession: str, previous_accession: str | None) -> ComparedReports:
    """Return a report and the one to compare it with: a given one, or the fund's current report before it.

    Raise ApiError NOT_FOUND if a report is not stored.
    """
    report = fund_report_lists.get_row(tx, accession)
    if previous_accession is not None:
        return ComparedReports(report, fund_report_lists.get_row(tx, previous_accession))
    previous = tx.find_value("previous_report_of_fund", fund_id=report["fund_id"], period=report["as_of"])
    return ComparedReports(report, None if previous is None else fund_report_lists.get_row(tx, previous))


def list_changes(tx: Transaction, reports: ComparedReports, status: str | None, limit: int, offset: int) -> ChangePage:
    """Return a page of the changes, the largest change of value first."""
    if reports.previous is None:
        raise ApiError("NOT_FOUND", "finapi has no earlier report of this fund to compare this report with.")
    holdings = _load_holdings(tx, reports.report["id"])
    previous_holdings = _load_holdings(tx, reports.previous["id"])
    days = (reports.previous["as_of"], reports.report["as_of"])
    changes = [
        _build_change(tx, holdings.get(key), previous_holdings.get(key), days)
        for key in {**previous_holdings, **holdings}
    ]
    counts = _count_changes(changes)
    matches = [change for change in changes if status in (None, change["status"])]
    matches.sort(key=lambda change: (-abs(change["change_val_usd"] or _ZERO), change["title"] or "", change["status"]))
    return ChangePage(matches[offset : offset + limit], len(matches), counts)


def _load_holdings(tx: Transaction, report_id: int) -> dict[str, _Holding]:
    """Return the positions of a report by the key of their security."""
    holdings: dict[str, _Holding] = {}
    for row in tx.iter_rows("positions_to_compare", report_id=report_id):
        key = _build_key(row)
        numbers = [parse_decimal(row[name]) for name in ("balance", "value", "percent")]
        holding = holdings.get(key)
        if holding is None:
            holdings[key] = _Holding(row, *numbers)
        else:
            holding.balance, holding.value, holding.percent = (
                None if total is None or number is None else total + number
                for total, number in zip((holding.balance, holding.value, holding.percent), numbers, strict=True)
            )
    return holdings


def _build_key(row: Row) -> str:
    """Return the key by which positions of two reports are matched."""
    if row["derivative_category"] is not None:
        return _build_derivative_key(row)
    isin = row["isin"]
    number = row["cusip"]
    if number is None and isin is not None and isin[:2] in CUSIP_COUNTRIES:
        number = isin[2:11]
    texts: Iterable[str | None]
    if number is not None:
        texts = ("cusip", number)
    elif isin is not None:
        texts = ("isin", isin)
    else:
        texts = ("title", row["filed_cusip"], row["name"], row["title"])
    # A long and a short position, or shares and principal, are not added up.
    return json.dumps([*texts, row["units"], (row["payoff_profile"] or "").lower() == "short"])


def _build_derivative_key(row: Row) -> str:
    _, terms, _ = fund_report_rows.decode_terms(row["terms"])
    texts = [row["derivative_category"], row["name"], row["title"]]
    if terms is not None:
        texts += [
            terms.reference_name,
            terms.reference_title,
            terms.reference_cusip,
            terms.expiration_date,
            terms.put_or_call,
            terms.written_or_purchased,
            terms.exercise_price,
            terms.payoff_profile,
            terms.currency_sold,
            terms.currency_purchased,
            *(party.name for party in terms.counterparties),
        ]
    return json.dumps(["derivative", *texts])


def _build_change(
    tx: Transaction, holding: _Holding | None, previous: _Holding | None, days: tuple[str, str]
) -> PortfolioChange:
    described_holding = holding or previous
    assert described_holding is not None
    row = described_holding.row
    factor = _find_split_factor(tx, holding, previous, days)
    balance = holding.balance if holding else None
    previous_balance = previous.balance if previous else None
    if factor is not None and previous_balance is not None:
        previous_balance = Decimal(format_number(previous_balance * factor))
    value = holding.value if holding else None
    previous_value = previous.value if previous else None
    change_balance = _subtract(balance, previous_balance, holding, previous)
    change_value = _subtract(value, previous_value, holding, previous)
    return {
        "status": _find_status(holding, previous, change_balance, balance, change_value),
        "name": row["name"],
        "title": row["title"],
        "cusip": row["cusip"],
        "isin": row["isin"],
        "asset_cat": row["asset_category"],
        "derivative_cat": row["derivative_category"],
        "units": row["units"],
        "balance": balance,
        "previous_balance": previous_balance,
        "change_balance": change_balance,
        "split_factor": factor,
        "val_usd": value,
        "previous_val_usd": previous_value,
        "change_val_usd": change_value,
        "pct_val": holding.percent if holding else None,
        "previous_pct_val": previous.percent if previous else None,
    }


def _subtract(
    number: Decimal | None, previous_number: Decimal | None, holding: _Holding | None, previous: _Holding | None
) -> Decimal | None:
    """Return the change of a number. A position that a report lacks counts as zero, a missing number does not."""
    if holding is None:
        number = _ZERO
    if previous is None:
        previous_number = _ZERO
    return None if number is None or previous_number is None else number - previous_number


def _find_status(
    holding: _Holding | None,
    previous: _Holding | None,
    change_balance: Decimal | None,
    balance: Decimal | None,
    change_value: Decimal | None,
) -> ChangeStatus:
    """Return the kind of a change. Without balances, the values decide."""
    if previous is None:
        return "new"
    if holding is None:
        return "closed"
    change = change_value if change_balance is None else change_balance
    if not change:
        return "unchanged"
    # A short position with a negative balance grows when its balance falls.
    is_short = balance is not None and balance < 0
    return "increased" if (change > 0) != is_short else "decreased"


def _find_split_factor(
    tx: Transaction, holding: _Holding | None, previous: _Holding | None, days: tuple[str, str]
) -> Decimal | None:
    """Return the factor of a split of a share between the two days, or None."""
    if holding is None or previous is None or holding.row["units"] != _SHARES or holding.row["cusip"] is None:
        return None
    if not holding.balance or not previous.balance or holding.balance == previous.balance:
        return None
    previous_holding_value = HoldingValue(previous.value or _ZERO, int(previous.balance))
    holding_value = HoldingValue(holding.value or _ZERO, int(holding.balance))
    security_id = tx.find_value("split_security_of_cusip", cusip=holding.row["cusip"])
    if security_id is None:
        return None
    factor = Decimal(1)
    for split_row in share_splits.list_for_security(tx, security_id)[:MAX_SPLITS]:
        split = share_splits.build_likely_split(split_row, *days)
        may_be_between = split_row["until"] > days[0] and split_row["after"] < days[1]
        if may_be_between and split.is_between(previous_holding_value, holding_value):
            factor *= split.factor
    return None if factor == 1 else factor


def _count_changes(changes: Sequence[PortfolioChange]) -> ChangeTotals:
    counts: ChangeTotals = {"new": 0, "increased": 0, "decreased": 0, "unchanged": 0, "closed": 0}
    for change in changes:
        counts[change["status"]] += 1
    return counts
