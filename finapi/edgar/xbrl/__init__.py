"""The parsers of a filing's XBRL: the instance, the filer's schema and the linkbases, and the meaning of label roles.

The instance has the facts. The schema has the sections of the filing and the concepts that the filer defined. The
linkbases refer to concepts by the ids of their elements, and :func:`resolve_concept` leads from such an id to the name
of the concept in the facts. Sources: XBRL 2.1, XBRL Dimensions 1.0, the link role registry, and the EDGAR Filer Manual,
volume II, chapter 6.
"""

from __future__ import annotations

from finapi.edgar.xbrl.filer_schema import LinkbaseRef, Schema, SchemaElement, parse_schema
from finapi.edgar.xbrl.inline import InlinePage, list_differences, parse_inline
from finapi.edgar.xbrl.instance import TEXT_LIMIT, Instance, InstanceContext, InstanceFact, parse_instance
from finapi.edgar.xbrl.label_roles import STANDARD_LABEL, find_label, get_label_kind, is_negated
from finapi.edgar.xbrl.linkbases import (
    CalculationArc,
    DefinitionArc,
    PresentationArc,
    parse_calculation,
    parse_definition,
    parse_labels,
    parse_presentation,
    select_effective_arcs,
)
from finapi.edgar.xbrl.qnames import resolve_concept

__all__ = [
    "STANDARD_LABEL",
    "TEXT_LIMIT",
    "CalculationArc",
    "DefinitionArc",
    "InlinePage",
    "Instance",
    "InstanceContext",
    "InstanceFact",
    "LinkbaseRef",
    "PresentationArc",
    "Schema",
    "SchemaElement",
    "find_label",
    "get_label_kind",
    "is_negated",
    "list_differences",
    "parse_calculation",
    "parse_definition",
    "parse_inline",
    "parse_instance",
    "parse_labels",
    "parse_presentation",
    "parse_schema",
    "resolve_concept",
    "select_effective_arcs",
]
