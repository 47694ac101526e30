"""Markdown as HTML: headings, paragraphs, lists, tables, fenced code, `code`, **bold** and [links](url)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from finapi.web.html.tags import Html, h, join_html

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)")
_CELL_SEPARATOR = re.compile(r"(?<!\\)\|")


def render_markdown(text: str) -> Html:
    """Return the HTML of a text. Other Markdown than the module supports is shown as it is written."""
    return join_html(*_render_blocks(text))


def render_inline(text: str) -> Html:
    """Return the HTML of a run of text. Links may lead to this host or to an ``https`` address."""
    text = " ".join(text.split())
    parts: list[Html | str] = []
    position = 0
    for match in _INLINE.finditer(text):
        parts.append(text[position : match.start()])
        code, bold, link_text, url = match.groups()
        if code is not None:
            parts.append(h.code(code))
        elif bold is not None:
            parts.append(h.strong(bold))
        elif url.startswith(("/", "#", "https://")) and not url.startswith("//"):
            parts.append(h.a(link_text, href=url))
        else:
            parts.append(link_text)
        position = match.end()
    return join_html(*parts, text[position:])


def build_anchor(heading: str) -> str:
    """Return the id of a heading: "Limits and costs" becomes "limits-and-costs"."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _render_blocks(text: str) -> Iterator[Html]:
    position = 0
    for fence in _FENCE.finditer(text):
        yield from _render_prose(text[position : fence.start()])
        yield h.pre(h.code(fence[2].rstrip("\n")), tabindex=0, data_language=fence[1] or None)
        position = fence.end()
    yield from _render_prose(text[position:])


def _render_prose(text: str) -> Iterator[Html]:
    heading = "Table"
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            heading = block[level:].strip()
            yield _render_heading(heading, level)
        elif block.startswith("- "):
            entries = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            yield h.ul([h.li(render_inline(entry)) for entry in entries])
        elif re.match(r"1\. ", block):
            entries = re.split(r"^[0-9]+\. ", block, flags=re.MULTILINE)[1:]
            yield h.ol([h.li(render_inline(entry)) for entry in entries])
        elif block.startswith("|"):
            yield _render_table(block.splitlines(), heading)
        elif block:
            yield h.p(render_inline(block))


def _render_heading(heading: str, level: int) -> Html:
    if level == 1:
        return h.h1(render_inline(heading))
    build_element = h.h2 if level == 2 else h.h3
    return build_element(render_inline(heading), id=build_anchor(heading))


def _render_table(lines: list[str], label: str) -> Html:
    head_cells = _split_cells(lines[0])
    head = h.thead(h.tr([h.th(render_inline(cell), scope="col") for cell in head_cells]))
    rows = []
    for line in lines[2:]:
        first_cell, *other_cells = _split_cells(line)
        row_header = h.th(render_inline(first_cell), scope="row")
        rows.append(h.tr(row_header, [h.td(render_inline(cell)) for cell in other_cells]))
    return h.div(h.table(head, h.tbody(rows)), class_="scroll", tabindex=0, role="region", aria_label=label)


def _split_cells(line: str) -> list[str]:
    inner = line.strip()[1:-1]
    return [cell.strip().replace("\\|", "|") for cell in _CELL_SEPARATOR.split(inner)]
