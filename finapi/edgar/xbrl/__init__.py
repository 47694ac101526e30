"""The XBRL of a filing, as values: instance, schema, linkbases, and what their names and roles mean.

A filing is an instance (the facts), the filer's schema (sections and own elements) and linkbases that refer
to elements by id; :func:`concept_name` leads from such an id to the concept of the facts. Sources: XBRL 2.1,
XBRL Dimensions 1.0, the link role registry, and the EDGAR Filer Manual, volume II, chapter 6.
"""

from __future__ import annotations

from finapi.edgar.xbrl.instance import TEXT_LIMIT, Instance, InstanceContext, InstanceFact, instance
from finapi.edgar.xbrl.linkbases import (
    CalculationArc,
    DefinitionArc,
    PresentationArc,
    calculation,
    definition,
    effective,
    labels,
    presentation,
)
from finapi.edgar.xbrl.names import STANDARD_LABEL, concept_name, is_negated, label_for, label_kind
from finapi.edgar.xbrl.schema import LinkbaseRef, Schema, SchemaElement, schema

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
    "calculation",
    "concept_name",
    "definition",
    "effective",
    "instance",
    "is_negated",
    "label_for",
    "label_kind",
    "labels",
    "presentation",
    "schema",
]
