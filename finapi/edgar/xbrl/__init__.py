"""The XBRL of a filing, as values: instance, schema, linkbases, and what their names and roles mean.

A filing is an instance (the facts), the filer's schema (sections and own elements) and linkbases that refer
to elements by id; :func:`concept_name` leads from such an id to the concept of the facts. Sources: XBRL 2.1,
XBRL Dimensions 1.0, the link role registry, and the EDGAR Filer Manual, volume II, chapter 6.
"""

from __future__ import annotations

from finapi.edgar.xbrl.filer_schema import LinkbaseRef, Schema, SchemaElement, parse_schema
from finapi.edgar.xbrl.instance import TEXT_LIMIT, Instance, InstanceContext, InstanceFact, parse_instance
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
from finapi.edgar.xbrl.qnames import STANDARD_LABEL, find_label, get_label_kind, is_negated, resolve_concept

__all__ = [
    "STANDARD_LABEL",
    "TEXT_LIMIT",
    "CalculationArc",
    "DefinitionArc",
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
    "parse_calculation",
    "parse_definition",
    "parse_instance",
    "parse_labels",
    "parse_presentation",
    "parse_schema",
    "resolve_concept",
    "select_effective_arcs",
]
