"""Facts of the SEC's own documents: every vintage, one source per filing, and the SEC's rows."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar import document_kinds
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.statements import filed_facts
from finapi.market.statements.filed_facts import FiledFact
from finapi.store.db import Transaction
from tests.conftest import NOW, needs_shared
from tests.measure import agreement
from tests.real import AAPL_2023, AAPL_2024, AAPL_Q2_2025, EDGAR, service

pytestmark = needs_shared

APPLE, MARVELL, LPA = 320193, 1835632, 1997711
NEWER = EDGAR / "companyfacts" / "CIK0000320193.json"
OLDER = EDGAR / "companyfacts_older_vintage" / "CIK0000320193.json"
SLICE = EDGAR / "fsds_slices" / "0000320193-24-000123"


def ingest_paths(*paths: Path) -> App:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(), outcomes.append)
    assert [outcome for outcome in outcomes if outcome.outcome == "refused"] == []
    return app


def list_facts(app: App, cik: int, *concepts: str, **question: Any) -> list[FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, cik, concepts=concepts or None, **question)


@pytest.fixture(scope="module")
def apple() -> Iterator[App]:
    app = ingest_paths(NEWER)
    yield app
    app.db.close()


def outline_facts(facts: list[FiledFact]) -> list[tuple[str | None, str, str | None, str | None]]:
    return [(fact.value, fact.accession, fact.form, fact.filed) for fact in facts]


def test_every_row_of_the_document_is_a_fact(apple: App) -> None:
    rows = {
        (f"{taxonomy}:{tag}", unit, row.get("start"), row["end"], Decimal(str(row["val"])), row["accn"])
        for taxonomy, tags in json.loads(NEWER.read_bytes())["facts"].items()
        for tag, concept in tags.items()
        for unit, document_rows in concept["units"].items()
        for row in document_rows
    }
    facts = list_facts(apple, APPLE)
    assert len(facts) == len(rows) == 24_579
    assert {(*fact[:4], Decimal(fact.value or ""), fact.accession) for fact in facts} == rows


def test_assets_before_and_after_the_restatement(apple: App) -> None:
    facts = [fact for fact in list_facts(apple, APPLE, "us-gaap:Assets") if fact.end == "2009-09-26"]
    assert outline_facts(facts)[:3] == [
        ("53851000000", "0001193125-09-214859", "10-K", "2009-10-27"),
        ("47501000000", "0001193125-10-012085", "10-Q", "2010-01-25"),
        ("47501000000", "0001193125-10-012091", "10-K/A", "2010-01-25"),
    ]
    assert {fact.value for fact in facts[1:]} == {"47501000000"}


def test_earnings_per_share_before_and_after_the_split(apple: App) -> None:
    facts = [
        fact
        for fact in list_facts(apple, APPLE, "us-gaap:EarningsPerShareDiluted")
        if (fact.start, fact.end) == ("2017-10-01", "2018-09-29")
    ]
    assert [(fact.value, (fact.filed or "")[:4], fact.unit) for fact in facts] == [
        ("11.91", "2018", "USD/shares"),
        ("11.91", "2019", "USD/shares"),
        ("2.98", "2020", "USD/shares"),
    ]


def test_facts_of_an_8_k_without_fiscal_year_have_their_form(apple: App) -> None:
    facts = [fact for fact in list_facts(apple, APPLE) if fact.accession == "0001193125-15-023732"]
    assert (len(facts), {(fact.form, fact.filed) for fact in facts}) == (569, {("8-K", "2015-01-28")})


def test_figures_of_proxy_statements_are_marked_by_their_form() -> None:
    app = ingest_paths(EDGAR / "companyfacts" / "CIK0001835632.json")
    facts = [fact for fact in list_facts(app, MARVELL, "us-gaap:NetIncomeLoss") if fact.form == "DEF 14A"]
    assert [(fact.end, fact.value, fact.filed) for fact in facts][0::4] == [
        ("2022-01-29", "-421000000", "2026-05-13"),
        ("2026-01-31", "2670100000", "2026-05-13"),
    ]
    app.db.close()


def test_other_currencies_and_taxonomies_are_stored() -> None:
    app = ingest_paths(EDGAR / "companyfacts" / "CIK0001997711.json")
    facts = list_facts(app, LPA)
    assert len(facts) == 768
    assert {"USD", "COP", "CRC", "PEN"} <= {fact.unit for fact in facts}
    assert {fact.concept.partition(":")[0] for fact in facts} == {"dei", "ifrs-full"}
    app.db.close()


@pytest.mark.slow
def test_two_copies_in_any_order_make_the_same_facts(apple: App) -> None:
    apps_by_order = [ingest_paths(*order) for order in itertools.permutations([NEWER, OLDER])]
    first, second = (list_facts(app, APPLE) for app in apps_by_order)
    assert first == second == list_facts(apple, APPLE)
    for app in apps_by_order:
        app.db.close()


def list_filing_facts(tx: Transaction, accession: str) -> list[FiledFact]:
    fact_sets = filed_facts.iter_facts_by_set(tx, filed_facts.list_fact_sets(tx, accession=accession))
    return [fact for _, facts in fact_sets for fact in facts]


def test_companyfacts_equal_the_undimensioned_facts_of_filings(apple: App) -> None:
    """Either source may be used for a filing: each figure of companyfacts is in the filing, equal."""
    from_documents = ingest_paths(*(EDGAR / "xbrl" / name for name in (AAPL_2023, AAPL_2024, AAPL_Q2_2025)))
    counts = {}
    for accession in ("0000320193-23-000106", "0000320193-24-000123", "0000320193-25-000057"):
        with apple.db.read() as tx:
            companyfacts_values = {fact[:4]: fact.value for fact in list_filing_facts(tx, accession)}
        with from_documents.db.read() as tx:
            filing_values = {fact[:4]: fact.value for fact in list_filing_facts(tx, accession) if not fact.dims}
        assert {key: Decimal(value or "") for key, value in companyfacts_values.items()} == {
            key: Decimal(filing_values[key] or "") for key in companyfacts_values
        }
        counts[accession] = (len(companyfacts_values), len(filing_values))
    assert counts == {
        "0000320193-23-000106": (457, 505),
        "0000320193-24-000123": (431, 478),
        "0000320193-25-000057": (247, 263),
    }
    from_documents.db.close()


@pytest.mark.slow
def test_any_order_of_four_sources_makes_the_same_facts() -> None:
    sources_of = [NEWER, EDGAR / "xbrl" / AAPL_2024, SLICE, EDGAR / "submissions" / "CIK0000320193.json"]
    answers = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]):
        app = ingest_paths(*(sources_of[source_number] for source_number in order))
        facts = list_facts(app, APPLE) + list_facts(app, APPLE, dimensioned=True)
        assert {fact.source for fact in facts if fact.accession == "0000320193-24-000123"} == {"xbrl"}
        answers.append(facts)
        app.db.close()
    assert all(answer == answers[0] for answer in answers)


# ---- against the SEC's own rows, over the API's own path


def iter_entries(path: Path) -> Iterator[dict[str, sources.Entry]]:
    for group in sources.iter_groups([path]):
        assert isinstance(group, sources.Group)
        yield {
            document_kinds.detect_kind(entry.read(document_kinds.MAX_PREFIX_BYTES), entry.name): entry
            for entry in group.entries
        }


def test_apples_10_k_is_read_as_the_sec_reads_it() -> None:
    with service(AAPL_2024) as xbrl_service:
        for tables in iter_entries(SLICE):
            comparisons = list(
                agreement.compare_data_set(tables, lambda _: xbrl_service.statements(AAPL_2024, dimensioned=True))
            )
    assert [comparison.misses for comparison in comparisons] == [()] * 3
    assert agreement.sum_counts(comparisons)["all"] == {
        "statements": 3,
        "presented": 74,
        "lines": 74,
        "lines_served": 74,
        "values": 202,
        "equal": 202,
        "outside": 2,
        "misses": 0,
    }


@pytest.mark.slow
def test_every_statement_of_2009q3_is_served_as_its_rows() -> None:
    archive = EDGAR / "fsds" / "2009q3.zip"
    with service() as xbrl_service:
        clock = xbrl_service.app.clock
        assert isinstance(clock, FixedClock)
        outcomes: list[Outcome] = []
        ingest.run(xbrl_service.app, [archive], IngestOptions(), outcomes.append)
        assert {outcome.reason for outcome in outcomes if outcome.outcome == "ingested"} == {
            "435 filings: 435 ingested, 0 stored already"
        }

        def fetch_statements(accession: str) -> dict[str, Any]:
            clock.advance(seconds=1)  # 435 calls in a moment are over the limit
            path = f"/api/v1/xbrl/filing/{accession}/statements"
            answer = xbrl_service.client.get(path, query={"consolidated_only": "false"})
            assert answer.status == 200, answer.body
            return answer.json["data"]["statements"]  # type: ignore[no-any-return]

        for tables in iter_entries(archive):
            comparisons = list(agreement.compare_data_set(tables, fetch_statements))
    assert [comparison for comparison in comparisons if comparison.misses] == []
    assert {
        name: (counts["lines"], counts["values"]) for name, counts in agreement.sum_counts(comparisons).items()
    } == {
        "balance": (15_143, 31_917),
        "income": (10_697, 42_034),
        "cash-flow": (15_558, 32_467),
        "all": (41_398, 106_418),
    }
    assert agreement.sum_counts(comparisons)["all"]["equal"] == 106_418


@pytest.mark.slow
@pytest.mark.parametrize("bench_arguments", [["small", "500"], ["zip", "20"], ["quarter"], ["1"]])
def test_no_input_takes_more_than_200_mb(bench_arguments: list[str]) -> None:
    """500 companies, zipped as the SEC zips 18,000; documents are read and stored one at a time."""
    report = subprocess.run(
        [sys.executable, "-m", "tests.bench.facts", *bench_arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    assert int(re.findall(r"peak memory ([0-9]+) MB", report)[0]) < 200
    for size in re.findall(r"a million figures take ([0-9]+) MB", report):
        assert int(size) <= 120
