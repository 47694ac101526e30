"""The index documents that lie beside the files of a filing, and what they say of it.

The SGML header, the filing's index page, the listing of its folder.
"""

from __future__ import annotations

import html
import re
from datetime import datetime

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import sgml
from finapi.edgar.identifiers import FilingIdentity, parse_accession, parse_cik, parse_json

_PAGE_LIMIT = 4 * 1024 * 1024  # bytes: an index page of 10,000 documents is below it

_FOLDER = re.compile(r"/?Archives/edgar/data/([0-9]{1,10})/([0-9]{18})/?")
_FOLDER_TITLE = re.compile(rb"(?i)<(?:title|h[1-4])[^<>]*>[^<]*?(/Archives/edgar/data/[0-9]{1,10}/[0-9]{18})")
_LISTING = re.compile(rb"\{\s*\"directory\"\s*:")

_PAGE_ACCESSION = re.compile(r"SEC Accession No\. ([0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])")
_PAGE_FILED = re.compile(r"Filing Date ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_PERIOD = re.compile(r"Period of Report ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_ACCEPTED = re.compile(r"Accepted ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])")
_PAGE_FORM = re.compile(r"Form ([A-Z0-9][A-Z0-9 /-]{0,19}?)(?: - |: | SEC Accession)")
_PAGE_CIK = re.compile(r"CIK ?: ([0-9]{1,10})(?![0-9])")


def parse(data: bytes, file: str) -> FilingIdentity | None:
    """Return what an index document says of its filing, or None for a document that names no filing.

    Read are the filing's index page (``-index.htm``), ``-index-headers.html``, ``.hdr.sgml`` and every other
    document with an SGML header, and the listing of its folder (``index.json`` or HTML). A listing tells the
    accession and one CIK only: its ``last-modified`` is the time of the files, not the filing date. Raises
    ParseError for one of these that is broken.
    """
    front = data[: sgml.MAX_PREFACE_BYTES]
    if any(mark in front for mark in sgml.HEADER_STARTS):
        return identity_from_header(sgml.parse_header(data, file))
    start = front.lstrip(b"\xef\xbb\xbf \t\r\n")
    if _LISTING.match(start):
        directory = parse_json(data, file)["directory"]
        name = directory.get("name") if isinstance(directory, dict) else None
        if not isinstance(name, str):
            raise ParseError(file, "$.directory.name", "no text")
        return _from_folder(name)
    if not start.startswith(b"<"):
        return None
    if folder := _FOLDER_TITLE.search(front):
        return _from_folder(folder[1].decode("ascii"))
    return _from_page(data[:_PAGE_LIMIT], file) if b"Accession" in data[:_PAGE_LIMIT] else None


def identity_from_header(header: sgml.SubmissionHeader) -> FilingIdentity:
    """Return the part of a submission header that identifies the filing."""
    return FilingIdentity(
        accession=header.accession,
        ciks=tuple(dict.fromkeys(party.cik for party in header.parties)),
        form=header.form,
        period=header.period,
        filed=header.filed,
        accepted=header.accepted,
    )


def _from_folder(path: str) -> FilingIdentity | None:
    """The folder of one filing; None for another folder of the archive."""
    found = _FOLDER.fullmatch(path)
    number = parse_accession(found[2]) if found else None
    return FilingIdentity(number, (parse_cik(found[1]),)) if found and number and int(found[1]) else None


def _from_page(page: bytes, file: str) -> FilingIdentity | None:
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
        return FilingIdentity(
            accession=number[1],
            ciks=tuple(dict.fromkeys(parse_cik(found) for found in _PAGE_CIK.findall(text))),
            form=form[1] if form else None,
            period=days.validate(period[1]) if period else None,
            filed=days.validate(filed[1]) if filed else None,
            accepted=sgml.iso_utc(sgml.utc_from_eastern(datetime.fromisoformat(accepted[1]))) if accepted else None,
        )
    except (ValueError, OverflowError) as error:
        raise ParseError(file, "", str(error)) from None
