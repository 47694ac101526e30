"""The OpenAPI 3.1 document, made from the route table, the parameters and the records that the handlers declare.

Examples are real answers of the demo's data, kept in ``examples.json`` by operation (``python -m tests.examples``).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from finapi import __version__
from finapi.accounts import users
from finapi.core import passwords
from finapi.core.errors import STATUS_BY_CODE
from finapi.core.files import get_package_folder
from finapi.market.documents.metadata import UNFILED_PREFIX
from finapi.market.holdings import quarters
from finapi.store import idempotency
from finapi.web.accounts.webhook_bodies import EVENTS
from finapi.web.http.call import PAGING_HEADERS, WINDOW_HEADER
from finapi.web.http.messages import BINARY_MEDIA_TYPE
from finapi.web.http.params import (
    MAX_INTEGER,
    MAX_LENGTH,
    MAX_NUMBER,
    MAX_TEXT_LENGTH,
    MAX_URL_LENGTH,
    MAX_WORDS,
    Field,
    Param,
)
from finapi.web.http.route import GATEWAY_ZONES, Route, operation_id
from finapi.web.http.schema import (
    DATE,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    array_schema,
    const_schema,
    enum_schema,
    nullable_schema,
)
from finapi.web.http.tables import CSV, MAX_ROWS, MEDIA_TYPE_BY_FORMAT, NDJSON, render_csv, render_ndjson

_ACCESSION = "[0-9]{18}|[0-9]{10}-[0-9]{2}-[0-9]{6}"
# What texts of a kind look like, as far as a schema can tell: a CUSIP's check digit is left to its format.
_TYPES: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": DATE,
    "quarter": {**DATE, "pattern": f"^{quarters.PATTERN}$"},
    "cik": {"type": "string", "pattern": "^0*[1-9][0-9]*$", "maxLength": 10},
    "ticker": {"type": "string", "pattern": "^[./ -]*[0-9A-Za-z][0-9A-Za-z./ -]*$", "maxLength": 12},
    "accession": {"type": "string", "pattern": f"^({_ACCESSION})$"},
    "any_accession": {"type": "string", "pattern": f"^({_ACCESSION}|{UNFILED_PREFIX}[0-9a-f]{{16}})$"},
    "cusip": {"type": "string", "format": "cusip", "pattern": "^[0-9A-Za-z*@# ]*[0-9] *$"},
    "email": {"type": "string", "format": "email"},
    "new_password": {
        "type": "string",
        "minLength": passwords.MIN_LENGTH,
        "maxLength": passwords.MAX_LENGTH,
        "description": "One of the most common passwords is refused where /api/v1/policy says so.",
    },
    "url": {"type": "string", "format": "uri", "maxLength": MAX_URL_LENGTH},
}

DESCRIPTION = """\
Data endpoints need an API key (`X-API-Key`, or `apiKey` in the query), account endpoints the session token of a login;
some take either. `x-token-cost` is what a call costs; one that fails, or is answered 304, costs nothing. Every error is
a schema Error. Unknown query names and body members are ignored. HEAD works where GET does; OPTIONS says what a path
allows. A list comes as CSV or NDJSON when `Accept` asks for it, as `x-tables` of its answer shows. Tickers are taken in
any spelling, CIKs with or without leading zeros, accession numbers with or without dashes. Examples are real answers on
demo data, lists cut short."""
_CHANGED = "What changed in which version."

# What an operation is for and one thing to know of it, by its id; what it costs follows from its route.
ABOUT: dict[str, str] = tomllib.loads((get_package_folder("finapi.web") / "about.toml").read_text(encoding="utf-8"))

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
    "form-13d": "Schedules 13D and 13G by a query.",
    "ownership": "Owners of more than five per cent.",
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


def document(public_url: str, routes: Sequence[Route]) -> dict[str, Any]:
    """The document of these routes, as JSON values; ``public_url`` is its server, "/" when empty."""
    answers, going = Answers(), any(route.deprecated for route in routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in (route for route in routes if not route.page):
        for path in route.paths[:2]:
            paths.setdefault(path, {})[route.method.lower()] = _operation(route, path, answers)
    used = {tag for item in paths.values() for operation in item.values() for tag in operation["tags"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "finapi",
            "version": __version__,
            "summary": "Market data derived from SEC filings.",
            "description": DESCRIPTION,
            "contact": {"name": "Whoever runs this server", **({"url": public_url} if public_url else {})},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        **({"externalDocs": {"url": f"{public_url}/changelog", "description": _CHANGED}} if public_url else {}),
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
            "parameters": {"IdempotencyKey": _IDEMPOTENCY_KEY, "Format": _FORMAT},
            "headers": {name: one for name, one in HEADERS.items() if going or name not in _OF_GOING},
            "schemas": answers.schemas,
            "responses": answers.responses,
            "examples": answers.examples,
        },
    }


def _operation(route: Route, path: str, answers: Answers) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route, path),
        "tags": [_tag(path)],
        "summary": route.summary,
        "description": _about(route),
        "security": _SECURITY[route.auth],
        "x-token-cost": route.cost,
        "responses": answers.of(route),
    }
    if route.deprecated is not None:
        operation["deprecated"] = True
    parameters = [_parameter(param) for param in route.params]
    if route.idempotent:
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if route.tables:
        parameters.append({"$ref": "#/components/parameters/Format"})
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _body(route)
    return operation


def _about(route: Route) -> str:
    said = [ABOUT.get(operation_id(route), "")]
    said += [f"Not served, and refused: {', '.join(route.unserved)}."] if route.unserved else []
    plural = "" if route.cost == 1 else "s"
    said += [f"Costs {route.cost} token{plural}, refunded when it fails." if route.cost else "Costs nothing."]
    return " ".join(said).strip()


def _tag(path: str) -> str:
    path = path.replace("/insider-module/api/", "/api/v1/")
    return path.split("/")[3] if path.startswith("/api/v1/") else "service"


def _webhook(name: str) -> dict[str, Any]:
    """What a receiver is sent for an event of this type (DECISIONS 9)."""
    summary, schema, body = EVENTS[name]
    return {
        "operationId": f"on_{re.sub(r'[.]', '_', name)}",
        "tags": ["webhooks"],
        "summary": summary,
        "description": f"{_SENT}{_ON_WISH if name in users.TOPICS else ''}; free. One delivery_id may come twice.",
        "security": [],
        "parameters": [
            {"name": header, "in": "header", "required": True, "description": text, "schema": TEXT}
            for header, text in _SIGNED.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": body}}},
        "responses": {"200": {"description": "Received. Anything else, a redirect too, is tried again three times."}},
    }


_SENT = "For the account's receiver"
_ON_WISH = " where it switched the topic on (PUT /api/v1/user/)"
_SIGNED = {
    "webhook-id": "The delivery's id, the same in every attempt.",
    "webhook-timestamp": "When the attempt was made, in seconds since 1970.",
    "webhook-signature": "v1 and the signature, one for each secret in force (Standard Webhooks 1.0).",
}

_IDEMPOTENCY_KEY = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "A repeat with the same key within 24 hours gets the same answer and has no further effect, also if "
    "both are sent at the same time. Errors are not stored. The same key with another body is 409.",
    "schema": {"type": "string", "pattern": idempotency.KEY, "maxLength": 255},
    "example": "order-2025-0117",
}

_FORMAT = {
    "name": "format",
    "in": "query",
    "required": False,
    "description": f"Instead of Accept. A table has up to {MAX_ROWS:,} rows; without limit it is whole.",
    "schema": {**enum_schema(*MEDIA_TYPE_BY_FORMAT), "default": "json"},
    "example": "json",
}

_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "none": [],
    "key": [{"key": []}, {"keyInQuery": []}],
    "session": [{"session": []}],
    "either": [{"session": []}, {"key": []}, {"keyInQuery": []}],
}


def _body(route: Route) -> dict[str, Any]:
    fields = route.body or ()
    schema: Schema = {"type": "object", "properties": {field.name: _member(field) for field in fields}}
    required = [field.name for field in fields if field.required]
    if required:
        schema["required"] = required
    for field in (field for field in fields if field.alternative):
        # Where both are missing or hold nothing it does not fit. Some generators read no schema that is a boolean.
        none: Schema = {"maxItems": 0} if field.kind == "words" else {"not": {}}
        schema["not"] = {"properties": {field.name: none, field.alternative: none}}
    shown = {field.name: _example(field) for field in fields if field.required or field.example != ""}
    described = f"A JSON object of at most {route.body_limit:,} bytes."
    content = {"application/json": {"schema": schema, "example": shown}}
    return {"required": True, "description": described, "content": content}


def _member(field: Field) -> Schema:
    schema = _schema(field)
    if field.nullable:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    if field.help:
        schema["description"] = field.help
    if field.example != "":
        schema["examples"] = [_example(field)]
    return schema


def _parameter(param: Param) -> dict[str, Any]:
    schema = _schema(param)
    if param.default not in (None, ()):
        schema["default"] = param.default
    described: dict[str, Any] = {
        "name": param.name,
        "in": param.location,
        "required": param.required,
        "description": param.help,
        "schema": schema,
    }
    if param.empty_is_default:
        described["allowEmptyValue"] = True
    if param.example:
        described["example"] = _example(param)
    if param.kind == "words":
        described |= {"style": "form", "explode": False}
    return described


def _schema(param: Param) -> Schema:
    """What a parameter takes. A number beyond a bound that clamps is not wrong."""
    body, allowed = param.location == "body", _told(param.accepted_names)
    text: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_LENGTH if body else MAX_LENGTH}
    if param.kind == "words":
        like: Schema = {"pattern": f"^({param.pattern})$"} if param.pattern else {"minLength": 1}
        plain = text if body else {"type": "string", **like}
        words = array_schema(enum_schema(*allowed) if allowed else _TYPES.get(param.word_kind, plain))
        least = param.minimum or (0 if body else 1)
        bounds = {"maxItems": param.maximum or MAX_WORDS, **({"minItems": least} if least else {})}
        if least > 1:  # repeats count once
            bounds["uniqueItems"] = True
        return words if body and allowed else words | bounds
    if param.kind == "boolean" and allowed:
        return {"type": "boolean", "enum": [word == "true" for word in allowed]}
    if isinstance(param, Field) and param.kind == "object":
        return {"type": "object", "properties": {one.name: _member(one) for one in param.members}}
    if param.kind == "values":
        return {**array_schema({"type": ["string", "number", "null"]}), "maxItems": param.maximum or MAX_WORDS}
    if param.kind == "sort":
        order = enum_schema("asc", "desc")
        orders: Schema = {"anyOf": [order, {"type": "object", "properties": {"order": order}, "required": ["order"]}]}
        column: Schema = {"type": "object", "additionalProperties": orders, "propertyNames": enum_schema(*allowed)}
        column |= {"minProperties": 1, "maxProperties": 1}
        one = {"anyOf": [enum_schema(*allowed), column]}
        return {"anyOf": [enum_schema(*allowed), {**array_schema(one), "minItems": 1, "maxItems": 1}]}
    if allowed:
        return enum_schema(*allowed)
    if param.pattern:
        text = {"type": "string", "pattern": f"^({param.pattern})$"}
    if param.kind == "word":
        text["type"] = ["string", "integer"]
        text |= {"minimum": param.minimum, "maximum": param.maximum} if param.minimum is not None else {}
    schema = dict(_TYPES.get(param.kind, text))
    if isinstance(param.default, str) and "pattern" in schema:
        schema = {"type": "string", "pattern": f"^({param.default}|{schema['pattern'].strip('^$')})$"}
    if param.kind in ("integer", "number") and param.clamp is not True:
        greatest = MAX_INTEGER if param.kind == "integer" and not body else MAX_NUMBER
        schema["minimum"] = -greatest if param.minimum is None else param.minimum
        if not param.clamp:
            schema["maximum"] = greatest if param.maximum is None else param.maximum
    return schema


def _told(names: Iterable[str]) -> list[str]:
    """The names, of those that differ in marks alone the first: to generators they are one."""
    told: dict[str, str] = {}
    for name in names:
        told.setdefault(re.sub(r"\W", "_", name.lower()), name)
    return list(told.values())


def _example(param: Param) -> Any:
    """The example of a parameter as the JSON that it is."""
    if param.kind == "boolean":
        return param.example in (True, "true")
    if param.kind == "words" and isinstance(param.example, str):
        return param.example.split(",")
    return {"integer": int, "number": float}.get(param.kind, lambda example: example)(param.example)


# ---- answers

_SAID = {
    400: "A parameter or the body is invalid; details names which.",
    401: "No valid credential, or a wrong password.",
    402: "The token balance is below the cost of the call.",
    404: "Not found.",
    405: "The path does not take this method.",
    409: "Conflict; the message says why.",
    410: "The invite code has been used.",
    413: "The body is too large.",
    414: "The request line is longer than 8,192 bytes.",
    415: "The body is not application/json.",
    429: "Too many requests, or too much CPU time for calls that were refunded or refused.",
    500: "Unexpected failure; a metered call was refunded.",
    503: "The server is busy; Retry-After says when to come back.",
    504: "The call took longer than the server allows; a metered call was refunded.",
}

# Codes that one operation alone is answered with.
_OF_ONE = {
    "post_auth_redeem_invite": ("INVALID_INVITE", "INVITE_USED"),
    "post_auth_register": ("EMAIL_EXISTS", "INVALID_INVITE", "INVITE_USED", "MAIL_FAILED"),
    "get_auth_verifyEmail": ("INVALID_TOKEN",),
    "post_auth_login": ("INVALID_CREDENTIALS", "EMAIL_NOT_VERIFIED", "LOGIN_LOCKED"),
    "put_auth_newpassword": ("INVALID_TOKEN",),
    "post_billing_quota": ("INSUFFICIENT_BALANCE",),
}
# What a status says beside that where it has codes of its own.
_OWN_SAID = {
    ("post_auth_register", 500): " MAIL_FAILED: the account exists, but its verification mail could not be sent; "
    "POST /api/v1/auth/resend-verification sends it again."
}
_OWN = {code for codes in _OF_ONE.values() for code in codes}
_OF_DATA_ONLY = {"UNKNOWN_TICKER", "NOT_COVERED"}


def _header(description: str, schema: Schema, *, always: bool = True) -> dict[str, Any]:
    return {"description": description, "schema": schema, **({"required": True} if always else {})}


_SECONDS: Schema = {"type": "integer", "minimum": 0}
HEADERS: dict[str, dict[str, Any]] = {
    "X-API-Version": _header("The version of this document.", TEXT),
    "X-Request-ID": _header(
        "The caller's X-Request-ID (1-191 visible ASCII characters), else ours.",
        {"type": "string", "minLength": 1, "maxLength": 191},
    ),
    "X-RateLimit-Limit": _header("Requests allowed in the window with the least left.", INTEGER),
    "X-RateLimit-Remaining": _header("Requests left in that window.", INTEGER),
    "X-RateLimit-Reset": _header("When the window is full again, in seconds since 1970.", INTEGER),
    "X-Tokens-Charged": _header("Tokens charged: 0 if the call is free, failed or was answered 304.", _SECONDS),
    "ETag": _header("Version of this answer. Sent as If-None-Match, the call is free while it is current.", TEXT),
    "Retry-After": _header("Seconds to wait.", _SECONDS),
    "CpuRetryAfter": _header(
        "Seconds to wait, if calls that were refunded or refused took too much CPU time.", _SECONDS, always=False
    ),
    "WWW-Authenticate": _header("Accepted credentials (RFC 9110).", TEXT),
    "Allow": _header("Methods allowed here.", TEXT),
    "Location": _header("The page.", {"type": "string", "format": "uri-reference"}),
    "Idempotent-Replayed": _header("true: a repeat; nothing was done again.", enum_schema("true"), always=False),
    "Deprecation": _header("Since when the route is deprecated (RFC 9745).", TEXT),
    "Sunset": _header("When it stops answering (RFC 8594).", TEXT),
    "Link": _header("The changelog, and what to call instead.", TEXT),
    "NextLink": _header("CSV and NDJSON: rel=next, the next page of a list cut by limit.", TEXT, always=False),
    "X-Has-More": _header("CSV and NDJSON: whether rows follow.", enum_schema("true", "false"), always=False),
    "X-Next-Cursor": _header("CSV and NDJSON: the cursor of the next page.", TEXT, always=False),
    "X-Total-Characters": _header("Characters of the whole document, of which this may be a part.", INTEGER),
    "X-Total-Count": _header("CSV and NDJSON: rows in all.", INTEGER, always=False),
    "X-Window": _header("Tables and bare lists: the windows of the list, as meta has them.", TEXT, always=False),
}
_OF_GOING = ("Deprecation", "Sunset", "Link")  # of a route that is going away
_LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")

# The chain of a new account, and lists that lead to what they list: (operation, link) -> the link.
LINKS: dict[str, dict[str, dict[str, Any]]] = {
    "post_auth_redeem_invite": {
        "register": {
            "operationId": "post_auth_register",
            "description": "The invite token goes into the body, with an email and a password.",
            "requestBody": {"invite_token": "$response.body#/invite_token"},
        }
    },
    "post_auth_register": {
        "login": {
            "operationId": "post_auth_login",
            "description": "With the same email and password, after the link in the mail was followed.",
            "requestBody": {"email": "$request.body#/email", "password": "$request.body#/password"},
        }
    },
    "post_auth_login": {
        "user": {
            "operationId": "get_user",
            "description": "With token ($response.body#/token) as Authorization: Bearer.",
        }
    },
    "get_user": {
        "balance": {
            "operationId": "get_account_balance",
            "description": "With api_key ($response.body#/user/api_key) as X-API-Key, or by session.",
        }
    },
    "post_sniper_targets": {
        "stop": {
            "operationId": "post_sniper_targets_target_id_stop",
            "parameters": {"target_id": "$response.body#/target_id"},
        }
    },
    "post_webhooks_test": {
        "redeliver": {
            "operationId": "post_webhooks_deliveries_delivery_id_redeliver",
            "parameters": {"delivery_id": "$response.body#/delivery_id"},
        }
    },
    "get_sec_filings": {
        "filing": {
            "operationId": "get_sec_filings_accession_number",
            "parameters": {"accession_number": "$response.body#/data/0/accession_number"},
        }
    },
}

ERROR: Schema = {
    "type": "object",
    "required": ["status", "error", "code", "message", "request_id", "timestamp"],
    "properties": {
        "status": const_schema("error"),
        "error": enum_schema(*STATUS_BY_CODE),
        "code": enum_schema(*STATUS_BY_CODE),
        "message": TEXT,
        "details": {"type": "object"},
        "request_id": TEXT,
        "timestamp": TIME,
    },
}
_BESIDE = {
    "current_balance": INTEGER,
    "required_cost": INTEGER,
    "next_refill_at": nullable_schema(TIME),
    "plan": nullable_schema(TEXT),
    "upgrade_url": TEXT,
}
INSUFFICIENT: Schema = {
    "type": "object",
    "required": [*ERROR["required"], *_BESIDE],
    "properties": {
        **ERROR["properties"],
        "error": const_schema("insufficient_tokens"),
        "code": const_schema("insufficient_tokens"),
        **_BESIDE,
    },
}

# What an error of a code is shown with beside its message.
_SHOWN_BESIDE: dict[str, dict[str, Any]] = {
    "INVALID_PARAM": {"details": {"param": "limit", "expected": "integer"}},
    "insufficient_tokens": {
        "current_balance": 3,
        "required_cost": 5,
        "next_refill_at": "2025-11-01T00:00:00.000Z",
        "plan": "free",
        "upgrade_url": "https://example.com/plans",
    },
}


class Answers:
    """The answers of operations, and the components that they share, collected on the way."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {"Error": ERROR, "InsufficientTokens": INSUFFICIENT}
        self.examples: dict[str, Any] = {}
        self.responses: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._shown: dict[str, Any] = json.loads(
            (get_package_folder("finapi.web") / "examples.json").read_text(encoding="utf-8")
        )

    def of(self, route: Route) -> dict[str, Any]:
        """The ``responses`` of an operation."""
        found = {str(status): self._success(route, status) for status in route.answers if status != 304}
        if route.cacheable or 304 in route.answers:
            found["304"] = {"description": "Not modified; free.", "headers": _headers(*_always(route), "ETag")}
        return found | {str(status): self._error(route, status) for status in sorted(errors(route))}

    def _success(self, route: Route, status: int) -> dict[str, Any]:
        headers = [*_always(route)]
        if status == 302:
            return {"description": "On to the page.", "headers": _headers(*headers, "Location")}
        headers += _LIMITS if route.zone else ()
        headers += ["ETag"] if route.cacheable or 304 in route.answers else []
        headers += ["Idempotent-Replayed"] if route.idempotent else []
        headers += PAGING_HEADERS.values() if route.tables else ()
        headers += [WINDOW_HEADER] if route.lists and any(one.is_window for one in route.params) else []
        headers += ["X-Total-Characters"] if "text/html" in route.media else []
        said = route.summary + (
            ". As CSV or NDJSON (x-tables) when Accept or format asks for it." if route.tables else ""
        )
        answer: dict[str, Any] = {"description": said, "headers": _headers(*headers), "content": self._content(route)}
        if route.tables:
            answer["headers"].setdefault("Link", _headers("NextLink")["NextLink"])
            answer["x-tables"] = self._tables(route)
        links = LINKS.get(operation_id(route))
        return answer if links is None else {**answer, "links": links}

    def _content(self, route: Route) -> dict[str, Any]:
        if BINARY_MEDIA_TYPE in route.media:
            return {BINARY_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}}
        if route.media:
            return {kind: {"schema": TEXT, "example": "<p>Text as it was filed.</p>"} for kind in route.media}
        operation = operation_id(route)
        schema, name = route.schema, _pascal(operation)
        # One component for a record, however many routes answer it.
        component = self._names.setdefault(id(schema), name)
        self.schemas[component] = schema
        media: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{component}"}}
        content = {"application/json": media}
        shown = self._shown.get(operation)
        if shown is not None:
            self.examples[name] = {"value": shown}
            media["examples"] = {"answer": {"$ref": f"#/components/examples/{name}"}}
        return content

    def _tables(self, route: Route) -> dict[str, Any]:
        """The rows of a list as text. Among the media types they would make the type in clients a union with text."""
        shown = self._shown.get(operation_id(route))
        columns, rows = (route.columns, []) if shown is None else route.table_of(shown)
        return {
            CSV: {"schema": TEXT, "example": render_csv(columns, rows).decode()},
            NDJSON: {"schema": TEXT, "example": render_ndjson(rows).decode()},
        }

    def _error(self, route: Route, status: int) -> dict[str, Any]:
        codes = [code for code, of in STATUS_BY_CODE.items() if of == status]
        own = [code for code in _OF_ONE.get(operation_id(route), ()) if code in codes]
        data = route.auth == "key"
        common = [code for code in codes if code not in _OWN and (data or code not in _OF_DATA_ONLY)]
        if route.auth == "none" and status == 401:
            common = []
        gateway = status == 429 and route.zone in GATEWAY_ZONES
        marks = {
            "Data": data and any(code in _OF_DATA_ONLY for code in codes),
            "Metered": route.tells_cost,
            "AtGateway": gateway,
            "Deprecated": route.deprecated is not None,
            _pascal(operation_id(route)): bool(own),
        }
        name = f"Error{status}" + "".join(mark for mark, holds in marks.items() if holds)
        headers = [*_always(route)]
        headers += ["WWW-Authenticate"] if status == 401 else []
        headers += ["Allow"] if status == 405 else []
        headers += ["Retry-After"] if status == 503 or (status == 429 and not gateway) else []
        # A lock tells when it ends, and nothing of a limit.
        headers += _LIMITS if status == 429 and not gateway and not own else ()
        described = _headers(*headers)
        if gateway:
            described["Retry-After"] = _headers("CpuRetryAfter")["CpuRetryAfter"]
        schema = "InsufficientTokens" if status == 402 else "Error"
        media = {
            "schema": {"$ref": f"#/components/schemas/{schema}"},
            "examples": {code: {"value": _shown_error(code)} for code in (*common, *own)},
        }
        self.responses[name] = {
            "description": _SAID[status] + _OWN_SAID.get((operation_id(route), status), ""),
            "headers": described,
            "content": {"application/json": media},
        }
        return {"$ref": f"#/components/responses/{name}"}


def errors(route: Route) -> set[int]:
    """The statuses of what can go wrong with a call of the route."""
    found = {400, 405, 414, 500, 503, 504, *route.errors}
    found |= {413, 415} if route.body is not None else set()
    found |= {401, 429} if route.auth != "none" else set()
    found |= {402} if route.cost else set()
    found |= {404} if route.auth == "key" else set()
    found |= {429} if route.zone is not None else set()
    return found | ({409} if route.idempotent else set())


def _always(route: Route) -> tuple[str, ...]:
    names = ["X-API-Version", "X-Request-ID"]
    names += ["X-Tokens-Charged"] if route.tells_cost else []
    names += _OF_GOING if route.deprecated is not None else []
    return tuple(names)


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _shown_error(code: str) -> dict[str, Any]:
    return {
        "status": "error",
        "error": code,
        "code": code,
        "message": "What is wrong, in a sentence.",
        **_SHOWN_BESIDE.get(code, {}),
        "request_id": "3f0c8a52-6f0e-4d6b-9a43-2b6d1c0e7a11",
        "timestamp": "2025-10-31T10:01:26.000Z",
    }


def _pascal(operation_id: str) -> str:
    return "".join(word.capitalize() for word in operation_id.removeprefix("get_").split("_"))
