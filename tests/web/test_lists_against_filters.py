"""Lists under random triples of filters, each judged by a filter over all that was put in: its set and its order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from finapi.accounts.users import NewUser
from finapi.app import App
from finapi.edgar import cusip, ownership_forms, sale_notices
from finapi.edgar import schedules as parser
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store as insiders
from finapi.market.ownership import sale_notice_store, schedule_store
from finapi.market.prices import price_csv, price_store
from finapi.market.reference import companies
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED
from tests.support import fund_filings as ours
from tests.support import ownership_xml, schedule_xml, thirteenf_xml
from tests.support.fund_filings import submission, take

API = "/api/v1"
Known = dict[str, Any]
# What a parameter may be given, and what then holds of a row; without a judge it orders rows, or shows more of them.
Judge = Callable[[Known], bool]
Choices = Mapping[str, Mapping[str, Judge | None]]
FIRST = date(2025, 1, 1)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    """A store for a caller without limits."""
    return make_app(**LIFTED)


def asked(choices: Choices, seed: str, times: int = 25) -> Iterable[dict[str, str]]:
    """Random triples of parameters with a value each, the same every time."""
    chance = random.Random(seed)
    for _ in range(times):
        names = chance.sample(sorted(choices), min(3, len(choices)))
        yield {name: chance.choice(sorted(choices[name])) for name in names}


def held(choices: Choices, query: Mapping[str, str], rows: Iterable[Known]) -> list[Known]:
    """The rows of which everything holds that is asked for."""
    judges = [judge for name, value in query.items() if (judge := choices[name][value]) is not None]
    return [row for row in rows if all(judge(row) for judge in judges)]


def walked(
    client: Client, path: str, query: Mapping[str, str], rows: str, key: Callable[[Any], Any], *, size: str = "limit"
) -> list[Any]:
    """The keys of the rows of all pages, seven at a time."""
    found, more = list[Any](), True
    while more:
        place = {"page": len(found) // 7 + 1} if size == "size" else {"offset": len(found)}
        answer = client.get(f"{API}{path}", query={**query, size: 7, **place})
        assert answer.status == 200, (query, answer.json)
        page = answer.json
        for name in rows.split("."):
            page = page[name]
        found += [key(one) for one in page]
        more = len(page) == 7
        assert len(found) < 1_000, f"{path} does not end"
    return found


def day(number: int) -> str:
    return (FIRST + timedelta(number)).isoformat()


def judge(
    client: Client,
    path: str,
    choices: Choices,
    known: Iterable[Known],
    rows: str,
    key: Callable[[Any], Any],
    order: Callable[[list[Known], Mapping[str, str]], list[Known]],
    always: Mapping[str, str] = MappingProxyType({}),
    **more: Any,
) -> None:
    """Every triple's pages are the rows that a filter over all gives, in their order; some of them have rows."""
    known, some = list(known), 0
    for query in asked(choices, path):
        expected = [one["key"] for one in order(held(choices, query, known), query)]
        assert walked(client, path, {**query, **always}, rows, key, **more) == expected, query
        some += bool(expected)
    assert some > 5


# ---- queries in bodies: terms of a query language, joined at random

Term = tuple[str, Judge]


def queries(terms: list[Term], seed: str, times: int = 25) -> Iterable[tuple[str, Judge]]:
    """Random triples of terms joined by AND, OR and NOT, and what holds of a row that they find."""
    chance = random.Random(seed)
    for _ in range(times):
        (one, a), (two, b), (three, c) = chance.sample(terms, 3)
        yield chance.choice(
            [
                (f"{one} AND {two} AND {three}", lambda row, a=a, b=b, c=c: a(row) and b(row) and c(row)),
                (f"{one} AND ({two} OR {three})", lambda row, a=a, b=b, c=c: a(row) and (b(row) or c(row))),
                (f"({one} OR {two}) AND NOT {three}", lambda row, a=a, b=b, c=c: (a(row) or b(row)) and not c(row)),
            ]
        )


def asked_for(client: Client, path: str, body: Mapping[str, Any], rows: str, key: Callable[[Any], Any]) -> list[Any]:
    """The keys of the rows of all pages of a list that is asked for by a body, seven at a time."""
    found, more = list[Any](), True
    while more:
        answer = client.post(f"{API}{path}", {**body, "from": len(found), "size": 7})
        assert answer.status == 200, (body, answer.json)
        page = answer.json[rows]
        found += [key(one) for one in page]
        more = len(page) == 7
    return found


# ---- 13F


def securities(count: int) -> list[str]:
    bases = [f"{number:08}" for number in range(10_000_000, 10_000_000 + count * 977, 977)]
    return [base + cusip.compute_check_digit(base) for base in bases]


@pytest.fixture
def fund(app: App, client: Client, user: NewUser, tmp_path: Path) -> list[Known]:
    """What a fund held of fifty securities in two quarters, some of it as calls."""
    chance, known = random.Random(13), list[Known]()
    tables: dict[str, list[str]] = {"06-30-2025": [], "09-30-2025": []}
    for number, paper in enumerate(securities(50)):
        call = "Call" if chance.random() < 0.3 else None
        before, now = chance.choice([(0, 1), (1, 0), (1, 1), (2, 3), (5, 4)])
        unit = 10 + number
        one: Known = {
            "key": (paper, call),
            "name": f"{chance.choice(('LAMP', 'RIVER'))} {number} {chance.choice(('CO', 'AG'))}",
            "shares": now * unit,
            "before": before * unit,
            "value": now * unit * (1_000 - 7 * number),
            "call": call,
        }
        for period, amount in (("06-30-2025", before * unit), ("09-30-2025", now * unit)):
            if amount:
                value = amount * (1_000 - 7 * number)
                more = {"nameOfIssuer": one["name"], "putCall": call}
                tables[period].append(thirteenf_xml.row(paper, value, amount, **more))
        known.append(one)
    filed = {"06-30-2025": "2025-08-14", "09-30-2025": "2025-11-14"}
    papers = [
        submission(number, (period, filed[period], []), extra="".join(rows))
        for number, (period, rows) in enumerate(tables.items(), 1)
    ]
    take(app, tmp_path, *papers)
    client.key = user.api_key
    return known


def _changed(one: Known) -> str:
    if not one["before"]:
        return "new"
    if not one["shares"]:
        return "closed"
    difference = one["shares"] - one["before"]
    return "increased" if difference > 0 else "decreased" if difference < 0 else "unchanged"


def test_positions_of_a_fund_are_a_filter_over_all(client: Client, fund: list[Known]) -> None:
    statuses = ("new", "increased", "decreased", "unchanged", "closed")
    choices: Choices = {
        "status": {**{one: lambda row, one=one: _changed(row) == one for one in statuses}, "all": None},
        "q": {"lamp": lambda row: "LAMP" in row["name"], "r 1": lambda row: "R 1" in row["name"]},
        "include_options": {"true": None},
        "options_only": {"true": None},
        "sort_by": dict.fromkeys(("value", "shares", "name", "change")),
        "sort_order": dict.fromkeys(("asc", "desc")),
    }

    def order(rows: list[Known], query: Mapping[str, str]) -> list[Known]:
        if "options_only" in query:
            rows = [one for one in rows if one["call"]]
        elif "include_options" not in query:
            rows = [one for one in rows if not one["call"]]
        if query.get("status", "all") == "all":
            rows = [one for one in rows if one["shares"]]
        by, down = query.get("sort_by", "value"), query.get("sort_order") != "asc"
        rows = sorted(rows, key=lambda one: (-one["value"], one["key"][0]))
        of = {"change": lambda one: one["shares"] - one["before"] if one["before"] else None}
        values = [(of.get(by, lambda one: one[by])(one), one) for one in rows]
        told = sorted((pair for pair in values if pair[0] is not None), key=lambda pair: pair[0], reverse=down)
        return [one for _, one in told] + [one for value, one in values if value is None]

    path = f"/form-13f/fund/{int(thirteenf_xml.LAMP_FUND)}"
    judge(client, path, choices, fund, "holdings", lambda one: (one["cusip"], one["put_call"]), order)


def test_queried_positions_are_a_filter_over_all(client: Client, fund: list[Known]) -> None:
    papers = [one["key"][0] for one in fund]
    held = [one for one in fund if one["shares"]]
    some = 0
    terms: list[Term] = [
        (f"holdings.cusip:{papers[3]}", lambda row: row["key"][0] == papers[3]),
        (f"cusip:{papers[20]}", lambda row: row["key"][0] == papers[20]),
        ("holdings.nameOfIssuer:LAMP", lambda row: "LAMP" in row["name"]),
        ("holdings.nameOfIssuer:river", lambda row: "RIVER" in row["name"]),
        ('holdings.nameOfIssuer:"4 AG"', lambda row: "4 AG" in row["name"]),
        ("formType:13F-HR", lambda row: True),
        ("filedAt:[2025-11-01 TO 2025-11-30]", lambda row: True),
    ]
    chance = random.Random(3)
    for query, holds in queries(terms, "holdings"):
        by, down = chance.choice(("value", "shares", "name")), chance.choice(("asc", "desc"))
        expected = sorted(filter(holds, held), key=lambda one: (-one["value"], one["key"][0]))
        expected.sort(key=lambda one: one[by], reverse=down == "desc")
        body = {
            "query": f"cik:{int(thirteenf_xml.LAMP_FUND)} AND period:2025-09-30 AND ({query})",
            "sort": [{by: down}],
        }
        found = asked_for(client, "/form-13f/holdings", body, "holdings", lambda one: (one["cusip"], one["put_call"]))
        assert found == [one["key"] for one in expected], body
        some += bool(expected)
    assert some > 5


def test_holders_and_funds_are_a_filter_over_all(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known = random.Random(14), list[Known]()
    papers, words = list[bytes](), ("Amber", "River", "Lamp", "Stone")
    for number in range(1, 41):
        name = " ".join(chance.sample(words, 2)) + f" Fund {number}"
        before, now = chance.choice([(0, 2), (2, 0), (2, 2), (2, 3), (3, 1)])
        cik = f"{9_000_000 + number:010}"
        one = {"key": cik, "name": name, "before": before * number, "shares": now * number}
        base = (thirteenf_xml.MICROSOFT, 900 + number, 3)
        for quarter, (period, filed, amount) in enumerate(
            [("06-30-2025", "2025-08-14", before * number), ("09-30-2025", "2025-11-14", now * number)]
        ):
            rows = [base, *([(thirteenf_xml.APPLE, amount * 250, amount)] if amount else [])]
            told = submission(2 * number + quarter, (period, filed, rows), cik=cik, name=name)
            papers.append(told)
            one["value"] = sum(row[1] for row in rows)
        known.append(one)
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "APPLE INC", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 320193, [("AAPL", None)], companies.FROM_LIST)
    take(app, tmp_path, b"cusip,ticker\n" + thirteenf_xml.APPLE.encode() + b",AAPL\n", *papers)
    client.key = user.api_key
    statuses = ("new", "increased", "decreased", "unchanged", "closed")
    choices: Choices = {
        "status": {**{one: lambda row, one=one: _changed(row) == one for one in statuses}, "all": None},
        "period": dict.fromkeys(("2025-09-30",)),
        "quarters": dict.fromkeys(("1", "2")),
    }

    def order(rows: list[Known], query: Mapping[str, str]) -> list[Known]:
        if query["status"] == "all":
            rows = [one for one in rows if one["shares"]]
        return sorted(rows, key=lambda one: (-one["shares"], -one["before"], one["key"]))

    judge(client, "/tickers/AAPL/holders", choices, known, "data.holders", lambda one: one["cik"], order)

    def begins(*words: str) -> Judge:
        return lambda row: all(any(one.lower().startswith(word) for one in row["name"].split()) for word in words)

    texts: Choices = {
        "q": {
            "amber": begins("amber"),
            "riv": begins("riv"),
            "lamp stone": begins("lamp", "stone"),
            "fund 1": begins("fund", "1"),
            "none": begins("none"),
            "amber am": begins("amber", "am"),
        }
    }
    for path, rows in (("/form-13f/filers", "filers"), ("/form-13f/search", "results")):
        judge(
            client,
            path,
            texts,
            known,
            rows,
            lambda one: one["cik"],
            lambda found, _: sorted(found, key=lambda one: (-one["value"], one["key"])),
        )

    # Two cover pages of each fund.
    covers: list[Known] = [
        {**one, "key": ours.accession(2 * number + place), "cik": one["key"], "period": period, "filed": filed}
        for number, one in enumerate(known, 1)
        for place, (period, filed) in enumerate((("2025-06-30", "2025-08-14"), ("2025-09-30", "2025-11-14")))
    ]
    terms: list[Term] = [
        ("period:2025-09-30", lambda row: row["period"] == "2025-09-30"),
        ("filedAt:[2025-08-01 TO 2025-10-31]", lambda row: row["filed"] == "2025-08-14"),
        ("filerName:amber", begins("amber")),
        ("stone", begins("stone")),
        ("cik:9000007", lambda row: row["cik"] == "0009000007"),
        (f"accessionNo:{ours.accession(9)}", lambda row: row["key"] == ours.accession(9)),
        ("holdings.ticker:AAPL", lambda row: row["before" if row["period"] == "2025-06-30" else "shares"] > 0),
        ("formType:13F-HR", lambda row: True),
    ]
    some = 0
    for query, holds in queries(terms, "covers"):
        expected = sorted(filter(holds, covers), key=lambda one: (one["filed"], one["key"]), reverse=True)
        found = asked_for(
            client, "/form-13f/cover-pages", {"query": query}, "filings", lambda one: one["accession_number"]
        )
        assert found == [one["key"] for one in expected], query
        some += bool(expected)
    assert some > 10


SICS = {3571: ("Manufacturing", "35"), 2834: ("Manufacturing", "28"), 6022: ("Finance", "60"), None: (None, None)}
BOUNDS = {
    "total_value": (0, 5_000, 20_000),
    "fund_count": (1, 4),
    "fund_flow": (-1_000, 0, 500),
    "share_change": (0, 50),
}


@pytest.fixture
def market(app: App, client: Client, user: NewUser, tmp_path: Path) -> list[Known]:
    """Thirty securities that nine funds held in two quarters, each with what all of them did."""
    chance = random.Random(90)
    papers = [
        {
            "key": paper,
            "name": f"{chance.choice(('LAMP', 'RIVER'))} {number} CO",
            "ticker": None,
            "sic": None,
            "price": 10 + number,
            "held": {},
        }
        for number, paper in enumerate(securities(30))
    ]
    with app.db.write() as tx:
        for number, one in enumerate(papers[:24]):
            one |= {"ticker": f"T{number}", "sic": chance.choice([*SICS])}
            companies.upsert_name(tx, 500 + number, one["name"], companies.FROM_LIST, "")
            companies.upsert_tickers(tx, 500 + number, [(one["ticker"], None)], companies.FROM_LIST)
            if one["sic"]:
                companies.update_attributes(
                    tx, 500 + number, companies.FiledAttributes(sic=one["sic"]), 2, "2025-01-01"
                )
    mapping = "cusip,ticker\n" + "".join(f"{one['key']},{one['ticker']}\n" for one in papers[:24])
    reports = list[bytes]()
    for fund in range(1, 10):
        for quarter, (period, filed) in enumerate((("06-30-2025", "2025-08-14"), ("09-30-2025", "2025-11-14"))):
            rows = list[str]()
            for one in chance.sample(papers, 14):
                shares = chance.choice((10, 20, 20, 35))
                one["held"].setdefault(fund, [0, 0])[quarter] = shares
                rows.append(thirteenf_xml.row(one["key"], shares * one["price"], shares, nameOfIssuer=one["name"]))
            told = submission(
                2 * fund + quarter, (period, filed, []), extra="".join(rows), cik=f"{fund:010}", name=f"F{fund}"
            )
            reports.append(told)
    take(app, tmp_path, mapping.encode(), *reports)
    client.key = user.api_key
    for one in papers:
        held = [*one["held"].values()]
        one["share_change"] = sum(now - before for before, now in held)
        one["fund_flow"], one["total_value"] = (
            one["share_change"] * one["price"],
            sum(row[1] for row in held) * one["price"],
        )
        one["funds"] = {fund for fund, (_, now) in one["held"].items() if now}
        one["fund_count"] = len(one["funds"])
        one["sector"], one["industry"] = SICS[one["sic"]]
    return [one for one in papers if one["held"]]


def test_securities_of_a_quarter_are_a_filter_over_all(client: Client, market: list[Known]) -> None:
    def bound(name: str, value: int, sign: int) -> Judge:
        return lambda row: sign * (row[name] - value) >= 0

    choices: Choices = {
        "sector": {"Manufacturing": lambda row: row["sector"] == "Manufacturing"},
        "industry": {"60": lambda row: row["industry"] == "60", "28": lambda row: row["industry"] == "28"},
        "search": {"lamp": lambda row: "LAMP" in row["name"], "T7": lambda row: row["ticker"] == "T7"},
        "is_etf": {"false": None},
        "sort_by": dict.fromkeys(("fund_flow", "total_value", "fund_count", "share_change", "ticker", "name")),
        "sort_order": dict.fromkeys(("asc", "desc")),
        **{
            f"{end}_{name}": {str(value): bound(name, value, sign) for value in values}
            for name, values in BOUNDS.items()
            for end, sign in (("min", 1), ("max", -1))
        },
    }

    def order(rows: list[Known], query: Mapping[str, str]) -> list[Known]:
        by, down = query.get("sort_by", "fund_flow"), query.get("sort_order") != "asc"
        rows = sorted(rows, key=lambda one: (-one["total_value"], one["key"]))
        told = sorted((one for one in rows if one[by] is not None), key=lambda one: one[by], reverse=down)
        return told + [one for one in rows if one[by] is None]

    path = "/form-13f/aggregation/by-ticker"
    always = {"quarter": "2025-09-30"}
    judge(client, path, choices, market, "data.tickers", lambda one: one["cusip"], order, always=always)


@pytest.mark.parametrize("sort", ["fund_flow", "total_value", "fund_count"])
def test_industries_are_sums_over_all(client: Client, market: list[Known], sort: str) -> None:
    groups: dict[str, list[Known]] = {}
    for one in market:
        if one["industry"]:
            groups.setdefault(one["industry"], []).append(one)
    sums = sorted(
        (
            {
                "fund_flow": sum(one["fund_flow"] for one in rows),
                "total_value": sum(one["total_value"] for one in rows),
                "fund_count": len({fund for one in rows for fund in one["funds"]}),
                "cusip_count": len(rows),
                "total_positions": sum(one["fund_count"] for one in rows),
            }
            # Of equals in the order of their names: depository institutions, chemicals, machinery.
            for rows in map(groups.__getitem__, ("60", "28", "35"))
        ),
        key=lambda one: -one[sort],
    )
    path = "/form-13f/aggregation/by-industry"
    found = client.get(f"{API}{path}?quarter=2025-09-30&sort_by={sort}").json["data"]
    assert [
        (one["fund_flow"], one["total_value"], one["unique_fund_count"], one["cusip_count"], one["total_positions"])
        for one in found["industries"]
    ] == [tuple(one.values()) for one in sums]
    assert found["total_institutional_value"] == sum(one["total_value"] for one in market)
    walked = [
        client.get(f"{API}{path}?quarter=2025-09-30&sort_by={sort}&limit=1&offset={place}").json["data"]["industries"]
        for place in range(len(sums))
    ]
    assert [row for page in walked for row in page] == found["industries"]


# ---- Forms 144 and schedules

SHADE = ("0000000777", "Shade Works Corp", "594918104")


def test_notices_of_sale_are_a_filter_over_all(app: App, client: Client, user: NewUser) -> None:
    chance, known = random.Random(144), list[Known]()
    with app.db.write() as tx:
        for number in range(1, 61):
            issuer = chance.choice((schedule_xml.LAMPS, SHADE))
            form, filed = chance.choice(("144", "144", "144/A")), day(7 * chance.randrange(20))
            one = {"key": f"0000000101-25-{number:06}", "form": form, "day": filed, "issuer": issuer[0]}
            told = FilingMetadata(one["key"], DOCUMENT_EVIDENCE, filed_at=filed)
            paper = schedule_xml.notice(schedule_xml.sale(str(number)), form=form, issuer=issuer)
            sale_notice_store.upsert(tx, sale_notices.parse(paper, one["key"]), told, NOW)
            known.append(one)
        for cik, ticker in ((1234567, "LAMP"), (777, "SHDE")):
            companies.upsert_tickers(tx, cik, [(ticker, None)], companies.FROM_FILING_LIST, "2025-01-01")
    client.key = user.api_key
    choices: Choices = {
        "from_date": {day(28): lambda row: row["day"] >= day(28), day(50): lambda row: row["day"] >= day(50)},
        "to_date": {day(90): lambda row: row["day"] <= day(90), day(63): lambda row: row["day"] <= day(63)},
        "is_amendment": {"true": lambda row: row["form"] == "144/A", "false": lambda row: row["form"] == "144"},
        "ticker": {"LAMP": lambda row: row["issuer"] == "0001234567", "777": lambda row: row["issuer"] == SHADE[0]},
    }
    judge(
        client,
        "/insiders/form-144/latest",
        choices,
        known,
        "data",
        lambda one: one["accession_number"],
        lambda rows, _: sorted(rows, key=lambda one: (one["day"], one["key"]), reverse=True),
    )


def test_schedules_are_a_filter_over_all(app: App, client: Client, user: NewUser) -> None:
    chance, known = random.Random(13), list[Known]()
    filers = (schedule_xml.WICK, schedule_xml.BEN, schedule_xml.FUND)
    with app.db.write() as tx:
        for number in range(1, 81):
            issuer, filer = chance.choice((schedule_xml.LAMPS, SHADE)), chance.choice(filers)
            kind, amended = chance.choice("DG"), chance.random() < 0.4
            form, percent = f"SCHEDULE 13{kind}{'/A' * amended}", f"{chance.randrange(20, 300) / 10}"
            filed = day(7 * chance.randrange(20))
            one: Known = {
                "key": f"{filer[0]}-25-{number:06}",
                "form": form,
                "day": filed,
                "issuer": issuer[0],
                "filer": filer[0],
                "percent": float(percent),
            }
            person = schedule_xml.person(filer, str(number), percent, schedule=kind)
            write = schedule_xml.d if kind == "D" else schedule_xml.g
            paper = write(person, form=form, issuer=issuer, cusip=issuer[2], filer=filer[0])
            schedule_store.upsert(
                tx, parser.parse(paper, one["key"]), FilingMetadata(one["key"], DOCUMENT_EVIDENCE, filed_at=filed), NOW
            )
            known.append(one)
    client.key = user.api_key
    choices: Choices = {
        "issuerCik": {"1234567": lambda row: row["issuer"] == "0001234567"},
        "filerCik": {str(int(cik)): lambda row, cik=cik: row["filer"] == cik for cik, _ in filers},
        "formType": {
            "SCHEDULE 13D": lambda row: row["form"] == "SCHEDULE 13D",
            "SCHEDULE 13G/A": lambda row: row["form"] == "SCHEDULE 13G/A",
        },
        "minOwnership": {"10": lambda row: row["percent"] >= 10, "4.5": lambda row: row["percent"] >= 4.5},
        "dateFrom": {day(28): lambda row: row["day"] >= day(28)},
        "dateTo": {day(90): lambda row: row["day"] <= day(90)},
        "isAmendment": {"true": lambda row: row["form"].endswith("/A"), "false": lambda row: row["form"][-2:] != "/A"},
        "sort": dict.fromkeys(("filedAt", "percentOfClass")),
        "order": dict.fromkeys(("asc", "desc")),
    }

    def order(rows: list[Known], query: Mapping[str, str]) -> list[Known]:
        by = ("percent", "day") if query.get("sort") == "percentOfClass" else ("day",)
        keys = lambda one: (*(one[name] for name in by), one["key"])  # noqa: E731
        return sorted(rows, key=keys, reverse=query.get("order") != "asc")

    path = "/ownership/beneficial-ownership/filings"
    judge(client, path, choices, known, "filings", lambda one: one["accessionNumber"], order, size="size")

    # The same asked for by a body.
    members = {
        "issuerCik": choices["issuerCik"],
        "filerCik": choices["filerCik"],
        "formType": {"13D": lambda row: "13D" in row["form"], "SCHEDULE 13G/A": choices["formType"]["SCHEDULE 13G/A"]},
        "minOwnership": choices["minOwnership"],
        "from": choices["dateFrom"],
        "to": choices["dateTo"],
        "sort": choices["sort"],
    }
    some = 0
    for query in asked(members, "/form-13d"):
        body = {name: value for name, value in query.items() if name not in ("from", "to", "sort", "minOwnership")}
        body |= {"minOwnership": float(query["minOwnership"])} if "minOwnership" in query else {}
        between = {name: query[name] for name in ("from", "to") if name in query}
        asked_by = {"query": {**body, **({"dateRange": between} if between else {})}}
        asked_by |= {"sort": [{query["sort"]: "desc"}]} if "sort" in query else {}
        expected = [one["key"] for one in order(held(members, query, known), query)]
        assert asked_for(client, "/form-13d", asked_by, "data", lambda one: one["accessionNo"]) == expected, query
        some += bool(expected)
    assert some > 5


def test_holders_over_all_forms_are_a_filter_over_all(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known = random.Random(15), dict[str, Known]()
    words = ("Amber", "River", "Lamp", "Stone")

    def holder(number: int) -> Known:
        cik = f"{9_000_000 + number:010}"
        name = f"{words[number % 4]} {words[number // 4 % 4]} {number}"
        return known.setdefault(cik, {"key": cik, "name": name, "form_13f": 0, "form_13dg": 0, "form_4": 0})

    papers = list[bytes]()
    for number in range(1, 13):
        one = holder(2 * number)
        quarters = [("06-30-2025", "2025-08-14"), ("09-30-2025", "2025-11-14")][: chance.randrange(1, 3)]
        for place, (period, filed) in enumerate(quarters):
            rows = [(thirteenf_xml.APPLE, 2500, 10)]
            papers.append(submission(2 * number + place, (period, filed, rows), cik=one["key"], name=one["name"]))
            one["form_13f"] += 1
    take(app, tmp_path, *papers)
    with app.db.write() as tx:
        for number in range(60):
            one = holder(chance.randrange(1, 30))
            who, accession = (one["key"], one["name"]), f"{one['key']}-25-{number + 500:06}"
            filed_at = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day(number))
            if number % 3:
                paper = schedule_xml.g(schedule_xml.person(who, schedule="G"), filer=who[0])
                schedule_store.upsert(tx, parser.parse(paper, accession), filed_at, NOW)
                one["form_13dg"] += 1
            else:
                form = ownership_xml.form(ownership_xml.transaction(), owners=(ownership_xml.owner(who),))
                insiders.upsert_form(tx, ownership_forms.parse(form, accession), filed_at, NOW)
                one["form_4"] += 1
    client.key = user.api_key

    def begins(*starts: str) -> Judge:
        return lambda row: all(any(one.lower().startswith(start) for one in row["name"].split()) for start in starts)

    kinds = {"insider": "form_4", "institutional": "form_13f", "beneficial_owner": "form_13dg"}
    choices: Choices = {
        "q": {"amber": begins("amber"), "riv": begins("riv"), "lamp 1": begins("lamp", "1"), "none": begins("none")},
        "type": {kind: lambda row, form=form: row[form] > 0 for kind, form in kinds.items()},
        "cik": {str(int(key)): lambda row, key=key: row["key"] == key for key in sorted(known)[:3]},
    }

    def order(rows: list[Known], _: Mapping[str, str]) -> list[Known]:
        return sorted(rows, key=lambda one: (-one["form_4"] - one["form_13f"] - one["form_13dg"], one["key"]))

    rows = list(known.values())
    for names in (("q", "type"), ("type",), ("q",), ("cik", "type")):
        some = {name: choices[name] for name in names}
        for query in asked(some, " ".join(names), 12):
            expected = [one["key"] for one in order(held(some, query, rows), query)]
            found = walked(client, "/ownership/holders", query, "holders", lambda one: one["cik"], size="size")
            assert found == expected, query


# ---- prices


def test_days_of_prices_are_a_filter_over_all(app: App, client: Client, user: NewUser) -> None:
    chance = random.Random(5)
    days = sorted(chance.sample(range(300), 90))
    known: list[Known] = [{"key": (day(number), chance.randrange(50, 150))} for number in days]
    text = "".join(f"{one},{close},{close},9,\n" for one, close in (row["key"] for row in known))
    with app.db.write() as tx:
        data = f"date,open,close,volume,dividend\n{text}".encode()
        price_store.upsert(tx, price_csv.parse(data, "f", "lamp.csv"), data, "LAMP")
    client.key = user.api_key
    choices: Choices = {
        "from": {day(one): lambda row, one=one: row["key"][0] >= day(one) for one in (0, 60, 100, 400)},
        "to": {day(one): lambda row, one=one: row["key"][0] <= day(one) for one in (20, 99, 200, 300)},
        "adjusted": dict.fromkeys(("true", "false")),
    }
    judge(
        client,
        "/prices/LAMP",
        choices,
        known,
        "data",
        lambda one: (one["date"], one["close"]),
        lambda rows, _: sorted(rows, key=lambda one: one["key"], reverse=True),
    )


# ---- facts


def test_facts_are_a_filter_over_all(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known, tagged = random.Random(7), list[Known](), dict[str, dict[str, Any]]()
    reports = [
        (f"0000320193-25-{number:06}", chance.choice(("10-K", "10-Q", "8-K")), day(9 * number))
        for number in range(1, 13)
    ]
    for accession, form, filed in reports:
        for concept in chance.sample(("Assets", "Liabilities", "Cash", "Goodwill"), 3):
            end = day(-30 * chance.randrange(1, 12))
            one = {"key": (accession, f"us-gaap:{concept}", end), "form": form, "filed": filed, "end": end}
            rows = tagged.setdefault(concept, {"units": {"USD": []}})["units"]["USD"]
            rows.append({"end": end, "val": len(known), "accn": accession, "form": form, "filed": filed})
            known.append(one)
    document = {"cik": 320193, "entityName": "Apple Inc.", "facts": {"us-gaap": tagged}}
    take(app, tmp_path, json.dumps(document).encode())
    client.key = user.api_key
    ends: Choices = {
        "date_from": {day(-210): lambda row: row["end"] >= day(-210), day(-90): lambda row: row["end"] >= day(-90)},
        "date_to": {day(-100): lambda row: row["end"] <= day(-100), day(-60): lambda row: row["end"] <= day(-60)},
    }

    def of(*names: str) -> Judge:
        return lambda row: row["key"][1] in {f"us-gaap:{name}" for name in names}

    choices: Choices = {
        "ticker": dict.fromkeys(("320193",)),
        "concept": {"us-gaap:Assets": of("Assets"), "Cash,Goodwill": of("Cash", "Goodwill"), "NoSuch": of()},
        "form_type": {form: lambda row, form=form: row["form"] == form for form in ("10-K", "10-Q")},
        **ends,
    }

    def key(one: Any) -> Any:
        return one["accession_number"], one["concept_qualified_name"], one["period_end"]

    def newest(rows: list[Known], _: Mapping[str, str]) -> list[Known]:
        rows = sorted(rows, key=lambda one: one["key"][1:])
        return sorted(rows, key=lambda one: (one["filed"], one["key"][0]), reverse=True)

    judge(client, "/facts", choices, known, "data", key, newest, always={"ticker": "320193"})
    # Of one concept the latest end first.
    assets = [{**one, "key": one["key"][::2]} for one in known if one["key"][1] == "us-gaap:Assets"]
    judge(
        client,
        "/facts/by-concept",
        {**ends, "ticker": choices["ticker"]},
        assets,
        "facts",
        lambda one: (one["accession_number"], one["period_end"]),
        latest,
        always={"concept": "Assets"},
    )


def latest(rows: list[Known], _: Mapping[str, str]) -> list[Known]:
    """Those of the latest end first, of one end in the order of filing."""
    rows = sorted(rows, key=lambda one: (one["filed"], one["key"][0]))
    return sorted(rows, key=lambda one: one["end"], reverse=True)
