"""Which rows of an earlier form an amendment restates: a 4/A replaces what it repeats and adds the rest."""

from __future__ import annotations

from collections.abc import Sequence

from finapi.edgar.ownership_forms import OwnershipRow

# Of the seven things compared, how many must agree. A corrected row differs in one, or in two; where the
# amendment says less than the form it amends, two are too many to call it the same row.
_ENOUGH, _ENOUGH_OF_FEWER = 5, 6

# Earlier rows that an amendment is held against, the newest: an insider has a handful of one period.
_CONSIDERED = 1_000


def match_restated_rows(earlier: Sequence[OwnershipRow], later: Sequence[OwnershipRow]) -> dict[int, int]:
    """Place of a row in ``earlier`` to the place of the row in ``later`` that restates it.

    A row restates one at most, the most alike first, shares held after it among what is alike; a transaction never
    restates a holding, nor a derivative something else. Both are compared as whole lists: rows that agree in everything
    are paired before others.
    """
    enough = _ENOUGH if len(later) >= len(earlier) else _ENOUGH_OF_FEWER
    first = max(0, len(earlier) - _CONSIDERED)
    olds = [(place, _compared(row)) for place, row in enumerate(earlier[first:], first)]
    news = [(place, _compared(row)) for place, row in enumerate(later)]
    # Two sales of a day are told apart by what was held after each.
    pairs = sorted(
        (-alike - (same := earlier[old].following_shares == later[new].following_shares), not same, old, new)
        for old, one in olds
        for new, other in news
        if (alike := _alike(one, other)) >= enough
        or (alike >= _ENOUGH and earlier[old].following_shares == later[new].following_shares is not None)
    )
    taken: dict[int, int] = {}
    used: set[int] = set()
    for _, _, old, new in pairs:
        if old not in taken and new not in used:
            taken[old] = new
            used.add(new)
    return taken


_Compared = tuple[tuple[bool, bool], tuple[tuple[int, object], ...]]


def _compared(row: OwnershipRow) -> _Compared:
    """The table of a row, and what of it is compared with its weight; the weights add up to seven."""
    if row.is_transaction:
        things: tuple[object, ...] = (
            fold_title(row.title),
            row.date,
            row.code,
            row.acquired_disposed,
            row.shares,
            row.price,
            row.direct_or_indirect,
        )
        return row[:2], tuple((1, thing) for thing in things)
    # Holdings have fewer things: what is held counts less than what it is and in whose hands.
    return row[:2], (
        (3, fold_title(row.title)),
        (2, (row.direct_or_indirect, fold_title(row.nature))),
        (1, row.following_shares),
        (1, (row.exercise_price, row.expiration_date)),
    )


def _alike(one: _Compared, other: _Compared) -> int:
    """How many of seven things agree; 0 for rows of different tables."""
    if one[0] != other[0]:
        return 0
    return sum(mine[0] for mine, theirs in zip(one[1], other[1], strict=True) if mine == theirs)


def fold_title(text: str | None) -> str:
    """A title or nature without what is written differently each time: case, marks, the par value."""
    plain = (text or "").casefold()
    for cut in (", par", " par value", ", $", " $", ", no par"):
        plain = plain.partition(cut)[0]
    return " ".join("".join(mark if mark.isalnum() else " " for mark in plain).split())
