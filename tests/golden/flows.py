"""Fixed conversations about accounts, tokens, targets, webhooks and limits, each with its own service."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.client import Answer
from tests.golden import world
from tests.golden.records import Record
from tests.golden.world import FILINGS, PASSWORD, RECEIVER, World

AUTH = "/api/v1/auth/"
USER = "/api/v1/user/"
TARGETS = "/api/v1/sniper/targets"
HOOKS = "/api/v1/webhooks"
ACCOUNT = "/api/v1/account/"
CHEAP = "/api/v1/cusip/ticker/AAPL"


class Flow:
    """A conversation: requests and answers in order. ``session`` and ``key`` are sent with each request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.records: list[Record] = []
        self.requests: list[tuple[str, str]] = []
        self.session: str | None = None
        self.key: str | None = None

    def request(
        self, method: str, target: str, body: Any = None, *, recorded_target: str | None = None, **headers: str
    ) -> Answer:
        """Send a request and record its answer.

        ``recorded_target`` replaces the target in the record where a part of it is generated.
        """
        text = f"{method} {recorded_target or target}"
        if body is not None:
            text += " " + json.dumps({name: _hide_token(name, member) for name, member in body.items()})
        text += "".join(f" ~ {name}: {value}" for name, value in headers.items())
        before = sum(member.request.partition(" #")[0] == text for member in self.records)
        name = f"{text} #{before + 1}" if before else text
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key is not None:
            sent_headers["X-API-Key"] = self.key
        options: dict[str, Any] = {} if body is None else {"json": body}
        answer = self.world.request(name, method, target, headers=sent_headers, session=self.session, **options)
        self.requests.append((method, target.partition("?")[0]))
        self.records.append(Record(name, target, answer))
        return answer

    def send_form(self, target: str, body: bytes, *, recorded_body: str | None = None) -> Answer:
        """Send the fields of a form, as a browser does."""
        name = f"POST {target} {recorded_body or body.decode()}"
        kind = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}
        answer = self.world.request(name, "POST", target, data=body, environ=kind)
        self.requests.append(("POST", target))
        self.records.append(Record(name, target, answer))
        return answer

    def record_mails(self) -> None:
        """Record the mails that were sent since the last call."""
        mail_count = getattr(self, "_mails", 0)
        for mail in self.world.list_mails()[mail_count:]:
            mail_count += 1
            self.records.append(Record.from_value(f"mail {mail_count}", mail))
        self._mails = mail_count

    def read_token(self) -> str:
        """Return the token of the link in the newest mail."""
        return re.findall(r"\?token=(\S+)", self.world.list_mails()[-1]["text"])[0]


def _hide_token(name: str, value: Any) -> Any:
    is_token = name in ("token", "invite_token", "invite_code", "code") and len(str(value)) > 12
    return f"<{name}>" if is_token else value


def auth(flow: Flow) -> None:
    """Check invite, registration, verification, login, password, account, key, logout and lockout."""
    code, email = flow.world.create_invite("first"), "bea@example.com"
    flow.request("POST", AUTH + "redeem-invite", {})
    flow.request("POST", AUTH + "redeem-invite", {"invite_code": "NO-SUCH-CODE"})
    flow.request("POST", AUTH + "redeem-invite", {"code": code})
    token = flow.request("POST", AUTH + "redeem-invite", {"invite_code": code}).json["invite_token"]
    register = AUTH + "register"
    registration = {"email": email, "password": PASSWORD, "invite_token": token}
    flow.request("POST", register, {"email": email, "password": PASSWORD})
    flow.request("POST", register, {**registration, "email": "nobody"})
    flow.request("POST", register, {**registration, "password": "short"})
    flow.request("POST", register, {**registration, "password": "password123"})
    flow.request("POST", register, {**registration, "invite_token": "x.y.z"})
    flow.request("POST", register, {**registration, "email": "ann@example.com"})
    flow.request("POST", register, registration)
    flow.request("POST", register, {**registration, "email": "cid@example.com"})
    flow.request("POST", AUTH + "redeem-invite", {"invite_code": code})
    flow.record_mails()
    login = {"email": email, "password": PASSWORD}
    flow.request("POST", AUTH + "login", login)
    flow.request("POST", AUTH + "resend-verification", {"email": email})
    flow.request("POST", AUTH + "resend-verification", {"email": "nobody@example.com"})
    flow.record_mails()
    token = flow.read_token()
    verify = AUTH + "verifyEmail?token="
    flow.request("GET", AUTH + "verifyEmail")
    flow.request("GET", verify + "v1.x")
    flow.request("GET", verify + "v1.x", Accept="text/html")
    flow.request("HEAD", verify + token, recorded_target=verify + "<token>")
    flow.request("GET", verify + token, recorded_target=verify + "<token>")
    flow.request("GET", verify + token, recorded_target=verify + "<token>", Accept="text/html")
    flow.request("POST", AUTH + "login", {"email": email})
    flow.request("POST", AUTH + "login", {"email": "nobody@example.com", "password": PASSWORD})
    flow.session = flow.request("POST", AUTH + "login", login).json["token"]
    flow.request("GET", USER)
    flow.request("PUT", USER, {"webhook_url": RECEIVER, "notify_email": True, "webhook_topics": []})
    flow.request("PUT", USER, {"webhook_topics": ["sniper.window_expired", "13f.holdings.updated"]})
    flow.request("PUT", USER, {"webhook_topics": ["nothing"]})
    flow.request("PUT", USER, {"webhook_url": "http://127.0.0.1/"})
    flow.request("PUT", USER, {"webhook_url": "nowhere"})
    flow.request("PUT", USER, {"notify_email": "yes"})
    flow.request("GET", USER + "export")
    flow.request("DELETE", USER, {"password": "wrong horse battery"})
    flow.request("DELETE", USER, {})
    flow.request("PUT", USER, {"webhook_url": None})
    flow.request("POST", USER + "api-key/rotate", {})
    flow.request("GET", USER)
    session, flow.session = flow.session, "not.a.session"
    flow.request("GET", USER)
    flow.session = None
    flow.request("GET", USER)
    flow.request("POST", AUTH + "forgetpassword", {"email": email})
    flow.request("POST", AUTH + "forgetpassword", {"email": "nobody@example.com"})
    flow.record_mails()
    token = flow.read_token()
    flow.request("GET", AUTH + "verifyPasswordLink")
    flow.request("GET", AUTH + "verifyPasswordLink?token=r1.x")
    flow.request("POST", "/reset-password", {"token": "r1.x", "newpassword": "other horse battery"})
    form = b"token=r1.x&newpassword=other+horse+battery"
    flow.send_form("/reset-password", form)
    flow.send_form("/reset-password", b"token=r1.x&newpassword=short")
    flow.request("PUT", AUTH + "newpassword", {"token": "r1.x", "newpassword": "other horse battery"})
    flow.request("PUT", AUTH + "newpassword", {"token": token, "newpassword": "short"})
    flow.request("PUT", AUTH + "newpassword", {"token": token, "newpassword": "other horse battery"})
    flow.request("PUT", AUTH + "newpassword", {"token": token, "newpassword": "other horse battery"})
    flow.record_mails()
    flow.session = session
    flow.request("GET", USER)
    flow.session = None
    flow.request("POST", AUTH + "forgetpassword", {"email": email})
    flow.record_mails()
    token, page = flow.read_token(), "/reset-password?token="
    flow.request("GET", page + token, recorded_target=page + "<token>")
    form = f"token={token}&newpassword=third+horse+battery".encode()
    flow.send_form("/reset-password", form, recorded_body="token=<token>&newpassword=third+horse+battery")
    changed = {"email": email, "password": "third horse battery"}
    flow.session = flow.request("POST", AUTH + "login", changed).json["token"]
    flow.request("POST", AUTH + "logout", {})
    flow.request("POST", AUTH + "logout", {})
    flow.session = None
    login = {"email": "eva@example.com", "password": PASSWORD}
    flow.world.add_user(login["email"], "free")
    flow.session = flow.request("POST", AUTH + "login", login).json["token"]
    flow.request("DELETE", USER, {"password": PASSWORD})
    flow.request("GET", USER)
    flow.session = None
    flow.world.clock.advance(3600)
    flow.request("POST", AUTH + "redeem-invite", {"invite_code": flow.world.create_invite("second")})
    for _ in range(6):
        flow.request("POST", AUTH + "login", {"email": email, "password": "a wrong horse battery"})
    flow.world.lock("ann@example.com")
    flow.request("POST", AUTH + "login", {"email": "ann@example.com", "password": PASSWORD})
    flow.key = flow.world.key
    flow.request("GET", CHEAP)
    flow.key = None
    _change_password_and_email(flow)


def _change_password_and_email(flow: Flow) -> None:
    """Check the changes of the password and the email that an owner makes."""
    flow.world.add_user("fay@example.com", "free")
    login = {"email": "fay@example.com", "password": PASSWORD}
    flow.request("PUT", USER + "password", {"password": PASSWORD, "newpassword": "other horse battery"})
    flow.session = flow.request("POST", AUTH + "login", login).json["token"]
    flow.request("PUT", USER + "password", {"password": PASSWORD, "newpassword": "short"})
    flow.request("PUT", USER + "password", {"password": PASSWORD, "newpassword": PASSWORD})
    flow.request("PUT", USER + "password", {"password": "wrong horse battery", "newpassword": "other horse battery"})
    body = {"password": PASSWORD, "newpassword": "other horse battery"}
    flow.session = flow.request("PUT", USER + "password", body).json["token"]
    body = {"password": "other horse battery", "email": "fay@example.org"}
    flow.request("POST", USER + "email", {**body, "email": "nobody"})
    flow.request("POST", USER + "email", {**body, "email": "fay@example.com"})
    flow.request("POST", USER + "email", body)
    flow.record_mails()
    (token,) = (
        re.findall(r"\?token=(\S+)", mail["text"])[0]
        for mail in flow.world.list_mails()
        if mail["subject"] == "Confirm your new email address"
    )
    page = "/confirm-email?token="
    flow.request("GET", page + "e1.x", recorded_target=page + "e1.x")
    flow.request("GET", page + token, recorded_target=page + "<token>")
    form = f"token={token}".encode()
    flow.send_form("/confirm-email", form, recorded_body="token=<token>")
    flow.send_form("/confirm-email", form, recorded_body="token=<used token>")
    flow.request("GET", USER)
    flow.record_mails()
    (token,) = (
        re.findall(r"\?token=(\S+)", mail["text"])[0]
        for mail in flow.world.list_mails()
        if mail["subject"] == "Your email address has changed"
    )
    page = "/revert-email?token="
    flow.request("GET", page + token, recorded_target=page + "<token>")
    form = f"token={token}".encode()
    flow.send_form("/revert-email", form, recorded_body="token=<token>")
    flow.send_form("/revert-email", form, recorded_body="token=<used token>")
    flow.request("GET", USER)
    flow.record_mails()


def account(flow: Flow) -> None:
    """Check tokens, plans, wallet and limits of a caller whose tokens run out."""
    flow.world.add_user("dan@example.com", "free")
    login = {"email": "dan@example.com", "password": PASSWORD}
    opened = flow.request("POST", AUTH + "login", login).json
    flow.session = opened["token"]
    key = opened["user"]["api_key"]
    flow.request("GET", ACCOUNT + "balance")
    flow.request("GET", ACCOUNT + "limits")
    flow.request("GET", "/api/v1/billing/subscription")
    flow.session, flow.key = None, key
    flow.request("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue&limit=1")
    flow.request("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=nosuch")
    flow.request("GET", "/api/v1/sec/filings/stats")
    flow.world.clock.advance(86_400)
    flow.request("GET", "/api/v1/sec/filings/stats")
    flow.request("GET", CHEAP)
    flow.request("GET", CHEAP)
    flow.request("GET", CHEAP)
    flow.request("GET", "/api/v1/xbrl/companies/AAPL/statements?statement=income")
    flow.request("GET", "/api/v1/xbrl/companies/AAPL/statements?period=X")
    flow.request("GET", ACCOUNT + "balance")
    flow.request("GET", ACCOUNT + "usage")
    flow.request("GET", ACCOUNT + "usage?days=1")
    flow.request("GET", ACCOUNT + "usage?days=x")
    cursor = flow.request("GET", ACCOUNT + "transactions?limit=3").json["next_cursor"]
    flow.request("GET", ACCOUNT + f"transactions?limit=20&cursor={cursor}")
    flow.request("GET", ACCOUNT + "transactions?cursor=0")
    flow.request("GET", ACCOUNT + "limits")
    flow.request("POST", ACCOUNT + "billing-portal", {})
    flow.request("POST", "/api/v1/billing/quota", {"amount_dollars": 1})
    flow.session, flow.key = opened["token"], None
    flow.session = flow.request("POST", AUTH + "login", login).json["token"]
    quota = "/api/v1/billing/quota"
    flow.request("POST", quota, {"amount_dollars": 1})
    flow.world.credit("dan@example.com", 2_500)
    flow.request("POST", quota, {"amount_dollars": 0.5}, Idempotency_Key="one")
    flow.request("POST", quota, {"amount_dollars": 0.5}, Idempotency_Key="one")
    flow.request("POST", quota, {"amount_dollars": 0.75}, Idempotency_Key="one")
    flow.request("POST", quota, {"amount_dollars": 12.5})
    flow.request("POST", quota, {"amount_dollars": 0.001})
    flow.request("POST", quota, {"amount_dollars": -1})
    flow.request("POST", quota, {"amount_dollars": "1"})
    flow.request("POST", quota, {})
    flow.request("GET", "/api/v1/billing/history?limit=1")
    flow.request("GET", "/api/v1/billing/history?offset=1")
    flow.request("GET", "/api/v1/billing/history?limit=x")
    flow.request("GET", "/api/v1/billing/subscription")
    flow.request("GET", ACCOUNT + "balance")
    flow.world.clock.advance(40 * 86_400)
    flow.session, flow.key = None, key
    flow.request("GET", CHEAP)
    flow.request("GET", ACCOUNT + "balance")
    flow.request("GET", ACCOUNT + "transactions")


def limits(flow: Flow) -> None:
    """Exceed the rate limits."""
    flow.key = flow.world.key
    for _ in range(4):
        flow.request("GET", "/api/v1/xbrl/search?q=apple&limit=1")
    for _ in range(4):
        flow.request("GET", CHEAP)
    for _ in range(4):
        flow.request("GET", "/api/v1/insiders/stats/global")
    flow.request("GET", ACCOUNT + "limits")
    flow.world.clock.advance(30)
    flow.request("GET", CHEAP)
    flow.request("GET", "/api/v1/xbrl/search?q=apple&limit=1")
    flow.request("GET", ACCOUNT + "limits")
    flow.key = "0" * 32
    for _ in range(5):
        flow.request("GET", CHEAP)


def webhooks(flow: Flow) -> None:
    """Check targets, an ingest that triggers them and the account's topics, deliveries and their failures."""
    flow.key = flow.world.key
    login = {"email": "ann@example.com", "password": PASSWORD}
    flow.session = flow.request("POST", AUTH + "login", login).json["token"]
    flow.request("PUT", USER, {"webhook_url": RECEIVER, "webhook_topics": ["sniper.window_expired"]})
    flow.session = None
    flow.request("GET", HOOKS + "/secret")
    flow.request("POST", HOOKS + "/secret/rotate", {})
    flow.request("GET", HOOKS + "/secret")
    flow.request("GET", TARGETS)
    target = flow.request("POST", TARGETS, {"ticker": "AAPL"}, Idempotency_Key="a").json
    flow.request("POST", TARGETS, {"ticker": "AAPL"}, Idempotency_Key="a")
    body: dict[str, Any] = {"ticker": "1065280", "form_types": ["10-Q"], "webhook_url": RECEIVER + "/of-target"}
    flow.request("POST", TARGETS, {**body, "duration_minutes": 120})
    flow.request("POST", TARGETS, {"ticker": "NFLX", "form_types": ["8-K"], "duration_minutes": 1})
    ahead = {"start_time": "2026-02-01T00:00:00Z", "end_time": "2026-02-01T06:00:00Z"}
    flow.request("POST", TARGETS, {"ticker": "UPXI", **ahead})
    flow.request("POST", TARGETS, {"ticker": "AEON"})
    flow.request("POST", TARGETS, {"ticker": "AEON", "duration_minutes": 5})
    flow.request("POST", TARGETS, {"ticker": "NOSUCH"})
    flow.request("POST", TARGETS, {"ticker": "AAPL", "duration_minutes": 0})
    flow.request("POST", TARGETS, {"ticker": "AAPL", "form_types": "8-K"})
    flow.request("POST", TARGETS, {"ticker": "AAPL", "form_types": ["$$"]})
    flow.request("POST", TARGETS, {"ticker": "AAPL", "webhook_url": "http://10.0.0.1/"})
    flow.request("POST", TARGETS, {"ticker": "AAPL", "start_time": "soon"})
    flow.request("GET", TARGETS + "?status=ACTIVE&limit=2&offset=1")
    flow.request("GET", TARGETS + "?ticker=NFLX")
    flow.request("GET", TARGETS + "?status=WAITING")
    stop = f"{TARGETS}/{target['target_id']}/stop"
    flow.request("POST", stop, {}, recorded_target=f"{TARGETS}/<target_id>/stop")
    flow.request("POST", stop, {}, recorded_target=f"{TARGETS}/<target_id>/stop")
    flow.request("POST", TARGETS + "/tgt_nosuch/stop", {})
    flow.request("POST", HOOKS + "/test", {})
    flow.request("POST", HOOKS + "/test", {"url": RECEIVER + "/of-test"})
    flow.request("POST", HOOKS + "/test", {"url": "ftp://example.com/"})
    flow.request("POST", HOOKS + "/test", {"url": "https://127.0.0.1/"})
    report = FILINGS / "nflx-10q-20100930"
    flow.world.ingest(report, accession="0001193125-26-000001", filed="2026-01-31")
    flow.request("GET", "/api/v1/events?feed=main-api&since_seq=25")
    flow.request("GET", TARGETS)
    flow.request("GET", HOOKS + "/deliveries")
    flow.world.clock.advance(61)
    flow.world.move_windows()
    flow.request("GET", TARGETS + "?status=STOPPED")
    for seconds in (10, 60, 300, 300):
        flow.world.deliver()
        flow.request("GET", HOOKS + "/deliveries?limit=2")
        flow.world.clock.advance(seconds + 1)
    cursor = flow.request("GET", HOOKS + "/deliveries?limit=1").json["meta"]["next_cursor"]
    flow.request("GET", HOOKS + f"/deliveries?limit=1&cursor={cursor}")
    dropped_deliveries = flow.request("GET", HOOKS + "/deliveries?status=dropped&event_type=finapi.test").json[
        "deliveries"
    ]
    flow.request("GET", HOOKS + "/deliveries?status=gone")
    flow.request("GET", HOOKS + "/deliveries?cursor=x")
    again = f"{HOOKS}/deliveries/{dropped_deliveries[0]['delivery_id']}/redeliver"
    flow.request("POST", again, {}, recorded_target=f"{HOOKS}/deliveries/<delivery_id>/redeliver")
    flow.request("POST", again, {}, recorded_target=f"{HOOKS}/deliveries/<delivery_id>/redeliver")
    flow.request("POST", HOOKS + "/deliveries/dlv_nosuch/redeliver", {})
    flow.request("GET", ACCOUNT + "usage")
    flow.request("GET", "/api/v1/status")
    flow.request("GET", HOOKS + "/vectors")


_LOW_LIMITS = {"app_per_minute": 3, "xbrl_per_minute": 6, "xbrl_burst": 2, "insider_per_minute_paid": 3}

FLOWS: dict[str, tuple[Callable[[Flow], None], Callable[[], AbstractContextManager[World]]]] = {
    "auth": (auth, world.demo_world),
    "account": (account, lambda: world.demo_world(free_tokens=20)),
    "limits": (limits, lambda: world.demo_world(**_LOW_LIMITS)),
    "webhooks": (webhooks, world.demo_world),
}
