"""The rules of the mapping in words, as the dictionary tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from finapi.market.financials.faces import COSTS, MEZZANINE
from finapi.market.financials.metrics import FACE, INDUSTRIES, Metric, Rule, Term

_OF = {"bank": "Of banks: ", "insurer": "Of insurers: ", "reit": "Of real estate trusts: "}
_TAXONOMIES = {"us-gaap": "", "ifrs-full": " of IFRS", "dei": " of the cover page", "srt": ""}


def of(metric: Metric) -> list[str]:
    """Every rule of a metric in its order, those of one industry first; then what holds for all of them."""
    every = metric.rules[INDUSTRIES[0]]
    own = {one: metric.rules[one][: len(metric.rules[one]) - len(every)] for one in INDUSTRIES[1:]}
    told = [_OF[industry] + rule(one, metric) for industry, rules in own.items() for one in rules]
    return [*told, *(rule(one, metric) for one in every), *_general(metric)]


def rule(one: Rule, metric: Metric) -> str:
    """One rule as a sentence."""
    page = metric.statement.replace("_", " ")
    if one.tags and one.tags[0].startswith(FACE):
        part = f" among its {metric.within.replace('_', ' ')}" if metric.within else ""
        return f"The line of the {page}{part} whose label means it, where none stands under a tag."
    if one.terms and one.terms[0].names[0].startswith(FACE):
        if metric.key == MEZZANINE:
            return "The lines of the balance sheet that stand between its liabilities and its equity, summed."
        if metric.key == COSTS:
            return "The lines of cost that stand between revenue and gross profit and make up the difference, summed."
        return f"The lines of the {page} whose labels say that they make it together, summed."
    if one.terms:
        return f"{_sum(one.terms)}, of one filing."
    names = ", else ".join(_taken(one.tags, one.own))
    return f"What is told under {names}."


def _taken(tags: Iterable[str], own: Iterable[re.Pattern[str]]) -> Iterator[str]:
    yield from map(_named, tags)
    yield from (f"a tag of the filer's own that reads {pattern.pattern}" for pattern in own)


def _named(concept: str) -> str:
    taxonomy, _, name = concept.partition(":")
    return name + _TAXONOMIES[taxonomy]


def _sum(terms: Iterable[Term]) -> str:
    words: list[str] = []
    for term in terms:
        names = " or else ".join(map(_named, term.names))
        sign = ("plus " if term.sign > 0 else "less ") if words else "" if term.sign > 0 else "Minus "
        words.append(f"{sign}{names}{' where that is told' if term.optional else ''}")
    return ", ".join(words)


def _general(metric: Metric) -> Iterator[str]:
    """What holds for all rules of a metric."""
    if not set(INDUSTRIES) <= metric.anywhere:
        of = f" (not of {', '.join(sorted(metric.anywhere))})" if metric.anywhere else ""
        page = metric.statement.replace("_", " ")
        yield f"A line on the face of the {page} goes before any of a note, where the filing's pages are held{of}."
        yield "Where they are not, the tags decide that stand there in the company's nearest filing; then their order."
    if metric.statement == "balance_sheet" and metric.units == "currency" and not metric.anywhere:
        yield "What the balance sheet tells in brackets is a part of the line that it stands with, and no figure."
    beside = next((one.beside for rules in metric.rules.values() for one in rules if any(one.beside)), ((), ()))
    if any(beside):
        yield f"No sum is made of a filing that also tells {', or '.join(_taken(*beside))}."
    if metric.entire:
        yield f"No sum is made of {metric.entire} where a line beside it belongs to it."
    if metric.apart is not None:
        yield "Lines beside it that belong to it, and are not in it, are named with it."
    if metric.joined is not None:
        yield (
            "Lines of its parts that stand beside it are added to it: where none of them holds another, as declared or "
            "by order and values, they tell all of its periods, and none is negative."
        )
    if metric.siblings is not None:
        yield (
            "A line that is known by its tag alone is none where another of its kind stands beside it, which is named "
            "then: `not_mapped`."
        )
    if metric.whole:
        yield (
            "Of two tags on one statement that serves which holds the other: by the sums that the filing declares, "
            "else by the order and values of the lines."
        )
    if metric.steady:
        yield "A later rule is left out where it disagrees with an earlier one in most of the periods that both tell."
        yield "A figure whose series goes on under tags of another line, as far as is known, says so: `tag_breaks`."
    if metric.definitions:
        yield f"Of {' and '.join(sorted(metric.definitions))}s one tag serves a company, that of its newest balance."
    if metric.outlay:
        yield "It is an amount paid or spent: nothing is computed from one that is tagged negative."
    if metric.over == "none":
        yield "It is never made of other periods by adding or subtracting."
