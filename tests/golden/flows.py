"""Fixed conversations: accounts, tokens, targets, webhooks and limits, each with a service of its own."""

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
    """A conversation: what is asked and answered, in order. ``session`` and ``key`` go with each request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.records: list[Record] = []
        self.asked: list[tuple[str, str]] = []
        self.session: str | None = None
        self.key: str | None = None

    def ask(self, method: str, target: str, body: Any = None, *, shown: str | None = None, **headers: str) -> Answer:
        """One request. ``shown`` is its target in the record where a part of it was made on the way."""
        text = f"{method} {shown or target}"
        if body is not None:
            text += " " + json.dumps({name: _shown(name, one) for name, one in body.items()})
        text += "".join(f" ~ {name}: {value}" for name, value in headers.items())
        before = sum(one.request.partition(" #")[0] == text for one in self.records)
        name = f"{text} #{before + 1}" if before else text
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.key is not None:
            sent["X-API-Key"] = self.key
        options: dict[str, Any] = {} if body is None else {"json": body}
        answer = self.world.ask(name, method, target, headers=sent, session=self.session, **options)
        self.asked.append((method, target.partition("?")[0]))
        self.records.append(Record(name, target, answer))
        return answer

    def form(self, target: str, body: bytes, *, shown: str | None = None) -> Answer:
        """One request with the fields of a form, as a browser sends them."""
        name = f"POST {target} {shown or body.decode()}"
        kind = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}
        answer = self.world.ask(name, "POST", target, data=body, environ=kind)
        self.asked.append(("POST", target))
        self.records.append(Record(name, target, answer))
        return answer

    def mails(self) -> None:
        """Keep the mails that were sent since the last time."""
        seen = getattr(self, "_mails", 0)
        for mail in self.world.mails()[seen:]:
            seen += 1
            self.records.append(Record.of_value(f"mail {seen}", mail))
        self._mails = seen

    def token(self) -> str:
        """The token of the link in the newest mail."""
        return re.findall(r"\?token=(\S+)", self.world.mails()[-1]["text"])[0]


def _shown(name: str, value: Any) -> Any:
    made = name in ("token", "invite_token", "invite_code", "code") and len(str(value)) > 12
    return f"<{name}>" if made else value


def auth(flow: Flow) -> None:
    """Invite, registration, verification, login, password, account, key, logout, lockout."""
    code, email = flow.world.invite("first"), "bea@example.com"
    flow.ask("POST", AUTH + "redeem-invite", {})
    flow.ask("POST", AUTH + "redeem-invite", {"invite_code": "NO-SUCH-CODE"})
    flow.ask("POST", AUTH + "redeem-invite", {"code": code})
    token = flow.ask("POST", AUTH + "redeem-invite", {"invite_code": code}).json["invite_token"]
    register = AUTH + "register"
    whole = {"email": email, "password": PASSWORD, "invite_token": token}
    flow.ask("POST", register, {"email": email, "password": PASSWORD})
    flow.ask("POST", register, {**whole, "email": "nobody"})
    flow.ask("POST", register, {**whole, "password": "short"})
    flow.ask("POST", register, {**whole, "password": "password123"})
    flow.ask("POST", register, {**whole, "invite_token": "x.y.z"})
    flow.ask("POST", register, {**whole, "email": "ann@example.com"})
    flow.ask("POST", register, whole)
    flow.ask("POST", register, {**whole, "email": "cid@example.com"})
    flow.ask("POST", AUTH + "redeem-invite", {"invite_code": code})
    flow.mails()
    login = {"email": email, "password": PASSWORD}
    flow.ask("POST", AUTH + "login", login)
    flow.ask("POST", AUTH + "resend-verification", {"email": email})
    flow.ask("POST", AUTH + "resend-verification", {"email": "nobody@example.com"})
    flow.mails()
    token = flow.token()
    verify = AUTH + "verifyEmail?token="
    flow.ask("GET", AUTH + "verifyEmail")
    flow.ask("GET", verify + "v1.x")
    flow.ask("GET", verify + "v1.x", Accept="text/html")
    flow.ask("HEAD", verify + token, shown=verify + "<token>")
    flow.ask("GET", verify + token, shown=verify + "<token>")
    flow.ask("GET", verify + token, shown=verify + "<token>", Accept="text/html")
    flow.ask("POST", AUTH + "login", {"email": email})
    flow.ask("POST", AUTH + "login", {"email": "nobody@example.com", "password": PASSWORD})
    flow.session = flow.ask("POST", AUTH + "login", login).json["token"]
    flow.ask("GET", USER)
    flow.ask("PUT", USER, {"webhook_url": RECEIVER, "notify_email": True, "webhook_topics": []})
    flow.ask("PUT", USER, {"webhook_topics": ["sniper.window_expired", "13f.holdings.updated"]})
    flow.ask("PUT", USER, {"webhook_topics": ["nothing"]})
    flow.ask("PUT", USER, {"webhook_url": "http://127.0.0.1/"})
    flow.ask("PUT", USER, {"webhook_url": "nowhere"})
    flow.ask("PUT", USER, {"notify_email": "yes"})
    flow.ask("GET", USER + "export")
    flow.ask("DELETE", USER, {"password": "wrong horse battery"})
    flow.ask("DELETE", USER, {})
    flow.ask("PUT", USER, {"webhook_url": None})
    flow.ask("POST", USER + "api-key/rotate", {})
    flow.ask("GET", USER)
    session, flow.session = flow.session, "not.a.session"
    flow.ask("GET", USER)
    flow.session = None
    flow.ask("GET", USER)
    flow.ask("POST", AUTH + "forgetpassword", {"email": email})
    flow.ask("POST", AUTH + "forgetpassword", {"email": "nobody@example.com"})
    flow.mails()
    token = flow.token()
    flow.ask("GET", AUTH + "verifyPasswordLink")
    flow.ask("GET", AUTH + "verifyPasswordLink?token=r1.x")
    flow.ask("POST", "/reset-password", {"token": "r1.x", "newpassword": "other horse battery"})
    form = b"token=r1.x&newpassword=other+horse+battery"
    flow.form("/reset-password", form)
    flow.form("/reset-password", b"token=r1.x&newpassword=short")
    flow.ask("PUT", AUTH + "newpassword", {"token": "r1.x", "newpassword": "other horse battery"})
    flow.ask("PUT", AUTH + "newpassword", {"token": token, "newpassword": "short"})
    flow.ask("PUT", AUTH + "newpassword", {"token": token, "newpassword": "other horse battery"})
    flow.ask("PUT", AUTH + "newpassword", {"token": token, "newpassword": "other horse battery"})
    flow.mails()
    flow.session = session
    flow.ask("GET", USER)
    flow.session = None
    flow.ask("POST", AUTH + "forgetpassword", {"email": email})
    flow.mails()
    token, page = flow.token(), "/reset-password?token="
    flow.ask("GET", page + token, shown=page + "<token>")
    form = f"token={token}&newpassword=third+horse+battery".encode()
    flow.form("/reset-password", form, shown="token=<token>&newpassword=third+horse+battery")
    changed = {"email": email, "password": "third horse battery"}
    flow.session = flow.ask("POST", AUTH + "login", changed).json["token"]
    flow.ask("POST", AUTH + "logout", {})
    flow.ask("POST", AUTH + "logout", {})
    flow.session = None
    login = {"email": "eva@example.com", "password": PASSWORD}
    flow.world.user(login["email"], "free")
    flow.session = flow.ask("POST", AUTH + "login", login).json["token"]
    flow.ask("DELETE", USER, {"password": PASSWORD})
    flow.ask("GET", USER)
    flow.session = None
    flow.world.clock.advance(3600)
    flow.ask("POST", AUTH + "redeem-invite", {"invite_code": flow.world.invite("second")})
    for _ in range(6):
        flow.ask("POST", AUTH + "login", {"email": email, "password": "a wrong horse battery"})
    flow.world.lock("ann@example.com")
    flow.ask("POST", AUTH + "login", {"email": "ann@example.com", "password": PASSWORD})
    flow.key = flow.world.key
    flow.ask("GET", CHEAP)


def account(flow: Flow) -> None:
    """Tokens, plans, wallet and limits, of a caller whose tokens run out."""
    flow.world.user("dan@example.com", "free")
    login = {"email": "dan@example.com", "password": PASSWORD}
    opened = flow.ask("POST", AUTH + "login", login).json
    flow.session = opened["token"]
    key = opened["user"]["api_key"]
    flow.ask("GET", ACCOUNT + "balance")
    flow.ask("GET", ACCOUNT + "limits")
    flow.ask("GET", "/api/v1/billing/subscription")
    flow.session, flow.key = None, key
    flow.ask("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue&limit=1")
    flow.ask("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=nosuch")
    flow.ask("GET", "/api/v1/sec/filings/stats")
    flow.world.clock.advance(86_400)
    flow.ask("GET", "/api/v1/sec/filings/stats")
    flow.ask("GET", CHEAP)
    flow.ask("GET", CHEAP)
    flow.ask("GET", CHEAP)
    flow.ask("GET", "/api/v1/xbrl/companies/AAPL/statements?statement=income")
    flow.ask("GET", "/api/v1/xbrl/companies/AAPL/statements?period=X")
    flow.ask("GET", ACCOUNT + "balance")
    flow.ask("GET", ACCOUNT + "usage")
    flow.ask("GET", ACCOUNT + "usage?days=1")
    flow.ask("GET", ACCOUNT + "usage?days=x")
    cursor = flow.ask("GET", ACCOUNT + "transactions?limit=3").json["next_cursor"]
    flow.ask("GET", ACCOUNT + f"transactions?limit=20&cursor={cursor}")
    flow.ask("GET", ACCOUNT + "transactions?cursor=0")
    flow.ask("GET", ACCOUNT + "limits")
    flow.ask("POST", ACCOUNT + "billing-portal", {})
    flow.ask("POST", "/api/v1/billing/quota", {"amount_dollars": 1})
    flow.session, flow.key = opened["token"], None
    flow.session = flow.ask("POST", AUTH + "login", login).json["token"]
    quota = "/api/v1/billing/quota"
    flow.ask("POST", quota, {"amount_dollars": 1})
    flow.world.credit("dan@example.com", 2_500)
    flow.ask("POST", quota, {"amount_dollars": 0.5}, Idempotency_Key="one")
    flow.ask("POST", quota, {"amount_dollars": 0.5}, Idempotency_Key="one")
    flow.ask("POST", quota, {"amount_dollars": 0.75}, Idempotency_Key="one")
    flow.ask("POST", quota, {"amount_dollars": 12.5})
    flow.ask("POST", quota, {"amount_dollars": 0.001})
    flow.ask("POST", quota, {"amount_dollars": -1})
    flow.ask("POST", quota, {"amount_dollars": "1"})
    flow.ask("POST", quota, {})
    flow.ask("GET", "/api/v1/billing/history?limit=1")
    flow.ask("GET", "/api/v1/billing/history?offset=1")
    flow.ask("GET", "/api/v1/billing/history?limit=x")
    flow.ask("GET", "/api/v1/billing/subscription")
    flow.ask("GET", ACCOUNT + "balance")
    flow.world.clock.advance(40 * 86_400)
    flow.session, flow.key = None, key
    flow.ask("GET", CHEAP)
    flow.ask("GET", ACCOUNT + "balance")
    flow.ask("GET", ACCOUNT + "transactions")


def limits(flow: Flow) -> None:
    """What a caller meets who asks too often."""
    flow.key = flow.world.key
    for _ in range(4):
        flow.ask("GET", "/api/v1/xbrl/search?q=apple&limit=1")
    for _ in range(4):
        flow.ask("GET", CHEAP)
    for _ in range(4):
        flow.ask("GET", "/api/v1/insiders/stats/global")
    flow.ask("GET", ACCOUNT + "limits")
    flow.world.clock.advance(30)
    flow.ask("GET", CHEAP)
    flow.ask("GET", "/api/v1/xbrl/search?q=apple&limit=1")
    flow.ask("GET", ACCOUNT + "limits")
    flow.key = "0" * 32
    for _ in range(5):
        flow.ask("GET", CHEAP)


def webhooks(flow: Flow) -> None:
    """Targets, an ingest that they and the topics of an account tell of, deliveries, and what fails of them."""
    flow.key = flow.world.key
    login = {"email": "ann@example.com", "password": PASSWORD}
    flow.session = flow.ask("POST", AUTH + "login", login).json["token"]
    flow.ask("PUT", USER, {"webhook_url": RECEIVER, "webhook_topics": ["sniper.window_expired"]})
    flow.session = None
    flow.ask("GET", HOOKS + "/secret")
    flow.ask("POST", HOOKS + "/secret/rotate", {})
    flow.ask("GET", HOOKS + "/secret")
    flow.ask("GET", TARGETS)
    made = flow.ask("POST", TARGETS, {"ticker": "AAPL"}, Idempotency_Key="a").json
    flow.ask("POST", TARGETS, {"ticker": "AAPL"}, Idempotency_Key="a")
    body: dict[str, Any] = {"ticker": "1065280", "form_types": ["10-Q"], "webhook_url": RECEIVER + "/of-target"}
    flow.ask("POST", TARGETS, {**body, "duration_minutes": 120})
    flow.ask("POST", TARGETS, {"ticker": "NFLX", "form_types": ["8-K"], "duration_minutes": 1})
    ahead = {"start_time": "2026-02-01T00:00:00Z", "end_time": "2026-02-01T06:00:00Z"}
    flow.ask("POST", TARGETS, {"ticker": "UPXI", **ahead})
    flow.ask("POST", TARGETS, {"ticker": "AEON"})
    flow.ask("POST", TARGETS, {"ticker": "AEON", "duration_minutes": 5})
    flow.ask("POST", TARGETS, {"ticker": "NOSUCH"})
    flow.ask("POST", TARGETS, {"ticker": "AAPL", "duration_minutes": 0})
    flow.ask("POST", TARGETS, {"ticker": "AAPL", "form_types": "8-K"})
    flow.ask("POST", TARGETS, {"ticker": "AAPL", "form_types": ["$$"]})
    flow.ask("POST", TARGETS, {"ticker": "AAPL", "webhook_url": "http://10.0.0.1/"})
    flow.ask("POST", TARGETS, {"ticker": "AAPL", "start_time": "soon"})
    flow.ask("GET", TARGETS + "?status=ACTIVE&limit=2&offset=1")
    flow.ask("GET", TARGETS + "?ticker=NFLX")
    flow.ask("GET", TARGETS + "?status=WAITING")
    stop = f"{TARGETS}/{made['target_id']}/stop"
    flow.ask("POST", stop, {}, shown=f"{TARGETS}/<target_id>/stop")
    flow.ask("POST", stop, {}, shown=f"{TARGETS}/<target_id>/stop")
    flow.ask("POST", TARGETS + "/tgt_nosuch/stop", {})
    flow.ask("POST", HOOKS + "/test", {})
    flow.ask("POST", HOOKS + "/test", {"url": RECEIVER + "/of-test"})
    flow.ask("POST", HOOKS + "/test", {"url": "ftp://example.com/"})
    flow.ask("POST", HOOKS + "/test", {"url": "https://127.0.0.1/"})
    report = FILINGS / "nflx-10q-20100930"
    flow.world.ingest(report, accession="0001193125-26-000001", filed="2026-01-31")
    flow.ask("GET", "/api/v1/events?feed=main-api&since_seq=25")
    flow.ask("GET", TARGETS)
    flow.ask("GET", HOOKS + "/deliveries")
    flow.world.clock.advance(61)
    flow.world.move()
    flow.ask("GET", TARGETS + "?status=STOPPED")
    for seconds in (10, 60, 300, 300):
        flow.world.deliver()
        flow.ask("GET", HOOKS + "/deliveries?limit=2")
        flow.world.clock.advance(seconds + 1)
    cursor = flow.ask("GET", HOOKS + "/deliveries?limit=1").json["meta"]["next_cursor"]
    flow.ask("GET", HOOKS + f"/deliveries?limit=1&cursor={cursor}")
    found = flow.ask("GET", HOOKS + "/deliveries?status=dropped&event_type=finapi.test").json["deliveries"]
    flow.ask("GET", HOOKS + "/deliveries?status=gone")
    flow.ask("GET", HOOKS + "/deliveries?cursor=x")
    again = f"{HOOKS}/deliveries/{found[0]['delivery_id']}/redeliver"
    flow.ask("POST", again, {}, shown=f"{HOOKS}/deliveries/<delivery_id>/redeliver")
    flow.ask("POST", again, {}, shown=f"{HOOKS}/deliveries/<delivery_id>/redeliver")
    flow.ask("POST", HOOKS + "/deliveries/dlv_nosuch/redeliver", {})
    flow.ask("GET", ACCOUNT + "usage")
    flow.ask("GET", "/api/v1/status")
    flow.ask("GET", HOOKS + "/vectors")


_FEW = {"app_per_minute": 3, "xbrl_per_minute": 6, "xbrl_burst": 2, "insider_per_minute_paid": 3}

FLOWS: dict[str, tuple[Callable[[Flow], None], Callable[[], AbstractContextManager[World]]]] = {
    "auth": (auth, world.demo),
    "account": (account, lambda: world.demo(free_tokens=20)),
    "limits": (limits, lambda: world.demo(**_FEW)),
    "webhooks": (webhooks, world.demo),
}
