"""Share counts and per-share figures that filings report by class of shares only.

A company with two classes of common shares often reports earnings per share, average shares and the counts on its cover
page for each class, and for all shares together nothing. Counts are then added up, which ratios and screens need.
Per-share figures have no sum: the cell is missing, and the row names the figures of the classes.

Counts are only added if that is certain to count every share once:

- every class of common shares that the filing mentions is included, and preferred shares are left out;
- for averages with earnings per share, the earnings of the classes add up to the income of the company. They do not
  where the average of one class already contains the others, as if they were converted.

Example: 40 million shares of class A with earnings of 2.00 and 11 million of class B with 1.80 earn 99.8 million
together. The income is 100 million, so there are 51 million shares on average.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache

from finapi.market.financials.fact_book import PERIODIC, UNFILED, ClassFact, FactRow, SourceFiling
from finapi.market.financials.metric_mapping import Metric, MetricMapping

CLASS_AXES = frozenset(
    [
        "us-gaap:StatementClassOfStockAxis",
        "ifrs-full:ClassesOfShareCapitalAxis",
        "ifrs-full:ClassesOfOrdinarySharesAxis",
    ]
)
# Members that are not common shares.
_NOT_COMMON = re.compile(r".*(Preferred|Preference|Warrant|Right|Note|Debenture|Bond|Treasury|Restricted|Option).*")
# The member for all common shares, next to which classes are parts.
ALL_COMMON = "us-gaap:CommonStockMember"
# The earnings of the classes may differ from the income by this factor, because of rounding and preferred dividends.
MAX_EARNINGS_TO_INCOME = Decimal("1.1")
# A filing that lacks one of these metrics may report it by class.
_CLASS_KEYS = ("eps_basic", "eps_diluted", "weighted_average_shares_basic", "shares_outstanding")


@lru_cache(maxsize=4)
def list_share_concepts(mapping: MetricMapping) -> frozenset[str]:
    """Return the concepts of share counts and per-share figures."""
    return frozenset(
        tag
        for metric in mapping.metrics.values()
        if metric.units != "currency"
        for tag in metric.iter_tags()
        if ":" in tag
    )


def list_filings_without_totals(
    filings: Sequence[SourceFiling], rows: Iterable[FactRow], mapping: MetricMapping
) -> list[int]:
    """Return the indexes of the reports that lack a share count or a per-share figure of all shares."""
    concepts = list_share_concepts(mapping)
    keys_by_concept: dict[str, set[str]] = {}
    for key in _CLASS_KEYS:
        for tag in mapping.metrics[key].iter_tags():
            keys_by_concept.setdefault(tag, set()).add(key)
    reported: dict[int, set[str]] = {}
    for row in rows:
        if row.concept in concepts:
            reported.setdefault(row.filing_index, set()).update(keys_by_concept.get(row.concept, ()))
    # Companyfacts documents have no dimensions.
    return [
        filing_index
        for filing_index, filing in enumerate(filings)
        if filing.source != "companyfacts"
        and filing.source_rank in (PERIODIC, UNFILED)
        and len(reported.get(filing_index, ())) < len(_CLASS_KEYS)
    ]


def select_common(facts: Iterable[ClassFact]) -> dict[str, ClassFact]:
    """Return the facts of classes of common shares by member."""
    common = {fact.member: fact for fact in facts if not _NOT_COMMON.fullmatch(fact.member.partition(":")[2])}
    if len(common) > 1:
        common.pop(ALL_COMMON, None)
    return common


def can_be_added(
    metric: Metric,
    counts: Mapping[str, Decimal],
    known_members: Collection[str],
    earnings_per_share: Mapping[str, Decimal],
    income: Decimal | None,
) -> bool:
    """Return True if the counts of classes are certain to count every share once.

    ``known_members`` are the classes of common shares that the filing mentions anywhere.
    """
    if not counts or not counts.keys() >= set(known_members):
        return False
    if metric.aggregation != "none" or not earnings_per_share or income is None:
        return True
    if not earnings_per_share.keys() >= counts.keys():
        return True
    earnings = sum((earnings_per_share[member] * count for member, count in counts.items()), Decimal(0))
    if not earnings or not income:
        return True
    ratio = earnings / income
    return 1 / MAX_EARNINGS_TO_INCOME < ratio < MAX_EARNINGS_TO_INCOME
