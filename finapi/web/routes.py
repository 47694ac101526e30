"""The API as one table, and the look-up in it.

The router, ``/openapi.json`` and the test of the README read this table and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from finapi.web import (
    account,
    auth,
    baskets,
    coverage,
    cusips,
    describe,
    dictionary,
    documents,
    event_log,
    facts,
    filings,
    flow_shapes,
    flows,
    form13f,
    forms,
    front,
    fund_lists,
    health,
    holdings_shapes,
    insider_filings,
    insider_holdings,
    insider_totals,
    insiders,
    metrics,
    overview,
    pages,
    policy,
    prices,
    screen,
    segments,
    series,
    series_shapes,
    sniper,
    sql_proxy,
    statements,
    status,
    status_page,
    user,
    webhooks,
)
from finapi.web import insider_shapes as shape
from finapi.web.call import Route
from finapi.web.shapes import MESSAGE

API = "/api/v1"
INSIDERS = API + "/insiders"

# Where the same routes are found too (CONTRACT 1): what begins so, and what it may begin with instead.
ALSO = {INSIDERS + "/": "/insider-module/api/insiders/"}

# fmt: off
ROUTES: tuple[Route, ...] = (
    # method, path, handler, who may call, tokens, limit zone, what it answers
    Route("GET", "/livez", health.livez, "none", 0, None, "Whether the process answers", shape=health.LIVE),
    Route("GET", "/readyz", health.readyz, "none", 0, None, "Whether the store answers too", shape=health.READY),
    Route("GET", "/openapi.json", describe.openapi, "none", 0, None, "This document",
          at_once=describe.is_ready, shape=describe.DOCUMENT),
    Route("GET", "/metrics", metrics.figures, "none", 0, None, "Figures for Prometheus", page=True),
    Route("GET", "/", front.front, "none", 0, None, "The front page", page=True),
    Route("GET", "/status", status_page.show, "none", 0, None, "The page of the status", page=True),
    Route("GET", "/status.rss", status.feed, "none", 0, None, "Changes of status as RSS", page=True),
    Route("GET", "/status/badge/{badge}", status.badge, "none", 0, None,
          "A service's status as SVG", status.BADGE_PARAMS, page=True),
    Route("GET", "/reset-password", pages.reset_password, "none", 0, None,
          "The page for a new password", page=True),
    Route("POST", "/reset-password", pages.set_password, "none", 0, "app",
          "The form of that page", page=True),
    Route("GET", "/email-verified", pages.email_verified, "none", 0, None,
          "The page after the activation link", page=True),
    Route("GET", "/plans", documents.plan_page, "none", 0, None,
          "The page of the plans", page=True),
    Route("GET", "/changelog", documents.changelog, "none", 0, None,
          "The page of what changed", page=True),
    Route("GET", "/integrations/mcp", documents.mcp, "none", 0, None,
          "The page for Model Context Protocol clients", page=True),
    Route("GET", "/style.css", pages.style, "none", 0, None, "The stylesheet of the pages", page=True),
    # No zone: a cache of 30 s stands in front of the limits (CONTRACT 5).
    Route("GET", API + "/status", status.show, "none", 0, None,
          "How every part of the service stands", at_once=status.is_ready, shape=status.STATUS_SHAPE),
    Route("GET", API + "/status/history", status.history, "none", 0, "app",
          "How they stood, in buckets of hours or days", status.HISTORY_PARAMS, shape=status.HISTORY_SHAPE),
    Route("GET", API + "/financials/status", coverage.held, "none", 0, "financials",
          "How much is held, and how fresh it is", shape=coverage.HELD_SHAPE),
    Route("POST", API + "/auth/redeem-invite", auth.redeem_invite, "none", 0, "app",
          "An invite token for an invite code", body=auth.REDEEM_BODY, errors=(410,), shape=auth.REDEEMED),
    Route("POST", API + "/auth/register", auth.register, "none", 0, "register",
          "Make an account", body=auth.REGISTER_BODY, email_limit="register_email", errors=(410,),
          shape=auth.REGISTERED),
    Route("GET", API + "/auth/verifyEmail", auth.verify_email, "none", 0, "app",
          "Follow the activation link", auth.TOKEN_PARAMS, answers=(200, 302), shape=MESSAGE),
    Route("POST", API + "/auth/resend-verification", auth.resend_verification, "none", 0, "resend",
          "Send the activation link again", body=auth.EMAIL_BODY, shape=MESSAGE),
    Route("POST", API + "/auth/login", auth.login, "none", 0, "app",
          "Open a session", body=auth.LOGIN_BODY, errors=(401,), shape=auth.LOGGED_IN),
    Route("POST", API + "/auth/logout", auth.logout, "session", 0, "app",
          "End this session", shape=MESSAGE),
    Route("POST", API + "/auth/forgetpassword", auth.forget_password, "none", 0, "app",
          "Ask for a link to set a new password", body=auth.EMAIL_BODY, shape=MESSAGE),
    Route("GET", API + "/auth/verifyPasswordLink", auth.verify_password_link, "none", 0, "app",
          "Follow the password link to its page", answers=(302,)),
    Route("PUT", API + "/auth/newpassword", auth.new_password, "none", 0, "app",
          "Set a new password by a reset token", body=auth.NEW_PASSWORD_BODY, shape=MESSAGE),
    Route("GET", API + "/user/", user.show, "session", 0, "app",
          "The caller's account", shape=user.SHOWN),
    Route("PUT", API + "/user/", user.update, "session", 0, "app",
          "Change the caller's account", body=user.UPDATE_BODY, shape=user.UPDATED),
    Route("POST", API + "/user/api-key/rotate", user.rotate_key, "session", 0, "app",
          "Replace the API key", shape=user.KEY),
    Route("POST", API + "/sniper/targets", sniper.create, "either", 0, "app",
          "Watch a company for a filing", body=sniper.CREATE_BODY, shape=sniper.TARGET, idempotent=True,
          errors=(409,)),
    Route("GET", API + "/sniper/targets", sniper.listed, "either", 0, "app",
          "The caller's sniper targets", sniper.LIST_PARAMS, shape=sniper.LIST, errors=(404,)),
    Route("POST", API + "/sniper/targets/{target_id}/stop", sniper.stop, "either", 0, "app",
          "Stop a sniper target", sniper.ID_PARAMS, shape=sniper.STOPPED, idempotent=True, errors=(404,)),
    Route("GET", API + "/webhooks/deliveries", webhooks.listed, "either", 0, "app",
          "What was sent to the caller's receivers, attempt by attempt", webhooks.LIST_PARAMS,
          shape=webhooks.LIST),
    Route("POST", API + "/webhooks/deliveries/{delivery_id}/redeliver", webhooks.redeliver, "either", 0, "app",
          "Send a delivery again, under its id", webhooks.ID_PARAMS, shape=webhooks.DELIVERY, idempotent=True,
          errors=(404, 409)),
    Route("POST", API + "/webhooks/test", webhooks.test, "either", 0, "app",
          "Send a test event", body=webhooks.TEST_BODY, shape=webhooks.DELIVERY, idempotent=True),
    Route("GET", API + "/webhooks/secret", webhooks.secret, "either", 0, "app",
          "The secret that signs the caller's deliveries", shape=webhooks.SECRET),
    Route("POST", API + "/webhooks/secret/rotate", webhooks.rotate_secret, "either", 0, "app",
          "A new signing secret; the old one signs too for 24 hours", shape=webhooks.SECRET),
    Route("GET", API + "/webhooks/vectors", webhooks.vectors, "none", 0, "app",
          "Signed messages to test a receiver with", shape=webhooks.VECTORS),
    Route("GET", API + "/account/balance", account.balance, "either", 0, "app",
          "The tokens left and when they refill", shape=account.BALANCE),
    Route("GET", API + "/account/usage", account.usage, "either", 0, "app",
          "Tokens spent by day and by endpoint", account.USAGE_PARAMS, shape=account.USAGE),
    Route("GET", API + "/account/transactions", account.transactions, "either", 0, "app",
          "The token ledger, newest first", account.TRANSACTIONS_PARAMS, shape=account.TRANSACTIONS),
    Route("GET", API + "/account/limits", account.limits, "either", 0, None,
          "What is left of every rate limit; asking uses none of it", shape=account.LIMITS),
    Route("POST", API + "/account/billing-portal", account.portal, "either", 0, "app",
          "Where plans are described and changed", shape=account.PORTAL),
    Route("POST", API + "/billing/quota", account.buy_quota, "session", 0, "app",
          "Buy tokens out of the wallet", body=account.QUOTA_BODY, shape=account.QUOTA, idempotent=True),
    Route("GET", API + "/billing/subscription", account.subscription, "session", 0, "app",
          "The plan and its counters", shape=account.SUBSCRIPTION),
    Route("GET", API + "/billing/history", account.history, "session", 0, "app",
          "Every change of the wallet, newest first", account.HISTORY_PARAMS, shape=account.HISTORY),
    Route("GET", API + "/plans/", account.plan_list, "none", 0, "app",
          "The plans that there are", shape=account.PLANS),
    Route("GET", API + "/policy", policy.show, "none", 0, "app",
          "Limits, metering, versions, freshness and tools, as they are in force", at_once=policy.is_ready,
          shape=policy.POLICY),
    Route("GET", API + "/events", event_log.show, "key", 0, "app",
          "The events of a feed after a number; text/event-stream to listen", event_log.PARAMS,
          shape=event_log.SHAPE),
    Route("GET", API + "/xbrl/companies/{ticker}/statements", statements.of_company, "key", 25, "xbrl",
          "A company's statements as filed", statements.COMPANY_PARAMS, cacheable=True,
          shape=statements.SHAPE),
    Route("GET", API + "/xbrl/filing/{accession}/statements", statements.of_filing, "key", 25, "xbrl",
          "One filing's statements as filed", statements.FILING_PARAMS, cacheable=True,
          shape=statements.SHAPE),
    Route("GET", API + "/form-13f/fund/{cik}", form13f.fund, "key", 0, "app",
          "What a fund held at the end of a quarter, and how that changed", form13f.FUND_PARAMS,
          cacheable=True, lists=True, rows_in="holdings", shape=holdings_shapes.FUND),
    Route("GET", API + "/form-13f/fund/{cik}/periods", form13f.periods, "key", 0, "app",
          "The quarters of which a fund's holdings are held", (holdings_shapes.CIK,),
          cacheable=True, shape=holdings_shapes.PERIODS),
    Route("GET", API + "/form-13f/fund/{cik}/cusip/{cusip}/history", form13f.history, "key", 0, "app",
          "What a fund held of one security, quarter by quarter", form13f.HISTORY_PARAMS,
          cacheable=True, lists=True, rows_in="history", shape=holdings_shapes.HISTORY),
    Route("POST", API + "/form-13f/fund/bulk", form13f.bulk, "key", 0, "app",
          "Several funds at once", form13f.BULK_PARAMS, body=form13f.BULK_BODY, shape=holdings_shapes.BULK),
    Route("GET", API + "/form-13f/funds", fund_lists.all_funds, "key", 0, "app",
          "Every manager whose 13F reports are held", fund_lists.FUNDS_PARAMS,
          cacheable=True, lists=True, rows_in="funds", shape=holdings_shapes.FUNDS),
    Route("GET", API + "/form-13f/search", fund_lists.search, "key", 0, "app",
          "Managers by name", fund_lists.SEARCH_PARAMS,
          cacheable=True, lists=True, rows_in="results", shape=holdings_shapes.FOUND),
    Route("GET", API + "/form-13f/filers", fund_lists.filers, "key", 10, "app",
          "Managers by name, with what they hold", fund_lists.FILERS_PARAMS,
          cacheable=True, lists=True, rows_in="filers", shape=holdings_shapes.FILERS),
    Route("GET", API + "/form-13f/latest", fund_lists.latest, "key", 0, "app",
          "The newest 13F filings and what they changed", fund_lists.LATEST_PARAMS,
          cacheable=True, lists=True, shape=holdings_shapes.LATEST),
    Route("GET", API + "/form-13f/filing-stats", fund_lists.stats, "key", 0, "app",
          "How many funds filed for a quarter", fund_lists.STATS_PARAMS, shape=fund_lists.STATS),
    Route("GET", API + "/form-13f/filing-progress", fund_lists.progress, "key", 0, "app",
          "How far the reports of a quarter have come in", fund_lists.PROGRESS_PARAMS,
          shape=fund_lists.PROGRESS),
    Route("POST", API + "/form-13f/holdings", form13f.query_holdings, "key", 10, "app",
          "The holdings that a query asks for", body=form13f.HOLDINGS_BODY,
          lists=True, rows_in="holdings", shape=holdings_shapes.QUERIED),
    Route("POST", API + "/form-13f/cover-pages", form13f.query_covers, "key", 10, "app",
          "The cover pages that a query asks for", body=form13f.COVERS_BODY,
          lists=True, rows_in="filings", shape=holdings_shapes.COVERS),
    Route("GET", API + "/form-13f/holdings/search", flows.search_holdings, "key", 0, "app",
          "The funds that hold what a ticker or a CUSIP names", flow_shapes.SEARCH_PARAMS,
          cacheable=True, lists=True, rows_in="holders", shape=flow_shapes.SEARCHED),
    Route("GET", API + "/form-13f/aggregation/basket-holdings", baskets.holdings, "key", 0, "app",
          "What several funds held together", baskets.PARAMS,
          lists=True, rows_in="positions", shape=baskets.SHAPE),
    Route("GET", API + "/form-13f/aggregation/by-ticker", flows.by_ticker, "key", 0, "app",
          "The securities of a quarter over all funds", flow_shapes.BY_TICKER_PARAMS,
          unserved=flow_shapes.BY_TICKER_UNSERVED,
          lists=True, rows_in="data.tickers", shape=flow_shapes.BY_TICKER),
    Route("GET", API + "/form-13f/aggregation/by-sector", flows.by_sector, "key", 0, "app",
          "The sectors of a quarter over all funds", flow_shapes.BY_SECTOR_PARAMS,
          lists=True, rows_in="data.sectors", shape=flow_shapes.BY_SECTOR),
    Route("GET", API + "/form-13f/aggregation/by-industry", flows.by_industry, "key", 0, "app",
          "The industries of a quarter over all funds", flow_shapes.BY_INDUSTRY_PARAMS,
          lists=True, rows_in="data.industries", shape=flow_shapes.BY_INDUSTRY),
    Route("GET", API + "/tickers/autocomplete", cusips.autocomplete, "key", 1, "app",
          "Tickers by the beginning of a ticker or a name", cusips.AUTOCOMPLETE_PARAMS,
          cacheable=True, lists=True, rows_in="tickers", shape=cusips.AUTOCOMPLETE),
    Route("GET", API + "/tickers/{ticker}/holders", flows.holders, "key", 5, "app",
          "The funds that hold a ticker", flow_shapes.HOLDERS_PARAMS,
          cacheable=True, lists=True, rows_in="data.holders", shape=flow_shapes.HOLDERS),
    Route("GET", API + "/tickers/{ticker}/fund-trends", flows.trends, "key", 10, "app",
          "A ticker quarter by quarter over all funds", flow_shapes.TRENDS_PARAMS,
          cacheable=True, lists=True, rows_in="data.quarters", shape=flow_shapes.TRENDS),
    Route("GET", API + "/tickers/{ticker}/overview", overview.of_ticker, "key", 5, "app",
          "A company at a glance", overview.PARAMS, cacheable=True, shape=overview.SHAPE),
    Route("GET", API + "/cusip/lookup/{cusip}", cusips.lookup, "key", 1, "app",
          "What is known of a CUSIP, and from what", cusips.CUSIP_PARAMS,
          cacheable=True, shape=cusips.LOOKUP),
    Route("GET", API + "/cusip/ticker/{ticker}", cusips.of_ticker, "key", 1, "app",
          "The CUSIP of a ticker", cusips.TICKER_PARAMS, cacheable=True, shape=cusips.LOOKUP),
    Route("POST", API + "/cusip/batch", cusips.batch, "key", 5, "app",
          "Several CUSIPs at once", body=cusips.BATCH_BODY,
          lists=True, rows_in="results", shape=cusips.BATCH),
    Route("GET", API + "/cusip/chain/{cusip}", cusips.chain, "key", 5, "app",
          "The CUSIPs that followed each other", cusips.CUSIP_PARAMS,
          cacheable=True, lists=True, rows_in="chain", shape=cusips.CHAIN),
    Route("GET", API + "/cusip/cik/{cik}", cusips.of_company, "key", 1, "app",
          "The CUSIPs of a company", cusips.CIK_PARAMS,
          cacheable=True, lists=True, rows_in="securities", shape=cusips.BY_CIK),
    Route("GET", API + "/cusip/cusip6/{cusip6}", cusips.of_issuer, "key", 1, "app",
          "The CUSIPs of an issuer's six characters", cusips.CUSIP6_PARAMS,
          cacheable=True, lists=True, rows_in="securities", shape=cusips.BY_CUSIP6),
    Route("GET", API + "/cusip/search", cusips.search, "key", 1, "app",
          "Securities by CUSIP, ticker or name", cusips.SEARCH_PARAMS,
          cacheable=True, lists=True, rows_in="results", shape=cusips.SEARCH),
    Route("GET", API + "/cusip/stats", cusips.stats, "key", 5, "app",
          "How many CUSIPs are known", cacheable=True, shape=cusips.STATS),
    Route("GET", API + "/sec/filings", filings.listed, "key", 5, "app",
          "Filings, newest first", filings.LIST_PARAMS, cacheable=True, lists=True, shape=filings.LIST_SHAPE),
    Route("GET", API + "/sec/filings/stats", forms.statistics, "key", 5, "app",
          "How many filings are known, of which forms", shape=forms.STATISTICS_SHAPE),
    Route("GET", API + "/sec/filings/{accession_number}", filings.detail, "key", 5, "app",
          "One filing", filings.DETAIL_PARAMS, cacheable=True, shape=filings.DETAIL_SHAPE),
    Route("GET", API + "/sec/filings/{accession_number}/html", filings.text, "key", 5, "app",
          "The primary document of a filing, as HTML or text", filings.TEXT_PARAMS, cacheable=True,
          media=("text/html", "text/plain")),
    Route("GET", API + "/sec/forms", forms.forms, "key", 1, "app",
          "Forms and what they are for", forms.FORMS_PARAMS, cacheable=True, lists=True, shape=forms.FORMS_SHAPE),
    Route("GET", API + "/sec/forms/{form_type}", forms.form, "key", 5, "app",
          "One form", forms.FORM_PARAMS, cacheable=True, shape=forms.FORM_SHAPE),
    Route("GET", API + "/sec/entities", forms.entities, "key", 5, "app",
          "Companies and people, by CIK", forms.ENTITIES_PARAMS, cacheable=True, lists=True,
          shape=forms.ENTITIES_SHAPE),
    Route("GET", API + "/filings", filings.bare, "key", 10, "app",
          "Filings by cursor, without an envelope", filings.BARE_PARAMS, cacheable=True, lists=True,
          rows_in="filings", shape=filings.BARE_SHAPE),
    Route("GET", API + "/index", filings.of_day, "key", 1, "app",
          "The accession numbers of a day", filings.DAY_PARAMS, cacheable=True, lists=True,
          rows_in="accessions", shape=filings.DAY_SHAPE),
    Route("GET", API + "/stats", forms.totals, "key", 0, "app",
          "How much is held", shape=forms.TOTALS_SHAPE),
    Route("GET", API + "/xbrl/filing/{accession}/index", coverage.of_filing, "key", 5, "xbrl",
          "The sections of a filing's XBRL", coverage.INDEX_PARAMS, cacheable=True, shape=coverage.INDEX_SHAPE),
    Route("GET", API + "/xbrl/facts", facts.of_xbrl, "key", 10, "xbrl",
          "Facts of a filing or a company, dimensions included", facts.XBRL_PARAMS, cacheable=True, lists=True,
          shape=facts.XBRL_SHAPE),
    Route("GET", API + "/xbrl/coverage", coverage.of_company, "key", 1, "xbrl",
          "How much of a company is held", coverage.COVERAGE_PARAMS, cacheable=True, shape=coverage.COVERAGE_SHAPE),
    Route("GET", API + "/xbrl/search", coverage.search, "key", 1, "xbrl",
          "Companies by ticker, name or CIK", coverage.SEARCH_PARAMS, cacheable=True, lists=True,
          shape=coverage.SEARCH_SHAPE),
    Route("GET", API + "/facts", facts.listed, "key", 10, "app",
          "Figures of a company or a filing", facts.LIST_PARAMS, cacheable=True, lists=True, shape=facts.LIST_SHAPE),
    Route("GET", API + "/facts/by-concept", facts.by_concept, "key", 10, "app",
          "Figures of one concept, of a company or of all", facts.CONCEPT_PARAMS, cacheable=True,
          shape=facts.CONCEPT_SHAPE),
    Route("POST", API + "/facts/aggregate", facts.aggregate, "key", 10, "app",
          "One concept added up over companies", body=facts.AGGREGATE_BODY, shape=facts.AGGREGATE_SHAPE),
    Route("GET", API + "/prices/{ticker}", prices.of_ticker, "key", 5, "app",
          "A ticker's prices by day", prices.PARAMS, cacheable=True, lists=True, shape=prices.SHAPE),
    Route("GET", API + "/xbrl/timeseries", series.timeseries, "key", 10, "xbrl",
          "Standardised figures of a company over time", series.PARAMS, cacheable=True, lists=True, rows_in="data.rows",
          shape=series_shapes.SHAPE),
    Route("GET", API + "/xbrl/dictionary", dictionary.keys, "key", 1, "xbrl",
          "Every key of an answer, and every reason", dictionary.PARAMS, cacheable=True, lists=True,
          shape=dictionary.SHAPE),
    Route("GET", API + "/xbrl/proof", dictionary.proof_of_cell, "key", 10, "xbrl",
          "What is behind one cell of a series", dictionary.PROOF_PARAMS, cacheable=True,
          shape=dictionary.PROOF_SHAPE),
    Route("POST", API + "/xbrl/timeseries/batch", series.batch, "key", 10, "xbrl",
          "Series of several companies", body=series.BATCH_BODY, shape=series_shapes.BATCH_SHAPE),
    Route("GET", API + "/xbrl/segments", segments.by_axis, "key", 10, "xbrl",
          "Figures by segment, product or region", segments.PARAMS, cacheable=True, shape=segments.SHAPE),
    Route("GET", API + "/xbrl/share-classes", segments.share_classes, "key", 5, "xbrl",
          "Classes of shares", segments.CLASSES_PARAMS, cacheable=True, shape=segments.CLASSES_SHAPE),
    Route("GET", API + "/xbrl/screen", screen.companies_by_ratio, "key", 10, "xbrl",
          "Companies by their ratios", screen.PARAMS, cacheable=True, shape=screen.SHAPE),
    Route("GET", API + "/xbrl/companies/{id}/valuation", screen.valuation, "key", 10, "xbrl",
          "Valuation ratios of a company over time", screen.VALUATION_PARAMS, cacheable=True, lists=True,
          shape=screen.VALUATION_SHAPE),
    Route("GET", INSIDERS + "/transactions/latest", insiders.latest, "key", 5, "insider",
          "The newest transactions of insiders", insiders.LATEST_PARAMS,
          lists=True, cacheable=True, shape=shape.TRADES),
    Route("GET", INSIDERS + "/transactions/by-ticker/{ticker}", insiders.of_ticker, "key", 5, "insider",
          "Transactions in a company's securities", insiders.TICKER_PARAMS, lists=True, shape=shape.TRADES),
    Route("GET", INSIDERS + "/transactions/by-insider/{cik}", insiders.of_insider, "key", 5, "insider",
          "Transactions of an insider", insiders.INSIDER_PARAMS,
          lists=True, cacheable=True, shape=shape.TRADES_OF_INSIDER),
    Route("GET", INSIDERS + "/transactions/search", insiders.search, "key", 10, "insider",
          "Transactions by name, value, role and kind", insiders.SEARCH_PARAMS,
          lists=True, shape=shape.TRADES_FOUND),
    Route("GET", INSIDERS + "/transactions/top", insiders.top, "key", 10, "insider",
          "The greatest purchases or sales", insiders.TOP_PARAMS,
          lists=True, cacheable=True, shape=shape.TRADES),
    Route("POST", INSIDERS + "/query", insiders.query, "key", 10, "insider",
          "Ownership forms by a query", body=insiders.QUERY_BODY, shape=shape.QUERY),
    Route("GET", INSIDERS + "/clusters", insider_totals.clusters, "key", 10, "insider",
          "Companies in which several insiders bought, or sold", insider_totals.CLUSTER_PARAMS,
          lists=True, shape=shape.CLUSTERS),
    Route("GET", INSIDERS + "/screen", insider_totals.screen, "key", 10, "insider",
          "Companies by what their insiders did", insider_totals.SCREEN_PARAMS,
          lists=True, rows_in="results", shape=shape.SCREEN),
    Route("GET", INSIDERS + "/summary/by-ticker/{ticker}", insider_totals.summary, "key", 5, "insider",
          "Sums over a company's insiders", insider_totals.SUMMARY_PARAMS, shape=shape.SUMMARY),
    Route("GET", INSIDERS + "/insider/search", insider_holdings.search, "key", 1, "insider",
          "Insiders by name", insider_holdings.SEARCH_PARAMS,
          lists=True, cacheable=True, shape=shape.NAMES_FOUND),
    Route("GET", INSIDERS + "/insider/{insider_cik}", insider_holdings.profile, "key", 5, "insider",
          "An insider: roles, holdings, trades", insider_holdings.PROFILE_PARAMS, shape=shape.PROFILE),
    Route("GET", INSIDERS + "/holdings/by-ticker/{ticker}", insider_holdings.of_ticker, "key", 5, "insider",
          "What insiders hold of a company", insider_holdings.TICKER_PARAMS,
          lists=True, cacheable=True, shape=shape.HOLDINGS_OF_ISSUER),
    Route("GET", INSIDERS + "/holdings/by-insider/{cik}", insider_holdings.of_insider, "key", 5, "insider",
          "What an insider holds", insider_holdings.INSIDER_PARAMS,
          lists=True, cacheable=True, shape=shape.HOLDINGS_OF_INSIDER),
    Route("GET", INSIDERS + "/holdings/snapshot/{snapshot_date}", insider_holdings.snapshot, "key", 10, "insider",
          "What insiders held on a day", insider_holdings.SNAPSHOT_PARAMS,
          lists=True, cacheable=True, shape=shape.SNAPSHOT),
    Route("GET", INSIDERS + "/filings/latest", insider_filings.latest, "key", 5, "insider",
          "The newest forms 3, 4 and 5", insider_filings.LATEST_PARAMS,
          lists=True, cacheable=True, shape=shape.FILINGS),
    Route("GET", INSIDERS + "/filings/by-ticker/{ticker}", insider_filings.of_ticker, "key", 5, "insider",
          "Forms 3, 4 and 5 about a company", insider_filings.TICKER_PARAMS,
          lists=True, cacheable=True, shape=shape.FILINGS_OF_ISSUER),
    Route("GET", INSIDERS + "/filings/{accession_number}", insider_filings.form, "key", 5, "insider",
          "One form, element by element", insider_filings.FORM_PARAMS, cacheable=True, shape=shape.FORM),
    Route("GET", INSIDERS + "/aggregation/by-sector", insider_totals.by_sector, "key", 5, "insider",
          "Sums by sector or industry", insider_totals.GROUP_PARAMS, lists=True, shape=shape.GROUPS),
    Route("GET", INSIDERS + "/recommendations/daily", insider_totals.signals, "key", 10, "insider",
          "The strongest clusters of the month", shape=shape.SIGNALS),
    Route("GET", INSIDERS + "/stats/global", insider_totals.stats, "key", 1, "insider",
          "The whole market in the last days", insider_totals.STATS_PARAMS, shape=shape.OVERVIEW),
    Route("POST", API + "/sql-proxy", sql_proxy.query, "key", 25, "sql",
          "One SELECT over views of the market data", body=sql_proxy.BODY, key_in_body=True,
          shape=sql_proxy.SHAPE),
)
# fmt: on


def paths(route: Route) -> tuple[str, ...]:
    """Every path of a route, its own first."""
    others = (
        other + route.path.removeprefix(prefix)
        for prefix, other in ALSO.items()
        if route.path.startswith(prefix)
    )
    return (route.path, *others)


class Match(NamedTuple):
    """The routes of a path by method, and its path parameters."""

    by_method: dict[str, Route]
    path_params: dict[str, str]


class Router:
    """Finds the routes of a path: literal segments before parameters, in time bounded by the path's length."""

    def __init__(self, routes: Iterable[Route]) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            for path in paths(route):
                by_path.setdefault(path, {})[route.method] = route
        self._literal: dict[tuple[str, ...], dict[str, Route]] = {}
        # By their length and the literal segments that they begin with.
        self._patterns: dict[tuple[int, tuple[str, ...]], list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        for path, by_method in by_path.items():
            segments = tuple(path.strip("/").split("/"))
            if "{" not in path:
                self._literal[segments] = by_method
                continue
            begins = tuple(takewhile(lambda segment: not segment.startswith("{"), segments))
            self._patterns.setdefault((len(segments), begins), []).append((segments, by_method))
        self._matched = lru_cache(maxsize=1024)(self._match)
        for patterns in self._patterns.values():
            # False sorts first: a literal is tried before a parameter in the same place.
            patterns.sort(key=lambda pattern: [segment.startswith("{") for segment in pattern[0]])

    def match(self, segments: tuple[str, ...]) -> Match | None:
        """The routes of a path given as decoded segments, or None when there is no such path."""
        return self._matched(segments)

    def _match(self, segments: tuple[str, ...]) -> Match | None:
        by_method = self._literal.get(segments)
        if by_method is not None:
            return Match(by_method, {})
        for known in range(len(segments) - 1, -1, -1):
            for pattern, by_method in self._patterns.get((len(segments), segments[:known]), ()):
                pairs = list(zip(pattern[known:], segments[known:], strict=True))
                if all(name.startswith("{") or name == given for name, given in pairs):
                    return Match(by_method, {name[1:-1]: given for name, given in pairs if name[0] == "{"})
        return None
