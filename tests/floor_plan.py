"""``python -m tests.floor_plan``: draws ``docs/architecture.svg`` from the imports of the rooms."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from tests.test_architecture import MODULES, PACKAGE, ROOMS, imports, room_of

PICTURE = PACKAGE.parent / "docs" / "architecture.svg"
LEFT_OUT = {"__main__"}

WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT = 1100, 74, 124, 34
STYLE = """rect { fill: #eef2f7; stroke: #51606f }
line { stroke: #9aa7b4 }
text { font: 13px sans-serif; text-anchor: middle; fill: #16202a }"""


def graph() -> dict[str, set[str]]:
    """Which rooms each room imports, itself left out."""
    found: dict[str, set[str]] = {room: set() for room in ROOMS if room not in LEFT_OUT}
    for module, file in MODULES.items():
        if room_of(module) in found:
            found[room_of(module)] |= {room_of(other) for other, _ in imports(file) if other.startswith("finapi")}
    return {room: (others & found.keys()) - {room} for room, others in found.items()}


def reduced(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same without an import that a longer way of imports implies: fewer arrows say the same."""
    below: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in below:
            below[room] = set(edges[room]).union(*(reach(other) for other in edges[room]))
        return below[room]

    return {
        room: {one for one in others if not any(one in reach(other) for other in others - {one})}
        for room, others in edges.items()
    }


def picture() -> str:
    """The SVG: rooms in rows, each above all that it imports."""
    edges = graph()
    level: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((height(other) for other in edges[room]), default=-1)
        return level[room]

    rows: dict[int, list[str]] = {}
    for room in edges:
        rows.setdefault(height(room), []).append(room)
    tallest = (max(rows) + 1) * ROW + 20
    places = {
        room: (round(WIDTH * (number + 0.5) / len(row)), tallest - 20 - at * ROW - BOX_HEIGHT)
        for at, row in rows.items()
        for number, room in enumerate(row)
    }
    lines = [
        f'<line x1="{x}" y1="{y + BOX_HEIGHT}" x2="{places[other][0]}" y2="{places[other][1]}"/>'
        for room, (x, y) in places.items()
        for other in sorted(reduced(edges)[room])
    ]
    boxes = [
        f'<rect x="{x - BOX_WIDTH // 2}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>'
        f'<text x="{x}" y="{y + 22}">{room}</text>'
        for room, (x, y) in places.items()
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tallest}" role="img">'
    title = "<title>The rooms of finapi: each imports only rooms below it</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *lines, *boxes, "</svg>\n"])


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.floor_plan", description=__doc__).parse_args()
    Path(PICTURE).write_text(picture(), encoding="utf-8")
