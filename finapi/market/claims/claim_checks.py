"""The check of a claim against the figures of its company: a metric by its series, a concept by its facts.

A *candidate* is a figure that the claim may be about. The candidates of the claimed period are compared first, then
those of other periods, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from finapi.market.claims import claim_records
from finapi.market.claims.claim_records import ClaimRecord, ClaimResult, FigureOnFile, StatedClaim
from finapi.market.claims.verdicts import Judgement, KnownFigure, judge
from finapi.market.financials import cell_proof
from finapi.market.financials.provenance import FactRecord
from finapi.market.reference.companies import Company
from finapi.store.db import Transaction

# The verdicts on claims that a filing proves for the stated period.
PROVED = ("matches", "matches_first_filed", "restated_since")


class ClaimCandidate(Protocol):
    """A figure that a claim may be about."""

    @property
    def known_figure(self) -> KnownFigure | None:
        """Return the figure, or None if it is missing."""

    def build_cell(self) -> FigureOnFile:
        """Return the record of the newest filed figure."""

    def build_older_cell(self, claim: StatedClaim) -> FigureOnFile:
        """Return the record of the older figure that agrees with a claim."""


def check_candidates(
    record: ClaimRecord,
    company: Company,
    claim: StatedClaim,
    stated_candidates: Sequence[ClaimCandidate],
    other_candidates: Iterable[ClaimCandidate],
) -> ClaimResult | None:
    """Return the result of a claim about one of the stated candidates, or None if none of them has a figure.

    A last day may name several: a quarter, a year to date and a year. If the claim agrees with any of them, it is true.
    """
    present = [(candidate, figure) for candidate in stated_candidates if (figure := candidate.known_figure) is not None]
    if not present:
        return None
    for candidate, figure in present:
        judgement = judge(claim.value, figure)
        if judgement.verdict in PROVED:
            return _build_result(record, company, claim, candidate, judgement)
    candidate, figure = present[0]
    compared: list[ClaimCandidate] = []
    judgement = judge(claim.value, figure, _iter_known_figures(other_candidates, compared))
    other = None if judgement.other_index is None else compared[judgement.other_index]
    return _build_result(record, company, claim, candidate, judgement, other)


def _iter_known_figures(candidates: Iterable[ClaimCandidate], compared: list[ClaimCandidate]) -> Iterator[KnownFigure]:
    """Yield the figures of candidates that have one, and append these candidates to ``compared``."""
    for candidate in candidates:
        figure = candidate.known_figure
        if figure is not None:
            compared.append(candidate)
            yield figure


def _build_result(
    record: ClaimRecord,
    company: Company,
    claim: StatedClaim,
    candidate: ClaimCandidate,
    judgement: Judgement,
    other: ClaimCandidate | None = None,
) -> ClaimResult:
    result = claim_records.build_result(record, company, judgement)
    result["cell"] = candidate.build_cell()
    if judgement.verdict in ("matches_first_filed", "restated_since"):
        result["agreeing_cell"] = candidate.build_older_cell(claim)
    elif other is not None:
        result["agreeing_cell"] = other.build_cell()
    return result


def add_links(tx: Transaction, cik: int, results: Iterable[ClaimResult]) -> None:
    """Add to the operands of a company's results their elements on inline pages, and to each cell its link."""
    cells = [cell for result in results for cell in (result["cell"], result["agreeing_cell"]) if cell is not None]
    facts: list[FactRecord] = [operand for cell in cells for operand in cell["operands"]]
    cell_proof.add_fact_links(tx, cik, facts)
    for cell in cells:
        if len(cell["operands"]) == 1 and cell["operands"][0]["ink_url"] is not None:
            cell["link"] = cell["operands"][0]["ink_url"]
