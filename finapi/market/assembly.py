"""The XBRL documents of one filing, parsed and put together into its report."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol, TypeVar

from finapi.edgar import xbrl
from finapi.errors import ParseError
from finapi.market import report

INSTANCE = "xbrl-instance"
LINKBASES = ("xbrl-presentation", "xbrl-calculation", "xbrl-definition", "xbrl-label", "xbrl-linkbase")
XBRL = (INSTANCE, "xbrl-schema", *LINKBASES)

_Arc = TypeVar("_Arc", xbrl.PresentationArc, xbrl.CalculationArc, xbrl.DefinitionArc)


class Document(Protocol):
    """A document of one of the kinds :data:`XBRL`, read when it is wanted."""

    @property
    def path(self) -> str:
        """What a report calls it."""

    @property
    def kind(self) -> str:
        """What it was recognised as."""

    def read(self) -> bytes:
        """All of it, or a ParseError."""


def assemble(documents: Sequence[Document]) -> report.Report:
    """The report that a filing's documents make; each is parsed once."""
    instances = [document for document in documents if document.kind == INSTANCE]
    if not instances:
        raise ParseError(documents[0].path, "", "an XBRL filing without its instance document")
    presentation: dict[str, list[xbrl.PresentationArc]] = {}
    calculation: dict[str, list[xbrl.CalculationArc]] = {}
    definition: dict[str, list[xbrl.DefinitionArc]] = {}
    labels: dict[str, dict[str, str]] = {}
    schema = None
    instance = None
    digests = []
    for document in documents:
        data, path, kind = document.read(), document.path, document.kind
        digests.append(hashlib.sha256(data).digest())
        if kind == INSTANCE:
            instance = xbrl.instance(data, path)
        elif kind == "xbrl-schema":
            schema = xbrl.schema(data, path)
        # A schema may hold its linkbases inside, and one linkbase document several kinds of links.
        if _holds(kind, data, "presentation"):
            _extend(presentation, xbrl.presentation(data, path))
        if _holds(kind, data, "calculation"):
            _extend(calculation, xbrl.calculation(data, path))
        if _holds(kind, data, "definition"):
            _extend(definition, xbrl.definition(data, path))
        if _holds(kind, data, "label"):
            for element, texts in xbrl.labels(data, path).items():
                labels.setdefault(element, {}).update(texts)
    assert instance is not None
    return report.assemble(
        report.Documents(
            instances[0].path,
            instance,
            schema,
            _effective(presentation),
            _effective(calculation),
            _effective(definition),
            labels,
        ),
        sha256=hashlib.sha256(b"".join(sorted(digests))).digest(),
        count=len(documents),
    )


def _effective(links: dict[str, list[_Arc]]) -> dict[str, list[_Arc]]:
    """Arcs without those that a later document prohibits (XBRL 2.1, 3.5.3.9.7.5)."""
    return {role: xbrl.effective(arcs) for role, arcs in links.items()}


def _holds(kind: str, data: bytes, links: str) -> bool:
    if kind == f"xbrl-{links}":
        return True
    return kind in ("xbrl-schema", "xbrl-linkbase") and f"{links}Link ".encode() in data


def _extend(into: dict[str, list[_Arc]], found: dict[str, list[_Arc]]) -> None:
    for role, arcs in found.items():
        into.setdefault(role, []).extend(arcs)
