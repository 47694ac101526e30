"""200,000 insiders' transactions in one database: the cost of each list's first page, and of storing.

``python -m tests.bench.insiders [TRANSACTIONS] [DIRECTORY]``. The forms are made up: 2,000 issuers in all sectors,
20,000 insiders, five years of filing days, a tenth of the forms joint, one in fifty amended.

What grows from the first tenth to the last are the pages that a portion changes: most of its index entries lie on
pages of their own once the indexes are large. Of 24,000 transactions the first tenth writes 98 MB and the last 293,
for 3.4 and 4.4 s of CPU; with a trigger that counted each of them it was 342 and 592 MB, 3.3 and 4.7 s (2026-11-25,
on a busy machine).
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.company_attributes import CompanyAttributes
from finapi.edgar.ownership_forms import Owner, OwnershipForm, OwnershipRow
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store
from finapi.market.reference import companies
from tests.client import Client

NOW = datetime(2026, 1, 31, tzinfo=UTC)
FIRST = datetime(2021, 2, 1, tzinfo=UTC).date()
DAYS = (NOW.date() - FIRST).days
ISSUERS, INSIDERS = 2_000, 20_000
SICS = (1311, 1531, 2834, 3571, 4911, 5045, 5812, 6022, 7372, 8742)
CODES = "PSSSAAMMFGP"
PORTION = 200

CALLS = (
    "/transactions/latest",
    "/transactions/latest?include_total=false&dedup_owners=true",
    "/transactions/latest?standard_type=gift",
    "/transactions/latest?sector=Mining",
    "/transactions/latest?industry=35&standard_type=purchase",
    "/transactions/by-ticker/T7?filed_at_days=36500",
    "/transactions/by-ticker/T7",
    "/transactions/by-insider/5000077",
    "/transactions/search?query=name7&filed_at_days=36500",
    "/transactions/search?query=T7&filed_at_days=36500",
    "/transactions/top",
    "/transactions/top?direction=SELL&sector=D",
    "/transactions/top?industry=73",
    "/transactions/latest?min_value=24000000",
    "/transactions/latest?from_date=2022-01-01&to_date=2022-03-31&is_officer=true",
    "/transactions/latest?filed_from=2021-06-01&filed_to=2021-06-30",
    "/transactions/latest?transaction_code=E",
    "/transactions/latest?quarter=2025-12-31&min_percent=10",
    "/transactions/search?quarter=2025-12-31&is_officer=true&transaction_code=P&min_value=100000",
    "/transactions/top?quarter=2022-03-31",
    "/transactions/by-ticker/T7?filed_at_days=36500&include_outcome=true",
    "/clusters?quarter=2022-03-31",
    "/clusters?ticker=T7&from_date=2021-01-01",
    "/clusters",
    "/screen",
    "/screen?filed_at_days=30",
    "/summary/by-ticker/T7",
    "/summary/by-ticker/T7?filed_at_days=36500",
    "/insider/search?query=name77",
    "/insider/5000077",
    "/holdings/by-ticker/T7",
    "/holdings/by-insider/5000077",
    "/holdings/snapshot/2025-06-30",
    "/holdings/snapshot/2025-06-30?ticker=T7",
    "/filings/latest",
    "/filings/latest?sector=Mining&form_type=4/A",
    "/filings/latest?form_type=3",
    "/filings/by-ticker/T7",
    "/aggregation/by-sector",
    "/recommendations/daily",
    "/stats/global",
    "/stats/global?days=30",
)


def forms(transactions: int) -> Iterator[tuple[OwnershipForm, FilingMetadata]]:
    """Yield invented forms with this many transactions, by day; always the same."""
    chance = random.Random(7)
    transaction_count = number = 0
    while transaction_count < transactions:
        number += 1
        day = FIRST + timedelta(transaction_count * DAYS // transactions)
        issuer = chance.randrange(ISSUERS)
        owner_numbers = [(issuer * 10 + chance.randrange(10)) % INSIDERS]
        if chance.random() < 0.1:
            owner_numbers.append((owner_numbers[0] + 1) % INSIDERS)
        rows = [_row(chance, day.isoformat()) for _ in range(chance.choice((1, 1, 2, 3, 5)))]
        rows.append(
            OwnershipRow(
                False, False, "Common Stock", following_shares="500", direct_or_indirect="I", nature="By trust"
            )
        )
        transaction_count += len(rows) - 1
        form = OwnershipForm(
            form="4",
            schema="X0508",
            period=day.isoformat(),
            original_date=None,
            not_subject_to_section_16=False,
            no_securities_owned=None,
            rule_10b5_1=chance.random() < 0.3,
            issuer_cik=f"{issuer + 1_000_000:010}",
            issuer_name=f"Issuer{issuer} Corp",
            symbol=f"T{issuer}",
            owners=tuple(_owner(owner_number) for owner_number in owner_numbers),
            rows=tuple(rows),
            footnotes=(("F1", "A weighted average of several prices, of which the filer will tell on request."),),
            remarks=None,
            signature_name="/s/ Somebody",
            signature_date=day.isoformat(),
        )
        filed = (day + timedelta(chance.choice((1, 2, 2, 3)))).isoformat()
        yield (
            form,
            FilingMetadata(f"{issuer + 1:010}-{day:%y}-{number % 1_000_000:06}", DOCUMENT_EVIDENCE, filed_at=filed),
        )
        if number % 50 == 0:
            corrected = rows[0]._replace(price="12.34")
            amended = replace(form, form="4/A", original_date=filed, rows=(corrected,))
            later = (day + timedelta(20)).isoformat()
            yield (
                amended,
                FilingMetadata(
                    f"{issuer + 1:010}-{day:%y}-{(number + 500_000) % 1_000_000:06}", DOCUMENT_EVIDENCE, filed_at=later
                ),
            )


def _row(chance: random.Random, day: str) -> OwnershipRow:
    code = chance.choice(CODES)
    shares, price = str(chance.randrange(1, 50_000)), f"{chance.randrange(100, 50_000) / 100:.2f}"
    return OwnershipRow(
        False,
        True,
        "Common Stock",
        day,
        form="4",
        code=code,
        shares=shares,
        price=price,
        acquired_disposed="D" if code in "SFG" else "A",
        following_shares=str(chance.randrange(100_000)),
        direct_or_indirect="D",
        footnote_ids=(("price", ("F1",)),),
    )


def _owner(owner_number: int) -> Owner:
    officer = owner_number % 3 == 0
    title = ("Chief Executive Officer", "EVP", "General Counsel")[owner_number % 9 // 3] if officer else None
    name = f"Name{owner_number} Person"
    return Owner(f"{owner_number + 5_000_000:010}", name, not officer, officer, False, False, title, *[None] * 6)


def fill(app: App, transactions: int) -> list[float]:
    """Store the forms and the issuers. Return the CPU seconds of each tenth of the transactions."""
    took, stored = [0.0] * 10, 0
    portion: list[tuple[OwnershipForm, FilingMetadata]] = []

    def flush() -> None:
        started = time.process_time()
        with app.db.write() as tx:
            for form, filed in portion:
                insider_store.upsert_form(tx, form, filed, NOW)
        portion.clear()
        took[min(stored * 10 // transactions, 9)] += time.process_time() - started

    with app.db.with_larger_cache():  # as an ingest does
        for form, filed in forms(transactions):
            portion.append((form, filed))
            if len(portion) == PORTION:
                flush()
            stored += sum(row.is_transaction for row in form.rows)
        flush()
    with app.db.write() as tx:
        for issuer in range(ISSUERS):
            sic = SICS[issuer % len(SICS)]
            companies.update_attributes(tx, issuer + 1_000_000, CompanyAttributes(sic=sic), 2, "2026-01-01")
    return took


def main(transactions: int, directory: Path) -> None:
    """Store the forms, print the time of each tenth, then the CPU time of every call."""
    settings = Config(data_dir=directory, synchronous="NORMAL", insider_per_minute_paid=1_000_000, answer_bytes=0)
    app = apps.open_on_disk(settings, FixedClock(NOW))
    took = fill(app, transactions)
    for tenth, seconds in enumerate(took, 1):
        print(f"{transactions * tenth // 10:>8} transactions  {seconds:6.1f} s CPU for the last tenth")
    print(f"the last tenth took {took[-1] / took[0]:.2f} times the first", flush=True)
    print(f"{sum(file.stat().st_size for file in directory.glob('finapi.db*')) / 1e6:.0f} MB")
    key = users.create(app, "ann@example.com", "yearly", NOW).api_key
    client = Client(app, key)
    for path in CALLS:
        best = []
        for _ in range(3):
            started = time.process_time()
            answer = client.get("/api/v1/insiders" + path)
            best.append((time.process_time() - started) * 1000)
            assert answer.status == 200, answer.body
        print(f"{min(best):7.1f} ms CPU  {len(answer.body):>7} bytes  {path}", flush=True)
    app.db.close()


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    if len(sys.argv) > 2:
        main(count, Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(count, Path(directory))
