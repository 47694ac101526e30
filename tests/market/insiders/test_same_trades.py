"""Trades that several forms report: which rows are one trade, and which are two."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pytest

from finapi.app import App
from finapi.core import days
from finapi.edgar import ownership_forms
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store, totals
from finapi.market.insiders import trades as insider_trades
from finapi.market.insiders.trades import BUY, TradeFilters
from finapi.store.db import Transaction
from tests.conftest import NOW
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case

FUND = ("0000000201", "Heron Bay Fund LP")
MANAGER = ("0000000202", "Heron Bay Advisers LLC")
PARENT = ("0000000203", "Lakeside Holdings Inc")
BOSS = ("0000000204", "Marsh Edward T")
OTHER_FUND = ("0000000205", "Pine Hill Ventures II LP")
TRUST = ("0000000206", "The Marsh 2012 Trust")
WIFE = ("0000000207", "Marsh Clara")

Trade = str  # A transaction in XML.


def buy(price: str | None = "25.12", **terms: str | None) -> Trade:
    """Return a purchase of 1,000 shares, held directly, with 5,000 shares held afterwards."""
    values: dict[str, str | None] = {"after": "5000", **terms}
    return forms.transaction("P", "1000", price, **values)  # type: ignore[arg-type]


def build_form(
    person: tuple[str, str], *rows: Trade, flags: str = "ten", street: str = "", footnotes: dict[str, str] | None = None
) -> bytes:
    owner = forms.owner(person, flags=flags, title=None, street=street)
    return forms.form(*(rows or (buy(),)), owners=(owner,), footnotes=footnotes)


def store(app: App, *documents: bytes) -> None:
    """Store forms under the accession numbers 1, 2, 3 ... of one day."""
    with app.db.write() as tx:
        for number, document in enumerate(documents, 1):
            filing = FilingMetadata(f"0001234567-25-{number:06}", DOCUMENT_EVIDENCE, filed_at="2025-03-05")
            insider_store.upsert_form(tx, ownership_forms.parse(document, "form.xml"), filing, NOW)


def list_repeats(app: App) -> dict[str, str | None]:
    """Return the row that each row repeats, both as "number of the form:number of the row"."""
    with app.db.read() as tx:
        return read_repeats(tx)


def read_repeats(tx: Transaction) -> dict[str, str | None]:
    page = insider_trades.list_latest(tx, TradeFilters(limit=100))
    rows = insider_trades.build_transactions(tx, page.ids)
    repeats = {}
    for row in rows:
        repeated = row["same_trade_as"]
        repeats[row["transaction_id"][-3:]] = None if repeated is None else repeated[-3:]
    return dict(sorted(repeats.items()))


CHAIN = (
    build_form(FUND),
    build_form(MANAGER, buy(hands="I", nature="By Heron Bay Fund LP")),
    build_form(PARENT, buy(hands="I", nature="See footnote", nature_notes="F1"), footnotes={"F1": "Held by a fund."}),
    build_form(BOSS, buy(hands="I", nature="By LP")),
)


def test_a_trade_of_a_chain_of_owners_is_counted_once(app: App) -> None:
    store(app, *CHAIN)
    assert list_repeats(app) == {"1:1": None, "2:1": "1:1", "3:1": "1:1", "4:1": "1:1"}
    with app.db.read() as tx:
        sums = totals.compute_issuer_sums(tx, int(forms.ISSUER), TradeFilters())
        largest = insider_trades.list_largest(tx, BUY, TradeFilters(limit=10))
        clusters = totals.list_clusters(tx, TradeFilters(limit=10), 1)
        overview = totals.build_overview(tx, 0, None)
        (group,) = totals.list_group_sums(tx, TradeFilters(), by_industry=False)
    assert (sums["total_buys"], sums["total_buy_value"], sums["unique_buyers"]) == (1, 25_120, 1)
    assert (len(largest.ids), largest.total) == (1, 1)
    assert [(cluster["insider_count"], cluster["total_value"]) for cluster in clusters] == [(1, 25_120)]
    assert overview["volume"] == {"buy_volume": 25_120, "sell_volume": 0, "buy_count": 1, "sell_count": 0}
    assert [row["total_value"] for row in overview["top_insiders"]] == [25_120]
    assert len(overview["recent_large_tx"]) == 1
    assert (group["transaction_count"], group["buy_value"]) == (1, 25_120)


def test_a_chain_of_owners_is_not_a_cluster(app: App) -> None:
    store(app, *CHAIN)
    with app.db.read() as tx:
        assert totals.list_clusters(tx, TradeFilters(limit=10), 2) == []


@run_each_case("order", list(itertools.permutations(range(4)))[::5])
def test_repeats_do_not_depend_on_the_order_of_arrival(make_app: Callable[..., App], order: tuple[int, ...]) -> None:
    app = make_app()
    with app.db.write() as tx:
        for index in order:
            filing = FilingMetadata(f"0001234567-25-{index + 1:06}", DOCUMENT_EVIDENCE, filed_at="2025-03-05")
            insider_store.upsert_form(tx, ownership_forms.parse(CHAIN[index], "form.xml"), filing, NOW)
    assert list_repeats(app) == {"1:1": None, "2:1": "1:1", "3:1": "1:1", "4:1": "1:1"}


def test_a_director_stands_for_the_trade_of_the_chain(app: App) -> None:
    store(app, build_form(FUND), build_form(BOSS, buy(hands="I", nature="By fund"), flags="director ten"))
    assert list_repeats(app) == {"1:1": "2:1", "2:1": None}


SAME = {
    "rounded prices": (build_form(FUND), build_form(MANAGER, buy("25.1234", hands="I", nature="By fund"))),
    "no prices": (build_form(FUND, buy(None)), build_form(MANAGER, buy(None, hands="I"))),
    "titles of one class": (
        build_form(FUND),
        build_form(MANAGER, buy(title="Common Shares, par value $0.01")),
    ),
    "a longer title": (build_form(FUND), build_form(MANAGER, buy(title="Class A Common Stock"))),
    "other amounts at one address": (
        build_form(FUND, buy(after="5000"), street="1 Bay Road"),
        build_form(MANAGER, buy(after="9000", hands="I"), street="1 BAY ROAD"),
    ),
    "a named fund at another address": (
        build_form(FUND, buy(after="5000"), street="1 Bay Road"),
        build_form(PARENT, buy(after="9000", hands="I", nature="By Heron Bay Fund, L.P."), street="2 Hill Street"),
    ),
    "a director through a fund": (
        build_form(FUND),
        build_form(BOSS, buy(hands="I", nature="See footnote", after="5000"), flags="director"),
    ),
    "a fund in a footnote": (
        build_form(FUND, buy(after="1000")),
        build_form(
            BOSS,
            buy(hands="I", nature="See footnote", nature_notes="F1", after="1000"),
            flags="director",
            footnotes={"F1": "Shares held by Heron Bay Fund L.P., of which he is a manager."},
        ),
    ),
    "a trust with the name": (
        build_form(TRUST, buy(after="1000"), flags="other"),
        build_form(BOSS, buy(hands="I", nature="By trust", after="1000"), flags="officer"),
    ),
    "a wife and her husband": (
        build_form(WIFE, buy(after="1000"), flags="director"),
        build_form(BOSS, buy(hands="I", nature="By spouse", after="1000"), flags="officer"),
    ),
    "two managers of one vehicle": (
        build_form(forms.ANN, buy(hands="I", nature="By Marsh Edge LLC", after="1000")),
        build_form(forms.BEN, buy(hands="I", nature="By Marsh Edge, LLC", after="1000")),
    ),
    "the same form twice": (build_form(forms.ANN, flags="officer"), build_form(forms.ANN, flags="officer")),
}


@pytest.mark.parametrize("documents", SAME.values(), ids=SAME)
def test_rows_of_owners_who_belong_together_are_one_trade(app: App, documents: tuple[bytes, bytes]) -> None:
    store(app, *documents)
    repeats = list_repeats(app)
    assert sorted(repeats.values(), key=str) == ["1:1", None] or sorted(repeats.values(), key=str) == ["2:1", None]


DIFFERENT = {
    "two officers in an offering": (
        build_form(forms.ANN, flags="officer"),
        build_form(forms.BEN, flags="officer"),
    ),
    "two officers at the company's address": (
        build_form(forms.ANN, flags="officer", street="1 Lamp Road"),
        build_form(forms.BEN, flags="director", street="1 Lamp Road"),
    ),
    "an officer and another's trust": (
        build_form(forms.ANN, flags="officer"),
        build_form(forms.BEN, buy(hands="I", nature="By trust"), flags="officer"),
    ),
    "two founders who own ten per cent": (
        build_form(forms.ANN, buy(hands="I", nature="By trust", after="5000"), flags="officer ten"),
        build_form(forms.BEN, buy(hands="I", nature="By trust", after="7000"), flags="director ten"),
    ),
    "a founder and a fund": (
        build_form(forms.ANN, buy(after="7000"), flags="officer ten"),
        build_form(FUND, buy(after="5000")),
    ),
    "two funds of different families": (
        build_form(FUND, buy(after="5000"), street="1 Bay Road"),
        build_form(OTHER_FUND, buy(after="7000"), street="2 Hill Street"),
    ),
    "a couple who each buy": (
        build_form(BOSS, flags="director"),
        build_form(WIFE, flags="director"),
    ),
    "two employees in the company's plan": (
        build_form(forms.ANN, buy(hands="I", nature="By Brook Lamps 401(k) Plan"), flags="officer"),
        build_form(forms.BEN, buy(hands="I", nature="By Brook Lamps 401(k) Plan"), flags="officer"),
    ),
    "another day": (build_form(FUND), build_form(MANAGER, buy(date="2025-03-04", hands="I"))),
    "another price": (build_form(FUND), build_form(MANAGER, buy("25.13", hands="I"))),
    "a price and none": (build_form(FUND), build_form(MANAGER, buy(None, hands="I"))),
    "another class": (
        build_form(FUND, buy(title="Class A Common Stock")),
        build_form(MANAGER, buy(title="Class B Common Stock")),
    ),
    "two purchases of one owner": (build_form(FUND, buy(after="5000")), build_form(FUND, buy(after="6000"))),
    "no day": (build_form(FUND, buy(date="2035-01-01")), build_form(MANAGER, buy(date="2035-01-01"))),
}


@pytest.mark.parametrize("documents", DIFFERENT.values(), ids=DIFFERENT)
def test_trades_of_independent_owners_stay_apart(app: App, documents: tuple[bytes, bytes]) -> None:
    store(app, *documents)
    assert list_repeats(app) == {"1:1": None, "2:1": None}


def test_equal_rows_of_a_form_match_those_of_another(app: App) -> None:
    store(app, build_form(FUND, buy(), buy()), build_form(MANAGER, buy(hands="I"), buy(hands="I")))
    assert list_repeats(app) == {"1:1": None, "1:2": None, "2:1": "1:1", "2:2": "1:2"}


def test_a_corrected_row_is_no_longer_a_repeat(app: App) -> None:
    store(app, build_form(FUND), build_form(MANAGER, buy(hands="I")))
    assert list_repeats(app) == {"1:1": None, "2:1": "1:1"}
    owner = forms.owner(MANAGER, flags="ten")
    amendment = forms.form(buy("29", hands="I"), owners=(owner,), kind="4/A", original="2025-03-05")
    filing = FilingMetadata("0001234567-25-000003", DOCUMENT_EVIDENCE, filed_at="2025-03-09")
    with app.db.write() as tx:
        insider_store.upsert_form(tx, ownership_forms.parse(amendment, "form.xml"), filing, NOW)
    assert list_repeats(app) == {"1:1": None, "3:1": None}


def store_on_days(app: App, documents: Sequence[bytes], filing_days: Sequence[str], until: str = "9999") -> None:
    """Store forms that were filed up to a day, under the accession numbers 1, 2, 3 ..."""
    with app.db.write() as tx:
        for number, (document, day) in enumerate(zip(documents, filing_days, strict=True), 1):
            if day <= until:
                filing = FilingMetadata(f"0001234567-25-{number:06}", DOCUMENT_EVIDENCE, filed_at=day)
                insider_store.upsert_form(tx, ownership_forms.parse(document, "form.xml"), filing, NOW)


DAYS = ("2025-03-05", "2025-03-06", "2025-03-09")
# A fund and its manager, and a director, whose row is preferred.
TRIO = (
    build_form(FUND),
    build_form(MANAGER, buy(hands="I", nature="By Heron Bay Fund LP")),
    build_form(BOSS, buy(hands="I", nature="By Heron Bay Fund LP and Heron Bay Advisers LLC"), flags="director ten"),
)


@pytest.mark.parametrize("filing_days", list(itertools.permutations(DAYS)))
def test_repeats_of_a_past_day_are_those_of_that_day(
    make_app: Callable[..., App], filing_days: tuple[str, ...]
) -> None:
    app = make_app()
    store_on_days(app, TRIO, filing_days)
    for day in DAYS:
        dated_app = make_app()
        store_on_days(dated_app, TRIO, filing_days, until=day)
        expected = list_repeats(dated_app)
        assert list(expected.values()).count(None) == 1
        with app.db.read_as_of(day) as tx:
            assert read_repeats(tx) == expected
            assert totals.compute_issuer_sums(tx, int(forms.ISSUER), TradeFilters())["total_buys"] == 1


def test_an_amended_trade_is_counted_once_on_each_day(make_app: Callable[..., App]) -> None:
    amendment = forms.form(buy(), owners=(forms.owner(FUND, flags="ten"),), kind="4/A", original="2025-03-05")
    documents = (TRIO[0], TRIO[1], amendment)
    app = make_app()
    store_on_days(app, documents, DAYS)
    assert list_repeats(app) == {"2:1": None, "3:1": "2:1"}
    repeats_by_day = {}
    for day in DAYS:
        with app.db.read_as_of(day) as tx:
            repeats_by_day[day] = read_repeats(tx)
            assert totals.compute_issuer_sums(tx, int(forms.ISSUER), TradeFilters())["total_buys"] == 1
    assert repeats_by_day == {
        "2025-03-05": {"1:1": None},
        "2025-03-06": {"1:1": "2:1", "2:1": None},
        "2025-03-09": {"2:1": None, "3:1": "2:1"},
    }


def test_a_trade_is_in_one_window_of_filing_days(app: App) -> None:
    store_on_days(app, TRIO, DAYS)
    assert list_repeats(app) == {"1:1": "3:1", "2:1": "3:1", "3:1": None}
    counts = {}
    with app.db.read() as tx:
        for first, last in (("2025-03-01", "2025-03-31"), ("2025-03-05", "2025-03-08"), ("2025-03-09", "2025-03-09")):
            filters = TradeFilters(since=days.number(first), until=days.number(last))
            counts[first, last] = totals.compute_issuer_sums(tx, int(forms.ISSUER), filters)["total_buys"]
    assert list(counts.values()) == [1, 0, 1]


def test_a_repeat_of_another_owner_counts_for_its_insider(app: App) -> None:
    store(app, *CHAIN)
    with app.db.read() as tx:
        year = tx.find_row("year_of_insider", insider=int(BOSS[0]), since=0)
    assert year is not None
    assert (year["total_transactions_365d"], year["total_buy_value_365d"]) == (1, 25_120)


def test_a_trade_with_too_many_equal_rows_is_not_compared(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.market.insiders.same_trades.MAX_COMPARED_ROWS", 3)
    store(app, *CHAIN)
    assert set(list_repeats(app).values()) == {None}
