"""Match the rows of an amendment (form 4/A) to the rows of earlier forms that they correct.

An amendment does not say which rows it corrects: it repeats some rows of the original, changed or not, and may add new
ones. So the rows are compared. Each pair of an earlier and a later row of the same table gets a score from 0 to 7: a
point for each attribute that is equal. A corrected row usually differs in one or two attributes, such as the price.

Example: the original reports sales of 100 shares at 10 dollars and of 50 at 11. The amendment reports one sale of 100
at 10.50. The first row agrees with it in six of seven attributes and is replaced. The second agrees in too few and
stays.

The pairs with the highest scores are matched first, and each row is matched at most once. Among rows that are equally
alike, the one with the same number of shares owned afterwards wins: it distinguishes two sales on one day.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from finapi.edgar.ownership_forms import OwnershipRow

# The score, out of 7, that a pair needs. An amendment with fewer rows than the forms that it amends leaves some rows
# out, so its rows must match more closely.
MIN_SCORE = 5
MIN_SCORE_OF_SHORTER_AMENDMENT = 6

# An amendment is compared with at most this many earlier rows, the newest ones. An insider reports a handful per
# period.
MAX_EARLIER_ROWS = 1_000


class _Attribute(NamedTuple):
    """An attribute of a row that is compared, and the points that it scores if it is equal."""

    points: int
    content: object


class _ComparedRow(NamedTuple):
    """The attributes by which a row is compared with others; their points add up to 7."""

    table: tuple[bool, bool]  # is_derivative, is_transaction: only rows of the same table are compared.
    attributes: tuple[_Attribute, ...]
    following_shares: str | None


def match_restated_rows(earlier: Sequence[OwnershipRow], later: Sequence[OwnershipRow]) -> dict[int, int]:
    """Return the index in ``later`` of the row that restates a row, by the index of the restated row in ``earlier``.

    Rows of ``earlier`` that no row restates are not in the dict. A transaction never restates a holding, and a
    derivative never restates anything but a derivative.
    """
    min_score = MIN_SCORE if len(later) >= len(earlier) else MIN_SCORE_OF_SHORTER_AMENDMENT
    start = max(0, len(earlier) - MAX_EARLIER_ROWS)
    earlier_rows = [_build_compared_row(row) for row in earlier[start:]]
    later_rows = [_build_compared_row(row) for row in later]
    pairs = []
    for earlier_index, earlier_row in enumerate(earlier_rows, start):
        for later_index, later_row in enumerate(later_rows):
            score = _compute_score(earlier_row, later_row)
            is_same_amount = earlier_row.following_shares == later_row.following_shares
            is_amount_reported = later_row.following_shares is not None
            if score >= min_score or (score >= MIN_SCORE and is_same_amount and is_amount_reported):
                # Sorted ascending: the highest score first, then the same shares owned afterwards, then document order.
                pairs.append((-(score + is_same_amount), not is_same_amount, earlier_index, later_index))
    pairs.sort()
    restated: dict[int, int] = {}
    used_later_indexes: set[int] = set()
    for _, _, earlier_index, later_index in pairs:
        if earlier_index not in restated and later_index not in used_later_indexes:
            restated[earlier_index] = later_index
            used_later_indexes.add(later_index)
    return restated


def _build_compared_row(row: OwnershipRow) -> _ComparedRow:
    if row.is_transaction:
        attributes: tuple[_Attribute, ...] = (
            _Attribute(1, fold_title(row.title)),
            _Attribute(1, row.date),
            _Attribute(1, row.code),
            _Attribute(1, row.acquired_disposed),
            _Attribute(1, row.shares),
            _Attribute(1, row.price),
            _Attribute(1, row.direct_or_indirect),
        )
    else:
        # A holding has fewer attributes, so those of the security and its owner score more points than the amount.
        attributes = (
            _Attribute(3, fold_title(row.title)),
            _Attribute(2, (row.direct_or_indirect, fold_title(row.nature))),
            _Attribute(1, row.following_shares),
            _Attribute(1, (row.exercise_price, row.expiration_date)),
        )
    return _ComparedRow((row.is_derivative, row.is_transaction), attributes, row.following_shares)


def _compute_score(earlier: _ComparedRow, later: _ComparedRow) -> int:
    """Return the similarity of two rows, from 0 to 7. Rows of different tables score 0."""
    if earlier.table != later.table:
        return 0
    pairs = zip(earlier.attributes, later.attributes, strict=True)
    return sum(old.points for old, new in pairs if old == new)


def fold_title(text: str | None) -> str:
    """Return a security's title without case, punctuation and par value, which filers spell differently each time.

    "Common Stock, par value $0.01" becomes "common stock". The nature of an indirect ownership is folded likewise.
    """
    folded = (text or "").casefold()
    for par_value in (", par", " par value", ", $", " $", ", no par"):
        folded = folded.partition(par_value)[0]
    letters_and_digits = "".join(character if character.isalnum() else " " for character in folded)
    return " ".join(letters_and_digits.split())
