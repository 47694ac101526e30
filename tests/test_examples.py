"""Tests of the examples of the OpenAPI document: they are the service's real answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import examples

# The demo has one quarter of each fund, and no schedules of this month.
EMPTY = {
    *(f"get_ownership_aggregation_by_{dimension}" for dimension in ("ticker", "sector", "industry")),
    "get_form_13f_moves",
    "get_form_13f_overlap",
    "get_form_13f_cross_filing_signals",
    "get_sec_filings_search",
}


@pytest.mark.slow
def test_every_example_is_what_the_demo_answers_today() -> None:
    stored_examples = json.loads(examples.FILE.read_text("utf-8"))
    assert stored_examples == json.loads(examples.render_examples(examples.build_examples())), (
        "stale: python -m tests.examples writes it anew"
    )


def test_every_example_of_a_list_shows_a_row() -> None:
    stored_examples: dict[str, Any] = json.loads(examples.FILE.read_text("utf-8"))
    empty = {name for name, route in examples.list_list_operations() if not route.rows_of(stored_examples[name])}
    assert empty <= EMPTY
