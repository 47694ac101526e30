"""The API of registration, verification, login and passwords, including hostile requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from finapi.accounts import credentials, invites, recovery, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.lockout import LOCK_SECONDS_BY_FAILURES
from finapi.net.letters import MailError
from finapi.web.routes import ROUTES
from tests.client import (
    AUTH,
    PASSWORD,
    Answer,
    Client,
    invite_token,
    login,
    register,
    sent,
    session_of,
    sign_up,
    text_of,
    token_in,
    verify,
)
from tests.conftest import ACCOUNTS, NOW
from tests.support.case_tables import run_each_case

USER = "/api/v1/user/"
HOUR = 3600
WRONG = (401, "INVALID_CREDENTIALS", "Invalid email or password")
LOCKED = (429, "LOGIN_LOCKED", "Too many failed login attempts. Try again later.")
UNVERIFIED = (400, "EMAIL_NOT_VERIFIED", "Please verify the email, I have send verification link.")
INVALID_INVITE = (400, "INVALID_INVITE", "Invalid or expired invite token")
USED_INVITE = (410, "INVITE_USED", "Invite code is used and cannot be used")
EMAIL_EXISTS = (400, "EMAIL_EXISTS", "Email already exists")
INVALID_TOKEN = (400, "INVALID_TOKEN", "The link is invalid or has expired.")
FORGET_MESSAGE = {"message": "If the email is registered, a link to set a new password has been sent."}
RESEND_MESSAGE = {"message": "If the email waits for its verification, a new link has been sent."}


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


class Broken:
    """A transport that sends nothing."""

    def __init__(self, *, permanent: bool = False) -> None:
        self.permanent = permanent

    def send(self, message: object, seconds: float) -> None:
        raise MailError("the server cannot be reached", permanent=self.permanent)

    def close(self) -> None:
        pass


def break_mail(app: App, *, permanent: bool = False) -> None:
    object.__setattr__(app.mail_settings, "transport", Broken(permanent=permanent))


def forget(client: Client, email: str = "ann@example.com", **options: Any) -> Answer:
    return client.post(AUTH + "forgetpassword", {"email": email}, **options)


def resend(client: Client, email: str = "ann@example.com", **options: Any) -> Answer:
    return client.post(AUTH + "resend-verification", {"email": email}, **options)


def reset_token(client: Client, email: str = "ann@example.com") -> str:
    """The token of a reset mail that was asked for and sent."""
    forget(client, email)
    recovery.run_mail_step(client.app)
    return token_in(sent(client.app, "Set a new password", email)[-1])


def set_password(client: Client, token: str, password: str = "another horse battery") -> Answer:
    return client.put(AUTH + "newpassword", {"token": token, "newpassword": password})


def fail(client: Client, times: int, email: str = "ann@example.com") -> list[int]:
    return [login(client, email, "wrong password").status for _ in range(times)]


def profile(client: Client, session: str) -> Answer:
    return client.get(USER, session=session)


# ---- the whole way


def test_from_the_invite_to_the_logout(client: Client, app: App) -> None:
    code = invites.create(app, NOW, lifetime=timedelta(days=7), note=None).code
    redeemed = client.post(AUTH + "redeem-invite", {"invite_code": code})
    assert redeemed.status == 200
    assert set(redeemed.json) == {"message", "invite_token", "expires_in"}
    assert redeemed.json["expires_in"] == 900
    body = {"email": "Ann@Example.COM", "password": PASSWORD, "invite_token": redeemed.json["invite_token"]}
    registered = client.post(AUTH + "register", body)
    assert registered.status == 200
    assert registered.json == {
        "message": "Register user successful",
        "linkMsg": "A verification link has been sent to your email address.",
    }
    assert login(client).verdict == UNVERIFIED
    assert verify(client).json == {"message": "Email verified successfully."}
    opened = login(client)
    assert opened.status == 200
    assert set(opened.json) == {"message", "user", "token"}
    assert opened.json["message"] == "User login successfully."
    user_record = profile(client, opened.json["token"])
    assert user_record.status == 200
    user = user_record.json["user"]
    assert user.pop("UserDeviceLimit")["device_limit"] == 2
    assert user.pop("UserDocumentLimit")["total_limit_GB"] == 0
    assert user == opened.json["user"]
    recovery.run_mail_step(app)
    assert user["api_key"] in text_of(sent(app, "Your API key", "ann@example.com")[0])
    out = client.call("POST", AUTH + "logout", session=opened.json["token"])
    assert (out.status, out.json) == (200, {"message": "User logout successfully."})
    assert profile(client, opened.json["token"]).status == 401


# ---- SPEC's table: no account


def test_register_creates_an_unverified_account_on_free(client: Client, app: App) -> None:
    assert register(client).status == 200
    with app.db.read() as tx:
        user = tx.find_row("user_by_email", email="ann@example.com")
        assert user is not None
        profile_record = users.build_profile(app, tx, user["id"], NOW)
    assert profile_record["verify_email"] is False
    assert (profile_record["Userplan"]["plan"], profile_record["Userplan"]["total_limit_api"]) == ("free", 2000)
    assert (profile_record["Userplan"]["reach_limit_api"], profile_record["Userplan"]["status"]) == (0, "active")


def test_register_sends_the_verification_mail_first(client: Client, app: App) -> None:
    register(client)
    (message,) = sent(app, "Verify your email address")
    assert message["To"] == "ann@example.com"
    assert "https://api.example.com/api/v1/auth/verifyEmail?token=v1." in text_of(message)


def test_register_queues_the_welcome_mail_with_the_key(client: Client, app: App) -> None:
    register(client)
    assert sent(app, "Your API key") == []
    recovery.run_mail_step(app)
    (message,) = sent(app, "Your API key")
    assert message["To"] == "ann@example.com"


def test_resend_works_after_a_failed_verification_mail(
    client: Client, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    token, working = invite_token(client), app.mail_settings.transport
    break_mail(app)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    failed = client.post(AUTH + "register", body)
    assert failed.verdict[:2] == (500, "MAIL_FAILED")
    # The operator is told why, under the id that the caller has.
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line == f"request {failed.json['request_id']}: MAIL_FAILED: the server cannot be reached"
    assert "/api/v1/auth/resend-verification" in failed.verdict[2]
    object.__setattr__(app.mail_settings, "transport", working)
    assert login(client).verdict == UNVERIFIED
    assert resend(client).status == 200
    recovery.run_mail_step(app)
    assert verify(client).status == 200
    assert login(client).status == 200


def test_a_failed_welcome_mail_does_not_fail_the_registration(client: Client, app: App) -> None:
    assert register(client).status == 200
    break_mail(app, permanent=True)
    recovery.run_mail_step(app)
    assert verify_token_of(app, "ann@example.com").status == 200


def verify_token_of(app: App, email: str) -> Answer:
    """Follow the activation link that stands in the database, as its mail would have it."""
    with app.db.read() as tx:
        user = tx.find_row("user_by_email", email=email)
        assert user is not None
        row = tx.find_row("live_verification_id", user_id=user["id"], now="")
        assert row is not None
        row = tx.find_row("verification", id=row["id"])
        assert row is not None
    token = credentials.build_link_token(app.secrets, "verify", row["id"], row["uuid"])
    return Client(app).get(AUTH + "verifyEmail", query={"token": token})


def test_register_ignores_the_case_of_registered_emails(client: Client) -> None:
    register(client)
    assert register(client, "ANN@Example.com").verdict == EMAIL_EXISTS


def test_an_invite_survives_a_registration_of_a_registered_email(client: Client) -> None:
    register(client)
    token = invite_token(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).verdict == EMAIL_EXISTS
    assert client.post(AUTH + "register", {**body, "email": "bob@example.com"}).status == 200


def test_an_invite_registers_one_account(client: Client) -> None:
    token = invite_token(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).status == 200
    assert client.post(AUTH + "register", {**body, "email": "bob@example.com"}).verdict == USED_INVITE


def test_a_used_invite_cannot_be_redeemed(client: Client, app: App) -> None:
    code = invites.create(app, NOW, lifetime=None, note=None).code
    token = client.post(AUTH + "redeem-invite", {"code": code}).json["invite_token"]
    client.post(AUTH + "register", {"email": "ann@example.com", "password": PASSWORD, "invite_token": token})
    assert client.post(AUTH + "redeem-invite", {"code": code}).verdict == USED_INVITE


@run_each_case("code", ["AAAA-BBBB-CCCC-DDDD", "x", "' OR 1=1 --", "\0", "ü", "A" * 10_000])
def test_an_unknown_invite_code_is_400(client: Client, code: str) -> None:
    assert client.post(AUTH + "redeem-invite", {"invite_code": code}).verdict == INVALID_INVITE


def test_an_expired_invite_is_400_at_both_steps(client: Client, app: App, clock: FixedClock) -> None:
    code = invites.create(app, NOW, lifetime=timedelta(seconds=60), note=None).code
    token = client.post(AUTH + "redeem-invite", {"code": code}).json["invite_token"]
    clock.advance(60)
    assert client.post(AUTH + "redeem-invite", {"code": code}).verdict == INVALID_INVITE
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).verdict == INVALID_INVITE


def test_a_revoked_invite_is_400_at_both_steps(client: Client, app: App) -> None:
    code = invites.create(app, NOW, lifetime=None, note=None).code
    token = client.post(AUTH + "redeem-invite", {"code": code}).json["invite_token"]
    invites.revoke(app, code, NOW)
    assert client.post(AUTH + "redeem-invite", {"code": code}).verdict == INVALID_INVITE
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    assert client.post(AUTH + "register", body).verdict == INVALID_INVITE


def test_an_invite_token_lives_fifteen_minutes(client: Client, clock: FixedClock) -> None:
    token = invite_token(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    clock.advance(900)
    assert client.post(AUTH + "register", body).verdict == INVALID_INVITE


def test_invite_codes_ignore_case_and_blanks(client: Client, app: App) -> None:
    code = invites.create(app, NOW, lifetime=None, note=None).code
    assert client.post(AUTH + "redeem-invite", {"invite_code": f" {code.lower()} "}).status == 200


def test_redeeming_without_a_code_names_invite_code(client: Client) -> None:
    answer = client.post(AUTH + "redeem-invite", {})
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "invite_code"


# ---- register: the order of its checks, and its limits


def test_register_checks_the_body_before_the_invite(client: Client) -> None:
    body = {"email": "ann@example.com", "password": "short", "invite_token": "nonsense"}
    answer = client.post(AUTH + "register", body)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "password"


@pytest.mark.parametrize("setting", ["refused", "allowed"])
def test_a_setting_refuses_common_passwords(make_app: Callable[..., App], setting: str) -> None:
    client = Client(make_app(**ACCOUNTS, common_passwords=setting))
    policy = client.get("/api/v1/policy").json["data"]["passwords"]
    is_refused = "are refused with 400" in policy["statement"]
    assert (policy["common_passwords"], is_refused) == (setting, setting == "refused")
    body = {"email": "ann@example.com", "password": "Password1", "invite_token": "nonsense"}
    answer = client.post(AUTH + "register", body)
    sign_up(client, email="bob@example.com")
    token = reset_token(client, "bob@example.com")
    changed = client.put(AUTH + "newpassword", {"token": token, "newpassword": "Password1"})
    if setting == "refused":
        # Before the invite, as the rest of the body.
        assert (answer.status, answer.json["details"]["param"]) == (400, "password")
        assert (changed.status, changed.json["details"]["param"]) == (400, "newpassword")
    else:
        assert (answer.verdict, changed.status) == (INVALID_INVITE, 200)
        assert login(client, email="bob@example.com", password="Password1").status == 200


def test_register_checks_the_invite_before_the_email(client: Client) -> None:
    register(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": "nonsense"}
    assert client.post(AUTH + "register", body).verdict == INVALID_INVITE


def test_register_checks_a_used_invite_before_the_email(client: Client) -> None:
    token = invite_token(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": token}
    client.post(AUTH + "register", body)
    assert client.post(AUTH + "register", body).verdict == USED_INVITE


def test_the_sixth_registration_of_an_address_is_429_unread(
    make_app: Callable[..., App],
) -> None:
    client = Client(make_app(**{**ACCOUNTS, "register_per_hour_per_ip": 5}))
    answers = [register(client, f"a{number}@example.com") for number in range(5)]
    assert [answer.status for answer in answers] == [200] * 5
    assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["4", "3", "2", "1", "0"]
    refused = client.call("POST", AUTH + "register", data=b"{")
    assert refused.verdict == (429, "RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.")
    assert refused.headers["retry-after"] == "720"
    assert refused.headers["x-ratelimit-limit"] == "5"
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert refused.headers["x-ratelimit-reset"] == str(int(NOW.timestamp()) + 5 * 720)
    assert client.call("POST", AUTH + "register", data=b"{", address="192.0.2.2").status == 400


@pytest.mark.parametrize("fourth", ["ann@example.com", "ANN@EXAMPLE.COM", " Ann@example.com "])
def test_the_fourth_registration_of_an_email_is_429(client: Client, fourth: str) -> None:
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": "x"}
    for number in range(3):
        assert client.post(AUTH + "register", body, address=f"192.0.2.{number}").verdict == INVALID_INVITE
    refused = client.post(AUTH + "register", {**body, "email": fourth}, address="192.0.2.9")
    assert refused.verdict == (429, "RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.")
    assert refused.headers["retry-after"] == "1200"
    assert refused.headers["x-ratelimit-limit"] == "3"
    assert refused.headers["x-ratelimit-remaining"] == "0"
    other = client.post(AUTH + "register", {**body, "email": "bob@example.com"}, address="192.0.2.9")
    assert other.verdict == INVALID_INVITE


@pytest.mark.parametrize("length", [8, 1024])
def test_a_password_of_8_to_1024_characters_registers(client: Client, length: int) -> None:
    body = {"email": "ann@example.com", "password": "ü" * length, "invite_token": invite_token(client)}
    assert client.post(AUTH + "register", body).status == 200


@run_each_case("password", ["", "1234567", "x" * 1025, "password", "PASSWORD1", "\ud800" * 9])
def test_register_refuses_forbidden_passwords(client: Client, password: str) -> None:
    body = {"email": "ann@example.com", "password": password, "invite_token": invite_token(client)}
    answer = client.post(AUTH + "register", body)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "password"


# Texts that look like an address to a short pattern and that no mail can be sent to.
UNMAILABLE = [
    "ann..b@example.com",
    ".ann@example.com",
    "ann@example..com",
    "ann@-example.com",
    "ann@.",
    "ann@example.com.",
    f"{'ü' * 40}@example.com",
    f"ann@{'x' * 64}.com",
    "ann@exam\u2028ple.com",
    "ann@exam\u00a0ple.com",
    "ann\u200b@example.com",
    "=?utf-8?q?a?=@example.com",
]


@run_each_case("email", UNMAILABLE)
def test_register_refuses_undeliverable_emails(client: Client, email: str) -> None:
    answer = register(client, email)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "email"


@run_each_case(
    "email",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "a@b@c.com",
        "ann@example.com\r\nBcc: eve@example.com",
        "ann@example.com\nBcc:eve@example.com",
        "ann\r@example.com",
        "ann@example.com\0",
        "ann@example.com,eve@example.com",
        "Ann <ann@example.com>",
        '"ann b"@example.com',
        "ann@[192.0.2.1]",
        "\ud800@example.com",
        "a" * 65 + "@example.com",
        "ann@" + "x" * 50_000,
        "ann@example.com;eve@example.com",
    ],
)
def test_register_refuses_malformed_emails(client: Client, app: App, email: str) -> None:
    answer = register(client, email)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "email"
    recovery.run_mail_step(app)
    assert sent(app, "Your API key") == sent(app, "Verify your email address") == []


@pytest.mark.parametrize(
    "email", ["a@b.c", "ann+tag@example.com", "o'neil@example.com", "ann@xn--bcher-kva.example", "ann@localhost"]
)
def test_ordinary_emails_register(client: Client, app: App, email: str) -> None:
    assert register(client, email).status == 200
    assert sent(app, "Verify your email address")[0]["To"] == email


# ---- SPEC's table: verify_email=false


def test_the_verification_link_enables_login(client: Client) -> None:
    register(client)
    assert verify(client).status == 200
    opened = login(client)
    assert opened.status == 200
    assert opened.json["user"]["verify_email"] is True


def test_following_the_verification_link_twice_is_fine(client: Client) -> None:
    register(client)
    assert [verify(client).status, verify(client).status] == [200, 200]


def test_the_verification_link_redirects_browsers(client: Client, app: App) -> None:
    register(client)
    token = token_in(sent(app, "Verify your email address")[0])
    accept = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Host": "evil.example"}
    answer = client.get(AUTH + "verifyEmail", query={"token": token}, headers=accept)
    assert (answer.status, answer.headers["location"]) == (302, f"https://www.example.com/email-verified?token={token}")
    assert login(client).status == 200
    assert b"<h1>Email verified</h1>" in client.get("/email-verified", query={"token": token}).body


def test_the_verified_page_needs_a_followed_link(client: Client, app: App) -> None:
    register(client)
    token = token_in(sent(app, "Verify your email address")[0])
    for token_in_url, status in (("", 200), (token, 400), ("v1.none", 400)):
        page = client.get("/email-verified", query={"token": token_in_url} if token_in_url else {})
        assert (page.status, b"Email verified" in page.body) == (status, False)


@pytest.mark.parametrize("password", [PASSWORD, "wrong password"])
def test_unverified_login_is_400_whatever_the_password(client: Client, password: str) -> None:
    register(client)
    assert login(client, password=password).verdict == UNVERIFIED


def test_unverified_login_sends_no_mail_while_a_link_is_valid(client: Client, app: App, clock: FixedClock) -> None:
    register(client)
    clock.advance(24 * HOUR - 1)
    login(client)
    recovery.run_mail_step(app)
    assert len(sent(app, "Verify your email address")) == 1


@pytest.mark.parametrize("password", [PASSWORD, "wrong password"])
def test_unverified_login_sends_a_mail_after_the_link_expired(
    client: Client, app: App, clock: FixedClock, password: str
) -> None:
    register(client)
    clock.advance(24 * HOUR)
    assert verify(client).verdict == INVALID_TOKEN
    assert login(client, password=password).verdict == UNVERIFIED
    assert login(client, password=password).verdict == UNVERIFIED
    recovery.run_mail_step(app)
    assert len(sent(app, "Verify your email address")) == 2
    assert verify(client).status == 200
    assert login(client).status == 200


@run_each_case("token", ["x", "v1.", "v1." + "A" * 43, "r1." + "A" * 43, "v99999999999999999999." + "A" * 43])
def test_an_invalid_verification_link_is_400(client: Client, token: str) -> None:
    register(client)
    assert client.get(AUTH + "verifyEmail", query={"token": token}).verdict == INVALID_TOKEN


def test_resend_does_not_reveal_accounts(client: Client, app: App) -> None:
    sign_up(client, "bob@example.com")
    register(client)
    recovery.run_mail_step(app)
    for email in ("ann@example.com", "bob@example.com", "eve@example.com", "no email at all"):
        answer = resend(client, email)
        assert (answer.status, answer.json) == (200, RESEND_MESSAGE)
    recovery.run_mail_step(app)
    assert [message["To"] for message in sent(app, "Verify your email address")] == [
        "bob@example.com",
        "ann@example.com",
        "ann@example.com",
    ]
    assert verify(client).status == 200


def test_resend_sends_at_most_three_mails_an_hour(client: Client, app: App, clock: FixedClock) -> None:
    register(client)
    spellings = ["ann@example.com", "ANN@example.com", " ann@example.com", "Ann@Example.com", "ann@example.com "]
    for number, spelling in enumerate(spellings):
        answer = resend(client, spelling, address=f"192.0.2.{number}")
        assert (answer.status, answer.json) == (200, RESEND_MESSAGE)
    recovery.run_mail_step(app)
    assert len(sent(app, "Verify your email address")) == 1 + 3
    assert verify(client).status == 200


def test_resend_sends_mails_again_after_an_hour(client: Client, app: App, clock: FixedClock) -> None:
    register(client)
    for number in range(5):
        resend(client, address=f"192.0.2.{number}")
    clock.advance(HOUR)
    resend(client, address="192.0.2.9")
    recovery.run_mail_step(app)
    assert len(sent(app, "Verify your email address")) == 1 + 4


def test_the_sixth_resend_of_an_address_is_429(client: Client) -> None:
    assert [resend(client, f"a{number}@example.com").status for number in range(6)] == [200] * 5 + [429]
    refused = resend(client)
    assert refused.verdict == (429, "RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.")
    assert refused.headers["retry-after"] == "720"
    assert resend(client, address="192.0.2.2").status == 200


# ---- SPEC's table: verify_email=true and login


def test_login_returns_a_session_and_the_user(client: Client) -> None:
    sign_up(client)
    answer = login(client, " ANN@example.com ")
    assert answer.status == 200
    assert answer.json["user"]["email"] == "ann@example.com"
    assert answer.json["user"]["is_online"] is True
    claims = json.loads(base64.urlsafe_b64decode(answer.json["token"].split(".")[1] + "=="))
    assert claims["sub"] == answer.json["user"]["uuid"]
    assert isinstance(claims["session_id"], str)
    assert claims["exp"] - claims["iat"] == HOUR


def test_no_response_contains_the_password(client: Client) -> None:
    answers = [register(client), verify(client), login(client), forget(client)]
    answers.append(profile(client, answers[2].json["token"]))
    for answer in answers:
        assert PASSWORD.encode() not in answer.body
        assert b"argon2" not in answer.body
        assert b"password" not in answer.body or answer is answers[3]


def test_a_third_login_ends_the_oldest_session(client: Client) -> None:
    sign_up(client)
    first, second, third = session_of(client), session_of(client), session_of(client)
    assert [profile(client, token).status for token in (first, second, third)] == [401, 200, 200]
    session_of(client)
    assert [profile(client, token).status for token in (first, second, third)] == [401, 401, 200]


def test_a_session_that_ended_does_not_count(client: Client) -> None:
    sign_up(client)
    first, second = session_of(client), session_of(client)
    client.call("POST", AUTH + "logout", session=second)
    third = session_of(client)
    assert [profile(client, token).status for token in (first, second, third)] == [200, 401, 200]


def test_the_device_limit_is_a_setting(make_app: Callable[..., App]) -> None:
    client = Client(make_app(**ACCOUNTS, device_limit=1))
    sign_up(client)
    first, second = session_of(client), session_of(client)
    assert [profile(client, token).status for token in (first, second)] == [401, 200]


def test_logins_do_not_end_sessions_of_other_users(client: Client) -> None:
    sign_up(client)
    sign_up(client, "bob@example.com")
    anns = session_of(client)
    for _ in range(3):
        session_of(client, "bob@example.com")
    assert profile(client, anns).status == 200


def test_a_session_expires_after_an_hour(client: Client, clock: FixedClock) -> None:
    sign_up(client)
    token = session_of(client)
    clock.advance(HOUR - 1)
    assert profile(client, token).status == 200
    clock.advance(1)
    assert profile(client, token).status == 401


def test_the_session_lifetime_is_a_setting(make_app: Callable[..., App], clock: FixedClock) -> None:
    client = Client(make_app(**ACCOUNTS, session_lifetime=10))
    sign_up(client)
    token = session_of(client)
    clock.advance(10)
    assert profile(client, token).status == 401


def test_logout_ends_this_session_only(client: Client) -> None:
    sign_up(client)
    first, second = session_of(client), session_of(client)
    client.call("POST", AUTH + "logout", session=first)
    assert [profile(client, first).status, profile(client, second).status] == [401, 200]
    assert client.call("POST", AUTH + "logout", session=first).status == 401


# ---- SPEC's table: login failures


def test_lockouts_grow_with_each_wrong_password(client: Client, clock: FixedClock) -> None:
    sign_up(client)
    assert fail(client, 4) == [401] * 4
    for failures, seconds in ((5, 60), (10, 300), (20, 3600), (21, 3600), (22, 3600)):
        locking = login(client, password="wrong password")
        assert (failures, locking.verdict) == (failures, LOCKED)
        assert locking.headers["retry-after"] == str(seconds)
        even_right = login(client)
        assert even_right.verdict == LOCKED
        assert even_right.headers["retry-after"] == str(seconds)
        clock.advance(seconds - 1)
        assert login(client).headers["retry-after"] == "1"
        clock.advance(1)
        between = {5: 4, 10: 9}.get(failures, 0)
        assert fail(client, between) == [401] * between


def test_a_login_after_the_lock_succeeds_and_resets_the_counter(client: Client, clock: FixedClock) -> None:
    sign_up(client)
    assert fail(client, 5)[-1] == 429
    clock.advance(LOCK_SECONDS_BY_FAILURES[5])
    assert login(client).status == 200
    assert fail(client, 5) == [401] * 4 + [429]
    assert login(client).headers["retry-after"] == str(LOCK_SECONDS_BY_FAILURES[5])


def test_a_success_after_four_failures_resets_the_counter(client: Client) -> None:
    sign_up(client)
    fail(client, 4)
    assert login(client).status == 200
    assert fail(client, 5) == [401] * 4 + [429]


def test_unknown_and_known_emails_are_locked_alike(client: Client, clock: FixedClock) -> None:
    sign_up(client)
    for number, wait in enumerate([0] * 5 + [60] + [0] * 4 + [300] + [0] * 9 + [3600, 3600]):
        clock.advance(wait)
        known_answer, unknown_answer = (
            login(client, email, "wrong password") for email in ("ann@example.com", "x@y.z")
        )
        assert (number, known_answer.verdict) == (number, unknown_answer.verdict)
        assert known_answer.headers.get("retry-after") == unknown_answer.headers.get("retry-after")
        assert set(known_answer.headers) == set(unknown_answer.headers)


def test_every_spelling_of_an_email_shares_one_counter(client: Client) -> None:
    sign_up(client)
    spellings = ["ann@example.com", "ANN@example.com", " ann@example.com", "Ann@Example.Com\t"]
    assert [login(client, email, "wrong").status for email in spellings] == [401] * 4
    assert login(client, password="wrong").status == 429


def test_the_answers_for_unknown_and_wrong_are_identical(client: Client) -> None:
    sign_up(client)
    bodies = []
    for email in ("ann@example.com", "eve@example.com"):
        answer = login(client, email, "wrong password")
        assert answer.verdict == WRONG
        bodies.append({**answer.json, "request_id": None})
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("password", ["x", "x" * 1025, "x" * 10_000, "nul\0nul"])
def test_login_accepts_any_password_text(client: Client, password: str) -> None:
    sign_up(client)
    assert login(client, password=password).verdict == WRONG


def test_unverified_accounts_are_locked_too(client: Client) -> None:
    register(client)
    assert fail(client, 6) == [400] * 4 + [429] * 2


def test_a_user_without_a_password_cannot_log_in(client: Client, app: App) -> None:
    users.create(app, "ann@example.com", "free", NOW)
    assert login(client).verdict == WRONG


def test_a_locked_account_refuses_all_credentials(client: Client, app: App) -> None:
    sign_up(client)
    opened = login(client)
    key = opened.json["user"]["api_key"]
    users.set_locked(app, "ANN@example.com", True, NOW)
    assert login(client).verdict == WRONG
    assert profile(client, opened.json["token"]).status == 401
    assert client.get("/api/v1/xbrl/companies/X/statements", headers={"X-API-Key": key}).status == 401
    users.set_locked(app, "ann@example.com", False, NOW)
    assert profile(client, opened.json["token"]).status == 401
    assert login(client).status == 200
    assert client.get("/api/v1/xbrl/companies/X/statements", headers={"X-API-Key": key}).status == 404


def test_unlocking_an_account_ends_its_lockout_too(client: Client, app: App) -> None:
    sign_up(client)
    for _ in range(5):
        login(client, password="wrong" * 3)
    assert login(client).status == 429
    users.set_locked(app, " ANN@example.com", False, NOW)
    assert login(client).status == 200
    with app.accounts.read() as tx:
        assert tx.list_rows("login_failures", since="") == []


# ---- SPEC's table: reset tokens


def test_forgetpassword_sends_one_mail_and_reuses_the_token(client: Client, app: App, clock: FixedClock) -> None:
    sign_up(client)
    assert (forget(client).status, forget(client).json) == (200, FORGET_MESSAGE)
    recovery.run_mail_step(app)
    clock.advance(24 * HOUR - 1)
    forget(client)
    recovery.run_mail_step(app)
    (message,) = sent(app, "Set a new password")
    assert "https://api.example.com/api/v1/auth/verifyPasswordLink?token=r1." in text_of(message)
    assert set_password(client, token_in(message)).status == 200


def test_forgetpassword_does_not_reveal_accounts(client: Client, app: App) -> None:
    sign_up(client)
    answers = [
        forget(client),
        forget(client),
        forget(client, "eve@example.com"),
        forget(client, "\0"),
        forget(client, "x" * 9_999),
    ]
    break_mail(app)
    recovery.run_mail_step(app)
    answers.append(forget(client))
    for answer in answers:
        assert (answer.status, answer.json) == (200, FORGET_MESSAGE)
        assert set(answer.headers) == set(answers[0].headers)


def test_a_reset_token_is_used_once(client: Client) -> None:
    sign_up(client)
    token = reset_token(client)
    answer = set_password(client, token)
    assert (answer.status, answer.json) == (200, {"message": "Password updated successfully."})
    assert set_password(client, token, "yet another horse").verdict == INVALID_TOKEN
    assert login(client).verdict == WRONG
    assert login(client, password="another horse battery").status == 200


def test_a_reset_token_lives_24_hours(client: Client, clock: FixedClock) -> None:
    sign_up(client)
    token = reset_token(client)
    clock.advance(24 * HOUR)
    assert set_password(client, token).verdict == INVALID_TOKEN
    assert set_password(client, reset_token(client)).status == 200


def test_a_refused_password_does_not_use_up_the_token(client: Client) -> None:
    sign_up(client)
    token = reset_token(client)
    answer = set_password(client, token, "short")
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "newpassword"
    assert set_password(client, token).status == 200


def test_a_password_change_ends_every_session_and_keeps_the_key(client: Client) -> None:
    sign_up(client)
    opened = login(client)
    second = session_of(client)
    set_password(client, reset_token(client))
    assert [profile(client, token).status for token in (opened.json["token"], second)] == [401, 401]
    key = {"X-API-Key": opened.json["user"]["api_key"]}
    assert client.get("/api/v1/xbrl/companies/X/statements", headers=key).status == 404


def test_a_password_change_clears_the_lockout(client: Client) -> None:
    sign_up(client)
    assert fail(client, 5)[-1] == 429
    set_password(client, reset_token(client))
    assert login(client, password="another horse battery").status == 200


def test_a_reset_verifies_the_email(client: Client) -> None:
    register(client)
    set_password(client, reset_token(client))
    assert login(client, password="another horse battery").status == 200


def test_following_the_reset_link_does_not_use_up_the_token(client: Client) -> None:
    sign_up(client)
    token = reset_token(client)
    for _ in range(2):
        answer = client.get(AUTH + "verifyPasswordLink", query={"token": token})
        assert answer.status == 302
        assert answer.headers["location"] == f"https://www.example.com/reset-password?token={token}"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert set_password(client, token).status == 200


@run_each_case(
    "token, token_in_url",
    [
        ("https://evil.example", "https%3A%2F%2Fevil.example"),
        ("//evil.example", "%2F%2Fevil.example"),
        ("x\r\nSet-Cookie: a=b", "x%0D%0ASet-Cookie%3A+a%3Db"),
        ("&token=y#z", "%26token%3Dy%23z"),
        ('"><script>', "%22%3E%3Cscript%3E"),
        ("é", "%C3%A9"),
        ("x" * 1000, "x" * 1000),
    ],
)
def test_the_reset_link_redirects_to_the_page_with_any_token(client: Client, token: str, token_in_url: str) -> None:
    for host in ("evil.example", "api.example.com\r\nX: y", ""):
        headers = {"Host": host, "X-Forwarded-Host": "evil.example", "Referer": "https://evil.example"}
        answer = client.get(AUTH + "verifyPasswordLink", query={"token": token}, headers=headers)
        assert answer.status == 302
        assert answer.headers["location"] == f"https://www.example.com/reset-password?token={token_in_url}"


@run_each_case("query", ["", "token=", "token=+", "token=%00", "token=a&token=b", "token=" + "x" * 5000])
def test_the_reset_link_redirects_without_a_readable_token(client: Client, query: str) -> None:
    answer = client.get(f"{AUTH}verifyPasswordLink?{query}")
    assert answer.status == 302
    assert answer.headers["location"].startswith("https://www.example.com/reset-password")


def test_the_reset_page_sets_a_password(client: Client) -> None:
    sign_up(client)
    token = reset_token(client)
    page = client.get("/reset-password", query={"token": token})
    assert page.status == 200
    assert f'value="{token}"'.encode() in page.body
    form = f"token={token}&newpassword=another+horse+battery".encode()
    kind = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}
    short = client.call("POST", "/reset-password", data=f"token={token}&newpassword=x".encode(), environ=kind)
    assert short.status == 400
    assert b"<form" in short.body
    assert client.call("POST", "/reset-password", data=form, environ=kind).status == 200
    assert client.call("POST", "/reset-password", data=form, environ=kind).status == 400
    assert login(client, password="another horse battery").status == 200


def test_the_reset_page_escapes_the_token(client: Client) -> None:
    page = client.get("/reset-password", query={"token": "\"><script>alert(1)</script>'"})
    assert b"<script>" not in page.body


# ---- tokens that are not what they claim


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt_of(header: object, payload: object, key: bytes | None) -> str:
    text = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(payload).encode())}"
    return f"{text}.{b64(hmac.digest(key, text.encode(), hashlib.sha256)) if key is not None else ''}"


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return claims


def forgeries(app: App, genuine: str, typ: str) -> dict[str, str]:
    header, payload, signature = genuine.split(".")
    claims = claims_of(genuine)
    key = credentials._derive(app.secrets[0], "token", typ)
    hs256 = {"alg": "HS256", "typ": "JWT"}
    moment = int(NOW.timestamp())
    return {
        "alg none, no signature": jwt_of({"alg": "none", "typ": "JWT"}, claims, None),
        "alg None": jwt_of({"alg": "None"}, claims, None),
        "alg none, signed": jwt_of({"alg": "none"}, claims, key),
        "alg HS512 in name": jwt_of({"alg": "HS512"}, claims, key),
        "alg RS256": jwt_of({"alg": "RS256"}, claims, key),
        "alg a list": jwt_of({"alg": ["HS256"]}, claims, key),
        "no alg": jwt_of({}, claims, key),
        "header a list": jwt_of([], claims, key),
        "empty key": jwt_of(hs256, claims, b""),
        "foreign key": jwt_of(hs256, claims, b"\x01" * 32),
        "the master secret itself": jwt_of(hs256, claims, app.secrets[0]),
        "kid of a file": jwt_of({**hs256, "kid": "/dev/null"}, claims, b""),
        "jwk in the header": jwt_of({**hs256, "jwk": {"kty": "oct", "k": "AAAA"}}, claims, b"\0\0\0"),
        "crit": jwt_of({**hs256, "crit": ["x"], "x": 1}, claims, key),
        "unencoded payload": jwt_of({**hs256, "b64": False, "crit": ["b64"]}, claims, key),
        "payload altered": f"{header}.{b64(json.dumps({**claims, 'sub': 'x', 'code_id': 2}).encode())}.{signature}",
        "signature altered": f"{header}.{payload}.{('B' if signature[0] == 'A' else 'A') + signature[1:]}",
        "signature cut": genuine[:-1],
        "signature padded": genuine + "=",
        "signature twice": genuine + "." + signature,
        "no signature": f"{header}.{payload}.",
        "two parts": f"{header}.{payload}",
        "trailing newline": genuine + "\n.",
        "other typ": jwt_of(hs256, {**claims, "typ": "session" if typ == "invite" else "invite"}, key),
        "no typ": jwt_of(hs256, {name: value for name, value in claims.items() if name != "typ"}, key),
        "other aud": jwt_of(hs256, {**claims, "aud": "other"}, key),
        "aud a list": jwt_of(hs256, {**claims, "aud": ["finapi"]}, key),
        "expired": jwt_of(hs256, {**claims, "iat": moment - 7200, "exp": moment}, key),
        "from the future": jwt_of(hs256, {**claims, "iat": moment + 61}, key),
        "exp a text": jwt_of(hs256, {**claims, "exp": "99999999999"}, key),
        "exp infinite": jwt_of(hs256, {**claims, "exp": float("inf")}, key),
        "exp true": jwt_of(hs256, {**claims, "exp": True}, key),
        "no exp": jwt_of(hs256, {name: value for name, value in claims.items() if name != "exp"}, key),
        "sub a number": jwt_of(hs256, {**claims, "sub": 1, "code_id": "1"}, key),
        "session unknown": jwt_of(hs256, {**claims, "session_id": "x" * 32, "code_id": 99}, key),
        "payload a list": jwt_of(hs256, [], key),
        "payload null": jwt_of(hs256, None, key),
        "huge": jwt_of({**hs256, "x": "y" * 40_000}, claims, key),
        "nested deep": f"{header}.{b64(b'[' * 1500 + b']' * 1500)}.{signature}",
        "not base64": "....",
        "empty": "",
        "words": "not a token",
        "latin": "ÿ.ÿ.ÿ",
    }


def test_a_forged_session_is_401(client: Client, app: App) -> None:
    sign_up(client)
    genuine = session_of(client)
    forged_tokens = forgeries(app, genuine, "session")
    assert len(forged_tokens) == 43
    verdicts = {name: profile(client, token).verdict[:2] for name, token in forged_tokens.items()}
    assert verdicts == dict.fromkeys(forged_tokens, (401, "UNAUTHORIZED"))
    assert profile(client, genuine).status == 200


def test_a_forged_invite_token_is_400(client: Client, app: App) -> None:
    genuine = invite_token(client)
    forged_tokens = forgeries(app, genuine, "invite")
    verdicts = {}
    for number, (name, token) in enumerate(forged_tokens.items()):
        body = {"email": f"ann{number}@example.com", "password": PASSWORD, "invite_token": token}
        verdicts[name] = client.post(AUTH + "register", body).verdict[:2]
    # Two of them are refused by the schema of the body.
    refused_by_schema = dict.fromkeys(("empty", "huge"), (400, "INVALID_PARAM"))
    assert verdicts == dict.fromkeys(forged_tokens, (400, "INVALID_INVITE")) | refused_by_schema
    body = {"email": "ann@example.com", "password": PASSWORD, "invite_token": genuine}
    assert client.post(AUTH + "register", body).status == 200


def test_session_and_invite_tokens_are_not_interchangeable(client: Client) -> None:
    sign_up(client)
    assert profile(client, invite_token(client)).status == 401
    body = {"email": "bob@example.com", "password": PASSWORD, "invite_token": session_of(client)}
    assert client.post(AUTH + "register", body).verdict == INVALID_INVITE


def test_verification_and_reset_tokens_are_not_interchangeable(client: Client, app: App) -> None:
    register(client)
    verification = token_in(sent(app, "Verify your email address")[0])
    reset = reset_token(client)
    assert set_password(client, verification).verdict == INVALID_TOKEN
    assert set_password(client, "r" + verification[1:]).verdict == INVALID_TOKEN
    assert client.get(AUTH + "verifyEmail", query={"token": reset}).verdict == INVALID_TOKEN
    assert client.get(AUTH + "verifyEmail", query={"token": "v" + reset[1:]}).verdict == INVALID_TOKEN
    assert login(client).verdict == UNVERIFIED


def test_a_link_works_only_for_its_own_user(client: Client, app: App) -> None:
    register(client)
    register(client, "bob@example.com")
    anns, bobs = (token_in(message) for message in sent(app, "Verify your email address"))
    mixed = bobs.partition(".")[0] + "." + anns.partition(".")[2]
    assert client.get(AUTH + "verifyEmail", query={"token": mixed}).verdict == INVALID_TOKEN


@run_each_case("header", ["Bearer", "Bearer ", "Basic YTpi", "bearer  x y", "Bearer " + "A" * 100_000, "Token x", "ÿ"])
def test_an_invalid_authorization_header_is_401(client: Client, header: str) -> None:
    assert client.get(USER, headers={"Authorization": header}).verdict[:2] == (401, "UNAUTHORIZED")


def test_keys_and_sessions_open_only_their_own_routes(client: Client) -> None:
    sign_up(client)
    opened = login(client).json
    data = "/api/v1/xbrl/companies/X/statements"
    assert client.get(data, session=opened["token"]).verdict[:2] == (401, "UNAUTHORIZED")
    assert client.get(data, headers={"X-API-Key": opened["token"]}).status == 401
    key = opened["user"]["api_key"]
    assert client.get(USER, headers={"X-API-Key": key}).verdict[:2] == (401, "UNAUTHORIZED")
    assert client.get(USER, query={"apiKey": key}).status == 401
    assert client.get(USER, session=key).status == 401


# ---- bodies that are not what they should be

BODIES = {
    "register": {"email": "ann@example.com", "password": PASSWORD, "invite_token": "x.y.z"},
    "login": {"email": "ann@example.com", "password": PASSWORD},
    "forgetpassword": {"email": "ann@example.com"},
    "resend-verification": {"email": "ann@example.com"},
    "redeem-invite": {"invite_code": "AAAA-BBBB-CCCC-DDDD"},
    "newpassword": {"token": "r1.x", "newpassword": PASSWORD},
}
NOT_JSON = {
    "nothing": b"",
    "not json": b"{",
    "an array": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "a number": b"1",
    "a repeated key": b'{"email":"a@b.c","email":"d@e.f"}',
    "a repeated key inside": b'{"x":{"a":1,"a":2}}',
    "NaN": b'{"email":NaN}',
    "Infinity": b'{"x":-Infinity}',
    "nested 10,000 deep": b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "objects 10,000 deep": b'{"x":' * 10_000 + b"1" + b"}" * 10_000,
    "opened 60,000 times": b"[" * 60_000,
    "not UTF-8": b'{"email":"\xff"}',
    "a huge integer": b'{"x":' + b"9" * 10_000 + b"}",
    "words after it": b"{} {}",
    "single quotes": b"{'email': 'a@b.c'}",
    "a comma too many": b'{"email":"a@b.c",}',
    "NUL": b"\0",
}


ADDRESSES = itertools.cycle(f"192.0.2.{number}" for number in range(1, 255))


def send(client: Client, name: str, data: bytes, kind: str = "application/json") -> Answer:
    """Send a body to a call. Each request has an address of its own, so that no limit of an address is reached."""
    method = "PUT" if name == "newpassword" else "POST"
    return client.call(method, AUTH + name, data=data, environ={"CONTENT_TYPE": kind}, address=next(ADDRESSES))


@run_each_case("name", BODIES)
@run_each_case("body_text", NOT_JSON)
def test_a_body_that_is_not_a_json_object_is_400(client: Client, name: str, body_text: str) -> None:
    assert send(client, name, NOT_JSON[body_text]).verdict[:2] == (400, "BAD_REQUEST")


@run_each_case("name", BODIES)
def test_a_body_of_another_media_type_is_415(client: Client, name: str) -> None:
    data = json.dumps(BODIES[name]).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert send(client, name, data, kind).verdict[:2] == (415, "UNSUPPORTED_MEDIA_TYPE")


WRONG_VALUES: list[object] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    [],
    ["ann@example.com"],
    {},
    {"$ne": ""},
    "",
    "\ud800",
    "x\udfffx",
    "x" * 50_000,
]


@run_each_case("name, field", [(name, field) for name, body in BODIES.items() for field in body])
@run_each_case("value", WRONG_VALUES)
def test_a_field_of_a_wrong_type_is_named(client: Client, name: str, field: str, value: object) -> None:
    answer = send(client, name, json.dumps({**BODIES[name], field: value}).encode())
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == field


@run_each_case("name, field", [(name, field) for name, body in BODIES.items() for field in body])
def test_a_missing_field_is_named(client: Client, name: str, field: str) -> None:
    body = {key: value for key, value in BODIES[name].items() if key != field}
    answer = send(client, name, json.dumps(body).encode())
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == field


@run_each_case("name, field", [(name, field) for name, body in BODIES.items() for field in body])
@run_each_case(
    "value",
    [
        "\0",
        "a\0b@example.com",
        "\r\nBcc: eve@example.com",
        "' OR '1'='1",
        "%s%n{0}",
        "\u202e",
        "\U0010ffff",
        "x" * 9_999,
    ],
)
def test_strange_texts_are_never_a_500(client: Client, name: str, field: str, value: str) -> None:
    assert send(client, name, json.dumps({**BODIES[name], field: value}).encode()).status < 500


def test_unknown_fields_are_ignored(client: Client) -> None:
    sign_up(client)
    body = {"email": "ann@example.com", "password": PASSWORD, "redirect": "https://evil.example", "x": [None]}
    assert client.post(AUTH + "login", body).status == 200
    assert client.post(AUTH + "forgetpassword", {**body, "redirect_url": "https://evil.example"}).status == 200
    recovery.run_mail_step(client.app)
    assert "evil" not in text_of(sent(client.app, "Set a new password")[0])


def test_register_cannot_create_an_admin(client: Client) -> None:
    body = {
        "email": "ann@example.com",
        "password": PASSWORD,
        "invite_token": invite_token(client),
        "usertype": "admin",
        "verify_email": True,
        "plan": "pro",
        "credit_balance": 1000,
    }
    assert client.post(AUTH + "register", body).status == 200
    assert login(client).verdict == UNVERIFIED
    verify(client)
    user = login(client).json["user"]
    assert (user["usertype"], user["credit_balance"], user["Userplan"]["plan"]) == ("user", 0, "free")


@pytest.mark.parametrize("host", ["evil.example", "evil.example\r\nX: y"])
def test_links_in_mails_ignore_request_headers(client: Client, app: App, host: str) -> None:
    headers = {"Host": host, "X-Forwarded-Host": host, "Origin": "https://evil.example"}
    register(client, headers=headers)
    forget(client, headers=headers)
    resend(client, headers=headers)
    recovery.run_mail_step(app)
    mails = app.mail_settings.transport.messages()  # type: ignore[attr-defined]
    assert len(mails) == 4
    assert all(b"evil" not in message.as_bytes() for message in mails)


@run_each_case("name", BODIES)
def test_auth_endpoints_refuse_get_with_405(client: Client, name: str) -> None:
    answer = client.get(AUTH + name)
    assert answer.verdict[:2] == (405, "METHOD_NOT_ALLOWED")


def test_responses_with_a_token_are_not_cached(client: Client) -> None:
    sign_up(client)
    for answer in (login(client), profile(client, session_of(client)), forget(client)):
        assert answer.headers["cache-control"] == "no-store"


def test_a_body_of_many_small_values_is_refused_unparsed(client: Client) -> None:
    """Each takes eighty bytes of memory for three on the wire."""
    for member in (b"[],", b"{},", b"1,"):
        data = b'{"x":[' + member * 20_000 + b"0]}"
        answer = client.call("POST", AUTH + "login", data=data, environ={"CONTENT_TYPE": "application/json"})
        assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
        assert "20000 values" in answer.json["message"]


def test_a_body_of_megabytes_is_refused_unparsed(client: Client) -> None:
    """Brackets take a hundred times their size to parse, before anybody has shown a credential."""
    answer = client.call(
        "POST", AUTH + "login", data=b'{"email":[' + b"[]," * 100_000, environ={"CONTENT_TYPE": "application/json"}
    )
    assert (answer.status, answer.json["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_may_have_the_size_in_the_policy(client: Client) -> None:
    """64 KiB for anybody, 1 MiB where a credential is asked for first; a key in the body is not one yet."""
    limits = client.get("/api/v1/policy").json["data"]["request_limits"]
    most, public = limits["max_json_body_bytes"], limits["max_json_body_bytes_without_credential"]
    assert (most, public) == (1_048_576, 65_536)

    def status(path: str, size: int, **options: Any) -> int:
        members = b'"cusips":["037833100"]' if path.endswith("batch") else b'"email":"a","password":"b"'
        body = b"{" + members + b',"_":"'
        data = body + b" " * (size - len(body) - 2) + b'"}'
        return client.call("POST", path, data=data, environ={"CONTENT_TYPE": "application/json"}, **options).status

    key = {"X-API-Key": users.create(client.app, "bob@example.com", "pro", NOW).api_key}
    assert [status(AUTH + "login", size) for size in (public, public + 1)] == [401, 413]
    assert [status("/api/v1/cusip/batch", size, headers=key) for size in (most, most + 1)] == [200, 413]
    assert [status("/api/v1/cusip/batch", size) for size in (most, most + 1)] == [401, 401]
    document = client.get("/openapi.json").json["paths"]
    bodies = [document[path]["post"]["requestBody"]["description"] for path in (AUTH + "login", "/api/v1/cusip/batch")]
    assert bodies == ["A JSON object of at most 65,536 bytes.", "A JSON object of at most 1,048,576 bytes."]


def test_a_key_in_the_body_is_read_only_from_small_bodies(client: Client) -> None:
    path = next(route.path for route in ROUTES if route.key_in_body)
    key = users.create(client.app, "bob@example.com", "pro", NOW).api_key
    for size, status in ((60_000, 200), (70_000, 401)):
        body = {"api_key": key, "query": "SELECT symbol FROM price LIMIT 1", "_": "x" * size}
        assert client.post(path, body).status == status


def test_a_body_in_another_encoding_than_utf8_is_400(client: Client) -> None:
    body = json.dumps({"email": "ann@example.com", "password": PASSWORD})
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        answer = client.call(
            "POST", AUTH + "login", data=body.encode(encoding), environ={"CONTENT_TYPE": "application/json"}
        )
        assert answer.verdict[:2] == (400, "BAD_REQUEST")
