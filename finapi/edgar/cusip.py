"""CUSIP numbers: nine characters that identify a security. The last one is a check digit (ANSI X9.6).

Example: 037833100 is Apple's common stock. 037833 identifies the issuer and 10 the issue; 0 is the check digit.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*@#"
_SHAPE = re.compile(r"[0-9A-Z*@#]{1,9}")

_PLACEHOLDER_WORDS = ("CASH", "NA", "NAN", "NIL", "NONE", "NULL", "TBD", "UNKNOWN", "USD", "VARIOUS")

# What a character adds to the checksum: at an odd position the sum of the digits of its value, at an even position that
# of twice its value. "A" has the value 10, so it adds 1 + 0 or 2 + 0.
_ODD_PLACE = {character: value // 10 + value % 10 for value, character in enumerate(_CHARACTERS)}
_EVEN_PLACE = {character: 2 * value // 10 + 2 * value % 10 for value, character in enumerate(_CHARACTERS)}


def compute_check_digit(base: str) -> str:
    """Return the check digit for the first eight characters of a CUSIP."""
    total = sum(map(_ODD_PLACE.__getitem__, base[::2])) + sum(map(_EVEN_PLACE.__getitem__, base[1::2]))
    return str(-total % 10)


@lru_cache(maxsize=50_000)
def is_valid(number: str) -> bool:
    """Return True if a normalised text is a complete CUSIP with the right check digit."""
    return len(number) == 9 and compute_check_digit(number[:8]) == number[8]


def is_placeholder(text: str) -> bool:
    """Return True for a text in place of a missing CUSIP: 000000000, XXXXXXXXX, 123456789, N/A, NONE00000, "not avail".

    No issuer has the number 000000, so a CUSIP that begins with it is not assigned either. The last character of every
    CUSIP is a digit.
    """
    number = "".join(text.split()).upper().strip("-./")
    letters = "".join(character for character in number if character.isalpha())
    if len(set(number)) <= 1 or number.startswith(("000000", "12345678", "01234567")):
        return True
    if not any(character.isdigit() for character in number):
        return True
    return letters in _PLACEHOLDER_WORDS and not number.strip(letters + "09/")


def normalise(text: str) -> str:
    """Return a CUSIP in normal form: in upper case, without spaces, with the leading zeros that spreadsheets drop.

    Raise ValueError unless the text is 1 to 9 of the characters that a CUSIP may have. The check digit is not
    checked: filers mistype CUSIPs, and their rows are stored all the same.
    """
    number = "".join(text.split()).upper() if text.isascii() else ""
    if not _SHAPE.fullmatch(number):
        raise ValueError(f"{text[:40]!r} is not a CUSIP")
    padded = number.zfill(9)
    return padded if is_valid(padded) else number


def validate(text: str) -> str:
    """Return a CUSIP in normal form. Raise ValueError if it is not a CUSIP or its check digit is wrong.

    Placeholders such as 000000000, whose check digit is right, are not CUSIPs.
    """
    number = normalise(text)
    if is_placeholder(number):
        raise ValueError(f"{number} is a placeholder, not a CUSIP")
    if not is_valid(number):
        raise ValueError(f"the check digit of {number} is wrong")
    return number
