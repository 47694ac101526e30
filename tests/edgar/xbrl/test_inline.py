"""Inline XBRL: the facts of pages, equal to those of the instance that the SEC extracts from them."""

from __future__ import annotations

import gc
from decimal import Decimal

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import sgml
from finapi.edgar.document_kinds import detect_kind
from finapi.edgar.xbrl import TEXT_LIMIT, InlinePage, Instance, InstanceFact, parse_inline, parse_instance
from finapi.edgar.xbrl.inline import MAX_DEPTH, MAX_NUMBER_CHARACTERS
from tests.conftest import SHARED
from tests.support.case_tables import run_each_case
from tests.support.inline_pages import CIK, build_number, build_page, build_text

EDGAR = SHARED / "edgar"

DOT = 'format="ixt:num-dot-decimal"'
INSTANCE = f"""<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:link="http://www.xbrl.org/2003/linkbase"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:us-gaap="http://fasb.org/us-gaap/2024"
 xmlns:iso4217="http://www.xbrl.org/2003/iso4217">
<link:schemaRef xlink:type="simple" xlink:href="brk-20241231.xsd"/>
<context id="c-1"><entity><identifier scheme="http://www.sec.gov/CIK">{CIK}</identifier></entity>
<period><startDate>2024-01-01</startDate><endDate>2024-12-31</endDate></period></context>
<context id="c-2"><entity><identifier scheme="http://www.sec.gov/CIK">{CIK}</identifier></entity>
<period><instant>2024-12-31</instant></period></context>
<unit id="usd"><measure>iso4217:USD</measure></unit><unit id="pure"><measure>pure</measure></unit>
<us-gaap:Assets contextRef="c-2" unitRef="usd" decimals="-6" id="f-1">352583000000</us-gaap:Assets>
</xbrl>""".encode()


def parse(*bodies: str) -> Instance:
    """Return the instance of pages with these bodies; only the first one has a header."""
    pages = [build_page(body, **({} if index == 0 else {"header": ""})) for index, body in enumerate(bodies)]
    return parse_inline([InlinePage(page, f"page{index}.htm") for index, page in enumerate(pages)])


def list_values(*bodies: str) -> list[str | None]:
    return [fact.value for fact in parse(*bodies).facts]


def get_error(*bodies: str) -> str:
    with pytest.raises(ParseError) as error:
        parse(*bodies)
    return str(error.value)


# ---- numbers


def test_a_page_has_the_facts_of_its_instance() -> None:
    number = build_number("352,583", attributes=f'decimals="-6" scale="6" {DOT} id="f-1"')
    page = parse(f"<p>Assets of ${number} million</p>")
    instance = parse_instance(INSTANCE, "f")
    assert page.facts == instance.facts
    assert page.facts == [InstanceFact("us-gaap:Assets", "c-2", "usd", "-6", "352583000000", False, "f-1")]
    assert (page.contexts, page.units, page.schema_refs) == (instance.contexts, instance.units, instance.schema_refs)


@run_each_case(
    "text, attributes, value",
    [
        ("1234", "", "1234"),
        (" 1234.50 ", "", "1234.50"),
        ("1,234.50", DOT, "1234.50"),
        ("48.3", f'{DOT} scale="9"', "48300000000"),
        ("6.0", f'{DOT} scale="9"', "6000000000"),
        ("24.4", f'{DOT} scale="-2"', "0.244"),
        ("0.105", f'{DOT} scale="0"', "0.105"),
        ("1,234", f'{DOT} sign="-"', "-1234"),
        ("1,234", f'{DOT} scale="3" sign="-"', "-1234000"),
        ("\u2014", 'format="ixt:fixed-zero" scale="6"', "0"),
        ("\u2014", 'format="ixt:fixed-zero" sign="-"', "0"),
        ("two", 'format="ixt-sec:numwordsen"', "2"),
        ("<b>1,</b><i>234</i>", DOT, "1234"),
        ("1,234<ix:exclude>(a)</ix:exclude>", DOT, "1234"),
        ("9" * 60, 'scale="3"', "9" * 60 + "000"),
    ],
)
def test_a_number_is_text_times_scale_times_sign(text: str, attributes: str, value: str) -> None:
    assert list_values(build_number(text, attributes=attributes)) == [value]


def test_a_nil_number_has_no_value() -> None:
    facts = parse(build_number("\u2014", attributes='xsi:nil="true" id="f"')).facts
    assert [(fact.value, fact.is_nil, fact.unit, fact.id) for fact in facts] == [(None, True, "usd", "f")]


def test_nested_numbers_have_the_same_text() -> None:
    inner = build_number("1,234", name="us-gaap:Liabilities", attributes=f'{DOT} scale="3" id="inner"')
    facts = parse(build_number(inner, attributes=f'{DOT} sign="-" id="outer"')).facts
    assert [(fact.id, fact.concept, fact.value) for fact in facts] == [
        ("outer", "us-gaap:Assets", "-1234"),
        ("inner", "us-gaap:Liabilities", "1234000"),
    ]


def test_a_fraction_is_its_quotient() -> None:
    fraction = (
        '<ix:fraction name="us-gaap:Rate" contextRef="c-1" unitRef="pure" id="f">'
        "<ix:numerator>1</ix:numerator>/<ix:denominator>8</ix:denominator></ix:fraction>"
    )
    assert [(fact.concept, fact.value, fact.unit) for fact in parse(fraction).facts] == [
        ("us-gaap:Rate", "0.125", "pure")
    ]
    assert "has no exact decimal value" in get_error(fraction.replace(">8<", ">3<"))
    assert "is not a fraction" in get_error(fraction.replace(">8<", ">0<"))
    assert "is not a fraction" in get_error(fraction.replace(">1<", ">1E999999<"))
    assert "is not a fraction" in get_error(fraction.replace("<ix:denominator>8</ix:denominator>", ""))


@run_each_case(
    "text, attributes, message",
    [
        ("(1,234)", DOT, "us-gaap:Assets: '(1,234)' is not a number"),
        ("1,234", "", "is not a decimal number"),
        ("", "", "is not a decimal number"),
        ("abc", 'scale="3"', "is not a number"),
        ("NaN", 'scale="3"', "is not a number"),
        # Written out, these would take a megabyte or a gigabyte each.
        ("1E999999", 'scale="3"', "'1E999999' is not a number"),
        ("1E999999999", 'sign="-"', "'1E999999999' is not a number"),
        ("12", 'scale="100"', "scale is not a number of at most two digits"),
        ("12", 'scale="x"', "scale is not a number"),
        ("12", 'sign="+"', "sign is not a minus"),
        ("12", 'format="ixt:num-moon"', "num-moon is not supported"),
        ("12", 'format="moon:num-dot-decimal"', "is not a format with a declared prefix"),
        ("12", 'format="num-dot-decimal"', "is not a format with a declared prefix"),
        ("12", 'decimals="x"', "decimals is not a number"),
        ("9" * (MAX_NUMBER_CHARACTERS + 1), "", "has a text of more than"),
    ],
)
def test_a_number_without_a_value_is_an_error(text: str, attributes: str, message: str) -> None:
    assert message in get_error(build_number(text, attributes=attributes))


# ---- texts


@run_each_case(
    "text, attributes, value",
    [
        ("Brook &amp; <b>Lamps</b> Inc.", "", "Brook & Lamps Inc."),
        ("Brook&nbsp;Lamps&#160;Inc.", "", "Brook\xa0Lamps\xa0Inc."),
        (" as printed\n", "", " as printed\n"),
        ("December 31, 2024", 'format="ixt:date-monthname-day-year-en"', "2024-12-31"),
        ("see note 7", 'format="ixt:fixed-true"', "true"),
        ("a<ix:exclude>page 7</ix:exclude>b", "", "ab"),
        ("a<br/>&lt;b&gt; &amp; <i>c</i>", 'escape="true"', "a<br/>&lt;b&gt; &amp; <i>c</i>"),
        ('<p class="x&quot;y">a</p>', 'escape="true"', '<p class="x&quot;y">a</p>'),
        ("<p>a</p>", 'escape="false"', "a"),
    ],
)
def test_a_text_has_a_value(text: str, attributes: str, value: str) -> None:
    assert list_values(build_text(text, attributes=attributes)) == [value]


def test_a_text_has_the_numbers_inside_of_it() -> None:
    number = build_number("1,234", attributes=DOT)
    assert list_values(build_text(f"Assets of {number} dollars")) == ["Assets of 1,234 dollars", "1234"]


def test_a_number_inside_an_exclusion_is_a_fact() -> None:
    number = build_number("1,234", attributes=DOT)
    assert list_values(build_text(f"a<ix:exclude>{number}</ix:exclude>b")) == ["ab", "1234"]


def test_a_text_is_continued_in_other_places() -> None:
    start = build_text("one ", attributes='continuedAt="t-1"')
    second = '<ix:continuation id="t-1" continuedAt="t-2"><b>two</b> </ix:continuation>'
    third = '<ix:continuation id="t-2">three</ix:continuation>'
    assert list_values(f"{third}<p>between</p>{start}{second}") == ["one two three"]
    assert list_values(start + second, third) == ["one two three"]


def test_a_continuation_keeps_its_markup() -> None:
    start = build_text("<p>one</p>", attributes='continuedAt="t" escape="true"')
    assert list_values(start + '<ix:continuation id="t"><b>two</b></ix:continuation>') == ["<p>one</p><b>two</b>"]


@pytest.mark.parametrize(
    "continuations",
    [
        "",
        '<ix:continuation id="u">a</ix:continuation>',
        '<ix:continuation id="t" continuedAt="t">a</ix:continuation>',
    ],
)
def test_a_missing_or_circular_continuation_is_an_error(continuations: str) -> None:
    start = build_text("one", attributes='continuedAt="t"')
    assert "continuation 't' is missing or is used twice" in get_error(start + continuations)


def test_a_continuation_of_two_facts_is_an_error() -> None:
    start = build_text("one", attributes='continuedAt="t"')
    continuation = '<ix:continuation id="t">a</ix:continuation>'
    assert "is used twice" in get_error(start + start + continuation)
    assert "id 't' is used twice" in get_error(continuation + continuation)


def test_long_texts_are_counted_and_left_out() -> None:
    limit = build_text("x" * TEXT_LIMIT)
    longer = build_text("x" * TEXT_LIMIT + "y")
    continued = build_text("x" * TEXT_LIMIT, attributes='continuedAt="t"')
    instance = parse(f'{limit}{longer}{continued}<ix:continuation id="t">y</ix:continuation>')
    assert [len(fact.value or "") for fact in instance.facts] == [TEXT_LIMIT]
    assert instance.long_text_count == 2


def test_a_long_note_does_not_end_the_facts_inside() -> None:
    note = build_text("x" * 5_000 + build_number("1,234", attributes=DOT) + build_text("short") + "y" * 5_000)
    instance = parse(note)
    assert [fact.value for fact in instance.facts] == ["1234", "short"]
    assert instance.long_text_count == 1


def test_a_text_with_an_unknown_value_is_left_out() -> None:
    instance = parse(
        build_text("Moon Exchange", name="dei:SecurityExchangeName", attributes='format="ixt-sec:exchnameen"')
    )
    assert instance.facts == []
    assert instance.unknown_texts == ["dei:SecurityExchangeName: 'Moon Exchange' is not the name of a known exchange"]


def test_a_nil_text_has_no_value() -> None:
    assert [(fact.value, fact.unit) for fact in parse(build_text("x", attributes='xsi:nil="1"')).facts] == [
        (None, None)
    ]


# ---- pages


def test_hidden_facts_are_facts() -> None:
    page = build_page("", hidden=build_text("false", name="dei:AmendmentFlag", attributes='id="h"'))
    assert [(fact.concept, fact.value, fact.id) for fact in parse_inline([InlinePage(page, "f")]).facts] == [
        ("dei:AmendmentFlag", "false", "h")
    ]


def test_the_pages_of_a_filing_are_one_document_set() -> None:
    instance = parse(build_number("1", attributes='id="a"'), build_number("2", attributes='id="b"'))
    assert [(fact.value, fact.page, fact.id) for fact in instance.facts] == [("1", 0, "a"), ("2", 1, "b")]
    assert list(instance.contexts) == ["c-1", "c-2"]
    assert instance.schema_refs == ["brk-20241231.xsd"]


def test_facts_for_another_target_are_left_out() -> None:
    other = build_number("2", attributes='target="other"') + build_text("x", attributes='target="other"')
    assert list_values(build_text(f"a {other}") + build_number("1")) == ["a 2x", "1"]


def test_footnotes_are_not_facts() -> None:
    footnote = '<ix:footnote id="n" xml:lang="en">see above</ix:footnote>'
    assert list_values(build_text(f"a {footnote}") + footnote) == ["a see above"]


def test_the_first_version_of_inline_xbrl_is_read() -> None:
    page = build_page(build_number("1")).replace(b"/2013/inlineXBRL", b"/2008/inlineXBRL")
    assert [fact.value for fact in parse_inline([InlinePage(page, "f")]).facts] == ["1"]


@run_each_case(
    "declaration",
    [
        "<?xml version='1.0' encoding='ASCII'?>",
        "<?xml version='1.0' encoding='windows-1252'?>",
        "\n <?xml version='1.0' encoding='utf-8'?>",
        "<!DOCTYPE html>",
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
    ],
)
def test_a_page_may_declare_its_encoding_and_type(declaration: str) -> None:
    page = build_page(build_text("a&nbsp;b"), declaration=declaration)
    assert [fact.value for fact in parse_inline([InlinePage(page, "f")]).facts] == ["a\xa0b"]


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("<!DOCTYPE html [<!ENTITY a 'b'>]>", "a document type with declarations inside of it"),
        ("<!DOCTYPE other>", "the document type 'other' instead of html"),
        ("<?xml version='1.0' encoding='UTF-7'?>", "encoding UTF-7 is not supported; convert the document to UTF-8"),
    ],
)
def test_a_page_with_declarations_is_refused(declaration: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_inline([InlinePage(build_page("", declaration=declaration), "f")])


@run_each_case(
    "body, message",
    [
        ("&moon;", "undefined entity moon"),
        ("&ampersand;", "undefined entity ampersand"),
        ("<p>", "mismatched tag"),
        ("<ix:tuple name='us-gaap:A'/>", "tuples are not supported"),
        (build_number("1", context="c-9"), "there is no context 'c-9'"),
        (build_number("1", unit="eur"), "there is no unit 'eur'"),
        (build_text("a", context="c-9"), "there is no context 'c-9'"),
        (build_number("1", name="moon:Assets"), "is not a name with a declared prefix"),
        ('<ix:nonFraction name="us-gaap:Assets" contextRef="c-2">1</ix:nonFraction>', "attribute unitRef is missing"),
        ('<ix:nonNumeric name="us-gaap:Assets">1</ix:nonNumeric>', "attribute contextRef is missing"),
        (build_text("a", attributes='unitRef="usd"'), "is a text with a unit"),
        (build_text("<ix:header/>"), "a header inside a fact"),
        (build_text('<xbrli:unit id="a"/>'), "element unit inside a fact"),
        ("<ix:continuation>a</ix:continuation>", "attribute id is missing"),
        ("<b>" * MAX_DEPTH + "</b>" * MAX_DEPTH, f"elements nested more than {MAX_DEPTH} deep"),
    ],
)
def test_an_invalid_page_is_refused(body: str, message: str) -> None:
    assert message in get_error(body)


def test_a_context_of_two_pages_is_an_error() -> None:
    page = InlinePage(build_page(""), "f")
    with pytest.raises(ParseError, match="id 'c-1' is used twice"):
        parse_inline([page, page])


def test_a_page_leaves_no_reference_cycles() -> None:
    page = build_page(build_text("a") + build_number("1"))
    gc.collect()
    parse_inline([InlinePage(page, "f")])
    assert gc.collect() == 0


# ---- the pages of real filings


def list_real_pages() -> list[tuple[str, bytes, bytes]]:
    """Return name, page and extracted instance of every filing at hand that has both."""
    pairs = []
    for path in sorted((EDGAR / "xbrl").glob("*/*.htm")):
        instance = path.with_name(f"{path.stem}_htm.xml")
        if instance.exists() and detect_kind(path.read_bytes(), path.name) == "inline-html":
            pairs.append((path.name, path.read_bytes(), instance.read_bytes()))
    for path in sorted((EDGAR / "sgml").glob("*.txt")):
        bodies = {document.filename: document.body.strip() for document in sgml.iter_documents(path.read_bytes(), "f")}
        for name, body in bodies.items():
            instance_name = f"{(name or '').rpartition('.')[0]}_htm.xml"
            if instance_name in bodies and detect_kind(body, name or "") == "inline-html":
                pairs.append((f"{path.name} {name}", body, bodies[instance_name]))
    return pairs


def normalise(value: str | None, unit: str | None) -> Decimal | str | None:
    return Decimal(value) if unit and value is not None else value


@pytest.mark.slow
@pytest.mark.skipif(not EDGAR.is_dir(), reason="the real filings (../shared/edgar) are not here")
def test_every_real_page_has_the_facts_of_its_instance() -> None:
    pairs = list_real_pages()
    assert len(pairs) >= 2
    for name, page_body, instance_body in pairs:
        page = parse_inline([InlinePage(page_body, name)])
        instance = parse_instance(instance_body, name)
        assert page.unknown_texts == [], name
        assert page.long_text_count == instance.long_text_count, name
        assert (page.contexts, page.units) == (instance.contexts, instance.units), name
        facts = [[fact._replace(value=None) for fact in parsed.facts] for parsed in (page, instance)]
        assert sorted(facts[0], key=str) == sorted(facts[1], key=str), name
        values = [{fact.id: normalise(fact.value, fact.unit) for fact in parsed.facts} for parsed in (page, instance)]
        assert values[0] == values[1], name
        assert len(values[0]) == len(page.facts), name
