"""The OpenAPI 3.1 document, made from the route table and the parameters that the handlers declare."""

from __future__ import annotations

import re
from typing import Any

from finapi import __version__
from finapi.web.call import Route
from finapi.web.params import MAX_LENGTH, Param
from finapi.web.routes import ROUTES

_TYPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
}

_ERRORS = {
    400: "A parameter is wrong; details name it.",
    401: "No valid API key.",
    402: "The token balance is below the cost of the call.",
    404: "There is no such company, filing or report.",
    429: "Too many requests.",
    500: "An unexpected failure; the call was refunded.",
}


def document(public_url: str) -> dict[str, Any]:
    """The document of every route, as JSON values; ``public_url`` is its server, "/" when empty."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
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
            },
            "schemas": {"Envelope": _ENVELOPE, "Error": _ERROR},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    keyed = route.auth == "key"
    success = {"$ref": "#/components/schemas/Envelope"} if keyed else {"type": "object"}
    operation: dict[str, Any] = {
        "operationId": re.sub(
            r"\W+", "_", f"{route.method.lower()}{route.path.removeprefix('/api/v1')}"
        ).strip("_"),
        "summary": route.summary,
        "security": [{"key": []}, {"keyInQuery": []}] if keyed else [],
        "x-token-cost": route.cost,
        "responses": {
            "200": {"description": route.summary, "content": {"application/json": {"schema": success}}},
            **{str(status): _error_response(_ERRORS[status]) for status in (_ERRORS if keyed else (500,))},
        },
    }
    if route.params:
        operation["parameters"] = [_parameter(param) for param in route.params]
    if route.cacheable:
        operation["responses"]["304"] = {"description": "What If-None-Match names is still the answer; free."}
    return operation


def _parameter(param: Param) -> dict[str, Any]:
    schema = dict(_TYPES[param.kind])
    if param.allowed:
        schema = {"type": "string", "enum": list(param.allowed)}
    if param.least is not None:
        schema["minimum"] = param.least
    if param.most is not None:
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
        described["example"] = [example] if param.repeatable else example
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
