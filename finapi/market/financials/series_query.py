"""A query for a company's series: its validation, keys, periods and pages.

A series has one row for each period, newest first, and one cell in each row for each key: a metric, a derived figure or
a ratio. ``years`` and ``period_offset`` select the periods; ``limit`` with ``offset`` or ``cursor`` pages through them.
A cursor is the last day and the quarter number of the last row of a page, base64-encoded, so that the next page
continues there even if newer periods have been added meanwhile.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from finapi.core import suggestions
from finapi.core.errors import invalid_param
from finapi.market.financials import metric_mapping, ratios
from finapi.market.financials.periods import Period
from finapi.market.financials.series_rows import find_definition

PROVENANCE_LEVELS = ("none", "summary", "full")
LAST_QUARTERS = ("reported", "estimated")


@dataclass(frozen=True, slots=True)
class SeriesQuery:
    """The parameters of a query for a series. Empty ``metrics`` stands for all metrics of the company's industry."""

    period: str = "A"
    metrics: tuple[str, ...] = ()
    ratios: bool = False
    years: str | None = None
    provenance: str = "none"
    basis: str = "latest"
    as_of: str | None = None
    currency: str | None = None
    calendar: bool = False
    template: bool = False
    adjusted: bool = False
    q4: str = "reported"
    period_offset: int | None = None
    limit: int = 5000
    offset: int = 0
    cursor: str | None = None

    @property
    def has_estimates(self) -> bool:
        """True if last quarters contain estimated averages of shares and earnings per share."""
        return self.q4 == "estimated"


def check_query(query: SeriesQuery) -> None:
    """Raise INVALID_PARAM if the metrics, the years or the cursor are invalid for every company.

    This needs no company data, so an invalid query is refused before any data is loaded.
    """
    _check_metrics(query.metrics)
    if query.years is not None:
        parse_years(query.years, latest_year=0)
    if query.cursor is not None:
        _read_cursor(query.cursor)


def _check_metrics(keys: Iterable[str]) -> None:
    mapping = metric_mapping.get_mapping()
    catalogue = ratios.get_catalogue()
    for key in keys:
        if find_definition(key) is None:
            known_keys = [*mapping.metrics, *mapping.derived, *catalogue.ratios]
            similar_keys = suggestions.list_similar_metrics(key, known_keys)
            hint = suggestions.did_you_mean(similar_keys)
            message = f"{key[: suggestions.MAX_WORD_LENGTH]} is not a metric or ratio{hint}"
            raise invalid_param("metrics", message, expected="keys of /xbrl/dictionary", nearest=similar_keys)


def list_keys(query: SeriesQuery, industry: str) -> list[str]:
    """Return the keys of the cells of each row. Raise INVALID_PARAM if the query has an unknown one."""
    _check_metrics(query.metrics)
    keys = list(query.metrics)
    if not keys:
        mapping = metric_mapping.get_mapping()
        keys = [key for key, metric in mapping.metrics.items() if not metric.only_for or industry in metric.only_for]
        keys += mapping.derived
    if query.ratios:
        keys += [key for key in ratios.get_catalogue().ratios if key not in keys]
    return keys


# ---- years


def select_periods(periods: Sequence[Period], query: SeriesQuery) -> list[Period]:
    """Return the periods that ``years`` and ``period_offset`` select."""
    selected = list(periods)
    if query.years is not None:
        years = parse_years(query.years, latest_year=selected[0].fiscal_year if selected else 0)
        selected = [period for period in selected if period.fiscal_year in years]
    if query.period_offset is not None:
        index = abs(query.period_offset)
        selected = selected[index : index + 1]
    return selected


def parse_years(text: str, latest_year: int) -> range | frozenset[int]:
    """Return the fiscal years that ``years`` selects. Raise INVALID_PARAM if it is malformed.

    "5" means the last five of a company whose latest is ``latest_year``; the other forms are "2018-2023", "2018,2020"
    and "all".
    """
    if text.lower() == "all":
        return range(10_000)
    if re.fullmatch(r"[0-9]{1,3}", text) and int(text) > 0:
        return range(latest_year - int(text) + 1, latest_year + 1)
    if re.fullmatch(r"[0-9]{4}-[0-9]{4}", text) and text[:4] <= text[5:]:
        return range(int(text[:4]), int(text[5:]) + 1)
    if re.fullmatch(r"[0-9]{4}(,[0-9]{4})*", text):
        return frozenset(map(int, text.split(",")))
    raise invalid_param(
        "years",
        "years must be a number of years (5), a range (2018-2023), a list (2018,2020) or all.",
        expected="5, 2018-2023, 2018,2020 or all",
    )


def format_years(years: Iterable[int]) -> str:
    """Return the first and the last of some years as "2018-2023", or "" if there are none."""
    known_years = list(years)
    return f"{min(known_years)}-{max(known_years)}" if known_years else ""


# ---- pages


def select_page(periods: Sequence[Period], query: SeriesQuery) -> tuple[Sequence[Period], str | None]:
    """Return the periods of a page, and the cursor of the next page or None.

    Raise INVALID_PARAM if the cursor of the query is malformed.
    """
    start = 0
    if query.cursor is not None:
        start = _find_index_after(periods, query.cursor)
    start += query.offset
    page = periods[start : start + query.limit]
    if not page or start + query.limit >= len(periods):
        return page, None
    cursor = f"{page[-1].end}:{page[-1].quarter_number}".encode()
    return page, base64.urlsafe_b64encode(cursor).decode().rstrip("=")


def _find_index_after(periods: Sequence[Period], cursor: str) -> int:
    end, quarter_number = _read_cursor(cursor)
    for index, period in enumerate(periods):
        if (-period.end, -period.quarter_number) > (-end, -quarter_number):
            return index
    return len(periods)


def _read_cursor(text: str) -> tuple[int, int]:
    """Return the last day and the quarter number of the last row of a page. Raise INVALID_PARAM if malformed."""
    try:
        decoded = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        decoded = ""
    if not re.fullmatch(r"-?[0-9]{1,6}:[0-9]", decoded):
        raise invalid_param(
            "cursor", "Invalid cursor; use next_cursor of the previous page.", expected="next_cursor of a page"
        )
    end, _, quarter_number = decoded.partition(":")
    return int(end), int(quarter_number)
