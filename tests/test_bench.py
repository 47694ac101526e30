"""The table of ``tests.bench``: one row that breaks takes no other with it."""

from __future__ import annotations

from tests.bench.__main__ import measured


def test_a_row_that_breaks_is_told_and_the_others_are_measured_in_every_round() -> None:
    asked: list[str] = []

    def broken() -> tuple[float, float]:
        asked.append("broken")
        raise AssertionError("503 of /api/v1/stats")

    found, why = measured({"broken": broken, "fine": lambda: (2.0, 1.0)}, 3)
    assert found == {"fine": [(2.0, 1.0)] * 3}
    assert why == {"broken": "AssertionError: 503 of /api/v1/stats"}
    assert asked == ["broken"]
