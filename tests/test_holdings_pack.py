"""Packs of 13F reports: what goes in comes out, and what is none is refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from finapi.app import App
from finapi.demo import data as demo
from finapi.errors import ParseError
from finapi.market import funds, holdings_pack
from tests import holdings as ours
from tests import thirteenf as made
from tests.holdings import stored, submission, take


def test_a_pack_stores_what_the_ingest_stored(make_app: Callable[..., App], tmp_path: Path) -> None:
    app, other = make_app(), make_app()
    put = made.row(made.APPLE, 5_000, 20, putCall="Put") + made.row(made.NOTE, 9, 9, sshPrnamtType="PRN")
    notice = submission(5, ("09-30-2025", "2025-11-14", []), form="13F-NT", entries=0, cik=made.OTHER_FUND)
    take(app, tmp_path, ours.june(), submission(2, ours.SEPTEMBER, extra=put, managers=["Wick LLC"]), notice)
    with app.db.read() as tx:
        data = holdings_pack.dump(holdings_pack.held(tx))
    assert holdings_pack.load(other, data, "p") == 3
    assert stored(other) == stored(app)
    assert holdings_pack.load(other, data, "p") == 0
    with other.db.read() as tx:
        assert holdings_pack.dump(holdings_pack.held(tx)) == data


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (b"", "", "is not a finapi holdings pack of version 1"),
        (holdings_pack.MAGIC + b"hello", "", "cannot be unpacked: "),
        (holdings_pack.MAGIC, "", "is cut short or unpacks to too much"),
        (holdings_pack.MAGIC + zlib.compress(b"{}\n"), "line 1", "is not a report: KeyError"),
        (holdings_pack.MAGIC + zlib.compress(b"[" * 100_000), "line 1", "is not a report: "),
    ],
)
def test_a_pack_that_is_none_is_refused(app: App, data: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        holdings_pack.load(app, data, "p")
    assert caught.value.place == place
    assert caught.value.reason.startswith(reason)


def test_the_demo_holds_four_funds_and_says_what_is_missing(app: App) -> None:
    demo.load(app)
    with app.db.read() as tx:
        lts, berkshire = funds.quarter(tx, 1894188, None), funds.quarter(tx, 1067983, None)
        apple, _ = funds.holdings(tx, berkshire, search="apple", limit=1)
    assert (lts.value, lts.positions, lts.filing["table_ties"]) == (454_926_000, 14, True)
    assert (berkshire.value, berkshire.filing["table_ties"], berkshire.reason) == (
        263_095_703_570,
        False,
        "quarter_incomplete",
    )
    assert (apple[0]["ticker"], apple[0]["ticker_evidence"]) == ("AAPL", "issuer_name")
