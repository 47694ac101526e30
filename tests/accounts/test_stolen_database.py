"""A thief with a copy of the database, but without the master secret, gets no valid credential."""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import credentials, invites, recovery
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
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
)
from tests.conftest import ACCOUNTS, NOW
from tests.support.raw_sql import run_sql

pytestmark = pytest.mark.slow

USER = "/api/v1/user/"
DATA = "/api/v1/xbrl/companies/X/statements"
MAC = base64.urlsafe_b64encode(bytes(32)).decode().rstrip("=")


@dataclass(frozen=True)
class Theft:
    """A service in use, every row of its database, and every credential that is live in it."""

    app: App
    client: Client
    rows: dict[str, list[dict[str, Any]]]
    live: dict[str, str]
    directory: Path

    @property
    def values(self) -> list[bytes]:
        """Return each value of each column, as bytes."""
        cells = [value for rows in self.rows.values() for row in rows for value in row.values()]
        return [value if isinstance(value, bytes) else str(value).encode() for value in cells]

    @property
    def texts(self) -> list[str]:
        """Return the texts that a thief would try: each value unchanged, as hex, as base64 and as base32."""
        texts = set()
        for value in self.values:
            texts.add(value.decode("latin-1"))
            texts.add(value.hex())
            texts.add(value.hex()[:32])
            texts.add(base64.urlsafe_b64encode(value).decode().rstrip("="))
            texts.add(base64.b32encode(value[:10]).decode())
        return sorted(texts)


@pytest.fixture
def theft(tmp_path: Path, clock: FixedClock) -> Iterator[Theft]:
    """Create users, sessions, links, invites and queued mails, then copy the database."""
    # The limits are high, so that none of them hides an accepted credential.
    config: dict[str, Any] = {**ACCOUNTS, "data_dir": tmp_path, "smtp_url": "memory:", "xbrl_burst": 1_000_000}
    app = apps.open_on_disk(Config(**config), clock)
    client = Client(app)
    live: dict[str, str] = {}
    sign_up(client)
    recovery.run_mail_step(app)
    opened = login(client).json
    live["session token"] = opened["token"]
    live["session id"] = credentials.read_session_token(app.secrets, opened["token"], NOW).session_id  # type: ignore[union-attr]
    live["api key"] = client.call("POST", USER + "api-key/rotate", session=opened["token"]).json["api_key"]
    live["old api key"] = opened["user"]["api_key"]
    live["password"] = PASSWORD
    # Bob waits for his verification; his welcome mail and a reset mail are in the queue.
    register(client, "bob@example.com")
    live["verification link"] = token_in(sent(app, "Verify your email address", "bob@example.com")[0])
    client.post(AUTH + "forgetpassword", {"email": "bob@example.com"})
    client.post(AUTH + "forgetpassword", {"email": "ann@example.com"})
    client.post(AUTH + "forgetpassword", {"email": "nobody@example.com"})
    live["invite code"] = invites.create(app, NOW, lifetime=None, note="open").code
    live["invite token"] = client.post(AUTH + "redeem-invite", {"code": live["invite code"]}).json["invite_token"]
    revoked = invites.create(app, NOW, lifetime=None, note="revoked").code
    invites.revoke(app, revoked, NOW)
    live["revoked code"] = revoked
    with app.db.write():
        names = [row[0] for row in run_sql(app.db, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
        rows = {name: [dict(row) for row in run_sql(app.db, f"SELECT * FROM {name}")] for name in names}
    for row in rows["resets"]:
        live[f"reset link {row['id']}"] = credentials.build_link_token(app.secrets, "reset", row["id"], row["uuid"])
    bob = next(row for row in rows["users"] if row["email"] == "bob@example.com")
    key = next(row for row in rows["api_keys"] if row["user_id"] == bob["id"])
    live["bob's key"] = credentials.derive_api_key(app.secrets, bob["uuid"], key["uuid"])
    yield Theft(app, client, rows, live, tmp_path)
    app.db.close()


def test_the_stolen_copy_has_rows_of_every_kind(theft: Theft) -> None:
    kinds = ("users", "api_keys", "sessions", "invites", "verifications", "resets", "mails", "userplans", "ledger")
    assert {kind for kind in kinds if not theft.rows[kind]} == set()
    queued = {row["template"] for row in theft.rows["mails"] if row["state"] == "queued"}
    assert queued == {"welcome", "reset", "decoy"}


def test_live_credentials_are_accepted(theft: Theft) -> None:
    live, client = theft.live, theft.client
    assert client.get(USER, session=live["session token"]).status == 200
    assert client.get(DATA, headers={"X-API-Key": live["api key"]}).status == 404
    assert client.get(DATA, headers={"X-API-Key": live["bob's key"]}).status == 404
    assert client.post(AUTH + "redeem-invite", {"code": live["invite code"]}).status == 200
    assert client.get(AUTH + "verifyEmail", query={"token": live["verification link"]}).status == 200
    for name in ("reset link 1", "reset link 2"):
        body = {"token": live[name], "newpassword": "another horse battery"}
        assert client.put(AUTH + "newpassword", body).status == 200


def test_no_column_of_any_table_holds_a_live_credential(theft: Theft) -> None:
    leaks = [
        (table, column, name)
        for table, rows in theft.rows.items()
        for row in rows
        for column, value in row.items()
        for name, secret in theft.live.items()
        if secret.encode() in (value if isinstance(value, bytes) else str(value).encode())
        or secret.encode().hex() in str(value)
    ]
    assert leaks == []


def test_no_column_holds_a_link_mac_or_a_token_signature(theft: Theft) -> None:
    parts = {part for secret in theft.live.values() for part in secret.split(".") if len(part) == len(MAC)}
    assert parts
    raw = {base64.urlsafe_b64decode(part + "=") for part in parts}
    assert [value for value in theft.values for part in parts if part.encode() in value] == []
    assert [value for value in theft.values for part in raw if part in value] == []


def test_no_file_of_the_database_holds_a_live_credential(theft: Theft) -> None:
    files = [path for path in theft.directory.iterdir() if path.name.startswith("finapi.db")]
    assert len(files) >= 2  # the database and its WAL
    data = b"".join(path.read_bytes() for path in files)
    assert {name for name, secret in theft.live.items() if secret.encode() in data} == set()
    assert theft.app.secrets[0] not in data
    assert theft.app.secrets[0].hex().encode() not in data


def test_database_files_are_readable_only_by_their_owner(theft: Theft) -> None:
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in theft.directory.iterdir() if path.is_file()}
    assert set(modes.values()) == {"0o600"}


def test_database_values_are_no_valid_credentials(theft: Theft) -> None:
    client = theft.client
    for text in theft.texts:
        if not text.isprintable() or not text:
            continue
        assert client.get(DATA, headers={"X-API-Key": text}).status == 401
        assert client.get(USER, session=text).status == 401
        # 410 would mean that the text is a used code.
        assert client.post(AUTH + "redeem-invite", {"code": text}).verdict[:2] == (400, "INVALID_INVITE")
        body = {"token": text, "newpassword": "another horse battery"}
        assert client.put(AUTH + "newpassword", body).verdict[:2] == (400, "INVALID_TOKEN")


def list_thief_secrets(theft: Theft) -> list[bytes]:
    """Return the master secrets that a thief may try: simple ones, and each value of 32 bytes in the rows."""
    secrets = {value for value in theft.values if len(value) == 32}
    secrets |= {hashlib.sha256(value).digest() for value in theft.values if len(value) <= 64}
    return [b"", b"\0" * 32, b"\1" * 32, *sorted(secrets)]


def all_refused(answers: list[Answer], status: int) -> bool:
    return {answer.status for answer in answers} == {status}


def test_no_key_can_be_built_from_the_rows(theft: Theft) -> None:
    uuids = {row["uuid"] for row in theft.rows["users"]}, {row["uuid"] for row in theft.rows["api_keys"]}
    built = {
        credentials.derive_api_key([secret], user, key)
        for secret in list_thief_secrets(theft)
        for user, key in itertools.product(*uuids)
    }
    assert len(built) >= 100
    assert built.isdisjoint(theft.live.values())
    assert all_refused([theft.client.get(DATA, headers={"X-API-Key": key}) for key in built], 401)


def test_no_session_can_be_built_from_the_rows(theft: Theft) -> None:
    answers = []
    texts = [row["fingerprint"] for row in theft.rows["sessions"]]
    ids = [text.hex() for text in texts] + [base64.urlsafe_b64encode(text).decode() for text in texts]
    # The id of the session is not enough to sign a token.
    ids.append(theft.live["session id"])
    for secret, user, session_id in itertools.product(list_thief_secrets(theft), theft.rows["users"], ids):
        token = credentials.build_session_token(
            [secret], sub=user["uuid"], session_id=session_id, now=NOW, lifetime=3600
        )
        answers.append(theft.client.get(USER, session=token))
    assert all_refused(answers, 401)


def test_a_fingerprint_and_the_secret_make_no_session(theft: Theft) -> None:
    (row,) = theft.rows["sessions"]
    user = next(user for user in theft.rows["users"] if user["id"] == row["user_id"])
    for session_id in (row["fingerprint"].hex(), base64.urlsafe_b64encode(row["fingerprint"]).decode()):
        token = credentials.build_session_token(
            theft.app.secrets, sub=user["uuid"], session_id=session_id, now=NOW, lifetime=3600
        )
        assert theft.client.get(USER, session=token).status == 401


def test_no_invite_can_be_built_from_the_rows(theft: Theft) -> None:
    codes, tokens = [], []
    for secret, row in itertools.product(list_thief_secrets(theft), theft.rows["invites"]):
        code = credentials.derive_invite_code([secret], row["uuid"])
        codes.append(theft.client.post(AUTH + "redeem-invite", {"code": code}))
        body = {
            "email": f"thief{len(tokens)}@example.com",
            "password": PASSWORD,
            "invite_token": credentials.build_invite_token([secret], row["id"], NOW),
        }
        tokens.append(theft.client.post(AUTH + "register", body))
    for answers in (codes, tokens):
        assert {answer.verdict[:2] for answer in answers} == {(400, "INVALID_INVITE")}


def test_no_link_can_be_built_from_the_rows(theft: Theft) -> None:
    resets, verifications = [], []
    for secret in list_thief_secrets(theft):
        for row in theft.rows["resets"]:
            token = credentials.build_link_token([secret], "reset", row["id"], row["uuid"])
            body = {"token": token, "newpassword": "another horse battery"}
            resets.append(theft.client.put(AUTH + "newpassword", body))
        for row in theft.rows["verifications"]:
            token = credentials.build_link_token([secret], "verify", row["id"], row["uuid"])
            verifications.append(theft.client.get(AUTH + "verifyEmail", query={"token": token}))
    assert all_refused(resets + verifications, 400)


def test_mails_sent_with_another_secret_have_no_valid_links(theft: Theft) -> None:
    """The thief runs the program on the stolen rows with another master secret, and reads its mails."""
    thief = replace(theft.app, secrets=[b"\1" * 32])
    while recovery.run_mail_step(thief) == 0:
        pass
    for message in sent(thief, "Set a new password"):
        body = {"token": token_in(message), "newpassword": "another horse battery"}
        assert theft.client.put(AUTH + "newpassword", body).status == 400
    welcome = sent(thief, "Your API key", "bob@example.com")[-1]
    assert "(log in to see it)" in text_of(welcome)
    assert theft.live["bob's key"] not in text_of(welcome)


def test_another_master_secret_accepts_no_live_credential(theft: Theft) -> None:
    other = Client(replace(theft.app, secrets=[b"\1" * 32]))
    live = theft.live
    assert other.get(USER, session=live["session token"]).status == 401
    body = {"email": "eve@example.com", "password": PASSWORD, "invite_token": live["invite token"]}
    assert other.post(AUTH + "register", body).status == 400
    assert other.get(AUTH + "verifyEmail", query={"token": live["verification link"]}).status == 400
    body = {"token": live["reset link 1"], "newpassword": "another horse battery"}
    assert other.put(AUTH + "newpassword", body).status == 400


def test_a_stored_password_is_salted_argon2id(theft: Theft) -> None:
    stored = [row["password"] for row in theft.rows["users"]]
    assert all(text.startswith("$argon2id$v=19$") for text in stored)
    assert len(set(stored)) == 2  # Both hashes are of the same password.


def test_a_stored_hash_is_not_accepted_as_a_password(theft: Theft) -> None:
    for row in theft.rows["users"]:
        assert login(theft.client, row["email"], row["password"]).status in (400, 401)
    assert session_of(theft.client)


def test_two_services_share_no_credential(make_app: Callable[..., App], clock: FixedClock) -> None:
    first = Client(make_app(**ACCOUNTS))
    second = Client(replace(make_app(**ACCOUNTS), secrets=[b"\1" * 32]))
    for client in (first, second):
        sign_up(client)
    assert second.get(USER, session=session_of(first)).status == 401
    body = {"email": "bob@example.com", "password": PASSWORD, "invite_token": invite_token(first)}
    assert second.post(AUTH + "register", body).status == 400
