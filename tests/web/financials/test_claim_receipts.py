"""Receipts of claims over HTTP: content, chain, calls that have none, and the confirmation of their origin."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import jsonschema
import pytest

from finapi.accounts import billing, credentials, users
from finapi.app import App
from finapi.core import receipts
from finapi.core.receipts import ChainCheck
from finapi.market.claims import claim_receipts
from finapi.web.routes import ROUTES
from tests.client import Answer, Client
from tests.support.brook_lamps_report import ACCESSION, build_report, store_report
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.support.metered_calls import get_balance

PATH = "/api/v1/claims"
VERIFY_PATH = f"{PATH}/receipts/verify"
SCHEMAS = {route.path: route.schema for route in ROUTES if route.path in (PATH, VERIFY_PATH)}
CIK = 77
OLD, NEW = "0000000077-21-000001", "0000000077-22-000001"
FACTS_CLAIM = {"cik": "77", "metric": "revenue", "period": "FY2020", "value": "1,234 million"}
REPORT_CLAIM = {"cik": "1234567", "concept": "us-gaap:Revenues", "period": "FY2024", "value": 1_000_000}


def build_revenue(accession: str, filed_at: str, revenue: int) -> tuple[str, str, dict[str, Any]]:
    """Return the revenue of 2020 in millions as an annual report states it."""
    filing = {"accn": accession, "form": "10-K", "filed": filed_at, "fy": 2020, "fp": "FY"}
    return "us-gaap:Revenues", "USD", {"start": "2020-01-01", "end": "2020-12-31", "val": revenue * 10**6, **filing}


@pytest.fixture
def caller(app: App, user: users.NewUser) -> Client:
    facts = [build_revenue(OLD, "2021-02-20", 1234), build_revenue(NEW, "2022-02-20", 1256)]
    store_companyfacts(app, build_companyfacts(CIK, "Seventy-Seven Corp", facts))
    store_report(app, build_report())
    return Client(app, user.api_key)


def send(caller: Client, *claims: dict[str, Any], **options: Any) -> Answer:
    return caller.post(PATH, {"claims": claims or [FACTS_CLAIM], "receipt": True}, **options)


def get_receipt(caller: Client, *claims: dict[str, Any]) -> dict[str, Any]:
    """Return the receipt of a call as it is sent, and assert that it is described, intact and canonical."""
    answer = send(caller, *claims)
    assert answer.status == 200, answer.body
    jsonschema.Draft202012Validator(SCHEMAS[PATH]).validate(answer.json)
    receipt: dict[str, Any] = answer.json["data"]["receipt"]
    line = receipts.canonicalise(receipt)
    assert b'"receipt":' + line + b"}," in answer.body
    receipts.parse_receipt(line)
    return receipt


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_receipt_has_claims_verdicts_cells_versions_and_hashes(app: App, caller: Client) -> None:
    claims: list[dict[str, Any]] = [
        {**FACTS_CLAIM, "tolerance": 0},
        REPORT_CLAIM,
        {**FACTS_CLAIM, "as_of": "2021-12-31", "tolerance": 0.00001},
        {**FACTS_CLAIM, "value": 'Größe "x"'},
    ]
    receipt = get_receipt(caller, *claims)
    sent = {"ticker": None, "concept": None, "unit": None, "as_of": None}
    first_claim = {**sent, "cik": "0000000077", "metric": "revenue", "period": "FY2020", "value": "1,234 million"}
    cell = {
        "period": "A",
        "fiscal_year": 2020,
        "fiscal_period": "FY",
        "period_start": "2020-01-01",
        "period_end": "2020-12-31",
        "unit": "USD",
        "concept": "us-gaap:Revenues",
        "form_type": "10-K",
    }
    old_cell = {**cell, "value": "1234000000", "accession": OLD, "filed_at": "2021-02-20"}
    with app.db.read_one() as tx:
        version = tx.find_value("data_version")
    verdict = {"reason_code": None, "cik": "0000000077", "scale_exponent": None, "data_version": version}
    first, second, third, fourth = receipt["results"]
    assert first == {
        **verdict,
        "claim": {**first_claim, "tolerance": "0"},
        "verdict": "matches_first_filed",
        "cell": {**cell, "value": "1256000000", "accession": NEW, "filed_at": "2022-02-20"},
        "agreeing_cell": old_cell,
    }
    assert (second["verdict"], second["cell"]["value"], second["cell"]["accession"]) == (
        "matches",
        "1000000",
        ACCESSION,
    )
    assert third == {
        **verdict,
        "claim": {**first_claim, "as_of": "2021-12-31", "tolerance": "0.00001"},
        "verdict": "matches",
        "cell": old_cell,
        "agreeing_cell": None,
    }
    assert fourth["claim"]["value"] == 'Größe "x"'
    assert (fourth["verdict"], fourth["reason_code"], fourth["cell"]) == ("cannot_tell", "value_not_understood", None)
    # The filings of companyfacts have no documents, so their facts behind the verdicts are hashed.
    old_facts = '[["us-gaap:Revenues","USD","2020-01-01","2020-12-31","1234000000"]]'
    assert receipt["documents"] == [
        {"accession": OLD, "source": "facts", "sha256": hash_text(old_facts)},
        {"accession": NEW, "source": "facts", "sha256": hash_text(old_facts.replace("1234", "1256"))},
        {"accession": ACCESSION, "source": "xbrl", "sha256": build_report().sha256.hex()},
    ]
    assert (receipt["mapping_version"], receipt["number"], receipt["previous_sha256"]) == (6, 1, None)
    assert receipt["issued_at"] == "2026-01-31T12:00:00.000Z"
    # The hash, computed as the documentation describes it.
    content = {name: member for name, member in receipt.items() if name not in ("sha256", "signature")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert receipt["sha256"] == hash_text(text)
    assert receipt["signature"] == credentials.sign_receipt(app.secrets, receipt["sha256"])


def test_a_call_without_receipt_has_none_and_leaves_the_chain(caller: Client) -> None:
    for body in ({"claims": [FACTS_CLAIM]}, {"claims": [FACTS_CLAIM], "receipt": False}):
        answer = caller.post(PATH, body)
        jsonschema.Draft202012Validator(SCHEMAS[PATH]).validate(answer.json)
        assert (answer.status, answer.json["data"]["receipt"]) == (200, None)
    assert get_receipt(caller)["number"] == 1


def test_receipts_are_chained_and_calls_that_fail_have_none(
    app: App, caller: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = get_receipt(caller)
    balance = get_balance(app)
    assert send(caller, {"cik": "77"}).verdict[:2] == (400, "INVALID_PARAM")
    refused = caller.post(PATH, {"claims": [FACTS_CLAIM], "receipt": "yes"})
    assert refused.verdict == (400, "INVALID_PARAM", "receipt must be true or false.")
    assert send(caller, environ={"finapi.deadline": -1.0}).verdict[:2] == (504, "TIMEOUT")
    with monkeypatch.context() as patch:
        patch.setattr(claim_receipts, "build_content", lambda *arguments: 1 / 0)
        assert send(caller).verdict[:2] == (500, "INTERNAL")
    with monkeypatch.context() as patch:
        patch.setattr(credentials, "sign_receipt", lambda *arguments: 1 / 0)
        assert send(caller).verdict[:2] == (500, "INTERNAL")
    assert get_balance(app) == balance
    second = get_receipt(caller)
    assert get_balance(app) == balance - 25
    check = ChainCheck()
    links = [check.add(receipts.parse_receipt(receipts.canonicalise(receipt))) for receipt in (first, second)]
    assert links == ["is the first", "follows number 1"]


def test_a_receipt_cannot_be_had_without_tokens(app: App, caller: Client) -> None:
    poor = users.create(app, "poor@example.com", "free", app.clock.now())
    billing.charge(app, poor.id, "GET /x", app.config.free_tokens - 24, "r1").settle()
    assert send(Client(app, poor.api_key)).verdict[:2] == (402, "insufficient_tokens")
    with app.accounts.read_one() as tx:
        row = tx.find_row("receipt_chain", user_id=poor.id)
    assert row is not None
    assert (row["receipts"], row["last_sha256"]) == (0, None)


def test_the_server_confirms_only_what_it_signed(app: App, caller: Client) -> None:
    nothing_issued = caller.post(VERIFY_PATH, {"receipts": [{"sha256": "0" * 64, "signature": "0" * 64}]})
    jsonschema.Draft202012Validator(SCHEMAS[VERIFY_PATH]).validate(nothing_issued.json)
    assert nothing_issued.json["data"] == {
        "receipts": [{"sha256": "0" * 64, "is_issued": False}],
        "chain": {"receipts": 0, "last_sha256": None},
    }
    first, second = get_receipt(caller), get_receipt(caller)
    seals = [{"sha256": receipt["sha256"], "signature": receipt["signature"]} for receipt in (second, first)]
    mixed = {"sha256": first["sha256"], "signature": second["signature"]}
    answer = caller.post(VERIFY_PATH, {"receipts": [*seals, mixed]})
    jsonschema.Draft202012Validator(SCHEMAS[VERIFY_PATH]).validate(answer.json)
    assert answer.json["data"] == {
        "receipts": [
            {"sha256": second["sha256"], "is_issued": True},
            {"sha256": first["sha256"], "is_issued": True},
            {"sha256": first["sha256"], "is_issued": False},
        ],
        "chain": {"receipts": 2, "last_sha256": second["sha256"]},
    }
    assert (answer.json["meta"], answer.headers["x-tokens-charged"]) == ({"count": 3}, "1")
    # Another account confirms them too, and has a chain of its own.
    other = users.create(app, "bob@example.com", "pro", app.clock.now())
    data = Client(app, other.api_key).post(VERIFY_PATH, {"receipts": seals}).json["data"]
    assert [origin["is_issued"] for origin in data["receipts"]] == [True, True]
    assert data["chain"] == {"receipts": 0, "last_sha256": None}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "receipts"),
        ({"receipts": []}, "receipts"),
        ({"receipts": [{"sha256": "0" * 64, "signature": "0" * 64}] * 101}, "receipts"),
        ({"receipts": [{"sha256": "0" * 64}]}, "receipts[0].signature"),
        ({"receipts": [{"sha256": "F" * 64, "signature": "0" * 64}]}, "receipts[0].sha256"),
        ({"receipts": [{"sha256": "0" * 64, "signature": "0" * 64, "number": 1}]}, "receipts[0].number"),
    ],
)
def test_a_malformed_verification_names_the_member(caller: Client, body: dict[str, Any], param: str) -> None:
    answer = caller.post(VERIFY_PATH, body)
    assert answer.verdict[:2] == (400, "INVALID_PARAM")
    assert answer.json["details"]["param"] == param


@pytest.mark.parametrize(
    ("number", "text"),
    [(394_328_000_000, "394328000000"), (6.11, "6.11"), (1e-7, "0.0000001"), (-0.5, "-0.5"), (10**70, f"1{'0' * 70}")],
)
def test_decimals_are_written_with_their_digits(number: float, text: str) -> None:
    assert claim_receipts.format_decimal(number) == text
