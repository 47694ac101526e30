"""The OpenAPI document of a fixture's control calls, ``GET /_control/openapi.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from finapi import __version__
from finapi.delivery import events
from finapi.delivery.webhooks import EVENT_TYPES
from finapi.testing import base, faults
from finapi.testing.world import MAX_ADVANCE
from finapi.web.http.schema import (
    BOOLEAN,
    INTEGER,
    TEXT,
    TIME,
    Schema,
    array_schema,
    enum_schema,
    mapping_schema,
    nullable_schema,
    object_schema,
)

DESCRIPTION = """\
Controls a world of `finapi fixture`: its clock, accounts, mails, webhooks, limits and faults. Call it under the path of
a world, `/_world/NAME/_control`, or under `/_control` with the header `X-Finapi-World`. Each call needs the
`control_token` of the ready line as `X-Control-Token`."""

_OBJECT: Schema = {"type": "object"}
_EMPTY = object_schema({})
_POSITIVE: Schema = {"type": "integer", "minimum": 1}
_TRUE = {"type": "boolean", "const": True}
_ACCOUNT = object_schema({"email": TEXT, "password": TEXT, "api_key": TEXT})
_HAPPENING = object_schema(
    {"at": TIME, "what": TEXT, "subject": nullable_schema(TEXT), "detail": nullable_schema(TEXT)}
)
_CLOCK = {"now": TIME, "frozen": BOOLEAN}
_MESSAGE = object_schema(
    {
        "at": TIME,
        "headers": mapping_schema(TEXT),
        "body": TEXT,
        "signature": {**TEXT, "description": "valid, or what is wrong with it."},
        "json": {"description": "The body as JSON, or null."},
    }
)

_EFFECTS: dict[str, Schema] = {
    "status": {"type": "integer", "minimum": faults.STATUSES[0], "maximum": faults.STATUSES[-1]},
    "redirect": {**TEXT, "description": "A 302 to this URL."},
    "hang": {**_TRUE, "description": "No answer comes."},
    "delay": {"type": "number", "minimum": 0, "maximum": faults.MAX_DELAY_SECONDS, "description": "Seconds."},
    "drip": {"type": "number", "minimum": 1, "description": "Bytes of the answer in a second."},
    "truncate": {"type": "integer", "minimum": 0, "description": "Bytes after which the answer ends."},
    "reset": {**_TRUE, "description": "The connection is reset."},
    "wrong_length": {**_TRUE, "description": "A Content-Length that is never reached."},
    "stale": {**TIME, "description": "The answer as if no filing had arrived since this time."},
    "duplicate": {**_TRUE, "description": "A webhook that is sent twice."},
    "reorder": {**_TRUE, "description": "A webhook that follows the next one."},
    "close": {"type": "integer", "description": "The code with which the readers of the feeds are closed."},
}
_CONDITIONS: dict[str, Schema] = {
    "route": {**TEXT, "description": "GET /api/v1/xbrl/*, or a path alone; of webhooks the event type."},
    "ordinal": {**_POSITIVE, "description": "Only the nth call."},
    "every": {**_POSITIVE, "description": "Only every nth call."},
    "share": {"type": "number", "minimum": 0, "maximum": 1, "description": "A share of the calls."},
    "times": {**_POSITIVE, "description": "The number of calls after which the fault ends."},
}
_ANSWERS: dict[str, Schema] = {
    "headers": {"type": ["object", "boolean"], "description": "Headers; false for a 429 without those of a limit."},
    "body": {"type": ["string", "object", "array"]},
    "retry_after": {"type": ["integer", "string"], "description": "Seconds, or a date."},
}
_FAULT_BODY: Schema = {
    "type": "object",
    "properties": {**_CONDITIONS, **_EFFECTS, **_ANSWERS},
    "additionalProperties": False,
    "oneOf": [{"required": [effect]} for effect in _EFFECTS],
}
_FAULT: Schema = {
    "type": "object",
    "properties": {"id": TEXT, "seen": INTEGER, "met": INTEGER, **_FAULT_BODY["properties"]},
    "required": ["id", "seen", "met"],
    "additionalProperties": False,
}


class ControlOperation(NamedTuple):
    """The description of a control call."""

    summary: str
    answer: Schema
    body: Schema | None = None
    query: tuple[Schema, ...] = ()  # The parameters of its query.


def _build_body(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of a body without other members."""
    body: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**body, "required": list(required)} if required else body


OPERATIONS: Mapping[tuple[str, str], ControlOperation] = {
    ("POST", "reset"): ControlOperation("Restore the state in which the world began", _EMPTY),
    ("POST", "snapshot"): ControlOperation("Save the state of the world", object_schema({"snapshot": TEXT})),
    ("POST", "restore"): ControlOperation(
        "Restore the state of a snapshot", _EMPTY, _build_body({"snapshot": TEXT}, ("snapshot",))
    ),
    ("POST", "seed"): ControlOperation(
        "Derive all further ids, keys and secrets from a seed",
        object_schema({"seed": INTEGER}),
        _build_body({"seed": {"type": "integer", "minimum": base.SEEDS[0], "maximum": base.SEEDS[-1]}}, ("seed",)),
    ),
    ("POST", "clock"): ControlOperation(
        "Stop the clock, start it, or let time pass",
        object_schema({**_CLOCK, "happened": array_schema(_HAPPENING)}),
        {
            **_build_body(
                {
                    "freeze": {"anyOf": [TIME, _TRUE], "description": "Stop at this time; true: where it is."},
                    "run": {**_TRUE, "description": "Start it again."},
                    "advance": {
                        "type": "number",
                        "minimum": 0,
                        "maximum": MAX_ADVANCE.total_seconds(),
                        "description": "Let these seconds pass, and do all that falls due.",
                    },
                    "until_idle": {**_TRUE, "description": "Let time pass until nothing is due."},
                }
            ),
            "minProperties": 1,
            "maxProperties": 1,
        },
    ),
    ("GET", "clock"): ControlOperation("The time of the world", object_schema(_CLOCK)),
    ("POST", "faults"): ControlOperation("Add a fault", _FAULT, _FAULT_BODY),
    ("GET", "faults"): ControlOperation(
        "The faults, with the calls that met them", object_schema({"faults": array_schema(_FAULT)})
    ),
    ("DELETE", "faults"): ControlOperation("Remove every fault", object_schema({"dropped": INTEGER})),
    ("GET", "refused"): ControlOperation("A URL whose connections are refused", object_schema({"url": TEXT})),
    ("POST", "accounts"): ControlOperation(
        "Create an account",
        _ACCOUNT,
        _build_body(
            {
                "plan": {**enum_schema(*base.PLANS), "default": "free"},
                "state": {**enum_schema(*base.STATES), "default": "active"},
                "email": TEXT,
            }
        ),
    ),
    ("GET", "accounts"): ControlOperation(
        "The accounts of the ready line by plan or state",
        object_schema({"accounts": mapping_schema(_ACCOUNT)}),
    ),
    ("POST", "events"): ControlOperation(
        "Send an event on a feed",
        object_schema({"feed": TEXT, "seq": INTEGER}),
        _build_body(
            {
                "feed": enum_schema(*events.TYPES_BY_FEED),
                "type": enum_schema(*events.FEED_BY_TYPE),
                "data": _OBJECT,
            },
            ("feed", "type"),
        ),
    ),
    ("POST", "webhooks"): ControlOperation(
        "Send a webhook to a URL or to an account",
        object_schema({"delivery_id": TEXT}),
        _build_body(
            {
                "event_type": enum_schema(*EVENT_TYPES),
                "data": {**_OBJECT, "description": "Without it, the payload is a sample."},
                "url": TEXT,
                "email": TEXT,
            },
            ("event_type",),
        ),
    ),
    ("POST", "limits/clear"): ControlOperation("Clear the use of every limit, and every wrong password", _EMPTY),
    ("GET", "mailbox"): ControlOperation(
        "The newest mails with their links",
        object_schema(
            {
                "mails": array_schema(
                    object_schema(
                        {
                            "to": TEXT,
                            "subject": TEXT,
                            "date": TEXT,
                            "text": TEXT,
                            "links": array_schema(TEXT),
                            "bytes": INTEGER,
                        }
                    )
                )
            }
        ),
    ),
    ("GET", "requests"): ControlOperation(
        "The newest calls of the API",
        object_schema(
            {
                "requests": array_schema(
                    object_schema(
                        {
                            "at": TIME,
                            "method": TEXT,
                            "path": TEXT,
                            "query": mapping_schema(array_schema(TEXT)),
                            "headers": mapping_schema(TEXT),
                            "body": TEXT,
                            "status": INTEGER,
                            "request_id": nullable_schema(TEXT),
                            "faults": array_schema(TEXT),
                        }
                    )
                )
            }
        ),
    ),
    ("GET", "webhooks/inbox"): ControlOperation(
        "The webhooks in the inboxes, with a verdict on each signature",
        object_schema({"inboxes": mapping_schema(array_schema(_MESSAGE))}),
        query=(
            {"name": "name", "in": "query", "schema": TEXT, "description": "Only this inbox, also if it is empty."},
        ),
    ),
    ("DELETE", "world"): ControlOperation("Delete the world", _EMPTY),
    ("POST", "filings"): ControlOperation(
        "Store a document as if it had just been filed",
        object_schema(
            {
                "files": array_schema(
                    object_schema(
                        {
                            "path": TEXT,
                            "kind": nullable_schema(TEXT),
                            "outcome": TEXT,
                            "reason": nullable_schema(TEXT),
                            "accession": nullable_schema(TEXT),
                        }
                    )
                )
            }
        ),
        {"type": "string", "format": "binary"},
        query=(
            {
                "name": "name",
                "in": "query",
                "schema": {**TEXT, "default": "document"},
                "description": "A file name.",
            },
        ),
    ),
}
_INBOX: dict[str, Any] = {
    "operationId": "post_inbox_name",
    "summary": "Receive a webhook",
    "security": [],
    "parameters": [
        {"name": "name", "in": "path", "required": True, "schema": TEXT},
        {
            "name": "status",
            "in": "query",
            "schema": {"type": "integer", "minimum": 200, "maximum": 599, "default": 200},
            "description": "The status of the answer.",
        },
    ],
    "requestBody": {"content": {"application/json": {"schema": {}}}},
    "responses": {"default": {"description": "The requested status."}},
}
_ERROR = object_schema({"status": TEXT, "error": TEXT, "code": TEXT, "message": TEXT, "request_id": TEXT})


def build_document(server_url: str) -> dict[str, Any]:
    """Return the OpenAPI document of the control calls under ``server_url``."""
    paths: dict[str, dict[str, Any]] = {"/inbox/{name}": {"post": _INBOX}}
    for (method, name), operation in OPERATIONS.items():
        paths.setdefault(f"/{name}", {})[method.lower()] = _build_operation(method, name, operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "finapi fixture control",
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": server_url}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "X-Control-Token"}},
            "schemas": {"Error": {**_ERROR, "additionalProperties": True}},
            "responses": {
                "Error": {
                    "description": "The call was refused; the message says why.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
            },
        },
    }


def _build_operation(method: str, name: str, operation: ControlOperation) -> dict[str, Any]:
    document: dict[str, Any] = {
        "operationId": f"{method.lower()}_{name.replace('/', '_')}",
        "summary": operation.summary,
        "responses": {
            "200": {"description": operation.summary, "content": {"application/json": {"schema": operation.answer}}},
            "4XX": {"$ref": "#/components/responses/Error"},
        },
    }
    if operation.query:
        document["parameters"] = list(operation.query)
    if operation.body is not None:
        is_document = operation.body.get("format") == "binary"
        media_type = "application/octet-stream" if is_document else "application/json"
        document["requestBody"] = {"required": True, "content": {media_type: {"schema": operation.body}}}
    return document
