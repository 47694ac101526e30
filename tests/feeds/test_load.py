"""A thousand connections, one after another, leave no thread, socket or row (slow)."""

from __future__ import annotations

import os
import threading

import pytest
from websockets.sync.client import connect

from finapi.delivery.events import SequenceRange
from tests.delivery.test_events import get_range
from tests.feeds import SECONDS, Service, key, seqs, tell

pytestmark = pytest.mark.slow


def test_a_thousand_connections_leave_nothing(service: Service) -> None:
    tell(service.app, 3)
    api_key = key(service.app, "free")
    with connect(service.url(token=api_key), proxy=None, ping_interval=None) as client:
        assert seqs(lambda: client.recv(timeout=SECONDS), 3) == [1, 2, 3]
    service.settled()
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(1000):
        with connect(service.url(token=api_key), proxy=None, ping_interval=None) as client:
            assert seqs(lambda: client.recv(timeout=SECONDS), 3) == [1, 2, 3]
    service.settled()
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == handles
    assert get_range(service.app) == SequenceRange(1, 3)
