"""Standardised series, ratios, templates and screens, computed from the facts that companies filed."""

from __future__ import annotations

import hashlib
from functools import cache

from finapi import __version__
from finapi.core.files import get_package_folder

# The figure that is used if several filings report one: the latest report, or the original one.
BASES = ("latest", "original")


@cache
def get_fingerprint() -> str:
    """Return a hash of all that figures depend on: the version of finapi and the files of this package."""
    digest = hashlib.sha256(__version__.encode())
    for file in sorted(get_package_folder(__name__).iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".toml")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
