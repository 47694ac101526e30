"""The wheel of the Python client: its content, its caching, and its use in an environment of its own."""

from __future__ import annotations

import ast
import base64
import configparser
import hashlib
import io
import os
import subprocess
import venv
import zipfile
from collections.abc import Iterator
from email.parser import BytesParser
from pathlib import Path

import pytest

from finapi import __version__
from finapi.app import App
from finapi.testing import FinapiServer
from finapi.web.html import client_wheel
from tests.client import Client

ROOT = Path(__file__).parents[3]
PATH = f"/sdk/finapi_client-{__version__}-py3-none-any.whl"
# Imports inside functions that only an installation with a server reaches.
SERVER_IMPORTS = {
    ("finapi/cli.py", "finapi.ops.app_opening"),
    ("finapi/testing/server.py", "finapi.testing.recording"),
    ("finapi/testing/server.py", "finapi.testing.running"),
    ("finapi/verbs/api_verbs.py", "finapi.ops.app_opening"),
    ("finapi/verbs/api_verbs.py", "finapi.web.application"),
    ("finapi/verbs/api_verbs.py", "finapi.market.intake.latest_years_work"),
}


@pytest.fixture(scope="module")
def archive() -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(io.BytesIO(client_wheel.build_wheel().body)) as archive:
        yield archive


def test_the_wheel_of_the_client_is_served_with_an_etag(app: App) -> None:
    public = Client(app)
    answer = public.get(PATH, headers={"Accept-Encoding": "gzip"})
    fingerprint = hashlib.sha256(answer.body).hexdigest()[:32]
    assert (answer.status, answer.headers["content-type"]) == (200, "application/octet-stream")
    assert answer.headers["etag"] == f'"{fingerprint}"'
    assert answer.headers["cache-control"] == "public, no-cache"
    assert "content-encoding" not in answer.headers
    for etag in (f'"{fingerprint}"', "*"):
        again = public.get(PATH, headers={"If-None-Match": etag})
        assert (again.status, again.body) == (304, b"")
    assert public.get(PATH, headers={"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize("name", ["finapi_client-0.0.9-py3-none-any.whl", "..%2Fcli.py", "RECORD"])
def test_other_files_than_the_wheel_are_not_found(app: App, name: str) -> None:
    answer = Client(app).get(f"/sdk/{name}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")
    assert answer.json["details"]["url"] == app.config.public_url + PATH


def test_the_policy_installs_the_wheel_of_this_server(app: App) -> None:
    tooling = Client(app).get("/api/v1/policy").json["data"]["tooling"]
    assert tooling["python_sdk_install"] == f"pip install {app.config.public_url}{PATH}"
    assert tooling["cli_install"] == tooling["python_sdk_install"]


def test_the_same_files_give_the_same_wheel(archive: zipfile.ZipFile) -> None:
    body = client_wheel.build_wheel().body
    client_wheel.build_wheel.cache_clear()
    assert client_wheel.build_wheel().body == body
    assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_record_of_the_wheel_has_every_file(archive: zipfile.ZipFile) -> None:
    record_name = f"finapi_client-{__version__}.dist-info/RECORD"
    lines = archive.read(record_name).decode().splitlines()
    assert lines[-1] == f"{record_name},,"
    assert [line.partition(",")[0] for line in lines[:-1]] == sorted(set(archive.namelist()) - {record_name})
    for line in lines[:-1]:
        name, digest, size = line.split(",")
        content = archive.read(name)
        encoded_digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert (digest, size) == (f"sha256={encoded_digest}", str(len(content)))


def test_the_wheel_replaces_no_file_of_a_server(archive: zipfile.ZipFile) -> None:
    folders = {name.partition("/")[0] for name in archive.namelist()}
    assert folders == {"finapi_client", "finapi_client.pth", f"finapi_client-{__version__}.dist-info"}
    assert archive.read("finapi_client.pth") == b"finapi_client\n"


def test_the_wheel_has_the_files_of_this_installation(archive: zipfile.ZipFile) -> None:
    for name in archive.namelist():
        folder, _, path = name.partition("/")
        if folder == "finapi_client":
            assert archive.read(name) == (ROOT / path).read_bytes()
    paths = {name.removeprefix("finapi_client/") for name in archive.namelist()}
    client_files = {file.name for file in (ROOT / "finapi/client").iterdir() if file.is_file()}
    assert {"types.pyi", "operations.json", "times.json"} <= client_files
    assert {f"finapi/client/{name}" for name in client_files} <= paths


def test_no_module_that_the_wheel_imports_is_missing(archive: zipfile.ZipFile) -> None:
    paths = {name.removeprefix("finapi_client/") for name in archive.namelist()}
    missing = set()
    for path in sorted(path for path in paths if path.endswith(".py")):
        for module in iter_imported_modules(ast.parse((ROOT / path).read_text("utf-8"))):
            module_path = module.replace(".", "/")
            is_included = f"{module_path}.py" in paths or f"{module_path}/__init__.py" in paths
            if not is_included:
                missing.add((path, module))
    assert missing == SERVER_IMPORTS


def iter_imported_modules(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of finapi that a module imports, except for those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("finapi"):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            submodules = [name for name in names if is_module(name)]
            yield from submodules or [node.module]
        yield from iter_imported_modules(node)


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_extras_of_the_wheel_have_the_ranges_of_the_server(archive: zipfile.ZipFile) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    known_lines = {line.strip() for line in config["options"]["install_requires"].splitlines()}
    for lines in config["options.extras_require"].values():
        known_lines.update(line.strip() for line in lines.splitlines())
    assert set(client_wheel.REQUIREMENTS_BY_EXTRA.values()) <= known_lines
    metadata = BytesParser().parsebytes(archive.read(f"finapi_client-{__version__}.dist-info/METADATA"))
    assert (metadata["Name"], metadata["Version"], metadata["License"]) == ("finapi-client", __version__, "MIT")
    assert metadata["Requires-Python"] == config["options"]["python_requires"]
    assert metadata.get_all("Provides-Extra") == list(client_wheel.REQUIREMENTS_BY_EXTRA)
    requirements = metadata.get_all("Requires-Dist") or []
    assert all("; extra == " in requirement for requirement in requirements)


# A call and the pages of a list, as a user of the installed client writes them.
PROGRAM = """
import sys
from finapi.client import Client
client = Client(sys.argv[1], sys.argv[2])
filings = list(client.rows("get_sec_filings", ticker="AAPL", limit=2))
assert len(filings) > 2, filings
print(client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], period="A")["data"]["rows"][0]["fiscal_year"])
"""


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "FINAPI_"))}
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=120
        )

    with FinapiServer(seed=1) as server:
        url, key = server.url, server.api_key
        command = server.client().get_policy()["data"]["tooling"]["python_sdk_install"]
        words = command.split()
        assert words[:2] == ["pip", "install"]
        installation = run(str(programs / "python"), "-m", "pip", "install", "--no-index", words[2])
        assert installation.returncode == 0, installation.stderr
        result = run(str(programs / "python"), "-c", PROGRAM, url, key)
        assert (result.stderr, result.returncode) == ("", 0)
        assert result.stdout.strip().isdigit()
        finapi = str(programs / "finapi")
        table = run(finapi, "timeseries", "AAPL", "revenue", "-n", "1", "--url", url, "--key", key)
        assert (table.stderr, table.returncode) == ("", 0)
        assert "revenue" in table.stdout.lower()
        watch = run(finapi, "watch", "main-api", "--url", url, "--key", key)
        assert watch.stderr == "finapi: this command needs the package websockets: pip install websockets\n"
    assert run(finapi, "--version").stdout == f"finapi {__version__}\n"
    overview = run(finapi)
    assert overview.returncode == 0
    assert "timeseries" in overview.stdout
    assert "    serve  " not in overview.stdout
    assert run(finapi, "serve").stderr == (
        "finapi: serve is a command of the server, and only the client is installed here\n"
    )
    assert "give the address of a server with --url" in run(finapi, "get", "policy").stderr
    bash = subprocess.run(["bash", "-n"], input=run(finapi, "completion", "bash").stdout, text=True, check=False)
    assert bash.returncode == 0
    # An installed server takes precedence. Its folder is on the search path in the same way after pip install -e.
    (site_packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (site_packages / "__editable__.finapi-0.1.0.pth").write_text(f"{ROOT}\n")
    location = run(str(programs / "python"), "-c", "import finapi.client; print(finapi.client.__file__)")
    assert location.stdout.strip() == str(ROOT / "finapi" / "client" / "__init__.py")
