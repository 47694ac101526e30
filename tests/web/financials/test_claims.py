"""Claims over HTTP: verdicts with the figure on file, its facts and its link."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.web.financials import claims
from finapi.web.routes import ROUTES
from tests.client import Client
from tests.support.figures import build_companyfacts, store_companyfacts

PATH = "/api/v1/claims"
(SCHEMA,) = [route.schema for route in ROUTES if route.path == PATH]
CIK = 77


def build_report(
    fiscal_year: int, revenues: dict[int, int], *, form: str = "10-K"
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the facts of an annual report with the revenue (in millions) of some years."""
    accession = f"{CIK:010}-{(fiscal_year + 1) % 100:02}-000001"
    filed = {"accn": accession, "form": form, "filed": f"{fiscal_year + 1}-02-20", "fy": fiscal_year, "fp": "FY"}
    facts: list[tuple[str, str, dict[str, Any]]] = []
    for year, revenue in revenues.items():
        lasting = {"start": f"{year}-01-01", "end": f"{year}-12-31", **filed}
        facts += [
            ("us-gaap:Revenues", "USD", {**lasting, "val": revenue * 10**6}),
            ("us-gaap:NetIncomeLoss", "USD", {**lasting, "val": revenue * 10**5}),
            ("us-gaap:EarningsPerShareDiluted", "USD/shares", {**lasting, "val": revenue / 100}),
            ("us-gaap:Assets", "USD", {"end": f"{year}-12-31", **filed, "val": 2 * revenue * 10**6}),
        ]
    return facts


def build_quarters(year: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the revenue of the first quarter and the half year, each of its own report."""
    filed = {"form": "10-Q", "fy": year}
    first = {"accn": f"{CIK:010}-21-000011", "filed": f"{year}-04-20", "fp": "Q1", **filed}
    second = {"accn": f"{CIK:010}-21-000012", "filed": f"{year}-07-20", "fp": "Q2", **filed}
    quarter = {"start": f"{year}-01-01", "end": f"{year}-03-31"}
    second_quarter = {"start": f"{year}-04-01", "end": f"{year}-06-30"}
    half = {"start": f"{year}-01-01", "end": f"{year}-06-30"}
    return [
        ("us-gaap:Revenues", "USD", {**quarter, **first, "val": 251_000_000}),
        ("us-gaap:Revenues", "USD", {**second_quarter, **second, "val": 262_000_000}),
        ("us-gaap:Revenues", "USD", {**half, **second, "val": 513_000_000}),
        ("us-gaap:NetIncomeLoss", "USD", {**quarter, **first, "val": 25_100_000}),
        ("us-gaap:NetIncomeLoss", "USD", {**half, **second, "val": 51_300_000}),
    ]


@pytest.fixture
def caller(app: App, user: users.NewUser) -> Client:
    # The revenue of 2020 was 1,234, then 1,245 and at last 1,256; that of 2021 was never restated.
    facts = [
        *build_report(2020, {2019: 1101, 2020: 1234}),
        *build_report(2021, {2020: 1245, 2021: 1317}),
        *build_report(2022, {2020: 1256, 2021: 1317, 2022: 1402}),
        *build_quarters(2021),
    ]
    store_companyfacts(app, build_companyfacts(CIK, "Seventy-Seven Corp", facts))
    return Client(app, user.api_key)


def check(caller: Client, *claims: dict[str, Any], **body: Any) -> list[dict[str, Any]]:
    """Return the results of some claims about the company."""
    answer = caller.post(PATH, {"claims": [{"cik": str(CIK), **claim} for claim in claims], **body})
    assert answer.status == 200, answer.body
    jsonschema.Draft202012Validator(SCHEMA).validate(answer.json)
    results: list[dict[str, Any]] = answer.json["data"]["results"]
    assert answer.json["meta"]["count"] == len(claims) == len(results)
    assert sum(answer.json["meta"]["verdicts"].values()) == len(claims)
    return results


def revenue(period: Any, value: Any, **members: Any) -> dict[str, Any]:
    return {"metric": "revenue", "period": period, "value": value, **members}


def list_verdicts(results: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(result["verdict"], result["reason_code"]) for result in results]


def test_a_result_has_the_figure_its_facts_and_its_link(caller: Client) -> None:
    (result,) = check(caller, revenue(2021, "1.3 billion"))
    accession = "0000000077-23-000001"
    assert result["claim"] == {
        "ticker": None,
        "cik": "0000000077",
        "metric": "revenue",
        "concept": None,
        "period": "2021",
        "value": "1.3 billion",
        "unit": None,
        "as_of": None,
        "tolerance": None,
    }
    assert (result["verdict"], result["message"]) == ("matches", "The figure on file agrees with the claim.")
    assert (result["cik"], result["company_name"]) == ("0000000077", "Seventy-Seven Corp")
    assert result["agreeing_cell"] is result["scale_exponent"] is None
    cell = result["cell"]
    (operand,) = cell.pop("operands")
    assert cell == {
        "period": "A",
        "fiscal_year": 2021,
        "fiscal_period": "FY",
        "period_start": "2021-01-01",
        "period_end": "2021-12-31",
        "value": 1_317_000_000,
        "unit": "USD",
        "concept": "us-gaap:Revenues",
        "decimals": None,
        "confidence": 100,
        "accession": accession,
        "form_type": "10-K",
        "filed_at": "2023-02-20",
        "proof": {
            "cik": "0000000077",
            "metric": "revenue",
            "period": "A",
            "period_end": "2021-12-31",
            "basis": "latest",
            "currency": "USD",
            "as_of": None,
        },
        "link": f"https://www.sec.gov/Archives/edgar/data/77/{accession.replace('-', '')}/{accession}-index.htm",
    }
    assert (operand["value"], operand["accession"], operand["ink_url"]) == (1_317_000_000, accession, None)
    query = {name: text for name, text in cell["proof"].items() if text is not None}
    proof = caller.get("/api/v1/xbrl/proof", query=query).json["data"]
    assert (proof["cell"]["value"], proof["fiscal_year"]) == (1_317_000_000, 2021)


def test_wrong_claims_are_explained(caller: Client) -> None:
    results = check(
        caller,
        revenue("FY2020", "1,234 million"),
        revenue("FY2020", "1,245 million"),
        revenue("FY2020", "(1,256) million"),
        revenue("FY2020", "1,256 thousand"),
        revenue("FY2021", "1,402 million"),
        revenue("FY2021", "1,318 million"),
        revenue("FY2021", 1_317_000_000),
        revenue("FY2021", 1_317.0, unit="USD million"),
        revenue("FY2021", "1,320.4 million", tolerance=0.01),
        revenue("FY2021", "1,317.0004 million"),
    )
    assert list_verdicts(results) == [
        ("matches_first_filed", None),
        ("restated_since", None),
        ("wrong_sign", None),
        ("wrong_scale", None),
        ("wrong_period", None),
        ("contradicted", None),
        ("matches", None),
        ("matches", None),
        ("matches", None),
        ("cannot_tell", "more_digits_than_filed"),
    ]
    assert [result["cell"]["value"] // 10**6 for result in results] == [1256] * 4 + [1317] * 6
    agreeing = [result["agreeing_cell"] for result in results]
    assert [(cell["value"] // 10**6, cell["fiscal_year"], cell["filed_at"]) for cell in agreeing if cell] == [
        (1234, 2020, "2021-02-20"),
        (1245, 2020, "2022-02-20"),
        (1402, 2022, "2023-02-20"),
    ]
    assert agreeing[0]["operands"][0]["accession"] == agreeing[0]["accession"] == "0000000077-21-000001"
    assert agreeing[1]["operands"][0]["accession"] == agreeing[1]["accession"] == "0000000077-22-000001"
    assert results[3]["scale_exponent"] == 3


def test_each_spelling_of_a_period_finds_its_row(caller: Client) -> None:
    results = check(
        caller,
        revenue("Q1 2021", "251 million"),
        revenue("H1 2021", "513 million"),
        revenue("2021-01-01..2021-06-30", "513 million"),
        revenue("2021-06-30", "262 million"),
        revenue("2021-06-30", "513 million"),
        revenue("quarter ended 2021-06-30", "513 million"),
        {"metric": "total_assets", "period": "2021-12-31", "value": "2,634 million"},
        {"metric": "total_assets", "period": "FY2021", "value": "2,634 million"},
        {"metric": "eps_diluted", "period": "FY2021", "value": "13.17", "unit": "USD"},
        {"metric": "net_margin", "period": "FY2021", "value": "10%"},
    )
    assert list_verdicts(results) == [("matches", None)] * 5 + [("wrong_period", None)] + [("matches", None)] * 4
    assert [(result["cell"]["period"], result["cell"]["fiscal_period"]) for result in results[:5]] == [
        ("Q", "Q1"),
        ("YTD", "Q2"),
        ("YTD", "Q2"),
        ("Q", "Q2"),
        ("YTD", "Q2"),
    ]
    assert results[5]["agreeing_cell"]["period"] == "YTD"


def test_claims_about_concepts_are_compared_with_facts(caller: Client) -> None:
    results = check(
        caller,
        {"concept": "us-gaap:Revenues", "period": "FY2020", "value": "1.256 billion"},
        {"concept": "Revenues", "period": "FY2020", "value": "1.234 billion"},
        {"concept": "Revenues", "period": "FY2020", "value": "1.245 billion"},
        {"concept": "Revenues", "period": "2021-01-01..2021-06-30", "value": "513 million"},
        {"concept": "Revenues", "period": "Q1 2021", "value": "262 million"},
        {"concept": "Assets", "period": "2021-12-31", "value": "2,634 thousand"},
        {"concept": "Assets", "period": "TTM Q2 2021", "value": "1 billion"},
        {"concept": "Goodwill", "period": "FY2020", "value": "1 billion"},
        {"concept": "Assets", "period": "FY2021", "value": "1 billion", "unit": "EUR"},
    )
    assert list_verdicts(results) == [
        ("matches", None),
        ("matches_first_filed", None),
        ("restated_since", None),
        ("matches", None),
        ("wrong_period", None),
        ("wrong_scale", None),
        ("not_on_file", "period_not_on_file"),
        ("not_on_file", "unknown_concept"),
        ("cannot_tell", "other_unit"),
    ]
    assert (results[1]["cell"]["value"], results[1]["agreeing_cell"]["value"]) == (1_256_000_000, 1_234_000_000)
    assert (results[4]["agreeing_cell"]["period_start"], results[4]["cell"]["proof"]) == ("2021-04-01", None)
    assert (results[3]["cell"]["period"], results[3]["cell"]["fiscal_period"]) == ("YTD", "Q2")


def test_claims_that_cannot_be_checked_have_a_reason(caller: Client) -> None:
    results = check(
        caller,
        revenue("FY2021", "1.3 billion", ticker="NOSUCH"),
        revenue("FY2010", "1.3 billion"),
        revenue("FY2021", "about a billion"),
        revenue("FY2021", 10**400),
        revenue("last year", "1.3 billion"),
        revenue("FY2021", "1.3 billion", unit="bananas"),
        revenue("FY2021", "1.3 billion", unit="shares"),
        revenue("FY2021", "1.3 billion", unit="EUR"),
        revenue("FY2021", "1.3 billion", concept="us-gaap:Revenues"),
        {"metric": "revenu", "period": "FY2021", "value": 1},
        {"metric": "goodwill", "period": "FY2021", "value": 1},
    )
    assert list_verdicts(results) == [
        ("not_on_file", "unknown_company"),
        ("not_on_file", "period_not_on_file"),
        ("cannot_tell", "value_not_understood"),
        ("cannot_tell", "value_not_understood"),
        ("cannot_tell", "period_not_understood"),
        ("cannot_tell", "unit_not_understood"),
        ("cannot_tell", "other_unit"),
        ("cannot_tell", "other_unit"),
        ("cannot_tell", "no_metric"),
        ("cannot_tell", "unknown_metric"),
        ("not_on_file", "figure_not_on_file"),
    ]
    assert all(result["cell"] is result["agreeing_cell"] is None for result in results)
    assert results[2]["message"] == 'The value must be one amount, such as 394328000000 or "394.3 billion".'


def test_a_claim_of_a_past_day_uses_what_was_filed_then(caller: Client) -> None:
    claim = revenue("FY2020", "1,234 million")
    first, second, third, missing = check(
        caller,
        {**claim, "as_of": "2021-12-31"},
        {**claim, "as_of": "2022-12-31"},
        claim,
        revenue("FY2022", "1,402 million", as_of="2022-12-31"),
    )
    assert (first["verdict"], first["cell"]["filed_at"]) == ("matches", "2021-02-20")
    assert (second["verdict"], second["cell"]["value"]) == ("matches_first_filed", 1_245_000_000)
    assert (third["verdict"], third["cell"]["value"]) == ("matches_first_filed", 1_256_000_000)
    assert (missing["verdict"], missing["reason_code"]) == ("not_on_file", "period_not_on_file")
    assert (first["cell"]["proof"]["as_of"], second["agreeing_cell"]["proof"]["basis"]) == ("2021-12-31", "original")
    # The day of the call bounds the days of its claims.
    bounded = check(caller, claim, {**claim, "as_of": "2030-01-01"}, as_of="2021-12-31")
    assert [(result["verdict"], result["claim"]["as_of"]) for result in bounded] == [("matches", "2021-12-31")] * 2
    earlier = check(caller, {**claim, "as_of": "2021-12-31"}, as_of="2022-12-31")
    assert [result["verdict"] for result in earlier] == ["matches"]


def test_past_days_between_two_filings_count_once(caller: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_PAST_BOOKS", 2)
    # Reports were filed on 2021-02-20, 2022-02-20 and 2023-02-20.
    claim = revenue("2020", "1,234 million")
    days = [f"2021-12-{day:02}" for day in range(1, 31)] + [f"2022-03-{day:02}" for day in range(1, 31)]
    results = check(caller, *[{**claim, "as_of": day} for day in days])
    assert [result["verdict"] for result in results] == ["matches"] * 30 + ["matches_first_filed"] * 30
    other_days = ("2021-12-01", "2022-03-01", "2023-03-01")
    body = {"claims": [{"cik": str(CIK), **claim, "as_of": day} for day in other_days]}
    answer = caller.post(PATH, body)
    message = (
        "The claims with as_of need the figures of 3 companies and days between filings; send at most 2 in a call."
    )
    assert answer.verdict == (400, "INVALID_PARAM", message)
    assert (answer.json["details"]["param"], answer.headers["x-tokens-charged"]) == ("claims", "0")
    # Days before the first filing share one book too, and an unknown company needs none.
    unknown = {"ticker": "NONE", "as_of": "2023-03-01"}
    claims_sent = [{**claim, "cik": str(CIK), "as_of": f"2020-01-{day}"} for day in range(10, 31)]
    sent = {"claims": [*claims_sent, {**claim, "cik": str(CIK), "as_of": "2021-12-01"}, {**claim, **unknown}]}
    results = caller.post(PATH, sent).json["data"]["results"]
    assert [result["verdict"] for result in results] == [*["not_on_file"] * 21, "matches", "not_on_file"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "claims"),
        ({"claims": []}, "claims"),
        ({"claims": {}}, "claims"),
        ({"claims": [{}] * 101}, "claims"),
        ({"claims": ["revenue"]}, "claims[0]"),
        ({"claims": [{"cik": "77", "metric": "revenue", "value": 1}]}, "claims[0].period"),
        ({"claims": [{"cik": "77", "metric": "revenue", "period": "2021"}]}, "claims[0].value"),
        ({"claims": [{"period": "2021", "value": 1}, {"period": "2021", "value": True}]}, "claims[1].value"),
        ({"claims": [{"period": "2021", "value": 1, "tolerance": 2}]}, "claims[0].tolerance"),
        ({"claims": [{"period": "2021", "value": 1, "as_of": "soon"}]}, "claims[0].as_of"),
        ({"claims": [{"period": "2021", "value": 1, "currency": "USD"}]}, "claims[0].currency"),
    ],
)
def test_a_malformed_call_names_the_claim(caller: Client, body: dict[str, Any], param: str) -> None:
    answer = caller.post(PATH, body)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == param
    assert "claims is not a parameter" not in answer.json["message"]


def test_a_misspelt_member_suggests_the_right_one(caller: Client) -> None:
    answer = caller.post(PATH, {"claims": [{"cik": "77", "metrics": "revenue", "period": "2021", "value": 1}]})
    assert answer.json["message"] == "claims[0].metrics is not a parameter of this call; did you mean metric?"
    value = caller.post(PATH, {"claims": [{"cik": "77", "metric": "revenue", "period": "2021", "value": None}]})
    assert value.json["message"] == "claims[0]: value must be a text or a number."
