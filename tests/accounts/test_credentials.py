"""Tests of the credentials derived from the master secrets."""

from __future__ import annotations

import hashlib
import hmac
import re

from finapi.accounts.credentials import derive_api_key, fingerprint, has_api_key_form
from tests.support.case_tables import run_each_case

OLD, NEW = b"\x01" * 32, b"\x02" * 32
USER, KEY = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"


def test_an_api_key_is_32_lowercase_hex_characters() -> None:
    assert re.fullmatch("[0-9a-f]{32}", derive_api_key([NEW], USER, KEY))


def test_an_api_key_is_the_hmac_of_its_purpose_and_owner() -> None:
    message = f"finapi\0api-key\0{USER}\0{KEY}".encode()
    assert derive_api_key([NEW], USER, KEY) == hmac.new(NEW, message, hashlib.sha256).hexdigest()[:32]


def test_an_api_key_is_the_same_every_time() -> None:
    assert derive_api_key([NEW], USER, KEY) == derive_api_key([NEW], USER, KEY)


def test_an_api_key_differs_by_user_key_and_secret() -> None:
    keys = [
        derive_api_key([NEW], USER, KEY),
        derive_api_key([NEW], KEY, USER),
        derive_api_key([NEW], USER, USER),
        derive_api_key([NEW], KEY, KEY),
        derive_api_key([OLD], USER, KEY),
    ]
    assert len(set(keys)) == 5


def test_an_api_key_does_not_depend_on_where_its_parts_meet() -> None:
    assert derive_api_key([NEW], "ab", "c") != derive_api_key([NEW], "a", "bc")


def test_a_new_key_comes_from_the_newest_secret() -> None:
    assert derive_api_key([NEW, OLD], USER, KEY) == derive_api_key([NEW], USER, KEY)


def test_a_fingerprint_is_the_sha256() -> None:
    assert fingerprint("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_key_that_was_made_looks_like_one() -> None:
    assert has_api_key_form(derive_api_key([NEW], USER, KEY))


@run_each_case(
    "text",
    [
        "",
        "0" * 31,
        "0" * 33,
        "A" * 32,
        "g" * 32,
        "0" * 31 + "\n",
        "0" * 31 + " ",
        "0" * 31 + "\0",
        "٠" * 32,
        "ａ" * 32,
        "0" * 31 + "é",
        "00000000-0000-4000-8000-00000000",
        "0" * 1_000_000,
    ],
)
def test_what_cannot_be_a_key_does_not_look_like_one(text: str) -> None:
    assert not has_api_key_form(text)
