"""The bodies of webhook messages: schema and example for every type of event (DECISIONS 9).

A body is an envelope, which is the same for all types, with a payload, which depends on the type. The records describe
payloads, the schemas in ``EVENTS`` complete bodies. ``/openapi.json`` publishes ``EVENTS`` under ``webhooks``.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import Date, JsonSchema, Time, Url
from finapi.web.http.schema import Schema, build_schema, const_schema, object_schema


def _build_pattern_schema(pattern: str) -> JsonSchema:
    return JsonSchema({"type": "string", "pattern": pattern})


Cik = Annotated[str, _build_pattern_schema("^[0-9]{10}$")]
AccessionNumber = Annotated[str, _build_pattern_schema("^[0-9]{10}-[0-9]{2}-[0-9]{6}$")]
FiledAt = Annotated[Time, "The time of acceptance, or the beginning of the filing day if only the day is known."]
KnownFiledAt = Annotated[
    Time | None,
    "The time of acceptance, or the beginning of the filing day if only the day is known. null: neither is known.",
]
Figure = Annotated[float | None, "null: the form states no figure."]


class FilingHitPayload(TypedDict):
    """The payload for a filing that a sniper target waited for."""

    ticker: str
    issuer_cik: Cik
    accession_number: AccessionNumber
    form_type: str
    filed_at: FiledAt
    filing_url: Url


class WindowExpiredPayload(TypedDict):
    """The payload for a sniper target whose window ended without a filing."""

    ticker: str
    issuer_cik: Cik
    start_time: Time
    end_time: Time
    form_types: Annotated[list[str], "None: the target waited for every form."]


class InsiderTransactionPayload(TypedDict):
    """The payload for a transaction of an insider."""

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


class HoldingsUpdatePayload(TypedDict):
    """The payload for a fund's 13F report."""

    filer_cik: Cik
    filer_name: str
    accession_number: AccessionNumber
    period: Date
    holdings_count: int
    total_value_usd: Annotated[int | None, "null: the report states no total."]
    filed_at: KnownFiledAt


class OwnershipFilingPayload(TypedDict):
    """The payload for a Schedule 13D or 13G, with the figures of the reporting person with the most shares."""

    ticker: str | None
    issuer_cik: Cik
    issuer_name: str
    accession_number: AccessionNumber
    form_type: str
    holder_name: str
    holder_cik: Annotated[str | None, _build_pattern_schema("^[0-9]{10}$")]
    percent_of_class: Figure
    shares: Figure
    previous_percent_of_class: Annotated[
        float | None, "null: the holder's earlier filing is not stored, or states none."
    ]
    event_date: Date | None
    filed_at: KnownFiledAt


class ProposedSalePayload(TypedDict):
    """The payload for a notice of a proposed sale (Form 144)."""

    ticker: str | None
    issuer_cik: Cik
    accession_number: AccessionNumber
    seller_name: str
    approximate_sale_date: Date | None
    shares: Annotated[float | None, "null: several classes, or no figure."]
    aggregate_market_value: Figure
    filed_at: KnownFiledAt


class FundReportPayload(TypedDict):
    """The payload for a report of a mutual fund or ETF (Form N-PORT)."""

    filer_cik: Cik
    filer_name: str
    accession_number: AccessionNumber
    series_id: Annotated[str | None, "null: the filer has no series."]
    series_name: str | None
    period: Annotated[Date, "The day that the figures are of."]
    holdings_count: int
    net_assets: Figure
    filed_at: KnownFiledAt


class TestPayload(TypedDict):
    """The payload of a test event."""

    message: str


class PayloadDescription(NamedTuple):
    """The summary of an event, the type of its payload, and an example of it."""

    summary: str
    payload_type: Any
    example: dict[str, Any]


class EventDescription(NamedTuple):
    """The summary of an event, the schema of its full body, and an example of the body."""

    summary: str
    schema: Schema
    example: dict[str, Any]


# Parts of the examples.
_COMPANY = {"ticker": "BRK-B", "issuer_cik": "0001067983"}
_FILED_AT = {"filed_at": "2026-01-31T11:59:30.000Z"}
_ARCHIVE = "https://www.sec.gov/Archives/edgar/data/1067983/000106798326000007/"
_PAYLOADS: dict[str, PayloadDescription] = {
    "sniper.filing_hit": PayloadDescription(
        "A filing that a sniper target waited for.",
        FilingHitPayload,
        {
            **_COMPANY,
            "accession_number": "0001067983-26-000007",
            "form_type": "8-K",
            **_FILED_AT,
            "filing_url": f"{_ARCHIVE}0001067983-26-000007-index.htm",
        },
    ),
    "sniper.window_expired": PayloadDescription(
        "A sniper target's window ended without a filing; for accounts with this topic.",
        WindowExpiredPayload,
        {
            **_COMPANY,
            "start_time": "2026-01-31T11:00:00.000Z",
            "end_time": "2026-01-31T12:00:00.000Z",
            "form_types": ["8-K", "10-Q"],
        },
    ),
    "insider.transaction.created": PayloadDescription(
        "A transaction of an insider, for accounts with this topic.",
        InsiderTransactionPayload,
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
            **_FILED_AT,
        },
    ),
    "13f.holdings.updated": PayloadDescription(
        "A fund's report of its holdings, for accounts with this topic.",
        HoldingsUpdatePayload,
        {
            "filer_cik": "0001067983",
            "filer_name": "Berkshire Hathaway Inc",
            "accession_number": "0001067983-26-000011",
            "period": "2025-12-31",
            "holdings_count": 112,
            "total_value_usd": 267334506000,
            **_FILED_AT,
        },
    ),
    "ownership.filing.created": PayloadDescription(
        "A Schedule 13D or 13G, for accounts with this topic.",
        OwnershipFilingPayload,
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
            **_FILED_AT,
        },
    ),
    "insider.proposed_sale.created": PayloadDescription(
        "A notice of a proposed sale (Form 144), for accounts with this topic.",
        ProposedSalePayload,
        {
            **_COMPANY,
            "accession_number": "0001127602-26-001235",
            "seller_name": "DOE JANE",
            "approximate_sale_date": "2026-02-02",
            "shares": 250,
            "aggregate_market_value": 120312.5,
            **_FILED_AT,
        },
    ),
    "nport.report.created": PayloadDescription(
        "A report of a mutual fund or ETF (Form N-PORT), for accounts with this topic.",
        FundReportPayload,
        {
            "filer_cik": "0000036405",
            "filer_name": "VANGUARD INDEX FUNDS",
            "accession_number": "0000036405-26-000123",
            "series_id": "S000002839",
            "series_name": "VANGUARD 500 INDEX FUND",
            "period": "2025-12-31",
            "holdings_count": 512,
            "net_assets": 1421263311402.89,
            **_FILED_AT,
        },
    ),
    "finapi.test": PayloadDescription(
        "A test that the account asked for.", TestPayload, {"message": "This is a test."}
    ),
}


def _describe_event(event_type: str, description: PayloadDescription) -> EventDescription:
    has_target = event_type.startswith("sniper.")  # Other events do not belong to a sniper target, so it is null.
    target_id = Annotated[str, _build_pattern_schema("^tgt_[0-9A-Za-z]{12}$")]
    members: dict[str, Any] = {
        "occurred_at": Annotated[
            Time | None,
            "When it happened at the SEC, and not when it is sent; null for a filing whose day is not known.",
        ],
        "delivery_id": Annotated[
            str, _build_pattern_schema("^dlv_[0-9a-f]{32}$"), "The same in every attempt, and in webhook-id."
        ],
        "target_id": target_id if has_target else target_id | None,
        "payload": description.payload_type,
    }
    schemas = {"event_type": const_schema(event_type)}
    for name, member_type in members.items():
        schemas[name] = build_schema(member_type)
    payload = description.example
    example = {
        "event_type": event_type,
        "occurred_at": payload.get("filed_at") or payload.get("end_time") or "2026-01-31T12:00:00.000Z",
        "delivery_id": "dlv_0123456789abcdef0123456789abcdef",
        "target_id": "tgt_4fK2mQ8xZp1c" if has_target else None,
        "payload": payload,
    }
    return EventDescription(description.summary, object_schema(schemas), example)


# The descriptions of the full bodies by type of event.
EVENTS = {event_type: _describe_event(event_type, description) for event_type, description in _PAYLOADS.items()}
