"""Model Context Protocol: its messages, its tools over a world of the fixture, and input that means harm."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from finapi import __version__, cli
from finapi.client.exchange import ApiAnswer, ApiRequest
from finapi.core.files import get_package_folder
from finapi.mcp import HANDSHAKE_VERSIONS, VERSIONS, answers, protocol
from finapi.mcp.protocol import ContextServer
from finapi.mcp.tools import get_price_figures, get_tools
from finapi.testing import FinapiServer
from finapi.testing.server import FixtureWorld
from finapi.web.routes import ROUTES
from tests.support.case_tables import run_each_case

META = "io.modelcontextprotocol/"


@pytest.fixture(scope="module")
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=31, listens=False, app_per_minute=1_000) as running:
        yield running


@pytest.fixture
def world(server: FinapiServer) -> Iterator[FixtureWorld]:
    world_of_mcp = server.world("mcp")
    yield world_of_mcp
    world_of_mcp.control.drop()


def post(world: FixtureWorld, body: Any, method: str = "POST", key: str = "", **headers: str) -> ApiAnswer:
    named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request_headers = {"X-API-Key": key or world.api_key, "Content-Type": "application/json", **named_headers}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = world.send(ApiRequest(method, f"{world.url}/api/mcp", request_headers, data))
    assert answer is not None
    return answer


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def run_method(world: FixtureWorld, method: str, **params: Any) -> Any:
    """Return the result of a method, or its error."""
    answer = post(world, message(method, **params), mcp_protocol_version="2025-11-25")
    document = json.loads(answer.body)
    assert (document["jsonrpc"], document["id"]) == ("2.0", 7)
    return document.get("result") or document["error"]


def call_tool(world: FixtureWorld, tool: str, **arguments: Any) -> Any:
    return run_method(world, "tools/call", name=tool, arguments=arguments)


def stateless_message(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a message of the revision without a handshake, and its headers."""
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
    name_header = {"mcp_name": params.get("name") or params["uri"]} if {"name", "uri"} & params.keys() else {}
    return message(method, _meta=meta, **params), {
        "mcp_protocol_version": "2026-07-28",
        "mcp_method": method,
        **name_header,
    }


# ---- the tools


@run_each_case("tool", get_tools().values())
def test_a_tool_has_the_parameters_and_cost_of_its_operation(tool: Any) -> None:
    route = next(route for route in ROUTES if route.name == tool.operation.route)
    served = {param.name for param in (*route.params, *(route.body or ()))}
    parameter_names = {tool.get_parameter_name(name) for name in tool.arguments} - {"where"}
    assert parameter_names | tool.defaults.keys() - {"where"} | tool.fixed_values.keys() <= served
    needed = {param.name for param in (*route.params, *(route.body or ())) if param.required}
    assert needed <= {tool.get_parameter_name(name) for name in tool.schema.get("required", ())}
    if tool.row_members:
        assert set(tool.row_members) <= set(route.columns)
    assert tool.operation.cost == route.cost
    for name, schema in tool.schema["properties"].items():
        assert schema["type"], name
        assert schema["description"], name


def test_tools_return_data_with_source_and_cost(world: FixtureWorld) -> None:
    tools = {tool["name"]: tool for tool in run_method(world, "tools/list")["tools"]}
    assert [*tools] == [*get_tools()]
    assert tools["query_sql"]["description"].endswith("Costs 25 tokens.")
    assert tools["find_fund"]["description"].endswith("Free.")
    for tool, arguments in {
        "find_company": {"query": "apple"},
        "company_overview": {"ticker": "AAPL"},
        "financial_statements": {"ticker": "AAPL", "statement": ["income"]},
        "financial_series": {"ticker": "AAPL", "metrics": ["revenue"], "template": False},
        "explain_figure": {"ticker": "AAPL", "metric": "revenue", "fiscal_year": 2024},
        "check_claims": {"claims": [{"ticker": "AAPL", "metric": "revenue", "period": "FY2022", "value": 394.3e9}]},
        "segments": {"ticker": "AAPL", "metric": "revenue"},
        "list_filings": {"ticker": "AAPL"},
        "insider_transactions": {"ticker": "AAPL"},
        "list_holders": {"ticker": "AAPL"},
        "find_fund": {"query": "berkshire"},
        "fund_holdings": {"cik": 1067983},
        "screen_companies": {"where": ["gross_margin > 0.4"]},
        "list_metrics": {"metric": "revenue"},
        "query_sql": {"query": "SELECT symbol FROM ticker LIMIT 1"},
        "account_balance": {},
    }.items():
        before = world.client().get_account_balance()["current_balance"]
        result = call_tool(world, tool, **arguments)
        assert result["isError"] is False, result
        content = result["structuredContent"]
        assert content["source"].startswith(get_tools()[tool].operation.method)
        cost = get_tools()[tool].operation.cost
        price = f"Costs {cost} token{'' if cost == 1 else 's'}." if cost else "Free."
        assert tools[tool]["description"].endswith(price)
        assert content["tokens_charged"] == cost
        # The data are sent once.
        (part,) = result["content"]
        assert part["text"].startswith(get_tools()[tool].title)
        assert f"Source: {content['source']}." in part["text"]
        assert len(part["text"]) < 400
        assert world.client().get_account_balance()["current_balance"] == before - cost


def test_a_figure_comes_with_its_filing(world: FixtureWorld) -> None:
    result = call_tool(world, "financial_series", ticker="AAPL", metrics="revenue", years="1")
    (row,) = result["structuredContent"]["data"]["rows"]
    assert row["metrics"]["revenue"] == {
        "value": 416161000000,
        "concept": "us-gaap:RevenueFromContractWithCustomerExcludingAssessedTax",
        "method": "mapped",
        "confidence": 95,
        "accession": "0000320193-25-000079",
        "unit": "USD",
    }


def test_next_returns_the_rows_behind_the_cut(world: FixtureWorld) -> None:
    first = call_tool(world, "list_filings", ticker="AAPL", limit=2)["structuredContent"]
    assert first["next"] == {"offset": 2}
    second = call_tool(world, "list_filings", ticker="AAPL", limit=2, **first["next"])["structuredContent"]
    rows = [row["accession_number"] for row in (*first["data"], *second["data"])]
    assert len(set(rows)) == 4


def test_an_answer_is_sized_for_a_model(world: FixtureWorld) -> None:
    content = call_tool(world, "financial_series", ticker="AAPL", ratios=True)["structuredContent"]
    assert len(json.dumps(content, separators=(",", ":"))) < answers.MAX_CHARACTERS + 500
    row_count = len(content["data"]["rows"])
    assert content["left_out"] == {"data.rows": 7 - row_count}
    assert content["next"] == {"offset": row_count}


def test_a_cut_list_without_pages_names_its_filters(world: FixtureWorld) -> None:
    content = call_tool(world, "list_metrics")["structuredContent"]
    assert (len(content["data"]) + content["left_out"]["data"], "next" in content) == (content["meta"]["total"], False)
    kinds, statements = content["ask_by"]["kind"], content["ask_by"]["statement"]
    slots = call_tool(world, "list_metrics", kind="template_slot")["structuredContent"]
    assert slots["ask_by"] == {"statement": statements}
    # By these everything is told.
    filters = [{"kind": choice} for choice in kinds if choice != "template_slot"]
    filters += [{"kind": "template_slot", "statement": choice} for choice in statements]
    parts = [call_tool(world, "list_metrics", **filter)["structuredContent"] for filter in filters]
    assert [part for part in parts if "left_out" in part or "ask_by" in part] == []
    assert len({row["key"] for part in parts for row in part["data"]}) == content["meta"]["total"]


def test_arguments_with_a_default_are_not_named_as_filters() -> None:
    long = json.dumps({"data": ["x" * 100] * 1_000}).encode()
    answer = ApiAnswer(200, {"content-type": "application/json"}, long)
    content = answers.build_result(get_tools()["financial_statements"], {"ticker": "AAPL"}, "/", answer)[
        "structuredContent"
    ]
    assert ("left_out" in content, "ask_by" in content) == (True, False)


def test_large_values_are_cut_and_counted() -> None:
    for value in ("x" * 100_000, ["x" * 90_000], {str(n): "y" * 500 for n in range(1_000)}, [[1] * 50_000] * 3):
        small, left_out = answers.cut(value, 10_000)
        assert len(json.dumps(small, separators=(",", ":"))) <= 10_300
        assert sum(left_out.values()) > 0
    assert answers.cut({"a": [1, 2]}, 100) == ({"a": [1, 2]}, {})


def test_html_becomes_plain_text() -> None:
    page = 'tr class="x">Net <b>sales</b></p><p>rose &amp; fell<ix:nonFraction name="a">5</ix:nonFraction></p><td sty'
    assert answers.strip_tags(page) == "Net sales\nrose & fell 5"


# ---- what fails


@run_each_case(
    "tool, arguments, message",
    [
        ("find_company", {"q": "x"}, "has no argument q"),
        ("find_company", {}, "query is required"),
        ("find_company", {"query": {"a": 1}}, "query must be of type string, not dict"),
        ("find_company", {"query": True}, "query must be of type string, not bool"),
        ("find_company", {"query": "x" * 10_001}, "longer than 10,000"),
        ("financial_series", {"ticker": "AAPL", "period": "yearly"}, "period must be one of A, Q, TTM, YTD"),
        ("financial_series", {"ticker": "AAPL", "metrics": [["revenue"]]}, "metrics must be of type string, not list"),
        ("financial_series", {"ticker": "AAPL", "metrics": ["x"] * 201}, "at most 200"),
        ("financial_series", {"ticker": "AAPL", "tikcer": 1}, "Did you mean ticker?"),
        (
            "financial_series",
            {"ticker": "AAPL", "metrics": ["revenu"]},
            "call the tool again; list_metrics has the keys",
        ),
        (
            "check_claims",
            {"claims": "revenue"},
            "claims must be a list of at most 100 objects with ticker, cik, metric",
        ),
        ("check_claims", {"claims": [{"metrics": "revenue"}]}, "claims have no member metrics. Did you mean metric?"),
        ("check_claims", {"claims": [{"value": ["1"]}]}, "value in claims must be of type string or number, not list"),
        ("check_claims", {"claims": [{"ticker": "AAPL", "value": 1}]}, "claims[0]: period is required."),
        ("company_overview", {"ticker": "NOPE"}, "Look the company up by find_company."),
        ("company_overview", {"ticker": "../../auth/login"}, "must be a ticker or a CIK"),
        ("company_overview", {"ticker": "AAPL\r\nX-API-Key: x"}, "must be a ticker or a CIK"),
        ("screen_companies", {"where": ["roe > 1; DROP TABLE x"]}, "roe > 1; DROP TABLE x is not a condition"),
        ("screen_companies", {"where": ["limit > 1"]}, "limit is not a metric"),
        ("screen_companies", {"where": "roe > 1"}, "where is a list"),
        ("financial_series", {"ticker": "AAPL", "metrics": ["sales"]}, "did you mean revenue or price_to_sales?"),
        ("screen_companies", {"where": ["sales > 1"]}, "did you mean revenue or price_to_sales?"),
        ("segments", {"ticker": "AAPL", "metric": "sales"}, "did you mean revenue?"),
        ("explain_figure", {"ticker": "AAPL", "metric": "sales"}, "Did you mean revenue?"),
        ("query_sql", {"query": "SELECT nme FROM ticker"}, "Columns: ticker(symbol, cik, exchange, last_seen)."),
        ("query_sql", {"query": "SELECT name FROM companies"}, "Views: company, former_name, ticker, "),
        ("query_sql", {"query": "DELETE FROM ticker"}, "INVALID_PARAM"),
        ("query_sql", {"query": "SELECT * FROM users"}, "INVALID_PARAM"),
        ("list_filings", {"from_date": "never"}, "YYYY-MM-DD. Correct the argument and call the tool again."),
    ],
)
def test_an_invalid_argument_is_explained_and_costs_nothing(
    world: FixtureWorld, tool: str, arguments: dict[str, Any], message: str
) -> None:
    before = world.client().get_account_balance()["current_balance"]
    result = call_tool(world, tool, **arguments)
    assert result["isError"] is True
    assert message in result["content"][0]["text"]
    assert world.client().get_account_balance()["current_balance"] == before


def test_claims_are_compared_with_the_filings(world: FixtureWorld) -> None:
    claim = {"ticker": "AAPL", "metric": "revenue", "period": "FY2022"}
    claims = [{**claim, "value": "394.3 billion", "unit": None}, {**claim, "value": 394.3}, {**claim, "value": 1}]
    content = call_tool(world, "check_claims", claims=claims)["structuredContent"]
    results = content["data"]["results"]
    assert [result["verdict"] for result in results] == ["matches", "wrong_scale", "contradicted"]
    assert results[0]["cell"]["link"].startswith("https://www.sec.gov/")


def test_a_tool_that_fails_half_way_is_refunded(world: FixtureWorld) -> None:
    # An unknown ticker is refused before the charge, a year that is not on file afterwards.
    call_tool(world, "explain_figure", ticker="AAPL", metric="revenue", fiscal_year=1950)
    rows = world.client().get_account_transactions(limit=2)["transactions"]
    assert [(row["endpoint"], row["delta"]) for row in rows] == [
        ("GET /api/v1/xbrl/proof", 10),
        ("GET /api/v1/xbrl/proof", -10),
    ]


def test_errors_of_tokens_and_limits_contain_advice(world: FixtureWorld) -> None:
    key = world.accounts["exhausted"]["api_key"]
    answer = post(world, message("tools/call", name="company_overview", arguments={"ticker": "AAPL"}), key=key)
    result = json.loads(answer.body)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("insufficient_tokens: ")
    assert "account_balance says when" in result["content"][0]["text"]
    assert result["_meta"] == {"finapi/code": "insufficient_tokens", "finapi/status": 402}


def test_a_limit_is_that_of_the_call(server: FinapiServer) -> None:
    with FinapiServer(seed=31, listens=False, app_per_minute=2, sql_per_minute=1) as strict:
        query = message("tools/call", name="query_sql", arguments={"query": "SELECT 1 AS one FROM ticker LIMIT 1"})
        assert json.loads(post(strict.world("a"), query).body)["result"]["isError"] is False
        refused = json.loads(post(strict.world("a"), query).body)["result"]
        assert refused["_meta"] == {
            "finapi/code": "RATE_LIMIT_EXCEEDED",
            "finapi/status": 429,
            "finapi/retry_after": 60.0,
        }
        assert refused["content"][0]["text"].endswith("Wait 60 seconds before the next call.")
        # And the messages themselves are not without one.
        assert post(strict.world("a"), message("ping")).status == 429


@pytest.mark.parametrize(
    ("version", "path", "is_structured"),
    [
        ("2025-11-25", "", True),
        ("2025-06-18", "?answers=structured", True),
        ("2025-06-18", "?answers=text", False),
        ("2025-03-26", "", False),
        (None, "", False),
    ],
)
def test_hosts_that_read_only_text_get_the_data_as_text(
    world: FixtureWorld, version: str | None, path: str, is_structured: bool
) -> None:
    headers = {"X-API-Key": world.api_key, "Content-Type": "application/json"}
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    body = json.dumps(message("tools/call", name="find_company", arguments={"query": "apple"})).encode()
    answer = world.send(ApiRequest("POST", f"{world.url}/api/mcp{path}", headers, body))
    assert answer is not None
    result = json.loads(answer.body)["result"]
    assert ("structuredContent" in result) == is_structured
    text = result["content"][0]["text"]
    content = result["structuredContent"] if is_structured else json.loads(text)
    assert content["data"][0]["ticker"] == "AAPL"
    assert answer.body.count(b"Apple Inc.") == 1
    if is_structured:
        assert text == (
            "Find a company: 1 row, in structuredContent. Source: GET /api/v1/xbrl/search?q=apple. Cost: 1 token."
        )


def test_an_unknown_form_of_answers_is_refused(world: FixtureWorld) -> None:
    headers = {"X-API-Key": world.api_key, "Content-Type": "application/json"}
    answer = world.send(ApiRequest("POST", f"{world.url}/api/mcp?answers=html", headers, b"{}"))
    assert answer is not None
    assert (answer.status, json.loads(answer.body)["details"]["allowed"]) == (400, ["structured", "text"])


def test_figures_from_made_up_prices_are_marked(world: FixtureWorld) -> None:
    overview = call_tool(world, "company_overview", ticker="AAPL")["structuredContent"]["data"]
    marked = {name for name, member in overview.items() if member == "made up"}
    assert marked == {"market_cap_price", "enterprise_value_price", "dividend_yield_price"}
    names = [*overview]
    assert names[names.index("market_cap") + 1] == "market_cap_price"
    series = call_tool(world, "financial_series", ticker="AAPL", metrics=["pe_ratio", "revenue"], years="1")
    (row,) = series["structuredContent"]["data"]["rows"]
    assert row["metrics"]["pe_ratio"]["price"] == "made up"
    assert "price" not in row["metrics"]["revenue"]
    bare = call_tool(world, "financial_series", ticker="AAPL", metrics=["pe_ratio"], years="1", provenance="none")
    (row,) = bare["structuredContent"]["data"]["rows"]
    assert [*row["metrics"]] == ["pe_ratio", "pe_ratio_price"]
    screen = call_tool(world, "screen_companies", where=["pe_ratio > 1"])["structuredContent"]
    assert all(row["metrics"]["pe_ratio_price"] == "made up" for row in screen["data"])
    proof = call_tool(world, "explain_figure", ticker="AAPL", metric="pe_ratio", fiscal_year=2025)
    data = proof["structuredContent"]["data"]
    assert data["cell"]["price"] == "made up"
    assert {figure["metric"]: figure.get("price") for figure in data["inputs"]} == {
        "market_cap": "made up",
        "net_income": None,
    }
    (content,) = run_method(world, "resources/read", uri="finapi://company/AAPL")["contents"]
    assert json.loads(content["text"])["data"]["market_cap_price"] == "made up"


def test_real_prices_and_missing_figures_are_not_marked() -> None:
    for source in ("csv", None):
        document = {"data": {"market_cap": 5, "pe_ratio": {"value": 2}}, "meta": {"price_source": source}}
        assert answers.mark_made_up_figures(document) == document
    meta = {"price_source": "synthetic"}
    missing = {"data": {"market_cap": None, "pe_ratio": {"value": None}, "revenue": 5}, "meta": meta}
    assert answers.mark_made_up_figures(missing) == missing


def test_every_figure_that_depends_on_prices_is_known() -> None:
    ratios = tomllib.loads((get_package_folder("finapi.market.financials") / "ratios.toml").read_text("utf-8"))["ratio"]
    dependent = {name for name, ratio in ratios.items() if "price()" in ratio.get("formula", "")}
    while True:
        words = {name: set(re.findall(r"\w+", ratio.get("formula", ""))) for name, ratio in ratios.items()}
        larger = dependent | {name for name in ratios if words[name] & dependent}
        if larger == dependent:
            break
        dependent = larger
    assert get_price_figures() == dependent | {"enterprise_value"}


def test_an_unknown_key_of_a_metric_suggests_others(world: FixtureWorld) -> None:
    content = call_tool(world, "list_metrics", metric="sales")["structuredContent"]
    assert (content["data"], content["did_you_mean"]) == ([], ["revenue", "price_to_sales"])
    assert "did_you_mean" not in call_tool(world, "list_metrics", metric="revenue")["structuredContent"]


def test_an_unchanged_answer_costs_nothing(world: FixtureWorld) -> None:
    first = call_tool(world, "company_overview", ticker="AAPL")
    tag = {"_meta": {"finapi/if_none_match": first["_meta"]["finapi/etag"]}}
    again = run_method(world, "tools/call", name="company_overview", arguments={"ticker": "AAPL"}, **tag)
    assert again["structuredContent"] == {
        "data": None,
        "source": "GET /api/v1/tickers/AAPL/overview",
        "tokens_charged": 0,
        "unchanged": True,
    }


# ---- resources and prompts


def test_resources_are_read_through_their_calls(world: FixtureWorld) -> None:
    for resource in run_method(world, "resources/list")["resources"]:
        (content,) = run_method(world, "resources/read", uri=resource["uri"])["contents"]
        assert (content["uri"], content["mimeType"]) == (resource["uri"], resource["mimeType"])
        assert content["text"]
    uris = {resource["uriTemplate"] for resource in run_method(world, "resources/templates/list")["resourceTemplates"]}
    assert uris == {"finapi://company/{ticker}", "finapi://filing/{accession_number}", "finapi://metric/{metric}"}
    (overview,) = run_method(world, "resources/read", uri="finapi://company/AAPL")["contents"]
    assert json.loads(overview["text"])["data"]["name"] == "Apple Inc."


@run_each_case(
    "uri", ["finapi://nope", "finapi://company/", "finapi://company/..%2F..%2Fuser", "file:///etc/passwd", "x" * 600, 5]
)
def test_an_unknown_resource_is_an_error(world: FixtureWorld, uri: Any) -> None:
    assert run_method(world, "resources/read", uri=uri)["code"] == -32002


def test_prompts_are_filled_in_once(world: FixtureWorld) -> None:
    keys = {row["key"] for row in world.client().get_xbrl_dictionary()["data"]}
    for prompt in run_method(world, "prompts/list")["prompts"]:
        arguments = {argument["name"]: "{ticker}" for argument in prompt["arguments"]}
        (message,) = run_method(world, "prompts/get", name=prompt["name"], arguments=arguments)["messages"]
        assert "{ticker}" in message["content"]["text"]
        assert run_method(world, "prompts/get", name=prompt["name"])["code"] == -32602
        assert run_method(world, "prompts/get", name=prompt["name"], arguments={"ticker": "x" * 201})["code"] == -32602
        tool_names = {word.strip(".,()") for word in message["content"]["text"].split() if "_" in word}
        assert {word for word in tool_names if word not in get_tools()} <= keys
    assert run_method(world, "prompts/get", name="nope")["code"] == -32602


def test_metrics_are_completed_for_free(world: FixtureWorld) -> None:
    def complete(reference: dict[str, Any], name: str, value: str) -> Any:
        return run_method(world, "completion/complete", ref=reference, argument={"name": name, "value": value})

    before = world.client().get_account_balance()["current_balance"]
    prompt = {"type": "ref/prompt", "name": "check_figure"}
    template = {"type": "ref/resource", "uri": "finapi://metric/{metric}"}
    for reference in (prompt, template):
        values = complete(reference, "metric", "net_inc")["completion"]
        assert values == {"values": ["net_income", "net_income_to_common"], "total": 2, "hasMore": False}
    assert complete(prompt, "metric", "sales")["completion"]["values"][0] == "revenue"
    everything = complete(prompt, "metric", "")["completion"]
    assert (len(everything["values"]), everything["hasMore"], everything["total"] > 100) == (100, True, True)
    # A look-up of tickers would cost tokens.
    assert complete(prompt, "ticker", "AA")["completion"] == {"values": [], "total": 0, "hasMore": False}
    assert world.client().get_account_balance()["current_balance"] == before
    for reference, name in (
        (prompt, "nope"),
        (template, "ticker"),
        ({"type": "ref/prompt", "name": "nope"}, "metric"),
        ({"type": "ref/resource", "uri": "finapi://nope/{metric}"}, "metric"),
        ({"type": "ref/tool", "name": "find_company"}, "query"),
    ):
        assert complete(reference, name, "x")["code"] == -32602
    assert complete(prompt, "metric", "x" * 201)["code"] == -32602
    assert run_method(world, "completion/complete", ref="x", argument={})["code"] == -32602
    assert run_method(world, "completion/complete")["code"] == -32602


def test_the_views_of_the_sql_tool_are_a_resource(world: FixtureWorld) -> None:
    (content,) = run_method(world, "resources/read", uri="finapi://sql")["contents"]
    assert content["mimeType"] == "text/markdown"
    assert "price(symbol, date, open, high, low, close, volume, synthetic, price_doubt)" in content["text"]
    tools = {tool["name"]: tool for tool in run_method(world, "tools/list")["tools"]}
    assert tools["query_sql"]["inputSchema"]["properties"]["query"]["description"].startswith(
        "One SELECT over company, former_name, ticker, filing, "
    )


# ---- the protocol


@run_each_case("version", [*HANDSHAKE_VERSIONS, "1999-01-01", "2026-07-28"])
def test_a_handshake_agrees_on_a_revision(world: FixtureWorld, version: str) -> None:
    result = run_method(world, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t"})
    assert result["protocolVersion"] == (version if version in HANDSHAKE_VERSIONS else "2025-11-25")
    assert result["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
    assert result["serverInfo"]["name"] == "finapi"
    assert post(world, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
    assert json.loads(post(world, message("ping")).body)["result"] == {}


def test_without_a_handshake_every_message_says_its_revision(world: FixtureWorld) -> None:
    body, headers = stateless_message("server/discover")
    result = json.loads(post(world, body, **headers).body)["result"]
    assert (result["resultType"], result["supportedVersions"]) == ("complete", [*VERSIONS])
    assert result["_meta"][f"{META}serverInfo"]["name"] == "finapi"
    body, headers = stateless_message("tools/call", name="find_company", arguments={"query": "apple"})
    result = json.loads(post(world, body, **headers).body)["result"]
    assert (result["resultType"], result["isError"]) == ("complete", False)
    body, headers = stateless_message("tools/list")
    result = json.loads(post(world, body, **headers).body)["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    body, headers = stateless_message("resources/read", uri="finapi://coverage")
    result = json.loads(post(world, body, **headers).body)["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@run_each_case(
    "change, status, code",
    [
        ({"mcp_method": "tools/call"}, 400, -32020),
        ({"mcp_name": "query_sql"}, 400, -32020),
        ({"mcp_name": "=?base64?x?="}, 400, -32020),
        ({"mcp_name": "=?base64?ZmluZF9mdW5k?="}, 200, None),
        ({"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        ({"mcp_protocol_version": "1999-01-01"}, 400, -32022),
    ],
)
def test_headers_must_match_the_body(
    world: FixtureWorld, change: dict[str, str], status: int, code: int | None
) -> None:
    body, headers = stateless_message("tools/call", name="find_fund", arguments={"query": "x"})
    if "mcp_method" in change:
        change = {"mcp_method": "prompts/get"}
    answer = post(world, body, **{**headers, **change})
    assert (answer.status, json.loads(answer.body).get("error", {}).get("code")) == (status, code)


@pytest.mark.parametrize(
    ("method", "params", "status", "code"),
    [
        ("ping", {}, 404, -32601),
        ("initialize", {}, 404, -32601),
        ("resources/read", {"uri": "finapi://x"}, 400, -32602),
    ],
)
def test_methods_of_other_revisions_are_refused(
    world: FixtureWorld, method: str, params: dict[str, Any], status: int, code: int
) -> None:
    body, headers = stateless_message(method, **params)
    answer = post(world, body, **headers)
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (status, code)


def test_batches_are_of_one_revision(world: FixtureWorld) -> None:
    batch = [
        message("ping"),
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {**message("tools/list"), "id": "b"},
    ]
    answer = post(world, batch)
    assert [(reply["id"], "result" in reply) for reply in json.loads(answer.body)] == [(7, True), ("b", True)]
    assert post(world, batch[1:2]).status == 202
    for refused, headers in (
        (batch, {"mcp_protocol_version": "2025-06-18"}),
        ([], {}),
        ([message("ping")] * 21, {}),
        ([message("initialize", protocolVersion="2025-03-26")], {}),
    ):
        answer = post(world, refused, **headers)
        assert (answer.status, json.loads(answer.body)["error"]["code"]) == (400, -32600)


@run_each_case(
    "body, status, code",
    [
        (b"{", 400, -32700),
        (b"\xff", 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","id":2}', 400, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 400, -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700),
        (b"[" * 15_000 + b"]" * 15_000, 400, -32700),
        (b"[" * 60_000, 400, -32600),
        (b'"' + b"x" * 900_000 + b'"', 400, -32600),
        (b"5", 400, -32600),
        (b'{"id":1,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_compny"}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{}}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_fund","arguments":[]}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', 200, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"__class__"}', 200, -32601),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', 202, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}', 200, -32601),
    ],
)
def test_a_malformed_message_is_answered_with_an_error(
    world: FixtureWorld, body: bytes, status: int, code: int | None
) -> None:
    answer = post(world, body)
    error = json.loads(answer.body)["error"] if answer.body else {}
    assert (answer.status, error.get("code")) == (status, code)


def test_a_body_is_bounded(world: FixtureWorld) -> None:
    assert post(world, b" " * (1024 * 1024 + 1)).status == 413
    assert post(world, b"{}", content_type="text/plain").status == 415


def test_a_page_of_another_site_is_turned_away(world: FixtureWorld) -> None:
    for origin in (
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://[",
        "http://127.0.0.1@evil.x",
    ):
        assert post(world, message("ping"), origin=origin).status == 403, origin
    for origin in ("http://localhost:6274", "http://127.0.0.1:6274", "http://[::1]:6274", "http://127.0.0.1:8000"):
        assert post(world, message("ping"), origin=origin).status == 200, origin


def test_there_is_no_stream_and_no_session(world: FixtureWorld) -> None:
    for method in ("GET", "DELETE"):
        answer = post(world, b"", method=method, accept="text/event-stream")
        assert (answer.status, answer.headers["allow"]) == (405, "OPTIONS, POST")
    assert "mcp-session-id" not in post(world, message("ping"), mcp_session_id="x").headers


def test_a_key_is_required_and_a_cookie_is_not_one(world: FixtureWorld) -> None:
    assert post(world, message("ping"), key="0" * 32).status == 401
    account = world.accounts["pro"]
    token = world.client().post_auth_login(email=account["email"], password=account["password"])["token"]
    for name in ("finapi_session", "__Host-finapi_session", "session"):
        assert post(world, message("ping"), key="0" * 32, cookie=f"{name}={token}").status == 401
    bearer = {"x_api_key": "", "authorization": f"Bearer {world.api_key}"}
    assert post(world, message("ping"), **bearer).status == 200
    bare = message("tools/call", name="account_balance", arguments={})
    assert json.loads(post(world, bare, **bearer).body)["result"]["isError"] is False
    # A session is no key.
    assert post(world, message("ping"), x_api_key="", authorization=f"Bearer {token}").status == 401


# ---- standard input and output


def test_unchanged_answers_are_cached_over_a_pipe(world: FixtureWorld) -> None:
    sent: list[ApiRequest] = []

    def send(request: ApiRequest) -> ApiAnswer | None:
        sent.append(request)
        return world.send(request)

    server = ContextServer(send, base_url=world.url, headers={"X-API-Key": world.api_key}, caches_answers=True)
    call = json.dumps(message("tools/call", name="company_overview", arguments={"ticker": "AAPL"})).encode()
    first, second = (server.answer(call).document["result"]["structuredContent"] for _ in range(2))
    assert (first["tokens_charged"], second["tokens_charged"], server.charged_tokens) == (5, 0, 5)
    assert first["data"] == second["data"]
    assert "If-None-Match" in sent[1].headers


def test_an_unreachable_server_is_an_error_result() -> None:
    server = ContextServer(lambda request: None)
    call = json.dumps(message("tools/call", name="account_balance", arguments={})).encode()
    result = server.answer(call).document["result"]
    assert result["isError"] is True
    assert "FINAPI_URL" in result["content"][0]["text"]


OTHERS = [
    (
        ApiAnswer(200, {"content-type": "text/html"}, b"<p>Log in"),
        "The answer is an HTML page, not an answer of this API.",
    ),
    (ApiAnswer(302, {"location": "https://sso.example/"}, b""), "The service redirects to https://sso.example/."),
    (ApiAnswer(200, {"content-type": "application/json"}, b"{}"), "The answer does not come from finapi."),
    (ApiAnswer(200, {"content-type": "application/json"}, b"[" * 90_000), "The answer does not come from finapi."),
    (ApiAnswer(200, {"content-type": "application/json"}, b"\xff"), "The answer does not come from finapi."),
]


@pytest.mark.parametrize(("answer", "reason"), OTHERS)
def test_answers_of_another_server_are_errors(
    answer: ApiAnswer, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("finapi.verbs.api_verbs.by_urllib", lambda **_: lambda request: answer)
    monkeypatch.setenv("FINAPI_URL", "http://other.test")
    calls = [
        message("tools/list"),
        message("tools/call", name="list_filings", arguments={"ticker": "AAPL"}),
    ]
    data = b"\n".join(json.dumps(call).encode() for call in calls)
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(data)}))
    assert cli.main(["mcp"]) == 0
    list_result, called = (json.loads(line)["result"] for line in capsys.readouterr().out.splitlines())
    assert len(list_result["tools"]) == len(get_tools())
    assert called["isError"] is True
    assert reason in called["content"][0]["text"]


def test_a_resource_by_a_wrong_name_is_a_wrong_parameter(world: FixtureWorld) -> None:
    refused = run_method(world, "resources/read", uri="finapi://filing/AAPL")
    assert (refused["code"], "accession_number" in refused["message"]) == (-32602, True)


def test_the_verb_reads_lines_and_writes_lines(
    world: FixtureWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("finapi.verbs.api_verbs.by_urllib", lambda **_: world.send)
    monkeypatch.setenv("FINAPI_URL", world.url)
    monkeypatch.setenv("FINAPI_API_KEY", world.api_key)
    handshake = message("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    lines = [
        json.dumps(handshake).encode(),
        b"",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'"' + b"x" * protocol.MAX_BYTES + b'"',
        b"not json",
        json.dumps([message("ping")]).encode(),
        json.dumps(message("prompts/get", name="analyse_company", arguments={"ticker": "Æ😀"})).encode(),
        json.dumps(message("tools/list")).encode(),
    ]
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(b"\n".join(lines))}))
    assert cli.main(["mcp"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    replies = [json.loads(line) for line in out.splitlines()]
    assert [reply.get("error", {}).get("code") for reply in replies] == [None, -32600, -32700, -32600, None, None]
    assert replies[0]["result"]["protocolVersion"] == "2025-06-18"
    assert "Analyse Æ😀 from" in replies[4]["result"]["messages"][0]["content"]["text"]
    assert [tool["name"] for tool in replies[5]["result"]["tools"]] == [*get_tools()]
    # Every conversation begins with the list of tools.
    assert len(out.splitlines()[5]) < 12_000


@pytest.fixture
def configured(world: FixtureWorld, monkeypatch: pytest.MonkeyPatch) -> FixtureWorld:
    """Configure the command line for the world, like the environment of a host."""
    monkeypatch.setattr("finapi.verbs.api_verbs.by_urllib", lambda **_: world.send)
    monkeypatch.setenv("FINAPI_URL", world.url)
    monkeypatch.setenv("FINAPI_API_KEY", world.api_key)
    return world


def test_check_reports_that_the_setup_works(configured: FixtureWorld, capsys: pytest.CaptureFixture[str]) -> None:
    balance = configured.client().get_account_balance()["current_balance"]
    assert cli.main(["mcp", "--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"server  {configured.url} runs finapi {__version__}",
        f"key     accepted; plan pro, {balance:,} tokens left",
        f"tools   {len(get_tools())} tools; account_balance answered",
    ]
    assert configured.client().get_account_balance()["current_balance"] == balance
    assert cli.main(["mcp", "--check", "--json"]) == 0
    assert [*json.loads(capsys.readouterr().out)] == ["server", "key", "tools"]


def test_check_says_what_to_correct(
    configured: FixtureWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FINAPI_API_KEY", "0" * 32)
    assert cli.main(["mcp", "--check"]) == 3
    captured = capsys.readouterr()
    assert captured.out == f"server  {configured.url} runs finapi {__version__}\n"
    assert captured.err.startswith("finapi: 401 UNAUTHORIZED: ")
    assert captured.err.endswith("Set FINAPI_API_KEY in the host's configuration, or give --key.\n")
    monkeypatch.setattr("finapi.verbs.api_verbs.by_urllib", lambda **_: lambda request: None)
    assert cli.main(["mcp", "--check"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, "is a server running there?" in captured.err) == ("", True)


def test_the_page_says_how_hosts_are_connected(world: FixtureWorld) -> None:
    answer = world.send(ApiRequest("GET", f"{world.url}/integrations/mcp", {"Accept": "text/html"}))
    assert answer is not None
    page = answer.body.decode()
    texts = ("Claude Desktop", "Claude Code", "Cursor", "VS Code", "/api/mcp", "finapi mcp --check", "?answers=text")
    for host in (*texts, *get_tools()):
        assert host in page, host
