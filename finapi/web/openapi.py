"""The OpenAPI 3.1 document, built from the route table, the parameters and the records that handlers declare.

Examples are real responses of the demo. ``examples.json`` has them by operation (``python -m tests.examples``).
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
from finapi.web.http.call import EMPTY_REASON_HEADER, PAGING_HEADERS, WINDOW_HEADER
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
_CUSIP_PATTERN = "^[0-9A-Za-z*@# ]*[0-9] *$"
# The schemas of parameter kinds. A pattern cannot check the check digit of a CUSIP.
_SCHEMA_BY_KIND: dict[str, Schema] = {
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "date": DATE,
    "quarter": {**DATE, "pattern": f"^{quarters.PATTERN}$"},
    "cik": {"type": "string", "pattern": "^0*[1-9][0-9]*$", "maxLength": 10},
    "ticker": {"type": "string", "pattern": "^[./ -]*[0-9A-Za-z][0-9A-Za-z./ -]*$", "maxLength": 12},
    "accession": {"type": "string", "pattern": f"^({_ACCESSION})$"},
    "any_accession": {"type": "string", "pattern": f"^({_ACCESSION}|{UNFILED_PREFIX}[0-9a-f]{{16}})$"},
    "cusip": {"type": "string", "format": "cusip", "pattern": _CUSIP_PATTERN},
    # An ISIN, two letters and ten letters and digits, matches the same pattern.
    "cusip_or_isin": {"type": "string", "format": "cusip-or-isin", "pattern": _CUSIP_PATTERN},
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
a schema Error. A parameter or body member that a data endpoint does not have is a 400 with the nearest name; names that
change no answer, such as `_` and `utm_*`, are accepted. `x-as-of` says if a call answers for a past day (`as_of`), and
why not. HEAD works where GET does; OPTIONS says what a path allows. A list comes as CSV or NDJSON when `Accept` asks
for it: the rows of the JSON answer, whose schema is given for them too; `x-tables` shows such a text. Tickers are taken
in any spelling, CIKs with or without leading zeros, accession numbers with or without dashes. Examples are real answers
on demo data, lists cut short. The Python client of this version is at /sdk/finapi_client-VERSION-py3-none-any.whl;
`python_sdk_install` in `/api/v1/policy` installs it."""
_CHANGELOG_DESCRIPTION = "What changed in which version."

# The description of each operation by its id. The sentence about its cost is added from the route.
OPERATION_DESCRIPTIONS: dict[str, str] = tomllib.loads(
    (get_package_folder("finapi.web") / "about.toml").read_text(encoding="utf-8")
)

# The tag of the requests that a receiver gets. Code generators put the operations of a tag into one class, so it is not
# the tag of operations that finapi serves.
RECEIVER_TAG = "receiver"

# Descriptions of tags. The tag of an operation is the first segment of its path after /api/v1, or "service".
TAGS = {
    "auth": "Invites, registration, sessions, passwords.",
    "user": "The caller's account.",
    "account": "Tokens, usage, limits.",
    "billing": "The wallet and purchases.",
    "plans": "All plans.",
    "sniper": "Sniper targets, which wait for a filing.",
    "webhooks": "Deliveries to receivers, and the secret that signs them.",
    RECEIVER_TAG: "The requests that a webhook receiver gets.",
    "xbrl": "Statements, series and figures of companies.",
    "facts": "Look-ups of single figures.",
    "claims": "Verdicts on stated figures.",
    "sec": "Filings, forms, companies and people.",
    "filings": "Filings by cursor.",
    "index": "The filings of a day.",
    "form-13f": "Holdings of funds (Form 13F).",
    "nport": "Holdings of funds and ETFs by month (N-PORT).",
    "form-13d": "Search for Schedules 13D and 13G.",
    "ownership": "Owners of more than five per cent.",
    "tickers": "Tickers, and who holds them.",
    "cusip": "CUSIPs.",
    "insiders": "Insiders: transactions, holdings, forms. All paths are also served under /api/insiders/.",
    "prices": "Prices by day.",
    "financials": "Progress of the ingestion.",
    "sql-proxy": "Queries over views.",
    "events": "Events of the feeds, for clients that poll.",
    "status": "Status of every component of the service.",
    "stats": "Amount of stored data.",
    "policy": "Limits, metering, versions and freshness.",
    "service": "Probes of the process, and this document.",
}


def build_document(public_url: str, routes: Sequence[Route]) -> dict[str, Any]:
    """Return the document of these routes as JSON values. ``public_url`` is its server, or "/" if it is empty."""
    collector = ResponseCollector()
    has_deprecated = any(route.deprecated for route in routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in (route for route in routes if not route.page):
        for path in route.paths[:2]:
            paths.setdefault(path, {})[route.method.lower()] = _build_operation(route, path, collector)
    used_tags = {tag for item in paths.values() for operation in item.values() for tag in operation["tags"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "finapi",
            "version": __version__,
            "summary": "Market data derived from SEC filings.",
            "description": DESCRIPTION,
            "contact": {"name": "The operator of this server", **({"url": public_url} if public_url else {})},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        **(
            {"externalDocs": {"url": f"{public_url}/changelog", "description": _CHANGELOG_DESCRIPTION}}
            if public_url
            else {}
        ),
        "servers": [{"url": public_url or "/"}],
        "tags": [
            {"name": name, "description": text} for name, text in TAGS.items() if name in {*used_tags, RECEIVER_TAG}
        ],
        "paths": paths,
        "webhooks": {name: {"post": _build_webhook(name)} for name in EVENTS},
        "components": {
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "keyInQuery": {"type": "apiKey", "in": "query", "name": "apiKey"},
                "session": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
            "parameters": {
                "IdempotencyKey": _IDEMPOTENCY_KEY_PARAMETER,
                "Format": _FORMAT_PARAMETER,
                "Range": _RANGE_PARAMETER,
                "IfRange": _IF_RANGE_PARAMETER,
            },
            "headers": {
                name: header for name, header in HEADERS.items() if has_deprecated or name not in _DEPRECATION_HEADERS
            },
            "schemas": collector.schemas,
            "responses": collector.responses,
            "examples": collector.examples,
        },
    }


def _build_operation(route: Route, path: str, collector: ResponseCollector) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route, path),
        "tags": [_get_tag(path)],
        "summary": route.summary,
        "description": _describe_operation(route),
        "security": _SECURITY[route.auth],
        "x-token-cost": route.cost,
        "x-as-of": _describe_as_of(route),
        "responses": collector.build_responses(route),
    }
    if route.deprecated is not None:
        operation["deprecated"] = True
    parameters = [_build_parameter(param) for param in route.params]
    if route.idempotent:
        parameters.append({"$ref": "#/components/parameters/IdempotencyKey"})
    if route.tables:
        parameters.append({"$ref": "#/components/parameters/Format"})
    if 206 in route.answers:
        parameters += [{"$ref": "#/components/parameters/Range"}, {"$ref": "#/components/parameters/IfRange"}]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _build_body(route)
    return operation


def _describe_operation(route: Route) -> str:
    sentences = [OPERATION_DESCRIPTIONS.get(operation_id(route), "")]
    sentences += [f"Not served, and refused: {', '.join(route.unserved)}."] if route.unserved else []
    plural = "" if route.cost == 1 else "s"
    sentences += [f"Costs {route.cost} token{plural}, refunded when it fails." if route.cost else "Costs nothing."]
    return " ".join(sentences).strip()


def _describe_as_of(route: Route) -> str:
    """Return "honoured", or how and why an operation refuses ``as_of``."""
    rule = route.as_of_rule
    return rule.kind if rule.kind == "honoured" else f"{rule.kind}: {rule.reason}"


def _get_tag(path: str) -> str:
    path = path.replace("/insider-module/api/", "/api/v1/")
    return path.split("/")[3] if path.startswith("/api/v1/") else "service"


def _build_webhook(name: str) -> dict[str, Any]:
    """Return the request that a receiver gets for an event of this type (DECISIONS 9)."""
    summary, schema, body = EVENTS[name]
    condition = _TOPIC_DESCRIPTION if name in users.TOPICS else ""
    description = f"{_WEBHOOK_DESCRIPTION}{condition}; free. One delivery_id may come twice."
    return {
        "operationId": f"on_{re.sub(r'[.]', '_', name)}",
        "tags": [RECEIVER_TAG],
        "x-internal": True,  # Otherwise openapi-generator would generate a method of the client for it.
        "summary": summary,
        "description": description,
        "security": [],
        "parameters": [
            {"name": header, "in": "header", "required": True, "description": text, "schema": TEXT}
            for header, text in _SIGNATURE_HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "example": body}}},
        "responses": {"200": {"description": "Received. Anything else, a redirect too, is tried again three times."}},
    }


_WEBHOOK_DESCRIPTION = "For the account's receiver"
_TOPIC_DESCRIPTION = " where it switched the topic on (PUT /api/v1/user/)"
_SIGNATURE_HEADERS = {
    "webhook-id": "The delivery's id, the same in every attempt.",
    "webhook-timestamp": "When the attempt was made, in seconds since 1970.",
    "webhook-signature": "v1 and the signature, one for each secret in force (Standard Webhooks 1.0).",
}

_IDEMPOTENCY_KEY_PARAMETER = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "A repeat with the same key within 24 hours gets the same answer and has no further effect, also if "
    "both are sent at the same time. Errors are not stored. The same key with another body is 409.",
    "schema": {"type": "string", "pattern": idempotency.KEY, "maxLength": 255},
    "example": "order-2025-0117",
}

_FORMAT_PARAMETER = {
    "name": "format",
    "in": "query",
    "required": False,
    "description": f"Instead of Accept. Without limit, a table contains all rows, at most {MAX_ROWS:,}.",
    "schema": {**enum_schema(*MEDIA_TYPE_BY_FORMAT), "default": "json"},
    "example": "json",
}

_RANGE_PARAMETER = {
    "name": "Range",
    "in": "header",
    "required": False,
    "description": "One range of bytes, to resume a download: 206. It is free for a day after the file was paid for. "
    "Several ranges, or a malformed one, are answered with the complete file.",
    "schema": TEXT,
    "example": "bytes=0-999",
}
_IF_RANGE_PARAMETER = {
    "name": "If-Range",
    "in": "header",
    "required": False,
    "description": "The ETag of the part that the caller has. If the file has changed since, it comes complete.",
    "schema": TEXT,
}

_SECURITY: dict[str, list[dict[str, list[str]]]] = {
    "none": [],
    "key": [{"key": []}, {"keyInQuery": []}],
    "session": [{"session": []}],
    "either": [{"session": []}, {"key": []}, {"keyInQuery": []}],
}


def _build_body(route: Route) -> dict[str, Any]:
    fields = route.body or ()
    schema: Schema = {"type": "object", "properties": {field.name: _build_member(field) for field in fields}}
    if route.serves_data:
        schema["additionalProperties"] = False
    required = [field.name for field in fields if field.required]
    if required:
        schema["required"] = required
    for field in (field for field in fields if field.alternative):
        # The body is invalid if both fields are missing or empty. Some generators cannot read a boolean schema, so an
        # empty field is written as ``{"not": {}}``.
        empty_schema: Schema = {"maxItems": 0} if field.kind == "words" else {"not": {}}
        schema["not"] = {"properties": {field.name: empty_schema, field.alternative: empty_schema}}
    example = {field.name: _parse_example(field) for field in fields if field.required or field.example != ""}
    description = f"A JSON object of at most {route.body_limit:,} bytes."
    content = {"application/json": {"schema": schema, "example": example}}
    return {"required": True, "description": description, "content": content}


def _build_member(field: Field) -> Schema:
    schema = _build_schema(field)
    if field.nullable:
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    if field.help:
        schema["description"] = field.help
    if field.example != "":
        schema["examples"] = [_parse_example(field)]
    return schema


def _build_parameter(param: Param) -> dict[str, Any]:
    schema = _build_schema(param)
    if param.default not in (None, ()):
        schema["default"] = param.default
    parameter: dict[str, Any] = {
        "name": param.name,
        "in": param.location,
        "required": param.required,
        "description": param.help,
        "schema": schema,
    }
    if param.empty_is_default:
        parameter["allowEmptyValue"] = True
    if param.example:
        parameter["example"] = _parse_example(param)
    if param.kind == "words":
        parameter |= {"style": "form", "explode": False}
    return parameter


def _build_schema(param: Param) -> Schema:
    """Return the JSON Schema of a parameter or of a member of a body.

    A bound to which larger values are clamped is left out, because those values are valid.
    """
    is_in_body = param.location == "body"
    allowed = _deduplicate_names(param.accepted_names)
    text: Schema = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_LENGTH if is_in_body else MAX_LENGTH}
    if param.kind == "words":
        word_schema: Schema = {"pattern": f"^({param.pattern})$"} if param.pattern else {"minLength": 1}
        plain = text if is_in_body else {"type": "string", **word_schema}
        words = array_schema(enum_schema(*allowed) if allowed else _SCHEMA_BY_KIND.get(param.word_kind, plain))
        min_items = param.minimum or (0 if is_in_body else 1)
        bounds = {"maxItems": param.maximum or MAX_WORDS, **({"minItems": min_items} if min_items else {})}
        if min_items > 1:  # Repeated words count once.
            bounds["uniqueItems"] = True
        return words if is_in_body and allowed else words | bounds
    if param.kind == "boolean" and allowed:
        return {"type": "boolean", "enum": [word == "true" for word in allowed]}
    if isinstance(param, Field) and param.kind in ("object", "objects"):
        members = {member.name: _build_member(member) for member in param.members}
        element: Schema = {"type": "object", "properties": members, "additionalProperties": False}
        if param.kind == "object":
            return element
        required = [member.name for member in param.members if member.required]
        if required:
            element["required"] = required
        return {**array_schema(element), "minItems": param.minimum or 0, "maxItems": param.maximum or MAX_WORDS}
    if param.kind == "amount":
        return {"type": ["string", "number"], "minLength": 1, "maxLength": MAX_TEXT_LENGTH}
    if param.kind == "values":
        return {**array_schema({"type": ["string", "number", "null"]}), "maxItems": param.maximum or MAX_WORDS}
    if param.kind == "sort":
        # The lists that other services' clients send are accepted too. Code generators cannot express the choice.
        return enum_schema(*allowed)
    if allowed:
        return enum_schema(*allowed)
    if param.pattern:
        text = {"type": "string", "pattern": f"^({param.pattern})$"}
    if param.kind == "word":
        text["type"] = ["string", "integer"]
        text |= {"minimum": param.minimum, "maximum": param.maximum} if param.minimum is not None else {}
    schema = dict(_SCHEMA_BY_KIND.get(param.kind, text))
    if isinstance(param.default, str) and "pattern" in schema:
        schema = {"type": "string", "pattern": f"^({param.default}|{schema['pattern'].strip('^$')})$"}
    if param.kind in ("integer", "number") and param.clamp is not True:
        bound = MAX_INTEGER if param.kind == "integer" and not is_in_body else MAX_NUMBER
        schema["minimum"] = -bound if param.minimum is None else param.minimum
        if not param.clamp:
            schema["maximum"] = bound if param.maximum is None else param.maximum
    return schema


def _deduplicate_names(names: Iterable[str]) -> list[str]:
    """Return the names without those that differ from an earlier one only in case or punctuation.

    Generated clients would give both the same identifier.
    """
    names_by_key: dict[str, str] = {}
    for name in names:
        names_by_key.setdefault(re.sub(r"\W", "_", name.lower()), name)
    return list(names_by_key.values())


def _parse_example(param: Param) -> Any:
    """Return the example of a parameter as a JSON value."""
    if param.kind == "boolean":
        return param.example in (True, "true")
    if param.kind == "words" and isinstance(param.example, str):
        return param.example.split(",")
    return {"integer": int, "number": float}.get(param.kind, lambda example: example)(param.example)


# ---- responses

_ERROR_DESCRIPTIONS = {
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
    416: "The range begins behind the end of the file.",
    429: "Too many requests, or too much CPU time for calls that were refunded or refused.",
    431: "The headers are larger than the server accepts.",
    500: "Unexpected failure; a metered call was refunded.",
    503: "The server is busy; Retry-After says when to come back.",
    504: "The call took longer than the server allows; a metered call was refunded.",
}

# Error codes that only these operations return, by operation id.
_CODES_OF_OPERATION = {
    "post_auth_redeem_invite": ("INVALID_INVITE", "INVITE_USED"),
    "post_auth_register": ("EMAIL_EXISTS", "INVALID_INVITE", "INVITE_USED", "MAIL_FAILED"),
    "get_auth_verifyEmail": ("INVALID_TOKEN",),
    "post_auth_login": ("INVALID_CREDENTIALS", "EMAIL_NOT_VERIFIED", "LOGIN_LOCKED"),
    "put_auth_newpassword": ("INVALID_TOKEN",),
    "put_user_password": ("INVALID_CREDENTIALS", "LOGIN_LOCKED"),
    "post_user_email": ("INVALID_CREDENTIALS", "LOGIN_LOCKED"),
    "post_billing_quota": ("INSUFFICIENT_BALANCE",),
}
# Sentences that are added to the description of a status of one operation.
_EXTRA_DESCRIPTIONS = {
    ("post_auth_register", 500): " MAIL_FAILED: the account exists, but its verification mail could not be sent; "
    "POST /api/v1/auth/resend-verification sends it again."
}
_SPECIAL_CODES = {code for codes in _CODES_OF_OPERATION.values() for code in codes}
_DATA_CODES = {"UNKNOWN_TICKER", "NOT_COVERED"}


def _build_header(description: str, schema: Schema, *, always: bool = True) -> dict[str, Any]:
    return {"description": description, "schema": schema, **({"required": True} if always else {})}


_NON_NEGATIVE_INTEGER: Schema = {"type": "integer", "minimum": 0}
HEADERS: dict[str, dict[str, Any]] = {
    "X-API-Version": _build_header("The version of this document.", TEXT),
    "X-Request-ID": _build_header(
        "The caller's X-Request-ID (1-191 visible ASCII characters), else ours.",
        {"type": "string", "minLength": 1, "maxLength": 191},
    ),
    "X-RateLimit-Limit": _build_header("Requests allowed in the window with the least left.", INTEGER),
    "X-RateLimit-Remaining": _build_header("Requests left in that window.", INTEGER),
    "X-RateLimit-Reset": _build_header("When the window is full again, in seconds since 1970.", INTEGER),
    "X-RateLimit-Scope": _build_header(
        "node: each node of the service counts requests on its own.", enum_schema("node"), always=False
    ),
    "X-Tokens-Charged": _build_header(
        "Tokens charged: 0 if the call is free, failed or was answered 304.", _NON_NEGATIVE_INTEGER
    ),
    "ETag": _build_header("Version of this answer. Sent as If-None-Match, the call is free while it is current.", TEXT),
    "Retry-After": _build_header("Seconds to wait.", _NON_NEGATIVE_INTEGER),
    "CpuRetryAfter": _build_header(
        "Seconds to wait, if calls that were refunded or refused took too much CPU time.",
        _NON_NEGATIVE_INTEGER,
        always=False,
    ),
    "WWW-Authenticate": _build_header("Accepted credentials (RFC 9110).", TEXT),
    "Allow": _build_header("Methods allowed here.", TEXT),
    "Accept-Ranges": _build_header("A Range header is accepted.", const_schema("bytes")),
    "Content-Range": _build_header("The range, and the size of the complete file: bytes 0-999/5000.", TEXT),
    "Location": _build_header("The page.", {"type": "string", "format": "uri-reference"}),
    "Idempotent-Replayed": _build_header("true: a repeat; nothing was done again.", enum_schema("true"), always=False),
    "Deprecation": _build_header("Since when the route is deprecated (RFC 9745).", TEXT),
    "Sunset": _build_header("When it stops answering (RFC 8594).", TEXT),
    "Link": _build_header("The changelog, and what to call instead.", TEXT),
    "NextLink": _build_header("CSV and NDJSON: rel=next, the next page of a list cut by limit.", TEXT, always=False),
    "X-Ignored-Parameters": _build_header(
        "Unknown names of the request, where the operator has them reported instead of refused.", TEXT, always=False
    ),
    "X-Empty-Reason": _build_header(
        "CSV and NDJSON: the reason why there are no rows, as `empty` of the JSON answer states it. Characters other "
        "than ASCII are percent-encoded.",
        TEXT,
        always=False,
    ),
    "X-Has-More": _build_header("CSV and NDJSON: whether rows follow.", enum_schema("true", "false"), always=False),
    "X-Next-Cursor": _build_header("CSV and NDJSON: the cursor of the next page.", TEXT, always=False),
    "X-Total-Characters": _build_header("Characters of the whole document, of which this may be a part.", INTEGER),
    "X-Total-Count": _build_header("CSV and NDJSON: rows in all.", INTEGER, always=False),
    "X-Window": _build_header("Tables and bare lists: the windows of the list, as meta has them.", TEXT, always=False),
}
_DEPRECATION_HEADERS = ("Deprecation", "Sunset", "Link")  # Of a deprecated route.
_LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Scope")

# The server may send these before it knows the route, and then without X-Tokens-Charged.
STATUSES_BEFORE_ROUTING = frozenset({413, 414, 431})

# Links from the response of an operation to another one, by operation id and name.
LINKS: dict[str, dict[str, dict[str, Any]]] = {
    "post_auth_redeem_invite": {
        "register": {
            "operationId": "post_auth_register",
            "description": "The invite token ($response.body#/invite_token) goes into the body, with an email and a "
            "password.",
        }
    },
    "post_auth_register": {
        "login": {
            "operationId": "post_auth_login",
            "description": "With the same email and password ($request.body#/email, $request.body#/password), after "
            "the link in the mail was followed.",
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

ERROR_SCHEMA: Schema = {
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
_BALANCE_MEMBERS = {
    "current_balance": INTEGER,
    "required_cost": INTEGER,
    "next_refill_at": nullable_schema(TIME),
    "plan": nullable_schema(TEXT),
    "upgrade_url": TEXT,
}
INSUFFICIENT_TOKENS_SCHEMA: Schema = {
    "type": "object",
    "required": [*ERROR_SCHEMA["required"], *_BALANCE_MEMBERS],
    "properties": {
        **ERROR_SCHEMA["properties"],
        "error": const_schema("insufficient_tokens"),
        "code": const_schema("insufficient_tokens"),
        **_BALANCE_MEMBERS,
    },
}

# Members that the example of an error has in addition to its message.
_EXTRA_EXAMPLE_MEMBERS: dict[str, dict[str, Any]] = {
    "INVALID_PARAM": {"details": {"param": "limit", "expected": "integer"}},
    "insufficient_tokens": {
        "current_balance": 3,
        "required_cost": 5,
        "next_refill_at": "2025-11-01T00:00:00.000Z",
        "plan": "free",
        "upgrade_url": "https://example.com/plans",
    },
}


class ResponseCollector:
    """Builds the responses of operations and collects the components that they share."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {"Error": ERROR_SCHEMA, "InsufficientTokens": INSUFFICIENT_TOKENS_SCHEMA}
        self.examples: dict[str, Any] = {}
        self.responses: dict[str, Any] = {}
        self._component_by_schema_id: dict[int, str] = {}
        self._examples_by_operation: dict[str, Any] = json.loads(
            (get_package_folder("finapi.web") / "examples.json").read_text(encoding="utf-8")
        )

    def build_responses(self, route: Route) -> dict[str, Any]:
        """Return the ``responses`` of an operation."""
        responses = {str(status): self._build_success(route, status) for status in route.answers if status != 304}
        if route.cacheable or 304 in route.answers:
            responses["304"] = {
                "description": "Not modified; free.",
                "headers": _refer_to_headers(*_list_common_headers(route), "ETag"),
            }
        return responses | {
            str(status): self._build_error(route, status) for status in sorted(list_error_statuses(route))
        }

    def _build_success(self, route: Route, status: int) -> dict[str, Any]:
        headers = [*_list_common_headers(route)]
        if status == 302:
            return {"description": "On to the page.", "headers": _refer_to_headers(*headers, "Location")}
        headers += _LIMIT_HEADERS if route.zone else ()
        headers += ["X-Ignored-Parameters"] if route.serves_data else []
        headers += ["ETag"] if route.cacheable or 304 in route.answers else []
        headers += ["Idempotent-Replayed"] if route.idempotent else []
        headers += [*PAGING_HEADERS.values(), EMPTY_REASON_HEADER] if route.tables else ()
        headers += [WINDOW_HEADER] if route.lists and any(param.is_window for param in route.params) else []
        headers += ["X-Total-Characters"] if "text/html" in route.media else []
        headers += ["Accept-Ranges"] if 206 in route.answers else []
        headers += ["Content-Range"] if status == 206 else []
        description = route.summary + (
            ". As CSV or NDJSON (x-tables) when Accept or format asks for it." if route.tables else ""
        )
        answer: dict[str, Any] = {
            "description": description,
            "headers": _refer_to_headers(*headers),
            "content": self._build_content(route),
        }
        if route.tables:
            answer["headers"].setdefault("Link", _refer_to_headers("NextLink")["NextLink"])
            answer["x-tables"] = self._build_tables(route)
        links = LINKS.get(operation_id(route))
        return answer if links is None else {**answer, "links": links}

    def _build_content(self, route: Route) -> dict[str, Any]:
        if route.media:
            return {kind: _build_media(kind) for kind in route.media}
        operation = operation_id(route)
        schema, name = route.schema, _to_pascal_case(operation)
        # Routes with the same record share one component.
        component = self._component_by_schema_id.setdefault(id(schema), name)
        self.schemas[component] = schema
        media: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{component}"}}
        content = {"application/json": media}
        example = self._examples_by_operation.get(operation)
        if example is not None:
            self.examples[name] = {"value": example}
            media["examples"] = {"answer": {"$ref": f"#/components/examples/{name}"}}
        if route.tables:
            # A schema of its own, such as a text, would turn the response type of generated clients into a union. The
            # texts themselves are shown in x-tables.
            content |= {media_type: {"schema": media["schema"]} for media_type in (CSV, NDJSON)}
        return content

    def _build_tables(self, route: Route) -> dict[str, Any]:
        """Return examples of a list as CSV and, if they differ from its rows in JSON, of its lines as NDJSON."""
        example = self._examples_by_operation.get(operation_id(route))
        columns, rows = (route.columns, []) if example is None else route.table_of(example)
        tables = {CSV: {"example": render_csv(columns, rows).decode()}}
        if route.tabled is not None:
            tables[NDJSON] = {"example": render_ndjson(rows[:1]).decode()}
        return tables

    def _build_error(self, route: Route, status: int) -> dict[str, Any]:
        codes = [code for code, code_status in STATUS_BY_CODE.items() if code_status == status]
        operation_codes = [code for code in _CODES_OF_OPERATION.get(operation_id(route), ()) if code in codes]
        is_data_route = route.auth == "key"
        common_codes = [
            code for code in codes if code not in _SPECIAL_CODES and (is_data_route or code not in _DATA_CODES)
        ]
        if route.auth == "none" and status == 401:
            common_codes = []
        is_gateway_error = status == 429 and route.zone in GATEWAY_ZONES
        # The parts of the component's name that set responses with different codes or headers apart.
        name_suffixes = {
            "Data": is_data_route and any(code in _DATA_CODES for code in codes),
            "Metered": route.tells_cost and status not in STATUSES_BEFORE_ROUTING,
            "AtGateway": is_gateway_error,
            "Deprecated": route.deprecated is not None,
            _to_pascal_case(operation_id(route)): bool(operation_codes),
        }
        name = f"Error{status}" + "".join(suffix for suffix, applies in name_suffixes.items() if applies)
        headers = [*_list_common_headers(route)]
        if status in STATUSES_BEFORE_ROUTING and route.tells_cost:
            headers.remove("X-Tokens-Charged")
        headers += ["WWW-Authenticate"] if status == 401 else []
        headers += ["Allow"] if status == 405 else []
        headers += ["Accept-Ranges", "Content-Range"] if status == 416 else []
        headers += ["Retry-After"] if status == 503 or (status == 429 and not is_gateway_error) else []
        # A locked login has Retry-After, but no headers of a limit.
        headers += _LIMIT_HEADERS if status == 429 and not is_gateway_error and not operation_codes else ()
        header_references = _refer_to_headers(*headers)
        if is_gateway_error:
            header_references["Retry-After"] = _refer_to_headers("CpuRetryAfter")["CpuRetryAfter"]
        schema_name = "InsufficientTokens" if status == 402 else "Error"
        media = {
            "schema": {"$ref": f"#/components/schemas/{schema_name}"},
            "examples": {code: {"value": _build_error_example(code)} for code in (*common_codes, *operation_codes)},
        }
        self.responses[name] = {
            "description": _ERROR_DESCRIPTIONS[status] + _EXTRA_DESCRIPTIONS.get((operation_id(route), status), ""),
            "headers": header_references,
            "content": {"application/json": media},
        }
        return {"$ref": f"#/components/responses/{name}"}


def list_error_statuses(route: Route) -> set[int]:
    """Return the statuses of the errors that a call of the route can have."""
    statuses = {400, 405, 414, 431, 500, 503, 504, *route.errors}
    statuses |= {413, 415} if route.body is not None else set()
    statuses |= {401, 429} if route.auth != "none" else set()
    statuses |= {402} if route.cost else set()
    statuses |= {404} if route.auth == "key" else set()
    statuses |= {429} if route.zone is not None else set()
    return statuses | ({409} if route.idempotent else set())


def _list_common_headers(route: Route) -> tuple[str, ...]:
    names = ["X-API-Version", "X-Request-ID"]
    names += ["X-Tokens-Charged"] if route.tells_cost else []
    names += _DEPRECATION_HEADERS if route.deprecated is not None else []
    return tuple(names)


def _build_media(media_type: str) -> dict[str, Any]:
    """Return the content of an answer that is not JSON: a text, or bytes."""
    if media_type.startswith("text/"):
        return {"schema": TEXT, "example": "<p>Text as it was filed.</p>"}
    return {"schema": {"type": "string", "format": "binary"}}


def _refer_to_headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _build_error_example(code: str) -> dict[str, Any]:
    return {
        "status": "error",
        "error": code,
        "code": code,
        "message": "What is wrong, in a sentence.",
        **_EXTRA_EXAMPLE_MEMBERS.get(code, {}),
        "request_id": "3f0c8a52-6f0e-4d6b-9a43-2b6d1c0e7a11",
        "timestamp": "2025-10-31T10:01:26.000Z",
    }


def _to_pascal_case(operation_id: str) -> str:
    return "".join(word.capitalize() for word in operation_id.removeprefix("get_").split("_"))
