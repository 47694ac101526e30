"""The figures that forms report for what holders own of an issuer.

The same shares are reported again and again: by a manager's 13F, by its 13G, by its Form 4, and by each member of a
group. Figures of different forms are therefore never added up. All of them are listed with their sources, and one of
them is chosen as the current figure of the holder: the one of the latest day and, on one day, of the best source
(13D/13G before 13F before Form 4).

A percentage is either stated by the form (13D and 13G) or computed by :class:`PercentCalculator`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf, Time, build_record, parse_decimal
from finapi.market.financials import segment_figures
from finapi.market.holdings import quarters
from finapi.market.holdings.fund_positions import find_change_name
from finapi.market.ownership import holder_ids
from finapi.market.ownership.filing_actions import SOURCES, Source
from finapi.market.ownership.schedule_filings import compute_split_factor
from finapi.market.reference import share_splits
from finapi.store.db import Row, Transaction

# The reason codes for null figures.
GAP_REASONS = (
    "not_reported",
    "several_classes",
    "amount_missing",
    "no_figure_of_shares",
    "shares_outstanding_unknown",
    "not_common_shares",
    "more_than_outstanding",
    "not_of_this_form",
    "days_apart",
    "forms_overlap",
)
Gap = Annotated[str, OneOf(GAP_REASONS)]
Gaps = Annotated[dict[str, Gap], "The reason for each figure that is null, by its name."]

LAST_DATE = "9999-12-31"
# The rank of each source among figures of the same day; 0 is the best.
SOURCE_RANKS = {"form_13dg": 0, "form_13f": 1, "form_4": 2, "form_144": 3}

_COMMON_WORDS = re.compile(r"\b(com|common|cap|capital|ord|ordinary|shs|shares?|class|cl|stock|stk)\b", re.IGNORECASE)
_OTHER_WORDS = re.compile(
    r"\b(pfd|prfd|pref|preferred|notes?|units?|wts?|warrants?|rights?|rts?|adr|ads|depositary|dep)\b", re.IGNORECASE
)
# Maximum days between a figure and the share count by which it is divided. A year, plus some time for a late annual
# report.
_MAX_DAYS_APART = 400


class ReportedFigure(TypedDict):
    """The shares of one class of an issuer that one form reports for a holder."""

    source: Source
    form: str
    accession: str
    filed: Time | None
    day: Annotated[Date | None, "The day of the figure: end of the quarter, event, or last transaction."]
    security: str | None
    cusip: str | None
    shares: Annotated[
        Decimal | None, "In a Form 4, direct and indirect ownership; derivatives and options are left out."
    ]
    percent: Annotated[Decimal | None, "Of the class, as the form states it: 13D and 13G only."]
    value: Annotated[int | None, "In dollars: 13F only."]
    together: Annotated[int, "Persons that the filing names, who mostly report the same shares."]
    gaps: Gaps


class SharesOutstanding(TypedDict):
    """The share count by which figures are divided: of the issuer's last cover page, if it lists one class."""

    shares: Decimal | None
    day: Date | None
    accession: str | None
    gap: Gap | None


class HolderFigure(NamedTuple):
    """A figure before its filing is looked up."""

    source: str
    day: str  # "" if it is not known.
    filing_id: int  # The filing's id in the table of the source.
    holder: str  # UUID
    shares: Decimal | None
    percent: Decimal | None = None
    value: int | None = None
    security: str | None = None
    cusip: str | None = None
    gap: str = "not_of_this_form"  # Why ``shares`` is None.
    name: str | None = None
    action: str | None = None
    person_id: int | None = None  # The row of the person of a 13D or 13G.


class CurrentFigure(NamedTuple):
    """The figure that is chosen for a holder."""

    figure: HolderFigure
    shares: Decimal | None  # None if the source reports several classes.
    gap: str | None  # Why ``shares`` is None.


# ---- Percentages


class PercentCalculator:
    """Computes percentages of the shares outstanding, from the cover of an issuer's last report if it lists one class.

    A figure and the cover have different dates. The figure is adjusted for the splits in between that price files
    state. Shares issued or bought back in between are ignored. If the dates are too far apart, there is no percentage.
    With ``until``, the last report that was filed until this day is used.
    """

    def __init__(self, tx: Transaction, issuer: int, ticker: str | None, until: str | None = None) -> None:
        filing, classes = segment_figures.list_share_classes(tx, issuer, until, "latest")
        self.shares_outstanding: SharesOutstanding
        if filing is None or len(classes) != 1:
            gap = "several_classes" if classes else "shares_outstanding_unknown"
            self.shares_outstanding = {"shares": None, "day": None, "accession": None, "gap": gap}
        else:
            self.shares_outstanding = {
                "shares": classes[0]["shares_outstanding"],
                "day": classes[0]["context_end_date"],
                "accession": filing.accession,
                "gap": None,
            }
        self._splits = share_splits.list_for_ticker(tx, ticker) if self.shares_outstanding["shares"] else []
        self._factors: dict[str, Decimal | None] = {}  # By the day of the figure.

    def compute(self, figure: HolderFigure, shares: Decimal | None) -> tuple[Decimal | None, str | None]:
        """Return (percentage, None) for a figure, or (None, reason)."""
        total = self.shares_outstanding["shares"]
        if shares is None:
            return None, "no_figure_of_shares"
        if not total:
            return None, self.shares_outstanding["gap"] or "shares_outstanding_unknown"
        if not _is_common_stock(figure.security or "common"):
            return None, "not_common_shares"
        if figure.day not in self._factors:
            self._factors[figure.day] = self._compute_factor(figure.day, total)
        factor = self._factors[figure.day]
        if factor is None:
            return None, "days_apart"
        percent = shares * factor
        return (None, "more_than_outstanding") if percent > 100 else (percent, None)

    def _compute_factor(self, day: str, total: Decimal) -> Decimal | None:
        """Return the factor that converts shares on a day to a percentage, or None if the cover is too far away."""
        cover_day = self.shares_outstanding["day"]
        if not day or not cover_day or abs(days.number(day) - days.number(cover_day)) > _MAX_DAYS_APART:
            return None
        # One of the two factors is None, because only one of the days can be the earlier one.
        splits_after_figure = compute_split_factor(self._splits, day, cover_day)
        splits_after_cover = compute_split_factor(self._splits, cover_day, day)
        return 100 * (splits_after_figure or Decimal(1)) / (splits_after_cover or 1) / total


def round_percent(percent: Decimal) -> Decimal:
    """Return a percentage with four decimals, or with four significant digits so that a small one does not become 0."""
    return percent.quantize(Decimal(1).scaleb(min(-4, percent.adjusted() - 3)))


@lru_cache(maxsize=10_000)
def _is_common_stock(title: str) -> bool:
    """Return False for preferred shares, notes, units, rights and depositary receipts."""
    return _OTHER_WORDS.search(title) is None and _COMMON_WORDS.search(title) is not None


# ---- Reading figures


def load_figures_of_issuer(tx: Transaction, issuer: int) -> dict[str, list[HolderFigure]]:
    """Return the latest figures of all holders of an issuer, by holder.

    Left out are options, derivatives and positions that a later report no longer contains.
    """
    latest_quarter = tx.find_value("latest_quarter_of_issuer", issuer=issuer)
    # Until 45 days after the end of a quarter, many managers have only reported the previous quarter. Still older
    # reports do not show current positions.
    parameters = {
        "issuer": issuer,
        "latest": latest_quarter,
        "before": latest_quarter and quarters.get_previous_end(latest_quarter),
        "cik": None,
        "until": LAST_DATE,
    }
    figures: dict[str, list[HolderFigure]] = {}
    # Thousands of managers own shares of a large company, so the columns are unpacked without a dict for each row.
    for day, report_id, cik, _, title, cusip, shares, value, _ in tx.list_rows("latest_fund_positions", parameters):
        figure = HolderFigure(
            source="form_13f",
            day=day,
            filing_id=report_id,
            holder=holder_ids.for_cik(cik),
            shares=Decimal(shares),
            value=value,
            security=title,
            cusip=cusip,
        )
        figures.setdefault(figure.holder, []).append(figure)
    for row in tx.list_rows("latest_stakes", parameters):
        figure = build_figure("form_13dg", row)
        figures.setdefault(figure.holder, []).append(figure)
    for row in tx.list_rows("insider_holdings_until", parameters):
        figure = build_figure("form_4", row)
        figures.setdefault(figure.holder, []).append(figure)
    return figures


def load_figures_of_holder(tx: Transaction, holder: Row, issuer: int, until: str) -> list[HolderFigure]:
    """Return the latest figures of a holder as of a day, even those that were filed after it.

    Classes that the holder has sold are left out if it still owns another class. If it has sold everything, a single
    figure of 0 shares is returned.
    """
    parameters = {"issuer": issuer, "cik": holder["cik"], "holder": holder["id"], "until": until}
    figures = [build_figure("form_13dg", row) for row in tx.list_rows("stakes_of_holder_until", parameters)]
    if holder["cik"] is not None:
        figures += [build_figure("form_13f", row) for row in tx.list_rows("fund_positions_until", parameters)]
        figures += [build_figure("form_4", row) for row in tx.list_rows("insider_holdings_until", parameters)]
    owned = [figure for figure in figures if figure.shares != 0]
    return owned or figures[:1]


def build_figure(source: str, row: Row) -> HolderFigure:
    """Return the figure of a query's row. ``source`` determines the columns of the row."""
    columns = dict(row)
    if columns.get("holder"):
        holder = columns["holder"]
    elif columns["cik"]:
        holder = holder_ids.for_cik(columns["cik"])
    else:
        holder = holder_ids.for_name(columns["name"])
    shares = parse_decimal(columns.get("shares"))
    gap = "not_reported" if source == "form_13dg" else "not_of_this_form"
    if source == "form_4":
        shares, gap = _sum_amounts(columns["amounts"], columns.get("classes", 1))
    return HolderFigure(
        source=source,
        day=columns["day"],
        filing_id=columns["id"],
        holder=holder,
        shares=shares,
        percent=parse_decimal(columns.get("percent")),
        value=columns.get("value"),
        security=columns.get("title"),
        cusip=columns.get("cusip"),
        gap=gap,
        name=columns.get("name"),
        action=find_change_name(columns["status"]) if "status" in columns else None,
        person_id=columns.get("person_id"),
    )


def _sum_amounts(amounts_json: str, class_count: int) -> tuple[Decimal | None, str]:
    """Return an insider's shares, owned directly and indirectly, and the reason that applies if they are None.

    They are None if an amount is missing, or if the form is not about exactly one class.
    """
    amounts = json.loads(amounts_json)
    if class_count != 1:
        return None, "several_classes" if class_count else "no_figure_of_shares"
    if None in amounts:
        return None, "amount_missing"
    return sum((Decimal(amount) for amount in amounts), Decimal()), "amount_missing"


def choose_current(figures: Sequence[HolderFigure]) -> CurrentFigure:
    """Return the figure of the latest day and, on that day, of the best source."""
    latest_day = max(figure.day for figure in figures)
    figures_of_day = [figure for figure in figures if figure.day == latest_day]
    best = min(figures_of_day, key=lambda figure: SOURCE_RANKS[figure.source])
    if sum(figure.source == best.source for figure in figures) > 1:
        return CurrentFigure(best, None, "several_classes")
    return CurrentFigure(best, best.shares, best.gap if best.shares is None else None)


def format_day(day: str | None) -> str | None:
    """Return the time at which a day begins, or None."""
    return f"{day}T00:00:00.000Z" if day else None


def list_with_filings(tx: Transaction, figures: Sequence[HolderFigure]) -> list[ReportedFigure]:
    """Return the figures with their filings, in the same order."""
    ids_by_source = {}
    for source in SOURCES:
        ids_by_source[source] = json.dumps(sorted({figure.filing_id for figure in figures if figure.source == source}))
    filings = {(row["source"], row["id"]): row for row in tx.list_rows("filings_of_figures", ids_by_source)}
    return [_build_reported_figure(figure, filings[figure.source, figure.filing_id]) for figure in figures]


def _build_reported_figure(figure: HolderFigure, filing: Row) -> ReportedFigure:
    gaps = {}
    if figure.shares is None:
        gaps["shares"] = figure.gap
    if figure.percent is None:
        gaps["percent"] = "not_reported" if figure.source == "form_13dg" else "not_of_this_form"
    return build_record(
        ReportedFigure,
        filing,
        day=figure.day or None,
        security=figure.security,
        cusip=figure.cusip,
        shares=figure.shares,
        percent=figure.percent,
        value=figure.value,
        gaps=gaps,
    )
