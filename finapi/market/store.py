"""Reports into rows: the one way in, for an ingest and for an embedded pack alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from finapi.db import Row, Transaction
from finapi.market import announce, companies, factsets, filings, restated
from finapi.market.report import UNFILED, Dimensions, Report


@dataclass(frozen=True, slots=True)
class Filed:
    """Under which accession number a report was filed, and when; the day is None when nothing tells.

    ``evidence`` says who tells (``filings.DOCUMENT`` to ``HEADER``).
    """

    accession: str
    filed_at: str | None
    accepted_at: str | None = None
    form: str | None = None
    period: str | None = None
    evidence: int = filings.DOCUMENT


def put(tx: Transaction, report: Report, filed: Filed, now: datetime) -> bool:
    """Store a report under its filing; False when the same documents are there already and nothing new is told.

    Everything happens in the caller's transaction: the filing is stored whole or not at all.
    """
    cover = report.cover
    held = _held(tx, report, filed)
    if held is not None:
        return _tell(tx, report, filed, held, now)
    # A name of an unknown day never outranks another.
    as_of = filed.filed_at or ""
    source = factsets.SOURCES.index(report.source)
    # The data sets write names in capitals.
    rank = companies.FROM_FILING_LIST if source == factsets.FSDS else companies.FROM_COVER
    companies.put_name(tx, cover.cik, cover.name, rank, as_of)
    listed: list[tuple[str, str | None]] = [(ticker, None) for ticker in cover.tickers]
    companies.put_tickers(tx, cover.cik, listed, companies.FROM_COVER, as_of)
    filing_id = _put_filing(tx, report, filed, now).id
    report_id = _insert_report(tx, report, filing_id)
    ids = _Ids(tx, report)
    set_id = factsets.insert_set(tx, filing_id, cover.cik, source, report_id)
    factsets.insert(tx, set_id, _rows(report, ids))
    _insert_sections(tx, report, report_id, ids)
    factsets.settle(tx, set_id)
    tx.run("bump_data_version")
    _announce(tx, filed.accession, now, listed=source == factsets.FSDS)
    if filed.filed_at is not None and source != factsets.FSDS:
        changes = restated.changes(
            tx, set_id=set_id, cik=cover.cik, filing_id=filing_id, filed=(filed.filed_at, filed.accession)
        )
        announce.restatement(tx, now, accession=filed.accession, changes=changes)
    return True


def _held(tx: Transaction, report: Report, filed: Filed) -> Row | None:
    """The filing under which the same documents are stored: this one, or one that was not known then."""
    rows = tx.all("filings_of_content", cik=report.cover.cik, sha256=report.sha256)
    if filed.accession.startswith(UNFILED):
        return rows[0] if rows else None
    same = [row for row in rows if row["accession"] == filed.accession]
    return next(iter(same + [row for row in rows if row["accession"].startswith(UNFILED)]), None)


def _tell(tx: Transaction, report: Report, filed: Filed, held: Row, now: datetime) -> bool:
    """Take over what is now known of a filing that is held; whether that was anything new."""
    if filed.accession.startswith(UNFILED):
        return False
    if held["accession"] == filed.accession:
        if not _put_filing(tx, report, filed, now).changed:
            return False
    else:
        _move(tx, held["id"], _put_filing(tx, report, filed, now).id)
        _announce(tx, filed.accession, now)
    tx.run("bump_data_version")
    return True


def _announce(tx: Transaction, accession: str, now: datetime, *, listed: bool = False) -> None:
    announced = announce.filing(tx, now, accession=accession, listed=listed)
    if announced or not listed:
        announce.data_ready(tx, now, accession=accession)


def settle_unfiled(tx: Transaction, cik: int, now: datetime) -> int:
    """Give reports whose filing was unknown the filing that a list now tells of; how many were settled."""
    settled = 0
    for row in tx.all("unfiled", cik=cik):
        known = like(tx, cik, row["form"], row["period_of_report"])
        if known is not None:
            filing_id = tx.value("filing_id", accession=known.accession)
            _move(tx, row["id"], filing_id)
            _announce(tx, known.accession, now)
            settled += 1
    return settled


def _move(tx: Transaction, unfiled_id: int, filing_id: int) -> None:
    """Put what was stored under an unknown filing under the one that it turned out to be."""
    moved = tx.all("fact_sets_in", filing_id=unfiled_id)
    tx.run("move_reports", filing_id=filing_id, unfiled_id=unfiled_id)
    tx.run("move_fact_sets", filing_id=filing_id, unfiled_id=unfiled_id)
    tx.run("delete_filing", id=unfiled_id)
    for row in moved:
        factsets.settle(tx, row["id"])


def _rows(report: Report, ids: _Ids) -> Iterator[factsets.Row]:
    places = [
        (ids.dimensions[_key(context.dims)], factsets.day_number(context.end), factsets.length(*context[1:3]))
        for context in report.contexts
    ]
    for fact in report.facts:
        dimension, end, days = places[fact.context]
        yield (
            dimension,
            ids.concepts[fact.concept],
            end,
            days,
            ids.units[fact.unit],
            fact.value,
            fact.decimals,
        )


def like(tx: Transaction, cik: int, form: str, period: str) -> Filed | None:
    """The one listed filing of this company, form and period; None when there is none, or more than one."""
    rows = tx.all("filings_like", cik=cik, form=form, period=period)
    return Filed(rows[0]["accession"], rows[0]["filed_at"]) if len(rows) == 1 else None


def _put_filing(tx: Transaction, report: Report, filed: Filed, now: datetime) -> filings.Stored:
    """Tell of the filing what lies beside the report, then what the report itself says."""
    if filed.accession.startswith(UNFILED):
        return _put_unfiled(tx, report, filed)
    cik = report.cover.cik
    if report.source == factsets.SOURCES[factsets.FSDS]:
        return _put_listed(tx, report, filed, now)
    beside = filings.Told(
        accession=filed.accession,
        evidence=filed.evidence,
        parties=(filings.Party(cik, filings.CLAIMED),),
        form=filed.form,
        filed_at=filed.filed_at,
        accepted_at=filed.accepted_at,
        period_of_report=filed.period,
    )
    stored = filings.put(tx, beside, now, news=False)
    inside = filings.Told(
        accession=filed.accession,
        evidence=filings.DOCUMENT,
        parties=(filings.Party(cik, filings.CLAIMED),),
        form=report.cover.form,
        period_of_report=report.cover.period_of_report,
        is_xbrl=1,
    )
    return filings.Stored(
        stored.id, stored.new, stored.changed | filings.put(tx, inside, now, news=False).changed
    )


def _put_listed(tx: Transaction, report: Report, filed: Filed, now: datetime) -> filings.Stored:
    """Tell of the filing what a data set does; its period, rounded to a month end, only where nothing else tells."""
    cik = report.cover.cik
    listed = filings.Told(
        accession=filed.accession,
        evidence=filings.INDEX,
        parties=(filings.Party(cik, filings.LISTED, report.cover.name),),
        form=filed.form,
        filed_at=filed.filed_at,
        accepted_at=filed.accepted_at,
    )
    stored = filings.put(tx, listed, now, news=False)
    rounded = filings.Told(
        accession=filed.accession,
        evidence=filings.ROUNDED,
        parties=listed.parties,
        period_of_report=report.cover.period_of_report,
        is_xbrl=1,
    )
    return filings.Stored(
        stored.id, stored.new, stored.changed | filings.put(tx, rounded, now, news=False).changed
    )


def _put_unfiled(tx: Transaction, report: Report, filed: Filed) -> filings.Stored:
    """No filing yet but a name to serve the report by, which no list shows."""
    cover = report.cover
    made = tx.run(
        "put_unfiled",
        accession=filed.accession,
        cik=cover.cik,
        form=filed.form or cover.form,
        period=filed.period or cover.period_of_report,
    )
    return filings.Stored(tx.value("filing_id", accession=filed.accession), made > 0, made > 0)


def _insert_report(tx: Transaction, report: Report, filing_id: int) -> int:
    cover = report.cover
    return tx.insert(
        "insert_report",
        filing_id=filing_id,
        cik=cover.cik,
        sha256=report.sha256,
        form=cover.form,
        period=cover.period_of_report,
        fiscal_year=cover.fiscal_year,
        fiscal_period=cover.fiscal_period,
        statements=sum(1 for section in report.sections if section.columns),
        documents=report.documents,
        source=report.source,
    )


def _insert_sections(tx: Transaction, report: Report, report_id: int, ids: _Ids) -> None:
    lines: list[tuple[object, ...]] = []
    columns: list[tuple[object, ...]] = []
    sums: list[tuple[object, ...]] = []
    for seq, section in enumerate(report.sections, 1):
        section_id = tx.insert(
            "insert_section",
            report_id=report_id,
            seq=seq,
            role_uri=section.role_uri,
            definition=section.definition,
            kind=section.kind,
        )
        lines.extend(
            (
                section_id,
                place,
                ids.concepts[line.concept],
                line.depth,
                line.nature,
                line.label,
                ids.label_roles.get(line.label_role or ""),
                line.placement,
                line.negated,
                line.balance,
            )
            for place, line in enumerate(section.lines, 1)
        )
        columns.extend(
            (
                section_id,
                place,
                column.context_seq,
                column.start,
                column.end,
                ids.dimensions[_key(column.dims)],
            )
            for place, column in enumerate(section.columns, 1)
        )
        sums.extend(
            (section_id, ids.concepts[sum.total], place, ids.concepts[sum.item], sum.weight)
            for place, sum in enumerate(section.sums, 1)
        )
    tx.many("insert_lines", lines)
    tx.many("insert_columns", columns)
    tx.many("insert_sums", sums)


class _Ids:
    """The ids of the names that a report uses, made where they are new."""

    def __init__(self, tx: Transaction, report: Report) -> None:
        concepts = {fact.concept for fact in report.facts}
        roles: set[str] = set()
        for section in report.sections:
            for line in section.lines:
                concepts.add(line.concept)
                if line.label_role is not None:
                    roles.add(line.label_role)
            for sum in section.sums:
                concepts.update((sum.total, sum.item))
        dims = {_key(context.dims) for context in report.contexts}
        self.concepts = factsets.ids(tx, "concept", concepts)
        self.units = factsets.ids(tx, "unit", {fact.unit for fact in report.facts})
        self.dimensions = factsets.ids(tx, "dimension", dims)
        self.label_roles = factsets.ids(tx, "label_role", roles)


def _key(dims: Dimensions) -> str:
    """Dimensions as the text by which they are one row: a JSON object in the order of its axes."""
    return json.dumps(dict(dims), separators=(",", ":"))
