"""The parser of Form N-PORT: fields, placeholders and refusals."""

from __future__ import annotations

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import fund_reports, sgml
from finapi.edgar.fund_reports import ClassReturns, Counterparty, DebtTerms, Identifier, LendingTerms, MonthlyFlow
from finapi.edgar.sgml import HeaderClass, HeaderSeries
from tests.support import fund_report_xml as made
from tests.support.case_tables import run_each_case


def parse(*positions: str, **changes: str) -> fund_reports.FundReport:
    return fund_reports.parse(made.report(*positions, **changes), "primary_doc.xml")  # type: ignore[arg-type]


def parse_position(**changes: str | None) -> fund_reports.ReportedPosition:
    (position,) = parse(made.position(**changes)).positions  # type: ignore[arg-type]
    return position


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(ParseError) as caught:
        fund_reports.parse(data, "primary_doc.xml")
    return caught.value.place, caught.value.reason


def test_a_report_is_parsed_with_registrant_series_and_sums() -> None:
    report = parse(made.position())
    assert (report.form, report.is_amendment, report.cik, report.registrant_name, report.file_number) == (
        "NPORT-P",
        False,
        "0009200001",
        "Lantern Funds Trust",
        "811-90001",
    )
    assert (report.series_id, report.series_name, report.class_ids) == (
        "S000900001",
        "Lantern Index ETF",
        ("C000900001", "C000900002"),
    )
    assert (report.street, report.city, report.state, report.zip_code) == ("1 Main Street", "Reno", "NV", "89501")
    assert (report.total_assets, report.total_liabilities, report.net_assets) == ("50500", "500", "50000")
    assert report.payables == (("amtPayOneYrOther", "12.5"),)
    assert (report.signed_date, report.signer, report.signer_title) == ("2026-02-26", "Ann Lamp", "Treasurer")


def test_the_period_is_not_the_end_of_the_fiscal_year() -> None:
    report = parse(period="2025-12-31", fiscal_year_end="2026-06-30")
    assert (report.period, report.fiscal_year_end) == ("2025-12-31", "2026-06-30")


def test_flows_and_returns_are_those_of_three_months() -> None:
    report = parse()
    assert report.flows == (
        MonthlyFlow("200", "0", "100"),
        MonthlyFlow(None, None, None),
        MonthlyFlow("420", "5.5", "310.25"),
    )
    assert report.returns == (
        ClassReturns("C000900001", "1.1", "-2.2", "3.3"),
        ClassReturns("C000900002", "1.1", "-2.2", "3.3"),
    )


def test_a_position_is_parsed_with_its_codes() -> None:
    position = parse_position(more=made.LENDING)
    assert (position.name, position.title, position.cusip, position.isin, position.ticker) == (
        "Apple Inc.",
        "Apple Inc. common stock",
        "037833100",
        "US0378331005",
        None,
    )
    assert (position.balance, position.units, position.value, position.percent) == ("100", "NS", "25000.5", "50.001")
    assert (position.currency, position.exchange_rate) == ("USD", None)
    assert (position.asset_category, position.issuer_category, position.country) == ("EC", "CORP", "US")
    assert (position.payoff_profile, position.is_restricted, position.fair_value_level) == ("Long", False, "1")
    assert position.lending == LendingTerms(False, None, True, "1020.5", True, "1000")
    assert (position.debt, position.derivative) == (None, None)


def test_a_currency_has_its_exchange_rate() -> None:
    position = parse_position(currency='<currencyConditional curCd="JPY" exchangeRt="150.25000000"/>')
    assert (position.currency, position.exchange_rate) == ("JPY", "150.25")


def test_conditional_categories_have_their_descriptions() -> None:
    position = parse_position(
        asset='<assetConditional assetCat="OTHER" desc="Contingent value right"/>',
        issuer='<issuerConditional issuerCat="OTHER" desc="Cooperative"/>',
    )
    assert (position.asset_category, position.asset_description) == ("OTHER", "Contingent value right")
    assert (position.issuer_category, position.issuer_description) == ("OTHER", "Cooperative")


@run_each_case("placeholder", ["000000000", "999999999", "N/A", "XXXX", "XXXXXXXXX", "0", None])
def test_a_placeholder_is_not_a_cusip(placeholder: str | None) -> None:
    position = parse_position(cusip=placeholder)
    assert (position.cusip, position.filed_cusip) == (None, None)


def test_another_identifier_in_the_cusip_field_is_kept_apart() -> None:
    position = parse_position(
        cusip="B0YBKJ7", isin="N/A", more_identifiers='<other otherDesc="SEDOL" value="B0YBKJ7"/>'
    )
    assert (position.cusip, position.filed_cusip) == (None, "B0YBKJ7")
    assert position.identifiers == (Identifier("other", "B0YBKJ7", "SEDOL"),)


def test_shorts_and_negative_numbers_keep_their_signs() -> None:
    position = parse_position(balance="-48.00", value="-1979965.00", percent="-3.58", payoff="Short")
    assert (position.balance, position.value, position.percent) == ("-48", "-1979965", "-3.58")
    assert position.payoff_profile == "Short"


def test_texts_without_a_value_are_none() -> None:
    position = parse_position(name="N/A", lei="N/A", country="N/A", level="N/A", balance="N/A", title="S&amp;P future")
    assert (position.name, position.lei, position.country, position.fair_value_level, position.balance) == (None,) * 5
    assert position.title == "S&P future"


def test_debt_has_its_maturity_and_rate() -> None:
    assert parse_position(more=made.DEBT).debt == DebtTerms("2031-05-15", "Fixed", "4.25", False, False, False)


def test_a_future_has_its_terms() -> None:
    derivative = parse_position(cusip="N/A", more=made.FUTURE).derivative
    assert derivative is not None
    assert (derivative.category, derivative.payoff_profile, derivative.reference_name) == ("FUT", "Short", "Lamp 500")
    assert (derivative.expiration_date, derivative.notional_amount) == ("2026-03-20", "-50000")
    assert (derivative.notional_currency, derivative.unrealized_appreciation) == ("USD", "-120.25")
    assert derivative.counterparties == (Counterparty("Lamp Clearing LLC", None),)


def test_an_option_has_its_terms_without_the_nested_ones() -> None:
    position = parse_position(cusip="N/A", isin=None, more=made.OPTION)
    derivative = position.derivative
    assert derivative is not None
    assert (derivative.category, derivative.put_or_call, derivative.written_or_purchased) == ("OPT", "Call", "Written")
    assert (derivative.reference_cusip, derivative.reference_isin, derivative.reference_ticker) == (
        "037833100",
        "US0378331005",
        "AAPL",
    )
    assert (derivative.exercise_price, derivative.expiration_date, derivative.delta) == ("260.5", "2026-04-17", None)
    assert position.identifiers == ()


def test_a_registrant_without_series_reports_for_itself() -> None:
    report = fund_reports.parse(made.report(series=None, class_ids=()), "f")
    assert (report.series_id, report.series_name, report.class_ids) == (None, None, ())


def test_prefixes_of_elements_do_not_matter() -> None:
    assert fund_reports.parse(made.report(made.position(), prefix="nport"), "f") == parse(made.position())


@pytest.mark.slow
def test_ten_thousand_positions_are_read() -> None:
    report = parse(*[made.position(balance=str(number)) for number in range(12_000)])
    assert len(report.positions) == 12_000
    assert report.positions[11_999].balance == "11999"


@run_each_case(
    "data, place, reason",
    [
        (made.report(form="N-CEN"), "submissionType", "'N-CEN' is not one of NPORT-P, NPORT-P/A"),
        (made.report(live="TEST"), "liveTestFlag", "is a test filing"),
        (made.report(period=None), "repPdDate", "is missing"),
        (made.report(period="2025-13-31"), "period", "month must be in 1..12"),
        (
            made.report(made.position(), made.position(value="all")),
            "position 2 value",
            "'all' is not a decimal number",
        ),
        (made.report(made.position(name=None, title=None)), "position 1", "has neither a name nor a title"),
        (made.report(net_assets="1,000"), "net_assets", "'1,000' is not a decimal number"),
    ],
)
def test_invalid_reports_are_refused(data: bytes, place: str, reason: str) -> None:
    assert refusal(data) == (place, reason)


def test_a_position_inside_a_position_is_refused() -> None:
    with pytest.raises(ParseError, match="a position inside a position"):
        parse(made.position(more=made.position()))


def test_a_header_lists_series_and_classes_with_tickers() -> None:
    header = sgml.parse_header(made.submission("0009200001-26-000001", made.report()), "f")
    assert header.series == (
        HeaderSeries(
            "S000900001",
            "0009200001",
            "Lantern Index ETF",
            (HeaderClass("C000900001", "ETF Shares", "LNTN"), HeaderClass("C000900002", "Institutional", None)),
        ),
    )
    assert [(party.role, party.cik) for party in header.parties] == [("filer", "0009200001")]
