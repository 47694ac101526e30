"""The master secrets: where they are kept, who may read them, and how one is put in front or taken away.

They stand newest first, a line of hex each, in the file ``secrets`` of the data directory, or in the setting of that
name. New credentials are derived from the first; the rest go on verifying what they made (DECISIONS 15).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.files import replace_file, write_new_file
from finapi.core.temporary import sweep

FILE_NAME = "secrets"
BYTES = 32
ZEROS = "a master secret is all zeros, which everybody knows"
OTHERS_MODE_BITS = 0o077  # the bits of a mode that let anybody but the owner in


class Keyring(Sequence[bytes]):
    """The secrets in force, newest first. A reader sees those before a :meth:`swap` or those after it, never a mix."""

    def __init__(self, held: Sequence[bytes]) -> None:
        self._held = tuple(held)

    def __getitem__(self, place: Any) -> Any:
        return self._held[place]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def replace(self, held: Sequence[bytes]) -> None:
        """Put others in force."""
        self._held = tuple(held)


def get_path(config: Config) -> Path:
    """Where the secrets are kept when they are no setting."""
    return config.data_dir / FILE_NAME


def are_missing(config: Config) -> bool:
    """Whether there are none yet, neither as a setting nor in the file."""
    return not config.secrets and not get_path(config).exists()


def read_or_create(config: Config) -> list[bytes]:
    """The secrets in force; the file (mode 0600) is made with a fresh one when there is none.

    UsageError, with the command that mends it, for a file that others can read and for a secret that is all zeros.
    """
    if config.secrets:
        held = _parsed(config.secrets.split(","), "setting secrets")
        if not all(map(any, held)):
            raise UsageError(f"setting secrets: {ZEROS}; make one with: openssl rand -hex 32")
        return held
    path = get_path(config)
    sweep(path.parent)
    if not path.exists():
        with suppress(FileExistsError):  # another start was first
            write_new_file(path, f"{generate().hex()}\n".encode(), "secrets")
    shown = shlex.quote(str(path))
    if path.stat().st_mode & OTHERS_MODE_BITS:
        raise UsageError(f"{path} can be read by others; close it with: chmod 600 {shown}")
    held = _parsed(path.read_bytes().decode("ascii", "replace").split(), str(path))
    if not all(map(any, held)):
        command = "sed -i '/^0*$/d'" if any(map(any, held)) else "rm"
        raise UsageError(f"{path}: {ZEROS}; remove it with: {command} {shown}")
    return held


def write_file(config: Config, held: Sequence[bytes]) -> None:
    """Replace the file's secrets, whole or not at all; UsageError when they are a setting."""
    if config.secrets:
        raise UsageError("the master secrets are a setting: change FINAPI_SECRETS, newest first, and start again")
    replace_file(get_path(config), "".join(f"{one.hex()}\n" for one in held).encode(), "secrets")


def generate() -> bytes:
    """A new secret."""
    return os.urandom(BYTES)


def _parsed(lines: list[str], place: str) -> list[bytes]:
    try:
        parsed = [bytes.fromhex(line.strip()) for line in lines if line.strip()]
    except ValueError:
        raise UsageError(f"{place}: a master secret must be written in hex") from None
    if not parsed or any(len(secret) < BYTES for secret in parsed):
        raise UsageError(f"{place}: needs at least one master secret of {BYTES} bytes or more")
    return parsed
