"""Attributes of companies: which source decides, and their form in the database."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from finapi.app import App
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.reference import companies
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

CIK = 77
FULL = CompanyAttributes(
    sic=3571, sic_description="Electronic Computers", fiscal_year_end="0927", state="CA", entity_type="operating"
)
CODE_ONLY = CompanyAttributes(sic=3571)


def store(app: App, *sources: tuple[CompanyAttributes, int, str]) -> list[bool]:
    """Store attributes of one company after the other. Return for each whether it changed something."""
    with app.db.write() as tx:
        companies.upsert_name(tx, CIK, "Seventy-Seven Corp", companies.FROM_LIST_TITLE, "")
        return [companies.update_attributes(tx, CIK, *source) for source in sources]


def load(app: App) -> CompanyAttributes:
    with app.db.read() as tx:
        return companies.get_attributes(tx, CIK)


def test_attributes_are_loaded_as_they_were_stored(app: App) -> None:
    assert store(app, (FULL, 2, "2025-01-01"), (FULL, 2, "2025-01-01")) == [True, False]
    assert load(app) == FULL
    with app.db.read() as tx:
        row = run_sql(tx, "SELECT sic, fiscal_year_end, state, entity_type FROM companies").fetchone()
    assert tuple(row) == (3571, "0927", "CA", "operating")


def test_an_unknown_company_has_no_attributes(app: App) -> None:
    assert load(app) == CompanyAttributes()


@run_each_case(
    "first, second, expected",
    [
        ((FULL, 2, "2024-01-01"), (CODE_ONLY, 1, "2025-01-01"), FULL),
        ((FULL, 2, "2024-01-01"), (CODE_ONLY, 2, "2025-01-01"), CODE_ONLY),
        ((FULL, 2, "2024-01-01"), (CODE_ONLY, 2, "2024-01-01"), FULL),
        ((CODE_ONLY, 0, ""), (CompanyAttributes(), 0, ""), CODE_ONLY),
        ((CODE_ONLY, 0, ""), (CompanyAttributes(sic=6021), 0, ""), CompanyAttributes(sic=6021)),
    ],
)
def test_the_same_source_decides_in_any_order(
    make_app: Callable[[], App],
    first: tuple[CompanyAttributes, int, str],
    second: tuple[CompanyAttributes, int, str],
    expected: CompanyAttributes,
) -> None:
    for order in itertools.permutations((first, second)):
        app = make_app()
        store(app, *order)
        assert load(app) == expected


def test_a_member_that_finapi_does_not_know_is_ignored(app: App) -> None:
    store(app, (CODE_ONLY, 2, "2025-01-01"))
    with app.db.write() as tx:
        run_sql(tx, """UPDATE companies SET attributes = '{"sic": 3571, "phone": "1"}'""")
    assert load(app) == CODE_ONLY
