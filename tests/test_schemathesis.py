"""Calls that schemathesis makes up out of the OpenAPI document, with all of its checks: in process, and over a socket.

Limits and balance are lifted, the seed is fixed, and every operation must have answered well at least once.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import STATUS_BY_CODE
from finapi.edgar import cusip
from finapi.server import run_server
from finapi.web.application import WsgiApp
from finapi.web.http.tables import CSV, NDJSON
from tests.described import LIFTED, World

pytestmark = pytest.mark.slow

SEED = 20260131

# Texts that are answered: generated ones are constants of whatever code is loaded, so that chance would decide.
WRITTEN = {
    "post_sql_proxy": {"query": "SELECT 1"},
    "post_insiders_query": {"query": "issuer.tradingSymbol:AAPL"},
    "post_insider_module_api_insiders_query": {"query": "issuer.tradingSymbol:AAPL"},
    "post_form_13f_holdings": {"query": "cik:1067983"},
    "get_form_13f_holdings_search": {"q": "AAPL"},
}
# Codes of what only a secret of the moment, or money, could have been right for.
OF_THE_MOMENT = {
    "INVALID_INVITE",
    "INVITE_USED",
    "INVALID_TOKEN",
    "EMAIL_EXISTS",
    "EMAIL_NOT_VERIFIED",
    "INSUFFICIENT_BALANCE",
}
# Parameters that must be borne out: changes of a quarter that is not complete; an amount above 0, to the cent.
# The order of lists that have one only, and two parameters of which one is taken.
OF_THE_DATA = {
    ("get_form_13f_fund_cik", "status"),
    ("post_billing_quota", "amount_dollars"),
    ("post_form_13d", "ticker"),
    ("post_form_13f_cover_pages", "sort"),
    ("get_xbrl_segments", "metric"),
    ("post_insiders_query", "sort"),
    ("post_insider_module_api_insiders_query", "sort"),
}
# Filters that want a window beside them where they are asked of all companies.
OF_A_WINDOW = {"min_shares", "max_shares", "min_percent", "max_percent", "earnings_within"}
# What a table is refused with, where JSON is not.
OF_TABLES = {"limit", "size", "template"}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    from schemathesis.transport.wsgi import WSGI_TRANSPORT

    caplog.set_level(logging.CRITICAL)
    send = WSGI_TRANSPORT.send

    def without_sockets(case: Any, **options: Any) -> Any:
        # Settings of sockets that some of its checks hand to werkzeug's client, which knows none (4.32).
        for name in ("max_redirects", "verify", "cert", "proxies"):
            options.pop(name, None)
        return send(case, **options)

    monkeypatch.setattr(WSGI_TRANSPORT, "send", without_sockets)


@pytest.fixture
def world() -> Iterator[World]:
    app = apps.create_in_memory(
        Config(public_url="http://localhost", **LIFTED), FixedClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    )
    yield World(app)
    app.db.close()


@pytest.mark.first
def test_calls_made_up_of_the_document_are_answered_as_it_says(world: World) -> None:
    run(world, WsgiApp(world.app), calls=6, stateful=True)


@pytest.mark.long
def test_calls_over_a_socket_are_answered_as_the_document_says(tmp_path: Path) -> None:
    config = Config(port=0, data_dir=tmp_path / "data", mail_dir=str(tmp_path / "mail"), **LIFTED)
    worlds: list[World] = []
    with run_server(config, lambda *_: None, prepare=lambda app: worlds.append(World(app))) as server:
        run(worlds[0], server.url, calls=0, stateful=False)


@pytest.mark.first
def test_no_operation_mostly_refuses_what_fits_its_schema(world: World) -> None:
    """Values that no schema describes are filled in: current secrets, one of two parameters of which one is needed, the
    check digit of a CUSIP, and texts in a language (SQL, Lucene) or that name a security."""
    import schemathesis.openapi
    from hypothesis import strategies as st
    from schemathesis.engine import events, from_schema

    phases = {name: {"enabled": False} for name in ("examples", "coverage", "stateful")}
    generation = {"mode": "positive", "max-examples": 30}
    schema = build_schema(world, WsgiApp(world.app), generation, checks={"enabled": False}, phases=phases)
    schemathesis.hooks.unregister_all()
    bases = st.from_regex("[0-9A-Z*@#]{8}", fullmatch=True)
    numbers = bases.map(lambda base: base + cusip.compute_check_digit(base))
    # The check digit of 000000000 is right, but it is a placeholder. A run that shrinks to it is refused each time.
    cusips = numbers.filter(lambda number: not cusip.is_placeholder(number))
    schemathesis.openapi.format("cusip", cusips)
    isins = st.from_regex("[A-Z]{2}[0-9A-Z]{9}[0-9]", fullmatch=True)
    schemathesis.openapi.format("cusip-or-isin", cusips | isins)

    @schemathesis.hook
    def before_call(context: Any, case: Any, kwargs: Any) -> None:
        operation = case.operation.definition.raw["operationId"]
        own_values = world.own(operation) | WRITTEN.get(operation, {})
        if isinstance(case.body, dict):
            case.body |= own_values
        elif not case.path_parameters and {"ticker", "cik", "accession", "accession_number"}.isdisjoint(
            case.query or ()
        ):
            case.query = {**(case.query or {}), **own_values}

    @schemathesis.hook
    def after_call(context: Any, case: Any, response: Any) -> None:
        world.reopen()

    statuses: dict[str, Counter[int]] = defaultdict(Counter)
    for event in from_schema(schema).execute():
        assert not isinstance(event, events.NonFatalError | events.FatalError), event
        if isinstance(event, events.ScenarioFinished):
            responses = [interaction.response for interaction in event.recorder.interactions.values()]
            statuses[event.recorder.label].update(answer.status_code for answer in responses if answer is not None)
    assert len(statuses) == len(list(schema.get_all_operations())) > 130
    assert min(counts.total() for counts in statuses.values()) > 0
    refused = {label: counts for label, counts in statuses.items() if counts[400] * 2 > counts.total()}
    assert not refused


def build_schema(world: World, where: Any, generation: dict[str, Any], **settings: Any) -> Any:
    """Return the operations of the document of a WSGI application or a URL, all but one."""
    import schemathesis

    config = schemathesis.Config.from_dict(
        {
            "seed": SEED,
            "workers": 1,
            "continue-on-failure": True,
            # werkzeug's client does not unpack what it is sent.
            "headers": {**world.headers(), "Accept-Encoding": "identity"},
            "generation": {"no-shrink": True, "database": "none", **generation},
            **settings,
        }
    )
    if isinstance(where, str):
        schema = schemathesis.openapi.from_url(where + "/openapi.json", config=config)
    else:
        schema = schemathesis.openapi.from_wsgi("/openapi.json", where, config=config)
    # It takes away the account whose session goes with every call; tests/accounts/test_own_accounts.py calls it.
    return schema.exclude(operation_id="delete_user")


def run(world: World, where: Any, *, calls: int, stateful: bool) -> None:
    """Run every phase of schemathesis against a WSGI application or a URL. Fail with its findings."""
    import schemathesis
    from schemathesis.engine import events, from_schema

    schema = build_schema(
        world,
        where,
        {"max-examples": calls or 1},
        # What is too large is refused before it is read.
        checks={"negative_data_rejection": {"expected-statuses": [400, 401, 404, 405, 413, 415]}},
        phases={"fuzzing": {"enabled": calls > 0}, "stateful": {"enabled": stateful, "max-steps": 4}},
    )
    for media in ("text/csv", "application/x-ndjson"):
        schemathesis.deserializer(media)(lambda context, response: response.content.decode())
    hooks(world)
    failures_by_call: dict[tuple[str, str], str] = {}
    statuses: dict[str, set[int]] = defaultdict(set)
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            failures_by_call["error", str(getattr(event, "label", ""))] = str(event)
        if isinstance(event, events.ScenarioFinished):
            failures_by_call |= failures(event.recorder)
            for case_id, interaction in event.recorder.interactions.items():
                if interaction.response is not None:
                    label = event.recorder.cases[case_id].value.operation.label
                    statuses[label].add(interaction.response.status_code)
    assert not failures_by_call, "\n".join(f"{' '.join(key)}: {text}" for key, text in failures_by_call.items())
    labels = {operation_result.ok().label for operation_result in schema.get_all_operations()}
    assert {label for label in labels if not statuses[label] & {200, 302}} == set()


def failures(recorder: Any) -> dict[tuple[str, str], str]:
    """Return the failures of a scenario's checks: the operation, the check, and the call with its answer."""
    failures_by_check = {}
    for case_id, checks in recorder.checks.items():
        for check in (check_node for check_node in checks if check_node.failure_info is not None):
            interaction = recorder.interactions[case_id]
            answer = interaction.response and (interaction.response.status_code, interaction.response.content[:400])
            text = (
                f"{check.failure_info.failure.message}: {interaction.request.method} {interaction.request.uri[:400]} "
            )
            failures_by_check[recorder.label, check.name] = (
                text + f"{(interaction.request.body or b'')[:400]!r} -> {answer}"
            )
    return failures_by_check


def hooks(world: World) -> None:
    """Install real ids, tokens and sessions for the document's examples, and values that no schema describes."""
    import schemathesis

    schemathesis.hooks.unregister_all()

    @schemathesis.hook
    def before_call(context: Any, case: Any, kwargs: Any) -> None:
        operation = case.operation.definition.raw
        own_values = world.own(operation["operationId"])
        parameter_examples = {
            parameter["name"]: parameter.get("example")
            for parameter in operation.get("parameters", [])
            if "name" in parameter
        }
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example", {})
        for part, examples in (
            (case.path_parameters, parameter_examples),
            (case.query, parameter_examples),
            (case.body, body),
        ):
            for name, value in own_values.items():
                if isinstance(part, dict) and name in part and part[name] == examples.get(name):
                    part[name] = value

    @schemathesis.hook
    def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
        if type(failure).__name__ == "JsonSchemaError":
            # A table has the schema of the JSON whose rows it has: generators would make a union of two schemas.
            return response.headers["content-type"][0].partition(";")[0] not in (CSV, NDJSON)
        return not (type(failure).__name__ == "RejectedPositiveData" and is_undescribed_refusal(case, response))

    @schemathesis.hook
    def after_call(context: Any, case: Any, response: Any) -> None:
        world.reopen()
        if response.status_code >= 400 and case.method != "HEAD":
            assert STATUS_BY_CODE[response.json()["code"]] == response.status_code


def is_undescribed_refusal(case: Any, response: Any) -> bool:
    """Return True if a call that fits the schema was refused for a reason that no schema can describe.

    That is the meaning of a text (a CUSIP's check digit, a query's grammar), two parameters that belong together,
    and the secrets of the moment.
    """
    answer = response.json()
    if answer["code"] in OF_THE_MOMENT:
        return True
    name = answer.get("details", {}).get("param")
    if answer["code"] != "INVALID_PARAM" or name is None:
        return False
    operation = case.operation.definition.raw
    schemas = {
        parameter["name"]: parameter["schema"] for parameter in operation.get("parameters", []) if "name" in parameter
    }
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {"schema": {}})
    schemas |= media["schema"].get("properties", {})
    table = isinstance(case.query, dict) and case.query.get("format") in ("csv", "ndjson")
    if name in OF_A_WINDOW and "transactions" in operation["operationId"]:
        return True
    if (operation["operationId"], name) in OF_THE_DATA or (table and name in OF_TABLES):
        return True
    schema = schemas.get(name, {})
    kinds = schema.get("type")
    row_schema = schema.get("items", schema)
    return (
        "string" in (kinds, *(kinds if isinstance(kinds, list) else ()), row_schema.get("type"))
        and "enum" not in row_schema
    )
