"""Stakes above five per cent, as the latest Schedules 13D and 13G report them, by issuer or by holder.

A person's stake is its row in its latest filing about the securities. The filing may say that five per cent or less are
left (``isExit``), after which the person need not report. If a later joint filing no longer names a person, its last
row remains, with ``isNamedInLatest`` false.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, NamedTuple, TypedDict

from finapi.core.records import OneOf, Time, build_record, format_cik, parse_decimal
from finapi.edgar.schedules import ALL_FORM_TYPES
from finapi.market.ownership.schedule_filings import Holes, get_hole_reason
from finapi.store.db import Row, Transaction

# More owners of five per cent than any company has had.
_MAX_OWNERS = 1_000


class Stake(TypedDict):
    """A person's stake by its latest filing about the securities."""

    latestPercent: Decimal | None
    latestShares: Decimal | None
    latestFiledAt: Time | None
    purpose: Annotated[str | None, "The beginning of Item 4."]
    accessionNumber: str
    formType: Annotated[str, OneOf(ALL_FORM_TYPES)]
    titleOfClass: str | None
    cusip: str | None
    isExit: Annotated[bool, "true: the filing states that five per cent or less are left."]
    isNamedInLatest: Annotated[bool, "false: a later filing of the same filers no longer names this person."]
    isLead: Annotated[bool, "true: no one in the filing reports more shares."]
    reportedTogether: Annotated[int, "Persons of the filing; mostly they report the same shares."]
    holderUuid: str
    holes: Holes


class BeneficialOwner(Stake):
    """An owner of a company's securities."""

    filerCik: str | None
    filerName: str


class PortfolioStake(Stake):
    """A stake of a holder in a company."""

    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str


class StakeFigures(NamedTuple):
    """The figures of a stake."""

    percent: Decimal | None
    shares: Decimal | None
    hole_reason: str  # The reason code for figures that are None.


def parse_figures(row: Row) -> StakeFigures:
    """Return the figures of a row with the columns percent, shares and source."""
    return StakeFigures(
        percent=parse_decimal(row["percent"]),
        shares=parse_decimal(row["shares"]),
        hole_reason=get_hole_reason(row["source"]),
    )


def _build_holes(figures: StakeFigures) -> dict[str, str]:
    holes = {}
    if figures.percent is None:
        holes["latestPercent"] = figures.hole_reason
    if figures.shares is None:
        holes["latestShares"] = figures.hole_reason
    return holes


def list_owners(tx: Transaction, issuer: int) -> list[BeneficialOwner]:
    """Return the owners of a company's securities, those who filed last first."""
    owners = []
    for row in tx.list_rows("stakes_in_issuer", cik=issuer, limit=_MAX_OWNERS):
        figures = parse_figures(row)
        owner = build_record(
            BeneficialOwner,
            row,
            latestPercent=figures.percent,
            latestShares=figures.shares,
            holes=_build_holes(figures),
            filerCik=format_cik(row["cik"]),
            filerName=row["name"],
        )
        owners.append(owner)
    return owners


def list_stakes_of_holder(tx: Transaction, cik: int, limit: int, offset: int) -> tuple[list[PortfolioStake], int]:
    """Return a page of a holder's stakes, those it filed last first, and the number of all."""
    stakes = []
    for row in tx.list_rows("stakes_of_holder", cik=cik, limit=limit, offset=offset):
        figures = parse_figures(row)
        stake = build_record(
            PortfolioStake,
            row,
            latestPercent=figures.percent,
            latestShares=figures.shares,
            holes=_build_holes(figures),
            issuerCik=f"{row['issuer_cik']:010}",
        )
        stakes.append(stake)
    return stakes, int(tx.find_value("count_stakes_of_holder", cik=cik))


def find_holder_name(tx: Transaction, cik: int) -> str | None:
    """Return the name of a holder in its latest schedule, or None if no schedule names it."""
    name: str | None = tx.find_value("schedule_holder_name", cik=cik)
    return name
