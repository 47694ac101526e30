"""Conclusions from a single ownership form: kinds of transactions, 10b5-1 plans, exercises, tax sales and lateness.

Every function here reads one form and nothing else, so the conclusions do not depend on other stored filings.

- **Kind.** The transaction code decides: P is a purchase, S a sale, A a grant, M, X, O and C an exercise, G a gift.
  Only P and S of shares, not of derivatives, count as trades in the market; they have a direction of 1 or -1.
- **Plan.** A transaction is under a Rule 10b5-1 plan if a footnote that it refers to says so, if the form's checkbox is
  ticked (since 2023) and no footnote says which rows it is about, or if the remarks of a form without a checkbox say
  so. A footnote that no row refers to is about all rows, like the remarks. Footnotes are free text. They are read
  sentence by sentence, and "no plan" or "the plan was terminated" do not count.
- **Cashless exercise.** Options are exercised for a price, and at most the acquired shares are sold on the same day.
- **Doubtful values.** Negative amounts, dates before Section 16 or after the filing, and values of more than ten
  trillion dollars are errors of the filer. They are replaced by None, and the reason is stored with the row.
- **Lateness.** A form 4 is due within two business days, a form 3 within ten days, a form 5 within 45 days of the end
  of the fiscal year.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, Literal, NamedTuple

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders import business_days

STANDARD_TYPES = ("purchase", "sale", "grant", "exercise", "gift", "other")
_TYPE_BY_CODE = {
    "P": "purchase",
    "S": "sale",
    "A": "grant",
    "G": "gift",
    "M": "exercise",
    "X": "exercise",
    "O": "exercise",
    "C": "exercise",
}
EXERCISE_CODES = ("M", "X", "O")

# General Instruction 8 of Form 4, paraphrased.
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

# Footnotes are untrusted text, so each pattern is searched for once per sentence and cannot backtrack far.
_SENTENCE_END = re.compile(r"[.;]")
_HYPHEN = "[-\\s\u00ad\u2010-\u2015\u2212]"
_PLAN = re.compile(rf"10b{_HYPHEN}?5{_HYPHEN}{{0,3}}1(?!\d)", re.IGNORECASE)
# Words before "plan" that deny it or say that it ended.
_PLAN_DENIED = re.compile(
    r"\b(?:not|neither|other than|outside|without|terminat\w+|cancel\w*|revok\w+|no\s+(?:\S+\s+){0,2}$)", re.IGNORECASE
)
# Words before "plan" that say that the transaction was made under it.
_PLAN_APPLIES = re.compile(r"\b(?:under|pursuant|accordance|by)\b", re.IGNORECASE)
# Words for a trade that was made.
_MADE_TRADE = re.compile(
    r"\b(?:sold|sales?|bought|purchased?|purchases|disposed|dispositions?|effected|executed|transactions?|trades?)\b",
    re.IGNORECASE,
)
# Words after "plan" that say that it ended. They are ignored if the transaction was made under the plan.
_PLAN_ENDED = re.compile(r"\b(?:terminated|cancell?ed|revoked|expired|not\s+in\s+effect|no\s+longer)\b", re.IGNORECASE)
_SELL_TO_COVER = re.compile(r"sell[- ]to[- ]cover", re.IGNORECASE)
_PAYS = re.compile(r"\b(?:satisfy|cover|pay|fund|obligations?)\b", re.IGNORECASE)
_TAXES = re.compile(r"\b(?:tax|taxes|withholding)\b", re.IGNORECASE)
_SALE = re.compile(r"\b(?:sold|sales?|sell)\b", re.IGNORECASE)
_CASHLESS = re.compile(r"\bcashless\b", re.IGNORECASE)
_EXERCISE = re.compile(r"\bexercis", re.IGNORECASE)

# In dollars. No company is worth more, so a larger value is the filer's error. The bound also lets SQLite's 64-bit
# integers hold the sum of many values.
MAX_VALUE = 10_000_000_000_000

# Since the Sarbanes-Oxley Act a form 4 is due within two days. Before, it was due on the 10th of the next month.
_FIRST_TWO_DAY_DUTY = date(2002, 8, 29)
# Gifts moved from form 5 to form 4 (Release 33-11138).
_FIRST_GIFT_ON_FORM_4 = date(2023, 2, 27)
_FORM_5_CODES = ("L", "W", "Z")
FORM_4_DAYS = 2  # Business days after the transaction (Rule 16a-3(g)(1)).
FORM_3_DAYS = 10  # Days after the event (Section 16(a)(2)(B)).
FORM_5_DAYS = 45  # Days after the end of the fiscal year (Rule 16a-3(f)(1)).
_LAST_DATE = "2199-12-31"  # The latest date accepted if the filing date is unknown.
_FIRST_DATE = date(1934, 6, 6)  # Section 16 took effect; an earlier date is an error of the filer.

FootnoteMeaning = Literal["plan", "to cover", "cashless"]

# Evidence that a price is wrong; see trade_doubts.py.
ValueDoubt = Literal[
    "price_per_ads",
    "price_in_other_currency",
    "contradicts_close",
    "contradicts_form",
    "contradicts_history",
    "unconfirmed",
]

_COMMON_STOCK = re.compile(r"\b(?:common|ordinary)\b|^class \w+ (?:stock|shares?)$|^(?:stock|shares?)$")
_OTHER_SECURITY = re.compile(r"\b(?:preferred|options?|warrants?|units?|notes?|rights?|phantom)\b")


class TradeTraits(NamedTuple):
    """The conclusions about one transaction."""

    standard_type: str  # One of STANDARD_TYPES.
    direction: int  # 1 for a purchase and -1 for a sale in the market, otherwise 0.
    value: int | None  # Whole dollars; None if the price or the shares are missing.
    rule_10b5_1: bool
    plan_source: str  # checkbox, footnote, remarks or not_stated.
    is_cashless: bool
    is_sell_to_cover: bool


class Lateness(NamedTuple):
    """The time between the event that a form reports and its filing."""

    is_late: bool | None
    business_days: int | None


class _PlanStatement(NamedTuple):
    """The answer to whether a transaction is under a 10b5-1 plan, and the part of the form that states it."""

    is_under_plan: bool
    source: str


def get_standard_type(code: str | None) -> str:
    """Return the member of :data:`STANDARD_TYPES` for a transaction code."""
    return _TYPE_BY_CODE.get(code or "", "other")


def derive_traits(form: OwnershipForm) -> list[TradeTraits]:
    """Return the conclusions about each transaction of a form, in the order of the transactions."""
    # Each footnote is read once, although many rows may refer to it.
    meaning_by_footnote = {footnote_id: _read_footnote(text) for footnote_id, text in form.footnotes}
    rows = [row for row in form.rows if row.is_transaction]
    meanings: list[set[FootnoteMeaning]] = []
    for row in rows:
        row_meanings: set[FootnoteMeaning] = set()
        for footnote_id in row.list_footnote_ids():
            row_meanings |= meaning_by_footnote.get(footnote_id, set())
        meanings.append(row_meanings)
    plans = _find_plans(form, meanings)
    cashless_flags = _find_cashless_exercises(rows)
    traits = []
    for row, row_meanings, plan, is_cashless in zip(rows, meanings, plans, cashless_flags, strict=True):
        traits.append(
            TradeTraits(
                standard_type=get_standard_type(row.code),
                direction=_get_direction(row),
                value=compute_value(row),
                rule_10b5_1=plan.is_under_plan,
                plan_source=plan.source,
                is_cashless=is_cashless or "cashless" in row_meanings,
                is_sell_to_cover=row.code == "S" and "to cover" in row_meanings,
            )
        )
    return traits


def _get_direction(row: OwnershipRow) -> int:
    if row.is_derivative:
        return 0
    # A purchase that disposes of shares, or a sale that acquires them, is an error of the filer.
    if (row.code, row.acquired_disposed) == ("P", "A"):
        return 1
    if (row.code, row.acquired_disposed) == ("S", "D"):
        return -1
    return 0


def is_common_stock(folded_title: str) -> bool:
    """Return True for the title of common stock or ordinary shares, folded by ``amendments.fold_title``."""
    return bool(_COMMON_STOCK.search(folded_title)) and not _OTHER_SECURITY.search(folded_title)


def compute_value(row: OwnershipRow) -> int | None:
    """Return shares times price, or else the stated total, in whole dollars (halves to even); None without them.

    None is also returned for a value beyond :data:`MAX_VALUE`.
    """
    if row.shares is not None and row.price is not None:
        dollars = Decimal(row.shares) * Decimal(row.price)
    elif row.total_value is not None:
        dollars = Decimal(row.total_value)
    else:
        return None
    whole_dollars = int(dollars.to_integral_value(ROUND_HALF_EVEN))
    return whole_dollars if abs(whole_dollars) <= MAX_VALUE else None


def find_usable_date(text: str | None, last: str | None = None) -> str | None:
    """Return a transaction date, or None if it is missing or impossible.

    A date is impossible if it is before Section 16 took effect (year 15 instead of 2015), or after ``last``, the filing
    date.
    """
    if text is None or date.fromisoformat(text) < _FIRST_DATE or text > (last or _LAST_DATE):
        return None
    return text


def remove_impossible_values(row: OwnershipRow, filed_at: str | None) -> tuple[OwnershipRow, dict[str, str]]:
    """Return a row with None in place of impossible values, and the reason for each by the name of its field.

    The reason is ``negative`` for an amount below zero, and ``out_of_range`` for a date after the filing or before
    Section 16 took effect.
    """
    reasons: dict[str, str] = {}
    for field in ("shares", "price", "following_shares"):
        amount = getattr(row, field)
        if amount is not None and amount.startswith("-"):
            reasons[field] = "negative"
    if row.date is not None and find_usable_date(row.date, filed_at) is None:
        reasons["date"] = "out_of_range"
    nulls: dict[str, Any] = dict.fromkeys(reasons)
    return row._replace(**nulls), reasons


def compute_lateness(form: OwnershipForm, filed_at: str | None) -> Lateness:
    """Return if a form was filed late, and the business days from the event to the filing.

    Both are None if a date is missing, and for an amendment, which has no due date.
    """
    if filed_at is None or form.form.endswith("/A") or find_usable_date(form.period) is None:
        return Lateness(None, None)
    filed = date.fromisoformat(filed_at)
    event = date.fromisoformat(form.period)
    form_number = form.form[0]
    if form_number == "4":
        event = _find_first_due_event(form, event)
    days = business_days.count_between(event, filed)
    if form_number == "3":
        due = business_days.get_first_on_or_after(event + timedelta(FORM_3_DAYS))
        return Lateness(filed > due, days)
    if form_number == "5":
        due = business_days.get_first_on_or_after(event + timedelta(FORM_5_DAYS))
        return Lateness(filed > due, days)
    if event < _FIRST_TWO_DAY_DUTY:
        return Lateness(None, days)
    return Lateness(days > FORM_4_DAYS, days)


def _find_first_due_event(form: OwnershipForm, period: date) -> date:
    """Return the date of the earliest transaction that was due within two business days, or else the form's period."""
    due_days = []
    for row in form.rows:
        day_text = find_usable_date(row.deemed_date or row.date)
        is_reported_early = row.timeliness == "E"
        if not row.is_transaction or day_text is None or is_reported_early:
            continue
        day = date.fromisoformat(day_text)
        is_exempt_gift = row.code == "G" and day < _FIRST_GIFT_ON_FORM_4
        if row.code not in _FORM_5_CODES and not is_exempt_gift:
            due_days.append(day)
    return min(due_days, default=period)


def _read_footnote(text: str) -> set[FootnoteMeaning]:
    """Return the meanings of a footnote for the rows that refer to it."""
    meanings: set[FootnoteMeaning] = set()
    for sentence in _SENTENCE_END.split(text):
        if _says_under_plan(sentence):
            meanings.add("plan")
        pays_taxes = all(pattern.search(sentence) for pattern in (_PAYS, _TAXES, _SALE))
        if pays_taxes or _SELL_TO_COVER.search(sentence):
            meanings.add("to cover")
        if _CASHLESS.search(sentence) and _EXERCISE.search(sentence):
            meanings.add("cashless")
    return meanings


def _says_under_plan(sentence: str) -> bool:
    plan = _PLAN.search(sentence)
    if plan is None:
        return False
    before = sentence[: plan.start()]
    after = sentence[plan.end() :]
    if _PLAN_DENIED.search(before):
        return False
    return bool(_PLAN_APPLIES.search(before)) or not _PLAN_ENDED.search(after)


def _find_plans(form: OwnershipForm, meanings: Sequence[set[FootnoteMeaning]]) -> list[_PlanStatement]:
    """Return for each transaction whether it is under a plan. ``meanings`` are those of the transactions' footnotes."""
    is_in_footnotes = any("plan" in row_meanings for row_meanings in meanings)
    if not form.rule_10b5_1 and not is_in_footnotes and _has_unreferenced_plan(form):
        default = _PlanStatement(is_under_plan=True, source="footnote")
    elif form.rule_10b5_1 is not None:
        # A ticked box covers every row, unless a footnote says which rows it is about.
        default = _PlanStatement(form.rule_10b5_1 and not is_in_footnotes, "checkbox")
    elif not is_in_footnotes and "plan" in _read_footnote(form.remarks or ""):
        default = _PlanStatement(is_under_plan=True, source="remarks")
    else:
        default = _PlanStatement(is_under_plan=False, source="not_stated")
    # The checkbox only covers plans under the rule as amended in 2023. A footnote may state an older plan even if the
    # box is not ticked.
    under_plan = _PlanStatement(is_under_plan=True, source="footnote")
    return [under_plan if "plan" in row_meanings else default for row_meanings in meanings]


def _has_unreferenced_plan(form: OwnershipForm) -> bool:
    """Return True if a footnote that no row refers to says that transactions were made under a plan.

    It must name a trade and say "under", "pursuant to" or the like: such footnotes also disclose the mere adoption of a
    plan.
    """
    referenced_ids = {footnote_id for row in form.rows for footnote_id in row.list_footnote_ids()}
    for footnote_id, text in form.footnotes:
        if footnote_id in referenced_ids:
            continue
        for sentence in _SENTENCE_END.split(text):
            plan = _PLAN.search(sentence)
            if plan is None or not _says_under_plan(sentence) or not _MADE_TRADE.search(sentence):
                continue
            if _PLAN_APPLIES.search(sentence[: plan.start()]):
                return True
    return False


def _find_cashless_exercises(rows: Sequence[OwnershipRow]) -> list[bool]:
    """Return True for each row that is part of a cashless exercise.

    It consists of option exercises for a price and of sales of the same security on the same day, of no more shares
    than were acquired.
    """
    keys = [(row.date, (row.title or "").casefold()) for row in rows]
    paid_exercises = [row.code in EXERCISE_CODES and Decimal(row.price or 0) > 0 for row in rows]
    exercised: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    sold: dict[tuple[str | None, str], Decimal] = defaultdict(Decimal)
    for row, key, is_paid_exercise in zip(rows, keys, paid_exercises, strict=True):
        if row.is_derivative or row.shares is None:
            continue
        if is_paid_exercise and row.acquired_disposed == "A":
            exercised[key] += Decimal(row.shares)
        elif row.code == "S" and row.acquired_disposed == "D":
            sold[key] += Decimal(row.shares)
    flags = []
    for row, key, is_paid_exercise in zip(rows, keys, paid_exercises, strict=True):
        is_covered = 0 < sold[key] <= exercised[key]
        flags.append(is_covered and not row.is_derivative and (row.code == "S" or is_paid_exercise))
    return flags
