"""What holders have of an issuer by each form, and how that went on: positions, their history, an issuer's timeline.

Forms tell the same shares again: a manager's 13F, its 13G and its Form 4 are never added up. The figure that stands for
a position is that of the latest day; all of them are shown with their sources.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import groupby
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.market.financials import segment_figures
from finapi.market.holdings import quarters
from finapi.market.holdings.fund_positions import find_change_name
from finapi.market.ownership import holder_ids, holder_profiles
from finapi.market.ownership.holder_profiles import Action, Kind, Source
from finapi.market.ownership.schedule_filings import split_factor
from finapi.market.reference import share_splits
from finapi.market.reference.companies import Company
from finapi.store.db import Row, Transaction

# Why a figure is null.
GAPS = (
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
Gap = Annotated[str, OneOf(GAPS)]
Gaps = Annotated[dict[str, Gap], "Why a figure is null, by its name."]
LAST = "9999-12-31"
# Of one day, whose figure stands for a position.
_RANKS = {"form_13dg": 0, "form_13f": 1, "form_4": 2, "form_144": 3}
_COMMON = re.compile(r"\b(com|common|cap|capital|ord|ordinary|shs|shares?|class|cl|stock|stk)\b", re.IGNORECASE)
_OTHER = re.compile(
    r"\b(pfd|prfd|pref|preferred|notes?|units?|wts?|warrants?|rights?|rts?|adr|ads|depositary|dep)\b", re.IGNORECASE
)
# Days between a figure and the count of shares that it is divided by: a year's reports, and one that is late.
_MOST_APART = 400

_Basis = Annotated[Literal["reported", "shares_outstanding"] | None, "Who divided: the filer, or finapi."]


class HeldFigure(TypedDict):
    """What one form says that a holder has of one class of an issuer's shares."""

    source: Source
    form: str
    accession: str
    filed: Time | None
    day: Annotated[Date | None, "Of which the figure is: quarter's end, event, last transaction."]
    security: str | None
    cusip: str | None
    shares: Annotated[Decimal | None, "Of a Form 4 directly and indirectly; derivatives and options are left out."]
    percent: Annotated[Decimal | None, "Of the class, as the form itself says: 13D and 13G only."]
    value: Annotated[int | None, "In dollars: 13F only."]
    together: Annotated[int, "Persons that the filing names, who mostly report the same shares."]
    gaps: Gaps


class IssuerHolder(TypedDict):
    """A holder of an issuer's shares. Rows are not to be added up: joint filers and parents tell the same shares."""

    holder_uuid: str
    name: str
    cik: str | None
    type: Kind
    shares_held: Annotated[Decimal | None, "Of the source whose figure is of the latest day."]
    percent_of_class: Decimal | None
    percent_basis: _Basis
    shares_source: Source
    sources: list[Source]
    last_event_at: Annotated[Time | None, "The day of that figure."]
    figures: list[HeldFigure]
    gaps: Gaps


class HolderPosition(TypedDict):
    """What a holder has of an issuer's shares."""

    holderUuid: str
    holderName: str
    issuerCik: str
    issuerTicker: str | None
    currentShares: Annotated[Decimal | None, "Of the source whose figure is of the latest day; 0: sold."]
    currentPercent: Decimal | None
    percentBasis: _Basis
    sharesSource: Source
    sourceFormTypes: list[str]
    asOf: Time | None
    firstObservedAt: Annotated[Time | None, "The first day of which a form that is held tells."]
    figures: list[HeldFigure]
    gaps: Gaps


class PositionEvent(TypedDict):
    """What one form told of a position."""

    eventDate: Annotated[Date | None, "Quarter's end, event, last transaction, first proposed sale."]
    source: Source
    sourceFormType: str
    accessionNumber: str
    filedAt: Time | None
    action: Action
    postEventShares: Decimal | None
    postEventPercent: Annotated[Decimal | None, "As the form itself says."]
    security: str | None
    gaps: Gaps


class IssuerEvent(TypedDict):
    """What one form told of one holder of an issuer."""

    event_id: str
    event_at: Annotated[Time | None, "The day of which it tells: quarter's end, event, last transaction."]
    filed_at: Time | None
    source: Source
    form_type: str
    holder_uuid: str
    holder_name: str
    action: Action
    shares_after: Decimal | None
    percent_after: Decimal | None
    security: str | None
    accession_number: str
    gaps: Gaps


class SharesOutstanding(TypedDict):
    """What parts of an issuer are counted of: its cover page's shares, where it has one class of them."""

    shares: Decimal | None
    day: Date | None
    accession: str | None
    gap: Gap | None


class ToldFigure(NamedTuple):
    """A figure before its filing is looked up: ``id`` is the filing's number in its family's table, ``told`` that of a
    schedule's person, ``gap`` why there are no shares."""

    source: str
    day: str
    id: int
    holder: str
    shares: Decimal | None
    percent: Decimal | None = None
    value: int | None = None
    security: str | None = None
    cusip: str | None = None
    gap: str = "not_of_this_form"
    name: str | None = None
    action: str | None = None
    told: int | None = None


class Standing(NamedTuple):
    """What stands for a position: the figure of the latest day, and its shares or why there are none."""

    figure: ToldFigure
    shares: Decimal | None
    gap: str | None


# ---- what is counted of


class Divider:
    """Parts of an issuer in per cent of the shares on the cover of its last report, where that counts one class.

    Shares of another day are made into those of the cover's day by the splits that files of prices tell; what a company
    issued and bought back over more than a year is not made up for. ``until`` is the last day on which it was filed.
    """

    def __init__(self, tx: Transaction, issuer: int, ticker: str | None, until: str | None = None) -> None:
        filing, classes = segment_figures.list_share_classes(tx, issuer, until, "latest")
        self.counted: SharesOutstanding
        if filing is None or len(classes) != 1:
            gap = "several_classes" if classes else "shares_outstanding_unknown"
            self.counted = {"shares": None, "day": None, "accession": None, "gap": gap}
        else:
            whole, day = classes[0]["shares_outstanding"], classes[0]["context_end_date"]
            self.counted = {"shares": whole, "day": day, "accession": filing.accession, "gap": None}
        self._splits = share_splits.list_for_ticker(tx, ticker) if self.counted["shares"] else []
        self._factors: dict[str, Decimal | None] = {}

    def part(self, figure: ToldFigure, shares: Decimal | None) -> tuple[Decimal | None, str | None]:
        """The percentage that shares are, or why there is none."""
        whole, day = self.counted["shares"], self.counted["day"] or ""
        if shares is None:
            return None, "no_figure_of_shares"
        if not whole:
            return None, self.counted["gap"] or "shares_outstanding_unknown"
        if not _is_common(figure.security or "common"):
            return None, "not_common_shares"
        if figure.day not in self._factors:
            self._factors[figure.day] = self._factor(figure.day, day, whole)
        factor = self._factors[figure.day]
        if factor is None:
            return None, "days_apart"
        percent = shares * factor
        return (None, "more_than_outstanding") if percent > 100 else (percent, None)

    def _factor(self, day: str, counted: str, whole: Decimal) -> Decimal | None:
        """What shares of a day are times for a percentage; None where they are counted too long before or after."""
        if not day or not counted or abs(days.number(day) - days.number(counted)) > _MOST_APART:
            return None
        onwards, back = (split_factor(self._splits, *span) for span in ((day, counted), (counted, day)))
        return 100 * (onwards or Decimal(1)) / (back or 1) / whole


def rounded(percent: Decimal) -> Decimal:
    """A percentage to four decimals, a small one to four digits: what is held is never told as nothing."""
    return percent.quantize(Decimal(1).scaleb(min(-4, percent.adjusted() - 3)))


@lru_cache(maxsize=10_000)
def _is_common(title: str) -> bool:
    """Whether a title says shares of a company rather than preferred ones, notes, units, rights or receipts."""
    return _OTHER.search(title) is None and _COMMON.search(title) is not None


# ---- what is held now


def of_everybody(tx: Transaction, issuer: int) -> dict[str, list[ToldFigure]]:
    """The figures that hold now, by holder: without options, derivatives and what a later report no longer has."""
    latest = tx.find_value("latest_quarter_of_issuer", issuer=issuer)
    # Within 45 days of a quarter's end many have reported the quarter before alone; older reports tell of nothing now.
    key = {
        "issuer": issuer,
        "latest": latest,
        "before": latest and quarters.get_previous_end(latest),
        "cik": None,
        "until": LAST,
    }
    found: dict[str, list[ToldFigure]] = {}
    # Thousands of managers hold a large company: what is made of each row counts.
    for day, number, cik, _, title, cusip, shares, value, _ in tx.list_rows("managers_now", key):
        holder = holder_ids.for_cik(cik)
        one = ToldFigure("form_13f", day, number, holder, Decimal(shares), None, value, title, cusip)
        found.setdefault(holder, []).append(one)
    for query, source in (("owners_now", "form_13dg"), ("insiders_now", "form_4")):
        for row in tx.list_rows(query, key):
            one = _told(source, row)
            found.setdefault(one.holder, []).append(one)
    return found


def of_holder(tx: Transaction, holder: Row, issuer: int, until: str) -> list[ToldFigure]:
    """The figures of a holder that hold on a day, by what forms tell of days up to it; 0 of what was sold."""
    key = {"issuer": issuer, "cik": holder["cik"], "holder": holder["id"], "until": until}
    figures = [_told("form_13dg", row) for row in tx.list_rows("owner_then", key)]
    if holder["cik"] is not None:
        figures += [_told("form_13f", row) for row in tx.list_rows("manager_then", key)]
        figures += [_told("form_4", row) for row in tx.list_rows("insiders_now", key)]
    # Of a class that was left while another is held, nothing is to be told.
    return [one for one in figures if one.shares != 0] or figures[:1]


def _told(source: str, row: Row) -> ToldFigure:
    told = dict(row)
    gap = {"form_13dg": "not_reported", "form_4": "amount_missing"}.get(source, "not_of_this_form")
    if source == "form_4":
        # One class in all hands together; nothing when the form leaves out one amount, or has several classes.
        given, classes = json.loads(told["amounts"]), told.get("classes", 1)
        told["shares"] = None if None in given or classes != 1 else sum(map(Decimal, given), Decimal())
        gap = gap if classes == 1 else "several_classes" if classes else "no_figure_of_shares"
    shares, percent = (None if told.get(name) is None else Decimal(told[name]) for name in ("shares", "percent"))
    holder = told.get("holder") or (
        holder_ids.for_cik(told["cik"]) if told["cik"] else holder_ids.for_name(told["name"])
    )
    action = find_change_name(told["status"]) if "status" in told else None
    return ToldFigure(
        source,
        told["day"],
        told["id"],
        holder,
        shares,
        percent,
        told.get("value"),
        told.get("title"),
        told.get("cusip"),
        gap,
        told.get("name"),
        action,
        told.get("told"),
    )


def standing(figures: Sequence[ToldFigure]) -> Standing:
    """What stands for a position; its shares are None where the source tells of several classes."""
    if len(figures) == 1:
        return Standing(figures[0], figures[0].shares, figures[0].gap if figures[0].shares is None else None)
    day = max(one.day for one in figures)
    latest = min((one for one in figures if one.day == day), key=lambda one: _RANKS[one.source])
    if sum(one.source == latest.source for one in figures) > 1:
        return Standing(latest, None, "several_classes")
    return Standing(latest, latest.shares, latest.gap if latest.shares is None else None)


def of_issuer(
    tx: Transaction, issuer: int, divider: Divider, limit: int, offset: int
) -> tuple[list[IssuerHolder], int, str | None]:
    """A page of who has shares of an issuer, the most first; how many there are, and the latest day of a figure."""
    found = of_everybody(tx, issuer)
    placed = [(holder, standing(figures)) for holder, figures in found.items()]
    placed = [one for one in placed if one[1].shares != 0]
    placed.sort(key=lambda one: (one[1].shares is None, -(one[1].shares or 0), one[0]))
    page = placed[offset : offset + limit]
    named = _named(tx, (holder for holder, _ in page))
    figures = _shown(tx, [figure for holder, _ in page for figure in found[holder]])
    rows = [
        build_record(
            IssuerHolder,
            {**holder_profiles.shown(named[holder])},
            shares_held=stands.shares,
            shares_source=stands.figure.source,
            sources=list(dict.fromkeys(one["source"] for one in figures[holder])),
            last_event_at=timed(stands.figure.day),
            figures=figures[holder],
            **_parted(stands, divider, "shares_held", "percent_of_class", "percent_basis"),
        )
        for holder, stands in page
    ]
    return rows, len(placed), max((one.figure.day for _, one in placed), default=None)


def _named(tx: Transaction, wanted: Iterable[str]) -> dict[str, Row]:
    """The rows of holders."""
    ids = sorted(set(wanted))
    rows = tx.list_rows("holders_of_ids", ids=json.dumps(ids), kind=None, limit=len(ids), offset=0)
    return {row["id"]: row for row in rows}


def _parted(stands: Standing, divider: Divider, shares: str, percent: str, basis: str) -> dict[str, Any]:
    """The percentage of what stands for a position, who divided, and why figures are null."""
    gaps = {} if stands.gap is None else {shares: stands.gap}
    told = stands.figure.percent if stands.gap != "several_classes" else None
    if told is not None:
        return {percent: told, basis: "reported", "gaps": gaps}
    part, gap = divider.part(stands.figure, stands.shares)
    part = None if part is None else rounded(part)
    return {percent: part, basis: None if gap else "shares_outstanding", "gaps": gaps | ({percent: gap} if gap else {})}


def timed(day: str | None) -> str | None:
    """A day as its beginning."""
    return f"{day}T00:00:00.000Z" if day else None


def _shown(tx: Transaction, figures: Sequence[ToldFigure]) -> dict[str, list[HeldFigure]]:
    """The figures with their filings, by holder, the latest first."""
    ordered = sorted(figures, key=lambda one: (_RANKS[one.source], one.cusip or "", one.security or ""))
    ordered.sort(key=lambda one: one.day, reverse=True)
    found: dict[str, list[HeldFigure]] = {}
    for figure, shown in zip(ordered, with_filings(tx, ordered), strict=True):
        found.setdefault(figure.holder, []).append(shown)
    return found


def with_filings(tx: Transaction, figures: Sequence[ToldFigure]) -> list[HeldFigure]:
    """The figures with their filings, in their order."""
    ids = {
        source: json.dumps(sorted({one.id for one in figures if one.source == source}))
        for source in holder_profiles.SOURCES
    }
    filings = {(row["source"], row["id"]): dict(row) for row in tx.list_rows("filings_of_figures", ids)}
    rows = []
    for one in figures:
        told = "not_reported" if one.source == "form_13dg" else "not_of_this_form"
        gaps = {"shares": one.gap if one.shares is None else None, "percent": told if one.percent is None else None}
        gaps = {name: gap for name, gap in gaps.items() if gap}
        rows.append(
            build_record(HeldFigure, {**filings[one.source, one.id], **one._asdict()}, day=one.day or None, gaps=gaps)
        )
    return rows


def current(tx: Transaction, holder: Row, issuer: Company, until: str) -> HolderPosition:
    """What a holder has by figures of days up to ``until``; NOT_FOUND when no form tells of it."""
    figures = of_holder(tx, holder, issuer.cik, until)
    if not figures:
        raise ApiError("NOT_FOUND", f"finapi holds no form that tells what {holder['name']} had of {issuer.name} then.")
    stands = standing(figures)
    divider = Divider(tx, issuer.cik, issuer.ticker, None if until == LAST else until)
    shown = _shown(tx, figures)[holder["id"]]
    dated = EventFilters("0001-01-01", limit=1)
    count = events(tx, issuer.cik, holder, dated)[1]
    oldest = events(tx, issuer.cik, holder, dated._replace(offset=count - 1))[0] if count else []
    return build_record(
        HolderPosition,
        {"holderUuid": holder["id"], "holderName": holder["name"], "issuerTicker": issuer.ticker},
        issuerCik=issuer.padded_cik,
        currentShares=stands.shares,
        sharesSource=stands.figure.source,
        sourceFormTypes=list(dict.fromkeys(one["form"] for one in shown)),
        asOf=timed(stands.figure.day),
        firstObservedAt=timed(oldest[0].day if oldest else None),
        figures=shown,
        **_parted(stands, divider, "currentShares", "currentPercent", "percentBasis"),
    )


# ---- what happened


class EventFilters(NamedTuple):
    """Which events: of days from ``first`` to ``last``, the empty text being a day that is not known."""

    first: str = ""
    last: str = LAST
    source: str | None = None
    limit: int = 500
    offset: int = 0


def events(tx: Transaction, issuer: int, holder: Row | None, asked: EventFilters) -> tuple[list[ToldFigure], int]:
    """A page of what forms told of an issuer's holders, or of one, the latest day first; how many there are.

    Of everybody, 13F positions that did not change are no events.
    """
    who = {"holder": None, "cik": None} if holder is None else {"holder": holder["id"], "cik": holder["cik"]}
    key = {"issuer": issuer, **who, **asked._asdict(), "upto": asked.offset + asked.limit}
    found: list[ToldFigure] = []
    total = 0
    for name in holder_profiles.SOURCES:
        if asked.source not in (None, name):
            continue
        if name == "form_13f":
            rows, count = _of_managers(tx, key) if holder is None else _of_manager(tx, key)
        else:
            rows, count = tx.list_rows(f"{name}_events", key), int(tx.find_value(f"{name}_events_count", key))
        found += [_told(name, row) for row in rows]
        total += count
    # As the queries order what they cut off: positions of one value by manager, others by filing.
    found.sort(key=lambda one: (-one.id, one.holder, one.cusip or ""))
    found.sort(key=lambda one: (_RANKS[one.source], -(one.value or 0), one.holder if one.source == "form_13f" else ""))
    found.sort(key=lambda one: one.day, reverse=True)
    page = found[asked.offset : asked.offset + asked.limit]
    actions = holder_profiles.actions(
        tx, [(one.source, one.told or one.id) for one in page if one.source != "form_13f"]
    )
    return [one._replace(action=one.action or actions.get((one.source, one.told or one.id))) for one in page], total


def _of_manager(tx: Transaction, key: Mapping[str, Any]) -> tuple[list[Row], int]:
    rows = tx.list_rows("manager_events", key)
    return rows, len(rows)


def _of_managers(tx: Transaction, key: Mapping[str, Any]) -> tuple[list[Row], int]:
    """Positions of the latest quarters until they are enough, each quarter's by value; and how many there are."""
    told = tx.list_rows("quarters_with_events", key)
    found: list[Row] = []
    for period, securities in groupby(told, key=lambda row: row["period"]):
        if len(found) >= key["upto"]:
            break
        for one in securities:
            found += tx.list_rows("managers_events", key, security_id=one["security_id"], period=period)
    return found, sum(row["events"] for row in told)


def history(tx: Transaction, issuer: int, holder: Row, asked: EventFilters) -> tuple[list[PositionEvent], int]:
    """A page of what forms told of a holder's position, the latest day first; how many there are."""
    page, total = events(tx, issuer, holder, asked)
    names = {"shares": "postEventShares", "percent": "postEventPercent"}
    rows = [
        build_record(
            PositionEvent,
            {**held},
            eventDate=held["day"],
            sourceFormType=held["form"],
            accessionNumber=held["accession"],
            filedAt=held["filed"],
            action=one.action,
            postEventShares=held["shares"],
            postEventPercent=held["percent"],
            gaps={names[name]: gap for name, gap in held["gaps"].items()},
        )
        for one, held in zip(page, with_filings(tx, page), strict=True)
    ]
    return rows, total


def timeline(tx: Transaction, issuer: int, asked: EventFilters) -> tuple[list[IssuerEvent], int]:
    """A page of what was told of an issuer's holders, the latest day first; how many there are."""
    page, total = events(tx, issuer, None, asked)
    named = _named(tx, (one.holder for one in page))
    names = {"shares": "shares_after", "percent": "percent_after"}
    rows = [
        build_record(
            IssuerEvent,
            {**held},
            event_at=timed(held["day"]),
            filed_at=held["filed"],
            form_type=held["form"],
            event_id=":".join(part for part in (held["accession"], one.holder, held["cusip"]) if part),
            holder_uuid=one.holder,
            holder_name=one.name or named[one.holder]["name"],
            action=one.action,
            shares_after=held["shares"],
            percent_after=held["percent"],
            accession_number=held["accession"],
            gaps={names[name]: gap for name, gap in held["gaps"].items()},
        )
        for one, held in zip(page, with_filings(tx, page), strict=True)
    ]
    return rows, total
