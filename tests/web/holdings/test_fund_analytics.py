"""Analytics of 13F reports: costs and gains, returns over a quarter, rotation, and cross signals with insiders."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import ownership_forms
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.holdings import cost_basis, fund_returns
from finapi.market.holdings.signals import MIN_SIGNAL_RATIO
from finapi.market.insiders import insider_store
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import ACCOUNTS, NOW
from tests.support.fund_filings import submission, take
from tests.support.ownership_xml import ANN, BEN, form, owner, transaction
from tests.support.raw_sql import run_sql
from tests.support.thirteenf_xml import ALLY, APPLE, MICROSOFT, OTHER_FUND
from tests.web.holdings.test_form13f_api import MAPPING, SUBMISSIONS, TICKERS

API = "/api/v1/form-13f"
SHAPES = {route.path: route.schema for route in ROUTES if route.shape is not None}

# Lamp: Microsoft is opened at 500, raised by ten at 600 and cut to a quarter; Apple was there before the reports.
MARCH = ("03-31-2025", "2025-05-14", [(APPLE, 2_000, 10)])
JUNE = ("06-30-2025", "2025-08-14", [(APPLE, 2_500, 10), (MICROSOFT, 5_000, 10)])
SEPTEMBER = ("09-30-2025", "2025-11-14", [(APPLE, 3_750, 15), (MICROSOFT, 12_000, 20)])
DECEMBER = ("12-31-2025", "2026-01-20", [(APPLE, 3_000, 15), (MICROSOFT, 3_300, 5)])
LAMP = [submission(number, quarter) for number, quarter in enumerate((MARCH, JUNE, SEPTEMBER, DECEMBER), 1)]
SHADE = {"cik": OTHER_FUND, "name": "Shade Partners"}
# Shade holds Ally, which has no price, for nine tenths of its dollars.
OTHERS = [
    submission(5, ("09-30-2025", "2025-11-12", [(APPLE, 250, 1), (ALLY, 2_250, 50)]), **SHADE),
    submission(6, ("12-31-2025", "2026-01-21", [(APPLE, 2_000, 10), (ALLY, 2_250, 50)]), **SHADE),
]
PRICES = b"""ticker,date,close,dividends,stock splits
MSFT,2025-09-30,600,,
MSFT,2025-12-31,660,,
AAPL,2025-09-30,250,,
AAPL,2025-12-30,200,,
"""
NAMES = (TICKERS, SUBMISSIONS, MAPPING)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS)


def client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


@pytest.fixture
def api(app: App, tmp_path: Path) -> Client:
    take(app, tmp_path, *NAMES, *LAMP, *OTHERS, PRICES)
    return client(app)


def get_valid_json(api: Client, path: str) -> Any:
    answer = api.get(API + path)
    assert answer.status == 200, answer.body
    shape = "/fund/{cik}/holdings-analytics" if path.startswith("/fund/") else path.partition("?")[0]
    Draft202012Validator(SHAPES[API + shape]).validate(answer.json)
    return answer.json


def select_columns(rows: list[dict[str, Any]], *names: str) -> list[list[Any]]:
    return [[row[name] for name in names] for row in rows]


# ---- costs


def test_shares_cost_their_first_reported_value(api: Client) -> None:
    answer = get_valid_json(api, "/fund/1234567/holdings-analytics")
    microsoft, apple = answer["holdings"]
    # 10 at 500 and 10 at 600; three quarters of them were sold.
    columns = ("cost_basis", "avg_buy_price", "market_value", "unrealized_pnl", "unrealized_pnl_pct")
    assert [microsoft[name] for name in columns] == [2_750, 550, 3_300, 550, 20]
    columns = ("first_added", "holding_period_days", "holding_period_quarters", "last_transaction_quarter")
    assert [microsoft[name] for name in columns] == ["2025-06-30", 184, 2, "2025-12-31"]
    assert (microsoft["last_share_delta"], microsoft["sector"], microsoft["reason"]) == (-15, None, None)
    assert (apple["last_share_delta"], apple["last_transaction_quarter"]) == (5, "2025-09-30")
    assert (apple["sector"], apple["cost_basis"], apple["reason"]) == (
        "Manufacturing",
        None,
        "opened_before_the_reports_held",
    )


def test_sums_state_the_part_with_known_costs(api: Client) -> None:
    assert get_valid_json(api, "/fund/1234567/holdings-analytics")["summary"] == {
        "total_cost_basis": 2_750,
        "total_market_value": 6_300,
        "total_unrealized_pnl": 550,
        "total_unrealized_pnl_pct": 20,
        "avg_holding_period_days": 184,
        "cost_coverage_pct": 52.381,
        "costed_count": 1,
        "close_price_count": 0,
    }


def test_unknown_costs_are_null(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, LAMP[0])
    summary = get_valid_json(client(app), "/fund/1234567/holdings-analytics")["summary"]
    unknown = ("total_cost_basis", "total_unrealized_pnl", "total_unrealized_pnl_pct", "avg_holding_period_days")
    assert [summary[name] for name in unknown] == [None] * 4
    assert (summary["total_market_value"], summary["cost_coverage_pct"]) == (2_000, 0)


def test_an_incomplete_table_has_no_costs_with_a_reason(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP[:3], submission(4, DECEMBER, entries=90))
    answer = get_valid_json(client(app), "/fund/1234567/holdings-analytics")
    assert select_columns(answer["holdings"], "cost_basis", "reason") == [[None, "quarter_incomplete"]] * 2
    assert answer["meta"]["changes"]["reason"] == "quarter_incomplete"


def test_costs_that_are_not_computed_yet_have_a_reason(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP)
    with app.db.write() as tx:
        # As a migration and an ingest that was killed leave it.
        tx.run("upsert_uncounted_fund", cik=1234567, period="2025-03-31")
    rows = get_valid_json(client(app), "/fund/1234567/holdings-analytics")["holdings"]
    assert select_columns(rows, "cost_basis", "reason") == [[2_750, None], [None, "counted_with_the_next_ingest"]]


def test_later_closes_and_splits_count(app: App, tmp_path: Path) -> None:
    later = PRICES + b"MSFT,2026-01-15,350,,2\nMSFT,2026-01-16,360,,\n"
    take(app, tmp_path, *NAMES, *LAMP, later)
    microsoft = get_valid_json(client(app), "/fund/1234567/holdings-analytics?sort_by=ticker")["holdings"][0]
    columns = ("shares", "shares_raw", "split_factor", "current_price", "price_source", "price_date", "market_value")
    assert [microsoft[name] for name in columns] == [10, 5, 2, 360, "close", "2026-01-16", 3_600]
    assert (microsoft["avg_buy_price"], microsoft["unrealized_pnl"]) == (275, 850)


@pytest.mark.slow
def test_the_order_of_reports_does_not_change_costs(make_app: Callable[..., App], tmp_path: Path) -> None:
    stored_costs = []
    for turn, order in enumerate(itertools.permutations(LAMP)):
        app = make_app(**ACCOUNTS)
        folder = tmp_path / str(turn)
        folder.mkdir()
        take(app, folder, *NAMES, PRICES, *order)
        api = client(app)
        stored_costs.append(
            [
                get_valid_json(api, path)["data" if "perf" in path else "holdings"]
                for path in (
                    "/fund/1234567/holdings-analytics",
                    "/fund-performance?quarter=2025-12-31&include_all=true",
                )
            ]
        )
    assert all(quarter == stored_costs[0] for quarter in stored_costs)
    assert stored_costs[0][0][0]["cost_basis"] == 2_750


def test_an_amendment_changes_the_costs_of_later_quarters(app: App, tmp_path: Path) -> None:
    restated = ("06-30-2025", "2026-01-05", [(APPLE, 2_500, 10), (MICROSOFT, 4_000, 10)])
    amendment = submission(9, restated, form="13F-HR/A", amendment=(1, "RESTATEMENT"))
    take(app, tmp_path, *NAMES, *LAMP, amendment)
    microsoft = get_valid_json(client(app), "/fund/1234567/holdings-analytics")["holdings"][0]
    assert microsoft["cost_basis"] == 2_500  # of 4,000 and 6,000 dollars a quarter


def test_costs_are_sorted_and_paged(api: Client) -> None:
    path = "/fund/1234567/holdings-analytics?sort_by=cost_basis&order=asc"
    assert select_columns(get_valid_json(api, path)["holdings"], "ticker") == [
        ["MSFT"],
        ["AAPL"],
    ]  # The unknown cost comes last.
    page = get_valid_json(api, path + "&limit=1&offset=1")
    assert (select_columns(page["holdings"], "ticker"), page["meta"]["pagination"]["has_more"]) == ([["AAPL"]], False)
    assert api.get(f"{API}/fund/1234567/holdings-analytics?sort_by=colour").json["details"]["param"] == "sort_by"
    assert api.get(f"{API}/fund/77/holdings-analytics").status == 404


# ---- returns


def test_funds_are_ranked_by_return(api: Client) -> None:
    answer = get_valid_json(api, "/fund-performance?include_all=true")
    lamp, shade = answer["data"]["leaderboard"]
    assert (answer["data"]["quarter"], answer["data"]["begins"]) == ("2025-12-31", "2025-09-30")
    # A tenth of 12,000 dollars gained, a fifth of 3,750 lost.
    columns = ("rank", "portfolio_return_pct", "portfolio_value", "holdings_count", "price_coverage_pct", "reason")
    assert [lamp[name] for name in columns] == [1, 2.8571, 15_750, 2, 100, None]
    assert lamp["top_contributors"] == [{"ticker": "MSFT", "return_pct": 10, "contribution_pct": 7.619}]
    assert lamp["top_detractors"] == [{"ticker": "AAPL", "return_pct": -20, "contribution_pct": -4.7619}]
    # No return is made of a tenth of a portfolio.
    assert [shade[name] for name in columns] == [None, None, 2_500, 2, 10, "price_coverage_low"]
    assert (answer["data"]["total_funds"], answer["data"]["eligible_funds"]) == (2, 2)


def test_filtered_funds_keep_their_rank(api: Client) -> None:
    assert get_valid_json(api, "/fund-performance")["data"]["eligible_funds"] == 0
    assert (
        get_valid_json(api, "/fund-performance?min_aum=12345678901.5")["meta"]["filters"]["min_aum"] == 12_345_678_902
    )
    small = "/fund-performance?min_aum=1000&min_holdings=1"
    assert select_columns(get_valid_json(api, f"{small}&has_returns=true")["data"]["leaderboard"], "rank") == [[1]]
    assert select_columns(get_valid_json(api, f"{small}&q=shade")["data"]["leaderboard"], "company_name") == [
        ["Shade Partners"]
    ]
    assert select_columns(
        get_valid_json(api, f"{small}&cik=1234567&sort_by=portfolio_value")["data"]["leaderboard"], "rank"
    ) == [[1]]
    first = get_valid_json(api, f"{small}&sort_by=portfolio_value&sort_order=asc&limit=1")
    assert select_columns(first["data"]["leaderboard"], "company_name") == [["Shade Partners"]]
    assert first["meta"] == {
        "pagination": {"total": 2, "limit": 1, "offset": 0, "has_more": True},
        "filters": {"min_holdings": 1, "min_aum": 1000, "min_price_coverage_pct": 80},
        "disclaimer": first["meta"]["disclaimer"],
    }


def test_without_prices_a_return_is_null_with_a_reason(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP)
    (row,) = get_valid_json(client(app), "/fund-performance?include_all=true&quarter=2025-12-31")["data"]["leaderboard"]
    columns = ("portfolio_return_pct", "reason", "price_coverage_pct", "top_contributors")
    assert [row[name] for name in columns] == [None, "no_prices_held", 0, []]
    missing = client_answer(app, "/fund-performance?quarter=2020-12-31")
    assert (missing.status, missing.json["details"]["covered_periods"][0]) == (404, "2025-12-31")


def client_answer(app: App, path: str) -> Any:
    return Client(app, users.create(app, "ben@example.com", "pro", NOW).api_key).get(API + path)


def test_a_close_weeks_before_the_quarter_end_does_not_count(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP, PRICES.replace(b"2025-12-31", b"2025-12-12"))
    (row,) = get_valid_json(client(app), "/fund-performance?include_all=true&quarter=2025-12-31")["data"]["leaderboard"]
    assert (row["price_coverage_pct"], row["reason"]) == (23.8095, "price_coverage_low")


def test_later_and_changed_prices_change_returns(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, PRICES, *LAMP, *NAMES)  # prices first, and the tickers last of all
    path = "/fund-performance?include_all=true"
    assert get_valid_json(client(app), path)["data"]["leaderboard"][0]["portfolio_return_pct"] == 2.8571
    take(app, tmp_path, PRICES.replace(b"660", b"720") + b"MSFT,2026-01-02,700,,\n")
    answer = client_answer(app, path).json
    assert answer["data"]["leaderboard"][0]["portfolio_return_pct"] == 10.4762


def test_returns_include_dividends_and_splits(app: App, tmp_path: Path) -> None:
    split = PRICES.replace(b"MSFT,2025-12-31,660,,", b"MSFT,2025-11-03,320,,2\nMSFT,2025-12-31,330,,")
    take(app, tmp_path, *NAMES, *LAMP, split)
    (row,) = get_valid_json(client(app), "/fund-performance?include_all=true")["data"]["leaderboard"]
    assert (row["portfolio_return_pct"], row["unadjusted_pct"]) == (2.8571, 0)


def test_the_unadjusted_part_is_stated(app: App, tmp_path: Path) -> None:
    bare = b"ticker,date,close\nMSFT,2025-09-30,600\nMSFT,2025-12-31,660\nAAPL,2025-09-30,250\nAAPL,2025-12-31,200\n"
    take(app, tmp_path, *NAMES, *LAMP, bare)
    (row,) = get_valid_json(client(app), "/fund-performance?include_all=true")["data"]["leaderboard"]
    assert (row["portfolio_return_pct"], row["unadjusted_pct"]) == (2.8571, 100)


def list_stored_rows(app: App) -> dict[str, list[tuple[Any, ...]]]:
    """Return the stored costs and returns, and the quarters that are due for computation."""
    with app.db.read() as tx:
        return {
            table: [tuple(row) for row in run_sql(tx, f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3, 4")]
            for table, columns in (
                ("positions", "cik, period, security_id, kind, cost, opened, changed"),
                ("fund_returns", "*"),
                ("returned_quarters", "period, due, 0, 0"),
                ("funds_uncounted", "cik, period, 0, 0"),
            )
        }


def forget(app: App) -> None:
    """Mark all costs and returns as due, as an upgrade does."""
    with app.db.write() as tx:
        for sql in (
            "UPDATE positions SET cost = NULL, opened = NULL, changed = NULL",
            "DELETE FROM fund_returns",
            "DELETE FROM returned_quarters",
            "DELETE FROM quarter_returns",
            "INSERT INTO funds_uncounted SELECT cik, min(period) FROM fund_quarters GROUP BY cik",
        ):
            run_sql(tx, sql)


def test_due_costs_are_computed_in_portions_after_a_kill(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP, *OTHERS, PRICES)
    stored_rows = list_stored_rows(app)
    assert (len(stored_rows["fund_returns"]), stored_rows["funds_uncounted"]) == (6, [])
    forget(app)
    portions = 0
    for _ in range(4):
        with app.db.write() as tx:
            assert cost_basis.recompute_portion(tx, 1)
    # The process is killed here: Lamp is counted up to its third quarter. The next ingest completes the work.
    assert list_stored_rows(app)["funds_uncounted"] == [(1234567, "2025-12-31", 0, 0), (7654321, "2025-09-30", 0, 0)]
    take(app, tmp_path, TICKERS)
    assert list_stored_rows(app) == stored_rows
    forget(app)
    due = True
    while due:
        with app.db.write() as tx:
            due = cost_basis.recompute_portion(tx, 1)
        portions += 1
    # Prices, six quarters of funds, funds of the quarter with prices one by one and its end, and nothing.
    assert (portions, list_stored_rows(app)) == (11, stored_rows)


def test_a_changed_return_restarts_its_quarter(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP, *OTHERS, PRICES)
    forget(app)
    while list_stored_rows(app)["funds_uncounted"]:
        with app.db.write() as tx:
            cost_basis.recompute_portion(tx, 1)
    with app.db.write() as tx:
        cost_basis.recompute_portion(tx, 1)
        assert tx.find_value("fund_return_due", cik=1234567, period="2025-12-31") == 0
        assert tx.find_value("fund_return_due", cik=7654321, period="2025-12-31") == 1
    take(app, tmp_path, PRICES.replace(b"660", b"690"))
    rows = get_valid_json(client(app), "/fund-performance?quarter=2025-12-31&include_all=true")["data"]["leaderboard"]
    assert select_columns(rows, "cik", "portfolio_return_pct") == [["0001234567", 6.6667], ["0007654321", None]]


def test_each_return_of_a_fund_is_computed_once(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []
    build_return_row = fund_returns.build_return_row

    def record_call(tx: Any, *key: Any) -> Any:
        computed.append(key)
        return build_return_row(tx, *key)

    take(app, tmp_path, *NAMES, *LAMP, *OTHERS, PRICES)
    forget(app)
    monkeypatch.setattr(fund_returns, "build_return_row", record_call)
    cost_basis.recompute_all(app.db)
    assert (len(computed), len(set(computed))) == (6, 6)


def test_the_stored_return_is_null_below_the_coverage(app: App) -> None:
    with app.db.write() as tx:
        run_sql(tx, "PRAGMA defer_foreign_keys=ON")
        rows = [
            ("2025-12-31", cik, 1, 100, fund_returns.MIN_COVERAGE_PCT - 1 + cik, 0, 8, "[]", "[]") for cik in range(2)
        ]
        tx.insert_rows("upsert_fund_return", rows)
        rows_found = run_sql(tx, "SELECT earned FROM fund_returns ORDER BY cik").fetchall()
        run_sql(tx, "DELETE FROM fund_returns")
    assert [row[0] for row in rows_found] == [None, 0.1]


# ---- rotation


def test_rotation_is_dollars_bought_per_dollar_sold(app: App, tmp_path: Path) -> None:
    bank = SUBMISSIONS.replace(b"320193", b"40729").replace(b"3571", b"6021").replace(b"AAPL", b"ALLY")
    bank = bank.replace(b"Apple Inc.", b"Ally Financial Inc.")
    first = submission(1, ("06-30-2025", "2025-08-14", [(APPLE, 2_500, 10), (ALLY, 4_000, 100)]))
    then = submission(2, ("09-30-2025", "2025-11-14", [(APPLE, 3_750, 15), (ALLY, 2_000, 50)]))
    shade = [
        submission(3, ("06-30-2025", "2025-08-12", [(APPLE, 1_000, 4), (ALLY, 400, 10)]), **SHADE),
        submission(4, ("09-30-2025", "2025-11-12", [(APPLE, 500, 2), (ALLY, 800, 20)]), **SHADE),
    ]
    take(app, tmp_path, *NAMES, bank, first, then, *shade)
    data = get_valid_json(client(app), "/market-rotation?compare=prev")["data"]
    # Value bought 400 and sold 2,000; growth bought 1,250 and sold 500.
    assert (data["value_growth_ratio"], data["value_growth_signal"]) == (0.08, "growth")
    value, growth = (data["sector_buckets"][name] for name in ("value", "growth"))
    assert (value["total_flow"], value["bought"], value["sold"], value["total_value"]) == (-1_600, 400, 2_000, 2_800)
    assert growth["sectors"] == [
        {"sector": "Machinery and Computer Equipment", "sic_group": "35", "fund_flow": 750, "total_value": 4_250}
    ]
    assert (data["cyclical_defensive_ratio"], data["reason"]) == (None, "nothing_bought_or_sold")
    assert (data["compare"]["quarter"], data["compare"]["reason"]) == ("2025-06-30", "no_changes_known")
    assert data["sector_buckets"]["defensive"] == {
        "total_flow": None,
        "total_value": 0,
        "bought": None,
        "sold": None,
        "sectors": [],
        "doubted_count": 0,
        "doubted_value": 0,
        "doubted_flow": 0,
    }
    assert float(MIN_SIGNAL_RATIO) == 1.1


def test_rotation_of_a_quarter_without_reports_is_refused(api: Client) -> None:
    assert api.get(f"{API}/market-rotation?quarter=2019-12-31").json["code"] == "NOT_COVERED"
    assert api.get(f"{API}/market-rotation?compare=next").json["details"]["param"] == "compare"


# ---- funds and insiders


def bought(app: App, *trades: tuple[int, str, tuple[str, str]]) -> None:
    with app.db.write() as tx:
        for number, (shares, day, owner_cik) in enumerate(trades, 1):
            accession = f"0000320193-25-{number:06}"
            row = transaction("P", str(shares), "200", date=day, after="20000")
            document = form(row, period=day, owners=(owner(owner_cik),), issuer=("0000320193", "Apple Inc.", "AAPL"))
            filed = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at="2026-01-15")
            insider_store.upsert_form(tx, ownership_forms.parse(document, accession), filed, NOW)


def test_cross_signals_of_funds_and_insiders(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, *NAMES, *LAMP, *OTHERS)
    bought(app, (10, "2025-12-01", ANN), (5, "2026-01-05", BEN), (100, "2025-11-30", ANN))
    api = client(app)
    data = get_valid_json(api, "/cross-filing-signals")["data"]
    (row,) = data["signals"]
    # Shade bought nine shares at 200 dollars; the purchase of 30 November is 31 days before the quarter's end.
    columns = ("symbol", "fund_flow", "fund_flow_pct", "fund_count", "insider_buyer_count", "insider_buy_value")
    assert [row[name] for name in columns] == ["AAPL", 1_800, 36, 2, 2, 3_000]
    assert [row[name] for name in ("first_buy_date", "last_buy_date")] == ["2025-12-01", "2026-01-05"]
    assert (row["attractiveness_score"], row["attractiveness_components"][0]) == (
        100,
        {"name": "fund_flow", "score": 100},
    )
    assert data["time_window"] == {
        "start": "2025-12-01",
        "end": "2026-02-14",
        "description": data["time_window"]["description"],
    }
    assert data["coverage_note"].startswith("Funds bought 1 security on balance; the number of those ")
    assert "Purchases by insiders are stored up to 2026-01-05." in data["coverage_note"]
    wider = get_valid_json(api, "/cross-filing-signals?window_before=31")["data"]["signals"]
    assert select_columns(wider, "insider_buy_value") == [[23_000]]
    for none in ("min_insider_buyers=3", "min_fund_flow=1800", "window_before=0&window_after=1"):
        assert get_valid_json(api, f"/cross-filing-signals?{none}")["data"]["signal_count"] == 0
    for wrong in ("window_before=-1", "window_after=181", "min_insider_buyers=0"):
        assert api.get(f"{API}/cross-filing-signals?{wrong}").json["code"] == "INVALID_PARAM"


def test_without_insiders_there_are_no_signals(api: Client) -> None:
    data = get_valid_json(api, "/cross-filing-signals")["data"]
    assert (data["signals"], data["signal_count"]) == ([], 0)
    assert "No purchase by an insider is stored." in data["coverage_note"]
