"""The number of random examples that Hypothesis gives to a test."""

from __future__ import annotations

import os


def examples(number: int) -> int:
    """Return ``number`` if the variable ALL_EXAMPLES is set, as in .ci/run, else a fifth of it, but at least 10."""
    return number if os.environ.get("ALL_EXAMPLES") else max(number // 5, 10)
