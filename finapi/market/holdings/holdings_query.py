"""What ``POST /form-13f/holdings`` and ``cover-pages`` ask by their queries, and what they find."""

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

# Cover pages that a query looks at when no fund and no accession number narrows it, and tests of all of them.
MAX_SEARCHED_PAGES, MAX_CONDITION_TESTS = 100_000, 1_000_000
_NAMES = 200  # funds whose names match that are looked at
_ELSEWHERE = "GET /tickers/{ticker}/holders and /form-13f/holdings/search list the funds that hold a security"


class CoverPages(NamedTuple):
    """A page of cover pages; whether more follow, and whether older ones were not looked at."""

    pages: list[FundCoverPage]
    has_more: bool
    is_truncated: bool


def find_cover_pages(tx: Transaction, text: str, limit: int, offset: int) -> CoverPages:
    """The cover pages that a query finds, the newest first, notices included."""
    choices = query_language.parse_conditions(text, {**_of_report(), **_of_position(tx), **_of_names(tx)})
    ciks: list[int] = []
    accessions: list[str] = []
    narrow = True
    for choice in choices:
        by = [one for one in choice if one["field"] in ("cik", "accession") and not one["not"]]
        narrow = narrow and bool(by)
        for one in by[:1]:
            (ciks if one["field"] == "cik" else accessions).extend(one["values"])
    # One more than are looked at, to know whether there are.
    looked = min(MAX_SEARCHED_PAGES, MAX_CONDITION_TESTS // sum(map(len, choices)))
    values = {"choices": json.dumps(choices), "limit": limit + 1, "offset": offset, "looked": 0 if narrow else looked}
    rows = tx.list_rows("cover_pages", values, ciks=json.dumps(ciks), accessions=json.dumps(accessions))
    cut = not narrow and tx.find_value("cover_page_beyond", looked=looked) is not None
    return CoverPages([funds.build_cover_page(tx, row) for row in rows[:limit]], len(rows) > limit, cut)


def get_matching_quarter(tx: Transaction, text: str) -> tuple[FundQuarter, str | None]:
    """The newest quarter of one fund that a query asks for, and what of its positions is wanted; None: all.

    INVALID_PARAM for a query of several funds or of none.
    """
    choices = query_language.parse_conditions(
        text, {**_of_report(), **_of_position(tx), "issuer": _ISSUER, "": _ISSUER}
    )
    named = {_fund(tx, choice) for choice in choices}
    if None in named or len(named) != 1:
        message = f"Holdings are served of one fund: the query must name it by cik. {_ELSEWHERE}."
        raise invalid_param("query", message, expected="cik:1067983")
    (cik,) = named
    assert cik is not None
    name = funds.get_name(tx, cik)
    for row in tx.list_rows("fund_quarters_to_test", cik=cik):
        wanted = [
            [one for one in choice if one["field"] not in _REPORT]
            for choice in choices
            if all(_holds(one, row) for one in choice if one["field"] in _REPORT)
        ]
        if wanted:
            held = funds.get_quarter(tx, cik, row["period"])
            return held, None if [] in wanted else json.dumps(wanted)
    details = {"cik": f"{cik:010}", "covered_periods": funds.list_periods(tx, cik)}
    raise ApiError("NOT_COVERED", f"finapi holds no quarter of {name} that the query asks for.", details=details)


def _fund(tx: Transaction, choice: list[Condition]) -> int | None:
    """The fund that a choice names by its CIK or a filing."""
    for one in choice:
        if one["field"] == "cik" and not one["not"]:
            return int(one["values"][0])
        if one["field"] == "accession" and not one["not"]:
            cik: int | None = tx.find_value("fund_of_accession", accession=one["values"][0])
            return cik
    return None


def _holds(one: Condition, row: Row) -> bool:
    """Whether a condition on a report holds of a quarter's."""
    value = row[one["field"]]
    if "values" in one:
        held = value in one["values"]
    else:
        low, high = one["low"], one["high"]
        # What has no date lies in no range of dates.
        held = bool(value) and (low is None or value >= low) and (high is None or value <= high)
    return held is not one["not"]


# ---- fields: what a value means, or ValueError


def _accession(text: str) -> Condition:
    number = identifiers.parse_accession(text)
    if number is None:
        raise ValueError
    return {"values": [number]}


def _day(text: str) -> str:
    # A day may be written with its time, as clients have it.
    return days.validate(text[:10])


_DAYS = "a date or [date TO date]"
_REPORT = ("cik", "period", "accession", "form", "filed")


def _of_report() -> dict[str, QueryField]:
    """Fields of a report's cover."""
    return {
        "cik": QueryField(("cik", "filerCik"), lambda text: {"values": [int(identifiers.parse_cik(text))]}, "a CIK"),
        "period": QueryField(("period", "periodOfReport", "period_of_report"), _day, _DAYS, is_range=True),
        "accession": QueryField(
            ("accession", "accessionNo", "accession_no", "accession_number"), _accession, "an accession number"
        ),
        "form": QueryField(("form", "formType", "form_type"), lambda text: {"values": [text.upper()]}, "a form"),
        "filed": QueryField(("filed", "filedAt", "filed_at"), _day, _DAYS, is_range=True),
    }


def _of_position(tx: Transaction) -> dict[str, QueryField]:
    """Fields of what is held."""

    def ticker(text: str) -> Condition:
        return {"field": "security", "values": _ids(tx, ticker=tickers.normalise(text), cusip=None)}

    def number(text: str) -> Condition:
        return {"field": "security", "values": _ids(tx, ticker=None, cusip=cusip.validate(text.upper()))}

    return {
        "ticker": QueryField(("holdings.ticker", "ticker"), ticker, "a ticker"),
        "cusip": QueryField(("holdings.cusip", "cusip"), number, "a CUSIP"),
    }


def _ids(tx: Transaction, **by: str | None) -> list[int]:
    return [row["id"] for row in tx.list_rows("ids_of_ticker_or_cusip", by)]


def _of_names(tx: Transaction) -> dict[str, QueryField]:
    """Fields that find funds by words of their names."""

    def named(text: str) -> Condition:
        found, _ = funds.search_funds(tx, text, _NAMES, 0)
        return {"field": "cik", "values": [int(one["cik"]) for one in found]}

    name = QueryField(("filerName", "name", "companyName", "filer_name"), named, "a name")
    return {"name": name, "": name}


def _issuer(text: str) -> Condition:
    return {"field": "issuer", "text": text.upper()}


_ISSUER = QueryField(("holdings.nameOfIssuer", "nameOfIssuer", "issuer_name"), _issuer, "a name")
