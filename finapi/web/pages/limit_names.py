"""The limits of calls in words, for the tables of pages."""

from __future__ import annotations

from finapi.core.counts import format_count

_SECONDS_PER_MINUTE = 60
_SECONDS_PER_HOUR = 3_600

_NAMES = {
    "app": "Filings, holdings, account and all other calls",
    "financials": "Counts of stored rows (/financials)",
    "xbrl": "Statements and figures (/xbrl)",
    "insider": "Insiders (/insiders)",
    "insider_paid": "Insiders, on a paid plan",
    "sql": "SQL queries (/sql-proxy)",
    "pages": "Pages of this site",
    "limits": "Calls that report limits",
    "login_network": "Logins from one IPv6 network",
    "register": "Registrations from one address",
    "register_email": "Registrations of one email",
    "resend": "Requests for verification mails from one address",
    "resend_email": "Verification mails to one email",
}


def get_limit_name(zone: str) -> str:
    """Return the name of a limit for readers; ``zone`` is its name in the API."""
    return _NAMES[zone]


def describe_limit(request_count: int, window_seconds: int) -> str:
    """Return the number of requests that a limit allows, such as "60 a minute"."""
    if window_seconds == _SECONDS_PER_MINUTE:
        return f"{request_count:,} a minute"
    if window_seconds == _SECONDS_PER_HOUR:
        return f"{request_count:,} an hour"
    return f"{request_count:,} in {format_count(window_seconds, 'second')}"
