"""The parser of Form 13F: covers, tables, and refusals."""

from __future__ import annotations

import contextlib
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import cusip, document_kinds, sgml, thirteenf
from tests.conftest import SHARED, needs_shared
from tests.support import thirteenf_xml as xml
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples
from tests.support.slow_cases import slow_after

FOLDER = SHARED / "edgar" / "thirteenf"

# The number of rows and the sum of their values.
FULL_SUBMISSIONS = {
    "0001140361-23-013281.txt": (6, 11_019_796),
    "0001619124-21-000002.txt": (5, 732_158),
    "0001894188-23-000007.txt": (14, 454_926_000),
}


def parse_submission(name: str) -> tuple[thirteenf.CoverPage, list[thirteenf.Holding]]:
    """Return the cover and the table of a full submission."""
    content = (FOLDER / name).read_bytes()
    bodies = {}
    for document in sgml.iter_documents(content, name):
        bodies[document_kinds.detect_kind(document.body.lstrip(), "")] = document.body
    return thirteenf.parse_cover(bodies["13f-cover"], name), thirteenf.parse_table(bodies["13f-table"], name)


def get_table_error(data: bytes) -> str:
    with pytest.raises(ParseError) as caught:
        thirteenf.parse_table(data, "table.xml")
    return caught.value.reason


# ---- tables


@needs_shared
@pytest.mark.parametrize("name", FULL_SUBMISSIONS)
def test_full_table_agrees_with_its_cover(name: str) -> None:
    cover, rows = parse_submission(name)
    assert (len(rows), sum(row.value for row in rows)) == FULL_SUBMISSIONS[name]
    assert (cover.entry_total, cover.value_total) == FULL_SUBMISSIONS[name]


@needs_shared
def test_table_of_255_rows_after_a_blank_line() -> None:
    rows = thirteenf.parse_table((FOLDER / "infotable_255rows.xml").read_bytes(), "t")
    assert len(rows) == 255
    assert sum(row.value for row in rows) == 350_153_407
    assert rows[0] == thirteenf.Holding(
        "3M CO", "COM", "88579Y101", None, 409469, 2334, "SH", None, "SOLE", None, 0, 0, 2334
    )
    assert all(cusip.is_valid(row.cusip) for row in rows)


@needs_shared
def test_trimmed_table_disagrees_with_its_cover() -> None:
    rows = thirteenf.parse_table((FOLDER / "brk_2026q1_0001193125-26-226661_infotable_TRIMMED.xml").read_bytes(), "t")
    cover = thirteenf.parse_cover((FOLDER / "brk_2026q1_0001193125-26-226661_primary_doc.xml").read_bytes(), "c")
    assert (len(rows), sum(row.value for row in rows)) == (5, 2_160_900_777)
    assert (cover.entry_total, cover.value_total) == (90, 263_095_703_570)
    assert [row.manager_numbers for row in rows] == ["4", "2,4,11", "4,11", "4", "4"]


@pytest.mark.parametrize("prefix", ["", "ns1", "n1"])
def test_prefixes_do_not_matter(prefix: str) -> None:
    data = xml.table(xml.row(xml.APPLE, 2500, 10, putCall="Put", otherManager="1,2"), prefix=prefix)
    assert thirteenf.parse_table(data, "t") == [
        thirteenf.Holding("APPLE INC", "COM", xml.APPLE, None, 2500, 10, "SH", "Put", "SOLE", "1,2", 10, 0, 0)
    ]


def test_table_without_a_namespace_is_read() -> None:
    data = re.sub(rb' xmlns="[^"]*"', b"", xml.table(xml.row(xml.APPLE, 1, 1)))
    assert len(thirteenf.parse_table(data, "t")) == 1


def test_missing_votes_and_words_are_none() -> None:
    data = xml.table(xml.row(xml.APPLE, 1, 1, Sole=None, Shared=None, investmentDiscretion=None))
    (row,) = thirteenf.parse_table(data, "t")
    assert (row.sole_voting, row.shared_voting, row.no_voting) == (None, None, 0)
    assert (row.discretion, row.manager_numbers) == (None, None)


def test_principal_and_calls_are_marked() -> None:
    rows = thirteenf.parse_table(
        xml.table(xml.row(xml.NOTE, 9, 10, sshPrnamtType="prn"), xml.row(xml.APPLE, 9, 10, putCall="CALL")), "t"
    )
    assert [(row.amount_type, row.put_call) for row in rows] == [("PRN", None), ("SH", "Call")]


def test_whole_number_may_end_in_a_decimal_point() -> None:
    assert thirteenf.parse_table(xml.table(xml.row(xml.APPLE, "12.00", "3.")), "t")[0].value == 12


@run_each_case(
    "changes, reason",
    [
        ({"cusip": None}, "row 1: '' is not a CUSIP"),
        ({"nameOfIssuer": None}, "row 1: nameOfIssuer is missing"),
        ({"value": None}, "row 1: value '' is not a whole number up to 1000000000000000"),
        ({"value": "-5"}, "row 1: value '-5' is not a whole number up to 1000000000000000"),
        ({"value": "1.5"}, "row 1: value '1.5' is not a whole number up to 1000000000000000"),
        ({"value": "٣"}, "row 1: value '٣' is not a whole number up to 1000000000000000"),
        ({"value": "9" * 16}, f"row 1: value '{'9' * 16}' is not a whole number up to 1000000000000000"),
        ({"sshPrnamtType": "XX"}, "row 1: sshPrnamtType 'XX' is neither SH nor PRN"),
        ({"putCall": "Both"}, "row 1: putCall 'both' is neither Put nor Call"),
        ({"Sole": "many"}, "row 1: sole 'many' is not a whole number up to 1000000000000000"),
        ({"titleOfClass": "COM</titleOfClass><titleOfClass>COM"}, "row 1: titleOfClass occurs twice"),
        ({"titleOfClass": "<b>COM</b>"}, "element b where only text is allowed"),
        ({"titleOfClass": "<infoTable/>"}, "element infoTable where only text is allowed"),
        ({"nameOfIssuer": "A" * 1001}, "a text is longer than this reader accepts"),
    ],
)
def test_error_names_the_invalid_row(changes: dict[str, str], reason: str) -> None:
    assert get_table_error(xml.table(xml.row(xml.APPLE, 1, 1, **changes))) == reason


def test_table_with_an_impossible_total_is_refused() -> None:
    assert len(thirteenf.parse_table(xml.table(*[xml.row(xml.APPLE, 5 * 10**14, 1)] * 2), "t")) == 2
    rows = [xml.row(xml.APPLE, 6 * 10**14, 1)] * 2
    assert get_table_error(xml.table(*rows)) == "row 2: the table's total exceeds 1000000000000000"


def test_document_type_declaration_is_refused() -> None:
    data = xml.table().replace(b"?>\n", b'?><!DOCTYPE x [<!ENTITY a "b">]>', 1)
    assert get_table_error(data) == "a document type declaration, which no SEC format allows"


PLAIN_TABLE = xml.table(
    xml.row(xml.APPLE, 1000, 10, nameOfIssuer="AT&amp;T &amp;amp; CO"),
    xml.row(xml.APPLE, 7, 1, putCall="Call", otherManager="1,2"),
).replace(b"</cusip>", b"</cusip><figi>BBG000B9XRY4</figi>", 1)


def parse_or_error(parse: Callable[[bytes, str], list[thirteenf.Holding]], table: bytes) -> object:
    """Return the rows of a table or the message of the error."""
    try:
        return parse(table, "table.xml")
    except ParseError as error:
        return str(error)


def test_plain_table_is_read_by_the_regular_expression() -> None:
    rows = thirteenf.parse_plain_table(PLAIN_TABLE)
    assert rows is not None
    assert rows == thirteenf.parse_table(PLAIN_TABLE, "t") == thirteenf.parse_table_as_xml(PLAIN_TABLE, "t")
    first, second = rows
    assert (first.issuer, first.figi, first.value, first.put_call) == ("AT&T &amp; CO", "BBG000B9XRY4", 1000, None)
    assert (second.put_call, second.manager_numbers, second.amount) == ("Call", "1,2", 1)


@pytest.mark.parametrize("portion", slow_after(1, [500, 1_000_000]))
@pytest.mark.parametrize("byte", slow_after(4, [None, *b'<&\xc3>/;]" \n\x00x0.']))
def test_damaged_byte_has_the_same_effect_in_both_readers(
    byte: int | None, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thirteenf, "PORTION_CHARACTERS", portion)
    replacement = b"" if byte is None else bytes([byte])
    for position in range(len(PLAIN_TABLE)):
        damaged = PLAIN_TABLE[:position] + replacement + PLAIN_TABLE[position + 1 :]
        expected = parse_or_error(thirteenf.parse_table_as_xml, damaged)
        assert parse_or_error(thirteenf.parse_table, damaged) == expected, position


@pytest.mark.parametrize("portion", [400, 700, 1_500])
@pytest.mark.parametrize("between", ["\n  ", "", " " * 1_600])
def test_plain_table_is_read_in_portions(portion: int, between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = xml.table(*[xml.row(xml.APPLE, number, 1) + between for number in range(50)])
    monkeypatch.setattr(thirteenf, "PORTION_CHARACTERS", portion)
    rows = thirteenf.parse_plain_table(data)
    assert rows is not None
    assert [row.value for row in rows] == list(range(50))


def test_small_portions_take_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    data = xml.table(*[xml.row(xml.APPLE, 1, 1)] * 3_000)
    peak_in_one_portion = measure_peak_bytes(data)
    monkeypatch.setattr(thirteenf, "PORTION_CHARACTERS", 50_000)
    assert measure_peak_bytes(data) < peak_in_one_portion - 2 * len(data)


def measure_peak_bytes(table: bytes) -> int:
    tracemalloc.start()
    try:
        assert thirteenf.parse_plain_table(table)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_table_with_a_long_text_is_left_to_the_xml_reader() -> None:
    for length, is_plain in ((thirteenf.MAX_PLAIN_TEXT, True), (thirteenf.MAX_PLAIN_TEXT + 1, False)):
        data = xml.table(xml.row(xml.APPLE, 1, 1, nameOfIssuer="A" * length))
        assert (thirteenf.parse_plain_table(data) is not None) == is_plain
        assert thirteenf.parse_table(data, "table.xml")[0].issuer == "A" * length


@run_each_case("blank", [b" ", b"\n"])
@run_each_case("tag", [b"<nameOfIssuer>", b"<value>", b"<infoTable>", b"</infoTable>"])
def test_megabyte_of_blanks_takes_no_quadratic_time(blank: bytes, tag: bytes) -> None:
    for end in (b"", b"x"):
        thirteenf.parse_plain_table(PLAIN_TABLE.replace(tag, tag + blank * 1_000_000 + end))


def test_rows_in_a_comment_or_instruction_are_ignored() -> None:
    start, end = PLAIN_TABLE.index(b"<infoTable>"), PLAIN_TABLE.rindex(b"</")
    rows = PLAIN_TABLE[start:end]
    root = b'<informationTable xmlns="' + thirteenf.TABLE_NAMESPACE.encode() + b'"/>'
    assert thirteenf.parse_table(b"<!--" + rows + b"</x-->" + root, "table.xml") == []
    assert thirteenf.parse_table(b"<?x " + rows + b"</?>" + root, "table.xml") == []
    assert len(thirteenf.parse_table(PLAIN_TABLE, "table.xml")) == 2


def test_rows_with_an_undeclared_prefix_are_refused() -> None:
    data = PLAIN_TABLE.replace(b"</", b"\0").replace(b"<", b"<n:").replace(b"\0", b"</n:").replace(b"<n:?", b"<?")
    assert get_table_error(data.replace(b"n:informationTable", b"informationTable")) == "unbound prefix"


def test_prefix_of_30_000_characters_takes_little_memory() -> None:
    prefix = "a" * 30_000
    data = xml.table(xml.row(xml.APPLE, 1000, 10), prefix=prefix)
    tracemalloc.start()
    try:
        (row,) = thirteenf.parse_table(data, "table.xml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert row.value == 1000
    assert peak < 10 * len(data)  # A regular expression with this prefix took 90 MB.


def test_truncated_table_is_refused() -> None:
    assert get_table_error(xml.table(xml.row(xml.APPLE, 1, 1))[:-30]) == "unclosed token"


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thirteenf, "MAX_ROWS", 2)
    assert get_table_error(xml.table(*[xml.row(xml.APPLE, 1, 1)] * 3)) == "more than 2 rows"


# ---- covers


def test_cover_has_its_values() -> None:
    data = xml.cover(
        entries=2, total=300, managers=["First LLC", "Second LLC"], amendment=(3, "restatement"), form="13F-HR/A"
    )
    cover = thirteenf.parse_cover(data, "c")
    assert cover == thirteenf.CoverPage(
        form="13F-HR/A",
        cik="0001234567",
        period="2025-09-30",
        report_type="13F HOLDINGS REPORT",
        amendment_type="RESTATEMENT",
        amendment_number=3,
        name="Lamp Capital LP",
        address="1 Wick Street, Reno, NV, 89501",
        file_number="028-12345",
        signer="Ann Lamp",
        signer_title="CCO",
        signed="2025-11-14",
        entry_total=2,
        value_total=300,
        confidential_omitted=False,
        reporting_managers=(),
        included_managers=(
            thirteenf.Manager(1, "First LLC", None, "028-00001"),
            thirteenf.Manager(2, "Second LLC", None, "028-00001"),
        ),
    )
    assert cover.is_amendment
    assert not cover.is_notice


@needs_shared
def test_managers_that_report_for_this_one() -> None:
    cover, _ = parse_submission("0001140361-23-013281.txt")
    assert [(manager.number, manager.cik, manager.name) for manager in cover.reporting_managers] == [
        (None, "0000931588", "PROVIDA PENSION FUND ADMINISTRATOR"),
        (None, "0000728618", "METROPOLITAN LIFE INSURANCE CO/NY"),
        (None, "0001529735", "MetLife Investment Management, LLC"),
    ]


@needs_shared
def test_berkshire_includes_fourteen_managers() -> None:
    cover = thirteenf.parse_cover((FOLDER / "brk_2026q1_0001193125-26-226661_primary_doc.xml").read_bytes(), "c")
    assert [manager.number for manager in cover.included_managers] == list(range(1, 15))
    assert cover.included_managers[3].name == "Buffett Warren E"


@run_each_case(
    "data, place, reason",
    [
        (
            xml.cover(form="13F-XX"),
            "submissionType",
            "'13F-XX' is not one of 13F-HR, 13F-HR/A, 13F-NT, 13F-NT/A, 13F-CTR, 13F-CTR/A",
        ),
        (xml.cover(flag="TEST"), "liveTestFlag", "is a test filing"),
        (xml.cover(cik="0"), "cik", "'0' is not a CIK"),
        (xml.cover(period="2025-09-30"), "periodOfReport", "'2025-09-30' is not a date MM-DD-YYYY"),
        (xml.cover(period="02-30-2025"), "periodOfReport", "day is out of range for month"),
        (xml.cover(name=" "), "filingManager", "the manager has no name"),
        (xml.cover(total=10**15 + 1), "tableValueTotal", f"'{10**15 + 1}' is not a whole number up to {10**15}"),
        (
            xml.cover(total=1, entries=1).replace(b"<tableEntryTotal>1<", b"<tableEntryTotal>a<"),
            "tableEntryTotal",
            f"'a' is not a whole number up to {10**15}",
        ),
        (
            xml.cover(form="13F-HR/A", amendment=(1, "OTHER")),
            "amendmentType",
            "'OTHER' is neither RESTATEMENT nor NEW HOLDINGS",
        ),
    ],
)
def test_error_names_the_invalid_element_of_a_cover(data: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        thirteenf.parse_cover(data, "cover.xml")
    assert (caught.value.file, caught.value.place, caught.value.reason) == ("cover.xml", place, reason)


def test_invalid_date_of_signature_is_none() -> None:
    assert thirteenf.parse_cover(xml.cover(signed="soon"), "c").signed is None


def test_element_with_two_values_is_refused() -> None:
    data = xml.cover().replace(b"</filerInfo>", b"<periodOfReport>06-30-2025</periodOfReport></filerInfo>")
    with pytest.raises(ParseError, match="periodOfReport occurs twice with different values"):
        thirteenf.parse_cover(data, "c")


# ---- damaged and hostile documents

PIECES = st.sampled_from(
    [
        b"<",
        b">",
        b"</",
        b"infoTable",
        b"cusip",
        b"value",
        b"&amp;",
        b"&#0;",
        b"&#x41;",
        b"-",
        b"9" * 30,
        b"\xff",
        b"\0",
        b"otherManager2",
        b"otherManager",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<?x",
        b"?>",
    ]
)


@settings(max_examples=examples(150), deadline=None)
@given(
    document=st.sampled_from(
        [xml.table(xml.row(xml.APPLE, 5, 5), xml.row(xml.NOTE, 7, 1, putCall="Put")), xml.cover(managers=["A"])]
    ),
    cuts=st.lists(
        st.tuples(st.integers(0, 2_000), st.integers(0, 40), st.one_of(PIECES, st.binary(max_size=8))), max_size=4
    ),
)
def test_damaged_document_is_parsed_or_refused(document: bytes, cuts: list[tuple[int, int, bytes]]) -> None:
    for offset, length, piece in cuts:
        start = offset % len(document)
        document = document[:start] + piece + document[start + length :]
    for parse in (thirteenf.parse_table, thirteenf.parse_cover):
        with contextlib.suppress(ParseError):
            parse(document, "f")


def build_hostile_table(kind: str) -> bytes:
    """Return a table of about a megabyte that is meant to take much memory."""
    if kind == "small rows":
        small = (
            "<infoTable><nameOfIssuer>A</nameOfIssuer><cusip>0</cusip><value>1</value><sshPrnamt>1</sshPrnamt>"
            "<sshPrnamtType>SH</sshPrnamtType></infoTable>"
        )
        return xml.table(small * 8_000)
    if kind == "different names":
        return xml.table(*(xml.row(xml.APPLE, 1, 1, nameOfIssuer=f"{n}", otherManager=f"{n}") for n in range(2_400)))
    if kind == "managers":
        return xml.table(xml.row(xml.APPLE, 1, 1, otherManager="</otherManager><otherManager>".join(["1"] * 36_000)))
    return xml.table("<x/>" * 250_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["small rows", "different names", "managers", "unknown elements"])
def test_memory_stays_below_twenty_times_the_document(kind: str) -> None:
    data = build_hostile_table(kind)
    tracemalloc.start()
    try:
        thirteenf.parse_table(data, "f")
    except ParseError:
        assert kind == "managers"
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(data) > 900_000
    assert peak < 20 * len(data)


@needs_shared
def test_kinds_of_real_documents() -> None:
    kinds = {
        file.name: document_kinds.detect_kind(file.read_bytes(), file.name) for file in sorted(Path(FOLDER).iterdir())
    }
    assert (
        sorted(kinds.values()) == ["13f-cover"] * 2 + ["13f-table"] * 2 + ["directory-index"] + ["full-submission"] * 3
    )


def test_period_may_be_on_the_cover_page_only() -> None:
    data = xml.cover()
    without_period = data.replace(b"<periodOfReport>09-30-2025</periodOfReport>", b"")
    assert without_period != data
    assert thirteenf.parse_cover(without_period, "c").period == "2025-09-30"
