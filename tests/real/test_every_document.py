"""The outcome of every non-XBRL document in ``../shared/edgar``: ingested, or the reason why not."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import UNDATED_NOTE, Outcome
from finapi.market.intake import ingest
from tests.conftest import SHARED, needs_shared

pytestmark = [needs_shared, pytest.mark.slow]

EDGAR = SHARED / "edgar"
# The other documents are XBRL and its data sets, which have their own tests.
# Lists of filings come first: then the filing dates of the forms are known.
FAMILIES = (
    "company_tickers.json",
    "submissions",
    "submissions_older_vintage",
    "index",
    "feeds",
    "http_errors",
    "ownership",
    "sgml",
    "thirteenf",
)
TRIMMED = (
    "the table has 5 of the 90 rows that its cover says: no change is concluded from it; "
    "the filing date is not known: it counts as the first of its quarter"
)
ERROR_PAGE = ("refused", "is an error page of the SEC, not a document")

# Outcomes other than a plain ingest.
EXCEPTIONS = {
    "http_errors/fullindex_future_403.xml": ERROR_PAGE,
    "http_errors/getcurrent_503.html": ERROR_PAGE,
    "http_errors/rate_exceeded.html": ERROR_PAGE,
    "http_errors/submissions_unknown_cik_404.xml": ERROR_PAGE,
    "ownership/form3_0000320193_newstead_20260301_0001780525-26-000003.xml": ("ingested", UNDATED_NOTE),
    "ownership/form3_0000867773_hegde_20211231_nosecurities.xml": ("ingested", UNDATED_NOTE),
    "ownership/form4_0000320193_newstead_20260615_0001140361-26-025622.xml": ("ingested", UNDATED_NOTE),
    "ownership/form4_0000927066_berkshire_davita_20260501_0001193125-26-207021.xml": ("ingested", UNDATED_NOTE),
    "ownership/form4_0000933972_374water_20250430.xml": ("ingested", UNDATED_NOTE),
    "ownership/form4_0001640147_scarpelli_20221213.xml": ("ingested", UNDATED_NOTE),
    "thirteenf/abacus_0001978011_primary_doc.xml": (
        "refused",
        "13F-HR cover whose table of 92 entries is missing",
    ),
    "thirteenf/brk_2026q1_0001193125-26-226661_index.json": (
        "skipped",
        "contains nothing that is not in the filing's other documents",
    ),
    "thirteenf/brk_2026q1_0001193125-26-226661_infotable_TRIMMED.xml": ("ingested", TRIMMED),
    "thirteenf/brk_2026q1_0001193125-26-226661_primary_doc.xml": ("ingested", TRIMMED),
    "thirteenf/infotable_255rows.xml": (
        "refused",
        "is the table of a 13F without its cover page, which states the filer and the quarter",
    ),
}


def test_every_document_is_ingested_or_refused_with_its_reason(app: App) -> None:
    with (EDGAR / "SOURCES.tsv").open(encoding="utf-8", newline="") as opened:
        source_paths = [row["path"] for row in csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE)]
    family_paths = {path for path in source_paths if path.split("/")[0] in FAMILIES}
    outcomes: dict[str, tuple[str, str | None]] = {}

    def record_outcome(outcome: Outcome) -> None:
        outcomes[Path(outcome.path).relative_to(EDGAR).as_posix()] = (outcome.outcome, outcome.reason)

    ingest.run(app, [EDGAR / name for name in FAMILIES], IngestOptions(), record_outcome)
    assert outcomes == {path: EXCEPTIONS.get(path, ("ingested", None)) for path in family_paths}
