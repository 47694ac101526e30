"""Packs: stored documents in one compact file of our own, for the data that finapi carries with it.

A line of magic with the family's name, then a zlib stream of JSON lines, a filing each: its metadata, its content (the
values of the family's own types, fields in their order) and what else the family needs. Loading is an ingest.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar.form_families import FAMILIES, FormFamily
from finapi.market.documents import families
from finapi.market.documents.metadata import FilingMetadata
from finapi.store import heartbeats
from finapi.store.db import ConstraintError, Transaction

MAX_UNPACKED = 512 * 1024 * 1024  # bytes; a pack is embedded data, not an archive
MAGIC = {b"finapi-pack 2 %b\n" % form.name.encode(): form for form in FAMILIES}

_FILED = ("accession", "evidence", "form", "filed_at", "accepted_at", "period_of_report", "primary_document")


def dump(tx: Transaction, form: FormFamily) -> bytes:
    """Every stored document of a family as a pack; the same documents make the same bytes."""
    packer = zlib.compressobj(9)
    parts = [next(magic for magic, one in MAGIC.items() if one is form)]
    for content, filed, more in families.load_family(form).iter_pack_rows(tx):
        line = [[getattr(filed, name) for name in _FILED], content, more]
        text = json.dumps(line, default=_plain, ensure_ascii=False, separators=(",", ":"))
        parts.append(packer.compress(text.encode() + b"\n"))
    return b"".join([*parts, packer.flush()])


def load(app: App, data: bytes, file: str) -> int:
    """Store the documents of a pack, each in a transaction of its own; how many were new."""
    magic = data[: data.find(b"\n") + 1]
    if magic not in MAGIC:
        raise ParseError(file, "", "is not a finapi pack of version 2")
    family = families.load_family(MAGIC[magic])
    read = build_reader(family.content)
    now = app.clock.now()
    stored = 0
    for number, line in enumerate(_unpacked(data[len(magic) :], file), 1):
        try:
            filed, content, more = json.loads(line)
            metadata, made = FilingMetadata(**dict(zip(_FILED, filed, strict=True))), read(content) if read else content
            with app.db.write() as tx:
                if (
                    family.store_pack_row(tx, made, metadata, more, now)
                    if family.store_pack_row
                    else family.store(tx, made, metadata, now)
                ):
                    stored += 1
                    for kind in family.arrival_kinds:
                        heartbeats.record_arrival(tx, kind, now)
        except ConstraintError as error:
            raise ParseError(file, f"line {number}", f"cannot be stored: {error}") from None
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            raise ParseError(file, f"line {number}", f"is not a pack line: {type(error).__name__}") from None
    with app.db.write() as tx:
        family.finish_ingest(tx, now)
    return stored


def build_reader(kind: Any) -> Callable[[Any], Any] | None:
    """What makes a value of a type of what JSON holds of it: texts and numbers, in lists, named tuples and dataclasses.

    None for what JSON holds as it is.
    """
    origin, inner = get_origin(kind), [one for one in get_args(kind) if one not in (NoneType, ...)]
    if kind is bytes:
        return bytes.fromhex
    if origin in (Union, UnionType):
        one = build_reader(inner[0])
        return one and (lambda value: None if value is None else one(value))
    if origin is not None and issubclass(origin, Sequence):
        each = build_reader(inner[0])
        return tuple if each is None else lambda values: tuple(map(each, values))
    if not (is_dataclass(kind) or hasattr(kind, "_fields")):
        return None
    readers = [build_reader(hint) for hint in get_type_hints(kind).values()]
    if not any(readers):
        return lambda values: kind(*values)
    return lambda values: kind(*[one(value) if one else value for one, value in zip(readers, values, strict=True)])


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else [getattr(value, one.name) for one in fields(value)]


def _unpacked(data: bytes, file: str) -> list[bytes]:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, MAX_UNPACKED)
    except zlib.error as error:
        raise ParseError(file, "", f"cannot be unpacked: {error}") from None
    if not unpacker.eof:
        raise ParseError(file, "", "is truncated or unpacks to too much data")
    return text.splitlines()
