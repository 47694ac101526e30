"""A list of Apple's reports with the SEC, so that the demo's main feed has something to tell from the start."""

from __future__ import annotations

import csv
from importlib import resources

from finapi.app import App
from finapi.market import announce, filings
from finapi.market.filings import LISTED, SUBMISSIONS, Party, Told

FILE = "filings.tsv"  # from EDGAR's own list of submissions
APPLE = 320193
NAME = "Apple Inc."


def load(app: App) -> int:
    """Store the filings in the order of their acceptance and announce each, old as it is; how many there are."""
    now = app.clock.now()
    lines = (resources.files("finapi.demo") / FILE).read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t"))
    with app.db.write() as tx:
        for row in rows:
            filings.put(tx, _told(row), now, news=False)
            announce.filing(tx, now, accession=row["accession"])
        tx.run("bump_data_version")
    return len(rows)


def _told(row: dict[str, str]) -> Told:
    return Told(
        accession=row["accession"],
        evidence=SUBMISSIONS,
        parties=(Party(APPLE, LISTED, NAME),),
        form=row["form"],
        filed_at=row["filed_at"],
        accepted_at=row["accepted_at"],
        period_of_report=row["period_of_report"] or None,
        primary_document=row["primary_document"] or None,
        items=row["items"] or None,
        size=int(row["size"]),
        is_xbrl=int(row["is_xbrl"]),
        is_inline_xbrl=int(row["is_inline_xbrl"]),
    )
