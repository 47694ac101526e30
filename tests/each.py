"""One test over a table of rows, which names every row that fails.

A parametrized test is an item for each row, collected by every process of the suite; where a row takes microseconds
and there are hundreds, the items take seconds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str, rows: Iterable[Any], called: Callable[[Any], str] = str) -> Callable[[Any], Callable[..., None]]:
    """Call a test for each row: ``names`` are its arguments that a row gives, the others are fixtures."""
    mine, table = names.split(), list(rows)

    def over(test: Callable[..., None]) -> Callable[..., None]:
        def every_row(**fixtures: Any) -> None:
            wrong = {}
            for row in table:
                try:
                    test(**dict(zip(mine, row if len(mine) > 1 else [row], strict=True)), **fixtures)
                except Exception as error:
                    wrong[called(row)] = f"{type(error).__name__}: {error}"
            assert table
            assert wrong == {}

        shape = inspect.signature(test)
        others = [one for name, one in shape.parameters.items() if name not in mine]
        every_row.__signature__ = shape.replace(parameters=others)  # type: ignore[attr-defined]
        every_row.__name__, every_row.__doc__, every_row.__module__ = test.__name__, test.__doc__, test.__module__
        return every_row

    return over
