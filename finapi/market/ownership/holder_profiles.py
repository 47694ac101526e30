"""Holders over all forms about holdings, and their filings.

A holder is a 13F manager, an owner of more than five per cent, an insider, or several of these. It is identified by one
UUID (``holder_ids``), made from its CIK, or from its name if a schedule states no CIK. Two CIKs are never merged into
one holder, even if their names are equal. Figures are always reported together with the form that states them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, Time, build_record, format_cik, parse_decimal
from finapi.market.ownership import filing_actions, holder_ids
from finapi.market.ownership.filing_actions import SOURCES, Action, FilingKey, Source
from finapi.store.db import Row, Transaction

KINDS = ("institutional", "insider", "beneficial_owner")
Kind = Annotated[str, OneOf(KINDS)]

# At most this many names with a word are read from each table of names. If a table has more, the search is incomplete.
_MAX_NAMES_PER_WORD = 2_000
_MAX_SEARCH_WORDS = 10


class HolderRoles(TypedDict):
    """The roles of a holder, by the forms that it files."""

    type: Annotated[
        Kind, "The first of institutional, insider and beneficial_owner that applies; the flags is_* state all."
    ]
    is_insider: Annotated[bool, "Files Forms 3, 4 or 5."]
    is_institutional: Annotated[bool, "Files Form 13F."]
    is_beneficial_owner: Annotated[bool, "Files Schedules 13D or 13G, or is named in one."]


class ListedHolder(HolderRoles):
    """A holder in a list."""

    holder_uuid: str
    name: str
    cik: Annotated[str | None, "null if schedules only state the name."]
    filing_count: Annotated[int, "Forms 3, 4, 5, 13F, 13D and 13G that are stored."]


class FilingCounts(TypedDict):
    """The number of stored filings of each family."""

    form_4: Annotated[int, "Forms 3, 4 and 5."]
    form_13f: Annotated[int, "Reports and notices on Form 13F, with amendments."]
    form_13dg: Annotated[int, "Schedules 13D and 13G that name the holder, with amendments."]
    form_144: Annotated[int, "Notices filed under the holder's CIK; for other sellers, only the name is known."]


class HolderProfile(HolderRoles):
    """A holder with its names and the number of its filings."""

    holder_uuid: str
    name: str
    primary_cik: str | None
    alternate_ciks: Annotated[list[str], "Always empty, because two CIKs are never merged into one holder."]
    name_aliases: list[str]
    filing_counts: FilingCounts
    first_filing_at: Annotated[Time | None, "The beginning of the filing day."]
    last_filing_at: Time | None


class HolderFiling(TypedDict):
    """A filing of a holder."""

    source: Source
    formType: str
    accessionNumber: str
    filedAt: Time | None
    issuerCik: Annotated[str | None, "null for a 13F, which is about many issuers."]
    issuerTicker: str | None
    issuerName: str | None
    action: Annotated[Action, "The change from the previous filing to this one; null if unknown."]


class _AnyFiling(TypedDict):
    accession_number: str
    filed_at: Time | None
    form_type: str


class _FilingAboutIssuer(_AnyFiling):
    issuer_cik: str
    issuer_ticker: str | None
    action: Action


class Form13FFiling(_AnyFiling):
    """A 13F report of a holder."""

    period_of_report: Date
    position_count: Annotated[int, "Number of rows in its table."]
    total_aum_usd: Annotated[
        int | None, "The cover's total, else the sum of the rows. It is not everything that the manager manages."
    ]


class Form13DGFiling(_FilingAboutIssuer):
    """A Schedule 13D or 13G of a holder, with the holder's figures."""

    percent_of_class: Decimal | None
    shares: Decimal | None
    purpose: str | None


class Form144Filing(_FilingAboutIssuer):
    """A notice of a proposed sale under a holder's CIK."""

    seller_name: str


class HolderSummary(TypedDict):
    """The number of a holder's filings on all pages."""

    total_filings: int
    form_4_count: int
    form_13f_count: int
    form_13dg_count: int
    form_144_count: int
    first_filing_at: Time | None
    last_filing_at: Time | None
    unique_issuers: Annotated[int, "Issuers of forms about one issuer; positions of 13F reports are not counted."]


class CrossReference(TypedDict):
    """The filings of a holder by family."""

    holder_uuid: str
    name: str
    form_4: list[_FilingAboutIssuer]
    form_13f: list[Form13FFiling]
    form_13dg: list[Form13DGFiling]
    form_144: list[Form144Filing]
    summary: HolderSummary


class HolderPage(NamedTuple):
    """A page of holders."""

    holders: list[ListedHolder]
    total: int
    is_incomplete: bool  # True if a word of the query occurs in too many names to read.


def search(
    tx: Transaction, *, query: str | None, cik: int | None, kind: str | None, limit: int, offset: int
) -> HolderPage:
    """Return a page of the holders that match all filters, those with the most filings first.

    ``query`` is a CIK, or words of the name, each of which may be cut short.
    """
    ids: set[str] | None = None
    is_incomplete = False
    if query is not None:
        ids, is_incomplete = _find_ids(tx, query)
    if cik is not None:
        holder_id = holder_ids.for_cik(cik)
        ids = {holder_id} if ids is None or holder_id in ids else set()
    if ids is None:
        rows = tx.list_rows("holders_of_kind", kind=kind, limit=limit, offset=offset)
        total = int(tx.find_value("count_holders_of_kind", kind=kind))
    else:
        parameters = {"ids": json.dumps(sorted(ids)), "kind": kind, "limit": limit, "offset": offset}
        rows, total = tx.list_page("holders_by_ids", parameters)
    return HolderPage([build_listed_holder(row) for row in rows], total, is_incomplete)


def _find_ids(tx: Transaction, query: str) -> tuple[set[str], bool]:
    """Return the UUIDs of the holders that match a query, and True if the search is incomplete."""
    text = query.strip()
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return {holder_ids.for_cik(int(text))}, False
    ids: set[str] | None = None
    is_incomplete = False
    words = dict.fromkeys(holder_ids.fold_name(text).split()[:_MAX_SEARCH_WORDS])
    for word in sorted(words, key=len, reverse=True):
        rows = tx.list_rows("holders_with_word", word=word, limit=_MAX_NAMES_PER_WORD)
        ids_with_word = {row["holder"] for row in rows}
        if len(ids_with_word) >= _MAX_NAMES_PER_WORD:
            is_incomplete = True
        ids = ids_with_word if ids is None else ids & ids_with_word
    return ids or set(), is_incomplete


def build_listed_holder(row: Row) -> ListedHolder:
    """Return the record of a holder in lists."""
    return build_record(
        ListedHolder,
        row,
        **_build_roles(row),
        holder_uuid=row["id"],
        cik=format_cik(row["cik"]),
        filing_count=row["filings"],
    )


def _build_roles(row: Row) -> HolderRoles:
    is_institutional = row["form_13f"] > 0
    is_insider = row["form_4"] > 0
    if is_institutional:
        kind = "institutional"
    elif is_insider:
        kind = "insider"
    else:
        kind = "beneficial_owner"
    return {
        "type": kind,
        "is_insider": is_insider,
        "is_institutional": is_institutional,
        "is_beneficial_owner": row["form_13dg"] > 0,
    }


def get_holder(tx: Transaction, key: str) -> Row:
    """Return the row of a holder by its UUID or CIK. Raise ApiError (NOT_FOUND) if it has no stored filing."""
    holder_id = holder_ids.for_cik(int(key)) if key.isdigit() else key.lower()
    rows = list_holders(tx, [holder_id])
    if not rows:
        raise ApiError("NOT_FOUND", f"finapi has no holder {holder_id}; /ownership/holders lists them.")
    return rows[0]


def list_holders(tx: Transaction, ids: Sequence[str]) -> list[Row]:
    """Return the rows of the holders with these UUIDs."""
    return tx.list_rows("holders_by_ids", ids=json.dumps(ids), kind=None, limit=len(ids), offset=0)


def get_profile(tx: Transaction, key: str) -> HolderProfile:
    """Return a holder by its UUID or CIK. Raise ApiError (NOT_FOUND) if it has no stored filing."""
    row = get_holder(tx, key)
    names = [name_row["name"] for name_row in tx.list_rows("names_of_holder", _build_key(row))]
    return build_record(
        HolderProfile,
        row,
        **_build_roles(row),
        **_find_filing_times(tx, row),
        holder_uuid=row["id"],
        primary_cik=format_cik(row["cik"]),
        alternate_ciks=[],
        name_aliases=[name for name in names if name != row["name"]],
        filing_counts=_count_filings(tx, row),
    )


def _build_key(holder: Row) -> dict[str, Any]:
    return {"holder": holder["id"], "cik": holder["cik"]}


def _count_filings(tx: Transaction, holder: Row) -> dict[str, int]:
    """Return the number of a holder's filings by source."""
    return dict(tx.list_rows("filing_counts_of_holder", _build_key(holder))[0])


def _list_filing_rows(tx: Transaction, holder: Row, requested_source: str | None, limit: int, offset: int) -> list[Row]:
    """Return a page of a holder's filings, newest first, of one source or of all."""
    source, schedule = filing_actions.split_source(requested_source)
    return tx.list_rows(
        "filings_of_holder",
        _build_key(holder),
        source=source,
        schedule=schedule,
        limit=limit,
        offset=offset,
        last=limit + offset,
    )


def _find_filing_times(tx: Transaction, holder: Row) -> dict[str, str | None]:
    """Return ``first_filing_at`` and ``last_filing_at`` of a holder."""
    first_day = tx.find_value("first_filing_day_of_holder", _build_key(holder))
    newest = _list_filing_rows(tx, holder, None, 1, 0)
    return {
        "first_filing_at": None if first_day is None else f"{days.iso(first_day)}T00:00:00.000Z",
        "last_filing_at": newest[0]["filed_at"] if newest else None,
    }


def list_filings(
    tx: Transaction, holder: Row, requested_source: str | None, limit: int, offset: int
) -> tuple[list[HolderFiling], int]:
    """Return a page of a holder's filings, newest first, and their total number, of one source or of all."""
    rows = _list_filing_rows(tx, holder, requested_source, limit, offset)
    actions = filing_actions.find_actions(tx, [(row["source"], row["id"]) for row in rows])
    page = [build_record(HolderFiling, row, action=actions[row["source"], row["id"]]) for row in rows]
    source, schedule = filing_actions.split_source(requested_source)
    if schedule is not None:
        return page, int(tx.find_value("count_schedules_of_holder", holder=holder["id"], schedule=schedule))
    counts = _count_filings(tx, holder)
    return page, counts[source] if source else sum(counts.values())


def build_cross_reference(tx: Transaction, holder: Row, limit: int, offset: int) -> CrossReference:
    """Return a page of a holder's filings of each family, newest first."""
    rows_by_source = {source: _list_filing_rows(tx, holder, source, limit, offset) for source in SOURCES}
    keys = [(source, row["id"]) for source, rows in rows_by_source.items() for row in rows]
    actions = filing_actions.find_actions(tx, keys)
    counts = _count_filings(tx, holder)
    return {
        "holder_uuid": holder["id"],
        "name": holder["name"],
        "form_4": [
            build_record(_FilingAboutIssuer, row, issuer_cik=row["issuerCik"], action=actions["form_4", row["id"]])
            for row in rows_by_source["form_4"]
        ],
        "form_13f": _list_13f_filings(tx, rows_by_source["form_13f"]),
        "form_13dg": _list_13dg_filings(tx, rows_by_source["form_13dg"], actions),
        "form_144": [
            build_record(Form144Filing, row, issuer_cik=row["issuerCik"], action=actions["form_144", row["id"]])
            for row in rows_by_source["form_144"]
        ],
        "summary": build_record(
            HolderSummary,
            _find_filing_times(tx, holder),
            total_filings=sum(counts.values()),
            form_4_count=counts["form_4"],
            form_13f_count=counts["form_13f"],
            form_13dg_count=counts["form_13dg"],
            form_144_count=counts["form_144"],
            unique_issuers=tx.find_value("count_issuers_of_holder", _build_key(holder)),
        ),
    }


def _list_13f_filings(tx: Transaction, rows: Sequence[Row]) -> list[Form13FFiling]:
    ids = json.dumps([row["id"] for row in rows])
    facts = {facts_row["id"]: facts_row for facts_row in tx.list_rows("holdings_report_facts", ids=ids)}
    return [
        build_record(
            Form13FFiling,
            row,
            period_of_report=facts[row["id"]]["period_of_report"],
            position_count=facts[row["id"]]["position_count"],
            total_aum_usd=facts[row["id"]]["total_aum_usd"],
        )
        for row in rows
    ]


def _list_13dg_filings(
    tx: Transaction, rows: Sequence[Row], actions: Mapping[FilingKey, str | None]
) -> list[Form13DGFiling]:
    ids = json.dumps([row["id"] for row in rows])
    facts = {facts_row["id"]: facts_row for facts_row in tx.list_rows("schedule_person_facts", ids=ids)}
    return [
        build_record(
            Form13DGFiling,
            row,
            issuer_cik=row["issuerCik"],
            action=actions["form_13dg", row["id"]],
            percent_of_class=parse_decimal(facts[row["id"]]["percent"]),
            shares=parse_decimal(facts[row["id"]]["shares"]),
            purpose=facts[row["id"]]["purpose"],
        )
        for row in rows
    ]
