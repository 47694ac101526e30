"""Keys and tokens made from the master secrets, so that the database holds none that can be used.

A credential is HMAC(master secret, purpose, what it belongs to), so that it can be shown again while the database
holds its SHA-256 only, or nothing. New ones come from the first, newest secret; old ones go on working, because keys
are found by their hash and tokens are compared with every secret. jwt is imported here only, where it is needed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

API_KEY_LENGTH = 32
_API_KEY = re.compile(rf"[0-9a-f]{{{API_KEY_LENGTH}}}")

# Bytes of randomness in a session id: 192 bits, and 32 characters without padding.
SESSION_ID_BYTES = 24

AUDIENCE = "finapi"
ALGORITHM = "HS256"
INVITE_LIFETIME = 15 * 60  # seconds (DECISIONS 3)

# How a webhook secret begins, so that it is known for one wherever it turns up.
WEBHOOK_SECRET_PREFIX = "whsec_"

# Seconds that a token may seem to come from the future: what a clock that is set back by NTP makes of it.
MAX_SKEW = 60

# Ours have under 400 characters. What is longer is not hashed, decoded or parsed.
MAX_TOKEN_LENGTH = 4096

# An HMAC-SHA-256 in base64url without padding: 43 characters, the last of which carries 4 bits. Decoders, that of
# older PyJWT among them, ignore the other 2, and four texts would pass for one signature; only the canonical may.
_MAC = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
_JWT = re.compile(rf"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.{_MAC}")

# Only the signature is PyJWT's to judge: for times it reads a clock of its own, and an audience it finds in lists too.
_SIGNATURE_ONLY: Any = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}

TokenType = Literal["session", "invite"]

LinkKind = Literal["verify", "reset"]
_LINK_PREFIX: dict[LinkKind, str] = {"verify": "v", "reset": "r"}
_LINK = re.compile(rf"([a-z])([1-9][0-9]{{0,18}})\.({_MAC})")
_MAX_ROW_ID = 2**63 - 1  # SQLite's largest rowid


class SessionClaims(NamedTuple):
    """What a genuine session token says: the user's uuid and the session, which may have ended since."""

    sub: str
    session_id: str


def derive_api_key(secrets: Sequence[bytes], user_uuid: str, key_uuid: str) -> str:
    """The API key of a user's key record: 32 lowercase hex characters (DECISIONS 1)."""
    return _derive(secrets[0], "api-key", user_uuid, key_uuid).hex()[:API_KEY_LENGTH]


def derive_invite_code(secrets: Sequence[bytes], invite_uuid: str) -> str:
    """The invite code of an invite's row: 80 bits as ``XXXX-XXXX-XXXX-XXXX`` in base32 (RFC 4648, A-Z and 2-7)."""
    text = base64.b32encode(_derive(secrets[0], "invite-code", invite_uuid)[:10]).decode()
    return "-".join(text[place : place + 4] for place in range(0, 16, 4))


def derive_webhook_secret(secrets: Sequence[bytes], user_uuid: str, secret_uuid: str) -> str:
    """The secret that signs a user's webhooks: ``whsec_`` and 32 bytes in base64 (Standard Webhooks 1.0)."""
    return WEBHOOK_SECRET_PREFIX + base64.b64encode(_derive(secrets[0], "webhook", user_uuid, secret_uuid)).decode()


def sign_webhook(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """What ``webhook-signature`` says of a message under one secret: ``v1,`` and an HMAC-SHA-256 in base64."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    mac = hmac.digest(base64.b64decode(secret.removeprefix(WEBHOOK_SECRET_PREFIX)), signed, "sha256")
    return f"v1,{base64.b64encode(mac).decode()}"


def derive_again(secrets: Sequence[bytes], stored: bytes, derive: Callable[..., str], *parts: str) -> str | None:
    """What :func:`api_key`, :func:`invite_code` or :func:`webhook_secret` made of ``parts``, by the fingerprint stored.

    One of the secrets made it, which may not be the newest; None when that one is gone.
    """
    return next((text for secret in secrets if fingerprint(text := derive([secret], *parts)) == stored), None)


@lru_cache(maxsize=64)
def get_secret_name(secret: bytes) -> str:
    """The name of a master secret, 16 hex characters that tell nothing of it: what it made bears it."""
    return _derive(secret, "name").hex()[:16]


def hash_address(secrets: Sequence[bytes], user_uuid: str, address: str) -> bytes:
    """What is stored of an address that a user logged in from: 16 bytes, of which it cannot be guessed again."""
    return _derive(secrets[0], "login-address", user_uuid, address)[:16]


def derive_form_token(secrets: Sequence[bytes], session: bytes) -> str:
    """What the forms of a session carry, so that no other site can send one; the session by its fingerprint."""
    return _base64url(_derive(secrets[0], "form", session.hex()))


def fingerprint(credential: str) -> bytes:
    """The SHA-256 by which a credential is stored and found."""
    # Of 128 random-looking bits or more: a plain hash is not open to guessing.
    return hashlib.sha256(credential.encode()).digest()


def has_api_key_form(text: str) -> bool:
    """Whether ``text`` could be an API key at all, so that nonsense costs no look-up."""
    return _API_KEY.fullmatch(text) is not None


def new_session_id(random_bytes: Callable[[int], bytes]) -> str:
    """A fresh session id, 32 characters; the database keeps its :func:`fingerprint`."""
    return _base64url(random_bytes(SESSION_ID_BYTES))


def build_session_token(secrets: Sequence[bytes], *, sub: str, session_id: str, now: datetime, lifetime: int) -> str:
    """The JWT of a login: user uuid as ``sub``, ``session_id``, good for ``lifetime`` seconds."""
    return _signed(secrets, "session", {"sub": sub, "session_id": session_id}, now, lifetime)


def read_session_token(secrets: Sequence[bytes], token: str, now: datetime) -> SessionClaims | None:
    """What a session token says, or None for anything that is not one of ours in force at ``now``."""
    claims = _verified(secrets, "session", token, now)
    said = [claims.get(name) for name in ("sub", "session_id")] if claims is not None else [None]
    return SessionClaims(*said) if all(isinstance(text, str) and text for text in said) else None


def build_invite_token(secrets: Sequence[bytes], code_id: int, now: datetime, lifetime: int = INVITE_LIFETIME) -> str:
    """The JWT for a redeemed invite code, by the id of its row. The row decides; this only leads to it."""
    return _signed(secrets, "invite", {"code_id": code_id}, now, lifetime)


def read_invite_token(secrets: Sequence[bytes], token: str, now: datetime) -> int | None:
    """The id of the invite code that a token stands for, or None as for session tokens."""
    claims = _verified(secrets, "invite", token, now)
    return None if claims is None else _whole(claims.get("code_id"))


def build_link_token(secrets: Sequence[bytes], kind: LinkKind, row_id: int, row_uuid: str) -> str:
    """The token in a mailed link, made again from its row whenever a mail is sent.

    A letter for the kind, the row id, a dot and the HMAC: it needs no quoting in a URL.
    """
    mac = _base64url(_derive(secrets[0], "link", kind, str(row_id), row_uuid))
    return f"{_LINK_PREFIX[kind]}{row_id}.{mac}"


def read_link_token(kind: LinkKind, token: str) -> int | None:
    """The row id that a link token names, or None for what cannot be a token of this kind.

    Nothing is proven yet: find the row, then ask :func:`link_token_matches`.
    """
    match = _LINK.fullmatch(token)
    if match is None or match[1] != _LINK_PREFIX[kind] or int(match[2]) > _MAX_ROW_ID:
        return None
    return int(match[2])


def is_link_token_of_row(secrets: Sequence[bytes], kind: LinkKind, token: str, row_id: int, row_uuid: str) -> bool:
    """Whether ``token`` was made for this row, under any of the secrets; in time that tells nothing of it."""
    if read_link_token(kind, token) != row_id:
        return False
    found = [hmac.compare_digest(token, build_link_token([secret], kind, row_id, row_uuid)) for secret in secrets]
    return any(found)


def _signed(secrets: Sequence[bytes], typ: TokenType, claims: dict[str, Any], now: datetime, lifetime: int) -> str:
    import jwt

    issued = int(now.timestamp())
    payload = {**claims, "typ": typ, "aud": AUDIENCE, "iat": issued, "exp": issued + lifetime}
    return jwt.encode(payload, _token_key(secrets[0], typ), algorithm=ALGORITHM)


def _verified(secrets: Sequence[bytes], typ: TokenType, token: str, now: datetime) -> dict[str, Any] | None:
    """The claims of a token of this type that one of the secrets signed and that is in force, else None."""
    if len(token) > MAX_TOKEN_LENGTH or _JWT.fullmatch(token) is None:
        return None
    import jwt

    # Every secret in turn: which one signed is never taken from the token (no ``kid``).
    for secret in secrets:
        # Older PyJWTs let deeply nested JSON through as a RecursionError.
        with suppress(jwt.PyJWTError, ValueError, RecursionError):
            claims = jwt.decode(token, _token_key(secret, typ), algorithms=[ALGORITHM], options=_SIGNATURE_ONLY)
            issued, expires = _whole(claims.get("iat")), _whole(claims.get("exp"))
            if claims.get("typ") != typ or claims.get("aud") != AUDIENCE or issued is None or expires is None:
                return None
            return claims if issued <= now.timestamp() + MAX_SKEW and now.timestamp() < expires else None
    return None


def _whole(value: object) -> int | None:
    # ``type``, not isinstance: true is no number here.
    return value if type(value) is int else None


def _token_key(secret: bytes, typ: TokenType) -> bytes:
    """The signing key of one type of token: a signature of one is no signature of the other."""
    return _derive(secret, "token", typ)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _derive(secret: bytes, purpose: str, *parts: str) -> bytes:
    # NUL cannot occur in the parts, so no two lists of parts give the same message.
    return hmac.digest(secret, "\0".join(("finapi", purpose, *parts)).encode(), "sha256")
