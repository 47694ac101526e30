"""Changes of the password and of the email by the owner of an account."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from finapi.accounts import audit, email_changes, recovery, rotation, sessions, users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.store.db import Row
from tests.client import AUTH, PASSWORD, Client, login, register, sent, session_of, sign_up, token_in
from tests.conftest import ACCOUNTS
from tests.support.raw_sql import run_sql

USER = "/api/v1/user/"
EMAIL, NEW_EMAIL, NEW_PASSWORD = "ann@example.com", "ann@example.org", "a much better one"
WRONG_PASSWORD = (401, "INVALID_CREDENTIALS", "Invalid email or password")
INVALID_LINK = "The link is invalid or has expired."


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


@pytest.fixture
def session(client: Client) -> str:
    """A session of ann@example.com."""
    sign_up(client)
    return session_of(client)


def change_password(client: Client, session: str, password: str = PASSWORD, new: str = NEW_PASSWORD) -> tuple[int, str]:
    """Return the status, and the token of the new session or "" after a refusal."""
    answer = client.put(USER + "password", {"password": password, "newpassword": new}, session=session)
    return answer.status, answer.json.get("token", "")


def request_change(client: Client, session: str, email: str = NEW_EMAIL, password: str = PASSWORD) -> int:
    return client.post(USER + "email", {"email": email, "password": password}, session=session).status


def get_link_token(app: App, email: str = NEW_EMAIL) -> str:
    """Return the token of the last link that was mailed to a new address."""
    recovery.run_mail_step(app)
    return token_in(sent(app, "Confirm your new email address", email)[-1])


def confirm(app: App, token: str) -> str:
    """Return the new email, or the code of the refusal."""
    try:
        return email_changes.confirm_change(app, token, app.clock.now())
    except ApiError as error:
        return error.code


def list_emails(app: App) -> list[str]:
    return [row[0] for row in run_sql(app.db, "SELECT email FROM users ORDER BY id")]


# ---- the password


def test_a_new_password_opens_one_session_and_ends_the_others(app: App, client: Client, session: str) -> None:
    other = session_of(client)
    status, token = change_password(client, session)
    assert status == 200
    assert [client.get(USER, session=each).status for each in (session, other, token)] == [401, 401, 200]
    assert [login(client, password=password).status for password in (PASSWORD, NEW_PASSWORD)] == [401, 200]
    recovery.run_mail_step(app)
    assert "ann@example.com" in str(sent(app, "Your password has changed", EMAIL)[0])


def test_a_password_change_needs_a_session_and_the_old_password(app: App, client: Client, session: str) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    body = {"password": PASSWORD, "newpassword": NEW_PASSWORD}
    assert client.put(USER + "password", body, headers={"X-API-Key": key}).status == 401
    assert client.put(USER + "password", body).status == 401
    answers = [client.put(USER + "password", {**body, "password": "wrong"}, session=session) for _ in range(5)]
    assert answers[0].verdict == WRONG_PASSWORD
    # The wrong passwords count towards the lockout of logins, which the right password does not open.
    assert [answer.status for answer in answers] == [401] * 4 + [429]
    assert (change_password(client, session)[0], login(client).status) == (429, 429)
    assert client.get(USER, session=session).status == 200


@pytest.mark.parametrize("new", ["short", PASSWORD, "x" * 1025, 12345678, None])
def test_a_new_password_that_is_refused_changes_nothing(client: Client, session: str, new: object) -> None:
    answer = client.put(USER + "password", {"password": PASSWORD, "newpassword": new}, session=session)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert (login(client).status, client.get(USER, session=session).status) == (200, 200)


def test_of_two_password_changes_at_once_one_succeeds(client: Client, session: str) -> None:
    passwords = [f"{NEW_PASSWORD} {number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda new: change_password(client, session, new=new), passwords))
    assert sorted({status for status, _ in answers} - {200, 401, 429, 503}) == []
    (token,) = [token for status, token in answers if status == 200]
    assert client.get(USER, session=token).status == 200


def test_a_password_change_ends_links_that_were_mailed_before(app: App, client: Client, session: str) -> None:
    assert request_change(client, session) == 200
    email_token = get_link_token(app)
    client.post(AUTH + "forgetpassword", {"email": EMAIL})
    recovery.run_mail_step(app)
    reset_token = token_in(sent(app, "Set a new password", EMAIL)[-1])
    assert change_password(client, session)[0] == 200
    body = {"token": reset_token, "newpassword": "the thief's own one"}
    assert client.put(AUTH + "newpassword", body).status == 400
    assert confirm(app, email_token) == "INVALID_TOKEN"


# ---- the email


def test_an_email_change_needs_a_session_and_the_password(app: App, client: Client, session: str) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    body = {"email": NEW_EMAIL, "password": PASSWORD}
    assert client.post(USER + "email", body, headers={"X-API-Key": key}).status == 401
    assert client.post(USER + "email", {**body, "password": "wrong"}, session=session).verdict == WRONG_PASSWORD
    for wrong in ({"email": "x"}, {"email": EMAIL.upper()}, {"email": None}, {"email": "a@b\r\nBcc: c@d"}):
        assert client.post(USER + "email", {**body, **wrong}, session=session).status == 400
    recovery.run_mail_step(app)
    assert (sent(app, "Confirm your new email address"), list_emails(app)) == ([], [EMAIL])


def test_a_taken_address_gets_no_link_and_the_same_answer(app: App, client: Client, session: str) -> None:
    users.create(app, "bob@example.com", "free", app.clock.now())
    bodies = [
        client.post(USER + "email", {"email": email, "password": PASSWORD}, session=session).json
        for email in ("bob@example.com", NEW_EMAIL)
    ]
    assert bodies[0] == bodies[1]
    recovery.run_mail_step(app)
    assert [mail["To"] for mail in sent(app, "Confirm your new email address")] == [NEW_EMAIL]
    assert len(sent(app, "Your email address is about to change", EMAIL)) == 2


def test_an_address_that_was_taken_meanwhile_is_refused(app: App, client: Client, session: str) -> None:
    assert request_change(client, session) == 200
    token = get_link_token(app)
    users.create(app, NEW_EMAIL, "free", app.clock.now())
    assert confirm(app, token) == "CONFLICT"
    assert (list_emails(app), client.get(USER, session=session).status) == ([EMAIL, NEW_EMAIL], 200)


def test_a_confirmed_email_replaces_the_old_one_everywhere(app: App, client: Client, session: str) -> None:
    client.post(AUTH + "forgetpassword", {"email": EMAIL})
    recovery.run_mail_step(app)
    old_reset = token_in(sent(app, "Set a new password", EMAIL)[-1])
    assert request_change(client, session) == 200
    key = client.get(USER, session=session).json["user"]["api_key"]
    token = get_link_token(app)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: confirm(app, token), range(8)))
    assert sorted(results) == ["INVALID_TOKEN"] * 7 + [NEW_EMAIL]
    assert client.get(USER, session=session).status == 401
    assert Client(app, key).get("/api/v1/account/balance").status == 200
    assert [login(client, email=email).status for email in (EMAIL, NEW_EMAIL)] == [401, 200]
    # A reset link in the old mailbox no longer opens the account.
    assert client.put(AUTH + "newpassword", {"token": old_reset, "newpassword": NEW_PASSWORD}).status == 400
    recovery.run_mail_step(app)
    notice = sent(app, "Your email address has changed")
    assert [(mail["To"], NEW_EMAIL in str(mail)) for mail in notice] == [(EMAIL, True)]


def test_a_later_request_a_reset_or_a_lock_cancels_a_change(app: App, client: Client, session: str) -> None:
    now = app.clock.now()
    assert request_change(client, session) == 200
    first = get_link_token(app)
    assert request_change(client, session, "ann@example.net") == 200
    assert confirm(app, first) == "INVALID_TOKEN"
    second = get_link_token(app, "ann@example.net")
    users.set_locked(app, EMAIL, True, now)
    assert confirm(app, second) == "INVALID_TOKEN"
    users.set_locked(app, EMAIL, False, now)
    client.post(AUTH + "forgetpassword", {"email": EMAIL})
    recovery.run_mail_step(app)
    reset = {"token": token_in(sent(app, "Set a new password", EMAIL)[-1]), "newpassword": NEW_PASSWORD}
    assert client.put(AUTH + "newpassword", reset).status == 200
    assert confirm(app, second) == "INVALID_TOKEN"
    assert list_emails(app) == [EMAIL]


def test_a_link_expires_and_withdrawn_secrets_end_it(app: App, client: Client, session: str, clock: FixedClock) -> None:
    assert request_change(client, session) == 200
    token = get_link_token(app)
    with app.db.write() as tx:
        rotation._invalidate_links(tx, clock.now())
    assert confirm(app, token) == "INVALID_TOKEN"
    assert request_change(client, session) == 200
    token = get_link_token(app)
    clock.advance(seconds=app.config.verification_lifetime)
    assert confirm(app, token) == "INVALID_TOKEN"
    for wrong in ("", "x", token[:-1], "v" + token[1:], "r" + token[1:], f"e{2**63}.{token.partition('.')[2]}"):
        assert confirm(app, wrong) == "INVALID_TOKEN"


def test_requests_are_limited_by_account_and_by_address(app: App, client: Client, session: str) -> None:
    for _ in range(app.config.resend_per_hour_per_email):
        assert request_change(client, session, "victim@example.org") == 200
    refused = client.post(USER + "email", {"email": "a@example.org", "password": PASSWORD}, session=session)
    assert (refused.status, refused.json["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert int(refused.headers["retry-after"]) > 0
    # Another account cannot send more mails to the same address either, and is not told.
    sign_up(client, "bob@example.com")
    assert request_change(client, session_of(client, "bob@example.com"), "victim@example.org") == 200
    recovery.run_mail_step(app)
    # Only the link of the last request is still valid when the mails are sent.
    assert len(sent(app, "Confirm your new email address", "victim@example.org")) == 1


def test_a_deleted_account_leaves_no_request_and_gets_no_mail(app: App, client: Client, session: str) -> None:
    assert request_change(client, session) == 200
    assert client.call("DELETE", USER, json={"password": PASSWORD}, session=session).status == 200
    recovery.run_mail_step(app)
    assert sent(app, "Confirm your new email address") == sent(app, "Your email address is about to change") == []
    assert run_sql(app.db, "SELECT count(*) FROM email_changes").fetchone()[0] == 0


def test_requests_are_deleted_after_thirty_days(app: App, client: Client, session: str, clock: FixedClock) -> None:
    assert request_change(client, session) == 200
    clock.advance(seconds=timedelta(days=30, seconds=1).total_seconds())
    assert request_change(client, session_of(client)) == 200
    assert run_sql(app.db, "SELECT count(*) FROM email_changes").fetchone()[0] == 1


# ---- the reverted email


def get_revert_token(app: App, subject: str = "Your email address has changed", email: str = EMAIL) -> str:
    """Return the token of the last link that reverts a change, as it was mailed to an old address."""
    recovery.run_mail_step(app)
    return token_in(sent(app, subject, email)[-1])


def revert(app: App, token: str) -> str:
    """Return the restored email, or the code of the refusal."""
    try:
        return email_changes.revert_change(app, token, "192.0.2.7", app.clock.now())
    except ApiError as error:
        return error.code


def change_email(app: App, client: Client, session: str, email: str = NEW_EMAIL) -> None:
    assert request_change(client, session, email) == 200
    assert confirm(app, get_link_token(app, email)) == email


def test_the_old_address_reverts_a_confirmed_change(app: App, client: Client, session: str, clock: FixedClock) -> None:
    change_email(app, client, session)
    thief = session_of(client, NEW_EMAIL)
    client.post(AUTH + "forgetpassword", {"email": NEW_EMAIL})
    recovery.run_mail_step(app)
    thief_reset = token_in(sent(app, "Set a new password", NEW_EMAIL)[-1])
    clock.advance(seconds=timedelta(days=7).total_seconds() - 1)
    token = get_revert_token(app)
    assert (revert(app, token), list_emails(app)) == (EMAIL, [EMAIL])
    assert client.get(USER, session=thief).status == 401
    assert [login(client, email=email).status for email in (EMAIL, NEW_EMAIL)] == [401, 401]
    body = {"token": thief_reset, "newpassword": NEW_PASSWORD}
    assert client.put(AUTH + "newpassword", body).json["code"] == "INVALID_TOKEN"
    assert [revert(app, token), list_emails(app)] == ["INVALID_TOKEN", [EMAIL]]
    with app.accounts.read() as tx:
        [row] = audit.list_actions(tx, 10)
    assert (row["who"], row["action"], row["account"], row["place"], row["detail"]) == (
        EMAIL,
        "revert the change of the email",
        EMAIL,
        "192.0.2.7",
        "",
    )
    recovery.run_mail_step(app)
    reset = {"token": token_in(sent(app, "Set a new password", EMAIL)[-1]), "newpassword": NEW_PASSWORD}
    assert client.put(AUTH + "newpassword", reset).status == 200
    assert login(client, password=NEW_PASSWORD).status == 200


def test_the_old_address_reverts_a_change_that_is_not_confirmed(app: App, client: Client, session: str) -> None:
    assert request_change(client, session) == 200
    confirmation = get_link_token(app)
    assert revert(app, get_revert_token(app, "Your email address is about to change")) == EMAIL
    assert confirm(app, confirmation) == "INVALID_TOKEN"
    assert (client.get(USER, session=session).status, login(client).status) == (401, 401)


def test_a_revert_ends_later_changes_and_their_links(app: App, client: Client, session: str) -> None:
    change_email(app, client, session)
    change_email(app, client, session_of(client, NEW_EMAIL), "thief@example.org")
    own_token, thief_token = get_revert_token(app), get_revert_token(app, email=NEW_EMAIL)
    assert (revert(app, own_token), revert(app, thief_token)) == (EMAIL, "INVALID_TOKEN")
    assert list_emails(app) == [EMAIL]


def test_the_link_of_an_earlier_change_outlasts_the_revert_of_a_later_one(
    app: App, client: Client, session: str
) -> None:
    change_email(app, client, session)
    change_email(app, client, session_of(client, NEW_EMAIL), "thief@example.org")
    assert revert(app, get_revert_token(app, email=NEW_EMAIL)) == NEW_EMAIL
    assert (revert(app, get_revert_token(app)), list_emails(app)) == (EMAIL, [EMAIL])


def test_the_old_email_is_reserved_while_the_change_can_be_reverted(
    app: App, client: Client, session: str, clock: FixedClock
) -> None:
    sign_up(client, "bob@example.com")
    assert request_change(client, session_of(client, "bob@example.com"), "carl@example.com") == 200
    change_email(app, client, session)
    bob = session_of(client, "bob@example.com")
    assert request_change(client, bob, EMAIL) == 200
    recovery.run_mail_step(app)
    assert sent(app, "Confirm your new email address", EMAIL) == []
    assert register(client, EMAIL).json["code"] == "EMAIL_EXISTS"
    with pytest.raises(ApiError, match="is reserved: the account that had it can still revert its change"):
        users.create(app, EMAIL, "free", clock.now())
    # The account itself may go back.
    change_email(app, client, session_of(client, NEW_EMAIL), EMAIL)
    change_email(app, client, session_of(client), NEW_EMAIL)
    clock.advance(seconds=timedelta(days=7).total_seconds())
    assert register(client, EMAIL).status == 200
    assert list_emails(app) == [NEW_EMAIL, "bob@example.com", EMAIL]


def test_a_link_to_revert_expires_and_is_of_its_own_kind(
    app: App, client: Client, session: str, clock: FixedClock
) -> None:
    change_email(app, client, session)
    token = get_revert_token(app)
    for wrong in ("", "x", token[:-1], "e" + token[1:], "r" + token[1:], f"b{2**63}.{token.partition('.')[2]}"):
        assert revert(app, wrong) == "INVALID_TOKEN"
    assert confirm(app, token) == "INVALID_TOKEN"
    users.set_locked(app, NEW_EMAIL, True, clock.now())
    assert revert(app, token) == "INVALID_TOKEN"
    users.set_locked(app, NEW_EMAIL, False, clock.now())
    clock.advance(seconds=timedelta(days=7).total_seconds())
    assert (revert(app, token), list_emails(app)) == ("INVALID_TOKEN", [NEW_EMAIL])


def test_two_clicks_at_once_revert_a_change_once(app: App, client: Client, session: str) -> None:
    change_email(app, client, session)
    token = get_revert_token(app)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(lambda _: revert(app, token), range(2))) == ["INVALID_TOKEN", EMAIL]
    recovery.run_mail_step(app)
    assert len(sent(app, "Set a new password", EMAIL)) == 1


def test_a_revert_during_a_password_check_keeps_the_account(
    app: App, client: Client, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert request_change(client, session) == 200
    token, check_password = get_revert_token(app, "Your email address is about to change"), sessions.check_password

    def check_and_revert(*arguments: Any) -> Row:
        user = check_password(*arguments)
        assert revert(app, token) == EMAIL
        return user

    monkeypatch.setattr(sessions, "check_password", check_and_revert)
    answer = client.call("DELETE", USER, json={"password": PASSWORD}, session=session)
    assert (answer.status, answer.json["code"], answer.json["message"]) == WRONG_PASSWORD
    assert list_emails(app) == [EMAIL]


def test_an_account_deleted_by_the_thief_cannot_be_reverted(app: App, client: Client, session: str) -> None:
    change_email(app, client, session)
    token = get_revert_token(app)
    assert client.call("DELETE", USER, json={"password": PASSWORD}, session=session_of(client, NEW_EMAIL)).status == 200
    assert revert(app, token) == "INVALID_TOKEN"
