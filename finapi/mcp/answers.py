"""Answers of the API as results of tools.

A result contains the data, cut to a length that a model can read, with their source and cost. It counts the elements
that were left out, and names the arguments that return the next rows. The data are sent once: as structured content
with a sentence for people, or as text to hosts that only read text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer
from finapi.client.operations import get_operations
from finapi.core.counts import format_count
from finapi.core.json import loads, text
from finapi.core.suggestions import list_similar_metrics
from finapi.mcp.tools import ContextTool, get_price_figures

MAX_CHARACTERS = 30_000  # Maximum length of a result: about ten thousand tokens of a language model.

# The mark of a figure that is computed from a demo's prices.
MADE_UP = "made up"

# Members of every answer that say nothing about the data.
_ENVELOPE_MEMBERS = ("status", "request_id", "timestamp", "success")

# Advice about an error, by its code.
_ADVICE = {
    "UNKNOWN_TICKER": "Look the company up by find_company.",
    "NOT_COVERED": "finapi does not have these data. The resource finapi://coverage lists what it has.",
    "NOT_FOUND": "Look it up: find_company, find_fund or list_filings.",
    "INVALID_PARAM": "Correct the argument and call the tool again{metrics}.",
    "BAD_REQUEST": "Correct the arguments and call the tool again.",
    "UNAUTHORIZED": "The user must configure this connection with a valid API key: FINAPI_API_KEY, or X-API-Key.",
    "insufficient_tokens": "account_balance says when tokens are refilled. Tools that are free still answer.",
    "RATE_LIMIT_EXCEEDED": "Nothing was charged. Wait {wait} seconds before the next call.",
    "UNREACHABLE": "The user must start the server, or correct its address in this connection (FINAPI_URL).",
}
_SERVER_ERROR_ADVICE = "Nothing was charged. Try once more in {wait} seconds, and ask for less if it fails again."
_DEFAULT_WAIT_SECONDS = 60


# ---- results


def build_result(
    tool: ContextTool, parameters: Mapping[str, Any], target: str, answer: ApiAnswer, *, is_structured: bool = True
) -> dict[str, Any]:
    """Return the result of a tool for a successful answer.

    ``target`` is the method and path of the request, which becomes the source. With ``is_structured`` the data are
    structured content, otherwise they are text. Raise ValueError if the answer is not one of this API.
    """
    document = mark_made_up_figures(decode(answer))
    rows_path = tool.operation.rows_path
    rows = exchange.get_rows(document, rows_path) if rows_path is not None else []
    if rows and tool.row_members:
        rows = [{name: row.get(name) for name in tool.row_members} for row in rows]
        _set_rows(document, rows_path or "", rows)
    data, left_out = cut(_drop_members(document, tool.dropped_members), MAX_CHARACTERS)
    if isinstance(data, dict) and "data" in data:
        content = {"data": data["data"], **{name: member for name, member in data.items() if name != "data"}}
    else:
        content = {"data": data}
    content["source"] = target
    content["tokens_charged"] = parse_charged_tokens(answer)
    next_offset = _find_next_offset(tool, parameters, document, data, len(rows), answer)
    if next_offset is not None:
        content["next"] = {"offset": next_offset}
    if tool.operation_name == "get_xbrl_dictionary" and not rows and "metric" in parameters:
        keys = get_operations()["get_xbrl_proof"].parameters["metric"]["enum"]
        content["did_you_mean"] = list_similar_metrics(str(parameters["metric"]), keys)
    if left_out:
        content["left_out"] = left_out
        unused_filters = {} if next_offset is not None else _list_unused_filters(tool, parameters)
        if unused_filters:
            content["ask_by"] = unused_filters
    meta = {"finapi/request_id": answer.headers.get("x-request-id"), "finapi/etag": answer.headers.get("etag")}
    return {
        **build_content(content, _render_summary(tool, data, content), is_structured=is_structured),
        "_meta": {name: header for name, header in meta.items() if header},
    }


def build_content(content: Mapping[str, Any], summary: str, *, is_structured: bool) -> dict[str, Any]:
    """Return the members of a successful result: structured content with a summary, or the content as text."""
    if is_structured:
        return {"content": [{"type": "text", "text": summary}], "structuredContent": content, "isError": False}
    return {"content": [{"type": "text", "text": text(content)}], "isError": False}


def _render_summary(tool: ContextTool, data: Any, content: Mapping[str, Any]) -> str:
    """Return one line about a result for people: the number of rows, the source, the cost and how to continue."""
    subject = tool.title
    if tool.operation.rows_path is not None:
        row_count = len(exchange.get_rows(data, tool.operation.rows_path))
        subject += f": {format_count(row_count, 'row')}"
    tokens = content["tokens_charged"]
    sentences = [f"{subject}, in structuredContent.", f"Source: {content['source']}."]
    sentences.append(f"Cost: {format_count(tokens, 'token')}.")
    if "next" in content:
        sentences.append(f"Continue with offset={content['next']['offset']}.")
    if "left_out" in content:
        sentences.append("A part was left out.")
    return " ".join(sentences)


def mark_made_up_figures(document: Any) -> Any:
    """Return a document in which each figure from made-up prices has a mark next to it.

    A cell gets the member ``price``, and a number the sibling ``NAME_price``. Real prices are not marked. The origin
    of prices is in ``meta``, or for a list of companies in each row (``price_source``).
    """
    if not isinstance(document, dict):
        return document
    meta = document.get("meta")
    if isinstance(meta, dict) and meta.get("price_source") == "synthetic":
        return {name: _mark_figures(member) for name, member in document.items()}
    rows = document.get("data")
    if isinstance(rows, list):
        marked_rows = [
            _mark_figures(row) if isinstance(row, dict) and row.get("price_source") == "synthetic" else row
            for row in rows
        ]
        return {**document, "data": marked_rows}
    return document


def _mark_figures(value: Any) -> Any:
    if isinstance(value, list):
        return [_mark_figures(element) for element in value]
    if not isinstance(value, dict):
        return value
    if value.get("metric") in get_price_figures():
        # A proof has its figure in the member cell, and its inputs have theirs in the member value.
        if isinstance(value.get("cell"), dict):
            value = {**value, "cell": {**value["cell"], "price": MADE_UP}}
        elif value.get("value") is not None:
            value = {**value, "price": MADE_UP}
    marked: dict[str, Any] = {}
    for name, member in value.items():
        is_price_figure = name in get_price_figures()
        if is_price_figure and isinstance(member, dict) and member.get("value") is not None:
            marked[name] = {**member, "price": MADE_UP}
        elif is_price_figure and isinstance(member, int | float | Decimal):
            marked[name] = member
            marked[f"{name}_price"] = MADE_UP
        else:
            marked[name] = _mark_figures(member)
    return marked


def _find_next_offset(
    tool: ContextTool, parameters: Mapping[str, Any], document: Any, data: Any, row_count: int, answer: ApiAnswer
) -> int | None:
    """Return the offset of the rows or characters after those in ``data``, or None if there are no more."""
    offset = int(parameters.get("offset") or 0)
    rows_path = tool.operation.rows_path
    if rows_path is not None and "offset" in tool.arguments:
        returned_rows = len(exchange.get_rows(data, rows_path))
        next_query = exchange.build_next_query({}, document, answer.headers, row_count)
        has_more = returned_rows < row_count or next_query is not None
        return offset + returned_rows if returned_rows and has_more else None
    if "length" in parameters:
        end = offset + int(parameters["length"])
        return end if end < int(answer.headers.get("x-total-characters", 0)) else None
    return None


def _list_unused_filters(tool: ContextTool, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the unused arguments that would make the answer shorter, with their choices.

    Arguments with a default are left out: they select one of several answers of the same length.
    """
    return {
        name: schema["enum"]
        for name, schema in tool.schema["properties"].items()
        if "enum" in schema and "default" not in schema and tool.get_parameter_name(name) not in parameters
    }


def build_error_result(message: str, **meta: Any) -> dict[str, Any]:
    """Return the result of a tool that failed. The model reads the message, and may correct its call."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": message}], "isError": True}
    if meta:
        result["_meta"] = {f"finapi/{name}": value for name, value in meta.items()}
    return result


def build_failure_result(answer: ApiAnswer | None, hint: str = "") -> dict[str, Any]:
    """Return the result of a tool whose request failed or was not answered. ``hint`` is the end of its message."""
    failure = exchange.build_failure(answer)
    retry_after = failure.retry_after
    default_advice = _SERVER_ERROR_ADVICE if failure.status >= 500 else _ADVICE["BAD_REQUEST"]
    advice = _ADVICE.get(failure.code, default_advice).format(
        wait=_DEFAULT_WAIT_SECONDS if retry_after is None else int(retry_after),
        metrics="; list_metrics has the keys of metrics" if "metric" in failure.message else "",
    )
    message = f"{failure.code}: {failure.message} {advice} {hint}".rstrip()[:MAX_CHARACTERS]
    if retry_after is None:
        return build_error_result(message, code=failure.code, status=failure.status)
    return build_error_result(message, code=failure.code, status=failure.status, retry_after=retry_after)


def parse_charged_tokens(answer: ApiAnswer) -> int:
    """Return the number of tokens that a call cost."""
    tokens = answer.headers.get("x-tokens-charged", "0")
    return int(tokens) if tokens.isdigit() else 0


# ---- documents


def decode(answer: ApiAnswer) -> Any:
    """Return the document of an answer without its envelope, a page as plain text, or any other text unchanged."""
    content_type = answer.headers.get("content-type", "")
    if not content_type.startswith("application/json"):
        body = answer.body.decode("utf-8", "replace")
        return strip_tags(body) if "html" in content_type else body
    document = loads(answer.body.decode("utf-8"))
    if isinstance(document, dict):
        for name in _ENVELOPE_MEMBERS:
            document.pop(name, None)
    return document


def strip_tags(page: str) -> str:
    """Return the text of a part of an HTML document, which may begin or end inside a tag."""
    before_tag_end, _, after_tag_end = page.partition(">")
    if "<" not in before_tag_end and after_tag_end:
        page = after_tag_end
    last_tag = page.rfind("<")
    if last_tag > page.rfind(">"):
        page = page[:last_tag]
    page = re.sub(r"</(?:p|div|tr|h\d|li|table)>|<br[^<>]*>", "\n", page, flags=re.IGNORECASE)
    plain_text = html.unescape(re.sub(r"<[^<>]*>", " ", page))
    lines = [" ".join(line.split()) for line in plain_text.splitlines()]
    return "\n".join(filter(None, lines))


def cut(document: Any, max_characters: int) -> tuple[Any, dict[str, int]]:
    """Return a document cut to about ``max_characters`` of JSON, and the number of elements left out by path.

    Lists and texts lose their ends.
    """
    left_out: dict[str, int] = {}
    return _cut(document, max_characters, "", left_out), left_out


def _cut(document: Any, max_characters: int, path: str, left_out: dict[str, int]) -> Any:
    if len(text(document)) <= max_characters:
        return document
    if isinstance(document, list):
        return _cut_list(document, max_characters, path, left_out)
    if isinstance(document, dict):
        return _cut_object(document, max_characters, path, left_out)
    if isinstance(document, str):
        shorter = document[: max(0, max_characters - 2)]  # Two characters less, for the quotation marks.
        left_out[path] = left_out.get(path, 0) + len(document) - len(shorter)
        return shorter
    return document


def _cut_list(elements: list[Any], max_characters: int, path: str, left_out: dict[str, int]) -> list[Any]:
    """Return the first elements that fit, or at least a part of the first one."""
    fitting: list[Any] = []
    characters_left = max_characters
    for element in elements:
        characters_left -= len(text(element)) + 1
        if characters_left < 0:
            break
        fitting.append(element)
    if not fitting:
        fitting = [_cut(element, max_characters, f"{path}[]", left_out) for element in elements[:1]]
    left_out[path] = left_out.get(path, 0) + len(elements) - len(fitting)
    return fitting


def _cut_object(members: dict[str, Any], max_characters: int, path: str, left_out: dict[str, int]) -> dict[str, Any]:
    """Return an object whose small members are complete. The large members share the remaining characters."""
    sizes = {name: len(text(member)) + len(name) + 4 for name, member in members.items()}
    fitting: dict[str, Any] = {}
    characters_left = max_characters
    for index, name in enumerate(sorted(sizes, key=sizes.__getitem__)):
        share = characters_left // (len(sizes) - index)
        if share < len(name) + 40 and sizes[name] > share:
            left_out[path or "members"] = left_out.get(path or "members", 0) + 1
            continue
        member_path = f"{path}.{name}".lstrip(".")
        fitting[name] = _cut(members[name], share - len(name) - 4, member_path, left_out)
        characters_left -= len(text(fitting[name])) + len(name) + 4
    return {name: fitting[name] for name in members if name in fitting}


def _drop_members(document: Any, names: tuple[str, ...]) -> Any:
    """Return a document without the members with these names. ``name?`` removes a member only if it is null."""
    if not names:
        return document
    if isinstance(document, list):
        return [_drop_members(element, names) for element in document]
    if not isinstance(document, dict):
        return document
    remaining = {}
    for name, member in document.items():
        is_dropped = name in names or (member is None and f"{name}?" in names)
        if not is_dropped:
            remaining[name] = _drop_members(member, names)
    return remaining


def _set_rows(document: Any, rows_path: str, rows: list[Any]) -> None:
    *parents, last = rows_path.split(".")
    for member in parents:
        document = document[member]
    document[last] = rows
