"""The probes of the watchdog (DECISIONS 11). Each one tries the component with its name.

The code that starts a component adds its probe to ``app.health.probes``, so a component that does not run has none. A
probe raises ProbeError if the component does not work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from finapi.app import App
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import StoreUnavailableError, UsageError
from finapi.core.health import PROBE_HEADER, Probe, ProbeError
from finapi.net.outbound import (
    Outbound,
    OutboundError,
    OutboundRequest,
    OutboundTimeoutError,
    ReachPolicy,
    TargetRefusedError,
)
from finapi.ops.status import SERVICES
from finapi.store import heartbeats

USER_AGENT = "finapi-watchdog"

# The operator chooses these URLs, so private addresses are permitted too.
OPERATOR_TARGET_POLICY = ReachPolicy(allows_any_address=True)

# The components of the poller, all in one thread.
POLLING_COMPONENTS: tuple[heartbeats.Component, ...] = ("sec_worker", "sec_13f_worker", "news_daemon", "sec_gateway")

# The longest time without a heartbeat after a step is due. Each fetched document and each request causes a heartbeat.
MAX_SILENCE_SECONDS = 30.0

# A function that returns the reason why a thread does not work, or None if it works.
Diagnosis = Callable[[], str | None]

# The page whose answer stands for all pages. It is rendered for each request and needs no market data, which a cold
# process reads slowly, so a probe measures the pages and not the figures of the front page.
PROBED_PAGE = "/login"


def build_server_probes(
    app: App, url: str, outbound: Outbound, thread_diagnoses: Mapping[str, Diagnosis]
) -> dict[str, Probe]:
    """Return the probes of the components that every server has, and of the URLs in its settings.

    ``url`` is the server's own URL. ``thread_diagnoses`` check the threads that belong to ``main_api``, such as the one
    that sends mails.
    """
    check_targets(app.config)
    timeout_seconds = app.config.watchdog_deadline

    def api() -> None:
        probe_page(outbound, f"{url}/livez", "application/json", timeout_seconds, app.health.probe_token)
        for name, diagnosis in thread_diagnoses.items():
            problem = diagnosis()
            if problem is not None:
                raise ProbeError("failing", f"{name}: {problem}")

    return {
        "main_api": api,
        "frontend": lambda: probe_page(
            outbound, url + PROBED_PAGE, "text/html", timeout_seconds, app.health.probe_token
        ),
        "insider_api": lambda: probe_insiders(app),
        **build_process_probes(app),
        **{
            name: partial(probe_page, outbound, target, "", timeout_seconds)
            for name, target in app.config.watchdog_urls.items()
        },
    }


def check_targets(config: Config) -> None:
    """Raise UsageError if a URL in ``watchdog_targets`` cannot be probed, or has the name of a component."""
    for name, target in config.watchdog_urls.items():
        try:
            OPERATOR_TARGET_POLICY.check(target)
        except TargetRefusedError as error:
            raise UsageError(f"setting watchdog_targets: {name}: {error.reason}") from None
    reserved = sorted({*config.watchdog_urls} & {*SERVICES, "overall"})
    if reserved:
        raise UsageError(f"setting watchdog_targets: {reserved[0]} is reserved by finapi")


def build_process_probes(app: App) -> dict[str, Probe]:
    """Return the probes of the store and of the rate limits, which need no socket."""
    return {"postgres_db": lambda: probe_store(app), "redis": lambda: probe_counters(app)}


def build_polling_probes(app: App, thread: Diagnosis) -> dict[str, Probe]:
    """Return the probes of the poller's components, all in one thread."""
    max_age_seconds = app.config.poll_every + min(app.config.watchdog_interval, MAX_SILENCE_SECONDS)
    return {name: HeartbeatProbe(app, name, max_age_seconds, thread) for name in POLLING_COMPONENTS}


def probe_page(
    outbound: Outbound, url: str, media_type: str, timeout_seconds: float, probe_token: str | None = None
) -> None:
    """Raise ProbeError unless a GET of ``url`` is answered 200 with a body of the media type (empty: any).

    ``probe_token`` is given only for URLs of this server. Then only the head of the response is read.
    """
    headers = {"User-Agent": USER_AGENT} | ({PROBE_HEADER: probe_token} if probe_token else {})
    try:
        reply = outbound.send(
            OutboundRequest(url, headers=headers, timeout_seconds=timeout_seconds, head_only=bool(probe_token))
        )
    except OutboundTimeoutError as error:
        raise ProbeError("timeout", error.reason) from None
    except OutboundError as error:
        raise ProbeError("refused", error.reason) from None
    if reply.status >= 500:
        raise ProbeError("failing", f"answered {reply.status}")
    if reply.status != 200:
        raise ProbeError("wrong", f"answered {reply.status}")
    if not reply.headers.get("content-type", "").startswith(media_type):
        raise ProbeError("wrong", f"answered with something that is not {media_type}")


def probe_insiders(app: App) -> None:
    """Raise ProbeError unless the newest insider transaction, if there is one, can be listed and read."""
    with app.db.read() as tx:
        if tx.find_row("any_insider_transaction") is None:
            return
        from finapi.market.insiders import trades

        page = trades.list_latest(tx, trades.TradeFilters(limit=1))
        rows = trades.build_transactions(tx, page.ids)
    if len(rows) != len(page.ids):
        raise ProbeError("wrong", "the newest transaction is listed but cannot be read")


def probe_store(app: App) -> None:
    """Raise ProbeError unless a row that is written to the store can be read back."""
    now = app.clock.now()
    try:
        with app.db.write() as tx:
            heartbeats.record_beat(tx, "postgres_db", now)
    except StoreUnavailableError as error:
        raise ProbeError("failing", f"nothing can be stored: {error}") from None
    with app.db.read() as tx:
        beat = heartbeats.get_heartbeats(tx)["postgres_db"]
    if beat.at < iso(now):
        raise ProbeError("wrong", "a row that was written cannot be read back")


def probe_counters(app: App) -> None:
    """Raise ProbeError unless every rate limit counts a call, and forgets it after a reset."""
    now = app.clock.monotonic()
    for zone, limiter in app.limiters.items():
        limiter.reset(USER_AGENT)
        first, second = limiter.take(USER_AGENT, now), limiter.take(USER_AGENT, now)
        limiter.reset(USER_AGENT)
        repeated = limiter.take(USER_AGENT, now)
        limiter.reset(USER_AGENT)
        is_counting = second.remaining == first.remaining - 1 or not second.allowed
        if not first.allowed or not is_counting or repeated != first:
            raise ProbeError("wrong", f"the rate limit of {zone} does not count calls")


class HeartbeatProbe:
    """The probe of a component that stores heartbeats: a new one must come within ``max_age_seconds``.

    A heartbeat is new if it differs from the previous one; its time is not compared with the clock. So a heartbeat from
    before the start does not count, and a jump of the clock does not make a heartbeat old. ``diagnose_thread`` returns
    the reason why the component's thread does not work, or None.
    """

    def __init__(
        self,
        app: App,
        name: heartbeats.Component,
        max_age_seconds: float,
        diagnose_thread: Diagnosis = lambda: None,
    ) -> None:
        self._app = app
        self._diagnose_thread = diagnose_thread
        self._name = name
        self._max_age_seconds = max_age_seconds
        self._beat_at_start = self._read_beat()
        self._latest_beat = self._beat_at_start
        self._latest_seen_at = app.clock.monotonic()

    def __call__(self) -> int | None:
        """Return the duration of the last step in ms, or None. Raise ProbeError if it failed or is overdue."""
        beat = self._read_beat()
        now = self._app.clock.monotonic()
        if beat != self._latest_beat:
            self._latest_beat = beat
            self._latest_seen_at = now
        new_beat = beat if beat != self._beat_at_start else None
        # A dead thread is reported before its heartbeat is overdue.
        problem = self._diagnose_thread()
        if problem is None and new_beat is not None:
            problem = new_beat.failure
        if problem is not None:
            raise ProbeError("failing", problem)
        silence_seconds = now - self._latest_seen_at
        if silence_seconds > self._max_age_seconds:
            raise ProbeError("timeout", f"no heartbeat for {silence_seconds:.0f} s")
        return None if new_beat is None else new_beat.took_ms

    def _read_beat(self) -> heartbeats.Heartbeat | None:
        with self._app.db.read() as tx:
            return heartbeats.get_heartbeats(tx).get(self._name)
