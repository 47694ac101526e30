"""Tests of the conformance checks: they pass for finapi, and fail for a server that breaks a promise."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.client import exchange
from finapi.client.errors import ApiFailure, parse_retry_after
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.client.signatures import find_signature_problem
from finapi.testing import FinapiServer, conformance, vectors
from finapi.testing.conformance import GradedServer
from tests.process import finapi
from tests.support.case_tables import run_each_case

# Checks that need a socket.
SOCKETS = ("webhooks", "events")
VECTORS = json.loads(vectors.read_text())


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(listens=False, seed=1) as fixture_server:
        yield fixture_server


def build_changed_server(
    server: FinapiServer, name: str, change: Callable[[ApiRequest, ApiAnswer], ApiAnswer]
) -> GradedServer:
    """Return a world whose answers are changed, as a server under test."""
    world = server.world(f"grade-{name}")
    world.control.reset()

    def send(request: ApiRequest) -> ApiAnswer | None:
        answer = world.send(request)
        return answer and change(request, answer)

    return GradedServer(world.url, world.api_key, send, world.control.advance)


def test_finapi_passes_every_check() -> None:
    with FinapiServer(seed=2) as server:
        verdicts = list(
            conformance.grade_server(
                GradedServer(server.url, server.api_key, wait=server.control.advance), conformance.CHECKS
            )
        )
        assert {verdict.check: verdict.outcome for verdict in verdicts} == dict.fromkeys(conformance.CHECKS, "ok"), (
            verdicts
        )
        assert [verdict.message for verdict in verdicts if verdict.check in ("limits", "retry")] == [
            "financials 11, xbrl 31, app 60",
            "passes after 1 s",
        ]


def test_events_are_skipped_without_the_package_websockets(
    server: FinapiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded_names = [name for name in sys.modules if name.startswith("websockets.")]
    for name in ("websockets", *loaded_names):
        monkeypatch.setitem(sys.modules, name, None)
    world = server.world("grade-without-websockets")
    graded_server = GradedServer(world.url, world.api_key, world.send, world.control.advance)
    (verdict,) = conformance.grade_server(graded_server, ["events"])
    assert verdict.outcome == "skipped"
    assert verdict.message == "the package websockets is not installed: pip install websockets"


def change_headers(answer: ApiAnswer, **changes: str | None) -> ApiAnswer:
    merged = {**answer.headers, **{name.replace("_", "-"): text for name, text in changes.items()}}
    return replace(answer, headers={name: text for name, text in merged.items() if text is not None})


def replace_in_body(answer: ApiAnswer, old: bytes, new: bytes) -> ApiAnswer:
    return replace(answer, body=answer.body.replace(old, new))


BROKEN: dict[str, tuple[Callable[[ApiRequest, ApiAnswer], ApiAnswer], str]] = {
    "errors": (
        lambda request, answer: replace_in_body(answer, b'"code":"UNAUTHORIZED"', b'"code":"NO"'),
        "status, error and code of /sec/filings is ('error', 'UNAUTHORIZED', 'NO'), "
        "not ('error', 'UNAUTHORIZED', 'UNAUTHORIZED')",
    ),
    "headers": (
        lambda request, answer: change_headers(answer, x_request_id="1"),
        "X-Request-ID is '1', not 'conformance-1'",
    ),
    "tags": (lambda request, answer: change_headers(answer, etag='W/"1"'), "/sec/filings?limit=1 has no strong ETag"),
    "metering": (
        lambda request, answer: change_headers(answer, x_tokens_charged="4" if answer.status == 200 else "0"),
        "the cost of a list and of a failure by the balance is (5, 0), not (4, 0)",
    ),
    "decimals": (
        lambda request, answer: replace_in_body(answer, b'"eps_diluted":6.08', b'"eps_diluted":6.0800000000000001'),
        "eps_diluted of 2024-09-28 in CSV is '6.08', not '6.0800000000000001'",
    ),
    "paging": (
        lambda request, answer: replace_in_body(answer, b'"has_more":true', b'"has_more":false'),
        "has_more is False, not True",
    ),
    "limits": (
        lambda request, answer: change_headers(answer, **({"retry_after": "1"} if answer.status == 429 else {})),
        "the headers of a 429 of financials is ['retry-after'], not []",
    ),
    "retry": (lambda request, answer: change_headers(answer, retry_after=None), "a 429 has no Retry-After"),
}


@run_each_case("check", BROKEN)
def test_a_broken_promise_fails_its_check(server: FinapiServer, check: str) -> None:
    change, message = BROKEN[check]
    (verdict,) = conformance.grade_server(build_changed_server(server, check, change), [check])
    assert verdict.outcome == "failed"
    assert verdict.message == message


@run_each_case(
    "pattern, new, message",
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
def test_a_float_or_a_hidden_zero_fails_the_decimals(
    server: FinapiServer, pattern: bytes, new: bytes, message: str
) -> None:
    def change(request: ApiRequest, answer: ApiAnswer) -> ApiAnswer:
        changed_body = re.sub(pattern, new, answer.body)
        if request.headers.get("Accept") == "text/csv":
            changed_body = re.sub(rb"(?<=,)4\d{11}(?=,)", b"4.16e11", changed_body) if b"e11" in new else changed_body
        return replace(answer, body=changed_body)

    (verdict,) = conformance.grade_server(build_changed_server(server, "decimals", change), ["decimals"])
    assert (verdict.outcome, message in verdict.message) == ("failed", True), verdict.message


@run_each_case(
    "limit, seconds, outcome",
    [("60", 2, "failed"), ("60", 3_600, "failed"), ("1000", 4, "ok"), ("1000", 5, "failed")],
)
def test_a_retry_after_that_is_too_long_fails(server: FinapiServer, limit: str, seconds: int, outcome: str) -> None:
    def change(request: ApiRequest, answer: ApiAnswer) -> ApiAnswer:
        if answer.status != 429:
            return answer
        changes = {"retry_after": str(seconds), "x_ratelimit_limit": limit} if "retry-after" in answer.headers else {}
        return change_headers(answer, **changes)

    (verdict,) = conformance.grade_server(build_changed_server(server, "limits", change), ["limits"])
    assert verdict.outcome == outcome, verdict.message
    if outcome == "failed":
        needed = {"60": 1, "1000": 4}[limit]
        assert verdict.message == f"Retry-After is {seconds} s, but another call is allowed after {needed} s"


def test_every_check_fails_for_some_server() -> None:
    assert {*BROKEN, *SOCKETS} == {*conformance.CHECKS}


@run_each_case("answer", [b"", b"[]", b"{}", b"[" * 100_000, b'{"data": 5}'])
@run_each_case("check", [name for name in conformance.CHECKS if name not in SOCKETS])
def test_an_answer_of_another_form_fails_every_check(check: str, answer: bytes) -> None:
    odd_server = GradedServer("http://odd.test", "k", lambda request: ApiAnswer(200, {}, answer), lambda seconds: None)
    (verdict,) = conformance.grade_server(odd_server, [check])
    assert verdict.outcome == "failed"


def test_a_server_without_answers_fails() -> None:
    (verdict,) = conformance.grade_server(GradedServer("http://odd.test", "k", lambda request: None), ["errors"])
    assert (verdict.outcome, verdict.message) == ("failed", "GET /no-such-route is not answered")


# ---- vectors


def answer_vector(kind: str, vector: dict[str, Any]) -> Any:
    """Return the answer of finapi's own client to a vector."""
    if kind == "webhook":
        body = vector["body"].encode()
        return find_signature_problem(vector["secrets"], vector["headers"], body, vector["now"]) is None
    if kind == "retry_after":
        return parse_retry_after({name.lower(): text for name, text in vector["headers"].items()})
    if kind == "decimal":
        answer = ApiAnswer(200, {"content-type": "application/json"}, vector["json"].encode())
        figure = exchange.decode_answer(answer, dates=False)[vector["member"]]
        return None if figure is None else str(figure)
    if kind == "next_page":
        return exchange.build_next_query(vector["query"], vector["body"], vector["headers"], vector["rows"])
    key_headers = {"Idempotency-Key": "1"} if vector["idempotency_key"] else {}
    conversation = exchange.run_conversation(ApiRequest(vector["method"], "", key_headers), 2)
    next(conversation)
    vector_headers = {name.lower(): text for name, text in vector["headers"].items()}
    try:
        wait = conversation.send(None if vector["status"] is None else ApiAnswer(vector["status"], vector_headers, b""))
    except ApiFailure:
        return "give up"
    assert isinstance(wait, float)
    return f"again after {wait:g}" if vector_headers else "again"


def test_the_python_client_answers_every_vector() -> None:
    answers = {vector["id"]: answer_vector(kind, vector) for kind in vectors.KINDS for vector in VECTORS[kind]}
    verdicts = list(vectors.grade_answers(answers))
    assert [vector for vector in verdicts if vector.outcome != "ok"] == []
    assert len(verdicts) == sum(len(VECTORS[kind]) for kind in vectors.KINDS) == 59


def test_a_client_with_floating_point_fails() -> None:
    floats = {vector["id"]: str(float(json.loads(vector["json"])["value"] or 0)) for vector in VECTORS["decimal"]}
    failed_ids = {vector.check for vector in vectors.grade_answers(floats) if vector.outcome == "failed"}
    assert {vector["id"] for vector in VECTORS["decimal"]} - failed_ids == {"decimal-4", "decimal-5"}
    assert str(Decimal("6.10")) == "6.10"


def test_the_command_prints_the_vectors_and_grades_answers(tmp_path: Path) -> None:
    assert json.loads(finapi("conformance", "--vectors").out) == VECTORS
    answers = {vector["id"]: vector["expect"] for kind in vectors.KINDS for vector in VECTORS[kind]}
    (tmp_path / "right").write_text(json.dumps(answers))
    right_run = finapi("conformance", "--answers", tmp_path / "right", "--json")
    assert (right_run.status, right_run.json["failed"]) == (0, 0)
    wrong_run = finapi("conformance", "--answers", "-", stdin=json.dumps({**answers, "decimal-8": "-"}).encode())
    assert wrong_run.status == 1
    assert 'failed  decimal-8       nor is zero missing: "-", not "0"' in wrong_run.out.splitlines()


@run_each_case(
    "options, message",
    [
        ((), "name a server with --against URL, or a client's answers with --answers FILE"),
        (("--against", "http://127.0.0.1:1"), "grading a server needs --key or FINAPI_API_KEY"),
        (("--against", "file:///etc", "--key", "k"), "--against must be an http or https URL"),
        (("pages", "--against", "http://127.0.0.1:1", "--key", "k"), "unknown check pages; use one of: errors,"),
        (("--answers", "/no/such/file"), "/no/such/file: No such file or directory"),
        (("--answers", "-"), "-: is not JSON"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], message: str) -> None:
    finished = finapi("conformance", *options)
    assert finished.status == 2
    assert finished.complaint.startswith(message)


def test_the_command_grades_a_server() -> None:
    finished = finapi("conformance", "errors", "--against", "http://127.0.0.1:9", "--key", "k")
    message = "GET /no-such-route is not answered: [Errno 111] Connection refused"
    assert (finished.status, finished.out) == (1, f"failed  errors          {message}\n")
