"""Tests of rate limits: the verdicts of nginx's limit_req with nodelay, decisions, and bounded memory."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi.core.config import Config
from finapi.core.limits import BucketState, Decision, Pacer, RateLimit, RateLimiter, decide
from tests.support.case_tables import run_each_case

XBRL = RateLimit(120, 60.0, 30)  # two a second
NO_BURST = RateLimit(120, 60.0, 0)
SLOW = RateLimit(30, 60.0, 10)  # one in two seconds


def verdicts(limit: RateLimit, arrivals: list[float]) -> str:
    """Return the verdicts on one caller's arrivals (seconds) as a text: ``+`` passes, ``-`` is refused."""
    limiter = RateLimiter(limit, max_keys=16)
    return "".join("+" if limiter.take("caller", at).allowed else "-" for at in arrivals)


@dataclass
class Nginx:
    """limit_req nodelay as ngx_http_limit_req_module.c computes it: whole milliseconds, thousandths of requests.

    Written from nginx's documentation and its integer arithmetic, not from finapi's code.
    """

    per_second: int
    burst: int
    excess: int | None = None
    last: int = 0

    def passes(self, milliseconds: int) -> bool:
        if self.excess is None:
            self.excess, self.last = 0, milliseconds
            return True
        elapsed = max(0, milliseconds - self.last)
        excess = max(0, self.excess - self.per_second * elapsed + 1000)
        if excess > self.burst * 1000:
            return False
        self.excess, self.last = excess, max(self.last, milliseconds)
        return True


# ---- verdicts


@run_each_case(
    "limit, arrivals, expected",
    [
        (XBRL, [0.0] * 31, "+" * 31),
        (XBRL, [0.0] * 32, "+" * 31 + "-"),
        (XBRL, [0.0] * 40, "+" * 31 + "-" * 9),
        (XBRL, [0.0] * 31 + [0.499, 0.5, 0.5, 1.0, 1.0], "+" * 31 + "-+-+-"),
        (XBRL, [0.0] * 31 + [0.5 * n for n in range(1, 20)], "+" * 50),
        (XBRL, [0.0] * 31 + [15.0] * 31, "+" * 31 + "+" * 30 + "-"),
        (XBRL, [0.0] * 31 + [15.5] * 32, "+" * 31 + "+" * 31 + "-"),
        (XBRL, [0.0] * 31 + [10_000.0] * 32, "+" * 31 + "+" * 31 + "-"),
        (XBRL, [7.25] * 32, "+" * 31 + "-"),
        (NO_BURST, [0.0, 0.0], "+-"),
        (NO_BURST, [0.0, 0.499, 0.5, 0.999, 1.0], "+-+-+"),
        (NO_BURST, [0.0, 0.25, 0.5, 0.75, 1.0], "+-+-+"),
        (SLOW, [0.0] * 12, "+" * 11 + "-"),
        (SLOW, [0.0] * 11 + [1.999, 2.0, 2.0], "+" * 11 + "-+-"),
        (RateLimit(1, 3600.0, 0), [0.0, 3599.0, 3600.0], "+-+"),
    ],
)
def test_verdicts_are_those_of_nginx(limit: RateLimit, arrivals: list[float], expected: str) -> None:
    assert verdicts(limit, arrivals) == expected


def test_a_steady_caller_at_the_rate_is_never_refused() -> None:
    assert verdicts(NO_BURST, [0.5 * number for number in range(10_000)]) == "+" * 10_000


def test_a_caller_at_twice_the_rate_passes_every_other_time() -> None:
    assert verdicts(NO_BURST, [0.25 * number for number in range(1_000)]) == "+-" * 500


def test_a_refusal_changes_nothing() -> None:
    full = BucketState(30.0, 5.0)
    for _ in range(1_000):
        decision, state = decide(XBRL, full, 5.25)
        assert not decision.allowed
        assert state is full


def test_a_caller_that_hammers_is_not_kept_out_longer() -> None:
    hammering = [number * 0.01 for number in range(1, 50)]
    assert verdicts(XBRL, [0.0] * 31 + hammering + [0.5]) == "+" * 31 + "-" * 49 + "+"


def test_time_that_runs_backwards_refuses_no_more_calls() -> None:
    assert verdicts(XBRL, [100.0] * 30 + [99.0, 98.0]) == "+" * 31 + "-"


def test_time_that_runs_backwards_earns_nothing() -> None:
    # 31 at once have used it up; a request that read its clock a little earlier must not reopen the bucket.
    assert verdicts(XBRL, [100.0] * 30 + [90.0, 100.0]) == "+" * 31 + "-"


@given(
    per_second=st.sampled_from([1, 2, 3, 5, 10]),
    burst=st.integers(0, 40),
    gaps=st.lists(st.one_of(st.just(0), st.integers(0, 50), st.integers(0, 3_000)), max_size=150),
)
def test_verdicts_agree_with_integer_arithmetic(per_second: int, burst: int, gaps: list[int]) -> None:
    nginx = Nginx(per_second, burst)
    limiter = RateLimiter(RateLimit(per_second * 60, 60.0, burst), max_keys=16)
    now, expected, verdicts = 1_000_000, [], []
    for gap in gaps:
        now += gap
        expected.append(nginx.passes(now))
        verdicts.append(limiter.take("caller", now / 1000).allowed)
    assert verdicts == expected


# ---- what a decision says


def test_first_request_leaves_the_whole_burst() -> None:
    decision, state = decide(XBRL, None, 5.0)
    assert decision == Decision(allowed=True, limit=120, remaining=30, reset_seconds=0.5, retry_seconds=0.0)
    assert state == BucketState(0.0, 5.0)


def test_each_request_leaves_one_less_and_half_a_second_more() -> None:
    limiter = RateLimiter(XBRL, max_keys=16)
    decisions = [limiter.take("caller", 0.0) for _ in range(31)]
    assert [decision.remaining for decision in decisions] == list(range(30, -1, -1))
    assert [decision.reset_seconds for decision in decisions] == [(number + 1) / 2 for number in range(31)]
    assert {decision.retry_seconds for decision in decisions} == {0.0}


def test_a_refusal_says_when_to_come_back() -> None:
    limiter = RateLimiter(XBRL, max_keys=16)
    for _ in range(31):
        limiter.take("caller", 0.0)
    assert limiter.take("caller", 0.0) == Decision(False, 120, 0, reset_seconds=15.5, retry_seconds=0.5)
    assert limiter.take("caller", 0.25) == Decision(False, 120, 0, reset_seconds=15.25, retry_seconds=0.25)


@given(
    burst=st.integers(0, 20),
    requests=st.integers(1, 600),
    arrivals=st.lists(st.integers(0, 10_000), max_size=60).map(sorted),
)
def test_remaining_and_retry_after_are_true(burst: int, requests: int, arrivals: list[int]) -> None:
    limit = RateLimit(requests, 60.0, burst)
    state: BucketState | None = None
    for milliseconds in arrivals:
        decision, state = decide(limit, state, milliseconds / 1000)
    decision, state = decide(limit, state, 10.0)
    assert 0 <= decision.remaining <= burst
    if decision.allowed:
        for remaining in range(decision.remaining, 0, -1):
            decision, state = decide(limit, state, 10.0)
            assert decision.allowed, remaining
        decision, state = decide(limit, state, 10.0)
    assert not decision.allowed
    assert decision.remaining == 0
    soon, _ = decide(limit, state, 10.0 + decision.retry_seconds * 0.99)
    then, _ = decide(limit, state, 10.0 + decision.retry_seconds * 1.000001)
    assert (soon.allowed, then.allowed) == (False, True)


# ---- several limits at once

MINUTE, HOUR = RateLimit(3, 60.0, 2), RateLimit(5, 3600.0, 4)  # one in 20 s, one in 720 s


def test_a_request_must_pass_every_limit() -> None:
    limiter = RateLimiter(MINUTE, HOUR, max_keys=16)
    arrivals = [0.0, 0.0, 0.0, 0.0, 20.0, 40.0, 60.0, 719.0, 720.0, 720.0, 1440.0]
    #           the minute holds 3     then one, one, and the hour's 5 are used up until 720
    verdicts = "".join("+" if limiter.take("caller", at).allowed else "-" for at in arrivals)
    assert verdicts == "+++-++" + "--+-+"


def test_what_one_limit_refuses_uses_nothing_of_the_other() -> None:
    limiter = RateLimiter(MINUTE, HOUR, max_keys=16)
    for at in (0.0, 0.0, 0.0, 20.0, 40.0):
        assert limiter.take("caller", at).allowed
    before = limiter.list_remaining("caller", 100.0)
    assert [remaining for _, remaining, _ in before] == [3, 0]
    for _ in range(1000):
        assert not limiter.take("caller", 100.0).allowed
    assert limiter.list_remaining("caller", 100.0) == before


def test_what_is_left_says_when_all_of_it_is_free_again() -> None:
    limiter = RateLimiter(MINUTE, HOUR, max_keys=16)
    assert limiter.list_remaining("caller", 0.0) == [(MINUTE, 3, 0.0), (HOUR, 5, 0.0)]
    for _ in range(3):
        limiter.take("caller", 0.0)
    assert limiter.list_remaining("caller", 0.0) == [(MINUTE, 0, pytest.approx(60.0)), (HOUR, 2, pytest.approx(2160.0))]
    assert limiter.list_remaining("caller", 50.0) == [
        (MINUTE, 2, pytest.approx(10.0)),
        (HOUR, 2, pytest.approx(2110.0)),
    ]


def test_the_decision_told_is_the_one_that_leaves_least() -> None:
    limiter = RateLimiter(MINUTE, HOUR, max_keys=16)
    decisions = [limiter.take("caller", at) for at in (0.0, 0.0, 0.0, 0.0, 60.0, 120.0, 120.0)]
    assert [(decision.allowed, decision.limit, decision.remaining) for decision in decisions] == [
        *((True, 3, 2), (True, 3, 1), (True, 3, 0), (False, 3, 0)),
        *((True, 5, 1), (True, 5, 0), (False, 5, 0)),
    ]
    assert (decisions[3].retry_seconds, decisions[6].retry_seconds) == pytest.approx((20.0, 600.0))


# ---- callers


def test_callers_do_not_share_a_bucket() -> None:
    limiter = RateLimiter(NO_BURST, max_keys=16)
    assert [limiter.take(("user", 1), 0.0).allowed, limiter.take(("user", 1), 0.0).allowed] == [True, False]
    assert limiter.take(("user", 2), 0.0).allowed
    assert limiter.take(("address", 1), 0.0).allowed


@pytest.mark.slow
def test_memory_is_bounded_by_the_number_of_keys() -> None:
    limiter = RateLimiter(XBRL, max_keys=1_000)
    for number in range(200_000):
        assert limiter.take(number, 0.0).allowed
    assert len(limiter._states) == 1_000
    assert list(limiter._states) == list(range(199_000, 200_000))


@pytest.mark.slow
@pytest.mark.long
def test_a_million_callers_of_two_limits_fit_in_the_table() -> None:
    limiter = RateLimiter(RateLimit(60, 60.0, 59), RateLimit(1000, 3600.0, 999), max_keys=100_000)
    tracemalloc.start()
    try:
        for number in range(1_000_000):
            assert limiter.take(("address", f"2001:db8:{number >> 16:x}:{number & 65535:x}::/64"), 0.0).allowed
        used_bytes, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(limiter._states) == 100_000
    assert used_bytes <= most < 80_000_000  # bytes


def test_the_caller_longest_unseen_is_forgotten_first() -> None:
    limiter = RateLimiter(NO_BURST, max_keys=2)
    limiter.take("old", 0.0)
    limiter.take("busy", 0.0)
    limiter.take("old", 0.5)  # seen again: "busy" is the older one now
    limiter.take("new", 0.5)
    assert not limiter.take("old", 0.5).allowed
    assert limiter.take("busy", 0.25).allowed


def test_a_refused_caller_takes_no_place() -> None:
    limiter = RateLimiter(NO_BURST, max_keys=2)
    for _ in range(10):
        limiter.take("one", 0.0)
    assert len(limiter._states) == 1


def test_threads_share_a_bucket_exactly() -> None:
    limiter = RateLimiter(XBRL, max_keys=16)
    passed: list[bool] = []

    def work() -> None:
        passed.extend([limiter.take("caller", 0.0).allowed for _ in range(100)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(passed), sum(passed)) == (800, 31)


def test_places_come_evenly_and_at_once_after_a_pause() -> None:
    pace = Pacer()
    assert [pace.reserve(10, 7.0) for _ in range(3)] == pytest.approx([0.0, 0.1, 0.2])
    assert pace.reserve(10, 9.0) == 0.0


def test_the_headers_state_that_a_node_counts_on_its_own() -> None:
    decision = RateLimiter(XBRL, max_keys=16).take("caller", 0.0)
    now = datetime(2026, 11, 28, tzinfo=UTC)
    alone = decision.build_headers(now, is_per_node=False)
    assert decision.build_headers(now, is_per_node=True) == {**alone, "X-RateLimit-Scope": "node"}
    assert "X-RateLimit-Scope" not in alone
    assert [Config(accounts_url=url).has_nodes for url in ("", "postgresql:///finapi")] == [False, True]
