"""Differences between a real service and the fixture (``finapi fixture --verify``).

The same calls are made to both and their answers compared by form: status, type, headers, and the names and types of
JSON members. A client written against the fixture may rely on a member that the service does not have; that is a
difference. A member that only the service has breaks no client; its message begins with ``+``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from finapi.client import exchange
from finapi.client.errors import ApiFailure
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.client.synchronous import Send
from finapi.testing.recording import ServiceRecording

MAX_DEPTH = 40  # Levels of nesting up to which JSON documents are compared.
MAX_TRIES = 4
# The headers that clients read. Other headers are not compared.
CLIENT_HEADER = re.compile(
    "etag|retry-after|allow|link|deprecation|sunset"
    "|x-(api-version|request-id|tokens-charged|ratelimit-.*|has-more|next-cursor|total-.*|window)"
)
VERSION_HEADER = "x-api-version"

# The calls that are compared if there is no recording: one or two of each kind.
DEFAULT_TARGETS = (
    "/api/v1/financials/status",
    "/api/v1/policy",
    "/api/v1/account/balance",
    "/api/v1/account/limits",
    "/api/v1/sec/filings?ticker=AAPL&limit=2",
    "/api/v1/sec/forms",
    "/api/v1/sec/entities?query=apple",
    "/api/v1/xbrl/coverage?ticker=AAPL",
    "/api/v1/xbrl/companies/AAPL/statements?statement=income",
    "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue,eps_diluted&limit=2",
    "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue&limit=1&provenance=full",
    "/api/v1/insiders/transactions/by-ticker/AAPL?limit=2",
    "/api/v1/form-13f/fund/1067983?limit=2",
    "/api/v1/prices/AAPL?limit=2",
    "/api/v1/events?feed=main-api",
    "/api/v1/xbrl/timeseries?ticker=NOSUCH&metrics=revenue",
)

_TYPE_NAMES = {dict: "object", list: "list", str: "text", bool: "boolean", type(None): "null"}


class Endpoint(NamedTuple):
    """A server that is compared: its URL, the API key, and the function that sends requests to it."""

    url: str
    api_key: str
    send: Send


class Difference(NamedTuple):
    """One difference in the answers to a call. If the message begins with ``+``, only the service has a member."""

    target: str
    message: str


def iter_differences(
    service: Endpoint, fixture: Endpoint, wait: Callable[[float], None], recording: ServiceRecording | None
) -> Iterator[Difference]:
    """Compare the GETs of a recording, or those of DEFAULT_TARGETS, and yield each difference.

    If the service refuses a call for now, ``wait`` is called with the seconds to wait before it is tried again.
    """
    for target, accept in _list_calls(recording):
        headers = {"Accept": accept or "application/json"}
        fixture_request = ApiRequest("GET", fixture.url + target, {**headers, "X-API-Key": fixture.api_key})
        fixture_answer = fixture.send(fixture_request)
        service_url = service.url.rstrip("/") + target
        service_request = ApiRequest("GET", service_url, {**headers, "X-API-Key": service.api_key})
        try:
            service_answer = _call_service(service_request, service.send, wait)
        except ApiFailure as failure:
            yield Difference(target, f"the service: {failure}")
            if failure.status:
                continue
            return
        if fixture_answer is not None:
            for message in compare_answers(fixture_answer, service_answer):
                yield Difference(target, message)


def _list_calls(recording: ServiceRecording | None) -> list[tuple[str, str]]:
    """Return the targets of the calls with the type that each accepts."""
    if recording is None:
        return [(target, "") for target in DEFAULT_TARGETS]
    return [
        (call.target, call.accept)
        for call in recording.answers
        if call.method == "GET" and call.credential != "session"
    ]


def _call_service(request: ApiRequest, send: Send, wait: Callable[[float], None]) -> ApiAnswer:
    """Return the answer of the service. Wait as long as it demands. Raise ApiFailure if it does not answer."""
    last_answer: ApiAnswer | None = None
    conversation = exchange.run_conversation(request, MAX_TRIES)
    try:
        step = next(conversation)
        while True:
            if isinstance(step, ApiRequest):
                last_answer = send(step)
                step = conversation.send(last_answer)
            else:
                wait(step)
                step = conversation.send(None)
    except StopIteration as end:
        answer: ApiAnswer = end.value
        return answer
    except ApiFailure:
        # An error is compared like any other answer, unless it says to try again.
        if last_answer is None or last_answer.status in exchange.RETRIED_STATUSES:
            raise
        return last_answer


def compare_answers(fixture_answer: ApiAnswer, service_answer: ApiAnswer) -> Iterator[str]:
    """Yield the differences between two answers by form, as messages."""
    if fixture_answer.status != service_answer.status:
        yield f"status {service_answer.status}, here {fixture_answer.status}"
        return
    fixture_type, service_type = _get_content_type(fixture_answer), _get_content_type(service_answer)
    if fixture_type != service_type:
        yield f"{service_type}, here {fixture_type}"
        return
    yield from _compare_headers(fixture_answer, service_answer)
    if fixture_type == "application/json":
        yield from _compare_json(fixture_answer.body, service_answer.body)
    elif fixture_type == "text/csv" and _get_first_line(fixture_answer) != _get_first_line(service_answer):
        yield "another head of the table"


def _get_content_type(answer: ApiAnswer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0]


def _get_first_line(answer: ApiAnswer) -> list[bytes]:
    return answer.body.splitlines()[:1]


def _compare_headers(fixture_answer: ApiAnswer, service_answer: ApiAnswer) -> Iterator[str]:
    fixture_names = {name for name in fixture_answer.headers if CLIENT_HEADER.fullmatch(name)}
    service_names = {name for name in service_answer.headers if CLIENT_HEADER.fullmatch(name)}
    for name in sorted(fixture_names - service_names):
        yield f"the header {name} is missing"
    for name in sorted(service_names - fixture_names):
        yield f"+the header {name} is new"
    fixture_version = fixture_answer.headers.get(VERSION_HEADER)
    service_version = service_answer.headers.get(VERSION_HEADER)
    if fixture_version is not None and service_version is not None and fixture_version != service_version:
        yield f"+{VERSION_HEADER} is {service_version}, here {fixture_version}"


Form = Mapping[str, set[str]]  # The types that occur under each path of a document: {"data[].form": {"text", "null"}}.


def _compare_json(fixture_body: bytes, service_body: bytes) -> Iterator[str]:
    try:
        fixture_form, service_form = _build_form(fixture_body), _build_form(service_body)
    except (ValueError, RecursionError):
        yield "no JSON"
        return
    for path in sorted({*fixture_form, *service_form}):
        if path not in service_form:
            if not _is_type_unknown(path, service_form):
                yield f"{path} is missing"
        elif path not in fixture_form:
            if not _is_type_unknown(path, fixture_form):
                yield f"+{path} is new: {_join_types(service_form[path])}"
        else:
            # A member that is null or an empty list in the fixture may have any type in the service.
            fixture_types = fixture_form[path] - {"null"}
            if fixture_types and service_form[path] - {"null"} - fixture_types:
                yield f"{path} is {_join_types(service_form[path])}, here {_join_types(fixture_form[path])}"


def _join_types(types: set[str]) -> str:
    return "|".join(sorted(types))


def _is_type_unknown(path: str, form: Form) -> bool:
    """Return True if a document cannot show the type of a path: its parent is null, an empty list or missing."""
    is_list_item = path.endswith("[]")
    parent_path = path[:-2] if is_list_item else path.rpartition(".")[0]
    return bool(parent_path) and (parent_path not in form or "null" in form[parent_path] or is_list_item)


def _build_form(body: bytes) -> Form:
    form: dict[str, set[str]] = defaultdict(set)
    _add_types(json.loads(body), "", form, depth=0)
    return dict(form)


def _add_types(document: Any, path: str, form: dict[str, set[str]], depth: int) -> None:
    """Add the type of a document and those of its members to a form."""
    form[path or "."].add(_TYPE_NAMES.get(type(document), "number"))
    if depth >= MAX_DEPTH:
        return
    if isinstance(document, dict):
        for name, member in document.items():
            _add_types(member, f"{path}.{name}" if path else name, form, depth + 1)
    elif isinstance(document, list):
        for element in document:
            _add_types(element, f"{path}[]", form, depth + 1)
