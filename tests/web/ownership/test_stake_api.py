"""Which Schedule 13D or 13G is the latest, where joint filers part or a CUSIP is missing, in every order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import schedules as parser
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata, accession_to_int
from finapi.market.ownership import schedule_store
from tests.client import Client
from tests.conftest import NOW
from tests.support import schedule_xml as made

BASE = "/api/v1/ownership/beneficial-ownership"
OTHER_CLASS = "037833209"
BEN, FUND = made.BEN[1], made.FUND[1]
JOINT, ALONE, NEXT, LAST = (f"0000000102-25-{one:06}" for one in range(1, 5))

Filed = tuple[str, str, bytes]
Owners = list[tuple[str, float, str | None, bool]]


def ben(percent: str, member: str | None = "a") -> str:
    return made.person(made.BEN, "960000", percent, member=member, types="IN")


def fund(percent: str, schedule: str = "D", member: str | None = "a") -> str:
    return made.person(made.FUND, "310000", percent, member=member, schedule=schedule)


def wick(percent: str) -> str:
    return made.person(percent=percent)


TOGETHER = (JOINT, "2025-09-01", made.d(ben("7.4"), fund("2.4"), event="08/29/2025"))
FUND_ALONE = (ALONE, "2025-09-02", made.g(fund("5.2", "G", None), filer=made.FUND[0]))
NO_CUSIP = (made.FIRST, "2025-01-01", made.d(cusip=None))
ONE_CLASS = (made.SECOND, "2025-02-01", made.d(wick("10.5")))
TWO_CLASSES = (made.THIRD, "2025-03-01", made.d(wick("20"), cusip=OTHER_CLASS))


def stored(app: App, filed: list[Filed]) -> Client:
    with app.db.write() as tx:
        for accession, day, data in filed:
            schedule_store.upsert(
                tx, parser.parse(data, "f"), FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day), NOW
            )
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def owners(client: Client) -> Owners:
    told = client.get(f"{BASE}/issuers/1234567/summary").json["beneficialOwners"]
    return [(one["filerName"], one["latestPercent"], one["cusip"], one["isNamedInLatest"]) for one in told]


def groups(client: Client) -> list[tuple[Any, ...]]:
    """The groups: the filing each began with, the latest, its figure, its formation, its members, and who left."""
    found = []
    for one in client.get(f"{BASE}/groups").json["data"]:
        members = {two["memberName"]: two["isCurrentMember"] for two in one["members"]}
        found.append((one["id"], one["latestAccessionNo"], one["aggregatePercent"], one["formationDate"], members))
    return found


PARTED: dict[str, tuple[list[Filed], Owners, list[tuple[Any, ...]]]] = {
    "one of two files another schedule alone, and amends it": (
        [TOGETHER, FUND_ALONE, (NEXT, "2025-10-01", made.g(fund("5.9", "G", None), form="SCHEDULE 13G/A"))],
        [(FUND, 5.9, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), JOINT, 7.4, "2025-08-29", {BEN: True, FUND: True})],
    ),
    "then who is left goes on with the joint one": (
        [TOGETHER, FUND_ALONE, (NEXT, "2025-10-01", made.d(ben("8.1"), form="SCHEDULE 13D/A"))],
        [(BEN, 8.1, made.LAMPS[2], True), (FUND, 5.2, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), NEXT, 8.1, "2025-08-29", {BEN: True, FUND: False})],
    ),
    "on one day": (
        [TOGETHER, (ALONE, "2025-09-01", FUND_ALONE[2])],
        [(FUND, 5.2, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), JOINT, 7.4, "2025-08-29", {BEN: True, FUND: True})],
    ),
    "an amendment no longer names the first": (
        [TOGETHER, (NEXT, "2025-10-01", made.d(fund("6.0"), form="SCHEDULE 13D/A"))],
        [(FUND, 6.0, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], False)],
        [(accession_to_int(JOINT), NEXT, 6.0, "2025-08-29", {FUND: True, BEN: False})],
    ),
    "the first goes, the others amend": (
        [
            TOGETHER,
            (ALONE, "2025-09-02", made.g(made.person(made.BEN, percent="7.3", schedule="G"), filer=made.BEN[0])),
            (NEXT, "2025-10-01", made.d(fund("5.5"), form="SCHEDULE 13D/A")),
        ],
        [(FUND, 5.5, made.LAMPS[2], True), (BEN, 7.3, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), NEXT, 5.5, "2025-08-29", {FUND: True, BEN: False})],
    ),
    "two groups come of one": (
        [
            TOGETHER,
            (ALONE, "2025-09-02", made.d(fund("6.2"), made.person(member="a", percent="1.5", shares="9"))),
            (NEXT, "2025-10-01", made.d(ben("8.1"), form="SCHEDULE 13D/A")),
            (LAST, "2025-11-01", made.d(fund("6.4"), form="SCHEDULE 13D/A")),
        ],
        [(FUND, 6.4, made.LAMPS[2], True), (BEN, 8.1, made.LAMPS[2], True), (made.WICK[1], 1.5, made.LAMPS[2], False)],
        [
            (accession_to_int(ALONE), LAST, 6.4, "2025-03-03", {FUND: True, made.WICK[1]: False}),
            (accession_to_int(JOINT), NEXT, 8.1, "2025-08-29", {BEN: True, FUND: False}),
        ],
    ),
    "five per cent or less are left": (
        [TOGETHER, FUND_ALONE, (NEXT, "2025-10-01", made.d(ben("1.0", None), form="SCHEDULE 13D/A"))],
        [(BEN, 1.0, made.LAMPS[2], True), (FUND, 5.2, made.LAMPS[2], True)],
        [],
    ),
    "no CUSIP, then two classes": (
        [NO_CUSIP, ONE_CLASS, TWO_CLASSES],
        [("Wick Capital LP", 20, OTHER_CLASS, True), ("Wick Capital LP", 10.5, made.LAMPS[2], True)],
        [],
    ),
    "no CUSIP, then two classes, and one of them again": (
        [NO_CUSIP, ONE_CLASS, TWO_CLASSES, (LAST, "2025-04-01", made.d(wick("11"), form="SCHEDULE 13D/A"))],
        [("Wick Capital LP", 11, made.LAMPS[2], True), ("Wick Capital LP", 20, OTHER_CLASS, True)],
        [],
    ),
}


@pytest.mark.parametrize("case", PARTED)
def test_who_parts_leaves_the_others_what_they_told(make_app: Callable[[], App], case: str) -> None:
    filed, told, grouped = PARTED[case]
    for order in itertools.permutations(filed):
        client = stored(make_app(), [*order, order[0]])
        assert owners(client) == told, order
        assert groups(client) == grouped, order


def test_of_one_class_one_figure_is_the_last_though_a_filing_between_tells_no_cusip(app: App) -> None:
    between = (JOINT, "2025-03-02", made.d(wick("21"), cusip=None))
    again = (LAST, "2025-04-01", made.d(wick("11")))
    client = stored(app, [ONE_CLASS, TWO_CLASSES, between, again])
    assert [one for one in owners(client) if one[2] == made.LAMPS[2]] == [("Wick Capital LP", 11, made.LAMPS[2], True)]


def test_a_filing_that_is_told_anew_leaves_what_its_document_says(make_app: Callable[[], App]) -> None:
    """Of two documents under one number the greater hash stays, here the one of the fund alone."""
    again = (ALONE, FUND_ALONE[1], made.g(fund("5.2", "G", None), ben("7.1", None), filer=made.FUND[0]))
    for order in itertools.permutations([TOGETHER, FUND_ALONE, again]):
        client = stored(make_app(), [*order])
        assert owners(client) == [(FUND, 5.2, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)], order
        assert [one[:3] for one in groups(client)] == [(accession_to_int(JOINT), JOINT, 7.4)], order


def test_every_group_has_its_own_number_and_every_page_its_groups(app: App) -> None:
    client = stored(app, PARTED["two groups come of one"][0])
    pages = [client.get(f"{BASE}/groups?size=1&page={page}").json for page in (1, 2, 3)]
    assert [[one["id"] for one in page["data"]] for page in pages] == [
        [accession_to_int(ALONE)],
        [accession_to_int(JOINT)],
        [],
    ]
    assert [page["meta"]["total"] for page in pages] == [2, 2, 2]
