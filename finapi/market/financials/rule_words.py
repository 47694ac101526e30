"""The rules of the mapping as English sentences, for the dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from finapi.market.financials.faces import COSTS, MEZZANINE
from finapi.market.financials.metric_mapping import (
    FACE_PREFIX,
    INDUSTRIES,
    NO_TAGS,
    SUM_OF_LINES,
    LazyPattern,
    Metric,
    Rule,
    TagsAndPatterns,
    Term,
)

_INDUSTRY_PREFIXES = {"bank": "Of banks: ", "insurer": "Of insurers: ", "reit": "Of real estate trusts: "}
_TAXONOMY_SUFFIXES = {"us-gaap": "", "ifrs-full": " (IFRS)", "dei": " (cover page)", "srt": ""}


def describe_rules(metric: Metric) -> list[str]:
    """Return a sentence for every rule of a metric, rules of one industry first, and then the general sentences."""
    first_industry, *other_industries = INDUSTRIES
    common_rules = metric.rules[first_industry]
    sentences = []
    for industry in other_industries:
        # The list of an industry ends with the common rules, which are left out here.
        industry_rules = metric.rules[industry][: len(metric.rules[industry]) - len(common_rules)]
        sentences += [_INDUSTRY_PREFIXES[industry] + describe_rule(rule, metric) for rule in industry_rules]
    sentences += [describe_rule(rule, metric) for rule in common_rules]
    sentences += _iter_general_sentences(metric)
    return sentences


def describe_rule(rule: Rule, metric: Metric) -> str:
    """Return one rule as a sentence."""
    statement = _name_statement(metric)
    if rule.tags and rule.tags[0].startswith(FACE_PREFIX):
        section = _describe_section(metric)
        return f"The line of the {statement}{section} whose label has this meaning, if no tag identifies one."
    if rule.text == SUM_OF_LINES:
        if metric.key == MEZZANINE:
            return "The sum of the lines between liabilities and equity on the balance sheet."
        if metric.key == COSTS:
            return "The sum of the cost lines between revenue and gross profit, if they make up the difference."
        if metric.heading_labels is not None:
            return f"The sum of the lines of the {statement} whose labels, or the heading above them, name its parts."
        return f"The sum of the lines of the {statement} whose labels name its parts."
    if rule.terms:
        general_names = _list_names(*_find_unless_reported(metric))
        exceptions = [name for name in _list_names(*rule.unless_reported) if name not in general_names]
        condition = f", unless it reports {' or '.join(exceptions)}" if exceptions else ""
        description = _describe_sum(rule.terms)
        return f"{description[0].upper()}{description[1:]}, all from one filing{condition}."
    names = ", else ".join(_list_names(rule.tags, rule.custom_patterns))
    return f"{names[0].upper()}{names[1:]}."


def _name_statement(metric: Metric) -> str:
    return metric.statement.replace("_", " ")


def _describe_section(metric: Metric) -> str:
    if not metric.section:
        return ""
    if metric.statement == "cash_flow_statement":
        return f" in its {metric.section} section"
    return f" among its {metric.section.replace('_', ' ')}"


def _list_names(tags: Iterable[str], custom_patterns: Iterable[LazyPattern]) -> list[str]:
    return [
        *(_name_concept(tag) for tag in tags),
        *(f"a custom tag matching {pattern.text}" for pattern in custom_patterns),
    ]


def _name_concept(concept: str) -> str:
    taxonomy, _, local_name = concept.partition(":")
    if concept.startswith(FACE_PREFIX):
        return f"the line labelled as {local_name}"
    return local_name + _TAXONOMY_SUFFIXES[taxonomy]


def _describe_sum(terms: Sequence[Term]) -> str:
    descriptions = []
    for index, term in enumerate(terms):
        if index > 0:
            sign = "plus " if term.sign > 0 else "less "
        else:
            sign = "" if term.sign > 0 else "Minus "
        names = " or else ".join(map(_name_concept, term.names))
        condition = " if reported" if term.optional else ""
        descriptions.append(f"{sign}{names}{condition}")
    return ", ".join(descriptions)


def _find_unless_reported(metric: Metric) -> TagsAndPatterns:
    """Return the tags that exclude every formula of a metric if they are reported."""
    exclusions = [
        rule.unless_reported for rules in metric.rules.values() for rule in rules if any(rule.unless_reported)
    ]
    if not exclusions:
        return NO_TAGS
    first_tags, first_patterns = exclusions[0]
    return (
        tuple(tag for tag in first_tags if all(tag in tags for tags, _ in exclusions)),
        tuple(pattern for pattern in first_patterns if all(pattern in patterns for _, patterns in exclusions)),
    )


def _iter_general_sentences(metric: Metric) -> Iterator[str]:
    """Yield the sentences that apply to all rules of a metric."""
    if not set(INDUSTRIES) <= metric.note_industries:
        exceptions = f" (not of {', '.join(sorted(metric.note_industries))})" if metric.note_industries else ""
        statement = _name_statement(metric)
        yield (
            f"If finapi has the filing's pages, a line on the face of the {statement} takes precedence over a note"
            f"{exceptions}."
        )
        yield "If not, the tags on the face in the company's nearest filing decide, then the order of the rules."
    if metric.statement == "balance_sheet" and metric.units == "currency" and not metric.note_industries:
        yield "Amounts in parentheses on the balance sheet are parts of their line and are not used as figures."
    unless_reported = _list_names(*_find_unless_reported(metric))
    if unless_reported:
        yield f"Nothing is summed for a filing that also reports {', or '.join(unless_reported)}."
    if metric.complete_metric:
        yield f"No sum uses {metric.complete_metric} if a separate line of the statement belongs to it too."
    if metric.separate_labels is not None:
        yield "Lines that belong to it but are not included are named in `beside` of its provenance."
    if metric.added_labels is not None:
        yield (
            "Lines of its parts on the same statement are added if none of them contains another (by the declared "
            "sums, or by order and values), they cover all of its periods, and none is negative."
        )
    if metric.net_labels is not None:
        yield (
            "A line labelled as a net amount is preferred to the tags if it equals a gross amount above it less the "
            "lines between them."
        )
    if metric.total_tags:
        totals = ", ".join(sorted(map(_name_concept, metric.total_tags)))
        yield (
            f"If finapi does not have the filing's pages, a smaller figure than the same filing reports as {totals} is "
            "a part and not used."
        )
    if metric.sibling_labels is not None:
        yield (
            "A line identified only by its tag is not used if the statement has another line of its kind: the figure "
            "is `not_mapped`, and names that line."
        )
    if metric.prefers_containing_tag:
        yield (
            "Of two tags on one statement, the one that contains the other is used: by the sums that the filing "
            "declares, else by the order and values of the lines."
        )
    if metric.is_steady:
        yield "A later rule is skipped if it disagrees with an earlier one in most of the periods that both cover."
        yield "Where a series continues under tags that may mean another line, `tag_breaks` says so."
    if metric.single_tag_industries:
        industries = " and ".join(sorted(metric.single_tag_industries))
        yield f"For {industries}s one tag is used: that of the newest balance sheet."
    if metric.is_outlay:
        yield (
            "An amount paid or spent: one that is tagged negative is corrected if the filing's sums prove its sign, or "
            "if its tag is IFRS; otherwise nothing is computed from it."
        )
    if metric.aggregation == "none":
        yield "Never derived by adding or subtracting other periods."
