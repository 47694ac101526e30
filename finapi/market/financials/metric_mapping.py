"""The mapping from reported facts to standardised metrics (``metrics.toml``), parsed once.

Each metric has *rules* in order of preference. A rule is either a list of tags that mean the same line, or a formula
over tags, or a pattern for custom tags, which filers invent. The best rule that a filing satisfies gives its figure. An
industry may have rules of its own, which come first.

Where no tag identifies a line, its printed label may. A line that is found by its label gets the concept "face:" and
the key of the metric, such as "face:capex"; lines that have to be added get "face:capex/1", "face:capex/2" and so on.
The header of ``metrics.toml`` explains its keys; ``Metric`` has longer names for some of them (see
``_parse_metric``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, NamedTuple

from finapi.core.files import get_package_folder
from finapi.edgar.concept_names import is_extension

INDUSTRIES = ("commercial", "bank", "insurer", "reit")
STATEMENTS = ("income_statement", "balance_sheet", "cash_flow_statement", "comprehensive_income")

# Custom concepts with longer names are never statement lines, so they are not matched against patterns.
MAX_CONCEPT_CHARS = 256

# The prefix of the concepts of lines that are found by their labels.
FACE_PREFIX = "face:"
# The maximum number of lines that add up to a metric.
MAX_PARTS = 6
# The priority of a concept that no rule uses as the metric itself.
NO_PRIORITY = 10_000
# The derivations that are reported for a sum of printed lines, and for a line that is found by its label.
SUM_OF_LINES = "the sum of the lines of the statement that are its parts"
LABEL_RULE = "the line of the statement whose label has this meaning, if no tag identifies one"

# The taxonomies of prefixes in rules. Tags without a prefix are us-gaap.
_TAXONOMY_BY_PREFIX = {"ifrs": "ifrs-full", "dei": "dei", "srt": "srt", "face": "face"}
_CUSTOM_PREFIX = "ext:"


class Term(NamedTuple):
    """A term of a formula: the first of ``names`` that is reported. An ``optional`` term may be missing."""

    sign: int
    names: tuple[str, ...]
    optional: bool


@dataclass(frozen=True)
class LazyPattern:
    """A pattern of labels or of custom concepts, which is compiled when it is first used."""

    text: str

    @cached_property
    def fullmatch(self) -> Callable[[str], re.Match[str] | None]:
        """The function that matches a complete label or local name."""
        return re.compile(self.text).fullmatch


# Tags, and patterns for custom concepts.
TagsAndPatterns = tuple[tuple[str, ...], tuple[LazyPattern, ...]]
NO_TAGS: TagsAndPatterns = ((), ())


class Rule(NamedTuple):
    """One way to find a figure: by tags and patterns for custom tags that mean the same line, or by a formula."""

    priority: int  # 1 is the best.
    tags: tuple[str, ...]
    custom_patterns: tuple[LazyPattern, ...]
    terms: tuple[Term, ...]  # The terms of a formula; empty for other rules.
    text: str
    # The formula is not used for a filing that also reports one of these.
    unless_reported: TagsAndPatterns
    # True if custom concepts are amounts paid or spent, whose sign is ignored.
    ignores_sign: bool


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of the mapping."""

    key: str
    label: str
    statement: str
    definition: str
    balance: str | None  # "debit" or "credit".
    units: str  # "currency", "per_share" or "shares".
    # "instant", "opening" (a balance at the start of the period), "sum" (quarters add up to years), or "none".
    aggregation: str
    # The industries without this line, and the only industries with it (empty: all).
    not_for: frozenset[str]
    only_for: frozenset[str]
    # True if a fallback tag is only used if it means the same line as the preferred tag.
    is_steady: bool
    # True for a payment or expense, which is only negative by an error of the filer.
    is_outlay: bool
    # Industries in which a figure from a note is as good as one from the printed statement.
    note_industries: frozenset[str]
    # Industries in which all periods of a company use the same tag.
    single_tag_industries: frozenset[str]
    # The part of the balance sheet or section of the cash flow statement that a line must be in to be found by its
    # label, or "".
    section: str
    # A metric that sums only use if no separate line of the statement belongs to it, or "".
    complete_metric: str
    # Labels of the line of this metric.
    face_labels: LazyPattern | None
    # The subset of ``face_labels`` that is trusted even if another line has a tag of the metric.
    certain_labels: LazyPattern | None
    # Labels of lines that add up to the metric.
    part_labels: LazyPattern | None
    # Labels of lines that are added to the line of this metric.
    added_labels: LazyPattern | None
    # Labels of lines that may be the metric, but not certainly.
    possible_labels: LazyPattern | None
    # Labels of lines that belong to the metric, but are separate from its line and not included in it.
    separate_labels: LazyPattern | None
    # The subset of ``separate_labels`` for lines of the same kind. Next to one of these, a line that is only identified
    # by its tag is just a part of the metric, so it is not used.
    sibling_labels: LazyPattern | None
    # Labels of a net amount, which is the metric if its gross amount is printed above it.
    net_labels: LazyPattern | None
    # Labels that name the opposite sign of the metric, so that a line needs a declared balance to be used.
    opposite_labels: LazyPattern | None
    # Labels of headings, in addition to ``face_labels``, if the lines under a heading can make the metric.
    heading_labels: LazyPattern | None
    # Tags of totals. Without pages, a smaller figure of the same filing under another tag is a part.
    total_tags: frozenset[str]
    # True if, of two tags on one statement, the one that includes the other is used.
    prefers_containing_tag: bool
    rules: dict[str, tuple[Rule, ...]]  # By industry, the best first.
    # The priority of each tag of all rules, and the patterns for custom tags.
    tag_priorities: dict[str, int]
    custom_patterns: tuple[LazyPattern, ...]

    def has_industry(self, industry: str) -> bool:
        """Return True if statements of an industry have this line."""
        return industry not in self.not_for and (not self.only_for or industry in self.only_for)

    def list_tags(self, industry: str) -> list[str]:
        """Return the tags that mean the metric without a formula in an industry, the best first."""
        return [tag for rule in self.rules[industry] for tag in rule.tags]

    def iter_tags(self) -> Iterator[str]:
        """Yield the tags that mean the metric without a formula in any industry. A tag may be yielded twice."""
        for rules in self.rules.values():
            for rule in rules:
                yield from rule.tags

    def is_meant_by(self, label: str) -> bool:
        """Return True if a line with this label is the metric, if it is printed on its statement."""
        return self.face_labels is not None and self.face_labels.fullmatch(label) is not None

    def may_be_meant_by(self, label: str) -> bool:
        """Return True if a line with this label may be the metric, or is a part of it."""
        patterns = (self.possible_labels, self.part_labels, self.separate_labels)
        return any(pattern is not None and pattern.fullmatch(label) is not None for pattern in patterns)

    def is_meant_by_heading(self, label: str) -> bool:
        """Return True if the lines under a heading with this label make the metric."""
        if self.heading_labels is None:
            return False
        return self.is_meant_by(label) or self.heading_labels.fullmatch(label) is not None

    def get_priority(self, concept: str) -> int:
        """Return the priority of a concept that is the metric without a formula; 0 is the best.

        Return NO_PRIORITY for any other concept.
        """
        if concept in self.tag_priorities:
            return self.tag_priorities[concept]
        local_name = concept.partition(":")[2]
        if any(pattern.fullmatch(local_name) for pattern in self.custom_patterns):
            return len(self.tag_priorities)
        return NO_PRIORITY


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
    """The complete mapping."""

    version: int
    metrics: dict[str, Metric]
    derived: dict[str, DerivedMetric]
    # The kind of unit that facts of each mapped concept must have.
    unit_kinds: dict[str, str]
    # The mapped us-gaap concepts by local name, to recognise custom concepts with the same name.
    local_names: dict[str, str]
    # Patterns for custom concepts, each with the unit kind of their facts.
    custom_patterns: tuple[tuple[LazyPattern, str], ...]
    # The concepts of payments and expenses, which formulas do not use if they are tagged negative.
    outlays: frozenset[str]

    def find_concept(self, name: str) -> str | None:
        """Return the mapped concept that a reported concept is treated as, or None if no metric uses it."""
        if name in self.unit_kinds:
            return name
        local_name = name.partition(":")[2]
        if not is_extension(name) or len(local_name) > MAX_CONCEPT_CHARS:
            return None
        if local_name in self.local_names:
            return self.local_names[local_name]
        return name if any(pattern.fullmatch(local_name) for pattern, _ in self.custom_patterns) else None

    def get_unit_kind(self, concept: str) -> str:
        """Return the unit kind that facts of a mapped concept (see ``find_concept``) must have."""
        unit_kind = self.unit_kinds.get(concept)
        if unit_kind is not None:
            return unit_kind
        local_name = concept.partition(":")[2]
        return next(unit_kind for pattern, unit_kind in self.custom_patterns if pattern.fullmatch(local_name))

    def is_negative_outlay(self, key: str, value: Decimal) -> bool:
        """Return True for a payment or expense that is tagged negative. Nothing is computed from it."""
        metric = self.metrics.get(key)
        return metric is not None and metric.is_outlay and value < 0


@cache
def get_mapping() -> MetricMapping:
    """Return the current mapping."""
    return parse(_read_catalogue("metrics.toml"))


def list_keys(catalogue: str, table: str) -> list[str]:
    """Return the keys of a table of a catalogue file in order, without parsing the file."""
    return re.findall(rf"^\[{table}\.(\w+)\]", _read_catalogue(catalogue), re.MULTILINE)


def _read_catalogue(name: str) -> str:
    return get_package_folder("finapi.market.financials").joinpath(name).read_text(encoding="utf-8")


def parse(text: str) -> MetricMapping:
    """Return the mapping of a TOML document. Raise ValueError for an unknown key or industry or a bad formula."""
    raw = tomllib.loads(text)
    label_words = raw.get("labels", {})
    metrics = {key: _parse_metric(key, entry, label_words) for key, entry in raw["metric"].items()}
    derived = {key: _parse_derived(key, entry, metrics) for key, entry in raw["derived"].items()}
    for metric in metrics.values():
        _check_formulas(metric, metrics)
    unit_kinds: dict[str, str] = {}
    patterns_by_text: dict[str, tuple[LazyPattern, str]] = {}
    outlays: set[str] = set()
    for metric in metrics.values():
        for rule in _list_all_rules(metric.rules):
            other_tags, other_patterns = rule.unless_reported
            names = [*rule.tags, *_list_term_names(rule)]
            for name in (*names, *other_tags):
                if not name.startswith(FACE_PREFIX):
                    unit_kinds.setdefault(name, metric.units)
            if metric.is_outlay:
                outlays.update(names)
            for pattern in (*rule.custom_patterns, *other_patterns):
                patterns_by_text[pattern.text] = (pattern, metric.units)
    # If tags have the same local name, the first one is used.
    local_names = {name.partition(":")[2]: name for name in reversed(list(unit_kinds)) if name.startswith("us-gaap:")}
    return MetricMapping(
        version=raw["version"],
        metrics=metrics,
        derived=derived,
        unit_kinds=unit_kinds,
        local_names=local_names,
        custom_patterns=tuple(patterns_by_text.values()),
        outlays=frozenset(outlays),
    )


def parse_untrusted(text: str) -> MetricMapping:
    """Return the mapping of a document that a user wrote.

    Raise what :func:`parse` raises, and re.error for an invalid pattern.
    """
    mapping = parse(text)
    for pattern, _ in mapping.custom_patterns:
        re.compile(pattern.text)
    for metric in mapping.metrics.values():
        for field in fields(metric):
            attribute = getattr(metric, field.name)
            if isinstance(attribute, LazyPattern):
                re.compile(attribute.text)
    return mapping


def parse_formula(formula: str, *, tags: bool = False) -> tuple[Term, ...]:
    """Return the terms of a formula such as ``a + b|c - [d]``. With ``tags``, its names are concepts and not keys.

    Raise ValueError if it has no terms.
    """
    terms: list[Term] = []
    sign = 1
    for word in formula.split():
        if word in "+-":
            sign = 1 if word == "+" else -1
            continue
        optional = word.startswith("[") and word.endswith("]")
        names = word.strip("[]").split("|")
        terms.append(Term(sign, tuple(_expand_concept(name) if tags else name for name in names), optional))
    if not terms:
        raise ValueError(f"{formula!r} is not a formula")
    return tuple(terms)


def _check_formulas(metric: Metric, metrics: Mapping[str, Metric]) -> None:
    """Raise ValueError if a formula of a metric contains a word that is neither a tag nor a metric."""
    for rule in _list_all_rules(metric.rules):
        for term in rule.terms:
            for name in term.names:
                # Tags begin with a capital. Words in small letters are metrics, or lines of one (``face:capex/2``).
                word = name.partition(":")[2].partition("/")[0]
                if word.islower() and word not in metrics:
                    raise ValueError(f"metric {metric.key}: {word!r} in a formula is not a metric")


def _parse_derived(key: str, entry: Mapping[str, str], metrics: Mapping[str, Metric]) -> DerivedMetric:
    terms = parse_formula(entry["formula"])
    for term in terms:
        for name in term.names:
            if name not in metrics:
                raise ValueError(f"the formula of {key} contains {name}, which is not a metric")
    return DerivedMetric(key, entry["label"], entry["definition"], entry["formula"], terms)


_REQUIRED_KEYS = frozenset({"label", "statement", "definition", "from"})
_OPTIONAL_KEYS = frozenset(
    {
        "akin",
        "anywhere",
        "apart",
        "balance",
        "beside",
        "definitions",
        "entire",
        "face",
        "heading",
        "joined",
        "net",
        "not_for",
        "only_for",
        "opposite",
        "outlay",
        "over",
        "parts",
        "siblings",
        "steady",
        "surely",
        "totals",
        "units",
        "whole",
        "within",
    }
)


def _check_keys(key: str, entry: dict[str, Any]) -> None:
    """Raise ValueError for a missing or an unknown key of a metric's entry."""
    allowed = _REQUIRED_KEYS | _OPTIONAL_KEYS | {f"from_{industry}" for industry in INDUSTRIES}
    unknown = sorted(entry.keys() - allowed)
    if unknown:
        from difflib import get_close_matches

        matches = get_close_matches(unknown[0], allowed, 1)
        suggestion = f"; did you mean {matches[0]!r}?" if matches else ""
        raise ValueError(f"metric {key}: unknown key {unknown[0]!r}{suggestion}")
    missing = sorted(_REQUIRED_KEYS - entry.keys())
    if missing:
        raise ValueError(f"metric {key}: {missing[0]!r} is missing")


def _parse_metric(key: str, entry: dict[str, Any], label_words: dict[str, str]) -> Metric:
    _check_keys(key, entry)
    statement = entry["statement"]
    if statement not in STATEMENTS:
        raise ValueError(f"the statement of {key} is {statement}, which does not exist")
    not_for = frozenset(entry.get("not_for", ()))
    only_for = frozenset(entry.get("only_for", ()))
    if not (not_for | only_for) <= set(INDUSTRIES):
        raise ValueError(
            f"not_for or only_for of {key} contains an industry that is not one of {', '.join(INDUSTRIES)}"
        )
    common_rules = _parse_rules(key, entry, ())
    rules = dict.fromkeys(INDUSTRIES, common_rules)
    for industry in INDUSTRIES:
        if f"from_{industry}" in entry:
            rules[industry] = _parse_rules(key, entry, entry[f"from_{industry}"])
    all_rules = _list_all_rules(rules)
    tags = dict.fromkeys(tag for rule in all_rules for tag in rule.tags)
    patterns = {pattern.text: pattern for rule in all_rules for pattern in rule.custom_patterns}
    return Metric(
        key=key,
        label=entry["label"],
        statement=statement,
        definition=entry["definition"],
        balance=entry.get("balance"),
        units=entry.get("units", "currency"),
        aggregation=entry.get("over", "instant" if statement == "balance_sheet" else "sum"),
        not_for=not_for,
        only_for=only_for,
        is_steady=entry.get("steady", False),
        is_outlay=entry.get("outlay", False),
        note_industries=frozenset(entry.get("anywhere", ())),
        single_tag_industries=frozenset(entry.get("definitions", ())),
        section=entry.get("within", ""),
        complete_metric=entry.get("entire", ""),
        face_labels=_parse_labels(entry.get("face"), label_words),
        certain_labels=_parse_labels(entry.get("surely"), label_words),
        part_labels=_parse_labels(entry.get("parts"), label_words),
        added_labels=_parse_labels(entry.get("joined"), label_words),
        possible_labels=_parse_labels(entry.get("akin"), label_words),
        separate_labels=_parse_labels(entry.get("apart"), label_words),
        sibling_labels=_parse_labels(entry.get("siblings"), label_words),
        net_labels=_parse_labels(entry.get("net"), label_words),
        opposite_labels=_parse_labels(entry.get("opposite"), label_words),
        heading_labels=_parse_labels(entry.get("heading"), label_words),
        total_tags=frozenset(_parse_names(entry.get("totals", ""))[0]),
        prefers_containing_tag=entry.get("whole", False),
        rules=rules,
        tag_priorities={tag: priority for priority, tag in enumerate(tags)},
        custom_patterns=tuple(patterns.values()),
    )


def _parse_labels(text: str | None, label_words: dict[str, str]) -> LazyPattern | None:
    """Return a pattern of labels. Each <word> in it is replaced by the entry ``word`` of the table [labels]."""

    def expand(text: str) -> str:
        return re.sub(r"<([a-z]+)>", lambda match: expand(label_words[match[1]]), text)

    return None if text is None else LazyPattern(expand(text))


def _parse_rules(key: str, entry: dict[str, Any], own_texts: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules of an industry: those of ``own_texts``, which come first, and the common rules."""
    unless_reported = _parse_names(entry.get("beside", ""))
    ignores_sign = entry.get("outlay", False)
    rules: list[Rule] = []

    def add_rule(
        text: str,
        names: TagsAndPatterns = NO_TAGS,
        terms: tuple[Term, ...] = (),
        unless_reported: TagsAndPatterns = NO_TAGS,
    ) -> None:
        tags, custom_patterns = names
        rules.append(Rule(len(rules) + 1, tags, custom_patterns, terms, text, unless_reported, ignores_sign))

    for text in (*own_texts, *entry["from"]):
        if text.startswith("= "):
            formula, _, exceptions = text.removeprefix("= ").partition(" unless ")
            tags, patterns = _parse_names(exceptions)
            add_rule(
                formula,
                terms=parse_formula(formula, tags=True),
                unless_reported=(unless_reported[0] + tags, unless_reported[1] + patterns),
            )
        else:
            add_rule(text, names=_parse_names(text))
    if "face" in entry:
        add_rule(LABEL_RULE, names=((FACE_PREFIX + key,), ()))
    if "parts" in entry or "heading" in entry:
        # A sum has at least two parts, so the others are optional.
        part_terms = [Term(1, (f"{FACE_PREFIX}{key}/{number}",), number > 2) for number in range(1, MAX_PARTS + 1)]
        add_rule(SUM_OF_LINES, terms=tuple(part_terms))
    return tuple(rules)


def _list_all_rules(rules_by_industry: Mapping[str, tuple[Rule, ...]]) -> list[Rule]:
    """Return the rules of all industries. Those that industries share are returned once."""
    distinct_lists = {id(rules): rules for rules in rules_by_industry.values()}
    return [rule for rules in distinct_lists.values() for rule in rules]


def _list_term_names(rule: Rule) -> list[str]:
    return [name for term in rule.terms for name in term.names]


def _parse_names(text: str) -> TagsAndPatterns:
    words = text.split()
    tags = tuple(_expand_concept(word) for word in words if not word.startswith(_CUSTOM_PREFIX))
    patterns = tuple(
        LazyPattern(word.removeprefix(_CUSTOM_PREFIX)) for word in words if word.startswith(_CUSTOM_PREFIX)
    )
    return tags, patterns


def _expand_concept(word: str) -> str:
    """Return the full name of a concept: "us-gaap:Assets" for "Assets", "ifrs-full:Assets" for "ifrs:Assets"."""
    prefix, colon, local_name = word.partition(":")
    return f"{_TAXONOMY_BY_PREFIX[prefix]}:{local_name}" if colon else f"us-gaap:{word}"
