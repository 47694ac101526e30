"""Forms into rows: the same in the end whatever order they come in, and what amendments restate."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.edgar import ownership_forms
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, INDEX_EVIDENCE, FilingMetadata
from finapi.market.documents.outcomes import Outcome
from finapi.market.insiders import amendments, holdings, insider_store
from finapi.market.insiders import insider_forms as insider_filings
from finapi.market.insiders import trades as insider_trades
from finapi.market.insiders.insider_forms import FormFilters
from finapi.market.insiders.trades import InsiderTransaction, TradeFilters
from finapi.market.intake import ingest
from finapi.market.reference import companies
from finapi.store import heartbeats
from tests.conftest import NOW, SHARED, needs_shared
from tests.support import ownership_xml as forms

FIRST, SECOND, THIRD = "0001234567-25-000001", "0001234567-25-000002", "0001234567-25-000003"


def put(app: App, data: bytes, accession: str = FIRST, filed: str | None = "2025-03-05", **more: Any) -> bool:
    filing = FilingMetadata(accession, more.pop("evidence", DOCUMENT_EVIDENCE), filed_at=filed, **more)
    with app.db.write() as tx:
        return insider_store.upsert_form(tx, ownership_forms.parse(data, "form.xml"), filing, NOW)


def trades(app: App, **narrow: Any) -> list[InsiderTransaction]:
    with app.db.read() as tx:
        page = insider_trades.list_latest(tx, TradeFilters(limit=100, **narrow))
        return insider_trades.build_transactions(tx, page.ids)


def figures(app: App) -> list[tuple[str, Any, Any]]:
    """Accession, shares and price of the transactions that stand, newest first."""
    return [(one["accession_number"], one["shares"], one["price_per_share"]) for one in trades(app)]


def everything(app: App) -> dict[str, Any]:
    """What answers show of a store: all but when it was stored."""
    with app.db.read() as tx:
        ids = insider_trades.list_latest(tx, TradeFilters(limit=100)).ids
        shown = insider_trades.build_transactions(tx, ids)
        held = holdings.build_holdings(tx, holdings.list_all(tx, "2030-01-01", 100, 0))
        listed = insider_filings.list_latest(tx, FormFilters(limit=100)).ids
        filings = insider_filings.build_filings(tx, listed)
        told = [insider_filings.find_form(tx, one["accession_number"]) for one in filings]
        for one in told:
            assert one is not None
            one["processingMetadata"]["createdAt"] = one["processingMetadata"]["updatedAt"] = ""
        return {"trades": shown, "holdings": held, "filings": filings, "forms": told}


def test_a_form_is_stored_once(app: App) -> None:
    data = forms.form(forms.transaction())
    assert put(app, data) is True
    assert put(app, data) is False
    assert figures(app) == [(FIRST, 100, 10)]


def test_a_joint_filing_is_one_transaction_of_several_owners(app: App) -> None:
    owners = (forms.owner(forms.FUND, flags="ten"), forms.owner(forms.ANN, flags="director"))
    put(app, forms.form(forms.transaction(), owners=owners))
    (one,) = trades(app)
    assert (one["insider_name"], one["owner_count"]) == ("Wick Capital LP", 2)
    assert [owner["name"] for owner in one["owners"]] == ["Wick Capital LP", "Lamp Ann"]
    with app.db.read() as tx:
        page = insider_trades.list_by_insider(tx, int(forms.ANN[0]), TradeFilters(limit=5))
        (hers,) = insider_trades.build_transactions(tx, page.ids, insider=int(forms.ANN[0]))
        (both,) = insider_trades.build_transactions(tx, page.ids, collapse=True)
    assert page.total == 1
    assert (hers["insider_name"], hers["is_director"], hers["is_ten_percent_owner"]) == ("Lamp Ann", True, False)
    assert both["insider_name"] == "Wick Capital LP; Lamp Ann"
    assert (both["is_director"], both["is_ten_percent_owner"]) == (True, True)


def test_a_price_in_a_footnote_is_a_mark_and_not_zero(app: App) -> None:
    put(app, forms.form(forms.transaction(price=None, price_notes="F1"), footnotes={"F1": "An old lamp."}))
    (one,) = trades(app)
    assert (one["price_per_share"], one["transaction_value"]) == (None, None)
    assert one["marks"]["price_per_share"] == {"status": "absent", "reason": "only_in_footnote", "footnotes": ["F1"]}
    assert one["marks"]["transaction_value"]["reason"] == "price_per_share_missing"


def test_what_is_not_reported_is_marked_so(app: App) -> None:
    put(app, forms.form(forms.transaction(price=None, after=None)))
    (one,) = trades(app)
    reasons = {name: mark["reason"] for name, mark in one["marks"].items()}
    assert reasons == {
        "price_per_share": "not_reported",
        "shares_owned_following": "not_reported",
        "value_owned_following": "not_reported",
        "transaction_value": "price_per_share_missing",
        "percent_of_holding": "shares_owned_following_missing",
    }


# ---- repeats


def test_a_trade_that_two_forms_of_different_owners_tell_of_is_shown_once_when_asked(app: App) -> None:
    put(app, forms.form(forms.transaction(), owners=(forms.owner(forms.FUND, flags="ten"),)), FIRST)
    put(app, forms.form(forms.transaction(), owners=(forms.owner(forms.ANN),)), SECOND)
    put(app, forms.form(forms.transaction("P", "7")), THIRD)
    assert [one["accession_number"] for one in trades(app)] == [THIRD, SECOND, FIRST]
    assert [one["accession_number"] for one in trades(app, dedup=True)] == [THIRD, FIRST]


def test_two_equal_trades_of_one_owner_are_two(app: App) -> None:
    put(app, forms.form(forms.transaction(), forms.transaction()), FIRST)
    put(app, forms.form(forms.transaction(), period="2025-03-04"), SECOND)
    assert len(trades(app, dedup=True)) == 3


# ---- amendments


ORIGINAL = forms.form(forms.transaction("S", "100", "10", after="900"), forms.transaction("S", "50", "11", after="850"))


def amendment(*rows: str, original: str | None = "2025-03-05", period: str = "2025-03-03") -> bytes:
    return forms.form(*rows, kind="4/A", original=original, period=period)


def test_an_amendment_replaces_the_row_that_it_corrects(app: App) -> None:
    put(app, ORIGINAL)
    put(app, amendment(forms.transaction("S", "100", "10.50", after="900")), SECOND, "2025-03-20")
    assert figures(app) == [(SECOND, 100, Decimal("10.50")), (FIRST, 50, 11)]


@pytest.mark.parametrize("more", [(), (forms.transaction("G", "5", "0", after="845"),)])
def test_of_two_sales_of_a_day_the_one_with_the_same_shares_after_it_is_replaced(
    app: App, more: tuple[str, ...]
) -> None:
    put(app, ORIGINAL)
    put(app, amendment(forms.transaction("S", "60", "12", after="850"), *more), SECOND, "2025-03-20")
    assert [one for one in figures(app) if one[1] != 5] == [(SECOND, 60, 12), (FIRST, 100, 10)]
    with app.db.read() as tx:
        told = insider_filings.find_form(tx, FIRST)
    assert told is not None
    # The form's own view says of each row what the list does.
    rows = told["nonDerivativeTable"]["transactions"]
    assert [one["isSuperseded"] for one in rows] == [False, True]


def test_an_amendment_that_restates_everything_supersedes_the_form(app: App) -> None:
    put(app, ORIGINAL)
    rows = (forms.transaction("S", "100", "10", after="900"), forms.transaction("S", "55", "12", after="845"))
    put(app, amendment(*rows), SECOND, "2025-03-20")
    assert figures(app) == [(SECOND, 55, 12), (SECOND, 100, 10)]
    with app.db.read() as tx:
        told = insider_filings.find_form(tx, FIRST)
        newer = insider_filings.find_form(tx, SECOND)
    assert told is not None
    assert newer is not None
    assert (told["isSuperseded"], newer["isSuperseded"]) == (True, False)


def test_an_amendment_that_adds_a_row_leaves_the_others(app: App) -> None:
    put(app, ORIGINAL)
    put(app, amendment(forms.transaction("G", "5", "0", after="845")), SECOND, "2025-03-20")
    assert figures(app) == [(SECOND, 5, 0), (FIRST, 50, 11), (FIRST, 100, 10)]


def test_an_amendment_of_another_insider_or_period_restates_nothing(app: App) -> None:
    put(app, ORIGINAL)
    row = forms.transaction("S", "100", "10", after="900")
    put(app, forms.form(row, kind="4/A", owners=(forms.owner(forms.BEN),)), SECOND, "2025-03-20")
    put(app, amendment(row, original="2025-01-05", period="2025-01-03"), THIRD, "2025-03-20")
    assert len(figures(app)) == 4


def test_an_amendment_finds_its_form_by_the_day_that_it_names(app: App) -> None:
    put(app, ORIGINAL)
    row = forms.transaction("S", "100", "10", date="2025-03-02", after="900")
    put(app, amendment(row, period="2025-03-02"), SECOND, "2025-03-20")
    assert figures(app) == [(SECOND, 100, 10), (FIRST, 50, 11)]


def test_a_later_amendment_replaces_an_earlier_one(app: App) -> None:
    put(app, ORIGINAL)
    put(app, amendment(forms.transaction("S", "100", "10.5", after="900")), SECOND, "2025-03-20")
    put(app, amendment(forms.transaction("S", "100", "10.6", after="900")), THIRD, "2025-03-21")
    assert figures(app) == [(THIRD, 100, Decimal("10.6")), (FIRST, 50, 11)]


def test_holdings_that_an_amendment_leaves_alone_stand_beside_it(app: App) -> None:
    put(app, forms.form(forms.transaction("S", after="900"), forms.holding("500", "By trust")))
    put(app, amendment(forms.transaction("S", after="950")), SECOND, "2025-03-20")
    with app.db.read() as tx:
        held = holdings.list_by_insider(tx, int(forms.ANN[0]))
    assert sorted(row["amount_owned"] for row in held) == ["500", "950"]


def test_what_two_amendments_leave_alone_stands_beside_the_second(app: App) -> None:
    put(app, forms.form(forms.transaction("S", after="900"), forms.holding("500", "By trust")))
    put(app, amendment(forms.transaction("S", after="950")), SECOND, "2025-03-20")
    put(app, amendment(forms.transaction("S", after="960")), THIRD, "2025-03-21")
    with app.db.read() as tx:
        held = holdings.list_by_insider(tx, int(forms.ANN[0]))
        (shown,) = {one["total_beneficial_ownership"] for one in holdings.build_holdings(tx, held)}
    assert sorted(row["amount_owned"] for row in held) == ["500", "960"]
    assert shown == 1460


FORMS: list[tuple[bytes, str, str | None]] = [
    (ORIGINAL, FIRST, "2025-03-05"),
    (amendment(forms.transaction("S", "100", "10.5", after="900"), forms.holding()), SECOND, "2025-03-20"),
    (amendment(forms.transaction("S", "50", "11", after="855")), THIRD, "2025-03-21"),
    (
        forms.form(
            forms.transaction("M", "10", "1", after="1000"),
            period="2025-04-01",
            owners=(forms.owner((forms.ANN[0], "Lamp Ann B.")), forms.owner(forms.FUND, flags="ten")),
            issuer=(forms.ISSUER, "BROOK LAMPS INC", "BRKB"),
        ),
        "0001234567-25-000004",
        "2025-04-02",
    ),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[1::4])
def test_the_order_of_forms_changes_nothing(make_app: Callable[..., App], order: tuple[int, ...]) -> None:
    straight, shuffled = make_app(), make_app()
    for data, accession, filed in FORMS:
        put(straight, data, accession, filed)
    for place in order:
        put(shuffled, *FORMS[place])
    assert everything(shuffled) == everything(straight)


def test_a_document_replaces_what_a_data_set_told(make_app: Callable[..., App]) -> None:
    said = forms.form(forms.transaction(), box=None)
    one, other = make_app(), make_app()
    assert put(one, said, evidence=INDEX_EVIDENCE) is True
    assert put(one, ORIGINAL) is True
    assert put(other, ORIGINAL) is True
    assert put(other, said, evidence=INDEX_EVIDENCE) is False
    assert everything(one) == everything(other)


# ---- filings that are not known


def test_a_form_without_a_number_gets_it_when_it_is_told(app: App, make_app: Callable[..., App]) -> None:
    data = forms.form(forms.transaction())
    assert put(app, data, "unfiled-0123456789abcdef", None) is True
    (before,) = trades(app)
    assert (before["accession_number"], before["filed_at"]) == ("unfiled-0123456789abcdef", None)
    assert (before["is_late"], before["business_days_to_file"]) == (None, None)
    assert put(app, data) is True
    known = make_app()
    put(known, data)
    assert everything(app) == everything(known)
    # And once it is known, a copy without a number is nothing new.
    assert put(app, data, "unfiled-0123456789abcdef", None) is False


def test_the_same_form_filed_twice_is_two_filings(app: App) -> None:
    data = forms.form(forms.transaction())
    put(app, data)
    assert put(app, data, SECOND, "2025-03-06") is True
    assert len(figures(app)) == 2


def test_a_form_without_a_day_gets_it_from_a_list(app: App) -> None:
    put(app, forms.form(forms.transaction()), FIRST, None)
    assert trades(app)[0]["filed_at"] is None
    put(app, forms.form(forms.transaction()), FIRST, "2025-03-05")
    assert (trades(app)[0]["filed_at"], trades(app)[0]["is_late"]) == ("2025-03-05", False)


def test_forms_without_a_day_stand_last(app: App) -> None:
    put(app, forms.form(forms.transaction(), period="2025-06-01"), SECOND, None)
    put(app, ORIGINAL)
    assert [one["accession_number"] for one in trades(app)] == [FIRST, FIRST, SECOND]


# ---- around the rows


def test_a_sic_code_that_comes_later_gives_the_sector(app: App) -> None:
    put(app, ORIGINAL)
    assert trades(app)[0]["sector"] is None
    assert trades(app, sector="D") == []
    with app.db.write() as tx:
        companies.update_attributes(tx, int(forms.ISSUER), companies.FiledAttributes(sic=3640), 2, "2025-01-01")
    assert {one["sector"] for one in trades(app, sector="D")} == {"Manufacturing"}
    assert len(trades(app, industry=36)) == 2


def test_a_restated_transaction_gets_the_sic_code_too(app: App) -> None:
    put(app, ORIGINAL)
    put(app, amendment(forms.transaction("S", "100", "12", after="900")), SECOND, "2025-03-10")
    with app.db.write() as tx:
        companies.update_attributes(tx, int(forms.ISSUER), companies.FiledAttributes(sic=3640), 2, "2025-01-01")
        rows = tx._connection.execute("SELECT superseded_by IS NULL, sic FROM insider_transactions ORDER BY id")
        assert [tuple(row) for row in rows] == [(0, 3640), (1, 3640), (1, 3640)]


def test_transactions_that_stand_are_counted(app: App) -> None:
    counted = []

    def count() -> None:
        with app.db.read() as tx:
            counted.append(heartbeats.get_stored_counts(tx)["insider_transactions"])
            assert tx.list_rows("uncounted") == []

    put(app, ORIGINAL, evidence=INDEX_EVIDENCE)
    count()
    put(app, forms.form(kind="3"), THIRD)  # of holdings alone
    count()
    put(app, amendment(forms.transaction("S", "100", "12", after="900")), SECOND, "2025-03-10")
    count()
    put(app, forms.form(forms.transaction("P", "7")))  # the document, which differs from the data set
    count()
    assert counted == [2, 2, 2, 2]


def test_the_newest_form_names_the_insider(app: App) -> None:
    put(app, forms.form(forms.transaction(), owners=(forms.owner((forms.ANN[0], "New Ann")),)), SECOND, "2025-05-05")
    put(app, ORIGINAL)
    assert {one["insider_name"] for one in trades(app)} == {"New Ann"}


@pytest.mark.parametrize(
    ("written", "ticker"),
    [
        ("BRK.B", "BRK-B"),
        ("NYSE: BRK/B", "BRK-B"),
        ("[aapl]", "AAPL"),
        ("NONE", None),
        ("N/A", None),
        ("AAPL, AAPL-W and others", None),
        (None, None),
    ],
)
def test_symbols_as_filers_write_them(written: str | None, ticker: str | None) -> None:
    assert insider_store.normalise_symbol(written) == ticker


def test_rows_of_other_tables_are_never_restated() -> None:
    rows = ownership_forms.parse(forms.form(forms.transaction(), forms.holding()), "x").rows
    assert amendments.match_restated_rows(rows[:1], rows[1:]) == {}
    assert amendments.match_restated_rows(rows, rows) == {0: 0, 1: 1}


# ---- ingest


def outcomes(app: App, *paths: Path, given: IngestOptions | None = None) -> list[Outcome]:
    found: list[Outcome] = []
    ingest.run(app, paths, given or IngestOptions(), found.append)
    return found


@needs_shared
def test_every_ownership_document_is_ingested(app: App) -> None:
    found = outcomes(app, SHARED / "edgar" / "ownership")
    assert [one.outcome for one in found] == ["ingested"] * 11
    assert [one.outcome for one in outcomes(app, SHARED / "edgar" / "ownership")] == ["unchanged"] * 11


@needs_shared
def test_a_form_4_of_2000_holds_no_xml(app: App) -> None:
    (found,) = outcomes(app, SHARED / "edgar" / "sgml" / "0001094891-00-000193.txt")
    assert (found.outcome, found.accession) == ("ingested", "0001094891-00-000193")
    assert figures(app) == []


def test_a_folder_names_the_only_form_in_it(app: App, tmp_path: Path) -> None:
    folder = tmp_path / FIRST
    folder.mkdir()
    (folder / "form4.xml").write_bytes(ORIGINAL)
    (found,) = outcomes(app, folder)
    assert (found.outcome, found.accession) == ("ingested", FIRST)
    assert (
        found.reason
        == "the filing date is not known: sorted last, invisible to as_of, no hit of a sniper target until it is known"
    )


def test_the_operator_says_when_a_form_was_filed(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL)
    (found,) = outcomes(app, tmp_path, given=IngestOptions(SECOND, "2025-03-05"))
    assert (found.accession, found.reason) == (SECOND, None)
    assert trades(app)[0]["filed_at"] == "2025-03-05"


def test_a_damaged_form_is_refused_with_its_place(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL.replace(b"<value>100</value>", b"<value>many</value>"))
    (found,) = outcomes(app, tmp_path)
    assert found.outcome == "refused"
    assert found.reason is not None
    assert found.reason.endswith("shares: 'many' is not a number")


def test_a_data_set_is_ingested_with_its_report(app: App, tmp_path: Path) -> None:
    for name, data in forms.data_set().items():
        (tmp_path / f"{name}.tsv").write_bytes(data)
    found = outcomes(app, tmp_path)
    assert {one.outcome for one in found} == {"ingested"}
    assert {one.reason for one in found} == {"a data set: 1 filings stored, 0 held before, 0 refused"}
    assert [(one["shares"], one["filed_at"]) for one in trades(app)] == [
        (40, "2025-03-05"),
        (200, "2025-03-05"),
        (100, "2025-03-05"),
    ]
    assert {one.outcome for one in outcomes(app, tmp_path)} == {"unchanged"}


def test_two_data_sets_in_one_folder_are_refused(app: App, tmp_path: Path) -> None:
    for name, data in forms.data_set().items():
        (tmp_path / f"{name}.tsv").write_bytes(data)
    (tmp_path / "again.tsv").write_bytes(forms.data_set()["owner"])
    assert {(one.outcome, one.reason) for one in outcomes(app, tmp_path)} == {
        ("refused", "two tables of one kind lie here: a folder holds one data set")
    }


def test_a_value_that_no_company_is_worth_has_no_place_in_sums(app: App) -> None:
    put(app, forms.form(forms.transaction("P", "9" * 20, "99"), forms.transaction("P", "1", "7")))
    assert [one["transaction_value"] for one in trades(app)] == [7, None]
    assert trades(app)[1]["marks"]["transaction_value"]["reason"] == "out_of_range"


def test_a_list_that_comes_later_settles_a_form(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL)
    (found,) = outcomes(app, tmp_path / "form4.xml")
    assert found.accession is not None
    assert found.accession.startswith("unfiled-")
    listed = (
        '{"cik":"101","name":"Lamp Ann","entityType":"other","sic":"","tickers":[],"exchanges":[],'
        '"formerNames":[],"filings":{"recent":{"accessionNumber":["%s"],"filingDate":["2025-03-05"],'
        '"reportDate":["2025-03-03"],"acceptanceDateTime":["2025-03-05T21:00:00.000Z"],"form":["4"],"size":[1],'
        '"isXBRL":[0],"isInlineXBRL":[0],"primaryDocument":["form4.xml"],"items":[""]},"files":[]}}'
    )
    (tmp_path / "CIK0000000101.json").write_text(listed % FIRST)
    outcomes(app, tmp_path / "CIK0000000101.json")
    assert {one["accession_number"] for one in trades(app)} == {FIRST}
    assert {one["accepted_at"] for one in trades(app)} == {"2025-03-05T21:00:00.000Z"}


def test_transactions_are_announced_once(app: App) -> None:
    recent = (NOW - timedelta(days=1)).date().isoformat()
    put(app, forms.form(forms.transaction(), period=recent), FIRST, recent)
    put(app, forms.form(forms.transaction(), period=recent), FIRST, recent)
    with app.db.read() as tx:
        told = tx._connection.execute("SELECT type, data FROM events").fetchall()
    assert [row["type"] for row in told].count("insider_transaction") == 1
