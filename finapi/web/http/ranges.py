"""Byte ranges of a file: the headers ``Range`` and ``If-Range`` (RFC 9110, 13.1.5 and 14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from finapi.core.errors import ApiError

# One range. A request with several gets the complete file, as RFC 9110, 14.2 permits.
_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)


class ByteRange(NamedTuple):
    """The positions of the first and the last byte of a range."""

    first: int
    last: int

    @property
    def byte_count(self) -> int:
        """Return the number of bytes."""
        return self.last - self.first + 1


def find_range(headers: Mapping[str, str], size: int, etag: str) -> ByteRange | None:
    """Return the range of a file that a GET requests, or None for the complete file.

    ``headers`` have lower-case names, and ``etag`` is the file's strong ETag with its quotes. The file is complete if
    the header is missing or malformed, or if ``If-Range`` names another version. Raise RANGE_NOT_SATISFIABLE (416) if
    the range begins behind the end.
    """
    match = _RANGE.fullmatch(headers.get("range", ""))
    if match is None or match.groups() == ("", "") or headers.get("if-range", etag).strip() != etag:
        return None
    first_text, last_text = match.groups()
    if not first_text:  # The last bytes, ``bytes=-500``.
        byte_count = int(last_text)
        first, last = max(size - byte_count, 0), size - 1
        is_satisfiable = byte_count > 0 and size > 0
    else:
        first = int(first_text)
        last = min(int(last_text), size - 1) if last_text else size - 1
        if last_text and int(last_text) < first:
            return None
        is_satisfiable = first < size
    if not is_satisfiable:
        message = f"The file has {size} bytes; the range begins behind its end."
        error_headers = {"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"}
        raise ApiError("RANGE_NOT_SATISFIABLE", message, details={"size": size}, headers=error_headers)
    return ByteRange(first, last)
