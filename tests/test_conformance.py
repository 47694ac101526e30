"""What grades a server says yes to finapi itself and no to one that breaks a promise; a client is graded by vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.client import exchange, verify_webhook
from finapi.client.exchange import ApiAnswer, ApiFailure, ApiRequest
from finapi.testing import FinapiServer, conformance, vectors
from finapi.testing.conformance import GradedServer
from tests.process import finapi

# Of a webhook and a feed: they need a socket.
SOCKETS = ("webhooks", "events")
VECTORS = json.loads(vectors.read_text())


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(listens=False, seed=1) as running:
        yield running


def served(server: FinapiServer, name: str, change: Callable[[ApiRequest, ApiAnswer], ApiAnswer]) -> GradedServer:
    """A world of its own whose answers are changed."""
    world = server.world(f"grade-{name}")
    world.control.reset()

    def send(request: ApiRequest) -> ApiAnswer | None:
        answer = world.send(request)
        return answer and change(request, answer)

    return GradedServer(world.url, world.api_key, send, world.control.advance)


def test_finapi_itself_is_graded_ok_in_everything() -> None:
    with FinapiServer(seed=2) as running:
        told = list(
            conformance.grade_server(
                GradedServer(running.url, running.api_key, wait=running.control.advance), conformance.CHECKS
            )
        )
        assert {one.check: one.outcome for one in told} == dict.fromkeys(conformance.CHECKS, "ok"), told
        assert [one.message for one in told if one.check in ("limits", "retry")] == [
            "financials 11, xbrl 31, app 60",
            "passes after 1 s",
        ]


def headers(answer: ApiAnswer, **changed: str | None) -> ApiAnswer:
    told = {**answer.headers, **{name.replace("_", "-"): text for name, text in changed.items()}}
    return replace(answer, headers={name: text for name, text in told.items() if text is not None})


def body(answer: ApiAnswer, old: bytes, new: bytes) -> ApiAnswer:
    return replace(answer, body=answer.body.replace(old, new))


BROKEN: dict[str, tuple[Callable[[ApiRequest, ApiAnswer], ApiAnswer], str]] = {
    "errors": (
        lambda request, answer: body(answer, b'"code":"UNAUTHORIZED"', b'"code":"NO"'),
        "status, error and code of /sec/filings is ('error', 'UNAUTHORIZED', 'NO'), "
        "not ('error', 'UNAUTHORIZED', 'UNAUTHORIZED')",
    ),
    "headers": (lambda request, answer: headers(answer, x_request_id="1"), "X-Request-ID is '1', not 'conformance-1'"),
    "tags": (lambda request, answer: headers(answer, etag='W/"1"'), "/sec/filings?limit=1 has no strong ETag"),
    "metering": (
        lambda request, answer: headers(answer, x_tokens_charged="4" if answer.status == 200 else "0"),
        "what the balance fell by is (5, 0), not (4, 0)",
    ),
    "decimals": (
        lambda request, answer: body(answer, b'"eps_diluted":6.08', b'"eps_diluted":6.0800000000000001'),
        "eps_diluted of 2024-09-28 in CSV is '6.08', not '6.0800000000000001'",
    ),
    "paging": (
        lambda request, answer: body(answer, b'"has_more":true', b'"has_more":false'),
        "whether next_cursor goes with has_more is True, not False",
    ),
    "limits": (
        lambda request, answer: headers(answer, **({"retry_after": "1"} if answer.status == 429 else {})),
        "the headers of a 429 of financials is ['retry-after'], not []",
    ),
    "retry": (lambda request, answer: headers(answer, retry_after=None), "a 429 has no Retry-After"),
}


@pytest.mark.parametrize("check", BROKEN)
def test_a_broken_promise_fails_its_check(server: FinapiServer, check: str) -> None:
    change, told = BROKEN[check]
    (verdict,) = conformance.grade_server(served(server, check, change), [check])
    assert verdict.outcome == "failed"
    assert verdict.message == told


@pytest.mark.parametrize(
    ("pattern", "new", "told"),
    [
        (rb'("revenue":)(\d+)', rb"\g<1>4.16e11", "revenue of 2025-09-27 is 4.16e11, not a decimal"),
        (rb'("values":\[)"(\d+)"', rb"\1\2", "Decimal('391035000000') of us-gaap:Revenue"),
        (
            rb'("values":\[)null',
            rb'\1"0"',
            "us-gaap:CommitmentsAndContingencies has the value 0 with the mark {'status': 'nil'",
        ),
        (rb'("values":\["\d+",)"\d+"', rb"\1null", "has the value None with the mark None"),
    ],
)
def test_a_float_and_a_silent_zero_fail_the_decimals(
    server: FinapiServer, pattern: bytes, new: bytes, told: str
) -> None:
    def change(request: ApiRequest, answer: ApiAnswer) -> ApiAnswer:
        changed = re.sub(pattern, new, answer.body)
        if request.headers.get("Accept") == "text/csv":
            changed = re.sub(rb"(?<=,)4\d{11}(?=,)", b"4.16e11", changed) if b"e11" in new else changed
        return replace(answer, body=changed)

    (verdict,) = conformance.grade_server(served(server, "decimals", change), ["decimals"])
    assert (verdict.outcome, told in verdict.message) == ("failed", True), verdict.message


@pytest.mark.parametrize(
    ("limit", "seconds", "outcome"),
    [("60", 2, "failed"), ("60", 3_600, "failed"), ("1000", 4, "ok"), ("1000", 5, "failed")],
)
def test_a_retry_after_that_is_longer_than_its_limit_needs_fails(
    server: FinapiServer, limit: str, seconds: int, outcome: str
) -> None:
    def change(request: ApiRequest, answer: ApiAnswer) -> ApiAnswer:
        if answer.status != 429:
            return answer
        told = {"retry_after": str(seconds), "x_ratelimit_limit": limit} if "retry-after" in answer.headers else {}
        return headers(answer, **told)

    (verdict,) = conformance.grade_server(served(server, "limits", change), ["limits"])
    assert verdict.outcome == outcome, verdict.message
    if outcome == "failed":
        needed = {"60": 1, "1000": 4}[limit]
        assert verdict.message == f"Retry-After is {seconds} s, where {limit} calls allow another after {needed} s"


def test_every_check_has_a_server_that_fails_it() -> None:
    assert {*BROKEN, *SOCKETS} == {*conformance.CHECKS}


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b"[" * 100_000, b'{"data": 5}'])
@pytest.mark.parametrize("check", [name for name in conformance.CHECKS if name not in SOCKETS])
def test_an_answer_of_another_form_fails_and_breaks_nothing(check: str, answer: bytes) -> None:
    odd = GradedServer("http://odd.test", "k", lambda request: ApiAnswer(200, {}, answer), lambda seconds: None)
    (verdict,) = conformance.grade_server(odd, [check])
    assert verdict.outcome == "failed"


def test_no_answer_fails() -> None:
    (verdict,) = conformance.grade_server(GradedServer("http://odd.test", "k", lambda request: None), ["errors"])
    assert (verdict.outcome, verdict.message) == ("failed", "GET /no-such-route is not answered")


# ---- vectors


def answered(kind: str, one: dict[str, Any]) -> Any:
    """What finapi's own client makes of a vector."""
    if kind == "webhook":
        return verify_webhook(one["secrets"], one["headers"], one["body"].encode(), one["now"]) is None
    if kind == "retry_after":
        return exchange.retry_after({name.lower(): text for name, text in one["headers"].items()})
    if kind == "decimal":
        answer = ApiAnswer(200, {"content-type": "application/json"}, one["json"].encode())
        value = exchange.decoded(answer, dates=False)[one["member"]]
        return None if value is None else str(value)
    if kind == "next_page":
        return exchange.following(one["query"], one["body"], one["headers"], one["rows"])
    key = {"Idempotency-Key": "1"} if one["idempotency_key"] else {}
    talk = exchange.conversation(ApiRequest(one["method"], "", key), 2)
    next(talk)
    told = {name.lower(): text for name, text in one["headers"].items()}
    try:
        wait = talk.send(None if one["status"] is None else ApiAnswer(one["status"], told, b""))
    except ApiFailure:
        return "give up"
    assert isinstance(wait, float)
    return f"again after {wait:g}" if told else "again"


def test_the_python_client_answers_every_vector() -> None:
    answers = {one["id"]: answered(kind, one) for kind in vectors.KINDS for one in VECTORS[kind]}
    verdicts = list(vectors.grade_answers(answers))
    assert [one for one in verdicts if one.outcome != "ok"] == []
    assert len(verdicts) == sum(len(VECTORS[kind]) for kind in vectors.KINDS) == 59


def test_a_client_by_floating_point_fails() -> None:
    floats = {one["id"]: str(float(json.loads(one["json"])["value"] or 0)) for one in VECTORS["decimal"]}
    failed = {one.check for one in vectors.grade_answers(floats) if one.outcome == "failed"}
    assert {one["id"] for one in VECTORS["decimal"]} - failed == {"decimal-4", "decimal-5"}
    assert str(Decimal("6.10")) == "6.10"


def test_the_command_prints_the_vectors_and_grades_answers(tmp_path: Path) -> None:
    assert json.loads(finapi("conformance", "--vectors").out) == VECTORS
    answers = {one["id"]: one["expect"] for kind in vectors.KINDS for one in VECTORS[kind]}
    (tmp_path / "right").write_text(json.dumps(answers))
    right = finapi("conformance", "--answers", tmp_path / "right", "--json")
    assert (right.status, right.json["failed"]) == (0, 0)
    wrong = finapi("conformance", "--answers", "-", stdin=json.dumps({**answers, "decimal-8": "-"}).encode())
    assert wrong.status == 1
    assert 'failed  decimal-8       nor is zero missing: "-", not "0"' in wrong.out.splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "name a server with --against URL, or a client's answers with --answers FILE"),
        (("--against", "http://127.0.0.1:1"), "grading a server needs --key or FINAPI_API_KEY"),
        (("--against", "file:///etc", "--key", "k"), "--against is an http or https URL"),
        (("pages", "--against", "http://127.0.0.1:1", "--key", "k"), "there is no check pages; there are errors,"),
        (("--answers", "/no/such/file"), "/no/such/file: No such file or directory"),
        (("--answers", "-"), "-: is not JSON"),
    ],
)
def test_what_cannot_be_graded_is_said(words: tuple[str, ...], told: str) -> None:
    done = finapi("conformance", *words)
    assert done.status == 2
    assert done.complaint.startswith(told)


def test_the_command_grades_a_server() -> None:
    done = finapi("conformance", "errors", "--against", "http://127.0.0.1:9", "--key", "k")
    told = "GET /no-such-route is not answered: [Errno 111] Connection refused"
    assert (done.status, done.out) == (1, f"failed  errors          {told}\n")
