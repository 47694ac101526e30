"""The queries of ``POST /form-13f/holdings`` and ``/form-13f/cover-pages``: their fields, and their results.

``core/query_language`` parses a query into alternatives. Each alternative is a list of conditions that must all hold.
For example, ``cik:1067983 AND (ticker:AAPL OR ticker:KO)`` has two alternatives with two conditions each. Conditions on
a report (its fund, quarter, number, form and day) select the cover pages or the quarter. The other conditions select
the positions of the quarter.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from finapi.core import days, query_language
from finapi.core.errors import ApiError, invalid_param
from finapi.core.query_language import Condition, QueryField
from finapi.edgar import cusip, identifiers, tickers
from finapi.market.holdings import funds
from finapi.market.holdings.funds import FundCoverPage, FundQuarter
from finapi.store.db import Row, Transaction

# Maximum number of cover pages searched if neither a fund nor an accession number limits the query.
MAX_SEARCHED_PAGES = 100_000
# Maximum number of conditions tested, over all cover pages together.
MAX_CONDITION_TESTS = 1_000_000
# Maximum number of funds searched if a query contains words of their names.
MAX_FUNDS_BY_NAME = 200
_OTHER_ENDPOINTS = "GET /tickers/{ticker}/holders and /form-13f/holdings/search list the funds that hold a security"


class CoverPages(NamedTuple):
    """A page of cover pages."""

    pages: list[FundCoverPage]
    has_more: bool
    is_truncated: bool  # Older cover pages were not searched.


def find_cover_pages(tx: Transaction, text: str, limit: int, offset: int) -> CoverPages:
    """Return the cover pages that match a query, the newest first, including notices."""
    fields = {**_build_report_fields(), **_build_position_fields(tx), **_build_name_fields(tx)}
    alternatives = query_language.parse_conditions(text, fields)
    ciks: list[int] = []
    accessions: list[str] = []
    all_are_limited = True
    for alternative in alternatives:
        condition = _find_limiting_condition(alternative)
        if condition is None:
            all_are_limited = False
        elif condition["field"] == "cik":
            ciks.extend(condition["values"])
        else:
            accessions.extend(condition["values"])
    condition_count = sum(len(alternative) for alternative in alternatives)
    searched_pages = min(MAX_SEARCHED_PAGES, MAX_CONDITION_TESTS // condition_count)
    rows = tx.list_rows(
        "cover_pages",
        choices=json.dumps(alternatives),
        ciks=json.dumps(ciks),
        accessions=json.dumps(accessions),
        looked=0 if all_are_limited else searched_pages,
        limit=limit + 1,
        offset=offset,
    )
    is_truncated = not all_are_limited and tx.find_value("cover_page_beyond", looked=searched_pages) is not None
    pages = [funds.build_cover_page(tx, row) for row in rows[:limit]]
    return CoverPages(pages, has_more=len(rows) > limit, is_truncated=is_truncated)


def _find_limiting_condition(alternative: list[Condition]) -> Condition | None:
    """Return the first condition that limits an alternative to certain funds or filings, or None."""
    for condition in alternative:
        if condition["field"] in ("cik", "accession") and not condition["not"]:
            return condition
    return None


def get_matching_quarter(tx: Transaction, text: str) -> tuple[FundQuarter, str | None]:
    """Return the latest quarter of a fund that matches a query, and the conditions on its positions.

    The conditions are a JSON text for :func:`funds.list_holdings`, or None for all positions. Raise INVALID_PARAM if
    the query names several funds or none, and NOT_COVERED if no quarter of the fund matches.
    """
    fields = {**_build_report_fields(), **_build_position_fields(tx), "issuer": _ISSUER_FIELD, "": _ISSUER_FIELD}
    alternatives = query_language.parse_conditions(text, fields)
    named_ciks = {_find_fund(tx, alternative) for alternative in alternatives}
    if None in named_ciks or len(named_ciks) != 1:
        message = f"Holdings are served of one fund: the query must name it by cik. {_OTHER_ENDPOINTS}."
        raise invalid_param("query", message, expected="cik:1067983")
    cik = named_ciks.pop()
    assert cik is not None
    name = funds.get_name(tx, cik)
    for row in tx.list_rows("fund_quarters_to_test", cik=cik):
        position_conditions = [
            _list_position_conditions(alternative)
            for alternative in alternatives
            if _matches_report_conditions(alternative, row)
        ]
        if position_conditions:
            quarter = funds.get_quarter(tx, cik, row["period"])
            # An alternative without conditions on positions matches all of them.
            matches_all = [] in position_conditions
            return quarter, None if matches_all else json.dumps(position_conditions)
    details = {"cik": f"{cik:010}", "covered_periods": funds.list_periods(tx, cik)}
    raise ApiError("NOT_COVERED", f"finapi has no quarter of {name} that matches the query.", details=details)


def _find_fund(tx: Transaction, alternative: list[Condition]) -> int | None:
    """Return the CIK of the fund that an alternative names by its CIK or by a filing, or None."""
    condition = _find_limiting_condition(alternative)
    if condition is None:
        return None
    if condition["field"] == "cik":
        return int(condition["values"][0])
    cik: int | None = tx.find_value("fund_of_accession", accession=condition["values"][0])
    return cik


def _list_position_conditions(alternative: list[Condition]) -> list[Condition]:
    return [condition for condition in alternative if condition["field"] not in _REPORT_FIELD_NAMES]


def _matches_report_conditions(alternative: list[Condition], row: Row) -> bool:
    """Return True if all conditions on reports hold for the report of a quarter."""
    return all(_matches(condition, row) for condition in alternative if condition["field"] in _REPORT_FIELD_NAMES)


def _matches(condition: Condition, row: Row) -> bool:
    column = row[condition["field"]]
    if "values" in condition:
        is_match = column in condition["values"]
    else:
        low = condition["low"]
        high = condition["high"]
        # A report without a filing day matches no range of days.
        is_match = bool(column) and (low is None or column >= low) and (high is None or column <= high)
    return is_match is not condition["not"]


# ---- fields: each parser returns a condition or a bound, or raises ValueError


def _parse_accession(text: str) -> Condition:
    number = identifiers.parse_accession(text)
    if number is None:
        raise ValueError
    return {"values": [number]}


def _parse_cik(text: str) -> Condition:
    return {"values": [int(identifiers.parse_cik(text))]}


def _parse_form(text: str) -> Condition:
    return {"values": [text.upper()]}


def _parse_day(text: str) -> str:
    # Clients may write a day with its time.
    return days.validate(text[:10])


def _parse_issuer(text: str) -> Condition:
    return {"field": "issuer", "text": text.upper()}


_DAYS = "a date or [date TO date]"
_REPORT_FIELD_NAMES = ("cik", "period", "accession", "form", "filed")
_ISSUER_FIELD = QueryField(("holdings.nameOfIssuer", "nameOfIssuer", "issuer_name"), _parse_issuer, "a name")


def _build_report_fields() -> dict[str, QueryField]:
    """Return the fields of a report's cover page."""
    return {
        "cik": QueryField(("cik", "filerCik"), _parse_cik, "a CIK"),
        "period": QueryField(("period", "periodOfReport", "period_of_report"), _parse_day, _DAYS, is_range=True),
        "accession": QueryField(
            ("accession", "accessionNo", "accession_no", "accession_number"), _parse_accession, "an accession number"
        ),
        "form": QueryField(("form", "formType", "form_type"), _parse_form, "a form"),
        "filed": QueryField(("filed", "filedAt", "filed_at"), _parse_day, _DAYS, is_range=True),
    }


def _build_position_fields(tx: Transaction) -> dict[str, QueryField]:
    """Return the fields of a position's security."""

    def parse_ticker(text: str) -> Condition:
        return {"field": "security", "values": _list_security_ids(tx, ticker=tickers.normalise(text), number=None)}

    def parse_cusip(text: str) -> Condition:
        return {"field": "security", "values": _list_security_ids(tx, ticker=None, number=cusip.validate(text.upper()))}

    return {
        "ticker": QueryField(("holdings.ticker", "ticker"), parse_ticker, "a ticker"),
        "cusip": QueryField(("holdings.cusip", "cusip"), parse_cusip, "a CUSIP"),
    }


def _list_security_ids(tx: Transaction, *, ticker: str | None, number: str | None) -> list[int]:
    return [row["id"] for row in tx.list_rows("ids_of_ticker_or_cusip", ticker=ticker, cusip=number)]


def _build_name_fields(tx: Transaction) -> dict[str, QueryField]:
    """Return the fields that find funds by words of their names."""

    def parse_name(text: str) -> Condition:
        matching_funds, _ = funds.search_funds(tx, text, MAX_FUNDS_BY_NAME, 0)
        return {"field": "cik", "values": [int(fund["cik"]) for fund in matching_funds]}

    name_field = QueryField(("filerName", "name", "companyName", "filer_name"), parse_name, "a name")
    return {"name": name_field, "": name_field}
