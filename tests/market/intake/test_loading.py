"""Real data from nothing: the SEC's bulk files and documents from a stand-in of EDGAR, cut off and gone on with."""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import signal
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError, UsageError
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import fetch_queue, ingest, loading
from finapi.market.intake.gateway import Gateway
from finapi.market.intake.loading import COMPANYFACTS_PATH, SUBMISSIONS_PATH, TICKERS_PATH, Loader
from finapi.market.intake.poller import build_document_path
from finapi.market.statements import filed_facts
from finapi.verbs.load_verb import _build_wait
from finapi.verbs.verb import ProgressBar, format_duration
from tests.process import COMMAND, ROOT, environment, eventually, finapi
from tests.support import statement_set_tables
from tests.support.edgar_server import AGENT, FakeEdgar, Page, fake_edgar, full_submission

APPLE, GOLDMAN, OTHER = 320193, 886982, 19617
QUARTER = "/files/dera/data/financial-statement-data-sets/2025q4.zip"


def build_zip(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return data.getvalue()


def figures(cik: int) -> bytes:
    """A companyfacts document with one figure."""
    row = {"end": "2025-12-31", "val": cik, "accn": f"{cik:010}-26-000001", "form": "10-K", "filed": "2026-01-30"}
    units = {"USD": [row]}
    return json.dumps(
        {"cik": cik, "entityName": f"C{cik}", "facts": {"us-gaap": {"Assets": {"units": units}}}}
    ).encode()


def build_submissions(cik: int, *accessions: str, form: str = "10-K") -> bytes:
    """A submissions document."""
    count = len(accessions)
    recent: dict[str, Any] = {
        name: [""] * count for name in ("primaryDocument", "primaryDocDescription", "items", "act")
    }
    recent |= {
        "accessionNumber": list(accessions),
        "filingDate": ["2026-01-30"] * count,
        "reportDate": ["2025-12-31"] * count,
        "acceptanceDateTime": ["2026-01-30T21:30:00.000Z"] * count,
        "form": [form] * count,
        **{name: [1] * count for name in ("size", "isXBRL", "isInlineXBRL")},
        **{name: ["1"] * count for name in ("fileNumber", "filmNumber")},
    }
    company = {"cik": str(cik), "name": f"C{cik}", "tickers": [], "exchanges": [], "sic": "3571"}
    return json.dumps({**company, "filings": {"recent": recent, "files": []}}).encode()


TICKER_LIST = json.dumps(
    {
        str(rank): {"cik_str": cik, "ticker": ticker, "title": ticker}
        for rank, (cik, ticker) in enumerate([(APPLE, "AAPL"), (GOLDMAN, "GS"), (OTHER, "JPM")])
    }
).encode()


@pytest.fixture
def edgar() -> Iterator[FakeEdgar]:
    with fake_edgar() as (edgar, server):
        edgar.url = f"http://127.0.0.1:{server.port}"  # type: ignore[attr-defined]
        companies = (APPLE, GOLDMAN, OTHER)
        edgar.pages[TICKERS_PATH] = Page(TICKER_LIST, headers={"ETag": '"t1"'})
        edgar.pages[SUBMISSIONS_PATH] = Page(
            build_zip({f"CIK{cik:010}.json": build_submissions(cik) for cik in companies}), headers={"ETag": '"s1"'}
        )
        edgar.pages[COMPANYFACTS_PATH] = Page(
            build_zip({f"CIK{cik:010}.json": figures(cik) for cik in companies}), headers={"ETag": '"f1"'}
        )
        sets = {f"{kind.removeprefix('fsds-')}.txt": body for kind, body in statement_set_tables.tables().items()}
        edgar.pages[QUARTER] = Page(build_zip(sets), headers={"ETag": '"q1"'})
        yield edgar


@pytest.fixture
def app(make_app: Callable[..., App], edgar: FakeEdgar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setattr(loading, "MAX_COMPANIES_WITHOUT_BULK_FILES", 0)
    monkeypatch.setattr(loading, "RANGE_BYTES", 500)
    url = edgar.url  # type: ignore[attr-defined]
    return make_app(user_agent=AGENT, base_url=url, edgar_per_second=10_000.0, data_dir=tmp_path)


class Load:
    """A loader whose waits advance the clock, with its reported outcomes."""

    def __init__(self, app: App, clock: FixedClock) -> None:
        self.outcomes: list[Outcome] = []
        self.moves: list[tuple[str, str, int, int]] = []
        self.waits: list[float] = []
        self.gateway = Gateway(app)

        def wait(seconds: float, why: str) -> None:
            self.waits.append(seconds)
            clock.advance(seconds=seconds)

        self.loader = Loader(
            app,
            self.gateway,
            wait=wait,
            report=self.outcomes.append,
            report_progress=lambda *progress: self.moves.append(progress),
        )

    def run(self, texts: Sequence[str] = (), top: int = 0, years: int = 1) -> loading.LoadPlan:
        try:
            ciks, _ = self.loader.choose_companies(texts, top)
            plan = self.loader.build_plan(ciks, years)
            self.loader.run(plan)
        finally:
            self.gateway.close()
        return plan


def list_stored_accessions(app: App, cik: int) -> list[str]:
    with app.db.read() as tx:
        return [str(fact.value) for fact in filed_facts.list_company_facts(tx, cik, concepts=["us-gaap:Assets"])]


def test_only_named_companies_are_loaded_from_bulk_files(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    load = Load(app, clock)
    plan = load.run(["AAPL", "GS"])
    assert [file.name for file in plan.files] == ["submissions.zip", "companyfacts.zip", "2025q4.zip"]
    assert len(plan.missing) == 3  # quarters that are not there
    assert list_stored_accessions(app, APPLE) == ["320193"]
    assert set(list_stored_accessions(app, GOLDMAN)) == {"886982", "889544000000", "884547000000"}
    assert list_stored_accessions(app, OTHER) == []
    assert not (app.config.data_dir / "load").exists()
    assert {received.headers["user-agent"] for received in edgar.requests} == {AGENT}
    assert ("2 of 3 companyfacts.zip", "companies", 2, 2) in load.moves
    assert ("3 of 3 2025q4.zip", "filings", 1, 1) in load.moves
    sizes = [(done, total) for label, unit, done, total in load.moves if (label[:1], unit) == ("2", "bytes")]
    total = len(edgar.pages[COMPANYFACTS_PATH].body)
    assert sizes[-1] == (total, total)
    assert [done for done, _ in sizes[:2]] == [500, total]


def test_top_follows_order_of_sec_list(app: App, clock: FixedClock) -> None:
    load = Load(app, clock)
    assert load.loader.choose_companies(["gs", "NOSUCH", "19617"], 2) == ([GOLDMAN, OTHER, APPLE], ["NOSUCH"])
    load.gateway.close()


def test_loaded_files_are_requested_again_after_a_week(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    Load(app, clock).run(["AAPL"])
    edgar.requests.clear()
    assert Load(app, clock).run(["AAPL"]).requests == 0
    assert edgar.paths[0] == TICKERS_PATH
    assert {path.rpartition("/")[2] for path in edgar.paths[1:]} == {"2025q1.zip", "2025q2.zip", "2025q3.zip"}
    # Another company: of every file, of that company alone.
    plan = Load(app, clock).run(["AAPL", "JPM"])
    assert [(file.name, set(file.ciks)) for file in plan.files] == [
        (name, {OTHER}) for name in ("submissions.zip", "companyfacts.zip", "2025q4.zip")
    ]
    clock.advance(seconds=8 * 86_400)
    assert [file.name for file in Load(app, clock).run(["AAPL"]).files] == ["submissions.zip", "companyfacts.zip"]


@pytest.mark.parametrize(
    ("trouble", "waits"),
    [
        (Page(b"x" * 10, headers={"Content-Length": "500"}), [15.0]),
        (Page(b"", 500), [15.0]),
        (Page(b"", 503), [15.0]),
        (Page(b"", 403), [600.0]),
        (Page(b"", 429, {"Retry-After": "90"}), [90.0]),
    ],
)
def test_only_failed_range_is_requested_again(
    app: App, edgar: FakeEdgar, clock: FixedClock, trouble: Page, waits: list[float]
) -> None:
    load = Load(app, clock)
    ciks, _ = load.loader.choose_companies(["AAPL"], 0)
    plan = load.loader.build_plan(ciks, 1)
    edgar.requests.clear()
    edgar.next = [trouble]
    load.loader.run(plan)
    load.gateway.close()
    assert load.waits == waits
    assert list_stored_accessions(app, APPLE) == ["320193"]
    ranges = [request.headers["range"] for request in edgar.requests if request.line.split()[1] == SUBMISSIONS_PATH]
    assert len(ranges) == len(set(ranges)) + 1


def test_next_load_continues_after_host_failed(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    load = Load(app, clock)
    plan = load.loader.build_plan(load.loader.choose_companies(["AAPL"], 0)[0], 1)
    edgar.pages[COMPANYFACTS_PATH].body, complete_body = b"", edgar.pages[COMPANYFACTS_PATH].body
    edgar.pages[COMPANYFACTS_PATH].status = 500
    with pytest.raises(ApiError, match="EDGAR does not answer: answered 500; run the same command again to continue"):
        load.loader.run(plan)
    load.gateway.close()
    assert load.waits == [15.0, 30.0, 60.0, 120.0, 240.0]
    edgar.pages[COMPANYFACTS_PATH] = Page(complete_body, headers={"ETag": '"f1"'})
    edgar.requests.clear()
    Load(app, clock).run(["AAPL"])
    assert SUBMISSIONS_PATH not in edgar.paths
    assert list_stored_accessions(app, APPLE) == ["320193"]


def test_bytes_fetched_before_a_kill_are_reused(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    load = Load(app, clock)
    plan = load.loader.build_plan(load.loader.choose_companies(["AAPL"], 0)[0], 1)
    half = plan.files[0].size // 2
    with app.db.write() as tx:
        tx.run("upsert_poll_state", name=f"load {SUBMISSIONS_PATH}", value=f'{plan.files[0].size} "s1"')
    (app.config.data_dir / "load").mkdir()
    (app.config.data_dir / "load" / "submissions.zip").write_bytes(edgar.pages[SUBMISSIONS_PATH].body[:half])
    edgar.requests.clear()
    load.loader.run(plan)
    load.gateway.close()
    first = next(request for request in edgar.requests if request.line.split()[1] == SUBMISSIONS_PATH)
    assert first.headers["range"] == f"bytes={half}-{plan.files[0].size - 1}"
    assert first.headers["if-range"] == '"s1"'


def test_changed_file_is_fetched_from_start(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    load = Load(app, clock)
    plan = load.loader.build_plan(load.loader.choose_companies(["AAPL"], 0)[0], 1)
    edgar.pages[COMPANYFACTS_PATH] = Page(
        build_zip({f"CIK{APPLE:010}.json": figures(APPLE) + b" " * 2000}), headers={"ETag": '"f2"'}
    )
    with pytest.raises(ApiError, match="changed while it was fetched"):
        load.loader.run(plan)
    load.gateway.close()
    Load(app, clock).run(["AAPL"])
    assert list_stored_accessions(app, APPLE) == ["320193"]


def test_damaged_file_is_fetched_again_by_next_load(app: App, edgar: FakeEdgar, clock: FixedClock) -> None:
    complete_body = edgar.pages[COMPANYFACTS_PATH].body
    edgar.pages[COMPANYFACTS_PATH].body = b"\0" * len(complete_body)
    load = Load(app, clock)
    load.run(["AAPL"])
    assert [(outcome.outcome, str(outcome.reason)[:24]) for outcome in load.outcomes if outcome.kind == "unknown"][
        :1
    ] == [("refused", "is not a document that f")]
    assert list_stored_accessions(app, APPLE) == []
    edgar.pages[COMPANYFACTS_PATH].body = complete_body
    Load(app, clock).run(["AAPL"])
    assert list_stored_accessions(app, APPLE) == ["320193"]


def test_host_without_ranges_is_reported(app: App, edgar: FakeEdgar, clock: FixedClock, monkeypatch: Any) -> None:
    monkeypatch.setattr("tests.support.edgar_server._part", lambda page, headers: page)
    with pytest.raises(
        UsageError, match="its host does not support byte ranges; download the files and use --base-url FOLDER"
    ):
        Load(app, clock).run(["AAPL"])


def test_full_disk_is_reported_before_fetching(
    app: App, edgar: FakeEdgar, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading.shutil, "disk_usage", lambda path: (0, 0, 100))
    with pytest.raises(UsageError, match=r"has 0 MiB free; 0 MiB are needed"):
        Load(app, clock).run(["AAPL"])
    assert not (app.config.data_dir / "load").exists()


def test_few_companies_are_loaded_from_their_own_documents(
    app: App, edgar: FakeEdgar, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_COMPANIES_WITHOUT_BULK_FILES", 1)
    accession = "0000320193-26-000001"
    edgar.pages[f"/submissions/CIK{APPLE:010}.json"] = Page(
        build_submissions(APPLE, accession), headers={"ETag": '"1"'}
    )
    edgar.pages[f"/api/xbrl/companyfacts/CIK{APPLE:010}.json"] = Page(figures(APPLE), headers={"ETag": '"1"'})
    edgar.pages[build_document_path(APPLE, accession)] = Page(full_submission(accession, form="10-K"))
    load = Load(app, clock)
    load.run(["AAPL"])
    assert list_stored_accessions(app, APPLE) == ["320193"]
    assert ("reports", "filings", 1, 1) in load.moves
    assert {SUBMISSIONS_PATH, COMPANYFACTS_PATH, QUARTER} & set(edgar.paths) == set()
    edgar.requests.clear()
    Load(app, clock).run(["AAPL"])
    assert build_document_path(APPLE, accession) not in edgar.paths


def test_local_bulk_files_are_preferred_to_documents(
    make_app: Callable[..., App], edgar: FakeEdgar, clock: FixedClock, tmp_path: Path
) -> None:
    """A mirror of the bulk files has no documents of single companies."""
    for path in (TICKERS_PATH, SUBMISSIONS_PATH, COMPANYFACTS_PATH, QUARTER):
        file = tmp_path / "mirror" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(edgar.pages[path].body)
    app = make_app(base_url=str(tmp_path / "mirror"), data_dir=tmp_path)
    load = Load(app, clock)
    plan = load.run(["AAPL"])
    assert [bulk_file.name for bulk_file in plan.files] == ["submissions.zip", "companyfacts.zip", "2025q4.zip"]
    assert list_stored_accessions(app, APPLE) == ["320193"]
    assert edgar.paths == []


def test_company_without_list_or_facts_is_reported(
    app: App, edgar: FakeEdgar, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_COMPANIES_WITHOUT_BULK_FILES", 1)
    load = Load(app, clock)
    load.run(["AAPL"])
    assert [(outcome.outcome, outcome.reason) for outcome in load.outcomes if outcome.path != TICKERS_PATH[7:]] == [
        ("skipped", "does not exist")
    ]


def test_every_load_reports_the_missing_reports_of_its_companies(
    app: App, edgar: FakeEdgar, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loading, "MAX_COMPANIES_WITHOUT_BULK_FILES", 1)
    accession = "0000320193-26-000001"
    edgar.pages[f"/submissions/CIK{APPLE:010}.json"] = Page(build_submissions(APPLE, accession))
    edgar.pages[f"/submissions/CIK{GOLDMAN:010}.json"] = Page(build_submissions(GOLDMAN))

    def load_reports(ticker: str) -> list[tuple[str, str, str | None]]:
        load = Load(app, clock)
        load.run([ticker])
        return [
            (outcome.path, outcome.outcome, outcome.reason)
            for outcome in load.outcomes
            if outcome.kind == "full-submission"
        ]

    caplog.set_level(logging.INFO, "finapi.poller")
    next_try = "10-K: does not exist; a load or poll after 2026-01-31 12:01 UTC tries again"
    assert load_reports("AAPL") == [(accession, "refused", next_try)]
    assert load_reports("AAPL") == [(accession, "refused", next_try)]
    assert load_reports("GS") == []
    for seconds in fetch_queue.RETRY_SECONDS:
        clock.advance(seconds=seconds)
        last_outcomes = load_reports("AAPL")
    given_up = f"10-K: does not exist; it is not tried again; to try: finapi documents retry {accession}"
    assert last_outcomes == [(accession, "refused", given_up)]
    assert caplog.records == []
    edgar.pages[build_document_path(APPLE, accession)] = Page(full_submission(accession, form="10-K"))
    assert fetch_queue.retry_documents(app, [accession], clock.now()) == [1]
    assert load_reports("AAPL") == [("reports", "ingested", "1 report")]
    assert load_reports("AAPL") == []


def test_quarters_are_those_that_ended() -> None:
    now = datetime(2026, 2, 1, tzinfo=UTC)
    names = [path.rpartition("/")[2] for path in loading.list_data_set_paths(now, 1)]
    assert names == ["2025q4.zip", "2025q3.zip", "2025q2.zip", "2025q1.zip"]
    assert len(loading.list_data_set_paths(now, 10)) == 40
    assert loading.list_data_set_paths(now, 40)[-1].endswith("/2009q1.zip")


# ---- one zip of a million


def test_only_accepted_zip_members_are_read(tmp_path: Path, app: App) -> None:
    file = tmp_path / "submissions.zip"
    file.write_bytes(build_zip({f"CIK{cik:010}.json": build_submissions(cik) for cik in range(1, 3000)}))
    outcomes: list[Outcome] = []
    ingest.run(app, [file], IngestOptions(only_ciks=frozenset({7, 2999, 5000})), outcomes.append)
    assert [outcome.path.rpartition("!")[2] for outcome in outcomes] == ["CIK0000000007.json", "CIK0000002999.json"]
    assert {outcome.outcome for outcome in outcomes} == {"ingested"}


@pytest.mark.parametrize("damage", ["list", "end", "local"])
def test_damaged_zip_directory_is_refused(tmp_path: Path, app: App, damage: str) -> None:
    file, data = tmp_path / "companyfacts.zip", bytearray(build_zip({f"CIK{APPLE:010}.json": figures(APPLE)}))
    at = {"list": data.index(b"PK\1\2"), "end": data.index(b"PK\5\6") + 16, "local": 0}[damage]
    data[at : at + 2] = b"\xff\xff"
    file.write_bytes(data)
    outcomes: list[Outcome] = []
    ingest.run(app, [file], IngestOptions(only_ciks=frozenset({APPLE})), outcomes.append)
    assert [outcome.outcome for outcome in outcomes] == ["refused"]


def test_64_bit_numbers_are_read_from_zip_directory(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("x")
    info.file_size, info.compress_size, info.header_offset = 0xFFFFFFFF, 5, 0xFFFFFFFF
    sources._set_64_bit_numbers(
        info, b"\x09\0\2\0ab\1\0\x10\0" + (2**33).to_bytes(8, "little") + (2**34).to_bytes(8, "little")
    )
    assert (info.file_size, info.compress_size, info.header_offset) == (2**33, 5, 2**34)


# ---- the verbs


def base(edgar: FakeEdgar) -> tuple[str, ...]:
    return "--user-agent", AGENT, "--base-url", edgar.url, "--edgar-per-second", "1000"  # type: ignore[attr-defined]


@pytest.mark.slow
def test_dry_run_prints_estimate_and_stores_nothing(edgar: FakeEdgar, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("AAPL, GS # two\n\nNOSUCH\n")
    data = ("--data-dir", tmp_path / "data")
    done = finapi("load", "--companies", tmp_path / "list", "--years", "2", "--dry-run", "--json", *base(edgar), *data)
    assert done.status == 1
    assert done.json == {
        "companies": 2,
        "unknown": ["NOSUCH"],
        "not_there": [],
        "files": 0,
        "requests": 22,
        "bytes": 32_000_000,
        "reports": 16,
        "seconds": 8,
    }
    assert "finapi: NOSUCH: no company with this ticker or CIK is known\n" in done.err
    assert edgar.paths == [TICKERS_PATH]


def test_dry_run_reports_unreachable_host(tmp_path: Path) -> None:
    words = ("load", "AAPL", "--dry-run", "--user-agent", AGENT, "--base-url", "http://127.0.0.1:1")
    done = finapi(*words, "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert done.complaint == ("EDGAR does not answer: cannot be reached: Connection refused; try again in 30 s")


@pytest.mark.parametrize(("dry", "seconds"), [(False, 600.0), (True, 15.0)])
def test_load_prints_waits(dry: bool, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    lines: list[tuple[str, str]] = []
    monkeypatch.setattr("finapi.verbs.load_verb.wait_with_progress", lambda seconds, say: waits.append(seconds))
    say = lambda stream, text: lines.append((stream, text))  # noqa: E731
    _build_wait(argparse.Namespace(dry_run=dry), ProgressBar(say), say)(seconds, "it answered 429")
    assert waits == [seconds]
    again = format_duration(seconds)
    assert lines == [
        ("progress", ""),
        ("err", f"finapi: EDGAR does not answer: it answered 429; the next try is in {again}"),
    ]


@pytest.mark.slow
def test_dry_run_reports_missing_files(edgar: FakeEdgar, tmp_path: Path) -> None:
    edgar.pages.clear()
    words = ("load", "--companies", "top:60", "--years", "1", "--dry-run")
    edgar.pages[TICKERS_PATH] = Page(
        json.dumps({str(n): {"cik_str": n + 1, "ticker": f"T{n}", "title": "T"} for n in range(60)}).encode()
    )
    done = finapi(*words, *base(edgar), "--data-dir", tmp_path / "data")
    assert (done.status, done.out) == (0, "60 companies: everything else is loaded\n")
    assert done.err.startswith(
        f"finapi: EDGAR does not have {SUBMISSIONS_PATH}, {COMPANYFACTS_PATH}, /files/dera/data/"
    )
    assert done.err.endswith(" more files\n")


@pytest.mark.slow
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_unknown_companies_are_not_reported_as_loaded(edgar: FakeEdgar, tmp_path: Path, dry: tuple[str, ...]) -> None:
    done = finapi("load", "NOSUCH", *dry, *base(edgar), "--data-dir", tmp_path / "data")
    assert (done.status, done.out.splitlines()[0]) == (1, "0 companies: there is nothing to load")
    assert done.err.endswith("finapi: NOSUCH: no company with this ticker or CIK is known\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("load",), "give companies, or --companies FILE, or --companies top:500"),
        (("load", "AAPL"), "EDGAR requires a contact address: --user-agent 'Your Name name@example.com'"),
        (("load", "AAPL", "--years", "0"), "--years: must be from 1 to 40"),
        (("load", "--companies", "top:0"), "top:0: No such file or directory"),
        (("load", "top:500"), "top:500 is not a company: did you mean --companies top:500?"),
        (("follow", "add", "--file", "/"), "/: Is a directory"),
        (("ingest", "x", "--only", "followed"), "--only: no company is followed"),
    ],
)
def test_load_that_cannot_start_prints_one_line(tmp_path: Path, words: tuple[str, ...], complaint: str) -> None:
    assert finapi("ingest", "/dev/null", "--data-dir", tmp_path).status == 1
    done = finapi(*words, "--data-dir", tmp_path)
    assert done.status == 2
    assert done.complaint.endswith(complaint)


@pytest.mark.slow
def test_unknown_companies_are_named_and_others_followed(edgar: FakeEdgar, tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    file = tmp_path / "in" / "company_tickers.json"
    file.parent.mkdir()
    file.write_bytes(TICKER_LIST)
    finapi("ingest", file, *data)
    (tmp_path / "list").write_text("GS\nBOGUS\n")
    done = finapi("follow", "add", "AAPL", "NOSUCH", "--file", tmp_path / "list", *data)
    assert done.out == "AAPL (CIK 0000320193) is followed\nGS (CIK 0000886982) is followed\n"
    assert done.err == "".join(
        f"finapi: {name}: no company with this ticker or CIK is known; "
        f"finapi load {name} loads it if the SEC lists it\n"
        for name in ("NOSUCH", "BOGUS")
    )
    assert done.status == 1
    again = finapi("follow", "add", "AAPL", "--json", *data)
    assert (again.status, again.json) == (
        0,
        {"companies": [{"name": "AAPL", "cik": "0000320193", "changed": False}], "unknown": []},
    )
    # A quarter narrowed to them.
    (tmp_path / "q.zip").write_bytes(edgar.pages[QUARTER].body)
    done = finapi("ingest", tmp_path / "q.zip", "--only", "followed", "--json", *data)
    assert done.json["files"][0]["reason"] == "1 filing: 1 ingested, 0 stored already"
    (tmp_path / "list").write_text("AAPL")
    done = finapi("ingest", tmp_path / "q.zip", "--only", tmp_path / "list", "--json", *data)
    assert done.json["files"][0]["reason"] == "0 filings: 0 ingested, 0 stored already"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "expected_output"),
    [
        (signal.SIGKILL, -signal.SIGKILL, b""),
        (
            signal.SIGTERM,
            143,
            b"finapi: cut off; fetched and stored files are kept, and the same command goes on from there\n",
        ),
    ],
)
def test_killed_load_can_be_resumed(
    edgar: FakeEdgar, tmp_path: Path, number: int, status: int, expected_output: bytes
) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    accessions = [f"0000320193-26-{number:06}" for number in range(1, 21)]
    edgar.pages[f"/submissions/CIK{APPLE:010}.json"] = Page(build_submissions(APPLE, *accessions))
    edgar.pages[f"/api/xbrl/companyfacts/CIK{APPLE:010}.json"] = Page(figures(APPLE))
    for accession in accessions:
        edgar.pages[build_document_path(APPLE, accession)] = Page(full_submission(accession, form="10-K"))
    words = ["load", "AAPL", *base(edgar)[:4], "--edgar-per-second", "20", *data]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    first = subprocess.Popen([*COMMAND, *words], cwd=ROOT, env=environment(), **pipes)
    eventually(lambda: len(edgar.requests) > 8)
    first.send_signal(number)
    assert (first.communicate()[1], first.returncode) == (expected_output, status)
    fetched = [path for path in edgar.paths if path.endswith(".txt")]
    done = finapi(*words, "--json")
    assert (done.status, done.json["counts"]["refused"]) == (0, 0)
    paths = [path for path in edgar.paths if path.endswith(".txt")]
    assert set(paths) == {build_document_path(APPLE, accession) for accession in accessions}
    # The one that was under way at the kill, if any.
    assert len(paths) <= len(accessions) + 1
    assert fetched
    assert os.listdir(tmp_path / "data").count("load") == 0
