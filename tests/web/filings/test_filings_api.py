"""The endpoints of filings, forms and entities: filters, pages, documents, and missing data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.edgar import sgml, submissions
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.filings import filing_search, lists
from finapi.market.reference import companies
from tests.client import Answer, Client
from tests.market.documents.test_filing_store import FULL
from tests.market.documents.test_filing_store import submissions as submissions_json
from tests.support.case_tables import run_each_case

LAMP, RIVER, ANN = 1750, 1751, 900
PATH = "/api/v1/sec/filings"


def build_metadata(number: int, cik: int, form: str, day: str | None, **values: Any) -> FilingMetadata:
    parties = values.pop("parties", [Party(cik, metadata.LISTED_RANK)])
    return FilingMetadata(f"{cik:010}-25-{number:06}", metadata.SUBMISSIONS_EVIDENCE, parties, form, day, **values)


TOLD = (
    build_metadata(
        1,
        LAMP,
        "10-K",
        "2025-02-01",
        period_of_report="2024-12-31",
        primary_document="a b.htm",
        size=1234,
        accepted_at="2025-02-01T21:00:00.000Z",
        description="ANNUAL REPORT",
    ),
    build_metadata(2, LAMP, "8-K", "2025-03-01", items="2.02,9.01"),
    build_metadata(3, LAMP, "8-K", "2025-03-02", items="5.02"),
    build_metadata(4, LAMP, "10-K/A", "2025-03-02"),
    build_metadata(5, RIVER, "8-K", "2025-03-02", items="9.01"),
    build_metadata(6, RIVER, "4", "2025-03-03", parties=[Party(RIVER, 0, "River Corp"), Party(ANN, 7, "DOE ANN")]),
    build_metadata(7, RIVER, "10-Q", None),
)
NEWEST = ["-000006", "-000005", "-000004", "-000003", "-000002", "-000001", "-000007"]


@pytest.fixture
def ask(app: App, client: Client, user: NewUser) -> Any:
    with app.db.write() as tx:
        for cik, name, ticker in ((LAMP, "Lamp Corp", "LMP-B"), (RIVER, "River Corp", "RVR")):
            companies.upsert_name(tx, cik, name, companies.FROM_COVER, "")
            companies.upsert_tickers(tx, cik, [(ticker, None)], companies.FROM_LIST)
        companies.insert_former_name(tx, LAMP, "Old Lamp Co", "1994-01-01", "2001-01-01")
        for filing in TOLD:
            filing_store.upsert(tx, filing, app.clock.now())
        tx.run("bump_data_version")
    client.key = user.api_key
    return lambda path="", **query: client.get(PATH + path, query=query)


def numbers(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.json
    return [row["accession_number"][-7:] for row in answer.json["data"]]


# ---- the list


def test_form_pattern_that_matches_nothing_is_refused(ask: Any) -> None:
    assert numbers(ask(form_type="10-K*")) == ["-000004", "-000001"]
    assert numbers(ask(form_type="10-*,4")) == ["-000006", "-000004", "-000001", "-000007"]
    for wrong in ("XX-9", "XX*", "10-KK"):
        answer = ask(form_type=wrong)
        assert answer.verdict[:2] == (400, "INVALID_PARAM")
        assert answer.json["details"]["param"] == "form_type"
    assert "10-K" in answer.json["message"]
    assert ask(form_type="*").status == 400  # more forms than one question may name


@pytest.mark.parametrize("path", ["/sec/entities?form_type=XX-9", "/facts?ticker=1750&form_type=XX-9"])
def test_unknown_form_is_refused_by_every_call(ask: Any, client: Client, path: str) -> None:
    answer = client.get(f"/api/v1{path}")
    assert (answer.verdict[:2], answer.json["details"]["param"]) == ((400, "INVALID_PARAM"), "form_type")
    assert client.get(f"/api/v1{path}".replace("XX-9", "10-K")).status in (200, 404)


def test_unknown_item_is_refused(ask: Any) -> None:
    assert numbers(ask(items="2.02")) == ["-000002"]
    for wrong in ("2.2", "2.02x", "results", "99", "9.99", "07", "06x", "3D", "3C.0"):
        answer = ask(items=wrong)
        assert (answer.verdict[:2], answer.json["details"]["param"]) == ((400, "INVALID_PARAM"), "items")


def test_filings_are_found_by_the_items_of_other_forms(ask: Any, app: App) -> None:
    with app.db.write() as tx:
        for number, form, items in ((9, "D", "06b,3C,3C.7"), (10, "SD", "1.01,1.02"), (11, "ABS-15G", "1.02")):
            filing_store.upsert(tx, build_metadata(number, LAMP, form, "2025-03-05", items=items), app.clock.now())
        tx.run("bump_data_version")
    assert numbers(ask(items="06b")) == numbers(ask(items="3C.7")) == ["-000009"]
    assert numbers(ask(items="1.02")) == ["-000011", "-000010"]
    assert numbers(ask(items="1.01", form_type="SD")) == ["-000010"]
    assert numbers(ask(items="3C.9")) == []


def test_depositors_and_securitizers_have_their_roles(ask: Any, app: App) -> None:
    parties = [
        Party(LAMP, metadata.PARTY_RANKS["depositor"], "Lamp Corp"),
        Party(RIVER, metadata.PARTY_RANKS["securitizer"], None),
    ]
    with app.db.write() as tx:
        filing_store.upsert(tx, build_metadata(9, LAMP, "ABS-15G", "2025-03-05", parties=parties), app.clock.now())
        tx.run("bump_data_version")
    filing_parties = ask("/0000001750-25-000009").json["data"]["parties"]
    assert [party["role"] for party in filing_parties] == ["depositor", "securitizer"]


def test_newest_first_and_undated_last(ask: Any) -> None:
    answer = ask()
    assert numbers(answer) == NEWEST
    assert answer.json["meta"]["pagination"] == {
        "total": 7,
        "total_exact": True,
        "limit": 50,
        "offset": 0,
        "has_more": False,
        "next_cursor": None,
    }
    assert answer.headers["x-tokens-charged"] == "5"


def test_filing_has_all_its_members(ask: Any) -> None:
    row = ask(form_type="10-K").json["data"][0]
    folder = "https://www.sec.gov/Archives/edgar/data/1750/000000175025000001"
    assert row == {
        "id": 175025000001,
        "accession_number": "0000001750-25-000001",
        "ticker": "LMP-B",
        "form_type": "10-K",
        "cik": "0000001750",
        "entity_name": "Lamp Corp",
        "company_name": "Lamp Corp",
        "title": "10-K - Lamp Corp (0000001750)",
        "filing_size": "1234",
        "filed_date": "2025-02-01",
        "filed_at": "2025-02-01",
        "accepted_at": "2025-02-01T21:00:00.000Z",
        "updated_at": "2026-01-31T12:00:00.000Z",
        "primary_link": f"{folder}/0000001750-25-000001-index.htm",
        "primary_html_url": f"{folder}/a%20b.htm",
        "primary_description": "ANNUAL REPORT",
        "document_files": [],
        "data_files": [],
        "items": [],
        "period_of_report": "2024-12-31",
        "sic": None,
        "all_links": [f"{folder}/0000001750-25-000001-index.htm", f"{folder}/a%20b.htm"],
        "is_xbrl": None,
        "first_seen_at": "2026-01-31T12:00:00.000Z",
        "last_seen_at": "2026-01-31T12:00:00.000Z",
    }


@run_each_case(
    "query, expected",
    [
        ({"ticker": "lmp.b"}, ["-000004", "-000003", "-000002", "-000001"]),
        ({"ticker": "LMP-B,RVR"}, NEWEST),
        ({"ticker": "900"}, ["-000006"]),
        ({"cik": "1750,0000001751"}, NEWEST),
        ({"cik": "1751", "ticker": "LMP-B"}, []),
        ({"cik": "1751", "ticker": "LMP-B,RVR"}, ["-000006", "-000005", "-000007"]),
        ({"form_type": "10-K"}, ["-000001"]),
        ({"form_type": "10-k/a,10-K"}, ["-000004", "-000001"]),
        ({"form_type": "S-1"}, []),
        ({"items": "9.01"}, ["-000005", "-000002"]),
        ({"items": "2.02,5.02"}, ["-000003", "-000002"]),
        ({"items": "9.01", "cik": "1750"}, ["-000002"]),
        ({"items": "9.01", "form_type": "10-K"}, []),
        ({"from_date": "2025-03-02"}, ["-000006", "-000005", "-000004", "-000003"]),
        ({"to_date": "2025-02-28"}, ["-000001"]),
        # Filed on an unknown day, which is neither before nor after any day.
        ({"to_date": "2025-02-28", "sort": "filed_date:asc"}, ["-000001"]),
        ({"from_date": "2025-03-01", "to_date": "2025-03-01"}, ["-000002"]),
        ({"form_type": "8-K", "cik": "1750", "items": "5.02", "from_date": "2025-03-02"}, ["-000003"]),
        ({"sort": "filed_date:asc"}, NEWEST[::-1]),
        ({"sort": "filed_at:asc", "form_type": "8-K"}, ["-000002", "-000003", "-000005"]),
    ],
)
def test_each_filter_alone_and_combined(ask: Any, query: dict[str, str], expected: list[str]) -> None:
    answer = ask(**query)
    assert numbers(answer) == expected
    assert answer.json["meta"]["pagination"]["total"] == len(expected)


def walk_pages(ask: Any, **query: Any) -> Iterator[str]:
    cursor: dict[str, str] = {}
    while True:
        answer = ask(**query, **cursor)
        yield from numbers(answer)
        paging = answer.json["meta"]["pagination"]
        assert paging["has_more"] == (paging["next_cursor"] is not None)
        if not paging["has_more"]:
            return
        cursor = {"cursor": paging["next_cursor"]}


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("sort", ["filed_date:desc", "filed_date:asc"])
@pytest.mark.parametrize("query", [{}, {"cik": "1750,1751,900"}])
def test_cursor_pages_contain_every_filing_once(ask: Any, limit: int, sort: str, query: dict[str, str]) -> None:
    expected = NEWEST if sort.endswith("desc") else NEWEST[::-1]
    assert list(walk_pages(ask, limit=limit, sort=sort, **query)) == expected


@pytest.mark.parametrize("step", [1, 2, 10_000])
@pytest.mark.parametrize("limit", [1, 3, 7])
def test_offset_pages_contain_every_filing_once(
    ask: Any, limit: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filing_search, "SKIP_BATCH_ROWS", step)
    accessions: list[str] = []
    for offset in range(0, 7, limit):
        answer = ask(limit=limit, offset=offset)
        accessions += numbers(answer)
        assert answer.json["meta"]["pagination"]["has_more"] == (len(accessions) < 7)
    assert accessions == NEWEST
    assert numbers(ask(offset=7)) == []


def test_total_is_omitted_on_request(ask: Any) -> None:
    assert ask(include_total="false").json["meta"]["pagination"]["total"] is None


def test_limit_is_clamped(ask: Any) -> None:
    assert len(numbers(ask(limit=0))) == 1
    assert ask(limit=10**8).json["meta"]["pagination"]["limit"] == 500


@run_each_case(
    "query, param",
    [
        ({"offset": -1}, "offset"),
        ({"offset": 10**9}, "offset"),
        ({"sort": "cik"}, "sort"),
        ({"from_date": "2025-02-30"}, "from_date"),
        ({"cik": "12x"}, "cik"),
        ({"cik": "٣"}, "cik"),
        ({"cursor": "2025"}, "cursor"),
        ({"cursor": "2025-01-01_x"}, "cursor"),
        ({"ticker": "A*B"}, "ticker"),
        ({"ticker": ","}, "ticker"),
        ({"include_total": "1"}, "include_total"),
    ],
)
def test_invalid_parameter_is_refused_by_name(ask: Any, query: dict[str, Any], param: str) -> None:
    answer = ask(**query)
    assert (answer.status, answer.json["details"]["param"]) == (400, param)


def test_unknown_ticker_is_404_and_free(ask: Any) -> None:
    answer = ask(ticker="LMP-B,NOPE")
    assert (answer.status, answer.json["code"], answer.headers["x-tokens-charged"]) == (404, "UNKNOWN_TICKER", "0")


def test_meta_has_company_and_its_history(app: App, ask: Any) -> None:
    with app.db.write() as tx:
        companies.upsert_tickers(tx, RIVER, [("LMP-B", None)], companies.FROM_COVER, "1999-01-01")
    meta = ask(ticker="LMP.B").json["meta"]
    assert {name: meta[name] for name in ("requested_ticker", "primary_ticker", "cik", "company")} == {
        "requested_ticker": "LMP.B",
        "primary_ticker": "LMP-B",
        "cik": "0000001750",
        "company": "Lamp Corp",
    }
    assert meta["former_names"] == [{"name": "Old Lamp Co", "from_date": "1994-01-01", "to_date": "2001-01-01"}]
    assert [holder["cik"] for holder in meta["ticker_history"]] == ["0000001750", "0000001751"]
    assert ask(ticker="RVR").json["meta"]["ticker_history"] == []


def test_ambiguous_ticker_lists_candidates(app: App, ask: Any) -> None:
    with app.db.write() as tx:
        companies.upsert_tickers(tx, RIVER, [("LMP-B", None)], companies.FROM_LIST)
    answer = ask(ticker="LMP-B")
    assert (answer.status, answer.json["details"]["allowed"]) == (400, ["0000001750", "0000001751"])


def test_missing_pages_are_listed_in_meta(app: App, ask: Any) -> None:
    document = submissions_json(LAMP).encode()
    with app.db.write() as tx:
        lists.upsert_submissions(tx, submissions.parse_company(document, "f"), app.clock.now())
    meta = ask(cik="1750").json["meta"]
    assert meta["not_ingested"] == [
        {
            "page": "CIK0000001750-submissions-001.json",
            "filings": 2,
            "first_filed": "1994-01-01",
            "last_filed": "1999-01-01",
        }
    ]
    assert ask(cik="1751").json["meta"]["not_ingested"] == []
    assert ask(cik="1751,1750").json["meta"]["not_ingested"] == meta["not_ingested"]


def test_filings_as_tables(ask: Any, client: Client) -> None:
    answer = client.get(PATH, query={"limit": 1}, headers={"Accept": "text/csv"})
    [row] = csv.DictReader(io.StringIO(answer.body.decode()))
    assert (row["accession_number"], row["ticker"], row["items"]) == ("0000001751-25-000006", "RVR", "[]")
    assert (answer.headers["x-has-more"], answer.headers["x-next-cursor"]) == ("true", "2025-03-03_175125000006")
    lines = client.get(PATH, headers={"Accept": "application/x-ndjson"}).body.splitlines()
    assert [json.loads(line)["form_type"] for line in lines][:2] == ["4", "8-K"]


# ---- one filing and its text


def test_filing_is_found_by_any_spelling(ask: Any) -> None:
    for spelling in ("0000001751-25-000006", "000000175125000006"):
        filing = ask(f"/{spelling}").json["data"]
        assert (filing["cik"], filing["company_name"], filing["raw_entry_xml"], filing["has_html"]) == (
            "0000001751",
            "River Corp",
            None,
            False,
        )
        assert filing["parties"] == [
            {"cik": "0000001751", "company_name": "River Corp", "ticker": "RVR", "role": "issuer"},
            {"cik": "0000000900", "company_name": "DOE ANN", "ticker": None, "role": "reporting_owner"},
        ]


@run_each_case(
    "q, expected",
    [
        ("lamp", ["-000004", "-000003", "-000002", "-000001"]),
        ("OLD lamp", ["-000004", "-000003", "-000002", "-000001"]),  # its former name
        ("lamp river", []),  # in no one name
        ("corp riv", ["-000006", "-000005", "-000007"]),
        ("doe", ["-000006"]),  # any party's
        ("annual", ["-000001"]),
        ("report annual", ["-000001"]),
        ("2.02", ["-000002"]),
        ("results operations", ["-000002"]),
        ("departure", ["-000003"]),
        ("exhibits", ["-000005", "-000002"]),
        ("10-q", ["-000007"]),
        ("%", []),
        ("_", []),
        ("nothing of this", []),
    ],
)
def test_words_of_names_descriptions_and_items(ask: Any, q: str, expected: list[str]) -> None:
    answer = ask(q=q)
    assert numbers(answer) == expected
    assert answer.json["meta"]["pagination"]["total"] == len(expected)


def test_words_with_other_filters(ask: Any, client: Client) -> None:
    assert numbers(ask(q="corp", form_type="8-K")) == ["-000005", "-000003", "-000002"]
    assert numbers(ask(q="exhibits", cik="1750")) == ["-000002"]
    assert numbers(ask(q="corp", items="9.01", from_date="2025-03-02")) == ["-000005"]
    assert numbers(ask(q="river", sort="filed_date:asc", limit=1, offset=1)) == ["-000005"]
    undated = ask(q="river", to_date="2025-12-31")
    assert (numbers(undated), undated.json["meta"]["undated_left_out"]) == (["-000006", "-000005"], 1)
    bare = client.get("/api/v1/filings", query={"q": "lamp", "limit": 1})
    assert (bare.json["filings"][0]["accession_number"][-6:], bare.json["pagination"]["total"]) == ("000004", 4)


def test_changed_description_is_found_by_new_words_only(app: App, ask: Any) -> None:
    with app.db.write() as tx:
        better = build_metadata(1, LAMP, "10-K", "2025-02-01", description="YEARLY LETTER")
        filing_store.upsert(tx, replace(better, evidence=metadata.HEADER_EVIDENCE), app.clock.now())
        tx.run("bump_data_version")
    assert (numbers(ask(q="yearly")), numbers(ask(q="annual"))) == (["-000001"], [])


def test_words_that_match_too_much_are_refused(app: App, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filing_search, "MAX_WORD_TERMS", 1)
    refused = ask(q="corp")
    message = "q: the words match more than 1 names, descriptions and items."
    assert refused.verdict == (400, "INVALID_PARAM", message)
    assert refused.json["details"]["param"] == "q"
    assert numbers(ask(q="river")) == ["-000006", "-000005", "-000007"]


def test_unknown_filing_and_invalid_accession_number(ask: Any) -> None:
    assert ask("/0000001751-25-000099").verdict[:2] == (404, "NOT_FOUND")
    assert ask("/unfiled-0123").json["details"]["param"] == "accession_number"
    assert ask("/0000001751-25-000006/html").verdict[:2] == (404, "NOT_FOUND")


@pytest.fixture
def stored_document(app: App, ask: Any) -> Any:
    """A filing whose primary document is kept: HTML that would do harm if it could."""
    html = "<html><body onload=alert(1)><script>alert('é')</script><p>Lamps</p></body></html>"
    body = FULL.replace(b"lamp.txt", b"lamp.htm").replace(b"Lamps caf\xe9 went on.", html.encode())
    header = sgml.parse_header(body, "f")
    papers = list(submission_documents.iter_listed_documents(sgml.iter_documents(body, "f")))
    with app.db.write() as tx:
        stored = filing_store.upsert(tx, metadata.from_header(header, len(body)), app.clock.now())
        text = submission_documents.prepare_text(papers[0][1].body, papers[0][1].filename, 10_000)
        submission_documents.insert_documents(
            tx, stored.id, [line for line, _ in papers], text, max_stored_bytes=10_000, max_indexed_characters=10_000
        )
        tx.run("bump_data_version")
    return html, lambda **query: ask("/0000001750-98-000077/html", **query)


def test_document_is_served_inert(stored_document: Any) -> None:
    html, get = stored_document
    answer = get()
    assert (answer.status, answer.body.decode()) == (200, html)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == (
        "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-total-characters"] == str(len(html))


@run_each_case(
    "query, first, last",
    [
        ({"offset": 6, "length": 5}, 6, 11),
        ({"offset": 70}, 70, None),
        ({"length": 10**8}, 0, None),
        ({"offset": 10**8}, 10**8, None),
    ],
)
def test_document_part_is_in_characters(stored_document: Any, query: Any, first: int, last: int | None) -> None:
    html, get = stored_document
    assert get(**query).body.decode() == html[first:last]


def test_max_bytes_never_cuts_a_character(stored_document: Any) -> None:
    html, get = stored_document
    position = html.index("é")
    assert get(offset=position, max_bytes=1).body == b""
    assert get(offset=position, max_bytes=2).body.decode() == "é"


def test_filing_is_found_by_its_exhibits(stored_document: Any, ask: Any) -> None:
    answer = ask(exhibits="99.1")
    assert numbers(answer) == ["-000077"]
    assert numbers(ask(exhibits="EX-99.1,EX-10", form_type="8-K", items="5", cik="1750")) == ["-000077"]
    assert numbers(ask(exhibits="EX-10")) == []
    row = answer.json["data"][0]
    assert [file["type"] for file in row["document_files"]] == ["8-K", "EX-99.1"]
    assert row["document_files"][1] == {
        "type": "EX-99.1",
        "document": "ex.htm",
        "description": None,
        "size": "31",
        "sequence": 2,
        "content_url": None,
    }
    assert row["all_links"][-1].endswith("/1750/000000175098000077/ex.htm")


# ---- the others


def test_bare_filings_page_by_cursor(ask: Any, client: Client) -> None:
    answer = client.get("/api/v1/filings", query={"limit": 2, "form_type": "8-K"}).json
    assert answer["pagination"] == {"next_cursor": "2025-03-02_175025000003", "total": 3, "total_exact": True}
    assert answer["filings"][0] == {
        "accession_number": "0000001751-25-000005",
        "cik": "0000001751",
        "ticker": "RVR",
        "form_type": "8-K",
        "filed_date": "2025-03-02",
        "filing_url": "https://www.sec.gov/Archives/edgar/data/1751/000000175125000005/0000001751-25-000005-index.htm",
    }
    query = {"limit": 2, "form_type": "8-K", "cursor": answer["pagination"]["next_cursor"]}
    second_page = client.get("/api/v1/filings", query=query).json
    assert [filing["accession_number"][-1] for filing in second_page["filings"]] == ["2"]
    assert second_page["pagination"]["next_cursor"] is None


def test_accession_numbers_of_a_day(ask: Any, client: Client) -> None:
    query: dict[str, Any] = {"date": "2025-03-02", "limit": 2}
    answer = client.get("/api/v1/index", query=query).json
    assert (answer["date"], answer["count"], answer["has_more"]) == ("2025-03-02", 3, True)
    assert answer["accessions"][0] == {
        "accession_number": "0000001750-25-000003",
        "cik": "0000001750",
        "form_type": "8-K",
        "accepted_at": None,
    }
    second_page = client.get("/api/v1/index", query={**query, "cursor": answer["next_cursor"]}).json
    assert [filing["accession_number"][-1] for filing in second_page["accessions"]] == ["5"]
    table = client.get("/api/v1/index", query={**query, "format": "csv"}).body.decode().splitlines()
    assert table[0] == "accession_number,cik,form_type,accepted_at"
    assert len(table) == len(answer["accessions"]) + 1
    assert client.get("/api/v1/index").json["details"]["param"] == "date"
    assert client.get("/api/v1/index", query={"date": "1999-01-01"}).json["accessions"] == []


def test_forms_have_counts_and_days(ask: Any, client: Client) -> None:
    answer = client.get("/api/v1/sec/forms").json
    assert answer["data"][0] == {
        "form_type": "8-K",
        "root_form_type": "8-K",
        "description": "Report of a current event",
        "filing_count": 3,
        "first_filed": "2025-03-01",
        "last_filed": "2025-03-02",
    }
    form = client.get("/api/v1/sec/forms/10-k%2Fa").json["data"]
    assert form == {
        "form_type": "10-K/A",
        "root_form_type": "10-K",
        "description": "Amendment: annual report",
        "filing_count": 1,
        "first_filed": "2025-03-02",
        "last_filed": "2025-03-02",
    }
    dayless = client.get("/api/v1/sec/forms/10-Q").json["data"]
    assert (dayless["filing_count"], dayless["first_filed"], dayless["last_filed"]) == (1, None, None)
    described = client.get("/api/v1/sec/forms", query={"q": "money MARKET"}).json["data"]
    assert [(form["form_type"], form["filing_count"], form["first_filed"]) for form in described] == [
        ("N-MFP2", 0, None)
    ]
    assert client.get("/api/v1/sec/forms/NOPE").status == 404


def test_entities_by_cik_and_of_a_form(ask: Any, client: Client) -> None:
    answer = client.get("/api/v1/sec/entities", query={"limit": 2}).json
    assert answer["data"] == [
        {"entity_name": "DOE ANN", "cik": "0000000900"},
        {"entity_name": "Lamp Corp", "cik": "0000001750"},
    ]
    query = {"limit": 2, "cursor": answer["meta"]["next_cursor"]}
    assert [entity["cik"] for entity in client.get("/api/v1/sec/entities", query=query).json["data"]] == ["0000001751"]
    of_form = client.get("/api/v1/sec/entities", query={"form_type": "4"}).json["data"]
    assert [entity["cik"] for entity in of_form] == ["0000000900", "0000001751"]


def test_statistics_and_totals(ask: Any, client: Client) -> None:
    statistics = client.get("/api/v1/sec/filings/stats").json["data"]
    assert statistics == {
        "total_entries": 7,
        "top_form_types": [{"form_type": "8-K", "count": 3}]
        + [{"form_type": form, "count": 1} for form in ("10-K", "10-K/A", "10-Q", "4")],
        "latest_filing_date": "2025-03-03",
        "timestamp": "2026-01-31T12:00:00.000Z",
    }
    answer = client.get("/api/v1/stats")
    totals = answer.json
    assert (totals["total_filings"], totals["total_tickers"]) == (7, 2)
    assert totals["last_filing_at"] == "2025-03-03T00:00:00.000Z"
    assert [totals[name] for name in ("total_insiders", "total_holdings_13f", "last_13f_quarter")] == [0, 0, None]
    assert answer.headers["x-tokens-charged"] == "0"


def test_empty_store_returns_empty_lists(app: App, client: Client, user: NewUser) -> None:
    client.key = user.api_key
    assert client.get(PATH).json["data"] == []
    assert client.get("/api/v1/sec/filings/stats").json["data"]["latest_filing_date"] is None
    assert client.get("/api/v1/stats").json["last_filing_at"] is None
    assert client.get("/api/v1/filings").json["filings"] == []


@pytest.mark.parametrize(
    ("path", "member"), [("/api/v1/filings?limit=2", "filings"), ("/api/v1/index?date=2025-03-02", "accessions")]
)
def test_lists_without_an_envelope_are_tables_too(ask: Any, client: Client, path: str, member: str) -> None:
    rows = client.get(path).json[member]
    table = client.get(path, headers={"Accept": "text/csv"})
    assert len(list(csv.DictReader(io.StringIO(table.body.decode())))) == len(rows) > 0
    lines = client.get(path, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line) for line in lines.body.splitlines()] == rows
