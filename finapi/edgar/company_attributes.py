"""The attributes of a company that are stored and served as a source states them."""

from __future__ import annotations

from typing import NamedTuple


class CompanyAttributes(NamedTuple):
    """Attributes of a company, as far as a source states them; ``fiscal_year_end`` is MMDD.

    They are stored together as one JSON object (``companies.attributes`` of ``sql/schema.sql``), so a new attribute
    needs no column unless SQL uses it.
    """

    sic: int | None = None
    sic_description: str | None = None
    fiscal_year_end: str | None = None
    state: str | None = None
    entity_type: str | None = None
