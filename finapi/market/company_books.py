"""Books of companies out of the database: facts of the mapped concepts, the calendar and the industry."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from finapi.db import Row, Transaction
from finapi.market import book, metrics, periods
from finapi.market.book import Book, Filing
from finapi.market.calendars import Calendar
from finapi.market.factsets import COMPANYFACTS, SOURCES
from finapi.market.figures import Teller

BROKERS = 6211
RETAIL = range(5200, 6000)
# Standard Industrial Classification codes, by their ranges (SEC: "SIC code list").
_BY_SIC = (
    ("bank", range(6000, 6200)),
    # Security brokers and dealers; exchanges and advisers (6200, 6282) are told by what they report.
    ("bank", range(BROKERS, BROKERS + 1)),
    ("insurer", range(6300, 6400)),
    ("reit", range(6798, 6799)),
)
# Without a telling SIC code: the concepts that only one industry has on its statements, any two of them.
_TELLING = {
    "bank": "Deposits InterestIncomeExpenseNet NoninterestIncome NoninterestExpense RevenuesNetOfInterestExpense",
    "insurer": "PremiumsEarnedNet PolicyholderBenefitsAndClaimsIncurredNet NetInvestmentIncome",
    "reit": "RealEstateInvestmentPropertyNet RealEstateRevenueNet InvestmentProperty RentalIncome",
}


@dataclass(frozen=True, slots=True)
class CompanyBook:
    """A company's book as known on a day, its calendar and industry; ``tellers`` by basis."""

    book: Book
    calendar: Calendar
    industry: str
    tellers: dict[str, Teller]

    def __len__(self) -> int:
        """How many facts it holds; what it weighs in a cache."""
        return 1 + sum(len(entries) for by_key in self.book.entries.values() for entries in by_key.values())

    @property
    def empty(self) -> bool:
        """Whether no fact that a series uses is known."""
        return not self.book.entries

    def tells_in(self, currency: str) -> bool:
        """Whether any figure is told in a currency."""
        by_keys = self.book.entries.values()
        return any(one.unit == currency for by_key in by_keys for told in by_key.values() for one in told)


def read(tx: Transaction, cik: int, as_of: str | None = None, currency: str | None = None) -> CompanyBook:
    """The book of a company from what was filed up to ``as_of`` (ISO date; None: everything)."""
    mapping = metrics.mapping()
    filings, sets = filings_of(tx, cik, as_of)
    concepts = _concepts(tx, filings, sets, mapping)
    rows = tx.all("book_facts", sets=json.dumps(sets), concepts=json.dumps(concepts))
    written = book.write(filings, rows, mapping, currency)
    company = tx.one("book_company", cik=cik)
    year_end = company["fiscal_year_end"] if company else None
    retailer = company is not None and company["sic"] in RETAIL
    calendar = periods.calendar(written, mapping, year_end, retailer=retailer)
    industry = industry_of(company["sic"] if company else None, written)
    tellers = {basis: Teller(written, calendar, mapping, industry, basis) for basis in ("latest", "original")}
    return CompanyBook(written, calendar, industry, tellers)


def stamp(tx: Transaction, cik: int, as_of: str | None = None) -> Hashable:
    """What :func:`read` depends on, without the facts: as long as it is the same, so is the book.

    Facts of a set are added when the set is made, and hidden when one of the same filing is; the company counts
    other changes.
    """
    company = tx.one("book_company", cik=cik)
    return tuple(map(tuple, tx.all("book_filings", cik=cik, as_of=as_of))), company and tuple(company)


def filings_of(tx: Transaction, cik: int, as_of: str | None = None) -> tuple[list[Filing], list[int]]:
    """The filings of a company that say something, in the order of ``book.order``, and their sets of facts."""
    held: dict[Filing, list[int]] = {}
    for row in tx.all("book_filings", cik=cik, as_of=as_of):
        # A filing ingested in two states has two sets; what the lesser one says is hidden.
        held.setdefault(_filing(row), []).append(row["id"])
    filings = [filing for filing in book.order(held) for _ in held[filing]]
    return filings, [number for filing in dict.fromkeys(filings) for number in held[filing]]


def ciks(tx: Transaction) -> list[int]:
    """Every company of which facts are held."""
    return [row["cik"] for row in tx.all("book_companies")]


def all_of(tx: Transaction) -> dict[int, tuple[str, CompanyBook]]:
    """The books of every company of which facts are held, with their names, by CIK."""
    return {row["cik"]: (row["name"], read(tx, row["cik"])) for row in tx.all("book_companies")}


def industry_of(sic: int | None, written: Book) -> str:
    """commercial, bank, insurer or reit: by the SIC code, else by what the company reports.

    A code that says commercial is believed; most filings come without one.
    """
    held = {concept.partition(":")[2] for concept in written.entries}
    if sic == BROKERS and "OperatingIncomeLoss" in held and not held.intersection(_TELLING["bank"].split()):
        # A manager of assets under the code of brokers, without a line of a bank.
        return "commercial"
    for industry, codes in _BY_SIC:
        if sic is not None and sic in codes:
            return industry
    if sic is not None and not 6200 <= sic < 6800:
        return "commercial"
    for industry, telling in _TELLING.items():
        if len(held.intersection(telling.split())) >= 2:
            return industry
    return "commercial"


def _concepts(
    tx: Transaction, filings: Sequence[Filing], sets: Sequence[int], mapping: metrics.Mapping
) -> Sequence[int]:
    """The ids of the concepts that a series can use: the mapped ones, and the filer's own that count as one."""
    names = json.dumps(list(mapping.units_of))
    found = {row[0] for row in tx.all("book_standard_concepts", names=names)}
    pairs = zip(filings, sets, strict=True)
    others = [number for filing, number in pairs if filing.source != SOURCES[COMPANYFACTS]]
    if others:
        found |= _own(tx.all("book_own_concepts", sets=json.dumps(others)), mapping)
    return sorted(found)


def _own(concepts: Iterable[Row], mapping: metrics.Mapping) -> set[int]:
    return {row["id"] for row in concepts if mapping.concept(row["name"]) is not None}


def _filing(row: Row) -> Filing:
    period = row["period_of_report"]
    return Filing(
        accession=row["accession"],
        form=row["form"] or "",
        filed=row["filed_at"],
        source=SOURCES[row["source"]],
        fiscal_year=row["fiscal_year"],
        fiscal_period=row["fiscal_period"],
        period_end=book.day(period) if period else None,
    )
