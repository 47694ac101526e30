"""The heads of responses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus

from waitress.utilities import build_http_date

Headers = Sequence[tuple[str, str]]


@lru_cache(maxsize=1)
def format_http_date(unix_second: int) -> str:
    """Return a time as the value of a Date header: "Sun, 06 Nov 1994 08:49:37 GMT"."""
    return str(build_http_date(unix_second))


def build_head(status_line: str, headers: Headers, version: str = "1.1") -> bytes:
    """Return the head of a response, with a Date unless the headers have one.

    ``status_line`` is a status and its phrase, as "200 OK". Raise ValueError for a header that contains a line break.
    """
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
    has_date = fields.startswith("Date: ") or "\nDate: " in fields
    date = "" if has_date else f"Date: {format_http_date(int(time.time()))}\r\n"
    head = f"HTTP/{version} {status_line}\r\n{fields}{date}\r\n".encode("latin-1")
    line_count = len(headers) + 3 - has_date
    if not head.count(b"\r") == head.count(b"\n") == line_count:
        raise ValueError("a response header contains a line break")
    return head


def build_last_response(status: int, headers: Headers, body: bytes) -> tuple[bytes, bytes]:
    """Return the head and the body of a response that ends its connection."""
    headers = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    return build_head(f"{status} {HTTPStatus(status).phrase}", headers), body
