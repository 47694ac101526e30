"""Answers of the API as results of tools: sized for a model, with their source, their cost and what to do next."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer
from finapi.core.json import loads, text
from finapi.mcp.tools import ContextTool

MOST = 30_000  # characters of an answer, some ten thousand tokens of a model

OUTPUT = {
    "type": "object",
    "properties": {
        "data": {"anyOf": [{"type": one} for one in ("object", "array", "string", "null")]},
        "source": {"type": "string"},
        "tokens_charged": {"type": "integer"},
        "next": {"type": "object"},
        "left_out": {"type": "object"},
        "ask_by": {"type": "object"},
    },
    "required": ["data", "source", "tokens_charged"],
}

# What to do about an error, by its code.
_ADVICE = {
    "UNKNOWN_TICKER": "Look the company up by find_company.",
    "NOT_COVERED": "This host holds no such data of it: the resource finapi://coverage tells what it holds.",
    "NOT_FOUND": "Look it up: find_company, find_fund or list_filings.",
    "INVALID_PARAM": "Correct the argument and call the tool again{metrics}.",
    "BAD_REQUEST": "Correct the arguments and call the tool again.",
    "UNAUTHORIZED": "Whoever set up this connection has to give it a valid API key: FINAPI_API_KEY, or X-API-Key.",
    "insufficient_tokens": "account_balance says when tokens are refilled. Tools that are free still answer.",
    "RATE_LIMIT_EXCEEDED": "Nothing was charged. Wait {wait} seconds before the next call.",
    "UNREACHABLE": "Whoever set up this connection has to start the server, or correct its address (FINAPI_URL).",
}
_FAILED = "Nothing was charged. Try once more in {wait} seconds, and ask for less if it fails again."


def result(tool: ContextTool, values: Mapping[str, Any], target: str, answer: ApiAnswer) -> dict[str, Any]:
    """What a tool answers: the data within :data:`MOST`, where they are from, what they cost, how to go on."""
    document = decoded(answer)
    rows_in = tool.operation.rows_in
    rows = exchange.rows_of(document, rows_in) if rows_in is not None else []
    if rows and tool.keep:
        rows[:] = [{name: row.get(name) for name in tool.keep} for row in _in_place(document, rows_in or "")]
        _put(document, rows_in or "", rows)
    data, left_out = fitted(_without(document, tool.drop), MOST)
    told: dict[str, Any] = {"data": data}
    if isinstance(data, dict) and "data" in data:
        told = {"data": data["data"], **{name: value for name, value in data.items() if name != "data"}}
    told |= {"source": target, "tokens_charged": charged(answer)}
    start = int(values.get("offset") or 0)
    if rows_in is not None and "offset" in tool.takes:
        kept = len(exchange.rows_of(data, rows_in))
        more = exchange.following({}, document, answer.headers, len(rows))
        if kept and (kept < len(rows) or more is not None):
            told["next"] = {"offset": start + kept}
    elif "length" in values and start + int(values["length"]) < int(answer.headers.get("x-total-characters", 0)):
        told["next"] = {"offset": start + int(values["length"])}
    if left_out:
        told["left_out"] = left_out
        open_to = {} if "next" in told else _open_to(tool, values)
        if open_to:
            told["ask_by"] = open_to
    meta = {"finapi/request_id": answer.headers.get("x-request-id"), "finapi/etag": answer.headers.get("etag")}
    return {
        "content": [{"type": "text", "text": text(told)}],
        "structuredContent": told,
        "isError": False,
        "_meta": {name: value for name, value in meta.items() if value},
    }


def _open_to(tool: ContextTool, values: Mapping[str, Any]) -> dict[str, Any]:
    """The words by which it may be asked for less: an argument with a default is one or the other, and no less."""
    return {
        name: one["enum"]
        for name, one in tool.schema["properties"].items()
        if "enum" in one and "default" not in one and tool.named.get(name, name) not in values
    }


def mistake(message: str, **meta: Any) -> dict[str, Any]:
    """The result of a tool that failed: for the model to read, and to do better."""
    made = {"content": [{"type": "text", "text": message}], "isError": True}
    return {**made, "_meta": {f"finapi/{name}": value for name, value in meta.items()}} if meta else made


def failure(answer: ApiAnswer | None) -> dict[str, Any]:
    """The result of a tool whose call failed, or was not answered."""
    failed = exchange.failed(answer)
    wait = failed.retry_after
    advice = _ADVICE.get(failed.code, _FAILED if failed.status >= 500 else _ADVICE["BAD_REQUEST"])
    metrics = "; list_metrics has the keys of metrics" if "metric" in failed.message else ""
    told = f"{failed.code}: {failed.message} {advice.format(wait=60 if wait is None else int(wait), metrics=metrics)}"
    return mistake(
        told[:MOST], code=failed.code, status=failed.status, **({} if wait is None else {"retry_after": wait})
    )


def charged(answer: ApiAnswer) -> int:
    """The tokens that a call cost."""
    told = answer.headers.get("x-tokens-charged", "0")
    return int(told) if told.isdigit() else 0


def decoded(answer: ApiAnswer) -> Any:
    """The document of an answer without what is each call's own; a page or a text as its text."""
    if not answer.headers.get("content-type", "").startswith("application/json"):
        written = answer.body.decode("utf-8", "replace")
        return plain(written) if "html" in answer.headers.get("content-type", "") else written
    document = loads(answer.body.decode("utf-8"))
    if isinstance(document, dict):
        for name in ("status", "request_id", "timestamp", "success"):
            document.pop(name, None)
    return document


def plain(page: str) -> str:
    """The text of a part of an HTML document, which may begin or end inside a tag."""
    head, _, rest = page.partition(">")
    page = rest if "<" not in head and rest else page
    page = page[: page.rindex("<")] if page.rfind("<") > page.rfind(">") else page
    page = re.sub(r"</(?:p|div|tr|h\d|li|table)>|<br[^<>]*>", "\n", page, flags=re.IGNORECASE)
    lines = (" ".join(line.split()) for line in html.unescape(re.sub(r"<[^<>]*>", " ", page)).splitlines())
    return "\n".join(line for line in lines if line)


def fitted(value: Any, most: int) -> tuple[Any, dict[str, int]]:
    """``value`` in about ``most`` characters of JSON: lists and texts are cut at their ends; and what was left out."""
    left_out: dict[str, int] = {}
    return _fit(value, most, "", left_out), left_out


def _fit(value: Any, most: int, place: str, left_out: dict[str, int]) -> Any:
    if len(text(value)) <= most:
        return value
    if isinstance(value, list):
        items: list[Any] = []
        left = most
        for item in value:
            size = len(text(item)) + 1
            if size > left:
                break
            items.append(item)
            left -= size
        items = items or [_fit(item, most, f"{place}[]", left_out) for item in value[:1]]
        left_out[place] = left_out.get(place, 0) + len(value) - len(items)
        return items
    if isinstance(value, dict):
        # What is small stays whole; what is left is shared by the rest.
        sizes = {name: len(text(item)) + len(name) + 4 for name, item in value.items()}
        made, left = {}, most
        for number, name in enumerate(sorted(sizes, key=sizes.__getitem__)):
            share = left // (len(sizes) - number)
            if share < len(name) + 40 and sizes[name] > share:
                left_out[place or "members"] = left_out.get(place or "members", 0) + 1
                continue
            made[name] = _fit(value[name], share - len(name) - 4, f"{place}.{name}".lstrip("."), left_out)
            left -= len(text(made[name])) + len(name) + 4
        return {name: made[name] for name in value if name in made}
    if isinstance(value, str):
        kept = value[: max(0, most - 2)]
        left_out[place] = left_out.get(place, 0) + len(value) - len(kept)
        return kept
    return value


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if not names:
        return value
    if isinstance(value, list):
        return [_without(one, names) for one in value]
    if isinstance(value, dict):
        return {
            name: _without(one, names)
            for name, one in value.items()
            if name not in names and not (one is None and f"{name}?" in names)
        }
    return value


def _in_place(document: Any, rows_in: str) -> Any:
    for member in rows_in.split(".") if rows_in else ():
        document = document[member]
    return document


def _put(document: Any, rows_in: str, rows: list[Any]) -> None:
    *outer, last = rows_in.split(".")
    _in_place(document, ".".join(outer))[last] = rows
