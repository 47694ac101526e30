"""What pages load: the stylesheet, the scripts and the icon, each under an address that changes with its content."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

from finapi.core.errors import ApiError
from finapi.core.files import get_package_folder
from finapi.web.http.call import Call
from finapi.web.http.messages import Response, find_matching_etag, has_if_none_match_star
from finapi.web.http.params import path_param

PARAMS = (path_param("name"),)

CONTENT_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

# Under the address that names its content a file never changes; under its bare name it may with the next version.
CACHE_FOREVER, CACHE_ONE_HOUR = "public, max-age=31536000, immutable", "public, max-age=3600"


class StaticFile(NamedTuple):
    """A file and what names its content."""

    data: bytes
    tag: str
    kind: str


@cache
def load_static_files() -> dict[str, StaticFile]:
    """Every static file by its name."""
    found = {}
    for entry in get_package_folder("finapi.web.html").joinpath("static").iterdir():
        kind = CONTENT_TYPES.get(entry.name.rpartition(".")[2])
        if kind is not None:
            data = entry.read_bytes()
            found[entry.name] = StaticFile(data, hashlib.sha256(data).hexdigest()[:16], kind)
    return found


def get_static_url(name: str) -> str:
    """The address of a file as it is now."""
    return f"/static/{name}?v={load_static_files()[name].tag}"


def show_static_file(call: Call) -> Response:
    """A static file, without a name the icon; 304 to whoever has it."""
    found = load_static_files().get(call.params.get("name", "favicon.svg"))
    if found is None:
        raise ApiError("NOT_FOUND", "File not found.")
    named = call.request.query.get("v") == [found.tag]
    kept = CACHE_FOREVER if named else CACHE_ONE_HOUR
    headers = {"Cache-Control": kept, "ETag": f'W/"{found.tag}"', "Vary": "Accept-Encoding"}
    is_held = find_matching_etag(call.request.headers.get("if-none-match", ""), found.tag) is not None
    if is_held or has_if_none_match_star(call.request):
        return Response(304, b"", headers=headers)
    return Response(200, found.data, found.kind, headers)
