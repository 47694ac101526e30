"""The events of a position: every report about it on any form, by the day to which the report refers.

An event is one form's report: the end of a quarter (13F), the event of a 13D or 13G, the last transaction of a Form 4,
or the first proposed sale of a Form 144. A notice of a sale is an event of its own, and the trade that may follow is
another one. The events of all sources are merged, the latest day first.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import Date, Time
from finapi.market.ownership import filing_actions, holder_profiles, reported_figures
from finapi.market.ownership.filing_actions import SOURCES, Action, FilingKey, Source
from finapi.market.ownership.reported_figures import LAST_DATE, SOURCE_RANKS, Gaps, HolderFigure
from finapi.store.db import Row, Transaction

FIRST_DATE = "0001-01-01"
UNKNOWN_DATE = ""  # Stands for an unknown day, and sorts before FIRST_DATE.


class PositionEvent(TypedDict):
    """An event of a holder's position."""

    eventDate: Annotated[Date | None, "End of the quarter, event, last transaction, or first proposed sale."]
    source: Source
    sourceFormType: str
    accessionNumber: str
    filedAt: Time | None
    action: Action
    postEventShares: Decimal | None
    postEventPercent: Annotated[Decimal | None, "As the form states it."]
    security: str | None
    gaps: Gaps


class IssuerEvent(TypedDict):
    """An event of one holder of an issuer."""

    event_id: str
    event_at: Annotated[Time | None, "The day of the event: end of the quarter, event, last transaction."]
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


class EventFilters(NamedTuple):
    """The days, the source and the page of a list of events."""

    first: str = UNKNOWN_DATE
    last: str = LAST_DATE
    source: str | None = None
    # "13D" or "13G"; both if None.
    schedule: str | None = None
    limit: int = 500
    offset: int = 0


def list_events(
    tx: Transaction, issuer: int, holder: Row | None, filters: EventFilters
) -> tuple[list[HolderFigure], int]:
    """Return a page of the events of one holder or of all holders of an issuer, and the total number of events.

    For all holders, 13F positions that did not change are not events.
    """
    parameters = {
        "issuer": issuer,
        "holder": None if holder is None else holder["id"],
        "cik": None if holder is None else holder["cik"],
        "first": filters.first,
        "last": filters.last,
        "schedule": filters.schedule,
        # The page may consist of rows of a single source, so as many rows are read from each source.
        "max_rows": filters.offset + filters.limit,
    }
    events: list[HolderFigure] = []
    total = 0
    for source in SOURCES:
        if filters.source not in (None, source):
            continue
        if source != "form_13f":
            rows = tx.list_rows(f"{source}_events", parameters)
            count = int(tx.find_value(f"count_{source}_events", parameters))
        elif holder is None:
            rows, count = _list_fund_rows(tx, parameters)
        else:
            rows = tx.list_rows("fund_events_of_holder", parameters)
            count = len(rows)
        events += [reported_figures.build_figure(source, row) for row in rows]
        total += count
    page = _sort_events(events)[filters.offset : filters.offset + filters.limit]
    return _add_actions(tx, page), total


def _list_fund_rows(tx: Transaction, parameters: Mapping[str, Any]) -> tuple[list[Row], int]:
    """Return enough changed 13F positions for the page, and their total number.

    They are read quarter by quarter, the latest first.
    """
    counts = tx.list_rows("fund_event_counts", parameters)
    rows: list[Row] = []
    for period, securities in groupby(counts, key=lambda row: row["period"]):
        if len(rows) >= parameters["max_rows"]:
            break
        for security in securities:
            rows += tx.list_rows(
                "fund_events_of_security", parameters, security_id=security["security_id"], period=period
            )
    return rows, sum(row["events"] for row in counts)


def _sort_events(events: list[HolderFigure]) -> list[HolderFigure]:
    """Return the events, the latest day first.

    Within a day the order is the one in which the queries cut off rows after the page: by source, then 13F positions by
    value and manager, and other events by filing. The sorts are stable, so the last one matters most.
    """
    ordered = sorted(events, key=lambda event: (-event.filing_id, event.holder, event.cusip or ""))
    ordered.sort(key=_get_key_within_day)
    ordered.sort(key=lambda event: event.day, reverse=True)
    return ordered


def _get_key_within_day(event: HolderFigure) -> tuple[int, int, str]:
    return SOURCE_RANKS[event.source], -(event.value or 0), event.holder if event.source == "form_13f" else ""


def _add_actions(tx: Transaction, events: list[HolderFigure]) -> list[HolderFigure]:
    """Return the events with their actions. 13F positions already have theirs."""
    keys = [_get_filing_key(event) for event in events if event.source != "form_13f"]
    actions = filing_actions.find_actions(tx, keys)
    return [event._replace(action=event.action or actions.get(_get_filing_key(event))) for event in events]


def _get_filing_key(event: HolderFigure) -> FilingKey:
    return event.source, event.person_id or event.filing_id


def list_events_of_holder(
    tx: Transaction, issuer: int, holder: Row, filters: EventFilters
) -> tuple[list[PositionEvent], int]:
    """Return a page of the events of a holder's position, the latest day first, and the number of all."""
    page, total = list_events(tx, issuer, holder, filters)
    rows = []
    for event, figure in zip(page, reported_figures.list_with_filings(tx, page), strict=True):
        row: PositionEvent = {
            "eventDate": figure["day"],
            "source": figure["source"],
            "sourceFormType": figure["form"],
            "accessionNumber": figure["accession"],
            "filedAt": figure["filed"],
            "action": event.action,
            "postEventShares": figure["shares"],
            "postEventPercent": figure["percent"],
            "security": figure["security"],
            "gaps": _rename_gaps(figure["gaps"], shares="postEventShares", percent="postEventPercent"),
        }
        rows.append(row)
    return rows, total


def list_events_of_issuer(tx: Transaction, issuer: int, filters: EventFilters) -> tuple[list[IssuerEvent], int]:
    """Return a page of the events of all holders of an issuer, the latest day first, and the number of all."""
    page, total = list_events(tx, issuer, None, filters)
    ids = sorted({event.holder for event in page})
    holder_names = {row["id"]: row["name"] for row in holder_profiles.list_holders(tx, ids)}
    rows = []
    for event, figure in zip(page, reported_figures.list_with_filings(tx, page), strict=True):
        id_parts = (figure["accession"], event.holder, figure["cusip"])
        row: IssuerEvent = {
            "event_id": ":".join(part for part in id_parts if part),
            "event_at": reported_figures.format_day(figure["day"]),
            "filed_at": figure["filed"],
            "source": figure["source"],
            "form_type": figure["form"],
            "holder_uuid": event.holder,
            "holder_name": event.name or holder_names[event.holder],
            "action": event.action,
            "shares_after": figure["shares"],
            "percent_after": figure["percent"],
            "security": figure["security"],
            "accession_number": figure["accession"],
            "gaps": _rename_gaps(figure["gaps"], shares="shares_after", percent="percent_after"),
        }
        rows.append(row)
    return rows, total


def _rename_gaps(gaps: Mapping[str, str], *, shares: str, percent: str) -> dict[str, str]:
    """Return the reasons for a figure's null members, keyed by the names of these members in an event."""
    names = {"shares": shares, "percent": percent}
    return {names[name]: gap for name, gap in gaps.items()}
