"""Standardised series, ratios, templates and screens of the facts as filed."""

from __future__ import annotations

import hashlib
from functools import cache

from finapi import __version__
from finapi.core.files import get_package_folder

BASES = ("latest", "original")  # of a figure reported several times


@cache
def get_fingerprint() -> str:
    """What figures are made by, in short: this version, its catalogues and modules."""
    digest = hashlib.sha256(__version__.encode())
    for file in sorted(get_package_folder(__name__).iterdir(), key=lambda file: file.name):
        if file.name.endswith((".py", ".toml")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
