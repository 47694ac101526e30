"""The status of the service over HTTP: for programs, for Prometheus, and the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.health import ProbeError
from finapi.ops import watchdog
from finapi.ops.probes import build_process_probes
from finapi.web.pages.status_page import COMPONENT_TITLES
from tests.client import Client
from tests.conftest import NOW
from tests.core.test_metrics import value as metric_value
from tests.support.case_tables import run_each_case

STATUS, HISTORY = "/api/v1/status", "/api/v1/status/history"
SVG = "{http://www.w3.org/2000/svg}"


class Switch:
    """A probe that a test can break and repair."""

    broken = False

    def __call__(self) -> None:
        if self.broken:
            raise ProbeError("refused", "cannot be <reached>")


@pytest.fixture
def part(app: App) -> Switch:
    """Use a switch as the probe of ``main_api``, next to the real probes; run one round of the watchdog."""
    part = Switch()
    app.health.probes.update(main_api=part, **build_process_probes(app))
    watchdog.run_round(app, NOW)
    return part


def run_round_a_minute_later(app: App, clock: FixedClock) -> None:
    clock.advance(60)
    watchdog.run_round(app, clock.now())


# ---- GET /api/v1/status


def test_status_has_the_fields_of_the_spec_and_no_others(client: Client, part: Switch) -> None:
    answer = client.get(STATUS)
    assert answer.status == 200
    entry = {"status": "operational", "uptime_30d_pct": 100.0, "last_check_at": "2026-01-31T12:00:00.000Z"}
    assert answer.json == {
        "overall": "operational",
        "services": [{"name": name, **entry} for name in ("main_api", "postgres_db", "redis", "sec_watchdog")],
        "data_freshness": {
            "last_filing_at": None,
            "last_13f_batch_at": None,
            "last_xbrl_run_at": None,
            "last_news_at": None,
            "queue_depth": 0,
        },
        "as_of": "2026-01-31T12:00:00.000Z",
    }


def test_status_is_the_same_for_thirty_seconds(client: Client, part: Switch, clock: FixedClock) -> None:
    first = client.get(STATUS).body
    clock.advance(29.999)
    assert client.get(STATUS).body == first
    clock.advance(0.001)
    assert client.get(STATUS).json["as_of"] == "2026-01-31T12:00:30.000Z"


def test_status_needs_no_key_and_passes_no_limit(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(app_per_minute=1, app_per_hour=1)
    watchdog.run_round(app, NOW)
    client = Client(app)
    answers = [client.get(STATUS) for _ in range(50)]
    assert {answer.status for answer in answers} == {200}
    assert not {"x-ratelimit-limit", "x-tokens-charged"} & set(answers[0].headers)
    assert client.get(HISTORY).status == 200
    assert client.get(HISTORY).status == 429


def test_a_broken_part_is_shown_after_the_next_round(client: Client, app: App, part: Switch, clock: FixedClock) -> None:
    clock.advance(50)
    assert client.get(STATUS).json["overall"] == "operational"
    part.broken = True
    clock.advance(10)  # The answer is cached for 30 seconds.
    watchdog.run_round(app, clock.now())
    status = client.get(STATUS).json
    assert (status["overall"], status["services"][0]["status"]) == ("partial_outage", "down")
    assert status["services"][0]["uptime_30d_pct"] == 50.0
    part.broken = False
    run_round_a_minute_later(app, clock)
    assert client.get(STATUS).json["overall"] == "operational"


def test_a_stuck_watchdog_is_shown_immediately(client: Client, app: App, part: Switch, clock: FixedClock) -> None:
    clock.advance(66)
    assert client.get(STATUS).json["overall"] == "operational"
    clock.advance(0.001)
    assert client.get(STATUS).json["overall"] == "partial_outage"
    assert "sec_watchdog" in client.get("/status").body.decode().split('class="down"')[1]


def test_a_part_that_is_switched_off_is_left_out(client: Client, app: App, part: Switch, clock: FixedClock) -> None:
    del app.health.probes["main_api"]
    run_round_a_minute_later(app, clock)
    assert [service["name"] for service in client.get(STATUS).json["services"]] == [
        "postgres_db",
        "redis",
        "sec_watchdog",
    ]
    assert len(client.get(HISTORY + "?service=main_api").json["history"]["main_api"]) == 1


def test_the_answer_before_the_first_round_is_an_uncached_503(client: Client, app: App) -> None:
    answer = client.get(STATUS)
    assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (503, "UNAVAILABLE", "1")
    assert client.get("/status").status == 503
    assert client.get("/status/badge/overall.svg").status == 503
    watchdog.run_round(app, NOW)
    assert client.get(STATUS).status == client.get("/status").status == 200


def test_status_is_answered_while_the_store_is_closed(
    client: Client, app: App, part: Switch, clock: FixedClock
) -> None:
    client.get(STATUS)
    app.db.close()
    clock.advance(60)
    watchdog.run_round(app, clock.now())
    status = client.get(STATUS).json
    assert {service["name"]: service["status"] for service in status["services"]} == {
        "main_api": "operational",
        "postgres_db": "down",
        "redis": "operational",
        "sec_watchdog": "operational",
    }
    assert (status["overall"], status["as_of"]) == ("partial_outage", "2026-01-31T12:01:00.000Z")


# ---- GET /api/v1/status/history


def test_history_has_default_parameters(client: Client, part: Switch) -> None:
    history = client.get(HISTORY).json
    assert (history["days"], history["resolution"], history["meta"]["warning"]) == (30, "daily", None)
    assert history["meta"]["services_included"] == ["main_api", "postgres_db", "redis", "sec_watchdog"]


@run_each_case("days, expected", [("1", 1), ("90", 90), ("91", 90), ("365", 90), ("9" * 30, 90), ("007", 7)])
def test_days_above_ninety_are_silently_ninety(client: Client, part: Switch, days: str, expected: int) -> None:
    history = client.get(f"{HISTORY}?days={days}").json
    assert (history["days"], history["meta"]["warning"]) == (expected, None)


@run_each_case("days", ["0", "-1", "-" + "9" * 30, "", "x", "1.5", "1e1", "+7", " 7", "７", "nan", "7,8"])
def test_days_that_are_not_a_positive_integer_are_refused(client: Client, part: Switch, days: str) -> None:
    answer = client.get(HISTORY, query={"days": days})
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "days"


@run_each_case("query", ["service=nonsense", "service=", "resolution=weekly", "resolution=", "days=1&days=2"])
def test_values_that_are_not_in_the_list_are_refused(client: Client, part: Switch, query: str) -> None:
    answer = client.get(f"{HISTORY}?{query}")
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == query.partition("=")[0]


def test_the_history_of_one_service_has_only_its_key(client: Client, part: Switch) -> None:
    history = client.get(f"{HISTORY}?service=redis&days=2&resolution=hourly").json
    assert history["history"] == {
        "redis": [
            {
                "timestamp": "2026-01-31T12:00:00.000Z",
                "total_checks": 1,
                "healthy": 1,
                "degraded": 0,
                "down": 0,
                "uptime_pct": 100.0,
                "avg_response_ms": 0,
            }
        ]
    }
    assert history["meta"]["services_included"] == ["redis"]


def test_an_hourly_history_that_is_too_long_becomes_daily(client: Client, part: Switch) -> None:
    history = client.get(f"{HISTORY}?days=365&resolution=hourly").json
    assert (history["days"], history["resolution"]) == (90, "daily")
    assert history["meta"]["warning"] == ("hourly over 90 days would be 2160 buckets, more than 200: daily is answered")


# ---- badges and changes


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("main_api", "main_api: operational"),
        ("overall", "finapi: operational"),
        ("sec_worker", "sec_worker: not running"),
    ],
)
def test_a_badge_shows_the_state_of_a_service(client: Client, part: Switch, name: str, label: str) -> None:
    answer = client.get(f"/status/badge/{name}.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    root = ElementTree.fromstring(answer.body)
    assert root.get("aria-label") == label
    assert " ".join(text.text or "" for text in root.iter(f"{SVG}text")) == label.replace(":", "")


def test_the_badge_of_a_service_that_is_down_is_red(client: Client, app: App, part: Switch, clock: FixedClock) -> None:
    part.broken = True
    run_round_a_minute_later(app, clock)
    for name, state in (("main_api", "down"), ("overall", "partial outage")):
        body = client.get(f"/status/badge/{name}.svg").body.decode()
        assert f">{state}<" in body
        assert "#b3261e" in body


@pytest.mark.parametrize("path", ["/status.rss", "/status/badge/main_api.svg", "/status/badge/nothing.svg"])
def test_badges_and_changes_have_the_limit_of_pages(client: Client, path: str) -> None:
    answers = [client.get(path, address="192.0.2.7") for _ in range(121)]
    assert 429 not in {answer.status for answer in answers[:120]}
    assert (answers[120].status, answers[120].headers["retry-after"]) == (429, "1")
    assert client.get(path, address="192.0.2.8").status != 429


@run_each_case("name", ["nonsense.svg", "main_api", "main_api.png", ".svg", "main_api.svg.svg", "%3Csvg%3E.svg"])
def test_a_badge_of_an_unknown_service_is_404(client: Client, part: Switch, name: str) -> None:
    answer = client.get(f"/status/badge/{name}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")


def test_changes_are_listed_as_rss_newest_first(make_app: Callable[..., App], clock: FixedClock) -> None:
    app = make_app(public_url="https://api.example.com")
    part = app.health.probes["main_api"] = Switch()
    client = Client(app)
    watchdog.run_round(app, NOW)
    assert list(ElementTree.fromstring(client.get("/status.rss").body).iter("item")) == []
    part.broken = True
    run_round_a_minute_later(app, clock)
    part.broken = False
    run_round_a_minute_later(app, clock)
    answer = client.get("/status.rss")
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    channel = ElementTree.fromstring(answer.body)[0]
    assert channel.findtext("link") == "https://api.example.com/status"
    items = [{child.tag: child.text for child in item} for item in channel.iter("item")]
    assert [(item["title"], item["description"]) for item in items] == [
        ("main_api is operational", "It works again."),
        ("main_api is down", "cannot be <reached>"),
    ]
    assert [parsedate_to_datetime(item["pubDate"] or "").isoformat() for item in items] == [
        "2026-01-31T12:02:00+00:00",
        "2026-01-31T12:01:00+00:00",
    ]
    assert len({item["guid"] for item in items}) == 2
    # The same change has the same identifier, so that no feed reader shows it twice.
    run_round_a_minute_later(app, clock)
    clock.advance(30)
    assert client.get("/status.rss").body == answer.body


# ---- pages


@pytest.fixture
def outage_page(client: Client, app: App, part: Switch, clock: FixedClock) -> str:
    """Return the status page with one part down."""
    part.broken = True
    run_round_a_minute_later(app, clock)
    return client.get("/status").body.decode()


def test_the_page_shows_the_failing_part(outage_page: str) -> None:
    assert "One component is down." in outage_page
    heading = "<h2>HTTP interface<small><code>main_api</code></small></h2>"
    assert f'<li class="down">{heading}<p class="now">down</p>' in outage_page
    assert '<p class="reason">cannot be &lt;reached&gt;</p>' in outage_page
    assert '<time datetime="2026-01-31T12:01:00Z">2026-01-31 12:01 UTC</time> <b>HTTP interface</b> down' in outage_page
    assert "50 % healthy in 30 days" in outage_page
    assert "2026-01-31: 50 % of 2 checks healthy" in outage_page


def test_the_page_names_every_part_once(outage_page: str) -> None:
    names = re.findall('<li class="[a-z]+"><h2>([^<]+)<small><code>([a-z0-9_]+)<', outage_page)
    assert names == [
        ("HTTP interface", "main_api"),
        ("Database", "postgres_db"),
        ("Rate limits in memory", "redis"),
        ("Checks of the components", "sec_watchdog"),
    ]


def test_the_page_has_no_inline_code_and_no_external_resources(outage_page: str) -> None:
    assert not re.search(r"<script[^>]*>[^<]|style=|<style|\son\w+=|https?://", outage_page)
    assert set(re.findall(r'<script type="module" src="(/static/\w+\.js)', outage_page)) == {"/static/search.js"}


@pytest.mark.parametrize("path", ["/", "/status"])
def test_a_page_is_html_with_a_strict_content_security_policy(client: Client, part: Switch, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert client.get("/nothing").status == 404


def test_every_name_of_a_part_is_explained() -> None:
    from finapi.ops.status import ALIASES, SERVICES

    assert set(COMPONENT_TITLES) == set(SERVICES) - set(ALIASES)


def test_the_front_page_links_to_the_main_pages(make_app: Callable[..., App]) -> None:
    client = Client(make_app(public_url="https://api.example.com"))
    body = client.get("/").body.decode()
    assert "<h1>" in body
    links = set(re.findall(r'href="([^"?]+)', body))
    assert links >= {"/", "/status", "/plans", "/changelog", "/docs", "/static/style.css"}


def test_every_link_of_a_page_leads_somewhere(client: Client, part: Switch, outage_page: str) -> None:
    for path in sorted(set(re.findall('href="([^"#]+)"', outage_page))):
        # A visitor who is not signed in sees the sign-in form instead of the pages for members.
        answer = client.get(path)
        assert answer.status == (401 if path in ("/account", "/claims", "/filings", "/screen") else 200), path
        assert answer.status == 200 or b'action="/login"' in answer.body


# ---- /metrics


LOOPBACK = "127.0.0.1"


@run_each_case("address", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
def test_metrics_are_served_to_this_machine(client: Client, part: Switch, address: str) -> None:
    answer = client.get("/metrics", address=address)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert metric_value(answer.body.decode(), "finapi_service_up", service="main_api") == 1


@run_each_case("address", ["192.0.2.1", "10.0.0.1", "::2", "", "localhost", "::ffff:192.0.2.1"])
def test_metrics_are_refused_to_other_machines(client: Client, address: str) -> None:
    answer = client.get("/metrics", address=address)
    assert (answer.status, answer.json["code"]) == (403, "FORBIDDEN")


@run_each_case("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto"])
def test_a_proxy_on_this_machine_is_not_the_caller(client: Client, header: str) -> None:
    assert client.get("/metrics", address=LOOPBACK, headers={header: "127.0.0.1"}).status == 403


def test_a_forwarded_loopback_address_cannot_read_metrics(make_app: Callable[..., App]) -> None:
    client = Client(make_app(trusted_proxies=("192.0.2.0/24",)))
    headers = {"X-Forwarded-For": "127.0.0.1"}
    assert client.get("/metrics", address="192.0.2.1", headers=headers).status == 403


def test_other_machines_need_the_metrics_token(make_app: Callable[..., App]) -> None:
    client = Client(make_app(metrics_token="let me see"))
    for authorization, status in (
        ("Bearer let me see", 200),
        ("bearer let me see", 200),
        ("Bearer let me", 403),
        ("Bearer ", 403),
        ("Basic let me see", 403),
        ("Bearer let me see\u00e4", 403),
    ):
        assert client.get("/metrics", headers={"Authorization": authorization}).status == status, authorization
    assert client.get("/metrics", headers={"Authorization": "Bearer let me see", "Via": "x"}).status == 200


def test_an_empty_metrics_token_is_refused(client: Client) -> None:
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status == 403


def get_metrics(client: Client) -> str:
    return client.get("/metrics", address=LOOPBACK).body.decode()


def test_calls_are_counted_by_route_status_tokens_and_refusal(client: Client, app: App, part: Switch) -> None:
    user = users.create(app, "ann@example.com", "pro", NOW)
    statements = "/api/v1/xbrl/companies/{ticker}/statements"
    client.get("/api/v1/xbrl/companies/NONE/statements", headers={"X-API-Key": user.api_key})
    client.get("/api/v1/xbrl/companies/NONE/statements")
    client.call("HEAD", "/livez")
    client.get("/nothing/here")
    text = get_metrics(client)

    def requests(route: str, status: str, method: str = "GET") -> Any:
        return metric_value(text, "finapi_requests_total", method=method, route=route, status=status)

    assert requests(statements, "404") == 1
    assert requests(statements, "401") == 1
    assert requests("/livez", "200") == 1
    assert requests("", "404", "") == 1
    assert metric_value(text, "finapi_tokens_charged_total") == 0
    assert metric_value(text, "finapi_refusals_total", code="UNAUTHORIZED", zone="xbrl") == 1


def test_unknown_paths_are_counted_in_one_series(client: Client) -> None:
    for number in range(50):
        client.get(f"/nothing/{number}")
    text = get_metrics(client)
    assert metric_value(text, "finapi_requests_total", method="", route="", status="404") == 50
    assert "/nothing/" not in text


def test_metrics_include_the_store_and_the_queues(client: Client, app: App, part: Switch) -> None:
    with app.db.write() as tx:
        tx.insert_row("insert_mail", template="welcome", subject_id=1, now="2026-01-31T12:00:00.000Z")
        tx.run("bump_data_version")
    text = get_metrics(client)
    assert metric_value(text, "finapi_queue_depth", queue="mail") == 1
    assert metric_value(text, "finapi_data_version") == 1
    assert (metric_value(text, "finapi_database_bytes", part="pages") or 0) > 100_000
    assert metric_value(text, "finapi_database_bytes", part="wal") == 0
    assert metric_value(text, "finapi_checks_total", service="redis", **{"class": "healthy"}) == 1


@run_each_case(
    "host, status",
    [("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:8000", 200), ("rebound.example.com", 403), ("", 403)],
)
def test_metrics_are_refused_for_foreign_host_names(client: Client, host: str, status: int) -> None:
    assert client.get("/metrics", address=LOOPBACK, headers={"Host": host}).status == status
