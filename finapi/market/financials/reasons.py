"""The catalogue of reason codes for missing figures, which is published as ``/xbrl/dictionary?kind=reason``."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Reason(NamedTuple):
    """The meaning of a reason code."""

    label: str
    definition: str
    status: Literal["hole", "nm"]  # "nm" (not meaningful) if a figure would be meaningless.


CATALOGUE: dict[str, Reason] = {}  # By code.


def _add_hole(code: str, label: str, definition: str) -> str:
    CATALOGUE[code] = Reason(label, definition, "hole")
    return code


def _add_not_meaningful(code: str, label: str, definition: str) -> str:
    CATALOGUE[code] = Reason(label, definition, "nm")
    return code


NOT_REPORTED = _add_hole(
    "not_reported",
    "Not reported",
    "No filing that was considered reports this figure for the whole company and period; figures of a single segment, "
    "class or product are not used instead, nor are amounts in parentheses within another balance sheet line.",
)
NOT_MAPPED = _add_hole(
    "not_mapped",
    "Not mapped",
    "The statement has a line that may be this figure, but that is not certain (its name appears in another part of "
    "the balance sheet or on another page), or several lines would have to be added; `line` names it.",
)
REPORTED_NIL = _add_hole("reported_nil", "Reported as nil", "The filing has the line and leaves it empty (nil).")
OTHER_UNIT = _add_hole(
    "other_unit", "Reported in another unit", "The figure is reported, but not in the currency or unit of this series."
)
REPORTED_BY_CLASS = _add_hole(
    "reported_by_class",
    "Reported by class of shares",
    "The figure is only reported for each class of shares; `by_class` of the row has these. Per-share figures have no "
    "sum, and averages of shares that contain each other are not added.",
)
NOT_APPLICABLE = _add_hole(
    "not_applicable",
    "Not a line of this industry",
    "Statements of this industry do not have this line: a bank has no gross profit.",
)
NOT_ADDITIVE = _add_hole(
    "not_additive",
    "Not additive",
    "Only longer periods report it, and per-share figures and averages are never derived by adding or subtracting.",
)
OPERAND_MISSING = _add_hole(
    "operand_missing",
    "An operand is missing",
    "The figure would have to be derived, and a period that the derivation needs is not reported.",
)
TAG_CHANGED = _add_hole(
    "tag_changed",
    "The tag changed",
    "The figure would have to be derived from periods that are reported under different tags.",
)
OTHER_DEFINITION = _add_hole(
    "other_definition",
    "Reported under another definition",
    "For this period it is reported only under a tag with another meaning than the rest of the series, such as a "
    "bank's cash including deposits at other banks.",
)
VINTAGE_CHANGED = _add_hole(
    "vintage_changed",
    "The vintages differ",
    "The figure would have to be derived from a restated figure and one that was not restated with it.",
)
PERIODS_MISSING = _add_hole("periods_missing", "Periods are missing", "Four consecutive quarters are not all known.")
NO_PRIOR_PERIOD = _add_hole(
    "no_prior_period",
    "No prior period",
    "The figure compares with an earlier period that is not known or has another length.",
)
INPUT_MISSING = _add_hole("input_missing", "An input is missing", "A metric that the formula needs is itself missing.")
ZERO_DENOMINATOR = _add_not_meaningful("zero_denominator", "Division by zero", "The denominator is zero.")
NEGATIVE_DENOMINATOR = _add_not_meaningful(
    "negative_denominator", "Negative denominator", "The denominator is negative, which makes the ratio meaningless."
)
NEGATIVE_BASE = _add_not_meaningful(
    "negative_base", "Negative or zero base", "Growth from a base that is zero or negative is meaningless."
)
NO_BURN = _add_not_meaningful(
    "no_burn", "No cash is burnt", "Free cash flow is not negative, so there is no cash runway to compute."
)
UNEXPECTED_SIGN = _add_not_meaningful(
    "unexpected_sign",
    "Unexpected sign",
    "A payment or expense in the formula is tagged negative. Whether the sign is an error or money came back cannot be "
    "known, so nothing is computed from it.",
)
NO_PRICE = _add_hole("no_price", "No price", "No price of the company's shares is loaded for the day that is needed.")
STALE_PRICE = _add_hole(
    "stale_price",
    "The price is too old",
    "The last price of the company's shares before the day that is needed is more than ten days older.",
)
OTHER_PERIOD = _add_hole(
    "other_period",
    "For another kind of period",
    "The ratio is defined for a year or a quarter, and the row is neither.",
)
NOT_FILED = _add_hole(
    "not_filed", "Not in any filing", "Exchanges and brokers know it; no document filed with the SEC contains it."
)
NOT_IN_13F = _add_hole(
    "not_in_13f",
    "Not in 13F reports",
    "13F reports do not contain it, and the sums over funds are computed from nothing else.",
)

# The reasons that mean that the company has no such line. An optional term of a formula then counts as zero.
NO_SUCH_LINE = (NOT_REPORTED, NOT_APPLICABLE)
