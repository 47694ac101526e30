"""The detection of document kinds: samples of each, real documents, hostile bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.edgar import form_families
from finapi.edgar.document_kinds import detect_kind
from tests.conftest import SHARED, needs_shared
from tests.support import fund_report_xml, schedule_xml
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

FAMILY_KINDS = {kind for family in form_families.FAMILIES for kind in (*family.kinds, *family.data_set_kinds)}
KINDS = FAMILY_KINDS | {
    "submissions",
    "submissions-page",
    "company-tickers",
    "companyfacts",
    "full-submission",
    "atom-feed",
    "form-index",
    "prices",
    "fsds-readme",
    "cusip-mapping",
    "filing-summary",
    "metalinks",
    "r-page",
    "inline-html",
    "directory-index",
    "filing-index",
    "sec-error-page",
    "zip",
    "gzip",
    "pdf",
    "image",
    "empty",
    "unknown",
}


EDGAR = SHARED / "edgar"

LINKBASE = b'<?xml version="1.0"?><link:linkbase xmlns:link="http://www.xbrl.org/2003/linkbase">%s</link:linkbase>'

SAMPLES: list[tuple[bytes, str]] = [
    (b'<?xml version="1.0"?>\n<!-- a --><xbrl xmlns="http://www.xbrl.org/2003/instance"/>', "xbrl-instance"),
    (b'<xbrli:xbrl xmlns:xbrli="http://www.xbrl.org/2003/instance"/>', "xbrl-instance"),
    (b'<xs:schema xmlns:link="http://www.xbrl.org/2003/linkbase"/>', "xbrl-schema"),
    (b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>', "unknown"),
    (LINKBASE % b"<link:presentationLink/>", "xbrl-presentation"),
    (LINKBASE % b"<calculationLink/>", "xbrl-calculation"),
    (LINKBASE % b"<link:definitionLink/><link:definitionLink/>", "xbrl-definition"),
    (LINKBASE % b"<link:labelLink/>", "xbrl-label"),
    (LINKBASE % b"<link:labelLink/><link:presentationLink/>", "xbrl-linkbase"),
    (LINKBASE % b"<link:referenceLink/>", "xbrl-linkbase"),
    (b"<ownershipDocument/>", "ownership"),
    (schedule_xml.d(schedule_xml.person(), event="01/10/2025"), "schedule-13"),
    (schedule_xml.g(event="12/18/2024"), "schedule-13"),
    (schedule_xml.notice(schedule_xml.sale(date="01/17/2025")), "form-144"),
    (fund_report_xml.report(), "nport"),
    (fund_report_xml.report(prefix="ns3"), "nport"),
    (b"ACCESSION_NUMBER\tFILING_DATE\tDOCUMENT_TYPE\tISSUERCIK\n", "insider-set-submission"),
    (b"ACCESSION_NUMBER\tRPTOWNERCIK\tRPTOWNERNAME\n", "insider-set-owner"),
    (b"ACCESSION_NUMBER\tNONDERIV_TRANS_SK\n", "insider-set-nonderiv-trans"),
    (b"ACCESSION_NUMBER\tNONDERIV_HOLDING_SK\n", "insider-set-nonderiv-holding"),
    (b"ACCESSION_NUMBER\tDERIV_TRANS_SK\n", "insider-set-deriv-trans"),
    (b"ACCESSION_NUMBER\tDERIV_HOLDING_SK\n", "insider-set-deriv-holding"),
    (b"ACCESSION_NUMBER\tFOOTNOTE_ID\tFOOTNOTE_TXT\n", "insider-set-footnotes"),
    (b"ACCESSION_NUMBER\tOWNERSIGNATURENAME\tOWNERSIGNATUREDATE\n", "insider-set-signature"),
    (b'<edgarSubmission xmlns="http://www.sec.gov/edgar/thirteenffiler"/>', "13f-cover"),
    (b"<edgarSubmission><submissionType>13F-NT</submissionType></edgarSubmission>", "13f-cover"),
    (b"<edgarSubmission><submissionType>D</submissionType></edgarSubmission>", "unknown"),
    (b'\n\n<?xml version="1.0" ?>\n<n1:informationTable/>', "13f-table"),
    (b'<feed xmlns="http://www.w3.org/2005/Atom"/>', "atom-feed"),
    (b"<FilingSummary/>", "filing-summary"),
    (b"<Error><Code>AccessDenied</Code></Error>", "sec-error-page"),
    (b"<HTML><HEAD>\n<TITLE>Access Denied</TITLE>", "sec-error-page"),
    (b"<!DOCTYPE html><html><title>SEC.gov | File Not Found Error Alert (404)</title>", "sec-error-page"),
    (b'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"/>', "inline-html"),
    (b'<html><script src="Show.js"></script><table class="report">', "r-page"),
    (b"<html><title>EDGAR Filing Documents for 0000320193-25-000057</title>", "filing-index"),
    (b'<html><strong>SEC Accession No.</strong> 1<div class="infoHead">Filing Date</div>', "filing-index"),
    (b"<HTML><PRE>&lt;SEC-HEADER&gt;0000320193-25-000057.hdr.sgml", "filing-index"),
    (b"<SEC-HEADER>0000320193-25-000057.hdr.sgml : 20250502\n</SEC-HEADER>", "filing-index"),
    (b"<html><h1>Directory Listing for /Archives/edgar/data/1</h1>", "directory-index"),
    (b"<html><body>An exhibit.</body></html>", "unknown"),
    (b"<SEC-HEADER>x\n</SEC-HEADER>\n<DOCUMENT>\n", "full-submission"),
    (b"<SEC-DOCUMENT>x", "full-submission"),
    (b"<IMS-DOCUMENT>x", "full-submission"),
    (b"<SUBMISSION>\r<ACCESSION-NUMBER>x", "full-submission"),
    (b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: x\n\n<IMS-DOCUMENT>x", "full-submission"),
    (b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: x\n\n", "unknown"),
    (b'{"cik":"0000320193","entityType":"operating"', "submissions"),
    (b'\xef\xbb\xbf {"addresses":{"filings":[]},"cik":1,"filings":{}}', "submissions"),
    (b'{"accessionNumber":["0000950103-18-001851"]}', "submissions-page"),
    (b'{"cik":320193,"entityName":"Apple Inc.","facts":{}}', "companyfacts"),
    (b'{"0":{"cik_str":1,"ticker":"A","title":"A"}}', "company-tickers"),
    (b'{"fields":["cik","name","ticker","exchange"],"data":[]}', "company-tickers"),
    (b'{"fields":["cik","seriesId","classId","symbol"],"data":[]}', "company-tickers"),
    (b"aapl\t320193\nmsft\t789019\n", "company-tickers"),
    (b"aapl\tx\n", "unknown"),
    (b'{"fields":["a"],"data":[]}', "unknown"),
    (b'{"version":"2.2","instance":{}}', "metalinks"),
    (b'{"directory":{"item":[]}}', "directory-index"),
    (b'{"x":{"facts":1},"y":"\\"facts\\":"}', "unknown"),
    (b"[]", "unknown"),
    (b"Description:           Master Index of EDGAR Dissemination Feed\n", "form-index"),
    (b"adsh\tcik\tname\tsic\tform\tperiod\tfiled\n", "fsds-sub"),
    (b"Date,Open,High,Low,Close,Adj Close,Volume\n", "prices"),
    (b"timestamp;adjusted_close;dividend_amount\n", "prices"),
    (b"date,volume\n", "unknown"),
    (b"adsh\ttag\tversion\tcoreg\tddate\tqtrs\tuom\tvalue\tfootnote\r\n", "fsds-num"),
    (b"tag\tversion\tcustom\tabstract\tdatatype\tiord\tcrdr\ttlabel\tdoc\n", "fsds-tag"),
    (b"adsh\treport\tline\tstmt\tinpth\trfile\ttag\tversion\tplabel\n", "fsds-pre"),
    (b"<html>\n<head>\n<title>Financial Statement Data Sets</title>", "fsds-readme"),
    (b"Symbol, CUSIP\n", "cusip-mapping"),
    (b"cusip,Issuer Name\r\n", "cusip-mapping"),
    (b"cusip,shares\n", "unknown"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"%PDF-1.4", "pdf"),
    (b"\xff\xd8\xff\xe0", "image"),
    (b"GIF89a", "image"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"", "empty"),
    (b"\xef\xbb\xbf \r\n\t", "empty"),
    (b"\0" * 10, "unknown"),
    (b"Date,Open,High\n", "unknown"),
    (b"<", "unknown"),
    (b"<!--", "unknown"),
    (b"<?xml", "unknown"),
    (b"<!DOCTYPE x [ <!ENTITY a 'b'> ]><xbrl/>", "unknown"),
    (b"{", "unknown"),
]

# The kinds in SOURCES.tsv with finapi's names for them. For the others, see KIND_BY_NAME.
KIND_BY_SOURCE = {
    "companyfacts": "companyfacts",
    "companyfacts (trimmed)": "companyfacts",
    "submissions": "submissions",
    "submissions (older page)": "submissions-page",
    "company_tickers": "company-tickers",
    "ownership XML 3": "ownership",
    "ownership XML 4": "ownership",
    "ownership XML 5": "ownership",
    "ownership XML 4 (SGML submission)": "full-submission",
    "ownership XML 4/A (SGML submission)": "full-submission",
    "13F-HR full submission": "full-submission",
    "13F-HR cover": "13f-cover",
    "13F table": "13f-table",
    "13F table (trimmed)": "13f-table",
    "filing directory index.json": "directory-index",
    "xbrl instance": "xbrl-instance",
    "xbrl schema": "xbrl-schema",
    "xbrl presentation linkbase": "xbrl-presentation",
    "xbrl calculation linkbase": "xbrl-calculation",
    "xbrl definition linkbase": "xbrl-definition",
    "xbrl label linkbase": "xbrl-label",
    "xbrl inline XBRL document": "inline-html",
    "Financial Statement Data Set (whole quarter)": "zip",
    "daily form index": "form-index",
    "quarterly master index": "form-index",
    "getcurrent Atom": "atom-feed",
    "HTTP error body": "sec-error-page",
    "full submission .txt": "full-submission",
    "full submission .txt (.nc feed form)": "full-submission",
}
KIND_BY_NAME = {
    "FilingSummary.xml": "filing-summary",
    "MetaLinks.json": "metalinks",
    "sub.txt": "fsds-sub",
    "num.txt": "fsds-num",
    "pre.txt": "fsds-pre",
    **{f"R{number}.htm": "r-page" for number in range(1, 10)},
}


def list_real_documents() -> list[tuple[str, str]]:
    """Return the path and the expected kind of each real document."""
    documents = []
    for line in (EDGAR / "SOURCES.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        path, source = line.split("\t")[:2]
        name = path.rpartition("/")[2]
        documents.append((path, KIND_BY_NAME.get(name) or KIND_BY_SOURCE[source]))
    return documents


@run_each_case("data, expected", SAMPLES)
def test_kind_is_detected_from_the_content(data: bytes, expected: str) -> None:
    assert detect_kind(data, "") == expected
    assert detect_kind(data, "misleading_pre.xml") == ("xbrl-presentation" if b"referenceLink" in data else expected)


@needs_shared
def test_every_real_document_is_detected_without_its_name() -> None:
    expected = list_real_documents()
    assert len(expected) > 100
    assert [(path, detect_kind((EDGAR / path).read_bytes(), "")) for path, _ in expected] == expected


def test_linkbase_is_detected_behind_many_role_references() -> None:
    references = b'<link:roleRef roleURI="http://a/role/AReallyLongRoleNameToFillThePrefix"/>\n' * 1500
    assert len(references) > 64 * 1024
    assert detect_kind(LINKBASE % (references + b"<link:definitionLink/>"), "x") == "xbrl-definition"


@run_each_case(
    "name, expected",
    [
        ("a_pre.xml", "xbrl-presentation"),
        ("A_CAL.XML", "xbrl-calculation"),
        ("a_def.xml", "xbrl-definition"),
        ("a_lab.xml", "xbrl-label"),
        ("a.xml", "xbrl-linkbase"),
    ],
)
def test_name_decides_if_a_linkbase_has_no_link(name: str, expected: str) -> None:
    assert detect_kind(LINKBASE % b"", name) == expected


def test_every_kind_has_a_sample() -> None:
    assert {expected for _, expected in SAMPLES} == KINDS


@run_each_case(
    "data",
    [
        b"<!---->" * 200_000,
        b"<" * 2_000_000,
        b'{"a":' * 400_000,
        b'"' * 2_000_000,
        b'{"' + b"\\" * 2_000_000,
        b" " * 2_000_000 + b"{",
        b"<html>" + b"<title>" * 300_000,
        LINKBASE % (b"Link" * 500_000),
        b"\t" * 2_000_000,
        b"a\t" * 1_000_000,
    ],
)
def test_hostile_megabytes_have_a_kind(data: bytes) -> None:
    assert detect_kind(data, "x") in KINDS


@pytest.mark.slow
@settings(max_examples=examples(500), deadline=None, database=None)
@given(data=st.data())
def test_damaged_bytes_never_raise(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from([sample for sample, _ in SAMPLES])))
    start = data.draw(st.integers(0, len(text)))
    text[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    assert detect_kind(bytes(text), data.draw(st.text(max_size=9))) in KINDS


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<?xml version='1.0' encoding='UTF-16'?><ownershipDocument>\u20ac</ownershipDocument>", "ownership"),
        ("Date\tOpen\tClose\n2024-01-02\t1\t2\n", "prices"),
        ("\ufeff\ud800 nothing", "unknown"),
    ],
)
def test_utf16_is_detected_by_its_byte_order_mark(text: str, kind: str, codec: str) -> None:
    assert detect_kind(f"\ufeff{text}".encode(codec, "surrogatepass"), "") == kind
