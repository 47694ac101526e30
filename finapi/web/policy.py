"""The policy document: the limits, metering, versions, freshness and tools of this service (DECISIONS 2)."""

from __future__ import annotations

from typing import Annotated, Any

from finapi import __version__
from finapi.app import App
from finapi.core import passwords
from finapi.core.config import Config
from finapi.core.records import JsonSchema, Object
from finapi.web.http import wheel_url
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.names import HARMLESS_NAMES
from finapi.web.http.route import AUTHENTICATED_BODY, PUBLIC_BODY
from finapi.web.http.schema import Envelope, Schema, array_schema, build_schema, const_schema, object_schema

STATIC_BODY_NAME = "policy"  # The key of the built document in ``App.static_bodies``.
_PASSWORD_STATEMENTS = {
    "refused": "The 3,000 most common passwords of 8 characters or more, in any case of letters, are refused with 400 "
    "INVALID_PARAM, at registration and as a new password.",
    "allowed": "Every password of the allowed length is accepted.",
}
LIMIT_HEADERS = ["Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
GATEWAY_LIMIT_LAYER = "gateway, nginx limit_req nodelay semantics: a bucket of burst + 1"


def get_policy(call: Call) -> Response:
    """Return the policy document: limits, prices and versions. It is built once."""
    body = call.app.static_bodies.get(STATIC_BODY_NAME)
    if body is None:
        deprecated = any(route.deprecated is not None for route in call.routes)
        body = call.success(build_policy(call.app.config, no_deprecations=not deprecated), {}).body
        call.app.static_bodies[STATIC_BODY_NAME] = body
    return Response(200, body, suffix=call.envelope_suffix)


def is_policy_ready(app: App) -> bool:
    """Return True if the document is built."""
    return STATIC_BODY_NAME in app.static_bodies


def build_policy(config: Config, *, no_deprecations: bool) -> dict[str, Any]:
    """Return the member ``data`` of the policy document. Its numbers are the current settings."""
    return {
        "api_version": __version__,
        "rate_limits": _build_rate_limits(config),
        "metering": {
            "model": "per-request token debit",
            "cost_header": "X-Tokens-Charged",
            "failed_call_refunded": True,
            "over_quota_status": 402,
            "over_quota_error": "insufficient_tokens",
            "quota_source": "per_account_plan",
            "pilot": True,
            "statement": "Metering is per account. A call is debited before it runs; a call that fails or is "
            "answered 304 is free. x-token-cost in the OpenAPI document is the price.",
        },
        "websocket": {
            "transport": config.public_url,
            "concurrent_connections_free": config.feeds_free,
            "concurrent_connections_paid": config.feeds_paid,
            "catchup_events_per_connect": config.feed_catchup,
            "statement": "The feeds are /ws/main-api, /ws/insider-api and /ws/13f-live at the same address; "
            "a connection costs no tokens.",
        },
        "versioning": {
            "scheme": "semver",
            "current": __version__,
            "version_header": "X-API-Version",
            "additive_change": "minor bump",
            "breaking_change": "flagged BREAKING in the changelog, with a migration path",
            "deprecation_headers": ["Deprecation", "Sunset"],
            "no_endpoints_currently_deprecated": no_deprecations,
            "changelog_url": f"{config.public_path}/changelog",
            "spec_url": f"{config.public_path}/openapi.json",
        },
        "request_limits": {
            "max_request_body_bytes": config.body_limit,
            "max_json_body_bytes": min(AUTHENTICATED_BODY, config.body_limit),
            "max_json_body_bytes_without_credential": min(PUBLIC_BODY, config.body_limit),
            "server_timeout_seconds": round(config.server_timeout),
        },
        "parameters": {
            "unknown_names": config.unknown_parameters,
            "harmless_names": list(HARMLESS_NAMES),
        },
        "passwords": {
            "min_length": passwords.MIN_LENGTH,
            "max_length": passwords.MAX_LENGTH,
            "common_passwords": config.common_passwords,
            "statement": _PASSWORD_STATEMENTS[config.common_passwords],
        },
        "freshness": _FRESHNESS,
        "tooling": _build_tooling(config),
    }


def _build_rate_limits(config: Config) -> dict[str, Any]:
    return {
        "global_default_per_minute": config.app_per_minute,
        "global_default_per_hour": config.app_per_hour,
        "global_limit_layer": "application, token buckets by account, else by address",
        "global_limit_headers_on_429": LIMIT_HEADERS,
        "financials_endpoints_per_minute": config.financials_per_minute,
        "financials_endpoints_burst": config.financials_burst,
        "financials_limit_layer": GATEWAY_LIMIT_LAYER,
        "xbrl_endpoints_per_minute": config.xbrl_per_minute,
        "xbrl_endpoints_burst": config.xbrl_burst,
        "xbrl_limit_layer": GATEWAY_LIMIT_LAYER,
        "gateway_429_carries_rate_limit_headers": False,
        "register_per_hour_per_ip": config.register_per_hour_per_ip,
        "register_per_hour_per_email": config.register_per_hour_per_email,
        "login_per_minute_per_ipv6_network": config.login_per_minute_per_network,
        "sql_proxy_per_minute": config.sql_per_minute,
        "sql_proxy_cpu_seconds_per_minute": config.sql_cpu_per_minute,
        "refunded_calls_cpu_seconds_per_minute": config.refunded_cpu_per_minute,
        "insider_service_per_minute_free": config.insider_per_minute_free,
        "insider_service_per_minute_paid": config.insider_per_minute_paid,
        "over_limit_status": 429,
        "over_limit_error_code": "RATE_LIMIT_EXCEEDED",
    }


def _build_tooling(config: Config) -> dict[str, Any]:
    install_command = f"pip install {wheel_url.build_wheel_url(config.public_url)}"
    return {
        "openapi_spec_url": f"{config.public_path}/openapi.json",
        "python_sdk_install": install_command,
        "cli_install": install_command,
        "mcp_server_docs": f"{config.public_path}/integrations/mcp",
        "statement": "This server hands out its Python client, finapi.client, and the command finapi; both match its "
        "version. For other languages, generate a client from openapi_spec_url. Language models connect by the Model "
        "Context Protocol, at /api/mcp or with finapi mcp; mcp_server_docs shows how.",
    }


_FRESHNESS = {
    "sec_filings": "As recent as this host's last ingest; freshness_endpoint says when that was.",
    "insider": "Forms 3, 4 and 5 are served as soon as their documents are ingested.",
    "form_13f": "13F reports are served as soon as they are ingested; managers have 45 days after a quarter to file.",
    "form_13dg": "Schedules 13D and 13G are served as soon as they are ingested; those filed before December 18, 2024 "
    "have no cover figures.",
    "prices": "End-of-day prices loaded by the operator; none come with the service.",
    "xbrl_fundamentals": "Figures are served as soon as a filing is ingested, and every vintage is kept. Point-in-time "
    "selection by basis applies to standardized figures, what is derived from them, and the choice of the report whose "
    "statements are served. as_of applies to calls whose x-as-of in openapi_spec_url is honoured. Others refuse it.",
    "vintage_fields": ["filed_at", "accession", "resolved_accession", "period_of_report"],
    "freshness_endpoint": "/api/v1/financials/status",
    "coverage_endpoint": "/api/v1/xbrl/coverage",
}

# Members with the same value in every configuration.
_FIXED_MEMBERS = frozenset(
    {
        "gateway_429_carries_rate_limit_headers",
        "over_limit_status",
        "over_limit_error_code",
        "cost_header",
        "failed_call_refunded",
        "over_quota_status",
        "over_quota_error",
        "quota_source",
        "pilot",
        "scheme",
        "version_header",
        "freshness_endpoint",
        "coverage_endpoint",
        "openapi_spec_url",
        "mcp_server_docs",
    }
)


def _build_schema_of(value: Any) -> Schema:
    """Return the JSON Schema of a part of the policy, from its values."""
    if isinstance(value, dict):
        return object_schema(
            {
                name: const_schema(member) if name in _FIXED_MEMBERS else _build_schema_of(member)
                for name, member in value.items()
            }
        )
    kind: Any = type(value)
    return array_schema(build_schema(str)) if kind is list else build_schema(kind)


POLICY_SHAPE = Envelope[
    Annotated[dict[str, Any], JsonSchema(_build_schema_of(build_policy(Config(), no_deprecations=True)))], Object
]
