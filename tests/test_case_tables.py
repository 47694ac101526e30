"""The decorator for tests of a table of cases."""

from __future__ import annotations

import inspect

import pytest

from tests.support.case_tables import run_each_case


def test_every_case_runs_and_failures_name_their_cases() -> None:
    texts: list[str] = []

    @run_each_case("text, length", [("a", 1), ("bc", 3), ("def", 3), ("g" * 300, 0)])
    def check_length(log: list[str], text: str, length: int) -> None:
        log.append(text)
        assert len(text) == length

    assert list(inspect.signature(check_length).parameters) == ["log"]
    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as caught:
        check_length(log=texts)
    assert texts == ["a", "bc", "def", "g" * 300]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["case: text='bc', length=3"],
        [f"case: text='{'g' * 194}..., length=0"],
    ]


def test_a_failure_without_an_exception_is_a_failed_case() -> None:
    @run_each_case("text", ["1", "x"])
    def check_refusal(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    with pytest.raises(BaseExceptionGroup) as caught:
        check_refusal()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: text='1'"]]


def test_tables_are_nested_and_may_not_be_empty() -> None:
    pairs: list[tuple[int, int]] = []

    @run_each_case("first", [1, 2])
    @run_each_case("second", [3, 4])
    def add_pair(first: int, second: int) -> None:
        pairs.append((first, second))

    add_pair()
    assert pairs == [(1, 3), (1, 4), (2, 3), (2, 4)]
    with pytest.raises(ValueError, match="no cases of first"):
        run_each_case("first", [])
    with pytest.raises(ValueError, match="zip"):
        run_each_case("first, second", [(1, 2, 3)])
