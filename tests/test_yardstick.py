"""Tests of the yardstick of a billed call: changed figures are marked, and its stand-ins keep their promises."""

from __future__ import annotations

import json
import threading
from itertools import islice
from pathlib import Path

import pytest

from tests.bench.metered import table
from tests.bench.mix import COST, PriceService, iter_calls, ticker_of
from tests.bench.standins import ANSWER, KEY, Metered

ROW = {"rate": 100.0, "p50": 1.0, "p99": 2.0, "cpu": 3.0, "by_cpu": 0.7}


def test_what_moved_by_more_than_eight_per_cent_is_marked() -> None:
    rows = {name: {**ROW, "ratio": ratio} for name, ratio in (("slower", 0.5), ("same", 0.93), ("new", 0.1))}
    last = {"slower": {"ratio": 1.0}, "same": {"ratio": 1.0}, "gone": {"ratio": 1.0}}
    _, slower, unchanged, new = table(rows, last)
    assert slower.endswith("0.500  -50% since 1.000")
    assert unchanged.endswith("0.930")
    assert new.endswith("   3    0.700      0.100")


def test_the_durable_stand_in_debits_each_call_once(tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_the_mix_is_60_percent_new_30_repeated_10_errors() -> None:
    calls = list(islice(iter_calls(600, seed=1), 10_000))
    answered_targets = [call.target for call in calls if call.status == 200]
    assert 5_900 <= len(set(answered_targets)) <= 6_100
    assert 2_900 <= len(answered_targets) - len(set(answered_targets)) <= 3_100
    assert 300 <= sum(call.status == 404 for call in calls) <= 366
    assert calls == list(islice(iter_calls(600, seed=1), 10_000))


def test_the_service_of_the_mix_does_not_charge_errors(tmp_path: Path) -> None:
    service = PriceService(tmp_path, companies=2)
    path, query = f"/api/v1/prices/{ticker_of(1)}", "from=2025-01-03&limit=2"
    status, headers, body = service.handle(KEY, path, query, "")
    assert status == "200 OK"
    assert [row["date"] for row in json.loads(body)["data"]] == ["2025-04-30", "2025-04-29"]
    statuses = [
        service.handle(*call)[0][:3]
        for call in (
            (KEY, path, query, dict(headers)["ETag"]),
            (KEY, path, "limit=x2", ""),
            (KEY, "/api/v1/prices/NONE1", "limit=2", ""),
            ("0" * 32, path, query, ""),
        )
    ]
    assert statuses == ["304", "400", "404", "401"]
    run = service.metered.writer.execute
    assert run("SELECT spent FROM plans").fetchone() == (COST,)
    assert [row[0] for row in run("SELECT delta FROM ledger ORDER BY id")] == [-COST]
    service.metered.close()
