"""The comparison with printed lines on a whole quarter: 300 lines that were judged by hand, and faces that do not add
up."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from finapi.edgar import document_kinds
from finapi.market.documents import sources
from finapi.market.documents.sources import Entry
from finapi.market.statements.statement_set_intake import NUM
from tests.conftest import SHARED, needs_shared
from tests.measure import printed
from tests.measure.agreement import rows_of
from tests.measure.printed import PrintedLine

MEASURE = Path(printed.__file__).parent


def table(name: str) -> list[dict[str, str]]:
    text = (MEASURE / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


JUDGED = table("judged.tsv")
RULES = {rule.metric: rule for rule in printed.RULES}


@pytest.fixture(scope="module")
def quarter() -> Iterator[dict[str, Entry]]:
    """The tables of a data set, as long as its zip is open."""
    for group in sources.iter_groups([SHARED / "edgar" / "fsds" / "2009q3.zip"]):
        assert isinstance(group, sources.Group)
        yield {
            document_kinds.detect_kind(one.read(document_kinds.MAX_PREFIX_BYTES), one.name): one
            for one in group.entries
        }


def test_three_hundred_lines_are_judged_by_hand_and_no_rule_is_wrong_about_one() -> None:
    assert len(JUDGED) == 300
    assert [row["label"] for row in JUDGED if row["by_rules"] not in ("-", row["judged"])] == []
    # Where a statement has several lines that may be meant, rules leave all of them out.
    left_out = [row["label"] for row in JUDGED if row["by_rules"] == "-" and row["judged"] != "-"]
    assert len(left_out) == 4
    assert {row["by_rules"] for row in JUDGED} == {*RULES, "-"}


@pytest.mark.parametrize("metric", RULES)
def test_a_judged_label_is_known_by_itself(metric: str) -> None:
    labels = [row["label"] for row in JUDGED if row["by_rules"] == metric]
    for label in labels:
        line = PrintedLine("x", label, {("20090630", 1): Decimal(1)}, RULES[metric].unit)
        assert printed.chosen(RULES[metric], [line]) == line, label


@needs_shared
@pytest.mark.slow
def test_the_rules_choose_the_judged_lines_of_the_quarter(quarter: dict[str, Entry]) -> None:
    wanted: dict[tuple[str, str, str], str] = {
        (row["accession"], row["statement"], row["label"]): row["by_rules"] for row in JUDGED
    }
    found: dict[tuple[str, str, str], set[str]] = {}
    pages = {place[:2] for place in wanted}
    for one in printed.filings(quarter):
        for rule in printed.RULES:
            if (one.accession, rule.statement) not in pages:
                continue
            line = printed.chosen(rule, one.statements.get(rule.statement, ()))
            if line is not None:
                found.setdefault((one.accession, rule.statement, line.label), set()).add(rule.metric)
    for place, metric in wanted.items():
        assert (metric in found[place]) if metric != "-" else place not in found, place


@needs_shared
@pytest.mark.slow
def test_faces_that_do_not_add_up_are_named_with_both_sums(quarter: dict[str, Entry]) -> None:
    sides: dict[tuple[str, str], dict[str, Decimal]] = {}
    for row in rows_of(quarter[NUM]):
        whole = row["value"] and row["qtrs"] == "0" and not (row["coreg"] or row.get("segments"))
        if whole and row["tag"] in ("Assets", "LiabilitiesAndStockholdersEquity"):
            sides.setdefault((row["adsh"], row["ddate"]), {})[row["tag"]] = Decimal(row["value"])
    pairs = {place: tuple(of[tag] for tag in sorted(of)) for place, of in sides.items() if len(of) == 2}
    off = {place: of for place, of in pairs.items() if of[0] != of[1]}
    assert (len(pairs), len(off)) == (870, 4)
    named = {
        (row["accession"], row["day"]): (Decimal(row["assets"]), Decimal(row["liabilities_and_equity"]))
        for row in table("off.tsv")
    }
    assert off == named
