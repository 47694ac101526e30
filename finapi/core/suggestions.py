"""What somebody may have meant by a word that is not known: for messages only, never acted on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

_WORDS = re.compile("[a-z]{3,}")
MAX_WORD_LENGTH = 40  # characters of a word that is guessed at
# What other services call our parameters.
_OTHERWISE = {
    "symbol": "ticker",
    "symbols": "tickers",
    "company": "ticker",
    "id": "ticker",
    "metric": "metrics",
    "page_size": "limit",
    "per_page": "limit",
    "count": "limit",
    "size": "limit",
    "start": "offset",
    "skip": "offset",
    "start_date": "from",
    "end_date": "to",
    "search": "q",
}


def list_similar(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that are most like a word, the likeliest first; none for a word that is too long to be one."""
    if not word or len(word) > MAX_WORD_LENGTH:
        return []
    import difflib

    folded = {one.lower(): one for one in known}
    close = difflib.get_close_matches(word.lower(), folded, most, 0.75)
    # Then those that have its words among theirs (assets: total_assets), those with fewest others first.
    words = set(_WORDS.findall(word.lower()))
    wider = [one for one in folded if words and words < set(_WORDS.findall(one))]
    wider.sort(key=lambda one: (one.count("_"), not one.startswith("total"), not words & {one.partition("_")[0]}))
    return [folded[one] for one in dict.fromkeys((*close, *wider))][:most]


def find_misnamed(missing: str, given: Iterable[str]) -> str | None:
    """The given name that may stand for a parameter that is missing."""
    alike = (name for name in given if _OTHERWISE.get(name.lower()) == missing or list_similar(name, [missing]))
    return next(alike, None)


def list_typos(word: str) -> list[str]:
    """Every word of letters that one slip of the keyboard makes of this one: two letters exchanged first."""
    word = word[:12]
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    swapped = [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
    without = [head + tail[1:] for head, tail in cuts if tail and len(word) > 1]
    other = [head + letter + tail[1:] for head, tail in cuts if tail for letter in ascii_uppercase]
    more = [head + letter + tail for head, tail in cuts for letter in ascii_uppercase]
    return [one for one in dict.fromkeys((*swapped, *without, *more, *other)) if one != word]


def did_you_mean(guesses: Sequence[str]) -> str:
    """The end of a message's sentence; empty without a guess."""
    return f"; did you mean {' or '.join(guesses)}?" if guesses else "."
