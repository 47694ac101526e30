"""The JSON in which complete Schedules 13D/13G and Forms 144 are stored. The other tables are built from it.

A record is the list of the values of its fields, in their order, so that field names are not stored. Its SHA-256
identifies the content of a document.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from finapi.edgar.sale_notices import SaleNotice
from finapi.edgar.schedules import Schedule
from finapi.market.documents.packs import build_decoder, encode_record

_build_schedule: Any = build_decoder(Schedule)
_build_sale_notice: Any = build_decoder(SaleNotice)


def encode(document: Schedule | SaleNotice) -> bytes:
    """Return a document as JSON. It is stored compressed by zlib."""
    return encode_record(document).encode()


def decode_schedule(body: bytes) -> Schedule:
    """Return the schedule of a stored, compressed body."""
    schedule: Schedule = _build_schedule(json.loads(zlib.decompress(body)))
    return schedule


def decode_sale_notice(body: bytes) -> SaleNotice:
    """Return the Form 144 of a stored, compressed body."""
    notice: SaleNotice = _build_sale_notice(json.loads(zlib.decompress(body)))
    return notice
