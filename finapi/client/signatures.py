"""The signatures of webhooks, by Standard Webhooks 1.0."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence

from finapi.client.errors import WebhookSignatureError

TOLERANCE = 300.0  # Seconds by which the time of a message may differ from the clock.
SECRET_PREFIX = "whsec_"


def verify_webhook(
    secrets: str | bytes | Sequence[str | bytes],
    headers: Mapping[str, str | bytes],
    body: str | bytes,
    now: float | None = None,
    tolerance: float = TOLERANCE,
) -> None:
    """Check that one of the secrets signed a message within ``tolerance`` seconds of ``now``, by default the clock.

    Raise WebhookSignatureError with the reason if not, and ValueError for an invalid secret. ``body`` must be as it
    arrived: JSON that was parsed and written again has another signature. A message whose ``delivery_id`` was
    processed before should be ignored.
    """
    problem = find_signature_problem(secrets, headers, body, time.time() if now is None else now, tolerance)
    if problem is not None:
        raise WebhookSignatureError(problem)


def find_signature_problem(
    secrets: str | bytes | Sequence[str | bytes],
    headers: Mapping[str, str | bytes],
    body: str | bytes,
    now: float,
    tolerance: float = TOLERANCE,
) -> str | None:
    """Return the reason why a message must not be processed, as "wrong signature", or None if it is genuine."""
    lower_headers = {_to_text(name).lower(): _to_text(value) for name, value in headers.items()}
    message_id = lower_headers.get("webhook-id")
    timestamp = lower_headers.get("webhook-timestamp", "")
    signatures = lower_headers.get("webhook-signature", "").split()
    if not message_id or not signatures or not timestamp.isascii() or not timestamp.isdigit():
        return "no signature"
    # Some servers pass bytes that are not text on as surrogates. They match no signature, and must not raise an error.
    body_bytes = body.encode("utf-8", "replace") if isinstance(body, str) else body
    signed_bytes = f"{message_id}.{timestamp}.".encode("utf-8", "replace") + body_bytes
    is_signed = False
    for secret in [secrets] if isinstance(secrets, str | bytes) else secrets:
        expected = b"v1," + base64.b64encode(_compute_mac(_to_text(secret), signed_bytes))
        for signature in signatures:
            is_signed |= hmac.compare_digest(expected, signature.encode("utf-8", "replace"))
    if not is_signed:
        return "wrong signature"
    return None if abs(now - int(timestamp)) <= tolerance else "too old or too new"


def sign_webhook(secret: str, message_id: str, unix_second: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message that is signed with a secret."""
    mac = _compute_mac(secret, f"{message_id}.{unix_second}.".encode() + body)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(unix_second),
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def _compute_mac(secret: str, signed_bytes: bytes) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"a webhook secret must be {SECRET_PREFIX} followed by base64") from None
    return hmac.digest(key, signed_bytes, hashlib.sha256)


def _to_text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
