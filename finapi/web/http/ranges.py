"""Byte ranges of a file: the headers ``Range`` and ``If-Range`` (RFC 9110, 13.1.5 and 14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from finapi.core.errors import ApiError

# One range. A request with several gets the complete file, as RFC 9110, 14.2 permits.
_RANGE = re.compile(r"bytes=[ \t]*([0-9]*)-([0-9]*)[ \t]*", re.IGNORECASE)
# Larger than any file. A position of more digits, without leading zeros, is taken for this one.
_MAX_POSITION = 10**18


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
        byte_count = _parse_position(last_text)
        first, last = max(size - byte_count, 0), size - 1
        is_satisfiable = byte_count > 0 and size > 0
    else:
        first = _parse_position(first_text)
        last = min(_parse_position(last_text), size - 1) if last_text else size - 1
        if last_text and _parse_position(last_text) < first:
            return None
        is_satisfiable = first < size
    if not is_satisfiable:
        message = f"The file has {size} bytes; the range begins behind its end."
        error_headers = {"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"}
        raise ApiError("RANGE_NOT_SATISFIABLE", message, details={"size": size}, headers=error_headers)
    return ByteRange(first, last)


def _parse_position(digits: str) -> int:
    significant_digits = digits.lstrip("0")
    return int(significant_digits or "0") if len(significant_digits) <= 18 else _MAX_POSITION
