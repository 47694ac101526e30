"""13F reports into rows: the one way in, for an ingest and for an embedded pack alike.

A report's own rows never change. What stands for a fund's quarter follows from all its reports and is made
anew whenever one is added or its day becomes known, so that the order in which they came leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from finapi.db import Row, Transaction
from finapi.market import (
    announce,
    companies,
    filings,
    fund_lists,
    issuers,
    positions,
    quarters,
    securities,
    store,
    value_units,
)
from finapi.market.holdings_report import CALLS, PUTS, HoldingsReport, kind_of, unit_of
from finapi.market.positions import Position, Standing
from finapi.market.report import UNFILED
from finapi.market.store import Filed


def put(tx: Transaction, report: HoldingsReport, filed: Filed, now: datetime) -> bool:
    """Store a report under its filing; False when the same documents are there already and nothing new is told.

    Everything happens in the caller's transaction: the filing is stored whole or not at all.
    """
    held = _held(tx, report, filed)
    if held is not None:
        return _tell(tx, report, filed, held, now)
    name, as_of = report.cover.name, filed.filed_at or ""
    companies.put_name(tx, report.cik, name, companies.FROM_COVER, as_of)
    _put_fund(tx, report.cik, name, f"{as_of} {filed.accession}")
    report_id = _insert_report(tx, report, filed, _put_filing(tx, report, filed, now))
    _insert_rows(tx, report, report_id, f"{as_of} {filed.accession}")
    settle(tx, report.cik, report.cover.period)
    tx.run("bump_data_version")
    _announce(tx, filed.accession, now)
    return True


def settle_unfiled(tx: Transaction, cik: int, now: datetime) -> int:
    """Give a fund's reports whose filing was unknown the filing that a list now tells of; how many were settled."""
    settled = 0
    for row in tx.all("unfiled_holdings_reports", cik=cik):
        listed = store.like(tx, cik, row["form"], row["period"])
        if listed is not None:
            filing_id = tx.value("filing_id", accession=listed.accession)
            _move(tx, row, filing_id)
            settle(tx, cik, row["period"])
            _announce(tx, listed.accession, now)
            settled += 1
    return settled


def settle_filed(tx: Transaction) -> int:
    """Take over the days of filings that became known, or better known; how many reports that changed.

    A trigger notes them, whichever document told.
    """
    rows = tx.all("redated_holdings_reports")
    for row in rows:
        _refile(tx, row["id"])
    for cik, period in sorted({(row["cik"], row["period"]) for row in rows}):
        settle(tx, cik, period)
    if rows:
        tx.run("clear_redated_holdings_reports")
    return len(rows)


def settle(tx: Transaction, cik: int, period: str) -> None:
    """Make what follows from a fund's reports of a quarter anew: that quarter, the next one, and the counts."""
    _settle_quarter(tx, cik, period)
    following = quarters.after(period)
    if tx.one("fund_quarter", cik=cik, period=following) is not None:
        _settle_quarter(tx, cik, following)
    tx.run("count_fund", cik=cik)


# ---- a report's own rows


def _held(tx: Transaction, report: HoldingsReport, filed: Filed) -> Row | None:
    """The row of the same documents: under this accession number, or under one that was not known then."""
    rows = tx.all("holdings_reports_of_content", cik=report.cik, sha256=report.sha256)
    if filed.accession.startswith(UNFILED):
        return rows[0] if rows else None
    same = [row for row in rows if row["accession"] == filed.accession]
    return next(iter(same + [row for row in rows if row["accession"].startswith(UNFILED)]), None)


def _tell(tx: Transaction, report: HoldingsReport, filed: Filed, held: Row, now: datetime) -> bool:
    """Take over what is now known of a filing that is held; whether that was anything new."""
    if filed.accession.startswith(UNFILED):
        return False
    before = held["accession"], held["filed_at"]
    filing_id = _put_filing(tx, report, filed, now)
    if held["accession"] != filed.accession:
        _move(tx, held, filing_id)
        _announce(tx, filed.accession, now)
    else:
        _refile(tx, held["id"])
    settle(tx, report.cik, report.cover.period)
    row = tx.one("holdings_report", id=held["id"])
    assert row is not None
    if before == (row["accession"], row["filed_at"]):
        return False
    tx.run("bump_data_version")
    return True


def _move(tx: Transaction, held: Row, filing_id: int) -> None:
    """Put a report that was stored under an unknown filing under the one that it turned out to be."""
    tx.run("move_holdings_report", id=held["id"], filing_id=filing_id)
    tx.run("delete_filing", id=held["filing_id"])
    _refile(tx, held["id"])


def _announce(tx: Transaction, accession: str, now: datetime) -> None:
    """Tell the feeds of a filing and of its table, once: when its number is known."""
    if accession.startswith(UNFILED):
        return
    announce.filing(tx, now, accession=accession)
    row = tx.one("latest_holdings_report_of_filing", accession=accession)
    assert row is not None
    announce.holdings(
        tx,
        now,
        accession=accession,
        cik=row["cik"],
        form_type=row["form"],
        filed_at=row["filed_at"] or None,
        accepted_at=row["accepted_at"],
        data=fund_lists.filing_shown(row),
    )


def _refile(tx: Transaction, report_id: int) -> None:
    """Repeat the filing's number and day in the report, and decide its unit by them."""
    tx.run("refile_holdings_report", id=report_id)
    row = tx.one("holdings_report", id=report_id)
    assert row is not None
    unit = value_units.decide(
        filed_at=row["filed_at"] or None,
        signed=row["signed"],
        period=row["period"],
        value_total=row["value_total"],
        rows=[(one["value"], one["amount"]) for one in tx.all("priced_holdings", report_id=report_id)],
        row_value=row["row_value"],
    )
    tx.run(
        "set_value_unit",
        id=report_id,
        value_unit=unit.rows,
        total_unit=unit.total,
        rule=unit.rule,
        corrected=unit.corrected,
    )
    seen = f"{row['filed_at']} {row['accession']}"
    _put_fund(tx, row["cik"], row["name"], seen)
    _see(tx, tx.all("names_in_holdings", report_id=report_id), seen)


def _put_fund(tx: Transaction, cik: int, name: str, as_of: str) -> None:
    if tx.run("put_fund", cik=cik, name=name, as_of=as_of):
        tx.run("delete_fund_words", cik=cik)
        tx.many("insert_fund_words", [(word, cik) for word in issuers.words(name)])


def _put_filing(tx: Transaction, report: HoldingsReport, filed: Filed, now: datetime) -> int:
    """Tell of the filing what lies beside the report, then what its cover says; the filing's id."""
    cover = report.cover
    if filed.accession.startswith(UNFILED):
        tx.run("put_unfiled", accession=filed.accession, cik=report.cik, form=cover.form, period=cover.period)
        unfiled_id: int = tx.value("filing_id", accession=filed.accession)
        return unfiled_id
    parties = (filings.Party(report.cik, filings.CLAIMED),)
    beside = filings.Told(
        accession=filed.accession,
        evidence=filed.evidence,
        parties=parties,
        form=filed.form,
        filed_at=filed.filed_at,
        accepted_at=filed.accepted_at,
        period_of_report=filed.period,
    )
    filings.put(tx, beside, now, news=False)
    inside = filings.Told(
        accession=filed.accession,
        evidence=filings.DOCUMENT,
        parties=parties,
        form=cover.form,
        period_of_report=cover.period,
        file_number=cover.file_number,
    )
    return filings.put(tx, inside, now, news=False).id


def _insert_report(tx: Transaction, report: HoldingsReport, filed: Filed, filing_id: int) -> int:
    cover, unit = report.cover, unit_of(report, filed.filed_at)
    report_id = tx.insert(
        "insert_holdings_report",
        filing_id=filing_id,
        cik=report.cik,
        sha256=report.sha256,
        form=cover.form,
        period=cover.period,
        report_type=cover.report_type,
        amendment_type=cover.amendment_type,
        amendment_number=cover.amendment_number,
        name=cover.name,
        address=cover.address,
        file_number=cover.file_number,
        signer=cover.signer,
        signer_title=cover.signer_title,
        signed=cover.signed,
        entry_total=cover.entry_total,
        value_total=cover.value_total,
        confidential_omitted=cover.confidential_omitted,
        row_count=len(report.rows),
        row_value=report.row_value,
        value_unit=unit.rows,
        total_unit=unit.total,
        rule=unit.rule,
        corrected=unit.corrected,
        documents=report.documents,
    )
    tx.run("refile_holdings_report", id=report_id)
    listed = [(one, 0) for one in cover.reported_by] + [(one, 1) for one in cover.included]
    tx.many(
        "insert_holdings_managers",
        [
            (report_id, seq, one.number, one.name, int(one.cik) if one.cik else None, one.file_number, inside)
            for seq, (one, inside) in enumerate(listed, 1)
        ],
    )
    return report_id


def _insert_rows(tx: Transaction, report: HoldingsReport, report_id: int, seen: str) -> None:
    names = sorted({(row.issuer, row.title) for row in report.rows})
    name_ids = _name_ids(tx, names)
    # Of several names for one CUSIP in one table the least is taken, whatever their order.
    first: dict[str, tuple[str, str]] = {}
    for row in report.rows:
        name = (row.issuer, row.title)
        first[row.cusip] = min(first.get(row.cusip, name), name)
    ids = securities.ids(tx, first)
    tx.many(
        "insert_holdings",
        [
            (
                report_id,
                seq,
                ids[row.cusip],
                name_ids[row.issuer, row.title],
                kind_of(row),
                int(row.amount_type == "PRN"),
                row.value,
                row.amount,
                row.figi,
                row.discretion,
                row.managers,
                row.sole,
                row.shared,
                row.none,
            )
            for seq, row in enumerate(report.rows, 1)
        ],
    )
    _see(tx, [{"cusip": number, "issuer": one[0], "title": one[1]} for number, one in first.items()], seen)


def _see(tx: Transaction, rows: Iterable[Row | dict[str, str]], seen: str) -> None:
    securities.see(tx, [(row["cusip"], row["issuer"], row["title"]) for row in rows], seen)


def _name_ids(tx: Transaction, names: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    tx.many("insert_holding_names", names)
    ids = {}
    for name in names:
        ids[name] = tx.value("holding_name_id", issuer=name[0], title=name[1])
    return ids


# ---- what follows from them


def _settle_quarter(tx: Transaction, cik: int, period: str) -> None:
    reports = {row["id"]: row for row in tx.all("reports_of_quarter", cik=cik, period=period)}
    standing, full = positions.effective(_standing(row) for row in reports.values())
    made: list[Position] = []
    whole = full and all(one.whole for one in standing)
    before = _before(tx, cik, quarters.before(period)) if whole else None
    if standing:
        now = positions.united(_rows_of(tx, [one.report_id for one in standing]))
        made = positions.compared(now, before)
    _replace(tx, cik, period, made)
    tx.run("delete_fund_quarter", cik=cik, period=period)
    if not standing:
        return
    held = [one for one in made if one.status != positions.CLOSED]
    value = sum(one.row.value for one in held)
    if full and not whole:
        # The rows are not all there: what they sum to is not what the fund holds.
        value = max(value, reports[standing[0].report_id]["stated"] or 0)
    counts = positions.counted(made) if before is not None else {}
    tx.run(
        "insert_fund_quarter",
        cik=cik,
        period=period,
        report_id=standing[-1].report_id,
        reports=len(standing),
        complete=whole,
        compared=before is not None,
        value=value,
        positions=len(held),
        options=sum(one.row.kind in (CALLS, PUTS) for one in held),
        new=counts.get("new"),
        increased=counts.get("increased"),
        decreased=counts.get("decreased"),
        unchanged=counts.get("unchanged"),
        closed=counts.get("closed"),
    )


def _standing(row: Row) -> Standing:
    return Standing(
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


def _rows_of(tx: Transaction, report_ids: list[int]) -> Iterable[positions.Row]:
    for report_id in report_ids:
        for row in tx.all("holdings_of_report", report_id=report_id):
            yield positions.Row(*row)


def _before(tx: Transaction, cik: int, period: str) -> dict[tuple[int, int], positions.Row] | None:
    """What was held a quarter before; None when that quarter is not known, or not whole."""
    quarter = tx.one("fund_quarter", cik=cik, period=period)
    if quarter is None or not quarter["complete"]:
        return None
    rows = (_position(row).row for row in tx.all("positions_held", cik=cik, period=period))
    return {(row.kind, row.security_id): row for row in rows}


def _position(row: Row) -> Position:
    values = tuple(row)
    return Position(positions.Row(*values[:13]), *values[13:])


def _replace(tx: Transaction, cik: int, period: str, made: list[Position]) -> None:
    """Write a quarter's positions, and bring its securities' sums from the old ones to the new."""
    old = [_position(row) for row in tx.all("positions_of_quarter", cik=cik, period=period)]
    tx.run("delete_positions", cik=cik, period=period)
    tx.many("insert_positions", sorted((cik, period, *one.row, *one[1:]) for one in made))
    sums: dict[int, list[int]] = {}
    for sign, some in ((-1, old), (1, made)):
        for one in some:
            share = positions.share_of(one)
            if share is not None:
                held = sums.setdefault(one.row.security_id, [0] * len(share))
                sums[one.row.security_id] = [a + sign * b for a, b in zip(held, share, strict=True)]
    changed = {security_id: share for security_id, share in sums.items() if any(share)}
    tx.many("add_to_security_quarters", [(period, at, *changed[at]) for at in sorted(changed)])
    if old:
        tx.many("delete_empty_security_quarters", [(period, at) for at in changed])
