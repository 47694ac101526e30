"""The positions of N-PORT reports: of one report, and of all funds that hold a security."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

from finapi.core.records import Date, Time, build_record, parse_decimal
from finapi.edgar import fund_reports
from finapi.edgar.fund_reports import DebtTerms, DerivativeTerms, Identifier, LendingTerms
from finapi.market.funds import fund_report_doubts, fund_report_rows
from finapi.market.funds.fund_report_doubts import Doubt
from finapi.store.db import Row, Transaction

SORTS = ("value", "sequence")
# Countries whose ISINs consist of the code of the country, a CUSIP and a check digit.
CUSIP_COUNTRIES = ("US", "CA")


class SecurityIdentifier(TypedDict):
    """An identifier of a position. ``description`` names its kind (such as SEDOL) if it is not an ISIN or a ticker."""

    value: str
    description: str | None


class DebtSecurity(TypedDict):
    """The terms of a debt security."""

    maturity_date: Date | None
    coupon_kind: str | None
    annualized_rate: Annotated[Decimal | None, "Per cent."]
    is_default: bool | None
    are_interest_payments_in_arrears: bool | None
    is_paid_in_kind: bool | None


class DerivativeCounterparty(TypedDict):
    """The other party of a derivative."""

    name: str | None
    lei: str | None


class DerivativeContract(TypedDict):
    """The terms of a derivative. Most are null for any one category."""

    category: str | None
    description: str | None
    counterparties: list[DerivativeCounterparty]
    payoff_profile: str | None
    put_or_call: str | None
    written_or_purchased: str | None
    reference_name: Annotated[str | None, "The index or issuer that the contract refers to."]
    reference_title: str | None
    reference_cusip: str | None
    reference_isin: str | None
    reference_ticker: str | None
    shares: Decimal | None
    exercise_price: Decimal | None
    exercise_currency: str | None
    expiration_date: Annotated[Date | None, "The day on which the contract expires, terminates or settles."]
    delta: Decimal | None
    notional_amount: Decimal | None
    notional_currency: str | None
    amount_sold: Decimal | None
    currency_sold: str | None
    amount_purchased: Decimal | None
    currency_purchased: str | None
    unrealized_appreciation: Decimal | None


class SecurityLoan(TypedDict):
    """Securities of a position that are on loan, and collateral in it, in dollars."""

    is_cash_collateral: bool | None
    cash_collateral_value: Decimal | None
    is_non_cash_collateral: bool | None
    non_cash_collateral_value: Decimal | None
    is_on_loan: bool | None
    loan_value: Decimal | None


class PortfolioHolding(TypedDict):
    """A position of a fund. Codes are those of Form N-PORT."""

    sequence: Annotated[int, "The number of the position in the report."]
    name: Annotated[str | None, "The issuer."]
    lei: str | None
    title: str | None
    cusip: Annotated[str | None, "Null for placeholders such as 000000000."]
    isin: str | None
    ticker: Annotated[str | None, "As filed by few funds, otherwise the ticker that the CUSIP is known to have."]
    identifiers: dict[str, SecurityIdentifier]
    balance: Annotated[Decimal | None, "Negative for many short positions."]
    units: Annotated[str | None, "NS shares, PA principal, NC contracts, OU other."]
    currency: str | None
    exchange_rate: Annotated[Decimal | None, "Units of the currency for a dollar."]
    val_usd: Decimal | None
    pct_val: Annotated[Decimal | None, "Per cent of the fund's net assets, as filed."]
    pct_val_doubt: Annotated[bool, "true: pct_val is not the value as a part of the net assets."]
    payoff_profile: str | None
    asset_cat: str | None
    asset_description: str | None
    issuer_cat: str | None
    issuer_description: str | None
    inv_country: str | None
    is_restricted_sec: bool | None
    fair_value_level: str | None
    derivative_cat: str | None
    debt: DebtSecurity | None
    derivative: DerivativeContract | None
    securities_lending: SecurityLoan | None


class HeldSecurity(TypedDict):
    """The position of a fund in a security."""

    name: str | None
    title: str | None
    balance: Decimal | None
    units: str | None
    val_usd: Decimal | None
    pct_val: Decimal | None
    asset_cat: str | None
    payoff_profile: str | None
    pct_val_doubt: bool


class FundHolder(TypedDict):
    """A fund that holds a security, by one of its reports."""

    series_id: str | None
    series_name: str | None
    reg_cik: str
    reg_name: str
    as_of: Date
    accession_number: str
    holding: HeldSecurity
    fund_net_assets: Decimal | None
    filed_at: Time | None
    doubts: list[Doubt]


class HoldingFilters(NamedTuple):
    """The filters of the positions of a report."""

    cusip: str | None = None
    isin: str | None = None
    asset_category: str | None = None
    derivative_category: str | None = None
    min_percent: Decimal | None = None


class HeldSecurityId(NamedTuple):
    """A security by its CUSIP, or None, and by the beginnings of its ISINs."""

    cusip: str | None
    isin_starts: tuple[str, ...]


def identify_security(text: str) -> HeldSecurityId:
    """Return the security of a valid CUSIP or ISIN in normal form.

    An ISIN of the United States or Canada contains the CUSIP. Many filers give only one of the two.
    """
    if fund_reports.is_isin(text):
        return HeldSecurityId(text[2:11] if text[:2] in CUSIP_COUNTRIES else None, (text,))
    return HeldSecurityId(text, tuple(country + text for country in CUSIP_COUNTRIES))


def list_holdings(
    tx: Transaction, report: Row, filters: HoldingFilters, sort: str, limit: int, offset: int
) -> tuple[list[PortfolioHolding], int]:
    """Return a page of the positions of a report (``fund_report_lists.get_row``), and the number of all."""
    parameters = {
        "report_id": report["id"],
        "cusip": filters.cusip,
        "isin": filters.isin,
        "asset_category": filters.asset_category,
        "derivative_category": filters.derivative_category,
        "min_percent": None if filters.min_percent is None else float(filters.min_percent),
    }
    query = "positions_by_value" if sort == "value" else "positions_by_sequence"
    rows = tx.list_rows(query, parameters, limit=limit, offset=offset)
    total = int(tx.find_value("count_of_positions", parameters))
    return [_build_holding(row, report["net_assets"]) for row in rows], total


def list_holders(
    tx: Transaction, security: HeldSecurityId, month: str | None, limit: int, offset: int
) -> tuple[list[FundHolder], int]:
    """Return a page of the positions of all funds in a security, the largest value first, and the number of all.

    They are of the current reports of a month (``2025-12``) or, if it is None, of the latest report of each fund. A
    fund whose latest report is its final one is left out, because it no longer exists.
    """
    isin_starts = json.dumps(security.isin_starts)
    parameters: dict[str, Any] = {"cusip": security.cusip, "isin_starts": isin_starts, "month": month}
    rows = tx.list_rows("holders_of_security", parameters, limit=limit, offset=offset)
    return [_build_holder(row) for row in rows], int(tx.find_value("count_of_holders", parameters))


def _build_holding(row: Row, net_assets: str | None) -> PortfolioHolding:
    debt, derivative, lending = fund_report_rows.decode_terms(row["terms"])
    return build_record(
        PortfolioHolding,
        row,
        identifiers=_build_identifiers(row["identifiers"]),
        pct_val_doubt=fund_report_doubts.is_percent_doubtful(row["val_usd"], row["pct_val"], net_assets),
        debt=None if debt is None else _build_debt(debt),
        derivative=None if derivative is None else _build_derivative(derivative),
        securities_lending=None if lending is None else _build_loan(lending),
    )


def _build_identifiers(text: str) -> dict[str, SecurityIdentifier]:
    """Return the identifiers by their kind. Of several of one kind, the second is ``other_2``."""
    identifiers: dict[str, SecurityIdentifier] = {}
    counts: dict[str, int] = {}
    for identifier in fund_report_rows.decode_identifiers(text):
        counts[identifier.kind] = counts.get(identifier.kind, 0) + 1
        identifiers[_number_kind(identifier, counts[identifier.kind])] = {
            "value": identifier.value,
            "description": identifier.description,
        }
    return identifiers


def _number_kind(identifier: Identifier, number: int) -> str:
    return identifier.kind if number == 1 else f"{identifier.kind}_{number}"


def _build_debt(terms: DebtTerms) -> DebtSecurity:
    return {
        "maturity_date": terms.maturity_date,
        "coupon_kind": terms.coupon_kind,
        "annualized_rate": parse_decimal(terms.annualized_rate),
        "is_default": terms.is_default,
        "are_interest_payments_in_arrears": terms.has_interest_in_arrears,
        "is_paid_in_kind": terms.is_paid_in_kind,
    }


def _build_derivative(terms: DerivativeTerms) -> DerivativeContract:
    return {
        "category": terms.category,
        "description": terms.description,
        "counterparties": [{"name": party.name, "lei": party.lei} for party in terms.counterparties],
        "payoff_profile": terms.payoff_profile,
        "put_or_call": terms.put_or_call,
        "written_or_purchased": terms.written_or_purchased,
        "reference_name": terms.reference_name,
        "reference_title": terms.reference_title,
        "reference_cusip": terms.reference_cusip,
        "reference_isin": terms.reference_isin,
        "reference_ticker": terms.reference_ticker,
        "shares": parse_decimal(terms.shares),
        "exercise_price": parse_decimal(terms.exercise_price),
        "exercise_currency": terms.exercise_currency,
        "expiration_date": terms.expiration_date,
        "delta": parse_decimal(terms.delta),
        "notional_amount": parse_decimal(terms.notional_amount),
        "notional_currency": terms.notional_currency,
        "amount_sold": parse_decimal(terms.amount_sold),
        "currency_sold": terms.currency_sold,
        "amount_purchased": parse_decimal(terms.amount_purchased),
        "currency_purchased": terms.currency_purchased,
        "unrealized_appreciation": parse_decimal(terms.unrealized_appreciation),
    }


def _build_loan(terms: LendingTerms) -> SecurityLoan:
    return {
        "is_cash_collateral": terms.is_cash_collateral,
        "cash_collateral_value": parse_decimal(terms.cash_collateral_value),
        "is_non_cash_collateral": terms.is_non_cash_collateral,
        "non_cash_collateral_value": parse_decimal(terms.non_cash_collateral_value),
        "is_on_loan": terms.is_on_loan,
        "loan_value": parse_decimal(terms.loan_value),
    }


def _build_holder(row: Row) -> FundHolder:
    is_doubtful = fund_report_doubts.is_percent_doubtful(row["val_usd"], row["pct_val"], row["fund_net_assets"])
    holding = build_record(HeldSecurity, row, pct_val_doubt=is_doubtful)
    return build_record(FundHolder, row, reg_cik=f"{row['cik']:010}", holding=holding, doubts=json.loads(row["doubts"]))
