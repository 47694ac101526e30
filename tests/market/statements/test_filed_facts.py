"""Facts of several sources and vintages: each kept with its filing, one of a filing, in any order of ingest."""

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
    """A companyfacts document of us-gaap concepts, each with its rows by unit."""
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
def put(app: App, tmp_path: Path) -> Callable[..., list[Outcome]]:
    """Ingests documents given as bytes, or paths, in their order."""
    numbers = itertools.count()

    def ingested(*documents: bytes | Path, into: App = app) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for one in documents:
            path = one
            if isinstance(one, bytes):
                path = tmp_path / f"{next(numbers)}.json"
                path.write_bytes(one)
            assert isinstance(path, Path)
            given = IngestOptions(NFLX, "2010-10-27") if path == FILING else IngestOptions()
            ingest.run(into, [path], given, outcomes.append)
        return outcomes

    return ingested


def of(app: App, cik: int = APPLE, **question: Any) -> list[FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, cik, **question)


def version(app: App) -> int:
    with app.db.read() as tx:
        return int(tx.find_value("data_version"))


def values(found: Iterable[FiledFact]) -> list[tuple[str | None, str, str | None, str | None]]:
    return [(fact.value, fact.accession, fact.form, fact.filed) for fact in found]


def test_restated_figure_is_kept_beside_the_first_with_its_accession(app: App, put: Callable[..., Any]) -> None:
    put(RESTATED)
    assert values(of(app, concepts=["us-gaap:Assets"])) == [("53851000000", *ANNUAL), ("47501000000", *AMENDED)]


def test_per_share_figures_before_and_after_are_both_there_with_their_period(app: App, put: Callable[..., Any]) -> None:
    put(RESTATED)
    found = of(app, concepts=["us-gaap:EarningsPerShareDiluted"])
    assert [(fact.value, fact.start, fact.end, fact.unit) for fact in found] == [
        ("6.29", "2008-09-28", "2009-09-26", "USD/shares"),
        ("9.08", "2008-09-28", "2009-09-26", "USD/shares"),
    ]


def test_figure_of_a_proxy_statement_says_its_form(app: App, put: Callable[..., Any]) -> None:
    put(RESTATED)
    assert [fact.form for fact in of(app, concepts=["us-gaap:NetIncomeLoss"])] == ["DEF 14A"]


def test_what_was_filed_later_is_hidden_from_as_of(app: App, put: Callable[..., Any]) -> None:
    put(RESTATED)
    assert [fact.value for fact in of(app, as_of="2010-01-24")] == ["53851000000", "6.29"]
    assert len(of(app, as_of="2010-01-25")) == 4


def test_same_document_again_changes_nothing(app: App, put: Callable[..., Any]) -> None:
    assert [one.outcome for one in put(RESTATED)] == ["ingested"]
    before = version(app)
    (again,) = put(RESTATED)
    assert (again.outcome, again.reason) == ("unchanged", "every figure of it is held already")
    assert version(app) == before


def test_same_figures_written_otherwise_change_nothing(app: App, put: Callable[..., Any]) -> None:
    put(RESTATED)
    before = version(app)
    (again,) = put(json.dumps(json.loads(RESTATED), indent=2).encode())
    assert (again.outcome, version(app)) == ("unchanged", before)


def test_later_copy_adds_what_is_new_and_keeps_what_it_lacks(app: App, put: Callable[..., Any]) -> None:
    older = document({"Assets": {"USD": [row(ANNUAL, 53851000000, "2009-09-26")]}})
    newer = document({"Assets": {"USD": [row(AMENDED, 47501000000, "2009-09-26")]}})
    put(older)
    before = version(app)
    assert [one.outcome for one in put(newer)] == ["ingested"]
    assert version(app) == before + 1
    assert [fact.value for fact in of(app)] == ["53851000000", "47501000000"]


@pytest.mark.parametrize("turned", [False, True])
def test_copies_that_differ_give_the_longer_text_in_any_order(app: App, put: Callable[..., Any], turned: bool) -> None:
    copies = [document({"Assets": {"USD": [row(ANNUAL, val, "2009-09-26")]}}) for val in (5.25, 5.251)]
    put(*(reversed(copies) if turned else copies))
    assert [fact.value for fact in of(app)] == ["5.251"]


def test_document_without_figures_is_held_already(app: App, put: Callable[..., Any]) -> None:
    (outcome,) = put(document({}))
    assert outcome.outcome == "unchanged"


def test_refused_document_leaves_nothing_behind(app: App, put: Callable[..., Any]) -> None:
    before = version(app)
    (outcome,) = put(RESTATED[:-2])
    assert outcome.outcome == "refused"
    assert outcome.kind == "companyfacts"
    assert "not JSON" in (outcome.reason or "")
    assert (of(app), version(app)) == ([], before)


# ---- the same filing from several sources

NETFLIX = document(
    {
        "SalesRevenueServicesNet": {"USD": [row((NFLX, "10-Q", "2010-10-27"), 1, "2010-09-30", "2010-07-01")]},
        "Assets": {"USD": [row(("0001193125-10-036181", "10-K", "2010-02-22"), 679734000, "2009-12-31")]},
    },
    cik=1065280,
)


def test_documents_of_a_filing_speak_instead_of_companyfacts(app: App, put: Callable[..., Any]) -> None:
    put(NETFLIX, FILING)
    found = of(app, 1065280)
    assert {fact.source for fact in found if fact.accession == NFLX} == {"xbrl"}
    assert [fact.source for fact in found if fact.accession != NFLX] == ["companyfacts"]
    assert "1" not in {fact.value for fact in found}


def test_any_order_of_documents_gives_the_same_facts(make_app: Callable[..., App], put: Callable[..., Any]) -> None:
    found = []
    for order in itertools.permutations([NETFLIX, FILING, RESTATED]):
        app = make_app()
        put(*order, into=app)
        found.append([(of(app, cik), of(app, cik, dimensioned=True)) for cik in (APPLE, 1065280)])
    assert all(one == found[0] for one in found)
    assert len(found[0][1][0]) == 18


def test_filing_date_of_companyfacts_is_the_filing_s_where_nothing_else_tells(
    app: App, put: Callable[..., Any]
) -> None:
    outcomes: list[Outcome] = []
    ingest.run(app, [FILING], IngestOptions(NFLX), outcomes.append)
    assert of(app, 1065280, as_of="2030-01-01") == []
    put(NETFLIX)
    assert {fact.filed for fact in of(app, 1065280) if fact.accession == NFLX} == {"2010-10-27"}


def test_facts_of_a_filing_have_their_dimensions(app: App, put: Callable[..., Any]) -> None:
    put(FILING)
    with app.db.read() as tx:
        ((_, found),) = filed_facts.iter_facts_by_set(tx, filed_facts.list_fact_sets(tx, accession=NFLX))
        assert filed_facts.list_fact_sets(tx, accession="0000000000-00-000000") == []
    assert {fact.accession for fact in found} == {NFLX}
    assert [fact for fact in found if not fact.dims] == of(app, 1065280)


def test_company_that_is_not_held_has_no_facts(app: App) -> None:
    assert of(app, 1) == []
