"""EDGAR's feed of what it has just accepted: ``browse-edgar?action=getcurrent&output=atom``.

Every party of a filing has an entry of its own, so that the 100 entries of a page are 47 to 78 filings; the
parties of one may stand on two pages. ``type=`` is a prefix: 4 is also 424B2. Times carry New York's offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from finapi.core import days
from finapi.core.errors import ParseError
from finapi.edgar.sgml import iso_utc
from finapi.edgar.xml_reader import Attributes, XmlReader, local_name

_ATOM = "http://www.w3.org/2005/Atom"

# Entries of a page: EDGAR gives 100 at most, and more would be something else.
MAX_ENTRIES = 1_000
MAX_TEXT = 4_000  # characters of a title or summary; real ones stay below 500

_TITLE = re.compile(r"(?P<form>\S.{0,29}?) - (?P<name>.+) \((?P<cik>[0-9]{10})\) \((?P<role>[A-Za-z ]{1,40})\)", re.S)
_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 /&.-]{0,29}")
_ID = re.compile(r"urn:tag:sec\.gov,2008:accession-number=([0-9]{10}-[0-9]{2}-[0-9]{6})")
_FILED = re.compile(r"Filed:</b>\s*([0-9]{4}-[0-9]{2}-[0-9]{2})")
_ITEM = re.compile(r"Item ([0-9]{1,2}\.[0-9]{2})\b")


@dataclass(frozen=True, slots=True)
class FeedParty:
    """A company or person of a filing; ``role`` as the feed says it ("Filer", "Issuer", "Filed by")."""

    cik: int
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class FeedFiling:
    """A filing that a page tells of; ``parties`` are those that stand on this page.

    ``accession`` with dashes, ``filed`` an ISO date, ``accepted`` in UTC, ``items`` of an 8-K by number.
    """

    accession: str
    form: str
    filed: str
    accepted: str
    items: tuple[str, ...]
    parties: tuple[FeedParty, ...]


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of the feed: ``filings`` in its order, newest first; how many ``entries`` it has.

    ``refused`` says what was wrong with each entry that could not be read.
    """

    filings: tuple[FeedFiling, ...]
    entry_count: int
    entry_errors: tuple[ParseError, ...] = ()


def parse_page(data: bytes, file: str) -> FeedPage:
    """Return a page of the feed.

    Raises ParseError, naming the line, for what is no Atom feed. An entry without a member that finapi reads, or
    whose accession number, form, CIK or times are none, is refused by itself, unless there is no other.
    """
    reader = _FeedReader(file)
    reader.read(data)
    if reader.refused and not reader.entries:
        raise reader.refused[0]
    count = len(reader.entries) + len(reader.refused)
    return FeedPage(merge_filings(reader.entries), count, tuple(reader.refused))


def merge_filings(told: Iterable[FeedFiling]) -> tuple[FeedFiling, ...]:
    """The filings in their order, each once, with the parties and items of all that was told of it."""
    found: dict[str, FeedFiling] = {}
    for filing in told:
        held = found.get(filing.accession)
        if held is None:
            found[filing.accession] = filing
        else:
            parties = tuple(dict.fromkeys((*held.parties, *filing.parties)))
            items = tuple(dict.fromkeys((*held.items, *filing.items)))
            found[filing.accession] = replace(held, items=items, parties=parties)
    return tuple(found.values())


class _FeedReader(XmlReader):
    """Collects the entries; of each the texts by element name, and the form that its category names."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.entries: list[FeedFiling] = []
        self.refused: list[ParseError] = []
        self._texts: dict[str, str] = {}
        self.opens = {f"{_ATOM} feed": _FeedReader._opened}

    def _opened(self, name: str, attributes: Attributes) -> None:
        self.opens = {f"{_ATOM} entry": _FeedReader._entry}

    def _entry(self, name: str, attributes: Attributes) -> None:
        if len(self.entries) + len(self.refused) >= MAX_ENTRIES:
            raise self.build_error(f"more than {MAX_ENTRIES} entries")
        self._texts = {}
        self.opens = {
            f"{_ATOM} title": _FeedReader._text_of,
            f"{_ATOM} summary": _FeedReader._text_of,
            f"{_ATOM} updated": _FeedReader._text_of,
            f"{_ATOM} id": _FeedReader._text_of,
            f"{_ATOM} category": _FeedReader._category,
        }
        self.on_close(self._end_of_entry)

    def _text_of(self, name: str, attributes: Attributes) -> None:
        self.collect(lambda text: self._texts.update({local_name(name): text.strip()}), limit=MAX_TEXT)

    def _category(self, name: str, attributes: Attributes) -> None:
        self._texts["form"] = self.get_required(attributes, "term").strip()

    def _end_of_entry(self) -> None:
        self.opens = {f"{_ATOM} entry": _FeedReader._entry}
        try:
            self.entries.append(self._filing(self._texts))
        except ParseError as error:
            self.refused.append(error)

    def _filing(self, texts: dict[str, str]) -> FeedFiling:
        for name in ("title", "summary", "updated", "id"):
            if name not in texts:
                raise self.build_error(f"an entry without its {name}")
        title = _TITLE.fullmatch(texts["title"])
        number = _ID.fullmatch(texts["id"])
        filed = _FILED.search(texts["summary"])
        if title is None or number is None or filed is None:
            raise self.build_error("an entry whose title, id or filing date is not in this feed's format")
        # The category has the form alone; a title's could hold " - " itself.
        form = texts.get("form") or title["form"]
        if not _FORM.fullmatch(form):
            raise self.build_error(f"{form[:40]!r} is not a form")
        party = FeedParty(int(title["cik"]), " ".join(title["name"].split()), title["role"])
        items = tuple(dict.fromkeys(_ITEM.findall(texts["summary"])))
        return FeedFiling(number[1], form, self._day(filed[1]), self._moment(texts["updated"]), items, (party,))

    def _day(self, text: str) -> str:
        try:
            return days.validate(text)
        except ValueError as error:
            raise self.build_error(str(error)) from None

    def _moment(self, text: str) -> str:
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                raise ValueError
            return iso_utc(moment)
        except (ValueError, OverflowError):
            raise self.build_error(f"{text[:40]!r} is not a time with its offset") from None
