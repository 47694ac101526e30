"""Figures of the SEC's own documents: every vintage, one source a filing, and what the SEC's rows say of them."""

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


def held(*paths: Path) -> App:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(), outcomes.append)
    assert [one for one in outcomes if one.outcome == "refused"] == []
    return app


def of(app: App, cik: int, *concepts: str, **question: Any) -> list[FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, cik, concepts=concepts or None, **question)


@pytest.fixture(scope="module")
def apple() -> Iterator[App]:
    app = held(NEWER)
    yield app
    app.db.close()


def told(found: list[FiledFact]) -> list[tuple[str | None, str, str | None, str | None]]:
    return [(fact.value, fact.accession, fact.form, fact.filed) for fact in found]


def test_every_row_of_the_document_is_a_fact(apple: App) -> None:
    rows = {
        (f"{taxonomy}:{tag}", unit, row.get("start"), row["end"], Decimal(str(row["val"])), row["accn"])
        for taxonomy, tags in json.loads(NEWER.read_bytes())["facts"].items()
        for tag, concept in tags.items()
        for unit, listed in concept["units"].items()
        for row in listed
    }
    found = of(apple, APPLE)
    assert len(found) == len(rows) == 24_579
    assert {(*fact[:4], Decimal(fact.value or ""), fact.accession) for fact in found} == rows


def test_assets_before_and_after_the_restatement(apple: App) -> None:
    found = [fact for fact in of(apple, APPLE, "us-gaap:Assets") if fact.end == "2009-09-26"]
    assert told(found)[:3] == [
        ("53851000000", "0001193125-09-214859", "10-K", "2009-10-27"),
        ("47501000000", "0001193125-10-012085", "10-Q", "2010-01-25"),
        ("47501000000", "0001193125-10-012091", "10-K/A", "2010-01-25"),
    ]
    assert {fact.value for fact in found[1:]} == {"47501000000"}


def test_earnings_per_share_before_and_after_the_split(apple: App) -> None:
    found = [
        fact
        for fact in of(apple, APPLE, "us-gaap:EarningsPerShareDiluted")
        if (fact.start, fact.end) == ("2017-10-01", "2018-09-29")
    ]
    assert [(fact.value, (fact.filed or "")[:4], fact.unit) for fact in found] == [
        ("11.91", "2018", "USD/shares"),
        ("11.91", "2019", "USD/shares"),
        ("2.98", "2020", "USD/shares"),
    ]


def test_facts_of_an_8_k_without_fiscal_year_are_there_with_their_form(apple: App) -> None:
    found = [fact for fact in of(apple, APPLE) if fact.accession == "0001193125-15-023732"]
    assert (len(found), {(fact.form, fact.filed) for fact in found}) == (569, {("8-K", "2015-01-28")})


def test_figures_of_proxy_statements_are_marked_by_their_form() -> None:
    app = held(EDGAR / "companyfacts" / "CIK0001835632.json")
    found = [fact for fact in of(app, MARVELL, "us-gaap:NetIncomeLoss") if fact.form == "DEF 14A"]
    assert [(fact.end, fact.value, fact.filed) for fact in found][0::4] == [
        ("2022-01-29", "-421000000", "2026-05-13"),
        ("2026-01-31", "2670100000", "2026-05-13"),
    ]
    app.db.close()


def test_other_currencies_and_taxonomies_are_there() -> None:
    app = held(EDGAR / "companyfacts" / "CIK0001997711.json")
    found = of(app, LPA)
    assert len(found) == 768
    assert {"USD", "COP", "CRC", "PEN"} <= {fact.unit for fact in found}
    assert {fact.concept.partition(":")[0] for fact in found} == {"dei", "ifrs-full"}
    app.db.close()


@pytest.mark.slow
def test_two_copies_in_any_order_make_the_same_facts(apple: App) -> None:
    made = [held(*order) for order in itertools.permutations([NEWER, OLDER])]
    first, second = (of(app, APPLE) for app in made)
    assert first == second == of(apple, APPLE)
    for app in made:
        app.db.close()


def of_filing(tx: Transaction, accession: str) -> list[FiledFact]:
    read = filed_facts.iter_facts_by_set(tx, filed_facts.list_fact_sets(tx, accession=accession))
    return [fact for _, found in read for fact in found]


def test_companyfacts_are_what_the_filings_tag_without_dimensions(apple: App) -> None:
    """The proof that either may speak for a filing: each figure of the one is in the other, equal."""
    from_documents = held(*(EDGAR / "xbrl" / name for name in (AAPL_2023, AAPL_2024, AAPL_Q2_2025)))
    counts = {}
    for accession in ("0000320193-23-000106", "0000320193-24-000123", "0000320193-25-000057"):
        with apple.db.read() as tx:
            theirs = {fact[:4]: fact.value for fact in of_filing(tx, accession)}
        with from_documents.db.read() as tx:
            ours = {fact[:4]: fact.value for fact in of_filing(tx, accession) if not fact.dims}
        assert {key: Decimal(value or "") for key, value in theirs.items()} == {
            key: Decimal(ours[key] or "") for key in theirs
        }
        counts[accession] = (len(theirs), len(ours))
    assert counts == {
        "0000320193-23-000106": (457, 505),
        "0000320193-24-000123": (431, 478),
        "0000320193-25-000057": (247, 263),
    }
    from_documents.db.close()


@pytest.mark.slow
def test_any_order_of_four_sources_makes_the_same_facts_and_statements() -> None:
    sources_of = [NEWER, EDGAR / "xbrl" / AAPL_2024, SLICE, EDGAR / "submissions" / "CIK0000320193.json"]
    answers = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]):
        app = held(*(sources_of[place] for place in order))
        found = of(app, APPLE) + of(app, APPLE, dimensioned=True)
        assert {fact.source for fact in found if fact.accession == "0000320193-24-000123"} == {"xbrl"}
        answers.append(found)
        app.db.close()
    assert all(answer == answers[0] for answer in answers)


# ---- against the SEC's own rows, over the API's own path


def entries(place: Path) -> Iterator[dict[str, sources.Entry]]:
    for group in sources.iter_groups([place]):
        assert isinstance(group, sources.Group)
        yield {
            document_kinds.detect_kind(one.read(document_kinds.MAX_PREFIX_BYTES), one.name): one
            for one in group.entries
        }


def test_our_reading_of_apple_s_10_k_is_the_sec_s() -> None:
    with service(AAPL_2024) as ours:
        for tables in entries(SLICE):
            found = list(agreement.of_data_set(tables, lambda _: ours.statements(AAPL_2024, dimensioned=True)))
    assert [one.misses for one in found] == [()] * 3
    assert agreement.totals(found)["all"] == {
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
def test_every_statement_of_2009q3_is_served_as_its_rows_are() -> None:
    archive = EDGAR / "fsds" / "2009q3.zip"
    with service() as ours:
        clock = ours.app.clock
        assert isinstance(clock, FixedClock)
        outcomes: list[Outcome] = []
        ingest.run(ours.app, [archive], IngestOptions(), outcomes.append)
        assert {one.reason for one in outcomes if one.outcome == "ingested"} == {
            "435 filings: 435 ingested, 0 held already"
        }

        def served(accession: str) -> dict[str, Any]:
            clock.advance(seconds=1)  # 435 calls in a moment are over the limit
            path = f"/api/v1/xbrl/filing/{accession}/statements"
            answer = ours.client.get(path, query={"consolidated_only": "false"})
            assert answer.status == 200, answer.body
            return answer.json["data"]["statements"]  # type: ignore[no-any-return]

        for tables in entries(archive):
            found = list(agreement.of_data_set(tables, served))
    assert [one for one in found if one.misses] == []
    assert {name: (one["lines"], one["values"]) for name, one in agreement.totals(found).items()} == {
        "balance": (15_143, 31_917),
        "income": (10_697, 42_034),
        "cash-flow": (15_558, 32_467),
        "all": (41_398, 106_418),
    }
    assert agreement.totals(found)["all"]["equal"] == 106_418


@pytest.mark.slow
@pytest.mark.parametrize("what", [["small", "500"], ["zip", "20"], ["quarter"], ["1"]])
def test_no_input_takes_more_than_200_mb(what: list[str]) -> None:
    """500 companies as the SEC zips 18,000: documents are read and stored one at a time."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.bench.facts", *what],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    assert int(re.findall(r"peak memory ([0-9]+) MB", told)[0]) < 200
    for size in re.findall(r"a million figures take ([0-9]+) MB", told):
        assert int(size) <= 120
