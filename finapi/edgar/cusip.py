"""CUSIP numbers: nine characters that name a security, the last of them a check digit (ANSI X9.6)."""

from __future__ import annotations

import re

_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ*@#"
_WORTH = {character: worth for worth, character in enumerate(_CHARACTERS)}
_SHAPE = re.compile(r"[0-9A-Z*@#]{1,9}")


def check_digit(base: str) -> str:
    """The digit that follows the first eight characters: every second one counts twice, digit by digit."""
    total = 0
    for place, character in enumerate(base):
        worth = _WORTH[character] * (1 + place % 2)
        total += worth // 10 + worth % 10
    return str(-total % 10)


def is_valid(text: str) -> bool:
    """Whether a folded text is a whole CUSIP whose check digit is right."""
    return len(text) == 9 and check_digit(text[:8]) == text[8]


def fold(text: str) -> str:
    """A CUSIP as finapi writes it: upper case, without spaces, with the zeros that a spreadsheet took away.

    ValueError for what is not 1 to 9 of the characters that a CUSIP may hold. Whether it is valid is another
    question: filers mistype them, and a row with a wrong one is still a row.
    """
    folded = "".join(text.split()).upper() if text.isascii() else ""
    if not _SHAPE.fullmatch(folded):
        raise ValueError(f"{text[:40]!r} is not a CUSIP")
    whole = folded.zfill(9)
    return whole if is_valid(whole) else folded


def checked(text: str) -> str:
    """A CUSIP as finapi writes it, its check digit right; ValueError for anything else."""
    folded = fold(text)
    if not is_valid(folded):
        raise ValueError(f"the check digit of {folded} is wrong")
    return folded
