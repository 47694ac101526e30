"""Tests that docs/SECURITY.md answers every requirement of levels 1 and 2, and names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([0-9.]+) \| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", TABLE, flags=re.MULTILINE)

# How many requirements of levels 1 and 2 the sections of ASVS 5.0 have; a section's row may stand for all of them.
SECTIONS = {
    "1.1": (1, 2),
    "1.2": (1, 2, 3, 4, 5, 6, 7, 8, 9),
    "1.3": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "1.4": (1, 2, 3),
    "1.5": (1, 2),
    "2.1": (1, 2, 3),
    "2.2": (1, 2, 3),
    "2.3": (1, 2, 3, 4),
    "2.4": (1,),
    "3.2": (1, 2),
    "3.3": (1, 2, 3, 4),
    "3.4": (1, 2, 3, 4, 5, 6),
    "3.5": (1, 2, 3, 4, 5),
    "3.7": (1, 2),
    "4.1": (1, 2, 3),
    "4.2": (1,),
    "4.3": (1, 2),
    "4.4": (1, 2, 3, 4),
    "5.1": (1,),
    "5.2": (1, 2, 3),
    "5.3": (1, 2),
    "5.4": (1, 2, 3),
    "6.1": (1, 2, 3),
    "6.2": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
    "6.3": (1, 2, 3, 4),
    "6.4": (1, 2, 3, 4),
    "6.5": (1, 2, 3, 4, 5),
    "6.6": (1, 2, 3),
    "6.8": (1, 2, 3, 4),
    "7.1": (1, 2, 3),
    "7.2": (1, 2, 3, 4),
    "7.3": (1, 2),
    "7.4": (1, 2, 3, 4, 5),
    "7.5": (1, 2),
    "7.6": (1, 2),
    "8.1": (1, 2),
    "8.2": (1, 2, 3),
    "8.3": (1,),
    "8.4": (1,),
    "9.1": (1, 2, 3),
    "9.2": (1, 2, 3, 4),
    "10": (1,),
    "11.1": (1, 2),
    "11.2": (1, 2, 3),
    "11.3": (1, 2, 3),
    "11.4": (1, 2, 3, 4),
    "11.5": (1,),
    "11.6": (1,),
    "12.1": (1, 2, 3),
    "12.2": (1, 2),
    "12.3": (1, 2, 3, 4),
    "13.1": (1,),
    "13.2": (1, 2, 3, 4, 5),
    "13.3": (1, 2),
    "13.4": (1, 2, 3, 4, 5),
    "14.1": (1, 2),
    "14.2": (1, 2, 3, 4),
    "14.3": (1, 2, 3),
    "15.1": (1, 2, 3),
    "15.2": (1, 2, 3),
    "15.3": (1, 2, 3, 4, 5, 6, 7),
    "16.1": (1,),
    "16.2": (1, 2, 3, 4, 5),
    "16.3": (1, 2, 3, 4),
    "16.4": (1, 2, 3),
    "16.5": (1, 2, 3),
    "17": (1,),
}


@cache
def functions_of(path: str) -> set[str]:
    """Return the functions of a test module, in classes or not."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_named_test_exists() -> None:
    named_tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TABLE)
    assert len(named_tests) > 100
    assert [f"{path}::{name}" for path, name in named_tests if name and name not in functions_of(path)] == []
    assert [path for path, _ in named_tests if not (ROOT / path).is_file()] == []


def test_every_requirement_of_levels_1_and_2_is_answered_once() -> None:
    listed_numbers = [number for number, *_ in ROWS]
    required = {f"{section}.{number}" for section, numbers in SECTIONS.items() for number in numbers}
    answered_numbers = [
        number for number in required if number in listed_numbers or number.rpartition(".")[0] in listed_numbers
    ]
    assert len(listed_numbers) == len(set(listed_numbers))
    assert sorted(required - set(answered_numbers)) == []
    assert sorted(set(listed_numbers) - required - set(SECTIONS)) == []


def test_what_is_met_says_how_and_what_is_not_says_why() -> None:
    states = {state for _, _, state, _ in ROWS}
    assert states == {"met", "partly", "not met", "n/a", "proxy"}
    silent = [number for number, _, state, how in ROWS if state != "proxy" and not how.strip()]
    assert silent == []
