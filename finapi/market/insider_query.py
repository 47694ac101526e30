"""The query language of ``POST /insiders/query``: ``field:value`` terms joined by AND.

A value is a word, a text in quotes, or a range ``[a TO b]`` of dates (``*`` leaves an end open). What the
language does not have is refused by name, never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from finapi.db import Row, Transaction
from finapi.edgar import identity, ownership
from finapi.errors import ApiError, invalid_param
from finapi.market import companies, insider_names
from finapi.market.insider_positions import day_number

MAX_COUNTED = 10_000  # beyond it the total says "gte"
MAX_TERMS = 20
_NAMES = 25  # insiders whose names match that are looked at

_TERM = re.compile(r'\s*([A-Za-z0-9_.]{1,80})\s*:\s*("[^"]{1,200}"|\[[^\[\]]{1,60}\]|[^\s()"\[\]:]{1,200})')
_AND = re.compile(r"\s+AND\s+(?=\S)")
_RANGE = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+)\s*\]")


def filings(tx: Transaction, text: str, start: int, size: int) -> tuple[list[int], int, bool]:
    """Ids of the filings that a query finds, newest first; how many there are, and whether that is exact.

    INVALID_PARAM for a query that is none, a field that is not known or a value that is not of its type.
    """
    wanted: dict[str, Any] = dict.fromkeys(_VALUES)
    nothing = False
    for field, value in terms(text):
        read = _FIELDS.get(field)
        if read is None:
            raise invalid_param("query", f"There is no field {field}.", allowed=sorted(_FIELDS))
        told = read(tx, value)
        for name, one in told.items():
            if wanted[name] is not None and wanted[name] != one:
                nothing = True
            wanted[name] = one
        nothing = nothing or any(one == [] for one in told.values())
    if nothing:
        return [], 0, True
    if wanted["insider"] is not None or wanted["insiders"] is None:
        found = _rows(tx, wanted)
    else:
        # Each of those who bear the name, and every filing once.
        found = {key for one in wanted["insiders"] for key in _rows(tx, {**wanted, "insider": one})}
    ids = [number for _, number in sorted(found, reverse=True)]
    return ids[start : start + size], min(len(ids), MAX_COUNTED), len(ids) <= MAX_COUNTED


def _rows(tx: Transaction, wanted: dict[str, Any]) -> set[tuple[int, int]]:
    """Filing day and id of the newest filings that match, one more than are counted."""
    if wanted["accession"] is not None:
        query = tx.all(
            "query_of_accession",
            accession=wanted["accession"],
            insider=wanted["insider"],
            issuer=wanted["issuer"],
            type=wanted["type"],
            code=wanted["code"],
            filed_from=wanted["filed_from"],
            filed_to=wanted["filed_to"],
            period_from=wanted["period_from"],
            period_to=wanted["period_to"],
            amendment=wanted["amendment"],
            limit=MAX_COUNTED + 1,
        )
    elif wanted["insider"] is None and wanted["issuer"] is None:
        query = tx.all(
            "query_of_all",
            accession=wanted["accession"],
            insider=wanted["insider"],
            issuer=wanted["issuer"],
            type=wanted["type"],
            code=wanted["code"],
            filed_from=wanted["filed_from"],
            filed_to=wanted["filed_to"],
            period_from=wanted["period_from"],
            period_to=wanted["period_to"],
            amendment=wanted["amendment"],
            limit=MAX_COUNTED + 1,
        )
    else:
        query = _of_party(tx, wanted)
    return {(row["filed_day"], row["id"]) for row in query}


def _of_party(tx: Transaction, wanted: dict[str, Any]) -> list[Row]:
    if wanted["insider"] is not None:
        return tx.all(
            "query_of_insider",
            accession=wanted["accession"],
            insider=wanted["insider"],
            issuer=wanted["issuer"],
            type=wanted["type"],
            code=wanted["code"],
            filed_from=wanted["filed_from"],
            filed_to=wanted["filed_to"],
            period_from=wanted["period_from"],
            period_to=wanted["period_to"],
            amendment=wanted["amendment"],
            limit=MAX_COUNTED + 1,
        )
    return tx.all(
        "query_of_issuer",
        accession=wanted["accession"],
        insider=wanted["insider"],
        issuer=wanted["issuer"],
        type=wanted["type"],
        code=wanted["code"],
        filed_from=wanted["filed_from"],
        filed_to=wanted["filed_to"],
        period_from=wanted["period_from"],
        period_to=wanted["period_to"],
        amendment=wanted["amendment"],
        limit=MAX_COUNTED + 1,
    )


def terms(text: str) -> list[tuple[str, str]]:
    """The terms of a query as field and raw value; INVALID_PARAM naming the place that is wrong."""
    found: list[tuple[str, str]] = []
    at = 0
    while True:
        term = _TERM.match(text, at)
        if term is None or len(found) >= MAX_TERMS:
            raise invalid_param(
                "query",
                f"The query cannot be read at character {at + 1}.",
                expected='field:value AND field:"value" AND field:[2024-01-01 TO 2024-12-31]',
            )
        found.append((term[1], term[2]))
        at = term.end()
        if not text[at:].strip():
            return found
        joined = _AND.match(text, at)
        # Without a word between them, two terms must both hold, as in most languages of this kind.
        at = joined.end() if joined else at


_VALUES = (
    "accession",
    "insider",
    "insiders",
    "issuer",
    "type",
    "code",
    "filed_from",
    "filed_to",
    "period_from",
    "period_to",
    "amendment",
)


def _plain(value: str) -> str:
    return value[1:-1] if value.startswith('"') else value


def _wrong(field: str, expected: str) -> ApiError:
    return invalid_param("query", f"{field} must be {expected}.", expected=expected)


def _ticker(tx: Transaction, value: str) -> dict[str, Any]:
    try:
        return {"issuer": companies.find(tx, _plain(value)).cik}
    except ApiError as error:
        if error.status != 404:
            raise
        return {"insiders": []}


def _cik(name: str) -> Callable[[Transaction, str], dict[str, Any]]:
    def read(tx: Transaction, value: str) -> dict[str, Any]:
        try:
            return {name: int(ownership.cik(_plain(value)))}
        except ValueError:
            raise _wrong(name, "a CIK") from None

    return read


def _name(tx: Transaction, value: str) -> dict[str, Any]:
    return {"insiders": insider_names.matching(tx, _plain(value), _NAMES).insiders}


def _accession(tx: Transaction, value: str) -> dict[str, Any]:
    found = identity.accession(_plain(value))
    if found is None:
        raise _wrong("accessionNo", "an accession number")
    return {"accession": found}


def _form(tx: Transaction, value: str) -> dict[str, Any]:
    if _plain(value) not in ownership.FORMS:
        raise _wrong("documentType", f"one of {', '.join(ownership.FORMS)}")
    return {"type": _plain(value)}


def _code(tx: Transaction, value: str) -> dict[str, Any]:
    try:
        return {"code": ownership.code(_plain(value).upper())}
    except ValueError:
        raise _wrong("transactionCode", "one letter") from None


def _amendment(tx: Transaction, value: str) -> dict[str, Any]:
    try:
        return {"amendment": ownership.truth(_plain(value))}
    except ValueError:
        raise _wrong("isAmendment", "true or false") from None


def _days(name: str, *, numbered: bool) -> Callable[[Transaction, str], dict[str, Any]]:
    def read(tx: Transaction, value: str) -> dict[str, Any]:
        ends = _RANGE.fullmatch(value)
        first, last = (ends[1], ends[2]) if ends else (_plain(value), _plain(value))
        try:
            days = [None if end == "*" else date.fromisoformat(end[:10]).isoformat() for end in (first, last)]
        except ValueError:
            raise _wrong(name, "a date or [date TO date]") from None
        told = [day_number(day) if numbered and day is not None else day for day in days]
        return {f"{name}_from": told[0], f"{name}_to": told[1]}

    return read


_FIELDS: dict[str, Callable[[Transaction, str], dict[str, Any]]] = {
    "accessionNo": _accession,
    "documentType": _form,
    "filedAt": _days("filed", numbered=True),
    "periodOfReport": _days("period", numbered=False),
    "isAmendment": _amendment,
    "issuer.cik": _cik("issuer"),
    "issuer.tradingSymbol": _ticker,
    "reportingOwner.cik": _cik("insider"),
    "reportingOwner.name": _name,
    "transactionCode": _code,
    "nonDerivativeTable.transactions.coding.code": _code,
}
