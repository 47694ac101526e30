"""A small market of insiders made by hand, and calls that check the shape of the answer.

Three insiders of Brook Lamps (ticker BRK-B, a manufacturer) sold and bought shares. The chief executive of Shade Bank
(SHBK, a bank) exercised options and sold the shares under a plan. Tests identify the seven transactions by their
shares.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from finapi.app import App
from finapi.edgar import ownership_forms
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store
from finapi.market.reference import companies
from finapi.store.db import Transaction
from finapi.web.http.route import INSIDERS
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import NOW
from tests.support import ownership_xml
from tests.support.ownership_xml import BEN, FUND, form, holding, owner, transaction

OTHER_ISSUER = ("0007654321", "Shade Bank Corp", "SHBK")
CEO = ("0000000104", "Chandelier Dee")
ROUTER = Router(ROUTES)

# The document, accession number and filing date of each form. NOW is 2026-01-31: the sale of October is older than
# ninety days, all others are from the last two weeks.
MARKET: list[tuple[bytes, str, str]] = [
    (
        form(transaction("S", "10", "5", date="2025-10-01", after="990"), period="2025-10-01"),
        "0001234567-25-000001",
        "2025-10-03",
    ),
    (
        form(
            transaction("P", "100", "10", date="2026-01-20", after="1100"),
            holding("500", notes="F1"),
            period="2026-01-20",
            footnotes={"F1": "The Lamp Trust."},
        ),
        "0001234567-26-000002",
        "2026-01-22",
    ),
    (
        form(
            transaction("P", "50", "11", date="2026-01-21", after="50"),
            period="2026-01-21",
            owners=(owner(BEN, flags="director"),),
        ),
        "0001234567-26-000003",
        "2026-01-26",
    ),
    (
        form(
            transaction("P", "200", "10.50", date="2026-01-22", after="5200", hands="I", nature="By fund"),
            period="2026-01-22",
            owners=(owner(FUND, flags="ten"), owner(BEN, flags="director")),
        ),
        "0001234567-26-000004",
        "2026-01-26",
    ),
    (
        form(
            transaction("M", "30", "2", date="2026-01-27", after="130"),
            transaction("S", "30", "40", date="2026-01-27", after="100", notes="F1"),
            transaction("M", "30", None, date="2026-01-27", after="70", derivative="2", price_notes="F2"),
            period="2026-01-27",
            owners=(owner(CEO, title="President and CEO"),),
            footnotes={"F1": "Under a Rule 10b5-1 plan.", "F2": "None was paid."},
            issuer=OTHER_ISSUER,
        ),
        "0007654321-26-000005",
        "2026-01-29",
    ),
]


def store_market(app: App) -> None:
    """Store the forms of the market, and the SIC codes of its companies."""
    for document, accession, filed_at in MARKET:
        with app.db.write() as tx:
            store_form(tx, document, accession, filed_at)
    with app.db.write() as tx:
        for cik, sic in ((ownership_xml.ISSUER, 3640), (OTHER_ISSUER[0], 6022)):
            companies.update_attributes(tx, int(cik), CompanyAttributes(sic=sic), 2, "2026-01-01")
        tx.run("bump_data_version")


def store_form(tx: Transaction, document: bytes, accession: str, filed_at: str | None) -> None:
    """Store one form."""
    parsed = ownership_forms.parse(document, accession)
    filing = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed_at)
    insider_store.upsert_form(tx, parsed, filing, NOW)


def get(api: Client, path: str, **query: Any) -> Any:
    """Return the JSON of a successful call. Check it against the schema that the route declares."""
    answer = api.get(INSIDERS + path, query=query)
    assert answer.status == 200, answer.body
    check_schema("GET", path, answer.json)
    return answer.json


def check_schema(method: str, path: str, answer: Any) -> None:
    """Raise jsonschema.ValidationError if an answer does not match the schema of the route."""
    match = ROUTER.match(tuple((INSIDERS + path).strip("/").split("/")))
    assert match is not None
    schema = match.by_method[method].schema
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(answer)


def list_shares(answer: Any) -> list[Any]:
    """Return the shares of the transactions in an answer."""
    return [row["shares"] for row in answer["data"]]


def build_filing_list() -> bytes:
    """Return EDGAR's list of Brook Lamps' filings: results on 2026-01-27, and an earlier 8-K without results."""
    columns: dict[str, list[Any]] = {
        "accessionNumber": ["0001234567-26-000090", "0001234567-26-000091"],
        "filingDate": ["2026-01-27", "2026-01-23"],
        "reportDate": ["", ""],
        "acceptanceDateTime": ["2026-01-27T21:30:00.000Z", "2026-01-23T15:00:00.000Z"],
        "form": ["8-K", "8-K"],
        "primaryDocument": ["", ""],
        "items": ["2.02,9.01", "5.02"],
        "size": [1, 1],
        "isXBRL": [0, 0],
        "isInlineXBRL": [0, 0],
    }
    company = {"cik": "1234567", "name": "Brook Lamps Inc.", "filings": {"recent": columns, "files": []}}
    return json.dumps(company).encode()
