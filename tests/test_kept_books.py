"""Books that are kept as rows: the same as those made of the facts, and read in their place while they are true."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core import days
from finapi.market.demo import data
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, fact_book, mapping_diff, metric_mapping, splits, stored_books
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.faces import LineBeside
from finapi.market.financials.fact_book import FactRow, SourceFiling, Vintage
from finapi.market.financials.periods import Calendar
from finapi.market.intake import ingest
from finapi.web.financials import screen
from tests.api.test_figures_api import year
from tests.figures import document, store
from tests.support.statement_set_tables import folder, tables

CIK = 77
KEY = (days.number("2023-12-31"), 365)
NEVER = Calendar((), {}, {})


def document_of(revenue: int) -> bytes:
    facts = [fact for one in range(2020, 2024) for fact in year(CIK, one, revenue + one)]
    return document(CIK, "Seventy-Seven Corp", facts)


@pytest.fixture
def kept(app: App) -> App:
    """One company with figures, whose book is kept."""
    store(app, document_of(1000))
    screen.compute_all_latest_years(app)
    return app


def alike(one: CompanyBook, other: CompanyBook) -> bool:
    """Whether two books say the same in every part."""
    parts = {name for name in one.book.__slots__ if not name.startswith("_")} - {"vintages"}
    return (
        all(getattr(one.book, name) == getattr(other.book, name) for name in parts)
        and all_of(one) == all_of(other)
        and (one.calendar, one.industry, len(one)) == (other.calendar, other.industry, len(other))
    )


def all_of(held: CompanyBook) -> list[Any]:
    return [(concept, list(by_key.items())) for concept, by_key in held.book.vintages.items()]


def from_row(held: CompanyBook) -> CompanyBook:
    book, calendar, industry = stored_books.deserialise(stored_books.serialise(held.book, held.calendar, held.industry))
    return CompanyBook(book, calendar, industry, {})


def test_every_part_of_a_book_comes_back(kept: App) -> None:
    with kept.db.read() as tx:
        held = company_books.load(tx, CIK)
    book, key = held.book, (19_000, 365)
    book.nil_facts, book.other_unit_facts, book.negated_concepts = {("a:B", key)}, {("a:C", key)}, {(1, "a:B")}
    book.exact_concepts = {(1, "revenue"): {"a:B"}}
    book.containing_concepts, book.bracketed_concepts = {(1, "a:B"): ["a:C"]}, {(1, "x"): {"a:D"}}
    book.split_ratios = [(Decimal("2.50"), key, 1)]
    book.restatement_factors = [(1 / Decimal(7), 0, 1)]
    book.face_concepts, book.label_signs, book.possible_lines = (
        {1: {"x": {"a:B"}}},
        {(1, "revenue"): -1},
        {("revenue", key): "Sales"},
    )
    book.lines_beside = {
        (1, "revenue"): [LineBeside("a:B", "Sales", frozenset({"a:C"}), frozenset({"a:D"}), frozenset({key}))]
    }
    assert [name for name in book.__slots__ if not name.startswith("_") and not getattr(book, name)] == []
    assert alike(held, from_row(held))


def test_books_of_filings_with_faces_come_back_as_they_were(app: App, tmp_path: Path) -> None:
    ingest.run(app, [folder(tmp_path / "2009q3", tables())], IngestOptions(), lambda outcome: None)
    data.load(app)
    with app.db.read() as tx:
        books = {cik: company_books.load(tx, cik) for cik in company_books.list_ciks(tx)}
    assert (len(books) > 2, any(held.book.face_concepts for held in books.values())) == (True, True)
    assert [cik for cik, held in books.items() if not alike(held, from_row(held))] == []


def test_a_kept_book_answers_what_the_facts_do(kept: App) -> None:
    with kept.db.read() as tx:
        made, read = company_books.load(tx, CIK), company_books.load_cached(tx, CIK)
        assert (made.book.restatement_factors, splits.list_filed_splits(made.book, metric_mapping.get_mapping())) == (
            None,
            [],
        )
        assert (type(read.book).__name__, alike(made, read)) == ("StoredBook", True)
        assert mapping_diff.build_cells(read) == mapping_diff.build_cells(made)
        assert "us-gaap:Nothing" not in read.book.vintages


def test_only_the_periods_that_are_asked_for_are_read(kept: App) -> None:
    with kept.db.read() as tx:
        book = company_books.load_cached(tx, CIK).book
    assert isinstance(book, stored_books.StoredBook)
    told = book.vintages["us-gaap:Revenues"]
    assert (len(told) > 1, KEY in told, len(told._parsed)) == (True, True, 0)
    assert told[KEY] is told[KEY]
    assert list(told._parsed) == [KEY]
    with pytest.raises(KeyError):
        told[0, 0]


def test_the_newest_vintage_is_the_last_of_all_whatever_stands_before_it() -> None:
    filings = [SourceFiling(f"0000000001-24-00000{one}", "10-K", f"2024-0{one}-01", "fsds") for one in range(1, 6)]
    values = ["1", "1", "2", "2", "-3.5"]
    for count in range(1, 6):
        rows = [
            FactRow("us-gaap:Assets", "USD", *KEY, value, "-3", index) for index, value in enumerate(values[:count])
        ]
        read, *_ = stored_books.deserialise(
            stored_books.serialise(fact_book.build_book(filings, rows, metric_mapping.get_mapping()), NEVER, "bank")
        )
        newest = read.find_newest("us-gaap:Assets", KEY)
        assert newest == Vintage(count - 1, "us-gaap:Assets", "USD", values[count - 1], "-3")
        assert newest == read.vintages["us-gaap:Assets"][KEY][-1] == read.find_newest("us-gaap:Assets", KEY)
        assert read.find_newest("us-gaap:Assets", (0, 0)) is None


def is_kept(app: App, *asked: str | None) -> bool:
    with app.db.read() as tx:
        return isinstance(company_books.load_cached(tx, CIK, *asked).book, stored_books.StoredBook)


def test_a_book_is_kept_until_its_facts_or_the_rules_change_and_is_of_all_that_is_known(kept: App) -> None:
    assert [is_kept(kept), is_kept(kept, "2023-01-01"), is_kept(kept, None, "EUR")] == [True, False, False]
    store(kept, document_of(2000))
    assert not is_kept(kept)
    screen.compute_all_latest_years(kept)
    assert is_kept(kept)
    with kept.db.write() as tx:
        tx._connection.execute("UPDATE kept_books SET made_by = 'before'")
    assert not is_kept(kept)
