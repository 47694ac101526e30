"""The query of ``POST /insiders/query`` over ownership forms.

A query is a list of alternatives, and each alternative is a list of conditions that must all hold (see
``core/query_language.py``). The database tests the conditions of each form. The forms to test are found in two ways:

- An alternative that requires a party (an issuer or insider) or an accession number tests only the forms of that party,
  which an index finds.
- All other alternatives are tested together, over the forms of the days that they accept, newest first. At most
  :data:`MAX_SEARCHED_FORMS` forms are tested; the total is then a lower bound.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from finapi.core import days, query_language
from finapi.core.errors import ApiError
from finapi.core.query_language import Condition, QueryField
from finapi.edgar import identifiers, ownership_forms
from finapi.market.insiders import names
from finapi.market.reference import companies
from finapi.store.db import Transaction

MAX_COUNTED = 10_000  # A larger total is reported as "at least" this number.
# Without a party or accession number, at most this many forms are tested, and at most this many conditions in total.
MAX_SEARCHED_FORMS = 300_000
MAX_TESTS = 1_000_000
_MAX_NAME_MATCHES = 200  # Insiders, and as many issuers, whose names match a word.
_LAST_DAY_NUMBER = 10**9

# The fields that have an index of forms, and the lists of identifiers that their conditions contain.
_INDEXED_FIELDS = ("accession", "party")
_IDENTIFIER_LISTS = ("accessions", "issuers", "insiders")


class FormMatches(NamedTuple):
    """A page of the forms that a query finds."""

    form_ids: list[int]
    total: int
    is_exact: bool  # False if more forms may match than ``total``.


class _DayRange(NamedTuple):
    """The first and last filing day, as day numbers."""

    first: int
    last: int


def find_forms(tx: Transaction, text: str, offset: int, limit: int) -> FormMatches:
    """Return the forms that a query finds, newest first.

    Raise ApiError INVALID_PARAM for a query that cannot be parsed, an unknown field or a value of the wrong type.
    """
    fields = _QueryFields(tx)
    alternatives = query_language.parse_conditions(text, fields.build_fields_by_key())
    matches: set[tuple[int, int]] = set()  # Filing day and id of each form.

    def search(query: str, tested: list[list[Condition]], **parameters: Any) -> None:
        rows = tx.list_rows(query, parameters, choices=json.dumps(tested), limit=MAX_COUNTED + 1)
        matches.update((row["filed_day"], row["id"]) for row in rows)

    unindexed = []
    for alternative in alternatives:
        condition = _find_indexed_condition(alternative)
        if condition is None:
            unindexed.append(alternative)
        else:
            identifiers_by_list = {name: json.dumps(condition.get(name, [])) for name in _IDENTIFIER_LISTS}
            search("forms_of_parties_by_query", [alternative], **identifiers_by_list)
    is_cut_off = False
    if unindexed:
        accepted = _find_accepted_days(unindexed)
        max_forms = min(MAX_SEARCHED_FORMS, MAX_TESTS // sum(map(len, unindexed)))
        oldest = tx.find_value("oldest_searched_day", since=accepted.first, until=accepted.last, max_forms=max_forms)
        is_cut_off = oldest is not None
        since = accepted.first if oldest is None else oldest
        search("forms_by_query", unindexed, since=since, until=accepted.last)
    form_ids = [form_id for _, form_id in sorted(matches, reverse=True)]
    is_exact = len(form_ids) <= MAX_COUNTED and not is_cut_off and not fields.is_truncated
    return FormMatches(form_ids[offset : offset + limit], min(len(form_ids), MAX_COUNTED), is_exact)


def _find_indexed_condition(alternative: list[Condition]) -> Condition | None:
    """Return the condition on an indexed field with the fewest identifiers, or None."""
    indexed = [condition for condition in alternative if condition["field"] in _INDEXED_FIELDS and not condition["not"]]
    return min(indexed, key=_count_identifiers, default=None)


def _count_identifiers(condition: Condition) -> int:
    return sum(len(condition.get(name, ())) for name in _IDENTIFIER_LISTS)


def _find_accepted_days(alternatives: list[list[Condition]]) -> _DayRange:
    """Return the smallest range of filing days that covers the days of all alternatives."""
    ranges = [_find_filing_days(alternative) for alternative in alternatives]
    return _DayRange(min(window.first for window in ranges), max(window.last for window in ranges))


def _find_filing_days(alternative: list[Condition]) -> _DayRange:
    filed = [condition for condition in alternative if condition["field"] == "filed" and not condition["not"]]
    lows = [condition["low"] for condition in filed if condition["low"] is not None]
    highs = [condition["high"] for condition in filed if condition["high"] is not None]
    return _DayRange(max(lows, default=0), min(highs, default=_LAST_DAY_NUMBER))


# ---- Fields. A parser returns the members of a condition, or raises ValueError for a value of the wrong type.


class _QueryFields:
    """The fields of a query, some of which look up companies and insiders in the database."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.is_truncated = False  # True if a word matched too many names and some were dropped.

    def build_fields_by_key(self) -> dict[str, QueryField]:
        """Return the fields by the condition that they test. The field "" parses words without a field."""
        return {
            "ticker": QueryField(
                ("ticker", "issuer.tradingSymbol", "issuer.ticker"), _build_party_parser(self._parse_ticker), "a ticker"
            ),
            "cik": QueryField(("cik",), _build_party_parser(_build_cik_parser("issuers", "insiders")), "a CIK"),
            "issuer_cik": QueryField(("issuer.cik",), _build_party_parser(_build_cik_parser("issuers")), "a CIK"),
            "issuer_name": QueryField(("issuer.name",), _build_party_parser(self._parse_issuer_name), "a name"),
            "owner_cik": QueryField(
                ("reportingOwner.cik", "reporters.cik"), _build_party_parser(_build_cik_parser("insiders")), "a CIK"
            ),
            "owner_name": QueryField(
                ("reportingOwner.name", "reporters.name"), _build_party_parser(self._parse_owner_name), "a name"
            ),
            "": QueryField(("",), self._parse_word, "a word"),
            **_PLAIN_FIELDS,
        }

    def _parse_ticker(self, text: str) -> Condition:
        try:
            return {"issuers": [companies.resolve(self._tx, text, "query").cik]}
        except ApiError as error:
            if error.status != 404:
                raise
            return {"issuers": []}

    def _parse_issuer_name(self, text: str) -> Condition:
        return {"issuers": sorted(set(self._match_names(text).issuers))}

    def _parse_owner_name(self, text: str) -> Condition:
        return {"insiders": self._match_names(text).insiders}

    def _parse_word(self, text: str) -> Condition:
        """Return the condition of a word without a field: a form type, a name or a ticker."""
        if text.upper() in ownership_forms.FORM_TYPES:
            return {"field": "form", **_parse_form_type(text)}
        matches = self._match_names(text)
        issuers = {*matches.issuers, *self._parse_ticker(text)["issuers"]}
        return {"field": "party", "issuers": sorted(issuers), "insiders": matches.insiders}

    def _match_names(self, text: str) -> names.NameMatches:
        matches = names.find_matches(self._tx, text, _MAX_NAME_MATCHES)
        self.is_truncated = self.is_truncated or matches.is_truncated
        return matches


def _build_party_parser(parse: Callable[[str], Condition]) -> Callable[[str], Condition]:
    """Return a parser of conditions that require a form's parties to include one of the companies or insiders."""
    return lambda text: {"field": "party", **parse(text)}


def _build_cik_parser(*lists: str) -> Callable[[str], Condition]:
    return lambda text: {name: [int(identifiers.parse_cik(text))] for name in lists}


def _parse_accession(text: str) -> Condition:
    accession = identifiers.parse_accession(text)
    if accession is None:
        raise ValueError
    return {"accessions": [accession]}


def _parse_form_type(text: str) -> Condition:
    if text.upper() not in ownership_forms.FORM_TYPES:
        raise ValueError
    return {"forms": [text.upper()]}


def _parse_date(text: str) -> str:
    # Some clients send the time with the day. It is ignored.
    return days.validate(text[:10])


_DATE_OR_RANGE = "a date or [date TO date]"
_PLAIN_FIELDS = {
    "accession": QueryField(("accessionNo",), _parse_accession, "an accession number"),
    "form": QueryField(
        ("documentType", "formType"), _parse_form_type, f"one of {', '.join(ownership_forms.FORM_TYPES)}"
    ),
    "filed": QueryField(("filedAt",), lambda text: days.number(_parse_date(text)), _DATE_OR_RANGE, is_range=True),
    "period": QueryField(("periodOfReport",), _parse_date, _DATE_OR_RANGE, is_range=True),
    "amendment": QueryField(
        ("isAmendment",), lambda text: {"truth": ownership_forms.parse_boolean(text)}, "true or false"
    ),
    "code": QueryField(
        ("transactionCode", "nonDerivativeTable.transactions.coding.code"),
        lambda text: {"code": ownership_forms.parse_code(text.upper())},
        "one letter",
    ),
}
