"""Storage of ownership forms: amendments, the order of arrival, unknown filings, ingest and events."""

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
from finapi.edgar.company_attributes import CompanyAttributes
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
from tests.support.case_tables import run_each_case

FIRST, SECOND, THIRD = "0001234567-25-000001", "0001234567-25-000002", "0001234567-25-000003"


def store_form(
    app: App,
    document: bytes,
    accession: str = FIRST,
    filed_at: str | None = "2025-03-05",
    *,
    evidence: int = DOCUMENT_EVIDENCE,
) -> bool:
    filing = FilingMetadata(accession, evidence, filed_at=filed_at)
    with app.db.write() as tx:
        return insider_store.upsert_form(tx, ownership_forms.parse(document, "form.xml"), filing, NOW)


def list_trades(app: App, **filters: Any) -> list[InsiderTransaction]:
    with app.db.read() as tx:
        page = insider_trades.list_latest(tx, TradeFilters(limit=100, **filters))
        return insider_trades.build_transactions(tx, page.ids)


def list_figures(app: App) -> list[tuple[str, Any, Any]]:
    """Return the accession number, shares and price of the valid transactions, newest first."""
    return [(trade["accession_number"], trade["shares"], trade["price_per_share"]) for trade in list_trades(app)]


def read_answers(app: App) -> dict[str, Any]:
    """Return all answers of a store, without the time of storage."""
    with app.db.read() as tx:
        ids = insider_trades.list_latest(tx, TradeFilters(limit=100)).ids
        transactions = insider_trades.build_transactions(tx, ids)
        holding_records = holdings.build_holdings(tx, holdings.list_all(tx, "2030-01-01", 100, 0))
        filing_ids = insider_filings.list_latest(tx, FormFilters(limit=100)).ids
        filings = insider_filings.build_filings(tx, filing_ids)
        form_records = [insider_filings.find_form(tx, filing["accession_number"]) for filing in filings]
        for form_record in form_records:
            assert form_record is not None
            form_record["processingMetadata"]["createdAt"] = ""
            form_record["processingMetadata"]["updatedAt"] = ""
        return {"trades": transactions, "holdings": holding_records, "filings": filings, "forms": form_records}


def test_a_form_is_stored_once(app: App) -> None:
    data = forms.form(forms.transaction())
    assert store_form(app, data) is True
    assert store_form(app, data) is False
    assert list_figures(app) == [(FIRST, 100, 10)]


def test_a_joint_filing_is_one_transaction_of_several_owners(app: App) -> None:
    owners = (forms.owner(forms.FUND, flags="ten"), forms.owner(forms.ANN, flags="director"))
    store_form(app, forms.form(forms.transaction(), owners=owners))
    (trade,) = list_trades(app)
    assert (trade["insider_name"], trade["owner_count"]) == ("Wick Capital LP", 2)
    assert [owner["name"] for owner in trade["owners"]] == ["Wick Capital LP", "Lamp Ann"]
    with app.db.read() as tx:
        page = insider_trades.list_by_insider(tx, int(forms.ANN[0]), TradeFilters(limit=5))
        (hers,) = insider_trades.build_transactions(tx, page.ids, insider=int(forms.ANN[0]))
        (both,) = insider_trades.build_transactions(tx, page.ids, collapse=True)
    assert page.total == 1
    assert (hers["insider_name"], hers["is_director"], hers["is_ten_percent_owner"]) == ("Lamp Ann", True, False)
    assert both["insider_name"] == "Wick Capital LP; Lamp Ann"
    assert (both["is_director"], both["is_ten_percent_owner"]) == (True, True)


def test_a_price_in_a_footnote_is_null_with_a_mark(app: App) -> None:
    store_form(app, forms.form(forms.transaction(price=None, price_notes="F1"), footnotes={"F1": "An old lamp."}))
    (trade,) = list_trades(app)
    assert (trade["price_per_share"], trade["transaction_value"]) == (None, None)
    assert trade["marks"]["price_per_share"] == {"status": "absent", "reason": "only_in_footnote", "footnotes": ["F1"]}
    assert trade["marks"]["transaction_value"]["reason"] == "price_per_share_missing"


def test_unreported_figures_are_null_with_a_mark(app: App) -> None:
    store_form(app, forms.form(forms.transaction(price=None, after=None)))
    (trade,) = list_trades(app)
    reasons = {name: mark["reason"] for name, mark in trade["marks"].items()}
    assert reasons == {
        "price_per_share": "not_reported",
        "shares_owned_following": "not_reported",
        "value_owned_following": "not_reported",
        "transaction_value": "price_per_share_missing",
        "percent_of_holding": "shares_owned_following_missing",
    }


# ---- Trades on several forms


def test_dedup_lists_a_trade_on_forms_of_two_owners_once(app: App) -> None:
    store_form(app, forms.form(forms.transaction(), owners=(forms.owner(forms.FUND, flags="ten"),)), FIRST)
    store_form(app, forms.form(forms.transaction(), owners=(forms.owner(forms.ANN),)), SECOND)
    store_form(app, forms.form(forms.transaction("P", "7")), THIRD)
    assert [trade["accession_number"] for trade in list_trades(app)] == [THIRD, SECOND, FIRST]
    assert [trade["accession_number"] for trade in list_trades(app, dedup=True)] == [THIRD, SECOND]


def test_dedup_keeps_equal_trades_of_one_owner(app: App) -> None:
    store_form(app, forms.form(forms.transaction(), forms.transaction()), FIRST)
    store_form(app, forms.form(forms.transaction(after="1200"), period="2025-03-04"), SECOND)
    assert len(list_trades(app, dedup=True)) == 3


# ---- Amendments


ORIGINAL = forms.form(forms.transaction("S", "100", "10", after="900"), forms.transaction("S", "50", "11", after="850"))


def build_amendment(*rows: str, original: str | None = "2025-03-05", period: str = "2025-03-03") -> bytes:
    return forms.form(*rows, kind="4/A", original=original, period=period)


def test_an_amendment_replaces_the_row_it_corrects(app: App) -> None:
    store_form(app, ORIGINAL)
    store_form(app, build_amendment(forms.transaction("S", "100", "10.50", after="900")), SECOND, "2025-03-20")
    assert list_figures(app) == [(SECOND, 100, Decimal("10.50")), (FIRST, 50, 11)]


@pytest.mark.parametrize("other_rows", [(), (forms.transaction("G", "5", "0", after="845"),)])
def test_an_amendment_replaces_the_sale_with_equal_shares_after(app: App, other_rows: tuple[str, ...]) -> None:
    store_form(app, ORIGINAL)
    store_form(app, build_amendment(forms.transaction("S", "60", "12", after="850"), *other_rows), SECOND, "2025-03-20")
    assert [(accession, shares, price) for accession, shares, price in list_figures(app) if shares != 5] == [
        (SECOND, 60, 12),
        (FIRST, 100, 10),
    ]
    with app.db.read() as tx:
        original = insider_filings.find_form(tx, FIRST)
    assert original is not None
    # The view of the form flags the same row as superseded.
    rows = original["nonDerivativeTable"]["transactions"]
    assert [row["isSuperseded"] for row in rows] == [False, True]


def test_an_amendment_of_every_row_supersedes_the_form(app: App) -> None:
    store_form(app, ORIGINAL)
    rows = (forms.transaction("S", "100", "10", after="900"), forms.transaction("S", "55", "12", after="845"))
    store_form(app, build_amendment(*rows), SECOND, "2025-03-20")
    assert list_figures(app) == [(SECOND, 55, 12), (SECOND, 100, 10)]
    with app.db.read() as tx:
        original = insider_filings.find_form(tx, FIRST)
        amended = insider_filings.find_form(tx, SECOND)
    assert original is not None
    assert amended is not None
    assert (original["isSuperseded"], amended["isSuperseded"]) == (True, False)


def test_an_amendment_that_adds_a_row_replaces_none(app: App) -> None:
    store_form(app, ORIGINAL)
    store_form(app, build_amendment(forms.transaction("G", "5", "0", after="845")), SECOND, "2025-03-20")
    assert list_figures(app) == [(SECOND, 5, 0), (FIRST, 50, 11), (FIRST, 100, 10)]


def test_amendments_of_other_insiders_or_periods_replace_nothing(app: App) -> None:
    store_form(app, ORIGINAL)
    row = forms.transaction("S", "100", "10", after="900")
    store_form(app, forms.form(row, kind="4/A", owners=(forms.owner(forms.BEN),)), SECOND, "2025-03-20")
    store_form(app, build_amendment(row, original="2025-01-05", period="2025-01-03"), THIRD, "2025-03-20")
    assert len(list_figures(app)) == 4


def test_an_amendment_finds_its_form_by_the_original_date(app: App) -> None:
    store_form(app, ORIGINAL)
    row = forms.transaction("S", "100", "10", date="2025-03-02", after="900")
    store_form(app, build_amendment(row, period="2025-03-02"), SECOND, "2025-03-20")
    assert list_figures(app) == [(SECOND, 100, 10), (FIRST, 50, 11)]


def test_a_later_amendment_replaces_an_earlier_one(app: App) -> None:
    store_form(app, ORIGINAL)
    store_form(app, build_amendment(forms.transaction("S", "100", "10.5", after="900")), SECOND, "2025-03-20")
    store_form(app, build_amendment(forms.transaction("S", "100", "10.6", after="900")), THIRD, "2025-03-21")
    assert list_figures(app) == [(THIRD, 100, Decimal("10.6")), (FIRST, 50, 11)]


def test_holdings_that_an_amendment_omits_stay_valid(app: App) -> None:
    store_form(app, forms.form(forms.transaction("S", after="900"), forms.holding("500", "By trust")))
    store_form(app, build_amendment(forms.transaction("S", after="950")), SECOND, "2025-03-20")
    with app.db.read() as tx:
        positions = holdings.list_by_insider(tx, int(forms.ANN[0]))
    assert sorted(row["amount_owned"] for row in positions) == ["500", "950"]


def test_holdings_that_two_amendments_omit_stay_valid(app: App) -> None:
    store_form(app, forms.form(forms.transaction("S", after="900"), forms.holding("500", "By trust")))
    store_form(app, build_amendment(forms.transaction("S", after="950")), SECOND, "2025-03-20")
    store_form(app, build_amendment(forms.transaction("S", after="960")), THIRD, "2025-03-21")
    with app.db.read() as tx:
        positions = holdings.list_by_insider(tx, int(forms.ANN[0]))
        (total,) = {holding["total_beneficial_ownership"] for holding in holdings.build_holdings(tx, positions)}
    assert sorted(row["amount_owned"] for row in positions) == ["500", "960"]
    assert total == 1460


FORMS: list[tuple[bytes, str, str | None]] = [
    (ORIGINAL, FIRST, "2025-03-05"),
    (build_amendment(forms.transaction("S", "100", "10.5", after="900"), forms.holding()), SECOND, "2025-03-20"),
    (build_amendment(forms.transaction("S", "50", "11", after="855")), THIRD, "2025-03-21"),
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


@run_each_case("order", list(itertools.permutations(range(4)))[1::4])
def test_the_order_in_which_forms_arrive_does_not_matter(make_app: Callable[..., App], order: tuple[int, ...]) -> None:
    ordered, shuffled = make_app(), make_app()
    for data, accession, filed in FORMS:
        store_form(ordered, data, accession, filed)
    for index in order:
        store_form(shuffled, *FORMS[index])
    assert read_answers(shuffled) == read_answers(ordered)


def test_a_document_replaces_the_form_of_a_data_set(make_app: Callable[..., App]) -> None:
    data_set_form = forms.form(forms.transaction(), box=None)
    data_set_first, document_first = make_app(), make_app()
    assert store_form(data_set_first, data_set_form, evidence=INDEX_EVIDENCE) is True
    assert store_form(data_set_first, ORIGINAL) is True
    assert store_form(document_first, ORIGINAL) is True
    assert store_form(document_first, data_set_form, evidence=INDEX_EVIDENCE) is False
    assert read_answers(data_set_first) == read_answers(document_first)


# ---- Unknown accession numbers and filing dates


def test_a_form_gets_its_accession_number_when_it_is_known(app: App, make_app: Callable[..., App]) -> None:
    data = forms.form(forms.transaction())
    assert store_form(app, data, "unfiled-0123456789abcdef", None) is True
    (before,) = list_trades(app)
    assert (before["accession_number"], before["filed_at"]) == ("unfiled-0123456789abcdef", None)
    assert (before["is_late"], before["business_days_to_file"]) == (None, None)
    assert store_form(app, data) is True
    app_with_number = make_app()
    store_form(app_with_number, data)
    assert read_answers(app) == read_answers(app_with_number)
    # A copy without the number is then already stored.
    assert store_form(app, data, "unfiled-0123456789abcdef", None) is False


def test_the_same_form_filed_twice_is_two_filings(app: App) -> None:
    data = forms.form(forms.transaction())
    store_form(app, data)
    assert store_form(app, data, SECOND, "2025-03-06") is True
    assert len(list_figures(app)) == 2


def test_a_form_gets_its_filing_date_when_it_is_known(app: App) -> None:
    store_form(app, forms.form(forms.transaction()), FIRST, None)
    assert list_trades(app)[0]["filed_at"] is None
    store_form(app, forms.form(forms.transaction()), FIRST, "2025-03-05")
    assert (list_trades(app)[0]["filed_at"], list_trades(app)[0]["is_late"]) == ("2025-03-05", False)


def test_forms_without_a_filing_date_are_listed_last(app: App) -> None:
    store_form(app, forms.form(forms.transaction(), period="2025-06-01"), SECOND, None)
    store_form(app, ORIGINAL)
    assert [trade["accession_number"] for trade in list_trades(app)] == [FIRST, FIRST, SECOND]


# ---- Companies and counts


def test_a_later_sic_code_sets_the_sector(app: App) -> None:
    store_form(app, ORIGINAL)
    assert list_trades(app)[0]["sector"] is None
    assert list_trades(app, sector="D") == []
    with app.db.write() as tx:
        companies.update_attributes(tx, int(forms.ISSUER), CompanyAttributes(sic=3640), 2, "2025-01-01")
    assert {trade["sector"] for trade in list_trades(app, sector="D")} == {"Manufacturing"}
    assert len(list_trades(app, industry=36)) == 2


def test_a_later_sic_code_is_set_on_restated_transactions(app: App) -> None:
    store_form(app, ORIGINAL)
    store_form(app, build_amendment(forms.transaction("S", "100", "12", after="900")), SECOND, "2025-03-10")
    with app.db.write() as tx:
        companies.update_attributes(tx, int(forms.ISSUER), CompanyAttributes(sic=3640), 2, "2025-01-01")
        rows = tx._connection.execute("SELECT superseded_by IS NULL, sic FROM insider_transactions ORDER BY id")
        assert [tuple(row) for row in rows] == [(0, 3640), (1, 3640), (1, 3640)]


def test_valid_transactions_are_counted(app: App) -> None:
    counted = []

    def count() -> None:
        with app.db.read() as tx:
            counted.append(heartbeats.get_stored_counts(tx)["insider_transactions"])
            assert tx.list_rows("uncounted") == []

    store_form(app, ORIGINAL, evidence=INDEX_EVIDENCE)
    count()
    store_form(app, forms.form(kind="3"), THIRD)  # of holdings alone
    count()
    store_form(app, build_amendment(forms.transaction("S", "100", "12", after="900")), SECOND, "2025-03-10")
    count()
    store_form(app, forms.form(forms.transaction("P", "7")))  # the document, which differs from the data set
    count()
    assert counted == [2, 2, 2, 2]


def test_the_newest_form_names_the_insider(app: App) -> None:
    store_form(
        app, forms.form(forms.transaction(), owners=(forms.owner((forms.ANN[0], "New Ann")),)), SECOND, "2025-05-05"
    )
    store_form(app, ORIGINAL)
    assert {trade["insider_name"] for trade in list_trades(app)} == {"New Ann"}


def test_every_symbol_of_an_issuer_is_a_ticker(app: App) -> None:
    store_form(app, forms.form(forms.transaction()).replace(b">BRK-B<", b">BRK.A, BRK.B<"))
    with app.db.read() as tx:
        companies_found = {companies.resolve(tx, ticker).cik for ticker in ("BRK.A", "BRK/B")}
    assert companies_found == {int(forms.ISSUER)}


def test_rows_of_other_tables_are_never_restated() -> None:
    rows = ownership_forms.parse(forms.form(forms.transaction(), forms.holding()), "x").rows
    assert amendments.match_restated_rows(rows[:1], rows[1:]) == {}
    assert amendments.match_restated_rows(rows, rows) == {0: 0, 1: 1}


# ---- Ingest


def ingest_paths(app: App, *paths: Path, options: IngestOptions | None = None) -> list[Outcome]:
    collected: list[Outcome] = []
    ingest.run(app, paths, options or IngestOptions(), collected.append)
    return collected


@needs_shared
def test_every_ownership_document_is_ingested(app: App) -> None:
    first_run = ingest_paths(app, SHARED / "edgar" / "ownership")
    assert [outcome.outcome for outcome in first_run] == ["ingested"] * 11
    assert [outcome.outcome for outcome in ingest_paths(app, SHARED / "edgar" / "ownership")] == ["unchanged"] * 11


@needs_shared
def test_a_form_4_of_2000_without_xml_is_ingested(app: App) -> None:
    (outcome,) = ingest_paths(app, SHARED / "edgar" / "sgml" / "0001094891-00-000193.txt")
    assert (outcome.outcome, outcome.accession) == ("ingested", "0001094891-00-000193")
    assert list_figures(app) == []


def test_a_folders_name_is_the_accession_number_of_its_form(app: App, tmp_path: Path) -> None:
    folder = tmp_path / FIRST
    folder.mkdir()
    (folder / "form4.xml").write_bytes(ORIGINAL)
    (outcome,) = ingest_paths(app, folder)
    assert (outcome.outcome, outcome.accession) == ("ingested", FIRST)
    assert (
        outcome.reason
        == "the filing date is not known: the filing sorts last, and as_of and sniper targets ignore it until it is"
    )


def test_an_ingest_option_sets_the_filing_date(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL)
    (outcome,) = ingest_paths(app, tmp_path, options=IngestOptions(SECOND, "2025-03-05"))
    assert (outcome.accession, outcome.reason) == (SECOND, None)
    assert list_trades(app)[0]["filed_at"] == "2025-03-05"


def test_a_damaged_form_is_refused_with_its_place(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL.replace(b"<value>100</value>", b"<value>many</value>"))
    (outcome,) = ingest_paths(app, tmp_path)
    assert outcome.outcome == "refused"
    assert outcome.reason is not None
    assert outcome.reason.endswith("shares: 'many' is not a number")


def test_a_data_set_is_ingested(app: App, tmp_path: Path) -> None:
    for name, data in forms.data_set().items():
        (tmp_path / f"{name}.tsv").write_bytes(data)
    first_run = ingest_paths(app, tmp_path)
    assert {outcome.outcome for outcome in first_run} == {"ingested"}
    assert {outcome.reason for outcome in first_run} == {"a data set: 1 filing stored, 0 already stored, 0 refused"}
    assert [(trade["shares"], trade["filed_at"]) for trade in list_trades(app)] == [
        (40, "2025-03-05"),
        (200, "2025-03-05"),
        (100, "2025-03-05"),
    ]
    assert {outcome.outcome for outcome in ingest_paths(app, tmp_path)} == {"unchanged"}


def test_two_data_sets_in_one_folder_are_refused(app: App, tmp_path: Path) -> None:
    for name, data in forms.data_set().items():
        (tmp_path / f"{name}.tsv").write_bytes(data)
    (tmp_path / "again.tsv").write_bytes(forms.data_set()["owner"])
    assert {(outcome.outcome, outcome.reason) for outcome in ingest_paths(app, tmp_path)} == {
        ("refused", "two tables of one kind lie here: a folder holds one data set")
    }


def test_an_impossible_value_is_null_with_a_mark(app: App) -> None:
    store_form(app, forms.form(forms.transaction("P", "9" * 20, "99"), forms.transaction("P", "1", "7")))
    assert [trade["transaction_value"] for trade in list_trades(app)] == [7, None]
    assert list_trades(app)[1]["marks"]["transaction_value"]["reason"] == "out_of_range"


def test_a_later_list_of_filings_completes_a_form(app: App, tmp_path: Path) -> None:
    (tmp_path / "form4.xml").write_bytes(ORIGINAL)
    (outcome,) = ingest_paths(app, tmp_path / "form4.xml")
    assert outcome.accession is not None
    assert outcome.accession.startswith("unfiled-")
    submissions = (
        '{"cik":"101","name":"Lamp Ann","entityType":"other","sic":"","tickers":[],"exchanges":[],'
        '"formerNames":[],"filings":{"recent":{"accessionNumber":["%s"],"filingDate":["2025-03-05"],'
        '"reportDate":["2025-03-03"],"acceptanceDateTime":["2025-03-05T21:00:00.000Z"],"form":["4"],"size":[1],'
        '"isXBRL":[0],"isInlineXBRL":[0],"primaryDocument":["form4.xml"],"items":[""]},"files":[]}}'
    )
    (tmp_path / "CIK0000000101.json").write_text(submissions % FIRST)
    ingest_paths(app, tmp_path / "CIK0000000101.json")
    assert {trade["accession_number"] for trade in list_trades(app)} == {FIRST}
    assert {trade["accepted_at"] for trade in list_trades(app)} == {"2025-03-05T21:00:00.000Z"}


def test_transactions_are_announced_once(app: App) -> None:
    recent = (NOW - timedelta(days=1)).date().isoformat()
    store_form(app, forms.form(forms.transaction(), period=recent), FIRST, recent)
    store_form(app, forms.form(forms.transaction(), period=recent), FIRST, recent)
    with app.db.read() as tx:
        events = tx._connection.execute("SELECT type, data FROM events").fetchall()
    assert [row["type"] for row in events].count("insider_transaction") == 1
