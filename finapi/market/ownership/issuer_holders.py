"""The holders of an issuer's shares, and the position of one holder, by the current figures of all forms.

Rows of holders must not be added up: joint filers, and managers and their parents, report the same shares
(``reported_figures``).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple, TypedDict

from finapi.core.errors import ApiError
from finapi.core.records import Time, build_record
from finapi.market.ownership import holder_profiles, position_events, reported_figures
from finapi.market.ownership.filing_actions import Source
from finapi.market.ownership.holder_profiles import Kind
from finapi.market.ownership.position_events import FIRST_DATE, EventFilters
from finapi.market.ownership.reported_figures import (
    LAST_DATE,
    SOURCE_RANKS,
    CurrentFigure,
    Gaps,
    HolderFigure,
    PercentCalculator,
    ReportedFigure,
)
from finapi.market.reference.companies import Company
from finapi.store.db import Row, Transaction

PercentBasis = Annotated[
    Literal["reported", "shares_outstanding"] | None,
    "reported: stated by the filer. shares_outstanding: computed by finapi.",
]


class IssuerHolder(TypedDict):
    """A holder of an issuer's shares."""

    holder_uuid: str
    name: str
    cik: str | None
    type: Kind
    shares_held: Annotated[Decimal | None, "Of the source whose figure is of the latest day."]
    percent_of_class: Decimal | None
    percent_basis: PercentBasis
    shares_source: Source
    sources: list[Source]
    last_event_at: Annotated[Time | None, "The day of that figure."]
    figures: list[ReportedFigure]
    gaps: Gaps


class HolderPosition(TypedDict):
    """The shares of an issuer that a holder owns."""

    holderUuid: str
    holderName: str
    issuerCik: str
    issuerTicker: str | None
    currentShares: Annotated[Decimal | None, "Of the source whose figure is of the latest day; 0: sold."]
    currentPercent: Decimal | None
    percentBasis: PercentBasis
    sharesSource: Source
    sourceFormTypes: list[str]
    asOf: Time | None
    firstObservedAt: Annotated[Time | None, "The earliest day for which a stored form reports the position."]
    figures: list[ReportedFigure]
    gaps: Gaps


def list_holders(
    tx: Transaction, issuer: int, calculator: PercentCalculator, limit: int, offset: int
) -> tuple[list[IssuerHolder], int, str | None]:
    """Return a page of the holders with shares of an issuer, those with the most first.

    Also return the total number of holders, and the latest day of a current figure or None.
    """
    figures_by_holder = reported_figures.load_figures_of_issuer(tx, issuer)
    current_figures = [reported_figures.choose_current(figures) for figures in figures_by_holder.values()]
    nonzero_figures = [current for current in current_figures if current.shares != 0]
    nonzero_figures.sort(key=_get_sort_key)
    page = nonzero_figures[offset : offset + limit]
    holders = {row["id"]: row for row in holder_profiles.list_holders(tx, [row.figure.holder for row in page])}
    page_figures = [figure for current in page for figure in figures_by_holder[current.figure.holder]]
    figures_with_filings = _list_by_holder(tx, page_figures)
    rows = []
    for current in page:
        holder_id = current.figure.holder
        figures = figures_with_filings[holder_id]
        rows.append(_build_issuer_holder(holders[holder_id], current, figures, calculator))
    latest_day = max((current.figure.day for current in nonzero_figures), default=None)
    return rows, len(nonzero_figures), latest_day


def _get_sort_key(current: CurrentFigure) -> tuple[bool, Decimal, str]:
    """Return the key that sorts holders with the most shares first and those without a figure last."""
    return current.shares is None, -(current.shares or Decimal()), current.figure.holder


def _build_issuer_holder(
    holder: Row, current: CurrentFigure, figures: Sequence[ReportedFigure], calculator: PercentCalculator
) -> IssuerHolder:
    percentage = _find_percentage(current, calculator)
    gaps = {}
    if current.gap is not None:
        gaps["shares_held"] = current.gap
    if percentage.gap is not None:
        gaps["percent_of_class"] = percentage.gap
    return build_record(
        IssuerHolder,
        {**holder_profiles.build_listed_holder(holder)},
        shares_held=current.shares,
        percent_of_class=percentage.percent,
        percent_basis=percentage.basis,
        shares_source=current.figure.source,
        sources=list(dict.fromkeys(figure["source"] for figure in figures)),
        last_event_at=reported_figures.format_day(current.figure.day),
        figures=figures,
        gaps=gaps,
    )


class _Percentage(NamedTuple):
    """A percentage and its basis, or the reason why there is none."""

    percent: Decimal | None
    basis: Literal["reported", "shares_outstanding"] | None
    gap: str | None


def _find_percentage(current: CurrentFigure, calculator: PercentCalculator) -> _Percentage:
    """Return the percentage that the form states, or else one computed from the shares outstanding."""
    if current.figure.percent is not None and current.gap != "several_classes":
        return _Percentage(current.figure.percent, "reported", None)
    percent, gap = calculator.compute(current.figure, current.shares)
    if percent is None:
        return _Percentage(None, None, gap)
    return _Percentage(reported_figures.round_percent(percent), "shares_outstanding", None)


def _list_by_holder(tx: Transaction, figures: Sequence[HolderFigure]) -> dict[str, list[ReportedFigure]]:
    """Return the figures with their filings by holder, the latest first."""
    ordered = sorted(figures, key=_get_key_within_day)
    ordered.sort(key=lambda figure: figure.day, reverse=True)
    figures_by_holder: dict[str, list[ReportedFigure]] = {}
    for figure, with_filing in zip(ordered, reported_figures.list_with_filings(tx, ordered), strict=True):
        figures_by_holder.setdefault(figure.holder, []).append(with_filing)
    return figures_by_holder


def _get_key_within_day(figure: HolderFigure) -> tuple[int, str, str]:
    return SOURCE_RANKS[figure.source], figure.cusip or "", figure.security or ""


def get_position(tx: Transaction, holder: Row, issuer: Company, until: str) -> HolderPosition:
    """Return a holder's position by the figures up to ``until``. Raise ApiError (NOT_FOUND) if there are none."""
    figures = reported_figures.load_figures_of_holder(tx, holder, issuer.cik, until)
    if not figures:
        when = "" if until == LAST_DATE else f" up to {until}"
        raise ApiError("NOT_FOUND", f"finapi has no form on {holder['name']}'s shares of {issuer.name}{when}.")
    current = reported_figures.choose_current(figures)
    calculator = PercentCalculator(tx, issuer.cik, issuer.ticker, None if until == LAST_DATE else until)
    percentage = _find_percentage(current, calculator)
    gaps = {}
    if current.gap is not None:
        gaps["currentShares"] = current.gap
    if percentage.gap is not None:
        gaps["currentPercent"] = percentage.gap
    figures_with_filings = _list_by_holder(tx, figures)[holder["id"]]
    return build_record(
        HolderPosition,
        {},
        holderUuid=holder["id"],
        holderName=holder["name"],
        issuerCik=issuer.padded_cik,
        issuerTicker=issuer.ticker,
        currentShares=current.shares,
        currentPercent=percentage.percent,
        percentBasis=percentage.basis,
        sharesSource=current.figure.source,
        sourceFormTypes=list(dict.fromkeys(figure["form"] for figure in figures_with_filings)),
        asOf=reported_figures.format_day(current.figure.day),
        firstObservedAt=reported_figures.format_day(_find_first_day(tx, issuer.cik, holder)),
        figures=figures_with_filings,
        gaps=gaps,
    )


def _find_first_day(tx: Transaction, issuer: int, holder: Row) -> str | None:
    """Return the earliest known day on which a form reports the position, or None."""
    dated = EventFilters(first=FIRST_DATE, limit=1)
    _, count = position_events.list_events(tx, issuer, holder, dated)
    if not count:
        return None
    oldest, _ = position_events.list_events(tx, issuer, holder, dated._replace(offset=count - 1))
    return oldest[0].day if oldest else None
