"""Tests of clients that are generated from the OpenAPI document: they compile, and make calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi import __version__
from finapi.core.config import Config
from finapi.server import run_server
from finapi.web.openapi import build_document
from finapi.web.routes import ROUTES
from tests import npm
from tests.described import LIFTED, World
from tests.npm import run_command

pytestmark = pytest.mark.slow

# Versions that fit each other; a newer one is tried by changing it here.
PACKAGES = {
    "@hey-api/openapi-ts": "0.80.18",
    "esbuild": "0.25.5",
    "openapi-fetch": "0.13.5",
    "openapi-typescript": "7.6.1",
    "typescript": "5.8.3",
}

PYTHON = """
import sys
from finapi_client import AuthenticatedClient
from finapi_client.api.cusip import post_cusip_batch
from finapi_client.api.form_13f import get_form_13f_fund_cik
from finapi_client.api.insiders import get_insiders_transactions_latest
from finapi_client.api.policy import get_policy
from finapi_client.api.prices import get_prices_ticker
from finapi_client.api.sec import get_sec_filings
from finapi_client.api.tickers import get_tickers_ticker_overview
from finapi_client.api.xbrl import get_xbrl_companies_ticker_statements, get_xbrl_timeseries
from finapi_client.models import Error, PostCusipBatchBody, XbrlCompaniesTickerStatements

client = AuthenticatedClient(sys.argv[1], token=sys.argv[2], prefix="", auth_header_name="X-API-Key")
statements = get_xbrl_companies_ticker_statements.sync("AAPL", client=client)
assert isinstance(statements, XbrlCompaniesTickerStatements), statements
filings = get_sec_filings.sync(client=client, ticker=["AAPL", "NFLX"], limit=3)
fund = get_form_13f_fund_cik.sync("1067983", client=client)
prices = get_prices_ticker.sync("AAPL", client=client, limit=2)
series = get_xbrl_timeseries.sync(client=client, ticker="AAPL", metrics=["revenue"])
overview = get_tickers_ticker_overview.sync("AAPL", client=client)
insiders = get_insiders_transactions_latest.sync(client=client, limit=2)
cusips = post_cusip_batch.sync(client=client, body=PostCusipBatchBody(cusips=["037833100"]))
policy = get_policy.sync(client=client)
refused = get_tickers_ticker_overview.sync("NOBODY", client=client)
assert isinstance(refused, Error), refused
print(statements.data.ticker, statements.meta.resolved_accession, sorted(statements.data.statements.additional_keys)[0])
print(len(filings.data), len(fund.holdings) > 0, len(prices.data), series.data.ticker, overview.data.ticker)
print(len(insiders.data), len(cusips.results), policy.data.api_version, refused.code)
"""

# The same with a client that openapi-generator makes. The modules of all models and calls are imported first.
GENERATED_PYTHON = """
import importlib
import pkgutil
import sys
import openapi_client
for module in pkgutil.walk_packages(openapi_client.__path__, "openapi_client."):
    importlib.import_module(module.name)
configuration = openapi_client.Configuration(host=sys.argv[1], api_key={"key": sys.argv[2]})
client = openapi_client.ApiClient(configuration)
calls = [
    ("XbrlApi", "get_xbrl_companies_ticker_statements", {"ticker": "AAPL"}),
    ("XbrlApi", "get_xbrl_timeseries", {"ticker": "AAPL", "metrics": ["revenue"]}),
    ("XbrlApi", "get_xbrl_screen", {"gross_margin_gt": 0.1}),
    ("XbrlApi", "get_xbrl_dictionary", {}),
    ("SecApi", "get_sec_filings", {"ticker": ["AAPL", "NFLX"], "limit": 3}),
    ("Form13fApi", "get_form13f_fund_cik", {"cik": "1067983"}),
    ("PricesApi", "get_prices_ticker", {"ticker": "AAPL", "limit": 2}),
    ("TickersApi", "get_tickers_ticker_overview", {"ticker": "AAPL"}),
    ("InsidersApi", "get_insiders_transactions_latest", {"limit": 2}),
    ("CusipApi", "get_cusip_lookup_cusip", {"cusip": "037833100"}),
    ("AccountApi", "get_account_balance", {}),
    ("PlansApi", "get_plans", {}),
    ("PolicyApi", "get_policy", {}),
    ("StatsApi", "get_stats", {}),
    ("WebhooksApi", "get_webhooks_deliveries", {}),
]
for api, name, params in calls:
    answer = getattr(getattr(openapi_client, api)(client), name)(**params)
    print(type(answer).__name__)
"""

# Ten calls each with openapi-fetch and with hey-api.
TYPESCRIPT = Path(__file__).with_name("strict_client.ts")
STRICT: dict[str, Any] = {
    "compilerOptions": {
        **dict.fromkeys(("strict", "noUncheckedIndexedAccess", "noEmit"), True),
        "module": "esnext",
        "moduleResolution": "bundler",
        "target": "es2022",
        "skipLibCheck": True,
        "lib": ["es2022", "dom", "dom.iterable"],
    },
    "files": ["main.ts"],
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yield the URL of a server with the demo's data, and a key."""
    folder = tmp_path_factory.mktemp("served")
    config = Config(port=0, data_dir=folder / "data", mail_dir=str(folder / "mail"), **LIFTED)
    worlds: list[World] = []
    with run_server(config, lambda *_: None, prepare=lambda app: worlds.append(World(app))) as server:
        yield server.url, worlds[0].key


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def generate(folder: Path) -> str:
    """Generate a Python client, ``finapi_client``, in a directory. Return the output of the generator."""
    write(folder, "openapi.json", json.dumps(build_document("", ROUTES)))
    # The generator formats the client with ruff, if that is installed.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
            *("--path", "openapi.json", "--meta", "none", "--output-path", "finapi_client"),
        ],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_a_generated_python_client_makes_ten_calls(tmp_path: Path, served: tuple[str, str]) -> None:
    finished = generate(tmp_path)
    assert "WARNING" not in finished
    run_command(tmp_path, sys.executable, "-m", "compileall", "-q", "finapi_client")
    output = run_command(tmp_path, sys.executable, write(tmp_path, "call.py", PYTHON), *served).split()
    assert output[:3] == ["AAPL", "0000320193-24-000123", "balance"]
    assert output[3:] == ["3", "True", "2", "AAPL", "AAPL", "2", "1", __version__, "UNKNOWN_TICKER"]


def test_generated_typescript_clients_make_ten_calls_each(tmp_path: Path, served: tuple[str, str]) -> None:
    bin = npm.install_packages(tmp_path, PACKAGES)
    write(tmp_path, "openapi.json", json.dumps(build_document("", ROUTES)))
    run_command(tmp_path, str(bin / "openapi-typescript"), "openapi.json", "-o", "api.ts")
    run_command(tmp_path, str(bin / "openapi-ts"), "-i", "openapi.json", "-o", "hey", "-c", "@hey-api/client-fetch")
    write(tmp_path, "main.ts", TYPESCRIPT.read_text(encoding="utf-8"))
    write(tmp_path, "tsconfig.json", json.dumps(STRICT))
    run_command(tmp_path, str(bin / "tsc"), "--project", ".")
    run_command(
        tmp_path, str(bin / "esbuild"), "main.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=main.mjs"
    )
    expected = f"AAPL 3 true 2 AAPL AAPL 2 1 {__version__} UNKNOWN_TICKER"
    assert run_command(tmp_path, "node", "main.mjs", *served).splitlines() == [
        f"openapi-fetch {expected}",
        f"hey-api {expected}",
    ]


GENERATOR = os.environ.get("OPENAPI_GENERATOR", "")
needs_generator = pytest.mark.skipif(
    not GENERATOR, reason="OPENAPI_GENERATOR is not set to a directory with openapi-generator-cli and python"
)


def run_generator(folder: Path, *words: str) -> str:
    """Run openapi-generator in a folder that contains the document. Return its output."""
    write(folder, "openapi.json", json.dumps(build_document("", ROUTES)))
    return run_command(folder, f"{GENERATOR}/openapi-generator-cli", *words)


@needs_generator
def test_openapi_generator_finds_nothing_wrong(tmp_path: Path) -> None:
    assert "No validation issues detected." in run_generator(tmp_path, "validate", "-i", "openapi.json")


@needs_generator
def test_a_python_client_of_openapi_generator_makes_calls(tmp_path: Path, served: tuple[str, str]) -> None:
    run_generator(tmp_path, "generate", "-i", "openapi.json", "-g", "python", "-o", ".")
    output = run_command(tmp_path, f"{GENERATOR}/python", write(tmp_path, "call.py", GENERATED_PYTHON), *served)
    assert output.split() == [
        *("XbrlCompaniesTickerStatements", "XbrlTimeseries", "XbrlScreen", "XbrlDictionary", "SecFilings"),
        *("Form13fFundCik", "PricesTicker", "TickersTickerOverview", "InsidersTransactionsLatest"),
        *("CusipLookupCusip", "AccountBalance", "Plans", "Policy", "Stats", "WebhooksDeliveries"),
    ]


@needs_generator
def test_a_typescript_client_of_openapi_generator_compiles_strictly(tmp_path: Path) -> None:
    bin = npm.install_packages(tmp_path, {"typescript": PACKAGES["typescript"]})
    run_generator(tmp_path, "generate", "-i", "openapi.json", "-g", "typescript-fetch", "-o", "client")
    options: dict[str, object] = {
        **STRICT["compilerOptions"],
        "noUncheckedIndexedAccess": False,
    }  # Its runtime fails it.
    write(tmp_path, "tsconfig.json", json.dumps({"compilerOptions": options, "files": ["client/index.ts"]}))
    run_command(tmp_path, str(bin / "tsc"), "--project", ".")
