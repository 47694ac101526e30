"""The holdings of insiders according to their latest forms.

A holding is a position of a form: the amount of one class of securities, owned directly or through one vehicle such as
a trust. For each insider, company and class, the latest form that reports the class counts, and all of its positions of
the class. Amounts on earlier forms are out of date.

Example: a form of January reports 1,100 shares owned directly and 500 owned by a trust. A form of October reported 990
owned directly. The insider has two holdings, 1,100 and 500, and beneficially owns 1,600 shares.

A snapshot of an earlier day ignores the forms that report a later day. A joint filing is reported by several owners;
lists of all insiders show its holdings once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, TypedDict

from finapi.core import days
from finapi.core.records import Date, build_record
from finapi.market.insiders import form_bodies, names, titles, trades
from finapi.market.insiders.trades import FigureMark, FigureMarks, FormOwner, InsiderTransaction
from finapi.market.reference import sectors
from finapi.store.db import Row, Transaction

LATEST = "9999-12-31"  # The day of a snapshot that includes every form.
_RECENT_TRADES = 20  # Transactions in a profile.
_PROFILE_DAYS = 365  # Days whose transactions a profile sums.
_ROLE_DAYS = 730  # A role counts as former if no form has stated it for this many days.


class InsiderHolding(TypedDict):
    """A holding in a list."""

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
    """The shares of one class of an issuer: owned directly, indirectly, and in total."""

    issuer_cik: str
    security_title: str | None
    total_shares_direct: Decimal
    total_shares_indirect: Decimal
    total_beneficial: Decimal


_Total = Annotated[Decimal | None, "null if there are several classes, which are not added up."]


class ShareSums(TypedDict):
    """The shares owned directly, indirectly and in total, and the same by class."""

    total_shares_direct: _Total
    total_shares_indirect: _Total
    total_beneficial: _Total
    classes: list[ClassSums]


class OwnershipVehicle(TypedDict):
    """The way in which an insider owns some shares: directly or through a trust, fund or person."""

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
    """An insider's roles, holdings and the trades of the last year."""

    current_roles: Annotated[
        list[_InsiderRole], "Roles from forms of the last two years, unless a form states their end."
    ]
    former_roles: list[_InsiderRole]
    ownership_summary: _InsiderOwnership
    total_transactions_365d: int
    total_buy_value_365d: int
    total_sell_value_365d: int
    latest_transaction_date: Date | None
    recent_transactions: list[InsiderTransaction]


def list_by_issuer(tx: Transaction, issuer: int, until: str = LATEST) -> list[Row]:
    """Return the holdings in a company's securities, latest date first. A jointly reported holding is returned once."""
    return tx.list_rows("holdings_of_issuer", issuer=issuer, until=until)


def list_by_insider(tx: Transaction, insider: int, issuer: int | None = None, until: str = LATEST) -> list[Row]:
    """Return an insider's holdings, company by company."""
    return tx.list_rows("holdings_of_insider", insider=insider, issuer=issuer, until=until)


def list_all(tx: Transaction, until: str, limit: int, offset: int) -> list[Row]:
    """Return the holdings of all insiders as of a day, by issuer and insider."""
    return tx.list_rows("holdings_of_all", until=until, limit=limit, offset=offset)


def count_insiders(tx: Transaction, issuer: int) -> int:
    """Return the number of insiders who have reported holdings in a company's securities."""
    return int(tx.find_value("count_insiders_of_issuer", issuer=issuer))


def build_holdings(tx: Transaction, rows: Sequence[Row], *, insider: int | None = None) -> list[InsiderHolding]:
    """Return the records of holdings.

    ``total_beneficial_ownership`` is the sum over all vehicles of the same class and form. Derivatives have none.
    ``insider_*`` describes ``insider`` if it is one of the owners, else the first owner.
    """
    form_ids = {row["form_id"] for row in rows}
    forms = {form["id"]: form for form in tx.list_rows("holding_forms", forms=json.dumps(sorted(form_ids)))}
    owners_by_form = trades.list_owners_by_form(tx, form_ids)
    amounts = trades.sum_amounts(tx, {row["under"] for row in rows})
    return [
        _build_holding(row, forms[row["form_id"]], owners_by_form[row["form_id"]], amounts, insider) for row in rows
    ]


def _build_holding(
    row: Row, form: Row, owners: list[FormOwner], amounts: dict[tuple[int, str], Decimal | None], insider: int | None
) -> InsiderHolding:
    owner = trades.choose_owner(owners, insider)
    sector, industry = sectors.get_names_of_sic(form["sic"])
    marks: dict[str, FigureMark] = {}
    if row["amount_owned"] is None:
        marks["amount_owned"] = trades.build_absent_mark(json.loads(row["amount_notes"] or "[]"))
    total = None if row["is_derivative"] else amounts[row["under"], row["class"]]
    if total is None:
        reason = "not_of_derivatives" if row["is_derivative"] else "amount_missing"
        marks["total_beneficial_ownership"] = trades.build_absent_mark(reason=reason)
    return build_record(
        InsiderHolding,
        row,
        **dict(form),
        **owner,
        holding_id=f"{form['accession_number']}:{row['seq']}",
        total_beneficial_ownership=total,
        sector=sector,
        industry=industry,
        insider_name=owner["name"],
        insider_cik=owner["cik"],
        insider_title=owner["title"],
        owners=owners,
        marks=marks,
    )


def sum_shares(rows: Sequence[Row]) -> ShareSums:
    """Return the shares of holdings by class, and their total if there is a single class.

    Derivatives and holdings without an amount are left out. Shares of different classes are not added.
    """
    sums_by_class: dict[tuple[int, str], ClassSums] = {}
    for row in rows:
        if row["is_derivative"] or row["amount_owned"] is None:
            continue
        key = (row["issuer_cik"], row["class"])
        if key not in sums_by_class:
            sums_by_class[key] = _build_empty_sums(f"{row['issuer_cik']:010}", row["security_title"])
        sums = sums_by_class[key]
        amount = Decimal(row["amount_owned"])
        if row["ownership_nature"] == "I":
            sums["total_shares_indirect"] += amount
        else:
            sums["total_shares_direct"] += amount
        sums["total_beneficial"] += amount
    classes = list(sums_by_class.values())
    if len(classes) > 1:
        return {
            "total_shares_direct": None,
            "total_shares_indirect": None,
            "total_beneficial": None,
            "classes": classes,
        }
    totals = classes[0] if classes else _build_empty_sums("", None)
    return {
        "total_shares_direct": totals["total_shares_direct"],
        "total_shares_indirect": totals["total_shares_indirect"],
        "total_beneficial": totals["total_beneficial"],
        "classes": classes,
    }


def _build_empty_sums(issuer_cik: str, security_title: str | None) -> ClassSums:
    return {
        "issuer_cik": issuer_cik,
        "security_title": security_title,
        "total_shares_direct": Decimal(),
        "total_shares_indirect": Decimal(),
        "total_beneficial": Decimal(),
    }


def group_by_company(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return an insider's holdings by the ten-digit CIK of the company."""
    rows_by_company: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_company.setdefault(f"{row['issuer_cik']:010}", []).append(row)
    return rows_by_company


def list_vehicles(rows: Sequence[Row]) -> list[OwnershipVehicle]:
    """Return the vehicles through which an insider owns the shares of one company."""
    vehicles = []
    for row in rows:
        if not row["is_derivative"]:
            vehicles.append(
                build_record(
                    OwnershipVehicle,
                    row,
                    nature=row["ownership_nature"],
                    shares=None if row["amount_owned"] is None else Decimal(row["amount_owned"]),
                    as_of=row["reported_date"],
                    name=row["nature"],
                )
            )
    return vehicles


def build_profile(tx: Transaction, insider: int, today: int) -> InsiderProfile:
    """Return an insider's roles, holdings and trades. Raise ApiError NOT_FOUND for an unknown insider.

    ``today`` is a day number. Figures of the last 365 days are from forms filed in these days.
    """
    insider_name = names.get_insider(tx, insider)
    holdings = list_by_insider(tx, insider)
    companies: dict[str, _CompanyOwnership] = {}
    for issuer_cik, company_holdings in group_by_company(holdings).items():
        companies[issuer_cik] = {
            "total_beneficial_ownership": sum_shares(company_holdings)["total_beneficial"],
            "vehicles": list_vehicles(company_holdings),
        }
    current_roles: list[_InsiderRole] = []
    former_roles: list[_InsiderRole] = []
    for row in tx.list_rows("roles_of_insider", insider=insider):
        company = companies.get(row["issuer_cik"])
        role = build_record(
            _InsiderRole,
            row,
            roles=list_role_names(row["bits"], row["title"]),
            total_beneficial_ownership=company["total_beneficial_ownership"] if company else None,
        )
        # The form has a checkbox for insiders who are no longer subject to Section 16.
        has_left = form_bodies.decode_form(row["body"]).not_subject_to_section_16
        is_recent = days.number(row["as_of"]) > today - _ROLE_DAYS
        if is_recent and not has_left:
            current_roles.append(role)
        else:
            former_roles.append(role)
    year_sums = tx.find_row("year_of_insider", insider=insider, since=today - _PROFILE_DAYS)
    assert year_sums is not None  # A query of sums always returns a row.
    recent_trades = trades.list_by_insider(tx, insider, trades.TradeFilters(limit=_RECENT_TRADES))
    return build_record(
        InsiderProfile,
        year_sums,
        **insider_name,
        current_roles=current_roles,
        former_roles=former_roles,
        ownership_summary={**sum_shares(holdings), "companies": companies},
        recent_transactions=trades.build_transactions(tx, recent_trades.ids, insider=insider),
    )


def list_role_names(roles: int, title: str | None) -> list[str]:
    """Return the names of an owner's roles, with the officer's title in place of "Officer" if it is known."""
    role_names = []
    if roles & titles.DIRECTOR:
        role_names.append("Director")
    if roles & titles.OFFICER:
        officer_title = titles.parse_title(title)
        role_names.append(officer_title.name if officer_title else "Officer")
    if roles & titles.TEN_PERCENT:
        role_names.append("10% Owner")
    if roles & titles.OTHER:
        role_names.append("Other")
    return role_names
