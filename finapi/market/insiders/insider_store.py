"""Storage of ownership forms as rows: forms, owners, transactions, positions and words of names.

Documents, data sets and embedded packs are all stored by :func:`upsert_form`. The result does not depend on the order
in which forms arrive:

- If two documents have the same accession number, the better one is stored: the form's own document is better than its
  rows in a quarterly data set. Between two different documents of the same kind, the greater hash wins.
- A form whose accession number is unknown is stored under an id derived from its hash. When the accession number
  becomes known, the form is stored again under that.
- After each form, the restated rows are recomputed for all forms that an amendment may connect with it (see
  :func:`_recompute_amendments`).

Restated rows stay in the tables with the number of the form that restates them (``superseded_by``). No list shows them.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from finapi.core import stopping
from finapi.core.clock import iso
from finapi.edgar import tickers
from finapi.edgar.form_families import OWNERSHIP
from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.documents import announcements, filing_store, identification, metadata
from finapi.market.documents.identification import FilingClaim
from finapi.market.documents.metadata import (
    DOCUMENT_EVIDENCE,
    INDEX_EVIDENCE,
    FilingMetadata,
    Party,
    compute_filing_id,
    is_unfiled,
)
from finapi.market.insiders import (
    amendments,
    form_bodies,
    form_positions,
    rules,
    same_trades,
    titles,
    trade_doubts,
    trades,
)
from finapi.market.insiders.form_positions import compute_filing_day_number
from finapi.market.insiders.rules import TradeTraits
from finapi.market.reference import companies
from finapi.store import heartbeats
from finapi.store.db import Row, Transaction

# Sources of a stored form, the better one with the larger number.
FROM_SET, FROM_DOCUMENT = 0, 1

# The kinds of names in the word index.
INSIDERS, ISSUERS = 0, 1
MAX_WORDS = 20  # At most this many words of a name are indexed.

# The rank of names and tickers on ownership forms: less reliable than a cover page.
FROM_FORM = companies.FROM_FILING_LIST

# Members of a transaction in the event insider.transaction.created, in addition to its filing (DECISIONS 9).
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

# The maximum number of forms in a group connected by amendments. An insider files a handful for one period.
MAX_CONNECTED_FORMS = 100


class _TransactionColumns(NamedTuple):
    """The columns of ``insert_insider_transactions``, in their order."""

    form_id: int
    seq: int
    filed_day: int
    issuer_cik: int
    owner_cik: int
    roles: int
    sic: int | None
    date: str | None
    figure_notes: str | None
    trade: int
    derivative: bool
    title: str | None
    code: str | None
    acquired_disposed: str | None
    shares: str | None
    price: str | None
    following_shares: str | None
    following_value: str | None
    nature: str | None
    ownership: str | None
    standard_type: str
    direction: int
    value: int | None
    rule_10b5_1: bool
    plan_source: str
    is_cashless: bool
    is_sell_to_cover: bool


class _PositionColumns(NamedTuple):
    """The columns of ``insert_insider_positions``, in their order."""

    form_id: int
    seq: int
    under: int  # Id of the form that lists it: the amendment, even if it omits the position.
    security_class: str
    title: str | None
    derivative: bool
    ownership: str | None
    nature: str | None
    vehicle: str
    amount: str | None
    amount_notes: str | None


class _RowKey(NamedTuple):
    """A row of a form by its index in ``OwnershipForm.rows``."""

    form_id: int
    row_index: int


def upsert_form(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, now: datetime) -> bool:
    """Store a form under its filing. Return False if it is already stored and ``filed`` contains nothing new.

    Everything happens in the caller's transaction, so a form is stored completely or not at all.
    """
    # A data set does not preserve the order of transactions and holdings on the form. Rows of both sources are sorted,
    # so that they get the same numbers.
    sorted_rows = sorted(form.rows, key=lambda row: (row.is_derivative, not row.is_transaction))
    form = replace(form, rows=tuple(sorted_rows))
    encoded = form_bodies.encode_form(form)
    content_hash = hashlib.sha256(encoded).digest()
    if filed.filed_at is None:
        filed = replace(filed, filed_at=tx.find_value("filing_times", accession=filed.accession))
    connected_ids: set[int] = set()  # The forms whose amendments have to be recomputed.
    terms: set[int] = set()  # The terms of the trades that may be, or have been, the same as others.
    is_new = True
    source = _get_source(filed)
    stored_rows = tx.list_rows("stored_insider_forms", accession=filed.accession, content=content_hash)
    for stored in identification.select_same_filing(stored_rows, filed.accession):
        if not identification.is_replaced_by(
            stored, filed, content_hash, source=source, stored_source=stored["source"]
        ):
            return False
        filed = replace(filed, filed_at=filed.filed_at or stored["filed_at"])
        connected_ids |= {row["id"] for row in _list_connected_forms(tx, stored["id"])} - {stored["id"]}
        terms |= same_trades.list_terms(tx, [stored["id"]])
        tx.run("delete_insider_form", id=stored["id"])
        # No event was sent for a form stored without its accession number, so it is sent when the number becomes known.
        is_new = is_unfiled(stored["accession"])
    _insert(tx, form, filed, encoded, now)
    changed_ids: set[int] = set()
    for form_id in (compute_filing_id(filed.accession), *sorted(connected_ids)):
        changed_ids |= _recompute_amendments(tx, form_id)
    same_trades.recompute(tx, terms | same_trades.list_terms(tx, changed_ids))
    changed_forms: dict[int, OwnershipForm | None] = dict.fromkeys(changed_ids)
    changed_forms[compute_filing_id(filed.accession)] = form
    has_removed_rows = bool(terms) or len(changed_ids) > 1
    trade_doubts.recompute_forms(tx, changed_forms, int(form.issuer_cik), has_removed_rows=has_removed_rows)
    tx.run("bump_data_version")
    if is_new:
        heartbeats.record_arrival(tx, "filing", now)
    if is_new and not is_unfiled(filed.accession):
        _announce(tx, filed, now)
    return True


def complete_undated_forms(tx: Transaction, now: datetime) -> int:
    """Complete forms whose accession number or filing date has become known. Return the number of completed forms.

    If a stop is requested, the remaining forms are left for the next run.
    """
    completed = 0
    for row in tx.list_rows("undated_insider_forms"):
        if stopping.is_requested():
            break
        form = form_bodies.decode_form(row["body"])
        evidence = INDEX_EVIDENCE if row["source"] == FROM_SET else DOCUMENT_EVIDENCE
        filed = identification.find_completed_metadata(tx, row, build_claim(form), evidence)
        if filed is not None:
            completed += upsert_form(tx, form, filed, now)
    return completed


def build_claim(form: OwnershipForm) -> FilingClaim:
    """Return the facts (issuer, owners, dates) by which a form's filing can be found in EDGAR's lists of filings."""
    ciks = [int(form.issuer_cik)]
    ciks += [int(owner.cik) for owner in form.owners]
    return FilingClaim(ciks, form.form, form.period, hashlib.sha256(form_bodies.encode_form(form)).digest())


def _get_source(filed: FilingMetadata) -> int:
    """Return FROM_SET for a form from a quarterly data set, or FROM_DOCUMENT for one from its own document."""
    return FROM_SET if filed.evidence == INDEX_EVIDENCE else FROM_DOCUMENT


# ---- Rows of a form


def _insert(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, encoded: bytes, now: datetime) -> None:
    filed_day = compute_filing_day_number(filed.filed_at)
    form_id = compute_filing_id(filed.accession)
    issuer_cik = int(form.issuer_cik)
    as_of = filed.filed_at or ""
    symbols = tickers.parse_symbols(form.symbol or "")
    companies.upsert_name(tx, issuer_cik, form.issuer_name, FROM_FORM, as_of)
    companies.upsert_tickers(tx, issuer_cik, [(ticker, None) for ticker in symbols], FROM_FORM, as_of)
    words = [(word, ISSUERS, issuer_cik) for word in split_words(" ".join([form.issuer_name, *symbols]))]
    if not is_unfiled(filed.accession):
        _upsert_filing(tx, form, filed, now)
    sic = tx.find_value("company_sic", cik=issuer_cik)
    _insert_form(tx, form, filed, encoded, sic, now)
    for position, owner in enumerate(titles.list_owners(form)):
        cik = int(owner.cik)
        name = owner.name or f"CIK {owner.cik}"
        tx.run("upsert_insider", cik=cik, name=name, is_entity=titles.is_entity(owner), day=filed_day, form=form_id)
        words += [(word, INSIDERS, cik) for word in split_words(name)]
        tx.run(
            "insert_insider_form_owner",
            owner_cik=cik,
            filed_day=filed_day,
            form_id=form_id,
            position=position,
            roles=titles.combine_roles([owner]),
            title=owner.officer_title,
            other=owner.other_text,
        )
    tx.insert_rows("insert_insider_words", words)
    inserted = tx.insert_rows("insert_insider_transactions", _build_transactions(form, filed, sic))
    tx.run("update_insider_transaction_count", inserted=inserted)
    _insert_positions(tx, form, filed, form_id, filed_day)


def _insert_form(
    tx: Transaction, form: OwnershipForm, filed: FilingMetadata, encoded: bytes, sic: int | None, now: datetime
) -> None:
    lateness = rules.compute_lateness(form, filed.filed_at)
    owners = titles.list_owners(form)
    # The table of each row, as (is_derivative, is_transaction).
    tables = [(row.is_derivative, row.is_transaction) for row in form.rows]
    tx.run(
        "insert_insider_form",
        id=compute_filing_id(filed.accession),
        accession=filed.accession,
        content=hashlib.sha256(encoded).digest(),
        source=_get_source(filed),
        body=zlib.compress(encoded),
        issuer_cik=int(form.issuer_cik),
        sic=sic,
        symbol=form.symbol,
        form=form.form,
        base=form.form[0],
        is_amendment=form.form.endswith("/A"),
        period=form.period,
        original_date=form.original_date,
        filed_at=filed.filed_at,
        filed_day=compute_filing_day_number(filed.filed_at),
        as_of=form_positions.get_latest_reported_day(form, filed.filed_at),
        is_late=lateness.is_late,
        business_days=lateness.business_days,
        roles=titles.combine_roles(owners),
        document=filed.primary_document,
        stored_at=iso(now),
        owner_count=len(owners),
        nonderiv_trans=tables.count((False, True)),
        nonderiv_holdings=tables.count((False, False)),
        deriv_trans=tables.count((True, True)),
        deriv_holdings=tables.count((True, False)),
        footnote_count=len(form.footnotes),
    )


def split_words(text: str) -> list[str]:
    """Return the words of a name for the word index: letters and digits in lower case, each word once."""
    words = re.findall(r"[^\W_]+", text.casefold())
    return list(dict.fromkeys(words))[:MAX_WORDS]


def _upsert_filing(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, now: datetime) -> None:
    """Insert or update the filing's row with the metadata of its index and those of the form itself."""
    owner_rank = metadata.PARTY_RANKS["reporting_owner"]
    issuer = Party(int(form.issuer_cik), metadata.PARTY_RANKS["issuer"], form.issuer_name)
    owners = [Party(int(owner.cik), owner_rank, owner.name) for owner in titles.list_owners(form)]
    document_metadata = FilingMetadata(
        filed.accession,
        INDEX_EVIDENCE if _get_source(filed) == FROM_SET else DOCUMENT_EVIDENCE,
        (issuer, *owners),
        form=form.form,
        period_of_report=form.period,
    )
    # A filing from a data set is old, so no event is sent for it.
    announces = _get_source(filed) == FROM_DOCUMENT
    filing_store.upsert_filing_of_xml_document(tx, filed, document_metadata, now, announces=announces)


def _build_transactions(form: OwnershipForm, filed: FilingMetadata, sic: int | None) -> list[_TransactionColumns]:
    form_id = compute_filing_id(filed.accession)
    filed_day = compute_filing_day_number(filed.filed_at)
    roles = titles.combine_roles(titles.list_owners(form))
    checked = [rules.remove_impossible_values(row, filed.filed_at) for row in form.rows]
    traits = iter(rules.derive_traits(replace(form, rows=tuple(row for row, _ in checked))))
    transactions = []
    for seq, (row, reasons) in enumerate(checked, 1):
        if row.is_transaction:
            # The terms are those of the row as it was filed, impossible values included.
            filed_row = form.rows[seq - 1]
            transactions.append(
                _build_transaction(
                    row,
                    next(traits),
                    form_id=form_id,
                    seq=seq,
                    filed_day=filed_day,
                    issuer_cik=int(form.issuer_cik),
                    owner_cik=int(form.owners[0].cik),
                    roles=roles,
                    sic=sic,
                    figure_notes=_encode_figure_notes(row, reasons),
                    trade=same_trades.hash_terms(form, filed_row),
                )
            )
    return transactions


def _build_transaction(
    row: OwnershipRow,
    traits: TradeTraits,
    *,
    form_id: int,
    seq: int,
    filed_day: int,
    issuer_cik: int,
    owner_cik: int,
    roles: int,
    sic: int | None,
    figure_notes: str | None,
    trade: int,
) -> _TransactionColumns:
    return _TransactionColumns(
        form_id=form_id,
        seq=seq,
        filed_day=filed_day,
        issuer_cik=issuer_cik,
        owner_cik=owner_cik,
        roles=roles,
        sic=sic,
        date=row.date,
        figure_notes=figure_notes,
        trade=trade,
        derivative=row.is_derivative,
        title=row.title,
        code=row.code,
        acquired_disposed=row.acquired_disposed,
        shares=row.shares,
        price=row.price,
        following_shares=row.following_shares,
        following_value=row.following_value,
        nature=row.nature,
        ownership=row.direct_or_indirect,
        standard_type=traits.standard_type,
        direction=traits.direction,
        value=traits.value,
        rule_10b5_1=traits.rule_10b5_1,
        plan_source=traits.plan_source,
        is_cashless=traits.is_cashless,
        is_sell_to_cover=traits.is_sell_to_cover,
    )


def _encode_figure_notes(row: OwnershipRow, reasons: Mapping[str, str]) -> str | None:
    """Return JSON with the footnotes of each missing figure, or the reason why it was removed; None if there are none.

    Example: ``{"price": ["F1"], "shares": "negative"}``.
    """
    notes: dict[str, Any] = {}
    for field in ("shares", "price", "following_shares", "following_value"):
        footnote_ids = row.list_footnote_ids(field)
        if getattr(row, field) is None and footnote_ids:
            notes[field] = footnote_ids
    notes.update(reasons)
    return json.dumps(notes) if notes else None


def _insert_positions(tx: Transaction, form: OwnershipForm, filed: FilingMetadata, form_id: int, day: int) -> None:
    positions = form_positions.list_positions(form.rows)
    rows = [
        _PositionColumns(
            form_id=form_id,
            seq=position.seq,
            under=form_id,
            security_class=position.security_class,
            title=position.title,
            derivative=position.is_derivative,
            ownership=position.ownership,
            nature=position.nature,
            vehicle=position.vehicle,
            amount=position.amount,
            amount_notes=json.dumps(position.footnote_ids) if position.footnote_ids else None,
        )
        for position in positions
    ]
    tx.insert_rows("insert_insider_positions", rows)
    as_of = form_positions.get_latest_reported_day(form, filed.filed_at)
    classes = {(position.is_derivative, position.security_class) for position in positions}
    for is_derivative, security_class in sorted(classes):
        for owner in titles.list_owners(form):
            stake = {
                "issuer_cik": int(form.issuer_cik),
                "owner_cik": int(owner.cik),
                "derivative": is_derivative,
                "class": security_class,
            }
            tx.run("insert_insider_stake", stake)
            stake_id = tx.find_value("insider_stake_id", stake)
            tx.run("insert_insider_stake_form", stake_id=stake_id, as_of=as_of, filed_day=day, form_id=form_id)


def _announce(tx: Transaction, filed: FilingMetadata, now: datetime) -> None:
    if _get_source(filed) == FROM_SET and not announcements.is_recent(now, filed.filed_at):
        return  # Old transactions of a data set would not be sent to anyone, so their events are not built.
    ids = [row["id"] for row in tx.list_rows("transactions_of_form", form_id=compute_filing_id(filed.accession))]
    news = []
    for number, transaction in enumerate(trades.build_transactions(tx, ids)):
        news.append(
            announcements.ContentNews(
                {**transaction, "accession_number": filed.accession},
                {name: transaction.get(name) for name in EVENT_MEMBERS},
                f"{filed.accession}/{number}",
            )
        )
    announcements.announce_content_news(tx, now, OWNERSHIP, filed.accession, news)


# ---- Amendments


def _recompute_amendments(tx: Transaction, form_id: int) -> set[int]:
    """Recompute the restated rows of a form and of all forms that amendments connect with it. Return their ids.

    The forms are replayed in the order of filing. Each amendment is compared with all rows that are valid at that
    point, of the original and of earlier amendments together. The rows that it matches are superseded, and its own rows
    become valid.
    """
    connected = _list_connected_forms(tx, form_id)
    connected_ids = {row["id"] for row in connected}
    if not any(row["is_amendment"] for row in connected):
        return {form_id}
    connected.sort(key=lambda row: (row["filed_day"], row["id"]))
    forms = {row["id"]: form_bodies.decode_form(row["body"]) for row in connected}
    for row in connected:
        tx.run("reset_superseded_transactions", form_id=row["id"])
        tx.run("reset_superseded_positions", form_id=row["id"])
        tx.run("reset_amended_stakes", form_id=row["id"])
    valid_rows: list[_RowKey] = []
    for row in connected:
        if row["is_amendment"]:
            valid_rows = _apply_amendment(tx, row["id"], forms, valid_rows)
        valid_rows += [_RowKey(row["id"], index) for index in range(len(forms[row["id"]].rows))]
    forms_with_valid_rows = {key.form_id for key in valid_rows}
    for connected_id, form in forms.items():
        is_superseded = bool(form.rows) and connected_id not in forms_with_valid_rows
        tx.run("update_insider_form_superseded", id=connected_id, superseded=is_superseded)
    return connected_ids


def _apply_amendment(
    tx: Transaction, amendment_id: int, forms: dict[int, OwnershipForm], valid_rows: list[_RowKey]
) -> list[_RowKey]:
    """Mark the rows that an amendment restates. Return the earlier rows that are still valid after it."""
    amendment_rows = forms[amendment_id].rows
    earlier_rows = [forms[key.form_id].rows[key.row_index] for key in valid_rows]
    restated = amendments.match_restated_rows(earlier_rows, amendment_rows)
    seqs_by_form: dict[int, list[int]] = {}
    for index in restated:
        key = valid_rows[index]
        seqs_by_form.setdefault(key.form_id, []).append(key.row_index + 1)
    vehicles = sorted({position.vehicle for position in form_positions.list_positions(amendment_rows)})
    for earlier_id, seqs in seqs_by_form.items():
        seqs_json = json.dumps(sorted(seqs))
        tx.run("supersede_transactions", form_id=earlier_id, by=amendment_id, seqs=seqs_json)
        tx.run(
            "supersede_positions", form_id=earlier_id, by=amendment_id, seqs=seqs_json, vehicles=json.dumps(vehicles)
        )
        tx.run("move_positions", form_id=earlier_id, by=amendment_id)
        tx.run("amend_stakes", form_id=earlier_id, by=amendment_id)
    return [key for index, key in enumerate(valid_rows) if index not in restated]


def _list_connected_forms(tx: Transaction, form_id: int) -> list[Row]:
    """Return a form and all forms that amendments connect with it, directly or through other forms.

    Connected forms have the same issuer, form number and an owner in common, and agree in the period or in the date of
    the original filing.
    """
    connected: dict[int, Row] = {}
    waiting = [form_id]
    while waiting and len(connected) < MAX_CONNECTED_FORMS:
        next_id = waiting.pop()
        if next_id in connected:
            continue
        row = tx.find_row("connectable_insider_form", id=next_id)
        assert row is not None
        connected[next_id] = row
        neighbours = tx.list_rows("connected_insider_forms", id=next_id)
        waiting += [neighbour["id"] for neighbour in neighbours if neighbour["id"] not in connected]
    return list(connected.values())
