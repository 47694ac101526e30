"""What a form says is held after it: one position for each class of securities and vehicle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.rules import usable_date


class Position(NamedTuple):
    """An amount held (a decimal text; None when the form gives none) directly or by a vehicle.

    ``seq`` is the row that told of it, from 1; ``vehicle`` is the same for the same vehicle within one form.
    """

    seq: int
    security_class: str
    title: str | None
    is_derivative: bool
    ownership: str | None
    nature: str | None
    vehicle: str
    amount: str | None
    footnote_ids: tuple[str, ...]


def latest_reported_day(form: OwnershipForm, filed_at: str | None) -> str:
    """The latest day that a form tells of: its period or its last transaction, never after its filing."""
    days = [form.period, *(day for row in form.rows if row.is_transaction and (day := usable_date(row.date)))]
    known = [day for day in days if filed_at is None or day <= filed_at]
    return max(known, default=form.period)


def list_positions(rows: Sequence[OwnershipRow]) -> list[Position]:
    """The positions after the last row: of several transactions of one vehicle that of the last one stands.

    ``rows`` are transactions before holdings, as the tables are stored. A holding that repeats the vehicle of
    a transaction is not counted again; two holdings (two grants of one title) always are two.
    """
    last: dict[tuple[str, ...], tuple[str, int, OwnershipRow]] = {}
    holdings: list[tuple[int, OwnershipRow]] = []
    for seq, row in enumerate(rows, 1):
        if not row.is_transaction:
            holdings.append((seq, row))
            continue
        key = _vehicle(row)
        told = row.date or ""
        if key not in last or told >= last[key][0]:
            last[key] = (told, seq, row)
    held = [(seq, row) for _, seq, row in last.values()]
    held += [(seq, row) for seq, row in holdings if row.is_derivative or _vehicle(row) not in last]
    return [_position(seq, row) for seq, row in sorted(held)]


def _position(seq: int, row: OwnershipRow) -> Position:
    amount = row.following_shares
    if amount is None and row.is_derivative and not row.is_transaction:
        amount = row.underlying_shares
    return Position(
        seq,
        fold_title(row.title),
        row.title,
        row.is_derivative,
        row.direct_or_indirect,
        row.nature,
        "|".join(_vehicle(row)),
        amount,
        row.list_footnote_ids("following_shares", "underlying_shares") if amount is None else (),
    )


def _vehicle(row: OwnershipRow) -> tuple[str, ...]:
    """In whose hands: two trusts are often told apart by their footnotes only."""
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


def filing_day_number(text: str | None) -> int:
    """Days since 1970-01-01, 0 for no day (and for days before)."""
    return 0 if text is None else max(0, (date.fromisoformat(text) - date(1970, 1, 1)).days)
