"""What insiders hold, as their latest forms say: a row for each class of securities and vehicle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, TypedDict

from finapi.core import days
from finapi.core.records import Date, build_record
from finapi.market.insiders import insider_store, names, titles, trades
from finapi.market.insiders.trades import FigureMarks, FormOwner, InsiderTransaction
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

LATEST = "9999-12-31"
_RECENT = 20  # transactions that a profile shows
_ROLE_DAYS = 730  # after so many days without a form nobody is taken to hold an office


class InsiderHolding(TypedDict):
    """A position as lists show it."""

    holding_id: str
    security_title: str | None
    amount_owned: Decimal | None
    ownership_nature: str | None
    indirect_owner_name: str | None
    reported_date: Date
    is_derivative: bool
    total_beneficial_ownership: Decimal | None
    ticker: str | None
    company_name: str
    issuer_cik: str
    sector: str | None
    industry: str | None
    insider_name: str
    insider_cik: str
    is_entity: bool
    is_director: bool
    is_officer: bool
    is_ten_percent_owner: bool
    insider_title: str | None
    is_c_suite: bool
    accession_number: str
    filed_at: Date | None
    owners: list[FormOwner]
    marks: FigureMarks


class ClassSums(TypedDict):
    """Shares of one class of an issuer, held directly and indirectly, and both."""

    issuer_cik: str
    security_title: str | None
    total_shares_direct: Decimal
    total_shares_indirect: Decimal
    total_beneficial: Decimal


_Total = Annotated[Decimal | None, "null where there are several classes, which are not added."]


class ShareSums(TypedDict):
    """Shares held directly and indirectly, and both; each class of them."""

    total_shares_direct: _Total
    total_shares_indirect: _Total
    total_beneficial: _Total
    classes: list[ClassSums]


class OwnershipVehicle(TypedDict):
    """In whose hands some of an insider's shares are."""

    nature: str | None
    ownership_nature: str | None
    security_title: str | None
    shares: Decimal | None
    as_of: Date
    name: str | None
    indirect_owner_name: str | None


class _CompanyOwnership(TypedDict):
    total_beneficial_ownership: _Total
    vehicles: list[OwnershipVehicle]


class _InsiderOwnership(ShareSums):
    companies: dict[str, _CompanyOwnership]


class _InsiderRole(TypedDict):
    ticker: str | None
    company: str
    issuer_cik: str
    roles: list[str]
    as_of: Date
    total_beneficial_ownership: Decimal | None


class InsiderProfile(names.InsiderName):
    """An insider's roles, holdings and the last year's trades."""

    current_roles: Annotated[list[_InsiderRole], "From forms of the last two years, none of which reports an end."]
    former_roles: list[_InsiderRole]
    ownership_summary: _InsiderOwnership
    total_transactions_365d: int
    total_buy_value_365d: int
    total_sell_value_365d: int
    latest_transaction_date: Date | None
    recent_transactions: list[InsiderTransaction]


def list_by_issuer(tx: Transaction, issuer: int, until: str = LATEST) -> list[Row]:
    """Positions in a company's securities, a joint one once, those of the latest day first."""
    return tx.list_rows("holdings_of_issuer", issuer=issuer, until=until)


def list_by_insider(tx: Transaction, insider: int, issuer: int | None = None, until: str = LATEST) -> list[Row]:
    """An insider's positions, company by company."""
    return tx.list_rows("holdings_of_insider", insider=insider, issuer=issuer, until=until)


def list_all(tx: Transaction, until: str, limit: int, offset: int) -> list[Row]:
    """Everybody's positions as of a day, by issuer and insider."""
    return tx.list_rows("holdings_of_everybody", until=until, limit=limit, offset=offset)


def count_insiders(tx: Transaction, issuer: int) -> int:
    """How many insiders have reported holdings in a company's securities."""
    return int(tx.find_value("count_insiders_of_issuer", issuer=issuer))


def build_holdings(tx: Transaction, rows: Sequence[Row], *, insider: int | None = None) -> list[InsiderHolding]:
    """The positions as answers show them.

    ``total_beneficial_ownership`` sums all vehicles of the same class and form; a derivative has none.
    ``insider`` is whom the answer is about, else the first owner.
    """
    ids = {row["form_id"] for row in rows}
    forms = {form["id"]: form for form in tx.list_rows("holding_forms", forms=json.dumps(sorted(ids)))}
    owners = trades.list_owners_by_form(tx, ids)
    sums = trades.sum_amounts(tx, {row["under"] for row in rows})
    return [_holding(row, forms[row["form_id"]], owners[row["form_id"]], sums, insider) for row in rows]


def _holding(
    row: Row, form: Row, owners: list[FormOwner], sums: dict[tuple[int, str], Decimal | None], insider: int | None
) -> InsiderHolding:
    shown = trades.choose_owner(owners, insider)
    sector, industry = sectors.for_sic(form["sic"])
    marks = {}
    if row["amount_owned"] is None:
        marks["amount_owned"] = trades.build_absent_mark(json.loads(row["amount_notes"] or "[]"))
    total = None if row["is_derivative"] else sums[(row["under"], row["class"])]
    if total is None:
        reason = "not_of_derivatives" if row["is_derivative"] else "amount_missing"
        marks["total_beneficial_ownership"] = trades.build_absent_mark(reason=reason)
    return build_record(
        InsiderHolding,
        row,
        **dict(form),
        **shown,
        holding_id=f"{form['accession_number']}:{row['seq']}",
        total_beneficial_ownership=total,
        sector=sector,
        industry=industry,
        insider_name=shown["name"],
        insider_cik=shown["cik"],
        insider_title=shown["title"],
        owners=owners,
        marks=marks,
    )


def sum_shares(rows: Sequence[Row]) -> ShareSums:
    """The sums of positions by class; derivatives and amounts that are not given are left out."""
    sums: dict[tuple[int, str], ClassSums] = {}
    for row in rows:
        if row["is_derivative"] or row["amount_owned"] is None:
            continue
        key, amount = (row["issuer_cik"], row["class"]), Decimal(row["amount_owned"])
        one = sums.setdefault(key, {**_NOTHING, "issuer_cik": f"{key[0]:010}", "security_title": row["security_title"]})
        one["total_shares_indirect" if row["ownership_nature"] == "I" else "total_shares_direct"] += amount
        one["total_beneficial"] += amount
    classes = list(sums.values())
    whole = classes[0] if len(classes) == 1 else _NOTHING
    return build_record(ShareSums, dict(whole) if len(classes) < 2 else dict.fromkeys(whole), classes=classes)


_NOTHING: ClassSums = {
    "issuer_cik": "",
    "security_title": None,
    "total_shares_direct": Decimal(),
    "total_shares_indirect": Decimal(),
    "total_beneficial": Decimal(),
}


def group_by_company(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """An insider's positions by the issuer's CIK, padded."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(f"{row['issuer_cik']:010}", []).append(row)
    return found


def list_vehicles(rows: Sequence[Row]) -> list[OwnershipVehicle]:
    """In whose hands an insider's shares of one company are."""
    return [
        build_record(
            OwnershipVehicle,
            row,
            nature=row["ownership_nature"],
            shares=None if row["amount_owned"] is None else Decimal(row["amount_owned"]),
            as_of=row["reported_date"],
            name=row["nature"],
        )
        for row in rows
        if not row["is_derivative"]
    ]


def build_profile(tx: Transaction, insider: int, today: int) -> InsiderProfile:
    """An insider's roles, holdings and trades; NOT_FOUND for an unknown one.

    Figures of the last 365 days are of forms filed since ``today``, the day's number, less 365.
    """
    named = names.get_insider(tx, insider)
    rows = list_by_insider(tx, insider)
    companies: dict[str, _CompanyOwnership] = {
        issuer: {"total_beneficial_ownership": sum_shares(held)["total_beneficial"], "vehicles": list_vehicles(held)}
        for issuer, held in group_by_company(rows).items()
    }
    roles: dict[bool, list[_InsiderRole]] = {True: [], False: []}
    for row in tx.list_rows("roles_of_insider", insider=insider):
        held = companies.get(row["issuer_cik"])
        total = held["total_beneficial_ownership"] if held else None
        names_of_roles = list_role_names(row["bits"], row["title"])
        ended = insider_store.decode_form(row["body"]).not_subject_to_section_16
        current = not ended and days.number(row["as_of"]) > today - _ROLE_DAYS
        roles[current].append(build_record(_InsiderRole, row, roles=names_of_roles, total_beneficial_ownership=total))
    year = tx.find_row("year_of_insider", insider=insider, since=today - 365)
    assert year is not None
    recent = trades.list_by_insider(tx, insider, trades.TradeFilters(limit=_RECENT)).ids
    return build_record(
        InsiderProfile,
        year,
        **named,
        current_roles=roles[True],
        former_roles=roles[False],
        ownership_summary={**sum_shares(rows), "companies": companies},
        recent_transactions=trades.build_transactions(tx, recent, insider=insider),
    )


def list_role_names(bits: int, title: str | None) -> list[str]:
    """The relationships of an owner in words, the officer's title among them."""
    known = titles.parse_title(title) if bits & titles.OFFICER else None
    named = (
        (titles.DIRECTOR, "Director"),
        (titles.OFFICER, known.name if known else "Officer"),
        (titles.TEN_PERCENT, "10% Owner"),
        (titles.OTHER, "Other"),
    )
    return [name for bit, name in named if bits & bit]
