"""How far the standardised figures agree with the lines that filers printed, told apart by their labels alone.

The rows of a Financial Statement Data Set are read as bare text. Which line of a statement is which metric is decided
by its label, its place and the unit of its values, never by its tag: so a tag that is ranked wrongly shows. A statement
with two lines that may be meant is left out.
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
from tests.measure.agreement import rows_of

# An amount below is one of a share, all others in full units.
EACH = 10_000

OUTCOMES = ("same", "differs", "hole")

TABLES = frozenset((SUB, NUM, PRE))


class PrintedRule(NamedTuple):
    """Which labels mean a metric: ``printed.toml`` says how."""

    metric: str
    statement: str
    means: str
    but: str = r"\b\B"
    best: str = r"\b\B"
    alone: str = r"\b\B"
    unit: str = "money"


def _rules() -> tuple[PrintedRule, ...]:
    raw = tomllib.loads((Path(__file__).parent / "printed.toml").read_text(encoding="utf-8"))

    def spelt(text: str) -> str:
        return re.sub(r"<([a-z_]+)>", lambda found: spelt(raw["names"][found[1]]), text)

    return tuple(
        PrintedRule(metric, **{name: spelt(text) for name, text in entry.items()})
        for metric, entry in raw["rule"].items()
    )


RULES = _rules()

# Statements of these industries draw such lines otherwise, or their label means something else there.
_NOT_FOR = {
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
    """What became of the comparisons: ``same``, ``differs`` or ``hole`` by metric and industry, where the chosen tags
    stand, and all that are not the same."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stands: Counter[tuple[str, str]] = field(default_factory=Counter)
    misses: list[dict[str, Any]] = field(default_factory=list)
    # By half of the companies.
    halves: Counter[tuple[int, str]] = field(default_factory=Counter)

    def of(self, outcome: str) -> int:
        """How many comparisons had an outcome."""
        return sum(count for key, count in self.counts.items() if key[2] == outcome)


# Words in brackets that are another sign of the same line, and part of its name.
_KEPT = (
    r"(loss|losses|income|earnings|benefit|expense|credit|deficit|used|used (in|for|by)|decrease|increase|"
    r"provided( by)?|reduction)"
)


def plain(label: str) -> str:
    """A label as rules read it: small letters and digits; what stands in brackets is left out where more is said."""
    bare = re.sub(rf"\((?!{_KEPT}\))[^()]*\)|\[[^\[\]]*\]", " ", label, flags=re.IGNORECASE)
    bare = bare if re.search("[a-zA-Z]", bare) else label
    text = re.sub(r"'s\b|’s\b|[^a-z0-9]+", " ", bare.lower().replace("&", " and "))
    return re.sub(r"\b(notes?|footnotes?) [0-9a-z]{1,2}( and [0-9]{1,2})?$", "", " ".join(text.split())).strip()


def chosen(rule: PrintedRule, lines: Sequence[PrintedLine]) -> PrintedLine | None:
    """The line of a statement that a rule means; None where none does or several may."""

    def fit(pattern: str, one: PrintedLine) -> bool:
        return re.fullmatch(pattern, plain(one.label)) is not None

    shown = [one for one in lines if one.values and one.unit == rule.unit]
    fits = [one for one in shown if fit(rule.means, one) and not re.search(rule.but, plain(one.label))]
    better = [one for one in fits if fit(rule.best, one)]
    found = {one.tag: one for one in better or fits}
    if len(found) != 1 or not (better or not _beside(rule, shown, found)):
        return None
    return next(iter(found.values()))


def _beside(rule: PrintedRule, lines: Sequence[PrintedLine], found: Mapping[str, PrintedLine]) -> bool:
    return any(one.tag not in found and re.search(rule.alone, plain(one.label)) for one in lines)


def explained() -> dict[tuple[str, str], str]:
    """Why the product does not give what a line says, by accession number and metric (``explained.tsv``)."""
    text = (Path(__file__).parent / "explained.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(row["accession"], row["metric"]): row["why"] for row in rows}


class PrintedFiling(NamedTuple):
    """What a filing of a data set prints: lines by statement, and the pages that each tag stands on."""

    accession: str
    cik: int
    name: str
    statements: Mapping[str, Sequence[PrintedLine]]
    pages: Mapping[str, list[str]]


def filings(tables: Mapping[str, Entry]) -> Iterator[PrintedFiling]:
    """Every filing of a data set, by accession number."""
    known = {row["adsh"]: row for row in rows_of(tables[SUB])}
    values: dict[tuple[str, str], dict[tuple[str, int], Decimal]] = {}
    units: dict[tuple[str, str], set[str]] = {}
    for row in rows_of(tables[NUM]):
        if row["value"] and not row["coreg"] and not row.get("segments"):
            key = row["adsh"], row["tag"]
            values.setdefault(key, {})[row["ddate"], int(row["qtrs"])] = Decimal(row["value"])
            units.setdefault(key, set()).add(row["uom"])
    presented: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(tables[PRE]):
        presented.setdefault(row["adsh"], []).append(row)
    for accession, of_filing in sorted(presented.items()):
        of_filing.sort(key=lambda row: (int(row["report"]), int(row["line"])))
        pages: dict[str, list[str]] = {}
        statements: dict[str, list[PrintedLine]] = {}
        for row in of_filing:
            key = accession, row["tag"]
            if row["inpth"] == "1":
                pages.setdefault(row["tag"], []).append(f"{row['stmt']} in brackets")
                continue
            # A line of the metric's own statement is told before another page that repeats it.
            pages.setdefault(row["tag"], []).append(row["stmt"])
            one = PrintedLine(row["tag"], row["plabel"], values.get(key, {}), _unit(values, units, key))
            statements.setdefault(row["stmt"], []).append(one)
        yield PrintedFiling(accession, int(known[accession]["cik"]), known[accession]["name"], statements, pages)


def half_of(cik: int) -> int:
    """Which of two halves a company is in, by its number alone: what is found in one is measured on the other."""
    return hashlib.sha256(str(cik).encode()).digest()[0] % 2


def compared(
    tables: Mapping[str, Entry], books: Mapping[int, CompanyBook], score: PrintedScore | None = None
) -> PrintedScore:
    """Every line of a data set that a rule means against the figures of its company."""
    score = score or PrintedScore()
    for one in filings(tables):
        held = books.get(one.cik)
        if held is not None:
            _Filing(one, held, score).judge(one.statements)
    return score


def _unit(
    values: Mapping[tuple[str, str], Mapping[tuple[str, int], Decimal]],
    units: Mapping[tuple[str, str], set[str]],
    key: tuple[str, str],
) -> str:
    """money, each (an amount of money that a share has) or shares; "" for percentages and other."""
    if units.get(key) == {"shares"}:
        return "shares"
    if not all(re.fullmatch("[A-Z]{3}", unit) for unit in units.get(key, ())):
        return ""
    return "each" if all(abs(value) < EACH for value in values.get(key, {}).values()) else "money"


class _Filing:
    def __init__(self, filing: PrintedFiling, held: CompanyBook, score: PrintedScore) -> None:
        self._of = filing.accession, filing.name
        self._half = half_of(filing.cik)
        self._held = held
        self._pages = filing.pages
        self._score = score
        self._rows = list(self._served())

    def _served(self) -> Iterator[tuple[str, Period, RowView]]:
        for kind in ("A", "YTD", "Q"):
            listed = FigureSeries(self._held, kind, "original")
            yield from ((kind, period, listed.get_row(period)) for period in listed.periods)

    def judge(self, statements: Mapping[str, Sequence[PrintedLine]]) -> None:
        """Compare every line that a rule means."""
        for rule in RULES:
            lines = statements.get(rule.statement, ())
            if rule.metric in _NOT_FOR.get(self._held.industry, ()) or not lines:
                continue
            line = chosen(rule, lines)
            for (day, quarters), value in line.values.items() if line else ():
                cell = self._cell(rule.metric, days.number(f"{day[:4]}-{day[4:6]}-{day[6:]}"), quarters)
                if line is not None and cell is not None:
                    self._count(rule, line, f"{day}/{quarters}", value, cell)

    def _cell(self, metric: str, end: int, quarters: int) -> Cell | None:
        over = metric_mapping.get_mapping().metrics[metric].aggregation
        for _, period, row in self._rows:
            length = 0 if period.start is None else round((period.end - period.start + 1) / 91.3)
            day = period.start - 1 if over == "opening" and period.start is not None else period.end
            if abs(day - end) <= 16 and (quarters == 0 or quarters == length):
                return row.get_cell(metric)
        return None

    def _count(self, rule: PrintedRule, line: PrintedLine, period: str, value: Decimal, cell: Cell) -> None:
        metric, industry = metric_mapping.get_mapping().metrics[rule.metric], self._held.industry
        taken = get_concept(cell) if isinstance(cell, Figure) else None
        if isinstance(cell, Figure) and self._held.book.filings[cell.filing_index].accession != self._of[0]:
            return
        if isinstance(cell, Figure) and cell.method != "derived":
            for _, _, vintage in cell.operands:
                tag = vintage.concept.partition(":")[2]
                pages = self._pages.get(tag, ["on no page"])
                self._score.stands[rule.metric, rule.statement if rule.statement in pages else pages[0]] += 1
        if isinstance(cell, Missing):
            outcome = "hole"
        else:
            alike = cell.value == value or (metric.is_outlay and cell.value == -value)
            outcome = "same" if alike else "differs"
        self._score.counts[rule.metric, industry, outcome] += 1
        self._score.halves[self._half, outcome] += 1
        if outcome != "same":
            self._score.misses.append(
                {
                    "accession": self._of[0],
                    "company": self._of[1],
                    "industry": industry,
                    "metric": rule.metric,
                    "period": period,
                    "outcome": outcome,
                    "label": line.label,
                    "printed": format(value.normalize(), "f"),
                    "line_tag": line.tag,
                    "given": str(cell.value) if isinstance(cell, Figure) else cell.reason,
                    "taken": taken,
                }
            )


def lines(score: PrintedScore) -> list[str]:
    """The score for people, a line of text each."""
    text = ["printed lines by label            same differs  hole   (by industry: same/differs/hole)"]
    for metric in dict.fromkeys(rule.metric for rule in RULES):
        by = {
            industry: [score.counts[metric, industry, outcome] for outcome in OUTCOMES]
            for industry in metric_mapping.INDUSTRIES
        }
        sums = [sum(counts[at] for counts in by.values()) for at in range(3)]
        parts = "  ".join(f"{industry} {'/'.join(map(str, counts))}" for industry, counts in by.items() if any(counts))
        text.append(f"{metric:32} {sums[0]:>6} {sums[1]:>7} {sums[2]:>5}   {parts}")
    total = sum(score.counts.values())
    text.append(f"{'total':32} {score.of('same'):>6} {score.of('differs'):>7} {score.of('hole'):>5}   of {total}")
    for half in (0, 1):
        same, differs, holes = (score.halves[half, outcome] for outcome in OUTCOMES)
        text.append(
            f"{f'half {half} of the companies':32} {same:>6} {differs:>7} {holes:>5}   of {same + differs + holes}"
        )
    text += ["", "where the chosen tags stand"]
    for metric in dict.fromkeys(rule.metric for rule in RULES):
        where = {place: count for (key, place), count in sorted(score.stands.items()) if key == metric}
        text.append(f"{metric:32} " + ", ".join(f"{place}: {count}" for place, count in where.items()))
    return text
