"""Facts from several sources and filings: vintages, and the choice of the source."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.statements import filed_facts
from finapi.market.statements.filed_facts import FiledFact

FILING = Path(__file__).parents[2] / "filings" / "nflx-10q-20100930"
NFLX = "0001193125-10-999999"
APPLE = 320193

ANNUAL = ("0001193125-09-214859", "10-K", "2009-10-27")
AMENDED = ("0001193125-10-012091", "10-K/A", "2010-01-25")
PROXY = ("0001193125-10-012999", "DEF 14A", "2010-01-26")


def row(filing: tuple[str, str, str], val: Any, end: str, start: str | None = None) -> dict[str, Any]:
    accession, form, filed = filing
    dates = {"end": end} if start is None else {"start": start, "end": end}
    return {**dates, "val": val, "accn": accession, "fy": None, "fp": None, "form": form, "filed": filed}


def document(units: dict[str, dict[str, list[dict[str, Any]]]], cik: int = APPLE) -> bytes:
    """Return a companyfacts document of us-gaap concepts, each with its rows by unit."""
    concepts = {concept: {"label": concept, "units": rows} for concept, rows in units.items()}
    return json.dumps({"cik": cik, "entityName": "Apple Inc.", "facts": {"us-gaap": concepts}}).encode()


RESTATED = document(
    {
        "Assets": {"USD": [row(ANNUAL, 53851000000, "2009-09-26"), row(AMENDED, 47501000000, "2009-09-26")]},
        "EarningsPerShareDiluted": {
            "USD/shares": [
                row(ANNUAL, 6.29, "2009-09-26", "2008-09-28"),
                row(AMENDED, 9.08, "2009-09-26", "2008-09-28"),
            ]
        },
        "NetIncomeLoss": {"USD": [row(PROXY, 8235000000, "2009-09-26", "2008-09-28")]},
    }
)


@pytest.fixture
def ingest_documents(app: App, tmp_path: Path) -> Callable[..., list[Outcome]]:
    """Return a function that ingests documents, given as bytes or paths, in their order."""
    numbers = itertools.count()

    def ingest_into(*documents: bytes | Path, into: App = app) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for content in documents:
            path = content
            if isinstance(content, bytes):
                path = tmp_path / f"{next(numbers)}.json"
                path.write_bytes(content)
            assert isinstance(path, Path)
            options = IngestOptions(NFLX, "2010-10-27") if path == FILING else IngestOptions()
            ingest.run(into, [path], options, outcomes.append)
        return outcomes

    return ingest_into


def list_facts(app: App, cik: int = APPLE, **options: Any) -> list[FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, cik, **options)


def get_data_version(app: App) -> int:
    with app.db.read() as tx:
        return int(tx.find_value("data_version"))


def list_values(facts: Iterable[FiledFact]) -> list[tuple[str | None, str, str | None, str | None]]:
    return [(fact.value, fact.accession, fact.form, fact.filed) for fact in facts]


def test_a_restated_fact_does_not_replace_the_original(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(RESTATED)
    assert list_values(list_facts(app, concepts=["us-gaap:Assets"])) == [
        ("53851000000", *ANNUAL),
        ("47501000000", *AMENDED),
    ]


def test_both_vintages_of_a_per_share_fact_have_their_period(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(RESTATED)
    facts = list_facts(app, concepts=["us-gaap:EarningsPerShareDiluted"])
    assert [(fact.value, fact.start, fact.end, fact.unit) for fact in facts] == [
        ("6.29", "2008-09-28", "2009-09-26", "USD/shares"),
        ("9.08", "2008-09-28", "2009-09-26", "USD/shares"),
    ]


def test_a_fact_of_a_proxy_statement_has_its_form(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(RESTATED)
    assert [fact.form for fact in list_facts(app, concepts=["us-gaap:NetIncomeLoss"])] == ["DEF 14A"]


def test_as_of_hides_later_filings(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(RESTATED)
    assert [fact.value for fact in list_facts(app, as_of="2010-01-24")] == ["53851000000", "6.29"]
    assert len(list_facts(app, as_of="2010-01-25")) == 4


def test_the_same_document_again_changes_nothing(app: App, ingest_documents: Callable[..., Any]) -> None:
    assert [outcome.outcome for outcome in ingest_documents(RESTATED)] == ["ingested"]
    before = get_data_version(app)
    (again,) = ingest_documents(RESTATED)
    assert (again.outcome, again.reason) == ("unchanged", "all of its figures are stored already")
    assert get_data_version(app) == before


def test_the_same_facts_in_other_json_change_nothing(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(RESTATED)
    before = get_data_version(app)
    (again,) = ingest_documents(json.dumps(json.loads(RESTATED), indent=2).encode())
    assert (again.outcome, get_data_version(app)) == ("unchanged", before)


def test_a_later_copy_adds_facts_and_removes_none(app: App, ingest_documents: Callable[..., Any]) -> None:
    older = document({"Assets": {"USD": [row(ANNUAL, 53851000000, "2009-09-26")]}})
    newer = document({"Assets": {"USD": [row(AMENDED, 47501000000, "2009-09-26")]}})
    ingest_documents(older)
    before = get_data_version(app)
    assert [outcome.outcome for outcome in ingest_documents(newer)] == ["ingested"]
    assert get_data_version(app) == before + 1
    assert [fact.value for fact in list_facts(app)] == ["53851000000", "47501000000"]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_differing_copies_the_longer_text_is_stored(
    app: App, ingest_documents: Callable[..., Any], is_reversed: bool
) -> None:
    copies = [document({"Assets": {"USD": [row(ANNUAL, val, "2009-09-26")]}}) for val in (5.25, 5.251)]
    ingest_documents(*(reversed(copies) if is_reversed else copies))
    assert [fact.value for fact in list_facts(app)] == ["5.251"]


def test_a_document_without_facts_is_unchanged(app: App, ingest_documents: Callable[..., Any]) -> None:
    (outcome,) = ingest_documents(document({}))
    assert outcome.outcome == "unchanged"


def test_a_refused_document_stores_nothing(app: App, ingest_documents: Callable[..., Any]) -> None:
    before = get_data_version(app)
    (outcome,) = ingest_documents(RESTATED[:-2])
    assert outcome.outcome == "refused"
    assert outcome.kind == "companyfacts"
    assert "not JSON" in (outcome.reason or "")
    assert (list_facts(app), get_data_version(app)) == ([], before)


# ---- the same filing from several sources

NETFLIX = document(
    {
        "SalesRevenueServicesNet": {"USD": [row((NFLX, "10-Q", "2010-10-27"), 1, "2010-09-30", "2010-07-01")]},
        "Assets": {"USD": [row(("0001193125-10-036181", "10-K", "2010-02-22"), 679734000, "2009-12-31")]},
    },
    cik=1065280,
)


def test_xbrl_documents_hide_companyfacts(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(NETFLIX, FILING)
    facts = list_facts(app, 1065280)
    assert {fact.source for fact in facts if fact.accession == NFLX} == {"xbrl"}
    assert [fact.source for fact in facts if fact.accession != NFLX] == ["companyfacts"]
    assert "1" not in {fact.value for fact in facts}


def test_facts_do_not_depend_on_the_order_of_documents(
    make_app: Callable[..., App], ingest_documents: Callable[..., Any]
) -> None:
    results = []
    for order in itertools.permutations([NETFLIX, FILING, RESTATED]):
        app = make_app()
        ingest_documents(*order, into=app)
        results.append([(list_facts(app, cik), list_facts(app, cik, dimensioned=True)) for cik in (APPLE, 1065280)])
    assert all(result == results[0] for result in results)
    assert len(results[0][1][0]) == 18


def test_companyfacts_provide_an_unknown_filing_date(app: App, ingest_documents: Callable[..., Any]) -> None:
    outcomes: list[Outcome] = []
    ingest.run(app, [FILING], IngestOptions(NFLX), outcomes.append)
    assert list_facts(app, 1065280, as_of="2030-01-01") == []
    ingest_documents(NETFLIX)
    assert {fact.filed for fact in list_facts(app, 1065280) if fact.accession == NFLX} == {"2010-10-27"}


def test_facts_of_a_filing_have_their_dimensions(app: App, ingest_documents: Callable[..., Any]) -> None:
    ingest_documents(FILING)
    with app.db.read() as tx:
        ((_, facts),) = filed_facts.iter_facts_by_set(tx, filed_facts.list_fact_sets(tx, accession=NFLX))
        assert filed_facts.list_fact_sets(tx, accession="0000000000-00-000000") == []
    assert {fact.accession for fact in facts} == {NFLX}
    assert [fact for fact in facts if not fact.dims] == list_facts(app, 1065280)


def test_an_unknown_company_has_no_facts(app: App) -> None:
    assert list_facts(app, 1) == []
