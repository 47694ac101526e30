"""Ownership forms in one file, and those that the demo carries."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import resources

import pytest

from finapi import accounts
from finapi.app import App
from finapi.demo import data
from finapi.edgar import ownership
from finapi.errors import ParseError
from finapi.market import insider_pack, insider_store
from finapi.market.insider_store import Filed
from finapi.web.routes import INSIDERS
from tests import ownership_forms as forms
from tests.client import Client
from tests.conftest import NOW


def test_a_pack_holds_what_was_stored(app: App, make_app: Callable[..., App]) -> None:
    told = ownership.parse(forms.form(forms.transaction(), forms.holding()), "form.xml")
    with app.db.write() as tx:
        insider_store.put(tx, told, Filed(forms.ACCESSION, "2025-03-05"), NOW)
    with app.db.read() as tx:
        packed = insider_pack.dump(tx)
    other = make_app()
    assert insider_pack.load(other, packed, "x.pack") == 1
    assert insider_pack.load(other, packed, "x.pack") == 0
    with other.db.read() as tx:
        assert insider_pack.dump(tx) == packed


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"", "is not a finapi pack of insiders of version 1"),
        (insider_pack.MAGIC + b"abc", "cannot be unpacked: Error -3"),
        (insider_pack.MAGIC + zlib.compress(b"[]\n")[:-3], "is cut short or unpacks to too much"),
        (insider_pack.MAGIC + zlib.compress(b"lamps\n"), "is not of a pack: JSONDecodeError"),
        (insider_pack.MAGIC + zlib.compress(b'[]\n[["a"],{"form":4}]\n'), "is not of a pack: KeyError"),
        (
            insider_pack.MAGIC + zlib.compress(b"[]\n" + b"[" * 100_000 + b"\n"),
            "is not of a pack: RecursionError",
        ),
    ],
)
def test_what_is_no_pack_is_refused(app: App, damaged: bytes, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        insider_pack.load(app, damaged, "x.pack")
    assert caught.value.reason.startswith(reason)


def test_the_demo_carries_real_forms_in_little_space(app: App) -> None:
    packed = (resources.files("finapi.demo") / data.INSIDERS).read_bytes()
    assert len(packed) < 100_000
    assert insider_pack.load(app, packed, data.INSIDERS) == 11
    client = Client(app, accounts.create(app, "ann@example.com", "pro", NOW).api_key)
    sales = client.get(f"{INSIDERS}/transactions/top?direction=SELL").json["data"]
    assert [(row["ticker"], row["shares"], row["price_per_share"]) for row in sales][:2] == [
        ("DVA", 1220376, 149.8429),
        ("SNOW", 74907, 151.814),
    ]
    (adams,) = client.get(f"{INSIDERS}/holdings/by-insider/1462356").json["data"]
    assert (adams["amount_owned"], adams["sector"]) == (452334, "Manufacturing")
    trades = client.get(f"{INSIDERS}/transactions/by-insider/1462356").json["data"]
    assert {row["rule_10b5_1_source"] for row in trades} == {"footnote"}
    assert {(row["is_late"], row["business_days_to_file"]) for row in trades} == {(False, 2)}
