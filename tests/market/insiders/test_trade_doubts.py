"""Implausible prices of insiders' trades: which are doubtful, by which evidence, and what leaves them out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

import pytest

from finapi.app import App
from finapi.edgar import ownership_forms
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store, totals, trade_doubts
from finapi.market.insiders import trades as insider_trades
from finapi.market.insiders.trades import BUY, TradeFilters
from finapi.market.prices import price_csv, price_store
from tests.conftest import NOW
from tests.support import ownership_xml as forms
from tests.support.case_tables import run_each_case

PURCHASE, SALE = "P", "S"
TICKER = "BRK-B"
ORDINARY = "Ordinary Shares"
ADS = "American Depositary Shares"
TEN_EACH = "Each American Depositary Share represents ten ordinary shares."


def row(shares: str, price: str, *, code: str = PURCHASE, day: str = "2025-03-03", title: str = "Common Stock") -> str:
    return forms.transaction(code, shares, price, date=day, title=title, after=None, price_notes="F1", notes="F2")


def build_form(*rows: str, price_note: str = "", share_note: str = "", person: tuple[str, str] = forms.ANN) -> bytes:
    footnotes = {"F1": price_note, "F2": share_note}
    return forms.form(*rows, owners=(forms.owner(person),), footnotes=footnotes)


def store(app: App, *documents: bytes, order: Sequence[int] | None = None) -> None:
    """Store forms under the accession numbers 1, 2, 3 ..., in another order if one is given."""
    with app.db.write() as tx:
        for index in order or range(len(documents)):
            filing = FilingMetadata(f"0001234567-25-{index + 1:06}", DOCUMENT_EVIDENCE, filed_at="2025-12-30")
            insider_store.upsert_form(tx, ownership_forms.parse(documents[index], "form.xml"), filing, NOW)


def store_closes(app: App, csv: str) -> None:
    body = csv.encode()
    with app.db.write() as tx:
        prices = price_csv.parse(body, "prices.csv", "prices.csv")
        price_store.upsert(tx, prices, body, TICKER)
        trade_doubts.recompute_for_closes(tx, prices.rows, TICKER)


def list_doubts(app: App) -> dict[str, str | None]:
    """Return the doubt about each row by "number of the form:number of the row"."""
    with app.db.read() as tx:
        ids = insider_trades.list_latest(tx, TradeFilters(limit=100)).ids
        rows = insider_trades.build_transactions(tx, ids)
    return dict(sorted((row["transaction_id"][-3:], row["value_doubt"]) for row in rows))


CLOSES = "Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n2025-03-03,25,26,24,25.00,100,0,0\n"

IMPLAUSIBLE = {
    "the total of 10,000 shares": ("10000", "250000"),
    "the total with cents": ("10000", "251234.56"),
    "the price of 1,000 shares": ("400", "25120"),
    "cents": ("300", "2512"),
    "ten times the close": ("300", "251.2"),
}


@run_each_case("shares, price", IMPLAUSIBLE.values())
@run_each_case("code", [PURCHASE, SALE])
def test_a_price_far_above_a_close_is_doubtful(app: App, shares: str, price: str, code: str) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row(shares, price, code=code), row("100", "25.10", code=code)))
    assert list_doubts(app) == {"1:1": "contradicts_close", "1:2": None}


def test_a_sale_far_below_a_close_is_doubtful(app: App) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("100", "0.25", code=SALE)))
    assert list_doubts(app) == {"1:1": "contradicts_close"}


PLAUSIBLE = {
    "a private purchase at a discount": ("100000", "2.50"),
    "a tender offer": ("100000", "70"),
    "a weekend": ("100", "25"),
}


@pytest.mark.parametrize(("shares", "price"), PLAUSIBLE.values(), ids=PLAUSIBLE)
def test_a_price_near_a_close_is_not_doubtful(app: App, shares: str, price: str) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row(shares, price, day="2025-03-09")))
    assert list_doubts(app) == {"1:1": None}


def test_a_close_before_a_later_split_is_compared_as_traded(app: App) -> None:
    # The file has divided the close of March by the split of June.
    csv = "Date,Open,High,Low,Close,Volume,Dividends,Stock Splits\n2025-03-03,25,25,25,25.00,100,0,0\n"
    store_closes(app, csv + "2025-06-02,25,25,25,25.00,100,0,20\n")
    store(app, build_form(row("100", "500")))
    assert list_doubts(app) == {"1:1": None}


def test_closes_that_may_be_divided_by_splits_need_more(app: App) -> None:
    store_closes(app, "Date,Close\n2025-03-03,25.00\n")
    store(app, build_form(row("300", "700"), row("300", "1300"), row("10000", "250000")))
    assert list_doubts(app) == {"1:1": None, "1:2": "contradicts_close", "1:3": "contradicts_close"}


def test_closes_that_most_forms_contradict_are_wrong(app: App) -> None:
    store_closes(app, CLOSES)
    peers = [build_form(row(shares, "700", day=f"2025-04-0{shares}"), person=forms.BEN) for shares in "123"]
    store(app, build_form(row("300", "700")), *peers)
    assert set(list_doubts(app).values()) == {None}


def test_a_close_of_an_impossible_day_is_ignored(app: App) -> None:
    store(app, build_form(row("300", "251.2")))
    store_closes(app, CLOSES + "9999-12-31,25,26,24,25.00,100,0,0\n")
    assert list_doubts(app) == {"1:1": "contradicts_close"}


def test_an_old_close_is_not_evidence(app: App) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("300", "251.2", day="2025-03-11")))
    assert list_doubts(app) == {"1:1": None}


@pytest.mark.parametrize("is_form_first", [True, False])
def test_closes_and_forms_may_arrive_in_any_order(app: App, is_form_first: bool) -> None:
    document = build_form(row("300", "251.2"))
    if is_form_first:
        store(app, document)
        assert list_doubts(app) == {"1:1": None}
        store_closes(app, CLOSES)
    else:
        store_closes(app, CLOSES)
        store(app, document)
    assert list_doubts(app) == {"1:1": "contradicts_close"}


# ---- Other rows of the form


FORM_ROWS = {
    "a total": ([row("10000", "250000"), row("500", "25")], ["contradicts_form", None]),
    "a price of 1,000 shares": ([row("50", "25120"), row("500", "25")], ["contradicts_form", None]),
    "six times two others": ([row("50", "150"), row("60", "25"), row("70", "24")], ["contradicts_form", None, None]),
    "totals only": ([row("10000", "250000"), row("4000", "100400")], ["contradicts_form", "contradicts_form"]),
    "a price that may be right": ([row("50", "150"), row("60", "25")], [None, None]),
    "a cheap purchase and a sale": ([row("900", "0.01"), row("900", "25", code=SALE)], [None, None]),
    "two classes": (
        [row("900", "25", title="Class A Stock"), row("300", "37500", title="Class B")],
        [None, None],
    ),
    "proportional prices": ([row("100", "25.00"), row("110", "27.50")], [None, None]),
}


@pytest.mark.parametrize(("rows", "doubts"), FORM_ROWS.values(), ids=FORM_ROWS)
def test_prices_of_a_form_are_compared(app: App, rows: list[str], doubts: list[str | None]) -> None:
    store(app, build_form(*rows))
    assert list(list_doubts(app).values()) == doubts


# ---- Other forms


TOTAL = build_form(row("10000", "250000", day="2025-06-02"))
EARLIER = build_form(row("100", "25", day="2025-05-02"), person=forms.BEN)
LATER = build_form(row("100", "24", day="2025-07-02"), person=forms.BEN)


def test_a_total_contradicts_other_forms(app: App) -> None:
    store(app, EARLIER, TOTAL)
    assert list_doubts(app) == {"1:1": None, "2:1": "contradicts_history"}


@run_each_case("order", list(itertools.permutations(range(3))))
def test_history_does_not_depend_on_the_order_of_arrival(make_app: Callable[..., App], order: tuple[int, ...]) -> None:
    app = make_app()
    documents = (EARLIER, build_form(row("300", "300", day="2025-06-02")), LATER)
    store(app, *documents, order=order)
    assert list_doubts(app) == {"1:1": None, "2:1": "contradicts_history", "3:1": None}


def test_a_price_after_a_reverse_split_is_not_doubtful(app: App) -> None:
    store(
        app, EARLIER, build_form(row("300", "1250", day="2025-06-02")), build_form(row("7", "1300", day="2025-08-01"))
    )
    assert set(list_doubts(app).values()) == {None}


def test_a_form_of_two_years_before_is_not_evidence(app: App) -> None:
    store(app, build_form(row("100", "2.5", day="2023-05-02")), build_form(row("1000", "250", day="2025-06-02")))
    assert set(list_doubts(app).values()) == {None}


def test_repeats_of_a_trade_do_not_confirm_it(app: App) -> None:
    chain = [
        build_form(row("10000", "250000", day="2025-06-02"), person=(f"000000030{n}", f"Fund {n} LP")) for n in range(4)
    ]
    store(app, EARLIER, *chain)
    assert list(list_doubts(app).values()) == [None, *["contradicts_history"] * 4]


def test_an_unconfirmed_price_above_10000_is_doubtful(app: App) -> None:
    store(app, build_form(row("10000", "250000")))
    assert list_doubts(app) == {"1:1": "unconfirmed"}
    store(app, build_form(row("10000", "250000")), build_form(row("3", "240000"), person=forms.BEN))
    assert list_doubts(app) == {"1:1": None, "2:1": None}


@pytest.mark.parametrize("trade", [row("99", "250000"), row("1000", "25000", title="Auction Preferred Shares")])
def test_a_small_lot_and_other_securities_may_be_expensive(app: App, trade: str) -> None:
    store(app, build_form(trade))
    assert list_doubts(app) == {"1:1": None}


def test_a_corrected_price_is_not_doubtful(app: App) -> None:
    store(app, EARLIER, TOTAL)
    amendment = forms.form(row("10000", "25", day="2025-06-02"), kind="4/A", original="2025-12-30")
    filing = FilingMetadata("0001234567-25-000009", DOCUMENT_EVIDENCE, filed_at="2025-12-31")
    with app.db.write() as tx:
        insider_store.upsert_form(tx, ownership_forms.parse(amendment, "form.xml"), filing, NOW)
    assert list_doubts(app) == {"1:1": None, "9:1": None}


# ---- American Depositary Shares


ADS_FORMS = {
    "a price per ADS": (ORDINARY, "25", "Represents the price per ADS.", "price_per_ads"),
    "spelled out": (ORDINARY, "25", "The price is per American Depositary Share.", "price_per_ads"),
    "an amount per ADS": (ORDINARY, "25.1", "Sold at an average of $25.10 per ADS.", "price_per_ads"),
    "the price of each ADR": (ORDINARY, "25.1", "This is the price of each ADR.", "price_per_ads"),
    "a converted price": (ORDINARY, "2.5", "The price per ADS, divided by ten.", None),
    "a price per ordinary share": (ORDINARY, "2.5", "Price per ordinary share; the price per ADS was 25.", None),
    "ADSs": (ADS, "25", "Represents the price per ADS.", None),
    "no statement": (ORDINARY, "25", "An average price.", None),
}


@pytest.mark.parametrize(("title", "price", "note", "doubt"), ADS_FORMS.values(), ids=ADS_FORMS)
def test_a_price_per_ads_of_ordinary_shares_is_doubtful(
    app: App, title: str, price: str, note: str, doubt: str | None
) -> None:
    store(app, build_form(row("1000", price, title=title), price_note=note, share_note=TEN_EACH))
    assert list_doubts(app) == {"1:1": doubt}


@pytest.mark.parametrize(("price", "doubt"), [("25.10", "price_per_ads"), ("2.51", None), ("251", "contradicts_close")])
def test_the_close_of_an_ads_decides(app: App, price: str, doubt: str | None) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("1000", price, title=ORDINARY), share_note=TEN_EACH))
    assert list_doubts(app) == {"1:1": doubt}


def test_an_ads_of_one_share_has_its_price(app: App) -> None:
    one_each = "Each ADS represents one ordinary share. The price is the price per ADS."
    store(app, build_form(row("1000", "25", title=ORDINARY), share_note=one_each))
    assert list_doubts(app) == {"1:1": None}


ADS_COUNTS = [
    "Each ADS represents ten (10) ordinary shares.",
    "American Depositary Shares (ADSs), each representing 10 Class A ordinary shares.",
    "Each American Depositary Share represents the right to receive two hundred ordinary shares.",
    "One ADS equals 1,000 ordinary shares.",
    "10 ordinary shares are represented by one ADS.",
]


@run_each_case("text", ADS_COUNTS)
def test_the_shares_of_an_ads_are_read_from_footnotes(app: App, text: str) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("1000", "25.10", title=ORDINARY), share_note=text))
    assert list_doubts(app) == {"1:1": "price_per_ads"}


@pytest.mark.parametrize("text", ["Sold 5,000 ADSs representing 50,000 ordinary shares.", "Listed as ADSs."])
def test_a_total_of_ads_is_not_their_ratio(app: App, text: str) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("1000", "25.10", title=ORDINARY), share_note=text))
    assert list_doubts(app) == {"1:1": None}


@pytest.mark.parametrize("text", ["Each ADS represents " + "9" * 5_000 + " shares.", "ADS " + "5," * 20_000])
def test_endless_numbers_are_not_the_shares_of_an_ads(app: App, text: str) -> None:
    store_closes(app, CLOSES)
    start = time.process_time()
    store(app, build_form(row("1000", "25.10", title=ORDINARY), share_note=text))
    assert time.process_time() - start < 2
    assert list_doubts(app) == {"1:1": None}


@pytest.mark.parametrize(("price", "doubt"), [("25.5", "price_per_ads"), ("2.5", None)])
def test_an_ads_row_of_the_form_shows_a_price_per_ads(app: App, price: str, doubt: str | None) -> None:
    rows = (row("100", "25", title=ADS), row("1000", price, title=ORDINARY))
    store(app, build_form(*rows, share_note=TEN_EACH))
    assert list_doubts(app) == {"1:1": None, "1:2": doubt}


def test_the_history_of_ordinary_shares_shows_a_price_per_ads(app: App) -> None:
    history = build_form(row("500", "2.6", day="2025-02-03", title=ORDINARY), person=forms.BEN)
    store(app, history, build_form(row("1000", "25", title=ORDINARY), share_note=TEN_EACH))
    assert list_doubts(app) == {"1:1": None, "2:1": "contradicts_history"}


# ---- Other currencies


CURRENCIES = {
    "The price is in Mexican Pesos (MXN).": "price_in_other_currency",
    "Prices ranged from JPY 2,500 to JPY 2,510.": "price_in_other_currency",
    "The price is in euros, converted at the exchange rate of the day.": None,
    "Bought in Canadian dollars; the price is given in U.S. dollars.": None,
    "A weighted average price.": None,
}


@pytest.mark.parametrize(("note", "doubt"), CURRENCIES.items())
def test_a_price_in_another_currency_is_doubtful(app: App, note: str, doubt: str | None) -> None:
    store_closes(app, CLOSES)
    store(app, build_form(row("1000", "25"), price_note=note))
    assert list_doubts(app) == {"1:1": doubt}


# ---- Sums and rankings


def test_sums_and_rankings_leave_a_doubtful_value_out(app: App) -> None:
    store(app, build_form(row("10000", "250000"), row("500", "25"), row("100", "25", code=SALE)))
    with app.db.read() as tx:
        sums = totals.compute_issuer_sums(tx, int(forms.ISSUER), TradeFilters())
        largest = insider_trades.list_largest(tx, BUY, TradeFilters(limit=10))
        (top,) = insider_trades.build_transactions(tx, largest.ids)
        by_filing_day = insider_trades.list_largest(tx, BUY, TradeFilters(limit=10, since=1))
        overview = totals.build_overview(tx, 0, None)
        (cluster,) = totals.list_clusters(tx, TradeFilters(limit=1), 1)
        (group,) = totals.list_group_sums(tx, TradeFilters(), by_industry=False)
        doubtful_count = insider_trades.count_doubtful(tx, TradeFilters(), direction=BUY)
    assert (sums["total_buys"], sums["total_buy_value"], sums["total_sells"]) == (1, 12_500, 1)
    assert (sums["sentiment_score"], sums["doubtful_left_out"]) == (0, 1)
    assert (top["transaction_value"], largest.total) == (12_500, 1)
    assert by_filing_day.ids == largest.ids
    assert (overview["volume"]["buy_volume"], overview["volume"]["buy_count"]) == (12_500, 1)
    assert overview["doubtful_left_out"] == 1
    assert [large["value"] for large in overview["recent_large_tx"]] == [12_500, 2_500]
    assert (cluster["total_value"], cluster["transaction_count"]) == (12_500, 1)
    assert (group["buy_value"], group["transaction_count"], group["doubtful_left_out"]) == (12_500, 2, 1)
    assert doubtful_count == 1


def test_a_doubtful_row_is_listed_as_filed(app: App) -> None:
    store(app, build_form(row("10000", "250000")))
    with app.db.read() as tx:
        (trade,) = insider_trades.build_transactions(tx, insider_trades.list_latest(tx, TradeFilters(limit=5)).ids)
    assert (trade["shares"], trade["price_per_share"], trade["transaction_value"]) == (10_000, 250_000, 2_500_000_000)
