"""Tests over a table of rows, which name every row that fails.

A parametrized test is an item for each row, collected by every process of the suite. With hundreds of rows that take
microseconds, the items take seconds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str, rows: Iterable[Any], describe: Callable[[Any], str] = str) -> Callable[[Any], Callable[..., None]]:
    """Return a decorator that calls a test for each row.

    ``names`` are the arguments that a row gives; the others are fixtures.
    """
    row_arguments, table = names.split(), list(rows)

    def over(test: Callable[..., None]) -> Callable[..., None]:
        def every_row(**fixtures: Any) -> None:
            wrong = {}
            for row in table:
                try:
                    test(**dict(zip(row_arguments, row if len(row_arguments) > 1 else [row], strict=True)), **fixtures)
                except Exception as error:
                    wrong[describe(row)] = f"{type(error).__name__}: {error}"
            assert table
            assert wrong == {}

        shape = inspect.signature(test)
        fixture_parameters = [parameter for name, parameter in shape.parameters.items() if name not in row_arguments]
        every_row.__signature__ = shape.replace(parameters=fixture_parameters)  # type: ignore[attr-defined]
        every_row.__name__, every_row.__doc__, every_row.__module__ = test.__name__, test.__doc__, test.__module__
        return every_row

    return over
