"""The standardised figures against figures read off the statements by people: what was reached is held."""

from __future__ import annotations

import pytest

from tests.conftest import SHARED, needs_shared
from tests.measure import report as measuring

# What is still wrong, and why; anything else is a regression.
KNOWN = {
    # The table's other rows take the later 10-K, which restated the long-term part; this one does not.
    ("AAPL", "total_debt", "2015-09-26", "latest"),
    # The filer put the consolidated loss under the parent's tag and the parent's under another, for this year only.
    ("UPXI", "net_income", "2023-06-30", "latest"),
}


@needs_shared
@pytest.mark.slow
def test_figures_are_right_and_every_miss_is_known() -> None:
    report = measuring.measured(SHARED / "edgar", SHARED / "truth" / "figures.tsv", lambda path: None)
    store, reading = report["statements"]["store"], report["statements"]["reading"]
    assert store["misses"] == reading["misses"] == []
    assert [store["totals"]["all"][name] for name in ("lines_served", "equal")] == [41_398, 106_418]
    assert [reading["totals"]["all"][name] for name in ("lines_served", "equal")] == [74, 202]
    figures = report["figures"]
    misses = {(one["company"], one["metric"], one["period_end"], one["basis"]) for one in figures["misses"]}
    assert misses <= KNOWN
    assert figures["total"]["rows"] > 1800
    assert figures["total"]["accuracy_pct"] >= 99.8
    assert figures["total"]["coverage_pct"] == 100.0
    # Filers of 2009, REITs most of all, put redeemable interests between liabilities and equity under own names.
    least = {"bank": 1.0, "commercial": 0.99, "insurer": 1.0, "reit": 0.69}
    checked = {industry: totals["total_assets"] for industry, totals in report["identities"].items()}
    assert checked.keys() == least.keys()
    for industry, one in checked.items():
        assert one["consistent"] >= least[industry] * one["checked"], industry
