"""Books of companies out of the database: facts of the mapped concepts, the calendar and the industry."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import dataclass

from finapi.core import days
from finapi.market.financials import fact_book, get_fingerprint, metric_mapping, periods, stored_books
from finapi.market.financials.derived_figures import CellResolver
from finapi.market.financials.faces import SECTION_KINDS, Faces
from finapi.market.financials.fact_book import FactBook, SourceFiling
from finapi.market.financials.periods import Calendar
from finapi.market.statements.factsets import COMPANYFACTS, SOURCES
from finapi.store.db import Row, Transaction

# Between these days whatever a series is made of begins and ends.
FIRST_DAY, LAST_DAY = days.number("1900-01-01"), days.number("2200-12-31")

BROKERS = 6211
RETAIL = range(5200, 6000)
# Standard Industrial Classification codes, by their ranges (SEC: "SIC code list").
_BY_SIC = (
    ("bank", range(6000, 6200)),
    # Security brokers and dealers; exchanges and advisers (6200, 6282) are known by what they report.
    ("bank", range(BROKERS, BROKERS + 1)),
    ("insurer", range(6300, 6400)),
    ("reit", range(6798, 6799)),
)
# Without a SIC code that decides: the concepts that only one industry has on its statements, any two of them.
_TYPICAL = {
    "bank": "Deposits InterestIncomeExpenseNet NoninterestIncome NoninterestExpense RevenuesNetOfInterestExpense",
    "insurer": "PremiumsEarnedNet PolicyholderBenefitsAndClaimsIncurredNet NetInvestmentIncome",
    "reit": "RealEstateInvestmentPropertyNet RealEstateRevenueNet InvestmentProperty RentalIncome",
}


@dataclass(frozen=True, slots=True)
class CompanyBook:
    """A company's book as known on a day, its calendar and industry; ``resolvers`` by basis."""

    book: FactBook
    calendar: Calendar
    industry: str
    resolvers: dict[str, CellResolver]

    def __len__(self) -> int:
        """How many facts it holds; what it weighs in a cache."""
        return 1 + self.book.vintage_count

    @property
    def is_empty(self) -> bool:
        """Whether no fact that a series uses is known."""
        return not self.book.vintages

    def has_currency(self, currency: str) -> bool:
        """Whether any figure is reported in a currency."""
        by_keys = self.book.vintages.values()
        return any(one.unit == currency for by_key in by_keys for found in by_key.values() for one in found)


def load_cached(tx: Transaction, cik: int, as_of: str | None = None, currency: str | None = None) -> CompanyBook:
    """What :func:`read` gives, out of the row that is kept where nothing is asked but the company."""
    kept = tx.find_value("kept_book", cik=cik, rules=get_fingerprint()) if as_of is currency is None else None
    return (
        load(tx, cik, as_of, currency)
        if kept is None
        else _ready(*stored_books.deserialise(kept), metric_mapping.get_mapping())
    )


def load(
    tx: Transaction,
    cik: int,
    as_of: str | None = None,
    currency: str | None = None,
    mapping: metric_mapping.MetricMapping | None = None,
) -> CompanyBook:
    """The book of a company from what was filed up to ``as_of`` (ISO date; None: everything), by a mapping (None: that
    in force)."""
    mapping = mapping or metric_mapping.get_mapping()
    filings, sets = list_filings(tx, cik, as_of)
    pages = {"sets": json.dumps(sets), "kinds": json.dumps(SECTION_KINDS)}
    sums = map(tuple, tx.list_rows("book_sums", pages))
    faces = Faces(map(tuple, tx.list_rows("book_faces", pages)), mapping, sums)
    concepts = _concepts(tx, filings, sets, mapping, faces.list_meant_concepts())
    rows = tx.list_rows(
        "book_facts", sets=json.dumps(sets), concepts=json.dumps(concepts), first=FIRST_DAY, last=LAST_DAY
    )
    company = tx.find_row("book_company", cik=cik)
    sic, year_end = (company["sic"], company["fiscal_year_end"]) if company else (None, None)
    return build(fact_book.build_book(filings, rows, mapping, currency, faces), sic, year_end, mapping)


def build(
    book: FactBook, sic: int | None, year_end: str | None, mapping: metric_mapping.MetricMapping | None = None
) -> CompanyBook:
    """A book with its calendar and industry, ready to be asked."""
    mapping = mapping or metric_mapping.get_mapping()
    calendar = periods.build_calendar(book, mapping, year_end, retailer=sic in RETAIL)
    return _ready(book, calendar, find_industry(sic, book), mapping)


def _ready(book: FactBook, calendar: Calendar, industry: str, mapping: metric_mapping.MetricMapping) -> CompanyBook:
    resolvers = {basis: CellResolver(book, calendar, mapping, industry, basis) for basis in ("latest", "original")}
    return CompanyBook(book, calendar, industry, resolvers)


def find_stamp(tx: Transaction, cik: int) -> int | None:
    """What :func:`read` depends on, as one number: as long as it is the same, so is the book. None without facts."""
    return tx.find_value("book_stamp", cik=cik)  # type: ignore[no-any-return]


def list_filings(tx: Transaction, cik: int, as_of: str | None = None) -> tuple[list[SourceFiling], list[int]]:
    """The filings of a company that have facts, in the order of ``fact_book.order``, and their sets of facts."""
    held: dict[SourceFiling, list[int]] = {}
    for row in tx.list_rows("book_filings", cik=cik, as_of=as_of):
        # A filing ingested in two states has two sets; what the lesser one says is hidden.
        held.setdefault(_filing(row), []).append(row["id"])
    pairs = [(filing, number) for filing in fact_book.sort_filings(held) for number in held[filing]]
    return [filing for filing, _ in pairs], [number for _, number in pairs]


def list_ciks(tx: Transaction) -> list[int]:
    """Every company of which facts are held."""
    return [row["cik"] for row in tx.list_rows("book_companies")]


def find_industry(sic: int | None, book: FactBook) -> str:
    """commercial, bank, insurer or reit: by the SIC code, else by what the company reports.

    A code that says commercial is believed; most filings come without one.
    """
    held = {concept.partition(":")[2] for concept in book.vintages}
    if sic == BROKERS and "OperatingIncomeLoss" in held and not held.intersection(_TYPICAL["bank"].split()):
        # A manager of assets under the code of brokers, without a line of a bank.
        return "commercial"
    for industry, codes in _BY_SIC:
        if sic is not None and sic in codes:
            return industry
    if sic is not None and not 6200 <= sic < 6800:
        return "commercial"
    for industry, typical in _TYPICAL.items():
        if len(held.intersection(typical.split())) >= 2:
            return industry
    return "commercial"


def _concepts(
    tx: Transaction,
    filings: Sequence[SourceFiling],
    sets: Sequence[int],
    mapping: metric_mapping.MetricMapping,
    meant: Set[str],
) -> Sequence[int]:
    """The ids of the concepts that a series can use: the mapped ones, the filer's own that count as one, and those of
    lines whose labels mean one."""
    names = json.dumps([*mapping.unit_kinds, fact_book.SPLIT_RATIO, *(meant - mapping.unit_kinds.keys())])
    found = {row["id"] for row in tx.list_rows("book_standard_concepts", names=names)}
    pairs = zip(filings, sets, strict=True)
    others = [number for filing, number in pairs if filing.source != SOURCES[COMPANYFACTS]]
    for row in tx.list_rows("book_own_concepts", sets=json.dumps(others)) if others else ():
        if mapping.find_concept(row["name"]) is not None:
            found.add(row["id"])
    return sorted(found)


def _filing(row: Row) -> SourceFiling:
    period = row["period_of_report"]
    return SourceFiling(
        accession=row["accession"],
        form=row["form"] or "",
        filed=row["filed_at"],
        source=SOURCES[row["source"]],
        fiscal_year=row["fiscal_year"],
        fiscal_period=row["fiscal_period"],
        period_end=days.number(period) if period else None,
    )
