"""The parser of index documents, which are in the folder of a filing's files and identify the filing.

There are three kinds: documents with an SGML header (``.hdr.sgml``, ``-index-headers.html``), the filing's index page
(``-index.htm``), and the listing of its folder (``index.json`` or HTML).
"""

from __future__ import annotations

import html
import re

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import eastern_time, sgml
from finapi.edgar.identifiers import FilingIdentity, parse_accession, parse_cik, parse_json

MAX_PAGE_BYTES = 4 * 1024 * 1024  # An index page of 10,000 documents is smaller.

_FOLDER = re.compile(r"/?Archives/edgar/data/([0-9]{1,10})/([0-9]{18})/?")
_FOLDER_TITLE = re.compile(rb"(?i)<(?:title|h[1-4])[^<>]*>[^<]*?(/Archives/edgar/data/[0-9]{1,10}/[0-9]{18})")
_JSON_LISTING = re.compile(rb"\{\s*\"directory\"\s*:")

# Labels and values in the text of an index page.
_PAGE_ACCESSION = re.compile(r"SEC Accession No\. ([0-9]{10}-[0-9]{2}-[0-9]{6})(?![0-9])")
_PAGE_FILED = re.compile(r"Filing Date ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_PERIOD = re.compile(r"Period of Report ([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_PAGE_ACCEPTED = re.compile(r"Accepted ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?![0-9])")
_PAGE_FORM = re.compile(r"Form ([A-Z0-9][A-Z0-9 /-]{0,19}?)(?: - |: | SEC Accession)")
_PAGE_CIK = re.compile(r"CIK ?: ([0-9]{1,10})(?![0-9])")


def parse(content: bytes, file: str) -> FilingIdentity | None:
    """Return the metadata of the filing that an index document belongs to, or None if it names no filing.

    A document with an SGML header or an index page has all of the metadata. A folder listing has only the accession
    number and one CIK: its ``last-modified`` is the time of the files, not the filing date. Raise ParseError if such a
    document is broken.
    """
    front = content[: sgml.MAX_PREFACE_BYTES]
    if any(mark in front for mark in sgml.HEADER_STARTS):
        return identity_from_header(sgml.parse_header(content, file))
    text = front.lstrip(b"\xef\xbb\xbf \t\r\n")
    if _JSON_LISTING.match(text):
        directory = parse_json(content, file)["directory"]
        name = directory.get("name") if isinstance(directory, dict) else None
        if not isinstance(name, str):
            raise ParseError(file, "$.directory.name", "no text")
        return _identity_from_folder(name)
    if not text.startswith(b"<"):
        return None
    if title := _FOLDER_TITLE.search(front):
        return _identity_from_folder(title[1].decode("ascii"))
    page = content[:MAX_PAGE_BYTES]
    return _parse_page(page, file) if b"Accession" in page else None


def identity_from_header(header: sgml.SubmissionHeader) -> FilingIdentity:
    """Return the metadata of a filing from its SGML header."""
    return FilingIdentity(
        accession=header.accession,
        ciks=tuple(dict.fromkeys(party.cik for party in header.parties)),
        form=header.form,
        period=header.period,
        filed=header.filed,
        accepted=header.accepted,
    )


def _identity_from_folder(path: str) -> FilingIdentity | None:
    """Return the CIK and the accession number in the path of a filing's folder, or None for another folder."""
    match = _FOLDER.fullmatch(path)
    if match is None or not int(match[1]):
        return None
    accession = parse_accession(match[2])
    return FilingIdentity(accession, (parse_cik(match[1]),)) if accession else None


def _parse_page(page: bytes, file: str) -> FilingIdentity | None:
    """Return the metadata on an index page, or None if it shows no accession number.

    The page has labels and values in separate boxes. Without the tags each label is just before its value.
    """
    text_with_references = re.sub(rb"<[^<>]*>", b" ", page).decode("utf-8", "replace")
    try:
        text = " ".join(html.unescape(text_with_references).split())
    except ValueError:  # A character reference of thousands of digits.
        raise ParseError(file, "", "contains an invalid character reference") from None
    accession = _find(_PAGE_ACCESSION, text)
    if accession is None:
        return None
    period = _find(_PAGE_PERIOD, text)
    filed = _find(_PAGE_FILED, text)
    accepted = _find(_PAGE_ACCEPTED, text)
    try:
        return FilingIdentity(
            accession=accession,
            ciks=tuple(dict.fromkeys(map(parse_cik, _PAGE_CIK.findall(text)))),
            form=_find(_PAGE_FORM, text),
            period=days.validate(period) if period else None,
            filed=days.validate(filed) if filed else None,
            # The page shows US Eastern time without saying so.
            accepted=eastern_time.parse_iso(accepted) if accepted else None,
        )
    except (ValueError, OverflowError) as error:
        raise ParseError(file, "", str(error)) from None


def _find(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None
