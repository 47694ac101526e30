"""The comparison with printed lines on a full quarter.

It uses 404 lines that were judged by hand, and lists the balance sheets that do not balance.
"""

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
from tests.measure.agreement import iter_table_rows
from tests.measure.printed import PrintedLine
from tests.support.case_tables import run_each_case

MEASURE = Path(printed.__file__).parent


def read_table(name: str) -> list[dict[str, str]]:
    text = (MEASURE / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


JUDGED = read_table("judged.tsv")
RULES = {rule.metric: rule for rule in printed.RULES}


@pytest.fixture(scope="module")
def quarter() -> Iterator[dict[str, Entry]]:
    """Yield the tables of a data set while its zip is open."""
    for group in sources.iter_groups([SHARED / "edgar" / "fsds" / "2009q3.zip"]):
        assert isinstance(group, sources.Group)
        yield {
            document_kinds.detect_kind(entry.read(document_kinds.MAX_PREFIX_BYTES), entry.name): entry
            for entry in group.entries
        }


def test_no_rule_contradicts_a_line_judged_by_hand() -> None:
    assert len(JUDGED) == 404
    assert [row["label"] for row in JUDGED if row["by_rules"] not in ("-", row["judged"])] == []
    # Where a statement has several lines that may be meant, rules leave all of them out.
    left_out = [row["label"] for row in JUDGED if row["by_rules"] == "-" and row["judged"] != "-"]
    assert len(left_out) == 4
    # Balance sheets of 2009 have no operating leases.
    assert {row["by_rules"] for row in JUDGED} == {*RULES, "-"} - {"operating_lease_liability"}


@run_each_case("metric", RULES)
def test_a_judged_label_is_recognised_by_its_rule(metric: str) -> None:
    labels = [row["label"] for row in JUDGED if row["by_rules"] == metric]
    for label in labels:
        line = PrintedLine("x", label, {("20090630", 1): Decimal(1)}, RULES[metric].unit)
        assert printed.choose_line(RULES[metric], [line]) == line, label


@needs_shared
@pytest.mark.slow
def test_the_rules_choose_the_judged_lines_of_a_quarter(quarter: dict[str, Entry]) -> None:
    judged_metrics: dict[tuple[str, str, str], str] = {
        (row["accession"], row["statement"], row["label"]): row["by_rules"] for row in JUDGED
    }
    chosen_metrics: dict[tuple[str, str, str], set[str]] = {}
    pages = {line_key[:2] for line_key in judged_metrics}
    for filing in printed.iter_printed_filings(quarter):
        for rule in printed.RULES:
            if (filing.accession, rule.statement) not in pages:
                continue
            line = printed.choose_line(rule, filing.statements.get(rule.statement, ()))
            if line is not None:
                chosen_metrics.setdefault((filing.accession, rule.statement, line.label), set()).add(rule.metric)
    for line_key, metric in judged_metrics.items():
        assert (metric in chosen_metrics[line_key]) if metric != "-" else line_key not in chosen_metrics, line_key


@needs_shared
@pytest.mark.slow
def test_balance_sheets_that_do_not_balance_are_listed(quarter: dict[str, Entry]) -> None:
    sides: dict[tuple[str, str], dict[str, Decimal]] = {}
    for row in iter_table_rows(quarter[NUM]):
        is_consolidated = row["value"] and row["qtrs"] == "0" and not (row["coreg"] or row.get("segments"))
        if is_consolidated and row["tag"] in ("Assets", "LiabilitiesAndStockholdersEquity"):
            sides.setdefault((row["adsh"], row["ddate"]), {})[row["tag"]] = Decimal(row["value"])
    pairs = {
        balance_key: tuple(totals[tag] for tag in sorted(totals))
        for balance_key, totals in sides.items()
        if len(totals) == 2
    }
    differences = {balance_key: pair for balance_key, pair in pairs.items() if pair[0] != pair[1]}
    assert (len(pairs), len(differences)) == (870, 4)
    known_differences = {
        (row["accession"], row["day"]): (Decimal(row["assets"]), Decimal(row["liabilities_and_equity"]))
        for row in read_table("off.tsv")
    }
    assert differences == known_differences
