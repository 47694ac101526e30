"""The wheel of the Python client, built from the files of this installation, so that it always matches the server.

``pip install {base_url}/sdk/finapi_client-1.0.0-py3-none-any.whl`` installs :mod:`finapi.client` and the commands that
need no server. The wheel has the layout of the wheel specification (packaging.python.org, "Binary distribution
format"). The package ``finapi`` is in the folder ``finapi_client``, which a ``.pth`` file appends to the search path of
modules. So no file of an installed server is replaced, and where both are installed the server's package is used.
"""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from finapi import __version__
from finapi.core.errors import ApiError
from finapi.core.files import get_package_folder
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, find_matching_etag, has_if_none_match_star
from finapi.web.http.params import path_param
from finapi.web.http.wheel_url import FILENAME, PROJECT, build_wheel_url

PARAMS = (path_param("filename"),)

CONTENT_TYPE = "application/octet-stream"

# The packages of which all files are included.
PACKAGES = ("finapi.client", "finapi.mcp")
FILE_SUFFIXES = (".py", ".pyi", ".json", ".toml")
# The other files that they, or the commands, use. tests/web/html/test_client_wheel.py checks that none is missing.
FILES = (
    "finapi/__init__.py",
    "finapi/__main__.py",
    "finapi/cli.py",
    "finapi/core/__init__.py",
    "finapi/core/bounds.py",
    "finapi/core/clock.py",
    "finapi/core/config.py",
    "finapi/core/counts.py",
    "finapi/core/errors.py",
    "finapi/core/files.py",
    "finapi/core/installation.py",
    "finapi/core/json.py",
    "finapi/core/lazy.py",
    "finapi/core/logs.py",
    "finapi/core/receipts.py",
    "finapi/core/stopping.py",
    "finapi/core/suggestions.py",
    "finapi/core/temporary.py",
    "finapi/edgar/__init__.py",
    "finapi/edgar/form_families.py",
    "finapi/py.typed",
    "finapi/store/__init__.py",
    "finapi/store/datadir.py",
    "finapi/testing/__init__.py",
    "finapi/testing/conformance.py",
    "finapi/testing/control_client.py",
    "finapi/testing/server.py",
    "finapi/testing/vectors.json",
    "finapi/testing/vectors.py",
    "finapi/verbs/__init__.py",
    "finapi/verbs/api_verbs.py",
    "finapi/verbs/claims_verb.py",
    "finapi/verbs/completion_verb.py",
    "finapi/verbs/conformance_verb.py",
    "finapi/verbs/examples.py",
    "finapi/verbs/mcp_verb.py",
    "finapi/verbs/receipts_verb.py",
    "finapi/verbs/terminal_tables.py",
    "finapi/verbs/verb.py",
    "finapi/verbs/verb_table.py",
    "finapi/verbs/watch_verbs.py",
)

# The packages that parts of the client need. Calls need none.
REQUIREMENTS_BY_EXTRA = {
    "feeds": "websockets>=14,<18",
    "client": "httpx>=0.24",
    "pandas": "pandas>=2",
    "polars": "polars>=1",
}

_METADATA_LINES = (
    "Metadata-Version: 2.1",
    "Name: finapi-client",
    f"Version: {__version__}",
    "Summary: The Python client and the command line of finapi",
    "License: MIT",
    "Requires-Python: >=3.11",
    "Description-Content-Type: text/markdown",
)
_DESCRIPTION = """
The Python client of a finapi server, from that server.

    from finapi.client import Client

    client = Client("http://127.0.0.1:8000", "YOUR_KEY")
    client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"])

The command `finapi --help` lists the calls of the command line.
"""
_WHEEL_FILE = f"Wheel-Version: 1.0\nGenerator: finapi {__version__}\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_ENTRY_POINTS = "[console_scripts]\nfinapi = finapi.__main__:main\n"

_OLDEST_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_FILE_MODE = 0o100644


class ClientWheel(NamedTuple):
    """The bytes of the wheel and the fingerprint of its content."""

    body: bytes
    fingerprint: str


def show_client_wheel(call: Call) -> Response:
    """Return the wheel, or 304 if the caller has it. Raise NOT_FOUND for another version or name."""
    if call.params["filename"] != FILENAME:
        url = build_wheel_url(call.app.config.public_url)
        raise ApiError("NOT_FOUND", f"This server has one file here: {url}", details={"url": url})
    wheel = build_wheel()
    headers = {
        "ETag": f'"{wheel.fingerprint}"',
        # The content of a version changes with the installed files, so that a cache must ask each time.
        "Cache-Control": "public, no-cache",
        "Content-Disposition": f'attachment; filename="{FILENAME}"',
    }
    has_wheel = find_matching_etag(call.request.headers.get("if-none-match", ""), wheel.fingerprint) is not None
    if has_wheel or has_if_none_match_star(call.request):
        return Response(304, b"", headers=headers)
    return Response(200, wheel.body, CONTENT_TYPE, headers, is_compressed=True)


@cache
def build_wheel() -> ClientWheel:
    """Return the wheel. The same installed files give the same bytes."""
    contents = dict(_iter_contents())
    info_folder = f"{PROJECT}-{__version__}.dist-info"
    record_name = f"{info_folder}/RECORD"
    contents |= {
        f"{PROJECT}.pth": f"{PROJECT}\n".encode(),
        f"{info_folder}/METADATA": _render_metadata().encode(),
        f"{info_folder}/WHEEL": _WHEEL_FILE.encode(),
        f"{info_folder}/entry_points.txt": _ENTRY_POINTS.encode(),
    }
    record_lines = [_render_record_line(name, content) for name, content in sorted(contents.items())]
    contents[record_name] = "\n".join([*record_lines, f"{record_name},,", ""]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            member = zipfile.ZipInfo(name, _OLDEST_ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3  # Unix, whose file modes follow.
            member.external_attr = _FILE_MODE << 16
            archive.writestr(member, content)
    body = buffer.getvalue()
    return ClientWheel(body, hashlib.sha256(body).hexdigest()[:32])


def _iter_contents() -> Iterator[tuple[str, bytes]]:
    """Yield the path in the wheel and the content of each file of the package, sorted by path."""
    paths = set(FILES)
    for package in PACKAGES:
        folder_path = package.replace(".", "/")
        names = [entry.name for entry in get_package_folder(package).iterdir()]
        paths.update(f"{folder_path}/{name}" for name in names if name.endswith(FILE_SUFFIXES))
    for path in sorted(paths):
        folder_path, _, name = path.rpartition("/")
        folder = get_package_folder(folder_path.replace("/", "."))
        yield f"{PROJECT}/{path}", (folder / name).read_bytes()


def _render_metadata() -> str:
    lines = list(_METADATA_LINES)
    for extra, requirement in REQUIREMENTS_BY_EXTRA.items():
        lines += [f"Provides-Extra: {extra}", f'Requires-Dist: {requirement}; extra == "{extra}"']
    return "\n".join(lines) + "\n" + _DESCRIPTION


def _render_record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"
