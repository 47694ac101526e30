"""Prices of insiders' trades that cannot be right: their values are marked, and sums and rankings leave them out.

Filers type the total in place of the price, a price for 1,000 shares, cents as dollars, or the price of an American
Depositary Share (ADS) next to a number of ordinary shares. Such a row, 10,000 shares at 250,000 dollars, would be the
largest purchase of the year. The figures are served as filed, with the evidence against them (``value_doubt``):

- ``price_per_ads``: a footnote says that the price is per ADS, and the row is about ordinary shares.
- ``price_in_other_currency``: a footnote says that the price is in pesos, euros or the like.
- ``contradicts_close``: the price is far from a stored close of the company, at most a week old.
- ``contradicts_form``: the form's other rows of the same class and side have a far lower price, or the prices are
  proportional to the numbers of shares.
- ``contradicts_history``: the company's other forms of the year before and after have a far lower price.
- ``unconfirmed``: the price is above 10,000 dollars, and no close and no other form of these years confirms it.

A close is the best evidence: a price near it is right, whatever other forms say. Without a close, a price that only
differs from earlier ones may be right too, after a reverse split for example. So other forms contradict a price only
if there are such forms both before and after it, or if the kind of error is clear: divided by the number of shares, by
1,000, or by the shares of an ADS, the price equals theirs.

Only purchases, sales and dispositions (codes P, S, F and D) of shares are compared. Doubts are computed when a form or
prices are stored. A new form is evidence for other forms as well, so the result does not depend on the order.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from finapi.edgar.ownership_forms import OwnershipForm, OwnershipRow
from finapi.market.insiders import form_bodies, rules
from finapi.market.insiders.amendments import fold_title
from finapi.market.insiders.rules import ValueDoubt
from finapi.market.prices import price_series
from finapi.market.prices.price_csv import PriceRow
from finapi.store.db import Row, Transaction

# A price is plausible up to this multiple of a close as it was traded. Private trades are seldom far from the market.
MAX_CLOSE_RATIO = 5
# This multiple applies to closes that their file may have divided by splits without stating the splits.
MAX_UNADJUSTED_RATIO = 50
# A purchase or sale below this part of a close is implausible. Private sales at a discount are common.
MIN_CLOSE_RATIO = Decimal("0.02")
# A price is plausible up to this multiple of the median of two or more other rows of its form, or of other forms.
MAX_FORM_RATIO = 5
MAX_HISTORY_RATIO = 10
# A price that an error explains equals the others' price up to this factor after the error is undone.
MAX_EXPLAINED_RATIO = 2
# An ADS and a row of ordinary shares have one price if they differ by at most this factor.
MAX_SAME_PRICE_RATIO = Decimal("1.2")
# Prices of one class in one form are not this far apart, and prices divided by shares are not this close by chance.
MIN_PROPORTIONAL_SPREAD, MAX_PROPORTIONAL_SPREAD = Decimal("1.5"), Decimal("1.1")
# A higher price needs confirmation by a close or another form, because few shares are so expensive. Small lots need
# none, because they do not distort a sum.
MAX_UNCONFIRMED_PRICE, MIN_UNCONFIRMED_SHARES = 10_000, 100
HISTORY_DAYS = 365  # Other forms are compared if their trades are at most this many days away.
CLOSE_DAYS = 7  # A close is compared if it is at most this old.
# Closes of other days are errors, and no form has trades then.
FIRST_CLOSE_DAY, LAST_CLOSE_DAY = "1934-01-01", "2199-12-31"

_SALE_CODES = ("S", "F", "D")
_ADS = r"(?:ADSs?|ADRs?|American\s+Depositary\s+(?:Shares?|Receipts?))"
_MENTIONS_ADS = re.compile(rf"\b{_ADS}\b", re.IGNORECASE)
# "The price is per ADS", "sold at $25.10 per ADS", "the price of each ADR".
_PRICE_PER_ADS = re.compile(
    rf"(?:\bprices?\b|\$)(?:[^.;]|\.(?=[0-9])){{0,120}}\b(?:per|of\s+(?:each|one|an))\s+{_ADS}\b", re.IGNORECASE
)
_CONVERTED = re.compile(r"\b(?:divid\w+|convert\w+|equivalent|per\s+(?:ordinary|common|class\s+\w+)\s)", re.IGNORECASE)
# The number of shares that one ADS represents. "5,000 ADSs representing 50,000 shares" does not state it.
# The digits are limited, because a text such as 5,5,5,5 would take quadratic time, and Python converts at most 4,300.
_COUNT = r"(?P<count>[0-9][0-9,]{0,11}(?![0-9,])|[a-z]+(?:-[a-z]+)?(?:\s+hundred)?)"
_REPRESENTS = r"(?:represent\w*|equals?|(?:is\s+)?(?:equal|equivalent)\s+to)\s+(?:the\s+right\s+to\s+receive\s+)?"
_ADS_COUNTS = (
    re.compile(rf"\b(?:each|every|one|1|an)\s+(?:\(1\)\s+)?{_ADS}[^.;]{{0,60}}?\b{_REPRESENTS}{_COUNT}", re.IGNORECASE),
    re.compile(rf"\b{_ADS}[^.;]{{0,40}}?\beach\s+(?:of\s+which\s+)?{_REPRESENTS}{_COUNT}", re.IGNORECASE),
    re.compile(
        rf"\b{_COUNT}\s+(?:\([0-9,]+\)\s+)?(?:class\s+\w+\s+)?(?:ordinary|common|equity)\s+shares?\s+"
        rf"(?:per|to\s+(?:one|each)|for\s+(?:one|each|every)|(?:are\s+)?represented\s+by\s+(?:one|each|an))\s+{_ADS}\b",
        re.IGNORECASE,
    ),
)
_UNIT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT_WORDS = {word: number for number, word in enumerate(_UNIT_WORDS, start=1)}
_COUNT_WORDS |= {f"{word} hundred": number * 100 for word, number in _COUNT_WORDS.items() if number < 10}
_COUNT_WORDS |= {"fifteen": 15, "sixteen": 16, "twenty": 20, "twenty-five": 25, "thirty": 30, "forty": 40, "fifty": 50}


_OTHER_CURRENCY = re.compile(
    r"\b(?:pesos?|reais|yen|yuan|renminbi|rupees?|won|euros?|sterling|pence|francs?|kron(?:a|or|er|e)|shekels?|rand|zloty"
    r"|(?:new\s+taiwan|hong\s+kong|canadian|australian|singapore|new\s+zealand)\s+dollars?"
    r"|MXN|BRL|JPY|CNY|RMB|INR|KRW|EUR|GBP|GBX|CHF|SEK|NOK|DKK|ILS|NIS|ZAR|TWD|HKD|CAD|AUD|SGD|NZD)\b",
    re.IGNORECASE,
)
_PRICE = re.compile(r"\bprices?\b", re.IGNORECASE)
_IN_DOLLARS = re.compile(
    r"\bU\.?\s?S\.?\s+dollars?|\bUSD?\b|\bUS\$|\bU\.S\.|\bexchange\s+rate|\bconver\w+", re.IGNORECASE
)


class _PricedRow(NamedTuple):
    """A row with a price that is judged, or that is evidence for others."""

    id: int
    form_id: int
    seq: int
    date: date
    is_sale: bool
    is_trade: bool  # A purchase or sale in the market.
    title: str
    price: Decimal
    shares: Decimal
    doubt: str | None


class _Span(NamedTuple):
    """The days of a company's trades or closes that have changed."""

    issuer: int
    first: date
    last: date

    def build_parameters(self) -> dict[str, object]:
        """Return the parameters of queries for all rows that are evidence for an affected row."""
        window = timedelta(2 * HISTORY_DAYS)
        return {
            "issuer": self.issuer,
            "first": (self.first - window).isoformat(),
            "last": (self.last + window).isoformat(),
        }

    def is_near(self, day: date) -> bool:
        """Return True if rows of the span are evidence for a row of this day."""
        window = timedelta(HISTORY_DAYS)
        return self.first - window <= day <= self.last + window


class _Closes(NamedTuple):
    """The stored closes of a company's tickers on a day, as they were traded."""

    reliable: list[Decimal]
    may_be_divided: list[Decimal]  # Their file states no splits, so it may have divided them by later ones.

    def is_near(self, price: Decimal) -> bool:
        """Return True if a price is plausible for one of the closes."""
        return any(
            close * MIN_CLOSE_RATIO <= price <= close * MAX_CLOSE_RATIO
            for close in (*self.reliable, *self.may_be_divided)
        )


def recompute_forms(
    tx: Transaction, forms: Mapping[int, OwnershipForm | None], issuer: int, *, has_removed_rows: bool
) -> None:
    """Recompute the doubts of new or changed forms of a company, and of the rows for which they are evidence.

    ``forms`` has the forms by their ids; a form that is None is read if it is needed. ``has_removed_rows`` is True if
    rows were deleted or superseded. Any other row may have been compared with those.
    """
    changed = tx.find_row("priced_days_of_forms", forms=json.dumps(sorted(forms)))
    if changed is None or changed["first"] is None:
        return
    span = _Span(issuer, date.fromisoformat(changed["first"]), date.fromisoformat(changed["last"]))
    spread = tx.find_row("price_spread", span.build_parameters())
    assert spread is not None
    # A new row can only be evidence against prices far above its own. Usually there are none, and the other forms are
    # read only if something else contradicts a price of the new one.
    lowest = spread["lowest"] if has_removed_rows else changed["lowest"]
    has_far_prices = (
        spread["highest"] >= lowest * MAX_FORM_RATIO or changed["highest"] >= spread["lowest"] * MAX_FORM_RATIO
    )
    if not spread["has_doubts"] and not has_far_prices:
        rows = _read_rows(tx, "priced_rows_of_forms", {"forms": json.dumps(sorted(forms))})
        evidence = _PriceEvidence(tx, issuer, rows, rows, forms)
        if all(evidence.find_doubt(row) is None for row in rows):
            return
    _recompute_span(tx, span, forms, Decimal(str(lowest)))


def recompute_for_closes(tx: Transaction, prices: Iterable[PriceRow], ticker: str) -> None:
    """Recompute the doubts of trades that new closes confirm or contradict.

    ``ticker`` is the ticker of the prices that state none.
    """
    days_by_ticker: dict[str, list[str]] = {}
    for price in prices:
        if price.close is not None and FIRST_CLOSE_DAY <= price.date <= LAST_CLOSE_DAY:
            days_by_ticker.setdefault(price.ticker or ticker, []).append(price.date)
    change_count = 0
    for price_ticker, days in sorted(days_by_ticker.items()):
        first = date.fromisoformat(min(days))
        last = date.fromisoformat(max(days)) + timedelta(CLOSE_DAYS)
        for row in tx.list_rows("issuers_of_ticker", ticker=price_ticker):
            change_count += _recompute_span(tx, _Span(row["cik"], first, last), {}, None)
    if change_count:
        tx.run("bump_data_version")


def _recompute_span(
    tx: Transaction, span: _Span, forms: Mapping[int, OwnershipForm | None], lowest: Decimal | None
) -> int:
    """Recompute the doubts that a change in a span of days may affect. Return the number of changed rows.

    ``forms`` are the changed forms, and ``lowest`` the lowest price that was added or removed. Without them, the closes
    of the span have changed.
    """
    rows = _read_rows(tx, "priced_rows_of_issuer", span.build_parameters())
    judged = []
    for row in rows:
        is_changed = row.form_id in forms if forms else span.first <= row.date <= span.last
        is_affected = row.doubt is not None or (lowest is not None and row.price >= lowest * MAX_FORM_RATIO)
        if is_changed or (is_affected and span.is_near(row.date)):
            judged.append(row)
    evidence = _PriceEvidence(tx, span.issuer, rows, judged, forms)
    changes: list[tuple[ValueDoubt | None, int]] = []
    for row in judged:
        doubt = evidence.find_doubt(row)
        if doubt != row.doubt:
            changes.append((doubt, row.id))
    tx.insert_rows("update_value_doubt", changes)
    return len(changes)


def _read_rows(tx: Transaction, query: str, parameters: Mapping[str, object]) -> list[_PricedRow]:
    return [_build_row(row) for row in tx.list_rows(query, parameters)]


def _build_row(row: Row) -> _PricedRow:
    return _PricedRow(
        id=row["id"],
        form_id=row["form_id"],
        seq=row["seq"],
        date=date.fromisoformat(row["date"]),
        is_sale=row["code"] in _SALE_CODES,
        is_trade=row["direction"] != 0,
        title=_fold_title(row["title"]),
        price=Decimal(row["price"]),
        shares=Decimal(row["shares"]),
        doubt=row["value_doubt"],
    )


# A company's forms have few titles.
_fold_title = lru_cache(maxsize=1024)(fold_title)


class _PriceEvidence:
    """The closes, forms and other rows with which the prices of a company are compared."""

    def __init__(
        self,
        tx: Transaction,
        issuer: int,
        rows: Sequence[_PricedRow],
        judged: Sequence[_PricedRow],
        forms: Mapping[int, OwnershipForm | None],
    ) -> None:
        self._tx = tx
        self._rows = sorted(rows, key=lambda row: row.date)
        self._days = [row.date for row in self._rows]
        self._closes = self._load_closes(issuer, sorted({row.date.isoformat() for row in judged}))
        self._forms = {form_id: form for form_id, form in forms.items() if form is not None}
        missing = json.dumps(sorted({row.form_id for row in judged} - set(self._forms)))
        for row in tx.list_rows("bodies_of_forms", forms=missing):
            self._forms[row["id"]] = form_bodies.decode_form(row["body"])

    def _load_closes(self, issuer: int, days: Sequence[str]) -> dict[str, list[Row]]:
        closes: dict[str, list[Row]] = {}
        parameters = {"issuer": issuer, "days": json.dumps(days), "max_age": f"-{CLOSE_DAYS} days"}
        for row in self._tx.list_rows("stored_closes", parameters):
            closes.setdefault(row["day"], []).append(row)
        return closes

    def find_doubt(self, row: _PricedRow) -> ValueDoubt | None:
        """Return the doubt about a row's price, such as "contradicts_close", or None."""
        is_common = rules.is_common_stock(row.title)
        if self._is_in_other_currency(row):
            return "price_in_other_currency"
        ads_count = self._find_ads_count(row) if is_common else None
        if ads_count is not None and self._is_per_ads(row, ads_count):
            return "price_per_ads"
        closes = self._get_closes(row, ads_count or 1) if is_common else _Closes([], [])
        if closes.is_near(row.price):
            return None
        form_peers = []
        other_form_peers = []
        is_confirmed = False
        window = timedelta(HISTORY_DAYS)
        start = bisect_left(self._days, row.date - window)
        end = bisect_right(self._days, row.date + window)
        for peer in self._rows[start:end]:
            if peer.title != row.title:
                continue
            # In a chain of owners (a fund, its manager, its founder), each may file a form with the same row. Such a
            # repetition is not evidence.
            is_repeat = (peer.date, peer.shares, peer.price) == (row.date, row.shares, row.price)
            is_other_form = peer.form_id != row.form_id and not is_repeat
            if peer.is_sale == row.is_sale and is_other_form:
                other_form_peers.append(peer)
            elif peer.is_sale == row.is_sale and peer.form_id == row.form_id and peer.id != row.id:
                form_peers.append(peer)
            is_confirmed = is_confirmed or (is_other_form and _are_similar(peer.price, row.price, MAX_CLOSE_RATIO))
        if self._contradicts_closes(row, closes) and not self._is_confirmed(row, other_form_peers):
            return "contradicts_close"
        if self._contradicts_form(row, form_peers):
            return "contradicts_form"
        if self._contradicts_history(row, other_form_peers, ads_count):
            return "contradicts_history"
        is_large = row.price > MAX_UNCONFIRMED_PRICE and row.shares >= MIN_UNCONFIRMED_SHARES
        return "unconfirmed" if is_common and is_large and not is_confirmed else None

    def _list_footnotes(self, row: _PricedRow) -> list[str]:
        """Return the footnotes to which a row refers."""
        form = self._forms[row.form_id]
        texts = dict(form.footnotes)
        footnote_ids = form.rows[row.seq - 1].list_footnote_ids()
        return [texts[footnote_id] for footnote_id in footnote_ids if footnote_id in texts]

    def _is_in_other_currency(self, row: _PricedRow) -> bool:
        """Return True if a footnote states the currency of the price, and not that it was converted into dollars."""
        for text in self._list_footnotes(row):
            if _PRICE.search(text) and _OTHER_CURRENCY.search(text) and not _IN_DOLLARS.search(text):
                return True
        return False

    # ---- American Depositary Shares

    def _find_ads_count(self, row: _PricedRow) -> int | None:
        """Return the number of ordinary shares that an ADS represents; 0 if it is not stated, None without ADSs.

        None is also returned if the row itself is about ADSs.
        """
        form = self._forms[row.form_id]
        texts = [text for _, text in form.footnotes] + [form.remarks or ""]
        is_about_ads = _MENTIONS_ADS.search(form.rows[row.seq - 1].title or "")
        if is_about_ads or not any(_MENTIONS_ADS.search(text) for text in texts):
            return None
        for text in texts:
            for pattern in _ADS_COUNTS:
                for match in pattern.finditer(text):
                    count = " ".join(match["count"].lower().replace(",", "").split())
                    if count.isdigit() or count in _COUNT_WORDS:
                        return int(count) if count.isdigit() else _COUNT_WORDS[count]
        return 0

    def _is_per_ads(self, row: _PricedRow, ads_count: int) -> bool:
        """Return True if the price is that of an ADS, which represents several of the row's shares."""
        if ads_count == 1:
            return False
        closes = self._get_closes(row, 1)
        if ads_count and (closes.reliable or closes.may_be_divided):
            # The close is that of the ADS, which is listed. The price is per ADS if it is nearer to the close itself.
            close = max(closes.reliable or closes.may_be_divided)
            return row.price * row.price * ads_count > close * close and row.price <= close * MAX_EXPLAINED_RATIO
        form = self._forms[row.form_id]
        if ads_count and any(_is_ads_row_at_price(other, row.price) for other in form.rows):
            return True
        return any(_PRICE_PER_ADS.search(text) and not _CONVERTED.search(text) for text in self._list_footnotes(row))

    # ---- comparisons

    def _get_closes(self, row: _PricedRow, ads_count: int) -> _Closes:
        """Return the closes of the row's day, per share if the listed security is an ADS."""
        reliable: list[Decimal] = []
        may_be_divided: list[Decimal] = []
        day = row.date.isoformat()
        for stored in self._closes.get(day, ()):
            close = Decimal(stored["close"])
            if stored["acted"] and not close / MAX_CLOSE_RATIO <= row.price * ads_count <= close * MAX_CLOSE_RATIO:
                # The close may have been divided by later splits, which is undone only for the few prices off it.
                traded = price_series.find_close(self._tx, stored["ticker"], day)
                close = close if traded is None else traded.close
            (reliable if stored["acted"] else may_be_divided).append(close / ads_count)
        return _Closes(reliable, may_be_divided)

    @staticmethod
    def _contradicts_closes(row: _PricedRow, closes: _Closes) -> bool:
        """Return True if a price is too far from every close."""
        if not (closes.reliable or closes.may_be_divided):
            return False
        too_high = all(row.price > close * MAX_CLOSE_RATIO for close in closes.reliable) and all(
            row.price > close * MAX_UNADJUSTED_RATIO or _is_explained(row, close) for close in closes.may_be_divided
        )
        too_low = all(row.price < close * MIN_CLOSE_RATIO for close in closes.reliable) and not closes.may_be_divided
        return too_high or (too_low and row.is_trade)

    @staticmethod
    def _is_confirmed(row: _PricedRow, other_form_peers: Sequence[_PricedRow]) -> bool:
        """Return True if most other forms have about the same price. Then the close is wrong, not the price."""
        if len(other_form_peers) < 2:
            return False
        median = _get_median(other_form_peers)
        return median / MAX_EXPLAINED_RATIO <= row.price <= median * MAX_EXPLAINED_RATIO

    @staticmethod
    def _contradicts_form(row: _PricedRow, form_peers: Sequence[_PricedRow]) -> bool:
        """Return True if a price is far above the other prices of its form, or if all of them are totals."""
        if not form_peers:
            return False
        if _are_proportional([row, *form_peers]):
            return True
        median = _get_median(form_peers)
        if len(form_peers) == 1:
            return row.price > median * MAX_FORM_RATIO and _is_explained(row, median)
        return row.price > median * MAX_FORM_RATIO

    @staticmethod
    def _contradicts_history(row: _PricedRow, other_form_peers: Sequence[_PricedRow], ads_count: int | None) -> bool:
        """Return True if a price is far above those of other forms, and neither a split nor the market explains it."""
        if not other_form_peers:
            return False
        median = _get_median(other_form_peers)
        is_far = row.price >= median * MAX_FORM_RATIO
        if ads_count and is_far and _are_similar(row.price / ads_count, median, MAX_EXPLAINED_RATIO):
            return True
        if row.price <= median * MAX_HISTORY_RATIO:
            return False
        lower_peers = [peer for peer in other_form_peers if peer.price * MAX_HISTORY_RATIO < row.price]
        # Peers are ordered by day. If prices are lower both before and after the row, the market does not explain it.
        first_day, last_day = lower_peers[0].date, lower_peers[-1].date
        is_surrounded = first_day <= row.date <= last_day and first_day < last_day
        return is_surrounded or _is_explained(row, median)


def _is_ads_row_at_price(row: OwnershipRow, price: Decimal) -> bool:
    """Return True if a row is about ADSs and has about this price."""
    if row.price is None or not _MENTIONS_ADS.search(row.title or ""):
        return False
    return _are_similar(Decimal(row.price), price, MAX_SAME_PRICE_RATIO)


def _get_median(rows: Sequence[_PricedRow]) -> Decimal:
    """Return the median price, or the lower of the two middle ones."""
    prices = sorted(row.price for row in rows)
    return prices[(len(prices) - 1) // 2]


def _is_explained(row: _PricedRow, usual_price: Decimal) -> bool:
    """Return True if the price is the total of the row, or the price of 1,000 shares."""
    if row.price <= usual_price * MAX_FORM_RATIO:
        return False
    return any(_are_similar(row.price / count, usual_price, MAX_EXPLAINED_RATIO) for count in (row.shares, 1000))


def _are_proportional(rows: Sequence[_PricedRow]) -> bool:
    """Return True if prices are proportional to the numbers of shares, because each is the total of its row."""
    prices = [row.price for row in rows]
    prices_by_share = [row.price / row.shares for row in rows]
    is_spread = max(prices) > min(prices) * MIN_PROPORTIONAL_SPREAD
    return is_spread and max(prices_by_share) < min(prices_by_share) * MAX_PROPORTIONAL_SPREAD


def _are_similar(first: Decimal, second: Decimal, max_ratio: Decimal | int) -> bool:
    return second <= first * max_ratio and first <= second * max_ratio
