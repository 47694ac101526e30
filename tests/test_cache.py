"""Values kept while the data stand, within their room."""

from __future__ import annotations

import pytest

from finapi.core.cache import Cache


def made(cache: Cache, version: int, key: str, value: bytes) -> bool:
    """Whether the value had to be made."""
    calls: list[bytes] = []

    def make() -> bytes:
        calls.append(value)
        return value

    assert cache.get(version, key, make) == value
    return bool(calls)


def test_a_value_is_made_once_for_a_version_of_the_data() -> None:
    cache = Cache(800, len)
    assert made(cache, 1, "a", b"x")
    assert not made(cache, 1, "a", b"x")
    assert made(cache, 2, "a", b"y")
    assert not made(cache, 2, "a", b"y")


def test_the_room_is_never_exceeded_and_the_longest_unasked_goes_first() -> None:
    cache = Cache(800, len)
    for number in range(8):
        made(cache, 1, str(number), b"x" * 100)
    assert not made(cache, 1, "0", b"x" * 100)
    made(cache, 1, "8", b"x" * 100)
    assert not made(cache, 1, "0", b"x" * 100)
    assert made(cache, 1, "1", b"x" * 100)


def test_a_value_that_would_take_the_room_of_many_is_not_kept() -> None:
    cache = Cache(800, len)
    assert made(cache, 1, "big", b"x" * 201)
    assert made(cache, 1, "big", b"x" * 201)


def test_no_room_keeps_nothing() -> None:
    cache = Cache(0, len)
    assert made(cache, 1, "a", b"x")
    assert made(cache, 1, "a", b"x")


def test_what_fails_to_be_made_is_tried_again() -> None:
    cache = Cache(800, len)

    def fails() -> bytes:
        raise LookupError

    with pytest.raises(LookupError):
        cache.get(1, "a", fails)
    assert made(cache, 1, "a", b"x")


def test_what_is_kept_is_told_without_being_made() -> None:
    cache = Cache(800, len)
    made(cache, 1, "a", b"x")
    assert [cache.kept(1, "a", None), cache.kept(1, "b", None), cache.kept(2, "a", None)] == [b"x", None, None]
