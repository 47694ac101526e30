"""What the rows of an ownership form mean: kinds of transactions, plans, exercises, lateness, who is who.

Everything here is told from one form alone, so that it does not depend on what else is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from finapi.edgar.ownership import Form, Row
from finapi.market import business_days

STANDARD_TYPES = ("purchase", "sale", "grant", "exercise", "gift", "other")
_TYPE_OF = {
    "P": "purchase",
    "S": "sale",
    "A": "grant",
    "M": "exercise",
    "X": "exercise",
    "O": "exercise",
    "C": "exercise",
    "G": "gift",
}
EXERCISES = ("M", "X", "O")

# General Instruction 8 of Form 4, in our words.
DESCRIPTIONS = {
    "P": "Purchase in the market or privately",
    "S": "Sale in the market or privately",
    "V": "Reported earlier than required",
    "A": "Grant or award by the company",
    "D": "Sale or return to the company",
    "F": "Shares withheld or delivered for the exercise price or taxes",
    "I": "Discretionary transaction in a company plan",
    "M": "Exercise or conversion of a derivative, exempt under Rule 16b-3",
    "C": "Conversion of a derivative",
    "E": "Expiration of a short derivative position",
    "H": "Expiration or cancellation of a long derivative position",
    "O": "Exercise of an out-of-the-money derivative",
    "X": "Exercise of an in-the-money or at-the-money derivative",
    "G": "Gift",
    "L": "Small acquisition under Rule 16a-6",
    "W": "Acquisition or disposition by will or inheritance",
    "Z": "Deposit into or withdrawal from a voting trust",
    "J": "Other, as its footnote says",
    "K": "Equity swap or similar",
    "U": "Tender of shares in a change of control",
}

# Looked for sentence by sentence, each in one pass: footnotes are written by anybody.
_SENTENCE = re.compile(r"[.;]")
_PLAN = re.compile(r"10b5-?\s?1", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|neither|other than|outside)\b", re.IGNORECASE)
_TO_COVER = re.compile(r"sell[- ]to[- ]cover", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:satisfy|cover|pay|fund|obligations?)\b", re.IGNORECASE)
_TAXES = re.compile(r"\b(?:tax|taxes|withholding)\b", re.IGNORECASE)
_SOLD = re.compile(r"\b(?:sold|sales?|sell)\b", re.IGNORECASE)
_CASHLESS = re.compile(r"\bcashless\b", re.IGNORECASE)
_EXERCISE = re.compile(r"\bexercis", re.IGNORECASE)

# Dollars: more than any company is worth. What is beyond is a slip of the filer's, and many of them must still
# have a sum that SQLite's integers hold.
LARGEST_VALUE = 10_000_000_000_000

# A two-day duty since the Sarbanes-Oxley Act; before it the form was due on the 10th of the next month.
_TWO_DAYS_SINCE = date(2002, 8, 29)
# Gifts moved from Form 5 to Form 4 (Release 33-11138).
_GIFTS_SINCE = date(2023, 2, 27)
_FORM_5_CODES = ("L", "W", "Z")
FORM_4_DAYS = 2  # business days after the transaction (Rule 16a-3(g)(1))
FORM_3_DAYS = 10  # days after the event (Section 16(a)(2)(B))
FORM_5_DAYS = 45  # days after the end of the fiscal year (Rule 16a-3(f)(1))
_FIRST_DAY = date(1934, 6, 6)  # of Section 16: what is dated before it is a slip of the filer's


class Facts(NamedTuple):
    """What is concluded of one transaction. ``value`` is in whole dollars, None when it cannot be told;
    ``plan_source`` is checkbox, footnote, remarks or not_stated.
    """

    standard_type: str
    direction: int
    value: int | None
    rule_10b5_1: bool
    plan_source: str
    cashless: bool
    sell_to_cover: bool


class _Meaning(NamedTuple):
    """What the words of a footnote say of a row that refers to it."""

    plan: bool
    to_cover: bool
    cashless: bool


_NOTHING = _Meaning(False, False, False)


def standard_type(code: str | None) -> str:
    """One of :data:`STANDARD_TYPES` for a transaction code."""
    return _TYPE_OF.get(code or "", "other")


def facts(form: Form) -> list[Facts]:
    """The conclusions for each transaction of a form, in the order of its transactions."""
    # Each footnote is read once, however many rows refer to it.
    meanings = {one: _meaning(text) for one, text in form.footnotes}
    rows = [row for row in form.rows if row.transaction]
    said = [_together(meanings.get(one, _NOTHING) for one in row.notes_of()) for row in rows]
    plans = _plans(form, said)
    cashless = _cashless(rows, said)
    return [
        Facts(
            standard_type(row.code),
            _direction(row),
            value(row),
            plans[place][0],
            plans[place][1],
            cashless[place],
            row.code == "S" and said[place].to_cover,
        )
        for place, row in enumerate(rows)
    ]


def value(row: Row) -> int | None:
    """Shares times price (or the total that is given) in whole dollars, halves to even; None without them."""
    if row.shares is not None and row.price is not None:
        exact = Decimal(row.shares) * Decimal(row.price)
    elif row.total_value is not None:
        exact = Decimal(row.total_value)
    else:
        return None
    whole = int(exact.to_integral_value(ROUND_HALF_EVEN))
    return whole if abs(whole) <= LARGEST_VALUE else None


def usable_date(text: str | None) -> str | None:
    """A transaction date, or None for one before there was a Section 16 (year 15 for 2015)."""
    return text if text is not None and date.fromisoformat(text) >= _FIRST_DAY else None


def lateness(form: Form, filed_at: str | None) -> tuple[bool | None, int | None]:
    """Whether a form was filed too late, and business days from what it reports to its filing.

    (None, None) for amendments and where a date is missing: they are not judged.
    """
    if filed_at is None or form.form.endswith("/A") or usable_date(form.period) is None:
        return None, None
    filed, event = date.fromisoformat(filed_at), date.fromisoformat(form.period)
    base = form.form[0]
    if base == "4":
        event = _first_due(form, event)
    days = business_days.between(event, filed)
    if base == "3":
        return filed > business_days.on_or_after(event + timedelta(FORM_3_DAYS)), days
    if base == "5":
        return filed > business_days.on_or_after(event + timedelta(FORM_5_DAYS)), days
    if event < _TWO_DAYS_SINCE:
        return None, days
    return days > FORM_4_DAYS, days


def _first_due(form: Form, period: date) -> date:
    """The day of the earliest transaction that had to be reported within two days, else the period."""
    due = []
    for row in form.rows:
        told = usable_date(row.deemed_date or row.date)
        if not row.transaction or told is None or row.timeliness == "E":
            continue
        day = date.fromisoformat(told)
        if row.code not in _FORM_5_CODES and (row.code != "G" or day >= _GIFTS_SINCE):
            due.append(day)
    return min(due, default=period)


def _direction(row: Row) -> int:
    """1 for a purchase of shares, -1 for a sale, 0 for everything that is not a trade in the market."""
    if row.derivative:
        return 0
    return {("P", "A"): 1, ("S", "D"): -1}.get((row.code or "", row.acquired_disposed or ""), 0)


def _together(parts: Iterable[_Meaning]) -> _Meaning:
    held = list(parts)
    return _Meaning(
        any(one.plan for one in held), any(one.to_cover for one in held), any(one.cashless for one in held)
    )


def _meaning(text: str) -> _Meaning:
    sentences = _SENTENCE.split(text)
    return _Meaning(
        any(map(_tells_of_plan, sentences)),
        any(map(_tells_of_taxes, sentences)),
        any(bool(_CASHLESS.search(one) and _EXERCISE.search(one)) for one in sentences),
    )


def _tells_of_plan(sentence: str) -> bool:
    found = _PLAN.search(sentence)
    return found is not None and not _DENIED.search(sentence, 0, found.start())


def _tells_of_taxes(sentence: str) -> bool:
    if _TO_COVER.search(sentence):
        return True
    return bool(_PAYS.search(sentence) and _TAXES.search(sentence) and _SOLD.search(sentence))


def _plans(form: Form, said: Sequence[_Meaning]) -> list[tuple[bool, str]]:
    told_in_remarks = _meaning(form.remarks or "").plan
    told_of_rows = any(mine.plan for mine in said)
    found = []
    for mine in said:
        if mine.plan:
            # The box covers plans made under the rule as amended in 2023; older ones are told in words alone.
            found.append((True, "footnote"))
        elif form.rule_10b5_1 is not None:
            # A ticked box without a footnote that says which rows covers them all.
            found.append((form.rule_10b5_1 and not told_of_rows, "checkbox"))
        elif told_in_remarks and not told_of_rows:
            found.append((True, "remarks"))
        else:
            found.append((False, "not_stated"))
    return found


def _cashless(rows: Sequence[Row], said: Sequence[_Meaning]) -> list[bool]:
    """Exercises for a price, and same-day sales of no more than the shares that they brought."""
    exercised: dict[tuple[str | None, str], Decimal] = {}
    sold: dict[tuple[str | None, str], Decimal] = {}
    for row in rows:
        key = (row.date, (row.title or "").casefold())
        if row.derivative or row.shares is None:
            continue
        shares = Decimal(row.shares)
        if row.code in EXERCISES and row.acquired_disposed == "A" and Decimal(row.price or 0) > 0:
            exercised[key] = exercised.get(key, Decimal()) + shares
        elif row.code == "S" and row.acquired_disposed == "D":
            sold[key] = sold.get(key, Decimal()) + shares
    both = {key for key, shares in exercised.items() if 0 < sold.get(key, Decimal()) <= shares}
    return [
        mine.cashless
        or (
            not row.derivative
            and (row.date, (row.title or "").casefold()) in both
            and (row.code == "S" or (row.code in EXERCISES and Decimal(row.price or 0) > 0))
        )
        for row, mine in zip(rows, said, strict=True)
    ]
