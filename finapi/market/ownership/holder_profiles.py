"""Holders over all forms: 13F managers, owners of five per cent, insiders; each by one UUID, with what it filed.

A holder is one CIK, or one name where a schedule tells no CIK; two CIKs are never taken for one holder. Figures stay
with the form that tells them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.errors import ApiError
from finapi.core.records import Date, OneOf, Time, build_record
from finapi.market.ownership import holder_ids
from finapi.store.db import Row, Transaction

# The families of forms: 3, 4 and 5; 13F; Schedules 13D and 13G; 144.
SOURCES = ("form_4", "form_13f", "form_13dg", "form_144")
Source = Annotated[str, OneOf(SOURCES)]
KINDS = ("institutional", "insider", "beneficial_owner")
Kind = Annotated[str, OneOf(KINDS)]
ACTIONS = (
    "buy",
    "sell",
    "buy_and_sell",
    "acquired",
    "disposed",
    "holding",
    "report",
    "notice",
    "amendment",
    "new",
    "increased",
    "decreased",
    "unchanged",
    "closed",
    "exit",
    "proposed_sale",
)
Action = Annotated[str, OneOf(ACTIONS)] | None

# What a form tells that has no transactions, or never any.
_ALONE = (("form_4", "holding"), ("form_144", "proposed_sale"))
# Names with one word that are looked at, in each of the tables of names.
_MOST_WITH_WORD = 2_000


class HolderRoles(TypedDict):
    """What a holder is by the forms that it files."""

    type: Annotated[Kind, "The first of institutional, insider, beneficial_owner that it is; is_* say all."]
    is_insider: Annotated[bool, "Files Forms 3, 4 or 5."]
    is_institutional: Annotated[bool, "Files Form 13F."]
    is_beneficial_owner: Annotated[bool, "Files Schedules 13D or 13G, or is named in one."]


class ListedHolder(HolderRoles):
    """Who files of holdings."""

    holder_uuid: str
    name: str
    cik: Annotated[str | None, "null: schedules tell the name alone."]
    filing_count: Annotated[int, "Forms 3, 4, 5, 13F, 13D and 13G that are held."]


class FilingCounts(TypedDict):
    """How many filings of each family are held."""

    form_4: Annotated[int, "Forms 3, 4 and 5."]
    form_13f: int
    form_13dg: int
    form_144: Annotated[int, "Under the holder's CIK; of other sellers the name alone is known."]


class HolderProfile(HolderRoles):
    """A holder with its names and how much it filed."""

    holder_uuid: str
    name: str
    primary_cik: str | None
    alternate_ciks: Annotated[list[str], "Empty: two CIKs are never taken for one holder."]
    name_aliases: list[str]
    filing_counts: FilingCounts
    first_filing_at: Annotated[Time | None, "The beginning of its day."]
    last_filing_at: Time | None


class HolderFiling(TypedDict):
    """A filing of a holder."""

    source: Source
    formType: str
    accessionNumber: str
    filedAt: Time | None
    issuerCik: Annotated[str | None, "null: a 13F is about many."]
    issuerTicker: str | None
    issuerName: str | None
    action: Annotated[Action, "By its own figures and those of the filing before; null: not known."]


class _Filed(TypedDict):
    accession_number: str
    filed_at: Time | None
    form_type: str


class _FiledAbout(_Filed):
    issuer_cik: str
    issuer_ticker: str | None
    action: Action


class Form13FFiling(_Filed):
    """A 13F report of a holder."""

    period_of_report: Date
    position_count: Annotated[int, "Rows of its table."]
    total_aum_usd: Annotated[int | None, "By its cover, else the sum of its rows: not all that a manager manages."]


class Form13DGFiling(_FiledAbout):
    """A Schedule 13D or 13G of a holder, with its own figures."""

    percent_of_class: Decimal | None
    shares: Decimal | None
    purpose: str | None


class Form144Filing(_FiledAbout):
    """A notice of a proposed sale under a holder's CIK."""

    seller_name: str


class HolderSummary(TypedDict):
    """How much a holder filed, whatever the page shows."""

    total_filings: int
    form_4_count: int
    form_13f_count: int
    form_13dg_count: int
    form_144_count: int
    first_filing_at: Time | None
    last_filing_at: Time | None
    unique_issuers: Annotated[int, "Of forms about one issuer; positions of 13F reports are not counted."]


class CrossReference(TypedDict):
    """What a holder filed, each family by itself."""

    holder_uuid: str
    name: str
    form_4: list[_FiledAbout]
    form_13f: list[Form13FFiling]
    form_13dg: list[Form13DGFiling]
    form_144: list[Form144Filing]
    summary: HolderSummary


_RECORDS: dict[str, Any] = dict(zip(SOURCES, (_FiledAbout, Form13FFiling, Form13DGFiling, Form144Filing), strict=True))


class HoldersFound(NamedTuple):
    """A page of holders, how many there are, and whether a word begins more names than are looked at."""

    page: list[ListedHolder]
    total: int
    cut: bool


def search(
    tx: Transaction, query: str | None, cik: int | None, kind: str | None, place: dict[str, int]
) -> HoldersFound:
    """Holders with most filings first: all, those of a kind, those whose names have the words of ``query``, a CIK's."""
    ids, cut = None if cik is None else {holder_ids.for_cik(cik)}, False
    if query is not None:
        named, cut = _of_words(tx, query)
        ids = named if ids is None else ids & named
    if ids is None:
        rows, total = (
            tx.list_rows("holders_of_kind", place, kind=kind),
            int(tx.find_value("holders_of_kind_count", kind=kind)),
        )
    else:
        rows, total = tx.list_page("holders_of_ids", {"ids": json.dumps(sorted(ids)), "kind": kind, **place})
    return HoldersFound([shown(row) for row in rows], total, cut)


def _of_words(tx: Transaction, query: str) -> tuple[set[str], bool]:
    """The holders whose names have words that begin with each of a text's, or of a CIK."""
    text = query.strip()
    if text.isascii() and text.isdigit() and len(text) <= 10:
        return {holder_ids.for_cik(int(text))}, False
    found: set[str] | None = None
    cut = False
    for word in sorted(dict.fromkeys(holder_ids.fold_name(text).split()[:10]), key=len, reverse=True):
        held = {row["holder"] for row in tx.list_rows("holders_with_word", word=word, limit=_MOST_WITH_WORD)}
        cut = cut or len(held) >= _MOST_WITH_WORD
        found = held if found is None else found & held
    return found or set(), cut


def shown(row: Row) -> ListedHolder:
    """A holder as lists show it."""
    roles = _roles(row)
    return build_record(
        ListedHolder, row, **roles, holder_uuid=row["id"], cik=_padded(row), filing_count=row["filings"]
    )


def _roles(row: Row) -> dict[str, Any]:
    flags = [row[name] > 0 for name in ("form_13f", "form_4", "form_13dg")]
    kind = next(name for name, is_one in zip(KINDS, flags, strict=True) if is_one)
    return {"type": kind, "is_institutional": flags[0], "is_insider": flags[1], "is_beneficial_owner": flags[2]}


def _padded(row: Row) -> str | None:
    return None if row["cik"] is None else f"{row['cik']:010}"


def found(tx: Transaction, holder: str) -> Row:
    """The row of a holder by its UUID or CIK; NOT_FOUND when nothing of it is held."""
    holder = holder_ids.for_cik(int(holder)) if holder.isdigit() else holder.lower()
    row = tx.find_row("holders_of_ids", ids=json.dumps([holder]), kind=None, limit=1, offset=0)
    if row is None:
        raise ApiError("NOT_FOUND", f"finapi knows no holder {holder}; /ownership/holders lists them.")
    return row


def profile(tx: Transaction, holder: str) -> HolderProfile:
    """A holder with its names, and how much it filed."""
    row = found(tx, holder)
    names = [one["name"] for one in tx.list_rows("holder_names", _key(row))]
    return build_record(
        HolderProfile,
        row,
        **_roles(row),
        **_spanned(tx, row),
        holder_uuid=row["id"],
        primary_cik=_padded(row),
        alternate_ciks=[],
        name_aliases=[name for name in names if name != row["name"]],
        filing_counts=_counted(tx, row),
    )


def _key(row: Row) -> dict[str, Any]:
    return {"holder": row["id"], "cik": row["cik"]}


def _counted(tx: Transaction, row: Row) -> dict[str, int]:
    """How many filings of a holder are held, by family."""
    return dict(tx.list_rows("filings_of_holder_count", _key(row))[0])


def _filed(tx: Transaction, row: Row, source: str | None, limit: int, offset: int) -> list[Row]:
    return tx.list_rows("filings_of_holder", _key(row), source=source, limit=limit, offset=offset, upto=limit + offset)


def _spanned(tx: Transaction, row: Row) -> dict[str, str | None]:
    """When a holder filed first, and last."""
    day, newest = tx.find_value("first_filing_of_holder", _key(row)), _filed(tx, row, None, 1, 0)
    first = None if day is None else f"{days.iso(day)}T00:00:00.000Z"
    return {"first_filing_at": first, "last_filing_at": newest[0]["filed_at"] if newest else None}


def history(tx: Transaction, row: Row, source: str | None, limit: int, offset: int) -> tuple[list[HolderFiling], int]:
    """A page of a holder's filings, the newest first; how many there are."""
    rows = _filed(tx, row, source, limit, offset)
    told = actions(tx, [(one["source"], one["id"]) for one in rows])
    counts = _counted(tx, row)
    page = [build_record(HolderFiling, one, action=told[one["source"], one["id"]]) for one in rows]
    return page, counts[source] if source else sum(counts.values())


def actions(tx: Transaction, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str | None]:
    """What each of some filings tells, by its family and number: of a schedule its person's, of others the filing's."""
    told: dict[tuple[str, int], str | None] = dict.fromkeys(places)
    told |= {one: word for one in places for source, word in _ALONE if one[0] == source}
    for source, action in (("form_4", _traded), ("form_13dg", _moved), ("form_13f", _reported)):
        ids = json.dumps([number for family, number in places if family == source])
        told |= {(source, one["id"]): action(one) for one in tx.list_rows(f"{source}_told", ids=ids)}
    return told


def _traded(row: Row) -> str:
    """What a form tells by its transactions: those in the market first."""
    if row["bought"] or row["sold"]:
        return "buy_and_sell" if row["bought"] and row["sold"] else "buy" if row["bought"] else "sell"
    return "acquired" if row["acquired"] else "disposed" if row["disposed"] else "holding"


def _reported(row: Row) -> str:
    notice = "NOTICE" in (row["report_type"] or "").upper()
    return "amendment" if row["is_amendment"] else "notice" if notice else "report"


def _moved(row: Row) -> str | None:
    """What a schedule tells of a person's part of the class, in percentage points, which no split changes."""
    if row["is_exit"]:
        return "exit"
    if row["prior_percent"] is None and not row["is_amendment"] and not row["followed"]:
        return "new"
    if row["percent"] is None or row["prior_percent"] is None:
        return None
    change = Decimal(row["percent"]) - Decimal(row["prior_percent"])
    return "increased" if change > 0 else "decreased" if change < 0 else "unchanged"


def cross_reference(tx: Transaction, row: Row, limit: int, offset: int) -> CrossReference:
    """What a holder filed: of each family the newest, as many as ``limit`` says after ``offset``."""
    filed = {source: _filed(tx, row, source, limit, offset) for source in SOURCES}
    told = actions(tx, [(one["source"], one["id"]) for rows in filed.values() for one in rows])
    families: dict[str, Any] = {}
    for source, rows in filed.items():
        more: dict[int, dict[str, Any]] = {}
        if source in ("form_13f", "form_13dg"):
            ids = json.dumps([one["id"] for one in rows])
            more = {one["id"]: dict(one) for one in tx.list_rows(f"{source}_told", ids=ids)}
        families[source] = [
            build_record(
                _RECORDS[source],
                {**dict(one), **more.get(one["id"], {})},
                issuer_cik=one["issuerCik"],
                action=told[source, one["id"]],
            )
            for one in rows
        ]
    counts = _counted(tx, row)
    summary = build_record(
        HolderSummary,
        {f"{name}_count": count for name, count in counts.items()},
        **_spanned(tx, row),
        total_filings=sum(counts.values()),
        unique_issuers=tx.find_value("issuers_of_holder_count", _key(row)),
    )
    return build_record(CrossReference, {**families, "holder_uuid": row["id"], "name": row["name"]}, summary=summary)
