"""The difference between two filings over HTTP, on the filings of the demo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.statements.filing_difference import present_statements
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support.apply_difference import apply_difference, reduce_statements
from tests.support.demo_copies import load_demo

PATH = "/api/v1/xbrl/filings/diff"
(SCHEMA,) = [route.schema for route in ROUTES if route.path == PATH]
AAPL_2023, AAPL_2024, AAPL_Q2_2025 = "0000320193-23-000106", "0000320193-24-000123", "0000320193-25-000057"
UPXI_2024 = "0001477932-24-008123"


@pytest.fixture(scope="module")
def api() -> Iterator[Client]:
    app = apps.create_in_memory(Config(**ACCOUNTS), FixedClock(NOW))
    load_demo(app)
    yield Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    app.db.close()


def compare(api: Client, a: str, b: str, **query: str) -> dict[str, Any]:
    answer = api.get(PATH, query={"a": a, "b": b, **query})
    assert answer.status == 200, answer.body
    jsonschema.Draft202012Validator(SCHEMA).validate(answer.json)
    document: dict[str, Any] = answer.json
    return document


def read_statements(api: Client, accession: str, **query: str) -> Any:
    answer = api.get(f"/api/v1/xbrl/filing/{accession}/statements", query=query)
    return reduce_statements(present_statements(answer.json["data"]["statements"]))


@pytest.mark.parametrize(
    ("a", "b"), [(AAPL_2023, AAPL_2024), (AAPL_2024, AAPL_2023), (AAPL_2024, AAPL_Q2_2025), (AAPL_2024, AAPL_2024)]
)
@pytest.mark.parametrize("consolidated_only", ["true", "false"])
def test_the_difference_turns_a_into_b(api: Client, a: str, b: str, consolidated_only: str) -> None:
    document = compare(api, a, b, consolidated_only=consolidated_only)
    a_statements = read_statements(api, a, consolidated_only=consolidated_only)
    b_statements = read_statements(api, b, consolidated_only=consolidated_only)
    assert apply_difference(a_statements, document["data"]["statements"]) == b_statements
    cells = [
        cell for statement in document["data"]["statements"] for line in statement["lines"] for cell in line["cells"]
    ]
    meta = document["meta"]
    assert {name: meta[name] for name in ("restated", "rounded", "added", "dropped")} == {
        name: sum(cell["status"] == name for cell in cells) for name in ("restated", "rounded", "added", "dropped")
    }
    assert (cells == []) == (a == b)


def test_a_line_has_both_values_and_their_links(api: Client) -> None:
    document = compare(api, AAPL_2023, AAPL_2024, statement="income")
    assert (document["data"]["ticker"], document["data"]["a"]["accession"]) == ("AAPL", AAPL_2023)
    assert document["data"]["b"] == {
        "accession": AAPL_2024,
        "form_type": "10-K",
        "filed_at": "2024-11-01",
        "period_of_report": "2024-09-28",
    }
    (income,) = document["data"]["statements"]
    revenue = next(line for line in income["lines"] if line["label_b"] == "Net sales")
    assert (revenue["status"], revenue["unit"], revenue["placement"]) == ("other_periods", "USD", None)
    assert [
        (cell["end_date"], cell["status"], cell["a"] and cell["a"]["value"], cell["b"] and cell["b"]["value"])
        for cell in revenue["cells"]
    ] == [("2021-09-25", "dropped", "365817000000", None), ("2024-09-28", "added", None, "391035000000")]
    link = revenue["cells"][1]["b"]
    assert link["ink_url"].endswith(f"/000032019324000123/aapl-20240928.htm#{link['fact_id']}")


@pytest.mark.parametrize(
    ("query", "verdict", "param"),
    [
        ({"a": AAPL_2023}, (400, "INVALID_PARAM"), "b"),
        ({"a": AAPL_2023, "b": "latest"}, (400, "INVALID_PARAM"), "b"),
        ({"a": AAPL_2023, "b": UPXI_2024}, (400, "INVALID_PARAM"), "b"),
        ({"a": AAPL_2023, "b": AAPL_2024, "statement": "x"}, (400, "INVALID_PARAM"), "statement"),
        ({"a": "0000320193-99-000001", "b": AAPL_2024}, (404, "NOT_FOUND"), None),
        # On that day the second filing was not known.
        ({"a": AAPL_2023, "b": AAPL_2024, "as_of": "2024-10-31"}, (404, "NOT_FOUND"), None),
    ],
)
def test_filings_that_cannot_be_compared_are_refused(
    api: Client, query: dict[str, str], verdict: tuple[int, str], param: str | None
) -> None:
    answer = api.get(PATH, query=query)
    assert answer.verdict[:2] == verdict
    assert answer.json.get("details", {}).get("param") == param
