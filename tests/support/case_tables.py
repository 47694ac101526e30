"""Tests of a table of cases.

With ``pytest.mark.parametrize`` each row of a table is a test: pytest, xdist and the fixtures take 3 to 15 ms for it,
usually much more than the row. With ``@run_each_case`` the table is one test. It is for rows that do not change what
the next rows see.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

# The number of characters of a value in the note of a failed case.
MAX_VALUE_LENGTH = 200


def run_each_case(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that runs a test for each case, with the same fixtures.

    The arguments are those of ``pytest.mark.parametrize``. All cases run. The test fails with an exception group of the
    errors, each with a note that gives its case.
    """
    parameter_names = [name.strip() for name in names.split(",")]
    rows = [tuple(case) if len(parameter_names) > 1 else (case,) for case in cases]
    if not rows:
        raise ValueError(f"no cases of {names}")
    arguments_of_rows = [dict(zip(parameter_names, row, strict=True)) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run_cases(**fixtures: Any) -> None:
            errors = []
            for arguments in arguments_of_rows:
                try:
                    test(**fixtures, **arguments)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case: {_describe_case(arguments)}")
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(rows)} cases failed", errors)

        signature = inspect.signature(test)
        fixture_parameters = [value for name, value in signature.parameters.items() if name not in parameter_names]
        run_cases.__signature__ = signature.replace(parameters=fixture_parameters)  # type: ignore[attr-defined]
        return run_cases

    return decorate


def _describe_case(arguments: dict[str, Any]) -> str:
    """Return the names and values of a case. Long values are cut."""
    texts = [f"{name}={value!r}" for name, value in arguments.items()]
    return ", ".join(text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "..." for text in texts)
