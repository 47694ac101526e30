"""The fields that ``POST /insiders/query`` asks of ownership forms, and the forms that a query finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from finapi.core import days, query_language
from finapi.core.errors import ApiError
from finapi.core.query_language import Condition, QueryField
from finapi.edgar import identifiers, ownership_forms
from finapi.market.insiders import names
from finapi.market.reference import companies
from finapi.store.db import Transaction

MAX_COUNTED = 10_000  # beyond it the total says "gte"
# Forms that a query looks at when neither a party nor an accession number narrows it, and tests of all of them.
MAX_SEARCHED_FORMS, MAX_TESTS = 300_000, 1_000_000
_NAMES = 200  # insiders, and issuers, whose names match that are looked at
_LAST_DAY = 10**9

Range = tuple[int, int]


def find_forms(tx: Transaction, text: str, start: int, size: int) -> tuple[list[int], int, bool]:
    """Ids of the filings that a query finds, newest first; how many there are, and whether that is exact.

    INVALID_PARAM for a query that cannot be read, an unknown field or a value that is not of its type.
    """
    cut: list[bool] = []
    choices = query_language.parse_conditions(text, _fields(tx, cut))
    found: set[tuple[int, int]] = set()

    def look(query: str, tested: list[list[Condition]], **values: Any) -> None:
        rows = tx.list_rows(query, values, choices=json.dumps(tested), limit=MAX_COUNTED + 1)
        found.update((row["filed_day"], row["id"]) for row in rows)

    wide = []
    for choice in choices:
        narrow = [one for one in choice if one["field"] in _NARROW and not one["not"]]
        if narrow:
            most = min(narrow, key=lambda one: sum(len(one.get(name, ())) for name in _LISTS))
            look("forms_of_query_of_some", [choice], **{name: json.dumps(most.get(name, [])) for name in _LISTS})
        else:
            wide.append(choice)
    if wide:
        since, until = _filed_between(wide)
        looked = min(MAX_SEARCHED_FORMS, MAX_TESTS // sum(map(len, wide)))
        bound = tx.find_value("form_day_looked_to", since=since, until=until, looked=looked)
        cut.append(bound is not None)
        look("forms_of_query", wide, since=since if bound is None else bound, until=until)
    ids = [number for _, number in sorted(found, reverse=True)]
    return ids[start : start + size], min(len(ids), MAX_COUNTED), len(ids) <= MAX_COUNTED and not any(cut)


def _filed_between(choices: list[list[Condition]]) -> Range:
    """The filing days between which all that any of the choices finds was filed."""

    def between(choice: list[Condition]) -> Range:
        filed = [one for one in choice if one["field"] == "filed" and not one["not"]]
        since = max((one["low"] for one in filed if one["low"] is not None), default=0)
        return since, min((one["high"] for one in filed if one["high"] is not None), default=_LAST_DAY)

    ends = [between(choice) for choice in choices]
    return min(since for since, _ in ends), max(until for _, until in ends)


# ---- fields: what a value means, or ValueError

# The conditions by which an index finds forms, and the lists that they may have.
_NARROW = ("accession", "party")
_LISTS = ("accessions", "issuers", "insiders")


def _fields(tx: Transaction, cut: list[bool]) -> dict[str, QueryField]:
    """The fields by what they test; ``cut`` is told when a name has more bearers than are looked at."""

    def ticker(text: str) -> Condition:
        try:
            return {"issuers": [companies.resolve(tx, text, "query").cik]}
        except ApiError as error:
            if error.status != 404:
                raise
            return {"issuers": []}

    def named(kind: str) -> Callable[[str], Condition]:
        return lambda text: {kind: word(text, forms=False)[kind]}

    def word(text: str, *, forms: bool = True) -> Condition:
        if forms and text.upper() in ownership_forms.FORM_TYPES:
            return {"forms": [text.upper()]}
        matches = names.find_matches(tx, text, _NAMES)
        cut.append(matches.is_truncated)
        issuers = {*matches.issuers, *(ticker(text)["issuers"] if forms else ())}
        return {"issuers": sorted(issuers), "insiders": matches.insiders}

    parties = {
        "ticker": QueryField(("ticker", "issuer.tradingSymbol", "issuer.ticker"), ticker, "a ticker"),
        "cik": QueryField(("cik",), _numbers("issuers", "insiders"), "a CIK"),
        "issuer_cik": QueryField(("issuer.cik",), _numbers("issuers"), "a CIK"),
        "issuer_name": QueryField(("issuer.name",), named("issuers"), "a name"),
        "owner_cik": QueryField(("reportingOwner.cik", "reporters.cik"), _numbers("insiders"), "a CIK"),
        "owner_name": QueryField(("reportingOwner.name", "reporters.name"), named("insiders"), "a name"),
        "": QueryField(("",), word, "a word"),
    }
    parties = {key: one._replace(parse=_party(one.parse)) for key, one in parties.items()}
    return parties | _PLAIN


def _party(read: Callable[[str], Condition]) -> Callable[[str], Condition]:
    """The same, as the condition that some company or insider is a party of the form."""
    return lambda text: {"field": "form" if "forms" in (found := read(text)) else "party", **found}


def _numbers(*kinds: str) -> Callable[[str], Condition]:
    return lambda text: {kind: [int(identifiers.parse_cik(text))] for kind in kinds}


def _accession(text: str) -> Condition:
    found = identifiers.parse_accession(text)
    if found is None:
        raise ValueError
    return {"accessions": [found]}


def _form(text: str) -> Condition:
    if text.upper() not in ownership_forms.FORM_TYPES:
        raise ValueError
    return {"forms": [text.upper()]}


# A day may be written with its time, as clients have it.
_DAYS = "a date or [date TO date]"
_PLAIN = {
    "accession": QueryField(("accessionNo",), _accession, "an accession number"),
    "form": QueryField(("documentType", "formType"), _form, f"one of {', '.join(ownership_forms.FORM_TYPES)}"),
    "filed": QueryField(("filedAt",), lambda text: days.number(days.validate(text[:10])), _DAYS, is_range=True),
    "period": QueryField(("periodOfReport",), lambda text: days.validate(text[:10]), _DAYS, is_range=True),
    "amendment": QueryField(
        ("isAmendment",), lambda text: {"truth": ownership_forms.parse_boolean(text)}, "true or false"
    ),
    "code": QueryField(
        ("transactionCode", "nonDerivativeTable.transactions.coding.code"),
        lambda text: {"code": ownership_forms.parse_code(text.upper())},
        "one letter",
    ),
}
