"""The document of a filing: sanitised, in parts, and under its own policy."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from finapi.app import App
from finapi.edgar import sgml
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.market.documents.submission_documents import ListedDocument
from finapi.web.html import sanitizer
from finapi.web.pages import filing_pages
from tests.client import Client
from tests.market.documents.test_filing_store import FULL
from tests.support.html_pages import HTML, get_page


@pytest.fixture
def client(make_app: Callable[..., App]) -> Client:
    """A client of a store with a filing that has a hostile document."""
    app = make_app(pages="public")
    html = (
        "<html><head><base href=//evil.example></head><body onload=x><p>Caf\u00e9</p><script>x</script></body></html>"
    )
    body = FULL.replace(b"lamp.txt", b"lamp.htm").replace(b"Lamps caf\xe9 went on.", html.encode())
    papers = list(submission_documents.iter_listed_documents(sgml.iter_documents(body, "f")))
    with app.db.write() as tx:
        stored = filing_store.upsert(tx, metadata.from_header(sgml.parse_header(body, "f"), len(body)), app.clock.now())
        text = submission_documents.prepare_text(papers[0][1].body, papers[0][1].filename, 10_000)
        submission_documents.insert_documents(
            tx, stored.id, [line for line, _ in papers], text, max_stored_bytes=10_000, max_indexed_characters=10_000
        )
        tx.run("bump_data_version")
    return Client(app)


NUMBER = "0000001750-98-000077"


def test_a_stored_document_is_served_in_a_sandbox(client: Client) -> None:
    answer = client.get(f"/filing/{NUMBER}/document", headers=HTML)
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body.decode() == (
        f'<html lang="en"><head><meta charset="utf-8"><title>{NUMBER}</title>'
        f"<style>{filing_pages.TARGET_STYLE}</style></head><body>"
        "<p>Caf\u00e9</p></body></html>\n"
    )
    assert "has 1 part." in get_page(client, f"/filing/{NUMBER}/document?part=2", 404)


def test_a_filing_links_to_its_documents_here_and_at_the_sec(client: Client) -> None:
    body = get_page(client, f"/filing/{NUMBER}")
    assert f'<a href="/filing/{NUMBER}/document?part=1">read it here</a>' in body
    assert re.search(
        r'href="https://www.sec.gov/Archives/edgar/data/1750/000000175098000077/[^"]+" rel="noreferrer"', body
    )
    assert "2 documents" in body


def test_a_filing_links_to_the_parts_of_its_document(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 60)
    body = get_page(client, f"/filing/{NUMBER}")
    assert f'<a href="/filing/{NUMBER}/document?part=2">part 2</a>' in body
    assert "<p>Part 2 of 2.</p>" in get_page(client, f"/filing/{NUMBER}/document?part=2")


def store_exhibit(client: Client, listed: ListedDocument, content: bytes) -> None:
    """Store an exhibit of the filing."""
    exhibit = submission_documents.prepare_exhibit(listed, content, 1_000)
    assert exhibit is not None
    with client.app.db.write() as tx:
        filing_id = tx.find_value("filing_id", accession=NUMBER)
        submission_documents.insert_documents(
            tx,
            filing_id,
            [],
            None,
            [exhibit],
            max_stored_bytes=0,
            max_exhibit_bytes=1_000,
            max_indexed_characters=1_000,
        )
        tx.run("bump_data_version")


def test_an_exhibit_has_a_sanitised_page(client: Client) -> None:
    listed = ListedDocument(2, "EX-99.1", "ex.htm", None, 40)
    store_exhibit(client, listed, b"<html><p>Lanterns</p><script>x</script></html>")
    link = f'<a href="/filing/{NUMBER}/document?document=2" aria-label="Stored document 2">stored</a>'
    assert link in get_page(client, f"/filing/{NUMBER}")
    answer = client.get(f"/filing/{NUMBER}/document?document=2", headers=HTML)
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "<p>Lanterns</p></body></html>" in answer.body.decode()
    assert "script" not in answer.body.decode()
    assert client.get(f"/filing/{NUMBER}/document?document=9", headers=HTML).status == 404


def test_a_link_to_a_number_leads_to_its_part(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The style of the page highlights the element that the fragment names, and the browser scrolls to it."""
    numbers = "".join(f"<p><ix:nonFraction id='f {n}'>{n}</ix:nonFraction></p>" for n in range(9))
    listed = ListedDocument(2, "EX-99.1", "ex.htm", None, 900)
    store_exhibit(client, listed, f"<html>{numbers}</html>".encode())
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 200)
    answer = client.get(f"/filing/{NUMBER}/document?document=ex.htm&fact=f+7", headers=HTML)
    assert answer.status == 303
    location, _, fragment = answer.headers["location"].partition("#")
    assert (location, fragment) == (f"/filing/{NUMBER}/document?part=2&document=ex.htm", "f%207")
    body = client.get(location, headers=HTML).body.decode()
    assert '<p><span id="f 7">7<' in body
    assert ":target{background:" in body
    missing = client.get(f"/filing/{NUMBER}/document?document=ex.htm&fact=f-7", headers=HTML)
    assert (missing.status, "The document has no number with the id f-7." in missing.body.decode()) == (404, True)
    assert client.get(f"/filing/{NUMBER}/document?fact=f-7", headers=HTML).status == 404
