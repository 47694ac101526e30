"""The parser of full submissions: SGML headers and documents."""

from __future__ import annotations

import binascii
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar.sgml import MAX_HEADER_BYTES, HeaderFormerName, HeaderParty, iter_documents, parse_header
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

EDGAR = SHARED / "edgar"

TEXT = b"""<SEC-DOCUMENT>0001234567-24-000012.txt : 20240304
<SEC-HEADER>0001234567-24-000012.hdr.sgml : 20240304
<ACCEPTANCE-DATETIME>20240304173015
ACCESSION NUMBER:\t\t0001234567-24-000012
CONFORMED SUBMISSION TYPE:\t8-K
PUBLIC DOCUMENT COUNT:\t\t2
CONFORMED PERIOD OF REPORT:\t20240301
ITEM INFORMATION:\t\tResults of Operations and Financial Condition
ITEM INFORMATION:\t\tA Caption of the Future
ITEM INFORMATION:\t\tFinancial Statements and Exhibits
FILED AS OF DATE:\t\t20240304
DATE AS OF CHANGE:\t\t20240304

FILER:

\tCOMPANY DATA:\t
\t\tCOMPANY CONFORMED NAME:\t\t\tSMITH & JONES: MAKERS INC
\t\tCENTRAL INDEX KEY:\t\t\t0000001750
\t\tSTANDARD INDUSTRIAL CLASSIFICATION:\tAIRCRAFT & PARTS [3720]
\t\tORGANIZATION NAME:
\t\tSTATE OF INCORPORATION:\t\t\tDE
\t\tFISCAL YEAR END:\t\t\t0531

\tFILING VALUES:
\t\tFORM TYPE:\t\t8-K
\t\tSEC ACT:
\t\tSEC FILE NUMBER:\t001-06263

\tFORMER COMPANY:\t
\t\tFORMER CONFORMED NAME:\tALLEN AIRCRAFT RADIO INC
\t\tDATE OF NAME CHANGE:\t19700204

\tFORMER COMPANY:\t
\t\tFORMER CONFORMED NAME:\tOLDER STILL
\t\tDATE OF NAME CHANGE:\t00000000
</SEC-HEADER>
<DOCUMENT>
<TYPE>8-K
<SEQUENCE>1
<FILENAME>form8k.htm
<DESCRIPTION>CURRENT REPORT <AMENDED>
<TEXT>
<XML>

<?xml version="1.0"?>
<a>1</a>
</XML>
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>EX-99
<SEQUENCE>2
<TEXT>

  plain text
</TEXT>
</DOCUMENT>
</SEC-DOCUMENT>
"""

TAGGED = b"""<SUBMISSION>
<ACCESSION-NUMBER>0001234567-24-000012
<TYPE>8-K
<PUBLIC-DOCUMENT-COUNT>1
<PERIOD>20240301
<ITEMS>2.02
<ITEMS>9.01
<FILING-DATE>20240304
<FILER>
<COMPANY-DATA>
<CONFORMED-NAME>SMITH & JONES: MAKERS INC
<CIK>1750
<ASSIGNED-SIC>3720
<STATE-OF-INCORPORATION>DE
<FISCAL-YEAR-END>0531
</COMPANY-DATA>
<FILING-VALUES>
<FORM-TYPE>8-K
<ACT>34
<FILE-NUMBER>001-06263
</FILING-VALUES>
<FORMER-COMPANY>
<FORMER-CONFORMED-NAME>ALLEN AIRCRAFT RADIO INC
<DATE-CHANGED>19700204
</FORMER-COMPANY>
</FILER>
<DOCUMENT>
<TYPE>8-K
<SEQUENCE>1
<FILENAME>form8k.htm
<TEXT>
<HTML></HTML>
</TEXT>
</DOCUMENT>
</SUBMISSION>
"""


def read_real(path: str) -> bytes:
    if not (EDGAR / path).exists():
        pytest.skip(f"{EDGAR / path} is not here")
    return (EDGAR / path).read_bytes()


def replace_once(old: bytes, new: bytes, text: bytes = TEXT) -> bytes:
    assert old in text
    return text.replace(old, new, 1)


def parse_submission(content: bytes) -> None:
    parse_header(content, "a")
    list(iter_documents(content, "a"))


# --- the header


def test_text_header_has_the_filing_and_its_filer() -> None:
    header = parse_header(TEXT, "a.txt")
    assert header.accession == "0001234567-24-000012"
    assert (header.form, header.period, header.filed) == ("8-K", "2024-03-01", "2024-03-04")
    assert header.accepted == "2024-03-04T22:30:15.000Z"
    assert header.document_count == 2
    assert header.parties == (
        HeaderParty(
            role="filer",
            cik="0000001750",
            name="SMITH & JONES: MAKERS INC",
            sic="3720",
            state="DE",
            fiscal_year_end="0531",
            form="8-K",
            file_number="001-06263",
            former_names=(
                HeaderFormerName("ALLEN AIRCRAFT RADIO INC", "1970-02-04"),
                HeaderFormerName("OLDER STILL", None),
            ),
        ),
    )


def test_tagged_header_equals_the_text_header() -> None:
    text = parse_header(TEXT, "a.txt")
    tagged = parse_header(TAGGED, "a.nc")
    assert tagged.accession == text.accession
    assert (tagged.form, tagged.period, tagged.filed) == (text.form, text.period, text.filed)
    assert tagged.accepted is None
    (text_party,) = text.parties
    (tagged_party,) = tagged.parties
    assert (tagged_party.role, tagged_party.cik) == (text_party.role, text_party.cik)
    assert (tagged_party.name, tagged_party.sic) == (text_party.name, text_party.sic)
    assert tagged_party.former_names == text_party.former_names[:1]


def test_items_are_numbers_in_both_dialects() -> None:
    assert parse_header(TEXT, "a.txt").items == ("2.02", "A Caption of the Future", "9.01")
    assert parse_header(TAGGED, "a.nc").items == ("2.02", "9.01")


def test_items_before_august_2004_have_the_old_numbers() -> None:
    old = replace_once(b"FILED AS OF DATE:\t\t20240304", b"FILED AS OF DATE:\t\t20040820")
    assert parse_header(old, "a.txt").items == ("12", "A Caption of the Future", "7")


@run_each_case(
    "form, texts, items",
    [
        ("D", ("06b", "3C", "3C.7"), ("06b", "3C", "3C.7")),
        ("D/A", ("04.1", "06", "4a5", "05"), ("04.1", "06", "4a5", "05")),
        (
            "D",
            ("Rule 506(b)", "Rule 504", "Investment Company Act Section 3(c)", "Section 3(c)(7)", "Section 3(c)(1)"),
            ("06b", "04", "3C", "3C.7", "3C.1"),
        ),
        (
            "SD",
            ("Conflict Minerals Disclosure and Report", "Exhibit", "Resource Extraction Issuer Disclosure", "Exhibits"),
            ("1.01", "1.02", "2.01", "3.01"),
        ),
        ("SD/A", ("1.01", "1.02"), ("1.01", "1.02")),
        (
            "ABS-15G",
            (
                "Initial Filing of Rule 15Ga-1 Representations and Warranties Disclosure",
                "Periodic Filing of Rule 15Ga-1 Representations and Warranties Disclosure",
                "Notice of Termination of Duty to File Reports under Rule 15Ga-1",
                "Findings and Conclusions of a Third Party Due Diligence Report Obtained by the Issuer",
                "Findings and Conclusions of a Third-Party Due Diligence Report Obtained by the Underwriter",
            ),
            ("1.01", "1.02", "1.03", "2.01", "2.02"),
        ),
        ("ABS-15G", ("Entry into a Material Definitive Agreement",), ("Entry into a Material Definitive Agreement",)),
    ],
)
def test_items_of_other_forms_have_their_numbers(form: str, texts: tuple[str, ...], items: tuple[str, ...]) -> None:
    lines = "".join(f"ITEM INFORMATION:\t\t{text}\n" for text in texts).encode()
    old_lines = TEXT[TEXT.index(b"ITEM INFORMATION") : TEXT.index(b"FILED AS OF DATE")]
    header = TEXT.replace(old_lines, lines).replace(b"TYPE:\t8-K", b"TYPE:\t" + form.encode())
    assert parse_header(header, "a.txt").items == items


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_other_line_ends_make_no_difference(end: bytes) -> None:
    assert parse_header(TEXT.replace(b"\n", end), "a.txt") == parse_header(TEXT, "a.txt")
    assert parse_header(TAGGED.replace(b"\n", end), "a.nc") == parse_header(TAGGED, "a.nc")


def test_mixed_line_ends_make_no_difference() -> None:
    mixed = TEXT.replace(b"\nFILER", b"\r\nFILER").replace(b"\n\t\tSTATE", b"\r\t\tSTATE")
    assert parse_header(mixed, "a.txt") == parse_header(TEXT, "a.txt")


def test_ims_header_in_a_pem_wrapper_is_read() -> None:
    old = TEXT.replace(b"SEC-DOCUMENT>", b"IMS-DOCUMENT>").replace(b"SEC-HEADER>", b"IMS-HEADER>")
    pem = b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\nProc-Type: 2001,MIC-CLEAR\n\n" + old
    assert parse_header(pem, "a.txt") == parse_header(TEXT, "a.txt")


def test_latin_1_name_is_read() -> None:
    old = replace_once(b"SMITH & JONES: MAKERS INC", b"SOCI\xc9T\xc9 G\xc9N\xc9RALE \x85")
    assert parse_header(old, "a.txt").parties[0].name == "SOCIÉTÉ GÉNÉRALE"


def test_header_may_have_four_mebibytes() -> None:
    before, _, after = TEXT.partition(b"</SEC-HEADER>")
    header_bytes = len(before.partition(b"<SEC-HEADER>")[2]) + len(b"</SEC-HEADER>")
    padding = (b" " * 1023 + b"\n") * (MAX_HEADER_BYTES // 1024)
    padding = padding[-(MAX_HEADER_BYTES - header_bytes) :]
    assert parse_header(before + padding + b"</SEC-HEADER>" + after, "a.txt") == parse_header(TEXT, "a.txt")
    with pytest.raises(ParseError, match="cut off: it has no end"):
        parse_header(before + padding + b"\n</SEC-HEADER>" + after, "a.txt")


def test_header_file_alone_is_read() -> None:
    header = b"<SEC-HEADER>0001234567-24-000012.hdr.sgml : 20240304\n" + TAGGED.split(b"<DOCUMENT>")[0][13:]
    header += b"</SEC-HEADER>\n"
    assert parse_header(header, "a.hdr.sgml") == parse_header(TAGGED, "a.nc")
    assert list(iter_documents(header, "a.hdr.sgml")) == []


def test_index_headers_page_has_a_comment_or_an_escaped_header() -> None:
    escaped = TEXT.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    page = b"<HTML><BODY><PRE>" + escaped + b"</PRE></BODY></HTML>"
    assert parse_header(page, "a-index-headers.html") == parse_header(TEXT, "a.txt")
    comment = b"<!--\n<SEC-HEADER>x\n" + TAGGED.split(b"<DOCUMENT>")[0][13:] + b"</SEC-HEADER>\n-->\n"
    assert parse_header(b"<HTML>" + comment + page, "a-index-headers.html") == parse_header(TAGGED, "a.nc")


def test_sic_of_zeros_and_impossible_year_end_are_none() -> None:
    assert parse_header(replace_once(b"<ASSIGNED-SIC>3720", b"<ASSIGNED-SIC>0000", TAGGED), "a").parties[0].sic is None
    assert parse_header(replace_once(b"PARTS [3720]", b" []"), "a").parties[0].sic is None
    assert parse_header(replace_once(b"0531", b"0000"), "a").parties[0].fiscal_year_end is None
    assert parse_header(replace_once(b"0531", b"1301"), "a").parties[0].fiscal_year_end is None


@run_each_case(
    "old, new, place, reason",
    [
        (b"ACCESSION NUMBER:\t\t0001234567-24-000012", b"", "header", "has no accession"),
        (b"ER:\t\t0001234567-24-000012", b"ER:\t\t000123456724000012", "ACCESSION NUMBER", "is not an accession"),
        (b"CONFORMED SUBMISSION TYPE:\t8-K", b"", "header", "has no form"),
        (b"FILED AS OF DATE:\t\t20240304", b"", "header", "has no filed"),
        (b"FILED AS OF DATE:\t\t20240304", b"FILED AS OF DATE:\t\t20240230", "FILED AS OF DATE", "20240230"),
        (b"REPORT:\t20240301", b"REPORT:\t2024-03-01", "PERIOD OF REPORT", "2024-03-01"),
        (b"20240304173015", b"20240304253015", "ACCEPTANCE-DATETIME", "20240304253015"),
        (b"20240304173015", b"19700101000000", "ACCEPTANCE-DATETIME", "19700101000000"),
        (b"0000001750", b"ABC", "FILER", "'ABC' is not a CIK"),
        (b"CENTRAL INDEX KEY:\t\t\t0000001750", b"", "FILER", "'' is not a CIK"),
        (b"COMPANY CONFORMED NAME:", b"COMPANY:", "header", "has no name"),
        (b"JONES", b"JO\0ES", "header", "contains a NUL byte"),
        (b"<SEC-HEADER>", b"<HEADER>", "", "no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>"),
    ],
)
def test_broken_header_is_refused_with_its_place(old: bytes, new: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse_header(replace_once(old, new), "a.txt")
    assert raised.value.file == "a.txt"
    assert raised.value.place == place
    assert reason in raised.value.reason


@pytest.mark.parametrize("text", [TEXT, TAGGED], ids=["text", "tagged"])
def test_header_cut_off_at_any_offset_is_refused(text: bytes) -> None:
    end = text.index(b"</SEC-HEADER>" if b"</SEC-HEADER>" in text else b"<DOCUMENT>")
    for offset in range(end):
        with pytest.raises(ParseError):
            parse_header(text[:offset], "a")


@run_each_case("garbage", [b"", b"\0" * 1000, b"<" * 100_000, b"{}", bytes(range(256)) * 100])
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(ParseError):
        parse_header(garbage, "a")
    with pytest.raises(ParseError):
        list(iter_documents(garbage, "a"))


def test_header_must_begin_in_the_first_64_kib() -> None:
    front = TEXT.index(b"<SEC-HEADER>") + len(b"<SEC-HEADER>")
    filler = b" " * (65_536 - front)
    assert parse_header(filler + TEXT, "a.txt").form == "8-K"
    with pytest.raises(ParseError, match="no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>"):
        parse_header(b" " + filler + TEXT, "a.txt")


def test_header_that_never_ends_is_refused() -> None:
    with pytest.raises(ParseError, match="cut off"):
        parse_header(b"<SEC-HEADER>" + b"GROUP MEMBERS:\t\tSOMEBODY\n" * 300_000 + b"</SEC-HEADER>", "a")


# --- the documents


def test_documents_are_in_order_with_their_names() -> None:
    first, second = iter_documents(TEXT, "a.txt")
    assert (first.type, first.sequence, first.filename) == ("8-K", 1, "form8k.htm")
    assert first.description == "CURRENT REPORT <AMENDED>"
    assert (second.type, second.sequence, second.filename, second.description) == ("EX-99", 2, None, None)


def test_wrapper_is_removed_and_plain_text_unchanged() -> None:
    first, second = iter_documents(TEXT, "a.txt")
    assert first.body == b'<?xml version="1.0"?>\n<a>1</a>'
    assert second.body == b"\n  plain text"


@pytest.mark.parametrize("wrapper", [b"XBRL", b"PDF"])
def test_other_wrappers_are_removed(wrapper: bytes) -> None:
    text = TEXT.replace(b"<XML>", b"<" + wrapper + b">").replace(b"</XML>", b"</" + wrapper + b">")
    assert next(iter_documents(text, "a.txt")).body == b'<?xml version="1.0"?>\n<a>1</a>'


def encode_uu(content: bytes, end: bytes = b"\n") -> bytes:
    lines = [binascii.b2a_uu(content[i : i + 45]).rstrip(b"\n") for i in range(0, len(content), 45)]
    return end.join([b"begin 644 a.bin", *lines, b"`", b"end", b""])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_uuencoded_attachment_is_decoded(end: bytes) -> None:
    content = bytes(range(256)) * 7
    text = replace_once(b"\n  plain text\n", b"<PDF>\n" + encode_uu(content, end) + b"</PDF>\n")
    assert list(iter_documents(text, "a.txt"))[1].body == content
    text = replace_once(b"\n  plain text\n", encode_uu(content, end))
    assert list(iter_documents(text, "a.txt"))[1].body == content


def test_uuencoded_lines_with_checksums_are_decoded() -> None:
    text = replace_once(b"  plain text", b"begin 644 a\n#86)CX\n#\n`\nend")
    assert list(iter_documents(text, "a.txt"))[1].body == b"abc\0\0\0"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"begin 644 a\n#86)C\n", "the uuencoded attachment has no end"),
        (b"begin 644 a\n#8\x7f)C\n`\nend", "uuencoded line 2: Illegal char"),
    ],
)
def test_broken_attachment_has_an_error(body: bytes, reason: str) -> None:
    first, broken = iter_documents(replace_once(b"  plain text", body), "a.txt")
    assert (first.error, bool(first.body)) == (None, True)
    assert (broken.body, str(broken.error)) == (b"", f"a.txt: document 2: {reason}")


def test_attachment_that_is_too_large_has_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.edgar.sgml.MAX_ATTACHMENT_BYTES", 1000)
    text = replace_once(b"  plain text", b"begin 644 a\n" + b"M\n" * 100 + b"`\nend")
    broken = list(iter_documents(text, "a.txt"))[1]
    assert (broken.body, str(broken.error)) == (b"", "a.txt: document 2: attachment of more than 1000 bytes")


def test_documents_before_a_broken_one_are_yielded() -> None:
    broken = iter_documents(replace_once(b"<SEQUENCE>2\n<TEXT>", b"<SEQUENCE>2\n"), "a.txt")
    assert next(broken).type == "8-K"
    with pytest.raises(ParseError, match="document 2: cut off"):
        next(broken)


def test_wrapper_that_does_not_close_is_an_error() -> None:
    broken, *_ = iter_documents(replace_once(b"</XML>", b""), "a.txt")
    assert (broken.body, str(broken.error)) == (b"", "a.txt: document 1: no </XML>")


def test_document_without_text_does_not_include_the_next() -> None:
    text = TEXT.replace(b"<TEXT>\n<XML>", b"<XML>").replace(b"</XML>\n</TEXT>", b"</XML>")
    with pytest.raises(ParseError, match="document 1: cut off"):
        list(iter_documents(text, "a.txt"))


def test_submission_cut_off_at_any_offset_is_refused() -> None:
    for text, last in ((TEXT, b"</SEC-DOCUMENT>"), (TAGGED, b"</SUBMISSION>")):
        for offset in range(text.index(last) + len(last)):
            with pytest.raises(ParseError):
                parse_submission(text[:offset])


# --- real files

REAL = [
    ("sgml/0000912057-00-023442.txt", "10-Q", "2000-04-01", "2000-05-11", None, 5, ["filer"]),
    ("sgml/0000943374-24-000509.txt", "8-K", "2024-12-20", "2024-12-27", "2024-12-27T21:29:40.000Z", 12, ["filer"]),
    ("sgml/0000950129-95-001652.txt", "24F-2NT", "1995-10-31", "1995-12-28", None, 2, ["filer"]),
    ("sgml/0001011438-98-000429.txt", "8-K", "1998-12-15", "1998-12-31", None, 2, ["filer"]),
    ("sgml/0001094891-00-000193.txt", "4", "2000-02-29", "2000-03-14", None, 1, ["subject", "reporting_owner"]),
    ("sgml/0001104659-25-002604.nc", "SC TO-T/A", None, "2025-01-10", None, 2, ["subject", "subject", "filed_by"]),
    (
        "sgml/0001104659-25-002604.txt",
        "SC TO-T/A",
        None,
        "2025-01-10",
        "2025-01-10T22:15:38.000Z",
        2,
        ["subject", "subject", "filed_by"],
    ),
    (
        "ownership/form4_0000320193_adams_0000320193-22-000061.txt",
        "4",
        "2022-05-04",
        "2022-05-06",
        "2022-05-06T22:30:57.000Z",
        1,
        ["reporting_owner", "issuer"],
    ),
    (
        "ownership/form4A_0000707549_ahmed_0000707549-25-000004.txt",
        "4/A",
        "2024-11-04",
        "2025-01-21",
        "2025-01-21T18:23:57.000Z",
        1,
        ["reporting_owner", "issuer"],
    ),
    (
        "thirteenf/0001140361-23-013281.txt",
        "13F-HR",
        "2021-12-31",
        "2023-03-23",
        "2023-03-23T15:27:45.000Z",
        2,
        ["filer"],
    ),
]


@run_each_case("path, form, period, filed, accepted, count, roles", REAL)
def test_real_submission_is_read(
    path: str, form: str, period: str | None, filed: str, accepted: str | None, count: int, roles: list[str]
) -> None:
    data = read_real(path)
    header = parse_header(data, path)
    assert header.accession in path
    assert (header.form, header.period, header.filed, header.accepted) == (form, period, filed, accepted)
    assert [party.role for party in header.parties] == roles
    assert len(list(iter_documents(data, path))) == count


def test_both_dialects_of_a_real_submission_agree() -> None:
    text = parse_header(read_real("sgml/0001104659-25-002604.txt"), "a.txt")
    tagged = parse_header(read_real("sgml/0001104659-25-002604.nc"), "a.nc")
    assert text.parties == tagged.parties
    assert [party.form for party in text.parties] == ["SC 13D/A", "SC TO-T/A", "SC TO-T/A"]
    assert text.parties[2].name == "ICAHN ENTERPRISES HOLDINGS L.P."
    assert text.parties[2].former_names == (HeaderFormerName("AMERICAN REAL ESTATE HOLDINGS L P", "1998-03-11"),)


def test_real_apple_form_4_names_the_owner_and_the_issuer() -> None:
    owner, issuer = parse_header(read_real(REAL[7][0]), "a.txt").parties
    assert (owner.cik, owner.name, owner.sic, owner.form) == ("0001462356", "Adams Katherine L.", None, "4")
    assert (issuer.cik, issuer.name, issuer.sic, issuer.fiscal_year_end) == ("0000320193", "Apple Inc.", "3571", "0924")
    assert issuer.former_names == (
        HeaderFormerName("APPLE INC", "2007-01-09"),
        HeaderFormerName("APPLE COMPUTER INC", "1997-08-08"),
    )


def test_real_8_k_has_its_item_and_its_attachments_decoded() -> None:
    data = read_real("sgml/0000943374-24-000509.txt")
    assert parse_header(data, "a.txt").items == ("5.02",)
    bodies = {document.filename: document.body for document in iter_documents(data, "a.txt")}
    assert bodies["Financial_Report.xlsx"].startswith(b"PK\x03\x04")
    assert len(bodies["Financial_Report.xlsx"]) == 5751
    assert len(bodies["0000943374-24-000509-xbrl.zip"]) == 9449
    assert bodies["bcow-20241220.xsd"].startswith(b'<?xml version="1.0" encoding="us-ascii"?>')
    assert bodies["form8k_122024_htm.xml"].endswith(b"</xbrl>")
    assert bodies["MetaLinks.json"].startswith(b'{\n "version": "2.2"')


def test_real_ownership_document_is_bare_xml() -> None:
    (document,) = iter_documents(read_real(REAL[7][0]), "a.txt")
    assert document.body.startswith(b'<?xml version="1.0"?>\n<ownershipDocument>')
    assert document.body.endswith(b"</ownershipDocument>")


def test_real_submission_cut_off_anywhere_is_refused() -> None:
    data = read_real("sgml/0000950129-95-001652.txt")
    for offset in range(0, data.index(b"</SEC-DOCUMENT>"), 97):
        with pytest.raises(ParseError):
            parse_submission(data[:offset])


# --- damaged files


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, database=None)
@given(data=st.data())
def test_damaged_submission_is_parsed_or_refused(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from([TEXT, TAGGED])))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text) - 1))
        length = data.draw(st.integers(0, 30))
        piece = st.one_of(st.binary(max_size=8), st.sampled_from([b"<TEXT>", b"</DOCUMENT>", b"begin 644 x\n", b"\r"]))
        text[start : start + length] = data.draw(piece)
    with suppress(ParseError):
        parse_header(bytes(text), "a")
    with suppress(ParseError):
        list(iter_documents(bytes(text), "a"))
