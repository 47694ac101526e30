"""The pages of printed statements: the lines of each, with their parts of the statement and their headings.

The pages of one statement in a filing are sections of different kinds: the statement itself, and a parenthetical page
with details such as par values. Labels are compared in plain words (:func:`normalise_label`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from finapi.market.financials.metric_mapping import MetricMapping

# The statements whose lines can be metrics, by the kinds of sections.
STATEMENTS_BY_KIND = {
    "income": "income_statement",
    "comprehensive-income": "income_statement",
    "balance": "balance_sheet",
    "cash-flow": "cash_flow_statement",
}
# The suffix of the kind of a parenthetical page, such as "balance-parenthetical".
PARENTHETICAL = "-parenthetical"
SECTION_KINDS = (*STATEMENTS_BY_KIND, *(kind + PARENTHETICAL for kind in STATEMENTS_BY_KIND))

# Words in parentheses that name the opposite sign and belong to the line's name: "Income (loss)".
_SIGN_WORDS = (
    r"loss|losses|income|earnings|benefit|expense|credit|deficit|used|used (?:in|for|by)|decrease|increase|reduction"
)
_IN_PARENTHESES = re.compile(rf"\((?!(?:{_SIGN_WORDS})\))[^()]*\)|\[[^\[\]]*\]", re.IGNORECASE)
_NOT_ALPHANUMERIC = re.compile(r"['\u2019]s\b|[^a-z0-9]+")
_NOTE_REFERENCE = re.compile(r"\b(notes?|footnotes?) [0-9a-z]{1,2}( and [0-9]{1,2})?$")
# The label of the closing balance of a cash flow statement.
_CLOSING = re.compile(r"(^(at )?|cash.*\b)end( of|$)")

# The part of a balance sheet that ends with a total. IFRS filers may begin with the non-current part, and have equity
# before liabilities.
_PARTS_BY_TOTAL = {
    "us-gaap:AssetsCurrent": "current_assets",
    "us-gaap:Assets": "assets",
    "us-gaap:LiabilitiesCurrent": "current_liabilities",
    "us-gaap:LiabilitiesNoncurrent": "",
    "ifrs-full:CurrentAssets": "current_assets",
    "ifrs-full:NoncurrentAssets": "assets",
    "ifrs-full:Assets": "assets",
    "ifrs-full:Equity": "equity",
    "ifrs-full:NoncurrentLiabilities": "liabilities",
    "ifrs-full:CurrentLiabilities": "current_liabilities",
}

# The section of a cash flow statement that ends with a total.
SECTIONS_BY_TOTAL = {
    "operating_cashflow": "operating",
    "investing_cashflow": "investing",
    "financing_cashflow": "financing",
}


class FaceRow(NamedTuple):
    """A stored line of a presented section. Rows are in the order of the pages."""

    filing_index: int
    section_id: int
    kind: str
    concept: str
    label: str | None
    balance: str | None  # "debit" or "credit".
    is_heading: int = 0  # 1 for a heading, which has no values.
    depth: int = 0  # The level of indentation.
    is_negated: int = 0  # 1 if values are printed with the opposite sign.


class FaceLine(NamedTuple):
    """A line on the face of a statement."""

    concept: str
    label: str  # In plain words, see :func:`normalise_label`.
    printed_label: str
    part: str  # The part of the balance sheet or the section of the cash flow statement that it is in.
    balance: str | None
    is_negated: bool = False  # True if its values are printed with the opposite sign.
    heading: Heading | None = None  # The nearest heading above it.


class Heading(NamedTuple):
    """A heading of lines."""

    row_number: int  # Identifies the heading on its page.
    label: str  # In plain words.
    is_parent: bool  # True if the line is indented more than the heading, False if both have the same indentation.


def iter_lines(page_rows: Iterable[FaceRow], kind: str, mapping: MetricMapping) -> Iterator[FaceLine]:
    """Yield the lines of a page; of a cash flow statement those up to its closing balance."""
    rows = list(page_rows)
    part_ends = _list_part_ends(rows, kind, mapping)
    headings: list[tuple[int, Heading]] = []  # The headings that are open, each with its indentation.
    for number, row in enumerate(rows):
        label = normalise_label(row.label or "")
        is_heading = _is_heading(row)
        # A line closes the headings that are indented more, and those as much that have indented lines of their own.
        headings = [
            (depth, heading)
            for depth, heading in headings
            if depth < row.depth or (depth == row.depth and not is_heading and not heading.is_parent)
        ]
        if is_heading:
            headings.append((row.depth, Heading(number, label, is_parent=False)))
            continue
        heading = None
        if headings:
            depth, heading = headings.pop()
            heading = heading._replace(is_parent=depth < row.depth)
            headings.append((depth, heading))
        yield FaceLine(
            concept=row.concept,
            label=label,
            printed_label=row.label or "",
            part=next((part for end, part in part_ends if number < end), ""),
            balance=row.balance,
            is_negated=bool(row.is_negated),
            heading=heading,
        )
        if kind == "cash-flow" and _CLOSING.search(label):
            return


def _is_heading(row: FaceRow) -> bool:
    """Return True for a heading. Some filers do not declare theirs as abstract, but follow the naming convention."""
    return bool(row.is_heading) or row.concept.endswith("Abstract")


def _list_part_ends(rows: Sequence[FaceRow], kind: str, mapping: MetricMapping) -> list[tuple[int, str]]:
    """Return the parts of a balance sheet or the sections of a cash flow statement, each with the number of its total.

    A balance that appears twice ends its part where it appears last. A section of cash flows ends with its first total:
    what follows are cash flows of discontinued operations.
    """
    last_numbers: dict[str, int] = {}
    if kind == "balance":
        for number, row in enumerate(rows):
            if row.concept in _PARTS_BY_TOTAL:
                last_numbers[row.concept] = number
        return sorted((number, _PARTS_BY_TOTAL[concept]) for concept, number in last_numbers.items())
    if kind == "cash-flow":
        first_numbers: dict[str, int] = {}
        for number, row in enumerate(rows):
            for key, section in SECTIONS_BY_TOTAL.items():
                label = normalise_label(row.label or "")
                if not _is_heading(row) and mapping.metrics[key].is_meant_by(label):
                    first_numbers.setdefault(section, number)
        return sorted((number, section) for section, number in first_numbers.items())
    return []


@lru_cache(maxsize=20_000)
def normalise_label(label: str) -> str:
    """Return a label in lower-case letters and digits, without text in parentheses and references to notes."""
    without_parentheses = _IN_PARENTHESES.sub(" ", label)
    text = (without_parentheses if without_parentheses.strip() else label).lower().replace("&", " and ")
    return _NOTE_REFERENCE.sub("", _NOT_ALPHANUMERIC.sub(" ", text)).strip()
