"""A local EDGAR that returns prepared pages and records its requests."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from tests.receiver import Received, Receiver, receiver
from tests.support import submission_texts

STORAGE = b'<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code><Message>x</Message></Error>'
AGENT = "Test Suite tests@example.com"


@dataclass
class Page:
    """An answer: its status, body and headers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    # Number of bytes of the body after which the connection breaks.
    cut: int | None = None


class FakeEdgar:
    """Returns the pages by path, with support for ``Range``, and the feed by its ``start``. Other paths are 404.

    The pages in ``next`` are returned first, one for each request, for any path.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.feed: dict[int, Page] = {}
        self.requests: list[Received] = []
        self.always: Page | None = None
        self.next: list[Page] = []

    @property
    def paths(self) -> list[str]:
        """Return the requested paths in order, the feed as ``feed 100``."""
        return [_name(received) for received in self.requests]

    def answer(self, connection: socket.socket, received: Received, over: threading.Event) -> None:
        self.requests.append(received)
        target = received.line.split()[1]
        page = self.pages.get(target)
        if urlsplit(target).path == "/cgi-bin/browse-edgar":
            page = self.feed.get(int(parse_qs(urlsplit(target).query)["start"][0]))
        page = self.always or (self.next.pop(0) if self.next else page) or Page(STORAGE, 404)
        page = _part(page, received.headers)
        if page.headers.get("ETag") and received.headers.get("if-none-match") == page.headers["ETag"]:
            page = Page(b"", 304)
        fields = {"Content-Length": str(len(page.body)), **page.headers}
        lines = [f"HTTP/1.1 {page.status} X", *(f"{name}: {text}" for name, text in fields.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode() + page.body[: page.cut])


def _part(page: Page, headers: dict[str, str]) -> Page:
    """Return the requested range of a page, if it still has the requested version (RFC 9110, 14)."""
    span = re.fullmatch(r"bytes=([0-9]+)-([0-9]+)", headers.get("range", ""))
    if span is None or page.status != 200 or headers.get("if-range") not in (None, page.headers.get("ETag")):
        return page
    first, last = int(span[1]), min(int(span[2]), len(page.body) - 1)
    headers_of_part = {**page.headers, "Content-Range": f"bytes {first}-{last}/{len(page.body)}"}
    return Page(page.body[first : last + 1], 206, headers_of_part, page.cut)


def _name(received: Received) -> str:
    parts = urlsplit(received.line.split()[1])
    return f"feed {parse_qs(parts.query)['start'][0]}" if parts.query else parts.path


@contextmanager
def fake_edgar() -> Iterator[tuple[FakeEdgar, Receiver]]:
    """Run a local EDGAR on the loopback address."""
    edgar = FakeEdgar()
    with receiver(edgar.answer) as server:
        yield edgar, server


def entry(
    accession: str,
    *,
    form: str = "8-K",
    cik: int = 320193,
    name: str = "Apple Inc.",
    role: str = "Filer",
    accepted: str = "2026-01-31T06:30:00-05:00",
    items: str = "",
) -> str:
    """Return an entry of the feed as EDGAR writes it."""
    folder = accession.replace("-", "")
    lines = "".join(f"\n&lt;br&gt;Item {item}: Something" for item in items.split(",") if item)
    return f"""<entry>
<title>{form} - {name} ({cik:010}) ({role})</title>
<link rel="alternate" type="text/html" href="https://www.sec.gov/Archives/edgar/data/{cik}/{folder}/{accession}-index.htm"/>
<summary type="html">
 &lt;b&gt;Filed:&lt;/b&gt; {accepted[:10]} &lt;b&gt;AccNo:&lt;/b&gt; {accession} &lt;b&gt;Size:&lt;/b&gt; 10 KB{lines}
</summary>
<updated>{accepted}</updated>
<category scheme="https://www.sec.gov/" label="form type" term="{form}"/>
<id>urn:tag:sec.gov,2008:accession-number={accession}</id>
</entry>
"""


def feed(*entries: str) -> bytes:
    """Return a page of the feed."""
    return (
        '<?xml version="1.0" encoding="ISO-8859-1" ?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        "<title>Latest Filings - Sat, 31 Jan 2026 06:31:00 EST</title>\n"
        '<link rel="alternate" href="/cgi-bin/browse-edgar?action=getcurrent"/>\n'
        "<id>https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent</id>\n"
        "<updated>2026-01-31T06:31:00-05:00</updated>\n" + "".join(entries) + "</feed>\n"
    ).encode("latin-1")


def full_submission(accession: str, *, form: str = "8-K", cik: int = 320193, name: str = "APPLE INC") -> bytes:
    """Return a full submission with one document, as in the archive."""
    data = (
        "STANDARD INDUSTRIAL CLASSIFICATION:\tELECTRONIC COMPUTERS [3571]",
        "STATE OF INCORPORATION:\t\t\tCA",
        "FISCAL YEAR END:\t\t\t0928",
    )
    filer = submission_texts.party("FILER", name, f"{cik:010}", *data) + submission_texts.values(form)
    page = "<html><body>Something happened.</body></html>"
    main = submission_texts.text(form, "main.htm", page, header_lines=f"<DESCRIPTION>{form}\n")
    return submission_texts.full(accession, form, filer, main, period="20260130")


def ownership_submission(accession: str, document: bytes, *, issuer: int, owner: int, form: str = "4") -> bytes:
    """Return a full submission with an ownership form, whose header names both parties."""
    reporting = submission_texts.party("REPORTING-OWNER", "LAMP ANN", f"{owner:010}", data="OWNER DATA")
    company = submission_texts.party("ISSUER", "BROOK LAMPS INC", f"{issuer:010}")
    parties = f"{reporting}{submission_texts.values(form)}\n{company}"
    return submission_texts.full(
        accession, form, parties, submission_texts.xml(form, "form4.xml", document), period="20260129"
    )
