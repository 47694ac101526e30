"""Pages with inline XBRL, for tests: a header with contexts and units, and a body."""

from __future__ import annotations

CIK = "0001234567"

HEADER = f"""<div style="display:none"><ix:header><ix:hidden>{{hidden}}</ix:hidden>
<ix:references><link:schemaRef xlink:type="simple" xlink:href="brk-20241231.xsd"/></ix:references>
<ix:resources>
<xbrli:context id="c-1"><xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">{CIK}</xbrli:identifier>
</xbrli:entity><xbrli:period><xbrli:startDate>2024-01-01</xbrli:startDate><xbrli:endDate>2024-12-31</xbrli:endDate>
</xbrli:period></xbrli:context>
<xbrli:context id="c-2"><xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">{CIK}</xbrli:identifier>
</xbrli:entity><xbrli:period><xbrli:instant>2024-12-31</xbrli:instant></xbrli:period></xbrli:context>
<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>
<xbrli:unit id="pure"><xbrli:measure>xbrli:pure</xbrli:measure></xbrli:unit>
</ix:resources></ix:header></div>"""

# The facts of a cover page that a report needs.
COVER = (
    '<ix:nonNumeric name="dei:DocumentType" contextRef="c-1" id="d-1">10-K</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:DocumentPeriodEndDate" contextRef="c-1" id="d-2" '
    'format="ixt:date-monthname-day-year-en">December 31, 2024</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:EntityRegistrantName" contextRef="c-1" id="d-3">Brook Lamps Inc.</ix:nonNumeric>'
)
HIDDEN_COVER = (
    f'<ix:nonNumeric name="dei:EntityCentralIndexKey" contextRef="c-1" id="h-1">{CIK}</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:DocumentFiscalYearFocus" contextRef="c-1" id="h-2">2024</ix:nonNumeric>'
    '<ix:nonNumeric name="dei:DocumentFiscalPeriodFocus" contextRef="c-1" id="h-3">FY</ix:nonNumeric>'
)


def build_page(body: str, *, header: str = HEADER, hidden: str = "", declaration: str = "") -> bytes:
    """Return a page with this body. ``declaration`` comes before the root element."""
    return f"""{declaration}<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"
 xmlns:ixt="http://www.xbrl.org/inlineXBRL/transformation/2020-02-12"
 xmlns:ixt-sec="http://www.sec.gov/inlineXBRL/transformation/2015-08-31"
 xmlns:xbrli="http://www.xbrl.org/2003/instance" xmlns:link="http://www.xbrl.org/2003/linkbase"
 xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xmlns:iso4217="http://www.xbrl.org/2003/iso4217" xmlns:dei="http://xbrl.sec.gov/dei/2024"
 xmlns:us-gaap="http://fasb.org/us-gaap/2024" xmlns:brk="http://brooklamps.example/20241231">
<head><title>10-K</title></head><body>{header.replace("{hidden}", hidden)}{body}</body></html>""".encode()


def build_number(
    text: str, *, name: str = "us-gaap:Assets", context: str = "c-2", unit: str = "usd", attributes: str = ""
) -> str:
    """Return a tagged number."""
    return f'<ix:nonFraction name="{name}" contextRef="{context}" unitRef="{unit}" {attributes}>{text}</ix:nonFraction>'


def build_text(text: str, *, name: str = "dei:Note", context: str = "c-1", attributes: str = "") -> str:
    """Return a tagged text."""
    return f'<ix:nonNumeric name="{name}" contextRef="{context}" {attributes}>{text}</ix:nonNumeric>'


def build_seeds() -> list[bytes]:
    """Return pages with every kind of inline element, for the fuzzer."""
    number = build_number("1,234", attributes='format="ixt:num-dot-decimal" scale="3" sign="-" decimals="-3" id="f-1"')
    words = build_number("twenty-one", attributes='format="ixt-sec:numwordsen" decimals="INF"')
    fraction = (
        '<ix:fraction name="us-gaap:Rate" contextRef="c-1" unitRef="pure"><ix:numerator>1</ix:numerator>'
        "<ix:denominator>8</ix:denominator></ix:fraction>"
    )
    note = build_text(
        f"a <b>note</b> of {number}<ix:exclude>page 7 {words}</ix:exclude>",
        attributes='escape="true" continuedAt="t-1"',
    )
    continuation = '<ix:continuation id="t-1" continuedAt="t-2">more</ix:continuation>'
    end = '<ix:continuation id="t-2">of it</ix:continuation>'
    duration = build_text("three years", attributes='format="ixt-sec:durwordsen"')
    return [
        build_page(COVER + number + words, hidden=HIDDEN_COVER),
        build_page(note + continuation + end + duration),
        build_page(fraction + build_number("x", attributes='xsi:nil="true"')),
    ]
