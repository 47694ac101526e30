"""Every sum of the filings' calculation linkbases, computed from the stored facts.

A total is compared wherever it is reported in a context (period and members) and unit together with at least one
of its items: that is when a summation binds (XBRL 2.1, 5.2.5.2). Items that are not reported there add nothing.
Equality is that of Calculations 1.1 with rounding to nearest: a value with ``decimals`` d means the interval of
half a unit of its last digit on either side (``INF``: for itself), and the total's must meet that of the weighted sum.
XBRL 2.1 would compare after rounding everything to the total's decimals, and so reject a printed sum of rounded
lines; here the choice does not matter, because every sum but one ties to the unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import pytest

from finapi.market.statements import xbrl_intake
from finapi.market.statements.filed_report import Fact, Report
from finapi.market.statements.layout import Context
from tests.conftest import needs_shared
from tests.real import AAPL_2023, AAPL_Q2_2025, AEON, NFLX_2010, NFLX_2024, service
from tests.support.case_tables import run_each_case

pytestmark = needs_shared

# The filings with a calculation linkbase.
FILINGS = (AAPL_2023, AAPL_Q2_2025, AEON, NFLX_2010, NFLX_2024)


class Binding(NamedTuple):
    """A total and its items in one context and unit. ``missing`` lists the items that are not reported there."""

    is_statement: bool
    role: str
    total: Fact
    context: Context
    items: list[tuple[Fact, Decimal]]
    missing: list[str]

    @property
    def difference(self) -> Decimal:
        """Return the items' weighted sum less the total."""
        return sum((weight * get_number(item) for item, weight in self.items), Decimal(0)) - get_number(self.total)

    @property
    def tolerance(self) -> Decimal:
        """Return half a unit of the last digit of the total and of every item."""
        return get_half_unit(self.total) + sum(
            (abs(weight) * get_half_unit(item) for item, weight in self.items), Decimal(0)
        )


def get_number(fact: Fact) -> Decimal:
    assert fact.value is not None
    return Decimal(fact.value)


def get_half_unit(fact: Fact) -> Decimal:
    if fact.decimals is None or fact.decimals == "INF":
        return Decimal(0)
    return Decimal(1).scaleb(-int(fact.decimals)) / 2


def iter_bindings(report: Report) -> Iterator[Binding]:
    reported = {
        (fact.concept, fact.context, fact.unit): fact for fact in report.facts if fact.unit and fact.value is not None
    }
    places_by_concept: dict[str, list[tuple[int, str]]] = {}
    for concept, context, unit in reported:
        places_by_concept.setdefault(concept, []).append((context, unit))
    for section in report.sections:
        sums: dict[str, list[tuple[str, Decimal]]] = {}
        for summation in section.sums:
            sums.setdefault(summation.total, []).append((summation.item, Decimal(summation.weight)))
        for total, items in sums.items():
            for context, unit in places_by_concept.get(total, ()):
                weighted_items = [
                    (reported[item, context, unit], weight)
                    for item, weight in items
                    if (item, context, unit) in reported
                ]
                if weighted_items:
                    yield Binding(
                        section.kind is not None,
                        section.role_uri.rpartition("/")[2],
                        reported[total, context, unit],
                        report.contexts[context],
                        weighted_items,
                        [item for item, _ in items if (item, context, unit) not in reported],
                    )


@pytest.fixture(scope="module")
def bindings_by_folder() -> dict[str, list[Binding]]:
    with service(*FILINGS) as filings, filings.app.db.read() as tx:
        reports = {filed.accession: report for report, filed, _ in xbrl_intake.FAMILY.iter_pack_rows(tx)}
        return {folder: list(iter_bindings(reports[filings.accessions[folder]])) for folder in FILINGS}


# Sums of the statements and of the notes that bind.
COUNTS = {AAPL_2023: (55, 121), AAPL_Q2_2025: (60, 60), AEON: (48, 6), NFLX_2010: (52, 0), NFLX_2024: (32, 28)}


@run_each_case("folder", FILINGS)
def test_the_number_of_sums_that_bind_is_known(bindings_by_folder: dict[str, list[Binding]], folder: str) -> None:
    counts_by_statement = Counter(binding.is_statement for binding in bindings_by_folder[folder])
    assert (counts_by_statement[True], counts_by_statement[False]) == COUNTS[folder]


@run_each_case("folder", FILINGS)
def test_every_sum_of_the_statements_ties_to_the_unit(
    bindings_by_folder: dict[str, list[Binding]], folder: str
) -> None:
    assert [
        (binding.role, binding.total.concept, binding.context, binding.difference)
        for binding in bindings_by_folder[folder]
        if binding.is_statement and binding.difference != 0
    ] == []


# The sums that do not tie, with what the items lack, and why.
NOT_TIED = {
    (
        AEON,
        "DisclosureForwardMergerSummaryOfPurchasePriceCalculationDetails",
        "us-gaap:AssetAcquisitionConsiderationTransferred",
        "2023-01-06",
    ): (
        Decimal(-125_000),
        "the liabilities of 125 thousand that the table adds are us-gaap:Liabilities, an instant, which no sum of "
        "durations can hold",
    )
}


@run_each_case("folder", FILINGS)
def test_every_sum_but_the_explained_ones_ties_in_its_decimals(
    bindings_by_folder: dict[str, list[Binding]], folder: str
) -> None:
    untied = {
        (folder, binding.role, binding.total.concept, binding.context.end): binding.difference
        for binding in bindings_by_folder[folder]
        if abs(binding.difference) > binding.tolerance
    }
    assert untied == {key: lack for key, (lack, _) in NOT_TIED.items() if key[0] == folder}


def test_sixty_sums_of_apples_quarter_are_of_its_statements(bindings_by_folder: dict[str, list[Binding]]) -> None:
    """``60 of 60`` counts each sum of a statement once per column."""
    counted = Counter(binding.role for binding in bindings_by_folder[AAPL_Q2_2025] if binding.is_statement)
    prefix = "CONDENSEDCONSOLIDATED"
    assert counted == {
        f"{prefix}STATEMENTSOFOPERATIONSUnaudited": 20,
        f"{prefix}STATEMENTSOFCOMPREHENSIVEINCOMEUnaudited": 16,
        f"{prefix}BALANCESHEETSUnaudited": 16,
        f"{prefix}STATEMENTSOFCASHFLOWSUnaudited": 8,
    }
    assert {binding.context.dims for binding in bindings_by_folder[AAPL_Q2_2025] if binding.is_statement} == {()}


def test_missing_items_of_apples_quarterly_sums_are_known(bindings_by_folder: dict[str, list[Binding]]) -> None:
    """The contingencies are empty, and hedges have a new element since this year."""
    oci = "us-gaap:OtherComprehensiveIncomeLossNetOfTaxPortionAttributableToParent"
    before = ["aapl:OtherComprehensiveIncomeLossDerivativeInstrumentGainLossafterReclassificationandTax"]
    since = ["us-gaap:OtherComprehensiveIncomeLossCashFlowHedgeGainLossAfterReclassificationAndTax"]
    both_sides = "us-gaap:LiabilitiesAndStockholdersEquity"
    lacking = [
        (binding.total.concept, binding.context.start, binding.context.end, binding.missing)
        for binding in bindings_by_folder[AAPL_Q2_2025]
        if binding.is_statement and binding.missing
    ]
    assert sorted(lacking, key=str) == [
        (both_sides, None, "2024-09-28", ["us-gaap:CommitmentsAndContingencies"]),
        (both_sides, None, "2025-03-29", ["us-gaap:CommitmentsAndContingencies"]),
        (oci, "2023-10-01", "2024-03-30", since),
        (oci, "2023-12-31", "2024-03-30", since),
        (oci, "2024-09-29", "2025-03-29", before),
        (oci, "2024-12-29", "2025-03-29", before),
    ]


def test_the_tolerance_of_rounded_lines_is_half_a_unit_of_each() -> None:
    """The comparison can fail: 1 and 1 make 3 when each is rounded to ones, and not 4."""
    plain = Context(1, None, "2024-12-31", ())
    item = Fact("x:Item", 0, "USD", "1", "0")
    sum_to_three = Binding(True, "role", Fact("x:Total", 0, "USD", "3", "0"), plain, [(item, Decimal(1))] * 2, [])
    sum_to_four = sum_to_three._replace(total=Fact("x:Total", 0, "USD", "4", "0"))
    exact = sum_to_three._replace(total=Fact("x:Total", 0, "USD", "2", "INF"), items=[(item, Decimal(-1))])
    assert (sum_to_three.difference, sum_to_three.tolerance) == (Decimal(-1), Decimal("1.5"))
    assert (sum_to_four.difference, sum_to_four.tolerance) == (Decimal(-2), Decimal("1.5"))
    assert (exact.difference, exact.tolerance) == (Decimal(-3), Decimal("0.5"))
