"""Helpers of the tests on the SEC's own documents (../shared/edgar).

The filings are ingested and requested through the API.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import NOW, SHARED

EDGAR = SHARED / "edgar"

AAPL_2023 = "aapl-10k-20230930_0000320193-23-000106"
AAPL_2024 = "aapl-10k-20240928_0000320193-24-000123"
AAPL_Q2_2025 = "aapl-10q-20250329_0000320193-25-000057"
AEON = "aeon-10q-20230930"
NFLX_2010 = "nflx-10q-20100930"
NFLX_2024 = "nflx-10q-20240331"
UPXI = "upxi-10k-20240630_0001477932-24-008123"

JSON = dict[str, Any]

PERIOD_START = "http://www.xbrl.org/2003/role/periodStartLabel"
PERIOD_END = "http://www.xbrl.org/2003/role/periodEndLabel"


@dataclass
class Service:
    """A service with ingested filings; ``accessions`` maps folder names to accession numbers."""

    app: App
    client: Client
    accessions: dict[str, str]
    _answers: dict[tuple[str, bool], JSON] = field(default_factory=dict)

    def statements(self, folder: str, *, dimensioned: bool = False) -> dict[str, JSON]:
        """Return the served statements of a filing by kind; each request is sent once."""
        key = (folder, dimensioned)
        if key not in self._answers:
            path = f"/api/v1/xbrl/filing/{self.accessions[folder]}/statements"
            answer = self.client.get(path, query={"consolidated_only": str(not dimensioned).lower()})
            assert answer.status == 200, answer.body
            self._answers[key] = answer.json["data"]["statements"]
        return self._answers[key]


@contextmanager
def service(*folders: str) -> Iterator[Service]:
    """Yield a service that has ingested folders of ../shared/edgar/xbrl, with a caller on the plan pro."""
    numbers = itertools.count(1)
    app = apps.create_in_memory(
        Config(), FixedClock(NOW), new_uuid=lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
    )
    try:
        user = users.create(app, "ann@example.com", "pro", NOW)
        outcomes: list[Outcome] = []
        ingest.run(app, [EDGAR / "xbrl" / folder for folder in folders], IngestOptions(), outcomes.append)
        assert [outcome for outcome in outcomes if outcome.outcome == "refused"] == []
        accessions = {
            folder: outcome.accession
            for folder in folders
            for outcome in outcomes
            if Path(outcome.path).parent.name == Path(folder).name and outcome.accession
        }
        yield Service(app, Client(app, user.api_key), accessions)
    finally:
        app.db.close()


class Cell(NamedTuple):
    """A served value with the number of its row and the period of its fact."""

    row: int
    concept: str
    label: str
    unit: str | None
    start: str | None
    end: str
    dims: tuple[tuple[str, str], ...]
    value: str | None
    status: str | None


def iter_cells(statement: JSON) -> Iterator[Cell]:
    """Yield every cell of a statement by row and column; an instant in a duration column has its own day."""
    for row_number, row in enumerate(statement["rows"]):
        if row["abstract"]:
            continue
        marks = [mark and mark["status"] for mark in row["marks"]]
        for column, value, status in zip(statement["columns"], row["values"], marks, strict=True):
            start: str | None = column["start_date"]
            end: str = column["end_date"]
            if start is not None and row["preferred_label"] == PERIOD_START:
                end, start = day_before(start), None
            elif row["preferred_label"] == PERIOD_END:
                start = None
            yield Cell(
                row_number,
                row["concept"],
                row["label"],
                row["unit"],
                start,
                end,
                tuple((column["dims"] or {}).items()),
                value,
                status,
            )


def value_rows(statement: JSON) -> list[JSON]:
    """Return the rows that can contain values."""
    return [row for row in statement["rows"] if not row["abstract"]]


def column_periods(statement: JSON) -> list[tuple[str | None, str]]:
    """Return the periods of the columns without dimensions, in order."""
    return [(column["start_date"], column["end_date"]) for column in statement["columns"] if column["dims"] is None]


def day_before(day: str) -> str:
    return (date.fromisoformat(day) - timedelta(days=1)).isoformat()


def get_only(elements: Iterable[Any]) -> Any:
    """Return the only element."""
    (element,) = elements
    return element
