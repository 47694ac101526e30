"""Securities by CUSIP, with the company and the ticker of each.

Securities are named by 13F tables, by the SEC's list of 13F securities, by its fails-to-deliver data and by CSV files
that an operator loads (``cusip_map.py``). None of the SEC's tables has a CIK, so ticker and company are derived, from
the first of these kinds of evidence that exists:

1. the loaded mapping (``csv``);
2. the symbol in the fails-to-deliver data (``fails_to_deliver``), unless another issuer's security had it later;
3. the issuer's name, if exactly one company has that name (``name``, or ``13f_list`` if only the SEC's list has it).

Without evidence both are null; nothing is guessed. The query ``recompute_securities`` makes this decision. It runs for
every security whose name, mapping or company may have changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypedDict

from finapi.core.records import Date, build_record
from finapi.edgar import cusip, tickers
from finapi.market.reference import issuer_names
from finapi.store.db import Row, Transaction

# Longer than any real chain of successors.
MAX_CHAIN_LENGTH = 50

# The largest character in a text index: all texts that begin with "AB" are >= "AB" and < "AB" + LAST_CHAR.
_LAST_CHAR = "\uffff"


class SecurityName(NamedTuple):
    """An issuer and a title of class as a 13F table or the SEC's list spells them."""

    issuer: str
    title: str


class MappedName(NamedTuple):
    """An issuer ("" if unknown) and a security group as a mapping gives them."""

    issuer: str
    security_group: str | None


# ---- Writing


def get_or_insert_ids(tx: Transaction, names: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Return the ids of CUSIPs, given with (issuer, title). Insert the securities that do not exist."""
    cusips = sorted(names)
    ids = _get_ids(tx, cusips)
    missing = [number for number in cusips if number not in ids]
    if missing:
        tx.insert_rows("insert_securities", [_build_insert_row(number, *names[number]) for number in missing])
        ids |= _get_ids(tx, missing)
        issuers_by_id = {ids[number]: names[number][0] for number in missing}
        _insert_words(tx, issuers_by_id)
    return ids


def _get_ids(tx: Transaction, cusips: list[str]) -> dict[str, int]:
    return {row["cusip"]: row["id"] for row in tx.list_rows("security_ids", cusips=json.dumps(cusips))}


def _build_insert_row(number: str, issuer: str, title: str) -> tuple[str | None, ...]:
    """Return the values of ``insert_securities``."""
    return (
        number,
        issuer,
        title,
        issuer_names.build_issuer_key(issuer),
        issuer_names.find_class_letter(title),
        issuer_names.classify_security(issuer, title),
    )


def _replace_words(tx: Transaction, issuers_by_id: Mapping[int, str]) -> None:
    """Replace the words by which securities are searched, given the issuer's name by security id."""
    tx.insert_rows("delete_security_words", [(security_id,) for security_id in issuers_by_id])
    _insert_words(tx, issuers_by_id)


def _insert_words(tx: Transaction, issuers_by_id: Mapping[int, str]) -> None:
    rows = []
    for security_id, issuer in issuers_by_id.items():
        rows += [(word, security_id) for word in issuer_names.list_words(issuer)]
    tx.insert_rows("insert_security_words", rows)


def update_reported_names(tx: Transaction, names: Iterable[tuple[str, str, str]], seen: str) -> None:
    """Store names (CUSIP, issuer, title) as a filing reports them, unless a newer filing reported others.

    ``seen`` is "<filing day> <accession number>". All securities must exist. Everything that is derived from a name is
    recomputed only if the name changes.
    """
    reported_names = {number: SecurityName(issuer, title) for number, issuer, title in names}
    stored_rows = tx.list_rows("reported_names", cusips=json.dumps(list(reported_names)))
    stored_by_cusip = {row["cusip"]: row for row in stored_rows}
    confirmed_cusips = []  # Securities whose stored name was reported again.
    update_rows = []  # Parameters of update_reported_security.
    issuers_by_id = {}
    cusips_to_recompute = []
    for number, name in reported_names.items():
        stored_row = stored_by_cusip[number]
        stored_name = SecurityName(stored_row["issuer"], stored_row["title"])
        if (seen, *name) <= (stored_row["seen"], *stored_name):
            continue
        if name == stored_name:
            confirmed_cusips.append(number)
        else:
            _, *columns = _build_insert_row(number, *name)
            update_rows.append((*columns, seen, number))
        if name.issuer != stored_name.issuer:
            issuers_by_id[stored_row["id"]] = name.issuer
        if name != stored_name or not stored_row["seen"]:
            cusips_to_recompute.append(number)
    tx.run("update_securities_seen", cusips=json.dumps(confirmed_cusips), seen=seen)
    tx.insert_rows("update_reported_security", update_rows)
    _replace_words(tx, issuers_by_id)
    if cusips_to_recompute:
        _recompute(tx, cusips_to_recompute)


def update_mapped_names(tx: Transaction, names: Mapping[str, MappedName], other_cusips: Iterable[str]) -> None:
    """Store the names that a mapping gives to CUSIPs, then recompute these and ``other_cusips``.

    Securities that do not exist are inserted. A name from a 13F table is not replaced, because it is what managers
    call the security. A mapped group always replaces the derived one.
    """
    cusips = list(dict.fromkeys([*names, *other_cusips]))
    unknown_name = MappedName("", None)
    ids = get_or_insert_ids(tx, {number: (names.get(number, unknown_name).issuer, "") for number in cusips})
    for number, name in names.items():
        key = issuer_names.build_issuer_key(name.issuer)
        if tx.run("update_unreported_issuer", cusip=number, issuer=name.issuer, key=key):
            _replace_words(tx, {ids[number]: name.issuer})
        (stored,) = tx.list_rows("security", cusip=number)
        group = name.security_group or issuer_names.classify_security(stored["issuer"], stored["title"])
        tx.run("update_security_group", cusip=number, security_group=group)
    _recompute(tx, cusips)


def update_listed_names(tx: Transaction, names: Mapping[str, SecurityName]) -> None:
    """Store the names of the SEC's list of 13F securities where no filing reported one, and recompute them."""
    for number, name in names.items():
        tx.run(
            "update_listed_security",
            cusip=number,
            issuer=name.issuer,
            title=name.title,
            issuer_key=issuer_names.build_issuer_key(name.issuer),
            class_letter=issuer_names.find_class_letter(name.title),
            security_group=issuer_names.classify_security(name.issuer, name.title),
        )
    _recompute(tx, list(names))


def recompute_company_securities(tx: Transaction, cik: int, new_key: str | None = None) -> None:
    """Recompute ticker and company of the securities that may be a company's, after its names or tickers changed.

    If only a name was added, ``new_key`` is its key: then only securities with a similar name are considered.
    """
    if new_key is None:
        keys = [row["key"] for row in tx.list_rows("keys_of_company", cik=cik)]
    else:
        keys = [new_key]
    stems = {key.partition(" ")[0] for key in keys}
    # A 13F table may have cut the name anywhere; the key of such a name is its beginning and "*".
    cut_keys = [f"{stem[:length]}*" for stem in stems for length in range(1, len(stem) + 1)]
    rows = tx.list_rows(
        "candidate_securities_of_company", cik=cik, stems=json.dumps(list(stems)), cut_keys=json.dumps(cut_keys)
    )
    if rows:
        _recompute(tx, [row["cusip"] for row in rows])


def _recompute(tx: Transaction, cusips: list[str]) -> None:
    """Recompute ticker and company of securities."""
    tx.run("recompute_securities", cusips=json.dumps(cusips))


# ---- Reading


class Security(TypedDict):
    """A security; unknown fields are null. ``evidence`` names the source of ticker and company."""

    cusip: str
    cusip_valid: bool
    ticker: str | None
    issuer_name: str | None
    title_of_class: str | None
    cik: str | None
    cusip6: str
    security_group: str
    evidence: str | None
    # Accession number and day of the latest filing that reports the security.
    seen_in: str | None
    seen_on: Date | None


class SecurityMatch(Security):
    """A security that matches a search, with its score."""

    score: int


def _build_security(row: Row) -> Security:
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
    """Return the security of a CUSIP, or None if neither a 13F report nor a mapping names it."""
    row = tx.find_row("security", cusip=number)
    return None if row is None else _build_security(row)


def list_by_ticker(tx: Transaction, ticker: str) -> list[Security]:
    """Return the securities of a ticker, the most recently reported first, at most 50."""
    return [_build_security(row) for row in tx.list_rows("securities_of_ticker", ticker=ticker)]


def list_by_company(tx: Transaction, cik: int, limit: int, offset: int) -> list[Security]:
    """Return a page of the securities of a company in the order of their CUSIPs."""
    rows = tx.list_rows("securities_of_cik", cik=cik, limit=limit, offset=offset)
    return [_build_security(row) for row in rows]


def list_by_issuer(tx: Transaction, cusip6: str, limit: int, offset: int) -> list[Security]:
    """Return a page of the securities whose CUSIP begins with an issuer's six characters."""
    rows = tx.list_rows("securities_of_cusip6", first=cusip6, end=cusip6 + _LAST_CHAR, limit=limit, offset=offset)
    return [_build_security(row) for row in rows]


def find_by_cusips(tx: Transaction, cusips: Iterable[str]) -> dict[str, Security]:
    """Return the known securities among some CUSIPs, by CUSIP."""
    rows = tx.list_rows("securities_of_cusips", cusips=json.dumps(list(cusips)))
    return {row["cusip"]: _build_security(row) for row in rows}


def search(tx: Transaction, text: str, limit: int, offset: int) -> tuple[list[SecurityMatch], int]:
    """Search securities by CUSIP, ticker or words of the issuer's name. Return a page, best first, and the total.

    The score is 100 for a complete CUSIP or ticker, 90 for the beginning of a ticker, 80 for the beginning of a CUSIP,
    70 for the beginning of a name and 50 for the beginnings of words of a name.
    """
    words = issuer_names.list_words(text)
    if not words:
        return [], 0
    # The longest word selects the fewest rows by index; the other words filter them.
    longest_word = max(words, key=len)
    other_words = [word for word in words if word != longest_word]
    cusip_prefix = "".join(text.split()).upper()
    ticker_prefix = tickers.normalise_prefix(text)
    params = {
        "text": cusip_prefix,
        "text_end": cusip_prefix + _LAST_CHAR,
        "ticker": ticker_prefix,
        "ticker_end": ticker_prefix + _LAST_CHAR,
        "word": longest_word,
        "word_end": longest_word + _LAST_CHAR,
        "other_words_glob": "*" + "".join(f" {word}*" for word in other_words),
        "name": " ".join(words),
        "limit": limit,
        "offset": offset,
    }
    rows, total = tx.list_page("matching_securities", params)
    matches: list[SecurityMatch] = [{**_build_security(row), "score": row["score"]} for row in rows]
    return matches, total


class ChainLink(TypedDict):
    """A CUSIP of a chain, with date and reason of the replacement of the CUSIP before it."""

    cusip: str
    issuer_name: str | None
    is_current: bool
    effective_date: Date | None
    reason: str | None


def list_successor_chain(tx: Transaction, number: str) -> list[ChainLink]:
    """Return the CUSIPs that replaced each other before and after this one, the oldest first.

    Successors come from the loaded mapping. The chain of a CUSIP that was never replaced has one link.
    """
    predecessors = _follow_chain(tx, "predecessor_of_cusip", [number], MAX_CHAIN_LENGTH)
    chain = _follow_chain(tx, "successor_of_cusip", predecessors[::-1], 2 * MAX_CHAIN_LENGTH)
    links: list[ChainLink] = []
    previous_cusip = None
    for chain_cusip in chain:
        security = tx.find_row("security", cusip=chain_cusip)
        replacement = None if previous_cusip is None else tx.find_row("cusip_mapping", cusip=previous_cusip)
        links.append(
            {
                "cusip": chain_cusip,
                "issuer_name": (security["issuer"] or None) if security else None,
                "is_current": chain_cusip == chain[-1],
                "effective_date": replacement["effective_date"] if replacement else None,
                "reason": replacement["reason"] if replacement else None,
            }
        )
        previous_cusip = chain_cusip
    return links


def _follow_chain(tx: Transaction, query: str, chain: list[str], max_length: int) -> list[str]:
    """Append the next CUSIP to a chain, which the query returns for the last one, until there is no next one.

    A mapping may contain a cycle, so a CUSIP that is in the chain already ends it too.
    """
    while len(chain) < max_length:
        next_cusip = tx.find_value(query, cusip=chain[-1])
        if not next_cusip or next_cusip in chain:
            break
        chain.append(next_cusip)
    return chain


class TickerMatch(TypedDict):
    """A ticker that matches a search, with its score and its rank, from 1."""

    symbol: str
    name: str
    cik: str
    exchange: str | None
    score: int
    rank: int


def search_tickers(tx: Transaction, text: str, limit: int, offset: int) -> tuple[list[TickerMatch], int]:
    """Search tickers by ticker, company name or CIK. Return a page, best first, and the total.

    The score is 100 for a complete ticker and for the tickers of a CIK, 80 for the beginning of a ticker and 50 for the
    beginning of a company name. Equal scores are in the order of the SEC's list, which is sorted by company size.
    """
    digits = text.strip()
    is_cik = digits.isascii() and digits.isdigit() and len(digits) <= 10
    ticker_prefix = tickers.normalise_prefix(text)
    name_prefix = issuer_names.build_stem(text)
    params = {
        "cik": int(digits) if is_cik else None,
        # An empty prefix would match every row: _LAST_CHAR matches none.
        "ticker": ticker_prefix or _LAST_CHAR,
        "ticker_end": ticker_prefix + _LAST_CHAR,
        "key": name_prefix or _LAST_CHAR,
        "key_end": name_prefix + _LAST_CHAR,
        "limit": limit,
        "offset": offset,
    }
    rows, total = tx.list_page("matching_tickers", params)
    return [build_record(TickerMatch, row, rank=rank) for rank, row in enumerate(rows, offset + 1)], total


def count_securities(tx: Transaction) -> dict[str, Any]:
    """Return the numbers of securities: in total, by group, with a ticker, with a company; and the mapping's date."""
    counts_by_group = {row["security_group"]: row["securities"] for row in tx.list_rows("security_group_counts")}
    (totals,) = tx.list_rows("security_counts")
    return {"groups": {group: counts_by_group.get(group, 0) for group in issuer_names.GROUPS}, **dict(totals)}
