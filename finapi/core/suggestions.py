"""Suggestions for misspelt or unknown words. They appear in messages and are never applied automatically."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

MAX_WORD_LENGTH = 40  # A longer word gets no suggestions.
MAX_TYPO_LENGTH = 12  # Characters of a word whose typos are listed.
MIN_SIMILARITY = 0.75  # The cutoff of difflib.get_close_matches.

_WORDS = re.compile("[a-z]{3,}")
# The keys of metrics for words that they do not resemble.
_METRICS_BY_WORD = {
    "sales": "revenue",
    "turnover": "revenue",
    "income": "net_income",
    "earnings": "net_income",
    "profit": "net_income",
    "ebit": "operating_income",
    "cogs": "cost_of_revenue",
    "opex": "operating_expenses",
    "sga": "selling_general_admin",
    "fcf": "free_cashflow",
    "debt": "total_debt",
    "cash": "cash_and_equivalents",
    "equity": "total_equity",
    "eps": "eps_diluted",
    "pe": "pe_ratio",
}
# The names that other services use for our parameters.
_FOREIGN_NAMES = {
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


def list_similar(word: str, known_words: Iterable[str], max_count: int = 3) -> list[str]:
    """Return the known words that are most similar to a word, the most similar first.

    After the words with a similar spelling come those that contain all parts of the word: ``assets`` suggests
    ``total_assets``. The list is empty for a word of more than ``MAX_WORD_LENGTH`` characters.
    """
    if not word or len(word) > MAX_WORD_LENGTH:
        return []
    import difflib

    originals = {known_word.lower(): known_word for known_word in known_words}
    similar = difflib.get_close_matches(word.lower(), originals, max_count, MIN_SIMILARITY)
    parts = set(_WORDS.findall(word.lower()))
    containing = [known_word for known_word in originals if parts and parts < set(_WORDS.findall(known_word))]

    def rank(known_word: str) -> tuple[int, bool, bool]:
        first_part = known_word.partition("_")[0]
        return known_word.count("_"), not known_word.startswith("total"), first_part not in parts

    containing.sort(key=rank)
    suggestions = list(dict.fromkeys((*similar, *containing)))
    return [originals[known_word] for known_word in suggestions[:max_count]]


def list_similar_metrics(word: str, keys: Iterable[str], max_count: int = 3) -> list[str]:
    """Return the keys of metrics that a word probably means, the most probable first: ``sales`` is ``revenue``."""
    keys = list(keys)
    synonym = _METRICS_BY_WORD.get(word.lower())
    suggestions = [synonym] if synonym in keys else []
    return list(dict.fromkeys((*suggestions, *list_similar(word, keys, max_count))))[:max_count]


def list_similar_names(name: str, known_names: Iterable[str]) -> list[str]:
    """Return the known names of parameters that an unknown one probably means, the most probable first."""
    known_names = list(known_names)
    foreign_name = _FOREIGN_NAMES.get(name.lower())
    translated = [foreign_name] if foreign_name in known_names else []
    return list(dict.fromkeys((*translated, *list_similar(name, known_names))))


def find_misnamed(param: str, names: Iterable[str]) -> str | None:
    """Return the first name in a request that was probably meant as the parameter ``param``, or None."""
    for name in names:
        if _FOREIGN_NAMES.get(name.lower()) == param or list_similar(name, [param]):
            return name
    return None


def list_typos(word: str) -> list[str]:
    """Return all upper-case words that differ from a word by one typing error.

    First come those with two neighbouring letters exchanged, then those with a letter less, more, or replaced.
    """
    word = word[:MAX_TYPO_LENGTH]
    splits = [(word[:index], word[index:]) for index in range(len(word) + 1)]
    typos = [head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1]
    if len(word) > 1:
        typos += [head + tail[1:] for head, tail in splits if tail]
    typos += [head + letter + tail for head, tail in splits for letter in ascii_uppercase]
    typos += [head + letter + tail[1:] for head, tail in splits if tail for letter in ascii_uppercase]
    return [typo for typo in dict.fromkeys(typos) if typo != word]


def did_you_mean(suggestions: Sequence[str]) -> str:
    """Return the end of a message: ``; did you mean A or B?``, or a full stop if there are no suggestions."""
    return f"; did you mean {' or '.join(suggestions)}?" if suggestions else "."
