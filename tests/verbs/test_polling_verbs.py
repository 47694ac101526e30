"""Tests of poll and follow on the command line, with and without a running server. Slow: a process each time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.market.intake.poller import build_document_path
from finapi.ops.app_opening import open_app
from tests.process import finapi, serve
from tests.support.edgar_server import AGENT, Page, entry, fake_edgar, feed, ownership_submission

pytestmark = pytest.mark.slow

ACCESSION = "0000320193-26-000001"


def test_companies_are_followed_and_polled_for(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    assert finapi("poll", *data).complaint.startswith("EDGAR requires a contact address")
    assert finapi("follow", "add", "NOSUCH", *data).complaint == (
        "NOSUCH: no company with this ticker or CIK is known; finapi load NOSUCH loads it if the SEC lists it"
    )
    assert finapi("follow", "add", "320193", *data).out == "320193 (CIK 0000320193) is followed\n"
    assert finapi("follow", "add", "320193", *data).out == "320193 (CIK 0000320193) is followed already\n"
    with fake_edgar() as (edgar, edgar_settings):
        edgar.feed[0] = Page(feed(entry(ACCESSION)))
        settings = ("--user-agent", AGENT, "--base-url", f"http://127.0.0.1:{edgar_settings.port}")
        done = finapi("poll", "--json", *settings, *data)
        assert (done.status, done.json) == (
            0,
            {"filings": 1, "documents": 0, "refused": 0, "put_off": 1, "problems": [], "given_up": []},
        )
        assert [received.headers["user-agent"] for received in edgar.requests] == [AGENT] * len(edgar.requests)
        edgar.always = Page(b"", 503)
        refused = finapi("poll", *settings, *data)
        assert refused.status == 1
        assert "it answered 503" in refused.err
    companies = finapi("follow", "list", "--json", *data).json["companies"]
    assert [(row["cik"], row["name"]) for row in companies] == [("0000320193", "Apple Inc.")]
    assert finapi("follow", "drop", "320193", *data).out == "320193 (CIK 0000320193) is followed no more\n"


def test_abandoned_documents_are_listed_and_requested_again(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    with fake_edgar() as (edgar, edgar_settings):
        edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
        settings = ("--user-agent", AGENT, "--base-url", f"http://127.0.0.1:{edgar_settings.port}")
        polled = finapi("poll", *settings, *data)
        assert polled.out == "1 new filing, 0 documents stored, 0 refused, 1 put off\n"
        (document,) = finapi("documents", "list", "--json", *data).json["documents"]
        assert (document["accession"], document["state"], document["tries"]) == (ACCESSION, "put_off", 1)
        assert finapi("documents", "list", *data).out.rstrip().endswith("1      does not exist")
        assert finapi("documents", "retry", ACCESSION, *data).out == "1 document is fetched again\n"
        assert finapi("documents", "list", "--json", *data).json["documents"] == []
        finapi("poll", *settings, *data)
        assert edgar.paths.count(build_document_path(320193, ACCESSION)) == 2
    other = finapi("documents", "retry", "0000320193-26-000009", *data)
    assert (other.status, other.err) == (1, "finapi: 0000320193-26-000009 is not in finapi documents list\n")
    assert finapi("documents", "retry", "--all", *data).out == "1 document is fetched again\n"
    assert finapi("documents", "retry", "x", *data).complaint.startswith("'x' is not an accession number")
    assert finapi("documents", "retry", *data).complaint == "give accession numbers or --all"
    assert finapi("documents", "retry", "--all", ACCESSION, *data).status == 2


def test_poll_reports_what_it_gave_up_with_status_1(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    with fake_edgar() as (edgar, edgar_settings):
        edgar.feed[0] = Page(feed(entry(ACCESSION, form="4")))
        form = ownership_submission(ACCESSION, b"<ownershipDocument><broken>", issuer=1234567, owner=101)
        edgar.pages[build_document_path(320193, ACCESSION)] = Page(form)
        settings = ("--user-agent", AGENT, "--base-url", f"http://127.0.0.1:{edgar_settings.port}")
        polled = finapi("poll", *settings, *data)
        assert (polled.status, polled.out) == (1, "1 new filing, 0 documents stored, 1 refused\n")
        reason = "form4.xml: line 1, column 28: no element found; the filing is stored without it"
        assert f"finapi: gave up on {ACCESSION}: {reason}" in polled.err.splitlines()
        (document,) = finapi("documents", "list", "--json", *data).json["documents"]
        assert (document["accession"], document["state"], document["reason"]) == (ACCESSION, "given_up", reason)
        assert finapi("poll", *settings, *data).status == 0
        edgar.feed[0] = Page(b"", 404)
        missing = finapi("poll", *settings, *data)
        assert missing.status == 1
        assert "the feed of new filings does not exist: answered 404" in missing.err


def test_a_recording_is_played_into_a_running_server(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "getcurrent_20260131T060000_start0.atom").write_bytes(feed(entry(ACCESSION)))
    with serve(tmp_path / "data"):
        data = ("--data-dir", tmp_path / "data")
        played = finapi("poll", "--replay", folder, *data)
        assert played.out == "1 new filing, 0 documents stored, 0 refused\n", played
        forwarded = finapi("poll", "--every", "60", *data)
        assert forwarded.complaint == "a running server does its own polling; start it with --poll-every SECONDS"
        assert finapi("poll", "--replay", tmp_path, *data).status == 2


def test_news_that_cannot_be_told_are_listed_and_tried_again(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data = ("--data-dir", data_dir)
    with open_app(Config(data_dir=data_dir)):
        pass
    with closing(sqlite3.connect(data_dir / "finapi.db")) as db, db:
        for number, ciks, aside in ((1, "x", 1), (2, "320193", 1), (3, "x", 0)):
            db.execute(
                "INSERT INTO outbox (accession, type, subject, occurred_at, tickers, ciks, data, noted_at, tries,"
                " aside) VALUES (?, 'sniper.filing_hit', '', '2026-01-31', '', ?, '', ?, ?, ?)",
                # Of today: a server forgets what is old.
                (f"{ACCESSION[:-1]}{number}", ciks, iso(datetime.now(UTC)), 5 * aside, aside),
            )
    wrong = "ValueError: invalid literal for int() with base 10: 'x'"
    outbox_rows = finapi("outbox", "list", "--json", *data).json["outbox"]
    assert [(row["id"], row["state"], row["tries"], row["reason"]) for row in outbox_rows] == [
        (1, "put_aside", 5, None),
        (2, "put_aside", 5, None),
        (3, "tried", 1, wrong),
    ]
    assert finapi("outbox", "retry", "2", "--json", *data).json == {"retried": 1, "failed": 0}
    done = finapi("outbox", "retry", "--all", *data)
    assert (done.status, done.out) == (1, "2 tried again, 2 of them failed again; see finapi outbox list\n")
    other = finapi("outbox", "retry", "2", *data)
    assert (other.status, other.out) == (1, "0 tried again\n")
    assert other.err.splitlines()[-1] == "finapi: 2 is not in finapi outbox list"
    nothing = finapi("outbox", "retry", *data)
    assert (nothing.status, nothing.err.splitlines()[-1]) == (
        2,
        "finapi: give numbers from finapi outbox list, or --all",
    )
    assert finapi("outbox", "retry", "--all", "1", *data).status == 2
    with serve(data_dir):
        output_lines = finapi("outbox", "list", *data).out.splitlines()
        assert output_lines[0].split() == ["ID", "STATE", "TYPE", "ACCESSION", "NOTED", "AT", "TRIES", "REASON"]
        assert [line.split()[0] for line in output_lines[1:]] == ["1", "3"]
        assert finapi("outbox", "retry", "1", *data).status == 1
    assert "outbox 1" in finapi("audit", *data).out
