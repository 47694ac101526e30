"""Doubtful values: a position that is a thousand times off is served as filed, with the evidence against it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from finapi import server
from finapi.accounts import users
from finapi.app import App
from finapi.market.holdings import holdings_store, value_doubts
from finapi.ops import proof
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support import thirteenf_xml
from tests.support.fund_filings import submission, take
from tests.support.raw_sql import run_sql
from tests.support.thirteenf_xml import ALLY, APPLE, LAMP_FUND, MICROSOFT
from tests.web.holdings.test_form13f_api import MAPPING, SUBMISSIONS, TICKERS

FUND = "/api/v1/form-13f/fund/1234567"
HIGH, LOW = "thousand_times_other_managers", "thousandth_of_other_managers"
# Apple is at 250, Microsoft at 500; Lamp holds one of the two a thousand times too high, or too low.
TOO_HIGH = [(APPLE, 2_500_000, 10), (MICROSOFT, 5_000, 10)]
TOO_LOW = [(APPLE, 2_500, 10), (MICROSOFT, 5_000, 10_000)]
RIGHT = [(APPLE, 2_500, 10), (MICROSOFT, 5_000, 10)]
OTHERS = [("0007654321", "Shade"), ("0007654322", "Wick"), ("0007654323", "Glass")]


def report(number: int, rows: Sequence[tuple[str, int, int]], cik: str = LAMP_FUND, **cover: Any) -> bytes:
    return submission(number, ("09-30-2025", "2025-11-14", list(rows)), cik=cik, **cover)


def other_reports(count: int, rows: Sequence[tuple[str, int, int]] = RIGHT) -> list[bytes]:
    return [report(number, rows, cik, name=name) for number, (cik, name) in enumerate(OTHERS[:count], 2)]


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


def client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def list_doubts(api: Client, path: str = FUND) -> list[tuple[str, int, str | None, Any]]:
    answer = api.get(path)
    assert answer.status == 200, answer.body
    return [
        (row["cusip"], row["value_usd"], row["value_doubt"], row["others_price"]) for row in answer.json["holdings"]
    ]


@pytest.mark.parametrize(
    ("rows", "expected", "sums"),
    [
        (
            TOO_HIGH,
            [(APPLE, 2_500_000, HIGH, 250), (MICROSOFT, 5_000, None, None)],
            (1, 2_500_000),
        ),
        (TOO_LOW, [(MICROSOFT, 5_000, LOW, 500), (APPLE, 2_500, None, None)], (1, 5_000)),
        (RIGHT, [(MICROSOFT, 5_000, None, None), (APPLE, 2_500, None, None)], (0, 0)),
    ],
)
def test_a_doubtful_value_is_served_as_filed_and_marked(
    make_app: Callable[..., App], tmp_path: Path, rows: Any, expected: Any, sums: tuple[int, int]
) -> None:
    for turn, order in enumerate(itertools.permutations([report(1, rows), *other_reports(2)])):
        app = make_app(**ACCOUNTS)
        folder = tmp_path / str(turn)
        folder.mkdir()
        take(app, folder, *order)
        api = client(app)
        assert list_doubts(api) == expected
        answer = api.get(FUND).json
        assert (answer["meta"]["doubted_count"], answer["meta"]["doubted_value_usd"]) == sums
        assert answer["meta"]["total_value_usd"] == sum(row[1] for row in rows)
        assert not answer["filing"]["value_corrected"]
        assert {mark for *_, mark, _ in list_doubts(api, FUND.replace("1234567", "7654321"))} == {None}


def test_bulk_and_queries_mark_doubtful_values(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(2))
    api = client(app)
    (bulk,) = api.post("/api/v1/form-13f/fund/bulk?detail=full", {"ciks": ["1234567"]}).json["funds"]
    queried = api.post("/api/v1/form-13f/holdings", {"query": "cik:1234567"}).json
    for rows in (bulk["holdings"], queried["holdings"]):
        assert [(row["value_doubt"], row["others_price"]) for row in rows] == [(HIGH, 250), (None, None)]


def test_one_other_manager_causes_no_doubt(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH))
    api = client(app)
    assert {mark for *_, mark, _ in list_doubts(api)} == {None}
    take(app, tmp_path, *other_reports(1))
    assert {mark for *_, mark, _ in list_doubts(api)} == {None}
    assert {mark for *_, mark, _ in list_doubts(api, FUND.replace("1234567", "7654321"))} == {None}


def test_divided_managers_cause_no_doubt(app: App, tmp_path: Path) -> None:
    second = report(3, [(APPLE, 2_500_000, 10), (MICROSOFT, 5_000, 10)], "0007654322", name="Wick")
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(1), second, report(5, RIGHT, "0007654329", name="Ash"))
    assert {mark for *_, mark, _ in list_doubts(client(app))} == {None}


def test_options_are_not_compared(app: App, tmp_path: Path) -> None:
    put = thirteenf_xml.row(APPLE, 2_500_000, 10, putCall="Put")
    take(app, tmp_path, report(1, RIGHT, extra=put), *other_reports(2))
    rows = client(app).get(FUND + "?include_options=true").json["holdings"]
    assert [(row["put_call"], row["value_doubt"]) for row in rows] == [("Put", None), (None, None), (None, None)]


def test_a_split_near_the_quarter_end_explains_a_difference(app: App, tmp_path: Path) -> None:
    split = b"ticker,date,close,dividends,stock splits\nAAPL,2025-10-14,0.25,,1000\nAAPL,2025-10-15,0.25,,\n"
    take(app, tmp_path, TICKERS, SUBMISSIONS, MAPPING, report(1, TOO_HIGH), *other_reports(2), split)
    assert {mark for *_, mark, _ in list_doubts(client(app))} == {None}


def test_a_stored_close_clears_a_doubt_and_causes_none(app: App, tmp_path: Path) -> None:
    names = (TICKERS, SUBMISSIONS, MAPPING)
    take(app, tmp_path, *names, report(1, TOO_HIGH), *other_reports(2), b"ticker,date,close\nAAPL,2025-09-30,250000\n")
    api = client(app)
    assert {mark for *_, mark, _ in list_doubts(api)} == {None}
    take(app, tmp_path, b"ticker,date,close\nAAPL,2025-09-30,250\nAAPL,2025-10-01,250\n")
    assert list_doubts(api)[0] == (APPLE, 2_500_000, HIGH, 250)


def test_an_amendment_clears_a_doubt(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(2))
    api = client(app)
    assert list_doubts(api)[0][2] == HIGH
    take(app, tmp_path, report(9, RIGHT, form="13F-HR/A", amendment=(1, "RESTATEMENT")))
    assert {mark for *_, mark, _ in list_doubts(api)} == {None}


def test_agreed_prices_are_computed_in_portions_after_a_kill(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(2))
    with app.db.write() as tx:
        run_sql(tx, "UPDATE security_quarters SET price = NULL")
        run_sql(tx, "INSERT INTO securities_unpriced SELECT period, security_id FROM security_quarters")
    with app.db.write() as tx:
        assert value_doubts.recompute_portion(tx, 1)
    # Killed here; the next ingest goes on.
    take(app, tmp_path, TICKERS)
    assert list_doubts(client(app))[0][2:] == (HIGH, 250)
    with app.db.write() as tx:
        assert not value_doubts.recompute_portion(tx, 1)


def test_a_server_completes_comparisons_of_an_ingest(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(2))
    with app.db.write() as tx:
        run_sql(tx, "DELETE FROM positions_far_off")
        run_sql(tx, "INSERT INTO fund_quarters_uncompared SELECT DISTINCT cik, period FROM positions")
        tx.run("bump_data_version")
    api = client(app)
    assert list_doubts(api)[0][2:] == (None, None)
    while server._holdings_step(app) < server.HOLDINGS_INTERVAL_SECONDS:
        pass
    assert list_doubts(api)[0][2:] == (HIGH, 250)


def test_one_doubtful_position_does_not_change_the_unit(app: App, tmp_path: Path) -> None:
    alone = [(APPLE, 2_500_000, 10), (ALLY, 400, 10), (MICROSOFT, 5_000, 10)]
    take(app, tmp_path, report(1, alone), *other_reports(2, [(APPLE, 2_500, 10)]))
    assert list_doubts(client(app))[0] == (APPLE, 2_500_000, HIGH, 250)
    assert holdings_store.MAX_COMPARED_POSITIONS > 1


# ---- sums over funds: as filed, with what of it is doubted

MANAGERS = [(LAMP_FUND, "Lamp"), *OTHERS[:2]]
QUARTERS = ("06-30-2025", "2025-08-14"), ("09-30-2025", "2025-11-14"), ("12-31-2025", "2026-01-15")
# Lamp doubles Apple in September, with a value that is 1,000 times too high, and sells it before December.
LAMPS = [
    RIGHT,
    [(APPLE, 5_000_000, 20), (MICROSOFT, 5_000, 10)],
    [(MICROSOFT, 5_000, 10)],
]
SEPTEMBER, DECEMBER = "2025-09-30", "2025-12-31"


@pytest.fixture(scope="module")
def stored_thrice(make_stored: Callable[..., App], tmp_path_factory: pytest.TempPathFactory) -> App:
    """Store three managers with three quarters; the only doubtful value is that of Lamp's Apple in September."""
    reports = [
        submission(10 * quarter + fund, (*ends, LAMPS[quarter] if fund == 0 else RIGHT), cik=cik, name=name)
        for quarter, ends in enumerate(QUARTERS)
        for fund, (cik, name) in enumerate(MANAGERS)
    ]
    app = make_stored(**ACCOUNTS)
    take(app, tmp_path_factory.mktemp("forms"), TICKERS, SUBMISSIONS, MAPPING, *reports)
    return app


@pytest.fixture
def thrice(copied: Callable[..., App], stored_thrice: App) -> Client:
    return client(copied(stored_thrice, **ACCOUNTS))


def get_json(api: Client, path: str) -> Any:
    answer = api.get("/api/v1" + path)
    assert answer.status == 200, answer.body
    return answer.json


def select_members(row: Any, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


DOUBTS = ("doubted_count", "doubted_value", "doubted_flow")


def test_holders_mark_doubtful_values_and_their_sum(thrice: Client) -> None:
    answer = get_json(thrice, f"/tickers/AAPL/holders?period={SEPTEMBER}&quarters=2")["data"]
    assert select_members(answer, "total_value", "doubted_count", "doubted_value") == (5_005_000, 1, 5_000_000)
    assert [select_members(row, "value", "value_doubt", "others_price") for row in answer["holders"]] == [
        (5_000_000, HIGH, 250),
        (2_500, None, None),
        (2_500, None, None),
    ]
    assert [
        select_members(row, "period", "value_doubt", "others_price") for row in answer["holders"][0]["history"]
    ] == [
        (SEPTEMBER, HIGH, 250),
        ("2025-06-30", None, None),
    ]
    searched = get_json(thrice, f"/form-13f/holdings/search?q=AAPL&period={SEPTEMBER}&limit=1")
    assert select_members(searched["holders"][0], "value_doubt", "others_price") == (HIGH, 250)
    assert select_members(searched["meta"], "doubted_count", "doubted_value") == (1, 5_000_000)
    later = get_json(thrice, f"/tickers/AAPL/holders?period={DECEMBER}")["data"]
    assert select_members(later, "total_value", "doubted_count", "doubted_value") == (5_000, 0, 0)


def test_a_trend_marks_quarters_with_doubtful_sums(thrice: Client) -> None:
    rows = get_json(thrice, "/tickers/AAPL/fund-trends")["data"]["quarters"]
    assert [select_members(row, "date", "total_value", "doubted_count", "doubted_value") for row in rows] == [
        (DECEMBER, 5_000, 0, 0),
        (SEPTEMBER, 5_005_000, 1, 5_000_000),
        ("2025-06-30", 7_500, 0, 0),
    ]
    history = get_json(thrice, f"/form-13f/fund/1234567/cusip/{APPLE}/history")["history"]
    assert [select_members(row, "quarter_date", "value_doubt") for row in history] == [
        (DECEMBER, None),
        (SEPTEMBER, HIGH),
        ("2025-06-30", None),
    ]


def test_moves_mark_doubtful_current_and_previous_values(thrice: Client) -> None:
    names = ("cusip", "flow_usd", "value_doubt", "others_price", "previous_value_doubt")
    (grown,) = get_json(thrice, f"/form-13f/moves?period={SEPTEMBER}&status=increased")["moves"]
    assert select_members(grown, *names) == (APPLE, 2_500_000, HIGH, 250, None)
    (closed,) = get_json(thrice, f"/form-13f/moves?period={DECEMBER}&status=closed&cik=1234567")["moves"]
    assert select_members(closed, *names) == (APPLE, -5_000_000, None, None, HIGH)
    activity = get_json(thrice, FUND.removeprefix("/api/v1") + f"?period={SEPTEMBER}&include_activity=true")["analysis"]
    assert [select_members(row, "cusip", "value_doubt") for row in activity["increased"]] == [(APPLE, HIGH)]


def test_overlap_marks_the_doubtful_value_of_each_fund(thrice: Client) -> None:
    answer = get_json(thrice, f"/form-13f/overlap?ciks=7654321,1234567&period={SEPTEMBER}")["positions"]
    assert [select_members(row, "cusip", "value_doubt", "other_value_doubt", "others_price") for row in answer] == [
        (APPLE, None, HIGH, 250),
        (MICROSOFT, None, None, None),
    ]


def test_security_sums_state_doubtful_value_and_flow(thrice: Client) -> None:
    path = "/form-13f/aggregation/by-ticker?search=AAPL&quarter="
    answer = get_json(thrice, path + SEPTEMBER)["data"]
    assert select_members(answer["tickers"][0], "total_value", "fund_flow", *DOUBTS) == (
        5_005_000,
        2_500_000,
        1,
        5_000_000,
        2_500_000,
    )
    assert answer["volume"] == {"buy": 2_500_000, "sell": 0, "doubted_buy": 2_500_000, "doubted_sell": 0}
    assert select_members(answer, "doubted_count", "doubted_value") == (1, 5_000_000)
    # A doubtful position that is sold moves its doubtful value.
    answer = get_json(thrice, path + DECEMBER)["data"]
    assert select_members(answer["tickers"][0], "total_value", "fund_flow", *DOUBTS) == (
        5_000,
        -5_000_000,
        1,
        0,
        -5_000_000,
    )
    assert answer["volume"] == {"buy": 0, "sell": 5_000_000, "doubted_buy": 0, "doubted_sell": 5_000_000}
    other = get_json(thrice, path.replace("AAPL", "MSFT") + SEPTEMBER)["data"]["tickers"][0]
    assert select_members(other, "total_value", *DOUBTS) == (15_000, 0, 0, 0)


def test_sectors_and_industries_state_doubtful_parts(thrice: Client) -> None:
    path = f"?quarter={SEPTEMBER}"
    sectors = get_json(thrice, "/form-13f/aggregation/by-sector" + path)["data"]
    (sector,) = sectors["sectors"]
    (industry,) = get_json(thrice, "/form-13f/aggregation/by-industry" + path)["data"]["industries"]
    inflow = sector["industries"]["inflows"][0]
    for group in (sectors, sector, inflow, industry, industry["sector"]):
        assert select_members(group, *DOUBTS) == (1, 5_000_000, 2_500_000)
    assert select_members(inflow["top_movers"][0], "cusip", "fund_flow", "doubted_count") == (APPLE, 2_500_000, 1)
    buckets = get_json(thrice, "/form-13f/market-rotation" + path)["data"]["sector_buckets"]
    assert select_members(buckets["growth"], "bought", *DOUBTS) == (2_500_000, 1, 5_000_000, 2_500_000)
    assert select_members(buckets["defensive"], *DOUBTS) == (0, 0, 0)


def test_baskets_state_the_doubtful_part_of_both_quarters(thrice: Client) -> None:
    path = "/form-13f/aggregation/basket-holdings?ciks=1234567,7654321&period="
    names = ("cusip", "value_usd", "doubted_count", "doubted_value_usd", "doubted_prev_value_usd")
    answer = get_json(thrice, path + SEPTEMBER)
    assert [select_members(row, *names) for row in answer["positions"]] == [
        (APPLE, 5_002_500, 1, 5_000_000, 0),
        (MICROSOFT, 10_000, 0, 0, 0),
    ]
    assert select_members(answer["totals"], "total_value_usd", "doubted_count", "doubted_value_usd") == (
        5_012_500,
        1,
        5_000_000,
    )
    answer = get_json(thrice, path + DECEMBER)
    assert [select_members(row, *names) for row in answer["positions"]] == [
        (MICROSOFT, 10_000, 0, 0, 0),
        (APPLE, 2_500, 0, 0, 5_000_000),
    ]


def test_results_from_doubtful_values_are_marked(thrice: Client) -> None:
    rows = get_json(thrice, f"/form-13f/fund-performance?quarter={DECEMBER}&include_all=true&sort_by=portfolio_value")
    assert [
        select_members(row, "portfolio_value", "doubted_count", "doubted_value") for row in rows["data"]["leaderboard"]
    ] == [
        (5_005_000, 1, 5_000_000),
        (7_500, 0, 0),
        (7_500, 0, 0),
    ]
    allocation = get_json(thrice, f"/form-13f/fund/1234567?period={SEPTEMBER}&include_analytics=true")
    assert [
        select_members(row, "sector", "doubted_count", "doubted_value_usd") for row in allocation["sector_allocation"]
    ] == [
        ("Manufacturing", 1, 5_000_000),
        (None, 0, 0),
    ]


def test_new_prices_and_amendments_clear_doubtful_sums(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, TICKERS, SUBMISSIONS, MAPPING, report(1, TOO_HIGH), *other_reports(2))
    path = f"/form-13f/aggregation/by-ticker?search=AAPL&quarter={SEPTEMBER}"
    api = client(app)
    assert select_members(get_json(api, path)["data"]["tickers"][0], *DOUBTS) == (1, 2_500_000, 0)
    # Two more who agree with Lamp: neither price is that of most any more, and nothing is doubted.
    more_reports = [report(7, TOO_HIGH, "0007654328", name="Elm"), report(8, TOO_HIGH, "0007654329", name="Ash")]
    take(app, tmp_path, more_reports[0])
    assert select_members(get_json(api, path)["data"]["tickers"][0], *DOUBTS) == (0, 0, 0)
    # A third: now the others are doubted.
    take(app, tmp_path, more_reports[1])
    assert select_members(get_json(api, path)["data"]["tickers"][0], *DOUBTS) == (2, 5_000, 0)
    right = report(9, RIGHT, "0007654328", name="Elm", form="13F-HR/A", amendment=(1, "RESTATEMENT"))
    take(app, tmp_path, right, report(10, RIGHT, "0007654327", name="Fir"))
    assert select_members(get_json(api, path)["data"]["tickers"][0], *DOUBTS) == (2, 5_000_000, 0)


# ---- stored sums


def find_stored_sums(app: App) -> dict[str, bool]:
    with app.db.read() as tx:
        rows = run_sql(tx, "SELECT period, sums IS NOT NULL FROM group_sums ORDER BY period").fetchall()
    return {row[0]: bool(row[1]) for row in rows}


def test_stored_and_computed_group_sums_are_equal(thrice: Client) -> None:
    app = thrice.app
    assert find_stored_sums(app) == dict.fromkeys(("2025-06-30", SEPTEMBER, DECEMBER), True)
    paths = [
        f"/form-13f/aggregation/{grouping}?quarter={SEPTEMBER}&compare=prev"
        for grouping in ("by-sector", "by-industry")
    ]
    before = [get_json(thrice, path)["data"] for path in paths]
    with app.db.write() as tx:
        run_sql(tx, "UPDATE group_sums SET sums = NULL")
        tx.run("bump_data_version")
    assert [get_json(thrice, path)["data"] for path in paths] == before


def test_check_finds_wrong_sums_and_doubts(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report(1, TOO_HIGH), *other_reports(2), TICKERS)

    def problems() -> list[str]:
        return proof.check_database(app.db, app.config)["problems"]

    assert problems() == []
    with app.db.write() as tx:
        run_sql(tx, "UPDATE group_sums SET sums = replace(sums, '\"total_value\": ', '\"total_value\": 1')")
    sums = f"sums by sector and industry of {SEPTEMBER}: are not those of its positions"
    assert problems() == [sums]
    with app.db.write() as tx:
        run = tx._connection.execute
        run("UPDATE positions_far_off SET cik = (SELECT max(cik) FROM positions)")
        wrong = [
            f"doubts of fund {row[0]} on {SEPTEMBER}: 1 position was compared otherwise"
            for row in run(
                "SELECT DISTINCT cik FROM positions WHERE cik IN (?, (SELECT max(cik) FROM positions)) ORDER BY cik",
                (int(LAMP_FUND),),
            )
        ]
    assert len(wrong) == 2
    assert problems() == [*wrong, sums]
    # Quarters that are due for comparison or summing are not reported as errors.
    with app.db.write() as tx:
        run_sql(tx, "INSERT INTO fund_quarters_uncompared SELECT cik, period FROM fund_quarters")
        run_sql(tx, "UPDATE group_sums SET sums = NULL")
    assert problems() == []


def test_a_changed_industry_changes_the_stored_sums(thrice: Client, tmp_path: Path) -> None:
    app = thrice.app
    path = f"/form-13f/aggregation/by-industry?quarter={SEPTEMBER}"
    assert [row["industry"] for row in get_json(thrice, path)["data"]["industries"]] == [
        "Machinery and Computer Equipment"
    ]
    take(app, tmp_path, SUBMISSIONS.replace(b'"3571"', b'"7372"'))
    assert [row["industry"] for row in get_json(thrice, path)["data"]["industries"]] == [
        "Business Services and Software"
    ]
    assert find_stored_sums(app) == dict.fromkeys(("2025-06-30", SEPTEMBER, DECEMBER), True)


def test_a_later_report_changes_the_stored_sums(thrice: Client, tmp_path: Path) -> None:
    app = thrice.app
    path = f"/form-13f/aggregation/by-industry?quarter={SEPTEMBER}"
    take(app, tmp_path, report(40, [(APPLE, 1_000, 4)], "0007654329", name="Ash"))
    (row,) = get_json(thrice, path)["data"]["industries"]
    assert select_members(row, "total_value", "unique_fund_count", "cusip_count") == (5_006_000, 4, 1)
