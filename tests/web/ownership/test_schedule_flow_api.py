"""Endpoints for totals over Schedules 13D and 13G by company, sector and industry."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import schedules as parser
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.ownership import schedule_store
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED
from tests.support import schedule_xml as made
from tests.support.case_tables import run_each_case

BASE = "/api/v1/ownership/aggregation"
APPLE = ("0000320193", "Apple Inc.", "037833100")
WINDOW = {"dateFrom": "2025-01-01", "dateTo": "2025-12-31"}
GROUPINGS = ("ticker", "sector", "industry")


def store_schedule(app: App, data: bytes, accession: str, day: str | None) -> None:
    with app.db.write() as tx:
        schedule_store.upsert(
            tx, parser.parse(data, "f"), FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day), NOW
        )


@pytest.fixture
def client(app: App) -> Client:
    """Return a client. About Apple, there are a 13G and a 13D whose amendment has 200 shares and two points less."""
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "Apple Inc.", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 320193, [("AAPL", None)], companies.FROM_LIST)
        companies.update_attributes(tx, 320193, CompanyAttributes(sic=3571), 1, "2025-01-01")
    about: dict[str, Any] = {"issuer": APPLE, "cusip": APPLE[2]}
    fund = made.person(made.FUND, "12", "0.12", schedule="G")
    store_schedule(app, made.g(fund, filer=made.FUND[0], **about), "0000000104-25-000001", "2025-08-14")
    group = (made.person(made.BEN, "900", "9.0", member="a"), made.person(made.WICK, "800", "8.0", member="a"))
    store_schedule(app, made.d(*group, filer="0000000102", **about), "0000000102-25-000001", "2025-03-05")
    less = (made.person(made.BEN, "700", "7.0", member="a"), made.person(made.WICK, "600", "6.0", member="a"))
    amended: dict[str, Any] = {"form": "SCHEDULE 13D/A", "number": "1", "event": "05/01/2025", "filer": "0000000102"}
    store_schedule(app, made.d(*less, **amended, **about), "0000000102-25-000002", "2025-05-05")
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def get(client: Client, grouped_by: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"{BASE}/by-{grouped_by}", query=query)
    assert answer.status == 200, answer.json
    body: dict[str, Any] = answer.json
    return body


def test_schedules_are_totalled_by_company(client: Client) -> None:
    (group,) = get(client, "ticker", **WINDOW)["data"]
    assert (group["group"], group["issuer_name"], group["issuer_cik"]) == ("AAPL", "Apple Inc.", "0000320193")
    assert (group["filings"], group["companies"], group["holders"]) == (3, 1, 2)
    counts = {"new_positions": 1, "amendments": 0, "increases": 0, "decreases": 0, "unchanged": 0, "no_delta": 0}
    assert group["form_13g"] == {"filings": 1, **counts}
    dollars = dict.fromkeys(("inflow_usd", "outflow_usd", "net_flow_usd"))
    assert group["form_13d"] == {
        "filings": 2,
        **counts,
        "amendments": 1,
        "decreases": 1,
        **dollars,
        "priced_filings": 0,
        "unpriced_filings": 1,
    }
    assert group["conversions"] == {"to_13d": 0, "to_13g": 0, "total": 0}


def test_change_is_valued_at_the_close_of_the_last_week(client: Client, app: App) -> None:
    def get_flow(close: bytes, day: bytes) -> tuple[Any, ...]:
        with app.db.write() as tx:
            price_store.upsert(
                tx, price_csv.parse(b"date,close,ticker\n%b,%b,AAPL\n" % (day, close), "f", "f.csv"), day
            )
        totals = get(client, "sector", **WINDOW)["data"][0]["form_13d"]
        return totals["inflow_usd"], totals["outflow_usd"], totals["net_flow_usd"], totals["priced_filings"]

    assert get_flow(b"90", b"2025-05-02") == (None, None, None, 0)
    assert get_flow(b"95", b"2025-04-24") == (None, None, None, 0)
    assert get_flow(b"100.25", b"2025-04-25") == (0, 20050, -20050, 1)
    assert get_flow(b"101", b"2025-05-01") == (0, 20200, -20200, 1)


def test_synthetic_prices_give_no_dollars(client: Client, app: App) -> None:
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(b"date,close,ticker\n2025-05-01,100,AAPL\n", "f", "f.csv"), b"1")
        tx._connection.execute("UPDATE price_series SET synthetic = 1")
    assert get(client, "ticker", **WINDOW)["data"][0]["form_13d"]["net_flow_usd"] is None


def test_shares_are_compared_across_a_split(client: Client, app: App) -> None:
    csv = b"date,close,stock splits,ticker\n2025-04-01,50,2,AAPL\n2025-05-01,50,0,AAPL\n"
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(csv, "f", "f.csv"), b"split")
    # 900 shares before the split are 1,800 after it, of which 700 are left.
    assert get(client, "ticker", **WINDOW)["data"][0]["form_13d"]["outflow_usd"] == 1100 * 50


def test_conversion_is_not_an_increase(client: Client, app: App) -> None:
    about: dict[str, Any] = {"issuer": APPLE, "cusip": APPLE[2], "filer": made.FUND[0]}
    store_schedule(app, made.d(made.person(made.FUND, "20", "0.2"), **about), "0000000104-25-000002", "2025-09-14")
    answer = get(client, "ticker", **WINDOW)
    (group,) = answer["data"]
    assert group["conversions"] == {"to_13d": 1, "to_13g": 0, "total": 1}
    activist = group["form_13d"]
    assert (activist["filings"], activist["increases"], activist["new_positions"]) == (3, 0, 1)
    assert answer["meta"]["coverage"]["conversions_excluded_from_flow"] == 1


def test_meta_counts_ungrouped_and_undated_filings(client: Client, app: App) -> None:
    store_schedule(app, made.d(made.person(made.BEN), filer=made.BEN[0]), "0000000102-25-000077", None)
    blank = made.person(percent=None, schedule="G")
    store_schedule(app, made.g(blank, form="SCHEDULE 13G/A"), "0000000103-25-000078", "2025-04-01")
    for grouped_by in GROUPINGS:
        meta = get(client, grouped_by, **WINDOW)["meta"]
        assert (meta["undated_left_out"], meta["totalGroups"], meta["returned"]) == (1, 1, 1)
        assert meta["coverage"] == {
            "filings_in_window": 4,
            "filings_grouped": 3,
            "filings_ungrouped": 1,
            "filings_13d": 2,
            "filings_13g": 2,
            "conversions_excluded_from_flow": 0,
            "amendments_without_delta": 1,
            "filings_13d_priced": 0,
            "filings_13d_unpriced": 1,
        }


def test_default_window_is_thirty_days(client: Client) -> None:
    def window(**query: str) -> tuple[str, str]:
        meta = get(client, "ticker", **query)["meta"]
        return meta["dateFrom"], meta["dateTo"]

    assert window() == ("2026-01-01", "2026-01-31")
    assert window(dateTo="2025-03-31") == ("2025-03-01", "2025-03-31")
    assert window(dateTo="2025-03-31", days="90") == ("2024-12-31", "2025-03-31")
    assert window(days="7") == ("2026-01-24", "2026-01-31")
    assert get(client, "ticker")["meta"]["days"] == 30
    assert get(client, "ticker", dateFrom="2025-12-31")["meta"]["days"] is None
    assert window(dateFrom="2025-12-01") == ("2025-12-01", "2026-01-31")
    assert window(dateFrom="2027-01-01") == ("2027-01-01", "2027-01-01")
    assert window(dateTo="1970-01-03") == ("1970-01-02", "1970-01-03")


@run_each_case(
    "query, param",
    [
        ({"dateFrom": "2024-01-01", "dateTo": "2025-01-02"}, "dateFrom"),
        ({"dateFrom": "0001-01-01"}, "dateFrom"),
        ({"dateFrom": "2025-02-30"}, "dateFrom"),
        ({"direction": "sideways"}, "direction"),
        ({"formType": "13F"}, "formType"),
        ({"minOwnership": "1e999"}, "minOwnership"),
        ({"minPercentChange": "-1"}, "minPercentChange"),
        ({"maxOwnership": "x' OR 1"}, "maxOwnership"),
        ({"offset": "-1"}, "offset"),
    ],
)
def test_invalid_parameter_is_refused(client: Client, query: dict[str, str], param: str) -> None:
    answer = client.get(f"{BASE}/by-sector", query=query)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", param)


def test_window_may_be_the_first_or_last_year_of_the_calendar(client: Client) -> None:
    for day in ("0001-01-01", "9999-12-31"):
        assert get(client, "ticker", dateFrom=day, dateTo=day)["data"] == []
    assert get(client, "ticker", dateTo="0001-01-01")["meta"]["dateFrom"] == "0001-01-01"


# ---- random filters


class StoredFiling:
    """The facts of a stored filing that filters use."""

    def __init__(self, company: str, sector: str, kind: str, percent: Decimal, before: Decimal | None) -> None:
        self.group = {"ticker": company, "sector": sector}
        self.form = f"13{kind}{'/A' * (before is not None)}"
        self.percent, self.change = percent, None if before is None else percent - before


@pytest.mark.slow
def test_random_filters_agree_with_a_filter_in_python(make_app: Callable[..., App]) -> None:
    chance, app = random.Random(31), make_app(**LIFTED)
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    sectors = {"Manufacturing": 3571, "Retail Trade": 5411, "Mining": 1311}
    names: dict[str, tuple[int, str]] = {}
    with app.db.write() as tx:
        for number in range(9):
            cik, sector = 8_000 + number, [*sectors][number % 3]
            names[f"T{number}"] = cik, sector
            companies.upsert_name(tx, cik, f"Issuer {number}", companies.FROM_LIST, "")
            companies.upsert_tickers(tx, cik, [(f"T{number}", None)], companies.FROM_LIST)
            companies.update_attributes(tx, cik, CompanyAttributes(sic=sectors[sector]), 1, "2025-01-01")
    stored: list[tuple[str, StoredFiling]] = []
    last: dict[tuple[str, int], Decimal] = {}
    for number in range(160):
        ticker, filer = f"T{chance.randrange(9)}", chance.randrange(12)
        kind = "DG"[filer % 2]
        before = last.get((ticker, filer))
        percent = Decimal(chance.randrange(10, 120)) / 10
        last[ticker, filer] = percent
        day = (date(2025, 1, 1) + timedelta(number)).isoformat()
        cik, sector = names[ticker]
        filer_party = (f"{7_000 + filer:010}", f"Filer {filer}")
        write = made.d if kind == "D" else made.g
        person = made.person(filer_party, "100", str(percent), schedule=kind)
        paper = write(
            person,
            form=f"SCHEDULE 13{kind}{'/A' if before is not None else ''}",
            filer=filer_party[0],
            issuer=(f"{cik:010}", f"Issuer {cik - 8000}", "037833100"),
            cusip="037833100",
        )
        store_schedule(app, paper, f"{filer_party[0]}-25-{number:06}", day)
        stored.append((day, StoredFiling(ticker, sector, kind, percent, before)))
    choices = {
        "formType": ("13D", "13G", "13D/A"),
        "minOwnership": ("3", "5.5"),
        "maxOwnership": ("8", "10"),
        "direction": ("increase", "decrease", "up", "unchanged"),
        "minPercentChange": ("1", "2.5"),
        "dateFrom": ("2025-02-15", "2025-04-01"),
        "dateTo": ("2025-05-01", "2025-05-20"),
    }
    queries_with_groups = 0
    for _ in range(60):
        query = {name: chance.choice(choices[name]) for name in chance.sample(sorted(choices), 3)}
        grouped_by = chance.choice(("ticker", "sector"))
        expected: dict[str, int] = {}
        for day, filing in stored:
            if matches({**WINDOW, **query}, day, filing):
                expected[filing.group[grouped_by]] = expected.get(filing.group[grouped_by], 0) + 1
        ordered = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0]))
        walked: list[tuple[str, int]] = []
        for at in range(0, 12, 4):
            page = get(client, grouped_by, **{**WINDOW, **query}, limit=4, offset=at)
            walked += [(group["group"], group["filings"]) for group in page["data"]]
            assert page["meta"]["has_more"] == (at + 4 < len(expected))
        assert walked == ordered, query
        queries_with_groups += bool(expected)
    assert queries_with_groups > 20


def matches(query: Mapping[str, str], day: str, filing: StoredFiling) -> bool:
    """Return True if a query counts a filing."""
    change, direction = filing.change, {"up": "increase"}.get(query.get("direction", ""), query.get("direction"))
    least = Decimal(query.get("minPercentChange", "0"))
    signs = {"increase": 1, "decrease": -1, "unchanged": 0}
    return (
        query["dateFrom"] <= day <= query["dateTo"]
        and query.get("formType", "")[:3] in ("", filing.form[:3])
        and (query.get("formType") != "13D/A" or filing.form == "13D/A")
        and filing.percent >= Decimal(query.get("minOwnership", "0"))
        and filing.percent <= Decimal(query.get("maxOwnership", "100"))
        and (direction is None or (change is not None and (change > 0) - (change < 0) == signs[direction]))
        and (not least or (change is not None and abs(change) >= least))
    )
