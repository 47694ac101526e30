"""The demo's documents in the order of filing, stored day by day.

A world that contains only what was filed up to a day shows what every answer for that day must be.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from finapi import app as apps
from finapi.accounts import users
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.files import get_package_folder
from finapi.edgar import companyfacts, fund_reports, sale_notices, schedules, submissions
from finapi.edgar.form_families import FAMILIES, XBRL
from finapi.market.demo import demo_data, demo_prices
from finapi.market.documents import packs
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.filings import lists
from finapi.market.funds import fund_report_store
from finapi.market.ownership import sale_notice_store, schedule_store
from finapi.market.prices import price_store
from finapi.market.prices.price_csv import PriceFile
from finapi.market.statements import fact_sets
from tests.client import Client
from tests.described import LIFTED
from tests.support import fund_report_xml, insider_market, ownership_xml, schedule_xml
from tests.support.raw_sql import run_sql, run_sql_many

FOLDER = get_package_folder("finapi.market.demo")
END = "2026-01-31"


# Amendments of forms of the insider market: of each row, then again, and of a part.
AMENDMENTS: list[tuple[bytes, str, str]] = [
    (
        ownership_xml.form(
            ownership_xml.transaction("S", "12", "5", date="2025-10-01", after="988"),
            kind="4/A",
            period="2025-10-01",
            original="2025-10-03",
        ),
        "0001234567-25-000011",
        "2025-10-20",
    ),
    (
        ownership_xml.form(
            ownership_xml.transaction("S", "14", "5", date="2025-10-01", after="986"),
            kind="4/A",
            period="2025-10-01",
            original="2025-10-03",
        ),
        "0001234567-25-000012",
        "2025-11-03",
    ),
    (
        ownership_xml.form(
            ownership_xml.transaction("P", "110", "10", date="2026-01-20", after="1110"),
            kind="4/A",
            period="2026-01-20",
            original="2026-01-22",
        ),
        "0001234567-26-000013",
        "2026-01-28",
    ),
]
SCHEDULES: list[tuple[str, str, bytes]] = [
    *schedule_xml.examples(),
    (
        "0000000103-25-000012",
        "2025-02-20",
        schedule_xml.d(
            schedule_xml.person(shares="1200000.00", percent="9.1", member="a"),
            schedule_xml.person(schedule_xml.BEN, shares="1200000.00", percent="9.1", member="a", types="IN"),
            form="SCHEDULE 13D/A",
            event="02/18/2025",
            number="1",
        ),
    ),
    (
        "0000000103-25-000013",
        "2025-06-05",
        schedule_xml.d(
            schedule_xml.person(shares="500000.00", percent="3.9"),
            form="SCHEDULE 13D/A",
            event="06/03/2025",
            number="2",
        ),
    ),
    (
        "0000000101-25-000021",
        "2025-04-14",
        schedule_xml.notice(schedule_xml.sale(units="100", date="04/20/2025"), form="144/A"),
    ),
]


class PackLine(NamedTuple):
    """A filing of a pack: the family's name, the first line of the pack, and the filing's own line."""

    family: str
    magic: bytes
    line: bytes


INSIDER_FORMS = [*insider_market.MARKET, *AMENDMENTS]


class FilingOrder:
    """The documents of the demo by the day on which they were filed."""

    def __init__(self) -> None:
        self.pack_lines: dict[str, list[PackLine]] = {}
        self.listed: dict[str, list[submissions.CompanySubmissions]] = {}
        for family in (XBRL, *(family for family in FAMILIES if family is not XBRL)):
            file = FOLDER / f"{family.name}.pack"
            if not file.is_file():
                continue
            magic, _, packed = file.read_bytes().partition(b"\n")
            for line in zlib.decompress(packed).splitlines():
                filed_at = json.loads(line)[0][3]
                if filed_at is not None:
                    self.pack_lines.setdefault(filed_at, []).append(PackLine(family.name, magic + b"\n", line))
        for line in zlib.decompress((FOLDER / demo_data.SUBMISSIONS).read_bytes()).splitlines():
            company = submissions.parse_company(line, demo_data.SUBMISSIONS)
            for filing in company.filings:
                self.listed.setdefault(filing.filed, []).append(replace(company, filings=(filing,)))
        facts_lines = zlib.decompress((FOLDER / demo_data.FACTS).read_bytes()).splitlines()
        self.companyfacts = [json.loads(line) for line in facts_lines]
        self.prices = [row for ticker in demo_prices.BASE_PRICES for row in demo_prices._iter_rows(ticker)]

    def list_days(self) -> list[str]:
        """Return the days on which documents were filed."""
        fact_days = {fact["filed"] for document in self.companyfacts for fact in _iter_facts(document)}
        made_days = {day for _, _, day in INSIDER_FORMS} | {
            day for _, day, _ in [*SCHEDULES, *fund_report_xml.examples()]
        }
        return sorted(self.pack_lines.keys() | self.listed.keys() | fact_days | made_days)

    def cut_companyfacts(self, previous_day: str, last_day: str) -> Iterator[bytes]:
        """Yield the companyfacts documents as they were on a day, if facts were filed after an earlier day."""
        for document in self.companyfacts:
            if not any(previous_day < fact["filed"] <= last_day for fact in _iter_facts(document)):
                continue
            facts = {
                taxonomy: {
                    name: {**concept, "units": units}
                    for name, concept in concepts.items()
                    if (units := _cut_units(concept["units"], last_day))
                }
                for taxonomy, concepts in document["facts"].items()
            }
            yield json.dumps({**document, "facts": facts}).encode()


def _iter_facts(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the facts of a companyfacts document."""
    for concepts in document["facts"].values():
        for concept in concepts.values():
            for facts in concept["units"].values():
                yield from facts


def _cut_units(units: dict[str, list[dict[str, Any]]], last_day: str) -> dict[str, list[dict[str, Any]]]:
    cut = {unit: [fact for fact in facts if fact["filed"] <= last_day] for unit, facts in units.items()}
    return {unit: facts for unit, facts in cut.items() if facts}


class DatedWorld:
    """A service that contains what was filed up to a day, and that is called at the end of it."""

    def __init__(self, order: FilingOrder, folder: Path | None = None) -> None:
        """Create the world, in memory or in a folder."""
        self.order = order
        self.day = ""
        self.clock = FixedClock(datetime(1990, 1, 1, tzinfo=UTC))
        settings: dict[str, Any] = {**LIFTED, "default_windows": "all"}
        if folder is None:
            self.app = apps.create_in_memory(Config(**settings), self.clock)
        else:
            self.app = apps.open_on_disk(Config(**settings, data_dir=folder), self.clock)
        self.client = Client(self.app)

    def close(self) -> None:
        """Close the database."""
        self.app.db.close()

    def move_to(self, day: str) -> None:
        """Store the documents that were filed after the present day and up to another one."""
        order = self.order
        end_of_day = datetime.fromisoformat(f"{day}T23:59:59+00:00")
        self.clock.advance((end_of_day - self.clock.now()) / timedelta(seconds=1))
        new_days = [filed_at for filed_at in order.list_days() if self.day < filed_at <= day]
        for filed_at in new_days:
            for line in order.pack_lines.get(filed_at, ()):
                packs.load(self.app, line.magic + zlib.compress(line.line + b"\n"), f"{line.family}.pack")
            self._store_owners(filed_at)
            with self.app.db.write() as tx:
                for listed in order.listed.get(filed_at, ()):
                    lists.upsert_submissions(tx, listed, end_of_day)
                tx.run("bump_data_version")
        for document in order.cut_companyfacts(self.day, day):
            with self.app.db.write() as tx:
                fact_sets.upsert_companyfacts(tx, companyfacts.parse(document, demo_data.FACTS), end_of_day)
        rows = [row for row in order.prices if self.day < row.date <= day]
        if rows:
            with self.app.db.write() as tx:
                price_store.upsert(tx, PriceFile(rows, [], 0, is_synthetic=True), b"the demo's formula 1")
        self.day = day
        self.client.key = users.create(self.app, f"{day}@example.com", "pro", end_of_day).api_key

    def adopt_names(self, other: DatedWorld) -> None:
        """Give companies and securities the names and tickers that they have in another world.

        Former names are known by day, but tickers, SIC codes, CUSIPs and the names of insiders are stored as they are
        last.
        """
        with other.app.db.read() as tx:
            companies = run_sql(tx, "SELECT * FROM companies").fetchall()
            former_names = run_sql(tx, "SELECT * FROM former_names").fetchall()
            tickers = run_sql(tx, "SELECT * FROM tickers").fetchall()
            insiders = run_sql(tx, "SELECT name, cik FROM insiders").fetchall()
            columns = "cusip, issuer, title, seen, issuer_key, class_letter, security_group, ticker, cik, evidence"
            securities = run_sql(tx, f"SELECT {columns} FROM securities").fetchall()
        # The ticker of a CUSIP is known before the first document of its company, so its row refers to no company yet.
        run_sql(self.app.db, "PRAGMA foreign_keys=OFF")
        with self.app.db.write() as tx:
            known_ciks = {row[0] for row in run_sql(tx, "SELECT cik FROM companies")}
            names = [name for name in companies[0].keys() if name not in ("cik", "facts_changed")]  # noqa: SIM118
            run_sql_many(
                tx,
                f"UPDATE companies SET {', '.join(f'{name} = ?' for name in names)} WHERE cik = ?",
                [(*(row[name] for name in names), row["cik"]) for row in companies],
            )
            run_sql(tx, "DELETE FROM former_names")
            run_sql_many(
                tx,
                "INSERT INTO former_names VALUES (?, ?, ?, ?)",
                [tuple(row) for row in former_names if row["cik"] in known_ciks and row["to_date"][:10] <= self.day],
            )
            run_sql(tx, "DELETE FROM tickers")
            run_sql_many(
                tx,
                "INSERT INTO tickers VALUES (?, ?, ?, ?, ?, ?)",
                [tuple(row) for row in tickers if row["cik"] in known_ciks],
            )
            run_sql_many(tx, "UPDATE insiders SET name = ? WHERE cik = ?", [tuple(row) for row in insiders])
            run_sql_many(
                tx,
                f"""INSERT INTO securities ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (cusip) DO UPDATE SET issuer = excluded.issuer, title = excluded.title,
                    ticker = excluded.ticker, cik = excluded.cik, evidence = excluded.evidence""",
                [tuple(row) for row in securities],
            )
            tx.run("bump_data_version")
        run_sql(self.app.db, "PRAGMA foreign_keys=ON")

    def _store_owners(self, filed_at: str) -> None:
        """Store the insider forms, schedules and notices of sales of a day."""
        now = self.clock.now()
        with self.app.db.write() as tx:
            for accession, day, document in fund_report_xml.examples():
                if day == filed_at:
                    filing = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day)
                    fund_report_store.upsert(tx, fund_reports.parse(document, accession), filing, now)
            for document, accession, day in INSIDER_FORMS:
                if day == filed_at:
                    insider_market.store_form(tx, document, accession, day)
            for accession, day, document in SCHEDULES:
                if day != filed_at:
                    continue
                filing = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=day)
                if b"edgar/ownership" in document:
                    sale_notice_store.upsert(tx, sale_notices.parse(document, accession), filing, now)
                else:
                    schedule_store.upsert(tx, schedules.parse(document, accession), filing, now)
