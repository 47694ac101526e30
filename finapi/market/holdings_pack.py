"""Packs of 13F reports: stored reports in one compact file of our own, for the data that finapi carries with it.

A line of magic, then a zlib stream of JSON lines, a report each: its cover, its filing and its rows. Loading
goes through ``holdings_store.put``, as an ingest does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from typing import Any

from finapi import heartbeats
from finapi.app import App
from finapi.db import Refused, Row, Transaction
from finapi.edgar.thirteenf import Cover, Holding, Manager
from finapi.errors import ParseError
from finapi.market import filings, holdings_store
from finapi.market.holdings_report import CALLS, PUTS, HoldingsReport
from finapi.market.packed import pack, unpack
from finapi.market.store import Filed

MAGIC = b"finapi-holdings 1\n"

_PUT_CALL = {CALLS: "Call", PUTS: "Put"}


def held(tx: Transaction) -> Iterator[tuple[HoldingsReport, Filed]]:
    """Every stored 13F report with its filing, in the order of accession numbers and contents."""
    for row in tx.all("pack_holdings_reports"):
        rows = tuple(_holding(one) for one in tx.all("pack_holdings", report_id=row["id"]))
        report = HoldingsReport(_cover(tx, row), rows, row["sha256"], row["documents"])
        yield (
            report,
            Filed(row["accession"], row["filed_at"] or None, row["accepted_at"], evidence=filings.HEADER),
        )


def dump(reports: Iterable[tuple[HoldingsReport, Filed]]) -> bytes:
    """A pack of the reports; the same reports make the same bytes."""
    return pack(MAGIC, (_line(report, filed) for report, filed in reports))


def _line(report: HoldingsReport, filed: Filed) -> str:
    packed = {
        "cover": astuple(report.cover),
        "filed": [filed.accession, filed.filed_at, filed.accepted_at],
        "report": [report.sha256.hex(), report.documents],
        "rows": [astuple(row) for row in report.rows],
    }
    return json.dumps(packed, ensure_ascii=False, separators=(",", ":"))


def parse(data: bytes, file: str) -> Iterator[tuple[HoldingsReport, Filed]]:
    """The reports of a pack; ParseError when it is not one."""
    for number, line in enumerate(unpack(MAGIC, data, file, "holdings pack"), 1):
        try:
            yield _unpacked(json.loads(line))
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise ParseError(file, f"line {number}", f"is not a report: {type(error).__name__}") from None


def load(app: App, data: bytes, file: str) -> int:
    """Store the reports of a pack, each in a transaction of its own; how many were new."""
    stored = 0
    now = app.clock.now()
    for number, (report, filed) in enumerate(parse(data, file), 1):
        try:
            with app.db.write() as tx:
                if holdings_store.put(tx, report, filed, now):
                    stored += 1
                    heartbeats.arrived(tx, "13f_batch", now)
        except (Refused, TypeError) as error:
            raise ParseError(file, f"line {number}", f"is not a report: {error}") from None
    return stored


def _unpacked(packed: Any) -> tuple[HoldingsReport, Filed]:
    cover = Cover(*packed["cover"])
    cover = replace(
        cover,
        reported_by=tuple(Manager(*one) for one in cover.reported_by),  # type: ignore[misc]
        included=tuple(Manager(*one) for one in cover.included),  # type: ignore[misc]
    )
    sha256, documents = packed["report"]
    rows = tuple(Holding(*row) for row in packed["rows"])
    report = HoldingsReport(cover, rows, bytes.fromhex(sha256), documents)
    accession, filed_at, accepted_at = packed["filed"]
    return report, Filed(accession, filed_at, accepted_at, evidence=filings.HEADER)


def _cover(tx: Transaction, row: Row) -> Cover:
    managers = tx.all("managers_of_report", report_id=row["id"])
    listed = [
        (
            one["included"],
            Manager(
                one["number"],
                one["name"],
                None if one["cik"] is None else f"{one['cik']:010}",
                one["file_number"],
            ),
        )
        for one in managers
    ]
    return Cover(
        form=row["form"],
        cik=f"{row['cik']:010}",
        period=row["period"],
        report_type=row["report_type"],
        amendment_type=row["amendment_type"],
        amendment_number=row["amendment_number"],
        name=row["name"],
        address=row["address"],
        file_number=row["file_number"],
        signer=row["signer"],
        signer_title=row["signer_title"],
        signed=row["signed"],
        entry_total=row["entry_total"],
        value_total=row["value_total"],
        confidential_omitted=bool(row["confidential_omitted"]),
        reported_by=tuple(one for included, one in listed if not included),
        included=tuple(one for included, one in listed if included),
    )


def _holding(row: Row) -> Holding:
    return Holding(
        row["issuer"],
        row["title"],
        row["cusip"],
        row["figi"],
        row["value"],
        row["amount"],
        "PRN" if row["principal"] else "SH",
        _PUT_CALL.get(row["kind"]),
        row["discretion"],
        row["managers"],
        row["sole"],
        row["shared"],
        row["none"],
    )
