"""XBRL: small documents for each rule, and every real filing in ../shared/edgar/xbrl."""

from __future__ import annotations

import gc
import tracemalloc
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.errors import ParseError
from finapi.edgar import xbrl
from finapi.edgar.xbrl import (
    CalculationArc,
    DefinitionArc,
    InstanceContext,
    InstanceFact,
    LinkbaseRef,
    PresentationArc,
    SchemaElement,
    linkbases,
)
from finapi.edgar.xbrl.qnames import find_standard_prefix
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples

FILINGS = SHARED / "edgar" / "xbrl"
needs_filings = pytest.mark.skipif(not FILINGS.is_dir(), reason="the real filings (../shared/edgar) are not here")

ROLE = "http://www.xbrl.org/2003/role/"
ROLE_2009 = "http://www.xbrl.org/2009/role/"
ROLE_2008 = "http://xbrl.us/us-gaap/role/label/"


# Instances.

CONTEXT = """
<context id="c"><entity><identifier scheme="http://www.sec.gov/CIK">0000000042</identifier></entity>
<period><startDate>2024-01-01</startDate><endDate>2024-03-31</endDate></period></context>"""
UNIT = '<unit id="usd"><measure>iso4217:USD</measure></unit>'


def document(inside: str, *, declared: str = "") -> bytes:
    return f"""<?xml version="1.0" encoding="utf-8"?>
<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:link="http://www.xbrl.org/2003/linkbase"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:xbrldi="http://xbrl.org/2006/xbrldi" xmlns:iso4217="http://www.xbrl.org/2003/iso4217"
 xmlns:us-gaap="http://fasb.org/us-gaap/2024" xmlns:dei="http://xbrl.sec.gov/dei/2024"
 xmlns:acme="http://acme.example/20240331" {declared}>{inside}</xbrl>""".encode()


def instance(inside: str, *, declared: str = "") -> xbrl.Instance:
    return xbrl.parse_instance(document(inside, declared=declared), "acme.xml")


def facts(inside: str) -> list[InstanceFact]:
    return instance(CONTEXT + UNIT + inside).facts


def fact(inside: str) -> InstanceFact:
    (parsed_fact,) = facts(inside)
    return parsed_fact


def refusal(work: Callable[[], object]) -> ParseError:
    with pytest.raises(ParseError) as caught:
        work()
    return caught.value


def refused(inside: str) -> str:
    error = refusal(lambda: instance(inside))
    assert (error.file, error.place[:5]) == ("acme.xml", "line ")
    return error.reason


def context(
    period: str, *, inside_entity: str = "", after: str = "", scheme: str = "x", entity: str = "ACME"
) -> InstanceContext:
    parsed = instance(
        f'<context id="c"><entity><identifier scheme="{scheme}">{entity}</identifier>{inside_entity}</entity>'
        f"<period>{period}</period>{after}</context>"
    )
    return parsed.contexts["c"]


def test_numeric_fact_is_parsed_with_all_its_fields() -> None:
    parsed_fact = fact(
        '<us-gaap:Assets contextRef="c" unitRef="usd" decimals="-6" id="f">331233000000</us-gaap:Assets>'
    )
    assert parsed_fact == InstanceFact("us-gaap:Assets", "c", "usd", "-6", "331233000000", False, "f")


def test_facts_are_in_document_order_and_duplicates_stay() -> None:
    line = '<us-gaap:Assets contextRef="c" unitRef="usd" decimals="{}">{}</us-gaap:Assets>'
    parsed_facts = facts(line.format(-3, 2) + line.format(0, 1) + line.format(-3, 2))
    assert [(each.value, each.decimals) for each in parsed_facts] == [("2", "-3"), ("1", "0"), ("2", "-3")]


def test_contexts_and_units_may_follow_the_facts() -> None:
    parsed = instance('<us-gaap:Assets contextRef="c" unitRef="usd">1</us-gaap:Assets>' + UNIT + CONTEXT)
    assert parsed.facts == [InstanceFact("us-gaap:Assets", "c", "usd", None, "1", False)]


@run_each_case("value", ["0", "-1", "+1", "1.", ".5", "-0.001", "22000000000.0", "1E3", "1.5e-7", "9" * 1000, "00012"])
def test_decimal_number_is_kept_as_tagged(value: str) -> None:
    assert fact(f'<us-gaap:Assets contextRef="c" unitRef="usd">{value}</us-gaap:Assets>').value == value


def test_white_space_around_a_number_is_stripped() -> None:
    assert fact('<us-gaap:Assets contextRef="c" unitRef="usd">\n 7\t</us-gaap:Assets>').value == "7"


@run_each_case(
    "value",
    ["", " ", "abc", "1,000", "1 000", "(1)", "$1", "1%", "--1", "1-", "1.2.3", "NaN", "INF", "0x1", "١", "1E", "E1"],
)
def test_value_that_is_no_decimal_number_is_refused(value: str) -> None:
    reason = refused(CONTEXT + UNIT + f'<us-gaap:Assets contextRef="c" unitRef="usd">{value}</us-gaap:Assets>')
    assert reason == f"us-gaap:Assets is not a decimal number: {value.strip()!r}"


def test_exponent_that_would_exhaust_memory_is_refused() -> None:
    reason = refused(CONTEXT + UNIT + '<us-gaap:Assets contextRef="c" unitRef="usd">1E999999999</us-gaap:Assets>')
    assert reason == "us-gaap:Assets is not a decimal number: '1E999999999'"


def test_number_of_more_than_a_thousand_digits_is_refused() -> None:
    reason = refused(CONTEXT + UNIT + f'<us-gaap:Assets contextRef="c" unitRef="usd">{"9" * 1001}</us-gaap:Assets>')
    assert reason == "a text is longer than this reader accepts"


@pytest.mark.parametrize("nil", ["true", "1"])
def test_nil_fact_has_no_value(nil: str) -> None:
    parsed_fact = fact(f'<us-gaap:CommitmentsAndContingencies contextRef="c" unitRef="usd" xsi:nil="{nil}"/>')
    assert parsed_fact == InstanceFact("us-gaap:CommitmentsAndContingencies", "c", "usd", None, None, True)


def test_nil_fact_without_a_unit_has_none() -> None:
    parsed_fact = fact('<us-gaap:CommitmentsAndContingencies contextRef="c" xsi:nil="true"/>')
    assert parsed_fact == InstanceFact("us-gaap:CommitmentsAndContingencies", "c", None, None, None, True)


def test_fact_with_a_nil_attribute_of_false_has_a_value() -> None:
    assert fact('<us-gaap:Assets contextRef="c" unitRef="usd" xsi:nil="false">7</us-gaap:Assets>').value == "7"


def test_text_fact_is_kept_with_its_white_space() -> None:
    parsed_fact = fact('<dei:EntityRegistrantName contextRef="c"> Acme &amp; Sons </dei:EntityRegistrantName>')
    assert parsed_fact == InstanceFact("dei:EntityRegistrantName", "c", None, None, " Acme & Sons ", False)


def test_empty_text_fact_is_an_empty_text() -> None:
    assert fact('<dei:SecurityExchangeName contextRef="c"/>').value == ""


def test_texts_over_a_thousand_characters_are_only_counted() -> None:
    line = '<us-gaap:DebtDisclosureTextBlock contextRef="c">{}</us-gaap:DebtDisclosureTextBlock>'
    parsed = instance(CONTEXT + line.format("é" * 1000) + line.format("é" * 1001))
    assert ([len(each.value or "") for each in parsed.facts], parsed.long_text_count) == ([1000], 1)


def test_text_block_is_not_accumulated() -> None:
    block = "&lt;p&gt;" * 1_000_000
    data = document(
        CONTEXT + f'<us-gaap:DebtDisclosureTextBlock contextRef="c">{block}</us-gaap:DebtDisclosureTextBlock>'
    )
    tracemalloc.start()
    try:
        assert xbrl.parse_instance(data, "acme.xml").long_text_count == 1
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_footnotes_are_ignored() -> None:
    parsed = instance(
        CONTEXT
        + '<link:footnoteLink xlink:type="extended"><link:loc xlink:href="#f"/><link:footnote xml:lang="en">'
        + '<p xmlns="http://www.w3.org/1999/xhtml">1</p></link:footnote></link:footnoteLink>'
        + '<dei:AmendmentFlag contextRef="c">false</dei:AmendmentFlag>'
    )
    assert [each.concept for each in parsed.facts] == ["dei:AmendmentFlag"]


def test_tuple_is_refused() -> None:
    reason = refused(CONTEXT + '<acme:Officer><acme:Name contextRef="c">A</acme:Name></acme:Officer>')
    assert reason == "element Officer is not a fact (tuples are not supported)"


def test_element_inside_a_fact_is_refused() -> None:
    reason = refused(CONTEXT + '<acme:Note contextRef="c">a<b/></acme:Note>')
    assert reason == "element b where only text is allowed"


def test_context_inside_a_fact_is_refused() -> None:
    assert refused(f'<acme:Note contextRef="c">{CONTEXT}</acme:Note>') == "element context where only text is allowed"


def test_fact_without_its_context_is_refused_with_its_line() -> None:
    error = refusal(lambda: instance('\n\n<dei:AmendmentFlag contextRef="nope">false</dei:AmendmentFlag>'))
    assert str(error) == "acme.xml: line 8, dei:AmendmentFlag: there is no context 'nope'"


def test_long_text_without_its_context_is_refused() -> None:
    assert refused(f'<acme:Note contextRef="nope">{"x" * 2000}</acme:Note>') == "there is no context 'nope'"


def test_fact_without_its_unit_is_refused() -> None:
    reason = refused(CONTEXT + '<us-gaap:Assets contextRef="c" unitRef="usd">1</us-gaap:Assets>')
    assert reason == "there is no unit 'usd'"


@run_each_case("decimals", ["-6", "0", "2", "INF", "+3"])
def test_decimals_are_kept_as_text(decimals: str) -> None:
    parsed_fact = fact(f'<us-gaap:Assets contextRef="c" unitRef="usd" decimals="{decimals}">1</us-gaap:Assets>')
    assert parsed_fact.decimals == decimals


@run_each_case("decimals", ["", "six", "1.5", "inf", "99999", " 2"])
def test_decimals_that_are_no_number_are_refused(decimals: str) -> None:
    line = f'<us-gaap:Assets contextRef="c" unitRef="usd" decimals="{decimals}">1</us-gaap:Assets>'
    assert refused(CONTEXT + UNIT + line) == f"decimals is not a number: {decimals!r}"


@run_each_case(
    "value, precision, decimals",
    [
        ("123", "5", "2"),  # The examples of XBRL 2.1, section 4.6.6.
        ("123.4567", "5", "2"),
        ("123456", "2", "-4"),
        ("0.00123", "2", "4"),
        ("1E6", "3", "-4"),
        ("-5", "INF", "INF"),
        ("0", "4", "INF"),
        ("7", "0", None),
    ],
)
def test_precision_becomes_decimals(value: str, precision: str, decimals: str | None) -> None:
    parsed_fact = fact(f'<us-gaap:Assets contextRef="c" unitRef="usd" precision="{precision}">{value}</us-gaap:Assets>')
    assert parsed_fact.decimals == decimals


def test_precision_that_is_no_number_is_refused() -> None:
    line = '<us-gaap:Assets contextRef="c" unitRef="usd" precision="many">1</us-gaap:Assets>'
    assert refused(CONTEXT + UNIT + line) == "precision is not a number: 'many'"


def test_only_the_instance_refers_to_its_facts() -> None:
    parsed = instance(CONTEXT + '<dei:AmendmentFlag contextRef="c">false</dei:AmendmentFlag>')
    assert gc.get_referrers(parsed.facts) == [parsed]


# Contexts.


def test_duration_has_both_days() -> None:
    parsed_context = context("<startDate>2024-09-29</startDate><endDate>\n2025-03-29 </endDate>")
    assert parsed_context == InstanceContext("c", "ACME", "2024-09-29", "2025-03-29", ())


def test_instant_has_no_start() -> None:
    assert context("<instant>2025-03-29</instant>") == InstanceContext("c", "ACME", None, "2025-03-29", ())


@run_each_case(
    "period, start, end",
    [
        ("<instant>2025-01-01T00:00:00</instant>", None, "2024-12-31"),
        ("<instant>2024-03-01T00:00:00.000</instant>", None, "2024-02-29"),
        ("<instant>2024-12-31T24:00:00</instant>", None, "2024-12-31"),
        (
            "<startDate>2024-01-01T00:00:00</startDate><endDate>2025-01-01T00:00:00</endDate>",
            "2024-01-01",
            "2024-12-31",
        ),
        ("<startDate>2023-12-31T24:00:00</startDate><endDate>2024-12-31</endDate>", "2024-01-01", "2024-12-31"),
        ("<startDate>2024-01-01</startDate><endDate>2024-01-01</endDate>", "2024-01-01", "2024-01-01"),
    ],
)
def test_midnight_ends_the_day_before(period: str, start: str | None, end: str) -> None:
    parsed_context = context(period)
    assert (parsed_context.start, parsed_context.end) == (start, end)


@run_each_case(
    "text",
    [
        "",
        "2024",
        "2024-13-01",
        "2023-02-29",
        "2024-1-1",
        "20240101",
        "2024-W01-1",
        "2024-01-01Z",
        "2024-01-01T10:15:00",
        "2024-01-01T00:00",
        "0000-01-01",
        "0001-01-01T00:00:00",
        "١٠٢٤-01-01",
    ],
)
def test_what_is_not_a_day_is_refused(text: str) -> None:
    reason = refusal(lambda: context(f"<instant>{text}</instant>")).reason
    assert reason == f"not a date: {text!r}"


def test_period_without_end_is_refused() -> None:
    error = refusal(lambda: context("<forever/>"))
    assert error.reason == "element forever inside a context or unit"


def test_context_without_a_period_is_refused() -> None:
    error = refusal(lambda: context("<startDate>2024-01-01</startDate>"))
    assert error.reason == "context 'c' has no identifier or no period with an end"


def test_period_that_ends_before_it_starts_is_refused() -> None:
    error = refusal(lambda: context("<startDate>2024-01-02</startDate><endDate>2024-01-01</endDate>"))
    assert error.reason == "context 'c' ends before it starts"


def test_two_contexts_with_one_id_are_refused() -> None:
    assert refused(CONTEXT + CONTEXT) == "id 'c' is used twice"


def test_context_without_an_id_is_refused() -> None:
    assert refused("<context/>") == "attribute id is missing"


@run_each_case(
    "scheme, entity, cik",
    [
        ("http://www.sec.gov/CIK", "0000320193", "0000320193"),
        ("http://www.sec.gov/CIK", " 320193\n", "0000320193"),
        ("http://www.sec.gov/CIK", "ACME", "ACME"),
        ("http://www.sec.gov/CIK", "12345678901", "12345678901"),
        ("http://standards.iso.org/iso/17442", "549300", "549300"),
    ],
)
def test_cik_has_ten_digits(scheme: str, entity: str, cik: str) -> None:
    assert context("<instant>2024-01-01</instant>", scheme=scheme, entity=entity).cik == cik


SEGMENT = (
    '<segment><xbrldi:explicitMember dimension="us-gaap:StatementClassOfStockAxis"> us-gaap:CommonStockMember\n'
    "</xbrldi:explicitMember></segment>"
)
SCENARIO = (
    '<scenario><xbrldi:typedMember dimension="acme:ContractAxis"><acme:Contract.domain>\n2024-07 '
    "</acme:Contract.domain></xbrldi:typedMember></scenario>"
)


def test_dimensions_come_from_segment_and_scenario_sorted() -> None:
    parsed_context = context("<instant>2024-01-01</instant>", inside_entity=SEGMENT, after=SCENARIO)
    assert parsed_context.dimensions == (
        ("acme:ContractAxis", "2024-07"),
        ("us-gaap:StatementClassOfStockAxis", "us-gaap:CommonStockMember"),
    )


def test_part_of_a_context_that_is_not_a_dimension_is_refused() -> None:
    error = refusal(
        lambda: context(
            "<instant>2024-01-01</instant>", inside_entity="<segment><acme:Region>EU</acme:Region></segment>"
        )
    )
    assert error.reason == "element Region inside a context or unit"


def test_one_axis_twice_is_refused() -> None:
    twice = SEGMENT.replace("</segment>", SEGMENT.removeprefix("<segment>"))
    error = refusal(lambda: context("<instant>2024-01-01</instant>", inside_entity=twice))
    assert error.reason == "context 'c' has the same axis twice"


@run_each_case("member", ["", "nope:Member", "us-gaap:", ":Member", "us-gaap:A B", "a:us-gaap:B"])
def test_member_that_is_no_name_in_scope_is_refused(member: str) -> None:
    wrong = SEGMENT.replace(" us-gaap:CommonStockMember\n", member)
    error = refusal(lambda: context("<instant>2024-01-01</instant>", inside_entity=wrong))
    assert error.reason == f"is not a name with a declared prefix: {member!r}"


def test_axis_without_a_dimension_is_refused() -> None:
    wrong = SEGMENT.replace("dimension=", "axis=")
    error = refusal(lambda: context("<instant>2024-01-01</instant>", inside_entity=wrong))
    assert error.reason == "attribute dimension is missing"


# Units.


@run_each_case(
    "measures, text",
    [
        ("<measure>iso4217:USD</measure>", "USD"),
        ("<measure> shares\n</measure>", "shares"),
        ("<measure>pure</measure>", "pure"),
        ("<measure>acme:Vendor</measure>", "Vendor"),
        ("<measure>iso4217:USD</measure><measure>acme:month</measure>", "USD*month"),
        (
            "<divide><unitNumerator><measure>iso4217:USD</measure></unitNumerator>"
            "<unitDenominator><measure>shares</measure></unitDenominator></divide>",
            "USD/shares",
        ),
        (
            "<divide><unitNumerator><measure>iso4217:USD</measure></unitNumerator>"
            "<unitDenominator><measure>iso4217:EUR</measure><measure>shares</measure></unitDenominator></divide>",
            "USD/EUR*shares",
        ),
    ],
)
def test_unit_is_a_text(measures: str, text: str) -> None:
    assert instance(f'<unit id="u">{measures}</unit>').units == {"u": text}


@run_each_case(
    "unit, reason",
    [
        ('<unit id="u"/>', "unit 'u' lacks a measure"),
        ('<unit id="u"><divide><unitDenominator/></divide></unit>', "unit 'u' lacks a measure"),
        ('<unit id="u"><measure>pure</measure><unitDenominator/></unit>', "unit 'u' lacks a measure"),
        ('<unit id="u"><measure/></unit>', "is not a name with a declared prefix: ''"),
        ('<unit id="u"><measure>nope:USD</measure></unit>', "is not a name with a declared prefix: 'nope:USD'"),
        ('<unit id="u"><measures/></unit>', "element measures inside a context or unit"),
        ("<unit><measure>pure</measure></unit>", "attribute id is missing"),
        (UNIT + UNIT, "id 'usd' is used twice"),
    ],
)
def test_incomplete_unit_is_refused(unit: str, reason: str) -> None:
    assert refused(unit) == reason


# Names.


def test_standard_taxonomy_has_its_usual_prefix() -> None:
    parsed = instance(
        CONTEXT + UNIT + '<g:Assets contextRef="c" unitRef="usd">1</g:Assets>',
        declared='xmlns:g="http://xbrl.us/us-gaap/2009-01-31"',
    )
    assert (parsed.facts[0].concept, parsed.namespaces["g"]) == ("us-gaap:Assets", "http://xbrl.us/us-gaap/2009-01-31")


def test_extension_keeps_the_prefix_of_the_document() -> None:
    assert fact('<acme:Widgets contextRef="c" unitRef="usd">1</acme:Widgets>').concept == "acme:Widgets"


def test_default_namespace_is_given_its_declared_prefix() -> None:
    parsed_fact = fact('<Widgets xmlns="http://acme.example/20240331" contextRef="c">x</Widgets>')
    assert parsed_fact.concept == "acme:Widgets"


def test_extension_without_any_prefix_is_its_local_name() -> None:
    assert fact('<Widgets xmlns="urn:other" contextRef="c">x</Widgets>').concept == "Widgets"


def test_prefix_in_a_text_means_what_is_declared_around_it() -> None:
    rebound = SEGMENT.replace(
        "<xbrldi:explicitMember", '<xbrldi:explicitMember xmlns:us-gaap="http://fasb.org/srt/2024"'
    )
    parsed_context = context("<instant>2024-01-01</instant>", inside_entity=rebound)
    assert parsed_context.dimensions == (("srt:StatementClassOfStockAxis", "srt:CommonStockMember"),)


def test_prefix_in_a_text_is_forgotten_after_its_element() -> None:
    inner = SEGMENT.replace("<segment>", '<segment xmlns:x="urn:x">').replace("us-gaap:Common", "x:Common")
    outer = SEGMENT.replace("us-gaap:Common", "x:Common")
    assert context("<instant>2024-01-01</instant>", inside_entity=inner).dimensions[0][1] == "x:CommonStockMember"
    error = refusal(lambda: context("<instant>2024-01-01</instant>", inside_entity=inner + outer))
    assert error.reason == "is not a name with a declared prefix: ' x:CommonStockMember\\n'"


def test_namespaces_and_schema_references_are_listed() -> None:
    parsed = instance('<link:schemaRef xlink:type="simple" xlink:href="acme-20240331.xsd"/>')
    assert (parsed.schema_refs, parsed.namespaces["acme"], parsed.namespaces[""]) == (
        ["acme-20240331.xsd"],
        "http://acme.example/20240331",
        "http://www.xbrl.org/2003/instance",
    )


@run_each_case(
    "uri, prefix",
    [
        ("http://fasb.org/us-gaap/2024", "us-gaap"),
        ("http://fasb.org/us-gaap/2012-01-31", "us-gaap"),
        ("http://xbrl.us/us-gaap/2009-01-31", "us-gaap"),
        ("http://fasb.org/us-gaap-sup/2022q3", "us-gaap-sup"),
        ("http://fasb.org/srt/2018-01-31", "srt"),
        ("http://xbrl.us/dei/2009-01-31", "dei"),
        ("http://xbrl.sec.gov/dei/2011-01-31", "dei"),
        ("http://xbrl.sec.gov/dei/2024", "dei"),
        ("http://xbrl.sec.gov/country/2024", "country"),
        ("http://xbrl.sec.gov/currency/2024", "currency"),
        ("http://xbrl.sec.gov/exch/2024", "exch"),
        ("http://xbrl.sec.gov/naics/2024", "naics"),
        ("http://xbrl.sec.gov/sic/2024", "sic"),
        ("http://xbrl.sec.gov/stpr/2018-01-31", "stpr"),
        ("http://xbrl.sec.gov/ecd/2024", "ecd"),
        ("http://xbrl.sec.gov/cyd/2024", "cyd"),
        ("http://xbrl.sec.gov/invest/2013-01-31", "invest"),
        ("http://xbrl.sec.gov/ffd/2024", "ffd"),
        ("http://xbrl.ifrs.org/taxonomy/2023-03-23/ifrs-full", "ifrs-full"),
        ("http://www.apple.com/20250329", None),
        ("http://fasb.org/us-gaap", None),
        ("http://fasb.org.evil.example/us-gaap/2024", None),
        ("http://xbrl.us/us-gaap/negated/2008-03-31", None),
        ("http://www.xbrl.org/2003/instance", None),
        ("", None),
    ],
)
def test_namespace_of_a_standard_taxonomy_is_known(uri: str, prefix: str | None) -> None:
    assert find_standard_prefix(uri) == prefix


def element(name: str) -> SchemaElement:
    return SchemaElement(name, None, None, False, "", "")


@run_each_case(
    "element_id, name",
    [
        ("us-gaap_Assets", "us-gaap:Assets"),
        ("acme_Widgets_Made", "acme:Widgets_Made"),
        ("a_b_Widgets", "a_b:Widgets"),
        ("a_b_c_Widgets", "a_b:c_Widgets"),
        ("other_Widgets_Made", "other:Widgets_Made"),
        ("id42", "acme:Numbered"),
        ("Widgets", "Widgets"),
        ("_Widgets", ":Widgets"),
        ("", ""),
    ],
)
def test_locator_id_becomes_a_concept_name(element_id: str, name: str) -> None:
    prefixes = {"us-gaap", "acme", "a", "a_b"}
    assert xbrl.resolve_concept(element_id, prefixes, {"id42": element("acme:Numbered")}) == name


# Label roles.


@run_each_case(
    "role, negated, kind",
    [
        (None, False, "standard"),
        (ROLE + "label", False, "standard"),
        (ROLE + "terseLabel", False, "terse"),
        (ROLE + "verboseLabel", False, "verbose"),
        (ROLE + "totalLabel", False, "total"),
        (ROLE + "periodStartLabel", False, "periodStart"),
        (ROLE + "periodEndLabel", False, "periodEnd"),
        (ROLE + "documentation", False, "documentation"),
        (ROLE_2009 + "netLabel", False, "net"),
        (ROLE_2009 + "negatedLabel", True, "standard"),
        (ROLE_2009 + "negatedTerseLabel", True, "terse"),
        (ROLE_2009 + "negatedTotalLabel", True, "total"),
        (ROLE_2009 + "negatedNetLabel", True, "net"),
        (ROLE_2009 + "negatedPeriodStartLabel", True, "periodStart"),
        (ROLE_2009 + "negatedPeriodEndLabel", True, "periodEnd"),
        (ROLE_2008 + "negated", True, "standard"),
        (ROLE_2008 + "negatedTotal", True, "total"),
        (ROLE_2008 + "negatedPeriodStart", True, "periodStart"),
        (ROLE_2008 + "negatedPeriodEnd", True, "periodEnd"),
        ("http://acme.example/role/negatedLabel", False, "other"),
        ("", False, "other"),
    ],
)
def test_role_of_a_label_has_a_kind_and_may_be_negated(role: str | None, negated: bool, kind: str) -> None:
    assert (xbrl.is_negated(role), xbrl.get_label_kind(role)) == (negated, kind)


def test_negated_label_of_2010_is_recognised() -> None:
    assert xbrl.is_negated("http://xbrl.us/us-gaap/role/label/negated")


LABELS = {ROLE + "label": "Standard", ROLE + "totalLabel": "Total", ROLE_2009 + "negatedTerseLabel": "Less"}


@run_each_case(
    "preferred, text",
    [
        (None, "Standard"),
        (ROLE + "totalLabel", "Total"),
        (ROLE_2009 + "negatedTotalLabel", "Total"),
        (ROLE_2008 + "negatedTotal", "Total"),
        (ROLE + "terseLabel", "Less"),
        (ROLE_2009 + "negatedLabel", "Standard"),
        (ROLE + "verboseLabel", "Standard"),
        ("http://acme.example/role/own", "Standard"),
    ],
)
def test_label_for_a_preferred_role(preferred: str | None, text: str) -> None:
    assert xbrl.find_label(LABELS, preferred) == text


def test_concept_without_a_label_has_none() -> None:
    assert xbrl.find_label({ROLE + "documentation": "..."}, ROLE + "terseLabel") is None


# Linkbases.

HREF = "https://xbrl.fasb.org/us-gaap/2024/elts/us-gaap-2024.xsd#us-gaap_"


def loc(label: str, name: str) -> str:
    return f'<link:loc xlink:type="locator" xlink:label="{label}" xlink:href="{HREF}{name}"/>'


def arc(kind: str, start: str, end: str, attributes: str = "") -> str:
    return f'<link:{kind}Arc xlink:type="arc" xlink:from="{start}" xlink:to="{end}" {attributes}/>'


def link(kind: str, inside: str, role: str = "r") -> str:
    return f'<link:{kind}Link xlink:type="extended" xlink:role="{role}">{inside}</link:{kind}Link>'


def linkbase(inside: str, *, root: str = "link:linkbase") -> bytes:
    return f"""<{root} xmlns:link="http://www.xbrl.org/2003/linkbase" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xbrldt="http://xbrl.org/2005/xbrldt">{inside}</{root}>""".encode()


def presented(inside: str, role: str = "r") -> list[PresentationArc]:
    return xbrl.parse_presentation(linkbase(link("presentation", inside)), "pre.xml")[role]


A_AND_B = loc("a", "Assets") + loc("b", "Cash")


def test_presentation_arc_has_the_ids_of_its_locators() -> None:
    attributes = f'order="1.07" preferredLabel="{ROLE}totalLabel" priority="2" use="optional"'
    (parsed_arc,) = presented(A_AND_B + arc("presentation", "a", "b", attributes))
    assert parsed_arc == PresentationArc("us-gaap_Assets", "us-gaap_Cash", 1.07, ROLE + "totalLabel", 2, False)


def test_presentation_arc_has_the_defaults_of_xbrl() -> None:
    (parsed_arc,) = presented(A_AND_B + arc("presentation", "a", "b"))
    assert parsed_arc == PresentationArc("us-gaap_Assets", "us-gaap_Cash", 1.0, None, 0, False)


def test_locators_may_follow_their_arcs() -> None:
    (parsed_arc,) = presented(arc("presentation", "a", "b") + A_AND_B)
    assert (parsed_arc.source, parsed_arc.target) == ("us-gaap_Assets", "us-gaap_Cash")


def test_locator_label_means_another_element_in_another_link() -> None:
    first_link = link("presentation", A_AND_B + arc("presentation", "a", "b"), "one")
    second_link = link("presentation", loc("a", "Debt") + loc("b", "Notes") + arc("presentation", "a", "b"), "two")
    arcs_by_role = xbrl.parse_presentation(linkbase(first_link + second_link), "pre.xml")
    assert {role: [(each.source, each.target) for each in arcs] for role, arcs in arcs_by_role.items()} == {
        "one": [("us-gaap_Assets", "us-gaap_Cash")],
        "two": [("us-gaap_Debt", "us-gaap_Notes")],
    }


def test_two_links_of_one_role_are_one_list() -> None:
    presentation_link = link("presentation", A_AND_B + arc("presentation", "a", "b"))
    assert len(xbrl.parse_presentation(linkbase(presentation_link + presentation_link), "pre.xml")["r"]) == 2


def test_link_without_arcs_is_an_empty_list() -> None:
    assert presented(loc("a", "Assets")) == []


def test_other_kinds_of_link_are_passed_over() -> None:
    other_links = link("calculation", A_AND_B + arc("calculation", "a", "b", 'weight="1"')) + link("label", "")
    assert xbrl.parse_presentation(linkbase(other_links), "pre.xml") == {}


def test_linkbase_embedded_in_a_schema_is_read() -> None:
    inside = link("presentation", A_AND_B + arc("presentation", "a", "b"))
    embedded = f"<xs:annotation><xs:appinfo><link:linkbase>{inside}</link:linkbase></xs:appinfo></xs:annotation>"
    arcs_by_role = xbrl.parse_presentation(linkbase(embedded, root="xs:schema"), "acme.xsd")
    assert [(each.source, each.target) for each in arcs_by_role["r"]] == [("us-gaap_Assets", "us-gaap_Cash")]


@run_each_case(
    "inside, reason",
    [
        (A_AND_B + arc("presentation", "a", "x"), "link r has no element with the label 'x'"),
        (A_AND_B + arc("presentation", "x", "b"), "link r has no element with the label 'x'"),
        (A_AND_B + '<link:presentationArc xlink:to="b"/>', "attribute from is missing"),
        (A_AND_B + '<link:presentationArc xlink:from="b"/>', "attribute to is missing"),
        ('<link:loc xlink:label="a"/>', "attribute href is missing"),
        ('<link:loc xlink:href="#a"/>', "attribute label is missing"),
        (A_AND_B + arc("presentation", "a", "b", 'order="first"'), "order is not a number: 'first'"),
        (A_AND_B + arc("presentation", "a", "b", 'order="nan"'), "order is not a number: 'nan'"),
        (A_AND_B + arc("presentation", "a", "b", 'priority="1.5"'), "priority is not a number: '1.5'"),
    ],
)
def test_broken_link_is_refused(inside: str, reason: str) -> None:
    error = refusal(lambda: presented(inside))
    assert (error.file, error.place[:5], error.reason) == ("pre.xml", "line ", reason)


def test_link_without_a_role_is_refused() -> None:
    error = refusal(lambda: xbrl.parse_presentation(linkbase("<link:presentationLink/>"), "pre.xml"))
    assert error.reason == "attribute role is missing"


@run_each_case(
    "parse",
    [
        xbrl.parse_presentation,
        xbrl.parse_calculation,
        xbrl.parse_definition,
        xbrl.parse_labels,
        xbrl.parse_schema,
        xbrl.parse_instance,
    ],
)
def test_html_page_instead_of_a_document_is_refused(parse: Callable[[bytes, str], object]) -> None:
    page = b'<html xmlns="http://www.w3.org/1999/xhtml"><body>Request Rate Threshold Exceeded</body></html>'
    assert refusal(lambda: parse(page, "x")).reason.startswith("the root element is html, not ")


def test_locators_that_share_a_label_all_have_the_arc() -> None:
    both = loc("a", "Assets") + loc("b", "Cash") + loc("b", "Debt") + arc("presentation", "a", "b")
    assert [each.target for each in presented(both)] == ["us-gaap_Cash", "us-gaap_Debt"]


def test_locators_that_would_make_a_million_arcs_are_refused() -> None:
    error = refusal(lambda: presented(loc("a", "Assets") * 1000 + arc("presentation", "a", "a")))
    assert error.reason == "shared labels imply more than 100000 additional arcs"
    assert linkbases.MAX_ADDITIONAL_ARCS == 100_000


def test_calculation_arc_has_its_weight() -> None:
    inside = A_AND_B + arc("calculation", "a", "b", 'order="2" weight="-1.00" priority="2"')
    arcs_by_role = xbrl.parse_calculation(linkbase(link("calculation", inside)), "cal.xml")
    assert arcs_by_role == {"r": [CalculationArc("us-gaap_Assets", "us-gaap_Cash", 2.0, Decimal(-1), 2, False)]}


@pytest.mark.parametrize(
    ("attributes", "reason"), [("", "attribute weight is missing"), ('weight="one"', "weight is not a number: 'one'")]
)
def test_calculation_arc_without_a_weight_is_refused(attributes: str, reason: str) -> None:
    inside = A_AND_B + arc("calculation", "a", "b", attributes)
    error = refusal(lambda: xbrl.parse_calculation(linkbase(link("calculation", inside)), "cal.xml"))
    assert error.reason == reason


def test_definition_arc_has_its_dimensional_attributes() -> None:
    dim = "http://xbrl.org/int/dim/arcrole/"
    inside = (
        A_AND_B
        + arc("definition", "a", "b", f'xlink:arcrole="{dim}all" xbrldt:closed="true" xbrldt:contextElement="segment"')
        + arc("definition", "b", "a", f'xlink:arcrole="{dim}domain-member" xbrldt:usable="false" order="2"')
        + arc("definition", "b", "a", f'xlink:arcrole="{dim}dimension-domain" xbrldt:targetRole="r2"')
    )
    a, b = "us-gaap_Assets", "us-gaap_Cash"
    assert xbrl.parse_definition(linkbase(link("definition", inside)), "def.xml") == {
        "r": [
            DefinitionArc(a, b, 1.0, "all", None, True, True, 0, False),
            DefinitionArc(b, a, 2.0, "domain-member", None, False, False, 0, False),
            DefinitionArc(b, a, 1.0, "dimension-domain", "r2", False, True, 0, False),
        ]
    }


def test_definition_arc_without_an_arcrole_is_refused() -> None:
    inside = A_AND_B + arc("definition", "a", "b")
    error = refusal(lambda: xbrl.parse_definition(linkbase(link("definition", inside)), "def.xml"))
    assert error.reason == "attribute arcrole is missing"


# Prohibition.


def pre_arc(priority: int, prohibited: bool, order: float = 1.0, role: str | None = None) -> PresentationArc:
    return PresentationArc("a", "b", order, role, priority, prohibited)


def test_prohibition_removes_arcs_of_no_higher_priority() -> None:
    assert xbrl.select_effective_arcs([pre_arc(0, False), pre_arc(0, True)]) == []
    assert xbrl.select_effective_arcs([pre_arc(2, True), pre_arc(1, False)]) == []


def test_arc_of_a_higher_priority_survives_a_prohibition() -> None:
    assert xbrl.select_effective_arcs([pre_arc(1, True), pre_arc(2, False), pre_arc(0, False)]) == [pre_arc(2, False)]


def test_prohibition_of_another_order_or_label_removes_nothing() -> None:
    arcs = [pre_arc(0, False), pre_arc(9, True, order=2.0), pre_arc(9, True, role="x")]
    assert xbrl.select_effective_arcs(arcs) == [pre_arc(0, False)]


def test_repeated_arc_counts_once_in_the_place_of_the_first() -> None:
    other = PresentationArc("a", "c", 2.0, None, 0, False)
    assert xbrl.select_effective_arcs([pre_arc(0, False), other, pre_arc(1, False)]) == [pre_arc(1, False), other]


def test_prohibited_arc_is_read_as_such() -> None:
    inside = A_AND_B + arc("presentation", "a", "b") + arc("presentation", "a", "b", 'use="prohibited"')
    arcs = presented(inside)
    assert ([each.is_prohibited for each in arcs], xbrl.select_effective_arcs(arcs)) == ([False, True], [])


# Labels.


def label(name: str, text: str, role: str = ROLE + "label", lang: str = ' xml:lang="en-US"') -> str:
    return f'<link:label xlink:type="resource" xlink:label="{name}" xlink:role="{role}"{lang}>{text}</link:label>'


def labelled(inside: str) -> dict[str, dict[str, str]]:
    return xbrl.parse_labels(linkbase(link("label", inside)), "lab.xml")


CASH = loc("a", "Cash") + arc("label", "a", "l")


def test_labels_are_by_element_and_role() -> None:
    labels = labelled(CASH + label("l", "Cash") + label("l", "Total cash", ROLE + "totalLabel"))
    assert labels == {"us-gaap_Cash": {ROLE + "label": "Cash", ROLE + "totalLabel": "Total cash"}}


def test_label_white_space_is_collapsed_and_escaped_html_stays() -> None:
    labels = labelled(CASH + label("l", "\n  Cash\u00a0 and\n\tcash &lt;i&gt;equivalents&lt;/i&gt; "))
    assert labels["us-gaap_Cash"] == {ROLE + "label": "Cash and cash <i>equivalents</i>"}


def test_markup_in_a_label_gives_its_text() -> None:
    labels = labelled(CASH + label("l", '<p xmlns="http://www.w3.org/1999/xhtml">Cash <b>now</b></p>'))
    assert labels["us-gaap_Cash"] == {ROLE + "label": "Cash now"}


def test_american_english_label_is_preferred_in_any_order() -> None:
    british, plain = ' xml:lang="en-GB"', ' xml:lang="EN"'
    inside = label("l", "Cash, Britain", lang=british) + label("l", "Cash") + label("l", "Cash, plain", lang=plain)
    assert labelled(CASH + inside)["us-gaap_Cash"] == {ROLE + "label": "Cash"}


def test_other_english_serves_where_there_is_no_american_label() -> None:
    inside = label("l", "Cash") + label("l", "Cash, in all", ROLE + "totalLabel", ' xml:lang="en"')
    assert labelled(CASH + inside)["us-gaap_Cash"] == {ROLE + "label": "Cash", ROLE + "totalLabel": "Cash, in all"}


def test_other_languages_are_left_out() -> None:
    inside = label("l", "Efectivo", lang=' xml:lang="es"') + label("l", "Liquidités", lang=' xml:lang="enm"')
    assert labelled(CASH + inside) == {}


def test_label_without_a_language_is_taken_for_english() -> None:
    assert labelled(CASH + label("l", "Cash", lang=""))["us-gaap_Cash"] == {ROLE + "label": "Cash"}


def test_repeated_label_arcs_give_one_set_of_labels() -> None:
    inside = CASH + arc("label", "a", "l") + label("l", "Cash") + label("l", "Cash, terse", ROLE + "terseLabel")
    assert labelled(inside) == {"us-gaap_Cash": {ROLE + "label": "Cash", ROLE + "terseLabel": "Cash, terse"}}


def test_prohibited_label_is_left_out() -> None:
    inside = CASH + label("l", "Cash") + arc("label", "a", "l", 'use="prohibited" priority="1"')
    assert labelled(inside) == {}


def test_arc_to_a_label_that_is_not_there_is_refused() -> None:
    error = refusal(lambda: labelled(CASH))
    assert str(error).endswith("link r has no element with the label 'l'")


# Schemas.

SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:link="http://www.xbrl.org/2003/linkbase"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xbrli="http://www.xbrl.org/2003/instance"
 xmlns:xbrldt="http://xbrl.org/2005/xbrldt" xmlns:acme="http://acme.example/20240331"
 targetNamespace="http://acme.example/20240331">
<xs:annotation><xs:appinfo>
 <link:linkbaseRef xlink:type="simple" xlink:href="acme_pre.xml" xlink:role="pre"/>
 <link:linkbaseRef xlink:type="simple" xlink:href="acme_any.xml"/>
 <link:roleType roleURI="http://acme.example/role/Balance" id="Balance">
  <link:definition> 0000003 - Statement -
   BALANCE &amp; SHEET </link:definition><link:usedOn>link:presentationLink</link:usedOn></link:roleType>
 <link:roleType roleURI="http://acme.example/role/Other" id="Other"/>
 <link:arcroleType arcroleURI="x" id="x"><link:definition>no role</link:definition></link:arcroleType>
</xs:appinfo></xs:annotation>
<xs:element id="acme_Widgets" name="Widgets" abstract="false" nillable="true" type="xbrli:monetaryItemType"
 substitutionGroup="xbrli:item" xbrli:balance="debit" xbrli:periodType="instant"/>
<xs:element id="acme_WidgetsTable" name="WidgetsTable" abstract="true" type="xbrli:stringItemType"
 substitutionGroup="xbrldt:hypercubeItem" xbrli:periodType="duration"/>
<xs:element id="acme_Bare" name="Bare"/>
<xs:element name="NoId"/>
<xs:complexType name="t"><xs:sequence><xs:element id="inner" name="inner"/></xs:sequence></xs:complexType>
</xs:schema>"""


def schema(text: str = SCHEMA) -> xbrl.Schema:
    return xbrl.parse_schema(text.encode(), "acme.xsd")


def test_schema_has_its_namespace_and_prefix() -> None:
    assert (schema().namespace, schema().prefix) == ("http://acme.example/20240331", "acme")


def test_roles_have_their_definitions() -> None:
    assert schema().roles == {
        "http://acme.example/role/Balance": "0000003 - Statement - BALANCE & SHEET",
        "http://acme.example/role/Other": "",
    }


def test_elements_are_by_id() -> None:
    assert schema().elements == {
        "acme_Widgets": SchemaElement("acme:Widgets", "debit", "instant", False, "monetaryItemType", "item"),
        "acme_WidgetsTable": SchemaElement(
            "acme:WidgetsTable", None, "duration", True, "stringItemType", "hypercubeItem"
        ),
        "acme_Bare": SchemaElement("acme:Bare", None, None, False, "", ""),
    }


def test_without_a_declared_prefix_ids_name_the_elements() -> None:
    elements = schema(
        SCHEMA.replace(' xmlns:acme="http://acme.example/20240331"', "").replace("acme_Bare", "x")
    ).elements
    assert {element_id: element.name for element_id, element in elements.items()} == {
        "acme_Widgets": "acme:Widgets",
        "acme_WidgetsTable": "acme:WidgetsTable",
        "x": "Bare",
    }


def test_linkbase_references_are_listed_with_their_roles() -> None:
    assert schema().linkbase_refs == [LinkbaseRef("acme_pre.xml", "pre"), LinkbaseRef("acme_any.xml", "")]


@run_each_case(
    "old, new, reason",
    [
        ('"acme_Bare"', '"acme_Widgets"', "id 'acme_Widgets' is used twice"),
        ('"debit"', '"both"', "element 'acme_Widgets' has an unknown balance or period type"),
        ('"instant"', '"now"', "element 'acme_Widgets' has an unknown balance or period type"),
        (' name="Bare"', "", "attribute name is missing"),
        ('roleURI="http://acme.example/role/Other"', "", "attribute roleURI is missing"),
        ('xlink:href="acme_any.xml"', "", "attribute href is missing"),
    ],
)
def test_broken_schema_is_refused(old: str, new: str, reason: str) -> None:
    error = refusal(lambda: schema(SCHEMA.replace(old, new)))
    assert (error.file, error.reason) == ("acme.xsd", reason)


# Broken bytes.

SAMPLES: list[tuple[Callable[[bytes, str], object], bytes]] = [
    (
        xbrl.parse_instance,
        document(
            CONTEXT.replace("</entity>", SEGMENT + "</entity>")
            + UNIT
            + '<us-gaap:Assets contextRef="c" unitRef="usd" decimals="-3">1.5</us-gaap:Assets>'
            + '<us-gaap:Debt contextRef="c" unitRef="usd" xsi:nil="true"/>'
            + '<dei:EntityRegistrantName contextRef="c">Açme</dei:EntityRegistrantName>'
        ),
    ),
    (xbrl.parse_presentation, linkbase(link("presentation", A_AND_B + arc("presentation", "a", "b", 'order="2"')))),
    (xbrl.parse_calculation, linkbase(link("calculation", A_AND_B + arc("calculation", "a", "b", 'weight="-1.0"')))),
    (
        xbrl.parse_definition,
        linkbase(link("definition", A_AND_B + arc("definition", "a", "b", 'xlink:arcrole="x/all"'))),
    ),
    (xbrl.parse_labels, linkbase(link("label", CASH + label("l", "Cash &amp; é")))),
    (xbrl.parse_schema, SCHEMA.encode()),
]
each_sample = pytest.mark.parametrize(("parse", "data"), SAMPLES, ids=[parse.__name__ for parse, _ in SAMPLES])


@each_sample
def test_every_prefix_of_a_document_is_refused(parse: Callable[[bytes, str], object], data: bytes) -> None:
    parse(data, "x")
    for length in range(len(data)):
        refusal(lambda: parse(data[:length], "x"))  # noqa: B023


@each_sample
def test_document_type_is_refused(parse: Callable[[bytes, str], object], data: bytes) -> None:
    start = data.index(b"<x" if b"<xs:" in data[:10] or b"<xbrl" in data else b"<link")
    hostile = data[:start] + b'<!DOCTYPE x [<!ENTITY a "b">]>' + data[start:]
    assert refusal(lambda: parse(hostile, "x")).reason == "a document type declaration, which no SEC format allows"


@pytest.mark.slow
@each_sample
@settings(max_examples=examples(250), deadline=None)
@given(
    edits=st.lists(
        st.tuples(
            st.floats(0, 0.999),
            st.one_of(st.binary(max_size=3), st.sampled_from([b"<", b"</a>", b"&lt;", b'"', b":", b"-", b"\xff\xfe"])),
            st.integers(0, 20),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_mutated_document_is_read_or_refused(
    parse: Callable[[bytes, str], object], data: bytes, edits: list[tuple[float, bytes, int]]
) -> None:
    for fraction, new, removed in edits:
        position = int(fraction * len(data))
        data = data[:position] + new + data[position + removed :]
    try:
        parse(data, "x")
    except ParseError as error:
        file = error.file
        assert file == "x"


# The real filings.

AAPL_10Q = "aapl-10q-20250329_0000320193-25-000057/aapl-20250329"
AAPL_2023 = "aapl-10k-20230930_0000320193-23-000106/aapl-20230930"
AAPL_2024 = "aapl-10k-20240928_0000320193-24-000123/aapl-20240928"
NFLX_2010 = "nflx-10q-20100930/nflx-20100930"
NFLX_2024 = "nflx-10q-20240331/nflx-20240331"
AEON = "aeon-10q-20230930/aeon-20230930"
UPXI = "upxi-10k-20240630_0001477932-24-008123/upxi"

INSTANCES = {
    AAPL_10Q: "_htm.xml",
    AAPL_2023: "_htm.xml",
    AAPL_2024: "_htm.xml",
    NFLX_2010: ".xml",
    NFLX_2024: "_htm.xml",
    AEON: "x10q_htm.xml",
    UPXI: "_10k_htm.xml",
}


def real(name: str) -> bytes:
    return (FILINGS / name).read_bytes()


def real_instance(filing: str) -> xbrl.Instance:
    return xbrl.parse_instance(real(filing + INSTANCES[filing]), filing)


def values(parsed: xbrl.Instance, concept: str) -> list[tuple[str | None, str, str | None]]:
    """Return the start, end and value of each fact of a concept that has no dimensions."""
    rows = []
    for each in parsed.facts:
        fact_context = parsed.contexts[each.context]
        if each.concept == concept and not fact_context.dimensions:
            rows.append((fact_context.start, fact_context.end, each.value))
    return rows


@needs_filings
@run_each_case(
    "filing, facts, long_texts, contexts, units, nils, texts",
    [
        (AAPL_10Q, 741, 19, 163, {"USD", "USD/shares", "Vendor", "pure", "shares"}, 2, 67),
        (
            AAPL_2023,
            1119,
            45,
            205,
            {"Customer", "EUR", "Subsidiary", "USD", "USD/shares", "Vendor", "performanceObligation", "pure", "shares"},
            3,
            124,
        ),
        (AAPL_2024, 1085, 42, 193, {"EUR", "Subsidiary", "USD", "USD/shares", "Vendor", "pure", "shares"}, 2, 122),
        (NFLX_2010, 294, 9, 11, {"USD", "USD/shares", "shares"}, 2, 12),
        (NFLX_2024, 712, 35, 242, {"EUR", "USD", "USD/shares", "membership", "pure", "segment", "shares"}, 2, 59),
        (
            AEON,
            1084,
            48,
            374,
            {"D", "USD", "USD/shares", "Vote", "Y", "director", "item", "pure", "segment", "shares"},
            2,
            82,
        ),
        (UPXI, 1216, 67, 230, {"USD", "USD/shares", "pure", "shares", "sqft"}, 0, 95),
    ],
)
def test_real_instance_has_the_expected_counts(
    filing: str, facts: int, long_texts: int, contexts: int, units: set[str], nils: int, texts: int
) -> None:
    parsed = real_instance(filing)
    assert (len(parsed.facts), parsed.long_text_count, len(parsed.contexts)) == (facts, long_texts, contexts)
    assert set(parsed.units.values()) == units
    assert sum(each.is_nil for each in parsed.facts) == nils
    assert sum(each.unit is None for each in parsed.facts) == texts


@needs_filings
@run_each_case("filing", INSTANCES)
def test_real_facts_equal_those_read_by_elementtree(filing: str) -> None:
    nil = "{http://www.w3.org/2001/XMLSchema-instance}nil"
    expected = [
        (
            each.tag.partition("}")[2],
            each.get("contextRef"),
            each.get("unitRef"),
            each.get("decimals"),
            None if each.get(nil) == "true" else each.text or "",
        )
        for each in ET.fromstring(real(filing + INSTANCES[filing]))
        if each.get("contextRef") and len(each.text or "") <= 1000
    ]
    actual = [
        (each.concept.partition(":")[2], each.context, each.unit, each.decimals, each.value)
        for each in real_instance(filing).facts
    ]
    assert actual == expected


@needs_filings
def test_assets_and_property_payments_of_apple_are_as_filed() -> None:
    filing = real_instance(AAPL_10Q)
    assert values(filing, "us-gaap:Assets") == [
        (None, "2025-03-29", "331233000000"),
        (None, "2024-09-28", "364980000000"),
    ]
    assert values(filing, "us-gaap:PaymentsToAcquirePropertyPlantAndEquipment") == [
        ("2024-09-29", "2025-03-29", "6011000000"),
        ("2023-10-01", "2024-03-30", "4388000000"),
    ]
    assert Counter(each.concept.partition(":")[0] for each in filing.facts) == {
        "us-gaap": 650,
        "dei": 53,
        "aapl": 34,
        "ecd": 4,
    }
    assert filing.schema_refs == ["aapl-20250329.xsd"]


@needs_filings
def test_dimensions_of_apple_are_explicit_and_typed() -> None:
    filing = real_instance(AAPL_10Q)
    assert Counter(len(each.dimensions) for each in filing.contexts.values()) == {1: 118, 2: 28, 0: 11, 3: 6}
    axis = "us-gaap:RevenueRemainingPerformanceObligationExpectedTimingOfSatisfactionStartDateAxis"
    assert filing.contexts["c-75"] == InstanceContext("c-75", "0000320193", None, "2025-03-29", ((axis, "2025-03-30"),))


@needs_filings
def test_netflix_2010_with_facts_before_contexts_is_read() -> None:
    filing = real_instance(NFLX_2010)
    assert values(filing, "us-gaap:Assets") == [(None, "2010-09-30", "770283000"), (None, "2009-12-31", "679734000")]
    assert Counter(each.concept.partition(":")[0] for each in filing.facts) == {"us-gaap": 243, "nflx": 40, "dei": 11}
    assert {each.unit for each in filing.facts if each.is_nil} == {None}


@needs_filings
def test_duplicates_of_netflix_differ_in_their_decimals() -> None:
    obligations = [
        (each.value, each.decimals)
        for each in real_instance(NFLX_2024).facts
        if each.concept == "us-gaap:PurchaseObligation" and each.context == "c-2"
    ]
    assert obligations == [("24200000000", "-8"), ("24195000000", "-3")]


@needs_filings
@run_each_case(
    "file, namespace, prefix, roles, elements",
    [
        (AAPL_10Q + ".xsd", "http://www.apple.com/20250329", "aapl", 45, 40),
        (AAPL_2023 + ".xsd", "http://www.apple.com/20230930", "aapl", 78, 79),
        (NFLX_2010 + ".xsd", "http://www.netflix.com/20100930", "nflx", 15, 15),
        (NFLX_2024 + ".xsd", "http://www.netflix.com/20240331", "nflx", 64, 54),
        (AEON + ".xsd.xml", "http://www.aeonbiopharma.com/20230930", "aeon", 70, 211),
    ],
)
def test_real_schema(file: str, namespace: str, prefix: str, roles: int, elements: int) -> None:
    schema = xbrl.parse_schema(real(file), file)
    assert (schema.namespace, schema.prefix) == (namespace, prefix)
    assert (len(schema.roles), len(schema.elements), len(schema.linkbase_refs)) == (roles, elements, 4)


@needs_filings
def test_sections_and_elements_of_netflix_2010() -> None:
    schema = xbrl.parse_schema(real(NFLX_2010 + ".xsd"), "nflx.xsd")
    assert (
        schema.roles["http://www.netflix.com/taxonomy/role/StatementOfFinancialPositionClassified"]
        == "105 - Statement - Consolidated Balance Sheets"
    )
    assert schema.elements["nflx_ContentLibraryNetCurrent"] == SchemaElement(
        "nflx:ContentLibraryNetCurrent", "debit", "instant", False, "monetaryItemType", "item"
    )


@needs_filings
@run_each_case(
    "filing, kind, roles, arcs",
    [
        (AAPL_10Q, "pre", 47, 486),
        (AAPL_10Q, "cal", 9, 106),
        (AAPL_10Q, "def", 15, 251),
        (AAPL_2023, "pre", 83, 768),
        (AAPL_2023, "cal", 25, 215),
        (AAPL_2023, "def", 26, 386),
        (AAPL_2024, "pre", 75, 767),
        (NFLX_2010, "pre", 15, 183),
        (NFLX_2010, "cal", 15, 70),
        (NFLX_2010, "def", 15, 168),
        (NFLX_2024, "pre", 69, 643),
        (NFLX_2024, "cal", 12, 91),
        (NFLX_2024, "def", 23, 341),
        (AEON, "pre", 68, 926),
        (AEON, "cal", 7, 71),
        (AEON, "def", 36, 759),
        (UPXI + "-20240630", "pre", 90, 1036),
    ],
)
def test_all_arcs_of_a_real_linkbase_are_effective(filing: str, kind: str, roles: int, arcs: int) -> None:
    data = real(f"{filing}_{kind}.xml")
    arc_lists: list[list[PresentationArc]] | list[list[CalculationArc]] | list[list[DefinitionArc]]
    if kind == "pre":
        arc_lists = list(xbrl.parse_presentation(data, kind).values())
    elif kind == "cal":
        arc_lists = list(xbrl.parse_calculation(data, kind).values())
    else:
        arc_lists = list(xbrl.parse_definition(data, kind).values())
    assert (len(arc_lists), sum(map(len, arc_lists))) == (roles, arcs)
    assert sum(len(xbrl.select_effective_arcs(each)) for each in arc_lists) == arcs


@needs_filings
@run_each_case(
    "filing, elements, texts",
    [
        (AAPL_10Q, 450, 955),
        (AAPL_2023, 689, 1485),
        (AAPL_2024, 684, 1479),
        (NFLX_2010, 129, 190),
        (NFLX_2024, 520, 1114),
        (AEON, 600, 1362),
        (UPXI + "-20240630", 716, 940),
    ],
)
def test_real_labels(filing: str, elements: int, texts: int) -> None:
    labels = xbrl.parse_labels(real(filing + "_lab.xml"), "lab.xml")
    assert (len(labels), sum(map(len, labels.values()))) == (elements, texts)


@needs_filings
def test_cash_flow_line_of_apple_is_negated_on_the_page_only() -> None:
    role = "http://www.apple.com/role/CONDENSEDCONSOLIDATEDSTATEMENTSOFCASHFLOWSUnaudited"
    concept = "us-gaap_PaymentsToAcquirePropertyPlantAndEquipment"
    (line,) = [
        each for each in xbrl.parse_presentation(real(AAPL_10Q + "_pre.xml"), "pre")[role] if each.target == concept
    ]
    (part,) = [
        each for each in xbrl.parse_calculation(real(AAPL_10Q + "_cal.xml"), "cal")[role] if each.target == concept
    ]
    texts = xbrl.parse_labels(real(AAPL_10Q + "_lab.xml"), "lab")[concept]
    assert xbrl.is_negated(line.preferred_label)
    assert xbrl.find_label(texts, line.preferred_label) == "Payments for acquisition of property, plant and equipment"
    assert (part.source, part.weight) == ("us-gaap_NetCashProvidedByUsedInInvestingActivities", Decimal(-1))


@needs_filings
def test_netflix_2010_cash_opens_and_closes_the_cash_flows() -> None:
    role = "http://www.netflix.com/taxonomy/role/StatementOfCashFlowsIndirect"
    arcs = xbrl.parse_presentation(real(NFLX_2010 + "_pre.xml"), "pre")[role]
    kinds = [
        xbrl.get_label_kind(each.preferred_label)
        for each in sorted(arcs, key=lambda each: each.order)
        if each.target == "us-gaap_CashAndCashEquivalentsAtCarryingValue"
    ]
    assert kinds == ["periodStart", "periodEnd"]
    negated = Counter(each.preferred_label for each in arcs if xbrl.is_negated(each.preferred_label))
    assert negated == {"http://xbrl.us/us-gaap/role/label/negated": 13}


@needs_filings
@run_each_case("filing", [AAPL_10Q, AAPL_2023, NFLX_2010, NFLX_2024, AEON])
def test_every_locator_of_a_real_filing_names_a_known_concept(filing: str) -> None:
    instance_ = real_instance(filing)
    suffix = ".xsd.xml" if filing == AEON else ".xsd"
    elements = xbrl.parse_schema(real(filing + suffix), "xsd").elements
    arcs = xbrl.parse_presentation(real(filing + "_pre.xml"), "pre")
    names = {
        xbrl.resolve_concept(element_id, instance_.namespaces, elements)
        for section in arcs.values()
        for each in section
        for element_id in (each.source, each.target)
    }
    assert {name.partition(":")[0] for name in names} <= set(instance_.namespaces)
    missing = {each.concept for each in instance_.facts} - names
    assert missing == ({"nflx:OperatingCashFlowsFromdseOperatingLeases"} if filing == NFLX_2024 else set())


@pytest.mark.slow
@needs_filings
def test_prefixes_of_a_real_linkbase_are_refused() -> None:
    data = real(NFLX_2010 + "_cal.xml")
    for length in range(0, len(data) - 20, 97):
        refusal(lambda: xbrl.parse_calculation(data[:length], "cal"))  # noqa: B023
