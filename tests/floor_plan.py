"""``python -m tests.floor_plan``: draw ``docs/architecture.svg`` from the imports of the rooms."""

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


def build_import_graph() -> dict[str, set[str]]:
    """Return the other rooms that each room imports."""
    imports_by_room: dict[str, set[str]] = {room: set() for room in ROOMS if room not in LEFT_OUT}
    for module, file in MODULES.items():
        if room_of(module) in imports_by_room:
            imports_by_room[room_of(module)] |= {
                room_of(other) for other, _ in imports(file) if other.startswith("finapi")
            }
    return {
        room: (imported_rooms & imports_by_room.keys()) - {room} for room, imported_rooms in imports_by_room.items()
    }


def remove_implied_imports(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without imports that a longer path implies, so that it has fewer arrows."""
    below: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in below:
            below[room] = set(edges[room]).union(*(reach(other) for other in edges[room]))
        return below[room]

    return {
        room: {
            imported_room
            for imported_room in imported_rooms
            if not any(imported_room in reach(other) for other in imported_rooms - {imported_room})
        }
        for room, imported_rooms in edges.items()
    }


def render_svg() -> str:
    """Return the SVG: rooms in rows, each above all that it imports."""
    edges = build_import_graph()
    level: dict[str, int] = {}

    def height(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((height(other) for other in edges[room]), default=-1)
        return level[room]

    rows: dict[int, list[str]] = {}
    for room in edges:
        rows.setdefault(height(room), []).append(room)
    tallest = (max(rows) + 1) * ROW + 20
    positions = {
        room: (round(WIDTH * (number + 0.5) / len(row)), tallest - 20 - at * ROW - BOX_HEIGHT)
        for at, row in rows.items()
        for number, room in enumerate(row)
    }
    lines = [
        f'<line x1="{x}" y1="{y + BOX_HEIGHT}" x2="{positions[other][0]}" y2="{positions[other][1]}"/>'
        for room, (x, y) in positions.items()
        for other in sorted(remove_implied_imports(edges)[room])
    ]
    boxes = [
        f'<rect x="{x - BOX_WIDTH // 2}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>'
        f'<text x="{x}" y="{y + 22}">{room}</text>'
        for room, (x, y) in positions.items()
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tallest}" role="img">'
    title = "<title>The rooms of finapi: each imports only rooms below it</title>"
    return "\n".join([head, title, f"<style>{STYLE}</style>", *lines, *boxes, "</svg>\n"])


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m tests.floor_plan", description=__doc__).parse_args()
    Path(PICTURE).write_text(render_svg(), encoding="utf-8")
