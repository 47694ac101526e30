"""Tests of the errors that callers see."""

from __future__ import annotations

import pytest

from finapi.core.errors import CODE_BY_STATUS, STATUS_BY_CODE, ApiError, ParseError, invalid_param
from tests.support.case_tables import run_each_case


@run_each_case(
    "code, status",
    [
        ("BAD_REQUEST", 400),
        ("INVALID_PARAM", 400),
        ("UNAUTHORIZED", 401),
        ("insufficient_tokens", 402),
        ("FORBIDDEN", 403),
        ("NOT_FOUND", 404),
        ("UNKNOWN_TICKER", 404),
        ("NOT_COVERED", 404),
        ("METHOD_NOT_ALLOWED", 405),
        ("CONFLICT", 409),
        ("PAYLOAD_TOO_LARGE", 413),
        ("UNSUPPORTED_MEDIA_TYPE", 415),
        ("RATE_LIMIT_EXCEEDED", 429),
        ("INTERNAL", 500),
        ("UNAVAILABLE", 503),
        ("TIMEOUT", 504),
    ],
)
def test_a_code_has_the_status_of_the_contract(code: str, status: int) -> None:
    assert ApiError(code, "message").status == status


def test_of_the_codes_of_a_status_one_says_no_more_than_it() -> None:
    assert CODE_BY_STATUS.keys() == set(STATUS_BY_CODE.values())
    several = {400: "BAD_REQUEST", 401: "UNAUTHORIZED", 404: "NOT_FOUND", 429: "RATE_LIMIT_EXCEEDED", 500: "INTERNAL"}
    assert {status: CODE_BY_STATUS[status] for status in several} == several


def test_every_code_is_an_error_status() -> None:
    assert all(400 <= status <= 599 for status in STATUS_BY_CODE.values())


def test_a_code_that_is_not_in_the_table_cannot_be_raised() -> None:
    with pytest.raises(KeyError):
        ApiError("TEAPOT", "message")


def test_an_error_without_extras_has_none() -> None:
    error = ApiError("NOT_FOUND", "Nothing.")
    assert (str(error), error.message) == ("Nothing.", "Nothing.")
    assert (error.details, error.extra_fields, error.headers) == (None, {}, {})


def test_invalid_param_names_the_parameter_and_what_it_expects() -> None:
    error = invalid_param("year", "year must be a whole number.", expected="integer")
    assert (error.code, error.status) == ("INVALID_PARAM", 400)
    assert error.details == {"param": "year", "expected": "integer"}


@pytest.mark.parametrize(("location", "text"), [("line 3", "a.xml: line 3: is cut short"), ("", "a.xml: is cut short")])
def test_a_parse_error_says_file_place_and_reason(location: str, text: str) -> None:
    error = ParseError("a.xml", location, "is cut short")
    assert str(error) == text
    assert (error.file, error.place, error.reason) == ("a.xml", location, "is cut short")
    assert isinstance(error, ValueError)
