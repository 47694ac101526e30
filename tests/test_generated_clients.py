"""Tests of clients that are generated from the OpenAPI document: they compile, and make calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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

# Ten calls each with openapi-fetch and with hey-api.
TYPESCRIPT = Path(__file__).with_name("strict_client.ts")
STRICT = {
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
