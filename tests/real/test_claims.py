"""The verdicts on true and false claims about the figures that people read from the SEC's documents."""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import users
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.client import Client
from tests.conftest import NOW, SHARED, needs_shared
from tests.support.claim_mutations import MutatedClaim, TruthTable

MIN_RIGHT_SHARE = 0.995
MAX_CLAIMS = 100


def read_table() -> TruthTable:
    with (SHARED / "truth" / "figures.tsv").open(encoding="utf-8", newline="") as file:
        return TruthTable(list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))


@needs_shared
@pytest.mark.slow
def test_verdicts_on_mutated_figures_are_right() -> None:
    mutated_claims = list(read_table().iter_claims())
    app = apps.create_in_memory(Config(xbrl_per_minute=1_000_000, xbrl_burst=1_000_000), FixedClock(NOW))
    try:
        ingest.run(app, [SHARED / "edgar"], IngestOptions(), lambda outcome: None)
        client = Client(app, users.create(app, "ann@example.com", "yearly", NOW).api_key)
        results = check_claims(client, mutated_claims)
    finally:
        app.db.close()
    counts = Counter(mutated.kind for mutated in mutated_claims)
    assert counts.total() > 20 * counts["true"] / 3  # Each row has three claims with its exact value.
    assert min(counts.values()) >= 36
    wrong = [
        (mutated, result["verdict"], result["reason_code"])
        for mutated, result in zip(mutated_claims, results, strict=True)
        if result["verdict"] not in mutated.verdicts
    ]
    assert len(wrong) <= (1 - MIN_RIGHT_SHARE) * len(mutated_claims), wrong
    # No true claim is contradicted, whatever its digits.
    true_kinds = ("true", "rounded")
    assert [
        (mutated, result["verdict"])
        for mutated, result in zip(mutated_claims, results, strict=True)
        if mutated.kind in true_kinds and result["verdict"] not in ("matches", "matches_first_filed")
    ] == []


def check_claims(client: Client, mutated_claims: list[MutatedClaim]) -> list[dict[str, Any]]:
    """Return the results of claims, which are sent in as few calls as possible."""
    results: list[dict[str, Any]] = []
    for start in range(0, len(mutated_claims), MAX_CLAIMS):
        claims = [mutated.claim for mutated in mutated_claims[start : start + MAX_CLAIMS]]
        answer = client.post("/api/v1/claims", {"claims": claims})
        assert answer.status == 200, answer.body
        results += answer.json["data"]["results"]
    return results
