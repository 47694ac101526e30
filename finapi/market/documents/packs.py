"""Packs: compact files of stored documents, for the data that finapi is shipped with.

A pack is a line with the format's version and the family's name, then a zlib stream of JSON lines, one for each
filing::

    [[accession, evidence, form, ...], content, extra]

``content`` is the parsed content of the filing, with the fields of each record in the order of its class. ``extra`` is
anything else that the family needs to store it. Loading a pack has the same effect as ingesting the documents.
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

MAX_UNPACKED_BYTES = 512 * 1024 * 1024  # A pack is embedded data, not an archive.
MAGIC = {b"finapi-pack 2 %b\n" % form.name.encode(): form for form in FAMILIES}

# The fields of the filing in a pack line, in their order.
_FILING_FIELDS = ("accession", "evidence", "form", "filed_at", "accepted_at", "period_of_report", "primary_document")


def dump(tx: Transaction, form: FormFamily) -> bytes:
    """Return every stored document of a family as a pack. The same documents give the same bytes."""
    compressor = zlib.compressobj(9)
    parts = [magic for magic, magic_form in MAGIC.items() if magic_form is form]
    for content, filing, extra in families.load_family(form).iter_pack_rows(tx):
        line = [[getattr(filing, name) for name in _FILING_FIELDS], content, extra]
        text = json.dumps(line, default=_encode_object, ensure_ascii=False, separators=(",", ":"))
        parts.append(compressor.compress(text.encode() + b"\n"))
    parts.append(compressor.flush())
    return b"".join(parts)


def load(app: App, pack: bytes, file: str) -> int:
    """Store the documents of a pack, each in a transaction of its own. Return the number of new documents.

    Raise ParseError naming ``file`` if it is not a pack.
    """
    magic = pack[: pack.find(b"\n") + 1]
    if magic not in MAGIC:
        raise ParseError(file, "", "is not a finapi pack of version 2")
    family = families.load_family(MAGIC[magic])
    decode_content = build_decoder(family.content)
    now = app.clock.now()
    stored_count = 0
    for line_number, line in enumerate(_decompress_lines(pack[len(magic) :], file), 1):
        try:
            filing_values, content, extra = json.loads(line)
            filing = FilingMetadata(**dict(zip(_FILING_FIELDS, filing_values, strict=True)))
            if decode_content:
                content = decode_content(content)
            with app.db.write() as tx:
                if family.store_pack_row:
                    is_new = family.store_pack_row(tx, content, filing, extra, now)
                else:
                    is_new = family.store(tx, content, filing, now)
                if is_new:
                    stored_count += 1
                    for kind in family.arrival_kinds:
                        heartbeats.record_arrival(tx, kind, now)
        except ConstraintError as error:
            raise ParseError(file, f"line {line_number}", f"cannot be stored: {error}") from None
        except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
            reason = f"is not a line of a finapi pack ({type(error).__name__})"
            raise ParseError(file, f"line {line_number}", reason) from None
    with app.db.write() as tx:
        family.finish_ingest(tx, now)
    return stored_count


def encode_record(record: Any) -> str:
    """Return a record as JSON: the list of the values of its fields, in their order. :func:`build_decoder` reads it."""
    return json.dumps(record, default=_encode_object)


def build_decoder(object_type: Any) -> Callable[[Any], Any] | None:
    """Return a function that builds an object of a type from its JSON form, or None if JSON represents it unchanged.

    The types are texts and numbers, in lists, named tuples and dataclasses; bytes are hexadecimal in JSON.
    """
    if object_type is bytes:
        return bytes.fromhex
    origin = get_origin(object_type)
    type_arguments = [type_argument for type_argument in get_args(object_type) if type_argument not in (NoneType, ...)]
    if origin in (Union, UnionType):
        return _build_optional_decoder(build_decoder(type_arguments[0]))
    if origin is not None and issubclass(origin, Sequence):
        return _build_tuple_decoder(build_decoder(type_arguments[0]))
    if is_dataclass(object_type) or hasattr(object_type, "_fields"):
        return _build_record_decoder(object_type)
    return None


def _build_optional_decoder(decode: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    if decode is None:
        return None

    def decode_optional(member: Any) -> Any:
        return None if member is None else decode(member)

    return decode_optional


def _build_tuple_decoder(decode: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if decode is None:
        return tuple

    def decode_tuple(members: Any) -> Any:
        return tuple(map(decode, members))

    return decode_tuple


def _build_record_decoder(object_type: Any) -> Callable[[Any], Any]:
    decoders = [build_decoder(hint) for hint in get_type_hints(object_type).values()]
    if not any(decoders):

        def decode_plain_record(members: Any) -> Any:
            return object_type(*members)

        return decode_plain_record

    def decode_record(members: Any) -> Any:
        return object_type(
            *[decode(member) if decode else member for decode, member in zip(decoders, members, strict=True)]
        )

    return decode_record


def _encode_object(encodable: Any) -> Any:
    """Return the JSON form of bytes or a dataclass."""
    if isinstance(encodable, bytes):
        return encodable.hex()
    return [getattr(encodable, field.name) for field in fields(encodable)]


def _decompress_lines(stream: bytes, file: str) -> list[bytes]:
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(stream, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise ParseError(file, "", f"cannot be unpacked: {error}") from None
    if not decompressor.eof:
        raise ParseError(file, "", "is truncated or unpacks to too much data")
    return text.splitlines()
