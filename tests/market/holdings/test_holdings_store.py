"""13F filings through the ingest: what is stored, what is refused, and that no order of documents shows."""

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
from tests.support import fund_filings as ours
from tests.support import thirteenf_xml as made
from tests.support.fund_filings import FUND, accession, stored, submission, take

FOLDER = SHARED / "edgar" / "thirteenf"

MAPPING = b"CUSIP,Symbol,CIK,Issuer Name,As Of\n037833100,AAPL,320193,Apple Inc.,2025-01-01\n"


def run(app: App, *paths: Path, **given: str) -> dict[str, Outcome]:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(**given), outcomes.append)
    return {outcome.path.rpartition("/")[2]: outcome for outcome in outcomes}


def quarter(app: App, period: str, cik: int = FUND) -> tuple[funds.FundQuarter, dict[str, tuple[Any, ...]]]:
    """A fund's quarter and its positions: CUSIP (and put or call) to shares, value, status."""
    with app.db.read() as tx:
        held = funds.get_quarter(tx, cik, period)
        rows, _ = funds.list_holdings(tx, held, options="all", limit=100)
        gone, _ = funds.list_holdings(tx, held, options="all", status="closed", limit=100)
    return held, {
        row["cusip"] + (row["put_call"] or ""): (row["shares"], row["value_usd"], row["status"])
        for row in [*rows, *gone]
    }


# ---- the SEC's own


@needs_shared
def test_every_shared_document_is_ingested_or_refused_with_its_reason(app: App) -> None:
    outcomes = run(app, FOLDER)
    incomplete = (
        "the table has 5 of the 90 rows that its cover says: no change is concluded from it; "
        "the filing date is not known: it counts as the first of its quarter"
    )
    assert {name: (one.outcome, one.reason, one.accession) for name, one in outcomes.items()} == {
        "0001140361-23-013281.txt": ("ingested", None, "0001140361-23-013281"),
        "0001619124-21-000002.txt": ("ingested", None, "0001619124-21-000002"),
        "0001894188-23-000007.txt": ("ingested", None, "0001894188-23-000007"),
        "brk_2026q1_0001193125-26-226661_index.json": (
            "skipped",
            "says nothing that the filing's own documents do not say",
            None,
        ),
        "brk_2026q1_0001193125-26-226661_primary_doc.xml": ("ingested", incomplete, "0001193125-26-226661"),
        "brk_2026q1_0001193125-26-226661_infotable_TRIMMED.xml": ("ingested", incomplete, "0001193125-26-226661"),
        "infotable_255rows.xml": (
            "refused",
            "is the table of a 13F without its cover, which alone says whose it is and of which quarter",
            None,
        ),
        "abacus_0001978011_primary_doc.xml": ("refused", "is a 13F-HR cover without its table of 92 entries", None),
    }
    assert {one.outcome for one in run(app, FOLDER).values()} == {"unchanged", "skipped", "refused"}


@needs_shared
@pytest.mark.parametrize(
    ("cik", "value", "count", "rule"),
    [
        (1099219, 11_019_796, 6, "dollars:filing_date"),
        (1619124, 732_158_000, 5, "thousands:filing_date"),
        (1894188, 454_926_000, 14, "dollars:filing_date"),
    ],
)
def test_full_tables_tie_to_their_covers_in_dollars(app: App, cik: int, value: int, count: int, rule: str) -> None:
    run(app, FOLDER)
    with app.db.read() as tx:
        held = funds.get_quarter(tx, cik, None)
        rows, total = funds.list_holdings(tx, held, limit=100)
    assert held.filing["table_ties"]
    assert (held.value, held.filing["table_value_total"], sum(row["value_usd"] for row in rows)) == (value,) * 3
    assert (held.positions, held.filing["table_entry_total"], total) == (count,) * 3
    assert {row["value_unit_rule"] for row in rows} == {rule}


@needs_shared
def test_a_trimmed_table_says_that_it_does_not_tie(app: App) -> None:
    run(app, FOLDER)
    with app.db.read() as tx:
        held = funds.get_quarter(tx, 1067983, None)
        rows, _ = funds.list_holdings(tx, held, limit=100)
    assert not held.filing["table_ties"]
    assert (held.filing["table_rows"], held.filing["table_entry_total"]) == (5, 90)
    assert (held.filing["table_rows_value"], held.value) == (2_160_900_777, 263_095_703_570)
    assert (held.has_known_changes, held.reason) == (False, "quarter_incomplete")
    # Two rows for one security are one position.
    ally = next(row for row in rows if row["cusip"] == made.ALLY)
    assert (ally["shares"], ally["value_usd"], ally["table_rows"]) == (15_523_550, 608_988_866, 2)
    assert ally["other_managers"] == "2,4,11"


# ---- quarters and amendments


def test_changes_against_the_quarter_before(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june(), ours.september())
    held, rows = quarter(app, "2025-09-30")
    assert rows == {
        made.APPLE: (15, 3_750, "increased"),
        made.MICROSOFT: (5, 2_500, "decreased"),
        made.ALLY: (0, 0, "closed"),
    }
    assert held.counts == {"new": 0, "increased": 1, "decreased": 1, "unchanged": 0, "closed": 1}
    first, rows = quarter(app, "2025-06-30")
    assert (first.reason, rows[made.ALLY]) == ("previous_quarter_not_held", (10, 400, None))


def test_a_restatement_replaces_its_quarter_and_moves_the_next(app: App, tmp_path: Path) -> None:
    restated = ("06-30-2025", "2025-09-01", [(made.APPLE, 5_000, 20)])
    amended = submission(4, restated, form="13F-HR/A", amendment=(1, "RESTATEMENT"))
    take(app, tmp_path, ours.june(), ours.september(), amended)
    assert quarter(app, "2025-06-30")[1] == {made.APPLE: (20, 5_000, None)}
    held, rows = quarter(app, "2025-09-30")
    assert rows == {made.APPLE: (15, 3_750, "decreased"), made.MICROSOFT: (5, 2_500, "new")}
    assert held.counts["closed"] == 0


def test_new_holdings_are_united_with_what_stands(app: App, tmp_path: Path) -> None:
    added = ("09-30-2025", "2025-12-20", [(made.APPLE, 250, 1), (made.ALLY, 800, 20)])
    take(app, tmp_path, ours.september(), submission(4, added, form="13F-HR/A", amendment=(1, "NEW HOLDINGS")))
    held, rows = quarter(app, "2025-09-30")
    assert rows == {made.APPLE: (16, 4_000, None), made.MICROSOFT: (5, 2_500, None), made.ALLY: (20, 800, None)}
    assert (held.value, held.filing["reports_united"], held.filing["accession_no"]) == (7_300, 2, accession(4))


def test_options_stand_apart_from_shares(app: App, tmp_path: Path) -> None:
    put = made.row(made.APPLE, 5_000, 20, putCall="Put")
    take(app, tmp_path, submission(2, ours.SEPTEMBER, extra=put))
    held, rows = quarter(app, "2025-09-30")
    assert (rows[made.APPLE], rows[made.APPLE + "Put"]) == ((15, 3_750, None), (20, 5_000, None))
    with app.db.read() as tx:
        assert funds.list_holdings(tx, held, options="none", limit=9)[1] == 2
        assert funds.list_holdings(tx, held, options="only", limit=9)[1] == 1
        sums = [tuple(row) for row in tx._connection.execute("SELECT shares, value FROM security_quarters ORDER BY 1")]
    assert sums == [(5, 2_500), (15, 3_750)]


def test_nothing_is_concluded_from_a_quarter_with_missing_rows(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, submission(1, ours.JUNE, entries=9), ours.september())
    held, rows = quarter(app, "2025-09-30")
    assert (held.has_known_changes, held.reason) == (False, "previous_quarter_incomplete")
    assert set(rows) == {made.APPLE, made.MICROSOFT}
    # The whole table, ingested later, is taken instead of the trimmed one.
    take(app, tmp_path, ours.june())
    assert quarter(app, "2025-09-30")[1][made.ALLY] == (0, 0, "closed")


def test_a_notice_is_a_filing_without_holdings(app: App, tmp_path: Path) -> None:
    notice = submission(5, ("09-30-2025", "2025-11-14", []), form="13F-NT", entries=0)
    (outcome,) = take(app, tmp_path, notice)
    assert (outcome.outcome, outcome.reason) == ("ingested", None)
    with app.db.read() as tx:
        assert funds.list_periods(tx, FUND) == []
        assert [tuple(row) for row in tx._connection.execute("SELECT form, row_count FROM holdings_reports")] == [
            ("13F-NT", 0)
        ]


def test_values_in_thousands_are_dollars_in_what_is_held(app: App, tmp_path: Path) -> None:
    cents = ("09-30-2025", "2025-11-14", [(made.APPLE, 250, 1_000), (made.MICROSOFT, 500, 1_000)])
    take(app, tmp_path, submission(2, cents))
    held, rows = quarter(app, "2025-09-30")
    assert rows == {made.APPLE: (1_000, 250_000, None), made.MICROSOFT: (1_000, 500_000, None)}
    assert (held.filing["value_unit_rule"], held.filing["value_corrected"]) == ("thousands:implied_price", True)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_fund_a_thousand_times_off_the_others_is_corrected_whichever_comes_first(
    app: App, tmp_path: Path, order: tuple[int, ...]
) -> None:
    # Shares of $700,000 and $600,000: in thousands nothing but other managers' prices tells.
    rows = [
        [(made.APPLE, 700, 1), (made.MICROSOFT, 1_200, 2)],
        [(made.APPLE, 1_400_000, 2), (made.MICROSOFT, 600_000, 1)],
        [(made.APPLE, 2_130_000, 3)],
    ]
    told = [("09-30-2025", "2025-11-14", one) for one in rows]
    funds_ = [made.LAMP_FUND, made.OTHER_FUND, "0000000009"]
    documents = [submission(number, told[number], cik=funds_[number], name=f"Fund {number}") for number in range(3)]
    take(app, tmp_path, *(documents[one] for one in order))
    held, positions = quarter(app, "2025-09-30")
    # Of Microsoft one other manager tells, who is not enough; of Apple two do.
    assert positions[made.APPLE][:2] == (1, 700_000)
    assert (held.value, held.filing["value_unit_rule"]) == (1_900_000, "thousands:other_managers")
    assert held.filing["value_corrected"] is True
    for number in (1, 2):
        held, _ = quarter(app, "2025-09-30", int(funds_[number]))
        assert held.filing["value_unit_rule"] == "dollars:filing_date"


@pytest.mark.slow
def test_no_order_of_documents_shows(make_app: Callable[..., App], tmp_path: Path) -> None:
    documents = [
        ours.june(),
        ours.september(),
        submission(
            4,
            ("06-30-2025", "2025-09-01", [(made.APPLE, 5_000, 20)]),
            form="13F-HR/A",
            amendment=(1, "RESTATEMENT"),
            name="Lamp Capital Management",
        ),
        ours.others(),
        MAPPING,
    ]
    found = []
    # Every fifth of the 120 orders: each document comes first, and last, in some of them.
    for some in itertools.islice(itertools.permutations(documents), 0, None, 5):
        app = make_app()
        take(app, tmp_path, *some)
        found.append(stored(app))
    assert all(one == found[0] for one in found)
    assert [row[1] for row in found[0]["funds"]] == ["Lamp Capital LP", "Shade Partners"]


# ---- which filing it is


def write(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


BARE = made.table(made.row(made.APPLE, 2_500, 10))
COVER = made.cover(entries=1, total=2_500)


def test_bare_documents_of_a_folder_are_one_filing_named_after_the_folder(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "000123456725000009", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    assert {name: (one.outcome, one.accession) for name, one in run(app, folder).items()} == {
        "primary_doc.xml": ("ingested", accession(9)),
        "infotable.xml": ("ingested", accession(9)),
    }
    assert quarter(app, "2025-09-30")[0].filing["filed_at"] is None


def test_what_the_operator_says_names_the_filing(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    run(app, folder, accession=accession(7), filed_at="2025-11-10")
    held, _ = quarter(app, "2025-09-30")
    assert (held.filing["accession_no"], held.filing["filed_at"]) == (accession(7), "2025-11-10")
    assert held.filing["value_unit_rule"] == "dollars:filing_date"


def test_a_report_without_any_number_waits_for_a_list_that_tells_it(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", "primary_doc.xml", COVER)
    write(folder, "infotable.xml", BARE)
    assert run(app, folder)["infotable.xml"].accession == "unfiled-" + stored(app)["reports"][0][1][8:]
    listed = b"""{"cik":"1234567","entityType":"other","name":"Lamp Capital LP","tickers":[],"exchanges":[],
        "filings":{"recent":{"accessionNumber":["0001234567-25-000009"],"filingDate":["2025-11-13"],
        "reportDate":["2025-09-30"],"acceptanceDateTime":["2025-11-13T10:00:00.000Z"],"form":["13F-HR"],
        "size":[1000],"isXBRL":[0],"isInlineXBRL":[0],"primaryDocument":["primary_doc.xml"],"items":[""]},"files":[]}}"""
    (outcome,) = take(app, tmp_path, listed)
    assert outcome.outcome == "ingested", outcome
    assert stored(app)["reports"] == [
        (FUND, accession(9), "2025-11-13", "13F-HR", "2025-09-30", 1, "dollars:filing_date")
    ]
    assert quarter(app, "2025-09-30")[1] == {made.APPLE: (10, 2_500, None)}


def test_a_day_that_becomes_known_decides_the_unit_again(app: App, tmp_path: Path) -> None:
    old = ("12-31-2020", "2021-02-12", [(made.APPLE, 2_000, 1_000)])
    data = submission(6, old, signed="05-31-2023")
    folder = write(tmp_path / accession(6), "primary_doc.xml", data[data.index(b"<?xml") : data.index(b"</XML>")])
    write(folder, "infotable.xml", made.table(made.row(made.APPLE, 2_000, 1_000)))
    run(app, folder)
    assert stored(app)["reports"][0][5:] == (1, "dollars:signature_date")
    header = data[: data.index(b"</SEC-HEADER>")] + b"</SEC-HEADER>\n"
    take(app, tmp_path, header.partition(b"\n")[2])
    assert stored(app)["reports"][0][2:3] + stored(app)["reports"][0][5:] == (
        "2021-02-12",
        1000,
        "thousands:filing_date",
    )
    assert quarter(app, "2020-12-31")[1] == {made.APPLE: (1_000, 2_000_000, None)}


def test_the_same_filing_again_is_a_no_op(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june())
    before = stored(app)
    (outcome,) = take(app, tmp_path, ours.june())
    assert outcome.outcome == "unchanged"
    assert stored(app) == before


def test_several_covers_and_tables_find_each_other_by_count_and_value(app: App, tmp_path: Path) -> None:
    folder = write(tmp_path / "many", "a.xml", COVER)
    write(folder, "b.xml", made.cover(cik=made.OTHER_FUND, name="Shade", entries=2, total=30))
    write(folder, "c.xml", made.table(made.row(made.APPLE, 10, 1), made.row(made.ALLY, 20, 1)))
    write(folder, "d.xml", BARE)
    write(folder, "e.xml", made.table(made.row(made.ALLY, 1, 1)))
    outcomes = run(app, folder)
    assert {name: one.outcome for name, one in outcomes.items()} == {
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
            made.cover(period="09-29-2025", entries=1),
            BARE,
            "periodOfReport: 2025-09-29 is not the end of a calendar quarter",
        ),
        (made.cover(form="13F-NT"), BARE, "a 13F-NT says that other managers report, but has a table of its own"),
        (made.cover(), None, "is a 13F-HR cover without its table"),
        (made.cover(cik="x"), BARE, "cik: 'x' is not a CIK"),
    ],
)
def test_a_filing_that_cannot_be_one_is_refused_whole(
    app: App, tmp_path: Path, cover: bytes, table: bytes | None, reason: str
) -> None:
    folder = write(tmp_path / "folder", "p.xml", cover)
    expected: dict[str, str | None] = {"p.xml": reason}
    if table is not None:
        write(folder, "t.xml", table)
        expected["t.xml"] = f"its filing was refused: {folder}/p.xml: {reason}"
    outcomes = run(app, folder)
    assert {name: one.reason for name, one in outcomes.items()} == expected
    assert {one.outcome for one in outcomes.values()} == {"refused"}
    assert stored(app)["reports"] == []


def test_a_submission_of_before_2013_says_that_its_holdings_are_not_read(app: App, tmp_path: Path) -> None:
    data = ours.june()
    body = b"<DOCUMENT>\n<TYPE>13F-HR\n<TEXT>\nApple 10\n</TEXT>\n</DOCUMENT>\n</SEC-DOCUMENT>\n"
    text = data[: data.index(b"<DOCUMENT>")] + body
    (outcome,) = take(app, tmp_path, text)
    assert outcome.reason == "its holdings are not in XML, as before 2013, and are not read"


def test_the_feeds_are_told_once(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june(), ours.june())
    with app.db.read() as tx:
        told = [row[0] for row in tx._connection.execute("SELECT type FROM events ORDER BY id")]
    assert told == ["new_filing", "13f_filing"]
    assert announcements.RECENT_DAYS == 7


# ---- securities


def known(app: App, number: str) -> tuple[str | None, int | None, str | None]:
    with app.db.read() as tx:
        found = securities.find_by_cusip(tx, number)
    assert found is not None
    return found["ticker"], int(found["cik"]) if found["cik"] else None, found["evidence"]


TICKERS = b"""{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."},
    "1":{"cik_str":40729,"ticker":"ALLY","title":"Ally Financial Inc."},
    "2":{"cik_str":40729,"ticker":"ALLY-PA","title":"Ally Financial Inc."}}"""


def test_a_ticker_is_concluded_from_the_name_of_an_issuer_and_says_so(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june(), TICKERS)
    assert known(app, made.APPLE) == ("AAPL", 320193, "name")
    assert known(app, made.ALLY) == ("ALLY", 40729, "name")  # its preferred share is another security
    assert known(app, made.MICROSOFT) == (None, None, None)


def test_a_loaded_mapping_speaks_before_a_name(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june(), TICKERS, b"cusip,ticker\n02005N100,ally\n037833100,AAPL\n")
    assert known(app, made.ALLY) == ("ALLY", 40729, "csv")
    assert known(app, made.APPLE) == ("AAPL", 320193, "csv")


def test_two_companies_of_one_name_are_none(app: App, tmp_path: Path) -> None:
    twin = TICKERS.replace(b'"1":{"cik_str":40729', b'"1":{"cik_str":99').replace(
        b"Ally Financial Inc.", b"The Apple, Incorporated", 1
    )
    take(app, tmp_path, ours.june(), twin)
    assert known(app, made.APPLE) == (None, None, None)


def test_a_legal_form_tells_a_manager_from_its_own_fund(app: App, tmp_path: Path) -> None:
    owl = TICKERS.replace(b"Apple Inc.", b"BLUE OWL CAPITAL INC.").replace(
        b"Ally Financial Inc.", b"Blue Owl Capital Corp"
    )
    rows = [("69121K104", 10, 1), ("09581B103", 20, 1)]
    names = [("BLUE OWL CAPITAL CORPORATION", "COM"), ("BLUE OWL CAPITAL INC", "COM CL A")]
    extra = "".join(
        made.row(*row, nameOfIssuer=name, titleOfClass=title) for row, (name, title) in zip(rows, names, strict=True)
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
def test_names_abbreviations_and_classes_tell_the_ticker(
    app: App, tmp_path: Path, issuer: str, title: str, company: str, tickers: list[str], expected: str | None
) -> None:
    rows = {str(at): {"cik_str": 7, "ticker": one, "title": company} for at, one in enumerate(tickers)}
    row = made.row(made.APPLE, 10, 1, nameOfIssuer=issuer.replace("&", "&amp;"), titleOfClass=title)
    take(app, tmp_path, submission(1, ("06-30-2025", "2025-08-14", []), extra=row), json.dumps(rows).encode())
    assert known(app, made.APPLE) == (expected, 7, "name")


def test_a_former_name_counts_where_nobody_has_it_today(app: App, tmp_path: Path) -> None:
    def listed(cik: int, name: str, former: str | None = None) -> None:
        with app.db.write() as tx:
            companies.upsert_name(tx, cik, name, companies.FROM_LIST, "")
            companies.upsert_tickers(tx, cik, [(f"T{cik}", None)], companies.FROM_LIST)
            if former:
                companies.insert_former_name(tx, cik, former, None, None)

    listed(1, "Meta Platforms, Inc.", "Facebook Inc")
    row = made.row(made.APPLE, 10, 1, nameOfIssuer="FACEBOOK INC", titleOfClass="CL A")
    take(app, tmp_path, submission(1, ("06-30-2021", "2021-08-14", []), extra=row))
    assert known(app, made.APPLE) == ("T1", 1, "name")
    listed(2, "Facebook, Inc.")
    assert known(app, made.APPLE) == ("T2", 2, "name")


@pytest.mark.slow
@needs_shared
def test_nine_tenths_of_the_value_at_hand_have_a_ticker_from_names_alone(app: App) -> None:
    folder = SHARED / "edgar"
    paths = [folder / "company_tickers.json", folder / "thirteenf"]
    ingest.run(app, paths, IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        held, named = tx._connection.execute(
            """SELECT sum(value), sum(value) FILTER (WHERE ticker IS NOT NULL) FROM positions
            JOIN securities ON securities.id = security_id WHERE status <> 5"""
        ).fetchone()
    assert named / held > 0.9


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


def test_fails_to_deliver_tell_the_symbol_of_a_cusip(app: App, tmp_path: Path) -> None:
    berkshire = TICKERS.replace(b"AAPL", b"BRK-B").replace(b"Apple Inc.", b"Berkshire")
    *_, told = take(app, tmp_path, ours.june(), berkshire, FAILS)
    assert (told.kind, told.outcome) == ("fails-to-deliver", "ingested")
    assert told.reason == (
        "4 rows are left out; line 6: the check digit of 02005N101 is wrong; "
        "line 7: has fewer than 5 columns; line 8: '2025--' is not a date YYYY-MM-DD; "
        "line 9: 'NOT A TICKER AT ALL' is not a ticker"
    )
    assert known(app, made.ALLY) == ("ALLY", 40729, "fails_to_deliver")
    assert known(app, "084670702") == ("BRK-B", 320193, "fails_to_deliver")
    assert known(app, made.APPLE) == ("AAPL", None, "fails_to_deliver")  # the later of two symbols
    assert known(app, made.MICROSOFT) == (None, None, None)
    assert [one.outcome for one in take(app, tmp_path, FAILS)] == ["unchanged"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_symbol_that_another_issuer_bears_later_is_no_longer_the_first_ones(
    app: App, tmp_path: Path, order: tuple[int, int]
) -> None:
    head = FAILS.partition(b"\n")[0] + b"\n"
    files = (head + b"20200102|02005N100|X|1|GONE CORP|1\n", head + b"20250102|594918104|X|1|HERE CORP|1\n")
    take(app, tmp_path, ours.june(), *(files[at] for at in order))
    assert known(app, made.ALLY) == (None, None, None)
    assert known(app, made.MICROSOFT) == ("X", None, "fails_to_deliver")


def test_a_loaded_mapping_speaks_before_fails_to_deliver(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, ours.june(), FAILS, b"cusip,ticker\n02005N100,MINE\n")
    assert known(app, made.ALLY) == ("MINE", None, "csv")


def line_13f(cusip: str, issuer: str, title: str, status: str = "", kind: str = "E", mark: str = "*") -> bytes:
    return f"{cusip}{mark}{issuer:28}  {title:16}           {status:3}         {kind}\n".encode()


def test_the_list_of_13f_securities_names_a_cusip_that_no_report_has(app: App, tmp_path: Path) -> None:
    listed = b"".join(
        [
            line_13f(made.APPLE, "APPLE INC", "COM"),
            line_13f("037833900", "APPLE INC", "CALL"),
            line_13f(made.ALLY, "ALLY FINL INC", "COM", "*D*"),
            line_13f("594918105", "MICROSOFT CORP", "COM", mark=" "),
            line_13f(made.MICROSOFT, "MICROSOFT CORP", "COM", "???"),
        ]
    )
    *_, told = take(app, tmp_path, TICKERS, listed)
    assert (told.kind, told.outcome) == ("13f-list", "ingested")
    assert told.reason == (
        "2 rows are left out; line 4: the check digit of 594918105 is wrong; line 5: not a line of the list"
    )
    assert known(app, made.APPLE) == ("AAPL", 320193, "13f_list")
    assert known(app, made.ALLY) == ("ALLY", 40729, "13f_list")
    with app.db.read() as tx:
        assert securities.find_by_cusip(tx, "037833900") is securities.find_by_cusip(tx, made.MICROSOFT) is None
    assert [one.outcome for one in take(app, tmp_path, listed)] == ["unchanged"]


def test_names_without_a_letter_that_is_read_are_nobodys(app: App, tmp_path: Path) -> None:
    lamp = made.row(made.APPLE, 1, 1, nameOfIssuer="\u706f")
    tickers = TICKERS.replace(b"Apple Inc.", "\u5f71".encode())
    take(app, tmp_path, submission(1, ("06-30-2025", "2025-08-14", []), extra=lamp), tickers)
    assert known(app, made.APPLE) == (None, None, None)


def test_rows_of_a_mapping_that_cannot_be_read_are_named_by_line(app: App, tmp_path: Path) -> None:
    bad = b"ticker,cusip,cik\nAAPL\n"
    (outcome,) = take(app, tmp_path, bad)
    assert outcome.reason == "1 rows are left out: line 2: '' is not a CUSIP"
    bad = b"cusip,ticker,cik\n037833101,AAPL,1\n037833100,A!,1\n,,\n594918104,MSFT,x\n02005N100,ALLY,40729\n"
    (outcome,) = take(app, tmp_path, bad)
    assert (outcome.outcome, outcome.reason) == (
        "ingested",
        "3 rows are left out: line 2: the check digit of 037833101 is wrong; line 3: 'A!' is not a ticker; "
        "line 5: 'x' is not a CIK",
    )
    assert known(app, made.ALLY) == ("ALLY", None, "csv")


def test_of_two_rows_for_a_cusip_the_later_day_stands(make_app: Callable[..., App], tmp_path: Path) -> None:
    older, newer = (
        b"cusip,ticker,as_of\n037833100,OLD,2024-01-01\n",
        b"cusip,ticker,as_of\n037833100,NEW,2025-01-01\n",
    )
    for order in ((older, newer), (newer, older)):
        app = make_app()
        take(app, tmp_path, *order)
        assert known(app, made.APPLE)[0] == "NEW"


def test_cusips_follow_each_other_and_a_circle_ends(app: App, tmp_path: Path) -> None:
    header = b"cusip,successor,effective_date,reason\n"
    rows = header + b"037833100,594918104,2024-05-01,merger\n594918104,02005N100,2025-05-01,split\n"
    take(app, tmp_path, rows)
    with app.db.read() as tx:
        links = securities.list_successor_chain(tx, made.MICROSOFT)
    assert [(one["cusip"], one["effective_date"], one["reason"]) for one in links] == [
        (made.APPLE, None, None),
        (made.MICROSOFT, "2024-05-01", "merger"),
        (made.ALLY, "2025-05-01", "split"),
    ]
    take(app, tmp_path, b"cusip,successor\n02005N100,037833100\n")
    with app.db.read() as tx:
        assert sorted(one["cusip"] for one in securities.list_successor_chain(tx, made.MICROSOFT)) == sorted(
            [made.APPLE, made.MICROSOFT, made.ALLY]
        )


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (b"ticker,cik\n", "line 1", "has no column named cusip"),
        (b"cusip,ticker\n\xff", "byte 13", "not UTF-8"),
        (b'cusip,ticker\n"037833100,A', "line 2", "not CSV: unexpected end of data"),
        # Empty cells by the thousand would cost twenty times the file.
        (b"cusip,ticker\n" + b"," * 20_001, "line 2", "a line of more than 20000 characters"),
    ],
)
def test_a_mapping_that_is_none_is_refused(data: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        cusip_map.parse_mappings(data, "map.csv")
    assert (caught.value.place, caught.value.reason) == (place, reason)


def test_of_rows_that_cannot_be_read_the_first_ten_are_kept_and_the_rest_counted() -> None:
    rows, left_out = cusip_map.parse_mappings(b"cusip,ticker\n" + b"1\n" * 5_000, "map.csv")
    assert (rows, left_out.count, len(left_out.first)) == ([], 5_000, 10)
    assert str(left_out).startswith("5000 rows are left out: line 2: ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("AMAZON COM INC", "Amazon.com, Inc."),
        ("ALLY FINL INC", "Ally Financial Inc."),
        ("EPAM SYS INC", "EPAM Systems, Inc."),
        ("3M CO", "3M Company"),
        ("BERKSHIRE HATHAWAY INC DEL", "Berkshire Hathaway Inc"),
    ],
)
def test_names_of_one_company_have_one_key(one: str, other: str) -> None:
    assert issuer_names.build_key(one) == issuer_names.build_key(other)


def test_names_of_different_companies_have_different_keys() -> None:
    assert issuer_names.build_key("Apple Hospitality REIT, Inc.") != issuer_names.build_key("Apple Inc.")
    assert issuer_names.build_key("THE COMPANY INC") != ""


@pytest.mark.parametrize(
    ("issuer", "title", "group"),
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


def test_the_letter_of_a_class() -> None:
    assert issuer_names.find_class_letter("CL B NEW") == "B"
    assert issuer_names.find_class_letter("CAP STK CL C") == "C"
    assert issuer_names.find_class_letter("COM") is None


def test_a_refused_submission_leaves_nothing_behind(app: App, tmp_path: Path) -> None:
    def everything() -> dict[str, int]:
        names = (
            "filings",
            "filing_documents",
            "filing_parties",
            "companies",
            "events",
            "holdings_reports",
            "securities",
        )
        with app.db.read() as tx:
            return {name: tx._connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}

    before = everything()
    (outcome,) = take(app, tmp_path, ours.june().replace(b"<value>", b"<worth>", 1))
    assert (outcome.outcome, outcome.accession) == ("refused", None)
    assert everything() == before
