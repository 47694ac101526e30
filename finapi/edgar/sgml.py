"""The parser of full submissions: an SGML header, and the documents between ``<DOCUMENT>`` tags, in one file.

The header comes in two dialects. A ``.txt`` file has ``KEY: value`` lines inside of ``<SEC-HEADER>`` (or
``<IMS-HEADER>``, and before 2001 within a PEM wrapper)::

    ACCESSION NUMBER:               0000320193-25-000057
    CONFORMED SUBMISSION TYPE:      10-Q
    FILER:
        COMPANY DATA:
            COMPANY CONFORMED NAME: Apple Inc.
            CENTRAL INDEX KEY:      0000320193

A ``.nc`` or ``.hdr.sgml`` file and the comment of ``-index-headers.html`` have tags::

    <ACCESSION-NUMBER>0000320193-25-000057
    <TYPE>10-Q
    <FILER>
    <COMPANY-DATA>
    <CONFORMED-NAME>Apple Inc.
    <CIK>0000320193

The parser goes through the lines and ignores their indentation. A key without a value is a heading, and the last
heading before ``COMPANY DATA`` or ``OWNER DATA`` is the role of the party that follows. One table of keys serves both
dialects. Lines end in LF, in CR LF or, in ``.nc`` files, in CR alone. Source: EDGAR Public Dissemination Service
technical specification, and real files.
"""

from __future__ import annotations

import binascii
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import eastern_time, identifiers

MAX_PREFACE_BYTES = 64 * 1024  # The header begins within this. A PEM wrapper takes 600 bytes.
MAX_HEADER_BYTES = 4 * 1024 * 1024  # The header of a fund family with thousands of share classes has less than 1 MB.
MAX_ATTACHMENT_BYTES = 128 * 1024 * 1024  # One decoded attachment.

HEADER_STARTS = (b"<SEC-HEADER>", b"<IMS-HEADER>", b"<SUBMISSION>", b"&lt;SEC-HEADER&gt;")
_HEADER_END = re.compile(rb"(?:<|&lt;)(?:/SEC-HEADER|/IMS-HEADER|/SUBMISSION|DOCUMENT)(?:>|&gt;)")
_ENVELOPES = (b"<SEC-DOCUMENT>", b"<IMS-DOCUMENT>", b"<SUBMISSION>")
_DOCUMENT_END = re.compile(rb"</TEXT>\s*</DOCUMENT>")
_WRAPPER = re.compile(rb"\s*<(XML|XBRL|PDF)>")
_UUENCODED_START = re.compile(rb"\s*begin [0-7]{3,4} [^\r\n]*[\r\n]")
_UUENCODED_LINE = re.compile(rb"[^\r\n]+")

# Keys of both dialects, with hyphens instead of spaces.
_FILING_KEYS = {
    "ACCESSION-NUMBER": "accession",
    "CONFORMED-SUBMISSION-TYPE": "form",
    "TYPE": "form",
    "CONFORMED-PERIOD-OF-REPORT": "period",
    "PERIOD": "period",
    "FILED-AS-OF-DATE": "filed",
    "FILING-DATE": "filed",
    "ACCEPTANCE-DATETIME": "accepted",
    "PUBLIC-DOCUMENT-COUNT": "document_count",
}
_PARTY_KEYS = {
    "COMPANY-CONFORMED-NAME": "name",
    "CONFORMED-NAME": "name",
    "CENTRAL-INDEX-KEY": "cik",
    "CIK": "cik",
    "STANDARD-INDUSTRIAL-CLASSIFICATION": "sic",
    "ASSIGNED-SIC": "sic",
    "STATE-OF-INCORPORATION": "state",
    "FISCAL-YEAR-END": "fiscal_year_end",
    "FORM-TYPE": "form",
    "SEC-FILE-NUMBER": "file_number",
    "FILE-NUMBER": "file_number",
}
_PARTY_STARTS = {"COMPANY-DATA", "OWNER-DATA"}
_ITEM_KEYS = {"ITEM-INFORMATION", "ITEMS"}
_FORMER_NAME_KEY = "FORMER-CONFORMED-NAME"
_NAME_CHANGE_KEYS = {"DATE-OF-NAME-CHANGE", "DATE-CHANGED"}
# Series of funds and their share classes, which both dialects write with tags.
_SERIES_OWNER_KEY = "OWNER-CIK"
_SERIES_ID_KEY = "SERIES-ID"
_SERIES_NAME_KEY = "SERIES-NAME"
_CLASS_ID_KEY = "CLASS-CONTRACT-ID"
_CLASS_KEYS = {"CLASS-CONTRACT-NAME": "name", "CLASS-CONTRACT-TICKER-SYMBOL": "ticker"}
_SERIES_KEYS = {_SERIES_OWNER_KEY, _SERIES_ID_KEY, _SERIES_NAME_KEY, _CLASS_ID_KEY, *_CLASS_KEYS}

_TAG_LINE = re.compile(r"<([A-Z][A-Z0-9-]*)>(.*)")
_KEY_LINE = re.compile(r"([A-Z][A-Z0-9 ./-]*):\s*(.*)")
_LINE_END = re.compile(r"\r\n?|\n")  # splitlines() would also split at \x85, which occurs in Latin-1 text.
_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")
_SIC = re.compile(r"\[([0-9]{3,4})\]$|^([0-9]{3,4})$")
_MONTH_DAY = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")

# Headers with "KEY: value" lines have the captions of 8-K items, headers with tags their numbers. A caption is
# identified by its first letters, because the SEC has changed the endings of some. Source: Form 8-K, renumbered from
# 2004-08-23.
_RENUMBERING_DAY = "2004-08-23"
_ITEM_CAPTIONS = """
    1.01 entryintoamaterial  1.02 terminationofamaterial  1.03 bankruptcyorreceivership  1.04 minesafety
    1.05 materialcybersecurity  2.01 completionofacquisition  2.02 resultsofoperations
    2.03 creationofadirect  2.04 triggeringevents  2.05 costassociatedwithexit  2.05 costsassociatedwithexit
    2.06 materialimpairment  3.01 noticeofdelisting  3.02 unregisteredsale  3.03 materialmodification
    4.01 changesinregistrantscertifyingaccountant  4.02 nonrelianceonpreviously
    5.01 changesincontrolofregistrant  5.02 departureofdirectors  5.03 amendmentstoarticles
    5.04 temporarysuspensionoftrading  5.05 amendmentstotheregistrantscodeofethics
    5.06 changeinshellcompany  5.07 submissionofmatters  5.08 shareholdernomination
    5.08 shareholderdirectornomination  6.01 absinformational  6.02 changeofservicer
    6.03 changeincreditenhancement  6.04 failuretomakearequired  6.05 securitiesactupdating
    7.01 regulationfd  8.01 otherevents  9.01 financialstatementsandexhibits
"""
_ITEM_CAPTIONS_BEFORE_2004 = """
    1 changesincontrolofregistrant  2 acquisitionordisposition  3 bankruptcyorreceivership
    4 changesinregistrantscertifyingaccountant  5 otherevents  6 resignationsofregistrantsdirectors
    7 financialstatementsandexhibits  8 changeinfiscalyear  9 regulationfd
    10 amendmentstotheregistrantscodeofethics  11 temporarysuspensionoftrading  12 resultsofoperations
"""

# Captions of other forms with items. The longer of two captions with the same beginning comes first.
_FORM_CAPTIONS = {
    "SD": """
        1.01 conflictminerals  2.01 resourceextraction  2.01 disclosureofpaymentsbyresource  3.01 exhibits  1.02 exhibit
    """,
    "ABS-15G": """
        1.01 initialfilingofrule15ga1  1.02 periodicfilingofrule15ga1  1.03 noticeofterminationofduty
        2.01 findingsandconclusionsofathirdpartyduediligencereportobtainedbytheissuer
        2.02 findingsandconclusionsofathirdpartyduediligencereportobtainedbytheunderwriter
    """,
}


@dataclass(frozen=True, slots=True)
class HeaderFormerName:
    """A former name of a party. ``changed_on`` is the ISO date of the change, or None if it is missing or invalid."""

    name: str
    changed_on: str | None


@dataclass(frozen=True, slots=True)
class HeaderParty:
    """A company or person of a submission. A combined filing lists a company once for each ``form``.

    ``role`` is filer, subject, filed_by, reporting_owner or issuer, or another word of the header in that style
    (filed_for, depositor, ...). ``cik`` has ten digits, ``sic`` four ("0000" becomes None). ``fiscal_year_end`` is
    MMDD, or None if it is missing or not a day of a year.
    """

    role: str
    cik: str
    name: str
    sic: str | None
    state: str | None
    fiscal_year_end: str | None
    form: str | None
    file_number: str | None
    former_names: tuple[HeaderFormerName, ...]


@dataclass(frozen=True, slots=True)
class HeaderClass:
    """A share class of a fund, or an insurance contract, with its id (C and nine digits)."""

    class_id: str
    name: str | None
    ticker: str | None


@dataclass(frozen=True, slots=True)
class HeaderSeries:
    """A series of a registrant, which investors call a fund, with its id (S and nine digits) and its share classes.

    ``owner_cik`` is the registrant's CIK with ten digits.
    """

    series_id: str
    owner_cik: str
    name: str | None
    classes: tuple[HeaderClass, ...]


@dataclass(frozen=True, slots=True)
class SubmissionHeader:
    """The metadata of a submission.

    ``accession`` has dashes. ``period`` and ``filed`` are ISO dates, and some forms have no period. ``accepted`` is in
    UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``, and None before about 2002 and in ``.nc`` files. ``document_count`` is the
    number that the header declares. ``items`` are the item numbers of an 8-K, "2.02" or before August 2004 "12"; an
    unknown caption is unchanged. ``series`` are the funds that the filing is about, with their share classes.
    """

    accession: str
    form: str
    period: str | None
    filed: str
    accepted: str | None
    document_count: int | None
    items: tuple[str, ...]
    parties: tuple[HeaderParty, ...]
    series: tuple[HeaderSeries, ...]


@dataclass(frozen=True, slots=True)
class SubmissionDocument:
    """A document of a submission, with the type, position and name that the filer declared.

    ``filename`` is None before about 2001. It must not be used as a path. ``body`` is the content of ``<TEXT>`` without
    the ``<XML>``, ``<XBRL>`` or ``<PDF>`` wrapper, uuencoded attachments decoded. If it cannot be decoded, ``body`` is
    empty and ``error`` says why.
    """

    type: str
    sequence: int | None
    filename: str | None
    description: str | None
    body: bytes
    error: ParseError | None = None


@dataclass(slots=True)
class _PartyTexts:
    """The texts of a party. ``former_names`` are pairs of a name and the day of its change, or ""."""

    role: str
    texts: dict[str, str] = field(default_factory=dict)
    former_names: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _SeriesTexts:
    """The texts of a series, and those of each of its classes."""

    series_id: str
    owner_cik: str
    name: str = ""
    classes: list[dict[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _HeaderTexts:
    """The texts of a header, not yet validated. ``heading`` is the last key without a value."""

    filing: dict[str, str] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    parties: list[_PartyTexts] = field(default_factory=list)
    series: list[_SeriesTexts] = field(default_factory=list)
    series_owner: str = ""
    heading: str = ""


def parse_header(content: bytes, file: str) -> SubmissionHeader:
    """Return the header of a submission (``.txt``, ``.nc``), a ``.hdr.sgml`` or an ``-index-headers.html``.

    Raise ParseError if there is no header or no end of it, if the accession number, the form, the filing date or the
    CIK or name of a party is missing, or if a date is not valid.
    """
    texts = _HeaderTexts()
    for line in _LINE_END.split(_extract_header(content, file)):
        _read_line(line.strip(), texts)
    filing = texts.filing
    accession = _get_required(filing, "accession", file)
    if not _ACCESSION.fullmatch(accession):
        raise ParseError(file, "ACCESSION NUMBER", f"{accession[:40]!r} is not an accession number")
    filed = _parse_day(_get_required(filing, "filed", file), file, "FILED AS OF DATE")
    form = _get_required(filing, "form", file)
    document_count = filing.get("document_count", "")
    return SubmissionHeader(
        accession=accession,
        form=form,
        period=_parse_day(filing["period"], file, "PERIOD OF REPORT") if filing.get("period") else None,
        filed=filed,
        accepted=_parse_acceptance_time(filing["accepted"], file) if filing.get("accepted") else None,
        document_count=int(document_count) if re.fullmatch("[0-9]{1,6}", document_count) else None,
        items=tuple(dict.fromkeys(_parse_item(text, form, filed) for text in texts.items)),
        parties=tuple(_build_party(party, file) for party in texts.parties),
        series=tuple(_build_series(series) for series in texts.series if _is_valid_series(series)),
    )


def iter_documents(content: bytes, file: str) -> Iterator[SubmissionDocument]:
    """Yield the documents of a full submission in order. Each is decoded only when it is reached.

    A document that cannot be decoded has an error instead of a body. Raise ParseError when a document is cut off, and
    at the end if the envelope is not closed: then the file was cut off between two documents.
    """
    start = content.find(b"<DOCUMENT>")
    preface = content[: min(MAX_PREFACE_BYTES, len(content) if start < 0 else start)]
    if not any(mark in preface for mark in (*HEADER_STARTS, *_ENVELOPES)):
        raise ParseError(file, "", "not an EDGAR submission: no SGML header before the first document")
    number = 0
    end = 0
    while start >= 0:
        number += 1
        document, end = _parse_document(content, start, file, f"document {number}")
        yield document
        start = content.find(b"<DOCUMENT>", end)
    _check_envelope(content, preface, end, file, f"after document {number}")


def parse_complete_header(content: bytes, file: str) -> SubmissionHeader:
    """Return the header of a submission that was received completely. The documents are not parsed.

    Raise ParseError if the submission is cut off, and as :func:`parse_header` does.
    """
    header = parse_header(content, file)
    _check_envelope(content, content[:MAX_PREFACE_BYTES], 0, file, "end")
    return header


def _check_envelope(content: bytes, preface: bytes, position: int, file: str, place: str) -> None:
    """Raise ParseError if a tag around the submission is not closed after ``position``."""
    for opening in _ENVELOPES:
        closing = opening.replace(b"<", b"</")
        if opening in preface and content.find(closing, position) < 0:
            raise ParseError(file, place, f"cut off: no {closing.decode()}")


# ---- the header


def _extract_header(content: bytes, file: str) -> str:
    front = content[:MAX_PREFACE_BYTES]
    mark = next((mark for mark in HEADER_STARTS if mark in front), None)
    if mark is None:
        raise ParseError(file, "", "no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>")
    start = front.index(mark) + len(mark)
    end = _HEADER_END.search(content, start, start + MAX_HEADER_BYTES)
    if end is None:
        raise ParseError(file, "header", "cut off: it has no end")
    header = content[start : end.start()]
    if b"\0" in header:
        raise ParseError(file, "header", "contains a NUL byte")
    try:
        text = header.decode("utf-8")
    except UnicodeDecodeError:
        text = header.decode("latin-1")  # Names with accents in files of the 1990s.
    try:
        return html.unescape(text) if mark.startswith(b"&") else text
    except ValueError:  # A character reference of thousands of digits.
        raise ParseError(file, "header", "contains an invalid character reference") from None


def _read_line(line: str, texts: _HeaderTexts) -> None:
    if match := _TAG_LINE.match(line):
        _add_text(match[1], match[2].strip(), texts)
    elif match := _KEY_LINE.match(line):
        _add_text(match[1].strip().replace(" ", "-"), match[2].strip(), texts)


def _add_text(key: str, text: str, texts: _HeaderTexts) -> None:
    party = texts.parties[-1] if texts.parties else None
    if key in _PARTY_STARTS:
        texts.parties.append(_PartyTexts(role=texts.heading))
    elif not text:
        texts.heading = key
    elif key in _ITEM_KEYS:
        texts.items.append(text)
    elif key in _FILING_KEYS:
        texts.filing.setdefault(_FILING_KEYS[key], text)
    elif key in _SERIES_KEYS:
        _add_series_text(key, text, texts)
    elif party is None:
        return
    elif key in _PARTY_KEYS:
        party.texts.setdefault(_PARTY_KEYS[key], text)
    elif key == _FORMER_NAME_KEY:
        party.former_names.append((text, ""))
    elif key in _NAME_CHANGE_KEYS and party.former_names:
        name, _ = party.former_names[-1]
        party.former_names[-1] = (name, text)


def _add_series_text(key: str, text: str, texts: _HeaderTexts) -> None:
    """Add a text about a series or a class. An owner comes before the ids of its series, an id before its texts."""
    if key == _SERIES_OWNER_KEY:
        texts.series_owner = text
    elif key == _SERIES_ID_KEY:
        texts.series.append(_SeriesTexts(text, texts.series_owner))
    elif not texts.series:
        return
    elif key == _SERIES_NAME_KEY:
        texts.series[-1].name = text
    elif key == _CLASS_ID_KEY:
        texts.series[-1].classes.append({"id": text})
    elif texts.series[-1].classes:
        texts.series[-1].classes[-1].setdefault(_CLASS_KEYS[key], text)


def _is_valid_series(series: _SeriesTexts) -> bool:
    return bool(identifiers.SERIES_ID.fullmatch(series.series_id) and re.fullmatch("[0-9]{1,10}", series.owner_cik))


def _build_series(series: _SeriesTexts) -> HeaderSeries:
    classes = [texts for texts in series.classes if identifiers.CLASS_ID.fullmatch(texts["id"])]
    return HeaderSeries(
        series_id=series.series_id,
        owner_cik=series.owner_cik.zfill(10),
        name=series.name or None,
        classes=tuple(HeaderClass(texts["id"], texts.get("name"), texts.get("ticker")) for texts in classes),
    )


def _get_required(texts: dict[str, str], key: str, file: str) -> str:
    if not texts.get(key):
        raise ParseError(file, "header", f"has no {key}")
    return texts[key]


def _build_party(party: _PartyTexts, file: str) -> HeaderParty:
    texts = party.texts
    cik = texts.get("cik", "")
    if not re.fullmatch("[0-9]{1,10}", cik):
        raise ParseError(file, party.role or "header", f"{cik[:40]!r} is not a CIK")
    year_end = texts.get("fiscal_year_end", "")
    role = "subject" if party.role == "SUBJECT-COMPANY" else party.role.lower().replace("-", "_")
    return HeaderParty(
        role=role,
        cik=cik.zfill(10),
        name=_get_required(texts, "name", file),
        sic=_parse_sic(texts.get("sic", "")),
        state=texts.get("state"),
        fiscal_year_end=year_end if _MONTH_DAY.fullmatch(year_end) else None,
        form=texts.get("form"),
        file_number=texts.get("file_number"),
        former_names=tuple(HeaderFormerName(name, _parse_day_or_none(day)) for name, day in party.former_names),
    )


def _parse_sic(text: str) -> str | None:
    """Return the four digits of ``ELECTRONIC COMPUTERS [3571]`` or ``3571``, or None without a code."""
    match = _SIC.search(text)
    code = (match[1] or match[2]).zfill(4) if match else "0000"
    return None if code == "0000" else code


def _parse_item(text: str, form: str, filed: str) -> str:
    """Return the number of an item, given as a number or as a caption. Return an unknown caption unchanged."""
    if identifiers.ITEM_NUMBER.fullmatch(text):
        return text
    root_form = form.removesuffix("/A")
    if root_form == "D":
        return _parse_exemption(text)
    caption = re.sub("[^a-z0-9]" if root_form in _FORM_CAPTIONS else "[^a-z]", "", text.lower())
    captions = _ITEM_CAPTIONS_BEFORE_2004 if filed < _RENUMBERING_DAY else _ITEM_CAPTIONS
    for number, start in _list_captions(_FORM_CAPTIONS.get(root_form, captions)):
        if caption.startswith(start):
            return number
    return text


def _parse_exemption(text: str) -> str:
    """Return the code of an exemption that a Form D claims: "06b" of "Rule 506(b)", "3C.7" of "Section 3(c)(7)"."""
    caption = re.sub(r"[^a-z0-9]", "", text.lower())
    if match := re.search(r"rule50([456])(b|c)?", caption):
        return f"0{match[1]}{match[2] or ''}"
    if match := re.search(r"section3c([0-9]{0,2})", caption):
        return f"3C.{match[1]}" if match[1] else "3C"
    return text


@lru_cache(maxsize=4)
def _list_captions(captions: str) -> list[tuple[str, str]]:
    return re.findall(r"([0-9.]+) ([a-z0-9]+)", captions)


def _parse_day_or_none(text: str) -> str | None:
    try:
        return days.from_digits(text)
    except ValueError:
        return None


def _parse_day(text: str, file: str, place: str) -> str:
    try:
        return days.from_digits(text)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None


def _parse_acceptance_time(text: str, file: str) -> str:
    try:
        if not re.fullmatch("[0-9]{14}", text):
            raise ValueError(text)
        return eastern_time.format_utc(eastern_time.to_utc(datetime.strptime(text, "%Y%m%d%H%M%S")))
    except (ValueError, OverflowError):
        raise ParseError(file, "ACCEPTANCE-DATETIME", f"{text[:40]!r} is not a time YYYYMMDDHHMMSS") from None


# ---- documents


def _parse_document(content: bytes, start: int, file: str, place: str) -> tuple[SubmissionDocument, int]:
    """Return the document that begins at ``start``, and the offset after it."""
    text_start = content.find(b"<TEXT>", start, start + MAX_PREFACE_BYTES)
    end = _DOCUMENT_END.search(content, text_start) if text_start >= 0 else None
    if end is None or content.find(b"</DOCUMENT>", start, text_start) >= 0:
        raise ParseError(file, place, "cut off: no <TEXT> or no </TEXT></DOCUMENT>")
    tags: dict[str, str] = {}
    for line in _LINE_END.split(content[start:text_start].decode("latin-1")):
        if match := _TAG_LINE.match(line.strip()):
            tags.setdefault(match[1], match[2].strip())
    sequence = tags.get("SEQUENCE", "")
    body = b""
    body_error = None
    try:
        body = _decode_body(content[text_start + len(b"<TEXT>") : end.start()], file, place)
    except ParseError as error:
        body_error = error
    document = SubmissionDocument(
        type=_get_required(tags, "TYPE", file),
        sequence=int(sequence) if re.fullmatch("[0-9]{1,6}", sequence) else None,
        filename=tags.get("FILENAME") or None,
        description=tags.get("DESCRIPTION") or None,
        body=body,
        error=body_error,
    )
    return document, end.end()


def _decode_body(text: bytes, file: str, place: str) -> bytes:
    wrapper = _WRAPPER.match(text)
    if wrapper:
        content = text[wrapper.end() :].rstrip()
        closing = b"</" + wrapper[1] + b">"
        if not content.endswith(closing):
            raise ParseError(file, place, f"no {closing.decode()}")
        text = content[: -len(closing)].lstrip()
    else:
        text = text.removeprefix(b"\r").removeprefix(b"\n")
    if _UUENCODED_START.match(text):
        return _decode_uuencoded(text, file, place)
    return text.removesuffix(b"\n").removesuffix(b"\r")


def _decode_uuencoded(text: bytes, file: str, place: str) -> bytes:
    content = bytearray()
    lines = (match[0] for match in _UUENCODED_LINE.finditer(text.lstrip()))
    next(lines)  # The line "begin 644 name".
    for number, line in enumerate(lines, 2):
        if line.rstrip() == b"end":
            return bytes(content)
        # Encoders of the 1990s add a checksum character to each line, which a2b_uu would refuse. The first character
        # of a line is its number of bytes.
        encoded_length = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            content += binascii.a2b_uu(line[:encoded_length])
        except binascii.Error as error:
            raise ParseError(file, place, f"uuencoded line {number}: {error}") from None
        if len(content) > MAX_ATTACHMENT_BYTES:
            raise ParseError(file, place, f"attachment of more than {MAX_ATTACHMENT_BYTES} bytes")
    raise ParseError(file, place, "the uuencoded attachment has no end")
