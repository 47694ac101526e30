"""Tests of session tokens, invite tokens and the tokens of mailed links: their content, and refused variants."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import os
import re
import string
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finapi.accounts import credentials
from finapi.accounts.credentials import (
    LinkKind,
    SessionClaims,
    build_invite_token,
    build_link_token,
    build_session_token,
    fingerprint,
    is_link_token_of_row,
    new_session_id,
    read_invite_token,
    read_link_token,
    read_session_token,
)
from finapi.app import App
from tests.support.case_tables import run_each_case

NOW = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)
EPOCH = 1769860800  # of NOW, in whole seconds
OLD, NEW, FOREIGN = b"\x01" * 32, b"\x02" * 32, b"\x03" * 32
SECRETS = [NEW, OLD]
USER = "00000000-0000-4000-8000-000000000001"
ROW = "00000000-0000-4000-8000-000000000002"
SESSION = "bJ2oWkQeXr5p1vTzN8mYcA0dLhGfSiUx"
CLAIMS = SessionClaims(USER, SESSION)

URL_SAFE = string.ascii_letters + string.digits + "-_"


def session(now: datetime = NOW, secrets: list[bytes] = SECRETS) -> str:
    return build_session_token(secrets, sub=USER, session_id=SESSION, now=now, lifetime=3600)


def read(token: str, now: datetime = NOW) -> SessionClaims | None:
    return read_session_token(SECRETS, token, now)


def payload(token: str) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return decoded


def encode_part(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def key(purpose: str, secret: bytes = NEW) -> bytes:
    return hmac.new(secret, f"finapi\0token\0{purpose}".encode(), hashlib.sha256).digest()


def sign_token(claims: object, header: object = None, purpose: str = "session", secret: bytes = NEW) -> str:
    """Return a token with any content, signed by hand with the genuine key."""
    parts = f"{encode_part(header or {'alg': 'HS256', 'typ': 'JWT'})}.{encode_part(claims)}"
    mac = hmac.new(key(purpose, secret), parts.encode(), hashlib.sha256).digest()
    return f"{parts}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def claims(**changes: object) -> dict[str, object]:
    """Return the claims of a good session token with some changed; None leaves one out."""
    good = {"sub": USER, "session_id": SESSION, "typ": "session", "aud": "finapi", "iat": EPOCH, "exp": EPOCH + 3600}
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


# ---- session ids


def test_a_session_id_is_192_random_bits_in_32_characters() -> None:
    assert new_session_id(lambda count: bytes(range(count))) == "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"


def test_random_bytes_come_from_the_operating_system(app: App) -> None:
    assert app.random_bytes is os.urandom
    session_ids = {new_session_id(app.random_bytes) for _ in range(1000)}
    assert len(session_ids) == 1000


def test_a_session_id_has_a_fingerprint() -> None:
    assert fingerprint(SESSION) == hashlib.sha256(SESSION.encode()).digest()


# ---- session tokens


def test_a_session_token_says_who_which_session_and_until_when() -> None:
    token = session()
    assert payload(token) == claims()
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
    assert read(token) == CLAIMS


def test_a_session_token_is_signed_with_a_key_of_its_own() -> None:
    assert session() == jwt.encode(payload(session()), key("session"), algorithm="HS256")


@run_each_case(
    "seconds, good",
    [(-61, False), (-60, True), (-1, True), (0, True), (3599.749, True), (3599.75, False), (3600, False), (1e9, False)],
)
def test_a_session_token_is_good_for_its_lifetime_by_our_clock(seconds: float, good: bool) -> None:
    # Issued at a quarter past the second, which the token does not carry.
    assert (read(session(), NOW + timedelta(seconds=seconds)) is not None) is good


def test_the_machines_own_clock_does_not_matter() -> None:
    for moment in (datetime(1999, 1, 1, tzinfo=UTC), datetime(2199, 1, 1, tzinfo=UTC)):
        assert read(session(moment), moment) == CLAIMS


def test_a_rotated_secret_verifies_and_a_dropped_one_does_not() -> None:
    before = session(secrets=[OLD])
    assert read_session_token([NEW, OLD], before, NOW) == CLAIMS
    assert read_session_token([NEW], before, NOW) is None
    assert session(secrets=[NEW, OLD]) == session(secrets=[NEW])


def test_a_token_by_hand_is_read_like_ours() -> None:
    assert read(sign_token(claims())) == CLAIMS
    assert read(sign_token(claims(), secret=OLD)) == CLAIMS
    assert read(sign_token(claims(more="claims"))) == CLAIMS


@run_each_case(
    "changes",
    [
        *({name: None} for name in ("sub", "session_id", "typ", "aud", "iat", "exp")),
        *({"sub": wrong} for wrong in ("", 7, [USER], {"a": 1}, True)),
        *({"session_id": wrong} for wrong in ("", 7, [SESSION], {"a": 1}, False)),
        *({"typ": wrong} for wrong in ("invite", "Session", "", ["session"], 1)),
        *({"aud": wrong} for wrong in ("other", "", ["finapi"], ["finapi", "other"], {"finapi": 1}, 1)),
        *({"iat": wrong} for wrong in (str(EPOCH), float(EPOCH), True, [EPOCH], EPOCH + 61, 10**400)),
        *({"exp": wrong} for wrong in (str(EPOCH + 9), EPOCH + 9.5, True, [EPOCH], EPOCH, EPOCH - 1, 0, -(10**400))),
    ],
)
def test_wrong_claims_are_refused_though_the_signature_is_right(changes: dict[str, object]) -> None:
    assert read(sign_token(claims(**changes))) is None


@run_each_case("body", ["null", "[]", '"text"', "7", "", "{", "\x00", "[" * 2500, "NaN", "{}"])
def test_a_payload_that_is_no_object_of_claims_is_refused(body: str) -> None:
    assert read(sign_token(body)) is None


@run_each_case(
    "header",
    [
        {"alg": "none"},
        {"alg": "None"},
        {"alg": "NONE", "typ": "JWT"},
        {"alg": "HS384"},
        {"alg": "HS512"},
        {"alg": "RS256"},
        {"alg": "hs256"},
        {"alg": ""},
        {"alg": None},
        {"alg": ["HS256"]},
        {"alg": 256},
        {"typ": "JWT"},
        {"alg": "HS256", "crit": ["b64"], "b64": False},
        {"alg": "HS256", "b64": False},
        "null",
        "[]",
        "{",
        "[" * 2500,
        '{"alg":' * 400,
    ],
)
def test_another_header_is_refused_though_the_signature_is_right(header: object) -> None:
    assert read(sign_token(claims(), header)) is None


@run_each_case("kid", ["0", "1", "../../dev/null", ""])
def test_a_key_id_in_the_token_chooses_nothing(kid: str) -> None:
    header = {"alg": "HS256", "kid": kid}
    assert read(sign_token(claims(), header, secret=OLD)) == CLAIMS
    assert read(sign_token(claims(), header, secret=FOREIGN)) is None


def test_an_unsigned_token_is_refused() -> None:
    unsigned = jwt.encode(claims(), None, algorithm="none")
    header, body, mac = session().split(".")
    for token in (unsigned, unsigned + mac, f"{header}.{body}.", f"{header}.{body}"):
        assert read(token) is None


@run_each_case(
    "secret",
    [FOREIGN, b"", b"\x00", NEW, key("invite"), key("session", FOREIGN)],
)
def test_a_foreign_key_is_refused(secret: bytes) -> None:
    mac = hmac.new(secret, session().rpartition(".")[0].encode(), hashlib.sha256).digest()
    token = session().rpartition(".")[0] + "." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    assert read(token) is None


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
@pytest.mark.filterwarnings("ignore:The HMAC key is 32 bytes long")
def test_another_algorithm_with_our_key_is_refused(algorithm: str) -> None:
    assert read(jwt.encode(claims(), key("session"), algorithm=algorithm)) is None


def test_an_api_key_or_link_token_is_no_session_token() -> None:
    assert read(credentials.derive_api_key(SECRETS, USER, ROW)) is None
    assert read(build_link_token(SECRETS, "reset", 7, ROW)) is None


def alter_token(token: str) -> list[str]:
    """Return the token with every character changed in every bit, dropped, doubled, and swapped with the next."""
    texts = []
    for position, character in enumerate(token):
        before, after = token[:position], token[position + 1 :]
        texts += [before + chr(ord(character) ^ (1 << bit)) + after for bit in range(8)]
        texts += [before + other + after for other in "AQgw.=+/ \n\u00e9"]
        texts += [before + after, before + character * 2 + after]
        if after:
            texts.append(before + after[0] + character + after[1:])
    texts += [token + tail for tail in ("=", "A", ".", " ", "\n", "\0", "." + token)]
    texts += [" " + token, "\n" + token, "Bearer " + token, token.upper(), token.lower(), token[::-1]]
    return [text for text in texts if text != token]


def test_no_altered_session_token_is_read() -> None:
    assert [text for text in alter_token(session()) if read(text) is not None] == []


def test_one_signature_has_one_spelling() -> None:
    # The last of 43 characters carries 4 bits; a decoder that ignores the other 2 takes four texts for one.
    token = session()
    assert [last for last in URL_SAFE if read(token[:-1] + last) is not None] == [token[-1]]


@run_each_case(
    "text",
    ["", ".", "..", "...", "a.b.c", "null", "\0", "\ud800", "\ud800.\ud800." + "A" * 43, "é.é." + "A" * 43, "x" * 5000],
)
def test_garbage_is_no_token_of_any_kind(text: str) -> None:
    assert read(text) is None
    assert read_invite_token(SECRETS, text, NOW) is None
    assert read_link_token("verify", text) is None
    assert is_link_token_of_row(SECRETS, "verify", text, 1, ROW) is False


@given(st.text(), st.text(URL_SAFE + ".", min_size=43, max_size=400))
def test_no_text_makes_a_reader_raise(anything: str, likely: str) -> None:
    for text in (anything, likely, f"v1.{likely[:43]}", f"{encode_part(anything.encode().hex())}.e30.{likely[:42]}A"):
        assert read(text) is None
        assert read_invite_token(SECRETS, text, NOW) is None
        assert is_link_token_of_row(SECRETS, "verify", text, 1, ROW) is False
        assert read_link_token("reset", text) is None or text[0] == "r"


def test_an_oversized_token_is_refused_unread() -> None:
    def pad_token(length: int) -> str:
        return next(
            token
            for size in itertools.count(length * 3 // 4 - 300)
            if len(token := sign_token(claims(x="x" * size))) >= length
        )

    assert len(pad_token(4090)) <= 4096
    assert read(pad_token(4090)) == CLAIMS
    assert read(pad_token(4097)) is None


# ---- invite tokens


def test_an_invite_token_leads_to_its_code_for_15_minutes() -> None:
    token = build_invite_token(SECRETS, 42, NOW)
    assert payload(token) == {"code_id": 42, "typ": "invite", "aud": "finapi", "iat": EPOCH, "exp": EPOCH + 900}
    assert read_invite_token(SECRETS, token, NOW) == 42
    assert read_invite_token(SECRETS, token, NOW + timedelta(seconds=899)) == 42
    assert read_invite_token(SECRETS, token, NOW + timedelta(seconds=900)) is None


def test_an_invite_token_outlives_a_rotation() -> None:
    assert read_invite_token([NEW, OLD], build_invite_token([OLD], 42, NOW), NOW) == 42
    assert read_invite_token([NEW], build_invite_token([OLD], 42, NOW), NOW) is None


def test_one_type_of_token_is_never_accepted_as_another() -> None:
    assert read_invite_token(SECRETS, session(), NOW) is None
    assert read(build_invite_token(SECRETS, 42, NOW)) is None
    # Not even when all of it is right but the key, or all but the type.
    both = claims(code_id=42)
    for typ, purpose in (("session", "invite"), ("invite", "session")):
        token = sign_token({**both, "typ": typ}, purpose=purpose)
        assert (read(token), read_invite_token(SECRETS, token, NOW)) == (None, None)


@run_each_case("code_id", [None, "42", 42.0, True, [42], {}])
def test_an_invite_token_without_a_code_is_refused(code_id: object) -> None:
    token = sign_token(claims(typ="invite", code_id=code_id), purpose="invite")
    assert read_invite_token(SECRETS, token, NOW) is None


def test_no_altered_invite_token_is_read() -> None:
    token = build_invite_token(SECRETS, 42, NOW)
    assert [text for text in alter_token(token) if read_invite_token(SECRETS, text, NOW) is not None] == []


# ---- link tokens


@pytest.mark.parametrize(("kind", "letter"), [("verify", "v"), ("reset", "r")])
def test_a_link_token_is_its_row_and_the_hmac_over_it(kind: LinkKind, letter: str) -> None:
    mac = hmac.new(NEW, f"finapi\0link\0{kind}\x0017\0{ROW}".encode(), hashlib.sha256).digest()
    expected = f"{letter}17." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    assert build_link_token(SECRETS, kind, 17, ROW) == expected
    assert read_link_token(kind, expected) == 17
    assert is_link_token_of_row(SECRETS, kind, expected, 17, ROW) is True


@given(st.integers(1, 2**63 - 1))
def test_a_link_token_carries_any_row_id_and_needs_no_quoting(row_id: int) -> None:
    token = build_link_token(SECRETS, "verify", row_id, ROW)
    assert read_link_token("verify", token) == row_id
    assert re.fullmatch(r"[A-Za-z0-9._-]+", token)
    assert token[-1].isalnum()  # programs that find links in a text leave punctuation at the end out


def test_a_link_token_of_one_kind_is_refused_as_another() -> None:
    reset, verify = build_link_token(SECRETS, "reset", 17, ROW), build_link_token(SECRETS, "verify", 17, ROW)
    assert read_link_token("verify", reset) is None
    assert read_link_token("reset", verify) is None
    assert is_link_token_of_row(SECRETS, "verify", reset, 17, ROW) is False
    assert is_link_token_of_row(SECRETS, "verify", "v" + reset[1:], 17, ROW) is False


def test_a_link_token_is_of_one_row_only() -> None:
    token = build_link_token(SECRETS, "reset", 17, ROW)
    assert is_link_token_of_row(SECRETS, "reset", token, 18, ROW) is False
    assert is_link_token_of_row(SECRETS, "reset", token.replace("17", "18", 1), 18, ROW) is False
    assert is_link_token_of_row(SECRETS, "reset", token, 17, USER) is False


def test_a_link_outlives_a_rotation_and_ends_with_its_secret() -> None:
    token = build_link_token([OLD], "reset", 17, ROW)
    assert is_link_token_of_row([NEW, OLD], "reset", token, 17, ROW) is True
    assert is_link_token_of_row([OLD, NEW], "reset", token, 17, ROW) is True
    assert is_link_token_of_row([NEW], "reset", token, 17, ROW) is False
    assert build_link_token([NEW, OLD], "reset", 17, ROW) == build_link_token([NEW], "reset", 17, ROW)


def test_a_link_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    token = build_link_token([NEW], "reset", 17, ROW)
    compared: list[bool] = []
    compare = hmac.compare_digest

    def counted(a: str, b: str) -> bool:
        compared.append(compare(a, b))
        return compared[-1]

    monkeypatch.setattr("finapi.accounts.credentials.hmac.compare_digest", counted)
    assert is_link_token_of_row([NEW, OLD, FOREIGN], "reset", token, 17, ROW) is True
    assert compared == [True, False, False]


@run_each_case(
    "number", ["", "0", "017", "-17", "+17", "1_7", " 17", "١٧", "1.7", "0x11", str(2**63), "9" * 19, "9" * 3000]
)
def test_a_row_id_has_one_spelling_and_fits_the_database(number: str) -> None:
    mac = build_link_token(SECRETS, "reset", 17, ROW).partition(".")[2]
    assert read_link_token("reset", f"r{number}.{mac}") is None


def test_no_altered_link_token_matches() -> None:
    token = build_link_token(SECRETS, "reset", 17, ROW)
    assert [text for text in alter_token(token) if is_link_token_of_row(SECRETS, "reset", text, 17, ROW)] == []


def test_jwt_is_not_loaded_before_the_first_token() -> None:
    script = "import sys; from finapi.accounts import credentials; print('jwt' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
