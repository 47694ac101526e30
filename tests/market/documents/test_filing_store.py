"""Stored filings: the best evidence wins in any order, and known metadata changes nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.errors import ApiError
from finapi.edgar.submissions import ListedFiling
from finapi.market.documents import filing_store, metadata, submission_documents
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.metadata import FilingMetadata, Party
from finapi.market.documents.outcomes import Outcome
from finapi.market.filings import lists
from finapi.market.funds import fund_classes
from finapi.market.intake import ingest
from finapi.market.reference import companies
from tests.conftest import NOW, SHARED, needs_shared
from tests.support.case_tables import run_each_case

ACCESSION = "0000320193-25-000057"
APPLE, BUFFETT, DAVITA = 320193, 315090, 927066

HEADER = FilingMetadata(
    ACCESSION,
    metadata.HEADER_EVIDENCE,
    [Party(APPLE, 2, "Apple Inc.")],
    "10-Q",
    "2025-05-02",
    "2025-05-01T22:01:00.000Z",
)
LIST = FilingMetadata(
    ACCESSION,
    metadata.SUBMISSIONS_EVIDENCE,
    [Party(APPLE, metadata.LISTED_RANK)],
    "10-Q",
    "2025-05-02",
    "2025-05-02T10:01:00.000Z",
    "2025-03-29",
    "aapl-20250329.htm",
    "10-Q",
    None,
    6_000_000,
    1,
    1,
    "001-36743",
)
INDEX = FilingMetadata(
    ACCESSION, metadata.INDEX_EVIDENCE, [Party(APPLE, metadata.LISTED_RANK, "APPLE INC")], "10-Q", "2025-05-02"
)
CLAIM = FilingMetadata(
    ACCESSION,
    metadata.DOCUMENT_EVIDENCE,
    [Party(666, metadata.CLAIMED_RANK, "Forged Corp")],
    "10-K",
    "2031-01-01",
    None,
    "2030-12-31",
)
ALL = (HEADER, LIST, INDEX, CLAIM)


def put(app: App, *sources: FilingMetadata) -> list[filing_store.StoredFiling]:
    with app.db.write() as tx:
        return [filing_store.upsert(tx, source, app.clock.now()) for source in sources]


def rows(app: App, sql: str) -> list[tuple[Any, ...]]:
    with app.db.write() as tx:
        return [tuple(row) for row in tx._connection.execute(sql)]


def dump_filing_tables(app: App) -> list[list[tuple[Any, ...]]]:
    """Return all stored rows of filings, without their ids and times."""
    return [
        rows(app, sql)
        for sql in (
            "SELECT accession, cik, form, filed_at, accepted_at, period_of_report, primary_document, items, size, "
            "is_xbrl, is_inline_xbrl, description, file_number FROM filings ORDER BY 1",
            "SELECT accession, p.cik, rank FROM filing_parties p JOIN filings f ON f.id = p.filing_id ORDER BY 1, 2",
            "SELECT * FROM filing_terms ORDER BY 1, 2, 3",
            "SELECT form, cik, filings FROM form_entities WHERE filings ORDER BY 1, 2",
            "SELECT * FROM companies ORDER BY 1",
            "SELECT * FROM tickers ORDER BY 1, 2",
        )
    ]


def test_list_in_one_batch_equals_single_upserts(make_app: Callable[..., App]) -> None:
    def build_filing(accession: str, form: str, filed: str, *items: str) -> ListedFiling:
        accepted, about = f"{filed}T10:01:00.000Z", f"about {form}"
        return ListedFiling(
            accession, form, filed, None, accepted, "a.htm", about, items, 9, True, False, "34", "1-2", "3"
        )

    # One that is held by its header, one that stands twice, and two of the last days, which are news.
    listed_filings = [
        build_filing(ACCESSION, "10-Q", "2025-05-02"),
        build_filing("0000320193-26-000001", "8-K", "2020-01-02", "2.02", "9.01", "2.02"),
        build_filing("0000320193-26-000002", "4", "2020-01-02"),
        build_filing("0000320193-26-000001", "8-K/A", "2020-01-03"),
        build_filing("0000320193-26-000003", "10-K", str(NOW.date())),
        build_filing("0000320193-26-000004", "8-K", str(NOW.date()), "5.02"),
    ]
    stored_rows = []
    for at_once in (False, True):
        app = make_app()
        put(app, HEADER)
        with app.db.write() as tx:
            if at_once:
                assert filing_store.upsert_listed_filings(tx, APPLE, listed_filings, NOW)
                assert not filing_store.upsert_listed_filings(tx, APPLE, listed_filings, NOW)
                assert not filing_store.upsert_listed_filings(tx, APPLE, [], NOW)
            else:
                for filing in listed_filings:
                    filing_store.upsert(tx, metadata.from_listed_filing(APPLE, filing), NOW)
        events = rows(app, "SELECT feed, seq, type, occurred_at, data FROM events ORDER BY feed, seq")
        beats = rows(app, "SELECT * FROM arrivals ORDER BY 1")
        counts = rows(app, "SELECT * FROM term_counts ORDER BY 1") + rows(app, "SELECT * FROM held_counts ORDER BY 1")
        stored_rows.append(
            (
                dump_filing_tables(app),
                rows(app, "SELECT accession, evidence FROM filings ORDER BY 1"),
                events,
                beats,
                counts,
            )
        )
    assert stored_rows[0] == stored_rows[1]
    assert ("dabout 8-K", 1) in stored_rows[0][4]
    assert [json.loads(row[4])["accession_number"] for row in stored_rows[0][2]][-2:] == [
        listed_filings[4].accession,
        listed_filings[5].accession,
    ]


@pytest.fixture
def document(tmp_path: Path) -> Any:
    def write(name: str, text: str | bytes) -> Path:
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return write


def run(app: App, *paths: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(), outcomes.append)
    return outcomes


# ---- one filing


def test_stored_filing_does_not_depend_on_order_of_sources(make_app: Any) -> None:
    stored_rows = []
    for order in itertools.permutations(ALL):
        app = make_app()
        put(app, *order)
        stored_rows.append(dump_filing_tables(app))
    assert all(rows == stored_rows[0] for rows in stored_rows)
    assert stored_rows[0][0] == [
        (
            ACCESSION,
            APPLE,
            "10-Q",
            "2025-05-02",
            "2025-05-01T22:01:00.000Z",
            "2025-03-29",
            "aapl-20250329.htm",
            None,
            6_000_000,
            1,
            1,
            "10-Q",
            "001-36743",
        ),
    ]
    number = 32019325000057
    assert stored_rows[0][2] == [(term, "2025-05-02", number) for term in ("", "c320193", "c666", "f10-Q")]


def test_filing_is_new_once(app: App) -> None:
    first, second, third, fourth = put(app, INDEX, INDEX, HEADER, HEADER)
    assert (first.is_new, first.changed) == (True, True)
    assert (second.is_new, second.changed) == (False, False)
    assert (third.is_new, third.changed) == (False, True)
    assert (fourth.is_new, fourth.changed) == (False, False)
    assert len({first.id, second.id, third.id, fourth.id}) == 1


def test_better_evidence_for_same_value_is_stored(app: App) -> None:
    put(app, INDEX)
    [stored] = put(app, FilingMetadata(ACCESSION, metadata.OPERATOR_EVIDENCE, INDEX.parties, filed_at="2025-05-02"))
    assert not stored.changed
    put(app, FilingMetadata(ACCESSION, metadata.SUBMISSIONS_EVIDENCE, INDEX.parties, filed_at="2025-05-03"))
    assert rows(app, "SELECT filed_at FROM filings") == [("2025-05-02",)]


def test_issuer_is_main_party_of_form_4(app: App) -> None:
    from_header = FilingMetadata(
        "0001193125-26-207021",
        metadata.HEADER_EVIDENCE,
        [
            Party(BUFFETT, metadata.PARTY_RANKS["reporting_owner"], "BUFFETT WARREN E"),
            Party(DAVITA, metadata.PARTY_RANKS["issuer"], "DAVITA INC."),
        ],
        "4",
        "2026-05-01",
    )
    from_owners_list = FilingMetadata(
        "0001193125-26-207021", metadata.SUBMISSIONS_EVIDENCE, [Party(BUFFETT, metadata.LISTED_RANK)], "4", "2026-05-01"
    )
    put(app, from_owners_list, from_header)
    assert rows(app, "SELECT cik FROM filings") == [(DAVITA,)]
    assert [row[0] for row in rows(app, "SELECT term FROM filing_terms ORDER BY 1")] == [
        "",
        "c315090",
        "c927066",
        "f4",
    ]


def test_party_with_two_roles_has_better_rank(app: App) -> None:
    put(
        app,
        FilingMetadata(
            ACCESSION, metadata.HEADER_EVIDENCE, [Party(7, 6, "A"), Party(7, 1, "A"), Party(8, 2, "B")], "SC TO-T"
        ),
    )
    assert rows(app, "SELECT cik, rank FROM filing_parties ORDER BY 1") == [(7, 1), (8, 2)]


def test_unnamed_party_is_named_by_its_cik(app: App) -> None:
    put(app, LIST)
    assert rows(app, "SELECT name FROM companies") == [("CIK 0000320193",)]
    put(app, INDEX)
    assert rows(app, "SELECT name FROM companies") == [("APPLE INC",)]


def test_form_counts_follow_corrected_form(app: App) -> None:
    put(app, CLAIM, INDEX)
    assert rows(app, "SELECT term, filings FROM term_counts ORDER BY 1") == [("", 1), ("f10-Q", 1)]
    assert rows(app, "SELECT form, cik, filings FROM form_entities WHERE filings ORDER BY cik") == [
        ("10-Q", 666, 1),
        ("10-Q", APPLE, 1),
    ]


def test_accession_number_survives_conversion_to_int() -> None:
    for accession in (ACCESSION, "9999999997-02-056978", "0000000001-93-000001"):
        assert metadata.accession_from_int(metadata.accession_to_int(accession)) == accession


# ---- lists


def submissions(cik: int = 1750, **changes: Any) -> str:
    """A submissions document of one company with two filings."""
    recent = {
        "accessionNumber": ["0000001750-25-000002", "0000001750-25-000001"],
        "filingDate": ["2025-03-03", "2025-02-02"],
        "reportDate": ["2025-03-01", ""],
        "acceptanceDateTime": ["2025-03-03T21:00:00.000Z", "2025-02-02T21:00:00.000Z"],
        "act": ["34", "34"],
        "form": ["8-K", "10-Q"],
        "fileNumber": ["001-06263", "001-06263"],
        "filmNumber": ["25", "24"],
        "items": ["2.02,9.01", ""],
        "size": [1000, 2000],
        "isXBRL": [1, 1],
        "isInlineXBRL": [1, 1],
        "primaryDocument": ["a.htm", "b.htm"],
        "primaryDocDescription": ["8-K", "10-Q"],
    }
    pages = [
        {
            "name": f"CIK{cik:010}-submissions-001.json",
            "filingCount": 2,
            "filingFrom": "1994-01-01",
            "filingTo": "1999-01-01",
        }
    ]
    return json.dumps(
        {
            "cik": str(cik),
            "name": "Lamp Corp",
            "entityType": "operating",
            "sic": "3640",
            "fiscalYearEnd": "0531",
            "stateOfIncorporation": "DE",
            "tickers": ["LMP", "LMP-B"],
            "exchanges": ["NYSE", "NYSE"],
            "formerNames": [{"name": "OLD LAMP CO", "from": "1994-01-01T05:00:00.000Z", "to": None}],
            "filings": {"recent": recent, "files": pages},
            **changes,
        }
    )


def page() -> str:
    document = json.loads(submissions())["filings"]["recent"]
    document["accessionNumber"] = ["0000001750-98-000002", "0000001750-98-000001"]
    document["filingDate"] = ["1998-03-03", "1998-02-02"]
    document["acceptanceDateTime"] = ["1998-03-03T05:00:00.000Z", "1998-02-02T05:00:00.000Z"]
    return json.dumps(document)


def version(app: App) -> int:
    with app.db.read() as tx:
        return int(tx.find_value("data_version"))


def test_same_list_again_keeps_data_version(app: App, document: Any) -> None:
    path = document("CIK0000001750.json", submissions())
    assert [outcome.outcome for outcome in run(app, path)] == ["ingested"]
    before = version(app), dump_filing_tables(app)
    again = run(app, path)
    assert [(outcome.outcome, outcome.reason) for outcome in again] == [("unchanged", "contains nothing new")]
    assert (version(app), dump_filing_tables(app)) == before


def test_older_page_belongs_to_company_in_its_name(app: App, document: Any) -> None:
    run(app, document("CIK0000001750.json", submissions()))
    with app.db.read() as tx:
        assert lists.list_missing_pages(tx, 1750) == [
            {
                "page": "CIK0000001750-submissions-001.json",
                "filings": 2,
                "first_filed": "1994-01-01",
                "last_filed": "1999-01-01",
            }
        ]
    assert [outcome.outcome for outcome in run(app, document("CIK0000001750-submissions-001.json", page()))] == [
        "ingested"
    ]
    with app.db.read() as tx:
        assert lists.list_missing_pages(tx, 1750) == []
    assert rows(app, "SELECT accession, cik, filed_at FROM filings ORDER BY filed_at LIMIT 1") == [
        ("0000001750-98-000001", 1750, "1998-02-02")
    ]


def test_older_page_may_precede_its_company(make_app: Any, document: Any) -> None:
    files = [document("CIK0000001750.json", submissions()), document("CIK0000001750-submissions-001.json", page())]
    stored_rows = []
    for order in (files, files[::-1]):
        app = make_app()
        for file in order:
            run(app, file)
        stored_rows.append(dump_filing_tables(app))
        with app.db.read() as tx:
            assert lists.list_missing_pages(tx, 1750) == []
    assert stored_rows[0] == stored_rows[1]


def test_older_page_with_other_name_is_refused(app: App, document: Any) -> None:
    [outcome] = run(app, document("page.json", page()))
    assert (outcome.outcome, outcome.kind) == ("refused", "submissions-page")
    assert outcome.reason == (
        "an older page must be named CIK##########-submissions-###.json, because it does not state its company"
    )
    assert rows(app, "SELECT count(*) FROM filings") == [(0,)]


HEAD = """Description:           Master Index of EDGAR Dissemination Feed
Last Data Received:    December 31, 1993

CIK|Company Name|Form Type|Date Filed|Filename
--------------------------------------------------------------------------------
"""
PAIR = (
    "927066|DAVITA INC.|4|20260501|edgar/data/927066/0001193125-26-207021.txt\n"
    "315090|BUFFETT WARREN E|4|20260501|edgar/data/315090/0001193125-26-207021.txt\n"
)


def test_index_lines_of_one_filing_are_merged(app: App, document: Any) -> None:
    assert [outcome.outcome for outcome in run(app, document("master.idx", HEAD + PAIR))] == ["ingested"]
    assert rows(app, "SELECT accession, form, filed_at FROM filings") == [("0001193125-26-207021", "4", "2026-05-01")]
    assert rows(app, "SELECT cik FROM filing_parties ORDER BY 1") == [(BUFFETT,), (DAVITA,)]
    assert [outcome.outcome for outcome in run(app, document("master.idx", HEAD + PAIR))] == ["unchanged"]


def test_index_with_two_broken_lines_stores_nothing(app: App, document: Any) -> None:
    broken_line = "1|A|10-K|20260231|edgar/data/1/0000000001-26-000001.txt\n"
    [outcome] = run(app, document("master.idx", HEAD + PAIR + broken_line * 2))
    assert (outcome.outcome, outcome.reason) == ("refused", "line 8: '20260231' is not a day")
    assert rows(app, "SELECT count(*) FROM filings") == [(0,)]


# ---- tickers


def put_tickers(app: App, cik: int, *tickers: str, source: int = companies.FROM_SUBMISSIONS, as_of: str = "") -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, cik, f"Company {cik}", companies.FROM_COVER, "")
        companies.upsert_tickers(tx, cik, [(ticker, None) for ticker in tickers], source, as_of)


def resolve_company(app: App, text: str) -> tuple[int, str | None]:
    with app.db.read() as tx:
        company = companies.resolve(tx, text)
    return company.cik, company.ticker


@run_each_case("spelling", ["BRK-B", "BRK.B", "BRK/B", "brk b", "brk.b", "BRKB"])
def test_share_class_is_found_in_every_spelling(app: App, spelling: str) -> None:
    put_tickers(app, 1067983, "BRK-B", "BRK-A", source=companies.FROM_LIST)
    assert resolve_company(app, spelling) == (1067983, "BRK-B")


def test_lists_without_names_give_tickers(app: App, document: Any) -> None:
    table = '{"fields":["cik","seriesId","classId","symbol"],"data":[[2110,"S000009184","C000024954","LACAX"]]}'
    assert [outcome.outcome for outcome in run(app, document("company_tickers_mf.json", table))] == ["ingested"]
    assert [outcome.outcome for outcome in run(app, document("company_tickers_mf.json", table))] == ["unchanged"]
    assert [outcome.outcome for outcome in run(app, document("ticker.txt", "aapl\t320193\n"))] == ["ingested"]
    assert resolve_company(app, "lacax") == (2110, "LACAX")
    assert resolve_company(app, "AAPL") == (320193, "AAPL")
    with app.db.read() as tx:
        (match,) = fund_classes.resolve_ticker(tx, "LACAX")
        assert (match.series_id, match.class_id, match.cik) == ("S000009184", "C000024954", 2110)
    # The list that has names gives them later.
    put_tickers(app, 320193, "AAPL")
    assert rows(app, "SELECT cik, name FROM companies ORDER BY cik") == [
        (2110, "CIK 0000002110"),
        (320193, "Company 320193"),
    ]


def test_ambiguous_ticker_without_separator_is_unknown(app: App) -> None:
    put_tickers(app, 1, "AB-C", source=companies.FROM_LIST)
    put_tickers(app, 2, "A-BC", source=companies.FROM_LIST)
    with pytest.raises(ApiError, match="No company"):
        resolve_company(app, "ABC")


def test_ticker_of_two_companies_lists_both(app: App) -> None:
    put_tickers(app, 1, "X", as_of="2026-01-01")
    put_tickers(app, 2, "X", as_of="2026-02-02")
    with pytest.raises(ApiError) as refused:
        resolve_company(app, "x")
    assert (refused.value.status, refused.value.code) == (400, "INVALID_PARAM")
    assert refused.value.details == {
        "param": "ticker",
        "allowed": ["0000000002", "0000000001"],
        "candidates": [
            {"cik": "0000000002", "company_name": "Company 2", "ticker": "X", "as_of": "2026-02-02", "current": True},
            {"cik": "0000000001", "company_name": "Company 1", "ticker": "X", "as_of": "2026-01-01", "current": True},
        ],
    }


@pytest.mark.parametrize("newest_first", [False, True])
def test_reused_ticker_belongs_to_new_holder(app: App, newest_first: bool) -> None:
    holdings_of_ticker = [(1326801, "FB", "2021-01-01"), (1326801, "META", "2023-01-01"), (99, "FB", "2024-01-01")]
    for cik, ticker, day in holdings_of_ticker[::-1] if newest_first else holdings_of_ticker:
        put_tickers(app, cik, ticker, as_of=day)
    assert resolve_company(app, "fb") == (99, "FB")
    assert resolve_company(app, "1326801") == (1326801, "META")
    with app.db.read() as tx:
        assert [(holder["cik"], holder["current"]) for holder in companies.list_ticker_holders(tx, "FB")] == [
            ("0000000099", True),
            ("0001326801", False),
        ]


def test_former_ticker_finds_company_until_reused(app: App) -> None:
    put_tickers(app, 1326801, "FB", as_of="2021-01-01")
    put_tickers(app, 1326801, "META", as_of="2023-01-01")
    assert resolve_company(app, "FB") == (1326801, "FB")


def test_former_names_are_listed_once(app: App) -> None:
    with app.db.write() as tx:
        companies.insert_unnamed(tx, 1750)
        for first, last in ((None, "2001-01-01"), ("1994-01-01", "2001-01-01"), ("1994-01-01", "2001-01-01")):
            companies.insert_former_name(tx, 1750, "OLD LAMP CO", first, last)
        companies.insert_former_name(tx, 1750, "OLDER LAMP CO", None, "1990-01-01")
        assert companies.list_former_names(tx, 1750) == [
            {"name": "OLD LAMP CO", "from_date": "1994-01-01", "to_date": "2001-01-01"},
            {"name": "OLDER LAMP CO", "from_date": None, "to_date": "1990-01-01"},
        ]


# ---- full submissions

FULL = """<SEC-DOCUMENT>0000001750-98-000077.txt : 19980205
<SEC-HEADER>0000001750-98-000077.hdr.sgml : 19980205
ACCESSION NUMBER:		0000001750-98-000077
CONFORMED SUBMISSION TYPE:	8-K
PUBLIC DOCUMENT COUNT:		2
CONFORMED PERIOD OF REPORT:	19980201
ITEM INFORMATION:		Other events
FILED AS OF DATE:		19980205

FILER:

	COMPANY DATA:
		COMPANY CONFORMED NAME:			LAMP CORP
		CENTRAL INDEX KEY:			0000001750
		STANDARD INDUSTRIAL CLASSIFICATION:	LAMPS [3640]
		STATE OF INCORPORATION:			DE
		FISCAL YEAR END:			0531

	FILING VALUES:
		FORM TYPE:		8-K
		SEC ACT:		1934 Act
		SEC FILE NUMBER:	001-06263

	FORMER COMPANY:
		FORMER CONFORMED NAME:	OLD LAMP CO
		DATE OF NAME CHANGE:	19970101
</SEC-HEADER>
<DOCUMENT>
<TYPE>8-K
<SEQUENCE>1
<FILENAME>lamp.txt
<DESCRIPTION>CURRENT REPORT
<TEXT>
Lamps caf\xe9 went on.
</TEXT>
</DOCUMENT>
<DOCUMENT>
<TYPE>EX-99.1
<SEQUENCE>2
<FILENAME>ex.htm
<TEXT>
<html><body>Press</body></html>
</TEXT>
</DOCUMENT>
</SEC-DOCUMENT>
""".encode("latin-1")


def test_full_submission_stores_documents_and_text(app: App, document: Any) -> None:
    [outcome] = run(app, document("full.txt", FULL))
    assert (outcome.outcome, outcome.accession) == ("ingested", "0000001750-98-000077")
    assert rows(
        app,
        "SELECT form, filed_at, period_of_report, items, primary_document, description, size, file_number FROM filings",
    ) == [("8-K", "1998-02-05", "1998-02-01", "5", "lamp.txt", "CURRENT REPORT", len(FULL), "001-06263")]
    assert rows(app, "SELECT seq, type, filename, description, size FROM filing_documents") == [
        (1, "8-K", "lamp.txt", "CURRENT REPORT", 19),
        (2, "EX-99.1", "ex.htm", None, 31),
    ]
    assert [row[0] for row in rows(app, "SELECT term FROM filing_terms ORDER BY 1")] == [
        "",
        "c1750",
        "dCURRENT REPORT",
        "eEX-99.1",
        "f8-K",
        "i5",
    ]
    assert rows(app, "SELECT name, sic, state, fiscal_year_end FROM companies") == [("LAMP CORP", 3640, "DE", "0531")]
    with app.db.read() as tx:
        # Latin-1, as in the 1990s, is recognised and stored as UTF-8.
        assert submission_documents.find_primary_text(tx, outcome.accession) == submission_documents.DocumentBody(
            "text", "Lamps café went on.".encode()
        )
        assert companies.list_former_names(tx, 1750) == [
            {"name": "OLD LAMP CO", "from_date": None, "to_date": "1997-01-01"}
        ]
    assert [outcome.outcome for outcome in run(app, document("full.txt", FULL))] == ["unchanged"]


@pytest.mark.parametrize("settings", [{"document_bytes": 18}, {"documents_bytes": 20}, {"document_bytes": 0}])
def test_too_long_primary_document_is_not_stored(make_app: Any, document: Any, settings: dict[str, int]) -> None:
    app = make_app(**settings)
    assert [outcome.outcome for outcome in run(app, document("full.txt", FULL))] == ["ingested"]
    with app.db.read() as tx:
        assert submission_documents.find_primary_text(tx, "0000001750-98-000077") is None
    assert rows(app, "SELECT count(*) FROM filing_documents") == [(2,)]


def test_stored_documents_are_counted(app: App, document: Any) -> None:
    run(app, document("full.txt", FULL))
    sizes = rows(app, "SELECT is_primary, sum(length(packed)) FROM filing_bodies GROUP BY is_primary ORDER BY 1 DESC")
    assert rows(app, "SELECT 1, bytes, 0, exhibit_bytes, documents, texts FROM filing_bodies_size") == [
        (*sizes[0], *sizes[1], 2, 2)
    ]


def test_header_alone_describes_its_filing(app: App, document: Any) -> None:
    header = FULL[FULL.index(b"<SEC-HEADER>") : FULL.index(b"<DOCUMENT>")]
    [outcome] = run(app, document("0000001750-98-000077.hdr.sgml", header))
    assert (outcome.kind, outcome.outcome, outcome.accession) == (
        "filing-index",
        "ingested",
        "0000001750-98-000077",
    )
    assert rows(app, "SELECT form, filed_at, size FROM filings") == [("8-K", "1998-02-05", None)]


def test_truncated_submission_stores_nothing(app: App, document: Any) -> None:
    [outcome] = run(app, document("full.txt", FULL[:-60]))
    assert outcome.outcome == "refused"
    assert outcome.reason is not None
    assert "cut off" in outcome.reason
    assert rows(app, "SELECT count(*) FROM filings") == [(0,)]


# ---- the SEC's own


@pytest.mark.slow
@needs_shared
def test_real_lists_and_submissions_are_stored_once(app: App) -> None:
    paths = [
        SHARED / "edgar" / name
        for name in ("submissions", "submissions_older_vintage", "index", "sgml", "company_tickers.json")
    ]
    assert {outcome.outcome for outcome in run(app, *paths)} == {"ingested"}
    before = version(app), dump_filing_tables(app)
    assert {outcome.outcome for outcome in run(app, *paths)} == {"unchanged"}
    assert (version(app), dump_filing_tables(app)) == before
    assert rows(app, "SELECT count(*) FROM filings WHERE filed_at = '2020-03-18'") == [(2_526,)]
    assert rows(app, "SELECT form, filed_at, accepted_at FROM filings WHERE accession = '0000943374-24-000509'") == [
        ("8-K", "2024-12-27", "2024-12-27T21:29:40.000Z")
    ]
    assert [row[0] for row in rows(app, "SELECT cik FROM filings WHERE accession = '0001104659-25-002604'")] == [
        1376139
    ]
