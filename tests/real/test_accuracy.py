"""Standardised figures against figures that people read from the statements."""

from __future__ import annotations

import pytest

from tests.conftest import SHARED, needs_shared
from tests.measure import report as measuring

# Known errors with their reasons; any other error is a regression.
KNOWN = {
    # The table's other rows take the later 10-K, which restated the long-term part; this one does not.
    ("AAPL", "total_debt", "2015-09-26", "latest")
}


@needs_shared
@pytest.mark.slow
def test_figures_are_right_and_every_miss_is_known() -> None:
    report = measuring.build_report(SHARED / "edgar", SHARED / "truth" / "figures.tsv", lambda path: None)
    store, reading = report["statements"]["store"], report["statements"]["reading"]
    assert store["misses"] == reading["misses"] == []
    assert [store["totals"]["all"][name] for name in ("lines_served", "equal")] == [41_398, 106_418]
    assert [reading["totals"]["all"][name] for name in ("lines_served", "equal")] == [74, 202]
    figures = report["figures"]
    misses = {(miss["company"], miss["metric"], miss["period_end"], miss["basis"]) for miss in figures["misses"]}
    assert misses <= KNOWN
    assert figures["total"]["rows"] > 1800
    assert figures["total"]["accuracy_pct"] >= 99.8
    assert figures["total"]["coverage_pct"] == 100.0
    # Assets are liabilities, mezzanine and equity, whatever filers of 2009 call the items in the middle.
    checked = {industry: totals["total_assets"] for industry, totals in report["identities"].items()}
    assert {industry: (counts["checked"], counts["consistent"]) for industry, counts in checked.items()} == {
        "bank": (70, 70),
        "commercial": (615, 615),
        "insurer": (50, 50),
        "reit": (33, 33),
    }
    assert report["reproduced"]["wrong"] == []
    assert report["reproduced"]["cells"] > 98_000
    printed = report["printed"]
    assert [miss for miss in printed["misses"] if not miss["why"]] == []
    compared = sum(printed["counts"].values())
    assert compared > 32_000
    assert printed["counts"]["differs"] <= 0.003 * compared
    assert printed["counts"]["hole"] <= 0.002 * compared
    # The counts must not get worse.
    assert (printed["counts"]["differs"], printed["counts"]["hole"]) == (23, 16)
    # A hole next to a printed line names the line.
    silent = [
        (miss["company"], miss["metric"])
        for miss in printed["misses"]
        if miss["outcome"] == "hole" and miss["given"] == "not_reported"
    ]
    assert silent == []
