"""The types of the Python client: a type checker knows calls and answers, and answers are what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.client import exchange
from finapi.client.exchange import ApiAnswer
from finapi.web import openapi
from finapi.web.routes import ROUTES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = """
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from finapi.client import ApiFailure, AsyncClient, Client
from finapi.client.types import SecFilingsData, XbrlTimeseries

client = Client("http://x", "k", tries=1)
series: XbrlTimeseries = client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], as_of=date(2025, 1, 1))
end: str = series["data"]["rows"][0]["period_end"]
rows: Iterator[SecFilingsData] = client.rows("get_sec_filings", ticker="AAPL", limit=2)
client.get_prices_ticker(ticker="AAPL", from_=date(2025, 1, 2), timeout=2.5)
client.get_policy(timeout=5)
dated = Client("http://x", dates=True)
day: date = dated.get_xbrl_timeseries(ticker="AAPL")["data"]["rows"][0]["period_end"]
when: datetime = dated.get_account_balance()["as_of"]

async def awaited() -> int:
    async with AsyncClient("http://x", "k") as other:
        async for row in other.rows("get_sec_filings", form_type="8-K"):
            print(row["accession_number"].upper())
        return (await other.get_account_balance())["current_balance"]

client.get_xbrl_timeserie()  # attr-defined
client.get_xbrl_timeseries(tikcer="AAPL")  # call-arg
client.get_xbrl_timeseries(period="yearly")  # arg-type
client.get_xbrl_companies_ticker_statements()  # call-arg
series["data"]["row"]  # typeddict-item
client.rows("get_policy")  # call-overload
client.get_policy(timeout="5")  # arg-type
figure: float = series["data"]["rows"][0]["metrics"]["revenue"]  # assignment
"""


def test_a_users_program_is_checked_strictly(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file",
        os.devnull,
        "program.py",
    ]
    env = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": ""}
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
    error_lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    expected_errors = {
        f"program.py:{number}": line.rpartition("# ")[2]
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# " in line
    }
    assert {line.partition(": error")[0]: line.rpartition("[")[2][:-1] for line in error_lines} == expected_errors, (
        done.stdout
    )


def test_answers_are_of_the_types_that_are_declared() -> None:
    document = openapi.build_document("", ROUTES)
    components = document["components"]
    looked_at = 0
    for item in document["paths"].values():
        for operation in item.values():
            content = operation["responses"].get("200", {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {}).values():
                value = components["examples"][example["$ref"].rpartition("/")[2]]["value"]
                body = json.dumps(value).encode()
                decoded_document = exchange.decode_answer(
                    ApiAnswer(200, {"content-type": "application/json"}, body), dates=True
                )
                assert (
                    misfits(decoded_document, content["schema"], components["schemas"], operation["operationId"]) == []
                )
                looked_at += 1
    assert looked_at > 100


def misfits(value: Any, schema: Mapping[str, Any], schemas: Mapping[str, Any], path: str) -> list[str]:
    """Return a message for each place where a value does not have the type of its schema."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        candidates = [misfits(value, alternative, schemas, path) for alternative in schema["anyOf"]]
        return min(candidates, key=len)
    kinds = {"integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    kinds["string"] = {"date": date, "date-time": datetime}.get(schema.get("format", ""), str)
    names = schema.get("type", [*kinds])
    names = [names] if isinstance(names, str) else names
    fits = [kinds.get(name, (int, Decimal)) for name in names]
    if not any(isinstance(value, kind) for kind in fits) or ("boolean" not in names and isinstance(value, bool)):
        return [f"{path}: {value!r} is no {' or '.join(names)}"]
    mismatches: list[str] = []
    if isinstance(value, list):
        for index, row in enumerate(value):
            mismatches += misfits(row, schema.get("items", {}), schemas, f"{path}.{index}")
    elif isinstance(value, dict):
        additional = schema.get("additionalProperties")
        default_schema = additional if isinstance(additional, dict) else None
        for key, member in value.items():
            member_schema = schema.get("properties", {}).get(key, default_schema)
            if member_schema is not None:
                mismatches += misfits(member, member_schema, schemas, f"{path}.{key}")
    return mismatches
