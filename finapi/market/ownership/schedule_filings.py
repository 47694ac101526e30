"""Lists of Schedules 13D and 13G, each filing with the figures of one of its persons and their change.

The person is the one that the list is limited to, or else the lead, who reports the most shares (``schedule_store``).
Changes are relative to the same person's previous filing about the same securities:

- ``percentChange`` is in percentage points. Splits do not change it.
- ``sharesChange`` multiplies the previous shares by the splits in between. A holder with 100 shares who reports 400
  after a split of four for one has a change of 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import Date, OneOf, Time, build_record, format_cik, parse_decimal
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership import holder_ids, purposes
from finapi.market.ownership.filing_windows import UNDATED, FilingWindow
from finapi.market.reference import share_splits
from finapi.store.db import Row, Transaction

# The reason codes for null figures.
HOLE_REASONS = (
    "cover_not_in_xml",
    "not_reported",
    "no_earlier_filing",
    "earlier_filing_not_held",
    "needs_both_filings",
)
Holes = dict[str, Annotated[str, OneOf(HOLE_REASONS)]]

# The form types by the values of the parameter formType. "13D" means the four form types of 13D: originals and
# amendments, before and after December 2024.
FORM_TYPES: dict[str, tuple[str, ...]] = {
    "13D": tuple(form for form in ALL_FORM_TYPES if "13D" in form),
    "13G": tuple(form for form in ALL_FORM_TYPES if "13G" in form),
    "13D/A": tuple(form for form in ALL_FORM_TYPES if "13D/A" in form),
    "13G/A": tuple(form for form in ALL_FORM_TYPES if "13G/A" in form),
    **{form: (form,) for form in ALL_FORM_TYPES},
    # Names that clients use for one kind, originals and amendments apart.
    "SC_13D": tuple(form for form in ALL_FORM_TYPES if form.endswith("13D")),
    "SC_13D_A": tuple(form for form in ALL_FORM_TYPES if form.endswith("13D/A")),
    "SC_13G": tuple(form for form in ALL_FORM_TYPES if form.endswith("13G")),
    "SC_13G_A": tuple(form for form in ALL_FORM_TYPES if form.endswith("13G/A")),
}
MEMBER_OF_GROUP = "a"  # ReportingPerson.group_membership

SORTS = ("filedAt", "percentOfClass")
# The suffixes of query names, by (sort column, True if descending).
_ORDERS = {
    ("filedAt", True): "newest_first",
    ("filedAt", False): "oldest_first",
    ("percentOfClass", True): "greatest_first",
    ("percentOfClass", False): "smallest_first",
}
_MAX_MATCHING_HOLDERS = 500
_MAX_SEARCH_WORDS = 10


class IntentFlags(TypedDict):
    """The intents that Item 4 states without hedging; null without an Item 4. They show where to read on."""

    intends_to_acquire: bool | None
    opposes_management: bool | None
    board_seat_demand: bool | None
    seeks_sale_or_merger: bool | None


class ScheduleFiling(TypedDict):
    """A Schedule 13D or 13G with the figures of one of its persons."""

    accessionNumber: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    filedAt: Annotated[Time | None, "The acceptance; the beginning of the filing day where only that is known."]
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    filerCik: str | None
    filerName: str
    percentOfClass: Decimal | None
    sharesOwned: Decimal | None
    priorPercent: Annotated[Decimal | None, "Percentage in the person's previous filing about the same securities."]
    priorShares: Annotated[Decimal | None, "Shares in the previous filing, as filed."]
    percentChange: Annotated[Decimal | None, "Change in percentage points."]
    sharesChange: Annotated[Decimal | None, "Change in shares, adjusted for the splits between the two filings."]
    splitFactor: Annotated[
        Decimal | None, "Shares that one share became by splits between the two filings; null without splits."
    ]
    priorAccessionNumber: str | None
    purpose: Annotated[str | None, f"The first {purposes.PREVIEW_CHARS} characters of Item 4."]
    dateOfEvent: Date | None
    isAmendment: bool
    isConversion: Annotated[bool, "true: the person's previous filing was a schedule of the other kind."]
    cusip: str | None
    titleOfClass: str | None
    soleVotingPower: Decimal | None
    sharedVotingPower: Decimal | None
    reportingPersonCount: int
    holderUuid: str
    intentFlags: IntentFlags
    holes: Annotated[Holes, "The reason for each figure that is null, by its name."]


class ScheduleFilters(NamedTuple):
    """The filters and the order of a list of schedules."""

    issuer: int | None = None  # CIK
    holders: Sequence[str] | None = None  # UUIDs. The filings are listed with these persons' figures.
    forms: Sequence[str] | None = None
    min_percent: float | None = None
    window: FilingWindow = FilingWindow()
    amendment: bool | None = None
    conversion: bool | None = None
    intent: int | None = None  # A bit of ``purposes``.
    sort: str = "filedAt"
    descending: bool = True


def list_filings(
    tx: Transaction, filters: ScheduleFilters, limit: int, offset: int
) -> tuple[list[ScheduleFiling], int]:
    """Return a page of filings, and the number of all."""
    order = _ORDERS[filters.sort, filters.descending]
    if filters.holders is not None:
        query, count_query = f"schedules_of_holders_{order}", "count_schedules_of_holders"
    elif filters.issuer is not None:
        query, count_query = f"schedules_of_issuer_{order}", "count_schedules_of_issuer"
    else:
        query, count_query = f"all_schedules_{order}", "count_all_schedules"
    parameters = {
        "issuer": filters.issuer,
        "holders": json.dumps(list(filters.holders or ())),
        "forms": None if filters.forms is None else json.dumps(list(filters.forms)),
        "min_percent": filters.min_percent,
        "since": filters.window.since,
        "until": filters.window.until,
        "amendment": filters.amendment,
        "conversion": filters.conversion,
        "intent": filters.intent,
    }
    rows = tx.list_rows(query, parameters, limit=limit, offset=offset)
    persons = [PersonKey(filing_id=row["id"], seq=row["seq"]) for row in rows]
    return list_by_persons(tx, persons), int(tx.find_value(count_query, parameters))


def count_undated(tx: Transaction, filters: ScheduleFilters) -> int:
    """Return the number of filings left out of the window because their filing day is unknown."""
    if not filters.window.leaves_out_undated:
        return 0
    _, total = list_filings(tx, filters._replace(window=UNDATED), limit=1, offset=0)
    return total


def find_holders(tx: Transaction, cik: int | None, name: str | None) -> list[str] | None:
    """Return the UUIDs of the holders that match both the CIK and the name, or None if neither is given."""
    if name is None:
        return None if cik is None else [holder_ids.for_cik(cik)]
    matches = find_holders_by_name(tx, name)
    if cik is None:
        return matches
    holder_id = holder_ids.for_cik(cik)
    return [holder_id] if holder_id in matches else []


def find_holders_by_name(tx: Transaction, text: str) -> list[str]:
    """Return the UUIDs of the holders whose names have, for each word of a text, a word that starts with it."""
    words = holder_ids.fold_name(text).split()[:_MAX_SEARCH_WORDS]
    if not words:
        return []
    rows = tx.list_rows("holders_with_words", words=json.dumps(words), count=len(words), limit=_MAX_MATCHING_HOLDERS)
    return [row["holder"] for row in rows]


class PersonKey(NamedTuple):
    """A person of a filing."""

    filing_id: int
    seq: int  # The person's position on the cover, from 1.


def get_filing(tx: Transaction, accession: str) -> ScheduleFiling:
    """Return a stored filing with the figures of its lead."""
    row = tx.find_row("schedule_lead", accession=accession)
    assert row is not None
    return list_by_persons(tx, [PersonKey(filing_id=row["id"], seq=row["lead_seq"])])[0]


def list_by_persons(tx: Transaction, persons: Sequence[PersonKey]) -> list[ScheduleFiling]:
    """Return the filing of each person with its figures, in the order of ``persons``."""
    rows = {
        PersonKey(row["filing_id"], row["seq"]): row
        for row in tx.list_rows("schedules_by_persons", persons=json.dumps(persons))
    }
    splits = SplitReader(tx)
    return [_build_filing(rows[person], splits) for person in persons]


def _build_filing(row: Row, splits: SplitReader) -> ScheduleFiling:
    percent = parse_decimal(row["percent"])
    shares = parse_decimal(row["shares"])
    prior_percent = parse_decimal(row["prior_percent"])
    prior_shares = parse_decimal(row["prior_shares"])
    percent_change = None if percent is None or prior_percent is None else percent - prior_percent
    factor = None
    shares_change = None
    if shares is not None and prior_shares is not None:
        factor = splits.find_factor(row["issuerTicker"], row["prior_day"], row["day"])
        shares_change = shares - prior_shares * (factor or 1)
    figures = {
        "percentOfClass": percent,
        "sharesOwned": shares,
        "priorPercent": prior_percent,
        "priorShares": prior_shares,
        "percentChange": percent_change,
        "sharesChange": shares_change,
    }
    return build_record(
        ScheduleFiling,
        row,
        **figures,
        issuerCik=f"{row['issuer_cik']:010}",
        filerCik=format_cik(row["cik"]),
        splitFactor=factor,
        purpose=purposes.shorten(row["purpose"]),
        intentFlags=build_intent_flags(row["intents"]),
        isConversion=row["prior_kind"] is not None and row["prior_kind"] != row["kind"],
        holes=_find_holes(row, figures),
    )


def _find_holes(row: Row, figures: dict[str, Decimal | None]) -> dict[str, str]:
    """Return the reason for each figure that is None."""
    if row["prior_source"] is not None:
        prior_reason = get_hole_reason(row["prior_source"])
    elif row["isAmendment"]:
        prior_reason = "earlier_filing_not_held"
    else:
        prior_reason = "no_earlier_filing"
    reasons = {
        "percentOfClass": get_hole_reason(row["source"]),
        "priorPercent": prior_reason,
        "percentChange": "needs_both_filings",
        "sharesOwned": get_hole_reason(row["source"]),
        "priorShares": prior_reason,
        "sharesChange": "needs_both_filings",
    }
    return {name: reason for name, reason in reasons.items() if figures[name] is None}


def get_hole_reason(source: int) -> str:
    """Return the reason code for a figure that is missing from a filing of this source (``schedule_store``)."""
    return "not_reported" if source else "cover_not_in_xml"


class SplitReader:
    """Reads the splits of tickers from the price files, each ticker once."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._splits_by_ticker: dict[str, list[Row]] = {}

    def find_factor(self, ticker: str | None, before: str | None, day: str | None) -> Decimal | None:
        """Return the number of shares that one share became between two days, or None if that is 1 or unknown."""
        if ticker is None:
            return None
        if ticker not in self._splits_by_ticker:
            self._splits_by_ticker[ticker] = share_splits.list_for_ticker(self._tx, ticker)
        return compute_split_factor(self._splits_by_ticker[ticker], before, day)


def compute_split_factor(splits: Sequence[Row], before: str | None, day: str | None) -> Decimal | None:
    """Return the number of shares into which the splits after ``before`` and up to ``day`` turned one share.

    Return None if there were no splits, or if one of the days is unknown.
    """
    if before is None or day is None:
        return None
    factor = Decimal(1)
    for row in splits:
        if before < row["date"] <= day:
            factor *= Decimal(row["value"])
    return None if factor == 1 else factor


def build_intent_flags(bits: int | None) -> IntentFlags:
    """Return the intents of Item 4 by name."""
    flags = purposes.list_flags(bits)
    return {
        "intends_to_acquire": flags["intends_to_acquire"],
        "opposes_management": flags["opposes_management"],
        "board_seat_demand": flags["board_seat_demand"],
        "seeks_sale_or_merger": flags["seeks_sale_or_merger"],
    }
