"""The identifiers of filings (accession numbers), companies and persons (CIKs), funds, and items of forms.

An accession number such as ``0000320193-25-000057`` identifies a filing. An XBRL instance or an ownership document
contains neither its accession number nor its filing date. They are in other documents of the same folder (see
:mod:`index_documents`), and often in the name of its file or folder.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from finapi.core import json
from finapi.core.errors import ParseError

_ACCESSION = re.compile(r"([0-9]{10})-?([0-9]{2})-?([0-9]{6})")
_ACCESSION_IN_NAME = r"(?<![0-9])(?:[0-9]{18}|[0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])"
_CIK = re.compile("[0-9]{1,10}")
# The ids of a series of a registrant (a fund) and of a share class of a series.
SERIES_ID = re.compile("S[0-9]{9}")
CLASS_ID = re.compile("C[0-9]{9}")
# The number of an item of Form 8-K, SD or ABS-15G (2.02, before 2004 also 12), or the code of an exemption that a
# Form D claims: a rule of Regulation D (06b, 04.1), or a section of the Securities Act (4a5) or of the Investment
# Company Act (3C.7).
ITEM_NUMBER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2})?|0[4-6][bc]|3C(?:\.[0-9]{1,2})?|4a[0-9]", re.IGNORECASE)


class FilingIdentity(NamedTuple):
    """The metadata of a filing in an index document. Anything that the document leaves out is None or empty.

    ``accession`` has dashes. ``ciks`` are those of all parties, with ten digits, in document order. ``period`` and
    ``filed`` are ISO dates, ``accepted`` is the time of acceptance in UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``.
    """

    accession: str
    ciks: tuple[str, ...]
    form: str | None = None
    period: str | None = None
    filed: str | None = None
    accepted: str | None = None


def parse_accession(text: str) -> str | None:
    """Return ``000032019325000057`` or ``0000320193-25-000057`` with dashes, or None for any other text."""
    match = _ACCESSION.fullmatch(text) if len(text) in (18, 20) else None
    return "-".join(match.groups()) if match else None


def find_accession_in_name(name: str) -> str | None:
    """Return the accession number in a file or folder name, with dashes.

    Return None if there is none or if there are two different ones. Eighteen digits in a longer number do not count.
    """
    accessions = {parse_accession(text) for text in re.findall(_ACCESSION_IN_NAME, name)}
    return accessions.pop() if len(accessions) == 1 else None


def parse_cik(value: str | int) -> str:
    """Return a CIK with ten digits. Raise ValueError for zero and for anything that is not a CIK."""
    text = "" if isinstance(value, bool) else str(value)
    if not _CIK.fullmatch(text) or not int(text):
        raise ValueError(f"{text[:40]!r} is not a CIK")
    return text.zfill(10)


def parse_json(content: bytes, file: str) -> Any:
    """Return the value of a JSON document.

    Raise ParseError if :func:`finapi.core.json.parse` refuses it, or if it contains a NUL character or half of a
    surrogate pair, neither of which can be stored.
    """
    value = json.parse(content.removeprefix(b"\xef\xbb\xbf"), file)
    if b"\\u" in content:
        try:
            json.dumps(value)
        except UnicodeEncodeError:
            raise ParseError(file, "", "contains an unpaired surrogate") from None
        if b"\\u0000" in content:
            raise ParseError(file, "", "contains a NUL character")
    return value
