"""GET /api/v1/events: the events of a feed, for clients that poll."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.delivery import events
from tests.client import Client
from tests.feeds import key, message, tell
from tests.support.case_tables import run_each_case

EVENTS = "/api/v1/events"


@pytest.fixture
def caller(app: App, user: NewUser) -> Client:
    return Client(app, user.api_key)


def test_without_a_number_the_newest_events_are_listed(app: App, caller: Client) -> None:
    tell(app, 30)
    answer = caller.get(EVENTS, query={"feed": "main-api"})
    assert answer.status == 200
    assert answer.json["data"] == [message(seq) for seq in range(11, 31)]
    assert answer.json["meta"] == {
        "feed": "main-api",
        "epoch": 1,
        "first_seq": 1,
        "last_seq": 30,
        "next_since_seq": 30,
        "has_more": False,
        "gap": None,
    }


def test_pages_neither_skip_nor_repeat_events(app: App, caller: Client) -> None:
    tell(app, 25)
    seqs: list[int] = []
    since, has_more = 0, True
    while has_more:
        answer = caller.get(EVENTS, query={"feed": "main-api", "since_seq": since, "limit": 10})
        seqs += [event["seq"] for event in answer.json["data"]]
        since, has_more = answer.json["meta"]["next_since_seq"], answer.json["meta"]["has_more"]
    assert seqs == list(range(1, 26))


def test_deleted_events_are_reported_as_a_gap(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(events_kept=20)
    tell(app, 50)
    events.prune(app, clock.now())
    answer = Client(app, key(app)).get(EVENTS, query={"feed": "main-api", "since_seq": 5, "limit": 1})
    assert [event["seq"] for event in answer.json["data"]] == [31]
    assert answer.json["meta"]["gap"] == {"from": 6, "to": 30}


def test_a_client_ahead_of_the_feed_resumes_at_its_end(app: App, caller: Client) -> None:
    tell(app, 3)
    meta = caller.get(EVENTS, query={"feed": "main-api", "since_seq": 9}).json["meta"]
    assert (meta["next_since_seq"], meta["has_more"], meta["gap"]) == (3, False, {"from": 4, "to": 9})
    tell(app, 1)
    answer = caller.get(EVENTS, query={"feed": "main-api", "since_seq": meta["next_since_seq"]})
    assert ([event["seq"] for event in answer.json["data"]], answer.json["meta"]["gap"]) == ([4], None)


@pytest.mark.parametrize(
    ("since", "seqs", "gap"), [(3, [4, 5, 6, 7], None), (5, [6, 7], None), (9, [6, 7], {"from": 6, "to": 9})]
)
def test_a_client_of_an_old_epoch_gets_all_missing_events(
    app: App, caller: Client, since: int, seqs: list[int], gap: dict[str, int] | None
) -> None:
    tell(app, 5)
    with app.db.write() as tx:
        epoch = events.begin_epoch(tx, 1, app.clock.now())
    tell(app, 2)
    answer = caller.get(EVENTS, query={"feed": "main-api", "since_seq": since, "epoch": 1})
    assert [event["seq"] for event in answer.json["data"]] == seqs
    assert {event["epoch"] for event in answer.json["data"]} == {epoch}
    assert (answer.json["meta"]["epoch"], answer.json["meta"]["gap"]) == (epoch, gap)
    # Who goes on by what it was old_epoch_answer, whose epoch has ten digits.
    last = answer.json["meta"]["next_since_seq"]
    assert epoch > 999_999_999
    old_epoch_answer = caller.get(EVENTS, query={"feed": "main-api", "since_seq": last, "epoch": epoch})
    assert (old_epoch_answer.status, old_epoch_answer.json["data"], old_epoch_answer.json["meta"]["gap"]) == (
        200,
        [],
        None,
    )
    assert caller.get(EVENTS, query={"feed": "main-api", "epoch": 10**16}).status == 400


def test_an_empty_feed_has_no_events_but_a_range(caller: Client) -> None:
    answer = caller.get(EVENTS, query={"feed": "13f-live", "since_seq": 0})
    assert (answer.json["data"], answer.json["meta"]["next_since_seq"]) == ([], 0)


def test_a_figure_keeps_every_digit(app: App, caller: Client) -> None:
    tell(app, data={"price_per_share": Decimal("123456789012345678.125")})
    answer = caller.get(EVENTS, query={"feed": "main-api"})
    assert b'"price_per_share":123456789012345678.125' in answer.body


def test_listing_events_is_free_and_not_cached(app: App, caller: Client) -> None:
    answer = caller.get(EVENTS, query={"feed": "main-api"})
    assert answer.headers["x-tokens-charged"] == "0"
    assert answer.headers["cache-control"] == "no-store"


@run_each_case(
    "query, param",
    [
        ({}, "feed"),
        ({"feed": "other"}, "feed"),
        ({"feed": "main-api", "since_seq": "-1"}, "since_seq"),
        ({"feed": "main-api", "since_seq": "x"}, "since_seq"),
    ],
)
def test_a_wrong_parameter_is_named(caller: Client, query: dict[str, str], param: str) -> None:
    answer = caller.get(EVENTS, query=query)
    assert (answer.status, answer.json["details"]["param"]) == (400, param)


def test_listing_events_needs_a_key(client: Client) -> None:
    assert client.get(EVENTS, query={"feed": "main-api"}).verdict[:2] == (401, "UNAUTHORIZED")
