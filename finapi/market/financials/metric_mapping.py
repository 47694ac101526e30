"""The standardised metrics as data: ``metrics.toml`` read once into values (its header says how to read it)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, NamedTuple

from finapi.core.files import get_package_folder
from finapi.edgar.xbrl.qnames import is_extension

INDUSTRIES = ("commercial", "bank", "insurer", "reit")
STATEMENTS = ("income_statement", "balance_sheet", "cash_flow_statement", "comprehensive_income")

# A filer's own concept with a longer name is nobody's line, and patterns need not be tried on it.
MAX_CONCEPT_CHARS = 256

# The taxonomy of lines that a filing's labels place: "face:capex" is the line that means it, whatever its tag.
FACE_PREFIX = "face:"
# Lines whose labels make a sum are "face:capex/1" and on; at most so many.
MAX_PARTS = 4
NO_PRIORITY = 10_000
# How a figure is made that is the sum of such lines.
SUM_OF_LINES = "the lines of the statement that make it"

_TAXONOMIES = {"ifrs": "ifrs-full", "dei": "dei", "srt": "srt"}


class Term(NamedTuple):
    """A term of a formula: the first of ``names`` that is there; an ``optional`` one may be absent."""

    sign: int
    names: tuple[str, ...]
    optional: bool


# Tags, and patterns for a filer's own concepts.
Names = tuple[tuple[str, ...], tuple[re.Pattern[str], ...]]


class Rule(NamedTuple):
    """One way to find a figure: ``tags`` that mean the same line, ``own`` patterns for a filer's own concepts, or the
    ``terms`` of a formula, which a filing is not asked for that reports one of ``beside``. ``unsigned``: a filer's own
    line is an amount paid or spent, whatever its sign."""

    priority: int
    tags: tuple[str, ...]
    custom_patterns: tuple[re.Pattern[str], ...]
    terms: tuple[Term, ...]
    text: str
    unless_reported: Names
    ignores_sign: bool


@dataclass(frozen=True)
class LabelPattern:
    """A pattern of labels, compiled when the first is compared with it: of companies without pages none is."""

    text: str

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        """The match of a whole label, or None."""
        return re.compile(self.text).fullmatch


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of the mapping. ``rules`` holds its rules by industry, the best first; with ``steady`` a fallback serves
    only where it means the same line. An ``outlay`` is positive unless a filer erred. ``face`` matches the labels that
    mean it, ``surely`` those of them that do so beside a tag of it, ``parts`` those of lines that make it together,
    ``joined`` those of lines that are added to the one that means it, ``akin`` those that may mean it, ``apart`` those
    of lines that belong beside it, ``siblings`` those of them beside which a line by its tag alone is no figure;
    ``within`` is the part of a balance sheet that such a line stands in. In industries of ``anywhere`` it is not looked
    for on a statement first; in those of ``definitions`` one tag serves a company. Of two tags of a ``whole`` one that
    stand on one statement that serves which holds the other. Formulas are made only of ``entire`` figures of another
    metric, beside which no line stands."""

    key: str
    label: str
    statement: str
    definition: str
    balance: str | None
    units: str
    over: str
    not_for: frozenset[str]
    only_for: frozenset[str]
    steady: bool
    outlay: bool
    anywhere: frozenset[str]
    definitions: frozenset[str]
    within: str
    entire: str
    face: LabelPattern | None
    surely: LabelPattern | None
    parts: LabelPattern | None
    joined: LabelPattern | None
    akin: LabelPattern | None
    apart: LabelPattern | None
    siblings: LabelPattern | None
    whole: bool
    rules: dict[str, tuple[Rule, ...]]
    # The tags of all rules in their order, and the patterns.
    tag_priorities: dict[str, int]
    custom_patterns: tuple[re.Pattern[str], ...]

    def has_industry(self, industry: str) -> bool:
        """Whether statements of an industry have this line at all."""
        return industry not in self.not_for and (not self.only_for or industry in self.only_for)

    def list_tags(self, industry: str) -> list[str]:
        """The tags that mean it by themselves in an industry, the best first."""
        return [tag for rule in self.rules[industry] for tag in rule.tags]

    def is_named_by(self, label: str) -> bool:
        """Whether a line with a label means this metric on the face of its statement."""
        return self.face is not None and self.face.fullmatch(label) is not None

    def may_be_named_by(self, label: str) -> bool:
        """Whether a line with a label may mean it, or is a part of it."""
        return any(one is not None and one.fullmatch(label) is not None for one in (self.akin, self.parts, self.apart))

    def get_priority(self, concept: str) -> int:
        """How a line under a counted concept is preferred as this metric by itself, 0 the best; NO_PRIORITY when it is
        not."""
        if concept in self.tag_priorities:
            return self.tag_priorities[concept]
        local = concept.partition(":")[2]
        return (
            len(self.tag_priorities)
            if any(pattern.fullmatch(local) for pattern in self.custom_patterns)
            else NO_PRIORITY
        )


@dataclass(frozen=True, slots=True)
class DerivedMetric:
    """A figure computed from metrics of the same row."""

    key: str
    label: str
    definition: str
    formula: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MetricMapping:
    """The whole file. ``units_of`` and ``own`` say what a reported concept can be used for."""

    version: int
    metrics: dict[str, Metric]
    derived: dict[str, DerivedMetric]
    # Every mapped concept with the kind of unit it must have.
    unit_kinds: dict[str, str]
    # The same by local name, for a filer's own concept that is spelt like a standard one.
    local_names: dict[str, str]
    # Patterns for the filer's own concepts, with the kind of unit.
    custom_patterns: tuple[tuple[re.Pattern[str], str], ...]
    # Every concept of a payment or expense: one that is tagged negative is no term of a formula.
    outlays: frozenset[str]

    def find_concept(self, name: str) -> str | None:
        """Under which mapped name a reported concept counts, or None when no metric uses it."""
        if name in self.unit_kinds:
            return name
        local = name.partition(":")[2]
        if not is_extension(name) or len(local) > MAX_CONCEPT_CHARS:
            return None
        if local in self.local_names:
            return self.local_names[local]
        return name if any(pattern.fullmatch(local) for pattern, _ in self.custom_patterns) else None

    def get_unit_kind(self, concept: str) -> str:
        """The kind of unit that facts of a counted concept must have."""
        known = self.unit_kinds.get(concept)
        if known is not None:
            return known
        local = concept.partition(":")[2]
        return next(units for pattern, units in self.custom_patterns if pattern.fullmatch(local))

    def is_negative_outlay(self, key: str, value: Decimal) -> bool:
        """Whether a key is a payment or expense that is tagged negative, so that nothing is computed from it."""
        metric = self.metrics.get(key)
        return metric is not None and metric.outlay and value < 0


@cache
def get_mapping() -> MetricMapping:
    """The mapping in force."""
    return parse(_text("metrics.toml"))


def list_keys(catalogue: str, table: str) -> list[str]:
    """The keys of a table of a catalogue, in their order."""
    return re.findall(rf"^\[{table}\.(\w+)\]", _text(catalogue), re.MULTILINE)


def _text(catalogue: str) -> str:
    return get_package_folder("finapi.market.financials").joinpath(catalogue).read_text(encoding="utf-8")


def parse(text: str) -> MetricMapping:
    """A mapping out of its TOML; ValueError for a key, an industry or a formula that is not one."""
    raw = tomllib.loads(text)
    words = raw.get("labels", {})
    metrics = {key: _metric(key, entry, words) for key, entry in raw["metric"].items()}
    derived = {
        key: DerivedMetric(key, entry["label"], entry["definition"], entry["formula"], parse_formula(entry["formula"]))
        for key, entry in raw["derived"].items()
    }
    units_of: dict[str, str] = {}
    own: dict[str, tuple[re.Pattern[str], str]] = {}
    outlays: set[str] = set()
    for metric in metrics.values():
        for rule in (rule for rules in metric.rules.values() for rule in rules):
            names = (*rule.tags, *(name for term in rule.terms for name in term.names))
            for name in (
                (*names, *rule.unless_reported[0]) if not names[:1] or not names[0].startswith(FACE_PREFIX) else ()
            ):
                units_of.setdefault(name, metric.units)
            outlays.update(names if metric.outlay else ())
            patterns = (*rule.custom_patterns, *rule.unless_reported[1])
            own.update((pattern.pattern, (pattern, metric.units)) for pattern in patterns)
    for one in derived.values():
        unknown = [name for term in one.terms for name in term.names if name not in metrics]
        if unknown:
            raise ValueError(f"{one.key} is made of {unknown[0]}, which is not a metric")
    local_names = {name.partition(":")[2]: name for name in reversed(list(units_of)) if name.startswith("us-gaap:")}
    return MetricMapping(
        raw["version"], metrics, derived, units_of, local_names, tuple(own.values()), frozenset(outlays)
    )


def parse_untrusted(text: str) -> MetricMapping:
    """The mapping of a text that others wrote: as :func:`parse`, and re.error for a pattern of labels that is none."""
    made = parse(text)
    for metric in made.metrics.values():
        for field in fields(metric):
            one = getattr(metric, field.name)
            if isinstance(one, LabelPattern):
                re.compile(one.text)
    return made


def parse_formula(formula: str, *, tags: bool = False) -> tuple[Term, ...]:
    """The terms of a formula: ``a + b|c - [d]``. With ``tags`` its names are concepts."""
    found: list[Term] = []
    sign = 1
    for word in formula.split():
        if word in "+-":
            sign = 1 if word == "+" else -1
            continue
        optional = word.startswith("[") and word.endswith("]")
        names = word.strip("[]").split("|")
        found.append(Term(sign, tuple(_concept(name) if tags else name for name in names), optional))
    if not found:
        raise ValueError(f"{formula!r} is not a formula")
    return tuple(found)


def _metric(key: str, entry: dict[str, Any], words: dict[str, str]) -> Metric:
    statement = entry["statement"]
    if statement not in STATEMENTS:
        raise ValueError(f"{key} stands on {statement}, which is not a statement")
    not_for, only_for = (frozenset(entry.get(name, ())) for name in ("not_for", "only_for"))
    if not (not_for | only_for) <= set(INDUSTRIES):
        raise ValueError(f"{key} names an unknown industry")
    rules = {industry: _rules(key, entry, industry) for industry in INDUSTRIES}
    every = [rule for of_industry in rules.values() for rule in of_industry]
    tags = dict.fromkeys(tag for rule in every for tag in rule.tags)
    return Metric(
        key=key,
        label=entry["label"],
        statement=statement,
        definition=entry["definition"],
        balance=entry.get("balance"),
        units=entry.get("units", "currency"),
        over=entry.get("over", "instant" if statement == "balance_sheet" else "sum"),
        not_for=not_for,
        only_for=only_for,
        steady=entry.get("steady", False),
        outlay=entry.get("outlay", False),
        anywhere=frozenset(entry.get("anywhere", ())),
        definitions=frozenset(entry.get("definitions", ())),
        within=entry.get("within", ""),
        entire=entry.get("entire", ""),
        face=_label(entry.get("face"), words),
        surely=_label(entry.get("surely"), words),
        parts=_label(entry.get("parts"), words),
        joined=_label(entry.get("joined"), words),
        akin=_label(entry.get("akin"), words),
        apart=_label(entry.get("apart"), words),
        siblings=_label(entry.get("siblings"), words),
        whole=entry.get("whole", False),
        rules=rules,
        tag_priorities={tag: place for place, tag in enumerate(tags)},
        custom_patterns=tuple(
            {pattern.pattern: pattern for rule in every for pattern in rule.custom_patterns}.values()
        ),
    )


def _label(text: str | None, words: dict[str, str]) -> LabelPattern | None:
    """The pattern of a label; <word> stands for that of the table of labels."""

    def spelt(text: str) -> str:
        return re.sub(r"<([a-z]+)>", lambda found: spelt(words[found[1]]), text)

    return None if text is None else LabelPattern(spelt(text))


def _rules(key: str, entry: dict[str, Any], industry: str) -> tuple[Rule, ...]:
    texts = [*entry.get(f"from_{industry}", ()), *entry["from"]]
    beside = _named(entry.get("beside", ""))
    unsigned = entry.get("outlay", False)
    made: list[Rule] = []
    for priority, text in enumerate(texts, 1):
        if text.startswith("= "):
            made.append(Rule(priority, (), (), parse_formula(text[2:], tags=True), text[2:], beside, unsigned))
        else:
            made.append(Rule(priority, *_named(text), (), text, ((), ()), unsigned))
    if "face" in entry:
        text = "the line of the statement whose label means it, where none stands under a tag"
        made.append(Rule(len(made) + 1, (FACE_PREFIX + key,), (), (), text, ((), ()), unsigned))
    if "parts" in entry:
        every = [Term(1, (f"{FACE_PREFIX}{key}/{number}",), number > 2) for number in range(1, MAX_PARTS + 1)]
        made.append(Rule(len(made) + 1, (), (), tuple(every), SUM_OF_LINES, ((), ()), unsigned))
    return tuple(made)


def _named(text: str) -> Names:
    """The tags of a list and its patterns for a filer's own concepts."""
    words = text.split()
    tags = tuple(_concept(word) for word in words if not word.startswith("ext:"))
    return tags, tuple(re.compile(word[4:]) for word in words if word.startswith("ext:"))


def _concept(word: str) -> str:
    prefix, colon, local = word.partition(":")
    return f"{_TAXONOMIES[prefix]}:{local}" if colon else f"us-gaap:{word}"
