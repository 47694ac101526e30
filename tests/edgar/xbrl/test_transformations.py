"""Transformations of inline XBRL: the value of each printed text, and texts that have none."""

from __future__ import annotations

import pytest

from finapi.edgar.xbrl.place_names import find_place_code
from finapi.edgar.xbrl.transformations import MAX_TEXT_CHARACTERS, TransformationError, transform_text
from tests.support.case_tables import run_each_case

REGISTRY_1 = "http://www.xbrl.org/inlineXBRL/transformation/2010-04-20"
REGISTRY_2 = "http://www.xbrl.org/inlineXBRL/transformation/2011-07-31"
REGISTRY_3 = "http://www.xbrl.org/inlineXBRL/transformation/2015-02-26"
REGISTRY_4 = "http://www.xbrl.org/inlineXBRL/transformation/2020-02-12"
REGISTRY_5 = "http://www.xbrl.org/inlineXBRL/transformation/2022-02-16"
SEC = "http://www.sec.gov/inlineXBRL/transformation/2015-08-31"


@run_each_case(
    "registry, name, text, value",
    [
        (REGISTRY_1, "numcommadot", "1,234,567.80", "1234567.80"),
        (REGISTRY_1, "numdotcomma", "1.234,5", "1234.5"),
        (REGISTRY_1, "numspacecomma", "1 234,5", "1234.5"),
        (REGISTRY_1, "numspacedot", "1\xa0234.5", "1234.5"),
        (REGISTRY_1, "numcomma", "1234,5", "1234.5"),
        (REGISTRY_1, "numdash", "-", "0"),
        (REGISTRY_2, "numdotdecimal", "1,234.5", "1234.5"),
        (REGISTRY_2, "numcommadecimal", "1.234,5", "1234.5"),
        (REGISTRY_2, "numunitdecimal", "1,234 dollars 5 cents", "1234.05"),
        (REGISTRY_2, "zerodash", "\u2014", "0"),
        (REGISTRY_3, "zerodash", " \u2013\n", "0"),
        (REGISTRY_3, "numdotdecimalin", "12,34,567.8", "1234567.8"),
        (REGISTRY_4, "num-dot-decimal", "352,583", "352583"),
        (REGISTRY_4, "num-dot-decimal", ".25", "0.25"),
        (REGISTRY_4, "num-dot-decimal", "\n 1,0 0\xa00 ", "1000"),
        (REGISTRY_4, "num-dot-decimal", "\uff11\uff12", "12"),
        (REGISTRY_4, "num-comma-decimal", "1.234.567,89", "1234567.89"),
        (REGISTRY_4, "num-unit-decimal", "6,000 euros 87 cents", "6000.87"),
        (REGISTRY_4, "fixed-zero", "no shares", "0"),
        (REGISTRY_5, "num-dot-decimal-apos", "1'234\u2019567.8", "1234567.8"),
        (REGISTRY_5, "num-comma-decimal-apos", "1'234,5", "1234.5"),
        (REGISTRY_5, "num-unit-decimal-apos", "1'234 francs 05 centimes", "1234.05"),
        (SEC, "numwordsen", "One", "1"),
        (SEC, "numwordsen", "no", "0"),
        (SEC, "numwordsen", "None", "0"),
        (SEC, "numwordsen", "nil", "0"),
        (SEC, "numwordsen", "zero", "0"),
        (SEC, "numwordsen", "twenty-one", "21"),
        (SEC, "numwordsen", "three million", "3000000"),
        (SEC, "numwordsen", "nineteen hundred", "1900"),
        (SEC, "numwordsen", "two hundred and thirty\u2010four thousand, five", "234005"),
        (SEC, "numwordsen", "one billion, two million three hundred", "1002000300"),
    ],
)
def test_a_printed_number_has_a_value(registry: str, name: str, text: str, value: str) -> None:
    assert transform_text(registry, name, text) == value


@run_each_case(
    "registry, name, text, value",
    [
        (REGISTRY_1, "dateslashus", "12/31/2018", "2018-12-31"),
        (REGISTRY_1, "dateslasheu", "31/12/18", "2018-12-31"),
        (REGISTRY_1, "datedotus", "12.31.2018", "2018-12-31"),
        (REGISTRY_1, "datelongus", "December 31, 2018", "2018-12-31"),
        (REGISTRY_1, "dateshortuk", "31 Dec 08", "2008-12-31"),
        (REGISTRY_1, "datelongmonthdayus", "December 31", "--12-31"),
        (REGISTRY_1, "dateslashdaymontheu", "31/12", "--12-31"),
        (REGISTRY_1, "datelongyearmonth", "2018 December", "2018-12"),
        (REGISTRY_2, "datemonthdayyearen", "Dec. 31st, 2018", "2018-12-31"),
        (REGISTRY_2, "datedaymonthyearen", "31st of December 2018", "2018-12-31"),
        (REGISTRY_2, "datemonthyearen", "Sept 2018", "2018-09"),
        (REGISTRY_2, "dateyearmonthdaycjk", "2018\u5e7412\u670831\u65e5", "2018-12-31"),
        (REGISTRY_3, "dateyearmonthday", "2018-12-31", "2018-12-31"),
        (REGISTRY_4, "date-monthname-day-year-en", "March\xa029,\n2025", "2025-03-29"),
        (REGISTRY_4, "date-monthname-day-en", "SEPTEMBER 28", "--09-28"),
        (REGISTRY_4, "date-month-day", "2/29", "--02-29"),
        (REGISTRY_4, "date-month-year", "9/24", "2024-09"),
        (REGISTRY_4, "date-day-monthname-year-de", "31. M\u00e4rz 2020", "2020-03-31"),
        (REGISTRY_4, "date-day-monthname-year-cs", "3. \u010dervence 2020", "2020-07-03"),
        (REGISTRY_4, "date-day-monthname-year-cs", "3. \u010dervna 2020", "2020-06-03"),
        (REGISTRY_4, "date-day-monthname-year-es", "3 de enero de 2020", "2020-01-03"),
        (REGISTRY_4, "date-year-monthname-day-hu", "2020. febru\u00e1r 3.", "2020-02-03"),
        (REGISTRY_4, "date-day-monthroman-year", "3.XI.2020", "2020-11-03"),
        (REGISTRY_5, "date-monthname-year-cy", "Ionawr 2020", "2020-01"),
        (SEC, "datequarterend", "first quarter of 2019", "2019-03-31"),
        (SEC, "datequarterend", "Q3 2019", "2019-09-30"),
        (SEC, "datequarterend", "2019 last quarter", "2019-12-31"),
    ],
)
def test_a_printed_date_has_a_value(registry: str, name: str, text: str, value: str) -> None:
    assert transform_text(registry, name, text) == value


@run_each_case(
    "name, text, value",
    [
        ("duryear", "1", "P1Y"),
        ("duryear", "1.5", "P1Y6M"),
        ("duryear", "0.05", "P0Y18D"),
        ("duryear", "0", "P0Y"),
        ("duryear", "-2", "-P2Y"),
        ("durmonth", "18", "P18M"),
        ("durmonth", "1.5", "P1M15D"),
        ("durweek", "2.5", "P17D"),
        ("durday", "30", "P30D"),
        ("durday", "1.5", "P1DT12H"),
        ("durhour", "36", "PT36H"),
        ("durwordsen", "thirty-six months", "P36M"),
        ("durwordsen", "Three years and 6 months", "P3Y6M"),
        ("durwordsen", "one year, two months, ten days", "P1Y2M10D"),
        ("durwordsen", "ninety-day", "P90D"),
        ("durwordsen", "no years", "P0D"),
    ],
)
def test_a_printed_duration_has_a_value(name: str, text: str, value: str) -> None:
    assert transform_text(SEC, name, text) == value


@run_each_case(
    "registry, name, text, value",
    [
        (REGISTRY_2, "booleantrue", "yes", "true"),
        (REGISTRY_2, "booleanfalse", "\u2610", "false"),
        (REGISTRY_2, "nocontent", "N/A", ""),
        (REGISTRY_4, "fixed-true", "\u2612", "true"),
        (REGISTRY_4, "fixed-false", "", "false"),
        (REGISTRY_4, "fixed-empty", "None", ""),
        (SEC, "boolballotbox", "\u2612", "true"),
        (SEC, "boolballotbox", "\u2610", "false"),
        (SEC, "yesnoballotbox", "\u2611", "Yes"),
        (SEC, "stateprovnameen", "New  York", "NY"),
        (SEC, "stateprovnameen", "Qu\u00e9bec", "QC"),
        (SEC, "countrynameen", "United Kingdom", "GB"),
        (SEC, "edgarprovcountryen", "Ireland", "L2"),
        (SEC, "edgarprovcountryen", "Ontario, Canada", "A6"),
        (SEC, "exchnameen", "The Nasdaq Stock Market LLC", "NASDAQ"),
        (SEC, "exchnameen", "NYSE American, LLC", "NYSEAMER"),
        (SEC, "entityfilercategoryen", "Large accelerated filer", "Large Accelerated Filer"),
        (SEC, "entityfilercategoryen", "Non-accelerated filer", "Non-accelerated Filer"),
    ],
)
def test_a_text_of_a_cover_page_has_a_value(registry: str, name: str, text: str, value: str) -> None:
    assert transform_text(registry, name, text) == value


@run_each_case(
    "registry, name, text",
    [
        (REGISTRY_4, "num-dot-decimal", ""),
        (REGISTRY_4, "num-dot-decimal", "(12)"),
        (REGISTRY_4, "num-dot-decimal", "-12"),
        (REGISTRY_4, "num-dot-decimal", "1.2.3"),
        (REGISTRY_4, "num-dot-decimal", "12."),
        (REGISTRY_4, "num-dot-decimal", "\u0661\u0662"),
        (REGISTRY_4, "num-dot-decimal-us", "12"),
        (REGISTRY_2, "zerodash", "--"),
        (REGISTRY_2, "zerodash", "0"),
        (REGISTRY_4, "date-month-day-year", "2/30/2019"),
        (REGISTRY_4, "date-month-day-year", "12/31"),
        (REGISTRY_4, "date-month-day-year", "12/31/201"),
        (REGISTRY_4, "date-month-day-year", "1/2/3/4"),
        (REGISTRY_4, "date-monthname-day-year-en", "Monday 31, 2018"),
        (REGISTRY_4, "date-monthname-day-year-en", "January or March 31, 2018"),
        (REGISTRY_4, "date-monthname-day-year-xx", "January 31, 2018"),
        (REGISTRY_3, "calindaymonthyear", "11 Paush 1921"),
        (REGISTRY_2, "dateerayearmonthdayjp", "\u5e73\u62105\u5e743\u67081\u65e5"),
        (SEC, "numwordsen", ""),
        (SEC, "numwordsen", "twenty ten"),
        (SEC, "numwordsen", "two thousand five million"),
        (SEC, "numwordsen", "many"),
        (SEC, "numinf", "infinite"),
        (SEC, "durwordsen", "five"),
        (SEC, "durwordsen", "two months and three years"),
        (SEC, "duryear", "five"),
        (SEC, "datequarterend", "fifth quarter 2019"),
        (SEC, "boolballotbox", "x"),
        (SEC, "stateprovnameen", "Ireland"),
        (SEC, "exchnameen", "Moon Exchange"),
        (SEC, "unheardof", "1"),
        ("http://example.com/transformation", "num-dot-decimal", "1"),
        (REGISTRY_4, "num-dot-decimal", "1" * (MAX_TEXT_CHARACTERS + 1)),
    ],
)
def test_a_text_without_a_value_is_refused(registry: str, name: str, text: str) -> None:
    with pytest.raises(TransformationError):
        transform_text(registry, name, text)


def test_the_codes_of_places_are_distinct() -> None:
    assert find_place_code("delaware", "postal") == "DE"
    assert find_place_code("Delaware", "iso") is None
    assert find_place_code("Georgia", "postal") == "GA"
    assert find_place_code("Georgia", "iso") == "GE"
    assert find_place_code("Georgia", "edgar") == "2Q"
    assert find_place_code("Atlantis", "iso") is None
