"""The comparison of figures with the printed lines of filings (tests/measure/printed.py)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books
from finapi.market.intake import ingest
from tests.measure import printed, report
from tests.measure.printed import PrintedLine, PrintedRule
from tests.support.case_tables import run_each_case
from tests.support.statement_set_tables import ADSH, NUM, PRE, SUB, tables, write_folder


def rule(metric: str) -> PrintedRule:
    return next(printed_rule for printed_rule in printed.RULES if printed_rule.metric == metric)


def line(label: str, tag: str = "", unit: str = "money") -> PrintedLine:
    return PrintedLine(tag or label, label, {("20090630", 1): Decimal(1)}, unit)


@run_each_case(
    "label, text",
    [
        ("Property, plant & equipment, net (note 3)", "property plant and equipment net"),
        ("(Loss) income from operations", "loss income from operations"),
        ("Shareholders' equity", "shareholders equity"),
        ("Long-term debt Note 7", "long term debt"),
    ],
)
def test_labels_are_normalised(label: str, text: str) -> None:
    assert printed.normalise_label(label) == text


@run_each_case(
    "metric, labels, expected",
    [
        ("revenue", ["Net sales", "Financing revenue", "Total revenues"], "Total revenues"),
        ("revenue", ["Net sales", "Financing revenue"], None),
        ("revenue", ["Net sales", "Cost of sales"], "Net sales"),
        ("cost_of_revenue", ["Cost of products sold", "Cost of services"], None),
        ("net_income", ["Net income", "Net income attributable to Acme Inc."], "Net income attributable to Acme Inc."),
        ("net_income", ["Net income", "Less: noncontrolling interests"], None),
        ("pretax_income", ["Income before taxes and minority interest"], None),
        ("total_equity", ["Total shareholders' equity", "Total equity"], "Total equity"),
        ("operating_cashflow", ["Net cash provided by operating activities of continuing operations"], None),
        ("dividends_paid", ["Dividends paid", "Dividends paid to noncontrolling interests"], None),
        ("interest_expense", ["Interest income"], None),
    ],
)
def test_a_metric_matches_only_an_unambiguous_label(metric: str, labels: list[str], expected: str | None) -> None:
    chosen = printed.choose_line(rule(metric), [line(label) for label in labels])
    assert (chosen and chosen.label) == expected


def test_a_rule_matches_lines_of_one_unit() -> None:
    shares, each = line("Basic", "a", "shares"), line("Basic", "b", "each")
    assert printed.choose_line(rule("eps_basic"), [shares, each]) == each
    assert printed.choose_line(rule("weighted_average_shares_basic"), [shares, each]) == shares
    assert printed.choose_line(rule("eps_basic"), [line("Basic", "c")]) is None


# Statement, element, label, quarters and value of each line.
PRINTED = [
    ("BS", "Assets", "Total assets", "0", "100"),
    ("IS", "Revenues", "Net sales", "1", "50000"),
    ("IS", "OperatingIncomeLoss", "Gross profit", "1", "20000"),
    ("IS", "GrossProfit", "What is left", "1", "30000"),
    ("BS", "AcmeSecurities", "Marketable securities", "0", "40000"),
]


def test_printed_lines_are_compared_with_figures(app: App, tmp_path: Path) -> None:
    num_rows = []
    pre_rows = []
    for line_number, (stmt, tag, label, quarters, value) in enumerate(PRINTED):
        version = ADSH if tag.startswith("Acme") else "us-gaap/2009"
        num_rows.append(NUM | {"tag": tag, "qtrs": quarters, "value": value, "version": version})
        page = "2" if stmt == "BS" else "4"
        position = {"report": page, "line": str(line_number), "stmt": stmt}
        pre_rows.append(PRE | position | {"tag": tag, "plabel": label, "version": version})
    quarter = write_folder(tmp_path / "2009q3", tables(sub=[SUB | {"sic": "3571"}], num=num_rows, pre=pre_rows))
    ingest.run(app, [quarter], IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        books = {cik: company_books.load(tx, cik) for cik in company_books.list_ciks(tx)}
    comparison = report.compare_printed_lines(quarter, books)
    assert comparison["counts"] == {"same": 1, "differs": 1, "hole": 1}
    misses = [(miss["metric"], miss["outcome"], miss["printed"], miss["given"]) for miss in comparison["misses"]]
    assert misses == [
        ("gross_profit", "differs", "20000", "30000"),
        ("short_term_investments", "hole", "40000", "not_mapped"),
    ]
    assert any(text.startswith("revenue ") and text.endswith("IS: 1") for text in comparison["lines"])
    text_lines = report.render_printed_lines(comparison)
    assert sum(text.startswith(("differs: ", "hole: ")) for text in text_lines) == 2
