"""Storing notices of proposed sales (Form 144), from documents and by an ingest."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar import sale_notices
from finapi.edgar.form_families import SALE_NOTICES
from finapi.market.documents import packs
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.intake import ingest
from finapi.market.ownership import sale_notice_lists, sale_notice_store
from finapi.market.ownership.sale_notice_lists import NoticeFilters
from tests.conftest import NOW
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case

FIRST, SECOND = "0000000101-25-000001", "0000000101-25-000002"


def store_notice(app: App, data: bytes, accession: str, filed: str | None) -> bool:
    notice = sale_notices.parse(data, "primary_doc.xml")
    with app.db.write() as tx:
        return sale_notice_store.upsert(tx, notice, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW)


def list_notices_of(app: App, **filters: Any) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        return [{**row} for row in sale_notice_lists.list_notices(tx, NoticeFilters(**filters), 50, 0)[0]]


def test_notice_has_the_sums_of_its_lines(app: App) -> None:
    assert store_notice(app, made.notice(made.sale(), made.sale("1500", "75000")), FIRST, "2025-04-14") is True
    assert store_notice(app, made.notice(made.sale(), made.sale("1500", "75000")), FIRST, "2025-04-14") is False
    (row,) = list_notices_of(app)
    assert (row["shares"], row["aggregate_market_value"]) == (Decimal(6500), Decimal("325000.5"))
    assert row["percent_of_outstanding"] == Decimal("0.05")
    assert (row["seller_name"], row["insider_cik"], row["filed_at"]) == (
        "Lamp Ann",
        "0000000101",
        "2025-04-14T00:00:00.000Z",
    )
    assert (row["is_rule_10b5_1"], row["plan_adoption_dates"], row["holes"]) == (True, ["2024-11-15"], {})


@run_each_case("flag, live", [("TEST", False), ("test", False), ("LIVE", True), ("Live", True)])
def test_test_filing_is_refused(flag: str, live: bool) -> None:
    data = made.notice().replace(b">LIVE<", f">{flag}<".encode())
    assert flag.encode() in data
    if live:
        assert sale_notices.parse(data, "primary_doc.xml").seller == "Lamp Ann"
        return
    with pytest.raises(ParseError, match="liveTestFlag: is a test filing"):
        sale_notices.parse(data, "primary_doc.xml")


def test_error_names_the_line_of_a_wrong_figure() -> None:
    with pytest.raises(ParseError, match="sales 2 units"):
        sale_notices.parse(made.notice(made.sale(), made.sale("many")), "primary_doc.xml")


def test_shares_of_several_classes_are_not_added_up(app: App) -> None:
    store_notice(app, made.notice(made.sale(), made.sale("10", "400", title="Class B")), FIRST, "2025-04-14")
    (row,) = list_notices_of(app)
    assert (row["shares"], row["percent_of_outstanding"]) == (None, None)
    assert row["aggregate_market_value"] == Decimal("250400.5")
    assert row["holes"] == {"shares": "several_classes", "percent_of_outstanding": "several_classes"}


def test_sum_is_null_if_a_line_has_no_figure(app: App) -> None:
    store_notice(app, made.notice(made.sale(), made.sale(None, None)), FIRST, "2025-04-14")
    (row,) = list_notices_of(app)
    assert (row["shares"], row["aggregate_market_value"]) == (None, None)
    assert set(row["holes"].values()) == {"not_reported"}


def test_pack_contains_all_stored_notices(app: App, make_app: Any) -> None:
    store_notice(app, made.notice(), FIRST, "2025-04-14")
    with app.db.read() as tx:
        data = packs.dump(tx, SALE_NOTICES)
    other = make_app()
    assert packs.load(other, data, "x.pack") == 1
    assert packs.load(other, data, "x.pack") == 0
    assert list_notices_of(other) == list_notices_of(app)


def test_ingest_stores_a_notice_and_records_its_events(app: App, tmp_path: Path) -> None:
    (tmp_path / f"{FIRST}.xml").write_bytes(made.notice())
    (tmp_path / f"{SECOND}.xml").write_bytes(made.notice(seller=None))
    outcomes: list[Any] = []
    counts = ingest.run(app, [tmp_path], IngestOptions(), outcomes.append)
    assert counts == {"ingested": 1, "unchanged": 0, "skipped": 0, "refused": 1}
    assert {
        (outcome.outcome, outcome.kind, outcome.reason) for outcome in outcomes if outcome.outcome == "refused"
    } == {("refused", "form-144", "seller: is missing")}
    assert [row["accession_number"] for row in list_notices_of(app)] == [FIRST]
    with app.db.read() as tx:
        events = [
            (row["type"], json.loads(row["data"]))
            for row in tx._connection.execute("SELECT type, data FROM events ORDER BY seq")
        ]
        filings = [row[0] for row in tx._connection.execute("SELECT accession FROM filings")]
    assert filings == [FIRST]
    assert [type for type, _ in events] == ["new_filing", "proposed_sale"]
    assert events[1][1]["shares"] == 5000
