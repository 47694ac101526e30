"""Agreement of the standardised figures with the printed lines, which are identified by their labels.

The rows of a Financial Statement Data Set are read as bare text. The metric of a line is decided by its label, its
statement and the unit of its values, never by its tag, so a wrong ranking of tags is detected. A statement with two
candidate lines is left out.
"""

from __future__ import annotations

import csv
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from finapi.core import days
from finapi.market.documents.sources import Entry
from finapi.market.financials import metric_mapping
from finapi.market.financials.cells import Cell, Figure, Missing
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.periods import Period
from finapi.market.financials.provenance import get_concept
from finapi.market.financials.series_rows import FigureSeries, RowView
from finapi.market.statements.statement_set_intake import NUM, PRE, SUB
from tests.measure.agreement import iter_table_rows

# Smaller amounts of money are per share.
MAX_PER_SHARE = 10_000

OUTCOMES = ("same", "differs", "hole")

TABLES = frozenset((SUB, NUM, PRE))


class PrintedRule(NamedTuple):
    """The labels of a metric, as described in ``printed.toml``."""

    metric: str
    statement: str
    means: str
    but: str = r"\b\B"
    best: str = r"\b\B"
    alone: str = r"\b\B"
    either: str = r"\b\B"
    unit: str = "money"


def _read_rules() -> tuple[PrintedRule, ...]:
    raw = tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))

    def expand(text: str) -> str:
        return re.sub(r"<([a-z_]+)>", lambda match: expand(raw["names"][match[1]]), text)

    return tuple(
        PrintedRule(metric, **{name: expand(text) for name, text in entry.items()})
        for metric, entry in raw["rule"].items()
    )


RULES = _read_rules()

# Metrics whose lines have another content or meaning in an industry.
INAPPLICABLE_METRICS = {
    "reit": {"ppe_net"},
    "bank": {
        *("revenue", "cost_of_revenue", "operating_income", "short_term_investments", "long_term_debt"),
        *("accounts_receivable", "accounts_payable"),
    },
    "insurer": {
        *("accounts_receivable", "accounts_payable", "short_term_investments", "cost_of_revenue"),
        "long_term_investments",
    },
}


class PrintedLine(NamedTuple):
    """A line of a statement with its values by (last day, quarters)."""

    tag: str
    label: str
    values: Mapping[tuple[str, int], Decimal]
    unit: str


@dataclass(slots=True)
class PrintedScore:
    """The outcomes of the comparisons.

    They are counted by metric, industry and outcome, with the pages of the chosen tags and every comparison that is not
    equal.
    """

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    tag_pages: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: list[dict[str, Any]] = field(default_factory=list)
    # Counts by half of the companies and outcome.
    halves: Counter[tuple[int, str]] = field(default_factory=Counter)

    def count_outcome(self, outcome: str) -> int:
        """Return the number of comparisons with an outcome."""
        return sum(count for key, count in self.counts.items() if key[2] == outcome)


# Words in brackets that are part of a line's name because they give the other sign.
_KEPT_WORDS = (
    r"(loss|losses|income|earnings|benefit|expense|credit|deficit|used|used (in|for|by)|decrease|increase|"
    r"provided( by)?|reduction)"
)


def normalise_label(label: str) -> str:
    """Return a label as rules read it: lower-case letters and digits, without other text in brackets."""
    bare = re.sub(rf"\((?!{_KEPT_WORDS}\))[^()]*\)|\[[^\[\]]*\]", " ", label, flags=re.IGNORECASE)
    bare = bare if re.search("[a-zA-Z]", bare) else label
    text = re.sub(r"'s\b|’s\b|[^a-z0-9]+", " ", bare.lower().replace("&", " and "))
    return re.sub(r"\b(notes?|footnotes?) [0-9a-z]{1,2}( and [0-9]{1,2})?$", "", " ".join(text.split())).strip()


def choose_line(rule: PrintedRule, lines: Sequence[PrintedLine]) -> PrintedLine | None:
    """Return the line of a statement that a rule means, or None if there is no line or more than one."""

    def fit(pattern: str, candidate: PrintedLine) -> bool:
        return re.fullmatch(pattern, normalise_label(candidate.label)) is not None

    lines_of_unit = [candidate for candidate in lines if candidate.values and candidate.unit == rule.unit]
    matching_lines = [
        candidate
        for candidate in lines_of_unit
        if fit(rule.means, candidate) and not re.search(rule.but, normalise_label(candidate.label))
    ]
    best_lines = [candidate for candidate in matching_lines if fit(rule.best, candidate)]
    lines_by_tag = {candidate.tag: candidate for candidate in best_lines or matching_lines}
    if len(lines_by_tag) != 1 or not (best_lines or not _has_other_line(rule, lines_of_unit, lines_by_tag)):
        return None
    return next(iter(lines_by_tag.values()))


def _has_other_line(rule: PrintedRule, lines: Sequence[PrintedLine], lines_by_tag: Mapping[str, PrintedLine]) -> bool:
    return any(
        candidate.tag not in lines_by_tag and re.search(rule.alone, normalise_label(candidate.label))
        for candidate in lines
    )


def read_explanations() -> dict[tuple[str, str], str]:
    """Return the reasons of known misses by accession number and metric (``explained.tsv``)."""
    text = (Path(__file__).parent / "explained.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["accession"], row["metric"]): row["why"] for row in rows}


class PrintedFiling(NamedTuple):
    """The printed lines of a filing by statement, and the pages of each tag."""

    accession: str
    cik: int
    name: str
    statements: Mapping[str, Sequence[PrintedLine]]
    pages: Mapping[str, list[str]]


def iter_printed_filings(tables: Mapping[str, Entry]) -> Iterator[PrintedFiling]:
    """Yield every filing of a data set, by accession number."""
    submissions = {row["adsh"]: row for row in iter_table_rows(tables[SUB])}
    values: dict[tuple[str, str], dict[tuple[str, int], Decimal]] = {}
    units: dict[tuple[str, str], set[str]] = {}
    for row in iter_table_rows(tables[NUM]):
        if row["value"] and not row["coreg"] and not row.get("segments"):
            key = row["adsh"], row["tag"]
            values.setdefault(key, {})[row["ddate"], int(row["qtrs"])] = Decimal(row["value"])
            units.setdefault(key, set()).add(row["uom"])
    presented: dict[str, list[dict[str, str]]] = {}
    for row in iter_table_rows(tables[PRE]):
        presented.setdefault(row["adsh"], []).append(row)
    for accession, filing_rows in sorted(presented.items()):
        filing_rows.sort(key=lambda row: (int(row["report"]), int(row["line"])))
        pages: dict[str, list[str]] = {}
        statements: dict[str, list[PrintedLine]] = {}
        for row in filing_rows:
            key = accession, row["tag"]
            if row["inpth"] == "1":
                pages.setdefault(row["tag"], []).append(f"{row['stmt']} in brackets")
                continue
            # The page of the metric's own statement comes before pages that repeat the line.
            pages.setdefault(row["tag"], []).append(row["stmt"])
            line = PrintedLine(row["tag"], row["plabel"], values.get(key, {}), _classify_unit(values, units, key))
            statements.setdefault(row["stmt"], []).append(line)
        yield PrintedFiling(
            accession, int(submissions[accession]["cik"]), submissions[accession]["name"], statements, pages
        )


def get_company_half(cik: int) -> int:
    """Return the half of a company, 0 or 1, from its CIK.

    Rules found in one half are measured on the other.
    """
    return hashlib.sha256(str(cik).encode()).digest()[0] % 2


def compare_data_set(
    tables: Mapping[str, Entry], books: Mapping[int, CompanyBook], score: PrintedScore | None = None
) -> PrintedScore:
    """Compare every line of a data set that a rule means with the figures of its company."""
    score = score or PrintedScore()
    for filing in iter_printed_filings(tables):
        company_book = books.get(filing.cik)
        if company_book is not None:
            _FilingJudge(filing, company_book, score).judge(filing.statements)
    return score


def _classify_unit(
    values: Mapping[tuple[str, str], Mapping[tuple[str, int], Decimal]],
    units: Mapping[tuple[str, str], set[str]],
    key: tuple[str, str],
) -> str:
    """Return "money", "each" (an amount per share), "shares", or "" for percentages and other units."""
    if units.get(key) == {"shares"}:
        return "shares"
    if not all(re.fullmatch("[A-Z]{3}", unit) for unit in units.get(key, ())):
        return ""
    return "each" if all(abs(value) < MAX_PER_SHARE for value in values.get(key, {}).values()) else "money"


class _FilingJudge:
    def __init__(self, filing: PrintedFiling, company_book: CompanyBook, score: PrintedScore) -> None:
        self._filing = filing.accession, filing.name
        self._half = get_company_half(filing.cik)
        self._company_book = company_book
        self._pages = filing.pages
        self._score = score
        self._rows = list(self._iter_rows())

    def _iter_rows(self) -> Iterator[tuple[str, Period, RowView]]:
        for kind in ("A", "YTD", "Q"):
            series = FigureSeries(self._company_book, kind, "original")
            yield from ((kind, period, series.get_row(period)) for period in series.periods)

    def judge(self, statements: Mapping[str, Sequence[PrintedLine]]) -> None:
        """Compare every line that a rule means."""
        for rule in RULES:
            lines = statements.get(rule.statement, ())
            metric = metric_mapping.get_mapping().metrics[rule.metric]
            industry = self._company_book.industry
            if rule.metric in INAPPLICABLE_METRICS.get(industry, ()) or not metric.has_industry(industry) or not lines:
                continue
            line = choose_line(rule, lines)
            for (day, quarters), value in line.values.items() if line else ():
                cell = self._find_cell(rule.metric, days.number(f"{day[:4]}-{day[4:6]}-{day[6:]}"), quarters)
                if line is not None and cell is not None:
                    self._count_cell(rule, line, f"{day}/{quarters}", value, cell)

    def _find_cell(self, metric: str, end: int, quarters: int) -> Cell | None:
        aggregation = metric_mapping.get_mapping().metrics[metric].aggregation
        for _, period, row in self._rows:
            length = 0 if period.start is None else round((period.end - period.start + 1) / 91.3)
            day = period.start - 1 if aggregation == "opening" and period.start is not None else period.end
            if abs(day - end) <= 16 and (quarters == 0 or quarters == length):
                return row.get_cell(metric)
        return None

    def _count_cell(self, rule: PrintedRule, line: PrintedLine, period: str, value: Decimal, cell: Cell) -> None:
        metric, industry = metric_mapping.get_mapping().metrics[rule.metric], self._company_book.industry
        concept = get_concept(cell) if isinstance(cell, Figure) else None
        if isinstance(cell, Figure) and self._company_book.book.filings[cell.filing_index].accession != self._filing[0]:
            return
        if isinstance(cell, Figure) and cell.method != "derived":
            for _, _, vintage in cell.operands:
                tag = vintage.concept.partition(":")[2]
                pages = self._pages.get(tag, ["on no page"])
                self._score.tag_pages[rule.metric, rule.statement if rule.statement in pages else pages[0]] += 1
        if isinstance(cell, Missing):
            outcome = "hole"
        else:
            has_either_sign = metric.is_outlay or re.search(rule.either, normalise_label(line.label)) is not None
            is_equal = cell.value == value or (has_either_sign and cell.value == -value)
            outcome = "same" if is_equal else "differs"
        self._score.counts[rule.metric, industry, outcome] += 1
        self._score.halves[self._half, outcome] += 1
        if outcome != "same":
            self._score.misses.append(
                {
                    "accession": self._filing[0],
                    "company": self._filing[1],
                    "industry": industry,
                    "metric": rule.metric,
                    "period": period,
                    "outcome": outcome,
                    "label": line.label,
                    "printed": format(value.normalize(), "f"),
                    "line_tag": line.tag,
                    "given": str(cell.value) if isinstance(cell, Figure) else cell.reason,
                    "taken": concept,
                }
            )


def render_lines(score: PrintedScore) -> list[str]:
    """Return the score as lines of text."""
    text = ["printed lines by label            same differs  hole   (by industry: same/differs/hole)"]
    for metric in dict.fromkeys(rule.metric for rule in RULES):
        counts_by_industry = {
            industry: [score.counts[metric, industry, outcome] for outcome in OUTCOMES]
            for industry in metric_mapping.INDUSTRIES
        }
        sums = [sum(counts[outcome_number] for counts in counts_by_industry.values()) for outcome_number in range(3)]
        parts = "  ".join(
            f"{industry} {'/'.join(map(str, counts))}" for industry, counts in counts_by_industry.items() if any(counts)
        )
        text.append(f"{metric:32} {sums[0]:>6} {sums[1]:>7} {sums[2]:>5}   {parts}")
    total = sum(score.counts.values())
    sums = [score.count_outcome(outcome) for outcome in OUTCOMES]
    text.append(f"{'total':32} {sums[0]:>6} {sums[1]:>7} {sums[2]:>5}   of {total}")
    for half in (0, 1):
        equal, differs, holes = (score.halves[half, outcome] for outcome in OUTCOMES)
        text.append(
            f"{f'half {half} of the companies':32} {equal:>6} {differs:>7} {holes:>5}   of {equal + differs + holes}"
        )
    text += ["", "where the chosen tags stand"]
    for metric in dict.fromkeys(rule.metric for rule in RULES):
        pages = {page: count for (key, page), count in sorted(score.tag_pages.items()) if key == metric}
        text.append(f"{metric:32} " + ", ".join(f"{page}: {count}" for page, count in pages.items()))
    return text
