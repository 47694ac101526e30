"""What this service promises, as it is in force: limits, metering, versions, freshness, tools (SPEC "policy")."""

from __future__ import annotations

from typing import Any

from finapi import __version__
from finapi.app import App
from finapi.config import Config
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.shapes import BOOLEAN, INTEGER, TEXT, array, const, envelope, obj

READY = "policy"
LIMIT_HEADERS = ["Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
GATEWAY = "gateway, nginx limit_req nodelay semantics: a bucket of burst + 1"

POLICY = envelope(
    obj(
        api_version=TEXT,
        rate_limits=obj(
            global_default_per_minute=INTEGER,
            global_default_per_hour=INTEGER,
            global_limit_layer=TEXT,
            global_limit_headers_on_429=array(TEXT),
            financials_endpoints_per_minute=INTEGER,
            financials_endpoints_burst=INTEGER,
            financials_limit_layer=TEXT,
            xbrl_endpoints_per_minute=INTEGER,
            xbrl_endpoints_burst=INTEGER,
            xbrl_limit_layer=TEXT,
            gateway_429_carries_rate_limit_headers=const(False),
            register_per_hour_per_ip=INTEGER,
            register_per_hour_per_email=INTEGER,
            sql_proxy_per_minute=INTEGER,
            insider_service_per_minute_free=INTEGER,
            insider_service_per_minute_paid=INTEGER,
            over_limit_status=const(429),
            over_limit_error_code=const("RATE_LIMIT_EXCEEDED"),
        ),
        metering=obj(
            model=TEXT,
            cost_header=const("X-Tokens-Charged"),
            failed_call_refunded=const(True),
            over_quota_status=const(402),
            over_quota_error=const("insufficient_tokens"),
            quota_source=const("per_account_plan"),
            pilot=const(True),
            statement=TEXT,
        ),
        websocket=obj(
            transport=TEXT,
            concurrent_connections_free=INTEGER,
            concurrent_connections_paid=INTEGER,
            catchup_events_per_connect=INTEGER,
            statement=TEXT,
        ),
        versioning=obj(
            scheme=const("semver"),
            current=TEXT,
            version_header=const("X-API-Version"),
            additive_change=TEXT,
            breaking_change=TEXT,
            deprecation_headers=array(TEXT),
            no_endpoints_currently_deprecated=BOOLEAN,
            changelog_url=TEXT,
            spec_url=TEXT,
        ),
        request_limits=obj(max_request_body_bytes=INTEGER, server_timeout_seconds=INTEGER),
        freshness=obj(
            sec_filings=TEXT,
            insider=TEXT,
            form_13f=TEXT,
            form_13dg=TEXT,
            prices=TEXT,
            xbrl_fundamentals=TEXT,
            vintage_fields=array(TEXT),
            freshness_endpoint=const("/api/v1/financials/status"),
            coverage_endpoint=const("/api/v1/xbrl/coverage"),
        ),
        tooling=obj(
            openapi_spec_url=const("/openapi.json"),
            python_sdk_install=TEXT,
            cli_install=TEXT,
            mcp_server_docs=const("/integrations/mcp"),
            statement=TEXT,
        ),
    )
)


def show(call: Call) -> Response:
    """The policy document."""
    from finapi.web.routes import ROUTES

    begun = call.app.ready.get(READY)
    if begun is None:
        deprecated = any(route.deprecated is not None for route in ROUTES)
        begun = call.success(document(call.app.config, no_deprecations=not deprecated), {}).body
        call.app.ready[READY] = begun
    return Response(200, begun, end=call.own_end)


def is_ready(app: App) -> bool:
    """Whether the document has been made."""
    return READY in app.ready


def document(config: Config, *, no_deprecations: bool) -> dict[str, Any]:
    """The data of the policy: every number is a setting in force, every sentence is true of this version."""
    return {
        "api_version": __version__,
        "rate_limits": _rate_limits(config),
        "metering": {
            "model": "per-request token debit",
            "cost_header": "X-Tokens-Charged",
            "failed_call_refunded": True,
            "over_quota_status": 402,
            "over_quota_error": "insufficient_tokens",
            "quota_source": "per_account_plan",
            "pilot": True,
            "statement": "Metering is on per account. A call is debited before it runs; one that ends in an "
            "error, or is answered 304, costs nothing. x-token-cost in the OpenAPI document is the price.",
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
            "changelog_url": "/changelog",
            "spec_url": "/openapi.json",
        },
        "request_limits": {
            "max_request_body_bytes": config.body_limit,
            "server_timeout_seconds": round(config.server_timeout),
        },
        "freshness": _FRESHNESS,
        "tooling": _TOOLING,
    }


def _rate_limits(config: Config) -> dict[str, Any]:
    return {
        "global_default_per_minute": config.app_per_minute,
        "global_default_per_hour": config.app_per_hour,
        "global_limit_layer": "application, token buckets by account, else by address",
        "global_limit_headers_on_429": LIMIT_HEADERS,
        "financials_endpoints_per_minute": config.financials_per_minute,
        "financials_endpoints_burst": config.financials_burst,
        "financials_limit_layer": GATEWAY,
        "xbrl_endpoints_per_minute": config.xbrl_per_minute,
        "xbrl_endpoints_burst": config.xbrl_burst,
        "xbrl_limit_layer": GATEWAY,
        "gateway_429_carries_rate_limit_headers": False,
        "register_per_hour_per_ip": config.register_per_hour_per_ip,
        "register_per_hour_per_email": config.register_per_hour_per_email,
        "sql_proxy_per_minute": config.sql_per_minute,
        "insider_service_per_minute_free": config.insider_per_minute_free,
        "insider_service_per_minute_paid": config.insider_per_minute_paid,
        "over_limit_status": 429,
        "over_limit_error_code": "RATE_LIMIT_EXCEEDED",
    }


_FRESHNESS = {
    "sec_filings": "As new as the last ingest of this host; freshness_endpoint tells when that was.",
    "insider": "Forms 3, 4 and 5 are served as soon as their documents are ingested.",
    "form_13f": "13F reports are served as soon as they are ingested; managers file up to 45 days after a quarter.",
    "form_13dg": "Schedules 13D and 13G are not served.",
    "prices": "End-of-day prices as far as the operator has loaded them; none come with the service.",
    "xbrl_fundamentals": "Figures are served as soon as a filing is ingested, every vintage kept. Point-in-time "
    "selection (as_of, basis) applies only to standardized annual and quarterly base-metric cells of covered "
    "companies, and to the choice of the report whose statements are served.",
    "vintage_fields": ["filed_at", "accession", "resolved_accession", "period_of_report"],
    "freshness_endpoint": "/api/v1/financials/status",
    "coverage_endpoint": "/api/v1/xbrl/coverage",
}

_TOOLING = {
    "openapi_spec_url": "/openapi.json",
    "python_sdk_install": "pip install .",
    "cli_install": "pip install .",
    "mcp_server_docs": "/integrations/mcp",
    "statement": "finapi is installed from its source directory, and its command line comes with it. This version "
    "has no Python client of its own: make one from openapi_spec_url with any generator.",
}
