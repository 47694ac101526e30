"""HTML elements built from Python values: ``h.td("1", class_="total")``.

Every text is escaped. Text that is HTML already has the type ``Html`` and is not escaped again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from html import escape
from typing import Any

VOID_ELEMENTS = frozenset(["br", "col", "hr", "input", "link", "meta"])
_ELEMENT_NAMES = """
a abbr article aside b bdi body button caption code colgroup dd datalist details div dl dt em fieldset figcaption figure
footer form h1 h2 h3 head header html label legend li main mark nav ol option output p pre script search section select
small span strong sub summary sup table tbody td textarea tfoot th thead time title tr ul
circle clipPath defs g line path polyline polygon rect svg text tspan
"""
ELEMENTS = VOID_ELEMENTS.union(_ELEMENT_NAMES.split())


class Html(str):
    """Text that is HTML and is not escaped again."""

    __slots__ = ()


# The content of an element: None and False are left out, the members of a sequence follow one another.
Child = str | int | None | Iterable[Any]

NOTHING = Html("")

# Most texts contain none of the characters that have a meaning in HTML; a search is cheaper than escaping them.
_find_special_character = re.compile("[<>&\"']").search


def join_html(*children: Child) -> Html:
    """Return the children one after the other, as HTML."""
    return Html(_render_children(children))


def build_element(name: str, /, *children: Child, **attributes: Any) -> Html:
    """Return an element.

    A trailing underscore of an attribute is removed (``class_``) and others become hyphens (``aria_label``). An
    attribute that is None or False is left out; True stands for an attribute without content (``required``).
    """
    opening = "<" + name
    for attribute, content in attributes.items():
        if type(content) is not str:
            if content is None or content is False:
                continue
            if content is True:
                opening += " " + _format_attribute_name(attribute)
                continue
            content = str(content)
        if _find_special_character(content):
            content = escape(content)
        opening += f' {_format_attribute_name(attribute)}="{content}"'
    if name in VOID_ELEMENTS:
        return Html(f"{opening}>")
    return Html(f"{opening}>{_render_children(children)}</{name}>")


@cache
def _format_attribute_name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _render_children(children: Iterable[Child]) -> str:
    output = ""
    for child in children:
        kind = type(child)
        if kind is Html:
            output += child  # type: ignore[operator]
        elif kind is str:
            output += escape(child, quote=False) if _find_special_character(child) else child  # type: ignore[arg-type, operator]
        elif child is None or child is False:
            continue
        elif kind is int:
            output += str(child)
        elif isinstance(child, Iterable):
            output += _render_children(child)
        else:
            raise TypeError(f"{child!r} cannot be part of an HTML element")
    return output


class _Elements:
    """Functions that build elements, by name: ``h.td("1")``. Other names than ELEMENTS raise AttributeError."""

    def __getattr__(self, name: str) -> Callable[..., Html]:
        if name not in ELEMENTS:
            raise AttributeError(name)
        build = partial(build_element, name)
        setattr(self, name, build)
        return build


h = _Elements()
