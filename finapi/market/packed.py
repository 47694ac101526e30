"""The form of every pack: a line of magic, then a zlib stream of lines of JSON."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from finapi.errors import ParseError

MAX_UNPACKED = 512 * 1024 * 1024  # bytes; a pack is embedded data, not an archive


def pack(magic: bytes, lines: Iterable[str]) -> bytes:
    """The lines as a pack; the same lines make the same bytes."""
    packer = zlib.compressobj(9)
    parts = [magic, *(packer.compress(line.encode() + b"\n") for line in lines)]
    return b"".join([*parts, packer.flush()])


def unpack(magic: bytes, data: bytes, file: str, what: str) -> list[bytes]:
    """The lines of a pack; ParseError when it is none of this kind, ``what``."""
    if not data.startswith(magic):
        raise ParseError(file, "", f"is not a finapi {what} of version 1")
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data[len(magic) :], MAX_UNPACKED)
    except zlib.error as error:
        raise ParseError(file, "", f"cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise ParseError(file, "", "is cut short or unpacks to too much")
    return text.splitlines()
