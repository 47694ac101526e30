"""Packs of ownership forms: what is stored of them in one compact file, for the data that finapi carries with it.

A line of magic, then a zlib stream of JSON lines: the SIC codes of the issuers, then a form each with its filing.
Loading goes through ``insider_store.put``, as an ingest does.
"""

from __future__ import annotations

import json

from finapi.app import App
from finapi.db import Refused, Transaction
from finapi.edgar.ownership import Form
from finapi.errors import ParseError
from finapi.market import companies, insider_store
from finapi.market.insider_store import Filed
from finapi.market.packed import pack, unpack

MAGIC = b"finapi-insiders 1\n"


def dump(tx: Transaction) -> bytes:
    """A pack of every stored form, in the order of accession numbers; the same forms make the same bytes."""
    lines = [json.dumps([list(row) for row in tx.all("issuers_to_pack")])]
    for row in tx.all("insider_forms_to_pack"):
        filed = [row["accession"], row["filed_at"], row["accepted_at"], row["document"], row["source"]]
        text = insider_store.encoded(insider_store.unpacked(row["body"])).decode()
        lines.append(f"[{json.dumps(filed)},{text}]")
    return pack(MAGIC, lines)


def parse(data: bytes, file: str) -> tuple[dict[int, int], list[tuple[Form, Filed]]]:
    """The SIC codes by CIK and the forms of a pack; ParseError when it is not one."""
    first, *lines = unpack(MAGIC, data, file, "pack of insiders") or [b""]
    found = []
    read = 0
    try:
        codes = {int(cik): int(sic) for cik, sic in json.loads(first)}
        for line in lines:
            read += 1
            filed, values = json.loads(line)
            found.append((insider_store.decoded(values), Filed(*filed)))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ParseError(file, f"line {read + 1}", f"is not of a pack: {type(error).__name__}") from None
    return codes, found


def load(app: App, data: bytes, file: str) -> int:
    """Store the forms of a pack in one transaction; how many were new."""
    codes, found = parse(data, file)
    now = app.clock.now()
    try:
        with app.db.write() as tx:
            stored = sum(insider_store.put(tx, form, filed, now) for form, filed in found)
            for cik, sic in codes.items():
                # Of no day and no rank: whatever else tells of the company knows better.
                companies.put_attributes(tx, cik, companies.Attributes(sic=sic), 0, "")
            return stored
    except (Refused, TypeError, ValueError, AttributeError) as error:
        raise ParseError(file, "", f"is not a pack of forms: {error}") from None
