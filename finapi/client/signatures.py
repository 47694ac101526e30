"""The signatures of webhooks, as Standard Webhooks 1.0 has them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence

TOLERANCE = 300.0  # seconds that a message may be old, or ahead
PREFIX = "whsec_"


def verify_webhook(
    secrets: str | Sequence[str], headers: Mapping[str, str], body: bytes, now: float, tolerance: float = TOLERANCE
) -> str | None:
    """None for a message that one of the secrets signed within ``tolerance`` seconds of ``now``, else what is wrong.

    ``body`` are the bytes as they came; ``now`` is ``time.time()``. Drop a ``delivery_id`` that was taken before.
    """
    told = {name.lower(): value for name, value in headers.items()}
    message, stamp = told.get("webhook-id"), told.get("webhook-timestamp", "")
    signatures = told.get("webhook-signature", "").split()
    if not message or not signatures or not stamp.isascii() or not stamp.isdigit():
        return "no signature"
    # Some servers hand on bytes that are no text as surrogates, which are no signature, but no error either.
    signed = f"{message}.{stamp}.".encode("utf-8", "replace") + body
    expected = [b"v1," + base64.b64encode(_mac(secret, signed)) for secret in _listed(secrets)]
    found = [hmac.compare_digest(one, given.encode("utf-8", "replace")) for one in expected for given in signatures]
    if not any(found):
        return "wrong signature"
    return None if abs(now - int(stamp)) <= tolerance else "too old or too new"


def signed(secret: str, message: str, stamp: int, body: bytes) -> dict[str, str]:
    """The headers of a message that a secret signs."""
    mac = _mac(secret, f"{message}.{stamp}.".encode() + body)
    signature = f"v1,{base64.b64encode(mac).decode()}"
    return {"webhook-id": message, "webhook-timestamp": str(stamp), "webhook-signature": signature}


def _listed(secrets: str | Sequence[str]) -> Sequence[str]:
    return [secrets] if isinstance(secrets, str) else secrets


def _mac(secret: str, signed: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"a webhook secret is {PREFIX} followed by base64") from None
    return hmac.digest(key, signed, hashlib.sha256)
