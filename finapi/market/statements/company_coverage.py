"""Which companies there are, how much of each is held, and the sections of a report."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypedDict

from finapi.core import days
from finapi.core.records import Date, OneOf, build_record
from finapi.edgar import tickers
from finapi.market.statements import filed_facts, filed_statements, statement_kinds
from finapi.market.statements.fact_sets import SOURCE_NAMES
from finapi.store.db import Row, Transaction


class CompanyMatch(TypedDict):
    """A company that a search found."""

    cik: str
    ticker: str | None
    company: str


def search_companies(tx: Transaction, text: str, limit: int, offset: int) -> list[CompanyMatch]:
    """Companies whose ticker, name or CIK is like a text, the likeliest first; each once."""
    folded = " ".join(text.lower().split())
    try:
        ticker = tickers.normalise(text.strip())
    except ValueError:
        ticker = ""
    number = int(folded) if folded.isascii() and folded.isdigit() and len(folded) <= 10 else -1
    like = re.sub(r"[\\%_]", r"\\\g<0>", folded)
    values = {"cik": number, "ticker": ticker, "text": folded, "like": f"%{like}%", "limit": limit, "offset": offset}
    return [build_record(CompanyMatch, row) for row in tx.list_rows("matching_companies", values)]


# ---- what is held


class Coverage(TypedDict):
    """How much of a company, or of all, is held."""

    covered: bool
    phase: Literal["figures", "listed"]
    stratum: Annotated[str, OneOf(("xbrl", "companyfacts", "fsds"))] | None
    filings_indexed: int
    filings_total: int
    first_period: Date | None
    last_period: Date | None


def get_coverage(tx: Transaction, cik: int) -> Coverage:
    """How many filings of a company are held with figures, from which best source, and from when to when."""
    held = tx.find_row("coverage_of_company", cik=cik)
    periods = tx.find_row("period_range_of_company", cik=cik)
    assert held is not None
    assert periods is not None
    made = _coverage(held["filings"], tx.find_value("filing_count_of_company", cik=cik))
    made["stratum"] = SOURCE_NAMES[held["source"]] if held["filings"] else None
    made["first_period"] = None if periods["first"] is None else days.iso(periods["first"])
    made["last_period"] = None if periods["last"] is None else days.iso(periods["last"])
    return made


def get_total_coverage(tx: Transaction) -> tuple[Coverage, int]:
    """The same over every company that is held, and how many those are."""
    held = tx.find_row("total_coverage")
    assert held is not None
    return _coverage(held["filings"], tx.find_value("stored_filing_count")), held["companies"]


class CompanyWithFacts(TypedDict):
    """A company of which figures are held."""

    ticker: str | None
    company_name: str
    cik: str
    filings_indexed: int


def list_covered_companies(tx: Transaction, cik: int | None, limit: int, offset: int) -> list[CompanyWithFacts]:
    """The companies of which figures are held, by CIK; of one alone, if it is one of them."""
    values = {"first": cik or 0, "last": cik or 10**10, "limit": limit, "offset": offset}
    return [build_record(CompanyWithFacts, row) for row in tx.list_rows("covered_companies", values)]


def _coverage(indexed: int, total: int) -> Coverage:
    return {
        "covered": indexed > 0,
        "phase": "figures" if indexed else "listed",
        "stratum": None,
        "filings_indexed": indexed,
        "filings_total": max(indexed, total),
        "first_period": None,
        "last_period": None,
    }


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
    """A section that is a statement and can be asked for."""

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


def build_report_index(tx: Transaction, held: filed_statements.FiledReport) -> ReportIndex:
    """The sections of a report as ``/xbrl/filing/{accession}/index`` lists them."""
    filing = tx.find_row("filing_row", accession=held.accession)
    inline = filing["is_inline_xbrl"] if filing is not None else None
    sections = tx.list_rows("report_sections", report_id=held.id)
    return {
        "accession_no": held.accession,
        "cik": f"{held.cik:010}",
        "form_type": held.form_type,
        "period_of_report": held.period_of_report,
        "filed_at": held.filed_at,
        "is_current": filed_facts.is_latest_report(tx, held.cik, held.accession),
        "packaging": held.source,
        "is_inline_xbrl": None if inline is None else bool(inline),
        "reports": [_section(row) for row in sections],
        "assembled_statements": [
            {
                "slot": statement_kinds.get_slot(row["kind"]),
                "role_uri": row["role_uri"] or None,
                "definition": row["definition"] or None,
                "statement": row["kind"],
            }
            for row in sections
            if row["kind"] is not None and row["columns"]
        ],
    }


def _section(row: Row) -> FiledSection:
    """A section; its group is the word between number and title ("0000003 - Statement - BALANCE SHEETS")."""
    parts = [part.strip() for part in row["definition"].split(" - ", 2)]
    group = parts[1] if len(parts) == 3 else None
    return {
        "role_seq": row["seq"],
        "role_uri": row["role_uri"] or None,
        "definition": row["definition"] or None,
        "group_type": group,
        "menu_category": _menu(group, parts[-1], row["kind"]),
        "statement_slot": None if row["kind"] is None else statement_kinds.get_slot(row["kind"]),
        # The SEC's pages are numbered by what its renderer shows, which the documents do not tell.
        "r_file": None,
    }


def _menu(group: str | None, title: str, kind: str | None) -> str | None:
    """Under which heading the SEC's viewer lists a section; None where no schema tells."""
    if kind is not None:
        return "Statements"
    if group is None:
        return None
    if group == "Document":
        return "Cover"
    endings = (("(Policies)", "Policies"), ("(Tables)", "Tables"), ("(Details", "Details"))
    return next((menu for mark, menu in endings if mark in title), "Notes")
