"""Filings as ``/sec/filings``, the feed and webhooks show them: one object, built here alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypedDict
from urllib.parse import quote

from finapi.core.records import Date, Time, Url, build_record
from finapi.market.documents import metadata
from finapi.store.db import Row, Transaction

ARCHIVES_URL = "https://www.sec.gov/Archives/edgar/data"

_ROLES = {rank: role for role, rank in metadata.PARTY_RANKS.items()}
# What EDGAR lists apart from the documents that people read.
_DATA_TYPES = ("EX-100", "EX-101", "XML", "JSON", "ZIP", "EXCEL")


class FilingFile(TypedDict):
    """A document of a filing, as its index lists it."""

    type: str
    document: str | None
    description: str | None
    size: str


class FilingRow(TypedDict):
    """A filing."""

    id: int
    accession_number: str
    ticker: str | None
    form_type: str | None
    cik: str
    entity_name: str
    company_name: str
    title: str
    filing_size: str | None
    filed_date: Date | None
    filed_at: Date | None
    accepted_at: Time | None
    updated_at: Time | None
    primary_link: Url
    primary_html_url: Url | None
    primary_description: str | None
    document_files: list[FilingFile]
    data_files: list[FilingFile]
    items: list[str]
    period_of_report: Date | None
    sic: str | None
    all_links: list[Url]
    is_xbrl: bool | None
    first_seen_at: Time | None
    last_seen_at: Time | None


class FilingParty(TypedDict):
    """A company or person that is part of a filing."""

    cik: str
    company_name: str
    ticker: str | None
    role: str | None


class FilingDetail(FilingRow):
    """A filing with all its parties."""

    raw_entry_xml: Literal[None]
    parties: list[FilingParty]
    has_html: bool


def list_filings(tx: Transaction, accessions: Sequence[str]) -> list[FilingRow]:
    """The filings of these accession numbers in their order, as ``/sec/filings`` shows them."""
    wanted = json.dumps(list(accessions))
    held = {row["accession"]: row for row in tx.list_rows("filings_named", accessions=wanted)}
    parties, files = (_by_filing(tx.list_rows(query, accessions=wanted)) for query in ("parties_of", "documents_of"))
    ids = {one: held[one]["id"] for one in accessions if one in held}
    return [_shown(held[one], parties[id], files.get(id, [])) for one, id in ids.items()]


def _by_filing(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["filing_id"], []).append(row)
    return found


def find_filing(tx: Transaction, accession: str) -> FilingDetail | None:
    """One filing with its parties, or None."""
    found = list_filings(tx, [accession])
    if not found:
        return None
    parties: list[FilingParty] = [
        {
            "cik": f"{party['cik']:010}",
            "company_name": party["name"],
            "ticker": party["ticker"],
            "role": _ROLES.get(party["rank"]),
        }
        for party in sorted(tx.list_rows("parties_of", accessions=json.dumps([accession])), key=_standing)
    ]
    has_text = bool(tx.find_value("has_text", accession=accession))
    return {**found[0], "raw_entry_xml": None, "parties": parties, "has_html": has_text}


def _standing(party: Row) -> tuple[int, bool, bool, int]:
    """Whose filing it is first: lists do not name roles, but an issuer has a ticker or an industry."""
    return party["rank"], party["ticker"] is None, party["sic"] is None, party["cik"]


def _shown(row: Row, parties: Sequence[Row], files: Sequence[Row]) -> FilingRow:
    accession, form = row["accession"], row["form"]
    main = min(parties, key=_standing)
    folder = f"{ARCHIVES_URL}/{main['cik']}/{accession.replace('-', '')}"
    index = f"{folder}/{accession}-index.htm"
    document = f"{folder}/{quote(row['primary_document'])}" if row["primary_document"] else None
    read: list[FilingFile] = []
    data: list[FilingFile] = []
    for file in files:
        (data if file["type"].startswith(_DATA_TYPES) else read).append(build_record(FilingFile, file))
    links = [index, document, *(f"{folder}/{quote(one['document'])}" for one in read + data if one["document"])]
    return {
        "id": metadata.accession_to_int(accession),
        "accession_number": accession,
        "ticker": main["ticker"],
        "form_type": form,
        "cik": f"{main['cik']:010}",
        "entity_name": main["name"],
        "company_name": main["name"],
        "title": f"{form or 'Filing'} - {main['name']} ({main['cik']:010})",
        "filing_size": None if row["size"] is None else str(row["size"]),
        "filed_date": row["filed_at"],
        "filed_at": row["filed_at"],
        "accepted_at": row["accepted_at"],
        "updated_at": row["updated_at"] or None,
        "primary_link": index,
        "primary_html_url": document,
        "primary_description": row["description"],
        "document_files": read,
        "data_files": data,
        "items": row["items"].split(",") if row["items"] else [],
        "period_of_report": row["period_of_report"],
        "sic": None if main["sic"] is None else f"{main['sic']:04}",
        "all_links": list(dict.fromkeys(link for link in links if link)),
        "is_xbrl": None if row["is_xbrl"] is None else bool(row["is_xbrl"]),
        "first_seen_at": row["first_seen_at"] or None,
        "last_seen_at": row["updated_at"] or None,
    }
