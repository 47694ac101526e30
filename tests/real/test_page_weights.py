"""The size of company pages with more than ten years of figures, from the SEC's own document."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import NOW, needs_shared
from tests.real import EDGAR
from tests.support.html_pages import find_row, get_page
from tests.support.slow_cases import slow_after

pytestmark = needs_shared


@pytest.fixture(scope="module")
def page() -> Iterator[Client]:
    app = apps.create_in_memory(Config(pages="public"), FixedClock(NOW))
    ingest.run(app, [EDGAR / "companyfacts" / "CIK0000320193.json"], IngestOptions(), lambda outcome: None)
    yield Client(app)
    app.db.close()


@pytest.mark.parametrize(
    "tab", slow_after(2, ["/financials?period=Q", "", "/financials", "/financials?statement=ratios", "/charts"])
)
def test_a_page_of_more_than_ten_years_is_smaller_than_100_kb(page: Client, tab: str) -> None:
    assert len(get_page(page, f"/company/320193{tab}")) < 100_000


def test_ten_fiscal_years_are_shown_side_by_side(page: Client) -> None:
    assert len(find_row(get_page(page, "/company/320193/financials"), "Revenue")) == 10
