"""Exhibits and other documents of a submission: stored, listed, served without scripts, searched, and bounded."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import sgml
from finapi.market.documents import submission_documents
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.submission_documents import ListedDocument
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import NOW
from tests.support import submission_texts
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

ACCESSION = "0001234567-26-000011"
FILING = f"/api/v1/sec/filings/{ACCESSION}"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PDF = b"%PDF-1.7 ..."
PRESS = "<html><body><p>Record <b>lanterns</b> revenue.</p><script>alert(1)</script></body></html>"
XML = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'


def encode_attachment(name: str, content: bytes) -> str:
    """Return a binary document as submissions contain it."""
    lines = [binascii.b2a_uu(content[start : start + 45]).decode() for start in range(0, len(content), 45)]
    return f"begin 644 {name}\n{''.join(lines)}`\nend"


def build_submission(accession: str = ACCESSION) -> bytes:
    filer = submission_texts.party("FILER", "LAMP CORP", "0001234567") + submission_texts.values("8-K")
    return submission_texts.full(
        accession,
        "8-K",
        filer,
        submission_texts.text("8-K", "lamp-8k.htm", "<html><body><p>Current report.</p></body></html>"),
        submission_texts.text("EX-99.1", "press.htm", PRESS, 2, "<DESCRIPTION>PRESS RELEASE\n"),
        submission_texts.text("EX-10.1", "contract.txt", "A contract about lanterns.", 3),
        submission_texts.text("GRAPHIC", "logo.png", encode_attachment("logo.png", PNG), 4),
        submission_texts.text("EX-101.INS", "lamp.xml", f"<XML>\n{XML}\n</XML>", 5),
        submission_texts.text(
            "EX-99.2", "slides.pdf", f"<PDF>\n{encode_attachment('slides.pdf', b'%PDF-1.7 ...')}\n</PDF>", 6
        ),
        submission_texts.text("ZIP", "data.zip", encode_attachment("data.zip", b"PK\x03\x04" + bytes(30)), 7),
    )


def open_client(app: App, tmp_path: Path, content: bytes) -> Client:
    file = tmp_path / f"{ACCESSION}.txt"
    file.write_bytes(content)
    outcomes: list[Any] = []
    ingest.run(app, [file], IngestOptions(), outcomes.append)
    assert [outcome.outcome for outcome in outcomes] == ["ingested"]
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def api(app: App, tmp_path: Path) -> Client:
    return open_client(app, tmp_path, build_submission())


def test_a_filing_lists_its_documents_with_their_contents(api: Client) -> None:
    filing = api.get(FILING).json["data"]
    assert [
        (file["sequence"], file["type"], file["document"], file["description"], file["content_url"])
        for file in filing["document_files"]
    ] == [
        (1, "8-K", "lamp-8k.htm", None, f"{FILING}/documents/1"),
        (2, "EX-99.1", "press.htm", "PRESS RELEASE", f"{FILING}/documents/2"),
        (3, "EX-10.1", "contract.txt", None, f"{FILING}/documents/3"),
        (4, "GRAPHIC", "logo.png", None, f"{FILING}/documents/4"),
        (6, "EX-99.2", "slides.pdf", None, f"{FILING}/documents/6"),
    ]
    assert [(file["sequence"], file["type"]) for file in filing["data_files"]] == [(5, "EX-101.INS"), (7, "ZIP")]
    assert filing["document_files"][1]["size"] == str(len(PRESS))


@pytest.mark.parametrize("name", ["2", "press.htm"])
def test_an_html_exhibit_is_served_without_scripts(api: Client, name: str) -> None:
    answer = api.get(f"{FILING}/documents/{name}")
    assert (answer.status, answer.body) == (200, PRESS.encode())
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    plain = api.get(f"{FILING}/documents/{name}?plain=true")
    assert (plain.body, plain.headers["content-type"]) == (b"Record lanterns revenue.", "text/plain; charset=utf-8")
    assert api.get(f"{FILING}/documents/{name}?plain=true&offset=7&length=8").body == b"lanterns"


@run_each_case(
    "seq, content_type, disposition, body",
    [
        (3, "text/plain; charset=utf-8", None, b"A contract about lanterns."),
        (4, "image/png", None, PNG),
        # A browser would run the script of an XML document.
        (5, "text/plain; charset=utf-8", None, XML.encode()),
        (6, "application/pdf", 'attachment; filename="slides.pdf"', PDF),
        (7, "application/octet-stream", 'attachment; filename="data.zip"', b"PK\x03\x04" + bytes(30)),
    ],
)
def test_each_kind_of_document_is_served_as_what_it_is(
    api: Client, seq: int, content_type: str, disposition: str | None, body: bytes
) -> None:
    answer = api.get(f"{FILING}/documents/{seq}")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, body, content_type)
    assert answer.headers.get("content-disposition") == disposition
    assert answer.headers["content-security-policy"].startswith("sandbox;")


@run_each_case("name", ["%C2%B2", "%D9%A2", "0", "9999999999", "..%2Fpress.htm"])
def test_no_other_text_names_a_document(api: Client, name: str) -> None:
    """The first two are a superscript and an Arabic two: digits to Python, but no position in a list."""
    answer = api.get(f"{FILING}/documents/{name}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_a_document_is_returned_by_its_url_at_the_sec(api: Client) -> None:
    folder = f"https://www.sec.gov/Archives/edgar/data/1/{ACCESSION.replace('-', '')}"
    for url, content_type, encoding, content in (
        (f"{folder}/press.htm", "text/html; charset=utf-8", "utf-8", PRESS),
        (
            f"https://www.sec.gov/ix?doc=/Archives/{folder.partition('/Archives/')[2]}/press.htm",
            "text/html",
            "utf-8",
            PRESS,
        ),
        (f"{folder}/contract.txt", "text/plain; charset=utf-8", "utf-8", "A contract about lanterns."),
        (f"{folder}/logo.png", "image/png", "base64", base64.b64encode(PNG).decode()),
        (f"{folder}/slides.pdf", "application/pdf", "base64", base64.b64encode(PDF).decode()),
    ):
        answer = api.get("/api/v1/sec/document", query={"url": url})
        assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "5"), url
        data = answer.json["data"]
        assert data["content_type"].startswith(content_type)
        assert data | {"content_type": ""} == {
            "url": url,
            "content_type": "",
            "size": len(base64.b64decode(content)) if encoding == "base64" else len(content.encode()),
            "encoding": encoding,
            "content": content,
        }
    assert api.get("/api/v1/sec/document", query={"url": f"{folder}/other.htm"}).json["code"] == "NOT_FOUND"
    raw = api.get("/api/v1/sec/document", query={"url": f"{folder}/press.htm", "raw": "true"})
    assert (raw.status, raw.json["details"]["param"], raw.json["details"]["allowed"]) == (400, "raw", ["false"])


@run_each_case(
    "url",
    [
        "https://www.sec.gov/Archives/edgar/data/320193/0000320193-25-000057.txt",
        "https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/",
        "https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/1",
        "https://www.sec.gov/Archives/edgar/data/320193/000032019325000057/a/b.htm",
        "https://www.sec.gov.example.com/Archives/edgar/data/320193/000032019325000057/a.htm",
        "https://example.com/a.htm",
        "a.htm",
    ],
)
def test_another_url_is_refused(api: Client, url: str) -> None:
    answer = api.get("/api/v1/sec/document", query={"url": url})
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", "url")


def test_a_primary_document_outside_of_a_list_has_its_file_name(api: Client) -> None:
    with api.app.db.write() as tx:
        run_sql(tx, "DELETE FROM filing_documents")
    by_name = api.get(f"{FILING}/documents/lamp-8k.htm")
    assert (by_name.status, by_name.body) == (200, api.get(f"{FILING}/html").body)
    assert api.get(f"{FILING}/documents/1").status == 404


def test_the_primary_document_is_one_of_the_documents(api: Client) -> None:
    assert api.get(f"{FILING}/documents/1").body == api.get(f"{FILING}/html").body


def test_the_search_names_the_exhibit(api: Client) -> None:
    answer = api.get("/api/v1/sec/filings/search?q=lanterns").json
    assert [
        (row["document_type"], row["document_name"], row["document_description"], row["is_primary"], row["snippet"])
        for row in answer["data"]
    ] == [
        ("EX-10.1", "contract.txt", None, False, "A contract about lanterns."),
        ("EX-99.1", "press.htm", "PRESS RELEASE", False, "Record lanterns revenue."),
    ]
    press = answer["data"][1]
    assert press["content_url"] == f"{FILING}/documents/2"
    assert press["document_url"].endswith(f"/{ACCESSION.replace('-', '')}/press.htm")
    assert (
        api.get(f"{press['content_url']}?plain=true&offset={press['offset']}&length={press['length']}").body
        == b"lanterns"
    )
    (primary,) = api.get("/api/v1/sec/filings/search?q=%22current+report%22").json["data"]
    assert (primary["document_type"], primary["is_primary"], primary["content_url"]) == ("8-K", True, f"{FILING}/html")
    # The files of data are not searched.
    assert (answer["meta"]["documents_kept"], answer["meta"]["documents_searched"]) == (3, 3)


def test_unknown_documents_are_not_found(api: Client) -> None:
    for name in ("9", "other.htm", "..%2Fpress.htm", "99999999999"):
        answer = api.get(f"{FILING}/documents/{name}")
        assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND"), name
    assert api.get("/api/v1/sec/filings/0000000001-26-000001/documents/1").status == 404


@pytest.mark.parametrize("settings", [{"exhibit_bytes": 0}, {"exhibits_bytes": 10}])
def test_exhibits_beyond_the_settings_have_only_an_entry(
    make_app: Callable[..., App], tmp_path: Path, settings: dict[str, int]
) -> None:
    api = open_client(make_app(**settings), tmp_path, build_submission())
    files = api.get(FILING).json["data"]["document_files"]
    assert [file["content_url"] for file in files] == [f"{FILING}/documents/1", None, None, None, None]
    answer = api.get(f"{FILING}/documents/press.htm")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")
    assert f"{len(PRESS)} bytes" in answer.json["message"]
    assert api.get(f"{FILING}/html").status == 200


def test_a_longer_exhibit_is_left_out_alone(make_app: Callable[..., App], tmp_path: Path) -> None:
    api = open_client(make_app(exhibit_bytes=len(PRESS) - 1), tmp_path, build_submission())
    files = api.get(FILING).json["data"]["document_files"]
    assert [file["content_url"] is not None for file in files] == [True, False, True, True, True]


def test_a_second_ingest_adds_what_a_larger_setting_permits(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(exhibit_bytes=0)
    api = open_client(app, tmp_path, build_submission())
    object.__setattr__(app.config, "exhibit_bytes", 1_000)
    ingest.run(app, [tmp_path / f"{ACCESSION}.txt"], IngestOptions(), lambda outcome: None)
    assert api.get(f"{FILING}/documents/press.htm").body == PRESS.encode()
    with app.db.read() as tx:
        sizes = tx.find_row("body_sizes")
        stored = run_sql(tx, "SELECT is_primary, sum(length(packed)) FROM filing_bodies GROUP BY 1").fetchall()
    assert sizes is not None
    assert [tuple(row) for row in stored] == [(0, sizes["exhibit_bytes"]), (1, sizes["bytes"])]


@run_each_case(
    "filename, body, media",
    [
        ("a.htm", b"\xff\xd8\xff\xe0 not a page", "jpeg"),
        ("a.jpg", b"<html><script>alert(1)</script></html>", "html"),
        ("a.gif", b"GIF89a", "gif"),
        ("a.svg", b"<svg onload='alert(1)'/>", "xml"),
        (None, b"plain", "text"),
        ("a.txt", b"\x00\x01", "binary"),
    ],
)
def test_the_content_and_not_the_name_decides(filename: str | None, body: bytes, media: str) -> None:
    exhibit = submission_documents.prepare_exhibit(ListedDocument(2, "EX-99", filename, None, len(body)), body, 1_000)
    assert exhibit is not None
    assert exhibit.media == media


@run_each_case(
    "filename, stored",
    [
        ("ex-99_1.htm", "ex-99_1.htm"),
        (None, None),
        ("", None),
        ("../ex.htm", None),
        ("a/b.htm", None),
        ('a".htm', None),
        ("a\r\nX: b", None),
        (".htaccess", None),
        ("ü.htm", None),
        ("a" * 121, None),
    ],
)
def test_a_name_that_is_no_file_name_is_not_stored(filename: str | None, stored: str | None) -> None:
    document = sgml.SubmissionDocument("EX-99", 2, filename, None, b"x")
    ((listed, _),) = submission_documents.iter_listed_documents(iter([document]))
    assert listed.filename == stored


def test_a_deleted_filing_takes_its_exhibits_along(app: App, api: Client) -> None:
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM filings WHERE accession = ?", (ACCESSION,))
        tx.run("bump_data_version")
        assert [tuple(row) for row in run_sql(tx, "SELECT * FROM filing_bodies_size")] == [(0, 0, 0, 0, 0)]
    assert api.get("/api/v1/sec/filings/search?q=lanterns").json["data"] == []
