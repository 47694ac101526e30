"""Securities by CUSIP, as 13F tables and loaded mappings name them, and the company and ticker of each.

Ticker and company follow from evidence, which is named: a loaded mapping, or else an issuer's name that without its
legal form is the name of exactly one company. Without either they are null, not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from finapi.core.records import Date, build_record
from finapi.edgar import cusip, tickers
from finapi.market.reference import issuer_names
from finapi.store.db import Row, Transaction

# Longer than any real chain of successors.
MAX_CHAIN = 50


def get_or_insert_ids(tx: Transaction, named: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """The ids of CUSIPs, made where they are new with the (issuer, class) given."""
    wanted = json.dumps(sorted(named))
    known: dict[str, int] = {row["cusip"]: row["id"] for row in tx.list_rows("security_ids", cusips=wanted)}
    missing = [number for number in sorted(named) if number not in known]
    if missing:
        tx.insert_rows("insert_securities", [_fresh(number, *named[number]) for number in missing])
        known.update((row["cusip"], row["id"]) for row in tx.list_rows("security_ids", cusips=wanted))
        _insert_words(tx, {known[number]: named[number][0] for number in missing})
    return known


def _put_words(tx: Transaction, issuers_by_id: Mapping[int, str]) -> None:
    """Store the words by which the securities of some ids are searched."""
    tx.insert_rows("delete_security_words", [(one,) for one in issuers_by_id])
    _insert_words(tx, issuers_by_id)


def _insert_words(tx: Transaction, issuers_by_id: Mapping[int, str]) -> None:
    words = [(word, one) for one, issuer in issuers_by_id.items() for word in issuer_names.list_words(issuer)]
    tx.insert_rows("insert_security_words", words)


def update_reported_names(tx: Transaction, named: Iterable[tuple[str, str, str]], seen: str) -> None:
    """Store names (CUSIP, issuer, class) as reported by a filing, unless a newer one reported others.

    ``seen`` is the filing's day and accession number.
    """
    told = {number: (issuer, title) for number, issuer, title in named}
    held = {row["cusip"]: row for row in tx.list_rows("securities_seen", cusips=json.dumps(list(told)))}
    newer = {
        number: names
        for number, names in told.items()
        if (seen, *names) > (held[number]["seen"], held[number]["issuer"], held[number]["title"])
    }
    # What is made of a name is there where the name is.
    same = [one for one, names in newer.items() if names == (held[one]["issuer"], held[one]["title"])]
    tx.run("see_securities", cusips=json.dumps(same), seen=seen)
    other = {
        number: names for number, names in newer.items() if names != (held[number]["issuer"], held[number]["title"])
    }
    tx.insert_rows("report_security", [(*_fresh(number, *names)[1:], seen, number) for number, names in other.items()])
    # What follows from names that are told again is there.
    renamed = {number: one for number, one in newer.items() if one[0] != held[number]["issuer"]}
    _put_words(tx, {held[number]["id"]: issuer for number, (issuer, _) in renamed.items()})
    unlike = [one for one in newer if not held[one]["seen"] or newer[one] != (held[one]["issuer"], held[one]["title"])]
    if unlike:
        tx.run("settle_securities", cusips=json.dumps(unlike))


def update_mapped_names(
    tx: Transaction, named: Mapping[str, tuple[str, str | None]], successors: Iterable[str]
) -> None:
    """Store what a mapping says about CUSIPs (issuer, group), with their successors, and find their companies again.

    A name that a 13F table gave stays: it is what holders call the security. A mapped group counts, whatever the name.
    """
    numbers = dict.fromkeys([*named, *successors])
    known = get_or_insert_ids(tx, {number: (named.get(number, ("",))[0], "") for number in numbers})
    for number, (issuer, group) in named.items():
        if tx.run("name_unseen_security", cusip=number, issuer=issuer, key=issuer_names.build_issuer_key(issuer)):
            _put_words(tx, {known[number]: issuer})
        (held,) = tx.list_rows("security", cusip=number)
        meant = group or issuer_names.classify_security(held["issuer"], held["title"])
        tx.run("group_security", cusip=number, security_group=meant)
    tx.run("settle_securities", cusips=json.dumps(list(numbers)))


def update_listed_names(tx: Transaction, named: Sequence[tuple[str, str, str]]) -> None:
    """Store names (CUSIP, issuer, class) of a list, where no filing told any, and find their companies again."""
    for values in named:
        names = ("cusip", "issuer", "title", "issuer_key", "class_letter", "security_group")
        tx.run("list_security", dict(zip(names, _fresh(*values), strict=True)))
    tx.run("settle_securities", cusips=json.dumps([number for number, _, _ in named]))


# ---- as they are asked for


class Security(TypedDict):
    """A security; null is not known. ``evidence`` says where ticker and company are from."""

    cusip: str
    cusip_valid: bool
    ticker: str | None
    issuer_name: str | None
    title_of_class: str | None
    cik: str | None
    cusip6: str
    security_group: str
    evidence: str | None
    seen_in: str | None
    seen_on: Date | None


class SecurityMatch(Security):
    """A security that a search found, with its score."""

    score: int


def _security(row: Row) -> Security:
    day, _, accession = row["seen"].partition(" ")
    return build_record(
        Security,
        row,
        cusip_valid=cusip.is_valid(row["cusip"]),
        issuer_name=row["issuer"] or None,
        title_of_class=row["title"] or None,
        cik=None if row["cik"] is None else f"{row['cik']:010}",
        cusip6=row["cusip"][:6],
        seen_in=accession or None,
        seen_on=day or None,
    )


def find_by_cusip(tx: Transaction, number: str) -> Security | None:
    """The security of a CUSIP, or None when no 13F report and no mapping names it."""
    row = tx.find_row("security", cusip=number)
    return None if row is None else _security(row)


def list_by_ticker(tx: Transaction, ticker: str) -> list[Security]:
    """The securities of a ticker, the one reported last first; at most 50."""
    return [_security(row) for row in tx.list_rows("securities_of_ticker", ticker=ticker)]


def list_by_company(tx: Transaction, cik: int, limit: int, offset: int) -> list[Security]:
    """The securities of a company in the order of their CUSIPs."""
    return [_security(row) for row in tx.list_rows("securities_of_cik", cik=cik, limit=limit, offset=offset)]


def list_by_issuer(tx: Transaction, cusip6: str, limit: int, offset: int) -> list[Security]:
    """The securities whose CUSIP begins with an issuer's six characters."""
    values = {"first": cusip6, "end": cusip6 + "\uffff", "limit": limit, "offset": offset}
    return [_security(row) for row in tx.list_rows("securities_of_cusip6", values)]


def find_by_cusips(tx: Transaction, numbers: Sequence[str]) -> dict[str, Security]:
    """The securities of several CUSIPs by CUSIP, those that are known."""
    return {
        row["cusip"]: _security(row) for row in tx.list_rows("securities_of_cusips", cusips=json.dumps(list(numbers)))
    }


def search(tx: Transaction, text: str, limit: int, offset: int) -> tuple[list[SecurityMatch], int]:
    """Securities by CUSIP, ticker or words of the issuer's name, the best first with a score of up to 100.

    100 is a whole CUSIP or ticker, 90 the beginning of a ticker, 80 of a CUSIP, 70 of a name, 50 of a word of a name.
    """
    words = issuer_names.list_words(text)
    if not words:
        return [], 0
    longest = max(words, key=len)
    squeezed, ticker = "".join(text.split()).upper(), tickers.normalise_prefix(text)
    values = {
        "text": squeezed,
        "text_end": squeezed + "\uffff",
        "ticker": ticker,
        "ticker_end": ticker + "\uffff",
        "word": longest,
        "word_end": longest + "\uffff",
        "rest": "*" + "".join(f" {word}*" for word in words if word != longest),
        "name": " ".join(words),
        "limit": limit,
        "offset": offset,
    }
    rows, total = tx.list_page("search_securities", values)
    return [{**_security(row), "score": row["score"]} for row in rows], total


class ChainLink(TypedDict):
    """A CUSIP of a chain, and when and why it replaced the one before."""

    cusip: str
    issuer_name: str | None
    is_current: bool
    effective_date: Date | None
    reason: str | None


def list_successor_chain(tx: Transaction, number: str) -> list[ChainLink]:
    """The CUSIPs that replaced each other up to and after this one, the oldest first, by the loaded mapping."""

    def follow(query: str, line: list[str], most: int) -> list[str]:
        # A mapping may go round in a circle.
        while len(line) < most and (found := tx.find_value(query, cusip=line[-1])) and found not in line:
            line.append(found)
        return line

    before = follow("predecessor_of_cusip", [number], MAX_CHAIN)
    line = follow("successor_of_cusip", before[::-1], 2 * MAX_CHAIN)
    links: list[ChainLink] = []
    for place, one in enumerate(line):
        held = tx.find_row("security", cusip=one)
        replaced = tx.find_row("cusip_mapping", cusip=line[place - 1]) if place else None
        links.append(
            {
                "cusip": one,
                "issuer_name": held["issuer"] or None if held else None,
                "is_current": place == len(line) - 1,
                "effective_date": replaced["effective_date"] if replaced else None,
                "reason": replaced["reason"] if replaced else None,
            }
        )
    return links


class TickerMatch(TypedDict):
    """A ticker that a search found, with its score and its place."""

    symbol: str
    name: str
    cik: str
    exchange: str | None
    score: int
    rank: int


def search_tickers(tx: Transaction, text: str, limit: int, offset: int) -> tuple[list[TickerMatch], int]:
    """Tickers that begin with a text (score 100 when that is all of it, else 80), then by company name (50); a CIK has
    its company's (100). Among equals the order is that of the SEC's list, which is one of size.
    """
    ticker, key, number = tickers.normalise_prefix(text), issuer_names.build_stem(text), text.strip()
    values = {
        "cik": int(number) if number.isascii() and number.isdigit() and len(number) <= 10 else None,
        "ticker": ticker or "\uffff",
        "ticker_end": ticker + "\uffff",
        "key": key or "\uffff",
        "key_end": key + "\uffff",
        "limit": limit,
        "offset": offset,
    }
    rows, total = tx.list_page("complete_tickers", values)
    return [build_record(TickerMatch, row, rank=rank) for rank, row in enumerate(rows, offset + 1)], total


def count_securities(tx: Transaction) -> dict[str, Any]:
    """How many securities are known in all and by group, and for how many the ticker and the company are."""
    groups = {row["security_group"]: row["securities"] for row in tx.list_rows("count_security_groups")}
    (row,) = tx.list_rows("count_securities")
    return {"groups": {name: groups.get(name, 0) for name in issuer_names.GROUPS}, **dict(row)}


def recompute_company_securities(tx: Transaction, cik: int, key: str | None = None) -> None:
    """Find ticker and company again for the securities that may be this company's, now that more is known of it:
    ``key`` is a name that it bears too.
    """
    keys = [row["key"] for row in tx.list_rows("keys_of_company", cik=cik)] if key is None else [key]
    stems = {one.partition(" ")[0] for one in keys}
    cut = [f"{stem[:length]}*" for stem in stems for length in range(1, len(stem) + 1)]
    numbers = [
        row["cusip"]
        for row in tx.list_rows("securities_of_company", cik=cik, stems=json.dumps([*stems]), cut=json.dumps(cut))
    ]
    if numbers:
        tx.run("settle_securities", cusips=json.dumps(numbers))


def _fresh(number: str, issuer: str, title: str) -> tuple[str | None, ...]:
    return (
        number,
        issuer,
        title,
        issuer_names.build_issuer_key(issuer),
        issuer_names.find_class_letter(title),
        issuer_names.classify_security(issuer, title),
    )
