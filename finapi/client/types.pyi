"""What each call takes and answers. Made of the route table by python -m tests.from_routes."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Generic, Literal, NotRequired, Required, TypedDict, overload

from typing_extensions import TypeVar, Unpack

Day = TypeVar("Day", default=str)  # date in answers of a client with dates=True
Moment = TypeVar("Moment", default=str)  # datetime there


class CallOptions(TypedDict, total=False):
    timeout: float | None


class Livez(TypedDict):
    status: Literal["ok"]

class Readyz(TypedDict):
    status: Literal["ok"]
    data_version: int
    data_age_seconds: NotRequired[int | Decimal | None]

class OpenapiJsonInfo(TypedDict):
    title: NotRequired[str]
    version: NotRequired[str]

class OpenapiJson(TypedDict):
    openapi: Literal["3.1.0"]
    info: OpenapiJsonInfo
    servers: list[dict[str, Any]]
    paths: dict[str, Any]
    webhooks: dict[str, Any]
    components: dict[str, Any]

class StatusServices(TypedDict, Generic[Day, Moment]):
    name: str
    status: Literal["operational", "degraded", "down"]
    uptime_30d_pct: int | Decimal
    last_check_at: Moment

class StatusDataFreshness(TypedDict, Generic[Day, Moment]):
    last_filing_at: Moment | None
    last_13f_batch_at: Moment | None
    last_xbrl_run_at: Moment | None
    last_news_at: Moment | None
    queue_depth: int
    copy_age_seconds: NotRequired[int | Decimal | None]

class Status(TypedDict, Generic[Day, Moment]):
    overall: Literal["operational", "degraded", "partial_outage", "major_outage"]
    services: list[StatusServices[Day, Moment]]
    data_freshness: StatusDataFreshness[Day, Moment]
    as_of: Moment

class StatusHistoryHistoryValue(TypedDict, Generic[Day, Moment]):
    timestamp: Moment
    total_checks: int
    healthy: int
    degraded: int
    down: int
    uptime_pct: int | Decimal
    avg_response_ms: int

class StatusHistoryMeta(TypedDict, Generic[Day, Moment]):
    generated_at: Moment
    services_included: list[str]
    warning: str | None

class StatusHistory(TypedDict, Generic[Day, Moment]):
    days: int
    resolution: Literal["hourly", "daily"]
    history: dict[str, list[StatusHistoryHistoryValue[Day, Moment]]]
    meta: StatusHistoryMeta[Day, Moment]

class FinancialsStatusDataCounts(TypedDict):
    companies: int
    filings: int
    facts: int
    insider_transactions: int
    holdings: int
    prices: int

class FinancialsStatusData(TypedDict, Generic[Day, Moment]):
    counts: FinancialsStatusDataCounts
    last_filing_at: Moment | None
    last_xbrl_run_at: Moment | None
    data_version: int

class FinancialsStatus(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: FinancialsStatusData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class PostAuthRedeemInvite(TypedDict):
    message: str
    invite_token: str
    expires_in: int

class PostAuthRegister(TypedDict):
    message: str
    linkMsg: str

class AuthVerifyemail(TypedDict):
    message: str

class PostAuthLoginUserUserplan(TypedDict, Generic[Day, Moment]):
    id: int
    userId: str
    total_limit_api: int
    reach_limit_api: int
    plan: str
    status: str
    current_period_end: Moment | None
    created_at: Moment
    updated_at: Moment

class PostAuthLoginUser(TypedDict, Generic[Day, Moment]):
    id: int
    uuid: str
    email: str
    usertype: Literal["user", "admin"]
    api_key: str | None
    verify_email: bool
    is_online: bool
    has_uat_access: bool
    billing_admin: bool
    credit_balance: int | Decimal
    notify_email: bool
    notify_browser: bool
    webhook_url: str | None
    webhook_topics: list[Literal["sniper.window_expired", "insider.transaction.created", "13f.holdings.updated", "ownership.filing.created", "insider.proposed_sale.created", "nport.report.created"]]
    created_at: Moment
    updated_at: Moment
    Userplan: PostAuthLoginUserUserplan[Day, Moment] | None

class PostAuthLogin(TypedDict, Generic[Day, Moment]):
    message: str
    user: PostAuthLoginUser[Day, Moment]
    token: str

class UserUserUserDocumentLimit(TypedDict, Generic[Day, Moment]):
    id: int
    userId: str
    total_limit_GB: int
    reach_limit_GB: str
    created_at: Moment
    updated_at: Moment

class UserUserUserDeviceLimit(TypedDict, Generic[Day, Moment]):
    id: int
    userId: str
    device_limit: int
    user_login_device: str
    created_at: Moment
    updated_at: Moment

class UserUser(TypedDict, Generic[Day, Moment]):
    id: int
    uuid: str
    email: str
    usertype: Literal["user", "admin"]
    api_key: str | None
    verify_email: bool
    is_online: bool
    has_uat_access: bool
    billing_admin: bool
    credit_balance: int | Decimal
    notify_email: bool
    notify_browser: bool
    webhook_url: str | None
    webhook_topics: list[Literal["sniper.window_expired", "insider.transaction.created", "13f.holdings.updated", "ownership.filing.created", "insider.proposed_sale.created", "nport.report.created"]]
    created_at: Moment
    updated_at: Moment
    Userplan: PostAuthLoginUserUserplan[Day, Moment] | None
    UserDocumentLimit: UserUserUserDocumentLimit[Day, Moment]
    UserDeviceLimit: UserUserUserDeviceLimit[Day, Moment]

class User(TypedDict, Generic[Day, Moment]):
    user: UserUser[Day, Moment]

class PutUser(TypedDict, Generic[Day, Moment]):
    message: str
    user: PostAuthLoginUser[Day, Moment]

class DeleteUser(TypedDict):
    message: str
    kept: str

class PutUserPassword(TypedDict):
    message: str
    token: str

class UserExportWallet(TypedDict, Generic[Day, Moment]):
    id: str
    created_at: Moment
    type: Literal["credit", "purchase"]
    amount_usd: int | Decimal
    tokens_credited: int
    stripe_invoice_id: str | None
    description: str

class UserExportUsageDaily(TypedDict, Generic[Day, Moment]):
    day: Day
    tokens_consumed: int
    calls: int

class UserExportUsageTopEndpoints(TypedDict):
    endpoint: str
    tokens: int
    calls: int

class UserExportUsage(TypedDict, Generic[Day, Moment]):
    window_days: int
    daily: list[UserExportUsageDaily[Day, Moment]]
    top_endpoints: list[UserExportUsageTopEndpoints]

class UserExportTransactionsMetadata(TypedDict):
    request_id: str | None
    cost_tier: int | None

class UserExportTransactions(TypedDict, Generic[Day, Moment]):
    created_at: Moment
    delta: int
    reason: Literal["debit", "4xx_refund", "5xx_refund", "crash_refund", "refill", "purchase", "grant", "carried_over"]
    endpoint: str | None
    metadata: UserExportTransactionsMetadata
    response_status: int | None

class UserExportSniperTargetsCandidateUrls(TypedDict):
    accession: str
    url: str

class UserExportSniperTargetsLastEvent(TypedDict, Generic[Day, Moment]):
    accession_number: str
    form_type: str
    filed_at: Moment

class UserExportSniperTargets(TypedDict, Generic[Day, Moment]):
    target_id: str
    ticker: str
    status: Literal["CREATED", "ACTIVE", "STOPPED"]
    start_time: Moment
    end_time: Moment
    form_types: list[str]
    webhook_url: str | None
    created_at: Moment
    processing_state: Literal["scheduled", "watching", "resolved"]
    candidate_urls: list[UserExportSniperTargetsCandidateUrls]
    resolution_reason: Literal["filing_hit", "window_expired", "manual_stop"] | None
    stopped_at: Moment | None
    last_event: UserExportSniperTargetsLastEvent[Day, Moment] | None
    filing_uuid: str | None
    holdings_count: int | None
    parsed_at: Moment | None
    enriched_at: Moment | None

class UserExportDeliveriesAttempts(TypedDict, Generic[Day, Moment]):
    attempt: int
    started_at: Moment
    ended_at: Moment | None
    duration_ms: int | None
    status_code: int | None
    error: str | None
    response_body: str | None

class UserExportDeliveries(TypedDict, Generic[Day, Moment]):
    delivery_id: str
    event_type: Literal["sniper.filing_hit", "sniper.window_expired", "insider.transaction.created", "13f.holdings.updated", "ownership.filing.created", "insider.proposed_sale.created", "nport.report.created", "finapi.test"]
    target_id: str | None
    url: str
    status: Literal["pending", "sending", "retry_pending", "delivered", "dropped"]
    occurred_at: Moment | None
    payload: dict[str, Any]
    attempt_count: int
    last_status_code: int | None
    last_error: str | None
    created_at: Moment
    next_attempt_at: Moment | None
    delivered_at: Moment | None
    dropped_at: Moment | None
    attempts: list[UserExportDeliveriesAttempts[Day, Moment]]

class UserExport(TypedDict, Generic[Day, Moment]):
    user: PostAuthLoginUser[Day, Moment]
    wallet: list[UserExportWallet[Day, Moment]]
    usage: UserExportUsage[Day, Moment]
    transactions: list[UserExportTransactions[Day, Moment]]
    sniper_targets: list[UserExportSniperTargets[Day, Moment]]
    deliveries: list[UserExportDeliveries[Day, Moment]]
    cut: list[str]
    as_of: Moment

class PostUserApiKeyRotate(TypedDict):
    api_key: str

class PostSniperTargets(TypedDict, Generic[Day, Moment]):
    target_id: str
    ticker: str
    status: Literal["CREATED", "ACTIVE", "STOPPED"]
    start_time: Moment
    end_time: Moment
    form_types: list[str]
    webhook_url: str | None
    created_at: Moment

class SniperTargetsMeta(TypedDict):
    total: int
    limit: int
    offset: int
    has_more: bool
    active_count: int
    slots_available: int

class SniperTargets(TypedDict, Generic[Day, Moment]):
    targets: list[UserExportSniperTargets[Day, Moment]]
    meta: SniperTargetsMeta

class PostSniperTargetsTargetIdStop(TypedDict, Generic[Day, Moment]):
    target_id: str
    ticker: str
    status: Literal["CREATED", "ACTIVE", "STOPPED"]
    resolution_reason: Literal["filing_hit", "window_expired", "manual_stop"]
    stopped_at: Moment
    slots_available: int

class WebhooksDeliveriesMeta(TypedDict):
    limit: int
    has_more: bool
    next_cursor: str | None

class WebhooksDeliveries(TypedDict, Generic[Day, Moment]):
    deliveries: list[UserExportDeliveries[Day, Moment]]
    meta: WebhooksDeliveriesMeta

PostWebhooksDeliveriesDeliveryIdRedeliver = UserExportDeliveries[Day, Moment]

class WebhooksSecret(TypedDict, Generic[Day, Moment]):
    secret: str | None
    created_at: Moment
    previous_secret: str | None
    previous_expires_at: Moment | None

WebhooksVectorsVectorsHeaders = TypedDict("WebhooksVectorsVectorsHeaders", {"webhook-id": str, "webhook-timestamp": str, "webhook-signature": str})

class WebhooksVectorsVectors(TypedDict):
    description: str
    secret: str
    body: str
    headers: WebhooksVectorsVectorsHeaders
    valid: bool

class WebhooksVectors(TypedDict):
    tolerance_seconds: int
    vectors: list[WebhooksVectorsVectors]

class AccountBalance(TypedDict, Generic[Day, Moment]):
    current_balance: int
    plan: str
    plan_display_name: str
    monthly_quota: int
    billing_cycle_end: Moment
    days_until_refill: int
    suspended: bool
    as_of: Moment

class AccountUsageWebhookFailures(TypedDict, Generic[Day, Moment]):
    delivery_id: str
    event_type: str
    url_host: str
    attempts: int
    last_error: str | None
    dropped_at: Moment

class AccountUsage(TypedDict, Generic[Day, Moment]):
    window_days: int
    daily: list[UserExportUsageDaily[Day, Moment]]
    top_endpoints: list[UserExportUsageTopEndpoints]
    webhook_failures: list[AccountUsageWebhookFailures[Day, Moment]]
    as_of: Moment

class AccountTransactions(TypedDict, Generic[Day, Moment]):
    transactions: list[UserExportTransactions[Day, Moment]]
    count: int
    has_more: bool
    next_cursor: int | None
    as_of: Moment

class AccountLimitsLimits(TypedDict, Generic[Day, Moment]):
    zone: Literal["app", "financials", "xbrl", "insider", "sql"]
    requests: int
    window_seconds: int
    burst: int
    remaining: int
    reset_at: Moment

class AccountLimits(TypedDict, Generic[Day, Moment]):
    limits: list[AccountLimitsLimits[Day, Moment]]
    as_of: Moment

class PostAccountBillingPortal(TypedDict):
    url: str

class PostBillingQuotaData(TypedDict):
    message: str
    tokens_credited: int
    new_token_balance: int
    new_balance: int | Decimal

class PostBillingQuota(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: PostBillingQuotaData
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class BillingSubscriptionData(TypedDict):
    reach_limit_api: int
    total_limit_api: int
    plan_name: str
    status: str

class BillingSubscription(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: BillingSubscriptionData
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class BillingHistory(TypedDict, Generic[Day, Moment]):
    transactions: list[UserExportWallet[Day, Moment]]
    has_more: bool

class PlansData(TypedDict):
    id: int
    name: str
    price: int | None
    currency: str
    interval: Literal["week", "month", "year"]
    features: list[str]
    is_active: bool
    stripe_price_id: str | None

class Plans(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[PlansData]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class PolicyDataRateLimits(TypedDict):
    global_default_per_minute: int
    global_default_per_hour: int
    global_limit_layer: str
    global_limit_headers_on_429: list[str]
    financials_endpoints_per_minute: int
    financials_endpoints_burst: int
    financials_limit_layer: str
    xbrl_endpoints_per_minute: int
    xbrl_endpoints_burst: int
    xbrl_limit_layer: str
    gateway_429_carries_rate_limit_headers: Literal[False]
    register_per_hour_per_ip: int
    register_per_hour_per_email: int
    login_per_minute_per_ipv6_network: int
    sql_proxy_per_minute: int
    sql_proxy_cpu_seconds_per_minute: int | Decimal
    refunded_calls_cpu_seconds_per_minute: int | Decimal
    insider_service_per_minute_free: int
    insider_service_per_minute_paid: int
    over_limit_status: Literal[429]
    over_limit_error_code: Literal["RATE_LIMIT_EXCEEDED"]

class PolicyDataMetering(TypedDict):
    model: str
    cost_header: Literal["X-Tokens-Charged"]
    failed_call_refunded: Literal[True]
    over_quota_status: Literal[402]
    over_quota_error: Literal["insufficient_tokens"]
    quota_source: Literal["per_account_plan"]
    pilot: Literal[True]
    statement: str

class PolicyDataWebsocket(TypedDict):
    transport: str
    concurrent_connections_free: int
    concurrent_connections_paid: int
    catchup_events_per_connect: int
    statement: str

class PolicyDataVersioning(TypedDict):
    scheme: Literal["semver"]
    current: str
    version_header: Literal["X-API-Version"]
    additive_change: str
    breaking_change: str
    deprecation_headers: list[str]
    no_endpoints_currently_deprecated: bool
    changelog_url: str
    spec_url: str

class PolicyDataRequestLimits(TypedDict):
    max_request_body_bytes: int
    max_json_body_bytes: int
    max_json_body_bytes_without_credential: int
    server_timeout_seconds: int

class PolicyDataParameters(TypedDict):
    unknown_names: str
    harmless_names: list[str]

class PolicyDataPasswords(TypedDict):
    min_length: int
    max_length: int
    common_passwords: str
    statement: str

class PolicyDataFreshness(TypedDict):
    sec_filings: str
    insider: str
    form_13f: str
    form_13dg: str
    prices: str
    xbrl_fundamentals: str
    vintage_fields: list[str]
    freshness_endpoint: Literal["/api/v1/financials/status"]
    coverage_endpoint: Literal["/api/v1/xbrl/coverage"]

class PolicyDataTooling(TypedDict):
    openapi_spec_url: Literal["/openapi.json"]
    python_sdk_install: str
    cli_install: str
    mcp_server_docs: Literal["/integrations/mcp"]
    statement: str

class PolicyData(TypedDict):
    api_version: str
    rate_limits: PolicyDataRateLimits
    metering: PolicyDataMetering
    websocket: PolicyDataWebsocket
    versioning: PolicyDataVersioning
    request_limits: PolicyDataRequestLimits
    parameters: PolicyDataParameters
    passwords: PolicyDataPasswords
    freshness: PolicyDataFreshness
    tooling: PolicyDataTooling

class Policy(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: PolicyData
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class EventsData(TypedDict, Generic[Day, Moment]):
    type: Literal["new_filing", "beneficial_ownership", "fund_report", "data_ready", "restatement_detected", "insider_transaction", "proposed_sale", "13f_filing"]
    seq: int
    epoch: int
    occurred_at: Moment | None
    data: dict[str, Any]

EventsMetaGap = TypedDict("EventsMetaGap", {"from": int, "to": int})

class EventsMeta(TypedDict):
    feed: Literal["main-api", "insider-api", "13f-live"]
    epoch: int
    first_seq: int
    last_seq: int
    next_since_seq: int
    has_more: bool
    gap: EventsMetaGap | None

class Events(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[EventsData[Day, Moment]]
    meta: EventsMeta
    request_id: str
    timestamp: Moment

class XbrlCompaniesTickerStatementsDataStatementsValueColumns(TypedDict, Generic[Day, Moment]):
    context_seq: int
    period_type: Literal["D", "I"]
    start_date: Day | None
    end_date: Day
    dims: dict[str, str] | None

class XbrlCompaniesTickerStatementsDataStatementsValueRowsMarks(TypedDict):
    status: Literal["absent", "nil"]
    reason: str

class XbrlCompaniesTickerStatementsDataStatementsValueRows(TypedDict):
    concept: str
    label: str | None
    depth: int
    balance: Literal["debit", "credit"] | None
    preferred_label: str | None
    negated: bool
    abstract: bool
    unit: str | None
    decimals: int | Literal["INF"] | None
    values: list[str | None]
    marks: list[XbrlCompaniesTickerStatementsDataStatementsValueRowsMarks | None]
    fact_ids: list[str | None]
    ink_urls: list[str | None]
    conflicting_values: NotRequired[list[list[str] | None]]

class XbrlCompaniesTickerStatementsDataStatementsValue(TypedDict, Generic[Day, Moment]):
    accession: str
    form_type: str
    filed_at: Day | None
    slot: str
    role_uri: str | None
    definition: str | None
    page_url: str | None
    columns: list[XbrlCompaniesTickerStatementsDataStatementsValueColumns[Day, Moment]]
    rows: list[XbrlCompaniesTickerStatementsDataStatementsValueRows]

class XbrlCompaniesTickerStatementsData(TypedDict, Generic[Day, Moment]):
    kind: Literal["as_filed"]
    ticker: str | None
    cik: str
    company_name: str
    statements: dict[str, XbrlCompaniesTickerStatementsDataStatementsValue[Day, Moment]]

class XbrlCompaniesTickerStatementsMetaAbsent(TypedDict):
    statement: str
    status: Literal["absent"]
    reason: str

class XbrlCompaniesTickerStatementsMeta(TypedDict, Generic[Day, Moment]):
    resolved_accession: str
    accession: str
    period_of_report: Day
    form_type: str
    filed_at: Day | None
    fiscal_year: int | None
    fiscal_period: str | None
    cik: str
    ticker: str | None
    company_name: str
    covered: bool
    source: str
    view: Literal["consolidated", "all"]
    engine_version: int
    generated_at: Moment
    statement_count: int
    entity: dict[str, str] | None
    absent: list[XbrlCompaniesTickerStatementsMetaAbsent]

class XbrlCompaniesTickerStatements(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlCompaniesTickerStatementsData[Day, Moment]
    meta: XbrlCompaniesTickerStatementsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fFundCikFund(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str
    signing_officer: str | None
    latest_filed_at: Day | None

class Form13fFundCikFiling(TypedDict, Generic[Day, Moment]):
    accession_no: str
    form_type: str
    is_amendment: bool
    amendment_type: str | None
    filed_at: Day | None
    table_value_total: int | None
    table_entry_total: int | None
    table_rows: int
    table_rows_value: int
    table_ties: bool
    value_corrected: bool
    value_unit_rule: str
    confidential_omitted: bool
    reports_united: int
    table_rows_rejected: int
    period_after_filing: bool
    restatement_doubt: Literal["drops_unchanged_positions", None]
    positions_retained: int

class Form13fFundCikHoldingsVotingAuthority(TypedDict):
    sole: int | None
    shared: int | None
    none: int | None

class Form13fFundCikHoldings(TypedDict):
    cusip: str
    cusip_valid: bool
    ticker: str | None
    ticker_evidence: str | None
    name_of_issuer: str
    title_of_class: str
    share_type: Literal["SH", "PRN"]
    is_option: bool
    put_call: Literal["Put", "Call"] | None
    shares: int
    value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    pct_of_portfolio: int | Decimal | None
    investment_discretion: str | None
    other_managers: str | None
    other_manager_names: list[str | None]
    voting_authority: Form13fFundCikHoldingsVotingAuthority
    figi: str | None
    status: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    previous_shares: int | None
    previous_value_usd: int | None
    split_factor: int | Decimal | None
    split_source: str | None
    change_shares: int | None
    change_pct: int | Decimal | None
    value_unit_rule: str
    accession_no: str
    table_rows: int

class Form13fFundCikAnalysisNewBuys(TypedDict):
    cusip: str
    ticker: str | None
    name_of_issuer: str
    shares: int
    previous_shares: int | None
    split_factor: int | Decimal | None
    split_source: str | None
    change_shares: int | None
    change_pct: int | Decimal | None
    value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    put_call: Literal["Put", "Call"] | None

class Form13fFundCikAnalysis(TypedDict):
    new_buys: list[Form13fFundCikAnalysisNewBuys]
    closed: list[Form13fFundCikAnalysisNewBuys]
    increased: list[Form13fFundCikAnalysisNewBuys]
    decreased: list[Form13fFundCikAnalysisNewBuys]
    unchanged: list[Form13fFundCikAnalysisNewBuys]

class Form13fFundCikSectorAllocation(TypedDict):
    sector: str | None
    total_value_usd: int
    position_count: int
    pct_of_portfolio: int | Decimal | None
    doubted_count: int
    doubted_value_usd: int

class Form13fFundCikMetaPagination(TypedDict):
    total: int
    limit: int
    offset: int
    has_more: bool

class Form13fFundCikMetaChanges(TypedDict, Generic[Day, Moment]):
    available: bool
    previous_period: Day
    reason: str | None

class Form13fFundCikMetaCounts(TypedDict):
    new: int | None
    increased: int | None
    decreased: int | None
    unchanged: int | None
    closed: int | None

class Form13fFundCikMetaEmptyAvailable(TypedDict, Generic[Day, Moment]):
    param: str
    value: str
    row_count: int
    first_day: Day | None
    last_day: Day | None

class Form13fFundCikMetaEmpty(TypedDict, Generic[Day, Moment]):
    reason: str
    available: list[Form13fFundCikMetaEmptyAvailable[Day, Moment]]

class Form13fFundCikMeta(TypedDict, Generic[Day, Moment]):
    pagination: Form13fFundCikMetaPagination
    total_value_usd: int
    doubted_count: int
    doubted_value_usd: int
    doubted_flow: int
    changes: Form13fFundCikMetaChanges[Day, Moment]
    counts: Form13fFundCikMetaCounts
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class Form13fFundCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    fund: Form13fFundCikFund[Day, Moment]
    period: Day
    filing: Form13fFundCikFiling[Day, Moment]
    holdings: list[Form13fFundCikHoldings]
    analysis: Form13fFundCikAnalysis | None
    sector_allocation: list[Form13fFundCikSectorAllocation] | None
    meta: Form13fFundCikMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fFundCikPeriods(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cik: str
    periods: list[Day]
    latest_period: Day | None
    count: int
    request_id: str
    timestamp: Moment

class Form13fFundCikCusipCusipHistorySplits(TypedDict, Generic[Day, Moment]):
    date: Day | None
    ratio: int | Decimal
    source: str | None

class Form13fFundCikCusipCusipHistoryHistory(TypedDict, Generic[Day, Moment]):
    quarter_date: Day
    shares: int
    shares_raw: int
    split_factor: int | Decimal | None
    split_source: str | None
    value: int
    implied_price: int | Decimal | None
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    shares_delta: int | None
    transaction_type: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    value_unit_rule: str
    accession_no: str

class Form13fFundCikCusipCusipHistory(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cik: str
    cusip: str
    ticker: str | None
    name: str
    quarters: int
    split_adjusted: bool
    splits: list[Form13fFundCikCusipCusipHistorySplits[Day, Moment]]
    history: list[Form13fFundCikCusipCusipHistoryHistory[Day, Moment]]
    request_id: str
    timestamp: Moment

class Form13fFundCikHoldingsAnalyticsSummary(TypedDict):
    total_cost_basis: int | None
    total_market_value: int
    total_unrealized_pnl: int | None
    total_unrealized_pnl_pct: int | Decimal | None
    avg_holding_period_days: int | None
    cost_coverage_pct: int | Decimal | None
    costed_count: int
    close_price_count: int

class Form13fFundCikHoldingsAnalyticsHoldings(TypedDict, Generic[Day, Moment]):
    cusip: str
    ticker: str | None
    name: str
    shares: int
    shares_raw: int
    split_factor: int | Decimal | None
    split_source: str | None
    avg_buy_price: int | Decimal | None
    current_price: int | Decimal | None
    price_source: Literal["close", "13f"]
    price_date: Day
    cost_basis: int | None
    market_value: int
    unrealized_pnl: int | None
    unrealized_pnl_pct: int | Decimal | None
    holding_period_days: int | None
    holding_period_quarters: int | None
    first_added: Day | None
    sector: str | None
    last_transaction_quarter: Day | None
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    last_share_delta: int | None
    reason: str | None

class Form13fFundCikHoldingsAnalyticsMeta(TypedDict, Generic[Day, Moment]):
    sort_by: str
    order: str
    disclaimer: str
    pagination: Form13fFundCikMetaPagination
    changes: Form13fFundCikMetaChanges[Day, Moment]

class Form13fFundCikHoldingsAnalytics(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cik: str
    period: Day
    holdings_count: int
    summary: Form13fFundCikHoldingsAnalyticsSummary
    holdings: list[Form13fFundCikHoldingsAnalyticsHoldings[Day, Moment]]
    meta: Form13fFundCikHoldingsAnalyticsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class PostForm13fFundBulkFunds(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str | None
    status: Literal["ok", "no_filing", "unknown_cik"]
    period: Day | None
    portfolio_value_usd: int | None
    holdings_count: int | None
    holdings: list[Form13fFundCikHoldings] | None
    has_more: bool

class PostForm13fFundBulkMeta(TypedDict):
    requested_count: int
    ok_count: int
    no_filing_count: int
    unknown_cik_count: int
    detail: str
    size: int

class PostForm13fFundBulk(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    period: Day | None
    detail: str
    funds: list[PostForm13fFundBulkFunds[Day, Moment]]
    meta: PostForm13fFundBulkMeta
    request_id: str
    timestamp: Moment

class Form13fFundsFunds(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str
    symbol: str | None
    filing_count: int
    latest_period: Day | None
    latest_filed_at: Day | None
    latest_aum_usd: int | None

class Form13fFundsMeta(TypedDict):
    has_more: bool
    next_cursor: str | None
    limit: int

class Form13fFunds(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    funds: list[Form13fFundsFunds[Day, Moment]]
    count: int
    meta: Form13fFundsMeta
    request_id: str
    timestamp: Moment

class Form13fSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    results: list[Form13fFundsFunds[Day, Moment]]
    count: int
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]
    request_id: str
    timestamp: Moment

class Form13fFilersMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    has_more: bool
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class Form13fFilers(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    filers: list[Form13fFundsFunds[Day, Moment]]
    meta: Form13fFilersMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fLatestDataStatistics(TypedDict):
    new_positions: int | None
    increased: int | None
    increased_positions: int | None
    decreased: int | None
    decreased_positions: int | None
    closed: int | None
    unchanged: int | None
    prior_quarter_available: bool

class Form13fLatestData(TypedDict, Generic[Day, Moment]):
    accession_no: str
    fund_name: str
    cik: str
    period_of_report: Day
    filed_at: Day | None
    table_value_total: int | None
    holdings_count: int
    form_type: str
    is_amendment: bool
    analysis: Form13fFundCikMetaCounts
    statistics: Form13fLatestDataStatistics
    parsed_at: Moment | None

class Form13fLatestMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    offset: int
    has_more: bool
    since: Day | None
    undated_left_out: int
    clamped: dict[str, str]
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class Form13fLatest(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[Form13fLatestData[Day, Moment]]
    meta: Form13fLatestMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fFilingStatsData(TypedDict, Generic[Day, Moment]):
    period: Day
    deadline: Day
    deadlineStatus: Literal["open", "passed"]
    totalFundsFiled: int
    percentOfFundsReported: int | Decimal | None
    previousQuarterFilers: int
    totalFilings: int
    totalAUM: int | None
    lateNoticeFilers: int
    previousPeriod: Day
    previousDeadline: Day
    lastCompleteQuarterEnd: Day
    beforeLastCompleteQuarterEnd: Day
    nextReportingPeriodStart: Day
    nextDeadline: Day
    daysUntilNextDeadline: int

class Form13fFilingStats(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fFilingStatsData[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fFilingProgressDataQuarterMetadata(TypedDict, Generic[Day, Moment]):
    quarter: Day
    filing_deadline: Day
    is_complete: bool
    days_until_deadline: int

class Form13fFilingProgressData(TypedDict, Generic[Day, Moment]):
    period: Day
    filers: int
    pct_reported: int | Decimal | None
    baseline_filers: int
    baseline_period: Day
    total_filings: int
    total_aum: int | None
    late_notice_filers: int
    deadline: Day
    deadline_status: Literal["open", "passed"]
    is_complete: bool
    days_until_deadline: int
    previous_deadline: Day
    next_deadline: Day
    days_until_next_deadline: int
    next_reporting_period_start: Day
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]

class Form13fFilingProgress(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fFilingProgressData[Day, Moment]
    request_id: str
    timestamp: Moment

class PostForm13fHoldingsHoldings(TypedDict):
    cusip: str
    ticker: str | None
    issuer_name: str
    title_of_class: str
    put_call: Literal["Put", "Call"] | None
    shares: int
    value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    changeShares: int | None
    changePercent: int | Decimal | None
    status: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    value_unit_rule: str
    cik: str
    fund_name: str

class PostForm13fHoldingsMeta(TypedDict, Generic[Day, Moment]):
    pagination: Form13fFundCikMetaPagination
    changes: Form13fFundCikMetaChanges[Day, Moment] | None
    funds_without_holdings: list[str]

class PostForm13fHoldings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cik: str | None
    period: Day
    previousPeriod: Day
    holdings: list[PostForm13fHoldingsHoldings]
    meta: PostForm13fHoldingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class PostForm13fCoverPagesFilingsOtherManagers(TypedDict):
    number: int | None
    name: str
    cik: str | None
    file_number: str | None
    included: bool

class PostForm13fCoverPagesFilings(TypedDict, Generic[Day, Moment]):
    cik: str
    accession_number: str
    form_type: str
    amendment_type: str | None
    period_of_report: Day
    filed_date: Day | None
    filer_name: str
    address: str | None
    report_type: str | None
    file_number: str | None
    signing_officer: str | None
    signing_officer_title: str | None
    total_value_usd: int | None
    holdings_count: int | None
    table_rows: int
    value_unit_rule: str
    other_managers: list[PostForm13fCoverPagesFilingsOtherManagers]

class PostForm13fCoverPagesMeta(TypedDict):
    limit: int
    offset: int
    has_more: bool
    older_not_looked_at: bool

class PostForm13fCoverPages(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    filings: list[PostForm13fCoverPagesFilings[Day, Moment]]
    meta: PostForm13fCoverPagesMeta
    request_id: str
    timestamp: Moment

class Form13fHoldingsSearchResolved(TypedDict):
    ticker: str | None
    cusip: str
    name_of_issuer: str
    cusip_chain: list[str]
    evidence: str | None

class Form13fHoldingsSearchHolders(TypedDict):
    cik: str
    name: str
    cusip: str
    shares: int
    value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    pct_of_portfolio: int | Decimal | None
    change_shares: int | None
    status: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    value_unit_rule: str

class Form13fHoldingsSearchMeta(TypedDict):
    total: int
    has_more: bool
    doubted_count: int
    doubted_value: int

class Form13fHoldingsSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    query: str
    resolved: Form13fHoldingsSearchResolved
    period: Day
    holders: list[Form13fHoldingsSearchHolders]
    count: int
    meta: Form13fHoldingsSearchMeta
    request_id: str
    timestamp: Moment

class Form13fMovesMoves(TypedDict):
    cik: str
    fund: str
    cusip: str
    ticker: str | None
    name_of_issuer: str
    title_of_class: str
    status: Literal["new", "increased", "decreased", "unchanged", "closed"]
    shares: int
    previous_shares: int
    split_factor: int | Decimal | None
    split_source: str | None
    change_pct: int | Decimal | None
    value_usd: int
    previous_value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    previous_value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    flow_usd: int
    pct_of_portfolio: int | Decimal | None
    previous_pct_of_portfolio: int | Decimal | None
    accession_no: str

class Form13fMovesMeta(TypedDict, Generic[Day, Moment]):
    limit: int
    offset: int
    has_more: bool
    compared_funds: int
    changes: Form13fFundCikMetaChanges[Day, Moment] | None

class Form13fMoves(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    period: Day
    moves: list[Form13fMovesMoves]
    meta: Form13fMovesMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fOverlapFunds(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str
    period: Day
    value_usd: int
    shared_value_usd: int
    shared_pct: int | Decimal | None

class Form13fOverlapPositions(TypedDict):
    cusip: str
    ticker: str | None
    name_of_issuer: str
    shares: int
    value_usd: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    pct_of_portfolio: int | Decimal | None
    other_shares: int
    other_value_usd: int
    other_value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    other_pct_of_portfolio: int | Decimal | None
    overlap_pct: int | Decimal | None

class Form13fOverlapMeta(TypedDict):
    pagination: Form13fFundCikMetaPagination

class Form13fOverlap(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    overlap_pct: int | Decimal | None
    funds: list[Form13fOverlapFunds[Day, Moment]]
    positions: list[Form13fOverlapPositions]
    meta: Form13fOverlapMeta
    request_id: str
    timestamp: Moment

class Form13fAggregationBasketHoldingsBasketFiled(TypedDict):
    cik: str
    company_name: str | None

class Form13fAggregationBasketHoldingsBasket(TypedDict):
    total_funds: int
    funds_filed: int
    funds_pending: int
    filed: list[Form13fAggregationBasketHoldingsBasketFiled]
    pending: list[Form13fAggregationBasketHoldingsBasketFiled]

class Form13fAggregationBasketHoldingsTotals(TypedDict):
    total_value_usd: int
    total_positions: int
    doubted_count: int
    doubted_value_usd: int

class Form13fAggregationBasketHoldingsPositions(TypedDict):
    cusip: str
    ticker: str | None
    name_of_issuer: str
    class_title: str
    funds_holding: int
    funds: list[Form13fAggregationBasketHoldingsBasketFiled]
    value_usd: int
    shares: int
    pct_of_basket: int | Decimal | None
    change_type: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    prev_value_usd: int | None
    value_change_pct: int | Decimal | None
    share_change: int | None
    split_factor: int | Decimal | None
    doubted_count: int
    doubted_value_usd: int
    doubted_prev_value_usd: int

class Form13fAggregationBasketHoldingsMeta(TypedDict):
    has_more: bool

class Form13fAggregationBasketHoldings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    period: Day
    compare_period: Day
    generated_at: Moment
    basket: Form13fAggregationBasketHoldingsBasket
    totals: Form13fAggregationBasketHoldingsTotals
    positions: list[Form13fAggregationBasketHoldingsPositions]
    meta: Form13fAggregationBasketHoldingsMeta
    request_id: str
    timestamp: Moment

class Form13fAggregationByTickerDataTickers(TypedDict, Generic[Day, Moment]):
    cusip: str
    ticker: str | None
    name: str
    sector: str | None
    industry: str | None
    security_group: str
    is_etf: bool
    implied_price: int | Decimal | None
    close_price: int | Decimal | None
    market_cap: int | None
    shares_outstanding: int | None
    first_traded: Day | None
    fund_flow_mcap_pct: int | Decimal | None
    fund_flow: int | None
    total_value: int
    total_shares: int
    fund_count: int
    fund_count_compared: int
    fund_count_prev: int | None
    fund_change: int | None
    fund_change_pct: int | Decimal | None
    share_change: int | None
    share_change_pct: int | Decimal | None
    new_buys_count: int | None
    increased_count: int | None
    decreased_count: int | None
    unchanged_count: int | None
    closed_count: int | None
    doubted_count: int
    doubted_value: int
    doubted_flow: int

class Form13fAggregationByTickerDataVolume(TypedDict):
    buy: int | None
    sell: int | None
    doubted_buy: int
    doubted_sell: int

class Form13fAggregationByTickerDataFilterRangesMarketCap(TypedDict):
    min: int | None
    max: int | None

class Form13fAggregationByTickerDataFilterRanges(TypedDict):
    market_cap: Form13fAggregationByTickerDataFilterRangesMarketCap
    total_value: Form13fAggregationByTickerDataFilterRangesMarketCap
    fund_count: Form13fAggregationByTickerDataFilterRangesMarketCap
    fund_flow: Form13fAggregationByTickerDataFilterRangesMarketCap

class Form13fAggregationByTickerData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    tickers: list[Form13fAggregationByTickerDataTickers[Day, Moment]]
    volume: Form13fAggregationByTickerDataVolume
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]
    available_quarters: list[Day]
    filter_ranges: Form13fAggregationByTickerDataFilterRanges | None

class Form13fAggregationByTickerMetaSort(TypedDict):
    column: str
    order: str

class Form13fAggregationByTickerMetaHolesValue(TypedDict):
    status: Literal["hole"]
    reason_code: str

class Form13fAggregationByTickerMeta(TypedDict):
    pagination: Form13fFundCikMetaPagination
    sort: Form13fAggregationByTickerMetaSort
    filters_applied: dict[str, Any]
    holes: dict[str, Form13fAggregationByTickerMetaHolesValue]

class Form13fAggregationByTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fAggregationByTickerData[Day, Moment]
    meta: Form13fAggregationByTickerMeta
    request_id: str
    timestamp: Moment

class Form13fAggregationBySectorDataSectorsCompare(TypedDict, Generic[Day, Moment]):
    prev_quarter: Day
    flow_change: int | None
    prev_momentum_label: Literal["strong_outflow", "outflow", "neutral", "inflow", "strong_inflow"] | None
    momentum_shift: Literal["strengthened", "weakened", "unchanged"] | None
    fund_count_change: int
    value_change_pct: int | Decimal | None

class Form13fAggregationBySectorDataSectorsIndustriesInflowsTopMovers(TypedDict):
    cusip: str
    ticker: str | None
    name: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    doubted_count: int

class Form13fAggregationBySectorDataSectorsIndustriesInflows(TypedDict):
    industry: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    top_movers: list[Form13fAggregationBySectorDataSectorsIndustriesInflowsTopMovers]

class Form13fAggregationBySectorDataSectorsIndustries(TypedDict):
    inflows: list[Form13fAggregationBySectorDataSectorsIndustriesInflows]
    outflows: list[Form13fAggregationBySectorDataSectorsIndustriesInflows]

class Form13fAggregationBySectorDataSectors(TypedDict, Generic[Day, Moment]):
    sector: str
    fund_flow: int | None
    total_value: int
    fund_count: int
    etf_value: int
    flow_significance_pct: int | Decimal | None
    momentum: Literal["strong_outflow", "outflow", "neutral", "inflow", "strong_inflow"] | None
    confidence: Literal["high", "low"]
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    compare: Form13fAggregationBySectorDataSectorsCompare[Day, Moment] | None
    industries: Form13fAggregationBySectorDataSectorsIndustries

class Form13fAggregationBySectorData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    sector_count: int
    total_value: int
    coverage_pct: int | Decimal | None
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    sectors: list[Form13fAggregationBySectorDataSectors[Day, Moment]]
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]

class Form13fAggregationBySector(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fAggregationBySectorData[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fAggregationByIndustryDataIndustriesSector(TypedDict):
    name: str
    fund_flow: int | None
    total_value: int
    unique_fund_count: int
    flow_significance_pct: int | Decimal | None
    momentum_label: Literal["strong_outflow", "outflow", "neutral", "inflow", "strong_inflow"] | None
    low_confidence: bool
    doubted_count: int
    doubted_value: int
    doubted_flow: int

class Form13fAggregationByIndustryDataIndustries(TypedDict, Generic[Day, Moment]):
    industry: str
    sector: Form13fAggregationByIndustryDataIndustriesSector
    fund_flow: int | None
    total_value: int
    unique_fund_count: int
    flow_significance_pct: int | Decimal | None
    momentum_label: Literal["strong_outflow", "outflow", "neutral", "inflow", "strong_inflow"] | None
    low_confidence: bool
    cusip_count: int
    total_positions: int
    etf_value: int
    new_buys_count: int | None
    closed_count: int | None
    increased_count: int | None
    decreased_count: int | None
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    top_movers: list[Form13fAggregationBySectorDataSectorsIndustriesInflowsTopMovers]
    compare: Form13fAggregationBySectorDataSectorsCompare[Day, Moment] | None

class Form13fAggregationByIndustryData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    total_institutional_value: int
    coverage_pct: int | Decimal | None
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    total_industries: int
    industries: list[Form13fAggregationByIndustryDataIndustries[Day, Moment]]
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]

class Form13fAggregationByIndustry(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fAggregationByIndustryData[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fFundPerformanceDataLeaderboardTopContributors(TypedDict):
    ticker: str
    return_pct: int | Decimal
    contribution_pct: int | Decimal | None

class Form13fFundPerformanceDataLeaderboard(TypedDict):
    rank: int | None
    cik: str
    company_name: str
    portfolio_return_pct: int | Decimal | None
    reason: str | None
    portfolio_value: int
    holdings_count: int
    doubted_count: int
    doubted_value: int
    price_coverage_pct: int | Decimal | None
    unadjusted_pct: int | Decimal | None
    top_contributors: list[Form13fFundPerformanceDataLeaderboardTopContributors]
    top_detractors: list[Form13fFundPerformanceDataLeaderboardTopContributors]

class Form13fFundPerformanceData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    begins: Day
    total_funds: int
    eligible_funds: int
    leaderboard: list[Form13fFundPerformanceDataLeaderboard]

class Form13fFundPerformanceMetaFilters(TypedDict):
    min_holdings: int
    min_aum: int
    min_price_coverage_pct: int

class Form13fFundPerformanceMeta(TypedDict):
    pagination: Form13fFundCikMetaPagination
    filters: Form13fFundPerformanceMetaFilters
    disclaimer: str

class Form13fFundPerformance(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fFundPerformanceData[Day, Moment]
    meta: Form13fFundPerformanceMeta
    request_id: str
    timestamp: Moment

class Form13fMarketRotationDataSectorBucketsValueSectors(TypedDict):
    sector: str
    sic_group: str
    fund_flow: int | None
    total_value: int

class Form13fMarketRotationDataSectorBucketsValue(TypedDict):
    total_flow: int | None
    total_value: int
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    bought: int | None
    sold: int | None
    sectors: list[Form13fMarketRotationDataSectorBucketsValueSectors]

class Form13fMarketRotationDataCompare(TypedDict, Generic[Day, Moment]):
    quarter: Day
    value_growth_ratio: int | Decimal | None
    value_growth_signal: Literal["value", "growth", "neutral"] | None
    cyclical_defensive_ratio: int | Decimal | None
    cyclical_defensive_signal: Literal["cyclical", "defensive", "neutral"] | None
    reason: str | None

class Form13fMarketRotationData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    value_growth_ratio: int | Decimal | None
    value_growth_signal: str | None
    cyclical_defensive_ratio: int | Decimal | None
    cyclical_defensive_signal: str | None
    reason: str | None
    coverage_pct: int | Decimal | None
    sector_buckets: dict[str, Form13fMarketRotationDataSectorBucketsValue]
    compare: Form13fMarketRotationDataCompare[Day, Moment] | None
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]

class Form13fMarketRotation(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fMarketRotationData[Day, Moment]
    request_id: str
    timestamp: Moment

class Form13fCrossFilingSignalsDataTimeWindow(TypedDict, Generic[Day, Moment]):
    start: Day
    end: Day
    description: str

class Form13fCrossFilingSignalsDataSignalsAttractivenessComponents(TypedDict):
    name: Literal["fund_flow", "insider_buyers", "insider_buy_value"]
    score: int | Decimal

class Form13fCrossFilingSignalsDataSignals(TypedDict, Generic[Day, Moment]):
    cusip: str
    symbol: str | None
    name_of_issuer: str
    issuer_cik: str
    fund_flow: int
    fund_count: int
    new_buys_count: int
    total_value: int
    total_shares: int
    doubted_count: int
    doubted_value: int
    doubted_flow: int
    fund_flow_pct: int | None
    insider_buyer_count: int
    insider_buy_value: int | None
    first_buy_date: Day
    last_buy_date: Day
    attractiveness_score: int | Decimal
    attractiveness_components: list[Form13fCrossFilingSignalsDataSignalsAttractivenessComponents]

class Form13fCrossFilingSignalsData(TypedDict, Generic[Day, Moment]):
    quarter: Day
    time_window: Form13fCrossFilingSignalsDataTimeWindow[Day, Moment]
    signal_count: int
    signals: list[Form13fCrossFilingSignalsDataSignals[Day, Moment]]
    coverage_note: str
    quarter_metadata: Form13fFilingProgressDataQuarterMetadata[Day, Moment]

class Form13fCrossFilingSignals(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: Form13fCrossFilingSignalsData[Day, Moment]
    meta: Form13fOverlapMeta
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipFilingsFilingsIntentFlags(TypedDict):
    intends_to_acquire: bool | None
    opposes_management: bool | None
    board_seat_demand: bool | None
    seeks_sale_or_merger: bool | None

class OwnershipBeneficialOwnershipFilingsFilingsPositions(TypedDict):
    filerCik: str | None
    filerName: str
    percentOfClass: int | Decimal | None
    sharesOwned: int | Decimal | None
    votingPower: int | Decimal | None
    soleVotingPower: int | Decimal | None
    sharedVotingPower: int | Decimal | None
    soleDispositivePower: int | Decimal | None
    sharedDispositivePower: int | Decimal | None
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]

class OwnershipBeneficialOwnershipFilingsFilings(TypedDict, Generic[Day, Moment]):
    accessionNumber: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    filedAt: Moment | None
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    filerCik: str | None
    filerName: str
    percentOfClass: int | Decimal | None
    sharesOwned: int | Decimal | None
    priorPercent: int | Decimal | None
    priorShares: int | Decimal | None
    percentChange: int | Decimal | None
    sharesChange: int | Decimal | None
    splitFactor: int | Decimal | None
    priorAccessionNumber: str | None
    purpose: str | None
    dateOfEvent: Day | None
    isAmendment: bool
    isConversion: bool
    cusip: str | None
    titleOfClass: str | None
    soleVotingPower: int | Decimal | None
    sharedVotingPower: int | Decimal | None
    reportingPersonCount: int
    holderUuid: str
    intentFlags: OwnershipBeneficialOwnershipFilingsFilingsIntentFlags
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]
    positions: NotRequired[list[OwnershipBeneficialOwnershipFilingsFilingsPositions]]

class OwnershipBeneficialOwnershipFilingsMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    page: int
    size: int
    totalPages: int
    has_more: bool
    dateFrom: Day | None
    dateTo: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class OwnershipBeneficialOwnershipFilings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    filings: list[OwnershipBeneficialOwnershipFilingsFilings[Day, Moment]]
    meta: OwnershipBeneficialOwnershipFilingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipFilingsAccessionIssuer(TypedDict):
    cik: str
    ticker: str | None
    name: str
    sector: str | None
    industry: str | None

class OwnershipBeneficialOwnershipFilingsAccessionFilers(TypedDict):
    cik: str | None
    name: str
    holderUuid: str
    percentOfClass: int | Decimal | None
    sharesOwned: int | Decimal | None
    memberOfGroup: bool | None
    isLead: bool
    citizenship: str | None
    typesOfReportingPerson: list[str]
    comment: str | None
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]

class OwnershipBeneficialOwnershipFilingsAccessionPurpose(TypedDict):
    primary: str | None
    flags: OwnershipBeneficialOwnershipFilingsFilingsIntentFlags

class OwnershipBeneficialOwnershipFilingsAccession(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    accessionNumber: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    filedAt: Moment | None
    issuer: OwnershipBeneficialOwnershipFilingsAccessionIssuer
    filers: list[OwnershipBeneficialOwnershipFilingsAccessionFilers]
    positions: list[OwnershipBeneficialOwnershipFilingsFilingsPositions]
    purpose: OwnershipBeneficialOwnershipFilingsAccessionPurpose
    dateOfEvent: Day | None
    isAmendment: bool
    amendmentNumber: int | None
    previousAccessionNumber: str | None
    cusips: list[str]
    titleOfClass: str | None
    rules: list[str]
    isExit: bool
    fundsSource: str | None
    transactions: str | None
    contracts: str | None
    groupMembers: str | None
    source: Literal["document", "header"]
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipIssuersCikSummaryBeneficialOwners(TypedDict, Generic[Day, Moment]):
    latestPercent: int | Decimal | None
    latestShares: int | Decimal | None
    latestFiledAt: Moment | None
    purpose: str | None
    accessionNumber: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    titleOfClass: str | None
    cusip: str | None
    isExit: bool
    isNamedInLatest: bool
    isLead: bool
    reportedTogether: int
    holderUuid: str
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]
    filerCik: str | None
    filerName: str

class OwnershipBeneficialOwnershipIssuersCikSummary(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    asOf: Moment | None
    beneficialOwners: list[OwnershipBeneficialOwnershipIssuersCikSummaryBeneficialOwners[Day, Moment]]
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipFilersCikPortfolioPositions(TypedDict, Generic[Day, Moment]):
    latestPercent: int | Decimal | None
    latestShares: int | Decimal | None
    latestFiledAt: Moment | None
    purpose: str | None
    accessionNumber: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    titleOfClass: str | None
    cusip: str | None
    isExit: bool
    isNamedInLatest: bool
    isLead: bool
    reportedTogether: int
    holderUuid: str
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str

class OwnershipBeneficialOwnershipFilersCikPortfolio(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    filerCik: str
    filerName: str
    positions: list[OwnershipBeneficialOwnershipFilersCikPortfolioPositions[Day, Moment]]
    meta: Form13fFundCikMetaPagination
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipActivistsActivists(TypedDict, Generic[Day, Moment]):
    accessionNumber: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    filedAt: Moment | None
    issuerCik: str
    issuerTicker: str | None
    nameOfIssuer: str
    filerCik: str | None
    filerName: str
    percentOfClass: int | Decimal | None
    sharesOwned: int | Decimal | None
    priorPercent: int | Decimal | None
    priorShares: int | Decimal | None
    percentChange: int | Decimal | None
    sharesChange: int | Decimal | None
    splitFactor: int | Decimal | None
    priorAccessionNumber: str | None
    purpose: str | None
    dateOfEvent: Day | None
    isAmendment: bool
    isConversion: bool
    cusip: str | None
    titleOfClass: str | None
    soleVotingPower: int | Decimal | None
    sharedVotingPower: int | Decimal | None
    reportingPersonCount: int
    holderUuid: str
    intentFlags: OwnershipBeneficialOwnershipFilingsFilingsIntentFlags
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]

class OwnershipBeneficialOwnershipActivists(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    activists: list[OwnershipBeneficialOwnershipActivistsActivists[Day, Moment]]
    meta: OwnershipBeneficialOwnershipFilingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class OwnershipAnalyticsThresholdCrossingsCrossings(TypedDict, Generic[Day, Moment]):
    accessionNumber: str
    filedAt: Moment | None
    issuerCik: str
    issuerTicker: str | None
    filerCik: str | None
    filerName: str
    threshold: int
    direction: Literal["up", "down"]
    priorPercent: int | Decimal | None
    currentPercent: int | Decimal

class OwnershipAnalyticsThresholdCrossings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    crossings: list[OwnershipAnalyticsThresholdCrossingsCrossings[Day, Moment]]
    meta: OwnershipBeneficialOwnershipFilingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class PostForm13dDataIssuer(TypedDict):
    name: str
    cik: str
    ticker: str | None

class PostForm13dDataFiler(TypedDict):
    name: str
    cik: str | None

class PostForm13dDataOwnership(TypedDict):
    percentOfClass: int | Decimal | None
    sharesOwned: int | Decimal | None
    soleVotingPower: int | Decimal | None
    sharedVotingPower: int | Decimal | None

class PostForm13dData(TypedDict, Generic[Day, Moment]):
    accessionNo: str
    formType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    filedAt: Moment | None
    issuer: PostForm13dDataIssuer
    filer: PostForm13dDataFiler
    ownership: PostForm13dDataOwnership
    purpose: str | None
    cusip: str | None
    dateOfEvent: Day | None
    isAmendment: bool
    reportingPersonCount: int
    holes: dict[str, Literal["cover_not_in_xml", "not_reported", "no_earlier_filing", "earlier_filing_not_held", "needs_both_filings"]]

class PostForm13dMetaTotal(TypedDict):
    value: int
    relation: Literal["eq"]

PostForm13dMeta = TypedDict("PostForm13dMeta", {"total": PostForm13dMetaTotal, "from": int, "size": int})

class PostForm13d(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[PostForm13dData[Day, Moment]]
    meta: PostForm13dMeta
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipConversionsConversions(TypedDict, Generic[Day, Moment]):
    filerCik: str | None
    filerName: str
    issuerCik: str
    issuerTicker: str | None
    priorFormType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    currentFormType: Literal["SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"]
    direction: Literal["13G_TO_13D", "13D_TO_13G"]
    priorAccession: str
    currentAccession: str
    convertedAt: Moment | None

class OwnershipBeneficialOwnershipConversionsMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    page: int
    size: int
    totalPages: int
    has_more: bool
    dateFrom: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class OwnershipBeneficialOwnershipConversions(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    conversions: list[OwnershipBeneficialOwnershipConversionsConversions[Day, Moment]]
    meta: OwnershipBeneficialOwnershipConversionsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class OwnershipBeneficialOwnershipGroupsDataMembers(TypedDict):
    memberName: str
    memberCik: str | None
    isCurrentMember: bool
    isLeadFiler: bool

class OwnershipBeneficialOwnershipGroupsData(TypedDict, Generic[Day, Moment]):
    id: int
    groupName: str
    issuerCik: str
    issuerName: str
    members: list[OwnershipBeneficialOwnershipGroupsDataMembers]
    aggregatePercent: int | Decimal | None
    aggregateShares: int | Decimal | None
    figuresRule: Literal["largest_member"]
    formationDate: Day | None
    isActive: bool
    latestFiledAt: Moment | None
    latestAccessionNo: str
    holes: dict[str, Literal["not_reported", "cover_not_in_xml"]]

class OwnershipBeneficialOwnershipGroupsMeta(TypedDict):
    total: int
    limit: int
    page: int
    size: int
    totalPages: int
    has_more: bool

class OwnershipBeneficialOwnershipGroups(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[OwnershipBeneficialOwnershipGroupsData[Day, Moment]]
    meta: OwnershipBeneficialOwnershipGroupsMeta
    request_id: str
    timestamp: Moment

class OwnershipHoldersHolders(TypedDict):
    type: Literal["institutional", "insider", "beneficial_owner"]
    is_insider: bool
    is_institutional: bool
    is_beneficial_owner: bool
    holder_uuid: str
    name: str
    cik: str | None
    filing_count: int

class OwnershipHoldersMeta(TypedDict):
    total: int
    page: int
    size: int
    pages: int
    has_more: bool
    matches_cut: bool

class OwnershipHolders(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    holders: list[OwnershipHoldersHolders]
    meta: OwnershipHoldersMeta
    request_id: str
    timestamp: Moment

class OwnershipHoldersUuidFilingCounts(TypedDict):
    form_4: int
    form_13f: int
    form_13dg: int
    form_144: int

class OwnershipHoldersUuid(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    type: Literal["institutional", "insider", "beneficial_owner"]
    is_insider: bool
    is_institutional: bool
    is_beneficial_owner: bool
    holder_uuid: str
    name: str
    primary_cik: str | None
    alternate_ciks: list[str]
    name_aliases: list[str]
    filing_counts: OwnershipHoldersUuidFilingCounts
    first_filing_at: Moment | None
    last_filing_at: Moment | None
    request_id: str
    timestamp: Moment

class OwnershipHoldersUuidFilingHistoryHolder(TypedDict):
    uuid: str
    name: str
    cik: str | None
    type: Literal["institutional", "insider", "beneficial_owner"]

class OwnershipHoldersUuidFilingHistoryHistory(TypedDict, Generic[Day, Moment]):
    source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    formType: str
    accessionNumber: str
    filedAt: Moment | None
    issuerCik: str | None
    issuerTicker: str | None
    issuerName: str | None
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None

class OwnershipHoldersUuidFilingHistory(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    holder: OwnershipHoldersUuidFilingHistoryHolder
    history: list[OwnershipHoldersUuidFilingHistoryHistory[Day, Moment]]
    meta: Form13fFundCikMetaPagination
    request_id: str
    timestamp: Moment

class OwnershipCrossReferenceHolderUuidForm4(TypedDict, Generic[Day, Moment]):
    accession_number: str
    filed_at: Moment | None
    form_type: str
    issuer_cik: str
    issuer_ticker: str | None
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None

class OwnershipCrossReferenceHolderUuidForm13f(TypedDict, Generic[Day, Moment]):
    accession_number: str
    filed_at: Moment | None
    form_type: str
    period_of_report: Day
    position_count: int
    total_aum_usd: int | None

class OwnershipCrossReferenceHolderUuidForm13dg(TypedDict, Generic[Day, Moment]):
    accession_number: str
    filed_at: Moment | None
    form_type: str
    issuer_cik: str
    issuer_ticker: str | None
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None
    percent_of_class: int | Decimal | None
    shares: int | Decimal | None
    purpose: str | None

class OwnershipCrossReferenceHolderUuidForm144(TypedDict, Generic[Day, Moment]):
    accession_number: str
    filed_at: Moment | None
    form_type: str
    issuer_cik: str
    issuer_ticker: str | None
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None
    seller_name: str

class OwnershipCrossReferenceHolderUuidSummary(TypedDict, Generic[Day, Moment]):
    total_filings: int
    form_4_count: int
    form_13f_count: int
    form_13dg_count: int
    form_144_count: int
    first_filing_at: Moment | None
    last_filing_at: Moment | None
    unique_issuers: int

class OwnershipCrossReferenceHolderUuidMeta(TypedDict):
    limit: int
    offset: int
    has_more: bool

class OwnershipCrossReferenceHolderUuid(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    holder_uuid: str
    name: str
    form_4: list[OwnershipCrossReferenceHolderUuidForm4[Day, Moment]]
    form_13f: list[OwnershipCrossReferenceHolderUuidForm13f[Day, Moment]]
    form_13dg: list[OwnershipCrossReferenceHolderUuidForm13dg[Day, Moment]]
    form_144: list[OwnershipCrossReferenceHolderUuidForm144[Day, Moment]]
    summary: OwnershipCrossReferenceHolderUuidSummary[Day, Moment]
    meta: OwnershipCrossReferenceHolderUuidMeta
    request_id: str
    timestamp: Moment

class OwnershipPositionsHolderUuidIssuerIssuerCikFigures(TypedDict, Generic[Day, Moment]):
    source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    form: str
    accession: str
    filed: Moment | None
    day: Day | None
    security: str | None
    cusip: str | None
    shares: int | Decimal | None
    percent: int | Decimal | None
    value: int | None
    together: int
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]

class OwnershipPositionsHolderUuidIssuerIssuerCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    holderUuid: str
    holderName: str
    issuerCik: str
    issuerTicker: str | None
    currentShares: int | Decimal | None
    currentPercent: int | Decimal | None
    percentBasis: Literal["reported", "shares_outstanding"] | None
    sharesSource: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    sourceFormTypes: list[str]
    asOf: Moment | None
    firstObservedAt: Moment | None
    figures: list[OwnershipPositionsHolderUuidIssuerIssuerCikFigures[Day, Moment]]
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]
    request_id: str
    timestamp: Moment

class OwnershipPositionsHolderUuidIssuerIssuerCikHistoryEvents(TypedDict, Generic[Day, Moment]):
    eventDate: Day | None
    source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    sourceFormType: str
    accessionNumber: str
    filedAt: Moment | None
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None
    postEventShares: int | Decimal | None
    postEventPercent: int | Decimal | None
    security: str | None
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]

class OwnershipPositionsHolderUuidIssuerIssuerCikHistory(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    holderUuid: str
    holderName: str
    issuerCik: str
    events: list[OwnershipPositionsHolderUuidIssuerIssuerCikHistoryEvents[Day, Moment]]
    meta: Form13fFundCikMetaPagination
    request_id: str
    timestamp: Moment

class OwnershipPositionsIssuerIssuerCikHoldersSharesOutstanding(TypedDict, Generic[Day, Moment]):
    shares: int | Decimal | None
    day: Day | None
    accession: str | None
    gap: Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"] | None

class OwnershipPositionsIssuerIssuerCikHoldersHolders(TypedDict, Generic[Day, Moment]):
    holder_uuid: str
    name: str
    cik: str | None
    type: Literal["institutional", "insider", "beneficial_owner"]
    shares_held: int | Decimal | None
    percent_of_class: int | Decimal | None
    percent_basis: Literal["reported", "shares_outstanding"] | None
    shares_source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    sources: list[Literal["form_4", "form_13f", "form_13dg", "form_144"]]
    last_event_at: Moment | None
    figures: list[OwnershipPositionsHolderUuidIssuerIssuerCikFigures[Day, Moment]]
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]

class OwnershipPositionsIssuerIssuerCikHolders(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    issuer_cik: str
    issuer_ticker: str | None
    as_of: Moment | None
    shares_outstanding: OwnershipPositionsIssuerIssuerCikHoldersSharesOutstanding[Day, Moment]
    holders: list[OwnershipPositionsIssuerIssuerCikHoldersHolders[Day, Moment]]
    meta: Form13fFundCikMetaPagination
    request_id: str
    timestamp: Moment

class OwnershipPositionsIssuerIssuerCikTimelineEvents(TypedDict, Generic[Day, Moment]):
    event_id: str
    event_at: Moment | None
    filed_at: Moment | None
    source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    form_type: str
    holder_uuid: str
    holder_name: str
    action: Literal["buy", "sell", "buy_and_sell", "acquired", "disposed", "holding", "report", "notice", "amendment", "new", "increased", "decreased", "unchanged", "closed", "exit", "proposed_sale"] | None
    shares_after: int | Decimal | None
    percent_after: int | Decimal | None
    security: str | None
    accession_number: str
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]

class OwnershipPositionsIssuerIssuerCikTimelineMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    offset: int
    has_more: bool
    startDate: Day | None
    endDate: Day | None

class OwnershipPositionsIssuerIssuerCikTimeline(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    issuer_cik: str
    issuer_ticker: str | None
    events: list[OwnershipPositionsIssuerIssuerCikTimelineEvents[Day, Moment]]
    meta: OwnershipPositionsIssuerIssuerCikTimelineMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class OwnershipAnalyticsOwnershipConcentrationCikCoverage(TypedDict):
    holders: int
    withoutPercent: int
    withoutPercentReasons: dict[str, int]
    heldPercent: int | Decimal | None
    unknownPercent: int | Decimal | None
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]

class OwnershipAnalyticsOwnershipConcentrationCikHolders(TypedDict, Generic[Day, Moment]):
    holderUuid: str
    percent: int | Decimal
    shares: int | Decimal
    source: Literal["form_4", "form_13f", "form_13dg", "form_144"]
    accessionNumber: str
    asOf: Moment | None

class OwnershipAnalyticsOwnershipConcentrationCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    issuerCik: str
    issuerTicker: str | None
    asOf: Moment | None
    top5Percent: int | Decimal | None
    top10Percent: int | Decimal | None
    top25Percent: int | Decimal | None
    herfindahl: int | Decimal | None
    institutionalPercent: int | Decimal | None
    insiderPercent: int | Decimal | None
    sharesOutstanding: OwnershipPositionsIssuerIssuerCikHoldersSharesOutstanding[Day, Moment]
    coverage: OwnershipAnalyticsOwnershipConcentrationCikCoverage
    holders: list[OwnershipAnalyticsOwnershipConcentrationCikHolders[Day, Moment]]
    gaps: dict[str, Literal["not_reported", "several_classes", "amount_missing", "no_figure_of_shares", "shares_outstanding_unknown", "not_common_shares", "more_than_outstanding", "not_of_this_form", "days_apart", "forms_overlap"]]
    request_id: str
    timestamp: Moment

class OwnershipAggregationByTickerDataForm13d(TypedDict):
    filings: int
    new_positions: int
    amendments: int
    increases: int
    decreases: int
    unchanged: int
    no_delta: int
    inflow_usd: int | None
    outflow_usd: int | None
    net_flow_usd: int | None
    priced_filings: int
    unpriced_filings: int

class OwnershipAggregationByTickerDataForm13g(TypedDict):
    filings: int
    new_positions: int
    amendments: int
    increases: int
    decreases: int
    unchanged: int
    no_delta: int

class OwnershipAggregationByTickerDataConversions(TypedDict):
    to_13d: int
    to_13g: int
    total: int

class OwnershipAggregationByTickerData(TypedDict):
    group: str
    issuer_name: str | None
    issuer_cik: str | None
    filings: int
    companies: int
    holders: int
    form_13d: OwnershipAggregationByTickerDataForm13d
    form_13g: OwnershipAggregationByTickerDataForm13g
    conversions: OwnershipAggregationByTickerDataConversions

class OwnershipAggregationByTickerMetaCoverage(TypedDict):
    filings_in_window: int
    filings_grouped: int
    filings_ungrouped: int
    filings_13d: int
    filings_13g: int
    conversions_excluded_from_flow: int
    amendments_without_delta: int
    filings_13d_priced: int
    filings_13d_unpriced: int

class OwnershipAggregationByTickerMeta(TypedDict, Generic[Day, Moment]):
    groupBy: str
    dateFrom: Day
    dateTo: Day
    days: int | None
    returned: int
    totalGroups: int
    total: int
    limit: int
    offset: int
    has_more: bool
    coverage: OwnershipAggregationByTickerMetaCoverage
    undated_left_out: int
    clamped: dict[str, str]

class OwnershipAggregationByTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[OwnershipAggregationByTickerData]
    meta: OwnershipAggregationByTickerMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class TickersAutocompleteTickers(TypedDict):
    symbol: str
    name: str
    cik: str
    exchange: str | None
    score: int
    rank: int

class TickersAutocompleteMeta(TypedDict):
    total: int
    query: str
    has_more: bool

class TickersAutocomplete(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    tickers: list[TickersAutocompleteTickers]
    meta: TickersAutocompleteMeta
    request_id: str
    timestamp: Moment

class TickersTickerHoldersDataHoldersHistory(TypedDict, Generic[Day, Moment]):
    period: Day
    shares: int | None
    value: int | None
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None

class TickersTickerHoldersDataHolders(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str
    cusip: str
    shares: int
    value: int
    value_doubt: Literal["thousand_times_other_managers", "thousandth_of_other_managers", "shares_equal_value"] | None
    others_price: int | Decimal | None
    pct_of_portfolio: int | Decimal | None
    previous_shares: int | None
    split_factor: int | Decimal | None
    split_source: str | None
    chg_shares: int | None
    chg_pct: int | Decimal | None
    status: Literal["new", "increased", "decreased", "unchanged", "closed"] | None
    accession_number: str
    filed_at: Day | None
    value_unit_rule: str
    history: NotRequired[list[TickersTickerHoldersDataHoldersHistory[Day, Moment]]]

class TickersTickerHoldersData(TypedDict, Generic[Day, Moment]):
    ticker: str
    cusips: list[str]
    ticker_evidence: str | None
    period: Day
    prev_period: Day
    holders: list[TickersTickerHoldersDataHolders[Day, Moment]]
    total_shares: int
    total_value: int
    total_holders: int
    doubted_count: int
    doubted_value: int
    total_count: int
    offset: int
    limit: int
    has_more: bool
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class TickersTickerHolders(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: TickersTickerHoldersData[Day, Moment]
    request_id: str
    timestamp: Moment

class TickersTickerFundTrendsDataQuarters(TypedDict, Generic[Day, Moment]):
    date: Day
    total_shares: int
    total_value: int
    fund_count: int
    fund_count_compared: int
    share_change: int | None
    share_change_pct: int | Decimal | None
    fund_flow: int | None
    fund_count_change: int | None
    doubted_count: int
    doubted_value: int

class TickersTickerFundTrendsData(TypedDict, Generic[Day, Moment]):
    ticker: str
    security_name: str
    cusips: list[str]
    quarters: list[TickersTickerFundTrendsDataQuarters[Day, Moment]]

class TickersTickerFundTrends(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: TickersTickerFundTrendsData[Day, Moment]
    request_id: str
    timestamp: Moment

class TickersTickerOverviewDataHolesValue(TypedDict):
    status: Literal["hole", "nm"]
    reason_code: str
    line: NotRequired[str]

class TickersTickerOverviewDataOperandsValuePrinted(TypedDict):
    label: str | None
    label_role: str | None
    negated: bool
    statement: str
    statement_name: str | None
    line: int
    column: int
    column_heading: str
    page_url: str | None

class TickersTickerOverviewDataOperandsValue(TypedDict, Generic[Day, Moment]):
    sign: int
    value: int | Decimal
    concept: str
    unit: str
    decimals: int | Literal["INF"] | None
    start_date: Day | None
    end_date: Day
    accession: str
    form_type: str
    filed_at: Day | None
    source: str
    fact_id: NotRequired[str | None]
    ink_url: NotRequired[str | None]
    conflicting_values: NotRequired[list[int | Decimal]]
    printed: NotRequired[TickersTickerOverviewDataOperandsValuePrinted | None]
    printed_reason: NotRequired[Literal["no_stored_statement", "not_on_a_statement"] | None]

class TickersTickerOverviewData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    name: str
    sector: str | None
    industry: str | None
    sic_description: str | None
    market_cap: int | Decimal | None
    enterprise_value: int | Decimal | None
    shares_outstanding: int | Decimal | None
    revenue: int | Decimal | None
    gross_profit: int | Decimal | None
    operating_income: int | Decimal | None
    net_income: int | Decimal | None
    total_debt: int | Decimal | None
    profit_margin: int | Decimal | None
    gross_margin: int | Decimal | None
    operating_margin: int | Decimal | None
    ebitda_margin: int | Decimal | None
    eps_diluted_ttm: int | Decimal | None
    book_value_per_share: int | Decimal | None
    free_cash_flow_per_share: int | Decimal | None
    dividend_yield: int | Decimal | None
    total_cash: int | Decimal | None
    float_shares: int | Decimal | None
    first_trade_date: Day | None
    short_pct_float: int | Decimal | None
    short_ratio: int | Decimal | None
    currency: str
    holes: dict[str, TickersTickerOverviewDataHolesValue]
    sources: dict[str, str]
    operands: dict[str, list[TickersTickerOverviewDataOperandsValue[Day, Moment]]]
    ink_urls: dict[str, str]

class TickersTickerOverviewMeta(TypedDict, Generic[Day, Moment]):
    period: Literal["A", "TTM"]
    fiscal_year: int
    fiscal_period: str
    period_end: Day
    price_date: Day | None
    price_source: Literal["csv", "synthetic"] | None

class TickersTickerOverview(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: TickersTickerOverviewData[Day, Moment]
    meta: TickersTickerOverviewMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class CusipLookupCusip(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cusip: str
    cusip_valid: bool
    ticker: str | None
    issuer_name: str | None
    title_of_class: str | None
    cik: str | None
    cusip6: str
    security_group: str
    evidence: str | None
    seen_in: str | None
    seen_on: Day | None
    request_id: str
    timestamp: Moment

class PostCusipBatchResults(TypedDict):
    cusip: str
    ticker: str | None
    issuer_name: str | None
    cik: str | None
    security_group: str | None
    cusip6: str
    evidence: str | None
    reason: str | None

class PostCusipBatchMeta(TypedDict):
    requested: int
    resolved: int
    unmapped: int

class PostCusipBatch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    results: list[PostCusipBatchResults]
    meta: PostCusipBatchMeta
    request_id: str
    timestamp: Moment

class CusipChainCusipChain(TypedDict, Generic[Day, Moment]):
    cusip: str
    issuer_name: str | None
    is_current: bool
    effective_date: Day | None
    reason: str | None

class CusipChainCusip(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cusip: str
    chain: list[CusipChainCusipChain[Day, Moment]]
    current_ticker: str | None
    request_id: str
    timestamp: Moment

class CusipCikCikSecurities(TypedDict, Generic[Day, Moment]):
    cusip: str
    cusip_valid: bool
    ticker: str | None
    issuer_name: str | None
    title_of_class: str | None
    cik: str | None
    cusip6: str
    security_group: str
    evidence: str | None
    seen_in: str | None
    seen_on: Day | None

class CusipCikCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cik: str
    issuer_name: str
    securities: list[CusipCikCikSecurities[Day, Moment]]
    meta: Form13fAggregationBasketHoldingsMeta
    request_id: str
    timestamp: Moment

class CusipCusip6Cusip6(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    cusip6: str
    issuer_name: str | None
    securities: list[CusipCikCikSecurities[Day, Moment]]
    meta: Form13fAggregationBasketHoldingsMeta
    request_id: str
    timestamp: Moment

class CusipSearchResults(TypedDict, Generic[Day, Moment]):
    cusip: str
    cusip_valid: bool
    ticker: str | None
    issuer_name: str | None
    title_of_class: str | None
    cik: str | None
    cusip6: str
    security_group: str
    evidence: str | None
    seen_in: str | None
    seen_on: Day | None
    score: int

class CusipSearchMeta(TypedDict):
    total: int
    limit: int
    offset: int
    has_more: bool
    query: str

class CusipSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    results: list[CusipSearchResults[Day, Moment]]
    meta: CusipSearchMeta
    request_id: str
    timestamp: Moment

class CusipStats(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    total_cusips: int
    mapped: int
    unmapped: int
    with_cik: int
    mapping_rate: int | Decimal | None
    by_security_group: dict[str, int]
    openfigi_enabled: bool
    last_refresh_at: Day | None
    request_id: str
    timestamp: Moment

class SecFilingsDataDocumentFiles(TypedDict):
    type: str
    document: str | None
    description: str | None
    size: str
    sequence: int
    content_url: str | None

class SecFilingsData(TypedDict, Generic[Day, Moment]):
    id: int
    accession_number: str
    ticker: str | None
    form_type: str | None
    cik: str
    entity_name: str
    company_name: str
    title: str
    filing_size: str | None
    filed_date: Day | None
    filed_at: Day | None
    accepted_at: Moment | None
    updated_at: Moment | None
    primary_link: str
    primary_html_url: str | None
    primary_description: str | None
    document_files: list[SecFilingsDataDocumentFiles]
    data_files: list[SecFilingsDataDocumentFiles]
    items: list[str]
    period_of_report: Day | None
    sic: str | None
    all_links: list[str]
    is_xbrl: bool | None
    first_seen_at: Moment | None
    last_seen_at: Moment | None

class SecFilingsMetaPagination(TypedDict):
    total: int | None
    total_exact: bool | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None

class SecFilingsMetaFormerNames(TypedDict, Generic[Day, Moment]):
    name: str
    from_date: Day | None
    to_date: Day | None

class SecFilingsMetaTickerHistory(TypedDict, Generic[Day, Moment]):
    cik: str
    company_name: str
    ticker: str
    as_of: Day | None
    current: bool

class SecFilingsMetaNotIngested(TypedDict, Generic[Day, Moment]):
    page: str
    filings: int | None
    first_filed: Day | None
    last_filed: Day | None

class SecFilingsMeta(TypedDict, Generic[Day, Moment]):
    pagination: SecFilingsMetaPagination
    has_more: bool
    next_cursor: str | None
    requested_ticker: str | None
    primary_ticker: str | None
    cik: str | None
    company: str | None
    former_names: list[SecFilingsMetaFormerNames[Day, Moment]]
    ticker_history: list[SecFilingsMetaTickerHistory[Day, Moment]]
    not_ingested: list[SecFilingsMetaNotIngested[Day, Moment]]
    undated_left_out: int
    clamped: dict[str, str]
    from_date: Day | None
    to_date: Day | None
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class SecFilings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[SecFilingsData[Day, Moment]]
    meta: SecFilingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class SecFilingsSearchData(TypedDict, Generic[Day, Moment]):
    accession_number: str
    cik: str
    ticker: str | None
    company_name: str
    form_type: str | None
    filed_at: Day | None
    document_url: str | None
    place_url: str | None
    snippet: str | None
    offset: int | None
    length: int | None
    text_length: int
    document_type: str | None
    document_name: str | None
    document_description: str | None
    is_primary: bool
    content_url: str

class SecFilingsSearchMeta(TypedDict, Generic[Day, Moment]):
    undated_left_out: int
    clamped: dict[str, str]
    from_date: Day | None
    to_date: Day | None
    query: str
    documents_kept: int
    documents_searched: int
    total: int
    total_exact: bool
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None

class SecFilingsSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[SecFilingsSearchData[Day, Moment]]
    meta: SecFilingsSearchMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class SecFilingsStatsDataTopFormTypes(TypedDict):
    form_type: str
    count: int

class SecFilingsStatsData(TypedDict, Generic[Day, Moment]):
    total_entries: int
    top_form_types: list[SecFilingsStatsDataTopFormTypes]
    latest_filing_date: Day | None
    timestamp: Moment

class SecFilingsStats(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: SecFilingsStatsData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class SecFilingsAccessionNumberDataParties(TypedDict):
    cik: str
    company_name: str
    ticker: str | None
    role: str | None

class SecFilingsAccessionNumberData(TypedDict, Generic[Day, Moment]):
    id: int
    accession_number: str
    ticker: str | None
    form_type: str | None
    cik: str
    entity_name: str
    company_name: str
    title: str
    filing_size: str | None
    filed_date: Day | None
    filed_at: Day | None
    accepted_at: Moment | None
    updated_at: Moment | None
    primary_link: str
    primary_html_url: str | None
    primary_description: str | None
    document_files: list[SecFilingsDataDocumentFiles]
    data_files: list[SecFilingsDataDocumentFiles]
    items: list[str]
    period_of_report: Day | None
    sic: str | None
    all_links: list[str]
    is_xbrl: bool | None
    first_seen_at: Moment | None
    last_seen_at: Moment | None
    raw_entry_xml: str | None
    parties: list[SecFilingsAccessionNumberDataParties]
    has_html: bool

class SecFilingsAccessionNumber(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: SecFilingsAccessionNumberData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class SecDocumentData(TypedDict):
    url: str
    content_type: str
    size: int
    encoding: Literal["utf-8", "base64"]
    content: str

class SecDocument(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: SecDocumentData
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class XbrlBulkDataFiles(TypedDict, Generic[Day, Moment]):
    dataset: str
    filename: str
    format: Literal["csv", "ndjson"]
    first_day: Day
    last_day: Day
    complete: bool
    reason: str | None
    row_count: int
    byte_size: int
    sha256: str
    generated_at: Moment
    download_path: str

class XbrlBulkData(TypedDict, Generic[Day, Moment]):
    snapshot: Moment | None
    generated_at: Moment
    api_version: str
    format: str
    file_count: int
    total_rows: int
    datasets: list[str]
    files: list[XbrlBulkDataFiles[Day, Moment]]

class XbrlBulkMeta(TypedDict, Generic[Day, Moment]):
    snapshot: Moment | None
    bytes_kept: int
    filename: str

class XbrlBulk(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlBulkData[Day, Moment]
    meta: XbrlBulkMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class XbrlBulkFactsDataFiles(TypedDict, Generic[Day, Moment]):
    dataset: str
    filename: str
    format: Literal["csv", "ndjson"]
    first_day: Day
    last_day: Day
    complete: bool
    reason: str | None
    row_count: int
    byte_size: int
    sha256: str
    generated_at: Moment
    download_path: str
    shard_index: int
    filing_id_lo: int | None
    filing_id_hi: int | None

class XbrlBulkFactsData(TypedDict, Generic[Day, Moment]):
    snapshot: Moment | None
    generated_at: Moment
    api_version: str
    format: str
    file_count: int
    total_rows: int
    dataset: str
    shards_total: int
    files: list[XbrlBulkFactsDataFiles[Day, Moment]]

class XbrlBulkFacts(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlBulkFactsData[Day, Moment]
    meta: XbrlBulkMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class SecFormsData(TypedDict, Generic[Day, Moment]):
    form_type: str
    root_form_type: str
    description: str | None
    filing_count: int
    first_filed: Day | None
    last_filed: Day | None

class SecFormsMeta(TypedDict):
    count: int
    limit: int
    has_more: bool

class SecForms(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[SecFormsData[Day, Moment]]
    meta: SecFormsMeta
    request_id: str
    timestamp: Moment

class SecFormsFormType(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: SecFormsData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class SecEntitiesData(TypedDict):
    entity_name: str
    cik: str

class SecEntitiesMeta(TypedDict):
    count: int
    limit: int
    has_more: bool
    next_cursor: str | None

class SecEntities(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[SecEntitiesData]
    meta: SecEntitiesMeta
    request_id: str
    timestamp: Moment

class FilingsFilings(TypedDict, Generic[Day, Moment]):
    accession_number: str
    cik: str
    ticker: str | None
    form_type: str | None
    filed_date: Day | None
    filing_url: str

class FilingsPagination(TypedDict):
    next_cursor: str | None
    total: int
    total_exact: bool

class FilingsMeta(TypedDict, Generic[Day, Moment]):
    undated_left_out: int
    clamped: dict[str, str]
    from_date: Day | None
    to_date: Day | None

class Filings(TypedDict, Generic[Day, Moment]):
    filings: list[FilingsFilings[Day, Moment]]
    pagination: FilingsPagination
    meta: FilingsMeta[Day, Moment]

class IndexAccessions(TypedDict, Generic[Day, Moment]):
    accession_number: str
    cik: str
    form_type: str | None
    accepted_at: Moment | None

class Index(TypedDict, Generic[Day, Moment]):
    date: Day
    accessions: list[IndexAccessions[Day, Moment]]
    count: int
    has_more: bool
    next_cursor: str | None

class Stats(TypedDict, Generic[Day, Moment]):
    total_filings: int
    total_insiders: int
    total_holdings_13f: int
    total_tickers: int
    total_endpoints_documented: int
    last_filing_at: Moment | None
    last_13f_quarter: Day | None
    request_id: str
    timestamp: Moment

class XbrlFilingAccessionIndexDataReports(TypedDict):
    role_seq: int
    role_uri: str | None
    definition: str | None
    group_type: str | None
    menu_category: str | None
    statement_slot: str | None
    r_file: str | None

class XbrlFilingAccessionIndexDataAssembledStatements(TypedDict):
    slot: str
    role_uri: str | None
    definition: str | None
    statement: str

class XbrlFilingAccessionIndexData(TypedDict, Generic[Day, Moment]):
    accession_no: str
    cik: str
    form_type: str
    period_of_report: Day
    filed_at: Day | None
    is_current: bool
    packaging: Literal["xbrl", "fsds"]
    is_inline_xbrl: bool | None
    reports: list[XbrlFilingAccessionIndexDataReports]
    assembled_statements: list[XbrlFilingAccessionIndexDataAssembledStatements]

class XbrlFilingAccessionIndexMeta(TypedDict):
    report_count: int
    assembled_count: int

class XbrlFilingAccessionIndex(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlFilingAccessionIndexData[Day, Moment]
    meta: XbrlFilingAccessionIndexMeta
    request_id: str
    timestamp: Moment

class XbrlFilingsDiffDataA(TypedDict, Generic[Day, Moment]):
    accession: str
    form_type: str
    filed_at: Day | None
    period_of_report: Day

class XbrlFilingsDiffDataStatementsLinesCellsA(TypedDict):
    value: str | None
    fact_id: str | None
    ink_url: str | None

class XbrlFilingsDiffDataStatementsLinesCells(TypedDict, Generic[Day, Moment]):
    start_date: Day | None
    end_date: Day
    dims: dict[str, str]
    status: Literal["restated", "rounded", "added", "dropped"]
    a: XbrlFilingsDiffDataStatementsLinesCellsA | None
    b: XbrlFilingsDiffDataStatementsLinesCellsA | None
    change: int | Decimal | None

class XbrlFilingsDiffDataStatementsLines(TypedDict, Generic[Day, Moment]):
    concept: str
    unit: str | None
    placement: Literal["opening", "closing"] | None
    label_a: str | None
    label_b: str | None
    status: Literal["restated", "rounded", "added", "dropped", "other_periods", "relabelled"]
    cells: list[XbrlFilingsDiffDataStatementsLinesCells[Day, Moment]]

class XbrlFilingsDiffDataStatements(TypedDict, Generic[Day, Moment]):
    statement: str
    status: Literal["in_both", "added", "dropped"]
    equal_line_count: int
    lines: list[XbrlFilingsDiffDataStatementsLines[Day, Moment]]

class XbrlFilingsDiffData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    company_name: str
    a: XbrlFilingsDiffDataA[Day, Moment]
    b: XbrlFilingsDiffDataA[Day, Moment]
    statements: list[XbrlFilingsDiffDataStatements[Day, Moment]]

class XbrlFilingsDiffMeta(TypedDict):
    restated: int
    rounded: int
    added: int
    dropped: int
    engine_version: int

class XbrlFilingsDiff(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlFilingsDiffData[Day, Moment]
    meta: XbrlFilingsDiffMeta
    request_id: str
    timestamp: Moment

class XbrlFactsDataMark(TypedDict):
    status: Literal["nil"]
    reason: Literal["reported_nil"]

class XbrlFactsDataPeriod(TypedDict, Generic[Day, Moment]):
    startDate: Day | None
    endDate: Day

class XbrlFactsDataDimensions(TypedDict):
    axis: str
    member: str

class XbrlFactsData(TypedDict, Generic[Day, Moment]):
    accession_no: str
    cik: str
    form_type: str | None
    filed_at: Day | None
    taxonomy: str
    concept: str
    value: int | Decimal | None
    mark: XbrlFactsDataMark | None
    decimals: int | Literal["INF"] | None
    unit: str
    period: XbrlFactsDataPeriod[Day, Moment]
    dimensions: list[XbrlFactsDataDimensions]
    is_extension: bool
    source: str
    conflicting_values: NotRequired[list[int | Decimal]]

class XbrlFactsMeta(TypedDict):
    pagination: OwnershipCrossReferenceHolderUuidMeta
    has_more: bool

class XbrlFacts(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[XbrlFactsData[Day, Moment]]
    meta: XbrlFactsMeta
    request_id: str
    timestamp: Moment

class XbrlCoverageDataCompanies(TypedDict):
    ticker: str | None
    company_name: str
    cik: str
    filings_indexed: int

class XbrlCoverageData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str | None
    cik: str | None
    covered: bool
    phase: Literal["figures", "listed"]
    stratum: Literal["xbrl", "companyfacts", "fsds"] | None
    filings_indexed: int
    filings_total: int
    first_period: Day | None
    last_period: Day | None
    companies: list[XbrlCoverageDataCompanies]

class XbrlCoverageMeta(TypedDict):
    companies: int
    limit: int
    offset: int
    has_more: bool

class XbrlCoverage(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlCoverageData[Day, Moment]
    meta: XbrlCoverageMeta
    request_id: str
    timestamp: Moment

class XbrlSearchData(TypedDict):
    cik: str
    ticker: str | None
    company: str

class XbrlSearchMeta(TypedDict):
    count: int
    query: str

class XbrlSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[XbrlSearchData]
    meta: XbrlSearchMeta
    request_id: str
    timestamp: Moment

class FactsData(TypedDict, Generic[Day, Moment]):
    concept_qualified_name: str
    value: int | Decimal | None
    mark: XbrlFactsDataMark | None
    unit: str
    period_start: Day | None
    period_end: Day
    accession_number: str
    form_type: str | None
    filed_at: Day | None

class FactsMeta(TypedDict, Generic[Day, Moment]):
    undated_left_out: int
    clamped: dict[str, str]
    date_from: Day | None
    date_to: Day | None
    total: int
    limit: int
    offset: int
    has_more: bool

class Facts(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[FactsData[Day, Moment]]
    meta: FactsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class FactsByConceptFacts(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    value: int | Decimal | None
    mark: XbrlFactsDataMark | None
    unit: str
    period_start: Day | None
    period_end: Day
    accession_number: str
    form_type: str | None
    filed_at: Day | None

class FactsByConcept(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    concept: str
    facts: list[FactsByConceptFacts[Day, Moment]]
    meta: FactsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class PostFactsAggregateAggregates(TypedDict):
    sum: int | Decimal | None
    avg: int | Decimal | None
    median: int | Decimal | None
    count: int
    min: int | Decimal | None
    max: int | Decimal | None

class PostFactsAggregateMeta(TypedDict):
    sector: str | None
    tickers: list[str]
    period: str
    dominant_unit: str | None
    excluded_count: int

class PostFactsAggregate(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    concept: str
    period: str
    aggregates: PostFactsAggregateAggregates
    meta: PostFactsAggregateMeta
    request_id: str
    timestamp: Moment

class PricesTickerData(TypedDict, Generic[Day, Moment]):
    date: Day
    open: int | Decimal | None
    high: int | Decimal | None
    low: int | Decimal | None
    close: int | Decimal | None
    volume: int | None
    adj_close: int | Decimal | None
    adj_close_reason: Literal["no_dividends_or_splits_held", None]
    split_factor: int | Decimal | None
    dividend: int | Decimal | None
    volume_exact: int | Decimal | None
    price_doubt: Literal["future_day", "hundredfold_jump", "close_outside_range", "weekend"] | None

PricesTickerMeta = TypedDict("PricesTickerMeta", {"from": Any | None, "to": Any | None, "undated_left_out": int, "clamped": dict[str, str], "ticker": str, "source": Literal["csv", "synthetic"], "synthetic": bool, "adjusted": bool, "count": int, "limit": int, "has_more": bool, "next_cursor": str | None})

class PricesTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[PricesTickerData[Day, Moment]]
    meta: PricesTickerMeta
    request_id: str
    timestamp: Moment

class XbrlTimeseriesDataRowsMetricsValueCheck(TypedDict):
    rule: Literal["sum", "eps_times_shares", "neighbours", "sign", "scale", "quarter", "input"]
    keys: list[str]
    implied: int | Decimal | None

class XbrlTimeseriesDataRowsMetricsValue(TypedDict, Generic[Day, Moment]):
    value: int | Decimal | None
    status: Literal["value", "hole", "nm"]
    reason_code: str | None
    line: NotRequired[str]
    beside: NotRequired[list[str]]
    split_factor: NotRequired[int | Decimal]
    estimated: NotRequired[bool]
    check: NotRequired[XbrlTimeseriesDataRowsMetricsValueCheck]
    marks: NotRequired[list[Literal["sign_corrected", "inconsistent", "unit_inverted", "reported_by_class", "definition_changed", "conflicting_values"]]]
    concept: str | None
    tier: int | None
    method: Literal["reported", "mapped", "derived"] | None
    calc_status: Literal["consistent", "inconsistent", "unchecked"]
    confidence: int
    accession: str | None
    source: str | None
    unit: str
    fact_id: NotRequired[str | None]
    ink_url: NotRequired[str | None]
    decimals: NotRequired[int | Literal["INF"] | None]
    filed_at: NotRequired[Day | None]
    operands: NotRequired[list[TickersTickerOverviewDataOperandsValue[Day, Moment]]]

class XbrlTimeseriesDataRowsTagBreaksValue(TypedDict):
    tags: list[str]
    later_tags: list[str]

class XbrlTimeseriesDataRowsTemplateIncomeLines(TypedDict):
    key: str
    label: str
    status: Literal["value", "hole", "nm"]
    value: int | Decimal | None
    level: int
    parent: str | None
    is_subtotal: bool

class XbrlTimeseriesDataRowsTemplateIncomeSubtotalsOperands(TypedDict):
    key: str
    sign: int

class XbrlTimeseriesDataRowsTemplateIncomeSubtotals(TypedDict):
    target: str
    reported: int | Decimal | None
    recomputed: int | Decimal | None
    residual: int | Decimal | None
    status: Literal["consistent", "inconsistent", "unchecked"]
    tolerance: int | Decimal | None
    operands: list[XbrlTimeseriesDataRowsTemplateIncomeSubtotalsOperands]

class XbrlTimeseriesDataRowsTemplateIncomeOther(TypedDict):
    bucket: str
    section_total_key: str
    foots_to_filed_total: bool
    value: int | Decimal | None
    status: Literal["value", "hole"]

class XbrlTimeseriesDataRowsTemplateIncome(TypedDict):
    lines: list[XbrlTimeseriesDataRowsTemplateIncomeLines]
    subtotals: list[XbrlTimeseriesDataRowsTemplateIncomeSubtotals]
    other: list[XbrlTimeseriesDataRowsTemplateIncomeOther]
    footing_status: Literal["consistent", "inconsistent", "unchecked"]

class XbrlTimeseriesDataRowsTemplate(TypedDict):
    income: XbrlTimeseriesDataRowsTemplateIncome
    balance: XbrlTimeseriesDataRowsTemplateIncome
    cashflow: XbrlTimeseriesDataRowsTemplateIncome
    comprehensive_income: XbrlTimeseriesDataRowsTemplateIncome

class XbrlTimeseriesDataRows(TypedDict, Generic[Day, Moment]):
    fiscal_year: int
    fiscal_period: str
    period_start: Day | None
    period_end: Day
    known_on: Day | None
    calendar_year: NotRequired[int]
    calendar_period: NotRequired[str]
    metrics: dict[str, int | Decimal | None | XbrlTimeseriesDataRowsMetricsValue[Day, Moment]]
    holes: NotRequired[dict[str, TickersTickerOverviewDataHolesValue]]
    split_factors: NotRequired[dict[str, int | Decimal]]
    mixed_shares: NotRequired[bool]
    split_break: NotRequired[int | Decimal]
    estimated: NotRequired[list[str]]
    tag_breaks: NotRequired[dict[str, XbrlTimeseriesDataRowsTagBreaksValue]]
    other_unit: NotRequired[str]
    sign_corrected: NotRequired[list[str]]
    inconsistent: NotRequired[list[str]]
    unit_inverted: NotRequired[list[str]]
    reported_by_class: NotRequired[list[str]]
    by_class: NotRequired[dict[str, dict[str, int | Decimal]]]
    definition_changed: NotRequired[list[str]]
    conflicting_values: NotRequired[list[str]]
    template: NotRequired[XbrlTimeseriesDataRowsTemplate]

class XbrlTimeseriesDataSplits(TypedDict, Generic[Day, Moment]):
    factor: int | Decimal
    date: Day | None
    not_before: Day | None
    restated_by: str | None
    restated_at: Day | None
    evidence: list[Literal["prices", "tag", "restated"]]

class XbrlTimeseriesData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    company_name: str
    period: Literal["A", "Q", "TTM", "YTD"]
    basis: Literal["latest", "original"]
    provenance: Literal["none", "summary", "full"]
    reporting_currency: str
    other_currencies: NotRequired[list[str]]
    ratios: bool
    rows: list[XbrlTimeseriesDataRows[Day, Moment]]
    splits: NotRequired[list[XbrlTimeseriesDataSplits[Day, Moment]]]
    template: NotRequired[bool]
    industry: NotRequired[str]

class XbrlTimeseriesMetaPagination(TypedDict):
    limit: int
    has_more: bool
    page_row_count: int
    series_row_count: int
    next_cursor: str | None

class XbrlTimeseriesMetaEmptyAvailable(TypedDict, Generic[Day, Moment]):
    period: Literal["A", "Q"]
    row_count: int
    first_period_end: Day
    last_period_end: Day

class XbrlTimeseriesMetaEmpty(TypedDict, Generic[Day, Moment]):
    reason: str
    available: list[XbrlTimeseriesMetaEmptyAvailable[Day, Moment]]

class XbrlTimeseriesMeta(TypedDict, Generic[Day, Moment]):
    covered: bool
    phase: str
    industry: str
    mapping_version: int
    metric_count: int
    row_count: int
    years: str
    price_source: Literal["csv", "synthetic"] | None
    pagination: XbrlTimeseriesMetaPagination
    empty: NotRequired[XbrlTimeseriesMetaEmpty[Day, Moment]]

class XbrlTimeseries(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlTimeseriesData[Day, Moment]
    meta: XbrlTimeseriesMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class XbrlDictionaryData(TypedDict):
    key: str
    label: str
    kind: Literal["primitive", "derived", "ratio", "template_slot", "reason"]
    statement: Literal["income_statement", "balance_sheet", "cash_flow_statement", "comprehensive_income", "analytic", "derived", "other"]
    units: str
    aggregation: str
    definition: str
    formula: str
    category: str
    parameters: list[str]
    coverage: str
    rules: list[str]

class XbrlDictionaryMeta(TypedDict):
    count: int
    total: int
    kinds: list[str]
    statements: list[str]
    generated_from: str

class XbrlDictionary(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[XbrlDictionaryData]
    meta: XbrlDictionaryMeta
    request_id: str
    timestamp: Moment

class XbrlProofDataInputs(TypedDict, Generic[Day, Moment]):
    metric: str
    period: str
    fiscal_year: int
    fiscal_period: str
    period_start: Day | None
    period_end: Day
    value: int | Decimal | None
    status: Literal["value", "hole", "nm"]
    reason_code: str | None
    line: NotRequired[str]
    beside: NotRequired[list[str]]
    split_factor: NotRequired[int | Decimal]
    estimated: NotRequired[bool]
    check: NotRequired[XbrlTimeseriesDataRowsMetricsValueCheck]
    marks: NotRequired[list[Literal["sign_corrected", "inconsistent", "unit_inverted", "reported_by_class", "definition_changed", "conflicting_values"]]]
    concept: str | None
    tier: int | None
    method: Literal["reported", "mapped", "derived"] | None
    calc_status: Literal["consistent", "inconsistent", "unchecked"]
    confidence: int
    accession: str | None
    source: str | None
    unit: str
    fact_id: NotRequired[str | None]
    ink_url: NotRequired[str | None]
    decimals: int | Literal["INF"] | None
    filed_at: Day | None
    operands: list[TickersTickerOverviewDataOperandsValue[Day, Moment]]

class XbrlProofDataConsidered(TypedDict):
    tier: int
    way: str
    words: str

class XbrlProofDataVintages(TypedDict, Generic[Day, Moment]):
    value: int | Decimal
    concept: str
    unit: str
    decimals: int | Literal["INF"] | None
    start_date: Day | None
    end_date: Day
    accession: str
    form_type: str
    filed_at: Day | None
    source: str
    fact_id: NotRequired[str | None]
    ink_url: NotRequired[str | None]
    conflicting_values: NotRequired[list[int | Decimal]]
    printed: NotRequired[TickersTickerOverviewDataOperandsValuePrinted | None]
    printed_reason: NotRequired[Literal["no_stored_statement", "not_on_a_statement"] | None]

class XbrlProofData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    company_name: str
    industry: str
    period: str
    fiscal_year: int
    fiscal_period: str
    period_start: Day | None
    period_end: Day
    basis: str
    as_of: Day | None
    metric: str
    label: str
    definition: str
    formula: str
    mapping_version: int
    cell: XbrlTimeseriesDataRowsMetricsValue[Day, Moment]
    inputs: list[XbrlProofDataInputs[Day, Moment]]
    considered: list[XbrlProofDataConsidered]
    vintages: list[XbrlProofDataVintages[Day, Moment]]

class XbrlProofMeta(TypedDict):
    mapping_version: int
    price_source: Literal["csv", "synthetic"] | None

class XbrlProof(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlProofData[Day, Moment]
    meta: XbrlProofMeta
    request_id: str
    timestamp: Moment

class PostXbrlTimeseriesBatchDataResultsError(TypedDict):
    code: str
    message: str

class PostXbrlTimeseriesBatchDataResults(TypedDict, Generic[Day, Moment]):
    selector: str
    status: Literal["success", "error"]
    data: XbrlTimeseriesData[Day, Moment] | None
    meta: XbrlTimeseriesMeta[Day, Moment] | None
    error: PostXbrlTimeseriesBatchDataResultsError | None

class PostXbrlTimeseriesBatchData(TypedDict, Generic[Day, Moment]):
    results: list[PostXbrlTimeseriesBatchDataResults[Day, Moment]]

class PostXbrlTimeseriesBatchMeta(TypedDict):
    requested: int
    resolved: int
    errors: int
    batch_max: int
    tokens_note: str

class PostXbrlTimeseriesBatch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: PostXbrlTimeseriesBatchData[Day, Moment]
    meta: PostXbrlTimeseriesBatchMeta
    request_id: str
    timestamp: Moment

class PostClaimsDataResultsClaim(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str | None
    metric: str | None
    concept: str | None
    period: str
    value: str
    unit: str | None
    as_of: Day | None
    tolerance: int | Decimal | None

class PostClaimsDataResultsCellProof(TypedDict, Generic[Day, Moment]):
    cik: str
    metric: str
    period: Literal["A", "Q", "TTM", "YTD"]
    period_end: Day
    basis: Literal["latest", "original"]
    currency: str
    as_of: Day | None

class PostClaimsDataResultsCell(TypedDict, Generic[Day, Moment]):
    period: Literal["A", "Q", "TTM", "YTD"] | None
    fiscal_year: int | None
    fiscal_period: str | None
    period_start: Day | None
    period_end: Day
    accession: str
    form_type: str
    filed_at: Day | None
    value: int | Decimal
    unit: str
    concept: str
    decimals: int | Literal["INF"] | None
    confidence: int
    operands: list[TickersTickerOverviewDataOperandsValue[Day, Moment]]
    proof: PostClaimsDataResultsCellProof[Day, Moment] | None
    link: str | None

class PostClaimsDataResults(TypedDict, Generic[Day, Moment]):
    claim: PostClaimsDataResultsClaim[Day, Moment]
    verdict: Literal["matches", "matches_first_filed", "restated_since", "wrong_scale", "wrong_sign", "wrong_period", "contradicted", "not_on_file", "cannot_tell"]
    reason_code: Literal["unknown_company", "ambiguous_company", "company_not_on_file", "period_not_on_file", "figure_not_on_file", "no_metric", "unknown_metric", "unknown_concept", "value_not_understood", "period_not_understood", "unit_not_understood", "other_unit", "other_line", "more_digits_than_filed", "doubtful_figure", "figure_not_certain"] | None
    message: str
    ticker: str | None
    cik: str | None
    company_name: str | None
    cell: PostClaimsDataResultsCell[Day, Moment] | None
    agreeing_cell: PostClaimsDataResultsCell[Day, Moment] | None
    scale_exponent: int | None

class PostClaimsDataReceiptDocuments(TypedDict):
    accession: str
    source: Literal["xbrl", "fsds", "facts"]
    sha256: str

class PostClaimsDataReceiptResultsClaim(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str | None
    metric: str | None
    concept: str | None
    period: str
    value: str
    unit: str | None
    as_of: Day | None
    tolerance: str | None

class PostClaimsDataReceiptResultsCell(TypedDict, Generic[Day, Moment]):
    period: Literal["A", "Q", "TTM", "YTD"] | None
    fiscal_year: int | None
    fiscal_period: str | None
    period_start: Day | None
    period_end: Day
    accession: str
    form_type: str
    filed_at: Day | None
    value: str
    unit: str
    concept: str

class PostClaimsDataReceiptResults(TypedDict, Generic[Day, Moment]):
    claim: PostClaimsDataReceiptResultsClaim[Day, Moment]
    verdict: Literal["matches", "matches_first_filed", "restated_since", "wrong_scale", "wrong_sign", "wrong_period", "contradicted", "not_on_file", "cannot_tell"]
    reason_code: Literal["unknown_company", "ambiguous_company", "company_not_on_file", "period_not_on_file", "figure_not_on_file", "no_metric", "unknown_metric", "unknown_concept", "value_not_understood", "period_not_understood", "unit_not_understood", "other_unit", "other_line", "more_digits_than_filed", "doubtful_figure", "figure_not_certain"] | None
    cik: str | None
    cell: PostClaimsDataReceiptResultsCell[Day, Moment] | None
    agreeing_cell: PostClaimsDataReceiptResultsCell[Day, Moment] | None
    scale_exponent: int | None
    data_version: int

class PostClaimsDataReceipt(TypedDict, Generic[Day, Moment]):
    account: str
    documents: list[PostClaimsDataReceiptDocuments]
    epoch: int
    format: str
    issued_at: Moment
    mapping_version: int
    number: int
    previous_sha256: str | None
    request_id: str
    results: list[PostClaimsDataReceiptResults[Day, Moment]]
    sha256: str
    signature: str

class PostClaimsData(TypedDict, Generic[Day, Moment]):
    results: list[PostClaimsDataResults[Day, Moment]]
    receipt: PostClaimsDataReceipt[Day, Moment] | None

class PostClaimsMetaVerdicts(TypedDict):
    matches: int
    matches_first_filed: int
    restated_since: int
    wrong_scale: int
    wrong_sign: int
    wrong_period: int
    contradicted: int
    not_on_file: int
    cannot_tell: int

class PostClaimsMeta(TypedDict):
    count: int
    verdicts: PostClaimsMetaVerdicts
    mapping_version: int

class PostClaims(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: PostClaimsData[Day, Moment]
    meta: PostClaimsMeta
    request_id: str
    timestamp: Moment

class PostClaimsReceiptsVerifyDataReceipts(TypedDict):
    sha256: str
    is_issued: bool

class PostClaimsReceiptsVerifyDataChain(TypedDict):
    receipts: int
    last_sha256: str | None

class PostClaimsReceiptsVerifyData(TypedDict):
    receipts: list[PostClaimsReceiptsVerifyDataReceipts]
    chain: PostClaimsReceiptsVerifyDataChain

class PostClaimsReceiptsVerifyMeta(TypedDict):
    count: int

class PostClaimsReceiptsVerify(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: PostClaimsReceiptsVerifyData
    meta: PostClaimsReceiptsVerifyMeta
    request_id: str
    timestamp: Moment

class XbrlSegmentsDataSeriesPoints(TypedDict, Generic[Day, Moment]):
    fiscal_year: int
    fiscal_period: str
    period_end: Day
    start_date: Day | None
    end_date: Day
    value: int | Decimal
    decimals: int | Literal["INF"] | None
    unit: str
    concept: str
    is_extension: bool
    accession_no: str

class XbrlSegmentsDataSeries(TypedDict, Generic[Day, Moment]):
    member: str
    label: str | None
    points: list[XbrlSegmentsDataSeriesPoints[Day, Moment]]

class XbrlSegmentsData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    company_name: str
    covered: bool
    phase: str
    axis: str | None
    concept_or_metric: str
    period: str
    series: list[XbrlSegmentsDataSeries[Day, Moment]]

class XbrlSegmentsMeta(TypedDict):
    member_count: int
    concepts_resolved: list[str]
    axes: list[str]
    years: str
    note: str

class XbrlSegments(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlSegmentsData[Day, Moment]
    meta: XbrlSegmentsMeta
    request_id: str
    timestamp: Moment

class XbrlShareClassesDataFiling(TypedDict, Generic[Day, Moment]):
    accession_no: str
    form_type: str
    period_of_report: Day | None
    filed_at: Day | None

class XbrlShareClassesDataClasses(TypedDict, Generic[Day, Moment]):
    member: str
    class_ticker: str | None
    shares_outstanding: int | Decimal
    context_end_date: Day
    unit: str

class XbrlShareClassesData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    company_name: str
    covered: bool
    phase: str
    filing: XbrlShareClassesDataFiling[Day, Moment]
    classes: list[XbrlShareClassesDataClasses[Day, Moment]]

class XbrlShareClassesMeta(TypedDict):
    class_count: int

class XbrlShareClasses(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: XbrlShareClassesData[Day, Moment]
    meta: XbrlShareClassesMeta
    request_id: str
    timestamp: Moment

class XbrlScreenData(TypedDict, Generic[Day, Moment]):
    cik: str
    ticker: str | None
    period_end: Day
    known_on: Day | None
    price_source: Literal["csv", "synthetic"] | None
    metrics: dict[str, int | Decimal | None]
    holes: dict[str, TickersTickerOverviewDataHolesValue]

class XbrlScreenMetaScreenFiltersAppliedValue(TypedDict):
    gt: NotRequired[int | Decimal]
    lt: NotRequired[int | Decimal]

class XbrlScreenMetaScreen(TypedDict):
    grain: str
    latest_period_semantics: str
    filters_applied: dict[str, XbrlScreenMetaScreenFiltersAppliedValue]
    metrics_returned: list[str]
    list_filtered: bool
    left_out: int
    pending: int

class XbrlScreenMeta(TypedDict):
    pagination: OwnershipCrossReferenceHolderUuidMeta
    screen: XbrlScreenMetaScreen

class XbrlScreen(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[XbrlScreenData[Day, Moment]]
    meta: XbrlScreenMeta
    request_id: str
    timestamp: Moment

class XbrlCompaniesIdValuationDataInputs(TypedDict):
    metric: str
    redacted: bool
    source: str | None

class XbrlCompaniesIdValuationData(TypedDict, Generic[Day, Moment]):
    metric: str
    fiscal_year: int
    fiscal_period: str
    period_end: Day
    value: int | Decimal | None
    status: Literal["value", "hole", "nm"]
    reason_code: str | None
    unit: str
    method_labels: list[str]
    formula_version: int
    inputs: list[XbrlCompaniesIdValuationDataInputs]
    price_date: Day | None

class XbrlCompaniesIdValuationMeta(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    cik: str
    covered: bool
    period: str
    years: int
    mode: str
    price_date: Day | None
    price_source: Literal["csv", "synthetic"] | None
    valuation_family: bool

class XbrlCompaniesIdValuation(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[XbrlCompaniesIdValuationData[Day, Moment]]
    meta: XbrlCompaniesIdValuationMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersTransactionsLatestDataOwners(TypedDict):
    cik: str
    name: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    is_other: bool
    is_c_suite: bool
    title: str | None
    officer_title_standardized: str | None

class InsidersTransactionsLatestDataMarksValue(TypedDict):
    status: Literal["absent"]
    reason: str
    footnotes: list[str]

class InsidersTransactionsLatestDataOutcome(TypedDict, Generic[Day, Moment]):
    close: int | Decimal | None
    close_date: Day | None
    return_1d: int | Decimal | None
    return_5d: int | Decimal | None
    return_20d: int | Decimal | None
    return_60d: int | Decimal | None
    is_adjusted: bool | None
    next_earnings: Day | None
    days_to_earnings: int | None
    reasons: dict[str, str]

class InsidersTransactionsLatestData(TypedDict, Generic[Day, Moment]):
    transaction_id: str
    transaction_date: Day | None
    transaction_code: str | None
    transaction_description: str | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"]
    acquired_disposed_code: str | None
    shares: int | Decimal | None
    price_per_share: int | Decimal | None
    transaction_value: int | None
    value_doubt: Literal["price_per_ads", "price_in_other_currency", "contradicts_close", "contradicts_form", "contradicts_history", "unconfirmed"] | None
    same_trade_as: str | None
    shares_owned_following: int | Decimal | None
    value_owned_following: int | Decimal | None
    total_beneficial_ownership: int | Decimal | None
    ownership_nature: str | None
    indirect_owner_name: str | None
    is_derivative: bool
    security_type: str | None
    is_common_stock: bool
    is_rule_10b5_1: bool
    rule_10b5_1_source: Literal["checkbox", "footnote", "remarks", "not_stated"]
    is_cashless_exercise: bool
    is_sell_to_cover: bool
    insider_name: str
    insider_cik: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    is_other: bool
    insider_title: str | None
    officer_title_standardized: str | None
    is_c_suite: bool
    seniority_rank: int | None
    title_category: str | None
    is_section_16_officer: bool
    is_named_executive_officer: bool | None
    ticker: str | None
    company_name: str
    sector: str | None
    industry: str | None
    issuer_cik: str
    accession_number: str
    form_type: Literal["3", "3/A", "4", "4/A", "5", "5/A"]
    filing_date: Day | None
    filed_at: Day | None
    accepted_at: Moment | None
    period_of_report: Day
    is_late: bool | None
    business_days_to_file: int | None
    is_amendment: bool
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    owner_count: int
    owners: list[InsidersTransactionsLatestDataOwners]
    percent_of_holding: int | Decimal | None
    marks: dict[str, InsidersTransactionsLatestDataMarksValue]
    outcome: NotRequired[InsidersTransactionsLatestDataOutcome[Day, Moment]]

class InsidersTransactionsLatestMetaPagination(TypedDict):
    total: int | None
    limit: int
    offset: int
    has_more: bool
    next_cursor: str | None

class InsidersTransactionsLatestMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    undated_left_out: int
    clamped: dict[str, str]
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class InsidersTransactionsLatest(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersTransactionsLatestData[Day, Moment]]
    meta: InsidersTransactionsLatestMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersTransactionsByTickerTickerMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    filed_at_days: int | None
    transaction_days: int | None
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    undated_left_out: int
    clamped: dict[str, str]
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class InsidersTransactionsByTickerTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersTransactionsLatestData[Day, Moment]]
    meta: InsidersTransactionsByTickerTickerMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersTransactionsByInsiderCikMetaInsider(TypedDict):
    cik: str
    name: str
    is_entity: bool
    total_companies: int

class InsidersTransactionsByInsiderCikMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    insider: InsidersTransactionsByInsiderCikMetaInsider
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    undated_left_out: int
    clamped: dict[str, str]
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]

class InsidersTransactionsByInsiderCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersTransactionsLatestData[Day, Moment]]
    meta: InsidersTransactionsByInsiderCikMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersTransactionsSearchMeta(TypedDict, Generic[Day, Moment]):
    filed_at_days: int | None
    transaction_days: int | None
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    total: int | None
    limit: int
    has_more: bool
    next_cursor: str | None
    matched_insiders: int | None
    matched_issuers: int | None
    matches_cut: bool
    undated_left_out: int
    clamped: dict[str, str]

class InsidersTransactionsSearch(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersTransactionsLatestData[Day, Moment]]
    meta: InsidersTransactionsSearchMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersTransactionsTopMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    undated_left_out: int
    clamped: dict[str, str]
    empty: NotRequired[Form13fFundCikMetaEmpty[Day, Moment]]
    doubtful_left_out: int

class InsidersTransactionsTop(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersTransactionsLatestData[Day, Moment]]
    meta: InsidersTransactionsTopMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class NportLatestData(TypedDict, Generic[Day, Moment]):
    accession_number: str
    submission_type: Literal["NPORT-P", "NPORT-P/A"]
    is_amendment: bool
    reg_cik: str
    reg_name: str
    series_id: str | None
    series_name: str | None
    as_of: Day
    rep_pd_end: Day | None
    net_assets: int | Decimal | None
    tot_assets: int | Decimal | None
    filed_at: Moment | None
    source: Literal["edgar"]
    holdings_count: int
    is_current: bool
    doubts: list[Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]]

class NportLatest(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportLatestData[Day, Moment]]
    meta: Form13fOverlapMeta
    request_id: str
    timestamp: Moment

class NportBySeriesSeriesIdMeta(TypedDict):
    series_id: str
    pagination: Form13fFundCikMetaPagination

class NportBySeriesSeriesId(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportLatestData[Day, Moment]]
    meta: NportBySeriesSeriesIdMeta
    request_id: str
    timestamp: Moment

class NportByTickerTickerMetaResolutionMatches(TypedDict):
    class_id: str | None
    series_id: str | None
    reg_cik: str
    source: Literal["submission_header", "company_ticker"]

class NportByTickerTickerMetaResolution(TypedDict):
    ticker: str
    matches: list[NportByTickerTickerMetaResolutionMatches]

class NportByTickerTickerMeta(TypedDict):
    resolution: NportByTickerTickerMetaResolution
    pagination: Form13fFundCikMetaPagination

class NportByTickerTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportLatestData[Day, Moment]]
    meta: NportByTickerTickerMeta
    request_id: str
    timestamp: Moment

class NportFundsTickerAumHistoryData(TypedDict, Generic[Day, Moment]):
    as_of: Day
    series_id: str | None
    series_name: str | None
    reg_cik: str
    net_assets: int | Decimal | None
    tot_assets: int | Decimal | None
    tot_liabs: int | Decimal | None
    accession_number: str
    source: Literal["edgar"]
    doubts: list[Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]]

class NportFundsTickerAumHistoryMeta(TypedDict):
    pagination: WebhooksDeliveriesMeta
    resolution: NportByTickerTickerMetaResolution

class NportFundsTickerAumHistory(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportFundsTickerAumHistoryData[Day, Moment]]
    meta: NportFundsTickerAumHistoryMeta
    request_id: str
    timestamp: Moment

class NportFundsTickerHoldingsDataIdentifiersValue(TypedDict):
    value: str
    description: str | None

class NportFundsTickerHoldingsDataDebt(TypedDict, Generic[Day, Moment]):
    maturity_date: Day | None
    coupon_kind: str | None
    annualized_rate: int | Decimal | None
    is_default: bool | None
    are_interest_payments_in_arrears: bool | None
    is_paid_in_kind: bool | None

class NportFundsTickerHoldingsDataDerivativeCounterparties(TypedDict):
    name: str | None
    lei: str | None

class NportFundsTickerHoldingsDataDerivative(TypedDict, Generic[Day, Moment]):
    category: str | None
    description: str | None
    counterparties: list[NportFundsTickerHoldingsDataDerivativeCounterparties]
    payoff_profile: str | None
    put_or_call: str | None
    written_or_purchased: str | None
    reference_name: str | None
    reference_title: str | None
    reference_cusip: str | None
    reference_isin: str | None
    reference_ticker: str | None
    shares: int | Decimal | None
    exercise_price: int | Decimal | None
    exercise_currency: str | None
    expiration_date: Day | None
    delta: int | Decimal | None
    notional_amount: int | Decimal | None
    notional_currency: str | None
    amount_sold: int | Decimal | None
    currency_sold: str | None
    amount_purchased: int | Decimal | None
    currency_purchased: str | None
    unrealized_appreciation: int | Decimal | None

class NportFundsTickerHoldingsDataSecuritiesLending(TypedDict):
    is_cash_collateral: bool | None
    cash_collateral_value: int | Decimal | None
    is_non_cash_collateral: bool | None
    non_cash_collateral_value: int | Decimal | None
    is_on_loan: bool | None
    loan_value: int | Decimal | None

class NportFundsTickerHoldingsData(TypedDict, Generic[Day, Moment]):
    sequence: int
    name: str | None
    lei: str | None
    title: str | None
    cusip: str | None
    isin: str | None
    ticker: str | None
    identifiers: dict[str, NportFundsTickerHoldingsDataIdentifiersValue]
    balance: int | Decimal | None
    units: str | None
    currency: str | None
    exchange_rate: int | Decimal | None
    val_usd: int | Decimal | None
    pct_val: int | Decimal | None
    pct_val_doubt: bool
    payoff_profile: str | None
    asset_cat: str | None
    asset_description: str | None
    issuer_cat: str | None
    issuer_description: str | None
    inv_country: str | None
    is_restricted_sec: bool | None
    fair_value_level: str | None
    derivative_cat: str | None
    debt: NportFundsTickerHoldingsDataDebt[Day, Moment] | None
    derivative: NportFundsTickerHoldingsDataDerivative[Day, Moment] | None
    securities_lending: NportFundsTickerHoldingsDataSecuritiesLending | None

class NportFundsTickerHoldingsMeta(TypedDict, Generic[Day, Moment]):
    accession_number: str
    as_of: Day
    pagination: Form13fFundCikMetaPagination

class NportFundsTickerHoldings(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportFundsTickerHoldingsData[Day, Moment]]
    meta: NportFundsTickerHoldingsMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class NportHoldersOfCusipDataHolding(TypedDict):
    name: str | None
    title: str | None
    balance: int | Decimal | None
    units: str | None
    val_usd: int | Decimal | None
    pct_val: int | Decimal | None
    asset_cat: str | None
    payoff_profile: str | None
    pct_val_doubt: bool

class NportHoldersOfCusipData(TypedDict, Generic[Day, Moment]):
    series_id: str | None
    series_name: str | None
    reg_cik: str
    reg_name: str
    as_of: Day
    accession_number: str
    holding: NportHoldersOfCusipDataHolding
    fund_net_assets: int | Decimal | None
    filed_at: Moment | None
    doubts: list[Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]]

class NportHoldersOfCusipMeta(TypedDict):
    cusip: str
    period: str | None
    pagination: Form13fFundCikMetaPagination

class NportHoldersOfCusip(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportHoldersOfCusipData[Day, Moment]]
    meta: NportHoldersOfCusipMeta
    request_id: str
    timestamp: Moment

class PostNportScreenData(TypedDict, Generic[Day, Moment]):
    accession_number: str
    series_id: str | None
    series_name: str | None
    reg_cik: str
    reg_name: str
    as_of: Day
    net_assets: int | Decimal | None
    tot_assets: int | Decimal | None
    tot_liabs: int | Decimal | None
    flow_sales_1m: int | Decimal | None
    flow_reinvestment_1m: int | Decimal | None
    flow_redemption_1m: int | Decimal | None
    return_1m: int | Decimal | None
    holdings_count: int
    doubts: list[Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]]

class PostNportScreenMetaScreenFiltersAppliedValue(TypedDict):
    gt: int | Decimal | None
    lt: int | Decimal | None

class PostNportScreenMetaScreen(TypedDict):
    grain: Literal["latest_report_per_fund"]
    filters_applied: dict[str, PostNportScreenMetaScreenFiltersAppliedValue]

class PostNportScreenMeta(TypedDict):
    screen: PostNportScreenMetaScreen
    pagination: Form13fFundCikMetaPagination

class PostNportScreen(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[PostNportScreenData[Day, Moment]]
    meta: PostNportScreenMeta
    request_id: str
    timestamp: Moment

class NportAccessionDataRegistrant(TypedDict):
    cik: str
    name: str
    file_number: str | None
    lei: str | None
    street1: str | None
    city: str | None
    state: str | None
    zip: str | None
    phone: str | None

class NportAccessionDataSeries(TypedDict):
    series_id: str | None
    series_name: str | None
    series_lei: str | None
    class_id_primary: str | None
    class_ids: list[str]

class NportAccessionDataPeriod(TypedDict, Generic[Day, Moment]):
    rep_pd_end: Day | None
    as_of: Day
    is_final_filing: bool | None

class NportAccessionDataAssets(TypedDict):
    tot_assets: int | Decimal | None
    tot_liabs: int | Decimal | None
    net_assets: int | Decimal | None

class NportAccessionDataMonthlyFlowMon1Flow(TypedDict):
    sales: str | None
    reinvestment: str | None
    redemption: str | None

class NportAccessionDataMonthlyFlow(TypedDict):
    mon1Flow: NportAccessionDataMonthlyFlowMon1Flow
    mon2Flow: NportAccessionDataMonthlyFlowMon1Flow
    mon3Flow: NportAccessionDataMonthlyFlowMon1Flow

class NportAccessionDataSignature(TypedDict, Generic[Day, Moment]):
    dateSigned: Day | None
    nameOfApplicant: str | None
    signerName: str | None
    title: str | None

class NportAccessionDataMonthlyReturns(TypedDict):
    class_id: str | None
    return_month_1: int | Decimal | None
    return_month_2: int | Decimal | None
    return_month_3: int | Decimal | None

class NportAccessionDataEntities(TypedDict):
    sequence: int
    role: Literal["class"]
    owner_cik: str
    series_id: str
    series_name: str | None
    class_contract_id: str
    class_contract_name: str | None
    class_contract_ticker: str | None

class NportAccessionData(TypedDict, Generic[Day, Moment]):
    accession_number: str
    submission_type: Literal["NPORT-P", "NPORT-P/A"]
    is_amendment: bool
    registrant: NportAccessionDataRegistrant
    series: NportAccessionDataSeries
    period: NportAccessionDataPeriod[Day, Moment]
    assets: NportAccessionDataAssets
    payables: dict[str, int | Decimal]
    monthly_flow: NportAccessionDataMonthlyFlow
    signature: NportAccessionDataSignature[Day, Moment]
    monthly_returns: list[NportAccessionDataMonthlyReturns]
    entities: list[NportAccessionDataEntities]
    holdings_count: int
    source: Literal["edgar"]
    filed_at: Moment | None
    parsed_at: Moment
    is_current: bool
    doubts: list[Literal["assets_differ", "percentages_differ", "no_positions", "period_after_filing"]]

class NportAccession(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: NportAccessionData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class NportAccessionChangesData(TypedDict):
    status: Literal["new", "increased", "decreased", "unchanged", "closed"]
    name: str | None
    title: str | None
    cusip: str | None
    isin: str | None
    asset_cat: str | None
    derivative_cat: str | None
    units: str | None
    balance: int | Decimal | None
    previous_balance: int | Decimal | None
    change_balance: int | Decimal | None
    split_factor: int | Decimal | None
    val_usd: int | Decimal | None
    previous_val_usd: int | Decimal | None
    change_val_usd: int | Decimal | None
    pct_val: int | Decimal | None
    previous_pct_val: int | Decimal | None

class NportAccessionChangesMetaCounts(TypedDict):
    new: int
    increased: int
    decreased: int
    unchanged: int
    closed: int

class NportAccessionChangesMeta(TypedDict, Generic[Day, Moment]):
    accession_number: str
    as_of: Day
    previous_accession_number: str
    previous_as_of: Day
    counts: NportAccessionChangesMetaCounts
    pagination: Form13fFundCikMetaPagination

class NportAccessionChanges(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[NportAccessionChangesData]
    meta: NportAccessionChangesMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersForm144LatestDataSales(TypedDict, Generic[Day, Moment]):
    security_title: str | None
    broker_name: str | None
    shares: int | Decimal | None
    aggregate_market_value: int | Decimal | None
    shares_outstanding: int | Decimal | None
    approximate_sale_date: Day | None
    exchange: str | None

class InsidersForm144LatestDataAcquisitions(TypedDict, Generic[Day, Moment]):
    security_title: str | None
    acquired_date: Day | None
    nature_of_acquisition: str | None
    acquired_from: str | None
    is_gift: bool | None
    donor_acquired_date: Day | None
    shares: int | Decimal | None
    payment_date: Day | None
    nature_of_payment: str | None

class InsidersForm144LatestDataSoldInPast3Months(TypedDict, Generic[Day, Moment]):
    seller_name: str | None
    security_title: str | None
    sale_date: Day | None
    shares: int | Decimal | None
    gross_proceeds: int | Decimal | None

class InsidersForm144LatestData(TypedDict, Generic[Day, Moment]):
    notice_id: str
    accession_number: str
    form_type: Literal["144", "144/A"]
    is_amendment: bool
    filed_at: Moment | None
    accepted_at: Moment | None
    issuer_cik: str
    ticker: str | None
    company_name: str
    seller_name: str
    insider_cik: str | None
    relationships: list[str]
    shares: int | Decimal | None
    aggregate_market_value: int | Decimal | None
    percent_of_outstanding: int | Decimal | None
    approximate_sale_date: Day | None
    is_rule_10b5_1: bool
    plan_adoption_dates: list[Day]
    sales: list[InsidersForm144LatestDataSales[Day, Moment]]
    acquisitions: list[InsidersForm144LatestDataAcquisitions[Day, Moment]]
    sold_in_past_3_months: list[InsidersForm144LatestDataSoldInPast3Months[Day, Moment]]
    nothing_sold_in_past_3_months: bool | None
    remarks: str | None
    notice_date: Day | None
    holes: dict[str, Literal["several_classes", "not_reported"]]
    xml_url: str | None
    index_url: str | None

class InsidersForm144LatestMeta(TypedDict, Generic[Day, Moment]):
    pagination: Form13fFundCikMetaPagination
    from_date: Day | None
    to_date: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class InsidersForm144Latest(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersForm144LatestData[Day, Moment]]
    meta: InsidersForm144LatestMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class PostInsidersQueryTotal(TypedDict):
    value: int
    relation: Literal["eq", "gte"]

class PostInsidersQueryTransactionsIssuer(TypedDict):
    cik: str
    name: str
    tradingSymbol: str | None

class PostInsidersQueryTransactionsReportingOwnerAddress(TypedDict):
    street1: str | None
    street2: str | None
    city: str | None
    state: str | None
    zipCode: str | None

class PostInsidersQueryTransactionsReportingOwnerRelationship(TypedDict):
    isOfficer: bool
    officerTitle: str | None
    isDirector: bool
    isTenPercentOwner: bool
    isOther: bool
    otherText: str | None

class PostInsidersQueryTransactionsReportingOwner(TypedDict):
    name: str | None
    cik: str
    address: PostInsidersQueryTransactionsReportingOwnerAddress
    relationship: PostInsidersQueryTransactionsReportingOwnerRelationship

class PostInsidersQueryTransactionsNonDerivativeTableTransactionsPostTransactionAmounts(TypedDict):
    sharesOwnedFollowingTransaction: int | Decimal | None
    valueOwnedFollowingTransaction: int | Decimal | None

class PostInsidersQueryTransactionsNonDerivativeTableTransactionsOwnershipNature(TypedDict):
    directOrIndirectOwnership: str | None
    natureOfOwnership: str | None

class PostInsidersQueryTransactionsNonDerivativeTableTransactionsCoding(TypedDict):
    formType: str | None
    code: str | None
    equitySwapInvolved: bool | None
    footnoteId: list[str]

class PostInsidersQueryTransactionsNonDerivativeTableTransactionsAmounts(TypedDict):
    shares: int | Decimal | None
    pricePerShare: int | Decimal | None
    acquiredDisposedCode: str | None

class PostInsidersQueryTransactionsNonDerivativeTableTransactions(TypedDict, Generic[Day, Moment]):
    securityTitle: str | None
    postTransactionAmounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: PostInsidersQueryTransactionsNonDerivativeTableTransactionsOwnershipNature
    footnotes: dict[str, list[str]]
    transactionDate: Day | None
    coding: PostInsidersQueryTransactionsNonDerivativeTableTransactionsCoding
    amounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsAmounts

class PostInsidersQueryTransactionsNonDerivativeTableHoldings(TypedDict):
    securityTitle: str | None
    postTransactionAmounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: PostInsidersQueryTransactionsNonDerivativeTableTransactionsOwnershipNature
    footnotes: dict[str, list[str]]

class PostInsidersQueryTransactionsNonDerivativeTable(TypedDict, Generic[Day, Moment]):
    transactions: list[PostInsidersQueryTransactionsNonDerivativeTableTransactions[Day, Moment]]
    holdings: list[PostInsidersQueryTransactionsNonDerivativeTableHoldings]

class PostInsidersQueryTransactionsDerivativeTableTransactionsUnderlyingSecurity(TypedDict):
    title: str | None
    shares: int | Decimal | None
    value: int | Decimal | None

class PostInsidersQueryTransactionsDerivativeTableTransactions(TypedDict, Generic[Day, Moment]):
    securityTitle: str | None
    postTransactionAmounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: PostInsidersQueryTransactionsNonDerivativeTableTransactionsOwnershipNature
    footnotes: dict[str, list[str]]
    transactionDate: Day | None
    coding: PostInsidersQueryTransactionsNonDerivativeTableTransactionsCoding
    amounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsAmounts
    conversionOrExercisePrice: int | Decimal | None
    exerciseDate: Day | None
    expirationDate: Day | None
    underlyingSecurity: PostInsidersQueryTransactionsDerivativeTableTransactionsUnderlyingSecurity

class PostInsidersQueryTransactionsDerivativeTableHoldings(TypedDict, Generic[Day, Moment]):
    securityTitle: str | None
    postTransactionAmounts: PostInsidersQueryTransactionsNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: PostInsidersQueryTransactionsNonDerivativeTableTransactionsOwnershipNature
    footnotes: dict[str, list[str]]
    conversionOrExercisePrice: int | Decimal | None
    exerciseDate: Day | None
    expirationDate: Day | None
    underlyingSecurity: PostInsidersQueryTransactionsDerivativeTableTransactionsUnderlyingSecurity

class PostInsidersQueryTransactionsDerivativeTable(TypedDict, Generic[Day, Moment]):
    transactions: list[PostInsidersQueryTransactionsDerivativeTableTransactions[Day, Moment]]
    holdings: list[PostInsidersQueryTransactionsDerivativeTableHoldings[Day, Moment]]

class PostInsidersQueryTransactionsFootnotes(TypedDict):
    id: str
    text: str

class PostInsidersQueryTransactions(TypedDict, Generic[Day, Moment]):
    id: str
    accessionNo: str
    documentType: Literal["3", "3/A", "4", "4/A", "5", "5/A"]
    filedAt: Day | None
    periodOfReport: Day
    schemaVersion: str | None
    notSubjectToSection16: bool | None
    issuer: PostInsidersQueryTransactionsIssuer
    reportingOwner: PostInsidersQueryTransactionsReportingOwner
    reportingOwners: list[PostInsidersQueryTransactionsReportingOwner]
    nonDerivativeTable: PostInsidersQueryTransactionsNonDerivativeTable[Day, Moment]
    derivativeTable: PostInsidersQueryTransactionsDerivativeTable[Day, Moment]
    footnotes: list[PostInsidersQueryTransactionsFootnotes]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureNameDate: Day | None

class PostInsidersQuery(TypedDict, Generic[Day, Moment]):
    total: PostInsidersQueryTotal
    transactions: list[PostInsidersQueryTransactions[Day, Moment]]

class InsidersClusters(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str
    issuer_cik: str
    sector: str | None
    industry: str | None
    insider_count: int
    total_value: int
    net_shares: int | Decimal
    transaction_count: int
    first_date: Day | None
    last_date: Day | None
    insiders: list[str]
    cluster_type: Literal["buy", "sell"]
    has_officer: bool
    has_director: bool
    has_c_suite: bool
    has_ten_percent_owner: bool
    price_avg: int | Decimal | None
    last_filed: Day | None

class InsidersScreenResultsMarksValue(TypedDict):
    status: Literal["nm"]
    reason: str

class InsidersScreenResults(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str
    issuer_cik: str
    sector: str | None
    industry: str | None
    total_transactions: int
    total_buys: int
    total_sells: int
    total_buy_value: int
    total_sell_value: int
    net_value: int
    transactions_without_value: int
    doubtful_left_out: int
    unique_insiders: int
    unique_buyers: int
    unique_sellers: int
    rule_10b5_1_buy_count: int
    rule_10b5_1_sell_count: int
    rule_10b5_1_buy_value: int
    rule_10b5_1_sell_value: int
    csuite_buy_count: int
    csuite_sell_count: int
    csuite_buy_value: int
    csuite_sell_value: int
    csuite_net_value: int
    officer_buy_value: int
    officer_sell_value: int
    director_buy_value: int
    director_sell_value: int
    filing_count: int
    buy_sell_ratio: int | Decimal | None
    sentiment_score: int | Decimal | None
    value_sentiment_score: int | Decimal | None
    csuite_sentiment_score: int | Decimal | None
    value_csuite_sentiment_score: int | Decimal | None
    latest_transaction_date: Day | None
    marks: dict[str, InsidersScreenResultsMarksValue]

class InsidersScreenMeta(TypedDict, Generic[Day, Moment]):
    filed_at_days: int | None
    transaction_days: int | None
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    total_results: int
    returned: int
    limit: int
    offset: int
    has_more: bool
    request_id: str
    timestamp: Moment
    filters_applied: dict[str, Any]
    undated_left_out: int
    clamped: dict[str, str]

class InsidersScreen(TypedDict, Generic[Day, Moment]):
    results: list[InsidersScreenResults[Day, Moment]]
    meta: InsidersScreenMeta[Day, Moment]

class InsidersSummaryByTickerTickerData(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str
    issuer_cik: str
    total_transactions: int
    total_buys: int
    total_sells: int
    total_buy_value: int
    total_sell_value: int
    net_value: int
    transactions_without_value: int
    doubtful_left_out: int
    unique_insiders: int
    unique_buyers: int
    unique_sellers: int
    rule_10b5_1_buy_count: int
    rule_10b5_1_sell_count: int
    rule_10b5_1_buy_value: int
    rule_10b5_1_sell_value: int
    csuite_buy_count: int
    csuite_sell_count: int
    csuite_buy_value: int
    csuite_sell_value: int
    csuite_net_value: int
    officer_buy_value: int
    officer_sell_value: int
    director_buy_value: int
    director_sell_value: int
    filing_count: int
    buy_sell_ratio: int | Decimal | None
    sentiment_score: int | Decimal | None
    value_sentiment_score: int | Decimal | None
    csuite_sentiment_score: int | Decimal | None
    value_csuite_sentiment_score: int | Decimal | None
    latest_transaction_date: Day | None
    marks: dict[str, InsidersScreenResultsMarksValue]

class InsidersSummaryByTickerTickerMeta(TypedDict, Generic[Day, Moment]):
    filed_at_days: int | None
    transaction_days: int | None
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    days: int | None
    undated_left_out: int
    clamped: dict[str, str]

class InsidersSummaryByTickerTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: InsidersSummaryByTickerTickerData[Day, Moment]
    meta: InsidersSummaryByTickerTickerMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersInsiderSearch(TypedDict):
    cik: str
    name: str
    is_entity: bool
    latest_company: str | None
    active_tickers: list[str]

class InsidersInsiderInsiderCikCurrentRoles(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company: str
    issuer_cik: str
    roles: list[str]
    as_of: Day
    total_beneficial_ownership: int | Decimal | None

class InsidersInsiderInsiderCikOwnershipSummaryClasses(TypedDict):
    issuer_cik: str
    security_title: str | None
    total_shares_direct: int | Decimal
    total_shares_indirect: int | Decimal
    total_beneficial: int | Decimal

class InsidersInsiderInsiderCikOwnershipSummaryCompaniesValueVehicles(TypedDict, Generic[Day, Moment]):
    nature: str | None
    ownership_nature: str | None
    security_title: str | None
    shares: int | Decimal | None
    as_of: Day
    name: str | None
    indirect_owner_name: str | None

class InsidersInsiderInsiderCikOwnershipSummaryCompaniesValue(TypedDict, Generic[Day, Moment]):
    total_beneficial_ownership: int | Decimal | None
    vehicles: list[InsidersInsiderInsiderCikOwnershipSummaryCompaniesValueVehicles[Day, Moment]]

class InsidersInsiderInsiderCikOwnershipSummary(TypedDict, Generic[Day, Moment]):
    total_shares_direct: int | Decimal | None
    total_shares_indirect: int | Decimal | None
    total_beneficial: int | Decimal | None
    classes: list[InsidersInsiderInsiderCikOwnershipSummaryClasses]
    companies: dict[str, InsidersInsiderInsiderCikOwnershipSummaryCompaniesValue[Day, Moment]]

class InsidersInsiderInsiderCikRecentTransactions(TypedDict, Generic[Day, Moment]):
    transaction_id: str
    transaction_date: Day | None
    transaction_code: str | None
    transaction_description: str | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"]
    acquired_disposed_code: str | None
    shares: int | Decimal | None
    price_per_share: int | Decimal | None
    transaction_value: int | None
    value_doubt: Literal["price_per_ads", "price_in_other_currency", "contradicts_close", "contradicts_form", "contradicts_history", "unconfirmed"] | None
    same_trade_as: str | None
    shares_owned_following: int | Decimal | None
    value_owned_following: int | Decimal | None
    total_beneficial_ownership: int | Decimal | None
    ownership_nature: str | None
    indirect_owner_name: str | None
    is_derivative: bool
    security_type: str | None
    is_common_stock: bool
    is_rule_10b5_1: bool
    rule_10b5_1_source: Literal["checkbox", "footnote", "remarks", "not_stated"]
    is_cashless_exercise: bool
    is_sell_to_cover: bool
    insider_name: str
    insider_cik: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    is_other: bool
    insider_title: str | None
    officer_title_standardized: str | None
    is_c_suite: bool
    seniority_rank: int | None
    title_category: str | None
    is_section_16_officer: bool
    is_named_executive_officer: bool | None
    ticker: str | None
    company_name: str
    sector: str | None
    industry: str | None
    issuer_cik: str
    accession_number: str
    form_type: Literal["3", "3/A", "4", "4/A", "5", "5/A"]
    filing_date: Day | None
    filed_at: Day | None
    accepted_at: Moment | None
    period_of_report: Day
    is_late: bool | None
    business_days_to_file: int | None
    is_amendment: bool
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    owner_count: int
    owners: list[InsidersTransactionsLatestDataOwners]
    percent_of_holding: int | Decimal | None
    marks: dict[str, InsidersTransactionsLatestDataMarksValue]

class InsidersInsiderInsiderCik(TypedDict, Generic[Day, Moment]):
    cik: str
    name: str
    is_entity: bool
    current_roles: list[InsidersInsiderInsiderCikCurrentRoles[Day, Moment]]
    former_roles: list[InsidersInsiderInsiderCikCurrentRoles[Day, Moment]]
    ownership_summary: InsidersInsiderInsiderCikOwnershipSummary[Day, Moment]
    total_transactions_365d: int
    total_buy_value_365d: int
    total_sell_value_365d: int
    latest_transaction_date: Day | None
    recent_transactions: list[InsidersInsiderInsiderCikRecentTransactions[Day, Moment]]

class InsidersHoldingsByTickerTickerData(TypedDict, Generic[Day, Moment]):
    holding_id: str
    security_title: str | None
    amount_owned: int | Decimal | None
    ownership_nature: str | None
    indirect_owner_name: str | None
    reported_date: Day
    is_derivative: bool
    total_beneficial_ownership: int | Decimal | None
    ticker: str | None
    company_name: str
    issuer_cik: str
    sector: str | None
    industry: str | None
    insider_name: str
    insider_cik: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    insider_title: str | None
    is_c_suite: bool
    accession_number: str
    filed_at: Day | None
    owners: list[InsidersTransactionsLatestDataOwners]
    marks: dict[str, InsidersTransactionsLatestDataMarksValue]

class InsidersHoldingsByTickerTickerMetaCompany(TypedDict):
    ticker: str | None
    name: str
    cik: str

class InsidersHoldingsByTickerTickerMetaSummary(TypedDict):
    total_shares_direct: int | Decimal | None
    total_shares_indirect: int | Decimal | None
    total_beneficial: int | Decimal | None
    classes: list[InsidersInsiderInsiderCikOwnershipSummaryClasses]
    total_insiders: int

class InsidersHoldingsByTickerTickerMeta(TypedDict):
    pagination: InsidersTransactionsLatestMetaPagination
    company: InsidersHoldingsByTickerTickerMetaCompany
    summary: InsidersHoldingsByTickerTickerMetaSummary

class InsidersHoldingsByTickerTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersHoldingsByTickerTickerData[Day, Moment]]
    meta: InsidersHoldingsByTickerTickerMeta
    request_id: str
    timestamp: Moment

class InsidersHoldingsByInsiderCikMetaOwnershipSummaryValue(TypedDict, Generic[Day, Moment]):
    total_shares_direct: int | Decimal | None
    total_shares_indirect: int | Decimal | None
    total_beneficial: int | Decimal | None
    classes: list[InsidersInsiderInsiderCikOwnershipSummaryClasses]
    ownership_vehicles: list[InsidersInsiderInsiderCikOwnershipSummaryCompaniesValueVehicles[Day, Moment]]

class InsidersHoldingsByInsiderCikMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    insider: InsidersTransactionsByInsiderCikMetaInsider
    ownership_summary: dict[str, InsidersHoldingsByInsiderCikMetaOwnershipSummaryValue[Day, Moment]]

class InsidersHoldingsByInsiderCik(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersHoldingsByTickerTickerData[Day, Moment]]
    meta: InsidersHoldingsByInsiderCikMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersHoldingsSnapshotSnapshotDateMeta(TypedDict, Generic[Day, Moment]):
    snapshot_date: Day
    pagination: InsidersTransactionsLatestMetaPagination

class InsidersHoldingsSnapshotSnapshotDate(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersHoldingsByTickerTickerData[Day, Moment]]
    meta: InsidersHoldingsSnapshotSnapshotDateMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersFilingsLatestDataIssuer(TypedDict):
    cik: str
    name: str
    trading_symbol: str | None
    sector: str | None
    industry: str | None

class InsidersFilingsLatestData(TypedDict, Generic[Day, Moment]):
    filing_id: str
    accession_number: str
    form_type: Literal["3", "3/A", "4", "4/A", "5", "5/A"]
    filed_at: Day | None
    accepted_at: Moment | None
    period_of_report: Day
    is_amendment: bool
    is_superseded: bool
    is_late: bool | None
    business_days_to_file: int | None
    issuer: InsidersFilingsLatestDataIssuer
    owner_count: int
    non_derivative_transaction_count: int
    derivative_transaction_count: int
    non_derivative_holding_count: int
    derivative_holding_count: int
    footnote_count: int
    xml_url: str | None
    index_url: str | None

class InsidersFilingsLatestMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    from_date: Day | None
    to_date: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class InsidersFilingsLatest(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersFilingsLatestData[Day, Moment]]
    meta: InsidersFilingsLatestMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersFilingsByTickerTickerMeta(TypedDict, Generic[Day, Moment]):
    pagination: InsidersTransactionsLatestMetaPagination
    company: InsidersHoldingsByTickerTickerMetaCompany
    from_date: Day | None
    to_date: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class InsidersFilingsByTickerTicker(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersFilingsLatestData[Day, Moment]]
    meta: InsidersFilingsByTickerTickerMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersFilingsAccessionNumberDataIssuer(TypedDict):
    cik: str
    name: str
    tradingSymbol: str | None
    tradingSymbolAtFiling: str | None

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle(TypedDict):
    value: str | None
    footnotes: list[str]

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction(TypedDict):
    value: int | Decimal | None
    footnotes: list[str]
    mark: InsidersTransactionsLatestDataMarksValue | None

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmounts(TypedDict):
    sharesOwnedFollowingTransaction: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    valueOwnedFollowingTransaction: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsOwnershipNature(TypedDict):
    directOrIndirectOwnership: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    natureOfOwnership: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionCoding(TypedDict):
    transactionFormType: str | None
    transactionCode: str | None
    equitySwapInvolved: bool | None
    footnotes: list[str]

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionAmounts(TypedDict):
    transactionShares: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    transactionTotalValue: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    transactionPricePerShare: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    transactionAcquiredDisposedCode: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle

class InsidersFilingsAccessionNumberDataNonDerivativeTableTransactions(TypedDict):
    securityTitle: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    postTransactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsOwnershipNature
    isSuperseded: bool
    transactionDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    deemedExecutionDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    transactionCoding: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionCoding
    transactionTimeliness: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    transactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionAmounts

class InsidersFilingsAccessionNumberDataNonDerivativeTableHoldings(TypedDict):
    securityTitle: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    postTransactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsOwnershipNature
    isSuperseded: bool

class InsidersFilingsAccessionNumberDataNonDerivativeTable(TypedDict):
    transactions: list[InsidersFilingsAccessionNumberDataNonDerivativeTableTransactions]
    holdings: list[InsidersFilingsAccessionNumberDataNonDerivativeTableHoldings]

class InsidersFilingsAccessionNumberDataDerivativeTableTransactionsUnderlyingSecurity(TypedDict):
    underlyingSecurityTitle: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    underlyingSecurityShares: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    underlyingSecurityValue: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction

class InsidersFilingsAccessionNumberDataDerivativeTableTransactions(TypedDict):
    securityTitle: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    postTransactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsOwnershipNature
    isSuperseded: bool
    transactionDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    deemedExecutionDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    transactionCoding: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionCoding
    transactionTimeliness: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    transactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsTransactionAmounts
    conversionOrExercisePrice: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    exerciseDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    expirationDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    underlyingSecurity: InsidersFilingsAccessionNumberDataDerivativeTableTransactionsUnderlyingSecurity

class InsidersFilingsAccessionNumberDataDerivativeTableHoldings(TypedDict):
    securityTitle: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    postTransactionAmounts: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmounts
    ownershipNature: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsOwnershipNature
    isSuperseded: bool
    conversionOrExercisePrice: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsPostTransactionAmountsSharesOwnedFollowingTransaction
    exerciseDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    expirationDate: InsidersFilingsAccessionNumberDataNonDerivativeTableTransactionsSecurityTitle
    underlyingSecurity: InsidersFilingsAccessionNumberDataDerivativeTableTransactionsUnderlyingSecurity

class InsidersFilingsAccessionNumberDataDerivativeTable(TypedDict):
    transactions: list[InsidersFilingsAccessionNumberDataDerivativeTableTransactions]
    holdings: list[InsidersFilingsAccessionNumberDataDerivativeTableHoldings]

class InsidersFilingsAccessionNumberDataProcessingMetadata(TypedDict, Generic[Day, Moment]):
    createdAt: Moment
    updatedAt: Moment
    processingState: str
    source: Literal["document", "data_set"]

class InsidersFilingsAccessionNumberData(TypedDict, Generic[Day, Moment]):
    id: str
    accessionNo: str
    documentType: Literal["3", "3/A", "4", "4/A", "5", "5/A"]
    filedAt: Day | None
    periodOfReport: Day
    schemaVersion: str | None
    notSubjectToSection16: bool | None
    acceptedAt: Moment | None
    noSecuritiesOwned: bool | None
    isAmendment: bool
    isSuperseded: bool
    isLate: bool | None
    businessDaysToFile: int | None
    dateOfOriginalSubmission: Day | None
    aff10b5One: bool | None
    indexUrl: str | None
    xmlUrl: str | None
    issuer: InsidersFilingsAccessionNumberDataIssuer
    reportingOwners: list[PostInsidersQueryTransactionsReportingOwner]
    nonDerivativeTable: InsidersFilingsAccessionNumberDataNonDerivativeTable
    derivativeTable: InsidersFilingsAccessionNumberDataDerivativeTable
    footnotes: list[PostInsidersQueryTransactionsFootnotes]
    remarks: str | None
    ownerSignatureName: str | None
    ownerSignatureDate: Day | None
    processingMetadata: InsidersFilingsAccessionNumberDataProcessingMetadata[Day, Moment]

class InsidersFilingsAccessionNumber(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: InsidersFilingsAccessionNumberData[Day, Moment]
    meta: dict[str, Any]
    request_id: str
    timestamp: Moment

class InsidersAggregationBySectorData(TypedDict):
    group: str | None
    transaction_count: int
    filing_count: int
    unique_insiders: int
    unique_issuers: int
    buy_count: int
    sell_count: int
    buy_value: int
    sell_value: int
    net_value: int
    doubtful_left_out: int

class InsidersAggregationBySectorMeta(TypedDict, Generic[Day, Moment]):
    total: int
    limit: int
    offset: int
    has_more: bool
    group_by: str
    filed_at_days: int | None
    transaction_days: int | None
    from_date: Day | None
    to_date: Day | None
    filed_from: Day | None
    filed_to: Day | None
    quarter: Day | None
    undated_left_out: int
    clamped: dict[str, str]

class InsidersAggregationBySector(TypedDict, Generic[Day, Moment]):
    status: Literal["success"]
    data: list[InsidersAggregationBySectorData]
    meta: InsidersAggregationBySectorMeta[Day, Moment]
    request_id: str
    timestamp: Moment

class InsidersRecommendationsDailyBuy(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str
    signal: Literal["cluster_buy", "cluster_sell"]
    insider_count: int
    total_value: int
    price_avg: int | Decimal | None
    latest_date: Day | None

class InsidersRecommendationsDailyMeta(TypedDict, Generic[Day, Moment]):
    strategy: str
    period: str
    undated_left_out: int
    doubtful_left_out: int
    generated_at: Moment

class InsidersRecommendationsDaily(TypedDict, Generic[Day, Moment]):
    buy: list[InsidersRecommendationsDailyBuy[Day, Moment]]
    sell: list[InsidersRecommendationsDailyBuy[Day, Moment]]
    meta: InsidersRecommendationsDailyMeta[Day, Moment]

class InsidersBulkFormFormTypeIndexJsonFiles(TypedDict, Generic[Day, Moment]):
    year: int
    month: int
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    generated_at: Moment

class InsidersBulkFormFormTypeIndexJson(TypedDict, Generic[Day, Moment]):
    form_type: str
    files: list[InsidersBulkFormFormTypeIndexJsonFiles[Day, Moment]]

class InsidersBulkFormFormTypeYearFilename(TypedDict, Generic[Day, Moment]):
    download_url: str
    filename: str
    row_count: int
    size_bytes: int
    sha256: str
    expires_at: Moment | None

class PostInsidersBulkFormFormTypeGenerateYearMonth(TypedDict, Generic[Day, Moment]):
    job_id: str
    queued_at: Moment
    estimated_seconds: int | None
    status: Literal["running", "completed"]

class InsidersStatsGlobalVolume(TypedDict):
    buy_volume: int
    sell_volume: int
    buy_count: int
    sell_count: int

class InsidersStatsGlobalTopTickers(TypedDict):
    ticker: str | None
    company_name: str
    total_value: int

class InsidersStatsGlobalRecentLargeTx(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    date: Day | None
    type: str
    value: int
    insider: str
    transaction_id: str

class InsidersStatsGlobalDailyTrend(TypedDict, Generic[Day, Moment]):
    date: Day | None
    buy: int
    sell: int

class InsidersStatsGlobalTopInsiders(TypedDict):
    insider: str
    insider_cik: str
    ticker: str | None
    total_value: int

class InsidersStatsGlobalRecentClusters(TypedDict, Generic[Day, Moment]):
    ticker: str | None
    company_name: str
    insiders: int
    value: int
    last_active: Day | None
    type: str

class InsidersStatsGlobal(TypedDict, Generic[Day, Moment]):
    period_days: int | None
    volume: InsidersStatsGlobalVolume
    top_tickers: list[InsidersStatsGlobalTopTickers]
    recent_large_tx: list[InsidersStatsGlobalRecentLargeTx[Day, Moment]]
    daily_trend: list[InsidersStatsGlobalDailyTrend[Day, Moment]]
    top_insiders: list[InsidersStatsGlobalTopInsiders]
    recent_clusters: list[InsidersStatsGlobalRecentClusters[Day, Moment]]
    doubtful_left_out: int
    undated_left_out: int
    clamped: dict[str, str]
    days: int | None

class PostSqlProxy(TypedDict, Generic[Day, Moment]):
    success: Literal[True]
    data: list[dict[str, Any]]
    columns: list[str]
    row_count: int
    truncated: bool
    request_id: str
    timestamp: Moment

class GetStatusHistoryGiven(CallOptions, total=False):
    service: Literal["main_api", "insider_api", "insider_module", "postgres_db", "redis", "sec_worker", "sec_13f_worker", "13f_worker", "news_daemon", "sec_gateway", "frontend", "sec_watchdog"] | None
    days: int | None
    resolution: Literal["hourly", "daily"] | None

class PostAuthRedeemInviteGiven(CallOptions, total=False):
    invite_code: str | None
    code: str | None

class PostAuthRegisterGiven(CallOptions, total=False):
    email: Required[str]
    password: Required[str]
    invite_token: Required[str]

class GetAuthVerifyEmailGiven(CallOptions, total=False):
    token: Required[str]

class PostAuthResendVerificationGiven(CallOptions, total=False):
    email: Required[str]

class PostAuthLoginGiven(CallOptions, total=False):
    email: Required[str]
    password: Required[str]

class PostAuthForgetpasswordGiven(CallOptions, total=False):
    email: Required[str]

class PutAuthNewpasswordGiven(CallOptions, total=False):
    token: Required[str]
    newpassword: Required[str]
    replace_credentials: bool | None
    remove_receivers: bool | None

class PutUserGiven(CallOptions, total=False):
    webhook_url: str | None | None
    notify_email: bool | None
    notify_browser: bool | None
    webhook_topics: Sequence[Literal["sniper.window_expired", "insider.transaction.created", "13f.holdings.updated", "ownership.filing.created", "insider.proposed_sale.created", "nport.report.created"]] | None

class DeleteUserGiven(CallOptions, total=False):
    password: Required[str]

class PutUserPasswordGiven(CallOptions, total=False):
    password: Required[str]
    newpassword: Required[str]

class PostUserEmailGiven(CallOptions, total=False):
    password: Required[str]
    email: Required[str]

class PostSniperTargetsGiven(CallOptions, total=False):
    idempotency_key: str
    ticker: Required[str]
    duration_minutes: int | None | None
    start_time: str | None | None
    end_time: str | None | None
    form_types: Sequence[str] | None | None
    webhook_url: str | None | None

class GetSniperTargetsGiven(CallOptions, total=False):
    status: Literal["CREATED", "ACTIVE", "STOPPED"] | None
    ticker: str | None
    limit: int | None
    offset: int | None

class PostSniperTargetsTargetIdStopGiven(CallOptions, total=False):
    target_id: Required[str]
    idempotency_key: str

class GetWebhooksDeliveriesGiven(CallOptions, total=False):
    status: Literal["pending", "sending", "retry_pending", "delivered", "dropped"] | None
    event_type: Literal["sniper.filing_hit", "sniper.window_expired", "insider.transaction.created", "13f.holdings.updated", "ownership.filing.created", "insider.proposed_sale.created", "nport.report.created", "finapi.test"] | None
    limit: int | None
    offset: int | None
    cursor: str | None

class PostWebhooksDeliveriesDeliveryIdRedeliverGiven(CallOptions, total=False):
    delivery_id: Required[str]
    idempotency_key: str

class PostWebhooksTestGiven(CallOptions, total=False):
    idempotency_key: str
    url: str | None | None

class GetAccountUsageGiven(CallOptions, total=False):
    days: int | None

class GetAccountTransactionsGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    cursor: int | None

class PostBillingQuotaGiven(CallOptions, total=False):
    idempotency_key: str
    amount_dollars: Required[float | Decimal]

class GetBillingHistoryGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None

class GetEventsGiven(CallOptions, total=False):
    feed: Required[Literal["main-api", "insider-api", "13f-live"]]
    since_seq: int | None
    epoch: int | None
    limit: int | None
    offset: int | None

class GetXbrlCompaniesTickerStatementsGiven(CallOptions, total=False):
    ticker: Required[str]
    period: Literal["A", "Q"] | None
    form_type: str | None
    year: int | None
    as_of: str | date | None
    basis: Literal["latest", "original"] | None
    statement: Sequence[Literal["income", "balance", "cash-flow", "comprehensive-income", "equity", "other", "income-parenthetical", "balance-parenthetical", "cash-flow-parenthetical", "comprehensive-income-parenthetical", "equity-parenthetical", "other-parenthetical", "StatementsOfIncome", "StatementsOfOperations", "StatementsOfEarnings", "IncomeStatement", "StatementsOfFinancialPosition", "BalanceSheets", "BalanceSheet", "StatementsOfFinancialCondition", "balance_sheet", "StatementsOfCashFlows", "CashFlowStatement", "CashFlows", "StatementsOfComprehensiveIncome", "ComprehensiveIncome", "StatementsOfStockholdersEquity", "StatementsOfShareholdersEquity", "StatementsOfEquity", "StatementsOfChangesInEquity", "OtherStatements", "StatementsOfIncomeParenthetical", "StatementsOfOperationsParenthetical", "StatementsOfEarningsParenthetical", "IncomeStatementParenthetical", "StatementsOfFinancialPositionParenthetical", "BalanceSheetsParenthetical", "BalanceSheetParenthetical", "StatementsOfFinancialConditionParenthetical", "balance_sheetParenthetical", "StatementsOfCashFlowsParenthetical", "CashFlowStatementParenthetical", "CashFlowsParenthetical", "cash_flowParenthetical", "StatementsOfComprehensiveIncomeParenthetical", "ComprehensiveIncomeParenthetical", "comprehensive_incomeParenthetical", "StatementsOfStockholdersEquityParenthetical", "StatementsOfShareholdersEquityParenthetical", "StatementsOfEquityParenthetical", "StatementsOfChangesInEquityParenthetical", "OtherStatementsParenthetical"]] | str | None
    consolidated_only: bool | None

class GetXbrlFilingAccessionStatementsGiven(CallOptions, total=False):
    accession: Required[str]
    statement: Sequence[Literal["income", "balance", "cash-flow", "comprehensive-income", "equity", "other", "income-parenthetical", "balance-parenthetical", "cash-flow-parenthetical", "comprehensive-income-parenthetical", "equity-parenthetical", "other-parenthetical", "StatementsOfIncome", "StatementsOfOperations", "StatementsOfEarnings", "IncomeStatement", "StatementsOfFinancialPosition", "BalanceSheets", "BalanceSheet", "StatementsOfFinancialCondition", "balance_sheet", "StatementsOfCashFlows", "CashFlowStatement", "CashFlows", "StatementsOfComprehensiveIncome", "ComprehensiveIncome", "StatementsOfStockholdersEquity", "StatementsOfShareholdersEquity", "StatementsOfEquity", "StatementsOfChangesInEquity", "OtherStatements", "StatementsOfIncomeParenthetical", "StatementsOfOperationsParenthetical", "StatementsOfEarningsParenthetical", "IncomeStatementParenthetical", "StatementsOfFinancialPositionParenthetical", "BalanceSheetsParenthetical", "BalanceSheetParenthetical", "StatementsOfFinancialConditionParenthetical", "balance_sheetParenthetical", "StatementsOfCashFlowsParenthetical", "CashFlowStatementParenthetical", "CashFlowsParenthetical", "cash_flowParenthetical", "StatementsOfComprehensiveIncomeParenthetical", "ComprehensiveIncomeParenthetical", "comprehensive_incomeParenthetical", "StatementsOfStockholdersEquityParenthetical", "StatementsOfShareholdersEquityParenthetical", "StatementsOfEquityParenthetical", "StatementsOfChangesInEquityParenthetical", "OtherStatementsParenthetical"]] | str | None
    consolidated_only: bool | None
    as_of: str | date | None

class GetForm13fFundCikGiven(CallOptions, total=False):
    cik: Required[str]
    period: str | date | None
    limit: int | None
    offset: int | None
    include_options: bool | None
    options_only: bool | None
    include_analytics: bool | None
    include_activity: bool | None
    sort_by: Literal["value", "shares", "name", "ticker", "change", "flow", "value_usd", "market_value", "pct_of_portfolio", "percent_portfolio", "name_of_issuer", "issuer", "symbol", "change_shares"] | None
    sort_order: Literal["asc", "desc"] | None
    status: Literal["all", "new", "increased", "decreased", "unchanged", "closed"] | None
    q: str | None
    as_of: str | date | None

class GetForm13fFundCikPeriodsGiven(CallOptions, total=False):
    cik: Required[str]
    as_of: str | date | None

class GetForm13fFundCikCusipCusipHistoryGiven(CallOptions, total=False):
    cik: Required[str]
    cusip: Required[str]
    as_of: str | date | None

class GetForm13fFundCikHoldingsAnalyticsGiven(CallOptions, total=False):
    cik: Required[str]
    sort_by: Literal["market_value", "cost_basis", "unrealized_pnl", "unrealized_pnl_pct", "holding_period_days", "shares", "ticker", "name"] | None
    order: Literal["asc", "desc"] | None
    limit: int | None
    offset: int | None

class PostForm13fFundBulkGiven(CallOptions, total=False):
    period: str | date | None
    detail: Literal["summary", "full"] | None
    size: int | None
    from_: int | None
    ciks: Required[Sequence[str]]

class GetForm13fFundsGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    cursor: str | None

class GetForm13fSearchGiven(CallOptions, total=False):
    q: str | None
    limit: int | None
    offset: int | None

class GetForm13fFilersGiven(CallOptions, total=False):
    q: str | None
    limit: int | None
    offset: int | None

class GetForm13fLatestGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    cik: str | None
    since: str | date | None

class GetForm13fFilingStatsGiven(CallOptions, total=False):
    period: str | date | None

class GetForm13fFilingProgressGiven(CallOptions, total=False):
    quarter: str | date | None

class PostForm13fHoldingsGiven(CallOptions, total=False):
    query: Required[str]
    from_: int | None
    size: int | None
    sort: Literal["value", "shares", "name", "ticker", "change", "flow", "value_usd", "market_value", "pct_of_portfolio", "percent_portfolio", "name_of_issuer", "issuer", "symbol", "change_shares"] | None
    includeChanges: bool | None

class PostForm13fCoverPagesGiven(CallOptions, total=False):
    query: Required[str]
    from_: int | None
    size: int | None
    sort: Literal["filed_date", "filedAt", "filed_at"] | None

class GetForm13fHoldingsSearchGiven(CallOptions, total=False):
    q: Required[str]
    limit: int | None
    offset: int | None
    period: str | date | None

class GetForm13fMovesGiven(CallOptions, total=False):
    period: str | date | None
    status: Literal["new", "increased", "decreased", "closed"] | None
    cik: str | None
    limit: int | None
    offset: int | None

class GetForm13fOverlapGiven(CallOptions, total=False):
    ciks: Required[Sequence[str] | str]
    period: str | date | None
    limit: int | None
    offset: int | None

class GetForm13fAggregationBasketHoldingsGiven(CallOptions, total=False):
    ciks: Required[Sequence[str] | str]
    period: Required[str | date]
    compare_period: str | date | None
    sort_by: Literal["value", "funds", "shares", "change", "value_usd", "funds_holding", "fund_count", "share_change"] | None
    sort_order: Literal["asc", "desc"] | None
    size: str | None
    offset: int | None

class GetForm13fAggregationByTickerGiven(CallOptions, total=False):
    quarter: str | None
    sort_by: Literal["fund_flow", "total_value", "fund_count", "fund_change", "share_change", "ticker", "name", "flow", "value", "total_institutional_value", "holders", "unique_fund_count"] | None
    sort_order: Literal["asc", "desc"] | None
    limit: int | None
    offset: int | None
    security_group: Literal["Stocks", "ETFs", "Preferred", "Warrants", "Debt", "Other"] | None
    is_etf: bool | None
    sector: str | None
    industry: str | None
    search: str | None
    min_total_value: float | Decimal | None
    max_total_value: float | Decimal | None
    min_fund_flow: float | Decimal | None
    max_fund_flow: float | Decimal | None
    min_fund_count: float | Decimal | None
    max_fund_count: float | Decimal | None
    min_fund_change: float | Decimal | None
    max_fund_change: float | Decimal | None
    min_share_change: float | Decimal | None
    max_share_change: float | Decimal | None
    include_ranges: bool | None

class GetForm13fAggregationBySectorGiven(CallOptions, total=False):
    quarter: str | None
    compare: str | None
    industry_limit: int | None
    sort: Literal["fund_flow", "total_value", "fund_count", "flow", "value", "total_institutional_value", "holders", "unique_fund_count"] | None

class GetForm13fAggregationByIndustryGiven(CallOptions, total=False):
    quarter: str | None
    compare: str | None
    limit: int | None
    offset: int | None
    sort_by: Literal["fund_flow", "total_value", "fund_count", "flow", "value", "total_institutional_value", "holders", "unique_fund_count"] | None
    sector: str | None

class GetForm13fFundPerformanceGiven(CallOptions, total=False):
    quarter: str | date | None
    cik: str | None
    q: str | None
    has_returns: bool | None
    sort_by: Literal["portfolio_return_pct", "portfolio_value", "holdings_count", "price_coverage_pct"] | None
    sort_order: Literal["asc", "desc"] | None
    limit: int | None
    offset: int | None
    min_holdings: int | None
    min_aum: float | Decimal | None
    include_all: bool | None

class GetForm13fMarketRotationGiven(CallOptions, total=False):
    quarter: str | None
    compare: str | None

class GetForm13fCrossFilingSignalsGiven(CallOptions, total=False):
    quarter: str | None
    window_before: int | None
    window_after: int | None
    limit: int | None
    offset: int | None
    min_insider_buyers: int | None
    min_fund_flow: float | Decimal | None

class GetOwnershipBeneficialOwnershipFilingsGiven(CallOptions, total=False):
    issuerCik: str | None
    issuerTicker: str | None
    filerCik: str | None
    filerName: str | None
    formType: Literal["13D", "13G", "13D/A", "13G/A", "SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"] | None
    minOwnership: float | Decimal | None
    dateFrom: str | date | None
    dateTo: str | date | None
    isAmendment: bool | None
    isConversion: bool | None
    sort: Literal["filedAt", "percentOfClass", "asc", "desc"] | None
    order: Literal["asc", "desc"] | None
    page: int | None
    size: int | None
    include: Sequence[Literal["positions"]] | str | None
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipFilingsAccessionGiven(CallOptions, total=False):
    accession: Required[str]
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipIssuersCikSummaryGiven(CallOptions, total=False):
    cik: Required[str]
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipFilersCikPortfolioGiven(CallOptions, total=False):
    cik: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipActivistsGiven(CallOptions, total=False):
    issuerTicker: str | None
    filerName: str | None
    minOwnership: float | Decimal | None
    dateFrom: str | date | None
    dateTo: str | date | None
    purposeCategory: Literal["intends_to_acquire", "opposes_management", "board_seat_demand", "seeks_sale_or_merger"] | None
    page: int | None
    size: int | None
    as_of: str | date | None

class GetOwnershipAnalyticsThresholdCrossingsGiven(CallOptions, total=False):
    issuerTicker: str | None
    threshold: Literal["5", "10", "15", "20", "25", "50"] | None
    direction: Literal["up", "down", "buy", "sell"] | None
    dateFrom: str | date | None
    dateTo: str | date | None
    page: int | None
    size: int | None
    as_of: str | date | None

class PostForm13dGiven(CallOptions, total=False):
    query: Any | None
    from_: int | None
    size: int | None
    sort: Literal["filedAt", "percentOfClass"] | None
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipConversionsGiven(CallOptions, total=False):
    dateFrom: str | date | None
    page: int | None
    size: int | None
    as_of: str | date | None

class GetOwnershipBeneficialOwnershipGroupsGiven(CallOptions, total=False):
    issuerCik: str | None
    activeOnly: bool | None
    page: int | None
    size: int | None
    as_of: str | date | None

class GetOwnershipHoldersGiven(CallOptions, total=False):
    q: str | None
    cik: str | None
    type: Literal["institutional", "insider", "beneficial_owner"] | None
    page: int | None
    size: int | None
    as_of: str | date | None

class GetOwnershipHoldersUuidGiven(CallOptions, total=False):
    uuid: Required[str]
    as_of: str | date | None

class GetOwnershipHoldersUuidFilingHistoryGiven(CallOptions, total=False):
    uuid: Required[str]
    sourceType: Literal["form_4", "form_13f", "form_13dg", "form_144", "form_13d", "form_13g", "13F", "13D", "13G", "144"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipCrossReferenceHolderUuidGiven(CallOptions, total=False):
    holder_uuid: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipPositionsHolderUuidIssuerIssuerCikGiven(CallOptions, total=False):
    holder_uuid: Required[str]
    issuer_cik: Required[str]
    asOfDate: str | date | None
    as_of: str | date | None

class GetOwnershipPositionsHolderUuidIssuerIssuerCikHistoryGiven(CallOptions, total=False):
    holder_uuid: Required[str]
    issuer_cik: Required[str]
    startDate: str | date | None
    endDate: str | date | None
    sourceType: Literal["form_4", "form_13f", "form_13dg", "form_144", "form_13d", "form_13g", "13F", "13D", "13G", "144"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipPositionsIssuerIssuerCikHoldersGiven(CallOptions, total=False):
    issuer_cik: Required[str]
    limit: int | None
    offset: int | None

class GetOwnershipPositionsIssuerIssuerCikTimelineGiven(CallOptions, total=False):
    issuer_cik: Required[str]
    startDate: str | date | None
    endDate: str | date | None
    source: Literal["form_4", "form_13f", "form_13dg", "form_144", "form_13d", "form_13g", "13F", "13D", "13G", "144"] | None
    limit: int | None
    offset: int | None

class GetOwnershipAnalyticsOwnershipConcentrationCikGiven(CallOptions, total=False):
    cik: Required[str]

class GetOwnershipAggregationByTickerGiven(CallOptions, total=False):
    dateFrom: str | date | None
    dateTo: str | date | None
    days: int | None
    formType: Literal["13D", "13G", "13D/A", "13G/A", "SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"] | None
    minOwnership: float | Decimal | None
    maxOwnership: float | Decimal | None
    direction: Literal["increase", "decrease", "unchanged", "up", "buy", "down", "sell"] | None
    minPercentChange: float | Decimal | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipAggregationBySectorGiven(CallOptions, total=False):
    dateFrom: str | date | None
    dateTo: str | date | None
    days: int | None
    formType: Literal["13D", "13G", "13D/A", "13G/A", "SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"] | None
    minOwnership: float | Decimal | None
    maxOwnership: float | Decimal | None
    direction: Literal["increase", "decrease", "unchanged", "up", "buy", "down", "sell"] | None
    minPercentChange: float | Decimal | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetOwnershipAggregationByIndustryGiven(CallOptions, total=False):
    dateFrom: str | date | None
    dateTo: str | date | None
    days: int | None
    formType: Literal["13D", "13G", "13D/A", "13G/A", "SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A", "SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"] | None
    minOwnership: float | Decimal | None
    maxOwnership: float | Decimal | None
    direction: Literal["increase", "decrease", "unchanged", "up", "buy", "down", "sell"] | None
    minPercentChange: float | Decimal | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetTickersAutocompleteGiven(CallOptions, total=False):
    q: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetTickersTickerHoldersGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None
    status: Literal["all", "new", "increased", "decreased", "unchanged", "closed"] | None
    period: str | date | None
    quarters: int | None

class GetTickersTickerFundTrendsGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None

class GetTickersTickerOverviewGiven(CallOptions, total=False):
    ticker: Required[str]
    as_of: str | date | None

class GetCusipLookupCusipGiven(CallOptions, total=False):
    cusip: Required[str]

class GetCusipTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]

class PostCusipBatchGiven(CallOptions, total=False):
    cusips: Required[Sequence[str]]

class GetCusipChainCusipGiven(CallOptions, total=False):
    cusip: Required[str]

class GetCusipCikCikGiven(CallOptions, total=False):
    cik: Required[str]
    limit: int | None
    offset: int | None

class GetCusipCusip6Cusip6Given(CallOptions, total=False):
    cusip6: Required[str]
    limit: int | None
    offset: int | None

class GetCusipSearchGiven(CallOptions, total=False):
    q: Required[str]
    limit: int | None
    offset: int | None

class GetSecFilingsGiven(CallOptions, total=False):
    ticker: Sequence[str] | str | None
    cik: Sequence[str] | str | None
    form_type: Sequence[str] | str | None
    q: str | None
    items: Sequence[str] | str | None
    exhibits: Sequence[str] | str | None
    from_date: str | date | None
    to_date: str | date | None
    sort: Literal["filed_date:desc", "filed_date:asc", "filed_at:desc", "filed_at:asc", "desc", "asc"] | None
    limit: int | None
    offset: int | None
    cursor: str | None
    include_total: bool | None
    as_of: str | date | None

class GetSecFilingsSearchGiven(CallOptions, total=False):
    q: Required[str]
    ticker: Sequence[str] | str | None
    cik: Sequence[str] | str | None
    form_type: Sequence[str] | str | None
    from_date: str | date | None
    to_date: str | date | None
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetSecFilingsStatsGiven(CallOptions, total=False):
    as_of: str | date | None

class GetSecFilingsAccessionNumberGiven(CallOptions, total=False):
    accession_number: Required[str]
    as_of: str | date | None

class GetSecFilingsAccessionNumberHtmlGiven(CallOptions, total=False):
    accession_number: Required[str]
    offset: int | None
    length: int | None
    max_bytes: int | None
    plain: bool | None
    as_of: str | date | None

class GetSecFilingsAccessionNumberDocumentsDocumentGiven(CallOptions, total=False):
    accession_number: Required[str]
    document: Required[str]
    offset: int | None
    length: int | None
    max_bytes: int | None
    plain: bool | None
    as_of: str | date | None

class GetSecDocumentGiven(CallOptions, total=False):
    url: Required[str]
    raw: Literal["false", "0"] | None
    as_of: str | date | None

class GetXbrlBulkGiven(CallOptions, total=False):
    dataset: Literal["facts", "filings", "holdings", "nport", "form-3", "form-4", "form-5", "form-144", "beneficial-ownership"] | None

class GetXbrlBulkFilenameGiven(CallOptions, total=False):
    filename: Required[str]

class GetXbrlBulkFactsFilenameGiven(CallOptions, total=False):
    filename: Required[str]

class GetSecFormsGiven(CallOptions, total=False):
    q: str | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetSecFormsFormTypeGiven(CallOptions, total=False):
    form_type: Required[str]
    as_of: str | date | None

class GetSecEntitiesGiven(CallOptions, total=False):
    form_type: str | None
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetFilingsGiven(CallOptions, total=False):
    ticker: Sequence[str] | str | None
    cik: Sequence[str] | str | None
    form_type: Sequence[str] | str | None
    q: str | None
    from_date: str | date | None
    to_date: str | date | None
    limit: int | None
    cursor: str | None
    as_of: str | date | None

class GetIndexGiven(CallOptions, total=False):
    date: Required[str | date]
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetXbrlFilingAccessionIndexGiven(CallOptions, total=False):
    accession: Required[str]
    as_of: str | date | None

class GetXbrlFilingsDiffGiven(CallOptions, total=False):
    a: Required[str]
    b: Required[str]
    statement: Sequence[Literal["income", "balance", "cash-flow", "comprehensive-income", "equity", "other", "income-parenthetical", "balance-parenthetical", "cash-flow-parenthetical", "comprehensive-income-parenthetical", "equity-parenthetical", "other-parenthetical", "StatementsOfIncome", "StatementsOfOperations", "StatementsOfEarnings", "IncomeStatement", "StatementsOfFinancialPosition", "BalanceSheets", "BalanceSheet", "StatementsOfFinancialCondition", "balance_sheet", "StatementsOfCashFlows", "CashFlowStatement", "CashFlows", "StatementsOfComprehensiveIncome", "ComprehensiveIncome", "StatementsOfStockholdersEquity", "StatementsOfShareholdersEquity", "StatementsOfEquity", "StatementsOfChangesInEquity", "OtherStatements", "StatementsOfIncomeParenthetical", "StatementsOfOperationsParenthetical", "StatementsOfEarningsParenthetical", "IncomeStatementParenthetical", "StatementsOfFinancialPositionParenthetical", "BalanceSheetsParenthetical", "BalanceSheetParenthetical", "StatementsOfFinancialConditionParenthetical", "balance_sheetParenthetical", "StatementsOfCashFlowsParenthetical", "CashFlowStatementParenthetical", "CashFlowsParenthetical", "cash_flowParenthetical", "StatementsOfComprehensiveIncomeParenthetical", "ComprehensiveIncomeParenthetical", "comprehensive_incomeParenthetical", "StatementsOfStockholdersEquityParenthetical", "StatementsOfShareholdersEquityParenthetical", "StatementsOfEquityParenthetical", "StatementsOfChangesInEquityParenthetical", "OtherStatementsParenthetical"]] | str | None
    consolidated_only: bool | None
    as_of: str | date | None

class GetXbrlFactsGiven(CallOptions, total=False):
    accession: str | None
    cik: str | None
    as_of: str | date | None
    tag: Sequence[str] | str | None
    dims: Sequence[str] | str | None
    consolidated_only: bool | None
    amendments: Literal["current", "all"] | None
    limit: int | None
    offset: int | None

class GetXbrlCoverageGiven(CallOptions, total=False):
    ticker: str | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetXbrlSearchGiven(CallOptions, total=False):
    q: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetFactsGiven(CallOptions, total=False):
    ticker: str | None
    accession_number: str | None
    concept: Sequence[str] | str | None
    form_type: str | None
    date_from: str | date | None
    date_to: str | date | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetFactsByConceptGiven(CallOptions, total=False):
    concept: Required[str]
    ticker: str | None
    date_from: str | date | None
    date_to: str | date | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class PostFactsAggregateGiven(CallOptions, total=False):
    concept: Required[str]
    period: Required[str | int]
    sector: Literal["Agriculture, Forestry and Fishing", "Mining", "Construction", "Manufacturing", "Transportation, Communications and Utilities", "Wholesale Trade", "Retail Trade", "Finance, Insurance and Real Estate", "Services", "Public Administration", "Nonclassifiable", "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "Consumer Defensive", "Basic Materials", "Energy", "Industrials", "Consumer Cyclical", "Communication Services", "Healthcare", "Technology", "Utilities", "Financial Services", "Real Estate", None] | None
    tickers: Sequence[str] | None | None
    as_of: str | date | None

class GetPricesTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    from_: str | date | None
    to: str | date | None
    adjusted: bool | None
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetXbrlTimeseriesGiven(CallOptions, total=False):
    ticker: str | None
    cik: str | None
    metrics: Sequence[str] | str | None
    ratios: bool | None
    period: Literal["A", "Q", "TTM", "YTD"] | None
    years: str | None
    provenance: Literal["none", "summary", "full"] | None
    basis: Literal["latest", "original"] | None
    as_of: str | date | None
    currency: str | None
    adjusted: bool | None
    q4: Literal["reported", "estimated"] | None
    calendar: bool | None
    template: bool | None
    period_offset: int | None
    limit: int | None
    offset: int | None
    cursor: str | None
    layout: Literal["wide", "long"] | None

class GetXbrlDictionaryGiven(CallOptions, total=False):
    kind: Literal["primitive", "derived", "ratio", "template_slot", "reason"] | None
    statement: Literal["income_statement", "balance_sheet", "cash_flow_statement", "comprehensive_income", "analytic", "derived", "other"] | None
    metric: str | None

class GetXbrlProofGiven(CallOptions, total=False):
    ticker: str | None
    cik: str | None
    metric: Required[Literal["revenue", "cost_of_revenue", "fuel_and_purchased_power", "gross_profit", "research_and_development", "selling_general_admin", "operating_expenses", "operating_income", "interest_expense", "interest_income", "nonoperating_income_expense", "equity_method_earnings", "pretax_income", "income_tax", "discontinued_operations", "minority_interest_income", "net_income", "preferred_dividends", "net_income_to_common", "eps_basic", "eps_diluted", "weighted_average_shares_basic", "weighted_average_shares_diluted", "dividends_per_share", "net_interest_income", "provision_for_credit_losses", "noninterest_income", "noninterest_expense", "premiums_earned", "net_investment_income", "benefits_and_claims", "rental_revenue", "cash_and_equivalents", "short_term_investments", "accounts_receivable", "inventory", "total_current_assets", "ppe_net", "real_estate_net", "goodwill", "intangibles_ex_goodwill", "long_term_investments", "loans_net", "total_assets", "accounts_payable", "deferred_revenue", "short_term_debt", "total_current_liabilities", "long_term_debt", "total_debt", "operating_lease_liability", "total_deposits", "total_liabilities", "common_stock_par", "common_stock_with_capital", "additional_paid_in_capital", "retained_earnings", "treasury_stock", "accumulated_oci", "preferred_equity", "minority_interest", "total_equity", "temporary_equity", "shares_outstanding", "operating_cashflow", "depreciation_amortization", "stock_based_compensation", "capex", "acquisitions", "investing_cashflow", "dividends_paid", "share_repurchases", "stock_issuance", "debt_issued", "debt_repaid", "financing_cashflow", "discontinued_cashflow", "effect_of_fx_on_cash", "net_change_in_cash", "cash_at_beginning_of_period", "cash_at_end_of_period", "other_comprehensive_income", "comprehensive_income", "free_cashflow", "ebitda", "net_debt", "working_capital", "invested_capital", "gross_margin", "operating_margin", "net_margin", "ebitda_margin", "fcf_margin", "rd_intensity", "sga_ratio", "roa", "roe", "roce", "roic", "revenue_growth_yoy", "revenue_growth_yoy_q", "revenue_growth_sequential", "eps_growth_yoy", "eps_growth_yoy_q", "eps_growth_sequential", "current_ratio", "quick_ratio", "cash_ratio", "wc_to_revenue", "monthly_burn_rate", "cash_runway", "debt_to_equity", "lt_debt_to_equity", "liabilities_to_equity", "debt_to_assets", "debt_to_capital", "debt_to_ebitda", "net_debt_to_ebitda", "interest_coverage", "asset_turnover", "fixed_asset_turnover", "inventory_turnover", "receivables_turnover", "dio", "dso", "operating_cycle", "capex_to_revenue", "capex_to_depreciation", "fcf_to_ni", "ocf_to_ni", "payout_ratio", "retention_ratio", "book_value_per_share", "cash_per_share", "dividend_per_share", "fcf_per_share", "ocf_per_share", "revenue_per_share", "market_cap", "ev", "pe_ratio", "earnings_yield", "price_to_book", "price_to_tangible_book", "price_to_sales", "price_to_fcf", "fcf_yield", "dividend_yield", "shareholder_yield", "ev_to_sales", "ev_to_ebit", "ev_to_ebitda", "ev_to_fcf"]]
    period: Literal["A", "Q", "TTM", "YTD"] | None
    fiscal_year: int | None
    fiscal_period: str | None
    period_end: str | date | None
    basis: Literal["latest", "original"] | None
    as_of: str | date | None
    currency: str | None
    q4: Literal["reported", "estimated"] | None

class PostXbrlTimeseriesBatchGiven(CallOptions, total=False):
    tickers: Sequence[str] | None
    ciks: Sequence[str] | None
    metrics: Sequence[str] | None
    period: Literal["A", "Q", "TTM", "YTD"] | None
    years: str | int | None
    provenance: Literal["none", "summary", "full"] | None
    basis: Literal["latest", "original"] | None
    as_of: str | date | None
    ratios: bool | None
    adjusted: bool | None
    q4: Literal["reported", "estimated"] | None
    calendar: bool | None
    template: bool | None
    limit: int | None
    offset: int | None
    cursor: str | None

class PostClaimsGiven(CallOptions, total=False):
    claims: Required[Sequence[Any]]
    receipt: bool | None
    as_of: str | date | None

class PostClaimsReceiptsVerifyGiven(CallOptions, total=False):
    receipts: Required[Sequence[Any]]

class GetXbrlSegmentsGiven(CallOptions, total=False):
    ticker: str | None
    cik: str | None
    axis: str | None
    concept: str | None
    metric: str | None
    period: Literal["A", "Q"] | None
    years: str | None
    as_of: str | date | None
    basis: Literal["latest", "original"] | None

class GetXbrlShareClassesGiven(CallOptions, total=False):
    ticker: str | None
    cik: str | None
    as_of: str | date | None
    basis: Literal["latest", "original"] | None

class GetXbrlScreenGiven(CallOptions, total=False):
    free_cashflow_gt: float | Decimal | None
    free_cashflow_lt: float | Decimal | None
    ebitda_gt: float | Decimal | None
    ebitda_lt: float | Decimal | None
    net_debt_gt: float | Decimal | None
    net_debt_lt: float | Decimal | None
    working_capital_gt: float | Decimal | None
    working_capital_lt: float | Decimal | None
    invested_capital_gt: float | Decimal | None
    invested_capital_lt: float | Decimal | None
    gross_margin_gt: float | Decimal | None
    gross_margin_lt: float | Decimal | None
    operating_margin_gt: float | Decimal | None
    operating_margin_lt: float | Decimal | None
    net_margin_gt: float | Decimal | None
    net_margin_lt: float | Decimal | None
    ebitda_margin_gt: float | Decimal | None
    ebitda_margin_lt: float | Decimal | None
    fcf_margin_gt: float | Decimal | None
    fcf_margin_lt: float | Decimal | None
    rd_intensity_gt: float | Decimal | None
    rd_intensity_lt: float | Decimal | None
    sga_ratio_gt: float | Decimal | None
    sga_ratio_lt: float | Decimal | None
    roa_gt: float | Decimal | None
    roa_lt: float | Decimal | None
    roe_gt: float | Decimal | None
    roe_lt: float | Decimal | None
    roce_gt: float | Decimal | None
    roce_lt: float | Decimal | None
    roic_gt: float | Decimal | None
    roic_lt: float | Decimal | None
    revenue_growth_yoy_gt: float | Decimal | None
    revenue_growth_yoy_lt: float | Decimal | None
    revenue_growth_yoy_q_gt: float | Decimal | None
    revenue_growth_yoy_q_lt: float | Decimal | None
    revenue_growth_sequential_gt: float | Decimal | None
    revenue_growth_sequential_lt: float | Decimal | None
    eps_growth_yoy_gt: float | Decimal | None
    eps_growth_yoy_lt: float | Decimal | None
    eps_growth_yoy_q_gt: float | Decimal | None
    eps_growth_yoy_q_lt: float | Decimal | None
    eps_growth_sequential_gt: float | Decimal | None
    eps_growth_sequential_lt: float | Decimal | None
    current_ratio_gt: float | Decimal | None
    current_ratio_lt: float | Decimal | None
    quick_ratio_gt: float | Decimal | None
    quick_ratio_lt: float | Decimal | None
    cash_ratio_gt: float | Decimal | None
    cash_ratio_lt: float | Decimal | None
    wc_to_revenue_gt: float | Decimal | None
    wc_to_revenue_lt: float | Decimal | None
    monthly_burn_rate_gt: float | Decimal | None
    monthly_burn_rate_lt: float | Decimal | None
    cash_runway_gt: float | Decimal | None
    cash_runway_lt: float | Decimal | None
    debt_to_equity_gt: float | Decimal | None
    debt_to_equity_lt: float | Decimal | None
    lt_debt_to_equity_gt: float | Decimal | None
    lt_debt_to_equity_lt: float | Decimal | None
    liabilities_to_equity_gt: float | Decimal | None
    liabilities_to_equity_lt: float | Decimal | None
    debt_to_assets_gt: float | Decimal | None
    debt_to_assets_lt: float | Decimal | None
    debt_to_capital_gt: float | Decimal | None
    debt_to_capital_lt: float | Decimal | None
    debt_to_ebitda_gt: float | Decimal | None
    debt_to_ebitda_lt: float | Decimal | None
    net_debt_to_ebitda_gt: float | Decimal | None
    net_debt_to_ebitda_lt: float | Decimal | None
    interest_coverage_gt: float | Decimal | None
    interest_coverage_lt: float | Decimal | None
    asset_turnover_gt: float | Decimal | None
    asset_turnover_lt: float | Decimal | None
    fixed_asset_turnover_gt: float | Decimal | None
    fixed_asset_turnover_lt: float | Decimal | None
    inventory_turnover_gt: float | Decimal | None
    inventory_turnover_lt: float | Decimal | None
    receivables_turnover_gt: float | Decimal | None
    receivables_turnover_lt: float | Decimal | None
    dio_gt: float | Decimal | None
    dio_lt: float | Decimal | None
    dso_gt: float | Decimal | None
    dso_lt: float | Decimal | None
    operating_cycle_gt: float | Decimal | None
    operating_cycle_lt: float | Decimal | None
    capex_to_revenue_gt: float | Decimal | None
    capex_to_revenue_lt: float | Decimal | None
    capex_to_depreciation_gt: float | Decimal | None
    capex_to_depreciation_lt: float | Decimal | None
    fcf_to_ni_gt: float | Decimal | None
    fcf_to_ni_lt: float | Decimal | None
    ocf_to_ni_gt: float | Decimal | None
    ocf_to_ni_lt: float | Decimal | None
    payout_ratio_gt: float | Decimal | None
    payout_ratio_lt: float | Decimal | None
    retention_ratio_gt: float | Decimal | None
    retention_ratio_lt: float | Decimal | None
    book_value_per_share_gt: float | Decimal | None
    book_value_per_share_lt: float | Decimal | None
    cash_per_share_gt: float | Decimal | None
    cash_per_share_lt: float | Decimal | None
    dividend_per_share_gt: float | Decimal | None
    dividend_per_share_lt: float | Decimal | None
    fcf_per_share_gt: float | Decimal | None
    fcf_per_share_lt: float | Decimal | None
    ocf_per_share_gt: float | Decimal | None
    ocf_per_share_lt: float | Decimal | None
    revenue_per_share_gt: float | Decimal | None
    revenue_per_share_lt: float | Decimal | None
    market_cap_gt: float | Decimal | None
    market_cap_lt: float | Decimal | None
    ev_gt: float | Decimal | None
    ev_lt: float | Decimal | None
    pe_ratio_gt: float | Decimal | None
    pe_ratio_lt: float | Decimal | None
    earnings_yield_gt: float | Decimal | None
    earnings_yield_lt: float | Decimal | None
    price_to_book_gt: float | Decimal | None
    price_to_book_lt: float | Decimal | None
    price_to_tangible_book_gt: float | Decimal | None
    price_to_tangible_book_lt: float | Decimal | None
    price_to_sales_gt: float | Decimal | None
    price_to_sales_lt: float | Decimal | None
    price_to_fcf_gt: float | Decimal | None
    price_to_fcf_lt: float | Decimal | None
    fcf_yield_gt: float | Decimal | None
    fcf_yield_lt: float | Decimal | None
    dividend_yield_gt: float | Decimal | None
    dividend_yield_lt: float | Decimal | None
    shareholder_yield_gt: float | Decimal | None
    shareholder_yield_lt: float | Decimal | None
    ev_to_sales_gt: float | Decimal | None
    ev_to_sales_lt: float | Decimal | None
    ev_to_ebit_gt: float | Decimal | None
    ev_to_ebit_lt: float | Decimal | None
    ev_to_ebitda_gt: float | Decimal | None
    ev_to_ebitda_lt: float | Decimal | None
    ev_to_fcf_gt: float | Decimal | None
    ev_to_fcf_lt: float | Decimal | None
    where: Sequence[str] | str | None
    period: Literal["A", "Q", "TTM"] | None
    metrics: Sequence[str] | str | None
    cik: Sequence[str] | str | None
    ticker: Sequence[str] | str | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetXbrlCompaniesIdValuationGiven(CallOptions, total=False):
    id: Required[str]
    period: Literal["A", "Q", "TTM", "YTD"] | None
    years: str | None
    as_of: str | date | None
    basis: Literal["latest", "original"] | None

class GetInsidersTransactionsLatestGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    cursor: str | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    dedup_owners: bool | None
    collapse_joint_filers: bool | None
    include_outcome: bool | None
    include_total: bool | None
    as_of: str | date | None

class GetInsidersTransactionsByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    filed_at_days: int | None
    transaction_days: int | None
    limit: int | None
    offset: int | None
    cursor: str | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    dedup_owners: bool | None
    collapse_joint_filers: bool | None
    include_outcome: bool | None
    sort_by: Literal["filing_date", "transaction_date"] | None
    as_of: str | date | None

class GetInsidersTransactionsByInsiderCikGiven(CallOptions, total=False):
    cik: Required[str]
    limit: int | None
    offset: int | None
    cursor: str | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    dedup_owners: bool | None
    collapse_joint_filers: bool | None
    include_outcome: bool | None
    sort_by: Literal["filing_date", "transaction_date"] | None
    as_of: str | date | None

class GetInsidersTransactionsSearchGiven(CallOptions, total=False):
    query: str | None
    filed_at_days: int | None
    transaction_days: int | None
    limit: int | None
    offset: int | None
    cursor: str | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    dedup_owners: bool | None
    collapse_joint_filers: bool | None
    include_outcome: bool | None
    as_of: str | date | None

class GetInsidersTransactionsTopGiven(CallOptions, total=False):
    direction: Literal["BUY", "SELL", "purchase", "sale"] | None
    limit: int | None
    offset: int | None
    cursor: str | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    dedup_owners: bool | None
    collapse_joint_filers: bool | None
    include_outcome: bool | None
    include_total: bool | None
    as_of: str | date | None

class GetNportLatestGiven(CallOptions, total=False):
    cik: str | None
    series_id: str | None
    ticker: str | None
    form_type: Literal["NPORT-P", "NPORT-P/A"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportBySeriesSeriesIdGiven(CallOptions, total=False):
    series_id: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportFundsTickerAumHistoryGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    cursor: str | None
    as_of: str | date | None

class GetNportFundsTickerHoldingsGiven(CallOptions, total=False):
    ticker: Required[str]
    period: str | None
    cusip: str | None
    isin: str | None
    asset_cat: str | None
    derivative_cat: str | None
    min_pct: float | Decimal | None
    sort_by: Literal["value", "sequence"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportHoldersOfCusipGiven(CallOptions, total=False):
    cusip: Required[str]
    period: str | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class PostNportScreenGiven(CallOptions, total=False):
    net_assets_gt: float | Decimal | None | None
    net_assets_lt: float | Decimal | None | None
    tot_assets_gt: float | Decimal | None | None
    tot_assets_lt: float | Decimal | None | None
    tot_liabs_gt: float | Decimal | None | None
    tot_liabs_lt: float | Decimal | None | None
    flow_sales_1m_gt: float | Decimal | None | None
    flow_sales_1m_lt: float | Decimal | None | None
    flow_reinvestment_1m_gt: float | Decimal | None | None
    flow_reinvestment_1m_lt: float | Decimal | None | None
    flow_redemption_1m_gt: float | Decimal | None | None
    flow_redemption_1m_lt: float | Decimal | None | None
    return_1m_gt: float | Decimal | None | None
    return_1m_lt: float | Decimal | None | None
    holdings_count_gt: float | Decimal | None | None
    holdings_count_lt: float | Decimal | None | None
    cik: str | int | None
    series_id: str | None | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportAccessionGiven(CallOptions, total=False):
    accession: Required[str]
    as_of: str | date | None

class GetNportAccessionHoldingsGiven(CallOptions, total=False):
    accession: Required[str]
    cusip: str | None
    isin: str | None
    asset_cat: str | None
    derivative_cat: str | None
    min_pct: float | Decimal | None
    sort_by: Literal["value", "sequence"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetNportAccessionChangesGiven(CallOptions, total=False):
    accession: Required[str]
    previous: str | None
    status: Literal["all", "new", "increased", "decreased", "unchanged", "closed"] | None
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetInsidersForm144LatestGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    from_date: str | date | None
    to_date: str | date | None
    is_amendment: bool | None
    ticker: str | None
    as_of: str | date | None

class GetInsidersForm144ByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None
    from_date: str | date | None
    to_date: str | date | None
    is_amendment: bool | None
    as_of: str | date | None

class GetInsidersForm144ByInsiderCikGiven(CallOptions, total=False):
    cik: Required[str]
    limit: int | None
    offset: int | None
    from_date: str | date | None
    to_date: str | date | None
    is_amendment: bool | None
    ticker: str | None
    as_of: str | date | None

class PostInsidersQueryGiven(CallOptions, total=False):
    query: Required[str]
    from_: int | None
    size: int | None
    sort: Literal["filedAt", "filed_at"] | None
    as_of: str | date | None

class GetInsidersClustersGiven(CallOptions, total=False):
    days: int | None
    transaction_days: int | None
    ticker: str | None
    min_insiders: int | None
    limit: int | None
    offset: int | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    earnings_within: int | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    sector: str | None
    industry: str | None
    as_of: str | date | None

class GetInsidersScreenGiven(CallOptions, total=False):
    filed_at_days: int | None
    transaction_days: int | None
    sentiment_gt: float | Decimal | None
    sentiment_lt: float | Decimal | None
    net_value_gt: float | Decimal | None
    net_value_lt: float | Decimal | None
    min_transactions: int | None
    min_insiders: int | None
    csuite_only: bool | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    earnings_within: int | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    sector: str | None
    industry: str | None
    limit: int | None
    offset: int | None
    sort_by: Literal["sentiment", "abs_sentiment", "net_value", "abs_net_value", "total_transactions"] | None
    as_of: str | date | None

class GetInsidersSummaryByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    filed_at_days: int | None
    transaction_days: int | None
    days: int | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    earnings_within: int | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    as_of: str | date | None

class GetInsidersInsiderSearchGiven(CallOptions, total=False):
    query: Required[str]
    limit: int | None
    offset: int | None
    as_of: str | date | None

class GetInsidersInsiderInsiderCikGiven(CallOptions, total=False):
    insider_cik: Required[str]
    as_of: str | date | None

class GetInsidersHoldingsByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetInsidersHoldingsByInsiderCikGiven(CallOptions, total=False):
    cik: Required[str]
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetInsidersHoldingsSnapshotSnapshotDateGiven(CallOptions, total=False):
    snapshot_date: Required[str | date]
    ticker: str | None
    insider_cik: str | None
    limit: int | None
    offset: int | None
    cursor: str | None
    as_of: str | date | None

class GetInsidersFilingsLatestGiven(CallOptions, total=False):
    limit: int | None
    offset: int | None
    cursor: str | None
    form_type: Literal["3", "3/A", "4", "4/A", "5", "5/A"] | None
    ticker: str | None
    from_date: str | date | None
    to_date: str | date | None
    is_amendment: bool | None
    sector: str | None
    industry: str | None
    as_of: str | date | None

class GetInsidersFilingsByTickerTickerGiven(CallOptions, total=False):
    ticker: Required[str]
    limit: int | None
    offset: int | None
    cursor: str | None
    form_type: Literal["3", "3/A", "4", "4/A", "5", "5/A"] | None
    from_date: str | date | None
    to_date: str | date | None
    insider_cik: str | None
    as_of: str | date | None

class GetInsidersFilingsAccessionNumberGiven(CallOptions, total=False):
    accession_number: Required[str]
    as_of: str | date | None

class GetInsidersAggregationBySectorGiven(CallOptions, total=False):
    group_by: Literal["sector", "industry"] | None
    filed_at_days: int | None
    transaction_days: int | None
    from_date: str | date | None
    to_date: str | date | None
    filed_from: str | date | None
    filed_to: str | date | None
    quarter: str | date | None
    transaction_code: str | None
    acquired_disposed_code: Literal["A", "D"] | None
    min_value: float | Decimal | None
    max_value: float | Decimal | None
    min_shares: float | Decimal | None
    max_shares: float | Decimal | None
    min_percent: float | Decimal | None
    max_percent: float | Decimal | None
    is_officer: bool | None
    is_director: bool | None
    is_ten_percent_owner: bool | None
    is_c_suite: bool | None
    exclude_10b5_1: bool | None
    exclude_cashless: bool | None
    exclude_sell_to_cover: bool | None
    earnings_within: int | None
    standard_type: Literal["purchase", "sale", "grant", "exercise", "gift", "other"] | None
    sector: str | None
    industry: str | None
    limit: int | None
    offset: int | None
    sort_by: Literal["abs_net_value", "net_value", "buy_value", "sell_value", "transaction_count", "group"] | None
    as_of: str | date | None

class GetInsidersRecommendationsDailyGiven(CallOptions, total=False):
    as_of: str | date | None

class GetInsidersBulkFormFormTypeIndexJsonGiven(CallOptions, total=False):
    form_type: Required[Literal["3", "4", "5", "144"]]

class GetInsidersBulkFormFormTypeYearFilenameGiven(CallOptions, total=False):
    form_type: Required[Literal["3", "4", "5", "144"]]
    year: Required[int]
    filename: Required[str]

class PostInsidersBulkFormFormTypeGenerateYearMonthGiven(CallOptions, total=False):
    form_type: Required[Literal["3", "4", "5", "144"]]
    year: Required[int]
    month: Required[int]

class GetInsidersStatsGlobalGiven(CallOptions, total=False):
    days: int | None
    as_of: str | date | None

class PostSqlProxyGiven(CallOptions, total=False):
    query: Required[str]
    params: Sequence[str | float | Decimal | None] | None
    api_key: str | None

class Calls(Generic[Day, Moment]):
    def get_livez(self, **given: Unpack[CallOptions]) -> Livez:
        """Liveness probe."""
    def get_readyz(self, **given: Unpack[CallOptions]) -> Readyz:
        """Readiness probe."""
    def get_openapi_json(self, **given: Unpack[CallOptions]) -> OpenapiJson:
        """This document."""
    def get_status(self, **given: Unpack[CallOptions]) -> Status[Day, Moment]:
        """Status of every component."""
    def get_status_history(self, **given: Unpack[GetStatusHistoryGiven]) -> StatusHistory[Day, Moment]:
        """Uptime history by hour or day."""
    def get_financials_status(self, **given: Unpack[CallOptions]) -> FinancialsStatus[Day, Moment]:
        """Row counts and data freshness."""
    def post_auth_redeem_invite(self, **given: Unpack[PostAuthRedeemInviteGiven]) -> PostAuthRedeemInvite:
        """Exchange an invite code for an invite token."""
    def post_auth_register(self, **given: Unpack[PostAuthRegisterGiven]) -> PostAuthRegister:
        """Create an account."""
    def get_auth_verifyEmail(self, **given: Unpack[GetAuthVerifyEmailGiven]) -> AuthVerifyemail:
        """Verify an email address."""
    def post_auth_resend_verification(self, **given: Unpack[PostAuthResendVerificationGiven]) -> AuthVerifyemail:
        """Resend the verification mail."""
    def post_auth_login(self, **given: Unpack[PostAuthLoginGiven]) -> PostAuthLogin[Day, Moment]:
        """Log in."""
    def post_auth_logout(self, **given: Unpack[CallOptions]) -> AuthVerifyemail:
        """Log out."""
    def post_auth_forgetpassword(self, **given: Unpack[PostAuthForgetpasswordGiven]) -> AuthVerifyemail:
        """Request a password reset."""
    def get_auth_verifyPasswordLink(self, **given: Unpack[CallOptions]) -> str:
        """Redirect to the password reset page."""
    def put_auth_newpassword(self, **given: Unpack[PutAuthNewpasswordGiven]) -> AuthVerifyemail:
        """Set a new password with a reset token."""
    def get_user(self, **given: Unpack[CallOptions]) -> User[Day, Moment]:
        """The caller's account."""
    def put_user(self, **given: Unpack[PutUserGiven]) -> PutUser[Day, Moment]:
        """Update the caller's account."""
    def delete_user(self, **given: Unpack[DeleteUserGiven]) -> DeleteUser:
        """Delete the caller's account."""
    def put_user_password(self, **given: Unpack[PutUserPasswordGiven]) -> PutUserPassword:
        """Change the password."""
    def post_user_email(self, **given: Unpack[PostUserEmailGiven]) -> AuthVerifyemail:
        """Request a change of the email."""
    def get_user_export(self, **given: Unpack[CallOptions]) -> UserExport[Day, Moment]:
        """Export the caller's data."""
    def post_user_api_key_rotate(self, **given: Unpack[CallOptions]) -> PostUserApiKeyRotate:
        """Replace the API key."""
    def post_sniper_targets(self, **given: Unpack[PostSniperTargetsGiven]) -> PostSniperTargets[Day, Moment]:
        """Watch a company for a filing."""
    def get_sniper_targets(self, **given: Unpack[GetSniperTargetsGiven]) -> SniperTargets[Day, Moment]:
        """The caller's sniper targets."""
    def post_sniper_targets_target_id_stop(self, **given: Unpack[PostSniperTargetsTargetIdStopGiven]) -> PostSniperTargetsTargetIdStop[Day, Moment]:
        """Stop a sniper target."""
    def get_webhooks_deliveries(self, **given: Unpack[GetWebhooksDeliveriesGiven]) -> WebhooksDeliveries[Day, Moment]:
        """Webhook deliveries and their attempts."""
    def post_webhooks_deliveries_delivery_id_redeliver(self, **given: Unpack[PostWebhooksDeliveriesDeliveryIdRedeliverGiven]) -> UserExportDeliveries[Day, Moment]:
        """Redeliver a webhook."""
    def post_webhooks_test(self, **given: Unpack[PostWebhooksTestGiven]) -> UserExportDeliveries[Day, Moment]:
        """Send a test webhook."""
    def get_webhooks_secret(self, **given: Unpack[CallOptions]) -> WebhooksSecret[Day, Moment]:
        """The webhook signing secret."""
    def post_webhooks_secret_rotate(self, **given: Unpack[CallOptions]) -> WebhooksSecret[Day, Moment]:
        """Rotate the webhook signing secret."""
    def get_webhooks_vectors(self, **given: Unpack[CallOptions]) -> WebhooksVectors:
        """Signed test vectors for webhook receivers."""
    def get_account_balance(self, **given: Unpack[CallOptions]) -> AccountBalance[Day, Moment]:
        """Token balance and next refill."""
    def get_account_usage(self, **given: Unpack[GetAccountUsageGiven]) -> AccountUsage[Day, Moment]:
        """Token usage by day and endpoint."""
    def get_account_transactions(self, **given: Unpack[GetAccountTransactionsGiven]) -> AccountTransactions[Day, Moment]:
        """The token ledger, newest first."""
    def get_account_limits(self, **given: Unpack[CallOptions]) -> AccountLimits[Day, Moment]:
        """The caller's rate limits and remaining requests."""
    def post_account_billing_portal(self, **given: Unpack[CallOptions]) -> PostAccountBillingPortal:
        """URL of the plans page."""
    def post_billing_quota(self, **given: Unpack[PostBillingQuotaGiven]) -> PostBillingQuota[Day, Moment]:
        """Buy tokens from the wallet."""
    def get_billing_subscription(self, **given: Unpack[CallOptions]) -> BillingSubscription[Day, Moment]:
        """The caller's plan and its use."""
    def get_billing_history(self, **given: Unpack[GetBillingHistoryGiven]) -> BillingHistory[Day, Moment]:
        """Wallet history, newest first."""
    def get_plans(self, **given: Unpack[CallOptions]) -> Plans[Day, Moment]:
        """Available plans."""
    def get_policy(self, **given: Unpack[CallOptions]) -> Policy[Day, Moment]:
        """Policy: limits, metering, versioning and freshness."""
    def get_events(self, **given: Unpack[GetEventsGiven]) -> Events[Day, Moment]:
        """Events of a feed, by polling or text/event-stream."""
    def get_xbrl_companies_ticker_statements(self, **given: Unpack[GetXbrlCompaniesTickerStatementsGiven]) -> XbrlCompaniesTickerStatements[Day, Moment]:
        """A company's statements as filed."""
    def get_xbrl_filing_accession_statements(self, **given: Unpack[GetXbrlFilingAccessionStatementsGiven]) -> XbrlCompaniesTickerStatements[Day, Moment]:
        """One filing's statements as filed."""
    def get_form_13f_fund_cik(self, **given: Unpack[GetForm13fFundCikGiven]) -> Form13fFundCik[Day, Moment]:
        """A fund's holdings in a quarter and their changes."""
    def get_form_13f_fund_cik_periods(self, **given: Unpack[GetForm13fFundCikPeriodsGiven]) -> Form13fFundCikPeriods[Day, Moment]:
        """Quarters for which a fund's holdings are available."""
    def get_form_13f_fund_cik_cusip_cusip_history(self, **given: Unpack[GetForm13fFundCikCusipCusipHistoryGiven]) -> Form13fFundCikCusipCusipHistory[Day, Moment]:
        """A fund's position in one security by quarter."""
    def get_form_13f_fund_cik_holdings_analytics(self, **given: Unpack[GetForm13fFundCikHoldingsAnalyticsGiven]) -> Form13fFundCikHoldingsAnalytics[Day, Moment]:
        """Cost, gain and holding period of a fund's shares."""
    def post_form_13f_fund_bulk(self, **given: Unpack[PostForm13fFundBulkGiven]) -> PostForm13fFundBulk[Day, Moment]:
        """Holdings of several funds."""
    def get_form_13f_funds(self, **given: Unpack[GetForm13fFundsGiven]) -> Form13fFunds[Day, Moment]:
        """Managers with 13F reports."""
    def get_form_13f_search(self, **given: Unpack[GetForm13fSearchGiven]) -> Form13fSearch[Day, Moment]:
        """Search managers by name."""
    def get_form_13f_filers(self, **given: Unpack[GetForm13fFilersGiven]) -> Form13fFilers[Day, Moment]:
        """Search managers by name, with totals of their positions."""
    def get_form_13f_latest(self, **given: Unpack[GetForm13fLatestGiven]) -> Form13fLatest[Day, Moment]:
        """Newest 13F filings and their changes."""
    def get_form_13f_filing_stats(self, **given: Unpack[GetForm13fFilingStatsGiven]) -> Form13fFilingStats[Day, Moment]:
        """Number of 13F reports for a quarter."""
    def get_form_13f_filing_progress(self, **given: Unpack[GetForm13fFilingProgressGiven]) -> Form13fFilingProgress[Day, Moment]:
        """Filing progress of a quarter."""
    def post_form_13f_holdings(self, **given: Unpack[PostForm13fHoldingsGiven]) -> PostForm13fHoldings[Day, Moment]:
        """Query 13F holdings."""
    def post_form_13f_cover_pages(self, **given: Unpack[PostForm13fCoverPagesGiven]) -> PostForm13fCoverPages[Day, Moment]:
        """Query 13F cover pages."""
    def get_form_13f_holdings_search(self, **given: Unpack[GetForm13fHoldingsSearchGiven]) -> Form13fHoldingsSearch[Day, Moment]:
        """Funds that hold a security."""
    def get_form_13f_moves(self, **given: Unpack[GetForm13fMovesGiven]) -> Form13fMoves[Day, Moment]:
        """Largest position changes of a quarter."""
    def get_form_13f_overlap(self, **given: Unpack[GetForm13fOverlapGiven]) -> Form13fOverlap[Day, Moment]:
        """Overlap of two funds."""
    def get_form_13f_aggregation_basket_holdings(self, **given: Unpack[GetForm13fAggregationBasketHoldingsGiven]) -> Form13fAggregationBasketHoldings[Day, Moment]:
        """Combined holdings of several funds."""
    def get_form_13f_aggregation_by_ticker(self, **given: Unpack[GetForm13fAggregationByTickerGiven]) -> Form13fAggregationByTicker[Day, Moment]:
        """13F totals by security."""
    def get_form_13f_aggregation_by_sector(self, **given: Unpack[GetForm13fAggregationBySectorGiven]) -> Form13fAggregationBySector[Day, Moment]:
        """13F totals by sector."""
    def get_form_13f_aggregation_by_industry(self, **given: Unpack[GetForm13fAggregationByIndustryGiven]) -> Form13fAggregationByIndustry[Day, Moment]:
        """13F totals by industry."""
    def get_form_13f_fund_performance(self, **given: Unpack[GetForm13fFundPerformanceGiven]) -> Form13fFundPerformance[Day, Moment]:
        """Funds ranked by quarterly return."""
    def get_form_13f_market_rotation(self, **given: Unpack[GetForm13fMarketRotationGiven]) -> Form13fMarketRotation[Day, Moment]:
        """Rotation between value and growth, cyclical and defensive industries."""
    def get_form_13f_cross_filing_signals(self, **given: Unpack[GetForm13fCrossFilingSignalsGiven]) -> Form13fCrossFilingSignals[Day, Moment]:
        """Securities that funds and insiders bought in the same quarter."""
    def get_ownership_beneficial_ownership_filings(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilingsGiven]) -> OwnershipBeneficialOwnershipFilings[Day, Moment]:
        """Schedules 13D and 13G, newest first."""
    def get_ownership_beneficial_ownership_filings_accession(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilingsAccessionGiven]) -> OwnershipBeneficialOwnershipFilingsAccession[Day, Moment]:
        """One Schedule 13D or 13G."""
    def get_ownership_beneficial_ownership_issuers_cik_summary(self, **given: Unpack[GetOwnershipBeneficialOwnershipIssuersCikSummaryGiven]) -> OwnershipBeneficialOwnershipIssuersCikSummary[Day, Moment]:
        """Beneficial owners of a company."""
    def get_ownership_beneficial_ownership_filers_cik_portfolio(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilersCikPortfolioGiven]) -> OwnershipBeneficialOwnershipFilersCikPortfolio[Day, Moment]:
        """A holder's positions above five per cent."""
    def get_ownership_beneficial_ownership_activists(self, **given: Unpack[GetOwnershipBeneficialOwnershipActivistsGiven]) -> OwnershipBeneficialOwnershipActivists[Day, Moment]:
        """Activist Schedules 13D, classified by Item 4."""
    def get_ownership_analytics_threshold_crossings(self, **given: Unpack[GetOwnershipAnalyticsThresholdCrossingsGiven]) -> OwnershipAnalyticsThresholdCrossings[Day, Moment]:
        """Filings that crossed an ownership threshold."""
    def post_form_13d(self, **given: Unpack[PostForm13dGiven]) -> PostForm13d[Day, Moment]:
        """Query Schedules 13D and 13G."""
    def get_ownership_beneficial_ownership_conversions(self, **given: Unpack[GetOwnershipBeneficialOwnershipConversionsGiven]) -> OwnershipBeneficialOwnershipConversions[Day, Moment]:
        """Conversions between Schedules 13D and 13G."""
    def get_ownership_beneficial_ownership_groups(self, **given: Unpack[GetOwnershipBeneficialOwnershipGroupsGiven]) -> OwnershipBeneficialOwnershipGroups[Day, Moment]:
        """Ownership groups and their members."""
    def get_ownership_holders(self, **given: Unpack[GetOwnershipHoldersGiven]) -> OwnershipHolders[Day, Moment]:
        """Holders across all forms: managers, insiders, owners of more than five per cent."""
    def get_ownership_holders_uuid(self, **given: Unpack[GetOwnershipHoldersUuidGiven]) -> OwnershipHoldersUuid[Day, Moment]:
        """One holder."""
    def get_ownership_holders_uuid_filing_history(self, **given: Unpack[GetOwnershipHoldersUuidFilingHistoryGiven]) -> OwnershipHoldersUuidFilingHistory[Day, Moment]:
        """Filings of a holder."""
    def get_ownership_cross_reference_holder_uuid(self, **given: Unpack[GetOwnershipCrossReferenceHolderUuidGiven]) -> OwnershipCrossReferenceHolderUuid[Day, Moment]:
        """Filings of a holder, grouped by family of forms."""
    def get_ownership_positions_holder_uuid_issuer_issuer_cik(self, **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikGiven]) -> OwnershipPositionsHolderUuidIssuerIssuerCik[Day, Moment]:
        """A holder's position in a company, from all forms."""
    def get_ownership_positions_holder_uuid_issuer_issuer_cik_history(self, **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikHistoryGiven]) -> OwnershipPositionsHolderUuidIssuerIssuerCikHistory[Day, Moment]:
        """History of a holder's position, from all forms."""
    def get_ownership_positions_issuer_issuer_cik_holders(self, **given: Unpack[GetOwnershipPositionsIssuerIssuerCikHoldersGiven]) -> OwnershipPositionsIssuerIssuerCikHolders[Day, Moment]:
        """Holders of a company, from all forms."""
    def get_ownership_positions_issuer_issuer_cik_timeline(self, **given: Unpack[GetOwnershipPositionsIssuerIssuerCikTimelineGiven]) -> OwnershipPositionsIssuerIssuerCikTimeline[Day, Moment]:
        """Reported events of a company's holders, newest first."""
    def get_ownership_analytics_ownership_concentration_cik(self, **given: Unpack[GetOwnershipAnalyticsOwnershipConcentrationCikGiven]) -> OwnershipAnalyticsOwnershipConcentrationCik[Day, Moment]:
        """Ownership concentration of a company."""
    def get_ownership_aggregation_by_ticker(self, **given: Unpack[GetOwnershipAggregationByTickerGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by company."""
    def get_ownership_aggregation_by_sector(self, **given: Unpack[GetOwnershipAggregationBySectorGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by sector."""
    def get_ownership_aggregation_by_industry(self, **given: Unpack[GetOwnershipAggregationByIndustryGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by industry."""
    def get_tickers_autocomplete(self, **given: Unpack[GetTickersAutocompleteGiven]) -> TickersAutocomplete[Day, Moment]:
        """Autocomplete tickers and names."""
    def get_tickers_ticker_holders(self, **given: Unpack[GetTickersTickerHoldersGiven]) -> TickersTickerHolders[Day, Moment]:
        """13F holders of a ticker."""
    def get_tickers_ticker_fund_trends(self, **given: Unpack[GetTickersTickerFundTrendsGiven]) -> TickersTickerFundTrends[Day, Moment]:
        """13F ownership of a ticker by quarter."""
    def get_tickers_ticker_overview(self, **given: Unpack[GetTickersTickerOverviewGiven]) -> TickersTickerOverview[Day, Moment]:
        """A company at a glance."""
    def get_cusip_lookup_cusip(self, **given: Unpack[GetCusipLookupCusipGiven]) -> CusipLookupCusip[Day, Moment]:
        """Look up a CUSIP."""
    def get_cusip_ticker_ticker(self, **given: Unpack[GetCusipTickerTickerGiven]) -> CusipLookupCusip[Day, Moment]:
        """The CUSIP of a ticker."""
    def post_cusip_batch(self, **given: Unpack[PostCusipBatchGiven]) -> PostCusipBatch[Day, Moment]:
        """Look up several CUSIPs."""
    def get_cusip_chain_cusip(self, **given: Unpack[GetCusipChainCusipGiven]) -> CusipChainCusip[Day, Moment]:
        """Predecessors and successors of a CUSIP."""
    def get_cusip_cik_cik(self, **given: Unpack[GetCusipCikCikGiven]) -> CusipCikCik[Day, Moment]:
        """The CUSIPs of a company."""
    def get_cusip_cusip6_cusip6(self, **given: Unpack[GetCusipCusip6Cusip6Given]) -> CusipCusip6Cusip6[Day, Moment]:
        """The CUSIPs of an issuer, by its first six characters."""
    def get_cusip_search(self, **given: Unpack[GetCusipSearchGiven]) -> CusipSearch[Day, Moment]:
        """Search securities by CUSIP, ticker or name."""
    def get_cusip_stats(self, **given: Unpack[CallOptions]) -> CusipStats[Day, Moment]:
        """CUSIP coverage."""
    def get_sec_filings(self, **given: Unpack[GetSecFilingsGiven]) -> SecFilings[Day, Moment]:
        """Filings, newest first."""
    def get_sec_filings_search(self, **given: Unpack[GetSecFilingsSearchGiven]) -> SecFilingsSearch[Day, Moment]:
        """Full text search of stored documents."""
    def get_sec_filings_stats(self, **given: Unpack[GetSecFilingsStatsGiven]) -> SecFilingsStats[Day, Moment]:
        """Number of filings by form."""
    def get_sec_filings_accession_number(self, **given: Unpack[GetSecFilingsAccessionNumberGiven]) -> SecFilingsAccessionNumber[Day, Moment]:
        """One filing."""
    def get_sec_filings_accession_number_html(self, **given: Unpack[GetSecFilingsAccessionNumberHtmlGiven]) -> str:
        """The primary document of a filing, as HTML or text."""
    def get_sec_filings_accession_number_documents_document(self, **given: Unpack[GetSecFilingsAccessionNumberDocumentsDocumentGiven]) -> bytes:
        """A document of a filing: an exhibit, an image or the primary document."""
    def get_sec_document(self, **given: Unpack[GetSecDocumentGiven]) -> SecDocument[Day, Moment]:
        """A document of a filing by its URL at the SEC."""
    def get_xbrl_bulk(self, **given: Unpack[GetXbrlBulkGiven]) -> XbrlBulk[Day, Moment]:
        """Available bulk files."""
    def get_xbrl_bulk_filename(self, **given: Unpack[GetXbrlBulkFilenameGiven]) -> bytes:
        """A bulk file of a day, month or quarter, as CSV or NDJSON."""
    def get_xbrl_bulk_facts(self, **given: Unpack[CallOptions]) -> XbrlBulkFacts[Day, Moment]:
        """Available bulk files of facts."""
    def get_xbrl_bulk_facts_filename(self, **given: Unpack[GetXbrlBulkFactsFilenameGiven]) -> bytes:
        """A bulk file of facts."""
    def get_sec_forms(self, **given: Unpack[GetSecFormsGiven]) -> SecForms[Day, Moment]:
        """Form types."""
    def get_sec_forms_form_type(self, **given: Unpack[GetSecFormsFormTypeGiven]) -> SecFormsFormType[Day, Moment]:
        """One form type."""
    def get_sec_entities(self, **given: Unpack[GetSecEntitiesGiven]) -> SecEntities[Day, Moment]:
        """Companies and people by CIK."""
    def get_filings(self, **given: Unpack[GetFilingsGiven]) -> Filings[Day, Moment]:
        """Filing links for crawlers."""
    def get_index(self, **given: Unpack[GetIndexGiven]) -> Index[Day, Moment]:
        """Accession numbers of a day."""
    def get_stats(self, **given: Unpack[CallOptions]) -> Stats[Day, Moment]:
        """Counts of stored data."""
    def get_xbrl_filing_accession_index(self, **given: Unpack[GetXbrlFilingAccessionIndexGiven]) -> XbrlFilingAccessionIndex[Day, Moment]:
        """The sections of a filing's XBRL."""
    def get_xbrl_filings_diff(self, **given: Unpack[GetXbrlFilingsDiffGiven]) -> XbrlFilingsDiff[Day, Moment]:
        """Difference between two filings."""
    def get_xbrl_facts(self, **given: Unpack[GetXbrlFactsGiven]) -> XbrlFacts[Day, Moment]:
        """Facts with dimensions, of a filing or a company."""
    def get_xbrl_coverage(self, **given: Unpack[GetXbrlCoverageGiven]) -> XbrlCoverage[Day, Moment]:
        """XBRL coverage of a company."""
    def get_xbrl_search(self, **given: Unpack[GetXbrlSearchGiven]) -> XbrlSearch[Day, Moment]:
        """Search companies by ticker, name or CIK."""
    def get_facts(self, **given: Unpack[GetFactsGiven]) -> Facts[Day, Moment]:
        """Facts without dimensions, of a company or a filing."""
    def get_facts_by_concept(self, **given: Unpack[GetFactsByConceptGiven]) -> FactsByConcept[Day, Moment]:
        """Facts of one concept, of one company or all."""
    def post_facts_aggregate(self, **given: Unpack[PostFactsAggregateGiven]) -> PostFactsAggregate[Day, Moment]:
        """Sum of one concept over companies."""
    def get_prices_ticker(self, **given: Unpack[GetPricesTickerGiven]) -> PricesTicker[Day, Moment]:
        """Daily prices of a ticker."""
    def get_xbrl_timeseries(self, **given: Unpack[GetXbrlTimeseriesGiven]) -> XbrlTimeseries[Day, Moment]:
        """Standardised figures of a company over time."""
    def get_xbrl_dictionary(self, **given: Unpack[GetXbrlDictionaryGiven]) -> XbrlDictionary[Day, Moment]:
        """Dictionary of metrics, ratios, templates and reasons."""
    def get_xbrl_proof(self, **given: Unpack[GetXbrlProofGiven]) -> XbrlProof[Day, Moment]:
        """Proof of one figure."""
    def post_xbrl_timeseries_batch(self, **given: Unpack[PostXbrlTimeseriesBatchGiven]) -> PostXbrlTimeseriesBatch[Day, Moment]:
        """Standardised figures of several companies."""
    def post_claims(self, **given: Unpack[PostClaimsGiven]) -> PostClaims[Day, Moment]:
        """Verdicts on stated figures."""
    def post_claims_receipts_verify(self, **given: Unpack[PostClaimsReceiptsVerifyGiven]) -> PostClaimsReceiptsVerify[Day, Moment]:
        """Confirmation of receipts."""
    def get_xbrl_segments(self, **given: Unpack[GetXbrlSegmentsGiven]) -> XbrlSegments[Day, Moment]:
        """Figures by segment, product or region."""
    def get_xbrl_share_classes(self, **given: Unpack[GetXbrlShareClassesGiven]) -> XbrlShareClasses[Day, Moment]:
        """Classes of shares."""
    def get_xbrl_screen(self, **given: Unpack[GetXbrlScreenGiven]) -> XbrlScreen[Day, Moment]:
        """Screen companies by figures, growth and ratios."""
    def get_xbrl_companies_id_valuation(self, **given: Unpack[GetXbrlCompaniesIdValuationGiven]) -> XbrlCompaniesIdValuation[Day, Moment]:
        """Valuation ratios of a company over time."""
    def get_insiders_transactions_latest(self, **given: Unpack[GetInsidersTransactionsLatestGiven]) -> InsidersTransactionsLatest[Day, Moment]:
        """Newest insider transactions."""
    def get_insiders_transactions_by_ticker_ticker(self, **given: Unpack[GetInsidersTransactionsByTickerTickerGiven]) -> InsidersTransactionsByTickerTicker[Day, Moment]:
        """Insider transactions of a company."""
    def get_insiders_transactions_by_insider_cik(self, **given: Unpack[GetInsidersTransactionsByInsiderCikGiven]) -> InsidersTransactionsByInsiderCik[Day, Moment]:
        """Transactions of an insider."""
    def get_insiders_transactions_search(self, **given: Unpack[GetInsidersTransactionsSearchGiven]) -> InsidersTransactionsSearch[Day, Moment]:
        """Search insider transactions."""
    def get_insiders_transactions_top(self, **given: Unpack[GetInsidersTransactionsTopGiven]) -> InsidersTransactionsTop[Day, Moment]:
        """Largest insider purchases or sales."""
    def get_nport_latest(self, **given: Unpack[GetNportLatestGiven]) -> NportLatest[Day, Moment]:
        """Newest reports of mutual funds and ETFs (Form N-PORT)."""
    def get_nport_by_series_series_id(self, **given: Unpack[GetNportBySeriesSeriesIdGiven]) -> NportBySeriesSeriesId[Day, Moment]:
        """Reports of a fund by its series id."""
    def get_nport_by_ticker_ticker(self, **given: Unpack[GetNportByTickerTickerGiven]) -> NportByTickerTicker[Day, Moment]:
        """Reports of a fund by its ticker."""
    def get_nport_funds_ticker_aum_history(self, **given: Unpack[GetNportFundsTickerAumHistoryGiven]) -> NportFundsTickerAumHistory[Day, Moment]:
        """Assets of a fund by day."""
    def get_nport_funds_ticker_holdings(self, **given: Unpack[GetNportFundsTickerHoldingsGiven]) -> NportFundsTickerHoldings[Day, Moment]:
        """Positions of a fund by its ticker."""
    def get_nport_holders_of_cusip(self, **given: Unpack[GetNportHoldersOfCusipGiven]) -> NportHoldersOfCusip[Day, Moment]:
        """Funds that hold a security."""
    def post_nport_screen(self, **given: Unpack[PostNportScreenGiven]) -> PostNportScreen[Day, Moment]:
        """Screen funds by assets, flows and returns."""
    def get_nport_accession(self, **given: Unpack[GetNportAccessionGiven]) -> NportAccession[Day, Moment]:
        """One report of a fund."""
    def get_nport_accession_holdings(self, **given: Unpack[GetNportAccessionHoldingsGiven]) -> NportFundsTickerHoldings[Day, Moment]:
        """Positions of a fund's report."""
    def get_nport_accession_changes(self, **given: Unpack[GetNportAccessionChangesGiven]) -> NportAccessionChanges[Day, Moment]:
        """Changes of a fund's positions since an earlier report."""
    def get_insiders_form_144_latest(self, **given: Unpack[GetInsidersForm144LatestGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Newest notices of proposed sales (Form 144)."""
    def get_insiders_form_144_by_ticker_ticker(self, **given: Unpack[GetInsidersForm144ByTickerTickerGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Notices of proposed sales of a company's securities."""
    def get_insiders_form_144_by_insider_cik(self, **given: Unpack[GetInsidersForm144ByInsiderCikGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Notices of proposed sales filed by an insider."""
    def post_insiders_query(self, **given: Unpack[PostInsidersQueryGiven]) -> PostInsidersQuery[Day, Moment]:
        """Query Forms 3, 4 and 5."""
    def get_insiders_clusters(self, **given: Unpack[GetInsidersClustersGiven]) -> list[InsidersClusters[Day, Moment]]:
        """Clusters of insider purchases or sales."""
    def get_insiders_screen(self, **given: Unpack[GetInsidersScreenGiven]) -> InsidersScreen[Day, Moment]:
        """Screen companies by insider activity."""
    def get_insiders_summary_by_ticker_ticker(self, **given: Unpack[GetInsidersSummaryByTickerTickerGiven]) -> InsidersSummaryByTickerTicker[Day, Moment]:
        """Totals of a company's insider transactions."""
    def get_insiders_insider_search(self, **given: Unpack[GetInsidersInsiderSearchGiven]) -> list[InsidersInsiderSearch]:
        """Search insiders by name."""
    def get_insiders_insider_insider_cik(self, **given: Unpack[GetInsidersInsiderInsiderCikGiven]) -> InsidersInsiderInsiderCik[Day, Moment]:
        """An insider's roles, holdings and trades."""
    def get_insiders_holdings_by_ticker_ticker(self, **given: Unpack[GetInsidersHoldingsByTickerTickerGiven]) -> InsidersHoldingsByTickerTicker[Day, Moment]:
        """Insider holdings of a company."""
    def get_insiders_holdings_by_insider_cik(self, **given: Unpack[GetInsidersHoldingsByInsiderCikGiven]) -> InsidersHoldingsByInsiderCik[Day, Moment]:
        """Holdings of an insider."""
    def get_insiders_holdings_snapshot_snapshot_date(self, **given: Unpack[GetInsidersHoldingsSnapshotSnapshotDateGiven]) -> InsidersHoldingsSnapshotSnapshotDate[Day, Moment]:
        """Insider holdings on a past day."""
    def get_insiders_filings_latest(self, **given: Unpack[GetInsidersFilingsLatestGiven]) -> InsidersFilingsLatest[Day, Moment]:
        """Newest Forms 3, 4 and 5."""
    def get_insiders_filings_by_ticker_ticker(self, **given: Unpack[GetInsidersFilingsByTickerTickerGiven]) -> InsidersFilingsByTickerTicker[Day, Moment]:
        """Forms 3, 4 and 5 of a company."""
    def get_insiders_filings_accession_number(self, **given: Unpack[GetInsidersFilingsAccessionNumberGiven]) -> InsidersFilingsAccessionNumber[Day, Moment]:
        """One Form 3, 4 or 5 in full."""
    def get_insiders_aggregation_by_sector(self, **given: Unpack[GetInsidersAggregationBySectorGiven]) -> InsidersAggregationBySector[Day, Moment]:
        """Insider activity by sector or industry."""
    def get_insiders_recommendations_daily(self, **given: Unpack[GetInsidersRecommendationsDailyGiven]) -> InsidersRecommendationsDaily[Day, Moment]:
        """Strongest clusters of the last month."""
    def get_insiders_bulk_form_form_type_index_json(self, **given: Unpack[GetInsidersBulkFormFormTypeIndexJsonGiven]) -> InsidersBulkFormFormTypeIndexJson[Day, Moment]:
        """Monthly bulk files of a form."""
    def get_insiders_bulk_form_form_type_year_filename(self, **given: Unpack[GetInsidersBulkFormFormTypeYearFilenameGiven]) -> InsidersBulkFormFormTypeYearFilename[Day, Moment]:
        """URL of a monthly bulk file."""
    def post_insiders_bulk_form_form_type_generate_year_month(self, **given: Unpack[PostInsidersBulkFormFormTypeGenerateYearMonthGiven]) -> PostInsidersBulkFormFormTypeGenerateYearMonth[Day, Moment]:
        """Create a monthly bulk file."""
    def get_insiders_stats_global(self, **given: Unpack[GetInsidersStatsGlobalGiven]) -> InsidersStatsGlobal[Day, Moment]:
        """Market-wide insider activity."""
    def post_sql_proxy(self, **given: Unpack[PostSqlProxyGiven]) -> PostSqlProxy[Day, Moment]:
        """Run one SELECT over views of the market data."""
    @overload
    def rows(self, name: Literal["get_sniper_targets"], **given: Unpack[GetSniperTargetsGiven]) -> Iterator[UserExportSniperTargets[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_webhooks_deliveries"], **given: Unpack[GetWebhooksDeliveriesGiven]) -> Iterator[UserExportDeliveries[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_account_transactions"], **given: Unpack[GetAccountTransactionsGiven]) -> Iterator[UserExportTransactions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik"], **given: Unpack[GetForm13fFundCikGiven]) -> Iterator[Form13fFundCikHoldings]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik_cusip_cusip_history"], **given: Unpack[GetForm13fFundCikCusipCusipHistoryGiven]) -> Iterator[Form13fFundCikCusipCusipHistoryHistory[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik_holdings_analytics"], **given: Unpack[GetForm13fFundCikHoldingsAnalyticsGiven]) -> Iterator[Form13fFundCikHoldingsAnalyticsHoldings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_funds"], **given: Unpack[GetForm13fFundsGiven]) -> Iterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_search"], **given: Unpack[GetForm13fSearchGiven]) -> Iterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_filers"], **given: Unpack[GetForm13fFilersGiven]) -> Iterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_latest"], **given: Unpack[GetForm13fLatestGiven]) -> Iterator[Form13fLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_form_13f_holdings"], **given: Unpack[PostForm13fHoldingsGiven]) -> Iterator[PostForm13fHoldingsHoldings]: ...
    @overload
    def rows(self, name: Literal["post_form_13f_cover_pages"], **given: Unpack[PostForm13fCoverPagesGiven]) -> Iterator[PostForm13fCoverPagesFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_holdings_search"], **given: Unpack[GetForm13fHoldingsSearchGiven]) -> Iterator[Form13fHoldingsSearchHolders]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_moves"], **given: Unpack[GetForm13fMovesGiven]) -> Iterator[Form13fMovesMoves]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_overlap"], **given: Unpack[GetForm13fOverlapGiven]) -> Iterator[Form13fOverlapPositions]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_basket_holdings"], **given: Unpack[GetForm13fAggregationBasketHoldingsGiven]) -> Iterator[Form13fAggregationBasketHoldingsPositions]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_ticker"], **given: Unpack[GetForm13fAggregationByTickerGiven]) -> Iterator[Form13fAggregationByTickerDataTickers[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_sector"], **given: Unpack[GetForm13fAggregationBySectorGiven]) -> Iterator[Form13fAggregationBySectorDataSectors[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_industry"], **given: Unpack[GetForm13fAggregationByIndustryGiven]) -> Iterator[Form13fAggregationByIndustryDataIndustries[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_performance"], **given: Unpack[GetForm13fFundPerformanceGiven]) -> Iterator[Form13fFundPerformanceDataLeaderboard]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_cross_filing_signals"], **given: Unpack[GetForm13fCrossFilingSignalsGiven]) -> Iterator[Form13fCrossFilingSignalsDataSignals[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_filings"], **given: Unpack[GetOwnershipBeneficialOwnershipFilingsGiven]) -> Iterator[OwnershipBeneficialOwnershipFilingsFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_issuers_cik_summary"], **given: Unpack[GetOwnershipBeneficialOwnershipIssuersCikSummaryGiven]) -> Iterator[OwnershipBeneficialOwnershipIssuersCikSummaryBeneficialOwners[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_filers_cik_portfolio"], **given: Unpack[GetOwnershipBeneficialOwnershipFilersCikPortfolioGiven]) -> Iterator[OwnershipBeneficialOwnershipFilersCikPortfolioPositions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_activists"], **given: Unpack[GetOwnershipBeneficialOwnershipActivistsGiven]) -> Iterator[OwnershipBeneficialOwnershipActivistsActivists[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_analytics_threshold_crossings"], **given: Unpack[GetOwnershipAnalyticsThresholdCrossingsGiven]) -> Iterator[OwnershipAnalyticsThresholdCrossingsCrossings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_form_13d"], **given: Unpack[PostForm13dGiven]) -> Iterator[PostForm13dData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_conversions"], **given: Unpack[GetOwnershipBeneficialOwnershipConversionsGiven]) -> Iterator[OwnershipBeneficialOwnershipConversionsConversions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_groups"], **given: Unpack[GetOwnershipBeneficialOwnershipGroupsGiven]) -> Iterator[OwnershipBeneficialOwnershipGroupsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_holders"], **given: Unpack[GetOwnershipHoldersGiven]) -> Iterator[OwnershipHoldersHolders]: ...
    @overload
    def rows(self, name: Literal["get_ownership_holders_uuid_filing_history"], **given: Unpack[GetOwnershipHoldersUuidFilingHistoryGiven]) -> Iterator[OwnershipHoldersUuidFilingHistoryHistory[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_holder_uuid_issuer_issuer_cik_history"], **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikHistoryGiven]) -> Iterator[OwnershipPositionsHolderUuidIssuerIssuerCikHistoryEvents[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_issuer_issuer_cik_holders"], **given: Unpack[GetOwnershipPositionsIssuerIssuerCikHoldersGiven]) -> Iterator[OwnershipPositionsIssuerIssuerCikHoldersHolders[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_issuer_issuer_cik_timeline"], **given: Unpack[GetOwnershipPositionsIssuerIssuerCikTimelineGiven]) -> Iterator[OwnershipPositionsIssuerIssuerCikTimelineEvents[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_ticker"], **given: Unpack[GetOwnershipAggregationByTickerGiven]) -> Iterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_sector"], **given: Unpack[GetOwnershipAggregationBySectorGiven]) -> Iterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_industry"], **given: Unpack[GetOwnershipAggregationByIndustryGiven]) -> Iterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_tickers_autocomplete"], **given: Unpack[GetTickersAutocompleteGiven]) -> Iterator[TickersAutocompleteTickers]: ...
    @overload
    def rows(self, name: Literal["get_tickers_ticker_holders"], **given: Unpack[GetTickersTickerHoldersGiven]) -> Iterator[TickersTickerHoldersDataHolders[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_tickers_ticker_fund_trends"], **given: Unpack[GetTickersTickerFundTrendsGiven]) -> Iterator[TickersTickerFundTrendsDataQuarters[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_cusip_batch"], **given: Unpack[PostCusipBatchGiven]) -> Iterator[PostCusipBatchResults]: ...
    @overload
    def rows(self, name: Literal["get_cusip_chain_cusip"], **given: Unpack[GetCusipChainCusipGiven]) -> Iterator[CusipChainCusipChain[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_cik_cik"], **given: Unpack[GetCusipCikCikGiven]) -> Iterator[CusipCikCikSecurities[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_cusip6_cusip6"], **given: Unpack[GetCusipCusip6Cusip6Given]) -> Iterator[CusipCikCikSecurities[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_search"], **given: Unpack[GetCusipSearchGiven]) -> Iterator[CusipSearchResults[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_filings"], **given: Unpack[GetSecFilingsGiven]) -> Iterator[SecFilingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_filings_search"], **given: Unpack[GetSecFilingsSearchGiven]) -> Iterator[SecFilingsSearchData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_forms"], **given: Unpack[GetSecFormsGiven]) -> Iterator[SecFormsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_entities"], **given: Unpack[GetSecEntitiesGiven]) -> Iterator[SecEntitiesData]: ...
    @overload
    def rows(self, name: Literal["get_filings"], **given: Unpack[GetFilingsGiven]) -> Iterator[FilingsFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_index"], **given: Unpack[GetIndexGiven]) -> Iterator[IndexAccessions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_facts"], **given: Unpack[GetXbrlFactsGiven]) -> Iterator[XbrlFactsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_coverage"], **given: Unpack[GetXbrlCoverageGiven]) -> Iterator[XbrlCoverageDataCompanies]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_search"], **given: Unpack[GetXbrlSearchGiven]) -> Iterator[XbrlSearchData]: ...
    @overload
    def rows(self, name: Literal["get_facts"], **given: Unpack[GetFactsGiven]) -> Iterator[FactsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_facts_by_concept"], **given: Unpack[GetFactsByConceptGiven]) -> Iterator[FactsByConceptFacts[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_prices_ticker"], **given: Unpack[GetPricesTickerGiven]) -> Iterator[PricesTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_timeseries"], **given: Unpack[GetXbrlTimeseriesGiven]) -> Iterator[XbrlTimeseriesDataRows[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_dictionary"], **given: Unpack[GetXbrlDictionaryGiven]) -> Iterator[XbrlDictionaryData]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_screen"], **given: Unpack[GetXbrlScreenGiven]) -> Iterator[XbrlScreenData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_companies_id_valuation"], **given: Unpack[GetXbrlCompaniesIdValuationGiven]) -> Iterator[XbrlCompaniesIdValuationData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_latest"], **given: Unpack[GetInsidersTransactionsLatestGiven]) -> Iterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_by_ticker_ticker"], **given: Unpack[GetInsidersTransactionsByTickerTickerGiven]) -> Iterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_by_insider_cik"], **given: Unpack[GetInsidersTransactionsByInsiderCikGiven]) -> Iterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_search"], **given: Unpack[GetInsidersTransactionsSearchGiven]) -> Iterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_top"], **given: Unpack[GetInsidersTransactionsTopGiven]) -> Iterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_latest"], **given: Unpack[GetNportLatestGiven]) -> Iterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_by_series_series_id"], **given: Unpack[GetNportBySeriesSeriesIdGiven]) -> Iterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_by_ticker_ticker"], **given: Unpack[GetNportByTickerTickerGiven]) -> Iterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_funds_ticker_aum_history"], **given: Unpack[GetNportFundsTickerAumHistoryGiven]) -> Iterator[NportFundsTickerAumHistoryData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_funds_ticker_holdings"], **given: Unpack[GetNportFundsTickerHoldingsGiven]) -> Iterator[NportFundsTickerHoldingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_holders_of_cusip"], **given: Unpack[GetNportHoldersOfCusipGiven]) -> Iterator[NportHoldersOfCusipData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_nport_screen"], **given: Unpack[PostNportScreenGiven]) -> Iterator[PostNportScreenData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_accession_holdings"], **given: Unpack[GetNportAccessionHoldingsGiven]) -> Iterator[NportFundsTickerHoldingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_accession_changes"], **given: Unpack[GetNportAccessionChangesGiven]) -> Iterator[NportAccessionChangesData]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_latest"], **given: Unpack[GetInsidersForm144LatestGiven]) -> Iterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_by_ticker_ticker"], **given: Unpack[GetInsidersForm144ByTickerTickerGiven]) -> Iterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_by_insider_cik"], **given: Unpack[GetInsidersForm144ByInsiderCikGiven]) -> Iterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_clusters"], **given: Unpack[GetInsidersClustersGiven]) -> Iterator[InsidersClusters[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_screen"], **given: Unpack[GetInsidersScreenGiven]) -> Iterator[InsidersScreenResults[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_insider_search"], **given: Unpack[GetInsidersInsiderSearchGiven]) -> Iterator[InsidersInsiderSearch]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_by_ticker_ticker"], **given: Unpack[GetInsidersHoldingsByTickerTickerGiven]) -> Iterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_by_insider_cik"], **given: Unpack[GetInsidersHoldingsByInsiderCikGiven]) -> Iterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_snapshot_snapshot_date"], **given: Unpack[GetInsidersHoldingsSnapshotSnapshotDateGiven]) -> Iterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_filings_latest"], **given: Unpack[GetInsidersFilingsLatestGiven]) -> Iterator[InsidersFilingsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_filings_by_ticker_ticker"], **given: Unpack[GetInsidersFilingsByTickerTickerGiven]) -> Iterator[InsidersFilingsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_aggregation_by_sector"], **given: Unpack[GetInsidersAggregationBySectorGiven]) -> Iterator[InsidersAggregationBySectorData]: ...


class AsyncCalls(Generic[Day, Moment]):
    async def get_livez(self, **given: Unpack[CallOptions]) -> Livez:
        """Liveness probe."""
    async def get_readyz(self, **given: Unpack[CallOptions]) -> Readyz:
        """Readiness probe."""
    async def get_openapi_json(self, **given: Unpack[CallOptions]) -> OpenapiJson:
        """This document."""
    async def get_status(self, **given: Unpack[CallOptions]) -> Status[Day, Moment]:
        """Status of every component."""
    async def get_status_history(self, **given: Unpack[GetStatusHistoryGiven]) -> StatusHistory[Day, Moment]:
        """Uptime history by hour or day."""
    async def get_financials_status(self, **given: Unpack[CallOptions]) -> FinancialsStatus[Day, Moment]:
        """Row counts and data freshness."""
    async def post_auth_redeem_invite(self, **given: Unpack[PostAuthRedeemInviteGiven]) -> PostAuthRedeemInvite:
        """Exchange an invite code for an invite token."""
    async def post_auth_register(self, **given: Unpack[PostAuthRegisterGiven]) -> PostAuthRegister:
        """Create an account."""
    async def get_auth_verifyEmail(self, **given: Unpack[GetAuthVerifyEmailGiven]) -> AuthVerifyemail:
        """Verify an email address."""
    async def post_auth_resend_verification(self, **given: Unpack[PostAuthResendVerificationGiven]) -> AuthVerifyemail:
        """Resend the verification mail."""
    async def post_auth_login(self, **given: Unpack[PostAuthLoginGiven]) -> PostAuthLogin[Day, Moment]:
        """Log in."""
    async def post_auth_logout(self, **given: Unpack[CallOptions]) -> AuthVerifyemail:
        """Log out."""
    async def post_auth_forgetpassword(self, **given: Unpack[PostAuthForgetpasswordGiven]) -> AuthVerifyemail:
        """Request a password reset."""
    async def get_auth_verifyPasswordLink(self, **given: Unpack[CallOptions]) -> str:
        """Redirect to the password reset page."""
    async def put_auth_newpassword(self, **given: Unpack[PutAuthNewpasswordGiven]) -> AuthVerifyemail:
        """Set a new password with a reset token."""
    async def get_user(self, **given: Unpack[CallOptions]) -> User[Day, Moment]:
        """The caller's account."""
    async def put_user(self, **given: Unpack[PutUserGiven]) -> PutUser[Day, Moment]:
        """Update the caller's account."""
    async def delete_user(self, **given: Unpack[DeleteUserGiven]) -> DeleteUser:
        """Delete the caller's account."""
    async def put_user_password(self, **given: Unpack[PutUserPasswordGiven]) -> PutUserPassword:
        """Change the password."""
    async def post_user_email(self, **given: Unpack[PostUserEmailGiven]) -> AuthVerifyemail:
        """Request a change of the email."""
    async def get_user_export(self, **given: Unpack[CallOptions]) -> UserExport[Day, Moment]:
        """Export the caller's data."""
    async def post_user_api_key_rotate(self, **given: Unpack[CallOptions]) -> PostUserApiKeyRotate:
        """Replace the API key."""
    async def post_sniper_targets(self, **given: Unpack[PostSniperTargetsGiven]) -> PostSniperTargets[Day, Moment]:
        """Watch a company for a filing."""
    async def get_sniper_targets(self, **given: Unpack[GetSniperTargetsGiven]) -> SniperTargets[Day, Moment]:
        """The caller's sniper targets."""
    async def post_sniper_targets_target_id_stop(self, **given: Unpack[PostSniperTargetsTargetIdStopGiven]) -> PostSniperTargetsTargetIdStop[Day, Moment]:
        """Stop a sniper target."""
    async def get_webhooks_deliveries(self, **given: Unpack[GetWebhooksDeliveriesGiven]) -> WebhooksDeliveries[Day, Moment]:
        """Webhook deliveries and their attempts."""
    async def post_webhooks_deliveries_delivery_id_redeliver(self, **given: Unpack[PostWebhooksDeliveriesDeliveryIdRedeliverGiven]) -> UserExportDeliveries[Day, Moment]:
        """Redeliver a webhook."""
    async def post_webhooks_test(self, **given: Unpack[PostWebhooksTestGiven]) -> UserExportDeliveries[Day, Moment]:
        """Send a test webhook."""
    async def get_webhooks_secret(self, **given: Unpack[CallOptions]) -> WebhooksSecret[Day, Moment]:
        """The webhook signing secret."""
    async def post_webhooks_secret_rotate(self, **given: Unpack[CallOptions]) -> WebhooksSecret[Day, Moment]:
        """Rotate the webhook signing secret."""
    async def get_webhooks_vectors(self, **given: Unpack[CallOptions]) -> WebhooksVectors:
        """Signed test vectors for webhook receivers."""
    async def get_account_balance(self, **given: Unpack[CallOptions]) -> AccountBalance[Day, Moment]:
        """Token balance and next refill."""
    async def get_account_usage(self, **given: Unpack[GetAccountUsageGiven]) -> AccountUsage[Day, Moment]:
        """Token usage by day and endpoint."""
    async def get_account_transactions(self, **given: Unpack[GetAccountTransactionsGiven]) -> AccountTransactions[Day, Moment]:
        """The token ledger, newest first."""
    async def get_account_limits(self, **given: Unpack[CallOptions]) -> AccountLimits[Day, Moment]:
        """The caller's rate limits and remaining requests."""
    async def post_account_billing_portal(self, **given: Unpack[CallOptions]) -> PostAccountBillingPortal:
        """URL of the plans page."""
    async def post_billing_quota(self, **given: Unpack[PostBillingQuotaGiven]) -> PostBillingQuota[Day, Moment]:
        """Buy tokens from the wallet."""
    async def get_billing_subscription(self, **given: Unpack[CallOptions]) -> BillingSubscription[Day, Moment]:
        """The caller's plan and its use."""
    async def get_billing_history(self, **given: Unpack[GetBillingHistoryGiven]) -> BillingHistory[Day, Moment]:
        """Wallet history, newest first."""
    async def get_plans(self, **given: Unpack[CallOptions]) -> Plans[Day, Moment]:
        """Available plans."""
    async def get_policy(self, **given: Unpack[CallOptions]) -> Policy[Day, Moment]:
        """Policy: limits, metering, versioning and freshness."""
    async def get_events(self, **given: Unpack[GetEventsGiven]) -> Events[Day, Moment]:
        """Events of a feed, by polling or text/event-stream."""
    async def get_xbrl_companies_ticker_statements(self, **given: Unpack[GetXbrlCompaniesTickerStatementsGiven]) -> XbrlCompaniesTickerStatements[Day, Moment]:
        """A company's statements as filed."""
    async def get_xbrl_filing_accession_statements(self, **given: Unpack[GetXbrlFilingAccessionStatementsGiven]) -> XbrlCompaniesTickerStatements[Day, Moment]:
        """One filing's statements as filed."""
    async def get_form_13f_fund_cik(self, **given: Unpack[GetForm13fFundCikGiven]) -> Form13fFundCik[Day, Moment]:
        """A fund's holdings in a quarter and their changes."""
    async def get_form_13f_fund_cik_periods(self, **given: Unpack[GetForm13fFundCikPeriodsGiven]) -> Form13fFundCikPeriods[Day, Moment]:
        """Quarters for which a fund's holdings are available."""
    async def get_form_13f_fund_cik_cusip_cusip_history(self, **given: Unpack[GetForm13fFundCikCusipCusipHistoryGiven]) -> Form13fFundCikCusipCusipHistory[Day, Moment]:
        """A fund's position in one security by quarter."""
    async def get_form_13f_fund_cik_holdings_analytics(self, **given: Unpack[GetForm13fFundCikHoldingsAnalyticsGiven]) -> Form13fFundCikHoldingsAnalytics[Day, Moment]:
        """Cost, gain and holding period of a fund's shares."""
    async def post_form_13f_fund_bulk(self, **given: Unpack[PostForm13fFundBulkGiven]) -> PostForm13fFundBulk[Day, Moment]:
        """Holdings of several funds."""
    async def get_form_13f_funds(self, **given: Unpack[GetForm13fFundsGiven]) -> Form13fFunds[Day, Moment]:
        """Managers with 13F reports."""
    async def get_form_13f_search(self, **given: Unpack[GetForm13fSearchGiven]) -> Form13fSearch[Day, Moment]:
        """Search managers by name."""
    async def get_form_13f_filers(self, **given: Unpack[GetForm13fFilersGiven]) -> Form13fFilers[Day, Moment]:
        """Search managers by name, with totals of their positions."""
    async def get_form_13f_latest(self, **given: Unpack[GetForm13fLatestGiven]) -> Form13fLatest[Day, Moment]:
        """Newest 13F filings and their changes."""
    async def get_form_13f_filing_stats(self, **given: Unpack[GetForm13fFilingStatsGiven]) -> Form13fFilingStats[Day, Moment]:
        """Number of 13F reports for a quarter."""
    async def get_form_13f_filing_progress(self, **given: Unpack[GetForm13fFilingProgressGiven]) -> Form13fFilingProgress[Day, Moment]:
        """Filing progress of a quarter."""
    async def post_form_13f_holdings(self, **given: Unpack[PostForm13fHoldingsGiven]) -> PostForm13fHoldings[Day, Moment]:
        """Query 13F holdings."""
    async def post_form_13f_cover_pages(self, **given: Unpack[PostForm13fCoverPagesGiven]) -> PostForm13fCoverPages[Day, Moment]:
        """Query 13F cover pages."""
    async def get_form_13f_holdings_search(self, **given: Unpack[GetForm13fHoldingsSearchGiven]) -> Form13fHoldingsSearch[Day, Moment]:
        """Funds that hold a security."""
    async def get_form_13f_moves(self, **given: Unpack[GetForm13fMovesGiven]) -> Form13fMoves[Day, Moment]:
        """Largest position changes of a quarter."""
    async def get_form_13f_overlap(self, **given: Unpack[GetForm13fOverlapGiven]) -> Form13fOverlap[Day, Moment]:
        """Overlap of two funds."""
    async def get_form_13f_aggregation_basket_holdings(self, **given: Unpack[GetForm13fAggregationBasketHoldingsGiven]) -> Form13fAggregationBasketHoldings[Day, Moment]:
        """Combined holdings of several funds."""
    async def get_form_13f_aggregation_by_ticker(self, **given: Unpack[GetForm13fAggregationByTickerGiven]) -> Form13fAggregationByTicker[Day, Moment]:
        """13F totals by security."""
    async def get_form_13f_aggregation_by_sector(self, **given: Unpack[GetForm13fAggregationBySectorGiven]) -> Form13fAggregationBySector[Day, Moment]:
        """13F totals by sector."""
    async def get_form_13f_aggregation_by_industry(self, **given: Unpack[GetForm13fAggregationByIndustryGiven]) -> Form13fAggregationByIndustry[Day, Moment]:
        """13F totals by industry."""
    async def get_form_13f_fund_performance(self, **given: Unpack[GetForm13fFundPerformanceGiven]) -> Form13fFundPerformance[Day, Moment]:
        """Funds ranked by quarterly return."""
    async def get_form_13f_market_rotation(self, **given: Unpack[GetForm13fMarketRotationGiven]) -> Form13fMarketRotation[Day, Moment]:
        """Rotation between value and growth, cyclical and defensive industries."""
    async def get_form_13f_cross_filing_signals(self, **given: Unpack[GetForm13fCrossFilingSignalsGiven]) -> Form13fCrossFilingSignals[Day, Moment]:
        """Securities that funds and insiders bought in the same quarter."""
    async def get_ownership_beneficial_ownership_filings(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilingsGiven]) -> OwnershipBeneficialOwnershipFilings[Day, Moment]:
        """Schedules 13D and 13G, newest first."""
    async def get_ownership_beneficial_ownership_filings_accession(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilingsAccessionGiven]) -> OwnershipBeneficialOwnershipFilingsAccession[Day, Moment]:
        """One Schedule 13D or 13G."""
    async def get_ownership_beneficial_ownership_issuers_cik_summary(self, **given: Unpack[GetOwnershipBeneficialOwnershipIssuersCikSummaryGiven]) -> OwnershipBeneficialOwnershipIssuersCikSummary[Day, Moment]:
        """Beneficial owners of a company."""
    async def get_ownership_beneficial_ownership_filers_cik_portfolio(self, **given: Unpack[GetOwnershipBeneficialOwnershipFilersCikPortfolioGiven]) -> OwnershipBeneficialOwnershipFilersCikPortfolio[Day, Moment]:
        """A holder's positions above five per cent."""
    async def get_ownership_beneficial_ownership_activists(self, **given: Unpack[GetOwnershipBeneficialOwnershipActivistsGiven]) -> OwnershipBeneficialOwnershipActivists[Day, Moment]:
        """Activist Schedules 13D, classified by Item 4."""
    async def get_ownership_analytics_threshold_crossings(self, **given: Unpack[GetOwnershipAnalyticsThresholdCrossingsGiven]) -> OwnershipAnalyticsThresholdCrossings[Day, Moment]:
        """Filings that crossed an ownership threshold."""
    async def post_form_13d(self, **given: Unpack[PostForm13dGiven]) -> PostForm13d[Day, Moment]:
        """Query Schedules 13D and 13G."""
    async def get_ownership_beneficial_ownership_conversions(self, **given: Unpack[GetOwnershipBeneficialOwnershipConversionsGiven]) -> OwnershipBeneficialOwnershipConversions[Day, Moment]:
        """Conversions between Schedules 13D and 13G."""
    async def get_ownership_beneficial_ownership_groups(self, **given: Unpack[GetOwnershipBeneficialOwnershipGroupsGiven]) -> OwnershipBeneficialOwnershipGroups[Day, Moment]:
        """Ownership groups and their members."""
    async def get_ownership_holders(self, **given: Unpack[GetOwnershipHoldersGiven]) -> OwnershipHolders[Day, Moment]:
        """Holders across all forms: managers, insiders, owners of more than five per cent."""
    async def get_ownership_holders_uuid(self, **given: Unpack[GetOwnershipHoldersUuidGiven]) -> OwnershipHoldersUuid[Day, Moment]:
        """One holder."""
    async def get_ownership_holders_uuid_filing_history(self, **given: Unpack[GetOwnershipHoldersUuidFilingHistoryGiven]) -> OwnershipHoldersUuidFilingHistory[Day, Moment]:
        """Filings of a holder."""
    async def get_ownership_cross_reference_holder_uuid(self, **given: Unpack[GetOwnershipCrossReferenceHolderUuidGiven]) -> OwnershipCrossReferenceHolderUuid[Day, Moment]:
        """Filings of a holder, grouped by family of forms."""
    async def get_ownership_positions_holder_uuid_issuer_issuer_cik(self, **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikGiven]) -> OwnershipPositionsHolderUuidIssuerIssuerCik[Day, Moment]:
        """A holder's position in a company, from all forms."""
    async def get_ownership_positions_holder_uuid_issuer_issuer_cik_history(self, **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikHistoryGiven]) -> OwnershipPositionsHolderUuidIssuerIssuerCikHistory[Day, Moment]:
        """History of a holder's position, from all forms."""
    async def get_ownership_positions_issuer_issuer_cik_holders(self, **given: Unpack[GetOwnershipPositionsIssuerIssuerCikHoldersGiven]) -> OwnershipPositionsIssuerIssuerCikHolders[Day, Moment]:
        """Holders of a company, from all forms."""
    async def get_ownership_positions_issuer_issuer_cik_timeline(self, **given: Unpack[GetOwnershipPositionsIssuerIssuerCikTimelineGiven]) -> OwnershipPositionsIssuerIssuerCikTimeline[Day, Moment]:
        """Reported events of a company's holders, newest first."""
    async def get_ownership_analytics_ownership_concentration_cik(self, **given: Unpack[GetOwnershipAnalyticsOwnershipConcentrationCikGiven]) -> OwnershipAnalyticsOwnershipConcentrationCik[Day, Moment]:
        """Ownership concentration of a company."""
    async def get_ownership_aggregation_by_ticker(self, **given: Unpack[GetOwnershipAggregationByTickerGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by company."""
    async def get_ownership_aggregation_by_sector(self, **given: Unpack[GetOwnershipAggregationBySectorGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by sector."""
    async def get_ownership_aggregation_by_industry(self, **given: Unpack[GetOwnershipAggregationByIndustryGiven]) -> OwnershipAggregationByTicker[Day, Moment]:
        """Totals of Schedules 13D and 13G by industry."""
    async def get_tickers_autocomplete(self, **given: Unpack[GetTickersAutocompleteGiven]) -> TickersAutocomplete[Day, Moment]:
        """Autocomplete tickers and names."""
    async def get_tickers_ticker_holders(self, **given: Unpack[GetTickersTickerHoldersGiven]) -> TickersTickerHolders[Day, Moment]:
        """13F holders of a ticker."""
    async def get_tickers_ticker_fund_trends(self, **given: Unpack[GetTickersTickerFundTrendsGiven]) -> TickersTickerFundTrends[Day, Moment]:
        """13F ownership of a ticker by quarter."""
    async def get_tickers_ticker_overview(self, **given: Unpack[GetTickersTickerOverviewGiven]) -> TickersTickerOverview[Day, Moment]:
        """A company at a glance."""
    async def get_cusip_lookup_cusip(self, **given: Unpack[GetCusipLookupCusipGiven]) -> CusipLookupCusip[Day, Moment]:
        """Look up a CUSIP."""
    async def get_cusip_ticker_ticker(self, **given: Unpack[GetCusipTickerTickerGiven]) -> CusipLookupCusip[Day, Moment]:
        """The CUSIP of a ticker."""
    async def post_cusip_batch(self, **given: Unpack[PostCusipBatchGiven]) -> PostCusipBatch[Day, Moment]:
        """Look up several CUSIPs."""
    async def get_cusip_chain_cusip(self, **given: Unpack[GetCusipChainCusipGiven]) -> CusipChainCusip[Day, Moment]:
        """Predecessors and successors of a CUSIP."""
    async def get_cusip_cik_cik(self, **given: Unpack[GetCusipCikCikGiven]) -> CusipCikCik[Day, Moment]:
        """The CUSIPs of a company."""
    async def get_cusip_cusip6_cusip6(self, **given: Unpack[GetCusipCusip6Cusip6Given]) -> CusipCusip6Cusip6[Day, Moment]:
        """The CUSIPs of an issuer, by its first six characters."""
    async def get_cusip_search(self, **given: Unpack[GetCusipSearchGiven]) -> CusipSearch[Day, Moment]:
        """Search securities by CUSIP, ticker or name."""
    async def get_cusip_stats(self, **given: Unpack[CallOptions]) -> CusipStats[Day, Moment]:
        """CUSIP coverage."""
    async def get_sec_filings(self, **given: Unpack[GetSecFilingsGiven]) -> SecFilings[Day, Moment]:
        """Filings, newest first."""
    async def get_sec_filings_search(self, **given: Unpack[GetSecFilingsSearchGiven]) -> SecFilingsSearch[Day, Moment]:
        """Full text search of stored documents."""
    async def get_sec_filings_stats(self, **given: Unpack[GetSecFilingsStatsGiven]) -> SecFilingsStats[Day, Moment]:
        """Number of filings by form."""
    async def get_sec_filings_accession_number(self, **given: Unpack[GetSecFilingsAccessionNumberGiven]) -> SecFilingsAccessionNumber[Day, Moment]:
        """One filing."""
    async def get_sec_filings_accession_number_html(self, **given: Unpack[GetSecFilingsAccessionNumberHtmlGiven]) -> str:
        """The primary document of a filing, as HTML or text."""
    async def get_sec_filings_accession_number_documents_document(self, **given: Unpack[GetSecFilingsAccessionNumberDocumentsDocumentGiven]) -> bytes:
        """A document of a filing: an exhibit, an image or the primary document."""
    async def get_sec_document(self, **given: Unpack[GetSecDocumentGiven]) -> SecDocument[Day, Moment]:
        """A document of a filing by its URL at the SEC."""
    async def get_xbrl_bulk(self, **given: Unpack[GetXbrlBulkGiven]) -> XbrlBulk[Day, Moment]:
        """Available bulk files."""
    async def get_xbrl_bulk_filename(self, **given: Unpack[GetXbrlBulkFilenameGiven]) -> bytes:
        """A bulk file of a day, month or quarter, as CSV or NDJSON."""
    async def get_xbrl_bulk_facts(self, **given: Unpack[CallOptions]) -> XbrlBulkFacts[Day, Moment]:
        """Available bulk files of facts."""
    async def get_xbrl_bulk_facts_filename(self, **given: Unpack[GetXbrlBulkFactsFilenameGiven]) -> bytes:
        """A bulk file of facts."""
    async def get_sec_forms(self, **given: Unpack[GetSecFormsGiven]) -> SecForms[Day, Moment]:
        """Form types."""
    async def get_sec_forms_form_type(self, **given: Unpack[GetSecFormsFormTypeGiven]) -> SecFormsFormType[Day, Moment]:
        """One form type."""
    async def get_sec_entities(self, **given: Unpack[GetSecEntitiesGiven]) -> SecEntities[Day, Moment]:
        """Companies and people by CIK."""
    async def get_filings(self, **given: Unpack[GetFilingsGiven]) -> Filings[Day, Moment]:
        """Filing links for crawlers."""
    async def get_index(self, **given: Unpack[GetIndexGiven]) -> Index[Day, Moment]:
        """Accession numbers of a day."""
    async def get_stats(self, **given: Unpack[CallOptions]) -> Stats[Day, Moment]:
        """Counts of stored data."""
    async def get_xbrl_filing_accession_index(self, **given: Unpack[GetXbrlFilingAccessionIndexGiven]) -> XbrlFilingAccessionIndex[Day, Moment]:
        """The sections of a filing's XBRL."""
    async def get_xbrl_filings_diff(self, **given: Unpack[GetXbrlFilingsDiffGiven]) -> XbrlFilingsDiff[Day, Moment]:
        """Difference between two filings."""
    async def get_xbrl_facts(self, **given: Unpack[GetXbrlFactsGiven]) -> XbrlFacts[Day, Moment]:
        """Facts with dimensions, of a filing or a company."""
    async def get_xbrl_coverage(self, **given: Unpack[GetXbrlCoverageGiven]) -> XbrlCoverage[Day, Moment]:
        """XBRL coverage of a company."""
    async def get_xbrl_search(self, **given: Unpack[GetXbrlSearchGiven]) -> XbrlSearch[Day, Moment]:
        """Search companies by ticker, name or CIK."""
    async def get_facts(self, **given: Unpack[GetFactsGiven]) -> Facts[Day, Moment]:
        """Facts without dimensions, of a company or a filing."""
    async def get_facts_by_concept(self, **given: Unpack[GetFactsByConceptGiven]) -> FactsByConcept[Day, Moment]:
        """Facts of one concept, of one company or all."""
    async def post_facts_aggregate(self, **given: Unpack[PostFactsAggregateGiven]) -> PostFactsAggregate[Day, Moment]:
        """Sum of one concept over companies."""
    async def get_prices_ticker(self, **given: Unpack[GetPricesTickerGiven]) -> PricesTicker[Day, Moment]:
        """Daily prices of a ticker."""
    async def get_xbrl_timeseries(self, **given: Unpack[GetXbrlTimeseriesGiven]) -> XbrlTimeseries[Day, Moment]:
        """Standardised figures of a company over time."""
    async def get_xbrl_dictionary(self, **given: Unpack[GetXbrlDictionaryGiven]) -> XbrlDictionary[Day, Moment]:
        """Dictionary of metrics, ratios, templates and reasons."""
    async def get_xbrl_proof(self, **given: Unpack[GetXbrlProofGiven]) -> XbrlProof[Day, Moment]:
        """Proof of one figure."""
    async def post_xbrl_timeseries_batch(self, **given: Unpack[PostXbrlTimeseriesBatchGiven]) -> PostXbrlTimeseriesBatch[Day, Moment]:
        """Standardised figures of several companies."""
    async def post_claims(self, **given: Unpack[PostClaimsGiven]) -> PostClaims[Day, Moment]:
        """Verdicts on stated figures."""
    async def post_claims_receipts_verify(self, **given: Unpack[PostClaimsReceiptsVerifyGiven]) -> PostClaimsReceiptsVerify[Day, Moment]:
        """Confirmation of receipts."""
    async def get_xbrl_segments(self, **given: Unpack[GetXbrlSegmentsGiven]) -> XbrlSegments[Day, Moment]:
        """Figures by segment, product or region."""
    async def get_xbrl_share_classes(self, **given: Unpack[GetXbrlShareClassesGiven]) -> XbrlShareClasses[Day, Moment]:
        """Classes of shares."""
    async def get_xbrl_screen(self, **given: Unpack[GetXbrlScreenGiven]) -> XbrlScreen[Day, Moment]:
        """Screen companies by figures, growth and ratios."""
    async def get_xbrl_companies_id_valuation(self, **given: Unpack[GetXbrlCompaniesIdValuationGiven]) -> XbrlCompaniesIdValuation[Day, Moment]:
        """Valuation ratios of a company over time."""
    async def get_insiders_transactions_latest(self, **given: Unpack[GetInsidersTransactionsLatestGiven]) -> InsidersTransactionsLatest[Day, Moment]:
        """Newest insider transactions."""
    async def get_insiders_transactions_by_ticker_ticker(self, **given: Unpack[GetInsidersTransactionsByTickerTickerGiven]) -> InsidersTransactionsByTickerTicker[Day, Moment]:
        """Insider transactions of a company."""
    async def get_insiders_transactions_by_insider_cik(self, **given: Unpack[GetInsidersTransactionsByInsiderCikGiven]) -> InsidersTransactionsByInsiderCik[Day, Moment]:
        """Transactions of an insider."""
    async def get_insiders_transactions_search(self, **given: Unpack[GetInsidersTransactionsSearchGiven]) -> InsidersTransactionsSearch[Day, Moment]:
        """Search insider transactions."""
    async def get_insiders_transactions_top(self, **given: Unpack[GetInsidersTransactionsTopGiven]) -> InsidersTransactionsTop[Day, Moment]:
        """Largest insider purchases or sales."""
    async def get_nport_latest(self, **given: Unpack[GetNportLatestGiven]) -> NportLatest[Day, Moment]:
        """Newest reports of mutual funds and ETFs (Form N-PORT)."""
    async def get_nport_by_series_series_id(self, **given: Unpack[GetNportBySeriesSeriesIdGiven]) -> NportBySeriesSeriesId[Day, Moment]:
        """Reports of a fund by its series id."""
    async def get_nport_by_ticker_ticker(self, **given: Unpack[GetNportByTickerTickerGiven]) -> NportByTickerTicker[Day, Moment]:
        """Reports of a fund by its ticker."""
    async def get_nport_funds_ticker_aum_history(self, **given: Unpack[GetNportFundsTickerAumHistoryGiven]) -> NportFundsTickerAumHistory[Day, Moment]:
        """Assets of a fund by day."""
    async def get_nport_funds_ticker_holdings(self, **given: Unpack[GetNportFundsTickerHoldingsGiven]) -> NportFundsTickerHoldings[Day, Moment]:
        """Positions of a fund by its ticker."""
    async def get_nport_holders_of_cusip(self, **given: Unpack[GetNportHoldersOfCusipGiven]) -> NportHoldersOfCusip[Day, Moment]:
        """Funds that hold a security."""
    async def post_nport_screen(self, **given: Unpack[PostNportScreenGiven]) -> PostNportScreen[Day, Moment]:
        """Screen funds by assets, flows and returns."""
    async def get_nport_accession(self, **given: Unpack[GetNportAccessionGiven]) -> NportAccession[Day, Moment]:
        """One report of a fund."""
    async def get_nport_accession_holdings(self, **given: Unpack[GetNportAccessionHoldingsGiven]) -> NportFundsTickerHoldings[Day, Moment]:
        """Positions of a fund's report."""
    async def get_nport_accession_changes(self, **given: Unpack[GetNportAccessionChangesGiven]) -> NportAccessionChanges[Day, Moment]:
        """Changes of a fund's positions since an earlier report."""
    async def get_insiders_form_144_latest(self, **given: Unpack[GetInsidersForm144LatestGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Newest notices of proposed sales (Form 144)."""
    async def get_insiders_form_144_by_ticker_ticker(self, **given: Unpack[GetInsidersForm144ByTickerTickerGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Notices of proposed sales of a company's securities."""
    async def get_insiders_form_144_by_insider_cik(self, **given: Unpack[GetInsidersForm144ByInsiderCikGiven]) -> InsidersForm144Latest[Day, Moment]:
        """Notices of proposed sales filed by an insider."""
    async def post_insiders_query(self, **given: Unpack[PostInsidersQueryGiven]) -> PostInsidersQuery[Day, Moment]:
        """Query Forms 3, 4 and 5."""
    async def get_insiders_clusters(self, **given: Unpack[GetInsidersClustersGiven]) -> list[InsidersClusters[Day, Moment]]:
        """Clusters of insider purchases or sales."""
    async def get_insiders_screen(self, **given: Unpack[GetInsidersScreenGiven]) -> InsidersScreen[Day, Moment]:
        """Screen companies by insider activity."""
    async def get_insiders_summary_by_ticker_ticker(self, **given: Unpack[GetInsidersSummaryByTickerTickerGiven]) -> InsidersSummaryByTickerTicker[Day, Moment]:
        """Totals of a company's insider transactions."""
    async def get_insiders_insider_search(self, **given: Unpack[GetInsidersInsiderSearchGiven]) -> list[InsidersInsiderSearch]:
        """Search insiders by name."""
    async def get_insiders_insider_insider_cik(self, **given: Unpack[GetInsidersInsiderInsiderCikGiven]) -> InsidersInsiderInsiderCik[Day, Moment]:
        """An insider's roles, holdings and trades."""
    async def get_insiders_holdings_by_ticker_ticker(self, **given: Unpack[GetInsidersHoldingsByTickerTickerGiven]) -> InsidersHoldingsByTickerTicker[Day, Moment]:
        """Insider holdings of a company."""
    async def get_insiders_holdings_by_insider_cik(self, **given: Unpack[GetInsidersHoldingsByInsiderCikGiven]) -> InsidersHoldingsByInsiderCik[Day, Moment]:
        """Holdings of an insider."""
    async def get_insiders_holdings_snapshot_snapshot_date(self, **given: Unpack[GetInsidersHoldingsSnapshotSnapshotDateGiven]) -> InsidersHoldingsSnapshotSnapshotDate[Day, Moment]:
        """Insider holdings on a past day."""
    async def get_insiders_filings_latest(self, **given: Unpack[GetInsidersFilingsLatestGiven]) -> InsidersFilingsLatest[Day, Moment]:
        """Newest Forms 3, 4 and 5."""
    async def get_insiders_filings_by_ticker_ticker(self, **given: Unpack[GetInsidersFilingsByTickerTickerGiven]) -> InsidersFilingsByTickerTicker[Day, Moment]:
        """Forms 3, 4 and 5 of a company."""
    async def get_insiders_filings_accession_number(self, **given: Unpack[GetInsidersFilingsAccessionNumberGiven]) -> InsidersFilingsAccessionNumber[Day, Moment]:
        """One Form 3, 4 or 5 in full."""
    async def get_insiders_aggregation_by_sector(self, **given: Unpack[GetInsidersAggregationBySectorGiven]) -> InsidersAggregationBySector[Day, Moment]:
        """Insider activity by sector or industry."""
    async def get_insiders_recommendations_daily(self, **given: Unpack[GetInsidersRecommendationsDailyGiven]) -> InsidersRecommendationsDaily[Day, Moment]:
        """Strongest clusters of the last month."""
    async def get_insiders_bulk_form_form_type_index_json(self, **given: Unpack[GetInsidersBulkFormFormTypeIndexJsonGiven]) -> InsidersBulkFormFormTypeIndexJson[Day, Moment]:
        """Monthly bulk files of a form."""
    async def get_insiders_bulk_form_form_type_year_filename(self, **given: Unpack[GetInsidersBulkFormFormTypeYearFilenameGiven]) -> InsidersBulkFormFormTypeYearFilename[Day, Moment]:
        """URL of a monthly bulk file."""
    async def post_insiders_bulk_form_form_type_generate_year_month(self, **given: Unpack[PostInsidersBulkFormFormTypeGenerateYearMonthGiven]) -> PostInsidersBulkFormFormTypeGenerateYearMonth[Day, Moment]:
        """Create a monthly bulk file."""
    async def get_insiders_stats_global(self, **given: Unpack[GetInsidersStatsGlobalGiven]) -> InsidersStatsGlobal[Day, Moment]:
        """Market-wide insider activity."""
    async def post_sql_proxy(self, **given: Unpack[PostSqlProxyGiven]) -> PostSqlProxy[Day, Moment]:
        """Run one SELECT over views of the market data."""
    @overload
    def rows(self, name: Literal["get_sniper_targets"], **given: Unpack[GetSniperTargetsGiven]) -> AsyncIterator[UserExportSniperTargets[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_webhooks_deliveries"], **given: Unpack[GetWebhooksDeliveriesGiven]) -> AsyncIterator[UserExportDeliveries[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_account_transactions"], **given: Unpack[GetAccountTransactionsGiven]) -> AsyncIterator[UserExportTransactions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik"], **given: Unpack[GetForm13fFundCikGiven]) -> AsyncIterator[Form13fFundCikHoldings]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik_cusip_cusip_history"], **given: Unpack[GetForm13fFundCikCusipCusipHistoryGiven]) -> AsyncIterator[Form13fFundCikCusipCusipHistoryHistory[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_cik_holdings_analytics"], **given: Unpack[GetForm13fFundCikHoldingsAnalyticsGiven]) -> AsyncIterator[Form13fFundCikHoldingsAnalyticsHoldings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_funds"], **given: Unpack[GetForm13fFundsGiven]) -> AsyncIterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_search"], **given: Unpack[GetForm13fSearchGiven]) -> AsyncIterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_filers"], **given: Unpack[GetForm13fFilersGiven]) -> AsyncIterator[Form13fFundsFunds[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_latest"], **given: Unpack[GetForm13fLatestGiven]) -> AsyncIterator[Form13fLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_form_13f_holdings"], **given: Unpack[PostForm13fHoldingsGiven]) -> AsyncIterator[PostForm13fHoldingsHoldings]: ...
    @overload
    def rows(self, name: Literal["post_form_13f_cover_pages"], **given: Unpack[PostForm13fCoverPagesGiven]) -> AsyncIterator[PostForm13fCoverPagesFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_holdings_search"], **given: Unpack[GetForm13fHoldingsSearchGiven]) -> AsyncIterator[Form13fHoldingsSearchHolders]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_moves"], **given: Unpack[GetForm13fMovesGiven]) -> AsyncIterator[Form13fMovesMoves]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_overlap"], **given: Unpack[GetForm13fOverlapGiven]) -> AsyncIterator[Form13fOverlapPositions]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_basket_holdings"], **given: Unpack[GetForm13fAggregationBasketHoldingsGiven]) -> AsyncIterator[Form13fAggregationBasketHoldingsPositions]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_ticker"], **given: Unpack[GetForm13fAggregationByTickerGiven]) -> AsyncIterator[Form13fAggregationByTickerDataTickers[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_sector"], **given: Unpack[GetForm13fAggregationBySectorGiven]) -> AsyncIterator[Form13fAggregationBySectorDataSectors[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_aggregation_by_industry"], **given: Unpack[GetForm13fAggregationByIndustryGiven]) -> AsyncIterator[Form13fAggregationByIndustryDataIndustries[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_fund_performance"], **given: Unpack[GetForm13fFundPerformanceGiven]) -> AsyncIterator[Form13fFundPerformanceDataLeaderboard]: ...
    @overload
    def rows(self, name: Literal["get_form_13f_cross_filing_signals"], **given: Unpack[GetForm13fCrossFilingSignalsGiven]) -> AsyncIterator[Form13fCrossFilingSignalsDataSignals[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_filings"], **given: Unpack[GetOwnershipBeneficialOwnershipFilingsGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipFilingsFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_issuers_cik_summary"], **given: Unpack[GetOwnershipBeneficialOwnershipIssuersCikSummaryGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipIssuersCikSummaryBeneficialOwners[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_filers_cik_portfolio"], **given: Unpack[GetOwnershipBeneficialOwnershipFilersCikPortfolioGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipFilersCikPortfolioPositions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_activists"], **given: Unpack[GetOwnershipBeneficialOwnershipActivistsGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipActivistsActivists[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_analytics_threshold_crossings"], **given: Unpack[GetOwnershipAnalyticsThresholdCrossingsGiven]) -> AsyncIterator[OwnershipAnalyticsThresholdCrossingsCrossings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_form_13d"], **given: Unpack[PostForm13dGiven]) -> AsyncIterator[PostForm13dData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_conversions"], **given: Unpack[GetOwnershipBeneficialOwnershipConversionsGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipConversionsConversions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_beneficial_ownership_groups"], **given: Unpack[GetOwnershipBeneficialOwnershipGroupsGiven]) -> AsyncIterator[OwnershipBeneficialOwnershipGroupsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_holders"], **given: Unpack[GetOwnershipHoldersGiven]) -> AsyncIterator[OwnershipHoldersHolders]: ...
    @overload
    def rows(self, name: Literal["get_ownership_holders_uuid_filing_history"], **given: Unpack[GetOwnershipHoldersUuidFilingHistoryGiven]) -> AsyncIterator[OwnershipHoldersUuidFilingHistoryHistory[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_holder_uuid_issuer_issuer_cik_history"], **given: Unpack[GetOwnershipPositionsHolderUuidIssuerIssuerCikHistoryGiven]) -> AsyncIterator[OwnershipPositionsHolderUuidIssuerIssuerCikHistoryEvents[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_issuer_issuer_cik_holders"], **given: Unpack[GetOwnershipPositionsIssuerIssuerCikHoldersGiven]) -> AsyncIterator[OwnershipPositionsIssuerIssuerCikHoldersHolders[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_positions_issuer_issuer_cik_timeline"], **given: Unpack[GetOwnershipPositionsIssuerIssuerCikTimelineGiven]) -> AsyncIterator[OwnershipPositionsIssuerIssuerCikTimelineEvents[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_ticker"], **given: Unpack[GetOwnershipAggregationByTickerGiven]) -> AsyncIterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_sector"], **given: Unpack[GetOwnershipAggregationBySectorGiven]) -> AsyncIterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_ownership_aggregation_by_industry"], **given: Unpack[GetOwnershipAggregationByIndustryGiven]) -> AsyncIterator[OwnershipAggregationByTickerData]: ...
    @overload
    def rows(self, name: Literal["get_tickers_autocomplete"], **given: Unpack[GetTickersAutocompleteGiven]) -> AsyncIterator[TickersAutocompleteTickers]: ...
    @overload
    def rows(self, name: Literal["get_tickers_ticker_holders"], **given: Unpack[GetTickersTickerHoldersGiven]) -> AsyncIterator[TickersTickerHoldersDataHolders[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_tickers_ticker_fund_trends"], **given: Unpack[GetTickersTickerFundTrendsGiven]) -> AsyncIterator[TickersTickerFundTrendsDataQuarters[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_cusip_batch"], **given: Unpack[PostCusipBatchGiven]) -> AsyncIterator[PostCusipBatchResults]: ...
    @overload
    def rows(self, name: Literal["get_cusip_chain_cusip"], **given: Unpack[GetCusipChainCusipGiven]) -> AsyncIterator[CusipChainCusipChain[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_cik_cik"], **given: Unpack[GetCusipCikCikGiven]) -> AsyncIterator[CusipCikCikSecurities[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_cusip6_cusip6"], **given: Unpack[GetCusipCusip6Cusip6Given]) -> AsyncIterator[CusipCikCikSecurities[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_cusip_search"], **given: Unpack[GetCusipSearchGiven]) -> AsyncIterator[CusipSearchResults[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_filings"], **given: Unpack[GetSecFilingsGiven]) -> AsyncIterator[SecFilingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_filings_search"], **given: Unpack[GetSecFilingsSearchGiven]) -> AsyncIterator[SecFilingsSearchData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_forms"], **given: Unpack[GetSecFormsGiven]) -> AsyncIterator[SecFormsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_sec_entities"], **given: Unpack[GetSecEntitiesGiven]) -> AsyncIterator[SecEntitiesData]: ...
    @overload
    def rows(self, name: Literal["get_filings"], **given: Unpack[GetFilingsGiven]) -> AsyncIterator[FilingsFilings[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_index"], **given: Unpack[GetIndexGiven]) -> AsyncIterator[IndexAccessions[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_facts"], **given: Unpack[GetXbrlFactsGiven]) -> AsyncIterator[XbrlFactsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_coverage"], **given: Unpack[GetXbrlCoverageGiven]) -> AsyncIterator[XbrlCoverageDataCompanies]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_search"], **given: Unpack[GetXbrlSearchGiven]) -> AsyncIterator[XbrlSearchData]: ...
    @overload
    def rows(self, name: Literal["get_facts"], **given: Unpack[GetFactsGiven]) -> AsyncIterator[FactsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_facts_by_concept"], **given: Unpack[GetFactsByConceptGiven]) -> AsyncIterator[FactsByConceptFacts[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_prices_ticker"], **given: Unpack[GetPricesTickerGiven]) -> AsyncIterator[PricesTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_timeseries"], **given: Unpack[GetXbrlTimeseriesGiven]) -> AsyncIterator[XbrlTimeseriesDataRows[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_dictionary"], **given: Unpack[GetXbrlDictionaryGiven]) -> AsyncIterator[XbrlDictionaryData]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_screen"], **given: Unpack[GetXbrlScreenGiven]) -> AsyncIterator[XbrlScreenData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_xbrl_companies_id_valuation"], **given: Unpack[GetXbrlCompaniesIdValuationGiven]) -> AsyncIterator[XbrlCompaniesIdValuationData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_latest"], **given: Unpack[GetInsidersTransactionsLatestGiven]) -> AsyncIterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_by_ticker_ticker"], **given: Unpack[GetInsidersTransactionsByTickerTickerGiven]) -> AsyncIterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_by_insider_cik"], **given: Unpack[GetInsidersTransactionsByInsiderCikGiven]) -> AsyncIterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_search"], **given: Unpack[GetInsidersTransactionsSearchGiven]) -> AsyncIterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_transactions_top"], **given: Unpack[GetInsidersTransactionsTopGiven]) -> AsyncIterator[InsidersTransactionsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_latest"], **given: Unpack[GetNportLatestGiven]) -> AsyncIterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_by_series_series_id"], **given: Unpack[GetNportBySeriesSeriesIdGiven]) -> AsyncIterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_by_ticker_ticker"], **given: Unpack[GetNportByTickerTickerGiven]) -> AsyncIterator[NportLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_funds_ticker_aum_history"], **given: Unpack[GetNportFundsTickerAumHistoryGiven]) -> AsyncIterator[NportFundsTickerAumHistoryData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_funds_ticker_holdings"], **given: Unpack[GetNportFundsTickerHoldingsGiven]) -> AsyncIterator[NportFundsTickerHoldingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_holders_of_cusip"], **given: Unpack[GetNportHoldersOfCusipGiven]) -> AsyncIterator[NportHoldersOfCusipData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["post_nport_screen"], **given: Unpack[PostNportScreenGiven]) -> AsyncIterator[PostNportScreenData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_accession_holdings"], **given: Unpack[GetNportAccessionHoldingsGiven]) -> AsyncIterator[NportFundsTickerHoldingsData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_nport_accession_changes"], **given: Unpack[GetNportAccessionChangesGiven]) -> AsyncIterator[NportAccessionChangesData]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_latest"], **given: Unpack[GetInsidersForm144LatestGiven]) -> AsyncIterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_by_ticker_ticker"], **given: Unpack[GetInsidersForm144ByTickerTickerGiven]) -> AsyncIterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_form_144_by_insider_cik"], **given: Unpack[GetInsidersForm144ByInsiderCikGiven]) -> AsyncIterator[InsidersForm144LatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_clusters"], **given: Unpack[GetInsidersClustersGiven]) -> AsyncIterator[InsidersClusters[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_screen"], **given: Unpack[GetInsidersScreenGiven]) -> AsyncIterator[InsidersScreenResults[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_insider_search"], **given: Unpack[GetInsidersInsiderSearchGiven]) -> AsyncIterator[InsidersInsiderSearch]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_by_ticker_ticker"], **given: Unpack[GetInsidersHoldingsByTickerTickerGiven]) -> AsyncIterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_by_insider_cik"], **given: Unpack[GetInsidersHoldingsByInsiderCikGiven]) -> AsyncIterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_holdings_snapshot_snapshot_date"], **given: Unpack[GetInsidersHoldingsSnapshotSnapshotDateGiven]) -> AsyncIterator[InsidersHoldingsByTickerTickerData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_filings_latest"], **given: Unpack[GetInsidersFilingsLatestGiven]) -> AsyncIterator[InsidersFilingsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_filings_by_ticker_ticker"], **given: Unpack[GetInsidersFilingsByTickerTickerGiven]) -> AsyncIterator[InsidersFilingsLatestData[Day, Moment]]: ...
    @overload
    def rows(self, name: Literal["get_insiders_aggregation_by_sector"], **given: Unpack[GetInsidersAggregationBySectorGiven]) -> AsyncIterator[InsidersAggregationBySectorData]: ...
