"""Storing Schedules 13D and 13G: the lead of a filing, the filing before it, and filings with a header only."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from finapi.app import App
from finapi.edgar import schedules as parser
from finapi.edgar import sgml
from finapi.edgar.form_families import SCHEDULES
from finapi.market.documents import families, filing_store, metadata, packs
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.ownership import holder_ids, purposes, schedule_filings, schedule_store
from finapi.market.ownership.schedule_filings import ScheduleFilters
from tests.conftest import NOW
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case

WICK, BEN, FUND = made.WICK, made.BEN, made.FUND


def store_schedule(app: App, data: bytes, accession: str, filed: str | None) -> bool:
    schedule = parser.parse(data, "primary_doc.xml")
    with app.db.write() as tx:
        return schedule_store.upsert(tx, schedule, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW)


def list_filings(app: App, **filters: Any) -> list[dict[str, Any]]:
    with app.db.read() as tx:
        return [{**row} for row in schedule_filings.list_filings(tx, ScheduleFilters(**filters), 50, 0)[0]]


def test_first_filing_states_why_prior_figures_are_null(app: App) -> None:
    assert store_schedule(app, made.d(), made.FIRST, "2025-03-05") is True
    assert store_schedule(app, made.d(), made.FIRST, "2025-03-05") is False
    assert list_filings(app) == [
        {
            "accessionNumber": made.FIRST,
            "formType": "SCHEDULE 13D",
            "filedAt": "2025-03-05T00:00:00.000Z",
            "issuerCik": "0001234567",
            "issuerTicker": None,
            "nameOfIssuer": "Brook Lamps Inc.",
            "filerCik": "0000000103",
            "filerName": "Wick Capital LP",
            "percentOfClass": Decimal("7.5"),
            "sharesOwned": Decimal(1000000),
            "priorPercent": None,
            "priorShares": None,
            "percentChange": None,
            "sharesChange": None,
            "splitFactor": None,
            "priorAccessionNumber": None,
            "purpose": "The shares were bought for investment.",
            "dateOfEvent": "2025-03-03",
            "isAmendment": False,
            "isConversion": False,
            "intentFlags": {
                "board_seat_demand": False,
                "intends_to_acquire": False,
                "opposes_management": False,
                "seeks_sale_or_merger": False,
            },
            "soleVotingPower": Decimal(0),
            "sharedVotingPower": Decimal(1000000),
            "cusip": "037833100",
            "titleOfClass": "Common Stock, $0.001 par value",
            "reportingPersonCount": 1,
            "holderUuid": "f1a9c1c0-0000-8000-8000-000000000103",
            "holes": {
                "priorPercent": "no_earlier_filing",
                "percentChange": "needs_both_filings",
                "priorShares": "no_earlier_filing",
                "sharesChange": "needs_both_filings",
            },
        }
    ]


def test_joint_filing_has_the_figures_of_its_lead(app: App) -> None:
    persons = (
        made.person(FUND, "600000", "4.5"),
        made.person(WICK, "1000000", "7.5"),
        made.person(BEN, "1000000", "7.5", types="IN"),
    )
    store_schedule(app, made.d(*persons), made.FIRST, "2025-03-05")
    (row,) = list_filings(app)
    assert (row["filerName"], row["sharesOwned"], row["percentOfClass"]) == (
        "Wick Capital LP",
        Decimal(1000000),
        Decimal("7.5"),
    )
    assert row["reportingPersonCount"] == 3
    # A list that is limited to one of them has the figures of that person, once.
    (row,) = list_filings(app, holders=[holder_ids.for_cik(104)])
    assert (row["filerName"], row["sharesOwned"]) == ("Wick Master Fund", Decimal(600000))


def test_change_compares_with_the_previous_filing_of_the_cusip(app: App) -> None:
    store_schedule(app, made.d(), made.FIRST, "2025-03-05")
    other = made.d(made.person(shares="50", percent="40"), cusip="594918104")
    store_schedule(app, other, made.SECOND, "2025-03-06")
    amended = made.d(made.person(shares="1200000", percent="9.1"), form="SCHEDULE 13D/A", number="1")
    store_schedule(app, amended, made.THIRD, "2025-06-05")
    row = list_filings(app)[0]
    assert row["priorAccessionNumber"] == made.FIRST
    assert (row["priorPercent"], row["percentChange"], row["sharesChange"]) == (
        Decimal("7.5"),
        Decimal("1.6"),
        Decimal(200000),
    )
    assert row["holes"] == {}


def test_amendment_without_stored_original_is_not_a_first_filing(app: App) -> None:
    store_schedule(app, made.d(form="SCHEDULE 13D/A", number="4"), made.FIRST, "2025-03-05")
    assert list_filings(app)[0]["holes"]["priorPercent"] == "earlier_filing_not_held"


def test_amendment_without_figures_has_null_figures(app: App) -> None:
    store_schedule(app, made.d(), made.FIRST, "2025-03-05")
    nothing = made.person(shares=None, percent=None, sole=None, shared=None)
    store_schedule(app, made.d(nothing, form="SCHEDULE 13D/A"), made.SECOND, "2025-06-05")
    row = list_filings(app)[0]
    assert (row["percentOfClass"], row["sharesOwned"], row["percentChange"]) == (None, None, None)
    assert row["holes"]["percentOfClass"] == row["holes"]["sharesOwned"] == "not_reported"


def test_percentage_above_100_is_ignored(app: App) -> None:
    store_schedule(app, made.d(made.person(percent="750")), made.FIRST, "2025-03-05")
    assert (list_filings(app)[0]["percentOfClass"], list_filings(app)[0]["holes"]["percentOfClass"]) == (
        None,
        "not_reported",
    )


def test_13d_after_13g_is_a_conversion(app: App) -> None:
    store_schedule(app, made.g(), made.FIRST, "2025-03-05")
    store_schedule(app, made.d(), made.SECOND, "2025-06-05")
    assert [row["isConversion"] for row in list_filings(app)] == [True, False]
    assert [row["accessionNumber"] for row in list_filings(app, conversion=True)] == [made.SECOND]
    assert [row["accessionNumber"] for row in list_filings(app, conversion=False)] == [made.FIRST]


@run_each_case("seed", range(8))
def test_stored_rows_do_not_depend_on_order_of_arrival(app: App, make_app: Any, seed: int) -> None:
    documents = [
        (made.g(made.person(WICK, "900", "6", schedule="G")), "0000000103-25-000001", "2025-01-05"),
        (made.d(made.person(WICK, "1000", "7"), made.person(BEN, "1000", "7")), "0000000103-25-000002", "2025-02-05"),
        (made.d(made.person(BEN, "1500", "9"), made.person(WICK, "1000", "7")), "0000000103-25-000003", "2025-03-05"),
        (made.d(made.person(BEN, "100", "1"), form="SCHEDULE 13D/A"), "0000000103-25-000004", "2025-04-05"),
        (made.d(made.person((None, "An Heir"), "10", "1")), "0000000103-25-000005", "2025-04-06"),
    ]
    for document in documents:
        store_schedule(app, *document)
    other = make_app()
    shuffled = random.Random(seed).sample(documents, len(documents))
    for document in shuffled:
        store_schedule(other, *document)
    store_schedule(other, *shuffled[0])

    def rows(an_app: App) -> list[Any]:
        with an_app.db.read() as tx:
            connection = tx._connection
            return [
                [tuple(row) for row in connection.execute(query)]
                for query in (
                    "SELECT id, prior_id, prior_kind, is_latest, lead_seq, is_exit FROM schedule_filings ORDER BY id",
                    "SELECT mine.filing_id, mine.seq, prior.filing_id, prior.seq, mine.is_current "
                    "FROM schedule_persons AS mine "
                    "LEFT JOIN schedule_persons AS prior ON prior.id = mine.prior_id ORDER BY 1, 2",
                )
            ]

    assert rows(other) == rows(app)
    first, second, third, fourth, heir = (metadata.accession_to_int(document[1]) for document in documents)
    assert [(row[0], row[1], row[3]) for row in rows(app)[0]] == [
        (first, None, 0),
        (second, first, 0),
        (third, second, 0),
        (fourth, third, 1),
        (heir, None, 1),
    ]


HEADER = b"""<SEC-DOCUMENT>0000000103-24-000009.txt : 20240214
<SEC-HEADER>0000000103-24-000009.hdr.sgml : 20240214
ACCESSION NUMBER:\t\t0000000103-24-000009
CONFORMED SUBMISSION TYPE:\tSC 13G
PUBLIC DOCUMENT COUNT:\t\t1
FILED AS OF DATE:\t\t20240214

SUBJECT COMPANY:
\tCOMPANY DATA:
\t\tCOMPANY CONFORMED NAME:\t\tBrook Lamps Inc.
\t\tCENTRAL INDEX KEY:\t\t0001234567

FILED BY:
\tCOMPANY DATA:
\t\tCOMPANY CONFORMED NAME:\t\tWick Capital LP
\t\tCENTRAL INDEX KEY:\t\t0000000103
</SEC-HEADER>
<DOCUMENT>
<TYPE>SC 13G
<TEXT>
Wick owns 5.5 %.
</TEXT>
</DOCUMENT>
"""


def store_header(app: App) -> bool:
    with app.db.write() as tx:
        header = sgml.parse_header(HEADER, "f")
        filing_store.upsert(tx, metadata.from_header(header, None), NOW)
        return families.store_header(tx, header, NOW)


def test_filing_before_december_2024_has_parties_only(app: App) -> None:
    assert store_header(app) is True
    assert store_header(app) is False
    (row,) = list_filings(app)
    assert (row["formType"], row["filerName"], row["nameOfIssuer"]) == ("SC 13G", "Wick Capital LP", "Brook Lamps Inc.")
    assert (row["percentOfClass"], row["sharesOwned"], row["dateOfEvent"]) == (None, None, None)
    assert row["holes"]["percentOfClass"] == row["holes"]["sharesOwned"] == "cover_not_in_xml"
    # The filing that follows it is not a first filing, but its changes are not known.
    store_schedule(app, made.g(form="SCHEDULE 13G/A"), made.SECOND, "2025-06-05")
    row = list_filings(app)[0]
    assert (row["priorAccessionNumber"], row["holes"]["priorPercent"]) == ("0000000103-24-000009", "cover_not_in_xml")


def test_known_accession_number_replaces_unknown_one(app: App) -> None:
    assert store_schedule(app, made.d(), "unfiled-0123456789abcdef", None) is True
    assert [row["filedAt"] for row in list_filings(app)] == [None]
    assert store_schedule(app, made.d(), made.FIRST, "2025-03-05") is True
    assert [row["accessionNumber"] for row in list_filings(app)] == [made.FIRST]
    assert store_schedule(app, made.d(), "unfiled-0123456789abcdef", None) is False


def test_only_person_without_cik_gets_the_filer_cik(app: App) -> None:
    store_schedule(app, made.g(made.person((None, "Wick Capital LP"), schedule="G")), made.FIRST, "2025-03-05")
    assert list_filings(app)[0]["filerCik"] == "0000000103"


def test_persons_without_cik_are_identified_by_name(app: App) -> None:
    heir, reordered = (None, "The Lamp Heirs Trust"), (None, "LAMP HEIRS, THE TRUST")
    store_schedule(app, made.d(made.person(heir), made.person(WICK, "1", "0")), made.FIRST, "2025-03-05")
    store_schedule(app, made.d(made.person(reordered), made.person(WICK, "1", "0")), made.SECOND, "2025-04-05")
    first, second = (row["holderUuid"] for row in list_filings(app))
    assert first != second  # Another order of words is another name.
    assert holder_ids.for_name("The Lamp Heirs Trust") == holder_ids.for_name("the lamp, heirs: TRUST ") == second


@run_each_case(
    "text, stated",
    [
        (None, None),
        ("The Reporting Persons have no plans to acquire additional shares.", 0),
        ("The Reporting Persons may from time to time acquire additional shares.", 0),
        ("On May 1, the Fund nominated three candidates for election as directors.", 0b100),
        ("The Fund opposes the merger. It does not intend to nominate directors.", 0b10),
        ("Wick intends to purchase up to 500,000 shares; the Issuer entered into a merger agreement.", 0b1001),
    ],
)
def test_hedged_sentences_state_no_intent(text: str | None, stated: int | None) -> None:
    assert purposes.find_intents(text) == stated


def test_pack_contains_all_stored_schedules(app: App, make_app: Any) -> None:
    store_schedule(app, made.d(made.person(), made.person((None, "An Heir"), "5", "0.1")), made.FIRST, "2025-03-05")
    store_header(app)
    with app.db.read() as tx:
        data = packs.dump(tx, SCHEDULES)
    other = make_app()
    assert packs.load(other, data, "x.pack") == 2
    assert packs.load(other, data, "x.pack") == 0
    assert list_filings(other) == list_filings(app)
    with other.db.read() as tx:
        assert packs.dump(tx, SCHEDULES) == data


def test_pages_of_each_order_make_up_the_complete_list(app: App) -> None:
    for number in range(1, 24):
        percent = None if number % 5 == 0 else str(number % 7 + 4)
        holder = (f"{200 + number % 3:010}", f"Holder {number % 3}")
        data = made.d(
            made.person(holder, str(number * 10), percent), form=("SCHEDULE 13D", "SCHEDULE 13D/A")[number % 2]
        )
        store_schedule(app, data, f"0000000103-25-{number:06}", f"2025-03-{number % 9 + 1:02}")
    for filter_values in (
        {},
        {"issuer": 1234567},
        {"holders": [holder_ids.for_cik(200), holder_ids.for_cik(201)]},
        {"forms": ("SCHEDULE 13D",)},
        {"amendment": True, "min_percent": 6.0},
    ):
        for sort in schedule_filings.SORTS:
            accessions_by_order: dict[bool, list[str]] = {}
            for descending in (True, False):
                filters = ScheduleFilters(**filter_values, sort=sort, descending=descending)  # type: ignore[arg-type]
                with app.db.read() as tx:
                    pages = [schedule_filings.list_filings(tx, filters, 4, start) for start in range(0, 24, 4)]
                accessions = [row["accessionNumber"] for rows, _ in pages for row in rows]
                assert len(set(accessions)) == len(accessions) == pages[0][1]
                accessions_by_order[descending] = accessions
            assert accessions_by_order[False] == accessions_by_order[True][::-1]
