"""The index of a report: all sections of its XBRL, and those that can be read as statements."""

from __future__ import annotations

from typing import Annotated, TypedDict

from finapi.core.records import Date, OneOf
from finapi.market.statements import filed_facts, statement_kinds
from finapi.market.statements.filed_statements import FiledReport
from finapi.store.db import Row, Transaction


class FiledSection(TypedDict):
    """A section of a filing's XBRL."""

    role_seq: int
    role_uri: str | None
    definition: str | None
    group_type: str | None
    menu_category: str | None
    statement_slot: str | None
    r_file: str | None


class AssembledStatement(TypedDict):
    """A section that can be requested as a statement."""

    slot: str
    role_uri: str | None
    definition: str | None
    statement: str


class ReportIndex(TypedDict):
    """The sections of a report."""

    accession_no: str
    cik: str
    form_type: str
    period_of_report: Date
    filed_at: Date | None
    is_current: bool
    packaging: Annotated[str, OneOf(("xbrl", "fsds"))]
    is_inline_xbrl: bool | None
    reports: list[FiledSection]
    assembled_statements: list[AssembledStatement]


def build_report_index(tx: Transaction, report: FiledReport) -> ReportIndex:
    """Return the sections of a report as ``/xbrl/filing/{accession}/index`` lists them."""
    filing = tx.find_row("filing_row", accession=report.accession)
    is_inline = filing["is_inline_xbrl"] if filing is not None else None
    sections = tx.list_rows("report_sections", report_id=report.id)
    statements = [section for section in sections if section["kind"] is not None and section["has_columns"]]
    return {
        "accession_no": report.accession,
        "cik": f"{report.cik:010}",
        "form_type": report.form_type,
        "period_of_report": report.period_of_report,
        "filed_at": report.filed_at,
        "is_current": filed_facts.is_latest_report(tx, report.cik, report.accession),
        "packaging": report.source,
        "is_inline_xbrl": None if is_inline is None else bool(is_inline),
        "reports": [_build_section(section) for section in sections],
        "assembled_statements": [_build_statement(section) for section in statements],
    }


def _build_statement(row: Row) -> AssembledStatement:
    return {
        "slot": statement_kinds.get_slot(row["kind"]),
        "role_uri": row["role_uri"] or None,
        "definition": row["definition"] or None,
        "statement": row["kind"],
    }


def _build_section(row: Row) -> FiledSection:
    """Return a section; its group is the second part of the definition ("0000003 - Statement - BALANCE SHEETS")."""
    definition_parts = [part.strip() for part in row["definition"].split(" - ", 2)]
    group = definition_parts[1] if len(definition_parts) == 3 else None
    title = definition_parts[-1]
    return {
        "role_seq": row["seq"],
        "role_uri": row["role_uri"] or None,
        "definition": row["definition"] or None,
        "group_type": group,
        "menu_category": _find_menu_category(group, title, row["kind"]),
        "statement_slot": None if row["kind"] is None else statement_kinds.get_slot(row["kind"]),
        # The SEC numbers its pages (R2.htm) by what its renderer shows, which the XBRL documents do not state.
        "r_file": None,
    }


def _find_menu_category(group: str | None, title: str, kind: str | None) -> str | None:
    """Return the menu of the SEC's viewer that lists a section, or None if no schema gives its definition."""
    if kind is not None:
        return "Statements"
    if group is None:
        return None
    if group == "Document":
        return "Cover"
    for title_part, menu in (("(Policies)", "Policies"), ("(Tables)", "Tables"), ("(Details", "Details")):
        if title_part in title:
            return menu
    return "Notes"
