"""Splits of a company's shares: as files of prices tell them, as filings tag them, and as filings show them by
restating per-share figures and counts of shares of one period by one factor."""

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
from finapi.market.financials.fact_book import PERIODIC, FactBook, SourceFiling, Vintage
from finapi.market.financials.metric_mapping import FACE_PREFIX, MetricMapping
from finapi.market.financials.series_rows import RowView, find_definition
from finapi.market.reference import share_splits
from finapi.market.reference.share_splits import FiledSplit

# By what factor shares are split, and how far restated counts may be from it.
FACTORS = [*map(Decimal, ("1.5", "2.5")), *map(Decimal, (*range(2, 9), 10, 12, 15, 20, 25, 30, 40, 50))]
NEAR = Decimal("0.002")
# A figure of a share is rounded to the cent; one that is too small says nothing.
HALF_A_CENT, LEAST_EACH = Decimal("0.005"), Decimal("0.1")
# One figure alone may be an error of its filer.
ENOUGH = 2
# A tag that stands for a longer period does not date its split; two days of one split are at most so far apart.
DATED = 45
# More ratios than a company tags in twenty years; what has more is damaged.
MAX_TAGGED = 100
# Counts of shares told before and after a split are as its factor has it, but for so much.
ROUGHLY = Decimal("1.3")

Evidence = Literal["prices", "tag", "restated"]


class ShareSplit(NamedTuple):
    """A split: shares are ``factor`` times as many in filings from the day ``since`` on, and not yet in those up to
    ``before``. ``date`` is its day where that is known; ``filing`` is the first that restates by it or tags it."""

    factor: Decimal
    before: str | None
    since: str
    date: str | None
    filing: SourceFiling | None
    evidence: tuple[Evidence, ...]

    def may_be_same_as(self, other: ShareSplit) -> bool:
        """Whether two splits may be one by their days, or the filings between which they were."""
        (first, last), (start, end) = self._days(), other._days()
        return first <= end + DATED and start <= last + DATED

    def _days(self) -> tuple[int, int]:
        last = days.number(self.date or self.since)
        return (last if self.date or not self.before else days.number(self.before)), last


class SplitRecord(TypedDict):
    """A split as answers tell it."""

    factor: Decimal
    date: Date | None
    not_before: Date | None
    restated_by: str | None
    restated_at: Date | None
    evidence: list[Evidence]


def build_record(split: ShareSplit) -> SplitRecord:
    """A split with its day, or the filings that it lies between: after the day of the one, told by the other."""
    return {
        "factor": split.factor.normalize() + 0,
        "date": split.date,
        "not_before": split.before,
        "restated_by": split.filing.accession if split.filing else None,
        "restated_at": split.filing.filed if split.filing else None,
        "evidence": list(split.evidence),
    }


def list_splits(book: FactBook, mapping: MetricMapping, priced: Iterable[tuple[str, Decimal]] = ()) -> list[ShareSplit]:
    """The splits that filings of a book show or tag and files of prices tell (day and factor), the earliest first."""
    splits = [*_restated(book, mapping)]
    for told in (*(ShareSplit(factor, None, day, day, None, ("prices",)) for day, factor in priced), *_tagged(book)):
        # A split of ten shares into one is tagged as 10 too.
        factors = (told.factor,) if told.evidence == ("prices",) else (told.factor, 1 / told.factor)
        place = next((at for at, one in enumerate(splits) if one.factor in factors and one.may_be_same_as(told)), None)
        if place is None:
            splits += [told] if told.evidence == ("prices",) else _as_counted(book, mapping, told)
        else:
            known = splits[place]
            evidence = (*known.evidence, *(one for one in told.evidence if one not in known.evidence))
            date, filing = known.date or told.date, known.filing or told.filing
            splits[place] = known._replace(date=date, filing=filing, evidence=evidence)
    # What was split before the first filing is in every figure.
    first = min((filing.filed for filing in book.filings if filing.filed), default="")
    return sorted((one for one in splits if one.since > first), key=lambda one: one.since)


def list_filed_splits(book: FactBook, mapping: MetricMapping) -> list[FiledSplit]:
    """The splits that filings of a book show or tag, as they are kept for holdings to be compared by."""
    return [kept for one in list_splits(book, mapping) if (kept := _kept(one)) is not None]


def _kept(split: ShareSplit) -> FiledSplit | None:
    """A split with the days that it was after and not after; None where they are too far apart to tell anything."""
    assert split.filing is not None
    after, until = split.before, split.since
    if after is None:
        # Tagged alone: some tag the day on which it was decided.
        day = days.number(split.date or split.since)
        after, until = days.iso(day - 1), days.iso(day + DATED)
    if days.number(until) - days.number(after) > share_splits.MAX_RANGE_DAYS:
        return None
    return FiledSplit(format(split.factor.normalize(), "f"), split.date, after, until, split.filing.accession)


# ---- by what filings restate


def _restated(book: FactBook, mapping: MetricMapping) -> Iterator[ShareSplit]:
    if book.restatement_factors is None:
        book.restatement_factors = list(_clusters(sorted(_evidence(book, mapping))))
    for factor, before, since in book.restatement_factors:
        # Restated figures are of filings whose days are known.
        filing = book.filings[since]
        yield ShareSplit(factor, book.filings[before].filed, filing.filed or "", None, filing, ("restated",))


def _clusters(evidence: Sequence[tuple[Decimal, int, int]]) -> Iterator[tuple[Decimal, int, int]]:
    """Each factor by which enough figures were restated, and the places of the filings before and after."""
    for factor in dict.fromkeys(factor for factor, _, _ in evidence):
        cluster: list[int] = []
        for _, before, since in (one for one in evidence if one[0] == factor):
            if cluster and before < cluster[1] and since > cluster[0]:
                cluster = [max(before, cluster[0]), min(since, cluster[1]), cluster[2] + 1]
            else:
                yield from _enough(factor, cluster)
                cluster = [before, since, 1]
        yield from _enough(factor, cluster)


def _enough(factor: Decimal, cluster: Sequence[int]) -> Iterator[tuple[Decimal, int, int]]:
    if cluster and cluster[2] >= ENOUGH:
        yield factor, cluster[0], cluster[1]


def _evidence(book: FactBook, mapping: MetricMapping) -> Iterator[tuple[Decimal, int, int]]:
    """The factors of restated figures, with the places of the filings before and after."""
    for units, by_key in _of_shares(book, mapping):
        for vintages in by_key.values():
            told = [
                one for one in vintages if book.source_ranks[one.filing_index] == PERIODIC and Decimal(one.value) > 0
            ]
            for one, later in pairwise(_unamended(book, units, told)):
                if one.value != later.value and (factor := _factor(units, one, later)) is not None:
                    yield factor, one.filing_index, later.filing_index


def _unamended(book: FactBook, units: str, told: Iterable[Vintage]) -> list[Vintage]:
    """What filings tell, without a restated figure that an amendment of the filing tells otherwise."""
    standing: list[Vintage] = []
    for one in told:
        form = book.filings[one.filing_index].form
        amended = (
            form.endswith("/A") and len(standing) > 1 and book.filings[standing[-1].filing_index].form == form[:-2]
        )
        if amended and standing[-1].value != one.value and _factor(units, *standing[-2:]) is not None:
            standing.pop()
        standing.append(one)
    return standing


def _of_shares(book: FactBook, mapping: MetricMapping) -> Iterator[tuple[str, Mapping[tuple[int, int], list[Vintage]]]]:
    """The concepts of shares and of one share: their units and what is told."""
    for concept in book.vintages:
        units = "currency" if concept.startswith(FACE_PREFIX) else mapping.get_unit_kind(concept)
        if units != "currency":
            yield units, book.vintages[concept]


def _factor(units: str, one: Vintage, later: Vintage) -> Decimal | None:
    before, after = Decimal(one.value), Decimal(later.value)
    if units == "shares":
        least, most = after / before * (1 - NEAR), after / before * (1 + NEAR)
    elif min(before, after) < LEAST_EACH:
        return None
    else:
        least = (before - HALF_A_CENT) / (after + HALF_A_CENT)
        most = (before + HALF_A_CENT) / (after - HALF_A_CENT)
    both = (*FACTORS, *(1 / factor for factor in FACTORS))
    return next((factor for factor in both if least <= factor <= most), None)


# ---- by what filings tag


def _tagged(book: FactBook) -> Iterator[ShareSplit]:
    """The ratios that filings tag as a split's, of each period the one told last, the first to tell each first."""
    told = sorted(book.split_ratios, key=lambda one: one[2])
    last = {key: factor for factor, key, _ in told}
    first = {key: place for factor, key, place in reversed(told) if factor == last[key]}
    for (end, length), place in sorted(first.items(), key=lambda one: one[1])[:MAX_TAGGED]:
        factor = last[end, length]
        filing = book.filings[place]
        if filing.filed is not None:
            day = days.iso(end) if length <= DATED else None
            start = None if day else days.iso(end - length + 1)
            yield ShareSplit(factor, start, day or filing.filed, day, filing, ("tag",))


def _as_counted(book: FactBook, mapping: MetricMapping, told: ShareSplit) -> list[ShareSplit]:
    """A tagged split as counts of shares in the filings before and after it have it: by its factor or the inverse.
    None where they run on; as tagged where none is before it or after it."""
    ratios = []
    for units, by_key in _of_shares(book, mapping):
        counts = [
            (filed, key, Decimal(one.value))
            for key, vintages in by_key.items()
            for one in (vintages if units == "shares" else ())
            if (filed := book.filings[one.filing_index].filed) is not None and Decimal(one.value) > 0
        ]
        earlier = max((one for one in counts if one[0] < told.since), default=None)
        later = max((one for one in counts if one[0] >= told.since), key=_first_filed, default=None)
        if earlier and later:
            ratios.append(later[2] / earlier[2])
    for factor in (told.factor, 1 / told.factor) if ratios else ():
        if any(factor / ROUGHLY < ratio < factor * ROUGHLY for ratio in ratios):
            return [told._replace(factor=factor)]
    return [] if ratios else [told]


def _first_filed(count: tuple[str, tuple[int, int], Decimal]) -> tuple[int, tuple[int, int]]:
    """The newest count of the filing that was filed first is the greatest."""
    return -days.number(count[0]), count[1]


# ---- what splits do to figures


def is_per_share_or_count(key: str) -> bool:
    """Whether a key's values are counts of shares or figures of one."""
    return getattr(find_definition(key), "units", "") in ("shares", "per_share")


def compute_factors(row: RowView, keys: Iterable[str], splits: Sequence[ShareSplit]) -> dict[str, tuple[str, Decimal]]:
    """Of figures of shares or of one the day that they were told, and how many of today's shares one of theirs is; a
    filing of unknown day tells none. A ratio is told as the figure of shares in it is."""
    told = {}
    for key in keys:
        cell = row.get_cell(key)
        if isinstance(cell, Figure) and key in ratios.get_catalogue().ratios:
            shares = (
                one.cell
                for one in row.list_inputs(key)
                if is_per_share_or_count(one.key) and isinstance(one.cell, Figure)
            )
            cell = next(shares, cell)
        filed = row.series.company_book.book.filings[cell.filing_index].filed if isinstance(cell, Figure) else None
        if filed is not None:
            told[key] = filed, prod((one.factor for one in splits if filed < one.since), start=Decimal(1))
    return told


def find_last_factor(factors: Mapping[str, tuple[str, Decimal]]) -> Decimal | None:
    """In which shares the figures of a row are told that were told last."""
    return max(factors.values())[1] if factors else None


def build_marks(factors: Mapping[str, tuple[str, Decimal]], newer: Decimal | None) -> dict[str, Any]:
    """What splits make of a row: which figures are told in the shares of before one, whether others are told in those
    of after it, and whether it stands between the row and the ``newer`` one, told in such shares."""
    old = {key: factor for key, (_, factor) in factors.items() if factor != 1}
    made: dict[str, Any] = {"split_factors": old} if old else {}
    if len({factor for _, factor in factors.values()}) > 1:
        made["mixed_shares"] = True
    own = find_last_factor(factors)
    if own is not None and newer is not None and own != newer:
        made["split_break"] = own / newer
    return made


def adjust_cell(cell: Cell, key: str, factor: Decimal) -> Cell:
    """A figure of shares, or of one share, in today's shares."""
    if not isinstance(cell, Figure) or factor == 1:
        return cell
    counted = getattr(find_definition(key), "units", "") == "shares"
    value = cell.value * factor if counted else round(cell.value / factor, 6)
    return cell._replace(value=value.normalize() + 0)
