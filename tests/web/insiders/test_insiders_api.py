"""The endpoints of insiders: exact figures of a small market made by hand, schemas and refusals."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.cache import Cache
from finapi.core.clock import FixedClock
from finapi.market.insiders import form_query, names
from finapi.market.insiders.insider_store import INSIDERS as INSIDER_NAMES
from finapi.web.http.route import INSIDERS
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.conftest import NOW
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case
from tests.support.insider_market import check_schema, get, list_shares, store_form
from tests.support.ownership_xml import ANN, BEN, FUND, form, transaction

# ---- Transactions


def test_latest_lists_the_newest_filing_first(api: Client) -> None:
    answer = get(api, "/transactions/latest")
    assert list_shares(answer) == [30, 30, 30, 200, 50, 100, 10]
    assert answer["meta"]["pagination"] == {
        "total": 7,
        "limit": 50,
        "offset": 0,
        "has_more": False,
        "next_cursor": None,
    }


def test_a_transaction_has_the_values_of_its_form(api: Client) -> None:
    (row,) = [trade for trade in get(api, "/transactions/latest")["data"] if trade["shares"] == 200]
    assert {
        name: row[name]
        for name in (
            "transaction_id",
            "transaction_date",
            "transaction_code",
            "standard_type",
            "price_per_share",
            "transaction_value",
            "shares_owned_following",
            "total_beneficial_ownership",
            "ownership_nature",
            "indirect_owner_name",
            "insider_name",
            "is_entity",
            "ticker",
            "company_name",
            "sector",
            "industry",
            "filed_at",
            "business_days_to_file",
            "is_late",
            "owner_count",
        )
    } == {
        "transaction_id": "0001234567-26-000004:1",
        "transaction_date": "2026-01-22",
        "transaction_code": "P",
        "standard_type": "purchase",
        "price_per_share": 10.5,
        "transaction_value": 2100,
        "shares_owned_following": 5200,
        "total_beneficial_ownership": 5200,
        "ownership_nature": "I",
        "indirect_owner_name": "By fund",
        "insider_name": "Wick Capital LP",
        "is_entity": True,
        "ticker": "BRK-B",
        "company_name": "Brook Lamps Inc.",
        "sector": "Manufacturing",
        "industry": "Electronic and Electrical Equipment",
        "filed_at": "2026-01-26",
        "business_days_to_file": 2,
        "is_late": False,
        "owner_count": 2,
    }


@run_each_case(
    "query, expected",
    [
        ({"standard_type": "purchase"}, [200, 50, 100]),
        ({"sector": "h"}, [30, 30, 30]),
        ({"sector": "Manufacturing", "standard_type": "sale"}, [10]),
        ({"industry": "36"}, [200, 50, 100, 10]),
        ({"industry": "36", "sector": "H"}, []),
        ({"limit": 2}, [30, 30]),
        ({"limit": 0}, [30]),
        ({"standard_type": "gift"}, []),
    ],
)
def test_latest_is_filtered(api: Client, query: dict[str, Any], expected: list[int]) -> None:
    assert list_shares(get(api, "/transactions/latest", **query)) == expected


def test_pages_have_no_gap_and_no_repetition(api: Client) -> None:
    ids: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(4):
        answer = get(api, "/transactions/latest", limit=2, include_total="false", **cursor)
        ids += [row["transaction_id"] for row in answer["data"]]
        paging = answer["meta"]["pagination"]
        assert paging["total"] is None
        if paging["has_more"]:
            cursor = {"cursor": paging["next_cursor"]}
    assert len(ids) == len(set(ids)) == 7
    assert paging["has_more"] is False
    assert ids == [row["transaction_id"] for row in get(api, "/transactions/latest")["data"]]


def test_trades_sorted_by_their_date_keep_it_over_all_pages(api: Client, market: App) -> None:
    # Filed last, a trade that is older than most others, and one without a date.
    document = form(transaction("P", "7", "9", date="2025-12-01"), transaction("G", "8", None, date=None), kind="5")
    with market.db.write() as tx:
        store_form(tx, document, "0001234567-26-000009", "2026-01-30")
        tx.run("bump_data_version")

    def list_all_shares(path: str, **query: Any) -> list[Any]:
        shares: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            answer = get(api, path, limit=1, **query, **cursor)
            shares += list_shares(answer)
            paging = answer["meta"]["pagination"]
            if not paging["has_more"]:
                assert paging["total"] == len(shares)
                return shares
            cursor = {"cursor": paging["next_cursor"]}

    by_ticker = {"path": "/transactions/by-ticker/BRK-B", "filed_at_days": 36500}
    by_insider = {"path": f"/transactions/by-insider/{ANN[0]}"}
    assert list_all_shares(**by_ticker) == [8, 7, 200, 50, 100, 10]
    assert list_all_shares(**by_ticker, sort_by="transaction_date") == [200, 50, 100, 7, 10, 8]
    assert list_all_shares(**by_insider, sort_by="filing_date") == [8, 7, 100, 10]
    assert list_all_shares(**by_insider, sort_by="transaction_date") == [100, 7, 10, 8]

    # A cursor continues the list in its order, whatever the parameter says.
    for path in (by_ticker, by_insider):
        for sort_by, other_sort_by in itertools.permutations(("filing_date", "transaction_date")):
            cursor = get(api, **path, limit=1, sort_by=sort_by)["meta"]["pagination"]["next_cursor"]
            rest = list_shares(get(api, **path, sort_by=other_sort_by, cursor=cursor))
            assert rest == list_all_shares(**path, sort_by=sort_by)[1:]


def test_a_companys_list_has_a_window_of_filing_days(api: Client) -> None:
    assert list_shares(get(api, "/transactions/by-ticker/brk.b")) == [200, 50]
    assert list_shares(get(api, "/transactions/by-ticker/BRK-B", filed_at_days=30)) == [200, 50, 100]
    assert list_shares(get(api, "/transactions/by-ticker/1234567", filed_at_days=36500)) == [200, 50, 100, 10]
    assert list_shares(get(api, "/transactions/by-ticker/BRK-B", filed_at_days=30, transaction_days=10)) == [200, 50]


def test_a_joint_filing_is_found_under_each_of_its_owners(api: Client) -> None:
    answer = get(api, f"/transactions/by-insider/{BEN[0]}")
    assert list_shares(answer) == [200, 50]
    assert {row["insider_name"] for row in answer["data"]} == {"Shade Ben"}
    assert answer["meta"]["insider"] == {"cik": BEN[0], "name": "Shade Ben", "is_entity": False, "total_companies": 1}
    assert list_shares(get(api, f"/transactions/by-insider/{BEN[0]}", from_date="2026-01-22")) == [200]
    (joint,) = get(api, f"/transactions/by-insider/{FUND[0]}", collapse_joint_filers="true")["data"]
    assert joint["insider_name"] == "Wick Capital LP; Shade Ben"


@run_each_case(
    "query, expected",
    [
        ({"query": "shade", "filed_at_days": 30}, [30, 30, 30, 200, 50]),
        ({"query": "shade ben", "filed_at_days": 30}, [200, 50]),
        ({"query": "BRK-B", "filed_at_days": 30, "min_value": "600"}, [200, 100]),
        ({"query": "brook", "filed_at_days": 30, "max_value": "600"}, [50]),
        ({"query": "brook", "filed_at_days": 30, "max_value": "550.5"}, [50]),
        ({"query": "brook", "filed_at_days": 30, "min_value": "550", "max_value": "600"}, [50]),
        ({"query": "brook", "filed_at_days": 30, "min_value": "550.5", "max_value": "600"}, []),
        ({"query": "brook", "filed_at_days": 30, "is_director": "false"}, [100]),
        ({"query": "brook", "filed_at_days": 30, "is_c_suite": "true"}, [100]),
        ({"query": "shade bank", "exclude_cashless": "true"}, [30]),
        ({"query": "shade bank", "exclude_10b5_1": "true"}, [30, 30]),
        ({"query": "shade bank", "transaction_code": "s"}, [30]),
        ({"query": "104"}, [30, 30, 30]),
        ({"query": "nobody"}, []),
        ({"query": "!!"}, []),
    ],
)
def test_search_filters_transactions_by_name(api: Client, query: dict[str, Any], expected: list[int]) -> None:
    assert list_shares(get(api, "/transactions/search", **query)) == expected


def test_top_lists_the_largest_values_first(api: Client) -> None:
    values = [row["transaction_value"] for row in get(api, "/transactions/top")["data"]]
    assert values == [2100, 1000, 550]
    answer = get(api, "/transactions/top", direction="SELL", limit=1)
    assert [row["transaction_value"] for row in answer["data"]] == [1200]
    assert answer["meta"]["pagination"]["total"] == 2
    cursor = answer["meta"]["pagination"]["next_cursor"]
    next_page = get(api, "/transactions/top", direction="SELL", limit=1, cursor=cursor)
    assert [row["transaction_value"] for row in next_page["data"]] == [50]
    assert get(api, "/transactions/top", direction="SELL", sector="D")["meta"]["pagination"]["total"] == 1
    assert get(api, "/transactions/top", industry="36")["meta"]["pagination"]["total"] == 3


# ---- Holdings


def test_holdings_of_a_company_are_from_the_latest_forms(api: Client) -> None:
    answer = get(api, "/holdings/by-ticker/BRK-B")
    holdings = [(row["insider_name"], row["ownership_nature"], row["amount_owned"]) for row in answer["data"]]
    assert holdings == [
        # Ben's 50 shares of the day before are not listed: his latest form with the class does not report them.
        ("Wick Capital LP", "I", 5200),
        ("Lamp Ann", "D", 1100),
        ("Lamp Ann", "I", 500),
    ]
    # The holding of a joint filing is counted once.
    sums = {"total_shares_direct": 1100, "total_shares_indirect": 5700, "total_beneficial": 6800}
    assert answer["meta"]["summary"] == {
        "total_insiders": 3,
        **sums,
        "classes": [{"issuer_cik": forms.ISSUER, "security_title": "Common Stock", **sums}],
    }


def test_beneficial_ownership_is_summed_over_vehicles(api: Client) -> None:
    answer = get(api, f"/holdings/by-insider/{ANN[0]}")
    assert {row["total_beneficial_ownership"] for row in answer["data"]} == {1600}
    summary = answer["meta"]["ownership_summary"][forms.ISSUER]
    assert summary["total_beneficial"] == 1600
    assert [(vehicle["nature"], vehicle["shares"], vehicle["name"]) for vehicle in summary["ownership_vehicles"]] == [
        ("D", 1100, None),
        ("I", 500, "By trust"),
    ]


def test_a_snapshot_lists_the_holdings_as_of_a_day(api: Client) -> None:
    before = get(api, "/holdings/snapshot/2025-12-31")
    assert [(row["insider_name"], row["amount_owned"]) for row in before["data"]] == [("Lamp Ann", 990)]
    assert before["meta"]["snapshot_date"] == "2025-12-31"
    after = get(api, "/holdings/snapshot/2026-01-31")
    assert [row["amount_owned"] for row in after["data"]] == [1100, 500, 5200, 100, 70]
    assert get(api, "/holdings/snapshot/2024-01-01")["data"] == []
    assert len(get(api, "/holdings/snapshot/2026-01-31", ticker="SHBK")["data"]) == 2
    (ben,) = [
        row
        for row in get(api, "/holdings/snapshot/2026-01-31", insider_cik=BEN[0])["data"]
        if row["ownership_nature"] == "I"
    ]
    assert (ben["insider_name"], ben["amount_owned"]) == ("Shade Ben", 5200)


def test_a_snapshot_has_pages(api: Client) -> None:
    pages = [get(api, "/holdings/snapshot/2026-01-31", limit=4, offset=start) for start in (0, 4)]
    assert [row["amount_owned"] for page in pages for row in page["data"]] == [1100, 500, 5200, 100, 70]
    assert [page["meta"]["pagination"]["has_more"] for page in pages] == [True, False]
    assert pages[0]["data"][0]["total_beneficial_ownership"] == 1600


def test_a_derivative_has_no_beneficial_total(api: Client) -> None:
    (row,) = [holding for holding in get(api, "/holdings/by-ticker/SHBK")["data"] if holding["is_derivative"]]
    assert (row["amount_owned"], row["total_beneficial_ownership"]) == (70, None)
    assert row["marks"]["total_beneficial_ownership"]["reason"] == "not_of_derivatives"


def test_a_profile_has_roles_sums_and_recent_trades(api: Client) -> None:
    profile = get(api, f"/insider/{ANN[0]}")
    assert profile["current_roles"] == [
        {
            "ticker": "BRK-B",
            "company": "Brook Lamps Inc.",
            "issuer_cik": forms.ISSUER,
            "roles": ["Chief Financial Officer"],
            "as_of": "2026-01-20",
            "total_beneficial_ownership": 1600,
        }
    ]
    assert (profile["total_transactions_365d"], profile["total_buy_value_365d"], profile["total_sell_value_365d"]) == (
        2,
        1000,
        50,
    )
    assert profile["latest_transaction_date"] == "2026-01-20"
    assert [row["shares"] for row in profile["recent_transactions"]] == [100, 10]


def test_insiders_are_found_by_the_beginning_of_a_name(api: Client) -> None:
    assert get(api, "/insider/search", query="SHA") == [
        {
            "cik": BEN[0],
            "name": "Shade Ben",
            "is_entity": False,
            "latest_company": "Brook Lamps Inc.",
            "active_tickers": ["BRK-B"],
        }
    ]
    assert get(api, "/insider/search", query="zz") == []


def test_a_search_of_names_has_pages_and_says_if_it_is_cut(
    market: App, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with market.db.write() as tx:
        for cik in range(900, 903):
            values = {"cik": cik, "name": f"Zed{cik} Zedder", "is_entity": False, "day": 1, "form": 1}
            tx.run("upsert_insider", values)
            tx.insert_rows("insert_insider_words", [("zedder", INSIDER_NAMES, cik)])
            tx._connection.execute(
                "INSERT INTO insider_form_owners SELECT ?, ?, id, ?, 0, NULL, NULL FROM insider_forms LIMIT 1",
                (cik, 20_000 + cik, cik),
            )
    path = "/api/v1/insiders/insider/search?query=zedder&limit=2"
    first, second = api.get(path), api.get(path + "&offset=2")
    assert [row["cik"][-3:] for row in first.json + second.json] == ["902", "901", "900"]
    assert [page.headers["x-has-more"] for page in (first, second)] == ["true", "false"]
    assert (second.headers["x-total-count"], "x-window" in second.headers) == ("3", False)
    assert api.get(path + "&offset=3").json == []
    monkeypatch.setattr(names, "MAX_NAMES_WITH_WORD", 2)
    cut = api.get(path.replace("limit=2", "limit=1"))
    assert (cut.headers["x-total-count"], cut.headers["x-window"]) == ("2", "matches_cut=true")


# ---- Filings


def test_a_filing_has_counts_and_links(api: Client) -> None:
    answer = get(api, "/filings/latest", limit=1)
    (row,) = answer["data"]
    assert (row["accession_number"], row["non_derivative_transaction_count"]) == ("0007654321-26-000005", 2)
    assert (row["derivative_transaction_count"], row["footnote_count"], row["owner_count"]) == (1, 2, 1)
    assert row["index_url"] == (
        "https://www.sec.gov/Archives/edgar/data/7654321/000765432126000005/0007654321-26-000005-index.htm"
    )
    assert (answer["meta"]["pagination"]["total"], answer["meta"]["pagination"]["has_more"]) == (5, True)


@run_each_case(
    "path, query, expected",
    [
        ("/filings/latest", {"sector": "H"}, [5]),
        ("/filings/latest", {"industry": "36", "form_type": "4"}, [4, 3, 2, 1]),
        ("/filings/latest", {"from_date": "2026-01-23", "to_date": "2026-01-26"}, [4, 3]),
        ("/filings/latest", {"is_amendment": "true"}, []),
        ("/filings/latest", {"form_type": "4/A"}, []),
        ("/filings/latest", {"ticker": "brk/b", "limit": 2, "offset": 1}, [3, 2]),
        ("/filings/by-ticker/BRK-B", {}, [4, 3, 2, 1]),
        ("/filings/by-ticker/BRK-B", {"insider_cik": "102"}, [4, 3]),
    ],
)
def test_filings_are_filtered(api: Client, path: str, query: dict[str, Any], expected: list[int]) -> None:
    assert [int(row["accession_number"][-1]) for row in get(api, path, **query)["data"]] == expected


def test_a_window_of_filings_excludes_undated_forms(api: Client, market: App) -> None:
    with market.db.write() as tx:
        store_form(tx, form(transaction("G"), period="2025-10-01"), "0001234567-25-000009", None)
    for path in ("/filings/latest", "/filings/by-ticker/BRK-B"):
        assert [row["filed_at"] for row in get(api, path)["data"]][-1] is None
        before = get(api, path, to_date="2025-12-31")
        assert [row["filed_at"] for row in before["data"]] == ["2025-10-03"]
        assert before["meta"]["pagination"]["total"] == 1


def test_a_form_has_cells_with_footnotes_and_marks(api: Client) -> None:
    filed_form = get(api, "/filings/0007654321-26-000005")["data"]
    exercise = filed_form["derivativeTable"]["transactions"][0]
    assert exercise["conversionOrExercisePrice"] == {"value": 2, "footnotes": [], "mark": None}
    assert exercise["transactionAmounts"]["transactionPricePerShare"] == {
        "value": None,
        "footnotes": ["F2"],
        "mark": {"status": "absent", "reason": "only_in_footnote", "footnotes": ["F2"]},
    }
    assert filed_form["footnotes"][1] == {"id": "F2", "text": "None was paid."}
    assert filed_form["issuer"]["tradingSymbolAtFiling"] == "SHBK"
    assert get(api, "/filings/000765432126000005")["data"]["accessionNo"] == "0007654321-26-000005"


# ---- The query


def query(api: Client, text: str, **members: Any) -> Answer:
    return api.post(INSIDERS + "/query", {"query": text, **members})


@run_each_case(
    "text, expected",
    [
        ("issuer.tradingSymbol:BRK-B", [4, 3, 2, 1]),
        ("issuer.tradingSymbol:BRK-B AND transactionCode:S", [1]),
        ("reportingOwner.cik:102", [4, 3]),
        ('reportingOwner.name:"shade ben" AND filedAt:[2026-01-01 TO 2026-01-31]', [4, 3]),
        ("filedAt:[2026-01-26 TO *]", [5, 4, 3]),
        ("periodOfReport:2026-01-20", [2]),
        ("periodOfReport:[2026-01-20 TO *] AND periodOfReport:[* TO 2026-01-22]", [4, 3, 2]),
        ("filedAt:[2026-01-01 TO *] AND filedAt:[* TO 2026-01-25] AND filedAt:[* TO 2026-02-25]", [2]),
        ("filedAt:[2026-01-23 TO *] AND filedAt:[* TO 2026-01-22]", []),
        ("accessionNo:000123456725000001", [1]),
        ("documentType:4 issuer.cik:7654321", [5]),
        ("issuer.tradingSymbol:NONESUCH", []),
        ("issuer.cik:1234567 AND issuer.cik:7654321", []),
        ("issuer.cik:1234567 OR issuer.cik:7654321", [5, 4, 3, 2, 1]),
        ("(ticker:BRK-B AND NOT transactionCode:S) OR cik:104", [5, 4, 3, 2]),
        ("ticker:(BRK-B OR NONESUCH) -formType:4", []),
        ("NOT ticker:BRK-B", [5]),
        ("NOT (ticker:BRK-B AND transactionCode:P)", [5, 1]),
        ("formType:4 AND filedAt:[2026-01-26T00:00:00 TO 2026-01-28T00:00:00]", [4, 3]),
        ("reporters.name:dee AND issuer.name:bank", [5]),
        ("shade bank", [5]),
        ("cik:102 || cik:104", [5, 4, 3]),
        ("brk.b", [4, 3, 2, 1]),
        ("lamps", [4, 3, 2, 1]),
        ("lanterns", []),
        ("isAmendment:true", []),
    ],
)
def test_a_query_finds_forms(api: Client, text: str, expected: list[int]) -> None:
    answer = query(api, text)
    assert answer.status == 200, answer.body
    assert [int(row["accessionNo"][-1]) for row in answer.json["transactions"]] == expected
    assert answer.json["total"] == {"value": len(expected), "relation": "eq"}
    check_schema("POST", "/query", answer.json)


def test_a_query_has_pages(api: Client) -> None:
    answer = query(api, "issuer.tradingSymbol:BRK-B", **{"from": 1, "size": 2}).json
    assert [row["accessionNo"][-1] for row in answer["transactions"]] == ["3", "2"]
    assert answer["total"]["value"] == 4


@run_each_case(
    "text",
    [
        "colour:red",
        "issuer.cik:abc",
        "filedAt:[soon TO later]",
        "documentType:10-K",
        "transactionCode:SS",
        "issuer.cik:1 OR",
        "(issuer.cik:1",
        "issuer.cik:1)",
        "NOT",
        "ticker:BRK*",
        "ticker:[A TO B]",
        "filedAt:{2025-01-01 TO 2026-01-01}",
        "filedAt:[2025-01-01]",
        "name~2",
        '""',
        "(" * 20 + "a" + ")" * 20,
        "NOT " * 20 + "a",
        " AND ".join(f"(ticker:A{number} OR ticker:B{number})" for number in range(6)),
        'reportingOwner.name:"a',
        "AND",
        " " * 5000,
        "a:b " * 1000,
    ],
)
def test_an_invalid_query_is_refused(api: Client, text: str) -> None:
    answer = query(api, text)
    assert (answer.status, answer.json["code"]) == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == "query"


def test_a_query_that_tested_some_forms_has_a_lower_bound(market: App, api: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(form_query, "MAX_SEARCHED_FORMS", 2)
    # All forms of a day are tested.
    answer = query(api, "transactionCode:P").json
    assert ([row["accessionNo"][-1] for row in answer["transactions"]], answer["total"]) == (
        ["4", "3"],
        {"value": 2, "relation": "gte"},
    )
    assert query(api, "ticker:BRK-B AND transactionCode:P").json["total"] == {"value": 3, "relation": "eq"}


@pytest.mark.parametrize("sort", ["filedAt", ["filed_at"], [{"filedAt": {"order": "desc"}}]])
def test_forms_come_newest_first(api: Client, sort: Any) -> None:
    assert query(api, "ticker:BRK-B", sort=sort).json == query(api, "ticker:BRK-B").json
    refused = query(api, "ticker:BRK-B", sort=[{"filedAt": {"order": "asc"}}])
    assert (refused.status, refused.json["details"]["param"]) == (400, "sort")


# ---- Sums


def test_a_summary_has_the_sums_of_a_company(api: Client) -> None:
    data = get(api, "/summary/by-ticker/BRK-B", filed_at_days=200)["data"]
    assert {name: data[name] for name in data if isinstance(data[name], int | float)} == {
        "total_transactions": 4,
        "total_buys": 3,
        "total_sells": 1,
        "total_buy_value": 3650,
        "total_sell_value": 50,
        "net_value": 3600,
        "transactions_without_value": 0,
        "unique_insiders": 3,
        "unique_buyers": 3,
        "unique_sellers": 1,
        "rule_10b5_1_buy_count": 0,
        "rule_10b5_1_sell_count": 0,
        "rule_10b5_1_buy_value": 0,
        "rule_10b5_1_sell_value": 0,
        "csuite_buy_count": 1,
        "csuite_sell_count": 1,
        "csuite_buy_value": 1000,
        "csuite_sell_value": 50,
        "csuite_net_value": 950,
        "officer_buy_value": 1000,
        "officer_sell_value": 50,
        "director_buy_value": 2650,
        "director_sell_value": 0,
        "buy_sell_ratio": 3,
        "sentiment_score": 0.5,
        "value_sentiment_score": 0.973,
        "csuite_sentiment_score": 0,
        "value_csuite_sentiment_score": 0.9048,
        "filing_count": 4,
        "doubtful_left_out": 0,
    }
    assert (data["latest_transaction_date"], data["marks"]) == ("2026-01-22", {})


def test_a_score_without_trades_is_not_meaningful(api: Client) -> None:
    data = get(api, "/summary/by-ticker/BRK-B", filed_at_days=0)["data"]
    assert (data["total_transactions"], data["sentiment_score"], data["buy_sell_ratio"]) == (0, None, None)
    assert data["marks"]["sentiment_score"] == {"status": "nm", "reason": "no_trades"}
    assert data["marks"]["buy_sell_ratio"] == {"status": "nm", "reason": "no_sales"}


def test_a_cluster_of_buyers_has_its_sums(api: Client) -> None:
    (cluster,) = get(api, "/clusters")
    assert (cluster["ticker"], cluster["cluster_type"], cluster["insider_count"]) == ("BRK-B", "buy", 3)
    assert (cluster["total_value"], cluster["net_shares"], cluster["price_avg"]) == (3650, 350, 10.4286)
    assert (cluster["first_date"], cluster["last_date"]) == ("2026-01-20", "2026-01-22")
    assert cluster["insiders"] == ["Lamp Ann", "Shade Ben", "Wick Capital LP"]
    assert (cluster["has_officer"], cluster["has_ten_percent_owner"]) == (True, True)
    assert get(api, "/clusters", min_insiders=4) == []
    assert get(api, "/clusters", min_value=3650) == [cluster]
    assert get(api, "/clusters", min_value=3651) == []


def test_clusters_exclude_sales_under_plans_by_default(api: Client) -> None:
    narrow = {"min_insiders": 1, "sector": "H"}
    assert get(api, "/clusters", **narrow) == []
    (cluster,) = get(api, "/clusters", **narrow, exclude_10b5_1="false", exclude_cashless="false")
    assert (cluster["cluster_type"], cluster["net_shares"]) == ("sell", -30)


def test_a_screen_filters_and_sorts_companies(api: Client) -> None:
    answer = get(api, "/screen", filed_at_days=30)
    assert [(company["ticker"], company["net_value"], company["sentiment_score"]) for company in answer["results"]] == [
        ("SHBK", -1200, -1),
        ("BRK-B", 3650, 1),
    ]
    assert (answer["meta"]["total_results"], answer["meta"]["has_more"]) == (2, False)
    assert [company["ticker"] for company in get(api, "/screen", filed_at_days=30, net_value_gt=0)["results"]] == [
        "BRK-B"
    ]
    assert [company["ticker"] for company in get(api, "/screen", filed_at_days=30, sentiment_lt="0.5")["results"]] == [
        "SHBK"
    ]
    assert get(api, "/screen", filed_at_days=30, min_insiders=4)["results"] == []
    best = get(api, "/screen", filed_at_days=30, sort_by="net_value", limit=1)
    assert ([company["ticker"] for company in best["results"]], best["meta"]["has_more"]) == (["BRK-B"], True)


def test_transactions_are_summed_by_sector_and_industry(api: Client) -> None:
    answer = get(api, "/aggregation/by-sector", filed_at_days=30)
    assert [(row["group"], row["transaction_count"], row["net_value"]) for row in answer["data"]] == [
        ("Manufacturing", 3, 3650),
        ("Finance, Insurance and Real Estate", 3, -1200),
    ]
    only = get(api, "/aggregation/by-sector", group_by="industry", transaction_code="P", filed_at_days=30)
    assert [(row["group"], row["buy_count"]) for row in only["data"]] == [("Electronic and Electrical Equipment", 3)]


def test_the_market_is_summed_over_the_last_days(api: Client) -> None:
    overview = get(api, "/stats/global", days=10)
    assert overview["volume"] == {"buy_volume": 3650, "sell_volume": 1200, "buy_count": 3, "sell_count": 1}
    assert [(row["date"], row["buy"], row["sell"]) for row in overview["daily_trend"]] == [
        ("2026-01-29", 0, 1200),
        ("2026-01-26", 2650, 0),
        ("2026-01-22", 1000, 0),
    ]
    assert [row["value"] for row in overview["recent_large_tx"]] == [2100, 1200, 1000, 550]
    assert [row["insider"] for row in overview["top_insiders"]][:2] == ["Wick Capital LP", "Chandelier Dee"]


def test_signals_are_the_clusters_of_thirty_days(api: Client) -> None:
    signals = get(api, "/recommendations/daily")
    assert [(row["ticker"], row["signal"], row["price_avg"]) for row in signals["buy"]] == [
        ("BRK-B", "cluster_buy", 10.4286)
    ]
    assert signals["sell"] == []


# ---- Every route


ROUTES_OF_INSIDERS = [route for route in ROUTES if route.path.startswith(INSIDERS + "/")]


def test_every_route_has_three_paths(api: Client) -> None:
    assert len(ROUTES_OF_INSIDERS) == 26
    for route in ROUTES_OF_INSIDERS:
        path = route.path.removeprefix(INSIDERS)
        assert route.paths[1:] == (f"/insider-module/api/insiders{path}", f"/api/insiders{path}")
        assert (route.zone, route.auth) == ("insider", "key")
    answer = api.get("/insider-module/api/insiders/transactions/latest")
    assert (answer.status, answer.headers["x-tokens-charged"]) == (200, "5")
    assert api.get("/api/insiders/transactions/latest").json["data"] == answer.json["data"]


def test_all_paths_share_one_limit(make_app: Callable[..., App]) -> None:
    app = make_app(insider_per_minute_free=2)
    client = Client(app, users.create(app, "ann@example.com", "free", NOW).api_key)
    both = (INSIDERS, "/insider-module/api/insiders", INSIDERS)
    answers = [client.get(path + "/stats/global") for path in both]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert "retry-after" in answers[2].headers


@run_each_case("route", ROUTES_OF_INSIDERS)
def test_a_route_requires_a_key(market: App, route: Any) -> None:
    assert Client(market).call(route.method, route.path.replace("{", "").replace("}", "")).status == 401


LISTS = [
    "/transactions/latest",
    "/transactions/search?query=brook&filed_at_days=365",
    "/clusters?min_insiders=1",
    "/screen?filed_at_days=30",
    "/insider/search?query=l",
    "/holdings/by-ticker/BRK-B",
    "/filings/latest",
    "/aggregation/by-sector?filed_at_days=30",
]


CACHED_PATHS = [
    "/transactions/latest",
    "/transactions/by-insider/101",
    "/transactions/top",
    "/insider/search?query=l",
    "/holdings/by-ticker/BRK-B",
    "/holdings/by-insider/101",
    "/holdings/snapshot/2025-12-31",
    "/filings/latest",
    "/filings/by-ticker/BRK-B",
]


def test_cached_answers_do_not_depend_on_the_clock(api: Client, clock: FixedClock) -> None:
    client = Client(replace(api.app, answer_cache=Cache(0, lambda response: 1)), api.key)
    before = [client.get(INSIDERS + path) for path in CACHED_PATHS]
    clock.advance(400 * 86_400)
    for path, first in zip(CACHED_PATHS, before, strict=True):
        second = client.get(INSIDERS + path)
        assert first.headers["etag"] == second.headers["etag"]
        bodies = [
            page.json if isinstance(page.json, list) else {**page.json, **CALL_MEMBERS} for page in (first, second)
        ]
        assert bodies[0] == bodies[1]


CALL_MEMBERS = {"request_id": "", "timestamp": ""}


@run_each_case("path", LISTS)
def test_lists_are_sent_as_csv_and_ndjson(api: Client, path: str) -> None:
    plain = api.get(INSIDERS + path).json
    rows = plain if isinstance(plain, list) else plain.get("data") or plain["results"]
    table = api.get(INSIDERS + path, headers={"Accept": "text/csv"})
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(list(csv.DictReader(io.StringIO(table.body.decode())))) == len(rows) > 0
    lines = api.get(INSIDERS + path, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line) for line in lines.body.splitlines()] == rows


def test_a_table_has_its_page_in_headers(api: Client) -> None:
    answer = api.get(INSIDERS + "/transactions/latest?limit=2", headers={"Accept": "text/csv"})
    assert (answer.headers["x-has-more"], answer.headers["x-total-count"]) == ("true", "7")
    assert "x-next-cursor" in answer.headers


@run_each_case(
    "path, status, param",
    [
        ("/transactions/latest?limit=x", 400, "limit"),
        ("/transactions/latest?cursor=1_2", 400, "cursor"),
        ("/transactions/latest?cursor=" + "9" * 19 + "_1_1_1", 400, "cursor"),
        ("/transactions/latest?sector=Lamps", 400, "sector"),
        ("/transactions/latest?industry=99999", 400, "industry"),
        ("/transactions/latest?standard_type=theft", 400, "standard_type"),
        ("/transactions/latest?dedup_owners=1", 400, "dedup_owners"),
        ("/transactions/by-ticker/NONESUCH", 404, None),
        ("/transactions/by-ticker/BRK-B?sort_by=value", 400, "sort_by"),
        ("/filings/by-ticker//", 400, "ticker"),
        ("/transactions/by-ticker/%20", 400, "ticker"),
        ("/transactions/by-insider/abc", 400, "cik"),
        ("/transactions/by-insider/999", 404, None),
        ("/transactions/search?query=a&transaction_code=PP", 400, "transaction_code"),
        ("/transactions/search?query=a&min_value=lots", 400, "min_value"),
        ("/transactions/top?direction=UP", 400, "direction"),
        ("/holdings/snapshot/2026-13-01", 400, "snapshot_date"),
        ("/holdings/snapshot/2026-01-01?insider_cik=x", 400, "insider_cik"),
        ("/holdings/by-insider/999", 404, None),
        ("/insider/999", 404, None),
        ("/filings/1", 400, "accession_number"),
        ("/filings/0000000000-00-000000", 404, None),
        ("/filings/latest?form_type=10-K", 400, "form_type"),
        ("/screen?sort_by=luck", 400, "sort_by"),
        ("/screen?offset=-1", 400, "offset"),
        ("/filings/latest?offset=1000000000", 400, "offset"),
        ("/aggregation/by-sector?group_by=luck", 400, "group_by"),
        ("/summary/by-ticker/BRK-B?is_c_suite=no", 400, "is_c_suite"),
    ],
)
def test_an_invalid_parameter_is_refused_by_name(api: Client, path: str, status: int, param: str | None) -> None:
    answer = api.get(INSIDERS + path)
    assert answer.status == status, answer.body
    assert answer.headers["x-tokens-charged"] == "0"
    if param is not None:
        assert answer.json["details"]["param"] == param


def test_an_etag_is_valid_until_a_form_is_stored(api: Client, market: App) -> None:
    tag = api.get(INSIDERS + "/filings/latest").headers["etag"]
    assert api.get(INSIDERS + "/filings/latest", headers={"If-None-Match": tag}).status == 304
    with market.db.write() as tx:
        store_form(tx, form(transaction("G"), period="2026-01-30"), "0001234567-26-000009", "2026-01-30")
    assert api.get(INSIDERS + "/filings/latest", headers={"If-None-Match": tag}).status == 200
