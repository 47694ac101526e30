"""The concentration of an issuer's shares: the percentages of its largest holders.

Each holder counts with its current figure (``reported_figures``). Holders who file together mostly report the same
shares. All holders who are connected by joint filings are therefore merged, and only the largest of them counts: if A
files with B, and B with C, the largest of the three stands for all.

The percentages for 13F and for insiders' forms are separate sums, over the figures of these forms only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import Time, build_record
from finapi.market.ownership import reported_figures
from finapi.market.ownership.filing_actions import Source
from finapi.market.ownership.reported_figures import Gaps, HolderFigure, PercentCalculator, SharesOutstanding
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction

_MAX_LISTED_HOLDERS = 25


class CountedHolder(TypedDict):
    """A holder, or a group of joint filers, with the figure that is counted for it."""

    holderUuid: str
    percent: Decimal
    shares: Decimal
    source: Source
    accessionNumber: str
    asOf: Time | None


class ConcentrationCoverage(TypedDict):
    """The number of holders that are counted, and of those that are left out."""

    holders: Annotated[int, "Counted holders; joint filers count once."]
    withoutPercent: Annotated[int, "Holders left out because no percentage is known."]
    withoutPercentReasons: Annotated[dict[str, int], "Number of omitted holders by reason, a code as in gaps."]
    heldPercent: Annotated[
        Decimal | None, "Percentage of all counted holders; above 100 if several forms report the same shares."
    ]
    unknownPercent: Annotated[
        Decimal | None,
        "Minimum percentage of holders who file no forms; null if heldPercent is above 100.",
    ]
    gaps: Gaps


class OwnershipConcentration(TypedDict):
    """The distribution of an issuer's shares, in per cent of the shares outstanding."""

    issuerCik: str
    issuerTicker: str | None
    asOf: Annotated[Time | None, "The latest day of a counted figure."]
    top5Percent: Decimal | None
    top10Percent: Decimal | None
    top25Percent: Decimal | None
    herfindahl: Annotated[Decimal | None, "Sum of the squared percentages of the counted holders, 0 to 10,000."]
    institutionalPercent: Annotated[Decimal | None, "From 13F reports only."]
    insiderPercent: Annotated[Decimal | None, "From Forms 3, 4 and 5 only, without derivatives."]
    sharesOutstanding: SharesOutstanding
    coverage: ConcentrationCoverage
    holders: Annotated[list[CountedHolder], "The 25 largest."]
    gaps: Gaps


class _Stake(NamedTuple):
    """A counted figure, as a percentage."""

    percent: Decimal
    figure: HolderFigure


def compute_concentration(tx: Transaction, company: Company) -> OwnershipConcentration:
    """Return the concentration of a company's shares."""
    calculator = PercentCalculator(tx, company.cik, company.ticker)
    figures_by_holder = reported_figures.load_figures_of_issuer(tx, company.cik)
    joint_holders = _find_joint_holders(tx, company.cik)
    stakes, reasons = _list_stakes(figures_by_holder.values(), joint_holders, calculator)
    managers_figures = _select_source(figures_by_holder, "form_13f")
    managers_stakes, _ = _list_stakes(managers_figures, {}, calculator)
    insiders_figures = _select_source(figures_by_holder, "form_4")
    insiders_stakes, _ = _list_stakes(insiders_figures, joint_holders, calculator)
    percents = [stake.percent for stake in stakes]
    figures = {
        "top5Percent": _sum_rounded(percents[:5]),
        "top10Percent": _sum_rounded(percents[:10]),
        "top25Percent": _sum_rounded(percents[:25]),
        "herfindahl": _sum_rounded([percent**2 for percent in percents]),
        "institutionalPercent": _sum_rounded([stake.percent for stake in managers_stakes]),
        "insiderPercent": _sum_rounded([stake.percent for stake in insiders_stakes]),
    }
    gap = calculator.shares_outstanding["gap"] or _find_commonest(reasons) or "no_figure_of_shares"
    return build_record(
        OwnershipConcentration,
        figures,
        issuerCik=company.padded_cik,
        issuerTicker=company.ticker,
        asOf=reported_figures.format_day(max((stake.figure.day for stake in stakes), default=None)),
        sharesOutstanding=calculator.shares_outstanding,
        coverage=_build_coverage(percents, reasons, gap),
        holders=_list_counted_holders(tx, stakes[:_MAX_LISTED_HOLDERS]),
        gaps={name: gap for name, figure in figures.items() if figure is None},
    )


def _select_source(figures_by_holder: Mapping[str, Sequence[HolderFigure]], source: str) -> list[list[HolderFigure]]:
    """Return for each holder the figures of one source."""
    return [[figure for figure in figures if figure.source == source] for figures in figures_by_holder.values()]


def _list_stakes(
    figures_by_holder: Iterable[Sequence[HolderFigure]], joint_holders: Mapping[str, str], calculator: PercentCalculator
) -> tuple[list[_Stake], Counter[str]]:
    """Return the stakes, the largest first, and the number of holders without a percentage, by reason.

    Only the largest stake of a group of joint filers is returned.
    """
    largest: dict[str, _Stake] = {}
    reasons: Counter[str] = Counter()
    for figures in figures_by_holder:
        if not figures:
            continue
        current = reported_figures.choose_current(figures)
        if current.shares == 0:
            continue
        percent, gap = calculator.compute(current.figure, current.shares)
        if percent is None:
            reasons[current.gap or gap or "no_figure_of_shares"] += 1
            continue
        stake = _Stake(percent, current.figure)
        holder = current.figure.holder
        representative = joint_holders.get(holder, holder)
        other = largest.get(representative)
        if other is None or (stake.percent, stake.figure.holder) > (other.percent, other.figure.holder):
            largest[representative] = stake
    return sorted(largest.values(), key=lambda stake: (-stake.percent, stake.figure.holder)), reasons


def _find_joint_holders(tx: Transaction, issuer: int) -> dict[str, str]:
    """Return a representative for each joint filer, which is the same for all connected filers."""
    parents: dict[str, str] = {}  # A forest: holders with the same root are connected.

    def find_root(holder: str) -> str:
        while parents.setdefault(holder, holder) != holder:
            holder = parents[holder]
        return holder

    for _, rows in groupby(tx.list_rows("joint_filers", issuer=issuer), key=lambda row: row["id"]):
        first, *other_holders = [row["holder"] for row in rows]
        for other in other_holders:
            parents[find_root(other)] = find_root(first)
    return {holder: find_root(holder) for holder in list(parents)}


def _find_commonest(reasons: Counter[str]) -> str | None:
    """Return the most frequent reason (on a tie the last in the alphabet), or None if there is none."""
    return max(reasons, key=lambda reason: (reasons[reason], reason), default=None)


def _build_coverage(percents: Sequence[Decimal], reasons: Counter[str], gap: str) -> ConcentrationCoverage:
    held_percent = _sum_rounded(percents)
    unknown = None if held_percent is None or held_percent > 100 else 100 - held_percent
    gaps = {}
    if held_percent is None:
        gaps["heldPercent"] = gap
    if unknown is None:
        gaps["unknownPercent"] = "forms_overlap" if held_percent else gap
    return {
        "holders": len(percents),
        "withoutPercent": reasons.total(),
        "withoutPercentReasons": dict(sorted(reasons.items())),
        "heldPercent": held_percent,
        "unknownPercent": unknown,
        "gaps": gaps,
    }


def _sum_rounded(percents: Sequence[Decimal]) -> Decimal | None:
    """Return the sum, rounded once; None if there is nothing to sum up."""
    return reported_figures.round_percent(sum(percents, Decimal())) if percents else None


def _list_counted_holders(tx: Transaction, stakes: Sequence[_Stake]) -> list[CountedHolder]:
    figures = reported_figures.list_with_filings(tx, [stake.figure for stake in stakes])
    return [
        build_record(
            CountedHolder,
            {**figure},
            holderUuid=stake.figure.holder,
            percent=reported_figures.round_percent(stake.percent),
            accessionNumber=figure["accession"],
            asOf=reported_figures.format_day(figure["day"]),
        )
        for stake, figure in zip(stakes, figures, strict=True)
    ]
