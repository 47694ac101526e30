"""The parsers of Schedules 13D and 13G and of Form 144: fields and refusals."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import document_kinds, online_forms, sale_notices, schedules
from finapi.edgar.schedules import ReportingPerson
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case


def refusal(parse: Callable[[bytes, str], object], data: bytes) -> tuple[str, str]:
    with pytest.raises(ParseError) as caught:
        parse(data, "primary_doc.xml")
    return caught.value.place, caught.value.reason


# ---- schedules


def test_a_13d_is_parsed_with_owners_shares_and_purpose() -> None:
    schedule = schedules.parse(made.d(made.person(made.BEN, member="a", types="IN", comment="Through Wick.")), "f")
    assert (schedule.form, schedule.filer_cik, schedule.issuer_cik, schedule.issuer_name, schedule.cusips) == (
        "SCHEDULE 13D",
        "0000000103",
        "0001234567",
        "Brook Lamps Inc.",
        ("037833100",),
    )
    assert (schedule.event_date, schedule.class_title) == ("2025-03-03", "Common Stock, $0.001 par value")
    assert (schedule.purpose, schedule.source_of_funds) == (
        "The shares were bought for investment.",
        "Working capital.",
    )
    assert schedule.persons == (
        ReportingPerson(
            name="Shade Ben",
            cik="0000000102",
            has_no_cik=False,
            group_membership="a",
            citizenship="DE",
            sole_voting="0",
            shared_voting="1000000",
            sole_dispositive="0",
            shared_dispositive="1000000",
            shares="1000000",
            excludes_certain_shares=False,
            percent_of_class="7.5",
            person_types=("IN",),
            fund_sources=("WC",),
            comment="Through Wick.",
        ),
    )


def test_a_13g_is_parsed_into_the_same_fields_as_a_13d() -> None:
    persons = (
        made.person(made.WICK, "1237421.50", "10.5", schedule="G", member="b"),
        made.person((None, "A Fund"), "10001", "0.1", schedule="G", types="IV", comment="A note."),
    )
    schedule = schedules.parse(made.g(*persons, form="SCHEDULE 13G/A", number="3", five_or_less="Y"), "f")
    assert (schedule.form, schedule.amendment_number, schedule.event_date, schedule.is_five_percent_or_less) == (
        "SCHEDULE 13G/A",
        3,
        "2025-03-31",
        True,
    )
    assert (schedule.cusips, schedule.rules) == (("037833100",), ("Rule 13d-1(b)",))
    # Item 4 of a 13G has another element classPercent, which contains a text.
    assert [
        (person.name, person.cik, person.shares, person.percent_of_class, person.group_membership, person.comment)
        for person in schedule.persons
    ] == [
        ("Wick Capital LP", "0000000103", "1237421.5", "10.5", "b", None),
        ("A Fund", None, "10001", "0.1", None, "A note."),
    ]
    assert schedule.persons[0].shared_voting == "1000000"


@run_each_case("space", ["schedule13D", "schedule13d", "schedule13g", "schedule13G"])
@run_each_case("prefix", ["", "ns2"])
def test_spellings_of_the_namespace_and_prefixes_do_not_matter(space: str, prefix: str) -> None:
    data = made.d(space=f"http://www.sec.gov/edgar/{space}", prefix=prefix)
    assert document_kinds.detect_kind(data, "primary_doc.xml") == "schedule-13"
    assert schedules.parse(data, "f") == schedules.parse(made.d(), "f")


def test_another_namespace_is_refused_by_its_name() -> None:
    data = made.d(space="http://example.com/13D")
    assert document_kinds.detect_kind(data, "") == "schedule-13"
    reason = refusal(schedules.parse, data)[1]
    assert reason.startswith("edgarSubmission is in the namespace http://example.com/13D, not in http://www.sec.gov/")


@run_each_case("written", ["N/A", "None", "000000000", "not applicable", "12345"])
def test_an_issuer_without_a_cusip_has_none(written: str) -> None:
    assert schedules.parse(made.d(cusip=written), "f").cusips == ()
    assert schedules.parse(made.d(cusip=None), "f").cusips == ()


def test_an_amendment_may_leave_out_every_figure_and_the_items() -> None:
    person = made.person(shares=None, percent=None, sole=None, shared=None, types="")
    previous = "0000000103-25-000001"
    schedule = schedules.parse(made.d(person, form="SCHEDULE 13D/A", number="12", purpose=None, previous=previous), "f")
    assert (schedule.amendment_number, schedule.previous_accession, schedule.purpose) == (12, previous, None)
    (reporter,) = schedule.persons
    assert (reporter.shares, reporter.percent_of_class, reporter.sole_voting, reporter.person_types) == (
        None,
        None,
        None,
        (),
    )


@run_each_case(
    "data, place, reason",
    [
        (made.d(form="SCHEDULE 13F"), "submissionType", "'SCHEDULE 13F' is not one of SCHEDULE 13D, SCHEDULE 13D/A"),
        (made.d(live="TEST"), "liveTestFlag", "is a test filing"),
        (made.d(event="13/45/2025"), "event", "month must be in 1..12"),
        (made.d(event="soon"), "event", "'soon' is not a date MM/DD/YYYY"),
        (made.d(issuer=("0", "Lamps", "")), "issuer_cik", "'0' is not a CIK"),
        (made.d(issuer=("1234567", "", "")), "issuer_name", "is missing"),
        (made.d(made.person(shares="1e9")), "reporting person 1 shares", "'1e9' is not a number of at most 15 digits"),
        (made.d(made.person(shares="-5")), "reporting person 1 shares", "'-5' is not a number of at most 15 digits"),
        (made.d(made.person(), made.person(percent="NaN")), "reporting person 2 percent", "'NaN' is not a number"),
        (made.d(made.person(member="c")), "reporting person 1 member", "'c' is neither a nor b"),
        (made.d(made.person((None, ""))), "reporting person 1 name", "is missing"),
        (made.d(made.person(("1" * 11, "X"))), "reporting person 1 cik", "'11111111111' is not a CIK"),
        (made.d(number="one"), "amendment", "'one' is not a whole number"),
        (made.d("<nobody/>"), "", "has no reporting person"),
        (made.d().replace(b"<issuerCIK>", b"<issuerCIK>9</issuerCIK><issuerCIK>"), "issuer_cik", "occurs twice with"),
    ],
)
def test_an_invalid_schedule_is_refused_with_its_place(data: bytes, place: str, reason: str) -> None:
    actual_place, actual_reason = refusal(schedules.parse, data)
    assert actual_place == place
    assert actual_reason.startswith(reason)


@pytest.mark.parametrize("data", [made.d(), made.g(), made.notice()])
def test_a_document_cut_off_at_any_offset_is_refused(data: bytes) -> None:
    parse: Callable[[bytes, str], object] = sale_notices.parse if b"edgar/ownership" in data else schedules.parse
    for end in range(0, len(data) - 1, 37):
        refusal(parse, data[:end])


@run_each_case(
    "data, reason",
    [
        (made.d().replace(b"?>\n", b'?>\n<!DOCTYPE a [<!ENTITY b "c">]>', 1), "a document type declaration"),
        (made.d("<a>" * 200 + "</a>" * 200), "elements nested more than 100 deep"),
        (made.d(*[made.person()] * 1001), "more than 1000 elements reportingPersonInfo"),
        (made.d(made.person(types="IN " * 201)), "more than 200 texts of types"),
        (made.d(purpose="x" * 100_001), "a text is longer than this reader accepts"),
        (b"", "no element found"),
        (b"{}", "not well-formed"),
    ],
)
def test_a_hostile_document_is_refused(data: bytes, reason: str) -> None:
    assert refusal(schedules.parse, data)[1].startswith(reason)


@pytest.mark.slow
def test_a_huge_document_is_refused_in_little_memory() -> None:
    data = made.d(*[made.person(comment="x" * 50_000)] * 1_100)
    tracemalloc.start()
    assert refusal(schedules.parse, data)[1] == f"more than {online_forms.MAX_GROUPS} elements reportingPersonInfo"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * len(data)


# ---- notices of proposed sales


def test_a_144_is_parsed_with_planned_and_past_sales() -> None:
    data = made.notice(made.sale(), made.sale("10", "400", title="Class B", broker="Other"), prefix="ns2")
    assert document_kinds.detect_kind(data, "") == "form-144"
    notice = sale_notices.parse(data, "f")
    assert (notice.form, notice.issuer_cik, notice.seller, notice.filer_cik) == (
        "144",
        "0001234567",
        "Lamp Ann",
        "0000000101",
    )
    assert notice.relationships == ("Officer", "Director")
    assert [
        (sale.title, sale.broker, sale.units, sale.market_value, sale.sale_date, sale.exchange) for sale in notice.sales
    ] == [
        ("Common", "Lamp Brokers LLC", "5000", "250000.5", "2025-04-13", "NYSE"),
        ("Class B", "Other", "10", "400", "2025-04-13", "NYSE"),
    ]
    (lot,) = notice.lots
    assert (lot.acquisition_date, lot.acquisition_nature, lot.acquired_from, lot.is_gift) == (
        "2023-03-31",
        "Restricted stock units",
        "Issuer",
        False,
    )
    (sold,) = notice.past_sales
    assert (sold.seller, sold.sale_date, sold.units, sold.gross_proceeds) == ("Lamp Ann", "2025-04-06", "200", "9800")
    assert (notice.plan_adoption_dates, notice.notice_date, notice.reports_no_past_sales) == (
        ("2024-11-15",),
        "2025-04-13",
        False,
    )


@run_each_case(
    "data, place, reason",
    [
        (made.notice(form="144X"), "submissionType", "'144X' is not one of 144, 144/A"),
        (made.notice(seller=None), "seller", "is missing"),
        (made.notice("<nothing/>"), "", "has no securities to be sold"),
        (made.notice(made.sale(units="many")), "sales 1 units", "'many' is not a number"),
        (made.notice(made.sale(date="2025-02-30")), "sales 1 date", "day "),
        (made.notice(plans="never"), "plans", "'never' is not a date"),
        (made.notice(live="TEST"), "liveTestFlag", "is a test filing"),
        (made.notice(space="http://www.sec.gov/edgar/thirteenffiler"), "line 2, column 1", "edgarSubmission is in the"),
    ],
)
def test_an_invalid_144_is_refused_with_its_place(data: bytes, place: str, reason: str) -> None:
    actual_place, actual_reason = refusal(sale_notices.parse, data)
    assert actual_place == place
    assert actual_reason.startswith(reason)


def test_documents_of_the_same_root_are_distinguished() -> None:
    other = b'<edgarSubmission xmlns="http://www.sec.gov/edgar/formd"><submissionType>D</submissionType>'
    assert document_kinds.detect_kind(other, "") == "unknown"
    assert [document_kinds.detect_kind(document, "") for document in (made.d(), made.g(), made.notice())] == [
        "schedule-13",
        "schedule-13",
        "form-144",
    ]
