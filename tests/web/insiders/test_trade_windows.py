"""Transactions filtered by windows, bounds, roles, codes and earnings, and their outcomes.

The slow tests compare pages of random filters with a filter over all rows.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from finapi.app import App
from finapi.edgar import ownership_forms, submissions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.filings import lists
from finapi.market.insiders import insider_store, trades
from finapi.market.prices import price_csv, price_store
from finapi.web.http.route import INSIDERS
from tests.client import Client
from tests.conftest import NOW
from tests.support import insider_market
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case
from tests.support.insider_market import CEO, OTHER_ISSUER, list_shares
from tests.support.ownership_xml import ANN, BEN, FUND, form, owner, transaction


def get(api: Client, path: str) -> Any:
    """Return the answer of a path with its query. Check it against the schema that the route declares."""
    path, _, query = path.partition("?")
    return insider_market.get(api, path, **dict(parse_qsl(query)))


@run_each_case(
    "path, expected",
    [
        ("latest?from_date=2026-01-21&to_date=2026-01-22", [200, 50]),
        ("latest?filed_from=2026-01-26&filed_to=2026-01-26", [200, 50]),
        ("latest?filed_to=2025-12-31", [10]),
        ("latest?quarter=2025-12-31", [10]),
        ("latest?transaction_code=P,M&min_value=1000", [200, 100]),
        ("latest?transaction_code=M", [30, 30]),
        ("latest?max_value=600", [30, 50, 10]),
        ("latest?quarter=2026-03-31&min_shares=50&max_shares=100", [50, 100]),
        ("latest?quarter=2026-03-31&min_percent=10", [30, 30, 30, 100]),
        ("latest?quarter=2026-03-31&max_percent=4.5", [200]),
        ("latest?is_ten_percent_owner=true", [200]),
        ("latest?is_c_suite=false&acquired_disposed_code=A", [200, 50]),
        ("by-ticker/BRK-B?from_date=2026-01-20&is_director=true", [200, 50]),
        ("by-ticker/BRK-B?quarter=2026-03-31&transaction_code=S", []),
        ("by-insider/102?min_value=1000", [200]),
        ("search?transaction_code=S", [30]),
        ("search?quarter=2025-12-31", [10]),
        ("search?query=brook&from_date=2026-01-21&to_date=2026-01-21", [50]),
        ("top?quarter=2026-03-31", [200, 100, 50]),
        ("top?quarter=2025-12-31", []),
        ("top?direction=SELL&filed_to=2025-12-31", [10]),
        ("top?min_value=600", [200, 100]),
    ],
)
def test_lists_are_filtered_by_days_bounds_roles_and_codes(api: Client, path: str, expected: list[int]) -> None:
    assert list_shares(get(api, f"/transactions/{path}")) == expected


def test_meta_contains_the_windows_that_apply(api: Client) -> None:
    meta = get(api, "/transactions/search?quarter=2025-12-31")["meta"]
    assert {name: meta[name] for name in ("filed_at_days", "quarter", "from_date", "total", "undated_left_out")} == {
        "filed_at_days": None,
        "quarter": "2025-12-31",
        "from_date": None,
        "total": 1,
        "undated_left_out": 0,
    }
    assert (meta["matched_insiders"], meta["matched_issuers"]) == (None, None)


def test_percentages_are_of_the_shares_owned_before(api: Client) -> None:
    rows = get(api, "/transactions/latest")["data"]
    assert [row["percent_of_holding"] for row in rows] == [75, 23.0769, 30, 4, None, 10, 1]
    assert rows[4]["marks"]["percent_of_holding"]["reason"] == "nothing_held_before"


def test_sums_have_windows_between_two_days(api: Client) -> None:
    quarter = "quarter=2026-03-31"
    assert get(api, f"/summary/by-ticker/BRK-B?{quarter}&is_director=true")["data"]["total_buy_value"] == 2650
    assert get(api, "/summary/by-ticker/BRK-B?filed_from=2025-01-01&filed_to=2025-12-31")["data"]["total_sells"] == 1
    assert [company["ticker"] for company in get(api, "/screen?quarter=2025-12-31")["results"]] == ["BRK-B"]
    assert [
        company["total_sells"] for company in get(api, "/screen?filed_to=2025-12-31&filed_from=2025-10-01")["results"]
    ] == [1]
    assert get(api, "/clusters?quarter=2025-12-31&min_insiders=1")[0]["total_value"] == 50
    assert get(api, "/clusters?quarter=2026-03-31&min_insiders=2&min_value=3650")[0]["insider_count"] == 3
    assert get(api, "/clusters?quarter=2026-03-31&min_insiders=1&min_value=3651") == []
    groups = get(api, "/aggregation/by-sector?quarter=2025-12-31")["data"]
    assert [(sector["group"], sector["sell_value"]) for sector in groups] == [("Manufacturing", 50)]


def test_clusters_of_one_company_may_have_any_window(api: Client) -> None:
    (sold, bought) = sorted(
        get(api, "/clusters?ticker=BRK-B&from_date=1990-01-01&min_insiders=1"),
        key=lambda cluster: cluster["total_value"],
    )
    assert (sold["cluster_type"], bought["insider_count"]) == ("sell", 3)


@run_each_case(
    "path, param",
    [
        ("/transactions/latest?min_percent=10", "min_percent"),
        ("/transactions/latest?min_shares=1&from_date=2024-01-01", "min_shares"),
        ("/transactions/top?earnings_within=30", "earnings_within"),
        ("/transactions/search?max_percent=5&filed_at_days=3650", "max_percent"),
        ("/transactions/latest?earnings_within=0&quarter=2025-12-31", "earnings_within"),
        ("/transactions/latest?quarter=2025-12-30", "quarter"),
        ("/transactions/latest?from_date=yesterday", "from_date"),
        ("/transactions/latest?filed_to=2025-02-30", "filed_to"),
        ("/transactions/latest?transaction_code=P,,S", "transaction_code"),
        ("/transactions/latest?min_shares=1e999&quarter=2025-12-31", "min_shares"),
        ("/clusters?from_date=2020-01-01", "from_date"),
        ("/screen?filed_from=2020-01-01&filed_to=2022-01-01", "filed_from"),
        ("/aggregation/by-sector?to_date=2020-01-01", "to_date"),
    ],
)
def test_too_long_windows_and_invalid_bounds_are_refused(api: Client, path: str, param: str) -> None:
    answer = api.get(INSIDERS + path)
    assert (answer.status, answer.json["details"]["param"]) == (400, param)


def test_unreachable_bounds_find_nothing(api: Client) -> None:
    assert list_shares(get(api, "/transactions/latest?from_date=2026-02-01&to_date=2026-01-01")) == []
    assert (
        list_shares(
            get(api, "/transactions/latest?filed_from=0001-01-01&filed_to=9999-12-31&min_value=900000000000000")
        )
        == []
    )


def test_transactions_before_earnings_are_found(api: Client, market: App) -> None:
    with market.db.write() as tx:
        lists.upsert_submissions(tx, submissions.parse_company(insider_market.build_filing_list(), "f"), NOW)
        tx.run("bump_data_version")
    path = "/transactions/search?quarter=2026-03-31&transaction_code=P"
    assert list_shares(get(api, path + "&earnings_within=6")) == [200, 50]
    assert list_shares(get(api, path + "&earnings_within=7")) == [200, 50, 100]
    rows = get(api, path + "&include_outcome=true")["data"]
    assert [row["outcome"]["days_to_earnings"] for row in rows] == [5, 6, 7]
    assert rows[0]["outcome"]["next_earnings"] == "2026-01-27"
    bank = get(api, "/transactions/latest?transaction_code=S&include_outcome=true")["data"][0]["outcome"]
    assert bank["reasons"]["days_to_earnings"] == "no_later_item_2_02_held"


def test_an_outcome_has_the_returns_after_a_transaction(api: Client, market: App) -> None:
    first = date(2026, 1, 16)  # A Friday. Prices are for weekdays.
    trading_days = [
        first + timedelta(day_count) for day_count in range(30) if (first + timedelta(day_count)).weekday() < 5
    ]
    lines = ["Date,Close,Dividends,Stock Splits"]
    for number, day in enumerate(trading_days):
        # The price rises by 1 a day. A split of 2:1 is on the third day of trading after the 20th.
        split = 2 if day == date(2026, 1, 23) else 0
        close = (100 + number) / (2 if day >= date(2026, 1, 23) else 1)
        lines.append(f"{day},{close},0,{split}")
    data = "\n".join(lines).encode() + b"\n"
    with market.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(data, "prices.csv", "prices.csv"), data, "BRK-B")
    of_lamps = "/transactions/by-ticker/BRK-B?include_outcome=true"
    (row,) = get(api, f"{of_lamps}&quarter=2026-03-31&min_shares=100&max_shares=100")["data"]
    outcome = row["outcome"]
    # From 102 on the 20th to 103 a day later, and to 107 (before the split) on the fifth day.
    assert (outcome["close"], outcome["close_date"]) == (102, "2026-01-20")
    assert (outcome["return_1d"], outcome["return_5d"]) == (0.009804, 0.04902)
    assert (outcome["return_20d"], outcome["is_adjusted"]) == (None, True)
    assert outcome["reasons"]["return_20d"] == "not_yet_held"
    sale = get(api, f"{of_lamps}&quarter=2025-12-31")["data"][0]["outcome"]
    assert sale["reasons"]["return_1d"] == "no_close_near_the_day"
    bank = get(api, "/transactions/latest?limit=1&include_outcome=true")["data"][0]["outcome"]
    assert (bank["close"], bank["reasons"]["return_60d"]) == (None, "no_prices_held")
    assert "outcome" not in get(api, "/transactions/latest?limit=1")["data"][0]


# ---- Random filters

FIRST = date(2025, 1, 1)


def store_random_forms(app: App, count: int = 120) -> None:
    """Store forms with random owners, codes, days and amounts, the same in every run."""
    rng = random.Random(11)
    people = [owner(ANN), owner(BEN, flags="director"), owner(FUND, flags="ten"), owner(CEO, title="President and CEO")]
    with app.db.write() as tx:
        for number in range(count):
            day = FIRST + timedelta(rng.randrange(390))
            rows = [
                transaction(
                    rng.choice("PSPSMAFG"),
                    str(rng.choice((1, 10, 100, 1000))),
                    rng.choice(("1", "10", "25.5", None)),
                    date=str(day),
                    after=rng.choice(("0", "100", "5000", None)),
                )
                for _ in range(rng.randrange(1, 4))
            ]
            owners = tuple(rng.sample(people, rng.choice((1, 1, 1, 2))))
            issuer = rng.choice(((forms.ISSUER, forms.NAME, forms.SYMBOL), OTHER_ISSUER))
            accession = f"{issuer[0]}-26-{number + 1:06}"
            filed = str(day + timedelta(rng.choice((1, 2, 2, 40))))
            document = ownership_forms.parse(form(*rows, period=str(day), owners=owners, issuer=issuer), accession)
            insider_store.upsert_form(tx, document, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW)
        tx.run("bump_data_version")


Row = dict[str, Any]
Condition = Callable[[Row], bool]


def has_role(name: str) -> Condition:
    """Return the condition that an owner has a role."""
    return lambda row: any(owner_row[name] for owner_row in row["owners"])


def at_least(name: str, bound: float) -> Condition:
    """Return the condition that a figure is not null and not below a bound."""
    return lambda row: row[name] is not None and row[name] >= bound


def is_between(name: str, first: str, last: str) -> Condition:
    """Return the condition that a date is not null and within a window."""
    return lambda row: row[name] is not None and first <= row[name] <= last


# Parameters of a call, and the condition that a row then fulfils.
WINDOWS = {
    "from_date=2025-03-01&to_date=2025-11-30": is_between("transaction_date", "2025-03-01", "2025-11-30"),
    "quarter=2025-06-30": is_between("transaction_date", "2025-04-01", "2025-06-30"),
    "filed_from=2025-05-15&filed_to=2025-12-20": is_between("filed_at", "2025-05-15", "2025-12-20"),
    "from_date=2025-06-01&filed_to=2025-12-31": lambda row: (
        row["transaction_date"] >= "2025-06-01" and row["filed_at"] <= "2025-12-31"
    ),
}
FILTERS = {
    "min_value=1000": at_least("transaction_value", 1000),
    "max_value=250": lambda row: row["transaction_value"] is not None and row["transaction_value"] <= 250,
    "min_shares=100": at_least("shares", 100),
    "max_percent=20": lambda row: row["percent_of_holding"] is not None and row["percent_of_holding"] <= 20,
    "min_percent=2": at_least("percent_of_holding", 2),
    "is_officer=true": has_role("is_officer"),
    "is_director=false": lambda row: not has_role("is_director")(row),
    "is_c_suite=true": has_role("is_c_suite"),
    "transaction_code=P,S": lambda row: row["transaction_code"] in "PS",
    "transaction_code=M": lambda row: row["transaction_code"] == "M",
    "acquired_disposed_code=D": lambda row: row["acquired_disposed_code"] == "D",
    "standard_type=purchase": lambda row: row["standard_type"] == "purchase",
    "sector=H": lambda row: row["ticker"] == "SHBK",
    "sector=Financial Services": lambda row: row["ticker"] == "SHBK",
    "industry=36": lambda row: row["ticker"] == "BRK-B",
}


def list_all_rows(api: Client) -> list[Row]:
    """Return the transactions of both companies."""
    rows: list[Row] = []
    for ticker in ("BRK-B", "SHBK"):
        rows += get(api, f"/transactions/by-ticker/{ticker}?filed_at_days=36500&limit=500")["data"]
    return rows


def list_all_ids(api: Client, path: str) -> list[str]:
    """Return the ids on all pages of a list."""
    ids: list[str] = []
    cursor_param = ""
    while True:
        answer = api.get(f"{INSIDERS}{path}&limit=40{cursor_param}").json
        ids += [row["transaction_id"] for row in answer["data"]]
        cursor = answer["meta"].get("pagination", answer["meta"])["next_cursor"]
        if cursor is None:
            return ids
        cursor_param = f"&cursor={cursor}"


def filter_ids(rows: list[Row], *conditions: Condition) -> list[str]:
    """Return the ids of the rows that fulfil all conditions."""
    return [row["transaction_id"] for row in rows if all(condition(row) for condition in conditions)]


def choose_triples() -> list[tuple[str, str, str]]:
    """Return fifteen random triples of a window and two filters with different parameters."""
    triples = []
    for window, (first, second) in itertools.product(WINDOWS, itertools.combinations(FILTERS, 2)):
        if first.partition("=")[0] != second.partition("=")[0]:
            triples.append((window, first, second))
    return random.Random(5).sample(triples, 15)


@pytest.mark.slow
def test_pages_equal_a_filter_over_all_rows(api: Client, market: App, monkeypatch: pytest.MonkeyPatch) -> None:
    store_random_forms(market)
    newest = sorted(list_all_rows(api), key=row_order, reverse=True)
    greatest = sorted(newest, key=lambda row: row["transaction_value"] or -1, reverse=True)
    assert len(newest) > 200
    for number, (window, first, second) in enumerate(choose_triples()):
        # Both ways to read a list are tested: in its order, and by sorting the rows of a filter.
        monkeypatch.setattr(trades, "MAX_SORTED_TRADES", (0, 20_000)[number % 2])
        conditions = [WINDOWS[window], FILTERS[first], FILTERS[second]]
        query = f"{window}&{first}&{second}"
        expected_ids = {
            "latest?": filter_ids(newest, *conditions),
            "search?": filter_ids(newest, *conditions),
            "search?query=brook&": filter_ids(newest, *conditions, FILTERS["industry=36"]),
            "by-ticker/SHBK?": filter_ids(newest, *conditions, FILTERS["sector=H"]),
            "by-insider/101?": filter_ids(newest, *conditions, is_of_ann),
            "top?": filter_ids(greatest, *conditions, is_valued_purchase),
        }
        for path, ids in expected_ids.items():
            assert list_all_ids(api, f"/transactions/{path}{query}") == ids, (path, query)


def is_of_ann(row: Row) -> bool:
    return any(owner_row["cik"] == ANN[0] for owner_row in row["owners"])


def is_counted(row: Row) -> bool:
    """Return True unless another row is the same trade, or the price is doubted: sums leave these rows out."""
    return row["same_trade_as"] is None and row["value_doubt"] is None


def is_valued_purchase(row: Row) -> bool:
    return row["standard_type"] == "purchase" and row["transaction_value"] is not None and is_counted(row)


def row_order(row: Row) -> tuple[str, str, int]:
    """Return the key by which lists are sorted: filing date, form and number of the row."""
    row_number = row["transaction_id"].partition(":")[2]
    return row["filed_at"], row["accession_number"], int(row_number)


def list_market_trades(api: Client, window: str) -> list[Row]:
    """Return the purchases and sales within a window."""
    rows = [row for row in list_all_rows(api) if row["transaction_code"] in "PS" and is_counted(row)]
    return [row for row in rows if WINDOWS[window](row)]


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("min_insiders", [1, 2, 3])
def test_clusters_equal_sums_of_filtered_rows(api: Client, market: App, window: str, min_insiders: int) -> None:
    store_random_forms(market)
    rows_by_cluster: dict[tuple[str, str], list[Row]] = {}
    for row in list_market_trades(api, window):
        rows_by_cluster.setdefault((row["ticker"], row["standard_type"]), []).append(row)
    expected = []
    for (ticker, kind), rows in rows_by_cluster.items():
        insider_count = len({row["insider_cik"] for row in rows})
        total_value = int(sum(map(compute_value, rows)) + 0.5)
        if insider_count >= min_insiders:
            expected.append((insider_count, total_value, ticker, kind, len(rows)))
    expected.sort(key=lambda cluster: (-cluster[0], -cluster[1]))
    all_trades = "exclude_10b5_1=false&exclude_cashless=false&exclude_sell_to_cover=false"
    clusters = get(api, f"/clusters?{window}&min_insiders={min_insiders}&{all_trades}")
    assert [
        (
            cluster["insider_count"],
            cluster["total_value"],
            cluster["ticker"],
            {"buy": "purchase", "sell": "sale"}[cluster["cluster_type"]],
            cluster["transaction_count"],
        )
        for cluster in clusters
    ] == expected


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_screens_equal_counts_of_filtered_rows(api: Client, market: App, window: str) -> None:
    store_random_forms(market)
    expected: dict[str, int] = {}
    for row in list_market_trades(api, window):
        expected[row["ticker"]] = expected.get(row["ticker"], 0) + 1
    companies = get(api, f"/screen?{window}&sort_by=total_transactions")["results"]
    assert {company["ticker"]: company["total_transactions"] for company in companies} == expected


@pytest.mark.slow
def test_queries_equal_a_filter_over_all_forms(api: Client, market: App) -> None:
    store_random_forms(market)
    rows = list_all_rows(api)
    row_by_form = {row["accession_number"]: row for row in rows}
    newest = sorted(row_by_form.values(), key=lambda row: (row["filed_at"], row["accession_number"]), reverse=True)
    codes_by_form: dict[str, set[str]] = {}
    for row in rows:
        codes_by_form.setdefault(row["accession_number"], set()).add(row["transaction_code"])

    def has_purchase(row: Row) -> bool:
        return "P" in codes_by_form[row["accession_number"]]

    def is_named_shade(row: Row) -> bool:
        return row["ticker"] == "SHBK" or any("Shade" in owner_row["name"] for owner_row in row["owners"])

    terms: dict[str, Condition] = {
        "issuer.tradingSymbol:SHBK": lambda row: row["ticker"] == "SHBK",
        "reportingOwner.cik:101": is_of_ann,
        "filedAt:[2025-05-01 TO 2025-10-31]": is_between("filed_at", "2025-05-01", "2025-10-31"),
        "periodOfReport:[2025-03-01 TO 2025-08-31]": is_between("transaction_date", "2025-03-01", "2025-08-31"),
        "transactionCode:P": has_purchase,
        "shade": is_named_shade,
    }
    for first, second, third in itertools.permutations(terms, 3):
        query = f"{first} AND ({second} OR NOT {third})"
        expected = []
        for row in newest:
            if terms[first](row) and (terms[second](row) or not terms[third](row)):
                expected.append(row["accession_number"])
        assert list_queried_forms(api, query) == expected, query


def list_queried_forms(api: Client, query: str) -> list[str]:
    """Return the accession numbers on all pages of a query."""
    accessions: list[str] = []
    while True:
        body = {"query": query, "from": len(accessions), "size": 50}
        page = api.post(f"{INSIDERS}/query", body).json["transactions"]
        accessions += [form_row["accessionNo"] for form_row in page]
        if len(page) < 50:
            return accessions


def compute_value(row: Row) -> float:
    return float(row["shares"] or 0) * float(row["price_per_share"] or 0)
