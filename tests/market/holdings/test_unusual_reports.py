"""13F reports with errors that managers make: wrong quarters, repeated columns, placeholders, mistyped restatements."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.core.errors import ParseError
from finapi.edgar import cusip, thirteenf
from finapi.market.holdings import fund_positions, funds
from finapi.market.holdings.fund_positions import PositionKey, ReportedRow
from finapi.market.holdings.holdings_report import build_report
from finapi.store import heartbeats
from tests.support import thirteenf_xml
from tests.support.case_tables import run_each_case
from tests.support.fund_filings import FUND, submission, take
from tests.support.thirteenf_xml import ALLY, APPLE, MICROSOFT

SECOND_QUARTER, THIRD_QUARTER, FOURTH_QUARTER = "2025-06-30", "2025-09-30", "2025-12-31"
Rows = Sequence[tuple[str, int, int]]
# Valid CUSIPs of made-up issuers.
BOOK: Rows = [
    (f"{number:08}{cusip.compute_check_digit(f'{number:08}')}", 10_000, 100) for number in range(10**7, 10**7 + 6)
]


def read_quarter(app: App, period: str | None, cik: int = FUND) -> tuple[funds.FundQuarter, dict[str, str | None]]:
    """Return a fund's quarter and the status of its positions by CUSIP, those that were closed included."""
    with app.db.read() as tx:
        quarter = funds.get_quarter(tx, cik, period)
        rows, _ = funds.list_holdings(tx, quarter, options="all", limit=100)
        closed_rows, _ = funds.list_holdings(tx, quarter, options="all", status="closed", limit=100)
    return quarter, {row["cusip"]: row["status"] for row in [*rows, *closed_rows]}


def report_second_quarter(number: int, rows: Rows) -> bytes:
    return submission(number, ("06-30-2025", "2025-08-14", list(rows)))


def report_third_quarter(number: int, rows: Rows, filed_at: str = "2025-11-14", **cover: Any) -> bytes:
    return submission(number, ("09-30-2025", filed_at, list(rows)), **cover)


def restate(number: int, rows: Rows) -> bytes:
    return report_third_quarter(number, rows, "2025-12-01", form="13F-HR/A", amendment=(1, "RESTATEMENT"))


# ---- a period after the filing date


def test_a_quarter_that_had_not_ended_is_not_the_default(app: App, tmp_path: Path) -> None:
    early = submission(2, ("12-31-2025", "2025-11-15", [(APPLE, 2_600, 10)]))
    take(app, tmp_path, report_third_quarter(1, [(APPLE, 2_500, 10)]), early)
    default, _ = read_quarter(app, None)
    assert (default.period, default.filing["period_after_filing"]) == (THIRD_QUARTER, False)
    requested, _ = read_quarter(app, FOURTH_QUARTER)
    assert (requested.value, requested.filing["period_after_filing"]) == (2_600, True)
    with app.db.read() as tx:
        assert funds.list_periods(tx, FUND) == [THIRD_QUARTER, FOURTH_QUARTER]
        assert funds.get_latest_quarter(tx) == THIRD_QUARTER
        assert funds.list_quarters(tx) == [THIRD_QUARTER]
        row = tx.find_row("funds_by_cik", after=0, limit=1, offset=0)
    assert row is not None
    assert (row["latest_period"], row["latest_aum_usd"]) == (THIRD_QUARTER, 2_500)


def test_a_report_on_the_last_day_of_its_quarter_is_a_default(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, submission(1, ("09-30-2025", "2025-09-30", [(APPLE, 2_500, 10)])))
    quarter, _ = read_quarter(app, None)
    assert (quarter.period, quarter.filing["period_after_filing"]) == (THIRD_QUARTER, False)


# ---- doubtful restatements


def test_a_restatement_of_few_unchanged_positions_closes_none(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report_second_quarter(1, BOOK), report_third_quarter(2, BOOK), restate(3, BOOK[:1]))
    quarter, statuses = read_quarter(app, THIRD_QUARTER)
    assert statuses == dict.fromkeys([row[0] for row in BOOK], "unchanged")
    assert (quarter.value, quarter.positions, quarter.filing["accession_no"][-1]) == (60_000, 6, "3")
    assert quarter.filing["restatement_doubt"] == "drops_unchanged_positions"
    assert (quarter.filing["positions_retained"], quarter.filing["reports_united"]) == (5, 2)


def test_a_position_that_only_the_restatement_has_is_added(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report_second_quarter(1, BOOK), report_third_quarter(2, BOOK), restate(3, [(APPLE, 2_500, 10)]))
    quarter, statuses = read_quarter(app, THIRD_QUARTER)
    assert (quarter.positions, statuses[APPLE]) == (7, "new")
    assert quarter.filing["positions_retained"] == 6


def test_a_doubtful_restatement_may_arrive_first(make_app: Callable[..., App], tmp_path: Path) -> None:
    documents = [report_second_quarter(1, BOOK), report_third_quarter(2, BOOK), restate(3, BOOK[:1])]
    answers = []
    for turn, order in enumerate(itertools.permutations(documents)):
        app = make_app()
        for number, document in enumerate(order):
            folder = tmp_path / f"{turn}{number}"
            folder.mkdir()
            take(app, folder, document)
        answers.append(read_quarter(app, THIRD_QUARTER))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][0].filing["positions_retained"] == 5


def test_a_credible_restatement_replaces_the_book(app: App, tmp_path: Path) -> None:
    changed = [(number, value, 50) for number, value, _ in BOOK[:2]]
    take(app, tmp_path, report_second_quarter(1, BOOK), report_third_quarter(2, BOOK), restate(3, changed))
    quarter, statuses = read_quarter(app, THIRD_QUARTER)
    assert (quarter.positions, list(statuses.values()).count("closed")) == (2, 4)
    assert (quarter.filing["restatement_doubt"], quarter.filing["positions_retained"]) == (None, 0)


def build_positions(*shares: int | None, value: int = 100) -> dict[PositionKey, ReportedRow]:
    """Return positions in the securities 0, 1, 2 ...; None leaves one out."""
    rows = {}
    for security_id, count in enumerate(shares):
        if count is not None:
            rows[0, security_id] = ReportedRow(
                0, security_id, 1, 1, 1, count, value, None, None, None, None, None, None
            )
    return rows


@run_each_case(
    "restated, previous, is_doubtful",
    [
        (build_positions(10), build_positions(10, 10, 10, 10), True),
        (build_positions(10), None, True),
        (build_positions(), build_positions(10, 10, 10, 10), True),
        (build_positions(None, None, None, None, 7), build_positions(10, 10, 10, 10), True),
        (build_positions(10, 10), build_positions(10, 10, 10, 10), False),  # Half of the book is left.
        (build_positions(11), build_positions(10, 10, 10, 10), False),  # The rest was wrong, too.
        (build_positions(10), build_positions(10), False),  # The dropped positions were new: perhaps another's.
        (build_positions(), None, False),
        (build_positions(10, 10, 10, 10), None, False),
    ],
)
def test_a_restatement_is_doubtful_if_it_drops_a_known_book(
    restated: dict[PositionKey, ReportedRow], previous: dict[PositionKey, ReportedRow] | None, is_doubtful: bool
) -> None:
    earlier = build_positions(10, 10, 10, 10)
    assert fund_positions.is_doubtful_restatement(restated, earlier, previous) is is_doubtful


def test_dropping_half_of_the_positions_is_not_doubtful() -> None:
    small = build_positions(10, 10, value=1)
    earlier = {**build_positions(10, 10, 10, 10, value=10_000), **small}
    assert not fund_positions.is_doubtful_restatement(small, earlier, earlier)


def test_dropping_small_positions_is_not_doubtful() -> None:
    earlier = {**build_positions(10, value=10_000), **dict(list(build_positions(10, 10, 10, 10).items())[1:])}
    assert not fund_positions.is_doubtful_restatement(build_positions(10), earlier, earlier)


# ---- confidential treatment requests


def test_confidential_holdings_are_added_to_the_quarter(app: App, tmp_path: Path) -> None:
    public = report_third_quarter(1, [(APPLE, 2_500, 10)])
    take(app, tmp_path, public, report_third_quarter(2, [(ALLY, 400, 10)], form="13F-CTR"))
    quarter, statuses = read_quarter(app, THIRD_QUARTER)
    assert (quarter.value, set(statuses)) == (2_900, {APPLE, ALLY})


def test_an_amendment_with_confidential_holdings_counts_once(app: App, tmp_path: Path) -> None:
    public = report_third_quarter(1, [(APPLE, 2_500, 10)])
    request = report_third_quarter(2, [(ALLY, 400, 10), (MICROSOFT, 500, 1)], form="13F-CTR")
    amendment = report_third_quarter(3, [(ALLY, 400, 10)], "2026-02-01", form="13F-HR/A", amendment=(1, "NEW HOLDINGS"))
    take(app, tmp_path, public, request, amendment)
    quarter, _ = read_quarter(app, THIRD_QUARTER)
    assert quarter.value == 3_400


def test_a_request_without_a_table_is_read() -> None:
    cover = thirteenf.parse_cover(thirteenf_xml.cover(form="13F-CTR"), "cover.xml")
    assert build_report(cover, None, b"", 1, "cover.xml").rows == ()
    with pytest.raises(ParseError, match="table is missing"):
        build_report(thirteenf.parse_cover(thirteenf_xml.cover(), "c.xml"), None, b"", 1, "c.xml")


# ---- placeholder CUSIPs


@pytest.mark.parametrize(
    "number", ["000000000", "999999999", "XXXXXXXXX", "123456789", "NONE00000", "N/A", "Not avail.", "0"]
)
def test_rows_with_a_placeholder_cusip_are_left_out(app: App, tmp_path: Path, number: str) -> None:
    rows = [(APPLE, 2_500, 10), (number, 700, 5)]
    (outcome,) = {document.reason for document in take(app, tmp_path, report_third_quarter(1, rows))}
    assert outcome == "1 row with a placeholder for a CUSIP is left out"
    quarter, statuses = read_quarter(app, THIRD_QUARTER)
    filing = quarter.filing
    assert (quarter.value, statuses) == (2_500, {APPLE: None})
    assert (filing["table_rows"], filing["table_rows_value"], filing["table_rows_rejected"]) == (2, 3_200, 1)
    assert filing["table_ties"]
    with app.db.read() as tx:
        assert tx.list_rows("uncounted") == []
        assert heartbeats.get_stored_counts(tx)["holdings"] == 1


@run_each_case("number", ["037833100", "001055102", "00036020", "G0083B108", "12345AA12", "N07059210", "00NA1AA12"])
def test_a_cusip_is_not_a_placeholder(number: str) -> None:
    assert not cusip.is_placeholder(number)


@pytest.mark.parametrize("number", ["000000000", "000000 000", "0"])
def test_a_placeholder_is_not_a_valid_cusip(number: str) -> None:
    with pytest.raises(ValueError, match="000000000 is a placeholder, not a CUSIP"):
        cusip.validate(number)


# ---- equal columns


def read_doubts(app: App, cik: int = FUND) -> dict[str, tuple[str | None, Any]]:
    with app.db.read() as tx:
        quarter = funds.get_quarter(tx, cik, THIRD_QUARTER)
        rows, _ = funds.list_holdings(tx, quarter, limit=100)
    return {row["cusip"]: (row["value_doubt"], row["others_price"]) for row in rows}


def report_others(*prices: float, number: str = APPLE) -> list[bytes]:
    """Return reports of other funds with 1,000 shares of a security at these prices."""
    return [
        report_third_quarter(
            index, [(number, int(1_000 * price), 1_000), (MICROSOFT, 500_000 + index, 1_000)], cik=f"000765432{index}"
        )
        for index, price in enumerate(prices, 2)
    ]


@pytest.mark.parametrize("price", [2.5, 25, 250, 2_500])
def test_equal_columns_are_doubtful_at_any_price(app: App, tmp_path: Path, price: float) -> None:
    mine = report_third_quarter(1, [(APPLE, 5_000, 5_000), (MICROSOFT, 500_000, 1_000)])
    take(app, tmp_path, mine, *report_others(price, price))
    assert read_doubts(app) == {APPLE: ("shares_equal_value", price), MICROSOFT: (None, None)}


def test_equal_columns_are_doubtful_without_other_managers(app: App, tmp_path: Path) -> None:
    take(app, tmp_path, report_third_quarter(1, [(APPLE, 5_000, 5_000), (ALLY, 99, 99), (MICROSOFT, 500_000, 1_000)]))
    assert read_doubts(app) == {APPLE: ("shares_equal_value", None), ALLY: (None, None), MICROSOFT: (None, None)}


def test_a_share_of_one_dollar_is_not_doubtful(app: App, tmp_path: Path) -> None:
    mine = report_third_quarter(1, [(APPLE, 5_000, 5_000), (MICROSOFT, 500_000, 1_000)])
    take(app, tmp_path, mine, *report_others(1.0, 1.02))
    assert read_doubts(app)[APPLE] == (None, None)


def test_equal_columns_in_thousands_are_doubtful(app: App, tmp_path: Path) -> None:
    period = ("06-30-2021", "2021-08-14", [(APPLE, 5_000, 5_000), (MICROSOFT, 300, 1_000)])
    take(app, tmp_path, submission(1, period))
    with app.db.read() as tx:
        quarter = funds.get_quarter(tx, FUND, "2021-06-30")
        rows, _ = funds.list_holdings(tx, quarter, limit=100)
    assert {row["cusip"]: (row["value_usd"], row["value_doubt"]) for row in rows} == {
        APPLE: (5_000_000, "shares_equal_value"),
        MICROSOFT: (300_000, None),
    }


def test_equal_columns_do_not_decide_the_unit(app: App, tmp_path: Path) -> None:
    rows = [(APPLE, 9_000_000, 9_000_000), (MICROSOFT, 300, 1_000), (ALLY, 30, 1_000)]
    take(app, tmp_path, submission(1, ("06-30-2021", "2021-08-14", rows)))
    quarter, _ = read_quarter(app, "2021-06-30")
    assert quarter.filing["value_unit_rule"] == "thousands:filing_date"
