"""The reason why a list has no rows, and the stored rows that other parameters would select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

from finapi.core.records import Date

MAX_AVAILABLE = 50  # Maximum number of values that an empty list names.


class AvailableRows(TypedDict):
    """The stored rows that one value of a parameter selects, with their first and last filing day."""

    param: Annotated[str, "The parameter that selects these rows, such as form_type."]
    value: str
    row_count: int
    first_day: Date | None
    last_day: Date | None


class EmptyList(TypedDict):
    """The reason why a list has no rows, and the stored rows of its subject that the call does not select."""

    reason: str
    available: list[AvailableRows]


def explain_empty_list(
    noun: str, subject: str | None, available: Sequence[AvailableRows] = (), *, is_later_page: bool = False
) -> EmptyList:
    """Return the reason why a list has no rows.

    ``noun`` is what the rows are, in the singular: "filing". ``subject`` is whose rows were requested: "Apple Inc.", or
    None if the call names nobody. ``available`` are all stored rows of the subject. ``is_later_page`` is True for a
    page that does not begin at the first row.
    """
    if is_later_page:
        return {"reason": f"The page begins after the last {noun}.", "available": []}
    if subject is None:
        return {"reason": f"No stored {noun} matches the query.", "available": []}
    if not available:
        return {"reason": f"No {noun} of {subject} is stored.", "available": []}
    row_count = sum(rows["row_count"] for rows in available)
    counted_rows = f"The stored {noun}" if row_count == 1 else f"None of the {row_count:,} stored {noun}s"
    verb = "does not match" if row_count == 1 else "matches"
    pronoun = "It was" if row_count == 1 else "They were"
    reason = f"{counted_rows} of {subject} {verb} the query.{_describe_days(available, pronoun)}"
    return {"reason": reason, "available": list(available[:MAX_AVAILABLE])}


def _describe_days(available: Sequence[AvailableRows], pronoun: str) -> str:
    """Return a sentence with the first and last filing day of rows, or "" if no day is known."""
    first_days = [rows["first_day"] for rows in available if rows["first_day"] is not None]
    last_days = [rows["last_day"] for rows in available if rows["last_day"] is not None]
    if not first_days or not last_days:
        return ""
    first_day, last_day = min(first_days), max(last_days)
    if first_day == last_day:
        return f" {pronoun} filed on {first_day}."
    return f" {pronoun} filed from {first_day} to {last_day}."
