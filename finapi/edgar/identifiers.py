"""Which filing a document belongs to: accession numbers and CIKs.

An XBRL instance or a bare ownership document names neither its accession number nor its filing date. They
stand in what lies beside it (``filing_index``), often in a name.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from finapi.core import json
from finapi.core.errors import ParseError

_ACCESSION = re.compile(r"([0-9]{10})-?([0-9]{2})-?([0-9]{6})")
_ACCESSION_IN_NAME = r"(?<![0-9])(?:[0-9]{18}|[0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])"


class FilingIdentity(NamedTuple):
    """What an index document says of the filing beside it; what it does not say is None or empty.

    ``accession`` with dashes; ``ciks`` of all its parties, 10 digits, in the document's order; ``period`` and
    ``filed`` ISO dates; ``accepted`` in UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``.
    """

    accession: str
    ciks: tuple[str, ...]
    form: str | None = None
    period: str | None = None
    filed: str | None = None
    accepted: str | None = None


def parse_accession(text: str) -> str | None:
    """Return ``000032019325000057`` or ``0000320193-25-000057`` with dashes, None for any other text."""
    found = _ACCESSION.fullmatch(text) if len(text) in (18, 20) else None
    return "-".join(found.groups()) if found else None


def find_accession_in_name(name: str) -> str | None:
    """Return the one accession number that a file or folder name holds, with dashes, else None.

    Eighteen digits in a longer run are none; a name with two different ones says nothing.
    """
    found = {parse_accession(text) for text in re.findall(_ACCESSION_IN_NAME, name)}
    return found.pop() if len(found) == 1 else None


def parse_cik(value: str | int) -> str:
    """Return a CIK, given bare or padded, as 10 digits; ValueError for anything else, zero included."""
    text = str(value) if not isinstance(value, bool) else ""
    if not re.fullmatch("[0-9]{1,10}", text) or not int(text):
        raise ValueError(f"{text[:40]!r} is not a CIK")
    return text.zfill(10)


def parse_json(data: bytes, file: str) -> Any:
    """Return the value of a JSON document.

    Raises ParseError for what :func:`finapi.core.json.parse` refuses, and for what is unfit to store: NUL characters
    and halves of surrogate pairs.
    """
    value = json.parse(data.removeprefix(b"\xef\xbb\xbf"), file)
    if b"\\u" in data:
        try:
            json.dumps(value)
        except UnicodeEncodeError:
            raise ParseError(file, "", "contains an unpaired surrogate") from None
        if b"\\u0000" in data:
            raise ParseError(file, "", "contains a NUL character")
    return value
