"""What receivers are sent: the body of every type of event, as JSON Schema with an example (SPEC "Events").

``EVENTS`` is what ``/openapi.json`` publishes under ``webhooks``; the whole body is described, the members
around the payload included.
"""

from __future__ import annotations

from typing import Any

from finapi.web.shapes import (
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    URL,
    Schema,
    array,
    const,
    described,
    nullable,
    obj,
)

CIK: Schema = {"type": "string", "pattern": "^[0-9]{10}$"}
ACCESSION: Schema = {"type": "string", "pattern": "^[0-9]{10}-[0-9]{2}-[0-9]{6}$"}
DELIVERY_ID: Schema = {"type": "string", "pattern": "^dlv_[0-9a-f]{32}$"}
TARGET_ID: Schema = {"type": "string", "pattern": "^tgt_[0-9A-Za-z]{12}$"}

_FILED_AT = described(TIME, "The acceptance; the beginning of the filing day where only that is known.")

_HIT = obj(
    ticker=TEXT,
    issuer_cik=CIK,
    accession_number=ACCESSION,
    form_type=TEXT,
    filed_at=_FILED_AT,
    filing_url=URL,
)
_EXPIRED = obj(
    ticker=TEXT,
    issuer_cik=CIK,
    start_time=TIME,
    end_time=TIME,
    form_types=described(array(TEXT), "None: the target waited for every form."),
)
_TRANSACTION = obj(
    ticker=nullable(TEXT),
    issuer_cik=CIK,
    accession_number=ACCESSION,
    insider_name=TEXT,
    insider_cik=CIK,
    transaction_code=nullable(TEXT),
    acquired_disposed_code=nullable(TEXT),
    shares=described(nullable(NUMBER), "null: the form gives no figure."),
    price_per_share=described(nullable(NUMBER), "null: the form gives no figure."),
    transaction_date=nullable(DATE),
    filed_at=_FILED_AT,
)
_HOLDINGS = obj(
    filer_cik=CIK,
    filer_name=TEXT,
    accession_number=ACCESSION,
    period=DATE,
    holdings_count=INTEGER,
    total_value_usd=described(nullable(INTEGER), "null: the report states no total."),
    filed_at=_FILED_AT,
)
_TEST = obj(message=TEXT)

_HIT_EXAMPLE = {
    "ticker": "BRK-B",
    "issuer_cik": "0001067983",
    "accession_number": "0001067983-26-000007",
    "form_type": "8-K",
    "filed_at": "2026-01-31T11:59:30.000Z",
    "filing_url": "https://www.sec.gov/Archives/edgar/data/1067983/000106798326000007/"
    "0001067983-26-000007-index.htm",
}
_EXPIRED_EXAMPLE = {
    "ticker": "BRK-B",
    "issuer_cik": "0001067983",
    "start_time": "2026-01-31T11:00:00.000Z",
    "end_time": "2026-01-31T12:00:00.000Z",
    "form_types": ["8-K", "10-Q"],
}
_TRANSACTION_EXAMPLE = {
    "ticker": "BRK-B",
    "issuer_cik": "0001067983",
    "accession_number": "0001127602-26-001234",
    "insider_name": "DOE JANE",
    "insider_cik": "0001234567",
    "transaction_code": "P",
    "acquired_disposed_code": "A",
    "shares": 250,
    "price_per_share": 481.25,
    "transaction_date": "2026-01-29",
    "filed_at": "2026-01-31T11:59:30.000Z",
}
_HOLDINGS_EXAMPLE = {
    "filer_cik": "0001067983",
    "filer_name": "Berkshire Hathaway Inc",
    "accession_number": "0001067983-26-000011",
    "period": "2025-12-31",
    "holdings_count": 112,
    "total_value_usd": 267334506000,
    "filed_at": "2026-01-31T11:59:30.000Z",
}


def _event(
    type: str, summary: str, payload: Schema, example: dict[str, Any], target_id: str | None = None
) -> tuple[str, Schema, dict[str, Any]]:
    schema = obj(
        event_type=const(type),
        occurred_at=described(TIME, "When it happened at the SEC, and not when it is sent."),
        delivery_id=described(DELIVERY_ID, "The same in every attempt, and in the header webhook-id."),
        target_id={"type": "null"} if target_id is None else TARGET_ID,
        payload=payload,
    )
    body = {
        "event_type": type,
        "occurred_at": example.get("filed_at") or example.get("end_time") or "2026-01-31T12:00:00.000Z",
        "delivery_id": "dlv_0123456789abcdef0123456789abcdef",
        "target_id": target_id,
        "payload": example,
    }
    return summary, schema, body


_TARGET = "tgt_4fK2mQ8xZp1c"

# (what it tells, the schema of the whole body, a whole body), by type of event.
EVENTS: dict[str, tuple[str, Schema, dict[str, Any]]] = {
    "sniper.filing_hit": _event(
        "sniper.filing_hit", "A filing that a sniper target waited for.", _HIT, _HIT_EXAMPLE, _TARGET
    ),
    "sniper.window_expired": _event(
        "sniper.window_expired",
        "A sniper target's window ended without a filing; for accounts with this topic.",
        _EXPIRED,
        _EXPIRED_EXAMPLE,
        _TARGET,
    ),
    "insider.transaction.created": _event(
        "insider.transaction.created",
        "A transaction of an insider, for accounts with this topic.",
        _TRANSACTION,
        _TRANSACTION_EXAMPLE,
    ),
    "13f.holdings.updated": _event(
        "13f.holdings.updated",
        "A fund's report of its holdings, for accounts with this topic.",
        _HOLDINGS,
        _HOLDINGS_EXAMPLE,
    ),
    "finapi.test": _event(
        "finapi.test", "A test that the account asked for.", _TEST, {"message": "This is a test."}
    ),
}
