"""Latest stakes and groups when joint filers separate or a CUSIP is missing, in each order of arrival."""

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
JOINT, ALONE, NEXT, LAST = (f"0000000102-25-{number:06}" for number in range(1, 5))

Filed = tuple[str, str, bytes]
Owners = list[tuple[str, float, str | None, bool]]


def build_ben(percent: str, member: str | None = "a") -> str:
    return made.person(made.BEN, "960000", percent, member=member, types="IN")


def build_fund(percent: str, schedule: str = "D", member: str | None = "a") -> str:
    return made.person(made.FUND, "310000", percent, member=member, schedule=schedule)


def build_wick(percent: str) -> str:
    return made.person(percent=percent)


JOINT_FILING = (JOINT, "2025-09-01", made.d(build_ben("7.4"), build_fund("2.4"), event="08/29/2025"))
FUND_ALONE = (ALONE, "2025-09-02", made.g(build_fund("5.2", "G", None), filer=made.FUND[0]))
NO_CUSIP = (made.FIRST, "2025-01-01", made.d(cusip=None))
ONE_CLASS = (made.SECOND, "2025-02-01", made.d(build_wick("10.5")))
TWO_CLASSES = (made.THIRD, "2025-03-01", made.d(build_wick("20"), cusip=OTHER_CLASS))


def store_schedules(app: App, filed: list[Filed]) -> Client:
    with app.db.write() as tx:
        for accession, day, data in filed:
            schedule_store.upsert(
                tx, parser.parse(data, "f"), FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day), NOW
            )
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def list_owners(client: Client) -> Owners:
    rows = client.get(f"{BASE}/issuers/1234567/summary").json["beneficialOwners"]
    return [(row["filerName"], row["latestPercent"], row["cusip"], row["isNamedInLatest"]) for row in rows]


def list_groups(client: Client) -> list[tuple[Any, ...]]:
    """Return for each group its first filing, its latest one, its percentage, its formation, and its members."""
    summaries = []
    for group in client.get(f"{BASE}/groups").json["data"]:
        members = {member["memberName"]: member["isCurrentMember"] for member in group["members"]}
        summaries.append(
            (group["id"], group["latestAccessionNo"], group["aggregatePercent"], group["formationDate"], members)
        )
    return summaries


SEPARATIONS: dict[str, tuple[list[Filed], Owners, list[tuple[Any, ...]]]] = {
    "one of two files another schedule alone and amends it": (
        [JOINT_FILING, FUND_ALONE, (NEXT, "2025-10-01", made.g(build_fund("5.9", "G", None), form="SCHEDULE 13G/A"))],
        [(FUND, 5.9, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), JOINT, 7.4, "2025-08-29", {BEN: True, FUND: True})],
    ),
    "the remaining person amends the joint schedule": (
        [JOINT_FILING, FUND_ALONE, (NEXT, "2025-10-01", made.d(build_ben("8.1"), form="SCHEDULE 13D/A"))],
        [(BEN, 8.1, made.LAMPS[2], True), (FUND, 5.2, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), NEXT, 8.1, "2025-08-29", {BEN: True, FUND: False})],
    ),
    "both schedules on one day": (
        [JOINT_FILING, (ALONE, "2025-09-01", FUND_ALONE[2])],
        [(FUND, 5.2, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), JOINT, 7.4, "2025-08-29", {BEN: True, FUND: True})],
    ),
    "an amendment no longer names the lead": (
        [JOINT_FILING, (NEXT, "2025-10-01", made.d(build_fund("6.0"), form="SCHEDULE 13D/A"))],
        [(FUND, 6.0, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], False)],
        [(accession_to_int(JOINT), NEXT, 6.0, "2025-08-29", {FUND: True, BEN: False})],
    ),
    "the lead leaves, the others amend": (
        [
            JOINT_FILING,
            (ALONE, "2025-09-02", made.g(made.person(made.BEN, percent="7.3", schedule="G"), filer=made.BEN[0])),
            (NEXT, "2025-10-01", made.d(build_fund("5.5"), form="SCHEDULE 13D/A")),
        ],
        [(FUND, 5.5, made.LAMPS[2], True), (BEN, 7.3, made.LAMPS[2], True)],
        [(accession_to_int(JOINT), NEXT, 5.5, "2025-08-29", {FUND: True, BEN: False})],
    ),
    "one group becomes two": (
        [
            JOINT_FILING,
            (ALONE, "2025-09-02", made.d(build_fund("6.2"), made.person(member="a", percent="1.5", shares="9"))),
            (NEXT, "2025-10-01", made.d(build_ben("8.1"), form="SCHEDULE 13D/A")),
            (LAST, "2025-11-01", made.d(build_fund("6.4"), form="SCHEDULE 13D/A")),
        ],
        [(FUND, 6.4, made.LAMPS[2], True), (BEN, 8.1, made.LAMPS[2], True), (made.WICK[1], 1.5, made.LAMPS[2], False)],
        [
            (accession_to_int(ALONE), LAST, 6.4, "2025-03-03", {FUND: True, made.WICK[1]: False}),
            (accession_to_int(JOINT), NEXT, 8.1, "2025-08-29", {BEN: True, FUND: False}),
        ],
    ),
    "five per cent or less are left": (
        [JOINT_FILING, FUND_ALONE, (NEXT, "2025-10-01", made.d(build_ben("1.0", None), form="SCHEDULE 13D/A"))],
        [(BEN, 1.0, made.LAMPS[2], True), (FUND, 5.2, made.LAMPS[2], True)],
        [],
    ),
    "no CUSIP, then two classes": (
        [NO_CUSIP, ONE_CLASS, TWO_CLASSES],
        [("Wick Capital LP", 20, OTHER_CLASS, True), ("Wick Capital LP", 10.5, made.LAMPS[2], True)],
        [],
    ),
    "no CUSIP, then two classes, and one of them again": (
        [NO_CUSIP, ONE_CLASS, TWO_CLASSES, (LAST, "2025-04-01", made.d(build_wick("11"), form="SCHEDULE 13D/A"))],
        [("Wick Capital LP", 11, made.LAMPS[2], True), ("Wick Capital LP", 20, OTHER_CLASS, True)],
        [],
    ),
}


@pytest.mark.parametrize("is_exhaustive", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", SEPARATIONS)
def test_separating_filers_leave_the_joint_stake(make_app: Callable[[], App], case: str, is_exhaustive: bool) -> None:
    filed, expected_owners, expected_groups = SEPARATIONS[case]
    for order in itertools.permutations(filed) if is_exhaustive else (filed, filed[::-1]):
        client = store_schedules(make_app(), [*order, order[0]])
        assert list_owners(client) == expected_owners, order
        assert list_groups(client) == expected_groups, order


def test_one_latest_stake_per_class_despite_missing_cusip(app: App) -> None:
    between = (JOINT, "2025-03-02", made.d(build_wick("21"), cusip=None))
    again = (LAST, "2025-04-01", made.d(build_wick("11")))
    client = store_schedules(app, [ONE_CLASS, TWO_CLASSES, between, again])
    assert [owner for owner in list_owners(client) if owner[2] == made.LAMPS[2]] == [
        ("Wick Capital LP", 11, made.LAMPS[2], True)
    ]


def test_document_with_greater_hash_replaces_the_other(make_app: Callable[[], App]) -> None:
    """The document of the fund alone has the greater hash."""
    again = (ALONE, FUND_ALONE[1], made.g(build_fund("5.2", "G", None), build_ben("7.1", None), filer=made.FUND[0]))
    for order in itertools.permutations([JOINT_FILING, FUND_ALONE, again]):
        client = store_schedules(make_app(), [*order])
        assert list_owners(client) == [(FUND, 5.2, made.LAMPS[2], True), (BEN, 7.4, made.LAMPS[2], True)], order
        assert [group[:3] for group in list_groups(client)] == [(accession_to_int(JOINT), JOINT, 7.4)], order


def test_groups_have_unique_ids_and_pages(app: App) -> None:
    client = store_schedules(app, SEPARATIONS["one group becomes two"][0])
    pages = [client.get(f"{BASE}/groups?size=1&page={page}").json for page in (1, 2, 3)]
    assert [[group["id"] for group in page["data"]] for page in pages] == [
        [accession_to_int(ALONE)],
        [accession_to_int(JOINT)],
        [],
    ]
    assert [page["meta"]["total"] for page in pages] == [2, 2, 2]
