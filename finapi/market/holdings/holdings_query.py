"""The queries of ``POST /form-13f/holdings`` and ``/form-13f/cover-pages``: their fields, and their results.

``core/query_language`` parses a query into alternatives. Each alternative is a list of conditions that must all hold.
For example, ``cik:1067983 AND (ticker:AAPL OR ticker:KO)`` has two alternatives with two conditions each. Conditions on
a report (its fund, quarter, number, form and day) select the cover pages or the quarter. The other conditions select
the positions of the quarter. A query for holdings that does not name one fund is about one quarter of all funds.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from finapi.core import days, query_language
from finapi.core.errors import ApiError, invalid_param
from finapi.core.query_language import Condition, QueryField
from finapi.edgar import cusip, identifiers, tickers
from finapi.market.holdings import funds, value_doubts
from finapi.market.holdings.funds import FundCoverPage, FundQuarter
from finapi.market.holdings.value_doubts import DoubtedPosition
from finapi.market.reference import issuer_names
from finapi.store.db import Row, Transaction

# Maximum number of cover pages searched if neither a fund nor an accession number limits the query.
MAX_SEARCHED_PAGES = 100_000
# Maximum number of conditions tested, over all cover pages together.
MAX_CONDITION_TESTS = 1_000_000
# Maximum number of funds searched if a query contains words of their names.
MAX_FUNDS_BY_NAME = 200
# Maximum numbers of funds and of securities whose positions are searched if a query does not name one fund.
MAX_SEARCHED_FUNDS = 10
MAX_SEARCHED_SECURITIES = 200


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


def find_matching_quarter(tx: Transaction, text: str) -> tuple[FundQuarter, str | None] | None:
    """Return the latest quarter of the fund that a query names, and the conditions on its positions.

    The conditions are a JSON text for :func:`funds.list_holdings`, or None for all positions. The result is None if the
    query names several funds or none. Raise NOT_COVERED if no quarter of the fund matches.
    """
    fields = {**_build_report_fields(), **_build_position_fields(tx), "issuer": _ISSUER_FIELD, "": _ISSUER_FIELD}
    alternatives = query_language.parse_conditions(text, fields)
    named_ciks = {_find_fund(tx, alternative) for alternative in alternatives}
    cik = named_ciks.pop()
    if cik is None or named_ciks:
        return None
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


class QuarterPositions(NamedTuple):
    """A page of the positions of several funds at the end of one quarter."""

    period: str
    rows: list[Row]
    total: int
    # The doubtful positions in the securities of the rows, by the CIK of the fund and the id of the security.
    doubts: dict[tuple[int, int], DoubtedPosition]
    # The funds that the query names and that have no holdings in the quarter.
    absent_ciks: list[int]


def search_positions(
    tx: Transaction, text: str, *, sort: str, descending: bool, limit: int, offset: int
) -> QuarterPositions:
    """Return a page of the positions that match a query, of all funds at the end of one quarter.

    The quarter is the one that all alternatives of the query name, or the latest one with holdings. Raise INVALID_PARAM
    if an alternative names neither a fund nor a security, or if the query names several quarters or too many funds or
    securities. Raise NOT_FOUND for an unknown fund, and NOT_COVERED if there are no holdings.
    """
    issuer_field = _build_issuer_field(tx)
    fields = {**_build_report_fields(), **_build_position_fields(tx), "issuer": issuer_field, "": issuer_field}
    alternatives = query_language.parse_conditions(text, fields)
    ciks: set[int] = set()
    security_ids: set[int] = set()
    for alternative in alternatives:
        cik = _find_fund(tx, alternative)
        named_ids: list[list[int]] = [
            condition["values"]
            for condition in alternative
            if condition["field"] == "security" and not condition["not"]
        ]
        if cik is not None:
            ciks.add(cik)
        elif named_ids:
            fewest_ids = min(named_ids, key=len)
            security_ids.update(fewest_ids)
        else:
            message = "Each part of the query must name a fund (cik), a security or words of an issuer's name."
            raise invalid_param("query", message, expected="cik:1067983, holdings.ticker:AAPL or apple")
    _check_search_size(len(ciks), MAX_SEARCHED_FUNDS, "funds")
    _check_search_size(len(security_ids), MAX_SEARCHED_SECURITIES, "securities")
    for cik in ciks:
        funds.get_name(tx, cik)
    period = _find_searched_period(alternatives) or funds.get_latest_quarter(tx)
    rows, total = tx.list_page(
        "positions_of_query",
        {
            "period": period,
            "ciks": json.dumps(sorted(ciks)),
            "securities": json.dumps(sorted(security_ids)),
            "choices": json.dumps(alternatives),
            "sort": sort,
            "direction": -1 if descending else 1,
            "limit": limit,
            "offset": offset,
        },
    )
    absent_ciks = [cik for cik in sorted(ciks) if period not in funds.list_periods(tx, cik)]
    row_security_ids = json.dumps(sorted({row["security_id"] for row in rows}))
    doubts = value_doubts.get_doubts_of_securities(tx, row_security_ids, period)
    return QuarterPositions(period, rows, total, doubts, absent_ciks)


def _check_search_size(count: int, maximum: int, noun: str) -> None:
    if count > maximum:
        message = f"The query names {count} {noun}; it may name at most {maximum}. Add conditions, or split it."
        raise invalid_param("query", message, expected=f"at most {maximum} {noun}")


def _find_searched_period(alternatives: list[list[Condition]]) -> str | None:
    """Return the quarter that all alternatives name, or None if no alternative names one.

    Raise INVALID_PARAM if they name several quarters, or other conditions on the quarter.
    """
    named_periods: set[tuple[str | None, ...]] = {
        tuple(
            condition["low"] if condition["low"] == condition["high"] and not condition["not"] else None
            for condition in alternative
            if condition["field"] == "period"
        )
        for alternative in alternatives
    }
    if named_periods == {()}:
        return None
    periods = named_periods.pop()
    if named_periods or len(periods) != 1 or periods[0] is None:
        message = "A query about several funds is about one quarter: name the same period in each part, or none."
        raise invalid_param("query", message, expected="period:2025-09-30")
    return periods[0]


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


def _build_issuer_field(tx: Transaction) -> QueryField:
    """Return the field that finds securities by their ticker, or by the beginnings of words of the issuer's name."""

    def parse_words(text: str) -> Condition:
        words = issuer_names.list_words(text)
        if not words:
            raise ValueError
        rows = tx.list_rows(
            "ids_of_words",
            ticker=tickers.normalise_prefix(text),
            longest=max(words, key=len),
            words=json.dumps(words),
            limit=MAX_SEARCHED_SECURITIES + 1,
        )
        return {"field": "security", "values": [row["id"] for row in rows]}

    return QueryField(_ISSUER_FIELD.names, parse_words, "words of an issuer's name")


def _list_security_ids(tx: Transaction, *, ticker: str | None, number: str | None) -> list[int]:
    return [row["id"] for row in tx.list_rows("ids_of_ticker_or_cusip", ticker=ticker, cusip=number)]


def _build_name_fields(tx: Transaction) -> dict[str, QueryField]:
    """Return the fields that find funds by words of their names."""

    def parse_name(text: str) -> Condition:
        matching_funds, _ = funds.search_funds(tx, text, MAX_FUNDS_BY_NAME, 0)
        return {"field": "cik", "values": [int(fund["cik"]) for fund in matching_funds]}

    name_field = QueryField(("filerName", "name", "companyName", "filer_name"), parse_name, "a name")
    return {"name": name_field, "": name_field}
