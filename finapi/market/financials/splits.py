"""Splits of a company's shares as its own filings show them: per-share figures and counts of shares of one period that
a later filing restates by one factor."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple, TypedDict

from finapi.core.records import Date
from finapi.market.financials.fact_book import PERIODIC, FactBook, SourceFiling, Vintage
from finapi.market.financials.figures import Figure
from finapi.market.financials.metrics import FACE, MetricMapping

# By what factor shares are split, and how far restated counts may be from it.
FACTORS = [*map(Decimal, ("1.5", "2.5")), *map(Decimal, (*range(2, 9), 10, 12, 15, 20, 25, 30, 40, 50))]
NEAR = Decimal("0.002")
# A figure of a share is rounded to the cent; one that is too small says nothing.
HALF_A_CENT, LEAST_EACH = Decimal("0.005"), Decimal("0.1")
# One figure alone may be an error of its filer.
ENOUGH = 2


class ShareSplit(NamedTuple):
    """A split: shares are ``factor`` times as many in filings from ``since`` on, and not yet in those up to
    ``before``."""

    factor: Decimal
    before: SourceFiling
    since: SourceFiling


class SplitShown(TypedDict):
    """A split as answers tell it."""

    factor: Decimal
    not_before: Date | None
    restated_by: str
    restated_at: Date | None


def shown(split: ShareSplit) -> SplitShown:
    """A split between two filings: after the day of the one, told by the other."""
    return {
        "factor": split.factor.normalize() + 0,
        "not_before": split.before.filed,
        "restated_by": split.since.accession,
        "restated_at": split.since.filed,
    }


def found(book: FactBook, mapping: MetricMapping) -> list[ShareSplit]:
    """The splits that filings of a book show, the earliest first."""
    evidence = sorted(_evidence(book, mapping))
    splits: list[ShareSplit] = []
    for factor in dict.fromkeys(factor for factor, _, _ in evidence):
        cluster: list[int] = []
        for _, before, since in (one for one in evidence if one[0] == factor):
            if cluster and before < cluster[1] and since > cluster[0]:
                cluster = [max(before, cluster[0]), min(since, cluster[1]), cluster[2] + 1]
            else:
                splits += _split(book, factor, cluster)
                cluster = [before, since, 1]
        splits += _split(book, factor, cluster)
    return sorted(splits, key=lambda one: one.since.filed or "")


def _split(book: FactBook, factor: Decimal, cluster: list[int]) -> list[ShareSplit]:
    if not cluster or cluster[2] < ENOUGH:
        return []
    return [ShareSplit(factor, book.filings[cluster[0]], book.filings[cluster[1]])]


def _evidence(book: FactBook, mapping: MetricMapping) -> Iterator[tuple[Decimal, int, int]]:
    """The factors of restated figures, with the places of the filings before and after."""
    for concept, by_key in book.vintages.items():
        units = "currency" if concept.startswith(FACE) else mapping.units(concept)
        for vintages in by_key.values() if units != "currency" else ():
            told = [one for one in vintages if book.ranks[one.place] == PERIODIC and Decimal(one.value) > 0]
            for one, later in pairwise(told):
                if one.value != later.value and (factor := _factor(units, one, later)) is not None:
                    yield factor, one.place, later.place


def _factor(units: str, one: Vintage, later: Vintage) -> Decimal | None:
    before, after = Decimal(one.value), Decimal(later.value)
    if units == "shares":
        least, most = after / before * (1 - NEAR), after / before * (1 + NEAR)
    elif min(before, after) < LEAST_EACH:
        return None
    else:
        least = (before - HALF_A_CENT) / (after + HALF_A_CENT)
        most = (before + HALF_A_CENT) / (after - HALF_A_CENT)
    both = (*FACTORS, *(1 / factor for factor in FACTORS))
    return next((factor for factor in both if least <= factor <= most), None)


def factor_of(splits: list[ShareSplit], filing: SourceFiling) -> Decimal:
    """How many of today's shares one of a filing's is; 1 for a filing of unknown day."""
    factor = Decimal(1)
    for split in splits:
        if filing.filed is not None and filing.filed < (split.since.filed or ""):
            factor *= split.factor
    return factor


def adjusted(figure: Figure, units: str, factor: Decimal) -> Figure:
    """A figure of shares, or of one share, in today's shares."""
    value = figure.value * factor if units == "shares" else round(figure.value / factor, 6)
    return figure._replace(value=value.normalize() + 0)
