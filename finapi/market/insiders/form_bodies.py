"""The stored body of an ownership form: everything that the form states, as compressed JSON."""

from __future__ import annotations

import json
import zlib
from typing import Any

from finapi.edgar.ownership_forms import Owner, OwnershipForm, OwnershipRow


def encode_form(form: OwnershipForm) -> bytes:
    """Return a form as JSON: its fields by name, its rows as lists."""
    # dataclasses.asdict would copy every field and take ten times as long.
    members: dict[str, Any] = {name: getattr(form, name) for name in OwnershipForm.__slots__}
    members["owners"] = [{name: getattr(owner, name) for name in Owner.__slots__} for owner in form.owners]
    return json.dumps(members, separators=(",", ":")).encode()


def decode_form(body: bytes) -> OwnershipForm:
    """Return the form in a stored body, which is compressed JSON of :func:`encode_form`."""
    members = json.loads(zlib.decompress(body))
    members["owners"] = tuple(Owner(**owner) for owner in members["owners"])
    members["rows"] = tuple(_decode_row(row) for row in members["rows"])
    members["footnotes"] = tuple((footnote_id, text) for footnote_id, text in members["footnotes"])
    return OwnershipForm(**members)


def _decode_row(row: list[Any]) -> OwnershipRow:
    footnote_ids = tuple((field, tuple(ids)) for field, ids in row[-1])
    return OwnershipRow._make([*row[:-1], footnote_ids])
