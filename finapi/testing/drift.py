"""Where a live service and the fixture differ: the same calls of both, their answers compared by form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer, ApiFailure, ApiRequest
from finapi.client.synchronous import Send
from finapi.testing.recording import ServiceRecording

DEEP = 40  # levels of an answer that are compared
# The headers that a client reads.
READ = re.compile(
    "etag|retry-after|allow|link|deprecation|sunset"
    "|x-(api-version|request-id|tokens-charged|ratelimit-.*|has-more|next-cursor|total-.*|window)"
)
VERSION = "x-api-version"

# What is asked where there is no recording: a call of each family.
CALLS = (
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


def differences(
    live: str,
    key: str,
    send: Send,
    wait: Callable[[float], None],
    here: Send,
    own: Mapping[str, str],
    on: ServiceRecording | None,
) -> Iterator[tuple[str, str]]:
    """What differs, as (call, what): a member that begins with + is only new.

    ``send`` asks the service, ``here`` the fixture at ``own["url"]`` with ``own["api_key"]``; the calls are those of a
    recording, or a few of each family.
    """
    calls: Sequence[tuple[str, str]]
    if on is None:
        calls = [(call, "") for call in CALLS]
    else:
        calls = [(one.target, one.accept) for one in on.answers if one.method == "GET" and one.credential != "session"]
    for target, accept in calls:
        headers = {"Accept": accept or "application/json"}
        mine = here(ApiRequest("GET", own["url"] + target, {**headers, "X-API-Key": own["api_key"]}))
        try:
            theirs = _held(ApiRequest("GET", live.rstrip("/") + target, {**headers, "X-API-Key": key}), send, wait)
        except ApiFailure as failure:
            yield target, f"the service: {failure}"
            if failure.status:
                continue
            return
        if mine is not None:
            yield from ((target, what) for what in compared(mine, theirs))


def _held(asked: ApiRequest, send: Send, wait: Callable[[float], None]) -> ApiAnswer:
    """The answer of the service once it refuses no more for now; ApiFailure when there is none."""
    answer: ApiAnswer | None = None
    talk = exchange.conversation(asked, 4)
    try:
        step = next(talk)
        while True:
            if isinstance(step, ApiRequest):
                answer = send(step)
                step = talk.send(answer)
            else:
                wait(step)
                step = talk.send(None)
    except StopIteration as end:
        found: ApiAnswer = end.value
        return found
    except ApiFailure:
        # An error is an answer, to be compared like any other.
        if answer is None or answer.status in exchange.AGAIN:
            raise
        return answer


def compared(mine: ApiAnswer, theirs: ApiAnswer) -> Iterator[str]:
    """How an answer of the service differs from the fixture's: status, kind, headers, names and types of members."""
    if mine.status != theirs.status:
        yield f"status {theirs.status}, here {mine.status}"
        return
    kinds = [one.headers.get("content-type", "").partition(";")[0] for one in (mine, theirs)]
    if kinds[0] != kinds[1]:
        yield f"{kinds[1]}, here {kinds[0]}"
        return
    here_read, there_read = ({name for name in one.headers if READ.fullmatch(name)} for one in (mine, theirs))
    yield from (f"the header {name} is missing" for name in sorted(here_read - there_read))
    yield from (f"+the header {name} is new" for name in sorted(there_read - here_read))
    versions = [one.headers.get(VERSION) for one in (theirs, mine)]
    if None not in versions and versions[0] != versions[1]:
        yield f"+{VERSION} is {versions[0]}, here {versions[1]}"
    if kinds[0] != "application/json":
        heads = [one.body.splitlines()[:1] for one in (mine, theirs)]
        if kinds[0] == "text/csv" and heads[0] != heads[1]:
            yield "another head of the table"
        return
    try:
        forms = [_form(json.loads(one.body)) for one in (mine, theirs)]
    except (ValueError, RecursionError):
        yield "no JSON"
        return
    here, there = forms
    for name in sorted({*here, *there}):
        # What is null here, or an empty list, may be anything there.
        if name not in there:
            if not _hidden(name, there):
                yield f"{name} is missing"
        elif name not in here:
            if not _hidden(name, here):
                yield f"+{name} is new: {'|'.join(sorted(there[name]))}"
        elif (known := here[name] - {"null"}) and there[name] - {"null"} - known:
            yield f"{name} is {'|'.join(sorted(there[name]))}, here {'|'.join(sorted(here[name]))}"


def _hidden(name: str, form: Mapping[str, set[str]]) -> bool:
    """Whether what would hold a member is null, empty or not there, so that nothing is known of it."""
    holder = name[:-2] if name.endswith("[]") else name.rpartition(".")[0]
    return bool(holder) and (holder not in form or "null" in form[holder] or name.endswith("[]"))


def _form(value: Any, name: str = "", found: dict[str, set[str]] | None = None, depth: int = 0) -> dict[str, set[str]]:
    """The types that stand under each name of a document."""
    found = {} if found is None else found
    kind = "null" if value is None else _TYPES.get(type(value), "number")
    found.setdefault(name or ".", set()).add(kind)
    if depth < DEEP and isinstance(value, dict):
        for member, one in value.items():
            _form(one, f"{name}.{member}" if name else member, found, depth + 1)
    elif depth < DEEP and isinstance(value, list):
        for one in value:
            _form(one, f"{name}[]", found, depth + 1)
    return found


_TYPES = {dict: "object", list: "list", str: "text", bool: "boolean"}
