"""A thousand connections, one after another, leave no thread, socket or row (slow)."""

from __future__ import annotations

import os
import threading

import pytest
from websockets.sync.client import connect

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.delivery.events import SequenceRange
from tests.conftest import NOW
from tests.delivery.test_events import get_range
from tests.feeds import SECONDS, key, running, seqs, tell
from tests.process import run_in_new_process

pytestmark = pytest.mark.slow


def open_a_thousand_connections() -> None:
    clock = FixedClock(NOW)
    app = apps.create_in_memory(Config(), clock)
    with running(app, clock) as service:
        tell(app, 3)
        api_key = key(app, "free")
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
        assert get_range(app) == SequenceRange(1, 3)


def test_a_thousand_connections_leave_nothing() -> None:
    run_in_new_process(open_a_thousand_connections)
