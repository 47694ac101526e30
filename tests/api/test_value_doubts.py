"""A single position of a 13F that is a thousand times off: it stays as filed and says what speaks against it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.holdings import doubts, store
from tests import thirteenf as made
from tests.api.test_form13f_api import MAPPING, SUBMISSIONS, TICKERS
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.holdings import submission, take

FUND = "/api/v1/form-13f/fund/1234567"
HIGH, LOW = "thousand_times_other_managers", "thousandth_of_other_managers"
# Apple is at 250, Microsoft at 500; Lamp holds one of the two a thousand times too high, or too low.
TOO_HIGH = [(made.APPLE, 2_500_000, 10), (made.MICROSOFT, 5_000, 10)]
TOO_LOW = [(made.APPLE, 2_500, 10), (made.MICROSOFT, 5_000, 10_000)]
RIGHT = [(made.APPLE, 2_500, 10), (made.MICROSOFT, 5_000, 10)]
OTHERS = [("0007654321", "Shade"), ("0007654322", "Wick"), ("0007654323", "Glass")]


def report(number: int, rows: Sequence[tuple[str, int, int]], cik: str = made.LAMP_FUND, **more: Any) -> bytes:
    return submission(number, ("09-30-2025", "2025-11-14", list(rows)), cik=cik, **more)


def others(count: int, rows: Sequence[tuple[str, int, int]] = RIGHT) -> list[bytes]:
    return [report(number, rows, cik, name=name) for number, (cik, name) in enumerate(OTHERS[:count], 2)]


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


def client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def doubted(api: Client, path: str = FUND) -> list[tuple[str, int, str | None, Any]]:
    answer = api.get(path)
    assert answer.status == 200, answer.body
    return [
        (row["cusip"], row["value_usd"], row["value_doubt"], row["others_price"]) for row in answer.json["holdings"]
    ]


@pytest.mark.parametrize(
    ("rows", "expected", "sums"),
    [
        (TOO_HIGH, [(made.APPLE, 2_500_000, HIGH, 250), (made.MICROSOFT, 5_000, None, None)], (1, 2_500_000)),
        (TOO_LOW, [(made.MICROSOFT, 5_000, LOW, 500), (made.APPLE, 2_500, None, None)], (1, 5_000)),
        (RIGHT, [(made.MICROSOFT, 5_000, None, None), (made.APPLE, 2_500, None, None)], (0, 0)),
    ],
)
def test_a_position_a_thousand_times_off_is_as_filed_and_says_so_in_any_order(
    make_app: Callable[..., App], tmp_path: Path, rows: Any, expected: Any, sums: tuple[int, int]
) -> None:
    for turn, order in enumerate(itertools.permutations([report(1, rows), *others(2)])):
        app = make_app(**ACCOUNTS)
        folder = tmp_path / str(turn)
        folder.mkdir()
        take(app, folder, *order)
        api = client(app)
        assert doubted(api) == expected
        answer = api.get(FUND).json
        assert (answer["meta"]["doubted_count"], answer["meta"]["doubted_value_usd"]) == sums
        assert answer["meta"]["total_value_usd"] == sum(row[1] for row in rows)
        assert not answer["filing"]["value_corrected"]
        assert {mark for *_, mark, _ in doubted(api, FUND.replace("1234567", "7654321"))} == {None}


def test_bulk_and_queries_say_so_too(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *others(2))
    api = client(app)
    (bulk,) = api.post("/api/v1/form-13f/fund/bulk?detail=full", {"ciks": ["1234567"]}).json["funds"]
    queried = api.post("/api/v1/form-13f/holdings", {"query": "cik:1234567"}).json
    for rows in (bulk["holdings"], queried["holdings"]):
        assert [(row["value_doubt"], row["others_price"]) for row in rows] == [(HIGH, 250), (None, None)]


def test_one_other_manager_or_none_decides_nothing(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH))
    api = client(app)
    assert {mark for *_, mark, _ in doubted(api)} == {None}
    take(app, tmp_path, *others(1))
    assert {mark for *_, mark, _ in doubted(api)} == {None}
    assert {mark for *_, mark, _ in doubted(api, FUND.replace("1234567", "7654321"))} == {None}


def test_managers_who_do_not_agree_decide_nothing(app: App, tmp_path: Path) -> None:
    second = report(3, [(made.APPLE, 2_500_000, 10), (made.MICROSOFT, 5_000, 10)], "0007654322", name="Wick")
    take(app, tmp_path, report(1, TOO_HIGH), *others(1), second, report(5, RIGHT, "0007654329", name="Ash"))
    assert {mark for *_, mark, _ in doubted(client(app))} == {None}


def test_options_are_not_compared(app: App, tmp_path: Path) -> None:
    put = made.row(made.APPLE, 2_500_000, 10, putCall="Put")
    take(app, tmp_path, report(1, RIGHT, extra=put), *others(2))
    rows = client(app).get(FUND + "?include_options=true").json["holdings"]
    assert [(row["put_call"], row["value_doubt"]) for row in rows] == [("Put", None), (None, None), (None, None)]


def test_a_split_within_the_quarter_or_soon_after_explains_it(app: App, tmp_path: Path) -> None:
    split = b"ticker,date,close,dividends,stock splits\nAAPL,2025-10-14,0.25,,1000\nAAPL,2025-10-15,0.25,,\n"
    take(app, tmp_path, TICKERS, SUBMISSIONS, MAPPING, report(1, TOO_HIGH), *others(2), split)
    assert {mark for *_, mark, _ in doubted(client(app))} == {None}


def test_a_price_that_is_held_clears_a_position_and_condemns_none(app: App, tmp_path: Path) -> None:
    names = (TICKERS, SUBMISSIONS, MAPPING)
    take(app, tmp_path, *names, report(1, TOO_HIGH), *others(2), b"ticker,date,close\nAAPL,2025-09-30,250000\n")
    api = client(app)
    assert {mark for *_, mark, _ in doubted(api)} == {None}
    take(app, tmp_path, b"ticker,date,close\nAAPL,2025-09-30,250\nAAPL,2025-10-01,250\n")
    assert doubted(api)[0] == (made.APPLE, 2_500_000, HIGH, 250)


def test_a_fund_that_amends_it_is_cleared(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *others(2))
    api = client(app)
    assert doubted(api)[0][2] == HIGH
    take(app, tmp_path, report(9, RIGHT, form="13F-HR/A", amendment=(1, "RESTATEMENT")))
    assert {mark for *_, mark, _ in doubted(api)} == {None}


def test_agreed_prices_are_made_in_portions_that_go_on_after_a_kill(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *others(2))
    with app.db.write() as tx:
        tx._connection.execute("UPDATE security_quarters SET price = NULL")
        tx._connection.execute("INSERT INTO securities_unpriced SELECT period, security_id FROM security_quarters")
    with app.db.write() as tx:
        assert doubts.settle_portion(tx, 1)
    # Killed here; the next ingest goes on.
    take(app, tmp_path, TICKERS)
    assert doubted(client(app))[0][2:] == (HIGH, 250)
    with app.db.write() as tx:
        assert not doubts.settle_portion(tx, 1)


def test_one_position_beside_others_that_nobody_else_holds_does_not_turn_the_table(app: App, tmp_path: Path) -> None:
    alone = [(made.APPLE, 2_500_000, 10), (made.ALLY, 400, 10), (made.MICROSOFT, 5_000, 10)]
    take(app, tmp_path, report(1, alone), *others(2, [(made.APPLE, 2_500, 10)]))
    assert doubted(client(app))[0] == (made.APPLE, 2_500_000, HIGH, 250)
    assert store.MOST_COMPARED > 1
