"""The calls of docs/COOKBOOK.md, answered from a small invented market with known figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import ownership_forms, submissions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.filings import lists
from finapi.market.insiders import insider_store
from finapi.market.prices import price_csv, price_store
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import thirteenf_xml as made
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import submission, take
from tests.support.insider_market import build_filing_list
from tests.support.ownership_xml import ANN, BEN, form, owner, transaction
from tests.web.holdings.test_form13f_api import MAPPING, SUBMISSIONS, TICKERS

BOOK = (Path(__file__).parents[2] / "docs" / "COOKBOOK.md").read_text(encoding="utf-8")
CALLS = re.findall(r"^    GET (\S+)$", BOOK, flags=re.MULTILINE)
APPLE = ("0000320193", "Apple Inc.", "AAPL")
BROOK_LIST = build_filing_list().decode().replace('"cik": "1234567"', '"cik": "320193", "sic": "3571"')
FILING_LIST = (
    BROOK_LIST.replace("0001234567", "0000320193").replace("Brook Lamps", "Apple").replace("2026-01-2", "2025-11-2")
)


DECEMBER = ("12-31-2025", "2026-02-14")
MARCH = ("03-31-2026", "2026-05-15")


@pytest.fixture(scope="module")
def api(make_stored: Callable[..., App], tmp_path_factory: pytest.TempPathFactory) -> Client:
    """Return a client of a market that the calls only read."""
    app = make_stored(**ACCOUNTS, insider_per_minute_paid=1000)
    berkshire = {"cik": "0001067983", "name": "Berkshire", "managers": ["Wick LLC"]}
    metlife = {"cik": "0001099219", "name": "MetLife"}
    funds = [
        submission(1, (*DECEMBER, [(made.APPLE, 2_500, 10), (made.MICROSOFT, 5_000, 10)]), **berkshire),
        submission(2, (*MARCH, [(made.APPLE, 3_750, 15), (made.MICROSOFT, 2_500, 5)]), **berkshire),
        submission(3, (*DECEMBER, [(made.ALLY, 400, 10)]), **metlife),
        submission(4, (*MARCH, [(made.APPLE, 250, 1)]), **metlife),
    ]
    take(app, tmp_path_factory.mktemp("forms"), TICKERS, SUBMISSIONS, MAPPING, *funds)
    bought = transaction("P", "1000", "150", date="2025-11-10", after="2000")
    sold = transaction("S", "10", "151", date="2025-11-11", after="990")
    with app.db.write() as tx:
        for number, (row, person) in enumerate(
            [
                (bought, owner(ANN, title="Chief Executive Officer")),
                (transaction("P", "10", "150", date="2025-11-12", after="20"), owner(BEN, flags="director")),
                (sold, owner(ANN, title="Chief Executive Officer")),
            ],
            1,
        ):
            accession = f"0000320193-25-{number:06}"
            document = ownership_forms.parse(form(row, period="2025-11-10", owners=(person,), issuer=APPLE), accession)
            insider_store.upsert_form(
                tx, document, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=f"2025-11-1{number + 2}"), NOW
            )
        lists.upsert_submissions(tx, submissions.parse_company(FILING_LIST.encode(), "f"), NOW)
        closes = b"Date,Close\n2025-11-10,100\n2025-11-11,103\n"
        price_store.upsert(tx, price_csv.parse(closes, "prices.csv", "prices.csv"), closes, "AAPL")
        tx.run("bump_data_version")
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def select_columns(rows: list[dict[str, Any]], *names: str) -> list[list[Any]]:
    return [[row[name] for name in names] for row in rows]


def list_trade_values(answer: Any) -> list[Any]:
    return [row["transaction_value"] for row in answer["data"]]


def list_moves(answer: Any) -> list[list[Any]]:
    return select_columns(answer["moves"], "fund", "ticker", "flow_usd", "previous_value_usd", "pct_of_portfolio")


# A value of each answer, in the order of the book.
ANSWERS: list[Callable[[Any], bool]] = [
    lambda answer: list_trade_values(answer) == [1500, 150_000],
    lambda answer: list_trade_values(answer) == [150_000],
    lambda answer: [answer["data"][0]["outcome"][name] for name in ("return_1d", "days_to_earnings")] == [0.03, 17],
    lambda answer: select_columns(answer["data"], "percent_of_holding") == [[100], [100]],
    lambda answer: list_trade_values(answer) == [150_000, 1500],
    lambda answer: list_trade_values(answer) == [1510],
    lambda answer: list_trade_values(answer) == [1510],
    lambda answer: select_columns(answer, "ticker", "insider_count", "total_value") == [["AAPL", 2, 151_500]],
    lambda answer: select_columns(answer, "cluster_type", "insider_count") == [["buy", 2]],
    lambda answer: (
        select_columns(answer["data"], "group", "buy_value", "sell_value") == [["Manufacturing", 151_500, 1510]]
    ),
    lambda answer: list_moves(answer) == [["MetLife", "AAPL", 250, 0, 100]],
    lambda answer: list_moves(answer) == [["MetLife", None, -400, 400, 0]],
    lambda answer: list_moves(answer) == [["Berkshire", "AAPL", 1250, 2500, 60]],
    lambda answer: list_moves(answer) == [["Berkshire", "MSFT", -2500, 5000, 40]],
    lambda answer: select_columns(answer["holdings"], "ticker", "pct_of_portfolio") == [["AAPL", 60], ["MSFT", 40]],
    lambda answer: [answer["overlap_pct"], *select_columns(answer["positions"], "ticker")] == [60, ["AAPL"]],
    lambda answer: select_columns(answer["data"]["holders"], "cik") == [["0001099219"]],
]


@run_each_case("path, answers", list(zip(CALLS, ANSWERS, strict=True)))
def test_the_cookbook_call_returns_its_answer(api: Client, path: str, answers: Callable[[Any], bool]) -> None:
    answer = api.get(path)
    assert answer.status == 200, answer.body
    assert answers(answer.json), answer.json
