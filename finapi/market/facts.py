"""Facts of a company or a filing, read for what is computed from them.

    of_company(tx, cik, *, as_of=None, concepts=None, dimensioned=False) -> list[Fact]
    of_filing(tx, accession) -> list[Fact]
    of_set(tx, row, *, concepts=None, dimensioned=True) -> list[Fact]

Every vintage is there: a figure that three filings repeat is three facts. Of one filing each fact stands once,
from the best source that is held (``market/factsets.py``). The order is that of filing (an unknown day last),
then accession number, concept, unit, period and dimensions, whatever order the documents came in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from finapi.db import Row, Transaction
from finapi.market.factsets import SOURCES, iso_day

Dimensions = tuple[tuple[str, str], ...]


class Fact(NamedTuple):
    """A figure that one filing reports.

    ``concept`` and ``unit`` read ``us-gaap:Assets`` and ``USD``. ``start`` is None for an instant; dates are
    ISO, both days included. ``value`` is the text as tagged, None for nil; ``decimals`` an integer as text,
    ``INF``, or None where the source does not tell. ``form`` and ``filed`` are the filing's, None when unknown.
    ``source`` is ``xbrl``, ``companyfacts`` or ``fsds``: dates of the last are rounded to month ends.
    """

    concept: str
    unit: str
    start: str | None
    end: str
    value: str | None
    decimals: str | None
    accession: str
    form: str | None
    filed: str | None
    source: str
    dims: Dimensions = ()


def of_company(
    tx: Transaction,
    cik: int,
    *,
    as_of: str | None = None,
    concepts: Iterable[str] | None = None,
    dimensioned: bool = False,
) -> list[Fact]:
    """The figures of a company without dimensions, or those with them when ``dimensioned``.

    ``as_of`` (ISO date) leaves out what was filed later or on an unknown day; ``concepts`` keeps these only.
    """
    made: list[Fact] = []
    names = _Names(tx)
    wanted = None if concepts is None else json.dumps(sorted(set(concepts)))
    for filing in tx.all("fact_sets_filed", cik=cik, as_of=as_of):
        if dimensioned:
            rows = tx.all("dimensioned_facts", id=filing["id"], concepts=wanted)
        elif wanted is None:
            rows = tx.all("plain_facts", id=filing["id"])
        else:
            rows = tx.all("plain_facts_of_concepts", id=filing["id"], concepts=wanted)
        made.extend(_facts(names, filing, rows))
    return made


def of_filing(tx: Transaction, accession: str) -> list[Fact]:
    """Every figure of a filing, those without dimensions and those with them; none when it is not held."""
    made: list[Fact] = []
    names = _Names(tx)
    for filing in tx.all("fact_sets_of_filing", accession=accession):
        rows = tx.all("plain_facts", id=filing["id"])
        rows += tx.all("dimensioned_facts", id=filing["id"], concepts=None)
        made.extend(_facts(names, filing, rows))
    return made


def of_set(
    tx: Transaction, held: Row, *, concepts: Iterable[str] | None = None, dimensioned: bool = True
) -> list[Fact]:
    """The figures of one source of one filing, given as its row, with those that have dimensions if wanted."""
    wanted = None if concepts is None else json.dumps(sorted(set(concepts)))
    if wanted is None:
        rows = tx.all("plain_facts", id=held["id"])
    else:
        rows = tx.all("plain_facts_of_concepts", id=held["id"], concepts=wanted)
    if dimensioned:
        rows += tx.all("dimensioned_facts", id=held["id"], concepts=wanted)
    return _facts(_Names(tx), held, rows)


class _Names:
    """Names by their ids, each looked up once."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._concepts: dict[int, str] = {}
        self._units: dict[int, str] = {}
        self._dimensions: dict[int, Dimensions] = {0: ()}

    def concept(self, number: int) -> str:
        name = self._concepts.get(number)
        if name is None:
            tx = self._tx
            name = self._concepts[number] = tx.value("concept_name", id=number)
        return name

    def unit(self, number: int) -> str:
        name = self._units.get(number)
        if name is None:
            tx = self._tx
            name = self._units[number] = tx.value("unit_name", id=number)
        return name

    def dimensions(self, number: int) -> Dimensions:
        dims = self._dimensions.get(number)
        if dims is None:
            tx = self._tx
            members = json.loads(tx.value("dimension_members", id=number))
            dims = self._dimensions[number] = tuple(members.items())
        return dims


def _facts(names: _Names, filing: Row, rows: Iterable[Row]) -> list[Fact]:
    accession, form, filed, source = (
        filing["accession"],
        filing["form"],
        filing["filed_at"],
        SOURCES[filing["source"]],
    )
    concept, unit, dimensions = names.concept, names.unit, names.dimensions
    made = [
        Fact(
            concept(concept_id),
            unit(unit_id),
            iso_day(end_day - days + 1) if days else None,
            iso_day(end_day),
            value,
            decimals,
            accession,
            form,
            filed,
            source,
            dimensions(dimension_id),
        )
        for dimension_id, concept_id, end_day, days, unit_id, value, decimals in rows
    ]
    made.sort(key=_place)
    return made


def _place(fact: Fact) -> tuple[str, str, str, str, Dimensions]:
    return fact[0], fact[1], fact[3], fact[2] or "", fact[10]


def decimals_told(text: str | None) -> int | str | None:
    """To how many decimal places a fact is exact, as answers say it: a number, "INF", or None for untold."""
    return text if text is None or text == "INF" else int(text)
