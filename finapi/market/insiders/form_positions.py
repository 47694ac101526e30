"""The positions that an ownership form reports: the amounts owned after its last transaction.

A form reports amounts in two places. Each transaction states the amount owned afterwards, and a holding line states an
amount that no transaction changed. A position is the amount of one class of securities owned by one *vehicle*: the
insider directly, a trust, a spouse, a partnership.

Example: an insider sells common stock on Monday (900 shares remain) and on Tuesday (800 remain), and owns 70 more
through a trust. The form has two positions: 800 shares owned directly, from the later sale, and 70 owned by the trust.

Two holding lines with one title are two positions, such as two option grants.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.rules import find_usable_date


class Position(NamedTuple):
    """An amount of a class of securities that is owned directly or through a vehicle."""

    seq: int  # Number of the form's row that reports the amount, from 1.
    security_class: str  # The title as ``fold_title`` returns it: without case, punctuation and par value.
    title: str | None
    is_derivative: bool
    ownership: str | None  # D (direct) or I (indirect).
    nature: str | None  # The nature of an indirect ownership, such as "By trust".
    vehicle: str  # A key of the security and the vehicle, equal for rows about the same position.
    amount: str | None  # Decimal as text; None if the form states none.
    footnote_ids: tuple[str, ...]  # Footnotes of a missing amount.


def get_latest_reported_day(form: OwnershipForm, filed_at: str | None) -> str:
    """Return the date of a form's positions: its period or its last transaction, but not a date after its filing."""
    days = [form.period]
    for row in form.rows:
        day = find_usable_date(row.date) if row.is_transaction else None
        if day is not None:
            days.append(day)
    if filed_at is not None:
        days = [day for day in days if day <= filed_at]
    return max(days, default=form.period)


def list_positions(rows: Sequence[OwnershipRow]) -> list[Position]:
    """Return the positions after the last transaction, in the order of the rows that report them.

    ``rows`` lists transactions before holdings, the order in which forms are stored. A holding of shares that repeats
    the vehicle of a transaction is not returned.
    """
    last_transactions: dict[tuple[str, ...], tuple[str, int, OwnershipRow]] = {}
    holdings: list[tuple[int, OwnershipRow]] = []
    for seq, row in enumerate(rows, 1):
        if not row.is_transaction:
            holdings.append((seq, row))
            continue
        key = _build_vehicle_key(row)
        day = row.date or ""
        # Rows with the same date are in the order of the form, so the last row wins.
        if key not in last_transactions or day >= last_transactions[key][0]:
            last_transactions[key] = (day, seq, row)
    reporting_rows = [(seq, row) for _, seq, row in last_transactions.values()]
    for seq, row in holdings:
        if row.is_derivative or _build_vehicle_key(row) not in last_transactions:
            reporting_rows.append((seq, row))
    reporting_rows.sort()
    return [_build_position(seq, row) for seq, row in reporting_rows]


def _build_position(seq: int, row: OwnershipRow) -> Position:
    amount = row.following_shares
    if amount is None and row.is_derivative and not row.is_transaction:
        amount = row.underlying_shares
    footnote_ids: tuple[str, ...] = ()
    if amount is None:
        footnote_ids = row.list_footnote_ids("following_shares", "underlying_shares")
    return Position(
        seq=seq,
        security_class=fold_title(row.title),
        title=row.title,
        is_derivative=row.is_derivative,
        ownership=row.direct_or_indirect,
        nature=row.nature,
        vehicle="|".join(_build_vehicle_key(row)),
        amount=amount,
        footnote_ids=footnote_ids,
    )


def _build_vehicle_key(row: OwnershipRow) -> tuple[str, ...]:
    """Return the key of a row's security and vehicle.

    It includes footnotes, because two trusts often differ only in these.
    """
    terms: tuple[str | None, ...] = ()
    if row.is_derivative:
        terms = (
            row.exercise_price,
            row.exercise_date,
            row.expiration_date,
            fold_title(row.underlying_title),
            *row.list_footnote_ids("exercise_price", "exercise_date", "expiration_date"),
        )
    return (
        "d" if row.is_derivative else "n",
        fold_title(row.title),
        row.direct_or_indirect or "",
        fold_title(row.nature),
        *row.list_footnote_ids("nature", "direct_or_indirect"),
        *(term or "" for term in terms),
    )


def compute_filing_day_number(text: str | None) -> int:
    """Return the day number of a filing date: days since 1970-01-01; 0 if the date is unknown or earlier."""
    return 0 if text is None else max(0, (date.fromisoformat(text) - date(1970, 1, 1)).days)
