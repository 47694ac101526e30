"""Full text search of stored documents: matches, their offsets and order, refused queries, limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi import app as apps
from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.market.documents import filing_store, metadata, submission_documents, text_index
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import text_search
from finapi.market.reference import companies
from finapi.ops import doctor
from finapi.store import db
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.market.documents.test_filing_store import FULL, run
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

PATH = "/api/v1/sec/filings/search"
LAMP, RIVER = 1750, 1751
PAGE = """<html><head><title>unseen</title></head><body><!-- unseen --><script>unseen()</script>
<ix:header><ix:hidden>unseen</ix:hidden></ix:header>
<p>The <b>R</b>ESTATED figures of <i>Estée</i> Lamp&nbsp;Corp</p><table><tr><td>Net</td><td>income</td></tr></table>
<p>A material weakness&#8212;found in 2024.</p></body></html>"""
PLAIN = "The RESTATED figures of Estée Lamp Corp\nNet income\nA material weakness\u2014found in 2024."


def store_text(
    app: App,
    cik: int,
    number: int,
    body: str,
    day: str | None,
    form: str = "8-K",
    media: str = "htm",
    *,
    has_name: bool = True,
) -> str:
    accession = f"{cik:010}-25-{number:06}"
    name = f"d{number}.{media}"
    party, document = Party(cik, 2, f"Company {cik}"), name if has_name else None
    filing = FilingMetadata(accession, metadata.HEADER_EVIDENCE, [party], form, day, primary_document=document)
    with app.db.write() as tx:
        stored = filing_store.upsert(tx, filing, app.clock.now())
        text = submission_documents.prepare_text(body.encode(), name, 10**6)
        submission_documents.insert_documents(
            tx, stored.id, [], text, max_stored_bytes=10**6, max_indexed_characters=app.config.documents_searched
        )
        tx.run("bump_data_version")
    return accession


@pytest.fixture
def find(app: App, client: Client, user: NewUser) -> Callable[..., Answer]:
    client.key = user.api_key
    with app.db.write() as tx:
        companies.upsert_name(tx, LAMP, "Lamp Corp", companies.FROM_COVER, "")
        companies.upsert_tickers(tx, LAMP, [("LMP", None)], companies.FROM_LIST)
    return lambda q, **query: client.get(PATH, query={"q": q, **query})


def accessions(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.json
    return [match["accession_number"][-6:] for match in answer.json["data"]]


def test_plain_text_is_the_visible_text() -> None:
    assert text_index.extract_plain_text(PAGE) == PLAIN


def test_match_has_offset_and_snippet(app: App, find: Callable[..., Answer]) -> None:
    accession = store_text(app, LAMP, 1, PAGE, "2025-02-01")
    answer = find('"material weakness"', limit=1)
    at = PLAIN.index("material weakness")
    folder = f"https://www.sec.gov/Archives/edgar/data/1750/{accession.replace('-', '')}"
    assert answer.json["data"] == [
        {
            "accession_number": accession,
            "cik": "0000001750",
            "ticker": "LMP",
            "company_name": "Lamp Corp",
            "form_type": "8-K",
            "filed_at": "2025-02-01",
            "document_url": f"{folder}/d1.htm",
            "place_url": f"{folder}/d1.htm#:~:text=material%20weakness",
            "snippet": " ".join(PLAIN.split()),
            "offset": at,
            "length": len("material weakness"),
            "text_length": len(PLAIN),
            # Only the text was stored, without a list of documents.
            "document_type": None,
            "document_name": None,
            "document_description": None,
            "is_primary": True,
            "content_url": f"/api/v1/sec/filings/{accession}/html",
        }
    ]
    assert answer.json["meta"] == {
        "query": '"material weakness"',
        "documents_kept": 1,
        "documents_searched": 1,
        "total": 1,
        "total_exact": True,
        "limit": 1,
        "offset": 0,
        "has_more": False,
        "next_cursor": None,
        "from_date": None,
        "to_date": None,
        "undated_left_out": 0,
        "clamped": {},
    }
    assert answer.headers["x-tokens-charged"] == "10"


def test_unnamed_document_links_to_full_submission(app: App, find: Callable[..., Answer]) -> None:
    accession = store_text(app, LAMP, 1, PAGE, "1998-02-01", has_name=False)
    (row,) = find('"material weakness"').json["data"]
    url = f"https://www.sec.gov/Archives/edgar/data/1750/{accession}.txt"
    assert (row["document_url"], row["place_url"]) == (url, f"{url}#:~:text=material%20weakness")


def test_offset_counts_in_plain_text(app: App, client: Client, find: Callable[..., Answer]) -> None:
    accession = store_text(app, LAMP, 1, PAGE, "2025-02-01")
    (row,) = find("income").json["data"]
    query = {"plain": "true", "offset": row["offset"], "length": row["length"]}
    text = client.get(f"/api/v1/sec/filings/{accession}/html", query=query)
    assert (text.body.decode(), text.headers["content-type"]) == ("income", "text/plain; charset=utf-8")
    assert text.headers["x-total-characters"] == str(len(PLAIN)) == str(row["text_length"])


@run_each_case(
    "q, is_match",
    [
        ("restated", True),  # a letter in bold is of the word
        ("estee", True),  # without accents, as with them
        ("ESTÉE", True),
        ("lamp corp", True),
        ('"corp lamp"', False),
        ("net weakness", True),
        ('"net income"', True),
        ("weakness found", True),
        ("unseen", False),  # title, comment, script, hidden facts
        ("mat*", True),
        ('"material wea*"', True),
        ("lamp -corp", False),
        ("lamp -river", True),
        ("income OR", False),  # no operator: a word like any other
        ("NEAR(net income)", False),
        ("text:income", False),
        ("p td br", False),
    ],
)
def test_words_that_match(app: App, find: Callable[..., Answer], q: str, is_match: bool) -> None:
    store_text(app, LAMP, 1, PAGE, "2025-02-01")
    assert bool(accessions(find(q))) is is_match


@run_each_case(
    "q",
    ['"', 'a "b', "-lamp", "&", "a*", "ab*", " ".join(f"w{n}" for n in range(17)), "abc* abd* abe*", "*", '""'],
)
def test_invalid_or_expensive_query_is_refused(find: Callable[..., Answer], q: str) -> None:
    answer = find(q)
    assert (*answer.verdict[:2], answer.json["details"]["param"]) == (400, "INVALID_PARAM", "q")


def test_ten_thousand_words_are_refused(find: Callable[..., Answer]) -> None:
    assert find("lamp " * 10_000).verdict[:2] in {(400, "INVALID_PARAM"), (414, "URI_TOO_LONG")}


@given(st.text(alphabet='ab"*-():^ANDORNOT{}+,. \u00e9\u4e2d', max_size=30))
def test_no_query_breaks_the_words_of_fts5(text: str) -> None:
    try:
        query = text_search.parse_query(text)
    except ApiError as error:
        refused = error
    else:
        scope = text_search.TextScope(None, (), None, None)
        with closing(db.Database(None)) as empty, empty.read() as tx:
            assert text_search.search_texts(tx, query, scope, 10, None).rows == []
        return
    assert refused.code == "INVALID_PARAM"


FILED = (
    (1, LAMP, "2025-02-01", "8-K"),
    (2, RIVER, "2025-03-01", "10-K"),
    (3, LAMP, "2024-12-31", "10-K"),
    (4, LAMP, None, "8-K"),
    (5, RIVER, "2025-03-01", "8-K"),
)


@pytest.fixture
def filed(app: App, find: Callable[..., Answer]) -> Callable[..., Answer]:
    for number, cik, day, form in FILED:
        store_text(app, cik, number, f"<p>every lamp, number {number}</p>", day, form)
    return find


def test_matches_are_newest_first_and_paged(filed: Callable[..., Answer]) -> None:
    expected = ["000005", "000002", "000001", "000003", "000004"]
    assert accessions(filed("lamp")) == expected
    for size in (1, 2, 4, 5):
        walked: list[str] = []
        answer = filed("lamp", limit=size)
        while True:
            walked += accessions(answer)
            assert (answer.json["meta"]["total"], answer.json["meta"]["total_exact"]) == (5, True)
            if not answer.json["meta"]["has_more"]:
                break
            answer = filed("lamp", limit=size, cursor=answer.json["meta"]["next_cursor"])
        assert walked == expected
    assert accessions(filed("lamp", limit=2, offset=3)) == expected[3:]


@run_each_case(
    "query, expected, left_out",
    [
        ({"ticker": "LMP"}, ["000001", "000003", "000004"], 0),
        ({"cik": "1751", "form_type": "10-K"}, ["000002"], 0),
        ({"from_date": "2025-02-01"}, ["000005", "000002", "000001"], 1),
        ({"to_date": "2025-02-01"}, ["000001", "000003"], 1),
        ({"from_date": "2025-02-01", "to_date": "2025-02-01", "form_type": "10-K"}, [], 0),
        ({"to_date": "2024-12-31", "cursor": "999999999999999999"}, ["000003"], 1),
    ],
)
def test_filters_of_a_search(filed: Callable[..., Answer], query: Any, expected: Any, left_out: int) -> None:
    answer = filed("lamp", **query)
    assert (accessions(answer), answer.json["meta"]["total"]) == (expected, len(expected))
    assert answer.json["meta"]["undated_left_out"] == left_out


def test_words_move_to_the_day_that_becomes_known(app: App, filed: Callable[..., Answer]) -> None:
    filing = FilingMetadata(f"{LAMP:010}-25-000004", metadata.HEADER_EVIDENCE, [Party(LAMP, 2)], "8-K", "2025-06-01")
    with app.db.write() as tx:
        filing_store.upsert(tx, filing, app.clock.now())
        tx.run("bump_data_version")
    assert accessions(filed("lamp")) == ["000004", "000005", "000002", "000001", "000003"]
    assert accessions(filed('"number 4"', from_date="2025-06-01")) == ["000004"]


def test_deleted_document_is_not_found(app: App, filed: Callable[..., Answer]) -> None:
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM filing_bodies WHERE filing_id = (SELECT max(id) FROM filings)")
        tx.run("bump_data_version")
    answer = filed("lamp")
    assert accessions(answer) == ["000002", "000001", "000003", "000004"]
    assert (answer.json["meta"]["documents_kept"], answer.json["meta"]["documents_searched"]) == (4, 4)


def test_meta_counts_documents_that_are_not_searched(make_app: Callable[..., App]) -> None:
    app = make_app(documents_searched=30)
    for number in (1, 2):
        store_text(app, LAMP, number, "<p>twenty letters are here</p>", "2025-02-01")
    with app.db.read() as tx:
        assert text_search.get_text_counts(tx) == (2, 1)


def test_a_refused_submission_leaves_no_words(app: App, tmp_path: Path) -> None:
    file = tmp_path / "full.txt"
    file.write_bytes(FULL[:-60])
    assert [outcome.outcome for outcome in run(app, file)] == ["refused"]
    with app.db.read() as tx:
        assert text_search.get_text_counts(tx) == (0, 0)


def test_an_ingested_submission_is_found_by_its_text(app: App, find: Callable[..., Answer], tmp_path: Path) -> None:
    file = tmp_path / "full.txt"
    file.write_bytes(FULL)
    run(app, file)
    (row,) = find("lamps cafe").json["data"]
    assert (row["accession_number"], row["snippet"]) == ("0000001750-98-000077", "Lamps café went on.")


def test_older_documents_are_indexed_in_steps(
    app: App, filed: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with app.db.write() as tx:
        for row in run_sql(tx, "SELECT place, packed FROM filing_texts").fetchall():
            tx.run(
                "delete_words", place=row["place"], text=text_index.fold_text(text_index.decompress_text(row["packed"]))
            )
        run_sql(tx, "DELETE FROM filing_texts")
        # One of them is damaged, and keeps none of the others out.
        run_sql(tx, "UPDATE filing_bodies SET packed = x'00' WHERE filing_id = 1")
        tx.run("bump_data_version")
    assert accessions(filed("lamp")) == []
    assert filed("lamp").json["meta"]["documents_searched"] == 0
    monkeypatch.setattr(submission_documents, "MAX_STEP_DOCUMENTS", 3)
    assert submission_documents.run_text_index_step(app) == 0.0
    assert accessions(filed("lamp")) == ["000002", "000003", "000004"]
    assert submission_documents.run_text_index_step(app) is None
    assert accessions(filed("lamp")) == ["000005", "000002", "000003", "000004"]
    assert submission_documents.run_text_index_step(app) is None


def test_search_without_fts5_is_501(app: App, find: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "has_full_text", lambda: False)
    monkeypatch.setattr(text_search, "has_full_text", lambda: False)
    monkeypatch.setattr(submission_documents, "has_full_text", lambda: False)
    store_text(app, LAMP, 1, PAGE, "2025-02-01")
    assert submission_documents.run_text_index_step(app) is None
    answer = find("lamp")
    assert answer.verdict[:2] == (501, "NOT_IMPLEMENTED")
    assert "FTS5" in answer.json["message"]
    monkeypatch.undo()
    # With another SQLite it is indexed then.
    assert submission_documents.run_text_index_step(app) is None
    assert accessions(find("lamp", limit=5)) == ["000001"]


def test_doctor_reports_full_text_search(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> list[tuple[str, str]]:
        findings = doctor.list_findings(Config(data_dir=tmp_path, base_url=str(tmp_path)), clock)
        return [(finding["state"], finding["found"]) for finding in findings if "FTS5" in finding["found"]]

    assert said() == [("ok", "SQLite has FTS5 for full text search")]
    monkeypatch.setattr(doctor, "has_full_text", lambda: False)
    assert said() == [("warning", "SQLite has no FTS5: full text search answers 501")]


def test_words_survive_a_restart_and_a_kill(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path)
    app = apps.open_on_disk(config, FixedClock(NOW))
    store_text(app, LAMP, 1, PAGE, "2025-02-01")
    app.db.close()
    app = apps.open_on_disk(config, FixedClock(NOW))
    with app.db.read() as tx:
        scope = text_search.TextScope(None, (), None, None)
        page = text_search.search_texts(tx, text_search.parse_query("restated"), scope, 10, None)
    assert [match["offset"] for match in page.rows] == [PLAIN.index("RESTATED")]
    assert app.db.list_integrity_errors() == []
    app.db.close()


@run_each_case(
    "hostile", ["<" * 10**6, "<!--" * 250_000, "<script>" * 100_000, "<a " * 300_000, "&" * 10**6, "a<b " * 250_000]
)
def test_hostile_html_takes_linear_time(hostile: str) -> None:
    assert len(json.dumps(text_index.extract_plain_text(hostile))) < 8 * len(hostile)
