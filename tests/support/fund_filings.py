"""13F filings of two invented funds, and their ingest, for tests of stored rows and answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from tests.support import submission_texts, thirteenf_xml
from tests.support.raw_sql import run_sql
from tests.support.thirteenf_xml import ALLY, APPLE, LAMP_FUND, MICROSOFT, OTHER_FUND

FUND, OTHER = int(LAMP_FUND), int(OTHER_FUND)

# Quarter, day of filing, and rows of (CUSIP, value, shares) of the two funds; prices are 250, 500 and 40.
JUNE = (
    "06-30-2025",
    "2025-08-14",
    [(APPLE, 2_500, 10), (MICROSOFT, 5_000, 10), (ALLY, 400, 10)],
)
SEPTEMBER = ("09-30-2025", "2025-11-14", [(APPLE, 3_750, 15), (MICROSOFT, 2_500, 5)])
OTHERS = ("09-30-2025", "2025-11-12", [(APPLE, 250, 1)])


def submission(
    number: int,
    quarter: tuple[str, str, list[tuple[str, int, int]]],
    *,
    extra: str = "",
    entries: int | None = None,
    **cover: Any,
) -> bytes:
    """Return a full submission, the ``number``-th of its year."""
    period, filed, rows = quarter
    rows_xml = "".join(thirteenf_xml.row(*row) for row in rows) + extra
    cik = cover.pop("cik", LAMP_FUND)
    form = cover.get("form", "13F-HR")
    count = len(rows) + extra.count("<infoTable>") if entries is None else entries
    first = thirteenf_xml.cover(cik=cik, period=period, entries=count, total=sum(row[1] for row in rows), **cover)
    iso = f"{period[6:]}{period[:2]}{period[3:5]}"
    documents = [submission_texts.xml(form, "primary_doc.xml", first)]
    if not form.startswith("13F-NT"):
        documents.append(submission_texts.xml("INFORMATION TABLE", "table.xml", thirteenf_xml.table(rows_xml), 2))
    filer, moment = submission_texts.party("FILER", "LAMP CAPITAL", cik), filed.replace("-", "") + "100000"
    return submission_texts.full(accession(number), form, filer, *documents, filed=moment, period=iso)


def accession(number: int) -> str:
    """Return the accession number of the ``number``-th submission."""
    return f"0001234567-25-{number:06}"


def june() -> bytes:
    return submission(1, JUNE)


def september() -> bytes:
    return submission(2, SEPTEMBER)


def other_submission() -> bytes:
    return submission(3, OTHERS, cik=OTHER_FUND, name="Shade Partners")


def take(app: App, tmp_path: Path, *documents: bytes, **options: str) -> list[Outcome]:
    """Ingest documents one after the other, each as a file of its own. Return the outcomes."""
    outcomes: list[Outcome] = []
    for number, data in enumerate(documents, 1):
        folder = tmp_path / f"take{number}"
        folder.mkdir(exist_ok=True)
        file = folder / "document.txt"
        file.write_bytes(data)
        ingest.run(app, [file], IngestOptions(**options), outcomes.append)
    return outcomes


def list_stored_rows(app: App) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows that answers are built from, without the ids that depend on the order of documents."""
    queries = {
        "positions": """SELECT positions.cik, period, kind, cusip, issuer, shares, value, status, previous_shares,
            flow, discretion, managers, sole FROM positions JOIN securities ON securities.id = security_id""",
        "securities": """SELECT cusip, issuer, title, seen, issuer_key, security_group, ticker, cik, evidence
            FROM securities""",
        "quarters": """SELECT fund_quarters.cik, fund_quarters.period, accession, reports, complete, compared, value,
            positions, options, new, closed FROM fund_quarters
            JOIN holdings_reports ON holdings_reports.id = report_id""",
        "sums": """SELECT period, cusip, funds, shares, value, compared, previous_shares, flow, bought, sold, new,
            increased, decreased, unchanged, closed FROM security_quarters
            JOIN securities ON securities.id = security_id""",
        "reports": "SELECT cik, accession, filed_at, form, period, value_unit, value_unit_rule FROM holdings_reports",
        "funds": "SELECT cik, name, filing_count, latest_period, latest_filed_at, latest_value FROM funds",
    }
    with app.db.read() as tx:
        return {name: sorted((tuple(row) for row in run_sql(tx, query)), key=repr) for name, query in queries.items()}
