"""Full submissions of which a part cannot be read: the filing, its documents and its text are stored without it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from finapi.app import App
from finapi.market.documents import submission_documents
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import fetch_queue, ingest
from tests.support import ownership_xml, schedule_xml, submission_texts
from tests.support.case_tables import run_each_case

ACCESSION = "0001234567-26-000001"
PAGE = "<html><body>The prospectus of Brook Lamps.</body></html>"
FILER = submission_texts.party("FILER", "BROOK LAMPS INC", "0001234567")
NO_PERIOD = "dei:DocumentPeriodEndDate: the period of the report is missing"


def build_instance(form: str, extra: str = "") -> bytes:
    """Return the XBRL instance of a document that is not a report of a period."""
    return f"""<?xml version="1.0" encoding="US-ASCII"?>
<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:dei="http://xbrl.sec.gov/dei/2024">
<context id="c"><entity><identifier scheme="http://www.sec.gov/CIK">0001234567</identifier></entity>
<period><startDate>2026-01-30</startDate><endDate>2026-01-30</endDate></period></context>
<dei:EntityCentralIndexKey contextRef="c">0001234567</dei:EntityCentralIndexKey>
<dei:DocumentType contextRef="c">{form}</dei:DocumentType>{extra}
</xbrl>""".encode()


def ingest_submission(
    app: App, tmp_path: Path, form: str, *documents: str, parties: str = FILER, accession: str | None = None
) -> list[Outcome]:
    file = tmp_path / f"{ACCESSION}.txt"
    file.write_bytes(submission_texts.full(ACCESSION, form, parties, *documents))
    outcomes: list[Outcome] = []
    ingest.run(app, [file], IngestOptions(accession=accession), outcomes.append)
    return outcomes


def read_text(app: App) -> bytes | None:
    with app.db.read() as tx:
        text = submission_documents.find_primary_text(tx, ACCESSION)
    return None if text is None else text.body


@pytest.mark.parametrize("form", ["424B5", "S-3ASR", "DEF 14A", "S-8"])
def test_xbrl_without_a_period_is_skipped(app: App, tmp_path: Path, form: str) -> None:
    page = submission_texts.text(form, "main.htm", PAGE)
    exhibit = submission_texts.xml("EX-FILING FEES", "fees_htm.xml", build_instance(form), 2)
    stored, skipped = ingest_submission(app, tmp_path, form, page, exhibit)
    assert (stored.outcome, stored.kind, stored.accession, stored.reason) == (
        "ingested",
        "full-submission",
        ACCESSION,
        None,
    )
    assert (skipped.outcome, skipped.kind, skipped.reason) == (
        "skipped",
        "xbrl-instance",
        f"fees_htm.xml: {NO_PERIOD}",
    )
    assert read_text(app) == PAGE.encode()
    assert [outcome.outcome for outcome in ingest_submission(app, tmp_path, form, page, exhibit)] == [
        "unchanged",
        "skipped",
    ]


@pytest.mark.parametrize(
    ("part", "kind", "reason"),
    [
        (
            submission_texts.xml("EX-101.INS", "x.xml", build_instance("S-1", "</dei:Broken>"), 2),
            "xbrl-instance",
            "x.xml: line 6, column 58: mismatched tag",
        ),
        (
            submission_texts.text("EX-99", "x.pdf", "begin 644 x.pdf\n#8\x7f)C\n`\nend", 2),
            "empty",
            "x.pdf: document 2: uuencoded line 2: Illegal char",
        ),
        (submission_texts.text("EX-101.INS", "x.xml", "<XML>\n<xbrl/>", 2), "empty", "x.xml: document 2: no </XML>"),
    ],
)
def test_damaged_part_is_refused_and_the_filing_stored(
    app: App, tmp_path: Path, part: str, kind: str, reason: str
) -> None:
    stored, refused = ingest_submission(app, tmp_path, "S-1", submission_texts.text("S-1", "main.htm", PAGE), part)
    assert (stored.outcome, stored.accession) == ("ingested", ACCESSION)
    message = f"{reason}; the filing is stored without it"
    assert (refused.outcome, refused.kind, refused.reason) == ("refused", kind, message)
    assert read_text(app) == PAGE.encode()
    with app.db.read() as tx:
        assert [row["reason"] for row in fetch_queue.list_refused_files(tx, 10)] == [message]


def test_refused_part_is_forgotten_when_it_can_be_read(app: App, tmp_path: Path) -> None:
    document = ownership_xml.form(ownership_xml.transaction())
    issuer = submission_texts.party("ISSUER", "BROOK LAMPS INC", "0001234567")
    owner = submission_texts.party("REPORTING-OWNER", "LAMP ANN", "0000000101", data="OWNER DATA")
    parties = f"{owner}{submission_texts.values('4')}\n{issuer}"
    broken = submission_texts.xml("4", "form4.xml", document[: len(document) // 2])
    outcomes = ingest_submission(app, tmp_path, "4", broken, parties=parties)
    assert [outcome.outcome for outcome in outcomes] == ["ingested", "refused"]
    complete = submission_texts.xml("4", "form4.xml", document)
    outcomes = ingest_submission(app, tmp_path, "4", complete, parties=parties)
    assert [outcome.outcome for outcome in outcomes] == ["ingested"]
    with app.db.read() as tx:
        assert fetch_queue.list_refused_files(tx, 10) == []


def test_cut_off_submission_is_refused_completely(app: App, tmp_path: Path) -> None:
    page = submission_texts.text("S-1", "main.htm", PAGE).replace("</TEXT>\n</DOCUMENT>\n", "")
    (refused,) = ingest_submission(app, tmp_path, "S-1", page)
    assert (refused.outcome, refused.reason) == ("refused", "document 1: cut off: no <TEXT> or no </TEXT></DOCUMENT>")
    assert read_text(app) is None


def test_option_that_contradicts_the_header_is_refused(app: App, tmp_path: Path) -> None:
    other = "0001234567-26-000002"
    page = submission_texts.text("S-1", "main.htm", PAGE)
    (refused,) = ingest_submission(app, tmp_path, "S-1", page, accession=other)
    assert (refused.outcome, refused.reason) == ("refused", f"its header says {ACCESSION}, --accession says {other}")


def test_schedule_with_a_damaged_end_tag_is_read(app: App, tmp_path: Path) -> None:
    document = schedule_xml.g().rstrip()
    root_end = document[document.rindex(b"</") :]
    for number, damaged in enumerate((document[:-1], document[: -len(root_end)] + root_end[:8]), 1):
        accession = f"0000000103-24-{number:06}"
        file = tmp_path / f"{accession}.txt"
        submission = schedule_xml.submission(accession, damaged, "SCHEDULE 13G", subject=1234567, filer=103)
        file.write_bytes(submission)
        outcomes: list[Outcome] = []
        ingest.run(app, [file], IngestOptions(), outcomes.append)
        (outcome,) = outcomes
        assert outcome.outcome == "ingested"
        assert outcome.reason is not None
        line_number = document.count(b"\n") + 1
        written = damaged[damaged.rindex(b"</") :].decode()
        repair = f"line {line_number}: the end tag {written} is read as {root_end.decode()}"
        assert outcome.reason.startswith(f"primary_doc.xml: {repair}")
        with app.db.read() as tx:
            assert len(tx.list_rows("stored_schedules", accession=accession, content=b"")) == 1


@pytest.mark.parametrize(
    ("page", "text", "unclosed_count"),
    [
        ("<html><!-- Page 1 ><p>Revenue rose.</p></html>", "Revenue rose.", 1),
        ("<html><!-- <p>Revenue rose.</p></html>", "Revenue rose.", 1),
        (
            "<html><p>Revenue</p><!-- Page 1 ><p>rose.</p><!-- Page 2 --><p>Costs fell.</p></html>",
            "Revenue\nrose.\nCosts fell.",
            1,
        ),
        ("<html><!-- Page 1 --><p>Revenue rose.</p><!-- end --></html>", "Revenue rose.", 0),
        ("<html><!-- <p>hidden</p> --><p>Revenue rose.</p></html>", "Revenue rose.", 0),
        ("<html><!-- a > b --><p>Revenue rose.</p></html>", "Revenue rose.", 0),
        ("<html><!--><p>Revenue rose.</p><!-- x --></html>", "Revenue rose.", 0),
        ("<html><!--[if !IE]><!--><p>Revenue rose.</p><!--<![endif]--></html>", "Revenue rose.", 0),
        ("<html><p>Revenue rose.</p><!--</html>", "Revenue rose.", 1),
    ],
)
def test_text_after_an_unclosed_comment_is_read(
    app: App, tmp_path: Path, page: str, text: str, unclosed_count: int
) -> None:
    (outcome,) = ingest_submission(app, tmp_path, "8-K", submission_texts.text("8-K", "main.htm", page))
    note = "main.htm: 1 comment has no end, and the text that follows is read"
    assert (outcome.outcome, outcome.reason) == ("ingested", note if unclosed_count else None)
    with app.db.read() as tx:
        primary = submission_documents.find_primary_text(tx, ACCESSION)
    assert primary is not None
    assert primary.to_plain_text() == text


@pytest.mark.slow
@run_each_case("piece", ["<!--", "<!-- >", "<!-- x", "<!-- <p>", "<!---->", "</sty", "99999"])
def test_comments_and_tags_are_read_in_linear_time(piece: str) -> None:
    start = time.process_time()
    submission_documents.prepare_text(f"<html></a{piece * 50_000}".encode(), "a.htm", 10**7)
    assert time.process_time() - start < 5


def test_text_in_windows_1252_is_read() -> None:
    prepared = submission_documents.prepare_text("<html>\u201cfine\u201d \u20ac5".encode("cp1252"), "a.htm", 10**6)
    assert prepared is not None
    assert prepared.plain_text == "\u201cfine\u201d \u20ac5"


def test_broken_line_of_an_index_is_reported(app: App, tmp_path: Path) -> None:
    head = (
        "Description: Daily Index of EDGAR Dissemination Feed\n\nCIK|Company Name|Form Type|Date Filed|File Name\n"
        + "-" * 80
        + "\n"
    )
    file = tmp_path / "master.idx"
    file.write_text(f"{head}1750|LAMP\n1750|LAMP|8-K|2026-01-29|edgar/data/1750/0000001750-26-000001.txt\n")
    outcomes: list[Outcome] = []
    ingest.run(app, [file], IngestOptions(), outcomes.append)
    assert [(outcome.outcome, outcome.reason) for outcome in outcomes] == [
        ("ingested", "1 line is left out: line 5: is not five columns separated by bars")
    ]
    with app.db.read() as tx:
        assert tx.find_value("filing_id", accession="0000001750-26-000001") is not None


@pytest.mark.parametrize("reference", ["&#" + "9" * 5_000 + ";", "&#x" + "f" * 5_000])
def test_long_character_reference_does_not_refuse_a_page(reference: str) -> None:
    prepared = submission_documents.prepare_text(f"<html>a{reference} b &#8364;".encode(), "a.htm", 10**6)
    assert prepared is not None
    assert prepared.plain_text == "a\ufffd b \u20ac"
