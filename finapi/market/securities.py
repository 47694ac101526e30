"""Securities by CUSIP: what 13F tables and loaded mappings say of each, and which company and ticker that is.

A ticker or a company is concluded, and the evidence named: a mapping that was loaded, or else an issuer's name
that is one company's name once legal forms are taken off. What neither tells is null, not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finapi.db import Row, Transaction
from finapi.edgar import cusip, tickers
from finapi.market import issuers, sectors

FROM_MAPPING, FROM_NAME = "cusip_mapping", "issuer_name"


def ids(tx: Transaction, named: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """The ids of CUSIPs, made where they are new with the (issuer, class) given."""
    wanted = json.dumps(sorted(named))
    known: dict[str, int] = {row["cusip"]: row["id"] for row in tx.all("security_ids", cusips=wanted)}
    missing = [number for number in sorted(named) if number not in known]
    if missing:
        tx.many("insert_securities", [_fresh(number, *named[number]) for number in missing])
        known.update((row["cusip"], row["id"]) for row in tx.all("security_ids", cusips=wanted))
        tx.many(
            "insert_security_words",
            [(word, known[number]) for number in missing for word in issuers.words(named[number][0])],
        )
    return known


def see(tx: Transaction, named: Iterable[tuple[str, str, str]], seen: str) -> None:
    """Take (CUSIP, issuer, class) over where nothing newer was seen; ``seen`` is the filing's day and number."""
    changed = []
    for number, issuer, title in named:
        if tx.run(
            "see_security",
            cusip=number,
            issuer=issuer,
            title=title,
            seen=seen,
            key=issuers.key(issuer),
            letter=issuers.class_letter(title),
            security_group=issuers.group(issuer, title),
        ):
            changed.append((number, issuer))
    if changed:
        numbers = json.dumps([number for number, _ in changed])
        found = {row["cusip"]: row["id"] for row in tx.all("security_ids", cusips=numbers)}
        tx.many("delete_security_words", [(found[number],) for number, _ in changed])
        tx.many(
            "insert_security_words",
            [(word, found[number]) for number, issuer in changed for word in issuers.words(issuer)],
        )
        tx.run("settle_securities", cusips=numbers)


def name(tx: Transaction, named: Mapping[str, tuple[str, str | None]], successors: Iterable[str]) -> None:
    """Take over what a mapping says of CUSIPs (issuer, group), make those it replaces them by, conclude anew.

    A name that a 13F table gave stays: it is what holders call the security. A group that is mapped does not
    depend on words in its name.
    """
    numbers = dict.fromkeys([*named, *successors])
    known = ids(tx, {number: (named.get(number, ("",))[0], "") for number in numbers})
    for number, (issuer, group) in named.items():
        if tx.run("name_unseen_security", cusip=number, issuer=issuer, key=issuers.key(issuer)):
            tx.many("delete_security_words", [(known[number],)])
            tx.many("insert_security_words", [(word, known[number]) for word in issuers.words(issuer)])
        held = tx.one("security", cusip=number)
        assert held is not None
        meant = group or issuers.group(held["issuer"], held["title"])
        tx.run("group_security", cusip=number, security_group=meant)
    tx.run("settle_securities", cusips=json.dumps(list(numbers)))


# ---- as they are asked for


@dataclass(frozen=True, slots=True)
class Security:
    """A security as the API names it; None is not known, ``evidence`` says from what ticker and company are."""

    cusip: str
    ticker: str | None
    issuer: str
    title: str
    cik: int | None
    group: str
    evidence: str | None
    seen: str

    def shown(self) -> dict[str, Any]:
        """Its members in answers."""
        day, _, accession = self.seen.partition(" ")
        return {
            "cusip": self.cusip,
            "cusip_valid": cusip.is_valid(self.cusip),
            "ticker": self.ticker,
            "issuer_name": self.issuer or None,
            "title_of_class": self.title or None,
            "cik": None if self.cik is None else f"{self.cik:010}",
            "cusip6": self.cusip[:6],
            "security_group": self.group,
            "evidence": self.evidence,
            "seen_in": accession or None,
            "seen_on": day or None,
        }


def _security(row: Row) -> Security:
    return Security(
        row["cusip"],
        row["ticker"],
        row["issuer"],
        row["title"],
        row["cik"],
        row["security_group"],
        row["evidence"],
        row["seen"],
    )


def by_cusip(tx: Transaction, number: str) -> Security | None:
    """The security of a folded CUSIP, or None when no 13F table and no mapping names it."""
    row = tx.one("security", cusip=number)
    return None if row is None else _security(row)


def by_ticker(tx: Transaction, ticker: str) -> list[Security]:
    """The securities of a folded ticker, the one last seen first; at most 50."""
    return [_security(row) for row in tx.all("securities_of_ticker", ticker=ticker)]


def by_company(tx: Transaction, cik: int, limit: int) -> list[Security]:
    """The securities of a company in the order of their CUSIPs."""
    return [_security(row) for row in tx.all("securities_of_cik", cik=cik, limit=limit)]


def by_issuer(tx: Transaction, cusip6: str, limit: int) -> list[Security]:
    """The securities of which the CUSIP begins with an issuer's six characters."""
    return [
        _security(row)
        for row in tx.all("securities_of_cusip6", first=cusip6, end=cusip6 + "\uffff", limit=limit)
    ]


def many(tx: Transaction, numbers: Sequence[str]) -> dict[str, Security]:
    """The securities of several CUSIPs, those that are known."""
    rows = tx.all("securities_of_cusips", cusips=json.dumps(list(numbers)))
    return {row["cusip"]: _security(row) for row in rows}


def search(tx: Transaction, text: str, limit: int, offset: int) -> tuple[list[tuple[Security, int]], int]:
    """Securities by CUSIP, ticker or words of the issuer's name, the best first with a score of up to 100.

    100 is the whole CUSIP or ticker, 90 a ticker that begins so, 80 a CUSIP, 70 a name, 50 a word of a name.
    """
    words = sorted(issuers.words(text), key=len, reverse=True)
    if not words:
        return [], 0
    squeezed, ticker = "".join(text.split()).upper(), tickers.spelled(text)
    rows = tx.all(
        "search_securities",
        text=squeezed,
        text_end=squeezed + "\uffff",
        ticker=ticker,
        ticker_end=ticker + "\uffff",
        word=words[0],
        word_end=words[0] + "\uffff",
        rest="*" + "".join(f" {word}*" for word in issuers.words(text) if word != words[0]),
        name=" ".join(issuers.words(text)),
        limit=limit,
        offset=offset,
    )
    total = rows[0]["total"] if rows else 0
    if not rows and offset:
        _, total = search(tx, text, 1, 0)
    return [(_security(row), row["score"]) for row in rows], total


@dataclass(frozen=True, slots=True)
class Link:
    """A CUSIP of a chain, and since when and why it stands in place of the one before."""

    cusip: str
    issuer: str | None
    effective_date: str | None
    reason: str | None


# Longer than any real chain of successors; a mapping that goes round in a circle ends here at the latest.
MAX_CHAIN = 50


def chain(tx: Transaction, number: str) -> list[Link]:
    """The CUSIPs that followed each other up to and after this one, the oldest first, by the loaded mapping."""
    back = [number]
    while len(back) < MAX_CHAIN:
        before = tx.value("predecessor_of_cusip", cusip=back[-1])
        if before is None or before in back:
            break
        back.append(before)
    line = back[::-1]
    while len(line) < 2 * MAX_CHAIN:
        after = tx.value("successor_of_cusip", cusip=line[-1])
        if after is None or after in line:
            break
        line.append(after)
    links = []
    for place, one in enumerate(line):
        held = by_cusip(tx, one)
        row = tx.one("cusip_mapping", cusip=line[place - 1]) if place else None
        links.append(
            Link(
                one,
                held.issuer or None if held else None,
                row["effective_date"] if row else None,
                row["reason"] if row else None,
            )
        )
    return links


def industry(sic_group: int | None) -> tuple[str | None, str | None]:
    """Sector and industry of a security's major group."""
    return sectors.of(None if sic_group is None else 100 * sic_group)


def folded(text: str) -> str | None:
    """A valid CUSIP in capitals, or None for any other text."""
    try:
        number = cusip.fold(text)
    except ValueError:
        return None
    return number if cusip.is_valid(number) else None


def company_name(tx: Transaction, cik: int) -> str | None:
    """The name of a company, or None when it is not known."""
    row = tx.one("company_by_cik", cik=cik)
    return None if row is None else row["name"]


def complete(tx: Transaction, text: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Tickers that begin with a text (score 100 when that is all of it, else 80), then by company name (50)."""
    ticker = tickers.spelled(text)
    key = issuers.key(text)
    rows = tx.all(
        "complete_tickers",
        ticker=ticker or "\uffff",
        ticker_end=ticker + "\uffff",
        key=key or "\uffff",
        key_end=key + "\uffff",
        limit=limit,
    )
    found = [
        {
            "symbol": row["ticker"],
            "name": row["name"],
            "cik": f"{row['cik']:010}",
            "exchange": row["exchange"],
            "score": row["score"],
            "rank": rank,
        }
        for rank, row in enumerate(rows, 1)
    ]
    return found, rows[0]["total"] if rows else 0


def counts(tx: Transaction) -> dict[str, Any]:
    """How many securities are known, and of how many ticker and company are."""
    groups = {row["security_group"]: row["securities"] for row in tx.all("count_security_groups")}
    row = tx.one("count_securities")
    assert row is not None
    return {"groups": {name: groups.get(name, 0) for name in issuers.GROUPS}, **dict(row)}


def settle_company(tx: Transaction, cik: int) -> None:
    """Conclude anew for the securities that may be this company's, now that more is known of it."""
    numbers = [row["cusip"] for row in tx.all("securities_of_company", cik=cik)]
    if numbers:
        tx.run("settle_securities", cusips=json.dumps(numbers))


def _fresh(number: str, issuer: str, title: str) -> tuple[str | None, ...]:
    return (
        number,
        issuer,
        title,
        issuers.key(issuer),
        issuers.class_letter(title),
        issuers.group(issuer, title),
    )
