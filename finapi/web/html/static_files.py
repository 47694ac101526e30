"""Static files of pages: the stylesheet, the scripts and the icon, at URLs that change with their content."""

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

# A URL with the fingerprint of the content never changes; the bare name may change with the next version.
CACHE_FOREVER = "public, max-age=31536000, immutable"
CACHE_ONE_HOUR = "public, max-age=3600"


class StaticFile(NamedTuple):
    """The content of a file, its fingerprint and its content type."""

    body: bytes
    fingerprint: str
    content_type: str


@cache
def load_static_files() -> dict[str, StaticFile]:
    """Return all static files by name."""
    files = {}
    for entry in get_package_folder("finapi.web.html").joinpath("static").iterdir():
        content_type = CONTENT_TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None:
            body = entry.read_bytes()
            fingerprint = hashlib.sha256(body).hexdigest()[:16]
            files[entry.name] = StaticFile(body, fingerprint, content_type)
    return files


def get_static_url(name: str) -> str:
    """Return the URL of a file with the fingerprint of its content."""
    return f"/static/{name}?v={load_static_files()[name].fingerprint}"


def show_static_file(call: Call) -> Response:
    """Return a static file, the icon if the path has no name, or 304 if the client has it. Raise NOT_FOUND."""
    file = load_static_files().get(call.params.get("name", "favicon.svg"))
    if file is None:
        raise ApiError("NOT_FOUND", f"There is no file {call.params['name']} in /static.")
    has_fingerprint = call.request.query.get("v") == [file.fingerprint]
    headers = {
        "Cache-Control": CACHE_FOREVER if has_fingerprint else CACHE_ONE_HOUR,
        "ETag": f'W/"{file.fingerprint}"',
        "Vary": "Accept-Encoding",
    }
    client_etags = call.request.headers.get("if-none-match", "")
    client_has_file = find_matching_etag(client_etags, file.fingerprint) is not None
    if client_has_file or has_if_none_match_star(call.request):
        return Response(304, b"", headers=headers)
    return Response(200, file.body, file.content_type, headers)
