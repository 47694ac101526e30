"""Sessions of pages, their forms, and the pages of an account."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from finapi.accounts import credentials, invites, recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.market.demo import data
from finapi.web import responses
from finapi.web.exchange import Exchange
from finapi.web.http.messages import Response
from tests.client import PASSWORD, Answer, Client, sent, session_of, sign_up, token_in
from tests.conftest import ACCOUNTS
from tests.pages.conftest import HTML, row_of, rows_of

EMAIL = "ann@example.com"
FORM = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}

MakeApp = Callable[..., App]


class Visitor:
    """A browser without a window: it keeps the cookie that it is given."""

    def __init__(self, app: App) -> None:
        self.client, self.cookie = Client(app), ""

    def get(self, path: str) -> Answer:
        return self.client.get(path, headers={**HTML, **self._sent})

    def send(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> Answer:
        """Send a form as it stands, then keep what cookie comes back."""
        told = {**HTML, **self._sent, **(headers or {})}
        answer = self.client.call("POST", path, data=urlencode(fields).encode(), headers=told, environ=FORM)
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def sign_in(self, **more: str) -> Answer:
        return self.send("/login", email=EMAIL, password=PASSWORD, **more)

    def do(self, path: str, **fields: str) -> Answer:
        """Send a form with the token of the session."""
        return self.send(path, form_token=self.token, **fields)

    @property
    def token(self) -> str:
        found = re.search(r'name="form_token" value="([^"]+)"', self.get("/account").body.decode())
        assert found is not None
        return found[1]

    @property
    def _sent(self) -> dict[str, str]:
        return {"Cookie": f"other=1; {self.cookie}"} if self.cookie else {}


@pytest.fixture
def app(make_app: MakeApp) -> App:
    return make_app(**{**ACCOUNTS, "public_url": "http://x"}, pages_per_minute=100_000)


@pytest.fixture
def ann(app: App) -> Visitor:
    sign_up(Client(app))
    visitor = Visitor(app)
    assert visitor.sign_in().status == 303
    return visitor


def key_of(app: App) -> str:
    user_id = users.get_id(app, EMAIL)
    with app.db.read() as tx:
        return str(users.build_profile(app, tx, user_id, app.clock.now())["api_key"])


def said(answer: Answer) -> str:
    found = re.search(r'role="(?:alert|status)"[^>]*>([^<]*)', answer.body.decode())
    return found[1] if found else ""


# ---- the cookie


def test_a_session_is_a_cookie_that_no_script_and_no_other_site_reads(make_app: MakeApp) -> None:
    app = make_app(**{**ACCOUNTS, "public_url": "https://api.example.com"})
    sign_up(Client(app))
    answer = Visitor(app).sign_in()
    assert (answer.status, answer.headers["location"]) == (303, "/account")
    assert re.fullmatch(
        r"__Host-finapi=[\w.-]+; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure", answer.headers["set-cookie"]
    )


def test_the_api_never_takes_the_cookie(app: App, ann: Visitor) -> None:
    token = ann.cookie.partition("=")[2]
    assert Client(app).get("/api/v1/user/", session=token).status == 200
    for path in ("/api/v1/user/", "/api/v1/account/balance", "/api/v1/xbrl/coverage?ticker=AAPL"):
        assert ann.get(path).status == 401


@pytest.mark.parametrize("cookie", ["finapi=", "finapi=x", "finapi=a.b.c", "__Host-finapi=x", "finapi=" + "x" * 3000])
def test_a_cookie_that_is_none_is_nobody(app: App, cookie: str) -> None:
    visitor = Visitor(app)
    visitor.cookie = cookie
    answer = visitor.get("/account")
    assert (answer.status, b"<h1>Sign in</h1>" in answer.body) == (401, True)


def test_a_session_that_ended_is_nobodys(app: App, ann: Visitor, clock: FixedClock) -> None:
    assert ann.get("/account").status == 200
    clock.advance(seconds=app.config.session_lifetime + 1)
    assert ann.get("/account").status == 401


def test_the_account_is_kept_by_no_cache(ann: Visitor) -> None:
    assert ann.get("/account").headers["cache-control"] == "no-store"


# ---- forms


@pytest.mark.parametrize(
    "path", ["/logout", "/account/end-others", "/account/do/rotate-key", "/account/do/test", "/account/do/export"]
)
def test_a_form_without_its_sessions_token_does_nothing(app: App, ann: Visitor, path: str) -> None:
    other = Visitor(app)
    assert other.sign_in().status == 303
    before = key_of(app)
    for token in ("", "x", "ä", other.token):
        assert ann.send(path, form_token=token).status == 403
    assert (ann.get("/account").status, other.get("/account").status, key_of(app)) == (200, 200, before)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_other_site_sends_a_form(app: App, ann: Visitor, headers: dict[str, str]) -> None:
    assert Visitor(app).send("/login", headers, email=EMAIL, password=PASSWORD).status == 403
    assert ann.send("/logout", headers, form_token=ann.token).status == 403


def test_this_site_sends_it(app: App) -> None:
    sign_up(Client(app))
    headers = {"Origin": "http://x", "Sec-Fetch-Site": "same-origin"}
    assert Visitor(app).send("/login", headers, email=EMAIL, password=PASSWORD).status == 303


@pytest.mark.parametrize("path", ["/account/do/rotate-key", "/account/end-others"])
def test_a_stranger_is_asked_to_sign_in(app: App, path: str) -> None:
    assert Visitor(app).send(path).status == 401


# ---- signing in


@pytest.mark.parametrize(
    ("to", "leads"),
    [
        ("/company/AAPL?as_of=2024-01-01", "/company/AAPL?as_of=2024-01-01"),
        ("//evil.example", "/account"),
        ("/\\evil.example", "/account"),
        ("https://evil.example", "/account"),
        ("/a\r\nSet-Cookie: b=c", "/account"),
        ("", "/account"),
    ],
)
def test_after_signing_in_one_is_where_one_wanted_to_be_on_this_host(app: App, to: str, leads: str) -> None:
    sign_up(Client(app))
    assert Visitor(app).sign_in(next=to).headers["location"] == leads


def test_wrong_passwords_are_told_plainly_until_the_lockout_says_how_long(app: App) -> None:
    sign_up(Client(app))
    visitor = Visitor(app)
    told = [visitor.send("/login", email=EMAIL, password="wrong password") for _ in range(5)]
    assert [answer.status for answer in told] == [401] * 4 + [429]
    assert said(told[0]) == "Invalid email or password"
    assert 'value="ann@example.com"' in told[0].body.decode()
    assert said(told[4]) == "Too many failed login attempts. Try again later. Wait 60 seconds."
    assert told[4].headers["retry-after"] == "60"


@pytest.mark.parametrize("fields", [{}, {"email": EMAIL}, {"email": '"><script>', "password": "x" * 2000}])
def test_a_form_that_is_not_filled_in_says_what_is_wrong(app: App, fields: dict[str, str]) -> None:
    answer = Visitor(app).send("/login", **fields)
    assert answer.status in (400, 401)
    assert said(answer)
    assert b"<script>" not in answer.body


def test_a_body_that_is_no_form_is_refused(app: App) -> None:
    assert Client(app).call("POST", "/login", data=b"{}", headers=HTML).status in (400, 415)


def test_signing_out_ends_the_session(app: App, ann: Visitor) -> None:
    token = ann.cookie.partition("=")[2]
    answer = ann.do("/logout")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert Client(app).get("/api/v1/user/", session=token).status == 401


# ---- registering


def test_a_visitor_registers_by_invite_and_the_mails_link(app: App) -> None:
    visitor, client = Visitor(app), Client(app)
    code = invites.create(app, app.clock.now(), lifetime=None, note=None).code
    answer = visitor.send("/register", email=EMAIL, password=PASSWORD, invite_code=code)
    assert (answer.status, b"<h1>Almost done</h1>" in answer.body) == (200, True)
    assert visitor.sign_in().status == 400
    token = token_in(sent(app, "Verify your email address", EMAIL)[-1])
    assert client.get("/api/v1/auth/verifyEmail", query={"token": token}, headers=HTML).status == 302
    assert visitor.sign_in().status == 303
    again = visitor.send(
        "/register", email="b@example.com", password=PASSWORD, invite_code=code, form_token=visitor.token
    )
    assert (again.status, b'value="b@example.com"' in again.body) == (410, True)


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "x", "password": PASSWORD, "invite_code": "AAAA"},
        {"email": EMAIL, "password": "short", "invite_code": "AAAA"},
        {"email": EMAIL, "password": PASSWORD, "invite_code": "AAAA"},
        {"email": EMAIL, "password": PASSWORD},
        {},
    ],
)
def test_what_is_wrong_with_a_registration_is_told(app: App, fields: dict[str, str]) -> None:
    answer = Visitor(app).send("/register", **fields)
    assert (answer.status, bool(said(answer))) == (400, True)


def test_a_forgotten_password_is_the_same_answer_for_everybody(app: App) -> None:
    sign_up(Client(app))
    bodies = {
        re.sub(rb"<input.*?>", b"", Visitor(app).send("/forgot", email=one).body)
        for one in (EMAIL, "no@example.com", "")
    }
    assert len(bodies) == 1
    recovery.run_mail_step(app)
    assert len(sent(app, "Set a new password")) == 1


# ---- the account


def test_the_account_shows_balance_key_ledger_limits_and_sessions(app: App, ann: Visitor) -> None:
    body = ann.get("/account").body.decode()
    key = key_of(app)
    assert f"<code>{key}</code>" in body
    assert "<dt>Tokens left</dt><dd>2,000</dd>" in body
    assert row_of(body, "app")[0] == "100,000"
    assert "1 of at most" in body
    assert "No tokens spent yet." in body


def test_usage_grows_with_each_call(app: App, ann: Visitor) -> None:
    data.load(app)
    key = key_of(app)
    assert Client(app, key).get("/api/v1/xbrl/timeseries?ticker=AAPL").status == 200
    body = ann.get("/account").body.decode()
    assert row_of(body, "GET /api/v1/xbrl/timeseries") == ["1", "10"]
    assert "<title>Tokens, 01-31: 10</title>" in body
    assert ["2026-01-31 12:00", "(10)", "debit", "GET /api/v1/xbrl/timeseries"] in rows_of(body)


def test_a_new_key_ends_the_old_one(app: App, ann: Visitor) -> None:
    old = key_of(app)
    answer = ann.do("/account/do/rotate-key")
    assert (answer.status, answer.headers["location"]) == (303, "/account?done=rotate-key")
    assert "The key has been replaced." in ann.get("/account?done=rotate-key").body.decode()
    found = re.search(r"<code>([0-9a-f]{32})</code>", ann.get("/account").body.decode())
    assert found is not None
    assert found[1] != old
    assert [Client(app, one).get("/api/v1/account/balance").status for one in (old, found[1])] == [401, 200]


def test_what_is_held_of_an_account_is_taken_along(app: App, ann: Visitor) -> None:
    answer = ann.do("/account/do/export")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="account.json"'
    assert answer.headers["cache-control"] == "no-store"
    session = ann.cookie.partition("=")[2]
    assert answer.json == Client(app).get("/api/v1/user/export", session=session).json
    assert answer.json["user"]["email"] == EMAIL


def test_an_account_is_deleted_with_its_password_alone(app: App, ann: Visitor) -> None:
    key = key_of(app)
    assert "Delete the account" in ann.get("/account").body.decode()
    for fields, status in (({}, 400), ({"password": "wrong"}, 401)):
        answer = ann.do("/account/do/delete", **fields)
        body = answer.body.decode()
        assert answer.status == status
        assert "<h1>Account</h1>" in body
        assert body.count('role="alert"') == 1
        assert "Delete the account" in body
        assert ann.get("/account").status == 200
    answer = ann.do("/account/do/delete", password=PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert ann.get("/account").status == 401
    assert Client(app, key).get("/api/v1/account/balance").status == 401
    assert Visitor(app).sign_in().status == 401


def test_other_sessions_are_listed_and_ended(app: App, ann: Visitor) -> None:
    other = session_of(Client(app))
    body = ann.get("/account").body.decode()
    assert "2 of at most" in body
    assert body.count("this one") == 1
    assert ann.do("/account/end-others").status == 303
    assert Client(app).get("/api/v1/user/", session=other).status == 401
    assert ann.get("/account").status == 200


@pytest.mark.parametrize("name", ["nothing", "rotate-key/..", "%3Cb%3E"])
def test_what_is_no_form_is_not_found(ann: Visitor, name: str) -> None:
    assert ann.do(f"/account/do/{name}").status == 404


# ---- webhooks and targets


def test_settings_are_stored_and_refused_like_the_apis(app: App, ann: Visitor) -> None:
    sent = {"webhook_url": "https://example.com/h", "topic-13f.holdings.updated": "on", "notify_email": "on"}
    assert ann.do("/account/do/settings", **sent).status == 303
    body = ann.get("/account/webhooks").body.decode()
    assert 'value="https://example.com/h"' in body
    assert '<input type="checkbox" name="topic-13f.holdings.updated" checked>' in body
    assert '<input type="checkbox" name="topic-insider.transaction.created">' in body
    assert ann.do("/account/do/settings", webhook_url="http://127.0.0.1/x").status == 400
    assert ann.do("/account/do/settings", webhook_url="").status == 303
    assert 'value="https://example.com/h"' not in ann.get("/account/webhooks").body.decode()


def test_a_test_event_stands_among_the_deliveries_and_is_sent_again(ann: Visitor) -> None:
    assert ann.do("/account/do/test").status == 400  # no receiver yet
    assert ann.do("/account/do/settings", webhook_url="https://example.com/h").status == 303
    assert ann.do("/account/do/test").status == 303
    body = ann.get("/account/webhooks").body.decode()
    assert row_of(body, "finapi.test")[1:3] == ["pending", "https://example.com/h"]
    found = re.search(r'name="delivery_id" value="([^"]+)"', body)
    assert found is not None
    assert ann.do("/account/do/redeliver", delivery_id=found[1]).status in (303, 409)
    assert ann.do("/account/do/redeliver", delivery_id="dlv_none").status == 404


def test_what_a_receiver_answered_is_text(app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    from finapi.web.pages.member import account_pages

    attempt = {"started_at": "2026-01-31T12:00:00.000Z", "duration_ms": 5, "status_code": 500, "error": None}
    one: Any = {"attempt_count": 1, "attempts": [{**attempt, "response_body": "<script>x</script>"}]}
    made = account_pages._render_attempts(one)
    assert "&lt;script&gt;x" in made
    assert row_of(made, "2026-01-31 12:00")[:2] == ["5", "500"]


def test_the_secret_is_replaced(ann: Visitor) -> None:
    secrets = []
    for _ in range(2):
        found = re.search(r"<code>(whsec_[^<]+)</code>", ann.get("/account/webhooks").body.decode())
        assert found is not None
        secrets.append(found[1])
        assert ann.do("/account/do/rotate-secret").status == 303
    assert secrets[0] != secrets[1]


def test_a_target_is_added_and_stopped(app: App, ann: Visitor) -> None:
    data.load(app)
    assert ann.do("/account/do/settings", webhook_url="https://example.com/h").status == 303
    sent = {"ticker": "AAPL", "duration_minutes": "30", "form_types": "8-K, 10-Q"}
    assert ann.do("/account/do/add-target", **sent).status == 303
    body = ann.get("/account/webhooks").body.decode()
    assert row_of(body, "AAPL")[:3] == ["active", "2026-01-31 12:30", "8-K, 10-Q"]
    found = re.search(r'name="target_id" value="([^"]+)"', body)
    assert found is not None
    assert ann.do("/account/do/stop-target", target_id=found[1]).status == 303
    assert row_of(ann.get("/account/webhooks").body.decode(), "AAPL")[0] != "ACTIVE"
    for wrong in ({"ticker": "ZZZZ"}, {"ticker": ""}, {"ticker": "AAPL", "duration_minutes": "x"}):
        answer = ann.do("/account/do/add-target", **wrong)
        assert (answer.status, "Sniper targets</h2>" in answer.body.decode()) == (400, True)


# ---- who pays for pages


def test_a_member_pays_for_a_page_as_for_its_calls_and_for_nothing_that_is_not_there(app: App, ann: Visitor) -> None:
    data.load(app)

    def balance() -> int:
        found = re.search(r"Tokens left</dt><dd>([\d,]+)", ann.get("/account").body.decode())
        assert found is not None
        return int(found[1].replace(",", ""))

    assert ann.get("/company/AAPL/financials").status == 200
    assert balance() == 1_990
    assert ann.get("/company/AAPL").status == 200
    assert balance() == 1_965
    assert ann.get("/company/AAPL/proof/revenue/A1999FY").status == 404
    assert ann.get("/company/ZZZZ").status == 404
    assert balance() == 1_965
    tag = ann.get("/company/AAPL/financials").headers["etag"]
    headers = {**HTML, "Cookie": ann.cookie, "If-None-Match": tag}
    assert ann.client.get("/company/AAPL/financials", headers=headers).status == 304
    assert balance() == 1_955


def test_what_a_member_pays_for_is_not_asked_for_again_and_again(ann: Visitor) -> None:
    body = ann.get("/filings").body.decode()
    assert "1 call of the API, 5 tokens" in body
    assert "data-live" not in body
    assert "live.js" not in body


def test_a_form_token_is_of_one_session_and_of_the_newest_secret() -> None:
    one = credentials.derive_form_token([b"a" * 32], b"session")
    assert re.fullmatch(r"[\w-]{43}", one)
    assert one != credentials.derive_form_token([b"a" * 32], b"other")
    assert one != credentials.derive_form_token([b"b" * 32, b"a" * 32], b"session")


# ---- what pages of data cost


def spent(app: App) -> list[tuple[int, str]]:
    with app.db.write() as tx:
        sql = "SELECT delta, reason FROM ledger WHERE endpoint IS NOT NULL ORDER BY id"
        return [tuple(row) for row in tx._connection.execute(sql)]


def test_a_page_is_charged_when_it_is_made_and_not_when_it_cannot_be(
    app: App, ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, finish = "/filings", responses.finish
    assert ann.get(path).status == 200
    ((cost, reason),) = spent(app)
    assert (cost < 0, reason) == (True, "debit")

    def finished(app: App, exchange: Exchange, response: Response) -> Any:
        if response.status == 200:
            raise MemoryError
        return finish(app, exchange, response)

    monkeypatch.setattr(responses, "finish", finished)
    assert ann.get(path).status == 500
    assert spent(app) == [(cost, "debit"), (cost, "debit"), (-cost, "5xx_refund")]


def test_a_page_that_took_too_long_costs_nothing(app: App, ann: Visitor) -> None:
    late = {"finapi.deadline": app.clock.monotonic() - 1}
    answer = ann.client.get("/filings", headers={**HTML, "Cookie": ann.cookie}, environ=late)
    assert answer.status == 504
    ((cost, reason), (back, given)) = spent(app)
    assert (cost < 0, reason, back, given) == (True, "debit", -cost, "5xx_refund")
