"""Series of standardised figures as answers: rows of cells with their provenance (CONTRACT 7)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from finapi.errors import invalid_param
from finapi.market import facts, metrics, ratios, templates
from finapi.market.book import EPOCH, iso
from finapi.market.calendars import Period
from finapi.market.cells import Cell, Figure, Hole
from finapi.market.company_books import CompanyBook
from finapi.market.periods import HALF, YEAR
from finapi.market.rows import Price, RowView, Series

PROVENANCE = ("none", "summary", "full")
BASES = ("latest", "original")

# About how many days a quarter has.
A_QUARTER = 90

# What a figure is worth: as reported under the first tag, less for every step away from that.
REPORTED, MAPPED, DERIVED, A_TIER, LEAST = 100, 95, 85, 5, 50


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a company's series. ``metrics`` empty: every one that its industry can have."""

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
    period_offset: int | None = None
    limit: int = 5000
    cursor: str | None = None


def number(value: Decimal) -> int | Decimal:
    """A value as it is written out: without a point where it has no fraction, else with every digit."""
    whole = int(value)
    return whole if whole == value else value


def keys_of(question: Question, industry: str) -> list[str]:
    """The keys of the cells of a row: those asked for; INVALID_PARAM for one that is unknown."""
    mapping, catalogue = metrics.mapping(), ratios.catalogue()
    for key in question.metrics:
        if key not in mapping.metrics and key not in mapping.derived and key not in catalogue.ratios:
            raise invalid_param(
                "metrics", f"{key} is not a metric or ratio.", expected="keys of /xbrl/dictionary"
            )
    keys = list(question.metrics)
    if not keys:
        keys = [
            key
            for key, metric in mapping.metrics.items()
            if not metric.only_for or industry in metric.only_for
        ]
        keys += mapping.derived
    if question.ratios:
        keys += [key for key in catalogue.ratios if key not in keys]
    return keys


def answer(
    held: CompanyBook, question: Question, price: Price | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """``data`` (but for the names of the company) and ``meta`` of a series."""
    series = Series(held, question.period, question.basis, price)
    keys = keys_of(question, held.industry)
    periods = chosen(series.periods, question)
    page, following = _page(periods, question)
    rows = [_row(series.row(period), keys, question) for period in page]
    data: dict[str, Any] = {
        "period": question.period,
        "basis": question.basis,
        "provenance": question.provenance,
        "reporting_currency": held.book.currency,
        "ratios": question.ratios,
        "rows": rows,
    }
    if question.template:
        data["template"] = True
        data["industry"] = held.industry
    found = [period.fiscal_year for period in periods]
    meta = {
        "covered": True,
        "phase": "ready",
        "industry": held.industry,
        "mapping_version": metrics.mapping().version,
        "metric_count": len(keys),
        "row_count": len(rows),
        "years": f"{min(found)}-{max(found)}" if found else "",
        "pagination": {
            "limit": question.limit,
            "has_more": following is not None,
            "page_row_count": len(rows),
            "series_row_count": len(periods),
            "next_cursor": following,
        },
    }
    return data, meta


def table(rows: Iterable[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """The rows of a series flat, and their columns: the period, a value for each key, why values are missing."""
    flat = []
    columns: dict[str, None] = {}
    for row in rows:
        one = {name: value for name, value in row.items() if not isinstance(value, dict)}
        holes = dict(row.get("holes", ()))
        for key, cell in row["metrics"].items():
            one[key] = cell["value"] if isinstance(cell, dict) else cell
            if isinstance(cell, dict) and cell["value"] is None:
                holes[key] = {"status": cell["status"], "reason_code": cell["reason_code"]}
        one["holes"] = holes
        columns.update(dict.fromkeys(one))
        flat.append(one)
    return list(columns), flat


# ---- which rows


def chosen(periods: Sequence[Period], question: Question) -> list[Period]:
    """The periods that ``years`` and ``period_offset`` leave."""
    left = list(periods)
    if question.years is not None:
        wanted = years_wanted(question.years, left[0].fiscal_year if left else 0)
        left = [period for period in left if period.fiscal_year in wanted]
    if question.period_offset is not None:
        place = abs(question.period_offset)
        left = left[place : place + 1]
    return left


def years_wanted(text: str, latest: int) -> range | frozenset[int]:
    """The fiscal years that ``years`` means: "5" the last five, "2018-2023", or "2018,2020"."""
    if re.fullmatch(r"[0-9]{1,3}", text) and int(text) > 0:
        return range(latest - int(text) + 1, latest + 1)
    if re.fullmatch(r"[0-9]{4}-[0-9]{4}", text) and text[:4] <= text[5:]:
        return range(int(text[:4]), int(text[5:]) + 1)
    if re.fullmatch(r"[0-9]{4}(,[0-9]{4})*", text):
        return frozenset(map(int, text.split(",")))
    raise invalid_param(
        "years",
        "years must be a number of years, 2018-2023 or 2018,2020.",
        expected="5, 2018-2023 or 2018,2020",
    )


def _page(periods: Sequence[Period], question: Question) -> tuple[Sequence[Period], str | None]:
    start = 0
    if question.cursor is not None:
        end, name = _read_cursor(question.cursor)
        later = [at for at, one in enumerate(periods) if (-one.end, -one.number) > (-end, -name)]
        start = later[0] if later else len(periods)
    page = periods[start : start + question.limit]
    last = page[-1] if page and start + question.limit < len(periods) else None
    return page, None if last is None else _cursor(last)


def _cursor(period: Period) -> str:
    return base64.urlsafe_b64encode(f"{period.end}:{period.number}".encode()).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[int, int]:
    try:
        plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        plain = ""
    if not re.fullmatch(r"-?[0-9]{1,6}:[0-9]", plain):
        raise invalid_param(
            "cursor", "That is not a cursor of this service.", expected="next_cursor of a page"
        )
    end, _, name = plain.partition(":")
    return int(end), int(name)


# ---- a row


def _row(row: RowView, keys: Sequence[str], question: Question) -> dict[str, Any]:
    period = row.period
    made: dict[str, Any] = {
        "fiscal_year": period.fiscal_year,
        "fiscal_period": period.fiscal_period,
        "period_start": None if period.start is None else iso(period.start),
        "period_end": iso(period.end),
    }
    if question.period == "TTM":
        made["period_start"] = None
    if question.calendar:
        made |= _on_calendar(period, question.period)
    cells = {key: row.cell(key) for key in keys}
    if question.provenance == "none":
        made["metrics"] = {
            key: number(cell.value) if isinstance(cell, Figure) else None for key, cell in cells.items()
        }
        made["holes"] = {
            key: {"status": cell.status, "reason_code": cell.reason}
            for key, cell in cells.items()
            if isinstance(cell, Hole)
        }
    else:
        totals = checks(row)
        full = question.provenance == "full"
        made["metrics"] = {key: explained(row, key, cell, totals, full=full) for key, cell in cells.items()}
    if question.template:
        statements = templates.templates().by_industry[row.series.held.industry]
        made["template"] = {
            name: templates.arranged(statement, row.cell, number) for name, statement in statements.items()
        }
    return made


def _on_calendar(period: Period, kind: str) -> dict[str, Any]:
    """Where a period lies on the calendar: the quarter (or year) that holds its middle.

    A year to date lies where its last quarter does, after which it is named.
    """
    length = period.end - period.start if period.start is not None else A_QUARTER
    if kind == "YTD":
        length = min(length, A_QUARTER)
    middle = EPOCH + timedelta(days=period.end - length // 2)
    if length < HALF.start:
        name = f"Q{(middle.month + 2) // 3}"
    else:
        # A transition period is neither quarter nor year on the calendar either.
        name = "FY" if length + 1 in YEAR else period.fiscal_period
    return {"calendar_year": middle.year, "calendar_period": name}


def checks(row: RowView) -> dict[str, str]:
    """Which totals of a row add up, by key."""
    statements = templates.templates().by_industry[row.series.held.industry]
    return {
        total.target: templates.receipt(total, row.cell).status
        for statement in statements.values()
        for total in statement.totals
    }


def units_of(key: str, currency: str) -> str:
    """The unit of a key's values."""
    mapping = metrics.mapping()
    if key in mapping.metrics:
        kind = mapping.metrics[key].units
    elif key in mapping.derived:
        kind = "currency"
    else:
        kind = ratios.catalogue().ratios[key].units
    return {"currency": currency, "per_share": f"{currency}/shares"}.get(kind, kind)


def explained(row: RowView, key: str, cell: Cell, totals: dict[str, str], *, full: bool) -> dict[str, Any]:
    """A cell with its provenance; ``totals`` are the :func:`checks` of its row."""
    book = row.series.held.book
    made: dict[str, Any] = {
        "value": None,
        "status": "value",
        "reason_code": None,
        "concept": None,
        "tier": None,
        "method": None,
        "calc_status": totals.get(key, "unchecked"),
        "confidence": 0,
        "accession": None,
        "source": None,
        "unit": units_of(key, book.currency),
    }
    if full:
        made |= {"decimals": None, "filed_at": None, "operands": []}
    if isinstance(cell, Hole):
        made |= {"status": cell.status, "reason_code": cell.reason}
        return made
    filing = book.filings[cell.place]
    made["value"] = number(cell.value)
    made["concept"] = concept_of(cell)
    made["tier"] = cell.tier
    made["method"] = cell.method
    made["confidence"] = confidence(cell)
    made["accession"] = filing.accession
    made["source"] = filing.source
    if full:
        made["filed_at"] = filing.filed
        made["decimals"] = (
            facts.decimals_told(cell.operands[0][2].decimals) if len(cell.operands) == 1 else None
        )
        simple = len(cell.operands) == 1 and cell.operands[0][0] > 0
        made["operands"] = [] if simple else operands_of(row, key, cell)
    return made


def concept_of(cell: Figure) -> str:
    """The concept that a figure was reported under; of a formula the whole of it."""
    if len(cell.line) == 1 and len(cell.operands) == 1:
        return cell.operands[0][2].concept
    return " ".join(cell.line)


def confidence(cell: Figure) -> int:
    """From 0 to 100: 100 as reported under the first tag, less for other tags, formulas and derivations."""
    base = {"reported": REPORTED, "mapped": MAPPED, "derived": DERIVED}[cell.method]
    return max(LEAST, base - A_TIER * max(0, cell.tier - 1))


def operands_of(row: RowView, key: str, cell: Cell) -> list[dict[str, Any]]:
    """What a figure was worked out from: value, sign, concept, period and filing of each operand."""
    filings = row.series.held.book.filings
    made = []
    for sign, (end, days), entry in row.operands(key, cell):
        made.append(
            {
                "sign": sign,
                "value": number(Decimal(entry.value)),
                "concept": entry.concept,
                "unit": entry.unit,
                "decimals": facts.decimals_told(entry.decimals),
                "start_date": iso(end - days + 1) if days else None,
                "end_date": iso(end),
                "accession": filings[entry.place].accession,
                "form_type": filings[entry.place].form,
                "filed_at": filings[entry.place].filed,
                "source": filings[entry.place].source,
            }
        )
    return made
