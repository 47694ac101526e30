"""The difference between the statements of two filings, and its property: applied to the first, it gives the second."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from finapi.market.statements.filing_difference import (
    CellKey,
    CellValue,
    PresentedLine,
    PresentedLineKey,
    compare_statements,
    present_statements,
)
from tests.support.apply_difference import apply_difference, reduce_statements

YEAR_2023, YEAR_2024 = CellKey("2023-01-01", "2023-12-31", ()), CellKey("2024-01-01", "2024-12-31", ())
PERIOD_START, PERIOD_END = (f"http://www.xbrl.org/2003/role/{name}Label" for name in ("periodStart", "periodEnd"))


def build_cell(value: str | None, fact_id: str | None = None) -> CellValue:
    return {"value": value, "fact_id": fact_id, "ink_url": None}


def build_line(label: str, *, decimals: Any = -6, **values: str | None) -> PresentedLine:
    """Return a line with the values of years, ``y2023="5"``."""
    cells = {CellKey(f"{name[1:]}-01-01", f"{name[1:]}-12-31", ()): build_cell(value) for name, value in values.items()}
    return PresentedLine(label, decimals, cells)


def test_each_kind_of_difference_has_its_status() -> None:
    keys = {name: PresentedLineKey(f"us-gaap:{name}", "USD", None) for name in ("A", "B", "C", "D", "E", "F", "G")}
    a = {
        "income": {
            keys["A"]: build_line("Revenue", y2023="5000000", y2024="7000000"),
            keys["B"]: build_line("Rounded", y2023="1234567"),
            keys["C"]: build_line("Dropped", y2023="1"),
            keys["D"]: build_line("Old label", y2023="2"),
            keys["E"]: build_line("Nil", y2023=None),
            keys["F"]: build_line("Equal", y2023="1.50"),
        },
        "balance": {keys["A"]: build_line("Assets", y2023="9")},
    }
    b = {
        "income": {
            keys["A"]: build_line("Revenue", y2023="8000000", y2024="7000000"),
            keys["B"]: build_line("Rounded", y2023="1000000"),
            keys["D"]: build_line("New label", y2023="2"),
            keys["E"]: build_line("Nil", y2023=None, y2024="3"),
            keys["F"]: build_line("Equal", y2023="1.5"),
            keys["G"]: build_line("Added", y2024="4"),
        },
    }
    income, balance = compare_statements(a, b)
    assert (income["statement"], income["status"], income["equal_line_count"]) == ("income", "in_both", 1)
    assert (balance["statement"], balance["status"], balance["equal_line_count"]) == ("balance", "dropped", 0)
    found = {
        line["label_b"] or line["label_a"]: (
            line["status"],
            [
                (
                    cell["end_date"][:4],
                    cell["status"],
                    cell["a"] and cell["a"]["value"],
                    cell["b"] and cell["b"]["value"],
                )
                for cell in line["cells"]
            ],
        )
        for line in income["lines"]
    }
    assert found == {
        "Revenue": ("restated", [("2023", "restated", "5000000", "8000000")]),
        "Rounded": ("rounded", [("2023", "rounded", "1234567", "1000000")]),
        "Dropped": ("dropped", [("2023", "dropped", "1", None)]),
        "New label": ("relabelled", []),
        "Nil": ("other_periods", [("2024", "added", None, "3")]),
        "Added": ("added", [("2024", "added", None, "4")]),
    }
    revenue = income["lines"][0]
    assert (revenue["cells"][0]["change"], revenue["concept"], revenue["placement"]) == (3_000_000, "us-gaap:A", None)
    assert apply_difference(reduce_statements(a), [dict(income), dict(balance)]) == reduce_statements(b)


@pytest.mark.parametrize(
    ("a_value", "b_value", "status"),
    [(None, "5", "restated"), ("5", None, "restated"), ("text", "other", "restated"), ("5", "5.0", None)],
)
def test_nil_values_and_texts_are_compared(a_value: str | None, b_value: str | None, status: str | None) -> None:
    key = PresentedLineKey("us-gaap:A", None, None)
    a = {"income": {key: build_line("A", y2023=a_value)}}
    b = {"income": {key: build_line("A", y2023=b_value)}}
    (income,) = compare_statements(a, b)
    assert [cell["status"] for line in income["lines"] for cell in line["cells"]] == ([status] if status else [])
    assert [cell["change"] for line in income["lines"] for cell in line["cells"]] == ([None] if status else [])


def test_opening_and_closing_balances_are_different_lines() -> None:
    columns: list[Any] = [{"context_seq": 1, "period_type": "D", "start_date": "2024-01-01", "end_date": "2024-12-31"}]
    rows: list[Any] = [
        {
            "concept": "us-gaap:Cash",
            "label": label,
            "unit": "USD",
            "decimals": 0,
            "abstract": abstract,
            "preferred_label": role,
            "values": [value],
            "marks": [mark],
            "fact_ids": ["f-1"],
            "ink_urls": [None],
        }
        for label, role, value, mark, abstract in (
            ("Cash", None, None, None, True),
            ("Opening", PERIOD_START, "5", None, False),
            ("Closing", PERIOD_END, "8", None, False),
            ("Absent", None, None, {"status": "absent", "reason": "not_reported"}, False),
            ("Nil", None, None, {"status": "nil", "reason": "reported_nil"}, False),
        )
    ]
    statement: Any = {"columns": [{**columns[0], "dims": {"b": "2", "a": "1"}}], "rows": rows}
    lines = present_statements({"cash-flow": statement})["cash-flow"]
    assert {(key.placement, line.label): list(line.cells.items()) for key, line in lines.items()} == {
        (placement, label): [
            (
                CellKey("2024-01-01", "2024-12-31", (("a", "1"), ("b", "2"))),
                {"value": value, "fact_id": "f-1", "ink_url": None},
            )
        ]
        for placement, label, value in (("opening", "Opening", "5"), ("closing", "Closing", "8"), (None, "Nil", None))
    }


def build_random_statements(chance: random.Random) -> dict[str, dict[PresentedLineKey, PresentedLine]]:
    """Return up to three statements with some of the same lines, periods, labels and values."""
    statements: dict[str, dict[PresentedLineKey, PresentedLine]] = {}
    for key in ("income", "balance", "cash-flow"):
        if chance.random() < 0.8:
            lines: dict[PresentedLineKey, PresentedLine] = {}
            for number in range(chance.randrange(1, 8)):
                cells = {
                    cell_key: build_cell(chance.choice([None, "0", "1", "1.0", "2000000", "2400000"]))
                    for cell_key in (YEAR_2023, YEAR_2024, CellKey(None, "2024-12-31", (("axis", "member"),)))
                    if chance.random() < 0.6
                }
                line_key = PresentedLineKey(
                    f"us-gaap:L{number}", chance.choice(["USD", "shares"]), chance.choice([None, "opening"])
                )
                if cells:
                    lines[line_key] = PresentedLine(chance.choice("xy"), chance.choice([None, "INF", -6]), cells)
            if lines:
                statements[key] = lines
    return statements


def test_a_difference_applied_to_a_gives_b() -> None:
    chance = random.Random(42)
    for _ in range(300):
        a, b = build_random_statements(chance), build_random_statements(chance)
        differences: list[Any] = [*compare_statements(a, b)]
        assert apply_difference(reduce_statements(a), differences) == reduce_statements(b)
        # Numbers that are equal make no difference.
        assert [line for difference in compare_statements(a, a) for line in difference["lines"]] == []
        for difference in differences:
            for line in difference["lines"]:
                for cell in line["cells"]:
                    if cell["change"] is not None:
                        assert cell["change"] == Decimal(cell["b"]["value"]) - Decimal(cell["a"]["value"]) != 0
