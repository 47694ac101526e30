"""Keys derived from the master secrets, so that the database holds none that can be used.

DESIGN "Secrets": a credential is HMAC(master secret, purpose, what it belongs to). It can be shown again to
its owner while the database holds its SHA-256 only. The list of secrets is newest first: new credentials
come from the first, and because they are found by their hash, old ones go on working.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

API_KEY_LENGTH = 32


def api_key(secrets: Sequence[bytes], user_uuid: str, key_uuid: str) -> str:
    """The API key of a user's key record: 32 lowercase hex characters (CONTRACT 1)."""
    return _derive(secrets[0], "api-key", user_uuid, key_uuid).hex()[:API_KEY_LENGTH]


def fingerprint(credential: str) -> bytes:
    """The SHA-256 by which a credential is stored and found.

    Credentials are 128 random-looking bits or more, so a plain hash is not open to guessing.
    """
    return hashlib.sha256(credential.encode()).digest()


def looks_like_api_key(text: str) -> bool:
    """Whether ``text`` could be an API key at all, so that nonsense costs no look-up."""
    return len(text) == API_KEY_LENGTH and text.isascii() and all(c in "0123456789abcdef" for c in text)


def _derive(secret: bytes, purpose: str, *parts: str) -> bytes:
    # NUL cannot occur in the parts, so no two lists of parts give the same message.
    return hmac.digest(secret, "\0".join(("finapi", purpose, *parts)).encode(), "sha256")
