"""True and false claims, derived from a table of figures that people read from statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

# The claims about neighbouring periods and other companies have at least this many digits, and so have slipped decimal
# points: two digits agree by chance.
MIN_DIGITS = 3
# Claims with a wrong last digit have this many digits.
WRONG_DIGITS = 4
SCALE_WORDS = ((9, "billion"), (6, "million"), (3, "thousand"))


class MutatedClaim(NamedTuple):
    """A claim, the kind of its mutation, and the verdicts that are right."""

    kind: str
    claim: dict[str, Any]
    verdicts: frozenset[str]


class TruthTable:
    """The rows of a table of figures, by company, metric and period."""

    def __init__(self, rows: Sequence[dict[str, str]]) -> None:
        self.rows = rows
        self._values: dict[tuple[str, ...], set[Decimal]] = {}
        self._periods: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in rows:
            if row["value"]:
                self._values.setdefault(_get_figure_key(row), set()).add(Decimal(row["value"]))
                self._periods.setdefault(_get_series_key(row), []).append(row)

    def iter_claims(self) -> Iterator[MutatedClaim]:
        """Yield about twenty claims for each row with a value, and one for each row without."""
        for row in self.rows:
            if not row["value"]:
                yield _build("hole", row, "1234567", "not_on_file", "cannot_tell")
            else:
                yield from self._iter_true_claims(row)
                if Decimal(row["value"]):
                    yield from self._iter_slips(row)
                    yield from self._iter_other_figures(row)
                    yield from self._iter_wrong_digits(row)

    def _iter_true_claims(self, row: dict[str, str]) -> Iterator[MutatedClaim]:
        value = Decimal(row["value"])
        verdicts = ["matches"] if row["basis"] != "original" else ["matches", "matches_first_filed"]
        yield _build("true", row, format(value, "f"), *verdicts)
        yield _build("true", row, float(value) if value % 1 else int(value), *verdicts)
        yield _build("true", row, f"({-value:,f})" if value < 0 else f"${value:,f}", *verdicts)
        for digit_count in (2, 3, 4, 5):
            yield _build("rounded", row, write_words(round_digits(value, digit_count)), *verdicts)
        yield _build("rounded", row, format(round_digits(value, MIN_DIGITS), "f"), *verdicts)

    def _iter_slips(self, row: dict[str, str]) -> Iterator[MutatedClaim]:
        value = Decimal(row["value"])
        for exponent in (3, -3, 6, -6):
            yield _build("scale", row, format(value.scaleb(exponent), "f"), "wrong_scale")
        if count_digits(value) >= MIN_DIGITS:
            yield _build("decimal point", row, format(value.scaleb(1), "f"), "wrong_scale")
        yield _build("sign", row, format(-value, "f"), "wrong_sign")
        yield _build("sign", row, write_words(-round_digits(value, 4)), "wrong_sign")

    def _iter_other_figures(self, row: dict[str, str]) -> Iterator[MutatedClaim]:
        values = self._values[_get_figure_key(row)]
        same_series = sorted(self._periods[_get_series_key(row)], key=lambda other: other["period_end"])
        position = same_series.index(row)
        for other in same_series[max(0, position - 1) : position + 2]:
            other_value = Decimal(other["value"])
            is_distinct = other_value not in values and count_digits(other_value) >= MIN_DIGITS
            if other["period_end"] != row["period_end"] and is_distinct:
                yield _build("period", row, other["value"], "wrong_period")
        for key, others in self._periods.items():
            if key[1:] == _get_series_key(row)[1:] and key[0] != row["ticker"]:
                other = others[position % len(others)]
                other_value = Decimal(other["value"])
                if other_value not in values and count_digits(other_value) >= MIN_DIGITS:
                    yield _build("company", row, other["value"], "contradicted")
                    break

    def _iter_wrong_digits(self, row: dict[str, str]) -> Iterator[MutatedClaim]:
        values = self._values[_get_figure_key(row)]
        value = Decimal(row["value"])
        for factor in ("1.07", "0.9", "2.37"):
            yield _build("other value", row, format(round_digits(value * Decimal(factor), 6), "f"), "contradicted")
        # A figure of three digits, such as 0.52, does not show whether 0.5213 is wrong.
        if count_digits(value) < WRONG_DIGITS:
            return
        unit = Decimal(1).scaleb(value.adjusted() - WRONG_DIGITS + 1)
        for change in (3, -2):
            claimed = round_digits(value, WRONG_DIGITS) + change * unit
            if all(abs(claimed - known) > unit / 2 for known in values):
                yield _build("last digit", row, write_words(claimed), "contradicted")


def count_digits(value: Decimal) -> int:
    """Return the number of digits of a value without zeros at the end; 1 for zero."""
    return len(value.normalize().as_tuple().digits)


def round_digits(value: Decimal, digit_count: int) -> Decimal:
    """Return a value rounded to some digits, half up, with zeros up to the last of them."""
    if not value:
        return value
    exponent = value.adjusted() - digit_count + 1
    return value.scaleb(-exponent).quantize(Decimal(1), ROUND_HALF_UP).scaleb(exponent)


def write_words(value: Decimal) -> str:
    """Return a value in words such as "394.3 billion", with the digits that it has."""
    for exponent, word in SCALE_WORDS:
        if abs(value) >= Decimal(10) ** exponent:
            return f"{value.scaleb(-exponent):,f} {word}"
    return format(value, "f")


def write_period(row: dict[str, str]) -> str:
    """Return the period of a row as a claim names it."""
    if row["period_type"] == "FY":
        return f"FY{row['fiscal_year']}"
    if row["period_type"] == "Q":
        return f"{row['fiscal_period']} {row['fiscal_year']}"
    return f"{row['period_start']}..{row['period_end']}" if row["period_start"] else row["period_end"]


def _build(kind: str, row: dict[str, str], value: Any, *verdicts: str) -> MutatedClaim:
    claim = {"cik": row["cik"], "metric": row["metric"], "period": write_period(row), "value": value}
    return MutatedClaim(kind, claim, frozenset(verdicts))


def _get_series_key(row: dict[str, str]) -> tuple[str, ...]:
    return row["ticker"], row["metric"], row["period_type"]


def _get_figure_key(row: dict[str, str]) -> tuple[str, ...]:
    return (*_get_series_key(row), row["period_start"], row["period_end"])
