"""Searching companies and tickers by name, ticker and CIK: the order of the results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.market.reference import companies
from tests.client import Client
from tests.market.documents.test_filing_store import run
from tests.support.case_tables import run_each_case

# In the order of company_tickers.json, the largest company first.
LISTED = (
    (320193, "AAPL", "Apple Inc."),
    (1067983, "BRK-B", "BERKSHIRE HATHAWAY INC"),
    (1326801, "META", "Meta Platforms, Inc."),
    (1067983, "BRK-A", "BERKSHIRE HATHAWAY INC"),
    (20, "GAPX", "Gap Exploration Ltd"),
    (1418121, "APLE", "Apple Hospitality REIT, Inc."),
    (39911, "GAP", "GAP INC"),
    (1108134, "BHLB", "BERKSHIRE HILLS BANCORP INC"),
    (21, "LUCY", "Pineapple Energy Inc."),
    (22, "FB", "ProShares Trust FB"),
)


@pytest.fixture
def first(app: App, client: Client, user: NewUser, tmp_path: Path) -> Callable[[str, str], list[str | None]]:
    file = tmp_path / "company_tickers.json"
    rows = ({"cik_str": cik, "ticker": ticker, "title": name} for cik, ticker, name in LISTED)
    file.write_text(json.dumps({str(n): row for n, row in enumerate(rows)}))
    assert [outcome.outcome for outcome in run(app, file)] == ["ingested"]
    with app.db.write() as tx:
        # Companies without a ticker are not in the SEC's list.
        for cik, name in ((30, "APPLE ORCHARDS LP"), (31, "BERKSHIRE INCOME REALTY INC"), (32, "APPLE")):
            companies.upsert_name(tx, cik, name, companies.FROM_FILING_LIST, "")
        companies.insert_former_name(tx, 1326801, "Facebook Inc", "2005-05-04", "2021-10-27")
        tx.run("bump_data_version")
    client.key = user.api_key
    paths = {"search": ("/api/v1/xbrl/search", "data"), "autocomplete": ("/api/v1/tickers/autocomplete", "tickers")}

    def ask(endpoint: str, q: str) -> list[str | None]:
        path, member = paths[endpoint]
        answer = client.get(path, query={"q": q})
        assert answer.status == 200, answer.json
        return [row.get("symbol", row.get("ticker")) for row in answer.json[member]]

    return ask


@run_each_case(
    "q, expected",
    [
        # Names that begin with it, the largest first, then names that contain it.
        ("apple", ["AAPL", "APLE", None, None, "LUCY"]),
        ("APPLE INC", ["AAPL"]),
        ("apple h", ["APLE"]),
        ("berkshire", ["BRK-B", "BHLB", None]),
        ("brk.b", ["BRK-B"]),
        ("gap", ["GAP", "GAPX"]),  # An exact ticker comes before a larger company's name.
        ("fb", ["FB"]),
        ("facebook", ["META"]),  # A former name.
        ("320193", ["AAPL"]),
        ("0001067983", ["BRK-B"]),
        ("%", []),
        ("_", []),
        ("nobody at all", []),
    ],
)
def test_search_returns_the_likely_company_first(
    first: Callable[[str, str], list[str | None]], q: str, expected: list[str | None]
) -> None:
    assert first("search", q) == expected


@run_each_case(
    "q, expected",
    [
        ("apple", ["AAPL", "APLE"]),
        ("berkshire", ["BRK-B", "BRK-A", "BHLB"]),
        ("gap", ["GAP", "GAPX"]),
        ("facebook", ["META"]),
        ("ap", ["APLE", "AAPL"]),  # Tickers that begin with it come before such names.
        ("1067983", ["BRK-B", "BRK-A"]),
        ("0000320193", ["AAPL"]),
        ("12345678901", []),
    ],
)
def test_autocomplete_matches_tickers_names_and_ciks(
    first: Callable[[str, str], list[str | None]], q: str, expected: list[str | None]
) -> None:
    assert first("autocomplete", q) == expected
