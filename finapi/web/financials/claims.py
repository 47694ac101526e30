"""The handlers for claims: they compare stated numbers with the figures on file, and confirm receipts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from finapi.accounts import credentials, receipt_chains
from finapi.accounts.billing import Charge
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import JsonSchema, build_record
from finapi.market.claims import claim_checks, claim_receipts, claim_records, concept_claims, metric_claims
from finapi.market.claims.claim_receipts import CheckedResults, ReceiptRecord
from finapi.market.claims.claim_records import ClaimRecord, ClaimResult, StatedClaim, UnclearClaimError
from finapi.market.claims.metric_claims import CompanyFigures
from finapi.market.claims.verdicts import VERDICTS
from finapi.market.financials import company_books, price_lookup
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.reference import companies
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction
from finapi.web.financials import timeseries
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Field
from finapi.web.http.schema import Envelope

MAX_CLAIMS = 100
# The books of past days are not stored, and each takes about 50 ms of CPU to build. So a call may read this number of
# them. All days between two filings of a company share a book.
MAX_PAST_BOOKS = 20

CLAIM_MEMBERS = (
    Field("ticker", "ticker", help="Ticker (any spelling) or CIK.", example="AAPL"),
    Field("cik", "cik", help="CIK, instead of a ticker.", example="0000320193"),
    Field("metric", help="Key of a metric, derived figure or ratio.", example="revenue"),
    Field("concept", help="Instead of a metric: a concept, with or without taxonomy.", example="us-gaap:Assets"),
    Field(
        "period",
        "word",
        required=True,
        help="FY2022, Q3 2022, 9M 2022, TTM Q3 2022, a last day (2022-09-24), or the first and the last day "
        "(2021-09-26..2022-09-24). Years and quarters are fiscal.",
        example="FY2022",
    ),
    Field(
        "value",
        "amount",
        required=True,
        help="The stated value. Its digits set the rounding: 394.3 billion agrees with 394,328 million. In a number, "
        "zeros at the end count as rounded, except for the first two digits.",
        example="394.3 billion",
    ),
    Field("unit", help="USD, USD million, USD/shares, shares, %; by default that of the figure.", example="USD"),
    Field("as_of", "date", help="Use only what was filed up to this date.", example="2023-12-31"),
    Field(
        "tolerance",
        "number",
        minimum=0,
        maximum=1,
        help="The allowed relative difference, such as 0.01 for 1 per cent, instead of the rounding of the digits.",
        example=0.01,
    ),
)
BODY = (
    Field(
        "claims",
        "objects",
        required=True,
        minimum=1,
        maximum=MAX_CLAIMS,
        members=CLAIM_MEMBERS,
        help="The claims, each with a ticker or cik, and a metric or concept. Those with as_of are about at most "
        f"{MAX_PAST_BOOKS} companies and days; days between two filings of a company count once.",
        example=[{"ticker": "AAPL", "metric": "revenue", "period": "FY2022", "value": "394.3 billion"}],
    ),
    Field(
        "receipt",
        "boolean",
        help="Return a receipt of the verdicts, which finapi receipts verify checks offline.",
        example=True,
    ),
)

MAX_RECEIPTS = 100
_HEX_SHA256 = "[0-9a-f]{64}"
RECEIPTS_BODY = (
    Field(
        "receipts",
        "objects",
        required=True,
        minimum=1,
        maximum=MAX_RECEIPTS,
        members=(
            Field("sha256", pattern=_HEX_SHA256, required=True, help="sha256 of the receipt.", example="0" * 64),
            Field("signature", pattern=_HEX_SHA256, required=True, help="signature of the receipt.", example="0" * 64),
        ),
        help="The seals of the receipts.",
        example=[{"sha256": "0" * 64, "signature": "0" * 64}],
    ),
)

_COUNTS_SCHEMA = {
    "type": "object",
    "properties": {verdict: {"type": "integer"} for verdict in VERDICTS},
    "required": list(VERDICTS),
    "additionalProperties": False,
}


class ClaimsData(TypedDict):
    """One result for each claim, in their order, and the receipt."""

    results: list[ClaimResult]
    receipt: Annotated[ReceiptRecord | None, "Null if the call did not request one."]


class ClaimsMeta(TypedDict):
    """The number of claims, the number of each verdict, and the version of the mapping of metrics."""

    count: int
    verdicts: Annotated[dict[str, int], JsonSchema(_COUNTS_SCHEMA)]
    mapping_version: int


SHAPE = Envelope[ClaimsData, ClaimsMeta]


class ReceiptOrigin(TypedDict):
    """The origin of a receipt with this hash."""

    sha256: str
    is_issued: Annotated[bool, "True if this server signed the hash."]


class ReceiptChainEnd(TypedDict):
    """The end of the caller's own chain of receipts."""

    receipts: Annotated[int, "Number of receipts, which is the number of the last one."]
    last_sha256: Annotated[str | None, "sha256 of the last receipt; null if there is none."]


class ReceiptsData(TypedDict):
    """The origin of each receipt, in their order, and the end of the caller's chain."""

    receipts: list[ReceiptOrigin]
    chain: ReceiptChainEnd


class ReceiptsMeta(TypedDict):
    """The number of receipts."""

    count: int


RECEIPTS_SHAPE = Envelope[ReceiptsData, ReceiptsMeta]


def check_claims(call: Call) -> Response:
    """Return a verdict on each claim, with the figure on file. A claim that cannot be checked has the reason."""
    records = [_build_record(claim, call.body.get("as_of")) for claim in call.body["claims"]]
    book_count = _count_past_books(call, records)
    if book_count > MAX_PAST_BOOKS:
        raise invalid_param(
            "claims",
            f"The claims with as_of need the figures of {book_count} companies and days between filings; send at most "
            f"{MAX_PAST_BOOKS} in a call.",
            expected=f"at most {MAX_PAST_BOOKS} companies and days between filings",
        )
    call.acquire_large_slot()
    checks: list[CheckedResults] = []
    for as_of in dict.fromkeys(record["as_of"] for record in records):
        numbered = [(number, record) for number, record in enumerate(records) if record["as_of"] == as_of]
        checks.append(_check_claims_of_day(call if as_of is None else call.as_of(as_of), as_of, dict(numbered)))
    results_by_number = {number: result for check in checks for number, result in check.results.items()}
    results = [results_by_number[number] for number in range(len(records))]
    counts = Counter(result["verdict"] for result in results)
    meta: ClaimsMeta = {
        "count": len(records),
        "verdicts": {verdict: counts[verdict] for verdict in VERDICTS},
        "mapping_version": get_mapping().version,
    }
    if not call.body.get("receipt"):
        return call.success({"results": results, "receipt": None}, meta)

    def complete(charge: Charge) -> Response:
        content = claim_receipts.build_content(checks, call.request_id, meta["mapping_version"])
        receipt = receipt_chains.append_receipt(call.app, call.user_id, charge, content)
        return call.success({"results": results, "receipt": receipt}, meta)

    return Response(200, b"", complete=complete)


def verify_receipts(call: Call) -> Response:
    """Return for each receipt whether this server signed its hash, and the end of the caller's chain.

    A server that no longer has the master secret of a signature cannot confirm it.
    """
    origins: list[ReceiptOrigin] = [
        {
            "sha256": seals["sha256"],
            "is_issued": credentials.is_receipt_signature(call.app.secrets, seals["sha256"], seals["signature"]),
        }
        for seals in call.body["receipts"]
    ]
    with call.app.accounts.read_one() as tx:
        row = tx.find_row("receipt_chain", user_id=call.user_id)
    assert row is not None
    data: ReceiptsData = {"receipts": origins, "chain": build_record(ReceiptChainEnd, row)}
    meta: ReceiptsMeta = {"count": len(origins)}
    return call.success(data, meta)


def _count_past_books(call: Call, records: Iterable[ClaimRecord]) -> int:
    """Return the number of books that claims with a past day need: one for each company and newest filing by then."""
    past_books: set[tuple[int, str | None]] = set()
    with call.app.db.read() as tx:
        for record in records:
            if record["as_of"] is None:
                continue
            try:
                company = _find_company(tx, record)
            except UnclearClaimError:
                continue
            past_books.add((company.cik, company_books.find_newest_filing_day(tx, company.cik, record["as_of"])))
    return len(past_books)


def _build_record(claim: dict[str, Any], call_as_of: str | None) -> ClaimRecord:
    """Return the record of a claim. The day of the call applies to claims without one, and bounds those with one."""
    as_of_days = [day for day in (claim.get("as_of"), call_as_of) if day is not None]
    cik = claim.get("cik")
    return {
        "ticker": claim.get("ticker"),
        "cik": None if cik is None else f"{cik:010}",
        "metric": claim.get("metric"),
        "concept": claim.get("concept"),
        "period": claim["period"],
        "value": claim["value"],
        "unit": claim.get("unit"),
        "as_of": min(as_of_days, default=None),
        "tolerance": claim.get("tolerance"),
    }


def _check_claims_of_day(call: Call, as_of: str | None, records: dict[int, ClaimRecord]) -> CheckedResults:
    """Return the results of claims about what was known on one day."""
    results: dict[int, ClaimResult] = {}
    figures_by_company: dict[tuple[int, str | None], CompanyFigures] = {}
    with call.app.db.read() as tx:
        numbers_by_cik: dict[int, list[int]] = {}
        for number, record in records.items():
            try:
                company = _find_company(tx, record)
                numbers_by_cik.setdefault(company.cik, []).append(number)
            except UnclearClaimError as error:
                results[number] = claim_records.build_unclear_result(record, None, error.reason)
                continue
            try:
                claim = claim_records.parse_claim(record)
                figures = _get_figures(call, tx, company, as_of, claim, figures_by_company)
                results[number] = _check_claim(tx, record, claim, figures)
            except UnclearClaimError as error:
                results[number] = claim_records.build_unclear_result(record, company, error.reason)
        for cik, numbers in numbers_by_cik.items():
            claim_checks.add_links(tx, cik, [results[number] for number in numbers])
        has_receipt = call.body.get("receipt", False)
        hashes = claim_receipts.list_document_hashes(tx, results.values()) if has_receipt else []
        return CheckedResults(results, tx.find_value("data_version"), hashes)


def _find_company(tx: Transaction, record: ClaimRecord) -> Company:
    """Return the company of a claim. Raise UnclearClaimError if there is none or if there are several."""
    selected: list[Company] = []
    for selector in (record["ticker"], record["cik"]):
        if selector is not None:
            try:
                selected.append(companies.resolve(tx, selector))
            except ApiError as error:
                is_unknown = error.code == "UNKNOWN_TICKER"
                raise UnclearClaimError("unknown_company" if is_unknown else "ambiguous_company") from None
    if not selected:
        raise UnclearClaimError("unknown_company")
    if len({company.cik for company in selected}) > 1:
        raise UnclearClaimError("ambiguous_company")
    return selected[0]


def _get_figures(
    call: Call,
    tx: Transaction,
    company: Company,
    as_of: str | None,
    claim: StatedClaim,
    figures_by_company: dict[tuple[int, str | None], CompanyFigures],
) -> CompanyFigures:
    """Return the figures of a company in the currency of a claim. Raise UnclearClaimError if there are none."""
    currency = claim_records.find_currency(claim)
    figures = figures_by_company.get((company.cik, currency))
    if figures is None:
        try:
            book = timeseries.get_book(call, tx, company, as_of, None)
            if currency is not None and currency != book.book.currency:
                book = timeseries.get_book(call, tx, company, as_of, currency)
        except ApiError as error:
            if error.code != "NOT_COVERED":
                raise
            raise UnclearClaimError("company_not_on_file" if currency is None else "other_unit") from None
        figures = CompanyFigures(company, book, price_lookup.build_price_lookup(tx, company), as_of)
        figures_by_company[company.cik, currency] = figures
    return figures


def _check_claim(tx: Transaction, record: ClaimRecord, claim: StatedClaim, figures: CompanyFigures) -> ClaimResult:
    if record["concept"] is not None:
        return concept_claims.check_claim(tx, record, claim, figures)
    return metric_claims.check_claim(record, claim, figures)
