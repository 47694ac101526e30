"""Stores 13F reports, from an ingest and from an embedded pack alike.

The rows of a report never change. The positions of a fund's quarter follow from all its reports for the quarter, and
are recomputed whenever a report is added or a filing day becomes known. Each recomputation also updates the rows that
depend on it: the changes of the next quarter, and the sums of each security over all funds. The same documents
therefore lead to the same rows, whatever their order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from heapq import nlargest
from operator import add
from typing import NamedTuple

from finapi.core import stopping
from finapi.edgar.form_families import THIRTEEN_F
from finapi.edgar.thirteenf import NEW_HOLDINGS
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.metadata import CLAIMED_RANK, DOCUMENT_EVIDENCE, FilingMetadata, Party, is_unfiled
from finapi.market.holdings import fund_positions, funds, quarters, value_units
from finapi.market.holdings.fund_positions import FundPosition, PositionKey, ReportedRow, StandingReport
from finapi.market.holdings.holdings_report import CALLS, PUTS, SHARES, HoldingsReport, get_position_kind
from finapi.market.reference import companies, issuer_names, securities, share_splits
from finapi.store.db import Row, Transaction

# Maximum number of a table's largest share positions whose prices are compared with those of other managers.
MAX_COMPARED_POSITIONS = 10
# Maximum number of other funds whose units are decided again because of a new report.
MAX_RECHECKED_FUNDS = 3


def store_report(tx: Transaction, report: HoldingsReport, metadata: FilingMetadata, now: datetime) -> bool:
    """Store a report under its filing. Return False if it is already stored and nothing about the filing has changed.

    The caller's transaction contains all of it, so that a filing is stored completely or not at all.
    """
    stored_reports = tx.list_rows("holdings_reports_of_content", cik=report.cik, sha256=report.sha256)
    stored_report = identification.find_stored_row(stored_reports, metadata.accession)
    if stored_report is not None:
        return _update_stored_report(tx, report, metadata, stored_report, now)
    companies.upsert_name(tx, report.cik, report.cover.name, companies.FROM_COVER, metadata.filed_at or "")
    # The row of the fund is inserted before the rows that refer to it.
    _upsert_fund(tx, report.cik, report.cover.name, f"{metadata.filed_at or ''} {metadata.accession}")
    filing_id = _upsert_filing(tx, report, metadata, now)
    report_id = _insert_report(tx, report, filing_id)
    names = _insert_rows(tx, report, report_id)
    _update_unit(tx, report_id, names)
    recompute_quarters(tx, report.cik, report.cover.period)
    _recheck_other_units(tx, report_id, report.cik, report.cover.period, names.share_rows)
    tx.run("bump_data_version")
    _announce(tx, metadata.accession, now)
    return True


def move_reports(tx: Transaction, unfiled_id: int, filing_id: int, accession: str, now: datetime) -> None:
    """Move reports from a placeholder filing to their actual filing, once that is known."""
    rows = tx.list_rows("holdings_reports_of_filing", filing_id=unfiled_id)
    for row in rows:
        tx.run("update_filing_of_report", id=row["id"], filing_id=filing_id)
        _update_unit(tx, row["id"])
        recompute_quarters(tx, row["cik"], row["period"])
    if rows:
        _announce(tx, accession, now)


def update_filing_days(tx: Transaction, now: datetime) -> int:
    """Update the reports whose filing day became known or more exact. Return their number.

    A database trigger records these reports when a document contains their day.
    """
    rows = tx.list_rows("redated_holdings_reports")
    for row in rows:
        stopping.check()
        _update_unit(tx, row["id"])
    for cik, period in sorted({(row["cik"], row["period"]) for row in rows}):
        stopping.check()
        recompute_quarters(tx, cik, period)
    if rows:
        tx.run("delete_redated_holdings_reports")
    return len(rows)


def recompute_quarters(tx: Transaction, cik: int, period: str) -> None:
    """Recompute a fund's quarter, the changes of the next quarter, and the fund's totals."""
    _recompute_quarter(tx, cik, period)
    next_period = quarters.get_next_end(period)
    if tx.find_row("fund_quarter", cik=cik, period=next_period) is not None:
        _recompute_quarter(tx, cik, next_period)
    tx.run("update_fund_totals", cik=cik)


def recompute_splits(tx: Transaction, now: datetime, limit: int = -1) -> int:
    """Recompute the changes in securities for which a split or ticker became known.

    Return the number of changed fund quarters. Database triggers record the securities and quarters when a document
    contains the split. At most ``limit`` of them are recomputed, or all if it is -1. A requested stop ends the work
    after a security; the rest stays recorded.
    """
    due_rows = tx.list_rows("resplit_securities", limit=limit)
    splits_by_period = {
        period: share_splits.get_for_quarter(tx, quarters.get_previous_end(period), period)
        for period in {row["period"] for row in due_rows}
    }
    changed_quarters: set[tuple[int, str]] = set()
    recomputed: list[tuple[int, str]] = []
    for due_row in due_rows:
        if stopping.is_requested():
            break
        security_id = due_row["security_id"]
        period = due_row["period"]
        likely_splits = splits_by_period[period].get(security_id, ())
        key = {"security_id": security_id, "period": period, "before": quarters.get_previous_end(period)}
        old_positions = []
        new_positions = []
        for row in tx.list_rows("positions_to_resplit", key):
            old = _build_position(row)
            previous_row = old.row._replace(shares=row["shares_before"], value=row["value_before"])
            new = fund_positions.compare_rows(old.row, previous_row, likely_splits)
            if new != old:
                old_positions.append(old)
                new_positions.append(new)
                tx.run("update_position_change", new._asdict(), kind=old.row.kind, cik=row["cik"], **key)
                changed_quarters.add((row["cik"], period))
        _update_security_sums(tx, period, old_positions, new_positions)
        recomputed.append((security_id, period))
    tx.insert_rows("delete_resplit_security", recomputed)
    for cik, period in sorted(changed_quarters):
        tx.run("update_fund_quarter_counts", cik=cik, period=period)
        tx.run("upsert_uncounted_fund", cik=cik, period=period)
    if changed_quarters:
        tx.run("bump_data_version")
    return len(changed_quarters)


# ---- a report's own rows


def _update_stored_report(
    tx: Transaction, report: HoldingsReport, metadata: FilingMetadata, stored_report: Row, now: datetime
) -> bool:
    """Apply new metadata of the filing to a stored report. Return True if something changed."""
    if is_unfiled(metadata.accession):
        return False
    filing_id = _upsert_filing(tx, report, metadata, now)
    if stored_report["accession"] != metadata.accession:
        move_reports(tx, stored_report["filing_id"], filing_id, metadata.accession, now)
        tx.run("delete_filing", id=stored_report["filing_id"])
    else:
        _update_unit(tx, stored_report["id"])
        recompute_quarters(tx, report.cik, report.cover.period)
    row = tx.find_row("holdings_report", id=stored_report["id"])
    assert row is not None
    if (stored_report["accession"], stored_report["filed_at"]) == (row["accession"], row["filed_at"]):
        return False
    tx.run("bump_data_version")
    return True


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    """Send the event of a filing and its table to the feeds, once its accession number is known."""
    if is_unfiled(accession):
        return
    announcements.announce_filing(tx, now, accession=accession)
    row = tx.find_row("latest_holdings_report_of_filing", accession=accession)
    assert row is not None
    record = funds.build_filing_record(row)
    payload = {
        "filer_cik": record["cik"],
        "filer_name": record["fund_name"],
        "period": record["period_of_report"],
        "holdings_count": record["holdings_count"],
        "total_value_usd": record["table_value_total"],
    }
    announcements.announce_content_news(
        tx, now, THIRTEEN_F, accession, [announcements.ContentNews(record, payload, accession)]
    )


class _ShareRow(NamedTuple):
    """A row in shares, with its value in the table's own unit."""

    value: int
    amount: int
    security_id: int


class _ReportRows(NamedTuple):
    """The rows of a report that are in shares, and one name for each CUSIP.

    The names are (CUSIP, issuer, title of class). If a table has several names for a CUSIP, the first one in
    alphabetical order is used.
    """

    share_rows: list[_ShareRow]
    names: list[tuple[str, str, str]]


def _load_rows(tx: Transaction, report_id: int) -> _ReportRows:
    share_rows = [
        _ShareRow(value=row["value"], amount=row["amount"], security_id=row["security_id"])
        for row in tx.list_rows("share_holdings_of_report", report_id=report_id)
    ]
    name_rows = tx.list_rows("security_names_of_report", report_id=report_id)
    return _ReportRows(share_rows, [(row["cusip"], row["issuer"], row["title"]) for row in name_rows])


def _update_unit(tx: Transaction, report_id: int, rows: _ReportRows | None = None) -> None:
    """Copy the filing's accession number and day to a report, and decide the unit of its values again."""
    tx.run("update_report_from_filing", id=report_id)
    report = tx.find_row("holdings_report", id=report_id)
    assert report is not None
    rows = rows or _load_rows(tx, report_id)
    prices = _list_prices(tx, report["cik"], report["period"], rows.share_rows)
    unit = value_units.decide_unit(
        filed_at=report["filed_at"] or None,
        signed=report["signed"],
        period=report["period"],
        value_total=report["value_total"],
        rows=[(row.value, row.amount) for row in rows.share_rows],
        row_value=report["row_value"],
        implied_prices=[(price, list(price_by_fund.values())) for price, price_by_fund in prices],
    )
    tx.run(
        "update_value_unit",
        id=report_id,
        value_unit=unit.value_unit,
        total_unit=unit.total_unit,
        rule=unit.rule,
        corrected=unit.corrected,
    )
    as_of = f"{report['filed_at']} {report['accession']}"
    _upsert_fund(tx, report["cik"], report["name"], as_of)
    securities.update_reported_names(tx, rows.names, as_of)


def _list_prices(
    tx: Transaction, cik: int, period: str, share_rows: Sequence[_ShareRow]
) -> list[tuple[float, dict[int, float]]]:
    """Return the implied prices of a table's largest share positions, each with the prices of other funds.

    The table's price is in its own unit. The prices of other funds are in dollars, by the CIK of the fund.
    """
    # Equal columns imply a price of 1, which is an error of the filer.
    priced_rows = (row for row in share_rows if row.value and row.amount and row.value != row.amount)
    prices = []
    for row in nlargest(MAX_COMPARED_POSITIONS, priced_rows, key=lambda row: row.value):
        holders = tx.list_rows("largest_other_holders", security_id=row.security_id, period=period, cik=cik)
        price_by_fund = {holder["cik"]: holder["value"] / holder["shares"] for holder in holders}
        prices.append((row.value / row.amount, price_by_fund))
    return prices


def _recheck_other_units(
    tx: Transaction, report_id: int, cik: int, period: str, share_rows: Sequence[_ShareRow]
) -> None:
    """Decide again the units of other funds whose prices are a thousand times off compared with a new report."""
    report = tx.find_row("holdings_report", id=report_id)
    assert report is not None
    doubtful_funds: set[int] = set()
    for price, price_by_fund in _list_prices(tx, cik, period, share_rows):
        agreed_price = value_units.find_agreed_price([price * report["value_unit"], *price_by_fund.values()])
        if agreed_price is None:
            continue
        for other_cik, other_price in price_by_fund.items():
            if value_units.get_thousandfold_sign(other_price, agreed_price):
                doubtful_funds.add(other_cik)
    for other_cik in sorted(doubtful_funds)[:MAX_RECHECKED_FUNDS]:
        for other_report in tx.list_rows("reports_of_quarter", cik=other_cik, period=period):
            _update_unit(tx, other_report["id"])
        recompute_quarters(tx, other_cik, period)


def _upsert_fund(tx: Transaction, cik: int, name: str, as_of: str) -> None:
    if tx.run("upsert_fund", cik=cik, name=name, as_of=as_of):
        tx.run("delete_fund_words", cik=cik)
        tx.insert_rows("insert_fund_words", [(word, cik) for word in issuer_names.list_words(name)])


def _upsert_filing(tx: Transaction, report: HoldingsReport, metadata: FilingMetadata, now: datetime) -> int:
    """Insert or update the filing's row and return its id."""
    cover = report.cover
    from_document = FilingMetadata(
        "",
        DOCUMENT_EVIDENCE,
        (Party(report.cik, CLAIMED_RANK),),
        form=cover.form,
        period_of_report=cover.period,
        file_number=cover.file_number,
    )
    return filing_store.upsert_filing_of_document(tx, metadata, from_document, now, announces=False).id


def _insert_report(tx: Transaction, report: HoldingsReport, filing_id: int) -> int:
    """Insert the report and the managers that its cover page names. Return the report's id."""
    cover = report.cover
    report_id = tx.insert_row(
        "insert_holdings_report",
        {name: getattr(cover, name) for name in cover.__slots__},
        filing_id=filing_id,
        cik=report.cik,
        sha256=report.sha256,
        row_count=report.row_count,
        row_value=report.row_value,
        rejected_count=report.rejected_count,
        documents=report.documents,
    )
    managers = [(manager, 0) for manager in cover.reporting_managers]
    managers += [(manager, 1) for manager in cover.included_managers]
    rows = []
    for seq, (manager, is_included) in enumerate(managers, 1):
        cik = int(manager.cik) if manager.cik else None
        rows.append((report_id, seq, manager.number, manager.name, cik, manager.file_number, is_included))
    tx.insert_rows("insert_holdings_managers", rows)
    return report_id


def _insert_rows(tx: Transaction, report: HoldingsReport, report_id: int) -> _ReportRows:
    """Insert the rows of a report's table, and any new names and CUSIPs."""
    names = sorted({(row.issuer, row.title) for row in report.rows})
    name_ids = _get_name_ids(tx, names)
    if len(name_ids) < len(names):
        tx.insert_rows("insert_holding_names", [name for name in names if name not in name_ids])
        name_ids = _get_name_ids(tx, names)
    # The chosen names do not depend on the order of the rows.
    name_by_cusip: dict[str, tuple[str, str]] = {}
    for row in report.rows:
        name = (row.issuer, row.title)
        name_by_cusip[row.cusip] = min(name_by_cusip.get(row.cusip, name), name)
    security_ids = securities.get_or_insert_ids(tx, name_by_cusip)
    rows = []
    share_rows = []
    for seq, row in enumerate(report.rows, 1):
        security_id = security_ids[row.cusip]
        kind = get_position_kind(row)
        rows.append(
            (
                report_id,
                seq,
                security_id,
                name_ids[row.issuer, row.title],
                kind,
                int(row.amount_type == "PRN"),
                row.value,
                row.amount,
                row.figi,
                row.discretion,
                row.manager_numbers,
                row.sole_voting,
                row.shared_voting,
                row.no_voting,
            )
        )
        if kind == SHARES:
            share_rows.append(_ShareRow(value=row.value, amount=row.amount, security_id=security_id))
    tx.insert_rows("insert_holdings", rows)
    return _ReportRows(share_rows, [(number, issuer, title) for number, (issuer, title) in name_by_cusip.items()])


def _get_name_ids(tx: Transaction, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    rows = tx.list_rows("holding_name_ids", names=json.dumps(names))
    return {(row["issuer"], row["title"]): row["id"] for row in rows}


# ---- rows derived from a fund's reports


class _CombinedReports(NamedTuple):
    """The reports that count for a quarter, the oldest first, and the positions that they add up to."""

    reports: list[StandingReport]
    has_full_report: bool
    rows: dict[PositionKey, ReportedRow]
    retained_count: int  # Positions that a doubtful restatement drops.


def _combine_reports(
    tx: Transaction, all_reports: Sequence[StandingReport], previous: dict[PositionKey, ReportedRow] | None
) -> _CombinedReports:
    """Return the positions of a quarter's reports. ``previous`` are those of the quarter before, None if unknown.

    A doubtful restatement replaces only the positions that it contains.
    """
    reports, has_full_report = fund_positions.choose_effective_reports(all_reports)
    rows_by_report = {
        report.report_id: [
            _build_reported_row(row) for row in tx.list_rows("holdings_of_report", report_id=report.report_id)
        ]
        for report in reports
    }
    amended_keys = {
        (row.kind, row.security_id)
        for report in reports
        if report.is_amendment
        for row in rows_by_report[report.report_id]
    }
    counted_rows: list[ReportedRow] = []
    for report in reports:
        for row in rows_by_report[report.report_id]:
            # Once an amendment publishes a holding that was confidential, the request no longer counts.
            if not (report.is_confidential_request and (row.kind, row.security_id) in amended_keys):
                counted_rows.append(row)
    rows = fund_positions.merge_rows(counted_rows)
    if not has_full_report or not reports[0].is_amendment:
        return _CombinedReports(reports, has_full_report, rows, 0)
    restatement = reports[0]
    earlier = _combine_reports(tx, [report for report in all_reports if report < restatement], previous)
    restated = fund_positions.merge_rows(rows_by_report[restatement.report_id])
    if not fund_positions.is_doubtful_restatement(restated, earlier.rows, previous):
        return _CombinedReports(reports, has_full_report, rows, 0)
    retained = {key: row for key, row in earlier.rows.items() if key not in rows}
    return _CombinedReports([*earlier.reports, *reports], has_full_report, {**retained, **rows}, len(retained))


def _recompute_quarter(tx: Transaction, cik: int, period: str) -> None:
    report_by_id = {row["id"]: row for row in tx.list_rows("reports_of_quarter", cik=cik, period=period)}
    previous_period = quarters.get_previous_end(period)
    previous = _find_previous_rows(tx, cik, previous_period)
    combined = _combine_reports(tx, [_build_standing_report(row) for row in report_by_id.values()], previous)
    reports, has_full_report = combined.reports, combined.has_full_report
    is_complete = has_full_report and all(report.is_complete for report in reports)
    if not is_complete:
        previous = None
    positions: list[FundPosition] = []
    if reports:
        splits = share_splits.get_for_quarter(tx, previous_period, period)
        positions = fund_positions.compare_quarters(combined.rows, previous, splits)
    _replace_positions(tx, cik, period, positions)
    tx.run("upsert_uncounted_fund", cik=cik, period=period)
    tx.run("insert_uncompared_fund_quarter", cik=cik, period=period)
    tx.run("delete_fund_quarter", cik=cik, period=period)
    if not reports:
        return
    open_positions = [position for position in positions if position.status != fund_positions.CLOSED]
    total_value = sum(position.row.value for position in open_positions)
    if has_full_report and not is_complete:
        # Rows are missing, so their sum is too small. The total on the cover is used.
        total_value = max(total_value, report_by_id[reports[0].report_id]["stated"] or 0)
    counts: dict[str, int] | dict[str, None] = dict.fromkeys(fund_positions.CHANGES)
    if previous is not None:
        counts = fund_positions.count_changes(positions)
    tx.run(
        "insert_fund_quarter",
        counts,
        cik=cik,
        period=period,
        report_id=reports[-1].report_id,
        reports=len(reports),
        complete=is_complete,
        compared=previous is not None,
        value=total_value,
        positions=len(open_positions),
        options=sum(position.row.kind in (CALLS, PUTS) for position in open_positions),
        is_early=all(_is_before_end(report_by_id[report.report_id], period) for report in reports),
        retained=combined.retained_count,
    )


def _is_before_end(report: Row, period: str) -> bool:
    """Return True if a report was filed before its quarter ended: then its period is wrong."""
    return bool(report["filed_at"]) and report["filed_at"][: len(period)] < period


def _build_standing_report(row: Row) -> StandingReport:
    is_confidential_request = row["form"].startswith("13F-CTR")
    return StandingReport(
        filed_at=row["filed_at"],
        amendment_number=row["amendment_number"],
        accession=row["accession"],
        is_complete=row["entry_total"] in (None, row["row_count"]),
        row_count=row["row_count"],
        sha256=row["sha256"],
        report_id=row["id"],
        # The holdings of a confidential request are missing in the public report.
        amendment_type=NEW_HOLDINGS if is_confidential_request else row["amendment_type"],
        is_amendment=row["form"].endswith("/A") and not is_confidential_request,
        is_notice=row["form"].startswith("13F-NT") or (is_confidential_request and not row["row_count"]),
        is_confidential_request=is_confidential_request,
    )


def _find_previous_rows(tx: Transaction, cik: int, period: str) -> dict[PositionKey, ReportedRow] | None:
    """Return the rows held at the end of a quarter, or None if that quarter is unknown or incomplete."""
    quarter = tx.find_row("fund_quarter", cik=cik, period=period)
    if quarter is None or not quarter["complete"]:
        return None
    rows = {}
    for position in _load_positions(tx, cik, period):
        if position.status != fund_positions.CLOSED:
            rows[position.row.kind, position.row.security_id] = position.row
    return rows


def _load_positions(tx: Transaction, cik: int, period: str) -> list[FundPosition]:
    return [_build_position(row) for row in tx.list_rows("positions_of_quarter", cik=cik, period=period)]


def _build_reported_row(row: Row) -> ReportedRow:
    return ReportedRow(
        kind=row["kind"],
        security_id=row["security_id"],
        report_id=row["report_id"],
        name_id=row["name_id"],
        row_count=row["row_count"],
        shares=row["shares"],
        value=row["value"],
        figi=row["figi"],
        discretion=row["discretion"],
        managers=row["managers"],
        sole=row["sole"],
        shared=row["shared"],
        none=row["none"],
    )


def _build_position(row: Row) -> FundPosition:
    return FundPosition(
        row=_build_reported_row(row),
        status=row["status"],
        previous_shares=row["previous_shares"],
        previous_value=row["previous_value"],
        flow=row["flow"],
        split_factor=row["split_factor"],
        split_source=row["split_source"],
    )


def _replace_positions(tx: Transaction, cik: int, period: str, positions: list[FundPosition]) -> None:
    """Replace the positions of a fund's quarter, and update the sums of their securities by the difference."""
    old_positions = _load_positions(tx, cik, period)
    tx.run("delete_positions", cik=cik, period=period)
    rows = []
    for position in positions:
        change = (
            position.status,
            position.previous_shares,
            position.previous_value,
            position.flow,
            position.split_factor,
            position.split_source,
        )
        # The fields of a ReportedRow are in the order of the columns.
        rows.append((cik, period, *position.row, *change))
    tx.insert_rows("insert_positions", sorted(rows))
    tx.run("upsert_fund_groups", cik=cik, period=period)
    _update_security_sums(tx, period, old_positions, positions)


def _update_security_sums(
    tx: Transaction, period: str, old_positions: list[FundPosition], new_positions: list[FundPosition]
) -> None:
    """Update the sums of securities over all funds: subtract the old positions of a quarter and add the new ones."""
    sums: dict[int, tuple[int, ...]] = {}
    for position in old_positions:
        contribution = fund_positions.compute_contribution(position)
        if contribution is not None:
            _add_numbers(sums, position.row.security_id, tuple(-number for number in contribution))
    for position in new_positions:
        contribution = fund_positions.compute_contribution(position)
        if contribution is not None:
            _add_numbers(sums, position.row.security_id, contribution)
    changed_ids = sorted(security_id for security_id, numbers in sums.items() if any(numbers))
    tx.insert_rows("upsert_security_quarters", [(period, id_, *sums[id_]) for id_ in changed_ids])
    tx.run("insert_unpriced_securities", period=period, securities=json.dumps(changed_ids))
    if changed_ids:
        tx.run("clear_group_sums", period=period)
    if old_positions:
        tx.insert_rows("delete_empty_security_quarters", [(period, id_) for id_ in changed_ids])


def _add_numbers(sums: dict[int, tuple[int, ...]], security_id: int, numbers: tuple[int, ...]) -> None:
    previous = sums.get(security_id)
    sums[security_id] = numbers if previous is None else tuple(map(add, previous, numbers))
