"""The differences between two versions of the mapping: cells before and after, with their tags and rules."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.cli import perform
from finapi.store.datadir import Command
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts, store_companyfacts

YEAR = {
    "start": "2018-10-01",
    "end": "2019-09-30",
    "accn": "0000000001-19-000001",
    "form": "10-K",
    "filed": "2019-10-31",
}
DAY = {name: value for name, value in YEAR.items() if name != "start"}
# Concept, value and period.
FACTS = [
    ("NetCashProvidedByUsedInOperatingActivities", 100, YEAR),
    ("PaymentsToAcquirePropertyPlantAndEquipment", 30, YEAR),
    ("PaymentsToAcquireProductiveAssets", 75, YEAR),
    ("ResearchAndDevelopmentExpense", 7, YEAR),
    ("InterestExpenseDebt", 5, YEAR),
    ("Goodwill", 9, DAY),
]
CURRENT_MAPPING = resources.files("finapi.market.financials").joinpath("metrics.toml").read_text(encoding="utf-8")


@pytest.fixture
def directory(app: App, tmp_path: Path) -> Path:
    """Return a directory, next to a database with one company."""
    facts = [(f"us-gaap:{tag}", "USD", {**row, "val": value}) for tag, value, row in FACTS]
    store_companyfacts(app, build_companyfacts(1, "Acme Inc.", facts))
    return tmp_path


def run_verb(app: App, directory: Path, *words: str) -> tuple[int, list[str], list[str]]:
    """Return the exit status of a verb and its lines on both streams."""
    output: dict[str, list[str]] = {"out": [], "err": [], "progress": []}
    command = Command(["mapping", *words], str(directory), "", "root")
    status = perform(app, command, lambda stream, text: output[stream].append(text))
    return status, output["out"], output["err"]


def write_mapping(directory: Path, *changes: tuple[str, str]) -> str:
    """Write another version of the mapping. Return the name of its file."""
    text = CURRENT_MAPPING
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (directory / "other.toml").write_text(text, encoding="utf-8")
    return "other.toml"


# Productive assets before plant; no tag for research, nor for interest.
OTHER = (
    (
        '"PaymentsToAcquirePropertyPlantAndEquipment PaymentsToAcquireProductiveAssets ',
        '"PaymentsToAcquireProductiveAssets PaymentsToAcquirePropertyPlantAndEquipment ',
    ),
    ('"ResearchAndDevelopmentExpense ifrs:', '"ifrs:'),
    ('"InterestExpenseDebt FinancingInterestExpense', '"FinancingInterestExpense'),
)


def test_a_diff_shows_tags_and_rules_of_changed_cells(app: App, directory: Path) -> None:
    status, out, err = run_verb(app, directory, "diff", write_mapping(directory, *OTHER))
    assert (status, err) == (0, [])
    capex = out.index("Acme Inc. A 2019 FY 2019-09-30 capex: 75 -> 30")
    rule = "PaymentsToAcquirePropertyPlantAndEquipment PaymentsToAcquireProductiveAssets "
    assert out[capex + 1].startswith(
        "  before: +us-gaap:PaymentsToAcquireProductiveAssets of 0000000001-19-000001 by rule 1: PaymentsToAcquireProd"
    )
    assert out[capex + 2].startswith(
        f"  after: +us-gaap:PaymentsToAcquirePropertyPlantAndEquipment of 0000000001-19-000001 by rule 1: {rule}"
    )
    flow = out.index("Acme Inc. A 2019 FY 2019-09-30 free_cashflow: 25 -> 70")
    assert out[flow + 1] == "  for capex"
    assert "Acme Inc. A 2019 FY 2019-09-30 research_and_development: (not_reported) -> 7" in out
    assert [line.split() for line in out[-4:]] == [
        ["capex", "1", "0", "0", "0", "0"],
        ["free_cashflow", "1", "0", "0", "0", "0"],
        ["interest_expense", "0", "1", "0", "0", "0"],
        ["research_and_development", "0", "1", "0", "0", "0"],
    ]
    assert out[-6].startswith("4 of ")
    assert out[-6].endswith("cells changed; from other lines, with the same value: 0")


def test_two_mapping_files_are_compared_in_order(app: App, directory: Path) -> None:
    other = write_mapping(directory, *OTHER)
    (directory / "now.toml").write_text(CURRENT_MAPPING, encoding="utf-8")
    out = run_verb(app, directory, "diff", "now.toml", other)[1]
    assert "Acme Inc. A 2019 FY 2019-09-30 capex: 30 -> 75" in out
    assert "Acme Inc. A 2019 FY 2019-09-30 research_and_development: 7 -> (not_reported)" in out


def test_saved_cells_are_compared_with_current_ones(app: App, directory: Path) -> None:
    assert run_verb(app, directory, "save", "cells")[0] == 0
    unchanged = run_verb(app, directory, "diff", "cells", "--json")[1]
    assert json.loads(unchanged[0])["changed"] == {}
    # As an earlier version saved them: another value, and without a metric that was added since.
    saved_cells = json.loads((directory / "cells").read_text())
    saved_cells["cells"]["A 2019 FY 2019-09-30 goodwill"]["value"] = "8"
    saved_cells["cells"] = {name: cell for name, cell in saved_cells["cells"].items() if "capex" not in name}
    saved_cells["cells"]["A 2019 FY 2019-09-30 interest_expense"]["concepts"] = ["+us-gaap:InterestPaid"]
    (directory / "cells").write_text(json.dumps(saved_cells) + "\n")
    diff = json.loads(run_verb(app, directory, "diff", "cells", "--json")[1][0])
    assert (diff["changed"], diff["moved"]) == ({"capex filled": 1, "goodwill other": 1}, 1)
    changes: dict[str, Any] = {change["cell"].rpartition(" ")[2]: change for change in diff["changes"]}
    assert (changes["goodwill"]["before"]["value"], changes["goodwill"]["after"]["value"]) == ("8", "9")
    assert changes["capex"]["before"]["reason"] == "no such metric"
    assert changes["capex"]["after"]["concepts"] == ["+us-gaap:PaymentsToAcquirePropertyPlantAndEquipment"]


def test_the_limit_bounds_printed_cells_and_not_the_counts(app: App, directory: Path) -> None:
    out = run_verb(app, directory, "diff", write_mapping(directory, *OTHER), "--most", "1")[1]
    assert sum(line.startswith("Acme") for line in out) == 1
    assert any(line.startswith("4 of ") for line in out)


def test_only_companies_that_a_file_lists_are_compared(app: App, directory: Path) -> None:
    store_companyfacts(app, build_companyfacts(2, "Beta", [("us-gaap:NetIncomeLoss", "USD", {**YEAR, "val": 1})]))
    (directory / "list").write_text("0000000001\n")
    first = json.loads(
        run_verb(app, directory, "diff", write_mapping(directory, *OTHER), "--companies", "list", "--json")[1][0]
    )
    every = json.loads(run_verb(app, directory, "diff", "other.toml", "--json")[1][0])
    assert first["cells"] < every["cells"]


@run_each_case(
    "text, why",
    [
        ("version = 1", "is neither a mapping nor saved cells: 'metric'"),
        ("version =", "is neither a mapping nor saved cells: "),
        (
            CURRENT_MAPPING.replace('statement = "balance_sheet"', 'statement = "nothing"'),
            "is nothing, which does not exist",
        ),
        (CURRENT_MAPPING.replace("face = '", "face = '(", 1), "is neither a mapping nor saved cells: missing )"),
        (CURRENT_MAPPING.replace("face = '", "face = 'a{99999999999}", 1), "is neither a mapping nor saved cells: "),
        (
            CURRENT_MAPPING.replace("[labels]", "[labels]\nown = '<own>'").replace("face = '", "face = '<own>", 1),
            "maximum recursion",
        ),
    ],
)
def test_an_invalid_mapping_file_is_refused(app: App, directory: Path, text: str, why: str) -> None:
    (directory / "bad.toml").write_text(text, encoding="utf-8")
    status, out, err = run_verb(app, directory, "diff", "bad.toml")
    assert (status, out) == (2, [])
    assert why in err[0]


def test_a_missing_or_foreign_file_is_refused(app: App, directory: Path) -> None:
    (directory / "text").write_text("no cells\n")
    assert run_verb(app, directory, "diff", "nothing.toml")[2] == [
        f"finapi: {directory}/nothing.toml: No such file or directory"
    ]
    assert "is neither a mapping nor saved cells" in run_verb(app, directory, "diff", "text")[2][0]
    assert run_verb(app, directory, "save", "text")[2] == [f"finapi: {directory}/text: File exists"]
    assert (directory / "text").read_text() == "no cells\n"
