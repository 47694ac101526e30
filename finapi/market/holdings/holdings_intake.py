"""13F documents on their way into the store: which of a folder are one filing, a cover and its table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from finapi.core.errors import ParseError
from finapi.edgar import identifiers, thirteenf
from finapi.edgar.thirteenf import CoverPage, Holding, Manager
from finapi.market.documents.families import Family
from finapi.market.documents.identification import Subject
from finapi.market.documents.metadata import HEADER_EVIDENCE, FilingMetadata
from finapi.market.documents.sources import Document
from finapi.market.holdings import cost_basis, holdings_store, industry_flows, value_doubts
from finapi.market.holdings import holdings_report as holdings_report
from finapi.market.holdings.holdings_report import CALLS, PUTS, HoldingsReport
from finapi.store.db import Row, Transaction

COVER, TABLE = "13f-cover", "13f-table"

_PUT_CALL = {CALLS: "Call", PUTS: "Put"}
_UNREAD = "its holdings are not in XML, as before 2013, and are not read"


def group_filings(documents: Sequence[Document]) -> Iterator[Sequence[Document]]:
    """The filings among the 13F documents of a folder; every document is in exactly one.

    A lone cover and a lone table belong together: that is what a filing's folder on EDGAR holds. Of several,
    those do that carry one accession number in their names, and then those of which the table ties to the
    cover in count and value and to no other.
    """
    covers = [one for one in documents if one.kind == COVER]
    tables = [one for one in documents if one.kind == TABLE]
    if len(covers) <= 1 and len(tables) <= 1:
        yield [*covers, *tables]
        return
    for cover in list(covers):
        number = identifiers.find_accession_in_name(cover.name)
        same = [table for table in tables if number and identifiers.find_accession_in_name(table.name) == number]
        if len(same) == 1:
            covers.remove(cover)
            tables.remove(same[0])
            yield [cover, same[0]]
    yield from _by_sums(covers, tables)


def _by_sums(covers: list[Document], tables: list[Document]) -> Iterator[Sequence[Document]]:
    """The rest: by what the covers say that their tables sum to; what cannot be read stands by itself."""
    wanted: dict[tuple[int | None, int | None], list[Document]] = {}
    for cover in covers:
        try:
            said = thirteenf.parse_cover(cover.read(), cover.path)
        except ParseError:
            yield [cover]
            continue
        wanted.setdefault((said.entry_total, said.value_total), []).append(cover)
    for table in tables:
        try:
            rows = thirteenf.parse_table(table.read(), table.path)
        except ParseError:
            yield [table]
            continue
        ties = wanted.get((len(rows), sum(row.value for row in rows)), [])
        yield [ties.pop(), table] if len(ties) == 1 else [table]
    for left in wanted.values():
        yield from ([cover] for cover in left)


def read_report(documents: Sequence[Document]) -> HoldingsReport:
    """The report that a cover and its table make; ParseError when they make none."""
    rows = None
    covers = [one.path for one in documents if one.kind == COVER]
    if not covers:
        reason = "is the table of a 13F without its cover, which alone says whose it is and of which quarter"
        raise ParseError(documents[0].path, "", reason)
    digests = []
    for one in documents:
        # Blank lines around a document are its envelope's: a bare file and the same one inside a full
        # submission are one content.
        data = one.read().strip()
        digests.append(hashlib.sha256(data).digest())
        if one.kind == COVER:
            cover = thirteenf.parse_cover(data, one.path)
        else:
            rows = thirteenf.parse_table(data, one.path)
    digest = hashlib.sha256(b"".join(sorted(digests))).digest()
    return holdings_report.build_report(cover, rows, digest, len(documents), covers[0])


def _note(report: HoldingsReport, filed: FilingMetadata) -> str | None:
    """What the operator should know of a report that was stored."""
    notes = []
    cover = report.cover
    if not report.whole:
        notes.append(
            f"the table has {len(report.rows)} of the {cover.entry_total} rows that its cover says: "
            "no change is concluded from it"
        )
    elif cover.value_total is not None and cover.value_total != report.row_value:
        notes.append(f"the rows sum to {report.row_value}, the cover says {cover.value_total}")
    if filed.filed_at is None:
        notes.append("the filing date is not known: it counts as the first of its quarter")
    return "; ".join(notes) or None


def _subject(report: HoldingsReport) -> Subject:
    return Subject((report.cik,), report.cover.form, report.cover.period, report.sha256)


def _pack_rows(tx: Transaction) -> Iterator[tuple[HoldingsReport, FilingMetadata, None]]:
    """Every stored 13F report with its filing, in the order of accession numbers and contents."""
    for row in tx.list_rows("holdings_reports_to_pack"):
        filed = FilingMetadata(
            row["accession"], HEADER_EVIDENCE, filed_at=row["filed_at"] or None, accepted_at=row["accepted_at"]
        )
        table = tuple(_holding(one) for one in tx.list_rows("holdings_to_pack", report_id=row["id"]))
        yield HoldingsReport(_cover(tx, row), table, row["sha256"], row["documents"]), filed, None


def _cover(tx: Transaction, row: Row) -> CoverPage:
    managers: tuple[list[Manager], list[Manager]] = ([], [])
    for one in tx.list_rows("managers_of_report", report_id=row["id"]):
        managers[one["included"]].append(Manager(one["number"], one["name"], one["cik"], one["file_number"]))
    values = {
        name: row[name] for name in CoverPage.__slots__ if name not in ("reporting_managers", "included_managers")
    }
    values.update(
        cik=f"{row['cik']:010}",
        confidential_omitted=bool(row["confidential_omitted"]),
        reporting_managers=tuple(managers[0]),
        included_managers=tuple(managers[1]),
    )
    return CoverPage(**values)


def _holding(row: Row) -> Holding:
    values = {**dict(row), "amount_type": "PRN" if row["principal"] else "SH", "put_call": _PUT_CALL.get(row["kind"])}
    return Holding(**{name: values[name] for name in Holding._fields})


def _finish(tx: Transaction, now: datetime) -> int:
    tx.run_after_commit(cost_basis.recompute_all)
    tx.run_after_commit(value_doubts.recompute_all)
    tx.run_after_commit(industry_flows.recompute_all)
    return holdings_store.recompute_splits(tx, now)


FAMILY = Family(
    content=HoldingsReport,
    group_documents=group_filings,
    read_content=read_report,
    get_subject=_subject,
    store=holdings_store.store_report,
    describe_stored=_note,
    move_filing=holdings_store.move_reports,
    update_dates=holdings_store.update_filing_days,
    finish_ingest=_finish,
    unread_reasons={"13F-HR": _UNREAD, "13F-HR/A": _UNREAD},
    iter_pack_rows=_pack_rows,
    arrival_kinds=("13f_batch", "filing"),
)
