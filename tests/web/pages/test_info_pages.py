"""Plans, robots.txt and security.txt."""

from __future__ import annotations

from collections.abc import Callable

from finapi.app import App
from finapi.core.config import CustomPlan
from finapi.web.pages import limit_names
from tests.client import Client
from tests.support.html_pages import get_page, parse_rows

MakeApp = Callable[..., App]


def test_the_plans_page_lists_costs_and_limits(browser: Client) -> None:
    rows = parse_rows(get_page(browser, "/plans"))
    assert ["Statements and figures (/xbrl)", "120 a minute"] in rows
    assert ["Filings, holdings, account and all other calls", "60 a minute"] in rows
    assert ["Filings, holdings, account and all other calls", "1,000 an hour"] in rows
    assert limit_names.describe_limit(5, 10) == "5 in 10 seconds"
    assert 'id="limits"' in get_page(browser, "/plans")
    assert ["Plan", "Includes"] in rows
    assert "A dollar" not in get_page(browser, "/plans")


def test_the_plans_page_states_prices_that_the_operator_set(make_app: MakeApp) -> None:
    page = get_page(Client(make_app(plans=(CustomPlan("monthly", price=1290), CustomPlan("free")))), "/plans")
    prices = {row[0]: row[1:] for row in parse_rows(page) if row}
    assert prices["Plan"] == ["Price", "Includes"]
    assert prices["monthly"][0] == "1,290 dollars a month"
    assert prices["monthly"][1].startswith("200,000 tokens a month")
    assert (prices["free"][0], prices["pro"][0]) == ("free", "not stated")
    assert "A dollar buys 100 additional tokens." in page


def test_robots_txt_allows_public_pages_but_not_the_api(make_app: MakeApp) -> None:
    assert Client(make_app(pages="public")).get("/robots.txt").body == b"User-agent: *\nDisallow: /api/\n"
    assert Client(make_app()).get("/robots.txt").body == b"User-agent: *\nDisallow: /\n"


def test_security_txt_has_a_contact_and_an_expiry(make_app: MakeApp) -> None:
    address = {"public_url": "https://api.example.com"}
    answer = Client(make_app(**address, mail_from="Ann <ann@example.com>")).get("/.well-known/security.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode().splitlines() == [
        "Contact: mailto:ann@example.com",
        "Expires: 2026-05-01T12:00:00.000Z",
        "Preferred-Languages: en",
        "Canonical: https://api.example.com/.well-known/security.txt",
    ]
    client = Client(make_app(security_contact="https://example.com/report"))
    assert b"Contact: https://example.com/report\n" in client.get("/.well-known/security.txt").body
