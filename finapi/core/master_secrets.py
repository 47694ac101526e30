"""The master secrets, from which all credentials are derived (DECISIONS 15).

They are in the file ``secrets`` of the data directory, or in the setting of that name: one line of hex for each, the
newest first. New credentials are derived from the first one. The others verify credentials that were derived from them
before the last rotation.
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
SECRET_BYTES = 32
OTHERS_MODE_BITS = 0o077  # The permissions of all users but the owner.

_ALL_ZEROS = "a master secret is all zeros, which anyone can guess"


class Keyring(Sequence[bytes]):
    """The secrets in use, newest first.

    A concurrent reader sees either all old or all new secrets of a :meth:`replace`.
    """

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._secrets = tuple(secrets)

    def __getitem__(self, index: Any) -> Any:
        return self._secrets[index]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def replace(self, secrets: Sequence[bytes]) -> None:
        """Use other secrets from now on."""
        self._secrets = tuple(secrets)


def get_path(config: Config) -> Path:
    """Return the path of the file of secrets, which is read if the setting ``secrets`` is empty."""
    return config.data_dir / FILE_NAME


def are_missing(config: Config) -> bool:
    """Return True if there are no secrets, neither in a setting nor in the file."""
    return not config.secrets and not get_path(config).exists()


def read_or_create(config: Config) -> list[bytes]:
    """Return the secrets, newest first. Create the file (mode 0600) with a new secret if there are none.

    Raise UsageError, with the command that repairs it, for a file that others can read and for a secret of zeros.
    """
    if config.secrets:
        secrets = _parse(config.secrets.split(","), "setting secrets")
        if not all(map(any, secrets)):
            raise UsageError(f"setting secrets: {_ALL_ZEROS}; make one with: openssl rand -hex 32")
        return secrets
    path = get_path(config)
    sweep(path.parent)
    if not path.exists():
        with suppress(FileExistsError):  # Another process that starts now has created it.
            write_new_file(path, f"{generate().hex()}\n".encode(), "secrets")
    quoted_path = shlex.quote(str(path))
    if path.stat().st_mode & OTHERS_MODE_BITS:
        raise UsageError(f"{path} can be read by others; restrict it with: chmod 600 {quoted_path}")
    secrets = _parse(path.read_bytes().decode("ascii", "replace").split(), str(path))
    if not all(map(any, secrets)):
        command = "sed -i '/^0*$/d'" if any(map(any, secrets)) else "rm"
        raise UsageError(f"{path}: {_ALL_ZEROS}; remove it with: {command} {quoted_path}")
    return secrets


def write_file(config: Config, secrets: Sequence[bytes]) -> None:
    """Replace the file of secrets, completely or not at all. Raise UsageError if the setting ``secrets`` has them."""
    if config.secrets:
        raise UsageError(
            "the master secrets come from a setting, not the file: change FINAPI_SECRETS, newest first, and start again"
        )
    lines = "".join(f"{secret.hex()}\n" for secret in secrets)
    replace_file(get_path(config), lines.encode(), "secrets")


def generate() -> bytes:
    """Return a new random secret."""
    return os.urandom(SECRET_BYTES)


def _parse(lines: list[str], source: str) -> list[bytes]:
    try:
        secrets = [bytes.fromhex(line.strip()) for line in lines if line.strip()]
    except ValueError:
        raise UsageError(f"{source}: a master secret must be written in hex") from None
    if not secrets or any(len(secret) < SECRET_BYTES for secret in secrets):
        raise UsageError(f"{source}: needs at least one master secret of {SECRET_BYTES} bytes or more")
    return secrets
