"""What insiders hold, as their latest forms say: a row for each class of securities and vehicle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from finapi.db import Row, Transaction
from finapi.market import insider_titles, sectors
from finapi.market.insider_trades import absent, amounts, identifier, number, owner_object

LATEST = "9999-12-31"


def of_issuer(tx: Transaction, issuer: int, until: str = LATEST) -> list[Row]:
    """Positions in a company's securities, a joint one once, those of the latest day first."""
    return tx.all("holdings_of_issuer", issuer=issuer, until=until)


def of_insider(tx: Transaction, insider: int, issuer: int | None = None, until: str = LATEST) -> list[Row]:
    """An insider's positions, company by company."""
    return tx.all("holdings_of_insider", insider=insider, issuer=issuer, until=until)


def of_everybody(tx: Transaction, until: str, limit: int, offset: int) -> list[Row]:
    """Everybody's positions as of a day, by issuer and insider."""
    return tx.all("holdings_of_everybody", until=until, limit=limit, offset=offset)


def objects(tx: Transaction, rows: Sequence[Row], *, insider: int | None = None) -> list[dict[str, Any]]:
    """The positions as answers show them.

    ``total_beneficial_ownership`` sums all vehicles of the same class and form; a derivative has none.
    ``insider`` is whom the answer is about, else the first owner.
    """
    wanted = json.dumps(sorted({row["form_id"] for row in rows}))
    forms = {form["id"]: form for form in tx.all("holding_forms", forms=wanted)}
    owners: dict[int, list[dict[str, Any]]] = {}
    for row in tx.all("owners_of_forms", forms=wanted):
        owners.setdefault(row["form_id"], []).append(owner_object(row))
    sums = amounts(tx, {row["under"] for row in rows})
    return [_object(row, forms[row["form_id"]], owners[row["form_id"]], sums, insider) for row in rows]


def insiders_of_issuer(tx: Transaction, issuer: int) -> int:
    """How many insiders have told of holdings in a company's securities."""
    return int(tx.value("count_insiders_of_issuer", issuer=issuer))


def summary(rows: Sequence[Row]) -> dict[str, Decimal]:
    """Shares held directly and indirectly, and both; derivatives and amounts that are not given left out."""
    direct, indirect = Decimal(), Decimal()
    for row in rows:
        if row["derivative"] or row["amount"] is None:
            continue
        if row["ownership"] == "I":
            indirect += Decimal(row["amount"])
        else:
            direct += Decimal(row["amount"])
    return {
        "total_shares_direct": direct,
        "total_shares_indirect": indirect,
        "total_beneficial": direct + indirect,
    }


def by_company(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """An insider's positions by issuer."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["issuer_cik"], []).append(row)
    return found


def vehicles(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """In whose hands an insider's shares of one company are."""
    return [
        {
            "nature": row["ownership"],
            "ownership_nature": row["ownership"],
            "security_title": row["title"],
            "shares": number(row["amount"]),
            "as_of": row["as_of"],
            "name": row["nature"],
            "indirect_owner_name": row["nature"] if row["ownership"] == "I" else None,
        }
        for row in rows
        if not row["derivative"]
    ]


def _object(
    row: Row,
    form: Row,
    owners: list[dict[str, Any]],
    sums: dict[tuple[int, str], Decimal | None],
    insider: int | None,
) -> dict[str, Any]:
    shown = next((one for one in owners if insider is not None and int(one["cik"]) == insider), owners[0])
    sector, industry = sectors.of(form["sic"])
    notes = json.loads(row["amount_notes"]) if row["amount_notes"] else []
    marks: dict[str, Any] = {}
    if row["amount"] is None:
        marks["amount_owned"] = absent("only_in_footnote" if notes else "not_reported", notes)
    total = None if row["derivative"] else sums[(row["under"], row["class"])]
    if total is None:
        reason = "not_of_derivatives" if row["derivative"] else "amount_missing"
        marks["total_beneficial_ownership"] = absent(reason)
    return {
        "holding_id": identifier(form["accession"], row["seq"]),
        "security_title": row["title"],
        "amount_owned": number(row["amount"]),
        "ownership_nature": row["ownership"],
        "indirect_owner_name": row["nature"] if row["ownership"] == "I" else None,
        "reported_date": row["as_of"],
        "is_derivative": bool(row["derivative"]),
        "total_beneficial_ownership": total,
        "ticker": form["ticker"],
        "company_name": form["company_name"],
        "issuer_cik": f"{form['issuer_cik']:010}",
        "sector": sector,
        "industry": industry,
        "insider_name": shown["name"],
        "insider_cik": shown["cik"],
        "is_entity": shown["is_entity"],
        "is_director": shown["is_director"],
        "is_officer": shown["is_officer"],
        "is_ten_percent_owner": shown["is_ten_percent_owner"],
        "insider_title": shown["title"],
        "is_c_suite": shown["is_c_suite"],
        "accession_number": form["accession"],
        "filed_at": form["filed_at"],
        "owners": owners,
        "marks": marks,
    }


def profile(tx: Transaction, insider: int, now_day: int) -> dict[str, Any]:
    """An insider's roles, holdings and the last year's trades, without the recent transactions.

    Figures of the last 365 days are of forms filed since ``now_day`` less 365.
    """
    rows = of_insider(tx, insider)
    companies: dict[str, Any] = {}
    roles: list[dict[str, Any]] = []
    latest = {row["issuer_cik"]: row for row in tx.all("roles_of_insider", insider=insider)}
    for issuer, theirs in by_company(rows).items():
        companies[f"{issuer:010}"] = {
            "total_beneficial_ownership": summary(theirs)["total_beneficial"],
            "vehicles": vehicles(theirs),
        }
    for issuer, row in latest.items():
        held = companies.get(f"{issuer:010}")
        roles.append(
            {
                "ticker": row["ticker"],
                "company": row["company_name"],
                "issuer_cik": f"{issuer:010}",
                "roles": role_names(row["roles"], row["title"]),
                "as_of": row["as_of"],
                "total_beneficial_ownership": held["total_beneficial_ownership"] if held else None,
            }
        )
    year = tx.one("year_of_insider", insider=insider, since=now_day - 365)
    assert year is not None
    return {
        "current_roles": roles,
        "ownership_summary": {**summary(rows), "companies": companies},
        "total_transactions_365d": year["transactions"],
        "total_buy_value_365d": year["buy_value"],
        "total_sell_value_365d": year["sell_value"],
        "latest_transaction_date": year["latest"],
    }


def role_names(bits: int, title: str | None) -> list[str]:
    """The relationships of an owner in words, the officer's title among them."""
    known = insider_titles.title(title) if bits & insider_titles.OFFICER else None
    named = (
        (insider_titles.DIRECTOR, "Director"),
        (insider_titles.OFFICER, known.name if known else "Officer"),
        (insider_titles.TEN_PERCENT, "10% Owner"),
        (insider_titles.OTHER, "Other"),
    )
    return [name for bit, name in named if bits & bit]
