"""What two versions of the mapping tell otherwise: each cell before and after, and the tags and rules behind it."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.cli import perform
from tests.figures import document, store

YEAR = {
    "start": "2018-10-01",
    "end": "2019-09-30",
    "accn": "0000000001-19-000001",
    "form": "10-K",
    "filed": "2019-10-31",
}
DAY = {name: value for name, value in YEAR.items() if name != "start"}
# concept, value
TOLD = [
    ("NetCashProvidedByUsedInOperatingActivities", 100, YEAR),
    ("PaymentsToAcquirePropertyPlantAndEquipment", 30, YEAR),
    ("PaymentsToAcquireProductiveAssets", 75, YEAR),
    ("ResearchAndDevelopmentExpense", 7, YEAR),
    ("InterestExpenseDebt", 5, YEAR),
    ("Goodwill", 9, DAY),
]
NOW = resources.files("finapi.market.financials").joinpath("metrics.toml").read_text(encoding="utf-8")


@pytest.fixture
def place(app: App, tmp_path: Path) -> Path:
    """A directory, beside a store with one company."""
    facts = [(f"us-gaap:{tag}", "USD", {**row, "val": value}) for tag, value, row in TOLD]
    store(app, document(1, "Acme Inc.", facts))
    return tmp_path


def run(app: App, place: Path, *words: str) -> tuple[int, list[str], list[str]]:
    """A verb's exit status, and what it said on both streams."""
    said: dict[str, list[str]] = {"out": [], "err": [], "progress": []}
    status = perform(app, ["mapping", *words], str(place), "", lambda stream, text: said[stream].append(text))
    return status, said["out"], said["err"]


def edited(place: Path, *changes: tuple[str, str]) -> str:
    """Another version of the mapping, as a file."""
    text = NOW
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (place / "other.toml").write_text(text, encoding="utf-8")
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


def test_each_cell_that_changes_is_told_with_tags_and_rules_before_and_after(app: App, place: Path) -> None:
    status, out, err = run(app, place, "diff", edited(place, *OTHER))
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
    assert out[-6].endswith("cells change; 0 stay and are of other lines")


def test_two_files_are_compared_in_their_order(app: App, place: Path) -> None:
    other = edited(place, *OTHER)
    (place / "now.toml").write_text(NOW, encoding="utf-8")
    out = run(app, place, "diff", "now.toml", other)[1]
    assert "Acme Inc. A 2019 FY 2019-09-30 capex: 30 -> 75" in out
    assert "Acme Inc. A 2019 FY 2019-09-30 research_and_development: 7 -> (not_reported)" in out


def test_cells_that_were_saved_are_compared_with_what_is_told_now(app: App, place: Path) -> None:
    assert run(app, place, "save", "cells")[0] == 0
    same = run(app, place, "diff", "cells", "--json")[1]
    assert json.loads(same[0])["changed"] == {}
    # As an earlier program told them: another value, and a metric that is known since.
    told = json.loads((place / "cells").read_text())
    told["cells"]["A 2019 FY 2019-09-30 goodwill"]["value"] = "8"
    told["cells"] = {name: cell for name, cell in told["cells"].items() if "capex" not in name}
    told["cells"]["A 2019 FY 2019-09-30 interest_expense"]["concepts"] = ["+us-gaap:InterestPaid"]
    (place / "cells").write_text(json.dumps(told) + "\n")
    found = json.loads(run(app, place, "diff", "cells", "--json")[1][0])
    assert (found["changed"], found["moved"]) == ({"capex filled": 1, "goodwill other": 1}, 1)
    changes: dict[str, Any] = {one["cell"].rpartition(" ")[2]: one for one in found["changes"]}
    assert (changes["goodwill"]["before"]["value"], changes["goodwill"]["after"]["value"]) == ("8", "9")
    assert changes["capex"]["before"]["reason"] == "no such metric"
    assert changes["capex"]["after"]["concepts"] == ["+us-gaap:PaymentsToAcquirePropertyPlantAndEquipment"]


def test_as_many_cells_are_printed_as_are_asked_for_and_all_are_counted(app: App, place: Path) -> None:
    out = run(app, place, "diff", edited(place, *OTHER), "--most", "1")[1]
    assert sum(line.startswith("Acme") for line in out) == 1
    assert any(line.startswith("4 of ") for line in out)


def test_only_companies_that_a_file_lists_are_compared(app: App, place: Path) -> None:
    store(app, document(2, "Beta", [("us-gaap:NetIncomeLoss", "USD", {**YEAR, "val": 1})]))
    (place / "list").write_text("0000000001\n")
    first = json.loads(run(app, place, "diff", edited(place, *OTHER), "--companies", "list", "--json")[1][0])
    every = json.loads(run(app, place, "diff", "other.toml", "--json")[1][0])
    assert first["cells"] < every["cells"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("version = 1", "is neither a mapping nor saved cells: 'metric'"),
        ("version =", "is neither a mapping nor saved cells: "),
        (
            NOW.replace('statement = "balance_sheet"', 'statement = "nothing"'),
            "stands on nothing, which is not a statement",
        ),
        (NOW.replace("face = '", "face = '(", 1), "is neither a mapping nor saved cells: missing )"),
        (NOW.replace("face = '", "face = 'a{99999999999}", 1), "is neither a mapping nor saved cells: "),
        (
            NOW.replace("[labels]", "[labels]\nown = '<own>'").replace("face = '", "face = '<own>", 1),
            "maximum recursion",
        ),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(app: App, place: Path, text: str, why: str) -> None:
    (place / "bad.toml").write_text(text, encoding="utf-8")
    status, out, err = run(app, place, "diff", "bad.toml")
    assert (status, out) == (2, [])
    assert why in err[0]


def test_a_file_that_is_not_there_or_holds_something_else_is_refused(app: App, place: Path) -> None:
    (place / "text").write_text("no cells\n")
    assert run(app, place, "diff", "nothing.toml")[2] == [f"finapi: {place}/nothing.toml: No such file or directory"]
    assert "is neither a mapping nor saved cells" in run(app, place, "diff", "text")[2][0]
    assert run(app, place, "save", "text")[2] == [f"finapi: {place}/text: File exists"]
    assert (place / "text").read_text() == "no cells\n"
