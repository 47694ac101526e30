"""Passwords: which may be chosen, and argon2id with a bound on how much of it runs at once.

The only module that imports argon2, and not before the first password (DECISIONS 15). A password is
used as it was sent: nothing is trimmed, folded or normalised, and every character counts, NUL included.
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


class Profile(NamedTuple):
    """The cost of one argon2id hash: passes over the memory, KiB of it, lanes; bytes of salt and of digest."""

    passes: int
    memory_kib: int
    lanes: int
    salt_length: int
    digest_length: int


PROFILES = {
    # OWASP Password Storage Cheat Sheet: the least memory that it recommends for two passes.
    "default": Profile(2, 19 * 1024, 1, 16, 32),
    # argon2-cffi's own default, RFC 9106's second choice: 64 MiB, four threads.
    "library": Profile(3, 64 * 1024, 4, 16, 32),
    # argon2-cffi's CHEAPEST, for tests: it keeps nobody out.
    "cheap": Profile(1, 8, 1, 8, 4),
}


class Hasher:
    """Hashes passwords, within ``turns``: a flood of logins costs as many times the profile's memory as run at once."""

    def __init__(self, profile: str, turns: FairQueue | None = None) -> None:
        self.profile = PROFILES[profile]
        self.queue = turns or FairQueue(BUSY_MESSAGE, 2, 16, 5.0)

    def hash(self, password: str, *keys: Hashable) -> str:
        """A new hash of ``password``, to be stored; ValueError for one that :func:`check_new` refuses to read.

        It is made in a turn of its own, under ``keys``.
        """
        secret = _encoded(password)
        if secret is None:
            raise ValueError("not a password that can be stored")
        with self.queue.enter(*keys):
            return self._argon2.hash(secret)

    def verify(self, stored: str | None, password: str) -> bool:
        """Whether ``password`` is the one that ``stored`` was made of; for whoever has a turn.

        None (no such user) is never right and takes the same work, so that time tells nothing, but after a change of
        profile until the owner's next login (:meth:`needs_rehash`). A damaged ``stored`` is an error.
        """
        secret = _encoded(password)
        if secret is None:
            return False
        from argon2.exceptions import VerifyMismatchError

        try:
            self._argon2.verify(self._nobodys if stored is None else stored, secret)
        except VerifyMismatchError:
            return False
        return stored is not None

    def needs_rehash(self, stored: str) -> bool:
        """Whether ``stored`` is of another profile than this one."""
        return self._argon2.check_needs_rehash(stored)

    @cached_property
    def _argon2(self) -> PasswordHasher:
        from argon2 import PasswordHasher

        memory.map_large_blocks()
        cost = self.profile
        return PasswordHasher(
            time_cost=cost.passes,
            memory_cost=cost.memory_kib,
            parallelism=cost.lanes,
            salt_len=cost.salt_length,
            hash_len=cost.digest_length,
        )

    @cached_property
    def _nobodys(self) -> str:
        """A hash of this profile that was never computed: a random salt and digest, of no known password."""
        cost = self.profile
        salt, digest = (
            base64.b64encode(os.urandom(length)).rstrip(b"=").decode("ascii")
            for length in (cost.salt_length, cost.digest_length)
        )
        return f"$argon2id$v=19$m={cost.memory_kib},t={cost.passes},p={cost.lanes}${salt}${digest}"


def check_new(password: str, param: str, *, common: Literal["refused", "allowed"]) -> None:
    """Refuse (400 naming ``param``) a password that may not be chosen: too short, too long, or too common."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        expected = f"{MIN_LENGTH} to {MAX_LENGTH} characters"
        raise invalid_param(param, f"The password must have {expected}", expected=expected)
    if _encoded(password) is None:
        raise invalid_param(param, "The password contains an unpaired surrogate", expected="Unicode characters")
    # The list is of lower-case spellings, and capitals are the first thing that a guesser varies.
    if common == "refused" and password.lower() in _common():
        raise invalid_param(
            param,
            "The password is one of the most common ones. Choose one that nobody would guess.",
            expected="a password that is not in common use",
        )


def _encoded(password: str) -> bytes | None:
    """The bytes to hash, or None for a text that is too long or is not Unicode (JSON can spell ``\\ud800``)."""
    if len(password) > MAX_LENGTH:
        return None
    try:
        return password.encode()
    except UnicodeEncodeError:
        return None


@cache
def _common() -> frozenset[str]:
    """The 3,000 most common passwords of 8 characters or more, lower-case.

    From the frequency list of zxcvbn 4.5.0 on PyPI (MIT, (c) 2012-2016 Dan Wheeler and Dropbox, Inc., and
    2016 Daniel Wolf), which ranks leaked passwords: its order, without those that are too short anyway.
    """
    text = get_package_folder("finapi.core").joinpath("common_passwords.txt").read_text("ascii")
    return frozenset(text.splitlines())
