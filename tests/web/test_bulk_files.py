"""Bulk files of complete periods: their bytes for each dataset, refusals, builds, and deletions to free space."""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import json
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import pytest

from finapi import __version__
from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.client.exchange import ApiAnswer, decode_answer
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.cpu_allowance import CpuAllowance
from finapi.core.errors import ApiError
from finapi.edgar import fund_reports, sale_notices
from finapi.edgar import ownership_forms as insider_forms
from finapi.edgar import schedules as parser
from finapi.market.documents import metadata
from finapi.market.documents.metadata import FilingMetadata
from finapi.market.funds import fund_report_store
from finapi.market.insiders import insider_store as insiders
from finapi.market.ownership import sale_notice_store
from finapi.market.ownership import schedule_store as ownership
from finapi.market.reference import bulk_datasets
from finapi.ops.app_opening import open_app
from finapi.store import file_cache, file_index
from finapi.store.copies import MarketCopy
from finapi.store.file_cache import LIFETIME_FACTOR, BuildContent, BuiltFile, FileCache
from finapi.web import bulk as handlers
from tests.client import Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.core.test_cpu_allowance import CpuClock
from tests.support import fund_report_xml, schedule_xml
from tests.support import ownership_xml as forms
from tests.support.brook_lamps_report import build_report, store_report
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import june, september, take
from tests.support.metered_calls import get_balance, list_ledger_rows
from tests.support.raw_sql import run_sql

BULK = "/api/v1/xbrl/bulk"

# A day, month and quarter in which a filing of each dataset was filed.
DAYS = {
    "facts": ("2025-02-01", "2025-02", "2025q1"),
    "filings": ("2025-02-01", "2025-02", "2025q1"),
    "holdings": ("2025-08-14", "2025-08", "2025q3"),
    "nport": ("2025-11-26", "2025-11", "2025q4"),
    "form-3": ("2025-03-06", "2025-03", "2025q1"),
    "form-4": ("2025-03-05", "2025-03", "2025q1"),
    "form-5": ("2025-03-07", "2025-03", "2025q1"),
    "form-144": ("2025-04-14", "2025-04", "2025q2"),
    "beneficial-ownership": ("2025-01-15", "2025-01", "2025q1"),
}


@pytest.fixture(scope="module")
def stored_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Store one or two filings of each dataset."""
    app = apps.create_in_memory(Config(**ACCOUNTS), FixedClock(NOW))
    take(app, tmp_path_factory.mktemp("forms"), june(), september())
    store_report(app, build_report(), "0001234567-25-000077")
    with app.db.write() as tx:
        for number, (kind, filed) in enumerate([("4", "2025-03-05"), ("3", "2025-03-06"), ("5", "2025-03-07")], 1):
            accession = f"0000000101-25-0001{number:02}"
            document = insider_forms.parse(forms.form(forms.transaction(), kind=kind), accession)
            insiders.upsert_form(
                tx, document, FilingMetadata(accession, metadata.DOCUMENT_EVIDENCE, filed_at=filed), NOW
            )
        filing_metadata = FilingMetadata("0000000101-25-000001", metadata.DOCUMENT_EVIDENCE, filed_at="2025-04-14")
        sale_notice_store.upsert(
            tx, sale_notices.parse(schedule_xml.notice(), filing_metadata.accession), filing_metadata, NOW
        )
        filing_metadata = FilingMetadata("0000000103-25-000001", metadata.DOCUMENT_EVIDENCE, filed_at="2025-01-15")
        ownership.upsert(tx, parser.parse(schedule_xml.d(), filing_metadata.accession), filing_metadata, NOW)
        for number, percent in enumerate(("30", "40"), 1):  # The second report amends the first one.
            accession = f"0009200001-25-00000{number}"
            report = fund_report_xml.report(fund_report_xml.position(percent=percent), fund_report_xml.position())
            filing_metadata = FilingMetadata(accession, metadata.DOCUMENT_EVIDENCE, filed_at=f"2025-11-2{number + 4}")
            fund_report_store.upsert(tx, fund_reports.parse(report, accession), filing_metadata, NOW)
        tx.run("bump_data_version")
    yield app
    app.db.close()


@pytest.fixture
def api(copied: Callable[..., App], stored_app: App) -> Client:
    app = copied(stored_app, **ACCOUNTS)
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def csv_rows(answer: Answer) -> list[dict[str, str]]:
    """Return the rows of a compressed CSV file."""
    assert answer.status == 200, answer.body
    return [*csv.DictReader(gzip.decompress(answer.body).decode().splitlines())]


def ndjson_rows(answer: Answer) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    return [json.loads(line) for line in gzip.decompress(answer.body).splitlines()]


# The view and condition that count the rows of a day independently of the query that builds the file.
VIEWS = {
    "facts": "fact WHERE filed_at = ?",
    "filings": "filing WHERE filed_at = ?",
    "holdings": "holding JOIN fund_quarter USING (fund_cik, period) WHERE filed_at = ?",
    "nport": "fund_position JOIN fund_report USING (accession_number) WHERE filed_at = ?",
    "form-3": "insider_transaction WHERE form_type = '3' AND filed_at = ?",
    "form-4": "insider_transaction WHERE form_type = '4' AND filed_at = ?",
    "form-5": "insider_transaction WHERE form_type = '5' AND filed_at = ?",
    "form-144": "proposed_sale WHERE filed_at = ?",
    "beneficial-ownership": "beneficial_ownership WHERE filed_at = ?",
}


@pytest.mark.parametrize("dataset", bulk_datasets.DATASETS)
def test_a_file_has_the_rows_of_its_day_month_or_quarter(api: Client, dataset: str) -> None:
    day, *longer = DAYS[dataset]
    rows = ndjson_rows(api.get(f"{BULK}/{dataset}-{day}.ndjson.gz"))
    assert {str(row["filed_at"])[:10] for row in rows} == {day}
    assert {tuple(row) for row in rows} == {bulk_datasets.DATASETS[dataset].columns}
    with api.app.db.read() as tx:
        count = run_sql(tx, f"SELECT count(*) FROM {VIEWS[dataset]}", [day]).fetchone()[0]
    assert len(rows) == count > 0
    table_rows = csv_rows(api.get(f"{BULK}/{dataset}-{day}.csv.gz"))
    assert [row["accession_number"] for row in table_rows] == [row["accession_number"] for row in rows]
    for period in longer:
        period_rows = ndjson_rows(api.get(f"{BULK}/{dataset}-{period}.ndjson.gz"))
        assert [row for row in period_rows if row["filed_at"][:10] == day] == rows
        assert len(csv_rows(api.get(f"{BULK}/{dataset}-{period}.csv.gz"))) == len(period_rows)


def test_files_have_exactly_these_bytes(api: Client) -> None:
    body = gzip.decompress(api.get(f"{BULK}/form-4-2025-03-05.csv.gz").body)
    assert body == (
        b"accession_number,seq,form_type,filed_at,issuer_cik,symbol,insider_cik,insider_name,derivative,security_title,"
        b"transaction_date,code,standard_type,acquired_disposed,shares,price,value,shares_following,ownership,nature,"
        b"rule_10b5_1,value_doubt,same_trade_as\r\n"
        b"0000000101-25-000101,1,4,2025-03-05,1234567,BRK-B,101,Lamp Ann,0,Common Stock,2025-03-03,P,purchase,A,100.0,"
        b"10.0,1000,1100.0,D,,0,,\r\n"
    )
    body = gzip.decompress(api.get(f"{BULK}/form-144-2025-04.ndjson.gz").body)
    assert body == (
        b'{"accession_number":"0000000101-25-000001","form_type":"144","filed_at":"2025-04-14","issuer_cik":1234567,'
        b'"issuer_name":"Brook Lamps Inc.","filer_cik":101,"seller":"Lamp Ann","seq":1,"security_title":"Common",'
        b'"broker":"Lamp Brokers LLC","shares":5000.0,"value":250000.5,"approximate_sale_date":"2025-04-13"}\n'
    )
    body = gzip.decompress(api.get(f"{BULK}/holdings-2025q3.csv.gz").body)
    assert body == (
        b"accession_number,filed_at,fund_cik,period,cusip,issuer,symbol,kind,shares,value,status,previous_shares,"
        b"previous_value\r\n"
        b"0001234567-25-000001,2025-08-14,1234567,2025-06-30,02005N100,ALLY FINL INC,,shares,10,400,,,\r\n"
        b"0001234567-25-000001,2025-08-14,1234567,2025-06-30,037833100,APPLE INC,,shares,10,2500,,,\r\n"
        b"0001234567-25-000001,2025-08-14,1234567,2025-06-30,594918104,MICROSOFT CORP,,shares,10,5000,,,\r\n"
    )


@run_each_case(
    "name",
    [
        "facts-2025-02-30.csv.gz",
        "facts-2025-13.csv.gz",
        "facts-2025-00.csv.gz",
        "facts-2025q5.csv.gz",
        "form-6-2025q1.csv.gz",
        "prices-2025q1.csv.gz",
        "facts-2025q1.csv",
        "facts-2025q1.json.gz",
        "facts-\u0662025q1.csv.gz",
        "..%2f..%2ffinapi.db",
        "%2fetc%2fpasswd",
        ".facts-2025q1.csv.gz",
    ],
)
def test_an_invalid_file_name_is_refused_and_refunded(api: Client, name: str) -> None:
    answer = api.get(f"{BULK}/{quote(name, safe='%')}")
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", "filename")
    assert answer.headers["x-tokens-charged"] == "0"
    assert get_balance(api.app, 1) == 500_000
    assert api.app.bulk_files.list_files() == []


@run_each_case("period", ["2026-02", "2026-02-01", "2026q2", "2099q4"])
def test_a_period_that_has_not_begun_is_404_and_costs_nothing(api: Client, period: str) -> None:
    answer = api.get(f"{BULK}/facts-{period}.csv.gz")
    assert (answer.status, answer.headers["x-tokens-charged"]) == (404, "0")
    assert answer.json["message"] == f"The period {period} has not begun."
    assert get_balance(api.app, 1) == 500_000


def test_a_file_of_the_current_period_is_marked_incomplete(api: Client) -> None:
    store_report(api.app, build_report(), "0000000007-26-000001", filed_at="2026-01-30")
    for period in ("2026-01-30", "2026-01", "2026q1"):
        assert api.get(f"{BULK}/filings-{period}.csv.gz").status == 200
    files = {entry["filename"]: (entry["complete"], entry["reason"]) for entry in api.get(BULK).json["data"]["files"]}
    assert files == {
        "filings-2026-01-30.csv.gz": (True, None),
        "filings-2026-01.csv.gz": (False, "made before the end of 2026-01-31"),
        "filings-2026q1.csv.gz": (False, "made before the end of 2026-03-31"),
    }


def test_a_period_without_rows_is_404_and_costs_nothing(api: Client) -> None:
    for _ in range(2):
        answer = api.get(f"{BULK}/form-4-2025-03-04.csv.gz")
        assert (answer.status, answer.headers["x-tokens-charged"]) == (404, "0")
        assert answer.json["message"] == "finapi has no form-4 filed on 2025-03-04."
    assert get_balance(api.app, 1) == 500_000
    assert api.get(BULK).json["data"]["files"] == []


def test_the_index_lists_the_size_and_hash_of_each_file(api: Client) -> None:
    file = api.get(f"{BULK}/form-4-2025q1.csv.gz")
    assert api.get(f"{BULK}/facts-2025q1.csv.gz").status == 200
    index = api.get(f"{BULK}?dataset=form-4").json["data"]
    assert (index["file_count"], index["total_rows"]) == (1, 1)
    entry = index["files"][0]
    assert entry["sha256"] == hashlib.sha256(file.body).hexdigest() == file.headers["etag"].strip('"')
    assert entry["byte_size"] == len(file.body) == int(file.headers["content-length"])
    assert (entry["row_count"], entry["generated_at"]) == (1, "2026-01-31T12:00:00.000Z")
    assert (entry["first_day"], entry["last_day"]) == ("2025-01-01", "2025-03-31")
    assert api.get(entry["download_path"]).body == file.body
    assert len(api.get(BULK).json["data"]["files"]) == 2
    assert api.get(f"{BULK}?dataset=prices").status == 400


def test_a_file_is_sent_unchanged_for_any_accept_encoding(api: Client) -> None:
    plain = api.get(f"{BULK}/facts-2025q1.csv.gz")
    packed = api.get(f"{BULK}/facts-2025q1.csv.gz", headers={"Accept-Encoding": "gzip"})
    assert packed.body == plain.body
    assert "content-encoding" not in packed.headers
    assert packed.headers["content-type"] == "application/gzip"
    assert packed.headers["accept-ranges"] == "bytes"
    for accept, media_type in (
        ("application/octet-stream", "application/octet-stream"),
        ("application/octet-stream;q=0.5, application/gzip", "application/gzip"),
        ("*/*", "application/gzip"),
        ("application/json", "application/gzip"),
        ("text/csv", "application/gzip"),
    ):
        answer = api.get(f"{BULK}/facts-2025q1.csv.gz", headers={"X-API-Key": str(api.key), "Accept": accept})
        assert (answer.headers["content-type"], answer.body) == (media_type, plain.body), accept
    head = api.call("HEAD", f"{BULK}/facts-2025q1.csv.gz")
    assert (head.status, head.body) == (200, b"")
    for name in ("etag", "content-length", "content-disposition"):
        assert head.headers[name] == plain.headers[name]


def test_the_python_client_returns_the_bytes_of_a_file(api: Client) -> None:
    file = api.get(f"{BULK}/facts-2025q1.csv.gz")
    assert decode_answer(ApiAnswer(200, file.headers, file.body), dates=True) == file.body


def test_a_copy_of_the_market_data_has_the_same_rows(tmp_path: Path, stored_app: App) -> None:
    (tmp_path / "finapi.db").write_bytes(stored_app.db.image())
    copy, period = MarketCopy(tmp_path / "finapi.db"), bulk_datasets.parse_period("2025q1")
    with copy.read() as copy_tx, stored_app.db.read() as tx:
        rows = [tuple(row) for row in bulk_datasets.iter_rows(copy_tx, bulk_datasets.DATASETS["facts"], period)]
        assert (
            rows == [tuple(row) for row in bulk_datasets.iter_rows(tx, bulk_datasets.DATASETS["facts"], period)] != []
        )
    copy.close()


def test_a_file_costs_tokens_unless_the_caller_already_has_it(api: Client) -> None:
    file = api.get(f"{BULK}/facts-2025q1.csv.gz")
    assert file.headers["x-tokens-charged"] == "25"
    assert get_balance(api.app, 1) == 499_975
    again = api.get(f"{BULK}/facts-2025q1.csv.gz", headers={"If-None-Match": file.headers["etag"]})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", file.headers["etag"])
    assert again.headers["x-tokens-charged"] == "0"
    assert get_balance(api.app, 1) == 499_975
    assert [row[0] for row in list_ledger_rows(api.app)] == [-25, -25, 25]
    assert api.get(BULK).headers["x-tokens-charged"] == "5"


NAME = f"{BULK}/facts-2025q1.csv.gz"


def get_range(api: Client, ranges: str, **headers: str) -> Answer:
    named_headers = {name.replace("_", "-"): text for name, text in headers.items()}
    return api.get(NAME, headers={"X-API-Key": str(api.key), "Range": ranges, **named_headers})


def test_a_bought_file_is_resumed_for_free(api: Client) -> None:
    file = api.get(NAME)
    size = len(file.body)
    for ranges, first, last in (
        ("bytes=0-0", 0, 0),
        ("bytes=10-19", 10, 19),
        ("bytes=10-", 10, size - 1),
        ("bytes=-10", size - 10, size - 1),
        (f"Bytes= 5-{size + 100} ", 5, size - 1),
        (f"bytes=-{size + 100}", 0, size - 1),
        (f"bytes=0-{'9' * 5_000}", 0, size - 1),
        (f"bytes={'0' * 5_000}7-9", 7, 9),
        (f"bytes=-{'9' * 19}", 0, size - 1),
    ):
        part = get_range(api, ranges, If_Range=file.headers["etag"])
        assert (part.status, part.body) == (206, file.body[first : last + 1]), ranges
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert part.headers["content-length"] == str(last + 1 - first)
        assert (part.headers["etag"], part.headers["accept-ranges"]) == (file.headers["etag"], "bytes")
        assert part.headers["x-tokens-charged"] == "0"
    assert get_balance(api.app, 1) == 499_975
    # Also by an account that has spent its last tokens on the file.
    with api.app.accounts.write() as tx:
        tx.run("spend_all", user_id=1, now=iso(NOW))
    assert get_range(api, "bytes=10-19").status == 206
    assert api.get(NAME).status == 402


def test_ranges_are_free_for_a_day_and_only_for_the_buyer(api: Client) -> None:
    assert get_range(api, "bytes=0-9").headers["x-tokens-charged"] == "25"
    assert get_range(api, "bytes=10-19").headers["x-tokens-charged"] == "0"
    other = Client(api.app, users.create(api.app, "bob@example.com", "pro", NOW).api_key)
    assert get_range(other, "bytes=10-19").headers["x-tokens-charged"] == "25"
    api.app.clock.advance(86_399)  # type: ignore[attr-defined]
    assert get_range(api, "bytes=20-").headers["x-tokens-charged"] == "0"
    api.app.clock.advance(1)  # type: ignore[attr-defined]
    assert get_range(api, "bytes=20-").headers["x-tokens-charged"] == "25"


def test_a_new_version_of_a_file_is_complete_and_charged(api: Client) -> None:
    file = api.get(NAME)
    store_report(api.app, build_report(revenue="120"), "0000000009-25-000001", filed_at="2025-02-01")
    resumed = get_range(api, "bytes=10-", If_Range=file.headers["etag"])
    assert (resumed.status, resumed.headers["x-tokens-charged"]) == (200, "25")
    assert resumed.body == api.get(NAME).body != file.body


@run_each_case(
    "ranges",
    [
        "bytes=0-1,5-6",
        "bytes=5-2",
        "bytes=-",
        "bytes=a-b",
        "items=0-5",
        "bytes 0-5",
        "bytes=0-5x",
    ],
)
def test_other_ranges_are_answered_with_the_complete_file(api: Client, ranges: str) -> None:
    answer = get_range(api, ranges)
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "25")
    assert "content-range" not in answer.headers
    assert len(answer.body) == int(answer.headers["content-length"])


@run_each_case("if_range", ['W/"{tag}"', '"other"', "Sat, 31 Jan 2026 12:00:00 GMT", ""])
def test_if_range_of_another_version_gets_the_complete_file(api: Client, if_range: str) -> None:
    tag = api.get(NAME).headers["etag"].strip('"')
    assert get_range(api, "bytes=0-9", If_Range=if_range.format(tag=tag)).status == 200


def test_a_range_behind_the_end_is_416_and_free(api: Client) -> None:
    size = len(api.get(NAME).body)
    before = get_balance(api.app, 1)
    for ranges in (f"bytes={size}-", f"bytes={size}-{size + 5}", "bytes=-0", f"bytes={'9' * 5_000}-"):
        answer = get_range(api, ranges)
        assert (answer.status, answer.json["code"]) == (416, "RANGE_NOT_SATISFIABLE")
        assert answer.headers["content-range"] == f"bytes */{size}"
        assert (answer.headers["accept-ranges"], answer.headers["x-tokens-charged"]) == ("bytes", "0")
    assert get_balance(api.app, 1) == before


def test_a_head_ignores_ranges_and_buys_nothing(api: Client) -> None:
    head = api.call("HEAD", NAME, headers={"X-API-Key": str(api.key), "Range": "bytes=0-9"})
    assert (head.status, head.body, head.headers["x-tokens-charged"]) == (200, b"", "25")
    assert get_range(api, "bytes=0-9").headers["x-tokens-charged"] == "25"


def test_if_none_match_comes_before_a_range(api: Client) -> None:
    file = api.get(NAME)
    assert get_range(api, "bytes=0-9", If_None_Match=file.headers["etag"]).status == 304


def test_a_file_built_again_with_the_same_rows_is_resumed_for_free(api: Client) -> None:
    file = api.get(NAME)
    api.app.clock.advance(3600)  # type: ignore[attr-defined]
    store_report(api.app, build_report(revenue="120"), "0000000009-25-000002", filed_at="2025-07-01")
    part = get_range(api, "bytes=10-", If_Range=file.headers["etag"])
    assert (part.status, part.body, part.headers["x-tokens-charged"]) == (206, file.body[10:], "0")
    assert [row[0] for row in list_ledger_rows(api.app)] == [-25, -25, 25]
    assert get_range(api, "bytes=20-").headers["x-tokens-charged"] == "0"
    # A complete file is charged each time.
    assert api.get(NAME).headers["x-tokens-charged"] == "25"


def test_a_bought_file_is_resumed_for_free_after_a_restart(tmp_path: Path) -> None:
    config, clock = Config(data_dir=tmp_path, **ACCOUNTS), FixedClock(NOW)
    with open_app(config, clock) as app:
        store_report(app, build_report(), "0001234567-25-000077", filed_at="2025-02-01")
        key = users.create(app, "ann@example.com", "pro", NOW).api_key
        other_key = users.create(app, "bob@example.com", "pro", NOW).api_key
        file = Client(app, key).get(NAME)
        assert file.headers["x-tokens-charged"] == "25"
    clock.advance(3600)
    with open_app(config, clock) as app:
        part = get_range(Client(app, key), "bytes=10-", If_Range=file.headers["etag"])
        assert (part.status, part.body, part.headers["x-tokens-charged"]) == (206, file.body[10:], "0")
        assert get_range(Client(app, other_key), "bytes=10-").headers["x-tokens-charged"] == "25"
    clock.advance(86_400 - 3600)
    with open_app(config, clock) as app:
        assert get_range(Client(app, key), "bytes=10-").headers["x-tokens-charged"] == "25"


def test_a_refunded_file_is_not_bought(api: Client) -> None:
    account, sha256 = ("user", 1), "0" * 64
    files = api.app.bulk_files
    forget = lambda: files.forget_purchase(account, sha256)  # noqa: E731
    for reason, is_bought in (("", True), ("the server stops", False)):
        files.record_purchase(account, sha256)
        export = handlers.FileExport(open(__file__, "rb"), 5, forget)  # noqa: SIM115
        export.start({"finapi.abort_reason": lambda reason=reason: reason})
        export.close()
        assert files.has_purchased(account, sha256) == is_bought


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_if_none_match_star_pays_for_a_file_that_must_be_built(api: Client, method: str) -> None:
    path, star = f"{BULK}/form-4-2025-03-05.csv.gz", {"If-None-Match": "*", "X-API-Key": str(api.key)}
    first, second = (api.call(method, path, headers=star) for _ in range(2))
    assert (first.status, first.headers["x-tokens-charged"]) == (200, "25")
    assert (second.status, second.headers["x-tokens-charged"]) == (304, "0")
    assert second.headers["etag"] == first.headers["etag"]
    with api.app.db.write() as tx:
        tx.run("bump_data_version")
    api.app.clock.advance(3600)  # type: ignore[attr-defined]
    assert api.call(method, path, headers=star).status == 200


def test_if_none_match_star_of_a_period_without_rows_is_404(api: Client) -> None:
    path = f"{BULK}/form-4-2020-03-05.csv.gz"
    answers = [api.get(path, headers={"If-None-Match": "*", "X-API-Key": str(api.key)}) for _ in range(2)]
    assert [(answer.status, answer.headers["x-tokens-charged"]) for answer in answers] == [(404, "0")] * 2


def test_unpaid_files_use_the_cpu_allowance(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, real = CpuClock(), handlers._iter_pieces
    # Only the thread that builds files uses CPU time; the thread of the call uses none.
    api.app.refunded_cpu.cpu_seconds = lambda: cpu() if threading.current_thread().name == "finapi-files" else 0.0

    def slow(app: App, dataset: Any, period: Any, kind: str) -> Iterator[tuple[bytes, int]]:
        cpu.seconds += 20.0
        yield from real(app, dataset, period, kind)

    monkeypatch.setattr(handlers, "_iter_pieces", slow)
    names = [f"form-4-2020-03-{day:02}.csv.gz" for day in (1, 2, 3)]
    assert api.get(f"{BULK}/{names[0]}").status == 404
    refused = api.get(f"{BULK}/{names[1]}")
    assert refused.verdict[:2] == (429, "RATE_LIMIT_EXCEEDED")
    # 20 seconds were used, and 5 are allowed per minute: the other 15 must expire.
    assert (refused.headers["retry-after"], refused.headers["x-tokens-charged"]) == ("180", "0")
    api.app.clock.advance(180)  # type: ignore[attr-defined]
    assert api.get(f"{BULK}/form-4-2025-03-05.csv.gz").status == 200
    # That file was paid for, so that another one can be built.
    assert api.get(f"{BULK}/form-4-2025-03-05.ndjson.gz").status == 200


def test_a_change_of_the_data_rebuilds_the_file(api: Client) -> None:
    name = f"{BULK}/filings-2025-02-01.csv.gz"
    first = api.get(name)
    assert api.get(name).headers["etag"] == first.headers["etag"]
    store_report(api.app, build_report(revenue="120"), "0000000009-25-000001", filed_at="2025-02-01")
    second = api.get(name, headers={"If-None-Match": first.headers["etag"]})
    assert second.status == 200
    assert second.headers["etag"] != first.headers["etag"]
    assert len(csv_rows(second)) == len(csv_rows(first)) + 1
    assert api.app.bulk_files.list_files()[0][1].rows == len(csv_rows(second))


def test_a_file_that_is_too_large_is_refused(copied: Callable[..., App], stored_app: App) -> None:
    app = copied(stored_app, **ACCOUNTS, bulk_bytes=400)
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    for _ in range(2):
        answer = api.get(f"{BULK}/facts-2025q1.csv.gz")
        assert (answer.status, answer.json["details"]["expected"]) == (400, "a shorter period")
    assert get_balance(app, 1) == 500_000
    assert app.bulk_files.list_files() == []


def test_a_failed_build_is_refunded_and_leaves_no_file(
    api: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_after_start(*arguments: object) -> Iterator[Any]:
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(bulk_datasets, "iter_rows", fail_after_start)
    answer = api.get(f"{BULK}/facts-2025q1.csv.gz")
    assert (answer.status, answer.headers["retry-after"]) == (503, "30")
    assert get_balance(api.app, 1) == 500_000
    assert [*api.app.bulk_files._prepare_directory().iterdir()] == []
    monkeypatch.undo()
    assert api.get(f"{BULK}/facts-2025q1.csv.gz").status == 200


# ---- the same files under the paths that other clients use

MONTHS = "/api/v1/insiders/bulk/form-4"


def test_files_of_facts_have_their_own_list(api: Client) -> None:
    file = api.get(f"{BULK}/facts/facts-2025-02.csv.gz")
    assert (file.status, file.headers["x-tokens-charged"]) == (200, "25")
    assert file.headers["content-type"] == "application/gzip"
    assert file.body == api.get(f"{BULK}/facts-2025-02.csv.gz").body
    assert api.get(f"{BULK}/facts/facts-2025q1.csv.gz").status == 200
    assert api.get(f"{BULK}/filings-2025q1.csv.gz").status == 200
    answer = api.get(f"{BULK}/facts")
    index = answer.json["data"]
    assert answer.headers["x-tokens-charged"] == "5"
    assert (index["dataset"], index["file_count"], index["shards_total"]) == ("facts", 2, 2)
    assert [(entry["shard_index"], entry["filename"]) for entry in index["files"]] == [
        (0, "facts-2025-02.csv.gz"),
        (1, "facts-2025q1.csv.gz"),
    ]
    first = index["files"][0]
    assert first["row_count"] == len(csv_rows(file))
    assert first["sha256"] == hashlib.sha256(file.body).hexdigest()
    assert (first["filing_id_lo"], first["filing_id_hi"]) == (None, None)
    assert (first["first_day"], first["last_day"]) == ("2025-02-01", "2025-02-28")
    assert api.get(first["download_path"]).body == file.body
    assert api.get(f"{BULK}/facts/filings-2025q1.csv.gz").status == 400
    again = api.get(first["download_path"], headers={"If-None-Match": file.headers["etag"]})
    assert (again.status, again.headers["x-tokens-charged"]) == (304, "0")


def test_the_file_of_a_month_is_built_listed_and_fetched(api: Client) -> None:
    assert api.get(f"{MONTHS}/index.json").json == {"form_type": "4", "files": []}
    job = api.call("POST", f"{MONTHS}/generate/2025/3")
    assert job.headers["x-tokens-charged"] == "25"
    assert job.json == {
        "job_id": "form-4-2025-03",
        "queued_at": "2026-01-31T12:00:00.000Z",
        "estimated_seconds": 0,
        "status": "completed",
    }
    # Files of another form, and of another kind of period, are not in this list.
    assert api.call("POST", "/api/insiders/bulk/form-144/generate/2025/04").status == 200
    assert api.get(f"{BULK}/form-4-2025q1.csv.gz").status == 200
    [entry] = api.get(f"{MONTHS}/index.json").json["files"]
    link = api.get(f"{MONTHS}/2025/{entry['filename']}")
    assert link.headers["x-tokens-charged"] == "25"
    assert link.json == {
        "download_url": f"https://api.example.com{BULK}/form-4-2025-03.csv.gz",
        "filename": "form-4-2025-03.csv.gz",
        "row_count": 1,
        "size_bytes": entry["size_bytes"],
        "sha256": entry["sha256"],
        "expires_at": None,
    }
    file = api.get(link.json["download_url"].removeprefix("https://api.example.com"))
    assert (entry["year"], entry["month"], entry["row_count"]) == (2025, 3, len(csv_rows(file)))
    assert (entry["size_bytes"], entry["sha256"]) == (len(file.body), hashlib.sha256(file.body).hexdigest())
    assert api.get(f"{MONTHS}/2025/form-4-2025-03.ndjson.gz").json["row_count"] == 1


@run_each_case(
    "method, path, status, param",
    [
        ("GET", "form-6/index.json", 400, "form_type"),
        ("GET", "form-/index.json", 400, "form_type"),
        ("GET", "form-4%2f/index.json", 400, "form_type"),
        ("GET", "4/index.json", 404, None),
        ("POST", "form-4/generate/2025/13", 400, "month"),
        ("POST", "form-4/generate/2025/0", 400, "month"),
        ("POST", "form-4/generate/20250/1", 400, "year"),
        ("POST", "form-4/generate/2025/x", 400, "month"),
        ("POST", "form-4/generate/2026/2", 404, None),
        ("POST", "form-4/generate/2025/4", 404, None),
        ("GET", "form-4/2024/form-4-2025-03.csv.gz", 404, None),
        ("GET", "form-5/2025/form-4-2025-03.csv.gz", 404, None),
        ("GET", "form-4/2025/form-4-2025q1.csv.gz", 400, "filename"),
        ("GET", "form-4/2025/..%2f..%2ffinapi.db", 400, "filename"),
        ("GET", "form-4/2025/form-4-2025-04.csv.gz", 404, None),
        ("GET", "form-4/2026/form-4-2026-02.csv.gz", 404, None),
    ],
)
def test_an_invalid_month_is_refused_and_costs_nothing(
    api: Client, method: str, path: str, status: int, param: str | None
) -> None:
    answer = api.call(method, f"/api/v1/insiders/bulk/{path}")
    assert (answer.status, (answer.json.get("details") or {}).get("param")) == (status, param)
    assert get_balance(api.app, 1) == 500_000
    assert api.app.bulk_files.list_files() == []


def test_concurrent_calls_build_a_file_once(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    real, began, go_on, built_days = handlers._iter_pieces, threading.Event(), threading.Event(), list[str]()

    def slow(app: App, dataset: Any, period: Any, kind: str) -> Iterator[tuple[bytes, int]]:
        built_days.append(str(period.first))
        began.set()
        assert go_on.wait(10)
        yield from real(app, dataset, period, kind)

    monkeypatch.setattr(handlers, "_iter_pieces", slow)
    first = list[Answer]()
    asking = threading.Thread(target=lambda: first.append(api.call("POST", f"{MONTHS}/generate/2025/3")))
    asking.start()
    assert began.wait(10)
    running = api.call("POST", f"{MONTHS}/generate/2025/3")
    assert running.json["status"] == "running"
    assert running.json["estimated_seconds"] is None
    other = api.call("POST", f"{MONTHS}/generate/2025/2")
    assert (other.status, other.headers["retry-after"], other.headers["x-tokens-charged"]) == (503, "5", "0")
    assert other.json["message"] == "Another file is being made. Try again in a moment."
    link = api.get(f"{MONTHS}/2025/form-4-2025-03.csv.gz")
    assert (link.status, link.headers["x-tokens-charged"]) == (503, "0")
    go_on.set()
    asking.join(10)
    assert first[0].json["status"] == "completed"
    assert api.call("POST", f"{MONTHS}/generate/2025/3").json["status"] == "completed"
    assert built_days == ["2025-03-01"]
    assert get_balance(api.app, 1) == 500_000 - 3 * 25


# ---- the directory of files


def decompress(opened: IO[bytes] | None) -> bytes:
    assert opened is not None
    with opened:
        return gzip.decompress(opened.read())


def create_allowance(clock: FixedClock, cpu: CpuClock | None = None) -> CpuAllowance:
    """Return an allowance of ten seconds a minute."""
    return CpuAllowance(10.0, clock.monotonic, refusal="Used up.", cpu_seconds=cpu or CpuClock())


def open_and_close(cache: FileCache, name: str, stamp: str, make: BuildContent) -> BuiltFile:
    """Open a file, building it if necessary, and close it unread. Return its metadata."""
    built_file, opened = cache.open_file(name, stamp, make, "ann")
    if opened is not None:
        opened.close()
    return built_file


def build_content(text: bytes, number: int = 1) -> Callable[[], Iterator[tuple[bytes, int]]]:
    return lambda: iter([(text, number)])


def test_leftovers_and_least_recently_used_files_are_deleted(tmp_path: Path, clock: FixedClock) -> None:
    directory = tmp_path / "bulk"
    directory.mkdir()
    (directory / ".a-file").write_bytes(b"half")
    (directory / "another").write_bytes(b"of another process")
    cache = FileCache(directory, 100, clock, create_allowance(clock))
    for name in ("one", "two", "three"):
        built_file, opened = cache.open_file(name, "1", build_content(name.encode()), "ann")
        assert decompress(opened) == name.encode()
        assert built_file.size <= 25
    again = open_and_close(cache, "one", "1", build_content(b"never made"))
    assert again.sha256 == cache.list_files()[0][1].sha256
    open_and_close(cache, "four", "1", build_content(b"four"))
    open_and_close(cache, "five", "1", build_content(b"five"))
    paths = [path for path in directory.iterdir() if path.name != file_index.INDEX]
    assert {path.name for path in paths} == {name for name, _ in cache.list_files()} == {"one", "three", "four", "five"}
    assert sum(path.stat().st_size for path in paths) <= 100


def test_files_and_purchases_outlast_a_restart(tmp_path: Path, clock: FixedClock) -> None:
    def restart(seconds_later: float = 0.0) -> FileCache:
        # Monotonic clocks begin anew in each process.
        later_clock = FixedClock(clock.now() + timedelta(seconds=seconds_later))
        return FileCache(tmp_path / "bulk", 100, later_clock, create_allowance(later_clock))

    cache = FileCache(tmp_path / "bulk", 100, clock, create_allowance(clock))
    built = {name: open_and_close(cache, name, "1", build_content(name.encode())) for name in ("one", "two")}
    clock.advance(100)
    for account in (("user", 1), ("user", 2)):
        cache.record_purchase(account, built["one"].sha256)
    cache.forget_purchase(("user", 2), built["one"].sha256)  # It was refunded.
    restarted = restart()
    assert restarted.find_file("one", "1") == built["one"]._replace(fresh_until=0.0)
    assert restarted.find_file("one", "2") is None
    built_file, opened = restarted.open_file("two", "1", build_content(b"never made"), "ann")
    assert (built_file.sha256, decompress(opened)) == (built["two"].sha256, b"two")
    assert not restarted.has_purchased(("user", 2), built["one"].sha256)
    is_free = [restart(seconds).has_purchased(("user", 1), built["one"].sha256) for seconds in (-9, 86_399, 86_400)]
    assert is_free == [True, True, False]
    # A version that replaces the file is in the index with its own hash.
    newer = open_and_close(restarted, "one", "2", build_content(b"newer"))
    assert restart().find_file("one", "2") == newer._replace(fresh_until=0.0)


@run_each_case("damage", ["other version", "not JSON", "a list", "no purchases", "other size", "no file", "no index"])
def test_a_damaged_index_or_file_is_not_used(tmp_path: Path, clock: FixedClock, damage: str) -> None:
    directory = tmp_path / damage
    cache = FileCache(directory, 100, clock, create_allowance(clock))
    sha256 = open_and_close(cache, "one", "1", build_content(b"one")).sha256
    cache.record_purchase("ann", sha256)
    index, file = directory / file_index.INDEX, directory / "one"
    text = index.read_text()
    changed_texts = {
        "other version": text.replace(f'"{__version__}"', '"99"'),
        "not JSON": "{",
        "a list": "[1]",
        "no purchases": text.replace("purchases", "other"),
    }
    if damage == "other size":
        file.write_bytes(file.read_bytes() + b"1")
    elif damage in ("no file", "no index"):
        (file if damage == "no file" else index).unlink()
    else:
        assert changed_texts[damage] != text
        index.write_text(changed_texts[damage])
    restarted = FileCache(directory, 100, clock, create_allowance(clock))
    assert restarted.find_file("one", "1") is None
    assert restarted.has_purchased("ann", sha256) == (damage in ("other size", "no file"))
    _, opened = restarted.open_file("one", "1", build_content(b"new"), "ann")
    assert decompress(opened) == b"new"


def test_a_full_disk_loses_the_index_only(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(file_index, "replace_file", fail)
    cache = FileCache(tmp_path / "bulk", 100, clock, create_allowance(clock))
    sha256 = open_and_close(cache, "one", "1", build_content(b"one")).sha256
    cache.record_purchase("ann", sha256)
    assert cache.has_purchased("ann", sha256)
    assert {record.getMessage() for record in caplog.records} == {
        "the index of bulk files cannot be written: No space left on device"
    }


def test_files_are_built_one_at_a_time_in_the_background(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cache, "WAIT_SECONDS", 0.01)
    cache, go_on = FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock)), threading.Event()

    def slow() -> Iterator[tuple[bytes, int]]:
        assert go_on.wait(10)
        yield b"a row", 1

    for name, why in (("one", "This file"), ("one", "This file"), ("two", "Another file")):
        with pytest.raises(ApiError, match=f"^{why} is being made") as refused:
            cache.open_file(name, "1", slow, "ann")
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})
    thread = next(worker for worker in threading.enumerate() if worker.name == "finapi-files")
    go_on.set()
    thread.join(10)
    built_file, opened = cache.open_file("one", "1", slow, "ann")
    assert decompress(opened) == b"a row"
    assert built_file.rows == 1


def test_only_the_owner_of_the_process_may_read_built_files(tmp_path: Path, clock: FixedClock) -> None:
    cache = FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock))
    open_and_close(cache, "one", "1", build_content(b"rows"))
    assert stat.S_IMODE((tmp_path / "bulk").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "bulk/one").stat().st_mode) == 0o600


def test_a_slowly_built_file_is_reused_for_a_while_after_changes(tmp_path: Path, clock: FixedClock) -> None:
    cache = FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock))

    def slow() -> Iterator[tuple[bytes, int]]:
        clock.advance(3)
        yield b"old", 1

    open_and_close(cache, "one", "1", slow)
    clock.advance(3 * LIFETIME_FACTOR - 1)
    assert open_and_close(cache, "one", "2", build_content(b"new")).stamp == "1"
    clock.advance(1)
    assert open_and_close(cache, "one", "2", build_content(b"new")).stamp == "2"


class SlowFiles:
    """Files that take 20 seconds of CPU each."""

    def __init__(self, cache: FileCache, cpu: CpuClock) -> None:
        self.cache, self.cpu = cache, cpu
        self.built: list[str] = []

    def open(self, name: str, account: str) -> None:
        def make() -> Iterator[tuple[bytes, int]]:
            self.cpu.seconds += 20.0
            self.built.append(name)
            yield name.encode(), 1

        _, opened = self.cache.open_file(name, "1", make, account)
        assert decompress(opened) == name.encode()


@pytest.fixture
def slow_files(tmp_path: Path, clock: FixedClock) -> SlowFiles:
    cpu = CpuClock()
    return SlowFiles(FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock, cpu)), cpu)


def test_paid_files_use_no_allowance(slow_files: SlowFiles) -> None:
    for name in ("one", "two", "three"):
        slow_files.open(name, "ann")
        slow_files.cache.settle(name, "ann")
    assert slow_files.built == ["one", "two", "three"]


def test_an_unpaid_file_is_counted_when_the_next_one_is_built(slow_files: SlowFiles, clock: FixedClock) -> None:
    slow_files.open("one", "ann")
    with pytest.raises(ApiError) as refused:
        slow_files.open("two", "ann")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "60"})
    # A file that exists needs no work, and each account has its own allowance.
    slow_files.open("one", "ann")
    slow_files.open("two", "bob")
    assert slow_files.built == ["one", "two"]
    clock.advance(60.0)
    slow_files.open("three", "ann")
    assert slow_files.built == ["one", "two", "three"]


def test_paying_for_another_file_settles_nothing(slow_files: SlowFiles) -> None:
    slow_files.open("one", "ann")
    slow_files.cache.settle("two", "ann")
    slow_files.cache.settle("one", "bob")
    with pytest.raises(ApiError, match="Used up"):
        slow_files.open("two", "ann")


def test_a_file_paid_for_during_its_build_uses_no_allowance(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cache, "WAIT_SECONDS", 0.01)
    cpu, go_on = CpuClock(), threading.Event()
    cache = FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock, cpu))

    def slow() -> Iterator[tuple[bytes, int]]:
        assert go_on.wait(10)
        cpu.seconds += 20.0
        yield b"a row", 1

    with pytest.raises(ApiError, match="is being made"):
        cache.open_file("one", "1", slow, "ann")
    cache.settle("one", "ann")
    thread = next(worker for worker in threading.enumerate() if worker.name == "finapi-files")
    go_on.set()
    thread.join(10)
    monkeypatch.setattr(file_cache, "WAIT_SECONDS", 10.0)
    assert open_and_close(cache, "two", "1", build_content(b"two")).rows == 1


def test_accounts_beyond_the_record_limit_count_immediately(
    slow_files: SlowFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_cache, "MAX_RECORDS", 1)
    slow_files.open("one", "ann")
    slow_files.open("two", "bob")
    with pytest.raises(ApiError, match="Used up"):
        slow_files.open("three", "ann")


def test_an_open_file_stays_readable_after_its_replacement(tmp_path: Path, clock: FixedClock) -> None:
    cache = FileCache(tmp_path / "bulk", 10_000, clock, create_allowance(clock))
    _, opened = cache.open_file("one", "1", build_content(b"old"), "ann")
    assert open_and_close(cache, "one", "2", build_content(b"new")).stamp == "2"
    assert decompress(opened) == b"old"
    (tmp_path / "bulk" / "one").unlink()
    with pytest.raises(ApiError, match="is being made"):
        cache.open_file("one", "2", build_content(b"new"), "ann")
    _, opened = cache.open_file("one", "2", build_content(b"new"), "ann")
    assert decompress(opened) == b"new"


@run_each_case(
    "text, first, last",
    [
        ("2024-02-29", (2024, 2, 29), (2024, 2, 29)),
        ("2024-02", (2024, 2, 1), (2024, 2, 29)),
        ("2025-12", (2025, 12, 1), (2025, 12, 31)),
        ("2025q1", (2025, 1, 1), (2025, 3, 31)),
        ("2025q4", (2025, 10, 1), (2025, 12, 31)),
    ],
)
def test_a_period_has_its_first_and_last_day(
    text: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    assert bulk_datasets.parse_period(text) == (date(*first), date(*last))


@pytest.mark.parametrize(("hour", "over"), [(5, False), (6, True)])
def test_a_day_is_over_when_edgar_accepts_no_more_filings_of_it(hour: int, over: bool) -> None:
    now = datetime(2026, 1, 31, hour, tzinfo=UTC)
    assert bulk_datasets.is_over(bulk_datasets.parse_period("2026-01-30"), now) is over
    assert bulk_datasets.has_begun(bulk_datasets.parse_period("2026-01-31"), now)
