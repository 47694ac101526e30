"""How much of an issuer its largest holders have, of the shares that its cover page counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import Time, build_record
from finapi.market.ownership import issuer_holders
from finapi.market.ownership.holder_profiles import Source
from finapi.market.ownership.issuer_holders import Divider, Gaps, SharesOutstanding, ToldFigure
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction

_SHOWN = 25


class CountedHolder(TypedDict):
    """A holder, or several who file together, as concentration counts it: once, by one figure of one form."""

    holderUuid: str
    percent: Decimal
    shares: Decimal
    source: Source
    accessionNumber: str
    asOf: Time | None


class ConcentrationCoverage(TypedDict):
    """What the figures are made of, and what they leave out."""

    holders: Annotated[int, "Counted, those who file together once."]
    withoutPercent: Annotated[int, "Holders who are left out because no percentage is known."]
    withoutPercentReasons: Annotated[dict[str, int], "How many of them by reason, in the words of gaps."]
    heldPercent: Annotated[Decimal | None, "Of all who are counted; above 100 where forms tell the same shares again."]
    unknownPercent: Annotated[
        Decimal | None,
        "At least so much is left to holders of whom no form tells; null where heldPercent is above 100.",
    ]
    gaps: Gaps


class OwnershipConcentration(TypedDict):
    """How the shares of an issuer are distributed, in per cent of those outstanding."""

    issuerCik: str
    issuerTicker: str | None
    asOf: Annotated[Time | None, "The latest day of a figure that is counted."]
    top5Percent: Decimal | None
    top10Percent: Decimal | None
    top25Percent: Decimal | None
    herfindahl: Annotated[Decimal | None, "Sum of squared percentages, 0 to 10,000, of the holders that are counted."]
    institutionalPercent: Annotated[Decimal | None, "By 13F reports alone."]
    insiderPercent: Annotated[Decimal | None, "By Forms 3, 4 and 5 alone, derivatives left out."]
    sharesOutstanding: SharesOutstanding
    coverage: ConcentrationCoverage
    holders: Annotated[list[CountedHolder], "The 25 largest."]
    gaps: Gaps


class _Part(NamedTuple):
    percent: Decimal
    figure: ToldFigure


def of_issuer(tx: Transaction, company: Company) -> OwnershipConcentration:
    """The concentration of a company's shares.

    Each holder counts with the one figure that stands for its position; of those who stand on one filing, who mostly
    report the same shares, the largest counts for all. Parts by 13F and by insiders' forms are sums of their own.
    """
    divider = Divider(tx, company.cik, company.ticker)
    figures, groups = issuer_holders.of_everybody(tx, company.cik), _groups(tx, company.cik)
    counted, without = _largest(figures.values(), groups, divider)
    managers, insiders = (
        _largest(([one for one in held if one.source == source] for held in figures.values()), joint, divider)[0]
        for source, joint in (("form_13f", {}), ("form_4", groups))
    )
    parts = [one.percent for one in counted]
    sums = {f"top{most}Percent": parts[:most] for most in (5, 10, 25)} | {
        "herfindahl": [part**2 for part in parts],
        "institutionalPercent": [one.percent for one in managers],
        "insiderPercent": [one.percent for one in insiders],
    }
    plain = {name: _summed(some) for name, some in sums.items()}
    held = _summed(parts)
    unknown = None if held is None or held > 100 else 100 - held
    reason = max(without, key=lambda one: (without[one], one), default=None)
    gap = divider.counted["gap"] or reason or "no_figure_of_shares"
    coverage: ConcentrationCoverage = {
        "holders": len(counted),
        "withoutPercent": without.total(),
        "withoutPercentReasons": dict(sorted(without.items())),
        "heldPercent": held,
        "unknownPercent": unknown,
        "gaps": _gaps({"heldPercent": held}, gap)
        | _gaps({"unknownPercent": unknown}, "forms_overlap" if held else gap),
    }
    return build_record(
        OwnershipConcentration,
        plain,
        issuerCik=company.padded_cik,
        issuerTicker=company.ticker,
        asOf=issuer_holders.timed(max((one.figure.day for one in counted), default=None)),
        sharesOutstanding=divider.counted,
        coverage=coverage,
        holders=_shown(tx, counted[:_SHOWN]),
        gaps=_gaps(plain, gap),
    )


def _summed(parts: Sequence[Decimal]) -> Decimal | None:
    """The sum, rounded once; None of nothing."""
    return issuer_holders.rounded(sum(parts, Decimal())) if parts else None


def _gaps(plain: Mapping[str, Decimal | None], gap: str) -> dict[str, str]:
    return {name: gap for name, value in plain.items() if value is None}


def _largest(figures: Any, groups: Mapping[str, str], divider: Divider) -> tuple[list[_Part], Counter[str]]:
    """The part of each holder, the largest first, of a group the largest alone; and how many have none, by reason."""
    best: dict[str, _Part] = {}
    without: Counter[str] = Counter()
    for held in figures:
        stands = issuer_holders.standing(held) if held else None
        if stands is None or stands.shares == 0:
            continue
        percent, gap = divider.part(stands.figure, stands.shares)
        if percent is None:
            without[stands.gap or gap or "no_figure_of_shares"] += 1
            continue
        group = groups.get(stands.figure.holder, stands.figure.holder)
        part = _Part(percent, stands.figure)
        best[group] = max(best.get(group, part), part, key=lambda one: (one.percent, one.figure.holder))
    return sorted(best.values(), key=lambda one: (-one.percent, one.figure.holder)), without


def _groups(tx: Transaction, issuer: int) -> dict[str, str]:
    """Of each holder who stands on a filing with others one of them, the same for all that filings bring together."""
    leader: dict[str, str] = {}

    def lead(holder: str) -> str:
        while leader.setdefault(holder, holder) != holder:
            holder = leader[holder]
        return holder

    for _, rows in groupby(tx.list_rows("filers_together", issuer=issuer), key=lambda row: row["id"]):
        first, *others = [row["holder"] for row in rows]
        for other in others:
            leader[lead(other)] = lead(first)
    return {holder: lead(holder) for holder in [*leader]}


def _shown(tx: Transaction, counted: Sequence[_Part]) -> list[CountedHolder]:
    told = issuer_holders.with_filings(tx, [one.figure for one in counted])
    return [
        build_record(
            CountedHolder,
            {**held},
            holderUuid=part.figure.holder,
            percent=issuer_holders.rounded(part.percent),
            accessionNumber=held["accession"],
            asOf=issuer_holders.timed(held["day"]),
        )
        for part, held in zip(counted, told, strict=True)
    ]
