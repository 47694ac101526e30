"""Which filing a document belongs to: accession numbers, CIKs, and the index documents that lie beside files.

An XBRL instance or a bare ownership document names neither its accession number nor its filing date. They
stand in the SGML header, in the filing's index page, partly in the folder's ``index.json``, often in a name.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from finapi.core import days, json
from finapi.core.errors import ParseError
from finapi.edgar import sgml

_PAGE_LIMIT = 4 * 1024 * 1024  # bytes: an index page of 10,000 documents is below it

_ACCESSION = re.compile(r"([0-9]{10})-?([0-9]{2})-?([0-9]{6})")
_ACCESSION_IN_NAME = re.compile(r"(?<![0-9])(?:[0-9]{18}|[0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])")
_FOLDER = re.compile(r"/?Archives/edgar/data/([0-9]{1,10})/([0-9]{18})/?")
_FOLDER_TITLE = re.compile(rb"(?i)<(?:title|h[1-4])[^<>]*>[^<]*?(/Archives/edgar/data/[0-9]{1,10}/[0-9]{18})")
_LISTING = re.compile(rb"\{\s*\"directory\"\s*:")

_PAGE_ACCESSION = re.compile(r"SEC Accession No\. ([0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])")
_PAGE_FILED = re.compile(r"Filing Date ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_PERIOD = re.compile(r"Period of Report ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_ACCEPTED = re.compile(r"Accepted ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])")
_PAGE_FORM = re.compile(r"Form ([A-Z0-9][A-Z0-9 /-]{0,19}?)(?: - |: | SEC Accession)")
_PAGE_CIK = re.compile(r"CIK ?: ([0-9]{1,10})(?![0-9])")


@dataclass(frozen=True, slots=True)
class Identity:
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


def accession(text: str) -> str | None:
    """Return ``000032019325000057`` or ``0000320193-25-000057`` with dashes, None for any other text."""
    found = _ACCESSION.fullmatch(text) if len(text) in (18, 20) else None
    return "-".join(found.groups()) if found else None


def accession_in_name(name: str) -> str | None:
    """Return the one accession number that a file or folder name holds, with dashes, else None.

    Eighteen digits in a longer run are none; a name with two different ones says nothing.
    """
    found = {accession(text) for text in _ACCESSION_IN_NAME.findall(name)}
    return found.pop() if len(found) == 1 else None


def cik(value: str | int) -> str:
    """Return a CIK, given bare or padded, as 10 digits; ValueError for anything else, zero included."""
    text = str(value) if not isinstance(value, bool) else ""
    if not re.fullmatch("[0-9]{1,10}", text) or not int(text):
        raise ValueError(f"{text[:40]!r} is not a CIK")
    return text.zfill(10)


def from_index(data: bytes, file: str) -> Identity | None:
    """Return what an index document says of its filing, or None for a document that names no filing.

    Read are the filing's index page (``-index.htm``), ``-index-headers.html``, ``.hdr.sgml`` and every other
    document with an SGML header, and the listing of its folder (``index.json`` or HTML). A listing tells the
    accession and one CIK only: its ``last-modified`` is the time of the files, not the filing date. Raises
    ParseError for one of these that is broken.
    """
    front = data[: sgml.HEAD_WITHIN]
    if any(mark in front for mark in sgml.STARTS):
        return from_header(sgml.header(data, file))
    start = front.lstrip(b"\xef\xbb\xbf \t\r\n")
    if _LISTING.match(start):
        directory = json_document(data, file)["directory"]
        name = directory.get("name") if isinstance(directory, dict) else None
        if not isinstance(name, str):
            raise ParseError(file, "$.directory.name", "no text")
        return _from_folder(name)
    if not start.startswith(b"<"):
        return None
    if folder := _FOLDER_TITLE.search(front):
        return _from_folder(folder[1].decode("ascii"))
    return _from_page(data[:_PAGE_LIMIT], file) if b"Accession" in data[:_PAGE_LIMIT] else None


def from_header(header: sgml.SubmissionHeader) -> Identity:
    """Return the part of a submission header that identifies the filing."""
    return Identity(
        accession=header.accession,
        ciks=tuple(dict.fromkeys(party.cik for party in header.parties)),
        form=header.form,
        period=header.period,
        filed=header.filed,
        accepted=header.accepted,
    )


def json_document(data: bytes, file: str) -> Any:
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


def _from_folder(path: str) -> Identity | None:
    """The folder of one filing; None for another folder of the archive."""
    found = _FOLDER.fullmatch(path)
    number = accession(found[2]) if found else None
    return Identity(number, (cik(found[1]),)) if found and number and int(found[1]) else None


def _from_page(page: bytes, file: str) -> Identity | None:
    # The page is text in boxes: with the tags gone, each label stands before its value.
    bare = re.sub(rb"<[^<>]*>", b" ", page).decode("utf-8", "replace")
    try:
        text = " ".join(html.unescape(bare).split())
    except ValueError:  # a character reference of thousands of digits
        raise ParseError(file, "", "contains an invalid character reference") from None
    number = _PAGE_ACCESSION.search(text)
    if number is None:
        return None
    # The page shows US Eastern time without saying so.
    filed, period, accepted, form = (
        pattern.search(text) for pattern in (_PAGE_FILED, _PAGE_PERIOD, _PAGE_ACCEPTED, _PAGE_FORM)
    )
    try:
        return Identity(
            accession=number[1],
            ciks=tuple(dict.fromkeys(cik(found) for found in _PAGE_CIK.findall(text))),
            form=form[1] if form else None,
            period=days.checked(period[1]) if period else None,
            filed=days.checked(filed[1]) if filed else None,
            accepted=sgml.iso_utc(sgml.utc_from_eastern(datetime.fromisoformat(accepted[1]))) if accepted else None,
        )
    except (ValueError, OverflowError) as error:
        raise ParseError(file, "", str(error)) from None
