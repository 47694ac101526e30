"""The OpenAPI 3.1 document, made from the route table and the parameters that the handlers declare."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from finapi import __version__
from finapi.web import routes
from finapi.web.call import Route
from finapi.web.params import MAX_LENGTH, MAX_TEXT, MAX_URL, MAX_WORDS, Field, Param
from finapi.web.routes import ROUTES
from finapi.web.tables import TABLES

_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "words": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "maxItems": MAX_WORDS,
    },
}

_FIELDS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
    "email": {"type": "string", "format": "email"},
    "new_password": {"type": "string", "minLength": 8, "maxLength": 1024},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "url": {"type": "string", "format": "uri", "maxLength": MAX_URL},
    "texts": {"type": "array", "items": {"type": "string"}},
    "words": {"type": "array", "items": {"type": "string"}, "maxItems": MAX_WORDS},
    "object": {"type": "object"},
}

# Which errors an operation can answer, by what it does.
_ALWAYS = {
    405: "Not a method of this path.",
    500: "An unexpected failure; a metered call was refunded.",
    503: "The server is busy; Retry-After says when to come back.",
    504: "The call took longer than the server allows; a metered call was refunded.",
}
_WITH_INPUT = {400: "A parameter or the body is wrong; details name what."}
_WITH_BODY = {413: "The body is too large.", 415: "The body is not application/json."}
_AUTHENTICATED = {401: "No valid credential."}
_METERED = {402: "The token balance is below the cost of the call."}
_OF_DATA = {404: "There is no such company, filing or report."}
_OF_ITS_OWN = {
    401: "Email or password is wrong.",
    404: "The caller has no such thing.",
    409: "It cannot be done now; details say why.",
    410: "The invite code is used.",
}
_LIMITED = {429: "Too many requests."}


def document(public_url: str) -> dict[str, Any]:
    """The document of every route, as JSON values; ``public_url`` is its server, "/" when empty."""
    paths: dict[str, dict[str, Any]] = {}
    for route in (route for route in ROUTES if not route.page):
        for path in routes.paths(route):
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "finapi",
            "version": __version__,
            "summary": "Market data derived from SEC filings.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": public_url or "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "keyInQuery": {"type": "apiKey", "in": "query", "name": "apiKey"},
                "session": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
            "schemas": {"Envelope": _ENVELOPE, "Error": _ERROR},
        },
    }


def _operation(route: Route, path: str) -> dict[str, Any]:
    success = route.shape or (
        {"$ref": "#/components/schemas/Envelope"} if route.auth == "key" else {"type": "object"}
    )
    operation: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}{path.removeprefix('/api/v1')}").strip(
            "_"
        ),
        "summary": route.summary,
        "security": _SECURITY[route.auth],
        "x-token-cost": route.cost,
        "responses": {
            **{str(status): _success(route, status, success) for status in route.answers},
            **{str(status): _error_response(text) for status, text in sorted(_errors(route).items())},
        },
    }
    if route.deprecated is not None:
        operation["deprecated"] = True
    if route.params:
        operation["parameters"] = [_parameter(param) for param in route.params]
    if route.body is not None:
        operation["requestBody"] = _body(route.body)
    if route.cacheable:
        operation["responses"]["304"] = {"description": "What If-None-Match names is still the answer; free."}
    return operation


def _success(route: Route, status: int, schema: dict[str, Any]) -> dict[str, Any]:
    if status == 302:
        location = {"schema": {"type": "string", "format": "uri-reference"}, "required": True}
        return {"description": "On to the page.", "headers": {"Location": location}}
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if route.media:
        content = {kind: {"schema": {"type": "string"}} for kind in route.media}
    if route.lists:
        content |= {kind: {"schema": {"type": "string"}} for kind in TABLES}
    return {"description": route.summary, "content": content}


_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "none": [],
    "key": [{"key": []}, {"keyInQuery": []}],
    "session": [{"session": []}],
    "either": [{"session": []}, {"key": []}, {"keyInQuery": []}],
}


def _errors(route: Route) -> dict[int, str]:
    errors = dict(_ALWAYS)
    if route.params or route.body is not None:
        errors |= _WITH_INPUT
    if route.body is not None:
        errors |= _WITH_BODY
    if route.auth != "none":
        errors |= _AUTHENTICATED
    if route.cost:
        errors |= _METERED
    if route.auth == "key":
        errors |= _OF_DATA
    if route.zone is not None:
        errors |= _LIMITED
    return errors | {status: _OF_ITS_OWN[status] for status in route.errors}


def _body(fields: tuple[Field, ...]) -> dict[str, Any]:
    properties = {}
    for field in fields:
        schema = dict(_FIELDS[field.kind])
        if field.least is not None:
            schema["minimum"] = field.least
        if field.most is not None:
            schema["maximum"] = field.most
        if field.allowed and field.kind == "text":
            schema = {"type": "string", "enum": list(field.allowed)}
        elif field.allowed:
            schema["items"] = {"type": "string", "enum": list(field.allowed)}
        if field.nullable:
            schema["type"] = [schema["type"], "null"]
        if field.help:
            schema["description"] = field.help
        if field.example:
            schema["examples"] = [field.example == "true" if field.kind == "boolean" else field.example]
        properties[field.name] = schema
    required = [field.name for field in fields if field.required]
    schema = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    return {"required": bool(required), "content": {"application/json": {"schema": schema}}}


def _parameter(param: Param) -> dict[str, Any]:
    schema = dict(_TYPES[param.kind])
    if param.allowed and param.kind == "words":
        schema["items"] = {"type": "string", "enum": list(param.allowed)}
    elif param.allowed:
        schema = {"type": "string", "enum": list(param.allowed)}
    # A value beyond a bound that clamps is not wrong.
    if param.least is not None and param.clamp is not True:
        schema["minimum"] = param.least
    if param.most is not None and not param.clamp:
        schema["maximum"] = param.most
    if param.default is not None:
        schema["default"] = param.default
    described: dict[str, Any] = {
        "name": param.name,
        "in": param.place,
        "required": param.required,
        "description": param.help,
        "schema": {"type": "array", "items": schema} if param.repeatable else schema,
    }
    if param.example:
        example = param.read(param.example)
        if isinstance(example, Decimal):
            # The document is plain JSON: examples are short numbers, which a float writes as they are.
            example = float(example)
        described["example"] = [example] if param.repeatable else example
    if param.kind == "words":
        described |= {"style": "form", "explode": False}
    return described


def _error_response(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


_ENVELOPE = {
    "type": "object",
    "required": ["status", "data", "meta", "request_id", "timestamp"],
    "properties": {
        "status": {"const": "success"},
        "data": {"type": "object"},
        "meta": {"type": "object"},
        "request_id": {"type": "string"},
        "timestamp": {"type": "string", "format": "date-time"},
    },
}

_ERROR = {
    "type": "object",
    "required": ["status", "error", "code", "message", "request_id", "timestamp"],
    "properties": {
        "status": {"const": "error"},
        "error": {"type": "string"},
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {"type": "object"},
        "request_id": {"type": "string"},
        "timestamp": {"type": "string", "format": "date-time"},
    },
}
