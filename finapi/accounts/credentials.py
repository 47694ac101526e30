"""Keys and tokens that are derived from the master secrets, so that a stolen database contains no usable credential.

A credential is HMAC(master secret, purpose, identifiers of its owner). It can be derived again and shown, although the
database contains only its SHA-256, or nothing. New credentials are derived from the first, newest secret. Old ones keep
working: keys are found by their hash, and tokens are checked with every secret. Only this module imports ``jwt``.
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

# Secret scanners recognise a webhook secret by its prefix.
WEBHOOK_SECRET_PREFIX = "whsec_"

# Seconds by which the issue time of a token may be in the future, as NTP may have set the clock back.
MAX_SKEW = 60

# Tokens of finapi have less than 400 characters. A longer text is not hashed, decoded or parsed.
MAX_TOKEN_LENGTH = 4096

# An HMAC-SHA-256 in base64url without padding: 43 characters, the last of which has 4 significant bits. Decoders ignore
# the other 2 bits, so that four texts would match one signature. Only the canonical text is accepted.
_MAC = r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
_JWT = re.compile(rf"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.{_MAC}")

# PyJWT verifies only the signature. finapi checks the claims itself: PyJWT would compare times with the system clock
# instead of finapi's, and accept a list that contains the audience.
_SIGNATURE_ONLY: Any = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}

TokenType = Literal["session", "invite"]

LinkKind = Literal["verify", "reset", "email_change", "email_revert"]
_LINK_PREFIX: dict[LinkKind, str] = {"verify": "v", "reset": "r", "email_change": "e", "email_revert": "b"}
_LINK = re.compile(rf"([a-z])([1-9][0-9]{{0,18}})\.({_MAC})")
_MAX_ROW_ID = 2**63 - 1  # SQLite's largest rowid


class SessionClaims(NamedTuple):
    """The claims of a valid session token: the user's uuid and the session, which may have ended."""

    sub: str
    session_id: str


def derive_api_key(secrets: Sequence[bytes], user_uuid: str, key_uuid: str) -> str:
    """Return the API key of a user's key record: 32 lowercase hex characters (DECISIONS 1)."""
    return _derive(secrets[0], "api-key", user_uuid, key_uuid).hex()[:API_KEY_LENGTH]


def derive_invite_code(secrets: Sequence[bytes], invite_uuid: str) -> str:
    """Return the code of an invite: 80 bits as ``XXXX-XXXX-XXXX-XXXX`` in base32 (RFC 4648, A-Z and 2-7)."""
    text = base64.b32encode(_derive(secrets[0], "invite-code", invite_uuid)[:10]).decode()
    return "-".join(text[start : start + 4] for start in range(0, 16, 4))


def derive_webhook_secret(secrets: Sequence[bytes], user_uuid: str, secret_uuid: str) -> str:
    """Return the secret that signs a user's webhooks: ``whsec_`` and 32 bytes in base64 (Standard Webhooks 1.0)."""
    return WEBHOOK_SECRET_PREFIX + base64.b64encode(_derive(secrets[0], "webhook", user_uuid, secret_uuid)).decode()


def sign_webhook(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return a message's signature under one secret (``webhook-signature``): ``v1,`` and a base64 HMAC-SHA-256."""
    message = f"{message_id}.{timestamp}.".encode() + body
    mac = hmac.digest(base64.b64decode(secret.removeprefix(WEBHOOK_SECRET_PREFIX)), message, "sha256")
    return f"v1,{base64.b64encode(mac).decode()}"


def derive_again(
    secrets: Sequence[bytes], stored_fingerprint: bytes, derive: Callable[..., str], *parts: str
) -> str | None:
    """Return the credential with a stored fingerprint, or None if its master secret is not among ``secrets``.

    ``derive`` is the function that derived it from ``parts``, such as :func:`derive_api_key`. Every secret is tried, as
    the newest one may not be the one that it was derived from.
    """
    for secret in secrets:
        credential = derive([secret], *parts)
        if fingerprint(credential) == stored_fingerprint:
            return credential
    return None


@lru_cache(maxsize=64)
def get_secret_name(secret: bytes) -> str:
    """Return the name of a master secret: 16 hex characters that do not reveal it. Credentials are stored with it."""
    return _derive(secret, "name").hex()[:16]


def hash_address(secrets: Sequence[bytes], user_uuid: str, address: str) -> bytes:
    """Return the 16-byte hash under which a login's IP address is stored. The address cannot be guessed from it."""
    return _derive(secrets[0], "login-address", user_uuid, address)[:16]


def derive_form_token(secrets: Sequence[bytes], session: bytes) -> str:
    """Return the CSRF token for the forms of a session. ``session`` is the session's fingerprint."""
    return _base64url(_derive(secrets[0], "form", session.hex()))


def sign_receipt(secrets: Sequence[bytes], sha256: str) -> str:
    """Return the signature of the receipt with this hash, as 64 hex characters."""
    return _derive(secrets[0], "receipt", sha256).hex()


def is_receipt_signature(secrets: Sequence[bytes], sha256: str, signature: str) -> bool:
    """Return True if a signature was made for this hash with one of the master secrets."""
    return any(hmac.compare_digest(sign_receipt([secret], sha256), signature) for secret in secrets)


def fingerprint(credential: str) -> bytes:
    """Return the SHA-256 by which a credential is stored and found."""
    # A credential has at least 128 random bits, so a plain hash cannot be reversed by guessing.
    return hashlib.sha256(credential.encode()).digest()


def has_api_key_form(text: str) -> bool:
    """Return True if a text has the form of an API key. Other texts need no look-up."""
    return _API_KEY.fullmatch(text) is not None


def new_session_id(random_bytes: Callable[[int], bytes]) -> str:
    """Return a random session id of 32 characters. The database stores its :func:`fingerprint`."""
    return _base64url(random_bytes(SESSION_ID_BYTES))


def build_session_token(secrets: Sequence[bytes], *, sub: str, session_id: str, now: datetime, lifetime: int) -> str:
    """Return the JWT of a login, valid for ``lifetime`` seconds. ``sub`` is the user's uuid."""
    return _sign_token(secrets, "session", {"sub": sub, "session_id": session_id}, now, lifetime)


def read_session_token(secrets: Sequence[bytes], token: str, now: datetime) -> SessionClaims | None:
    """Return the claims of a session token, or None if it is not a token of finapi that is valid at ``now``."""
    claims = _verify_token(secrets, "session", token, now)
    if claims is None:
        return None
    sub, session_id = claims.get("sub"), claims.get("session_id")
    if not isinstance(sub, str) or not isinstance(session_id, str) or not sub or not session_id:
        return None
    return SessionClaims(sub, session_id)


def build_invite_token(secrets: Sequence[bytes], code_id: int, now: datetime, lifetime: int = INVITE_LIFETIME) -> str:
    """Return the JWT for a redeemed invite code. It only identifies the invite: the row says if it is still valid."""
    return _sign_token(secrets, "invite", {"code_id": code_id}, now, lifetime)


def read_invite_token(secrets: Sequence[bytes], token: str, now: datetime) -> int | None:
    """Return the row id of a token's invite, or None if it is not a token of finapi that is valid at ``now``."""
    claims = _verify_token(secrets, "invite", token, now)
    return None if claims is None else _int_or_none(claims.get("code_id"))


def build_link_token(secrets: Sequence[bytes], kind: LinkKind, row_id: int, row_uuid: str) -> str:
    """Return the token of a mailed link. It is derived from its row whenever the mail is sent.

    It is a letter for the kind, the row id, a dot and the HMAC, and needs no quoting in a URL.
    """
    mac = _base64url(_derive(secrets[0], "link", kind, str(row_id), row_uuid))
    return f"{_LINK_PREFIX[kind]}{row_id}.{mac}"


def read_link_token(kind: LinkKind, token: str) -> int | None:
    """Return the row id in a link token, or None if the text does not have the form of a token of this kind.

    The signature is not checked: find the row, then call :func:`is_link_token_of_row`.
    """
    match = _LINK.fullmatch(token)
    if match is None or match[1] != _LINK_PREFIX[kind] or int(match[2]) > _MAX_ROW_ID:
        return None
    return int(match[2])


def is_link_token_of_row(secrets: Sequence[bytes], kind: LinkKind, token: str, row_id: int, row_uuid: str) -> bool:
    """Return True if a token was derived for this row from one of the secrets. The comparison takes constant time."""
    if read_link_token(kind, token) != row_id:
        return False
    # A list, so that every secret is compared: any() over a generator would stop at the first match.
    matches = [hmac.compare_digest(token, build_link_token([secret], kind, row_id, row_uuid)) for secret in secrets]
    return any(matches)


def _sign_token(secrets: Sequence[bytes], typ: TokenType, claims: dict[str, Any], now: datetime, lifetime: int) -> str:
    import jwt

    issued_at = int(now.timestamp())
    payload = {**claims, "typ": typ, "aud": AUDIENCE, "iat": issued_at, "exp": issued_at + lifetime}
    return jwt.encode(payload, _token_key(secrets[0], typ), algorithm=ALGORITHM)


def _verify_token(secrets: Sequence[bytes], typ: TokenType, token: str, now: datetime) -> dict[str, Any] | None:
    """Return the claims of a valid token of this type that one of the secrets signed, or None."""
    if len(token) > MAX_TOKEN_LENGTH or _JWT.fullmatch(token) is None:
        return None
    import jwt

    # Every secret is tried. The token does not say which one signed it (no ``kid``).
    for secret in secrets:
        # Older versions of PyJWT raise RecursionError for deeply nested JSON.
        with suppress(jwt.PyJWTError, ValueError, RecursionError):
            claims = jwt.decode(token, _token_key(secret, typ), algorithms=[ALGORITHM], options=_SIGNATURE_ONLY)
            issued_at, expires_at = _int_or_none(claims.get("iat")), _int_or_none(claims.get("exp"))
            if claims.get("typ") != typ or claims.get("aud") != AUDIENCE or issued_at is None or expires_at is None:
                return None
            is_valid_now = issued_at <= now.timestamp() + MAX_SKEW and now.timestamp() < expires_at
            return claims if is_valid_now else None
    return None


def _int_or_none(claim: object) -> int | None:
    # isinstance would accept true as a number.
    return claim if type(claim) is int else None


def _token_key(secret: bytes, typ: TokenType) -> bytes:
    """Return the signing key of a type of token, so that a signature is valid for one type only."""
    return _derive(secret, "token", typ)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _derive(secret: bytes, purpose: str, *parts: str) -> bytes:
    # The parts do not contain NUL, so two different lists of parts never give the same message.
    return hmac.digest(secret, "\0".join(("finapi", purpose, *parts)).encode(), "sha256")
