"""13F reports into rows: the one way in, for an ingest and for an embedded pack alike.

A report's own rows never change. What stands for a fund's quarter follows from all its reports and is made
anew whenever one is added or its day becomes known, so that the order in which they came leaves no trace.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from heapq import nlargest
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from finapi.core import stopping
from finapi.edgar.form_families import THIRTEEN_F
from finapi.market.documents import announcements, filing_store, identification
from finapi.market.documents.metadata import CLAIMED_RANK, DOCUMENT_EVIDENCE, FilingMetadata, Party, is_unfiled
from finapi.market.holdings import fund_positions, funds, quarters, value_units
from finapi.market.holdings.fund_positions import FundPosition, StandingReport
from finapi.market.holdings.holdings_report import CALLS, PUTS, SHARES, HoldingsReport, get_position_kind
from finapi.market.reference import companies, issuer_names, securities, share_splits
from finapi.store.db import Row, Transaction

# Positions of a table that are compared with those of other managers, and funds that one report makes doubtful.
MAX_COMPARED_POSITIONS, MAX_RECHECKED_FUNDS = 10, 3

# Columns of insert_holdings, in their order.
_OF_ROW = attrgetter(
    "value", "amount", "figi", "discretion", "manager_numbers", "sole_voting", "shared_voting", "no_voting"
)


def store_report(tx: Transaction, report: HoldingsReport, filed: FilingMetadata, now: datetime) -> bool:
    """Store a report under its filing; False when the same documents are there already and nothing new is told.

    Everything happens in the caller's transaction: the filing is stored whole or not at all.
    """
    held = identification.find_stored_row(
        tx.list_rows("holdings_reports_of_content", cik=report.cik, sha256=report.sha256), filed.accession
    )
    if held is not None:
        return _take_over(tx, report, filed, held, now)
    companies.upsert_name(tx, report.cik, report.cover.name, companies.FROM_COVER, filed.filed_at or "")
    # The row of the fund comes before those that refer to it.
    _put_fund(tx, report.cik, report.cover.name, f"{filed.filed_at or ''} {filed.accession}")
    report_id = _insert_report(tx, report, _put_filing(tx, report, filed, now))
    rows = _insert_rows(tx, report, report_id)
    _refile(tx, report_id, rows)
    recompute_quarters(tx, report.cik, report.cover.period)
    _judge_others(tx, report_id, report.cik, report.cover.period, rows)
    tx.run("bump_data_version")
    _announce(tx, filed.accession, now)
    return True


def move_reports(tx: Transaction, unfiled_id: int, filing_id: int, accession: str, now: datetime) -> None:
    """Put the reports of an unknown filing under the one that it turned out to be."""
    rows = tx.list_rows("holdings_reports_of_filing", filing_id=unfiled_id)
    for row in rows:
        tx.run("update_filing_of_report", id=row["id"], filing_id=filing_id)
        _refile(tx, row["id"])
        recompute_quarters(tx, row["cik"], row["period"])
    if rows:
        _announce(tx, accession, now)


def update_filing_days(tx: Transaction, now: datetime) -> int:
    """Take over the days of filings that became known, or better known; how many reports that changed.

    A trigger notes them, whichever document told.
    """
    rows = tx.list_rows("redated_holdings_reports")
    for row in rows:
        stopping.check()
        _refile(tx, row["id"])
    for cik, period in sorted({(row["cik"], row["period"]) for row in rows}):
        stopping.check()
        recompute_quarters(tx, cik, period)
    if rows:
        tx.run("delete_redated_holdings_reports")
    return len(rows)


def recompute_quarters(tx: Transaction, cik: int, period: str) -> None:
    """Make what follows from a fund's reports of a quarter anew: that quarter, the next one, and the counts."""
    _settle_quarter(tx, cik, period)
    following = quarters.get_next_end(period)
    if tx.find_row("fund_quarter", cik=cik, period=following) is not None:
        _settle_quarter(tx, cik, following)
    tx.run("update_fund_totals", cik=cik)


def recompute_splits(tx: Transaction, now: datetime, limit: int = -1) -> int:
    """Recompute the changes for which a split became known, or whose ticker did. Return how many changed.

    Triggers note the securities and quarters, whichever document told; ``limit`` bounds how many are taken. A stop ends
    it after a security. The rest stays noted.
    """
    funds_changed: set[tuple[int, str]] = set()
    due = tx.list_rows("resplit_securities", limit=limit)
    done: list[tuple[int, str]] = []
    periods = {row["period"] for row in due}
    found = {one: share_splits.get_for_quarter(tx, quarters.get_previous_end(one), one) for one in periods}
    for one in due:
        if stopping.is_requested():
            break
        period = one["period"]
        splits = found[period].get(one["security_id"], ())
        values = {"security_id": one["security_id"], "period": period, "before": quarters.get_previous_end(period)}
        pairs = []
        for row in tx.list_rows("positions_to_resplit", values):
            old = _position(tuple(row)[3:])
            new = fund_positions.compare_rows(old.row, old.row._replace(shares=row["held"], value=row["worth"]), splits)
            if new != old:
                pairs.append((old, new))
                tx.run("update_position_change", new._asdict(), kind=old.row.kind, cik=row["cik"], **values)
                funds_changed.add((row["cik"], period))
        _add_up(tx, period, [old for old, _ in pairs], [new for _, new in pairs])
        done.append((one["security_id"], period))
    tx.insert_rows("delete_resplit_security", done)
    for cik, period in sorted(funds_changed):
        tx.run("update_fund_quarter_counts", cik=cik, period=period)
        tx.run("upsert_uncounted_fund", cik=cik, period=period)
    if funds_changed:
        tx.run("bump_data_version")
    return len(funds_changed)


# ---- a report's own rows


def _take_over(tx: Transaction, report: HoldingsReport, filed: FilingMetadata, held: Row, now: datetime) -> bool:
    """Take over what is now known of a filing that is held; whether that was anything new."""
    if is_unfiled(filed.accession):
        return False
    filing_id = _put_filing(tx, report, filed, now)
    if held["accession"] != filed.accession:
        move_reports(tx, held["filing_id"], filing_id, filed.accession, now)
        tx.run("delete_filing", id=held["filing_id"])
    else:
        _refile(tx, held["id"])
        recompute_quarters(tx, report.cik, report.cover.period)
    row = tx.find_row("holdings_report", id=held["id"])
    assert row is not None
    if (held["accession"], held["filed_at"]) == (row["accession"], row["filed_at"]):
        return False
    tx.run("bump_data_version")
    return True


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    """Tell the feeds of a filing and of its table, once: when its number is known."""
    if is_unfiled(accession):
        return
    announcements.announce_filing(tx, now, accession=accession)
    row = tx.find_row("latest_holdings_report_of_filing", accession=accession)
    assert row is not None
    shown = funds.build_filing_record(row)
    payload = {
        "filer_cik": shown["cik"],
        "filer_name": shown["fund_name"],
        "period": shown["period_of_report"],
        "holdings_count": shown["holdings_count"],
        "total_value_usd": shown["table_value_total"],
    }
    announcements.announce_contents(
        tx, now, THIRTEEN_F, accession, [announcements.ContentNews(shown, payload, accession)]
    )


class _Priced(NamedTuple):
    """A row in shares as it stands in its table."""

    value: int
    amount: int
    security_id: int


class _Rows(NamedTuple):
    """What the rows of a report tell: those in shares, and the name of each CUSIP, of several the least."""

    priced: list[_Priced]
    names: list[tuple[str, str, str]]


def _rows(tx: Transaction, report_id: int) -> _Rows:
    priced = [_Priced._make(row) for row in tx.list_rows("share_holdings_of_report", report_id=report_id)]
    named = tx.list_rows("security_names_of_report", report_id=report_id)
    return _Rows(priced, [(one["cusip"], one["issuer"], one["title"]) for one in named])


def _refile(tx: Transaction, report_id: int, rows: _Rows | None = None) -> None:
    """Repeat the filing's number and day in the report, and decide its unit by them and its ``rows``."""
    tx.run("update_report_from_filing", id=report_id)
    row = tx.find_row("holdings_report", id=report_id)
    assert row is not None
    rows = rows or _rows(tx, report_id)
    told = _prices_told(tx, row["cik"], row["period"], rows.priced)
    unit = value_units.decide_unit(
        filed_at=row["filed_at"] or None,
        signed=row["signed"],
        period=row["period"],
        value_total=row["value_total"],
        rows=[(value, amount) for value, amount, _ in rows.priced],
        row_value=row["row_value"],
        others=[(own, list(prices.values())) for own, prices in told],
    )
    values = {"value_unit": unit.rows, "total_unit": unit.total, "rule": unit.rule, "corrected": unit.corrected}
    tx.run("update_value_unit", values, id=report_id)
    seen = f"{row['filed_at']} {row['accession']}"
    _put_fund(tx, row["cik"], row["name"], seen)
    securities.update_reported_names(tx, rows.names, seen)


def _prices_told(
    tx: Transaction, cik: int, period: str, rows: Sequence[_Priced]
) -> list[tuple[float, dict[int, float]]]:
    """Of a table's largest share positions the price as it stands there, and the dollars that others imply, by fund."""
    largest = nlargest(MAX_COMPARED_POSITIONS, (one for one in rows if one.value and one.amount), itemgetter(0))
    return [
        (
            one.value / one.amount,
            {
                other["cik"]: other["value"] / other["shares"]
                for other in tx.list_rows("largest_other_holders", security_id=one.security_id, period=period, cik=cik)
            },
        )
        for one in largest
    ]


def _judge_others(tx: Transaction, report_id: int, cik: int, period: str, rows: _Rows) -> None:
    """Decide anew the units of funds of this quarter whose prices are a thousand times off since this report came."""
    row = tx.find_row("holdings_report", id=report_id)
    assert row is not None
    doubted: set[int] = set()
    for own, prices in _prices_told(tx, cik, period, rows.priced):
        told = value_units.find_agreed_price([own * row["value_unit"], *prices.values()])
        doubted |= {
            other
            for other, price in prices.items()
            if told is not None and value_units.get_thousandfold_sign(price, told)
        }
    for other in sorted(doubted)[:MAX_RECHECKED_FUNDS]:
        for report in tx.list_rows("reports_of_quarter", cik=other, period=period):
            _refile(tx, report["id"])
        recompute_quarters(tx, other, period)


def _put_fund(tx: Transaction, cik: int, name: str, as_of: str) -> None:
    if tx.run("upsert_fund", cik=cik, name=name, as_of=as_of):
        tx.run("delete_fund_words", cik=cik)
        tx.insert_rows("insert_fund_words", [(word, cik) for word in issuer_names.list_words(name)])


def _put_filing(tx: Transaction, report: HoldingsReport, filed: FilingMetadata, now: datetime) -> int:
    cover, parties = report.cover, (Party(report.cik, CLAIMED_RANK),)
    inside = FilingMetadata(
        "", DOCUMENT_EVIDENCE, parties, form=cover.form, period_of_report=cover.period, file_number=cover.file_number
    )
    return filing_store.upsert_document(tx, filed, inside, now, announces=False).id


def _insert_report(tx: Transaction, report: HoldingsReport, filing_id: int) -> int:
    cover = report.cover
    report_id = tx.insert_row(
        "insert_holdings_report",
        {name: getattr(cover, name) for name in cover.__slots__},
        filing_id=filing_id,
        cik=report.cik,
        sha256=report.sha256,
        row_count=len(report.rows),
        row_value=report.row_value,
        documents=report.documents,
    )
    listed = [(one, 0) for one in cover.reporting_managers] + [(one, 1) for one in cover.included_managers]
    tx.insert_rows(
        "insert_holdings_managers",
        [
            (report_id, seq, one.number, one.name, int(one.cik) if one.cik else None, one.file_number, inside)
            for seq, (one, inside) in enumerate(listed, 1)
        ],
    )
    return report_id


def _insert_rows(tx: Transaction, report: HoldingsReport, report_id: int) -> _Rows:
    names = sorted({(row.issuer, row.title) for row in report.rows})
    name_ids = _name_ids(tx, names)
    if len(name_ids) < len(names):
        tx.insert_rows("insert_holding_names", [one for one in names if one not in name_ids])
        name_ids = _name_ids(tx, names)
    # Of several names for one CUSIP in one table the least is taken, whatever their order.
    first: dict[str, tuple[str, str]] = {}
    for row in report.rows:
        name = (row.issuer, row.title)
        first[row.cusip] = min(first.get(row.cusip, name), name)
    ids = securities.get_or_insert_ids(tx, first)
    rows = []
    for seq, row in enumerate(report.rows, 1):
        told = ids[row.cusip], name_ids[row.issuer, row.title], get_position_kind(row), int(row.amount_type == "PRN")
        rows.append((report_id, seq, *told, *_OF_ROW(row)))
    tx.insert_rows("insert_holdings", rows)
    priced = [_Priced(row[6], row[7], row[2]) for row in rows if row[4] == SHARES]
    return _Rows(priced, [(number, *name) for number, name in first.items()])


def _name_ids(tx: Transaction, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    found = tx.list_rows("holding_name_ids", names=json.dumps(names))
    return {(issuer, title): id for issuer, title, id in found}


# ---- what follows from them


def _settle_quarter(tx: Transaction, cik: int, period: str) -> None:
    reports = {row["id"]: row for row in tx.list_rows("reports_of_quarter", cik=cik, period=period)}
    standing, full = fund_positions.choose_effective_reports(_standing(row) for row in reports.values())
    made: list[FundPosition] = []
    whole = full and all(one.whole for one in standing)
    before = _before(tx, cik, quarters.get_previous_end(period)) if whole else None
    if standing:
        rows = (row for one in standing for row in tx.list_rows("holdings_of_report", report_id=one.report_id))
        united = fund_positions.merge_rows(map(fund_positions.ReportedRow._make, rows))
        made = fund_positions.compare_quarters(
            united, before, share_splits.get_for_quarter(tx, quarters.get_previous_end(period), period)
        )
    _replace(tx, cik, period, made)
    tx.run("upsert_uncounted_fund", cik=cik, period=period)
    tx.run("insert_uncompared_fund_quarter", cik=cik, period=period)
    tx.run("delete_fund_quarter", cik=cik, period=period)
    if not standing:
        return
    held = [one for one in made if one.status != fund_positions.CLOSED]
    value = sum(one.row.value for one in held)
    if full and not whole:
        # The rows are not all there: what they sum to is not what the fund holds.
        value = max(value, reports[standing[0].report_id]["stated"] or 0)
    counts = fund_positions.count_changes(made) if before is not None else dict.fromkeys(fund_positions.CHANGES)
    tx.run(
        "insert_fund_quarter",
        counts,
        cik=cik,
        period=period,
        report_id=standing[-1].report_id,
        reports=len(standing),
        complete=whole,
        compared=before is not None,
        value=value,
        positions=len(held),
        options=sum(one.row.kind in (CALLS, PUTS) for one in held),
    )


def _standing(row: Row) -> StandingReport:
    return StandingReport(
        row["filed_at"],
        row["amendment_number"],
        row["accession"],
        row["entry_total"] in (None, row["row_count"]),
        row["row_count"],
        row["sha256"],
        row["id"],
        row["amendment_type"],
        row["form"].endswith("/A"),
        row["form"].startswith("13F-NT"),
    )


def _before(tx: Transaction, cik: int, period: str) -> dict[tuple[int, int], fund_positions.ReportedRow] | None:
    """What was held a quarter before; None when that quarter is not known, or not whole."""
    quarter = tx.find_row("fund_quarter", cik=cik, period=period)
    if quarter is None or not quarter["complete"]:
        return None
    held = (_position(tuple(row)) for row in tx.list_rows("positions_of_quarter", cik=cik, period=period))
    return {(one.row.kind, one.row.security_id): one.row for one in held if one.status != fund_positions.CLOSED}


def _position(values: tuple[Any, ...]) -> FundPosition:
    return FundPosition(fund_positions.ReportedRow(*values[:13]), *values[13:])


def _replace(tx: Transaction, cik: int, period: str, made: list[FundPosition]) -> None:
    """Write a quarter's positions, and bring its securities' sums from the old ones to the new."""
    old = [_position(tuple(row)) for row in tx.list_rows("positions_of_quarter", cik=cik, period=period)]
    tx.run("delete_positions", cik=cik, period=period)
    tx.insert_rows("insert_positions", sorted((cik, period, *one.row, *one[1:]) for one in made))
    tx.run("upsert_fund_groups", cik=cik, period=period)
    _add_up(tx, period, old, made)


def _add_up(tx: Transaction, period: str, old: list[FundPosition], made: list[FundPosition]) -> None:
    """Bring the sums of securities over a quarter from the old positions to the new."""
    sums: dict[int, tuple[int, ...]] = {}
    for sign, some in ((-1, old), (1, made)):
        for one in some:
            share = fund_positions.compute_contribution(one)
            if share is not None:
                at = one.row.security_id
                held = sums.get(at)
                if held is None and sign > 0:
                    sums[at] = share
                else:
                    pairs = zip(held or repeat(0), share, strict=False)
                    sums[at] = tuple(a + sign * b for a, b in pairs)
    changed = {security_id: share for security_id, share in sums.items() if any(share)}
    tx.insert_rows("upsert_security_quarters", [(period, at, *changed[at]) for at in sorted(changed)])
    tx.run("insert_unpriced_securities", period=period, securities=json.dumps(sorted(changed)))
    if changed:
        tx.run("clear_group_sums", period=period)
    if old:
        tx.insert_rows("delete_empty_security_quarters", [(period, at) for at in changed])
