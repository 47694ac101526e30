"""Passwords: which ones may be chosen, and their argon2id hashes.

This is the only module that imports argon2, and it does so with the first password (DECISIONS 15). A password is hashed
as it was sent: it is not trimmed, folded or normalised, and each character counts, NUL included.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Hashable
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from finapi.core import memory
from finapi.core.errors import invalid_param
from finapi.core.fair_queue import FairQueue
from finapi.core.files import get_package_folder

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# Characters, not bytes (DECISIONS 1).
MIN_LENGTH = 8
MAX_LENGTH = 1024

BUSY_MESSAGE = "Too many passwords to check at once."
# A refusal is sent after this time, so that clients that repeat a refused login immediately leave room for others.
REFUSAL_DELAY_SECONDS = 1.0


class Profile(NamedTuple):
    """The cost of an argon2id hash."""

    passes: int
    memory_kib: int
    lanes: int
    salt_length: int  # Bytes.
    digest_length: int


PROFILES = {
    # OWASP Password Storage Cheat Sheet: the least memory that it recommends for two passes.
    "default": Profile(passes=2, memory_kib=19 * 1024, lanes=1, salt_length=16, digest_length=32),
    # The default of argon2-cffi, which is the second choice of RFC 9106.
    "library": Profile(passes=3, memory_kib=64 * 1024, lanes=4, salt_length=16, digest_length=32),
    # CHEAPEST of argon2-cffi, for tests. It does not protect a password.
    "cheap": Profile(passes=1, memory_kib=8, lanes=1, salt_length=8, digest_length=4),
}


class Hasher:
    """Hashes and verifies passwords. The queue limits how many hashes, each with its memory, run at the same time."""

    def __init__(self, profile: str, queue: FairQueue | None = None) -> None:
        self.profile = PROFILES[profile]
        self.queue = queue or FairQueue(BUSY_MESSAGE, 2, 16, 5.0)

    def hash(self, password: str, *keys: Hashable) -> str:
        """Return a new hash of a password, to be stored. Wait for a turn in the queue under ``keys``.

        Raise ValueError for a password that is too long or not valid Unicode, which :func:`check_new` refuses.
        """
        password_bytes = _encode(password)
        if password_bytes is None:
            raise ValueError(f"a password must be valid Unicode of at most {MAX_LENGTH} characters")
        with self.queue.enter(*keys):
            return self._argon2.hash(password_bytes)

    def verify(self, stored_hash: str | None, password: str) -> bool:
        """Return True if a password has the stored hash. The caller must have a turn in the queue.

        For a user that does not exist, ``stored_hash`` is None. The result is False after the same work, so that the
        time does not reveal whether the user exists (except between a change of profile and the user's next login, see
        :meth:`needs_rehash`). Raise an error of argon2 for a damaged hash.
        """
        password_bytes = _encode(password)
        if password_bytes is None:
            return False
        from argon2.exceptions import VerifyMismatchError

        try:
            self._argon2.verify(self._decoy_hash if stored_hash is None else stored_hash, password_bytes)
        except VerifyMismatchError:
            return False
        return stored_hash is not None

    def needs_rehash(self, stored_hash: str) -> bool:
        """Return True if a hash was computed with another profile."""
        return self._argon2.check_needs_rehash(stored_hash)

    @cached_property
    def _argon2(self) -> PasswordHasher:
        from argon2 import PasswordHasher

        memory.map_large_blocks()
        return PasswordHasher(
            time_cost=self.profile.passes,
            memory_cost=self.profile.memory_kib,
            parallelism=self.profile.lanes,
            salt_len=self.profile.salt_length,
            hash_len=self.profile.digest_length,
        )

    @cached_property
    def _decoy_hash(self) -> str:
        """Return a hash that no password is known to match, because its salt and digest are random."""
        profile = self.profile
        cost = f"m={profile.memory_kib},t={profile.passes},p={profile.lanes}"
        return f"$argon2id$v=19${cost}${_random_base64(profile.salt_length)}${_random_base64(profile.digest_length)}"


def _random_base64(length: int) -> str:
    return base64.b64encode(os.urandom(length)).rstrip(b"=").decode("ascii")


def check_new(password: str, param: str, *, common: Literal["refused", "allowed"]) -> None:
    """Raise INVALID_PARAM for a new password that is too short, too long, or (if ``common`` says so) too common.

    ``param`` is the name of the parameter that contains the password.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        expected = f"{MIN_LENGTH} to {MAX_LENGTH} characters"
        raise invalid_param(param, f"The password must have {expected}", expected=expected)
    if _encode(password) is None:
        raise invalid_param(param, "The password contains an unpaired surrogate", expected="Unicode characters")
    # The list has lower-case spellings. An attacker tries capital letters first.
    if common == "refused" and password.lower() in _load_common_passwords():
        raise invalid_param(
            param,
            "The password is one of the most common ones. Choose one that nobody would guess.",
            expected="a password that is not in common use",
        )


def _encode(password: str) -> bytes | None:
    """Return the bytes to hash, or None for a text that is too long or not Unicode (JSON can contain ``\\ud800``)."""
    if len(password) > MAX_LENGTH:
        return None
    try:
        return password.encode()
    except UnicodeEncodeError:
        return None


@cache
def _load_common_passwords() -> frozenset[str]:
    """Return the 3,000 most common passwords of 8 characters or more, in lower case.

    They are from the frequency list of zxcvbn 4.5.0 on PyPI (MIT, (c) 2012-2016 Dan Wheeler and Dropbox, Inc., and
    2016 Daniel Wolf), which ranks leaked passwords.
    """
    text = get_package_folder("finapi.core").joinpath("common_passwords.txt").read_text("ascii")
    return frozenset(text.splitlines())
