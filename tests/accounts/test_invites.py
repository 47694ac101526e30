"""Tests of invite codes: one registration each, until used, expired or revoked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from finapi.accounts import credentials, invites, users
from finapi.app import App
from finapi.core.errors import ApiError
from tests.conftest import ACCOUNTS, NOW

LATER = NOW + timedelta(days=1)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


def code_of(app: App, lifetime: timedelta | None = None) -> str:
    return invites.create(app, NOW, lifetime=lifetime, note=None).code


def redeem(app: App, code: str, now: object = NOW) -> str:
    with app.db.read() as tx:
        return invites.redeem(app, tx, code, now)  # type: ignore[arg-type]


def of_token(app: App, token: str, now: object = NOW) -> int:
    with app.db.read() as tx:
        return invites.get_id_by_token(app, tx, token, now)  # type: ignore[arg-type]


def use(app: App, invite_id: int) -> None:
    with app.db.write() as tx:
        invites.use(tx, invite_id, NOW)


def states(app: App, now: object = NOW) -> list[str]:
    with app.db.read() as tx:
        return [row["state"] for row in invites.list_invites(app, tx, now)]  # type: ignore[arg-type]


def test_a_code_has_eighty_bits_in_base32() -> None:
    code = credentials.derive_invite_code([b"\0" * 32], "00000000-0000-4000-8000-000000000001")
    assert re.fullmatch("[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", code)


def test_a_new_invite_is_listed_with_its_code(app: App) -> None:
    invite = invites.create(app, NOW, lifetime=timedelta(days=7), note="for Ann")
    assert (invite.expires_at, invite.note) == ("2026-02-07T12:00:00.000Z", "for Ann")
    with app.db.read() as tx:
        assert invites.list_invites(app, tx, NOW) == [
            {
                "code": invite.code,
                "state": "open",
                "note": "for Ann",
                "created_at": "2026-01-31T12:00:00.000Z",
                "expires_at": "2026-02-07T12:00:00.000Z",
                "used_at": None,
                "used_by": None,
            }
        ]


def test_no_two_codes_are_alike(app: App) -> None:
    assert len({code_of(app) for _ in range(100)}) == 100


def test_redeeming_uses_nothing_up(app: App) -> None:
    code = code_of(app)
    assert of_token(app, redeem(app, code)) == of_token(app, redeem(app, code)) == 1
    assert states(app) == ["open"]


def test_an_invite_is_used_once(app: App) -> None:
    token = redeem(app, code_of(app))
    use(app, 1)
    for call in (lambda: use(app, 1), lambda: of_token(app, token)):
        with pytest.raises(ApiError) as raised:
            call()
        assert (raised.value.status, raised.value.message) == (410, "Invite code is used and cannot be used")
    assert states(app) == ["used"]


def test_an_invite_expires_to_the_millisecond(app: App) -> None:
    code = code_of(app, timedelta(days=1))
    redeem(app, code, LATER - timedelta(milliseconds=1))
    with pytest.raises(ApiError) as raised:
        redeem(app, code, LATER)
    assert (raised.value.status, raised.value.message) == (400, "Invalid or expired invite token")
    assert states(app, LATER) == ["expired"]


def test_a_used_invite_stays_used_when_it_has_expired(app: App) -> None:
    code = code_of(app, timedelta(days=1))
    use(app, 1)
    with pytest.raises(ApiError) as raised:
        redeem(app, code, LATER)
    assert raised.value.status == 410


def test_a_revoked_invite_is_worth_nothing(app: App) -> None:
    code = code_of(app)
    token = redeem(app, code)
    invites.revoke(app, f" {code.lower()}\n", NOW)
    for call in (lambda: redeem(app, code), lambda: of_token(app, token)):
        with pytest.raises(ApiError) as raised:
            call()
        assert raised.value.code == "INVALID_INVITE"
    assert states(app) == ["revoked"]


def test_revoking_twice_or_a_used_one_is_a_conflict(app: App) -> None:
    first, second = code_of(app), code_of(app)
    invites.revoke(app, first, NOW)
    use(app, 2)
    for code in (first, second):
        with pytest.raises(ApiError) as raised:
            invites.revoke(app, code, NOW)
        assert raised.value.code == "CONFLICT"


def test_revoking_an_unknown_code_is_not_found(app: App) -> None:
    with pytest.raises(ApiError) as raised:
        invites.revoke(app, "AAAA-BBBB-CCCC-DDDD", NOW)
    assert raised.value.code == "NOT_FOUND"


def test_a_token_for_another_invite_cannot_be_made_from_ones_own(app: App) -> None:
    code_of(app)
    foreign = credentials.build_invite_token([b"\1" * 32], 1, NOW)
    with pytest.raises(ApiError) as raised:
        of_token(app, foreign)
    assert raised.value.code == "INVALID_INVITE"


def test_codes_and_tokens_survive_a_master_secret_rotation(app: App) -> None:
    code = code_of(app)
    token = redeem(app, code)
    rotated = replace(app, secrets=[b"\1" * 32, *app.secrets])
    assert of_token(rotated, token) == of_token(rotated, redeem(rotated, code)) == 1
    with rotated.db.read() as tx:
        assert invites.list_invites(rotated, tx, NOW)[0]["code"] == code


def test_a_listed_code_whose_secret_is_gone_is_none(app: App) -> None:
    code_of(app)
    other = replace(app, secrets=[b"\1" * 32])
    with other.db.read() as tx:
        assert invites.list_invites(other, tx, NOW)[0]["code"] is None


def test_the_list_says_who_used_an_invite(app: App) -> None:
    code_of(app)
    use(app, 1)
    user = users.create(app, "ann@example.com", "free", NOW)
    with app.db.write() as tx:
        tx.run("set_invite_user", id=1, user_id=user.id)
    with app.db.read() as tx:
        row = invites.list_invites(app, tx, NOW)[0]
    assert (row["used_by"], row["used_at"]) == ("ann@example.com", "2026-01-31T12:00:00.000Z")
