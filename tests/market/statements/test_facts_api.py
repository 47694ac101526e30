"""The endpoints of facts and of coverage: rows, pages, filters, tables, sums, refusals."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core import days
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents import filing_store, metadata
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.reference import companies
from finapi.market.statements import company_coverage, filed_facts
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql
from tests.support.statement_set_tables import ADSH, tables, write_zip

APPLE, OTHER, THIRD = 320193, 789019, 51143
FILING = Path(__file__).parents[2] / "filings" / "nflx-10q-20100930"
NFLX = "0001193125-10-999999"

ANNUAL = ("0001193125-09-214859", "10-K", "2009-10-27")
AMENDED = ("0001193125-10-012091", "10-K/A", "2010-01-25")
PROXY = ("0001193125-10-012999", "DEF 14A", "2010-01-26")


def row(filing: tuple[str, str, str], val: Any, end: str, start: str | None = None) -> dict[str, Any]:
    accession, form, filed = filing
    dates = {"end": end} if start is None else {"start": start, "end": end}
    return {**dates, "val": val, "accn": accession, "form": form, "filed": filed}


def document(cik: int, name: str, **concepts: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    tags = {concept: {"units": units} for concept, units in concepts.items()}
    return {"cik": cik, "entityName": name, "facts": {"us-gaap": tags}}


YEAR = ("2009-09-26", "2008-09-28")
DOCUMENTS = (
    document(
        APPLE,
        "Apple Inc.",
        Assets={"USD": [row(ANNUAL, 53851000000, "2009-09-26"), row(AMENDED, 47501000000, "2009-09-26")]},
        NetIncomeLoss={
            "USD": [row(ANNUAL, 5704000000, *YEAR), row(AMENDED, 8235000000, *YEAR), row(PROXY, 8200000000, *YEAR)]
        },
        EarningsPerShareDiluted={"USD/shares": [row(ANNUAL, 6.29, *YEAR)]},
    ),
    document(
        OTHER,
        "Other Corp",
        NetIncomeLoss={"USD": [row(("0000789019-09-000001", "10-K", "2009-07-30"), 1000, "2009-06-30", "2008-07-01")]},
        Assets={"USD": [row(("0000789019-09-000001", "10-K", "2009-07-30"), 77888, "2009-06-30")]},
    ),
    document(
        THIRD,
        "Third AG",
        NetIncomeLoss={"EUR": [row(("0000051143-10-000001", "20-F", "2010-03-01"), 7, "2009-12-31", "2009-01-01")]},
    ),
)


def ingest_files(app: App, *paths: Path, options: IngestOptions | None = None) -> None:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, options or IngestOptions(), outcomes.append)
    assert {outcome.outcome for outcome in outcomes} <= {"ingested", "skipped"}, outcomes


Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the documents as files."""
    directory = tmp_path_factory.mktemp("documents")
    for number, content in enumerate(DOCUMENTS):
        (directory / f"{number}.json").write_text(json.dumps(content))
    write_zip(directory / "q.zip", tables())
    return directory


@pytest.fixture(scope="module")
def stored(make_stored: Callable[..., App], folder: Path) -> App:
    app = make_stored()
    ingest_files(app, *(folder / f"{number}.json" for number in range(len(DOCUMENTS))))
    ingest_files(app, folder / "q.zip")
    ingest_files(app, FILING, options=IngestOptions(NFLX, "2010-10-27"))
    with app.db.write() as tx:
        companies.upsert_tickers(tx, APPLE, [("AAPL", None)], companies.FROM_LIST)
        companies.update_attributes(tx, APPLE, CompanyAttributes(3571), 1, "")
    return app


@pytest.fixture
def app(copied: Callable[..., App], stored: App) -> App:
    return copied(stored)


@pytest.fixture
def ask(client: Client, user: NewUser) -> Ask:
    """Return a function that calls a path under /api/v1 and checks the answer against its published schema."""
    client.key = user.api_key

    def asked(path: str, method: str = "GET", **options: Any) -> Answer:
        answer = client.call(method, f"/api/v1{path}", **options)
        if answer.status == 200 and "json" in answer.headers["content-type"]:
            shapes = [
                route.schema
                for route in ROUTES
                if route.path.split("{")[0] in f"/api/v1{path}" and route.method == method and route.shape
            ]
            problems = [list(Draft202012Validator(shape).iter_errors(answer.json)) for shape in shapes]
            assert [] in problems, problems
        return answer

    return asked


# ---- /xbrl/facts


def test_facts_of_a_filing_have_all_members(ask: Ask) -> None:
    answer = ask("/xbrl/facts", query={"accession": ANNUAL[0], "tag": "EarningsPerShareDiluted"})
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "10")
    assert answer.json["data"] == [
        {
            "accession_no": ANNUAL[0],
            "cik": "0000320193",
            "form_type": "10-K",
            "filed_at": "2009-10-27",
            "taxonomy": "us-gaap",
            "concept": "EarningsPerShareDiluted",
            "value": 6.29,
            "mark": None,
            "decimals": None,
            "unit": "USD/shares",
            "period": {"startDate": "2008-09-28", "endDate": "2009-09-26"},
            "dimensions": [],
            "is_extension": False,
            "source": "companyfacts",
        }
    ]
    assert answer.json["meta"]["pagination"] == {"limit": 100, "offset": 0, "has_more": False}


def test_facts_of_a_company_are_the_last_filed_first(ask: Ask) -> None:
    answer = ask("/xbrl/facts", query={"cik": "320193", "tag": "us-gaap:NetIncomeLoss"})
    assert [(fact["value"], fact["form_type"]) for fact in answer.json["data"]] == [
        (8200000000, "DEF 14A"),
        (8235000000, "10-K/A"),
        (5704000000, "10-K"),
    ]


def test_facts_filed_after_as_of_are_hidden(ask: Ask) -> None:
    query = {"cik": "320193", "tag": "Assets"}
    assert [fact["value"] for fact in ask("/xbrl/facts", query=query).json["data"]] == [47501000000, 53851000000]
    before = ask("/xbrl/facts", query=query | {"as_of": "2010-01-24"})
    assert [fact["value"] for fact in before.json["data"]] == [53851000000]


def test_pages_of_facts_state_if_there_are_more(ask: Ask) -> None:
    all_facts = ask("/xbrl/facts", query={"accession": NFLX}).json["data"]
    assert len(all_facts) > 4
    paged_facts = []
    for offset in range(0, len(all_facts), 4):
        page = ask("/xbrl/facts", query={"accession": NFLX, "limit": "4", "offset": str(offset)}).json
        paged_facts += page["data"]
        assert page["meta"]["pagination"]["has_more"] == (offset + 4 < len(all_facts))
    assert paged_facts == all_facts


def test_facts_with_dimensions_are_found_by_axis_and_member(ask: Ask) -> None:
    everything = ask("/xbrl/facts", query={"accession": ADSH}).json["data"]
    consolidated = ask("/xbrl/facts", query={"accession": ADSH, "consolidated_only": "true"}).json["data"]
    assert [fact["dimensions"] for fact in everything if fact not in consolidated] == [
        [{"axis": "BusinessSegments", "member": "Trading"}]
    ]
    for dims, count in (("BusinessSegments", 1), ("BusinessSegments=Trading", 1), ("BusinessSegments=No", 0)):
        assert len(ask("/xbrl/facts", query={"accession": ADSH, "dims": dims}).json["data"]) == count


def test_conflicting_values_of_facts_with_dimensions_are_returned(app: App, ask: Ask) -> None:
    with app.db.write() as tx:
        for seq, value in ((1, "7.5"), (2, "-3")):
            run_sql(
                tx,
                "INSERT INTO fact_conflicts "
                "SELECT fact_set_id, dimension_id, concept_id, end_day, days, unit_id, :seq, :value FROM facts "
                "JOIN fact_sets ON fact_sets.id = fact_set_id JOIN filings ON filings.id = filing_id "
                "WHERE dimension_id > 0 AND accession = :accession",
                {"seq": seq, "value": value, "accession": ADSH},
            )
    facts = ask("/xbrl/facts", query={"accession": ADSH}).json["data"]
    assert [fact["conflicting_values"] for fact in facts if fact["dimensions"]] == [[7.5, -3]]
    assert all("conflicting_values" not in fact for fact in facts if not fact["dimensions"])


def test_custom_tags_are_marked_and_nil_is_null(ask: Ask) -> None:
    (custom_fact,) = ask("/xbrl/facts", query={"accession": ADSH, "tag": "OwnThing"}).json["data"]
    assert (custom_fact["taxonomy"], custom_fact["value"], custom_fact["is_extension"]) == ("ext", None, True)
    assert custom_fact["mark"] == {"status": "nil", "reason": "reported_nil"}


def test_decimals_are_those_of_the_documents(ask: Ask) -> None:
    facts = ask("/xbrl/facts", query={"accession": NFLX}).json["data"]
    assert {fact["decimals"] for fact in facts} >= {-3}
    assert {fact["source"] for fact in facts} == {"xbrl"}


def test_replaced_reports_are_left_out_unless_requested(app: App, ask: Ask) -> None:
    with app.db.write() as tx:
        for accession in (ANNUAL[0], AMENDED[0]):
            parties = (metadata.Party(APPLE, metadata.LISTED_RANK),)
            amendment = metadata.FilingMetadata(
                accession, metadata.SUBMISSIONS_EVIDENCE, parties, period_of_report="2009-09-26"
            )
            filing_store.upsert(tx, amendment, NOW)
        tx.run("bump_data_version")
    query = {"cik": "320193", "tag": "Assets"}
    assert [fact["value"] for fact in ask("/xbrl/facts", query=query).json["data"]] == [47501000000]
    both = ask("/xbrl/facts", query=query | {"amendments": "all"}).json["data"]
    assert [fact["value"] for fact in both] == [47501000000, 53851000000]


@run_each_case(
    "query, status, code",
    [
        ({}, 400, "INVALID_PARAM"),
        ({"cik": "x"}, 400, "INVALID_PARAM"),
        ({"cik": "0"}, 400, "INVALID_PARAM"),
        ({"accession": "1"}, 400, "INVALID_PARAM"),
        ({"cik": "320193", "offset": "-1"}, 400, "INVALID_PARAM"),
        ({"cik": "320193", "offset": "1000000000"}, 400, "INVALID_PARAM"),
        ({"cik": "320193", "amendments": "none"}, 400, "INVALID_PARAM"),
        ({"cik": "1"}, 404, "NOT_FOUND"),
        ({"accession": "0000000000-00-000000"}, 404, "NOT_FOUND"),
    ],
)
def test_invalid_queries_for_facts_are_refused_for_free(
    ask: Ask, query: dict[str, str], status: int, code: str
) -> None:
    answer = ask("/xbrl/facts", query=query)
    assert (answer.status, answer.json["code"], answer.headers["x-tokens-charged"]) == (status, code, "0")


def test_facts_are_served_as_a_table(ask: Ask) -> None:
    answer = ask("/xbrl/facts", query={"cik": "320193", "tag": "Assets", "limit": "1"}, headers={"Accept": "text/csv"})
    (only,) = csv.DictReader(io.StringIO(answer.body.decode()))
    assert (only["concept"], only["value"], only["accession_no"]) == ("Assets", "47501000000", AMENDED[0])
    assert answer.headers["x-has-more"] == "true"


# ---- /facts


def test_figures_of_a_company_are_counted_and_paged(ask: Ask) -> None:
    answer = ask("/facts", query={"ticker": "aapl", "limit": "2", "offset": "1", "date_from": "2009-01-01"})
    assert answer.json["meta"] == {
        "total": 6,
        "limit": 2,
        "offset": 1,
        "has_more": True,
        "date_from": "2009-01-01",
        "date_to": None,
        "undated_left_out": 0,
        "clamped": {},
    }
    assert answer.json["data"][0] == {
        "concept_qualified_name": "us-gaap:Assets",
        "value": 47501000000,
        "mark": None,
        "unit": "USD",
        "period_start": None,
        "period_end": "2009-09-26",
        "accession_number": AMENDED[0],
        "form_type": "10-K/A",
        "filed_at": "2010-01-25",
    }


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/facts", {}),
        ("/facts", {"date_to": "2009-09-26", "concept": "Assets,NetIncomeLoss"}),
        ("/xbrl/facts", {}),
        ("/xbrl/facts", {"tag": "NetIncomeLoss"}),
    ],
)
def test_a_later_page_only_counts_the_filings_before_it(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, path: str, query: dict[str, str]
) -> None:
    company = {"ticker": "AAPL"} if path == "/facts" else {"cik": "320193"}
    all_facts = ask(path, query=company | query).json["data"]
    read_sets, of_sets = [], filed_facts.iter_facts_by_set

    def seen(tx: Any, sets: Any, **options: Any) -> Any:
        read_sets.extend(sets)
        return of_sets(tx, sets, **options)

    monkeypatch.setattr(filed_facts, "iter_facts_by_set", seen)
    last = ask(path, query=company | query | {"offset": str(len(all_facts) - 1)}).json
    assert last["data"] == all_facts[-1:]
    assert len(read_sets) == 1
    assert ask(path, query=company | query | {"offset": str(len(all_facts))}).json["data"] == []
    assert len(read_sets) == 1


@run_each_case(
    "query, count",
    [
        ({"form_type": "10-k"}, 3),
        ({"concept": "Assets,NetIncomeLoss"}, 5),
        ({"date_from": "2009-09-27"}, 0),
        ({"date_to": "2009-09-26"}, 6),
        ({"accession_number": ANNUAL[0].replace("-", "")}, 3),
    ],
)
def test_facts_are_filtered(ask: Ask, query: dict[str, str], count: int) -> None:
    assert ask("/facts", query={"ticker": "AAPL"} | query).json["meta"]["total"] == count


def test_facts_without_a_company_or_filing_are_refused(ask: Ask) -> None:
    assert ask("/facts").json["details"]["param"] == "ticker"
    assert ask("/facts", query={"ticker": "NOPE"}).json["code"] == "UNKNOWN_TICKER"


# ---- /facts/by-concept


def test_concept_over_all_companies_is_the_latest_period_first(ask: Ask) -> None:
    answer = ask("/facts/by-concept", query={"concept": "NetIncomeLoss"})
    assert answer.json["concept"] == "us-gaap:NetIncomeLoss"
    assert [(fact["cik"], fact["ticker"], fact["value"]) for fact in answer.json["facts"]] == [
        ("0000051143", None, 7),
        ("0000320193", "AAPL", 5704000000),
        ("0000320193", "AAPL", 8235000000),
        ("0000320193", "AAPL", 8200000000),
        ("0000789019", None, 1000),
    ]
    page = {"total": 5, "limit": 100, "offset": 0, "has_more": False}
    assert answer.json["meta"].items() >= page.items()


def test_the_limit_does_not_change_the_total(ask: Ask) -> None:
    all_facts = ask("/facts/by-concept", query={"concept": "NetIncomeLoss"}).json["facts"]
    for limit in range(1, 6):
        answer = ask("/facts/by-concept", query={"concept": "NetIncomeLoss", "limit": str(limit)})
        assert answer.json["facts"] == all_facts[:limit]
        assert answer.json["meta"]["total"] == 5


@pytest.mark.parametrize("ticker", [{}, {"ticker": "AAPL"}])
def test_the_figures_of_a_concept_are_paged_to_their_end(ask: Ask, ticker: dict[str, str]) -> None:
    query = {"concept": "NetIncomeLoss", **ticker}
    all_facts = ask("/facts/by-concept", query=query).json["facts"]
    for limit in (1, 2, 3, 5):
        rows: list[Any] = []
        has_more = True
        while has_more:
            answer = ask("/facts/by-concept", query={**query, "limit": str(limit), "offset": str(len(rows))}).json
            rows += answer["facts"]
            has_more = answer["meta"]["has_more"]
        assert rows == all_facts
    beyond = ask("/facts/by-concept", query={**query, "offset": "99"}).json
    assert (beyond["facts"], beyond["meta"]["has_more"], beyond["meta"]["total"]) == ([], False, len(all_facts))


def test_concept_of_a_company_between_two_days(ask: Ask) -> None:
    query = {"concept": "us-gaap:Assets", "ticker": "AAPL"}
    assert [fact["value"] for fact in ask("/facts/by-concept", query=query).json["facts"]] == [53851000000, 47501000000]
    assert ask("/facts/by-concept", query=query | {"date_to": "2009-01-01"}).json["meta"]["total"] == 0
    everyone = {"concept": "us-gaap:Assets", "date_from": "2009-07-01"}
    assert ask("/facts/by-concept", query=everyone).json["meta"]["total"] == 2


def test_a_concept_without_facts_is_not_found(ask: Ask) -> None:
    assert ask("/facts/by-concept", query={"concept": "us-gaap:Nothing"}).json["code"] == "NOT_FOUND"
    assert ask("/facts/by-concept").json["code"] == "INVALID_PARAM"


# ---- /facts/aggregate


def get_sum(ask: Ask, **body: Any) -> Answer:
    return ask("/facts/aggregate", "POST", json={"concept": "NetIncomeLoss", "period": "2009", **body})


def test_a_sum_uses_the_unit_of_most_companies(ask: Ask) -> None:
    """Apple's figure is that of the last periodic report and not of the proxy statement; euros are another sum."""
    answer = get_sum(ask)
    assert answer.json["aggregates"] == {
        "sum": 8235000000,
        "avg": 8235000000,
        "median": 8235000000,
        "count": 1,
        "min": 8235000000,
        "max": 8235000000,
    }
    assert answer.json["meta"] == {
        "sector": None,
        "tickers": [],
        "period": "2009",
        "dominant_unit": "USD",
        "excluded_count": 1,
    }


def test_a_year_may_be_a_number(ask: Ask) -> None:
    assert get_sum(ask, period=2009).json["aggregates"] == get_sum(ask).json["aggregates"]


def test_sums_of_balances_take_the_nearest_quarter(ask: Ask) -> None:
    answer = get_sum(ask, concept="Assets", period="2009Q2")
    assert (answer.json["aggregates"]["count"], answer.json["aggregates"]["sum"]) == (2, 889544077888)
    assert get_sum(ask, concept="Assets", period="CY2009-Q3").json["aggregates"]["sum"] == 47501000000


def test_sums_are_filtered_by_tickers_and_sector(ask: Ask) -> None:
    assert get_sum(ask, tickers=["AAPL"]).json["aggregates"]["sum"] == 8235000000
    assert get_sum(ask, sector="Manufacturing").json["meta"]["sector"] == "Manufacturing"
    assert get_sum(ask, sector="Manufacturing").json["aggregates"]["count"] == 1
    assert get_sum(ask, sector="technology").json["meta"]["sector"] == "Technology"
    assert get_sum(ask, sector="technology").json["aggregates"]["count"] == 1
    assert get_sum(ask, sector="Energy").json["aggregates"]["count"] == 0
    assert get_sum(ask, sector="A").json["aggregates"] == {
        "sum": None,
        "avg": None,
        "median": None,
        "count": 0,
        "min": None,
        "max": None,
    }


@run_each_case(
    "body",
    [
        {"period": "last year"},
        {"period": "2009Q5"},
        {"period": 2009.5},
        {"period": None},
        {"tickers": ["NOPE"]},
        {"tickers": "AAPL"},
        {"sector": "Wizardry"},
        {"concept": ""},
    ],
)
def test_invalid_sums_are_refused(ask: Ask, body: dict[str, Any]) -> None:
    answer = get_sum(ask, **body)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")


@pytest.mark.parametrize(
    ("year", "quarter", "first", "last"),
    [
        (2023, None, "2023-07-02", "2024-07-01"),
        (2023, 1, "2023-02-15", "2023-05-15"),
        (2023, 4, "2023-11-15", "2024-02-14"),
    ],
)
def test_the_middle_of_a_period_decides_its_calendar_period(
    year: int, quarter: int | None, first: str, last: str
) -> None:
    begin, end = filed_facts.compute_end_days(year, quarter)
    assert (days.iso(begin), days.iso(end)) == (first, last)


# ---- coverage


def test_index_lists_the_sections_of_a_filing(ask: Ask) -> None:
    answer = ask(f"/xbrl/filing/{NFLX}/index")
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "5")
    data = answer.json["data"]
    assert (data["accession_no"], data["form_type"], data["packaging"], data["is_current"]) == (
        NFLX,
        "10-Q",
        "xbrl",
        True,
    )
    assert answer.json["meta"] == {
        "report_count": len(data["reports"]),
        "assembled_count": len(data["assembled_statements"]),
    }
    slots = {section["slot"] for section in data["assembled_statements"]}
    assert slots >= {"StatementsOfIncome"} or slots >= {"StatementsOfFinancialPosition"}
    assert {section["menu_category"] for section in data["reports"] if section["statement_slot"]} == {"Statements"}


def test_index_of_a_filing_of_the_data_sets_has_no_roles(ask: Ask) -> None:
    data = ask(f"/xbrl/filing/{ADSH.replace('-', '')}/index").json["data"]
    assert data["packaging"] == "fsds"
    assert [section["slot"] for section in data["assembled_statements"]] == [
        "StatementsOfFinancialPosition",
        "StatementsOfIncome",
        "StatementsOfCashFlows",
    ]
    assert {section["role_uri"] for section in data["reports"]} == {None}


def test_index_of_an_unknown_filing_is_not_found(ask: Ask) -> None:
    assert ask("/xbrl/filing/0000000000-00-000000/index").json["code"] == "NOT_FOUND"
    assert ask("/xbrl/filing/nonsense/index").json["code"] == "INVALID_PARAM"


def test_coverage_lists_the_documents_of_a_company(ask: Ask) -> None:
    answer = ask("/xbrl/coverage", query={"ticker": "AAPL"})
    assert answer.headers["x-tokens-charged"] == "1"
    assert answer.json["data"] == {
        "ticker": "AAPL",
        "company_name": "Apple Inc.",
        "cik": "0000320193",
        "covered": True,
        "phase": "figures",
        "stratum": "companyfacts",
        "filings_indexed": 3,
        "filings_total": 3,
        "first_period": "2009-09-26",
        "last_period": "2009-09-26",
        "companies": [{"ticker": "AAPL", "company_name": "Apple Inc.", "cik": "0000320193", "filings_indexed": 3}],
    }


def test_coverage_of_a_company_without_figures_is_listed(app: App, ask: Ask) -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, 99, "Quiet Corp", companies.FROM_COVER, "")
    data = ask("/xbrl/coverage", query={"ticker": "99"}).json["data"]
    assert (data["covered"], data["phase"], data["stratum"], data["first_period"]) == (False, "listed", None, None)
    assert ask("/xbrl/coverage", query={"ticker": "NOPE"}).json["code"] == "UNKNOWN_TICKER"


def test_the_status_of_the_data_needs_no_key(app: App, ask: Ask) -> None:
    answer = Client(app).get("/api/v1/financials/status", headers={})
    assert answer.json["data"] == {
        "counts": {"companies": 5, "filings": 7, "facts": 45, "insider_transactions": 0, "holdings": 0, "prices": 0},
        "last_filing_at": "2026-01-31T12:00:00.000Z",
        "last_xbrl_run_at": "2026-01-31T12:00:00.000Z",
        "data_version": 5,
    }
    assert answer.headers["x-ratelimit-limit"] == "30"
    assert "x-tokens-charged" not in answer.headers


def test_the_status_of_an_empty_database_is_empty(make_app: Callable[..., App]) -> None:
    data = Client(make_app()).get("/api/v1/financials/status").json["data"]
    assert set(data["counts"].values()) == {0}
    assert (data["last_filing_at"], data["last_xbrl_run_at"]) == (None, None)


def test_coverage_of_everything_counts_companies(ask: Ask) -> None:
    answer = ask("/xbrl/coverage")
    assert (answer.json["data"]["filings_indexed"], answer.json["meta"]) == (
        7,
        {"companies": 5, "limit": 1_000, "offset": 0, "has_more": False},
    )
    rows = ask("/xbrl/coverage", query={"limit": 2, "offset": 3}).json
    assert ([row["filings_indexed"] for row in rows["data"]["companies"]], rows["meta"]["has_more"]) == ([1, 1], False)


@run_each_case(
    "text, expected",
    [
        ("aapl", ["Apple Inc."]),
        ("apple", ["Apple Inc."]),
        ("320193", ["Apple Inc."]),
        ("0000320193", ["Apple Inc."]),
        ("corp", ["Other Corp"]),
        ("goldman  SACHS", ["GOLDMAN SACHS GROUP INC"]),
        ("%", []),
        ("*", []),
        ("[a-z]", []),
        ("' OR 1=1 --", []),
    ],
)
def test_companies_are_found_by_ticker_name_and_cik(ask: Ask, text: str, expected: list[str]) -> None:
    answer = ask("/xbrl/search", query={"q": text})
    assert [match["company"] for match in answer.json["data"]] == expected
    assert answer.json["meta"] == {"count": len(expected), "query": text}


def test_a_company_with_several_tickers_is_found_once(app: App, ask: Ask) -> None:
    with app.db.write() as tx:
        companies.upsert_tickers(tx, APPLE, [("AAPL", None), ("AAPL-B", None)], companies.FROM_LIST)
    assert [match["ticker"] for match in ask("/xbrl/search", query={"q": "aapl"}).json["data"]] == ["AAPL"]


def test_a_company_with_figures_comes_before_one_without(app: App, ask: Ask) -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, 1418121, "Apple Hospitality REIT", companies.FROM_COVER, "")
    matches = ask("/xbrl/search", query={"q": "apple"}).json["data"]
    assert [match["company"] for match in matches] == ["Apple Inc.", "Apple Hospitality REIT"]


def test_search_without_words_is_refused(ask: Ask) -> None:
    assert ask("/xbrl/search").json["details"]["param"] == "q"


# ---- order, and answers that stand


def test_the_order_of_ingest_does_not_change_answers(make_app: Callable[..., App], tmp_path: Path) -> None:
    for number, content in enumerate(DOCUMENTS):
        (tmp_path / f"{number}.json").write_text(json.dumps(content))
    paths = [*(tmp_path / f"{number}.json" for number in range(3)), write_zip(tmp_path / "q.zip", tables())]
    answers = []
    for order in (paths, paths[::-1], paths[2:] + paths[:2]):
        app = make_app()
        ingest_files(app, *order)
        with app.db.read() as tx:
            concept, _ = filed_facts.get_concept(tx, "NetIncomeLoss")
            across = filed_facts.list_concept_facts(tx, concept, first=None, last=None, limit=10)
            sums = filed_facts.aggregate_concept(tx, concept, (2009, None), (), None)
            coverages = [company_coverage.get_coverage(tx, cik) for cik in (APPLE, OTHER, THIRD)]
            sets = filed_facts.list_fact_sets(tx, accession=None, cik=APPLE, as_of=None, amendments="current")
            page = filed_facts.list_fact_page(tx, sets, filed_facts.FactFilters(dimensioned=True), limit=10, offset=0)
            answers.append((across, sums, coverages, page, company_coverage.search_companies(tx, "co", 5, 0)))
    assert answers[0] == answers[1] == answers[2]


def test_an_answer_is_cached_until_something_is_ingested(app: App, ask: Ask, folder: Path) -> None:
    first = ask("/xbrl/coverage", query={"ticker": "AAPL"})
    take_again: list[Outcome] = []
    ingest.run(app, [folder / "0.json", folder / "q.zip"], IngestOptions(), take_again.append)
    assert {outcome.outcome for outcome in take_again} == {"unchanged"}
    again = ask("/xbrl/coverage", query={"ticker": "AAPL"}, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.headers["x-tokens-charged"]) == (304, "0")
