"""The rows in which N-PORT reports are stored.

A report is stored in three parts. Everything outside of its positions is one JSON text (the *body*). A position is a
row with its numbers, and refers to a *security*: the names, identifiers and categories that filers repeat every month.
The id of a security is made from the hash of these texts, so that a report can be stored without reading any.

A record is written as the list of the values of its fields, in their order, so that field names are not stored.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from finapi.edgar.fund_reports import DebtTerms, DerivativeTerms, FundReport, Identifier, LendingTerms, ReportedPosition
from finapi.market.documents.packs import build_decoder, encode_record
from finapi.store.db import Row

_COMPRESSION_LEVEL = 6

_build_report: Any = build_decoder(FundReport)
_build_debt: Any = build_decoder(DebtTerms)
_build_derivative: Any = build_decoder(DerivativeTerms)
_build_lending: Any = build_decoder(LendingTerms)


def hash_report(report: FundReport) -> bytes:
    """Return the SHA-256 of everything that a report states."""
    digest = hashlib.sha256(encode_record(replace(report, positions=())).encode())
    for position in report.positions:
        digest.update(encode_record(position).encode())
    return digest.digest()


def pack_body(report: FundReport) -> bytes:
    """Return a report without its positions as compressed JSON."""
    return zlib.compress(encode_record(replace(report, positions=())).encode(), _COMPRESSION_LEVEL)


def unpack_body(body: bytes) -> FundReport:
    """Return the report of a stored body, without its positions."""
    report: FundReport = _build_report(json.loads(zlib.decompress(body)))
    return report


def build_security_row(position: ReportedPosition) -> tuple[Any, ...]:
    """Return the row of a position's security, with its id first."""
    texts = (
        position.cusip,
        position.filed_cusip,
        position.isin,
        position.ticker,
        position.name,
        position.title,
        position.lei,
        position.asset_category,
        position.asset_description,
        position.issuer_category,
        position.issuer_description,
        position.country,
        json.dumps(position.identifiers),
    )
    digest = hashlib.sha256(json.dumps(texts).encode()).digest()
    # SQLite's integers have 64 bits with a sign, so one bit of the hash is dropped.
    return (int.from_bytes(digest[:8], "big") >> 1, *texts)


def build_position_row(report_id: int, seq: int, security_id: int, position: ReportedPosition) -> tuple[Any, ...]:
    """Return the row of a position."""
    terms = (position.debt, position.derivative, position.lending)
    return (
        report_id,
        seq,
        security_id,
        position.balance,
        position.units,
        position.currency,
        position.exchange_rate,
        position.value,
        position.percent,
        position.payoff_profile,
        position.is_restricted,
        position.fair_value_level,
        None if position.derivative is None else position.derivative.category,
        encode_record(terms) if any(terms) else None,
    )


def build_report(body: bytes, position_rows: Iterable[Row]) -> FundReport:
    """Return the report of a stored body and the rows of its positions (query ``positions_to_pack``)."""
    return replace(unpack_body(body), positions=tuple(map(_build_position, position_rows)))


def decode_identifiers(text: str) -> list[Identifier]:
    """Return the identifiers of a stored security."""
    return [Identifier(*members) for members in json.loads(text)]


def decode_terms(text: str | None) -> tuple[DebtTerms | None, DerivativeTerms | None, LendingTerms | None]:
    """Return the terms of a stored position."""
    debt, derivative, lending = (None, None, None) if text is None else json.loads(text)
    return (
        None if debt is None else _build_debt(debt),
        None if derivative is None else _build_derivative(derivative),
        None if lending is None else _build_lending(lending),
    )


def _build_position(row: Row) -> ReportedPosition:
    debt, derivative, lending = decode_terms(row["terms"])
    return ReportedPosition(
        name=row["name"],
        lei=row["lei"],
        title=row["title"],
        cusip=row["cusip"],
        filed_cusip=row["filed_cusip"],
        identifiers=tuple(decode_identifiers(row["identifiers"])),
        balance=row["balance"],
        units=row["units"],
        currency=row["currency"],
        exchange_rate=row["exchange_rate"],
        value=row["value"],
        percent=row["percent"],
        payoff_profile=row["payoff_profile"],
        asset_category=row["asset_category"],
        asset_description=row["asset_description"],
        issuer_category=row["issuer_category"],
        issuer_description=row["issuer_description"],
        country=row["country"],
        is_restricted=None if row["is_restricted"] is None else bool(row["is_restricted"]),
        fair_value_level=row["fair_value_level"],
        debt=debt,
        derivative=derivative,
        lending=lending,
    )
