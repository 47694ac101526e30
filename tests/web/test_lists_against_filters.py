"""Lists under random combinations of filters, compared with the same filters over all stored rows.

Each test stores random rows, queries a list with up to three random parameters at a time, reads all of its pages, and
expects the rows (and their order) that plain Python predicates select from the stored ones.
"""

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
from finapi.edgar.company_attributes import CompanyAttributes
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
Row = dict[str, Any]
# Texts that a parameter accepts, each with a predicate of the rows that it selects. The predicate is None where the
# parameter sorts rows or includes further ones.
Predicate = Callable[[Row], bool]
Choices = Mapping[str, Mapping[str, Predicate | None]]
FIRST = date(2025, 1, 1)


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    """A store for a caller without limits."""
    return make_app(**LIFTED)


def iter_queries(choices: Choices, seed: str, times: int = 25) -> Iterable[dict[str, str]]:
    """Yield queries of up to three random parameters, the same in each run."""
    chance = random.Random(seed)
    for _ in range(times):
        names = chance.sample(sorted(choices), min(3, len(choices)))
        yield {name: chance.choice(sorted(choices[name])) for name in names}


def select_rows(choices: Choices, query: Mapping[str, str], rows: Iterable[Row]) -> list[Row]:
    """Return the rows that satisfy each parameter of a query."""
    predicates = [predicate for name, value in query.items() if (predicate := choices[name][value]) is not None]
    return [row for row in rows if all(predicate(row) for predicate in predicates)]


def list_page_keys(
    client: Client, path: str, query: Mapping[str, str], rows: str, key: Callable[[Any], Any], *, size: str = "limit"
) -> list[Any]:
    """Return the keys of the rows of all pages, read seven rows at a time."""
    keys, has_more = list[Any](), True
    while has_more:
        position = {"page": len(keys) // 7 + 1} if size == "size" else {"offset": len(keys)}
        answer = client.get(f"{API}{path}", query={**query, size: 7, **position})
        assert answer.status == 200, (query, answer.json)
        page = answer.json
        for name in rows.split("."):
            page = page[name]
        keys += [key(row) for row in page]
        has_more = len(page) == 7
        assert len(keys) < 1_000, f"{path} does not end"
    return keys


def day(number: int) -> str:
    return (FIRST + timedelta(number)).isoformat()


def assert_rows_match(
    client: Client,
    path: str,
    choices: Choices,
    known_rows: Iterable[Row],
    rows: str,
    key: Callable[[Any], Any],
    order: Callable[[list[Row], Mapping[str, str]], list[Row]],
    always: Mapping[str, str] = MappingProxyType({}),
    **page_options: Any,
) -> None:
    """Assert that each random query returns the known rows that match it, in their order.

    More than five queries must have rows, so that the comparison is not of empty lists.
    """
    known_rows, queries_with_rows = list(known_rows), 0
    for query in iter_queries(choices, path):
        expected = [row["key"] for row in order(select_rows(choices, query, known_rows), query)]
        assert list_page_keys(client, path, {**query, **always}, rows, key, **page_options) == expected, query
        queries_with_rows += bool(expected)
    assert queries_with_rows > 5


# ---- queries in POST bodies: terms of a query language, joined at random

Term = tuple[str, Predicate]


def iter_term_queries(terms: list[Term], seed: str, times: int = 25) -> Iterable[tuple[str, Predicate]]:
    """Yield random queries of three terms joined by AND, OR and NOT, each with its predicate."""
    chance = random.Random(seed)
    for _ in range(times):
        (first, a), (second, b), (third, c) = chance.sample(terms, 3)
        yield chance.choice(
            [
                (f"{first} AND {second} AND {third}", lambda row, a=a, b=b, c=c: a(row) and b(row) and c(row)),
                (f"{first} AND ({second} OR {third})", lambda row, a=a, b=b, c=c: a(row) and (b(row) or c(row))),
                (
                    f"({first} OR {second}) AND NOT {third}",
                    lambda row, a=a, b=b, c=c: (a(row) or b(row)) and not c(row),
                ),
            ]
        )


def list_posted_keys(
    client: Client, path: str, body: Mapping[str, Any], rows: str, key: Callable[[Any], Any]
) -> list[Any]:
    """Return the keys of the rows of all pages of a list queried by POST, read seven rows at a time."""
    keys, has_more = list[Any](), True
    while has_more:
        answer = client.post(f"{API}{path}", {**body, "from": len(keys), "size": 7})
        assert answer.status == 200, (body, answer.json)
        page = answer.json[rows]
        keys += [key(row) for row in page]
        has_more = len(page) == 7
    return keys


# ---- 13F


def securities(count: int) -> list[str]:
    bases = [f"{number:08}" for number in range(10_000_000, 10_000_000 + count * 977, 977)]
    return [base + cusip.compute_check_digit(base) for base in bases]


@pytest.fixture
def fund(app: App, client: Client, user: NewUser, tmp_path: Path) -> list[Row]:
    """Store the positions of a fund in fifty securities and two quarters, some of them calls; return them."""
    chance, expected_rows = random.Random(13), list[Row]()
    tables: dict[str, list[str]] = {"06-30-2025": [], "09-30-2025": []}
    for number, cusip_text in enumerate(securities(50)):
        call = "Call" if chance.random() < 0.3 else None
        before, now = chance.choice([(0, 1), (1, 0), (1, 1), (2, 3), (5, 4)])
        unit = 10 + number
        position: Row = {
            "key": (cusip_text, call),
            "name": f"{chance.choice(('LAMP', 'RIVER'))} {number} {chance.choice(('CO', 'AG'))}",
            "shares": now * unit,
            "before": before * unit,
            "value": now * unit * (1_000 - 7 * number),
            "call": call,
        }
        for period, amount in (("06-30-2025", before * unit), ("09-30-2025", now * unit)):
            if amount:
                value = amount * (1_000 - 7 * number)
                members = {"nameOfIssuer": position["name"], "putCall": call}
                tables[period].append(thirteenf_xml.row(cusip_text, value, amount, **members))
        expected_rows.append(position)
    filed = {"06-30-2025": "2025-08-14", "09-30-2025": "2025-11-14"}
    documents = [
        submission(number, (period, filed[period], []), extra="".join(rows))
        for number, (period, rows) in enumerate(tables.items(), 1)
    ]
    take(app, tmp_path, *documents)
    client.key = user.api_key
    return expected_rows


def position_status(row: Row) -> str:
    if not row["before"]:
        return "new"
    if not row["shares"]:
        return "closed"
    difference = row["shares"] - row["before"]
    return "increased" if difference > 0 else "decreased" if difference < 0 else "unchanged"


def test_fund_positions_match_their_filters(client: Client, fund: list[Row]) -> None:
    statuses = ("new", "increased", "decreased", "unchanged", "closed")
    choices: Choices = {
        "status": {
            **{status: lambda row, status=status: position_status(row) == status for status in statuses},
            "all": None,
        },
        "q": {"lamp": lambda row: "LAMP" in row["name"], "r 1": lambda row: "R 1" in row["name"]},
        "include_options": {"true": None},
        "options_only": {"true": None},
        "sort_by": dict.fromkeys(("value", "shares", "name", "change")),
        "sort_order": dict.fromkeys(("asc", "desc")),
    }

    def order(rows: list[Row], query: Mapping[str, str]) -> list[Row]:
        if "options_only" in query:
            rows = [row for row in rows if row["call"]]
        elif "include_options" not in query:
            rows = [row for row in rows if not row["call"]]
        if query.get("status", "all") == "all":
            rows = [row for row in rows if row["shares"]]
        sort_by, down = query.get("sort_by", "value"), query.get("sort_order") != "asc"
        rows = sorted(rows, key=lambda row: (-row["value"], row["key"][0]))
        sort_keys = {"change": lambda row: row["shares"] - row["before"] if row["before"] else None}
        values = [(sort_keys.get(sort_by, lambda row: row[sort_by])(row), row) for row in rows]
        rows_with_value = sorted(
            (pair for pair in values if pair[0] is not None), key=lambda pair: pair[0], reverse=down
        )
        return [row for _, row in rows_with_value] + [row for value, row in values if value is None]

    path = f"/form-13f/fund/{int(thirteenf_xml.LAMP_FUND)}"
    assert_rows_match(client, path, choices, fund, "holdings", lambda row: (row["cusip"], row["put_call"]), order)


def test_queried_positions_match_their_terms(client: Client, fund: list[Row]) -> None:
    cusips = [position["key"][0] for position in fund]
    open_positions = [position for position in fund if position["shares"]]
    queries_with_rows = 0
    terms: list[Term] = [
        (f"holdings.cusip:{cusips[3]}", lambda row: row["key"][0] == cusips[3]),
        (f"cusip:{cusips[20]}", lambda row: row["key"][0] == cusips[20]),
        ("holdings.nameOfIssuer:LAMP", lambda row: "LAMP" in row["name"]),
        ("holdings.nameOfIssuer:river", lambda row: "RIVER" in row["name"]),
        ('holdings.nameOfIssuer:"4 AG"', lambda row: "4 AG" in row["name"]),
        ("formType:13F-HR", lambda row: True),
        ("filedAt:[2025-11-01 TO 2025-11-30]", lambda row: True),
    ]
    chance = random.Random(3)
    for query, holds in iter_term_queries(terms, "holdings"):
        sort_by, down = chance.choice(("value", "shares", "name")), chance.choice(("asc", "desc"))
        expected = sorted(filter(holds, open_positions), key=lambda position: (-position["value"], position["key"][0]))
        expected.sort(key=lambda position: position[sort_by], reverse=down == "desc")
        body = {
            "query": f"cik:{int(thirteenf_xml.LAMP_FUND)} AND period:2025-09-30 AND ({query})",
            "sort": [{sort_by: down}],
        }
        keys = list_posted_keys(
            client, "/form-13f/holdings", body, "holdings", lambda position: (position["cusip"], position["put_call"])
        )
        assert keys == [position["key"] for position in expected], body
        queries_with_rows += bool(expected)
    assert queries_with_rows > 5


@pytest.mark.slow
def test_holders_and_funds_match_their_filters(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known_funds = random.Random(14), list[Row]()
    documents, words = list[bytes](), ("Amber", "River", "Lamp", "Stone")
    for number in range(1, 41):
        name = " ".join(chance.sample(words, 2)) + f" Fund {number}"
        before, now = chance.choice([(0, 2), (2, 0), (2, 2), (2, 3), (3, 1)])
        cik = f"{9_000_000 + number:010}"
        fund = {"key": cik, "name": name, "before": before * number, "shares": now * number}
        base = (thirteenf_xml.MICROSOFT, 900 + number, 3)
        for quarter, (period, filed, amount) in enumerate(
            [("06-30-2025", "2025-08-14", before * number), ("09-30-2025", "2025-11-14", now * number)]
        ):
            rows = [base, *([(thirteenf_xml.APPLE, amount * 250, amount)] if amount else [])]
            document = submission(2 * number + quarter, (period, filed, rows), cik=cik, name=name)
            documents.append(document)
            fund["value"] = sum(row[1] for row in rows)
        known_funds.append(fund)
    with app.db.write() as tx:
        companies.upsert_name(tx, 320193, "APPLE INC", companies.FROM_LIST, "")
        companies.upsert_tickers(tx, 320193, [("AAPL", None)], companies.FROM_LIST)
    take(app, tmp_path, b"cusip,ticker\n" + thirteenf_xml.APPLE.encode() + b",AAPL\n", *documents)
    client.key = user.api_key
    statuses = ("new", "increased", "decreased", "unchanged", "closed")
    choices: Choices = {
        "status": {
            **{status: lambda row, status=status: position_status(row) == status for status in statuses},
            "all": None,
        },
        "period": dict.fromkeys(("2025-09-30",)),
        "quarters": dict.fromkeys(("1", "2")),
    }

    def order(rows: list[Row], query: Mapping[str, str]) -> list[Row]:
        if query["status"] == "all":
            rows = [fund for fund in rows if fund["shares"]]
        return sorted(rows, key=lambda fund: (-fund["shares"], -fund["before"], fund["key"]))

    assert_rows_match(
        client, "/tickers/AAPL/holders", choices, known_funds, "data.holders", lambda fund: fund["cik"], order
    )

    def has_words_with_prefixes(*words: str) -> Predicate:
        return lambda row: all(
            any(name_word.lower().startswith(word) for name_word in row["name"].split()) for word in words
        )

    texts: Choices = {
        "q": {
            "amber": has_words_with_prefixes("amber"),
            "riv": has_words_with_prefixes("riv"),
            "lamp stone": has_words_with_prefixes("lamp", "stone"),
            "fund 1": has_words_with_prefixes("fund", "1"),
            "none": has_words_with_prefixes("none"),
            "amber am": has_words_with_prefixes("amber", "am"),
        }
    }
    for path, rows in (("/form-13f/filers", "filers"), ("/form-13f/search", "results")):
        assert_rows_match(
            client,
            path,
            texts,
            known_funds,
            rows,
            lambda fund: fund["cik"],
            lambda matching_rows, _: sorted(matching_rows, key=lambda fund: (-fund["value"], fund["key"])),
        )

    # Each fund has two cover pages.
    covers: list[Row] = [
        {**fund, "key": ours.accession(2 * number + quarter), "cik": fund["key"], "period": period, "filed": filed}
        for number, fund in enumerate(known_funds, 1)
        for quarter, (period, filed) in enumerate((("2025-06-30", "2025-08-14"), ("2025-09-30", "2025-11-14")))
    ]
    terms: list[Term] = [
        ("period:2025-09-30", lambda row: row["period"] == "2025-09-30"),
        ("filedAt:[2025-08-01 TO 2025-10-31]", lambda row: row["filed"] == "2025-08-14"),
        ("filerName:amber", has_words_with_prefixes("amber")),
        ("stone", has_words_with_prefixes("stone")),
        ("cik:9000007", lambda row: row["cik"] == "0009000007"),
        (f"accessionNo:{ours.accession(9)}", lambda row: row["key"] == ours.accession(9)),
        ("holdings.ticker:AAPL", lambda row: row["before" if row["period"] == "2025-06-30" else "shares"] > 0),
        ("formType:13F-HR", lambda row: True),
    ]
    queries_with_rows = 0
    for query, holds in iter_term_queries(terms, "covers"):
        expected = sorted(filter(holds, covers), key=lambda cover: (cover["filed"], cover["key"]), reverse=True)
        accessions = list_posted_keys(
            client, "/form-13f/cover-pages", {"query": query}, "filings", lambda cover: cover["accession_number"]
        )
        assert accessions == [cover["key"] for cover in expected], query
        queries_with_rows += bool(expected)
    assert queries_with_rows > 10


SICS = {3571: ("Manufacturing", "35"), 2834: ("Manufacturing", "28"), 6022: ("Finance", "60"), None: (None, None)}
BOUNDS = {
    "total_value": (0, 5_000, 20_000),
    "fund_count": (1, 4),
    "fund_flow": (-1_000, 0, 500),
    "share_change": (0, 50),
}


@pytest.fixture
def market(app: App, client: Client, user: NewUser, tmp_path: Path) -> list[Row]:
    """Store the positions of nine funds in thirty securities and two quarters.

    Return the securities with the sums over all funds.
    """
    chance = random.Random(90)
    known_securities = [
        {
            "key": cusip_text,
            "name": f"{chance.choice(('LAMP', 'RIVER'))} {number} CO",
            "ticker": None,
            "sic": None,
            "price": 10 + number,
            "held": {},
        }
        for number, cusip_text in enumerate(securities(30))
    ]
    with app.db.write() as tx:
        for number, security in enumerate(known_securities[:24]):
            security |= {"ticker": f"T{number}", "sic": chance.choice([*SICS])}
            companies.upsert_name(tx, 500 + number, security["name"], companies.FROM_LIST, "")
            companies.upsert_tickers(tx, 500 + number, [(security["ticker"], None)], companies.FROM_LIST)
            if security["sic"]:
                companies.update_attributes(tx, 500 + number, CompanyAttributes(sic=security["sic"]), 2, "2025-01-01")
    mapping = "cusip,ticker\n" + "".join(
        f"{security['key']},{security['ticker']}\n" for security in known_securities[:24]
    )
    reports = list[bytes]()
    for fund in range(1, 10):
        for quarter, (period, filed) in enumerate((("06-30-2025", "2025-08-14"), ("09-30-2025", "2025-11-14"))):
            rows = list[str]()
            for security in chance.sample(known_securities, 14):
                shares = chance.choice((10, 20, 20, 35))
                security["held"].setdefault(fund, [0, 0])[quarter] = shares
                rows.append(
                    thirteenf_xml.row(
                        security["key"], shares * security["price"], shares, nameOfIssuer=security["name"]
                    )
                )
            document = submission(
                2 * fund + quarter, (period, filed, []), extra="".join(rows), cik=f"{fund:010}", name=f"F{fund}"
            )
            reports.append(document)
    take(app, tmp_path, mapping.encode(), *reports)
    client.key = user.api_key
    for security in known_securities:
        quarter_shares = [*security["held"].values()]
        security["share_change"] = sum(now - before for before, now in quarter_shares)
        security["fund_flow"], security["total_value"] = (
            security["share_change"] * security["price"],
            sum(row[1] for row in quarter_shares) * security["price"],
        )
        security["funds"] = {fund for fund, (_, now) in security["held"].items() if now}
        security["fund_count"] = len(security["funds"])
        security["sector"], security["industry"] = SICS[security["sic"]]
    return [security for security in known_securities if security["held"]]


def test_securities_of_a_quarter_match_their_filters(client: Client, market: list[Row]) -> None:
    def bound(name: str, value: int, sign: int) -> Predicate:
        return lambda row: sign * (row[name] - value) >= 0

    choices: Choices = {
        "sector": {
            "Manufacturing": lambda row: row["sector"] == "Manufacturing",
            "Technology": lambda row: row["sic"] == 3571,
            "healthcare": lambda row: row["sic"] == 2834,
        },
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

    def order(rows: list[Row], query: Mapping[str, str]) -> list[Row]:
        sort_by, down = query.get("sort_by", "fund_flow"), query.get("sort_order") != "asc"
        rows = sorted(rows, key=lambda row: (-row["total_value"], row["key"]))
        rows_with_value = sorted(
            (row for row in rows if row[sort_by] is not None), key=lambda row: row[sort_by], reverse=down
        )
        return rows_with_value + [row for row in rows if row[sort_by] is None]

    path = "/form-13f/aggregation/by-ticker"
    always = {"quarter": "2025-09-30"}
    assert_rows_match(client, path, choices, market, "data.tickers", lambda row: row["cusip"], order, always=always)


@pytest.mark.parametrize("sort", ["fund_flow", "total_value", "fund_count"])
def test_industries_are_sums_over_their_securities(client: Client, market: list[Row], sort: str) -> None:
    groups: dict[str, list[Row]] = {}
    for security in market:
        if security["industry"]:
            groups.setdefault(security["industry"], []).append(security)
    sums = sorted(
        (
            {
                "fund_flow": sum(security["fund_flow"] for security in rows),
                "total_value": sum(security["total_value"] for security in rows),
                "fund_count": len({fund for security in rows for fund in security["funds"]}),
                "cusip_count": len(rows),
                "total_positions": sum(security["fund_count"] for security in rows),
            }
            # Equal sums are in the order of the names: depository institutions, chemicals, machinery.
            for rows in map(groups.__getitem__, ("60", "28", "35"))
        ),
        key=lambda industry: -industry[sort],
    )
    path = "/form-13f/aggregation/by-industry"
    answer = client.get(f"{API}{path}?quarter=2025-09-30&sort_by={sort}").json["data"]
    assert [
        (
            industry["fund_flow"],
            industry["total_value"],
            industry["unique_fund_count"],
            industry["cusip_count"],
            industry["total_positions"],
        )
        for industry in answer["industries"]
    ] == [tuple(industry.values()) for industry in sums]
    assert answer["total_institutional_value"] == sum(security["total_value"] for security in market)
    pages = [
        client.get(f"{API}{path}?quarter=2025-09-30&sort_by={sort}&limit=1&offset={offset}").json["data"]["industries"]
        for offset in range(len(sums))
    ]
    assert [row for page in pages for row in page] == answer["industries"]


# ---- Forms 144 and schedules

SHADE = ("0000000777", "Shade Works Corp", "594918104")


def test_sale_notices_match_their_filters(app: App, client: Client, user: NewUser) -> None:
    chance, known_notices = random.Random(144), list[Row]()
    with app.db.write() as tx:
        for number in range(1, 61):
            issuer = chance.choice((schedule_xml.LAMPS, SHADE))
            form, filed = chance.choice(("144", "144", "144/A")), day(7 * chance.randrange(20))
            notice = {"key": f"0000000101-25-{number:06}", "form": form, "day": filed, "issuer": issuer[0]}
            metadata = FilingMetadata(notice["key"], DOCUMENT_EVIDENCE, filed_at=filed)
            document = schedule_xml.notice(schedule_xml.sale(str(number)), form=form, issuer=issuer)
            sale_notice_store.upsert(tx, sale_notices.parse(document, notice["key"]), metadata, NOW)
            known_notices.append(notice)
        for cik, ticker in ((1234567, "LAMP"), (777, "SHDE")):
            companies.upsert_tickers(tx, cik, [(ticker, None)], companies.FROM_FILING_LIST, "2025-01-01")
    client.key = user.api_key
    choices: Choices = {
        "from_date": {day(28): lambda row: row["day"] >= day(28), day(50): lambda row: row["day"] >= day(50)},
        "to_date": {day(90): lambda row: row["day"] <= day(90), day(63): lambda row: row["day"] <= day(63)},
        "is_amendment": {"true": lambda row: row["form"] == "144/A", "false": lambda row: row["form"] == "144"},
        "ticker": {"LAMP": lambda row: row["issuer"] == "0001234567", "777": lambda row: row["issuer"] == SHADE[0]},
    }
    assert_rows_match(
        client,
        "/insiders/form-144/latest",
        choices,
        known_notices,
        "data",
        lambda notice: notice["accession_number"],
        lambda rows, _: sorted(rows, key=lambda notice: (notice["day"], notice["key"]), reverse=True),
    )


@pytest.mark.slow
def test_schedules_match_their_filters(app: App, client: Client, user: NewUser) -> None:
    chance, known_schedules = random.Random(13), list[Row]()
    filers = (schedule_xml.WICK, schedule_xml.BEN, schedule_xml.FUND)
    with app.db.write() as tx:
        for number in range(1, 81):
            issuer, filer = chance.choice((schedule_xml.LAMPS, SHADE)), chance.choice(filers)
            kind, amended = chance.choice("DG"), chance.random() < 0.4
            form, percent = f"SCHEDULE 13{kind}{'/A' * amended}", f"{chance.randrange(20, 300) / 10}"
            filed = day(7 * chance.randrange(20))
            schedule: Row = {
                "key": f"{filer[0]}-25-{number:06}",
                "form": form,
                "day": filed,
                "issuer": issuer[0],
                "filer": filer[0],
                "percent": float(percent),
            }
            person = schedule_xml.person(filer, str(number), percent, schedule=kind)
            write = schedule_xml.d if kind == "D" else schedule_xml.g
            document = write(person, form=form, issuer=issuer, cusip=issuer[2], filer=filer[0])
            schedule_store.upsert(
                tx,
                parser.parse(document, schedule["key"]),
                FilingMetadata(schedule["key"], DOCUMENT_EVIDENCE, filed_at=filed),
                NOW,
            )
            known_schedules.append(schedule)
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

    def order(rows: list[Row], query: Mapping[str, str]) -> list[Row]:
        sort_names = ("percent", "day") if query.get("sort") == "percentOfClass" else ("day",)

        def sort_key(schedule: Row) -> tuple[Any, ...]:
            return (*(schedule[name] for name in sort_names), schedule["key"])

        return sorted(rows, key=sort_key, reverse=query.get("order") != "asc")

    path = "/ownership/beneficial-ownership/filings"
    assert_rows_match(
        client,
        path,
        choices,
        known_schedules,
        "filings",
        lambda schedule: schedule["accessionNumber"],
        order,
        size="size",
    )

    # The same filters in the body of a POST request.
    members = {
        "issuerCik": choices["issuerCik"],
        "filerCik": choices["filerCik"],
        "formType": {"13D": lambda row: "13D" in row["form"], "SCHEDULE 13G/A": choices["formType"]["SCHEDULE 13G/A"]},
        "minOwnership": choices["minOwnership"],
        "from": choices["dateFrom"],
        "to": choices["dateTo"],
        "sort": choices["sort"],
    }
    queries_with_rows = 0
    for query in iter_queries(members, "/form-13d"):
        body = {name: value for name, value in query.items() if name not in ("from", "to", "sort", "minOwnership")}
        body |= {"minOwnership": float(query["minOwnership"])} if "minOwnership" in query else {}
        days = {name: query[name] for name in ("from", "to") if name in query}
        request_body = {"query": {**body, **({"dateRange": days} if days else {})}}
        request_body |= {"sort": [{query["sort"]: "desc"}]} if "sort" in query else {}
        expected = [schedule["key"] for schedule in order(select_rows(members, query, known_schedules), query)]
        assert (
            list_posted_keys(client, "/form-13d", request_body, "data", lambda schedule: schedule["accessionNo"])
            == expected
        ), query
        queries_with_rows += bool(expected)
    assert queries_with_rows > 5


@pytest.mark.slow
def test_holders_of_all_forms_match_their_filters(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known_holders = random.Random(15), dict[str, Row]()
    words = ("Amber", "River", "Lamp", "Stone")

    def holder(number: int) -> Row:
        cik = f"{9_000_000 + number:010}"
        name = f"{words[number % 4]} {words[number // 4 % 4]} {number}"
        return known_holders.setdefault(cik, {"key": cik, "name": name, "form_13f": 0, "form_13dg": 0, "form_4": 0})

    documents = list[bytes]()
    for number in range(1, 13):
        holder_row = holder(2 * number)
        quarters = [("06-30-2025", "2025-08-14"), ("09-30-2025", "2025-11-14")][: chance.randrange(1, 3)]
        for quarter, (period, filed) in enumerate(quarters):
            rows = [(thirteenf_xml.APPLE, 2500, 10)]
            documents.append(
                submission(2 * number + quarter, (period, filed, rows), cik=holder_row["key"], name=holder_row["name"])
            )
            holder_row["form_13f"] += 1
    take(app, tmp_path, *documents)
    with app.db.write() as tx:
        for number in range(60):
            holder_row = holder(chance.randrange(1, 30))
            person, accession = (holder_row["key"], holder_row["name"]), f"{holder_row['key']}-25-{number + 500:06}"
            filed_at = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day(number))
            if number % 3:
                document = schedule_xml.g(schedule_xml.person(person, schedule="G"), filer=person[0])
                schedule_store.upsert(tx, parser.parse(document, accession), filed_at, NOW)
                holder_row["form_13dg"] += 1
            else:
                form = ownership_xml.form(ownership_xml.transaction(), owners=(ownership_xml.owner(person),))
                insiders.upsert_form(tx, ownership_forms.parse(form, accession), filed_at, NOW)
                holder_row["form_4"] += 1
    client.key = user.api_key

    def has_words_with_prefixes(*starts: str) -> Predicate:
        return lambda row: all(
            any(name_word.lower().startswith(start) for name_word in row["name"].split()) for start in starts
        )

    kinds = {"insider": "form_4", "institutional": "form_13f", "beneficial_owner": "form_13dg"}
    choices: Choices = {
        "q": {
            "amber": has_words_with_prefixes("amber"),
            "riv": has_words_with_prefixes("riv"),
            "lamp 1": has_words_with_prefixes("lamp", "1"),
            "none": has_words_with_prefixes("none"),
        },
        "type": {kind: lambda row, form=form: row[form] > 0 for kind, form in kinds.items()},
        "cik": {str(int(key)): lambda row, key=key: row["key"] == key for key in sorted(known_holders)[:3]},
    }

    def order(rows: list[Row], _: Mapping[str, str]) -> list[Row]:
        return sorted(
            rows,
            key=lambda holder_row: (
                -holder_row["form_4"] - holder_row["form_13f"] - holder_row["form_13dg"],
                holder_row["key"],
            ),
        )

    rows = list(known_holders.values())
    for names in (("q", "type"), ("type",), ("q",), ("cik", "type")):
        some_choices = {name: choices[name] for name in names}
        for query in iter_queries(some_choices, " ".join(names), 12):
            expected = [holder_row["key"] for holder_row in order(select_rows(some_choices, query, rows), query)]
            keys = list_page_keys(
                client, "/ownership/holders", query, "holders", lambda holder_row: holder_row["cik"], size="size"
            )
            assert keys == expected, query


# ---- prices


def test_daily_prices_match_their_filters(app: App, client: Client, user: NewUser) -> None:
    chance = random.Random(5)
    days = sorted(chance.sample(range(300), 90))
    known_rows: list[Row] = [{"key": (day(number), chance.randrange(50, 150))} for number in days]
    text = "".join(f"{price_day},{close},{close},9,\n" for price_day, close in (row["key"] for row in known_rows))
    with app.db.write() as tx:
        data = f"date,open,close,volume,dividend\n{text}".encode()
        price_store.upsert(tx, price_csv.parse(data, "f", "lamp.csv"), data, "LAMP")
    client.key = user.api_key
    choices: Choices = {
        "from": {day(number): lambda row, number=number: row["key"][0] >= day(number) for number in (0, 60, 100, 400)},
        "to": {day(number): lambda row, number=number: row["key"][0] <= day(number) for number in (20, 99, 200, 300)},
        "adjusted": dict.fromkeys(("true", "false")),
    }
    assert_rows_match(
        client,
        "/prices/LAMP",
        choices,
        known_rows,
        "data",
        lambda row: (row["date"], row["close"]),
        lambda rows, _: sorted(rows, key=lambda row: row["key"], reverse=True),
    )


# ---- facts


def test_facts_match_their_filters(app: App, client: Client, user: NewUser, tmp_path: Path) -> None:
    chance, known_facts, tagged = random.Random(7), list[Row](), dict[str, dict[str, Any]]()
    reports = [
        (f"0000320193-25-{number:06}", chance.choice(("10-K", "10-Q", "8-K")), day(9 * number))
        for number in range(1, 13)
    ]
    for accession, form, filed in reports:
        for concept in chance.sample(("Assets", "Liabilities", "Cash", "Goodwill"), 3):
            end = day(-30 * chance.randrange(1, 12))
            fact = {"key": (accession, f"us-gaap:{concept}", end), "form": form, "filed": filed, "end": end}
            rows = tagged.setdefault(concept, {"units": {"USD": []}})["units"]["USD"]
            rows.append({"end": end, "val": len(known_facts), "accn": accession, "form": form, "filed": filed})
            known_facts.append(fact)
    document = {"cik": 320193, "entityName": "Apple Inc.", "facts": {"us-gaap": tagged}}
    take(app, tmp_path, json.dumps(document).encode())
    client.key = user.api_key
    ends: Choices = {
        "date_from": {day(-210): lambda row: row["end"] >= day(-210), day(-90): lambda row: row["end"] >= day(-90)},
        "date_to": {day(-100): lambda row: row["end"] <= day(-100), day(-60): lambda row: row["end"] <= day(-60)},
    }

    def has_concept(*names: str) -> Predicate:
        return lambda row: row["key"][1] in {f"us-gaap:{name}" for name in names}

    choices: Choices = {
        "ticker": dict.fromkeys(("320193",)),
        "concept": {
            "us-gaap:Assets": has_concept("Assets"),
            "Cash,Goodwill": has_concept("Cash", "Goodwill"),
            "NoSuch": has_concept(),
        },
        "form_type": {form: lambda row, form=form: row["form"] == form for form in ("10-K", "10-Q")},
        **ends,
    }

    def key(fact: Any) -> Any:
        return fact["accession_number"], fact["concept_qualified_name"], fact["period_end"]

    def sort_latest_filed_first(rows: list[Row], _: Mapping[str, str]) -> list[Row]:
        rows = sorted(rows, key=lambda fact: fact["key"][1:])
        return sorted(rows, key=lambda fact: (fact["filed"], fact["key"][0]), reverse=True)

    assert_rows_match(
        client, "/facts", choices, known_facts, "data", key, sort_latest_filed_first, always={"ticker": "320193"}
    )
    # The list of one concept begins with the latest end.
    assets = [{**fact, "key": fact["key"][::2]} for fact in known_facts if fact["key"][1] == "us-gaap:Assets"]
    assert_rows_match(
        client,
        "/facts/by-concept",
        {**ends, "ticker": choices["ticker"]},
        assets,
        "facts",
        lambda fact: (fact["accession_number"], fact["period_end"]),
        sort_latest_end_first,
        always={"concept": "Assets"},
    )


def sort_latest_end_first(rows: list[Row], _: Mapping[str, str]) -> list[Row]:
    """Return rows with the latest period end first; rows of the same end are in the order of filing."""
    rows = sorted(rows, key=lambda row: (row["filed"], row["key"][0]))
    return sorted(rows, key=lambda row: row["end"], reverse=True)
