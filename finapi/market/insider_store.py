"""Ownership forms into rows: the one way in, for documents, data sets and embedded packs alike.

Whatever order forms come in, the same rows stand in the end: of two documents for one accession number the
better stays, and which rows an amendment restates is worked out anew for all the forms that it may concern.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from finapi import heartbeats
from finapi.clock import iso
from finapi.db import Row as DbRow
from finapi.db import Transaction
from finapi.edgar import tickers
from finapi.edgar.ownership import Form, Owner, Row
from finapi.market import (
    announce,
    companies,
    filings,
    insider_amendments,
    insider_positions,
    insider_rules,
    insider_titles,
    insider_trades,
    store,
)
from finapi.market.report import UNFILED

FROM_SET, FROM_DOCUMENT = 0, 1

# How far the names and tickers on these forms are to be trusted: less than a cover page.
FROM_FORM = companies.FROM_FILING_LIST

# Forms that amendments may join; an insider has a handful of one period.
_LINKED = 100

_NO_TICKER = frozenset(("NONE", "N-A", "NA", "NULL", "NOT-APPLICABLE", "UNKNOWN", "TBD", "PRIVATE"))


@dataclass(frozen=True, slots=True)
class Filed:
    """Under which accession number a form was filed, and when; the day is None when nothing tells.

    ``document`` is the file's name within the filing; ``evidence`` says who tells (``filings.DOCUMENT`` to
    ``HEADER``).
    """

    accession: str
    filed_at: str | None
    accepted_at: str | None = None
    document: str | None = None
    source: int = FROM_DOCUMENT
    evidence: int = filings.DOCUMENT


def put(tx: Transaction, form: Form, filed: Filed, now: datetime) -> bool:
    """Store a form under its filing; False when it is held already and nothing new is told.

    Everything happens in the caller's transaction: the form is stored whole or not at all.
    """
    form = replace(form, rows=_ordered(form.rows))
    text = encoded(form)
    content = hashlib.sha256(text).digest()
    filed = _completed(tx, filed)
    touched: set[int] = set()
    new = True
    for held in _rivals(tx, filed, content):
        if not _gives_way(held, filed, content):
            return False
        filed = replace(filed, filed_at=filed.filed_at or held["filed_at"])
        touched |= {row["id"] for row in _linked(tx, held["id"])} - {held["id"]}
        tx.run("delete_insider_form", id=held["id"])
        # A report whose accession number was not known is announced when the number is.
        new = held["accession"].startswith(UNFILED)
    _insert(tx, form, filed, text, now)
    for number in (form_id(filed.accession), *sorted(touched)):
        _settle_amendments(tx, number)
    tx.run("bump_data_version")
    if new:
        heartbeats.arrived(tx, "filing", now)
    if new and not filed.accession.startswith(UNFILED):
        _announce(tx, form, filed, now)
    return True


def settle(tx: Transaction, now: datetime) -> int:
    """Give forms whose filing or day was unknown what has become known since; how many were settled."""
    settled = 0
    for held in tx.all("undated_insider_forms"):
        form = unpacked(held["body"])
        accession = held["accession"]
        if accession.startswith(UNFILED):
            known = listed(tx, form)
            accession = known.accession if known else accession
        filed_at = tx.value("filing_date", accession=accession)
        if filed_at is not None:
            settled += put(tx, form, Filed(accession, filed_at, None, held["document"], held["source"]), now)
    return settled


def listed(tx: Transaction, form: Form) -> store.Filed | None:
    """The one filing of this form and period that lists of the SEC's give the issuer or an owner, or None."""
    for cik in (form.issuer_cik, *(owner.cik for owner in form.owners)):
        found = store.like(tx, int(cik), form.form, form.period)
        if found is not None:
            return found
    return None


def digest(form: Form) -> bytes:
    """What is the same for the same form, whichever document it was read from."""
    return hashlib.sha256(encoded(form)).digest()


def encoded(form: Form) -> bytes:
    """A form as JSON: its fields by name, rows as lists."""
    # Not dataclasses.asdict, which copies every value on its way and takes ten times as long.
    values: dict[str, Any] = {name: getattr(form, name) for name in Form.__slots__}
    values["owners"] = [{name: getattr(owner, name) for name in Owner.__slots__} for owner in form.owners]
    return json.dumps(values, separators=(",", ":")).encode()


def decoded(values: dict[str, Any]) -> Form:
    """The form of values that :func:`encoded` wrote."""
    return Form(
        **{
            **values,
            "owners": tuple(Owner(**owner) for owner in values["owners"]),
            "rows": tuple(
                Row._make([*row[:-1], tuple((field, tuple(ids)) for field, ids in row[-1])])
                for row in values["rows"]
            ),
            "footnotes": tuple((one, text) for one, text in values["footnotes"]),
        }
    )


def unpacked(body: bytes) -> Form:
    """The form of stored bytes."""
    return decoded(json.loads(zlib.decompress(body)))


def form_id(accession: str) -> int:
    """The number by which a form is stored: of its accession number, or below zero of its hash."""
    if accession.startswith(UNFILED):
        return -1 - int(accession.removeprefix(UNFILED)[:15], 16)
    return int(accession.replace("-", ""))


def _ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    # A data set does not tell how transactions and holdings alternate: both sources number rows alike.
    return tuple(sorted(rows, key=lambda row: (row.derivative, not row.transaction)))


def _completed(tx: Transaction, filed: Filed) -> Filed:
    if filed.filed_at is None:
        return replace(filed, filed_at=tx.value("filing_date", accession=filed.accession))
    return filed


def _rivals(tx: Transaction, filed: Filed, content: bytes) -> list[DbRow]:
    """What is held under the same number, or as the same form with its number unknown on either side."""
    unknown = filed.accession.startswith(UNFILED)
    return [
        held
        for held in tx.all("held_insider_forms", accession=filed.accession, content=content)
        if held["accession"] == filed.accession or unknown or held["accession"].startswith(UNFILED)
    ]


def _gives_way(held: DbRow, filed: Filed, content: bytes) -> bool:
    """Whether a form that is held is replaced: by its number, the better source, of equals the greater hash."""
    if held["accession"] != filed.accession:
        return not filed.accession.startswith(UNFILED)
    if held["content"] == content:
        return filed.filed_at is not None and filed.filed_at != held["filed_at"]
    return (filed.source, content) > (held["source"], held["content"])


def _insert(tx: Transaction, form: Form, filed: Filed, text: bytes, now: datetime) -> None:
    day = insider_positions.day_number(filed.filed_at)
    number = form_id(filed.accession)
    issuer = int(form.issuer_cik)
    _put_issuer(tx, form, filed)
    if not filed.accession.startswith(UNFILED):
        _put_filing(tx, form, filed, now)
    _insert_form(tx, form, filed, text, now)
    for position, owner in enumerate(_distinct(form.owners)):
        _put_owner(tx, owner, number, day)
        tx.run(
            "insert_insider_form_owner",
            owner_cik=int(owner.cik),
            filed_day=day,
            form_id=number,
            position=position,
            roles=insider_titles.roles([owner]),
            title=owner.officer_title,
            other=owner.other_text,
        )
    sic = tx.value("company_sic", cik=issuer)
    tx.many("insert_insider_transactions", _transactions(form, number, day, sic))
    _insert_positions(tx, form, filed, number, day)


def _insert_form(tx: Transaction, form: Form, filed: Filed, text: bytes, now: datetime) -> None:
    late, days = insider_rules.lateness(form, filed.filed_at)
    tables = [(row.derivative, row.transaction) for row in form.rows]
    tx.run(
        "insert_insider_form",
        id=form_id(filed.accession),
        accession=filed.accession,
        content=hashlib.sha256(text).digest(),
        source=filed.source,
        body=zlib.compress(text),
        issuer_cik=int(form.issuer_cik),
        sic=tx.value("company_sic", cik=int(form.issuer_cik)),
        symbol=form.symbol,
        form=form.form,
        base=form.form[0],
        is_amendment=form.form.endswith("/A"),
        period=form.period,
        original_date=form.original_date,
        filed_at=filed.filed_at,
        filed_day=insider_positions.day_number(filed.filed_at),
        as_of=insider_positions.as_of(form, filed.filed_at),
        is_late=late,
        business_days=days,
        roles=insider_titles.roles(form.owners),
        document=filed.document,
        stored_at=iso(now),
        owner_count=len(_distinct(form.owners)),
        nonderiv_trans=tables.count((False, True)),
        nonderiv_holdings=tables.count((False, False)),
        deriv_trans=tables.count((True, True)),
        deriv_holdings=tables.count((True, False)),
        footnote_count=len(form.footnotes),
    )


def _distinct(owners: Sequence[Owner]) -> list[Owner]:
    return list({owner.cik: owner for owner in reversed(owners)}.values())[::-1]


def _put_issuer(tx: Transaction, form: Form, filed: Filed) -> None:
    issuer = int(form.issuer_cik)
    companies.put_name(tx, issuer, form.issuer_name, FROM_FORM, filed.filed_at or "")
    ticker = symbol(form.symbol)
    if ticker is not None:
        companies.put_tickers(tx, issuer, [(ticker, None)], FROM_FORM, filed.filed_at or "")
    _put_words(tx, 1, issuer, f"{form.issuer_name} {ticker or ''}")


def _put_owner(tx: Transaction, owner: Owner, number: int, day: int) -> None:
    name = owner.name or f"CIK {owner.cik}"
    entity = insider_titles.is_entity(owner)
    tx.run("put_insider", cik=int(owner.cik), name=name, is_entity=entity, day=day, form=number)
    _put_words(tx, 0, int(owner.cik), name)


def _put_words(tx: Transaction, kind: int, cik: int, text: str) -> None:
    tx.many("insert_insider_words", [(word, kind, cik) for word in words(text)])


def words(text: str) -> list[str]:
    """The words by which a name is found: letters and digits in lower case, each once."""
    return list(dict.fromkeys(re.findall(r"[^\W_]+", text.casefold())))[:20]


def symbol(text: str | None) -> str | None:
    """The ticker that a form gives, folded; None for none, for several and for what is no ticker."""
    if text is None:
        return None
    plain = text.rpartition(":")[2].strip(" ()[]\"'")
    try:
        ticker = tickers.fold(plain)
    except ValueError:
        return None
    return None if ticker in _NO_TICKER else ticker


def _put_filing(tx: Transaction, form: Form, filed: Filed, now: datetime) -> None:
    """Tell of the filing what lies beside the form, then what the form itself says."""
    issuer = filings.Party(int(form.issuer_cik), filings.RANKS["issuer"], form.issuer_name)
    rank = filings.RANKS["reporting_owner"]
    owners = [filings.Party(int(one.cik), rank, one.name) for one in _distinct(form.owners)]
    beside = filings.Told(
        filed.accession,
        filed.evidence,
        (issuer, *owners),
        filed_at=filed.filed_at,
        accepted_at=filed.accepted_at,
    )
    filings.put(tx, beside, now, news=False)
    inside = filings.Told(
        filed.accession,
        filings.INDEX if filed.source == FROM_SET else filings.DOCUMENT,
        (issuer, *owners),
        form=form.form,
        period_of_report=form.period,
        primary_document=filed.document if (filed.document or "").endswith(".xml") else None,
    )
    filings.put(tx, inside, now)


def _transactions(form: Form, number: int, day: int, sic: int | None) -> list[tuple[Any, ...]]:
    facts = insider_rules.facts(form)
    roles, owner = insider_titles.roles(form.owners), int(form.owners[0].cik)
    found: list[tuple[Any, ...]] = []
    for seq, row in enumerate(form.rows, 1):
        if not row.transaction:
            continue
        told = facts[len(found)]
        found.append(
            (
                number,
                seq,
                day,
                int(form.issuer_cik),
                owner,
                roles,
                sic,
                row.derivative,
                row.title,
                insider_rules.usable_date(row.date),
                row.code,
                told.standard_type,
                told.direction,
                row.acquired_disposed,
                row.shares,
                row.price,
                told.value,
                row.following_shares,
                row.following_value,
                row.nature,
                row.direct_or_indirect,
                _figure_notes(row),
                told.rule_10b5_1,
                told.plan_source,
                told.cashless,
                told.sell_to_cover,
                _trade(form, row),
            )
        )
    return found


def _figure_notes(row: Row) -> str | None:
    """Footnotes of the figures that are missing, as JSON; None when there are none."""
    missing = {
        field: row.notes_of(field)
        for field in ("shares", "price", "following_shares", "following_value")
        if getattr(row, field) is None and row.notes_of(field)
    }
    return json.dumps(missing) if missing else None


def _trade(form: Form, row: Row) -> int:
    """A number that is the same for the same trade in two forms."""
    said = (form.issuer_cik, row.derivative, insider_amendments.fold(row.title), row.date, row.code)
    text = repr((*said, row.acquired_disposed, row.shares, row.price))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _insert_positions(tx: Transaction, form: Form, filed: Filed, number: int, day: int) -> None:
    held = insider_positions.of(form.rows)
    tx.many(
        "insert_insider_positions",
        [
            (
                number,
                one.seq,
                number,
                one.cls,
                one.title,
                one.derivative,
                one.ownership,
                one.nature,
                one.vehicle,
                one.amount,
                json.dumps(one.notes) if one.notes else None,
            )
            for one in held
        ],
    )
    as_of, issuer = insider_positions.as_of(form, filed.filed_at), int(form.issuer_cik)
    for derivative, cls in sorted({(one.derivative, one.cls) for one in held}):
        for owner in _distinct(form.owners):
            cik = int(owner.cik)
            tx.run("put_insider_stake", issuer_cik=issuer, owner_cik=cik, derivative=derivative, cls=cls)
            stake = tx.value(
                "insider_stake_id", issuer_cik=issuer, owner_cik=cik, derivative=derivative, cls=cls
            )
            tx.run("insert_insider_stake_form", stake_id=stake, as_of=as_of, filed_day=day, form_id=number)


def _announce(tx: Transaction, form: Form, filed: Filed, now: datetime) -> None:
    oldest = (now - timedelta(days=announce.LISTED_DAYS)).date().isoformat()
    if filed.source == FROM_SET and (filed.filed_at or "") < oldest:
        return  # history, which is not worth putting together what nobody will be told
    ids = [row["id"] for row in tx.all("transactions_of_form", form_id=form_id(filed.accession))]
    shown = insider_trades.objects(tx, ids)
    announce.insider_transactions(
        tx,
        now,
        accession=filed.accession,
        issuer_cik=int(form.issuer_cik),
        owner_ciks=[int(owner.cik) for owner in form.owners],
        form_type=form.form,
        filed_at=filed.filed_at,
        accepted_at=filed.accepted_at,
        transactions=shown,
        listed=filed.source == FROM_SET,
    )


# ---- amendments


def _settle_amendments(tx: Transaction, number: int) -> None:
    """Work out anew which rows are restated among the forms that an amendment may join with this one."""
    linked = _linked(tx, number)
    if not any(row["is_amendment"] for row in linked):
        return
    order = sorted(linked, key=lambda row: (row["filed_day"], row["id"]))
    forms = {row["id"]: unpacked(row["body"]) for row in order}
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
    tx: Transaction, later: int, forms: dict[int, Form], live: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Mark what an amendment restates; the rows that stand after it, its own not among them."""
    rows = forms[later].rows
    taken = insider_amendments.restated([forms[one].rows[place] for one, place in live], rows)
    gone: dict[int, list[int]] = {}
    for place in taken:
        one, within = live[place]
        gone.setdefault(one, []).append(within + 1)
    vehicles = json.dumps(sorted({one.vehicle for one in insider_positions.of(rows)}))
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
        row = tx.one("insider_form_to_link", id=number)
        assert row is not None
        found[number] = row
        waiting += [
            near["id"] for near in tx.all("insider_forms_linked", id=number) if near["id"] not in found
        ]
    return list(found.values())
