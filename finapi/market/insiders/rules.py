"""What the rows of an ownership form mean: kinds of transactions, plans, exercises, lateness.

Everything here follows from one form alone, so that it does not depend on what else is stored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, NamedTuple

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders import business_days

STANDARD_TYPES = ("purchase", "sale", "grant", "exercise", "gift", "other")
_TYPE_OF = {"P": "purchase", "S": "sale", "A": "grant", "G": "gift", **dict.fromkeys("MXOC", "exercise")}
EXERCISE_CODES = ("M", "X", "O")

# General Instruction 8 of Form 4, in our words.
CODE_DESCRIPTIONS = {
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
_HYPHEN = "[-\\s\u00ad\u2010-\u2015\u2212]"
_PLAN = re.compile(rf"10b{_HYPHEN}?5{_HYPHEN}{{0,3}}1(?!\d)", re.IGNORECASE)
# Before the plan: that there was none, or that it ended; after one that nothing was done under, that it did.
_DENIED = re.compile(
    r"\b(?:not|neither|other than|outside|without|terminat\w+|cancel\w*|revok\w+|no\s+(?:\S+\s+){0,2}$)", re.IGNORECASE
)
_UNDER = re.compile(r"\b(?:under|pursuant|accordance|by)\b", re.IGNORECASE)
_ENDED = re.compile(r"\b(?:terminated|cancell?ed|revoked|expired|not\s+in\s+effect|no\s+longer)\b", re.IGNORECASE)
_TO_COVER = re.compile(r"sell[- ]to[- ]cover", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:satisfy|cover|pay|fund|obligations?)\b", re.IGNORECASE)
_TAXES = re.compile(r"\b(?:tax|taxes|withholding)\b", re.IGNORECASE)
_SOLD = re.compile(r"\b(?:sold|sales?|sell)\b", re.IGNORECASE)
_CASHLESS = re.compile(r"\bcashless\b", re.IGNORECASE)
_EXERCISE = re.compile(r"\bexercis", re.IGNORECASE)

# Dollars: more than any company is worth. What is beyond is a slip of the filer's, and many of them must still
# have a sum that SQLite's integers hold.
MAX_VALUE = 10_000_000_000_000

# A two-day duty since the Sarbanes-Oxley Act; before it the form was due on the 10th of the next month.
_TWO_DAYS_SINCE = date(2002, 8, 29)
# Gifts moved from Form 5 to Form 4 (Release 33-11138).
_GIFTS_SINCE = date(2023, 2, 27)
_FORM_5_CODES = ("L", "W", "Z")
FORM_4_DAYS = 2  # business days after the transaction (Rule 16a-3(g)(1))
FORM_3_DAYS = 10  # days after the event (Section 16(a)(2)(B))
FORM_5_DAYS = 45  # days after the end of the fiscal year (Rule 16a-3(f)(1))
_NEVER = "2199-12-31"  # the last day of a form whose filing day is not known
_FIRST_DAY = date(1934, 6, 6)  # of Section 16: what is dated before it is a slip of the filer's


class TradeTraits(NamedTuple):
    """What is concluded of one transaction. ``value`` is in whole dollars, None when it cannot be computed;
    ``plan_source`` is checkbox, footnote, remarks or not_stated.
    """

    standard_type: str
    direction: int
    value: int | None
    rule_10b5_1: bool
    plan_source: str
    is_cashless: bool
    is_sell_to_cover: bool


def get_standard_type(code: str | None) -> str:
    """One of :data:`STANDARD_TYPES` for a transaction code."""
    return _TYPE_OF.get(code or "", "other")


def derive_traits(form: OwnershipForm) -> list[TradeTraits]:
    """The conclusions for each transaction of a form, in the order of its transactions."""
    # Each footnote is read once, however many rows refer to it.
    meanings = {one: _meaning(text) for one, text in form.footnotes}
    rows = [row for row in form.rows if row.is_transaction]
    said = [set().union(*(meanings.get(one, ()) for one in row.list_footnote_ids())) for row in rows]
    plans, cashless = _plans(form, said), _cashless(rows)
    return [
        TradeTraits(
            get_standard_type(row.code),
            # A derivative is no trade in the market, and neither is anything but a purchase or a sale.
            0
            if row.is_derivative
            else {("P", "A"): 1, ("S", "D"): -1}.get((row.code or "", row.acquired_disposed or ""), 0),
            compute_value(row),
            *plans[place],
            "cashless" in said[place] or cashless[place],
            row.code == "S" and "to cover" in said[place],
        )
        for place, row in enumerate(rows)
    ]


def compute_value(row: OwnershipRow) -> int | None:
    """Shares times price (or the total that is given) in whole dollars, halves to even; None without them."""
    if row.shares is not None and row.price is not None:
        exact = Decimal(row.shares) * Decimal(row.price)
    elif row.total_value is not None:
        exact = Decimal(row.total_value)
    else:
        return None
    whole = int(exact.to_integral_value(ROUND_HALF_EVEN))
    return whole if abs(whole) <= MAX_VALUE else None


def usable_date(text: str | None, last: str | None = None) -> str | None:
    """A transaction date, or None for one before there was a Section 16 (year 15 for 2015) or after ``last``."""
    return text if text is not None and date.fromisoformat(text) >= _FIRST_DAY and text <= (last or _NEVER) else None


def remove_impossible_values(row: OwnershipRow, last: str | None) -> tuple[OwnershipRow, dict[str, str]]:
    """A row without what cannot be, and why by its field: amounts below zero, a day after ``last`` (the filing's)."""
    wrong = {field: "negative" for field in ("shares", "price", "following_shares") if _below_zero(getattr(row, field))}
    if row.date is not None and usable_date(row.date, last) is None:
        wrong["date"] = "out_of_range"
    nothing: dict[str, Any] = dict.fromkeys(wrong)
    return row._replace(**nothing), wrong


def _below_zero(text: str | None) -> bool:
    return text is not None and text.startswith("-")


def compute_lateness(form: OwnershipForm, filed_at: str | None) -> tuple[bool | None, int | None]:
    """Whether a form was filed too late, and business days from what it reports to its filing.

    (None, None) for amendments and where a date is missing: they are not judged.
    """
    if filed_at is None or form.form.endswith("/A") or usable_date(form.period) is None:
        return None, None
    filed, event = date.fromisoformat(filed_at), date.fromisoformat(form.period)
    base = form.form[0]
    if base == "4":
        event = _first_due(form, event)
    days = business_days.count_between(event, filed)
    if base == "3":
        return filed > business_days.first_on_or_after(event + timedelta(FORM_3_DAYS)), days
    if base == "5":
        return filed > business_days.first_on_or_after(event + timedelta(FORM_5_DAYS)), days
    if event < _TWO_DAYS_SINCE:
        return None, days
    return days > FORM_4_DAYS, days


def _first_due(form: OwnershipForm, period: date) -> date:
    """The day of the earliest transaction that had to be reported within two days, else the period."""
    due = []
    for row in form.rows:
        told = usable_date(row.deemed_date or row.date)
        if not row.is_transaction or told is None or row.timeliness == "E":
            continue
        day = date.fromisoformat(told)
        if row.code not in _FORM_5_CODES and (row.code != "G" or day >= _GIFTS_SINCE):
            due.append(day)
    return min(due, default=period)


def _meaning(text: str) -> set[str]:
    """What the words of a footnote say of a row that refers to it: "plan", "to cover" (taxes), "cashless"."""
    found = set()
    for sentence in _SENTENCE.split(text):
        plan = _PLAN.search(sentence)
        if plan is not None:
            before, after = sentence[: plan.start()], sentence[plan.end() :]
            if not _DENIED.search(before) and (_UNDER.search(before) or not _ENDED.search(after)):
                found.add("plan")
        if _TO_COVER.search(sentence) or all(one.search(sentence) for one in (_PAYS, _TAXES, _SOLD)):
            found.add("to cover")
        if _CASHLESS.search(sentence) and _EXERCISE.search(sentence):
            found.add("cashless")
    return found


def _plans(form: OwnershipForm, said: Sequence[set[str]]) -> list[tuple[bool, str]]:
    """Of each transaction, whether it is under a plan, and what says so."""
    in_notes = any("plan" in mine for mine in said)
    if form.rule_10b5_1 is not None:
        # A ticked box without a footnote that says which rows covers them all.
        other = (form.rule_10b5_1 and not in_notes, "checkbox")
    elif not in_notes and "plan" in _meaning(form.remarks or ""):
        other = (True, "remarks")
    else:
        other = (False, "not_stated")
    # The box covers plans made under the rule as amended in 2023; of older ones only a footnote speaks.
    return [(True, "footnote") if "plan" in mine else other for mine in said]


def _cashless(rows: Sequence[OwnershipRow]) -> list[bool]:
    """Exercises for a price, and same-day sales of no more than the shares that they brought."""
    keys = [(row.date, (row.title or "").casefold()) for row in rows]
    paid = [row.code in EXERCISE_CODES and Decimal(row.price or 0) > 0 for row in rows]
    exercised: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    sold: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    for row, key, bought in zip(rows, keys, paid, strict=True):
        if row.is_derivative or row.shares is None:
            continue
        if bought and row.acquired_disposed == "A":
            exercised[key] += Decimal(row.shares)
        elif row.code == "S" and row.acquired_disposed == "D":
            sold[key] += Decimal(row.shares)
    return [
        not row.is_derivative and 0 < sold[key] <= exercised[key] and (row.code == "S" or bought)
        for row, key, bought in zip(rows, keys, paid, strict=True)
    ]
