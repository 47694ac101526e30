"""Trades that several forms report: by each link of a chain of owners, by joint filers, or under two accession numbers.

A fund, its manager, the manager's parent and the person who controls them may each file a form for one purchase. All
rows stay. One of them stands for the trade, and the others have its id (``same_trade_as``): sums, rankings and clusters
leave them out. It is the first row that was filed, but a row of a director or officer is preferred, so that sums of
officers contain the trade. Two rows of one form are never one trade.

Rows are compared if they have the same issuer, day, code, direction and number of shares (:func:`hash_terms`). Two rows
are one trade if their prices agree, the names of the securities do not contradict each other, and the owners belong
together:

- **They have an owner in common**, and state the same amount held afterwards. Two purchases of one owner do not.
- **Both are ten per cent owners.** If both the amounts held afterwards and the addresses differ, they are two
  investors. A person who is a director or officer on each form is not enough either: founders often sell the same
  number in an offering.
- **One holds through the other.** An indirect holding names the other owner. Or it is held by a relative or an entity
  of the same name, through the same vehicle, or at the address of an entity on the other form.
- **A fund or ten per cent owner states the same amount** held afterwards, and it is not the number of shares traded.

Two owners who each hold directly made two trades if one of them is a director or officer: they may have bought the same
number at the same price in an offering.

Example: a fund buys 1,000 shares at 25.12 and holds them directly. Its manager reports 1,000 at 25.1234, held by the
fund. A director buys 1,000 at 25.12 on the same day. The second row is the same trade as the first, the third is not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cached_property

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders import form_bodies, trades
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.trades import LAST_DAY, FormOwner
from finapi.store.db import Row, Transaction

# Rows that have the terms of more rows than this are not compared, because each would be compared with all others.
MAX_COMPARED_ROWS = 100

# Prices with different numbers of decimals agree if they are equal after rounding to at least this many.
_MIN_PRICE_DECIMALS = 2

# Words that do not distinguish one owner from another.
_LEGAL_FORMS = ("co", "company", "corp", "corporation", "inc", "limited", "llc", "llp", "lp", "ltd")
_FUND_WORDS = ("capital", "fund", "funds", "investment", "investments", "investors", "master", "private", "ventures")
_FIRM_WORDS = ("advisers", "advisors", "associates", "entity", "foundation", "group", "holding", "holdings")
_OFFICE_WORDS = ("general", "management", "manager", "partner", "partners", "partnership")
_REGION_WORDS = ("global", "international", "national", "united")
_TRUST_WORDS = ("estate", "grat", "irrevocable", "living", "revocable", "trust", "trustee", "trusts")
_ACCOUNT_WORDS = ("account", "accounts", "ira", "utma")
_CHILD_WORDS = ("child", "children", "daughter", "daughters", "minor", "sibling", "son", "sons")
_FAMILY_WORDS = ("custodian", "family", "father", "husband", "mother", "parents", "spouse", "wife")
_OWNERSHIP_WORDS = ("directly", "held", "indirect", "indirectly", "individual", "owned", "shares", "sole", "stock")
_NOTE_WORDS = ("explanation", "footnote", "footnotes", "note", "notes", "person", "remarks", "reporting", "see")
_FUNCTION_WORDS = ("and", "first", "for", "the", "through", "with")
_RELATIVES = frozenset((*_CHILD_WORDS, *_FAMILY_WORDS))
_GENERIC_WORDS = _RELATIVES.union(
    _LEGAL_FORMS,
    _FUND_WORDS,
    _FIRM_WORDS,
    _OFFICE_WORDS,
    _REGION_WORDS,
    _TRUST_WORDS,
    _ACCOUNT_WORDS,
    _OWNERSHIP_WORDS,
    _NOTE_WORDS,
    _FUNCTION_WORDS,
)
# A plan holds the shares of many people, so its name does not connect two of them.
_PLAN_WORDS = frozenset(("401", "401k", "esop", "espp", "plan", "plans", "retirement", "savings"))
_MIN_NAME_LENGTH = 3  # Shorter words, such as initials, identify nobody.


class _Report:
    """A form that reports a trade, with what it says about the owners."""

    def __init__(self, row: Row, owners: Sequence[FormOwner]) -> None:
        self.form_id: int = row["form_id"]
        self.content: bytes = row["content"]
        self.owners = owners
        self._body: bytes = row["body"]
        self.owner_ciks = {owner["cik"] for owner in owners}
        self.has_entity = any(owner["is_entity"] for owner in owners)
        self.has_ten_percent_owner = any(owner["is_ten_percent_owner"] for owner in owners)
        self.has_insider_person = any(
            not owner["is_entity"] and (owner["is_director"] or owner["is_officer"]) for owner in owners
        )

    @cached_property
    def form(self) -> OwnershipForm:
        """The complete form. It is decoded only for the few pairs that need addresses or footnotes."""
        return form_bodies.decode_form(self._body)

    @cached_property
    def addresses(self) -> set[tuple[str, ...]]:
        """The streets and cities of the owners, as words in lower case."""
        addresses = set()
        for owner in self.form.owners:
            street = _split_words(f"{owner.street1 or ''} {owner.street2 or ''}")
            if street:
                addresses.add((*street, *_split_words(owner.city)))
        return addresses

    @cached_property
    def entity_names(self) -> set[str]:
        """The first distinctive word in the name of each entity."""
        names = set()
        for owner in self.owners:
            distinctive = [word for word in _split_words(owner["name"]) if _is_distinctive(word)]
            if owner["is_entity"] and distinctive:
                names.add(distinctive[0])
        return names

    @cached_property
    def surnames(self) -> set[str]:
        """The surnames of the people: EDGAR writes them first."""
        surnames = set()
        for owner in self.owners:
            words = _split_words(owner["name"])
            if not owner["is_entity"] and words and len(words[0]) >= _MIN_NAME_LENGTH:
                surnames.add(words[0])
        return surnames


class _ReportedRow:
    """A row of a form that may report the same trade as another row."""

    def __init__(self, row: Row, report: _Report) -> None:
        self.id: int = row["id"]
        self.seq: int = row["seq"]
        self.same_trade_as: int | None = row["same_trade_as"]
        self.report = report
        # The first row of a trade stands for it. Rows without a filing day come last.
        self.sort_key = (not report.has_insider_person, row["filed_day"] or LAST_DAY, row["form_id"], row["seq"])
        self.price = None if row["price"] is None else Decimal(row["price"])
        self.amount: str | None = row["following_shares"]
        self.shares: str = row["shares"]
        self.is_indirect = row["ownership"] == "I"
        self.title_words = {
            "stock" if word in ("share", "shares") else word for word in fold_title(row["title"]).split()
        }
        self.nature: str = row["nature"] or ""

    @cached_property
    def holding_words(self) -> list[str]:
        """The words that say how the shares are held: the nature of the ownership and the row's footnotes."""
        footnote_ids = self.report.form.rows[self.seq - 1].list_footnote_ids()
        texts = dict(self.report.form.footnotes)
        return _split_words(" ".join([self.nature, *(texts.get(footnote_id, "") for footnote_id in footnote_ids)]))

    @cached_property
    def vehicle(self) -> frozenset[str]:
        """The distinctive words of the nature of the ownership; empty for "By trust" or "See footnote"."""
        words = _split_words(self.nature)
        if not self.is_indirect or _PLAN_WORDS.intersection(words):
            return frozenset()
        return frozenset(word for word in words if _is_distinctive(word))


def hash_terms(form: OwnershipForm, row: OwnershipRow) -> int:
    """Return a hash that is equal for rows which may report the same trade.

    Prices and titles are not part of it, because two forms may round or name them differently.
    """
    terms = (form.issuer_cik, row.is_derivative, row.date, row.code, row.acquired_disposed, row.shares)
    digest = hashlib.sha256(repr(terms).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def list_terms(tx: Transaction, form_ids: Iterable[int]) -> set[int]:
    """Return the hashes of the terms of all transactions of these forms."""
    return {row["trade"] for row in tx.list_rows("terms_of_forms", forms=json.dumps(sorted(form_ids)))}


def recompute(tx: Transaction, terms: Iterable[int]) -> None:
    """Recompute ``same_trade_as`` of all transactions with these terms.

    The result depends only on the stored rows, not on the order in which they arrived.
    """
    rows_by_terms: dict[int, list[Row]] = {}
    for row in tx.list_rows("rows_of_shared_terms", terms=json.dumps(sorted(terms))):
        rows_by_terms.setdefault(row["trade"], []).append(row)
    all_rows = [row for rows in rows_by_terms.values() for row in rows]
    owners_by_form = trades.list_owners_by_form(tx, {row["form_id"] for row in all_rows})
    reports: dict[int, _Report] = {}
    for row in all_rows:
        if row["form_id"] not in reports:
            reports[row["form_id"]] = _Report(row, owners_by_form[row["form_id"]])
    changes = []
    for rows in rows_by_terms.values():
        reported_rows = [_ReportedRow(row, reports[row["form_id"]]) for row in rows]
        reported_rows.sort(key=lambda reported: reported.sort_key)
        is_compared = len(reported_rows) <= MAX_COMPARED_ROWS
        groups = _group_rows(reported_rows) if is_compared else [[reported] for reported in reported_rows]
        for group in groups:
            first = group[0]
            for reported in group:
                same_trade_as = None if reported is first else first.id
                if reported.same_trade_as != same_trade_as:
                    changes.append((same_trade_as, reported.id))
    tx.insert_rows("update_same_trade", changes)


def _group_rows(rows: Sequence[_ReportedRow]) -> list[list[_ReportedRow]]:
    """Return the rows of each trade. A trade has at most one row of each form."""
    groups: list[list[_ReportedRow]] = []
    for row in rows:
        merged = [row]
        other_groups = []
        for group in groups:
            merged_forms = {member.report.form_id for member in merged}
            is_disjoint = merged_forms.isdisjoint(member.report.form_id for member in group)
            if is_disjoint and any(_is_same_trade(member, row) for member in group):
                merged = sorted([*group, *merged], key=lambda member: member.sort_key)
            else:
                other_groups.append(group)
        groups = [*other_groups, merged]
        groups.sort(key=lambda group: group[0].sort_key)
    return groups


def _is_same_trade(first: _ReportedRow, second: _ReportedRow) -> bool:
    """Return True if two rows of different forms, with the same terms, report one trade."""
    if not _do_prices_agree(first.price, second.price):
        return False
    if not (first.title_words <= second.title_words or second.title_words <= first.title_words):
        return False
    reports = (first.report, second.report)
    is_same_amount = first.amount is not None and first.amount == second.amount
    is_other_amount = None not in (first.amount, second.amount) and not is_same_amount
    if first.report.content == second.report.content:
        return True
    if first.report.owner_ciks & second.report.owner_ciks:
        return is_same_amount or (not is_other_amount and first.nature == second.nature)
    is_indirect = first.is_indirect or second.is_indirect
    has_entity = any(report.has_entity for report in reports)
    has_insider_person = any(report.has_insider_person for report in reports)
    if not is_indirect and has_insider_person and not (has_entity and is_same_amount):
        return False
    are_ten_percent_owners = all(report.has_ten_percent_owner for report in reports)
    are_insider_people = all(report.has_insider_person for report in reports)
    if are_ten_percent_owners and not are_insider_people:
        return not (is_other_amount and _have_other_addresses(*reports)) or _is_held_through(first, second)
    is_through_entity = has_entity or any(report.has_ten_percent_owner for report in reports)
    if is_through_entity and is_same_amount and first.amount != first.shares:
        return True  # After a first purchase, the amount is the number of shares, so it would say nothing.
    return _is_held_through(first, second) or _are_of_one_family(first, second, is_other_amount=is_other_amount)


def _do_prices_agree(first: Decimal | None, second: Decimal | None) -> bool:
    """Return True if prices are equal, or one is the other rounded to cents or more decimals."""
    if first is None or second is None or first == second:
        return first == second
    decimals = [-int(price.as_tuple().exponent) for price in (first, second)]
    if decimals[0] == decimals[1]:
        return False
    step = Decimal(10) ** -max(_MIN_PRICE_DECIMALS, min(decimals))
    return abs(first - second) * 2 <= step


def _have_other_addresses(first: _Report, second: _Report) -> bool:
    """Return True if both forms state addresses, and none of them is on both."""
    return bool(first.addresses and second.addresses) and first.addresses.isdisjoint(second.addresses)


def _is_held_through(first: _ReportedRow, second: _ReportedRow) -> bool:
    """Return True if an indirect row names an owner of the other form, or both are of entities of one family."""
    first_report, second_report = first.report, second.report
    if _names_owner(first, second_report) or _names_owner(second, first_report):
        return True
    if first_report.entity_names & second_report.entity_names:
        return True
    are_linked_entities = first_report.has_entity and second_report.has_entity
    is_through_entity = (first.is_indirect and second_report.has_entity) or (
        second.is_indirect and first_report.has_entity
    )
    if are_linked_entities or is_through_entity:
        return bool(first_report.addresses & second_report.addresses)
    return False


def _names_owner(row: _ReportedRow, report: _Report) -> bool:
    """Return True if an indirect row's nature of ownership or footnotes name an owner of another form."""
    if not row.is_indirect:
        return False
    padded_words = f" {' '.join(row.holding_words)} "
    for owner in report.owners:
        words = _split_words(owner["name"])
        if owner["is_entity"]:
            if (
                any(_is_distinctive(word) for word in words)
                and f" {' '.join(_strip_legal_form(words))} " in padded_words
            ):
                return True
        else:
            # The surname and the first name, in any order.
            first_words = [word for word in words[:2] if len(word) >= _MIN_NAME_LENGTH]
            if len(first_words) == 2 and all(f" {word} " in padded_words for word in first_words):
                return True
    return False


def _are_of_one_family(first: _ReportedRow, second: _ReportedRow, *, is_other_amount: bool) -> bool:
    """Return True for holdings of one vehicle, of a relative, or of an entity with a person's surname."""
    if first.vehicle and first.vehicle == second.vehicle and not is_other_amount:
        return True
    for row, other in ((first, second), (second, first)):
        if not row.is_indirect or _PLAN_WORDS.intersection(_split_words(row.nature)):
            continue
        is_held_by_relative = bool(_RELATIVES.intersection(_split_words(row.nature)))
        if is_held_by_relative and not is_other_amount and row.report.surnames & other.report.surnames:
            return True
        for owner in other.report.owners:
            if owner["is_entity"] and row.report.surnames.intersection(_split_words(owner["name"])):
                return True
    return False


def _split_words(text: str | None) -> list[str]:
    return re.findall(r"[a-z0-9]+", (text or "").casefold().replace(".", ""))


def _is_distinctive(word: str) -> bool:
    return len(word) >= _MIN_NAME_LENGTH and word not in _GENERIC_WORDS


def _strip_legal_form(words: Sequence[str]) -> Sequence[str]:
    """Return the words of an entity's name without "LLC", "L.P." and the like at its end."""
    end = len(words)
    while end > 1 and words[end - 1] in _LEGAL_FORMS:
        end -= 1
    return words[:end]
