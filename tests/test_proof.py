"""Tests of the table that the complete examination prints."""

from __future__ import annotations

import re
import shlex

import pytest

from tests import proof
from tests.build import ROOT
from tests.proof import PARTS, Part, Result


def test_the_table_has_a_row_for_each_part() -> None:
    part = Part("attacks", "python -m tests.attack", ".*")
    results = [Result(part, True, "12 held | none broke", 90.0), Result(PARTS[0], False, "", 6.0)]
    assert proof.render_table(results, "2026-11-28", "abc1234").splitlines() == [
        "2026-11-28, commit abc1234",
        "",
        "| part | result | figures | minutes |",
        "|---|---|---|---|",
        "| attacks | passed | 12 held \\| none broke | 1.5 |",
        f"| {PARTS[0].name} | FAILED |  | 0.1 |",
    ]


def test_the_figures_are_the_last_line_that_matches() -> None:
    output = "F.\n== short test summary info ==\nFAILED x\n1 failed, 1 passed in 3.20s\n\n"
    assert proof.find_figures(output, PARTS[0].figure_pattern) == "1 failed, 1 passed in 3.20s"
    assert proof.find_figures(output, "nothing") == ""
    assert proof.find_figures("==== 5 passed in 1s ====\n", ".*") == "5 passed in 1s"


def test_a_part_fails_with_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    result = proof.run_part(Part("broken", "echo 7 wrong; exit 3", ".*"))
    assert (result.has_passed, result.figures) == (False, "7 wrong")
    assert "7 wrong" in capsys.readouterr().out
    assert proof.run_part(Part("sound", "echo 7 right", ".*"))[1:3] == (True, "7 right")


def test_parts_are_selected_by_words_of_their_names() -> None:
    assert [part.name for part in proof.select_parts(["load", "style"], with_long=False)] == ["style", "load"]
    assert all(not part.takes_long for part in proof.select_parts([], with_long=False))
    assert proof.select_parts([], with_long=True) == [*PARTS]
    with pytest.raises(SystemExit, match="no part is called nothing; the parts are promises"):
        proof.select_parts(["nothing"], with_long=False)


def test_every_part_names_files_and_modules_that_exist() -> None:
    for part in PARTS:
        words = shlex.split(part.command)
        for word in words:
            if re.match(r"tests[./]", word):
                path = ROOT / word.replace(".py", "").replace(".", "/")
                assert any(p.exists() for p in (path, path.with_suffix(".py"))), (part.name, word)
