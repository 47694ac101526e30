"""Who holds something, by one UUID over all forms: a CIK where there is one, else a name.

The UUID is of version 8 (RFC 9562), made of what it stands for: it is the same in every database, and that of a CIK can
be read back without a table.
"""

from __future__ import annotations

import hashlib
import re
import uuid

_PREFIX = "f1a9c1c0-0000-8000-8"  # of a CIK; the rest is its ten digits behind a zero


def for_cik(cik: int) -> str:
    """The UUID of a company or person of the SEC's."""
    return f"{_PREFIX}000-{cik:012}"


def for_name(name: str) -> str:
    """The UUID of a person who is known by name only; case, spaces and punctuation do not count."""
    digits = int.from_bytes(hashlib.sha256(fold_name(name).encode()).digest()[:16])
    digits = digits & ~(0xF000 << 64) | 0x8000 << 64  # version 8
    return str(uuid.UUID(int=digits & ~(0xC000 << 48) | 0x8000 << 48))  # the variant of RFC 9562


def fold_name(name: str) -> str:
    """A name as it is compared."""
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))
