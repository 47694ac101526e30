"""Share counts and earnings per share that are reported by class of shares only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from finapi.app import App
from finapi.core import days
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books, fact_book, latest_years, metric_mapping, metric_series
from finapi.market.financials.company_books import CompanyBook
from finapi.market.financials.fact_book import FactRow
from finapi.market.financials.series_query import SeriesQuery
from finapi.market.intake import ingest
from tests.support.case_tables import run_each_case
from tests.support.figures import Fact, build_company_book, build_filing, get_cell_text

START, END = "2023-01-01", "2023-12-31"
FILING = build_filing(
    "0000000001-24-000001", "10-K", "2024-02-10", source="xbrl", fiscal_year=2023, period_end=days.number(END)
)
CLASS_A, CLASS_B = "us-gaap:CommonClassAMember", "us-gaap:CommonClassBMember"
EPS, AVERAGE = "us-gaap:EarningsPerShareBasic", "us-gaap:WeightedAverageNumberOfSharesOutstandingBasic"
OUTSTANDING, COVER = "us-gaap:CommonStockSharesOutstanding", "dei:EntityCommonStockSharesOutstanding"
UNITS = {EPS: "USD/shares", AVERAGE: "shares", OUTSTANDING: "shares", COVER: "shares"}
KEYS = ("eps_basic", "weighted_average_shares_basic", "shares_outstanding")
ClassValue = tuple[str, str, str]  # Concept, member and value.


def build_company(*class_values: ClassValue, facts: tuple[Fact, ...] = ()) -> CompanyBook:
    """Return a company with an income of 100 and these figures by class of shares."""
    accession = FILING.accession
    base: list[Fact] = [(tag, START, END, "100", accession) for tag in ("NetIncomeLoss", "Revenues")]
    company = build_company_book([FILING], [*base, *facts])
    class_facts = []
    for concept, member, value in class_values:
        end, length = days.number(END), 365 if concept in (EPS, AVERAGE) else 0
        if concept == COVER:
            end = days.number("2024-02-01")
        class_facts.append((member, FactRow(concept, UNITS[concept], end, length, value, None, 0)))
    fact_book.add_class_facts(company.book, class_facts, metric_mapping.get_mapping())
    return company


def build_row(company: CompanyBook, *keys: str, provenance: str = "none") -> dict[str, Any]:
    data, _ = metric_series.build_series(company, SeriesQuery(metrics=keys or KEYS, provenance=provenance))
    row: dict[str, Any] = data["rows"][0]
    return row


TWO_CLASSES = [
    (EPS, CLASS_A, "2.00"),
    (EPS, CLASS_B, "1.80"),
    (AVERAGE, CLASS_A, "40"),
    (AVERAGE, CLASS_B, "11"),
    (COVER, CLASS_A, "41"),
    (COVER, CLASS_B, "10"),
]


def test_counts_are_added_and_earnings_per_share_are_not() -> None:
    row = build_row(build_company(*TWO_CLASSES))
    assert row["metrics"] == {"eps_basic": None, "weighted_average_shares_basic": 51, "shares_outstanding": 51}
    assert row["holes"] == {"eps_basic": {"status": "hole", "reason_code": "reported_by_class"}}
    assert row["reported_by_class"] == ["weighted_average_shares_basic", "shares_outstanding"]
    assert row["by_class"]["weighted_average_shares_basic"] == {CLASS_A: 40, CLASS_B: 11}
    assert row["by_class"]["shares_outstanding"] == {CLASS_A: 41, CLASS_B: 10}
    assert {member: str(value) for member, value in row["by_class"]["eps_basic"].items()} == {
        CLASS_A: "2",
        CLASS_B: "1.80",
    }


def test_the_sum_has_the_facts_of_the_classes_as_operands() -> None:
    cell = build_row(build_company(*TWO_CLASSES), provenance="full")["metrics"]["shares_outstanding"]
    assert (cell["value"], cell["method"], cell["marks"]) == (51, "derived", ["reported_by_class"])
    assert [(operand["sign"], operand["value"]) for operand in cell["operands"]] == [(1, 41), (1, 10)]


def test_a_figure_of_all_shares_beats_those_of_classes() -> None:
    fact: Fact = (AVERAGE, START, END, "50", FILING.accession)
    row = build_row(build_company(*TWO_CLASSES, facts=(fact,)))
    assert row["metrics"]["weighted_average_shares_basic"] == 50
    assert "weighted_average_shares_basic" not in row["by_class"]


@run_each_case(
    "members, value",
    [
        ({CLASS_A: "41", CLASS_B: "10", "us-gaap:PreferredStockMember": "7"}, 51),
        ({CLASS_A: "41", CLASS_B: "10", "us-gaap:CommonStockMember": "51"}, 51),
        ({"us-gaap:CommonStockMember": "51"}, 51),
        ({"acme:ClassOneMember": "41", "acme:ClassTwoMember": "10", "acme:WarrantsMember": "9"}, 51),
    ],
)
def test_every_common_share_is_counted_once(members: dict[str, str], value: int) -> None:
    values = [(OUTSTANDING, member, count) for member, count in members.items()]
    assert build_row(build_company(*values))["metrics"]["shares_outstanding"] == value


def test_a_class_without_a_count_leaves_a_hole() -> None:
    values = [value for value in TWO_CLASSES if value[:2] != (AVERAGE, CLASS_B)]
    row = build_row(build_company(*values))
    assert row["metrics"]["weighted_average_shares_basic"] is None
    assert row["holes"]["weighted_average_shares_basic"]["reason_code"] == "reported_by_class"
    assert row["by_class"]["weighted_average_shares_basic"] == {CLASS_A: 40}


def test_averages_that_contain_each_other_are_not_added() -> None:
    # The average of class A contains class B, as if it were converted.
    values = [(EPS, CLASS_A, "2.00"), (EPS, CLASS_B, "2.00"), (AVERAGE, CLASS_A, "50"), (AVERAGE, CLASS_B, "11")]
    assert (
        build_row(build_company(*values))["holes"]["weighted_average_shares_basic"]["reason_code"]
        == "reported_by_class"
    )


def test_without_classes_the_reason_is_not_reported() -> None:
    row = build_row(build_company())
    assert {hole["reason_code"] for hole in row["holes"].values()} == {"not_reported"}
    assert "by_class" not in row


INSTANCE = """<?xml version="1.0" encoding="utf-8"?>
<xbrl xmlns="http://www.xbrl.org/2003/instance" xmlns:xbrldi="http://xbrl.org/2006/xbrldi"
 xmlns:iso4217="http://www.xbrl.org/2003/iso4217" xmlns:us-gaap="http://fasb.org/us-gaap/2023"
 xmlns:dei="http://xbrl.sec.gov/dei/2023">
{contexts}
<unit id="usd"><measure>iso4217:USD</measure></unit><unit id="shares"><measure>shares</measure></unit>
<unit id="each"><divide><unitNumerator><measure>iso4217:USD</measure></unitNumerator>
<unitDenominator><measure>shares</measure></unitDenominator></divide></unit>
<dei:DocumentType contextRef="all">10-K</dei:DocumentType>
<dei:DocumentPeriodEndDate contextRef="all">2023-12-31</dei:DocumentPeriodEndDate>
<dei:EntityCentralIndexKey contextRef="all">0000004712</dei:EntityCentralIndexKey>
<us-gaap:NetIncomeLoss contextRef="all" unitRef="usd" decimals="0">100</us-gaap:NetIncomeLoss>
<us-gaap:StockholdersEquity contextRef="end" unitRef="usd" decimals="0">510</us-gaap:StockholdersEquity>
{facts}
</xbrl>"""
PERIOD = f"<period><startDate>{START}</startDate><endDate>{END}</endDate></period>"
DAY = "<period><instant>2024-02-01</instant></period>"


def build_context(name: str, member: str, period: str) -> str:
    explicit = f'<xbrldi:explicitMember dimension="us-gaap:StatementClassOfStockAxis">{member}</xbrldi:explicitMember>'
    segment = f"<segment>{explicit}</segment>" if member else ""
    entity = f'<entity><identifier scheme="http://www.sec.gov/CIK">0000004712</identifier>{segment}</entity>'
    return f'<context id="{name}">{entity}{period}</context>'


def test_screens_use_the_sum_over_the_classes(app: App, tmp_path: Path) -> None:
    contexts = [
        build_context("all", "", PERIOD),
        build_context("end", "", f"<period><instant>{END}</instant></period>"),
    ]
    facts = []
    for name, member, each, average, count in (("a", CLASS_A, "2.00", "40", "41"), ("b", CLASS_B, "1.80", "11", "10")):
        contexts += [build_context(name, member, PERIOD), build_context(f"{name}-cover", member, DAY)]
        facts += [
            f'<{EPS} contextRef="{name}" unitRef="each" decimals="2">{each}</{EPS}>',
            f'<{AVERAGE} contextRef="{name}" unitRef="shares" decimals="0">{average}</{AVERAGE}>',
            f'<{COVER} contextRef="{name}-cover" unitRef="shares" decimals="0">{count}</{COVER}>',
        ]
    document = tmp_path / "acme-20231231.xml"
    document.write_text(INSTANCE.format(contexts="\n".join(contexts), facts="\n".join(facts)), encoding="utf-8")
    options = IngestOptions(accession="0000004712-24-000001", filed_at="2024-02-10")
    ingest.run(app, [document], options, lambda outcome: None)
    with app.db.read() as tx:
        company = company_books.load(tx, 4712)
    assert get_cell_text(company, "weighted_average_shares_basic", "2023 FY") == "51"
    assert get_cell_text(company, "shares_outstanding", "2023 FY") == "51"
    assert get_cell_text(company, "eps_basic", "2023 FY") == "reported_by_class"
    year = latest_years.find_latest(company, lambda day: "no_price")
    assert year is not None
    assert year.get_value("book_value_per_share") == 10
