"""Tests of the table of ``tests.bench``: a row that fails does not stop the other rows."""

from __future__ import annotations

from tests.bench.__main__ import measured


def test_a_failing_row_does_not_stop_the_other_rows() -> None:
    calls: list[str] = []

    def broken() -> tuple[float, float]:
        calls.append("broken")
        raise AssertionError("503 of /api/v1/stats")

    measurements, why = measured({"broken": broken, "fine": lambda: (2.0, 1.0)}, 3)
    assert measurements == {"fine": [(2.0, 1.0)] * 3}
    assert why == {"broken": "AssertionError: 503 of /api/v1/stats"}
    assert calls == ["broken"]
