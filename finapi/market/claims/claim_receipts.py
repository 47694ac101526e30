"""The content of a receipt: claims and verdicts, the figures they were compared with, and hashes of the documents.

Numbers with fractions are texts, so that the receipt has one canonical form (:mod:`finapi.core.receipts`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from finapi.core import receipts
from finapi.core.json import MAX_INTEGER_DIGITS, text
from finapi.core.records import Date, Time, build_record
from finapi.market.claims.claim_records import ClaimResult, FigureOnFile, FigurePeriod, FiguresFiling
from finapi.market.claims.verdicts import Reason, Verdict
from finapi.market.financials.provenance import OperandRecord
from finapi.store.db import Transaction

SourceOfHash = Literal["xbrl", "fsds", "facts"]


class ReceiptClaim(TypedDict):
    """A claim as it was sent; members that were left out are null."""

    ticker: str | None
    cik: str | None
    metric: str | None
    concept: str | None
    period: str
    value: str
    unit: str | None
    as_of: Date | None
    tolerance: str | None


class ReceiptCell(FigurePeriod, FiguresFiling):
    """A figure on file."""

    value: Annotated[str, "The digits of the value."]
    unit: str
    concept: str


class ReceiptResult(TypedDict):
    """The verdict on a claim."""

    claim: ReceiptClaim
    verdict: Verdict
    reason_code: Reason | None
    cik: str | None
    cell: ReceiptCell | None
    agreeing_cell: ReceiptCell | None
    scale_exponent: int | None
    data_version: Annotated[int, "Version of the data with which the claim was compared, as in /readyz."]


class DocumentHash(TypedDict):
    """A hash of the stored documents or facts of a filing."""

    accession: str
    source: Annotated[
        SourceOfHash,
        "xbrl: the XBRL documents of the filing. fsds: its rows in the Financial Statement Data Sets. facts: its facts "
        "behind the verdicts, where no document of the filing is on file.",
    ]
    sha256: Annotated[str, "docs/API.md describes what is hashed."]


class ReceiptRecord(TypedDict):
    """A receipt. Its members are in canonical order."""

    account: Annotated[str, "The uuid of the account."]
    documents: list[DocumentHash]
    epoch: Annotated[int, "Greater after each restore of a backup."]
    format: str
    issued_at: Time
    mapping_version: int
    number: Annotated[int, "Counts the receipts of the account from 1."]
    previous_sha256: Annotated[str | None, "sha256 of the account's receipt before this one; null for the first."]
    request_id: str
    results: list[ReceiptResult]
    sha256: Annotated[str, "SHA-256 of the canonical JSON of all members but sha256 and signature."]
    signature: Annotated[str, "HMAC of sha256 with the master secret of the server, which alone can check it."]


class CheckedResults(NamedTuple):
    """The results that were computed with one state of the data, by the numbers of their claims."""

    results: dict[int, ClaimResult]
    data_version: int
    document_hashes: list[DocumentHash]


def list_document_hashes(tx: Transaction, results: Iterable[ClaimResult]) -> list[DocumentHash]:
    """Return the hashes of the stored documents or facts of the filings behind results."""
    facts_by_accession: dict[str, list[OperandRecord]] = {}
    for result in results:
        for cell in (result["cell"], result["agreeing_cell"]):
            if cell is not None:
                facts_by_accession.setdefault(cell["accession"], [])
                for operand in cell["operands"]:
                    facts_by_accession.setdefault(operand["accession"], []).append(operand)
    hashes: list[DocumentHash] = [
        {"accession": row["accession"], "source": row["source"], "sha256": bytes(row["sha256"]).hex()}
        for row in tx.list_rows("report_hashes", accessions=text(sorted(facts_by_accession)))
    ]
    for accession in facts_by_accession.keys() - {document["accession"] for document in hashes}:
        hashes.append({"accession": accession, "source": "facts", "sha256": hash_facts(facts_by_accession[accession])})
    return hashes


def hash_facts(facts: Iterable[OperandRecord]) -> str:
    """Return the SHA-256 of the canonical JSON of facts.

    It is a sorted array of different arrays: concept, unit, first day ("" for an instant), last day and value.
    """
    rows = {
        (fact["concept"], fact["unit"], fact["start_date"] or "", fact["end_date"], format_decimal(fact["value"]))
        for fact in facts
    }
    return hashlib.sha256(receipts.canonicalise(sorted(rows))).hexdigest()


def build_content(checks: Iterable[CheckedResults], request_id: str, mapping_version: int) -> dict[str, Any]:
    """Return the members of a receipt that do not depend on the chain of the account."""
    results_by_number: dict[int, ReceiptResult] = {}
    documents: dict[tuple[str, str, str], DocumentHash] = {}
    for check in checks:
        for number, result in check.results.items():
            results_by_number[number] = _build_result(result, check.data_version)
        for document in check.document_hashes:
            documents[document["accession"], document["source"], document["sha256"]] = document
    return {
        "request_id": request_id,
        "mapping_version": mapping_version,
        "results": [results_by_number[number] for number in sorted(results_by_number)],
        "documents": [documents[key] for key in sorted(documents)],
    }


def _build_result(result: ClaimResult, data_version: int) -> ReceiptResult:
    claim = result["claim"]
    tolerance = claim["tolerance"]
    tolerance_text = None if tolerance is None else format_decimal(tolerance)
    return {
        "claim": build_record(ReceiptClaim, claim, tolerance=tolerance_text),
        "verdict": result["verdict"],
        "reason_code": result["reason_code"],
        "cik": result["cik"],
        "cell": _build_cell(result["cell"]),
        "agreeing_cell": _build_cell(result["agreeing_cell"]),
        "scale_exponent": result["scale_exponent"],
        "data_version": data_version,
    }


def _build_cell(cell: FigureOnFile | None) -> ReceiptCell | None:
    return None if cell is None else build_record(ReceiptCell, cell, value=format_decimal(cell["value"]))


def format_decimal(number: Decimal | float) -> str:
    """Return the digits of a number, such as "394328000000" or "0.05". Numbers of many digits have an exponent."""
    decimal = Decimal(str(number))
    return format(decimal, "f") if abs(decimal.adjusted()) < MAX_INTEGER_DIGITS else str(decimal)
