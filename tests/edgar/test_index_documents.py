"""Accession numbers, CIKs, and the index documents beside files."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.identifiers import FilingIdentity, find_accession_in_name, parse_accession, parse_cik, parse_json
from finapi.edgar.index_documents import identity_from_header, parse
from finapi.edgar.sgml import parse_header
from tests.conftest import SHARED

EDGAR = SHARED / "edgar"

LISTING = rb"""{"directory":{"item":[
  {"last-modified": "2026-05-15 16:06:05","name":"primary_doc.xml","type":"text.gif","size":"5555"}],
  "name":"\/Archives\/edgar\/data\/1067983\/000119312526226661","parent-dir":"\/Archives\/edgar\/data\/1067983"}}"""

PAGE = b"""<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://www.w3.org/TR/html4/loose.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head>
<title>EDGAR Filing Documents for 0000320193-25-000057</title></head><body style="margin: 0">
<!-- START FILING DIV -->
<div id="formHeader">
  <div id="formName"><strong>Form 10-Q</strong> - Quarterly report [Sections 13 or 15(d)]: </div>
  <div id="secNum"><strong><acronym title="Securities and Exchange Commission">SEC</acronym> Accession
    <acronym title="Number">No.</acronym></strong> 0000320193-25-000057 </div>
</div>
<div class="formContent">
  <div class="formGrouping">
    <div class="infoHead">Filing Date</div><div class="info">2025-05-02</div>
    <div class="infoHead">Accepted</div><div class="info">2025-05-02 06:00:46</div>
    <div class="infoHead">Documents</div><div class="info">89</div>
  </div>
  <div class="formGrouping">
    <div class="infoHead">Period of Report</div><div class="info">2025-03-29</div>
  </div>
</div>
<div class="companyInfo"><span class="companyName">Apple Inc. (Filer)
  <acronym title="Central Index Key">CIK</acronym>:
  <a href="/cgi-bin/browse-edgar?CIK=0000320193&amp;action=getcompany">0000320193 (see all filings)</a>
</span>
</div></body></html>
"""

HEADERS = b"""<HTML><HEAD><TITLE>SEC EDGAR Submission 0001193125-26-226661</TITLE>
<!--
<SEC-HEADER>0001193125-26-226661.hdr.sgml : 20260515
<ACCEPTANCE-DATETIME>20260515160605
<ACCESSION-NUMBER>0001193125-26-226661
<TYPE>13F-HR
<PERIOD>20260331
<FILING-DATE>20260515
<FILER>
<COMPANY-DATA>
<CONFORMED-NAME>BERKSHIRE HATHAWAY INC
<CIK>0001067983
</COMPANY-DATA>
</FILER>
</SEC-HEADER>
-->
</HEAD><BODY><PRE>&lt;SEC-HEADER&gt;0001193125-26-226661.hdr.sgml : 20260515</PRE></BODY></HTML>
"""
BERKSHIRE = FilingIdentity(
    accession="0001193125-26-226661",
    ciks=("0001067983",),
    form="13F-HR",
    period="2026-03-31",
    filed="2026-05-15",
    accepted="2026-05-15T20:06:05.000Z",
)
APPLE = FilingIdentity(
    accession="0000320193-25-000057",
    ciks=("0000320193",),
    form="10-Q",
    period="2025-03-29",
    filed="2025-05-02",
    accepted="2025-05-02T10:00:46.000Z",
)


# --- accession numbers and CIKs


@pytest.mark.parametrize("text", ["000032019325000057", "0000320193-25-000057"])
def test_accession_gets_its_dashes(text: str) -> None:
    assert parse_accession(text) == "0000320193-25-000057"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0000320193-25000057",
        "000032019325-000057",
        "00003201932500005",
        "0000320193250000577",
        "0000320193-25-000057 ",
        "0000320193-25-000057\n",
        " 00032019325000057",
        "0000320193_25_000057",
        "٠000320193-25-000057",
        "0000320193-25-00005x",
    ],
)
def test_what_is_no_accession_is_none(text: str) -> None:
    assert parse_accession(text) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("aapl-10q-20250329_0000320193-25-000057", "0000320193-25-000057"),
        ("000032019325000057", "0000320193-25-000057"),
        ("0000320193-25-000057-index.htm", "0000320193-25-000057"),
        ("brk_2026q1_0001193125-26-226661_index.json", "0001193125-26-226661"),
        ("form4-000032019325000057.xml", "0000320193-25-000057"),
        ("000032019325000057/0000320193-25-000057.txt", "0000320193-25-000057"),
        ("aapl-20250329.htm", None),
        ("0000320193250000571", None),
        ("10000320193-25-000057", None),
        ("0000320193-25-0000571", None),
        ("0000320193-25-000057_0000320193-25-000058", None),
        ("", None),
    ],
)
def test_accession_is_found_in_a_name(name: str, found: str | None) -> None:
    assert find_accession_in_name(name) == found


@pytest.mark.parametrize("value", ["320193", "0000320193", 320193])
def test_cik_gets_ten_digits(value: str | int) -> None:
    assert parse_cik(value) == "0000320193"


@pytest.mark.parametrize("value", ["", "0", 0, -1, "00000320193", 10**10, True, "CIK320193", " 1", "1\n", "１", "1.0"])
def test_what_is_no_cik_is_refused(value: str | int) -> None:
    with pytest.raises(ValueError, match="is not a CIK"):
        parse_cik(value)


# --- index documents


def test_folder_listing_tells_the_accession_and_a_cik_but_no_filing_date() -> None:
    assert parse(LISTING, "index.json") == FilingIdentity("0001193125-26-226661", ("0001067983",))


@pytest.mark.parametrize("folder", [b"0/000119312526226661", b"1067983/000000000000000000x", b"1067983"])
def test_a_listing_of_no_company_or_no_filing_names_none(folder: bytes) -> None:
    there = b"1067983\\/000119312526226661"
    assert parse(LISTING.replace(there, folder.replace(b"/", b"\\/")), "index.json") is None


@pytest.mark.parametrize(("more", "read"), [(0, True), (1, False)])
def test_an_index_page_is_read_as_far_as_four_mebibytes(more: int, read: bool) -> None:
    last = b" Filing Date 2025-05-02"
    page = b"<html>SEC Accession No. 0000320193-25-000057 CIK: 320193"
    found = parse(page + b" " * (4 * 2**20 - len(page) - len(last) + more) + last, "a-index.htm")
    assert found is not None
    assert found.filed == ("2025-05-02" if read else None)


def test_listing_of_a_company_folder_names_no_filing() -> None:
    assert parse(LISTING.replace(rb"\/000119312526226661", b""), "index.json") is None


def test_listing_in_html_tells_the_same() -> None:
    page = b"<html><h1>Directory Listing for /Archives/edgar/data/1067983/000119312526226661</h1>"
    assert parse(page, "x.html") == FilingIdentity("0001193125-26-226661", ("0001067983",))


def test_index_page_tells_the_filing() -> None:
    assert parse(PAGE, "0000320193-25-000057-index.htm") == APPLE


def test_index_page_with_plain_labels_tells_the_filing() -> None:
    page = b"""<html><body><div id="secNum"><strong>SEC Accession No.</strong> 0000320193-25-000057</div>
      <div class="infoHead">Filing Date</div><div class="info">2025-05-02</div></body></html>"""
    assert parse(page, "i.htm") == FilingIdentity("0000320193-25-000057", (), filed="2025-05-02")


def test_index_page_of_several_parties_names_all_their_ciks() -> None:
    party = b"<p>Cook Timothy D (Reporting) <acronym>CIK</acronym>: <a href='?'>0001214156 (see all)</a></p>"
    found = parse(PAGE.replace(b"</body>", party + b"</body>"), "i.htm")
    assert found is not None
    assert found.ciks == ("0000320193", "0001214156")


def test_index_page_in_winter_has_its_time_in_utc() -> None:
    found = parse(PAGE.replace(b"2025-05-02 06:00:46", b"2025-01-31 06:00:46"), "i.htm")
    assert found is not None
    assert found.accepted == "2025-01-31T11:00:46.000Z"


@pytest.mark.parametrize("form", ["4", "10-K405", "SC TO-T/A", "DEF 14A", "SCHEDULE 13G/A", "13F-HR"])
def test_index_page_tells_the_form(form: str) -> None:
    found = parse(PAGE.replace(b"Form 10-Q", b"Form " + form.encode()), "i.htm")
    assert found is not None
    assert found.form == form


def test_index_headers_page_tells_the_filing() -> None:
    assert parse(HEADERS, "0001193125-26-226661-index-headers.html") == BERKSHIRE


def test_header_alone_tells_the_filing() -> None:
    alone = HEADERS[HEADERS.index(b"<SEC-HEADER>") : HEADERS.index(b"-->")]
    assert parse(alone, "0001193125-26-226661.hdr.sgml") == BERKSHIRE
    assert identity_from_header(parse_header(alone, "h")) == BERKSHIRE


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"\0\0",
        b"adsh\tcik\n",
        b"<html><body>Accession</body></html>",
        b"<xbrl/>",
        b'{"cik":320193,"entityName":"Apple Inc."}',
        b'{"cik":',
        b"PK\x03\x04",
    ],
)
def test_document_that_is_no_index_says_nothing(other: bytes) -> None:
    assert parse(other, "x") is None


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        (LISTING[:-1], "line 3, column 113"),
        (b'{"directory":{"name":5}}', "$.directory.name"),
        (b'{"directory":[]}', "$.directory.name"),
        (PAGE.replace(b"2025-05-02</div>", b"2025-13-02</div>"), ""),
        (PAGE.replace(b"06:00:46", b"26:00:46"), ""),
        (PAGE.replace(b">0000320193 (", b">0000000000 ("), ""),
        (HEADERS.replace(b"<FILING-DATE>20260515", b""), "header"),
    ],
)
def test_broken_index_is_refused(broken: bytes, place: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(broken, "i")
    assert (raised.value.file, raised.value.place) == ("i", place)


def test_index_page_of_endless_comments_is_read_quickly() -> None:
    assert parse(b"<html>Accession" + b"<!--" * 1_000_000, "i.htm") is None


# --- JSON


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":1,"a":2}', "a key occurs twice"),
        (b"[NaN]", "NaN is not a JSON value"),
        (b"[-Infinity]", "-Infinity is not a JSON value"),
        (b"[" * 100_000, "nested too deep"),
        (b'["\xe9"]', "not UTF-8"),
        (b'["\\ud83d"]', "an unpaired surrogate"),
        (b'["\\u0000"]', "NUL character"),
        (b'["\0"]', "not JSON"),
        (b"[1]x", "not JSON: Extra data"),
        (b"", "not JSON"),
    ],
)
def test_ambiguous_or_broken_json_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        parse_json(text, "x.json")


def test_json_with_escapes_and_a_byte_order_mark_is_read() -> None:
    assert parse_json(b'\xef\xbb\xbf["\\ud83d\\ude00", "\\u00e9"]', "x.json") == ["😀", "é"]


# --- real files


def test_real_folder_listing_is_read() -> None:
    path = EDGAR / "thirteenf" / "brk_2026q1_0001193125-26-226661_index.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert parse(path.read_bytes(), path.name) == FilingIdentity("0001193125-26-226661", ("0001067983",))
    assert find_accession_in_name(path.name) == "0001193125-26-226661"


def test_real_documents_that_are_no_index_say_nothing() -> None:
    if not EDGAR.exists():
        pytest.skip(f"{EDGAR} is not here")
    for folder in ("xbrl", "companyfacts", "submissions", "feeds", "index", "fsds_slices", "http_errors"):
        for path in (EDGAR / folder).rglob("*.*"):
            if path.is_file():
                assert parse(path.read_bytes(), path.name) is None, path


# --- damaged files


@settings(max_examples=300, deadline=None, database=None)
@given(st.sampled_from([LISTING, PAGE, HEADERS]), st.integers(0, 1700), st.integers(0, 20), st.binary(max_size=8))
def test_damaged_index_is_read_or_refused(whole: bytes, at: int, length: int, piece: bytes) -> None:
    with suppress(ParseError):
        parse(whole[:at] + piece + whole[at + length :], "i")


@settings(max_examples=200, deadline=None, database=None)
@given(st.text(max_size=40))
def test_any_name_holds_an_accession_or_none(name: str) -> None:
    found = find_accession_in_name(name)
    assert found is None or parse_accession(found) == found
