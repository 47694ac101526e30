"""The kind of a document, detected from its first bytes.

Operators pass folders and zip files with all kinds of documents, file names get lost, and the SEC sometimes sends an
error page instead of data. So the content decides, and the file name only where the content is ambiguous. The first
character that is not blank leads to one of three detectors:

- ``{``: JSON; the keys of the outermost object are specific to one kind (``entityType`` is in submissions only).
- ``<``: an SGML submission, HTML, or XML; the root element, and texts that only one kind has near its start, decide.
- anything else: the first line is a header of columns, a row of a list, or the start of a PEM wrapper.
"""

from __future__ import annotations

import re

from finapi.edgar import cusip_lists, form_families, tickers

# The number of bytes that detect_kind examines. Callers need not read more of a document to learn its kind.
MAX_PREFIX_BYTES = 256 * 1024

_FRONT_BYTES = 64 * 1024  # For all documents but linkbases.
_LINKBASE_BYTES = 256 * 1024  # Hundreds of roleRef elements may come before the first link.
_COLUMN_LINE_BYTES = 4 * 1024
_JSON_BYTES = 4 * 1024  # The first keys decide.

_BLANK = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*")
_ELEMENT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_JSON_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
_SEC_TITLE = re.compile(rb"(?i)<title>\s*(?:SEC\.gov \||Access Denied)")
_UNDECLARED = b"Request Originates from an Undeclared Automated Tool"
_ACCESS_REFUSALS = (_UNDECLARED, b"Request Rate Threshold Exceeded", b"<title>Access Denied")

_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
)
# Linkbases: the prefix of "Link" in the name of their extended links, the kind, and the usual end of the file's stem.
_LINKBASES = (
    (b"presentation", "xbrl-presentation", "_pre"),
    (b"calculation", "xbrl-calculation", "_cal"),
    (b"definition", "xbrl-definition", "_def"),
    (b"label", "xbrl-label", "_lab"),
)
# Keys of the outermost object that only one kind has.
_JSON_KEYS = {
    b"entityType": "submissions",
    b"sicDescription": "submissions",
    b"filings": "submissions",
    b"accessionNumber": "submissions-page",
    b"acceptanceDateTime": "submissions-page",
    b"entityName": "companyfacts",
    b"facts": "companyfacts",
    b"directory": "directory-index",
    b"instance": "metalinks",
    b"std_ref": "metalinks",
}
# Columns of a file of prices, without anything but letters. pandas writes up to three header lines, and may leave out
# the name of the days.
_PRICE_HEADER_LINES = 4  # With the first row of prices.
_DAY_COLUMNS = {
    b"date",
    b"datetime",
    b"tradedate",
    b"tradingdate",
    b"tradingday",
    b"pricedate",
    b"day",
    b"timestamp",
    b"time",
    b"dtyyyymmdd",
    b"windowstart",
    b"opentime",
    b"unixtime",
    b"data",
}
_PRICE_COLUMNS = (
    b"close",
    b"adjclose",
    b"last",
    b"price",
    b"dividend",
    b"capitalgain",
    b"split",
    b"stocksplit",
    b"zamkn",
)
_INDEX_NAMES = {b"", b"unnamed", b"index", b"price", b"ticker", b"attributes", b"symbols"}
_BAR_COLUMNS = {b"o", b"h", b"l", b"c"}  # The prices of a bar in Polygon's answers, next to the time "t".
_BRACKETED_COLUMNS = re.compile(rb"<\w+>[,;\t]<\w+>")  # <TICKER>,<PER>,<DATE>,...
# Columns of an operator's own CUSIP mapping. Case, spaces and underscores do not matter.
_CUSIP_COLUMNS = {b"cusip", b"cusip9"}
_MAPPING_COLUMNS = {
    b"ticker",
    b"symbol",
    b"cik",
    b"name",
    b"issuer",
    b"issuername",
    b"company",
    b"successor",
    b"newcusip",
}
# Columns of tab-separated data sets.
_DATA_SET_TABLES = (
    ({b"adsh", b"cik", b"form", b"filed"}, "fsds-sub"),
    ({b"adsh", b"tag", b"ddate", b"value"}, "fsds-num"),
    ({b"adsh", b"stmt", b"line", b"plabel"}, "fsds-pre"),
    ({b"tag", b"version", b"custom", b"tlabel"}, "fsds-tag"),
    ({b"ACCESSION_NUMBER", b"FILING_DATE", b"DOCUMENT_TYPE", b"ISSUERCIK"}, "insider-set-submission"),
    ({b"ACCESSION_NUMBER", b"RPTOWNERCIK"}, "insider-set-owner"),
    ({b"ACCESSION_NUMBER", b"NONDERIV_TRANS_SK"}, "insider-set-nonderiv-trans"),
    ({b"ACCESSION_NUMBER", b"NONDERIV_HOLDING_SK"}, "insider-set-nonderiv-holding"),
    ({b"ACCESSION_NUMBER", b"DERIV_TRANS_SK"}, "insider-set-deriv-trans"),
    ({b"ACCESSION_NUMBER", b"DERIV_HOLDING_SK"}, "insider-set-deriv-holding"),
    ({b"ACCESSION_NUMBER", b"FOOTNOTE_ID", b"FOOTNOTE_TXT"}, "insider-set-footnotes"),
    ({b"ACCESSION_NUMBER", b"OWNERSIGNATURENAME"}, "insider-set-signature"),
)
_ROOTS = [
    *(root for family in form_families.FAMILIES for root in family.roots),
    form_families.RootElement(b"feed", "atom-feed", (b"http://www.w3.org/2005/Atom",)),
    form_families.RootElement(b"FilingSummary", "filing-summary"),
    form_families.RootElement(b"Error", "sec-error-page", (b"<Code>",)),  # From the SEC's storage service.
]


def detect_kind(content: bytes, name: str) -> str:
    """Return the kind of a document, or "unknown". ``name`` is its file name, or "".

    Only the first ``MAX_PREFIX_BYTES`` are examined and nothing is parsed, so the document may still be invalid. The
    kinds ``filing-index`` (a filing's index page, or an SGML header without documents) and ``directory-index`` are
    those that :func:`finapi.edgar.index_documents.parse` parses. This function never raises.
    """
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    if content.startswith(_UTF_16_MARKS):
        return detect_kind(content[: MAX_PREFIX_BYTES * 2].decode("utf-16", "ignore").encode(errors="ignore"), name)
    front = content[:_FRONT_BYTES]
    start = _skip_blanks(front, 0)
    if start == len(content):
        return "empty"
    if front.startswith(b"{", start):
        return _detect_json(front[start : start + _JSON_BYTES])
    if _BRACKETED_COLUMNS.match(front, start):
        return "prices" if _has_price_columns(front, start) else "unknown"
    if front.startswith(b"<", start):
        return _detect_markup(content, front, start, name)
    return _detect_text(front, start)


def is_access_refusal(content: bytes) -> bool:
    """Return True for the SEC's error page about too many requests, or about requests without a contact address."""
    front = content[:_FRONT_BYTES]
    return any(words in front for words in _ACCESS_REFUSALS)


def _skip_blanks(front: bytes, position: int) -> int:
    blank = _BLANK.match(front, position)
    return blank.end() if blank else position


def _detect_json(front: bytes) -> str:
    depth = 0
    for token in _JSON_TOKEN.finditer(front):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[2] is not None:
            key = token[1]
            if key in _JSON_KEYS:
                return _JSON_KEYS[key]
            # The lists of tickers: rows with the keys "0", "1", ..., and a table with the names of its fields.
            if key.isdigit() and b'"cik_str"' in front:
                return "company-tickers"
            if key == b"fields" and (b'"ticker"' in front or b'"classId"' in front):
                return "company-tickers"
    return "unknown"


def _detect_markup(content: bytes, front: bytes, start: int, name: str) -> str:
    if front.startswith((b"<SEC-DOCUMENT>", b"<IMS-DOCUMENT>", b"<SUBMISSION>"), start):
        return "full-submission"
    if front.startswith((b"<SEC-HEADER>", b"<IMS-HEADER>"), start):
        return "full-submission" if b"<DOCUMENT>" in front else "filing-index"
    element = _find_root_element(front, start)
    if element.lower() == b"html":
        return _detect_html(front)
    if element == b"linkbase":
        return _detect_linkbase(content, name)
    for root in _ROOTS:
        if root.element == element and (not root.marks or any(mark in front for mark in root.marks)):
            return root.kind
    return "unknown"


def _find_root_element(front: bytes, position: int) -> bytes:
    """Return the local name of the first element after declarations and comments, or b"" if there is none."""
    while True:
        if front.startswith(b"<!--", position):
            end = front.find(b"-->", position + 4) + 3
        elif front.startswith(b"<?", position):
            end = front.find(b"?>", position) + 2
        elif front.startswith(b"<!", position):
            end = front.find(b">", position) + 1
        else:
            element = _ELEMENT.match(front, position)
            return element[1] if element else b""
        if end <= position:  # The end of the comment or declaration is not in front.
            return b""
        position = _skip_blanks(front, end)


def _detect_linkbase(content: bytes, name: str) -> str:
    for prefix in (content[:_FRONT_BYTES], content[:_LINKBASE_BYTES]):
        kinds = _find_link_kinds(prefix)
        if kinds:
            return kinds.pop() if len(kinds) == 1 else "xbrl-linkbase"
    stem = name.lower().removesuffix(".xml")
    for _, kind, ending in _LINKBASES:
        if stem.endswith(ending):
            return kind
    return "xbrl-linkbase"


def _find_link_kinds(prefix: bytes) -> set[str]:
    """Return the kinds of all extended links in the beginning of a linkbase.

    Elements are found with and without a namespace prefix, and one document may have both: Toppan Merrill writes
    <link:linkbase> around <presentationLink xmlns=...>.
    """
    kinds: set[str] = set()
    position = prefix.find(b"Link")
    while position >= 0:
        for word, kind, _ in _LINKBASES:
            if prefix.endswith((b"<" + word, b":" + word), 0, position):
                kinds.add(kind)
        position = prefix.find(b"Link", position + 4)
    return kinds


def _detect_html(front: bytes) -> str:
    if b"/inlineXBRL" in front:
        return "inline-html"
    if b'class="report"' in front and b"Show.js" in front:
        return "r-page"
    if b"SEC-HEADER" in front or b"EDGAR Filing Documents for" in front:
        return "filing-index"
    if b"infoHead" in front and b"Accession" in front:
        return "filing-index"
    if b"<title>Financial Statement Data Sets</title>" in front:
        return "fsds-readme"
    if _SEC_TITLE.search(front) or _UNDECLARED in front:
        return "sec-error-page"
    if b"Directory Listing for /Archives/edgar" in front or b"Index of /Archives/edgar" in front:
        return "directory-index"
    return "unknown"


def _detect_text(front: bytes, start: int) -> str:
    if front.startswith(b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----", start):
        has_submission = b"<SEC-DOCUMENT>" in front or b"<IMS-DOCUMENT>" in front
        return "full-submission" if has_submission else "unknown"
    end = front.find(b"\n", start)
    line = front[start : end if end >= 0 else len(front)][:_COLUMN_LINE_BYTES].rstrip(b"\r")
    if line.startswith(cusip_lists.FAILS_TO_DELIVER_HEADER):
        return "fails-to-deliver"
    if cusip_lists.is_13f_list_line(line):
        return "13f-list"
    if line.startswith(b"Description:") and b"Index of EDGAR" in line:
        return "form-index"
    if tickers.is_ticker_line(line):
        return "company-tickers"
    names = {re.sub(rb"[^a-z0-9]", b"", name.lower()) for name in line.split(b",")}
    if names & _CUSIP_COLUMNS and names & _MAPPING_COLUMNS:
        return "cusip-mapping"
    columns = set(line.split(b"\t"))
    for required_columns, kind in _DATA_SET_TABLES:
        if required_columns <= columns:
            return kind
    return "prices" if _has_price_columns(front, start) else "unknown"


def _has_price_columns(front: bytes, start: int) -> bool:
    """Return True if the first lines name a day and a price, a dividend or a split.

    The columns are separated by comma, semicolon or tab. The day may be the first column without a name.
    """
    lines = front[start:].split(b"\n", _PRICE_HEADER_LINES)[:_PRICE_HEADER_LINES]
    rows = [[cell.strip(b' "\r') for cell in re.split(rb"[,;\t]", line[:_COLUMN_LINE_BYTES])] for line in lines]
    names = {_get_letters(cell) for row in rows for cell in row}
    first_names = set(map(_get_letters, rows[0]))
    if first_names >= _BAR_COLUMNS and first_names & {b"t", *_DAY_COLUMNS}:
        return True
    # A header may combine the column with a ticker: AAPL.Close.
    parts = {part.lower() for cell in rows[0] for part in re.split(rb"[._' ()]", cell)}
    if not any(name.startswith(_PRICE_COLUMNS) for name in names | parts):
        return False
    has_index = _get_letters(rows[0][0]) in _INDEX_NAMES and any(row[0][:4].isdigit() for row in rows[1:])
    return bool(names & _DAY_COLUMNS) or has_index


def _get_letters(cell: bytes) -> bytes:
    return re.sub(rb"[^a-z]", b"", cell.lower())
