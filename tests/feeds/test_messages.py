"""The encodings of a message, and the filters of readers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from finapi.core.errors import ApiError
from finapi.delivery.events import Event, EventTags
from finapi.feeds import feed_messages
from finapi.feeds.feed_messages import FeedPosition, Filter
from tests.support.case_tables import run_each_case

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")
BERKSHIRE = EventTags(("BRK-B", "BRK-A"), ("0001067983", "0000000007"), "4")
EVENT = Event("main-api", 7, "new_filing", "2025-05-02T10:00:46.000Z", APPLE, '{"price":12.50}')


def test_a_message_carries_the_event_and_its_data_digit_by_digit() -> None:
    assert feed_messages.build_event_message(EVENT, catching_up=False).text == (
        '{"type":"new_filing","seq":7,"epoch":1,"occurred_at":"2025-05-02T10:00:46.000Z","data":{"price":12.50}}'
    )


def test_a_missed_event_is_marked_as_catch_up() -> None:
    fields = json.loads(feed_messages.build_event_message(EVENT, catching_up=True).text)
    assert fields["is_catchup"] is True
    assert list(fields) == ["type", "seq", "epoch", "occurred_at", "data", "is_catchup"]


@run_each_case("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_frame_is_the_one_that_the_websockets_package_makes(size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    expected = Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
    assert feed_messages.encode_text_frame(text) == expected


def test_every_encoding_is_built_once() -> None:
    message = feed_messages.build_event_message(EVENT, catching_up=False)
    assert message.to_frame() is message.to_frame()
    assert message.to_server_sent_event() is message.to_server_sent_event()
    assert message.to_packet_frame("/") is message.to_packet_frame("/")
    assert message.to_packet("/") is message.to_packet("/")


def test_a_server_sent_event_has_its_epoch_and_number_as_id() -> None:
    message = feed_messages.build_event_message(EVENT, catching_up=False)
    assert message.to_server_sent_event().decode() == f"id: 1-7\nevent: new_filing\ndata: {message.text}\n\n"


@run_each_case(
    "lists, passes",
    [
        ({}, [APPLE, BERKSHIRE]),
        ({"tickers": ["aapl"]}, [APPLE]),
        ({"tickers": ["brk.a"]}, [BERKSHIRE]),
        ({"ciks": ["320193"]}, [APPLE]),
        ({"ciks": ["7"]}, [BERKSHIRE]),
        ({"tickers": ["AAPL"], "ciks": ["1067983"]}, [APPLE, BERKSHIRE]),
        ({"form_types": ["10-k", "10-Q"]}, [APPLE]),
        ({"tickers": ["AAPL"], "form_types": ["4"]}, []),
        ({"tickers": "AAPL,BRK-B"}, [APPLE, BERKSHIRE]),
        ({"tickers": ""}, [APPLE, BERKSHIRE]),
        ({"tickers": None, "other": 1}, [APPLE, BERKSHIRE]),
    ],
)
def test_a_filter_passes_events_of_its_companies_and_forms(lists: dict[str, Any], passes: list[EventTags]) -> None:
    event_filter = Filter().add(lists)
    assert [about for about in (APPLE, BERKSHIRE) if event_filter.matches(about)] == passes


def test_lists_are_added_and_taken_away() -> None:
    first = Filter().add({"tickers": ["AAPL"], "form_types": ["4"]})
    second = first.add({"tickers": ["msft"]})
    assert second.to_lists() == {"tickers": ["AAPL", "MSFT"], "ciks": [], "form_types": ["4"]}
    assert second.remove({"tickers": ["AAPL"], "ciks": ["1"]}).to_lists() == {
        "tickers": ["MSFT"],
        "ciks": [],
        "form_types": ["4"],
    }
    assert second.remove({}) == Filter()


@run_each_case(
    "lists, name",
    [
        ({"tickers": 5}, "tickers"),
        ({"tickers": [5]}, "tickers"),
        ({"tickers": ["NOT A TICKER AT ALL"]}, "tickers"),
        ({"ciks": ["abc"]}, "ciks"),
        ({"ciks": ["12345678901"]}, "ciks"),
        ({"form_types": [""]}, "form_types"),
        ({"form_types": ["x" * 31]}, "form_types"),
        ({"ciks": [str(number) for number in range(1001)]}, "ciks"),
    ],
)
def test_an_invalid_filter_list_is_named_in_the_error(lists: dict[str, Any], name: str) -> None:
    with pytest.raises(ApiError) as caught:
        Filter().add(lists)
    assert caught.value.details is not None
    assert (caught.value.code, caught.value.details["param"]) == ("INVALID_PARAM", name)


def test_a_filter_does_not_grow_beyond_a_thousand() -> None:
    full = Filter().add({"ciks": [str(number) for number in range(1000)]})
    with pytest.raises(ApiError, match="at most 1000 ciks"):
        full.add({"ciks": ["5000"]})


@run_each_case("parameter, number", [(None, None), ("", None), ("0", 0), ("12", 12), (12, 12)])
def test_a_number_to_resume_after_is_parsed(parameter: object, number: int | None) -> None:
    assert feed_messages.parse_since({"since_seq": parameter}) == (None if number is None else FeedPosition(number))
    assert feed_messages.parse_since({"since_seq": 5, "epoch": parameter}) == FeedPosition(5, number)
    assert feed_messages.parse_since({"epoch": parameter}) is None


@run_each_case("parameter", ["-1", "x", "1.5", 1.5, True, [], "9" * 16, "١"])
def test_an_invalid_number_to_resume_after_is_refused(parameter: object) -> None:
    for name in ("since_seq", "epoch"):
        with pytest.raises(ApiError, match=f"{name} must be a whole number"):
            feed_messages.parse_since({name: parameter})


@run_each_case(
    "text, position",
    [("1769860800-12", FeedPosition(12, 1769860800)), ("12", FeedPosition(12)), ("", None), ("-", None), ("7-", None)],
)
def test_an_event_id_is_parsed_as_epoch_and_number(text: str, position: FeedPosition | None) -> None:
    assert feed_messages.parse_since(feed_messages.parse_event_id(text)) == position


@run_each_case("text", ["x-1", "1-x", "1-2-3", "1 - 2", "--1"])
def test_an_invalid_event_id_is_refused(text: str) -> None:
    with pytest.raises(ApiError):
        feed_messages.parse_since(feed_messages.parse_event_id(text))
