"""The UUID of a holder, derived from its CIK or, if no CIK is known, from its name. It is the same for all forms.

The UUIDs are of version 8 (RFC 9562), so they can be computed and are the same in every database. The last digits of a
UUID are the CIK. Queries build UUIDs from CIKs with the same prefix.
"""

from __future__ import annotations

import hashlib
import re
import uuid

_CIK_PREFIX = "f1a9c1c0-0000-8000-8000-"  # Followed by the CIK in twelve digits.


def for_cik(cik: int) -> str:
    """Return the UUID of a company or person with a CIK."""
    return f"{_CIK_PREFIX}{cik:012}"


def for_name(name: str) -> str:
    """Return the UUID of a person without a CIK. Case, spaces and punctuation of the name do not matter."""
    number = int.from_bytes(hashlib.sha256(fold_name(name).encode()).digest()[:16])
    number = _replace_bits(number, 0xF000 << 64, 0x8000 << 64)  # The version: 8.
    number = _replace_bits(number, 0xC000 << 48, 0x8000 << 48)  # The variant of RFC 9562.
    return str(uuid.UUID(int=number))


def _replace_bits(number: int, mask: int, bits: int) -> int:
    return number & ~mask | bits


def fold_name(name: str) -> str:
    """Return a name as its words in lower case, for comparison with other names."""
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))
