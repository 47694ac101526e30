"""Packs of 13F reports: what goes in comes out, and what is none is refused."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar.form_families import THIRTEEN_F
from finapi.market.demo import demo_data as demo
from finapi.market.documents import packs
from finapi.market.holdings import funds
from tests.support import fund_filings as ours
from tests.support import thirteenf_xml as made
from tests.support.fund_filings import stored, submission, take

MAGIC = b"finapi-pack 2 holdings\n"


def test_a_pack_stores_what_the_ingest_stored(make_app: Callable[..., App], tmp_path: Path) -> None:
    app, other = make_app(), make_app()
    put = made.row(made.APPLE, 5_000, 20, putCall="Put") + made.row(made.NOTE, 9, 9, sshPrnamtType="PRN")
    notice = submission(5, ("09-30-2025", "2025-11-14", []), form="13F-NT", entries=0, cik=made.OTHER_FUND)
    take(app, tmp_path, ours.june(), submission(2, ours.SEPTEMBER, extra=put, managers=["Wick LLC"]), notice)
    with app.db.read() as tx:
        data = packs.dump(tx, THIRTEEN_F)
    assert packs.load(other, data, "p") == 3
    assert stored(other) == stored(app)
    assert packs.load(other, data, "p") == 0
    with other.db.read() as tx:
        assert packs.dump(tx, THIRTEEN_F) == data


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        (b"", "", "is not a finapi pack of version 2"),
        (MAGIC + b"hello", "", "cannot be unpacked: "),
        (MAGIC, "", "is truncated or unpacks to too much data"),
        (MAGIC + zlib.compress(b"{}\n"), "line 1", "is not a pack line: ValueError"),
        (MAGIC + zlib.compress(b"[" * 100_000), "line 1", "is not a pack line: RecursionError"),
    ],
)
def test_a_pack_that_is_none_is_refused(app: App, data: bytes, place: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        packs.load(app, data, "p")
    assert caught.value.place == place
    assert caught.value.reason.startswith(reason)


def test_the_demo_holds_four_funds_and_says_what_is_missing(app: App) -> None:
    demo.load(app)
    with app.db.read() as tx:
        lts, berkshire = funds.get_quarter(tx, 1894188, None), funds.get_quarter(tx, 1067983, None)
        apple, _ = funds.list_holdings(tx, berkshire, search="apple", limit=1)
    assert (lts.value, lts.positions, lts.filing["table_ties"]) == (454_926_000, 14, True)
    assert (berkshire.value, berkshire.filing["table_ties"], berkshire.reason) == (
        263_095_703_570,
        False,
        "quarter_incomplete",
    )
    assert (apple[0]["ticker"], apple[0]["ticker_evidence"]) == ("AAPL", "name")
