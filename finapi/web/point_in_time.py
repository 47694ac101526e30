"""The rule of each operation for the parameter ``as_of``: it is honoured, or refused with a reason.

An answer about the past must not contain what was not known then. So an operation that cannot leave out later documents
refuses ``as_of``. ``docs/API.md`` lists the rules (``python -m tests.from_routes``).
"""

from __future__ import annotations

from finapi.web.http.route import API, AsOfRule, Route

HONOURED = AsOfRule("honoured")
NO_DATES = AsOfRule("no_dates", "the answer does not depend on filed documents")


def _refuse(reason: str) -> AsOfRule:
    return AsOfRule("refused", reason)


_REFUSED_PRESENT_ONLY = _refuse("only the present state of the stored documents can be read here")
_REFUSED_SUMS = _refuse("positions and sums over funds are stored as the newest reports say; request each fund instead")
_REFUSED_MAPPINGS = _refuse("mappings of CUSIPs are stored without the day on which they became known")
_REFUSED_JOURNAL = _refuse("it reads the journal of what this server has stored, in the order of storing")
_REFUSED_BULK = _refuse("bulk files contain the filings of a period as they are stored now")
_REFUSED_SQL = _refuse("a query can filter by filed_at itself")

_CALLS: tuple[tuple[AsOfRule, tuple[str, ...]], ...] = (
    (
        HONOURED,
        (
            "GET /xbrl/companies/{ticker}/statements",
            "GET /xbrl/facts",
            "GET /xbrl/timeseries",
            "POST /xbrl/timeseries/batch",
            "GET /xbrl/proof",
            "POST /claims",
            "GET /xbrl/segments",
            "GET /xbrl/share-classes",
            "GET /xbrl/companies/{id}/valuation",
            "GET /sec/filings",
            "GET /sec/filings/search",
            "GET /sec/filings/stats",
            "GET /sec/filings/{accession_number}",
            "GET /sec/filings/{accession_number}/html",
            "GET /sec/filings/{accession_number}/documents/{document}",
            "GET /sec/document",
            "GET /sec/forms",
            "GET /sec/forms/{form_type}",
            "GET /sec/entities",
            "GET /filings",
            "GET /index",
            "GET /xbrl/filing/{accession}/index",
            "GET /xbrl/filing/{accession}/statements",
            "GET /xbrl/filings/diff",
            "GET /xbrl/coverage",
            "GET /xbrl/search",
            "GET /facts",
            "GET /facts/by-concept",
            "POST /facts/aggregate",
            "GET /tickers/{ticker}/overview",
            "GET /xbrl/screen",
            "GET /tickers/autocomplete",
            "GET /prices/{ticker}",
            "GET /form-13f/fund/{cik}",
            "GET /form-13f/fund/{cik}/periods",
            "GET /form-13f/fund/{cik}/cusip/{cusip}/history",
            "GET /nport/latest",
            "GET /nport/by-series/{series_id}",
            "GET /nport/by-ticker/{ticker}",
            "GET /nport/funds/{ticker}/aum-history",
            "GET /nport/funds/{ticker}/holdings",
            "GET /nport/holders-of/{cusip}",
            "POST /nport/screen",
            "GET /nport/{accession}",
            "GET /nport/{accession}/holdings",
            "GET /nport/{accession}/changes",
            "GET /ownership/beneficial-ownership/filings",
            "GET /ownership/beneficial-ownership/filings/{accession}",
            "GET /ownership/beneficial-ownership/issuers/{cik}/summary",
            "GET /ownership/beneficial-ownership/filers/{cik}/portfolio",
            "GET /ownership/beneficial-ownership/activists",
            "GET /ownership/analytics/threshold-crossings",
            "POST /form-13d",
            "GET /ownership/beneficial-ownership/conversions",
            "GET /ownership/beneficial-ownership/groups",
            "GET /ownership/holders",
            "GET /ownership/holders/{uuid}",
            "GET /ownership/holders/{uuid}/filing-history",
            "GET /ownership/cross-reference/{holder_uuid}",
            "GET /ownership/positions/{holder_uuid}/issuer/{issuer_cik}",
            "GET /ownership/positions/{holder_uuid}/issuer/{issuer_cik}/history",
            "GET /ownership/aggregation/by-ticker",
            "GET /ownership/aggregation/by-sector",
            "GET /ownership/aggregation/by-industry",
            "GET /insiders/transactions/latest",
            "GET /insiders/transactions/by-ticker/{ticker}",
            "GET /insiders/transactions/by-insider/{cik}",
            "GET /insiders/transactions/search",
            "GET /insiders/transactions/top",
            "GET /insiders/form-144/latest",
            "GET /insiders/form-144/by-ticker/{ticker}",
            "GET /insiders/form-144/by-insider/{cik}",
            "POST /insiders/query",
            "GET /insiders/clusters",
            "GET /insiders/screen",
            "GET /insiders/summary/by-ticker/{ticker}",
            "GET /insiders/insider/search",
            "GET /insiders/insider/{insider_cik}",
            "GET /insiders/holdings/by-ticker/{ticker}",
            "GET /insiders/holdings/by-insider/{cik}",
            "GET /insiders/holdings/snapshot/{snapshot_date}",
            "GET /insiders/filings/latest",
            "GET /insiders/filings/by-ticker/{ticker}",
            "GET /insiders/filings/{accession_number}",
            "GET /insiders/aggregation/by-sector",
            "GET /insiders/recommendations/daily",
            "GET /insiders/stats/global",
        ),
    ),
    (
        NO_DATES,
        (
            "POST /claims/receipts/verify",
            "GET /status",
            "GET /status/history",
            "POST /auth/redeem-invite",
            "POST /auth/register",
            "GET /auth/verifyEmail",
            "POST /auth/resend-verification",
            "POST /auth/login",
            "POST /auth/logout",
            "POST /auth/forgetpassword",
            "GET /auth/verifyPasswordLink",
            "PUT /auth/newpassword",
            "GET /user/",
            "PUT /user/",
            "PUT /user/password",
            "POST /user/email",
            "DELETE /user/",
            "GET /user/export",
            "POST /user/api-key/rotate",
            "POST /sniper/targets",
            "GET /sniper/targets",
            "POST /sniper/targets/{target_id}/stop",
            "GET /webhooks/deliveries",
            "POST /webhooks/deliveries/{delivery_id}/redeliver",
            "POST /webhooks/test",
            "GET /webhooks/secret",
            "POST /webhooks/secret/rotate",
            "GET /webhooks/vectors",
            "GET /account/balance",
            "GET /account/usage",
            "GET /account/transactions",
            "GET /account/limits",
            "POST /account/billing-portal",
            "POST /billing/quota",
            "GET /billing/subscription",
            "GET /billing/history",
            "GET /plans/",
            "GET /policy",
            "GET /xbrl/dictionary",
        ),
    ),
    (_REFUSED_JOURNAL, ("GET /events", "GET /financials/status")),
    (
        _REFUSED_MAPPINGS,
        (
            "GET /cusip/lookup/{cusip}",
            "GET /cusip/ticker/{ticker}",
            "POST /cusip/batch",
            "GET /cusip/chain/{cusip}",
            "GET /cusip/cik/{cik}",
            "GET /cusip/cusip6/{cusip6}",
            "GET /cusip/search",
            "GET /cusip/stats",
        ),
    ),
    (
        _REFUSED_BULK,
        (
            "GET /xbrl/bulk",
            "GET /xbrl/bulk/{filename}",
            "GET /xbrl/bulk/facts",
            "GET /xbrl/bulk/facts/{filename}",
            "GET /insiders/bulk/form-{form_type}/index.json",
            "GET /insiders/bulk/form-{form_type}/{year}/{filename}",
            "POST /insiders/bulk/form-{form_type}/generate/{year}/{month}",
        ),
    ),
    (_REFUSED_SQL, ("POST /sql-proxy",)),
    (
        _REFUSED_SUMS,
        (
            "GET /ownership/positions/issuer/{issuer_cik}/holders",
            "GET /ownership/positions/issuer/{issuer_cik}/timeline",
            "GET /ownership/analytics/ownership-concentration/{cik}",
            "GET /form-13f/fund/{cik}/holdings-analytics",
            "POST /form-13f/fund/bulk",
            "GET /form-13f/funds",
            "GET /form-13f/search",
            "GET /form-13f/filers",
            "GET /form-13f/latest",
            "GET /form-13f/filing-stats",
            "GET /form-13f/filing-progress",
            "POST /form-13f/holdings",
            "POST /form-13f/cover-pages",
            "GET /form-13f/holdings/search",
            "GET /form-13f/moves",
            "GET /tickers/{ticker}/holders",
            "GET /tickers/{ticker}/fund-trends",
            "GET /form-13f/overlap",
            "GET /form-13f/aggregation/basket-holdings",
            "GET /form-13f/aggregation/by-ticker",
            "GET /form-13f/aggregation/by-sector",
            "GET /form-13f/aggregation/by-industry",
            "GET /form-13f/fund-performance",
            "GET /form-13f/market-rotation",
            "GET /form-13f/cross-filing-signals",
        ),
    ),
    (
        _REFUSED_PRESENT_ONLY,
        ("GET /stats",),
    ),
)

_PAGES: tuple[tuple[AsOfRule, tuple[str, ...]], ...] = (
    (
        HONOURED,
        (
            "GET /company/{ticker}",
            "GET /company/{ticker}/statements",
            "GET /company/{ticker}/financials",
            "GET /company/{ticker}/charts",
            "GET /company/{ticker}/filings",
            "GET /company/{ticker}/insiders",
            "GET /company/{ticker}/segments",
            "GET /company/{ticker}/proof/{metric}/{cell}",
            "GET /company/{ticker}/fact/{concept}",
        ),
    ),
    (
        _REFUSED_PRESENT_ONLY,
        (
            "GET /",
            "GET /company/{ticker}/holders",
            "GET /newest.json",
            "GET /search",
            "GET /search.json",
            "GET /fund/{cik}",
            "GET /portfolio/{fund}",
            "GET /insider/{cik}",
            "GET /screen",
            "GET /claims",
            "GET /filing/{accession_number}",
            "GET /filing/{accession_number}/document",
            "GET /filings/text",
            "GET /filings.atom",
            "POST /api/mcp",
        ),
    ),
)

# The rules of calls and of pages with data by the name of the route. All other pages and probes have no dates.
RULES = {
    **{name.replace(" ", f" {API}", 1): rule for rule, names in _CALLS for name in names},
    **{name: rule for rule, names in _PAGES for name in names},
}


def apply_rules(routes: tuple[Route, ...]) -> tuple[Route, ...]:
    """Return the routes with their rules."""
    return tuple(route.with_as_of_rule(_find_rule(route)) for route in routes)


def _find_rule(route: Route) -> AsOfRule:
    """Return the rule of a route. A call without one refuses ``as_of``, so that a new call cannot ignore it."""
    default = _REFUSED_PRESENT_ONLY if route.path.startswith(API) else NO_DATES
    return RULES.get(route.name, default)
