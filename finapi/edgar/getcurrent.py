"""The parser of EDGAR's feed of newly accepted filings: ``browse-edgar?action=getcurrent&output=atom``.

The feed is an Atom document with one entry for each party of each filing::

    <entry>
      <title>4 - Lamp Ann (0000000101) (Reporting)</title>
      <summary type="html">&lt;b&gt;Filed:&lt;/b&gt; 2025-03-03 ...</summary>
      <updated>2025-03-03T16:31:05-05:00</updated>
      <category scheme="https://www.sec.gov/" label="form type" term="4"/>
      <id>urn:tag:sec.gov,2008:accession-number=0000000101-25-000007</id>
    </entry>

The 100 entries of a page are therefore 47 to 78 filings, and the parties of one filing may be on two pages. The
request's ``type=`` is a prefix: ``type=4`` also returns 424B2. Times carry New York's offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar import eastern_time, identifiers
from finapi.edgar.xml_reader import Attributes, XmlReader, local_name

_ATOM = "http://www.w3.org/2005/Atom"

MAX_ENTRIES = 1_000  # Entries of a page. EDGAR returns at most 100.
MAX_TEXT = 4_000  # Characters of a title or summary. Real ones stay below 500.

_TITLE = re.compile(r"(?P<form>\S.{0,29}?) - (?P<name>.+) \((?P<cik>[0-9]{10})\) \((?P<role>[A-Za-z ]{1,40})\)", re.S)
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 /&.-]{0,29}")
_ID = re.compile(r"urn:tag:sec\.gov,2008:accession-number=([0-9]{10}-[0-9]{2}-[0-9]{6})")
_FILED = re.compile(r"Filed:</b>\s*([0-9]{4}-[0-9]{2}-[0-9]{2})")
_ITEM = re.compile(rf"Item ({identifiers.ITEM_NUMBER.pattern})(?=:)")


@dataclass(frozen=True, slots=True)
class FeedParty:
    """A company or person of a filing. ``role`` is the feed's word ("Filer", "Issuer", "Filed by")."""

    cik: int
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class FeedFiling:
    """A filing on a page, with those of its parties that are on the page.

    ``accession`` has dashes, ``filed`` is an ISO date, ``accepted`` is in UTC, ``items`` are the numbers of an 8-K, SD
    or ABS-15G, or the codes of a Form D.
    """

    accession: str
    form: str
    filed: str
    accepted: str
    items: tuple[str, ...]
    parties: tuple[FeedParty, ...]


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of the feed, newest filing first. ``entry_errors`` are the errors of entries that were left out."""

    filings: tuple[FeedFiling, ...]
    entry_count: int
    entry_errors: tuple[ParseError, ...] = ()


def parse_page(content: bytes, file: str) -> FeedPage:
    """Return a page of the feed.

    Raise ParseError, with the line, if the document is not an Atom feed. An entry is left out if it lacks an element,
    or if its accession number, form, CIK or times are not valid. Raise its error if no entry is valid.
    """
    reader = _FeedReader(file)
    reader.read(content)
    if reader.entry_errors and not reader.entries:
        raise reader.entry_errors[0]
    return FeedPage(
        filings=merge_filings(reader.entries),
        entry_count=len(reader.entries) + len(reader.entry_errors),
        entry_errors=tuple(reader.entry_errors),
    )


def merge_filings(entries: Iterable[FeedFiling]) -> tuple[FeedFiling, ...]:
    """Return each filing once, in the order of first appearance, with the parties and items of all its entries."""
    filings: dict[str, FeedFiling] = {}
    for entry in entries:
        filing = filings.get(entry.accession)
        if filing is None:
            filings[entry.accession] = entry
        else:
            parties = tuple(dict.fromkeys((*filing.parties, *entry.parties)))
            items = tuple(dict.fromkeys((*filing.items, *entry.items)))
            filings[entry.accession] = replace(filing, items=items, parties=parties)
    return tuple(filings.values())


class _FeedReader(XmlReader):
    """Collects the entries. Each is a filing with one party."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.entries: list[FeedFiling] = []
        self.entry_errors: list[ParseError] = []
        # The texts of the open entry by element name, and the form that its category names.
        self._texts: dict[str, str] = {}
        self.open_handlers = {f"{_ATOM} feed": _FeedReader._open_feed}

    def _open_feed(self, name: str, attributes: Attributes) -> None:
        self.open_handlers = {f"{_ATOM} entry": _FeedReader._open_entry}

    def _open_entry(self, name: str, attributes: Attributes) -> None:
        if len(self.entries) + len(self.entry_errors) >= MAX_ENTRIES:
            raise self.build_error(f"more than {MAX_ENTRIES} entries")
        self._texts = {}
        self.open_handlers = {
            f"{_ATOM} title": _FeedReader._open_text,
            f"{_ATOM} summary": _FeedReader._open_text,
            f"{_ATOM} updated": _FeedReader._open_text,
            f"{_ATOM} id": _FeedReader._open_text,
            f"{_ATOM} category": _FeedReader._open_category,
        }
        self.call_on_close(self._close_entry)

    def _open_text(self, name: str, attributes: Attributes) -> None:
        self.collect_text(partial(self._set_text, local_name(name)), max_characters=MAX_TEXT)

    def _set_text(self, name: str, text: str) -> None:
        self._texts[name] = text.strip()

    def _open_category(self, name: str, attributes: Attributes) -> None:
        self._texts["form"] = self.get_required(attributes, "term").strip()

    def _close_entry(self) -> None:
        self.open_handlers = {f"{_ATOM} entry": _FeedReader._open_entry}
        try:
            self.entries.append(self._build_filing(self._texts))
        except ParseError as error:
            self.entry_errors.append(error)

    def _build_filing(self, texts: dict[str, str]) -> FeedFiling:
        for name in ("title", "summary", "updated", "id"):
            if name not in texts:
                raise self.build_error(f"an entry without its {name}")
        title = _TITLE.fullmatch(texts["title"])
        entry_id = _ID.fullmatch(texts["id"])
        filed = _FILED.search(texts["summary"])
        if title is None or entry_id is None or filed is None:
            raise self.build_error("an entry whose title, id or filing date is not in this feed's format")
        # Prefer the form in the category: the one in the title ends at the first " - ", which a form may contain.
        form = texts.get("form") or title["form"]
        if not _FORM.fullmatch(form):
            raise self.build_error(f"{form[:40]!r} is not a form")
        party = FeedParty(cik=int(title["cik"]), name=" ".join(title["name"].split()), role=title["role"])
        return FeedFiling(
            accession=entry_id[1],
            form=form,
            filed=self._parse_day(filed[1]),
            accepted=self._parse_time(texts["updated"]),
            items=tuple(dict.fromkeys(_ITEM.findall(texts["summary"]))),
            parties=(party,),
        )

    def _parse_day(self, text: str) -> str:
        try:
            return days.validate(text)
        except ValueError as error:
            raise self.build_error(str(error)) from None

    def _parse_time(self, text: str) -> str:
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                raise ValueError
            return eastern_time.format_utc(moment)
        except (ValueError, OverflowError):
            raise self.build_error(f"{text[:40]!r} is not a time with its offset") from None
