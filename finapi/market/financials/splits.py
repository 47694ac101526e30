"""Splits of a company's shares, and their effect on the figures of a series.

Three kinds of evidence show a split; each split states which of them it has:

- ``prices``: a price file states the day and the factor.
- ``tag``: a filing tags the ratio of a split. Companies also tag a 1-for-10 split as 10, and some tag a split that
  never took place. The share counts in the filings before and after it must therefore confirm the factor or its
  inverse.
- ``restated``: later filings restate the share counts and per-share figures of a period by one factor. Example:
  earnings per share of 2019 are 11.90 in one filing and 2.97 in the next; given rounding to cents, only the factor 4
  explains that. A single restated figure may be an error, so two are required.

By default, the figures of a series are served as filed, in shares of their filing date. ``compute_factors`` returns for
each figure the number of today's shares that one of its shares became, and ``adjust_cell`` converts a figure into
today's shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from math import prod
from typing import Any, Literal, NamedTuple, TypedDict

from finapi.core import days
from finapi.core.records import Date
from finapi.market.financials import ratios
from finapi.market.financials.cells import Cell, Figure
from finapi.market.financials.fact_book import PERIODIC, FactBook, PeriodKey, SourceFiling, Vintage
from finapi.market.financials.metric_mapping import FACE_PREFIX, MetricMapping
from finapi.market.financials.series_rows import RowView, get_unit_kind
from finapi.market.reference import share_splits
from finapi.market.reference.share_splits import FiledSplit

# The usual factors of splits, and the tolerance for restated share counts.
FACTORS = [Decimal(text) for text in ("1.5", "2.5")]
FACTORS += [Decimal(number) for number in (*range(2, 9), 10, 12, 15, 20, 25, 30, 40, 50)]
FACTORS_AND_INVERSES = (*FACTORS, *(1 / factor for factor in FACTORS))
FACTOR_TOLERANCE = Decimal("0.002")
# Per-share figures are rounded to cents. Figures below the minimum are too imprecise to show a factor.
HALF_A_CENT, MIN_PER_SHARE = Decimal("0.005"), Decimal("0.1")
MIN_RESTATED_FIGURES = 2
# Two dates of the same split differ by at most this many days. A tag of a longer period does not date its split.
MAX_DATE_DIFFERENCE = 45
# More ratios than a company tags in twenty years. A company with more has corrupt data.
MAX_TAGGED = 100
# The ratio of share counts may differ from the factor of a split by this factor.
SHARE_COUNT_TOLERANCE = Decimal("1.3")
# Two factors are of the same split if they differ by less. Ratios are tagged with few digits: 1 for 15 as 0.0667.
SAME_FACTOR_TOLERANCE = Decimal("0.005")
# Without share counts, two tags of one factor are of the same split if their dates differ by at most this many days.
MAX_UNCOUNTED_DIFFERENCE = 365
ADJUSTED_PLACES = 6  # The decimal places of an adjusted per-share figure.

Evidence = Literal["prices", "tag", "restated"]


class ShareSplit(NamedTuple):
    """A split of shares."""

    factor: Decimal  # The number of new shares for one old share.
    before: str | None  # The last day on which figures are still in old shares.
    since: str  # The first day from which filings report new shares.
    date: str | None  # The day of the split, if it is known.
    filing: SourceFiling | None  # The first filing that restates by the factor or tags it.
    evidence: tuple[Evidence, ...]

    def may_be_same_as(self, other: ShareSplit, max_difference: int = MAX_DATE_DIFFERENCE) -> bool:
        """Return True if two records may be of the same split, by their dates or by the filings around them."""
        first, last = self._get_day_range()
        other_first, other_last = other._get_day_range()
        return first <= other_last + max_difference and other_first <= last + max_difference

    def _get_day_range(self) -> tuple[int, int]:
        """Return the days between which the split took place: those of the filings around it, else its date."""
        if self.before is not None:
            return days.number(self.before), days.number(self.since)
        day = days.number(self.date or self.since)
        return day, day

    def has_factor_of(self, other: ShareSplit) -> bool:
        """Return True if two splits have the same factor, given that tags round it."""
        return abs(self.factor / other.factor - 1) < SAME_FACTOR_TOLERANCE


class SplitRecord(TypedDict):
    """A split in a response."""

    factor: Decimal
    date: Date | None
    not_before: Date | None
    restated_by: str | None
    restated_at: Date | None
    evidence: list[Evidence]


def build_record(split: ShareSplit) -> SplitRecord:
    """Return the record of a split, with its date or the filing dates between which it took place."""
    return {
        "factor": split.factor.normalize() + 0,
        "date": split.date,
        "not_before": split.before,
        "restated_by": split.filing.accession if split.filing else None,
        "restated_at": split.filing.filed if split.filing else None,
        "evidence": list(split.evidence),
    }


def list_splits(
    book: FactBook, mapping: MetricMapping, price_splits: Iterable[tuple[str, Decimal]] = ()
) -> list[ShareSplit]:
    """Return the splits for which restated figures, tags or price files are evidence, the earliest first.

    ``price_splits`` are the days and factors in price files.
    """
    splits = list(_iter_restated_splits(book, mapping))
    for day, factor in price_splits:
        price_split = ShareSplit(factor, None, day, day, None, ("prices",))
        if not _merge_split(splits, price_split):
            splits.append(price_split)
    uncounted_splits: list[tuple[ShareSplit, ShareSplit]] = []
    for tagged_split in _iter_tagged_splits(book):
        # A reverse split of ten shares into one is also tagged as 10.
        records = (tagged_split, tagged_split._replace(factor=1 / tagged_split.factor))
        if any(_merge_split(splits, record) for record in records):
            continue
        changes = _list_share_changes(book, mapping, tagged_split)
        if changes:
            _add_confirmed_split(splits, records, changes)
        else:
            uncounted_splits.append(records)
    # Without share counts before or after a tagged split, nothing confirms its factor.
    for records in uncounted_splits:
        if not any(_merge_split(splits, record, MAX_UNCOUNTED_DIFFERENCE) for record in records):
            splits.append(records[0])
    # Every figure already reflects a split before the first filing.
    first_filed = min((filing.filed for filing in book.filings if filing.filed), default="")
    return sorted((split for split in splits if split.since > first_filed), key=lambda split: split.since)


def _merge_split(splits: list[ShareSplit], split: ShareSplit, max_difference: int = MAX_DATE_DIFFERENCE) -> bool:
    """Merge the evidence of a split into the same split in ``splits``. Return False if it is not there."""
    for index, known_split in enumerate(splits):
        if known_split.has_factor_of(split) and known_split.may_be_same_as(split, max_difference):
            splits[index] = _merge_evidence(known_split, split)
            return True
    return False


def _merge_evidence(known_split: ShareSplit, split: ShareSplit) -> ShareSplit:
    """Return a known split with the evidence of another record of it, and with the better date."""
    new_evidence = [kind for kind in split.evidence if kind not in known_split.evidence]
    return known_split._replace(
        date=_choose_date(known_split, split),
        filing=known_split.filing or split.filing,
        evidence=(*known_split.evidence, *new_evidence),
    )


def _choose_date(known_split: ShareSplit, split: ShareSplit) -> str | None:
    """Return the date of a split that two records date.

    Price files are right. Of two tagged dates, the later one is used, because companies also tag the day on which they
    decided to split their shares. A date after the first filing in new shares is too late.
    """
    if known_split.date is None or split.date is None:
        return known_split.date or split.date
    if "prices" in known_split.evidence:
        return known_split.date
    possible_dates = [date for date in (known_split.date, split.date) if date <= known_split.since]
    return max(possible_dates, default=known_split.date)


def list_filed_splits(book: FactBook, mapping: MetricMapping) -> list[FiledSplit]:
    """Return the splits that filings show, in the form stored for adjusting 13F holdings."""
    filed_splits = []
    for split in list_splits(book, mapping):
        filed_split = _build_filed_split(split)
        if filed_split is not None:
            filed_splits.append(filed_split)
    return filed_splits


def _build_filed_split(split: ShareSplit) -> FiledSplit | None:
    """Return a split with the days between which it took place, or None if they are too far apart to be useful."""
    assert split.filing is not None
    after, until = split.before, split.since
    if after is None:
        # The split is only tagged. Some companies tag the day on which it was decided.
        day = days.number(split.date or split.since)
        after = days.iso(day - 1)
        until = days.iso(day + MAX_DATE_DIFFERENCE)
    if days.number(until) - days.number(after) > share_splits.MAX_RANGE_DAYS:
        return None
    return FiledSplit(format(split.factor.normalize(), "f"), split.date, after, until, split.filing.accession)


# ---- splits by restated figures


class Restatement(NamedTuple):
    """A restatement by a split's factor, and the indexes of the last filing before it and the first one after it."""

    factor: Decimal
    before: int
    since: int


def _iter_restated_splits(book: FactBook, mapping: MetricMapping) -> Iterator[ShareSplit]:
    if book.restatement_factors is None:
        common_restatements = _iter_common_restatements(sorted(_iter_restatements(book, mapping)))
        book.restatement_factors = [(common.factor, common.before, common.since) for common in common_restatements]
    for factor, before, since in book.restatement_factors:
        # Restatements are only found in filings with known dates.
        filing = book.filings[since]
        yield ShareSplit(
            factor=factor,
            before=book.filings[before].filed,
            since=filing.filed or "",
            date=None,
            filing=filing,
            evidence=("restated",),
        )


def _iter_common_restatements(restatements: Sequence[Restatement]) -> Iterator[Restatement]:
    """Yield the restatements that enough figures agree on, each with the filings between which they all happened."""
    for factor in dict.fromkeys(restatement.factor for restatement in restatements):
        common: Restatement | None = None
        figure_count = 0
        for restatement in restatements:
            if restatement.factor != factor:
                continue
            if common and restatement.before < common.since and restatement.since > common.before:
                common = Restatement(
                    factor, max(restatement.before, common.before), min(restatement.since, common.since)
                )
                figure_count += 1
                continue
            if common and figure_count >= MIN_RESTATED_FIGURES:
                yield common
            common = restatement
            figure_count = 1
        if common and figure_count >= MIN_RESTATED_FIGURES:
            yield common


def _iter_restatements(book: FactBook, mapping: MetricMapping) -> Iterator[Restatement]:
    """Yield the restatements of single figures in periodic reports."""
    for unit_kind, by_period in _iter_share_figures(book, mapping):
        for vintages in by_period.values():
            positive_vintages = [
                vintage
                for vintage in vintages
                if book.source_ranks[vintage.filing_index] == PERIODIC and Decimal(vintage.value) > 0
            ]
            for vintage, later in pairwise(_drop_amended(book, unit_kind, positive_vintages)):
                if vintage.value == later.value:
                    continue
                factor = _find_factor(unit_kind, vintage, later)
                if factor is not None:
                    yield Restatement(factor, vintage.filing_index, later.filing_index)


def _drop_amended(book: FactBook, unit_kind: str, vintages: Iterable[Vintage]) -> list[Vintage]:
    """Return the vintages of a figure without restated ones that an amendment of the same filing corrects."""
    remaining: list[Vintage] = []
    for vintage in vintages:
        if len(remaining) > 1:
            form = book.filings[vintage.filing_index].form
            amended_form = book.filings[remaining[-1].filing_index].form
            is_corrected = (
                form.endswith("/A") and amended_form == form.removesuffix("/A") and remaining[-1].value != vintage.value
            )
            if is_corrected and _find_factor(unit_kind, remaining[-2], remaining[-1]) is not None:
                remaining.pop()
        remaining.append(vintage)
    return remaining


def _iter_share_figures(
    book: FactBook, mapping: MetricMapping
) -> Iterator[tuple[str, Mapping[PeriodKey, list[Vintage]]]]:
    """Yield the kind of unit and the vintages of each concept that counts shares or is a per-share figure."""
    for concept in book.vintages:
        if concept.startswith(FACE_PREFIX):
            continue
        unit_kind = mapping.get_unit_kind(concept)
        if unit_kind != "currency":
            yield unit_kind, book.vintages[concept]


def _find_factor(unit_kind: str, vintage: Vintage, later: Vintage) -> Decimal | None:
    """Return the factor of a split that explains two values of a figure within their rounding, or None."""
    value, later_value = Decimal(vintage.value), Decimal(later.value)
    if unit_kind == "shares":
        lowest = later_value / value * (1 - FACTOR_TOLERANCE)
        highest = later_value / value * (1 + FACTOR_TOLERANCE)
    elif min(value, later_value) < MIN_PER_SHARE:
        return None
    else:
        lowest = (value - HALF_A_CENT) / (later_value + HALF_A_CENT)
        highest = (value + HALF_A_CENT) / (later_value - HALF_A_CENT)
    return next((factor for factor in FACTORS_AND_INVERSES if lowest <= factor <= highest), None)


# ---- splits by tagged ratios


def _iter_tagged_splits(book: FactBook) -> Iterator[ShareSplit]:
    """Yield the splits whose ratios are tagged, each with the first filing that tagged it.

    If several filings tag the ratio of a period, the value of the last one is used.
    """
    tagged_ratios = sorted(book.split_ratios, key=lambda tagged_ratio: tagged_ratio[2])
    last_factors = {period_key: factor for factor, period_key, _ in tagged_ratios}
    first_filings: dict[PeriodKey, int] = {}
    for factor, period_key, filing_index in reversed(tagged_ratios):
        if factor == last_factors[period_key]:
            first_filings[period_key] = filing_index
    by_filing = sorted(first_filings.items(), key=lambda period_and_filing: period_and_filing[1])
    for (end, length), filing_index in by_filing[:MAX_TAGGED]:
        factor = last_factors[end, length]
        filing = book.filings[filing_index]
        if filing.filed is None:
            continue
        if length <= MAX_DATE_DIFFERENCE:
            day = days.iso(end)
            yield ShareSplit(factor, before=None, since=day, date=day, filing=filing, evidence=("tag",))
        else:
            start = days.iso(end - length + 1)
            yield ShareSplit(factor, before=start, since=filing.filed, date=None, filing=filing, evidence=("tag",))


class ShareCount(NamedTuple):
    """A number of shares that a filing reports for a period."""

    filed: str
    period_key: PeriodKey
    shares: Decimal


class ShareChange(NamedTuple):
    """The factor by which a count of shares changed between the filings around a day."""

    filed_before: str
    filed_since: str
    factor: Decimal

    def fits(self, factor: Decimal) -> bool:
        """Return True if a split by a factor explains the change."""
        return factor / SHARE_COUNT_TOLERANCE < self.factor < factor * SHARE_COUNT_TOLERANCE


def _list_share_changes(book: FactBook, mapping: MetricMapping, split: ShareSplit) -> list[ShareChange]:
    """Return the changes of all counts of shares from the newest ones before a split to the first ones after it."""
    changes = []
    for unit_kind, by_period in _iter_share_figures(book, mapping):
        if unit_kind != "shares":
            continue
        counts = []
        for period_key, vintages in by_period.items():
            for vintage in vintages:
                filed = book.filings[vintage.filing_index].filed
                shares = Decimal(vintage.value)
                if filed is not None and shares > 0:
                    counts.append(ShareCount(filed, period_key, shares))
        earlier_count = max((count for count in counts if count.filed < split.since), default=None)
        later_count = max(
            (count for count in counts if count.filed >= split.since), key=_prefer_first_filing, default=None
        )
        if earlier_count and later_count:
            changes.append(
                ShareChange(earlier_count.filed, later_count.filed, later_count.shares / earlier_count.shares)
            )
    return changes


def _add_confirmed_split(
    splits: list[ShareSplit], records: Sequence[ShareSplit], changes: Sequence[ShareChange]
) -> None:
    """Add the first of two records of a tagged split, by its factor or the inverse, that the share counts confirm.

    A change of the share counts confirms one split. If it is already explained by a known split of the same factor, the
    record is evidence of that one, however far its date is. Nothing is added if the share counts do not change.
    """
    for record in records:
        for change in changes:
            known_indexes = [
                index
                for index, split in enumerate(splits)
                if change.filed_before < split.since <= change.filed_since and split.has_factor_of(record)
            ]
            if known_indexes and change.fits(_multiply_factors(splits, change)):
                splits[known_indexes[0]] = _merge_evidence(splits[known_indexes[0]], record)
                return
    for record in records:
        if any(change.fits(_multiply_factors(splits, change) * record.factor) for change in changes):
            splits.append(record)
            return


def _multiply_factors(splits: Iterable[ShareSplit], change: ShareChange) -> Decimal:
    """Return the product of the factors of the splits between the filings around a change of share counts."""
    factors = (split.factor for split in splits if change.filed_before < split.since <= change.filed_since)
    return prod(factors, start=Decimal(1))


def _prefer_first_filing(count: ShareCount) -> tuple[int, PeriodKey]:
    """Return a sort key. Its maximum is the newest count in the earliest filing."""
    return -days.number(count.filed), count.period_key


# ---- the effect of splits on figures


def counts_shares(key: str) -> bool:
    """Return True if the values of a key are numbers of shares or per-share figures."""
    return get_unit_kind(key) in ("shares", "per_share")


def compute_factors(row: RowView, keys: Iterable[str], splits: Sequence[ShareSplit]) -> dict[str, tuple[str, Decimal]]:
    """Return the filing date and the factor of each figure.

    The factor is the number of today's shares that one share at the filing date became. A ratio has the date and factor
    of the share figure among its inputs. Figures of a filing without a filing date are left out.
    """
    factors = {}
    catalogue = ratios.get_catalogue().ratios
    for key in keys:
        cell = row.get_cell(key)
        if not isinstance(cell, Figure):
            continue
        figure = cell
        if key in catalogue:
            figure = _find_share_input(row, key) or cell
        filed = row.series.company_book.book.filings[figure.filing_index].filed
        if filed is not None:
            later_factors = (split.factor for split in splits if filed < split.since)
            factors[key] = filed, prod(later_factors, start=Decimal(1))
    return factors


def _find_share_input(row: RowView, ratio_key: str) -> Figure | None:
    for formula_input in row.list_inputs(ratio_key):
        if counts_shares(formula_input.key) and isinstance(formula_input.cell, Figure):
            return formula_input.cell
    return None


def find_last_factor(factors: Mapping[str, tuple[str, Decimal]]) -> Decimal | None:
    """Return the factor of a row's last filed figure, or None."""
    return max(factors.values())[1] if factors else None


def build_marks(factors: Mapping[str, tuple[str, Decimal]], newer_factor: Decimal | None) -> dict[str, Any]:
    """Return the members of a row of figures as filed that say how splits affect it.

    ``mixed_shares`` is added if the row has figures from before and from after a split, and ``split_break`` if there is
    a split between the row and the next newer one, whose factor is ``newer_factor``.
    """
    marks: dict[str, Any] = {}
    if len({factor for _, factor in factors.values()}) > 1:
        marks["mixed_shares"] = True
    last_factor = find_last_factor(factors)
    if last_factor is not None and newer_factor is not None and last_factor != newer_factor:
        marks["split_break"] = last_factor / newer_factor
    return marks


def adjust_cell(cell: Cell, key: str, factor: Decimal) -> Cell:
    """Return the cell of a share count or per-share figure, converted to today's shares."""
    if not isinstance(cell, Figure) or factor == 1:
        return cell
    if get_unit_kind(key) == "shares":
        adjusted = cell.value * factor
    else:
        adjusted = round(cell.value / factor, ADJUSTED_PLACES)
    return cell._replace(value=adjusted.normalize() + 0)
