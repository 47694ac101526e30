"""The page of the full text search."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from html import unescape

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.store.schema import has_full_text
from tests.client import Client
from tests.support.case_tables import run_each_case
from tests.support.html_pages import HTML, NOW, get_page
from tests.web.filings.test_text_search import LAMP, RIVER, store_text

PATH = "/filings/text"

needs_fts5 = pytest.mark.skipif(not has_full_text(), reason="this SQLite has no FTS5")


@pytest.fixture
def lamps() -> Iterator[App]:
    app = apps.create_in_memory(
        Config(pages="public", public_url="http://x", pages_per_minute=100_000), FixedClock(NOW)
    )
    yield app
    app.db.close()


@needs_fts5
def test_searched_words_are_marked_in_passages(lamps: App) -> None:
    first = store_text(lamps, LAMP, 1, "<p>We sell <b>one</b> lamp &amp; &lt;nothing&gt; else.</p>", "2025-01-10")
    store_text(lamps, RIVER, 2, "<p>A river.</p>", "2025-01-11")
    body = get_page(Client(lamps), f"{PATH}?q=%22one+lamp%22")
    assert "1 document found in 2 of 2 stored documents." in body
    assert "<p>We sell <mark>one lamp</mark> &amp; &lt;nothing&gt; else.</p>" in body
    assert f'<a href="/filing/{first}">8-K</a> of <a href="/company/0000001750">Company 1750</a>, 2025-01-10' in body
    assert "#:~:text=one%20lamp" in body
    assert "GET /api/v1/sec/filings/search?q=%22one+lamp%22&amp;limit=20" in body


@needs_fts5
def test_next_links_keep_the_filters_of_the_search(lamps: App) -> None:
    stored_numbers = {store_text(lamps, LAMP, n, f"<p>Lamp {n}</p>", f"2025-01-{n:02}") for n in range(1, 26)}
    client = Client(lamps)
    path = f"{PATH}?q=lamp&form_type=8-K&to_date=2025-02-01&from_date="
    accession_numbers: list[str] = []
    while path:
        body = get_page(client, path)
        accession_numbers += re.findall(r'href="/filing/([^"]+)"', body)
        next_link = re.search(r'<a href="([^"]+)" rel="next"', body)
        path = unescape(next_link[1]) if next_link else ""
    assert len(accession_numbers) == 25
    assert set(accession_numbers) == stored_numbers
    assert "0 documents found" in get_page(client, f"{PATH}?q=lamp&form_type=10-K")


@needs_fts5
def test_search_results_can_be_downloaded_as_csv(lamps: App) -> None:
    store_text(lamps, LAMP, 1, "<p>A lamp</p>", "2025-01-10")
    names, row = csv.reader(io.StringIO(Client(lamps).get(f"{PATH}?q=lamp&format=csv").body.decode()))
    assert dict(zip(names, row, strict=True))["snippet"] == "A lamp"


@needs_fts5
@run_each_case(
    "query, message",
    [
        ("q=%22", "quotation mark"),
        ("q=-", "no word to search for"),
        ("q=a*", "fewer than 3 letters"),
        ("q=x&from_date=1", "from_date"),
        ("q=x&cursor=x", "cursor"),
        ("format=csv", None),
    ],
)
def test_an_invalid_search_returns_400(lamps: App, query: str, message: str | None) -> None:
    if message is None:
        assert "Find" in get_page(Client(lamps), f"{PATH}?{query}")
        return
    body = get_page(Client(lamps), f"{PATH}?{query}", 400)
    assert 'role="alert"' in body
    assert message in body


def test_a_search_without_words_shows_only_the_form(lamps: App) -> None:
    body = get_page(Client(lamps), PATH)
    assert 'name="q"' in body
    assert 'role="status"' not in body


@needs_fts5
def test_a_search_without_documents_has_a_load_hint(lamps: App) -> None:
    body = get_page(Client(lamps), f"{PATH}?q=lamp")
    assert "0 documents found in 0 of 0 stored documents." in body
    assert "finapi ingest" in body


def test_a_search_without_fts5_returns_501(lamps: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.market.filings.text_search.has_full_text", lambda: False)
    answer = Client(lamps).get(f"{PATH}?q=lamp", headers=HTML)
    assert answer.status == 501
    assert "FTS5" in answer.body.decode()
