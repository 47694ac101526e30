"""Ownership forms into rows: the one way in, for documents, data sets and embedded packs alike.

Whatever order forms come in, the same rows stand in the end: of two documents for one accession number the
better stays, and which rows an amendment restates is worked out anew for all the forms that it may concern.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any

from finapi.core import stopping
from finapi.core.clock import iso
from finapi.edgar import tickers
from finapi.edgar.form_families import OWNERSHIP
from finapi.edgar.ownership_forms import Owner, OwnershipForm, OwnershipRow
from finapi.market.documents import announcements, filing_store, identification, metadata
from finapi.market.documents.identification import Subject
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    INDEX_EVIDENCE,
    UNFILED_PREFIX,
    FilingMetadata,
    Party,
    is_unfiled,
)
from finapi.market.insiders import amendments, form_positions, rules, titles, trades
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row as DbRow
from finapi.store.db import Transaction

FROM_SET, FROM_DOCUMENT = 0, 1

# How far the names and tickers on these forms are to be trusted: less than a cover page.
FROM_FORM = companies.FROM_FILING_LIST

# What insider.transaction.created tells of a transaction, beside its filing (DECISIONS 9).
EVENT_MEMBERS = (
    "ticker",
    "issuer_cik",
    "insider_name",
    "insider_cik",
    "transaction_code",
    "acquired_disposed_code",
    "shares",
    "price_per_share",
    "transaction_date",
)

# Columns of insert_insider_transactions and insert_insider_positions, in their order.
_OF_ROW = attrgetter(
    "is_derivative",
    "title",
    "code",
    "acquired_disposed",
    "shares",
    "price",
    "following_shares",
    "following_value",
    "nature",
    "direct_or_indirect",
)
_OF_FACTS = attrgetter(
    "standard_type", "direction", "value", "rule_10b5_1", "plan_source", "is_cashless", "is_sell_to_cover"
)
_OF_POSITION = attrgetter("security_class", "title", "is_derivative", "ownership", "nature", "vehicle", "amount")

# Forms that amendments may join; an insider has a handful of one period.
_LINKED = 100

_NO_TICKER = frozenset(("NONE", "N-A", "NA", "NULL", "NOT-APPLICABLE", "UNKNOWN", "TBD", "PRIVATE"))


def upsert_form(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, now: datetime) -> bool:
    """Store a form under its filing; False when it is held already and nothing new is told.

    Everything happens in the caller's transaction: the form is stored whole or not at all.
    """
    # A data set does not tell how transactions and holdings alternate: both sources number rows alike.
    form = replace(form, rows=tuple(sorted(form.rows, key=lambda row: (row.is_derivative, not row.is_transaction))))
    text = encode_form(form)
    content = hashlib.sha256(text).digest()
    if filed.filed_at is None:
        filed = replace(filed, filed_at=tx.find_value("filing_times", accession=filed.accession))
    touched: set[int] = set()
    new = True
    for held in tx.list_rows("held_insider_forms", accession=filed.accession, content=content):
        # Under the same number, or the same form with its number unknown on either side.
        if held["accession"] != filed.accession and not (is_unfiled(filed.accession) or is_unfiled(held["accession"])):
            continue
        if not _gives_way(held, filed, content):
            return False
        filed = replace(filed, filed_at=filed.filed_at or held["filed_at"])
        touched |= {row["id"] for row in _linked(tx, held["id"])} - {held["id"]}
        tx.run("delete_insider_form", id=held["id"])
        # A report whose accession number was not known is announced when the number is.
        new = is_unfiled(held["accession"])
    _insert(tx, form, filed, text, now)
    for number in (derive_form_id(filed.accession), *sorted(touched)):
        _settle_amendments(tx, number)
    tx.run("bump_data_version")
    if new:
        heartbeats.record_arrival(tx, "filing", now)
    if new and not is_unfiled(filed.accession):
        _announce(tx, form, filed, now)
    return True


def complete_undated_forms(tx: Transaction, now: datetime) -> int:
    """Complete forms whose filing or day was unknown. Return how many were settled.

    A stop ends it after a document; the rest is still noted as undated.
    """
    settled = 0
    for row in tx.list_rows("undated_insider_forms"):
        if stopping.is_requested():
            break
        form = decode_form(row["body"])
        accession = row["accession"]
        if is_unfiled(accession):
            accession = identification.find_listed_accession(tx, build_subject(form)) or accession
        filed_at = tx.find_value("filing_times", accession=accession)
        if filed_at is not None:
            evidence = INDEX_EVIDENCE if row["source"] == FROM_SET else DOCUMENT_EVIDENCE
            filed = FilingMetadata(accession, evidence, filed_at=filed_at, primary_document=row["document"])
            settled += upsert_form(tx, form, filed, now)
    return settled


def build_subject(form: OwnershipForm) -> Subject:
    """What a form says of its filing: the issuer, then the owners, may be those whose lists name it."""
    ciks = [int(form.issuer_cik), *(int(owner.cik) for owner in form.owners)]
    return Subject(ciks, form.form, form.period, hashlib.sha256(encode_form(form)).digest())


def encode_form(form: OwnershipForm) -> bytes:
    """A form as JSON: its fields by name, rows as lists."""
    # Not dataclasses.asdict, which copies every value on its way and takes ten times as long.
    values: dict[str, Any] = {name: getattr(form, name) for name in OwnershipForm.__slots__}
    values["owners"] = [{name: getattr(owner, name) for name in Owner.__slots__} for owner in form.owners]
    return json.dumps(values, separators=(",", ":")).encode()


def decode_form(body: bytes) -> OwnershipForm:
    """The form of stored bytes."""
    values = json.loads(zlib.decompress(body))
    values["owners"] = tuple(Owner(**owner) for owner in values["owners"])
    values["rows"] = tuple(
        OwnershipRow._make([*row[:-1], tuple((field, tuple(ids)) for field, ids in row[-1])]) for row in values["rows"]
    )
    values["footnotes"] = tuple((one, text) for one, text in values["footnotes"])
    return OwnershipForm(**values)


def derive_form_id(accession: str) -> int:
    """The number by which a form is stored: of its accession number, or below zero of its hash."""
    if is_unfiled(accession):
        return -1 - int(accession.removeprefix(UNFILED_PREFIX)[:15], 16)
    return int(accession.replace("-", ""))


def _gives_way(held: DbRow, filed: FilingMetadata, content: bytes) -> bool:
    """Whether a form that is held is replaced: by its number, the better source, of equals the greater hash."""
    if held["accession"] != filed.accession:
        return not is_unfiled(filed.accession)
    if held["content"] == content:
        return filed.filed_at is not None and filed.filed_at != held["filed_at"]
    return (_source(filed), content) > (held["source"], held["content"])


def _source(filed: FilingMetadata) -> int:
    """Whether a form is from a data set, which is an index of forms and less than the form's own document."""
    return FROM_SET if filed.evidence == INDEX_EVIDENCE else FROM_DOCUMENT


def _insert(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, text: bytes, now: datetime) -> None:
    day = form_positions.filing_day_number(filed.filed_at)
    number = derive_form_id(filed.accession)
    issuer, as_of = int(form.issuer_cik), filed.filed_at or ""
    ticker = normalise_symbol(form.symbol)
    companies.upsert_name(tx, issuer, form.issuer_name, FROM_FORM, as_of)
    companies.upsert_tickers(tx, issuer, [(ticker, None)] if ticker else [], FROM_FORM, as_of)
    named = [(word, 1, issuer) for word in split_words(f"{form.issuer_name} {ticker or ''}")]
    if not is_unfiled(filed.accession):
        _put_filing(tx, form, filed, now)
    sic = tx.find_value("company_sic", cik=issuer)
    _insert_form(tx, form, filed, text, sic, now)
    for position, owner in enumerate(titles.list_owners(form)):
        cik, name = int(owner.cik), owner.name or f"CIK {owner.cik}"
        tx.run("put_insider", cik=cik, name=name, is_entity=titles.is_entity(owner), day=day, form=number)
        named += [(word, 0, cik) for word in split_words(name)]
        tx.run(
            "insert_insider_form_owner",
            owner_cik=cik,
            filed_day=day,
            form_id=number,
            position=position,
            roles=titles.combine_roles([owner]),
            title=owner.officer_title,
            other=owner.other_text,
        )
    tx.insert_rows("insert_insider_words", named)
    tx.run(
        "count_insider_transactions",
        more=tx.insert_rows("insert_insider_transactions", _transactions(form, filed, sic)),
    )
    _insert_positions(tx, form, filed, number, day)


def _insert_form(
    tx: Transaction, form: OwnershipForm, filed: FilingMetadata, text: bytes, sic: int | None, now: datetime
) -> None:
    late, days = rules.compute_lateness(form, filed.filed_at)
    tables = [(row.is_derivative, row.is_transaction) for row in form.rows]
    tx.run(
        "insert_insider_form",
        {name: getattr(form, name) for name in ("symbol", "form", "period", "original_date")},
        id=derive_form_id(filed.accession),
        accession=filed.accession,
        content=hashlib.sha256(text).digest(),
        source=_source(filed),
        body=zlib.compress(text),
        issuer_cik=int(form.issuer_cik),
        sic=sic,
        base=form.form[0],
        is_amendment=form.form.endswith("/A"),
        filed_at=filed.filed_at,
        filed_day=form_positions.filing_day_number(filed.filed_at),
        as_of=form_positions.latest_reported_day(form, filed.filed_at),
        is_late=late,
        business_days=days,
        roles=titles.combine_roles(titles.list_owners(form)),
        document=filed.primary_document,
        stored_at=iso(now),
        owner_count=len(titles.list_owners(form)),
        nonderiv_trans=tables.count((False, True)),
        nonderiv_holdings=tables.count((False, False)),
        deriv_trans=tables.count((True, True)),
        deriv_holdings=tables.count((True, False)),
        footnote_count=len(form.footnotes),
    )


def split_words(text: str) -> list[str]:
    """The words by which a name is found: letters and digits in lower case, each once."""
    return list(dict.fromkeys(re.findall(r"[^\W_]+", text.casefold())))[:20]


def normalise_symbol(text: str | None) -> str | None:
    """The ticker that a form gives, folded; None for none, for several and for what is no ticker."""
    if text is None:
        return None
    plain = text.rpartition(":")[2].strip(" ()[]\"'")
    try:
        ticker = tickers.normalise(plain)
    except ValueError:
        return None
    return None if ticker in _NO_TICKER else ticker


def _put_filing(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, now: datetime) -> None:
    rank = metadata.PARTY_RANKS["reporting_owner"]
    inside = FilingMetadata(
        filed.accession,
        INDEX_EVIDENCE if _source(filed) == FROM_SET else DOCUMENT_EVIDENCE,
        (
            Party(int(form.issuer_cik), metadata.PARTY_RANKS["issuer"], form.issuer_name),
            *(Party(int(one.cik), rank, one.name) for one in titles.list_owners(form)),
        ),
        form=form.form,
        period_of_report=form.period,
        primary_document=filed.primary_document if (filed.primary_document or "").endswith(".xml") else None,
    )
    outside = replace(filed, primary_document=None)
    # A line of a data set is no news: what is told of it are its transactions.
    filing_store.upsert_document(tx, outside, inside, now, announces=_source(filed) == FROM_DOCUMENT)


def _transactions(form: OwnershipForm, filed: FilingMetadata, sic: int | None) -> list[tuple[Any, ...]]:
    number, day = derive_form_id(filed.accession), form_positions.filing_day_number(filed.filed_at)
    judged = [rules.remove_impossible_values(row, filed.filed_at) for row in form.rows]
    facts = rules.derive_traits(replace(form, rows=tuple(row for row, _ in judged)))
    roles, owner, issuer = titles.combine_roles(titles.list_owners(form)), int(form.owners[0].cik), int(form.issuer_cik)
    found: list[tuple[Any, ...]] = []
    for seq, (row, wrong) in enumerate(judged, 1):
        if not row.is_transaction:
            continue
        said = facts[len(found)]
        own = (row.date, _figure_notes(row, wrong), _trade(form, form.rows[seq - 1]))
        found.append((number, seq, day, issuer, owner, roles, sic, *own, *_OF_ROW(row), *_OF_FACTS(said)))
    return found


def _figure_notes(row: OwnershipRow, wrong: Mapping[str, str]) -> str | None:
    """Footnotes of the figures that are missing, or why they are not believed, as JSON; None when there are none."""
    missing: dict[str, Any] = {
        field: row.list_footnote_ids(field)
        for field in ("shares", "price", "following_shares", "following_value")
        if getattr(row, field) is None and row.list_footnote_ids(field)
    }
    return json.dumps(missing | dict(wrong)) if missing or wrong else None


def _trade(form: OwnershipForm, row: OwnershipRow) -> int:
    """A number that is the same for the same trade in two forms."""
    said = (form.issuer_cik, row.is_derivative, amendments.fold_title(row.title), row.date, row.code)
    text = repr((*said, row.acquired_disposed, row.shares, row.price))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _insert_positions(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, number: int, day: int) -> None:
    held = form_positions.list_positions(form.rows)
    rows = [
        (number, one.seq, number, *_OF_POSITION(one), json.dumps(one.footnote_ids) if one.footnote_ids else None)
        for one in held
    ]
    tx.insert_rows("insert_insider_positions", rows)
    as_of, issuer = form_positions.latest_reported_day(form, filed.filed_at), int(form.issuer_cik)
    for derivative, cls in sorted({(one.is_derivative, one.security_class) for one in held}):
        for owner in titles.list_owners(form):
            cik = int(owner.cik)
            tx.run("put_insider_stake", issuer_cik=issuer, owner_cik=cik, derivative=derivative, cls=cls)
            stake = tx.find_value("insider_stake_id", issuer_cik=issuer, owner_cik=cik, derivative=derivative, cls=cls)
            tx.run("insert_insider_stake_form", stake_id=stake, as_of=as_of, filed_day=day, form_id=number)


def _announce(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, now: datetime) -> None:
    if _source(filed) == FROM_SET and not announcements.is_recent(now, filed.filed_at):
        return  # history, which is not worth putting together what nobody will be told
    ids = [row["id"] for row in tx.list_rows("transactions_of_form", form_id=derive_form_id(filed.accession))]
    news = [
        announcements.ContentNews(
            {**transaction, "accession_number": filed.accession},
            {name: transaction.get(name) for name in EVENT_MEMBERS},
            f"{filed.accession}/{number}",
        )
        for number, transaction in enumerate(trades.build_transactions(tx, ids))
    ]
    announcements.announce_contents(tx, now, OWNERSHIP, filed.accession, news)


# ---- amendments


def _settle_amendments(tx: Transaction, number: int) -> None:
    """Work out anew which rows are restated among the forms that an amendment may join with this one."""
    linked = _linked(tx, number)
    if not any(row["is_amendment"] for row in linked):
        return
    order = sorted(linked, key=lambda row: (row["filed_day"], row["id"]))
    forms = {row["id"]: decode_form(row["body"]) for row in order}
    for row in order:
        tx.run("reset_superseded_transactions", form_id=row["id"])
        tx.run("reset_superseded_positions", form_id=row["id"])
        tx.run("reset_amended_stakes", form_id=row["id"])
    # Rows that stand so far, as form and place in it: an amendment is held against all of them at once.
    live: list[tuple[int, int]] = []
    for row in order:
        if row["is_amendment"]:
            live = _restate(tx, row["id"], forms, live)
        live += [(row["id"], place) for place in range(len(forms[row["id"]].rows))]
    standing = {one for one, _ in live}
    for one, found in forms.items():
        tx.run("set_insider_form_superseded", id=one, superseded=bool(found.rows) and one not in standing)


def _restate(
    tx: Transaction, later: int, forms: dict[int, OwnershipForm], live: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Mark what an amendment restates; the rows that stand after it, its own not among them."""
    rows = forms[later].rows
    taken = amendments.match_restated_rows([forms[one].rows[place] for one, place in live], rows)
    gone: dict[int, list[int]] = {}
    for place in taken:
        one, within = live[place]
        gone.setdefault(one, []).append(within + 1)
    vehicles = json.dumps(sorted({one.vehicle for one in form_positions.list_positions(rows)}))
    for earlier, places in gone.items():
        seqs = json.dumps(sorted(places))
        tx.run("supersede_transactions", form_id=earlier, by=later, seqs=seqs)
        tx.run("supersede_positions", form_id=earlier, by=later, seqs=seqs, vehicles=vehicles)
        tx.run("move_positions", form_id=earlier, by=later)
        tx.run("amend_stakes", form_id=earlier, by=later)
    return [one for place, one in enumerate(live) if place not in taken]


def _linked(tx: Transaction, start: int) -> list[DbRow]:
    """The forms of the same issuer, kind and owners that amendments join with one, that one included."""
    found: dict[int, DbRow] = {}
    waiting = [start]
    while waiting and len(found) < _LINKED:
        number = waiting.pop()
        if number in found:
            continue
        row = tx.find_row("insider_form_to_link", id=number)
        assert row is not None
        found[number] = row
        waiting += [near["id"] for near in tx.list_rows("insider_forms_linked", id=number) if near["id"] not in found]
    return list(found.values())
