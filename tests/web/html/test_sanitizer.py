"""Sanitising of filed HTML: attacks, broken markup, and parts of long documents."""

from __future__ import annotations

import pytest

from finapi.web.html import sanitizer
from tests.support.case_tables import run_each_case

PICTURE = "data:image/png;base64,iVBORw0KGgo="


@run_each_case(
    "text, sanitised",
    [
        # Harmless markup.
        (
            "<table border=1><tr><td colspan='2'>1</td></tr></table>",
            '<table border="1"><tr><td colspan="2">1</td></tr></table>',
        ),
        ('<P STYLE="Font-Weight:bold">A &amp; B</P>', '<p style="Font-Weight:bold">A &amp; B</p>'),
        ('<a href="#item1" id=x>', '<a href="#item1" id="x">'),
        (f'<img alt="a" src="{PICTURE}">', f'<img alt="a" src="{PICTURE}">'),
        ("1 < 2 <3", "1 &lt; 2 &lt;3"),
        ('<ix:nonFraction name="us-gaap:Assets">5</ix:nonFraction>', "5"),
        (
            '(<ix:nonFraction id="f-1" sign="-"><b><ix:nonFraction id=f2>5</ix:nonFraction></b></ix:nonFraction>)',
            '(<span id="f-1"><b><span id="f2">5</span></b></span>)',
        ),
        ('<ix:nonfraction id="a&quot;b" onclick=x>5</ix:nonfraction></ix:nonfraction>', '<span id="a&quot;b">5</span>'),
        ("<ix:nonFraction>1<ix:nonFraction id=x>2</ix:nonFraction>3</ix:nonFraction>", '1<span id="x">2</span>3'),
        ("<ix:header><ix:hidden>9</ix:hidden></ix:header>1", "1"),
        ("<br/><hr />", "<br><hr>"),
        ('<p title="a>b" align=left>', '<p title="a&gt;b" align="left">'),
        ("<p title='\"'>", '<p title="&quot;">'),
        # Markup that runs something.
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
        # Markup that loads something.
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
        # Broken markup.
        ("<p", ""),
        ('<p title="x', ""),
        ("1<!-- <b> -->2<!---->3<!-- 4", "123"),
        ("<!doctype html><?xml version='1'?><![CDATA[<b>]]>1", "]]>1"),
        ("</ p></><p></p title='>'>1", "<p></p>'>1"),
        ("<p title=1 title=2 =3 \x00x=4>", '<p title="1">'),
    ],
)
def test_sanitised_html_neither_runs_nor_loads_anything(text: str, sanitised: str) -> None:
    assert sanitizer.sanitize_part(text) == sanitised
    # The output does not change when it is sanitised again: a browser reads it as the sanitizer meant it.
    assert sanitizer.sanitize_part(sanitised) == sanitised


@run_each_case(
    "broken", ['<a b="', "<a b='\" ", "<script>", "<!--", "<", "<a ", "<a\t", " a=b", "<p style='a;", "<object>", "</"]
)
def test_a_hostile_document_is_sanitised_in_linear_time(broken: str) -> None:
    short, long = (_count_examined_characters(broken * (length // len(broken))) for length in (20_000, 40_000))
    assert long <= short * 2.2 + 100


def _count_examined_characters(text: str) -> int:
    """Return the number of characters that searches in the document examine."""
    examined_count = 0

    class Counted(str):
        def find(self, sub: str, start: int = 0, *end: int) -> int:  # type: ignore[override]
            nonlocal examined_count
            position = str.find(self, sub, start, *end)
            examined_count += (position if position >= 0 else len(self)) - start + 1
            return position

    sanitizer._sanitize(Counted(text))
    return examined_count


def test_the_part_of_an_id_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 100)
    text = "".join(f"<p data-id='f-{n}' id='f-{n}'>{n:03}</p>" for n in range(20)) + '<b id="a&quot;b">'
    for element_id, part in {"f-0": 1, "f-9": 4, "f-19": 7, 'a"b': 7, "f-20": None, "": None, "f": None}.items():
        assert sanitizer.find_part_of_id(text, element_id) == part
        if part is not None:
            assert f' id="{element_id}"'.replace('a"b', "a&quot;b") in sanitizer.sanitize_part(text, part)


def test_parts_of_a_long_document_begin_at_a_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "PART_CHARACTERS", 100)
    text = "".join(f"<p>{n:03}</p>" for n in range(50))
    assert sanitizer.count_parts(text) == 5
    parts = [sanitizer.sanitize_part(text, n) for n in range(1, 6)]
    assert "".join(parts) == text
    assert all(part.startswith(("<p>", "</p>")) and len(part) <= 112 for part in parts)
    # A text without a tag is cut too.
    assert [len(sanitizer.sanitize_part("x" * 250, n)) for n in (1, 2, 3)] == [100, 100, 50]
