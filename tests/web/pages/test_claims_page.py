"""The page that compares a stated figure with the filings."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest

from finapi.app import App
from tests.client import Client, sign_up
from tests.support.html_pages import HTML, Visitor, get_page, parse_rows

VIEWER = "https://www.sec.gov/ix?doc=/Archives/edgar/data/320193/000032019324000123/aapl-20240928.htm"


UNKNOWN_COMPANY = {"ticker": "NONE", "figure": "revenue", "period": "FY2022", "value": "12"}


def get_claim(browser: Client, figure: str, period: str, value: str, status: int = 200, **fields: str) -> str:
    """Return the page of a claim about Apple."""
    claim = {"ticker": "AAPL", "figure": figure, "period": period, "value": value, **fields}
    return get_page(browser, f"/claims?{urlencode(claim)}", status)


def get_balance(member: Visitor) -> int:
    match = re.search(r"Tokens left</dt><dd>([\d,]+)", member.get("/account").body.decode())
    assert match is not None
    return int(match[1].replace(",", ""))


def get_verdict(body: str) -> str:
    [verdict] = re.findall('<p class="answer" role="status"><strong>([^<]+)</strong></p>', body)
    return verdict


def test_a_true_claim_shows_the_figure_with_its_links(browser: Client) -> None:
    body = get_claim(browser, "Revenue", "FY2022", "394.3 billion")
    assert get_verdict(body) == "Matches"
    assert "<p>The figure on file agrees with the claim.</p>" in body
    assert f'<a href="{VIEWER}#f-68" rel="noreferrer">394,328,000,000</a> USD</span></dd>' in body
    assert "<dt>Period</dt><dd>FY 2022, 2021-09-26 to 2022-09-24</dd>" in body
    assert "<dt>Filed</dt><dd>2024-11-01 in form 10-K</dd>" in body
    proof_path = "/company/0000320193/proof/revenue/A2022-09-24"
    assert f'<a href="{proof_path}">Formula, facts and rules</a>' in body
    assert "394,328,000,000" in get_page(browser, proof_path)
    [_, fact] = parse_rows(body)
    assert fact[1:4] == ["us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax", "394,328,000,000", "USD"]
    assert "The figure that agrees with the claim" not in body
    # The form has its contents for the next claim, and the page its call of the API. No script is needed.
    assert 'name="value" type="text" value="394.3 billion"' in body
    assert "1 call of the API, 25 tokens" in body
    assert '"period": "FY2022", "value": "394.3 billion", "metric": "revenue"}' in body


def test_a_wrong_claim_shows_the_figure_that_agrees(browser: Client) -> None:
    body = get_claim(browser, "revenue", "FY2022", "383.3 billion")
    assert get_verdict(body) == "Wrong period"
    assert "<h2>The figure that agrees with the claim</h2>" in body
    assert "<dt>Period</dt><dd>FY 2023, 2022-09-25 to 2023-09-30</dd>" in body
    assert get_verdict(get_claim(browser, "net income", "FY2022", "99.8 million")) == "Wrong scale"
    assert get_verdict(get_claim(browser, "net_income", "FY2022", "95.1 billion")) == "Contradicted"


def test_claims_about_concepts_units_and_ratios_are_checked(browser: Client) -> None:
    body = get_claim(browser, "us-gaap:Assets", "2025-03-29", "331,233", unit="USD million")
    assert get_verdict(body) == "Matches"
    assert "<dt>Figure</dt><dd><code>us-gaap:Assets</code></dd>" in body
    assert "<dt>Proof</dt>" not in body
    ratio = get_claim(browser, "Gross margin", "FY2024", "46.2%")
    assert get_verdict(ratio) == "Matches"
    assert ">46.2 %</a></span></dd>" in ratio


def test_claims_without_a_figure_on_file_state_the_reason(browser: Client) -> None:
    body = get_claim(browser, "revenue", "FY2022", "12", ticker="NONE")
    assert get_verdict(body) == "Not on file"
    assert "<p>No company with this ticker or CIK is known.</p>" in body
    assert "<h2>On file</h2>" not in body
    body = get_claim(browser, "revenu", "FY2022", "12")
    assert get_verdict(body) == "Cannot tell"
    assert "This is not a metric" in body


def test_the_form_without_a_value_gives_no_verdict(browser: Client) -> None:
    proof = get_page(browser, "/company/AAPL/proof/revenue/TTM2025Q2")
    [path] = re.findall('<a href="(/claims[^"]+)">Compare a stated value with this figure</a>', proof)
    body = get_page(browser, path.replace("&amp;", "&"))
    assert 'name="period" type="text" value="TTM Q2 2025"' in body
    assert "<strong>" not in body
    assert "Compare a stated value" not in get_page(browser, "/company/AAPL/proof/revenue/A2024FY?as_of=2025-01-01")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ticker": ""}, "Company is missing. Write it like AAPL."),
        ({"figure": ""}, "Figure is missing. Write it like revenue."),
        ({"period": ""}, "Period is missing. Write it like FY2022."),
        ({"unit": "x" * 101}, "Unit has more than 100 characters."),
        ({"ticker": "%"}, "ticker must be a ticker or a CIK."),
    ],
)
def test_an_incomplete_claim_is_refused(browser: Client, fields: dict[str, str], message: str) -> None:
    claim = {"ticker": "AAPL", "figure": "revenue", "period": "FY2022", "value": "12", **fields}
    body = get_page(browser, f"/claims?{urlencode(claim)}", 400)
    assert re.search('role="alert"[^>]*>' + re.escape(message), body)
    assert 'name="value" type="text" value="12"' in body


def test_members_pay_for_verdicts_only(make_app: Callable[..., App]) -> None:
    app = make_app(pages="members")
    assert Client(app).get("/claims", headers=HTML).status == 401
    sign_up(Client(app))
    member = Visitor(app)
    member.sign_in()
    balances = [get_balance(member)]
    for path, status in (("/claims", 200), ("/claims?value=1", 400), (f"/claims?{urlencode(UNKNOWN_COMPANY)}", 200)):
        assert member.get(path).status == status
        balances.append(get_balance(member))
    assert [balances[0] - balance for balance in balances] == [0, 0, 0, 25]


def test_a_verdict_without_charge_counts_as_four_pages(make_app: Callable[..., App]) -> None:
    visitor = Visitor(make_app(pages="public", pages_per_minute=9))
    paths = ["/claims"]
    paths += [f"/claims?{urlencode({**UNKNOWN_COMPANY, 'value': value})}" for value in ("1", "1", "2")]
    answers = [visitor.get(path) for path in paths]
    # The second page is in memory when it is requested again, so the four requests are 1, 4, 1 and 4 of 9.
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert (answers[3].headers["x-ratelimit-limit"], answers[3].headers["retry-after"]) == ("9", "7")
    assert b"Too many requests. Try again later." in answers[3].body


def test_a_host_with_two_pages_a_minute_shows_a_verdict(make_app: Callable[..., App]) -> None:
    visitor = Visitor(make_app(pages="public", pages_per_minute=2))
    path = f"/claims?{urlencode(UNKNOWN_COMPANY)}"
    assert [visitor.get(path).status, visitor.get(path).status] == [200, 429]


def test_verdicts_of_members_count_as_one_page(make_app: Callable[..., App]) -> None:
    app = make_app(pages="members", pages_per_minute=9)
    sign_up(Client(app))
    member = Visitor(app)
    member.sign_in()
    for value in range(3):
        assert member.get(f"/claims?{urlencode({**UNKNOWN_COMPANY, 'value': value})}").status == 200
