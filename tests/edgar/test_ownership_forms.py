"""The parser of ownership forms: real forms read by eye, samples, and refusals."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import ownership_forms, sgml
from finapi.edgar.ownership_forms import OwnershipForm
from tests.conftest import SHARED, needs_shared
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

FOLDER = SHARED / "edgar" / "ownership"


def parse_real(name: str) -> OwnershipForm:
    """Return the form of the real document whose file name begins with ``name``."""
    (path,) = FOLDER.glob(f"{name}*")
    data = path.read_bytes()
    if path.suffix == ".txt":
        data = next(sgml.iter_documents(data, path.name)).body.lstrip()
    return ownership_forms.parse(data, path.name)


@needs_shared
def test_joint_owners_of_one_sale() -> None:
    form = parse_real("form4_0000927066_berkshire")
    assert [(owner.cik, owner.name, owner.is_ten_percent_owner, owner.is_officer) for owner in form.owners] == [
        ("0001067983", "BERKSHIRE HATHAWAY INC", True, False),
        ("0000315090", "BUFFETT WARREN E", True, False),
    ]
    (row,) = form.rows
    assert (row.date, row.code, row.shares, row.price, row.acquired_disposed) == (
        "2026-05-01",
        "S",
        "1220376",
        "149.8429",
        "D",
    )
    assert (row.following_shares, row.direct_or_indirect, row.nature) == ("28880209", "I", "See footnotes")
    assert row.list_footnote_ids("nature") == ("F1", "F2")
    assert form.rule_10b5_1 is False


@needs_shared
def test_price_in_a_footnote_is_none() -> None:
    form = parse_real("form4_0000320193_newstead")
    assert [(row.is_derivative, row.code, row.shares, row.price) for row in form.rows] == [
        (False, "M", "30104", None),
        (False, "F", "16238", "296.42"),
        (True, "M", "30104", None),
    ]
    assert [row.list_footnote_ids("price") for row in form.rows] == [("F1",), (), ("F1",)]
    assert form.rows[2].following_shares == "210728"
    assert (form.rows[2].exercise_price, form.rows[2].list_footnote_ids("exercise_price")) == (None, ("F1",))
    owner = form.owners[0]
    assert (owner.is_officer, owner.officer_title, owner.is_director) == (True, "SVP, GC and Secretary", None)


def test_repeated_footnote_of_a_cell_is_listed_once() -> None:
    data = forms.form(forms.transaction(price_notes="F2 F1 F2"), footnotes={"F1": "One.", "F2": "Two."})
    assert ("price", ("F2", "F1")) in ownership_forms.parse(data, "form.xml").rows[0].footnote_ids


@needs_shared
def test_form_3_with_derivative_holdings() -> None:
    form = parse_real("form3_0000320193_newstead")
    assert [(row.is_transaction, row.title, row.underlying_shares) for row in form.rows] == [
        (False, "Restricted Stock Unit", "301040"),
        (False, "Restricted Stock Unit", "48871"),
    ]
    assert [row.list_footnote_ids("exercise_date", "expiration_date") for row in form.rows] == [("F1",), ("F3",)]
    assert form.rule_10b5_1 is None


@needs_shared
def test_form_3_without_securities() -> None:
    form = parse_real("form3_0000867773_hegde")
    assert (form.form, form.no_securities_owned, form.rows) == ("3", True, ())
    assert (form.owners[0].name, form.owners[0].is_director) == ("Hegde Vinayak", True)


@needs_shared
def test_amendment_with_a_gift_to_a_trust() -> None:
    form = parse_real("form4A_0000707549_ahmed")
    assert (form.form, form.original_date, form.period) == ("4/A", "2024-11-04", "2024-11-04")
    assert [
        (row.code, row.shares, row.price, row.acquired_disposed, row.following_shares, row.direct_or_indirect)
        for row in form.rows
    ] == [("G", "3690", "0", "D", "0", "D"), ("G", "3690", "0", "A", "30630", "I")]
    assert form.rows[1].nature == "by trust"


@needs_shared
def test_sales_under_a_plan_before_the_checkbox() -> None:
    form = parse_real("form4_0000320193_adams")
    assert [(row.shares, row.price, row.following_shares) for row in form.rows] == [
        ("9136", "159.94", "468198"),
        ("5316", "160.82", "462882"),
        ("4006", "161.93", "458876"),
        ("900", "162.77", "457976"),
        ("1550", "163.94", "456426"),
        ("1800", "165.06", "454626"),
        ("2292", "165.95", "452334"),
    ]
    assert form.rule_10b5_1 is None
    assert all(row.list_footnote_ids("title") == ("F1",) for row in form.rows)
    assert dict(form.footnotes)["F1"].startswith("This transaction was made pursuant to a Rule 10b5-1")


@needs_shared
def test_exercise_with_sales_and_eight_holdings() -> None:
    form = parse_real("form4_0001640147_scarpelli")
    kinds = [(row.is_derivative, row.is_transaction) for row in form.rows]
    assert (kinds.count((False, True)), kinds.count((False, False)), kinds.count((True, True))) == (6, 8, 1)
    assert [row.following_shares for row in form.rows if not row.is_transaction] == [
        "577218",
        "178947",
        "9686",
        "2755",
        "9686",
        "2755",
        "9686",
        "2755",
    ]
    option = form.rows[-1]
    assert (option.exercise_price, option.expiration_date) == ("8.88", "2029-08-26")
    # The document has 200000.0.
    assert option.underlying_shares == "200000"
    assert len(form.footnotes) == 16


@needs_shared
def test_form_5_with_an_inheritance() -> None:
    form = parse_real("form5_0000320193_wagner")
    assert [(row.is_transaction, row.code, row.shares, row.following_shares) for row in form.rows] == [
        (True, "W", "42", "6042"),
        (False, None, None, "60975"),
    ]
    assert (form.rows[0].direct_or_indirect, form.rows[0].nature) == ("I", "By spouse")


@needs_shared
def test_form_with_both_tables_and_empty_flags() -> None:
    form = parse_real("form4_0000933972_374water")
    assert [(row.is_derivative, row.shares, row.exercise_price, row.following_shares) for row in form.rows] == [
        (False, "757756", None, "757756"),
        (True, "757576", "0.33", "757756"),
    ]


# ---- samples


def parse_sample(*rows: str, **options: object) -> OwnershipForm:
    return ownership_forms.parse(forms.form(*rows, **options), "form.xml")  # type: ignore[arg-type]


def test_empty_element_is_none() -> None:
    data = forms.form(forms.transaction()).replace(b"<remarks></remarks>", b"<remarks/>")
    form = ownership_forms.parse(data.replace(b"<value>10.00</value>", b"<value> </value>"), "form.xml")
    assert (form.remarks, form.rows[0].price) == (None, None)


def test_zero_price_differs_from_a_missing_one() -> None:
    assert parse_sample(forms.transaction("G", price="0")).rows[0].price == "0"
    assert parse_sample(forms.transaction("G", price=None)).rows[0].price is None


@run_each_case(
    "text, number",
    [("200000.0", "200000"), (".5", "0.5"), ("12.3400", "12.34"), ("0.00", "0"), ("-3", "-3"), ("007", "7")],
)
def test_numbers_are_normalised(text: str, number: str) -> None:
    assert parse_sample(forms.transaction(shares=text)).rows[0].shares == number


def test_time_zone_of_a_date_is_dropped() -> None:
    assert parse_sample(forms.transaction(date="2005-06-07-05:00")).rows[0].date == "2005-06-07"


def test_first_of_several_signatures_is_used() -> None:
    second = (
        b"<ownerSignature><signatureName>/s/ B</signatureName><signatureDate>2025-03-06</signatureDate>"
        b"</ownerSignature></ownershipDocument>"
    )
    form = ownership_forms.parse(forms.form().replace(b"</ownershipDocument>", second), "form.xml")
    assert (form.signature_name, form.signature_date) == ("/s/ Somebody", "2025-03-05")


@run_each_case(
    "old, new, reason",
    [
        (
            b"<value>Common Stock</value>",
            b"<value>%s</value>" % (b"a" * 2_001),
            "a text is longer than this reader accepts",
        ),
        (b"<documentType>4<", b"<documentType>144<", "form: '144' is not one of 3, 3/A, 4, 4/A, 5, 5/A"),
        (b"<periodOfReport>2025-03-03</periodOfReport>", b"", "has no periodOfReport"),
        (b"<issuerCik>0001234567</issuerCik>", b"<issuerCik/>", "has no issuerCik"),
        (b"<issuerCik>0001234567</issuerCik>", b"<issuerCik>0</issuerCik>", "issuer_cik: '0' is not a CIK"),
        (b"<rptOwnerCik>0000000101</rptOwnerCik>", b"", "an owner without rptOwnerCik"),
        (b"<value>100</value>", b"<value>1,000</value>", "shares: '1,000' is not a number"),
        (b"<value>100</value>", b"<value>NaN</value>", "shares: 'NaN' is not a number"),
        (b"<value>100</value>", b"<value>1e9</value>", "shares: '1e9' is not a number"),
        (b"<value>100</value>", b"<value>1</value><value>2</value>", "shares has two values"),
        (b"<value>A</value>", b"<value>B</value>", "acquired_disposed: 'B' is not one of A, D"),
        (b"<value>2025-03-03</value>", b"<value>2025-02-30</value>", "date: day is out of range for month"),
        (b"<aff10b5One>0<", b"<aff10b5One>maybe<", "rule_10b5_1: 'maybe' is neither true nor false"),
        (b"<value>Common Stock</value>", b"", "a row without its securityTitle"),
        (b"<remarks>", b"<remarks></remarks><remarks>", "remarks occurs twice"),
        (b"<ownershipDocument>", b"<xbrl>", "the root element is xbrl, not ownershipDocument"),
        (b"<?xml", b"<!DOCTYPE a><?xml", "a document type declaration, which no SEC format allows"),
    ],
)
def test_invalid_form_is_refused_with_the_reason(old: bytes, new: bytes, reason: str) -> None:
    data = forms.form(forms.transaction())
    assert old in data
    with pytest.raises(ParseError) as caught:
        ownership_forms.parse(data.replace(old, new, 1), "form.xml")
    assert caught.value.reason == reason
    assert caught.value.file == "form.xml"


def test_form_without_owners_is_refused() -> None:
    data = forms.form().replace(forms.owner().encode(), b"")
    with pytest.raises(ParseError, match="has no reportingOwner"):
        ownership_forms.parse(data, "form.xml")


@run_each_case("cut", range(1, 30))
def test_truncated_form_is_refused(cut: int) -> None:
    data = forms.form(forms.transaction(), forms.holding(), footnotes={"F1": "A note."})
    with pytest.raises(ParseError):
        ownership_forms.parse(data[: len(data) * cut // 30], "form.xml")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("<nonDerivativeHolding><securityTitle><value>a</value></securityTitle></nonDerivativeHolding>", "500 rows"),
        ("<footnotes/>" + '<footnote id="F{}">a</footnote>', "1000 footnotes"),
    ],
)
def test_form_with_far_too_many_elements_is_refused(rows: str, reason: str) -> None:
    elements = "".join(rows.format(number) for number in range(1_001)).encode()
    data = forms.form().replace(b"<footnotes></footnotes>", b"").replace(b"<remarks>", elements + b"<remarks>")
    with pytest.raises(ParseError, match=f"more than {reason}"):
        ownership_forms.parse(data, "form.xml")


def test_memory_stays_below_twenty_times_the_form() -> None:
    row = "<nonDerivativeHolding><securityTitle><value>a</value></securityTitle></nonDerivativeHolding>"
    data = forms.form().replace(b"<remarks>", (row * 499).encode() + b"<remarks>")
    tracemalloc.start()
    try:
        ownership_forms.parse(data, "form.xml")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * len(data)


FORM = forms.form(
    forms.transaction("S", notes="F1"),
    forms.transaction("M", "50", None, derivative="2.5", price_notes="F1"),
    forms.holding(notes="F2"),
    owners=(forms.owner(), forms.owner(forms.FUND, flags="ten")),
    footnotes={"F1": "Under a Rule 10b5-1 plan.", "F2": "A trust."},
)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_form_is_parsed_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(FORM)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged)))
        end = start + data.draw(st.integers(0, 40))
        piece = bytes(damaged[start:end])
        damaged[start:end] = data.draw(st.sampled_from((b"", piece * 2)) | st.binary(max_size=20))
    try:
        form = ownership_forms.parse(bytes(damaged), "form.xml")
    except ParseError:
        return
    assert form.form in ownership_forms.FORM_TYPES
    assert all(row.title is not None or row.list_footnote_ids("title") for row in form.rows)


@run_each_case(
    "limit, build_form, reason",
    [
        (100, lambda count: forms.form(forms.transaction(), owners=(forms.owner(),) * count), "100 owners"),
        (500, lambda count: forms.form(*[forms.transaction()] * count), "500 rows"),
        (1000, lambda count: forms.form(footnotes={f"F{n}": "x" for n in range(count)}), "1000 footnotes"),
        (
            100,
            lambda count: forms.form(forms.transaction(notes=" ".join(f"F{n}" for n in range(count)))),
            "100 footnotes on a row",
        ),
    ],
)
def test_limit_is_accepted_and_one_more_is_refused(limit: int, build_form: Any, reason: str) -> None:
    assert ownership_forms.parse(build_form(limit), "form.xml").owners
    with pytest.raises(ParseError) as caught:
        ownership_forms.parse(build_form(limit + 1), "form.xml")
    assert caught.value.reason == f"more than {reason}"


def test_remarks_may_be_longer_than_other_texts() -> None:
    assert ownership_forms.parse(forms.form(remarks="x" * 50_000), "form.xml").remarks == "x" * 50_000
    with pytest.raises(ParseError, match="a text is longer than this reader accepts"):
        ownership_forms.parse(forms.form(remarks="x" * 50_001), "form.xml")
