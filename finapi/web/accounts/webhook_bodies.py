"""What receivers are sent: the body of every type of event, with an example (DECISIONS 9).

``EVENTS`` is what ``/openapi.json`` publishes under ``webhooks``; the whole body is described, the members
around the payload included.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from finapi.core.records import Date, JsonSchema, Time, Url
from finapi.web.http.schema import Schema, build_schema, const_schema, object_schema


def _pattern(pattern: str) -> JsonSchema:
    return JsonSchema({"type": "string", "pattern": pattern})


Cik = Annotated[str, _pattern("^[0-9]{10}$")]
AccessionNumber = Annotated[str, _pattern("^[0-9]{10}-[0-9]{2}-[0-9]{6}$")]
FiledAt = Annotated[Time, "The acceptance; the beginning of the filing day where only that is known."]
KnownFiledAt = Annotated[
    Time | None, "The acceptance; the beginning of the filing day where only that is known. null: neither is."
]
Figure = Annotated[float | None, "null: the form gives no figure."]


class FilingHitBody(TypedDict):
    """A filing that a target waited for."""

    ticker: str
    issuer_cik: Cik
    accession_number: AccessionNumber
    form_type: str
    filed_at: FiledAt
    filing_url: Url


class WindowExpired(TypedDict):
    """A target whose window ended."""

    ticker: str
    issuer_cik: Cik
    start_time: Time
    end_time: Time
    form_types: Annotated[list[str], "None: the target waited for every form."]


class InsiderTransactionBody(TypedDict):
    """A transaction of an insider."""

    ticker: str | None
    issuer_cik: Cik
    accession_number: AccessionNumber
    insider_name: str
    insider_cik: Cik
    transaction_code: str | None
    acquired_disposed_code: str | None
    shares: Figure
    price_per_share: Figure
    transaction_date: Date | None
    filed_at: KnownFiledAt


class HoldingsUpdate(TypedDict):
    """A fund's report of its holdings."""

    filer_cik: Cik
    filer_name: str
    accession_number: AccessionNumber
    period: Date
    holdings_count: int
    total_value_usd: Annotated[int | None, "null: the report states no total."]
    filed_at: KnownFiledAt


class OwnershipFilingBody(TypedDict):
    """A Schedule 13D or 13G, with the figures of the person who reports most shares."""

    ticker: str | None
    issuer_cik: Cik
    issuer_name: str
    accession_number: AccessionNumber
    form_type: str
    holder_name: str
    holder_cik: Annotated[str | None, _pattern("^[0-9]{10}$")]
    percent_of_class: Figure
    shares: Figure
    previous_percent_of_class: Annotated[float | None, "null: its filing before is not held, or gives none."]
    event_date: Date | None
    filed_at: KnownFiledAt


class ProposedSaleBody(TypedDict):
    """A notice of a proposed sale (Form 144)."""

    ticker: str | None
    issuer_cik: Cik
    accession_number: AccessionNumber
    seller_name: str
    approximate_sale_date: Date | None
    shares: Annotated[float | None, "null: several classes, or no figure."]
    aggregate_market_value: Figure
    filed_at: KnownFiledAt


class WebhookTest(TypedDict):
    """A test."""

    message: str


_COMPANY = {"ticker": "BRK-B", "issuer_cik": "0001067983"}
_FILED = {"filed_at": "2026-01-31T11:59:30.000Z"}
_ARCHIVE = "https://www.sec.gov/Archives/edgar/data/1067983/000106798326000007/"
# By type of event: what it tells, its payload, and a payload.
_PAYLOADS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "sniper.filing_hit": (
        "A filing that a sniper target waited for.",
        FilingHitBody,
        {
            **_COMPANY,
            "accession_number": "0001067983-26-000007",
            "form_type": "8-K",
            **_FILED,
            "filing_url": f"{_ARCHIVE}0001067983-26-000007-index.htm",
        },
    ),
    "sniper.window_expired": (
        "A sniper target's window ended without a filing; for accounts with this topic.",
        WindowExpired,
        {
            **_COMPANY,
            "start_time": "2026-01-31T11:00:00.000Z",
            "end_time": "2026-01-31T12:00:00.000Z",
            "form_types": ["8-K", "10-Q"],
        },
    ),
    "insider.transaction.created": (
        "A transaction of an insider, for accounts with this topic.",
        InsiderTransactionBody,
        {
            **_COMPANY,
            "accession_number": "0001127602-26-001234",
            "insider_name": "DOE JANE",
            "insider_cik": "0001234567",
            "transaction_code": "P",
            "acquired_disposed_code": "A",
            "shares": 250,
            "price_per_share": 481.25,
            "transaction_date": "2026-01-29",
            **_FILED,
        },
    ),
    "13f.holdings.updated": (
        "A fund's report of its holdings, for accounts with this topic.",
        HoldingsUpdate,
        {
            "filer_cik": "0001067983",
            "filer_name": "Berkshire Hathaway Inc",
            "accession_number": "0001067983-26-000011",
            "period": "2025-12-31",
            "holdings_count": 112,
            "total_value_usd": 267334506000,
            **_FILED,
        },
    ),
    "ownership.filing.created": (
        "A Schedule 13D or 13G, for accounts with this topic.",
        OwnershipFilingBody,
        {
            **_COMPANY,
            "issuer_name": "Berkshire Hathaway Inc",
            "accession_number": "0000000103-26-000004",
            "form_type": "SCHEDULE 13G/A",
            "holder_name": "Wick Capital LP",
            "holder_cik": "0000000103",
            "percent_of_class": 5.4,
            "shares": 70500,
            "previous_percent_of_class": 6.1,
            "event_date": "2025-12-31",
            **_FILED,
        },
    ),
    "insider.proposed_sale.created": (
        "A notice of a proposed sale (Form 144), for accounts with this topic.",
        ProposedSaleBody,
        {
            **_COMPANY,
            "accession_number": "0001127602-26-001235",
            "seller_name": "DOE JANE",
            "approximate_sale_date": "2026-02-02",
            "shares": 250,
            "aggregate_market_value": 120312.5,
            **_FILED,
        },
    ),
    "finapi.test": ("A test that the account asked for.", WebhookTest, {"message": "This is a test."}),
}


def _event(name: str, summary: str, payload: Any, example: dict[str, Any]) -> tuple[str, Schema, dict[str, Any]]:
    targeted = name.startswith("sniper.")
    members: dict[str, Any] = {
        "occurred_at": Annotated[Time, "When it happened at the SEC, and not when it is sent."],
        "delivery_id": Annotated[str, _pattern("^dlv_[0-9a-f]{32}$"), "The same in every attempt, and in webhook-id."],
        "target_id": Annotated[str, _pattern("^tgt_[0-9A-Za-z]{12}$")] if targeted else type(None),
        "payload": payload,
    }
    body = {
        "event_type": name,
        "occurred_at": example.get("filed_at") or example.get("end_time") or "2026-01-31T12:00:00.000Z",
        "delivery_id": "dlv_0123456789abcdef0123456789abcdef",
        "target_id": "tgt_4fK2mQ8xZp1c" if targeted else None,
        "payload": example,
    }
    return (
        summary,
        object_schema({"event_type": const_schema(name), **{one: build_schema(kind) for one, kind in members.items()}}),
        body,
    )


# What it tells, the schema of the whole body, and a whole body, by type of event.
EVENTS = {name: _event(name, *payload) for name, payload in _PAYLOADS.items()}
