"""The yardstick of a billed call: what moved is marked, and its stand-ins keep what they promise."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.bench.metered import table
from tests.bench.standins import ANSWER, KEY, Metered

ROW = {"rate": 100.0, "p50": 1.0, "p99": 2.0, "cpu": 3.0, "by_cpu": 0.7}


def test_what_moved_by_more_than_eight_per_cent_is_marked() -> None:
    rows = {name: {**ROW, "ratio": ratio} for name, ratio in (("slower", 0.5), ("same", 0.93), ("new", 0.1))}
    last = {"slower": {"ratio": 1.0}, "same": {"ratio": 1.0}, "gone": {"ratio": 1.0}}
    _, slower, same, new = table(rows, last)
    assert slower.endswith("0.500  -50% since 1.000")
    assert same.endswith("0.930")
    assert new.endswith("   3    0.700      0.100")


def test_the_stand_in_with_the_same_promises_debits_each_call_once(tmp_path: Path) -> None:
    metered = Metered(tmp_path, "FULL", grouped=True, remembers=True)
    answers: list[bytes | None] = []
    threads = [threading.Thread(target=lambda: answers.extend(metered.call(KEY) for _ in range(20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [ANSWER] * 160
    assert metered.call("another") is None
    run = metered.writer.execute
    assert run("SELECT spent FROM plans").fetchone() == (160 * 25,)
    assert run("SELECT count(*), count(DISTINCT request_id) FROM ledger").fetchone() == (160, 160)
    metered.close()
