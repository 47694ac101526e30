"""Session cookies, forms, signing in, and the pages of an account."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import Any
from urllib.parse import quote

import pytest

from finapi.accounts import credentials, invites, recovery, users
from finapi.app import App
from finapi.core import lockout
from finapi.core.clock import FixedClock
from finapi.core.config import CustomPlan
from finapi.market.demo import demo_data
from finapi.web import responses
from finapi.web.exchange import Exchange
from finapi.web.http.messages import Response
from finapi.web.pages import mail_links
from finapi.web.pages.member import account_pages, sign_in_pages
from tests.client import PASSWORD, Client, login, sent, session_of, sign_up, token_in
from tests.conftest import ACCOUNTS
from tests.support.case_tables import run_each_case
from tests.support.html_pages import EMAIL, HTML, Visitor, find_row, get_message, parse_rows
from tests.support.raw_sql import run_sql

MakeApp = Callable[..., App]


@pytest.fixture
def app(make_app: MakeApp) -> App:
    return make_app(**{**ACCOUNTS, "public_url": "http://x"}, pages_per_minute=100_000)


@pytest.fixture
def member(app: App) -> Visitor:
    sign_up(Client(app))
    visitor = Visitor(app)
    assert visitor.sign_in().status == 303
    return visitor


def get_api_key(app: App) -> str:
    user_id = users.get_id(app, EMAIL)
    with app.db.read() as tx:
        return str(users.build_profile(app, tx, user_id, app.clock.now())["api_key"])


# ---- the cookie


def test_the_session_cookie_is_httponly_and_samesite(make_app: MakeApp) -> None:
    app = make_app(**{**ACCOUNTS, "public_url": "https://api.example.com"})
    sign_up(Client(app))
    answer = Visitor(app).sign_in()
    assert (answer.status, answer.headers["location"]) == (303, "/account")
    assert re.fullmatch(
        r"__Host-finapi=[\w.-]+; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure", answer.headers["set-cookie"]
    )


def test_the_api_does_not_accept_the_cookie(app: App, member: Visitor) -> None:
    token = member.cookie.partition("=")[2]
    assert Client(app).get("/api/v1/user/", session=token).status == 200
    for path in ("/api/v1/user/", "/api/v1/account/balance", "/api/v1/xbrl/coverage?ticker=AAPL"):
        assert member.get(path).status == 401


@run_each_case("cookie", ["finapi=", "finapi=x", "finapi=a.b.c", "__Host-finapi=x", "finapi=" + "x" * 3000])
def test_an_invalid_cookie_leads_to_the_login_page(app: App, cookie: str) -> None:
    visitor = Visitor(app)
    visitor.cookie = cookie
    answer = visitor.get("/account")
    assert (answer.status, b"<h1>Sign in</h1>" in answer.body) == (401, True)


def test_an_expired_session_leads_to_the_login_page(app: App, member: Visitor, clock: FixedClock) -> None:
    assert member.get("/account").status == 200
    clock.advance(seconds=app.config.session_lifetime + 1)
    assert member.get("/account").status == 401


def test_the_account_page_is_not_cached(member: Visitor) -> None:
    assert member.get("/account").headers["cache-control"] == "no-store"


# ---- forms


@pytest.mark.parametrize(
    "path", ["/logout", "/account/end-others", *(f"/account/do/{name}" for name in account_pages.ACTIONS)]
)
def test_a_form_needs_the_token_of_its_session(app: App, member: Visitor, path: str) -> None:
    other = Visitor(app)
    assert other.sign_in().status == 303
    before = get_api_key(app)
    for token in ("", "x", "ä", other.form_token):
        assert member.send(path, form_token=token).status == 403
    assert (member.get("/account").status, other.get("/account").status, get_api_key(app)) == (200, 200, before)


@run_each_case(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://["},
        {"Origin": "http://[::1"},
        {"Origin": "http://x/path"},
        {"Origin": "http://x@evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_forms_from_other_sites_are_refused(app: App, member: Visitor, headers: dict[str, str]) -> None:
    assert Visitor(app).send("/login", headers, email=EMAIL, password=PASSWORD).status == 403
    assert member.send("/logout", headers, form_token=member.form_token).status == 403


def test_forms_from_this_site_are_accepted(app: App) -> None:
    sign_up(Client(app))
    headers = {"Origin": "http://x", "Sec-Fetch-Site": "same-origin"}
    assert Visitor(app).send("/login", headers, email=EMAIL, password=PASSWORD).status == 303


@pytest.mark.parametrize("path", ["/account/do/rotate-key", "/account/end-others"])
def test_forms_of_visitors_lead_to_the_login_page(app: App, path: str) -> None:
    assert Visitor(app).send(path).status == 401


# ---- signing in


def test_the_access_log_names_the_user_of_a_login(app: App, caplog: pytest.LogCaptureFixture) -> None:
    sign_up(Client(app))
    with caplog.at_level(logging.INFO, "finapi.access"):
        uuid = login(Client(app)).json["user"]["uuid"]
        assert login(Client(app), password="wrong password").status == 401
        assert Visitor(app).sign_in().status == 303
    lines = [vars(record)["fields"] for record in caplog.records if "fields" in vars(record)]
    assert [(line["path"], line["status"], line["user"]) for line in lines if line["method"] == "POST"] == [
        ("/api/v1/auth/login", 200, uuid),
        ("/api/v1/auth/login", 401, None),
        ("/login", 303, uuid),
    ]


@pytest.mark.parametrize(
    ("next_url", "location"),
    [
        ("/company/AAPL?as_of=2024-01-01", "/company/AAPL?as_of=2024-01-01"),
        ("//evil.example", "/account"),
        ("/\\evil.example", "/account"),
        ("https://evil.example", "/account"),
        ("/a\r\nSet-Cookie: b=c", "/account"),
        ("/\u2603", "/account"),
        ("", "/account"),
    ],
)
def test_a_login_redirects_only_to_this_host(app: App, next_url: str, location: str) -> None:
    sign_up(Client(app))
    assert Visitor(app).sign_in(next=next_url).headers["location"] == location


def test_wrong_passwords_end_in_a_lockout_with_a_wait(app: App) -> None:
    sign_up(Client(app))
    visitor = Visitor(app)
    answers = [visitor.send("/login", email=EMAIL, password="wrong password") for _ in range(5)]
    assert [answer.status for answer in answers] == [401] * 4 + [429]
    assert get_message(answers[0]) == "Invalid email or password."
    assert 'value="ann@example.com"' in answers[0].body.decode()
    seconds = lockout.LOCK_SECONDS_BY_FAILURES[5]
    assert get_message(answers[4]) == f"Too many failed login attempts. Try again later. Wait {seconds} seconds."
    assert answers[4].headers["retry-after"] == str(seconds)


@pytest.mark.parametrize("fields", [{}, {"email": EMAIL}, {"email": '"><script>', "password": "x" * 2000}])
def test_an_incomplete_login_form_returns_its_error(app: App, fields: dict[str, str]) -> None:
    answer = Visitor(app).send("/login", **fields)
    assert answer.status in (400, 401)
    assert get_message(answer)
    assert b"<script>" not in answer.body


def test_a_login_with_a_json_body_is_refused(app: App) -> None:
    assert Client(app).call("POST", "/login", data=b"{}", headers=HTML).status in (400, 415)


@pytest.mark.parametrize(
    ("path", "autocomplete"),
    [
        ("/login", ["current-password"]),
        ("/register", ["new-password"]),
        ("/account/security", ["current-password", "new-password", "current-password", "current-password"]),
    ],
)
def test_password_fields_are_hidden_and_can_be_filled(
    app: App, member: Visitor, path: str, autocomplete: list[str]
) -> None:
    visitor = member if path == "/account/security" else Visitor(app)
    fields = re.findall('<input[^>]* name="(?:new)?password"[^>]*>', visitor.get(path).body.decode())
    assert [re.findall(' autocomplete="([^"]+)"', field)[0] for field in fields] == autocomplete
    assert all(' type="password"' in field and "onpaste" not in field for field in fields)
    assert len({re.findall(' id="([^"]+)"', field)[0] for field in fields}) == len(fields)


def test_the_account_page_signs_out_and_every_page_links_it(app: App, member: Visitor) -> None:
    assert 'action="/logout"' in member.get("/account").body.decode()
    for path in ("/", "/filings", "/company/AAPL", "/plans", "/status"):
        assert 'href="/account"' in member.get(path).body.decode()


def test_a_new_login_ends_the_session_of_the_old_cookie(app: App, member: Visitor) -> None:
    old_token = member.cookie.partition("=")[2]
    assert member.submit("/login", email=EMAIL, password=PASSWORD).status == 303
    new_token = member.cookie.partition("=")[2]
    assert new_token != old_token
    assert [Client(app).get("/api/v1/user/", session=token).status for token in (old_token, new_token)] == [401, 200]


def test_a_failed_login_leaves_the_session_of_the_cookie(member: Visitor) -> None:
    assert member.submit("/login", email=EMAIL, password="wrong password").status == 401
    assert member.get("/account").status == 200


def test_signing_out_ends_the_session(app: App, member: Visitor) -> None:
    token = member.cookie.partition("=")[2]
    answer = member.submit("/logout")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert Client(app).get("/api/v1/user/", session=token).status == 401


# ---- registering


def test_a_visitor_registers_with_an_invite_and_a_mailed_link(app: App) -> None:
    visitor, client = Visitor(app), Client(app)
    code = invites.create(app, app.clock.now(), lifetime=None, note=None).code
    answer = visitor.send("/register", email=EMAIL, password=PASSWORD, invite_code=code)
    assert (answer.status, b"<h1>Almost done</h1>" in answer.body) == (200, True)
    unverified = visitor.sign_in()
    assert (unverified.status, get_message(unverified)) == (400, sign_in_pages.NOT_VERIFIED_TEXT)
    token = token_in(sent(app, "Verify your email address", EMAIL)[-1])
    assert client.get("/api/v1/auth/verifyEmail", query={"token": token}, headers=HTML).status == 302
    assert visitor.sign_in().status == 303
    again = visitor.send(
        "/register", email="b@example.com", password=PASSWORD, invite_code=code, form_token=visitor.form_token
    )
    assert (again.status, b'value="b@example.com"' in again.body) == (410, True)
    assert get_message(again) == "The invite code has already been used."
    code = invites.create(app, app.clock.now(), lifetime=None, note=None).code
    fields = {"email": EMAIL, "password": PASSWORD, "form_token": visitor.form_token}
    taken = visitor.send("/register", invite_code=code, **fields)
    taken_text = "An account with this email address exists already. Sign in, or request a new password."
    assert (taken.status, get_message(taken)) == (400, taken_text)
    wrong = visitor.send("/register", invite_code="AAAA-BBBB", **fields)
    assert (wrong.status, get_message(wrong)) == (400, "The invite code is wrong or has expired.")


@run_each_case(
    "fields",
    [
        {"email": "x", "password": PASSWORD, "invite_code": "AAAA"},
        {"email": EMAIL, "password": "short", "invite_code": "AAAA"},
        {"email": EMAIL, "password": PASSWORD, "invite_code": "AAAA"},
        {"email": EMAIL, "password": PASSWORD},
        {},
    ],
)
def test_an_invalid_registration_returns_its_error(app: App, fields: dict[str, str]) -> None:
    answer = Visitor(app).send("/register", **fields)
    assert (answer.status, bool(get_message(answer))) == (400, True)


def test_a_reset_request_does_not_reveal_accounts(app: App) -> None:
    sign_up(Client(app))
    bodies = {
        re.sub(rb"<input.*?>", b"", Visitor(app).send("/forgot", email=email).body)
        for email in (EMAIL, "no@example.com", "")
    }
    assert len(bodies) == 1
    recovery.run_mail_step(app)
    assert len(sent(app, "Set a new password")) == 1


# ---- the account


def test_the_account_shows_balance_key_limits_and_sessions(app: App, member: Visitor) -> None:
    body = member.get("/account").body.decode()
    key = get_api_key(app)
    assert f"<code>{key}</code>" in body
    assert "<dt>Tokens left</dt><dd>2,000</dd>" in body
    assert find_row(body, "Statements and figures (/xbrl)") == ["120 a minute", "31"]
    limits = [row[1:] for row in parse_rows(body) if row[0] == "Filings, holdings, account and all other calls"]
    assert limits == [["100,000 a minute", "100,000"], ["100,000 an hour", "100,000"]]
    assert f"<code>curl -H 'X-API-Key: {key}' http://x/api/v1/account/balance</code>" in body
    assert '<a href="/docs/first-call">' in body
    assert "<dt>Dollars in the wallet</dt><dd>0.00</dd>" in body
    assert "The wallet is empty." in body
    assert 'name="amount_dollars"' not in body
    assert "1 of at most" in member.get("/account/security").body.decode()
    assert "No tokens spent yet." in body


def test_usage_grows_with_each_call(app: App, member: Visitor) -> None:
    demo_data.load(app)
    key = get_api_key(app)
    assert Client(app, key).get("/api/v1/xbrl/timeseries?ticker=AAPL").status == 200
    body = member.get("/account").body.decode()
    assert find_row(body, "GET /api/v1/xbrl/timeseries") == ["1", "10"]
    assert "<title>Tokens, 01-31: 10</title>" in body
    assert ["2026-01-31 12:00", "(10)", "Call", "GET /api/v1/xbrl/timeseries"] in parse_rows(body)


def test_a_new_key_replaces_the_old_one(app: App, member: Visitor) -> None:
    old_key = get_api_key(app)
    answer = member.submit("/account/do/rotate-key")
    assert (answer.status, answer.headers["location"]) == (303, "/account?done=rotate-key")
    assert "The key has been replaced." in member.get("/account?done=rotate-key").body.decode()
    match = re.search(r"<code>([0-9a-f]{32})</code>", member.get("/account").body.decode())
    assert match is not None
    assert match[1] != old_key
    assert [Client(app, key).get("/api/v1/account/balance").status for key in (old_key, match[1])] == [401, 200]


def test_an_account_exports_its_own_data(app: App, member: Visitor) -> None:
    answer = member.submit("/account/do/export")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="account.json"'
    assert answer.headers["cache-control"] == "no-store"
    session = member.cookie.partition("=")[2]
    assert answer.json == Client(app).get("/api/v1/user/export", session=session).json
    assert answer.json["user"]["email"] == EMAIL


def test_deleting_an_account_needs_its_password(app: App, member: Visitor) -> None:
    key = get_api_key(app)
    assert "Delete the account" in member.get("/account/security").body.decode()
    for fields, status, message in (
        ({}, 400, "The password is required."),
        ({"password": "wrong"}, 401, "This is not your account's password."),
    ):
        answer = member.submit("/account/do/delete", **fields)
        body = answer.body.decode()
        assert (answer.status, get_message(answer)) == (status, message)
        assert "<h1>Security and data</h1>" in body
        assert body.count('role="alert"') == 1
        assert "<details open>" in body
        assert member.get("/account").status == 200
    answer = member.submit("/account/do/delete", password=PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/account/deleted")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    farewell = member.get("/account/deleted")
    assert (farewell.status, b"<h1>Account deleted</h1>" in farewell.body) == (200, True)
    assert member.get("/account").status == 401
    assert Client(app, key).get("/api/v1/account/balance").status == 401
    assert Visitor(app).sign_in().status == 401


def test_the_page_after_a_deletion_is_not_for_members(member: Visitor) -> None:
    answer = member.get("/account/deleted")
    assert (answer.status, answer.headers["location"]) == (303, "/account")


# ---- the wallet


def get_form_id(visitor: Visitor) -> str:
    match = re.search(r'name="once" value="([^"]+)"', visitor.get("/account").body.decode())
    assert match is not None
    return match[1]


def test_tokens_are_bought_once_with_money_of_the_wallet(app: App, member: Visitor) -> None:
    users.change_credit(app, EMAIL, 2000, app.clock.now())
    users.change_credit(app, EMAIL, -500, app.clock.now(), reason="paid twice")
    form_id = get_form_id(member)
    for _ in range(2):
        answer = member.submit("/account/do/buy-tokens", once=form_id, amount_dollars="12.50")
        assert (answer.status, answer.headers["location"]) == (303, "/account?done=buy-tokens")
    body = member.get("/account?done=buy-tokens").body.decode()
    assert get_message(member.get("/account?done=buy-tokens")).startswith("The tokens have been bought")
    assert "<dt>Tokens left</dt><dd>3,250</dd>" in body
    assert "<dt>Dollars in the wallet</dt><dd>2.50</dd>" in body
    rows = parse_rows(body)
    assert ["2026-01-31 12:00", "-12.50", "1,250", "Tokens bought from the wallet"] in rows
    assert ["2026-01-31 12:00", "-5.00", "\u2013", "Taken back as a correction"] in rows
    assert ["2026-01-31 12:00", "+20.00", "\u2013", "Added to the wallet"] in rows
    assert ["2026-01-31 12:00", "1,250", "Bought from the wallet", ""] in rows
    # The same form with another amount buys nothing, and neither does a form without its id.
    again = member.submit("/account/do/buy-tokens", once=form_id, amount_dollars="1")
    assert (again.status, get_message(again).startswith("This form was already sent")) == (409, True)
    assert member.submit("/account/do/buy-tokens", amount_dollars="1").status == 400
    assert "<dt>Tokens left</dt><dd>3,250</dd>" in member.get("/account").body.decode()


def test_a_form_sent_ten_times_at_once_buys_once(app: App, member: Visitor) -> None:
    users.change_credit(app, EMAIL, 2000, app.clock.now())
    form = {"form_token": member.form_token, "once": get_form_id(member), "amount_dollars": "5"}
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda _: member.send("/account/do/buy-tokens", **form).status, range(10)))
    assert statuses == [303] * 10
    body = member.get("/account").body.decode()
    assert ("<dt>Dollars in the wallet</dt><dd>15.00</dd>" in body, "<dd>2,500</dd>" in body) == (True, True)


@pytest.mark.parametrize("amount", ["0", "-5", "0.001", "1e1", "x", "", "\u0663", "<b>"])
def test_an_invalid_amount_is_refused_and_stays_in_the_form(app: App, member: Visitor, amount: str) -> None:
    users.change_credit(app, EMAIL, 2000, app.clock.now())
    answer = member.submit("/account/do/buy-tokens", once=get_form_id(member), amount_dollars=amount)
    assert answer.status == 400
    assert get_message(answer).startswith("The amount ")
    field = re.search('<input[^>]*name="amount_dollars"[^>]*>', answer.body.decode())
    assert field is not None
    assert ' aria-invalid="true" aria-describedby="problem"' in field[0]
    assert (f' value="{escape(amount)}"' in field[0]) == bool(amount)
    assert "<dt>Dollars in the wallet</dt><dd>20.00</dd>" in member.get("/account").body.decode()


def test_more_than_the_wallet_has_is_refused(app: App, member: Visitor) -> None:
    users.change_credit(app, EMAIL, 2000, app.clock.now())
    answer = member.submit("/account/do/buy-tokens", once=get_form_id(member), amount_dollars="20.01")
    assert (answer.status, get_message(answer)) == (400, "The wallet balance is below this amount.")


def test_the_account_names_the_price_of_its_plan(make_app: MakeApp) -> None:
    app = make_app(**{**ACCOUNTS, "public_url": "http://x"}, plans=(CustomPlan("free", price=29),))
    sign_up(Client(app))
    visitor = Visitor(app)
    visitor.sign_in()
    body = visitor.get("/account").body.decode()
    assert '<dt>Plan</dt><dd><a href="http://x/plans">Free</a></dd>' in body
    assert "<dt>Tokens a month</dt><dd>2,000</dd>" in body
    assert "<dt>Dollars a month</dt><dd>29</dd>" in body


# ---- the password and the email


def test_a_new_password_keeps_only_the_session_that_set_it(app: App, member: Visitor) -> None:
    other = session_of(Client(app))
    old_token = member.cookie.partition("=")[2]
    old_form_token = member.form_token
    answer = member.submit("/account/do/password", password=PASSWORD, newpassword="a much better one")
    assert (answer.status, answer.headers["location"]) == (303, "/account/security?done=password")
    assert "HttpOnly; SameSite=Strict" in answer.headers["set-cookie"]
    new_token = member.cookie.partition("=")[2]
    statuses = [Client(app).get("/api/v1/user/", session=token).status for token in (old_token, other, new_token)]
    assert statuses == [401, 401, 200]
    assert get_message(member.get("/account/security?done=password")).startswith("The password has been changed.")
    # A form of the page before the change belongs to the old session.
    assert member.send("/account/do/rotate-key", form_token=old_form_token).status == 403
    assert Visitor(app).sign_in().status == 401
    assert Visitor(app).send("/login", email=EMAIL, password="a much better one").status == 303
    recovery.run_mail_step(app)
    assert len(sent(app, "Your password has changed", EMAIL)) == 1


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({}, 400, "The password is required."),
        ({"password": PASSWORD}, 400, "The new password is required."),
        ({"password": PASSWORD, "newpassword": "short"}, 400, "The password must have 8 to 1024 characters."),
        ({"password": PASSWORD, "newpassword": PASSWORD}, 400, "The new password is the same as the old one."),
        ({"password": "wrong", "newpassword": "long enough"}, 401, "This is not your account's password."),
    ],
)
def test_a_refused_password_leaves_everything_as_it_was(
    app: App, member: Visitor, fields: dict[str, str], status: int, message: str
) -> None:
    answer = member.submit("/account/do/password", **fields)
    assert (answer.status, get_message(answer)) == (status, message)
    assert "set-cookie" not in answer.headers
    assert PASSWORD not in answer.body.decode()
    assert member.get("/account").status == 200
    assert Visitor(app).sign_in().status == 303


def test_an_email_changes_when_its_link_is_confirmed(app: App, member: Visitor) -> None:
    refused = member.submit("/account/do/email", email="ann@example.org", password="wrong")
    assert (refused.status, 'value="ann@example.org"' in refused.body.decode()) == (401, True)
    answer = member.submit("/account/do/email", email=" Ann@Example.ORG ", password=PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/account/security?done=email")
    assert get_message(member.get("/account/security?done=email")).startswith("A link was sent to the new address")
    recovery.run_mail_step(app)
    assert "ann@example.org" in str(sent(app, "Your email address is about to change", EMAIL)[0])
    (letter,) = sent(app, "Confirm your new email address", "ann@example.org")
    token = token_in(letter)

    page = Visitor(app).get(f"/confirm-email?token={token}")
    assert (page.status, b"<b>ann@example.org</b>" in page.body) == (200, True)
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "script-src" not in page.headers["content-security-policy"]
    assert member.get("/account").status == 200

    confirmed = Visitor(app).send("/confirm-email", token=token)
    assert (confirmed.status, b"<h1>Email address changed</h1>" in confirmed.body) == (200, True)
    assert member.get("/account").status == 401
    assert Visitor(app).sign_in().status == 401
    assert Visitor(app).send("/login", email="ann@example.org", password=PASSWORD).status == 303
    for used in (Visitor(app).get(f"/confirm-email?token={token}"), Visitor(app).send("/confirm-email", token=token)):
        assert (used.status, get_message(used)) == (400, mail_links.EMAIL_LINK_PROBLEM)
    recovery.run_mail_step(app)
    (notice,) = sent(app, "Your email address has changed", EMAIL)
    token = token_in(notice)
    page = Visitor(app).get(f"/revert-email?token={token}")
    assert (page.status, f"<b>{EMAIL}</b>".encode() in page.body) == (200, True)
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "script-src" not in page.headers["content-security-policy"]
    assert Visitor(app).send("/login", email="ann@example.org", password=PASSWORD).status == 303
    reverted = Visitor(app).send("/revert-email", token=token)
    assert (reverted.status, b"<h1>Email address kept</h1>" in reverted.body) == (200, True)
    assert Visitor(app).send("/login", email="ann@example.org", password=PASSWORD).status == 401
    for used in (Visitor(app).get(f"/revert-email?token={token}"), Visitor(app).send("/revert-email", token=token)):
        assert (used.status, get_message(used)) == (400, mail_links.REVERT_LINK_PROBLEM)


@pytest.mark.parametrize("token", ["", "x", "e1.x", "r1." + "A" * 43, "<b>"])
def test_a_wrong_link_changes_no_email(app: App, token: str) -> None:
    for answer in (
        Visitor(app).get(f"/confirm-email?token={quote(token)}"),
        Visitor(app).send("/confirm-email", token=token),
        Visitor(app).get(f"/revert-email?token={quote(token)}"),
        Visitor(app).send("/revert-email", token=token),
    ):
        assert (answer.status, b"<form" in answer.body.partition(b"<main")[2], b"<b>" in answer.body) == (
            400,
            False,
            False,
        )


def test_other_sessions_are_listed_and_ended(app: App, member: Visitor) -> None:
    other = session_of(Client(app))
    body = member.get("/account/security").body.decode()
    assert "2 of at most" in body
    assert body.count("this one") == 1
    assert member.submit("/account/end-others").status == 303
    assert Client(app).get("/api/v1/user/", session=other).status == 401
    assert member.get("/account").status == 200


@pytest.mark.parametrize("name", ["nothing", "rotate-key/..", "%3Cb%3E"])
def test_an_unknown_action_returns_404(member: Visitor, name: str) -> None:
    assert member.submit(f"/account/do/{name}").status == 404


# ---- webhooks and targets


def test_settings_are_validated_as_by_the_api(app: App, member: Visitor) -> None:
    fields = {"webhook_url": "https://example.com/h", "topic-13f.holdings.updated": "on"}
    assert member.submit("/account/do/settings", **fields).status == 303
    body = member.get("/account/webhooks").body.decode()
    assert 'value="https://example.com/h"' in body
    assert '<input type="checkbox" name="topic-13f.holdings.updated" checked>' in body
    assert '<input type="checkbox" name="topic-insider.transaction.created">' in body
    assert "Insider transactions (Forms 3, 4 and 5)" in body
    assert set(account_pages.TOPIC_LABELS) == set(users.TOPICS)
    # No mails of events exist, so the page does not offer them, and it leaves the stored setting alone.
    assert "notify_email" not in body
    user_id = users.get_id(app, EMAIL)
    with app.db.read() as tx:
        assert users.build_profile(app, tx, user_id, app.clock.now())["notify_email"] is True
    assert member.submit("/account/do/settings", webhook_url="http://127.0.0.1/x").status == 400
    assert member.submit("/account/do/settings", webhook_url="").status == 303
    assert 'value="https://example.com/h"' not in member.get("/account/webhooks").body.decode()


def test_a_test_event_is_listed_and_can_be_redelivered(member: Visitor) -> None:
    assert member.submit("/account/do/test").status == 400  # no receiver yet
    assert member.submit("/account/do/settings", webhook_url="https://example.com/h").status == 303
    assert member.submit("/account/do/test").status == 303
    body = member.get("/account/webhooks").body.decode()
    assert find_row(body, "finapi.test")[1:3] == ["pending", "https://example.com/h"]
    match = re.search(r'name="delivery_id" value="([^"]+)"', body)
    assert match is not None
    assert member.submit("/account/do/redeliver", delivery_id=match[1]).status in (303, 409)
    assert member.submit("/account/do/redeliver", delivery_id="dlv_none").status == 404


def test_the_response_of_a_receiver_is_escaped(app: App, member: Visitor) -> None:
    from finapi.web.pages.member import account_pages

    attempt = {"started_at": "2026-01-31T12:00:00.000Z", "duration_ms": 5, "status_code": 500, "error": None}
    delivery: Any = {"attempt_count": 1, "attempts": [{**attempt, "response_body": "<script>x</script>"}]}
    table = account_pages._render_attempts(delivery)
    assert "&lt;script&gt;x" in table
    assert find_row(table, "2026-01-31 12:00")[:2] == ["5", "500"]


def test_the_signing_secret_can_be_replaced(member: Visitor) -> None:
    secrets = []
    for _ in range(2):
        match = re.search(r"<code>(whsec_[^<]+)</code>", member.get("/account/webhooks").body.decode())
        assert match is not None
        secrets.append(match[1])
        assert member.submit("/account/do/rotate-secret").status == 303
    assert secrets[0] != secrets[1]


def test_a_target_is_added_and_stopped(app: App, member: Visitor) -> None:
    demo_data.load(app)
    assert member.submit("/account/do/settings", webhook_url="https://example.com/h").status == 303
    fields = {"ticker": "AAPL", "duration_minutes": "30", "form_types": "8-K, 10-Q"}
    assert member.submit("/account/do/add-target", **fields).status == 303
    body = member.get("/account/webhooks").body.decode()
    assert find_row(body, "AAPL")[:3] == ["active", "2026-01-31 12:30", "8-K, 10-Q"]
    match = re.search(r'name="target_id" value="([^"]+)"', body)
    assert match is not None
    assert member.submit("/account/do/stop-target", target_id=match[1]).status == 303
    assert find_row(member.get("/account/webhooks").body.decode(), "AAPL")[0] != "ACTIVE"
    for wrong in ({"ticker": "ZZZZ"}, {"ticker": ""}, {"ticker": "AAPL", "duration_minutes": "x"}):
        answer = member.submit("/account/do/add-target", **wrong)
        assert (answer.status, "Sniper targets</h2>" in answer.body.decode()) == (400, True)


# ---- who pays for pages


def test_a_member_pays_for_a_page_but_not_for_missing_data(app: App, member: Visitor) -> None:
    demo_data.load(app)

    def balance() -> int:
        match = re.search(r"Tokens left</dt><dd>([\d,]+)", member.get("/account").body.decode())
        assert match is not None
        return int(match[1].replace(",", ""))

    assert member.get("/company/AAPL/financials").status == 200
    assert balance() == 1_990
    assert member.get("/company/AAPL").status == 200
    assert balance() == 1_965
    assert member.get("/company/AAPL/proof/revenue/A1999FY").status == 404
    assert member.get("/company/ZZZZ").status == 404
    assert balance() == 1_965
    tag = member.get("/company/AAPL/financials").headers["etag"]
    headers = {**HTML, "Cookie": member.cookie, "If-None-Match": tag}
    assert member.client.get("/company/AAPL/financials", headers=headers).status == 304
    assert balance() == 1_955


def test_pages_that_members_pay_for_are_not_live(member: Visitor) -> None:
    body = member.get("/filings").body.decode()
    assert "1 call of the API, 5 tokens" in body
    assert "data-live" not in body
    assert "live.js" not in body


def test_a_form_token_depends_on_session_and_newest_secret() -> None:
    form_token = credentials.derive_form_token([b"a" * 32], b"session")
    assert re.fullmatch(r"[\w-]{43}", form_token)
    assert form_token != credentials.derive_form_token([b"a" * 32], b"other")
    assert form_token != credentials.derive_form_token([b"b" * 32, b"a" * 32], b"session")


# ---- what pages of data cost


def list_charges(app: App) -> list[tuple[int, str]]:
    with app.db.write() as tx:
        sql = "SELECT delta, reason FROM ledger WHERE endpoint IS NOT NULL ORDER BY id"
        return [tuple(row) for row in run_sql(tx, sql)]


def test_a_page_that_cannot_be_sent_is_refunded(app: App, member: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    path, finish = "/filings", responses.finish
    assert member.get(path).status == 200
    ((cost, reason),) = list_charges(app)
    assert (cost < 0, reason) == (True, "debit")

    def finished(app: App, exchange: Exchange, response: Response) -> Any:
        if response.status == 200:
            raise MemoryError
        return finish(app, exchange, response)

    monkeypatch.setattr(responses, "finish", finished)
    assert member.get(path).status == 500
    assert list_charges(app) == [(cost, "debit"), (cost, "debit"), (-cost, "5xx_refund")]


def test_a_page_that_times_out_is_refunded(app: App, member: Visitor) -> None:
    late = {"finapi.deadline": app.clock.monotonic() - 1}
    answer = member.client.get("/filings", headers={**HTML, "Cookie": member.cookie}, environ=late)
    assert answer.status == 504
    ((cost, reason), (refund, refund_reason)) = list_charges(app)
    assert (cost < 0, reason, refund, refund_reason) == (True, "debit", -cost, "5xx_refund")
