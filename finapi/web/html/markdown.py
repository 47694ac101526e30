"""Markdown as HTML: headings, paragraphs, lists, tables, fenced code, `code`, **bold** and [links](to)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from finapi.web.html.tags import Html, h, join_html

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)")
_CELL = re.compile(r"(?<!\\)\|")


def render_markdown(text: str) -> Html:
    """The HTML of a text; what is none of these is shown as it stands."""
    return join_html(*_blocks(text))


def _blocks(text: str) -> Iterator[Html]:
    at = 0
    for fence in _FENCE.finditer(text):
        yield from _prose(text[at : fence.start()])
        yield h.pre(h.code(fence[2].rstrip("\n")), tabindex=0, data_language=fence[1] or None)
        at = fence.end()
    yield from _prose(text[at:])


def _prose(text: str) -> Iterator[Html]:
    heading = "Table"
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            heading = block[level:].strip()
            yield getattr(h, f"h{min(level, 3)}")(
                render_inline(heading), id=build_anchor(heading) if level > 1 else None
            )
        elif block.startswith("- "):
            yield h.ul([h.li(render_inline(item)) for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]])
        elif re.match(r"1\. ", block):
            yield h.ol([h.li(render_inline(item)) for item in re.split(r"^[0-9]+\. ", block, flags=re.MULTILINE)[1:]])
        elif block.startswith("|"):
            yield _table(block.splitlines(), heading)
        elif block:
            yield h.p(render_inline(block))


def _table(lines: list[str], said: str) -> Html:
    head, _, *rows = ([cell.strip().replace("\\|", "|") for cell in _CELL.split(line.strip()[1:-1])] for line in lines)
    top = h.thead(h.tr([h.th(render_inline(cell), scope="col") for cell in head]))
    body = [
        h.tr(h.th(render_inline(row[0]), scope="row"), [h.td(render_inline(cell)) for cell in row[1:]]) for row in rows
    ]
    return h.div(h.table(top, h.tbody(body)), class_="scroll", tabindex=0, role="region", aria_label=said)


def build_anchor(heading: str) -> str:
    """By what a heading is linked to."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def render_inline(text: str) -> Html:
    """A run of text; a link leads to this host or to an address with https."""
    text, parts, at = " ".join(text.split()), list[Html | str](), 0
    for found in _INLINE.finditer(text):
        parts.append(text[at : found.start()])
        code, bold, said, to = found.groups()
        if code is not None:
            parts.append(h.code(code))
        elif bold is not None:
            parts.append(h.strong(bold))
        else:
            parts.append(h.a(said, href=to) if to.startswith(("/", "#", "https://")) and to[:2] != "//" else said)
        at = found.end()
    return join_html(*parts, text[at:])
