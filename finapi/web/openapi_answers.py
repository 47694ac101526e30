"""What an operation of the OpenAPI document answers: statuses, bodies, headers, examples and links."""

from __future__ import annotations

from typing import Any

from finapi.errors import STATUS_OF
from finapi.web.call import PAGING_HEADERS, Route
from finapi.web.examples import MOMENT, REQUEST_ID, example
from finapi.web.shapes import INTEGER, TEXT, TIME, Schema, const, enum, nullable
from finapi.web.tables import CSV, TABLES
from finapi.web.wsgi import GATEWAY_ZONES

_SAID = {
    400: "A parameter or the body is wrong; details name what.",
    401: "No valid credential, or a wrong password.",
    402: "The token balance is below the cost of the call.",
    404: "There is no such thing.",
    405: "Not a method of this path.",
    409: "It cannot be done now; the message says why.",
    410: "The invite code is used.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    429: "Too many requests.",
    500: "An unexpected failure; a metered call was refunded.",
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
    "X-RateLimit-Limit": _header("Requests in the window with least left.", INTEGER),
    "X-RateLimit-Remaining": _header("What is left of them.", INTEGER),
    "X-RateLimit-Reset": _header("When all of them are there again, in seconds since 1970.", INTEGER),
    "X-Tokens-Charged": _header("What the call cost: 0 when it failed or was answered 304.", _SECONDS),
    "ETag": _header("Names this answer; If-None-Match with it costs nothing while it stands.", TEXT),
    "Retry-After": _header("Seconds to wait.", _SECONDS),
    "WWW-Authenticate": _header("The credentials that would do (RFC 9110).", TEXT),
    "Allow": _header("The methods of this path.", TEXT),
    "Location": _header("The page.", {"type": "string", "format": "uri-reference"}),
    "Idempotent-Replayed": _header("true: nothing was done again.", enum("true"), always=False),
    "Deprecation": _header("Since when the route is deprecated (RFC 9745).", TEXT),
    "Sunset": _header("When it stops answering (RFC 8594).", TEXT),
    "Link": _header("The changelog, and what to call instead.", TEXT),
    "X-Has-More": _header("CSV and NDJSON: whether rows follow.", enum("true", "false"), always=False),
    "X-Next-Cursor": _header("CSV and NDJSON: the cursor of the next page.", TEXT, always=False),
    "X-Total-Characters": _header("Characters of the whole document, of which this may be a part.", INTEGER),
    "X-Total-Count": _header("CSV and NDJSON: rows in all.", INTEGER, always=False),
}
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
        "status": const("error"),
        "error": enum(*STATUS_OF),
        "code": enum(*STATUS_OF),
        "message": TEXT,
        "details": {"type": "object"},
        "request_id": TEXT,
        "timestamp": TIME,
    },
}
_BESIDE = {
    "current_balance": INTEGER,
    "required_cost": INTEGER,
    "next_refill_at": nullable(TIME),
    "plan": nullable(TEXT),
    "upgrade_url": TEXT,
}
INSUFFICIENT: Schema = {
    "type": "object",
    "required": [*ERROR["required"], *_BESIDE],
    "properties": {
        **ERROR["properties"],
        "error": const("insufficient_tokens"),
        "code": const("insufficient_tokens"),
        **_BESIDE,
    },
}

_DETAILS: dict[str, Any] = {
    "INVALID_PARAM": {"param": "limit", "expected": "integer"},
}


class Answers:
    """The answers of operations, and the components that they share, collected on the way."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {"Error": ERROR, "InsufficientTokens": INSUFFICIENT}
        self.examples: dict[str, Any] = {}
        self.responses: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def of(self, route: Route, operation_id: str) -> dict[str, Any]:
        """The ``responses`` of an operation."""
        found = {str(status): self._success(route, status, operation_id) for status in route.answers}
        if route.cacheable:
            found["304"] = {
                "description": "What If-None-Match names is still the answer; free.",
                "headers": _headers(*_always(route), "ETag"),
            }
        for status in sorted(errors(route)):
            found[str(status)] = self._error(route, status, operation_id)
        return found

    def _success(self, route: Route, status: int, operation_id: str) -> dict[str, Any]:
        headers = [*_always(route)]
        if status == 302:
            return {"description": "On to the page.", "headers": _headers(*headers, "Location")}
        headers += _LIMITS if route.zone else ()
        headers += ["ETag"] if route.cacheable else []
        headers += ["Idempotent-Replayed"] if route.idempotent else []
        headers += PAGING_HEADERS.values() if route.lists else ()
        headers += ["X-Total-Characters"] if route.media else []
        answer = {
            "description": route.summary,
            "headers": _headers(*headers),
            "content": self._content(route, operation_id),
        }
        if operation_id in LINKS:
            answer["links"] = LINKS[operation_id]
        return answer

    def _content(self, route: Route, operation_id: str) -> dict[str, Any]:
        if route.media:
            return {kind: {"schema": TEXT, "example": "<p>Text as it was filed.</p>"} for kind in route.media}
        assert route.shape is not None, route.name
        # One component for a shape, however many routes answer it.
        name = self._names.setdefault(id(route.shape), _pascal(operation_id))
        self.schemas[name] = route.shape
        self.examples[name] = {"value": example(route.shape)}
        shown = {"answer": {"$ref": f"#/components/examples/{name}"}}
        content: dict[str, Any] = {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}, "examples": shown}
        }
        if route.lists:
            columns = ",".join(route.columns[:3])
            for kind in TABLES:
                content[kind] = {"schema": TEXT, "example": f"{columns}\r\n" if kind == CSV else "{}\n"}
        return content

    def _error(self, route: Route, status: int, operation_id: str) -> dict[str, Any]:
        codes = [code for code, of in STATUS_OF.items() if of == status]
        own = [code for code in _OF_ONE.get(operation_id, ()) if code in codes]
        data = route.auth == "key"
        common = [code for code in codes if code not in _OWN and (data or code not in _OF_DATA_ONLY)]
        if route.auth == "none" and status == 401:
            common = []
        gateway = status == 429 and route.zone in GATEWAY_ZONES
        marks = {
            "Data": data and any(code in _OF_DATA_ONLY for code in codes),
            "Metered": bool(route.cost),
            "AtGateway": gateway,
            "Deprecated": route.deprecated is not None,
            _pascal(operation_id): bool(own),
        }
        name = f"Error{status}" + "".join(mark for mark, holds in marks.items() if holds)
        headers = [*_always(route)]
        headers += ["WWW-Authenticate"] if status == 401 else []
        headers += ["Allow"] if status == 405 else []
        headers += ["Retry-After"] if status == 503 or (status == 429 and not gateway) else []
        # A lock tells when it ends, and nothing of a limit.
        headers += _LIMITS if status == 429 and not gateway and not own else ()
        schema = "InsufficientTokens" if status == 402 else "Error"
        shown = {code: {"value": _shown_error(code)} for code in (*common, *own)}
        media = {"schema": {"$ref": f"#/components/schemas/{schema}"}, "examples": shown}
        self.responses[name] = {
            "description": _SAID[status],
            "headers": _headers(*headers),
            "content": {"application/json": media},
        }
        return {"$ref": f"#/components/responses/{name}"}


def errors(route: Route) -> set[int]:
    """The statuses of what can go wrong with a call of the route."""
    found = {400, 405, 500, 503, 504, *route.errors}
    found |= {413, 415} if route.body is not None else set()
    found |= {401, 429} if route.auth != "none" else set()
    found |= {402} if route.cost else set()
    found |= {404} if route.auth == "key" else set()
    found |= {429} if route.zone is not None else set()
    return found | ({409} if route.idempotent else set())


def _always(route: Route) -> tuple[str, ...]:
    names = ["X-API-Version", "X-Request-ID"]
    names += ["X-Tokens-Charged"] if route.cost else []
    names += ["Deprecation", "Sunset", "Link"] if route.deprecated is not None else []
    return tuple(names)


def _headers(*names: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _shown_error(code: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "status": "error",
        "error": code,
        "code": code,
        "message": "What is wrong, in words.",
    }
    if code in _DETAILS:
        body["details"] = _DETAILS[code]
    if code == "insufficient_tokens":
        body |= {name: example(schema, name) for name, schema in _BESIDE.items()}
    return {**body, "request_id": REQUEST_ID, "timestamp": MOMENT}


def _pascal(operation_id: str) -> str:
    return "".join(word.capitalize() for word in operation_id.removeprefix("get_").split("_"))
