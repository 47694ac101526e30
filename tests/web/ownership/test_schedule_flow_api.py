"""What the Schedules 13D and 13G of a window tell together: by company, by sector, by industry."""

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
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.ownership import schedule_store
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED
from tests.support import schedule_xml as made

BASE = "/api/v1/ownership/aggregation"
APPLE = ("0000320193", "Apple Inc.", "037833100")
WINDOW = {"dateFrom": "2025-01-01", "dateTo": "2025-12-31"}
GROUPINGS = ("ticker", "sector", "industry")


def put(app: App, data: bytes, accession: str, day: str | None) -> None:
    with app.db.write() as tx:
        schedule_store.upsert(
            tx, parser.parse(data, "f"), FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day), NOW
        )


@pytest.fixture
def client(app: App) -> Client:
    """About Apple a 13G, and a 13D of two persons whose amendment has 200 shares and two points less."""
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "Apple Inc.", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 320193, [("AAPL", None)], companies.FROM_LIST)
        companies.update_attributes(tx, 320193, companies.FiledAttributes(sic=3571), 1, "2025-01-01")
    about: dict[str, Any] = {"issuer": APPLE, "cusip": APPLE[2]}
    fund = made.person(made.FUND, "12", "0.12", schedule="G")
    put(app, made.g(fund, filer=made.FUND[0], **about), "0000000104-25-000001", "2025-08-14")
    group = (made.person(made.BEN, "900", "9.0", member="a"), made.person(made.WICK, "800", "8.0", member="a"))
    put(app, made.d(*group, filer="0000000102", **about), "0000000102-25-000001", "2025-03-05")
    less = (made.person(made.BEN, "700", "7.0", member="a"), made.person(made.WICK, "600", "6.0", member="a"))
    amended: dict[str, Any] = {"form": "SCHEDULE 13D/A", "number": "1", "event": "05/01/2025", "filer": "0000000102"}
    put(app, made.d(*less, **amended, **about), "0000000102-25-000002", "2025-05-05")
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def get(client: Client, by: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"{BASE}/by-{by}", query=query)
    assert answer.status == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


def test_schedules_of_a_window_are_counted_by_company(client: Client) -> None:
    (found,) = get(client, "ticker", **WINDOW)["data"]
    assert (found["group"], found["issuer_name"], found["issuer_cik"]) == ("AAPL", "Apple Inc.", "0000320193")
    assert (found["filings"], found["companies"], found["holders"]) == (3, 1, 2)
    counts = {"new_positions": 1, "amendments": 0, "increases": 0, "decreases": 0, "unchanged": 0, "no_delta": 0}
    assert found["form_13g"] == {"filings": 1, **counts}
    dollars = dict.fromkeys(("inflow_usd", "outflow_usd", "net_flow_usd"))
    assert found["form_13d"] == {
        "filings": 2,
        **counts,
        "amendments": 1,
        "decreases": 1,
        **dollars,
        "priced_filings": 0,
        "unpriced_filings": 1,
    }
    assert found["conversions"] == {"to_13d": 0, "to_13g": 0, "total": 0}


def test_a_change_of_shares_is_worth_the_close_of_its_day_or_the_week_before(client: Client, app: App) -> None:
    def flow(close: bytes, day: bytes) -> tuple[Any, ...]:
        with app.db.write() as tx:
            price_store.upsert(
                tx, price_csv.parse(b"date,close,ticker\n%b,%b,AAPL\n" % (day, close), "f", "f.csv"), day
            )
        found = get(client, "sector", **WINDOW)["data"][0]["form_13d"]
        return found["inflow_usd"], found["outflow_usd"], found["net_flow_usd"], found["priced_filings"]

    assert flow(b"90", b"2025-05-02") == (None, None, None, 0)
    assert flow(b"95", b"2025-04-24") == (None, None, None, 0)
    assert flow(b"100.25", b"2025-04-25") == (0, 20050, -20050, 1)
    assert flow(b"101", b"2025-05-01") == (0, 20200, -20200, 1)


def test_made_up_prices_tell_no_dollars(client: Client, app: App) -> None:
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(b"date,close,ticker\n2025-05-01,100,AAPL\n", "f", "f.csv"), b"1")
        tx._connection.execute("UPDATE price_series SET synthetic = 1")
    assert get(client, "ticker", **WINDOW)["data"][0]["form_13d"]["net_flow_usd"] is None


def test_shares_are_compared_across_a_split(client: Client, app: App) -> None:
    csv = b"date,close,stock splits,ticker\n2025-04-01,50,2,AAPL\n2025-05-01,50,0,AAPL\n"
    with app.db.write() as tx:
        price_store.upsert(tx, price_csv.parse(csv, "f", "f.csv"), b"split")
    # 900 shares of before are 1,800 of those whose 700 are left.
    assert get(client, "ticker", **WINDOW)["data"][0]["form_13d"]["outflow_usd"] == 1100 * 50


def test_a_filing_on_the_other_schedule_is_a_conversion_and_no_change(client: Client, app: App) -> None:
    about: dict[str, Any] = {"issuer": APPLE, "cusip": APPLE[2], "filer": made.FUND[0]}
    put(app, made.d(made.person(made.FUND, "20", "0.2"), **about), "0000000104-25-000002", "2025-09-14")
    answer = get(client, "ticker", **WINDOW)
    (found,) = answer["data"]
    assert found["conversions"] == {"to_13d": 1, "to_13g": 0, "total": 1}
    activist = found["form_13d"]
    assert (activist["filings"], activist["increases"], activist["new_positions"]) == (3, 0, 1)
    assert answer["meta"]["coverage"]["conversions_excluded_from_flow"] == 1


def test_what_no_group_has_and_what_has_no_day_is_told(client: Client, app: App) -> None:
    put(app, made.d(made.person(made.BEN), filer=made.BEN[0]), "0000000102-25-000077", None)
    blank = made.person(percent=None, schedule="G")
    put(app, made.g(blank, form="SCHEDULE 13G/A"), "0000000103-25-000078", "2025-04-01")
    for by in GROUPINGS:
        meta = get(client, by, **WINDOW)["meta"]
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


def test_a_window_is_thirty_days_unless_told_and_says_so(client: Client) -> None:
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


@pytest.mark.parametrize(
    ("query", "param"),
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
def test_what_is_not_meant_is_refused_by_name(client: Client, query: dict[str, str], param: str) -> None:
    answer = client.get(f"{BASE}/by-sector", query=query)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", param)


def test_the_first_and_the_last_year_of_the_calendar_are_windows(client: Client) -> None:
    for day in ("0001-01-01", "9999-12-31"):
        assert get(client, "ticker", dateFrom=day, dateTo=day)["data"] == []
    assert get(client, "ticker", dateTo="0001-01-01")["meta"]["dateFrom"] == "0001-01-01"


# ---- judged


class Told:
    """A filing as it was put in."""

    def __init__(self, company: str, sector: str, kind: str, percent: Decimal, before: Decimal | None) -> None:
        self.group = {"ticker": company, "sector": sector}
        self.form = f"13{kind}{'/A' * (before is not None)}"
        self.percent, self.change = percent, None if before is None else percent - before


def test_groups_of_random_filters_are_a_filter_over_all(make_app: Callable[..., App]) -> None:
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
            companies.update_attributes(tx, cik, companies.FiledAttributes(sic=sectors[sector]), 1, "2025-01-01")
    known: list[tuple[str, Told]] = []
    last: dict[tuple[str, int], Decimal] = {}
    for number in range(160):
        ticker, filer = f"T{chance.randrange(9)}", chance.randrange(12)
        kind = "DG"[filer % 2]
        before = last.get((ticker, filer))
        percent = Decimal(chance.randrange(10, 120)) / 10
        last[ticker, filer] = percent
        day = (date(2025, 1, 1) + timedelta(number)).isoformat()
        cik, sector = names[ticker]
        who = (f"{7_000 + filer:010}", f"Filer {filer}")
        write = made.d if kind == "D" else made.g
        person = made.person(who, "100", str(percent), schedule=kind)
        paper = write(
            person,
            form=f"SCHEDULE 13{kind}{'/A' if before is not None else ''}",
            filer=who[0],
            issuer=(f"{cik:010}", f"Issuer {cik - 8000}", "037833100"),
            cusip="037833100",
        )
        put(app, paper, f"{who[0]}-25-{number:06}", day)
        known.append((day, Told(ticker, sector, kind, percent, before)))
    choices = {
        "formType": ("13D", "13G", "13D/A"),
        "minOwnership": ("3", "5.5"),
        "maxOwnership": ("8", "10"),
        "direction": ("increase", "decrease", "up", "unchanged"),
        "minPercentChange": ("1", "2.5"),
        "dateFrom": ("2025-02-15", "2025-04-01"),
        "dateTo": ("2025-05-01", "2025-05-20"),
    }
    some = 0
    for _ in range(60):
        query = {name: chance.choice(choices[name]) for name in chance.sample(sorted(choices), 3)}
        by = chance.choice(("ticker", "sector"))
        expected: dict[str, int] = {}
        for day, one in known:
            if held({**WINDOW, **query}, day, one):
                expected[one.group[by]] = expected.get(one.group[by], 0) + 1
        ordered = sorted(expected.items(), key=lambda one: (-one[1], one[0]))
        walked: list[tuple[str, int]] = []
        for at in range(0, 12, 4):
            page = get(client, by, **{**WINDOW, **query}, limit=4, offset=at)
            walked += [(one["group"], one["filings"]) for one in page["data"]]
            assert page["meta"]["has_more"] == (at + 4 < len(expected))
        assert walked == ordered, query
        some += bool(expected)
    assert some > 20


def held(query: Mapping[str, str], day: str, one: Told) -> bool:
    """Whether a filing is what a query counts."""
    change, way = one.change, {"up": "increase"}.get(query.get("direction", ""), query.get("direction"))
    least = Decimal(query.get("minPercentChange", "0"))
    signs = {"increase": 1, "decrease": -1, "unchanged": 0}
    return (
        query["dateFrom"] <= day <= query["dateTo"]
        and query.get("formType", "")[:3] in ("", one.form[:3])
        and (query.get("formType") != "13D/A" or one.form == "13D/A")
        and one.percent >= Decimal(query.get("minOwnership", "0"))
        and one.percent <= Decimal(query.get("maxOwnership", "100"))
        and (way is None or (change is not None and (change > 0) - (change < 0) == signs[way]))
        and (not least or (change is not None and abs(change) >= least))
    )
