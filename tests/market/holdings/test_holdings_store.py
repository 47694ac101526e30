"""Ingest of 13F filings: stored rows, refused documents, and independence of the order of documents."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.market.documents import announcements
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.holdings import funds
from finapi.market.intake import ingest
from finapi.market.reference import companies, cusip_map, issuer_names, securities
from tests.conftest import SHARED, needs_shared
from tests.support import fund_filings, thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import FUND, accession, list_stored_rows, submission, take
from tests.support.thirteenf_xml import ALLY, APPLE, LAMP_FUND, MICROSOFT, OTHER_FUND

FOLDER = SHARED / "edgar" / "thirteenf"

MAPPING = b"CUSIP,Symbol,CIK,Issuer Name,As Of\n037833100,AAPL,320193,Apple Inc.,2025-01-01\n"


def run(app: App, *paths: Path, **options: str) -> dict[str, Outcome]:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(**options), outcomes.append)
    return {outcome.path.rpartition("/")[2]: outcome for outcome in outcomes}


def quarter(app: App, period: str, cik: int = FUND) -> tuple[funds.FundQuarter, dict[str, tuple[Any, ...]]]:
    """A fund's quarter and its positions: CUSIP (and put or call) to shares, value, status."""
    with app.db.read() as tx:
        fund_quarter = funds.get_quarter(tx, cik, period)
        rows, _ = funds.list_holdings(tx, fund_quarter, options="all", limit=100)
        closed_rows, _ = funds.list_holdings(tx, fund_quarter, options="all", status="closed", limit=100)
    return fund_quarter, {
        row["cusip"] + (row["put_call"] or ""): (row["shares"], row["value_usd"], row["status"])
        for row in [*rows, *closed_rows]
    }


# ---- the SEC's own


@needs_shared
def test_shared_documents_are_ingested_or_refused_with_a_reason(app: App) -> None:
    outcomes = run(app, FOLDER)
    incomplete = (
        "the table has 5 of the 90 rows that its cover says: no change is concluded from it; "
        "the filing date is not known: it counts as the first of its quarter"
    )
    assert {name: (outcome.outcome, outcome.reason, outcome.accession) for name, outcome in outcomes.items()} == {
        "0001140361-23-013281.txt": ("ingested", None, "0001140361-23-013281"),
        "0001619124-21-000002.txt": ("ingested", None, "0001619124-21-000002"),
        "0001894188-23-000007.txt": ("ingested", None, "0001894188-23-000007"),
        "brk_2026q1_0001193125-26-226661_index.json": (
            "skipped",
            "contains nothing that is not in the filing's other documents",
            None,
        ),
        "brk_2026q1_0001193125-26-226661_primary_doc.xml": ("ingested", incomplete, "0001193125-26-226661"),
        "brk_2026q1_0001193125-26-226661_infotable_TRIMMED.xml": ("ingested", incomplete, "0001193125-26-226661"),
        "infotable_255rows.xml": (
            "refused",
            "is the table of a 13F without its cover page, which states the filer and the quarter",
            None,
        ),
        "abacus_0001978011_primary_doc.xml": (
            "refused",
            "13F-HR cover whose table of 92 entries is missing",
            None,
        ),
    }
    assert {outcome.outcome for outcome in run(app, FOLDER).values()} == {"unchanged", "skipped", "refused"}


@needs_shared
@pytest.mark.parametrize(
    ("cik", "value", "count", "rule"),
    [
        (1099219, 11_019_796, 6, "dollars:filing_date"),
        (1619124, 732_158_000, 5, "thousands:filing_date"),
        (1894188, 454_926_000, 14, "dollars:filing_date"),
    ],
)
def test_complete_tables_tie_to_their_covers_in_dollars(app: App, cik: int, value: int, count: int, rule: str) -> None:
    run(app, FOLDER)
    with app.db.read() as tx:
        fund_quarter = funds.get_quarter(tx, cik, None)
        rows, total = funds.list_holdings(tx, fund_quarter, limit=100)
    assert fund_quarter.filing["table_ties"]
    assert (fund_quarter.value, fund_quarter.filing["table_value_total"], sum(row["value_usd"] for row in rows)) == (
        value,
    ) * 3
    assert (fund_quarter.positions, fund_quarter.filing["table_entry_total"], total) == (count,) * 3
    assert {row["value_unit_rule"] for row in rows} == {rule}


@needs_shared
def test_an_incomplete_table_does_not_tie(app: App) -> None:
    run(app, FOLDER)
    with app.db.read() as tx:
        fund_quarter = funds.get_quarter(tx, 1067983, None)
        rows, _ = funds.list_holdings(tx, fund_quarter, limit=100)
    assert not fund_quarter.filing["table_ties"]
    assert (fund_quarter.filing["table_rows"], fund_quarter.filing["table_entry_total"]) == (5, 90)
    assert (fund_quarter.filing["table_rows_value"], fund_quarter.value) == (2_160_900_777, 263_095_703_570)
    assert (fund_quarter.has_known_changes, fund_quarter.reason) == (False, "quarter_incomplete")
    # Two rows for one security are one position.
    ally = next(row for row in rows if row["cusip"] == ALLY)
    assert (ally["shares"], ally["value_usd"], ally["table_rows"]) == (15_523_550, 608_988_866, 2)
    assert ally["other_managers"] == "2,4,11"


# ---- quarters and amendments


def test_positions_have_changes_since_the_previous_quarter(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june(), fund_filings.september())
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert rows == {
        APPLE: (15, 3_750, "increased"),
        MICROSOFT: (5, 2_500, "decreased"),
        ALLY: (0, 0, "closed"),
    }
    assert fund_quarter.counts == {"new": 0, "increased": 1, "decreased": 1, "unchanged": 0, "closed": 1}
    first, rows = quarter(app, "2025-06-30")
    assert (first.reason, rows[ALLY]) == ("previous_quarter_not_held", (10, 400, None))


def test_a_restatement_changes_its_quarter_and_the_next(app: App, tmp_path: Path) -> None:
    restated = ("06-30-2025", "2025-09-01", [(APPLE, 5_000, 20)])
    amended = submission(4, restated, form="13F-HR/A", amendment=(1, "RESTATEMENT"))
    take(app, tmp_path, fund_filings.june(), fund_filings.september(), amended)
    assert quarter(app, "2025-06-30")[1] == {APPLE: (20, 5_000, None)}
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert rows == {APPLE: (15, 3_750, "decreased"), MICROSOFT: (5, 2_500, "new")}
    assert fund_quarter.counts["closed"] == 0


def test_new_holdings_are_added_to_the_original(app: App, tmp_path: Path) -> None:
    added = ("09-30-2025", "2025-12-20", [(APPLE, 250, 1), (ALLY, 800, 20)])
    take(app, tmp_path, fund_filings.september(), submission(4, added, form="13F-HR/A", amendment=(1, "NEW HOLDINGS")))
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert rows == {
        APPLE: (16, 4_000, None),
        MICROSOFT: (5, 2_500, None),
        ALLY: (20, 800, None),
    }
    assert (fund_quarter.value, fund_quarter.filing["reports_united"], fund_quarter.filing["accession_no"]) == (
        7_300,
        2,
        accession(4),
    )


def test_options_and_shares_are_different_positions(app: App, tmp_path: Path) -> None:
    put = thirteenf_xml.row(APPLE, 5_000, 20, putCall="Put")
    take(app, tmp_path, submission(2, fund_filings.SEPTEMBER, extra=put))
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert (rows[APPLE], rows[APPLE + "Put"]) == ((15, 3_750, None), (20, 5_000, None))
    with app.db.read() as tx:
        assert funds.list_holdings(tx, fund_quarter, options="none", limit=9)[1] == 2
        assert funds.list_holdings(tx, fund_quarter, options="only", limit=9)[1] == 1
        sums = [tuple(row) for row in tx._connection.execute("SELECT shares, value FROM security_quarters ORDER BY 1")]
    assert sums == [(5, 2_500), (15, 3_750)]


def test_changes_are_unknown_after_an_incomplete_quarter(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, submission(1, fund_filings.JUNE, entries=9), fund_filings.september())
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert (fund_quarter.has_known_changes, fund_quarter.reason) == (False, "previous_quarter_incomplete")
    assert set(rows) == {APPLE, MICROSOFT}
    # The whole table, ingested later, is taken instead of the trimmed one.
    take(app, tmp_path, fund_filings.june())
    assert quarter(app, "2025-09-30")[1][ALLY] == (0, 0, "closed")


def test_a_notice_is_a_filing_without_holdings(app: App, tmp_path: Path) -> None:
    notice = submission(5, ("09-30-2025", "2025-11-14", []), form="13F-NT", entries=0)
    (outcome,) = take(app, tmp_path, notice)
    assert (outcome.outcome, outcome.reason) == ("ingested", None)
    with app.db.read() as tx:
        assert funds.list_periods(tx, FUND) == []
        assert [tuple(row) for row in tx._connection.execute("SELECT form, row_count FROM holdings_reports")] == [
            ("13F-NT", 0)
        ]


def test_values_in_thousands_are_converted_to_dollars(app: App, tmp_path: Path) -> None:
    cents = ("09-30-2025", "2025-11-14", [(APPLE, 250, 1_000), (MICROSOFT, 500, 1_000)])
    take(app, tmp_path, submission(2, cents))
    fund_quarter, rows = quarter(app, "2025-09-30")
    assert rows == {APPLE: (1_000, 250_000, None), MICROSOFT: (1_000, 500_000, None)}
    assert (fund_quarter.filing["value_unit_rule"], fund_quarter.filing["value_corrected"]) == (
        "thousands:implied_price",
        True,
    )


@run_each_case("order", list(itertools.permutations(range(3))))
def test_the_order_of_reports_does_not_change_a_corrected_unit(
    app: App, tmp_path: Path, order: tuple[int, ...]
) -> None:
    # Shares of $700,000 and $600,000: in thousands nothing but other managers' prices tells.
    rows = [
        [(APPLE, 700, 1), (MICROSOFT, 1_200, 2)],
        [(APPLE, 1_400_000, 2), (MICROSOFT, 600_000, 1)],
        [(APPLE, 2_130_000, 3)],
    ]
    quarters = [("09-30-2025", "2025-11-14", outcome) for outcome in rows]
    funds_ = [LAMP_FUND, OTHER_FUND, "0000000009"]
    documents = [submission(number, quarters[number], cik=funds_[number], name=f"Fund {number}") for number in range(3)]
    take(app, tmp_path, *(documents[outcome] for outcome in order))
    fund_quarter, positions = quarter(app, "2025-09-30")
    # Of Microsoft one other manager tells, who is not enough; of Apple two do.
    assert positions[APPLE][:2] == (1, 700_000)
    assert (fund_quarter.value, fund_quarter.filing["value_unit_rule"]) == (1_900_000, "thousands:other_managers")
    assert fund_quarter.filing["value_corrected"] is True
    for number in (1, 2):
        fund_quarter, _ = quarter(app, "2025-09-30", int(funds_[number]))
        assert fund_quarter.filing["value_unit_rule"] == "dollars:filing_date"


@pytest.mark.slow
def test_the_order_of_documents_does_not_change_rows(make_app: Callable[..., App], tmp_path: Path) -> None:
    documents = [
        fund_filings.june(),
        fund_filings.september(),
        submission(
            4,
            ("06-30-2025", "2025-09-01", [(APPLE, 5_000, 20)]),
            form="13F-HR/A",
            amendment=(1, "RESTATEMENT"),
            name="Lamp Capital Management",
        ),
        fund_filings.other_submission(),
        MAPPING,
    ]
    stored_rows = []
    # Every fifth of the 120 orders: each document comes first, and last, in some of them.
    for permutation in itertools.islice(itertools.permutations(documents), 0, None, 5):
        app = make_app()
        take(app, tmp_path, *permutation)
        stored_rows.append(list_stored_rows(app))
    assert all(outcome == stored_rows[0] for outcome in stored_rows)
    assert [row[1] for row in stored_rows[0]["funds"]] == ["Lamp Capital LP", "Shade Partners"]


# ---- which filing it is


def write(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


BARE = thirteenf_xml.table(thirteenf_xml.row(APPLE, 2_500, 10))
COVER = thirteenf_xml.cover(entries=1, total=2_500)


def test_a_folder_name_gives_the_accession_number(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "000123456725000009", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    assert {name: (outcome.outcome, outcome.accession) for name, outcome in run(app, folder).items()} == {
        "primary_doc.xml": ("ingested", accession(9)),
        "infotable.xml": ("ingested", accession(9)),
    }
    assert quarter(app, "2025-09-30")[0].filing["filed_at"] is None


def test_the_operator_can_state_number_and_day(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    run(app, folder, accession=accession(7), filed_at="2025-11-10")
    fund_quarter, _ = quarter(app, "2025-09-30")
    assert (fund_quarter.filing["accession_no"], fund_quarter.filing["filed_at"]) == (accession(7), "2025-11-10")
    assert fund_quarter.filing["value_unit_rule"] == "dollars:filing_date"


def test_a_later_submissions_list_gives_the_accession_number(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    assert run(app, folder)["infotable.xml"].accession == "unfiled-" + list_stored_rows(app)["reports"][0][1][8:]
    submissions = b"""{"cik":"1234567","entityType":"other","name":"Lamp Capital LP","tickers":[],"exchanges":[],
        "filings":{"recent":{"accessionNumber":["0001234567-25-000009"],"filingDate":["2025-11-13"],
        "reportDate":["2025-09-30"],"acceptanceDateTime":["2025-11-13T10:00:00.000Z"],"form":["13F-HR"],
        "size":[1000],"isXBRL":[0],"isInlineXBRL":[0],"primaryDocument":["primary_doc.xml"],"items":[""]},"files":[]}}"""
    (outcome,) = take(app, tmp_path, submissions)
    assert outcome.outcome == "ingested", outcome
    assert list_stored_rows(app)["reports"] == [
        (FUND, accession(9), "2025-11-13", "13F-HR", "2025-09-30", 1, "dollars:filing_date")
    ]
    assert quarter(app, "2025-09-30")[1] == {APPLE: (10, 2_500, None)}


def test_a_later_filing_day_decides_the_unit_again(app: App, tmp_path: Path) -> None:
    old = ("12-31-2020", "2021-02-12", [(APPLE, 2_000, 1_000)])
    data = submission(6, old, signed="05-31-2023")
    folder = write(tmp_path / accession(6), "primary_doc.xml", data[data.index(b"<?xml") : data.index(b"</XML>")])
    write(folder, "infotable.xml", thirteenf_xml.table(thirteenf_xml.row(APPLE, 2_000, 1_000)))
    run(app, folder)
    assert list_stored_rows(app)["reports"][0][5:] == (1, "dollars:signature_date")
    header = data[: data.index(b"</SEC-HEADER>")] + b"</SEC-HEADER>\n"
    take(app, tmp_path, header.partition(b"\n")[2])
    assert list_stored_rows(app)["reports"][0][2:3] + list_stored_rows(app)["reports"][0][5:] == (
        "2021-02-12",
        1000,
        "thousands:filing_date",
    )
    assert quarter(app, "2020-12-31")[1] == {APPLE: (1_000, 2_000_000, None)}


def test_a_repeated_ingest_changes_nothing(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june())
    before = list_stored_rows(app)
    (outcome,) = take(app, tmp_path, fund_filings.june())
    assert outcome.outcome == "unchanged"
    assert list_stored_rows(app) == before


def test_covers_and_tables_are_matched_by_count_and_value(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "many", "a.xml", COVER)
    write(folder, "b.xml", thirteenf_xml.cover(cik=OTHER_FUND, name="Shade", entries=2, total=30))
    write(
        folder,
        "c.xml",
        thirteenf_xml.table(thirteenf_xml.row(APPLE, 10, 1), thirteenf_xml.row(ALLY, 20, 1)),
    )
    write(folder, "d.xml", BARE)
    write(folder, "e.xml", thirteenf_xml.table(thirteenf_xml.row(ALLY, 1, 1)))
    outcomes = run(app, folder)
    assert {name: outcome.outcome for name, outcome in outcomes.items()} == {
        "a.xml": "ingested",
        "b.xml": "ingested",
        "c.xml": "ingested",
        "d.xml": "ingested",
        "e.xml": "refused",
    }
    assert outcomes["a.xml"].accession == outcomes["d.xml"].accession != outcomes["c.xml"].accession


@pytest.mark.parametrize(
    ("cover", "table", "reason"),
    [
        (
            thirteenf_xml.cover(period="09-29-2025", entries=1),
            BARE,
            "periodOfReport: 2025-09-29 is not the end of a calendar quarter",
        ),
        (
            thirteenf_xml.cover(form="13F-NT"),
            BARE,
            "a 13F-NT must not have a table, because other managers report",
        ),
        (thirteenf_xml.cover(), None, "13F-HR cover whose table is missing"),
        (thirteenf_xml.cover(cik="x"), BARE, "cik: 'x' is not a CIK"),
    ],
)
def test_contradictory_documents_are_refused_together(
    app: App, tmp_path: Path, cover: bytes, table: bytes | None, reason: str
) -> None:
    folder = write(tmp_path / "folder", "p.xml", cover)
    expected: dict[str, str | None] = {"p.xml": reason}
    if table is not None:
        write(folder, "t.xml", table)
        expected["t.xml"] = f"its filing was refused: {folder}/p.xml: {reason}"
    outcomes = run(app, folder)
    assert {name: outcome.reason for name, outcome in outcomes.items()} == expected
    assert {outcome.outcome for outcome in outcomes.values()} == {"refused"}
    assert list_stored_rows(app)["reports"] == []


def test_holdings_before_2013_are_not_read(app: App, tmp_path: Path) -> None:
    data = fund_filings.june()
    body = b"<DOCUMENT>\n<TYPE>13F-HR\n<TEXT>\nApple 10\n</TEXT>\n</DOCUMENT>\n</SEC-DOCUMENT>\n"
    text = data[: data.index(b"<DOCUMENT>")] + body
    (outcome,) = take(app, tmp_path, text)
    assert outcome.reason == "its holdings are not in XML, as before 2013, and are not read"


def test_events_are_sent_once(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june(), fund_filings.june())
    with app.db.read() as tx:
        event_types = [row[0] for row in tx._connection.execute("SELECT type FROM events ORDER BY id")]
    assert event_types == ["new_filing", "13f_filing"]
    assert announcements.RECENT_DAYS == 7


# ---- securities


def known(app: App, number: str) -> tuple[str | None, int | None, str | None]:
    with app.db.read() as tx:
        security = securities.find_by_cusip(tx, number)
    assert security is not None
    return security["ticker"], int(security["cik"]) if security["cik"] else None, security["evidence"]


TICKERS = b"""{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."},
    "1":{"cik_str":40729,"ticker":"ALLY","title":"Ally Financial Inc."},
    "2":{"cik_str":40729,"ticker":"ALLY-PA","title":"Ally Financial Inc."}}"""


def test_a_ticker_derived_from_a_name_states_its_evidence(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june(), TICKERS)
    assert known(app, APPLE) == ("AAPL", 320193, "name")
    assert known(app, ALLY) == ("ALLY", 40729, "name")  # its preferred share is another security
    assert known(app, MICROSOFT) == (None, None, None)


def test_a_mapping_takes_precedence_over_a_name(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june(), TICKERS, b"cusip,ticker\n02005N100,ally\n037833100,AAPL\n")
    assert known(app, ALLY) == ("ALLY", 40729, "csv")
    assert known(app, APPLE) == ("AAPL", 320193, "csv")


def test_a_name_of_two_companies_gives_no_ticker(app: App, tmp_path: Path) -> None:
    twin = TICKERS.replace(b'"1":{"cik_str":40729', b'"1":{"cik_str":99').replace(
        b"Ally Financial Inc.", b"The Apple, Incorporated", 1
    )
    take(app, tmp_path, fund_filings.june(), twin)
    assert known(app, APPLE) == (None, None, None)


def test_a_legal_form_distinguishes_similar_issuers(app: App, tmp_path: Path) -> None:
    owl = TICKERS.replace(b"Apple Inc.", b"BLUE OWL CAPITAL INC.").replace(
        b"Ally Financial Inc.", b"Blue Owl Capital Corp"
    )
    rows = [("69121K104", 10, 1), ("09581B103", 20, 1)]
    names = [("BLUE OWL CAPITAL CORPORATION", "COM"), ("BLUE OWL CAPITAL INC", "COM CL A")]
    extra = "".join(
        thirteenf_xml.row(*row, nameOfIssuer=name, titleOfClass=title)
        for row, (name, title) in zip(rows, names, strict=True)
    )
    take(app, tmp_path, submission(1, ("06-30-2025", "2025-08-14", []), extra=extra), owl)
    assert known(app, "69121K104") == ("ALLY", 40729, "name")
    assert known(app, "09581B103") == ("AAPL", 320193, "name")


@pytest.mark.parametrize(
    ("issuer", "title", "company", "tickers", "expected"),
    [
        ("JPMORGAN CHASE & CO.", "COM", "JPMORGAN CHASE & CO", ["JPM", "JPM-PC", "AMJ", "AMJB"], "JPM"),
        ("ALPHABET INC", "CAP STK CL A", "Alphabet Inc.", ["GOOGL", "GOOG"], "GOOGL"),
        ("ALPHABET INC", "Common stock C", "Alphabet Inc.", ["GOOGL", "GOOG"], "GOOG"),
        ("ALPHABET INC", "COM", "Alphabet Inc.", ["GOOGL", "GOOG"], None),
        ("BERKSHIRE HATHAWAY INC DEL", "CL B NEW", "BERKSHIRE HATHAWAY INC", ["BRK-B", "BRK-A"], "BRK-B"),
        ("BERKSHIRE HATHAWAY INC DEL", "COM", "BERKSHIRE HATHAWAY INC", ["BRK-B", "BRK-A"], None),
        ("FOX CORP", "CL A COM", "Fox Corp", ["FOXA", "FOX"], "FOXA"),
        ("FOX CORP", "CL B COM", "Fox Corp", ["FOXA", "FOX"], "FOX"),
        ("ZILLOW GROUP INC", "CL C CAP STK", "ZILLOW GROUP, INC.", ["Z", "ZG"], "Z"),
        ("INTERNATIONAL FLAVORS&FRAGRA", "COM", "INTERNATIONAL FLAVORS & FRAGRANCES INC", ["IFF"], "IFF"),
        ("INTERCONTINENTAL EXCHANGE IN", "COM", "Intercontinental Exchange, Inc.", ["ICE"], "ICE"),
        ("COSTCO WHSL CORP NEW", "COM", "COSTCO WHOLESALE CORP /NEW", ["COST"], "COST"),
        ("WELLS FARGO CO NEW", "COM", "WELLS FARGO & COMPANY/MN", ["WFC", "WFC-PY"], "WFC"),
        ("BANK AMERICA CORP", "COM", "BANK OF AMERICA CORP /DE/", ["BAC", "BAC-PE", "MER-PK"], "BAC"),
        ("INTERNATIONAL BUSINESS MACHS", "COM", "INTERNATIONAL BUSINESS MACHINES CORP", ["IBM"], "IBM"),
        ("SPAC CORP", "COM CL A", "Spac Corp", ["SPAC", "SPACU", "SPACW"], "SPAC"),
        ("SPAC CORP", "*W EXP 12/31/2027", "Spac Corp", ["SPAC", "SPACU", "SPACW"], None),
    ],
)
def test_names_and_share_classes_give_the_ticker(
    app: App, tmp_path: Path, issuer: str, title: str, company: str, tickers: list[str], expected: str | None
) -> None:
    rows = {str(index): {"cik_str": 7, "ticker": outcome, "title": company} for index, outcome in enumerate(tickers)}
    row = thirteenf_xml.row(APPLE, 10, 1, nameOfIssuer=issuer.replace("&", "&amp;"), titleOfClass=title)
    take(app, tmp_path, submission(1, ("06-30-2025", "2025-08-14", []), extra=row), json.dumps(rows).encode())
    assert known(app, APPLE) == (expected, 7, "name")


def test_a_former_name_counts_unless_another_company_has_it(app: App, tmp_path: Path) -> None:
    def listed(cik: int, name: str, former: str | None = None) -> None:
        with app.db.write() as tx:
            companies.upsert_name(tx, cik, name, companies.FROM_LIST, "")
            companies.upsert_tickers(tx, cik, [(f"T{cik}", None)], companies.FROM_LIST)
            if former:
                companies.insert_former_name(tx, cik, former, None, None)

    listed(1, "Meta Platforms, Inc.", "Facebook Inc")
    row = thirteenf_xml.row(APPLE, 10, 1, nameOfIssuer="FACEBOOK INC", titleOfClass="CL A")
    take(app, tmp_path, submission(1, ("06-30-2021", "2021-08-14", []), extra=row))
    assert known(app, APPLE) == ("T1", 1, "name")
    listed(2, "Facebook, Inc.")
    assert known(app, APPLE) == ("T2", 2, "name")


@pytest.mark.slow
@needs_shared
def test_names_alone_give_tickers_for_most_of_the_value(app: App) -> None:
    folder = SHARED / "edgar"
    paths = [folder / "company_tickers.json", folder / "thirteenf"]
    ingest.run(app, paths, IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        fund_quarter, value_with_ticker = tx._connection.execute(
            """SELECT sum(value), sum(value) FILTER (WHERE ticker IS NOT NULL) FROM positions
            JOIN securities ON securities.id = security_id WHERE status <> 5"""
        ).fetchone()
    assert value_with_ticker / fund_quarter > 0.9


FAILS = b"""SETTLEMENT DATE|CUSIP|SYMBOL|QUANTITY (FAILS)|DESCRIPTION|PRICE
20250102|02005N100|ALLY|100|ALLY FINANCIAL INC|35.10
20250102|084670702|BRKB|7|BERKSHIRE HATHAWAY INC CL B|450.10
20250102|037833100|OLD|9|SOMEBODY ELSE|1.00
20250103|037833100|AAPL|9|APPLE INC|243.00
20250103|02005N101|ALLY|9|WRONG CHECK DIGIT|1.00
20250103|594918104|MSFT|x
2025|594918104|MSFT|1|MICROSOFT|1
20250103|594918104|NOT A TICKER AT ALL|1|MICROSOFT|1
Trailer record count 8
Trailer total quantity of shares 151
"""


def test_fails_to_deliver_data_give_symbols(app: App, tmp_path: Path) -> None:
    berkshire = TICKERS.replace(b"AAPL", b"BRK-B").replace(b"Apple Inc.", b"Berkshire")
    *_, outcome = take(app, tmp_path, fund_filings.june(), berkshire, FAILS)
    assert (outcome.kind, outcome.outcome) == ("fails-to-deliver", "ingested")
    assert outcome.reason == (
        "4 rows are left out; line 6: the check digit of 02005N101 is wrong; "
        "line 7: has fewer than 5 columns; line 8: '2025--' is not a date YYYY-MM-DD; "
        "line 9: 'NOT A TICKER AT ALL' is not a ticker"
    )
    assert known(app, ALLY) == ("ALLY", 40729, "fails_to_deliver")
    assert known(app, "084670702") == ("BRK-B", 320193, "fails_to_deliver")
    assert known(app, APPLE) == ("AAPL", None, "fails_to_deliver")  # the later of two symbols
    assert known(app, MICROSOFT) == (None, None, None)
    assert [outcome.outcome for outcome in take(app, tmp_path, FAILS)] == ["unchanged"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_symbol_belongs_to_the_issuer_that_had_it_last(app: App, tmp_path: Path, order: tuple[int, int]) -> None:
    head = FAILS.partition(b"\n")[0] + b"\n"
    files = (head + b"20200102|02005N100|X|1|GONE CORP|1\n", head + b"20250102|594918104|X|1|HERE CORP|1\n")
    take(app, tmp_path, fund_filings.june(), *(files[at] for at in order))
    assert known(app, ALLY) == (None, None, None)
    assert known(app, MICROSOFT) == ("X", None, "fails_to_deliver")


def test_a_mapping_takes_precedence_over_fails_to_deliver(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, fund_filings.june(), FAILS, b"cusip,ticker\n02005N100,MINE\n")
    assert known(app, ALLY) == ("MINE", None, "csv")


def line_13f(cusip: str, issuer: str, title: str, status: str = "", kind: str = "E", mark: str = "*") -> bytes:
    return f"{cusip}{mark}{issuer:28}  {title:16}           {status:3}         {kind}\n".encode()


def test_the_list_of_13f_securities_adds_unreported_cusips(app: App, tmp_path: Path) -> None:
    security_list = b"".join(
        [
            line_13f(APPLE, "APPLE INC", "COM"),
            line_13f("037833900", "APPLE INC", "CALL"),
            line_13f(ALLY, "ALLY FINL INC", "COM", "*D*"),
            line_13f("594918105", "MICROSOFT CORP", "COM", mark=" "),
            line_13f(MICROSOFT, "MICROSOFT CORP", "COM", "???"),
        ]
    )
    *_, outcome = take(app, tmp_path, TICKERS, security_list)
    assert (outcome.kind, outcome.outcome) == ("13f-list", "ingested")
    assert outcome.reason == (
        "2 rows are left out; line 4: the check digit of 594918105 is wrong; line 5: is not a line of the 13F list"
    )
    assert known(app, APPLE) == ("AAPL", 320193, "13f_list")
    assert known(app, ALLY) == ("ALLY", 40729, "13f_list")
    with app.db.read() as tx:
        assert securities.find_by_cusip(tx, "037833900") is securities.find_by_cusip(tx, MICROSOFT) is None
    assert [outcome.outcome for outcome in take(app, tmp_path, security_list)] == ["unchanged"]


def test_names_without_latin_letters_match_no_company(app: App, tmp_path: Path) -> None:
    lamp = thirteenf_xml.row(APPLE, 1, 1, nameOfIssuer="\u706f")
    tickers = TICKERS.replace(b"Apple Inc.", "\u5f71".encode())
    take(app, tmp_path, submission(1, ("06-30-2025", "2025-08-14", []), extra=lamp), tickers)
    assert known(app, APPLE) == (None, None, None)


def test_unreadable_rows_of_a_mapping_are_listed_by_line(app: App, tmp_path: Path) -> None:
    bad = b"ticker,cusip,cik\nAAPL\n"
    (outcome,) = take(app, tmp_path, bad)
    assert outcome.reason == "1 row is left out: line 2: '' is not a CUSIP"
    bad = b"cusip,ticker,cik\n037833101,AAPL,1\n037833100,A!,1\n,,\n594918104,MSFT,x\n02005N100,ALLY,40729\n"
    (outcome,) = take(app, tmp_path, bad)
    assert (outcome.outcome, outcome.reason) == (
        "ingested",
        "3 rows are left out: line 2: the check digit of 037833101 is wrong; line 3: 'A!' is not a ticker; "
        "line 5: 'x' is not a CIK",
    )
    assert known(app, ALLY) == ("ALLY", None, "csv")


def test_the_later_of_two_mapping_rows_counts(make_app: Callable[..., App], tmp_path: Path) -> None:
    older, newer = (
        b"cusip,ticker,as_of\n037833100,OLD,2024-01-01\n",
        b"cusip,ticker,as_of\n037833100,NEW,2025-01-01\n",
    )
    for order in ((older, newer), (newer, older)):
        app = make_app()
        take(app, tmp_path, *order)
        assert known(app, APPLE)[0] == "NEW"


def test_successor_chains_end_also_in_a_cycle(app: App, tmp_path: Path) -> None:
    header = b"cusip,successor,effective_date,reason\n"
    rows = header + b"037833100,594918104,2024-05-01,merger\n594918104,02005N100,2025-05-01,split\n"
    take(app, tmp_path, rows)
    with app.db.read() as tx:
        links = securities.list_successor_chain(tx, MICROSOFT)
    assert [(link["cusip"], link["effective_date"], link["reason"]) for link in links] == [
        (APPLE, None, None),
        (MICROSOFT, "2024-05-01", "merger"),
        (ALLY, "2025-05-01", "split"),
    ]
    take(app, tmp_path, b"cusip,successor\n02005N100,037833100\n")
    with app.db.read() as tx:
        assert sorted(link["cusip"] for link in securities.list_successor_chain(tx, MICROSOFT)) == sorted(
            [APPLE, MICROSOFT, ALLY]
        )


@run_each_case(
    "data, location, reason",
    [
        (b"ticker,cik\n", "line 1", "has no column named cusip"),
        (b"cusip,ticker\n\xff", "byte 13", "not UTF-8"),
        (b'cusip,ticker\n"037833100,A', "line 2", "not CSV: unexpected end of data"),
        # Empty cells by the thousand would cost twenty times the file.
        (b"cusip,ticker\n" + b"," * 100_001, "line 2", "a line of more than 100000 characters"),
    ],
)
def test_invalid_mappings_are_refused(data: bytes, location: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        cusip_map.parse_mappings(data, "map.csv")
    assert (caught.value.place, caught.value.reason) == (location, reason)


def test_ten_unreadable_rows_are_listed_and_all_are_counted() -> None:
    rows, left_out = cusip_map.parse_mappings(b"cusip,ticker\n" + b"1\n" * 5_000, "map.csv")
    assert (rows, left_out.count, len(left_out.first_messages)) == ([], 5_000, 10)
    assert str(left_out).startswith("5,000 rows are left out: line 2: ")


@run_each_case(
    "outcome, other_name",
    [
        ("AMAZON COM INC", "Amazon.com, Inc."),
        ("ALLY FINL INC", "Ally Financial Inc."),
        ("EPAM SYS INC", "EPAM Systems, Inc."),
        ("3M CO", "3M Company"),
        ("BERKSHIRE HATHAWAY INC DEL", "Berkshire Hathaway Inc"),
    ],
)
def test_names_of_one_company_have_one_key(outcome: str, other_name: str) -> None:
    assert issuer_names.build_key(outcome) == issuer_names.build_key(other_name)


def test_names_of_different_companies_have_different_keys() -> None:
    assert issuer_names.build_key("Apple Hospitality REIT, Inc.") != issuer_names.build_key("Apple Inc.")
    assert issuer_names.build_key("THE COMPANY INC") != ""


@run_each_case(
    "issuer, title, group",
    [
        ("APPLE INC", "COM", "Stocks"),
        ("ALPHABET INC", "CAP STK CL C", "Stocks"),
        ("ISHARES TR", "MSCI CHILE", "ETFs"),
        ("FORD MTR CO", "NOTE 3/1", "Debt"),
        ("ACME", "*W EXP 12/31/2027", "Warrants"),
        ("ACME", "PFD SER A", "Preferred"),
        ("ACME", "UNIT 1 COM", "Other"),
    ],
)
def test_a_security_is_grouped_by_its_class(issuer: str, title: str, group: str) -> None:
    assert issuer_names.classify_security(issuer, title) == group


def test_class_letters_are_parsed() -> None:
    assert issuer_names.find_class_letter("CL B NEW") == "B"
    assert issuer_names.find_class_letter("CAP STK CL C") == "C"
    assert issuer_names.find_class_letter("COM") is None


def test_an_unreadable_table_leaves_no_positions_behind(app: App, tmp_path: Path) -> None:
    def count_positions() -> dict[str, int]:
        names = ("holdings_reports", "securities")
        with app.db.read() as tx:
            return {name: tx._connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}

    before = count_positions()
    stored, refused = take(app, tmp_path, fund_filings.june().replace(b"<value>", b"<worth>", 1))
    assert (stored.outcome, stored.kind) == ("ingested", "full-submission")
    assert (refused.outcome, refused.accession) == ("refused", None)
    assert count_positions() == before
