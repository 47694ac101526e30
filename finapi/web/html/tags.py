"""HTML from values: every text is escaped, what is HTML already has a type of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from html import escape
from typing import Any

VOID_ELEMENTS = frozenset(["br", "col", "hr", "input", "link", "meta"])
_ELEMENTS = """
a abbr article aside b body button caption code colgroup datalist dd details div dl dt em fieldset figcaption figure
footer form h1 h2 h3 head header html label legend li main mark nav ol option output p pre script search section select
small span strong sub summary sup table tbody td textarea tfoot th thead time title tr ul
circle clipPath defs g line path polyline polygon rect svg text tspan
"""
ELEMENTS = VOID_ELEMENTS.union(_ELEMENTS.split())


class Html(str):
    """Text that is HTML; nothing escapes it again."""

    __slots__ = ()


# What may stand inside an element: None and False are left out, a sequence stands for its members.
Child = str | int | None | Iterable[Any]

NOTHING = Html("")


def join_html(*children: Child) -> Html:
    """The children one after the other, as HTML."""
    return Html(_inside(children))


def build_element(name: str, /, *children: Child, **attributes: Any) -> Html:
    """An element. ``class_="x"`` is ``class``, ``aria_label`` is ``aria-label``; None and False leave one out."""
    head = "<" + name
    for key, value in attributes.items():
        if type(value) is not str:
            if value is None or value is False:
                continue
            if value is True:
                head += " " + _attribute(key)
                continue
            value = str(value)
        if _special(value):
            value = escape(value)
        head += f' {_attribute(key)}="{value}"'
    return Html(f"{head}>" if name in VOID_ELEMENTS else f"{head}>{_inside(children)}</{name}>")


# What stands for itself in a text and in quotes; most values do.
_special = re.compile("[<>&\"']").search


@cache
def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _inside(children: Iterable[Child]) -> str:
    made = ""
    for child in children:
        kind = type(child)
        if kind is Html:
            made += child  # type: ignore[operator]
        elif kind is str:
            made += escape(child, quote=False) if _special(child) else child  # type: ignore[arg-type, operator]
        elif child is None or child is False:
            continue
        elif kind is int:
            made += str(child)
        elif isinstance(child, Iterable):
            made += _inside(child)
        else:
            raise TypeError(f"{child!r} is no HTML")
    return made


class _Elements:
    """The elements by their names: ``h.td("1", class_="total")``; AttributeError for one that is not used here."""

    def __getattr__(self, name: str) -> Callable[..., Html]:
        if name not in ELEMENTS:
            raise AttributeError(name)
        made = partial(build_element, name)
        setattr(self, name, made)
        return made


h = _Elements()
