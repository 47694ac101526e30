"""Each list of the OpenAPI document, paged to its end in each way that its answer offers.

An answer with ``has_more`` or ``offset`` is paged by ``offset`` (``from``, where a body or wire.json names it so), one
with ``next_cursor`` by that. The pages together are the complete list, and the last page states that it is the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from finapi import app as apps
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar import sale_notices
from finapi.edgar import schedules as parser
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.market.documents import metadata
from finapi.market.documents.metadata import FilingMetadata
from finapi.market.ownership import sale_notice_store, schedule_store
from finapi.market.reference import companies
from finapi.web.http.params import MAX_FREE_OFFSET
from finapi.web.http.route import Route
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.conftest import NOW
from tests.described import LIFTED, ONE_OF, RECEIVER, World
from tests.support import schedule_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import june, other_submission, september, submission, take
from tests.support.insider_market import store_market
from tests.support.raw_sql import run_sql
from tests.support.thirteenf_xml import ALLY, APPLE, MICROSOFT

PATHS = build_document("", ROUTES)["paths"]
ROUTE_OF = {
    PATHS[route.path][route.method.lower()]["operationId"]: route for route in ROUTES if route.shape and not route.page
}

_ALL_DAYS = {"filed_at_days": 36500}
# Arguments in addition to the document's examples, with which the demo's data have several rows.
ARGUMENTS: dict[str, dict[str, Any]] = {
    **ONE_OF,
    "get_cusip_cik_cik": {"cik": "320193"},
    "get_cusip_cusip6_cusip6": {"cusip6": "02079K"},
    "get_cusip_search": {"q": "a"},
    "get_events": {"since_seq": 0},
    "get_form_13f_cross_filing_signals": {"quarter": "2025-09-30", "window_after": 180, "min_fund_flow": -(10**15)},
    "get_form_13f_fund_performance": {"quarter": "2025-12-31", "include_all": "true"},
    "get_form_13f_holdings_search": {"period": "2025-09-30"},
    "get_form_13f_moves": {"period": "2025-09-30"},
    "get_form_13f_overlap": {"ciks": "1234567,9999999", "period": "2025-09-30"},
    "get_index": {"date": "2025-01-10"},
    "get_insiders_aggregation_by_sector": {**_ALL_DAYS, "group_by": "industry"},
    "get_insiders_holdings_by_insider_cik": {"cik": "1780525"},
    "get_insiders_screen": {"filed_at_days": 366},
    "get_insiders_transactions_by_insider_cik": {"cik": "102"},
    "get_insiders_transactions_by_ticker_ticker": _ALL_DAYS,
    "get_insiders_transactions_search": {"query": "Inc", **_ALL_DAYS},
    "get_insiders_transactions_top": {"direction": "SELL"},
    **{
        f"get_ownership_aggregation_by_{group}": {"dateFrom": "2024-12-01", "dateTo": "2025-11-30"}
        for group in ("ticker", "sector", "industry")
    },
    "get_ownership_positions_holder_uuid_issuer_issuer_cik_history": {"holder_uuid": "102", "issuer_cik": "1234567"},
    "get_ownership_cross_reference_holder_uuid": {"holder_uuid": "102"},
    "get_sec_filings_search": {"q": "report"},
    "get_tickers_autocomplete": {"q": "A"},
    "get_tickers_ticker_holders": {"period": "2025-09-30"},
    "post_form_13f_cover_pages": {"query": "cik:1234567"},
    "post_form_13f_fund_bulk": {"ciks": ["1067983"], "detail": "full"},
    "post_xbrl_timeseries_batch": {"tickers": ["AAPL"]},
}
# Paths of the rows in answers whose rows the route table does not name.
ROWS = {
    "get_account_transactions": "transactions",
    "get_billing_history": "transactions",
    "get_facts_by_concept": "facts",
    "get_ownership_cross_reference_holder_uuid": "form_4",
    "get_sniper_targets": "targets",
    "get_xbrl_coverage": "data.companies",
    "get_webhooks_deliveries": "deliveries",
}
# Request parameters of the members of an answer that lead to the next page, where their names differ.
NAMES = {"next_cursor": "cursor", "next_since_seq": "since_seq"}
# Free lists skip fewer rows.
OFFSETS = {
    **dict.fromkeys(
        ("get_account_transactions", "get_billing_history", "get_sniper_targets", "get_webhooks_deliveries"),
        MAX_FREE_OFFSET,
    ),
    # A holder's complete history of a company is built for each page.
    "get_ownership_positions_holder_uuid_issuer_issuer_cik_history": 20_000,
    "get_ownership_positions_issuer_issuer_cik_timeline": 20_000,
}
# The tests page over at most this number of rows; of a longer list, over its first rows.
MAX_ROWS = 1_000


def iter_member_names(schema: Any) -> Iterator[str]:
    """Yield the names of an answer's members, including those of the rows of its lists."""
    for alternative in [schema, *schema.get("anyOf", ())]:
        for name, member in alternative.get("properties", {}).items():
            yield name
            yield from iter_member_names(member)
        if "items" in alternative:
            yield from iter_member_names(alternative["items"])


def list_ways(route: Route) -> set[str]:
    """Return the ways in which an answer leads to its next page; ``offset`` only if the route can skip rows."""
    names = set(iter_member_names(route.schema))
    skips = route.body is not None or any(param.name in ("offset", "from") for param in route.params)
    return ({"offset"} if skips and names & {"has_more", "offset"} else set()) | names & NAMES.keys()


WAYS = [(name, way) for name, route in sorted(ROUTE_OF.items()) for way in sorted(list_ways(route))]


class Lists:
    """The demo's data with a few rows for each list, and a client of it."""

    def __init__(self, folder: Path) -> None:
        self.app = apps.create_in_memory(Config(**LIFTED), FixedClock(NOW))
        world = World(self.app)
        self.client, self.key = Client(self.app), {"X-API-Key": world.key}
        self.session = {"Authorization": f"Bearer {world.session()}"}
        third = {"cik": "0009999999", "name": "Third Fund"}
        bought = submission(9, ("09-30-2025", "2025-11-10", [(APPLE, 250, 1), (MICROSOFT, 500, 1)]), **third)
        before = submission(8, ("06-30-2025", "2025-08-10", [(ALLY, 40, 1)]), **third)
        take(self.app, folder, june(), september(), other_submission(), before, bought)
        store_market(self.app)
        with self.app.db.write() as tx:
            for number, filed, document in schedule_xml.examples():
                accession = f"{number[:-6]}9{number[-5:]}"
                if b"edgar/ownership" in document:
                    filing_metadata = FilingMetadata(accession, metadata.DOCUMENT_EVIDENCE, filed_at=filed)
                    sale_notice_store.upsert(tx, sale_notices.parse(document, accession), filing_metadata, NOW)
            # The filer of the examples has a stake in another company too.
            chips = ("0000789019", "Chip Corp", MICROSOFT)
            stake = schedule_xml.d(schedule_xml.person(member="a"), cusip=MICROSOFT, issuer=chips, event="02/10/2025")
            filing_metadata = FilingMetadata("0000000102-25-900001", metadata.DOCUMENT_EVIDENCE, filed_at="2025-02-11")
            schedule_store.upsert(tx, parser.parse(stake, filing_metadata.accession), filing_metadata, NOW)
            companies.update_attributes(tx, 789019, CompanyAttributes(sic=7372), 2, "2026-01-01")
            companies.upsert_tickers(tx, 789019, [("CHIP", None)], 0, "2026-01-01")
            # Two classes of shares of one company.
            run_sql(tx, "UPDATE securities SET cik = 320193 WHERE cusip LIKE '02079K%'")
            # The funds traded the company whose insiders bought.
            run_sql(tx, "UPDATE securities SET cik = 1234567 WHERE cusip IN (?, ?)", (APPLE, MICROSOFT))
        for _ in range(5):
            self.call("GET", "/api/v1/sec/forms/10-K", self.key)
            self.call("POST", "/api/v1/sniper/targets", self.key, {"ticker": "AAPL"})
            self.call("POST", "/api/v1/webhooks/test", self.key, {"url": RECEIVER})
            self.call("POST", "/api/v1/billing/quota", self.session, {"amount_dollars": 1})

    def call(self, method: str, target: str, headers: dict[str, str], body: Any = None) -> Any:
        answer = self.client.call(method, target, headers=headers, **({} if body is None else {"json": body}))
        assert answer.status == 200, (target, answer.body)
        return answer.json

    def page(self, name: str, **arguments: Any) -> tuple[list[Any], Any]:
        """Return the rows of a page, and its complete answer."""
        route, remaining = ROUTE_OF[name], {**ARGUMENTS.get(name, {}), **arguments}
        path, query, body = route.path, dict[str, Any](), {param.name: param.example for param in route.body or ()}
        body = {param.name: body[param.name] for param in route.body or () if param.required}
        for param in route.params:
            if param.required or param.name in remaining:
                query[param.name] = remaining.pop(param.name, param.example)
            if param.location == "path":
                path = path.replace(f"{{{param.name}}}", quote(str(query.pop(param.name)), safe=""))
        assert not remaining or route.body is not None, f"{name} does not take {sorted(remaining)}"
        target = f"{path}?{urlencode(query)}"
        headers = self.session if route.auth == "session" else self.key
        answer = self.call(route.method, target, headers, None if route.body is None else {**body, **remaining})
        return get_rows(name, answer), answer


def get_rows(name: str, answer: Any) -> list[Any]:
    if name == "post_form_13f_fund_bulk":
        return list(answer["funds"][0]["holdings"])
    if name == "post_xbrl_timeseries_batch":
        return list(answer["data"]["results"][0]["data"]["rows"])
    rows = answer
    for part in ROWS[name].split(".") if name in ROWS else ():
        rows = rows[part]
    rows = rows if name in ROWS else ROUTE_OF[name].rows_of(answer)
    assert isinstance(rows, list), name
    return rows


def find_member(answer: Any, name: str) -> Any:
    """Return the first member of this name at any depth of an answer, except in the rows, or None."""
    if not isinstance(answer, dict):
        return None
    if name in answer:
        return answer[name]
    inner_values = [*answer.values(), *answer.get("results", ())[:1], *answer.get("funds", ())[:1]]
    return next(
        (inner_member for inner_value in inner_values if (inner_member := find_member(inner_value, name)) is not None),
        None,
    )


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    demo_lists = Lists(tmp_path_factory.mktemp("lists"))
    yield demo_lists
    demo_lists.app.db.close()


def size_param(route: Route) -> str:
    names = {param.name for param in (*route.params, *(route.body or ()))}
    return "limit" if "limit" in names else "size"


@pytest.mark.slow
@run_each_case("name, way", WAYS)
def test_a_list_is_paged_to_its_end(lists: Lists, name: str, way: str) -> None:
    size = size_param(ROUTE_OF[name])
    all_rows, answer = lists.page(name, **{size: MAX_ROWS})
    ends = not find_member(answer, "has_more") and find_member(answer, "next_cursor") is None
    assert len(all_rows) > 1, f"{name} has {len(all_rows)} rows: nothing to page"
    step = max(1, len(all_rows) // 3)
    names = {param.name for param in (*ROUTE_OF[name].params, *(ROUTE_OF[name].body or ()))}
    key = NAMES.get(way, "offset" if "offset" in names else "from")
    paged_rows: list[Any] = []
    position: Any = ARGUMENTS.get(name, {}).get(key, 0 if way == "offset" else None)
    while True:
        rows, answer = lists.page(name, **{size: step}, **({} if position is None else {key: position}))
        paged_rows += rows
        if len(paged_rows) >= len(all_rows):
            break
        assert find_member(answer, "has_more") in (True, None)
        position = position + step if way == "offset" else find_member(answer, way)
        assert position is not None, f"{name} does not lead to its next page"
    assert paged_rows[: len(all_rows)] == all_rows
    if ends:
        assert len(paged_rows) == len(all_rows)
        assert not find_member(answer, "has_more")
        assert find_member(answer, "next_cursor") is None


@run_each_case("name, way", [param for param in WAYS if param[1] == "offset"])
def test_a_list_has_no_rows_behind_its_end(lists: Lists, name: str, way: str) -> None:
    names = {param.name for param in (*ROUTE_OF[name].params, *(ROUTE_OF[name].body or ()))}
    rows, answer = lists.page(name, **{"offset" if "offset" in names else "from": OFFSETS.get(name, 999_999_999)})
    assert rows == []
    assert not find_member(answer, "has_more")
    assert find_member(answer, "next_cursor") is None
