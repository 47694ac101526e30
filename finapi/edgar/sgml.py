"""EDGAR submissions as one file: the SGML header and the documents between ``<DOCUMENT>`` tags.

The same header comes in two dialects: ``KEY:  value`` lines (``.txt``, inside ``<SEC-HEADER>`` or
``<IMS-HEADER>``, before 2001 in a PEM wrapper) and ``<KEY>value`` lines (``.nc``, ``.hdr.sgml``, the comment
of ``-index-headers.html``). Lines end in LF, CR LF or, in ``.nc`` files, CR alone. One loop over the names
below reads both. Source: EDGAR Public Dissemination Service technical specification, and the files.
"""

from __future__ import annotations

import binascii
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import repeat

from finapi.core import days
from finapi.core.errors import ParseError

MAX_PREFACE_BYTES = 64 * 1024  # bytes: the header starts this near the front (a PEM wrapper takes 600)
_HEADER_LIMIT = 4 * 1024 * 1024  # bytes: a fund family with thousands of classes stays below one million
_BINARY_LIMIT = 128 * 1024 * 1024  # bytes: one decoded attachment

# Of New York to UTC.
_SUMMER, _WINTER = timedelta(hours=4), timedelta(hours=5)

HEADER_STARTS = (b"<SEC-HEADER>", b"<IMS-HEADER>", b"<SUBMISSION>", b"&lt;SEC-HEADER&gt;")
_ENDS = re.compile(rb"(?:<|&lt;)(?:/SEC-HEADER|/IMS-HEADER|/SUBMISSION|DOCUMENT)(?:>|&gt;)")
_ENVELOPES = (b"<SEC-DOCUMENT>", b"<IMS-DOCUMENT>", b"<SUBMISSION>")
_DOCUMENT_END = re.compile(rb"</TEXT>\s*</DOCUMENT>")
_WRAPPER = re.compile(rb"\s*<(XML|XBRL|PDF)>")
_UU_LINE = re.compile(rb"[^\r\n]+")
_UUENCODED = re.compile(rb"\s*begin [0-7]{3,4} [^\r\n]*[\r\n]")

# Names of both dialects, spaces written as hyphens.
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

_TAG = re.compile(r"<([A-Z][A-Z0-9-]*)>(.*)")
_LINE = re.compile(r"([A-Z][A-Z0-9 ./-]*):\s*(.*)")
_LINE_END = re.compile(r"\r\n?|\n")  # not splitlines(): Latin-1 text holds \x85
_ACCESSION = re.compile(r"[0-9]{10}-[0-9]{2}-[0-9]{6}")
_SIC = re.compile(r"\[([0-9]{3,4})\]$|^([0-9]{3,4})$")
_MONTH_DAY = re.compile(r"(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])")

# The text dialect names 8-K items by caption, the tagged one by number. A caption is known by how it begins
# (its letters): the SEC has changed the tails. Source: Form 8-K, renumbered from 2004-08-23.
_ITEMS_RENUMBERED = "2004-08-23"
_ITEMS = """
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
_ITEMS_BEFORE_2004 = """
    1 changesincontrolofregistrant  2 acquisitionordisposition  3 bankruptcyorreceivership
    4 changesinregistrantscertifyingaccountant  5 otherevents  6 resignationsofregistrantsdirectors
    7 financialstatementsandexhibits  8 changeinfiscalyear  9 regulationfd
    10 amendmentstotheregistrantscodeofethics  11 temporarysuspensionoftrading  12 resultsofoperations
"""


@dataclass(frozen=True, slots=True)
class HeaderFormerName:
    """A name that a party bore until ``changed`` (ISO date, or None when the header gives no usable one)."""

    name: str
    changed_on: str | None


@dataclass(frozen=True, slots=True)
class HeaderParty:
    """One company or person of a submission.

    ``role`` is filer, subject, filed_by, reporting_owner or issuer, or a rarer word of the header in that
    style (filed_for, depositor, ...). ``cik`` has 10 digits, ``sic`` 4 ("0000" is None), ``fiscal_year_end``
    is MMDD, None when absent or no day of a year. A company may stand twice, for each ``form`` of a combined
    filing.
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
class SubmissionHeader:
    """What EDGAR says of a submission.

    ``accession`` with dashes; ``period`` and ``filed`` ISO dates (some forms have no period); ``accepted`` in
    UTC, ``YYYY-MM-DDTHH:MM:SS.mmmZ``, None before about 2002 and in ``.nc`` files; ``document_count`` as
    declared; ``items`` of an 8-K by number, "2.02" or before August 2004 "12" (an unknown caption as filed).
    """

    accession: str
    form: str
    period: str | None
    filed: str
    accepted: str | None
    document_count: int | None
    items: tuple[str, ...]
    parties: tuple[HeaderParty, ...]


@dataclass(frozen=True, slots=True)
class SubmissionDocument:
    """One document: its declared type, place and name (the filer's word: never a path), and its content.

    ``filename`` is None before about 2001. ``body`` is the content of ``<TEXT>`` without the ``<XML>``,
    ``<XBRL>`` or ``<PDF>`` wrapper, uuencoded attachments decoded.
    """

    type: str
    sequence: int | None
    filename: str | None
    description: str | None
    body: bytes


@dataclass(slots=True)
class _Found:
    """What the loop over the header collects before it is judged."""

    filing: dict[str, str] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    parties: list[dict[str, str]] = field(default_factory=list)
    former: list[list[tuple[str, str]]] = field(default_factory=list)
    role: str = ""


def utc_from_eastern(local: datetime) -> datetime:
    """Return the UTC time of a US Eastern wall-clock time: ``local`` is naive, the answer aware.

    An hour that occurs twice in autumn is its first occurrence; one skipped in spring is standard time, both
    as zoneinfo's fold=0 has it. Raises ValueError before 1987 and for an aware time. By rule, as a bare host lacks
    zoneinfo's data.
    Source: 15 U.S.C. 260a as amended in 1986 (first Sunday of April to last of October) and 2005 (from 2007
    second Sunday of March to first of November), each at 02:00.
    """
    if local.tzinfo is not None:
        raise ValueError("a time of the US East tells no zone")
    return (local + eastern_offset(local)).replace(tzinfo=UTC)


def eastern_offset(local: datetime) -> timedelta:
    """How far a naive wall-clock time of the US East is behind UTC; ValueError before 1987."""
    if local.year < 1987:
        raise ValueError(f"no daylight saving rule for {local.year}")
    first, end = _summer(local.year)
    return _SUMMER if first <= local < end else _WINTER


def iso_utc(moment: datetime) -> str:
    """Return an aware UTC time as ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_header(data: bytes, file: str) -> SubmissionHeader:
    """Return the header of a submission (``.txt``, ``.nc``), a ``.hdr.sgml`` or an ``-index-headers.html``.

    Raises ParseError when there is no header, when it does not end, when accession, form, filing date or the
    CIK or name of a party is missing, and when a date is none.
    """
    found = _Found()
    for line in _LINE_END.split(_header_text(data, file)):
        _read_line(line.strip(), found)
    filing = found.filing
    accession = _required(filing, "accession", file)
    if not _ACCESSION.fullmatch(accession):
        raise ParseError(file, "ACCESSION NUMBER", f"{accession[:40]!r} is not an accession number")
    filed = _date(_required(filing, "filed", file), file, "FILED AS OF DATE")
    count = filing.get("document_count", "")
    return SubmissionHeader(
        accession=accession,
        form=_required(filing, "form", file),
        period=_date(filing["period"], file, "PERIOD OF REPORT") if filing.get("period") else None,
        filed=filed,
        accepted=_accepted(filing["accepted"], file) if filing.get("accepted") else None,
        document_count=int(count) if re.fullmatch("[0-9]{1,6}", count) else None,
        items=tuple(dict.fromkeys(_item(text, filed) for text in found.items)),
        parties=tuple(map(_party, found.parties, found.former, repeat(file))),
    )


def iter_documents(data: bytes, file: str) -> Iterator[SubmissionDocument]:
    """Yield the documents of a full submission in order, each decoded only when it is asked for.

    Raises ParseError, at the document it concerns, for one that is cut off or cannot be decoded, and at the
    end for an envelope that does not close: a download broken off between two documents is not the whole.
    """
    start = data.find(b"<DOCUMENT>")
    preface = data[: min(MAX_PREFACE_BYTES, len(data) if start < 0 else start)]
    if not any(mark in preface for mark in (*HEADER_STARTS, *_ENVELOPES)):
        raise ParseError(file, "", "not an EDGAR submission: no SGML header before the first document")
    number, end = 0, 0
    while start >= 0:
        number += 1
        document, end = _document(data, start, file, f"document {number}")
        yield document
        start = data.find(b"<DOCUMENT>", end)
    _check_closed(data, preface, end, file, f"after document {number}")


def parse_complete_header(data: bytes, file: str) -> SubmissionHeader:
    """Return the header of a submission that is all there, its documents not looked into.

    Raises ParseError for what is no submission or is cut off, and for what is wrong in the header.
    """
    found = parse_header(data, file)
    _check_closed(data, data[:MAX_PREFACE_BYTES], 0, file, "end")
    return found


def _check_closed(data: bytes, preface: bytes, end: int, file: str, place: str) -> None:
    for opening in _ENVELOPES:
        closing = opening.replace(b"<", b"</")
        if opening in preface and data.find(closing, end) < 0:
            raise ParseError(file, place, f"cut off: no {closing.decode()}")


@lru_cache(maxsize=128)
def _summer(year: int) -> tuple[datetime, datetime]:
    """From when until when, by the wall clock, daylight saving time lasts in a year."""
    if year >= 2007:
        start, end = _sunday(year, 3, 8), _sunday(year, 11, 1)
    else:
        start, end = _sunday(year, 4, 1), _sunday(year, 10, 25)
    return start + timedelta(hours=3), end + timedelta(hours=2)


def _sunday(year: int, month: int, first_day: int) -> datetime:
    """The first Sunday on or after a day, at midnight."""
    day = date(year, month, first_day)
    return datetime.combine(day + timedelta(days=(6 - day.weekday()) % 7), datetime.min.time())


def _header_text(data: bytes, file: str) -> str:
    front = data[:MAX_PREFACE_BYTES]
    mark = next((mark for mark in HEADER_STARTS if mark in front), None)
    if mark is None:
        raise ParseError(file, "", "no <SEC-HEADER>, <IMS-HEADER> or <SUBMISSION>")
    start = front.index(mark) + len(mark)
    end = _ENDS.search(data, start, start + _HEADER_LIMIT)
    if end is None:
        raise ParseError(file, "header", "cut off: it does not end")
    raw = data[start : end.start()]
    if b"\0" in raw:
        raise ParseError(file, "header", "contains a NUL byte")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # accented names of the 1990s
    try:
        return html.unescape(text) if mark.startswith(b"&") else text
    except ValueError:  # a character reference of thousands of digits
        raise ParseError(file, "header", "contains an invalid character reference") from None


def _read_line(line: str, found: _Found) -> None:
    if match := _TAG.match(line):
        _take(match[1], match[2].strip(), found)
    elif match := _LINE.match(line):
        _take(match[1].strip().replace(" ", "-"), match[2].strip(), found)


def _take(key: str, text: str, found: _Found) -> None:
    if key in {"COMPANY-DATA", "OWNER-DATA"}:
        found.parties.append({"role": found.role})
        found.former.append([])
    elif not text:
        # A name without a value is the heading of what follows; before party data it is the party's role.
        found.role = key
    elif key in {"ITEM-INFORMATION", "ITEMS"}:
        found.items.append(text)
    elif key in _FILING_KEYS:
        found.filing.setdefault(_FILING_KEYS[key], text)
    elif found.parties and key in _PARTY_KEYS:
        found.parties[-1].setdefault(_PARTY_KEYS[key], text)
    elif found.former and key == "FORMER-CONFORMED-NAME":
        found.former[-1].append((text, ""))
    elif found.former and found.former[-1] and key in {"DATE-OF-NAME-CHANGE", "DATE-CHANGED"}:
        found.former[-1][-1] = (found.former[-1][-1][0], text)


def _required(values: dict[str, str], key: str, file: str) -> str:
    if not values.get(key):
        raise ParseError(file, "header", f"has no {key}")
    return values[key]


def _party(raw: dict[str, str], former: list[tuple[str, str]], file: str) -> HeaderParty:
    cik = raw.get("cik", "")
    if not re.fullmatch("[0-9]{1,10}", cik):
        raise ParseError(file, raw["role"] or "header", f"{cik[:40]!r} is not a CIK")
    sic = _SIC.search(raw.get("sic", ""))
    code = (sic[1] or sic[2]).zfill(4) if sic else "0000"
    year_end = raw.get("fiscal_year_end", "")
    return HeaderParty(
        role="subject" if raw["role"] == "SUBJECT-COMPANY" else raw["role"].lower().replace("-", "_"),
        cik=cik.zfill(10),
        name=_required(raw, "name", file),
        sic=None if code == "0000" else code,
        state=raw.get("state"),
        fiscal_year_end=year_end if _MONTH_DAY.fullmatch(year_end) else None,
        form=raw.get("form"),
        file_number=raw.get("file_number"),
        former_names=tuple(HeaderFormerName(name, _date_or_none(changed)) for name, changed in former),
    )


def _item(text: str, filed: str) -> str:
    if re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]{2})?", text):
        return text
    caption = re.sub("[^a-z]", "", text.lower())
    table = _ITEMS_BEFORE_2004 if filed < _ITEMS_RENUMBERED else _ITEMS
    pairs = re.findall(r"([0-9.]+) ([a-z]+)", table)
    return next((number for number, start in pairs if caption.startswith(start)), text)


def _date_or_none(text: str) -> str | None:
    try:
        return days.from_digits(text)
    except ValueError:
        return None


def _date(text: str, file: str, place: str) -> str:
    try:
        return days.from_digits(text)
    except ValueError as error:
        raise ParseError(file, place, str(error)) from None


def _accepted(text: str, file: str) -> str:
    try:
        if not re.fullmatch("[0-9]{14}", text):
            raise ValueError(text)
        return iso_utc(utc_from_eastern(datetime.strptime(text, "%Y%m%d%H%M%S")))
    except (ValueError, OverflowError):
        raise ParseError(file, "ACCEPTANCE-DATETIME", f"{text[:40]!r} is not a time YYYYMMDDHHMMSS") from None


def _document(data: bytes, start: int, file: str, place: str) -> tuple[SubmissionDocument, int]:
    """The document at ``start`` and the offset behind it."""
    text = data.find(b"<TEXT>", start, start + MAX_PREFACE_BYTES)
    end = _DOCUMENT_END.search(data, text) if text >= 0 else None
    if end is None or data.find(b"</DOCUMENT>", start, text) >= 0:
        raise ParseError(file, place, "cut off: no <TEXT> or no </TEXT></DOCUMENT>")
    tags: dict[str, str] = {}
    for line in _LINE_END.split(data[start:text].decode("latin-1")):
        if match := _TAG.match(line.strip()):
            tags.setdefault(match[1], match[2].strip())
    sequence = tags.get("SEQUENCE", "")
    document = SubmissionDocument(
        type=_required(tags, "TYPE", file),
        sequence=int(sequence) if re.fullmatch("[0-9]{1,6}", sequence) else None,
        filename=tags.get("FILENAME") or None,
        description=tags.get("DESCRIPTION") or None,
        body=_body(data[text + len(b"<TEXT>") : end.start()], file, place),
    )
    return document, end.end()


def _body(text: bytes, file: str, place: str) -> bytes:
    wrapper = _WRAPPER.match(text)
    if wrapper:
        inner = text[wrapper.end() :].rstrip()
        closing = b"</" + wrapper[1] + b">"
        if not inner.endswith(closing):
            raise ParseError(file, place, f"no {closing.decode()}")
        text = inner[: -len(closing)].lstrip()
    else:
        text = text.removeprefix(b"\r").removeprefix(b"\n")
    if _UUENCODED.match(text):
        return _uudecoded(text, file, place)
    return text.removesuffix(b"\n").removesuffix(b"\r")


def _uudecoded(text: bytes, file: str, place: str) -> bytes:
    out = bytearray()
    lines = (match[0] for match in _UU_LINE.finditer(text.lstrip()))
    next(lines)
    for number, line in enumerate(lines, 2):
        if line.rstrip() == b"end":
            return bytes(out)
        # Encoders of the 1990s leave a checksum character behind the data, which a2b_uu would refuse.
        length = (((line[0] - 32) & 63) * 4 + 5) // 3
        try:
            out += binascii.a2b_uu(line[:length])
        except binascii.Error as error:
            raise ParseError(file, place, f"uuencoded line {number}: {error}") from None
        if len(out) > _BINARY_LIMIT:
            raise ParseError(file, place, f"attachment of more than {_BINARY_LIMIT} bytes")
    raise ParseError(file, place, "uuencoded attachment without its end")
