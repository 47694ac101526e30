"""Insiders' transactions by windows of days, thresholds, roles and codes, before earnings, and what became of them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from urllib.parse import parse_qsl

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar import ownership_forms, submissions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.filings import lists
from finapi.market.insiders import insider_store
from finapi.market.insiders import trades as stored
from finapi.market.prices import price_csv, price_store
from finapi.web.http.route import INSIDERS
from tests.client import Client
from tests.conftest import NOW
from tests.support import ownership_xml as forms
from tests.support.ownership_xml import ANN, BEN, FUND, form, owner, transaction
from tests.web.insiders import test_insiders_api as plain
from tests.web.insiders.test_insiders_api import CEO, OTHER, put_market, shares


def announced() -> bytes:
    """The list of the lamps' filings: results on 2026-01-27, and an 8-K without results before."""
    columns: dict[str, list[Any]] = {
        "accessionNumber": ["0001234567-26-000090", "0001234567-26-000091"],
        "filingDate": ["2026-01-27", "2026-01-23"],
        "reportDate": ["", ""],
        "acceptanceDateTime": ["2026-01-27T21:30:00.000Z", "2026-01-23T15:00:00.000Z"],
        "form": ["8-K", "8-K"],
        "primaryDocument": ["", ""],
        "items": ["2.02,9.01", "5.02"],
        "size": [1, 1],
        "isXBRL": [0, 0],
        "isInlineXBRL": [0, 0],
    }
    lamps = {"cik": "1234567", "name": "Brook Lamps Inc.", "filings": {"recent": columns, "files": []}}
    return json.dumps(lamps).encode()


@pytest.fixture(scope="module")
def whole() -> Iterator[App]:
    app = apps.create_in_memory(Config(), FixedClock(NOW))
    put_market(app)
    yield app
    app.db.close()


@pytest.fixture
def market(copied: Callable[..., App], whole: App) -> App:
    return copied(whole, insider_per_minute_paid=100_000)


@pytest.fixture
def api(market: App) -> Client:
    return Client(market, users.create(market, "ann@example.com", "pro", NOW).api_key)


def get(api: Client, path: str) -> Any:
    """The answer of a path with its query, which has the shape that its route declares."""
    path, _, query = path.partition("?")
    return plain.get(api, path, **dict(parse_qsl(query)))


@pytest.mark.parametrize(
    ("path", "found"),
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
def test_lists_are_narrowed_to_days_thresholds_roles_and_codes(api: Client, path: str, found: list[int]) -> None:
    assert shares(get(api, f"/transactions/{path}")) == found


def test_the_windows_that_apply_are_told(api: Client) -> None:
    meta = get(api, "/transactions/search?quarter=2025-12-31")["meta"]
    assert {name: meta[name] for name in ("filed_at_days", "quarter", "from_date", "total", "undated_left_out")} == {
        "filed_at_days": None,
        "quarter": "2025-12-31",
        "from_date": None,
        "total": 1,
        "undated_left_out": 0,
    }
    assert (meta["matched_insiders"], meta["matched_issuers"]) == (None, None)


def test_a_percentage_is_that_of_the_holding_before(api: Client) -> None:
    rows = get(api, "/transactions/latest")["data"]
    assert [row["percent_of_holding"] for row in rows] == [75, 23.0769, 30, 4, None, 10, 1]
    assert rows[4]["marks"]["percent_of_holding"]["reason"] == "nothing_held_before"


def test_sums_are_of_absolute_windows_too(api: Client) -> None:
    quarter = "quarter=2026-03-31"
    assert get(api, f"/summary/by-ticker/BRK-B?{quarter}&is_director=true")["data"]["total_buy_value"] == 2650
    assert get(api, "/summary/by-ticker/BRK-B?filed_from=2025-01-01&filed_to=2025-12-31")["data"]["total_sells"] == 1
    assert [one["ticker"] for one in get(api, "/screen?quarter=2025-12-31")["results"]] == ["BRK-B"]
    assert [one["total_sells"] for one in get(api, "/screen?filed_to=2025-12-31&filed_from=2025-10-01")["results"]] == [
        1
    ]
    assert get(api, "/clusters?quarter=2025-12-31&min_insiders=1")[0]["total_value"] == 50
    assert get(api, "/clusters?quarter=2026-03-31&min_insiders=2&min_value=3650")[0]["insider_count"] == 3
    assert get(api, "/clusters?quarter=2026-03-31&min_insiders=1&min_value=3651") == []
    groups = get(api, "/aggregation/by-sector?quarter=2025-12-31")["data"]
    assert [(one["group"], one["sell_value"]) for one in groups] == [("Manufacturing", 50)]


def test_the_clusters_of_one_company_have_any_window(api: Client) -> None:
    (sold, bought) = sorted(
        get(api, "/clusters?ticker=BRK-B&from_date=1990-01-01&min_insiders=1"), key=lambda one: one["total_value"]
    )
    assert (sold["cluster_type"], bought["insider_count"]) == ("sell", 3)


@pytest.mark.parametrize(
    ("path", "param"),
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
def test_what_would_read_everything_or_is_no_bound_is_refused_by_name(api: Client, path: str, param: str) -> None:
    answer = api.get(INSIDERS + path)
    assert (answer.status, answer.json["details"]["param"]) == (400, param)


def test_bounds_out_of_reach_find_nothing(api: Client) -> None:
    assert shares(get(api, "/transactions/latest?from_date=2026-02-01&to_date=2026-01-01")) == []
    assert (
        shares(get(api, "/transactions/latest?filed_from=0001-01-01&filed_to=9999-12-31&min_value=900000000000000"))
        == []
    )


def test_who_bought_before_earnings(api: Client, market: App) -> None:
    with market.db.write() as tx:
        lists.upsert_submissions(tx, submissions.parse_company(announced(), "f"), NOW)
        tx.run("bump_data_version")
    path = "/transactions/search?quarter=2026-03-31&transaction_code=P"
    assert shares(get(api, path + "&earnings_within=6")) == [200, 50]
    assert shares(get(api, path + "&earnings_within=7")) == [200, 50, 100]
    rows = get(api, path + "&include_outcome=true")["data"]
    assert [row["outcome"]["days_to_earnings"] for row in rows] == [5, 6, 7]
    assert rows[0]["outcome"]["next_earnings"] == "2026-01-27"
    bank = get(api, "/transactions/latest?transaction_code=S&include_outcome=true")["data"][0]["outcome"]
    assert bank["reasons"]["days_to_earnings"] == "no_later_item_2_02_held"


def test_what_became_of_a_share_after_a_transaction(api: Client, market: App) -> None:
    first = date(2026, 1, 16)  # a Friday; the rows are weekdays
    traded = [first + timedelta(one) for one in range(30) if (first + timedelta(one)).weekday() < 5]
    lines = ["Date,Close,Dividends,Stock Splits"]
    for number, day in enumerate(traded):
        # 100 a day until a split of 2:1 on the third day of trading after the 20th.
        split = 2 if day == date(2026, 1, 23) else 0
        close = (100 + number) / (2 if day >= date(2026, 1, 23) else 1)
        lines.append(f"{day},{close},0,{split}")
    data = "\n".join(lines).encode() + b"\n"
    with market.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(data, "prices.csv", "prices.csv"), data, "BRK-B")
    of_lamps = "/transactions/by-ticker/BRK-B?include_outcome=true"
    (row,) = get(api, f"{of_lamps}&quarter=2026-03-31&min_shares=100&max_shares=100")["data"]
    outcome = row["outcome"]
    # From 102 on the 20th: 103 a day later; 107, halved by the split, on the fifth day.
    assert (outcome["close"], outcome["close_date"]) == (102, "2026-01-20")
    assert (outcome["return_1d"], outcome["return_5d"]) == (0.009804, 0.04902)
    assert (outcome["return_20d"], outcome["is_adjusted"]) == (None, True)
    assert outcome["reasons"]["return_20d"] == "not_yet_held"
    sale = get(api, f"{of_lamps}&quarter=2025-12-31")["data"][0]["outcome"]
    assert sale["reasons"]["return_1d"] == "no_close_near_the_day"
    bank = get(api, "/transactions/latest?limit=1&include_outcome=true")["data"][0]["outcome"]
    assert (bank["close"], bank["reasons"]["return_60d"]) == (None, "no_prices_held")
    assert "outcome" not in get(api, "/transactions/latest?limit=1")["data"][0]


# ---- pages of random triples of filters equal a filter over all rows

FIRST = date(2025, 1, 1)
TITLES = {101: "Chief Financial Officer", 102: None, 103: None, 104: "President and CEO"}


def made_up(app: App, count: int = 120) -> None:
    """Store forms of all kinds of owners, codes, days and amounts, the same every time."""
    chance = random.Random(11)
    people = [owner(ANN), owner(BEN, flags="director"), owner(FUND, flags="ten"), owner(CEO, title=TITLES[104] or "")]
    with app.db.write() as tx:
        for number in range(count):
            day = FIRST + timedelta(chance.randrange(390))
            rows = [
                transaction(
                    chance.choice("PSPSMAFG"),
                    str(chance.choice((1, 10, 100, 1000))),
                    chance.choice(("1", "10", "25.5", None)),
                    date=str(day),
                    after=chance.choice(("0", "100", "5000", None)),
                )
                for _ in range(chance.randrange(1, 4))
            ]
            who = tuple(chance.sample(people, chance.choice((1, 1, 1, 2))))
            issuer = chance.choice(((forms.ISSUER, forms.NAME, forms.SYMBOL), OTHER))
            accession = f"{issuer[0]}-26-{number + 1:06}"
            filed = str(day + timedelta(chance.choice((1, 2, 2, 40))))
            document = ownership_forms.parse(form(*rows, period=str(day), owners=who, issuer=issuer), accession)
            insider_store.upsert_form(tx, document, FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed), NOW)
        tx.run("bump_data_version")


Holds = Callable[[dict[str, Any]], bool]


def role(name: str) -> Holds:
    return lambda row: any(one[name] for one in row["owners"])


def at_least(name: str, bound: float) -> Holds:
    return lambda row: row[name] is not None and row[name] >= bound


def between(name: str, first: str, last: str) -> Holds:
    return lambda row: row[name] is not None and first <= row[name] <= last


WINDOWS = {
    "from_date=2025-03-01&to_date=2025-11-30": between("transaction_date", "2025-03-01", "2025-11-30"),
    "quarter=2025-06-30": between("transaction_date", "2025-04-01", "2025-06-30"),
    "filed_from=2025-05-15&filed_to=2025-12-20": between("filed_at", "2025-05-15", "2025-12-20"),
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
    "is_officer=true": role("is_officer"),
    "is_director=false": lambda row: not role("is_director")(row),
    "is_c_suite=true": role("is_c_suite"),
    "transaction_code=P,S": lambda row: row["transaction_code"] in "PS",
    "transaction_code=M": lambda row: row["transaction_code"] == "M",
    "acquired_disposed_code=D": lambda row: row["acquired_disposed_code"] == "D",
    "standard_type=purchase": lambda row: row["standard_type"] == "purchase",
    "sector=H": lambda row: row["ticker"] == "SHBK",
    "industry=36": lambda row: row["ticker"] == "BRK-B",
}


def walked(api: Client, path: str) -> list[str]:
    """The ids of all pages of a list, one after the other."""
    found, cursor = [], ""
    while True:
        answer = api.get(f"{INSIDERS}{path}&limit=40{cursor}").json
        found += [row["transaction_id"] for row in answer["data"]]
        following = answer["meta"].get("pagination", answer["meta"])["next_cursor"]
        if following is None:
            return found
        cursor = f"&cursor={following}"


def triples() -> list[tuple[str, str, str]]:
    """Fifteen random triples: a window of days and two filters of different parameters."""
    chance = random.Random(5)
    every = [
        (window, *two)
        for window, two in itertools.product(WINDOWS, itertools.combinations(FILTERS, 2))
        if two[0].partition("=")[0] != two[1].partition("=")[0]
    ]
    return chance.sample(every, 15)


@pytest.mark.slow
def test_pages_are_what_a_filter_over_all_rows_gives(api: Client, market: App, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(market)
    everything = []
    for path in ("by-ticker/BRK-B", "by-ticker/SHBK"):
        everything += get(api, f"/transactions/{path}?filed_at_days=36500&limit=500")["data"]
    newest = sorted(everything, key=lambda row: (row["filed_at"], row["accession_number"], _seq(row)), reverse=True)
    greatest = sorted(newest, key=lambda row: row["transaction_value"] or -1, reverse=True)
    assert len(newest) > 200
    for number, triple in enumerate(triples()):
        monkeypatch.setattr(stored, "MAX_SORTED_TRADES", (0, 20_000)[number % 2])
        holds = [WINDOWS[triple[0]], FILTERS[triple[1]], FILTERS[triple[2]]]
        query = "&".join(triple)

        def ids(rows: list[dict[str, Any]], *more: Holds, holds: list[Holds] = holds) -> list[str]:
            return [row["transaction_id"] for row in rows if all(one(row) for one in (*holds, *more))]

        assert walked(api, f"/transactions/latest?{query}") == ids(newest), query
        assert walked(api, f"/transactions/search?{query}") == ids(newest), query
        assert walked(api, f"/transactions/search?query=brook&{query}") == ids(newest, FILTERS["industry=36"]), query
        assert walked(api, f"/transactions/by-ticker/SHBK?{query}") == ids(newest, FILTERS["sector=H"]), query
        of_ann = ids(newest, lambda row: any(one["cik"] == ANN[0] for one in row["owners"]))
        assert walked(api, f"/transactions/by-insider/101?{query}") == of_ann, query
        bought = ids(greatest, lambda row: row["standard_type"] == "purchase" and row["transaction_value"] is not None)
        assert walked(api, f"/transactions/top?{query}") == bought, query


def _seq(row: dict[str, Any]) -> int:
    return int(row["transaction_id"].partition(":")[2])


@pytest.mark.slow
def test_clusters_screens_and_queries_are_what_a_filter_over_all_rows_gives(api: Client, market: App) -> None:
    made_up(market)
    everything = []
    for path in ("by-ticker/BRK-B", "by-ticker/SHBK"):
        everything += get(api, f"/transactions/{path}?filed_at_days=36500&limit=500")["data"]
    trades = [row for row in everything if row["transaction_code"] in "PS"]
    for window in WINDOWS:
        within = [row for row in trades if WINDOWS[window](row)]
        for least in (1, 2, 3):
            groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for row in within:
                groups.setdefault((row["ticker"], row["transaction_code"]), []).append(row)
            sums = [
                (len({one["insider_cik"] for one in rows}), int(sum(map(_exact, rows)) + 0.5), *key, len(rows))
                for key, rows in groups.items()
            ]
            expected = sorted((one for one in sums if one[0] >= least), key=lambda one: (-one[0], -one[1]))
            plain = "exclude_10b5_1=false&exclude_cashless=false&exclude_sell_to_cover=false"
            found = get(api, f"/clusters?{window}&min_insiders={least}&{plain}")
            assert [
                (
                    one["insider_count"],
                    one["total_value"],
                    one["ticker"],
                    _CODES[one["cluster_type"]],
                    one["transaction_count"],
                )
                for one in found
            ] == expected, (window, least)
        screened = get(api, f"/screen?{window}&sort_by=total_transactions")["results"]
        counts = {ticker: sum(row["ticker"] == ticker for row in within) for ticker in ("BRK-B", "SHBK")}
        assert {one["ticker"]: one["total_transactions"] for one in screened} == {
            ticker: count for ticker, count in counts.items() if count
        }
    numbers = {row["accession_number"]: row for row in everything}
    ordered = sorted(numbers.values(), key=lambda row: (row["filed_at"], row["accession_number"]), reverse=True)
    of_form: dict[str, set[str]] = {}
    for row in everything:
        of_form.setdefault(row["accession_number"], set()).add(row["transaction_code"])
    terms: list[tuple[str, Holds]] = [
        ("issuer.tradingSymbol:SHBK", lambda row: row["ticker"] == "SHBK"),
        ("reportingOwner.cik:101", lambda row: any(one["cik"] == ANN[0] for one in row["owners"])),
        ("filedAt:[2025-05-01 TO 2025-10-31]", between("filed_at", "2025-05-01", "2025-10-31")),
        ("periodOfReport:[2025-03-01 TO 2025-08-31]", between("transaction_date", "2025-03-01", "2025-08-31")),
        ("transactionCode:P", lambda row: "P" in of_form[row["accession_number"]]),
        ("shade", lambda row: row["ticker"] == "SHBK" or any("Shade" in one["name"] for one in row["owners"])),
    ]
    for (one, a), (two, b), (three, c) in itertools.permutations(terms, 3):
        query = f"{one} AND ({two} OR NOT {three})"
        forms_found = [row["accession_number"] for row in ordered if a(row) and (b(row) or not c(row))]
        pages: list[str] = []
        while not pages or len(pages) % 50 == 0:
            body = {"query": query, "from": len(pages), "size": 50}
            page = api.post(f"{INSIDERS}/query", body).json["transactions"]
            pages += [form["accessionNo"] for form in page]
            if not page:
                break
        assert pages == forms_found, query


_CODES = {"buy": "P", "sell": "S"}


def _exact(row: dict[str, Any]) -> float:
    return float(row["shares"] or 0) * float(row["price_per_share"] or 0)
