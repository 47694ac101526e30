"""The parser of index documents: headers, index pages and folder listings."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.identifiers import FilingIdentity, find_accession_in_name
from finapi.edgar.index_documents import MAX_PAGE_BYTES, identity_from_header, parse
from finapi.edgar.sgml import parse_header
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

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


# --- index documents


def test_folder_listing_has_accession_and_cik_but_no_date() -> None:
    assert parse(LISTING, "index.json") == FilingIdentity("0001193125-26-226661", ("0001067983",))


@pytest.mark.parametrize("folder", [b"0/000119312526226661", b"1067983/000000000000000000x", b"1067983"])
def test_listing_without_company_or_filing_is_none(folder: bytes) -> None:
    real_folder = b"1067983\\/000119312526226661"
    assert parse(LISTING.replace(real_folder, folder.replace(b"/", b"\\/")), "index.json") is None


@pytest.mark.parametrize(("extra_bytes", "filed"), [(0, "2025-05-02"), (1, None)])
def test_index_page_is_read_up_to_four_mebibytes(extra_bytes: int, filed: str | None) -> None:
    start = b"<html>SEC Accession No. 0000320193-25-000057 CIK: 320193"
    end = b" Filing Date 2025-05-02"
    padding = b" " * (MAX_PAGE_BYTES - len(start) - len(end) + extra_bytes)
    identity = parse(start + padding + end, "a-index.htm")
    assert identity is not None
    assert identity.filed == filed


def test_listing_of_a_company_folder_is_none() -> None:
    assert parse(LISTING.replace(rb"\/000119312526226661", b""), "index.json") is None


def test_folder_listing_may_be_html() -> None:
    page = b"<html><h1>Directory Listing for /Archives/edgar/data/1067983/000119312526226661</h1>"
    assert parse(page, "x.html") == FilingIdentity("0001193125-26-226661", ("0001067983",))


def test_index_page_has_the_metadata() -> None:
    assert parse(PAGE, "0000320193-25-000057-index.htm") == APPLE


def test_index_page_may_have_plain_labels() -> None:
    page = b"""<html><body><div id="secNum"><strong>SEC Accession No.</strong> 0000320193-25-000057</div>
      <div class="infoHead">Filing Date</div><div class="info">2025-05-02</div></body></html>"""
    assert parse(page, "i.htm") == FilingIdentity("0000320193-25-000057", (), filed="2025-05-02")


def test_index_page_lists_the_ciks_of_all_parties() -> None:
    party = b"<p>Cook Timothy D (Reporting) <acronym>CIK</acronym>: <a href='?'>0001214156 (see all)</a></p>"
    identity = parse(PAGE.replace(b"</body>", party + b"</body>"), "i.htm")
    assert identity is not None
    assert identity.ciks == ("0000320193", "0001214156")


def test_acceptance_time_in_winter_is_converted_to_utc() -> None:
    identity = parse(PAGE.replace(b"2025-05-02 06:00:46", b"2025-01-31 06:00:46"), "i.htm")
    assert identity is not None
    assert identity.accepted == "2025-01-31T11:00:46.000Z"


@run_each_case("form", ["4", "10-K405", "SC TO-T/A", "DEF 14A", "SCHEDULE 13G/A", "13F-HR"])
def test_index_page_has_the_form(form: str) -> None:
    identity = parse(PAGE.replace(b"Form 10-Q", b"Form " + form.encode()), "i.htm")
    assert identity is not None
    assert identity.form == form


def test_index_headers_page_has_the_metadata() -> None:
    assert parse(HEADERS, "0001193125-26-226661-index-headers.html") == BERKSHIRE


def test_sgml_header_has_the_metadata() -> None:
    header = HEADERS[HEADERS.index(b"<SEC-HEADER>") : HEADERS.index(b"-->")]
    assert parse(header, "0001193125-26-226661.hdr.sgml") == BERKSHIRE
    assert identity_from_header(parse_header(header, "h")) == BERKSHIRE


@run_each_case(
    "document",
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
def test_other_document_is_none(document: bytes) -> None:
    assert parse(document, "x") is None


@run_each_case(
    "broken, place",
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


# --- real files


def test_real_folder_listing_is_read() -> None:
    path = EDGAR / "thirteenf" / "brk_2026q1_0001193125-26-226661_index.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    assert parse(path.read_bytes(), path.name) == FilingIdentity("0001193125-26-226661", ("0001067983",))
    assert find_accession_in_name(path.name) == "0001193125-26-226661"


def test_other_real_documents_are_none() -> None:
    if not EDGAR.exists():
        pytest.skip(f"{EDGAR} is not here")
    for folder in ("xbrl", "companyfacts", "submissions", "feeds", "index", "fsds_slices", "http_errors"):
        for path in (EDGAR / folder).rglob("*.*"):
            if path.is_file():
                assert parse(path.read_bytes(), path.name) is None, path


# --- damaged files


@settings(max_examples=examples(300), deadline=None, database=None)
@given(st.sampled_from([LISTING, PAGE, HEADERS]), st.integers(0, 1700), st.integers(0, 20), st.binary(max_size=8))
def test_damaged_index_is_parsed_or_refused(document: bytes, start: int, length: int, piece: bytes) -> None:
    with suppress(ParseError):
        parse(document[:start] + piece + document[start + length :], "i")
