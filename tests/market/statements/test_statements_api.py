"""Statements over HTTP: the exact JSON of a report, the report that the parameters select, and errors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.market.reference import companies
from finapi.market.statements.layout import Section
from tests.client import Answer, Client
from tests.support.brook_lamps_report import (
    ACCESSION,
    BALANCE,
    CASH_FLOW,
    COMMON,
    COMPANY,
    COVER_PAGE,
    EQUITY_AXIS,
    FILING,
    INCOME,
    LABELS,
    NEGATED,
    ROLE,
    build_report,
    item,
    store_report,
)
from tests.support.case_tables import run_each_case
from tests.support.metered_calls import list_ledger_rows

STAMP = "2026-01-31T12:00:00.000Z"
# The filing of each statement.
FILED = {"accession": ACCESSION, "form_type": "10-K", "filed_at": "2025-02-01"}

ABSENT = {"status": "absent", "reason": "not_reported"}
NIL = {"status": "nil", "reason": "reported_nil"}

YEAR_2024 = {"context_seq": 1, "period_type": "D", "start_date": "2024-01-01", "end_date": "2024-12-31", "dims": None}
YEAR_2023 = {"context_seq": 2, "period_type": "D", "start_date": "2023-01-01", "end_date": "2023-12-31", "dims": None}


@pytest.fixture
def empty_client(app: App, user: users.NewUser) -> Client:
    """Return a client with a key; the database has no report."""
    return Client(app, user.api_key)


@pytest.fixture
def client(app: App, empty_client: Client) -> Client:
    """Return a client with a key; the database has one annual report."""
    store_report(app, build_report())
    return empty_client


def get_body(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.json


def get_error_details(answer: Answer, status: int, code: str) -> dict[str, Any]:
    """Return the details of an error that was free of charge."""
    assert answer.status == status, answer.body
    body = answer.json
    assert (body["status"], body["error"], body["code"]) == ("error", code, code)
    assert answer.headers["x-tokens-charged"] == "0"
    return dict(body.get("details", {}))


def row(
    concept: str, label: str, values: list[str | None], marks: list[Any] | None = None, **changes: Any
) -> dict[str, Any]:
    """Return a row of figures in dollars to the thousand, with these changes."""
    return {
        "concept": f"us-gaap:{concept}",
        "label": label,
        "depth": 0,
        "abstract": False,
        "balance": None,
        "unit": "USD",
        "decimals": -3,
        "preferred_label": None,
        "negated": False,
        "values": values,
        "marks": marks or [None] * len(values),
        "fact_ids": [None] * len(values),
        "ink_urls": [None] * len(values),
        **changes,
    }


def heading(concept: str, label: str, depth: int) -> dict[str, Any]:
    return row(concept, label, [], [], abstract=True, unit=None, decimals=None, depth=depth)


def get_revenue(answer: Answer) -> Any:
    return get_body(answer)["data"]["statements"]["income"]["rows"][1]["values"][0]


# ---- the JSON


def test_the_meta_names_the_filing_of_the_statements(client: Client) -> None:
    body = get_body(client.get(COMPANY))
    assert list(body) == ["status", "data", "meta", "request_id", "timestamp"]
    assert body["status"] == "success"
    assert body["timestamp"] == STAMP
    assert body["meta"] == {
        "resolved_accession": ACCESSION,
        "accession": ACCESSION,
        "period_of_report": "2024-12-31",
        "form_type": "10-K",
        "filed_at": "2025-02-01",
        "fiscal_year": 2024,
        "fiscal_period": "FY",
        "cik": "0001234567",
        "ticker": "BRK-B",
        "company_name": "Brook Lamps Inc.",
        "covered": True,
        "source": "xbrl",
        "view": "consolidated",
        "engine_version": 1,
        "generated_at": STAMP,
        "statement_count": 3,
        "entity": None,
        "absent": [{"statement": "equity", "status": "absent", "reason": "only_with_dimensions"}],
    }


def test_statements_come_in_the_order_of_the_filing(client: Client) -> None:
    data = get_body(client.get(COMPANY))["data"]
    assert {name: value for name, value in data.items() if name != "statements"} == {
        "kind": "as_filed",
        "ticker": "BRK-B",
        "cik": "0001234567",
        "company_name": "Brook Lamps Inc.",
    }
    assert list(data["statements"]) == ["income", "balance", "cash-flow"]


def test_an_income_statement_is_as_filed(client: Client) -> None:
    statement = get_body(client.get(COMPANY))["data"]["statements"]["income"]
    assert statement == {
        **FILED,
        "slot": "StatementsOfIncome",
        "role_uri": ROLE + "Income",
        "definition": "0000002 - Statement - CONSOLIDATED STATEMENTS OF OPERATIONS",
        "page_url": f"/filing/{ACCESSION}?section=2",
        "columns": [YEAR_2024, YEAR_2023],
        "rows": [
            heading("IncomeStatementAbstract", "Income Statement [Abstract]", 0),
            row("Revenues", "Net sales", ["1000000", "900000"], depth=1, balance="credit"),
            row(
                "CostOfRevenue",
                "Cost of sales",
                ["600000", "550000"],
                depth=1,
                balance="debit",
                preferred_label=NEGATED,
                negated=True,
            ),
            heading("NonoperatingIncomeExpenseAbstract", "Other:", 1),
            row("InterestExpense", "Interest", [None, "-12.50"], [NIL, None], depth=2, balance="debit", decimals=2),
            row("OtherNonoperatingIncomeExpense", "Other", ["0", None], [None, ABSENT], depth=2, balance="credit"),
            row(
                "NetIncomeLoss",
                "Net income",
                ["400000", "349987.50"],
                depth=1,
                balance="credit",
                preferred_label=LABELS + "totalLabel",
            ),
            row("EarningsPerShareBasic", "Per share", ["0.40", "0.35"], depth=1, unit="USD/shares", decimals=2),
        ],
    }


def test_a_balance_sheet_has_instants_for_columns(client: Client) -> None:
    statement = get_body(client.get(COMPANY))["data"]["statements"]["balance"]
    assert statement == {
        **FILED,
        "slot": "StatementsOfFinancialPosition",
        "role_uri": ROLE + "Balance",
        "definition": "0000003 - Statement - CONSOLIDATED BALANCE SHEETS",
        "page_url": f"/filing/{ACCESSION}?section=3",
        "columns": [
            {"context_seq": 5, "period_type": "I", "start_date": None, "end_date": "2024-12-31", "dims": None},
            {"context_seq": 6, "period_type": "I", "start_date": None, "end_date": "2023-12-31", "dims": None},
        ],
        "rows": [
            heading("AssetsAbstract", "ASSETS", 0),
            row("Cash", "Cash", ["125000", "100000"], depth=1, balance="debit"),
            row("StockholdersEquity", "Equity", ["125000", "100000"], balance="credit"),
        ],
    }


def test_cash_is_in_its_opening_and_its_closing_column(client: Client) -> None:
    statement = get_body(client.get(COMPANY))["data"]["statements"]["cash-flow"]
    assert statement == {
        **FILED,
        "slot": "StatementsOfCashFlows",
        "role_uri": ROLE + "CashFlow",
        "definition": "0000004 - Statement - CONSOLIDATED STATEMENTS OF CASH FLOWS",
        "page_url": f"/filing/{ACCESSION}?section=4",
        "columns": [YEAR_2024, YEAR_2023],
        "rows": [
            row(
                "Cash",
                "Cash, beginning",
                ["100000", "80000"],
                balance="debit",
                preferred_label=LABELS + "periodStartLabel",
            ),
            row("CashPeriodIncrease", "Increase", ["25000", "20000"], balance="debit"),
            row("Cash", "Cash, end", ["125000", "100000"], balance="debit", preferred_label=LABELS + "periodEndLabel"),
        ],
    }


def test_dimensioned_columns_follow_on_request(client: Client) -> None:
    body = get_body(client.get(COMPANY, query={"consolidated_only": "false"}))
    assert (body["meta"]["view"], body["meta"]["statement_count"]) == ("all", 4)
    income = body["data"]["statements"]["income"]
    lamps = {**YEAR_2024, "context_seq": 3, "dims": {"srt:ProductOrServiceAxis": "brk:LampsMember"}}
    shades = {**YEAR_2024, "context_seq": 4, "dims": {"srt:ProductOrServiceAxis": "brk:ShadesMember"}}
    assert income["columns"] == [YEAR_2024, YEAR_2023, lamps, shades]
    assert income["rows"][1] == row(
        "Revenues", "Net sales", ["1000000", "900000", "700000", "300000"], depth=1, balance="credit"
    )
    assert income["rows"][4]["values"] == [None, "-12.50", None, None]
    assert income["rows"][4]["marks"] == [NIL, None, ABSENT, ABSENT]


def test_a_dimensioned_statement_is_served_on_request(client: Client) -> None:
    body = get_body(client.get(COMPANY, query={"consolidated_only": "false", "statement": "equity"}))
    assert body["data"]["statements"] == {
        "equity": {
            **FILED,
            "slot": "StatementsOfStockholdersEquity",
            "role_uri": ROLE + "Equity",
            "definition": "0000005 - Statement - CONSOLIDATED STATEMENTS OF EQUITY",
            "page_url": None,
            "columns": [{**YEAR_2024, "context_seq": 8, "dims": {EQUITY_AXIS: COMMON}}],
            "rows": [row("StockIssued", "Stock issued", ["5000"], balance="credit")],
        }
    }
    assert body["meta"]["absent"] == []


def test_each_row_has_a_value_for_each_column_or_is_a_heading(client: Client) -> None:
    statements = get_body(client.get(COMPANY, query={"consolidated_only": "false"}))["data"]["statements"]
    for statement in statements.values():
        for statement_row in statement["rows"]:
            width = 0 if statement_row["abstract"] else len(statement["columns"])
            for name in ("values", "marks", "fact_ids", "ink_urls"):
                assert len(statement_row[name]) == width
            for value, mark in zip(statement_row["values"], statement_row["marks"], strict=True):
                assert (value is None) == (mark is not None)


def test_a_line_in_two_units_is_two_rows(app: App, client: Client) -> None:
    filed_report = build_report(documents=9)
    euros = filed_report.facts[0]._replace(unit="EUR", value="910000")
    store_report(app, replace(filed_report, facts=[*filed_report.facts, euros]))
    rows = get_body(client.get(COMPANY, query={"statement": "income"}))["data"]["statements"]["income"]["rows"]
    assert sorted((line["unit"], *line["values"]) for line in rows if line["concept"] == "us-gaap:Revenues") == [
        ("EUR", "910000", None),
        ("USD", "1000000", "900000"),
    ]


def test_a_second_statement_of_a_kind_has_a_number(app: App, client: Client) -> None:
    filed_report = build_report(documents=9)
    parent = INCOME._replace(role_uri=ROLE + "ParentIncome", lines=[item("us-gaap:NetIncomeLoss", 0, "Net")])
    store_report(app, replace(filed_report, sections=[*filed_report.sections, parent]))
    body = get_body(client.get(COMPANY, query={"statement": "income"}))
    assert list(body["data"]["statements"]) == ["income", "income-2"]
    assert body["data"]["statements"]["income-2"]["role_uri"] == ROLE + "ParentIncome"
    assert body["meta"]["statement_count"] == 2


# ---- which statements


def test_only_the_requested_statements_are_served(client: Client) -> None:
    body = get_body(client.get(COMPANY, query={"statement": ["cash-flow", "income"]}))
    assert list(body["data"]["statements"]) == ["income", "cash-flow"]
    assert (body["meta"]["statement_count"], body["meta"]["absent"]) == (2, [])


def test_a_statement_missing_in_the_filing_has_a_reason(client: Client) -> None:
    body = get_body(client.get(COMPANY, query={"statement": ["income", "comprehensive-income"]}))
    assert list(body["data"]["statements"]) == ["income"]
    assert body["meta"]["absent"] == [
        {"statement": "comprehensive-income", "status": "absent", "reason": "not_in_filing"}
    ]


def test_a_statement_with_only_dimensions_is_absent(client: Client) -> None:
    body = get_body(client.get(COMPANY, query={"statement": ["equity", "income"]}))
    assert body["meta"]["absent"] == [{"statement": "equity", "status": "absent", "reason": "only_with_dimensions"}]


def test_a_report_without_the_statement_is_not_covered(client: Client) -> None:
    answer = client.get(COMPANY, query={"statement": "equity"})
    assert (answer.status, answer.json["error"]) == (404, "NOT_COVERED")
    assert answer.json["details"] == {
        "cik": "0001234567",
        "accession": ACCESSION,
        "absent": [{"statement": "equity", "status": "absent", "reason": "only_with_dimensions"}],
    }


@pytest.mark.parametrize("consolidated_only", ["true", "false"])
def test_a_statement_without_figures_is_absent(app: App, client: Client, consolidated_only: str) -> None:
    filed_report = build_report(documents=9)
    empty = Section(
        ROLE + "Empty",
        "0000006 - Statement - COMPREHENSIVE INCOME",
        "comprehensive-income",
        [item("us-gaap:OtherComprehensiveIncome", 0, "Never reported")],
        (),
        (),
    )
    store_report(app, replace(filed_report, sections=[*filed_report.sections, empty]))
    query = {"statement": ["comprehensive-income", "income"], "consolidated_only": consolidated_only}
    body = get_body(client.get(COMPANY, query=query))
    assert body["meta"]["absent"] == [
        {"statement": "comprehensive-income", "status": "absent", "reason": "no_figures_in_filing"}
    ]


def test_a_served_statement_is_not_listed_as_absent(app: App, client: Client) -> None:
    filed_report = build_report(documents=9)
    # A second income statement, of the parent alone: every figure of it has a dimension.
    parent = INCOME._replace(role_uri=ROLE + "ParentIncome", columns=INCOME.columns[2:])
    store_report(app, replace(filed_report, sections=[*filed_report.sections, parent]))
    body = get_body(client.get(COMPANY, query={"statement": "income"}))
    assert list(body["data"]["statements"]) == ["income"]
    assert "income" not in [absent["statement"] for absent in body["meta"]["absent"]]


# ---- which company


@run_each_case(
    "spelled", ["BRK-B", "brk-b", "brk.b", "BRK.B", "BRK%2FB", "brk%2fb", "brk%20b", "BRK-A", "1234567", "0001234567"]
)
def test_a_company_is_found_in_any_spelling(client: Client, spelled: str) -> None:
    meta = get_body(client.get(f"/api/v1/xbrl/companies/{spelled}/statements"))["meta"]
    assert (meta["cik"], meta["company_name"]) == ("0001234567", "Brook Lamps Inc.")
    assert meta["ticker"] == ("BRK-A" if spelled == "BRK-A" else "BRK-B")


@run_each_case("unknown", ["NONE", "BRK", "1234568", "0", "9999999999", "12345678901", "brk-b-", "BRK--B"])
def test_an_unknown_ticker_or_cik_is_404(app: App, client: Client, unknown: str) -> None:
    answer = client.get(f"/api/v1/xbrl/companies/{unknown}/statements")
    assert get_error_details(answer, 404, "UNKNOWN_TICKER")["given"] == unknown.upper()
    assert list_ledger_rows(app) == []


@run_each_case("ticker", ["", "A_B", "TOOLONGTICKER", "%00", "BRK%0AB", "%C3%84", "a%3Ab", "%F0%9F%92%A1"])
def test_an_invalid_ticker_is_an_invalid_parameter(client: Client, ticker: str) -> None:
    answer = client.get(f"/api/v1/xbrl/companies/{ticker}/statements")
    assert get_error_details(answer, 400, "INVALID_PARAM")["param"] == "ticker"


def test_a_ticker_that_moved_selects_its_present_company(app: App, client: Client) -> None:
    with app.db.write() as tx:
        companies.upsert_name(tx, 7654321, "River Lamps Inc.", companies.FROM_LIST_TITLE, "")
        companies.upsert_tickers(tx, 7654321, [("BRK-A", "NYSE")], companies.FROM_LIST)
    details = get_error_details(client.get("/api/v1/xbrl/companies/BRK-A/statements"), 404, "NOT_COVERED")
    assert details == {"cik": "0007654321", "covered_periods": []}
    assert get_body(client.get(COMPANY))["meta"]["cik"] == "0001234567"


# ---- which filing

AMENDMENT = "0001234567-25-000009"


def store_amendment(app: App) -> None:
    store_report(app, build_report(form="10-K/A", revenue="1100000"), AMENDMENT, "2025-06-01")


def store_year(app: App, year: int, revenue: str) -> None:
    filed_report = build_report(period_of_report=f"{year}-12-31", fiscal_year=year, revenue=revenue)
    store_report(app, filed_report, f"0001234567-{year - 1999:02}-000001", f"{year + 1}-02-01")


def get_accession(answer: Answer) -> tuple[str, str, str]:
    meta = get_body(answer)["meta"]
    return meta["resolved_accession"], meta["form_type"], get_revenue(answer)


def test_the_latest_period_is_served(app: App, client: Client) -> None:
    store_year(app, 2023, "900000")
    store_year(app, 2022, "800000")
    assert get_accession(client.get(COMPANY)) == (ACCESSION, "10-K", "1000000")


@pytest.mark.parametrize(("year", "revenue"), [(2022, "800000"), (2023, "900000"), (2024, "1000000")])
def test_a_year_selects_its_report(app: App, client: Client, year: int, revenue: str) -> None:
    store_year(app, 2023, "900000")
    store_year(app, 2022, "800000")
    assert get_revenue(client.get(COMPANY, query={"year": year})) == revenue


def test_a_year_is_the_fiscal_year_as_the_company_names_it(app: App, client: Client) -> None:
    store_report(
        app,
        build_report(period_of_report="2026-01-25", fiscal_year=2025, revenue="7"),
        "0001234567-26-000001",
        "2026-03-01",
    )
    assert get_revenue(client.get(COMPANY, query={"year": 2025})) == "7"
    get_error_details(client.get(COMPANY, query={"year": 2026}), 404, "NOT_COVERED")


def test_a_report_without_fiscal_year_has_that_of_its_period(app: App, client: Client) -> None:
    store_report(
        app,
        build_report(period_of_report="2020-12-31", fiscal_year=None, revenue="7"),
        "0001234567-21-000001",
        "2021-02-01",
    )
    assert get_revenue(client.get(COMPANY, query={"year": 2020})) == "7"


def test_the_basis_selects_the_latest_or_the_original_filing(app: App, client: Client) -> None:
    store_amendment(app)
    assert get_accession(client.get(COMPANY)) == (AMENDMENT, "10-K/A", "1100000")
    assert get_accession(client.get(COMPANY, query={"basis": "latest"})) == (AMENDMENT, "10-K/A", "1100000")
    assert get_accession(client.get(COMPANY, query={"basis": "original"})) == (ACCESSION, "10-K", "1000000")


@run_each_case(
    "as_of, accession",
    [("2025-02-01", ACCESSION), ("2025-05-31", ACCESSION), ("2025-06-01", AMENDMENT), ("2030-01-01", AMENDMENT)],
)
def test_as_of_hides_what_was_filed_later(app: App, client: Client, as_of: str, accession: str) -> None:
    store_amendment(app)
    assert get_accession(client.get(COMPANY, query={"as_of": as_of}))[0] == accession


def test_as_of_before_the_first_annual_report_is_not_covered(app: App, client: Client) -> None:
    store_amendment(app)
    quarter = build_report(form="10-Q", period_of_report="2024-03-31")
    store_report(app, quarter, "0001234567-24-000003", "2024-05-01")
    answer = client.get(COMPANY, query={"as_of": "2025-01-31"})
    details = get_error_details(answer, 404, "NOT_COVERED")
    assert details["cik"] == "0001234567"
    assert [tuple(period.values()) for period in details["covered_periods"]] == [("10-Q", "2024-03-31")]
    message = "No annual report filed by 2025-01-31 of Brook Lamps Inc. is stored. Stored: 10-Q of 2024-03-31."
    assert answer.json["message"] == message


def test_as_of_before_the_first_filing_is_an_unknown_company(app: App, client: Client) -> None:
    store_amendment(app)
    get_error_details(client.get(COMPANY, query={"as_of": "2025-01-31"}), 404, "UNKNOWN_TICKER")


def test_a_form_selects_among_the_filings_of_a_period(app: App, client: Client) -> None:
    store_amendment(app)
    for form, accession in (("10-K", ACCESSION), ("10-k", ACCESSION), ("10-K/A", AMENDMENT)):
        assert get_accession(client.get(COMPANY, query={"form_type": form}))[0] == accession


# ---- amendments with some of the statements

BALANCE_ONLY = (COVER_PAGE, BALANCE)
SECOND_AMENDMENT = "0001234567-25-000012"


def store_partial_amendment(
    app: App,
    sections: Sequence[Section] = BALANCE_ONLY,
    accession: str = AMENDMENT,
    filed_at: str | None = "2025-06-01",
    *,
    revenue: str = "1100000",
    cash: str = "124000",
) -> None:
    """Store an amendment of the annual report that has only these sections."""
    report = build_report(form="10-K/A", revenue=revenue)
    facts = [
        fact._replace(value=cash) if (fact.concept, fact.context) == ("us-gaap:Cash", 4) else fact
        for fact in report.facts
    ]
    digest = hashlib.sha256(repr((accession, cash, revenue)).encode()).digest()
    store_report(app, replace(report, sections=sections, facts=facts, sha256=digest), accession, filed_at)


def list_sources(answer: Answer) -> dict[str, tuple[str, str, str | None]]:
    """Return accession, form and the first value of each statement."""
    return {
        kind: (
            statement["accession"],
            statement["form_type"],
            next(line["values"][0] for line in statement["rows"] if not line["abstract"]),
        )
        for kind, statement in get_body(answer)["data"]["statements"].items()
    }


def test_a_partial_amendment_replaces_only_its_statements(app: App, client: Client) -> None:
    store_partial_amendment(app)
    answer = client.get(COMPANY)
    assert list_sources(answer) == {
        "income": (ACCESSION, "10-K", "1000000"),
        "balance": (AMENDMENT, "10-K/A", "124000"),
        "cash-flow": (ACCESSION, "10-K", "100000"),
    }
    assert list(answer.json["data"]["statements"]) == ["income", "balance", "cash-flow"]
    assert answer.json["data"]["statements"]["balance"]["filed_at"] == "2025-06-01"
    meta = answer.json["meta"]
    assert (meta["resolved_accession"], meta["form_type"]) == (AMENDMENT, "10-K/A")
    assert meta["absent"] == [{"statement": "equity", "status": "absent", "reason": "only_with_dimensions"}]


def test_each_row_of_a_table_names_its_own_filing(app: App, client: Client) -> None:
    store_partial_amendment(app)
    answer = client.get(COMPANY, query={"format": "ndjson"})
    rows = [json.loads(line) for line in answer.body.splitlines()]
    assert {(table_row["statement"], table_row["accession"], table_row["form_type"]) for table_row in rows} == {
        ("income", ACCESSION, "10-K"),
        ("balance", AMENDMENT, "10-K/A"),
        ("cash-flow", ACCESSION, "10-K"),
    }
    assert {table_row["filed_at"] for table_row in rows if table_row["statement"] == "balance"} == {"2025-06-01"}


def test_the_meta_names_the_filing_that_is_served(app: App, client: Client) -> None:
    store_partial_amendment(app)
    assert get_accession(client.get(COMPANY, query={"statement": "income"})) == (ACCESSION, "10-K", "1000000")
    meta = get_body(client.get(COMPANY, query={"statement": "balance"}))["meta"]
    assert (meta["accession"], meta["filed_at"], meta["absent"]) == (AMENDMENT, "2025-06-01", [])


def test_the_original_basis_ignores_a_partial_amendment(app: App, client: Client) -> None:
    store_partial_amendment(app)
    answer = client.get(COMPANY, query={"basis": "original"})
    assert {source[0] for source in list_sources(answer).values()} == {ACCESSION}
    assert list(answer.json["data"]["statements"]) == ["income", "balance", "cash-flow"]


def test_a_statement_only_in_an_amendment_is_added(app: App, empty_client: Client) -> None:
    original = replace(build_report(), sections=(COVER_PAGE, INCOME, BALANCE))
    store_report(app, original)
    store_partial_amendment(app, (COVER_PAGE, CASH_FLOW))
    for basis in ("latest", "original"):
        sources = list_sources(empty_client.get(COMPANY, query={"basis": basis}))
        assert {kind: source[0] for kind, source in sources.items()} == {
            "income": ACCESSION,
            "balance": ACCESSION,
            "cash-flow": AMENDMENT,
        }


def test_as_of_before_an_amendment_serves_the_original(app: App, client: Client) -> None:
    store_partial_amendment(app)
    assert list_sources(client.get(COMPANY, query={"as_of": "2025-05-31"}))["balance"] == (ACCESSION, "10-K", "125000")
    sources = list_sources(client.get(COMPANY, query={"as_of": "2025-06-01"}))
    assert (sources["income"][0], sources["balance"][0]) == (ACCESSION, AMENDMENT)


def test_the_last_amendment_of_each_statement_is_served(app: App, client: Client) -> None:
    store_partial_amendment(app, (COVER_PAGE, INCOME, BALANCE), cash="123000")
    store_partial_amendment(app, BALANCE_ONLY, SECOND_AMENDMENT, "2025-07-01", cash="122000")
    assert list_sources(client.get(COMPANY)) == {
        "income": (AMENDMENT, "10-K/A", "1100000"),
        "balance": (SECOND_AMENDMENT, "10-K/A", "122000"),
        "cash-flow": (ACCESSION, "10-K", "100000"),
    }
    as_of = client.get(COMPANY, query={"as_of": "2025-06-30"})
    assert list_sources(as_of)["balance"] == (AMENDMENT, "10-K/A", "123000")


@pytest.mark.parametrize("fiscal_year", [None, 2023])
def test_an_amendment_belongs_to_the_fiscal_year_of_its_original(
    app: App, empty_client: Client, fiscal_year: int | None
) -> None:
    period = {"period_of_report": "2025-01-31"}
    store_report(app, build_report(fiscal_year=2024, **period))
    amendment = build_report(form="10-K/A", fiscal_year=fiscal_year, **period)
    store_report(app, replace(amendment, sections=BALANCE_ONLY), AMENDMENT, "2025-06-01")
    sources = list_sources(empty_client.get(COMPANY, query={"year": 2024}))
    assert {kind: source[0] for kind, source in sources.items()} == {
        "income": ACCESSION,
        "balance": AMENDMENT,
        "cash-flow": ACCESSION,
    }
    for year in (2023, 2025):
        get_error_details(empty_client.get(COMPANY, query={"year": year}), 404, "NOT_COVERED")


def test_an_amendment_may_be_stored_before_its_original(app: App, empty_client: Client) -> None:
    store_partial_amendment(app)
    assert list(list_sources(empty_client.get(COMPANY))) == ["balance"]
    store_report(app, build_report())
    sources = list_sources(empty_client.get(COMPANY))
    assert {kind: source[0] for kind, source in sources.items()} == {
        "income": ACCESSION,
        "balance": AMENDMENT,
        "cash-flow": ACCESSION,
    }


@pytest.mark.parametrize("original", ["0001234567-25-000001", "0009999999-25-000001"])
def test_an_undated_amendment_follows_its_original(app: App, empty_client: Client, original: str) -> None:
    store_partial_amendment(app, accession="0005555555-25-000001", filed_at=None)
    store_report(app, build_report(), original, None)
    assert list_sources(empty_client.get(COMPANY))["balance"] == ("0005555555-25-000001", "10-K/A", "124000")
    assert list_sources(empty_client.get(COMPANY))["income"] == (original, "10-K", "1000000")
    sources = list_sources(empty_client.get(COMPANY, query={"basis": "original"}))
    assert sources["balance"] == (original, "10-K", "125000")


def test_an_amendment_of_one_of_two_income_statements(app: App, empty_client: Client) -> None:
    parent = INCOME._replace(role_uri=ROLE + "ParentIncome", lines=[item("us-gaap:NetIncomeLoss", 0, "Net")])
    store_report(app, replace(build_report(), sections=(COVER_PAGE, INCOME, BALANCE, parent)))
    amended = parent._replace(role_uri="http://brooklamps.example/2025/role/ParentIncome")
    store_partial_amendment(app, (COVER_PAGE, amended))
    assert list_sources(empty_client.get(COMPANY)) == {
        "income": (ACCESSION, "10-K", "1000000"),
        "balance": (ACCESSION, "10-K", "125000"),
        "income-2": (AMENDMENT, "10-K/A", "400000"),
    }


def test_an_amendment_with_other_role_names_replaces_in_order(app: App, client: Client) -> None:
    renamed = BALANCE._replace(role_uri="http://other-agent.example/role/R2")
    store_partial_amendment(app, (COVER_PAGE, renamed))
    sources = list_sources(client.get(COMPANY))
    assert list(sources) == ["income", "balance", "cash-flow"]
    assert sources["balance"][0] == AMENDMENT


def test_an_amended_statement_without_figures_replaces_nothing(app: App, client: Client) -> None:
    store_partial_amendment(app, (COVER_PAGE, BALANCE, CASH_FLOW._replace(columns=())))
    assert list_sources(client.get(COMPANY))["cash-flow"][0] == ACCESSION


def test_a_quarterly_amendment_has_only_a_cash_flow(app: App, empty_client: Client) -> None:
    quarter = {"period_of_report": "2025-03-31", "fiscal_period": "Q1"}
    store_report(app, build_report(form="10-Q", **quarter))
    amendment = build_report(form="10-Q/A", **quarter)
    store_report(app, replace(amendment, sections=(COVER_PAGE, CASH_FLOW)), AMENDMENT, "2025-06-01")
    sources = list_sources(empty_client.get(COMPANY, query={"period": "Q"}))
    assert [(kind, source[1]) for kind, source in sources.items()] == [
        ("income", "10-Q"),
        ("balance", "10-Q"),
        ("cash-flow", "10-Q/A"),
    ]


def test_a_statement_in_no_filing_of_the_period_is_absent(app: App, client: Client) -> None:
    store_partial_amendment(app)
    answer = client.get(COMPANY, query={"statement": "comprehensive-income"})
    assert get_error_details(answer, 404, "NOT_COVERED") == {
        "cik": "0001234567",
        "accession": AMENDMENT,
        "absent": [{"statement": "comprehensive-income", "status": "absent", "reason": "not_in_filing"}],
    }


def test_the_form_of_an_amendment_selects_its_statements(app: App, client: Client) -> None:
    store_partial_amendment(app)
    assert list(list_sources(client.get(COMPANY, query={"form_type": "10-K/A"}))) == ["balance"]


def test_an_unfiled_report_comes_after_a_filed_one_of_its_period(app: App, client: Client) -> None:
    store_report(app, build_report(revenue="7"), "unfiled-0123456789abcdef", None)
    for basis in ("latest", "original"):
        assert get_accession(client.get(COMPANY, query={"basis": basis}))[0] == ACCESSION


def test_a_later_unfiled_report_is_not_served_with_as_of(app: App, client: Client) -> None:
    store_report(
        app,
        build_report(period_of_report="2025-12-31", fiscal_year=2025, revenue="7"),
        "unfiled-0123456789abcdef",
        None,
    )
    answer = client.get(COMPANY)
    assert get_accession(answer) == ("unfiled-0123456789abcdef", "10-K", "7")
    assert answer.json["meta"]["filed_at"] is None
    assert get_accession(client.get(COMPANY, query={"as_of": "2100-01-01"}))[0] == ACCESSION


@pytest.mark.parametrize("form", ["10-K", "10-KT", "10-K405", "20-F", "40-F", "20-F/A", "40-F/A", "10-KT/A"])
def test_an_annual_report_is_of_any_annual_form(app: App, client: Client, form: str) -> None:
    store_report(
        app, build_report(form=form, period_of_report="2025-12-31", revenue="7"), "0001234567-26-000001", "2026-01-20"
    )
    assert get_accession(client.get(COMPANY, query={"period": "A"})) == ("0001234567-26-000001", form, "7")


@pytest.mark.parametrize("form", ["10-Q", "10-Q/A", "10-QT", "10-QT/A"])
def test_a_quarterly_report_is_of_any_quarterly_form(app: App, client: Client, form: str) -> None:
    store_report(
        app, build_report(form=form, period_of_report="2025-03-31", revenue="7"), "0001234567-25-000005", "2025-05-01"
    )
    assert get_accession(client.get(COMPANY, query={"period": "Q"})) == ("0001234567-25-000005", form, "7")
    assert get_accession(client.get(COMPANY))[0] == ACCESSION


def test_a_report_of_another_form_is_not_annual_or_quarterly(app: App, client: Client) -> None:
    store_report(app, build_report(form="8-K", period_of_report="2025-05-31"), "0001234567-25-000006", "2025-06-01")
    assert get_accession(client.get(COMPANY))[0] == ACCESSION
    get_error_details(client.get(COMPANY, query={"period": "Q"}), 404, "NOT_COVERED")


def test_an_amendment_without_statements_keeps_the_original(app: App, client: Client) -> None:
    store_report(app, replace(build_report(form="10-K/A"), sections=()), AMENDMENT, "2025-06-01")
    assert get_accession(client.get(COMPANY))[0] == ACCESSION


@pytest.mark.parametrize("first", [1, 9])
def test_of_a_filing_stored_twice_the_fuller_set_is_served(app: App, client: Client, first: int) -> None:
    for documents in (first, 10 - first):
        store_report(
            app, build_report(documents=documents, revenue=f"{documents}", period_of_report="2025-12-31"), AMENDMENT
        )
    assert get_revenue(client.get(COMPANY)) == "9"
    assert get_revenue(client.get(f"/api/v1/xbrl/filing/{AMENDMENT}/statements")) == "9"


def test_a_rounded_data_set_period_is_not_another_period(app: App, client: Client) -> None:
    rounded = replace(build_report(period_of_report="2025-01-31"), source="fsds")
    store_report(app, rounded)
    details = get_error_details(client.get(COMPANY, query={"year": 1990}), 404, "NOT_COVERED")
    assert details["covered_periods"] == [{"form_type": "10-K", "period_of_report": "2024-12-31"}]


def test_the_same_documents_stored_again_change_nothing(app: App, client: Client) -> None:
    tag = client.get(COMPANY).headers["etag"]
    assert store_report(app, build_report()) is False
    assert client.get(COMPANY).headers["etag"] == tag
    assert store_report(app, build_report(revenue="7"), AMENDMENT) is True
    assert client.get(COMPANY).headers["etag"] != tag


def test_not_covered_lists_the_covered_periods(app: App, client: Client) -> None:
    store_year(app, 2023, "900000")
    answer = client.get(COMPANY, query={"period": "Q", "year": 2021, "form_type": "10-Q"})
    assert get_error_details(answer, 404, "NOT_COVERED") == {
        "cik": "0001234567",
        "covered_periods": [
            {"form_type": "10-K", "period_of_report": "2024-12-31"},
            {"form_type": "10-K", "period_of_report": "2023-12-31"},
        ],
    }
    assert answer.json["message"] == (
        "No quarterly report on form 10-Q for fiscal year 2021 of Brook Lamps Inc. is stored. "
        "Stored: 10-K of 2024-12-31, 10-K of 2023-12-31."
    )


# ---- wrong parameters


@run_each_case(
    "query, details",
    [
        ("period=X", {"param": "period", "allowed": ["A", "Q"]}),
        ("period=a", {"param": "period", "allowed": ["A", "Q"], "nearest": ["A"]}),
        ("period=", {"param": "period", "allowed": ["A", "Q"]}),
        ("period=A&period=Q", {"param": "period", "expected": "one value"}),
        ("year=abc", {"param": "year", "expected": "integer"}),
        ("year=", {"param": "year", "expected": "integer"}),
        ("year=2024.0", {"param": "year", "expected": "integer"}),
        ("year=1899", {"param": "year", "expected": "integer from 1900 to 2200"}),
        ("year=2201", {"param": "year", "expected": "integer from 1900 to 2200"}),
        ("as_of=2025-02-30", {"param": "as_of", "expected": "date YYYY-MM-DD"}),
        ("as_of=20250201", {"param": "as_of", "expected": "date YYYY-MM-DD"}),
        ("as_of=today", {"param": "as_of", "expected": "date YYYY-MM-DD"}),
        ("basis=newest", {"param": "basis", "allowed": ["latest", "original"]}),
        ("consolidated_only=yes", {"param": "consolidated_only", "allowed": ["true", "false"]}),
        ("form_type=", {"param": "form_type", "expected": "text"}),
        ("form_type=%00", {"param": "form_type", "expected": "text"}),
        (f"form_type={'1' * 1001}", {"param": "form_type", "expected": "text"}),
    ],
)
def test_an_invalid_parameter_is_named_with_the_expected_value(
    client: Client, query: str, details: dict[str, Any]
) -> None:
    assert get_error_details(client.get(f"{COMPANY}?{query}"), 400, "INVALID_PARAM") == details


@run_each_case("path", [COMPANY, FILING])
@run_each_case("value", ["incomes", "balance,incomes", "income-2", "Sheets"])
def test_an_unknown_statement_kind_is_refused_with_the_kinds(client: Client, path: str, value: str) -> None:
    details = get_error_details(client.get(path, query={"statement": ["income", value]}), 400, "INVALID_PARAM")
    assert details["param"] == "statement"
    assert details["allowed"][:5] == ["income", "balance", "cash-flow", "comprehensive-income", "equity"]
    assert "balance-parenthetical" in details["allowed"]


@pytest.mark.parametrize(
    "statement",
    ["StatementsOfIncome,BalanceSheets", "Income,statementsoffinancialposition", "IncomeStatement,BALANCE_SHEET"],
)
def test_statements_are_named_by_slot_and_in_any_case(client: Client, statement: str) -> None:
    assert list(client.get(f"{COMPANY}?statement={statement}").json["data"]["statements"]) == ["income", "balance"]


@pytest.mark.parametrize("query", ["statement=income,balance", "statement=income&statement=balance"])
def test_statements_are_listed_with_commas_or_one_by_one(client: Client, query: str) -> None:
    assert list(client.get(f"{COMPANY}?{query}").json["data"]["statements"]) == ["income", "balance"]


def test_an_unknown_query_name_is_refused(client: Client) -> None:
    details = get_error_details(client.get(COMPANY, query={"colour": "red"}), 400, "INVALID_PARAM")
    assert details["param"] == "colour"


# ---- one filing


@pytest.mark.parametrize("spelled", [ACCESSION, "000123456725000001"])
def test_a_filing_is_found_with_dashes_and_without(client: Client, spelled: str) -> None:
    meta = get_body(client.get(f"/api/v1/xbrl/filing/{spelled}/statements"))["meta"]
    assert (meta["accession"], meta["resolved_accession"]) == (ACCESSION, ACCESSION)


def test_a_filing_has_the_same_answer_as_its_company(client: Client) -> None:
    of_filing, of_company = get_body(client.get(FILING)), get_body(client.get(COMPANY))
    assert of_filing["data"] == of_company["data"]
    assert of_filing["meta"] == of_company["meta"]


def test_statements_of_a_filing_can_be_selected(client: Client) -> None:
    body = get_body(client.get(FILING, query={"statement": "equity", "consolidated_only": "false"}))
    assert list(body["data"]["statements"]) == ["equity"]


def test_an_older_filing_is_served_by_its_accession(app: App, client: Client) -> None:
    store_amendment(app)
    assert get_accession(client.get(FILING)) == (ACCESSION, "10-K", "1000000")


def test_an_unfiled_report_is_found_by_its_name(app: App, client: Client) -> None:
    store_report(app, build_report(revenue="7"), "unfiled-0123456789abcdef", None)
    answer = client.get("/api/v1/xbrl/filing/unfiled-0123456789abcdef/statements")
    assert get_accession(answer)[0] == "unfiled-0123456789abcdef"


@pytest.mark.parametrize("accession", ["0001234567-25-000002", "000000000000000000", "unfiled-0000000000000000"])
def test_an_unknown_filing_is_404(app: App, client: Client, accession: str) -> None:
    answer = client.get(f"/api/v1/xbrl/filing/{accession}/statements")
    assert get_error_details(answer, 404, "NOT_FOUND") == {}
    assert [entry_row[:2] for entry_row in list_ledger_rows(app)] == [(-25, "debit"), (25, "4xx_refund")]


@run_each_case(
    "accession", ["", "12", "0001234567-25-00001", "0001234567-25-0000011", "0001234567_25_000001", "%00", "%E2%91%A0"]
)
def test_an_invalid_accession_number_is_an_invalid_parameter(client: Client, accession: str) -> None:
    details = get_error_details(client.get(f"/api/v1/xbrl/filing/{accession}/statements"), 400, "INVALID_PARAM")
    assert details["param"] == "accession"


def test_the_company_of_a_filing_is_its_filer(app: App, client: Client) -> None:
    store_report(
        app, build_report(cik=7654321, name="River Lamps Inc.", tickers=(), revenue="7"), "0007654321-25-000001"
    )
    data = get_body(client.get("/api/v1/xbrl/filing/0007654321-25-000001/statements"))["data"]
    assert (data["cik"], data["company_name"], data["ticker"]) == ("0007654321", "River Lamps Inc.", None)
