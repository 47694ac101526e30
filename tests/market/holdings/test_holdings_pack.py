"""Packs of 13F reports restore the stored rows, and invalid packs are refused."""

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
from tests.support import fund_filings, thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import list_stored_rows, submission, take
from tests.support.thirteenf_xml import APPLE, NOTE, OTHER_FUND

MAGIC = b"finapi-pack 2 holdings\n"


def test_a_pack_restores_the_rows_of_an_ingest(make_app: Callable[..., App], tmp_path: Path) -> None:
    app, other = make_app(), make_app()
    put = thirteenf_xml.row(APPLE, 5_000, 20, putCall="Put") + thirteenf_xml.row(NOTE, 9, 9, sshPrnamtType="PRN")
    notice = submission(5, ("09-30-2025", "2025-11-14", []), form="13F-NT", entries=0, cik=OTHER_FUND)
    take(
        app,
        tmp_path,
        fund_filings.june(),
        submission(2, fund_filings.SEPTEMBER, extra=put, managers=["Wick LLC"]),
        notice,
    )
    with app.db.read() as tx:
        data = packs.dump(tx, THIRTEEN_F)
    assert packs.load(other, data, "p") == 3
    assert list_stored_rows(other) == list_stored_rows(app)
    assert packs.load(other, data, "p") == 0
    with other.db.read() as tx:
        assert packs.dump(tx, THIRTEEN_F) == data


@run_each_case(
    "data, location, reason",
    [
        (b"", "", "is not a finapi pack of version 2"),
        (MAGIC + b"hello", "", "cannot be unpacked: "),
        (MAGIC, "", "is truncated or unpacks to too much data"),
        (MAGIC + zlib.compress(b"{}\n"), "line 1", "is not a line of a finapi pack (ValueError)"),
        (MAGIC + zlib.compress(b"[" * 100_000), "line 1", "is not a line of a finapi pack (RecursionError)"),
    ],
)
def test_invalid_packs_are_refused(app: App, data: bytes, location: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        packs.load(app, data, "p")
    assert caught.value.place == location
    assert caught.value.reason.startswith(reason)


def test_the_demo_has_funds_and_states_incomplete_quarters(app: App) -> None:
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
