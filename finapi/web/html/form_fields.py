"""Fields of the forms above tables, each with its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finapi.web.html.tags import Html, h


def render_select(label: str, name: str, chosen: str, choices: Mapping[str, str]) -> Html:
    """Return a select with its label. ``choices`` maps the submitted texts to the displayed ones."""
    options = [h.option(text, value=key, selected=key == chosen) for key, text in choices.items()]
    return h.div(h.label(label, for_=f"f-{name}"), h.select(options, id=f"f-{name}", name=name))


def render_input(label: str, name: str, content: Any = "", type: str = "text", **attributes: Any) -> Html:
    """Return an input with its label and, unless it is None or empty, its content."""
    text = None if content in (None, "") else str(content)
    field = h.input(id=f"f-{name}", name=name, type=type, value=text, **attributes)
    return h.div(h.label(label, for_=f"f-{name}"), field)
