"""The reference of a call as Markdown, made of its operation in the OpenAPI document and its route."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from finapi.web.http.call import Call
from finapi.web.http.route import Route

# What names whose data are asked for, where a call leaves open which of several: the first that it takes.
_SUBJECTS = ("ticker", "accession", "accession_number", "cik")
# Parameters that stand in the example though none of them is required, and what a list of tickers begins with.
_SHOWN = ("metrics", "metric", "concept")
_CUT, _DEEP = 60, 5  # lines of an example, levels of an answer
_ERRORS = {
    "400": "a parameter is wrong",
    "401": "no valid credential",
    "402": "too few tokens",
    "403": "not allowed",
    "404": "not found",
    "409": "conflicts with the current state",
    "410": "used up",
    "413": "the body is too large",
    "429": "too many requests",
    "503": "busy: try again",
}


class Operation(NamedTuple):
    """A call as the OpenAPI document describes it, and the zone that limits it."""

    id: str
    method: str
    path: str
    told: Mapping[str, Any]
    zone: str | None

    @property
    def cost(self) -> int:
        """What it costs in tokens."""
        return int(self.told["x-token-cost"])

    @property
    def tag(self) -> str:
        """Its family."""
        return str(self.told["tags"][0])


def index_operations(call: Call, document: Mapping[str, Any]) -> dict[str, Operation]:
    """Every call by its id, in the order of the route table."""
    routes: dict[tuple[str, str], Route] = {(route.method, route.path): route for route in call.routes}
    found = [
        Operation(told["operationId"], method.upper(), path, told, routes[method.upper(), path].zone)
        for path, item in document["paths"].items()
        for method, told in item.items()
        if (method.upper(), path) in routes
    ]
    return {one.id: one for one in found}


def build_example_call(one: Operation) -> tuple[str, Any]:
    """Path with query, and body or None, of a call that works on the demo's data."""
    path, query = one.path, {}
    params = [param for param in one.told.get("parameters", []) if "$ref" not in param]
    subject = next((name for name in _SUBJECTS for param in params if param["name"] == name), None)
    for param in params:
        value = "AAPL" if param["name"] == "ticker" else param.get("example")
        if param["in"] == "path":
            path = path.replace(f"{{{param['name']}}}", quote(str(value), safe=""))
        elif param["required"] or param["name"] == subject or param["name"] in _SHOWN[: 2 if subject else 3]:
            query[param["name"]] = ",".join(map(str, value)) if isinstance(value, list) else value
    body = one.told.get("requestBody")
    return path + (f"?{urlencode(query, safe=',')}" if query else ""), body and _example_of(body["content"])


def render_operation(one: Operation, document: Mapping[str, Any], base: str) -> str:
    """The page of a call."""
    told = one.told
    parts = [f"# {told['summary']}", f"`{one.method} {one.path}`"]
    parts += [told["description"]] if "description" in told else []
    cost, security = one.cost, {name for choice in told["security"] for name in choice}
    who = [said for name, said in (("key", "an API key"), ("session", "a session token")) if name in security]
    parts.append(
        f"- Cost: {cost} token{'' if cost == 1 else 's'}\n- Needs: {' or '.join(who) or 'nothing'}\n"
        f"- Limit: {f'zone `{one.zone}`, see [plans and limits](/plans#limits)' if one.zone else 'none'}"
    )
    params = [param for param in told.get("parameters", []) if "$ref" not in param]
    if params:
        parts += ["## Parameters", _table(("name", "in", "type", "what it is"), map(_param, params))]
    if "requestBody" in told:
        schema = told["requestBody"]["content"]["application/json"]["schema"]
        parts += ["## Body", told["requestBody"]["description"], _members(schema, document)]
    parts += ["## Call it", *_snippets(one, base, bool(who), "session" in security and "key" not in security)]
    parts += ["## Answer", *_answer(told, document)]
    errors = [(f"`{code}`", _ERRORS[code]) for code in told["responses"] if code in _ERRORS]
    return "\n\n".join([*parts, "## Errors", _table(("status", "when"), errors)]) + "\n"


def _snippets(one: Operation, base: str, keyed: bool, session: bool) -> Iterator[str]:
    target, body = build_example_call(one)
    header = ("Authorization", "Bearer YOUR_TOKEN") if session else ("X-API-Key", "YOUR_KEY")
    headers = dict([header] if keyed else []) | ({} if body is None else {"Content-Type": "application/json"})
    flags = [f"-H '{name}: {value}'" for name, value in headers.items()]
    flags += [] if body is None else [f"-d {shlex.quote(json.dumps(body))}"]
    flags += [] if one.method in ("GET", "POST") and (one.method == "GET" or body) else [f"-X {one.method}"]
    yield "```sh\n" + " \\\n  ".join(["curl -s", *flags, f"'{base}{target}'"]) + "\n```"
    data = "" if body is None else f", data=json.dumps({body!r}).encode()"
    asked = f'"{base}{target}", method="{one.method}", headers={json.dumps(headers)}{data}'
    yield (
        f"```python\nimport json, urllib.request\n\nrequest = urllib.request.Request({asked})\n"
        "print(json.load(urllib.request.urlopen(request)))\n```"
    )
    options = {"method": one.method, "headers": headers}
    written = json.dumps(options)[:-1] + ("}" if body is None else f', "body": JSON.stringify({json.dumps(body)})}}')
    yield f'```js\nconst answer = await fetch("{base}{target}", {written});\nconsole.log(await answer.json());\n```'


def _answer(told: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    content: Mapping[str, Any] = told["responses"].get("200", {}).get("content", {})
    if "application/json" not in content:
        yield f"Media: {', '.join(content)}." if content else "A redirect."
        return
    shown = json.dumps(_resolved(_example_of(content), document), indent=2, ensure_ascii=False).splitlines()
    cut = ["  ..."] if len(shown) > _CUT else []
    yield _members(content["application/json"]["schema"], document)
    yield "```json\n" + "\n".join([*shown[:_CUT], *cut]) + "\n```"


def _example_of(content: Mapping[str, Any]) -> Any:
    media = content["application/json"]
    examples = media.get("examples", {})
    return media["example"] if "example" in media else next(iter(examples.values()), None)


def _resolved(value: Any, document: Mapping[str, Any]) -> Any:
    """What a reference stands for."""
    while isinstance(value, dict) and "$ref" in value:
        place: Any = document
        for name in value["$ref"].removeprefix("#/").split("/"):
            place = place[name]
        value = place.get("value", place) if "/examples/" in value["$ref"] else place
    return value


def _param(param: Mapping[str, Any]) -> Sequence[str]:
    schema = param["schema"]
    allowed = schema.get("enum") or schema.get("items", {}).get("enum") or []
    said = [param.get("description", "")]
    said += [f"One of {', '.join(f'`{one}`' for one in allowed)}."] if 0 < len(allowed) <= 40 else []
    said += (
        [f"Default `{json.dumps(schema['default']).strip(chr(34))}`."]
        if schema.get("default") not in (None, "")
        else []
    )
    return (
        f"`{param['name']}`" + (" (required)" if param["required"] else ""),
        param["in"],
        _type(schema),
        " ".join(said),
    )


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    kind = schema.get("type", "object" if "$ref" in schema or "properties" in schema else "any")
    return " or ".join(kind) if isinstance(kind, list) else str(schema.get("format", kind))


def _members(schema: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    return _table(("member", "type", "what it is"), _walk(schema, document, "", 0))


def _walk(schema: Any, document: Mapping[str, Any], path: str, depth: int) -> Iterator[Sequence[str]]:
    schema = _resolved(schema, document)
    for branch in schema.get("anyOf", ()):
        yield from _walk(branch, document, path, depth)
    if schema.get("type") == "array":
        yield from _walk(schema.get("items", {}), document, f"{path}[]", depth)
    for name, member in schema.get("properties", {}).items():
        told = {**_resolved(member, document), **{key: one for key, one in member.items() if key != "$ref"}}
        here = f"{path}.{name}".lstrip(".")
        yield f"`{here}`", _type(told), told.get("description", "")
        if depth < _DEEP:
            yield from _walk(told, document, here, depth + 1)


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [" | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) for row in rows]
    rule = "|".join("---" for _ in head)
    return "\n".join([f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {line} |" for line in lines)])
