"""The printed numbers of facts on inline pages, and the further values that filings state for facts.

The SEC's viewer shows an inline page with its facts, and scrolls to the element whose id is the fragment of the URL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from finapi.core import days
from finapi.market.documents.metadata import is_unfiled
from finapi.store.db import Transaction

VIEWER_URL = "https://www.sec.gov/ix?doc=/Archives/edgar/data"
# Nearly all element ids are such texts, which need no escapes in a URL.
_PLAIN_ID = re.compile(r"[A-Za-z0-9_.~-]+")


class FactKey(NamedTuple):
    """The identity of a fact of a company in a filing. ``start`` is None for an instant."""

    accession: str
    concept: str
    unit: str
    start: str | None
    end: str


class FactLink(NamedTuple):
    """The id of the element that states a fact, and its URL in the SEC's viewer, None for an unfiled document."""

    fact_id: str | None
    ink_url: str | None


NO_LINK = FactLink(None, None)


def build_link(cik: int, accession: str, pages: Sequence[str], page: int | None, element_id: str | None) -> FactLink:
    """Return the link of a fact of a filing with these inline pages; :data:`NO_LINK` if it has no element."""
    if element_id is None or page is None or page >= len(pages):
        return NO_LINK
    if is_unfiled(accession):
        return FactLink(element_id, None)
    fragment = element_id if _PLAIN_ID.fullmatch(element_id) else quote(element_id)
    return FactLink(element_id, f"{_build_page_url(cik, accession, pages[page])}#{fragment}")


# All facts of a statement are on one page, or on a few.
@lru_cache(maxsize=64)
def _build_page_url(cik: int, accession: str, page_name: str) -> str:
    return f"{VIEWER_URL}/{cik}/{accession.replace('-', '')}/{quote(page_name)}"


def find_links(tx: Transaction, cik: int, keys: Iterable[FactKey]) -> dict[FactKey, FactLink]:
    """Return the links of the facts of a company that have an element on an inline page.

    The facts are those of the complete company.
    """
    distinct_keys = list(dict.fromkeys(keys))
    rows = tx.list_rows("elements_of_facts", cik=cik, facts=_encode_keys(distinct_keys)) if distinct_keys else []
    links: dict[FactKey, FactLink] = {}
    for row in rows:
        key = distinct_keys[row["position"]]
        links[key] = build_link(cik, key.accession, json.loads(row["pages"]), row["page"], row["element_id"])
    return links


def find_conflicting_values(tx: Transaction, cik: int, keys: Iterable[FactKey]) -> dict[FactKey, list[str]]:
    """Return the further values of those facts of a company that their filing states with different values.

    The facts are those of the complete company.
    """
    distinct_keys = list(dict.fromkeys(keys))
    rows = tx.list_rows("conflicts_of_facts", cik=cik, facts=_encode_keys(distinct_keys)) if distinct_keys else []
    values: dict[FactKey, list[str]] = {}
    for row in rows:
        values.setdefault(distinct_keys[row["position"]], []).append(row["value"])
    return values


def _encode_keys(keys: Sequence[FactKey]) -> str:
    """Return the keys of facts as the JSON that the queries read."""
    return json.dumps(
        [
            (key.accession, key.concept, key.unit, days.number(key.end), days.count_days(key.start, key.end))
            for key in keys
        ]
    )
