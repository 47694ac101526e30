"""Parameters of tests whose cases are many and of one kind: the README's test command runs the first few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(fast_count: int, cases: Iterable[Any]) -> list[Any]:
    """Return cases of one argument as parameters. Those after the first ``fast_count`` are marked ``slow``."""
    return [
        case if index < fast_count else pytest.param(case, marks=pytest.mark.slow) for index, case in enumerate(cases)
    ]


def slow_except_every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Return cases of one argument as parameters. All but the first of each ``step`` cases are marked ``slow``."""
    return [pytest.param(case, marks=pytest.mark.slow) if index % step else case for index, case in enumerate(cases)]
