"""Why a figure is not given: the one published catalogue of reason codes (``/xbrl/dictionary?kind=reason``)."""

from __future__ import annotations

NOT_REPORTED = "not_reported"
REPORTED_NIL = "reported_nil"
OTHER_UNIT = "other_unit"
NOT_APPLICABLE = "not_applicable"
NOT_ADDITIVE = "not_additive"
OPERAND_MISSING = "operand_missing"
TAG_CHANGED = "tag_changed"
VINTAGE_CHANGED = "vintage_changed"
PERIODS_MISSING = "periods_missing"
NO_PRIOR_PERIOD = "no_prior_period"
INPUT_MISSING = "input_missing"
ZERO_DENOMINATOR = "zero_denominator"
NEGATIVE_DENOMINATOR = "negative_denominator"
NEGATIVE_BASE = "negative_base"
NO_BURN = "no_burn"
UNEXPECTED_SIGN = "unexpected_sign"
NO_PRICE = "no_price"
OTHER_PERIOD = "other_period"
NOT_FILED = "not_filed"
NOT_IN_13F = "not_in_13f"

# code: (status, label, definition)
CATALOGUE: dict[str, tuple[str, str, str]] = {
    NOT_REPORTED: (
        "hole",
        "Not reported",
        "No filing known for the question gives this figure for the whole company and period; figures of a single "
        "segment, class or product are not taken for it.",
    ),
    REPORTED_NIL: ("hole", "Reported as nil", "The filing has the line and leaves it empty (nil)."),
    OTHER_UNIT: (
        "hole",
        "Reported in another unit",
        "The figure is reported, but not in the currency or unit of this series.",
    ),
    NOT_APPLICABLE: (
        "hole",
        "Not a line of this industry",
        "Statements of this industry do not have the line: a bank has no gross profit.",
    ),
    NOT_ADDITIVE: (
        "hole",
        "Not additive",
        "Only longer periods give it, and per-share figures and averages are never found by adding or subtracting.",
    ),
    OPERAND_MISSING: (
        "hole",
        "An operand is missing",
        "The figure would have to be derived, and a period that the derivation needs is not reported.",
    ),
    TAG_CHANGED: (
        "hole",
        "The line changed",
        "The figure would have to be derived out of periods that are reported under different tags.",
    ),
    VINTAGE_CHANGED: (
        "hole",
        "The vintages differ",
        "The figure would have to be derived out of a restated figure and one that was not restated with it.",
    ),
    PERIODS_MISSING: (
        "hole",
        "Periods are missing",
        "Four quarters that follow one another without a gap are not all known.",
    ),
    NO_PRIOR_PERIOD: (
        "hole",
        "No prior period",
        "The figure compares with an earlier period that is not known, or of another length.",
    ),
    INPUT_MISSING: ("hole", "An input is missing", "A metric that the formula needs is itself a hole."),
    ZERO_DENOMINATOR: ("nm", "Division by zero", "The denominator is zero."),
    NEGATIVE_DENOMINATOR: (
        "nm",
        "Negative denominator",
        "The denominator is negative, so that the ratio means nothing.",
    ),
    NEGATIVE_BASE: (
        "nm",
        "Negative or zero base",
        "Growth from a base that is zero or negative means nothing.",
    ),
    NO_BURN: (
        "nm",
        "No cash is burnt",
        "Free cash flow is not negative, so that there is no runway to count.",
    ),
    UNEXPECTED_SIGN: (
        "nm",
        "Unexpected sign",
        "A payment or expense in the formula is tagged negative; whether the sign is wrong or money came back "
        "cannot be told, so nothing is worked out from it.",
    ),
    NO_PRICE: ("hole", "No price", "No price of the company's shares is loaded for the day that is needed."),
    OTHER_PERIOD: (
        "hole",
        "For another kind of period",
        "The ratio is one of a year or of a quarter, and the row is of neither such period.",
    ),
    NOT_FILED: (
        "hole",
        "Not in any filing",
        "Exchanges and brokers know it; no document that companies file with the SEC says it.",
    ),
    NOT_IN_13F: (
        "hole",
        "Not in 13F reports",
        "13F reports do not say it, and the sums over funds are made of nothing else.",
    ),
}


def status(code: str) -> str:
    """The status of a cell with a reason: "hole" or "nm"."""
    return CATALOGUE[code][0]
