"""Counts with their nouns."""

from __future__ import annotations

from finapi.core.counts import format_count


def test_one_has_the_singular_and_all_others_the_plural() -> None:
    assert [format_count(count, "call") for count in (0, 1, 2, 2000)] == ["0 calls", "1 call", "2 calls", "2,000 calls"]
    companies = [format_count(count, "company", "companies") for count in (0, 1, 2)]
    assert companies == ["0 companies", "1 company", "2 companies"]
    left_out = [format_count(count, "row is left out", "rows are left out") for count in (1, 12_345)]
    assert left_out == ["1 row is left out", "12,345 rows are left out"]
