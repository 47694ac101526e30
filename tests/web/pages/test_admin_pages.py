"""The pages of operators: access, contents, the actions of forms, and the audit log."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import audit, sessions, users
from finapi.accounts.audit import Actor
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.delivery import webhooks
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import fetch_queue, ingest
from finapi.store.db import Row
from tests.charging import charged
from tests.client import PASSWORD, Answer, Client, session_of, sign_up
from tests.conftest import ACCOUNTS
from tests.support.case_tables import run_each_case
from tests.support.html_pages import EMAIL, Visitor, get_message, parse_rows
from tests.support.raw_sql import run_sql

ADMIN = "root@example.com"
PAGES = ("/admin", "/admin/accounts", "/admin/invites", "/admin/intake", "/admin/deliveries", "/admin/audit")
ACTIONS = ("lock", "unlock", "revoke", "plan", "credit", "grant", "invite", "revoke-invite", "retry", "redeliver")

MakeApp = Callable[..., App]


class Admin(Visitor):
    """An admin's browser. It sends the forms of the pages that it gets."""

    def sign_in(self, **fields: str) -> Answer:
        return self.send("/login", email=ADMIN, password=PASSWORD, **fields)

    def get_form_fields(self, page: str, action: str) -> dict[str, str]:
        """Return the hidden fields of the form of an action."""
        body = self.get(page).body.decode()
        match = re.search(rf'action="/admin/do/{action}"[^>]*>(.*?)</form>', body, re.DOTALL)
        assert match is not None, body
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', match[1])
        return {name: unescape(value) for name, value in hidden}

    def perform(self, page: str, action: str, password: str = PASSWORD, **fields: str) -> Answer:
        all_fields = {**self.get_form_fields(page, action), **fields}
        return self.send(f"/admin/do/{action}", password=password, **all_fields)


@pytest.fixture
def app(make_app: MakeApp) -> App:
    app = make_app(**{**ACCOUNTS, "public_url": "http://x"}, pages_per_minute=100_000)
    sign_up(Client(app))
    users.create(app, ADMIN, "free", app.clock.now(), password=PASSWORD, is_admin=True, actor=Actor(None, "/root"))
    return app


@pytest.fixture
def admin(app: App) -> Admin:
    visitor = Admin(app)
    assert visitor.sign_in().status == 303
    return visitor


@pytest.fixture
def member(app: App) -> Visitor:
    visitor = Visitor(app)
    assert visitor.sign_in().status == 303
    return visitor


def get_account(app: App, email: str = EMAIL) -> dict[str, Any]:
    with app.db.read() as tx:
        return dict(next(row for row in users.list_users(tx) if row["email"] == email))


def get_account_path(app: App, email: str = EMAIL) -> str:
    return f"/admin/accounts/{get_account(app, email)['uuid']}"


def list_log(app: App) -> list[tuple[str, str, str | None, str, str]]:
    """Return actor, action, account, detail and origin of all entries, oldest first."""
    with app.db.read() as tx:
        rows = audit.list_actions(tx, 100)
    return [(row["who"], row["action"], row["account"], row["detail"], row["place"]) for row in reversed(rows)]


FIRST_ENTRY = ("command line", "add an admin", ADMIN, "free", "/root")
ADDRESS = "192.0.2.1"


# ---- who sees them


@run_each_case("path", PAGES)
def test_visitors_of_admin_pages_get_the_login_page(app: App, path: str) -> None:
    answer = Admin(app).get(path)
    assert answer.status == 401
    assert f'name="next" value="{path}"' in answer.body.decode()


@run_each_case("path", PAGES)
def test_other_accounts_cannot_see_admin_pages(member: Visitor, path: str) -> None:
    answer = member.get(path)
    assert (answer.status, get_message(answer)) == (403, "This page is for the operators of this host.")
    assert ADMIN not in answer.body.decode()


@run_each_case("action", ACTIONS)
def test_other_accounts_cannot_run_admin_actions(app: App, member: Visitor, action: str) -> None:
    before = get_account(app), get_account(app, ADMIN)
    fields = {
        "account": get_account(app, ADMIN)["uuid"],
        "once": "1",
        "password": PASSWORD,
        "plan": "pro",
        "tokens": "9",
    }
    assert member.submit(f"/admin/do/{action}", **fields, amount="9.00").status == 403
    assert Visitor(app).send(f"/admin/do/{action}", **fields).status == 401
    assert (get_account(app), get_account(app, ADMIN)) == before
    assert list_log(app) == [FIRST_ENTRY]


def test_admin_pages_accept_neither_key_nor_bearer_token(app: App) -> None:
    client = Client(app)
    token = session_of(client, ADMIN)
    key = client.get("/api/v1/user/", session=token).json["user"]["api_key"]
    for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {token}"}):
        assert client.get("/admin/accounts", headers=headers).status == 401


@pytest.mark.parametrize("body", [{"usertype": "admin"}, {"usertype": "admin", "notify_email": True}])
def test_the_api_cannot_make_an_account_an_admin(app: App, member: Visitor, body: dict[str, Any]) -> None:
    token = session_of(Client(app))
    Client(app).put("/api/v1/user/", body, session=token)
    member.submit("/account/do/settings", usertype="admin", notify_email="on")
    assert get_account(app)["usertype"] == "user"
    assert member.get("/admin").status == 403


def test_a_login_replaces_the_session_in_the_cookie(app: App, member: Visitor) -> None:
    planted, visitor = member.cookie, Admin(app)
    visitor.cookie = planted
    assert visitor.send("/login", form_token=member.form_token, email=ADMIN, password=PASSWORD).status == 303
    assert visitor.cookie != planted
    assert (visitor.get("/admin").status, member.get("/admin").status) == (200, 401)


def test_a_locked_admin_is_signed_out(app: App, admin: Admin) -> None:
    form = admin.get_form_fields(get_account_path(app), "lock")
    users.set_locked(app, ADMIN, True, app.clock.now())
    assert admin.get("/admin").status == 401
    assert admin.send("/admin/do/lock", password=PASSWORD, **form).status == 401


def test_an_admin_locked_during_an_action_cannot_finish_it(app: App) -> None:
    actor = Actor(users.get_id(app, ADMIN), ADDRESS, "1")
    users.set_locked(app, ADMIN, True, app.clock.now())
    with pytest.raises(ApiError) as caught:
        users.change_credit(app, EMAIL, 100, app.clock.now(), actor)
    assert (caught.value.code, get_account(app)["credit_balance"]) == ("FORBIDDEN", 0.0)


@run_each_case("path", PAGES)
def test_admin_pages_are_not_cached(admin: Admin, path: str) -> None:
    answer = admin.get(path)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")


def test_only_the_account_of_an_admin_links_to_admin_pages(admin: Admin, member: Visitor) -> None:
    assert [b'href="/admin"' in visitor.get("/account").body for visitor in (admin, member)] == [True, False]


# ---- accounts


def test_accounts_are_found_by_part_of_the_email_or_uuid(app: App, admin: Admin) -> None:
    def found(text: str) -> list[str]:
        return [row[0] for row in parse_rows(admin.get(f"/admin/accounts?q={text}").body.decode())[1:]]

    assert found("") == [ADMIN, EMAIL]
    assert found("ANN") == found(get_account(app)["uuid"]) == [EMAIL]
    assert found("%25") == found("_") == []


def test_an_account_shows_balance_and_usage_but_no_key(app: App, admin: Admin) -> None:
    with charged(app, users.get_id(app, EMAIL), "GET /api/v1/prices/{ticker}", 10, "r"):
        pass
    body = admin.get(get_account_path(app)).body.decode()
    assert "<dt>Tokens left</dt><dd>1,990</dd>" in body
    assert ["GET /api/v1/prices/{ticker}", "1", "10"] in parse_rows(body)
    key = Client(app).get("/api/v1/user/", session=session_of(Client(app))).json["user"]["api_key"]
    assert key not in body


@pytest.mark.parametrize("uuid", ["x", "00000000-0000-4000-8000-999999999999", "%3Cb%3E"])
def test_an_unknown_account_returns_404(admin: Admin, uuid: str) -> None:
    assert admin.get(f"/admin/accounts/{uuid}").status == 404


def test_a_deleted_account_has_no_page_and_no_email_in_the_log(app: App, admin: Admin) -> None:
    path = get_account_path(app)
    assert admin.perform(path, "credit", amount="1").status == 303
    users.erase(app, users.get_id(app, EMAIL), app.clock.now())
    assert admin.get(path).status == 404
    assert EMAIL not in admin.get("/admin/audit").body.decode()


def test_a_locked_account_has_no_session_until_unlocked(app: App, admin: Admin, member: Visitor) -> None:
    page = get_account_path(app)
    answer = admin.perform(page, "lock")
    assert (answer.status, answer.headers["location"]) == (303, f"{page}?done=lock")
    assert get_message(admin.get(f"{page}?done=lock")) == "The account is locked and its sessions have ended."
    assert (member.get("/account").status, member.sign_in().status) == (401, 401)
    assert admin.perform(page, "unlock").status == 303
    assert member.sign_in().status == 303
    assert list_log(app)[1:] == [(ADMIN, "lock", EMAIL, "", ADDRESS), (ADMIN, "unlock", EMAIL, "", ADDRESS)]


def test_an_admin_cannot_lock_their_own_account(app: App, admin: Admin) -> None:
    answer = admin.perform(get_account_path(app, ADMIN), "lock")
    assert (answer.status, get_message(answer)) == (
        409,
        "You cannot lock your own account: no page could unlock it again.",
    )
    assert admin.get("/admin").status == 200


def test_revoking_ends_sessions_and_mails_a_new_key(app: App, admin: Admin, member: Visitor) -> None:
    client = Client(app)
    token = session_of(client)
    key = client.get("/api/v1/user/", session=token).json["user"]["api_key"]
    assert admin.perform(get_account_path(app), "revoke").status == 303
    assert client.get("/api/v1/user/", session=token).status == 401
    assert Client(app, key).get("/api/v1/account/balance").status == 401
    assert member.get("/account").status == 401
    with app.db.read() as tx:
        assert [row["template"] for row in tx.list_rows("due_mails", now="2027", latest="2028", limit=9)][
            -1
        ] == "new_key"


def test_an_admin_changes_plan_credit_and_tokens(app: App, admin: Admin) -> None:
    page = get_account_path(app)
    assert admin.perform(page, "plan", plan="pro").status == 303
    assert admin.perform(page, "credit", amount=" 12.50 ").status == 303
    assert admin.perform(page, "grant", tokens="700").status == 303
    has = get_account(app)
    pro = app.config.pro_tokens
    assert (has["plan"], has["credit_balance"], has["balance"]) == ("pro", 12.5, pro + 700)
    assert [row[1:4] for row in list_log(app)[1:]] == [
        ("plan", EMAIL, "pro"),
        ("credit", EMAIL, "12.50 dollars"),
        ("grant", EMAIL, "700 tokens"),
    ]


@run_each_case(
    "action, fields",
    [
        ("credit", {"amount": "-5"}),
        ("credit", {"amount": "0"}),
        ("credit", {"amount": "1e9"}),
        ("credit", {}),
        ("credit", {"amount": "12.345"}),
        ("credit", {"amount": "٣"}),
        ("grant", {"tokens": "-1"}),
        ("grant", {"tokens": "0"}),
        ("grant", {"tokens": "9" * 40}),
        ("grant", {"tokens": "x"}),
        ("plan", {"plan": "platinum"}),
        ("plan", {}),
        ("plan", {"plan": "<b>"}),
    ],
)
def test_invalid_amounts_and_plans_change_nothing(app: App, admin: Admin, action: str, fields: dict[str, str]) -> None:
    before = get_account(app)
    answer = admin.perform(get_account_path(app), action, **fields)
    assert (answer.status, bool(get_message(answer)), b"<b>" in answer.body) == (400, True, False)
    assert (get_account(app), list_log(app)) == (before, [FIRST_ENTRY])


@run_each_case(
    "action, fields, param, message",
    [
        (
            "credit",
            {"amount": "12.345", "reason": "a <refund>"},
            "amount",
            "'12.345' is not an amount of dollars. Write it like 12.50, or -12.50 for a correction.",
        ),
        ("credit", {"amount": "-5", "reason": ""}, "reason", "A correction of the wallet requires a reason."),
        (
            "credit",
            {"amount": "-5000", "reason": "typing error"},
            "",
            "The wallet has less than 5000.00 dollars, so they cannot be taken from it.",
        ),
        (
            "grant",
            {"tokens": "1.5"},
            "tokens",
            "The number of tokens must be a whole number from 1 to 1,000,000,000,000.",
        ),
    ],
)
def test_a_refused_form_keeps_its_input(
    app: App, admin: Admin, action: str, fields: dict[str, str], param: str, message: str
) -> None:
    answer = admin.perform(get_account_path(app), action, **fields)
    assert (answer.status, get_message(answer)) == (409 if param == "" else 400, message)
    body = answer.body.decode()
    assert f"<h1>{EMAIL}</h1>" in body
    inputs = dict(re.findall(r'<input name="(amount|reason|tokens)"([^>]*)>', body))
    contents = {name: re.findall('value="([^"]*)"', attributes) for name, attributes in inputs.items()}
    assert contents == {
        name: [escape(fields[name])] if fields.get(name) else [] for name in ("amount", "reason", "tokens")
    }
    wrong_inputs = [name for name, attributes in inputs.items() if 'aria-invalid="true"' in attributes]
    assert wrong_inputs == ([param] if param else [])
    # The corrected form is accepted.
    assert admin.perform(get_account_path(app), "credit", amount="5").status == 303


def test_a_refused_invite_form_keeps_its_input(admin: Admin) -> None:
    answer = admin.perform("/admin/invites", "invite", note="for Bob", days="4000")
    assert get_message(answer) == "The number of days must be a whole number from 1 to 3,650."
    assert '<input name="note" value="for Bob"' in answer.body.decode()
    answer = admin.perform("/admin/invites", "revoke-invite", code="AAAA-BBBB")
    assert (answer.status, '<input name="code" value="AAAA-BBBB"' in answer.body.decode()) == (404, True)


# ---- the password, the token of the form, and the form itself


@pytest.mark.parametrize("action", ["lock", "revoke", "plan", "credit", "grant"])
def test_actions_need_the_admins_password(app: App, admin: Admin, action: str) -> None:
    before = get_account(app)
    for password in ("", "wrong password", PASSWORD.upper()):
        answer = admin.perform(get_account_path(app), action, password, plan="pro", amount="5", tokens="5")
        assert (answer.status, get_message(answer)) == (403, "This is not your account's password.")
    assert (get_account(app), list_log(app)) == (before, [FIRST_ENTRY])


def test_the_password_is_asked_for_once_in_fifteen_minutes(app: App, admin: Admin, clock: FixedClock) -> None:
    page = get_account_path(app)

    def send_credit(**fields: str) -> Answer:
        return admin.send("/admin/do/credit", **admin.get_form_fields(page, "credit"), amount="5.00", **fields)

    prompt = send_credit(reason="<goodwill>")
    body = prompt.body.decode()
    assert (prompt.status, "<h1>Confirm with your password</h1>" in body) == (200, True)
    assert f"Change the wallet of {EMAIL}. The password is not needed again for 15 minutes." in body
    assert '<input type="hidden" name="reason" value="&lt;goodwill&gt;">' in body
    assert body.count(' name="form_token"') == body.count(' name="once"') == body.count(' type="password"') == 1
    assert (get_account(app)["credit_balance"], list_log(app)) == (0, [FIRST_ENTRY])
    # The prompt repeats the fields of the form, so that sending it with the password carries out the action.
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', body.partition("/admin/do/")[2]))
    wrong = admin.send("/admin/do/credit", **hidden, password="wrong")
    assert (wrong.status, 'name="amount" value="5.00"' in wrong.body.decode()) == (403, True)
    answer = admin.send("/admin/do/credit", **hidden, password=PASSWORD)
    assert (answer.status, answer.headers["location"]) == (303, f"{page}?done=credit")

    clock.advance(seconds=15 * 60 - 1)
    assert send_credit().status == 303
    assert "password" not in admin.get(page).body.decode()
    clock.advance(seconds=1)
    assert (send_credit().status, get_account(app)["credit_balance"]) == (200, 10.0)


def test_a_confirmation_is_that_of_one_session(app: App, admin: Admin) -> None:
    page = get_account_path(app)
    assert admin.perform(page, "grant", tokens="5").status == 303
    other = Admin(app)
    assert other.sign_in().status == 303
    assert other.send("/admin/do/grant", **other.get_form_fields(page, "grant"), tokens="5").status == 200
    # A login with the cookie of a confirmed session opens another session.
    assert admin.submit("/login", email=ADMIN, password=PASSWORD).status == 303
    assert admin.send("/admin/do/grant", **admin.get_form_fields(page, "grant"), tokens="5").status == 200
    assert len(list_log(app)) == 2


def test_a_session_that_ends_during_the_check_runs_no_action(
    app: App, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_password = sessions.check_password

    def check_and_end_sessions(*arguments: Any) -> Row:
        user = check_password(*arguments)
        with app.accounts.write() as tx:
            tx.run("delete_sessions", user_id=user["id"])
        return user

    monkeypatch.setattr(sessions, "check_password", check_and_end_sessions)
    assert admin.perform(get_account_path(app), "grant", tokens="5").status == 403
    assert list_log(app) == [FIRST_ENTRY]


def test_wrong_passwords_in_admin_forms_end_in_a_lockout(app: App, admin: Admin) -> None:
    page = get_account_path(app)
    answers = [admin.perform(page, "lock", f"guess {number}") for number in range(6)]
    assert [answer.status for answer in answers] == [403] * 4 + [429] * 2
    assert admin.perform(page, "lock").status == 429
    assert get_account(app)["state"] == "active"


@pytest.mark.parametrize("action", ACTIONS)
def test_admin_forms_need_the_token_of_their_session(app: App, admin: Admin, action: str) -> None:
    fields = {"account": get_account(app)["uuid"], "once": "1", "password": PASSWORD, "amount": "5", "tokens": "5"}
    other = Admin(app)
    assert other.sign_in().status == 303
    for token in ("", "x", other.form_token):
        assert admin.send(f"/admin/do/{action}", form_token=token, **fields).status == 403
    headers = {"Origin": "https://evil.example"}
    assert admin.send(f"/admin/do/{action}", headers, form_token=admin.form_token, **fields).status == 403
    assert list_log(app) == [FIRST_ENTRY]


def test_a_form_sent_twice_is_executed_once(app: App, admin: Admin) -> None:
    form = {**admin.get_form_fields(get_account_path(app), "credit"), "amount": "5.00", "password": PASSWORD}
    first, again = (admin.send("/admin/do/credit", **form) for _ in range(2))
    assert (first.status, again.status) == (303, 409)
    assert get_message(again) == "This form was already sent and its action was carried out."
    assert get_account(app)["credit_balance"] == 5.0
    assert len(list_log(app)) == 2


def test_a_form_sent_ten_times_at_once_is_executed_once(app: App, admin: Admin) -> None:
    form = {**admin.get_form_fields(get_account_path(app), "credit"), "amount": "5.00", "password": PASSWORD}
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: Visitor.send(admin, "/admin/do/credit", **form).status, range(10)))
    assert answers.count(303) == 1
    assert get_account(app)["credit_balance"] == 5.0
    assert [row[1] for row in list_log(app)] == ["add an admin", "credit"]


@pytest.mark.parametrize("once", ["", "x" * 37])
def test_an_admin_form_without_an_id_is_refused(app: App, admin: Admin, once: str) -> None:
    assert admin.perform(get_account_path(app), "lock", once=once).status == 400
    assert get_account(app)["state"] == "active"


@run_each_case("name", ["nothing", "lock/..", "%3Cb%3E", "__class__"])
def test_an_unknown_action_returns_404(admin: Admin, name: str) -> None:
    assert admin.submit(f"/admin/do/{name}").status == 404


def test_markup_in_an_email_is_escaped_on_admin_pages(app: App, admin: Admin) -> None:
    email = "<img/src=x>'\"&@example.com"
    users.create(app, email, "free", app.clock.now())
    page = get_account_path(app, email)
    assert admin.perform(page, "credit", amount="1").status == 303
    for path in ("/admin", "/admin/accounts", "/admin/accounts?q=<img", page, "/admin/audit"):
        body = admin.get(path).body
        assert (b"<img" in body, b"&lt;img/src=x&gt;" in body) == (False, True), path


# ---- invites


def test_an_invite_is_created_listed_and_revoked(app: App, admin: Admin) -> None:
    assert admin.perform("/admin/invites", "invite", note="for <Bob>", days="7").status == 303
    page = admin.get("/admin/invites").body.decode()
    code, state, note, *_ = parse_rows(page)[1]
    assert f'<input type="hidden" name="code" value="{code}">' in page
    assert (state, note) == ("open", "for <Bob>")
    assert admin.perform("/admin/invites", "revoke-invite", code=code.lower()).status == 303
    assert parse_rows(admin.get("/admin/invites").body.decode())[1][1] == "revoked"
    assert admin.perform("/admin/invites", "revoke-invite", code=code).status == 409
    assert admin.perform("/admin/invites", "revoke-invite", code="none").status == 404
    assert admin.perform("/admin/invites", "invite", days="4000").status == 400
    assert admin.perform("/admin/invites", "invite", note="x" * 201).status == 400
    assert [row[1:4] for row in list_log(app)[1:]] == [("invite", None, "for <Bob>"), ("revoke an invite", None, code)]


# ---- what comes in, and what goes out


def test_failed_documents_have_a_reason_and_can_be_retried(app: App, admin: Admin) -> None:
    now, accession = app.clock.now(), "0000320193-26-000001"
    with app.db.write() as tx:
        tx.run("insert_wanted_document", accession=accession, cik=320193, form="4", now="2026-01-31T12:00:00.000Z")
        fetch_queue.finish_document(tx, accession, now, "answered with <an> error page")
    body = admin.get("/admin/intake").body.decode()
    assert [accession, "4", "0000320193", "given_up", "1", "answered with <an> error page"] == parse_rows(body)[-1][:6]
    assert admin.perform("/admin/intake", "retry", accession=accession).status == 303
    again = admin.send("/admin/do/retry", form_token=admin.form_token, once="2", accession=accession)
    assert (again.status, get_message(again)) == (409, "There is nothing to retry.")
    assert list_log(app)[1:] == [(ADMIN, "retry", None, accession, ADDRESS)]


def test_refused_files_are_listed_until_they_are_ingested(app: App, admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "<b>.json"

    def listed(text: str) -> list[list[str]]:
        file.write_text(text)
        ingest.run(app, [file], IngestOptions(), lambda outcome: None)
        rows = parse_rows(admin.get("/admin/intake").body.decode())
        return [row[:2] for row in rows if row and row[0] == str(file)]

    assert listed("{") == [[str(file), "unknown"]]
    assert listed("[") == [[str(file), "unknown"]]
    assert listed('{"0": {"cik_str": 320193, "ticker": "AAPL", "title": "Apple Inc."}}') == []


def test_only_the_newest_refused_files_are_stored(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MAX_REFUSED_FILES", 2)
    for name in "abc":
        (tmp_path / name).write_text("{")
    ingest.run(app, [tmp_path / name for name in "abc"], IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        assert [row["path"] for row in fetch_queue.list_refused_files(tx, 10)] == [
            str(tmp_path / name) for name in "bc"
        ]


def test_failed_deliveries_of_all_accounts_are_sent_again(app: App, admin: Admin, member: Visitor) -> None:
    assert member.submit("/account/do/settings", webhook_url="https://example.com/hook?secret=1").status == 303
    assert member.submit("/account/do/test").status == 303
    assert admin.get("/admin/deliveries").body.count(b"<tr>") == 0
    user_id = users.get_id(app, EMAIL)
    with app.db.write() as tx:
        tx.run("hold_deliveries", user_id=user_id, until="2026-02-01", reason="<no>", now="2026-02-01")
        tx.run("drop_held_deliveries", before="2026-02-02", now="2026-02-01", limit=9)
    body = admin.get("/admin/deliveries").body.decode()
    assert parse_rows(body)[1][0] == EMAIL
    assert ("dropped" in body, "example.com" in body, "secret=1" in body, "&lt;no&gt;" in body) == (
        True,
        True,
        False,
        True,
    )
    assert admin.perform("/admin/deliveries", "redeliver").status == 303
    with app.db.read() as tx:
        assert webhooks.list_failed_deliveries(tx, 10) == []
    assert [row[:3] for row in list_log(app)[1:]] == [(ADMIN, "redeliver", EMAIL)]


def test_the_health_page_shows_components_and_queues(app: App, admin: Admin) -> None:
    body = admin.get("/admin").body.decode()
    assert "No check has run yet." in body
    assert "<dt>Ingest</dt><dd>0</dd>" in body
    assert "add an admin" in body


def test_the_health_page_charts_calls_tokens_errors_and_queues(app: App, admin: Admin) -> None:
    body = admin.get("/admin").body.decode()
    for title in ("Calls of the API", "Tokens charged", "Errors", "Longest queues"):
        assert f"{title}: none in this time." in body
    start = int(app.clock.now().timestamp()) // 3600 * 3600
    with app.db.write() as tx:
        for measure, amount in (("calls", 1200), ("tokens", 500), ("refusals", 7), ("failures", 2), ("webhooks", 40)):
            tx.run("add_activity", measure=measure, start=start, amount=amount)
    body = admin.get("/admin").body.decode()
    assert "none in this time" not in body
    for tooltip in (
        "Calls, 31 12:00: 1.2 k",
        "Tokens, 31 12:00: 500",
        "Refused calls (4xx), 31 12:00: 7",
        "Failed calls (5xx), 31 12:00: 2",
        "Webhooks, 31 12:00: 40",
    ):
        assert f"<title>{tooltip}</title>" in body
    assert '<a href="/admin?span=hours" aria-current="true">Last 48 hours</a>' in body
    by_day = admin.get("/admin?span=days").body.decode()
    assert "<title>Calls, 01-31: 1.2 k</title>" in by_day
    assert '<a href="/admin?span=days" aria-current="true">Last 30 days</a>' in by_day
    assert admin.get("/admin?span=weeks").status == 400


# ---- the log


def test_the_audit_log_cannot_be_changed_or_deleted(app: App) -> None:
    for statement in ("UPDATE audit SET action = 'nothing'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError, match="the audit log is not changed"), app.db.write() as tx:
            run_sql(tx, statement)
    assert list_log(app) == [FIRST_ENTRY]


def test_an_action_and_its_log_entry_are_written_together(app: App) -> None:
    now = app.clock.now()
    with pytest.raises(ApiError):
        users.set_locked(app, "no@example.com", True, now, Actor(None, "/"))
    with pytest.raises(ApiError):
        sessions.set_password(app, users.get_id(app, EMAIL), "short", now, Actor(None, "/"))
    users.change_credit(app, EMAIL, 100, now, Actor(None, "/", form_id="1"))
    with pytest.raises(ApiError, match="already sent"):
        users.change_credit(app, EMAIL, 100, now, Actor(None, "/", form_id="1"))
    assert (len(list_log(app)), get_account(app)["credit_balance"]) == (2, 1.0)


def test_the_audit_log_has_pages(app: App, admin: Admin, clock: FixedClock) -> None:
    with app.db.write() as tx:
        for number in range(150):
            audit.record_action(tx, Actor(None, "/"), "test", clock.now(), detail=str(number))
    body = admin.get("/admin/audit").body.decode()
    assert [row[4] for row in parse_rows(body)[1:]] == [str(number) for number in range(149, 49, -1)]
    older = re.search(r'href="(/admin/audit\?before=\d+)"', body)
    assert older is not None
    assert [row[4] for row in parse_rows(admin.get(older[1]).body.decode())[1:]] == [
        *(str(number) for number in range(49, -1, -1)),
        "free",
    ]
