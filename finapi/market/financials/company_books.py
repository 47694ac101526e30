"""The books of companies, loaded from the database: the facts of mapped concepts, the calendar and the industry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal

from finapi.core import days
from finapi.market.financials import (
    fact_book,
    filing_scales,
    get_fingerprint,
    metric_mapping,
    outlay_signs,
    periods,
    share_classes,
    stored_books,
)
from finapi.market.financials.derived_figures import CellResolver
from finapi.market.financials.face_pages import SECTION_KINDS, FaceRow
from finapi.market.financials.faces import Faces, SumRow
from finapi.market.financials.fact_book import FactBook, FactRow, SourceFiling
from finapi.market.financials.metric_mapping import MetricMapping
from finapi.market.financials.outlay_signs import StatementLine
from finapi.market.financials.periods import Calendar
from finapi.market.statements.fact_sets import COMPANYFACTS, SOURCE_NAMES
from finapi.store.db import Row, Transaction

# Facts outside of these days are errors of their filers.
FIRST_DAY, LAST_DAY = days.number("1900-01-01"), days.number("2200-12-31")

# Standard Industrial Classification codes (SEC: "SIC code list").
SECURITY_BROKERS = 6211
RETAIL_CODES = range(5200, 6000)
FINANCIAL_CODES = range(6000, 6800)
_INDUSTRIES_BY_CODE = (
    ("bank", range(6000, 6200)),
    # Exchanges (6200) and advisers (6282) are not listed: their industry is found by their tags.
    ("bank", range(SECURITY_BROKERS, SECURITY_BROKERS + 1)),
    ("insurer", range(6300, 6400)),
    ("reit", range(6798, 6799)),
)
# Concepts that only occur in the statements of one industry. If the SIC code does not decide, two of these concepts do.
_TYPICAL_CONCEPTS = {
    "bank": frozenset(
        [
            "Deposits",
            "InterestIncomeExpenseNet",
            "NoninterestIncome",
            "NoninterestExpense",
            "RevenuesNetOfInterestExpense",
        ]
    ),
    "insurer": frozenset(["PremiumsEarnedNet", "PolicyholderBenefitsAndClaimsIncurredNet", "NetInvestmentIncome"]),
    "reit": frozenset(
        ["RealEstateInvestmentPropertyNet", "RealEstateRevenueNet", "InvestmentProperty", "RentalIncome"]
    ),
}


@dataclass(frozen=True, slots=True)
class CompanyBook:
    """The facts of a company as known on a day, with its calendar, industry and resolvers."""

    book: FactBook
    calendar: Calendar
    industry: str
    resolvers: dict[str, CellResolver]  # By basis, "latest" or "original".

    def __len__(self) -> int:
        """Return the number of facts, which is the weight of the book in a cache."""
        return 1 + self.book.vintage_count

    @property
    def is_empty(self) -> bool:
        """True if the book has no fact that a series can use."""
        return not self.book.vintages

    def has_currency(self, currency: str) -> bool:
        """Return True if any figure is reported in a currency."""
        return any(
            vintage.unit == currency
            for by_period in self.book.vintages.values()
            for vintages in by_period.values()
            for vintage in vintages
        )


def load_cached(tx: Transaction, cik: int, as_of: str | None = None, currency: str | None = None) -> CompanyBook:
    """Return the same as :func:`load`, but read the stored book if the arguments and the data allow it."""
    data = None
    if as_of is None and currency is None:
        data = tx.find_value("stored_book", cik=cik, rules=get_fingerprint())
    if data is None:
        return load(tx, cik, as_of, currency)
    book, calendar, industry = stored_books.deserialise(data)
    return _add_resolvers(book, calendar, industry, metric_mapping.get_mapping())


def load(
    tx: Transaction,
    cik: int,
    as_of: str | None = None,
    currency: str | None = None,
    mapping: MetricMapping | None = None,
) -> CompanyBook:
    """Return the book of a company from the filings up to ``as_of`` (an ISO date; None: all of them).

    The default ``currency`` is that of the newest report, and the default ``mapping`` is the current one.
    """
    mapping = mapping or metric_mapping.get_mapping()
    filings, fact_set_ids = list_filings(tx, cik, as_of)
    parameters = {"sets": json.dumps(fact_set_ids), "kinds": json.dumps(SECTION_KINDS)}
    # A company has tens of thousands of rows. The columns of these queries are in the order of the records' fields, so
    # records are built by position, which is four times as fast as by name.
    sums = [SumRow._make(row) for row in tx.list_rows("book_sums", parameters)]
    faces = Faces(map(FaceRow._make, tx.list_rows("book_faces", parameters)), mapping, sums)
    concept_ids = _list_concept_ids(tx, filings, fact_set_ids, mapping, faces.list_meant_concepts())
    fact_rows = tx.list_rows(
        "book_facts",
        sets=json.dumps(fact_set_ids),
        concepts=json.dumps(concept_ids),
        first=FIRST_DAY,
        last=LAST_DAY,
    )
    rows = [FactRow._make(row) for row in fact_rows]
    book = fact_book.build_book(filings, rows, mapping, currency, faces)
    book.misscaled_filings = filing_scales.find_misscaled_filings(book, mapping)
    if book.misscaled_filings:
        filing_scales.drop_repetitions(book)
    book.conflicting_facts = {
        (int(filing_index), concept, Decimal(value))
        for filing_index, concept, value in tx.list_rows("book_conflicts", sets=json.dumps(fact_set_ids))
    }
    doubtful_filings = outlay_signs.list_doubtful_filings(rows, mapping)
    if doubtful_filings:
        lines = _list_line_values(tx, doubtful_filings, fact_set_ids, book.currency)
        proofs = outlay_signs.prove_signs(mapping, rows, doubtful_filings, book.currency, lines, sums)
        book.corrected_signs, book.confirmed_signs = proofs
    class_filings = share_classes.list_filings_without_totals(filings, rows, mapping)
    if class_filings:
        fact_book.add_class_facts(book, _list_class_facts(tx, class_filings, fact_set_ids, mapping), mapping)
    company = tx.find_row("book_company", cik=cik)
    sic = company["sic"] if company else None
    year_end = company["fiscal_year_end"] if company else None
    return build(book, sic, year_end, mapping)


def _list_line_values(
    tx: Transaction, filing_indexes: Iterable[int], fact_set_ids: Sequence[int], currency: str
) -> list[StatementLine]:
    """Return the values of the lines of the income and cash flow statements of some filings."""
    sets_by_index = {str(filing_index): fact_set_ids[filing_index] for filing_index in filing_indexes}
    rows = tx.list_rows("book_line_values", sets=json.dumps(sets_by_index), currency=currency)
    return [StatementLine(int(filing_index), *fields) for filing_index, *fields in rows]


def _list_class_facts(
    tx: Transaction, filing_indexes: Iterable[int], fact_set_ids: Sequence[int], mapping: MetricMapping
) -> list[tuple[str, FactRow]]:
    """Return the share counts and per-share figures of classes of shares in some filings, each with its member."""
    sets_by_index = {str(filing_index): fact_set_ids[filing_index] for filing_index in filing_indexes}
    rows = tx.list_rows(
        "book_class_facts",
        sets=json.dumps(sets_by_index),
        concepts=json.dumps(sorted(share_classes.list_share_concepts(mapping))),
        first=FIRST_DAY,
        last=LAST_DAY,
    )
    facts = []
    for members, filing_index, *fields in rows:
        dimensions = json.loads(members)
        if len(dimensions) == 1:
            ((axis, member),) = dimensions.items()
            if axis in share_classes.CLASS_AXES:
                facts.append((member, FactRow._make((*fields, int(filing_index)))))
    return facts


def build(book: FactBook, sic: int | None, year_end: str | None, mapping: MetricMapping | None = None) -> CompanyBook:
    """Return a book with its calendar, industry and resolvers; ``year_end`` is a day of the year such as "0930"."""
    mapping = mapping or metric_mapping.get_mapping()
    calendar = periods.build_calendar(book, mapping, year_end, is_retailer=sic in RETAIL_CODES)
    return _add_resolvers(book, calendar, find_industry(sic, book), mapping)


def _add_resolvers(book: FactBook, calendar: Calendar, industry: str, mapping: MetricMapping) -> CompanyBook:
    resolvers = {basis: CellResolver(book, calendar, mapping, industry, basis) for basis in ("latest", "original")}
    return CompanyBook(book, calendar, industry, resolvers)


def find_stamp(tx: Transaction, cik: int) -> int | None:
    """Return a number that changes whenever the book of a company does, or None for a company without facts."""
    return tx.find_value("book_stamp", cik=cik)  # type: ignore[no-any-return]


def find_newest_filing_day(tx: Transaction, cik: int, as_of: str) -> str | None:
    """Return the filing day of a company's newest filing with facts up to ``as_of``, or None if there is none.

    All books from that day to ``as_of`` are equal.
    """
    return tx.find_value("newest_book_day", cik=cik, as_of=as_of)  # type: ignore[no-any-return]


def list_filings(tx: Transaction, cik: int, as_of: str | None = None) -> tuple[list[SourceFiling], list[int]]:
    """Return the filings of a company that have facts, the best and latest last, and the ids of their sets of facts.

    A filing that was ingested from two sources has two sets of facts and appears twice.
    """
    set_ids_by_filing: dict[SourceFiling, list[int]] = {}
    for row in tx.list_rows("book_filings", cik=cik, as_of=as_of):
        set_ids_by_filing.setdefault(_build_filing(row), []).append(row["id"])
    filings = []
    fact_set_ids = []
    for filing in fact_book.sort_filings(set_ids_by_filing):
        for fact_set_id in set_ids_by_filing[filing]:
            filings.append(filing)
            fact_set_ids.append(fact_set_id)
    return filings, fact_set_ids


def list_ciks(tx: Transaction) -> list[int]:
    """Return the companies that have facts."""
    return [row["cik"] for row in tx.list_rows("book_companies")]


def find_industry(sic: int | None, book: FactBook) -> str:
    """Return "commercial", "bank", "insurer" or "reit", by the SIC code or else by the company's tags.

    A SIC code that means commercial is trusted. Most filings have no code.
    """
    reported = {concept.partition(":")[2] for concept in book.vintages}
    if sic == SECURITY_BROKERS and "OperatingIncomeLoss" in reported and not reported & _TYPICAL_CONCEPTS["bank"]:
        # An asset manager that has the SIC code of brokers, but no line that is typical of a bank.
        return "commercial"
    if sic is not None:
        for industry, codes in _INDUSTRIES_BY_CODE:
            if sic in codes:
                return industry
        if sic not in FINANCIAL_CODES:
            return "commercial"
    for industry, typical_concepts in _TYPICAL_CONCEPTS.items():
        if len(reported & typical_concepts) >= 2:
            return industry
    return "commercial"


def _list_concept_ids(
    tx: Transaction,
    filings: Sequence[SourceFiling],
    fact_set_ids: Sequence[int],
    mapping: MetricMapping,
    meant_concepts: Set[str],
) -> Sequence[int]:
    """Return the ids of the concepts that a series can use.

    They are mapped concepts, custom concepts that count as mapped ones, and concepts of lines whose labels mean a
    metric.
    """
    names = [*mapping.unit_kinds, fact_book.SPLIT_RATIO, *(meant_concepts - mapping.unit_kinds.keys())]
    concept_ids = {row["id"] for row in tx.list_rows("book_standard_concepts", names=json.dumps(names))}
    # Companyfacts documents contain no custom concepts.
    custom_set_ids = [
        fact_set_id
        for filing, fact_set_id in zip(filings, fact_set_ids, strict=True)
        if filing.source != SOURCE_NAMES[COMPANYFACTS]
    ]
    if custom_set_ids:
        for row in tx.list_rows("book_custom_concepts", sets=json.dumps(custom_set_ids)):
            if mapping.find_concept(row["name"]) is not None:
                concept_ids.add(row["id"])
    return sorted(concept_ids)


def _build_filing(row: Row) -> SourceFiling:
    period_end = row["period_of_report"]
    return SourceFiling(
        accession=row["accession"],
        form=row["form"] or "",
        filed=row["filed_at"],
        source=SOURCE_NAMES[row["source"]],
        fiscal_year=row["fiscal_year"],
        fiscal_period=row["fiscal_period"],
        period_end=days.number(period_end) if period_end else None,
    )
