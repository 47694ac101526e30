"""Examples of answers for the OpenAPI document, made of their shapes: what a member may hold, by its name."""

from __future__ import annotations

import re
from typing import Any

from finapi.web.shapes import Schema

DAY, MOMENT = "2025-10-31", "2025-10-31T10:01:26.000Z"
REQUEST_ID = "3f0c8a52-6f0e-4d6b-9a43-2b6d1c0e7a11"

_FORMATS = {
    "date": DAY,
    "date-time": MOMENT,
    "uri": "https://example.com/hook",
    "uuid": REQUEST_ID,
    "email": "ann@example.com",
}

# What a text is like whose member has this name; the first pattern that the whole name fits.
_TEXTS = (
    (r"request_id|.*uuid|userId", REQUEST_ID),
    (r"(resolved_)?accession(_number|_no|No)?|documents?", "0000320193-25-000079"),
    (r"(issuer_|insider_|filer_|owner_)?cik|issuerCik|ciks", "0000320193"),
    (r".*ticker|symbol|(issuer)?[tT]radingSymbol|trading_symbol|tickers|active_tickers", "AAPL"),
    (r"cusips?|cusip_chain", "037833100"),
    (r"cusip6", "037833"),
    (r"company(_name)?|entity_name|issuer(_name|Name)|name_of_issuer|latest_company", "Apple Inc."),
    (r"fund_name|filer_name", "Berkshire Hathaway Inc"),
    (r"insider(_name)?|owner_name|indirect_owner_name", "COOK TIMOTHY D"),
    (r"(root_)?form_types?|formType|transactionFormType", "10-K"),
    (r"concept|concepts_resolved|concept_qualified_name", "us-gaap:Revenues"),
    (r"metric|key|metrics_returned|target", "revenue"),
    (r"label|primary_description", "Net sales"),
    (r"unit|dominant_unit|units", "USD"),
    (r"currency|reporting_currency", "USD"),
    (r"value|values", "416161000000"),
    (r"decimals", "-6"),
    (r"fiscal_period", "FY"),
    (r"period|calendar_period", "2025-09-30"),
    (r"role_uri", "http://www.apple.com/role/CONSOLIDATEDSTATEMENTSOFOPERATIONS"),
    (r"definition", "0000003 - Statement - CONSOLIDATED STATEMENTS OF OPERATIONS"),
    (r"preferred_label", "http://www.xbrl.org/2003/role/totalLabel"),
    (r"slot|statement_slot", "StatementsOfIncome"),
    (r"statements?", "income"),
    (r"reason", "not_reported"),
    (r"email", "ann@example.com"),
    (r"api_key", "0123456789abcdef0123456789abcdef"),
    (r".*secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLasw"),
    (r".*token", "eyJhbGciOiJIUzI1NiJ9.e30.x"),
    (r"target_id", "tgt_4fK2mQ8xZp1c"),
    (r"delivery_id", "dlv_0123456789abcdef0123456789abcdef"),
    (r"plan(_name)?", "pro"),
    (r"endpoint", "GET /api/v1/xbrl/timeseries"),
    (r"sector", "Technology"),
    (r"industry", "Electronic Computers"),
    (r"url|.*_url", "https://example.com/hook"),
    (r"version", "0.1.0"),
)

# A table's cursor is a text of the server's; nobody else makes one.
_NUMBERS = {"fiscal_year": 2025, "calendar_year": 2025, "depth": 1, "limit": 50, "offset": 0, "burst": 30}
_KEYS = {"statements": "income", "dims": "srt:ProductOrServiceAxis", "history": "main_api"}


def example(schema: Schema, name: str = "") -> Any:
    """A value that fits ``schema``: of every member something, of a list one entry.

    ``name`` is the member whose value it is. What is told in ``schema`` itself (a constant, an example, a
    choice) comes before what names suggest. Only the constructs of ``shapes`` are read.
    """
    for told, pick in (("const", None), ("examples", 0), ("enum", 0)):
        if told in schema:
            return schema[told] if pick is None else schema[told][pick]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], name)
    kind = schema.get("type", "object")
    return _MAKERS[kind if isinstance(kind, str) else kind[0]](schema, name)


def _object(schema: Schema, name: str) -> Any:
    members = {member: example(inner, member) for member, inner in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        members[_KEYS.get(name, "revenue")] = example(others, name)
    return members


def _array(schema: Schema, name: str) -> Any:
    return [example(schema["items"], name)] if "items" in schema else []


def _string(schema: Schema, name: str) -> str:
    if "format" in schema:
        return _FORMATS[schema["format"]]
    return next((text for pattern, text in _TEXTS if re.fullmatch(pattern, name)), name or "text")


def _integer(schema: Schema, name: str) -> int:
    return max(_NUMBERS.get(name, 1), int(schema.get("minimum", 0)))


def _number(schema: Schema, name: str) -> float:
    return max(1.5, float(schema.get("minimum", 0)))


_MAKERS: dict[str, Any] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": lambda schema, name: True,
    "null": lambda schema, name: None,
}
