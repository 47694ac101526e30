"""The reference of a call as Markdown, built from its operation in the OpenAPI document and its route."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from finapi.core.counts import format_count
from finapi.web.http.call import Call
from finapi.web.http.route import Route

# Parameters that select the company or filing. If a call has several, its example uses the first of these.
_SUBJECT_PARAMS = ("ticker", "accession", "accession_number", "cik")
# Parameters that an example has although they are optional. Where there is a subject, a concept is not needed too.
_EXAMPLE_PARAMS = ("metrics", "metric", "concept")
_MAX_EXAMPLE_LINES = 60
_MAX_ANSWER_DEPTH = 5
_MAX_LISTED_CHOICES = 40
_ERROR_TEXTS = {
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
_CREDENTIAL_NAMES = {"key": "an API key", "session": "a session token"}


class Operation(NamedTuple):
    """A call of the API: its definition in the OpenAPI document, and the zone whose limit applies to it."""

    id: str
    method: str
    path: str
    definition: Mapping[str, Any]
    zone: str | None

    @property
    def cost(self) -> int:
        """Return the cost in tokens."""
        return int(self.definition["x-token-cost"])

    @property
    def tag(self) -> str:
        """Return the tag under which the documentation lists the call."""
        return str(self.definition["tags"][0])

    @property
    def parameters(self) -> list[Mapping[str, Any]]:
        """Return the call's own parameters, without those that many calls share by reference."""
        return [param for param in self.definition.get("parameters", []) if "$ref" not in param]

    @property
    def credentials(self) -> set[str]:
        """Return the names of the security schemes of which the call needs one; empty for a public call."""
        return {name for choice in self.definition["security"] for name in choice}


class ExampleRequest(NamedTuple):
    """A request that can be sent as it is."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: Any  # A JSON value, None for a request without a body.


def index_operations(call: Call, document: Mapping[str, Any]) -> dict[str, Operation]:
    """Return all operations of the OpenAPI document by id, in the order of the route table."""
    routes: dict[tuple[str, str], Route] = {(route.method, route.path): route for route in call.routes}
    operations = {}
    for path, path_item in document["paths"].items():
        for lower_method, definition in path_item.items():
            method = lower_method.upper()
            route = routes.get((method, path))
            if route is not None:
                operation_id = definition["operationId"]
                operations[operation_id] = Operation(operation_id, method, path, definition, route.zone)
    return operations


def build_example_call(operation: Operation) -> tuple[str, Any]:
    """Return the path with query, and the body or None, of a call that works on the demo's data."""
    path = operation.path
    query: dict[str, Any] = {}
    param_names = {param["name"] for param in operation.parameters}
    subject = next((name for name in _SUBJECT_PARAMS if name in param_names), None)
    shown_names = _EXAMPLE_PARAMS[:2] if subject else _EXAMPLE_PARAMS
    for param in operation.parameters:
        name = param["name"]
        example = "AAPL" if name == "ticker" else param.get("example")
        if param["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(str(example), safe=""))
        elif param["required"] or name == subject or name in shown_names:
            query[name] = ",".join(map(str, example)) if isinstance(example, list) else example
    target = path + (f"?{urlencode(query, safe=',')}" if query else "")
    request_body = operation.definition.get("requestBody")
    return target, request_body and _get_example(request_body["content"])


def render_operation(operation: Operation, document: Mapping[str, Any], base_url: str) -> str:
    """Return the reference of a call as Markdown: cost, example requests, parameters, body, answer and errors."""
    definition = operation.definition
    parts = [f"# {definition['summary']}", f"`{operation.method} {operation.path}`"]
    if "description" in definition:
        parts.append(definition["description"])
    parts.append(_describe_terms(operation))
    parts += ["## Call it", *_render_snippets(_build_example_request(operation, base_url))]
    if operation.parameters:
        rows = [_describe_param(param) for param in operation.parameters]
        parts += ["## Parameters", _render_table(("name", "in", "type", "what it is"), rows)]
    if "requestBody" in definition:
        schema = definition["requestBody"]["content"]["application/json"]["schema"]
        parts += ["## Body", definition["requestBody"]["description"], _render_members(schema, document)]
    parts += ["## Answer", *_render_answer(definition, document)]
    errors = [(f"`{code}`", _ERROR_TEXTS[code]) for code in definition["responses"] if code in _ERROR_TEXTS]
    parts += ["## Errors", _render_table(("status", "when"), errors)]
    return "\n\n".join(parts) + "\n"


def _describe_terms(operation: Operation) -> str:
    """Return the list of a call's cost, the credentials it needs, and its limit."""
    cost = operation.cost
    needed = [text for name, text in _CREDENTIAL_NAMES.items() if name in operation.credentials]
    limit = f"zone `{operation.zone}`, see [plans and limits](/plans#limits)" if operation.zone else "none"
    return f"- Cost: {format_count(cost, 'token')}\n- Needs: {' or '.join(needed) or 'nothing'}\n- Limit: {limit}"


# ---- example requests


def _build_example_request(operation: Operation, base_url: str) -> ExampleRequest:
    target, body = build_example_call(operation)
    credentials = operation.credentials
    headers = {}
    if "session" in credentials and "key" not in credentials:
        headers["Authorization"] = "Bearer YOUR_TOKEN"
    elif credentials & _CREDENTIAL_NAMES.keys():
        headers["X-API-Key"] = "YOUR_KEY"
    if body is not None:
        headers["Content-Type"] = "application/json"
    return ExampleRequest(operation.method, f"{base_url}{target}", headers, body)


def _render_snippets(request: ExampleRequest) -> Iterator[str]:
    """Yield the request for curl, Python and JavaScript, each as fenced code."""
    yield f"```sh\n{_render_curl(request)}\n```"
    yield f"```python\n{_render_python(request)}\n```"
    yield f"```js\n{_render_javascript(request)}\n```"


def _render_curl(request: ExampleRequest) -> str:
    options = [f"-H '{name}: {text}'" for name, text in request.headers.items()]
    if request.body is not None:
        options.append(f"-d {shlex.quote(json.dumps(request.body))}")
    # curl sends GET, or POST if there is a body, unless -X names another method.
    is_default_method = request.method == "GET" or (request.method == "POST" and request.body)
    if not is_default_method:
        options.append(f"-X {request.method}")
    return " \\\n  ".join(["curl -s", *options, f"'{request.url}'"])


def _render_python(request: ExampleRequest) -> str:
    data = "" if request.body is None else f", data=json.dumps({request.body!r}).encode()"
    arguments = f'"{request.url}", method="{request.method}", headers={json.dumps(request.headers)}{data}'
    return (
        f"import json, urllib.request\n\nrequest = urllib.request.Request({arguments})\n"
        "print(json.load(urllib.request.urlopen(request)))"
    )


def _render_javascript(request: ExampleRequest) -> str:
    options = json.dumps({"method": request.method, "headers": request.headers})
    if request.body is not None:
        options = f'{options[:-1]}, "body": JSON.stringify({json.dumps(request.body)})}}'
    return f'const answer = await fetch("{request.url}", {options});\nconsole.log(await answer.json());'


# ---- the answer


def _render_answer(definition: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    content: Mapping[str, Any] = definition["responses"].get("200", {}).get("content", {})
    if "application/json" not in content:
        yield f"Media: {', '.join(content)}." if content else "A redirect."
        return
    example = _resolve_reference(_get_example(content), document)
    lines = json.dumps(example, indent=2, ensure_ascii=False).splitlines()
    if len(lines) > _MAX_EXAMPLE_LINES:
        lines = [*lines[:_MAX_EXAMPLE_LINES], "  ..."]
    yield "```json\n" + "\n".join(lines) + "\n```"
    yield _render_members(content["application/json"]["schema"], document)


def _get_example(content: Mapping[str, Any]) -> Any:
    """Return the example of a JSON body: the only one, the first of several, or None."""
    media = content["application/json"]
    if "example" in media:
        return media["example"]
    return next(iter(media.get("examples", {}).values()), None)


def _resolve_reference(node: Any, document: Mapping[str, Any]) -> Any:
    """Return the part of the document that a node refers to, or the node itself if it is not a reference."""
    while isinstance(node, dict) and "$ref" in node:
        reference = node["$ref"]
        target: Any = document
        for name in reference.removeprefix("#/").split("/"):
            target = target[name]
        node = target.get("value", target) if "/examples/" in reference else target
    return node


def _render_members(schema: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    return _render_table(("member", "type", "what it is"), _iter_members(schema, document, "", 0))


def _iter_members(
    schema: Mapping[str, Any], document: Mapping[str, Any], parent_path: str, depth: int
) -> Iterator[Sequence[str]]:
    """Yield path, type and description of all members of a schema, down to a depth."""
    schema = _resolve_reference(schema, document)
    for branch in schema.get("anyOf", ()):
        yield from _iter_members(branch, document, parent_path, depth)
    if schema.get("type") == "array":
        yield from _iter_members(schema.get("items", {}), document, f"{parent_path}[]", depth)
    for name, member in schema.get("properties", {}).items():
        # A reference may have a description of its own, which comes before that of its target.
        own_keys = {key: content for key, content in member.items() if key != "$ref"}
        resolved = {**_resolve_reference(member, document), **own_keys}
        path = f"{parent_path}.{name}".lstrip(".")
        yield f"`{path}`", _describe_type(resolved), resolved.get("description", "")
        if depth < _MAX_ANSWER_DEPTH:
            yield from _iter_members(resolved, document, path, depth + 1)


# ---- tables


def _describe_param(param: Mapping[str, Any]) -> Sequence[str]:
    """Return the row of a parameter: name, location, type and description."""
    schema = param["schema"]
    sentences = [param.get("description", "")]
    choices = schema.get("enum") or schema.get("items", {}).get("enum") or []
    if 0 < len(choices) <= _MAX_LISTED_CHOICES:
        quoted_choices = ", ".join(f"`{choice}`" for choice in choices)
        sentences.append(f"One of {quoted_choices}.")
    default = schema.get("default")
    if default not in (None, ""):
        default_text = json.dumps(default).strip('"')
        sentences.append(f"Default `{default_text}`.")
    name = f"`{param['name']}`" + (" (required)" if param["required"] else "")
    return name, param["in"], _describe_type(schema), " ".join(sentences)


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type of a JSON value in words: "list of string", "number or null"."""
    if "anyOf" in schema:
        types = [_describe_type(branch) for branch in schema["anyOf"]]
        return " or ".join(dict.fromkeys(types))
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_describe_type(schema.get('items', {}))}"
    default_type = "object" if "$ref" in schema or "properties" in schema else "any"
    json_type = schema.get("type", default_type)
    return " or ".join(json_type) if isinstance(json_type, list) else str(schema.get("format", json_type))


def _render_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"| {' | '.join(headings)} |", f"|{'|'.join('---' for _ in headings)}|"]
    for row in rows:
        cells = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
