"""Parameters: the values that each kind accepts, and refusals that name the parameter and the expected values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi.core.errors import ApiError
from finapi.web.http.params import MAX_LENGTH, Field, Param, limit_param, parse_params
from tests.support.case_tables import run_each_case

TEXT = Param("name")
COUNT = Param("count", "integer", minimum=1, maximum=90)
ANY_INTEGER = Param("number", "integer")
FLAG = Param("flag", "boolean")
DAY = Param("day", "date")
BASIS = Param("basis", allowed=("latest", "original"))
LIMIT = Param("limit", "integer", minimum=1, maximum=500, clamp=True)
AMOUNT = Param("amount", "number", minimum=0)
WORDS = Param("tickers", "words")
FORMS = Param("forms", "words", allowed=("3", "4", "5"))
KINDS = Param("kind", "words", default=(), allowed=("income", "balance"))
YEARS = Param("years", repeatable=True)


def refusal(param: Param, text: str) -> dict[str, Any]:
    """Return the details of the INVALID_PARAM error for ``text``; assert that its message names the parameter."""
    with pytest.raises(ApiError) as raised:
        param.parse(text)
    assert (raised.value.code, raised.value.status) == ("INVALID_PARAM", 400)
    assert raised.value.message.startswith(param.name)
    assert raised.value.details is not None
    return dict(raised.value.details)


@run_each_case(
    "param, text, value",
    [
        (TEXT, "a", "a"),
        (TEXT, " a ", " a "),
        (TEXT, "Ñ", "Ñ"),
        (TEXT, "a\nb", "a\nb"),
        (TEXT, "x" * MAX_LENGTH, "x" * MAX_LENGTH),
        (COUNT, "1", 1),
        (COUNT, "90", 90),
        (COUNT, "007", 7),
        (ANY_INTEGER, "-5", -5),
        (ANY_INTEGER, "999999999", 999_999_999),
        (FLAG, "true", True),
        (FLAG, "false", False),
        (DAY, "2025-12-31", "2025-12-31"),
        (DAY, "2024-02-29", "2024-02-29"),
        (DAY, "0001-01-01", "0001-01-01"),
        (BASIS, "latest", "latest"),
        (KINDS, "balance", ("balance",)),
        (LIMIT, "0", 1),
        (LIMIT, "-3", 1),
        (LIMIT, "501", 500),
        (LIMIT, "500", 500),
        (AMOUNT, "12.50", Decimal("12.50")),
        (AMOUNT, "0", Decimal(0)),
        (WORDS, "AAPL", ("AAPL",)),
        (WORDS, "AAPL, MSFT,,AAPL", ("AAPL", "MSFT")),
        (FORMS, "4,3", ("4", "3")),
    ],
)
def test_text_becomes_a_value(param: Param, text: str, value: object) -> None:
    got = param.parse(text)
    assert got == value
    assert type(got) is type(value)


@run_each_case("text", ["", " ", "\t\n", "\u3000"])
def test_an_empty_text_is_refused(text: str) -> None:
    assert refusal(TEXT, text) == {"param": "name", "expected": "text"}


@run_each_case("text", ["", "x", "1.0", "1e3", "0x1", " 1", "1 ", "+1", "--1", "1_0", "١", "１", "1\n"])
def test_a_value_that_is_not_an_integer_is_refused(text: str) -> None:
    assert refusal(COUNT, text) == {"param": "count", "expected": "integer"}


@run_each_case("text", ["0", "91", "-1", "999999999", "-" + "9" * 12, "9" * 999])
def test_a_number_beyond_its_bounds_is_refused(text: str) -> None:
    assert refusal(COUNT, text) == {"param": "count", "expected": "integer from 1 to 90"}


@run_each_case(
    "param, text, expected",
    [
        (Param("days", "integer", minimum=1), "0", "integer from 1"),
        (Param("days", "integer", maximum=9), "10", "integer to 9"),
        (Param("days", "integer", minimum=0), "123456789012", "at most 999999999"),
        (Param("days", "integer"), "-123456789012", "at most 999999999"),
        (Param("days", "integer", maximum=10**12), "9" * 13, "integer to 1000000000000"),
    ],
)
def test_a_refusal_names_only_the_bounds_that_exist(param: Param, text: str, expected: str) -> None:
    assert refusal(param, text) == {"param": "days", "expected": expected}


@run_each_case(
    "text, value",
    [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("fAlSe", False)],
)
def test_a_boolean_may_be_written_in_any_case(text: str, value: bool) -> None:
    assert FLAG.parse(text) is value


@run_each_case("text", ["", "1", "0", "yes", "on", " true", "true\n"])
def test_a_value_that_is_not_a_boolean_is_refused(text: str) -> None:
    assert refusal(FLAG, text) == {"param": "flag", "allowed": ["true", "false"]}


@run_each_case(
    "text",
    [
        "",
        "20251231",
        "2025-W52-3",
        "2025-1-1",
        "2025-02-30",
        "2025-13-01",
        "2023-02-29",
        "0000-01-01",
        "31-12-2025",
        "2025-12-31T00:00:00",
        "2025-12-31\n",
        " 2025-12-31",
        "２０２５-12-31",
        "10000-01-01",
    ],
)
def test_a_value_that_is_not_a_date_is_refused(text: str) -> None:
    assert refusal(DAY, text) == {"param": "day", "expected": "date YYYY-MM-DD"}


@run_each_case("text", ["", "newest", "LATEST", " latest", "latest,original"])
def test_a_value_that_is_not_allowed_is_refused_with_the_list(text: str) -> None:
    near = {"nearest": ["latest"]} if text.strip().lower() == "latest" else {}
    assert refusal(BASIS, text) == {"param": "basis", "allowed": ["latest", "original"], **near}


@run_each_case("param", [TEXT, COUNT, FLAG, DAY, BASIS, KINDS])
@run_each_case("text", ["x" * 2 * MAX_LENGTH, "1" * 100_000, "\0", "a\0b", "true\0"])
def test_a_text_that_is_too_long_or_contains_nul_is_refused(param: Param, text: str) -> None:
    assert refusal(param, text) == {"param": param.name, "expected": param.kind}


def test_a_refusal_never_repeats_a_long_text() -> None:
    for param in (TEXT, COUNT, FLAG, DAY, BASIS):
        with pytest.raises(ApiError) as raised:
            param.parse("<script>" * 1_000)
        assert "<script>" not in raised.value.message
        assert "<script>" not in str(raised.value.details)


@given(st.sampled_from([TEXT, COUNT, ANY_INTEGER, FLAG, DAY, BASIS, KINDS]), st.text())
def test_any_text_is_a_value_or_a_refusal(param: Param, text: str) -> None:
    code = None
    try:
        param.parse(text)
    except ApiError as error:
        code = error.code
    assert code in (None, "INVALID_PARAM")


# ---- all parameters of a route


def read(params: list[Param], query: dict[str, list[str]], **path: str) -> dict[str, Any]:
    return parse_params(params, path, query)


def test_a_missing_parameter_has_its_default() -> None:
    params = [Param("a"), Param("b", "integer", default=30), Param("c", "words", default=()), FLAG]
    assert read(params, {}) == {"a": None, "b": 30, "c": (), "flag": None}


def test_a_given_value_replaces_the_default() -> None:
    assert read([Param("b", "integer", default=30)], {"b": ["7"]}) == {"b": 7}


def test_an_empty_value_counts_as_missing_only_where_specified() -> None:
    assert read([Param("since", "date", empty_is_default=True)], {"since": [""]}) == {"since": None}
    with pytest.raises(ApiError):
        read([Param("since", "date")], {"since": [""]})


def test_unknown_names_are_ignored() -> None:
    assert read([DAY], {"day": ["2025-01-01"], "dya": ["x"], "Day": ["y"]}) == {"day": "2025-01-01"}


def test_path_and_query_parameters_are_separate() -> None:
    params = [Param("name", location="path", required=True), Param("day", "date")]
    assert read(params, {"name": ["from query"]}, name="from path", day="x") == {"name": "from path", "day": None}


def test_a_required_parameter_that_is_missing_is_named() -> None:
    with pytest.raises(ApiError) as raised:
        read([Param("name", required=True)], {})
    assert raised.value.details == {"param": "name", "expected": "text"}


@run_each_case(
    "words",
    [["income,balance"], ["income", "balance"], ["income,", "", " ,balance,income"], ["income", "balance,income"]],
)
def test_a_list_accepts_commas_and_repeated_parameters(words: list[str]) -> None:
    assert read([KINDS], {"kind": words}) == {"kind": ("income", "balance")}


def test_repeated_parameters_of_a_text_are_joined_with_commas() -> None:
    assert read([YEARS], {"years": ["2018", "2020,2021"]}) == {"years": "2018,2020,2021"}


@pytest.mark.parametrize("words", [["", ""], [",", " "], ["a"] * 100 + [f"b{n}" for n in range(200)]])
def test_a_repeated_list_is_refused_if_it_is_empty_or_too_long(words: list[str]) -> None:
    with pytest.raises(ApiError) as raised:
        read([WORDS], {"tickers": words})
    assert raised.value.details == {"param": "tickers", "expected": "comma-separated list"}


def test_one_invalid_value_of_a_repeated_list_is_refused() -> None:
    with pytest.raises(ApiError) as raised:
        read([KINDS], {"kind": ["income", "equity"]})
    assert raised.value.details == {"param": "kind", "allowed": ["income", "balance"]}


def test_a_parameter_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ApiError) as raised:
        read([BASIS], {"basis": ["latest", "latest"]})
    assert raised.value.details == {"param": "basis", "expected": "one value"}


def test_the_first_invalid_parameter_of_the_route_is_named() -> None:
    with pytest.raises(ApiError) as raised:
        read([DAY, COUNT], {"count": ["x"], "day": ["x"]})
    assert raised.value.details == {"param": "day", "expected": "date YYYY-MM-DD"}


@run_each_case("text", ["1e1000", "1e", "NaN", "Infinity", "0x10", "1,000", "", "+1", ".5", "1.", "9" * 19])
def test_a_number_is_plain_decimal_text(text: str) -> None:
    assert refusal(AMOUNT, text) == {"param": "amount", "expected": "number"}


def test_a_number_may_be_written_as_json_writes_it() -> None:
    assert [AMOUNT.parse(text) for text in ("1e5", "2.5E+2", "1e-09")] == [
        Decimal(100_000),
        Decimal(250),
        Decimal("0.000000001"),
    ]
    assert refusal(AMOUNT, "1e16") == {"param": "amount", "expected": "at most 1000000000000000"}


def test_an_integer_of_a_body_may_have_a_decimal_point() -> None:
    assert Field("n", "integer").parse(42.0) == 42
    assert isinstance(Field("n", "integer").parse(42.0), int)


def test_a_number_out_of_its_bounds_is_refused() -> None:
    assert refusal(AMOUNT, "-0.01") == {"param": "amount", "expected": "number from 0"}


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_an_empty_list_is_refused(text: str) -> None:
    assert refusal(WORDS, text)["expected"] == "comma-separated list"


def test_a_refused_list_names_its_first_invalid_word() -> None:
    assert refusal(FORMS, "4,9") == {"param": "forms", "allowed": ["3", "4", "5"]}


@run_each_case(
    "field, value, read",
    [
        (Field("n", "integer", minimum=1), 1, 1),
        (Field("n", "number", minimum=0), 12.5, Decimal("12.5")),
        (Field("n", "number"), 0.1, Decimal("0.1")),
        (Field("n", "number"), 3, Decimal(3)),
        (Field("day", "date"), "2024-02-29", "2024-02-29"),
        (Field("words", "words"), ["AAPL"], ["AAPL"]),
        (Field("words", "words"), [], []),
        (Field("kind", "text", allowed=("A", "Q")), "Q", "Q"),
        (Field("years", "word"), 5, "5"),
        (Field("years", "word"), "2018-2020", "2018-2020"),
    ],
)
def test_a_member_of_a_body_becomes_a_value(field: Field, value: object, read: object) -> None:
    got = field.parse(value)
    assert got == read
    assert type(got) is type(read)


@run_each_case(
    "field, value",
    [
        (Field("n", "integer"), True),
        (Field("n", "integer"), 1.5),
        (Field("n", "integer"), "1"),
        (Field("n", "integer", minimum=1), 0),
        (Field("n", "integer"), 10**400),
        (Field("n", "number"), float("inf")),
        (Field("n", "number"), 1e300),
        (Field("n", "number"), "12.5"),
        (Field("n", "number"), None),
        (Field("n", "date"), "2024-02-30"),
        (Field("n", "words"), "AAPL"),
        (Field("n", "words"), ["AAPL", 1]),
        (Field("n", "words"), ["a"] * 201),
        (Field("n", "text", allowed=("A", "Q")), "X"),
        (Field("n", "word"), True),
        (Field("n", "word"), 2024.5),
    ],
)
def test_a_member_of_another_type_is_refused_by_its_name(field: Field, value: object) -> None:
    with pytest.raises(ApiError) as raised:
        field.parse(value)
    assert raised.value.details is not None
    assert raised.value.details["param"] == "n"


# ---- kinds of values in this field


@run_each_case(
    "kind, text, value",
    [
        ("cik", "320193", 320_193),
        ("cik", "0000320193", 320_193),
        ("accession", "000032019325000057", "0000320193-25-000057"),
        ("accession", "0000320193-25-000057", "0000320193-25-000057"),
        ("any_accession", "000032019325000057", "0000320193-25-000057"),
        ("any_accession", "unfiled-0123456789abcdef", "unfiled-0123456789abcdef"),
        ("cusip", "037833100", "037833100"),
        ("cusip", "37833100", "037833100"),
        ("cusip", "g0250x107", "G0250X107"),
        ("cusip_or_isin", "37833100", "037833100"),
        ("cusip_or_isin", " us0378331005", "US0378331005"),
        ("ticker", "brk.b", "BRK-B"),
        ("ticker", "0000320193", "0000320193"),
        ("quarter", "2025-09-30", "2025-09-30"),
    ],
)
def test_a_text_of_the_field_is_folded(kind: Any, text: str, value: object) -> None:
    assert Param("name", kind).parse(text) == value
    assert Field("name", kind).parse(text) == value


@run_each_case(
    "kind, expected, texts",
    [
        ("cik", "0000320193", ["", "0", "0000000000", "12345678901", "-1", "x", "１", "320193 "]),
        ("accession", "0000320193-25-000057", ["", "x", "0000320193-25-00005", "unfiled-0"]),
        ("cusip", "037833100", ["", "037833101", "0378331000", "0378-3310", "CUSIP"]),
        ("ticker", "AAPL", ["", "ABCDEFGHIJKLM", "A_B", "ſ"]),
        (
            "quarter",
            "2025-09-30",
            ["", "2025-09-29", "2025Q5", "Q3", "2025-3Q", "1899-12-31", "1899Q4", "2201-03-31", "latest"],
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_an_example(kind: Any, expected: str, texts: list[str]) -> None:
    for text in texts:
        assert refusal(Param("name", kind), text) == {"param": "name", "expected": expected}


def test_a_default_text_is_accepted_as_a_value() -> None:
    assert Param("quarter", "quarter", default="latest").parse("latest") == "latest"


def test_each_entry_of_a_list_is_of_its_kind() -> None:
    assert Param("ciks", "words", word_kind="cik").parse("320193,0000000005") == (320_193, 5)
    assert Field("ciks", "words", word_kind="cik").parse(["320193"]) == [320_193]
    assert refusal(Param("ciks", "words", word_kind="cik"), "320193,x") == {"param": "ciks", "expected": "0000320193"}


@pytest.mark.parametrize(("text", "value"), [("0", 1), ("501", 500), ("50", 50)])
def test_a_limit_is_clamped_to_its_bounds(text: str, value: int) -> None:
    assert limit_param(50, 500).parse(text) == value


def test_the_documented_number_of_words_fits_into_one_value() -> None:
    param = Param("statement", "words", allowed=("income", "comprehensive_income"))
    assert param.parse(",".join(["comprehensive_income"] * 200)) == ("comprehensive_income",)
    with pytest.raises(ApiError):
        param.parse(",".join(["comprehensive_income"] * 201))
