"""The JSON object of a filing, the same in ``/sec/filings``, the feed and webhooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, TypedDict
from urllib.parse import quote

from finapi.core.records import Date, Time, Url, build_record
from finapi.market.documents import metadata
from finapi.store.db import Row, Transaction

ARCHIVES_URL = "https://www.sec.gov/Archives/edgar/data"

_ROLES = {rank: role for role, rank in metadata.PARTY_RANKS.items()}
# Prefixes of the document types that EDGAR lists as data files, apart from the documents for human readers.
DATA_TYPES = ("EX-100", "EX-101", "XML", "JSON", "ZIP", "EXCEL")


class FilingFile(TypedDict):
    """A document of a filing, as its index lists it."""

    type: str
    document: str | None
    description: str | None
    size: str
    sequence: Annotated[int, "The position in the submission."]
    content_url: Annotated[str | None, "The path of the stored document here; null: only its entry is stored."]


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
    """A company or person named in a filing, with its role."""

    cik: str
    company_name: str
    ticker: str | None
    role: str | None


class FilingDetail(FilingRow):
    """A filing with all its parties, as one filing is returned."""

    raw_entry_xml: Annotated[str | None, "Always null: entries of EDGAR's feed are not stored."]
    parties: list[FilingParty]
    has_html: bool


def list_filings(tx: Transaction, accessions: Sequence[str]) -> list[FilingRow]:
    """Return the filings with these accession numbers, in this order. Unknown and repeated numbers are left out."""
    accessions_json = json.dumps(list(accessions))
    rows = {row["accession"]: row for row in tx.list_rows("filings_by_accession", accessions=accessions_json)}
    parties = _group_by_filing(tx.list_rows("parties_by_accession", accessions=accessions_json))
    documents = _group_by_filing(tx.list_rows("documents_by_accession", accessions=accessions_json))
    filings = []
    for accession in dict.fromkeys(accessions):
        row = rows.get(accession)
        if row is not None:
            filings.append(_build_filing(row, parties[row["id"]], documents.get(row["id"], [])))
    return filings


def _group_by_filing(rows: Sequence[Row]) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["filing_id"], []).append(row)
    return groups


def find_filing(tx: Transaction, accession: str) -> FilingDetail | None:
    """Return one filing with its parties, the main party first, or None."""
    filings = list_filings(tx, [accession])
    if not filings:
        return None
    rows = tx.list_rows("parties_by_accession", accessions=json.dumps([accession]))
    parties: list[FilingParty] = [
        {
            "cik": f"{party['cik']:010}",
            "company_name": party["name"],
            "ticker": party["ticker"],
            "role": _ROLES.get(party["rank"]),
        }
        for party in sorted(rows, key=_get_party_order)
    ]
    has_text = bool(tx.find_value("has_primary_text", accession=accession))
    return {**filings[0], "raw_entry_xml": None, "parties": parties, "has_html": has_text}


def build_document_url(filing: FilingRow, filename: str | None) -> str | None:
    """Return the URL of a document of a filing at the SEC, or None if the document has no name."""
    return None if filename is None else f"{filing['primary_link'].rpartition('/')[0]}/{quote(filename)}"


def build_index_url(cik: int, accession: str) -> str | None:
    """Return the URL of a filing's index at the SEC, or None for a document whose filing is unknown."""
    if metadata.is_unfiled(accession):
        return None
    return f"{ARCHIVES_URL}/{cik}/{accession.replace('-', '')}/{accession}-index.htm"


def _get_party_order(party: Row) -> tuple[int, bool, bool, int]:
    """Return the sort key that puts the main party of a filing first.

    Lists do not state roles, but an issuer has a ticker or an industry and its insiders have not.
    """
    return party["rank"], party["ticker"] is None, party["sic"] is None, party["cik"]


def _build_filing(row: Row, parties: Sequence[Row], documents: Sequence[Row]) -> FilingRow:
    accession = row["accession"]
    form = row["form"]
    main_party = min(parties, key=_get_party_order)
    folder_url = f"{ARCHIVES_URL}/{main_party['cik']}/{accession.replace('-', '')}"
    index_url = f"{folder_url}/{accession}-index.htm"
    document_url = f"{folder_url}/{quote(row['primary_document'])}" if row["primary_document"] else None
    document_files: list[FilingFile] = []
    data_files: list[FilingFile] = []
    for document in documents:
        files = data_files if document["type"].startswith(DATA_TYPES) else document_files
        content_url = (
            f"/api/v1/sec/filings/{accession}/documents/{document['sequence']}" if document["is_stored"] else None
        )
        files.append(build_record(FilingFile, document, content_url=content_url))
    links = [index_url]
    if document_url:
        links.append(document_url)
    for file in document_files + data_files:
        if file["document"]:
            links.append(f"{folder_url}/{quote(file['document'])}")
    return {
        "id": metadata.accession_to_int(accession),
        "accession_number": accession,
        "ticker": main_party["ticker"],
        "form_type": form,
        "cik": f"{main_party['cik']:010}",
        "entity_name": main_party["name"],
        "company_name": main_party["name"],
        "title": f"{form or 'Filing'} - {main_party['name']} ({main_party['cik']:010})",
        "filing_size": None if row["size"] is None else str(row["size"]),
        "filed_date": row["filed_at"],
        "filed_at": row["filed_at"],
        "accepted_at": row["accepted_at"],
        "updated_at": row["updated_at"] or None,
        "primary_link": index_url,
        "primary_html_url": document_url,
        "primary_description": row["description"],
        "document_files": document_files,
        "data_files": data_files,
        "items": row["items"].split(",") if row["items"] else [],
        "period_of_report": row["period_of_report"],
        "sic": None if main_party["sic"] is None else f"{main_party['sic']:04}",
        "all_links": list(dict.fromkeys(links)),
        "is_xbrl": None if row["is_xbrl"] is None else bool(row["is_xbrl"]),
        "first_seen_at": row["first_seen_at"] or None,
        "last_seen_at": row["updated_at"] or None,
    }
