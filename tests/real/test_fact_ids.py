"""The ids of facts on inline pages, and the printed numbers there, read by an independent reader.

Pages are those of the SEC's own filings and one with each format of numbers. Of four further filings only the extracted
instances are here, which state the ids of their pages.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

from finapi.app import App
from finapi.edgar.document_kinds import detect_kind
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from tests.conftest import needs_shared
from tests.real import EDGAR, UPXI
from tests.support.inline_pages import COVER, HIDDEN_COVER, build_number, build_page
from tests.support.printed_numbers import compute_value, read_elements

ID_SHARE = Decimal("0.995")  # The least share of the ids of stored facts that resolve.
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
STORED_FACTS = """
SELECT concepts.name AS concept, units.name AS unit, facts.value, fact_elements.element_id
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id AND filings.accession = ?
JOIN facts ON facts.fact_set_id = fact_sets.id
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id
LEFT JOIN fact_elements USING (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
"""
FORMATTED_NUMBERS = (
    ("1,234.5", 'format="ixt:num-dot-decimal" scale="3"', "1234500"),
    ("1.234,5", 'format="ixt:num-comma-decimal" scale="6" sign="-"', "-1234500000"),
    ("\N{EM DASH}", 'format="ixt:fixed-zero" scale="6"', "0"),
    ("twenty", 'format="ixt-sec:numwordsen" scale="-2"', "0.20"),
    ("<b>7</b><span>,5</span>00", 'format="ixt:num-dot-decimal" sign="-"', "-7500"),
    ("12.5", 'scale="-2" sign="-"', "-0.125"),
)


class StoredFact(NamedTuple):
    """A stored fact. The unit of a text is empty."""

    concept: str
    unit: str
    value: str | None
    element_id: str | None


class Counts(NamedTuple):
    """The numbers of facts with an id, of ids that resolve, and of numbers that are equal to the printed ones."""

    ids: int
    resolved_ids: int
    equal_numbers: int


def ingest_filing(app: App, folder: Path) -> list[StoredFact]:
    """Ingest the documents of a folder as one filing, and return its stored facts."""
    outcomes: list[Outcome] = []
    ingest.run(app, [folder], IngestOptions(), outcomes.append)
    accession = next(outcome.accession for outcome in outcomes if outcome.accession)
    with app.db.read() as tx:
        return [StoredFact(*row) for row in tx._connection.execute(STORED_FACTS, (accession,))]


def compare_with_page(page: bytes, facts: list[StoredFact]) -> Counts:
    """Compare facts with the elements of their page. Fail for an element of another concept or with another number."""
    elements = read_elements(page)
    ids = [fact for fact in facts if fact.element_id is not None]
    resolved = [(fact, elements[fact.element_id]) for fact in ids if fact.element_id in elements]
    numbers = 0
    for fact, element in resolved:
        assert element.attributes["name"] == fact.concept
        if fact.unit == "":
            assert element.tag == "ix:nonnumeric"
            continue
        assert element.tag == "ix:nonfraction"
        if element.attributes.get("xsi:nil") == "true":
            assert fact.value is None
            continue
        assert fact.value is not None
        assert compute_value(element) == Decimal(fact.value), fact
        numbers += 1
    return Counts(len(ids), len(resolved), numbers)


@needs_shared
@pytest.mark.slow
def test_ids_of_real_pages_resolve_to_their_numbers(app: App) -> None:
    counts: dict[str, Counts] = {}
    for path in sorted((EDGAR / "xbrl").glob("*/*.htm")):
        page = path.read_bytes()
        if detect_kind(page, path.name) == "inline-html":
            counts[path.name] = compare_with_page(page, ingest_filing(app, path.parent))
    for page_counts in counts.values():
        assert page_counts.resolved_ids >= ID_SHARE * page_counts.ids
    # Two of the 614 facts with a unit are empty (nil), and 67 facts are texts.
    assert counts["aapl-20250329.htm"] == Counts(ids=681, resolved_ids=681, equal_numbers=612)


def test_ids_of_each_format_resolve_to_their_numbers(app: App, tmp_path: Path) -> None:
    numbers = [
        build_number(text, name=f"brk:Line{index}", attributes=f'{attributes} decimals="INF" id="line {index}"')
        for index, (text, attributes, _) in enumerate(FORMATTED_NUMBERS)
    ]
    numbers.append(build_number("9", name="brk:WithoutId", attributes='decimals="INF"'))
    page = build_page(COVER + "".join(numbers), hidden=HIDDEN_COVER)
    folder = tmp_path / "0001234567-25-000001"
    folder.mkdir()
    (folder / "brk-20241231.htm").write_bytes(page)
    facts = ingest_filing(app, folder)
    # Three texts of the cover, and three in its hidden part.
    assert compare_with_page(page, facts) == Counts(ids=6 + 6, resolved_ids=12, equal_numbers=6)
    values = {fact.concept: fact.value for fact in facts}
    for index, (_, _, value) in enumerate(FORMATTED_NUMBERS):
        assert Decimal(values[f"brk:Line{index}"] or "nil") == Decimal(value)
    assert [fact.element_id for fact in facts if fact.concept == "brk:WithoutId"] == [None]
    other_page = page.replace(b"1,234.5", b"1,234.6")
    with pytest.raises(AssertionError, match="line 0"):
        compare_with_page(other_page, facts)
    assert compare_with_page(page.replace(b'id="line 5"', b""), facts).resolved_ids == 11


@needs_shared
@pytest.mark.slow
def test_ids_of_real_instances_are_those_of_their_facts(app: App) -> None:
    id_count = 0
    facts_without_id = 0
    for path in sorted((EDGAR / "xbrl").glob("*/*_htm.xml")):
        elements = {element.get("id"): element for element in ET.parse(path).iter() if element.get("contextRef")}
        for fact in ingest_filing(app, path.parent):
            if fact.element_id is None:
                assert path.parent.name == UPXI
                facts_without_id += 1
                continue
            element = elements[fact.element_id]
            assert element.tag.rpartition("}")[2] == fact.concept.rpartition(":")[2]
            if fact.unit and element.get(NIL) != "true":
                assert fact.value is not None
                assert Decimal(element.text or "") == Decimal(fact.value), fact
            id_count += 1
    assert id_count == 1028 + 1001 + 681 + 918 + 648 + 1125
    # Ids such as ixv-21370 are made by the extraction, for elements of the page without an id.
    assert facts_without_id == 63
