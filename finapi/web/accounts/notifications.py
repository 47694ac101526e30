"""API handlers of sniper targets, webhook deliveries and the secret that signs them (DECISIONS 9)."""

from __future__ import annotations

from finapi.core.errors import ApiError, invalid_param
from finapi.core.json import dumps
from finapi.delivery import sniper, webhooks
from finapi.market.reference import companies
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import MAX_FREE_OFFSET, Field, Param, cursor_param, limit_param, offset_param, path_param

CREATE_TARGET_BODY = (
    Field("ticker", "text", required=True, help="A ticker or a CIK.", example="AAPL"),
    Field(
        "duration_minutes",
        "integer",
        nullable=True,
        minimum=sniper.MIN_WINDOW_MINUTES,
        maximum=sniper.MAX_WINDOW_MINUTES,
        help="Length of the window; 60 if neither this nor end_time is given.",
        example=60,
    ),
    Field("start_time", "text", nullable=True, help="Start of the window; now by default."),
    Field("end_time", "text", nullable=True, help="End of the window, instead of duration_minutes."),
    Field("form_types", "words", nullable=True, help="SEC form types to match; any form if left out.", example=["8-K"]),
    Field(
        "webhook_url",
        "url",
        nullable=True,
        help="Receiver of the hit; the account's webhook_url by default.",
        example="https://example.com/hook",
    ),
)
LIST_TARGETS_PARAMS = (
    Param("status", allowed=sniper.STATES, help="Targets in this state.", example="ACTIVE"),
    Param("ticker", "ticker", help="Targets of this company.", example="AAPL"),
    limit_param(50, 200, "Targets"),
    offset_param(MAX_FREE_OFFSET, "Targets"),
)
TARGET_ID_PARAMS = (path_param("target_id", help="The target's id.", example="tgt_4fK2mQ8xZp1c"),)
LIST_DELIVERIES_PARAMS = (
    Param("status", allowed=webhooks.STATES, help="Deliveries in this state.", example="dropped"),
    Param("event_type", allowed=webhooks.EVENT_TYPES, help="Deliveries of this type.", example="finapi.test"),
    limit_param(50, 200, "Deliveries"),
    offset_param(MAX_FREE_OFFSET, "Deliveries"),
    cursor_param("120", "[0-9]{1,18}"),
)
DELIVERY_ID_PARAMS = (
    path_param("delivery_id", help="The delivery's id.", example="dlv_0123456789abcdef0123456789abcdef"),
)
TEST_BODY = (
    Field(
        "url",
        "url",
        nullable=True,
        help="Receiver; the account's webhook_url by default.",
        example="https://example.com/hook",
    ),
)


def create_target(call: Call) -> Response:
    """Create a target and return it. Raise INVALID_PARAM for an unknown company."""
    company = _find_watched_company(call, call.body["ticker"])
    return sniper.create_target(call.app, call.user_id, company, call.body, call.now, call.store_response)


def list_targets(call: Call) -> Response:
    """Return a page of the caller's targets, newest first."""
    # A target stores the padded CIK in place of the ticker if its company has no ticker.
    ticker_or_cik = call.params["ticker"] and _find_watched_company(call, call.params["ticker"]).ticker
    filters = {**call.params, "ticker": ticker_or_cik}
    with call.app.accounts.read() as tx:
        return call.bare_object(sniper.list_targets(call.app, tx, call.user_id, call.now, **filters))


def stop_target(call: Call) -> Response:
    """Stop a target and return it."""
    return sniper.stop_target(call.app, call.user_id, call.params["target_id"], call.now, call.store_response)


def list_deliveries(call: Call) -> Response:
    """Return a page of the caller's deliveries, newest first, with their attempts."""
    params = call.params
    with call.app.accounts.read() as tx:
        page = webhooks.list_deliveries(
            tx,
            call.user_id,
            limit=params["limit"],
            offset=params["offset"],
            before=params["cursor"] and int(params["cursor"]),
            state=params["status"],
            event_type=params["event_type"],
        )
    return call.bare_object(page)


def redeliver(call: Call) -> Response:
    """Send a delivery again under the same id and return it."""
    return webhooks.redeliver(call.app, call.user_id, call.params["delivery_id"], call.now, call.store_response)


def send_test(call: Call) -> Response:
    """Enqueue a test event and return its delivery."""
    return webhooks.enqueue_test(call.app, call.user_id, call.body.get("url"), call.now, call.store_response)


def show_secret(call: Call) -> Response:
    """Return the secret that signs the caller's deliveries."""
    return call.bare_object(webhooks.get_secret(call.app, call.user_id, call.now))


def rotate_secret(call: Call) -> Response:
    """Replace the secret and return the new one. The old secret also signs deliveries for a day.

    The response is not stored for an ``Idempotency-Key``, because no secret is stored in the database.
    """
    return call.bare_object(webhooks.rotate_secret(call.app, call.user_id, call.now))


def show_vectors(call: Call) -> Response:
    """Return example messages with their signatures, with which the authors of receivers can test their code."""
    return Response(200, dumps(webhooks.build_vectors()))


def _find_watched_company(call: Call, text: str) -> sniper.WatchedCompany:
    """Return the company of a ticker or CIK. Raise UNKNOWN_TICKER, or INVALID_PARAM if the ticker is in the body."""
    with call.app.db.read() as tx:
        try:
            company = companies.resolve(tx, text)
        except ApiError as error:
            if error.code != "UNKNOWN_TICKER" or "ticker" not in call.body:
                raise
            # An unknown ticker in a body is an invalid parameter (400), not a missing resource (DECISIONS 2).
            raise invalid_param("ticker", error.message, expected="a ticker or CIK that is known") from None
    return sniper.WatchedCompany(company.cik, company.ticker or company.padded_cik)
