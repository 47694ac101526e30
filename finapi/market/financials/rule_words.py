"""The rules of the mapping in words, for the dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from finapi.market.financials.faces import COSTS, MEZZANINE
from finapi.market.financials.metric_mapping import FACE_PREFIX, INDUSTRIES, Metric, Rule, Term

_OF = {"bank": "Of banks: ", "insurer": "Of insurers: ", "reit": "Of real estate trusts: "}
_TAXONOMIES = {"us-gaap": "", "ifrs-full": " (IFRS)", "dei": " (cover page)", "srt": ""}


def describe_rules(metric: Metric) -> list[str]:
    """Every rule of a metric in its order, those of one industry first; then what holds for all of them."""
    every = metric.rules[INDUSTRIES[0]]
    own = {one: metric.rules[one][: len(metric.rules[one]) - len(every)] for one in INDUSTRIES[1:]}
    told = [_OF[industry] + describe_rule(one, metric) for industry, rules in own.items() for one in rules]
    return [*told, *(describe_rule(one, metric) for one in every), *_general(metric)]


def describe_rule(one: Rule, metric: Metric) -> str:
    """One rule as a sentence."""
    page = metric.statement.replace("_", " ")
    if one.tags and one.tags[0].startswith(FACE_PREFIX):
        part = f" among its {metric.within.replace('_', ' ')}" if metric.within else ""
        return f"The line of the {page}{part} whose label has this meaning, if no tag identifies one."
    if one.terms and one.terms[0].names[0].startswith(FACE_PREFIX):
        if metric.key == MEZZANINE:
            return "The sum of the lines between liabilities and equity on the balance sheet."
        if metric.key == COSTS:
            return "The sum of the cost lines between revenue and gross profit, if they make up the difference."
        return f"The sum of the lines of the {page} whose labels name its parts."
    if one.terms:
        return f"{_sum(one.terms)}, all from one filing."
    said = ", else ".join(_taken(one.tags, one.custom_patterns))
    return f"{said[0].upper()}{said[1:]}."


def _taken(tags: Iterable[str], own: Iterable[re.Pattern[str]]) -> Iterator[str]:
    yield from map(_named, tags)
    yield from (f"a custom tag matching {pattern.pattern}" for pattern in own)


def _named(concept: str) -> str:
    taxonomy, _, name = concept.partition(":")
    return name + _TAXONOMIES[taxonomy]


def _sum(terms: Iterable[Term]) -> str:
    words: list[str] = []
    for term in terms:
        names = " or else ".join(map(_named, term.names))
        sign = ("plus " if term.sign > 0 else "less ") if words else "" if term.sign > 0 else "Minus "
        words.append(f"{sign}{names}{' if reported' if term.optional else ''}")
    return ", ".join(words)


def _general(metric: Metric) -> Iterator[str]:
    """What holds for all rules of a metric."""
    if not set(INDUSTRIES) <= metric.anywhere:
        of = f" (not of {', '.join(sorted(metric.anywhere))})" if metric.anywhere else ""
        page = metric.statement.replace("_", " ")
        yield f"If the filing's pages are held, a line on the face of the {page} takes precedence over a note{of}."
        yield "If not, the tags on the face in the company's nearest filing decide, then the order of the rules."
    if metric.statement == "balance_sheet" and metric.units == "currency" and not metric.anywhere:
        yield "Amounts in parentheses on the balance sheet are parts of their line and are not used as figures."
    beside = next(
        (one.unless_reported for rules in metric.rules.values() for one in rules if any(one.unless_reported)), ((), ())
    )
    if any(beside):
        yield f"Nothing is summed for a filing that also reports {', or '.join(_taken(*beside))}."
    if metric.entire:
        yield f"No sum uses {metric.entire} if another line beside it belongs to it."
    if metric.apart is not None:
        yield "Lines that belong to it but are not included are named beside it."
    if metric.joined is not None:
        yield (
            "Lines of its parts on the same statement are added if none of them contains another (by the declared "
            "sums, or by order and values), they cover all of its periods, and none is negative."
        )
    if metric.siblings is not None:
        yield (
            "A line identified only by its tag is not used if another line of its kind stands beside it: the figure is "
            "`not_mapped`, and names that line."
        )
    if metric.whole:
        yield (
            "Of two tags on one statement, the one that contains the other is used: by the sums that the filing "
            "declares, else by the order and values of the lines."
        )
    if metric.steady:
        yield "A later rule is skipped if it disagrees with an earlier one in most of the periods that both cover."
        yield "Where a series continues under tags that may mean another line, `tag_breaks` says so."
    if metric.definitions:
        yield f"For {' and '.join(sorted(metric.definitions))}s one tag is used: that of the newest balance sheet."
    if metric.outlay:
        yield "An amount paid or spent; nothing is computed from one that is tagged negative."
    if metric.over == "none":
        yield "Never derived by adding or subtracting other periods."
