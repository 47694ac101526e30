"""Tests of the cache: values are stored while the data do not change, within a maximum size."""

from __future__ import annotations

import gc
import weakref

import pytest

from finapi import app as apps
from finapi.core.cache import Cache
from finapi.core.config import Config


class Value:
    """A value to cache."""


def is_computed(cache: Cache, version: int, key: str, value: bytes) -> bool:
    """Return True if the value had to be computed."""
    calls: list[bytes] = []

    def make() -> bytes:
        calls.append(value)
        return value

    assert cache.get(version, key, make) == value
    return bool(calls)


def test_a_value_is_made_once_for_a_version_of_the_data() -> None:
    cache = Cache(800, len)
    assert is_computed(cache, 1, "a", b"x")
    assert not is_computed(cache, 1, "a", b"x")
    assert is_computed(cache, 2, "a", b"y")
    assert not is_computed(cache, 2, "a", b"y")


def test_the_size_is_bounded_and_the_least_recent_goes_first() -> None:
    cache = Cache(800, len)
    for number in range(8):
        is_computed(cache, 1, str(number), b"x" * 100)
    assert not is_computed(cache, 1, "0", b"x" * 100)
    is_computed(cache, 1, "8", b"x" * 100)
    assert not is_computed(cache, 1, "0", b"x" * 100)
    assert is_computed(cache, 1, "1", b"x" * 100)


def test_a_value_that_would_take_the_room_of_many_is_not_kept() -> None:
    cache = Cache(800, len)
    assert is_computed(cache, 1, "big", b"x" * 201)
    assert is_computed(cache, 1, "big", b"x" * 201)


def test_of_large_values_half_the_room_may_be_one() -> None:
    cache = Cache(800, len, parts=2)
    assert is_computed(cache, 1, "big", b"x" * 400)
    assert not is_computed(cache, 1, "big", b"x" * 400)
    assert is_computed(cache, 1, "bigger", b"x" * 401)
    assert is_computed(cache, 1, "bigger", b"x" * 401)


def test_a_value_that_is_looked_at_counts_as_asked_for() -> None:
    cache = Cache(800, len)
    for number in range(8):
        is_computed(cache, 1, str(number), b"x" * 100)
    assert cache.find(1, "0", None) == b"x" * 100
    assert cache.find(2, "0", None) is None
    is_computed(cache, 1, "8", b"x" * 100)
    assert cache.find(1, "0", None) == b"x" * 100
    assert cache.find(1, "1", None) is None


def test_the_default_caches_take_less_than_sixty_megabytes() -> None:
    cache_bytes = (
        apps.FACT_BOOK_CACHE_BYTES + apps.PAGE_CACHE_BYTES + apps.SCREENING_CACHE_BYTES + Config().answer_bytes
    )
    assert cache_bytes < 60 * 1024 * 1024
    # Apple's.
    assert 10_875 * apps.FACT_BYTES < apps.FACT_BOOK_CACHE_BYTES / 2


def test_no_room_keeps_nothing() -> None:
    cache = Cache(0, len)
    assert is_computed(cache, 1, "a", b"x")
    assert is_computed(cache, 1, "a", b"x")


def test_what_fails_to_be_made_is_tried_again() -> None:
    cache = Cache(800, len)

    def fails() -> bytes:
        raise LookupError

    with pytest.raises(LookupError):
        cache.get(1, "a", fails)
    assert is_computed(cache, 1, "a", b"x")


def test_what_is_kept_is_told_without_being_made() -> None:
    cache = Cache(800, len)
    is_computed(cache, 1, "a", b"x")
    assert [cache.find(1, "a", None), cache.find(1, "b", None), cache.find(2, "a", None)] == [b"x", None, None]


def test_values_of_an_old_version_are_not_held() -> None:
    cache, values = Cache(8, lambda value: 1), [Value(), Value()]
    for version, value in enumerate(values):
        cache.get(version, "a", lambda value=value: value)  # type: ignore[misc]
    first = weakref.ref(values[0])
    del values, value
    gc.collect()
    assert first() is None
