"""The OpenAPI 3.1 document, made from the route table and the parameters that the handlers declare."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from finapi import __version__, idempotency
from finapi.web import routes
from finapi.web.call import Route
from finapi.web.openapi_answers import HEADERS, Answers
from finapi.web.params import (
    GREATEST,
    GREATEST_INTEGER,
    MAX_LENGTH,
    MAX_TEXT,
    MAX_URL,
    MAX_WORDS,
    Field,
    Param,
)
from finapi.web.routes import ROUTES
from finapi.web.shapes import TEXT
from finapi.web.webhook_shapes import EVENTS

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
    "word": {"type": ["string", "integer"], "minLength": 1, "maxLength": MAX_TEXT},
    "email": {"type": "string", "format": "email"},
    "new_password": {"type": "string", "minLength": 8, "maxLength": 1024},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "date": {"type": "string", "format": "date"},
    "url": {"type": "string", "format": "uri", "maxLength": MAX_URL},
    "texts": {"type": "array", "items": {"type": "string"}},
    "words": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT},
        "maxItems": MAX_WORDS,
    },
    "object": {"type": "object"},
}

DESCRIPTION = """\
Data calls want an API key (`X-API-Key`, or `apiKey` in the query); what concerns the account itself wants the session
token of a login, and some calls take either. `x-token-cost` is what a call debits; one that fails, or is answered
304, costs nothing. Every error has the shape of the schema Error. Unknown query names and body members are ignored.
HEAD works where GET does; OPTIONS says what a path allows. Lists come as CSV or NDJSON when `Accept` asks for them.
Tickers are taken in any spelling, CIKs bare or padded, accession numbers with or without dashes."""

# By the first segment after /api/v1, or the path itself.
TAGS = {
    "auth": "Invites, registration, sessions, passwords.",
    "user": "The caller's account.",
    "account": "Tokens, usage, limits.",
    "billing": "The wallet and what is bought.",
    "plans": "The plans that there are.",
    "sniper": "Targets that wait for a filing.",
    "webhooks": "What is sent to receivers, and the secret that signs it.",
    "xbrl": "Statements, series and figures of companies.",
    "facts": "Figures looked up.",
    "sec": "Filings, forms, companies and people.",
    "filings": "Filings by cursor.",
    "index": "The filings of a day.",
    "form-13f": "What funds hold.",
    "tickers": "Tickers, and who holds them.",
    "cusip": "CUSIPs.",
    "insiders": "Insiders: transactions, holdings, forms.",
    "prices": "Prices by day.",
    "financials": "How far ingestion has come.",
    "sql-proxy": "Queries over views.",
    "events": "The feeds, for clients that ask.",
    "status": "How every part of the service stands.",
    "stats": "How much is held.",
    "policy": "What is promised.",
    "service": "The process and this document.",
}


def document(public_url: str) -> dict[str, Any]:
    """The document of every route, as JSON values; ``public_url`` is its server, "/" when empty."""
    answers = Answers()
    paths: dict[str, dict[str, Any]] = {}
    for route in (route for route in ROUTES if not route.page):
        for path in routes.paths(route):
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, answers)
    used = {tag for item in paths.values() for operation in item.values() for tag in operation["tags"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "finapi",
            "version": __version__,
            "summary": "Market data derived from SEC filings.",
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "externalDocs": {"url": f"{public_url}/changelog", "description": "What changed in which version."},
        "servers": [{"url": public_url or "/"}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items() if name in used],
        "paths": paths,
        "webhooks": {name: {"post": _webhook(name)} for name in EVENTS},
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "keyInQuery": {"type": "apiKey", "in": "query", "name": "apiKey"},
                "session": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
            "parameters": {"IdempotencyKey": _IDEMPOTENCY_KEY},
            "headers": HEADERS,
            "schemas": answers.schemas,
            "responses": answers.responses,
            "examples": answers.examples,
        },
    }


def _operation(route: Route, path: str, answers: Answers) -> dict[str, Any]:
    name = _operation_id(route.method, path)
    operation: dict[str, Any] = {
        "operationId": name,
        "tags": [_tag(path)],
        "summary": route.summary,
        "security": _SECURITY[route.auth],
        "x-token-cost": route.cost,
        "responses": answers.of(route, name),
    }
    if route.deprecated is not None:
        operation["deprecated"] = True
    if route.unserved:
        operation["description"] = f"Not served, and refused: {', '.join(route.unserved)}."
    parameters = [_parameter(param) for param in route.params]
    if route.idempotent:
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _body(route.body)
    return operation


def _operation_id(method: str, path: str) -> str:
    return re.sub(r"\W+", "_", f"{method.lower()}{path.removeprefix('/api/v1')}").strip("_")


def _tag(path: str) -> str:
    path = path.replace("/insider-module/api/", "/api/v1/")
    return path.split("/")[3] if path.startswith("/api/v1/") else "service"


def _webhook(name: str) -> dict[str, Any]:
    """What a receiver is sent for an event of this type (SPEC "Events", CONTRACT 9)."""
    summary, schema, body = EVENTS[name]
    return {
        "operationId": f"on_{re.sub(r'[.]', '_', name)}",
        "tags": ["webhooks"],
        "summary": summary,
        "parameters": [
            {"name": header, "in": "header", "required": True, "description": text, "schema": TEXT}
            for header, text in _SIGNED.items()
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": body}},
        },
        "responses": {
            "200": {"description": "Received. Anything else, a redirect too, is tried again three times."}
        },
    }


_SIGNED = {
    "webhook-id": "The delivery's id, the same in every attempt.",
    "webhook-timestamp": "When the attempt was made, in seconds since 1970.",
    "webhook-signature": "v1 and the signature, one for each secret in force (Standard Webhooks 1.0).",
}

_IDEMPOTENCY_KEY = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "Sent again within 24 hours, the call gets the same answer and nothing is done twice.",
    "schema": {"type": "string", "pattern": idempotency.KEY.pattern, "maxLength": 255},
    "example": "order-2025-0117",
}

_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "none": [],
    "key": [{"key": []}, {"keyInQuery": []}],
    "session": [{"session": []}],
    "either": [{"session": []}, {"key": []}, {"keyInQuery": []}],
}


def _body(fields: tuple[Field, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field.name: _member(field) for field in fields},
    }
    required = [field.name for field in fields if field.required]
    if required:
        schema["required"] = required
    shown = {field.name: _shown(field) for field in fields if field.required or field.example != ""}
    return {"required": True, "content": {"application/json": {"schema": schema, "example": shown}}}


def _member(field: Field) -> dict[str, Any]:
    schema = dict(_FIELDS[field.kind])
    if field.kind in ("integer", "number"):
        schema["minimum"] = -GREATEST if field.least is None else field.least
        schema["maximum"] = GREATEST if field.most is None else field.most
    if field.allowed and field.kind == "text":
        schema = {"type": "string", "enum": list(field.allowed)}
    elif field.allowed and field.kind == "boolean":
        schema["enum"] = [word == "true" for word in field.allowed]
    elif field.allowed:
        schema["items"] = {"type": "string", "enum": list(field.allowed)}
    if field.nullable:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    if field.help:
        schema["description"] = field.help
    if field.example != "":
        schema["examples"] = [_shown(field)]
    return schema


def _shown(field: Field) -> Any:
    """The example of a field as the JSON that it is."""
    if field.kind == "boolean":
        return field.example in (True, "true")
    if field.kind in ("words", "texts") and isinstance(field.example, str):
        return field.example.split(",")
    return int(field.example) if field.kind == "integer" else field.example


def _bounds(param: Param) -> dict[str, Any]:
    """The bounds of a number. A value beyond one that clamps is not wrong."""
    greatest = {"integer": GREATEST_INTEGER, "number": GREATEST}.get(param.kind)
    if greatest is None or param.clamp is True:
        return {}
    least = -greatest if param.least is None else param.least
    most = greatest if param.most is None else param.most
    return {"minimum": least} if param.clamp else {"minimum": least, "maximum": most}


def _parameter(param: Param) -> dict[str, Any]:
    schema = dict(_TYPES[param.kind])
    if param.allowed and param.kind == "words":
        schema["items"] = {"type": "string", "enum": list(param.allowed)}
    elif param.allowed:
        schema = {"type": "string", "enum": list(param.allowed)}
    schema |= _bounds(param)
    if param.default is not None:
        schema["default"] = param.default
    described: dict[str, Any] = {
        "name": param.name,
        "in": param.place,
        "required": param.required,
        "description": param.help,
        "schema": {"type": "array", "items": schema} if param.repeatable else schema,
    }
    if param.empty:
        described["allowEmptyValue"] = True
    if param.example:
        example = param.read(param.example)
        if isinstance(example, Decimal):
            # The document is plain JSON: examples are short numbers, which a float writes as they are.
            example = float(example)
        described["example"] = [example] if param.repeatable else example
    if param.kind == "words":
        described |= {"style": "form", "explode": False}
    return described
