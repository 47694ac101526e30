"""Packs of ownership forms, and the pack of the demo."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import resources

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar import ownership_forms
from finapi.edgar.form_families import OWNERSHIP
from finapi.market.documents import packs
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store
from finapi.web.http.route import INSIDERS
from tests.client import Client
from tests.conftest import NOW
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case

MAGIC = b"finapi-pack 2 insiders\n"


def test_a_loaded_pack_dumps_the_same_forms_again(app: App, make_app: Callable[..., App]) -> None:
    form = ownership_forms.parse(forms.form(forms.transaction(), forms.holding()), "form.xml")
    with app.db.write() as tx:
        insider_store.upsert_form(
            tx, form, FilingMetadata(forms.ACCESSION, DOCUMENT_EVIDENCE, filed_at="2025-03-05"), NOW
        )
    with app.db.read() as tx:
        pack = packs.dump(tx, OWNERSHIP)
    other = make_app()
    assert packs.load(other, pack, "x.pack") == 1
    assert packs.load(other, pack, "x.pack") == 0
    with other.db.read() as tx:
        assert packs.dump(tx, OWNERSHIP) == pack


@run_each_case(
    "damaged, reason",
    [
        (b"", "is not a finapi pack of version 2"),
        (MAGIC + b"abc", "cannot be unpacked: Error -3"),
        (MAGIC + zlib.compress(b"[]\n")[:-3], "is truncated or unpacks to too much data"),
        (MAGIC + zlib.compress(b"lamps\n"), "is not a line of a finapi pack (JSONDecodeError)"),
        (MAGIC + zlib.compress(b'[["a"],{"form":4},null]\n'), "is not a line of a finapi pack (ValueError)"),
        (MAGIC + zlib.compress(b"[" * 100_000 + b"\n"), "is not a line of a finapi pack (RecursionError)"),
    ],
)
def test_a_damaged_pack_is_refused(app: App, damaged: bytes, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        packs.load(app, damaged, "x.pack")
    assert caught.value.reason.startswith(reason)


def test_a_pack_line_that_cannot_be_stored_is_refused(app: App, make_app: Callable[..., App]) -> None:
    form = ownership_forms.parse(forms.form(forms.transaction()), "form.xml")
    with app.db.write() as tx:
        insider_store.upsert_form(
            tx, form, FilingMetadata(forms.ACCESSION, DOCUMENT_EVIDENCE, filed_at="2025-03-05"), NOW
        )
    with app.db.read() as tx:
        line = zlib.decompress(packs.dump(tx, OWNERSHIP)[len(MAGIC) :])
    data = MAGIC + zlib.compress(line.replace(b'"Brook Lamps Inc."', b"null"))
    with pytest.raises(ParseError) as caught:
        packs.load(make_app(), data, "x.pack")
    assert caught.value.place == "line 1"
    assert caught.value.reason == "cannot be stored: NOT NULL constraint failed: companies.name"


def test_the_demo_contains_eight_real_forms(app: App) -> None:
    pack = (resources.files("finapi.market.demo") / "insiders.pack").read_bytes()
    assert len(pack) < 100_000
    assert packs.load(app, pack, "insiders.pack") == 8
    client = Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)
    sales = client.get(f"{INSIDERS}/transactions/top?direction=SELL").json["data"]
    assert [(row["ticker"], row["shares"], row["price_per_share"]) for row in sales][:2] == [
        ("DVA", 1220376, 149.8429),
        ("AAPL", 9136, 159.94),
    ]
    (adams,) = client.get(f"{INSIDERS}/holdings/by-insider/1462356").json["data"]
    assert (adams["amount_owned"], adams["sector"]) == (452334, "Manufacturing")
    trades = client.get(f"{INSIDERS}/transactions/by-insider/1462356").json["data"]
    assert {row["rule_10b5_1_source"] for row in trades} == {"footnote"}
    assert {(row["is_late"], row["business_days_to_file"]) for row in trades} == {(False, 2)}
