"""Many schedules 13D and 13G and Forms 144, with amendments, in a fixed order."""

from __future__ import annotations

import random
import time
from datetime import date, datetime, timedelta

from finapi.app import App
from finapi.edgar import sale_notices, schedules
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.ownership import sale_notice_store, schedule_store
from tests.support import schedule_xml as made

ISSUERS, FILERS, PORTION = 2_000, 200, 100
FIRST_DAY, DAYS = date(2024, 12, 18), 400

LISTS = (
    "/ownership/beneficial-ownership/filings",
    "/ownership/beneficial-ownership/filings?form_type=SCHEDULE%2013D",
    "/ownership/beneficial-ownership/issuers/1000007/summary",
    "/ownership/beneficial-ownership/filers/6000007/portfolio",
    "/ownership/beneficial-ownership/activists",
    "/ownership/beneficial-ownership/conversions",
    "/ownership/beneficial-ownership/groups",
    "/ownership/analytics/threshold-crossings",
    "/ownership/holders",
    "/ownership/holders?q=filer",
    "/ownership/holders?q=lp%20f&type=beneficial_owner",
    "/ownership/holders?type=institutional",
    "/ownership/holders/6000007/filing-history",
    "/ownership/cross-reference/6000007",
    "/ownership/positions/6000007/issuer/1000007/history",
    "/ownership/positions/issuer/1000007/holders",
    "/ownership/positions/issuer/1000007/timeline",
    "/ownership/aggregation/by-ticker",
    "/ownership/aggregation/by-sector",
    "/ownership/aggregation/by-industry?direction=increase&minOwnership=5",
    "/insiders/form-144/latest",
    "/insiders/form-144/by-ticker/T7",
    "/insiders/form-144/by-insider/101",
)


def fill(app: App, filings: int, now: datetime) -> list[float]:
    """Store equal numbers of schedules and notices, oldest first. Return the CPU seconds of each tenth."""
    chance, took = random.Random(13), [0.0] * 10
    for start in range(0, filings, PORTION):
        started = time.process_time()
        with app.db.write() as tx:
            for number in range(start, start + PORTION):
                filed = (FIRST_DAY + timedelta(number * DAYS // filings)).isoformat()
                issuer = chance.randrange(ISSUERS)
                issuer_names = (f"{1_000_000 + issuer:010}", f"Issuer {issuer} Inc.", made.LAMPS[2])
                filing_metadata = FilingMetadata(f"0000000013-25-{number:06}", DOCUMENT_EVIDENCE, filed_at=filed)
                schedule_store.upsert(
                    tx,
                    schedules.parse(_schedule(chance, number, issuer_names), "primary_doc.xml"),
                    filing_metadata,
                    now,
                )
                filing_metadata = FilingMetadata(f"0000000144-25-{number:06}", DOCUMENT_EVIDENCE, filed_at=filed)
                sale_notice_store.upsert(
                    tx, sale_notices.parse(made.notice(issuer=issuer_names), "primary_doc.xml"), filing_metadata, now
                )
        took[start * 10 // filings] += time.process_time() - started
    return took


def _schedule(chance: random.Random, number: int, issuer: tuple[str, str, str]) -> bytes:
    """Return a schedule; one in five is a 13D, and every second of those is filed by a group."""
    filer = f"{6_000_000 + chance.randrange(FILERS):010}"
    percent = f"{chance.uniform(1, 15):.1f}"
    holder, shares = (filer, f"Filer {int(filer)} LP"), str(chance.randrange(10**5, 10**7))
    if number % 5:
        return made.g(made.person(holder, shares, percent, schedule="G"), issuer=issuer, cusip=None, filer=filer)
    group = [made.person(made.BEN, "1000", "0.1", member="a")] if number % 2 else []
    first = made.person(holder, shares, percent, member="a" if group else None)
    return made.d(first, *group, issuer=issuer, cusip=None, filer=filer, purpose="Wick nominated two directors.")
