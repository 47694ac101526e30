"""Form 13F: covers and tables as values, and what is refused."""

from __future__ import annotations

import contextlib
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import cusip, document_kinds, sgml, thirteenf
from tests.conftest import SHARED, needs_shared
from tests.support import thirteenf_xml as made

FOLDER = SHARED / "edgar" / "thirteenf"

FULL = {
    "0001140361-23-013281.txt": (6, 11_019_796),
    "0001619124-21-000002.txt": (5, 732_158),
    "0001894188-23-000007.txt": (14, 454_926_000),
}


def both(name: str) -> tuple[thirteenf.CoverPage, list[thirteenf.Holding]]:
    """Cover and table of a full submission."""
    data = (FOLDER / name).read_bytes()
    bodies = {document_kinds.detect_kind(one.body.lstrip(), ""): one.body for one in sgml.iter_documents(data, name)}
    return thirteenf.parse_cover(bodies["13f-cover"], name), thirteenf.parse_table(bodies["13f-table"], name)


def refusal(data: bytes) -> str:
    with pytest.raises(ParseError) as caught:
        thirteenf.parse_table(data, "table.xml")
    return caught.value.reason


# ---- CUSIPs


@pytest.mark.parametrize("number", ["037833100", "594918104", "02079K107", "46434G822", "G1151C101", "78462F103"])
def test_a_real_cusip_has_its_check_digit(number: str) -> None:
    assert cusip.compute_check_digit(number[:8]) == number[8]
    assert cusip.is_valid(number)


def test_a_cusip_with_a_wrong_digit_or_length_is_not_valid() -> None:
    assert not cusip.is_valid("037833101")
    assert not cusip.is_valid("03783310")
    assert not cusip.is_valid("")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (" 02079k107 ", "02079K107"),
        ("2824100", "002824100"),  # a spreadsheet took the zeros away
        ("2824101", "2824101"),  # with zeros it would not be valid either
        ("037833 10 0", "037833100"),
    ],
)
def test_a_cusip_is_folded(text: str, folded: str) -> None:
    assert cusip.normalise(text) == folded


@pytest.mark.parametrize("text", ["", "0378331000", "03783310!", "Ö37833100"])
def test_what_is_no_cusip_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a CUSIP"):
        cusip.normalise(text)


# ---- tables


@needs_shared
@pytest.mark.parametrize("name", FULL)
def test_a_full_table_ties_to_its_cover_in_count_and_value(name: str) -> None:
    cover, rows = both(name)
    assert (len(rows), sum(row.value for row in rows)) == FULL[name]
    assert (cover.entry_total, cover.value_total) == FULL[name]


@needs_shared
def test_a_table_of_255_rows_that_begins_with_a_blank_line() -> None:
    rows = thirteenf.parse_table((FOLDER / "infotable_255rows.xml").read_bytes(), "t")
    assert len(rows) == 255
    assert sum(row.value for row in rows) == 350_153_407
    assert rows[0] == thirteenf.Holding(
        "3M CO", "COM", "88579Y101", None, 409469, 2334, "SH", None, "SOLE", None, 0, 0, 2334
    )
    assert all(cusip.is_valid(row.cusip) for row in rows)


@needs_shared
def test_a_trimmed_table_does_not_tie() -> None:
    rows = thirteenf.parse_table((FOLDER / "brk_2026q1_0001193125-26-226661_infotable_TRIMMED.xml").read_bytes(), "t")
    cover = thirteenf.parse_cover((FOLDER / "brk_2026q1_0001193125-26-226661_primary_doc.xml").read_bytes(), "c")
    assert (len(rows), sum(row.value for row in rows)) == (5, 2_160_900_777)
    assert (cover.entry_total, cover.value_total) == (90, 263_095_703_570)
    assert [row.manager_numbers for row in rows] == ["4", "2,4,11", "4,11", "4", "4"]


@pytest.mark.parametrize("prefix", ["", "ns1", "n1"])
def test_prefixes_do_not_matter(prefix: str) -> None:
    data = made.table(made.row(made.APPLE, 2500, 10, putCall="Put", otherManager="1,2"), prefix=prefix)
    assert thirteenf.parse_table(data, "t") == [
        thirteenf.Holding("APPLE INC", "COM", made.APPLE, None, 2500, 10, "SH", "Put", "SOLE", "1,2", 10, 0, 0)
    ]


def test_a_table_without_a_namespace_is_read() -> None:
    data = re.sub(rb' xmlns="[^"]*"', b"", made.table(made.row(made.APPLE, 1, 1)))
    assert len(thirteenf.parse_table(data, "t")) == 1


def test_votes_and_words_that_are_missing_are_none_and_not_zero() -> None:
    data = made.table(made.row(made.APPLE, 1, 1, Sole=None, Shared=None, investmentDiscretion=None))
    (row,) = thirteenf.parse_table(data, "t")
    assert (row.sole_voting, row.shared_voting, row.no_voting, row.discretion, row.manager_numbers) == (
        None,
        None,
        0,
        None,
        None,
    )


def test_principal_and_calls_are_told_apart() -> None:
    rows = thirteenf.parse_table(
        made.table(made.row(made.NOTE, 9, 10, sshPrnamtType="prn"), made.row(made.APPLE, 9, 10, putCall="CALL")), "t"
    )
    assert [(row.amount_type, row.put_call) for row in rows] == [("PRN", None), ("SH", "Call")]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert thirteenf.parse_table(made.table(made.row(made.APPLE, "12.00", "3.")), "t")[0].value == 12


@pytest.mark.parametrize(
    ("changes", "reason"),
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
def test_a_row_that_cannot_be_read_is_named(changes: dict[str, str], reason: str) -> None:
    assert refusal(made.table(made.row(made.APPLE, 1, 1, **changes))) == reason


def test_a_table_worth_more_than_all_the_world_is_refused() -> None:
    rows = [made.row(made.APPLE, 6 * 10**14, 1)] * 2
    assert refusal(made.table(*rows)) == "row 2: the table's total exceeds 1000000000000000"


def test_an_entity_is_refused_before_it_is_expanded() -> None:
    data = made.table().replace(b"?>\n", b'?><!DOCTYPE x [<!ENTITY a "b">]>', 1)
    assert refusal(data) == "a document type declaration, which no SEC format allows"


PLAIN = made.table(
    made.row(made.APPLE, 1000, 10, nameOfIssuer="AT&amp;T &amp;amp; CO"),
    made.row(made.APPLE, 7, 1, putCall="Call", otherManager="1,2"),
).replace(b"</cusip>", b"</cusip><figi>BBG000B9XRY4</figi>", 1)


def test_of_a_plain_table_the_xml_reader_sees_the_first_row_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, end = [], thirteenf._InformationTableReader._end_of_row
    monkeypatch.setattr(thirteenf._InformationTableReader, "_end_of_row", lambda self: (seen.append(1), end(self)))
    one, other = thirteenf.parse_table(PLAIN, "table.xml")
    assert seen == [1]
    assert (one.issuer, one.figi, one.value, one.put_call) == ("AT&T &amp; CO", "BBG000B9XRY4", 1000, None)
    assert (other.put_call, other.manager_numbers, other.amount) == ("Call", "1,2", 1)


@pytest.mark.parametrize("portion", [1_000_000, 500])
@pytest.mark.parametrize("byte", [*b'<>/&;]" \n\x00\xc3x0.', None])
def test_a_changed_byte_is_read_or_refused_as_by_the_xml_reader(
    byte: int | None, portion: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thirteenf, "_PORTION", portion)
    changed = [PLAIN[:at] + (b"" if byte is None else bytes([byte])) + PLAIN[at + 1 :] for at in range(len(PLAIN))]
    outcomes = [[_outcome(one) for one in changed]]
    monkeypatch.setattr(thirteenf, "_plain_rows", lambda data: None)
    outcomes.append([_outcome(one) for one in changed])
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("portion", [400, 700, 1_500])
@pytest.mark.parametrize("between", ["\n  ", "", " " * 1_600])
def test_a_plain_table_is_read_in_portions(portion: int, between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = made.table(*[made.row(made.APPLE, number, 1) + between for number in range(50)])
    read, holdings = [], thirteenf._holdings
    monkeypatch.setattr(thirteenf, "_PORTION", portion)
    monkeypatch.setattr(thirteenf, "_holdings", lambda found: (read.append(len(found)), holdings(found))[1])
    assert [row.value for row in thirteenf.parse_table(data, "table.xml")] == [*range(50)]
    assert (sum(read), max(read) <= portion // 340) == (50, True)


def test_texts_that_are_kept_for_the_next_table_are_short() -> None:
    for one in (thirteenf._plain_text, thirteenf._cusip):
        one.cache_clear()
    kept, long = thirteenf._plain_text, {"nameOfIssuer": "A" * 201, "cusip": " " * 300 + made.APPLE}
    assert thirteenf.parse_table(made.table(made.row(made.APPLE, 1, 1, **long)), "table.xml")[0].issuer == "A" * 201
    assert kept.cache_info().currsize == 0
    assert thirteenf.parse_table(made.table(made.row(made.APPLE, 1, 1)), "table.xml")[0].issuer == "APPLE INC"
    assert kept.cache_info().currsize > 0


def _outcome(data: bytes) -> list[thirteenf.Holding] | str:
    try:
        return thirteenf.parse_table(data, "table.xml")
    except ParseError as error:
        return str(error)


@pytest.mark.parametrize("blank", [b" ", b"\n"])
@pytest.mark.parametrize("place", [b"<nameOfIssuer>", b"<value>", b"<infoTable>", b"</infoTable>"])
def test_a_megabyte_of_blanks_takes_no_more_than_its_reading(blank: bytes, place: bytes) -> None:
    for end in (b"", b"x"):
        thirteenf._plain_rows(PLAIN.replace(place, place + blank * 1_000_000 + end))


def test_rows_that_a_comment_or_an_instruction_holds_are_none_of_the_table() -> None:
    start, end = PLAIN.index(b"<infoTable>"), PLAIN.rindex(b"</")
    rows, root = PLAIN[start:end], b'<informationTable xmlns="' + thirteenf.TABLE_NAMESPACE.encode() + b'"/>'
    assert thirteenf.parse_table(b"<!--" + rows + b"</x-->" + root, "table.xml") == []
    assert thirteenf.parse_table(b"<?x " + rows + b"</?>" + root, "table.xml") == []
    assert len(thirteenf.parse_table(PLAIN, "table.xml")) == 2


def test_rows_with_a_prefix_that_nothing_declares_are_refused() -> None:
    data = PLAIN.replace(b"</", b"\0").replace(b"<", b"<n:").replace(b"\0", b"</n:").replace(b"<n:?", b"<?")
    assert refusal(data.replace(b"n:informationTable", b"informationTable")) == "unbound prefix"


def test_a_prefix_of_30_000_characters_takes_no_more_than_its_reading() -> None:
    prefix = "a" * 30_000
    data = made.table(made.row(made.APPLE, 1000, 10), prefix=prefix)
    tracemalloc.start()
    try:
        (one,) = thirteenf.parse_table(data, "table.xml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert one.value == 1000
    assert peak < 10 * len(data)  # a pattern with this prefix took 90 MB


def test_a_table_that_is_cut_off_is_refused() -> None:
    assert refusal(made.table(made.row(made.APPLE, 1, 1))[:-30]) == "unclosed token"


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thirteenf, "MAX_ROWS", 2)
    assert refusal(made.table(*[made.row(made.APPLE, 1, 1)] * 3)) == "more than 2 rows"


# ---- covers


def test_a_cover_as_values() -> None:
    data = made.cover(
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
def test_other_managers_of_a_combination_report() -> None:
    cover, _ = both("0001140361-23-013281.txt")
    assert [(one.number, one.cik, one.name) for one in cover.reporting_managers] == [
        (None, "0000931588", "PROVIDA PENSION FUND ADMINISTRATOR"),
        (None, "0000728618", "METROPOLITAN LIFE INSURANCE CO/NY"),
        (None, "0001529735", "MetLife Investment Management, LLC"),
    ]


@needs_shared
def test_the_fourteen_managers_of_berkshire() -> None:
    cover = thirteenf.parse_cover((FOLDER / "brk_2026q1_0001193125-26-226661_primary_doc.xml").read_bytes(), "c")
    assert [one.number for one in cover.included_managers] == list(range(1, 15))
    assert cover.included_managers[3].name == "Buffett Warren E"


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (made.cover(form="13F-XX"), "submissionType", "'13F-XX' is not one of 13F-HR, 13F-HR/A, 13F-NT, 13F-NT/A"),
        (made.cover(flag="TEST"), "liveTestFlag", "is a test filing"),
        (made.cover(cik="0"), "cik", "'0' is not a CIK"),
        (made.cover(period="2025-09-30"), "periodOfReport", "'2025-09-30' is not a date MM-DD-YYYY"),
        (made.cover(period="02-30-2025"), "periodOfReport", "day is out of range for month"),
        (made.cover(name=" "), "filingManager", "the manager has no name"),
        (
            made.cover(form="13F-HR/A", amendment=(1, "OTHER")),
            "amendmentType",
            "'OTHER' is neither RESTATEMENT nor NEW HOLDINGS",
        ),
    ],
)
def test_a_cover_that_cannot_be_read_is_named(data: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        thirteenf.parse_cover(data, "cover.xml")
    assert (caught.value.file, caught.value.place, caught.value.reason) == ("cover.xml", place, reason)


def test_a_date_of_signature_that_is_none_is_no_reason_to_refuse() -> None:
    assert thirteenf.parse_cover(made.cover(signed="soon"), "c").signed is None


def test_a_leaf_that_stands_twice_and_differs_is_refused() -> None:
    data = made.cover().replace(b"</filerInfo>", b"<periodOfReport>06-30-2025</periodOfReport></filerInfo>")
    with pytest.raises(ParseError, match="periodOfReport occurs twice with different values"):
        thirteenf.parse_cover(data, "c")


# ---- whatever comes

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


@settings(max_examples=150, deadline=None)
@given(
    document=st.sampled_from(
        [made.table(made.row(made.APPLE, 5, 5), made.row(made.NOTE, 7, 1, putCall="Put")), made.cover(managers=["A"])]
    ),
    cuts=st.lists(
        st.tuples(st.integers(0, 2_000), st.integers(0, 40), st.one_of(PIECES, st.binary(max_size=8))), max_size=4
    ),
)
def test_whatever_comes_is_read_or_refused(document: bytes, cuts: list[tuple[int, int, bytes]]) -> None:
    for start, length, piece in cuts:
        at = start % len(document)
        document = document[:at] + piece + document[at + length :]
    for reader in (thirteenf.parse_table, thirteenf.parse_cover):
        with contextlib.suppress(ParseError):
            reader(document, "f")


def hostile(kind: str) -> bytes:
    """A megabyte that means harm."""
    if kind == "small rows":
        small = (
            "<infoTable><nameOfIssuer>A</nameOfIssuer><cusip>0</cusip><value>1</value><sshPrnamt>1</sshPrnamt>"
            "<sshPrnamtType>SH</sshPrnamtType></infoTable>"
        )
        return made.table(small * 8_000)
    if kind == "names that differ":
        return made.table(*(made.row(made.APPLE, 1, 1, nameOfIssuer=f"{n}", otherManager=f"{n}") for n in range(2_400)))
    if kind == "managers":
        return made.table(made.row(made.APPLE, 1, 1, otherManager="</otherManager><otherManager>".join(["1"] * 36_000)))
    return made.table("<x/>" * 250_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["small rows", "names that differ", "managers", "unknown elements"])
def test_memory_stays_below_twenty_times_the_document(kind: str) -> None:
    data = hostile(kind)
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
def test_every_shared_document_is_what_it_is_taken_for() -> None:
    kinds = {
        file.name: document_kinds.detect_kind(file.read_bytes(), file.name) for file in sorted(Path(FOLDER).iterdir())
    }
    assert (
        sorted(kinds.values()) == ["13f-cover"] * 2 + ["13f-table"] * 2 + ["directory-index"] + ["full-submission"] * 3
    )


def test_the_quarter_is_that_of_the_cover_where_the_header_tells_none() -> None:
    whole = made.cover()
    without = whole.replace(b"<periodOfReport>09-30-2025</periodOfReport>", b"")
    assert without != whole
    assert thirteenf.parse_cover(without, "c").period == thirteenf.parse_cover(whole, "c").period == "2025-09-30"
