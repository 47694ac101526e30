"""Filed documents as they are shown: attacked, cut into parts, and under a policy of their own."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from finapi.app import App
from finapi.edgar import sgml
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.web.html import sanitizer
from tests.client import Client
from tests.pages.conftest import HTML, text_of
from tests.test_filings import FULL

PICTURE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # What is shown.
        (
            "<table border=1><tr><td colspan='2'>1</td></tr></table>",
            '<table border="1"><tr><td colspan="2">1</td></tr></table>',
        ),
        ('<P STYLE="Font-Weight:bold">A &amp; B</P>', '<p style="Font-Weight:bold">A &amp; B</p>'),
        ('<a href="#item1" id=x>', '<a href="#item1" id="x">'),
        (f'<img alt="a" src="{PICTURE}">', f'<img alt="a" src="{PICTURE}">'),
        ("1 < 2 <3", "1 &lt; 2 &lt;3"),
        ('<ix:nonFraction name="us-gaap:Assets">5</ix:nonFraction>', "5"),
        ("<ix:header><ix:hidden>9</ix:hidden></ix:header>1", "1"),
        ("<br/><hr />", "<br><hr>"),
        ('<p title="a>b" align=left>', '<p title="a&gt;b" align="left">'),
        ("<p title='\"'>", '<p title="&quot;">'),
        # What runs.
        ("a<script src=x>b</script >c", "ac"),
        ("<SCRIPT>x", ""),
        ("<scr<script>ipt>alert(1)</script>", "ipt>alert(1)"),
        ("<script<script>1</script>2", "12"),
        ("<script\x0c>1</script\n>2", "2"),
        ("<p onclick='x()' class=y oNload=x>", "<p>"),
        ("<p/onclick=x()>", "<p>"),
        ("<svg><a xlink:href=javascript:x><animate onbegin=x></svg>1", "1"),
        ("<svg><style><img src=x onerror=x></style></svg>1", "1"),
        ("<math><mtext><img src=x onerror=x>", ""),
        ("<noscript><p title='</noscript><img src=x onerror=x>'>", "'>"),
        ("<title><b></title><textarea><b></textarea>1", "1"),
        ("<template><b></template><xmp><b></xmp>1", "1"),
        ("<plaintext><b>", ""),
        ("<a href='javascript:x()'><a href=' jAvAscript:x()'><a href='&#106;avascript:x()'>", "<a><a><a>"),
        ("<a href='data:text/html,x'><a href=https://evil.example/><a href=//evil.example>", "<a><a><a>"),
        ("<a href=/account/do/rotate ping=//evil.example target=_top>", "<a>"),
        # What loads.
        ("<img src=https://evil.example/x.png><img src=//evil.example><img src=/logout>", ""),
        ("<img src='data:image/svg+xml;base64,AA=='><img src='data:text/html;base64,AA=='>", ""),
        (f"<img srcset='//evil.example 2x' src={PICTURE}>", f'<img src="{PICTURE}">'),
        ("<link rel=stylesheet href=x><base href=//evil.example><meta http-equiv=refresh content='0;url=//x'>", ""),
        ("<style>@import '//evil.example'; p{background:url(//evil.example)}</style>1", "1"),
        ("<p style='color:red;background:url(//evil.example);width:1px'>", '<p style="color:red;width:1px">'),
        ("<p style='background:u\\72l(//x)'><p style='background:u&#114;l(//x)'>", '<p style=""><p style="">'),
        ("<p style='background:image-set(\"//x\" 1x)'><p style='a:EXPRESSION(x)'>", '<p style=""><p style="">'),
        ("<td background=//evil.example><video src=x poster=x><audio src=x><source src=x><embed src=x>", "<td>"),
        ("<form action=/login><input name=password><button formaction=//x>1</button></form>", "1"),
        ("<iframe src=x></iframe><object data=x></object><applet code=x></applet><frame src=x>", ""),
        # What is broken.
        ("<p", ""),
        ('<p title="x', ""),
        ("1<!-- <b> -->2<!---->3<!-- 4", "123"),
        ("<!doctype html><?xml version='1'?><![CDATA[<b>]]>1", "]]>1"),
        ("</ p></><p></p title='>'>1", "<p></p>'>1"),
        ("<p title=1 title=2 =3 \x00x=4>", '<p title="1">'),
    ],
)
def test_nothing_is_left_that_runs_or_loads(text: str, left: str) -> None:
    assert sanitizer.sanitize_part(text) == left
    # What is written is written the same again: a browser reads it as it was meant.
    assert sanitizer.sanitize_part(left) == left


@pytest.mark.parametrize(
    "broken", ['<a b="', "<a b='\" ", "<script>", "<!--", "<", "<a ", "<a\t", " a=b", "<p style='a;", "<object>", "</"]
)
def test_a_hostile_document_is_read_once_from_end_to_end(broken: str) -> None:
    short, long = (_steps(broken * (length // len(broken))) for length in (20_000, 40_000))
    assert long <= short * 2.2 + 100


def _steps(text: str) -> int:
    """How many characters were looked at: what is searched, and from where on."""
    looked = 0

    class Counted(str):
        def find(self, sub: str, start: int = 0, *more: int) -> int:  # type: ignore[override]
            nonlocal looked
            found = str.find(self, sub, start, *more)
            looked += (found if found >= 0 else len(self)) - start + 1
            return found

    sanitizer._sanitize(Counted(text))
    return looked


def test_a_long_document_comes_in_parts_that_begin_at_a_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 100)
    text = "".join(f"<p>{n:03}</p>" for n in range(50))
    assert sanitizer.count_parts(text) == 5
    parts = [sanitizer.sanitize_part(text, n) for n in range(1, 6)]
    assert "".join(parts) == text
    assert all(part.startswith(("<p>", "</p>")) and len(part) <= 112 for part in parts)
    # Without a tag it is cut all the same.
    assert [len(sanitizer.sanitize_part("x" * 250, n)) for n in (1, 2, 3)] == [100, 100, 50]


@pytest.fixture
def kept(make_app: Callable[..., App]) -> Client:
    """A client of a store that holds a filing with a hostile document."""
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


def test_a_kept_document_is_a_document_of_its_own(kept: Client) -> None:
    answer = kept.get(f"/filing/{NUMBER}/document", headers=HTML)
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body.decode() == (
        f'<html lang="en"><head><meta charset="utf-8"><title>{NUMBER}</title></head><body>'
        "<p>Caf\u00e9</p></body></html>\n"
    )
    assert "has 1 part." in text_of(kept, f"/filing/{NUMBER}/document?part=2", 404)


def test_the_page_of_a_filing_leads_to_its_documents_here_and_at_the_sec(kept: Client) -> None:
    body = text_of(kept, f"/filing/{NUMBER}")
    assert f'<a href="/filing/{NUMBER}/document?part=1">the document</a>' in body
    assert re.search(
        r'href="https://www.sec.gov/Archives/edgar/data/1750/000000175098000077/[^"]+" rel="noreferrer"', body
    )
    assert "2 documents" in body


def test_the_parts_of_a_long_document_are_named(kept: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 60)
    body = text_of(kept, f"/filing/{NUMBER}")
    assert f'<a href="/filing/{NUMBER}/document?part=2">part 2</a>' in body
    assert "<p>Part 2 of 2.</p>" in text_of(kept, f"/filing/{NUMBER}/document?part=2")
