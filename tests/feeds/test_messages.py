"""Messages in each spelling, and the filters that readers ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from finapi.core.errors import ApiError
from finapi.delivery.events import Event, EventTags
from finapi.feeds import feed_messages
from finapi.feeds.feed_messages import FeedPosition, Filter

APPLE = EventTags(("AAPL",), ("0000320193",), "10-K")
BERKSHIRE = EventTags(("BRK-B", "BRK-A"), ("0001067983", "0000000007"), "4")
EVENT = Event("main-api", 7, "new_filing", "2025-05-02T10:00:46.000Z", APPLE, '{"price":12.50}')


def test_a_message_carries_the_event_and_its_data_digit_by_digit() -> None:
    assert feed_messages.build_event_message(EVENT, catching_up=False).text == (
        '{"type":"new_filing","seq":7,"epoch":1,"occurred_at":"2025-05-02T10:00:46.000Z","data":{"price":12.50}}'
    )


def test_what_a_reader_missed_says_so() -> None:
    said = json.loads(feed_messages.build_event_message(EVENT, catching_up=True).text)
    assert said["is_catchup"] is True
    assert list(said) == ["type", "seq", "epoch", "occurred_at", "data", "is_catchup"]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 200_000])
def test_a_frame_is_the_one_that_the_websockets_package_makes(size: int) -> None:
    text = "é" * (size // 2) + "x" * (size % 2)
    expected = Frame(Opcode.TEXT, text.encode()).serialize(mask=False)
    assert feed_messages.encode_text_frame(text) == expected


def test_every_spelling_is_made_once() -> None:
    message = feed_messages.build_event_message(EVENT, catching_up=False)
    assert message.to_frame() is message.to_frame()
    assert message.to_server_sent_event() is message.to_server_sent_event()
    assert message.to_packet_frame("/") is message.to_packet_frame("/")
    assert message.to_packet("/") is message.to_packet("/")


def test_a_server_sent_event_is_one_line_of_data_with_the_number_as_its_id() -> None:
    message = feed_messages.build_event_message(EVENT, catching_up=False)
    assert message.to_server_sent_event().decode() == f"id: 1-7\nevent: new_filing\ndata: {message.text}\n\n"


@pytest.mark.parametrize(
    ("lists", "passes"),
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
def test_a_filter_passes_what_is_of_the_companies_and_of_the_forms(
    lists: dict[str, Any], passes: list[EventTags]
) -> None:
    wanted = Filter().add(lists)
    assert [about for about in (APPLE, BERKSHIRE) if wanted.matches(about)] == passes


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


@pytest.mark.parametrize(
    ("lists", "name"),
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
def test_a_list_that_is_none_is_named(lists: dict[str, Any], name: str) -> None:
    with pytest.raises(ApiError) as caught:
        Filter().add(lists)
    assert caught.value.details is not None
    assert (caught.value.code, caught.value.details["param"]) == ("INVALID_PARAM", name)


def test_a_filter_does_not_grow_beyond_a_thousand() -> None:
    full = Filter().add({"ciks": [str(number) for number in range(1000)]})
    with pytest.raises(ApiError, match="at most 1000 ciks"):
        full.add({"ciks": ["5000"]})


@pytest.mark.parametrize(("given", "read"), [(None, None), ("", None), ("0", 0), ("12", 12), (12, 12)])
def test_a_number_to_go_on_after(given: object, read: int | None) -> None:
    assert feed_messages.parse_since({"since_seq": given}) == (None if read is None else FeedPosition(read))
    assert feed_messages.parse_since({"since_seq": 5, "epoch": given}) == FeedPosition(5, read)
    assert feed_messages.parse_since({"epoch": given}) is None


@pytest.mark.parametrize("given", ["-1", "x", "1.5", 1.5, True, [], "9" * 16, "١"])
def test_what_is_no_such_number_is_refused(given: object) -> None:
    for name in ("since_seq", "epoch"):
        with pytest.raises(ApiError, match=f"{name} must be a whole number"):
            feed_messages.parse_since({name: given})


@pytest.mark.parametrize(
    ("text", "said"),
    [("1769860800-12", FeedPosition(12, 1769860800)), ("12", FeedPosition(12)), ("", None), ("-", None), ("7-", None)],
)
def test_the_id_of_a_server_sent_event_is_an_epoch_and_a_number(text: str, said: FeedPosition | None) -> None:
    assert feed_messages.parse_since(feed_messages.parse_event_id(text)) == said


@pytest.mark.parametrize("text", ["x-1", "1-x", "1-2-3", "1 - 2", "--1"])
def test_an_id_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ApiError):
        feed_messages.parse_since(feed_messages.parse_event_id(text))
