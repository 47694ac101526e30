"""Storing N-PORT reports: amendments, doubts, packs, tickers of share classes, and full submissions."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.edgar import fund_reports
from finapi.edgar.form_families import FUND_REPORTS
from finapi.market.documents import packs
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.funds import fund_classes, fund_report_lists, fund_report_store
from finapi.market.funds.fund_report_lists import FundReportRow
from finapi.market.intake import ingest
from tests.conftest import NOW
from tests.support import fund_report_xml as made
from tests.support import submission_texts
from tests.support.raw_sql import run_sql

FIRST, SECOND, THIRD = "0009200001-26-000001", "0009200001-26-000002", "0009200001-26-000003"


def store_report(app: App, data: bytes, accession: str, filed: str | None) -> bool:
    report = fund_reports.parse(data, "primary_doc.xml")
    with app.db.write() as tx:
        return fund_report_store.upsert(tx, report, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW)


def list_reports(app: App, fund_id: str = made.SERIES[0]) -> list[FundReportRow]:
    with app.db.read() as tx:
        return fund_report_lists.list_for_funds(tx, [fund_id], 50, 0)[0]


def list_flags(app: App) -> dict[str, tuple[bool, bool]]:
    """Return ``is_current`` and ``is_latest`` of each report."""
    with app.db.read() as tx:
        rows = tx.list_rows("fund_report_flags", fund_id=made.SERIES[0])
    return {row["accession"]: (bool(row["is_current"]), bool(row["is_latest"])) for row in rows}


def get_doubts(app: App) -> list[str]:
    (report,) = list_reports(app)
    return list(report["doubts"])


def test_a_report_is_stored_once(app: App) -> None:
    assert store_report(app, made.report(made.position()), FIRST, "2026-02-27") is True
    assert store_report(app, made.report(made.position()), FIRST, "2026-02-27") is False
    (report,) = list_reports(app)
    assert (report["accession_number"], report["as_of"], report["rep_pd_end"]) == (FIRST, "2025-12-31", "2026-06-30")
    assert (report["net_assets"], report["holdings_count"], report["filed_at"]) == (
        Decimal(50_000),
        1,
        "2026-02-27T00:00:00.000Z",
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_an_amendment_replaces_the_report_of_its_period(app: App, order: tuple[int, int]) -> None:
    documents = (
        (made.report(made.position()), FIRST, "2026-02-27"),
        (made.report(made.position(balance="90"), form="NPORT-P/A"), SECOND, "2026-03-05"),
    )
    for index in order:
        store_report(app, *documents[index])
    assert list_flags(app) == {FIRST: (False, False), SECOND: (True, True)}
    assert [(row["accession_number"], row["is_amendment"]) for row in list_reports(app)] == [
        (SECOND, True),
        (FIRST, False),
    ]


def test_an_amendment_of_an_earlier_period_is_not_the_latest_report(app: App) -> None:
    store_report(app, made.report(made.position()), FIRST, "2026-02-27")
    store_report(app, made.report(made.position(), period="2025-09-30"), SECOND, "2025-11-28")
    store_report(app, made.report(made.position(), period="2025-09-30", form="NPORT-P/A"), THIRD, "2026-03-05")
    assert list_flags(app) == {FIRST: (True, True), SECOND: (False, False), THIRD: (True, False)}


def test_an_empty_amendment_does_not_replace_positions(app: App) -> None:
    store_report(app, made.report(made.position()), FIRST, "2026-02-27")
    store_report(app, made.report(form="NPORT-P/A"), SECOND, "2026-03-05")
    assert list_flags(app) == {FIRST: (True, True), SECOND: (False, False)}


def test_a_period_after_the_filing_day_is_not_the_latest(app: App) -> None:
    store_report(app, made.report(made.position()), FIRST, "2026-02-27")
    store_report(app, made.report(made.position(), period="2052-12-31"), SECOND, "2026-02-28")
    assert list_flags(app) == {FIRST: (True, True), SECOND: (True, False)}
    assert {row["accession_number"]: row["doubts"] for row in list_reports(app)}[SECOND] == ["period_after_filing"]


def test_percentages_as_fractions_are_doubtful(app: App) -> None:
    fractions = [made.position(percent="0.50001"), made.position(cusip=made.MICROSOFT, percent="0.49999")]
    store_report(app, made.report(*fractions), FIRST, "2026-02-27")
    assert get_doubts(app) == ["percentages_differ"]


def test_rounded_percentages_are_not_doubtful(app: App) -> None:
    # 400 positions of 0.004 per cent each are rounded to nothing.
    small = [made.position(value="2.00", percent="0.00", balance=str(number)) for number in range(400)]
    large = made.position(cusip=made.MICROSOFT, value="49200.00", percent="98.40")
    store_report(app, made.report(large, *small), FIRST, "2026-02-27")
    assert get_doubts(app) == []


def test_assets_that_do_not_add_up_are_doubtful(app: App) -> None:
    store_report(app, made.report(made.position(), total_assets="70500.00"), FIRST, "2026-02-27")
    assert get_doubts(app) == ["assets_differ"]


def test_a_report_without_positions_is_doubtful(app: App) -> None:
    store_report(app, made.report(), FIRST, "2026-02-27")
    assert get_doubts(app) == ["no_positions"]


def test_a_registrant_without_series_is_a_fund_of_its_own(app: App) -> None:
    store_report(app, made.report(made.position(), series=None, class_ids=()), FIRST, "2026-02-27")
    (report,) = list_reports(app, "0009200001")
    assert (report["series_id"], report["series_name"], report["reg_name"]) == (None, None, "Lantern Funds Trust")


def test_a_pack_contains_all_stored_reports(app: App, make_app: Any) -> None:
    positions = (
        made.position(more=made.DEBT + made.LENDING),
        made.position(cusip="N/A", isin=None, more=made.OPTION, restricted="Y"),
        made.position(name="N/A", cusip="000000000", balance="-4", more=made.FUTURE),
    )
    store_report(app, made.report(*positions), FIRST, "2026-02-27")
    with app.db.read() as tx:
        data = packs.dump(tx, FUND_REPORTS)
    other = make_app()
    assert packs.load(other, data, "x.pack") == 1
    assert packs.load(other, data, "x.pack") == 0
    with other.db.read() as tx:
        assert packs.dump(tx, FUND_REPORTS) == data
    assert list_reports(other) == list_reports(app)


def ingest_files(app: App, folder: Path, files: dict[str, bytes]) -> list[Any]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    outcomes: list[Any] = []
    ingest.run(app, [folder], IngestOptions(), outcomes.append)
    return outcomes


def test_a_submission_stores_report_tickers_and_events(app: App, tmp_path: Path) -> None:
    exhibit = submission_texts.text("NPORT-EX", "holdings.htm", "<html><body>Schedule</body></html>", 2)
    data = made.submission(FIRST, made.report(made.position()), exhibit)
    (outcome,) = ingest_files(app, tmp_path, {f"{FIRST}.txt": data})
    assert (outcome.outcome, outcome.kind, outcome.accession) == ("ingested", "full-submission", FIRST)
    with app.db.read() as tx:
        (match,) = fund_classes.resolve_ticker(tx, "lntn")
        events = [
            (row["type"], json.loads(row["data"])) for row in run_sql(tx, "SELECT type, data FROM events ORDER BY seq")
        ]
    assert (match.fund_id, match.class_id, match.cik, match.source) == (
        "S000900001",
        "C000900001",
        9200001,
        "submission_header",
    )
    assert [type for type, _ in events] == ["new_filing", "fund_report"]
    assert (events[1][1]["series_id"], events[1][1]["net_assets"]) == ("S000900001", 50000)


def test_a_later_header_renames_a_class(app: App, tmp_path: Path) -> None:
    renamed = made.HEADER_SERIES.replace("LNTN", "LAMP")
    files = {
        f"{FIRST}.txt": made.submission(FIRST, made.report(), filed="20260227060000"),
        f"{SECOND}.txt": made.submission(SECOND, made.report(), header_series=renamed, filed="20251128060000"),
    }
    ingest_files(app, tmp_path, files)
    with app.db.read() as tx:
        assert [row["ticker"] for row in fund_classes.list_classes(tx, "S000900001")] == ["LNTN", None]
        with pytest.raises(ApiError, match="No company with the ticker or CIK LAMP"):
            fund_classes.resolve_ticker(tx, "LAMP")


def test_a_report_without_accession_number_waits_for_its_filing(app: App, tmp_path: Path) -> None:
    (outcome,) = ingest_files(app, tmp_path, {"primary_doc.xml": made.report(made.position())})
    assert outcome.accession.startswith("unfiled-")
    assert [row["filed_at"] for row in list_reports(app)] == [None]
    assert store_report(app, made.report(made.position()), FIRST, "2026-02-27") is True
    assert [(row["accession_number"], row["filed_at"]) for row in list_reports(app)] == [
        (FIRST, "2026-02-27T00:00:00.000Z")
    ]


def test_an_invalid_report_is_refused_with_its_place(app: App, tmp_path: Path) -> None:
    (outcome,) = ingest_files(app, tmp_path, {f"{FIRST}.xml": made.report(made.position(percent="half"))})
    assert (outcome.outcome, outcome.kind, outcome.reason) == (
        "refused",
        "nport",
        "position 1 percent: 'half' is not a decimal number",
    )
    assert list_reports(app) == []
