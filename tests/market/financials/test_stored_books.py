"""Stored books: equal to books built from the facts, and used instead of them while they are valid."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.demo import demo_data
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, fact_book, mapping_diff, metric_mapping, splits, stored_books
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.faces import SeparateLine
from finapi.market.financials.fact_book import ClassFact, FactRow, SourceFiling, Vintage
from finapi.market.financials.periods import Calendar
from finapi.market.intake import ingest, latest_years_work
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.statement_set_tables import tables, write_folder
from tests.web.financials.test_figures import year

CIK = 77
KEY = (days.number("2023-12-31"), 365)
NEVER = Calendar((), {}, {})


def build_document(revenue: int) -> bytes:
    facts = [fact for fiscal_year in range(2020, 2024) for fact in year(CIK, fiscal_year, revenue + fiscal_year)]
    return build_companyfacts(CIK, "Seventy-Seven Corp", facts)


@pytest.fixture
def stored_app(app: App) -> App:
    """Return an app with one company, whose book is stored."""
    store_companyfacts(app, build_document(1000))
    latest_years_work.compute_all_latest_years(app)
    return app


def are_equal(company_book: CompanyBook, other: CompanyBook) -> bool:
    """Return True if two books are equal in every part."""
    parts = {name for name in company_book.book.__slots__ if not name.startswith("_")} - {"vintages"}
    return (
        all(getattr(company_book.book, name) == getattr(other.book, name) for name in parts)
        and list_vintages(company_book) == list_vintages(other)
        and (company_book.calendar, company_book.industry, len(company_book))
        == (other.calendar, other.industry, len(other))
    )


def list_vintages(company_book: CompanyBook) -> list[Any]:
    return [(concept, list(by_key.items())) for concept, by_key in company_book.book.vintages.items()]


def store_and_load(company_book: CompanyBook) -> CompanyBook:
    book, calendar, industry = stored_books.deserialise(
        stored_books.serialise(company_book.book, company_book.calendar, company_book.industry)
    )
    return CompanyBook(book, calendar, industry, {})


def test_a_stored_book_keeps_every_part(stored_app: App) -> None:
    with stored_app.db.read() as tx:
        company_book = company_books.load(tx, CIK)
    book, key = company_book.book, (19_000, 365)
    book.nil_facts, book.other_unit_facts, book.negated_concepts = {("a:B", key)}, {("a:C", key)}, {(1, "a:B")}
    book.exact_concepts = {(1, "revenue"): {"a:B"}}
    book.containing_concepts, book.bracketed_concepts = {(1, "a:B"): ["a:C"]}, {(1, "x"): {"a:D"}}
    book.split_ratios = [(Decimal("2.50"), key, 1)]
    book.conflicting_facts = {(1, "us-gaap:Assets", Decimal("-2.50"))}
    book.restatement_factors = [(1 / Decimal(7), 0, 1)]
    book.face_concepts, book.label_signs, book.possible_lines = (
        {1: {"x": {"a:B"}}},
        {(1, "revenue"): -1},
        {("revenue", key): "Sales"},
    )
    book.separate_lines = {
        (1, "revenue"): [SeparateLine("a:B", "Sales", frozenset({"a:C"}), frozenset({"a:D"}), frozenset({key}))]
    }
    book.other_currencies, book.misscaled_filings = ["CAD"], {1: Decimal("0.001")}
    book.class_facts = {("a:B", key): [ClassFact("a:ClassAMember", Vintage(1, "a:B", "shares", "5", None))]}
    book.corrected_signs, book.confirmed_signs = {(1, "a:B", Decimal("-2.50"))}, {(1, "a:C", Decimal(-3))}
    assert [name for name in book.__slots__ if not name.startswith("_") and not getattr(book, name)] == []
    assert are_equal(company_book, store_and_load(company_book))


@pytest.mark.slow
def test_stored_books_keep_statement_pages(app: App, tmp_path: Path) -> None:
    ingest.run(app, [write_folder(tmp_path / "2009q3", tables())], IngestOptions(), lambda outcome: None)
    demo_data.load(app)
    with app.db.read() as tx:
        books = {cik: company_books.load(tx, cik) for cik in company_books.list_ciks(tx)}
    assert (len(books) > 2, any(company_book.book.face_concepts for company_book in books.values())) == (True, True)
    assert [
        cik for cik, company_book in books.items() if not are_equal(company_book, store_and_load(company_book))
    ] == []


def test_a_stored_book_gives_the_same_cells_as_the_facts(stored_app: App) -> None:
    with stored_app.db.read() as tx:
        built, stored = company_books.load(tx, CIK), company_books.load_cached(tx, CIK)
        assert (built.book.restatement_factors, splits.list_filed_splits(built.book, metric_mapping.get_mapping())) == (
            None,
            [],
        )
        assert (type(stored.book).__name__, are_equal(built, stored)) == ("StoredBook", True)
        assert mapping_diff.build_cells(stored) == mapping_diff.build_cells(built)
        assert "us-gaap:Nothing" not in stored.book.vintages


def test_only_requested_periods_are_parsed(stored_app: App) -> None:
    with stored_app.db.read() as tx:
        book = company_books.load_cached(tx, CIK).book
    assert isinstance(book, stored_books.StoredBook)
    vintages = book.vintages["us-gaap:Revenues"]
    assert (len(vintages) > 1, KEY in vintages, len(vintages._parsed)) == (True, True, 0)
    assert vintages[KEY] is vintages[KEY]
    assert list(vintages._parsed) == [KEY]
    with pytest.raises(KeyError):
        vintages[0, 0]


def test_the_newest_vintage_is_the_last_one() -> None:
    filings = [
        SourceFiling(f"0000000001-24-00000{number}", "10-K", f"2024-0{number}-01", "fsds") for number in range(1, 6)
    ]
    values = ["1", "1", "2", "2", "-3.5"]
    for count in range(1, 6):
        rows = [
            FactRow("us-gaap:Assets", "USD", *KEY, value, "-3", index) for index, value in enumerate(values[:count])
        ]
        book, *_ = stored_books.deserialise(
            stored_books.serialise(fact_book.build_book(filings, rows, metric_mapping.get_mapping()), NEVER, "bank")
        )
        newest = book.find_newest("us-gaap:Assets", KEY)
        assert newest == Vintage(count - 1, "us-gaap:Assets", "USD", values[count - 1], "-3")
        assert newest == book.vintages["us-gaap:Assets"][KEY][-1] == book.find_newest("us-gaap:Assets", KEY)
        assert book.find_newest("us-gaap:Assets", (0, 0)) is None


def is_read_from_store(app: App, *arguments: str | None) -> bool:
    with app.db.read() as tx:
        return isinstance(company_books.load_cached(tx, CIK, *arguments).book, stored_books.StoredBook)


def test_a_stored_book_is_used_until_facts_or_rules_change(stored_app: App) -> None:
    assert [
        is_read_from_store(stored_app),
        is_read_from_store(stored_app, "2023-01-01"),
        is_read_from_store(stored_app, None, "EUR"),
    ] == [True, False, False]
    store_companyfacts(stored_app, build_document(2000))
    assert not is_read_from_store(stored_app)
    latest_years_work.compute_all_latest_years(stored_app)
    assert is_read_from_store(stored_app)
    with stored_app.db.write() as tx:
        tx._connection.execute("UPDATE kept_books SET made_by = 'before'")
    assert not is_read_from_store(stored_app)
