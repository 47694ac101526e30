"""What kind of document some bytes are, told from their beginning.

People hand over folders and zips of anything, names get lost, and the SEC sends an error page where data was
asked for: the content decides, and the name only where the content leaves a choice.
"""

from __future__ import annotations

import re

from finapi.edgar import cusip, form_families

_PREFIX = 64 * 1024  # bytes looked at
_HEADER = 4 * 1024  # bytes of a line of columns
_JSON_PREFIX = 4 * 1024  # bytes; the first keys decide
# The most that :func:`kind` looks at, for callers that need not read the rest of what they do not want.
MAX_PREFIX_BYTES = 256 * 1024  # bytes

_LINKBASE_PREFIX = 256 * 1024  # bytes; hundreds of roleRef elements may stand before the first link

_BLANK = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*")
_ELEMENT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_JSON_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)
_SEC_TITLE = re.compile(rb"(?i)<title>\s*(?:SEC\.gov \||Access Denied)")
_UNDECLARED = b"Request Originates from an Undeclared Automated Tool"
_REFUSALS = (_UNDECLARED, b"Request Rate Threshold Exceeded", b"<title>Access Denied")

_MAGIC = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF8", "image"),
)
_LINKS = (
    (b"presentation", "xbrl-presentation", "_pre"),
    (b"calculation", "xbrl-calculation", "_cal"),
    (b"definition", "xbrl-definition", "_def"),
    (b"label", "xbrl-label", "_lab"),
)
# A member of the outermost object that only one kind has.
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
# Of a CSV of prices, letters only.
_DAYS = {b"date", b"timestamp", b"day", b"tradedate", b"datetime"}
_PRICES = (b"close", b"adjclose", b"last", b"price", b"dividend", b"split", b"stocksplit")
# A CSV file of an operator's own; case, spaces and underscores in its names do not count.
_MAPPED = {b"ticker", b"symbol", b"cik", b"name", b"issuer", b"issuername", b"company", b"successor", b"newcusip"}
_TABLES = (
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


def is_access_refusal(data: bytes) -> bool:
    """Whether an error page of the SEC is what it says to whoever asks too often or without a name."""
    return any(words in data[:_PREFIX] for words in _REFUSALS)


def detect_kind(data: bytes, name: str) -> str:
    """Return the kind of a document, "unknown" for what is none; ``name`` is its file name, or empty.

    At most the first 64 KB are looked at (256 KB of a linkbase), and nothing is parsed: a document of
    a kind may still be broken. ``filing-index`` (a filing's page, or an SGML header without documents) and
    ``directory-index`` are what :func:`finapi.edgar.index_documents.parse` reads. Never raises.
    """
    for magic, found in _MAGIC:
        if data.startswith(magic):
            return found
    front = data[:_PREFIX]
    blank = _BLANK.match(front)
    at = blank.end() if blank else 0
    if at == len(data):
        return "empty"
    if front.startswith(b"{", at):
        return _of_json(front[at : at + _JSON_PREFIX])
    if front.startswith(b"<", at):
        return _of_markup(data, front, at, name)
    return _of_text(front, at)


def _of_json(front: bytes) -> str:
    depth = 0
    for token in _JSON_TOKEN.finditer(front):
        mark = token[0]
        if mark in (b"{", b"["):
            depth += 1
        elif mark in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token[2] is not None:
            key = token[1]
            if key in _JSON_KEYS:
                return _JSON_KEYS[key]
            # Rows numbered "0", "1", ... or a table with a list of its fields.
            if (key.isdigit() and b'"cik_str"' in front) or (key == b"fields" and b'"ticker"' in front):
                return "company-tickers"
    return "unknown"


def _of_markup(data: bytes, front: bytes, at: int, name: str) -> str:
    if front.startswith((b"<SEC-DOCUMENT>", b"<IMS-DOCUMENT>", b"<SUBMISSION>"), at):
        return "full-submission"
    if front.startswith((b"<SEC-HEADER>", b"<IMS-HEADER>"), at):
        return "full-submission" if b"<DOCUMENT>" in front else "filing-index"
    root = _root(front, at)
    if root.lower() == b"html":
        return _of_html(front)
    if root == b"linkbase":
        return _of_linkbase(data, name)
    for one in _ROOTS:
        if one.element == root and (not one.marks or any(mark in front for mark in one.marks)):
            return one.kind
    return "unknown"


def _root(front: bytes, at: int) -> bytes:
    """The local name of the first element, behind declarations and comments; empty if there is none."""
    while True:
        if front.startswith(b"<!--", at):
            end = front.find(b"-->", at + 4) + 3
        elif front.startswith(b"<?", at):
            end = front.find(b"?>", at) + 2
        elif front.startswith(b"<!", at):
            end = front.find(b">", at) + 1
        else:
            element = _ELEMENT.match(front, at)
            return element[1] if element else b""
        if end <= at:
            return b""
        blank = _BLANK.match(front, end)
        at = blank.end() if blank else end


_ROOTS = [
    *(root for form in form_families.FAMILIES for root in form.roots),
    form_families.RootElement(b"feed", "atom-feed", (b"http://www.w3.org/2005/Atom",)),
    form_families.RootElement(b"FilingSummary", "filing-summary"),
    form_families.RootElement(b"Error", "sec-error-page", (b"<Code>",)),  # what the SEC's storage answers
]


def _of_linkbase(data: bytes, name: str) -> str:
    for window in (data[:_PREFIX], data[:_LINKBASE_PREFIX]):
        present = _links(window)
        if present:
            return present.pop() if len(present) == 1 else "xbrl-linkbase"
    stem = name.lower().removesuffix(".xml")
    return next((found for _, found, ending in _LINKS if stem.endswith(ending)), "xbrl-linkbase")


def _links(window: bytes) -> set[str]:
    # With or without a prefix, and one document may do both: Toppan Merrill writes <link:linkbase> around
    # <presentationLink xmlns=...>.
    present: set[str] = set()
    at = window.find(b"Link")
    while at >= 0:
        present.update(found for word, found, _ in _LINKS if window.endswith((b"<" + word, b":" + word), 0, at))
        at = window.find(b"Link", at + 4)
    return present


def _of_html(front: bytes) -> str:
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


def _of_text(front: bytes, at: int) -> str:
    if front.startswith(b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----", at):
        held = b"<SEC-DOCUMENT>" in front or b"<IMS-DOCUMENT>" in front
        return "full-submission" if held else "unknown"
    end = front.find(b"\n", at)
    line = front[at : end if end >= 0 else len(front)][:_HEADER].rstrip(b"\r")
    if line.startswith(cusip.FAILS_TO_DELIVER_HEADER):
        return "fails-to-deliver"
    if cusip.is_13f_list_line(line):
        return "13f-list"
    if line.startswith(b"Description:") and b"Index of EDGAR" in line:
        return "form-index"
    names = {re.sub(rb"[^a-z0-9]", b"", name.lower()) for name in line.split(b",")}
    if names & {b"cusip", b"cusip9"} and names & _MAPPED:
        return "cusip-mapping"
    columns = set(line.split(b"\t"))
    found = next((found for needed, found in _TABLES if needed <= columns), None)
    return found or ("prices" if _is_of_prices(line) else "unknown")


def _is_of_prices(line: bytes) -> bool:
    """Whether a header line names a day and a price, a dividend or a split, whatever its separator."""
    names = {re.sub(rb"[^a-z]", b"", name) for name in re.split(rb"[,;\t]", line.lower())}
    return bool(names & _DAYS) and any(name.startswith(_PRICES) for name in names)
