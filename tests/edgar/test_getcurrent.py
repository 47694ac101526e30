"""The parser of EDGAR's feed of new filings."""

from __future__ import annotations

import re

import pytest

from finapi.core.errors import ParseError
from finapi.edgar import getcurrent
from finapi.edgar.getcurrent import FeedFiling, FeedPage, FeedParty
from tests.conftest import SHARED, needs_shared
from tests.support.case_tables import run_each_case
from tests.support.edgar_server import entry, feed

ACCESSION = "0000320193-26-000001"
FEEDS = SHARED / "edgar" / "feeds"


def test_entries_of_a_filing_are_merged() -> None:
    data = feed(
        entry(ACCESSION, form="4", cik=1214156, name="COOK TIMOTHY D", role="Reporting"),
        entry(ACCESSION, form="4", role="Issuer"),
        entry("0000320193-26-000002", form="8-K", items="2.02,9.01", accepted="2026-01-31T06:29:59-05:00"),
    )
    assert getcurrent.parse_page(data, "f") == FeedPage(
        (
            FeedFiling(
                ACCESSION,
                "4",
                "2026-01-31",
                "2026-01-31T11:30:00.000Z",
                (),
                (FeedParty(1214156, "COOK TIMOTHY D", "Reporting"), FeedParty(320193, "Apple Inc.", "Issuer")),
            ),
            FeedFiling(
                "0000320193-26-000002",
                "8-K",
                "2026-01-31",
                "2026-01-31T11:29:59.000Z",
                ("2.02", "9.01"),
                (FeedParty(320193, "Apple Inc.", "Filer"),),
            ),
        ),
        3,
    )


def test_page_may_be_empty() -> None:
    assert getcurrent.parse_page(feed(), "f") == FeedPage((), 0)


def test_name_may_contain_the_separators_of_a_title() -> None:
    name = "Société Générale - X (Y) &amp; Co. (0000000001)"
    (filing,) = getcurrent.parse_page(feed(entry(ACCESSION, form="SC 13D/A", name=name)), "f").filings
    assert filing.parties == (FeedParty(320193, "Société Générale - X (Y) & Co. (0000000001)", "Filer"),)
    assert filing.form == "SC 13D/A"


def test_the_category_states_the_form_and_else_the_title() -> None:
    text = entry(ACCESSION, form="8-K")
    without_category = re.sub("<category[^>]*>", "", text)
    with_other_category = text.replace('term="8-K"', 'term="8-K/A"')
    forms = [filing.form for part in (without_category, with_other_category) for filing in parse_filings(part)]
    assert forms == ["8-K", "8-K/A"]


def parse_filings(text: str) -> tuple[FeedFiling, ...]:
    return getcurrent.parse_page(feed(text), "f").filings


@pytest.mark.parametrize(
    ("accepted", "utc"),
    [
        ("2025-07-01T18:02:43-04:00", "2025-07-01T22:02:43.000Z"),
        ("2025-12-31T23:30:00-05:00", "2026-01-01T04:30:00.000Z"),
    ],
)
def test_times_are_converted_to_utc(accepted: str, utc: str) -> None:
    (filing,) = getcurrent.parse_page(feed(entry(ACCESSION, accepted=accepted)), "f").filings
    assert filing.accepted == utc


@run_each_case(
    "data, reason",
    [
        (b"", "no element found"),
        (b"<html><body>SEC.gov | Request Rate Threshold Exceeded</body></html>", "the root element is html"),
        (feed(entry(ACCESSION))[:-20], "unclosed token|no element found"),
        (b'<!DOCTYPE feed [<!ENTITY x "y">]>' + feed(), "XML or text declaration not at start|document type"),
        (feed(entry(ACCESSION).replace("<updated>", "<!--").replace("</updated>", "-->")), "without its updated"),
        (feed(entry(ACCESSION).replace(ACCESSION + "</id>", "1-2-3</id>")), "title, id or filing date"),
        (feed(entry(ACCESSION).replace("(Filer)", "")), "title, id or filing date"),
        (feed(entry(ACCESSION, accepted="2026-01-31T06:30:00")), "not a time with its offset"),
        (feed(entry(ACCESSION, accepted="2026-13-31T06:30:00-05:00")), "not a date|time with its offset|month"),
        (feed(entry(ACCESSION, form="&lt;b&gt;")), "is not a form"),
        (feed(entry(ACCESSION, name="x" * 5000)), "a text is longer than this reader accepts"),
        (feed(*[entry(f"0000320193-26-{number:06}") for number in range(1001)]), "more than 1000 entries"),
    ],
)
def test_invalid_feed_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ParseError, match=reason) as caught:
        getcurrent.parse_page(data, "the feed")
    assert caught.value.file == "the feed"


def test_invalid_entry_is_left_out() -> None:
    invalid_entry = entry("0000320193-26-000002").replace("(Filer)", "")
    page = getcurrent.parse_page(feed(entry(ACCESSION), invalid_entry, entry("0000320193-26-000003")), "f")
    assert [filing.accession for filing in page.filings] == [ACCESSION, "0000320193-26-000003"]
    assert page.entry_count == 3
    (error,) = page.entry_errors
    assert error.reason == "an entry whose title, id or filing date is not in this feed's format"


def test_invalid_entries_count_towards_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = [entry(f"0000320193-26-{number:06}") for number in range(1, 5)]
    entries[0] = entries[0].replace("(Filer)", "")
    monkeypatch.setattr(getcurrent, "MAX_ENTRIES", 3)
    assert len(getcurrent.parse_page(feed(*entries[:3]), "f").filings) == 2
    with pytest.raises(ParseError, match="more than 3 entries"):
        getcurrent.parse_page(feed(*entries), "f")


# Distinct accession numbers among the 100 entries of each page, counted with grep.
FILING_COUNTS = {
    "getcurrent_20251212T180234_start0.atom": 47,
    "getcurrent_20251212T180331_start0.atom": 50,
    "getcurrent_20251212T180331_start100.atom": 63,
    "getcurrent_20251212T180331_start2600.atom": 78,
    "getcurrent_20251212_type4_start100.atom": 59,
}


@needs_shared
@run_each_case("name, filings", FILING_COUNTS.items())
def test_recorded_page_has_its_filings(name: str, filings: int) -> None:
    data = (FEEDS / name).read_bytes()
    page = getcurrent.parse_page(data, name)
    numbers = {part.split(b"<")[0] for part in data.split(b"accession-number=")[1:]}
    assert (page.entry_count, len(page.filings)) == (100, filings)
    assert {filing.accession.encode() for filing in page.filings} == numbers
    # Some parties are listed twice on a page.
    assert filings < sum(len(filing.parties) for filing in page.filings) <= 100
    assert all(filing.accepted.startswith("2025-12-12T") for filing in page.filings)


@needs_shared
def test_recorded_filing_has_its_values() -> None:
    data = (FEEDS / "getcurrent_20251212T180331_start0.atom").read_bytes()
    assert getcurrent.parse_page(data, "f").filings[0] == FeedFiling(
        "0002063236-25-000004",
        "4",
        "2025-12-12",
        "2025-12-12T23:02:43.000Z",
        (),
        (FeedParty(2063236, "Perez Daniel Antonio", "Reporting"), FeedParty(1673743, "Hinge Health, Inc.", "Issuer")),
    )


def test_items_of_a_form_d_are_codes() -> None:
    page = feed(entry("0000320193-26-000003", form="D", items="06b,3C,3C.7,1.02"))
    (filing,) = getcurrent.parse_page(page, "feed").filings
    assert filing.items == ("06b", "3C", "3C.7", "1.02")
